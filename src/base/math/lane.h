// SPDX-License-Identifier: MIT
//
// Four numbers at once, a lane each, so that four small problems of one kind are solved together;
// and vectors of them.
//
// Lanes never mix: every lane has the bits that it would have alone, with or without AVX. A mask
// has all bits of a lane set, or none.

#pragma once

#include "base/math/vec3.h"

#include <stdbool.h>
#include <stdint.h>
#ifdef __AVX__
#include <immintrin.h>
#endif

enum { CRI_LANES = 4 };

typedef double cri_lane __attribute__((vector_size(32)));
typedef int64_t cri_mask __attribute__((vector_size(32)));

static inline cri_lane cri_lane_of(double a) {
    return (cri_lane){a, a, a, a};
}

/// a where the mask is set, else b
static inline cri_lane cri_lane_select(cri_mask mask, cri_lane a, cri_lane b) {
#ifdef __AVX__
    return _mm256_blendv_pd(b, a, (cri_lane)mask);
#else
    return (cri_lane)((mask & (cri_mask)a) | (~mask & (cri_mask)b));
#endif
}

static inline cri_lane cri_lane_smaller(cri_lane a, cri_lane b) {
#ifdef __AVX__
    return _mm256_min_pd(a, b);
#else
    return cri_lane_select(a < b, a, b);
#endif
}

static inline cri_lane cri_lane_larger(cri_lane a, cri_lane b) {
#ifdef __AVX__
    return _mm256_max_pd(a, b);
#else
    return cri_lane_select(a > b, a, b);
#endif
}

static inline cri_lane cri_lane_sqrt(cri_lane a) {
#ifdef __AVX__
    return _mm256_sqrt_pd(a);
#else
    return (cri_lane){sqrt(a[0]), sqrt(a[1]), sqrt(a[2]), sqrt(a[3])};
#endif
}

static inline cri_lane cri_lane_abs(cri_lane a) {
    return cri_lane_larger(a, -a);
}

static inline double cri_lane_sum(cri_lane a) {
    return (a[0] + a[1]) + (a[2] + a[3]);
}

static inline bool cri_mask_any(cri_mask mask) {
#ifdef __AVX__
    return _mm256_movemask_pd((cri_lane)mask) != 0;
#else
    return (mask[0] | mask[1] | mask[2] | mask[3]) != 0;
#endif
}

/// The first n lanes.
static inline cri_mask cri_mask_first(int n) {
    return (cri_mask){0, 1, 2, 3} < (cri_mask){n, n, n, n};
}

// ---- rows of twelve, the numbers of two bodies ------------------------------------------------

/// Four numbers anywhere in an array.
typedef double cri_row4 __attribute__((vector_size(32), aligned(8), may_alias));

static inline double cri_row12_dot(const double *a, const double *b) {
    cri_lane sum = {0.0, 0.0, 0.0, 0.0};
    for (int j = 0; j < 12; j += 4) {
        sum += *(const cri_row4 *)(a + j) * *(const cri_row4 *)(b + j);
    }
    return cri_lane_sum(sum);
}

/// out += s a
static inline void cri_row12_add(double s, const double *a, double *out) {
    for (int j = 0; j < 12; j += 4) {
        *(cri_row4 *)(out + j) += s * *(const cri_row4 *)(a + j);
    }
}

/// Row i of H (12, 12) += s a, from the block of four of the diagonal on
static inline void cri_row12_add_upper(int i, double s, const double *a, double *H) {
    for (int j = i & ~3; j < 12; j += 4) {
        *(cri_row4 *)(H + 12 * i + j) += s * *(const cri_row4 *)(a + j);
    }
}

// ---- vectors -----------------------------------------------------------------------------------

typedef struct cri_lane3 {
    cri_lane x, y, z;
} cri_lane3;

static inline cri_lane3 cri_l3(cri_lane x, cri_lane y, cri_lane z) {
    return (cri_lane3){x, y, z};
}

/// The same vector in all lanes.
static inline cri_lane3 cri_l3_of(cri_vec3 v) {
    return cri_l3(cri_lane_of(v.x), cri_lane_of(v.y), cri_lane_of(v.z));
}

/// Vectors at four places.
static inline cri_lane3 cri_l3_load(const double *const at[CRI_LANES]) {
    return cri_l3((cri_lane){at[0][0], at[1][0], at[2][0], at[3][0]},
                  (cri_lane){at[0][1], at[1][1], at[2][1], at[3][1]},
                  (cri_lane){at[0][2], at[1][2], at[2][2], at[3][2]});
}

static inline cri_vec3 cri_l3_get(const cri_lane3 *a, int lane) {
    return cri_v3(a->x[lane], a->y[lane], a->z[lane]);
}

static inline void cri_l3_set(cri_lane3 *a, int lane, cri_vec3 v) {
    a->x[lane] = v.x;
    a->y[lane] = v.y;
    a->z[lane] = v.z;
}

static inline cri_lane3 cri_l3_select(cri_mask mask, cri_lane3 a, cri_lane3 b) {
    return cri_l3(cri_lane_select(mask, a.x, b.x), cri_lane_select(mask, a.y, b.y),
                  cri_lane_select(mask, a.z, b.z));
}

static inline cri_lane3 cri_l3_add(cri_lane3 a, cri_lane3 b) {
    return cri_l3(a.x + b.x, a.y + b.y, a.z + b.z);
}

static inline cri_lane3 cri_l3_sub(cri_lane3 a, cri_lane3 b) {
    return cri_l3(a.x - b.x, a.y - b.y, a.z - b.z);
}

static inline cri_lane3 cri_l3_scale(cri_lane s, cri_lane3 a) {
    return cri_l3(s * a.x, s * a.y, s * a.z);
}

/// a + s b
static inline cri_lane3 cri_l3_mad(cri_lane3 a, cri_lane s, cri_lane3 b) {
    return cri_l3(a.x + s * b.x, a.y + s * b.y, a.z + s * b.z);
}

static inline cri_lane cri_l3_dot(cri_lane3 a, cri_lane3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline cri_lane3 cri_l3_cross(cri_lane3 a, cri_lane3 b) {
    return cri_l3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

static inline cri_lane cri_l3_norm(cri_lane3 a) {
    return cri_lane_sqrt(cri_l3_dot(a, a));
}
