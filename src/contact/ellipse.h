// SPDX-License-Identifier: MIT
//
// Two coefficients of friction, one for each tangent, as one coefficient and scales of the rows.

#pragma once

/// Also the type of its adjoint and tangent, where larger has no meaning.
typedef struct cri_ellipse {
    double size;     // the larger coefficient
    double scale[3]; // of the rows n, t1, t2: 1, mu1/size, mu2/size
    int larger;      // 0: mu1, or both are the same; 1: mu2; -1: both are zero
} cri_ellipse;

/// What has one coefficient for all directions.
static inline cri_ellipse cri_ellipse_round(double mu) {
    return (cri_ellipse){mu, {1.0, 1.0, 1.0}, 0};
}

/// Requires mu1, mu2 >= 0.
cri_ellipse cri_ellipse_of(double mu1, double mu2);

/// Adds to mu1_adj and mu2_adj; adj->scale[0] is not read.
void cri_ellipse_of_vjp(const cri_ellipse *ellipse, const cri_ellipse *adj, double *mu1_adj,
                        double *mu2_adj);

cri_ellipse cri_ellipse_of_jvp(const cri_ellipse *ellipse, double mu1_tan, double mu2_tan);
