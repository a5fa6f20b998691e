// SPDX-License-Identifier: MIT
//
// What follows from parameters alone: d = derive(p), with its adjoint and tangent.
//
// A cri_derived, its adjoint and its tangent have one type over one block of doubles. A vjp is
// called once a rollout, however many steps added to the adjoint.

#pragma once

#include "geometry/field/form.h"
#include "geometry/mesh/mass.h"
#include "model/model.h"

/// A free body with its principal axes, for the fast path.
typedef struct cri_body_derived {
    double inv_mass;      // 1/kg
    cri_vec3 inertia;     // principal moments, kg m^2
    cri_vec3 inv_inertia; // entry by entry
} cri_body_derived;

typedef struct cri_geom_derived {
    double size[3]; // as cri_shape_kind says; a plane's first is its offset
    double friction;
    double restitution;
} cri_geom_derived;

/// Where the pair has coefficients of its own; else not used.
typedef struct cri_pair_derived {
    double friction;
    double restitution;
    double friction2;     // along the second tangent
    double friction_back; // of what slides against the pair's direction
} cri_pair_derived;

/// Layers over one block. Points into the arena that made it.
typedef struct cri_derived {
    double *block; // n_double of them
    int n_double;
    cri_mech_derived mech;
    cri_body_derived *body;        // (n_body), of free bodies alone
    cri_geom_derived *geom;        // (n_geom)
    cri_pair_derived *pair;        // (n_pair)
    double *shape;                 // (n_shape) parameters of fields, geom after geom
    double *vertex;                // (n_corner) of meshes, in the frames of their geoms
    double *mu;                    // (1) of laws that are energies, 0: that of the law itself
    double *weights;               // of the model's nets, NULL: it has none
    const struct cri_forms *forms; // of the same parameters; NULL: those of the defaults count
} cri_derived;

/// A zeroed block from arena; block is NULL when there is no memory.
cri_derived cri_derived_push(const cr_model *model, struct cr_arena *arena);

/// Fills d. p has been checked, and d->forms, if there are any, have been made of it.
void cri_derive(const cr_model *model, const double *p, cri_derived *d);

/// Adds to p_adj (n_p). d_adj is used up.
void cri_derive_vjp(const cr_model *model, const double *p, const cri_derived *d,
                    const cri_derived *d_adj, double *p_adj);

/// Overwrites d_tan.
void cri_derive_jvp(const cr_model *model, const double *p, const cri_derived *d,
                    const double *p_tan, cri_derived *d_tan);

/// Every value in its domain, else the slot is named.
CR_MUST_CHECK cr_status cri_params_check(const cr_model *model, const double *p, cr_error *err);

/// Masses, inertia tensors positive, all finite; else the body is named.
CR_MUST_CHECK cr_status cri_derived_check(const cr_model *model, const cri_derived *d,
                                          cr_error *err);

/// The forms of a model's geoms at some parameters: fields, meshes, trees and masses.
///
/// Made once for each set of parameters; constant afterwards. Geoms without a plan have none. They
/// are the part of d = derive(p) that is no array of numbers: adjoints and tangents of what follows
/// from them are those of the parameters (cri_derived.shape, cri_geom_derived.size).
typedef struct cri_forms {
    cri_form *form;    // (n_geom) plan NULL: none
    double *param;     // (n_geom parameters, one geom after the other) they were made of
    int n_param;       // in all
    cr_arena *memory;  // owns everything above
    cr_arena *scratch; // of the derivatives of masses
} cri_forms;

/// Empty forms. False when there is no memory.
CR_MUST_CHECK bool cri_forms_begin(const cr_model *model, cri_forms *forms);
void cri_forms_clear(cri_forms *forms);

/// Whether they were made of p.
bool cri_forms_are_of(const cr_model *model, const double *p, const cri_forms *forms);

/// Forms of p; nothing is done when their parameters are those they were made of. The geom that is
/// no shape is named. When it fails there are none until the next time.
CR_MUST_CHECK cr_status cri_forms_make(const cr_model *model, const double *p, cri_forms *forms,
                                       cr_error *err);
