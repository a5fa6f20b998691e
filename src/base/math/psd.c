// SPDX-License-Identifier: MIT
//
// P'S P = U'U, U = [U11 U12] (rank, n). For rank = n the solve is that of Cholesky. Else columns of
// N = [X; 1], X = -U11^-1 U12, span the null space, and with K = N'N = 1 + X'X
//
//   1 - S S^+ = N K^-1 N',    S^+ = (1 - N K^-1 N') [A11^-1 0; 0 0] (1 - N K^-1 N'),  A11 = U11'U11
//
// in the order of the pivots. A pivot is judged by what it was before elimination, so that rows of
// unlike size need no scaling.

#include "base/math/psd.h"

#include "base/arena.h"
#include "base/base.h"
#include "base/math/cholesky.h"
#include "base/math/dense.h"

#include <math.h>
#include <string.h>

size_t cri_psd_bytes(int n) {
    size_t m = (size_t)n;
    return sizeof(double) * (2 * m * m + 2 * m) + sizeof(int) * m + 256;
}

static void swap(double *a, double *b) {
    double t = *a;
    *a = *b;
    *b = t;
}

// the place from k on whose pivot has lost least, -1 when all are zero; first has the inverses of
// the pivots before elimination, 0 where they were not positive
static int next_pivot(int n, const double *left, const double *first, double tolerance, int k) {
    int best = -1;
    double most = tolerance;
    for (int i = k; i < n; i++) {
        double part = left[i] * first[i];
        if (part > most) {
            most = part;
            best = i;
        }
    }
    return best;
}

// brings place best to place k < best: its column of U, its pivots, its number
static void exchange(cri_psd *psd, double *left, double *first, int k, int best) {
    for (int j = 0; j < k; j++) {
        swap(&psd->U[j * psd->n + k], &psd->U[j * psd->n + best]);
    }
    swap(&left[k], &left[best]);
    swap(&first[k], &first[best]);
    int t = psd->order[k];
    psd->order[k] = psd->order[best];
    psd->order[best] = t;
}

// row *= k, and left loses its squares
static void finish_row(int n, double k, double *restrict row, double *restrict left) {
    for (int i = 0; i < n; i++) {
        row[i] *= k;
        left[i] -= row[i] * row[i];
    }
}

// row k of U, from those before it; left loses its squares
static void add_row(const cri_psd *psd, const double *S, double *left, int k) {
    int n = psd->n;
    const double *from = S + (size_t)psd->order[k] * (size_t)n;
    double *row = psd->U + k * n, pivot = row[k] = sqrt(left[k]), inverse = 1.0 / pivot;
    for (int i = k + 1; i < n; i++) {
        row[i] = from[psd->order[i]];
    }
    cri_add_rows(n - k - 1, k, -1.0, psd->U + k, n, psd->U + k + 1, n, row + k + 1);
    finish_row(n - k - 1, inverse, row + k + 1, left + k + 1);
}

cri_psd cri_psd_pivot(int n, const double *S, double tolerance, struct cr_arena *arena) {
    CR_ASSERT(n > 0 && S && arena);
    cri_psd psd = {.n = n};
    psd.order = CR_PUSH_RAW(arena, int, n);
    psd.U = CR_PUSH_RAW(arena, double, 2 * n * n + 2 * n);
    psd.X = psd.U + n * n;
    double *first = psd.X + n * n, *left = first + n;
    for (int i = 0; i < n; i++) {
        psd.order[i] = i;
        left[i] = S[i * n + i];
        first[i] = left[i] > 0.0 ? 1.0 / left[i] : 0.0;
    }
    for (int k = 0; k < n; k++) {
        int best = next_pivot(n, left, first, tolerance, k);
        if (best < 0) {
            break;
        }
        if (best != k) {
            exchange(&psd, left, first, k, best);
        }
        add_row(&psd, S, left, k);
        psd.rank++;
    }
    psd.K = psd.X + psd.rank * (n - psd.rank);
    return psd;
}

// ---- null space --------------------------------------------------------------------------------

void cri_psd_null_basis(const cri_psd *psd, int rank, double *X) {
    CR_ASSERT(rank <= psd->rank && (X || rank == psd->n));
    int n = psd->n, n_null = n - rank;
    // U11 X = -U12, from the last row
    for (int i = rank - 1; i >= 0; i--) {
        const double *row = psd->U + i * n;
        double *x = X + i * n_null, inverse = -1.0 / row[i];
        memcpy(x, row + rank, sizeof *x * (size_t)n_null);
        cri_add_rows(n_null, rank - i - 1, 1.0, row + i + 1, 1, x + n_null, n_null, x);
        for (int k = 0; k < n_null; k++) {
            x[k] *= inverse;
        }
    }
}

bool cri_psd_null_factor(const cri_psd *psd, int rank, const double *X, const double *D, double *K,
                         double *work) {
    CR_ASSERT(rank < psd->n && X && K && (work || !D));
    int n_null = psd->n - rank;
    const int *order = psd->order;
    for (int i = 0; D && i < rank; i++) {
        for (int k = 0; k < n_null; k++) {
            work[i * n_null + k] = D[order[i]] * X[i * n_null + k];
        }
    }
    // the upper triangle
    const double *DX = D ? work : X;
    for (int i = 0; i < n_null; i++) {
        double *row = K + i * n_null;
        memset(row + i, 0, sizeof *row * (size_t)(n_null - i));
        row[i] = D ? D[order[rank + i]] : 1.0;
        cri_add_rows(n_null - i, rank, 1.0, DX + i, n_null, X + i, n_null, row + i);
    }
    return cri_cholesky_factor(n_null, K);
}

// w (n - rank) = -K^-1 N' b, b in the order of the pivots
static void null_weights(int n, int rank, const double *X, const double *K, const double *b,
                         double *w) {
    for (int i = 0; i < n - rank; i++) {
        w[i] = -b[rank + i];
    }
    cri_add_rows(n - rank, rank, -1.0, b, 1, X, n - rank, w);
    cri_cholesky_solve(n - rank, K, w);
}

void cri_psd_null_apply(const cri_psd *psd, int rank, const double *X, const double *K,
                        const double *b, double *x, double *work) {
    CR_ASSERT(rank < psd->n && b && x && work);
    int n = psd->n, n_null = n - rank;
    double *w = work + n;
    for (int i = 0; i < n; i++) {
        work[i] = b[psd->order[i]];
    }
    null_weights(n, rank, X, K, work, w);
    for (int i = 0; i < n; i++) {
        x[psd->order[i]] = i < rank ? -cri_dot(n_null, X + i * n_null, w) : -w[i - rank];
    }
}

void cri_psd_null_part(const cri_psd *psd, const double *b, double *x, double *work) {
    CR_ASSERT(b && x && work);
    if (psd->rank == psd->n) {
        memset(x, 0, sizeof *x * (size_t)psd->n);
    } else {
        cri_psd_null_apply(psd, psd->rank, psd->X, psd->K, b, x, work);
    }
}

void cri_psd_finish(cri_psd *psd) {
    CR_ASSERT(psd->n > 0 && psd->U);
    int n = psd->n, n_null = n - psd->rank;
    if (n_null == 0) {
        return;
    }
    cri_psd_null_basis(psd, psd->rank, psd->X);
    if (!cri_psd_null_factor(psd, psd->rank, psd->X, NULL, psd->K, NULL)) {
        // rows beyond all scales: those that depend on others get nothing
        memset(psd->X, 0, sizeof *psd->X * (size_t)(n_null * n));
        for (int i = 0; i < n_null; i++) {
            psd->K[i * n_null + i] = 1.0;
        }
    }
}

cri_psd cri_psd_factor(int n, const double *S, double tolerance, struct cr_arena *arena) {
    cri_psd psd = cri_psd_pivot(n, S, tolerance, arena);
    cri_psd_finish(&psd);
    return psd;
}

// ---- solves ------------------------------------------------------------------------------------

// b -= N K^-1 N' b, in the order of the pivots. w (n - rank)
static void drop_null(const cri_psd *psd, double *b, double *w) {
    int n = psd->n, rank = psd->rank, n_null = n - rank;
    if (n_null == 0) {
        return;
    }
    null_weights(n, rank, psd->X, psd->K, b, w);
    for (int k = 0; k < rank; k++) {
        b[k] += cri_dot(n_null, psd->X + k * n_null, w);
    }
    for (int i = 0; i < n_null; i++) {
        b[rank + i] += w[i];
    }
}

// U11' U11 x = b in place, for the first rank rows and columns
static void solve_range(const cri_psd *psd, int rank, double *b) {
    int n = psd->n;
    for (int i = 0; i < rank; i++) {
        const double *row = psd->U + i * n + i;
        b[i] /= row[0];
        cri_add_scaled(rank - i - 1, -b[i], row + 1, b + i + 1);
    }
    for (int i = rank - 1; i >= 0; i--) {
        const double *row = psd->U + i * n + i;
        b[i] = (b[i] - cri_dot(rank - i - 1, row + 1, b + i + 1)) / row[0];
    }
}

void cri_psd_solve_first(const cri_psd *psd, int rank, const double *b, double *x, double *work) {
    CR_ASSERT(rank <= psd->rank && b && x && work);
    for (int i = 0; i < rank; i++) {
        work[i] = b[psd->order[i]];
    }
    solve_range(psd, rank, work);
    for (int i = 0; i < psd->n; i++) {
        x[psd->order[i]] = i < rank ? work[i] : 0.0;
    }
}

void cri_psd_solve(const cri_psd *psd, const double *b, double *x, double *work) {
    CR_ASSERT(b && x && work);
    int n = psd->n, rank = psd->rank;
    for (int i = 0; i < n; i++) {
        work[i] = b[psd->order[i]];
    }
    drop_null(psd, work, work + n);
    solve_range(psd, rank, work);
    memset(work + rank, 0, sizeof *work * (size_t)(n - rank));
    drop_null(psd, work, work + n);
    for (int i = 0; i < n; i++) {
        x[psd->order[i]] = work[i];
    }
}

static void scale_row(int n, double k, double *x) {
    for (int i = 0; i < n; i++) {
        x[i] *= k;
    }
}

// K W = B in place, rows of n_column
static void solve_null_many(const cri_psd *psd, int n_column, double *W) {
    int n_null = psd->n - psd->rank;
    for (int k = 0; k < n_null; k++) {
        const double *row = psd->K + k * n_null;
        for (int j = k + 1; j < n_null; j++) {
            cri_add_scaled(n_column, -row[k] * row[j], W + k * n_column, W + j * n_column);
        }
    }
    for (int k = n_null - 1; k >= 0; k--) {
        const double *row = psd->K + k * n_null;
        double *w = W + k * n_column;
        cri_add_rows(n_column, n_null - k - 1, -1.0, row + k + 1, 1, w + n_column, n_column, w);
        scale_row(n_column, row[k], w);
    }
}

// the first rank rows of B -= N K^-1 N' B
static void drop_null_many(const cri_psd *psd, int n_column, double *B, double *W) {
    int rank = psd->rank, n_null = psd->n - rank;
    memcpy(W, B + rank * n_column, sizeof *W * (size_t)(n_null * n_column));
    for (int i = 0; i < n_null; i++) {
        cri_add_rows(n_column, rank, 1.0, psd->X + i, n_null, B, n_column, W + i * n_column);
    }
    solve_null_many(psd, n_column, W);
    for (int k = 0; k < rank; k++) {
        cri_add_rows(n_column, n_null, -1.0, psd->X + k * n_null, 1, W, n_column, B + k * n_column);
    }
}

void cri_psd_solve_many(const cri_psd *psd, int n_column, double *X, double *work) {
    CR_ASSERT(n_column > 0 && X && work);
    int n = psd->n, rank = psd->rank;
    size_t width = (size_t)n_column, bytes = sizeof *X * width;
    for (int i = 0; i < n; i++) {
        memcpy(work + i * n_column, X + (size_t)psd->order[i] * width, bytes);
    }
    drop_null_many(psd, n_column, work, work + n * n_column);
    for (int i = 0; i < rank; i++) {
        double *x = work + i * n_column;
        cri_add_rows(n_column, i, -1.0, psd->U + i, n, work, n_column, x);
        scale_row(n_column, 1.0 / psd->U[i * n + i], x);
    }
    for (int i = rank - 1; i >= 0; i--) {
        double *x = work + i * n_column;
        const double *row = psd->U + i * n + i;
        cri_add_rows(n_column, rank - i - 1, -1.0, row + 1, 1, x + n_column, n_column, x);
        scale_row(n_column, 1.0 / row[0], x);
    }
    cri_clear_rows(n - rank, n_column, work + rank * n_column);
    for (int i = 0; i < n; i++) {
        memcpy(X + (size_t)psd->order[i] * width, work + i * n_column, bytes);
    }
}

// ---- orthonormal null space --------------------------------------------------------------------

int cri_orthonormalise(double *Z, int k, int n) {
    CR_ASSERT(Z && k >= 0);
    double *z = Z + (size_t)k * (size_t)n;
    double before = cri_dot(n, z, z);
    // the second pass removes what rounding left of the first
    for (int pass = 0; pass < 2; pass++) {
        for (int r = 0; r < k; r++) {
            const double *y = Z + (size_t)r * (size_t)n;
            cri_add_scaled(n, -cri_dot(n, y, z), y, z);
        }
    }
    double norm = cri_dot(n, z, z);
    // 1e-16: the rest is rounding of what was subtracted
    if (!(norm > 1e-16 * before)) {
        return 0;
    }
    double inverse = 1.0 / sqrt(norm);
    for (int i = 0; i < n; i++) {
        z[i] *= inverse;
    }
    return 1;
}

int cri_psd_null_space(int n, const double *S, double tolerance, double *Z,
                       struct cr_arena *scratch) {
    CR_ASSERT(n > 0 && S && Z && scratch);
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    const cri_psd psd = cri_psd_pivot(n, S, tolerance, scratch);
    int rank = psd.rank, n_null = 0;
    cri_psd_null_basis(&psd, rank, psd.X);
    for (int k = rank; k < n; k++) {
        double *z = Z + (size_t)n_null * (size_t)n;
        memset(z, 0, sizeof *z * (size_t)n);
        for (int i = 0; i < rank; i++) {
            z[psd.order[i]] = psd.X[i * (n - rank) + k - rank];
        }
        z[psd.order[k]] = 1.0;
        n_null += cri_orthonormalise(Z, n_null, n);
    }
    cri_arena_rewind(scratch, mark);
    return n_null;
}
