// SPDX-License-Identifier: MIT
//
// The jump of the open scene as a function, with both derivatives.

#include "gradient_jump.h"

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

static const char *const laws[N_LAW] = {"ncp", "ncp-poisson", "cone", "cone-reg", "lcp"};

static void move_inputs(const jump_point *p, table_move *move) {
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
static void set_coefficients(const jump_point *p, double *d) {
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

static void check_law(const jump_point *p, int law) {
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

// Checked builds take eight times as long: there two laws go through all of the code.
#ifdef CR_VALIDATE_ON
enum { LAW_STEP = 2, LAW_END = 4 };
#else
enum { LAW_STEP = 1, LAW_END = N_LAW };
#endif

void jump_check(const jump_point *p) {
    for (int law = 0; law < LAW_END; law += LAW_STEP) {
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

void jump_open_scene(const table_scene *scene, int n, const table_contact *contact) {
    cr_sim_options options = table_options("located", "ncp");
    table_open_scene(&stage, scene, &options);
    row.step = 0.0;
    begin_contacts(n, contact, n == 4);
}

void jump_open_robot(const char *mjcf, int n, const table_contact *contact, bool is_redundant) {
    cr_sim_options options = table_options("located", "ncp");
    table_open(&stage, mjcf, &options);
    row.step = 1e-3;
    begin_contacts(n, contact, is_redundant);
}

void jump_close(void) {
    cri_arena_destroy(row.keep);
    cri_arena_destroy(row.scratch);
    table_close(&stage);
}

const cri_near *jump_near(int i) {
    assert_true(i < row.n);
    return &row.near[i];
}

void jump_tie(bool is_tied) {
    row.is_tied = is_tied;
}
