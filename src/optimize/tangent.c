// SPDX-License-Identifier: MIT
//
// Single entries of a state x and tangent coordinates.
//
//   theta = 2 Im(q* o dq) / |q|       dq = 1/2 q o (0, theta)
//
// Every other number of x is its own tangent.

#include "optimize/tangent.h"

#include "base/math/quat.h"

void cri_tangent_of_entry(const cr_model *model, const double *x, int i, double *x_tan) {
    const cr_sizes *sizes = &model->sizes;
    CR_ASSERT(i >= 0 && i < sizes->n_x);
    if (i >= sizes->n_q) {
        x_tan[sizes->n_v + i - sizes->n_q] += 1.0;
        return;
    }
    cri_entry e = cri_model_q_entry(model, i);
    if (e.quat < 0) {
        x_tan[e.theta] += 1.0;
        return;
    }
    double raw_tan[4] = {0.0};
    raw_tan[i - e.quat] = 1.0;
    cri_vec3 theta = cri_quat_tangent(cri_q4_load(x + e.quat), raw_tan);
    cri_v3_accumulate(theta, x_tan + e.theta);
}

double cri_entry_of_tangent(const cr_model *model, const double *x, int i, const double *x_tan) {
    const cr_sizes *sizes = &model->sizes;
    CR_ASSERT(i >= 0 && i < sizes->n_x);
    if (i >= sizes->n_q) {
        return x_tan[sizes->n_v + i - sizes->n_q];
    }
    cri_entry e = cri_model_q_entry(model, i);
    if (e.quat < 0) {
        return x_tan[e.theta];
    }
    const double *theta = x_tan + e.theta;
    cri_quat q = cri_quat_normalise(cri_q4_load(x + e.quat));
    cri_quat half = {0.0, 0.5 * theta[0], 0.5 * theta[1], 0.5 * theta[2]};
    double dq[4];
    cri_q4_store(cri_quat_mul(q, half), dq);
    return dq[i - e.quat];
}
