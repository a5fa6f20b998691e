// SPDX-License-Identifier: MIT
//
// Spatial vectors: motions (w, v) and forces (moment, force) in world axes about one point O that
// all bodies share, and inertias about it. By value, inline.
//
//   V x X = (w x wX, w x vX + v x wX)        V x* F = (w x n + v x f, w x f) = -(V x)' F
//   at(X, p) = v + w x p                     X . wrench(p, f) = at(X, p) . f
//
// Inertia: X . I Z = sum m at(X, x) . at(Z, x) over points x, 10 numbers.

#pragma once

#include "base/math/vec3.h"

typedef struct cri_spatial {
    cri_vec3 w; // spin; moment about O
    cri_vec3 v; // velocity at O; force
} cri_spatial;

static inline cri_spatial cri_sp_add(cri_spatial a, cri_spatial b) {
    return (cri_spatial){cri_v3_add(a.w, b.w), cri_v3_add(a.v, b.v)};
}

static inline cri_spatial cri_sp_sub(cri_spatial a, cri_spatial b) {
    return (cri_spatial){cri_v3_sub(a.w, b.w), cri_v3_sub(a.v, b.v)};
}

/// a + s b
static inline cri_spatial cri_sp_mad(cri_spatial a, double s, cri_spatial b) {
    return (cri_spatial){cri_v3_mad(a.w, s, b.w), cri_v3_mad(a.v, s, b.v)};
}

/// power of a force on a motion
static inline double cri_sp_dot(cri_spatial a, cri_spatial b) {
    return cri_v3_dot(a.w, b.w) + cri_v3_dot(a.v, b.v);
}

/// V x X
static inline cri_spatial cri_sp_cross(cri_spatial V, cri_spatial X) {
    return (cri_spatial){cri_v3_cross(V.w, X.w),
                         cri_v3_add(cri_v3_cross(V.w, X.v), cri_v3_cross(V.v, X.w))};
}

/// V x* F
static inline cri_spatial cri_sp_cross_force(cri_spatial V, cri_spatial F) {
    return (cri_spatial){cri_v3_add(cri_v3_cross(V.w, F.w), cri_v3_cross(V.v, F.v)),
                         cri_v3_cross(V.w, F.v)};
}

/// velocity of the point p
static inline cri_vec3 cri_sp_at(cri_spatial X, cri_vec3 p) {
    return cri_v3_add(X.v, cri_v3_cross(X.w, p));
}

/// the force f at p
static inline cri_spatial cri_sp_wrench(cri_vec3 p, cri_vec3 f) {
    return (cri_spatial){cri_v3_cross(p, f), f};
}

/// mass, mass times centre, and second moments about O: xx yy zz xy xz yz of the inertia tensor.
typedef struct cri_spatial_inertia {
    double mass;
    cri_vec3 h;
    double J[6];
} cri_spatial_inertia;

/// I X
static inline cri_spatial cri_inertia_apply(const cri_spatial_inertia *I, cri_spatial X) {
    const double *J = I->J;
    cri_vec3 turn = cri_v3(J[0] * X.w.x + J[3] * X.w.y + J[4] * X.w.z,
                           J[3] * X.w.x + J[1] * X.w.y + J[5] * X.w.z,
                           J[4] * X.w.x + J[5] * X.w.y + J[2] * X.w.z);
    return (cri_spatial){cri_v3_add(turn, cri_v3_cross(I->h, X.v)),
                         cri_v3_mad(cri_v3_cross(X.w, I->h), I->mass, X.v)};
}

static inline void cri_inertia_accumulate(const cri_spatial_inertia *I, cri_spatial_inertia *sum) {
    sum->mass += I->mass;
    sum->h = cri_v3_add(sum->h, I->h);
    for (int i = 0; i < 6; i++) {
        sum->J[i] += I->J[i];
    }
}

/// J += 2 (a . b) - a b' - b a', which is twice the second moment of a point when a = b
static inline void cri_inertia_add_moment(cri_vec3 a, cri_vec3 b, double *J) {
    double xx = a.x * b.x, yy = a.y * b.y, zz = a.z * b.z;
    J[0] += 2.0 * (yy + zz);
    J[1] += 2.0 * (xx + zz);
    J[2] += 2.0 * (xx + yy);
    J[3] -= a.x * b.y + a.y * b.x;
    J[4] -= a.x * b.z + a.z * b.x;
    J[5] -= a.y * b.z + a.z * b.y;
}

/// R J R' of a symmetric J
static inline void cri_inertia_rotate(const cri_mat3 *R, const double *J, double *out) {
    const double *r = R->m;
    double T[9]; // R J
    for (int i = 0; i < 3; i++) {
        const double *a = r + 3 * i;
        T[3 * i] = a[0] * J[0] + a[1] * J[3] + a[2] * J[4];
        T[3 * i + 1] = a[0] * J[3] + a[1] * J[1] + a[2] * J[5];
        T[3 * i + 2] = a[0] * J[4] + a[1] * J[5] + a[2] * J[2];
    }
    out[0] = T[0] * r[0] + T[1] * r[1] + T[2] * r[2];
    out[1] = T[3] * r[3] + T[4] * r[4] + T[5] * r[5];
    out[2] = T[6] * r[6] + T[7] * r[7] + T[8] * r[8];
    out[3] = T[0] * r[3] + T[1] * r[4] + T[2] * r[5];
    out[4] = T[0] * r[6] + T[1] * r[7] + T[2] * r[8];
    out[5] = T[3] * r[6] + T[4] * r[7] + T[5] * r[8];
}

/// Change of I when its body is displaced by the twist Y: Y x* I - I Y x.
static inline cri_spatial_inertia cri_inertia_displaced(const cri_spatial_inertia *I,
                                                        cri_spatial Y) {
    const double *J = I->J;
    cri_spatial_inertia d = {.h = cri_v3_mad(cri_v3_cross(Y.w, I->h), I->mass, Y.v)};
    cri_vec3 x = cri_v3_cross(Y.w, cri_v3(J[0], J[3], J[4]));
    cri_vec3 y = cri_v3_cross(Y.w, cri_v3(J[3], J[1], J[5]));
    cri_vec3 z = cri_v3_cross(Y.w, cri_v3(J[4], J[5], J[2]));
    d.J[0] = 2.0 * x.x;
    d.J[1] = 2.0 * y.y;
    d.J[2] = 2.0 * z.z;
    d.J[3] = x.y + y.x;
    d.J[4] = x.z + z.x;
    d.J[5] = y.z + z.y;
    cri_inertia_add_moment(I->h, Y.v, d.J);
    return d;
}
