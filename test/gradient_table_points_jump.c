// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: points in contact, the jumps of their velocities, and steps.

#include "gradient_points.h"

// ---- contact rows ------------------------------------------------------------------------------

static const cri_points_touch *touch_at;
static cri_points_row row_at;

static void row_forward(const double *x, double *y) {
    cri_points_row_at(&stage.scene->s, touch_at, x, &row_at);
    y[0] = row_at.gap;
    memcpy(y + 1, row_at.J, sizeof row_at.J);
}

static void row_vjp(const double *x, const double *y_adj, double *x_adj) {
    cri_row_blocks J_adj;
    memcpy(J_adj, y_adj + 1, sizeof J_adj);
    cri_points_row_vjp(&stage.scene->s, touch_at, x, &row_at, J_adj, y_adj[0], x_adj);
}

static void row_jvp(const double *x, const double *x_tan, double *y_tan) {
    cri_row_blocks J_tan;
    y_tan[0] = cri_points_row_jvp(&stage.scene->s, touch_at, x, &row_at, x_tan, J_tan);
    memcpy(y_tan + 1, J_tan, sizeof J_tan);
}

static void check_touch(const double *state, const cri_points_touch *touch) {
    touch_at = touch;
    memset(stage.move, 0, sizeof stage.move);
    check_row("points_row", "cri_points_row_vjp", "cri_points_row_jvp",
              (table_row){.n_in = stage.scene->s.n_dof,
                          .n_out = 55,
                          .forward = row_forward,
                          .vjp = row_vjp,
                          .jvp = row_jvp,
                          .x = state,
                          .step = 1e-3});
}

TEST(contact_rows_of_points_have_their_gradients) {
    double state[64];
    open_stage("bp5", 0);
    check_touch(stage.scene->x0, &stage.scene->touch[1]);
    check_touch(stage.scene->x0, &stage.scene->touch[12]);
    close_stage();
    open_stage("bd5", 0);
    memcpy(state, stage.scene->x0, sizeof *state * 30);
    for (int i = 0; i < 30; i++) {
        state[i] += 0.05 * cos(3 * i);
    }
    check_touch(state, &stage.scene->touch[1]);
    check_touch(state, &stage.scene->touch[13]);
    close_stage();
    open_stage("gyro", 0);
    top_point(state);
    check_touch(state, &stage.scene->touch[0]);
    close_stage();
    open_stage("rope", 4);
    rope_point(state);
    for (int i = 0; i < stage.scene->n_touch; i++) {
        check_touch(state, &stage.scene->touch[i]);
    }
    state[0] += 0.05; // the other side of a bend and of a stretch
    check_touch(state, &stage.scene->touch[0]);
    check_touch(state, &stage.scene->touch[2]);
    close_stage();
}

// ---- target velocity and jump ------------------------------------------------------------------

static cri_jump_world world_at(const double *p) {
    return (cri_jump_world){.s = &stage.scene->s,
                            .law = &stage.scene->law,
                            .n_touch = stage.scene->n_touch,
                            .touch = stage.scene->touch,
                            .p = p,
                            .minv = stage.minv};
}

static void jump_forward(const double *x, double *y) {
    int D = stage.scene->s.n_dof;
    begin_call(p_of(x));
    const cri_jump_world w = world_at(p_of(x));
    assert_true(
        cri_points_jump_solve(&w, x, x + D, y, &stage.jump, stage.rooms.keep, stage.rooms.scratch));
    assert_true(cri_points_jump_is_solved(&stage.jump));
}

static void jump_vjp(const double *x, const double *y_adj, double *x_adj) {
    const cri_jump_world w = world_at(p_of(x));
    const cri_points_adj adj = adj_to(x_adj);
    memset(stage.minv_adj, 0, sizeof stage.minv_adj);
    cri_points_jump_vjp(&w, &stage.jump, y_adj, x_adj, &adj, stage.rooms.scratch);
    end_adj(x, x_adj);
}

static void jump_jvp(const double *x, const double *x_tan, double *y_tan) {
    const cri_jump_world w = world_at(p_of(x));
    const cri_points_tan tan = tan_of(x, x_tan);
    cri_points_jump_jvp(&w, &stage.jump, x_tan, &tan, y_tan, stage.rooms.scratch);
}

static void goal_forward(const double *x, double *y) {
    double unused[64];
    jump_forward(x, unused);
    memcpy(y, stage.jump.goal.value, sizeof *y * 3 * (size_t)stage.jump.n);
}

static void goal_vjp(const double *x, const double *y_adj, double *x_adj) {
    const cri_jump_world w = world_at(p_of(x));
    cri_row_blocks J_adj[8] = {0};
    double gap_adj[8] = {0.0};
    cri_points_goal_vjp(&w, &stage.jump, y_adj, J_adj, gap_adj, x_adj, stage.rooms.scratch);
    for (int i = 0; i < stage.jump.n; i++) {
        cri_points_row_vjp(w.s, &w.touch[stage.jump.row[i].touch], x, &stage.jump.row[i], J_adj[i],
                           gap_adj[i], x_adj);
    }
}

static void goal_jvp(const double *x, const double *x_tan, double *y_tan) {
    const cri_jump_world w = world_at(p_of(x));
    cri_row_blocks J_tan[8];
    double gap_tan[8];
    for (int i = 0; i < stage.jump.n; i++) {
        gap_tan[i] = cri_points_row_jvp(w.s, &w.touch[stage.jump.row[i].touch], x,
                                        &stage.jump.row[i], x_tan, J_tan[i]);
    }
    cri_points_goal_jvp(&w, &stage.jump, (const cri_row_blocks *)J_tan, gap_tan, x_tan, y_tan,
                        stage.rooms.scratch);
}

// the jump at a state with n contacts, under the laws
static void check_jump(const double *state, int n) {
    static const char *const laws[] = {"cone", "cone-reg", "lcp"};
    double y[64];
    for (int k = 0; k < 3; k++) {
        assert_true(cri_points_scene_set_law(stage.scene, laws[k]));
        set_point(state);
        jump_forward(stage.x, y);
        CHECK_INT(stage.jump.n, n);
        check_row("points_jump", "cri_points_jump_vjp", "cri_points_jump_jvp",
                  (table_row){.n_out = stage.scene->s.n_dof,
                              .forward = jump_forward,
                              .vjp = jump_vjp,
                              .jvp = jump_jvp,
                              .step = 1e-4,
                              .tolerance = stage.tolerance});
    }
    check_row("points_goal", "cri_points_goal_vjp", "cri_points_goal_jvp",
              (table_row){.n_out = 3 * n,
                          .forward = goal_forward,
                          .vjp = goal_vjp,
                          .jvp = goal_jvp,
                          .step = 1e-4});
}

// a chain 2 mm in the ground, with rates that slide, stick or lift
static void check_chain_jump(const double *rates, double mu, double e) {
    double state[12];
    open_stage("cp3", 0);
    fixture_chain((double[]){0.3, -0.2, 0.5}, rates, state);
    stage.scene->touch[0].offset = state[5] - 0.1 + 0.002;
    stage.scene->p[stage.scene->law.i_mu] = mu;
    stage.scene->p[stage.scene->law.i_e] = e;
    check_jump(state, 1);
    close_stage();
}

TEST(jumps_of_a_chain_have_their_gradients) {
    check_chain_jump((double[]){0.5, -1.5, -0.5}, 0.9, 0.5);
    check_chain_jump((double[]){-2.0, -1.0, -1.0}, 0.1, 0.5);
    check_chain_jump((double[]){-2.0, 1.6, 0.0}, 1.5, 0.5);
}

// the coefficients of the tasks: mu = 0 with e = 1, and e = 0
TEST(jumps_at_edges_of_coefficients_have_one_sided_gradients) {
    check_chain_jump((double[]){-2.0, -1.0, -1.0}, 0.0, 1.0);
    check_chain_jump((double[]){-2.0, -1.0, -1.0}, 0.5, 0.0);
    check_chain_jump((double[]){-2.0, 1.6, 0.0}, 1.5, 0.0);
}

TEST(jumps_of_balls_disks_tops_and_ropes_have_their_gradients) {
    double state[64] = {0.0};
    open_stage("bp5", 0);
    // 1 and 2 touch each other, 3 the wall on the right, 4 and 5 each other and 5 the bottom
    memcpy(state, (double[]){0.3, 0.8, 0.42, 0.85, 0.88, 0.6, 0.25, 0.3, 0.5, 0.17}, 80);
    memcpy(state + 10, (double[]){1.0, 0.2, -0.5, 0.1, 0.9, -0.4, 0.6, -0.7, -0.3, -0.8}, 80);
    check_jump(state, 4);
    close_stage();
    open_stage("bd5", 0);
    static const double centre[10] = {0.3, 0.8, 0.42, 0.85, 0.7, 0.7, 0.25, 0.3, 0.5, 0.17};
    for (int i = 0; i < 5; i++) {
        fixture_disk(centre + 2 * i, 0.3 * i, (double[]){i % 2 ? -0.6 : 0.7, -0.4}, 2.0 - i,
                     state + 6 * i, state + 30 + 6 * i);
    }
    check_jump(state, 3);
    close_stage();
    open_stage("gyro", 0);
    // 4 mm in the wall; for deeper ones the wall pushes along the lever, which jams
    fixture_top((double[]){0.1, 0.08, 0.33}, (double[]){1.5, 0.3, 4.0}, state);
    stage.tolerance = 1e-5; // A is what 13.75 leaves of 13.72
    check_jump(state, 1);
    close_stage();
    open_stage("rope", 4);
    rope_point(state);
    state[0] += 0.03;
    state[8] += 3.0;
    check_jump(state, 3);
    close_stage();
}

// ---- step --------------------------------------------------------------------------------------

static void step_forward(const double *x, double *y) {
    cri_arena_reset(stage.rooms.keep);
    cri_arena_reset(stage.rooms.scratch);
    cr_outcome outcome[4];
    stage.tape = cri_points_step(stage.scene, p_of(x), stage.B, x, y, outcome, stage.rooms.keep,
                                 stage.rooms.scratch);
    assert_non_null(stage.tape);
}

static void step_vjp(const double *x, const double *y_adj, double *x_adj) {
    assert_true(cri_points_step_vjp(stage.scene, p_of(x), stage.tape, y_adj, x_adj,
                                    x_adj + stage.B * stage.scene->n_x, stage.rooms.scratch));
}

static void step_jvp(const double *x, const double *x_tan, double *y_tan) {
    assert_true(cri_points_step_jvp(stage.scene, p_of(x), stage.tape, x_tan, p_of(x_tan), y_tan,
                                    stage.rooms.scratch));
}

// a batch of a state in contact and of another
TEST(steps_of_points_have_their_gradients) {
    for (int k = 0; k < 6; k++) {
        double state[64], y[64];
        open_stage("cp3", 0);
        stage.B = 2;
        stage.scene->form = k % 2 ? CRI_HAMILTON : CRI_LAGRANGE;
        stage.scene->has_projection = k == 2 || k == 3;
        stage.scene->begins_projected = k > 3;
        fixture_chain((double[]){0.3, -0.2, 0.5}, (double[]){-2.0, -1.0, -1.0}, state);
        chain_point(state + 12);
        stage.scene->touch[0].offset = state[5] - 0.1 + 0.002;
        state[12 + 5] += 0.1; // above the ground
        set_point(state);
        step_forward(stage.x, y);
        CHECK_INT(stage.tape->jump[0].n, 1);
        CHECK_INT(stage.tape->jump[1].n, 0);
        check_row("points_step", "cri_points_step_vjp", "cri_points_step_jvp",
                  (table_row){.n_out = 24,
                              .forward = step_forward,
                              .vjp = step_vjp,
                              .jvp = step_jvp,
                              .step = 1e-4});
        close_stage();
    }
}

TABLE_PART(gradient_table_points_jump, contact_rows_of_points_have_their_gradients,
           jumps_of_a_chain_have_their_gradients,
           jumps_at_edges_of_coefficients_have_one_sided_gradients,
           jumps_of_balls_disks_tops_and_ropes_have_their_gradients,
           steps_of_points_have_their_gradients)
