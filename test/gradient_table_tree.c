// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: dynamics of trees, on the zoo of dynamics/mechanism_fixture.h with
// and without equalities.
//
// Vectors of a row begin with the displacement xi (n_v) of q from the point, so that derivatives
// are compared at rotation vectors of zero.

#include "dynamics/mechanism_fixture.h"
#include "gradient_row.h"

#include "base/arena.h"

/// The mechanism of the row, and what it was called with last.
static struct {
    fixture zoo;
    cri_mech_derived d; // parameters of the call
    double d_block[FIXTURE_NUMBERS];
    double q[64];
    double q_end[64]; // of a motion
    cr_arena *keep, *scratch;
    cri_tree *tree;
    cri_tree_trace *trace;
    double x[TABLE_LIMIT];
    table_move move[TABLE_LIMIT];
} stage;

enum { UNIT = 1 };

// n_tie: 0 no equalities, 1 those of the zoo, 2 the first two of them twice
static void open_stage(int n_tie, bool is_euler) {
    memset(&stage, 0, sizeof stage);
    fixture *f = &stage.zoo;
    fixture_zoo(f);
    if (n_tie > 0) {
        fixture_zoo_ties(f);
    }
    int n_equality = f->mech.n_equality;
    for (int e = 0; n_tie > 1 && e < 2; e++) {
        fixture_equality(f, f->equality[e].kind, -1, -1);
    }
    fixture_unit(f, 2);
    fixture_close(f);
    f->mech.is_euler = is_euler;
    // stabilisation divides by the square of 0.02 s: larger errors would drown everything else
    f->unit[UNIT].n_equality = n_equality;
    fixture_settle(f, UNIT, 1e-2);
    f->unit[UNIT].n_equality = f->mech.n_equality;
    for (int e = n_equality; e < f->mech.n_equality; e++) {
        f->equality[e] = f->equality[e - n_equality];
    }
    fixture_map(f, stage.d_block, &stage.d);
    memcpy(stage.d_block, f->block, sizeof f->block);
    size_t keep = cri_tree_bytes(&f->mech, UNIT), flow = cri_tree_flow_bytes(&f->mech, UNIT);
    stage.keep = cri_arena_create(keep + flow);
    stage.scratch = cri_arena_create(cri_tree_scratch_bytes(&f->mech, UNIT));
    stage.tree = cri_tree_push(&f->mech, UNIT, &stage.d, stage.keep);
    assert_non_null(stage.tree);
}

static void close_stage(void) {
    cri_arena_destroy(stage.keep);
    cri_arena_destroy(stage.scratch);
}

// q = q of the point displaced by xi
static void displace(const double *xi) {
    const fixture *f = &stage.zoo;
    memcpy(stage.q, f->q, sizeof f->q);
    for (int j = 0; j < f->mech.n_joint; j++) {
        const cri_joint *joint = f->joint + j;
        double *q = stage.q + joint->q;
        const double *by = xi + joint->v;
        int n = joint->n_v == 1 ? 1 : joint->n_v - 3;
        for (int i = 0; i < n; i++) {
            q[i] += by[i];
        }
        if (joint->n_v > 1) {
            cri_quat turn = cri_quat_exp(cri_v3_load(by + n));
            cri_q4_store(cri_quat_mul(cri_q4_load(q + n), turn), q + n);
        }
    }
}

// y (n_v) = displacement of q from where the point goes
static void undisplace(const double *from, const double *q, double *y) {
    const fixture *f = &stage.zoo;
    for (int j = 0; j < f->mech.n_joint; j++) {
        const cri_joint *joint = f->joint + j;
        int n = joint->n_v == 1 ? 1 : joint->n_v - 3;
        for (int i = 0; i < n; i++) {
            y[joint->v + i] = q[joint->q + i];
        }
        if (joint->n_v > 1) {
            table_turn(cri_q4_load(from + joint->q + n), cri_q4_load(q + joint->q + n),
                       y + joint->v + n);
        }
    }
}

// masses stay positive
static void move_derived(table_move *move) {
    for (int b = 0; b < stage.zoo.mech.n_body; b++) {
        move[3 + 10 * b] = TABLE_POSITIVE;
    }
}

// what is scratch in a call is whole again after it
static void check_scratch(void) {
    assert_false(cri_arena_has_failed(stage.scratch));
}

// ---- accelerations -----------------------------------------------------------------------------

// x = (xi, v, u, h, d), y = a
static void accel_forward(const double *x, double *y) {
    const cri_mechanism *m = &stage.zoo.mech;
    int n = m->n_v;
    displace(x);
    memcpy(stage.d_block, x + 2 * n + m->n_u + 1, sizeof *x * (size_t)stage.zoo.n_d);
    memset(y, 0, sizeof *y * (size_t)n);
    cri_tree_set(stage.tree, stage.q, stage.scratch);
    cri_tree_accel(stage.tree, x + n, x + 2 * n, x[2 * n + m->n_u], y, stage.scratch);
}

static void accel_vjp(const double *x, const double *y_adj, double *x_adj) {
    (void)x;
    const cri_mechanism *m = &stage.zoo.mech;
    int n = m->n_v;
    cri_mech_derived d_adj;
    fixture_map(&stage.zoo, x_adj + 2 * n + m->n_u + 1, &d_adj);
    cri_tree_accel_vjp(stage.tree, y_adj, x_adj, x_adj + n, x_adj + 2 * n, x_adj + 2 * n + m->n_u,
                       &d_adj, stage.scratch);
    check_scratch();
}

static void accel_jvp(const double *x, const double *x_tan, double *y_tan) {
    (void)x;
    const cri_mechanism *m = &stage.zoo.mech;
    int n = m->n_v;
    double d_block[FIXTURE_NUMBERS];
    cri_mech_derived d_tan;
    fixture_map(&stage.zoo, d_block, &d_tan);
    memcpy(d_block, x_tan + 2 * n + m->n_u + 1, sizeof *x_tan * (size_t)stage.zoo.n_d);
    cri_accel_tan tan = {x_tan, x_tan + n, x_tan + 2 * n, x_tan[2 * n + m->n_u], &d_tan};
    cri_tree_accel_jvp(stage.tree, &tan, y_tan, stage.scratch);
    check_scratch();
}

// the point of a row with time h; returns its size
static int state_point(double h) {
    const fixture *f = &stage.zoo;
    int n = f->mech.n_v, n_u = f->mech.n_u, at = 2 * n + n_u + 1;
    memcpy(stage.x + n, f->v, sizeof *f->v * (size_t)n);
    memcpy(stage.x + 2 * n, f->u, sizeof *f->u * (size_t)n_u);
    stage.x[at - 1] = h;
    stage.move[at - 1] = h > 0.0 ? TABLE_POSITIVE : TABLE_UP;
    memcpy(stage.x + at, f->block, sizeof *f->block * (size_t)f->n_d);
    move_derived(stage.move + at);
    return at + f->n_d;
}

static void check_accel(int n_tie, double h) {
    open_stage(n_tie, false);
    table_check(&(table_row){.name = n_tie > 0 ? "tree_accel, ties" : "tree_accel",
                             .vjp_name = "cri_tree_accel_vjp",
                             .jvp_name = "cri_tree_accel_jvp",
                             .n_in = state_point(h),
                             .n_out = stage.zoo.mech.n_v,
                             .forward = accel_forward,
                             .vjp = accel_vjp,
                             .jvp = accel_jvp,
                             .x = stage.x,
                             .move = stage.move,
                             .size = n_tie > 0 ? 100.0 : 10.0});
    close_stage();
}

TEST(accelerations_of_trees_have_their_gradients) {
    check_accel(0, 0.0);
    check_accel(0, 0.1);
}

TEST(accelerations_with_equalities_have_their_gradients) {
    check_accel(1, 0.0);
    check_accel(1, 0.1);
    check_accel(2, 0.0);
}

// ---- motion over a time ------------------------------------------------------------------------

/// Where the point of the row goes.
static double next_q[64];

// x = (xi, v, u, t, d), y = (displacement, v)
static void flow_forward(const double *x, double *y) {
    const cri_mechanism *m = &stage.zoo.mech;
    int n = m->n_v;
    double q_out[64], v_out[64];
    displace(x);
    memcpy(stage.d_block, x + 2 * n + m->n_u + 1, sizeof *x * (size_t)stage.zoo.n_d);
    memcpy(q_out, stage.q, sizeof q_out);
    memcpy(v_out, x + n, sizeof *x * (size_t)n);
    cri_arena_reset(stage.keep);
    stage.trace = cri_tree_flow(m, UNIT, &stage.d,
                                &(cri_tree_start){stage.q, x + n, x + 2 * n, x[2 * n + m->n_u]},
                                q_out, v_out, stage.keep, stage.scratch);
    assert_non_null(stage.trace);
    undisplace(next_q, q_out, y);
    memcpy(y + n, v_out, sizeof *y * (size_t)n);
    memcpy(stage.q_end, q_out, sizeof q_out);
}

static void flow_vjp(const double *x, const double *y_adj, double *x_adj) {
    (void)x;
    const cri_mechanism *m = &stage.zoo.mech;
    int n = m->n_v;
    double q_adj[64], v_adj[64];
    cri_mech_derived d_adj;
    fixture_map(&stage.zoo, x_adj + 2 * n + m->n_u + 1, &d_adj);
    memcpy(q_adj, y_adj, sizeof *y_adj * (size_t)n);
    memcpy(v_adj, y_adj + n, sizeof *y_adj * (size_t)n);
    cri_tree_flow_vjp(stage.trace, q_adj, v_adj, x_adj + 2 * n, x_adj + 2 * n + m->n_u, &d_adj,
                      stage.scratch);
    for (int i = 0; i < n; i++) {
        x_adj[i] += q_adj[i];
        x_adj[n + i] += v_adj[i];
    }
    check_scratch();
}

static void flow_jvp(const double *x, const double *x_tan, double *y_tan) {
    (void)x;
    const cri_mechanism *m = &stage.zoo.mech;
    int n = m->n_v;
    double d_block[FIXTURE_NUMBERS];
    cri_mech_derived d_tan;
    fixture_map(&stage.zoo, d_block, &d_tan);
    memcpy(d_block, x_tan + 2 * n + m->n_u + 1, sizeof *x_tan * (size_t)stage.zoo.n_d);
    memcpy(y_tan, x_tan, sizeof *y_tan * (size_t)(2 * n));
    cri_tree_flow_jvp(stage.trace, y_tan, y_tan + n, x_tan + 2 * n, x_tan[2 * n + m->n_u], &d_tan,
                      stage.scratch);
    check_scratch();
}

static void check_flow(bool has_ties, bool is_euler) {
    double y[TABLE_LIMIT];
    open_stage(has_ties, is_euler);
    int n_in = state_point(has_ties ? 0.02 : 0.05);
    memcpy(next_q, stage.zoo.q, sizeof next_q);
    flow_forward(stage.x, y);
    memcpy(next_q, stage.q_end, sizeof next_q);
    table_check(&(table_row){.name = is_euler ? "tree_flow, Euler" : "tree_flow, RK4",
                             .vjp_name = "cri_tree_flow_vjp",
                             .jvp_name = "cri_tree_flow_jvp",
                             .n_in = n_in,
                             .n_out = 2 * stage.zoo.mech.n_v,
                             .forward = flow_forward,
                             .vjp = flow_vjp,
                             .jvp = flow_jvp,
                             .x = stage.x,
                             .move = stage.move,
                             .size = 10.0});
    close_stage();
}

TEST(motions_of_trees_have_their_gradients) {
    check_flow(false, false);
    check_flow(false, true);
    check_flow(true, false);
    check_flow(true, true);
}

// ---- maps --------------------------------------------------------------------------------------

// random numbers behind the first `from` ones
static void random_point(int from, int n) {
    for (int i = from; i < n; i++) {
        stage.x[i] = fixture_random(&stage.zoo);
    }
}

// x = (xi, w), y = motions of all bodies
static void motion_forward(const double *x, double *y) {
    memset(y, 0, sizeof *y * (size_t)(6 * stage.zoo.mech.n_body));
    displace(x);
    cri_tree_set(stage.tree, stage.q, stage.scratch);
    cri_tree_motion(stage.tree, x + stage.zoo.mech.n_v, y);
}

static void motion_jvp(const double *x, const double *x_tan, double *y_tan) {
    int n = stage.zoo.mech.n_v;
    cri_arena_mark mark = cri_arena_get_mark(stage.scratch);
    cri_tree_tan *tan = cri_tree_tan_push(stage.tree, x_tan, NULL, stage.scratch);
    cri_tree_motion_jvp(stage.tree, tan, x + n, x_tan + n, y_tan);
    cri_arena_rewind(stage.scratch, mark);
}

// x = (xi, force), y = K' force
static void pull_forward(const double *x, double *y) {
    memset(y, 0, sizeof *y * (size_t)stage.zoo.mech.n_v);
    displace(x);
    cri_tree_set(stage.tree, stage.q, stage.scratch);
    cri_tree_pull(stage.tree, x + stage.zoo.mech.n_v, y);
}

static void pull_jvp(const double *x, const double *x_tan, double *y_tan) {
    int n = stage.zoo.mech.n_v;
    cri_arena_mark mark = cri_arena_get_mark(stage.scratch);
    cri_tree_tan *tan = cri_tree_tan_push(stage.tree, x_tan, NULL, stage.scratch);
    cri_tree_pull_jvp(stage.tree, tan, x + n, x_tan + n, y_tan);
    cri_arena_rewind(stage.scratch, mark);
}

TEST(maps_to_bodies_have_their_gradients) {
    open_stage(false, false);
    const cri_mechanism *m = &stage.zoo.mech;
    random_point(m->n_v, 2 * m->n_v);
    table_check(&(table_row){.name = "tree_motion",
                             .jvp_name = "cri_tree_motion_jvp",
                             .n_in = 2 * m->n_v,
                             .n_out = 6 * m->n_body,
                             .forward = motion_forward,
                             .jvp = motion_jvp,
                             .x = stage.x});
    random_point(m->n_v, m->n_v + 6 * m->n_body);
    table_check(&(table_row){.name = "tree_pull",
                             .jvp_name = "cri_tree_pull_jvp",
                             .n_in = m->n_v + 6 * m->n_body,
                             .n_out = m->n_v,
                             .forward = pull_forward,
                             .jvp = pull_jvp,
                             .x = stage.x});
    close_stage();
}

/// w and nu of the last solve.
static double solve_w[64], solve_nu[64];

// x = (xi, g, d), y = W g
static void solve_forward(const double *x, double *y) {
    const cri_mechanism *m = &stage.zoo.mech;
    displace(x);
    memcpy(stage.d_block, x + 2 * m->n_v, sizeof *x * (size_t)stage.zoo.n_d);
    memset(y, 0, sizeof *y * (size_t)m->n_v);
    cri_tree_set(stage.tree, stage.q, stage.scratch);
    cri_tree_solve(stage.tree, x + m->n_v, y, solve_nu);
    memcpy(solve_w, y, sizeof *y * (size_t)m->n_v);
}

static void solve_jvp(const double *x, const double *x_tan, double *y_tan) {
    (void)x;
    const cri_mechanism *m = &stage.zoo.mech;
    double d_block[FIXTURE_NUMBERS];
    cri_mech_derived d_tan;
    fixture_map(&stage.zoo, d_block, &d_tan);
    memcpy(d_block, x_tan + 2 * m->n_v, sizeof *x_tan * (size_t)stage.zoo.n_d);
    cri_arena_mark mark = cri_arena_get_mark(stage.scratch);
    cri_tree_tan *tan = cri_tree_tan_push(stage.tree, x_tan, &d_tan, stage.scratch);
    cri_tree_solve_jvp(stage.tree, tan, x_tan + m->n_v, solve_w, solve_nu, y_tan, stage.scratch);
    cri_arena_rewind(stage.scratch, mark);
}

static void check_solve(bool has_ties) {
    open_stage(has_ties, false);
    const fixture *f = &stage.zoo;
    int n = f->mech.n_v;
    random_point(n, 2 * n);
    memcpy(stage.x + 2 * n, f->block, sizeof *f->block * (size_t)f->n_d);
    move_derived(stage.move + 2 * n);
    table_check(&(table_row){.name = has_ties ? "tree_solve, ties" : "tree_solve",
                             .jvp_name = "cri_tree_solve_jvp",
                             .n_in = 2 * n + f->n_d,
                             .n_out = n,
                             .forward = solve_forward,
                             .jvp = solve_jvp,
                             .x = stage.x,
                             .move = stage.move});
    close_stage();
}

TEST(solves_of_trees_have_their_gradients) {
    check_solve(false);
    check_solve(true);
}

// ---- forms -------------------------------------------------------------------------------------

/// Forces on bodies, the motions that they make, and their multipliers.
static struct {
    double force[2][6 * FIXTURE_PARTS];
    double w[2][64], nu[2][64];
} pair;

static double dot(int n, const double *a, const double *b) {
    double sum = 0.0;
    for (int i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

static void form_set(const double *x) {
    displace(x);
    memcpy(stage.d_block, x + stage.zoo.mech.n_v, sizeof *x * (size_t)stage.zoo.n_d);
    cri_tree_set(stage.tree, stage.q, stage.scratch);
}

// x = (xi, d), y = left_force . K W K' right_force
static void inverse_form_forward(const double *x, double *y) {
    form_set(x);
    double g[2][64] = {0};
    for (int i = 0; i < 2; i++) {
        cri_tree_pull(stage.tree, pair.force[i], g[i]);
        cri_tree_solve(stage.tree, g[i], pair.w[i], pair.nu[i]);
    }
    const cri_unit *unit = stage.zoo.mech.unit + UNIT;
    y[0] = dot(unit->n_v, g[0] + unit->first_v, pair.w[1] + unit->first_v);
}

// x = (xi, d), y = left_force . K right + right_force . K left - left' M right
static void plain_form_forward(const double *x, double *y) {
    form_set(x);
    double motion[2][6 * FIXTURE_PARTS] = {0}, Mw[64] = {0};
    for (int i = 0; i < 2; i++) {
        cri_tree_motion(stage.tree, pair.w[i], motion[i]);
    }
    cri_tree_multiply(stage.tree, pair.w[1], Mw);
    const cri_unit *unit = stage.zoo.mech.unit + UNIT;
    int body = 6 * unit->first_body, n = 6 * unit->n_body, first = unit->first_v;
    y[0] = dot(n, pair.force[0] + body, motion[1] + body) +
           dot(n, pair.force[1] + body, motion[0] + body) -
           dot(unit->n_v, pair.w[0] + first, Mw + first);
}

static void form_vjp(const double *x, const double *y_adj, double *x_adj) {
    (void)x;
    bool has_ties = stage.zoo.mech.unit[UNIT].n_row > 0;
    cri_mech_derived d_adj;
    fixture_map(&stage.zoo, x_adj + stage.zoo.mech.n_v, &d_adj);
    cri_tree_form form = {.left = pair.w[0],
                          .right = pair.w[1],
                          .left_force = pair.force[0],
                          .right_force = pair.force[1],
                          .left_nu = has_ties ? pair.nu[0] : NULL,
                          .right_nu = has_ties ? pair.nu[1] : NULL};
    cri_tree_form_vjp(stage.tree, &form, y_adj[0], x_adj, &d_adj, stage.scratch);
    check_scratch();
}

static void check_form(bool has_ties, void (*forward)(const double *x, double *y)) {
    open_stage(has_ties, false);
    fixture *f = &stage.zoo;
    int n = f->mech.n_v;
    for (int i = 0; i < 6 * f->mech.n_body; i++) {
        pair.force[0][i] = fixture_random(f);
        pair.force[1][i] = fixture_random(f);
    }
    for (int i = 0; i < n; i++) {
        pair.w[0][i] = fixture_random(f);
        pair.w[1][i] = fixture_random(f);
    }
    memcpy(stage.x + n, f->block, sizeof *f->block * (size_t)f->n_d);
    move_derived(stage.move + n);
    table_check(&(table_row){.name = "tree_form",
                             .vjp_name = "cri_tree_form_vjp",
                             .n_in = n + f->n_d,
                             .n_out = 1,
                             .forward = forward,
                             .vjp = form_vjp,
                             .x = stage.x,
                             .move = stage.move});
    close_stage();
}

TEST(forms_of_two_motions_have_their_gradients) {
    check_form(false, plain_form_forward);
    check_form(false, inverse_form_forward);
    check_form(true, inverse_form_forward);
}

TABLE_PART(gradient_table_tree, accelerations_of_trees_have_their_gradients,
           accelerations_with_equalities_have_their_gradients,
           motions_of_trees_have_their_gradients, maps_to_bodies_have_their_gradients,
           solves_of_trees_have_their_gradients, forms_of_two_motions_have_their_gradients)
