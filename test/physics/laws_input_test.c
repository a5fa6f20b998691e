// SPDX-License-Identifier: MIT
//
// What a law must never see, and what it repairs: coefficients outside their domain and states that
// are no numbers are refused by name, under every law and stepper, and nothing is written; an
// overlap at the start opens by the documented target velocity, depth/(8 h).

#include "laws_scene.h"

#include <stdio.h>

static const double dt = 0.01;

static const char scene[] =
    "<mujoco><option gravity='0 0 0'/><custom>"
    "<numeric name='carom:friction:floor:ball' data='0.3'/>"
    "<numeric name='carom:restitution:floor:ball' data='0.5'/></custom><worldbody>"
    "<geom name='floor' type='plane' size='9 9 1'/><body name='ball' pos='0 0 0.1'><freejoint/>"
    "<geom name='ball' size='0.1' mass='1'/></body></worldbody></mujoco>";

// an argument error that names the thing
static void check_refused(const cr_run *r, cr_status status, const cr_error *err,
                          const char *name) {
    if (status != CR_ERR_ARGUMENT || !strstr(err->text, name)) {
        cr_test_fail("%s, %s: %s: status %s, text \"%s\"", r->options.law, r->options.stepper, name,
                     cr_status_text(status), err->text);
    }
}

TEST(coefficients_outside_their_domain_are_refused) {
    static const struct {
        const char *name;
        double value;
    } wrong[] = {{"floor:ball/friction", -1e-9},   {"floor:ball/friction", -1.0},
                 {"floor:ball/friction", NAN},     {"floor:ball/friction", INFINITY},
                 {"floor:ball/restitution", -0.1}, {"floor:ball/restitution", 1.0 + 1e-9},
                 {"floor:ball/restitution", 2.0},  {"floor:ball/restitution", NAN}};
    for (int i = 0; i < N_LAW * N_STEPPER; i++) {
        cr_run r = laws_open(scene, law_names[i % N_LAW], stepper_names[i / N_LAW], dt);
        double before[13], after[13];
        r.x[7] = 0.5;
        r.x[9] = -1.0;
        memcpy(before, r.x, sizeof before);
        memcpy(after, r.x, sizeof after);
        laws_step(&r, before);
        for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
            cr_error err = {0};
            int at = cr_run_p(&r, wrong[k].name);
            double kept = r.p[at];
            r.p[at] = wrong[k].value;
            check_refused(&r, cr_sim_set_params(r.sim, r.p, &err), &err, wrong[k].name);
            r.p[at] = kept;
        }
        // the old values still act; the second solve starts from the first one's impulse
        laws_step(&r, after);
        for (int j = 0; j < 13; j++) {
            laws_near(&r, "state", after[j], before[j], 1e-12);
        }
        cr_run_close(&r);
    }
}

TEST(the_edges_of_the_domain_are_inside) {
    static const double edges[][2] = {{0.0, 0.0}, {0.0, 1.0}, {10.0, 0.0}, {10.0, 1.0}};
    for (int i = 0; i < 4 * N_LAW * N_STEPPER; i++) {
        const double *edge = edges[i / (N_LAW * N_STEPPER)];
        cr_run r = laws_open(scene, law_names[i % N_LAW], stepper_names[i / N_LAW % 2], dt);
        cr_error err = {0};
        double x[13];
        r.p[cr_run_p(&r, "floor:ball/friction")] = edge[0];
        r.p[cr_run_p(&r, "floor:ball/restitution")] = edge[1];
        CHECK_INT(cr_sim_set_params(r.sim, r.p, &err), CR_OK);
        memcpy(x, r.x, sizeof x);
        x[7] = 0.5;
        x[9] = -1.0;
        laws_step(&r, x);
        // no less than Newton's, less the softness of cone-reg (1 per cent of 1 + e)
        CHECK(x[9] >= edge[1] - 0.021);
        CHECK(fabs(x[7]) <= 0.5 + 1e-12);
        cr_run_close(&r);
    }
}

TEST(files_with_such_coefficients_are_refused) {
    static const char *const wrong[][3] = {
        {"friction:floor:ball", "-0.1", "friction is -0.1"},
        {"friction:floor:ball", "nan", "NaN"},
        {"restitution:floor:ball", "1.1", "restitution is 1.1"},
        {"restitution:floor:ball", "-0.1", "restitution is -0.1"},
        {"restitution:ball", "2", "restitution is 2"}};
    for (int k = 0; k < 5; k++) {
        char text[1024];
        cr_error err = {0};
        cr_model *model = NULL;
        snprintf(text, sizeof text,
                 "<mujoco><custom><numeric name='carom:%s' data='%s'/></custom><worldbody>"
                 "<geom name='floor' type='plane' size='9 9 1'/><body><freejoint/>"
                 "<geom name='ball' size='0.1'/></body></worldbody></mujoco>",
                 wrong[k][0], wrong[k][1]);
        cr_status status = cr_model_parse(text, strlen(text), "wrong.xml", &model, &err);
        if (status != CR_ERR_SYNTAX || err.line != 1 || !strstr(err.text, wrong[k][2])) {
            cr_test_fail("%s = %s: status %s, text \"%s\"", wrong[k][0], wrong[k][1],
                         cr_status_text(status), err.text);
        }
        cr_model_destroy(model);
    }
}

TEST(states_that_are_no_numbers_are_refused) {
    static const char *const name[] = {"ball/qvel[0]", "ball/qvel[2]", "ball/qvel[5]",
                                       "ball/qpos[2]"};
    static const double value[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < N_LAW * N_STEPPER; i++) {
        cr_run r = laws_open(scene, law_names[i % N_LAW], stepper_names[i / N_LAW], dt);
        for (int k = 0; k < 12; k++) {
            cr_error err = {0};
            double x[13], out[13], kept[13];
            memcpy(x, r.x, sizeof x);
            memset(out, 1, sizeof out);
            memcpy(kept, out, sizeof kept);
            x[cr_run_x(&r, name[k % 4])] = value[k / 4];
            check_refused(&r, cr_sim_step(r.sim, dt, x, NULL, out, &err), &err, name[k % 4]);
            CHECK(memcmp(out, kept, sizeof out) == 0);
        }
        cr_run_close(&r);
    }
}

TEST(a_deep_overlap_opens_by_the_target_velocity) {
    // at rest, no gravity: depth/(8 h) is the velocity, so the depth shrinks by 7/8 in a step
    static const double depth[] = {0.01, 0.05, 0.15};
    for (int i = 0; i < 3 * N_LAW * N_STEPPER; i++) {
        int k = i % N_LAW, s = i / N_LAW % N_STEPPER;
        double d = depth[i / (N_LAW * N_STEPPER)], x[13];
        cr_run r = laws_open(scene, law_names[k], stepper_names[s], dt);
        memcpy(x, r.x, sizeof x);
        x[2] = 0.1 - d;
        laws_step(&r, x);
        CHECK_CLOSE(cr_sim_report(r.sim)->penetration, d, 1e-12, 0.0);
        // cone-reg falls short by eps m, but not of what it calls resting
        double speed = d / (8.0 * dt) / (k == CONE_REG && s == 1 ? 1.01 : 1.0);
        laws_near(&r, "speed", x[9], speed, 1e-9);
        // located moves with it at once, end in the next step
        laws_near(&r, "depth", 0.1 - x[2], s == 0 ? d - speed * dt : d, 1e-9);
        double least = x[2];
        for (int n = 0; n < 300; n++) {
            laws_step(&r, x);
            least = fmin(least, x[2]);
        }
        // out, or nearly: (7/8)^300 is nothing, but what has opened may fly on
        CHECK(least >= 0.1 - d - 1e-12);
        CHECK(x[2] >= 0.1 - 1e-6);
        cr_run_close(&r);
    }
}

TEST(a_body_in_two_walls_settles_between_them) {
    // depths of 0.01 and 0.02: no motion leaves both walls, half the difference is where they agree
    static const char squeezed[] =
        "<mujoco><option gravity='0 0 0'/><worldbody>"
        "<geom type='plane' size='9 9 1' pos='-0.08 0 0' zaxis='1 0 0'/>"
        "<geom type='plane' size='9 9 1' pos='0.09 0 0' zaxis='-1 0 0'/>"
        "<body><freejoint/><geom size='0.1' mass='1'/></body></worldbody></mujoco>";
    for (int i = 0; i < N_LAW * N_STEPPER; i++) {
        double x[13];
        cr_run r = laws_open(squeezed, law_names[i % N_LAW], stepper_names[i / N_LAW], dt);
        memcpy(x, r.x, sizeof x);
        for (int n = 0; n < 400; n++) {
            int n_contact = 0;
            laws_step(&r, x);
            const cr_contact *contact = cr_sim_contacts(r.sim, &n_contact);
            for (int k = 0; k < n_contact; k++) {
                // 0.005 m in eight steps of 0.01 s, 1 kg
                CHECK(fabs(contact[k].impulse[0]) < 1.0);
            }
        }
        // cone-reg is soft by a per cent
        laws_near(&r, "place", x[0], 0.005, i % N_LAW == CONE_REG ? 1e-3 : 1e-6);
        cr_run_close(&r);
    }
}

CR_TEST_MAIN(coefficients_outside_their_domain_are_refused, the_edges_of_the_domain_are_inside,
             files_with_such_coefficients_are_refused, states_that_are_no_numbers_are_refused,
             a_deep_overlap_opens_by_the_target_velocity, a_body_in_two_walls_settles_between_them)
