// SPDX-License-Identifier: MIT
//
// Points and trees are two ways to describe the same mechanics: a chain of pendulums, a disk and a
// top move alike in both, to the error of their integration. The trees are MJCF.

#include "points/system/points_fixture.h"

#include "carom/carom.h"

static fixture_rooms rooms;

/// A tree in motion.
typedef struct tree {
    cr_model *model;
    cr_sim *sim;
    cr_sizes n;
    double x[32];
} tree;

static tree open_tree(const char *mjcf, const char *law) {
    tree t = {0};
    cr_error err;
    if (cr_model_parse(mjcf, strlen(mjcf), "tree", &t.model, &err) != CR_OK) {
        fail_msg("%s", err.text);
    }
    cr_sim_options options = cr_sim_options_default(t.model);
    if (law) {
        options.stepper = "end";
        options.law = law;
    }
    assert_int_equal(cr_sim_create(t.model, &options, &t.sim, &err), CR_OK);
    t.n = cr_model_sizes(t.model);
    assert_true(t.n.n_x <= 32);
    cr_model_defaults(t.model, -1, NULL, t.x, NULL);
    return t;
}

static void run_tree(tree *t, double dt, int n) {
    cr_error err;
    for (int k = 0; k < n; k++) {
        assert_int_equal(cr_sim_step(t->sim, dt, t->x, NULL, t->x, &err), CR_OK);
    }
}

static void close_tree(tree *t) {
    cr_sim_destroy(t->sim);
    cr_model_destroy(t->model);
}

static void run_points(cri_points_scene *sc, double dt, int n, double *x) {
    sc->dt = dt;
    for (int k = 0; k < n; k++) {
        cri_arena_reset(rooms.keep);
        assert_non_null(cri_points_step(sc, sc->p, 1, x, x, NULL, rooms.keep, rooms.scratch));
    }
}

static double worst(int n, const double *a, const double *b) {
    double most = 0.0;
    for (int i = 0; i < n; i++) {
        most = fmax(most, fabs(a[i] - b[i]));
    }
    return most;
}

// ---- chain -------------------------------------------------------------------------------------

// masses without size; the least inertia that a body may have moves it by 1e-9 of its own
static const char chain_scene[] =
    "<mujoco><option integrator='RK4' gravity='0 -9.81 0'/><worldbody>"
    "<body name='a'><joint name='a' type='hinge' axis='0 0 1'/>"
    "<inertial pos='0 -0.35 0' mass='0.2' diaginertia='1e-12 1e-12 1e-12'/>"
    "<body name='b' pos='0 -0.35 0'><joint name='b' type='hinge' axis='0 0 1'/>"
    "<inertial pos='0 -0.4 0' mass='0.13' diaginertia='1e-12 1e-12 1e-12'/>"
    "<body name='c' pos='0 -0.4 0'><joint name='c' type='hinge' axis='0 0 1'/>"
    "<inertial pos='0 -0.35 0' mass='0.15' diaginertia='1e-12 1e-12 1e-12'/>"
    "</body></body></body></worldbody></mujoco>";

static const double angles[3] = {0.9, 0.4, 1.4}, rates[3] = {1.0, -2.0, 1.5};

// half a second of a chain with steps dt, against the tree's with a quarter of a millisecond
static double chain_error(cri_points_form form, double dt) {
    double state[12], want[12], q[3], w[3];
    tree t = open_tree(chain_scene, NULL);
    cri_points_scene *sc = fixture_scene("cp3-e", 0);
    sc->form = form;
    sc->has_contact = false;
    for (int k = 0; k < 3; k++) {
        t.x[k] = angles[k] - (k > 0 ? angles[k - 1] : 0.0);
        t.x[3 + k] = rates[k] - (k > 0 ? rates[k - 1] : 0.0);
    }
    fixture_chain(angles, rates, state);
    run_tree(&t, 2.5e-4, 2000);
    run_points(sc, dt, (int)lrint(0.5 / dt), state);
    for (int k = 0; k < 3; k++) {
        q[k] = t.x[k] + (k > 0 ? q[k - 1] : 0.0);
        w[k] = t.x[3 + k] + (k > 0 ? w[k - 1] : 0.0);
    }
    fixture_chain(q, w, want);
    cri_points_scene_destroy(sc);
    close_tree(&t);
    return worst(12, state, want);
}

// errors of fourth order, in both forms
static void check_errors(double (*error)(cri_points_form, double)) {
    rooms = fixture_open();
    for (int k = 0; k < 2; k++) {
        cri_points_form form = k ? CRI_HAMILTON : CRI_LAGRANGE;
        double coarse = error(form, 5e-3), fine = error(form, 1e-3);
        CHECK(coarse < 1e-5);
        CHECK(fine < 1e-8);
        CHECK(fine < coarse / 200.0); // 625
    }
    fixture_close(&rooms);
}

TEST(a_chain_of_points_moves_like_a_tree) {
    check_errors(chain_error);
}

// ---- top ---------------------------------------------------------------------------------------

static const char top_scene[] =
    "<mujoco><option integrator='RK4' gravity='0 0 -9.81'/><worldbody>"
    "<body name='top'><joint name='j' type='ball'/>"
    "<inertial pos='0 0 0.5' mass='0.1' diaginertia='0.028 0.028 0.048'/>"
    "</body></worldbody></mujoco>";

// rotation of the quaternion q (w x y z) applied to a
static void rotate(const double *q, const double *a, double *out) {
    double u[3] = {q[1], q[2], q[3]}, c[3], d[3];
    for (int i = 0; i < 3; i++) {
        c[i] = u[(i + 1) % 3] * a[(i + 2) % 3] - u[(i + 2) % 3] * a[(i + 1) % 3];
    }
    for (int i = 0; i < 3; i++) {
        d[i] = u[(i + 1) % 3] * c[(i + 2) % 3] - u[(i + 2) % 3] * c[(i + 1) % 3];
        out[i] = a[i] + 2.0 * (q[0] * c[i] + d[i]);
    }
}

// the state of points from the tree's quaternion and angular velocity in the body
static void top_state(const double *x, double *state) {
    double omega[3], axis[3][3];
    rotate(x, x + 4, omega);
    for (int k = 0; k < 3; k++) {
        rotate(x, (double[]){k == 0, k == 1, k == 2}, axis[k]);
    }
    for (int k = 0; k < 4; k++) {
        double *at = state + 3 * k, *v = state + 12 + 3 * k;
        for (int c = 0; c < 3; c++) {
            at[c] = 0.5 * axis[2][c] + (k > 0 ? axis[k - 1][c] : 0.0);
        }
        for (int c = 0; c < 3; c++) {
            int i = (c + 1) % 3, j = (c + 2) % 3;
            v[c] = omega[i] * at[j] - omega[j] * at[i];
        }
    }
}

static double top_error(cri_points_form form, double dt) {
    double state[24], want[24];
    tree t = open_tree(top_scene, NULL);
    cri_points_scene *sc = fixture_scene("gyro", 0);
    sc->form = form;
    sc->has_contact = false;
    // tilted by 0.6 about x, spinning
    memcpy(t.x, (double[]){cos(0.3), sin(0.3), 0.0, 0.0, 0.4, -0.3, 8.0}, 7 * sizeof(double));
    top_state(t.x, state);
    run_tree(&t, 2.5e-4, 2000);
    run_points(sc, dt, (int)lrint(0.5 / dt), state);
    top_state(t.x, want);
    cri_points_scene_destroy(sc);
    close_tree(&t);
    return worst(24, state, want);
}

TEST(a_top_of_points_moves_like_a_tree) {
    check_errors(top_error);
}

// ---- disk --------------------------------------------------------------------------------------

// a disk of points' moments: 0.1 kg, radius 0.1 m, m r^2/2 about its axis
static const char disk_scene[] =
    "<mujoco><option integrator='RK4' gravity='0 -9.81 0'/><worldbody>"
    "<geom name='floor' type='plane' size='5 5 1' zaxis='0 1 0' friction='0.2'/>"
    "<body name='disk' pos='0.25 0.65 0'><joint type='slide' axis='1 0 0'/>"
    "<joint type='slide' axis='0 1 0'/><joint type='hinge' axis='0 0 1'/>"
    "<inertial pos='0 0 0' mass='0.1' diaginertia='2.5e-4 2.5e-4 5e-4'/>"
    "<geom name='rim' type='sphere' size='0.1' friction='0.2'/></body></worldbody>"
    "<custom><numeric name='carom:restitution:floor:rim' data='0.8'/></custom></mujoco>";

// x y angle and rates of the tree to points
static void disk_state(const double *x, double *state) {
    double centre[2] = {0.25 + x[0], 0.65 + x[1]};
    fixture_disk(centre, x[2], x + 3, x[5], state, state + 6);
}

TEST(a_disk_of_points_flies_and_bounces_like_a_tree) {
    double state[12], want[12];
    rooms = fixture_open();
    for (int k = 0; k < 2; k++) {
        tree t = open_tree(disk_scene, "cone");
        cri_points_scene *sc = fixture_scene("bd1", 0);
        // k = 0: in flight; k = 1: 1 mm above the floor, which it meets in the next step; there is
        // no target velocity in a tree
        t.x[1] = k ? -0.549 : 0.0;
        t.x[3] = 0.7;
        t.x[4] = -2.0;
        t.x[5] = 5.0;
        sc->law.share = 1e12;
        disk_state(t.x, state);
        run_tree(&t, 2e-3, k ? 1 : 20);
        run_points(sc, 2e-3, k ? 1 : 20, state);
        disk_state(t.x, want);
        // positions end where the smooth motion does, in both; the axes of points turn by RK4
        CHECK(worst(12, state, want) < (k ? 1e-11 : 1e-9));
        CHECK(k == 0 || state[7] > 1.0);
        cri_points_scene_destroy(sc);
        close_tree(&t);
    }
    fixture_close(&rooms);
}

CR_TEST_MAIN(a_chain_of_points_moves_like_a_tree, a_top_of_points_moves_like_a_tree,
             a_disk_of_points_flies_and_bounces_like_a_tree)
