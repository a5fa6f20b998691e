// SPDX-License-Identifier: MIT
//
// Adam by hand, its groups, bounds and schedules; starts of nets.

#include "base/nn/adam.h"

#include "base/nn/mlp.h"
#include "cr_test.h"

#include <math.h>
#include <string.h>

TEST(steps_are_those_of_the_formula) {
    double w[2] = {1.0, -2.0}, mean[2], square[2], m[2] = {0.0}, s[2] = {0.0}, ref[2];
    memcpy(ref, w, sizeof w);
    cri_adam adam = cri_adam_of(2, mean, square);
    const cri_adam_group group[2] = {{.first = 0, .n = 1, .rate = 1.0, .l2 = 0.1},
                                     {.first = 1, .n = 1, .rate = 10.0, .decay = 0.2}};
    for (int t = 1; t <= 5; t++) {
        double slope[2] = {cos(t), 0.3 * t};
        double full[2] = {slope[0] + 0.2 * ref[0], slope[1]};
        cri_adam_step(&adam, 0.01, 2, group, slope, w);
        for (int i = 0; i < 2; i++) {
            m[i] = 0.9 * m[i] + 0.1 * full[i];
            s[i] = 0.999 * s[i] + 0.001 * full[i] * full[i];
            double move = m[i] / (1.0 - pow(0.9, t)) / (sqrt(s[i] / (1.0 - pow(0.999, t))) + 1e-8);
            ref[i] -= i == 0 ? 0.01 * move : 0.1 * (move + 0.2 * ref[i]);
            CHECK_CLOSE(w[i], ref[i], 1e-14, 1e-14); // the same sums in another order
        }
    }
    CHECK_INT(adam.n_step, 5);
}

TEST(a_pull_leads_home_where_there_is_no_slope) {
    double w[2] = {1.0, 1.0}, mean[2], square[2], slope[2] = {0.0};
    cri_adam adam = cri_adam_of(2, mean, square);
    const cri_adam_group group[2] = {{.first = 0, .n = 1, .rate = 10.0, .pull = 0.5, .home = 3.0},
                                     {.first = 1, .n = 1, .rate = 10.0}};
    cri_adam_step(&adam, 0.01, 2, group, slope, w);
    CHECK(w[0] == 1.0 && w[1] == 1.0); // not before it is asked for
    adam.pull = 0.5;
    cri_adam_step(&adam, 0.01, 2, group, slope, w);
    CHECK_CLOSE(w[0], 1.0 + 0.1 * 0.25, 1e-15, 1e-15); // from far away as from 1
    CHECK(w[1] == 1.0);
    w[0] = 3.5;
    cri_adam_step(&adam, 0.01, 2, group, slope, w);
    CHECK_CLOSE(w[0], 3.5 - 0.1 * 0.25 * 0.5, 1e-15, 1e-15);
}

TEST(numbers_stop_at_their_bounds_and_may_leave_them) {
    double w[3] = {0.05, 0.95, 7.0}, mean[3], square[3];
    cri_adam adam = cri_adam_of(3, mean, square);
    const cri_adam_group group = {.first = 0, .n = 2, .rate = 1.0, .lower = 0.0, .upper = 1.0};
    for (int t = 0; t < 20; t++) {
        double slope[3] = {1.0, -1.0, 1.0};
        cri_adam_step(&adam, 0.01, 1, &group, slope, w);
        CHECK(w[0] >= 0.0 && w[1] <= 1.0);
        CHECK(t < 10 || (slope[0] == 0.0 && slope[1] == 0.0));
    }
    CHECK(w[0] == 0.0 && w[1] == 1.0 && w[2] == 7.0);
    for (int t = 0; t < 200; t++) {
        double slope[3] = {-1.0, 1.0, 0.0};
        cri_adam_step(&adam, 0.01, 1, &group, slope, w);
    }
    CHECK(w[0] > 0.1 && w[1] < 0.9);
}

TEST(rates_fall_after_their_part_of_the_run) {
    const cri_rate constant = {.kind = CRI_RATE_CONSTANT, .rate = 0.5};
    const cri_rate linear = {.kind = CRI_RATE_LINEAR, .rate = 0.5, .begin = 0.5};
    CHECK(cri_rate_at(&constant, 99, 100) == 0.5);
    CHECK(cri_rate_at(&linear, 0, 100) == 0.5 && cri_rate_at(&linear, 50, 100) == 0.5);
    CHECK_CLOSE(cri_rate_at(&linear, 75, 100), 0.25, 1e-15, 0.0);
    CHECK(cri_rate_at(&linear, 100, 100) == 0.0 && cri_rate_at(&linear, 120, 100) == 0.0);
}

TEST(orthogonal_starts_are_orthonormal) {
    const cri_mlp net = {.n_layer = 3, .width = {3, 8, 8, 2}};
    double w[200];
    cr_arena *work = cri_arena_create(1000);
    cri_random random = cri_random_of(7, 0);
    CHECK(cri_mlp_start(&net, CRI_START_ORTHOGONAL, &random, w, work));
    for (int l = 1; l <= 3; l++) {
        int n_in = net.width[l - 1], n_out = net.width[l];
        int n = n_in < n_out ? n_in : n_out, length = n_in + n_out - n;
        const double *W = w + cri_mlp_place(&net, l, false);
        for (int a = 0; a < n; a++) {
            for (int b = 0; b <= a; b++) {
                double dot = 0.0;
                for (int k = 0; k < length; k++) {
                    dot += n_in < n_out ? W[k * n_in + a] * W[k * n_in + b]
                                        : W[a * n_in + k] * W[b * n_in + k];
                }
                CHECK_CLOSE(dot, a == b, 1e-14, 0.0); // sums of 8 products
            }
        }
        const double *bias = w + cri_mlp_place(&net, l, true);
        for (int i = 0; i < n_out; i++) {
            CHECK(fabs(bias[i]) <= 1.0 / sqrt(n_in) && bias[i] != 0.0);
        }
    }
    cri_arena_destroy(work);
}

TEST(uniform_starts_have_their_variance_and_seeds_name_them) {
    const cri_mlp net = {.n_layer = 2, .width = {40, 50, 1}};
    double w[2101], again[2101];
    cr_arena *work = cri_arena_create(1000);
    CHECK_INT(cri_mlp_n_weight(&net), 2101);
    cri_random random = cri_random_of(3, 1), same = cri_random_of(3, 1);
    CHECK(cri_mlp_start(&net, CRI_START_GLOROT, &random, w, work));
    CHECK(cri_mlp_start(&net, CRI_START_GLOROT, &same, again, work));
    CHECK(memcmp(w, again, sizeof w) == 0);
    double square = 0.0;
    for (int i = 0; i < 2000; i++) {
        CHECK(fabs(w[i]) <= sqrt(6.0 / 90.0));
        square += w[i] * w[i] / 2000.0;
    }
    CHECK_CLOSE(square, 2.0 / 90.0, 0.0, 0.06); // three standard errors: 3 sqrt(0.8/2000)
    for (int i = 2000; i < 2050; i++) {
        CHECK(w[i] == 0.0);
    }
    CHECK(cri_mlp_start(&net, CRI_START_FAN_IN, &same, again, work));
    for (int i = 0; i < 2050; i++) {
        CHECK(fabs(again[i]) <= 1.0 / sqrt(40.0) && again[i] != 0.0);
    }
    cri_arena_destroy(work);
}

CR_TEST_MAIN(steps_are_those_of_the_formula, a_pull_leads_home_where_there_is_no_slope,
             numbers_stop_at_their_bounds_and_may_leave_them,
             rates_fall_after_their_part_of_the_run, orthogonal_starts_are_orthonormal,
             uniform_starts_have_their_variance_and_seeds_name_them)
