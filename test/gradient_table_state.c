// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: positions and poses of bodies on every kind of joint.

#include "gradient_table.h"

#include "dynamics/unit.h"

#include <string.h>

/// The scene of the row.
static table_stage stage;

// every kind of joint, off its body's origin, in one tree behind a free body
static const char chain[] =
    "<mujoco><worldbody><body name='root' pos='1 2 3' euler='10 20 30'><freejoint/>"
    "<inertial pos='0.1 0 0' mass='1' diaginertia='1 2 2.5'/>"
    "<body name='a' pos='0.3 0.2 -0.5' euler='40 0 10'><joint type='ball' pos='0.1 -0.2 0.3'/>"
    "<inertial pos='0 0 0' mass='1' diaginertia='1 2 2.5'/>"
    "<body name='b' pos='-0.3 0.4 0.6' euler='0 30 10'>"
    "<joint axis='1 2 -1' pos='0.2 0.1 -0.3' ref='20'/><joint type='slide' axis='0.3 -1 0.5' "
    "ref='0.1'/>"
    "<inertial pos='0 0 0' mass='1' diaginertia='1 2 2.5'/>"
    "<body name='end' pos='0.5 -0.6 0.7'/></body></body></body>"
    "<body name='alone' pos='7 0 0'><freejoint/><geom size='0.5'/></body></worldbody><keyframe>"
    "<key qpos='0.5 -0.4 1.2 0.5 -0.1 0.7 0.5 0.8 0.3 -0.4 0.2 0.7 -0.3 7 1 2 0.9 0.2 -0.1 0.3'"
    " qvel='0.4 0.5 -0.6 1.2 -0.7 0.9 0.8 -1.1 0.6 1.3 -0.5 1 2 3 -1 2 1.5'/></keyframe></mujoco>";

static void open_chain(void) {
    cr_sim_options options = table_options("located", "ncp");
    table_open(&stage, chain, &options);
}

static void advance_units(const double *v, double t, double *x) {
    for (int u = 0; u < stage.model->mech.n_unit; u++) {
        cri_advance(&stage.model->mech, u, x, v, t, x);
    }
}

// x = (displacement of q, v, t), y = displacement of q'; v goes through as it is
static void advance_forward(const double *x, double *y) {
    double at[TABLE_LIMIT], out[TABLE_LIMIT];
    table_displace(&stage, x, at);
    advance_units(at + stage.n.n_q, x[2 * stage.n.n_v], at);
    table_output(&stage, at, out);
    memcpy(y, out, sizeof *y * (size_t)stage.n.n_v);
}

static void advance_vjp(const double *x, const double *y_adj, double *x_adj) {
    int n_v = stage.n.n_v;
    double q_adj[TABLE_LIMIT], at[TABLE_LIMIT];
    table_displace(&stage, x, at);
    memcpy(q_adj, y_adj, sizeof *y_adj * (size_t)n_v);
    for (int u = 0; u < stage.model->mech.n_unit; u++) {
        x_adj[2 * n_v] += cri_advance_vjp(&stage.model->mech, u, at + stage.n.n_q, x[2 * n_v],
                                          q_adj, x_adj + n_v);
    }
    for (int i = 0; i < n_v; i++) {
        x_adj[i] += q_adj[i];
    }
}

static void advance_jvp(const double *x, const double *x_tan, double *y_tan) {
    int n_v = stage.n.n_v;
    double at[TABLE_LIMIT];
    table_displace(&stage, x, at);
    memcpy(y_tan, x_tan, sizeof *y_tan * (size_t)n_v);
    for (int u = 0; u < stage.model->mech.n_unit; u++) {
        cri_advance_jvp(&stage.model->mech, u, at + stage.n.n_q, x_tan + n_v, x[2 * n_v],
                        x_tan[2 * n_v], y_tan);
    }
}

TEST(advancing_every_joint_has_its_gradient) {
    static const double times[] = {0.4, 0.01, 0.0};
    open_chain();
    for (int k = 0; k < 3; k++) {
        double x[TABLE_LIMIT] = {0};
        int n_v = stage.n.n_v;
        x[2 * n_v] = times[k];
        memcpy(stage.next, stage.x, sizeof stage.next);
        advance_units(stage.x + stage.n.n_q, times[k], stage.next);
        table_check(&(table_row){.name = "advance",
                                 .vjp_name = "cri_advance_vjp",
                                 .jvp_name = "cri_advance_jvp",
                                 .n_in = 2 * n_v + 1,
                                 .n_out = n_v,
                                 .forward = advance_forward,
                                 .vjp = advance_vjp,
                                 .jvp = advance_jvp,
                                 .x = x});
    }
    table_close(&stage);
}

/// The body of the row, and the point of it.
static int body_i;
static cri_vec3 off;

static void position_forward(const double *x, double *y) {
    cri_v3_store(cri_body_position(stage.model, body_i, off, x), y);
}

static void position_vjp(const double *x, const double *y_adj, double *x_adj) {
    cri_body_position_vjp(stage.model, body_i, off, x, cri_v3_load(y_adj), x_adj);
}

TEST(positions_of_bodies_have_their_gradients) {
    open_chain();
    // quaternions of lengths 1.5 and 0.5, as a user may have them
    for (int i = 0; i < 4; i++) {
        stage.x[3 + i] *= 1.5;
        stage.x[7 + i] *= 0.5;
    }
    // its origin, and a point of it
    for (int k = 0; k < 2 * stage.n.n_body; k++) {
        body_i = k / 2;
        off = k % 2 == 0 ? cri_v3(0.0, 0.0, 0.0) : cri_v3(0.3, -0.2, 0.4);
        table_check(&(table_row){.name = "body_position",
                                 .vjp_name = "cri_body_position_vjp",
                                 .n_in = stage.n.n_x,
                                 .n_out = 3,
                                 .forward = position_forward,
                                 .vjp = position_vjp,
                                 .x = stage.x});
    }
    table_close(&stage);
}

// x = displacement of q, y = (pos, rotation vector) of a body: the adjoint of a pose
static cri_mat3 pose_origin;

static void pose_at(const double *x, cri_state *state, cr_arena *arena) {
    static double at[TABLE_LIMIT];
    double y[TABLE_LIMIT] = {0};
    memcpy(y, x, sizeof *x * (size_t)stage.n.n_v);
    table_displace(&stage, y, at);
    assert_true(cri_arena_reserve(arena, cri_state_bytes(stage.model)));
    cri_state_push(stage.model, at, state, arena);
    cri_state_set(stage.model, state);
}

// rotation vector of R0' R, near zero: that of its antisymmetric part is exact to second order, and
// so are derivatives
static void pose_forward(const double *x, double *y) {
    cri_state state;
    cr_sim *sim = stage.sim;
    cri_arena_reset(sim->scratch);
    pose_at(x, &state, sim->scratch);
    const cri_pose *pose = &state.pose[body_i];
    cri_v3_store(pose->pos, y);
    cri_vec3 turn = {0};
    for (int k = 0; k < 3; k++) {
        // columns of R in the frame R0
        cri_vec3 c =
            cri_m3_tmul(&pose_origin, cri_v3(pose->R.m[k], pose->R.m[3 + k], pose->R.m[6 + k]));
        cri_vec3 axis = cri_v3(k == 0, k == 1, k == 2);
        turn = cri_v3_mad(turn, 0.5, cri_v3_cross(axis, c));
    }
    cri_v3_store(turn, y + 3);
}

static void pose_vjp(const double *x, const double *y_adj, double *x_adj) {
    cri_state state;
    cr_sim *sim = stage.sim;
    cri_arena_reset(sim->tape);
    cri_arena_reset(sim->scratch);
    pose_at(x, &state, sim->tape);
    table_set_trees(&stage, &state, sim->tape, sim->scratch);
    cri_state_pose_vjp(stage.model, &state, body_i, cri_v3_load(y_adj), cri_v3_load(y_adj + 3),
                       x_adj);
}

static void pose_jvp(const double *x, const double *x_tan, double *y_tan) {
    cri_state state;
    cr_sim *sim = stage.sim;
    double body_tan[TABLE_LIMIT];
    cri_arena_reset(sim->tape);
    cri_arena_reset(sim->scratch);
    pose_at(x, &state, sim->tape);
    table_set_trees(&stage, &state, sim->tape, sim->scratch);
    cri_state_motion(stage.model, &state, NULL, x_tan, body_tan);
    memcpy(y_tan, body_tan + 6 * body_i, 6 * sizeof *y_tan);
}

TEST(poses_of_bodies_have_their_gradients) {
    open_chain();
    for (body_i = 0; body_i < stage.n.n_body; body_i++) {
        double x[TABLE_LIMIT] = {0};
        cri_state state;
        cri_arena_reset(stage.sim->scratch);
        pose_at(x, &state, stage.sim->scratch);
        pose_origin = state.pose[body_i].R;
        table_check(&(table_row){.name = "state_pose",
                                 .vjp_name = "cri_state_pose_vjp",
                                 .n_in = stage.n.n_v,
                                 .n_out = 6,
                                 .forward = pose_forward,
                                 .vjp = pose_vjp,
                                 .jvp = pose_jvp,
                                 .x = x});
    }
    table_close(&stage);
}

TEST(motions_of_bodies_are_the_tangents_of_their_poses) {
    open_chain();
    double x[TABLE_LIMIT] = {0}, want[6];
    cri_state state;
    cr_arena *arena = cri_arena_create(1 << 14);
    assert_non_null(arena);
    pose_at(x, &state, arena);
    for (body_i = 0; body_i < stage.n.n_body; body_i++) {
        pose_jvp(x, stage.x + stage.n.n_q, want);
        for (int i = 0; i < 6; i++) {
            // the same sums in another order
            CHECK_CLOSE(state.motion[6 * body_i + i], want[i], 1e-13, 1e-13);
        }
    }
    cri_arena_destroy(arena);
    table_close(&stage);
}

TABLE_PART(gradient_table_state, advancing_every_joint_has_its_gradient,
           positions_of_bodies_have_their_gradients, poses_of_bodies_have_their_gradients,
           motions_of_bodies_are_the_tangents_of_their_poses)
