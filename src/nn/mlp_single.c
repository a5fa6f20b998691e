// SPDX-License-Identifier: MIT
//
// The gradient of a net with one hidden layer and few inputs: one pass over the units a row, with
// everything in the nearest cache and one exponential a unit. Formulas: mlp.c with L = 2; over
// units j and inputs i
//
//   g_i = sum_j S_j w_j W_ji                            w the last layer, W the first
//   vjp: d_j = sum_i u_i W_ji,  T_j = S_j w_j,  Q_j = R_j d_j     R = (1 - S) T, or -2 A T of tanh
//        w_j-bar += S_j d_j,  b_j-bar += Q_j,  W_ji-bar += T_j u_i + Q_j x_i,
//        x_i-bar += sum_j Q_j W_ji
//
// W is transposed once a call, so that units are neighbours. Sums over units go in 8 parts, sums
// over rows in their order.

#include "nn/mlp_parts.h"

#include "base/base.h"
#include "nn/lanes.h"

#include <string.h>

enum { INPUT_MOST = 4, PART = 8 };

bool cri_mlp_is_single(const cri_mlp *net) {
    return net->n_layer == 2 && net->width[0] <= INPUT_MOST && net->act != CRI_ACT_RELU;
}

/// A call. Arrays over units have length n, a multiple of 8; padded units have zero weights.
typedef struct call {
    int n_in, n;
    int n_row;
    bool is_tanh;
    const double *W;    // (n_in, n) transposed
    const double *last; // (n)
    const double *x, *u;
    const double *keep; // (n_row, n) slopes, or values of tanh
    double *sum;        // (n_in + 2, n) adjoints of W, b and the last layer
    double *x_adj;
} call;

static int padded(int n) {
    return (n + PART - 1) / PART * PART;
}

// weights with neighbouring units: W, biases, the last layer
static double *push_weights(const cri_mlp *net, const double *w, cr_arena *arena) {
    int n_in = net->width[0], n_unit = net->width[1], n = padded(n_unit);
    double *out = CR_PUSH(arena, double, (n_in + 2) * n);
    for (int i = 0; out && i < n_in; i++) {
        for (int j = 0; j < n_unit; j++) {
            out[i * n + j] = w[j * n_in + i];
        }
    }
    if (out) {
        size_t n_byte = sizeof *w * (size_t)n_unit;
        memcpy(out + n_in * n, w + n_unit * n_in, n_byte);
        memcpy(out + (n_in + 1) * n, w + cri_mlp_place(net, 2, false), n_byte);
    }
    return out;
}

// ---- forward -----------------------------------------------------------------------------------

// z (n) = b + sum_i x_i W_i
CRI_INLINE void fill_row_body(int n_in, int n, const double *x, const double *W,
                              double *restrict z) {
    const double *bias = W + (long)n_in * n;
    for (int j = 0; j < n; j++) {
        z[j] = bias[j] + x[0] * W[j];
    }
    for (int i = 1; i < n_in; i++) {
        for (int j = 0; j < n; j++) {
            z[j] += x[i] * W[(long)i * n + j];
        }
    }
}

CRI_LANES(fill_row, (int n_in, int n, const double *x, const double *W, double *z),
          (n_in, n, x, W, z))

// g_i = sum_j S_j w_j W_ji of all rows
CRI_INLINE void sum_units_body(const call *c, double *g) {
    for (int r = 0; r < c->n_row; r++) {
        const double *keep = c->keep + (long)r * c->n;
        for (int i = 0; i < c->n_in; i++) {
            double part[PART] = {0.0};
            for (int j = 0; j < c->n; j += PART) {
                for (int k = 0; k < PART; k++) {
                    double a = keep[j + k];
                    double s = c->is_tanh ? 1.0 - a * a : a;
                    part[k] += s * c->last[j + k] * c->W[(long)i * c->n + j + k];
                }
            }
            g[(long)r * c->n_in + i] = ((part[0] + part[4]) + (part[2] + part[6])) +
                                       ((part[1] + part[5]) + (part[3] + part[7]));
        }
    }
}

CRI_LANES(sum_units, (const call *c, double *g), (c, g))

bool cri_mlp_single(const cri_mlp *net, const double *w, int n_row, const double *x, double *g,
                    cri_mlp_cache *cache, cr_arena *arena) {
    CR_ASSERT(cri_mlp_is_single(net));
    int n_in = net->width[0], n = padded(net->width[1]);
    bool is_tanh = net->act == CRI_ACT_TANH;
    double *keep = CR_PUSH_RAW(arena, double, (size_t)n_row *(size_t)n + 1);
    cri_arena_mark mark = cri_arena_get_mark(arena);
    const double *W = push_weights(net, w, arena);
    if (!keep || !W) {
        return false;
    }
    for (int r = 0; r < n_row; r++) {
        fill_row(n_in, n, x + (long)r * n_in, W, keep + (long)r * n);
    }
    cri_activate(net->act, n_row * n, keep, is_tanh ? keep : NULL, is_tanh ? NULL : keep);
    call c = {.n_in = n_in,
              .n = n,
              .n_row = n_row,
              .is_tanh = is_tanh,
              .W = W,
              .last = W + (long)(n_in + 1) * n,
              .keep = keep};
    sum_units(&c, g);
    cri_arena_rewind(arena, mark);
    cache->a[1] = is_tanh ? keep : NULL;
    cache->s[1] = is_tanh ? NULL : keep;
    return true;
}

// ---- vjp ---------------------------------------------------------------------------------------

// one row, with n_in a constant where it is inlined
CRI_INLINE void pull_row(const call *c, int n_in, bool is_tanh, int r) {
    const double *keep = c->keep + (long)r * c->n;
    const double *x = c->x + (long)r * n_in, *u = c->u + (long)r * n_in;
    double *W_adj = c->sum, *b_adj = c->sum + (long)n_in * c->n, *last_adj = b_adj + c->n;
    double part[INPUT_MOST][PART] = {{0.0}};
    for (int j = 0; j < c->n; j += PART) {
        double d[PART], Q[PART], T[PART];
        for (int k = 0; k < PART; k++) {
            double a = keep[j + k], s = is_tanh ? 1.0 - a * a : a;
            d[k] = u[0] * c->W[j + k];
            for (int i = 1; i < n_in; i++) {
                d[k] += u[i] * c->W[(long)i * c->n + j + k];
            }
            T[k] = s * c->last[j + k];
            Q[k] = (is_tanh ? -2.0 * a : 1.0 - s) * T[k] * d[k];
            last_adj[j + k] += s * d[k];
            b_adj[j + k] += Q[k];
        }
        for (int i = 0; i < n_in; i++) {
            for (int k = 0; k < PART; k++) {
                W_adj[(long)i * c->n + j + k] += T[k] * u[i] + Q[k] * x[i];
                part[i][k] += Q[k] * c->W[(long)i * c->n + j + k];
            }
        }
    }
    for (int i = 0; c->x_adj && i < n_in; i++) {
        const double *p = part[i];
        c->x_adj[(long)r * n_in + i] +=
            ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
    }
}

CRI_INLINE void pull_rows_body(const call *c) {
    for (int r = 0; r < c->n_row; r++) {
        if (c->n_in == 1 && !c->is_tanh) {
            pull_row(c, 1, false, r);
        } else if (c->n_in == 2 && !c->is_tanh) {
            pull_row(c, 2, false, r);
        } else {
            pull_row(c, c->n_in, c->is_tanh, r);
        }
    }
}

CRI_LANES(pull_rows, (const call *c), (c))

// sums over units as neighbours back to the order of the weights
static void add_sums(const cri_mlp *net, const call *c, double *w_adj) {
    int n_in = c->n_in, n_unit = net->width[1];
    double *last = w_adj + cri_mlp_place(net, 2, false);
    for (int j = 0; j < n_unit; j++) {
        for (int i = 0; i < n_in; i++) {
            w_adj[j * n_in + i] += c->sum[(long)i * c->n + j];
        }
        w_adj[n_unit * n_in + j] += c->sum[(long)n_in * c->n + j];
        last[j] += c->sum[(long)(n_in + 1) * c->n + j];
    }
}

bool cri_mlp_single_vjp(const cri_mlp *net, const double *w, const cri_mlp_cache *cache,
                        const double *g_adj, double *x_adj, double *w_adj, cr_arena *work) {
    CR_ASSERT(cri_mlp_is_single(net));
    cri_arena_mark mark = cri_arena_get_mark(work);
    int n_in = net->width[0], n = padded(net->width[1]);
    bool is_tanh = net->act == CRI_ACT_TANH;
    const double *W = push_weights(net, w, work);
    double *sum = CR_PUSH(work, double, (n_in + 2) * n);
    bool is_good = W && sum;
    if (is_good) {
        call c = {.n_in = n_in,
                  .n = n,
                  .n_row = cache->n_row,
                  .is_tanh = is_tanh,
                  .W = W,
                  .last = W + (long)(n_in + 1) * n,
                  .x = cache->x,
                  .u = g_adj,
                  .keep = is_tanh ? cache->a[1] : cache->s[1],
                  .sum = sum,
                  .x_adj = x_adj};
        pull_rows(&c);
        if (w_adj) {
            add_sums(net, &c, w_adj);
        }
    }
    cri_arena_rewind(work, mark);
    return is_good;
}
