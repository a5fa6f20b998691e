// SPDX-License-Identifier: MIT
//
// On which side of a plane a point lies, without rounding.
//
//   D = u . (v x w),   u = a - d, v = b - d, w = c - d
//
// Differences are exact by the bound on the coordinates. D is first computed plainly; when it is
// not larger than what rounding may have done, the six products are split without error into 24
// doubles, and these are summed as an expansion: numbers that do not overlap, whose largest has the
// sign of the sum (Shewchuk, Adaptive precision floating-point arithmetic, 1997, sections 2 and 4).

#include "base/math/orient.h"

#include <math.h>

enum { N_TERM = 24 };

typedef struct expansion {
    int n;
    double term[N_TERM]; // growing size, zeros between
} expansion;

// e + b without error
static void grow(expansion *e, double b) {
    double q = b;
    for (int i = 0; i < e->n; i++) {
        double sum = q + e->term[i];
        double part = sum - q;
        e->term[i] = (q - (sum - part)) + (e->term[i] - part);
        q = sum;
    }
    e->term[e->n++] = q;
}

// e + x y z without error
static void add_product(expansion *e, double x, double y, double z) {
    double high = y * z;
    double low = fma(y, z, -high);
    double x_high = x * high;
    double x_low = x * low;
    grow(e, fma(x, low, -x_low));
    grow(e, x_low);
    grow(e, fma(x, high, -x_high));
    grow(e, x_high);
}

static int exact_sign(const double u[3], const double v[3], const double w[3]) {
    expansion e = {.n = 0};
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3;
        int k = (i + 2) % 3;
        add_product(&e, u[i], v[j], w[k]);
        add_product(&e, -u[i], v[k], w[j]);
    }
    for (int i = e.n - 1; i >= 0; i--) {
        if (e.term[i] != 0.0) {
            return e.term[i] > 0.0 ? 1 : -1;
        }
    }
    return 0;
}

// D, and the sum of the sizes of its products
static double determinant(const double u[3], const double v[3], const double w[3], double *size) {
    double sum = 0.0;
    *size = 0.0;
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3;
        int k = (i + 2) % 3;
        double left = v[j] * w[k];
        double right = v[k] * w[j];
        sum += u[i] * (left - right);
        *size += fabs(u[i]) * (fabs(left) + fabs(right));
    }
    return sum;
}

static void differences(const double a[3], const double d[3], double out[3]) {
    for (int i = 0; i < 3; i++) {
        out[i] = a[i] - d[i];
    }
}

int cri_orient(const double a[3], const double b[3], const double c[3], const double d[3]) {
    double u[3], v[3], w[3];
    differences(a, d, u);
    differences(b, d, v);
    differences(c, d, w);
    double size;
    double plain = determinant(u, v, w, &size);

    // five roundings on the way of each product, 2^-53 each, and some for size itself
    double bound = 1e-15 * size;
    if (fabs(plain) > bound) {
        return plain > 0.0 ? 1 : -1;
    }
    return size == 0.0 ? 0 : exact_sign(u, v, w);
}

double cri_orient_volume(const double a[3], const double b[3], const double c[3],
                         const double d[3]) {
    double u[3], v[3], w[3], size;
    differences(a, d, u);
    differences(b, d, v);
    differences(c, d, w);
    return determinant(u, v, w, &size);
}
