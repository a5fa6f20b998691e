// SPDX-License-Identifier: MIT
//
// Nets of dense layers. B rows, L layers, bars are adjoints, * goes number by number.
//
//   value      Z_l = A_{l-1} W_l^T + b_l,  A_l = act(Z_l),  S_l = act'(Z_l)
//   its vjp    Zb_L = out-bar;  W_l-bar += Zb_l^T A_{l-1},  b_l-bar += colsum Zb_l,
//              Ab_{l-1} = Zb_l W_l,  Zb_l = S_l * Ab_l
//
// The gradient of a net with one output pulls the row w_L back; the vjp of u . g, the derivative of
// the output along u, pushes u forward and pulls back once, with a source Q_l in each layer:
//
//   gradient   T_{L-1} = S_{L-1} * w_L,  T_{l-1} = S_{l-1} * (T_l W_l),  g = T_1 W_1
//   its vjp    Ad_0 = u,  Zd_l = Ad_{l-1} W_l^T,  Ad_l = S_l * Zd_l,  Q_l = R_l * Zd_l
//              w_L-bar += colsum Ad_{L-1} + A_{L-1}^T v-bar,  b_L-bar += sum v-bar
//              Zb_l = Q_l + S_l * Ab_l,  Ab_{L-1} = v-bar w_L,  Ab_{l-1} = Zb_l W_l,  x-bar += Ab_0
//              W_l-bar += T_l^T Ad_{l-1} + Zb_l^T A_{l-1},  b_l-bar += colsum Zb_l
//
// with R = act'' times the adjoint of a_l: (1 - S) T of softplus, -2 A T of tanh, 0 of relu. The
// products of the last line are one, of [T; Zb] and [Ad; A]. Values of the last hidden layer are
// wanted by v alone: without it softplus costs one exponential a unit there and no logarithm.

#include "base/nn/mlp_parts.h"

#include "base/base.h"
#include "base/nn/gemm.h"

#include <string.h>

static void check_net(const cri_mlp *net) {
    CR_ASSERT(net && net->n_layer >= 1 && net->n_layer <= CRI_MLP_LAYER_MOST);
    for (int l = 0; l <= net->n_layer; l++) {
        CR_ASSERT(net->width[l] >= 1);
    }
}

static bool has_bias(const cri_mlp *net, int layer) {
    return layer < net->n_layer || !net->has_no_last_bias;
}

int cri_mlp_place(const cri_mlp *net, int layer, bool is_bias) {
    check_net(net);
    CR_ASSERT(layer >= 1 && layer <= net->n_layer + 1);
    int at = 0;
    for (int l = 1; l < layer; l++) {
        at += net->width[l] * (net->width[l - 1] + (has_bias(net, l) ? 1 : 0));
    }
    return is_bias ? at + net->width[layer] * net->width[layer - 1] : at;
}

int cri_mlp_n_weight(const cri_mlp *net) {
    return cri_mlp_place(net, net->n_layer + 1, false);
}

static const double *weights(const cri_mlp *net, const double *w, int layer) {
    return w + cri_mlp_place(net, layer, false);
}

// ---- forward -----------------------------------------------------------------------------------

// Z (B, n_l) of layer l
static void fill_layer(const cri_mlp *net, const double *w, int layer, int n_row, const double *a,
                       double *z) {
    int n = net->width[layer];
    const double *bias = w + cri_mlp_place(net, layer, true);
    for (int i = 0; has_bias(net, layer) && i < n_row; i++) {
        memcpy(z + (size_t)i * (size_t)n, bias, sizeof *z * (size_t)n);
    }
    cri_gemm_nt(n_row, n, net->width[layer - 1], a, weights(net, w, layer), z,
                has_bias(net, layer));
}

static double *push_rows(cr_arena *arena, int n_row, int n) {
    return CR_PUSH_RAW(arena, double, (size_t)n_row *(size_t)n + 1);
}

// Hidden layers into the cache, which comes empty. Slopes are kept when wanted, and values of the
// last hidden layer too, or where tanh makes slopes of them.
static bool fill_hidden(const cri_mlp *net, const double *w, bool has_slopes, bool has_last,
                        cri_mlp_cache *c, cr_arena *arena) {
    const double *a = c->x;
    for (int l = 1; l < net->n_layer; l++) {
        int n = net->width[l];
        double *z = push_rows(arena, c->n_row, n);
        bool has_value = has_last || l + 1 < net->n_layer || net->act == CRI_ACT_TANH;
        double *s = z;
        if (has_slopes && has_value) {
            s = push_rows(arena, c->n_row, n);
        }
        if (!z || !s) {
            return false;
        }
        fill_layer(net, w, l, c->n_row, a, z);
        cri_activate(net->act, c->n_row * n, z, has_value ? z : NULL, has_slopes ? s : NULL);
        c->a[l] = has_value ? z : NULL;
        c->s[l] = has_slopes ? s : NULL;
        a = z;
    }
    return true;
}

// values of the layer in front of the last
static const double *last_values(const cri_mlp *net, const cri_mlp_cache *c) {
    return net->n_layer > 1 ? c->a[net->n_layer - 1] : c->x;
}

bool cri_mlp_value(const cri_mlp *net, const double *w, int n_row, const double *x, double *out,
                   cri_mlp_cache *cache, cr_arena *arena) {
    check_net(net);
    CR_ASSERT(w && n_row >= 0 && x && out && arena);
    cri_arena_mark mark = cri_arena_get_mark(arena);
    cri_mlp_cache c = {.n_row = n_row, .x = x};
    bool is_good = fill_hidden(net, w, cache != NULL, true, &c, arena);
    if (is_good) {
        fill_layer(net, w, net->n_layer, n_row, last_values(net, &c), out);
    }
    if (cache) {
        *cache = c;
    } else {
        cri_arena_rewind(arena, mark);
    }
    return is_good;
}

// a *= b
static void scale(size_t n, const double *restrict b, double *restrict a) {
    for (size_t i = 0; i < n; i++) {
        a[i] *= b[i];
    }
}

// adjoints of W_l and b_l from those of Z_l, Zb (n_row, n_l), for rows a (n_row, n_{l-1})
static void add_weights(const cri_mlp *net, int layer, int n_row, const double *Zb, const double *a,
                        double *w_adj) {
    int n = net->width[layer];
    cri_gemm_tn(n, net->width[layer - 1], n_row, Zb, a, w_adj + cri_mlp_place(net, layer, false),
                true);
    if (has_bias(net, layer)) {
        cri_sum_rows(n_row, n, Zb, w_adj + cri_mlp_place(net, layer, true));
    }
}

bool cri_mlp_value_vjp(const cri_mlp *net, const double *w, const cri_mlp_cache *cache,
                       const double *out_adj, double *x_adj, double *w_adj, cr_arena *work) {
    check_net(net);
    CR_ASSERT(w && cache && out_adj && work);
    cri_arena_mark mark = cri_arena_get_mark(work);
    int n_row = cache->n_row;
    const double *Zb = out_adj;
    bool is_good = true;
    for (int l = net->n_layer; l > 1 && is_good; l--) {
        int n_in = net->width[l - 1];
        double *Ab = push_rows(work, n_row, n_in);
        is_good = Ab != NULL;
        if (is_good) {
            // Z_l = A_{l-1} W_l^T + b_l
            if (w_adj) {
                add_weights(net, l, n_row, Zb, cache->a[l - 1], w_adj);
            }
            cri_gemm_nn(n_row, n_in, net->width[l], Zb, weights(net, w, l), Ab, false);
            // A_{l-1} = act(Z_{l-1})
            scale((size_t)n_row * (size_t)n_in, cache->s[l - 1], Ab);
            Zb = Ab;
        }
    }
    if (is_good && w_adj) {
        add_weights(net, 1, n_row, Zb, cache->x, w_adj);
    }
    if (is_good && x_adj) {
        cri_gemm_nn(n_row, net->width[0], net->width[1], Zb, weights(net, w, 1), x_adj, true);
    }
    cri_arena_rewind(work, mark);
    return is_good;
}

// ---- gradient ----------------------------------------------------------------------------------

// T_{L-1} = S_{L-1} * w_L, then back to T_1
static bool pull_back(const cri_mlp *net, const double *w, cri_mlp_cache *c, cr_arena *arena) {
    for (int l = net->n_layer - 1; l >= 1; l--) {
        size_t n = (size_t)net->width[l], n_all = (size_t)c->n_row * n;
        double *T = push_rows(arena, c->n_row, net->width[l]);
        if (!T) {
            return false;
        }
        const double *next = weights(net, w, l + 1);
        if (l + 1 == net->n_layer) {
            for (int i = 0; i < c->n_row; i++) {
                memcpy(T + (size_t)i * n, next, sizeof *T * n);
            }
        } else {
            cri_gemm_nn(c->n_row, net->width[l], net->width[l + 1], c->t[l + 1], next, T, false);
        }
        scale(n_all, c->s[l], T);
        c->t[l] = T;
    }
    return true;
}

bool cri_mlp_gradient(const cri_mlp *net, const double *w, int n_row, const double *x, double *v,
                      double *g, cri_mlp_cache *cache, cr_arena *arena) {
    check_net(net);
    CR_ASSERT(w && n_row >= 0 && x && g && arena && net->width[net->n_layer] == 1);
    cri_arena_mark mark = cri_arena_get_mark(arena);
    cri_mlp_cache c = {.n_row = n_row, .x = x};
    bool is_good = false;
    if (!v && cri_mlp_is_single(net)) {
        is_good = cri_mlp_single(net, w, n_row, x, g, &c, arena);
    } else {
        is_good = fill_hidden(net, w, true, v != NULL, &c, arena) && pull_back(net, w, &c, arena);
        if (is_good && v) {
            fill_layer(net, w, net->n_layer, n_row, last_values(net, &c), v);
        }
        int n_in = net->width[0];
        if (is_good && net->n_layer > 1) {
            cri_gemm_nn(n_row, n_in, net->width[1], c.t[1], weights(net, w, 1), g, false);
        }
        for (int i = 0; net->n_layer == 1 && i < n_row; i++) {
            memcpy(g + (size_t)i * (size_t)n_in, w, sizeof *g * (size_t)n_in);
        }
    }
    if (cache) {
        *cache = c;
    } else {
        cri_arena_rewind(arena, mark);
    }
    return is_good;
}

/// Pairs of a layer: first halves belong to the gradient, second ones to the value.
typedef struct pairs {
    double *a[CRI_MLP_LAYER_MOST]; // (2 n_row, n_l) [Ad_l; A_l], l = 0..L-2
    double *t[CRI_MLP_LAYER_MOST]; // (2 n_row, n_l) [T_l; Zb_l], l = 1..L-1
} pairs;

// Q = R * Zd and Ad = S * Zd over n numbers; Ad may be Zd
static void push_tangent(cri_activation act, size_t n, const double *Zd, const cri_mlp_cache *c,
                         int layer, double *Q, double *Ad) {
    const double *T = c->t[layer], *S = c->s[layer], *A = c->a[layer];
    for (size_t i = 0; i < n; i++) {
        double d = Zd[i];
        switch (act) {
        case CRI_ACT_SOFTPLUS:
            Q[i] = (1.0 - S[i]) * T[i] * d;
            break;
        case CRI_ACT_TANH:
            Q[i] = -2.0 * A[i] * T[i] * d;
            break;
        case CRI_ACT_RELU:
            Q[i] = 0.0;
            break;
        }
        Ad[i] = S[i] * d;
    }
}

// forward with the tangent u: fills pairs with Ad, A, T and Q; *last is Ad_{L-1}
static bool push_forward(const cri_mlp *net, const double *w, const cri_mlp_cache *c,
                         const double *u, pairs *p, double **last, cr_arena *work) {
    int n_row = c->n_row;
    for (int l = 0; l < net->n_layer; l++) {
        size_t n_all = (size_t)n_row * (size_t)net->width[l];
        p->a[l] = push_rows(work, 2 * n_row, net->width[l]);
        p->t[l] = l > 0 ? push_rows(work, 2 * n_row, net->width[l]) : p->a[l];
        if (!p->a[l] || !p->t[l]) {
            return false;
        }
        if (l == 0) {
            memcpy(p->a[0], u, sizeof *u * n_all);
            memcpy(p->a[0] + n_all, c->x, sizeof *u * n_all);
            continue;
        }
        cri_gemm_nt(n_row, net->width[l], net->width[l - 1], p->a[l - 1], weights(net, w, l),
                    p->a[l], false);
        push_tangent(net->act, n_all, p->a[l], c, l, p->t[l] + n_all, p->a[l]);
        memcpy(p->t[l], c->t[l], sizeof *u * n_all);
        if (l + 1 < net->n_layer) {
            memcpy(p->a[l] + n_all, c->a[l], sizeof *u * n_all);
        }
    }
    *last = p->a[net->n_layer - 1];
    return true;
}

// Zb_{L-1} += S * v-bar w_L, and the adjoints of w_L and b_L
static void add_last(const cri_mlp *net, const double *w, const cri_mlp_cache *c,
                     const double *v_adj, const double *Ad, double *Zb, double *w_adj) {
    int L = net->n_layer, n = net->width[L - 1];
    const double *row = weights(net, w, L);
    if (w_adj) {
        cri_sum_rows(c->n_row, n, Ad, w_adj + cri_mlp_place(net, L, false));
    }
    if (!v_adj) {
        return;
    }
    const double *A = last_values(net, c);
    CR_ASSERT(A); // who has an adjoint of v asked for v
    if (w_adj) {
        add_weights(net, L, c->n_row, v_adj, A, w_adj);
    }
    for (int i = 0; Zb && i < c->n_row; i++) {
        size_t at = (size_t)i * (size_t)n;
        for (int j = 0; j < n; j++) {
            double slope = L > 1 ? c->s[L - 1][at + (size_t)j] : 1.0;
            Zb[at + (size_t)j] += slope * v_adj[i] * row[j];
        }
    }
}

// from Zb_{L-1} in the pairs down to x_adj and the weights
static bool pull_forward(const cri_mlp *net, const double *w, const cri_mlp_cache *c, pairs *p,
                         double *x_adj, double *w_adj, cr_arena *work) {
    int n_row = c->n_row;
    for (int l = net->n_layer - 1; l >= 1; l--) {
        int n = net->width[l], n_in = net->width[l - 1];
        size_t n_below = (size_t)n_row * (size_t)n_in;
        CR_ASSERT(p->t[l] && p->t[l - 1]);
        const double *Zb = p->t[l] + (size_t)n_row * (size_t)n;
        if (w_adj) {
            cri_gemm_tn(n, n_in, 2 * n_row, p->t[l], p->a[l - 1],
                        w_adj + cri_mlp_place(net, l, false), true);
            cri_sum_rows(n_row, n, Zb, w_adj + cri_mlp_place(net, l, true));
        }
        if (l == 1) {
            if (x_adj) {
                cri_gemm_nn(n_row, n_in, n, Zb, weights(net, w, 1), x_adj, true);
            }
            return true;
        }
        cri_arena_mark mark = cri_arena_get_mark(work);
        double *Ab = push_rows(work, n_row, n_in), *below = p->t[l - 1] + n_below;
        if (!Ab) {
            return false;
        }
        cri_gemm_nn(n_row, n_in, n, Zb, weights(net, w, l), Ab, false);
        for (size_t i = 0; i < n_below; i++) {
            below[i] += c->s[l - 1][i] * Ab[i];
        }
        cri_arena_rewind(work, mark);
    }
    return true;
}

bool cri_mlp_gradient_vjp(const cri_mlp *net, const double *w, const cri_mlp_cache *cache,
                          const double *v_adj, const double *g_adj, double *x_adj, double *w_adj,
                          cr_arena *work) {
    check_net(net);
    CR_ASSERT(w && cache && g_adj && work && net->width[net->n_layer] == 1);
    int L = net->n_layer;
    if (L == 1) {
        // g = w_1 and v = x w_1 + b_1
        add_last(net, w, cache, v_adj, g_adj, x_adj, w_adj);
        return true;
    }
    if (!cache->t[1]) {
        CR_ASSERT(!v_adj);
        return cri_mlp_single_vjp(net, w, cache, g_adj, x_adj, w_adj, work);
    }
    cri_arena_mark mark = cri_arena_get_mark(work);
    pairs p = {0};
    double *last = NULL;
    bool is_good = push_forward(net, w, cache, g_adj, &p, &last, work);
    if (is_good) {
        double *Zb = p.t[L - 1] + (size_t)cache->n_row * (size_t)net->width[L - 1];
        add_last(net, w, cache, v_adj, last, Zb, w_adj);
        is_good = pull_forward(net, w, cache, &p, x_adj, w_adj, work);
    }
    cri_arena_rewind(work, mark);
    return is_good;
}
