// SPDX-License-Identifier: MIT
//
// Touches proposed from velocity jumps.

#include "cr_test.h"

#include "base/random.h"
#include "learned/propose.h"

#include <math.h>

enum { N_ROW = 400 };

static int count(const double *x, signed char *jump, const signed char *expected) {
    cr_arena *arena = cri_arena_create(4096);
    assert_non_null(arena);
    assert_true(cri_touch_jumps(N_ROW, 1, x, jump, arena));
    cri_arena_destroy(arena);
    int n_wrong = 0;
    for (int k = 0; k < N_ROW; k++) {
        n_wrong += jump[k] != expected[k];
    }
    return n_wrong;
}

TEST(bounces_are_found_with_and_without_noise) {
    for (int pass = 0; pass < 2; pass++) {
        double noise = pass == 0 ? 0.0 : 0.2;
        double x[2 * N_ROW];
        signed char jump[N_ROW], expected[N_ROW] = {0};
        cri_random stream = cri_random_of(1, 1);
        double q = 5.0;
        double v = 0.0;
        int n_bounce = 0;
        for (int k = 0; k < N_ROW; k++) {
            x[2 * k] = q + noise * cri_random_normal(&stream);
            x[2 * k + 1] = v + noise * cri_random_normal(&stream);
            q += 0.02 * v;
            bool is_touching = q < 0.0 && v < 0.0;
            v = is_touching ? -0.9 * v : v - 0.02 * 9.81;
            if (k + 1 < N_ROW) {
                expected[k + 1] = is_touching;
                n_bounce += is_touching;
            }
        }
        CHECK(n_bounce >= 3);
        CHECK_INT(count(x, jump, expected), 0);
    }
}

TEST(a_swing_has_no_jumps) {
    double x[2 * N_ROW];
    signed char jump[N_ROW];
    static const signed char none[N_ROW] = {0};
    cri_random stream = cri_random_of(2, 1);
    for (int k = 0; k < N_ROW; k++) {
        x[2 * k] = cos(0.06 * k) + 0.02 * cri_random_normal(&stream);
        x[2 * k + 1] = -3.0 * sin(0.06 * k) + 0.02 * cri_random_normal(&stream);
    }
    CHECK_INT(count(x, jump, none), 0);
}

CR_TEST_MAIN(bounces_are_found_with_and_without_noise, a_swing_has_no_jumps)
