// SPDX-License-Identifier: MIT
//
// Steps of points with contact: whole windows against differences, energy, rows that fail, memory,
// cost. Needs WRAP.

#include "alloc_wrap.h"
#include "base/random.h"
#include "points/system/points_fixture.h"

enum { N_WINDOW = 4, MOST_X = 128, MOST_P = 128 };

static fixture_rooms rooms;

// ---- random starts -----------------------------------------------------------------------------

static cri_random generator;

static double normal(void) {
    return cri_random_normal(&generator);
}

// ---- windows -----------------------------------------------------------------------------------

typedef struct window {
    cri_points_scene *scene;
    const cri_points_tape *tape[N_WINDOW];
    double x[N_WINDOW + 1][MOST_X];
    int n_contact[N_WINDOW];
    bool has_failed;
    bool is_one_sided; // in some jump, as a ball in a corner: what friction it has is a choice
} window;

// the sum of seed.x over the window
static double run_window(window *w, const double *x, const double *p, const double *seed) {
    int n = w->scene->n_x;
    double sum = 0.0;
    memcpy(w->x[0], x, sizeof *x * (size_t)n);
    w->has_failed = w->is_one_sided = false;
    for (int t = 0; t < N_WINDOW; t++) {
        cr_outcome outcome;
        w->tape[t] = cri_points_step(w->scene, p, 1, w->x[t], w->x[t + 1], &outcome, rooms.keep,
                                     rooms.scratch);
        assert_non_null(w->tape[t]);
        w->has_failed = w->has_failed || outcome > CR_SOLVED_LOOSELY;
        w->is_one_sided = w->is_one_sided || w->tape[t]->jump[0].is_one_sided;
        w->n_contact[t] = w->tape[t]->n_contact;
        for (int i = 0; i < n; i++) {
            sum += seed[t * n + i] * w->x[t + 1][i];
        }
    }
    return sum;
}

// derivative along (x_tan, p_tan) by the adjoint, and by the tangent
static double pull_window(const window *w, const double *p, const double *seed, const double *x_tan,
                          const double *p_tan, double *by_tangent) {
    int n = w->scene->n_x;
    double adj[MOST_X] = {0.0}, p_adj[MOST_P] = {0.0}, sum = 0.0, tan[MOST_X];
    for (int t = N_WINDOW - 1; t >= 0; t--) {
        double x_adj[MOST_X] = {0.0};
        for (int i = 0; i < n; i++) {
            adj[i] += seed[t * n + i];
        }
        assert_true(cri_points_step_vjp(w->scene, p, w->tape[t], adj, x_adj, p_adj, rooms.scratch));
        memcpy(adj, x_adj, sizeof adj);
    }
    for (int i = 0; i < n; i++) {
        sum += adj[i] * x_tan[i];
    }
    for (int i = 0; i < w->scene->n_p; i++) {
        sum += p_adj[i] * p_tan[i];
    }
    memcpy(tan, x_tan, sizeof *tan * (size_t)n);
    *by_tangent = 0.0;
    for (int t = 0; t < N_WINDOW; t++) {
        double next[MOST_X];
        assert_true(cri_points_step_jvp(w->scene, p, w->tape[t], tan, p_tan, next, rooms.scratch));
        memcpy(tan, next, sizeof tan);
        for (int i = 0; i < n; i++) {
            *by_tangent += seed[t * n + i] * tan[i];
        }
    }
    return sum;
}

// fourth-order difference along the direction; false when the contacts are not the same
static bool difference(window *w, const double *p, const double *seed, const double *x_tan,
                       const double *p_tan, double h, double *out) {
    static const double at[4] = {-2.0, -1.0, 1.0, 2.0}, weight[4] = {1.0, -8.0, 8.0, -1.0};
    int n_contact[N_WINDOW];
    bool is_same = true;
    memcpy(n_contact, w->n_contact, sizeof n_contact);
    double start[MOST_X];
    memcpy(start, w->x[0], sizeof start);
    *out = 0.0;
    for (int k = 0; k < 4; k++) {
        double x[MOST_X], q[MOST_P];
        for (int i = 0; i < w->scene->n_x; i++) {
            x[i] = start[i] + h * at[k] * x_tan[i];
        }
        for (int i = 0; i < w->scene->n_p; i++) {
            q[i] = p[i] + h * at[k] * p_tan[i];
        }
        *out += weight[k] * run_window(w, x, q, seed) / (12.0 * h);
        is_same =
            is_same && !w->has_failed && memcmp(n_contact, w->n_contact, sizeof n_contact) == 0;
    }
    return is_same;
}

// a recording runs until a step has contacts; the window starts two steps before it
static bool find_window(window *w, const double *p, const double *seed) {
    double x[MOST_X], last[2][MOST_X];
    assert_true(cri_points_sample(w->scene, &generator, x));
    for (int t = 0; t < 100; t++) {
        cri_arena_reset(rooms.keep);
        memcpy(last[t % 2], x, sizeof x);
        const cri_points_tape *tape =
            cri_points_step(w->scene, p, 1, x, x, NULL, rooms.keep, rooms.scratch);
        assert_non_null(tape);
        if (tape->n_contact > 0 && t > 0) {
            cri_arena_reset(rooms.keep);
            run_window(w, last[(t + 1) % 2], p, seed);
            return !w->has_failed;
        }
    }
    return false;
}

// windows of a system whose derivative is that of differences
static int count_windows(const char *name, const char *law, bool is_hamilton) {
    window w = {.scene = fixture_scene(name, 8)};
    cri_points_scene *sc = w.scene;
    int n_tested = 0;
    double seed[N_WINDOW * MOST_X], x_tan[MOST_X], p_tan[MOST_P] = {0.0}, ana, num, other;
    assert_true(sc->n_x <= MOST_X && sc->n_p <= MOST_P);
    assert_true(cri_points_scene_set_law(sc, law));
    sc->law.through_target = true;
    sc->form = is_hamilton ? CRI_HAMILTON : CRI_LAGRANGE;
    generator = cri_random_of(7, 0);
    for (int k = 0; k < sc->n_coefficient; k++) {
        sc->p[sc->law.i_mu + k] = fmax(0.15, sc->p[sc->law.i_mu + k]);
        sc->p[sc->law.i_e + k] = fmin(0.9, fmax(0.3, sc->p[sc->law.i_e + k]));
    }
    for (int k = 0; k < 20; k++) {
        for (int i = 0; i < N_WINDOW * sc->n_x; i++) {
            seed[i] = normal();
        }
        // state and parameters at once, velocities and masses and all
        for (int i = 0; i < sc->n_x; i++) {
            x_tan[i] = 0.1 * normal();
        }
        for (int i = 0; i < sc->n_p; i++) {
            p_tan[i] = 0.1 * normal() * fabs(sc->p[i]);
        }
        if (!find_window(&w, sc->p, seed)) {
            continue;
        }
        ana = pull_window(&w, sc->p, seed, x_tan, p_tan, &other);
        CHECK_CLOSE(ana, other, 1e-11, 1e-9); // sums in another order
        if (!w.is_one_sided && difference(&w, sc->p, seed, x_tan, p_tan, 3e-5, &num)) {
            n_tested++;
            CHECK_CLOSE(ana, num, 1e-6, 1e-6);
        }
    }
    cri_points_scene_destroy(sc);
    return n_tested;
}

TEST(windows_with_jumps_have_the_gradients_of_differences) {
    static const char *const laws[] = {"cone", "cone-reg", "lcp"};
    static const char *const systems[] = {"cp3", "bp5", "bd5", "rope", "gyro"};
    rooms = fixture_open();
    for (int k = 0; k < 15; k++) {
        int n = count_windows(systems[k % 5], laws[k / 5], k % 2 == 1);
        // some windows have another set of contacts within the stencil, some never touch
        CHECK(n >= 6);
    }
    fixture_close(&rooms);
}

// ---- energy ------------------------------------------------------------------------------------

// largest relative change of energy over 100 steps of 20 recordings
static double energy_drift(const char *name) {
    cri_points_scene *sc = fixture_scene(name, 0);
    double worst = 0.0;
    generator = cri_random_of(3, 0);
    for (int k = 0; k < 20; k++) {
        double x[MOST_X], T, V, first;
        assert_true(cri_points_sample(sc, &generator, x));
        cri_points_energy(sc, sc->p, 1, x, &T, &V, rooms.scratch);
        first = T + V;
        for (int t = 0; t < 100; t++) {
            cri_arena_reset(rooms.keep);
            assert_non_null(cri_points_step(sc, sc->p, 1, x, x, NULL, rooms.keep, rooms.scratch));
            cri_points_energy(sc, sc->p, 1, x, &T, &V, rooms.scratch);
            worst = fmax(worst, fabs(T + V - first) / (fabs(first) + T));
        }
    }
    cri_points_scene_destroy(sc);
    return worst;
}

TEST(elastic_systems_keep_their_energy) {
    rooms = fixture_open();
    CHECK(energy_drift("cp3-e") < 5e-3); // that of fast chains at dt = 0.01
    CHECK(energy_drift("gyro-e") < 1e-3);
    fixture_close(&rooms);
}

// straight lines between impacts: one contact keeps the energy, several at once never add to it
TEST(elastic_balls_keep_their_energy) {
    int n_single = 0, n_several = 0;
    cri_points_scene *sc = fixture_scene("bp5-e", 0);
    rooms = fixture_open();
    generator = cri_random_of(3, 0);
    for (int k = 0; k < 20; k++) {
        double x[MOST_X], before, after;
        assert_true(cri_points_sample(sc, &generator, x));
        for (int t = 0; t < 100; t++) {
            cri_points_energy(sc, sc->p, 1, x, &before, NULL, rooms.scratch);
            cri_arena_reset(rooms.keep);
            const cri_points_tape *tape =
                cri_points_step(sc, sc->p, 1, x, x, NULL, rooms.keep, rooms.scratch);
            assert_non_null(tape);
            cri_points_energy(sc, sc->p, 1, x, &after, NULL, rooms.scratch);
            bool is_single = tape->jump[0].n == tape->jump[0].n_island;
            CHECK(after <= before * (1.0 + 1e-13));
            CHECK(!is_single || after >= before * (1.0 - 1e-13));
            n_single += is_single && tape->n_contact > 0;
            n_several += !is_single;
        }
    }
    CHECK(n_single > 100 && n_several > 3);
    cri_points_scene_destroy(sc);
    fixture_close(&rooms);
}

// ---- batches and failures ----------------------------------------------------------------------

TEST(rows_of_a_batch_do_not_see_each_other) {
    static const char *const systems[] = {"cp3", "bp5", "gyro"};
    rooms = fixture_open();
    for (int k = 0; k < 3; k++) {
        cri_points_scene *sc = fixture_scene(systems[k], 0);
        double x[5 * MOST_X], together[5 * MOST_X], alone[MOST_X];
        int n = sc->n_x;
        cr_outcome outcome[5];
        generator = cri_random_of(11, 0);
        for (int b = 0; b < 5; b++) {
            assert_true(cri_points_sample(sc, &generator, x + b * n));
        }
        // a row with no numbers, and one that is all in one point
        for (int i = 0; i < n; i++) {
            x[n + i] = NAN;
            x[3 * n + i] = k == 1 ? 1e200 : 0.0;
        }
        assert_non_null(
            cri_points_step(sc, sc->p, 5, x, together, outcome, rooms.keep, rooms.scratch));
        CHECK(outcome[1] == CR_ITERATION_LIMIT);
        CHECK(outcome[3] == CR_ITERATION_LIMIT);
        for (int b = 0; b < 5; b++) {
            assert_non_null(
                cri_points_step(sc, sc->p, 1, x + b * n, alone, NULL, rooms.keep, rooms.scratch));
            CHECK(memcmp(alone, together + b * n, sizeof *alone * (size_t)n) == 0);
            for (int i = 0; i < n; i++) {
                CHECK(isfinite(together[b * n + i]));
            }
            CHECK(b == 1 || b == 3 || outcome[b] <= CR_SOLVED_LOOSELY);
        }
        CHECK(memcmp(together + 3 * n, x + 3 * n, sizeof *x * (size_t)n) == 0);
        cri_points_scene_destroy(sc);
    }
    fixture_close(&rooms);
}

TEST(failed_rows_have_no_part_in_gradients) {
    rooms = fixture_open();
    cri_points_scene *sc = fixture_scene("cp3", 0);
    double x[24] = {0.0}, next[24], adj[24], x_adj[24] = {0.0}, p_adj[MOST_P] = {0.0};
    double tan[24], p_tan[MOST_P] = {0.0}, next_tan[24], alone[MOST_P] = {0.0}, one_adj[12] = {0.0};
    fixture_chain((double[]){0.3, -0.2, 0.5}, (double[]){-2.0, -1.0, -1.0}, x);
    fixture_seed(24, adj);
    fixture_seed(24, tan);
    x[12] = NAN;
    const cri_points_tape *tape =
        cri_points_step(sc, sc->p, 2, x, next, NULL, rooms.keep, rooms.scratch);
    assert_non_null(tape);
    assert_true(cri_points_step_vjp(sc, sc->p, tape, adj, x_adj, p_adj, rooms.scratch));
    assert_true(cri_points_step_jvp(sc, sc->p, tape, tan, p_tan, next_tan, rooms.scratch));
    tape = cri_points_step(sc, sc->p, 1, x, next, NULL, rooms.keep, rooms.scratch);
    assert_non_null(tape);
    assert_true(cri_points_step_vjp(sc, sc->p, tape, adj, one_adj, alone, rooms.scratch));
    CHECK(memcmp(p_adj, alone, sizeof alone) == 0);
    CHECK(memcmp(x_adj, one_adj, sizeof one_adj) == 0);
    for (int i = 12; i < 24; i++) {
        CHECK(x_adj[i] == 0.0);
        CHECK(next_tan[i] == 0.0);
    }
    cri_points_scene_destroy(sc);
    fixture_close(&rooms);
}

// solves like cone, and says that it has not
static const void *solve_badly(const cri_contact_problem *problem, double *f, bool has_cache,
                               cri_law_report *report, cr_arena *keep, cr_arena *scratch) {
    const void *cache = cri_law_find("cone")->solve(problem, f, has_cache, report, keep, scratch);
    report->outcome = CR_ITERATION_LIMIT;
    return cache;
}

TEST(an_unsolved_contact_is_reported_by_its_row) {
    rooms = fixture_open();
    cri_points_scene *sc = fixture_scene("cp3", 0);
    cri_law bad = *sc->law.law;
    bad.solve = solve_badly;
    sc->law.law = &bad;
    double x[24], next[24], adj[24], x_adj[24] = {0.0}, p_adj[MOST_P] = {0.0};
    cr_outcome outcome[2];
    // the first is in the ground, the second above it
    fixture_chain((double[]){0.1, 0.0, 0.1}, (double[]){-1.0, -1.0, -1.0}, x);
    fixture_chain((double[]){1.3, 1.2, 1.5}, (double[]){-1.0, -1.0, -1.0}, x + 12);
    assert_non_null(cri_points_step(sc, sc->p, 2, x, next, outcome, rooms.keep, rooms.scratch));
    CHECK_INT(outcome[0], CR_ITERATION_LIMIT);
    CHECK_INT(outcome[1], CR_SOLVED);
    CHECK(memcmp(next, x, 12 * sizeof *x) == 0);
    CHECK(memcmp(next + 12, x + 12, 12 * sizeof *x) != 0);
    const cri_points_tape *tape =
        cri_points_step(sc, sc->p, 2, x, next, outcome, rooms.keep, rooms.scratch);
    assert_non_null(tape);
    fixture_seed(24, adj);
    assert_true(cri_points_step_vjp(sc, sc->p, tape, adj, x_adj, p_adj, rooms.scratch));
    for (int i = 0; i < 12; i++) {
        CHECK(x_adj[i] == 0.0);
        CHECK(x_adj[12 + i] != 0.0);
    }
    CHECK(p_adj[sc->law.i_mu] == 0.0 && p_adj[sc->law.i_e] == 0.0);
    cri_points_scene_destroy(sc);
    fixture_close(&rooms);
}

// ---- names -------------------------------------------------------------------------------------

TEST(systems_and_parameters_have_names) {
    static const char *const want[] = {"ball1/mass", "gravity[1]", "ball1:ball2/friction",
                                       "ball5:top/restitution", "epsilon"};
    int at[5];
    cri_points_scene *sc = fixture_scene("bp5", 0);
    at[0] = 0;
    at[1] = sc->s.i_gravity + 1;
    at[2] = sc->law.i_mu;
    at[3] = sc->law.i_epsilon - 1;
    at[4] = sc->law.i_epsilon;
    for (int k = 0; k < 5; k++) {
        char text[64];
        cri_points_param_name(sc, at[k], text, sizeof text);
        CHECK_TEXT(text, want[k]);
    }
    CHECK_INT(sc->n_p, 5 + 2 + 30 + 30 + 1);
    cri_points_scene_destroy(sc);
    for (int k = 0; cri_points_scene_name(k); k++) {
        sc = fixture_scene(cri_points_scene_name(k), 10);
        CHECK(!cri_points_overlap(sc, sc->x0) || strcmp(sc->name, "billiards") == 0);
        cri_points_scene_destroy(sc);
    }
    cr_error err;
    CHECK_INT(cri_points_scene_create("bp6", 0, &sc, &err), CR_ERR_ARGUMENT);
    CHECK(sc == NULL && strstr(err.text, "'bp6'") != NULL);
    CHECK_INT(cri_points_scene_create("rope", -1, &sc, &err), CR_ERR_ARGUMENT);
}

TEST(parameters_outside_their_domains_are_named) {
    static const struct {
        int i;
        double value;
        const char *text;
    } bad[] = {
        {0, 0.0, "ball1/mass of system 'bp5' is 0; it must be positive"},
        {5, NAN, "gravity[0] of system 'bp5' is nan; it must be a finite number"},
        {7, -0.1, "ball1:ball2/friction of system 'bp5' is -0.1; it must be at least 0"},
        {37, 1.5, "ball1:ball2/restitution of system 'bp5' is 1.5; it must be between 0 and 1"}};
    cri_points_scene *sc = fixture_scene("bp5", 0);
    cr_error err;
    CHECK_INT(cri_points_check(sc, sc->p, &err), CR_OK);
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        double kept = sc->p[bad[k].i];
        sc->p[bad[k].i] = bad[k].value;
        CHECK_INT(cri_points_check(sc, sc->p, &err), CR_ERR_ARGUMENT);
        CHECK_TEXT(err.text, bad[k].text);
        sc->p[bad[k].i] = kept;
    }
    cri_points_scene_destroy(sc);
}

// every system can be started, on its ties
TEST(initial_states_are_free_of_overlap_and_on_their_ties) {
    rooms = fixture_open();
    for (int k = 0; cri_points_scene_name(k); k++) {
        cri_points_scene *sc = fixture_scene(cri_points_scene_name(k), 20);
        double x[MOST_X], phi[32], rate[32];
        generator = cri_random_of(1, (uint64_t)k);
        for (int n = 0; n < 5; n++) {
            assert_true(cri_points_sample(sc, &generator, x));
            CHECK(!cri_points_overlap(sc, x) || sc->kind == CRI_POINTS_BILLIARDS);
            cri_points_errors(&sc->s, x, x + sc->s.n_dof, phi, rate, rooms.scratch);
            for (int e = 0; e < sc->s.n_tie; e++) {
                CHECK_CLOSE(phi[e], 0.0, 1e-14, 0.0);
                CHECK_CLOSE(rate[e], 0.0, 1e-13, 0.0);
            }
        }
        cri_points_scene_destroy(sc);
    }
    fixture_close(&rooms);
}

// contacts of a rope, ties of a top
TEST(systems_have_the_sizes_of_the_paper) {
    static const struct {
        const char *name;
        int n, D, E, C;
    } want[] = {{"bp5", 0, 10, 0, 30},      {"bd5", 0, 30, 15, 30}, {"cp3", 0, 6, 3, 1},
                {"rope", 200, 400, 0, 399}, {"gyro", 0, 12, 9, 1},  {"billiards", 0, 22, 0, 55}};
    for (size_t k = 0; k < sizeof want / sizeof want[0]; k++) {
        cri_points_scene *sc = fixture_scene(want[k].name, want[k].n);
        CHECK_INT(sc->s.n_dof, want[k].D);
        CHECK_INT(sc->s.n_tie, want[k].E);
        CHECK_INT(sc->n_touch, want[k].C);
        cri_points_scene_destroy(sc);
    }
}

// ---- memory and cost ---------------------------------------------------------------------------

// a step and its derivatives; false when something had no memory
static bool step_once(const cri_points_scene *sc, const double *x, cr_arena *keep,
                      cr_arena *scratch) {
    double next[MOST_X], adj[MOST_X], x_adj[MOST_X] = {0.0}, p_adj[MOST_P] = {0.0};
    fixture_seed(MOST_X, adj);
    const cri_points_tape *tape = cri_points_step(sc, sc->p, 1, x, next, NULL, keep, scratch);
    return tape && cri_points_step_vjp(sc, sc->p, tape, adj, x_adj, p_adj, scratch) &&
           cri_points_step_jvp(sc, sc->p, tape, adj, sc->p, next, scratch);
}

TEST(steps_call_no_heap_once_their_arenas_have_grown) {
    static const char *const systems[] = {"cp3", "bp5", "bd5", "gyro", "rope"};
    for (int k = 0; k < 5; k++) {
        window w = {.scene = fixture_scene(systems[k], 8)};
        double seed[N_WINDOW * MOST_X] = {0.0};
        rooms = fixture_open();
        generator = cri_random_of(5, 0);
        while (!find_window(&w, w.scene->p, seed)) {
        }
        for (int t = 0; t < 2; t++) {
            long before = cr_alloc_count();
            for (int i = 0; i < N_WINDOW; i++) {
                cri_arena_reset(rooms.keep);
                cri_arena_reset(rooms.scratch);
                CHECK(step_once(w.scene, w.x[i], rooms.keep, rooms.scratch));
            }
            CHECK(t == 0 || cr_alloc_count() == before);
        }
        cri_points_scene_destroy(w.scene);
        fixture_close(&rooms);
    }
}

TEST(a_step_without_memory_says_so) {
    window w = {.scene = fixture_scene("cp3", 0)};
    double seed[N_WINDOW * MOST_X] = {0.0};
    rooms = fixture_open();
    generator = cri_random_of(5, 0);
    while (!find_window(&w, w.scene->p, seed)) {
    }
    fixture_close(&rooms);
    bool is_done = false;
    long live = cr_alloc_live();
    for (long k = 1; !is_done && k < 1000; k++) {
        cr_arena *keep = cri_arena_create(64), *scratch = cri_arena_create(64);
        cr_alloc_fail_at(k);
        for (int t = 0; t < N_WINDOW; t++) {
            bool is_well = step_once(w.scene, w.x[t], keep, scratch);
            CHECK(is_well || cr_alloc_has_failed());
        }
        is_done = !cr_alloc_has_failed();
        cr_alloc_fail_at(0);
        cri_arena_destroy(keep);
        cri_arena_destroy(scratch);
    }
    CHECK(is_done);
    CHECK(cr_alloc_live() == live);
    for (long k = 1, n = 1; n > 0 && k < 100; k++) {
        cri_points_scene *sc;
        cr_alloc_fail_at(k);
        cr_status status = cri_points_scene_create("bd5", 0, &sc, NULL);
        n = cr_alloc_has_failed();
        cr_alloc_fail_at(0);
        CHECK(n ? status == CR_ERR_MEMORY && sc == NULL : status == CR_OK);
        cri_points_scene_destroy(sc);
    }
    cri_points_scene_destroy(w.scene);
}

// a chain of links has as many numbers in its factor as it has links, and no more terms than five
// for each: cost grows like its length
TEST(factors_of_long_chains_are_banded) {
    rooms = fixture_open();
    for (int n = 50; n <= 200; n *= 2) {
        bool *is_body = CR_PUSH(rooms.keep, bool, n);
        cri_tie *tie = CR_PUSH(rooms.keep, cri_tie, n);
        for (int k = 0; k < n; k++) {
            tie[k] = (cri_tie){.kind = k == 0 ? CRI_TIE_ANCHOR : CRI_TIE_DISTANCE,
                               .n_point = k == 0 ? 1 : 2,
                               .point = {k == 0 ? 0 : k - 1, k},
                               .length = 0.05};
        }
        cri_points s;
        const cri_points_def def = {
            .d = 2, .n_block = n, .is_body = is_body, .n_tie = n, .tie = tie};
        assert_true(cri_points_build(&def, &s, rooms.keep));
        CHECK_INT(s.n_tie, n);
        CHECK_INT(s.fill.below_first[n], n - 1);
        CHECK(s.n_term <= 5 * n);
    }
    fixture_close(&rooms);
}

CR_TEST_MAIN(windows_with_jumps_have_the_gradients_of_differences,
             elastic_systems_keep_their_energy, elastic_balls_keep_their_energy,
             rows_of_a_batch_do_not_see_each_other, failed_rows_have_no_part_in_gradients,
             an_unsolved_contact_is_reported_by_its_row, systems_and_parameters_have_names,
             parameters_outside_their_domains_are_named,
             initial_states_are_free_of_overlap_and_on_their_ties,
             systems_have_the_sizes_of_the_paper, steps_call_no_heap_once_their_arenas_have_grown,
             a_step_without_memory_says_so, factors_of_long_chains_are_banded)
