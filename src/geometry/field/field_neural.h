// SPDX-License-Identifier: MIT
//
// A net as a distance field: a custom leaf whose parameters are a code.
//
// Second derivatives are exact and reach beta/4 in layers of width 1/beta around the kinks of the
// net. The slope of a net is near one and nowhere guaranteed: whoever makes a field gives a bound.

#pragma once

#include "base/nn/skip_net.h"
#include "geometry/field/field.h"

enum { CRI_NEURAL_UNITS = 2048 }; // hidden units of a net in all, at most

/// phi(x) = scale F((x - centre)/scale, code), F the net, whose first three inputs are the point.
/// Constant and shareable; borrows net and weights.
typedef struct cri_neural {
    const cri_skip_net *net; // n_in = 3 + n_code
    const double *w;
    cri_vec3 centre;
    double scale;
} cri_neural;

/// The leaf; slope bounds |g|, lower and upper (3) the surface.
cri_field_custom cri_neural_custom(const cri_neural *neural, double slope, const double *lower,
                                   const double *upper);

/// phi (n) at points x (n, 3), in batches; g (n, 3) when not NULL.
void cri_neural_many(const cri_neural *neural, const double *code, int n, const double *x,
                     double *phi, double *g);

/// Adjoint of phi for the code alone: adds to code_adj.
void cri_neural_many_vjp(const cri_neural *neural, const double *code, int n, const double *x,
                         const double *phi_adj, double *code_adj);

/// Its tangent for the code: phi_tan (n).
void cri_neural_many_jvp(const cri_neural *neural, const double *code, int n, const double *x,
                         const double *code_tan, double *phi_tan);
