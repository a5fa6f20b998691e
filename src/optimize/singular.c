// SPDX-License-Identifier: MIT
//
// Small dense matrices of least-squares problems: triangular and singular value decompositions.
//
// Triangular: Householder, column by column: x -> x - beta (v . x) v with v = a_j + sign(a_jj)
// |a_j| e_j.
//
// Singular values: Hestenes' one-sided Jacobi method. Two columns p, q are rotated until
// orthogonal:
//   zeta = (|q|^2 - |p|^2) / (2 p.q),  t = sign(zeta) / (|zeta| + sqrt(1 + zeta^2))
//   p -> c (p - t q),  q -> c (q + t p),  c = 1/sqrt(1 + t^2)
// and V is rotated along. Sweeps over all pairs converge quadratically.

#include "optimize/singular.h"

#include "base/math/dense.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

// columns this near to orthogonal are left alone: a few roundings of a dot product
#define ORTHOGONAL 1e-15

// ten sweeps are normal; the limit guards against rounding that never settles
#define SWEEP_LIMIT 60

/// x -> x - beta (v . x) v
static void reflect(int n, const double *v, double beta, double *x) {
    double s = beta * cri_dot(n, v, x);
    for (int i = 0; i < n; i++) {
        x[i] -= s * v[i];
    }
}

void cri_triangularise(int m, int n, double *a, double *b) {
    for (int j = 0; j < n; j++) {
        double *v = a + (size_t)j * (size_t)m + j;
        int rest = m - j;
        double norm = sqrt(cri_dot(rest, v, v));
        if (norm == 0.0) {
            continue;
        }
        double diagonal = v[0] > 0.0 ? -norm : norm;
        v[0] -= diagonal;
        double beta = 2.0 / cri_dot(rest, v, v);
        for (int k = j + 1; k < n; k++) {
            reflect(rest, v, beta, a + (size_t)k * (size_t)m + j);
        }
        if (b) {
            reflect(rest, v, beta, b + j);
        }
        v[0] = diagonal;
        for (int i = 1; i < rest; i++) {
            v[i] = 0.0;
        }
    }
}

static void rotate(int n, double c, double t, double *p, double *q) {
    for (int i = 0; i < n; i++) {
        double old = p[i];
        p[i] = c * (old - t * q[i]);
        q[i] = c * (q[i] + t * old);
    }
}

/// Makes columns p and q orthogonal. False when they were.
static bool rotate_pair(int m, int n, double *a, double *v, int p, int q) {
    double *ap = a + (size_t)p * (size_t)m;
    double *aq = a + (size_t)q * (size_t)m;
    double pp = cri_dot(m, ap, ap);
    double qq = cri_dot(m, aq, aq);
    double pq = cri_dot(m, ap, aq);
    if (fabs(pq) <= ORTHOGONAL * sqrt(pp) * sqrt(qq)) {
        return false;
    }
    double zeta = (qq - pp) / (2.0 * pq);
    double t = copysign(1.0, zeta) / (fabs(zeta) + hypot(1.0, zeta));
    double c = 1.0 / sqrt(1.0 + t * t);
    rotate(m, c, t, ap, aq);
    rotate(n, c, t, v + (size_t)p * (size_t)n, v + (size_t)q * (size_t)n);
    return t != 0.0;
}

void cri_singular(int m, int n, double *a, double *v, double *s) {
    for (int i = 0; i < n * n; i++) {
        v[i] = i % (n + 1) == 0 ? 1.0 : 0.0;
    }
    bool is_done = false;
    for (int sweep = 0; sweep < SWEEP_LIMIT && !is_done; sweep++) {
        is_done = true;
        for (int p = 0; p < n; p++) {
            for (int q = p + 1; q < n; q++) {
                is_done = !rotate_pair(m, n, a, v, p, q) && is_done;
            }
        }
    }
    for (int j = 0; j < n; j++) {
        s[j] = sqrt(cri_dot(m, a + (size_t)j * (size_t)m, a + (size_t)j * (size_t)m));
    }
}
