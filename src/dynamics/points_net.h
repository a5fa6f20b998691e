// SPDX-License-Identifier: MIT
//
// A net as the potential of points: V(x; w), w behind the parameters of the system.

#pragma once

#include "dynamics/points.h"
#include "nn/mlp.h"

/// A potential of net, which has n_dof inputs, one output, no relu, and is borrowed. Its parameters
/// are the weights. It has no tangents: steps with it have adjoints
/// alone. Its energy is not asked for: that of a learned motion is judged by the true one.
cri_points_potential cri_points_net(const cri_mlp *net);

/// Its functions, as the gradient table calls them.
bool cri_net_grad(const cri_points_potential *self, const double *p, int B, const double *x,
                  double *g, const void **cache, cr_arena *keep);
void cri_net_grad_vjp(const cri_points_potential *self, const double *p, int B, const void *cache,
                      const double *u, double *x_adj, double *p_adj, cr_arena *scratch);
