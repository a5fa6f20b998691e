// SPDX-License-Identifier: MIT
//
// What the files of nets share.

#pragma once

#include "base/nn/mlp.h"

/// One hidden layer, few inputs, smooth: the whole gradient in one pass over the units. It leaves
/// a cache without t, by which the vjp knows it.
bool cri_mlp_is_single(const cri_mlp *net);

/// As the functions of mlp.h, for such a net and without values.
CR_MUST_CHECK bool cri_mlp_single(const cri_mlp *net, const double *w, int n_row, const double *x,
                                  double *g, cri_mlp_cache *cache, cr_arena *arena);
CR_MUST_CHECK bool cri_mlp_single_vjp(const cri_mlp *net, const double *w,
                                      const cri_mlp_cache *cache, const double *g_adj,
                                      double *x_adj, double *w_adj, cr_arena *work);
