// SPDX-License-Identifier: MIT
//
// Every time is hit, and no step is longer than dt.

#include "optimize/schedule.h"

#include "cr_test.h"

#include <math.h>

/// Makes a schedule and checks what all of them promise.
static cri_schedule make(int n_time, const double *time, double dt, cr_arena *arena) {
    cri_schedule schedule = {0};
    CHECK_INT(cri_schedule_push(n_time, time, dt, arena, &schedule, NULL), CR_OK);
    CHECK(schedule.n_dt == 1 || schedule.n_dt == schedule.n_step);
    double t = 0.0;
    int k = 0;
    for (int i = 0; i < n_time; i++) {
        for (; k < schedule.step[i]; k++) {
            double h = schedule.dt[schedule.n_dt > 1 ? k : 0];
            CHECK(h > 0.0 && h <= dt * (1.0 + 1e-9));
            t += h;
        }
        // a sum of k numbers rounds k times
        CHECK_CLOSE(t, time[i], 1e-14, 1e-15 * (k + 1));
    }
    CHECK_INT(k, schedule.n_step);
    return schedule;
}

TEST(a_multiple_of_dt_gets_steps_of_dt_to_the_last_bit) {
    cr_arena *arena = cri_arena_create(1024);
    for (int n = 1; n < 3000; n += 7) {
        double time = n * 0.002;
        cri_schedule s = make(1, &time, 0.002, arena);
        CHECK_INT(s.n_step, n);
        CHECK(s.n_dt == 1 && s.dt[0] == 0.002);
    }
    cri_arena_destroy(arena);
}

TEST(each_interval_is_split_in_equal_steps) {
    cr_arena *arena = cri_arena_create(1024);
    const double time[] = {0.0, 0.025, 0.025, 0.1, 0.101};
    cri_schedule s = make(5, time, 0.01, arena);
    CHECK_INT(s.step[0], 0);
    CHECK_INT(s.step[1], 3);
    CHECK_INT(s.step[2], 3);
    CHECK_INT(s.step[3], 11);
    CHECK_INT(s.step[4], 12);
    CHECK_CLOSE(s.dt[0], 0.025 / 3.0, 0.0, 1e-15);
    CHECK_CLOSE(s.dt[3], 0.075 / 8.0, 0.0, 1e-12);
    cri_arena_destroy(arena);
}

TEST(a_million_steps_need_one_length) {
    cr_arena *arena = cri_arena_create(1024);
    double time = 1e6 * 0.001;
    cri_schedule s = {0};
    CHECK_INT(cri_schedule_push(1, &time, 0.001, arena, &s, NULL), CR_OK);
    CHECK_INT(s.n_step, 1000000);
    CHECK_INT(s.n_dt, 1);
    cri_arena_destroy(arena);
}

TEST(too_many_steps_are_refused) {
    cr_arena *arena = cri_arena_create(1024);
    const double time[] = {1.0, 1e12};
    cri_schedule s = {0};
    cr_error err = {0};
    CHECK_INT(cri_schedule_push(2, time, 1e-3, arena, &s, &err), CR_ERR_ARGUMENT);
    cri_arena_destroy(arena);
}

CR_TEST_MAIN(a_multiple_of_dt_gets_steps_of_dt_to_the_last_bit,
             each_interval_is_split_in_equal_steps, a_million_steps_need_one_length,
             too_many_steps_are_refused)
