// SPDX-License-Identifier: MIT
//
// The strongest slips of two bodies, for a model of where a step leads. Both sides of a plane press
// with the same weight A on it; when neither turns, the plane moves halfway between them, and
//
//   min over u of A rho(y_1 - u) + A rho(y_2 - u) = A sqrt(|y|^2 + (2 v)^2),   y = y_1 - y_2
//
// With z = y + G d and f(z) the root, what the model has beyond second order in d is
//
//   A (f(z) - f(y) - f'(y) . G d - (G d)' f''(y) G d/2),   f' = z/f,  f'' = (1 - z z'/f^2)/f
//
// A slide that stops or turns round is an edge for a quadratic: f'' goes from v^2/|y|^3 to 1/v.

#include "energy/slip_parts.h"

#include "base/math/lane.h"
#include "contact/pair.h"

#include <math.h>

cri_slip_knee *cri_slip_knee_place(cri_slip_knees *knees, double strength) {
    int i = cri_strongest_place(&knees->n, CRI_SLIP_KNEES, &knees->least, strength,
                                &knees->at[0].strength, sizeof knees->at[0]);
    return i >= 0 ? &knees->at[i] : NULL;
}

/// f, f' (2) and f'' (11, 12, 22) at z
static double root_at(const double z[2], double speed, double slope[2], double curve[3]) {
    double f = sqrt(z[0] * z[0] + z[1] * z[1] + 4.0 * speed * speed);
    slope[0] = z[0] / f;
    slope[1] = z[1] / f;
    curve[0] = (1.0 - slope[0] * slope[0]) / f;
    curve[1] = -slope[0] * slope[1] / f;
    curve[2] = (1.0 - slope[1] * slope[1]) / f;
    return f;
}

// changes of y, over f, that do not bend
static const double straight = 1e-3;

double cri_slip_bend(const cri_slip_knees *knees, double speed, const double *motion, double *g,
                     double *H) {
    double sum = 0.0;
    for (int k = 0; k < knees->n; k++) {
        const cri_slip_knee *knee = &knees->at[k];
        double d[2] = {cri_row12_dot(knee->g[0], motion), cri_row12_dot(knee->g[1], motion)};
        double z[2] = {knee->y[0] + d[0], knee->y[1] + d[1]}, from[2], to[2], K[3], M[3];
        double f = root_at(knee->y, speed, from, K), A = knee->strength;
        if (fabs(d[0]) + fabs(d[1]) < straight * f) {
            continue;
        }
        double turn[2] = {K[0] * d[0] + K[1] * d[1], K[1] * d[0] + K[2] * d[1]};
        double rise = root_at(z, speed, to, M) - f;
        sum += A * (rise - (from[0] + 0.5 * turn[0]) * d[0] - (from[1] + 0.5 * turn[1]) * d[1]);
        for (int j = 0; j < 2; j++) {
            cri_row12_add(A * (to[j] - from[j] - turn[j]), knee->g[j], g);
        }
        double a = A * (M[0] - K[0]), b = A * (M[1] - K[1]), c = A * (M[2] - K[2]);
        for (int i = 0; H && i < 12; i++) {
            double p = knee->g[0][i], q = knee->g[1][i];
            cri_row12_add_upper(i, a * p + b * q, knee->g[0], H);
            cri_row12_add_upper(i, b * p + c * q, knee->g[1], H);
        }
    }
    return sum;
}
