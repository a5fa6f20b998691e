// SPDX-License-Identifier: MIT
//
// Nets of dense layers on batches of rows: value, gradient for the input, and the vjp of both.
//
//   a_0 = x;   z_l = a_{l-1} W_l^T + b_l,   a_l = act(z_l)  for l < L;   out = z_L
//
// Weights are flat: W_1 (n_1, n_0), b_1 (n_1), W_2, b_2, ... row-major. Rows of a batch are
// independent; vjps add. Formulas: mlp.c.
//
// Weights to start training from, drawn from streams of base/random.h: a seed names them to the
// bit.

#pragma once

#include "base/arena.h"
#include "base/nn/activation.h"
#include "base/random.h"
#include "carom/carom.h"

enum { CRI_MLP_LAYER_MOST = 12 };

/// Shape of a net.
typedef struct cri_mlp {
    int n_layer;                       // L >= 1, the last one linear
    int width[CRI_MLP_LAYER_MOST + 1]; // n_0 to n_L
    cri_activation act;
    bool has_no_last_bias;
} cri_mlp;

/// What a call leaves for its vjp, on the arena that it was given.
typedef struct cri_mlp_cache {
    int n_row;
    const double *x;                   // (n_row, n_0), borrowed
    double *a[CRI_MLP_LAYER_MOST + 1]; // (n_row, n_l) values of hidden layers
    double *s[CRI_MLP_LAYER_MOST + 1]; // (n_row, n_l) slopes
    double *t[CRI_MLP_LAYER_MOST + 1]; // (n_row, n_l) dV/dz, of a gradient only
} cri_mlp_cache;

int cri_mlp_n_weight(const cri_mlp *net);

/// Where W_l (is_bias false) or b_l of layer l = 1..L begins in the flat weights.
int cri_mlp_place(const cri_mlp *net, int layer, bool is_bias);

/// out (n_row, n_L). cache may be NULL; its arrays and work live on the arena. False: no memory.
CR_MUST_CHECK bool cri_mlp_value(const cri_mlp *net, const double *w, int n_row, const double *x,
                                 double *out, cri_mlp_cache *cache, cr_arena *arena);

/// Adds to x_adj (n_row, n_0) and w_adj; either may be NULL. work is scratch, released by itself.
CR_MUST_CHECK bool cri_mlp_value_vjp(const cri_mlp *net, const double *w,
                                     const cri_mlp_cache *cache, const double *out_adj,
                                     double *x_adj, double *w_adj, cr_arena *work);

/// For n_L = 1: g (n_row, n_0) = d out / d x, and the value v (n_row) when not NULL.
CR_MUST_CHECK bool cri_mlp_gradient(const cri_mlp *net, const double *w, int n_row, const double *x,
                                    double *v, double *g, cri_mlp_cache *cache, cr_arena *arena);

/// Adjoints g_adj (n_row, n_0) of g and v_adj (n_row, NULL: none) of v; adds as value_vjp does.
CR_MUST_CHECK bool cri_mlp_gradient_vjp(const cri_mlp *net, const double *w,
                                        const cri_mlp_cache *cache, const double *v_adj,
                                        const double *g_adj, double *x_adj, double *w_adj,
                                        cr_arena *work);

typedef enum cri_start {
    CRI_START_ORTHOGONAL, // orthonormal columns or rows, biases U(+-1/sqrt n_0)
    CRI_START_GLOROT,     // U(+-sqrt(6/(n_0 + n_1))), biases 0
    CRI_START_FAN_IN,     // weights and biases U(+-1/sqrt n_0)
} cri_start;

/// Fills w of a whole net, layer by layer. False: no memory.
CR_MUST_CHECK bool cri_mlp_start(const cri_mlp *net, cri_start kind, cri_random *stream, double *w,
                                 cr_arena *work);

// for tests

/// One hidden layer, few inputs, smooth: the whole gradient in one pass over the units. It leaves
/// a cache without t, by which the vjp knows it.
bool cri_mlp_is_single(const cri_mlp *net);
