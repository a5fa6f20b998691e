// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: steps of learned systems.
//
// Inputs are x (n_x), u (n_u), gates (n_contact, when they come from outside) and p (n_p) in a row;
// outputs are x_next (n_x). Points have two rows of a batch, so that rows mixed up are found.

#include "points/learn/central_fixture.h"

enum { N_LIMIT = 256, N_BATCH = 2 };

/// What the functions of a row cannot be handed.
static struct {
    cri_central *central;
    cri_baseline *baseline;
    bool has_gates;
    cr_arena *arena;
} at;

/// Sizes of the parts of an input.
typedef struct parts {
    int x, u, gate, p;
} parts;

static parts sizes(void) {
    if (at.central) {
        const cri_central *c = at.central;
        return (parts){2 * c->n_q * N_BATCH, c->n_q * N_BATCH,
                       at.has_gates ? c->n_contact * N_BATCH : 0, c->n_p};
    }
    return (parts){2 * at.baseline->n_q * N_BATCH, 0,
                   at.has_gates ? at.baseline->n_signal * N_BATCH : 0, at.baseline->n_p};
}

/// The batch of an input.
static cri_system_batch batch_of(const double *in) {
    parts n = sizes();
    return (cri_system_batch){.p = in + n.x + n.u + n.gate,
                              .h = 0.05,
                              .n_row = N_BATCH,
                              .x = in,
                              .u = n.u > 0 ? in + n.x : NULL};
}

// ---- central difference ------------------------------------------------------------------------

static cri_central_cache step_cache;

static void central_forward(const double *in, double *y, void *cache) {
    (void)cache;
    parts n = sizes();
    cri_system_batch batch = batch_of(in);
    cri_central_gates gates = {.gate = in + n.x + n.u};
    cri_arena_reset(at.arena);
    assert_true(cri_central_step(at.central, &batch, at.has_gates ? &gates : NULL, y, &step_cache,
                                 at.arena));
}

static void central_vjp(const double *in, const void *cache, const double *y_adj, double *in_adj) {
    (void)cache;
    parts n = sizes();
    cri_system_batch batch = batch_of(in);
    cri_central_adj adj = {in_adj, in_adj + n.x, in_adj + n.x + n.u + n.gate,
                           at.has_gates ? in_adj + n.x + n.u : NULL};
    assert_true(cri_central_step_vjp(at.central, &batch, &step_cache, y_adj, &adj, at.arena));
}

/// One system at one point: its state, forces and gates; p is as defined.
typedef struct stage {
    const char *name, *vjp_name;
    cri_central_def def;
    double x[16];   // of one row; the second is a little away
    double gate[4]; // from outside, when has_gates
    bool has_gates;
    int n_visit; // impulses that the point must have, of one row
} stage;

static void check_stage(const stage *s) {
    double in[N_LIMIT] = {0};
    double y[N_LIMIT];
    at.central = cri_central_create(&s->def);
    at.baseline = NULL;
    at.has_gates = s->has_gates;
    at.arena = cri_arena_create(1 << 16);
    cri_central *c = at.central;
    assert_true(c && at.arena);
    if (c->potential == CRI_POTENTIAL_NET) {
        fixture_weights(&c->potential_net, c->p0 + c->at_potential);
    }
    if (c->at_contact_net < c->n_p) {
        fixture_weights(&c->contact_net, c->p0 + c->at_contact_net);
    }
    parts n = sizes();
    assert_true(n.x + n.u + n.gate + n.p <= N_LIMIT);
    for (int k = 0; k < n.x; k++) {
        int n_x = n.x / N_BATCH;
        in[k] = s->x[k % n_x] + (k < n_x ? 0.0 : 0.003 * cos(k));
    }
    for (int k = 0; k < n.u; k++) {
        in[n.x + k] = sin(k);
    }
    for (int k = 0; k < n.gate; k++) {
        in[n.x + n.u + k] = s->gate[k % c->n_contact];
    }
    memcpy(in + n.x + n.u + n.gate, c->p0, (size_t)n.p * sizeof *in);
    central_forward(in, y, NULL);
    CHECK_INT(step_cache.n_visit[0], s->n_visit);
    CHECK_INT(step_cache.n_visit[1], s->n_visit);
    // steps of differences that change no branch
    cr_test_vjp(&(cr_vjp_case){.name = s->name,
                               .vjp_name = s->vjp_name,
                               .n_in = n.x + n.u + n.gate + n.p,
                               .n_out = n.x,
                               .forward = central_forward,
                               .vjp = central_vjp,
                               .points = in,
                               .n_points = 1,
                               .step = 1e-3});
    cri_arena_destroy(at.arena);
    cri_central_destroy(c);
}

static const double masses[4] = {1.0, 2.0, 0.5, 1.5};
static const double slanted[2] = {0.6, 0.8};
static const double backwards[1] = {-1.0};

TEST(forces_of_potentials_have_their_adjoints) {
    static const double values[4][3] = {{0.0}, {1.0, -9.0}, {9.81, 0.7}, {3.0, 0.2, -0.1}};
    cri_central_def def = {.points = {.n_body = 2, .n_dim = 2, .name = fixture_body},
                           .mass = masses,
                           .damping = 0.3,
                           .potential_net = {2, {4, 5, 1}, CRI_ACT_SOFTPLUS, true}};
    for (int kind = CRI_POTENTIAL_NONE; kind <= CRI_POTENTIAL_NET; kind++) {
        def.potential = (cri_potential_kind)kind;
        def.points.n_dim = kind == CRI_POTENTIAL_PENDULUM ? 1 : 2;
        def.potential_value = kind == CRI_POTENTIAL_NET ? NULL : values[kind];
        check_stage(&(stage){"central_force",
                             "central_force_vjp",
                             def,
                             {0.3, -0.5, 0.7, 0.2, 1.0, -2.0, 0.5, 0.8},
                             {0.0},
                             false,
                             0});
    }
}

TEST(the_projection_has_its_adjoint) {
    cri_central_contact touch[2] = {{0, 1, true, NULL, 1.0, 0.8, "p"},
                                    {0, -1, false, slanted, 0.2, 0.6, "w"}};
    cri_central_def def = {.points = {.n_body = 2, .n_dim = 2, .name = fixture_body},
                           .mass = masses,
                           .n_contact = 2,
                           .touch = touch,
                           .projection = CRI_PROJECT_CLOSEST,
                           .potential = CRI_POTENTIAL_SPRING,
                           .potential_value = (double[]){3.0, 0.2, -0.1}};
    stage s = {"central_project",
               "central_project_vjp",
               def,
               {0.0, 0.0, 0.5, 0.4, 1.0, -0.3, -0.5, -1.0},
               {0.0},
               false,
               4};
    check_stage(&s);
    // bodies with a fixed normal between them
    cri_central_contact line = {0, 1, false, slanted, 0.5, 0.8, "p"};
    s.def.n_contact = 1;
    s.def.touch = &line;
    s.x[4] = -2.0;
    s.n_visit = 1;
    check_stage(&s);
    // home
    static const double home[4] = {0.1, 0.2, 0.3, 0.4};
    s.def.projection = CRI_PROJECT_HOME;
    s.def.home = home;
    check_stage(&s);
}

TEST(impulses_have_their_adjoint) {
    cri_central_contact touch[3] = {{0, 1, true, NULL, 1.0, 0.8, "p"},
                                    {1, 2, true, NULL, 1.0, 0.5, "r"},
                                    {0, -1, false, slanted, 0.5, 0.9, "w"}};
    cri_central_def def = {.points = {.n_body = 3, .n_dim = 2, .name = fixture_body},
                           .mass = masses,
                           .n_contact = 3,
                           .touch = touch,
                           .potential = CRI_POTENTIAL_GRAVITY,
                           .potential_value = (double[]){0.5, -9.81}};
    stage s = {"central_impulse",
               "central_impulse_vjp",
               def,
               {0.0, 0.0, 0.7, 0.1, 1.4, -0.2, 2.0, -0.3, -0.5, 0.2, -1.0, 0.3},
               {0.7, 0.4, 0.9},
               true,
               3};
    check_stage(&s);
    // gates of 1: sweeps are repeated
    s.gate[0] = s.gate[1] = s.gate[2] = 1.0;
    s.has_gates = false;
    s.n_visit = 4;
    check_stage(&s);
}

TEST(the_step_has_its_adjoint) {
    // a row of balls whose contacts stand in the wrong order, nets for everything
    cri_central_contact touch[2] = {{1, 2, false, backwards, 1.0, 0.9, "r"},
                                    {0, 1, false, backwards, 1.0, 0.8, "p"}};
    cri_central_def def = {.points = {.n_body = 3, .n_dim = 1, .name = fixture_body},
                           .mass = masses,
                           .n_contact = 2,
                           .touch = touch,
                           .damping = 0.2,
                           .source = CRI_SIGNAL_NET,
                           .potential = CRI_POTENTIAL_NET,
                           .potential_net = {2, {3, 4, 1}, CRI_ACT_TANH, false},
                           .contact_net = {2, {6, 4, 2}, CRI_ACT_RELU, false}};
    stage s = {"central_step",
               "cri_central_step_vjp",
               def,
               {0.0, 0.99, 1.98, 2.0, 0.1, 0.05},
               {0.0},
               false,
               3};
    check_stage(&s);
    // gaps, and a second sweep
    s.def.source = CRI_SIGNAL_GAP;
    s.x[5] = 0.0;
    s.x[4] = 0.3;
    check_stage(&s);
}

// ---- baselines ---------------------------------------------------------------------------------

static cri_residual_cache residual_cache;
static cri_verlet_cache verlet_cache;

static void residual_forward(const double *in, double *y, void *cache) {
    (void)cache;
    parts n = sizes();
    cri_system_batch batch = batch_of(in);
    cri_arena_reset(at.arena);
    assert_true(cri_residual_step(at.baseline, &batch, n.gate > 0 ? in + n.x : NULL, y,
                                  &residual_cache, at.arena));
}

static void residual_vjp(const double *in, const void *cache, const double *y_adj, double *in_adj) {
    (void)cache;
    parts n = sizes();
    cri_system_batch batch = batch_of(in);
    assert_true(cri_residual_step_vjp(at.baseline, &batch, &residual_cache, y_adj, in_adj,
                                      in_adj + n.x + n.gate, at.arena));
}

static void verlet_forward(const double *in, double *y, void *cache) {
    (void)cache;
    cri_system_batch batch = batch_of(in);
    cri_arena_reset(at.arena);
    assert_true(cri_verlet_step(at.baseline, &batch, y, &verlet_cache, at.arena));
}

static void verlet_vjp(const double *in, const void *cache, const double *y_adj, double *in_adj) {
    (void)cache;
    cri_system_batch batch = batch_of(in);
    assert_true(cri_verlet_step_vjp(at.baseline, &batch, &verlet_cache, y_adj, in_adj,
                                    in_adj + sizes().x, at.arena));
}

static void check_baseline(const cri_baseline_def *def, cr_vjp_case row) {
    double in[N_LIMIT] = {0};
    at.central = NULL;
    at.has_gates = false;
    at.baseline = cri_baseline_create(def);
    at.arena = cri_arena_create(1 << 16);
    cri_baseline *b = at.baseline;
    assert_true(b && at.arena);
    parts n = sizes();
    assert_true(n.x + n.p <= N_LIMIT);
    for (int k = 0; k < n.x; k++) {
        in[k] = cos(1.3 * k);
    }
    for (int i = 0; i < b->at_net; i++) {
        in[n.x + i] = masses[i];
    }
    fixture_weights(&b->net, in + n.x + b->at_net);
    if (b->at_contact_net < b->n_p) {
        fixture_weights(&b->contact_net, in + n.x + b->at_contact_net);
    }
    row.n_in = n.x + n.p;
    row.n_out = n.x;
    row.points = in;
    row.n_points = 1;
    row.step = 1e-3;
    cr_test_vjp(&row);
    cri_arena_destroy(at.arena);
    cri_baseline_destroy(b);
}

TEST(baselines_have_their_adjoints) {
    cr_vjp_case residual = {.name = "residual_step",
                            .vjp_name = "cri_residual_step_vjp",
                            .forward = residual_forward,
                            .vjp = residual_vjp};
    cri_baseline_def def = {.kind = CRI_BASELINE_RESNET,
                            .points = {.n_body = 2, .n_dim = 1, .name = fixture_body},
                            .mass = masses,
                            .net = {2, {4, 5, 4}, CRI_ACT_SOFTPLUS, false}};
    check_baseline(&def, residual);
    def.kind = CRI_BASELINE_RESNETCONTACT;
    def.n_signal = 1;
    def.net = (cri_mlp){2, {5, 5, 4}, CRI_ACT_SOFTPLUS, false};
    def.contact_net = (cri_mlp){2, {4, 3, 1}, CRI_ACT_RELU, false};
    check_baseline(&def, residual);
    def.kind = CRI_BASELINE_VIN;
    def.net = (cri_mlp){2, {2, 5, 1}, CRI_ACT_SOFTPLUS, false};
    check_baseline(&def, (cr_vjp_case){.name = "verlet_step",
                                       .vjp_name = "cri_verlet_step_vjp",
                                       .forward = verlet_forward,
                                       .vjp = verlet_vjp});
}

CR_TEST_MAIN(forces_of_potentials_have_their_adjoints, the_projection_has_its_adjoint,
             impulses_have_their_adjoint, the_step_has_its_adjoint, baselines_have_their_adjoints)
