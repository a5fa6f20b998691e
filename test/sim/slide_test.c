// SPDX-License-Identifier: MIT
//
// Friction that depends on which way a contact slides (carom:slide): decelerations both ways, its
// gradients, the names of its parameters, and what is wrong with an entry.

#include "cr_test.h"

#include "carom/carom.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SCENE(data)                                                                                \
    "<mujoco><option timestep='0.002'/><custom><numeric name='carom:slide:floor:box' data='" data  \
    "'/></custom><worldbody><geom name='floor' type='plane' size='5 5 1'/>"                        \
    "<body pos='0 0 0.1'><freejoint/><geom name='box' type='box' size='.2 .2 .1' mass='1'/>"       \
    "</body></worldbody></mujoco>"

static const char scene[] = SCENE("0.2 0.5 2 0 0");

static cr_model *parse(const char *text) {
    cr_model *model = NULL;
    cr_error err = {0};
    CHECK_INT(cr_model_parse(text, strlen(text), "slide.xml", &model, &err), CR_OK);
    return model;
}

// speed along x after 0.1 s at speed v before, and its gradient for both coefficients
static double slide(const cr_model *model, const char *law, const char *stepper, double v,
                    double grad[2]) {
    cr_error err = {0};
    cr_sim_options options = cr_sim_options_default(model);
    options.law = law;
    options.stepper = stepper;
    cr_sim *sim = NULL;
    CHECK_INT(cr_sim_create(model, &options, &sim, &err), CR_OK);
    double x[13] = {0, 0, 0.1, 1, 0, 0, 0, v}, end[13], adj[13] = {0}, dt = 0.002;
    double p_adj[100] = {0};
    cr_rollout run = {.n_step = 50, .dt = &dt, .n_dt = 1};
    CHECK_INT(cr_sim_rollout(sim, &run, x, NULL, end, &err), CR_OK);
    adj[7] = 1.0;
    cr_seed seed = {50, adj};
    CHECK_INT(cr_sim_rollout_vjp(sim, 1, &seed, NULL, NULL, p_adj, &err), CR_OK);
    grad[0] = p_adj[cr_model_find(model, CR_VECTOR_P, "floor:box/friction", NULL)];
    grad[1] = p_adj[cr_model_find(model, CR_VECTOR_P, "floor:box/friction_back", NULL)];
    cr_sim_destroy(sim);
    return end[7];
}

TEST(each_way_has_its_coefficient) {
    static const char *const law[] = {"ncp", "lcp"}, *const stepper[] = {"located", "end"};
    cr_model *model = parse(scene);
    for (int k = 0; k < 4; k++) {
        // at the end of a step an overlap also opens, which pushes by a hundredth
        double grad[2], g = 9.81, near = k / 2 == 0 ? 1e-9 : 0.012;
        double v = slide(model, law[k % 2], stepper[k / 2], 2.0, grad);
        CHECK_CLOSE(v, 2.0 - 0.2 * g * 0.1, near, 0.0);
        CHECK_CLOSE(grad[0], -g * 0.1, near, 0.0);
        CHECK(grad[1] == 0.0);
        v = slide(model, law[k % 2], stepper[k / 2], -2.0, grad);
        CHECK_CLOSE(v, -2.0 + 0.5 * g * 0.1, near, 0.0);
        CHECK(grad[0] == 0.0);
        CHECK_CLOSE(grad[1], g * 0.1, near, 0.0);
    }
    cr_model_destroy(model);
}

// a slope that one coefficient holds and the other does not
TEST(a_box_rests_one_way_and_slides_the_other) {
    cr_model *model = parse(scene);
    cr_error err = {0};
    for (int way = 0; way < 2; way++) {
        cr_sim *sim = NULL;
        cr_sim_options options = cr_sim_options_default(model);
        CHECK_INT(cr_sim_create(model, &options, &sim, &err), CR_OK);
        double x[13] = {0, 0, 0.1, 1}, u[6] = {way ? -3.0 : 3.0};
        for (int i = 0; i < 100; i++) {
            CHECK_INT(cr_sim_step(sim, 0.002, x, u, x, &err), CR_OK);
        }
        // 3 N against 0.2 g forth and 0.5 g back
        CHECK_CLOSE(x[7], way ? 0.0 : (3.0 - 0.2 * 9.81) * 0.2, 1e-6, 0.0);
        cr_sim_destroy(sim);
    }
    cr_model_destroy(model);
}

TEST(wrong_entries_are_named) {
    static const char *const bad[] = {SCENE("0.2 0.5"), SCENE("0.2 0.5 0 0 0"),
                                      SCENE("0.2 -1 1 0 0"), SCENE("-1 0.5 1 0 0")};
    static const char *const said[] = {"five numbers", "five numbers", "friction is -1",
                                       "friction is -1"};
    for (int i = 0; i < 4; i++) {
        cr_model *model = NULL;
        cr_error err = {0};
        CHECK_INT(cr_model_parse(bad[i], strlen(bad[i]), "slide.xml", &model, &err), CR_ERR_SYNTAX);
        CHECK(strstr(err.text, said[i]) != NULL);
    }
}

CR_TEST_MAIN(each_way_has_its_coefficient, a_box_rests_one_way_and_slides_the_other,
             wrong_entries_are_named)
