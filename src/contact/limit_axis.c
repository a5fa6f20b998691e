// SPDX-License-Identifier: MIT
//
// The axis about which a ball joint has turned, u, and its angle phi:
//
//   phi_tan = u . theta,   u_tan = 1/2 (cot(phi/2) (theta - u (u.theta)) + u x theta)

#include "contact/near.h"

#include "base/base.h"

#include <math.h>

cri_vec3 cri_limit_axis(const cri_limit *l, const double *q, double *angle) {
    CR_ASSERT(l->ball >= 0 && l->n == 3);
    cri_quat r = cri_q4_load(q + l->ball);
    double sign = r.w < 0.0 ? -1.0 : 1.0;
    cri_vec3 im = cri_v3_scale(sign, cri_v3(r.x, r.y, r.z));
    double sine = cri_v3_norm(im);
    *angle = 2.0 * atan2(sine, sign * r.w);
    return sine > 0.0 ? cri_v3_scale(1.0 / sine, im) : im;
}

cri_vec3 cri_limit_axis_vjp(const cri_limit *l, const double *q, cri_vec3 axis_adj) {
    CR_ASSERT(l->ball >= 0);
    double angle;
    cri_vec3 u = cri_limit_axis(l, q, &angle);
    if (!(angle > 0.0)) {
        return cri_v3(0.0, 0.0, 0.0);
    }
    // u_tan = 1/2 (cot(phi/2) (theta - u (u.theta)) + u x theta)
    cri_vec3 across = cri_v3_mad(axis_adj, -cri_v3_dot(u, axis_adj), u);
    cri_vec3 sum =
        cri_v3_add(cri_v3_scale(1.0 / tan(0.5 * angle), across), cri_v3_cross(axis_adj, u));
    return cri_v3_scale(0.5, sum);
}

cri_vec3 cri_limit_axis_jvp(const cri_limit *l, const double *q, cri_vec3 theta) {
    CR_ASSERT(l->ball >= 0);
    double angle;
    cri_vec3 u = cri_limit_axis(l, q, &angle);
    if (!(angle > 0.0)) {
        return cri_v3(0.0, 0.0, 0.0);
    }
    cri_vec3 across = cri_v3_mad(theta, -cri_v3_dot(u, theta), u);
    cri_vec3 sum = cri_v3_add(cri_v3_scale(1.0 / tan(0.5 * angle), across), cri_v3_cross(u, theta));
    return cri_v3_scale(0.5, sum);
}
