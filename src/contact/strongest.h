// SPDX-License-Identifier: MIT
//
// The strongest of many things, in a list of few places that forgets the weakest.

#pragma once

#include <stddef.h>

/// The place of one more: how many there are (n, of most), the strength of the weakest once all
/// places are taken (least), and where strengths stand (first, then every so many bytes). -1 when
/// all places have stronger ones. The caller writes it, its strength included.
static inline int cri_strongest_place(int *n, int most, double *least, double strength,
                                      const double *first, size_t stride) {
    if (*n < most) {
        *least = *n == 0 || strength < *least ? strength : *least;
        return (*n)++;
    }
    if (strength <= *least) {
        return -1;
    }
    int weakest = 0;
    double kept = *first, next = strength;
    for (int i = 1; i < most; i++) {
        double own = *(const double *)(const void *)((const char *)first + (size_t)i * stride);
        double stronger = own < kept ? kept : own;
        weakest = own < kept ? i : weakest;
        kept = own < kept ? own : kept;
        next = stronger < next ? stronger : next;
    }
    *least = next;
    return weakest;
}
