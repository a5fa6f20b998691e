// SPDX-License-Identifier: MIT
//
// What a least-squares fit has determined, and how well.
//
// With columns of unit length, block k is Q'(A B) = (R S; 0 T). The singular values of R, R V = U
// s, above 1e-7 say what the block knows of its own unknowns; its null directions leave rows of S
// over:
//
//   G = V s^-1 U'S                       own = -G shared, the best own values for given shared ones
//   rows for the shared unknowns         T and S - U U'S, of all blocks, triangular
//   C = sum v v'/s^2                     their covariance, over singular values above 1e-7
//   own covariance                       V s^-2 V' + G C G',  with the shared ones -G C
//
// The rest spans the null space. An unknown that has a part in it is not identifiable; its partner
// is the other unknown with the largest part in the same direction.

#include "optimize/identify.h"

#include "base/math/dense.h"
#include "optimize/least_squares.h"
#include "optimize/singular.h"

#include <math.h>
#include <string.h>

// singular values of unit columns below this are zero: Jacobians are good to about 1e-9
#define NULL_SINGULAR 1e-7

// part of a null direction that counts
#define NULL_PART 1e-3

typedef struct judge {
    const cri_arrow *arrow;
    const double *J;
    double *norm;   // (n)
    bool *is_null;  // (n)
    double *work;   // block (n_row, n_own + n_shared), own columns first
    double *U;      // (n_own, n_own) of the largest block, then of the shared unknowns
    double *V;      // likewise
    double *s;      // likewise
    double *row;    // (n_shared)
    double *shared; // (n_shared, n_tall) what is known about the shared unknowns
    int n_tall;     // 2 n_shared and the largest n_own
    cri_verdict *out;
} judge;

static bool push_judge(judge *w, cr_arena *arena) {
    const cri_arrow *arrow = w->arrow;
    size_t n_shared = (size_t)arrow->n_shared, most = n_shared, largest = 0;
    for (int k = 0; k < arrow->n_block; k++) {
        size_t own = (size_t)arrow->block[k].n, n = own + n_shared;
        size_t m = (size_t)arrow->block[k].m, n_row = m > n ? m : n;
        most = own > most ? own : most;
        largest = n_row * n > largest ? n_row * n : largest;
    }
    w->n_tall = (int)(2 * n_shared + most);
    w->norm = CR_PUSH(arena, double, arrow->n);
    w->is_null = CR_PUSH(arena, bool, arrow->n);
    w->work = CR_PUSH(arena, double, largest);
    w->U = CR_PUSH(arena, double, most *most);
    w->V = CR_PUSH(arena, double, most *most);
    w->s = CR_PUSH(arena, double, most);
    w->row = CR_PUSH(arena, double, n_shared);
    w->shared = CR_PUSH(arena, double, n_shared *(size_t)w->n_tall);
    return !cri_arena_has_failed(arena);
}

static bool push_verdict(const cri_arrow *arrow, cr_arena *arena, cri_verdict *out) {
    size_t n_shared = (size_t)arrow->n_shared, n_own = 0, n_cross = 0;
    cri_verdict verdict = {.identity = CR_PUSH(arena, cri_identity, arrow->n),
                           .shared = CR_PUSH(arena, double, n_shared *n_shared),
                           .at_own = CR_PUSH(arena, size_t, arrow->n_block),
                           .at_cross = CR_PUSH(arena, size_t, arrow->n_block)};
    if (!verdict.at_own || !verdict.at_cross) {
        return false;
    }
    for (int k = 0; k < arrow->n_block; k++) {
        size_t own = (size_t)arrow->block[k].n;
        verdict.at_own[k] = n_own;
        verdict.at_cross[k] = n_cross;
        n_own += own * own;
        n_cross += own * n_shared;
    }
    verdict.own = CR_PUSH(arena, double, n_own);
    verdict.cross = CR_PUSH(arena, double, n_cross);
    *out = verdict;
    return !cri_arena_has_failed(arena);
}

// ---- null directions ---------------------------------------------------------------------------

/// The unknown among first, first + 1, ... with the largest part of v (n), except one. -1: none
/// that counts.
static int find_largest(const judge *w, int n, const double *v, int first, int except) {
    int found = -1;
    double largest = NULL_PART;
    for (int i = 0; i < n; i++) {
        if (first + i != except && !w->is_null[first + i] && fabs(v[i]) > largest) {
            largest = fabs(v[i]);
            found = first + i;
        }
    }
    return found;
}

static void mark(judge *w, int unknown, int partner) {
    cri_identity *identity = &w->out->identity[unknown];
    if (!w->is_null[unknown]) {
        identity->is_identifiable = false;
        identity->partner = partner;
    }
}

/// Marks the own unknowns of a block with a part in a null direction v (n_own) of its own.
static void mark_own(judge *w, int k, const double *v) {
    const cri_arrow_block *block = &w->arrow->block[k];
    for (int i = 0; i < block->n; i++) {
        if (fabs(v[i]) > NULL_PART) {
            mark(w, block->z + i, find_largest(w, block->n, v, block->z, block->z + i));
        }
    }
}

/// Marks the unknowns with a part in a null direction v (n_shared), which moves own ones by -G v.
static void mark_shared(judge *w, const double *v) {
    const cri_arrow *arrow = w->arrow;
    int n_shared = arrow->n_shared;
    int most = find_largest(w, n_shared, v, 0, -1);
    int own_partner = -1;
    double largest = NULL_PART;
    for (int k = 0; k < arrow->n_block; k++) {
        const cri_arrow_block *block = &arrow->block[k];
        for (int i = 0; i < block->n; i++) {
            const double *G = w->out->cross + w->out->at_cross[k] + (size_t)i * (size_t)n_shared;
            double part = fabs(cri_dot(n_shared, G, v));
            if (part > NULL_PART) {
                mark(w, block->z + i, most);
            }
            if (part > largest && !w->is_null[block->z + i]) {
                largest = part;
                own_partner = block->z + i;
            }
        }
    }
    for (int a = 0; a < n_shared; a++) {
        if (fabs(v[a]) > NULL_PART) {
            int other = find_largest(w, n_shared, v, 0, a);
            mark(w, a, other >= 0 ? other : own_partner);
        }
    }
}

// ---- blocks ------------------------------------------------------------------------------------

/// Unit columns of a block, triangular. Returns the number of rows.
static int triangularise_block(judge *w, int k) {
    const cri_arrow *arrow = w->arrow;
    const cri_arrow_block *block = &arrow->block[k];
    int n = block->n + arrow->n_shared;
    int n_row = block->m > n ? block->m : n;
    memset(w->work, 0, (size_t)n_row * (size_t)n * sizeof *w->work);
    for (int j = 0; j < n; j++) {
        int c = j < block->n ? arrow->n_shared + j : j - block->n;
        int unknown = cri_arrow_unknown(arrow, k, c);
        const double *column = w->J + block->J + (size_t)c * (size_t)block->m;
        for (int i = 0; i < block->m && !w->is_null[unknown]; i++) {
            w->work[(size_t)j * (size_t)n_row + (size_t)i] = column[i] / w->norm[unknown];
        }
    }
    cri_triangularise(n_row, n, w->work, NULL);
    return n_row;
}

/// One direction of a block's own unknowns: its share of the covariance and of G, its part of S
/// taken out.
static void take_direction(judge *w, int k, int a, int n_row) {
    int n_own = w->arrow->block[k].n, n_shared = w->arrow->n_shared;
    double *S = w->work + (size_t)n_own * (size_t)n_row;
    double *own = w->out->own + w->out->at_own[k];
    double *G = w->out->cross + w->out->at_cross[k];
    const double *u = w->U + (size_t)a * (size_t)n_own;
    const double *v = w->V + (size_t)a * (size_t)n_own;
    double square = w->s[a] * w->s[a];
    for (int c = 0; c < n_shared; c++) {
        double *column = S + (size_t)c * (size_t)n_row;
        // u has the length s
        w->row[c] = cri_dot(n_own, u, column) / square;
        cri_add_scaled(n_own, -w->row[c], u, column);
    }
    for (int i = 0; i < n_own; i++) {
        for (int j = 0; j < n_own; j++) {
            own[i * n_own + j] += v[i] * v[j] / square;
        }
        cri_add_scaled(n_shared, v[i], w->row, G + (size_t)i * (size_t)n_shared);
    }
}

/// Puts rows of the block below what is known about the shared unknowns.
static void stack_block(judge *w, int k, int n_row) {
    int n_own = w->arrow->block[k].n, n_shared = w->arrow->n_shared;
    const double *S = w->work + (size_t)n_own * (size_t)n_row;
    for (int c = 0; c < n_shared; c++) {
        double *to = w->shared + (size_t)c * (size_t)w->n_tall;
        memset(to + n_shared, 0, (size_t)(w->n_tall - n_shared) * sizeof *to);
        memcpy(to + n_shared, S + (size_t)c * (size_t)n_row,
               (size_t)(n_own + n_shared) * sizeof *to);
    }
    cri_triangularise(w->n_tall, n_shared, w->shared, NULL);
}

static void judge_block(judge *w, int k) {
    const cri_arrow_block *block = &w->arrow->block[k];
    int n_own = block->n;
    int n_row = triangularise_block(w, k);
    for (int j = 0; j < n_own; j++) {
        memcpy(w->U + (size_t)j * (size_t)n_own, w->work + (size_t)j * (size_t)n_row,
               (size_t)n_own * sizeof *w->U);
    }
    cri_singular(n_own, n_own, w->U, w->V, w->s);
    for (int a = 0; a < n_own; a++) {
        if (w->s[a] > NULL_SINGULAR) {
            take_direction(w, k, a, n_row);
            w->out->rank++;
        } else {
            mark_own(w, k, w->V + (size_t)a * (size_t)n_own);
        }
    }
    stack_block(w, k, n_row);
}

// ---- all ---------------------------------------------------------------------------------------

/// Covariance of the shared unknowns, for unit columns.
static void judge_shared(judge *w) {
    int n = w->arrow->n_shared;
    for (int c = 0; c < n; c++) {
        memcpy(w->U + (size_t)c * (size_t)n, w->shared + (size_t)c * (size_t)w->n_tall,
               (size_t)n * sizeof *w->U);
    }
    cri_singular(n, n, w->U, w->V, w->s);
    for (int a = 0; a < n; a++) {
        const double *v = w->V + (size_t)a * (size_t)n;
        if (w->s[a] <= NULL_SINGULAR) {
            mark_shared(w, v);
            continue;
        }
        w->out->rank++;
        for (int i = 0; i < n; i++) {
            cri_add_scaled(n, v[i] / (w->s[a] * w->s[a]), v, w->out->shared + i * n);
        }
    }
}

/// own += G C G', and G becomes -G C.
static void spread_shared(judge *w, int k) {
    int n_own = w->arrow->block[k].n, n_shared = w->arrow->n_shared;
    double *own = w->out->own + w->out->at_own[k];
    double *G = w->out->cross + w->out->at_cross[k];
    // row i of G is needed until all rows before it are done, and then only as -G C
    for (int i = 0; i < n_own; i++) {
        for (int c = 0; c < n_shared; c++) {
            w->row[c] = cri_dot(n_shared, G + i * n_shared, w->out->shared + c * n_shared);
        }
        for (int j = i; j < n_own; j++) {
            double sum = cri_dot(n_shared, w->row, G + j * n_shared);
            own[i * n_own + j] += sum;
            own[j * n_own + i] = own[i * n_own + j];
        }
        for (int c = 0; c < n_shared; c++) {
            G[i * n_shared + c] = -w->row[c];
        }
    }
}

static double inverse_norm(const judge *w, int unknown) {
    return w->is_null[unknown] ? 0.0 : 1.0 / w->norm[unknown];
}

/// From unit columns back to the unknowns' own units.
static void unscale(judge *w) {
    const cri_arrow *arrow = w->arrow;
    int n_shared = arrow->n_shared;
    for (int i = 0; i < n_shared; i++) {
        for (int j = 0; j < n_shared; j++) {
            w->out->shared[i * n_shared + j] *= inverse_norm(w, i) * inverse_norm(w, j);
        }
    }
    for (int k = 0; k < arrow->n_block; k++) {
        const cri_arrow_block *block = &arrow->block[k];
        double *own = w->out->own + w->out->at_own[k];
        double *cross = w->out->cross + w->out->at_cross[k];
        for (int i = 0; i < block->n; i++) {
            double unit = inverse_norm(w, block->z + i);
            for (int j = 0; j < block->n; j++) {
                own[i * block->n + j] *= unit * inverse_norm(w, block->z + j);
            }
            for (int c = 0; c < n_shared; c++) {
                cross[i * n_shared + c] *= unit * inverse_norm(w, c);
            }
        }
    }
}

cr_status cri_identify(const cri_arrow *arrow, const double *z, const double *J, cr_arena *arena,
                       cri_verdict *out, cr_error *err) {
    CR_ASSERT(arrow->n > 0 && arrow->m > 0);
    judge w = {.arrow = arrow, .J = J, .out = out};
    cr_arena *scratch = cri_arena_create(1 << 16);
    bool has_memory = push_verdict(arrow, arena, out) && scratch && push_judge(&w, scratch);
    if (has_memory) {
        cri_lsq_find_null(arrow, z, J, w.norm, w.is_null);
        for (int j = 0; j < arrow->n; j++) {
            out->identity[j] = (cri_identity){!w.is_null[j], w.is_null[j], -1};
        }
        for (int k = 0; k < arrow->n_block; k++) {
            judge_block(&w, k);
        }
        judge_shared(&w);
        for (int k = 0; k < arrow->n_block; k++) {
            spread_shared(&w, k);
        }
        unscale(&w);
    }
    cri_arena_destroy(scratch);
    return has_memory ? CR_OK : cri_fail(err, CR_ERR_MEMORY, 0, "no memory for standard errors");
}
