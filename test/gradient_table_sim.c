// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: steps and rollouts of raw numbers, as users have them.
//
// x = (state, u, p or d), its quaternions not unit; y = states, raw as well.

#include "gradient_table.h"

#include <string.h>

enum { N_STEP = 5, N_MIDDLE = 3 };

static const table_scene scene = {
    .gravity = "0.3 -0.2 -9.81",
    .normal = "0.2 -0.3 1",
    .friction = 0.3,
    .restitution = 0.5,
    .bodies = "op",
    .qpos = "0 0 0.8 0.8 0.3 -0.4 0.2 0.3 0.2 2.2 0.9 0.2 -0.1 0.3",
    .qvel = "1 2 -1.5 1.5 -2 2.5 0.5 1 -4 1 2 3",
};

// a tree of all kinds of joints whose hand hits the floor, and a ball on top of it
static const char tree[] =
    "<mujoco><option gravity='0.3 -0.2 -9.81'/><custom>"
    "<numeric name='carom:restitution:floor' data='0.5'/>"
    "<numeric name='carom:restitution:ball' data='0.4'/></custom><worldbody>"
    "<geom name='floor' type='plane' size='9 9 1' pos='0 0 0.31' zaxis='0.1 -0.2 1' "
    "friction='0.4'/>"
    "<body name='rail' pos='0 0 0.9'><joint type='slide' axis='1 0 0.3' damping='0.2'/>"
    "<inertial pos='0 0.1 0' mass='1.5' diaginertia='0.3 0.4 0.5'/>"
    "<body name='arm' pos='0.1 0.1 0'><joint type='ball' damping='0.1'/>"
    "<inertial pos='0.2 0 -0.1' mass='0.8' diaginertia='0.1 0.12 0.09'/>"
    "<body name='hand' pos='0.3 0 -0.4'><joint name='wrist' axis='0.2 1 0' stiffness='2'/>"
    "<inertial pos='0 0.05 -0.1' mass='0.5' diaginertia='0.1 0.12 0.09'/>"
    "<geom name='hand' type='box' size='0.1 0.15 0.12' pos='0 0 -0.2' friction='0.2'/>"
    "</body></body></body>"
    "<body name='ball'><freejoint/><inertial pos='0 0 0' mass='1.2' diaginertia='0.2 0.3 0.4'/>"
    "<geom name='ball' type='sphere' size='0.3' friction='0.3'/></body></worldbody>"
    "<actuator><motor joint='wrist' gear='2'/></actuator>"
    "<keyframe><key qpos='0.1 0.95 0.1 -0.2 0.1 0.3 0.5 0.2 0.95 0.8 0.3 -0.4 0.2'"
    " qvel='0.3 0.5 1.5 -0.7 0.8 0.2 -0.1 -3 1 -2 0.5'/></keyframe></mujoco>";

static const double wrench[12] = {0.1, -0.2, 0.3, 0.4, -0.2, 0.6, 0.6, 0.7, 0.4, -0.1, 0.3, -0.2};
static const double dt = 0.06; // three impacts

/// The scene of the row, and its last step.
static table_stage stage;
static cri_step_record *record;

// parts of x, n_row rows of u
static int at_u(void) {
    return stage.n.n_x;
}

static int at_p(int n_row) {
    return at_u() + n_row * stage.n.n_u;
}

static void must(cr_status status) {
    assert_int_equal(status, CR_OK);
}

// first of a joint's quaternion in q, -1: none
static int quat_of(int j) {
    const cri_joint *joint = &stage.model->mech.joint[j];
    return joint->n_q >= 4 ? joint->q + joint->n_q - 4 : -1;
}

// states whose quaternions have the lengths 1.5 and 0.5; p may move
static void open_point(bool is_tree, double *x, table_move *move, int n_row) {
    cr_sim_options options = table_options("located", "ncp");
    options.checkpoint_every = 2;
    if (is_tree) {
        table_open(&stage, tree, &options);
    } else {
        table_open_scene(&stage, &scene, &options);
    }
    memcpy(x, stage.x, sizeof *x * (size_t)stage.n.n_x);
    double length = 1.5;
    for (int j = 0; j < stage.model->mech.n_joint; j++) {
        int quat = quat_of(j);
        for (int i = 0; quat >= 0 && i < 4; i++) {
            x[quat + i] *= length;
        }
        length = quat >= 0 ? 2.0 - length : length;
    }
    for (int k = 0; k < n_row; k++) {
        for (int i = 0; i < stage.n.n_u; i++) {
            x[at_u() + k * stage.n.n_u + i] = (1.0 + 0.2 * k) * wrench[i];
        }
    }
    cr_model_defaults(stage.model, -1, x + at_p(n_row), NULL, NULL);
    for (int i = 0; i < stage.n.n_p; i++) {
        double lower, upper;
        bool is_open;
        cr_model_domain(stage.model, i, &lower, &upper, &is_open);
        bool is_edge = x[at_p(n_row) + i] == lower;
        move[at_p(n_row) + i] = is_open ? TABLE_POSITIVE : is_edge ? TABLE_UP : TABLE_FREE;
    }
}

// ---- single steps ------------------------------------------------------------------------------

static void inner_forward(const double *x, double *y) {
    cr_sim *sim = stage.sim;
    table_set_derived(&stage, x + at_p(1));
    cri_arena_reset(sim->tape);
    cri_arena_reset(sim->scratch);
    must(cri_sim_step(sim, dt, x, x + at_u(), y, &record, NULL));
}

static void inner_vjp(const double *x, const double *y_adj, double *x_adj) {
    (void)x;
    table_begin_derived_adj(&stage);
    must(cri_sim_step_vjp(stage.sim, record, y_adj, x_adj, x_adj + at_u(), NULL));
    table_add_derived_adj(&stage, x_adj + at_p(1));
}

static void step_forward(const double *x, double *y) {
    must(cr_sim_set_params(stage.sim, x + at_p(1), NULL));
    must(cr_sim_step(stage.sim, dt, x, x + at_u(), y, NULL));
}

static void step_vjp(const double *x, const double *y_adj, double *x_adj) {
    (void)x;
    must(cr_sim_step_vjp(stage.sim, y_adj, x_adj, x_adj + at_u(), x_adj + at_p(1), NULL));
}

// raw tangents on both sides of cr_sim_step_jac
static void step_jvp(const double *x, const double *x_tan, double *y_tan) {
    int n_q = stage.n.n_q, n_v = stage.n.n_v;
    double in[TABLE_LIMIT], out[TABLE_LIMIT];
    const cri_mechanism *mech = &stage.model->mech;
    for (int j = 0; j < mech->n_joint; j++) {
        const cri_joint *joint = &mech->joint[j];
        int quat = quat_of(j), n = quat >= 0 ? quat - joint->q : joint->n_q;
        memcpy(in + joint->v, x_tan + joint->q, sizeof *in * (size_t)n);
        if (quat >= 0) {
            cri_vec3 theta = cri_quat_tangent(cri_q4_load(x + quat), x_tan + quat);
            cri_v3_store(theta, in + joint->v + n);
        }
    }
    memcpy(in + n_v, x_tan + n_q, sizeof *in * (size_t)n_v);
    must(cr_sim_step_jac(stage.sim, 1, in, x_tan + at_u(), x_tan + at_p(1), out, NULL));
    const double *next = stage.sim->last->x_next;
    for (int j = 0; j < mech->n_joint; j++) {
        const cri_joint *joint = &mech->joint[j];
        int quat = quat_of(j), n = quat >= 0 ? quat - joint->q : joint->n_q;
        memcpy(y_tan + joint->q, out + joint->v, sizeof *out * (size_t)n);
        if (quat >= 0) {
            const double *theta = out + joint->v + n;
            cri_quat half = {0.0, 0.5 * theta[0], 0.5 * theta[1], 0.5 * theta[2]};
            cri_q4_store(cri_quat_mul(cri_q4_load(next + quat), half), y_tan + quat);
        }
    }
    memcpy(y_tan + n_q, out + n_v, sizeof *out * (size_t)n_v);
}

static void check_raw_step(bool is_tree, int n_event) {
    double x[TABLE_LIMIT];
    table_move move[TABLE_LIMIT] = {0};
    open_point(is_tree, x, move, 1);
    table_check(&(table_row){.name = "sim_step",
                             .vjp_name = "cr_sim_step_vjp",
                             .n_in = at_p(1) + stage.n.n_p,
                             .n_out = stage.n.n_x,
                             .forward = step_forward,
                             .vjp = step_vjp,
                             .jvp = step_jvp,
                             .x = x,
                             .move = move,
                             .step = 1e-3});
    CHECK_INT(cr_sim_report(stage.sim)->n_event, n_event);

    memcpy(x + at_p(1), stage.d, sizeof *x * (size_t)stage.n_d);
    table_move_derived(&stage, move + at_p(1));
    table_check(&(table_row){.name = "inner sim_step",
                             .vjp_name = "cri_sim_step_vjp",
                             .n_in = at_p(1) + stage.n_d,
                             .n_out = stage.n.n_x,
                             .forward = inner_forward,
                             .vjp = inner_vjp,
                             .x = x,
                             .move = move,
                             .step = 1e-3});
    table_close(&stage);
}

TEST(a_step_of_raw_numbers_has_its_gradient) {
    check_raw_step(false, 3);
    check_raw_step(true, 3);
}

// ---- rollouts ----------------------------------------------------------------------------------

/// Rows of u of the rollout under test: one for all steps, or one a step.
static int n_u_row;

// states at the start, in the middle and at the end
static void rollout_forward(const double *x, double *y) {
    static double u[TABLE_LIMIT], path[(N_STEP + 1) * TABLE_LIMIT];
    static const double part = dt / N_STEP;
    size_t n_x = (size_t)stage.n.n_x;
    memcpy(u, x + at_u(), sizeof *u * (size_t)(n_u_row * stage.n.n_u));
    cr_rollout rollout = {.n_step = N_STEP, .dt = &part, .n_dt = 1, .u = u, .n_u_row = n_u_row};
    must(cr_sim_set_params(stage.sim, x + at_p(n_u_row), NULL));
    must(cr_sim_rollout(stage.sim, &rollout, x, path, NULL, NULL));
    memcpy(y, path, sizeof *y * n_x);
    memcpy(y + n_x, path + N_MIDDLE * n_x, sizeof *y * n_x);
    memcpy(y + 2 * n_x, path + N_STEP * n_x, sizeof *y * n_x);
}

static void rollout_vjp(const double *x, const double *y_adj, double *x_adj) {
    (void)x;
    const cr_seed seeds[] = {
        {0, y_adj}, {N_MIDDLE, y_adj + stage.n.n_x}, {N_STEP, y_adj + 2 * (size_t)stage.n.n_x}};
    must(cr_sim_rollout_vjp(stage.sim, 3, seeds, x_adj, x_adj + at_u(), x_adj + at_p(n_u_row),
                            NULL));
}

TEST(a_rollout_has_its_gradient) {
    static const int rows[] = {1, N_STEP, 1, N_STEP};
    for (int k = 0; k < 4; k++) {
        double x[TABLE_LIMIT];
        table_move move[TABLE_LIMIT] = {0};
        n_u_row = rows[k];
        open_point(k >= 2, x, move, n_u_row);
        table_check(&(table_row){.name = n_u_row == 1 ? "rollout" : "rollout, u of each step",
                                 .vjp_name = "cr_sim_rollout_vjp",
                                 .n_in = at_p(n_u_row) + stage.n.n_p,
                                 .n_out = 3 * stage.n.n_x,
                                 .forward = rollout_forward,
                                 .vjp = rollout_vjp,
                                 .x = x,
                                 .move = move,
                                 .step = 1e-3});
        CHECK_INT(cr_sim_report(stage.sim)->n_event, 3);
        table_close(&stage);
    }
}

// ---- what is not wanted ------------------------------------------------------------------------

TEST(adjoints_that_are_not_wanted_change_no_others) {
    double x[TABLE_LIMIT], y[TABLE_LIMIT], all[TABLE_LIMIT] = {0}, one[TABLE_LIMIT] = {0};
    table_move move[TABLE_LIMIT] = {0};
    open_point(false, x, move, 1);
    cr_sim *sim = stage.sim;
    int n_in = at_p(1) + stage.n.n_p;
    step_forward(x, y);
    step_vjp(x, y, all);
    must(cr_sim_step_vjp(sim, y, one, NULL, NULL, NULL));
    must(cr_sim_step_vjp(sim, y, NULL, one + at_u(), NULL, NULL));
    must(cr_sim_step_vjp(sim, y, NULL, NULL, one + at_p(1), NULL));
    CHECK(memcmp(one, all, sizeof *one * (size_t)n_in) == 0);

    double path[3 * TABLE_LIMIT] = {0};
    memset(all, 0, sizeof all);
    memset(one, 0, sizeof one);
    n_u_row = 1;
    rollout_forward(x, path);
    rollout_vjp(x, path, all);
    const cr_seed seeds[] = {
        {0, path}, {N_MIDDLE, path + stage.n.n_x}, {N_STEP, path + 2 * (size_t)stage.n.n_x}};
    must(cr_sim_rollout_vjp(sim, 3, seeds, one, NULL, NULL, NULL));
    must(cr_sim_rollout_vjp(sim, 3, seeds, NULL, one + at_u(), NULL, NULL));
    must(cr_sim_rollout_vjp(sim, 3, seeds, NULL, NULL, one + at_p(1), NULL));
    CHECK(memcmp(one, all, sizeof *one * (size_t)n_in) == 0);
    table_close(&stage);
}

TABLE_PART(gradient_table_sim, a_step_of_raw_numbers_has_its_gradient, a_rollout_has_its_gradient,
           adjoints_that_are_not_wanted_change_no_others)
