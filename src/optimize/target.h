// SPDX-License-Identifier: MIT
//
// Where a body or a site should be at some time, and the loss for being elsewhere.
//
//     loss = max(0, |body origin or site - point|^2 - radius^2), m^2; no factor 1/2
//
// at one time, or summed over the ends of all steps.

#pragma once

#include "base/base.h"
#include "base/math/vec3.h"

typedef struct cri_target {
    const cr_model *model; // borrowed
    cri_vec3 at;           // what should be there, in the body's frame, m
    double point[3];       // world, m
    double time;           // s after the start
    double radius;         // m, within it there is no loss
    int body;              // -1: a site of the world
    int order;             // the caller's number for it; targets are sorted by time
    bool has_time;         // else at the end of the run
    bool is_throughout;    // counts after every step, and is judged at the end
} cri_target;

/// Reads BODY:X,Y,Z, BODY:X,Y,Z@T or BODY:X,Y,Z@all; where no body has the name, that of a site.
/// err names the part that is wrong.
CR_MUST_CHECK cr_status cri_target_parse(const cr_model *model, const char *text, cri_target *out,
                                         cr_error *err);

/// Where the body or site is in state x (n_x), m.
cri_vec3 cri_target_place(const cri_target *target, const double *x);

/// How far it is from where it should be in state x (n_x), m; the radius does not count.
double cri_target_distance(const cri_target *target, const double *x);

/// Loss in state x (n_x).
double cri_target_loss(const cri_target *target, const double *x);

/// Adjoint of cri_target_loss. Adds to x_adj (n_x).
void cri_target_loss_vjp(const cri_target *target, const double *x, double loss_adj, double *x_adj);

/// Squares of the lengths that the loss is a difference of, m^2: what it would be measured against.
double cri_target_scale(const cri_target *target, const double *x);
