// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: masses of shapes, what follows from parameters, smooth motion.

#include "gradient_table.h"

#include "dynamics/unit.h"
#include "geometry/mesh/mass.h"

#include <string.h>

// ---- masses ------------------------------------------------------------------------------------

enum { N_SOLID = 7, N_INERTIA = 10, N_EACH = 14 };

static const cri_shape_kind kinds[N_SOLID] = {
    CRI_SHAPE_SPHERE, CRI_SHAPE_CAPSULE, CRI_SHAPE_ELLIPSOID, CRI_SHAPE_CYLINDER,
    CRI_SHAPE_BOX,    CRI_SHAPE_MESH,    CRI_SHAPE_FIELD};

/// Solids of the row: n of them from the first on.
static struct { int first, n; } solids;

// x = (size, density, moments) of each, y = (mass, com, J); shifted and turned, each in its own way
static void load_solids(const double *x, cri_solid *solid) {
    static const double moment[10] = {1.4, 0.1, -0.2, 0.3, 0.5, 0.6, 0.7, 0.05, -0.1, 0.08};
    for (int i = 0; i < solids.n; i++) {
        int k = solids.first + i;
        cri_quat turn = cri_quat_exp(cri_v3(0.3 + 0.2 * k, -0.5 + 0.3 * k, 0.7 - 0.4 * k));
        solid[i] = (cri_solid){.kind = kinds[k],
                               .size = x + N_EACH * i,
                               .moment = kinds[k] == CRI_SHAPE_MESH ? moment : x + N_EACH * i + 4,
                               .density = x[N_EACH * i + 3],
                               .pos = cri_v3(0.4 - 0.2 * k, 0.1 + 0.3 * k, 0.2 * k - 0.5),
                               .R = cri_quat_rotation(turn)};
    }
}

static void store_inertia(const cri_inertia *from, double *y) {
    y[0] = from->mass;
    cri_v3_store(from->com, y + 1);
    memcpy(y + 4, from->J, sizeof from->J);
}

static void inertia_forward(const double *x, double *y) {
    cri_solid solid[N_SOLID];
    load_solids(x, solid);
    cri_inertia sum = cri_inertia_of(solids.n, solid);
    store_inertia(&sum, y);
}

static void load_diff(const double *x, cri_solid_diff *diff) {
    for (int i = 0; i < solids.n; i++) {
        memcpy(diff[i].size, x + N_EACH * i, sizeof diff[i].size);
        diff[i].density = x[N_EACH * i + 3];
        memcpy(diff[i].moment, x + N_EACH * i + 4, sizeof diff[i].moment);
    }
}

static void inertia_vjp(const double *x, const double *y_adj, double *x_adj) {
    cri_solid solid[N_SOLID];
    cri_solid_diff diff[N_SOLID];
    cri_inertia adj = {.mass = y_adj[0], .com = cri_v3_load(y_adj + 1)};
    memcpy(adj.J, y_adj + 4, sizeof adj.J);
    load_solids(x, solid);
    load_diff(x_adj, diff);
    cri_inertia_of_vjp(solids.n, solid, &adj, diff);
    for (int i = 0; i < solids.n; i++) {
        memcpy(x_adj + N_EACH * i, diff[i].size, sizeof diff[i].size);
        x_adj[N_EACH * i + 3] = diff[i].density;
        memcpy(x_adj + N_EACH * i + 4, diff[i].moment, sizeof diff[i].moment);
    }
}

static void inertia_jvp(const double *x, const double *x_tan, double *y_tan) {
    cri_solid solid[N_SOLID];
    cri_solid_diff diff[N_SOLID];
    load_solids(x, solid);
    load_diff(x_tan, diff);
    cri_inertia tan = cri_inertia_of_jvp(solids.n, solid, diff);
    store_inertia(&tan, y_tan);
}

static void check_inertia(int first, int n) {
    // sizes that differ in everything; three of each, as a kind that has fewer reads no others
    static const double own[4 * N_SOLID] = {0.8, 0.3, 0.4, 3.0, 0.5, 0.7, 0.2, 2.0, //
                                            0.9, 0.5, 0.7, 1.5, 0.6, 0.4, 0.3, 2.5, //
                                            0.9, 0.5, 1.3, 2.0, 0.1, 0.1, 0.1, 1.2, //
                                            0.1, 0.1, 0.1, 1.7};
    static const double moment[10] = {1.1, 0.2, 0.1, -0.3, 0.6, 0.5, 0.8, -0.05, 0.1, 0.03};
    double x[N_EACH * N_SOLID];
    table_move move[N_EACH * N_SOLID];
    for (int i = 0; i < N_EACH * N_SOLID; i++) {
        int k = i % N_EACH;
        x[i] = k < 4 ? own[4 * (i / N_EACH) + k] : moment[k - 4];
        move[i] = k < 4 ? TABLE_POSITIVE : TABLE_FREE;
    }
    solids.first = first;
    solids.n = n;
    table_check(&(table_row){.name = "inertia_of",
                             .vjp_name = "cri_inertia_of_vjp",
                             .jvp_name = "cri_inertia_of_jvp",
                             .n_in = N_EACH * n,
                             .n_out = N_INERTIA,
                             .forward = inertia_forward,
                             .vjp = inertia_vjp,
                             .jvp = inertia_jvp,
                             .x = x + N_EACH * first,
                             .move = move});
}

// x, y = (mass, com, J)
static cri_inertia load_inertia(const double *x) {
    cri_inertia out = {.mass = x[0], .com = cri_v3_load(x + 1)};
    memcpy(out.J, x + 4, sizeof out.J);
    return out;
}

static void origin_forward(const double *x, double *y) {
    cri_inertia own = load_inertia(x), out = cri_inertia_at_origin(&own);
    store_inertia(&out, y);
}

static void origin_vjp(const double *x, const double *y_adj, double *x_adj) {
    cri_inertia own = load_inertia(x), adj = load_inertia(y_adj), own_adj = load_inertia(x_adj);
    cri_inertia_at_origin_vjp(&own, &adj, &own_adj);
    store_inertia(&own_adj, x_adj);
}

static void origin_jvp(const double *x, const double *x_tan, double *y_tan) {
    cri_inertia own = load_inertia(x), tan = load_inertia(x_tan);
    cri_inertia out = cri_inertia_at_origin_jvp(&own, &tan);
    store_inertia(&out, y_tan);
}

TEST(inertia_about_the_origin_has_its_gradient) {
    static const double x[N_INERTIA] = {1.3, 0.4, -0.2, 0.7, 0.6, 0.5, 0.8, -0.05, 0.1, 0.03};
    table_check(&(table_row){.name = "inertia_at_origin",
                             .vjp_name = "cri_inertia_at_origin_vjp",
                             .jvp_name = "cri_inertia_at_origin_jvp",
                             .n_in = N_INERTIA,
                             .n_out = N_INERTIA,
                             .forward = origin_forward,
                             .vjp = origin_vjp,
                             .jvp = origin_jvp,
                             .x = x});
}

TEST(masses_of_shapes_have_their_gradients) {
    for (int k = 0; k < N_SOLID; k++) {
        check_inertia(k, 1);
    }
    check_inertia(0, N_SOLID);
}

// ---- parameters --------------------------------------------------------------------------------

// mass and inertia as slots and from shapes, one or many, free and on joints; coefficients of geoms
// and of pairs; joints, actuators, tendons
static const char workshop[] =
    "<mujoco><option gravity='0.3 -0.2 -9.81'/><asset>"
    "<mesh name='gem' vertex='-0.3 -0.2 -0.2 0.4 -0.2 -0.1 0 0.4 -0.2 0.1 0 0.5'/></asset><custom>"
    "<text name='carom:inertia:ball' data='shape'/><text name='carom:inertia:box' data='shape'/>"
    "<text name='carom:inertia:arm' data='shape'/><text name='carom:inertia:odd' data='shape "
    "origin'/>"
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
    "<geom name='puck' type='sphere' size='0.6' friction='0.8'/></body>"
    "<body name='odd' pos='9 0 3'><freejoint/>"
    "<geom type='box' size='0.2 0.3 0.4' pos='0.3 -0.2 0.5' euler='20 30 40' density='4'/>"
    "<geom type='sphere' size='0.3' pos='-0.4 0.1 0.2' density='5'/></body>"
    "<body name='arm' pos='5 5 5'><joint name='shoulder' type='ball' stiffness='0.3' damping='0.2'"
    " armature='0.1'/>"
    "<geom type='capsule' size='0.2 0.5' pos='0.1 0.2 0.3' euler='10 20 30' density='2'/>"
    "<geom type='ellipsoid' size='0.3 0.4 0.5' pos='0.5 0 0.2' euler='50 0 10' density='3'/>"
    "<geom type='mesh' mesh='gem' pos='0.2 -0.4 0.1' euler='0 60 20' density='2.5'/>"
    "<geom type='cylinder' size='0.3 0.4' pos='-0.5 0.2 0.2' euler='0 60 10' density='1.5'/>"
    "<body name='hand' pos='0 0 1'><joint name='wrist' axis='1 0.2 0.3' stiffness='0.4'"
    " damping='0.3' armature='0.2' springref='12'/>"
    "<joint name='slide' type='slide' axis='0 0 1' stiffness='0.5' springref='0.1'/>"
    "<inertial pos='0.1 0.2 -0.1' mass='0.7' fullinertia='0.4 0.5 0.6 0.02 -0.03 0.04'/>"
    "<site name='tip' pos='0.2 0.1 0.3'/></body></body></worldbody>"
    "<tendon><fixed name='cord' stiffness='0.6' damping='0.7' springlength='0.3'>"
    "<joint joint='wrist' coef='0.5'/><joint joint='slide' coef='-0.8'/></fixed></tendon>"
    "<actuator><motor name='m' joint='wrist' gear='2'/>"
    "<position name='servo' joint='slide' kp='3' kv='0.4'/>"
    "<velocity name='brake' joint='wrist' kv='0.6'/>"
    "<motor name='jet' site='tip' gear='0.1 0.2 0.3 0.4 0.5 0.6'/>"
    "<motor name='pull' tendon='cord' gear='1.5'/></actuator></mujoco>";

/// The scene of the row.
static table_stage stage;

static void derive_forward(const double *x, double *y) {
    cri_derive(stage.model, x, &stage.sim->d);
    memcpy(y, stage.sim->d.block, sizeof *y * (size_t)stage.n_d);
}

static void derive_vjp(const double *x, const double *y_adj, double *x_adj) {
    cr_sim *sim = stage.sim;
    memcpy(sim->d_adj.block, y_adj, sizeof *y_adj * (size_t)stage.n_d);
    cri_derive_vjp(stage.model, x, &sim->d, &sim->d_adj, x_adj);
}

static void derive_jvp(const double *x, const double *x_tan, double *y_tan) {
    cr_sim *sim = stage.sim;
    cri_derive_jvp(stage.model, x, &sim->d, x_tan, &sim->d_tan);
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
    table_close(&stage);
}

// ---- smooth motion -----------------------------------------------------------------------------

// x = (pos, rotation vector, vel, spin, t, inv_mass, inertia, inv_inertia, gravity, wrench)
enum { AT_T = 12, AT_BODY = 13, AT_GRAVITY = 20, AT_WRENCH = 23, N_FLOW = 29, N_END = 12 };

static const cri_quat start = {0.5, -0.1, 0.7, 0.5}; // unit

/// Rotation at the end of a row's point.
static cri_quat finish;

/// The row leaves w x I w out.
static bool omits_gyro;

/// Numbers of x as what cri_flow reads; body holds a copy.
static cri_drive drive_of(const double *x, cri_body_derived *body) {
    memcpy(body, x + AT_BODY, sizeof *body);
    return (cri_drive){
        .body = body, .gravity = x + AT_GRAVITY, .wrench = x + AT_WRENCH, .omits_gyro = omits_gyro};
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
    omits_gyro = true;
    check_flow(generic);
    omits_gyro = false;

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
    for (int k = 0; k < 2; k++) {
        omits_gyro = k == 1;
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
    omits_gyro = false;
}

TABLE_PART(gradient_table_body, inertia_about_the_origin_has_its_gradient,
           masses_of_shapes_have_their_gradients, derived_parameters_have_their_gradients,
           smooth_motion_has_its_gradient, the_rate_of_smooth_motion_is_its_tangent_in_time,
           accelerations_have_their_gradients)
