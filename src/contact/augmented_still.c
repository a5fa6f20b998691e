// SPDX-License-Identifier: MIT
//
// The static patch of law `augmented`, and the impulses that derivatives move.
//
// A point, a line or a surface of three corners has a regular A: A g = -c'. With more corners the
// tangents t are eliminated,
//
//   S = A_ee - A_et A_tt^-1 A_te,   r = c'_e - A_et A_tt^-1 c'_t,   0 <= g_e perp S g_e + r >= 0
//   g_t = -A_tt^-1 (c'_t + A_te g_e)
//
// whose velocities are unique though g_e is not: the patch is static when some g_e >= 0 hold it,
// that is when none of them leaves. What the ends are to reach need not be the motion of a rigid
// body: then they may leave by as much as that differs.
//
// Derivatives: rows that stand still and are independent, six at most, hold all the others; with
// them as H and g all impulses,  A_HH dg_H = -(dc' + dA g)_H  and dg = 0 elsewhere moves the body
// as any other solution would. The same for the active normals of a surface that slides.

#include "contact/augmented_parts.h"

#include "base/base.h"
#include "base/math/cholesky.h"

#include <math.h>
#include <string.h>

enum { MOST = CRI_AUGMENTED_MOST, MOST_END = CRI_AUGMENTED_ENDS, MOST_TANGENT = 3 };

// of an inverse mass: what is left of it once others are held still
static const double independent = 1e-9;
// of all speeds: an end that leaves
static const double leaving = 1e-9;

// M (n, n) on these rows
static void gather(int n, const double *M, int n_row, const int *row, double *out) {
    for (int i = 0; i < n_row * n_row; i++) {
        out[i] = M[row[i / n_row] * n + row[i % n_row]];
    }
}

// adds row next to those of a factor unless they determine it already
static void add_row(int n, const double *M, int next, int *n_row, int *row, double *factor) {
    int k = *n_row;
    double own[MOST], left = M[next * (n + 1)];
    for (int i = 0; i < k; i++) {
        own[i] = M[row[i] * n + next];
    }
    // M_ii less what the others explain
    if (k > 0) {
        cri_cholesky_solve(k, factor, own);
    }
    for (int i = 0; i < k; i++) {
        left -= own[i] * M[row[i] * n + next];
    }
    double trial[MOST * MOST];
    row[k] = next;
    gather(n, M, k + 1, row, trial);
    if (left > independent * M[next * (n + 1)] && cri_cholesky_factor(k + 1, trial)) {
        memcpy(factor, trial, sizeof *trial * (size_t)((k + 1) * (k + 1)));
        *n_row = k + 1;
    }
}

// A g = -c' where A is regular
static bool stand_regular(cri_augmented_cache *c) {
    int k = c->ground.n_row;
    memcpy(c->factor, c->ground.A, sizeof *c->factor * (size_t)(k * k));
    bool is_good = cri_cholesky_factor(k, c->factor);
    c->n_held = k;
    for (int i = 0; i < k; i++) {
        c->held[i] = i;
        c->g[i] = -c->rest[i];
    }
    if (is_good) {
        cri_cholesky_solve(k, c->factor, c->g);
    }
    for (int i = c->ground.n_tangent; i < k; i++) {
        is_good = is_good && c->g[i] >= 0.0;
    }
    return is_good;
}

/// Tangents eliminated.
typedef struct schur {
    double S[MOST_END * MOST_END], r[MOST_END];
    double tangent[MOST_TANGENT * MOST_TANGENT];  // factor of A_tt
    double solved[(MOST_END + 1) * MOST_TANGENT]; // A_tt^-1 A_te by columns, then of c'_t
} schur;

static bool eliminate(const cri_augmented_cache *c, schur *s) {
    int k = c->ground.n_row, n_t = c->ground.n_tangent, n = k - n_t;
    const double *A = c->ground.A;
    for (int i = 0; i < n_t * n_t; i++) {
        s->tangent[i] = A[i / n_t * k + i % n_t];
    }
    if (!cri_cholesky_factor(n_t, s->tangent)) {
        return false;
    }
    for (int j = 0; j <= n; j++) {
        double *column = s->solved + j * n_t;
        for (int i = 0; i < n_t; i++) {
            column[i] = j < n ? A[i * k + n_t + j] : c->rest[i];
        }
        cri_cholesky_solve(n_t, s->tangent, column);
    }
    for (int i = 0; i < n; i++) {
        const double *row = A + (n_t + i) * k;
        for (int j = 0; j <= n; j++) {
            double sum = j < n ? row[n_t + j] : c->rest[n_t + i];
            for (int l = 0; l < n_t; l++) {
                sum -= row[l] * s->solved[j * n_t + l];
            }
            *(j < n ? &s->S[i * n + j] : &s->r[i]) = sum;
        }
    }
    return true;
}

// of all speeds that an end must not exceed to stand still
static double still_of(const cri_augmented_cache *c) {
    double size = 0.0;
    for (int i = 0; i < c->ground.n_row; i++) {
        size += fabs(c->rest[i]);
    }
    return leaving * size;
}

// by how much what ends are to reach differs from rigid motion, m/s
static double slack_of(const cri_augmented_cache *c) {
    int k = c->ground.n_row, n_t = c->ground.n_tangent;
    double most = 0.0;
    // three ends say what a fourth does
    for (int i = n_t + 3; i < k; i++) {
        double held[3], factor[9], own = c->rest[i];
        for (int j = 0; j < 9; j++) {
            factor[j] = c->ground.A[(n_t + j / 3) * k + n_t + j % 3];
        }
        for (int j = 0; j < 3; j++) {
            held[j] = c->ground.A[i * k + n_t + j];
        }
        if (cri_cholesky_factor(3, factor)) {
            cri_cholesky_solve(3, factor, held);
            for (int j = 0; j < 3; j++) {
                own -= held[j] * c->rest[n_t + j];
            }
            most = fmax(most, fabs(own));
        }
    }
    return 2.0 * most;
}

static bool stand_singular(cri_augmented_cache *c, cr_arena *scratch) {
    int k = c->ground.n_row, n_t = c->ground.n_tangent, n = k - n_t;
    schur s;
    CR_ASSERT(n > 0 && n <= MOST_END);
    if (!eliminate(c, &s)) {
        return false;
    }
    cri_lcp lcp = {.n = n, .M = s.S, .q = s.r};
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    cri_lcp_report solved = cri_lcp_solve(&lcp, c->g + n_t, scratch);
    cri_arena_rewind(scratch, mark);
    bool is_good = solved.outcome == CR_SOLVED, is_pushing = false;
    double still = still_of(c), slack = still + slack_of(c), w[MOST_END] = {0.0};
    for (int i = 0; i < n; i++) {
        c->g[n_t + i] = fmax(c->g[n_t + i], 0.0);
        is_pushing = is_pushing || c->g[n_t + i] > 0.0;
    }
    for (int i = 0; i < n; i++) {
        w[i] = s.r[i];
        for (int j = 0; j < n; j++) {
            w[i] += s.S[i * n + j] * c->g[n_t + j];
        }
        is_good = is_good && w[i] <= slack;
    }
    for (int l = 0; l < n_t; l++) {
        c->g[l] = -s.solved[n * n_t + l];
        for (int j = 0; j < n; j++) {
            c->g[l] -= s.solved[j * n_t + l] * c->g[n_t + j];
        }
    }
    c->n_held = 0;
    for (int i = 0; i < n_t; i++) {
        add_row(k, c->ground.A, i, &c->n_held, c->held, c->factor);
    }
    // those that push, then those that touch
    for (int i = 0; i < 2 * n && is_good; i++) {
        bool pushes = c->g[n_t + i % n] > 0.0, is_still = w[i % n] <= still;
        if (i < n ? pushes : !pushes && is_still) {
            add_row(k, c->ground.A, n_t + i % n, &c->n_held, c->held, c->factor);
        }
    }
    return is_good && is_pushing;
}

bool cri_augmented_stand(cri_augmented_cache *c, cr_arena *scratch) {
    bool is_regular = c->ground.n_row <= CRI_GROUND_LEAD;
    return is_regular ? stand_regular(c) : stand_singular(c, scratch);
}

bool cri_augmented_part(cri_augmented_cache *c, const cri_lcp *lcp, cr_arena *keep) {
    int n = lcp->n, n_row = 0;
    const double *g = c->g + c->ground.n_tangent;
    if (n <= 3) {
        c->n_part = n;
        for (int i = 0; i < n; i++) {
            c->part[i] = i;
        }
        return cri_lcp_reduce(lcp, g, &c->lcp, keep);
    }
    int row[MOST];
    double factor[MOST * MOST];
    for (int i = 0; i < n; i++) {
        if (g[i] > 0.0) {
            add_row(n, lcp->M, i, &n_row, row, factor);
        }
    }
    // the others' impulses stay as they are
    double *M = CR_PUSH_RAW(keep, double, n_row *n_row + 1), *q = CR_PUSH_RAW(keep, double, n + 1);
    double *z = CR_PUSH_RAW(keep, double, n + 1);
    gather(n, lcp->M, n_row, row, M);
    for (int i = 0; i < n_row; i++) {
        z[i] = g[row[i]];
    }
    for (int i = 0; i < n_row; i++) {
        q[i] = 0.0;
        for (int j = 0; j < n_row; j++) {
            q[i] -= M[i * n_row + j] * z[j];
        }
        c->part[i] = row[i];
    }
    c->n_part = n_row;
    cri_lcp part = {.n = n_row, .M = M, .q = q};
    return n_row == 0 || cri_lcp_reduce(&part, z, &c->lcp, keep);
}
