// SPDX-License-Identifier: MIT
//
// Activations against libm in long double, at the ends of the range, and in every place of a block.

#include "base/nn/activation.h"

#include "cr_test.h"

#include <math.h>
#include <string.h>

enum { N = 999 };

static long double softplus_ref(long double z) {
    return fmaxl(z, 0.0L) + log1pl(expl(-fabsl(z)));
}

static long double logistic_ref(long double z) {
    return 1.0L / (1.0L + expl(-z));
}

// error in units of the last place
static double units(double value, long double ref) {
    int exponent = 0;
    frexp((double)fabsl(ref), &exponent);
    return (double)(fabsl(value - ref) / ldexpl(1.0L, exponent - 53));
}

TEST(values_and_slopes_are_good_to_three_units) {
    double z[N], a[N], s[N], t[N];
    cr_test_rng rng = cr_test_rng_of(1);
    for (int round = 0; round < 50; round++) {
        double size = pow(10.0, cr_test_uniform(&rng, -6.0, 2.8));
        for (int i = 0; i < N; i++) {
            z[i] = cr_test_uniform(&rng, -size, size);
        }
        cri_activate(CRI_ACT_SOFTPLUS, N, z, a, s);
        cri_activate(CRI_ACT_TANH, N, z, t, NULL);
        double worst = 0.0;
        for (int i = 0; i < N; i++) {
            worst = fmax(worst, units(a[i], softplus_ref(z[i])));
            worst = fmax(worst, units(s[i], logistic_ref(z[i])));
            worst = fmax(worst, units(t[i], tanhl(z[i])));
        }
        CHECK_CLOSE(worst, 0.0, 3.0, 0.0);
    }
}

TEST(softplus_has_the_values_of_the_derivation) {
    static const double z[5] = {-40.0, -1.0, 0.0, 2.5, 40.0};
    static const double value[5] = {4.24835425529159e-18, 0.313261687518223, 0.693147180559945,
                                    2.57888973429255, 40.0};
    static const double slope[5] = {4.24835425529159e-18, 0.268941421369995, 0.5, 0.924141819978757,
                                    1.0};
    double a[5], s[5];
    cri_activate(CRI_ACT_SOFTPLUS, 5, z, a, s);
    for (int i = 0; i < 5; i++) {
        CHECK_CLOSE(a[i], value[i], 0.0, 4e-15); // 15 digits are given
        CHECK_CLOSE(s[i], slope[i], 0.0, 4e-15);
        CHECK(s[i] == cri_logistic_at(z[i]));
    }
}

TEST(large_arguments_saturate_and_nan_stays) {
    static const double z[7] = {-800.0,     -1e4, 800.0, 1e4, (double)INFINITY, -(double)INFINITY,
                                (double)NAN};
    double a[7], s[7];
    cri_activate(CRI_ACT_SOFTPLUS, 7, z, a, s);
    for (int i = 0; i < 6; i++) {
        CHECK_CLOSE(s[i], z[i] > 0.0 ? 1.0 : 0.0, 1e-300, 0.0);
        CHECK(z[i] > 0.0 ? a[i] == z[i] : a[i] < 1e-300 && a[i] >= 0.0);
    }
    CHECK(isnan(a[6]) && isnan(s[6]));
    cri_activate(CRI_ACT_TANH, 7, z, a, s);
    for (int i = 0; i < 6; i++) {
        CHECK(a[i] == copysign(1.0, z[i]) && s[i] == 0.0);
    }
    CHECK(isnan(a[6]) && isnan(s[6]));
    cri_activate(CRI_ACT_RELU, 7, z, a, s);
    CHECK(a[2] == 800.0 && s[2] == 1.0 && a[0] == 0.0 && s[0] == 0.0);
    CHECK(a[5] == 0.0 && s[5] == 0.0 && isnan(a[6]));
}

TEST(bits_depend_on_neither_place_nor_length_nor_overlap) {
    double z[200], whole[200], slopes[200], part[200], one;
    for (int i = 0; i < 200; i++) {
        z[i] = 8.0 * sin(1.0 + i);
    }
    for (int act = CRI_ACT_SOFTPLUS; act <= CRI_ACT_RELU; act++) {
        cri_activate((cri_activation)act, 200, z, whole, slopes);
        for (int i = 0; i < 200; i++) {
            cri_activate((cri_activation)act, 1, z + i, &one, NULL);
            CHECK(one == whole[i]);
        }
        memcpy(part, z, sizeof part);
        cri_activate((cri_activation)act, 177, part + 3, NULL, part + 3);
        CHECK(memcmp(part + 3, slopes + 3, 177 * sizeof *part) == 0);
        CHECK(memcmp(part + 180, z + 180, 20 * sizeof *part) == 0);
    }
    cri_logistic(200, z, part);
    cri_activate(CRI_ACT_SOFTPLUS, 200, z, NULL, whole);
    CHECK(memcmp(part, whole, sizeof part) == 0);
}

TEST(cross_entropy_of_logits_does_not_overflow) {
    static const double z[3] = {0.7, -800.0, 800.0}, c[3] = {1.0, 1.0, 1.0};
    static const double value[3] = {0.403186048885458, 800.0, 0.0};
    static const double slope[3] = {-0.331812227831834, -1.0, 0.0};
    double loss[3], adj[3] = {0.0}, seed[3] = {1.0, 1.0, 1.0};
    cri_cross_entropy(3, z, c, loss);
    cri_cross_entropy_vjp(3, z, c, seed, adj);
    for (int i = 0; i < 3; i++) {
        CHECK_CLOSE(loss[i], value[i], 1e-300, 4e-15); // 15 digits are given
        CHECK_CLOSE(adj[i], slope[i], 1e-300, 4e-15);
    }
}

CR_TEST_MAIN(values_and_slopes_are_good_to_three_units, softplus_has_the_values_of_the_derivation,
             large_arguments_saturate_and_nan_stays,
             bits_depend_on_neither_place_nor_length_nor_overlap,
             cross_entropy_of_logits_does_not_overflow)
