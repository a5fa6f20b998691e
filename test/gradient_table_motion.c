// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: motion over a sub-step, free and with resting contacts.
//
// x = (y, u, d, t), y = state at time t. Which contacts rest is given, and their gaps are not zero,
// so that the target -gap/h counts.

#include "gradient_table.h"

#include "sim/search.h"

#include <string.h>

static const double full_step = 0.05;

/// The scene of the row, and its motion.
static table_stage stage;
static struct {
    int n_rest;
    const table_contact *rest;
    double state[TABLE_LIMIT], u[TABLE_LIMIT];
    cri_motion motion;
} row;

// parts of x
static int at_u(void) {
    return stage.n.n_tangent;
}

static int at_d(void) {
    return at_u() + stage.n.n_u;
}

static int at_t(void) {
    return at_d() + stage.n_d;
}

// the features of the resting contacts, ascending, in a scan of everything within reach
static int find_rest(int *feature) {
    const cri_scan *scan = &stage.sim->scan;
    int n = 0;
    for (int k = 0; k < row.n_rest; k++) {
        cri_near near = table_near(&stage, &row.rest[k]);
        for (int i = 0; i < scan->n_near; i++) {
            const cri_near *other = &scan->near[i];
            if (other->limit == near.limit && other->geom[0] == near.geom[0] &&
                other->geom[1] == near.geom[1]) {
                feature[n++] = other->first + (near.limit < 0 ? row.rest[k].slot : 0);
            }
        }
    }
    assert_int_equal(n, row.n_rest);
    return n;
}

static void run_motion(const double *x, double *end, double *rate) {
    cr_sim *sim = stage.sim;
    int rest[TABLE_LIMIT];
    table_displace(&stage, x, row.state);
    memcpy(row.u, x + at_u(), sizeof *x * (size_t)stage.n.n_u);
    table_set_derived(&stage, x + at_d());
    cri_arena_reset(sim->tape);
    cri_arena_reset(sim->scratch);
    assert_true(cri_motion_push(sim, &row.motion, row.state, row.u, full_step));
    cri_state_set(stage.model, &row.motion.state);
    assert_true(cri_scan_start(sim, &row.motion, full_step));
    int n = find_rest(rest);
    assert_true(cri_motion_begin(sim, &row.motion, n, rest));
    assert_true(cri_motion_all(sim, &row.motion, x[at_t()], end, rate));
}

static void motion_forward(const double *x, double *y) {
    double end[TABLE_LIMIT];
    run_motion(x, end, NULL);
    table_output(&stage, end, y);
}

static void reserve(void) {
    size_t room = cri_motion_scratch_bytes(stage.sim, &row.motion);
    assert_true(cri_arena_reserve(stage.sim->scratch, room));
}

static void motion_vjp(const double *x, const double *y_adj, double *x_adj) {
    double y[TABLE_LIMIT];
    memcpy(y, y_adj, sizeof *y * (size_t)stage.n.n_tangent);
    reserve();
    table_begin_derived_adj(&stage);
    x_adj[at_t()] += cri_motion_vjp(stage.sim, &row.motion, x[at_t()], y, x_adj + at_u());
    table_add_derived_adj(&stage, x_adj + at_d());
    for (int i = 0; i < stage.n.n_tangent; i++) {
        x_adj[i] += y[i];
    }
}

static void motion_jvp(const double *x, const double *x_tan, double *y_tan) {
    reserve();
    memcpy(y_tan, x_tan, sizeof *y_tan * (size_t)stage.n.n_tangent);
    memcpy(stage.sim->d_tan.block, x_tan + at_d(), sizeof *x_tan * (size_t)stage.n_d);
    cri_motion_jvp(stage.sim, &row.motion, x[at_t()], x_tan[at_t()], y_tan, x_tan + at_u());
}

// the rate in time, by which impacts are located, is the tangent for t
static void check_rate(const double *x) {
    double x_tan[TABLE_LIMIT] = {0}, want[TABLE_LIMIT], got[TABLE_LIMIT], end[TABLE_LIMIT];
    x_tan[at_t()] = 1.0;
    run_motion(x, end, got);
    motion_jvp(x, x_tan, want);
    for (int i = 0; i < stage.n.n_tangent; i++) {
        CHECK_CLOSE(got[i], want[i], 1e-13, 1e-13); // the same sums in another order
    }
}

static void check_motion(const char *name, const double *u, double t, int n_rest,
                         const table_contact *rest, const table_move *move_y) {
    double x[TABLE_LIMIT] = {0};
    table_move move[TABLE_LIMIT] = {0};
    bool is_redundant = strncmp(name, "box", 3) == 0;
    row.n_rest = n_rest;
    row.rest = rest;
    memcpy(x + at_u(), u, sizeof *u * (size_t)stage.n.n_u);
    memcpy(x + at_d(), stage.d, sizeof *x * (size_t)stage.n_d);
    x[at_t()] = t;
    if (move_y) {
        memcpy(move, move_y, sizeof *move * (size_t)stage.n.n_tangent);
    }
    table_move_derived(&stage, move + at_d());
    run_motion(x, stage.next, NULL);
    for (int k = 0; k < row.motion.n_island; k++) {
        const cri_jump *jump = &row.motion.island[k];
        CHECK_INT(jump->report.outcome, CR_SOLVED);
        for (int i = 0; i < jump->n; i++) {
            CHECK(jump->f[3 * i] > 0.0);
        }
    }
    check_rate(x);
    table_check(&(table_row){.name = name,
                             .vjp_name = "cri_motion_vjp",
                             .jvp_name = "cri_motion_jvp",
                             .n_in = at_t() + 1,
                             .n_out = stage.n.n_tangent,
                             .forward = motion_forward,
                             .vjp = motion_vjp,
                             .jvp = motion_jvp,
                             .x = x,
                             .move = move,
                             .step = n_rest > 0 ? 1e-3 : 0.0,
                             .tolerance = is_redundant ? 1e-6 : 0.0,
                             .size = is_redundant ? TABLE_REDUNDANT : 0.0});
}

// ---- balls -------------------------------------------------------------------------------------

// a box flies, one ball slides, two lean on each other
static const table_scene crowd = {
    .gravity = "0.3 -0.2 -9.81",
    .normal = "0.2 -0.3 1",
    .friction = 0.3,
    .bodies = "xopq",
    .qpos = "5 5 5 0.8 0.3 -0.4 0.2 -3 1 1.641 0.5 -0.1 0.7 0.5"
            " 0.1 0.2 0.680 0.9 0.2 -0.1 0.3 0.93 0.926 0.623 0.7 -0.2 0.5 0.4",
    .qvel = "1 2 -1 1.5 -2 2.5 2 1.5 -0.2 2 -3 1 0.3 0.4 -0.1 1 -2 3 -0.4 -0.5 0.1 4 1 -3",
};

static const double wrench[24] = {0.1,  -0.2, 0.3,  0.4,  -0.2, 0.6, 0.5, -0.4,
                                  -0.2, 0.2,  0.1,  -0.3, 0.6,  0.7, 0.4, -0.1,
                                  0.3,  -0.2, -0.5, -0.6, -0.3, 0.2, 0.4, 0.1};

TEST(free_motion_has_its_gradient) {
    cr_sim_options options = table_options("located", "ncp");
    table_open_scene(&stage, &crowd, &options);
    check_motion("free motion", wrench, 0.03, 0, NULL, NULL);
    table_close(&stage);
}

TEST(motion_of_resting_balls_has_its_gradient) {
    static const table_contact rest[] = {
        {{"floor", "o"}, 0}, {{"floor", "p"}, 0}, {{"floor", "q"}, 0}, {{"p", "q"}, 0}};
    cr_sim_options options = table_options("located", "ncp");
    table_open_scene(&stage, &crowd, &options);
    check_motion("resting balls", wrench, 0.03, 4, rest, NULL);
    CHECK_INT(row.motion.n_island, 2);
    check_motion("resting balls, full step", wrench, full_step, 4, rest, NULL);
    table_close(&stage);
}

// ---- a box on its face -------------------------------------------------------------------------

TEST(motion_of_a_resting_box_has_its_gradient) {
    static const table_contact rest[] = {
        {{"floor", "s"}, 0}, {{"floor", "s"}, 2}, {{"floor", "s"}, 4}, {{"floor", "s"}, 6}};
    // what tilts a sticking face sets its corners against each other
    static const table_move upright[12] = {[3] = TABLE_HELD, [4] = TABLE_HELD};
    static const double pull[6] = {0.5, 0.4, 0.3, 0.1, -0.2, 0.3};
    static const table_scene sticking = {.gravity = "0.3 -0.2 -9.81",
                                         .friction = 0.8,
                                         .bodies = "s",
                                         .qpos = "0.1 0.2 0.201 0.9 0 0 0.3",
                                         .qvel = "0.1 0.05 -0.02 0.05 -0.04 0.1"};
    static const table_scene sliding = {.gravity = "0.3 -0.2 -9.81",
                                        .friction = 0.3,
                                        .bodies = "s",
                                        .qpos = "0.1 0.2 0.206 0.9 0.001 -0.002 0.3",
                                        .qvel = "2 1.2 -0.02 0.05 -0.04 3.5"};
    cr_sim_options options = table_options("located", "ncp");
    table_open_scene(&stage, &sticking, &options);
    check_motion("box sticks", pull, 0.03, 4, rest, upright);
    table_close(&stage);
    table_open_scene(&stage, &sliding, &options);
    check_motion("box slides", pull, 0.03, 4, rest, NULL);
    table_close(&stage);
}

// ---- trees -------------------------------------------------------------------------------------

// a body on two legs with springs, dampers, motors and a servo, a limit at a knee, a pendulum that
// touches nothing, and a ball that leans on a foot
#define WALKER(integrator)                                                                         \
    "<mujoco><option gravity='0.3 -0.2 -9.81' integrator='" integrator "'/><worldbody>"            \
    "<geom name='floor' type='plane' size='9 9 1' zaxis='0.02 -0.03 1' friction='0.7'/>"           \
    "<body name='torso'><freejoint/>"                                                              \
    "<inertial pos='0.1 0 0.05' mass='1.5' diaginertia='0.3 0.4 0.5'/>"                            \
    "<body name='thigh0' pos='0.3 0.2 -0.2'>"                                                      \
    "<joint name='hip0' axis='0 1 0.2' armature='0.02' damping='0.3' stiffness='2'/>"              \
    "<inertial pos='0 0.02 -0.2' mass='0.5' diaginertia='0.1 0.12 0.09'/>"                         \
    "<body name='shin0' pos='0 0 -0.5'>"                                                           \
    "<joint name='knee0' axis='0.1 1 0' damping='0.2' limited='true' range='-29 20'/>"             \
    "<inertial pos='0.03 0 -0.2' mass='0.4' diaginertia='0.1 0.11 0.08'/>"                         \
    "<geom name='foot0' type='sphere' size='0.15' pos='0 0.05 -0.4' "                              \
    "friction='0.1'/></body></body>"                                                               \
    "<body name='thigh1' pos='-0.3 -0.2 -0.2'>"                                                    \
    "<joint name='hip1' axis='0.2 1 0' armature='0.03' stiffness='1' springref='5'/>"              \
    "<inertial pos='0 0.02 -0.2' mass='0.6' diaginertia='0.12 0.1 0.09'/>"                         \
    "<body name='shin1' pos='0 0 -0.5'><joint name='knee1' axis='0 1 0.1' damping='0.1'/>"         \
    "<inertial pos='0.03 0 -0.2' mass='0.45' diaginertia='0.09 0.11 0.08'/>"                       \
    "<geom name='foot1' type='capsule' size='0.1 0.15' pos='0 0.05 -0.4' euler='80 20 0'"          \
    " friction='0.2'/></body></body></body>"                                                       \
    "<body name='bob' pos='3 3 3'><joint type='ball' damping='0.1'/>"                              \
    "<inertial pos='0 0.1 -0.4' mass='0.6' diaginertia='0.12 0.1 0.09'/></body>"                   \
    "<body name='o'><freejoint/><inertial pos='0 0 0' mass='1.2' diaginertia='0.2 0.3 0.4'/>"      \
    "<geom name='o' type='sphere' size='0.3' friction='0.4'/></body></worldbody>"                  \
    "<tendon><fixed name='cord' stiffness='3' damping='0.2' springlength='0.1'>"                   \
    "<joint joint='hip0' coef='1'/><joint joint='knee1' coef='-0.7'/></fixed></tendon>"            \
    "<actuator><motor joint='hip0' gear='2'/><position joint='knee1' kp='5' kv='0.3'/>"            \
    "<motor tendon='cord'/></actuator>"                                                            \
    "<keyframe><key qpos='0.1 0.2 1.185 0.99 0.05 -0.03 0.02 0.2 -0.5 -0.2 0.3"                    \
    " 0.98 0.1 0.05 -0.08 0.86 0.74 0.30 0.8 0.3 -0.4 0.2' qvel='0.2 -0.1 -0.05 0.1 0.2 -0.1"      \
    " 0.3 -0.2 0.1 0.2 1 2 -1 -0.2 -0.3 0.05 1 -1 0.5'/></keyframe></mujoco>"

static const double motors[22] = {0.5,  0.2, -0.4, 0.1, -0.2, 0.3, 0.05, -0.1, 0.2, 0.3,  0.1,
                                  -0.2, 0.4, 0.1,  0.2, 0.3,  0.5, -0.4, 0.2,  0.1, -0.1, 0.3};

TEST(motion_of_trees_has_its_gradient) {
    static const table_contact rest[] = {{{"floor", "foot0"}, 0},
                                         {{"floor", "foot1"}, 0},
                                         {{"floor", "o"}, 0},
                                         {{"foot0", "o"}, 0},
                                         {{NULL, NULL}, 0}};
    static const table_contact limit[] = {{{NULL, NULL}, 0}};
    static const char *const scenes[] = {WALKER("RK4"), WALKER("Euler")};
    for (int k = 0; k < 2; k++) {
        cr_sim_options options = table_options("located", "ncp");
        table_open(&stage, scenes[k], &options);
        check_motion("tree flows", motors, 0.03, 0, NULL, NULL);
        check_motion("tree stands", motors, 0.03, 4, rest, NULL);
        check_motion("tree stands at its limit", motors, full_step, 5, rest, NULL);
        check_motion("limit", motors, 0.03, 1, limit, NULL);
        table_close(&stage);
    }
}

// a chain in a plane, as many robots are: nothing moves across it, so that even the impulse of one
// contact is a choice
static const char planar[] =
    "<mujoco><option gravity='0 0 -9.81'/><worldbody>"
    "<geom name='floor' type='plane' size='9 9 1' friction='0.8'/>"
    "<body name='root' pos='0 0 0.6' euler='0 0 30'><joint type='slide' axis='1 0 0'/>"
    "<joint type='slide' axis='0 0 1'/><joint axis='0 1 0' damping='0.1'/>"
    "<inertial pos='0 0 0' mass='1.5' diaginertia='0.3 0.4 0.5'/>"
    "<geom name='heel' type='sphere' size='0.1' pos='-0.3 0 -0.5' friction='0.1'/>"
    "<body name='leg' pos='0.3 0 -0.1'><joint axis='0 1 0' stiffness='3'/>"
    "<inertial pos='0.02 0 -0.2' mass='0.5' diaginertia='0.1 0.12 0.09'/>"
    "<geom name='toe' type='sphere' size='0.12' pos='0.1 0 -0.4' friction='0.2'/></body></body>"
    "</worldbody><keyframe><key qpos='0.1 -0.01 0.02 -0.03' qvel='0.2 -0.1 0.05 -0.1'/></keyframe>"
    "</mujoco>";

TEST(motion_of_a_planar_chain_has_its_gradient) {
    static const table_contact rest[] = {{{"floor", "heel"}, 0}, {{"floor", "toe"}, 0}};
    cr_sim_options options = table_options("located", "ncp");
    table_open(&stage, planar, &options);
    check_motion("planar, one foot", motors, 0.03, 1, rest, NULL);
    check_motion("planar, two feet", motors, 0.03, 2, rest, NULL);
    table_close(&stage);
}

// two free bodies, one of them out of balance, without w x J w
static const char no_gyro[] =
    "<mujoco><option gravity='0.3 -0.2 -9.81'/>"
    "<custom><text name='carom:gyroscopic' data='off'/></custom><worldbody>"
    "<body name='a'><freejoint/><inertial pos='0 0 0' mass='1.5' diaginertia='0.3 0.4 0.6'/></body>"
    "<body name='b'><freejoint/><inertial pos='0.1 0.2 -0.3' mass='0.8'"
    " fullinertia='0.3 0.5 0.4 0.05 -0.03 0.04'/></body></worldbody>"
    "<keyframe><key qpos='0 0 1 0.8 0.3 -0.4 0.2 2 0 1 0.5 -0.1 0.7 0.5'"
    " qvel='1 2 -1 1.5 -2 2.5 0.3 0.4 -0.1 1 -2 3'/></keyframe></mujoco>";

TEST(motion_without_the_gyroscopic_term_has_its_gradient) {
    cr_sim_options options = table_options("located", "ncp");
    table_open(&stage, no_gyro, &options);
    check_motion("no gyroscopic term", wrench, 0.03, 0, NULL, NULL);
    table_close(&stage);
}

TABLE_PART(gradient_table_motion, motion_without_the_gyroscopic_term_has_its_gradient,
           free_motion_has_its_gradient, motion_of_resting_balls_has_its_gradient,
           motion_of_a_resting_box_has_its_gradient, motion_of_trees_has_its_gradient,
           motion_of_a_planar_chain_has_its_gradient)
