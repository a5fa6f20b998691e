// SPDX-License-Identifier: MIT
//
// The shipped spaces of shapes (data/shapes) in experiments of paper 004: codes that are sought and
// codes to begin from, and how far their shapes are apart.

#pragma once

#include "base/random.h"
#include "carom/carom.h"
#include "geometry/field/form.h"
#include "geometry/field/shape_space.h"
#include "shipped.h"

enum { CRI_SDF_SPACES = 4 };

/// Names of the files, and what the paper calls their like.
extern const char *const cri_sdf_space_name[CRI_SDF_SPACES];

typedef struct cri_sdf_space {
    char path[CRI_SHIPPED_LIMIT];
    cri_shape_space space;
    cr_arena *arena, *work, *scratch;
} cri_sdf_space;

/// Release with cri_sdf_space_close, also after a failure.
CR_MUST_CHECK cr_status cri_sdf_space_open(const char *name, cri_sdf_space *out, cr_error *err);
void cri_sdf_space_close(cri_sdf_space *s);

/// The code of a shape, and one from N(mean of all codes, (0.1 std)^2).
void cri_sdf_space_draw(const cri_sdf_space *s, cri_random *random, double *truth, double *start);

/// A code within the range of the space, from N(centre, (width std)^2); NULL: the mean of all
/// codes.
void cri_sdf_space_near(const cri_sdf_space *s, cri_random *random, const double *centre,
                        double width, double *code);

/// The symmetric chamfer distance of the shapes of two codes, both ways summed, m^2.
CR_MUST_CHECK cr_status cri_sdf_space_chamfer(cri_sdf_space *s, const double *one,
                                              const double *two, double *out, cr_error *err);

/// Euler characteristic of the shape of a code: 2 for a ball, 0 with a hole.
CR_MUST_CHECK cr_status cri_sdf_space_euler(cri_sdf_space *s, const double *code, int *out,
                                            cr_error *err);

/// The shape of a code as an MJCF mesh named m, and how far it reaches down. The text lives until
/// the next call.
CR_MUST_CHECK cr_status cri_sdf_space_mesh(cri_sdf_space *s, const double *code, const char **text,
                                           double *reach, cr_error *err);

/// The form of a geom at the parameters of a sim.
const cri_form *cri_sdf_form(const cr_sim *sim, int geom);

/// "b/code[0],b/code[1],...", in text.
const char *cri_sdf_space_sought(const cri_sdf_space *s, char text[128]);
