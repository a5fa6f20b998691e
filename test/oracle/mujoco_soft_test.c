// SPDX-License-Identifier: MIT
//
// The law soft against mj_step: the same scene, step by step, with elliptic cones, Euler, and as
// many iterations as MuJoCo's solver takes.
//
// Where the two find the same contacts the motions agree to the tolerance of the solvers. Where
// they do not (boxes on boxes, meshes: other points of a patch) nothing is compared.

#include <math.h>
#include <mujoco/mujoco.h>
#include <stdio.h>
#include <string.h>

#include "carom/carom.h"
#include "support/cr_test.h"

#define HEAD "<mujoco><option cone='elliptic' timestep='0.002'/>"
#define FLOOR "<geom name='floor' type='plane' size='9 9 1'/>"

// a step apart from rounding; what tumbles makes more of it
#define TOLERANCE 1e-9

typedef struct scene {
    const char *name;
    const char *text;
    int n_step;
    double tolerance; // of positions and velocities, largest
} scene;

static const scene scenes[] = {
    {"ball that slips, then rolls",
     HEAD "<worldbody>" FLOOR "<body pos='0 0 0.4'><freejoint/><geom size='0.1' friction='0.4'/>"
          "</body></worldbody><keyframe><key qpos='0 0 0.4 1 0 0 0' qvel='1 0.5 0 3 -9 2'/>"
          "</keyframe></mujoco>",
     1000, TOLERANCE},
    {"box thrown onto a floor",
     HEAD "<worldbody>" FLOOR "<body pos='0 0 0.5'><freejoint/><geom type='box' size='0.1 0.2 0.05'"
          " friction='0.3'/></body></worldbody><keyframe>"
          "<key qpos='0 0 0.4 0.9 0.3 -0.2 0.1' qvel='1 0.5 -1 3 -2 1'/></keyframe></mujoco>",
     500, 1e-7},
    {"balls of several softnesses",
     HEAD "<default><geom friction='0.2'/></default><worldbody>" FLOOR
          "<body pos='0 0 0.1'><freejoint/><geom size='0.1' solref='0.05 0.7' solmix='3'/></body>"
          "<body pos='0.05 0 0.33'><freejoint/><geom size='0.1' solimp='0.5 0.99 0.01 0.3 3'/>"
          "</body><body pos='0 0.03 0.6'><freejoint/><geom size='0.1' solref='-5000 -60' "
          "solimp='0.8 0.8 0.01'/></body><body pos='0 0.03 0.85'><freejoint/><geom size='0.1' "
          "priority='2' solref='0.01 0.3' friction='0.9'/></body></worldbody></mujoco>",
     500, 1e-7},
    {"pair with its own softness and two frictions",
     HEAD "<worldbody>" FLOOR "<body pos='0 0 0.2'><freejoint/><geom name='a' size='0.1'/></body>"
          "</worldbody><contact><pair geom1='floor' geom2='a' friction='0.5 0.2' condim='3' "
          "solref='0.03 1.2' solimp='0.7 0.9 0.02'/></contact><keyframe>"
          "<key qpos='0 0 0.2 1 0 0 0' qvel='2 1 -1 0 0 5'/></keyframe></mujoco>",
     400, TOLERANCE},
    {"arm with limits and damping that hits the floor",
     HEAD "<compiler angle='radian'/><worldbody>" FLOOR
          "<body pos='0 0 0.5'><joint axis='0 1 0' damping='0.3' range='-0.4 0.9' limited='true' "
          "solreflimit='0.03 0.8'/><geom type='capsule' fromto='0 0 0 0.4 0 0' size='0.04'/>"
          "<body pos='0.4 0 0'><joint axis='0 1 0' damping='0.1' range='-0.5 1.1' limited='true' "
          "solimplimit='0.8 0.99 0.01'/><geom type='capsule' fromto='0 0 0 0.4 0 0' size='0.03'/>"
          "<body pos='0.4 0 0'><joint type='slide' axis='1 0.2 0' range='-0.1 0.1' "
          "limited='true'/><geom size='0.06'/></body></body></body></worldbody></mujoco>",
     800, 1e-7},
    {"free body with its centre of mass aside",
     HEAD "<worldbody>" FLOOR "<body pos='0 0 0.3'><freejoint/><geom type='capsule' "
          "fromto='0 0 0 0.3 0 0.1' size='0.05'/><geom size='0.08' pos='-0.1 0.1 0'/>"
          "</body></worldbody><keyframe><key qpos='0 0 0.3 0.9 0.3 -0.2 0.1' "
          "qvel='0.5 0 0 1 2 0'/></keyframe></mujoco>",
     400, 1e-6}, // MuJoCo finds its principal axes to 1e-9 or so
    {"condim 1",
     HEAD "<worldbody><geom name='floor' type='plane' size='9 9 1' condim='1'/>"
          "<body pos='0 0 0.2'><freejoint/><geom size='0.1' condim='1'/></body></worldbody>"
          "<keyframe><key qpos='0 0 0.2 1 0 0 0' qvel='2 1 -1 0 4 5'/></keyframe></mujoco>",
     300, TOLERANCE},
};

// a warning would make MuJoCo write a file into the working folder
static void ignore(const char *text) {
    (void)text;
}

static mjModel *open_mujoco(const char *text) {
    const char *path = CAROM_BINARY_DIR "/mujoco_soft.xml";
    char error[500] = "";
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    mju_user_warning = ignore;
    mjModel *m = mj_loadXML(path, NULL, error, sizeof error);
    remove(path);
    if (!m) {
        fail_msg("MuJoCo: %s", error);
    }
    m->opt.solver = mjSOL_NEWTON;
    m->opt.iterations = 200;
    m->opt.tolerance = 0.0;
    return m;
}

static double apart(int n, const double *a, const double *b) {
    double most = 0.0;
    for (int i = 0; i < n; i++) {
        most = fmax(most, fabs(a[i] - b[i]));
    }
    return most;
}

// largest difference of positions and velocities over the run; *n_touch steps had contacts
static double run(const scene *s, int *n_touch) {
    cr_error err = {0};
    cr_model *model = NULL;
    cr_sim *sim = NULL;
    double x[80], u[40] = {0}, most = 0.0;
    mjModel *m = open_mujoco(s->text);
    mjData *d = mj_makeData(m);
    if (m->nkey > 0) {
        mj_resetDataKeyframe(m, d, 0);
    }
    if (cr_model_parse(s->text, strlen(s->text), s->name, &model, &err) != CR_OK) {
        fail_msg("%s", err.text);
    }
    cr_sizes z = cr_model_sizes(model);
    assert_true(z.n_q == m->nq && z.n_v == m->nv && z.n_x <= 80 && z.n_u <= 40);
    cr_sim_options options = cr_sim_options_default(model);
    options.law = "soft";
    options.use_gradient = false;
    if (cr_sim_create(model, &options, &sim, &err) != CR_OK) {
        fail_msg("%s", err.text);
    }
    cr_model_defaults(model, -1, NULL, x, NULL);
    *n_touch = 0;
    for (int k = 0; k < s->n_step; k++) {
        mj_step(m, d);
        if (cr_sim_step(sim, m->opt.timestep, x, u, x, &err) != CR_OK) {
            fail_msg("%s", err.text);
        }
        CHECK_INT(cr_sim_report(sim)->outcome, CR_SOLVED);
        *n_touch += d->ncon > 0;
        most = fmax(most, apart(m->nq, x, d->qpos));
        most = fmax(most, apart(m->nv, x + m->nq, d->qvel));
    }
    cr_sim_destroy(sim);
    cr_model_destroy(model);
    mj_deleteData(d);
    mj_deleteModel(m);
    return most;
}

TEST(soft_contacts_move_as_in_mujoco) {
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        int n_touch;
        double most = run(&scenes[i], &n_touch);
        print_message("%-46s %4d steps, %4d in contact: %.1e apart\n", scenes[i].name,
                      scenes[i].n_step, n_touch, most);
        CHECK(n_touch > 50);
        CHECK_CLOSE(most, 0.0, scenes[i].tolerance, 0.0);
    }
}

CR_TEST_MAIN(soft_contacts_move_as_in_mujoco)
