// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: masses of shapes, what follows from parameters, smooth motion.

#include "gradient_table.h"

#include "dynamics/flow.h"
#include "geometry/mass.h"

#include <string.h>

// ---- masses ------------------------------------------------------------------------------------

// x = (radius, density), y = (mass, inertia)
static void sphere_mass_forward(const double *x, double *y) {
    y[0] = cri_sphere_mass(x[0], x[1], y + 1);
}

static void sphere_mass_vjp(const double *x, const double *y_adj, double *x_adj) {
    cri_sphere_mass_vjp(x[0], x[1], y_adj[0], y_adj + 1, x_adj, x_adj + 1);
}

static void sphere_mass_jvp(const double *x, const double *x_tan, double *y_tan) {
    y_tan[0] = cri_sphere_mass_jvp(x[0], x[1], x_tan[0], x_tan[1], y_tan + 1);
}

// x = (size, density), y = (mass, inertia)
static void box_mass_forward(const double *x, double *y) {
    y[0] = cri_box_mass(x, x[3], y + 1);
}

static void box_mass_vjp(const double *x, const double *y_adj, double *x_adj) {
    cri_box_mass_vjp(x, x[3], y_adj[0], y_adj + 1, x_adj, x_adj + 3);
}

static void box_mass_jvp(const double *x, const double *x_tan, double *y_tan) {
    y_tan[0] = cri_box_mass_jvp(x, x[3], x_tan, x_tan[3], y_tan + 1);
}

TEST(masses_of_shapes_have_their_gradients) {
    static const double ball[2] = {0.8, 3.0}, box[4] = {0.9, 0.5, 1.3, 2.0};
    static const table_move positive[4] = {TABLE_POSITIVE, TABLE_POSITIVE, TABLE_POSITIVE,
                                           TABLE_POSITIVE};
    table_check(&(table_row){.name = "sphere_mass",
                             .vjp_name = "cri_sphere_mass_vjp",
                             .jvp_name = "cri_sphere_mass_jvp",
                             .n_in = 2,
                             .n_out = 4,
                             .forward = sphere_mass_forward,
                             .vjp = sphere_mass_vjp,
                             .jvp = sphere_mass_jvp,
                             .x = ball,
                             .move = positive});
    table_check(&(table_row){.name = "box_mass",
                             .vjp_name = "cri_box_mass_vjp",
                             .jvp_name = "cri_box_mass_jvp",
                             .n_in = 4,
                             .n_out = 4,
                             .forward = box_mass_forward,
                             .vjp = box_mass_vjp,
                             .jvp = box_mass_jvp,
                             .x = box,
                             .move = positive});
}

// ---- parameters --------------------------------------------------------------------------------

// mass and inertia as slots and from both shapes; coefficients of geoms, larger on either side, and
// of pairs
static const char workshop[] =
    "<mujoco><option gravity='0.3 -0.2 -9.81'/><custom>"
    "<text name='carom:inertia:ball' data='shape'/><text name='carom:inertia:box' data='shape'/>"
    "<numeric name='carom:friction:floor:box' data='0.35'/>"
    "<numeric name='carom:restitution:floor:puck' data='0.45'/>"
    "<numeric name='carom:restitution:floor' data='0.3'/>"
    "<numeric name='carom:restitution:ball' data='0.6'/>"
    "<numeric name='carom:restitution:box' data='0.2'/>"
    "<numeric name='carom:restitution:puck' data='0.5'/>"
    "</custom><worldbody><geom name='floor' type='plane' size='9 9 1' friction='0.5' contype='3'/>"
    "<body name='ball' pos='0 0 1'><freejoint/>"
    "<geom name='ball' type='sphere' size='0.7' density='3' friction='0.4'/></body>"
    "<body name='box' pos='2 0 1'><freejoint/>"
    "<geom name='box' type='box' size='0.5 0.6 0.8' density='2' contype='2' conaffinity='2'"
    " friction='0.7'/></body>"
    "<body name='puck' pos='0 2 1'><freejoint/>"
    "<inertial pos='0 0 0' mass='1.2' diaginertia='0.5 0.7 0.9'/>"
    "<geom name='puck' type='sphere' size='0.6' friction='0.8'/></body></worldbody></mujoco>";

/// The scene of the row.
static table_stage stage;

static void derive_forward(const double *x, double *y) {
    cri_derive(stage.model, x, &stage.sim->d, stage.sim->derive_cache);
    memcpy(y, stage.sim->d.block, sizeof *y * (size_t)stage.n_d);
}

static void derive_vjp(const double *x, const double *y_adj, double *x_adj) {
    cr_sim *sim = stage.sim;
    memcpy(sim->d_adj.block, y_adj, sizeof *y_adj * (size_t)stage.n_d);
    cri_derive_vjp(stage.model, x, &sim->d, sim->derive_cache, &sim->d_adj, x_adj);
}

static void derive_jvp(const double *x, const double *x_tan, double *y_tan) {
    cr_sim *sim = stage.sim;
    memset(sim->d_tan.block, 0, sizeof(double) * (size_t)stage.n_d);
    cri_derive_jvp(stage.model, x, &sim->d, sim->derive_cache, x_tan, &sim->d_tan);
    memcpy(y_tan, sim->d_tan.block, sizeof *y_tan * (size_t)stage.n_d);
}

static void check_derive(const double *p, const table_move *move) {
    table_check(&(table_row){.name = "derive",
                             .vjp_name = "cri_derive_vjp",
                             .jvp_name = "cri_derive_jvp",
                             .n_in = stage.n.n_p,
                             .n_out = stage.n_d,
                             .forward = derive_forward,
                             .vjp = derive_vjp,
                             .jvp = derive_jvp,
                             .x = p,
                             .move = move});
}

TEST(derived_parameters_have_their_gradients) {
    double p[TABLE_LIMIT];
    table_move move[TABLE_LIMIT];
    cr_sim_options options = table_options("located", "ncp");
    table_open(&stage, workshop, &options);
    cr_model_defaults(stage.model, -1, p, NULL, NULL);
    for (int i = 0; i < stage.n.n_p; i++) {
        double lower, upper;
        bool is_open;
        cr_model_domain(stage.model, i, &lower, &upper, &is_open);
        move[i] = is_open ? TABLE_POSITIVE : TABLE_FREE;
    }
    check_derive(p, move);

    // at a tie the body's coefficient counts, for an increase of it
    int floor = cr_model_find(stage.model, CR_VECTOR_P, "floor/friction", NULL);
    int ball = cr_model_find(stage.model, CR_VECTOR_P, "ball/friction", NULL);
    assert_true(floor >= 0 && ball >= 0);
    p[ball] = p[floor];
    move[ball] = TABLE_UP;
    move[floor] = TABLE_DOWN;
    check_derive(p, move);
    table_close(&stage);
}

// ---- smooth motion -----------------------------------------------------------------------------

// x = (pos, rotation vector, vel, spin, t, inv_mass, inertia, inv_inertia, gravity, wrench)
enum { AT_T = 12, AT_BODY = 13, AT_GRAVITY = 20, AT_WRENCH = 23, N_FLOW = 29, N_END = 12 };

static const cri_quat start = {0.5, -0.1, 0.7, 0.5}; // unit

/// Rotation at the end of a row's point.
static cri_quat finish;

/// Numbers of x as what cri_flow reads; body holds a copy.
static cri_drive drive_of(const double *x, cri_body_derived *body) {
    memcpy(body, x + AT_BODY, sizeof *body);
    return (cri_drive){.body = body, .gravity = x + AT_GRAVITY, .wrench = x + AT_WRENCH};
}

static cri_body_state flow_of(const double *x) {
    cri_body_derived body;
    cri_drive drive = drive_of(x, &body);
    cri_quat turn = cri_quat_exp(cri_v3_load(x + 3));
    cri_body_state s = {cri_v3_load(x), cri_quat_mul(start, turn), cri_v3_load(x + 6),
                        cri_v3_load(x + 9)};
    return cri_flow(&drive, &s, x[AT_T]);
}

static void flow_forward(const double *x, double *y) {
    cri_body_state s = flow_of(x);
    cri_v3_store(s.pos, y);
    table_turn(finish, s.quat, y + 3);
    cri_v3_store(s.vel, y + 6);
    cri_v3_store(s.spin, y + 9);
}

static cri_body_tangent tangent_of(const double *y) {
    return (cri_body_tangent){cri_v3_load(y), cri_v3_load(y + 3), cri_v3_load(y + 6),
                              cri_v3_load(y + 9)};
}

static void store_tangent(const cri_body_tangent *s, double *y) {
    cri_v3_store(s->pos, y);
    cri_v3_store(s->rot, y + 3);
    cri_v3_store(s->vel, y + 6);
    cri_v3_store(s->spin, y + 9);
}

static void flow_vjp(const double *x, const double *y_adj, double *x_adj) {
    cri_body_derived body, body_adj;
    cri_drive drive = drive_of(x, &body);
    cri_body_state s = {cri_v3_load(x), start, cri_v3_load(x + 6), cri_v3_load(x + 9)};
    cri_body_tangent out_adj = tangent_of(y_adj), s_adj = tangent_of(x_adj);
    memcpy(&body_adj, x_adj + AT_BODY, sizeof body_adj);
    cri_drive_adj adj = {&body_adj, x_adj + AT_GRAVITY, x_adj + AT_WRENCH};
    cri_flow_vjp(&drive, &s, x[AT_T], &out_adj, &s_adj, x_adj + AT_T, &adj);
    store_tangent(&s_adj, x_adj);
    memcpy(x_adj + AT_BODY, &body_adj, sizeof body_adj);
}

static void flow_jvp(const double *x, const double *x_tan, double *y_tan) {
    cri_body_derived body, body_tan;
    cri_drive drive = drive_of(x, &body), tan = drive_of(x_tan, &body_tan);
    cri_body_state s = {cri_v3_load(x), start, cri_v3_load(x + 6), cri_v3_load(x + 9)};
    cri_body_tangent s_tan = tangent_of(x_tan);
    cri_body_tangent out = cri_flow_jvp(&drive, &s, x[AT_T], &s_tan, x_tan[AT_T], &tan);
    store_tangent(&out, y_tan);
}

// three moments, a torque, and far round
static const double generic[N_FLOW] = {
    0.3, -0.7, 1.1,   // position
    0.0, 0.0,  0.0,   // rotation vector
    1.3, -0.4, 0.9,   // velocity
    2.1, -3.2, 1.7,   // spin
    0.4,              // time
    0.8,              // 1/mass
    0.5, 0.7,  0.9,   // inertia, and what stands for its inverse
    1.9, 1.5,  1.2,   //
    0.3, -0.2, -9.81, // gravity
    0.7, -1.1, 0.6,   // force
    0.5, -0.8, 0.35,  // torque
};

static void check_flow(const double *x) {
    finish = flow_of(x).quat;
    table_check(&(table_row){.name = "flow",
                             .vjp_name = "cri_flow_vjp",
                             .jvp_name = "cri_flow_jvp",
                             .n_in = N_FLOW,
                             .n_out = N_END,
                             .forward = flow_forward,
                             .vjp = flow_vjp,
                             .jvp = flow_jvp,
                             .x = x});
}

TEST(smooth_motion_has_its_gradient) {
    check_flow(generic);

    // a small angle, and none
    double x[N_FLOW];
    memcpy(x, generic, sizeof x);
    x[AT_T] = 0.02;
    check_flow(x);
    x[AT_T] = 0.0;
    check_flow(x);

    // equal moments and no torque: all stages agree
    memcpy(x, generic, sizeof x);
    for (int i = 0; i < 3; i++) {
        x[AT_BODY + 1 + i] = 0.6;
        x[AT_BODY + 4 + i] = 1.7;
        x[AT_WRENCH + 3 + i] = 0.0;
    }
    check_flow(x);
}

TEST(the_rate_of_smooth_motion_is_its_tangent_in_time) {
    double x_tan[N_FLOW] = {[AT_T] = 1.0}, want[N_END], got[N_END];
    flow_jvp(generic, x_tan, want);
    cri_body_derived body;
    cri_drive drive = drive_of(generic, &body);
    cri_body_state s = {cri_v3_load(generic), start, cri_v3_load(generic + 6),
                        cri_v3_load(generic + 9)};
    cri_body_tangent rate = cri_flow_rate(&drive, &s, generic[AT_T]);
    store_tangent(&rate, got);
    for (int i = 0; i < N_END; i++) {
        CHECK(got[i] == want[i]);
    }
}

// x = (spin, inv_mass, inertia, inv_inertia, gravity, wrench), y = (linear, angular)
enum { N_ACCELERATION = 19 };

/// The numbers of a row of cri_flow that cri_acceleration reads.
static void widen(const double *x, double *wide) {
    memset(wide, 0, N_FLOW * sizeof *wide);
    memcpy(wide + 9, x, 3 * sizeof *x);
    memcpy(wide + AT_BODY, x + 3, 16 * sizeof *x);
}

static void acceleration_forward(const double *x, double *y) {
    double wide[N_FLOW];
    cri_body_derived body;
    widen(x, wide);
    cri_drive drive = drive_of(wide, &body);
    cri_vec3 linear, angular;
    cri_acceleration(&drive, cri_v3_load(x), &linear, &angular);
    cri_v3_store(linear, y);
    cri_v3_store(angular, y + 3);
}

static void acceleration_vjp(const double *x, const double *y_adj, double *x_adj) {
    double wide[N_FLOW];
    cri_body_derived body, body_adj;
    widen(x, wide);
    cri_drive drive = drive_of(wide, &body);
    cri_vec3 spin_adj = cri_v3_load(x_adj);
    memcpy(&body_adj, x_adj + 3, sizeof body_adj);
    cri_drive_adj adj = {&body_adj, x_adj + 10, x_adj + 13};
    cri_acceleration_vjp(&drive, cri_v3_load(x), cri_v3_load(y_adj), cri_v3_load(y_adj + 3),
                         &spin_adj, &adj);
    cri_v3_store(spin_adj, x_adj);
    memcpy(x_adj + 3, &body_adj, sizeof body_adj);
}

static void acceleration_jvp(const double *x, const double *x_tan, double *y_tan) {
    double wide[N_FLOW], wide_tan[N_FLOW];
    cri_body_derived body, body_tan;
    widen(x, wide);
    widen(x_tan, wide_tan);
    cri_drive drive = drive_of(wide, &body), tan = drive_of(wide_tan, &body_tan);
    cri_vec3 linear, angular;
    cri_acceleration_jvp(&drive, cri_v3_load(x), cri_v3_load(x_tan), &tan, &linear, &angular);
    cri_v3_store(linear, y_tan);
    cri_v3_store(angular, y_tan + 3);
}

TEST(accelerations_have_their_gradients) {
    double x[N_ACCELERATION];
    memcpy(x, generic + 9, 3 * sizeof *x);
    memcpy(x + 3, generic + AT_BODY, 16 * sizeof *x);
    table_check(&(table_row){.name = "acceleration",
                             .vjp_name = "cri_acceleration_vjp",
                             .jvp_name = "cri_acceleration_jvp",
                             .n_in = N_ACCELERATION,
                             .n_out = 6,
                             .forward = acceleration_forward,
                             .vjp = acceleration_vjp,
                             .jvp = acceleration_jvp,
                             .x = x});
}

TABLE_PART(gradient_table_body, masses_of_shapes_have_their_gradients,
           derived_parameters_have_their_gradients, smooth_motion_has_its_gradient,
           the_rate_of_smooth_motion_is_its_tangent_in_time, accelerations_have_their_gradients)
