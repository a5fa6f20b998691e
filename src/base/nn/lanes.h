// SPDX-License-Identifier: MIT
//
// One loop, compiled for several widths of vectors; which one runs is asked of the processor.
//
// Loops go over lanes of 4 numbers, the registers of AVX; where sums go in 8 parts there are two of
// them. Wider vectors than the processor has would live in memory: gcc 12 makes products ten times
// slower of them. Products are not contracted and every number has its own sum in a fixed order, so
// that all widths give the same bits. CRI_LANES(f, (parameters), (arguments)) makes f of the inline
// function f_body.

#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define CRI_INLINE static inline __attribute__((always_inline))

enum { CRI_LANE = 4, CRI_PART = 2 * CRI_LANE };

typedef double cri_lanes __attribute__((vector_size(32)));
typedef int64_t cri_lane_bits __attribute__((vector_size(32)));
typedef uint64_t cri_lane_words __attribute__((vector_size(32)));

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

/// The sum of 8 parts, in pairs.
CRI_INLINE double cri_lanes_sum(const cri_lanes *a, const cri_lanes *b) {
    const cri_lanes v = *a + *b;
    return (v[0] + v[2]) + (v[1] + v[3]);
}

#if defined(__x86_64__) && defined(__GNUC__)

/// Of functions that use vectors of 8 numbers, which may run when cri_lanes_are_wide.
#define CRI_LANES_WIDE __attribute__((target("avx512f")))

static inline bool cri_lanes_are_wide(void) {
    return __builtin_cpu_supports("avx512f");
}

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
