// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: both steppers, in tangent coordinates.
//
// x = (y, u, d), y = state after the step. The differences locate every impact again.

#include "gradient_table.h"

#include <string.h>

/// Inputs that may not be moved freely: numbers i to i + n - 1 of y or u, of the gravity (g) or of
/// the inverse mass and inertia of the first body (b); n sizes (s) or the restitution (e) of geom
/// i.
typedef struct limit {
    char part;
    int i, n;
    table_move move;
} limit;

enum { N_LIMIT = 8 };

/// A step to check, and what must come of it.
typedef struct point {
    const char *name;
    table_scene scene;
    const char *stepper;
    const char *law;
    double h;
    const double *u; // (n_u)
    int n_event;
    int grad;
    int event_cap; // 0: default
    limit limit[N_LIMIT];
    const char *mjcf; // instead of the scene
    bool is_redundant;
} point;

/// The scene of the row, and its last step.
static table_stage stage;
static struct {
    double h;
    cri_step_record *record;
} row;

static int at_d(void) {
    return stage.n.n_tangent + stage.n.n_u;
}

static void run_step(const double *x, double *end) {
    cr_sim *sim = stage.sim;
    cr_error err = {0};
    double state[TABLE_LIMIT];
    table_displace(&stage, x, state);
    table_set_derived(&stage, x + at_d());
    cri_warm_clear(&sim->warm);
    cri_arena_reset(sim->tape);
    cri_arena_reset(sim->scratch);
    assert_int_equal(cri_sim_step(sim, row.h, state, x + stage.n.n_tangent, end, &row.record, &err),
                     CR_OK);
}

static void step_forward(const double *x, double *y) {
    double end[TABLE_LIMIT];
    run_step(x, end);
    table_output(&stage, end, y);
}

static void step_vjp(const double *x, const double *y_adj, double *x_adj) {
    (void)x;
    cr_error err = {0};
    int n = stage.n.n_tangent;
    double y[TABLE_LIMIT];
    memcpy(y, y_adj, sizeof *y * (size_t)n);
    table_begin_derived_adj(&stage);
    assert_int_equal(stage.sim->stepper->vjp(stage.sim, row.record, y, x_adj + n, &err), CR_OK);
    table_add_derived_adj(&stage, x_adj + at_d());
    for (int i = 0; i < n; i++) {
        x_adj[i] += y[i];
    }
}

static void step_jvp(const double *x, const double *x_tan, double *y_tan) {
    (void)x;
    cr_error err = {0};
    int n = stage.n.n_tangent;
    cr_sim *sim = stage.sim;
    memcpy(y_tan, x_tan, sizeof *y_tan * (size_t)n);
    memcpy(sim->d_tan.block, x_tan + at_d(), sizeof *x_tan * (size_t)stage.n_d);
    assert_int_equal(sim->stepper->jvp(sim, row.record, y_tan, x_tan + n, &err), CR_OK);
}

// where the numbers of a limit begin
static int limit_at(const limit *l) {
    const cri_derived *d = &stage.sim->d;
    switch (l->part) {
    case 'y':
        return l->i;
    case 'u':
        return stage.n.n_tangent + l->i;
    case 'g':
        return at_d() + l->i;
    case 'b':
        return at_d() + (int)(&d->body[0].inv_mass - d->block) + l->i;
    case 's':
        return at_d() + (int)(d->geom[l->i].size - d->block);
    default:
        return at_d() + (int)(&d->geom[l->i].restitution - d->block);
    }
}

static void apply_limits(const point *p, table_move *move) {
    for (int k = 0; k < N_LIMIT && p->limit[k].part; k++) {
        for (int i = 0; i < p->limit[k].n; i++) {
            move[limit_at(&p->limit[k]) + i] = p->limit[k].move;
        }
    }
}

static void check_step(const point *p) {
    bool is_redundant = p->is_redundant || (!p->mjcf && strchr(p->scene.bodies, 's'));
    bool is_located = strcmp(p->stepper, "located") == 0;
    double x[TABLE_LIMIT] = {0};
    table_move move[TABLE_LIMIT] = {0};
    cr_sim_options options = table_options(p->stepper, p->law);
    options.event_cap = p->event_cap > 0 ? p->event_cap : options.event_cap;
    if (p->mjcf) {
        table_open(&stage, p->mjcf, &options);
    } else {
        table_open_scene(&stage, &p->scene, &options);
    }
    row.h = p->h;
    memcpy(x + stage.n.n_tangent, p->u, sizeof *x * (size_t)stage.n.n_u);
    memcpy(x + at_d(), stage.d, sizeof *x * (size_t)stage.n_d);
    table_move_derived(&stage, move + at_d());
    apply_limits(p, move);
    run_step(x, stage.next);
    if (row.record->report.n_event != p->n_event || row.record->report.grad != p->grad) {
        cr_test_fail("%s: %d events, gradient %d", p->name, row.record->report.n_event,
                     row.record->report.grad);
    }
    table_check(&(table_row){.name = p->name,
                             .vjp_name = is_located ? "located_vjp" : "end_vjp",
                             .jvp_name = is_located ? "located_jvp" : "end_jvp",
                             .n_in = at_d() + stage.n_d,
                             .n_out = stage.n.n_tangent,
                             .forward = step_forward,
                             .vjp = step_vjp,
                             .jvp = step_jvp,
                             .x = x,
                             .move = move,
                             .step = 1e-3,
                             .tolerance = is_redundant ? 1e-6 : 0.0,
                             .size = is_redundant ? TABLE_REDUNDANT : 0.0});
    table_close(&stage);
}

// a ball, a box that flies by, a puck: their wrenches
static const double wrench[18] = {0.1, -0.2, 0.3,  0.4, -0.2, 0.6, 0.5,  -0.4, -0.2,
                                  0.2, 0.1,  -0.3, 0.6, 0.7,  0.4, -0.1, 0.3,  -0.2};
static const double upright[18] = {0.1, -0.2, 0.3, 0.0, 0.0, 0.6};
static const double none[18];

// ---- located -----------------------------------------------------------------------------------

static const table_scene three = {
    .gravity = "0.3 -0.2 -9.81",
    .normal = "0.2 -0.3 1",
    .friction = 0.3,
    .restitution = 0.5,
    .bodies = "oxp",
    .qpos = "0 0 0.8 0.8 0.3 -0.4 0.2 3 3 5 0.5 -0.1 0.7 0.5 0.3 0.2 2.2 0.9 0.2 -0.1 0.3",
    .qvel = "1 2 -1.5 1.5 -2 2.5 2 1.5 -0.2 2 -3 1 0.5 1 -4 1 2 3",
};

static const table_scene corner = {
    .gravity = "0.3 -0.2 -9.81",
    .normal = "0.2 -0.3 1",
    .friction = 0.3,
    .restitution = 0.5,
    .bodies = "ox",
    .qpos = "0 0 3 0.8 0.3 -0.4 0.2 3 3 1.12 0.5 -0.1 0.7 0.5",
    .qvel = "1 2 -1.5 1.5 -2 2.5 2 1.5 -2 2 -3 1",
};

TEST(located_steps_with_and_without_impacts_have_their_gradients) {
    const point points[] = {
        {"flight", three, "located", "ncp", 0.02, wrench, .n_event = 0},
        {"one impact", three, "located", "ncp", 0.03, wrench, .n_event = 1},
        {"three impacts", three, "located", "ncp", 0.06, wrench, .n_event = 3},
        {"three poisson impacts", three, "located", "ncp-poisson", 0.06, wrench, .n_event = 3},
        {"one corner", corner, "located", "ncp", 0.04, wrench, .n_event = 1},
        {"one poisson corner", corner, "located", "ncp-poisson", 0.04, wrench, .n_event = 1},
    };
    for (size_t k = 0; k < sizeof points / sizeof points[0]; k++) {
        check_step(&points[k]);
    }
}

TEST(steps_with_two_frictions_have_their_gradients) {
    table_scene skew = three;
    skew.has_pairs = true;
    skew.friction = 0.1;
    skew.friction2 = 0.35;
    const point points[] = {
        {"skew impacts", skew, "located", "ncp", 0.06, wrench, .n_event = 4},
        {"skew end of step", skew, "end", "ncp", 0.06, wrench, 1, .grad = CR_GRAD_DISCRETE},
    };
    check_step(&points[0]);
    check_step(&points[1]);
}

TEST(an_impact_on_a_resting_ball_has_its_gradient) {
    static const table_scene scene = {
        .gravity = "0.3 -0.2 -9.81",
        .friction = 0.3,
        .restitution = 0.5,
        .bodies = "oxp",
        .qpos = "0 0 0.7 0.8 0.3 -0.4 0.2 3 3 5 0.5 -0.1 0.7 0.5 0.3 0.2 2.0 0.9 0.2 -0.1 0.3",
        .qvel = "1 2 0 1.5 -2 2.5 2 1.5 -0.2 2 -3 1 0.5 1 -2 1 2 3",
    };
    // whatever lifts the ball off the floor or pushes it in: height, speed, radius, floor
    check_step(&(point){"resting ball", scene, "located", "ncp", 0.05, wrench, 1,
                        .grad = CR_GRAD_DISCRETE,
                        .limit = {{'y', 2, 1, TABLE_HELD},
                                  {'y', 20, 1, TABLE_HELD},
                                  {'s', 0, 1, TABLE_HELD},
                                  {'s', 1, 1, TABLE_HELD}}});
}

TEST(an_impact_on_a_whole_face_has_its_gradient) {
    static const table_scene sticking = {.gravity = "0.3 -0.2 -9.81",
                                         .friction = 0.9,
                                         .restitution = 0.5,
                                         .bodies = "s",
                                         .qpos = "3 3 0.25 0.9 0 0 0.3",
                                         .qvel = "0.3 0.1 -2 0 0 0.2"};
    table_scene sliding = sticking;
    sliding.friction = 0.3;
    sliding.qvel = "3 2 -2 0 0 1.5";
    // whatever tilts the face makes four impacts of one
    const point points[] = {
        {"sticking face", sticking, "located", "ncp", 0.05, upright, 1, CR_GRAD_AVERAGED,
         .limit = {{'y', 3, 2, TABLE_HELD}, {'y', 9, 2, TABLE_HELD}, {'u', 3, 2, TABLE_HELD}}},
        {"sliding face", sliding, "located", "ncp", 0.05, upright, 1, CR_GRAD_AVERAGED,
         .limit = {{'y', 3, 2, TABLE_HELD}, {'y', 9, 2, TABLE_HELD}, {'u', 3, 2, TABLE_HELD}}},
    };
    check_step(&points[0]);
    check_step(&points[1]);
}

TEST(a_capped_impact_has_its_gradient) {
    // the ball has bounced when the puck comes: a row of the motion stops it
    check_step(&(point){"capped", three, "located", "ncp", 0.045, wrench, 1,
                        CR_GRAD_DISCRETE | CR_GRAD_ONE_SIDED, .event_cap = 1});
}

TEST(impacts_at_the_start_of_a_step_have_their_gradients) {
    static const table_scene inside = {.gravity = "0.3 -0.2 -9.81",
                                       .normal = "0.2 -0.3 1",
                                       .friction = 0.3,
                                       .restitution = 0.5,
                                       .bodies = "o",
                                       .qpos = "0 0 0.74 0.8 0.3 -0.4 0.2",
                                       .qvel = "1 0.4 -0.5 1.5 -2 2.5"};
    static const table_scene touching = {.gravity = "0.3 -0.2 -9.81",
                                         .friction = 0.3,
                                         .restitution = 0.5,
                                         .bodies = "o",
                                         .qpos = "0 0 0.7 0.8 0.3 -0.4 0.2",
                                         .qvel = "1 0.4 -0.5 1.5 -2 2.5"};
    table_scene leaving = inside;
    leaving.qvel = "1 0.4 0.2 1.5 -2 2.5";
    check_step(
        &(point){"inside", inside, "located", "ncp", 0.02, wrench, 1, .grad = CR_GRAD_ONE_SIDED});
    check_step(&(point){"inside, twice", inside, "located", "ncp", 0.06, wrench, 2,
                        .grad = CR_GRAD_ONE_SIDED});
    // back to the depth it left from
    check_step(
        &(point){"leaving", leaving, "located", "ncp", 0.06, wrench, 1, .grad = CR_GRAD_ONE_SIDED});
    // from the touch outwards: height up, floor and radius down
    check_step(&(point){
        "touching", touching, "located", "ncp", 0.02, wrench, 1,
        .limit = {{'y', 2, 1, TABLE_UP}, {'s', 0, 1, TABLE_DOWN}, {'s', 1, 1, TABLE_DOWN}}});
}

TEST(restitution_from_none_has_its_one_sided_gradient) {
    static const table_scene scene = {.normal = "0.2 -0.3 1",
                                      .friction = 0.3,
                                      .bodies = "r",
                                      .qpos = "0 0 0.8 0.8 0.3 -0.4 0.2",
                                      .qvel = "1 0.4 -1.5 1.5 -2 2.5"};
    // nothing may press the ball, or it rests; nor pull or turn, as resting and flying differ to
    // first order in h
    check_step(&(point){"no restitution", scene, "located", "ncp", 0.1, none, 1,
                        CR_GRAD_DISCRETE | CR_GRAD_ONE_SIDED,
                        .limit = {{'g', 0, 3, TABLE_HELD},
                                  {'b', 1, 3, TABLE_HELD},
                                  {'u', 0, 6, TABLE_HELD},
                                  {'e', 0, 1, TABLE_HELD},
                                  {'e', 1, 1, TABLE_UP}}});
}

// ---- end of step -------------------------------------------------------------------------------

TEST(end_of_step_jumps_have_their_gradients) {
    // both in one island; each in its own, the puck opening slowly; a slab in its target, a box in
    // flight
    static const table_scene stacked = {
        .gravity = "0.3 -0.2 -9.81",
        .normal = "0.2 -0.3 1",
        .friction = 0.3,
        .restitution = 0.3,
        .bodies = "oxp",
        .qpos = "0 0 0.73 0.8 0.3 -0.4 0.2 3 3 5 0.5 -0.1 0.7 0.5 0.3 0.2 1.95 0.9 0.2 -0.1 0.3",
        .qvel = "1 2 -1.5 1.5 -2 2.5 2 1.5 -0.2 2 -3 1 0.5 1 -1 1 2 3"};
    table_scene apart = stacked, slab = stacked;
    apart.qpos = "0 0 0.73 0.8 0.3 -0.4 0.2 3 3 5 0.5 -0.1 0.7 0.5 0.9 -3.2 -0.51 0.9 0.2 -0.1 0.3";
    apart.qvel = "1 2 -1.5 1.5 -2 2.5 2 1.5 -0.2 2 -3 1 0.5 1 0.2 1 2 3";
    slab.restitution = 0.02;
    slab.bodies = "s";
    slab.qpos = "0.1 0.2 0.1 0.95 0.12 0.08 0.3";
    slab.qvel = "2 1.5 -0.4 0.2 -0.1 1";
    const int grad = CR_GRAD_DISCRETE;
    const point points[] = {
        {"end, flight", three, "end", "ncp", 0.02, wrench, .n_event = 0},
        {"end, stacked", stacked, "end", "ncp", 0.05, wrench, 1, .grad = grad},
        {"end, stacked, poisson", stacked, "end", "ncp-poisson", 0.05, wrench, 1, .grad = grad},
        {"end, apart", apart, "end", "ncp", 0.05, wrench, 2, .grad = grad},
        {"end, apart, poisson", apart, "end", "ncp-poisson", 0.05, wrench, 2, .grad = grad},
        {"end, slab", slab, "end", "ncp", 0.05, wrench, 1, .grad = grad},
        {"end, slab, poisson", slab, "end", "ncp-poisson", 0.05, wrench, 1, .grad = grad},
    };
    for (size_t k = 0; k < sizeof points / sizeof points[0]; k++) {
        check_step(&points[k]);
    }
}

// ---- trees -------------------------------------------------------------------------------------

// a body on a leg of two links, and a ball above it: the foot lands, the ball hits the body
#define HOPPER(integrator, height)                                                                 \
    "<mujoco><option gravity='0.3 -0.2 -9.81' integrator='" integrator "'/><custom>"               \
    "<numeric name='carom:restitution:floor' data='0.5'/>"                                         \
    "<numeric name='carom:restitution:ball' data='0.4'/></custom><worldbody>"                      \
    "<geom name='floor' type='plane' size='9 9 1' zaxis='0.1 -0.2 1' friction='0.6'/>"             \
    "<body name='torso'><freejoint/>"                                                              \
    "<inertial pos='0.1 0 0.05' mass='1.5' diaginertia='0.3 0.4 0.5'/>"                            \
    "<geom name='belly' type='sphere' size='0.3' pos='0 0.1 0' friction='0.2'/>"                   \
    "<body name='thigh' pos='0.1 0.05 -0.3'><joint name='hip' axis='0 1 0.2' armature='0.02'"      \
    " damping='0.3' stiffness='2'/>"                                                               \
    "<inertial pos='0 0.02 -0.2' mass='0.5' diaginertia='0.1 0.12 0.09'/>"                         \
    "<body name='shin' pos='0 0 -0.5'><joint name='knee' axis='0.1 1 0' damping='0.2'"             \
    " limited='true' range='-80 32'/>"                                                             \
    "<inertial pos='0.03 0 -0.2' mass='0.4' diaginertia='0.1 0.11 0.08'/>"                         \
    "<geom name='foot' type='capsule' size='0.08 0.1' pos='0 0.05 -0.4' euler='60 20 0'"           \
    " friction='0.1'/></body></body></body>"                                                       \
    "<body name='ball'><freejoint/>"                                                               \
    "<inertial pos='0 0 0' mass='1.2' diaginertia='0.2 0.3 0.4'/>"                                 \
    "<geom name='ball' type='sphere' size='0.3' friction='0.3'/></body></worldbody>"               \
    "<actuator><motor joint='hip' gear='2'/><position joint='knee' kp='5' kv='0.3'/></actuator>"   \
    "<keyframe><key qpos='0.1 0.2 " height " 0.99 0.05 -0.03 0.02 -0.2 0.5"                        \
    " 0.3 0.2 2.4 0.8 0.3 -0.4 0.2' qvel='0.4 0.2 -1.5 0.3 -0.2 0.4 0.5 1.2"                       \
    " 0.2 0.1 -6 1 -2 0.5'/></keyframe></mujoco>"

static const double motors[16] = {0.5,  0.4, 0.1, -0.2, 0.3,  0.05, -0.1, 0.2,
                                  -0.3, 0.2, 0.4, -0.1, 0.25, 0.1,  -0.3, 0.2};

TEST(steps_of_a_tree_with_impacts_have_their_gradients) {
    static const char falling[] = HOPPER("RK4", "1.35"), euler[] = HOPPER("Euler", "1.35");
    static const char inside[] = HOPPER("RK4", "1.3");
    const point points[] = {
        {"tree, flight", .mjcf = falling, .stepper = "located", .law = "ncp", .h = 0.008},
        {"tree, foot", .mjcf = falling, .stepper = "located", .law = "ncp", .h = 0.012,
         .n_event = 1},
        {"tree, foot, poisson", .mjcf = falling, .stepper = "located", .law = "ncp-poisson",
         .h = 0.012, .n_event = 1},
        {"tree, foot, Euler", .mjcf = euler, .stepper = "located", .law = "ncp", .h = 0.012,
         .n_event = 1, .grad = CR_GRAD_DISCRETE},
        {"tree, foot and knee", .mjcf = falling, .stepper = "located", .law = "ncp", .h = 0.03,
         .n_event = 2, .grad = CR_GRAD_DISCRETE},
        {"tree, twice the foot", .mjcf = falling, .stepper = "located", .law = "ncp", .h = 0.038,
         .n_event = 4, .grad = CR_GRAD_DISCRETE},
        {"tree, end", .mjcf = inside, .stepper = "end", .law = "ncp", .h = 0.03, .n_event = 1,
         .grad = CR_GRAD_DISCRETE},
        {"tree, end, Euler", .mjcf = euler, .stepper = "end", .law = "ncp", .h = 0.03, .n_event = 1,
         .grad = CR_GRAD_DISCRETE},
        {"tree, end, poisson", .mjcf = inside, .stepper = "end", .law = "ncp-poisson", .h = 0.03,
         .n_event = 1, .grad = CR_GRAD_DISCRETE},
    };
    for (size_t k = 0; k < sizeof points / sizeof points[0]; k++) {
        point p = points[k];
        p.u = motors;
        check_step(&p);
    }
}

// two arms on a base whose ends are joined; they stand as they are joined, and fall on a foot
#define LOOP                                                                                       \
    "<mujoco><option gravity='0.3 -0.2 -9.81' integrator='RK4'/><custom>"                          \
    "<numeric name='carom:restitution:floor' data='0.5'/>"                                         \
    "<numeric name='carom:restitution:base' data='0.2'/></custom><worldbody>"                      \
    "<geom name='floor' type='plane' size='9 9 1' zaxis='0.1 -0.2 1' friction='0.5'/>"             \
    "<geom name='post' type='box' size='0.1 0.2 0.3' pos='0.72 0.1 0.6' friction='0.4'/>"          \
    "<body name='base' pos='0.1 0.2 0.7'><freejoint/>"                                             \
    "<inertial pos='0.1 0 0.05' mass='1.5' diaginertia='0.3 0.4 0.5'/>"                            \
    "<geom name='base' type='sphere' size='0.2' pos='0.3 -0.1 0.1' friction='0.3'/>"               \
    "<body name='a' pos='0.3 0 0'><joint axis='0 1 0.1'/><joint axis='1 0 0.2'/>"                  \
    "<inertial pos='0 0.02 -0.2' mass='0.5' diaginertia='0.1 0.12 0.09'/>"                         \
    "<geom name='a' type='sphere' size='0.15' pos='0.1 0 -0.4' friction='0.1'/></body>"            \
    "<body name='b' pos='-0.3 0.1 0'><joint type='ball' damping='0.2'/>"                           \
    "<inertial pos='0 0.02 -0.2' mass='0.6' diaginertia='0.12 0.1 0.09'/></body></body>"           \
    "</worldbody><equality><connect body1='a' body2='b' anchor='-0.2 0.1 -0.6'/></equality>"       \
    "<keyframe><key qpos='0.1 0.2 0.53 0.95 0.1 -0.1 0.2 0 0 1 0 0 0'"                             \
    " qvel='0.9 0.2 -1.5 0.3 -0.2 0.4 0 0 0 0 0'/></keyframe></mujoco>"

TEST(steps_of_a_loop_have_their_gradients) {
    const point points[] = {
        {"loop", .mjcf = LOOP, .stepper = "located", .law = "ncp", .u = none, .h = 0.04,
         .n_event = 2},
        {"loop, end", .mjcf = LOOP, .stepper = "end", .law = "ncp", .u = none, .h = 0.04,
         .n_event = 1, .grad = CR_GRAD_DISCRETE},
    };
    for (size_t k = 0; k < sizeof points / sizeof points[0]; k++) {
        check_step(&points[k]);
    }
}

TEST(a_step_of_a_tree_from_an_overlap_has_its_gradient) {
    static const char inside[] = HOPPER("RK4", "1.3");
    check_step(&(point){"tree, inside", .mjcf = inside, .stepper = "located", .law = "ncp",
                        .u = motors, .h = 0.01, .n_event = 1, .grad = CR_GRAD_ONE_SIDED});
}

// ---- shapes ------------------------------------------------------------------------------------

// two bodies over a floor; first and second are their geoms
#define DESK(first, second, qpos, qvel)                                                            \
    "<mujoco><option gravity='0.3 -0.2 -9.81'/><custom>"                                           \
    "<numeric name='carom:restitution:floor' data='0.5'/>"                                         \
    "<numeric name='carom:restitution:a' data='0.4'/></custom><worldbody>"                         \
    "<geom name='floor' type='plane' size='9 9 1' friction='0.6'/>"                                \
    "<body name='a'><freejoint/><inertial pos='0 0 0' mass='1.2' diaginertia='0.2 0.3 0.4'/>"      \
    "<geom name='a' friction='0.5' " first "/></body>"                                             \
    "<body name='b'><freejoint/><inertial pos='0 0 0' mass='0.8' diaginertia='0.3 0.25 0.4'/>"     \
    "<geom name='b' friction='0.3' " second "/></body></worldbody>"                                \
    "<keyframe><key qpos='" qpos "' qvel='" qvel "'/></keyframe></mujoco>"

static const char box_on_box[] =
    DESK("type='box' size='0.5 0.6 0.3'", "type='box' size='0.3 0.2 0.4'",
         "0 0 2 0.99 0.05 -0.03 0.02 0.1 0.05 2.87 0.8 0.3 -0.4 0.2",
         "0.2 0.1 0.3 0.4 -0.3 0.2 -0.3 0.2 -2 0.5 1 -0.7");
static const char edges[] = DESK("type='box' size='0.5 0.6 0.3'", "type='box' size='0.3 0.2 0.9'",
                                 "0 0 2 0.9 0.4 0.03 0.02 0.05 0.1 3.00 0.44 -0.02 0.71 0.55",
                                 "0.2 0.1 0.3 0.4 -0.3 0.2 -0.3 0.2 -2 0.5 1 -0.7");
static const char round_things[] =
    DESK("type='cylinder' size='0.4 0.5'", "type='ellipsoid' size='0.3 0.2 0.4'",
         "0 0 0.65 0.8 0.5 -0.1 0.2 0.1 0.1 1.48 0.8 0.3 -0.4 0.2",
         "0.2 0.1 -1.3 0.4 -0.3 0.2 -0.3 0.2 -3 0.5 1 -0.7");
static const char face_on_face[] =
    DESK("type='box' size='0.5 0.6 0.3'", "type='box' size='0.3 0.2 0.4'",
         "0 0 2 1 0 0 0 0.1 0.05 2.72 0.95 0 0 0.3", "0.2 0.1 0.3 0 0 0.2 0.6 0.5 -2 0 0 0.7");
static const char rolling[] =
    DESK("type='capsule' size='0.3 0.5'", "type='sphere' size='0.2'",
         "0 0 0.3 0.70710678118654752 0.70710678118654752 0 0 0.1 0.05 3 0.95 0 0 0.3",
         "-0.6 0 0 0 0 2 0.6 0.5 -2 0 0 0.7");
static const char standing[] =
    DESK("type='cylinder' size='0.3 0.5'", "type='sphere' size='0.2'",
         "0 0 0.5 0.9 0 0 0.3 0.1 0.05 3 0.95 0 0 0.3", "0 0 0 0 0 0 0.6 0.5 -2 0 0 0.7");

TEST(impacts_of_shapes_have_their_gradients) {
    const point points[] = {
        {"box on box", .mjcf = box_on_box, .stepper = "located", .law = "ncp", .h = 0.05,
         .n_event = 1, .grad = 0},
        {"edge on edge", .mjcf = edges, .stepper = "located", .law = "ncp", .h = 0.05, .n_event = 1,
         .grad = 0},
        {"round", .mjcf = round_things, .stepper = "located", .law = "ncp", .h = 0.08, .n_event = 3,
         .grad = 0},
        {"end, box on box", .mjcf = box_on_box, .stepper = "end", .law = "ncp", .h = 0.05,
         .n_event = 1, .grad = CR_GRAD_DISCRETE},
        {"end, round", .mjcf = round_things, .stepper = "end", .law = "ncp", .h = 0.08,
         .n_event = 1, .grad = CR_GRAD_DISCRETE},
        {"face on face", .mjcf = face_on_face, .stepper = "located", .law = "ncp", .h = 0.03,
         .n_event = 1, .grad = CR_GRAD_AVERAGED, .is_redundant = true,
         .limit = {{'y', 3, 2, TABLE_HELD},
                   {'y', 9, 2, TABLE_HELD},
                   {'y', 15, 2, TABLE_HELD},
                   {'y', 21, 2, TABLE_HELD},
                   {'u', 3, 2, TABLE_HELD},
                   {'u', 9, 2, TABLE_HELD}}},
    };
    for (size_t k = 0; k < sizeof points / sizeof points[0]; k++) {
        point p = points[k];
        p.u = k < 5 ? wrench : none;
        check_step(&p);
    }
}

TEST(resting_shapes_have_their_gradients) {
    // whatever lifts, tilts or presses
    const point points[] = {
        {"rolling", .mjcf = rolling, .stepper = "located", .law = "ncp", .h = 0.02,
         .is_redundant = true, .grad = CR_GRAD_DISCRETE,
         .limit = {{'y', 2, 2, TABLE_HELD},
                   {'y', 14, 2, TABLE_HELD},
                   {'s', 0, 1, TABLE_HELD},
                   {'s', 1, 1, TABLE_HELD}}},
        {"standing", .mjcf = standing, .stepper = "located", .law = "ncp", .h = 0.02,
         .is_redundant = true, .grad = CR_GRAD_DISCRETE,
         .limit = {{'y', 2, 3, TABLE_HELD},
                   {'y', 14, 3, TABLE_HELD},
                   {'s', 0, 1, TABLE_HELD},
                   {'s', 1, 2, TABLE_HELD}}},
    };
    for (size_t k = 0; k < sizeof points / sizeof points[0]; k++) {
        point p = points[k];
        p.u = none;
        check_step(&p);
    }
}

TABLE_PART(gradient_table_step, located_steps_with_and_without_impacts_have_their_gradients,
           steps_with_two_frictions_have_their_gradients,
           an_impact_on_a_resting_ball_has_its_gradient, an_impact_on_a_whole_face_has_its_gradient,
           a_capped_impact_has_its_gradient, impacts_at_the_start_of_a_step_have_their_gradients,
           restitution_from_none_has_its_one_sided_gradient, end_of_step_jumps_have_their_gradients,
           steps_of_a_tree_with_impacts_have_their_gradients, steps_of_a_loop_have_their_gradients,
           a_step_of_a_tree_from_an_overlap_has_its_gradient,
           impacts_of_shapes_have_their_gradients, resting_shapes_have_their_gradients)
