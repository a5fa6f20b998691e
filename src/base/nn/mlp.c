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

#include "base/nn/mlp.h"

#include "base/base.h"
#include "base/math/dense.h"
#include "base/nn/gemm.h"
#include "base/nn/lanes_exp.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

enum { INPUT_MOST = 4 };

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

/// Pairs of a layer: first halves belong to the gradient, second ones to the value.
typedef struct pairs {
    double *a[CRI_MLP_LAYER_MOST]; // (2 n_row, n_l) [Ad_l; A_l], l = 0..L-2
    double *t[CRI_MLP_LAYER_MOST]; // (2 n_row, n_l) [T_l; Zb_l], l = 1..L-1
} pairs;

// ---- start --------------------------------------------------------------------------------------

// Starts. Of the fans n_0 (in) and n_1 (out) of a layer,
//
//   orthogonal   Q of the QR factorisation of a Gaussian matrix with positive diagonal of R, which
//                is uniform over matrices with orthonormal columns (Mezzadri 2007); of the
//                transposed one when n_1 < n_0
//   Glorot       uniform, variance 2/(n_0 + n_1) (Glorot and Bengio 2010, eq. 16)
//   fan-in       uniform in +-1/sqrt n_0
//
// Gram and Schmidt's process twice gives Q with a positive diagonal of R as it stands.

static void fill_uniform(cri_random *stream, int n, double limit, double *w) {
    for (int i = 0; i < n; i++) {
        w[i] = limit > 0.0 ? cri_random_uniform(stream, -limit, limit) : 0.0;
    }
}

// n_vector orthonormal rows of length n >= n_vector
static void fill_orthonormal(cri_random *stream, int n_vector, int n, double *rows) {
    for (int k = 0; k < n_vector; k++) {
        double *row = rows + (long)k * n;
        double before = 0.0, after = 0.0;
        do {
            for (int i = 0; i < n; i++) {
                row[i] = cri_random_normal(stream);
            }
            before = sqrt(cri_dot(n, row, row));
            for (int pass = 0; pass < 2; pass++) {
                for (int j = 0; j < k; j++) {
                    const double *other = rows + (long)j * n;
                    cri_add_scaled(n, -cri_dot(n, row, other), other, row);
                }
            }
            after = sqrt(cri_dot(n, row, row));
        } while (!(after > 1e-8 * before)); // in the span of the others: draw again
        for (int i = 0; i < n; i++) {
            row[i] /= after;
        }
    }
}

static bool fill_orthogonal(cri_random *stream, int n_out, int n_in, double *w, cr_arena *work) {
    if (n_out <= n_in) {
        fill_orthonormal(stream, n_out, n_in, w);
        return true;
    }
    cri_arena_mark mark = cri_arena_get_mark(work);
    double *columns = CR_PUSH_RAW(work, double, (size_t)n_out *(size_t)n_in);
    if (columns) {
        fill_orthonormal(stream, n_in, n_out, columns);
    }
    for (long i = 0; columns && i < (long)n_out * n_in; i++) {
        w[i] = columns[i % n_in * n_out + i / n_in];
    }
    cri_arena_rewind(work, mark);
    return columns != NULL;
}

bool cri_mlp_start(const cri_mlp *net, cri_start kind, cri_random *stream, double *w,
                   cr_arena *work) {
    CR_ASSERT(net && stream && w && work);
    for (int l = 1; l <= net->n_layer; l++) {
        int n_in = net->width[l - 1], n_out = net->width[l];
        double *W = w + cri_mlp_place(net, l, false);
        double limit = 1.0 / sqrt(n_in);
        switch (kind) {
        case CRI_START_ORTHOGONAL:
            if (!fill_orthogonal(stream, n_out, n_in, W, work)) {
                return false;
            }
            break;
        case CRI_START_GLOROT:
            fill_uniform(stream, n_out * n_in, sqrt(6.0 / (n_in + n_out)), W);
            limit = 0.0;
            break;
        case CRI_START_FAN_IN:
            fill_uniform(stream, n_out * n_in, limit, W);
            break;
        }
        if (l < net->n_layer || !net->has_no_last_bias) {
            fill_uniform(stream, n_out, limit, w + cri_mlp_place(net, l, true));
        }
    }
    return true;
}

// ---- one hidden layer ---------------------------------------------------------------------------

// The gradient of a net with one hidden layer and few inputs: one pass over the units a row, with
// everything in the nearest cache and one exponential a unit. Formulas: above, with L = 2; over
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

bool cri_mlp_is_single(const cri_mlp *net) {
    return net->n_layer == 2 && net->width[0] <= INPUT_MOST && net->act != CRI_ACT_RELU;
}

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

/// As the functions of mlp.h, for such a net and without values.
static bool mlp_single(const cri_mlp *net, const double *w, int n_row, const double *x, double *g,
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

static bool mlp_single_vjp(const cri_mlp *net, const double *w, const cri_mlp_cache *cache,
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

// ---- any net ------------------------------------------------------------------------------------

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

static double *allocate_rows(cr_arena *arena, int n_row, int n) {
    return CR_PUSH_RAW(arena, double, (size_t)n_row *(size_t)n + 1);
}

// Hidden layers into the cache, which comes empty. Slopes are kept when wanted, and values of the
// last hidden layer too, or where tanh makes slopes of them.
static bool fill_hidden(const cri_mlp *net, const double *w, bool has_slopes, bool has_last,
                        cri_mlp_cache *c, cr_arena *arena) {
    const double *a = c->x;
    for (int l = 1; l < net->n_layer; l++) {
        int n = net->width[l];
        double *z = allocate_rows(arena, c->n_row, n);
        bool has_value = has_last || l + 1 < net->n_layer || net->act == CRI_ACT_TANH;
        double *s = z;
        if (has_slopes && has_value) {
            s = allocate_rows(arena, c->n_row, n);
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
        double *Ab = allocate_rows(work, n_row, n_in);
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
        double *T = allocate_rows(arena, c->n_row, net->width[l]);
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
        is_good = mlp_single(net, w, n_row, x, g, &c, arena);
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
        p->a[l] = allocate_rows(work, 2 * n_row, net->width[l]);
        p->t[l] = l > 0 ? allocate_rows(work, 2 * n_row, net->width[l]) : p->a[l];
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
        double *Ab = allocate_rows(work, n_row, n_in), *below = p->t[l - 1] + n_below;
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
        return mlp_single_vjp(net, w, cache, g_adj, x_adj, w_adj, work);
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
