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
static const char scene[] =
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
    // solves with the same factors in another order; slow slips condition them to 1e5
    double tolerance = 1e-10 * scale_of(t);
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

static void check_run(const char *stepper, const char *law) {
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
    // two boxes on their corners, and what falls on one of them
    CHECK(most >= 9 && n_checked > N_STEP / 2);
    free(x);
    cr_sim_destroy(sim);
    cr_model_destroy(model);
}

TEST(end_of_step_seeds_agree_together_and_alone) {
    check_run("end", "ncp");
    check_run("end", "ncp-poisson");
}

TEST(located_seeds_agree_together_and_alone) {
    check_run("located", "ncp");
}

CR_TEST_MAIN(end_of_step_seeds_agree_together_and_alone, located_seeds_agree_together_and_alone)
