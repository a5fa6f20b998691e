// SPDX-License-Identifier: MIT
//
// A space of shapes: one net, and a code for each shape that it was trained on.
//
// Codes between those of the shapes give shapes in between; far from all of them the net says
// nothing, and such codes are refused. In a file (HDF5): the arrays net/0/w, net/0/b, net/1/w, ...,
// codes (n_shape, n_code), centre (3), scale, slope, beta, skip, bounds (2, 3), and the names of
// the shapes as a text with line ends.

#pragma once

#include "base/arena.h"
#include "geometry/field/field.h"
#include "geometry/field/field_neural.h"

enum { CRI_CODE_MOST = 32, CRI_SPACE_SHAPES = 4096, CRI_SPACE_NAME = 60 };

/// Constant once made; arrays live in the arena that was given.
typedef struct cri_shape_space {
    cri_skip_net net; // of a point in units of scale about centre, and a code
    int n_code, n_shape;
    double *w;
    double *code;                 // (n_shape, n_code)
    char (*name)[CRI_SPACE_NAME]; // (n_shape)
    cri_vec3 centre;              // metres
    double scale;
    double slope;              // largest |g| over samples, and a tenth more
    double lower[3], upper[3]; // box around all surfaces, metres
} cri_shape_space;

/// Everything but the weights, codes and names is set; these get room in the arena. False: no
/// memory.
CR_MUST_CHECK bool cri_shape_space_push(cr_arena *arena, cri_shape_space *space);
CR_MUST_CHECK cr_status cri_shape_space_write(const char *path, const cri_shape_space *space,
                                              cr_error *err);
CR_MUST_CHECK cr_status cri_shape_space_read(const char *path, cr_arena *arena,
                                             cri_shape_space *out, cr_error *err);

/// The smallest and the largest number in place k that a code may have: the shapes' own range and
/// half of it more on either side.
void cri_shape_space_range(const cri_shape_space *space, int k, double *lower, double *upper);

/// Refuses a code (n_code) that is not finite or outside of the space.
CR_MUST_CHECK cr_status cri_shape_space_check(const cri_shape_space *space, const double *code,
                                              cr_error *err);

/// A field of the space, size times as large as the shapes were. Borrows the space.
typedef struct cri_space_field {
    cri_neural neural;
    cri_field_custom custom; // points to neural: settle after a copy
    cri_field_node node;
    cri_field field; // of one node; its parameters are the code that was given
} cri_space_field;

void cri_space_field_make(const cri_shape_space *space, double size, const double *code,
                          cri_space_field *out);

/// The same as a leaf whose net, weights and range of codes are copies in the arena. NULL: no
/// memory.
const cri_field_custom *cri_space_leaf_push(const cri_shape_space *space, double size,
                                            cr_arena *arena);

/// A copy of such a leaf in another arena. NULL: no memory.
const cri_field_custom *cri_space_leaf_copy(const cri_field_custom *leaf, cr_arena *arena);

/// The code of the shape of that name, NULL: there is none.
const double *cri_shape_space_find(const cri_shape_space *space, const char *name);

// ---- families to train on -----------------------------------------------------------------------

// Combinations of primitives, where there are no scans. A family has a few numbers, each with a
// range, and a fixed count of members that draw them; member k is the same on every machine. Sizes
// are such that a member fits into the unit ball; z points up.
//
//   cans      closed cylinders with recessed ends
//   mugs      cups with a handle
//   cameras   bodies with a lens and a hump
//   animals   two shapes: one on four legs, and one that is a float with a hole along z

enum { CRI_SHAPE_FAMILY_PARAMS = 8, CRI_SHAPE_FAMILY_NUMBERS = 128 };

typedef struct cri_shape_family cri_shape_family;

/// A member in its own memory.
typedef struct cri_shape_family_member {
    char name[40];
    int n_size;
    double size[CRI_SHAPE_FAMILY_PARAMS]; // what it drew
    cri_field_node node[CRI_FIELD_NODES];
    double param[CRI_SHAPE_FAMILY_NUMBERS];
    cri_field field; // points to its own node and param
} cri_shape_family_member;

/// The family of that name, NULL: there is none.
const cri_shape_family *cri_shape_family_find(const char *name);

/// Members of a family.
int cri_shape_family_count(const cri_shape_family *family);

/// Numbers of a code that tell the members apart well enough.
int cri_shape_family_code(const cri_shape_family *family);

/// Member k = 0..count - 1.
void cri_shape_family_make(const cri_shape_family *family, int k, cri_shape_family_member *out);

// for tests

/// Family number i, NULL behind the last.
const cri_shape_family *cri_shape_family_at(int i);
