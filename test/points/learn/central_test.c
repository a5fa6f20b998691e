// SPDX-License-Identifier: MIT
//
// The central-difference step: its closed forms, what it keeps, and reference numbers.

#include "central_fixture.h"

// ---- golden law --------------------------------------------------------------------------------

TEST(a_wall_turns_the_velocity_with_the_force_of_the_step) {
    // u' = -e u exactly, gravity included, in one dimension and in three
    static const double gravity[3] = {1.0, -2.0, -9.81};
    static const double mass = 1.7;
    for (int n_dim = 1; n_dim <= 3; n_dim++) {
        double normal[3] = {0.0, 0.0, 0.0};
        normal[n_dim - 1] = 1.0;
        cri_central_contact floor = {0, -1, false, normal, 0.0, 0.7, "a:floor"};
        cri_central *c = cri_central_create(
            &(cri_central_def){.points = {.n_body = 1, .n_dim = n_dim, .name = fixture_body},
                               .mass = &mass,
                               .n_contact = 1,
                               .touch = &floor,
                               .potential = CRI_POTENTIAL_GRAVITY,
                               .potential_value = gravity + 3 - n_dim});
        double x[6] = {0};
        double next[6];
        x[n_dim - 1] = 0.01;
        for (int k = 0; k < n_dim; k++) {
            x[n_dim + k] = 0.3 * k - 2.0;
        }
        cri_system_row row = fixture_step(c, c->p0, 0.02, x, next);
        CHECK_INT(row.n_event, 1);
        // a few roundings of numbers of size 3
        CHECK_CLOSE(next[2 * n_dim - 1], -0.7 * x[2 * n_dim - 1], 4e-16, 0.0);
        for (int k = 0; k + 1 < n_dim; k++) {
            double free = x[n_dim + k] + 0.02 * gravity[3 - n_dim + k];
            CHECK_CLOSE(next[n_dim + k], free, 4e-16, 0.0);
        }
        cri_central_destroy(c);
    }
}

TEST(a_separating_overlap_is_left_alone) {
    static const double gravity = -9.81;
    static const double mass = 1.0;
    cri_central_contact floor = {0, -1, false, fixture_along, 0.0, 1.0, "a:floor"};
    cri_central *c = cri_central_create(
        &(cri_central_def){.points = {.n_body = 1, .n_dim = 1, .name = fixture_body},
                           .mass = &mass,
                           .n_contact = 1,
                           .touch = &floor,
                           .potential = CRI_POTENTIAL_GRAVITY,
                           .potential_value = &gravity});
    double x[2] = {-0.5, 3.0};
    double next[2];
    CHECK_INT(fixture_step(c, c->p0, 0.02, x, next).n_event, 0);
    CHECK_CLOSE(next[1], 3.0 - 0.02 * 9.81, 1e-15, 0.0);
    cri_central_destroy(c);
}

// ---- conservation ------------------------------------------------------------------------------

/// Spheres of different masses in 2-D that fly at one another.
static cri_central *swarm(cri_central_contact *touch) {
    static const double mass[4] = {1.0, 2.0, 0.5, 3.0};
    int n = 0;
    for (int i = 0; i < 4; i++) {
        for (int j = i + 1; j < 4; j++) {
            touch[n++] = (cri_central_contact){i, j, true, NULL, 0.5, 1.0, "pair"};
        }
    }
    return cri_central_create(
        &(cri_central_def){.points = {.n_body = 4, .n_dim = 2, .name = fixture_body},
                           .mass = mass,
                           .n_contact = n,
                           .touch = touch});
}

TEST(collisions_keep_momentum_and_energy) {
    cri_central_contact touch[6];
    cri_central *c = swarm(touch);
    double x[16] = {-1, 0, 1, 0.1, 0, -1, 0.1, 1.2, 1, 0, -1, 0, 0.1, 1.5, 0, -1};
    double next[16];
    double momentum[2][2] = {{0}};
    int n_event = 0;
    cr_arena *arena = cri_arena_create(4096);
    double before = cri_central_energy(c, c->p0, x, arena);
    for (int k = 0; k < 8; k++) {
        momentum[0][k % 2] += c->p0[k / 2] * x[8 + k];
    }
    for (int step = 0; step < 400; step++) {
        n_event += fixture_step(c, c->p0, 0.01, x, next).n_event;
        memcpy(x, next, sizeof x);
    }
    for (int k = 0; k < 8; k++) {
        momentum[1][k % 2] += c->p0[k / 2] * x[8 + k];
    }
    CHECK(n_event >= 3);
    CHECK_CLOSE(momentum[1][0], momentum[0][0], 1e-14, 0.0);
    CHECK_CLOSE(momentum[1][1], momentum[0][1], 1e-14, 0.0);
    CHECK_CLOSE(cri_central_energy(c, c->p0, x, arena), before, 0.0, 1e-13); // rounding of impacts
    cri_arena_destroy(arena);
    cri_central_destroy(c);
}

TEST(energy_under_gravity_errs_by_order_h) {
    static const double gravity = -9.81;
    static const double mass = 1.0;
    cri_central_contact floor = {0, -1, false, fixture_along, 0.0, 1.0, "a:floor"};
    cri_central *c = cri_central_create(
        &(cri_central_def){.points = {.n_body = 1, .n_dim = 1, .name = fixture_body},
                           .mass = &mass,
                           .n_contact = 1,
                           .touch = &floor,
                           .potential = CRI_POTENTIAL_GRAVITY,
                           .potential_value = &gravity});
    cr_arena *arena = cri_arena_create(4096);
    double worst[2] = {0.0, 0.0};
    for (int pass = 0; pass < 2; pass++) {
        int n_step = pass == 0 ? 500 : 5000;
        double x[2] = {1.0, 0.0};
        double next[2];
        double before = cri_central_energy(c, c->p0, x, arena);
        for (int step = 0; step < n_step; step++) {
            fixture_step(c, c->p0, 5.0 / n_step, x, next);
            memcpy(x, next, sizeof x);
            worst[pass] = fmax(worst[pass], fabs(cri_central_energy(c, c->p0, x, arena) - before));
        }
    }
    CHECK(worst[0] > 0.1 && worst[0] < 2.0);
    CHECK(worst[1] < 0.2 * worst[0]);
    cri_arena_destroy(arena);
    cri_central_destroy(c);
}

// ---- several contacts --------------------------------------------------------------------------

/// Four balls on a line that touch, contacts in the order of the list.
static void pass_on(const int *order, double *next, int *n_event) {
    static const double mass[4] = {1.0, 1.0, 1.0, 1.0};
    static const double backwards = -1.0;
    cri_central_contact touch[3];
    for (int k = 0; k < 3; k++) {
        touch[k] = (cri_central_contact){order[k], order[k] + 1, false, &backwards, 1.0, 1.0, "p"};
    }
    cri_central *c = cri_central_create(
        &(cri_central_def){.points = {.n_body = 4, .n_dim = 1, .name = fixture_body},
                           .mass = mass,
                           .n_contact = 3,
                           .touch = touch});
    // the first ball runs into three that overlap by a hair
    double x[8] = {0.0, 1.0 - 1e-9, 2.0 - 2e-9, 3.0 - 3e-9, 2.0, 0.0, 0.0, 0.0};
    *n_event = fixture_step(c, c->p0, 0.01, x, next).n_event;
    cri_central_destroy(c);
}

TEST(a_row_of_balls_passes_the_momentum_on_in_any_order) {
    static const int orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {2, 0, 1}};
    for (int k = 0; k < 4; k++) {
        double next[8];
        int n_event;
        pass_on(orders[k], next, &n_event);
        CHECK_INT(n_event, 3);
        CHECK_CLOSE(next[4], 0.0, 1e-15, 0.0);
        CHECK_CLOSE(next[5], 0.0, 1e-15, 0.0);
        CHECK_CLOSE(next[6], 0.0, 1e-15, 0.0);
        CHECK_CLOSE(next[7], 2.0, 1e-15, 0.0);
    }
}

TEST(disjoint_pairs_do_not_mind_the_order) {
    static const double mass[4] = {1.0, 2.0, 3.0, 0.5};
    double next[2][8];
    for (int pass = 0; pass < 2; pass++) {
        cri_central_contact touch[2] = {{0, 1, true, NULL, 1.0, 0.4, "p"},
                                        {2, 3, true, NULL, 1.0, 0.9, "r"}};
        if (pass == 1) {
            cri_central_contact first = touch[0];
            touch[0] = touch[1];
            touch[1] = first;
        }
        cri_central *c = cri_central_create(
            &(cri_central_def){.points = {.n_body = 4, .n_dim = 1, .name = fixture_body},
                               .mass = mass,
                               .n_contact = 2,
                               .touch = touch});
        double x[8] = {0.0, 0.9, 3.0, 3.8, 1.0, -1.0, 2.0, 0.5};
        CHECK_INT(fixture_step(c, c->p0, 0.01, x, next[pass]).n_event, 2);
        cri_central_destroy(c);
    }
    assert_memory_equal(next[0], next[1], sizeof next[0]);
}

TEST(the_projection_ends_an_overlap_and_keeps_the_centre) {
    static const double mass[2] = {1.0, 3.0};
    cri_central_contact touch = {0, 1, true, NULL, 1.0, 1.0, "p"};
    cri_central *c = cri_central_create(
        &(cri_central_def){.points = {.n_body = 2, .n_dim = 2, .name = fixture_body},
                           .mass = mass,
                           .n_contact = 1,
                           .touch = &touch,
                           .projection = CRI_PROJECT_CLOSEST});
    double x[8] = {0.0, 0.0, 0.6, 0.7, 1.0, 0.0, 0.0, 0.0};
    double next[8];
    fixture_step(c, c->p0, 0.1, x, next);
    CHECK_CLOSE(hypot(next[0] - next[2], next[1] - next[3]), 1.0, 1e-15, 0.0);
    CHECK_CLOSE(next[0] + 3.0 * next[2], 0.1 + 3.0 * 0.6, 1e-14, 0.0);
    CHECK_CLOSE(next[1] + 3.0 * next[3], 3.0 * 0.7, 1e-14, 0.0);
    cri_central_destroy(c);
}

TEST(what_overflows_stays_finite_and_says_so) {
    static const double mass = 1.0;
    static const double value[2] = {1e300, 0.0};
    cri_central *c = cri_central_create(
        &(cri_central_def){.points = {.n_body = 1, .n_dim = 1, .name = fixture_body},
                           .mass = &mass,
                           .potential = CRI_POTENTIAL_SPRING,
                           .potential_value = value});
    double x[2] = {1e20, 0.0};
    double next[2];
    CHECK(fixture_step(c, c->p0, 0.1, x, next).is_failed);
    CHECK(next[0] == x[0] && next[1] == x[1]);
    cri_central_destroy(c);
}

// ---- reference numbers -------------------------------------------------------------------------

static void check_all(int n, const double *value, const double *expected) {
    for (int k = 0; k < n; k++) {
        CHECK_CLOSE(value[k], expected[k], 1e-14, 1e-14); // 15 digits are given
    }
}

// sum of an array times cos(0), cos(1), ...
static double folded(int n, const double *a) {
    double sum = 0.0;
    for (int k = 0; k < n; k++) {
        sum += a[k] * cos(k);
    }
    return sum;
}

TEST(the_step_has_the_reference_numbers) {
    static const double mass[3] = {1.0, 2.0, 0.5};
    static const cri_central_contact touch[2] = {{0, 1, false, fixture_along, 0.0, 1.0, "p"},
                                                 {1, 2, false, fixture_along, 0.0, 0.8, "r"}};
    cri_mlp net = {2, {3, 5, 1}, CRI_ACT_SOFTPLUS, true};
    cri_central *c = cri_central_create(
        &(cri_central_def){.points = {.n_body = 3, .n_dim = 1, .name = fixture_body},
                           .mass = mass,
                           .n_contact = 2,
                           .touch = touch,
                           .damping = 0.3,
                           .potential = CRI_POTENTIAL_NET,
                           .potential_net = net});
    fixture_weights(&net, c->p0 + c->at_potential);
    static const double x[6] = {0.1, 0.2, -0.1, -2.0, 0.5, 1.0};
    static const double ones[2] = {1.0, 1.0};
    cr_arena *arena = cri_arena_create(1 << 14);
    cri_system_batch batch = {c->p0, 0.02, 1, 0, x, NULL};
    cri_central_cache cache;
    double next[6];
    assert_true(
        cri_central_step(c, &batch, &(cri_central_gates){.gate = ones}, next, &cache, arena));
    check_all(
        6, next,
        (double[]){0.06, 0.21, -0.08, 1.33425005523024, -0.392085583679718, -2.12108479257011});
    double seed[6];
    for (int k = 0; k < 3; k++) {
        seed[k] = cos(k);
        seed[3 + k] = cos(k) + 1.0;
    }
    double x_adj[6] = {0}, gate_adj[2] = {0}, p_adj[64] = {0};
    assert_true(c->n_p < 64);
    assert_true(cri_central_step_vjp(c, &batch, &cache, seed,
                                     &(cri_central_adj){x_adj, NULL, p_adj, gate_adj}, arena));
    check_all(6, x_adj,
              (double[]){0.99879900693607, 0.539236044460794, -0.416271440922389, 0.563350916828282,
                         3.27902730016988, 0.284190036248455});
    check_all(2, p_adj + c->at_restitution, (double[]){1.81121497406023, -0.343686290643628});
    check_all(2, gate_adj, (double[]){3.6106549014847, -0.615148539337631});
    check_all(1, p_adj + c->at_damping, (double[]){0.0219082648350639});
    const double *w = p_adj + c->at_potential;
    check_all(3, (double[]){folded(15, w), folded(5, w + 15), folded(5, w + 20)},
              (double[]){-0.00195404174434182, -0.00195202977176862, -0.0316432082021823});
    cri_arena_destroy(arena);
    cri_central_destroy(c);
}

TEST(velocity_verlet_has_the_reference_numbers) {
    static const double mass[2] = {2.0, 0.5};
    cri_mlp net = {2, {2, 5, 1}, CRI_ACT_TANH, false};
    cri_baseline *b = cri_baseline_create(
        &(cri_baseline_def){.kind = CRI_BASELINE_VIN,
                            .points = {.n_body = 2, .n_dim = 1, .name = fixture_body},
                            .mass = mass,
                            .net = net});
    double p[32] = {2.0, 0.5};
    assert_true(b->n_p < 32);
    fixture_weights(&net, p + b->at_net);
    static const double x[4] = {0.3, -0.4, 1.0, 0.5};
    cr_arena *arena = cri_arena_create(1 << 14);
    cri_system_batch batch = {p, 0.02, 1, 0, x, NULL};
    cri_verlet_cache cache;
    double next[4];
    assert_true(cri_verlet_step(b, &batch, next, &cache, arena));
    check_all(
        4, next,
        (double[]){0.31999673662148, -0.390269581901238, 0.999667153435447, 0.473019406425119});
    double seed[4] = {cos(0), cos(1), cos(0) + 1.0, cos(1) + 1.0};
    double x_adj[4] = {0}, p_adj[32] = {0};
    assert_true(cri_verlet_step_vjp(b, &batch, &cache, seed, x_adj, p_adj, arena));
    check_all(4, x_adj,
              (double[]){0.998260533415096, 0.534068527045703, 2.01998452113757, 1.5510497109597});
    const double *w = p_adj + b->at_net;
    check_all(4, (double[]){folded(10, w), folded(5, w + 10), folded(5, w + 15), folded(1, w + 20)},
              (double[]){0.00102322382070932, -0.00740108721460494, -0.098059945355625, 0.0});
    cri_arena_destroy(arena);
    cri_baseline_destroy(b);
}

CR_TEST_MAIN(a_wall_turns_the_velocity_with_the_force_of_the_step,
             a_separating_overlap_is_left_alone, collisions_keep_momentum_and_energy,
             energy_under_gravity_errs_by_order_h,
             a_row_of_balls_passes_the_momentum_on_in_any_order,
             disjoint_pairs_do_not_mind_the_order,
             the_projection_ends_an_overlap_and_keeps_the_centre,
             what_overflows_stays_finite_and_says_so, the_step_has_the_reference_numbers,
             velocity_verlet_has_the_reference_numbers)
