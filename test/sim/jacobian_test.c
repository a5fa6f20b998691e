// SPDX-License-Identifier: MIT
//
// Seeds pushed together, alone, in place and as one sum agree: together they share an island's
// matrix and pass over what they do not move, a sum moves everything.

#include "cr_test.h"

#include "carom/carom.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_STEP = 60 };

// an arm that falls on a box, a box alone, two balls that meet in the air
static const char arm[] =
    "<mujoco><option timestep='0.005'/><worldbody>"
    "<geom name='floor' type='plane' size='9 9 1'/>"
    "<body pos='0 0 0.3'><joint type='hinge' axis='0 1 0'/>"
    "<geom type='capsule' size='0.03' fromto='0 0 0 0.3 0 0'/>"
    "<body pos='0.3 0 0'><joint type='hinge' axis='0 1 0'/>"
    "<joint type='hinge' axis='0 0 1'/>"
    "<geom type='capsule' size='0.03' fromto='0 0 0 0.2 0.02 0'/></body></body>"
    "<body pos='0.4 0 0.0999'><freejoint/><geom type='box' size='0.1 0.1 0.1'/></body>"
    "<body pos='2 0 0.0499'><freejoint/><geom type='box' size='0.1 0.1 0.05'/></body>"
    "<body pos='0 2 1'><freejoint/><geom size='0.1'/></body>"
    "<body pos='0.02 2 1.3'><freejoint/><geom size='0.1'/></body>"
    "</worldbody><keyframe><key qpos='0.2 -0.1 0.05 0.4 0 0.0999 1 0 0 0 2 0 0.0499 1 0 0 0 "
    "0 2 1 1 0 0 0 0.02 2 1.3 1 0 0 0' "
    "qvel='0 0 0 0.1 0.2 0 0 0 0.3 0.5 0 0 0 0 0.2 0 0 1 0 0 0 0 0 -1 0 0 0'/></keyframe>"
    "</mujoco>";

// a robot whose parts are of every kind, which falls on the floor, over itself and on a ball
#define ROBOT(integrator)                                                                          \
    "<mujoco><option timestep='0.005' integrator='" integrator "'/><worldbody>"                    \
    "<geom name='floor' type='plane' size='9 9 1'/>"                                               \
    "<body pos='0 0 0.3'><freejoint/><geom type='box' size='0.1 0.08 0.05'/>"                      \
    "<body pos='0.15 0 0'><joint name='b' type='ball' stiffness='2' damping='0.1' limited='true' " \
    "range='0 40'/><geom type='capsule' size='0.03' fromto='0 0 0 0.2 0.02 0'/>"                   \
    "<body pos='0.2 0 0'><joint name='s' type='slide' axis='1 0.2 0' damping='1'/>"                \
    "<joint name='h' type='hinge' axis='0 1 0.1' stiffness='3' springref='20'/>"                   \
    "<geom type='capsule' size='0.03' fromto='0.05 0 0 0.2 0 -0.1'/></body></body>"                \
    "<body pos='-0.15 0 0'><joint name='k' type='hinge' axis='0 1 0' range='-20 20' "              \
    "limited='true'/><geom type='capsule' size='0.03' fromto='0 0 0 -0.2 0.02 0'/>"                \
    "<body pos='-0.2 0 0'><joint name='m' type='hinge' axis='0 1 0'/>"                             \
    "<geom type='sphere' size='0.06' pos='0.22 0.05 0.14'/></body></body></body>"                  \
    "<body pos='0.35 0.02 0.05'><freejoint/><geom size='0.05'/></body>"                            \
    "</worldbody><tendon><fixed name='t' stiffness='4' damping='0.3'><joint joint='k' coef='1'/>"  \
    "<joint joint='h' coef='-0.7'/></fixed></tendon><actuator><position joint='h' kp='5'/>"        \
    "<position tendon='t' kp='2'/><motor joint='b' gear='1 0.5 0.2'/></actuator>"                  \
    "<keyframe><key qpos='0 0 0.14 0.98 0.1 0.15 0 0.97 0.1 0.2 0.1 0.02 0.3 -0.3 0.2 "            \
    "0.35 0.02 0.05 1 0 0 0' qvel='0.3 0 -1 0.5 -1 0.4 0.2 1 -0.5 0.3 -1 2 3 0 0 0 0 0 1'/>"       \
    "</keyframe></mujoco>"

/// Tangents of one step, row by row.
typedef struct tangents {
    int n;
    double *unit;     // (n, n)
    double *together; // (n, n)
    double *row;      // (n)
    double *sum;      // (n)
} tangents;

static double scale_of(const tangents *t) {
    double scale = 1.0;
    for (int i = 0; i < t->n * t->n; i++) {
        scale = fmax(scale, fabs(t->together[i]));
    }
    return scale;
}

static void check_step(cr_sim *sim, const tangents *t) {
    cr_error err = {0};
    int n = t->n;
    size_t n_byte = sizeof(double) * (size_t)n;
    CHECK_INT(cr_sim_step_jac(sim, n, t->unit, NULL, NULL, t->together, &err), CR_OK);
    // solves with the same factors in another order; slow slips condition them to 1e5, and
    // openings, whose normals count 1e6 times as much as slip, to 1e6
    double tolerance = 1e-9 * scale_of(t);
    memset(t->sum, 0, n_byte);
    for (int i = 0; i < n; i++) {
        memcpy(t->row, t->unit + i * n, n_byte);
        CHECK_INT(cr_sim_step_jac(sim, 1, t->row, NULL, NULL, t->row, &err), CR_OK);
        for (int j = 0; j < n; j++) {
            CHECK_CLOSE(t->row[j], t->together[i * n + j], tolerance, 0.0);
            t->sum[j] += cos(i) * t->together[i * n + j];
        }
    }
    for (int i = 0; i < n; i++) {
        t->row[i] = cos(i);
    }
    CHECK_INT(cr_sim_step_jac(sim, 1, t->row, NULL, NULL, t->row, &err), CR_OK);
    for (int j = 0; j < n; j++) {
        CHECK_CLOSE(t->row[j], t->sum[j], n * tolerance, 0.0);
    }
}

static void check_run(const char *scene, const char *stepper, const char *law,
                      int n_contact_least) {
    cr_error err = {0};
    cr_model *model = NULL;
    cr_sim *sim = NULL;
    assert_int_equal(cr_model_parse(scene, strlen(scene), "scene", &model, &err), CR_OK);
    cr_sim_options options = cr_sim_options_default(model);
    options.stepper = stepper;
    options.law = law;
    assert_int_equal(cr_sim_create(model, &options, &sim, &err), CR_OK);
    cr_sizes z = cr_model_sizes(model);
    size_t n = (size_t)z.n_tangent;
    double *x = calloc((size_t)z.n_x + 2 * n * n + 2 * n, sizeof *x);
    assert_non_null(x);
    double *unit = x + z.n_x, *together = unit + n * n, *row = together + n * n;
    tangents t = {z.n_tangent, unit, together, row, row + n};
    for (size_t i = 0; i < n; i++) {
        unit[i * n + i] = 1.0;
    }
    cr_model_defaults(model, -1, NULL, x, NULL);
    int n_checked = 0, most = 0;
    for (int k = 0; k < N_STEP; k++) {
        assert_int_equal(cr_sim_step(sim, z.dt, x, NULL, x, &err), CR_OK);
        int n_contact;
        cr_sim_contacts(sim, &n_contact);
        most = n_contact > most ? n_contact : most;
        if (!(cr_sim_report(sim)->grad & CR_GRAD_REFUSED)) {
            check_step(sim, &t);
            n_checked++;
        }
    }
    CHECK(most >= n_contact_least && n_checked > N_STEP / 2);
    free(x);
    cr_sim_destroy(sim);
    cr_model_destroy(model);
}

TEST(end_of_step_seeds_agree_together_and_alone) {
    // two boxes on their corners, and what falls on one of them
    check_run(arm, "end", "ncp", 9);
    check_run(arm, "end", "ncp-poisson", 9);
}

TEST(located_seeds_agree_together_and_alone) {
    check_run(arm, "located", "ncp", 9);
}

TEST(seeds_of_a_robot_agree_together_and_alone) {
    check_run(ROBOT("Euler"), "end", "ncp", 4);
    check_run(ROBOT("implicitfast"), "end", "cone", 4);
    check_run(ROBOT("RK4"), "end", "ncp", 4);
}

CR_TEST_MAIN(end_of_step_seeds_agree_together_and_alone, located_seeds_agree_together_and_alone,
             seeds_of_a_robot_agree_together_and_alone)
