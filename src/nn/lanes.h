// SPDX-License-Identifier: MIT
//
// One loop, compiled for several widths of vectors; which one runs is asked of the processor.
//
// Loops go over lanes of 8 numbers, which the compiler makes of whatever the processor has.
// Products are not contracted and every number has its own sum in a fixed order, so that all widths
// give the same bits. CRI_LANES(f, (parameters), (arguments)) makes f of the inline function
// f_body.

#pragma once

#include <stdint.h>
#include <string.h>

#define CRI_INLINE static inline __attribute__((always_inline))

enum { CRI_LANE = 8 };

typedef double cri_lanes __attribute__((vector_size(64)));
typedef int64_t cri_lane_bits __attribute__((vector_size(64)));
typedef uint64_t cri_lane_words __attribute__((vector_size(64)));

CRI_INLINE void cri_lanes_load(const double *from, cri_lanes *out) {
    memcpy(out, from, sizeof *out);
}

CRI_INLINE void cri_lanes_store(const cri_lanes *x, double *to) {
    memcpy(to, x, sizeof *x);
}

/// Of arrays that end after n numbers: zero behind, and nothing stored there.
CRI_INLINE void cri_lanes_load_some(int n, const double *from, cri_lanes *out) {
    if (n >= CRI_LANE) {
        cri_lanes_load(from, out);
    } else {
        double some[CRI_LANE] = {0.0};
        memcpy(some, from, sizeof *some * (size_t)n);
        cri_lanes_load(some, out);
    }
}

CRI_INLINE void cri_lanes_store_some(int n, const cri_lanes *x, double *to) {
    if (n >= CRI_LANE) {
        cri_lanes_store(x, to);
    } else {
        memcpy(to, x, sizeof *to * (size_t)n);
    }
}

/// mask ? a : b, lane by lane.
#define CRI_LANES_PICK(mask, a, b)                                                                 \
    ((cri_lanes)(((mask) & (cri_lane_bits)(a)) | (~(mask) & (cri_lane_bits)(b))))

/// The sum of the lanes, in pairs.
CRI_INLINE double cri_lanes_sum(const cri_lanes *x) {
    const cri_lanes v = *x;
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

#if defined(__x86_64__) && defined(__GNUC__)
#define CRI_LANES(name, parameters, arguments)                                                     \
    __attribute__((target("avx512f"))) static void name##_512 parameters {                         \
        name##_body arguments;                                                                     \
    }                                                                                              \
    __attribute__((target("avx2"))) static void name##_256 parameters {                            \
        name##_body arguments;                                                                     \
    }                                                                                              \
    static void name##_128 parameters {                                                            \
        name##_body arguments;                                                                     \
    }                                                                                              \
    static void name parameters {                                                                  \
        if (__builtin_cpu_supports("avx512f")) {                                                   \
            name##_512 arguments;                                                                  \
        } else if (__builtin_cpu_supports("avx2")) {                                               \
            name##_256 arguments;                                                                  \
        } else {                                                                                   \
            name##_128 arguments;                                                                  \
        }                                                                                          \
    }
#else
#define CRI_LANES(name, parameters, arguments)                                                     \
    static void name parameters {                                                                  \
        name##_body arguments;                                                                     \
    }
#endif
