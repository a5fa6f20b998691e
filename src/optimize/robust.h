// SPDX-License-Identifier: MIT
//
// Robust losses: residuals far outside the noise count less than their square.
//
//     squares   rho = r^2                                             weight 1
//     huber     rho = r^2 up to |r| = k, then 2 k |r| - k^2           weight min(1, k/|r|)
//     cauchy    rho = k^2 log(1 + (r/k)^2)                            weight 1/(1 + (r/k)^2)
//
// k = tuning * scale; the scale is the median of |r| over 0.6745, the standard deviation of normal
// noise. The usual tunings 1.345 and 2.385 keep 95 % of the efficiency under such noise. Smooth but
// for the second derivative of huber at k.

#pragma once

#include <stdbool.h>

typedef enum cri_loss_kind {
    CRI_LOSS_SQUARES,
    CRI_LOSS_HUBER,
    CRI_LOSS_CAUCHY,
} cri_loss_kind;

typedef struct cri_robust {
    cri_loss_kind kind;
    double tuning; // 0: the usual one
    double scale;  // of the residuals, infinite: not known yet, all count as squares
} cri_robust;

/// rho of one residual; *weight gets rho'/(2 r).
double cri_robust_loss(const cri_robust *robust, double r, double *weight);

/// The scale of m residuals. Overwrites them.
double cri_robust_scale(int m, double *r);

/// Variance of a single residual as the standard errors of a robust fit need it (Huber 1981, 7.6):
/// sum psi^2/(m - rank) over the square of the mean of psi', psi = rho'/2.
double cri_robust_variance(const cri_robust *robust, int m, int rank, const double *r);
