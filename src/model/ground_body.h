// SPDX-License-Identifier: MIT
//
// The one body of a scene that moves in a plane and the surface that it touches: what nets of
// contact patches can be trained for; and the same body at the end of a mechanism.

#pragma once

#include "model/derived.h"
#include "model/ground_nets.h"

typedef struct cri_ground_body {
    int body;
    int surface;        // its geom, a plane
    int other;          // the body that it touches instead of a surface, -1: none
    int other_slide[2]; // as slide and hinge below, of that one
    int other_hinge;
    bool is_spatial;        // it moves freely: of what follows, only normal counts
    int slide[2];           // their places in q and v
    int hinge;              // likewise
    cri_vec3 slide_axis[2]; // world
    cri_vec3 axis;          // of the hinge, world
    cri_vec3 own_axis;      // the same in the body's frame
    bool is_linked;         // it hangs on others: there are no slides
    cri_vec3 anchor;        // of the joint that it hangs on, body frame
    cri_vec3 normal;        // of the surface
    cri_vec3 along;         // axis x normal: unit, in the plane of motion and in the surface
} cri_ground_body;

/// A body on a free joint, or on slide, slide, hinge in one plane, over a plane; or two of the
/// latter in one plane of motion, of which body is the second. Error: something else moves, or
/// there is more than one fixed geom to touch, or that is no plane.
CR_MUST_CHECK cr_status cri_ground_find(const cr_model *model, cri_ground_body *out, cr_error *err);

/// The body of that name at the end of a mechanism. Error: there is none, or something moves out of
/// its plane.
CR_MUST_CHECK cr_status cri_ground_find_linked(const cr_model *model, const char *name,
                                               cri_ground_body *out, cr_error *err);

/// Mass, and the inertia (6) about the centre of mass: about the axis alone, or all of it.
void cri_ground_mass(const cri_derived *d, const cri_ground_body *ground, double *mass,
                     double *inertia);

/// Mass and inertia of the other body, if there is one, else zeros.
void cri_ground_other_mass(const cri_derived *d, const cri_ground_body *ground, double *mass,
                           double *inertia);

/// What of the body can touch, in words that do not change with its frame: "box 0.1 0.05 0.05".
void cri_ground_shape(const cr_model *model, const cri_derived *d, int body, size_t n_byte,
                      char *out);

/// Are two such texts the same but for the rounding of their numbers?
bool cri_ground_same_shape(const char *a, const char *b);

/// Are the nets for this body? d is derived from the defaults. The error names both. Sets what the
/// builder has to.
CR_MUST_CHECK cr_status cri_ground_check_nets(const cr_model *model, const cri_derived *d,
                                              cri_ground_nets *nets, cr_error *err);
