// SPDX-License-Identifier: MIT
//
// Unit quaternions w x y z and their tangents.
//
// A tangent of a rotation is a rotation vector in the body frame: q moves to q exp(theta). All
// derivatives of rotations in Carom are in these three coordinates; raw quaternions appear only at
// the border of a step (cri_quat_tangent and cri_quat_normalise_vjp).

#pragma once

#include "base/math/vec3.h"

typedef struct cri_quat {
    double w, x, y, z;
} cri_quat;

static inline cri_quat cri_q4_load(const double *a) {
    return (cri_quat){a[0], a[1], a[2], a[3]};
}

static inline void cri_q4_store(cri_quat q, double *a) {
    a[0] = q.w;
    a[1] = q.x;
    a[2] = q.y;
    a[3] = q.z;
}

/// Hamilton product.
cri_quat cri_quat_mul(cri_quat a, cri_quat b);

/// R with R a = q a q*, for unit q: body to world.
cri_mat3 cri_quat_rotation(cri_quat q);

/// The unit quaternion of a rotation, with scalar part >= 0.
cri_quat cri_quat_of_rotation(const cri_mat3 *R);

/// raw/|raw|.  Requires raw != 0.
cri_quat cri_quat_normalise(cri_quat raw);

/// Adjoint of cri_quat_normalise followed by the tangent: theta_adj at the unit quaternion q =
/// raw/|raw| becomes the adjoint of the four raw numbers, added to raw_adj.
void cri_quat_normalise_vjp(cri_quat raw, cri_vec3 theta_adj, double *raw_adj);

/// Adjoint of the four numbers of unit q, as adjoint of its tangent.
cri_vec3 cri_quat_tangent_vjp(cri_quat q, const double *q_adj);

/// The tangent theta of unit q = raw/|raw| for a change of the four raw numbers.
cri_vec3 cri_quat_tangent(cri_quat raw, const double *raw_tan);

/// The unit quaternion of the rotation vector w.
cri_quat cri_quat_exp(cri_vec3 w);

/// The rotation vector of unit q, the short way: at most half a turn.
cri_vec3 cri_quat_log(cri_quat q);

/// What cri_so3_* need of a rotation vector w with length a:
/// s1 = sin a/a, s2 = (1 - cos a)/a^2, s3 = (a - sin a)/a^3.
typedef struct cri_so3 {
    cri_vec3 w;
    double s1, s2, s3;
} cri_so3;

cri_so3 cri_so3_of(cri_vec3 w);

/// exp(w) a, and exp(w)' a.
cri_vec3 cri_so3_rotate(const cri_so3 *r, cri_vec3 a);
cri_vec3 cri_so3_unrotate(const cri_so3 *r, cri_vec3 a);

/// Right Jacobian: exp(w + dw) = exp(w) exp(Jr dw). cri_so3_right gives Jr a, cri_so3_right_vjp
/// Jr' a.
cri_vec3 cri_so3_right(const cri_so3 *r, cri_vec3 a);
cri_vec3 cri_so3_right_vjp(const cri_so3 *r, cri_vec3 a);

/// Jr(t)^-1 a, or its transpose with t reversed: log(exp(t) exp(a)) = t + Jr(t)^-1 a + ... Singular
/// at a whole turn.
cri_vec3 cri_so3_right_inverse(cri_vec3 t, cri_vec3 a);

/// Derivative of that for t along b.
cri_vec3 cri_so3_right_inverse_bend(cri_vec3 t, cri_vec3 a, cri_vec3 b);
