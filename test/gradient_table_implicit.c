// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: the implicit step and what its energy is made of, each by whole steps
// of a scene in which it matters.
//
// x = (displacement of q, v, u, p), y = (q' as displacement from where the point goes, v').

#include "cr_test.h"

#include "sim/implicit.h"

#include <string.h>

enum { LIMIT = 256 };

/// The scene of the row, and its last step.
static struct {
    cr_model *model;
    cr_sim *sim;
    cr_sizes n;
    double h;
    double x[LIMIT], next[LIMIT], p[LIMIT];
    int n_move, move[LIMIT]; // parameters that may be moved both ways
    double at[LIMIT];        // x of the last step
    cri_step_record *record;
} now;

static void must(cr_status status, const cr_error *err) {
    if (status != CR_OK) {
        fail_msg("%s", err->text);
    }
}

static void run_step(const double *x, double *end) {
    cr_error err = {0};
    int n_v = now.n.n_v;
    double state[LIMIT];
    memcpy(now.at, x, sizeof *x * (size_t)(2 * n_v + now.n.n_u + now.n_move));
    for (int i = 0; i < now.n_move; i++) {
        now.p[now.move[i]] = x[2 * n_v + now.n.n_u + i];
    }
    must(cr_sim_set_params(now.sim, now.p, &err), &err);
    cri_implicit_retract(&now.model->mech, now.x, 1.0, x, state);
    memcpy(state + now.n.n_q, x + n_v, sizeof *x * (size_t)n_v);
    cri_arena_reset(now.sim->tape);
    cri_arena_reset(now.sim->scratch);
    must(cri_sim_step(now.sim, now.h, state, x + 2 * n_v, end, &now.record, &err), &err);
    CHECK_INT(now.record->report.outcome, CR_SOLVED);
}

static void forward(const double *x, double *y, void *cache) {
    (void)cache;
    double end[LIMIT];
    const cri_mechanism *mech = &now.model->mech;
    run_step(x, end);
    for (int j = 0; j < mech->n_joint; j++) {
        const cri_joint *joint = &mech->joint[j];
        int n = joint->n_q >= 4 ? joint->n_q - 4 : joint->n_q, at = joint->q + n;
        memcpy(y + joint->v, end + joint->q, sizeof *y * (size_t)n);
        if (joint->n_q >= 4) {
            const double *q = now.next + at;
            cri_quat back = {q[0], -q[1], -q[2], -q[3]};
            cri_vec3 turn = cri_quat_log(cri_quat_mul(back, cri_q4_load(end + at)));
            cri_v3_store(turn, y + joint->v + n);
        }
    }
    memcpy(y + now.n.n_v, end + now.n.n_q, sizeof *y * (size_t)now.n.n_v);
}

// differences have stepped elsewhere
static void come_back(const double *x) {
    double end[LIMIT];
    if (memcmp(x, now.at, sizeof *x * (size_t)(now.n.n_tangent + now.n.n_u + now.n_move)) != 0) {
        run_step(x, end);
    }
}

static void vjp(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    (void)cache;
    cr_error err = {0};
    int n = now.n.n_tangent;
    come_back(x);
    double y[LIMIT];
    memcpy(y, y_adj, sizeof *y * (size_t)n);
    memset(now.sim->d_adj.block, 0, sizeof(double) * (size_t)now.sim->d_adj.n_double);
    now.sim->wants_p = true;
    must(now.sim->stepper->vjp(now.sim, now.record, y, x_adj + n, &err), &err);
    double p_adj[LIMIT] = {0};
    cri_derive_vjp(now.model, now.sim->p, &now.sim->d, &now.sim->d_adj, p_adj);
    for (int i = 0; i < now.n_move; i++) {
        x_adj[n + now.n.n_u + i] += p_adj[now.move[i]];
    }
    for (int i = 0; i < n; i++) {
        x_adj[i] += y[i];
    }
}

static void jvp(const double *x, const void *cache, const double *x_tan, double *y_tan) {
    (void)cache;
    cr_error err = {0};
    int n = now.n.n_tangent;
    come_back(x);
    double p_tan[LIMIT] = {0};
    for (int i = 0; i < now.n_move; i++) {
        p_tan[now.move[i]] = x_tan[n + now.n.n_u + i];
    }
    memcpy(y_tan, x_tan, sizeof *y_tan * (size_t)n);
    cri_derive_jvp(now.model, now.sim->p, &now.sim->d, p_tan, &now.sim->d_tan);
    must(now.sim->stepper->jvp(now.sim, now.record, y_tan, x_tan + n, &err), &err);
}

/// A step of a scene at its first keyframe, under small forces on everything.
typedef struct row {
    const char *name, *vjp_name, *jvp_name, *scene;
    double h, step;
} row;

static void check(const row *r) {
    cr_error err = {0};
    double x[LIMIT] = {0};
    must(cr_model_parse(r->scene, strlen(r->scene), "scene", &now.model, &err), &err);
    cr_sim_options options = cr_sim_options_default(now.model);
    options.law = "longrange";
    must(cr_sim_create(now.model, &options, &now.sim, &err), &err);
    now.n = cr_model_sizes(now.model);
    now.h = r->h;
    int at_u = now.n.n_tangent, at_p = at_u + now.n.n_u;
    assert_true(at_p + now.n.n_p <= LIMIT);
    cr_model_defaults(now.model, 0, now.p, now.x, NULL);
    now.n_move = 0;
    for (int i = 0; i < now.n.n_p; i++) {
        double lower, upper;
        bool is_open;
        cr_model_domain(now.model, i, &lower, &upper, &is_open);
        // numbers far from their bounds: no restitution, and mu is as small as a step
        if (now.p[i] > lower + 1e-3 && now.p[i] < upper - 1e-3) {
            x[at_p + now.n_move] = now.p[i];
            now.move[now.n_move++] = i;
        }
    }
    cri_model_normalise(now.model, now.x);
    memcpy(x + now.n.n_v, now.x + now.n.n_q, sizeof *x * (size_t)now.n.n_v);
    for (int i = 0; i < now.n.n_u; i++) {
        x[at_u + i] = 0.1 * (i % 5) - 0.17;
    }
    run_step(x, now.next);
    cr_test_vjp(&(cr_vjp_case){.name = r->name,
                               .vjp_name = r->vjp_name,
                               .jvp_name = r->jvp_name,
                               .n_in = at_p + now.n_move,
                               .n_out = now.n.n_tangent,
                               .cache_size = 8,
                               .forward = forward,
                               .vjp = vjp,
                               .jvp = jvp,
                               .points = x,
                               .n_points = 1,
                               .step = r->step,
                               .tolerance = 1e-4});
    cr_sim_destroy(now.sim);
    cr_model_destroy(now.model);
}

#define HEAD                                                                                       \
    "<mujoco><option gravity='.3 -.2 -9.81'/>"                                                     \
    "<custom><numeric name='carom:potential:mu' data='1e-5'/></custom><worldbody>"
#define FLOOR "<geom name='floor' type='plane' size='9 9 1' zaxis='.1 -.2 1' friction='.6'/>"
#define BOX                                                                                        \
    "<body name='a'><freejoint/><inertial pos='.01 .02 -.03' mass='1.3' "                          \
    "diaginertia='.02 .03 .04'/><geom name='a' type='box' size='.1 .13 .17' "                      \
    "friction='.4'/></body>"
#define KEY(qpos, qvel)                                                                            \
    "</worldbody><keyframe><key qpos='" qpos "' qvel='" qvel "'/></keyframe></mujoco>"

TEST(flight_has_its_derivatives) {
    check(&(row){"flight", "cri_inertial_energy_vjp", "cri_inertial_energy_jvp",
                 HEAD BOX KEY(".1 .2 3 .8 .3 -.4 .2", "1 2 -1 3 -2 4"), 0.05, 1e-3});
}

TEST(joints_have_their_derivatives) {
    static const char tree[] =
        "<mujoco><compiler angle='radian'/><option gravity='.3 -.2 -9.81'/><worldbody>"
        "<body name='rail' pos='0 0 .9'><joint name='rail' type='slide' axis='1 0 .3' damping='.2'"
        " armature='.1' stiffness='3' springref='.1'/>"
        "<inertial pos='0 .1 0' mass='1.5' diaginertia='.3 .4 .5'/>"
        "<body name='arm' pos='.1 .1 0'><joint type='ball' damping='.1' armature='.2' "
        "stiffness='2'/><inertial pos='.2 0 -.1' mass='.8' diaginertia='.1 .12 .09'/>"
        "<body name='hand' pos='.3 0 -.4'><joint name='wrist' axis='.2 1 0' stiffness='2' "
        "range='-1 1'/><inertial pos='0 .05 -.1' mass='.5' diaginertia='.1 .12 .09'/></body></body>"
        "</body></worldbody><tendon><fixed name='t' stiffness='4' damping='.3' springlength='.2'>"
        "<joint joint='rail' coef='.7'/><joint joint='wrist' coef='-.4'/></fixed></tendon>"
        "<actuator><motor joint='wrist' gear='2'/><position joint='rail' kp='20' gear='1.5'/>"
        "<velocity tendon='t' kv='3'/></actuator>"
        "<keyframe><key qpos='.1 .95 .1 -.2 .1 .98' qvel='.3 .5 1.5 -.7 .2'/></keyframe></mujoco>";
    check(&(row){"joints", "cri_joint_energy_vjp", "cri_joint_energy_jvp", tree, 0.03, 1e-3});
}

TEST(a_body_near_a_floor_has_its_derivatives) {
    check(&(row){"floor", "cri_longrange_half_shape_vjp", NULL,
                 HEAD FLOOR BOX KEY(".1 .2 .27 .9 .1 -.1 .2", ".1 .2 -.5 .3 -.2 .4"), 0.02, 1e-4});
}

TEST(sliding_bodies_have_their_derivatives) {
    static const char two[] = HEAD FLOOR BOX
        "<body name='b'><freejoint/><geom name='b' type='box' size='.11 .12 .14' mass='2' "
        "friction='.5'/></body>" KEY(".1 .2 .25 .98 .1 -.1 .2 .13 .21 .62 .9 .1 .1 -.1",
                                     ".6 .2 -.2 .3 -.2 .4 -.4 .5 -.3 .1 .2 .3");
    check(&(row){"friction", "cri_slip_sum_vjp", "cri_slip_sum_jvp", two, 0.02, 1e-4});
}

TEST(shapes_have_their_derivatives) {
    static const char shapes[] = HEAD
        "<geom name='wall' type='box' size='.1 .23 .13' pos='.2 0 -.42' euler='0 80 9'/>" BOX KEY(
            ".1 .12 -.04 .9 .1 -.1 .2", ".6 .2 -.2 .3 -.2 .4");
    check(&(row){"shapes", "cri_size_step_vjp", "cri_size_step_jvp", shapes, 0.02, 1e-4});
}

// ---- vertices ----------------------------------------------------------------------------------

static cri_tessellation shape;
static const cri_pose frame = {{.1, .2, -.3}, {{.6, -.8, 0, .8, .6, 0, 0, 0, 1}}};

static void place_forward(const double *x, double *y, void *cache) {
    (void)cache;
    cri_tessellation_place(&shape, x, &frame, y);
}

static void place_vjp(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    (void)x;
    (void)cache;
    cri_tessellation_place_vjp(&shape, &frame, y_adj, x_adj);
}

static void place_jvp(const double *x, const void *cache, const double *x_tan, double *y_tan) {
    (void)x;
    (void)cache;
    cri_tessellation_place_jvp(&shape, &frame, x_tan, y_tan);
}

TEST(vertices_follow_sizes) {
    static const double size[3] = {.5, .7, .9};
    cr_arena *arena = cri_arena_create(1 << 14);
    for (int kind = CRI_SHAPE_SPHERE; kind <= CRI_SHAPE_BOX; kind++) {
        assert_int_equal(cri_tessellate((cri_shape_kind)kind, NULL, arena, &shape, NULL), CR_OK);
        cr_test_vjp(&(cr_vjp_case){.name = "vertices",
                                   .vjp_name = "cri_tessellation_place_vjp",
                                   .jvp_name = "cri_tessellation_place_jvp",
                                   .n_in = shape.n_size,
                                   .n_out = 3 * shape.n_vertex,
                                   .cache_size = 8,
                                   .forward = place_forward,
                                   .vjp = place_vjp,
                                   .jvp = place_jvp,
                                   .points = size,
                                   .n_points = 1,
                                   .step = 1e-3});
    }
    cri_arena_destroy(arena);
}

CR_TEST_MAIN(flight_has_its_derivatives, joints_have_their_derivatives,
             a_body_near_a_floor_has_its_derivatives, sliding_bodies_have_their_derivatives,
             shapes_have_their_derivatives, vertices_follow_sizes)
