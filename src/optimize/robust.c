// SPDX-License-Identifier: MIT
//
// Robust losses.

#include "optimize/robust.h"

#include <math.h>
#include <stdlib.h>

#define TUNING_HUBER 1.345
#define TUNING_CAUCHY 2.385

// median of |x| for a normal x of variance 1
#define NORMAL_MEDIAN 0.6745

/// The residual from which on the loss leaves the square.
static double corner(const cri_robust *robust) {
    double usual = robust->kind == CRI_LOSS_HUBER ? TUNING_HUBER : TUNING_CAUCHY;
    return (robust->tuning > 0.0 ? robust->tuning : usual) * robust->scale;
}

double cri_robust_loss(const cri_robust *robust, double r, double *weight) {
    double k = corner(robust);
    *weight = 1.0;
    if (robust->kind == CRI_LOSS_SQUARES || isinf(k)) {
        return r * r;
    }
    if (robust->kind == CRI_LOSS_HUBER) {
        double size = fabs(r);
        *weight = size <= k ? 1.0 : k / size;
        return size <= k ? r * r : k * (2.0 * size - k);
    }
    double ratio = r / k;
    *weight = 1.0 / (1.0 + ratio * ratio);
    return k * k * log1p(ratio * ratio);
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

double cri_robust_scale(int m, double *r) {
    for (int i = 0; i < m; i++) {
        r[i] = fabs(r[i]);
    }
    qsort(r, (size_t)m, sizeof *r, by_size);
    return r[m / 2] / NORMAL_MEDIAN;
}

/// psi' = rho''/2
static double curvature(const cri_robust *robust, double r) {
    double k = corner(robust);
    if (robust->kind == CRI_LOSS_SQUARES || isinf(k)) {
        return 1.0;
    }
    if (robust->kind == CRI_LOSS_HUBER) {
        return fabs(r) <= k ? 1.0 : 0.0;
    }
    double square = r / k * (r / k);
    return (1.0 - square) / ((1.0 + square) * (1.0 + square));
}

double cri_robust_variance(const cri_robust *robust, int m, int rank, const double *r) {
    double psi = 0.0;
    double slope = 0.0;
    for (int i = 0; i < m; i++) {
        double weight = 1.0;
        (void)cri_robust_loss(robust, r[i], &weight);
        psi += weight * r[i] * weight * r[i];
        slope += curvature(robust, r[i]) / m;
    }
    return m > rank && slope > 0.0 ? psi / (m - rank) / (slope * slope) : NAN;
}
