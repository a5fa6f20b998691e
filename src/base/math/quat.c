// SPDX-License-Identifier: MIT
//
// Unit quaternions and rotation vectors.
//
//   exp(w) = (cos a/2, sin(a/2)/a w),  a = |w|
//   R = exp[w]x = 1 + s1 [w]x + s2 [w]x^2,          s1 = sin a/a, s2 = (1 - cos a)/a^2
//   Jr(w)       = 1 - s2 [w]x + s3 [w]x^2,          s3 = (a - sin a)/a^3
//
// Raw quaternions and tangents: q(theta) = q o (0, theta/2) to first order, so for unit q
//   q_tan = 1/2 q o (0, theta),   theta = 2 Im(q* o q_tan),   theta_adj = 1/2 Im(q* o q_adj).
// A change of raw along itself changes nothing: theta = 2 Im(q* o raw_tan)/|raw|.
//
// Smooth everywhere; series below a^2 = 1e-2, where the next term is under 1e-17.

#include "base/math/quat.h"

#include "base/base.h"

cri_quat cri_quat_mul(cri_quat a, cri_quat b) {
    return (cri_quat){a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
                      a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                      a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                      a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
}

cri_mat3 cri_quat_rotation(cri_quat q) {
    double xx = q.x * q.x, yy = q.y * q.y, zz = q.z * q.z;
    double xy = q.x * q.y, xz = q.x * q.z, yz = q.y * q.z;
    double wx = q.w * q.x, wy = q.w * q.y, wz = q.w * q.z;
    return (cri_mat3){{1.0 - 2.0 * (yy + zz), 2.0 * (xy - wz), 2.0 * (xz + wy), 2.0 * (xy + wz),
                       1.0 - 2.0 * (xx + zz), 2.0 * (yz - wx), 2.0 * (xz - wy), 2.0 * (yz + wx),
                       1.0 - 2.0 * (xx + yy)}};
}

static double length(cri_quat q) {
    return sqrt(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
}

// by its largest number, so that none is lost
cri_quat cri_quat_of_rotation(const cri_mat3 *R) {
    const double *m = R->m;
    double four[4] = {1.0 + m[0] + m[4] + m[8], 1.0 + m[0] - m[4] - m[8], 1.0 - m[0] + m[4] - m[8],
                      1.0 - m[0] - m[4] + m[8]};
    int best = 0;
    for (int i = 1; i < 4; i++) {
        best = four[i] > four[best] ? i : best;
    }
    double wx = m[7] - m[5], wy = m[2] - m[6], wz = m[3] - m[1];
    double xy = m[1] + m[3], xz = m[2] + m[6], yz = m[5] + m[7];
    cri_quat rows[4] = {
        {four[0], wx, wy, wz}, {wx, four[1], xy, xz}, {wy, xy, four[2], yz}, {wz, xz, yz, four[3]}};
    cri_quat q = rows[best];
    double scale = 0.5 / sqrt(four[best]);
    scale = q.w < 0.0 ? -scale : scale;
    return (cri_quat){scale * q.w, scale * q.x, scale * q.y, scale * q.z};
}

cri_quat cri_quat_normalise(cri_quat raw) {
    double r = length(raw);
    CR_ASSERT(r > 0.0);
    return (cri_quat){raw.w / r, raw.x / r, raw.y / r, raw.z / r};
}

void cri_quat_normalise_vjp(cri_quat raw, cri_vec3 theta_adj, double *raw_adj) {
    CR_ASSERT(raw_adj);
    double r = length(raw);

    // theta = 2 Im(q* o raw_tan)/|raw|, hence raw_adj = 2 q o (0, theta_adj)/|raw|
    cri_quat q = {raw.w / r, raw.x / r, raw.y / r, raw.z / r};
    cri_quat adj = cri_quat_mul(q, (cri_quat){0.0, theta_adj.x, theta_adj.y, theta_adj.z});
    raw_adj[0] += 2.0 / r * adj.w;
    raw_adj[1] += 2.0 / r * adj.x;
    raw_adj[2] += 2.0 / r * adj.y;
    raw_adj[3] += 2.0 / r * adj.z;
}

// Im(q* o a)
static cri_vec3 pull_back(cri_quat q, const double *a) {
    cri_quat conjugate = {q.w, -q.x, -q.y, -q.z};
    cri_quat p = cri_quat_mul(conjugate, cri_q4_load(a));
    return cri_v3(p.x, p.y, p.z);
}

cri_vec3 cri_quat_tangent_vjp(cri_quat q, const double *q_adj) {
    return cri_v3_scale(0.5, pull_back(q, q_adj));
}

cri_vec3 cri_quat_tangent(cri_quat raw, const double *raw_tan) {
    double r = length(raw);
    return cri_v3_scale(2.0 / (r * r), pull_back(raw, raw_tan));
}

cri_quat cri_quat_exp(cri_vec3 w) {
    double s = cri_v3_dot(w, w);
    double c, k;
    if (s < 1e-2) {
        c = 1.0 - s / 8.0 * (1.0 - s / 48.0 * (1.0 - s / 120.0 * (1.0 - s / 224.0)));
        k = 0.5 * (1.0 - s / 24.0 * (1.0 - s / 80.0 * (1.0 - s / 168.0 * (1.0 - s / 288.0))));
    } else {
        double a = sqrt(s);
        c = cos(0.5 * a);
        k = sin(0.5 * a) / a;
    }
    return (cri_quat){c, k * w.x, k * w.y, k * w.z};
}

cri_so3 cri_so3_of(cri_vec3 w) {
    double s = cri_v3_dot(w, w);
    cri_so3 r = {.w = w};
    if (s < 1e-2) {
        r.s1 = 1.0 - s / 6.0 * (1.0 - s / 20.0 * (1.0 - s / 42.0 * (1.0 - s / 72.0)));
        r.s2 = 0.5 * (1.0 - s / 12.0 * (1.0 - s / 30.0 * (1.0 - s / 56.0 * (1.0 - s / 90.0))));
        r.s3 = (1.0 - s / 20.0 * (1.0 - s / 42.0 * (1.0 - s / 72.0 * (1.0 - s / 110.0)))) / 6.0;
    } else {
        double a = sqrt(s), sine = sin(a), half = sin(0.5 * a);
        r.s1 = sine / a;
        r.s2 = 2.0 * half * half / s;
        r.s3 = (a - sine) / (s * a);
    }
    return r;
}

// a + f1 w x a + f2 w x (w x a)
static cri_vec3 series(cri_vec3 w, double f1, double f2, cri_vec3 a) {
    cri_vec3 wa = cri_v3_cross(w, a);
    cri_vec3 wwa = cri_v3_cross(w, wa);
    return cri_v3_mad(cri_v3_mad(a, f1, wa), f2, wwa);
}

cri_vec3 cri_so3_rotate(const cri_so3 *r, cri_vec3 a) {
    return series(r->w, r->s1, r->s2, a);
}

cri_vec3 cri_so3_unrotate(const cri_so3 *r, cri_vec3 a) {
    return series(r->w, -r->s1, r->s2, a);
}

cri_vec3 cri_so3_right(const cri_so3 *r, cri_vec3 a) {
    return series(r->w, -r->s2, r->s3, a);
}

cri_vec3 cri_so3_right_vjp(const cri_so3 *r, cri_vec3 a) {
    return series(r->w, r->s2, r->s3, a);
}

cri_vec3 cri_quat_log(cri_quat q) {
    double sign = q.w < 0.0 ? -1.0 : 1.0;
    cri_vec3 im = cri_v3(sign * q.x, sign * q.y, sign * q.z);
    double sine = cri_v3_norm(im);
    // angle over sine of its half; 2 at zero, where the first term left out is sine^2/3
    double ratio = sine > 1e-9 ? 2.0 * atan2(sine, sign * q.w) / sine : 2.0;
    return cri_v3_scale(ratio, im);
}

// s = (1 - x cot x)/(4 x^2), x = |t|/2, and its derivative for t2 = |t|^2
static double inverse_weight(double t2, double *slope) {
    if (t2 < 1e-2) {
        // series; the next terms are under 1e-17
        *slope = 1.0 / 720.0 + t2 * (1.0 / 15120.0 + t2 * (1.0 / 403200.0 + t2 / 11975040.0));
        return (1.0 + t2 / 60.0 * (1.0 + t2 / 42.0 * (1.0 + t2 / 40.0 * (1.0 + t2 / 39.6)))) / 12.0;
    }
    double t = sqrt(t2), sine = sin(0.5 * t), cot = cos(0.5 * t) / sine;
    *slope = (-2.0 / (t2 * t) + 0.5 * cot / t2 + 0.25 / (t * sine * sine)) / (2.0 * t);
    return (1.0 - 0.5 * t * cot) / t2;
}

cri_vec3 cri_so3_right_inverse(cri_vec3 t, cri_vec3 a) {
    double slope, s = inverse_weight(cri_v3_dot(t, t), &slope);
    cri_vec3 ta = cri_v3_cross(t, a);
    return cri_v3_mad(cri_v3_mad(a, 0.5, ta), s, cri_v3_cross(t, ta));
}

cri_vec3 cri_so3_right_inverse_bend(cri_vec3 t, cri_vec3 a, cri_vec3 b) {
    double slope, s = inverse_weight(cri_v3_dot(t, t), &slope);
    cri_vec3 ta = cri_v3_cross(t, a), ba = cri_v3_cross(b, a);
    cri_vec3 second = cri_v3_add(cri_v3_cross(b, ta), cri_v3_cross(t, ba));
    cri_vec3 sum = cri_v3_mad(cri_v3_scale(0.5, ba), s, second);
    return cri_v3_mad(sum, 2.0 * slope * cri_v3_dot(t, b), cri_v3_cross(t, ta));
}
