// SPDX-License-Identifier: MIT
//
// Gap, normal and arms of one feature of a model at a state, with adjoint and tangent.

#pragma once

#include "contact/law.h"
#include "geometry/collide.h"
#include "model/derived.h"

/// What every contact computation reads: the model, what follows from its parameters, the law.
typedef struct cri_world {
    const cr_model *model;
    const cri_derived *d;
    const cri_derive_cache *derive_cache;
    const cri_law *law;
} cri_world;

/// x is [q | v] with unit quaternions; only q is read.
cri_touch cri_feature_touch(const cri_world *world, int feature, const double *x);

/// Adds to q_adj (n_v: position and rotation tangent per body) and d_adj.
void cri_feature_touch_vjp(const cri_world *world, int feature, const double *x,
                           const cri_touch *adj, double *q_adj, const cri_derived *d_adj);

/// Tangent for q_tan (n_v) and d_tan.
cri_touch cri_feature_touch_jvp(const cri_world *world, int feature, const double *x,
                                const double *q_tan, const cri_derived *d_tan);

/// Rate of the gap for body velocities v (n_v), m/s.
double cri_feature_speed(const cri_world *world, int feature, const cri_touch *touch,
                         const double *x, const double *v);
