// SPDX-License-Identifier: MIT
//
// The WAM arm, read from its URDF by Carom and by DART 6.12: masses; poses of links, M(q), the bias
// c(q, v) and accelerations at random states; one second of motion under constant forces.
//
// DART's integrator has order 1. Its accelerations are integrated here by the classical Runge-Kutta
// method, with the steps of Carom's, which on hinges is the same method.

#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "dart_arm.h"
#include "dynamics/tree.h"
#include "model/model.h"
#include "sim/sim.h"
#include "support/cr_test.h"

// both compute the same formulas in other orders; rounding of some hundred operations
#define TOLERANCE 1e-9

enum { N_STATE = 50, N_STEP = 1000, N_DOF = 7, N_BODY = 8 };

typedef struct arms {
    dart_arm *dart;
    cr_model *model;
    cr_sim *sim;
    cr_arena *memory;
    cr_arena *scratch;
    cri_tree *tree;
    double q[N_DOF], v[N_DOF], tau[N_DOF];
} arms;

static const char *wam(void) {
    static char path[1000];
    const char *root = getenv("CAROM_SHARED");
    snprintf(path, sizeof path, "%s/data/robots/wam/wam.urdf",
             root ? root : CAROM_SOURCE_DIR "/../shared");
    return path;
}

// largest difference relative to the largest number; the report keeps the largest ever
static void compare(const char *what, int n, const double *carom, const double *dart,
                    double *most_ever) {
    double scale = 0.0;
    double most = 0.0;
    int at = 0;
    for (int i = 0; i < n; i++) {
        scale = fmax(scale, fmax(fabs(carom[i]), fabs(dart[i])));
        double error = fabs(carom[i] - dart[i]);
        if (error > most || isnan(error)) {
            most = error;
            at = i;
        }
    }
    double relative = scale > 0.0 ? most / scale : 0.0;
    *most_ever = fmax(*most_ever, relative);
    bool is_judged = cr_test_tolerance_scale() > 0.0;
    if (is_judged && !(relative <= TOLERANCE * cr_test_tolerance_scale())) {
        cr_test_fail("%s %d of %d: carom %.17g, DART %.17g, relative %.3g", what, at, n, carom[at],
                     dart[at], relative);
    }
}

// ---- opening -----------------------------------------------------------------------------------

static bool is_same_robot(const arms *s) {
    const cri_mechanism *mech = &s->model->mech;
    bool is_same = CHECK_INT(mech->n_v, N_DOF) && CHECK_INT(mech->n_body, N_BODY) &&
                   CHECK_INT(mech->n_unit, 1) && CHECK_INT(dart_arm_n_dof(s->dart), N_DOF) &&
                   CHECK_INT(dart_arm_n_body(s->dart), N_BODY);
    for (int i = 0; i < N_DOF && is_same; i++) {
        char name[8];
        snprintf(name, sizeof name, "/j%d", i + 1);
        is_same = CHECK_TEXT(dart_arm_joint_name(s->dart, i), name);
    }
    for (int b = 0; b < N_BODY && is_same; b++) {
        char name[16] = "/wam_base";
        if (b > 0) {
            snprintf(name, sizeof name, "/wam%d", b);
        }
        is_same = CHECK_TEXT(dart_arm_body_name(s->dart, b), name);
    }
    return is_same;
}

static bool open_arms(arms *s) {
    *s = (arms){0};
    if (access(wam(), R_OK) != 0) {
        print_message("%s is missing\n", wam());
        return false;
    }
    cr_error err = {0};
    if (cr_model_load(wam(), &s->model, &err) != CR_OK) {
        cr_test_fail("carom refuses the WAM: %s", err.text);
        return false;
    }
    cr_sim_options options = cr_sim_options_default(s->model);
    if (cr_sim_create(s->model, &options, &s->sim, &err) != CR_OK) {
        cr_test_fail("carom refuses the WAM: %s", err.text);
        return false;
    }
    s->dart = dart_arm_load(wam());
    if (!s->dart) {
        cr_test_fail("DART refuses the WAM");
        return false;
    }
    s->memory = cri_arena_create(1 << 16);
    s->scratch = cri_arena_create(1 << 16);
    s->tree = cri_tree_push(&s->model->mech, 0, &s->sim->d.mech, s->memory);
    return is_same_robot(s);
}

static void close_arms(arms *s) {
    dart_arm_destroy(s->dart);
    cri_arena_destroy(s->memory);
    cri_arena_destroy(s->scratch);
    cr_sim_destroy(s->sim);
    cr_model_destroy(s->model);
}

static void random_state(arms *s, cr_test_rng *rng) {
    for (int i = 0; i < N_DOF; i++) {
        s->q[i] = cr_test_uniform(rng, -3.0, 3.0);
        s->v[i] = cr_test_uniform(rng, -2.0, 2.0);
    }
    dart_arm_set(s->dart, s->q, s->v, s->tau);
    double M[N_DOF * N_DOF];
    dart_arm_mass_matrix(s->dart, M);
    // forces that accelerate a dof by about 1, however light it is
    for (int i = 0; i < N_DOF; i++) {
        s->tau[i] = M[i * (N_DOF + 1)] * cr_test_uniform(rng, -1.0, 1.0);
    }
    dart_arm_set(s->dart, s->q, s->v, s->tau);
    cri_tree_set(s->tree, s->q, s->scratch);
}

// ---- comparisons -------------------------------------------------------------------------------

static void compare_masses(const arms *s, double *most) {
    double carom[N_BODY + 1] = {0};
    double dart[N_BODY + 1];
    for (int b = 0; b < N_BODY; b++) {
        carom[b] = s->sim->d.mech.link[b].mass;
        dart[b] = dart_arm_mass(s->dart, b);
        carom[N_BODY] += carom[b];
        // the base stands still, so that its mass counts nowhere else
        CHECK(carom[b] > 0.0 || s->model->mech.link[b].unit < 0);
    }
    dart[N_BODY] = dart_arm_total_mass(s->dart);
    if (carom[0] == 0.0) {
        dart[N_BODY] -= dart[0];
        dart[0] = 0.0;
    }
    compare("mass", N_BODY + 1, carom, dart, most);
}

static void compare_poses(const arms *s, double *most) {
    double carom[N_BODY][12];
    double dart[N_BODY][12];
    for (int b = 1; b < N_BODY; b++) {
        cri_pose pose = cri_tree_pose(s->tree, b);
        cri_v3_store(pose.pos, carom[b]);
        memcpy(carom[b] + 3, pose.R.m, sizeof pose.R.m);
        dart_arm_pose(s->dart, b, dart[b], dart[b] + 3);
    }
    compare("pose", 12 * (N_BODY - 1), carom[1], dart[1], most);
}

// so that a light dof counts as much as a heavy one: times sqrt(M_ii)^power
static void weigh(const double *M, double power, double *a) {
    for (int i = 0; i < N_DOF; i++) {
        a[i] *= pow(M[i * (N_DOF + 1)], 0.5 * power);
    }
}

static void compare_mass_matrix(const arms *s, double *M, double *most) {
    double carom[N_DOF * N_DOF];
    double dart[N_DOF * N_DOF];
    dart_arm_mass_matrix(s->dart, M);
    memcpy(dart, M, sizeof dart);
    for (int k = 0; k < N_DOF; k++) {
        double unit_vector[N_DOF] = {0};
        unit_vector[k] = 1.0;
        cri_tree_multiply(s->tree, unit_vector, carom + N_DOF * k);
        for (int i = 0; i < N_DOF; i++) {
            double scale = sqrt(M[i * (N_DOF + 1)] * M[k * (N_DOF + 1)]);
            carom[N_DOF * k + i] /= scale;
            dart[N_DOF * k + i] /= scale;
        }
    }
    compare("entry of M", N_DOF * N_DOF, carom, dart, most);
}

static void compare_forces(const arms *s, const double *M, double *bias, double *accel) {
    double carom[N_DOF];
    double dart[N_DOF];
    cri_tree_bias(s->tree, s->v, carom, s->scratch);
    dart_arm_bias(s->dart, dart);
    weigh(M, -1.0, carom);
    weigh(M, -1.0, dart);
    compare("bias", N_DOF, carom, dart, bias);

    cri_tree_accel(s->tree, s->v, s->tau, 0.0, carom, s->scratch);
    dart_arm_accel(s->dart, dart);
    weigh(M, 1.0, carom);
    weigh(M, 1.0, dart);
    compare("acceleration", N_DOF, carom, dart, accel);
}

// ---- motion ------------------------------------------------------------------------------------

// x = (q, v); k = h (v, a(x))
static void dart_rate(const arms *s, double h, const double *x, double *k) {
    double a[N_DOF];
    dart_arm_set(s->dart, x, x + N_DOF, s->tau);
    dart_arm_accel(s->dart, a);
    for (int i = 0; i < N_DOF; i++) {
        k[i] = h * x[N_DOF + i];
        k[N_DOF + i] = h * a[i];
    }
}

static void dart_step(const arms *s, double h, double *x) {
    static const double part[4] = {0.0, 0.5, 0.5, 1.0};
    static const double weight[4] = {1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0};
    double k[2 * N_DOF] = {0};
    double sum[2 * N_DOF] = {0};
    for (int stage = 0; stage < 4; stage++) {
        double y[2 * N_DOF];
        for (int i = 0; i < 2 * N_DOF; i++) {
            y[i] = x[i] + part[stage] * k[i];
        }
        dart_rate(s, h, y, k);
        for (int i = 0; i < 2 * N_DOF; i++) {
            sum[i] += weight[stage] * k[i];
        }
    }
    for (int i = 0; i < 2 * N_DOF; i++) {
        x[i] += sum[i];
    }
}

static void compare_motion(const arms *s, double *most) {
    cri_mechanism mech = s->model->mech;
    mech.is_euler = false;
    double carom[2 * N_DOF];
    double dart[2 * N_DOF];
    memcpy(carom, s->q, sizeof s->q);
    memcpy(carom + N_DOF, s->v, sizeof s->v);
    memcpy(dart, carom, sizeof dart);
    cr_arena *keep = cri_arena_create(1 << 16);
    for (int i = 0; i < N_STEP; i++) {
        double next[2 * N_DOF];
        cri_arena_reset(keep);
        cri_tree_start start = {carom, carom + N_DOF, s->tau, 1.0 / N_STEP};
        CHECK(cri_tree_flow(&mech, 0, &s->sim->d.mech, &start, next, next + N_DOF, keep,
                            s->scratch) != NULL);
        memcpy(carom, next, sizeof carom);
        dart_step(s, 1.0 / N_STEP, dart);
    }
    cri_arena_destroy(keep);
    compare("place or rate after 1 s", 2 * N_DOF, carom, dart, most);
}

TEST(the_wam_moves_as_in_dart) {
    arms s;
    if (open_arms(&s)) {
        cr_test_rng rng = cr_test_rng_of(1);
        double mass = 0.0, pose = 0.0, matrix = 0.0, bias = 0.0, accel = 0.0, motion = 0.0;
        compare_masses(&s, &mass);
        for (int k = 0; k < N_STATE; k++) {
            double M[N_DOF * N_DOF];
            random_state(&s, &rng);
            compare_poses(&s, &pose);
            compare_mass_matrix(&s, M, &matrix);
            compare_forces(&s, M, &bias, &accel);
        }
        compare_motion(&s, &motion);
        print_message("wam.urdf           mass %.0e pose %.0e M %.0e bias %.0e acceleration %.0e "
                      "motion %.0e\n",
                      mass, pose, matrix, bias, accel, motion);
    }
    bool is_missing = !s.model && access(wam(), R_OK) != 0;
    close_arms(&s);
    if (is_missing) {
        SKIP("the WAM is missing");
    }
}

CR_TEST_MAIN(the_wam_moves_as_in_dart)
