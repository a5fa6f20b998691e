// SPDX-License-Identifier: MIT
//
// Exponential, logarithm and what activations make of them, 4 numbers at a time, without branches.
//
//   e = exp(-min(|z|, 700)),  r = 1/(1 + e)
//   softplus(z) = max(z, 0) + log(1 + e),   logistic(z) = r for z >= 0, e r else
//   tanh(z) = sign(z) -m/(2 + m),  m = exp(-2 |z|) - 1
//
// exp(x) = 2^k (1 + q), k = round(x/log 2), q = exp(x - k log 2) - 1 by its series, of which 13
// terms leave 4e-18 at (log 2)/2. log(1 + e) = 2 artanh s: of 1 + e below sqrt 2 s = e/(2 + e),
// else that of (1 + e)/2, (e - 1)/(e + 3), and log 2 more; |s| <= 0.172, of which 11 terms leave
// 6e-19. Series are summed in halves of halves, whose parts do not wait for one another.

#pragma once

#include "base/nn/lanes.h"

// beyond it e is near the least normal number, and denormal ones are slow
#define CRI_EXP_MOST 700.0

/// exp(x) = scale (1 + q) of x from -CRI_EXP_MOST to 0.
CRI_INLINE void cri_lanes_power(const cri_lanes *x, cri_lanes *scale, cri_lanes *q) {
    // added to a number below 2^51 it leaves the nearest integer in the low bits
    const double rounder = 0x1.8p52;
    cri_lanes shifted = *x * 0x1.71547652b82fep0 + rounder; // 1/log 2
    cri_lanes k = shifted - rounder;
    // log 2 in two parts, the first with 20 zero bits so that its products with k are exact
    cri_lanes r = (*x - k * 0x1.62e42fee00000p-1) - k * 0x1.a39ef35793c76p-33;
    cri_lanes r2 = r * r, r4 = r2 * r2;
    cri_lanes p0 = (r * (1.0 / 6.0) + 0.5) + (r * (1.0 / 120.0) + 1.0 / 24.0) * r2;
    cri_lanes p4 = (r * (1.0 / 5040.0) + 1.0 / 720.0) + (r * (1.0 / 362880.0) + 1.0 / 40320.0) * r2;
    cri_lanes p8 = (r * (1.0 / 39916800.0) + 1.0 / 3628800.0) +
                   (r * (1.0 / 6227020800.0) + 1.0 / 479001600.0) * r2; // 1/13!, 1/12!
    // the low bits of shifted are k; 1023 more and moved up they are the exponent of 2^k
    *scale = (cri_lanes)(((cri_lane_words)shifted + 1023) << 52);
    *q = r + r2 * (p0 + (p4 * r4 + p8 * (r4 * r4)));
}

/// -min(|z|, CRI_EXP_MOST); NaN stays.
CRI_INLINE void cri_lanes_reach(const cri_lanes *z, cri_lanes *out) {
    cri_lanes size = (cri_lanes)((cri_lane_bits)*z & INT64_MAX);
    cri_lane_bits is_far = size > CRI_EXP_MOST;
    cri_lanes zero = {0.0}, most = zero + CRI_EXP_MOST;
    *out = -CRI_LANES_PICK(is_far, most, size);
}

/// e of z.
CRI_INLINE void cri_lanes_decay(const cri_lanes *z, cri_lanes *e) {
    cri_lanes x, scale, q;
    cri_lanes_reach(z, &x);
    cri_lanes_power(&x, &scale, &q);
    *e = scale + scale * q;
}

/// log(1 + e) of e in [0, 1].
CRI_INLINE void cri_lanes_log_1p(const cri_lanes *e, cri_lanes *out) {
    cri_lane_bits is_large = *e > 0.41421356237309503; // sqrt 2 - 1
    cri_lanes zero = {0.0}, one = zero + 1.0, two = zero + 2.0;
    cri_lanes above = *e - CRI_LANES_PICK(is_large, one, zero);
    cri_lanes below = *e + (two + CRI_LANES_PICK(is_large, one, zero));
    cri_lanes s = above / below, t = s * s;
    cri_lanes t2 = t * t, t4 = t2 * t2;
    cri_lanes p0 = (t * (1.0 / 5.0) + 1.0 / 3.0) + (t * (1.0 / 9.0) + 1.0 / 7.0) * t2;
    cri_lanes p4 = (t * (1.0 / 13.0) + 1.0 / 11.0) + (t * (1.0 / 17.0) + 1.0 / 15.0) * t2;
    cri_lanes p = p0 + (p4 * t4 + (t * (1.0 / 21.0) + 1.0 / 19.0) * (t4 * t4));
    cri_lanes log_two = zero + 0x1.62e42fefa39efp-1;
    *out = CRI_LANES_PICK(is_large, log_two, zero) + ((s + s) + (s + s) * t * p);
}

CRI_INLINE void cri_lanes_softplus(const cri_lanes *z, const cri_lanes *e, cri_lanes *out) {
    cri_lanes zero = {0.0}, log;
    cri_lane_bits is_negative = *z < 0.0;
    cri_lanes_log_1p(e, &log);
    *out = CRI_LANES_PICK(is_negative, zero, *z) + log;
}

CRI_INLINE void cri_lanes_logistic(const cri_lanes *z, const cri_lanes *e, cri_lanes *out) {
    cri_lanes r = 1.0 / (1.0 + *e), other = *e * r;
    cri_lane_bits is_negative = *z < 0.0;
    *out = CRI_LANES_PICK(is_negative, other, r);
}

CRI_INLINE void cri_lanes_tanh(const cri_lanes *z, cri_lanes *out) {
    cri_lanes twice = *z + *z, x, scale, q;
    cri_lanes_reach(&twice, &x);
    cri_lanes_power(&x, &scale, &q);
    cri_lanes m = scale * q + (scale - 1.0);
    cri_lanes size = -m / (2.0 + m);
    // the sign of z
    *out = (cri_lanes)(((cri_lane_bits)size & INT64_MAX) | ((cri_lane_bits)*z & INT64_MIN));
}
