// SPDX-License-Identifier: MIT
//
// Nets of distance fields. B rows, bars are adjoints, * goes number by number.
//
//   value      Z_l = H_l W_l^T + b_l,  S_l = logistic(beta Z_l),  H_{l+1} = softplus(beta Z_l)/beta
//   gradient   T_{L-1} = S_{L-1} * w_L,  T_{l-1} = S_{l-1} * (T_l W_l),  g = T_0 W_0
//   its vjp    Hd_0 = g-bar,  Zd_l = Hd_l W_l^T,  Hd_{l+1} = S_l * Zd_l,
//              Q_l = beta (1 - S_l) * T_l * Zd_l
//              w_L-bar += colsum Hd_L + H_L^T phi-bar,  b_L-bar += sum phi-bar
//              Zb_l = Q_l + S_l * Hb_{l+1},  Hb_L = phi-bar w_L,  Hb_l = Zb_l W_l,  x-bar += Hb_0
//              W_l-bar += T_l^T Hd_l + Zb_l^T H_l,  b_l-bar += colsum Zb_l
//
// with softplus'' = beta S (1 - S). At the skip H = [h, x]/sqrt 2, so that each pass back splits
// its rows there: the first part goes on, the other is added at the input. Start: W ~ N(0, 2/out),
// b = 0; last W = sqrt(pi/in), b = -radius (Atzmon and Lipman 2020, Gropp et al. 2020).

#include "base/nn/skip_net.h"

#include "base/base.h"
#include "base/nn/activation.h"
#include "base/nn/gemm.h"

#include <math.h>
#include <string.h>

static const double half_root = 0.70710678118654752440; // 1/sqrt 2
static const double pi = 3.14159265358979323846;

const char *cri_skip_net_fault(const cri_skip_net *net) {
    if (net->n_hidden < 1 || net->n_hidden > CRI_SKIP_NET_MOST) {
        return "1 to 12 hidden layers are possible";
    }
    if (net->n_in < 1 || net->width <= net->n_in) {
        return "layers must be wider than the input";
    }
    if (net->skip < 0 || net->skip > net->n_hidden) {
        return "the skip leads to a layer that is not there";
    }
    return net->beta > 0.0 && isfinite(net->beta) ? NULL : "the sharpness must be positive";
}

int cri_skip_net_in(const cri_skip_net *net, int layer) {
    return layer == 0 ? net->n_in : net->width;
}

int cri_skip_net_out(const cri_skip_net *net, int layer) {
    if (layer == net->n_hidden) {
        return 1;
    }
    return layer + 1 == net->skip ? net->width - net->n_in : net->width;
}

int cri_skip_net_place(const cri_skip_net *net, int layer, bool is_bias) {
    CR_ASSERT(layer >= 0 && layer <= net->n_hidden + 1);
    int at = 0;
    for (int l = 0; l < layer; l++) {
        at += cri_skip_net_out(net, l) * (cri_skip_net_in(net, l) + 1);
    }
    return is_bias ? at + cri_skip_net_out(net, layer) * cri_skip_net_in(net, layer) : at;
}

int cri_skip_net_n_weight(const cri_skip_net *net) {
    return cri_skip_net_place(net, net->n_hidden + 1, false);
}

void cri_skip_net_start(const cri_skip_net *net, double radius, cri_random *stream, double *w) {
    int L = net->n_hidden;
    memset(w, 0, sizeof *w * (size_t)cri_skip_net_n_weight(net));
    for (int l = 0; l <= L; l++) {
        int n_in = cri_skip_net_in(net, l), n_out = cri_skip_net_out(net, l);
        double *W = w + cri_skip_net_place(net, l, false);
        for (int i = 0; i < n_out * n_in; i++) {
            W[i] = l < L ? sqrt(2.0 / n_out) * cri_random_normal(stream)
                         // a little noise keeps units apart
                         : sqrt(pi / n_in) + 1e-5 * cri_random_normal(stream);
        }
    }
    w[cri_skip_net_place(net, L, true)] = -radius;
}

void cri_skip_net_turn(const cri_skip_net *net, const double *w, double *turned) {
    memcpy(turned, w, sizeof *w * (size_t)cri_skip_net_n_weight(net));
    for (int l = 0; l <= net->n_hidden; l++) {
        int n_in = cri_skip_net_in(net, l), n_out = cri_skip_net_out(net, l);
        int at = cri_skip_net_place(net, l, false);
        for (int i = 0; i < n_out * n_in; i++) {
            turned[at + i % n_in * n_out + i / n_in] = w[at + i];
        }
    }
}

// ---- memory ------------------------------------------------------------------------------------

/// Arrays of work memory, each for n_row rows.
typedef struct arrays {
    double *h[CRI_SKIP_NET_MOST + 1];  // (n_row, in_l) inputs of layers
    double *hd[CRI_SKIP_NET_MOST + 1]; // (n_row, in_l) their tangents
    double *s[CRI_SKIP_NET_MOST];      // (n_row, out_l) slopes
    double *t[CRI_SKIP_NET_MOST];      // (n_row, out_l) dphi/dz
    double *q[CRI_SKIP_NET_MOST];      // (n_row, out_l) sources of the vjp
    double *spare[2];                  // (n_row, width)
} arrays;

static size_t row_numbers(const cri_skip_net *net) {
    size_t n = 2 * (size_t)net->width;
    for (int l = 0; l <= net->n_hidden; l++) {
        n += 2 * (size_t)cri_skip_net_in(net, l);
        n += l < net->n_hidden ? 3 * (size_t)cri_skip_net_out(net, l) : 0;
    }
    return n;
}

size_t cri_skip_net_work(const cri_skip_net *net, int n_row) {
    return row_numbers(net) * (size_t)n_row;
}

static double *cut(double **work, int n_row, int n) {
    double *at = *work;
    *work += (size_t)n_row * (size_t)n;
    return at;
}

static arrays arrays_of(const cri_skip_net *net, int n_row, double *work) {
    arrays a;
    for (int l = 0; l <= net->n_hidden; l++) {
        a.h[l] = cut(&work, n_row, cri_skip_net_in(net, l));
        a.hd[l] = cut(&work, n_row, cri_skip_net_in(net, l));
        if (l < net->n_hidden) {
            a.s[l] = cut(&work, n_row, cri_skip_net_out(net, l));
            a.t[l] = cut(&work, n_row, cri_skip_net_out(net, l));
            a.q[l] = cut(&work, n_row, cri_skip_net_out(net, l));
        }
    }
    a.spare[0] = cut(&work, n_row, net->width);
    a.spare[1] = cut(&work, n_row, net->width);
    return a;
}

// H_{l+1} from what layer l made: z itself, or [z, x]/sqrt 2 before the skip
static void spread(const cri_skip_net *net, int layer, int n_row, const double *z, const double *x,
                   double *h) {
    size_t n = (size_t)cri_skip_net_out(net, layer), n_x = (size_t)net->n_in;
    if (layer + 1 != net->skip) {
        memcpy(h, z, sizeof *h * (size_t)n_row * n);
        return;
    }
    for (int i = 0; i < n_row; i++) {
        for (size_t j = 0; j < n; j++) {
            h[j] = half_root * z[j];
        }
        for (size_t j = 0; j < n_x; j++) {
            h[n + j] = half_root * x[j];
        }
        h += n + n_x;
        z += n;
        x += n_x;
    }
}

// the way back: hb (n_row, in_{l+1}) into out (n_row, out_l), and what belongs to the input is
// added to x_adj, NULL: not wanted
static void gather(const cri_skip_net *net, int layer, int n_row, const double *hb, double *out,
                   double *x_adj) {
    size_t n = (size_t)cri_skip_net_out(net, layer), n_x = (size_t)net->n_in;
    if (layer + 1 != net->skip) {
        memcpy(out, hb, sizeof *out * (size_t)n_row * n);
        return;
    }
    for (int i = 0; i < n_row; i++) {
        for (size_t j = 0; j < n; j++) {
            out[j] = half_root * hb[j];
        }
        for (size_t j = 0; x_adj && j < n_x; j++) {
            x_adj[(size_t)i * n_x + j] += half_root * hb[n + j];
        }
        hb += n + n_x;
        out += n;
    }
}

// ---- value and gradient ------------------------------------------------------------------------

// z = h W_l^T or z += h W_l^T, the same sums in the same order either way
static void multiply(const cri_skip_net *net, const double *w, int layer, int n_row,
                     const double *h, double *z, bool is_adding) {
    int n = cri_skip_net_out(net, layer), n_in = cri_skip_net_in(net, layer);
    int at = cri_skip_net_place(net, layer, false);
    if (net->turned) {
        cri_gemm_nn(n_row, n, n_in, h, net->turned + at, z, is_adding);
    } else {
        cri_gemm_nt(n_row, n, n_in, h, w + at, z, is_adding);
    }
}

static void fill_value(const cri_skip_net *net, const double *w, int n_row, const double *x,
                       const arrays *a, double *phi) {
    memcpy(a->h[0], x, sizeof *x * (size_t)n_row * (size_t)net->n_in);
    for (int l = 0; l <= net->n_hidden; l++) {
        int n = cri_skip_net_out(net, l), n_all = n_row * n;
        const double *bias = w + cri_skip_net_place(net, l, true);
        double *z = l < net->n_hidden ? a->spare[0] : phi;
        for (int i = 0; i < n_row; i++) {
            memcpy(z + (size_t)i * (size_t)n, bias, sizeof *z * (size_t)n);
        }
        multiply(net, w, l, n_row, a->h[l], z, true);
        if (l == net->n_hidden) {
            return;
        }
        for (int i = 0; i < n_all; i++) {
            z[i] *= net->beta;
        }
        cri_activate(CRI_ACT_SOFTPLUS, n_all, z, z, a->s[l]);
        for (int i = 0; i < n_all; i++) {
            z[i] /= net->beta;
        }
        spread(net, l, n_row, z, x, a->h[l + 1]);
    }
}

// a row into all rows
static void repeat(int n_row, int n, const double *row, double *out) {
    for (int i = 0; i < n_row; i++) {
        memcpy(out + (size_t)i * (size_t)n, row, sizeof *row * (size_t)n);
    }
}

static void fill_gradient(const cri_skip_net *net, const double *w, int n_row, const arrays *a,
                          double *g) {
    int L = net->n_hidden;
    double *hb = a->spare[0];
    memset(g, 0, sizeof *g * (size_t)n_row * (size_t)net->n_in);
    repeat(n_row, cri_skip_net_in(net, L), w + cri_skip_net_place(net, L, false), hb);
    for (int l = L - 1; l >= 0; l--) {
        int n = cri_skip_net_out(net, l);
        double *t = a->t[l];
        gather(net, l, n_row, hb, t, g);
        for (int i = 0; i < n_row * n; i++) {
            t[i] *= a->s[l][i];
        }
        cri_gemm_nn(n_row, cri_skip_net_in(net, l), n, t, w + cri_skip_net_place(net, l, false),
                    l > 0 ? hb : g, l == 0);
    }
}

void cri_skip_net_eval(const cri_skip_net *net, const double *w, int n_row, const double *x,
                       double *phi, double *g, double *work) {
    CR_ASSERT(net && w && n_row >= 0 && x && phi && work);
    arrays a = arrays_of(net, n_row, work);
    fill_value(net, w, n_row, x, &a, phi);
    if (g) {
        fill_gradient(net, w, n_row, &a, g);
    }
}

void cri_skip_net_repeat(const cri_skip_net *net, int n_row, double *one, double *work) {
    arrays from = arrays_of(net, 1, one), to = arrays_of(net, n_row, work);
    for (int l = 0; l < net->n_hidden; l++) {
        repeat(n_row, cri_skip_net_out(net, l), from.s[l], to.s[l]);
        repeat(n_row, cri_skip_net_out(net, l), from.t[l], to.t[l]);
    }
}

// tangents along g_adj: Hd and Q of every layer
static void push_forward(const cri_skip_net *net, const double *w, int n_row, const double *g_adj,
                         const arrays *a) {
    memcpy(a->hd[0], g_adj, sizeof *g_adj * (size_t)n_row * (size_t)net->n_in);
    for (int l = 0; l < net->n_hidden; l++) {
        int n = cri_skip_net_out(net, l);
        double *zd = a->spare[0];
        multiply(net, w, l, n_row, a->hd[l], zd, false);
        for (int i = 0; i < n_row * n; i++) {
            double s = a->s[l][i];
            a->q[l][i] = net->beta * (1.0 - s) * a->t[l][i] * zd[i];
            zd[i] *= s;
        }
        spread(net, l, n_row, zd, g_adj, a->hd[l + 1]);
    }
}

// W_l-bar and b_l-bar of layer l from Zb
static void add_weights(const cri_skip_net *net, int layer, int n_row, const double *zb,
                        const arrays *a, bool has_tangent, double *w_adj) {
    int n = cri_skip_net_out(net, layer), n_in = cri_skip_net_in(net, layer);
    double *W_adj = w_adj + cri_skip_net_place(net, layer, false);
    cri_gemm_tn(n, n_in, n_row, zb, a->h[layer], W_adj, true);
    if (has_tangent) {
        cri_gemm_tn(n, n_in, n_row, a->t[layer], a->hd[layer], W_adj, true);
    }
    cri_sum_rows(n_row, n, zb, w_adj + cri_skip_net_place(net, layer, true));
}

// adjoints of the last layer, and Hb_L into hb
static void pull_last(const cri_skip_net *net, const double *w, int n_row, const double *phi_adj,
                      const arrays *a, bool has_tangent, double *hb, double *w_adj) {
    int L = net->n_hidden, n_in = cri_skip_net_in(net, L);
    const double *row = w + cri_skip_net_place(net, L, false);
    for (int i = 0; i < n_row; i++) {
        for (int j = 0; j < n_in; j++) {
            hb[i * n_in + j] = phi_adj ? phi_adj[i] * row[j] : 0.0;
        }
    }
    if (w_adj && has_tangent) {
        cri_sum_rows(n_row, n_in, a->hd[L], w_adj + cri_skip_net_place(net, L, false));
    }
    if (w_adj && phi_adj) {
        cri_gemm_tn(1, n_in, n_row, phi_adj, a->h[L], w_adj + cri_skip_net_place(net, L, false),
                    true);
        cri_sum_rows(n_row, 1, phi_adj, w_adj + cri_skip_net_place(net, L, true));
    }
}

void cri_skip_net_eval_vjp(const cri_skip_net *net, const double *w, int n_row,
                           const double *phi_adj, const double *g_adj, double *x_adj, double *w_adj,
                           double *work) {
    CR_ASSERT(net && w && n_row >= 0 && work);
    arrays a = arrays_of(net, n_row, work);
    double *hb = a.spare[0], *zb = a.spare[1];
    if (g_adj) {
        push_forward(net, w, n_row, g_adj, &a);
    }
    pull_last(net, w, n_row, phi_adj, &a, g_adj != NULL, hb, w_adj);
    for (int l = net->n_hidden - 1; l >= 0; l--) {
        int n = cri_skip_net_out(net, l);
        gather(net, l, n_row, hb, zb, x_adj);
        for (int i = 0; i < n_row * n; i++) {
            zb[i] = a.s[l][i] * zb[i] + (g_adj ? a.q[l][i] : 0.0);
        }
        if (w_adj) {
            add_weights(net, l, n_row, zb, &a, g_adj != NULL, w_adj);
        }
        if (l > 0 || x_adj) {
            cri_gemm_nn(n_row, cri_skip_net_in(net, l), n, zb,
                        w + cri_skip_net_place(net, l, false), l > 0 ? hb : x_adj, l == 0);
        }
    }
}
