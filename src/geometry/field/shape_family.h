// SPDX-License-Identifier: MIT
//
// Families of shapes as combinations of primitives: what spaces of shapes are trained on where
// there are no scans.
//
// A family has a few numbers, each with a range, and a fixed count of members that draw them;
// member k is the same on every machine. Sizes are such that a member fits into the unit ball;
// z points up.
//
//   cans      closed cylinders with recessed ends
//   mugs      cups with a handle
//   cameras   bodies with a lens and a hump
//   animals   two shapes: one on four legs, and one that is a float with a hole along z

#pragma once

#include "geometry/field/field.h"

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

/// Family number i, NULL behind the last; by name, NULL: there is none.
const cri_shape_family *cri_shape_family_at(int i);
const cri_shape_family *cri_shape_family_find(const char *name);

const char *cri_shape_family_name(const cri_shape_family *family);
int cri_shape_family_count(const cri_shape_family *family);

/// Numbers of a code that tell the members apart well enough.
int cri_shape_family_code(const cri_shape_family *family);

/// Member k = 0..count - 1.
void cri_shape_family_make(const cri_shape_family *family, int k, cri_shape_family_member *out);
