// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: both steppers, in tangent coordinates.
//
// x = (y, u, d), y = state after the step. The differences locate every impact again.

#include "gradient_table.h"

#include <string.h>

/// One input that may not be moved freely: part 'y', 'u' or 'd', and its index there.
typedef struct limit {
    char part;
    int i;
    table_move move;
} limit;

enum { N_LIMIT = 16 };

/// A step to check: what the scene does and how often it hits.
typedef struct point {
    const char *name;
    const char *scene;
    const char *stepper;
    const char *law;
    double h;
    double u[18];
    int n_event;
    int grad;
    int event_cap; // 0: default
    limit limit[N_LIMIT];
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
    memset(sim->warm, 0, sizeof(double) * 3 * (size_t)stage.model->n_feature);
    cri_arena_reset(sim->tape);
    cri_arena_reset(sim->scratch);
    assert_int_equal(
        cri_sim_step(sim, row.h, state, x + stage.n.n_tangent, end, &row.record, &err), CR_OK);
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

static void apply_limits(const point *p, table_move *move) {
    for (int k = 0; k < N_LIMIT && p->limit[k].part; k++) {
        char part = p->limit[k].part;
        int at = part == 'y' ? 0 : part == 'u' ? stage.n.n_tangent : at_d();
        move[at + p->limit[k].i] = p->limit[k].move;
    }
}

static void check_step(const point *p) {
    bool is_located = strcmp(p->stepper, "located") == 0;
    double x[TABLE_LIMIT] = {0};
    table_move move[TABLE_LIMIT] = {0};
    cr_sim_options options = table_options(p->stepper, p->law);
    options.event_cap = p->event_cap > 0 ? p->event_cap : options.event_cap;
    table_open(&stage, p->scene, &options);
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
                             .tolerance = 1e-6});
    table_close(&stage);
}

// ---- located -----------------------------------------------------------------------------------

#define HEAD(gravity, friction, restitution)                                                       \
    "<mujoco><option gravity='" gravity "'/><custom>"                                              \
    "<numeric name='carom:restitution:floor' data='" restitution "'/></custom><worldbody>"
#define SLOPE(friction)                                                                            \
    "<geom name='floor' type='plane' size='9 9 1' zaxis='0.2 -0.3 1' friction='" friction          \
    "' contype='3'/>"
#define FLOOR(friction)                                                                            \
    "<geom name='floor' type='plane' size='9 9 1' friction='" friction "' contype='3'/>"
#define BALL                                                                                       \
    "<body name='ball'><freejoint/><inertial pos='0 0 0' mass='1.2' diaginertia='0.2 0.3 0.4'/>"   \
    "<geom name='ball' type='sphere' size='0.7' friction='0.1'/></body>"
#define BALL2                                                                                      \
    "<body name='puck'><freejoint/><inertial pos='0 0 0' mass='0.9' diaginertia='0.3 0.2 0.25'/>"  \
    "<geom name='puck' type='sphere' size='0.6' friction='0.2'/></body>"
#define BOX                                                                                        \
    "<body name='box'><freejoint/><inertial pos='0 0 0' mass='0.8' diaginertia='0.6 0.4 0.8'/>"    \
    "<geom name='box' type='box' size='0.5 0.6 0.8' contype='2' conaffinity='2' friction='0.1'/>"  \
    "</body>"
#define KEY(qpos, qvel)                                                                            \
    "</worldbody><keyframe><key qpos='" qpos "' qvel='" qvel "'/></keyframe></mujoco>"

#define WRENCH                                                                                     \
    { 0.1, -0.2, 0.3, 0.4, -0.2, 0.6, 0.5, -0.4, -0.2, 0.2, 0.1, -0.3, 0.6, 0.7, 0.4, -0.1, 0.3, -0.2 }

static const point located[] = {
    {"flight", HEAD("0.3 -0.2 -9.81", "0.3", "0.5") SLOPE("0.3") BALL BOX KEY("0 0 3 0.8 0.3 -0.4 0.2 3 3 5 0.5 -0.1 0.7 0.5", "1 2 -1 1.5 -2 2.5  2 1.5 -0.2 2 -3 1"), "located", "ncp", 0.1, WRENCH, 0, 0},
    {"one impact", HEAD("0.3 -0.2 -9.81", "0.3", "0.5") SLOPE("0.3") BALL BOX KEY("0 0 0.8 0.8 0.3 -0.4 0.2 3 3 5 0.5 -0.1 0.7 0.5", "1 2 -1.5 1.5 -2 2.5  2 1.5 -0.2 2 -3 1"), "located", "ncp", 0.1, WRENCH, 1, 0},
    {"one corner", HEAD("0.3 -0.2 -9.81", "0.3", "0.5") SLOPE("0.3") BALL BOX KEY("0 0 3 0.8 0.3 -0.4 0.2 3 3 1.0 0.5 -0.1 0.7 0.5", "1 2 -1.5 1.5 -2 2.5  2 1.5 -2 2 -3 1"), "located", "ncp", 0.1, WRENCH, 1, 0},
    {"three impacts", HEAD("0.3 -0.2 -9.81", "0.3", "0.5") SLOPE("0.3") BALL BOX BALL2 KEY("0 0 0.8 0.8 0.3 -0.4 0.2 3 3 5 0.5 -0.1 0.7 0.5 0.3 0.2 2.2 0.9 0.2 -0.1 0.3", "1 2 -1.5 1.5 -2 2.5  2 1.5 -0.2 2 -3 1 0.5 1 -4 1 2 3"), "located", "ncp", 0.2, WRENCH, 3, 0},
};

TEST(located_steps_have_their_gradients) {
    for (size_t k = 0; k < sizeof located / sizeof located[0]; k++) {
        check_step(&located[k]);
    }
}

TABLE_PART(gradient_table_step, located_steps_have_their_gradients)
