// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: velocity jumps of one island.
//
// x = (v, q displacement, d, target of each contact, target of all), y = v after the jump. A jump
// does not ask whether its features touch. Four corners of a box are redundant, and stay so however
// the box is moved, turned or sized; but a target of a single corner contradicts the others.

#include "gradient_table.h"

#include "contact/jump.h"

#include <string.h>

enum { N_MOST = 4 };

/// The scene of the row, and its jump.
static table_stage stage;
static struct {
    int n;
    int feature[N_MOST];
    bool is_plain[N_MOST];
    cr_arena *keep, *scratch;
    double state[TABLE_LIMIT];
    cri_jump jump;
} row;

static int n_in(void) {
    return 2 * stage.n.n_v + stage.n_d + row.n + 1;
}

static void jump_forward(const double *x, double *y) {
    const cri_world *world = &stage.sim->world;
    int n_v = stage.n.n_v;
    const double *target = x + 2 * n_v + stage.n_d;
    double at[TABLE_LIMIT] = {0};
    memcpy(at, x + n_v, sizeof *x * (size_t)n_v);
    table_displace(&stage, at, row.state);
    table_set_derived(&stage, x + 2 * n_v);
    cri_arena_reset(row.keep);
    cri_arena_reset(row.scratch);
    cri_jump_begin(world, row.n, row.feature, row.state, &row.jump, row.keep);
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
}

static void jump_jvp(const double *x, const double *x_tan, double *y_tan) {
    (void)x;
    int n_v = stage.n.n_v;
    const double *targets_tan = x_tan + 2 * n_v + stage.n_d;
    double target_tan[N_MOST];
    for (int i = 0; i < row.n; i++) {
        target_tan[i] = targets_tan[i] + targets_tan[row.n];
    }
    memcpy(stage.sim->d_tan.block, x_tan + 2 * n_v, sizeof *x_tan * (size_t)stage.n_d);
    cri_jump_tan tan = {.v = x_tan, .q = x_tan + n_v, .d = &stage.sim->d_tan, .target = target_tan};
    cri_jump_solve_jvp(&stage.sim->world, &row.jump, &tan, y_tan, row.scratch);
}

/// A point of a scene.
typedef struct point {
    const char *name;
    const char *law;
    const char *classes;          // of the impulses: o open, t stick, d slide; NULL: not asked
    const double *v;              // (n_v)
    double friction, restitution; // of every pair
    double lift;                  // target of all
    bool is_plain;                // every contact
    bool is_upright;              // what would tilt the box is held
} point;

static void move_inputs(const point *p, table_move *move) {
    int n_v = stage.n.n_v, targets = 2 * n_v + stage.n_d;
    bool is_redundant = row.n == 4;
    table_move_derived(&stage, move + 2 * n_v);
    // from e = 0 restitution and target tie, and only one of them may move
    bool is_tie = p->restitution == 0.0 && !p->is_plain;
    for (int i = 0; i <= row.n; i++) {
        bool is_held = is_tie || (is_redundant && i < row.n);
        move[targets + i] = is_held ? TABLE_HELD : TABLE_FREE;
    }
    for (int i = 3; p->is_upright && i < 5; i++) {
        move[i] = move[n_v + i] = TABLE_HELD;
    }
    for (int k = 0; k < stage.model->n_pair; k++) {
        int friction = (int)(&stage.sim->d.pair[k].friction - stage.sim->d.block) + 2 * n_v;
        move[friction] = p->friction == 0.0 ? TABLE_UP : TABLE_FREE;
        move[friction + 1] = p->restitution == 0.0 ? TABLE_UP : TABLE_FREE;
    }
}

static void check_jump(const point *p) {
    double x[TABLE_LIMIT] = {0}, y[TABLE_LIMIT];
    table_move move[TABLE_LIMIT] = {0};
    int n_v = stage.n.n_v;
    stage.sim->world.law = cri_law_find(p->law);
    memcpy(x, p->v, sizeof *x * (size_t)n_v);
    memcpy(x + 2 * n_v, stage.d, sizeof *x * (size_t)stage.n_d);
    for (int k = 0; k < stage.model->n_pair; k++) {
        double *friction = x + 2 * n_v + (&stage.sim->d.pair[k].friction - stage.sim->d.block);
        friction[0] = p->friction;
        friction[1] = p->restitution;
    }
    x[2 * n_v + stage.n_d + row.n] = p->lift;
    for (int i = 0; i < row.n; i++) {
        row.is_plain[i] = p->is_plain;
    }
    move_inputs(p, move);
    jump_forward(x, y);
    char classes[N_MOST + 1] = {0};
    for (int i = 0; i < row.n; i++) {
        bool is_open = row.jump.f[3 * i] <= 0.0;
        classes[i] = (char)(is_open ? 'o' : row.jump.is_sliding[i] ? 'd' : 't');
    }
    if (p->classes) {
        CHECK_TEXT(classes, p->classes);
    }
    table_check(&(table_row){.name = p->name,
                             .vjp_name = "cri_jump_solve_vjp",
                             .jvp_name = "cri_jump_solve_jvp",
                             .n_in = n_in(),
                             .n_out = n_v,
                             .forward = jump_forward,
                             .vjp = jump_vjp,
                             .jvp = jump_jvp,
                             .x = x,
                             .move = move,
                             .tolerance = row.n == 4 ? 1e-6 : 0.0,
                             .size = row.n == 4 ? TABLE_REDUNDANT : 0.0});
}

static void open_stage(const table_scene *scene, int n, const int *feature) {
    cr_sim_options options = table_options("located", "ncp");
    table_open_scene(&stage, scene, &options);
    row.n = n;
    memcpy(row.feature, feature, sizeof *feature * (size_t)n);
    row.keep = cri_arena_create(1 << 17);
    row.scratch = cri_arena_create(1 << 17);
    assert_true(row.keep && row.scratch);
}

static void close_stage(void) {
    cri_arena_destroy(row.keep);
    cri_arena_destroy(row.scratch);
    table_close(&stage);
}

// ---- two balls and a slope ---------------------------------------------------------------------

// the box has no part in the island
static const table_scene balls = {
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
    {"newton", "ncp", "ttd", slow, .friction = 0.9, .restitution = 0.4},
    {"newton, fast", "ncp", "ddd", fast, .friction = 0.1, .restitution = 0.4},
    {"newton, opening", "ncp", "doo", rising, .friction = 0.2, .restitution = 0.3},
    {"newton, target", "ncp", "ddd", fast, .friction = 0.1, .restitution = 0.1, .lift = 0.6},
    {"newton, plain", "ncp", "ddd", fast, .friction = 0.1, .restitution = 0.1, .lift = 0.3,
     .is_plain = true},
    {"newton, no friction", "ncp", "ddd", fast, .friction = 0.0, .restitution = 0.3},
    {"newton, no restitution", "ncp", "ddd", fast, .friction = 0.2, .restitution = 0.0},
    {"poisson", "ncp-poisson", NULL, slow, .friction = 0.9, .restitution = 0.4},
    {"poisson, fast", "ncp-poisson", NULL, fast, .friction = 0.1, .restitution = 0.4},
    {"poisson, opening", "ncp-poisson", NULL, rising, .friction = 0.2, .restitution = 0.3},
    {"poisson, target", "ncp-poisson", NULL, fast, .friction = 0.1, .restitution = 0.1,
     .lift = 0.6},
    {"poisson, plain", "ncp-poisson", NULL, fast, .friction = 0.1, .restitution = 0.1, .lift = 0.3,
     .is_plain = true},
};

TEST(jumps_of_two_balls_on_a_slope_have_their_gradients) {
    static const int feature[] = {0, 9, 10};
    open_stage(&balls, 3, feature);
    for (size_t k = 0; k < sizeof ball_points / sizeof ball_points[0]; k++) {
        check_jump(&ball_points[k]);
    }
    close_stage();
}

// ---- a box on four corners ---------------------------------------------------------------------

// nearly along the slope: not so nearly that anything vanishes
static const table_scene slab = {
    .normal = "0.2 -0.3 1",
    .bodies = "s",
    .qpos = "0.1 0.2 0.4 0.95 0.12 0.08 0.3",
    .qvel = "0 0 0 0 0 0",
};

static const double drop[18] = {0.3, -0.2, -2.0, 0.1, 0.1, 0.2};
static const double skid[18] = {2.0, 1.0, -2.0, 0.1, -0.2, 1.5};
static const double stop[18] = {0.9, 0.6, -4.0, 0.1, -0.2, 1.5};

static const point slab_points[] = {
    {"slab, plain", "ncp", "tttt", drop, .friction = 0.9, .restitution = 0.4, .lift = 0.5,
     .is_plain = true},
    {"slab sliding", "ncp", "dddd", skid, .friction = 0.2, .restitution = 0.4},
    {"slab sliding, plain", "ncp", "dddd", skid, .friction = 0.2, .restitution = 0.4, .lift = 0.5,
     .is_plain = true},
    {"slab stopping", "ncp", "dddd", stop, .friction = 0.2, .restitution = 0.4},
    {"slab, no friction", "ncp", "dddd", skid, .friction = 0.0, .restitution = 0.4},
    {"poisson slab, rough", "ncp-poisson", NULL, drop, .friction = 3.5, .restitution = 0.4},
    {"poisson slab", "ncp-poisson", NULL, drop, .friction = 0.9, .restitution = 0.4},
    {"poisson slab sliding", "ncp-poisson", NULL, skid, .friction = 0.2, .restitution = 0.4},
    {"poisson slab, target", "ncp-poisson", NULL, skid, .friction = 0.2, .restitution = 0.2,
     .lift = 0.7},
};

TEST(jumps_of_a_box_on_four_corners_have_their_gradients) {
    static const int feature[] = {0, 2, 4, 6};
    open_stage(&slab, 4, feature);
    for (size_t k = 0; k < sizeof slab_points / sizeof slab_points[0]; k++) {
        check_jump(&slab_points[k]);
    }
    close_stage();
}

// flat on the floor: four sticking corners bounce with one e only as long as nothing tilts them
static const table_scene flat_slab = {
    .bodies = "s",
    .qpos = "0.1 0.2 0.2 0.95 0 0 0.3",
    .qvel = "0 0 0 0 0 0",
};

TEST(a_jump_off_a_whole_face_has_its_gradient) {
    static const double fall[18] = {0.3, -0.2, -2.0, 0.0, 0.0, 0.2};
    static const int feature[] = {0, 2, 4, 6};
    open_stage(&flat_slab, 4, feature);
    check_jump(&(point){"face", "ncp", "tttt", fall, .friction = 0.9, .restitution = 0.4,
                        .is_upright = true});
    close_stage();
}

TABLE_PART(gradient_table_jump, jumps_of_two_balls_on_a_slope_have_their_gradients,
           jumps_of_a_box_on_four_corners_have_their_gradients,
           a_jump_off_a_whole_face_has_its_gradient)
