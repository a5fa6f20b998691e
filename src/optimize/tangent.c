// SPDX-License-Identifier: MIT
//
// Single entries of a state x and tangent coordinates.
//
//   theta = 2 Im(q* o dq) / |q|       dq = 1/2 q o (0, theta)
//
// x is [position 3, quaternion 4 per body | velocities 6 per body], its tangent [position 3, theta
// 3 per body | velocities 6 per body].

#include "optimize/tangent.h"

#include "math/quat.h"

#include <math.h>

void cri_tangent_of_entry(const cr_sizes *sizes, const double *x, int i, double *x_tan) {
    CR_ASSERT(i >= 0 && i < sizes->n_x);
    if (i >= sizes->n_q) {
        x_tan[sizes->n_v + i - sizes->n_q] += 1.0;
        return;
    }
    int body = i / 7;
    int part = i % 7;
    if (part < 3) {
        x_tan[6 * body + part] += 1.0;
        return;
    }
    double raw_tan[4] = {0.0};
    raw_tan[part - 3] = 1.0;
    cri_vec3 theta = cri_quat_tangent(cri_q4_load(x + 7 * body + 3), raw_tan);
    cri_v3_accumulate(theta, x_tan + 6 * body + 3);
}

double cri_entry_of_tangent(const cr_sizes *sizes, const double *x, int i, const double *x_tan) {
    CR_ASSERT(i >= 0 && i < sizes->n_x);
    if (i >= sizes->n_q) {
        return x_tan[sizes->n_v + i - sizes->n_q];
    }
    int body = i / 7;
    int part = i % 7;
    if (part < 3) {
        return x_tan[6 * body + part];
    }
    const double *theta = x_tan + 6 * body + 3;
    cri_quat q = cri_quat_normalise(cri_q4_load(x + 7 * body + 3));
    cri_quat half = {0.0, 0.5 * theta[0], 0.5 * theta[1], 0.5 * theta[2]};
    double dq[4];
    cri_q4_store(cri_quat_mul(q, half), dq);
    return dq[part - 3];
}

bool cri_state_normalise(const cr_sizes *sizes, double *x) {
    for (int body = 0; body < sizes->n_body; body++) {
        double *q = x + 7 * body + 3;
        double square = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
        if (!(square > 0.0) || !isfinite(square)) {
            return false;
        }
        cri_q4_store(cri_quat_normalise(cri_q4_load(q)), q);
    }
    return true;
}
