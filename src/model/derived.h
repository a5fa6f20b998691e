// SPDX-License-Identifier: MIT
//
// What follows from parameters alone: d = derive(p), with its adjoint and tangent.
//
// A cri_derived, its adjoint and its tangent have one type over one block of doubles. A vjp is
// called once a rollout, however many steps added to the adjoint.

#pragma once

#include "model/model.h"

typedef struct cri_body_derived {
    double inv_mass;      // 1/kg
    cri_vec3 inertia;     // principal moments, kg m^2
    cri_vec3 inv_inertia; // entry by entry
} cri_body_derived;

typedef struct cri_geom_derived {
    double size[3]; // radius; half lengths; a plane's offset
} cri_geom_derived;

typedef struct cri_pair_derived {
    double friction;
    double restitution;
} cri_pair_derived;

/// Layers over one block. Points into the arena that made it.
typedef struct cri_derived {
    double *block; // n_double of them
    int n_double;
    double *gravity;        // (3)
    cri_body_derived *body; // (n_body)
    cri_geom_derived *geom; // (n_geom)
    cri_pair_derived *pair; // (n_pair)
} cri_derived;

/// Which slot of p the coefficients of a pair came from; the vjp replays it.
typedef struct cri_derive_cache {
    int slot_friction;
    int slot_restitution;
    bool is_friction_tied;    // both geoms have the same: the derivative is one-sided
    bool is_restitution_tied; // likewise
} cri_derive_cache;

/// A zeroed block from arena; block is NULL when there is no memory.
cri_derived cri_derived_push(const cr_model *model, struct cr_arena *arena);

/// Fills d and cache (n_pair). p has been checked.
void cri_derive(const cr_model *model, const double *p, cri_derived *d, cri_derive_cache *cache);

/// Adds to p_adj (n_p).
void cri_derive_vjp(const cr_model *model, const double *p, const cri_derived *d,
                    const cri_derive_cache *cache, const cri_derived *d_adj, double *p_adj);

/// Overwrites d_tan.
void cri_derive_jvp(const cr_model *model, const double *p, const cri_derived *d,
                    const cri_derive_cache *cache, const double *p_tan, cri_derived *d_tan);

/// Every value in its domain, else the slot is named.
CR_MUST_CHECK cr_status cri_params_check(const cr_model *model, const double *p, cr_error *err);
