// SPDX-License-Identifier: MIT
//
// Wrong arguments of the public interface: each has its status and a text that names the thing, and
// leaves every output as it was. And names: pairs in either order, pairs that stand for a geom's
// slot, unknown ones.

#include "cr_test.h"

#include "carom/carom.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_X = 26, N_U = 12, N_TANGENT = 24, MAX_P = 40 };

// a pair with coefficients of its own, one that draws on its ball, one that shares its slot
static const char scene[] =
    "<mujoco><custom><numeric name='carom:restitution:floor:one' data='0.5'/>"
    "<numeric name='carom:restitution:two' data='0.25'/></custom><worldbody>"
    "<geom name='floor' type='plane' size='9 9 1' friction='0.1'/>"
    "<body name='one' pos='0 0 0.5'><freejoint/><geom name='one' size='0.1' friction='0.2'/></body>"
    "<body name='two' pos='0 0 2'><freejoint/><geom name='two' size='0.1' friction='0.3'/></body>"
    "</worldbody><keyframe><key name='start'/><key name='throw' qvel='1 0 0 0 0 0 0 0 0 0 0 0'/>"
    "</keyframe></mujoco>";

static const double dt = 0.01, no_number = NAN;

/// A sim with arrays that must stay as they are.
typedef struct fixture {
    cr_model *model;
    cr_sim *sim;
    double p[MAX_P], x[N_X];
    double out[4 * N_X + MAX_P], before[4 * N_X + MAX_P];
    cr_error err;
} fixture;

static fixture open_fixture(bool use_gradient) {
    fixture f = {0};
    assert_int_equal(cr_model_parse(scene, strlen(scene), "scene", &f.model, &f.err), CR_OK);
    cr_sim_options options = cr_sim_options_default(f.model);
    options.use_gradient = use_gradient;
    assert_int_equal(cr_sim_create(f.model, &options, &f.sim, &f.err), CR_OK);
    cr_model_defaults(f.model, -1, f.p, f.x, NULL);
    for (size_t i = 0; i < sizeof f.out / sizeof f.out[0]; i++) {
        f.out[i] = f.before[i] = 1.0 + (double)i;
    }
    return f;
}

static void close_fixture(fixture *f) {
    cr_sim_destroy(f->sim);
    cr_model_destroy(f->model);
}

// an error with this status, whose text has this piece; nothing was written
static bool refuses(fixture *f, cr_status status, cr_status expected, const char *piece, int line) {
    bool is_good = status == expected && f->err.status == expected &&
                   strstr(f->err.text, piece) != NULL && strchr(f->err.text, '\n') == NULL;
    if (!is_good) {
        cr_test_fail("line %d: status %s, text \"%s\", expected %s, \"%s\"", line,
                     cr_status_text(status), f->err.text, cr_status_text(expected), piece);
    }
    if (memcmp(f->out, f->before, sizeof f->out) != 0) {
        cr_test_fail("line %d: outputs are touched", line);
        memcpy(f->out, f->before, sizeof f->out);
    }
    f->err = (cr_error){0};
    return is_good;
}

#define REFUSES(call, piece) refuses(&f, (call), CR_ERR_ARGUMENT, (piece), __LINE__)

static double *state_of(fixture *f, double *x, const char *name, double value) {
    memcpy(x, f->x, sizeof f->x);
    int i = cr_model_find(f->model, CR_VECTOR_X, name, NULL);
    assert_true(i >= 0);
    x[i] = value;
    return x;
}

static double *params_of(fixture *f, double *p, const char *name, double value) {
    memcpy(p, f->p, sizeof f->p);
    int i = cr_model_find(f->model, CR_VECTOR_P, name, NULL);
    assert_true(i >= 0);
    p[i] = value;
    return p;
}

TEST(options_are_refused_by_name) {
    fixture f = open_fixture(true);
    cr_sim_options good = cr_sim_options_default(f.model), o;
    cr_sim *sim;
#define CREATE (sim = f.sim, cr_sim_create(f.model, &o, &sim, &f.err))
    o = good, o.stepper = "backwards";
    REFUSES(CREATE, "backwards");
    CHECK(sim == NULL);
    o = good, o.law = "soft", o.stepper = "end";
    REFUSES(CREATE, "leave the stepper out, or take soft");
    o = good, o.stepper = "soft";
    REFUSES(CREATE, "take located or end");
    o = good, o.law = "hard";
    REFUSES(CREATE, "hard");
    o = good, o.law = NULL;
    REFUSES(CREATE, "law");
    o = good, o.eps_gap = 0.0;
    REFUSES(CREATE, "eps_gap");
    o = good, o.eps_speed = -1.0;
    REFUSES(CREATE, "eps_speed");
    o = good, o.eps_time = no_number;
    REFUSES(CREATE, "eps_time");
    o = good, o.event_cap = 0;
    REFUSES(CREATE, "event_cap");
    o = good, o.checkpoint_every = -1;
    REFUSES(CREATE, "checkpoint_every");
    o = good, o.law = "cone", o.smoothing = -1e-6;
    REFUSES(CREATE, "smoothing is -1e-06");
    o = good, o.law = "cone", o.smoothing = INFINITY;
    REFUSES(CREATE, "smoothing");
    o = good, o.smoothing = 1e-6;
    REFUSES(CREATE, "law ncp has no smoothed gradient");
    REFUSES(CREATE, "cone, cone-reg");
    CHECK(sim == NULL);
#undef CREATE
    close_fixture(&f);
}

TEST(parameters_are_refused_by_name_and_the_old_ones_stay) {
    fixture f = open_fixture(true);
    double p[MAX_P];
    static const struct {
        const char *name;
        double value;
    } wrong[] = {
        {"one/mass", -1.0},        {"one/mass", 0.0},        {"two/inertia[1]", -1e-9},
        {"one/size[0]", 0.0},      {"floor/friction", -0.1}, {"floor:one/restitution", 1.5},
        {"two/restitution", -0.1}, {"gravity[2]", NAN},      {"floor/offset", INFINITY},
    };
    size_t n_byte = cr_sim_save_bytes(f.sim);
    char *bytes = malloc(2 * n_byte);
    assert_non_null(bytes);
    cr_sim_save(f.sim, bytes);
    for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
        params_of(&f, p, wrong[k].name, wrong[k].value);
        REFUSES(cr_sim_set_params(f.sim, p, &f.err), wrong[k].name);
        CHECK_INT(cr_sim_set_params(f.sim, p, NULL), CR_ERR_ARGUMENT);
        cr_sim_save(f.sim, bytes + n_byte);
        CHECK(memcmp(bytes, bytes + n_byte, n_byte) == 0);
    }
    free(bytes);
    close_fixture(&f);
}

TEST(steps_refuse_what_is_no_state) {
    fixture f = open_fixture(true);
    double x[N_X], u[N_U] = {0};
    static const double lengths[] = {0.0, -0.01, NAN, INFINITY};
    for (int k = 0; k < 4; k++) {
        REFUSES(cr_sim_step(f.sim, lengths[k], f.x, NULL, f.out, &f.err), "step length");
    }
    REFUSES(cr_sim_step(f.sim, dt, state_of(&f, x, "one/qpos[2]", no_number), NULL, f.out, &f.err),
            "one/qpos[2]");
    REFUSES(cr_sim_step(f.sim, dt, state_of(&f, x, "two/qvel[5]", INFINITY), NULL, f.out, &f.err),
            "two/qvel[5]");
    REFUSES(cr_sim_step(f.sim, dt, state_of(&f, x, "two/qpos[3]", 0.0), NULL, f.out, &f.err),
            "two");
    u[cr_model_find(f.model, CR_VECTOR_U, "two/torque[1]", NULL)] = no_number;
    REFUSES(cr_sim_step(f.sim, dt, f.x, u, f.out, &f.err), "two/torque[1]");
    close_fixture(&f);
}

TEST(a_refused_step_leaves_the_last_one_in_place) {
    fixture f = open_fixture(true);
    double x[N_X], seed[N_X] = {1.0};
    assert_int_equal(cr_sim_step(f.sim, dt, f.x, NULL, x, &f.err), CR_OK);
    REFUSES(cr_sim_step(f.sim, -dt, f.x, NULL, f.out, &f.err), "step length");
    CHECK_INT(cr_sim_step_vjp(f.sim, seed, x, NULL, NULL, &f.err), CR_OK);
    close_fixture(&f);
}

TEST(there_is_no_gradient_without_a_step) {
    fixture f = open_fixture(true);
    double seed[N_X] = {1.0}, *x_adj = f.out, *u_adj = f.out + N_X, *p_adj = f.out + 2 * N_X;
    cr_seed end = {.step = 1, .x_adj = seed};
    cr_rollout rollout = {.n_step = 1, .dt = &dt, .n_dt = 1};
    double x[N_X];
#define VJP cr_sim_step_vjp(f.sim, seed, x_adj, u_adj, p_adj, &f.err)
#define JAC cr_sim_step_jac(f.sim, 1, NULL, NULL, NULL, f.out, &f.err)
#define PULL cr_sim_rollout_vjp(f.sim, 1, &end, x_adj, u_adj, p_adj, &f.err)
    REFUSES(VJP, "no last step");
    REFUSES(JAC, "no last step");
    REFUSES(PULL, "no last rollout");

    // a rollout is no step, a step is no rollout
    assert_int_equal(cr_sim_rollout(f.sim, &rollout, f.x, NULL, x, &f.err), CR_OK);
    REFUSES(VJP, "no last step");
    REFUSES(JAC, "no last step");
    assert_int_equal(cr_sim_step(f.sim, dt, f.x, NULL, x, &f.err), CR_OK);
    REFUSES(PULL, "no last rollout");

    // other parameters, other derivatives
    assert_int_equal(cr_sim_set_params(f.sim, f.p, &f.err), CR_OK);
    REFUSES(VJP, "no last step");
    assert_int_equal(cr_sim_rollout(f.sim, &rollout, f.x, NULL, x, &f.err), CR_OK);
    assert_int_equal(cr_sim_set_params(f.sim, f.p, &f.err), CR_OK);
    REFUSES(PULL, "no last rollout");
    close_fixture(&f);

    f = open_fixture(false);
    assert_int_equal(cr_sim_step(f.sim, dt, f.x, NULL, x, &f.err), CR_OK);
    x_adj = f.out, u_adj = f.out + N_X, p_adj = f.out + 2 * N_X;
    REFUSES(VJP, "use_gradient");
    REFUSES(JAC, "use_gradient");
    assert_int_equal(cr_sim_rollout(f.sim, &rollout, f.x, NULL, x, &f.err), CR_OK);
    REFUSES(PULL, "use_gradient");
#undef VJP
#undef JAC
#undef PULL
    close_fixture(&f);
}

TEST(rollouts_refuse_what_does_not_fit) {
    fixture f = open_fixture(true);
    double x[N_X], u[2 * N_U] = {0}, lengths[] = {0.01, 0.01, -0.02};
    double *path = f.out, *end = f.out + 3 * N_X;
    cr_rollout good = {.n_step = 2, .dt = &dt, .n_dt = 1}, r;
#define ROLL(start) cr_sim_rollout(f.sim, &r, (start), path, end, &f.err)
    r = good, r.n_step = -1;
    REFUSES(ROLL(f.x), "-1 steps");
    r = good, r.n_dt = 3;
    REFUSES(ROLL(f.x), "3 step lengths");
    r = good, r.u = u, r.n_u_row = 3;
    REFUSES(ROLL(f.x), "3 control rows");
    r = good, r.n_step = 3, r.dt = lengths, r.n_dt = 3;
    REFUSES(ROLL(f.x), "-0.02");
    u[N_U + 2] = no_number;
    r = good, r.u = u, r.n_u_row = 2;
    REFUSES(ROLL(f.x), "one/force[2]");
    r = good;
    REFUSES(ROLL(state_of(&f, x, "two/qpos[0]", no_number)), "two/qpos[0]");
#undef ROLL
    close_fixture(&f);
}

TEST(a_motion_beyond_all_numbers_is_refused) {
    fixture f = open_fixture(true);
    double x[N_X], far = 10.0;
    cr_rollout r = {.n_step = 3, .dt = &far, .n_dt = 1};
    state_of(&f, x, "two/qvel[0]", 1e308);
    cr_status status = cr_sim_rollout(f.sim, &r, x, NULL, f.out, &f.err);
    refuses(&f, status, CR_ERR_NUMERIC, "step 1", __LINE__);
    cr_seed seed = {.step = 0, .x_adj = x};
    REFUSES(cr_sim_rollout_vjp(f.sim, 1, &seed, f.out, NULL, NULL, &f.err), "no last rollout");
    close_fixture(&f);
}

TEST(seeds_must_ascend) {
    fixture f = open_fixture(true);
    double x[N_X], adj[N_X] = {1.0};
    cr_rollout r = {.n_step = 5, .dt = &dt, .n_dt = 1};
    assert_int_equal(cr_sim_rollout(f.sim, &r, f.x, NULL, x, &f.err), CR_OK);
    static const int wrong[][2] = {{4, 2}, {-1, 3}, {2, 6}};
    static const char *const text[] = {"seed 1 is at step 2", "seed 0 is at step -1",
                                       "seed 1 is at step 6"};
    for (int k = 0; k < 3; k++) {
        cr_seed seed[] = {{wrong[k][0], adj}, {wrong[k][1], adj}};
        REFUSES(cr_sim_rollout_vjp(f.sim, 2, seed, f.out, NULL, NULL, &f.err), text[k]);
    }

    // twice the same step, no seed at all, and a rollout of no steps are fine
    cr_seed twice[] = {{0, adj}, {0, adj}};
    double x_adj[N_X] = {0.5};
    CHECK_INT(cr_sim_rollout_vjp(f.sim, 2, twice, x_adj, NULL, NULL, &f.err), CR_OK);
    CHECK(x_adj[0] == 2.5);
    CHECK_INT(cr_sim_rollout_vjp(f.sim, 0, NULL, x_adj, NULL, NULL, &f.err), CR_OK);
    CHECK(x_adj[0] == 2.5);
    r.n_step = 0;
    CHECK_INT(cr_sim_rollout(f.sim, &r, f.x, NULL, x, &f.err), CR_OK);
    CHECK(memcmp(x, f.x, sizeof x) == 0);
    CHECK_INT(cr_sim_rollout_vjp(f.sim, 1, twice, x_adj, NULL, NULL, &f.err), CR_OK);
    CHECK(x_adj[0] == 3.5);
    close_fixture(&f);
}

TEST(foreign_bytes_are_not_restored) {
    fixture f = open_fixture(true);
    static const char other_scene[] =
        "<mujoco><worldbody><geom name='floor' type='plane' size='9 9 1'/><body name='ball'>"
        "<freejoint/><geom name='ball' size='0.1'/></body></worldbody></mujoco>";
    cr_model *model;
    cr_sim *sim;
    assert_int_equal(cr_model_parse(other_scene, strlen(other_scene), "o", &model, &f.err), CR_OK);
    cr_sim_options options = cr_sim_options_default(model);
    assert_int_equal(cr_sim_create(model, &options, &sim, &f.err), CR_OK);
    size_t n = cr_sim_save_bytes(f.sim), n_other = cr_sim_save_bytes(sim);
    char *bytes = calloc(1, n + n_other), *kept = malloc(n), *after = malloc(n);
    assert_true(bytes && kept && after);
    cr_sim_save(f.sim, kept);
#define RESTORE(from, count) cr_sim_restore(f.sim, (from), (count), &f.err)
    cr_sim_save(sim, bytes);
    REFUSES(RESTORE(bytes, n_other), "saved");
    REFUSES(RESTORE(bytes, n), "saved");
    REFUSES(RESTORE(kept, n - 1), "saved");
    REFUSES(RESTORE(kept, 0), "saved");

    // a damaged number: the last parameter, the mass of a body
    memcpy(bytes, kept, n);
    memcpy(bytes + n - sizeof no_number, &no_number, sizeof no_number);
    REFUSES(RESTORE(bytes, n), "nan");
    memcpy(bytes, kept, n);
    size_t mass = (size_t)cr_model_find(f.model, CR_VECTOR_P, "one/mass", NULL);
    size_t n_p = (size_t)cr_model_sizes(f.model).n_p, n_head = 24;
    CHECK(memcmp(bytes + n_head, f.p, sizeof(double) * n_p) == 0);
    memset(bytes + n_head + sizeof(double) * mass, 0, sizeof(double));
    REFUSES(RESTORE(bytes, n), "one/mass");
#undef RESTORE
    cr_sim_save(f.sim, after);
    CHECK(memcmp(kept, after, n) == 0);
    CHECK_INT(cr_sim_restore(f.sim, kept, n, &f.err), CR_OK);
    free(bytes);
    free(kept);
    free(after);
    cr_sim_destroy(sim);
    cr_model_destroy(model);
    close_fixture(&f);
}

TEST(batches_refuse_as_a_whole_or_by_item) {
    fixture f = open_fixture(true);
    double x0[3 * N_X], seed[3 * N_X] = {0}, p[MAX_P], p_adj[MAX_P], x_end[3 * N_X],
                                 x0_adj[3 * N_X];
    cr_status status[3];
    cr_sim_options options = cr_sim_options_default(f.model);
    for (int k = 0; k < 3; k++) {
        memcpy(x0 + k * N_X, f.x, sizeof f.x);
        seed[k * N_X + 2] = 1.0;
    }
    cr_batch good = {.n_item = 3,
                     .rollout = {.n_step = 3, .dt = &dt, .n_dt = 1},
                     .p = f.p,
                     .x0 = x0,
                     .x_end = f.out,
                     .status = status},
             b;
#define BATCH(n_thread) cr_batch_rollout(f.model, &options, &b, (n_thread), &f.err)
    b = good;
    REFUSES(BATCH(0), "thread");
    b = good, b.n_item = -1;
    REFUSES(BATCH(1), "item");
    b = good, b.status = NULL;
    REFUSES(BATCH(1), "status");
    b = good, b.x0 = NULL;
    REFUSES(BATCH(1), "x0");
    b = good, b.p = params_of(&f, p, "one/mass", -2.0);
    REFUSES(BATCH(2), "one/mass");
    b = good, options.law = "hard";
    REFUSES(BATCH(2), "hard");
    options = cr_sim_options_default(f.model);
#undef BATCH

    // one bad item has no part in the sum
    b = good, b.x_end = x_end, b.x_end_adj = seed, b.x0_adj = x0_adj, b.p_adj = p_adj;
    x0[N_X] = no_number;
    CHECK_INT(cr_batch_rollout(f.model, &options, &b, 2, &f.err), CR_OK);
    CHECK(status[0] == CR_OK && status[1] == CR_ERR_ARGUMENT && status[2] == CR_OK);
    // z after 3 steps under gravity: d/dg = T^2/2 for each of two items
    int g = cr_model_find(f.model, CR_VECTOR_P, "gravity[2]", NULL);
    CHECK_CLOSE(p_adj[g], 2.0 * 0.5 * 9e-4, 0.0, 1e-12);
    b.n_item = 0;
    CHECK_INT(cr_batch_rollout(f.model, &options, &b, 2, &f.err), CR_OK);
    CHECK(p_adj[g] == 0.0);
    close_fixture(&f);
}

static int find_p(const fixture *f, const char *name, cr_error *err) {
    return cr_model_find(f->model, CR_VECTOR_P, name, err);
}

TEST(pairs_are_found_in_either_order_and_by_the_slot_that_they_use) {
    fixture f = open_fixture(true);
    // coefficients of its own
    int own = find_p(&f, "floor:one/restitution", &f.err);
    CHECK(own >= 0);
    CHECK_TEXT(cr_model_name(f.model, CR_VECTOR_P, own), "floor:one/restitution");
    CHECK_INT(find_p(&f, "one:floor/restitution", &f.err), own);

    // a pair whose larger value is held by the other geom's is no value of its own
    CHECK_INT(find_p(&f, "floor:one/friction", &f.err), -1);
    CHECK(strstr(f.err.text, "one/friction=floor/friction") != NULL);

    // the slot of ball two serves two pairs: the text says what to write
    CHECK_INT(find_p(&f, "floor:two/friction", &f.err), -1);
    CHECK_INT(f.err.status, CR_ERR_ARGUMENT);
    CHECK(strstr(f.err.text, "two/friction") && strstr(f.err.text, "carom:friction:floor:two"));
    CHECK_INT(find_p(&f, "two:one/restitution", &f.err), -1);
    CHECK(strstr(f.err.text, "two/restitution") != NULL);
    close_fixture(&f);
}

TEST(a_pair_answers_with_the_only_value_that_it_can_have) {
    static const char ball[] =
        "<mujoco><custom><numeric name='carom:restitution:ball' data='0.5'/></custom><worldbody>"
        "<geom name='floor' type='plane' size='9 9 1'/><body><freejoint/><geom name='ball' "
        "size='0.1'/></body></worldbody></mujoco>";
    cr_error err = {0};
    cr_model *model = NULL;
    assert_int_equal(cr_model_parse(ball, sizeof ball - 1, "ball", &model, &err), CR_OK);
    int slot = cr_model_find(model, CR_VECTOR_P, "ball/restitution", &err);
    CHECK(slot >= 0);
    CHECK_INT(cr_model_find(model, CR_VECTOR_P, "floor:ball/restitution", &err), slot);
    CHECK_INT(cr_model_find(model, CR_VECTOR_P, "ball:floor/restitution", &err), slot);
    cr_model_destroy(model);
}

TEST(a_pair_has_a_second_friction_where_the_file_gives_two) {
    static const char pucks[] =
        "<mujoco><custom><numeric name='carom:friction:floor:a' data='0.5 0.2'/>"
        "<numeric name='carom:friction:floor:b' data='0.3'/></custom><worldbody>"
        "<geom name='floor' type='plane' size='9 9 1'/>"
        "<body><freejoint/><geom name='a' size='0.1'/></body>"
        "<body pos='1 0 0'><freejoint/><geom name='b' size='0.1'/></body></worldbody></mujoco>";
    cr_error err = {0};
    cr_model *model = NULL;
    assert_int_equal(cr_model_parse(pucks, sizeof pucks - 1, "pucks", &model, &err), CR_OK);
    int slot = cr_model_find(model, CR_VECTOR_P, "floor:a/friction2", &err);
    CHECK(slot >= 0);
    CHECK_TEXT(cr_model_name(model, CR_VECTOR_P, slot), "floor:a/friction2");
    CHECK_INT(cr_model_find(model, CR_VECTOR_P, "a:floor/friction2", &err), slot);
    CHECK_INT(cr_model_find(model, CR_VECTOR_P, "a:floor/friction", &err), slot - 1);
    double lower, upper;
    bool is_open;
    cr_model_domain(model, slot, &lower, &upper, &is_open);
    CHECK(lower == 0.0 && !is_open && upper > 1e300);

    // one for all directions: the text says what to write
    CHECK_INT(cr_model_find(model, CR_VECTOR_P, "floor:b/friction2", &err), -1);
    CHECK(strstr(err.text, "carom:friction:floor:b") != NULL);
    CHECK_INT(cr_model_find(model, CR_VECTOR_P, "a:b/friction2", &err), -1);
    CHECK(strstr(err.text, "carom:friction:a:b") != NULL);
    CHECK_INT(cr_model_find(model, CR_VECTOR_P, "floor:c/friction2", &err), -1);
    CHECK(strstr(err.text, "no pair of colliding geoms is named floor:c") != NULL);
    cr_model_destroy(model);
}

TEST(unknown_names_are_named) {
    fixture f = open_fixture(true);
    CHECK_INT(find_p(&f, "three/mass", &f.err), -1);
    CHECK_INT(f.err.status, CR_ERR_ARGUMENT);
    CHECK(strstr(f.err.text, "parameter") && strstr(f.err.text, "three/mass"));
    CHECK_INT(cr_model_find(f.model, CR_VECTOR_X, "one/qpos[7]", &f.err), -1);
    CHECK(strstr(f.err.text, "state") && strstr(f.err.text, "one/qpos[7]"));
    CHECK_INT(cr_model_find(f.model, CR_VECTOR_U, "one/push", &f.err), -1);
    CHECK(strstr(f.err.text, "control") && strstr(f.err.text, "one/push"));
    CHECK_INT(find_p(&f, "floor:three/friction", &f.err), -1);
    CHECK(strstr(f.err.text, "floor:three") != NULL);
    CHECK_INT(find_p(&f, "floor:one/colour", &f.err), -1);
    CHECK(strstr(f.err.text, "floor:one/colour") != NULL);
    CHECK_INT(find_p(&f, "", NULL), -1);
    CHECK_INT(find_p(&f, ":/friction", NULL), -1);
    CHECK_INT(cr_model_find_key(f.model, "throw"), 1);
    CHECK_INT(cr_model_find_key(f.model, "rest"), -1);
    CHECK(cr_model_name(f.model, CR_VECTOR_P, -1) == NULL);
    CHECK(cr_model_name(f.model, CR_VECTOR_P, cr_model_sizes(f.model).n_p) == NULL);
    CHECK(cr_model_name(f.model, CR_VECTOR_X, N_X) == NULL);
    CHECK(cr_model_name(f.model, CR_VECTOR_U, N_U) == NULL);
    close_fixture(&f);
}

TEST(every_name_is_found_where_it_stands) {
    fixture f = open_fixture(true);
    cr_sizes n = cr_model_sizes(f.model);
    const int length[] = {n.n_p, n.n_x, n.n_u};
    for (int v = 0; v < 3; v++) {
        for (int i = 0; i < length[v]; i++) {
            const char *name = cr_model_name(f.model, (cr_vector)v, i);
            CHECK_INT(cr_model_find(f.model, (cr_vector)v, name, NULL), i);
        }
    }
    for (int i = 0; i < n.n_p; i++) {
        double lower, upper;
        bool is_open;
        cr_model_domain(f.model, i, &lower, &upper, &is_open);
        CHECK(is_open ? f.p[i] > lower : f.p[i] >= lower);
        CHECK(f.p[i] <= upper);
    }
    close_fixture(&f);
}

CR_TEST_MAIN(options_are_refused_by_name, parameters_are_refused_by_name_and_the_old_ones_stay,
             steps_refuse_what_is_no_state, a_refused_step_leaves_the_last_one_in_place,
             there_is_no_gradient_without_a_step, rollouts_refuse_what_does_not_fit,
             a_motion_beyond_all_numbers_is_refused, seeds_must_ascend,
             foreign_bytes_are_not_restored, batches_refuse_as_a_whole_or_by_item,
             pairs_are_found_in_either_order_and_by_the_slot_that_they_use,
             a_pair_answers_with_the_only_value_that_it_can_have,
             a_pair_has_a_second_friction_where_the_file_gives_two, unknown_names_are_named,
             every_name_is_found_where_it_stands)
