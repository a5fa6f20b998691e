// SPDX-License-Identifier: MIT
//
// A P = Q R by Householder reflections H_k = 1 - beta v v', v_k = 1, with column pivoting
// (Golub and Van Loan, section 5.4). With R = [R1 R2; 0 0] and R1 of the rank r:
//
//   solve    x = P [R1^-1 (Q' b)_1; 0]
//   adjoint  b_adj = Q [R1^-T (P' x_adj)_1; 0]
//   null     z = P [-R1^-1 R2 e_k; e_k]

#include "math/qr.h"

#include "base/arena.h"
#include "base/base.h"

#include <math.h>
#include <string.h>

unsigned long cri_qr_bytes(int m, int n) {
    return sizeof(double) * ((unsigned long)m * (unsigned long)n + 2 * (unsigned long)n) + 256;
}

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

// reflector k, and its action on the columns behind
static void reflect(cri_qr *qr, int k) {
    int n = qr->n;
    double *a = qr->a;
    double norm = sqrt(length2_below(qr, k, k));
    if (norm == 0.0) {
        qr->beta[k] = 0.0;
        return;
    }
    double head = a[k * n + k], diagonal = head > 0.0 ? -norm : norm;
    double v0 = head - diagonal;
    qr->beta[k] = -v0 / diagonal;
    for (int r = k + 1; r < qr->m; r++) {
        a[r * n + k] /= v0;
    }
    a[k * n + k] = diagonal;
    for (int c = k + 1; c < n; c++) {
        double sum = a[k * n + c];
        for (int r = k + 1; r < qr->m; r++) {
            sum += a[r * n + k] * a[r * n + c];
        }
        sum *= qr->beta[k];
        a[k * n + c] -= sum;
        for (int r = k + 1; r < qr->m; r++) {
            a[r * n + c] -= sum * a[r * n + k];
        }
    }
}

cri_qr cri_qr_factor(int m, int n, const double *A, double rank_tolerance, cr_arena *arena) {
    CR_ASSERT(m >= n);
    cri_qr qr = {.m = m, .n = n};
    qr.a = CR_PUSH_RAW(arena, double, m *n);
    qr.beta = CR_PUSH_RAW(arena, double, n);
    qr.column = CR_PUSH_RAW(arena, int, n);
    memcpy(qr.a, A, sizeof *A * (size_t)m * (size_t)n);
    for (int k = 0; k < n; k++) {
        qr.column[k] = k;
    }
    for (int k = 0; k < n; k++) {
        int best = k;
        double longest = length2_below(&qr, k, k);
        for (int c = k + 1; c < n; c++) {
            double l = length2_below(&qr, k, c);
            if (l > longest) {
                longest = l;
                best = c;
            }
        }
        if (best != k) {
            swap_columns(&qr, best, k);
        }
        reflect(&qr, k);
        if (fabs(qr.a[k * n + k]) > rank_tolerance * fabs(qr.a[0])) {
            qr.rank = k + 1;
        }
    }
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

void cri_qr_null_vector(const cri_qr *qr, int k, double *z) {
    CR_ASSERT(k >= 0 && k < qr->n - qr->rank);
    int place = qr->rank + k;
    memset(z, 0, sizeof *z * (size_t)qr->n);
    z[qr->column[place]] = 1.0;
    for (int i = qr->rank - 1; i >= 0; i--) {
        double sum = -qr->a[i * qr->n + place];
        for (int j = i + 1; j < qr->rank; j++) {
            sum -= qr->a[i * qr->n + j] * z[qr->column[j]];
        }
        z[qr->column[i]] = sum / qr->a[i * qr->n + i];
    }
}
