// SPDX-License-Identifier: MIT
//
// Law `augmented` (Algorithm 1 of paper 003) in the rows of the patch (contact/ground.h), tangent
// 0 and ends 1, 2, with x the inputs and k the scale of impulses:
//
//   class = argmax C(x)
//   static     A g = -c, the patch stands still           some g_i < 0 at an end: as detach
//   dynamic    g_0 = k R_0(x),  0 <= g_e perp c_e + A_e0 g_0 + A_ee g_e >= 0
//                                                         all g_e = 0: as detach
//   detach     g = 0                                      some c_e < 0: dynamic with g_0 = 0
//
// The three guards on the right are not in the paper. With them no end approaches the ground, no
// end pulls, and there is friction only where an end pushes, whatever the nets say. Restitution and
// the coefficients of friction do not count: the nets have learned their surface.
//
// Rival `regressed` (pure data-driven in the paper): g = k R(x), every row.
//
// Derivatives keep the class and the active set; the classifier's weights have none. Static:
// y = A^-1 g_adj gives c_adj = -y, A_adj = -y g'. Dynamic: those of the complementarity problem
// (solvers/lcp.h) and of the net.

#include "contact/augmented.h"

#include "base/base.h"
#include "math/cholesky.h"
#include "solvers/lcp.h"

#include <math.h>
#include <string.h>

enum { MOST = CRI_GROUND_ROWS, MOST_END = MOST - 1 };

/// One solve.
typedef struct augmented_cache {
    cri_ground ground;
    cri_ground_class said;
    cri_augmented_mode mode;
    double g[MOST];
    double factor[MOST * MOST]; // static: Cholesky of A
    double input[CRI_GROUND_INPUTS];
    double out[MOST]; // of the regressor
    double scale;     // of impulses
    cri_mlp_cache net;
    double M[MOST_END * MOST_END], q[MOST_END]; // of the complementarity problem
    cri_lcp_cache lcp;
} augmented_cache;

cri_ground_class cri_augmented_class(const void *cache) {
    return ((const augmented_cache *)cache)->said;
}

cri_augmented_mode cri_augmented_mode_of(const void *cache) {
    return ((const augmented_cache *)cache)->mode;
}

// ---- forward -----------------------------------------------------------------------------------

// the class, and by how much it leads in probability
static cri_ground_class classify(const cri_contact_problem *p, const augmented_cache *c,
                                 double *margin, cr_arena *scratch) {
    int net = 2 * (int)c->ground.kind;
    double out[CRI_GROUND_CLASSES], sum = 0.0, second = 0.0;
    // the law's room suffices for any net that the reader lets through
    bool has_room = cri_mlp_value(&p->nets->net[net], p->weights + p->nets->first[net], 1, c->input,
                                  out, NULL, scratch);
    CR_ASSERT(has_room);
    int best = 0;
    for (int i = 1; i < CRI_GROUND_CLASSES; i++) {
        best = out[i] > out[best] ? i : best;
    }
    for (int i = 0; i < CRI_GROUND_CLASSES; i++) {
        double weight = exp(out[i] - out[best]);
        sum += weight;
        second = i != best ? fmax(second, weight) : second;
    }
    *margin = (1.0 - second) / sum;
    return (cri_ground_class)best;
}

static void regress(const cri_contact_problem *p, augmented_cache *c, bool has_cache,
                    cr_arena *keep) {
    int net = 2 * (int)c->ground.kind + 1;
    bool has_room = cri_mlp_value(&p->nets->net[net], p->weights + p->nets->first[net], 1, c->input,
                                  c->out, has_cache ? &c->net : NULL, keep);
    CR_ASSERT(has_room);
}

// false when an end would pull
static bool stand_still(augmented_cache *c) {
    int k = c->ground.n_row;
    memcpy(c->factor, c->ground.A, sizeof c->factor);
    bool is_good = cri_cholesky_factor(k, c->factor);
    for (int i = 0; i < k; i++) {
        c->g[i] = -c->ground.c[i];
    }
    if (is_good) {
        cri_cholesky_solve(k, c->factor, c->g);
    }
    for (int i = 1; i < k; i++) {
        is_good = is_good && c->g[i] >= 0.0;
    }
    return is_good;
}

static cri_lcp normals(const augmented_cache *c) {
    return (cri_lcp){.n = c->ground.n_row - 1, .M = c->M, .q = c->q};
}

// normals for the friction g_0; false when no end pushes
static bool solve_normals(augmented_cache *c, cri_law_report *report, cr_arena *scratch) {
    int k = c->ground.n_row, n = k - 1;
    for (int i = 0; i < n; i++) {
        c->q[i] = c->ground.c[i + 1] + c->ground.A[i + 1] * c->g[0];
        for (int j = 0; j < n; j++) {
            c->M[i * n + j] = c->ground.A[(i + 1) * k + j + 1];
        }
    }
    cri_lcp lcp = normals(c);
    cri_lcp_report solved = cri_lcp_solve(&lcp, c->g + 1, scratch);
    report->outcome = solved.outcome;
    report->n_iteration += solved.n_iteration;
    double size = fmax(fabs(c->q[0]), fabs(c->q[n - 1]));
    report->residual = size > 0.0 ? solved.residual / (1e-10 * size) : 0.0;
    bool is_pushing = false;
    for (int i = 1; i < k; i++) {
        c->g[i] = fmax(c->g[i], 0.0);
        is_pushing = is_pushing || c->g[i] > 0.0;
    }
    return is_pushing;
}

// Algorithm 1 with its guards
static void choose(const cri_contact_problem *p, augmented_cache *c, bool has_cache,
                   cri_law_report *report, cr_arena *keep, cr_arena *scratch) {
    if (c->said == CRI_GROUND_STATIC && stand_still(c)) {
        c->mode = CRI_AUGMENTED_STATIC;
        return;
    }
    if (c->said == CRI_GROUND_DYNAMIC && c->ground.closest > 0) {
        regress(p, c, has_cache, keep);
        c->g[0] = c->scale * c->out[0];
        if (isfinite(c->g[0]) && solve_normals(c, report, scratch)) {
            c->mode = CRI_AUGMENTED_DYNAMIC;
            return;
        }
    }
    memset(c->g, 0, sizeof c->g);
    if (c->ground.closest > 0) {
        c->mode = CRI_AUGMENTED_FRICTIONLESS;
        solve_normals(c, report, scratch);
    }
}

// the cache with its patch and inputs, in keep; false when there is nothing to solve
static bool begin(const cri_contact_problem *p, augmented_cache *c, cri_law_report *report,
                  cr_arena *keep) {
    CR_ASSERT(p->nets && p->weights);
    report->compression = report->shift = NULL;
    memset(report->is_sliding, 0, sizeof(bool) * (size_t)p->n);
    c->said = CRI_GROUND_DETACH;
    if (!cri_ground_reduce(p, &c->ground, keep)) {
        // contacts of another kind than the nets know
        report->outcome = CR_ITERATION_LIMIT;
        return false;
    }
    double sum = 0.0;
    for (int i = 0; i < c->ground.n_row; i++) {
        sum += fabs(c->ground.c[i]);
    }
    if (sum <= 0.0) {
        return false;
    }
    c->scale = cri_ground_input(&c->ground, c->input);
    return true;
}

static void finish(augmented_cache *c, double *f, bool has_cache, cri_law_report *report,
                   cr_arena *keep) {
    cri_ground_spread(&c->ground, c->g, f);
    bool has_lcp = c->mode == CRI_AUGMENTED_DYNAMIC || c->mode == CRI_AUGMENTED_FRICTIONLESS;
    if (has_cache && has_lcp && report->outcome == CR_SOLVED) {
        cri_lcp lcp = normals(c);
        bool is_reduced = cri_lcp_reduce(&lcp, c->g + 1, &c->lcp, keep);
        report->outcome = is_reduced ? CR_SOLVED : CR_ITERATION_LIMIT;
    }
    for (int i = 0; i < c->ground.n; i++) {
        report->is_sliding[i] = c->mode != CRI_AUGMENTED_STATIC && f[3 * i] > 0.0;
    }
}

static const void *solve(const cri_contact_problem *p, double *f, bool has_cache,
                         cri_law_report *report, cr_arena *keep, cr_arena *scratch) {
    augmented_cache *c = CR_PUSH(keep, augmented_cache, 1);
    if (begin(p, c, report, keep)) {
        c->said = classify(p, c, &report->margin, scratch);
        choose(p, c, has_cache, report, keep, scratch);
    }
    finish(c, f, has_cache, report, keep);
    return c;
}

static const void *solve_regressed(const cri_contact_problem *p, double *f, bool has_cache,
                                   cri_law_report *report, cr_arena *keep, cr_arena *scratch) {
    (void)scratch;
    augmented_cache *c = CR_PUSH(keep, augmented_cache, 1);
    if (begin(p, c, report, keep)) {
        regress(p, c, has_cache, keep);
        c->mode = CRI_AUGMENTED_REGRESSED;
        for (int i = 0; i < c->ground.n_row; i++) {
            c->g[i] = c->scale * c->out[i];
        }
    }
    finish(c, f, has_cache, report, keep);
    return c;
}

// ---- derivatives -------------------------------------------------------------------------------

// g_i = scale out_i of the first n_out rows: adds to A_adj, c_adj and the weights'
static void regress_vjp(const cri_contact_problem *p, const augmented_cache *c, int n_out,
                        const double *g_adj, double *A_adj, double *c_adj, double *weights_adj,
                        cr_arena *scratch) {
    int net = 2 * (int)c->ground.kind + 1, first = p->nets->first[net];
    double input_adj[CRI_GROUND_INPUTS] = {0}, out_adj[MOST] = {0}, scale_adj = 0.0;
    for (int i = 0; i < n_out; i++) {
        scale_adj += g_adj[i] * c->out[i];
        out_adj[i] = g_adj[i] * c->scale;
    }
    bool has_room = cri_mlp_value_vjp(&p->nets->net[net], p->weights + first, &c->net, out_adj,
                                      input_adj, weights_adj ? weights_adj + first : NULL, scratch);
    CR_ASSERT(has_room);
    cri_ground_input_vjp(&c->ground, input_adj, scale_adj, A_adj, c_adj);
}

static void normals_vjp(const cri_contact_problem *p, const augmented_cache *c, double *g_adj,
                        double *A_adj, double *c_adj, double *weights_adj, cr_arena *scratch) {
    int k = c->ground.n_row;
    double q_adj[MOST_END];
    // g_e = lcp(M = A_ee, q = c_e + A_e0 g_0)
    cri_lcp_vjp(&c->lcp, g_adj + 1, q_adj, scratch);
    for (int i = 1; i < k; i++) {
        for (int j = 1; j < k; j++) {
            A_adj[i * k + j] += q_adj[i - 1] * c->g[j];
        }
        c_adj[i] += q_adj[i - 1];
        A_adj[i] += q_adj[i - 1] * c->g[0];
        g_adj[0] += q_adj[i - 1] * c->ground.A[i];
    }
    // g_0 = scale out_0
    if (c->mode == CRI_AUGMENTED_DYNAMIC) {
        regress_vjp(p, c, 1, g_adj, A_adj, c_adj, weights_adj, scratch);
    }
}

static void vjp(const cri_contact_problem *p, const void *cached, const double *f,
                const double *f_adj, cri_contact_adj *adj, cr_arena *scratch) {
    (void)f;
    const augmented_cache *c = cached;
    int k = c->ground.n_row;
    double g_adj[MOST], A_adj[MOST * MOST] = {0}, c_adj[MOST] = {0};
    double *weights_adj = adj->weights;
    // f = R' g
    cri_ground_take(&c->ground, f_adj, g_adj);
    switch (c->mode) {
    case CRI_AUGMENTED_NONE:
        break;
    case CRI_AUGMENTED_STATIC:
        // A g = -c
        cri_cholesky_solve(k, c->factor, g_adj);
        for (int i = 0; i < k; i++) {
            c_adj[i] = -g_adj[i];
            for (int j = 0; j < k; j++) {
                A_adj[i * k + j] = -g_adj[i] * c->g[j];
            }
        }
        break;
    case CRI_AUGMENTED_DYNAMIC:
    case CRI_AUGMENTED_FRICTIONLESS:
        normals_vjp(p, c, g_adj, A_adj, c_adj, weights_adj, scratch);
        break;
    case CRI_AUGMENTED_REGRESSED:
        regress_vjp(p, c, k, g_adj, A_adj, c_adj, weights_adj, scratch);
        break;
    }
    *adj = (cri_contact_adj){.weights = weights_adj,
                             .mu = CR_PUSH(scratch, double, p->n),
                             .e = CR_PUSH(scratch, double, p->n)};
    cri_ground_reduce_vjp(p, &c->ground, A_adj, c_adj, adj, scratch);
}

// out_tan of the first n_out rows from one vjp each; weights_tan may be NULL
static void regress_jvp(const cri_contact_problem *p, const augmented_cache *c, int n_out,
                        const double *A_tan, const double *c_tan, const double *weights_tan,
                        double *g_tan, cr_arena *scratch) {
    int net = 2 * (int)c->ground.kind + 1, first = p->nets->first[net];
    const cri_mlp *mlp = &p->nets->net[net];
    int n_weight = cri_mlp_n_weight(mlp);
    double input_tan[CRI_GROUND_INPUTS];
    double scale_tan = cri_ground_input_jvp(&c->ground, A_tan, c_tan, input_tan);
    for (int i = 0; i < n_out; i++) {
        cri_arena_mark mark = cri_arena_get_mark(scratch);
        double *row = weights_tan ? CR_PUSH(scratch, double, n_weight) : NULL;
        double input_adj[CRI_GROUND_INPUTS] = {0}, seed[MOST] = {0}, out_tan = 0.0;
        seed[i] = 1.0;
        bool has_room =
            cri_mlp_value_vjp(mlp, p->weights + first, &c->net, seed, input_adj, row, scratch);
        CR_ASSERT(has_room);
        for (int j = 0; j < mlp->width[0]; j++) {
            out_tan += input_adj[j] * input_tan[j];
        }
        for (int j = 0; row && j < n_weight; j++) {
            out_tan += row[j] * weights_tan[first + j];
        }
        g_tan[i] = scale_tan * c->out[i] + c->scale * out_tan;
        cri_arena_rewind(scratch, mark);
    }
}

static void normals_jvp(const augmented_cache *c, const double *A_tan, const double *c_tan,
                        double *g_tan, cr_arena *scratch) {
    int k = c->ground.n_row;
    double rhs[MOST_END];
    for (int i = 1; i < k; i++) {
        rhs[i - 1] = c_tan[i] + A_tan[i] * c->g[0] + c->ground.A[i] * g_tan[0];
        for (int j = 1; j < k; j++) {
            rhs[i - 1] += A_tan[i * k + j] * c->g[j];
        }
    }
    cri_lcp_jvp(&c->lcp, rhs, g_tan + 1, scratch);
}

static void jvp(const cri_contact_problem *p, const void *cached, const double *f,
                const cri_contact_tan *tan, double *f_tan, cr_arena *scratch) {
    (void)f;
    const augmented_cache *c = cached;
    int k = c->ground.n_row;
    double A_tan[MOST * MOST], c_tan[MOST], g_tan[MOST] = {0};
    cri_ground_reduce_jvp(&c->ground, tan, A_tan, c_tan, scratch);
    switch (c->mode) {
    case CRI_AUGMENTED_NONE:
        break;
    case CRI_AUGMENTED_STATIC:
        for (int i = 0; i < k; i++) {
            g_tan[i] = -c_tan[i];
            for (int j = 0; j < k; j++) {
                g_tan[i] -= A_tan[i * k + j] * c->g[j];
            }
        }
        cri_cholesky_solve(k, c->factor, g_tan);
        break;
    case CRI_AUGMENTED_DYNAMIC:
        regress_jvp(p, c, 1, A_tan, c_tan, tan->weights, g_tan, scratch);
        normals_jvp(c, A_tan, c_tan, g_tan, scratch);
        break;
    case CRI_AUGMENTED_FRICTIONLESS:
        normals_jvp(c, A_tan, c_tan, g_tan, scratch);
        break;
    case CRI_AUGMENTED_REGRESSED:
        regress_jvp(p, c, k, A_tan, c_tan, tan->weights, g_tan, scratch);
        break;
    }
    cri_ground_spread(&c->ground, g_tan, f_tan);
}

static size_t n_byte(int n) {
    // values, slopes and adjoints of a net's rows at its widest, and a row of all its weights
    size_t wide = CRI_GROUND_WIDTH, net = 4 * CRI_GROUND_HIDDEN * (wide + 8);
    size_t weights = CRI_GROUND_HIDDEN * (wide + 1) * wide;
    return sizeof(augmented_cache) + cri_ground_bytes(n) + 2 * cri_lcp_bytes(MOST_END) +
           sizeof(double) * (net + weights) + 4096;
}

const cri_law cri_law_augmented = {
    .name = "augmented",
    .summary = "nets choose stick, slide or leave and regress friction; normals are solved for",
    .promise = "No approach, no pull, no friction without push, whatever the nets say. What sticks "
               "and how it slides is what they were trained on; restitution is 0.",
    .needs_nets = true,
    .solve = solve,
    .vjp = vjp,
    .jvp = jvp,
    .n_byte = n_byte,
};

const cri_law cri_law_regressed = {
    .name = "regressed",
    .summary = "a net regresses the whole impulse: the rival of augmented",
    .promise = "Nothing: bodies may sink, stick to the ground or be thrown by it.",
    .needs_nets = true,
    .solve = solve_regressed,
    .vjp = vjp,
    .jvp = jvp,
    .n_byte = n_byte,
};
