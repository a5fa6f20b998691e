// SPDX-License-Identifier: MIT
//
// Factors of dense matrices: LU, U'DU, QR, and semidefinite ones with their null space.

#include "base/math/dense_factor.h"

#include "base/arena.h"
#include "base/base.h"
#include "base/math/dense.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

// ---- LU -----------------------------------------------------------------------------------------

// P A = L U, L with unit diagonal, row by row (Gaussian elimination with partial pivoting).

static void swap_rows(int n, double *a, int i, int k) {
    for (int j = 0; j < n; j++) {
        double t = a[i * n + j];
        a[i * n + j] = a[k * n + j];
        a[k * n + j] = t;
    }
}

bool cri_lu_factor(int n, double *a, int *pivot) {
    CR_ASSERT(n > 0 && a && pivot);
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++) {
            if (fabs(a[i * n + k]) > fabs(a[best * n + k])) {
                best = i;
            }
        }
        pivot[k] = best;
        if (best != k) {
            swap_rows(n, a, best, k);
        }
        double inverse = 1.0 / a[k * n + k];
        if (!isfinite(inverse)) {
            return false;
        }
        for (int i = k + 1; i < n; i++) {
            double factor = a[i * n + k] *= inverse;
            if (factor != 0.0) {
                cri_add_scaled(n - k - 1, -factor, a + k * n + k + 1, a + i * n + k + 1);
            }
        }
    }
    return true;
}

void cri_lu_solve(int n, const double *lu, const int *pivot, double *b) {
    for (int k = 0; k < n; k++) {
        double t = b[pivot[k]];
        b[pivot[k]] = b[k];
        b[k] = t;
    }
    for (int i = 1; i < n; i++) {
        b[i] -= cri_dot(i, lu + i * n, b);
    }
    for (int i = n - 1; i >= 0; i--) {
        b[i] = (b[i] - cri_dot(n - i - 1, lu + i * n + i + 1, b + i + 1)) / lu[i * n + i];
    }
}

void cri_lu_solve_many(int n, const double *lu, const int *pivot, int n_column, double *B) {
    CR_ASSERT(n > 0 && lu && pivot && n_column > 0 && B);
    size_t width = (size_t)n_column;
    for (int k = 0; k < n; k++) {
        double *a = B + (size_t)k * width, *b = B + (size_t)pivot[k] * width;
        for (int c = 0; a != b && c < n_column; c++) {
            double t = a[c];
            a[c] = b[c];
            b[c] = t;
        }
    }
    for (int i = 1; i < n; i++) {
        cri_add_rows(n_column, i, -1.0, lu + i * n, 1, B, n_column, B + (size_t)i * width);
    }
    for (int i = n - 1; i >= 0; i--) {
        double *b = B + (size_t)i * width, inverse = 1.0 / lu[i * n + i];
        cri_add_rows(n_column, n - i - 1, -1.0, lu + i * n + i + 1, 1, b + width, n_column, b);
        for (int c = 0; c < n_column; c++) {
            b[c] *= inverse;
        }
    }
}

void cri_lu_solve_transposed(int n, const double *lu, const int *pivot, double *b) {
    for (int i = 0; i < n; i++) {
        b[i] /= lu[i * n + i];
        cri_add_scaled(n - i - 1, -b[i], lu + i * n + i + 1, b + i + 1);
    }
    for (int i = n - 1; i > 0; i--) {
        cri_add_scaled(i, -b[i], lu + i * n, b);
    }
    for (int k = n - 1; k >= 0; k--) {
        double t = b[pivot[k]];
        b[pivot[k]] = b[k];
        b[k] = t;
    }
}

double cri_lu_pivot_ratio(int n, const double *lu) {
    double least = INFINITY, largest = 0.0;
    for (int i = 0; i < n; i++) {
        least = fmin(least, fabs(lu[i * n + i]));
        largest = fmax(largest, fabs(lu[i * n + i]));
    }
    return largest > 0.0 ? least / largest : 0.0;
}

/// The same; returns the row of the pivot that is not, n when all are.
static int cholesky_rows(int n, double *a) {
    CR_ASSERT(n > 0 && a);
    for (int k = 0; k < n; k++) {
        double *row = a + (size_t)k * (size_t)n;
        double pivot = row[k], inverse = 1.0 / pivot;
        // a pivot so small that its inverse overflows is none
        if (!(pivot > 0.0) || !isfinite(pivot) || !isfinite(inverse)) {
            return k;
        }
        row[k] = inverse;
        for (int i = k + 1; i < n; i++) {
            double *below = a + (size_t)i * (size_t)n;
            cri_add_scaled(n - i, -row[i] * inverse, row + i, below + i);
        }
    }
    return n;
}

// ---- Cholesky -----------------------------------------------------------------------------------

// A = U' D U with unit upper U, the form of Cholesky's factorisation without square roots. Row k of
// the factor holds the row k of D U behind the diagonal, and 1/d_k on it.
//
// Rows are eliminated from those below them, so that inner loops run along rows and their terms
// are independent.

bool cri_cholesky_factor(int n, double *a) {
    return cholesky_rows(n, a) == n;
}

void cri_cholesky_solve(int n, const double *factor, double *b) {
    // U' y = b
    for (int k = 0; k < n; k++) {
        const double *row = factor + (size_t)k * (size_t)n;
        cri_add_scaled(n - k - 1, -b[k] * row[k], row + k + 1, b + k + 1);
    }
    // D U x = y
    for (int k = n - 1; k >= 0; k--) {
        const double *row = factor + (size_t)k * (size_t)n;
        double sum = b[k];
        for (int j = k + 1; j < n; j++) {
            sum -= row[j] * b[j];
        }
        b[k] = sum * row[k];
    }
}

// ---- QR -----------------------------------------------------------------------------------------

// A P = Q R by Householder reflections H_k = 1 - beta v v', v_k = 1, with column pivoting
// (Golub and Van Loan, section 5.4). With R = [R1 R2; 0 0] and R1 of the rank r:
//
//   solve    x = P [R1^-1 (Q' b)_1; 0]
//   adjoint  b_adj = Q [R1^-T (P' x_adj)_1; 0]

static void swap_columns(cri_qr *qr, int i, int k) {
    for (int r = 0; r < qr->m; r++) {
        double t = qr->a[r * qr->n + i];
        qr->a[r * qr->n + i] = qr->a[r * qr->n + k];
        qr->a[r * qr->n + k] = t;
    }
    int t = qr->column[i];
    qr->column[i] = qr->column[k];
    qr->column[k] = t;
}

static double length2_below(const cri_qr *qr, int row, int column) {
    double sum = 0.0;
    for (int r = row; r < qr->m; r++) {
        double a = qr->a[r * qr->n + column];
        sum += a * a;
    }
    return sum;
}

// reflector k, and its action on the columns behind, row by row; w (n) is work
static void reflect(cri_qr *qr, int k, double *w) {
    int n = qr->n;
    double *a = qr->a, *top = a + (size_t)k * (size_t)n;
    double norm = sqrt(length2_below(qr, k, k));
    qr->beta[k] = 0.0;
    if (norm == 0.0) {
        return;
    }
    double head = top[k], diagonal = head > 0.0 ? -norm : norm;
    double v0 = head - diagonal;
    qr->beta[k] = -v0 / diagonal;
    top[k] = diagonal;

    // w = beta v' A
    for (int c = k + 1; c < n; c++) {
        w[c] = top[c];
    }
    for (int r = k + 1; r < qr->m; r++) {
        double *row = a + (size_t)r * (size_t)n, v = row[k] /= v0;
        for (int c = k + 1; v != 0.0 && c < n; c++) {
            w[c] += v * row[c];
        }
    }
    // A -= v w
    for (int c = k + 1; c < n; c++) {
        w[c] *= qr->beta[k];
        top[c] -= w[c];
    }
    for (int r = k + 1; r < qr->m; r++) {
        double *row = a + (size_t)r * (size_t)n, v = row[k];
        for (int c = k + 1; v != 0.0 && c < n; c++) {
            row[c] -= v * w[c];
        }
    }
}

// the column with the longest rest; lengths (n) are kept up to date by what the last reflector
// took, and measured again where that cancels
static int longest_column(const cri_qr *qr, int k, double *length2) {
    int best = k;
    for (int c = k; c < qr->n; c++) {
        double taken = k > 0 ? qr->a[(size_t)(k - 1) * (size_t)qr->n + (size_t)c] : 0.0;
        double rest = length2[c] - taken * taken;
        length2[c] = k > 0 && rest < 1e-3 * length2[c] ? length2_below(qr, k, c) : rest;
        best = length2[c] > length2[best] ? c : best;
    }
    return best;
}

cri_qr cri_qr_factor(int m, int n, const double *A, double rank_tolerance, cr_arena *arena) {
    CR_ASSERT(m >= n);
    cri_qr qr = {.m = m, .n = n};
    qr.a = CR_PUSH_RAW(arena, double, m *n);
    qr.beta = CR_PUSH_RAW(arena, double, n);
    qr.column = CR_PUSH_RAW(arena, int, n);
    cri_arena_mark mark = cri_arena_get_mark(arena);
    double *w = CR_PUSH_RAW(arena, double, n);
    double *length2 = CR_PUSH(arena, double, n);
    memcpy(qr.a, A, sizeof *A * (size_t)m * (size_t)n);
    for (int r = 0; r < m; r++) {
        for (int c = 0; c < n; c++) {
            length2[c] += A[r * n + c] * A[r * n + c];
        }
    }
    for (int k = 0; k < n; k++) {
        qr.column[k] = k;
    }
    for (int k = 0; k < n; k++) {
        int best = longest_column(&qr, k, length2);
        if (best != k) {
            swap_columns(&qr, best, k);
            length2[best] = length2[k];
        }
        reflect(&qr, k, w);
        if (fabs(qr.a[k * n + k]) > rank_tolerance * fabs(qr.a[0])) {
            qr.rank = k + 1;
        }
    }
    cri_arena_rewind(arena, mark);
    return qr;
}

// b = H_k b
static void apply(const cri_qr *qr, int k, double *b) {
    double sum = b[k];
    for (int r = k + 1; r < qr->m; r++) {
        sum += qr->a[r * qr->n + k] * b[r];
    }
    sum *= qr->beta[k];
    b[k] -= sum;
    for (int r = k + 1; r < qr->m; r++) {
        b[r] -= sum * qr->a[r * qr->n + k];
    }
}

// y = R1^-1 y, over the first rank entries
static void back_substitute(const cri_qr *qr, double *y) {
    for (int i = qr->rank - 1; i >= 0; i--) {
        for (int j = i + 1; j < qr->rank; j++) {
            y[i] -= qr->a[i * qr->n + j] * y[j];
        }
        y[i] /= qr->a[i * qr->n + i];
    }
}

void cri_qr_solve(const cri_qr *qr, double *b, double *x) {
    for (int k = 0; k < qr->n; k++) {
        apply(qr, k, b);
    }
    back_substitute(qr, b);
    for (int k = 0; k < qr->n; k++) {
        x[qr->column[k]] = k < qr->rank ? b[k] : 0.0;
    }
}

void cri_qr_solve_vjp(const cri_qr *qr, const double *x_adj, double *b_adj) {
    memset(b_adj, 0, sizeof *b_adj * (size_t)qr->m);
    for (int i = 0; i < qr->rank; i++) {
        double sum = x_adj[qr->column[i]];
        for (int j = 0; j < i; j++) {
            sum -= qr->a[j * qr->n + i] * b_adj[j];
        }
        b_adj[i] = sum / qr->a[i * qr->n + i];
    }
    for (int k = qr->n - 1; k >= 0; k--) {
        apply(qr, k, b_adj);
    }
}

// ---- semidefinite -------------------------------------------------------------------------------

// P'S P = U'U, U = [U11 U12] (rank, n). For rank = n the solve is that of Cholesky. Else columns of
// N = [X; 1], X = -U11^-1 U12, span the null space, and with K = N'N = 1 + X'X
//
//   1 - S S^+ = N K^-1 N',    S^+ = (1 - N K^-1 N') [A11^-1 0; 0 0] (1 - N K^-1 N'),  A11 = U11'U11
//
// in the order of the pivots. A pivot is judged by what it was before elimination, so that rows of
// unlike size need no scaling.

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
