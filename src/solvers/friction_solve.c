// SPDX-License-Identifier: MIT
//
// Exact Coulomb contact: semismooth Newton on the natural map, with continuation behind it.
//
//   F(f) = f - P(f - rho u),  u = A f + c,  rho_i = 3/trace A_ii
//   P: p_n = max(l, z_n), then z_t cut to radius mu p_n                       (class = branch of P)
//   Newton: (1 - P' + P' (A + d 1)) df = -F,  d = 1e-11; nonmonotone line search
//
// P' of the branch is the class, so this is an active-set method. Scaled before the solve: g = f/r
// with r_i = sqrt(rho_i) k, so that diagonal blocks have trace 3 and the data size 1. If Newton
// fails:
//   ladder      Newton from the best point with other prox terms and other rho
//   sweeps      Gauss-Seidel, Newton after each batch
//   homotopy    mu -> theta mu, theta from 0 to 1, each warm-started
//   Tikhonov    A + d 1 with d from 1 down by tens, homotopy where a step fails
// Source: the projection form of Coulomb's law (De Saxce and Feng 1998; Alart and Curnier 1991).

#include "solvers/friction.h"

#include "base/arena.h"
#include "base/base.h"
#include "math/lu.h"

#include <float.h>
#include <math.h>
#include <string.h>

// relative residual at which a scaled solve is accepted, well under the certificate's 1e-10
static const double accept = 1e-11;
static const double newton_stop = 1e-15;
static const double default_prox = 1e-11;
// Redundant contacts whose equations contradict each other a little, as when a rocking face lands:
// one has to open, and the others slide by a billionth. A larger prox term lets impulse wander
// along directions that hardly move anything; a larger rho lets tiny slips decide the direction of
// friction.
typedef struct rung {
    double prox, rho;
} rung;

static const rung ladder[] = {{1e-8, 1.0},  {1e-11, 1e2}, {1e-11, 1e4}, {1e-6, 1.0},
                              {1e-11, 1e6}, {1e-8, 1e3},  {1e-4, 1.0},  {1e-11, 0.1}};
// m/s: a contact that would change its own speed by less carries no force
static const double weak_speed = 1e-12;

/// The problem in scaled variables g = f/r, with the work space of Newton's method.
typedef struct scaled {
    int n;
    double *A, *c, *mu, *l;
    double *r;    // (n) impulse scale of each contact
    double *size; // (n) |c_i|, floored by the largest
    double *g, *best, *trial;
    double *F, *u, *P, *D; // residual, velocity, projection (3n); P' (9n)
    double *matrix;        // (3n, 3n)
    int *pivot;
    double rho; // of the natural map; 1 is that of the certificate
    int n_iteration;
    int budget; // of n_iteration
} scaled;

size_t cri_friction_bytes(int n) {
    size_t m = 3 * (size_t)n;
    return sizeof(double) * (2 * m * m + 13 * m + 16 * (size_t)n) + 1024;
}

cri_friction_class cri_friction_project(const double z[3], double mu, double l, double p[3]) {
    bool is_up = z[0] > l;
    if (!is_up && l == 0.0) {
        p[0] = p[1] = p[2] = 0.0;
        return CRI_OPEN;
    }
    p[0] = is_up ? z[0] : l;
    double r2 = z[1] * z[1] + z[2] * z[2], radius = mu * p[0];
    if (mu > 0.0 && r2 <= radius * radius) {
        p[1] = z[1];
        p[2] = z[2];
        return is_up ? CRI_STICK : CRI_BOUND_STICK;
    }
    double cut = r2 > 0.0 ? radius / sqrt(r2) : 0.0;
    p[1] = cut * z[1];
    p[2] = cut * z[2];
    return is_up ? CRI_SLIDE : CRI_BOUND_SLIDE;
}

// P' (3, 3) of the branch that cri_friction_project took at z
static void project_jacobian(const double z[3], double mu, double l, const double p[3],
                             cri_friction_class branch, double D[9]) {
    memset(D, 0, 9 * sizeof *D);
    bool is_up = z[0] > l;
    if (branch == CRI_OPEN) {
        return;
    }
    D[0] = is_up ? 1.0 : 0.0;
    if (branch == CRI_STICK || branch == CRI_BOUND_STICK) {
        D[4] = D[8] = 1.0;
        return;
    }
    double r = sqrt(z[1] * z[1] + z[2] * z[2]);
    if (r == 0.0) {
        return;
    }
    double s1 = z[1] / r, s2 = z[2] / r, k = mu * p[0] / r;
    D[3] = mu * s1 * D[0];
    D[6] = mu * s2 * D[0];
    D[4] = k * s2 * s2;
    D[5] = D[7] = -k * s1 * s2;
    D[8] = k * s1 * s1;
}

double cri_friction_rho(const cri_friction *p, int i) {
    int m = 3 * p->n;
    const double *d = p->A + (size_t)(3 * i) * (size_t)m + 3 * i;
    double trace = d[0] + d[m + 1] + d[2 * m + 2];
    return trace > 0.0 ? 3.0 / trace : 1.0;
}

bool cri_friction_is_weak(const cri_friction *p, int i, double f_n, double l) {
    size_t m = 3 * (size_t)p->n, at = 3 * (size_t)i;
    return l == 0.0 && f_n * p->A[at * m + at] <= weak_speed;
}

static double norm3(const double *a) {
    return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
}

double cri_friction_certificate(const cri_friction *p, const double *f) {
    int m = 3 * p->n;
    double worst = 0.0, largest = 0.0;
    for (int i = 0; i < m; i++) {
        largest = fmax(largest, fmax(fabs(p->b[i]), fabs(p->c[i])));
    }
    for (int i = 0; i < p->n; i++) {
        double rho = cri_friction_rho(p, i), z[3], q[3], rounding = 0.0;
        for (int r = 0; r < 3; r++) {
            const double *row = p->A + (size_t)(3 * i + r) * (size_t)m;
            double u = p->c[3 * i + r], sum = 0.0;
            for (int j = 0; j < m; j++) {
                u += row[j] * f[j];
                sum += fabs(row[j] * f[j]);
            }
            z[r] = f[3 * i + r] - rho * u;
            rounding = fmax(rounding, sum);
        }
        cri_friction_project(z, p->mu[i], p->l[i], q);
        double miss[3] = {f[3 * i] - q[0], f[3 * i + 1] - q[1], f[3 * i + 2] - q[2]};
        double scale = norm3(f + 3 * i) + rho * fmax(norm3(p->b + 3 * i), norm3(p->c + 3 * i));
        scale = fmax(scale, 1e-6 * rho * largest);
        double tolerance = 1e-10 * scale + 64.0 * DBL_EPSILON * rho * rounding;
        // what the solve drops as weak is no miss
        tolerance += (2.0 + p->mu[i]) * rho * weak_speed;
        double ratio = tolerance > 0.0 ? norm3(miss) / tolerance : 0.0;
        worst = ratio <= worst ? worst : ratio; // NaN, from an overflow, is the worst of all
        if (isnan(worst)) {
            return INFINITY;
        }
    }
    return worst;
}

// u = A g + c
static void velocity(const scaled *s, const double *g, double *u) {
    int m = 3 * s->n;
    for (int i = 0; i < m; i++) {
        const double *row = s->A + (size_t)i * (size_t)m;
        double sum = s->c[i];
        for (int j = 0; j < m; j++) {
            sum += row[j] * g[j];
        }
        u[i] = sum;
    }
}

// F at g; with has_jacobian also D. Returns |F|.
static double natural_map(scaled *s, const double *g, bool has_jacobian) {
    velocity(s, g, s->u);
    double sum = 0.0;
    for (int i = 0; i < s->n; i++) {
        double z[3], *P = s->P + 3 * i;
        for (int r = 0; r < 3; r++) {
            z[r] = g[3 * i + r] - s->rho * s->u[3 * i + r];
        }
        cri_friction_class branch = cri_friction_project(z, s->mu[i], s->l[i], P);
        if (has_jacobian) {
            project_jacobian(z, s->mu[i], s->l[i], P, branch, s->D + 9 * i);
        }
        for (int r = 0; r < 3; r++) {
            double F = s->F[3 * i + r] = g[3 * i + r] - P[r];
            sum += F * F;
        }
    }
    return sqrt(sum);
}

// the certificate of the last natural_map, relative
static double relative_residual(const scaled *s, const double *g) {
    int m = 3 * s->n;
    double worst = 0.0;
    for (int i = 0; i < s->n; i++) {
        double rounding = 0.0;
        for (int r = 0; r < 3; r++) {
            const double *row = s->A + (size_t)(3 * i + r) * (size_t)m;
            double sum = 0.0;
            for (int j = 0; j < m; j++) {
                sum += fabs(row[j] * g[j]);
            }
            rounding = fmax(rounding, sum);
        }
        // 1e10 * 64 eps: the rounding floor of the certificate, in units of its tolerance
        double floor = s->size[i] + 1e10 * 64.0 * DBL_EPSILON * rounding;
        double scale = norm3(g + 3 * i) + s->rho * floor;
        worst = fmax(worst, norm3(s->F + 3 * i) / fmax(scale, 1e-300));
    }
    return worst;
}

// the Newton step into trial; false for a singular matrix
static bool newton_direction(scaled *s, double prox) {
    int m = 3 * s->n;
    for (int i = 0; i < s->n; i++) {
        const double *D = s->D + 9 * i;
        for (int r = 0; r < 3; r++) {
            double *row = s->matrix + (size_t)(3 * i + r) * (size_t)m;
            const double *d = D + 3 * r, *A0 = s->A + (size_t)(3 * i) * (size_t)m;
            for (int j = 0; j < m; j++) {
                row[j] = s->rho * (d[0] * A0[j] + d[1] * A0[m + j] + d[2] * A0[2 * m + j]);
            }
            for (int k = 0; k < 3; k++) {
                row[3 * i + k] += (s->rho * prox - 1.0) * d[k];
            }
            row[3 * i + r] += 1.0;
            s->trial[3 * i + r] = -s->F[3 * i + r];
        }
    }
    s->n_iteration++;
    if (!cri_lu_factor(m, s->matrix, s->pivot)) {
        return false;
    }
    cri_lu_solve(m, s->matrix, s->pivot, s->trial);
    return cri_all_finite(m, s->trial);
}

// moves g along the step in trial until |F| falls below the reference; false when it never does
static bool line_search(scaled *s, double reference) {
    int m = 3 * s->n;
    double length = 1.0, moved = 0.0;
    for (int k = 0; k < 7; k++) {
        for (int i = 0; i < m; i++) {
            s->g[i] += (length - moved) * s->trial[i];
        }
        moved = length;
        if (natural_map(s, s->g, false) <= (1.0 - 1e-4 * length) * reference) {
            return true;
        }
        length *= 0.4;
    }
    return false;
}

// Newton from g; leaves the best iterate in g and returns its relative residual
static double newton(scaled *s, int n_max, double prox) {
    size_t bytes = sizeof(double) * 3 * (size_t)s->n;
    double best = INFINITY, last[3] = {0.0, 0.0, 0.0}, least = INFINITY;
    int idle = 0;
    for (int it = 0; it < n_max; it++) {
        double norm = natural_map(s, s->g, true);
        double relative = relative_residual(s, s->g);
        // an overflow makes the residual anything but small
        relative = isfinite(norm) ? relative : INFINITY;
        if (it == 0 || relative < best) {
            best = relative;
            memcpy(s->best, s->g, bytes);
        }
        if (best <= newton_stop || !isfinite(norm) || s->n_iteration >= s->budget) {
            break;
        }
        // no progress in six iterations
        idle = norm > 0.9 * least ? idle + 1 : 0;
        least = fmin(least, norm);
        if (idle >= 6 && it > 12) {
            break;
        }
        last[it % 3] = norm;
        double reference = fmax(last[0], fmax(last[1], last[2]));
        if (!newton_direction(s, prox) || (!line_search(s, reference) && it > 8)) {
            break;
        }
        // converged to rounding: one more step has brought nothing
        if (best <= accept && norm >= least && it > 0 && idle > 0) {
            break;
        }
    }
    memcpy(s->g, s->best, bytes);
    return best;
}

// follows the solution from mu = 0 to mu; mu is restored
static double homotopy(scaled *s, const double *mu) {
    size_t bytes = sizeof(double) * 3 * (size_t)s->n;
    memset(s->g, 0, bytes);
    memset(s->mu, 0, sizeof(double) * (size_t)s->n);
    newton(s, 40, default_prox);
    double theta = 0.0, step = 0.25, residual = INFINITY;
    double *kept = s->trial + 3 * s->n; // behind the step, see scale_problem
    memcpy(kept, s->g, bytes);
    for (int k = 0; k < 60 && theta < 1.0 && step >= 1e-4; k++) {
        double next = fmin(1.0, theta + step);
        for (int i = 0; i < s->n; i++) {
            s->mu[i] = next * mu[i];
        }
        residual = newton(s, 25, default_prox);
        if (residual <= 1e-8) {
            theta = next;
            step *= 1.7;
            memcpy(kept, s->g, bytes);
        } else {
            step *= 0.35;
            memcpy(s->g, kept, bytes);
        }
    }
    memcpy(s->mu, mu, sizeof(double) * (size_t)s->n);
    return theta >= 1.0 ? residual : INFINITY;
}

static void shift_diagonal(scaled *s, double d) {
    int m = 3 * s->n;
    for (int i = 0; i < m; i++) {
        s->A[(size_t)i * (size_t)m + i] += d;
    }
}

// follows A + d 1 from d = 1 to 0; leaves the best point of the true problem in keep
static double tikhonov(scaled *s, const double *mu, double *keep) {
    size_t bytes = sizeof(double) * 3 * (size_t)s->n;
    double best = INFINITY;
    memset(s->g, 0, bytes);
    for (double d = 1.0; d > 1e-10 && best > accept; d *= 0.1) {
        shift_diagonal(s, d);
        if (newton(s, 40, default_prox) > 1e-9) {
            homotopy(s, mu);
        }
        shift_diagonal(s, -d);
        double residual = newton(s, 25, default_prox);
        if (residual < best) {
            best = residual;
            memcpy(keep, s->g, bytes);
        }
    }
    return best;
}

// local projections, contact by contact
static void sweep(scaled *s, int n_sweep) {
    int m = 3 * s->n;
    for (int k = 0; k < 8 * n_sweep; k++) {
        for (int i = 0; i < s->n; i++) {
            double z[3];
            for (int r = 0; r < 3; r++) {
                const double *row = s->A + (size_t)(3 * i + r) * (size_t)m;
                z[r] = s->g[3 * i + r] - s->c[3 * i + r];
                for (int j = 0; j < m; j++) {
                    z[r] -= row[j] * s->g[j];
                }
            }
            cri_friction_project(z, s->mu[i], s->l[i], s->g + 3 * i);
        }
    }
}

// scaled copy of the problem; the start f becomes g
static scaled scale_problem(const cri_friction *p, const double *f, cr_arena *arena) {
    int n = p->n, m = 3 * n;
    // a larger problem that has not been solved by then hardly ever will be
    scaled s = {.n = n, .rho = 1.0, .budget = n <= 8 ? 4000 : 600};
    s.A = CR_PUSH_RAW(arena, double, 2 * m * m + 10 * m + 14 * n);
    s.matrix = s.A + m * m;
    double *rows = s.matrix + m * m;
    s.c = rows;
    s.g = rows + m;
    s.best = rows + 2 * m;
    s.trial = rows + 3 * m; // two of them: homotopy keeps a point behind the step
    s.F = rows + 5 * m;
    s.u = rows + 6 * m;
    s.P = rows + 7 * m;
    double *contacts = rows + 10 * m;
    s.mu = contacts;
    s.l = contacts + n;
    s.r = contacts + 2 * n;
    s.size = contacts + 3 * n;
    s.D = contacts + 4 * n;
    s.pivot = CR_PUSH_RAW(arena, int, m);

    double k = 1e-300, largest = 1e-300;
    for (int i = 0; i < n; i++) {
        s.mu[i] = p->mu[i];
        s.r[i] = sqrt(cri_friction_rho(p, i));
        k = fmax(k, p->l[i] / s.r[i]);
        for (int r = 0; r < 3; r++) {
            k = fmax(k, fabs(p->c[3 * i + r]) * s.r[i]);
        }
    }
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < m; j++) {
            size_t at = (size_t)i * (size_t)m + (size_t)j;
            s.A[at] = p->A[at] * s.r[i / 3] * s.r[j / 3];
        }
        s.c[i] = p->c[i] * s.r[i / 3] / k;
    }
    for (int i = 0; i < n; i++) {
        s.l[i] = p->l[i] / (s.r[i] * k);
        s.size[i] = norm3(s.c + 3 * i);
        largest = fmax(largest, s.size[i]);
        s.r[i] *= k;
    }
    for (int i = 0; i < n; i++) {
        s.size[i] = fmax(s.size[i], 1e-9 * largest);
    }
    // a start from another world, such as the last impulse of what now floats, is worse than none
    double start = 0.0;
    for (int i = 0; i < m; i++) {
        s.g[i] = f[i] / s.r[i / 3];
        start = fmax(start, fabs(s.g[i]));
    }
    if (!(start <= 1e6)) {
        memset(s.g, 0, sizeof *s.g * (size_t)m);
    }
    return s;
}

// keeps g if its residual is the best so far; returns the best residual
static double keep_better(const scaled *s, double next, double residual, double *keep) {
    if (next < residual) {
        memcpy(keep, s->g, sizeof(double) * 3 * (size_t)s->n);
        return next;
    }
    return residual;
}

// everything behind the first Newton solve; keep (twice 3n) gets the best point
static void try_harder(scaled *s, const double *mu, double residual, double *keep) {
    size_t bytes = sizeof(double) * 3 * (size_t)s->n;
    double next, *other = keep + 3 * s->n;
    memcpy(keep, s->g, bytes);
    for (size_t k = 0; k < sizeof ladder / sizeof ladder[0] && residual > accept; k++) {
        s->rho = ladder[k].rho;
        newton(s, 40, ladder[k].prox);
        s->rho = 1.0;
        next = newton(s, 6, default_prox);
        residual = keep_better(s, next, residual, keep);
        memcpy(s->g, keep, bytes);
    }
    // the first sweeps start from nothing, the later ones go on from the best point
    memset(s->g, 0, bytes);
    for (int k = 1; k <= 5 && residual > accept; k++) {
        sweep(s, 10 * k * k);
        memcpy(other, s->g, bytes);
        next = newton(s, 40, k % 2 ? default_prox : 1e-6);
        residual = keep_better(s, next, residual, keep);
        memcpy(s->g, other, bytes);
    }
    if (residual > accept) {
        residual = keep_better(s, homotopy(s, mu), residual, keep);
    }
    if (residual > accept) {
        next = tikhonov(s, mu, other);
        memcpy(s->g, other, bytes);
        keep_better(s, next, residual, keep);
    }
}

cri_solve_report cri_friction_solve(const cri_friction *p, double *f, cr_arena *scratch) {
    CR_ASSERT(p->n > 0);
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    int m = 3 * p->n;
    scaled s = scale_problem(p, f, scratch);
    double residual = newton(&s, 25, default_prox);
    double *answer = s.g;
    if (!(residual <= accept)) {
        answer = CR_PUSH_RAW(scratch, double, 2 * m);
        try_harder(&s, p->mu, residual, answer);
    }
    for (int i = 0; i < m; i++) {
        f[i] = answer[i] * s.r[i / 3];
    }
    for (int i = 0; i < p->n; i++) {
        if (cri_friction_is_weak(p, i, f[3 * i], p->l[i])) {
            memset(f + 3 * i, 0, 3 * sizeof *f);
        }
    }
    cri_solve_report report = {.n_iteration = s.n_iteration,
                               .residual = cri_friction_certificate(p, f)};
    // loosely: 1e-6 of the scale, where the certificate asks for 1e-10
    report.outcome = report.residual <= 1.0   ? CR_SOLVED
                     : report.residual <= 1e4 ? CR_SOLVED_LOOSELY
                                              : CR_ITERATION_LIMIT;
    cri_arena_rewind(scratch, mark);
    return report;
}
