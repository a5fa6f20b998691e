// SPDX-License-Identifier: MIT
//
// The solve of a friction problem: Newton (friction_newton.c) from the last impulse, and what
// stands behind it when that fails. Each stage hands a point to Newton, the best point is kept.
//
//   all       ladder        Newton with other prox terms and other rho from the best point
//             balanced      Newton in units of impulse of each contact's own
//   convex    interior      central path to 1e-10, then to 1e-20, the ladder behind each; proximal
//                           points behind them: A + 1e-5 1, c - 1e-5 f_k
//   Coulomb   De Saxce      f = convex solution for c + mu |u_t| e_n, iterated
//             fans          polygons that turn to where friction points (friction_fan.c)
//   octagon   interior      of the complementarity problem, then Lemke's method
//   the last  sweeps        Gauss-Seidel
//   two       homotopy      mu -> theta mu, theta from 0 to 1, each warm-started
//             Tikhonov      A + d 1 with d from 1 down by tens, homotopy where a step fails
//             restarts      impulses scaled up and down, other prox and rho
// Source: contact solves by projections and their continuation, De Saxce and Feng 1998; Acary and
// others 2011 for the fixed point on convex problems.

#include "base/base.h"
#include "base/math/dense.h"
#include "solvers/cone_qp.h"
#include "solvers/friction_fan.h"
#include "solvers/friction_parts.h"
#include "solvers/lcp.h"

#include <math.h>
#include <string.h>

// Redundant contacts whose equations contradict each other a little, as when a rocking face lands:
// one has to open, and the others slide by a billionth. A larger prox term lets impulse wander
// along directions that hardly move anything; a larger rho lets tiny slips decide the direction of
// friction.
typedef struct rung {
    double prox, rho;
} rung;

static const rung ladder[] = {{1e-8, 1.0},  {1e-11, 1e2}, {1e-11, 1e4}, {1e-6, 1.0},
                              {1e-11, 1e6}, {1e-8, 1e3},  {1e-4, 1.0},  {1e-11, 0.1}};
static const rung convex_ladder[] = {
    {1e-11, 1.0}, {1e-8, 1.0}, {1e-11, 0.1}, {1e-11, 10.0}, {1e-6, 1.0}};
static const rung short_ladder[] = {{1e-11, 1.0}, {1e-6, 1.0}, {1e-3, 1.0}};

// contacts up to which complementarity problems of ten rows each are worth their cube
enum { MAX_LCP = 40 };
// times that polygons are turned
enum { N_TURN = 24 };

/// A search: the scaled problem and the best point so far.
typedef struct search {
    cri_scaled *s;
    double *best; // (3n)
    double residual;
    cr_arena *scratch;
} search;

static bool is_done(const search *t) {
    return t->residual <= cri_newton_accept;
}

// keeps g if its residual is the best so far
static void offer(search *t, double residual) {
    if (residual < t->residual) {
        memcpy(t->best, t->s->g, sizeof(double) * 3 * (size_t)t->s->n);
        t->residual = residual;
    }
}

static void take(search *t, const double *g) {
    memcpy(t->s->g, g, sizeof(double) * 3 * (size_t)t->s->n);
}

// Newton from g with each rung; from the best point so far if goes_on, else each from the same g
static void climb(search *t, int n_rung, const rung *rungs, bool goes_on) {
    cri_arena_mark mark = cri_arena_get_mark(t->scratch);
    double *start = CR_PUSH_RAW(t->scratch, double, 3 * t->s->n);
    memcpy(start, t->s->g, sizeof(double) * 3 * (size_t)t->s->n);
    for (int k = 0; k < n_rung && !is_done(t); k++) {
        take(t, goes_on ? t->best : start);
        t->s->rho = rungs[k].rho;
        double residual = cri_friction_newton(t->s, 40, rungs[k].prox);
        t->s->rho = 1.0;
        if (rungs[k].rho != 1.0 || rungs[k].prox > cri_newton_prox) {
            residual = cri_friction_newton(t->s, 6, cri_newton_prox);
        }
        offer(t, residual);
    }
    cri_arena_rewind(t->scratch, mark);
}

// ---- convex ------------------------------------------------------------------------------------

// the central path's end for the problem with its own c, as a start in g
static void interior(search *t, const double *c, double gap) {
    cri_friction problem = cri_scaled_problem(t->s);
    problem.c = c;
    t->s->n_iteration += cri_cone_interior(&problem, gap, t->s->g, t->scratch).n_iteration;
}

// multiplies the unit of impulse of every contact by 2^power
static void rescale(cri_scaled *s, const int *power, int sign) {
    int n = s->n, m = 3 * n;
    for (int i = 0; i < m; i++) {
        int own = sign * power[i / 3];
        double *row = s->A + (size_t)i * (size_t)m;
        for (int j = 0; j < m; j++) {
            row[j] = ldexp(row[j], own + sign * power[j / 3]);
        }
        s->c[i] = ldexp(s->c[i], own);
        s->g[i] = ldexp(s->g[i], -own);
    }
    for (int i = 0; i < n; i++) {
        s->l[i] = ldexp(s->l[i], -sign * power[i]);
        s->size[i] = ldexp(s->size[i], sign * power[i]);
    }
}

// Newton from g with units in which impulse and velocity of each contact have the same size there:
// what is nearly still and what hardly pushes next to each other are far from the rho of both.
// Powers of two, so that the way back is exact.
static void balanced(search *t) {
    cri_scaled *s = t->s;
    int n = s->n, m = 3 * n;
    cri_arena_mark mark = cri_arena_get_mark(t->scratch);
    int *power = CR_PUSH_RAW(t->scratch, int, n);
    for (int i = 0; i < n; i++) {
        double u2 = 0.0, g2 = 0.0;
        for (int r = 3 * i; r < 3 * i + 3; r++) {
            double u = s->c[r] + cri_dot(m, s->A + (size_t)r * (size_t)m, s->g);
            u2 += u * u;
            g2 += s->g[r] * s->g[r];
        }
        double ratio = fmin(1e12, fmax(1e-12, (g2 + 1e-300) / (u2 + 1e-300)));
        power[i] = (int)lrint(0.25 * log2(ratio));
    }
    rescale(s, power, 1);
    cri_friction_newton(s, 40, cri_newton_prox);
    rescale(s, power, -1);
    cri_arena_rewind(t->scratch, mark);
    offer(t, cri_friction_newton(s, 6, cri_newton_prox));
}

static void shift_diagonal(cri_scaled *s, double d) {
    int m = 3 * s->n;
    for (int i = 0; i < m; i++) {
        s->A[(size_t)i * (size_t)m + i] += d;
    }
}

// f_(k+1) = argmin of the problem with A + d 1, c - d f_k
static void proximal_points(search *t) {
    const double d = 1e-5;
    cri_scaled *s = t->s;
    int m = 3 * s->n;
    cri_arena_mark mark = cri_arena_get_mark(t->scratch);
    double *c = CR_PUSH_RAW(t->scratch, double, 2 * m), *centre = c + m;
    memcpy(c, s->c, sizeof *c * (size_t)m);
    memcpy(centre, t->best, sizeof *c * (size_t)m);
    for (int k = 0; k < 12 && !is_done(t); k++) {
        shift_diagonal(s, d);
        for (int i = 0; i < m; i++) {
            s->c[i] = c[i] - d * centre[i];
        }
        take(t, centre);
        if (cri_friction_newton(s, 40, cri_newton_prox) > cri_newton_accept) {
            interior(t, s->c, 1e-10);
            cri_friction_newton(s, 40, cri_newton_prox);
        }
        memcpy(centre, s->g, sizeof *c * (size_t)m);
        memcpy(s->c, c, sizeof *c * (size_t)m);
        shift_diagonal(s, -d);
        offer(t, cri_friction_newton(s, 25, cri_newton_prox));
    }
    cri_arena_rewind(t->scratch, mark);
}

static void try_convex(search *t) {
    interior(t, t->s->c, 1e-10);
    climb(t, (int)(sizeof convex_ladder / sizeof convex_ladder[0]), convex_ladder, false);
    if (!is_done(t)) {
        // far beyond what residuals can tell
        interior(t, t->s->c, 1e-20);
        climb(t, (int)(sizeof convex_ladder / sizeof convex_ladder[0]), convex_ladder, false);
    }
    if (!is_done(t)) {
        interior(t, t->s->c, 1e-20);
        balanced(t);
    }
    if (!is_done(t)) {
        proximal_points(t);
    }
}

// ---- Coulomb and octagon -----------------------------------------------------------------------

// f = convex solution for c + mu |u_t| e_n at the last velocity
static void fixed_point(search *t) {
    cri_scaled *s = t->s;
    int n = s->n, m = 3 * n;
    const cri_friction problem = cri_scaled_problem(s);
    cri_arena_mark mark = cri_arena_get_mark(t->scratch);
    double *c = CR_PUSH_RAW(t->scratch, double, m);
    double *lift = CR_PUSH(t->scratch, double, n);
    for (int k = 0; k < 15 && !is_done(t); k++) {
        memcpy(c, s->c, sizeof *c * (size_t)m);
        for (int i = 0; i < n; i++) {
            c[3 * i] += lift[i];
        }
        interior(t, c, 1e-8);
        // the velocity of the convex point, before Newton moves on
        for (int i = 0; i < n; i++) {
            double u[2];
            cri_neighbours near = cri_neighbours_of(&problem, i);
            for (int r = 0; r < 2; r++) {
                const double *row = s->A + (size_t)(3 * i + 1 + r) * (size_t)m;
                u[r] = s->c[3 * i + 1 + r];
                for (int e = 0; e < near.n; e++) {
                    int j = 3 * cri_neighbour(&near, e);
                    u[r] += row[j] * s->g[j];
                    u[r] += row[j + 1] * s->g[j + 1];
                    u[r] += row[j + 2] * s->g[j + 2];
                }
            }
            double next = s->mu[i] * hypot(u[0], u[1]);
            lift[i] = k < 8 ? next : 0.5 * (lift[i] + next);
        }
        offer(t, cri_friction_newton(s, 40, k % 2 ? 1e-6 : cri_newton_prox));
        if (!is_done(t) && k % 2) {
            offer(t, cri_friction_newton(s, 10, cri_newton_prox));
        }
    }
    cri_arena_rewind(t->scratch, mark);
}

// a point of the octagon law as a start, by the interior point or by Lemke's method
static void corner_start(search *t, bool is_lemke) {
    cri_scaled *s = t->s;
    if (s->n > MAX_LCP) {
        return;
    }
    cri_arena_mark mark = cri_arena_get_mark(t->scratch);
    const cri_friction problem = cri_scaled_problem(s);
    const cri_lcp lcp = cri_octagon_lcp(&problem, t->scratch);
    double *z = CR_PUSH(t->scratch, double, lcp.n);
    if (is_lemke) {
        cri_lcp_lemke(&lcp, z, t->scratch);
        s->n_iteration++; // its pivots are no linear solves
    } else {
        s->n_iteration += cri_lcp_interior(&lcp, 1e-9, z, t->scratch).n_iteration;
    }
    cri_octagon_impulse(s->n, z, s->g);
    cri_arena_rewind(t->scratch, mark);
    climb(t, (int)(sizeof short_ladder / sizeof short_ladder[0]), short_ladder, false);
}

// polygons in place of discs, turned to where friction points
static void fans(search *t) {
    cri_scaled *s = t->s;
    if (s->n > MAX_LCP) {
        return;
    }
    const cri_friction problem = cri_scaled_problem(s);
    size_t bytes = sizeof(double) * 3 * (size_t)s->n;
    cri_arena_mark mark = cri_arena_get_mark(t->scratch);
    cri_fans all = cri_fans_open(s->n, t->best, t->scratch);
    for (int k = 0; k < N_TURN && !is_done(t) && s->n_iteration < s->budget; k++) {
        cri_fans_turn(&all, &problem, s->g, t->scratch);
        s->n_iteration++; // pivots are no linear solves
        memcpy(s->kept, s->g, bytes);
        offer(t, cri_friction_newton(s, 30, cri_newton_prox));
        if (!is_done(t)) {
            take(t, s->kept);
            balanced(t);
        }
    }
    cri_arena_rewind(t->scratch, mark);
}

// follows the solution from mu = 0 to mu; mu is restored. The residual at the end, infinite when
// the path breaks off.
static double homotopy(search *t) {
    cri_scaled *s = t->s;
    int n = s->n;
    cri_arena_mark mark = cri_arena_get_mark(t->scratch);
    size_t bytes = sizeof(double) * 3 * (size_t)n;
    double *mu = CR_PUSH_RAW(t->scratch, double, n);
    memcpy(mu, s->mu, sizeof *mu * (size_t)n);
    memset(s->g, 0, bytes);
    memset(s->mu, 0, sizeof *mu * (size_t)n);
    cri_friction_newton(s, 40, cri_newton_prox);
    double theta = 0.0, step = 0.25, residual = INFINITY;
    memcpy(s->kept, s->g, bytes);
    for (int k = 0; k < 60 && theta < 1.0 && step >= 1e-4; k++) {
        double next = fmin(1.0, theta + step);
        for (int i = 0; i < n; i++) {
            s->mu[i] = next * mu[i];
        }
        residual = cri_friction_newton(s, 25, cri_newton_prox);
        if (residual <= 1e-8) {
            theta = next;
            step *= 1.7;
            memcpy(s->kept, s->g, bytes);
        } else {
            step *= 0.35;
            memcpy(s->g, s->kept, bytes);
        }
    }
    memcpy(s->mu, mu, sizeof *mu * (size_t)n);
    cri_arena_rewind(t->scratch, mark);
    return theta >= 1.0 ? residual : INFINITY;
}

// follows A + d 1 from d = 1 to 0
static void tikhonov(search *t) {
    cri_scaled *s = t->s;
    memset(s->g, 0, sizeof(double) * 3 * (size_t)s->n);
    for (double d = 1.0; d > 1e-10 && !is_done(t) && s->n_iteration < s->budget; d *= 0.1) {
        shift_diagonal(s, d);
        if (cri_friction_newton(s, 40, cri_newton_prox) > 1e-9) {
            homotopy(t);
        }
        shift_diagonal(s, -d);
        offer(t, cri_friction_newton(s, 25, cri_newton_prox));
    }
}

// the first sweeps start from nothing, the later ones go on
static void sweeps(search *t) {
    cri_scaled *s = t->s;
    size_t bytes = sizeof(double) * 3 * (size_t)s->n;
    memset(s->g, 0, bytes);
    for (int k = 1; k <= 5 && !is_done(t); k++) {
        cri_friction_sweep(s, 80 * k * k);
        memcpy(s->kept, s->g, bytes);
        offer(t, cri_friction_newton(s, 40, k % 2 ? cri_newton_prox : 1e-6));
        take(t, s->kept);
    }
}

// multiples of the golden ratio, which fill [0, 1) evenly
static double spread(int k) {
    double x = 0.61803398874989485 * k;
    return x - floor(x);
}

static void restarts(search *t) {
    cri_scaled *s = t->s;
    int at = 0;
    for (int k = 0; k < 12 && !is_done(t) && s->n_iteration < s->budget; k++) {
        take(t, t->best);
        for (int i = 0; i < s->n; i++) {
            double factor = pow(10.0, 4.0 * spread(++at) - 2.0);
            for (int r = 0; r < 3; r++) {
                s->g[3 * i + r] *= factor;
            }
        }
        cri_friction_sweep(s, 10);
        s->rho = pow(10.0, 4.0 * spread(++at) - 1.0);
        cri_friction_newton(s, 40, pow(10.0, -11.0 + 8.0 * spread(++at)));
        s->rho = 1.0;
        offer(t, cri_friction_newton(s, 12, cri_newton_prox));
    }
}

static void try_harder(search *t) {
    int n_rung = (int)(sizeof ladder / sizeof ladder[0]);
    bool is_octagon = t->s->kind == CRI_OCTAGON;
    take(t, t->best);
    climb(t, n_rung, ladder, true);
    if (!is_done(t)) {
        take(t, t->best);
        balanced(t);
    }
    if (!is_done(t) && is_octagon) {
        corner_start(t, false);
    }
    if (!is_done(t) && !is_octagon) {
        fixed_point(t);
    }
    // from many contacts on the tableau of Lemke's method costs more than all of the others
    bool is_large = t->s->n > 6;
    for (int pass = 0; pass < 2; pass++) {
        bool is_first = (pass == 0) == is_large;
        if (!is_done(t) && is_first) {
            offer(t, homotopy(t));
        } else if (!is_done(t) && is_octagon) {
            corner_start(t, true);
        } else if (!is_done(t)) {
            fans(t);
        }
        if (!is_done(t) && pass == 0) {
            sweeps(t);
        }
    }
    if (!is_done(t)) {
        tikhonov(t);
    }
    if (!is_done(t)) {
        restarts(t);
    }
}

// ---- the solve ---------------------------------------------------------------------------------

size_t cri_friction_bytes(int n) {
    size_t lcp = n <= MAX_LCP ? cri_fans_bytes(n) : 0, m = 3 * (size_t)n;
    return cri_friction_scale_bytes(n) + cri_cone_interior_bytes(n) + lcp +
           sizeof(double) * (m * m + 12 * m) + 2048;
}

// velocities below what the certificate can see, as at the start of a step from rest: no impulse is
// asked for, and a search would only follow rounding
static bool is_still(const cri_friction *p) {
    bool is_still = true;
    for (int i = 0; i < 3 * p->n; i++) {
        is_still = is_still && fabs(p->c[i]) <= 1e-12 && p->l[i / 3] == 0.0;
    }
    return is_still;
}

// Newton's method, and all of the others behind it unless is_quick
static cri_solve_report solve(const cri_friction *p, double *f, bool is_quick, cr_arena *scratch) {
    CR_ASSERT(p->n > 0 && f && scratch);
    for (int i = 0; p->kind == CRI_OCTAGON && i < p->n; i++) {
        CR_ASSERT(p->l[i] == 0.0);
    }
    if (is_still(p)) {
        memset(f, 0, sizeof(double) * 3 * (size_t)p->n);
        return (cri_solve_report){.outcome = CR_SOLVED, .residual = cri_friction_certificate(p, f)};
    }
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    int m = 3 * p->n;
    cri_scaled s = cri_friction_scale(p, f, scratch);
    search t = {.s = &s, .best = s.g, .scratch = scratch};
    t.residual = cri_friction_newton(&s, 25, cri_newton_prox);
    if (!is_done(&t) && !is_quick) {
        t.best = CR_PUSH_RAW(scratch, double, m);
        memcpy(t.best, s.g, sizeof(double) * (size_t)m);
        if (!(t.residual < INFINITY)) {
            t.residual = INFINITY;
        }
        if (s.kind == CRI_CONVEX) {
            try_convex(&t);
        } else {
            try_harder(&t);
        }
    }
    for (int i = 0; i < m; i++) {
        f[i] = t.best[i] * s.r[i / 3];
    }
    for (int i = 0; i < p->n; i++) {
        if (cri_friction_is_weak(p, i, f[3 * i], p->l[i])) {
            memset(f + 3 * i, 0, 3 * sizeof *f);
        }
    }
    cri_solve_report report = {.n_iteration = s.n_iteration,
                               .residual = cri_friction_certificate(p, f)};
    report.outcome = cri_friction_outcome(report.residual);
    if (is_quick && !is_done(&t) && report.outcome == CR_SOLVED) {
        report.outcome = CR_SOLVED_LOOSELY;
    }
    cri_arena_rewind(scratch, mark);
    return report;
}

cri_solve_report cri_friction_solve(const cri_friction *p, double *f, cr_arena *scratch) {
    return solve(p, f, false, scratch);
}

cri_solve_report cri_friction_try(const cri_friction *p, double *f, cr_arena *scratch) {
    return solve(p, f, true, scratch);
}
