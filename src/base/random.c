// SPDX-License-Identifier: MIT
//
// splitmix64 (Steele, Lea and Flood 2014), and what is made of it. The bell is the sum of twelve
// uniform numbers less 6: its variance is 12/12, and it needs no logarithm.

#include "base/random.h"

#include "base/base.h"

#include <math.h>

static uint64_t next(cri_random *r) {
    r->state += 0x9e3779b97f4a7c15u;
    uint64_t z = r->state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

cri_random cri_random_of(uint64_t seed, uint64_t stream) {
    cri_random a = {seed}, b = {stream ^ 0x5851f42d4c957f2du}; // an odd constant of no meaning
    uint64_t mixed = next(&a);
    return (cri_random){mixed ^ (next(&b) << 1)};
}

// uniform in [0, 1), 53 bits
static double unit(cri_random *r) {
    return (double)(next(r) >> 11) * 0x1p-53;
}

double cri_random_uniform(cri_random *r, double lower, double upper) {
    CR_ASSERT(lower <= upper);
    return lower + (upper - lower) * unit(r);
}

int cri_random_whole(cri_random *r, int lower, int upper) {
    CR_ASSERT(lower <= upper);
    // the product is below the count, the conversion cuts
    return lower + (int)(unit(r) * (double)(upper - lower + 1));
}

double cri_random_normal(cri_random *r) {
    double sum = -6.0;
    for (int i = 0; i < 12; i++) {
        sum += unit(r);
    }
    return sum;
}

double cri_random_decade(cri_random *r, double lower, double upper) {
    double x = cri_random_uniform(r, lower, upper);
    double k = floor(x);
    double power = 1.0; // 10^|k|, exact up to 10^22
    for (int i = 0; i < (int)fabs(k); i++) {
        power *= 10.0;
    }
    double mantissa = 1.0 + 9.0 * (x - k);
    return k < 0.0 ? mantissa / power : mantissa * power;
}
