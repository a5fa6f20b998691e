// SPDX-License-Identifier: MIT
//
// Activations. One exponential of a non-positive number serves all of them:
//
//   e = exp(-min(|z|, 700)),  r = 1/(1 + e)
//   softplus(z) = max(z, 0) + log(1 + e),   logistic(z) = r for z >= 0, e r else
//   tanh(z) = sign(z) -m/(2 + m),  m = exp(-2 |z|) - 1,   tanh' = 1 - tanh^2
//   relu(z) = max(z, 0),  relu'(z) = 1 for z > 0, 0 else
//
// exp(x) = 2^k (1 + q), k = round(x/log 2), q = exp(x - k log 2) - 1 by its series, of which 13
// terms leave 4e-18 at (log 2)/2. log(1 + e) = 2 artanh s: of 1 + e below sqrt 2 s = e/(2 + e),
// else that of (1 + e)/2, (e - 1)/(e + 3), and log 2 more; |s| <= 0.172, of which 11 terms leave
// 6e-19.
//
// Everything is branch-free over blocks of a fixed length, which compilers turn into vectors.

#include "nn/activation.h"

#include "base/base.h"
#include "nn/lanes.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

// numbers of a block
enum { BLOCK = 64 };

// beyond it e is near the least normal number, and denormal ones are slow
#define Z_MOST 700.0

// log 2 in two parts, the first with 20 zero bits so that its products with k are exact
#define LOG2_HIGH 0x1.62e42fee00000p-1
#define LOG2_LOW 0x1.a39ef35793c76p-33

// added to a number below 2^51 it leaves the nearest integer in the low bits
#define ROUNDER 0x1.8p52

/// exp(x) = scale (1 + q).
typedef struct power {
    double scale;
    double q;
} power;

// x from -Z_MOST to 0
CRI_INLINE power power_of(double x) {
    double shifted = x * 0x1.71547652b82fep0 + ROUNDER; // 1/log 2
    double k = shifted - ROUNDER;
    double r = (x - k * LOG2_HIGH) - k * LOG2_LOW;
    double p = 1.0 / 6227020800.0; // 1/13!
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    // the low bits of shifted are k; 1023 more and moved up they are the exponent of 2^k
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023u) << 52;
    double scale;
    memcpy(&scale, &bits, sizeof scale);
    return (power){scale, r + r * r * p};
}

CRI_INLINE double clamp(double size) {
    return size > Z_MOST ? Z_MOST : size;
}

CRI_INLINE double log_1p(double e) {
    bool is_large = e > 0.41421356237309503; // sqrt 2 - 1
    double above = is_large ? e - 1.0 : e;
    double below = is_large ? e + 3.0 : e + 2.0;
    double s = above / below;
    double t = s * s;
    double p = 1.0 / 21.0;
    p = p * t + 1.0 / 19.0;
    p = p * t + 1.0 / 17.0;
    p = p * t + 1.0 / 15.0;
    p = p * t + 1.0 / 13.0;
    p = p * t + 1.0 / 11.0;
    p = p * t + 1.0 / 9.0;
    p = p * t + 1.0 / 7.0;
    p = p * t + 1.0 / 5.0;
    p = p * t + 1.0 / 3.0;
    double two = s + s;
    return (is_large ? 0x1.62e42fefa39efp-1 : 0.0) + (two + two * t * p);
}

CRI_INLINE double decay(double z) {
    power e = power_of(-clamp(fabs(z)));
    return e.scale + e.scale * e.q;
}

CRI_INLINE double logistic_of(double z, double e) {
    double r = 1.0 / (1.0 + e);
    return z < 0.0 ? e * r : r;
}

CRI_INLINE double softplus_of(double z, double e) {
    return (z < 0.0 ? 0.0 : z) + log_1p(e);
}

CRI_INLINE double tanh_of(double z) {
    power e = power_of(-clamp(2.0 * fabs(z)));
    double m = e.scale * e.q + (e.scale - 1.0);
    double size = -m / (2.0 + m);
    return z < 0.0 ? -size : size;
}

// ---- blocks ------------------------------------------------------------------------------------

CRI_INLINE void load(int n, const double *from, double *block) {
    if (n < BLOCK) {
        memset(block, 0, sizeof *block * BLOCK);
    }
    memcpy(block, from, sizeof *block * (size_t)(n < BLOCK ? n : BLOCK));
}

CRI_INLINE void store(int n, const double *block, double *to) {
    memcpy(to, block, sizeof *block * (size_t)(n < BLOCK ? n : BLOCK));
}

CRI_INLINE void softplus_body(int n, const double *z, double *a, double *s) {
    for (int i = 0; i < n; i += BLOCK) {
        double x[BLOCK], e[BLOCK], y[BLOCK];
        load(n - i, z + i, x);
        for (int j = 0; j < BLOCK; j++) {
            e[j] = decay(x[j]);
        }
        if (a) {
            for (int j = 0; j < BLOCK; j++) {
                y[j] = softplus_of(x[j], e[j]);
            }
            store(n - i, y, a + i);
        }
        if (s) {
            for (int j = 0; j < BLOCK; j++) {
                y[j] = logistic_of(x[j], e[j]);
            }
            store(n - i, y, s + i);
        }
    }
}

CRI_INLINE void tangens_body(int n, const double *z, double *a, double *s) {
    for (int i = 0; i < n; i += BLOCK) {
        double x[BLOCK], y[BLOCK], d[BLOCK];
        load(n - i, z + i, x);
        for (int j = 0; j < BLOCK; j++) {
            y[j] = tanh_of(x[j]);
            d[j] = 1.0 - y[j] * y[j];
        }
        if (a) {
            store(n - i, y, a + i);
        }
        if (s) {
            store(n - i, d, s + i);
        }
    }
}

CRI_LANES(softplus, (int n, const double *z, double *a, double *s), (n, z, a, s))
CRI_LANES(tangens, (int n, const double *z, double *a, double *s), (n, z, a, s))

static void relu(int n, const double *z, double *a, double *s) {
    for (int i = 0; i < n; i++) {
        double x = z[i]; // may be the place of a or s
        if (a) {
            a[i] = x > 0.0 ? x : x * 0.0;
        }
        if (s) {
            s[i] = x > 0.0 ? 1.0 : 0.0;
        }
    }
}

void cri_activate(cri_activation act, int n, const double *z, double *a, double *s) {
    CR_ASSERT(n >= 0 && (a || s) && a != s);
    switch (act) {
    case CRI_ACT_SOFTPLUS:
        softplus(n, z, a, s);
        return;
    case CRI_ACT_TANH:
        tangens(n, z, a, s);
        return;
    case CRI_ACT_RELU:
        relu(n, z, a, s);
        return;
    }
}

void cri_logistic(int n, const double *z, double *s) {
    softplus(n, z, NULL, s);
}

double cri_logistic_at(double z) {
    return logistic_of(z, decay(z));
}

// ---- cross entropy -----------------------------------------------------------------------------

void cri_cross_entropy(int n, const double *z, const double *c, double *loss) {
    for (int i = 0; i < n; i++) {
        // softplus(z) - c z without the difference of large numbers
        double own = z[i] < 0.0 ? -c[i] * z[i] : (1.0 - c[i]) * z[i];
        loss[i] = own + log_1p(decay(z[i]));
    }
}

void cri_cross_entropy_vjp(int n, const double *z, const double *c, const double *loss_adj,
                           double *z_adj) {
    for (int i = 0; i < n; i++) {
        z_adj[i] += loss_adj[i] * (cri_logistic_at(z[i]) - c[i]);
    }
}
