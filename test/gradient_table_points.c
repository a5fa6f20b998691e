// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: points, their masses, ties and motion.

#include "gradient_points.h"

// ---- masses and potential ----------------------------------------------------------------------

static void masses_forward(const double *x, double *y) {
    cri_points_masses(&stage.scene->s, x, y);
}

static void masses_vjp(const double *x, const double *y_adj, double *x_adj) {
    cri_points_masses_vjp(&stage.scene->s, x, y_adj, x_adj);
}

static void masses_jvp(const double *x, const double *x_tan, double *y_tan) {
    cri_points_masses_jvp(&stage.scene->s, x, x_tan, y_tan);
}

TEST(masses_of_points_have_their_gradients) {
    open_stage("gyro", 0);
    set_point(stage.scene->x0);
    check_row("points_masses", "cri_points_masses_vjp", "cri_points_masses_jvp",
              (table_row){.n_in = stage.scene->n_p,
                          .n_out = stage.scene->s.n_minv,
                          .forward = masses_forward,
                          .vjp = masses_vjp,
                          .jvp = masses_jvp,
                          .x = stage.scene->p,
                          .move = stage.move + stage.scene->n_x});
    close_stage();
}

static void potential_forward(const double *x, double *y) {
    begin_call(p_of(x));
    assert_true(
        cri_true_grad(&stage.scene->potential, p_of(x), 1, x, y, &stage.cache, stage.rooms.keep));
}

static void potential_vjp(const double *x, const double *y_adj, double *x_adj) {
    cri_true_grad_vjp(&stage.scene->potential, p_of(x), 1, stage.cache, y_adj, x_adj,
                      x_adj + stage.scene->n_x, stage.rooms.scratch);
}

static void potential_jvp(const double *x, const double *x_tan, double *y_tan) {
    cri_true_grad_jvp(&stage.scene->potential, p_of(x), 1, stage.cache, x_tan, p_of(x_tan), y_tan,
                      stage.rooms.scratch);
}

static void springs_forward(const double *x, double *y) {
    memset(y, 0, (size_t)stage.scene->s.n_dof * sizeof *y);
    cri_springs_grad(&stage.scene->s, p_of(x), x, y);
}

static void springs_vjp(const double *x, const double *y_adj, double *x_adj) {
    cri_springs_grad_vjp(&stage.scene->s, p_of(x), x, y_adj, x_adj, x_adj + stage.scene->n_x);
}

static void springs_jvp(const double *x, const double *x_tan, double *y_tan) {
    memset(y_tan, 0, (size_t)stage.scene->s.n_dof * sizeof *y_tan);
    cri_springs_grad_jvp(&stage.scene->s, p_of(x), x, x_tan, p_of(x_tan), y_tan);
}

TEST(gravity_and_springs_have_their_gradients) {
    double state[16];
    open_stage("rope", 4);
    rope_point(state);
    set_point(state);
    check_row(
        "true_grad", "cri_true_grad_vjp", "cri_true_grad_jvp",
        (table_row){
            .n_out = 8, .forward = potential_forward, .vjp = potential_vjp, .jvp = potential_jvp});
    check_row("springs_grad", "cri_springs_grad_vjp", "cri_springs_grad_jvp",
              (table_row){
                  .n_out = 8, .forward = springs_forward, .vjp = springs_vjp, .jvp = springs_jvp});
    close_stage();
}

// ---- the lemma ---------------------------------------------------------------------------------

// x = (x, minv, force, c), y = (a, lam)
static cri_ties_factor lemma_factor;
static cri_lemma lemma_at;
static double lemma_room[64], lemma_out[32];

static void lemma_forward(const double *x, double *y) {
    const cri_points *s = &stage.scene->s;
    cri_arena_reset(stage.rooms.scratch);
    memcpy(stage.minv, x + 6, 3 * sizeof *x);
    lemma_factor = cri_ties_factor_at(s, stage.minv, lemma_room);
    cri_ties_rows(s, x, lemma_factor.J);
    assert_true(cri_ties_factorise(s, &lemma_factor, stage.rooms.scratch));
    lemma_at = (cri_lemma){.lam = lemma_out + 6, .a = lemma_out, .H = lemma_out + 9};
    cri_lemma_solve(s, &lemma_factor, x + 9, x + 15, &lemma_at, stage.rooms.scratch);
    memcpy(y, lemma_out, 9 * sizeof *y);
}

static void lemma_vjp(const double *x, const double *y_adj, double *x_adj) {
    (void)x;
    double room[15];
    const cri_lemma_adj adj = {.w = room, .P = room + 3, .p = room + 9};
    cri_lemma_vjp(&stage.scene->s, &lemma_factor, y_adj, y_adj + 6, &adj, stage.rooms.scratch);
    cri_lemma_pull(&stage.scene->s, &lemma_at, &adj, x_adj, x_adj + 6);
    for (int i = 0; i < 6; i++) {
        x_adj[9 + i] += adj.p[i];
    }
    for (int e = 0; e < 3; e++) {
        x_adj[15 + e] -= adj.w[e];
    }
}

static void lemma_jvp(const double *x, const double *x_tan, double *y_tan) {
    (void)x;
    double J_tan[16];
    cri_ties_curve(&stage.scene->s, x_tan, J_tan);
    const cri_lemma_tan tan = {.minv = x_tan + 6, .J = J_tan, .force = x_tan + 9, .c = x_tan + 15};
    cri_lemma_jvp(&stage.scene->s, &lemma_factor, &lemma_at, &tan, y_tan + 6, y_tan,
                  stage.rooms.scratch);
}

TEST(the_lemma_of_ties_has_its_gradient) {
    double x[18];
    open_stage("cp3", 0);
    chain_point(x);
    for (int i = 6; i < 18; i++) {
        x[i] = i < 9 ? 5.0 + i : cos(i);
    }
    memset(stage.move, 0, sizeof stage.move);
    check_row("lemma", "cri_lemma_vjp", "cri_lemma_jvp",
              (table_row){.n_in = 18,
                          .n_out = 9,
                          .forward = lemma_forward,
                          .vjp = lemma_vjp,
                          .jvp = lemma_jvp,
                          .x = x});
    close_stage();
}

// ---- field, flow, projection -------------------------------------------------------------------

static void field_forward(const double *x, double *y) {
    begin_call(p_of(x));
    stage.cache = cri_points_field(&stage.call, x, y);
    assert_non_null(stage.cache);
}

static void field_vjp(const double *x, const double *y_adj, double *x_adj) {
    const cri_points_adj adj = adj_to(x_adj);
    memset(stage.minv_adj, 0, sizeof stage.minv_adj);
    cri_points_field_vjp(&stage.call, stage.cache, y_adj, x_adj, &adj);
    end_adj(x, x_adj);
}

static void field_jvp(const double *x, const double *x_tan, double *y_tan) {
    const cri_points_tan tan = tan_of(x, x_tan);
    cri_points_field_jvp(&stage.call, stage.cache, x_tan, &tan, y_tan);
}

static void flow_forward(const double *x, double *y) {
    begin_call(p_of(x));
    assert_true(cri_points_flow(&stage.call, 0.05, x, y, &stage.flow));
}

static void flow_vjp(const double *x, const double *y_adj, double *x_adj) {
    const cri_points_adj adj = adj_to(x_adj);
    memset(stage.minv_adj, 0, sizeof stage.minv_adj);
    cri_points_flow_vjp(&stage.call, &stage.flow, y_adj, x_adj, &adj);
    end_adj(x, x_adj);
}

static void flow_jvp(const double *x, const double *x_tan, double *y_tan) {
    const cri_points_tan tan = tan_of(x, x_tan);
    cri_points_flow_jvp(&stage.call, &stage.flow, x_tan, &tan, y_tan);
}

static void project_forward(const double *x, double *y) {
    begin_call(p_of(x));
    memcpy(y, x, sizeof *x * (size_t)stage.scene->n_x);
    stage.cache = cri_points_project(&stage.call, y);
    assert_non_null(stage.cache);
}

static void project_vjp(const double *x, const double *y_adj, double *x_adj) {
    double state_adj[64];
    const cri_points_adj adj = adj_to(x_adj);
    memset(stage.minv_adj, 0, sizeof stage.minv_adj);
    memcpy(state_adj, y_adj, sizeof *y_adj * (size_t)stage.scene->n_x);
    cri_points_project_vjp(&stage.call, stage.cache, state_adj, &adj);
    for (int i = 0; i < stage.scene->n_x; i++) {
        x_adj[i] += state_adj[i];
    }
    end_adj(x, x_adj);
}

static void project_jvp(const double *x, const double *x_tan, double *y_tan) {
    const cri_points_tan tan = tan_of(x, x_tan);
    memcpy(y_tan, x_tan, sizeof *x_tan * (size_t)stage.scene->n_x);
    cri_points_project_jvp(&stage.call, stage.cache, &tan, y_tan);
}

static void check_motion(void) {
    int n = stage.scene->n_x;
    check_row("points_field", "cri_points_field_vjp", "cri_points_field_jvp",
              (table_row){.n_out = n,
                          .forward = field_forward,
                          .vjp = field_vjp,
                          .jvp = field_jvp,
                          .step = 1e-3});
    check_row(
        "points_flow", "cri_points_flow_vjp", "cri_points_flow_jvp",
        (table_row){
            .n_out = n, .forward = flow_forward, .vjp = flow_vjp, .jvp = flow_jvp, .step = 1e-3});
    check_row("points_project", "cri_points_project_vjp", "cri_points_project_jvp",
              (table_row){.n_out = n,
                          .forward = project_forward,
                          .vjp = project_vjp,
                          .jvp = project_jvp,
                          .step = 1e-3});
}

TEST(motion_of_points_has_its_gradient) {
    double state[64];
    for (int form = 0; form < 2; form++) {
        open_stage("cp3", 0);
        stage.scene->form = form ? CRI_HAMILTON : CRI_LAGRANGE;
        stage.scene->tableau = form ? &cri_rk_classic : &cri_rk_38;
        chain_point(state);
        set_point(state);
        check_motion();
        close_stage();
        open_stage("gyro", 0);
        stage.scene->form = form ? CRI_HAMILTON : CRI_LAGRANGE;
        top_point(state);
        set_point(state);
        check_motion();
        close_stage();
    }
    open_stage("rope", 4);
    rope_point(state);
    set_point(state);
    check_motion();
    close_stage();
}

// ---- nets --------------------------------------------------------------------------------------

static void net_forward(const double *x, double *y) {
    begin_call(p_of(x));
    assert_true(
        cri_net_grad(&stage.scene->potential, stage.p, 1, x, y, &stage.cache, stage.rooms.keep));
}

static void net_vjp(const double *x, const double *y_adj, double *x_adj) {
    (void)x;
    cri_net_grad_vjp(&stage.scene->potential, stage.p, 1, stage.cache, y_adj, x_adj,
                     x_adj + stage.scene->n_x, stage.rooms.scratch);
}

static void check_net(const cri_mlp *net, void (*put_state)(double *)) {
    double state[64];
    int D = stage.scene->s.n_dof;
    assert_true(cri_points_scene_set_net(stage.scene, net));
    for (int i = stage.scene->potential.first; i < stage.scene->n_p; i++) {
        stage.scene->p[i] = cos(1.3 * i);
    }
    put_state(state);
    set_point(state);
    check_row("net_grad", "cri_net_grad_vjp", NULL,
              (table_row){.n_out = D, .forward = net_forward, .vjp = net_vjp});
    check_row(
        "points_field", "cri_points_field_vjp", NULL,
        (table_row){.n_out = 2 * D, .forward = field_forward, .vjp = field_vjp, .step = 1e-3});
}

TEST(nets_as_potentials_have_their_gradients) {
    static const cri_mlp chain = {.n_layer = 3, .width = {6, 5, 4, 1}, .act = CRI_ACT_SOFTPLUS};
    static const cri_mlp rope = {.n_layer = 2, .width = {8, 5, 1}, .act = CRI_ACT_SOFTPLUS};
    open_stage("cp3", 0);
    check_net(&chain, chain_point);
    close_stage();
    open_stage("rope", 4);
    check_net(&rope, rope_point);
    close_stage();
}

TABLE_PART(gradient_table_points, masses_of_points_have_their_gradients,
           gravity_and_springs_have_their_gradients, the_lemma_of_ties_has_its_gradient,
           motion_of_points_has_its_gradient, nets_as_potentials_have_their_gradients)
