// SPDX-License-Identifier: MIT
//
// A net as a distance field.
//
//   y = (x - c)/s:   phi = s F(y, z),  g = F_y,  H = F_yy/s
//   vjp, seeds (a on phi, b on g): of F (s a, b), then x_adj = y_adj/s, z_adj as it is
//   jvp: u = (x_tan/s, z_tan):  phi_tan = s F_(y,z) . u,  g_tan = (F'' u)_y
//
// F'' u is the adjoint of the gradient for the seed u, since F'' is symmetric (base/nn/skip_net.c).
// All memory is on the stack: a batch has as many rows as fit.

#include "geometry/field/field_neural.h"

#include <string.h>

enum {
    WORK = 40960,  // numbers on the stack
    ROW_MOST = 64, // of a batch
    IN_MOST = 64,  // inputs of a net
};

typedef struct batch {
    double x[ROW_MOST * IN_MOST];
    double g[ROW_MOST * IN_MOST];
    double phi[ROW_MOST];
    double work[WORK];
} batch;

static int batch_rows(const cri_neural *n) {
    CR_ASSERT(n->net->n_in <= IN_MOST && n->net->n_hidden * n->net->width <= CRI_NEURAL_UNITS);
    int rows = (int)(WORK / cri_skip_net_work(n->net, 1));
    CR_ASSERT(rows >= 1);
    return rows < ROW_MOST ? rows : ROW_MOST;
}

static void set_row(const cri_neural *n, const double *code, const double *x, double *row) {
    row[0] = (x[0] - n->centre.x) / n->scale;
    row[1] = (x[1] - n->centre.y) / n->scale;
    row[2] = (x[2] - n->centre.z) / n->scale;
    memcpy(row + 3, code, sizeof *row * (size_t)(n->net->n_in - 3));
}

static void neural_eval(const void *self, const double *code, cri_vec3 x, cri_field_order order,
                        cri_field_value *out) {
    const cri_neural *n = self;
    int n_in = n->net->n_in, n_row = batch_rows(n) >= 4 ? 3 : 1;
    const double at[3] = {x.x, x.y, x.z};
    batch b;
    set_row(n, code, at, b.x);
    cri_skip_net_eval(n->net, n->w, 1, b.x, b.phi, order == CRI_FIELD_PHI ? NULL : b.g, b.work);
    out->phi = n->scale * b.phi[0];
    if (order == CRI_FIELD_PHI) {
        return;
    }
    out->g = cri_v3_load(b.g);
    if (order < CRI_FIELD_HESSIAN) {
        return;
    }
    // rows of the second derivative, all at once or one by one
    double H[3][IN_MOST] = {{0.0}}, seed[3 * IN_MOST] = {0.0}, adj[3 * IN_MOST] = {0.0};
    double *work = n_row > 1 ? b.work + cri_skip_net_work(n->net, 1) : b.work;
    if (n_row > 1) {
        cri_skip_net_repeat(n->net, n_row, b.work, work);
    }
    for (int i = 0; i < 3; i += n_row) {
        memset(seed, 0, sizeof seed);
        memset(adj, 0, sizeof adj);
        for (int k = 0; k < n_row; k++) {
            seed[k * n_in + i + k] = 1.0;
        }
        cri_skip_net_eval_vjp(n->net, n->w, n_row, NULL, seed, adj, NULL, work);
        for (int k = 0; k < n_row; k++) {
            memcpy(H[i + k], adj + k * n_in, sizeof *adj * 3);
        }
    }
    static const int row[6] = {0, 1, 2, 0, 0, 1}, column[6] = {0, 1, 2, 1, 2, 2};
    for (int k = 0; k < 6; k++) {
        out->H[k] = H[row[k]][column[k]] / n->scale;
    }
}

// the adjoint of the net's input for seeds on its value and gradient; g, if not NULL, gets the
// gradient
static void pull(const cri_neural *n, const double *code, cri_vec3 x, double phi_adj,
                 const double *g_adj, double *in_adj, double *g) {
    const double at[3] = {x.x, x.y, x.z};
    batch b;
    set_row(n, code, at, b.x);
    cri_skip_net_eval(n->net, n->w, 1, b.x, b.phi, b.g, b.work);
    cri_skip_net_eval_vjp(n->net, n->w, 1, &phi_adj, g_adj, in_adj, NULL, b.work);
    if (g) {
        memcpy(g, b.g, sizeof *g * (size_t)n->net->n_in);
    }
}

static void neural_vjp(const void *self, const double *code, cri_vec3 x, double phi_adj,
                       cri_vec3 g_adj, cri_vec3 *x_adj, double *code_adj) {
    const cri_neural *n = self;
    double in_adj[IN_MOST] = {0.0}, seed[IN_MOST] = {g_adj.x, g_adj.y, g_adj.z};
    bool has_seed = g_adj.x != 0.0 || g_adj.y != 0.0 || g_adj.z != 0.0;
    pull(n, code, x, n->scale * phi_adj, has_seed ? seed : NULL, in_adj, NULL);
    *x_adj = cri_v3_mad(*x_adj, 1.0 / n->scale, cri_v3_load(in_adj));
    for (int i = 3; code_adj && i < n->net->n_in; i++) {
        code_adj[i - 3] += in_adj[i];
    }
}

static void neural_jvp(const void *self, const double *code, cri_vec3 x, cri_vec3 x_tan,
                       const double *code_tan, double *phi_tan, cri_vec3 *g_tan) {
    const cri_neural *n = self;
    double u[IN_MOST] = {x_tan.x / n->scale, x_tan.y / n->scale, x_tan.z / n->scale};
    double F_u[IN_MOST] = {0.0}, g[IN_MOST];
    for (int i = 3; code_tan && i < n->net->n_in; i++) {
        u[i] = code_tan[i - 3];
    }
    pull(n, code, x, 0.0, u, F_u, g);
    *phi_tan = 0.0;
    for (int i = 0; i < n->net->n_in; i++) {
        *phi_tan += n->scale * g[i] * u[i];
    }
    *g_tan = cri_v3_load(F_u);
}

void cri_neural_many(const cri_neural *n, const double *code, int n_point, const double *x,
                     double *phi, double *g) {
    int most = batch_rows(n), n_in = n->net->n_in;
    batch b;
    for (int first = 0; first < n_point; first += most) {
        int rows = n_point - first < most ? n_point - first : most;
        for (int i = 0; i < rows; i++) {
            set_row(n, code, x + 3 * (size_t)(first + i), b.x + i * n_in);
        }
        cri_skip_net_eval(n->net, n->w, rows, b.x, b.phi, g ? b.g : NULL, b.work);
        for (int i = 0; i < rows; i++) {
            phi[first + i] = n->scale * b.phi[i];
            if (g) {
                memcpy(g + 3 * (size_t)(first + i), b.g + i * n_in, 3 * sizeof *g);
            }
        }
    }
}

// the next rows of a batch with their gradients, which hold those for the code; how many
static int fill_batch(const cri_neural *n, const double *code, int n_left, const double *x,
                      batch *b) {
    int most = batch_rows(n), rows = n_left < most ? n_left : most;
    for (int i = 0; i < rows; i++) {
        set_row(n, code, x + 3 * (size_t)i, b->x + i * n->net->n_in);
    }
    cri_skip_net_eval(n->net, n->w, rows, b->x, b->phi, b->g, b->work);
    return rows;
}

void cri_neural_many_vjp(const cri_neural *n, const double *code, int n_point, const double *x,
                         const double *phi_adj, double *code_adj) {
    int n_in = n->net->n_in;
    batch b;
    for (int first = 0, rows; first < n_point; first += rows) {
        rows = fill_batch(n, code, n_point - first, x + 3 * (size_t)first, &b);
        for (int i = 0; i < rows; i++) {
            for (int k = 3; k < n_in; k++) {
                code_adj[k - 3] += n->scale * phi_adj[first + i] * b.g[i * n_in + k];
            }
        }
    }
}

void cri_neural_many_jvp(const cri_neural *n, const double *code, int n_point, const double *x,
                         const double *code_tan, double *phi_tan) {
    int n_in = n->net->n_in;
    batch b;
    for (int first = 0, rows; first < n_point; first += rows) {
        rows = fill_batch(n, code, n_point - first, x + 3 * (size_t)first, &b);
        for (int i = 0; i < rows; i++) {
            phi_tan[first + i] = 0.0;
            for (int k = 3; k < n_in; k++) {
                phi_tan[first + i] += n->scale * b.g[i * n_in + k] * code_tan[k - 3];
            }
        }
    }
}

static void many_of(const void *self, const double *code, int n, const double *x, double *phi,
                    double *g) {
    cri_neural_many(self, code, n, x, phi, g);
}

static void many_vjp_of(const void *self, const double *code, int n, const double *x,
                        const double *phi_adj, double *code_adj) {
    cri_neural_many_vjp(self, code, n, x, phi_adj, code_adj);
}

static void many_jvp_of(const void *self, const double *code, int n, const double *x,
                        const double *code_tan, double *phi_tan) {
    cri_neural_many_jvp(self, code, n, x, code_tan, phi_tan);
}

cri_field_custom cri_neural_custom(const cri_neural *neural, double slope, const double *lower,
                                   const double *upper) {
    CR_ASSERT(neural->net->n_in >= 3 && neural->scale > 0.0);
    return (cri_field_custom){.n_param = neural->net->n_in - 3,
                              .lipschitz = slope,
                              .lower = {lower[0], lower[1], lower[2]},
                              .upper = {upper[0], upper[1], upper[2]},
                              .self = neural,
                              .eval = neural_eval,
                              .vjp = neural_vjp,
                              .jvp = neural_jvp,
                              .many = many_of,
                              .many_vjp = many_vjp_of,
                              .many_jvp = many_jvp_of};
}
