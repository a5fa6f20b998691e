// SPDX-License-Identifier: MIT
//
// Vectors and 3 x 3 matrices of doubles, by value, inline.
//
// Matrices are row-major: m[3 * row + column].

#pragma once

#include <math.h>

typedef struct cri_vec3 {
    double x, y, z;
} cri_vec3;

typedef struct cri_mat3 {
    double m[9];
} cri_mat3;

/// As fmax and fmin for numbers, without their call.
static inline double cri_larger(double a, double b) {
    return a > b ? a : b;
}

static inline double cri_smaller(double a, double b) {
    return a < b ? a : b;
}

static inline cri_vec3 cri_v3(double x, double y, double z) {
    return (cri_vec3){x, y, z};
}

static inline cri_vec3 cri_v3_load(const double *a) {
    return (cri_vec3){a[0], a[1], a[2]};
}

static inline void cri_v3_store(cri_vec3 v, double *a) {
    a[0] = v.x;
    a[1] = v.y;
    a[2] = v.z;
}

static inline void cri_v3_accumulate(cri_vec3 v, double *a) {
    a[0] += v.x;
    a[1] += v.y;
    a[2] += v.z;
}

static inline cri_vec3 cri_v3_add(cri_vec3 a, cri_vec3 b) {
    return cri_v3(a.x + b.x, a.y + b.y, a.z + b.z);
}

static inline cri_vec3 cri_v3_sub(cri_vec3 a, cri_vec3 b) {
    return cri_v3(a.x - b.x, a.y - b.y, a.z - b.z);
}

static inline cri_vec3 cri_v3_scale(double s, cri_vec3 a) {
    return cri_v3(s * a.x, s * a.y, s * a.z);
}

/// a + s b
static inline cri_vec3 cri_v3_mad(cri_vec3 a, double s, cri_vec3 b) {
    return cri_v3(a.x + s * b.x, a.y + s * b.y, a.z + s * b.z);
}

/// entry by entry
static inline cri_vec3 cri_v3_mul(cri_vec3 a, cri_vec3 b) {
    return cri_v3(a.x * b.x, a.y * b.y, a.z * b.z);
}

static inline double cri_v3_dot(cri_vec3 a, cri_vec3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline cri_vec3 cri_v3_cross(cri_vec3 a, cri_vec3 b) {
    return cri_v3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

static inline double cri_v3_norm(cri_vec3 a) {
    return sqrt(cri_v3_dot(a, a));
}

/// M a
static inline cri_vec3 cri_m3_mul(const cri_mat3 *M, cri_vec3 a) {
    const double *m = M->m;
    return cri_v3(m[0] * a.x + m[1] * a.y + m[2] * a.z, m[3] * a.x + m[4] * a.y + m[5] * a.z,
                  m[6] * a.x + m[7] * a.y + m[8] * a.z);
}

/// M' a
static inline cri_vec3 cri_m3_tmul(const cri_mat3 *M, cri_vec3 a) {
    const double *m = M->m;
    return cri_v3(m[0] * a.x + m[3] * a.y + m[6] * a.z, m[1] * a.x + m[4] * a.y + m[7] * a.z,
                  m[2] * a.x + m[5] * a.y + m[8] * a.z);
}

/// A B
static inline cri_mat3 cri_m3_product(const cri_mat3 *A, const cri_mat3 *B) {
    cri_mat3 out;
    for (int i = 0; i < 9; i += 3) {
        cri_v3_store(cri_m3_tmul(B, cri_v3_load(A->m + i)), out.m + i);
    }
    return out;
}

/// H a of a symmetric matrix of six numbers xx yy zz xy xz yz.
static inline cri_vec3 cri_sym_mul(const double H[6], cri_vec3 a) {
    return cri_v3(H[0] * a.x + H[3] * a.y + H[4] * a.z, H[3] * a.x + H[1] * a.y + H[5] * a.z,
                  H[4] * a.x + H[5] * a.y + H[2] * a.z);
}

/// H += s a a'
static inline void cri_sym_add_square(double s, cri_vec3 a, double H[6]) {
    H[0] += s * a.x * a.x;
    H[1] += s * a.y * a.y;
    H[2] += s * a.z * a.z;
    H[3] += s * a.x * a.y;
    H[4] += s * a.x * a.z;
    H[5] += s * a.y * a.z;
}
