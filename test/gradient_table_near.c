// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: touches of geoms and limits, and rows of the contact Jacobian.
//
// x = (q displacement, d), y = the touch, or the rows. Differences follow the same pieces of the
// two surfaces.

#include "gradient_table.h"

#include "contact/island.h"

#include <stdio.h>
#include <string.h>

enum { N_TOUCH = 10, N_ROW = 36 };

/// The scene of the row, and the contact.
static table_stage stage;
static struct {
    cri_near near;
    cri_narrow_touch first; // at the point
    cr_arena *keep, *scratch;
    double x[TABLE_LIMIT];
    cri_state state;
    cri_narrow_touch touch;
} row;

/// State, parameters and touch of x.
static void pose_stage(const double *x) {
    double y[TABLE_LIMIT] = {0};
    memcpy(y, x, sizeof *x * (size_t)stage.n.n_v);
    table_displace(&stage, y, row.x);
    table_set_derived(&stage, x + stage.n.n_v);
    cri_arena_reset(row.keep);
    cri_arena_reset(row.scratch);
    cri_state_push(stage.model, row.x, &row.state, row.keep);
    cri_state_set(stage.model, &row.state);
    table_set_trees(&stage, &row.state, row.keep, row.scratch);
    row.touch = row.first;
    CHECK(cri_near_again(&stage.sim->world, &row.near, &row.state, &row.touch));
}

// numbers that count: a limit has its gap alone, and the point of a plane is never asked for
static bool counts(int i) {
    bool is_plane = row.near.kind <= CRI_NEAR_PLANE_BOX;
    return row.near.kind == CRI_NEAR_LIMIT ? i == 0 : !(is_plane && i >= 4 && i < 7);
}

static void store_touch(const cri_touch_diff *t, double *y) {
    double all[N_TOUCH];
    all[0] = t->gap;
    cri_v3_store(t->normal, all + 1);
    cri_v3_store(t->point[0], all + 4);
    cri_v3_store(t->point[1], all + 7);
    for (int i = 0; i < N_TOUCH; i++) {
        y[i] = counts(i) ? all[i] : 0.0;
    }
}

static void touch_forward(const double *x, double *y) {
    pose_stage(x);
    const cri_narrow_touch *t = &row.touch;
    store_touch(&(cri_touch_diff){t->gap, t->normal, {t->point[0], t->point[1]}}, y);
}

static void touch_vjp(const double *x, const double *y_adj, double *x_adj) {
    (void)x;
    double y[N_TOUCH];
    for (int i = 0; i < N_TOUCH; i++) {
        y[i] = counts(i) ? y_adj[i] : 0.0;
    }
    cri_touch_diff adj = {y[0], cri_v3_load(y + 1), {cri_v3_load(y + 4), cri_v3_load(y + 7)}};
    table_begin_derived_adj(&stage);
    cri_near_touch_vjp(&stage.sim->world, &row.near, &row.touch, &row.state, &adj, x_adj,
                       &stage.sim->d_adj);
    table_add_derived_adj(&stage, x_adj + stage.n.n_v);
}

static void load_tangents(const double *x_tan, double *body_tan) {
    memcpy(stage.sim->d_tan.block, x_tan + stage.n.n_v, sizeof *x_tan * (size_t)stage.n_d);
    cri_state_motion(stage.model, &row.state, NULL, x_tan, body_tan);
}

static void touch_jvp(const double *x, const double *x_tan, double *y_tan) {
    (void)x;
    double body_tan[TABLE_LIMIT];
    load_tangents(x_tan, body_tan);
    cri_touch_diff t = cri_near_touch_jvp(&stage.sim->world, &row.near, &row.touch, &row.state,
                                          x_tan, body_tan, &stage.sim->d_tan);
    store_touch(&t, y_tan);
}

// blocks of what stands still are not used
static void row_forward(const double *x, double *y) {
    cri_row r = {0};
    pose_stage(x);
    cri_row_at(&stage.sim->world, &row.near, &row.touch, &row.state, &r);
    memcpy(y, r.J, sizeof r.J);
}

static void row_vjp(const double *x, const double *y_adj, double *x_adj) {
    (void)x;
    double J_adj[2][3][6];
    cri_row r = {0};
    cri_row_at(&stage.sim->world, &row.near, &row.touch, &row.state, &r);
    memcpy(J_adj, y_adj, sizeof J_adj);
    table_begin_derived_adj(&stage);
    cri_row_at_vjp(&stage.sim->world, &r, &row.state, J_adj, x_adj, &stage.sim->d_adj);
    table_add_derived_adj(&stage, x_adj + stage.n.n_v);
}

static void row_jvp(const double *x, const double *x_tan, double *y_tan) {
    (void)x;
    double body_tan[TABLE_LIMIT], J_tan[2][3][6];
    cri_row r = {0};
    cri_row_at(&stage.sim->world, &row.near, &row.touch, &row.state, &r);
    load_tangents(x_tan, body_tan);
    cri_row_at_jvp(&stage.sim->world, &r, &row.state, x_tan, body_tan, &stage.sim->d_tan, J_tan);
    memcpy(y_tan, J_tan, sizeof J_tan);
}

// the rate by which impacts are located is the tangent of the gap along the velocities
static void check_rate(const double *x) {
    double x_tan[TABLE_LIMIT] = {0}, y_tan[N_TOUCH];
    const double *v = stage.x + stage.n.n_q;
    memcpy(x_tan, v, sizeof *v * (size_t)stage.n.n_v);
    touch_jvp(x, x_tan, y_tan);
    double rate =
        cri_near_rate(&stage.sim->world, &row.near, &row.touch, &row.state, v, row.state.motion);
    CHECK_CLOSE(rate, y_tan[0], 1e-12, 1e-12); // rounding of unit vectors
}

// one slot of a contact, found at the point
static void check_slot(const char *name, const cri_narrow_touch *touch) {
    double x[TABLE_LIMIT] = {0}, y[N_TOUCH];
    table_move move[TABLE_LIMIT] = {0};
    int n_v = stage.n.n_v;
    memcpy(x + n_v, stage.d, sizeof stage.d[0] * (size_t)stage.n_d);
    table_move_derived(&stage, move + n_v);
    row.first = *touch;
    touch_forward(x, y);
    CHECK_CLOSE(y[0], touch->gap, 1e-12, 1e-12); // the same touch again
    check_rate(x);
    table_row r = {.name = name,
                   .vjp_name = "cri_near_touch_vjp",
                   .jvp_name = "cri_near_touch_jvp",
                   .n_in = n_v + stage.n_d,
                   .n_out = N_TOUCH,
                   .forward = touch_forward,
                   .vjp = touch_vjp,
                   .jvp = touch_jvp,
                   .x = x,
                   .move = move,
                   .step = 1e-3};
    table_check(&r);
    r.vjp_name = "cri_row_at_vjp";
    r.jvp_name = "cri_row_at_jvp";
    r.n_out = N_ROW;
    r.forward = row_forward;
    r.vjp = row_vjp;
    r.jvp = row_jvp;
    table_check(&r);
}

// all slots of a contact whose gap is within reach
static void check_contact(const table_contact *c, int n_least) {
    cri_narrow_touch touch[CRI_MAX_TOUCH];
    double x[TABLE_LIMIT];
    cri_state state;
    int n = 0;
    char name[80];
    memcpy(x, stage.x, sizeof *x * (size_t)stage.n.n_x);
    cri_arena_reset(row.keep);
    cri_state_push(stage.model, x, &state, row.keep);
    cri_state_set(stage.model, &state);
    table_set_derived(&stage, stage.d);
    row.near = table_near(&stage, c);
    cri_near_touches(&stage.sim->world, &row.near, &state, 0.3, touch);
    for (int k = 0; k < row.near.n_slot; k++) {
        if (touch[k].gap < 1e3) {
            snprintf(name, sizeof name, "%s, %s, slot %d", c->geom[0] ? c->geom[0] : "limit",
                     c->geom[1] ? c->geom[1] : "", k);
            check_slot(name, &touch[k]);
            n++;
        }
    }
    if (n < n_least) {
        cr_test_fail("%s, %s: %d touches", c->geom[0], c->geom[1], n);
    }
}

static void open_stage(void) {
    row.keep = cri_arena_create(1 << 18);
    row.scratch = cri_arena_create(1 << 18);
    assert_true(row.keep && row.scratch);
}

static void close_stage(void) {
    cri_arena_destroy(row.keep);
    cri_arena_destroy(row.scratch);
    table_close(&stage);
}

// ---- free bodies -------------------------------------------------------------------------------

TEST(touches_of_free_bodies_have_their_gradients) {
    // over a slope
    static const table_scene yard = {
        .normal = "0.2 -0.3 1",
        .friction = 0.4,
        .restitution = 0.5,
        .bodies = "oxp",
        .qpos =
            "0.1 0.2 0.9 0.8 0.3 -0.4 0.2  2 1 1.2 0.7 -0.2 0.5 0.4 -0.5 1.3 1.6 0.5 -0.1 0.7 0.5",
        .qvel = "1 2 3 -1 2 1 0.5 1 2 -1 3 2 1 -2 0.5 0.6 0.7 0.8",
    };
    static const table_contact contacts[] = {
        {{"floor", "o"}, 0}, {{"floor", "x"}, 0}, {{"floor", "p"}, 0}, {{"o", "p"}, 0}};
    static const int n_touch[] = {1, 8, 1, 1};
    cr_sim_options options = table_options("located", "ncp");
    table_open_scene(&stage, &yard, &options);
    open_stage();
    for (int k = 0; k < 4; k++) {
        check_contact(&contacts[k], n_touch[k]);
    }
    close_stage();
}

TEST(rows_of_two_frictions_have_their_gradients) {
    // over a slope, and along a wall: the first tangent begins as y and as z
    static const char *const normals[] = {"0.2 -0.3 1", "0.3 -1 0.4"};
    for (int k = 0; k < 2; k++) {
        const table_scene yard = {
            .normal = normals[k],
            .friction = 0.4,
            .friction2 = k == 0 ? 0.7 : 0.1,
            .has_pairs = true,
            .bodies = "oxp",
            .qpos = "0.1 0.2 0.9 0.8 0.3 -0.4 0.2  2 1 1.2 0.7 -0.2 0.5 0.4"
                    " -0.5 1.3 1.6 0.5 -0.1 0.7 0.5",
            .qvel = "1 2 3 -1 2 1 0.5 1 2 -1 3 2 1 -2 0.5 0.6 0.7 0.8",
        };
        static const table_contact contacts[] = {
            {{"floor", "o"}, 0}, {{"floor", "x"}, 0}, {{"o", "p"}, 0}};
        cr_sim_options options = table_options("located", "ncp");
        table_open_scene(&stage, &yard, &options);
        open_stage();
        for (int i = 0; i < 3; i++) {
            check_contact(&contacts[i], 1);
            CHECK(row.near.has_two_frictions);
        }
        close_stage();
    }
}

// ---- trees -------------------------------------------------------------------------------------

// a chain of two hinges with every shape off its body's centre, a limit, things that stand in the
// world on a body and on none, and free bodies of several geoms
static const char workshop[] =
    "<mujoco><asset>"
    "<mesh name='gem' vertex='-0.3 -0.2 -0.2 0.4 -0.2 -0.1 0 0.4 -0.2 0.1 0 0.5'/></asset>"
    "<worldbody><geom name='floor' type='plane' size='9 9 1' zaxis='0.2 -0.3 1' pos='0 0 -1.5'/>"
    "<geom name='stone' type='sphere' size='0.4' pos='1.6 0.3 -0.3'/>"
    "<body name='shelf' pos='0.2 1.4 0.3' euler='10 20 30'>"
    "<geom name='board' type='box' size='0.5 0.6 0.1' pos='0.1 0.2 -0.1' euler='5 15 25'/></body>"
    "<body name='upper' pos='0.1 0.2 0.3' euler='10 20 30'>"
    "<joint name='elbow' axis='0.3 1 0.2' pos='0.1 0 0.2' limited='true' range='-40 60'/>"
    "<joint name='bend' axis='1 0.2 0.1' pos='0 0.1 0.2'/>"
    "<inertial pos='0.1 0 0' mass='1' diaginertia='1 2 2.5'/>"
    "<geom name='ball' type='sphere' size='0.3' pos='0.4 0.1 -0.2'/>"
    "<geom name='rod' type='capsule' size='0.2 0.4' pos='-0.3 0.2 -0.1' euler='40 20 0'/>"
    "<body name='lower' pos='0.3 -0.2 -0.7' euler='0 30 10'>"
    "<joint name='knee' axis='1 2 -1' pos='0.2 0.1 -0.3' limited='true' range='-50 10'/>"
    "<inertial pos='0 0 0.1' mass='0.8' diaginertia='1 2 2.5'/>"
    "<geom name='brick' type='box' size='0.2 0.3 0.25' pos='0.1 -0.1 0.05' euler='15 25 35'/>"
    "<geom name='egg' type='ellipsoid' size='0.2 0.3 0.25' pos='-0.5 0.1 -0.3' euler='15 0 35'/>"
    "<geom name='tin' type='cylinder' size='0.2 0.3' pos='0.4 0.4 -0.2' euler='35 10 0'/>"
    "<geom name='gem' type='mesh' mesh='gem' pos='-0.2 -0.5 0.1' euler='25 10 40'/>"
    "</body></body>"
    "<body name='crate'><freejoint/><inertial pos='0 0 0' mass='1' diaginertia='1 2 2.5'/>"
    "<geom name='lid' type='box' size='0.4 0.3 0.2' pos='0.1 0.2 0.1' euler='12 8 5'/>"
    "<geom name='knob' type='sphere' size='0.15' pos='0.1 0.2 0.5'/></body>"
    "<body name='pipe'><freejoint/><inertial pos='0 0 0' mass='1' diaginertia='1 2 2.5'/>"
    "<geom name='pipe' type='cylinder' size='0.25 0.5'/></body>"
    "</worldbody><keyframe><key qpos='0.3 -0.2 0.15  1.2 -0.9 -1.1 0.8 0.3 -0.4 0.2"
    " -0.9 0.5 0.1 0.5 -0.1 0.7 0.5' qvel='1 2 -3 0.4 0.5 -0.6 1.2 -0.7 0.9 1 -1 2 0.5 1.5 -2'/>"
    "</keyframe></mujoco>";

static void check_contacts(int n, const table_contact *contact, const int *n_touch) {
    cr_sim_options options = table_options("located", "ncp");
    table_open(&stage, workshop, &options);
    open_stage();
    for (int k = 0; k < n; k++) {
        check_contact(&contact[k], n_touch ? n_touch[k] : 1);
    }
    close_stage();
}

TEST(touches_of_trees_with_a_plane_have_their_gradients) {
    static const table_contact contacts[] = {
        {{"floor", "ball"}, 0}, {{"floor", "rod"}, 0}, {{"floor", "brick"}, 0},
        {{"floor", "egg"}, 0},  {{"floor", "tin"}, 0}, {{"floor", "gem"}, 0},
        {{"floor", "pipe"}, 0},
    };
    static const int n_touch[] = {1, 2, 8, 1, 1, 1, 1};
    check_contacts(7, contacts, n_touch);
}

TEST(touches_of_trees_with_things_have_their_gradients) {
    static const table_contact contacts[] = {
        {{"stone", "ball"}, 0}, {{"ball", "knob"}, 0}, {{"board", "brick"}, 0},
        {{"brick", "lid"}, 0},  {{"rod", "pipe"}, 0},  {{"egg", "lid"}, 0},
        {{"board", "ball"}, 0}, {{"stone", "tin"}, 0}, {{"tin", "pipe"}, 0},
        {{"board", "pipe"}, 0}, {{"gem", "lid"}, 0},   {{"gem", "pipe"}, 0},
    };
    check_contacts(12, contacts, NULL);
}

TEST(limits_have_their_gradients) {
    static const table_contact contacts[] = {
        {{NULL, NULL}, 0}, {{NULL, NULL}, 1}, {{NULL, NULL}, 2}, {{NULL, NULL}, 3}};
    check_contacts(4, contacts, NULL);
}

TABLE_PART(gradient_table_near, touches_of_free_bodies_have_their_gradients,
           rows_of_two_frictions_have_their_gradients,
           touches_of_trees_with_a_plane_have_their_gradients,
           touches_of_trees_with_things_have_their_gradients, limits_have_their_gradients)
