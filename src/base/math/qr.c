// SPDX-License-Identifier: MIT
//
// A P = Q R by Householder reflections H_k = 1 - beta v v', v_k = 1, with column pivoting
// (Golub and Van Loan, section 5.4). With R = [R1 R2; 0 0] and R1 of the rank r:
//
//   solve    x = P [R1^-1 (Q' b)_1; 0]
//   adjoint  b_adj = Q [R1^-T (P' x_adj)_1; 0]

#include "base/math/qr.h"

#include "base/arena.h"
#include "base/base.h"

#include <math.h>
#include <string.h>

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
