// SPDX-License-Identifier: MIT
//
// Gradients of longrange for the motion of ncp: a throw that misses.

#include "cr_test.h"

#include "carom/carom.h"

#include <string.h>

#define BALL(name, pos)                                                                            \
    "<body name='" name "' pos='" pos "'><joint type='slide' axis='1 0 0'/>"                       \
    "<joint type='slide' axis='0 1 0'/><geom type='sphere' size='.1' mass='1' friction='0'/>"      \
    "</body>"

static const char miss[] =
    "<mujoco><option gravity='0 0 0'/><custom><numeric name='carom:potential:mu' data='1e-4'/>"
    "</custom><worldbody>" BALL("cue", "-.5 0 0") BALL("rest", "0 0 0") "</worldbody></mujoco>";

// x = (cue x, y, rest x, y | their velocities)
enum { N_X = 8, N_STEP = 20 };

static cr_sim *open_sim(const cr_model *model, const char *law, const char *surrogate) {
    cr_error err = {0};
    cr_sim *sim = NULL;
    cr_sim_options options = cr_sim_options_default(model);
    options.law = law;
    options.surrogate = surrogate;
    if (cr_sim_create(model, &options, &sim, &err) != CR_OK) {
        fail_msg("%s", err.text);
    }
    return sim;
}

static cr_model *open_model(void) {
    cr_error err = {0};
    cr_model *model = NULL;
    if (cr_model_parse(miss, strlen(miss), "miss", &model, &err) != CR_OK) {
        fail_msg("%s", err.text);
    }
    CHECK_INT(cr_model_sizes(model).n_x, N_X);
    return model;
}

// gradient of the other ball's x for the start
static void pull(cr_sim *sim, const double *x0, double *x_end, double *x0_adj, double *p_adj) {
    cr_error err = {0};
    const double dt = 0.02;
    cr_rollout rollout = {.n_step = N_STEP, .dt = &dt, .n_dt = 1};
    double x_adj[N_X] = {0};
    x_adj[2] = 1.0;
    cr_seed seed = {.step = N_STEP, .x_adj = x_adj};
    memset(x0_adj, 0, sizeof(double) * N_X);
    CHECK_INT(cr_sim_rollout(sim, &rollout, x0, NULL, x_end, &err), CR_OK);
    CHECK_INT(cr_sim_rollout_vjp(sim, 1, &seed, x0_adj, NULL, p_adj, &err), CR_OK);
}

TEST(a_miss_has_a_slope) {
    cr_model *model = open_model();
    cr_sim *own = open_sim(model, "ncp", NULL), *other = open_sim(model, "ncp", "longrange");
    const double x0[N_X] = {0, 0, 0, 0, 2.0, 1.0, 0, 0};
    double end[2][N_X], adj[2][N_X], p_adj[256] = {0};
    int mass = cr_model_find(model, CR_VECTOR_P, "cue/mass", NULL);
    CHECK(mass >= 0 && cr_model_sizes(model).n_p <= 256);

    pull(own, x0, end[0], adj[0], NULL);
    pull(other, x0, end[1], adj[1], p_adj);

    // the motion is that of ncp to the bit, which the other ball has no part in
    CHECK(memcmp(end[0], end[1], sizeof end[0]) == 0);
    CHECK(end[0][2] == 0.0 && adj[0][4] == 0.0 && adj[0][5] == 0.0);
    CHECK(!(cr_sim_report(own)->grad & CR_GRAD_SURROGATE));
    CHECK(cr_sim_report(other)->grad & CR_GRAD_SURROGATE);

    // less sideways speed pushes it on
    CHECK(adj[1][5] < -1e-4);
    CHECK(p_adj[mass] != 0.0);
    cr_sim_destroy(own);
    cr_sim_destroy(other);
    cr_model_destroy(model);
}

TEST(a_step_is_pulled_through_that_of_the_surrogate) {
    cr_model *model = open_model();
    cr_sim *law = open_sim(model, "longrange", NULL), *sim = open_sim(model, "ncp", "longrange");
    const double x[N_X] = {0.2, 0.05, 0, 0, 1.0, 0.1, 0, 0}, seed[N_X] = {1, 2, 3, 4, 5, 6, 7, 8};
    double next[N_X], adj[2][N_X] = {{0}};
    cr_error err = {0};
    CHECK_INT(cr_sim_step(law, 0.02, x, NULL, next, &err), CR_OK);
    CHECK_INT(cr_sim_step_vjp(law, seed, adj[0], NULL, NULL, &err), CR_OK);
    CHECK_INT(cr_sim_step(sim, 0.02, x, NULL, next, &err), CR_OK);
    CHECK_INT(cr_sim_step_vjp(sim, seed, adj[1], NULL, NULL, &err), CR_OK);
    CHECK(memcmp(adj[0], adj[1], sizeof adj[0]) == 0);

    // tangents are not there
    double tan[N_X] = {1.0}, out[N_X];
    CHECK_INT(cr_sim_step_jac(sim, 1, tan, NULL, NULL, out, &err), CR_ERR_UNSUPPORTED);
    cr_sim_destroy(law);
    cr_sim_destroy(sim);
    cr_model_destroy(model);
}

TEST(a_step_that_touches_keeps_its_own) {
    cr_model *model = open_model();
    cr_sim *own = open_sim(model, "ncp", NULL), *sim = open_sim(model, "ncp", "longrange");
    // surfaces that meet: longrange has no step from here
    const double x[N_X] = {0.305, 0, 0, 0, 1.0, 0.0, 0, 0}, seed[N_X] = {1, 2, 3, 4, 5, 6, 7, 8};
    double next[N_X], adj[2][N_X] = {{0}};
    cr_error err = {0};
    CHECK_INT(cr_sim_step(own, 0.02, x, NULL, next, &err), CR_OK);
    CHECK_INT(cr_sim_step_vjp(own, seed, adj[0], NULL, NULL, &err), CR_OK);
    CHECK_INT(cr_sim_step(sim, 0.02, x, NULL, next, &err), CR_OK);
    CHECK_INT(cr_sim_step_vjp(sim, seed, adj[1], NULL, NULL, &err), CR_OK);
    CHECK(memcmp(adj[0], adj[1], sizeof adj[0]) == 0);
    cr_sim_destroy(own);
    cr_sim_destroy(sim);
    cr_model_destroy(model);
}

TEST(bad_surrogates_are_named) {
    cr_model *model = open_model();
    cr_sim_options options = cr_sim_options_default(model);
    cr_error err = {0};
    cr_sim *sim = NULL;
    options.surrogate = "lcp";
    CHECK_INT(cr_sim_create(model, &options, &sim, &err), CR_ERR_ARGUMENT);
    CHECK(strstr(err.text, "no surrogate is named lcp"));
    options.surrogate = "longrange";
    options.law = "ipc";
    CHECK_INT(cr_sim_create(model, &options, &sim, &err), CR_ERR_ARGUMENT);
    CHECK(strstr(err.text, "ipc has no surrogate"));
    cr_model_destroy(model);
}

CR_TEST_MAIN(a_miss_has_a_slope, a_step_is_pulled_through_that_of_the_surrogate,
             a_step_that_touches_keeps_its_own, bad_surrogates_are_named)
