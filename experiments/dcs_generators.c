// SPDX-License-Identifier: MIT
//
// A law that only makes data (paper 000, Tables S.4 and S.5): a linear complementarity problem on
// the generators of the friction cone, with Newton's restitution.
//
//   f = sum_k beta_k g_k,   g_k = e_n + mu d_k,   d_k = t1, -t1, t2, -t2
//   0 <= beta_k perp g_k'(u - c) >= 0,            u = A f + b
//   c_n = max(e max(0, -b_n), v*_n),   c_t = v*_t
//
// With M = G'AG and q = G'(b - c) it is an lcp in beta. These are the conditions of optimality of
// f'A f/2 + f'(b - c) over the cone of the g_k, so that u - c lies in its dual: what slides is
// lifted by mu |u_t|, unlike in the law lcp. In a plane the cone is that of Coulomb, and with e = 0
// the velocities are those of the law `cone`; in space it is a pyramid in it. beta need not be
// unique, f is.

#include "dcs_case.h"

#include "base/base.h"
#include "base/math/dense.h"
#include "solvers/lcp.h"

#include <math.h>
#include <string.h>

enum { GENERATORS = 4 };

// g_k of contact i (3)
static void fill_generator(const cri_contact_problem *p, int i, int k, double g[3]) {
    double side = k % 2 == 0 ? p->mu[i] : -p->mu[i];
    g[0] = 1.0;
    g[1] = k < 2 ? side : 0.0;
    g[2] = k < 2 ? 0.0 : side;
}

// G (m, 3n) by rows, q (m)
static void fill_rows(const cri_contact_problem *p, double *G, double *q) {
    for (int r = 0; r < GENERATORS * p->n; r++) {
        int i = r / GENERATORS;
        double *g = G + (size_t)r * 3 * (size_t)p->n + 3 * i;
        double rebound = p->is_plain[i] ? 0.0 : p->e[i] * fmax(0.0, -p->b[3 * i]);
        fill_generator(p, i, r % GENERATORS, g);
        q[r] = g[0] * (p->b[3 * i] - fmax(rebound, p->target[i]));
        for (int c = 1; c < 3; c++) {
            q[r] += g[c] * (p->b[3 * i + c] - (p->drift ? p->drift[3 * i + c] : 0.0));
        }
    }
}

static const void *solve(const cri_contact_problem *p, double *f, bool has_cache,
                         cri_law_report *report, cr_arena *keep, cr_arena *scratch) {
    size_t n = 3 * (size_t)p->n, m = GENERATORS * (size_t)p->n;
    double *G = CR_PUSH(keep, double, m *n), *AG = CR_PUSH(keep, double, m *n);
    double *M = CR_PUSH(keep, double, m *m), *q = CR_PUSH(keep, double, m);
    double *beta = CR_PUSH(keep, double, m);
    (void)has_cache;
    memset(f, 0, sizeof *f * n);
    if (!G || !AG || !M || !q || !beta) {
        report->outcome = CR_ITERATION_LIMIT;
        return NULL;
    }
    fill_rows(p, G, q);
    for (size_t r = 0; r < m * n; r++) {
        AG[r] = cri_dot((int)n, p->A + r % n * n, G + r / n * n);
    }
    for (size_t r = 0; r < m * m; r++) {
        M[r] = cri_dot((int)n, G + r / m * n, AG + r % m * n);
    }
    const cri_lcp lcp = {.n = (int)m, .M = M, .q = q};
    cri_lcp_report own = cri_lcp_solve(&lcp, beta, scratch);
    for (size_t r = 0; r < m * n; r++) {
        f[r % n] += beta[r / n] * G[r];
    }
    report->outcome = own.outcome;
    report->n_iteration = own.n_iteration;
    report->residual = own.residual;
    return beta;
}

static size_t n_byte(int n) {
    size_t m = GENERATORS * (size_t)n;
    return cri_lcp_bytes((int)m) + sizeof(double) * (3 * m * m + 2 * m) + 1024;
}

const cri_law cri_dcs_generators = {
    .name = "generators",
    .summary = "complementarity on the generators of the cone, Newton restitution, no derivatives",
    .is_poisson =
        true, // of Newton's kind, but with the tangents of the target, which this asks for
    .is_lifting = true,
    .solve = solve,
    .n_byte = n_byte,
};
