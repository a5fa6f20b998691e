// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: velocity jumps of one island.
//
// x = (v, q displacement, d, target of each contact, target of all, restitution of all pairs on top
// of their own), y = v after the jump. A jump
// does not ask whether its features touch. Four corners of a box are redundant, and stay so however
// the box is moved, turned or sized; but a target of a single corner contradicts the others.

#include "gradient_table.h"

#include "contact/jump.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_MOST = 6 };

/// The scene of the row, and its jump.
static table_stage stage;
static struct {
    int n;
    cri_near near[N_MOST];
    cri_narrow_touch first[N_MOST], touch[N_MOST]; // at the point, and now
    cri_contact_ref ref[N_MOST];
    bool is_plain[N_MOST];
    bool is_redundant;
    bool is_tied; // the floor has the coefficients of the first foot
    double step;  // of differences: pieces of surfaces are small
    cr_arena *keep, *scratch;
    double x[TABLE_LIMIT];
    cri_state state;
    cri_jump jump;
} row;

static int n_in(void) {
    return 2 * stage.n.n_v + stage.n_d + row.n + 2;
}

// place of a pair's restitution in d
static int restitution_at(int pair) {
    return (int)(&stage.sim->d.pair[pair].restitution - stage.sim->d.block);
}

static void pose_stage(const double *q, const double *d) {
    double at[TABLE_LIMIT] = {0};
    memcpy(at, q, sizeof *q * (size_t)stage.n.n_v);
    table_displace(&stage, at, row.x);
    table_set_derived(&stage, d);
    cri_arena_reset(row.keep);
    cri_arena_reset(row.scratch);
    cri_state_push(stage.model, row.x, &row.state, row.keep);
    cri_state_set(stage.model, &row.state);
}

static void jump_forward(const double *x, double *y) {
    const cri_world *world = &stage.sim->world;
    int n_v = stage.n.n_v;
    const double *target = x + 2 * n_v + stage.n_d;
    double d[TABLE_LIMIT];
    memcpy(d, x + 2 * n_v, sizeof *d * (size_t)stage.n_d);
    for (int k = 0; k < stage.model->n_pair; k++) {
        d[restitution_at(k)] += target[row.n + 1];
    }
    pose_stage(x + n_v, d);
    for (int i = 0; i < row.n; i++) {
        row.touch[i] = row.first[i];
        CHECK(cri_near_again(world, &row.near[i], &row.state, &row.touch[i]));
    }
    cri_jump_begin(world, row.n, row.ref, &row.state, &row.jump, row.keep, row.scratch);
    for (int i = 0; i < row.n; i++) {
        // without restitution a contact is plain, as the steppers have it
        row.jump.is_plain[i] = row.is_plain[i] || row.jump.e[i] == 0.0;
        row.jump.has_e[i] = !row.is_plain[i];
        row.jump.target[i] = target[i] + target[row.n];
    }
    memset(y, 0, sizeof *y * (size_t)n_v);
    cri_jump_solve(world, &row.jump, x, true, y, row.keep, row.scratch);
    CHECK_INT(row.jump.report.outcome, CR_SOLVED);
}

static void jump_vjp(const double *x, const double *y_adj, double *x_adj) {
    (void)x;
    int n_v = stage.n.n_v;
    double target_adj[N_MOST], *targets_adj = x_adj + 2 * n_v + stage.n_d;
    table_begin_derived_adj(&stage);
    cri_jump_solve_vjp(&stage.sim->world, &row.jump, y_adj, x_adj, x_adj + n_v, &stage.sim->d_adj,
                       target_adj, row.scratch);
    table_add_derived_adj(&stage, x_adj + 2 * n_v);
    for (int i = 0; i < row.n; i++) {
        targets_adj[i] += target_adj[i];
        targets_adj[row.n] += target_adj[i];
    }
    for (int k = 0; k < stage.model->n_pair; k++) {
        targets_adj[row.n + 1] += stage.sim->d_adj.block[restitution_at(k)];
    }
}

static void jump_jvp(const double *x, const double *x_tan, double *y_tan) {
    (void)x;
    int n_v = stage.n.n_v;
    const double *targets_tan = x_tan + 2 * n_v + stage.n_d;
    double target_tan[N_MOST], body_tan[TABLE_LIMIT] = {0};
    for (int i = 0; i < row.n; i++) {
        target_tan[i] = targets_tan[i] + targets_tan[row.n];
    }
    memcpy(stage.sim->d_tan.block, x_tan + 2 * n_v, sizeof *x_tan * (size_t)stage.n_d);
    for (int k = 0; k < stage.model->n_pair; k++) {
        stage.sim->d_tan.block[restitution_at(k)] += targets_tan[row.n + 1];
    }
    cri_state_motion(stage.model, &row.state, NULL, x_tan + n_v, body_tan);
    cri_jump_tan tan = {.v = x_tan,
                        .q = x_tan + n_v,
                        .body_tan = body_tan,
                        .d = &stage.sim->d_tan,
                        .target = target_tan};
    cri_jump_solve_jvp(&stage.sim->world, &row.jump, &tan, y_tan, row.scratch);
}

/// The laws of the rows, in this order.
enum { N_LAW = 5 };
static const char *const laws[N_LAW] = {"ncp", "ncp-poisson", "cone", "cone-reg", "lcp"};

/// A point of a scene. Classes of the impulses under each law: o open, t stick, d slide in some
/// phase; NULL: not asked; "-": no row, see there.
typedef struct point {
    const char *name;
    const char *classes[N_LAW];
    const double *v;              // (n_v)
    double friction, restitution; // of every pair
    double friction2;             // of pairs that have two
    double lift;                  // target of all
    bool is_plain;                // every contact
    bool is_upright;              // what would tilt the box is held
} point;

static void move_inputs(const point *p, table_move *move) {
    int n_v = stage.n.n_v, targets = 2 * n_v + stage.n_d;
    table_move_derived(&stage, move + 2 * n_v);
    // restitution and target tie where both are zero: without restitution, for what leaves, for
    // limits
    move[targets + row.n] = TABLE_FREE;
    move[targets + row.n + 1] = p->restitution == 0.0 ? TABLE_UP : TABLE_HELD;
    for (int i = 0; i < row.n; i++) {
        double bounce = row.jump.e[i] * fmax(-row.jump.b[3 * i], 0.0);
        bool is_tie = !p->is_plain && p->lift == 0.0 && bounce == 0.0;
        move[targets + i] = is_tie || row.is_redundant ? TABLE_HELD : TABLE_FREE;
        move[targets + row.n] = is_tie ? TABLE_HELD : move[targets + row.n];
    }
    for (int i = 3; p->is_upright && i < 5; i++) {
        move[i] = move[n_v + i] = TABLE_HELD;
    }
    for (int k = 0; k < stage.model->n_pair; k++) {
        int friction = (int)(&stage.sim->d.pair[k].friction - stage.sim->d.block) + 2 * n_v;
        // four convex corners lift by mu |u_t| each, which no rigid face does: one of them opens
        bool is_torn = row.is_redundant && strcmp(stage.sim->world.law->name, "cone") == 0;
        move[friction] = p->friction > 0.0 ? TABLE_FREE : is_torn ? TABLE_HELD : TABLE_UP;
        // from none, all at once
        move[friction + 1] = p->restitution == 0.0 ? TABLE_HELD : TABLE_FREE;
        move[friction + 2] = p->friction2 == 0.0 ? TABLE_UP : TABLE_FREE;
    }
    for (int g = 0; row.is_tied && g < 3; g += 2) {
        int friction = (int)(&stage.sim->d.geom[g].friction - stage.sim->d.block) + 2 * n_v;
        move[friction] = move[friction + 1] = g == 0 ? TABLE_DOWN : TABLE_UP;
    }
}

// of all pairs, or where there are none of the geoms, so that no two are the same
static void set_coefficients(const point *p, double *d) {
    const cri_derived *at = &stage.sim->d;
    for (int k = 0; k < stage.model->n_pair; k++) {
        d[&at->pair[k].friction - at->block] = p->friction;
        d[&at->pair[k].restitution - at->block] = p->restitution;
        d[&at->pair[k].friction2 - at->block] = p->friction2;
    }
    for (int g = 0; stage.model->n_pair == 0 && g < stage.n.n_geom; g++) {
        // a foot is the geom number 2
        double share = row.is_tied && g == 0 ? 0.9 : 1.0 - 0.05 * g;
        d[&at->geom[g].friction - at->block] = share * p->friction;
        d[&at->geom[g].restitution - at->block] = share * p->restitution;
    }
}

static void check_law(const point *p, int law) {
    double x[TABLE_LIMIT] = {0}, y[TABLE_LIMIT];
    table_move move[TABLE_LIMIT] = {0};
    int n_v = stage.n.n_v;
    stage.sim->world.law = cri_law_find(laws[law]);
    memcpy(x, p->v, sizeof *x * (size_t)n_v);
    memcpy(x + 2 * n_v, stage.d, sizeof *x * (size_t)stage.n_d);
    set_coefficients(p, x + 2 * n_v);
    x[2 * n_v + stage.n_d + row.n] = p->lift;
    for (int i = 0; i < row.n; i++) {
        row.is_plain[i] = p->is_plain;
    }
    jump_forward(x, y);
    move_inputs(p, move);
    char classes[N_MOST + 1] = {0}, name[100];
    snprintf(name, sizeof name, "%s, %s", p->name, laws[law]);
    for (int i = 0; i < row.n; i++) {
        bool is_open = row.jump.f[3 * i] <= 0.0;
        classes[i] = (char)(is_open ? 'o' : row.jump.is_sliding[i] ? 'd' : 't');
    }
    if (p->classes[law]) {
        CHECK_TEXT(classes, p->classes[law]);
    }
    table_check(&(table_row){.name = name,
                             .vjp_name = "cri_jump_solve_vjp",
                             .jvp_name = "cri_jump_solve_jvp",
                             .n_in = n_in(),
                             .n_out = n_v,
                             .forward = jump_forward,
                             .vjp = jump_vjp,
                             .jvp = jump_jvp,
                             .x = x,
                             .move = move,
                             .step = row.step,
                             // limits for e -> 0+ are read off a bound of 1e-7
                             .tolerance = p->restitution == 0.0 ? 3e-6
                                          : row.is_redundant    ? 1e-6
                                                                : 0.0,
                             .size = row.is_redundant ? TABLE_REDUNDANT
                                     : row.step > 0.0 ? 10.0
                                                      : 0.0});
}

static void check_jump(const point *p) {
    for (int law = 0; law < N_LAW; law++) {
        if (!p->classes[law] || strcmp(p->classes[law], "-") != 0) {
            check_law(p, law);
        }
    }
}

// contacts of the open stage, at its point
static void begin_contacts(int n, const table_contact *contact, bool is_redundant) {
    row.n = n;
    row.is_redundant = is_redundant;
    row.keep = cri_arena_create(1 << 18);
    row.scratch = cri_arena_create(1 << 18);
    assert_true(n <= N_MOST && row.keep && row.scratch);
    static const double still[TABLE_LIMIT];
    pose_stage(still, stage.d);
    for (int i = 0; i < n; i++) {
        cri_narrow_touch touch[CRI_MAX_TOUCH];
        bool is_limit = !contact[i].geom[0];
        row.near[i] = table_near(&stage, &contact[i]);
        cri_near_touches(&stage.sim->world, &row.near[i], &row.state, 0.1, touch);
        row.first[i] = touch[is_limit ? 0 : contact[i].slot];
        assert_true(row.first[i].gap < 10.0);
        row.ref[i] = (cri_contact_ref){&row.near[i], &row.touch[i]};
    }
}

static void open_stage(const table_scene *scene, int n, const table_contact *contact) {
    cr_sim_options options = table_options("located", "ncp");
    table_open_scene(&stage, scene, &options);
    row.step = 0.0;
    begin_contacts(n, contact, n == 4);
}

static void open_robot(const char *mjcf, int n, const table_contact *contact, bool is_redundant) {
    cr_sim_options options = table_options("located", "ncp");
    table_open(&stage, mjcf, &options);
    row.step = 1e-3;
    begin_contacts(n, contact, is_redundant);
}

static void close_stage(void) {
    cri_arena_destroy(row.keep);
    cri_arena_destroy(row.scratch);
    table_close(&stage);
}

// ---- two balls and a slope ---------------------------------------------------------------------

// the box has no part in the island
static const table_scene balls = {
    .has_pairs = true,
    .normal = "0.2 -0.3 1",
    .bodies = "oxp",
    .qpos = "0.1 0.2 0.9 0.8 0.3 -0.4 0.2 5 5 5 1 0 0 0 -0.5 1.3 1.1 0.5 -0.1 0.7 0.5",
    .qvel = "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0",
};

static const double slow[18] = {0.2, 0.3, -2.0, 0.3, -0.2, 0.4,  1.0,  2.0, 3.0,
                                4.0, 5.0, 6.0,  0.1, -0.6, -1.7, -0.2, 0.3, 0.1};
static const double fast[18] = {1.7, 1.3, -2.0, 2.0,  -4.0, 3.0,  1.0,  2.0, 3.0,
                                4.0, 5.0, 6.0,  -1.1, -0.9, -1.7, -4.0, 3.0, 2.0};
static const double rising[18] = {1.7, 1.3, -2.0, 2.0,  -4.0, 3.0, 1.0,  2.0, 3.0,
                                  4.0, 5.0, 6.0,  -1.1, -0.9, 0.9, -4.0, 3.0, 2.0};

static const point ball_points[] = {
    {"balls", {"ttd", "ttd", "ttd", "ttd", "ttd"}, slow, .friction = 0.9, .restitution = 0.4},
    {"fast", {"ddd", "ddd", "ddd", "ddd", "ddd"}, fast, .friction = 0.1, .restitution = 0.4},
    {"opening", {"doo", "doo", "dod", "dod", "doo"}, rising, .friction = 0.2, .restitution = 0.3},
    {"target",
     {"ddd", "ddd", "ddd", "ddd", "ddd"},
     fast,
     .friction = 0.1,
     .restitution = 0.1,
     .lift = 0.6},
    {"plain",
     {"ddd", "ddd", "ddd", "ddd", "ddd"},
     fast,
     .friction = 0.1,
     .restitution = 0.1,
     .lift = 0.3,
     .is_plain = true},
    {"no friction", {"ddd", "ddd", "ddd", "ddd", "ddd"}, fast, .friction = 0.0, .restitution = 0.3},
    {"no restitution",
     {"ddd", "ddd", "ddd", "ddd", "ddd"},
     fast,
     .friction = 0.2,
     .restitution = 0.0},
};

TEST(jumps_of_two_balls_on_a_slope_have_their_gradients) {
    static const table_contact contacts[] = {
        {{"floor", "o"}, 0}, {{"floor", "p"}, 0}, {{"o", "p"}, 0}};
    open_stage(&balls, 3, contacts);
    for (size_t k = 0; k < sizeof ball_points / sizeof ball_points[0]; k++) {
        check_jump(&ball_points[k]);
    }
    close_stage();
}

// ---- a box on four corners ---------------------------------------------------------------------

// nearly along the slope: not so nearly that anything vanishes
static const table_scene slab = {
    .has_pairs = true,
    .normal = "0.2 -0.3 1",
    .bodies = "s",
    .qpos = "0.1 0.2 0.4 0.95 0.12 0.08 0.3",
    .qvel = "0 0 0 0 0 0",
};

static const table_contact corners[] = {
    {{"floor", "s"}, 0}, {{"floor", "s"}, 2}, {{"floor", "s"}, 4}, {{"floor", "s"}, 6}};
static const double drop[18] = {0.3, -0.2, -2.0, 0.1, 0.1, 0.2};
static const double skid[18] = {2.0, 1.0, -2.0, 0.1, -0.2, 1.5};
static const double stop[18] = {0.9, 0.6, -4.0, 0.1, -0.2, 1.5};

// sticking corners of a tilted slab that bounce contradict each other under ncp; convex corners
// lift, and no face can lift by mu |u_t| at all four: one opens
static const point slab_points[] = {
    {"slab, rough",
     {"-", "tttt", "tttt", "tttt", "ddtd"},
     drop,
     .friction = 3.5,
     .restitution = 0.4},
    {"slab", {"-", "dddd", "dddd", "ddtd", "dddd"}, drop, .friction = 0.9, .restitution = 0.4},
    {"slab, plain",
     {"tttt", "tttt", "tttt", "tttt", "tttt"},
     drop,
     .friction = 0.9,
     .restitution = 0.4,
     .lift = 0.5,
     .is_plain = true},
    {"slab sliding",
     {"dddd", "dddd", "dddo", "dddo", "dddd"},
     skid,
     .friction = 0.2,
     .restitution = 0.4},
    {"slab sliding, plain",
     {"dddd", "dddd", "dddo", "dddo", "dddd"},
     skid,
     .friction = 0.2,
     .restitution = 0.4,
     .lift = 0.5,
     .is_plain = true},
    {"slab sliding, target",
     {"-", "dddd", "dddd", "dddd", "dddd"},
     skid,
     .friction = 0.2,
     .restitution = 0.2,
     .lift = 0.7},
    {"slab stopping",
     {"dddd", "dddd", "dddo", "dddo", "dddd"},
     stop,
     .friction = 0.2,
     .restitution = 0.4},
    {"slab, no friction",
     {"dddd", "dddd", "dddd", "dddd", "dddd"},
     skid,
     .friction = 0.0,
     .restitution = 0.4},
};

TEST(jumps_of_a_box_on_four_corners_have_their_gradients) {
    open_stage(&slab, 4, corners);
    for (size_t k = 0; k < sizeof slab_points / sizeof slab_points[0]; k++) {
        check_jump(&slab_points[k]);
    }
    close_stage();
}

// flat on the floor: four sticking corners bounce with one e only as long as nothing tilts them
static const table_scene flat_slab = {
    .has_pairs = true,
    .bodies = "s",
    .qpos = "0.1 0.2 0.2 0.95 0 0 0.3",
    .qvel = "0 0 0 0 0 0",
};

TEST(a_jump_off_a_whole_face_has_its_gradient) {
    static const double fall[18] = {0.3, -0.2, -2.0, 0.0, 0.0, 0.2};
    open_stage(&flat_slab, 4, corners);
    check_jump(&(point){"face",
                        {"tttt", "tttt", "tttt", "tttt", "tttt"},
                        fall,
                        .friction = 0.9,
                        .restitution = 0.4,
                        .is_upright = true});
    close_stage();
}

// ---- two coefficients of friction --------------------------------------------------------------

static const point skew_points[] = {
    {"skew, sticking", "ncp", "ttd", slow, .friction = 0.9, .friction2 = 1.4, .restitution = 0.4},
    {"skew", "ncp", "ddd", fast, .friction = 0.1, .friction2 = 0.3, .restitution = 0.4},
    {"skew, the other way", "ncp", "ddo", fast, .friction = 0.3, .friction2 = 0.02,
     .restitution = 0.4},
    {"skew, equal", "ncp", "ddd", fast, .friction = 0.2, .friction2 = 0.2, .restitution = 0.4},
    {"skew, none along t2", "ncp", "ddd", fast, .friction = 0.1, .restitution = 0.4},
    {"skew, none along t1", "ncp", "ddd", fast, .friction2 = 0.1, .restitution = 0.4},
    {"skew, plain", "ncp", "ddd", fast, .friction = 0.1, .friction2 = 0.3, .lift = 0.3,
     .is_plain = true},
    {"skew, poisson", "ncp-poisson", NULL, fast, .friction = 0.1, .friction2 = 0.3,
     .restitution = 0.4},
    {"skew, octagon", "lcp", NULL, fast, .friction = 0.1, .friction2 = 0.3, .restitution = 0.4},
    {"skew, convex", "cone", NULL, fast, .friction = 0.1, .friction2 = 0.3, .restitution = 0.4},
    {"skew, soft", "cone-reg", NULL, fast, .friction = 0.1, .friction2 = 0.3, .restitution = 0.4},
};

TEST(jumps_with_two_frictions_have_their_gradients) {
    static const table_contact contacts[] = {
        {{"floor", "o"}, 0}, {{"floor", "p"}, 0}, {{"o", "p"}, 0}};
    table_scene skew = balls;
    skew.friction = 0.1;
    skew.friction2 = 0.3;
    open_stage(&skew, 3, contacts);
    for (size_t k = 0; k < sizeof skew_points / sizeof skew_points[0]; k++) {
        check_jump(&skew_points[k]);
    }
    close_stage();
    skew = slab;
    skew.friction = 0.1;
    skew.friction2 = 0.3;
    open_stage(&skew, 4, corners);
    check_jump(&(point){"skew slab", "ncp", "tttt", drop, .friction = 0.9, .friction2 = 1.2,
                        .restitution = 0.4, .lift = 0.5, .is_plain = true});
    check_jump(&(point){"skew slab sliding", "ncp", "dddd", skid, .friction = 0.2, .friction2 = 0.1,
                        .restitution = 0.4});
    close_stage();
}

// ---- trees -------------------------------------------------------------------------------------

// a body on two legs of two links each, with balls for feet, and a box and a ball beside it
static const char walker[] =
    "<mujoco><worldbody>"
    "<geom name='floor' type='plane' size='9 9 1' zaxis='0.1 -0.2 1'/>"
    "<body name='torso'><freejoint/>"
    "<inertial pos='0.1 0 0.05' mass='1.5' diaginertia='0.3 0.4 0.5'/>"
    "<geom name='belly' type='box' size='0.4 0.3 0.2'/>"
    "<body name='thigh0' pos='0.3 0.2 -0.2'><joint axis='0 1 0.2' armature='0.02' limited='true'"
    " range='-80 80'/><inertial pos='0 0.02 -0.2' mass='0.5' diaginertia='0.1 0.12 0.09'/>"
    "<body name='shin0' pos='0 0 -0.5'><joint axis='0.1 1 0' limited='true' range='-90 20'/>"
    "<inertial pos='0.03 0 -0.2' mass='0.4' diaginertia='0.1 0.11 0.08'/>"
    "<geom name='foot0' type='sphere' size='0.15' pos='0 0.05 -0.4'/></body></body>"
    "<body name='thigh1' pos='-0.3 -0.2 -0.2'><joint axis='0.2 1 0' armature='0.03'/>"
    "<inertial pos='0 0.02 -0.2' mass='0.6' diaginertia='0.12 0.1 0.09'/>"
    "<body name='shin1' pos='0 0 -0.5'><joint axis='0 1 0.1' damping='0.1'/>"
    "<inertial pos='0.03 0 -0.2' mass='0.45' diaginertia='0.09 0.11 0.08'/>"
    "<geom name='foot1' type='capsule' size='0.1 0.15' pos='0 0.05 -0.4' euler='70 20 0'/></body>"
    "</body></body>"
    "<body name='o'><freejoint/><inertial pos='0 0 0' mass='1.2' diaginertia='0.2 0.3 0.4'/>"
    "<geom name='o' type='sphere' size='0.3'/></body></worldbody>"
    "<keyframe><key qpos='0.1 0.2 1.2 0.95 0.1 -0.1 0.2 0.3 -0.5 -0.2 0.4"
    " 0.6 0.9 0.4 0.8 0.3 -0.4 0.2'/></keyframe></mujoco>";

static const double landing[16] = {0.3, -0.2, -2.0, 0.3, -0.2, 0.1, 0.4, -0.5,
                                   0.3, 0.2,  -0.3, 0.4, -1.5, 0.1, 0.2, -0.3};
static const double dashing[16] = {2.3, -1.2, -2.0, 0.3, -0.2, 0.1, 0.4, -0.5,
                                   0.3, 0.2,  -2.3, 1.4, -1.5, 3.1, 2.2, -1.3};
static const double hopping[16] = {0.3,  -0.2, 0.4,  0.3, -1.2, 0.1, 1.4, -1.5,
                                   -0.3, 0.2,  -0.3, 0.4, -1.5, 0.1, 0.2, -0.3};

// what every law must do in one island, with the classes of ncp
static void check_laws(const char *classes[3]) {
    static const double *const v[3] = {landing, dashing, hopping};
    static const double friction[3] = {0.9, 0.2, 0.4};
    for (int k = 0; k < 3; k++) {
        check_jump(
            &(point){"bounce", {classes[k]}, v[k], .friction = friction[k], .restitution = 0.4});
        check_jump(&(point){"plain",
                            {0},
                            v[k],
                            .friction = friction[k],
                            .restitution = 0.1,
                            .lift = 0.3,
                            .is_plain = true});
    }
}

TEST(jumps_of_two_feet_have_their_gradients) {
    static const table_contact contacts[] = {{{"floor", "foot0"}, 0}, {{"floor", "foot1"}, 0}};
    open_robot(walker, 2, contacts, false);
    check_laws((const char *[]){"tt", "dd", "oo"});
    close_stage();
}

TEST(jumps_of_a_tree_and_a_free_body_have_their_gradients) {
    static const table_contact contacts[] = {
        {{"floor", "foot0"}, 0}, {{"foot0", "o"}, 0}, {{"floor", "o"}, 0}, {{"belly", "o"}, 0}};
    open_robot(walker, 4, contacts, false);
    check_laws((const char *[]){"tott", "dddd", "otto"});
    close_stage();
}

TEST(jumps_of_a_tree_with_two_frictions_have_their_gradients) {
    static const table_contact contacts[] = {
        {{"floor", "foot0"}, 0}, {{"foot0", "foot1"}, 0}, {{"foot0", "o"}, 0}};
#define SKEW(pair)                                                                                 \
    "<numeric name='carom:friction:" pair "' data='1 2'/>"                                         \
    "<numeric name='carom:restitution:" pair "' data='0.4'/>"
    static const char pairs[] =
        "<custom>" SKEW("floor:foot0") SKEW("foot0:foot1") SKEW("foot0:o") "</custom>";
#undef SKEW
    char scene[sizeof walker + sizeof pairs];
    const char *rest = strstr(walker, "<worldbody>");
    snprintf(scene, sizeof scene, "<mujoco>%s%s", pairs, rest);
    open_robot(scene, 3, contacts, false);
    check_jump(&(point){"skew foot", "ncp", NULL, landing, .friction = 0.9, .friction2 = 0.6,
                        .restitution = 0.4});
    check_jump(
        &(point){"skew foot sliding", "ncp", NULL, dashing, .friction = 0.1, .friction2 = 0.3});
    CHECK(row.near[0].has_two_frictions && row.near[1].has_two_frictions);
    close_stage();
}

TEST(jumps_within_a_tree_have_their_gradients) {
    static const table_contact contacts[] = {
        {{"foot0", "foot1"}, 0}, {{"floor", "foot0"}, 0}, {{"foot1", "belly"}, 0}};
    open_robot(walker, 3, contacts, false);
    check_laws((const char *[]){"dto", "odo", "dod"});
    close_stage();
}

TEST(jumps_of_limits_have_their_gradients) {
    static const table_contact contacts[] = {
        {{NULL, NULL}, 2}, {{NULL, NULL}, 1}, {{"floor", "foot0"}, 0}, {{"foot0", "o"}, 0}};
    for (int n = 1; n <= 4; n += 3) {
        open_robot(walker, n, contacts, false);
        check_laws((const char *[]){NULL, NULL, NULL});
        close_stage();
    }
}

TEST(of_two_equal_coefficients_the_second_counts) {
    static const table_contact contacts[] = {{{"floor", "foot0"}, 0}, {{"foot0", "o"}, 0}};
    open_robot(walker, 2, contacts, false);
    row.is_tied = true;
    check_jump(&(point){"tie", {"dd"}, dashing, .friction = 0.2, .restitution = 0.4});
    row.is_tied = false;
    close_stage();
}

// two arms whose ends are joined: a loop
static const char loop[] =
    "<mujoco><worldbody><geom name='floor' type='plane' size='9 9 1' zaxis='0.1 -0.2 1'/>"
    "<body name='base'><freejoint/>"
    "<inertial pos='0.1 0 0.05' mass='1.5' diaginertia='0.3 0.4 0.5'/>"
    "<body name='a' pos='0.3 0 0'><joint axis='0 1 0.1'/><joint axis='1 0 0.2'/>"
    "<inertial pos='0 0.02 -0.2' mass='0.5' diaginertia='0.1 0.12 0.09'/>"
    "<geom name='a' type='sphere' size='0.15' pos='0.1 0 -0.4'/></body>"
    "<body name='b' pos='-0.3 0.1 0'><joint type='ball' limited='true' range='0 40'/>"
    "<inertial pos='0 0.02 -0.2' mass='0.6' diaginertia='0.12 0.1 0.09'/>"
    "<geom name='b' type='box' size='0.1 0.15 0.2' pos='-0.1 0 -0.4'/></body></body>"
    "<body name='o'><freejoint/><inertial pos='0 0 0' mass='1.2' diaginertia='0.2 0.3 0.4'/>"
    "<geom name='o' type='sphere' size='0.3'/></body></worldbody>"
    "<equality><connect body1='a' body2='b' anchor='-0.2 0.1 -0.6'/></equality>"
    "<keyframe><key qpos='0.1 0.2 0.7 0.95 0.1 -0.1 0.2 0.1 -0.1 0.98 0.1 0.05 -0.08"
    " 0.8 0.3 0.4 0.8 0.3 -0.4 0.2'/></keyframe></mujoco>";

TEST(jumps_of_a_loop_have_their_gradients) {
    static const table_contact contacts[] = {
        {{"floor", "a"}, 0}, {{"floor", "b"}, 4}, {{"a", "o"}, 0}};
    static const double v[17] = {0.3, -0.2, -2.0, 0.3,  -0.2, 0.1, 0.4,  -0.5, 0.3,
                                 0.2, -0.3, 0.4,  -1.5, 0.1,  0.2, -0.3, 0.6};
    static const double w[17] = {2.3, -1.2, -2.0, 0.3,  -0.2, 0.1, 0.4,  -0.5, 0.3,
                                 0.2, -2.3, 1.4,  -1.5, 3.1,  2.2, -0.3, 0.6};
    open_robot(loop, 3, contacts, false);
    check_jump(&(point){"loop sticks and slides",
                        {"tdo", "tdo", "ddd", "tdd", "tdo"},
                        v,
                        .friction = 2.0,
                        .restitution = 0.4});
    check_jump(&(point){"loop slides",
                        {"ddd", "ddd", "ddd", "ddd", "ddd"},
                        w,
                        .friction = 0.1,
                        .restitution = 0.4});
    close_stage();
}

TEST(jumps_of_a_ball_joint_have_their_gradients) {
    static const table_contact contacts[] = {{{NULL, NULL}, 0}, {{"floor", "a"}, 0}};
    // the ball turns on, and turns back
    static const double v[17] = {0.3, -0.2, -2.0, 0.3,  -0.2, 0.1, 0.4,  -0.5, 1.3,
                                 0.7, -0.6, 0.4,  -1.5, 0.1,  0.2, -0.3, 0.6};
    static const double w[17] = {2.3,  -1.2, -2.0, 0.3,  -0.2, 0.1, 0.4,  -0.5, -1.3,
                                 -0.2, 0.3,  1.4,  -1.5, 3.1,  2.2, -0.3, 0.6};
    for (int n = 1; n <= 2; n++) {
        open_robot(loop, n, contacts, false);
        check_jump(&(point){"ball", {0}, v, .friction = 0.9, .restitution = 0.4});
        check_jump(&(point){"ball back", {0}, w, .friction = 0.1, .restitution = 0.4});
        close_stage();
    }
}

// a chain in a plane, as many robots are: nothing moves across it, and two contacts have six rows
// for two dofs
#define PLANAR(heading)                                                                            \
    "<mujoco><worldbody><geom name='floor' type='plane' size='9 9 1'/>"                            \
    "<body name='root' pos='0 0 0.6' euler='0 0 " heading "'><joint type='slide' axis='1 0 0'/>"   \
    "<joint type='slide' axis='0 0 1'/><joint axis='0 1 0'/>"                                      \
    "<inertial pos='0 0 0' mass='1.5' diaginertia='0.3 0.4 0.5'/>"                                 \
    "<geom name='heel' type='sphere' size='0.1' pos='-0.3 0 -0.5'/>"                               \
    "<body name='leg' pos='0.3 0 -0.1'><joint axis='0 1 0'/>"                                      \
    "<inertial pos='0.02 0 -0.2' mass='0.5' diaginertia='0.1 0.12 0.09'/>"                         \
    "<geom name='toe' type='sphere' size='0.12' pos='0.1 0 -0.4'/></body></body></worldbody>"      \
    "<keyframe><key qpos='0.1 0.02 0.05 -0.1'/></keyframe></mujoco>"

// along the axes of the contact frames, and across both
static const char *const planar[] = {PLANAR("0"), PLANAR("30")};

TEST(jumps_of_a_planar_chain_have_their_gradients) {
    static const table_contact contacts[] = {{{"floor", "heel"}, 0}, {{"floor", "toe"}, 0}};
    static const double v[4] = {0.3, -2.0, 0.3, -0.4}, w[4] = {3.3, -2.0, 0.3, -0.4};
    for (int k = 0; k < 4; k++) {
        open_robot(planar[k / 2], 1 + k % 2, contacts, false);
        check_jump(&(point){"planar", {0}, v, .friction = 0.9, .restitution = 0.4});
        check_jump(&(point){"planar slides", {0}, w, .friction = 0.2, .restitution = 0.4});
        close_stage();
    }
}

TABLE_PART(gradient_table_jump, jumps_of_two_balls_on_a_slope_have_their_gradients,
           jumps_of_a_box_on_four_corners_have_their_gradients,
           a_jump_off_a_whole_face_has_its_gradient, jumps_with_two_frictions_have_their_gradients,
           jumps_of_a_tree_with_two_frictions_have_their_gradients,
           jumps_of_two_feet_have_their_gradients,
           jumps_of_a_tree_and_a_free_body_have_their_gradients,
           jumps_within_a_tree_have_their_gradients, jumps_of_limits_have_their_gradients,
           of_two_equal_coefficients_the_second_counts, jumps_of_a_loop_have_their_gradients,
           jumps_of_a_ball_joint_have_their_gradients, jumps_of_a_planar_chain_have_their_gradients)
