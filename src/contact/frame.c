// SPDX-License-Identifier: MIT
//
// Orthonormal frame from a unit normal without a square root (Duff et al. 2017):
//
//   s = sign(n_z),  a = -1/(s + n_z),  b = n_x n_y a
//   t1 = (1 + s n_x^2 a, s b, -s n_x),   t2 = (b, s + n_y^2 a, -n_y)
//
// The sign is a branch of the forward pass. It follows from the normal alone, so the derivatives
// take it again from the same number. Smooth but for n_z = 0, where the tangents jump and an
// isotropic law does not notice.
//
// Aligned frame, for friction that differs along the tangents; MuJoCo's, so that a scene means the
// same there:
//
//   e = y where |n_y| < 1/2, else z;   p = e - n (n.e),   t1 = p/|p|,   t2 = n x t1
//
// The same lines for n and -n. They jump where |n_y| = 1/2, and friction with them.

#include "contact/frame.h"

#include "base/base.h"

static double sign_of(cri_vec3 n) {
    return n.z >= 0.0 ? 1.0 : -1.0;
}

cri_frame cri_frame_of(cri_vec3 n) {
    CR_VALIDATE(fabs(cri_v3_dot(n, n) - 1.0) < 0.1);
    double s = sign_of(n);
    double a = -1.0 / (s + n.z);
    double b = n.x * n.y * a;
    return (cri_frame){
        {n, cri_v3(1.0 + s * n.x * n.x * a, s * b, -s * n.x), cri_v3(b, s + n.y * n.y * a, -n.y)}};
}

void cri_frame_of_vjp(cri_vec3 n, const cri_frame *adj, cri_vec3 *normal_adj) {
    CR_ASSERT(adj && normal_adj);
    double s = sign_of(n);
    double a = -1.0 / (s + n.z);
    cri_vec3 t1 = adj->axis[1], t2 = adj->axis[2];

    // t1 = (1 + s n_x^2 a, s b, -s n_x),  t2 = (b, s + n_y^2 a, -n_y)
    double b_adj = s * t1.y + t2.x;
    double a_adj = s * n.x * n.x * t1.x + n.y * n.y * t2.y;
    double x_adj = 2.0 * s * n.x * a * t1.x - s * t1.z;
    double y_adj = 2.0 * n.y * a * t2.y - t2.z;

    // b = n_x n_y a
    a_adj += n.x * n.y * b_adj;
    x_adj += n.y * a * b_adj;
    y_adj += n.x * a * b_adj;

    // a = -1/(s + n_z), so da = a^2 dn_z
    *normal_adj =
        cri_v3_add(*normal_adj, cri_v3_add(adj->axis[0], cri_v3(x_adj, y_adj, a_adj * a * a)));
}

cri_frame cri_frame_of_jvp(cri_vec3 n, cri_vec3 n_tan) {
    double s = sign_of(n);
    double a = -1.0 / (s + n.z), a_tan = a * a * n_tan.z;
    double b_tan = (n_tan.x * n.y + n.x * n_tan.y) * a + n.x * n.y * a_tan;
    cri_vec3 t1 =
        cri_v3(s * (2.0 * n.x * n_tan.x * a + n.x * n.x * a_tan), s * b_tan, -s * n_tan.x);
    cri_vec3 t2 = cri_v3(b_tan, 2.0 * n.y * n_tan.y * a + n.y * n.y * a_tan, -n_tan.y);
    return (cri_frame){{n_tan, t1, t2}};
}

// the axis of the world that is far from the normal
static cri_vec3 axis_beside(cri_vec3 n) {
    return fabs(n.y) < 0.5 ? cri_v3(0.0, 1.0, 0.0) : cri_v3(0.0, 0.0, 1.0);
}

cri_frame cri_frame_aligned(cri_vec3 n) {
    CR_VALIDATE(fabs(cri_v3_dot(n, n) - 1.0) < 0.1);
    cri_vec3 e = axis_beside(n);
    cri_vec3 p = cri_v3_mad(e, -cri_v3_dot(n, e), n);
    cri_vec3 t1 = cri_v3_scale(1.0 / sqrt(cri_v3_dot(p, p)), p);
    return (cri_frame){{n, t1, cri_v3_cross(n, t1)}};
}

void cri_frame_aligned_vjp(cri_vec3 n, const cri_frame *adj, cri_vec3 *normal_adj) {
    CR_ASSERT(adj && normal_adj);
    cri_vec3 e = axis_beside(n);
    cri_vec3 p = cri_v3_mad(e, -cri_v3_dot(n, e), n);
    double inv_length = 1.0 / sqrt(cri_v3_dot(p, p));
    cri_vec3 t1 = cri_v3_scale(inv_length, p);

    // t2 = n x t1
    cri_vec3 n_adj = cri_v3_add(adj->axis[0], cri_v3_cross(t1, adj->axis[2]));
    cri_vec3 t1_adj = cri_v3_add(adj->axis[1], cri_v3_cross(adj->axis[2], n));

    // t1 = p/|p|
    cri_vec3 p_adj = cri_v3_scale(inv_length, cri_v3_mad(t1_adj, -cri_v3_dot(t1, t1_adj), t1));

    // p = e - n (n.e)
    n_adj = cri_v3_mad(n_adj, -cri_v3_dot(n, e), p_adj);
    n_adj = cri_v3_mad(n_adj, -cri_v3_dot(n, p_adj), e);
    *normal_adj = cri_v3_add(*normal_adj, n_adj);
}

cri_frame cri_frame_aligned_jvp(cri_vec3 n, cri_vec3 n_tan) {
    cri_vec3 e = axis_beside(n);
    cri_vec3 p = cri_v3_mad(e, -cri_v3_dot(n, e), n);
    double inv_length = 1.0 / sqrt(cri_v3_dot(p, p));
    cri_vec3 t1 = cri_v3_scale(inv_length, p);
    cri_vec3 p_tan = cri_v3_scale(-cri_v3_dot(n, e), n_tan);
    p_tan = cri_v3_mad(p_tan, -cri_v3_dot(n_tan, e), n);
    cri_vec3 t1_tan = cri_v3_scale(inv_length, cri_v3_mad(p_tan, -cri_v3_dot(t1, p_tan), t1));
    cri_vec3 t2_tan = cri_v3_add(cri_v3_cross(n_tan, t1), cri_v3_cross(n, t1_tan));
    return (cri_frame){{n_tan, t1_tan, t2_tan}};
}
