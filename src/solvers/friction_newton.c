// SPDX-License-Identifier: MIT
//
// Semismooth Newton on the natural map of a law of friction.
//
//   F(f) = f - P(f - rho u),  u = A f + c                              (class = branch of P)
//   (1 - P' + rho P' (A + d 1)) df = -F,  d = 1e-11; nonmonotone line search
//
// P' of the branch is the class, so this is an active-set method. Open contacts have P' = 0 and
// df = -f, and drop out of the system. Scaled before the solve: g = f/r with r_i = sqrt(rho_i) k,
// so that diagonal blocks have trace 3 and the data size 1. Large systems are solved along the
// graph of contacts (friction_sparse.c), and densely where that breaks down.
// Source: Alart and Curnier 1991; the nonmonotone search of Grippo, Lampariello and Lucidi 1986.

#include "solvers/friction_parts.h"

#include "base/base.h"
#include "base/math/dense.h"
#include "base/math/lu.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const double newton_stop = 1e-15;

static double norm3(const double *a) {
    return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
}

// u = A g + c
static void velocity(const cri_scaled *s, const double *g, double *u) {
    int m = 3 * s->n;
    if (s->blocks) {
        for (int i = 0; i < s->n; i++) {
            cri_blocks_times(s->blocks, s->A, i, g, u + 3 * i);
        }
        for (int i = 0; i < m; i++) {
            u[i] += s->c[i];
        }
        return;
    }
    for (int i = 0; i < m; i++) {
        u[i] = s->c[i] + cri_dot(m, s->A + (size_t)i * (size_t)m, g);
    }
}

// F at g; with has_jacobian also D. Returns |F|.
static double natural_map(cri_scaled *s, const double *g, bool has_jacobian) {
    velocity(s, g, s->u);
    double sum = 0.0;
    for (int i = 0; i < s->n; i++) {
        double z[3];
        for (int r = 0; r < 3; r++) {
            z[r] = g[3 * i + r] - s->rho * s->u[3 * i + r];
        }
        const cri_friction_point at = cri_friction_project(s->kind, z, s->mu[i], s->l[i]);
        if (has_jacobian) {
            cri_friction_project_jacobian(s->kind, z, s->mu[i], &at, s->D + 9 * i);
        }
        for (int r = 0; r < 3; r++) {
            double F = s->F[3 * i + r] = g[3 * i + r] - at.p[r];
            sum += F * F;
        }
    }
    return sqrt(sum);
}

// largest sum of the sizes of terms of A g, of the rows of contact i
static double rounding_of(const cri_scaled *s, int i, const double *g) {
    size_t m = 3 * (size_t)s->n;
    const cri_friction p = cri_scaled_problem(s);
    const cri_neighbours near = cri_neighbours_of(&p, i);
    double rounding = 0.0;
    for (int r = 0; r < 3; r++) {
        const double *row = s->A + (size_t)(3 * i + r) * m;
        double sum = 0.0;
        for (int e = 0; e < near.n; e++) {
            int j = 3 * cri_neighbour(&near, e);
            sum += fabs(row[j] * g[j]);
            sum += fabs(row[j + 1] * g[j + 1]);
            sum += fabs(row[j + 2] * g[j + 2]);
        }
        rounding = fmax(rounding, sum);
    }
    return rounding;
}

// the certificate of the last natural_map, relative
static double relative_residual(const cri_scaled *s, const double *g) {
    double worst = 0.0;
    for (int i = 0; i < s->n; i++) {
        double miss = norm3(s->F + 3 * i), scale = norm3(g + 3 * i) + s->rho * s->size[i];
        double plain = miss / fmax(scale, 1e-300);
        // rounding cannot explain a large miss, nor matters for one that is small anyway
        if (plain > newton_stop && plain < 1e-4) {
            double rounding = rounding_of(s, i, g);
            // 1e10 * 64 eps: the rounding floor of the certificate, in units of its tolerance
            plain = miss / (scale + s->rho * 1e10 * 64.0 * DBL_EPSILON * rounding);
        }
        worst = fmax(worst, plain);
    }
    return worst;
}

// rows of active contact i (place a of n_active) of the system, and its right side
static void fill_rows(cri_scaled *s, int n_active, int a, double prox) {
    int m = 3 * s->n, i = s->active[a], width = 3 * n_active;
    const double *D = s->D + 9 * i, *A0 = s->A + (size_t)(3 * i) * (size_t)m;
    for (int r = 0; r < 3; r++) {
        double *row = s->matrix + (size_t)(3 * a + r) * (size_t)width;
        double d0 = s->rho * D[3 * r], d1 = s->rho * D[3 * r + 1], d2 = s->rho * D[3 * r + 2];
        for (int b = 0; b < n_active; b++) {
            const double *A = A0 + 3 * s->active[b];
            for (int k = 0; k < 3; k++) {
                row[3 * b + k] = d0 * A[k] + d1 * A[m + k] + d2 * A[2 * m + k];
            }
        }
        for (int k = 0; k < 3; k++) {
            row[3 * a + k] += (s->rho * prox - 1.0) * D[3 * r + k];
        }
        row[3 * a + r] += 1.0;
    }
}

// the dense solve for the active contacts, rhs into trial; false for a singular matrix
static bool solve_dense(cri_scaled *s, int n_active, double prox) {
    for (int a = 0; a < n_active; a++) {
        fill_rows(s, n_active, a, prox);
        // places move down: a <= active[a]
        memmove(s->rhs + 3 * a, s->rhs + 3 * s->active[a], 3 * sizeof *s->rhs);
    }
    if (!cri_lu_factor(3 * n_active, s->matrix, s->pivot)) {
        return false;
    }
    cri_lu_solve(3 * n_active, s->matrix, s->pivot, s->rhs);
    for (int a = 0; a < n_active; a++) {
        memcpy(s->trial + 3 * s->active[a], s->rhs + 3 * a, 3 * sizeof *s->rhs);
    }
    return true;
}

// the same along the graph; false where it breaks down, with trial as it was
static bool solve_sparse(cri_scaled *s, int n_active, double prox) {
    const cri_newton_system newton = {.blocks = s->blocks,
                                      .A = s->A,
                                      .D = s->D,
                                      .is_active = s->is_active,
                                      .rho = s->rho,
                                      .prox = prox};
    if (!cri_newton_system_solve(&newton, s->rhs, s->step, s->matrix)) {
        s->n_dense++;
        return false;
    }
    for (int a = 0; a < n_active; a++) {
        int at = 3 * s->active[a];
        memcpy(s->trial + at, s->step + at, 3 * sizeof *s->step);
    }
    return true;
}

// rhs = -F - rho P' A (df of the open ones) of contact i
static void fill_rhs(cri_scaled *s, int i) {
    const cri_friction p = cri_scaled_problem(s);
    const cri_neighbours near = cri_neighbours_of(&p, i);
    double moved[3] = {0.0, 0.0, 0.0};
    for (int e = 0; e < near.n; e++) {
        int j = cri_neighbour(&near, e);
        const double *t = s->trial + 3 * j;
        if (s->is_active[j] || (t[0] == 0.0 && t[1] == 0.0 && t[2] == 0.0)) {
            continue;
        }
        for (int r = 0; r < 3; r++) {
            const double *A = s->A + (size_t)(3 * i + r) * (size_t)(3 * s->n) + 3 * j;
            moved[r] += A[0] * t[0] + A[1] * t[1] + A[2] * t[2];
        }
    }
    for (int r = 0; r < 3; r++) {
        const double *D = s->D + 9 * i + 3 * r;
        s->rhs[3 * i + r] =
            -s->F[3 * i + r] - s->rho * (D[0] * moved[0] + D[1] * moved[1] + D[2] * moved[2]);
    }
}

// the Newton step into trial; false for a singular matrix
static bool newton_direction(cri_scaled *s, double prox) {
    int n_active = 0;
    for (int i = 0; i < s->n; i++) {
        s->is_active[i] = false;
        for (int k = 0; k < 9; k++) {
            s->is_active[i] = s->is_active[i] || s->D[9 * i + k] != 0.0;
        }
        if (s->is_active[i]) {
            s->active[n_active++] = i;
        }
        for (int r = 3 * i; r < 3 * i + 3; r++) {
            s->trial[r] = -s->F[r];
        }
    }
    s->n_iteration++;
    if (n_active == 0) {
        return true;
    }
    for (int a = 0; a < n_active; a++) {
        fill_rhs(s, s->active[a]);
    }
    bool is_solved =
        (s->blocks && solve_sparse(s, n_active, prox)) || solve_dense(s, n_active, prox);
    return is_solved && cri_all_finite(3 * s->n, s->trial);
}

// moves g along the step in trial until |F| falls below the reference; false when it never does
static bool line_search(cri_scaled *s, double reference) {
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

double cri_friction_newton(cri_scaled *s, int n_max, double prox) {
    CR_ASSERT(s->n > 0 && n_max > 0);
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
        if (best <= cri_newton_accept && norm >= least && it > 0 && idle > 0) {
            break;
        }
    }
    memcpy(s->g, s->best, bytes);
    return best;
}

void cri_friction_sweep(cri_scaled *s, int n_sweep) {
    CR_ASSERT(s->n > 0 && n_sweep > 0);
    int m = 3 * s->n;
    for (int k = 0; k < n_sweep; k++) {
        for (int i = 0; i < s->n; i++) {
            double z[3], Ag[3];
            if (s->blocks) {
                cri_blocks_times(s->blocks, s->A, i, s->g, Ag);
            }
            for (int r = 0; r < 3; r++) {
                const double *row = s->A + (size_t)(3 * i + r) * (size_t)m;
                Ag[r] = s->blocks ? Ag[r] : cri_dot(m, row, s->g);
                z[r] = s->g[3 * i + r] - s->c[3 * i + r] - Ag[r];
            }
            const cri_friction_point at = cri_friction_project(s->kind, z, s->mu[i], s->l[i]);
            memcpy(s->g + 3 * i, at.p, sizeof at.p);
        }
    }
}

// ---- scaling -----------------------------------------------------------------------------------

size_t cri_friction_scale_bytes(int n) {
    size_t m = 3 * (size_t)n;
    return sizeof(double) * (2 * m * m + 9 * m + 13 * (size_t)n) + sizeof(int) * 2 * m +
           sizeof(bool) * (size_t)n + 1024;
}

static cri_scaled push_scaled(const cri_friction *p, cr_arena *arena) {
    int n = p->n, m = 3 * n;
    // a larger problem that has not been solved by then hardly ever will be
    cri_scaled s = {
        .kind = p->kind, .n = n, .blocks = p->blocks, .rho = 1.0, .budget = n <= 8 ? 4000 : 2500};
    s.A = CR_PUSH_RAW(arena, double, 2 * m * m + 9 * m + 13 * n);
    s.matrix = s.A + m * m;
    double *rows = s.matrix + m * m;
    s.c = rows;
    s.g = rows + m;
    s.best = rows + 2 * m;
    s.trial = rows + 3 * m;
    s.kept = rows + 4 * m;
    s.F = rows + 5 * m;
    s.u = rows + 6 * m;
    s.rhs = rows + 7 * m;
    s.step = rows + 8 * m;
    double *contacts = rows + 9 * m;
    s.mu = contacts;
    s.l = contacts + n;
    s.r = contacts + 2 * n;
    s.size = contacts + 3 * n;
    s.D = contacts + 4 * n;
    s.pivot = CR_PUSH_RAW(arena, int, m + n);
    s.active = s.pivot + m;
    s.is_active = CR_PUSH_RAW(arena, bool, n);
    return s;
}

cri_scaled cri_friction_scale(const cri_friction *p, const double *f, cr_arena *arena) {
    CR_ASSERT(p->n > 0 && f && arena);
    int n = p->n, m = 3 * n;
    cri_scaled s = push_scaled(p, arena);
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

cri_friction cri_scaled_problem(const cri_scaled *s) {
    CR_ASSERT(s->n > 0);
    return (cri_friction){.kind = s->kind,
                          .n = s->n,
                          .A = s->A,
                          .c = s->c,
                          .b = s->c,
                          .mu = s->mu,
                          .l = s->l,
                          .blocks = s->blocks};
}
