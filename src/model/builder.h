// SPDX-License-Identifier: MIT
//
// A model in the making: what builder.c has from builder_shapes.c, and both from each other.

#pragma once

#include "base/arena.h"
#include "geometry/field/form.h"
#include "geometry/mesh/mass.h"
#include "model/model.h"

/// A model in the making.
typedef struct cri_builder {
    cr_model *model;
    const cri_scene_def *def;
    cr_arena *arena; // the model's
    cr_error *err;
    cri_inertia *inertia; // (n_body) of each body, from its <inertial> or its geoms
    bool *is_simple;      // (n_body) centre of mass and principal axes are the frame's
    double **shape;       // (n_geom) parameters of fields, NULL: none
    int n_p;
    int p_space; // slots that fit
} cri_builder;

/// "FILE:LINE: " and a message.
cr_status cri_build_fail(const cri_builder *b, cr_status status, cri_place place,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));
cr_status cri_build_fail_memory(const cri_builder *b);

// ---- builder_shapes.c: geoms, fields and what may touch them, hulls, masses, pairs
CR_MUST_CHECK cr_status cri_build_shapes(cri_builder *b);
CR_MUST_CHECK cr_status cri_build_pairs(cri_builder *b);
CR_MUST_CHECK cr_status cri_build_partners(cri_builder *b);

/// The domain of parameter i of a field.
cri_slot cri_build_shape_domain(const cri_form_plan *plan, int i);
