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
// over rows in their order. Loops over inputs are unrolled, so that their lanes live in registers:
// gcc 12 unrolls two of them by itself, and three inputs took six times the time of two.

#include "base/nn/mlp_parts.h"

#include "base/base.h"
#include "base/nn/lanes_exp.h"

#include <string.h>

enum { INPUT_MOST = 4 };

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
    return (n + CRI_PART - 1) / CRI_PART * CRI_PART;
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

// lanes from unit j on: keeps slopes or values, adds to g; n_in and is_tanh are constants where
// this is inlined
CRI_INLINE void push_lanes(const call *c, int n_in, bool is_tanh, const double *x, int j,
                           double *keep, cri_lanes *g) {
    cri_lanes z, W[INPUT_MOST], last, a, e;
    cri_lanes_load(c->W + (long)n_in * c->n + j, &z);
    cri_lanes_load(c->last + j, &last);
#pragma GCC unroll 4 // INPUT_MOST
    for (int i = 0; i < n_in; i++) {
        cri_lanes_load(c->W + (long)i * c->n + j, &W[i]);
        z += x[i] * W[i];
    }
    if (is_tanh) {
        cri_lanes_tanh(&z, &a);
    } else {
        cri_lanes_decay(&z, &e);
        cri_lanes_logistic(&z, &e, &a);
    }
    cri_lanes_store(&a, keep + j);
    cri_lanes T = (is_tanh ? 1.0 - a * a : a) * last;
#pragma GCC unroll 4
    for (int i = 0; i < n_in; i++) {
        g[i] += T * W[i];
    }
}

CRI_INLINE void push_row(const call *c, int n_in, bool is_tanh, int r, double *keep, double *g) {
    const double *x = c->x + (long)r * n_in;
    cri_lanes part[2][INPUT_MOST] = {{{0.0}}};
    for (int j = 0; j < c->n; j += CRI_PART) {
        push_lanes(c, n_in, is_tanh, x, j, keep + (long)r * c->n, part[0]);
        push_lanes(c, n_in, is_tanh, x, j + CRI_LANE, keep + (long)r * c->n, part[1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < n_in; i++) {
        g[(long)r * n_in + i] = cri_lanes_sum(&part[0][i], &part[1][i]);
    }
}

CRI_INLINE void push_some(const call *c, int n_in, double *keep, double *g) {
    const call own = *c; // which no store can change
    for (int r = 0; r < own.n_row; r++) {
        if (own.is_tanh) {
            push_row(&own, n_in, true, r, keep, g);
        } else {
            push_row(&own, n_in, false, r, keep, g);
        }
    }
}

CRI_INLINE void push_rows_body(const call *c, double *keep, double *g) {
    switch (c->n_in) {
    case 1:
        push_some(c, 1, keep, g);
        return;
    case 2:
        push_some(c, 2, keep, g);
        return;
    case 3:
        push_some(c, 3, keep, g);
        return;
    default:
        push_some(c, INPUT_MOST, keep, g);
    }
}

CRI_LANES(push_rows, (const call *c, double *keep, double *g), (c, keep, g))

bool cri_mlp_single(const cri_mlp *net, const double *w, int n_row, const double *x, double *g,
                    cri_mlp_cache *cache, cr_arena *arena) {
    CR_ASSERT(cri_mlp_is_single(net));
    int n_in = net->width[0], n = padded(net->width[1]);
    bool is_tanh = net->act == CRI_ACT_TANH;
    size_t n_all = (size_t)n_row * (size_t)n;
    double *keep = CR_PUSH_RAW(arena, double, n_all + 1);
    cri_arena_mark mark = cri_arena_get_mark(arena);
    const double *W = push_weights(net, w, arena);
    if (!keep || !W) {
        return false;
    }
    call c = {.n_in = n_in,
              .n = n,
              .n_row = n_row,
              .is_tanh = is_tanh,
              .W = W,
              .last = W + (long)(n_in + 1) * n,
              .x = x};
    push_rows(&c, keep, g);
    cri_arena_rewind(arena, mark);
    cache->a[1] = is_tanh ? keep : NULL;
    cache->s[1] = is_tanh ? NULL : keep;
    return true;
}

// ---- vjp ---------------------------------------------------------------------------------------

// to += x, all lanes
CRI_INLINE void add(const cri_lanes *x, double *to) {
    cri_lanes sum;
    cri_lanes_load(to, &sum);
    sum += *x;
    cri_lanes_store(&sum, to);
}

// lanes from unit j of row r, as push_lanes; adds to x_adj
CRI_INLINE void pull_lanes(const call *c, int n_in, bool is_tanh, int r, int j, cri_lanes *x_adj) {
    const double *x = c->x + (long)r * n_in, *u = c->u + (long)r * n_in;
    double *W_adj = c->sum, *b_adj = c->sum + (long)n_in * c->n, *last_adj = b_adj + c->n;
    cri_lanes a, W[INPUT_MOST], last, d = {0.0};
    cri_lanes_load(c->keep + (long)r * c->n + j, &a);
    cri_lanes_load(c->last + j, &last);
#pragma GCC unroll 4 // INPUT_MOST
    for (int i = 0; i < n_in; i++) {
        cri_lanes_load(c->W + (long)i * c->n + j, &W[i]);
        d += u[i] * W[i];
    }
    cri_lanes s = is_tanh ? 1.0 - a * a : a;
    cri_lanes T = s * last, s_d = s * d;
    cri_lanes Q = (is_tanh ? -2.0 * a : 1.0 - a) * T * d;
    add(&s_d, last_adj + j);
    add(&Q, b_adj + j);
#pragma GCC unroll 4
    for (int i = 0; i < n_in; i++) {
        cri_lanes own = T * u[i] + Q * x[i];
        add(&own, W_adj + (long)i * c->n + j);
        x_adj[i] += Q * W[i];
    }
}

CRI_INLINE void pull_row(const call *c, int n_in, bool is_tanh, int r) {
    cri_lanes part[2][INPUT_MOST] = {{{0.0}}};
    for (int j = 0; j < c->n; j += CRI_PART) {
        pull_lanes(c, n_in, is_tanh, r, j, part[0]);
        pull_lanes(c, n_in, is_tanh, r, j + CRI_LANE, part[1]);
    }
    if (!c->x_adj) {
        return;
    }
#pragma GCC unroll 4
    for (int i = 0; i < n_in; i++) {
        c->x_adj[(long)r * n_in + i] += cri_lanes_sum(&part[0][i], &part[1][i]);
    }
}

CRI_INLINE void pull_some(const call *c, int n_in) {
    const call own = *c;
    for (int r = 0; r < own.n_row; r++) {
        if (own.is_tanh) {
            pull_row(&own, n_in, true, r);
        } else {
            pull_row(&own, n_in, false, r);
        }
    }
}

CRI_INLINE void pull_rows_body(const call *c) {
    switch (c->n_in) {
    case 1:
        pull_some(c, 1);
        return;
    case 2:
        pull_some(c, 2);
        return;
    case 3:
        pull_some(c, 3);
        return;
    default:
        pull_some(c, INPUT_MOST);
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
