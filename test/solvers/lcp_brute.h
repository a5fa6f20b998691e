// SPDX-License-Identifier: MIT
//
// Linear complementarity by brute force: all complementary bases, each by an elimination of its
// own.

#pragma once

#include "solvers/lcp.h"

#include <math.h>

// out (n) = M z + q
static void affine(int n, const double *M, const double *z, const double *q, double *out) {
    for (int i = 0; i < n; i++) {
        out[i] = q[i];
        for (int j = 0; j < n; j++) {
            out[i] += M[i * n + j] * z[j];
        }
    }
}

enum { BRUTE = 10 };

// solves a (n, n) x = b by elimination with complete pivoting; false when singular
static bool eliminate(int n, double *a, double *b, double *x) {
    int column[BRUTE];
    for (int k = 0; k < n; k++) {
        column[k] = k;
    }
    for (int k = 0; k < n; k++) {
        int row = k, col = k;
        for (int i = k * n; i < n * n; i++) {
            if (i % n >= k && fabs(a[i]) > fabs(a[row * n + col])) {
                row = i / n;
                col = i % n;
            }
        }
        if (fabs(a[row * n + col]) < 1e-10) {
            return false;
        }
        for (int j = 0; j < n; j++) {
            double t = a[row * n + j];
            a[row * n + j] = a[k * n + j];
            a[k * n + j] = t;
        }
        for (int i = 0; i < n; i++) {
            double t = a[i * n + col];
            a[i * n + col] = a[i * n + k];
            a[i * n + k] = t;
        }
        double t = b[row];
        b[row] = b[k];
        b[k] = t;
        int c = column[col];
        column[col] = column[k];
        column[k] = c;
        for (int i = k + 1; i < n; i++) {
            double factor = a[i * n + k] / a[k * n + k];
            b[i] -= factor * b[k];
            for (int j = k; j < n; j++) {
                a[i * n + j] -= factor * a[k * n + j];
            }
        }
    }
    for (int k = n - 1; k >= 0; k--) {
        for (int j = k + 1; j < n; j++) {
            b[k] -= a[k * n + j] * b[j];
        }
        b[k] /= a[k * n + k];
        x[column[k]] = b[k];
    }
    return true;
}

// the point of one complementary basis; false when it is none or not a solution
static bool basic_point(const cri_lcp *p, int basis, double *z) {
    int n = p->n, active[BRUTE], m = 0;
    double a[BRUTE * BRUTE], b[BRUTE], x[BRUTE], w[BRUTE];
    for (int i = 0; i < n; i++) {
        z[i] = 0.0;
        if (i < p->n_free || (basis >> i) & 1) {
            active[m++] = i;
        }
    }
    for (int i = 0; i < m; i++) {
        b[i] = -p->q[active[i]];
        for (int j = 0; j < m; j++) {
            a[i * m + j] = p->M[active[i] * n + active[j]];
        }
    }
    if (!eliminate(m, a, b, x)) {
        return false;
    }
    for (int i = 0; i < m; i++) {
        z[active[i]] = x[i];
    }
    affine(n, p->M, z, p->q, w);
    for (int i = p->n_free; i < n; i++) {
        if (z[i] < -1e-9 || w[i] < -1e-9) {
            return false;
        }
    }
    return true;
}

// distance of y = G z (n_y) to the nearest of all basic solutions; INFINITY when there are none
static double nearest_basic(const cri_lcp *p, bool is_contact, const double *z) {
    double nearest = INFINITY, here[3], there[3], point[BRUTE];
    cri_octagon_impulse(is_contact ? 1 : 0, z, here);
    for (int basis = 0; basis < 1 << p->n; basis += 1 << p->n_free) {
        if (!basic_point(p, basis, point)) {
            continue;
        }
        double apart = 0.0;
        cri_octagon_impulse(is_contact ? 1 : 0, point, there);
        for (int i = 0; i < (is_contact ? 3 : p->n); i++) {
            apart = fmax(apart, is_contact ? fabs(here[i] - there[i]) : fabs(z[i] - point[i]));
        }
        nearest = fmin(nearest, apart);
    }
    return nearest;
}
