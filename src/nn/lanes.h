// SPDX-License-Identifier: MIT
//
// One loop, compiled for several widths of vectors; which one runs is asked of the processor.
//
// Products are not contracted and every number has its own sum in a fixed order, so that all widths
// give the same bits. CRI_LANES(f, (parameters), (arguments)) makes f of the inline function
// f_body.

#pragma once

#define CRI_INLINE static inline __attribute__((always_inline))

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
