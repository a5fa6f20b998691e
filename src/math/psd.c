// SPDX-License-Identifier: MIT
//
// P'S P = L L', L (n, rank). For rank = n the solve is that of Cholesky. Else L = Q' R by
// Gram-Schmidt, Q with orthonormal rows,
//
//   S = Q' R R' Q,    S^+ = Q' (R R')^-1 Q,    1 - S S^+ = 1 - Q' Q
//
// in the order of the pivots; null vectors are [-L11^-T L21' e_k; e_k]. A pivot is judged by what
// it was before elimination, so that rows of unlike size need no scaling.

#include "math/psd.h"

#include "base/arena.h"
#include "base/base.h"
#include "math/dense.h"

#include <math.h>
#include <string.h>

size_t cri_psd_bytes(int n) {
    size_t m = (size_t)n;
    return sizeof(double) * (3 * m * m + 2 * m) + sizeof(int) * m + 256;
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

// brings place best to place k < best: its row of L, its pivots, its number
static void exchange(cri_psd *psd, double *left, double *first, int k, int best) {
    for (int j = 0; j < k; j++) {
        swap(&psd->L[k * psd->n + j], &psd->L[best * psd->n + j]);
    }
    swap(&left[k], &left[best]);
    swap(&first[k], &first[best]);
    int t = psd->order[k];
    psd->order[k] = psd->order[best];
    psd->order[best] = t;
}

// column k of L, from those before it; left loses its squares
static void add_column(const cri_psd *psd, const double *S, double *left, int k) {
    int n = psd->n, at = psd->order[k];
    const double *row = psd->L + k * n;
    double pivot = psd->L[k * n + k] = sqrt(left[k]), inverse = 1.0 / pivot;
    for (int i = k + 1; i < n; i++) {
        int other = psd->order[i];
        double entry = other > at ? S[other * n + at] : S[at * n + other];
        double x = (entry - cri_dot(k, psd->L + i * n, row)) * inverse;
        psd->L[i * n + k] = x;
        left[i] -= x * x;
    }
}

// L = Q' R: columns of L made orthonormal, one after the other
void cri_psd_finish(cri_psd *psd) {
    CR_ASSERT(psd->n > 0 && psd->L);
    int n = psd->n, rank = psd->rank;
    for (int k = 0; k < rank && rank < n; k++) {
        double *q = psd->Q + (size_t)k * (size_t)n;
        for (int i = 0; i < n; i++) {
            q[i] = i < k ? 0.0 : psd->L[i * n + k];
        }
        for (int r = 0; r < k; r++) {
            const double *other = psd->Q + (size_t)r * (size_t)n;
            double along = psd->R[r * rank + k] = cri_dot(n, other, q);
            cri_add_scaled(n, -along, other, q);
        }
        double norm = psd->R[k * rank + k] = sqrt(cri_dot(n, q, q)), inverse = 1.0 / norm;
        for (int i = 0; i < n; i++) {
            q[i] *= inverse;
        }
    }
}

cri_psd cri_psd_pivot(int n, const double *S, double tolerance, struct cr_arena *arena) {
    CR_ASSERT(n > 0 && S && arena);
    cri_psd psd = {.n = n};
    psd.order = CR_PUSH_RAW(arena, int, n);
    psd.L = CR_PUSH_RAW(arena, double, 3 * n * n + 2 * n);
    psd.Q = psd.L + n * n;
    psd.R = psd.Q + n * n;
    double *first = psd.R + n * n, *left = first + n;
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
        add_column(&psd, S, left, k);
        psd.rank++;
    }
    return psd;
}

cri_psd cri_psd_factor(int n, const double *S, double tolerance, struct cr_arena *arena) {
    cri_psd psd = cri_psd_pivot(n, S, tolerance, arena);
    cri_psd_finish(&psd);
    return psd;
}

// full rank: L L' x = b in place
static void solve_full(const cri_psd *psd, double *b) {
    int n = psd->n;
    for (int i = 0; i < n; i++) {
        b[i] = (b[i] - cri_dot(i, psd->L + (size_t)i * (size_t)n, b)) / psd->L[i * n + i];
    }
    for (int i = n - 1; i >= 0; i--) {
        b[i] /= psd->L[i * n + i];
        cri_add_scaled(i, -b[i], psd->L + (size_t)i * (size_t)n, b);
    }
}

// R R' x = b in place
static void solve_range(const cri_psd *psd, double *b) {
    int rank = psd->rank;
    for (int i = rank - 1; i >= 0; i--) {
        double rest = b[i] - cri_dot(rank - i - 1, psd->R + i * rank + i + 1, b + i + 1);
        b[i] = rest / psd->R[i * rank + i];
    }
    for (int i = 0; i < rank; i++) {
        b[i] /= psd->R[i * rank + i];
        cri_add_scaled(rank - i - 1, -b[i], psd->R + i * rank + i + 1, b + i + 1);
    }
}

void cri_psd_solve(const cri_psd *psd, const double *b, double *x, double *work) {
    CR_ASSERT(b && x && work);
    int n = psd->n, rank = psd->rank;
    double *along = work + n;
    for (int i = 0; i < n; i++) {
        work[i] = b[psd->order[i]];
    }
    if (rank == n) {
        solve_full(psd, work);
    } else {
        for (int k = 0; k < rank; k++) {
            along[k] = cri_dot(n, psd->Q + (size_t)k * (size_t)n, work);
        }
        solve_range(psd, along);
        memset(work, 0, sizeof *work * (size_t)n);
        for (int k = 0; k < rank; k++) {
            cri_add_scaled(n, along[k], psd->Q + (size_t)k * (size_t)n, work);
        }
    }
    for (int i = 0; i < n; i++) {
        x[psd->order[i]] = work[i];
    }
}

// row i of X (rows of n numbers)
static double *row_of(double *X, int n, int i) {
    return X + (size_t)i * (size_t)n;
}

static void scale_row(int n, double k, double *x) {
    for (int i = 0; i < n; i++) {
        x[i] *= k;
    }
}

// L L' X = B in place
static void solve_full_many(const cri_psd *psd, int n_column, double *X) {
    int n = psd->n;
    for (int i = 0; i < n; i++) {
        cri_subtract_rows(n_column, i, psd->L + i * n, 1, X, row_of(X, n_column, i));
        scale_row(n_column, 1.0 / psd->L[i * n + i], row_of(X, n_column, i));
    }
    for (int i = n - 1; i >= 0; i--) {
        cri_subtract_rows(n_column, n - i - 1, psd->L + (i + 1) * n + i, n,
                          row_of(X, n_column, i + 1), row_of(X, n_column, i));
        scale_row(n_column, 1.0 / psd->L[i * n + i], row_of(X, n_column, i));
    }
}

// R R' X = B in place
static void solve_range_many(const cri_psd *psd, int n_column, double *X) {
    int rank = psd->rank;
    for (int i = rank - 1; i >= 0; i--) {
        cri_subtract_rows(n_column, rank - i - 1, psd->R + i * rank + i + 1, 1,
                          row_of(X, n_column, i + 1), row_of(X, n_column, i));
        scale_row(n_column, 1.0 / psd->R[i * rank + i], row_of(X, n_column, i));
    }
    for (int i = 0; i < rank; i++) {
        cri_subtract_rows(n_column, i, psd->R + i, rank, X, row_of(X, n_column, i));
        scale_row(n_column, 1.0 / psd->R[i * rank + i], row_of(X, n_column, i));
    }
}

void cri_psd_solve_many(const cri_psd *psd, int n_column, double *X, double *work) {
    CR_ASSERT(n_column > 0 && X && work);
    int n = psd->n, rank = psd->rank;
    size_t row = sizeof *X * (size_t)n_column;
    double *along = row_of(work, n_column, n);
    for (int i = 0; i < n; i++) {
        memcpy(row_of(work, n_column, i), row_of(X, n_column, psd->order[i]), row);
    }
    if (rank == n) {
        solve_full_many(psd, n_column, work);
    } else {
        cri_clear_rows(rank, n_column, along);
        // twice the other sign
        for (int k = 0; k < rank; k++) {
            cri_subtract_rows(n_column, n, psd->Q + k * n, 1, work, row_of(along, n_column, k));
        }
        solve_range_many(psd, n_column, along);
        cri_clear_rows(n, n_column, work);
        for (int i = 0; i < n; i++) {
            cri_subtract_rows(n_column, rank, psd->Q + i, n, along, row_of(work, n_column, i));
        }
    }
    for (int i = 0; i < n; i++) {
        memcpy(row_of(X, n_column, psd->order[i]), row_of(work, n_column, i), row);
    }
}

void cri_psd_null_part(const cri_psd *psd, const double *b, double *x, double *work) {
    CR_ASSERT(b && x && work);
    int n = psd->n;
    for (int i = 0; i < n; i++) {
        work[i] = psd->rank == n ? 0.0 : b[psd->order[i]];
    }
    for (int k = 0; k < psd->rank && psd->rank < n; k++) {
        const double *q = psd->Q + (size_t)k * (size_t)n;
        cri_add_scaled(n, -cri_dot(n, q, work), q, work);
    }
    for (int i = 0; i < n; i++) {
        x[psd->order[i]] = work[i];
    }
}

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

// L11' x = b in place, from the last row
static void solve_transposed(const cri_psd *psd, int rank, double *b) {
    for (int i = rank - 1; i >= 0; i--) {
        const double *row = psd->L + (size_t)i * (size_t)psd->n;
        b[i] /= row[i];
        cri_add_scaled(i, -b[i], row, b);
    }
}

void cri_psd_null_basis(const cri_psd *psd, int rank, double *X) {
    CR_ASSERT(rank <= psd->rank && (X || rank == psd->n));
    int n = psd->n, n_null = n - rank;
    for (int i = 0; i < rank; i++) {
        for (int k = 0; k < n_null; k++) {
            X[i * n_null + k] = -psd->L[(rank + k) * n + i];
        }
    }
    // L11' X = -L21', from the last row
    for (int i = rank - 1; i >= 0; i--) {
        const double *row = psd->L + (size_t)i * (size_t)n;
        double *x = X + (size_t)i * (size_t)n_null, inverse = 1.0 / row[i];
        for (int k = 0; k < n_null; k++) {
            x[k] *= inverse;
        }
        for (int j = 0; j < i; j++) {
            cri_add_scaled(n_null, -row[j], x, X + (size_t)j * (size_t)n_null);
        }
    }
}

void cri_psd_solve_first(const cri_psd *psd, int rank, const double *b, double *x, double *work) {
    CR_ASSERT(rank <= psd->rank && b && x && work);
    int n = psd->n;
    for (int i = 0; i < rank; i++) {
        const double *row = psd->L + (size_t)i * (size_t)n;
        work[i] = (b[psd->order[i]] - cri_dot(i, row, work)) / row[i];
    }
    solve_transposed(psd, rank, work);
    for (int i = 0; i < n; i++) {
        x[psd->order[i]] = i < rank ? work[i] : 0.0;
    }
}

int cri_psd_null_space(int n, const double *S, double tolerance, double *Z,
                       struct cr_arena *scratch) {
    CR_ASSERT(n > 0 && S && Z && scratch);
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    const cri_psd psd = cri_psd_pivot(n, S, tolerance, scratch);
    int rank = psd.rank, n_null = 0;
    double *X = CR_PUSH_RAW(scratch, double, rank *(n - rank));
    cri_psd_null_basis(&psd, rank, X);
    for (int k = rank; k < n; k++) {
        double *z = Z + (size_t)n_null * (size_t)n;
        memset(z, 0, sizeof *z * (size_t)n);
        for (int i = 0; i < rank; i++) {
            z[psd.order[i]] = X[i * (n - rank) + k - rank];
        }
        z[psd.order[k]] = 1.0;
        n_null += cri_orthonormalise(Z, n_null, n);
    }
    cri_arena_rewind(scratch, mark);
    return n_null;
}
