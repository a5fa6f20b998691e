// SPDX-License-Identifier: MIT
//
// A net as the potential of points, V(x; w), w behind the parameters of the system, and its
// springs, if there are any.

#pragma once

#include "base/nn/mlp.h"
#include "points/system/points.h"

/// What the potential of a net is made of; borrowed.
typedef struct cri_points_net_def {
    const cri_mlp *net; // n_dof inputs, one output, no relu
    const cri_points *s;
} cri_points_net_def;

/// The potential. Its own parameters are the weights. It has no tangents: steps with it have
/// adjoints alone. Its energy is not asked for: that of a learned motion is judged by the true one.
cri_points_potential cri_points_net(const cri_points_net_def *def);

/// The same with tangents for masses and springs and none of the net for states and weights: what
/// is left out, curvature, is small over a few steps. For Jacobians of which a direction of search
/// is made.
cri_points_potential cri_points_net_flat(const cri_points_net_def *def);

/// Its functions, as the gradient table calls them.
bool cri_net_grad(const cri_points_potential *self, const double *p, int B, const double *x,
                  double *g, const void **cache, cr_arena *keep);
void cri_net_grad_vjp(const cri_points_potential *self, const double *p, int B, const void *cache,
                      const double *u, double *x_adj, double *p_adj, cr_arena *scratch);
