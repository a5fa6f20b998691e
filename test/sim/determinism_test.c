// SPDX-License-Identifier: MIT
//
// Equal calls give equal bits: on one or several threads, with gradients or without, saved and
// restored on the way, with any spacing of checkpoints, step by step or as a rollout.

#include "cr_test.h"

#include "carom/carom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_STEP = 240, MAX_X = 26 };

static const double dt = 0.01;

/// A scene that goes through several regimes within N_STEP steps.
typedef struct scene {
    const char *name;
    const char *text;
} scene;

#define HEAD(friction, restitution)                                                                \
    "<mujoco><default><geom friction='" friction "'/></default><custom>"                           \
    "<numeric name='carom:restitution:floor' data='" restitution "'/></custom><worldbody>"         \
    "<geom name='floor' type='plane' size='9 9 1'/>"

static const scene scenes[] = {
    {"box that comes to rest on four corners",
     HEAD("0.6", "0.4") "<body name='box'><freejoint/>"
                        "<geom name='box' type='box' size='0.1 0.08 0.05'/></body></worldbody>"
                        "<keyframe><key qpos='0 0 0.3 0.95 0.2 0.1 0.1' qvel='0.6 0.2 0 2 1 3'/>"
                        "</keyframe></mujoco>"},
    {"two balls and a floor",
     HEAD("0.3", "0.5") "<body name='one'><freejoint/><geom name='one' size='0.1'/></body>"
                        "<body name='two'><freejoint/><geom name='two' size='0.07'/></body>"
                        "</worldbody><keyframe><key "
                        "qpos='0 0 0.12 1 0 0 0 0.05 0.01 0.4 1 0 0 0' "
                        "qvel='0 0 0 0 1 0 0 0 -1 0 0 2'/></keyframe></mujoco>"},
    {"box that lands without restitution",
     HEAD("0.6", "0") "<body name='box'><freejoint/>"
                      "<geom name='box' type='box' size='0.1 0.08 0.05'/></body></worldbody>"
                      "<keyframe><key qpos='0 0 0.1 1 0.01 0 0' qvel='0.6 0.2 0 0 0 0'/>"
                      "</keyframe></mujoco>"},
    {"rolling ball",
     HEAD("0.3", "0.5") "<body name='ball'><freejoint/><geom name='ball' size='0.1'/></body>"
                        "</worldbody><keyframe><key qpos='0 0 0.1 1 0 0 0' "
                        "qvel='1.5 0.4 0 0 0 2'/></keyframe></mujoco>"},
};

enum { N_SCENE = sizeof scenes / sizeof scenes[0] };

// its rollouts keep their records when checkpoints are left to them
static const scene field = {
    "ring that falls on a floor",
    "<mujoco><custom><text name='carom:shape:ring' "
    "data='difference 0.01 (cylinder 0.1 0.03, cylinder 0.05 0.1); cells 8'/>"
    "<text name='carom:inertia:ring' data='shape'/></custom><worldbody>"
    "<geom name='floor' type='plane' size='9 9 1'/><body name='ring'><freejoint/>"
    "<geom name='ring' type='cylinder' size='0.1 0.03'/></body></worldbody>"
    "<keyframe><key qpos='0 0 0.2 0.95 0.2 0.1 0.1' qvel='0.6 0.2 0 2 1 3'/></keyframe></mujoco>"};

static void must(cr_status status, const cr_error *err) {
    if (status != CR_OK) {
        fail_msg("%s", err->text);
    }
}

static cr_model *parse(const scene *s) {
    cr_error err = {0};
    cr_model *model;
    must(cr_model_parse(s->text, strlen(s->text), s->name, &model, &err), &err);
    return model;
}

// "end-poisson" is the stepper end with the law ncp-poisson
static cr_sim *create(const cr_model *model, const char *stepper, bool use_gradient, int every) {
    cr_error err = {0};
    cr_sim_options options = cr_sim_options_default(model);
    bool is_poisson = strcmp(stepper, "end-poisson") == 0;
    options.stepper = is_poisson ? "end" : stepper;
    options.law = is_poisson ? "ncp-poisson" : "ncp";
    options.use_gradient = use_gradient;
    options.checkpoint_every = every;
    cr_sim *sim;
    must(cr_sim_create(model, &options, &sim, &err), &err);
    return sim;
}

static double *numbers(size_t n) {
    double *a = calloc(n + 1, sizeof *a);
    assert_non_null(a);
    return a;
}

static void check_bits(const char *what, const char *where, size_t n, const double *a,
                       const double *b) {
    if (memcmp(a, b, sizeof *a * n) != 0) {
        cr_test_fail("%s: %s", where, what);
    }
}

/// Everything that a run gives: path (N_STEP + 1, n_x) and gradients.
typedef struct run {
    double *path, *x0_adj, *u_adj, *p_adj;
    cr_sizes n;
} run;

static run run_of(const cr_model *model) {
    run r = {.n = cr_model_sizes(model)};
    r.path = numbers((N_STEP + 1) * (size_t)r.n.n_x);
    r.x0_adj = numbers((size_t)r.n.n_x);
    r.u_adj = numbers((size_t)r.n.n_u);
    r.p_adj = numbers((size_t)r.n.n_p);
    return r;
}

static void run_close(run *r) {
    free(r->path);
    free(r->x0_adj);
    free(r->u_adj);
    free(r->p_adj);
}

static void check_equal(const char *what, const char *where, const run *a, const run *b) {
    check_bits(what, where, (N_STEP + 1) * (size_t)a->n.n_x, a->path, b->path);
    check_bits(what, where, (size_t)a->n.n_x, a->x0_adj, b->x0_adj);
    check_bits(what, where, (size_t)a->n.n_u, a->u_adj, b->u_adj);
    check_bits(what, where, (size_t)a->n.n_p, a->p_adj, b->p_adj);
}

static void fill_seed(double *seed, int n) {
    for (int k = 0; k < n; k++) {
        seed[k] = ((7 * k) % 11 - 5) / 10.0;
    }
}

// a rollout from the model's state, seeds at the middle and at the end
static run roll(const cr_model *model, cr_sim *sim, bool has_gradient) {
    run r = run_of(model);
    cr_error err = {0};
    double x0[MAX_X], seed[MAX_X], *u = numbers((size_t)r.n.n_u);
    cr_rollout rollout = {.n_step = N_STEP, .dt = &dt, .n_dt = 1, .u = u, .n_u_row = 1};
    cr_model_defaults(model, -1, NULL, x0, NULL);
    fill_seed(seed, r.n.n_x);
    must(cr_sim_rollout(sim, &rollout, x0, r.path, NULL, &err), &err);
    cr_seed seeds[] = {{.step = N_STEP / 2, .x_adj = seed}, {.step = N_STEP, .x_adj = seed}};
    // a box that settles on four corners under "end" may end in a solve that is refused
    if (has_gradient && !(cr_sim_report(sim)->grad & CR_GRAD_REFUSED)) {
        must(cr_sim_rollout_vjp(sim, 2, seeds, r.x0_adj, r.u_adj, r.p_adj, &err), &err);
    }
    free(u);
    return r;
}

static void compare_rollouts(const scene *s, const char *stepper) {
    cr_model *model = parse(s);
    cr_sim *sim = create(model, stepper, true, 0);
    run first = roll(model, sim, true), again = roll(model, sim, true);
    check_equal("the same rollout twice", s->name, &first, &again);
    run_close(&again);

    static const int every[] = {1, 4, 17, N_STEP, 2 * N_STEP};
    for (int k = 0; k < 5; k++) {
        cr_sim *other = create(model, stepper, true, every[k]);
        run r = roll(model, other, true);
        char what[64];
        snprintf(what, sizeof what, "a checkpoint every %d steps", every[k]);
        check_equal(what, s->name, &first, &r);
        run_close(&r);
        cr_sim_destroy(other);
    }

    cr_sim *plain = create(model, stepper, false, 0);
    run r = roll(model, plain, false);
    check_bits("gradients off", s->name, (N_STEP + 1) * (size_t)r.n.n_x, first.path, r.path);
    run_close(&r);
    cr_sim_destroy(plain);
    run_close(&first);
    cr_sim_destroy(sim);
    cr_model_destroy(model);
}

TEST(rollouts_do_not_depend_on_checkpoints_or_gradients) {
    for (int i = 0; i < N_SCENE; i++) {
        compare_rollouts(&scenes[i], "located");
        compare_rollouts(&scenes[i], "end");
        compare_rollouts(&scenes[i], "end-poisson");
    }
    compare_rollouts(&field, "end");
}

// path of single steps from path row first on
static void step_on(cr_sim *sim, int n_x, int first, double *path) {
    cr_error err = {0};
    for (int k = first; k < N_STEP; k++) {
        must(cr_sim_step(sim, dt, path + k * n_x, NULL, path + (k + 1) * n_x, &err), &err);
    }
}

static void compare_steps(const scene *s, const char *stepper, bool use_gradient) {
    cr_model *model = parse(s);
    cr_sim *sim = create(model, stepper, use_gradient, 0);
    run whole = roll(model, sim, false), single = run_of(model), later = run_of(model);
    int n_x = whole.n.n_x;
    size_t n_path = (N_STEP + 1) * (size_t)n_x;
    cr_error err = {0};

    // from a sim without warm data, as the rollout
    must(cr_sim_set_params(
             sim, (cr_model_defaults(model, -1, single.p_adj, single.path, NULL), single.p_adj),
             &err),
         &err);
    step_on(sim, n_x, 0, single.path);
    check_bits("single steps", s->name, n_path, whole.path, single.path);

    // save now and then, go on in this sim after other work, and in a new one
    for (int k = 30; k < N_STEP; k += 70) {
        must(cr_sim_set_params(sim, single.p_adj, &err), &err);
        memcpy(later.path, single.path, sizeof(double) * (size_t)n_x);
        for (int i = 0; i < k; i++) {
            double *at = later.path + i * n_x;
            must(cr_sim_step(sim, dt, at, NULL, at + n_x, &err), &err);
        }
        size_t n_byte = cr_sim_save_bytes(sim);
        void *bytes = malloc(n_byte);
        assert_non_null(bytes);
        cr_sim_save(sim, bytes);
        step_on(sim, n_x, k, later.path);
        check_bits("steps after a save", s->name, n_path, single.path, later.path);

        must(cr_sim_restore(sim, bytes, n_byte, &err), &err);
        step_on(sim, n_x, k, later.path);
        check_bits("steps after a restore", s->name, n_path, single.path, later.path);

        cr_sim *fresh = create(model, stepper, use_gradient, 0);
        must(cr_sim_restore(fresh, bytes, n_byte, &err), &err);
        step_on(fresh, n_x, k, later.path);
        check_bits("steps of a new sim after a restore", s->name, n_path, single.path, later.path);
        cr_sim_destroy(fresh);
        free(bytes);
    }
    run_close(&whole);
    run_close(&single);
    run_close(&later);
    cr_sim_destroy(sim);
    cr_model_destroy(model);
}

TEST(single_steps_saved_and_restored_follow_the_rollout) {
    for (int i = 0; i < N_SCENE; i++) {
        compare_steps(&scenes[i], "located", true);
        compare_steps(&scenes[i], "located", false);
        compare_steps(&scenes[i], "end", true);
    }
}

// the adjoint of a rollout, by single steps that are replayed from saved bytes, last first
static void compare_single_adjoints(const scene *s) {
    cr_model *model = parse(s);
    cr_sim *sim = create(model, "located", true, 0);
    run whole = roll(model, sim, true), single = run_of(model);
    int n_x = whole.n.n_x;
    char *saved[N_STEP];
    size_t n_byte[N_STEP];
    cr_error err = {0};
    double x[MAX_X], adj[MAX_X] = {0}, seed[MAX_X];
    cr_model_defaults(model, -1, single.p_adj, NULL, NULL);
    must(cr_sim_set_params(sim, single.p_adj, &err), &err);
    memset(single.p_adj, 0, sizeof(double) * (size_t)single.n.n_p);
    memcpy(single.path, whole.path, sizeof(double) * (N_STEP + 1) * (size_t)n_x);
    for (int k = 0; k < N_STEP; k++) {
        n_byte[k] = cr_sim_save_bytes(sim);
        saved[k] = malloc(n_byte[k]);
        assert_non_null(saved[k]);
        cr_sim_save(sim, saved[k]);
        must(cr_sim_step(sim, dt, whole.path + k * n_x, NULL, x, &err), &err);
    }
    fill_seed(seed, n_x);
    memcpy(adj, seed, sizeof adj);
    for (int k = N_STEP - 1; k >= 0; k--) {
        double before[MAX_X] = {0};
        must(cr_sim_restore(sim, saved[k], n_byte[k], &err), &err);
        must(cr_sim_step(sim, dt, whole.path + k * n_x, NULL, x, &err), &err);
        must(cr_sim_step_vjp(sim, adj, before, single.u_adj, single.p_adj, &err), &err);
        for (int i = 0; i < n_x; i++) {
            adj[i] = before[i] + (k == N_STEP / 2 ? seed[i] : 0.0);
        }
        free(saved[k]);
    }
    check_bits("x0_adj of single steps", s->name, (size_t)n_x, whole.x0_adj, adj);
    check_bits("u_adj of single steps", s->name, (size_t)whole.n.n_u, whole.u_adj, single.u_adj);
    // the chain through derive is taken once a step here, once in all there
    for (int i = 0; i < whole.n.n_p; i++) {
        CHECK_CLOSE(single.p_adj[i], whole.p_adj[i], 1e-12, 1e-11);
    }
    run_close(&whole);
    run_close(&single);
    cr_sim_destroy(sim);
    cr_model_destroy(model);
}

TEST(adjoints_of_single_steps_make_the_adjoint_of_the_rollout) {
    for (int i = 0; i < N_SCENE; i++) {
        compare_single_adjoints(&scenes[i]);
    }
}

/// What a batch fills.
typedef struct batch_result {
    double *x_end, *x0_adj, *p_adj;
    cr_status status[16];
} batch_result;

static batch_result run_batch(const cr_model *model, const double *p, const double *x0,
                              bool has_gradient, int n_thread) {
    enum { N_ITEM = 16 };
    cr_sizes n = cr_model_sizes(model);
    size_t n_x = (size_t)n.n_x;
    batch_result r = {.x_end = numbers(N_ITEM * n_x),
                      .x0_adj = numbers(N_ITEM * n_x),
                      .p_adj = numbers((size_t)n.n_p)};
    double *seed = numbers(N_ITEM * n_x);
    fill_seed(seed, N_ITEM * n.n_x);
    cr_sim_options options = cr_sim_options_default(model);
    cr_batch batch = {.n_item = N_ITEM,
                      .rollout = {.n_step = N_STEP, .dt = &dt, .n_dt = 1},
                      .p = p,
                      .x0 = x0,
                      .x_end = r.x_end,
                      .x_end_adj = has_gradient ? seed : NULL,
                      .x0_adj = r.x0_adj,
                      .p_adj = r.p_adj,
                      .status = r.status};
    cr_error err = {0};
    must(cr_batch_rollout(model, &options, &batch, n_thread, &err), &err);
    free(seed);
    return r;
}

static void batch_close(batch_result *r) {
    free(r->x_end);
    free(r->x0_adj);
    free(r->p_adj);
}

static void compare_threads(const scene *s) {
    enum { N_ITEM = 16 };
    cr_model *model = parse(s);
    cr_sizes n = cr_model_sizes(model);
    size_t n_x = (size_t)n.n_x;
    double *p = numbers((size_t)n.n_p), *x0 = numbers(N_ITEM * n_x);
    for (int k = 0; k < N_ITEM; k++) {
        cr_model_defaults(model, -1, p, x0 + k * n.n_x, NULL);
        x0[k * n.n_x + n.n_q] += 0.02 * k;
    }
    batch_result one = run_batch(model, p, x0, true, 1);
    static const int n_thread[] = {1, 2, 4};
    for (int t = 0; t < 3; t++) {
        batch_result r = run_batch(model, p, x0, true, n_thread[t]);
        check_bits("x_end on threads", s->name, N_ITEM * n_x, one.x_end, r.x_end);
        check_bits("x0_adj on threads", s->name, N_ITEM * n_x, one.x0_adj, r.x0_adj);
        check_bits("p_adj on threads", s->name, (size_t)n.n_p, one.p_adj, r.p_adj);
        for (int k = 0; k < N_ITEM; k++) {
            CHECK_INT(r.status[k], CR_OK);
        }
        batch_close(&r);
        r = run_batch(model, p, x0, false, n_thread[t]);
        check_bits("x_end without gradients", s->name, N_ITEM * n_x, one.x_end, r.x_end);
        batch_close(&r);
    }

    // item by item, p_adj summed in order
    cr_sim *sim = create(model, "located", true, 0);
    run single = roll(model, sim, false);
    check_bits("a batch item alone", s->name, n_x, one.x_end, single.path + N_STEP * n_x);
    run_close(&single);
    cr_sim_destroy(sim);
    batch_close(&one);
    free(p);
    free(x0);
    cr_model_destroy(model);
}

TEST(batches_do_not_depend_on_threads) {
    for (int i = 0; i < N_SCENE; i++) {
        compare_threads(&scenes[i]);
    }
}

TEST(the_scenes_go_through_their_regimes) {
    static const int n_event[N_SCENE] = {4, 8, 2, 0};
    // flat on its largest face; balls on the floor
    static const double height[N_SCENE] = {0.05, 0.1, 0.05, 0.1};
    for (int i = 0; i < N_SCENE; i++) {
        cr_model *model = parse(&scenes[i]);
        cr_sim *sim = create(model, "located", true, 0);
        run r = roll(model, sim, false);
        const cr_step_report *report = cr_sim_report(sim);
        CHECK(report->n_event >= n_event[i]);
        CHECK(report->grad & CR_GRAD_DISCRETE);
        CHECK_INT(report->outcome, CR_SOLVED);
        CHECK_CLOSE(r.path[N_STEP * r.n.n_x + 2], height[i], 1e-7, 0.0);
        run_close(&r);
        cr_sim_destroy(sim);
        cr_model_destroy(model);
    }
}

CR_TEST_MAIN(the_scenes_go_through_their_regimes,
             rollouts_do_not_depend_on_checkpoints_or_gradients,
             single_steps_saved_and_restored_follow_the_rollout,
             adjoints_of_single_steps_make_the_adjoint_of_the_rollout,
             batches_do_not_depend_on_threads)
