// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: interaction networks, and points that move by them.
//
// Inputs of the first row are objects, external inputs and weights; those of the others a state of
// two rows and all numbers p.

#include "cr_test.h"

#include "points/learn/points_train.h"

#include <math.h>
#include <string.h>

enum { N_LIMIT = 600, B = 2 };

// ---- the net -----------------------------------------------------------------------------------

static const cri_relation ring[6] = {{0, 1, {1.2}},   {1, 0, {0.74}},   {0, 2, {-0.22}},
                                     {2, 0, {-0.79}}, {1, 2, {-0.454}}, {2, 1, {0.4837}}};

static struct {
    cri_interaction net;
    cri_interaction_cache cache;
    int n_objects, n_external; // numbers of B rows
    cr_arena *arena;
} run;

static void net_forward(const double *in, double *y, void *cache) {
    (void)cache;
    cri_arena_reset(run.arena);
    assert_true(cri_interaction_value(&run.net, in + run.n_objects + run.n_external, B, in,
                                      in + run.n_objects, y, &run.cache, run.arena));
}

static void net_vjp(const double *in, const void *cache, const double *y_adj, double *in_adj) {
    (void)cache;
    int first = run.n_objects + run.n_external;
    assert_true(cri_interaction_value_vjp(&run.net, in + first, &run.cache, y_adj, in_adj,
                                          in_adj + run.n_objects, in_adj + first, run.arena));
}

static void check_net(int n_active, int n_state) {
    double point[N_LIMIT];
    run.net = (cri_interaction){.n_object = 3,
                                .n_active = n_active,
                                .n_state = n_state,
                                .n_fixed = 3 - n_state,
                                .n_external = 2,
                                .n_out = 2,
                                .n_attribute = 1,
                                .n_relation = n_active == 3 ? 6 : 2,
                                .relation = ring};
    cri_interaction_shape(&run.net, &(cri_interaction_size){1, 6, 4, 1, 5});
    run.n_objects = B * 3 * 3;
    run.n_external = B * n_active * 2;
    run.arena = cri_arena_create(1 << 12);
    int n = run.n_objects + run.n_external + cri_interaction_n_weight(&run.net);
    assert_true(n <= N_LIMIT);
    for (int i = 0; i < n; i++) {
        point[i] = 0.7 * sin(0.4 + 1.7 * i) + 0.1;
    }
    cr_test_vjp(&(cr_vjp_case){.name = "interaction",
                               .vjp_name = "cri_interaction_value_vjp",
                               .n_in = n,
                               .n_out = B * n_active * 2,
                               .forward = net_forward,
                               .vjp = net_vjp,
                               .points = point,
                               .n_points = 1,
                               .step = 1e-4});
    cri_arena_destroy(run.arena);
}

TEST(interaction_networks_have_their_adjoint) {
    check_net(3, 0);
    check_net(3, 2);
    check_net(2, 3); // the third one is a wall
}

// ---- points ------------------------------------------------------------------------------------

static struct {
    cri_points_learner l;
    cri_points_memory m;
    const cri_points_learner_tape *tape;
    cri_points_relations_tape relations;
    double x[N_LIMIT]; // the tape borrows its input
} step;

static void relate_forward(const double *in, double *y, void *cache) {
    (void)cache;
    int n = B * step.l.scene->n_x;
    cri_arena_reset(step.m.keep);
    assert_true(
        cri_points_relate(step.l.relations, in + n, B, in, y, &step.relations, step.m.keep));
}

static void relate_vjp(const double *in, const void *cache, const double *y_adj, double *in_adj) {
    (void)cache;
    int n = B * step.l.scene->n_x;
    assert_true(cri_points_relate_vjp(step.l.relations, in + n, &step.relations, y_adj, in_adj,
                                      in_adj + n, step.m.scratch));
}

static void step_forward(const double *in, double *y, void *cache) {
    (void)cache;
    int n = B * step.l.scene->n_x;
    cri_arena_reset(step.m.keep);
    memcpy(step.x, in, sizeof *in * (size_t)n);
    step.tape = cri_points_learner_step(&step.l, in + n, B, step.x, y, &step.m);
    assert_true(step.tape && !step.tape->has_failed[0] && !step.tape->has_failed[1]);
}

static void step_vjp(const double *in, const void *cache, const double *y_adj, double *in_adj) {
    (void)cache;
    int n = B * step.l.scene->n_x;
    assert_true(cri_points_learner_pull(&step.l, in + n, step.tape, y_adj, in_adj, in_adj + n,
                                        step.m.scratch));
}

// whole steps of a scene by relations, and what the relations say alone
static void check_points(const char *scene, cri_points_hit hit) {
    double in[N_LIMIT];
    int positive[N_LIMIT] = {0};
    cr_error err = {0};
    const cri_points_learner_def def = {.name = scene,
                                        .law = "cone",
                                        .n_hidden = 1,
                                        .width = 3,
                                        .hit = hit,
                                        .relations = {1, 3, 2, 1, 3}};
    assert_int_equal(cri_points_learner_create(&def, &step.l, &err), CR_OK);
    assert_true(cri_points_memory_open(&step.m));
    const cri_points_scene *sc = step.l.scene;
    int n = B * sc->n_x, n_in = n + step.l.n_w;
    assert_true(n_in <= N_LIMIT);
    double w[N_LIMIT];
    assert_true(cri_points_learner_start(&step.l, 3, w));
    cri_points_learner_values(&step.l, w, in + n);
    for (int i = step.l.i_hit; i < step.l.n_w; i++) {
        in[n + i] = 0.5 * sin(0.3 + 1.9 * i) + 0.05;
    }
    cri_random r = cri_random_of(4, 4);
    for (int b = 0; b < B; b++) {
        assert_true(cri_points_sample(sc, &r, in + b * sc->n_x));
    }
    for (int i = sc->s.i_mass; i < sc->s.i_gravity; i++) {
        positive[n + i] = 1;
    }
    cr_vjp_case row = {.name = "points_relate",
                       .vjp_name = "cri_points_relate_vjp",
                       .n_in = n_in,
                       .n_out = n / 2,
                       .forward = relate_forward,
                       .vjp = relate_vjp,
                       .points = in,
                       .n_points = 1,
                       .step = 1e-4,
                       .positive = positive};
    cr_test_vjp(&row);
    row.name = "points_learner_step";
    row.n_out = n;
    row.forward = step_forward;
    row.vjp = step_vjp;
    cr_test_vjp(&row);
    cri_points_memory_close(&step.m);
    cri_points_learner_clear(&step.l);
}

TEST(points_that_move_by_relations_have_their_adjoints) {
    check_points("cp3", CRI_HIT_RELATIONS);
    check_points("bd1", CRI_HIT_RELATIONS);
    check_points("cp3", CRI_HIT_ALONE);
    check_points("bd1", CRI_HIT_ALONE);
}

CR_TEST_MAIN(interaction_networks_have_their_adjoint,
             points_that_move_by_relations_have_their_adjoints)
