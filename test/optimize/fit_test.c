// SPDX-License-Identifier: MIT
//
// Values are found again in recordings made by closed forms, from near and from far.

#include "optimize/fit.h"

#include "cr_test.h"

#include "optimize/select.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char scene_text[] = "<mujoco model='throw'>\n"
                                 "  <option timestep='0.005'/>\n"
                                 "  <worldbody>\n"
                                 "    <geom name='floor' type='plane' size='10 10 .1'/>\n"
                                 "    <body name='ball' pos='0 0 .5'>\n"
                                 "      <freejoint/>\n"
                                 "      <geom name='ball' type='sphere' size='.05' mass='1'/>\n"
                                 "    </body>\n"
                                 "  </worldbody>\n"
                                 "  <custom>\n"
                                 "    <numeric name='carom:friction:floor:ball' data='0.12'/>\n"
                                 "    <numeric name='carom:restitution:floor:ball' data='0.75'/>\n"
                                 "  </custom>\n"
                                 "  <keyframe><key name='throw' qvel='6 1 0 0 0 0'/></keyframe>\n"
                                 "</mujoco>\n";

/// A scene with everything a fit needs. Released by clear.
typedef struct bench {
    cr_model *model;
    cr_sim *sim;
    cr_arena *arena;
    cri_selection *selection;
    cri_recording recording;
    cri_point start;
    cri_fit_problem problem;
} bench;

static void open_scene(bench *b, const char *text) {
    *b = (bench){0};
    cr_error err = {0};
    if (cr_model_parse(text, strlen(text), "throw.xml", &b->model, &err) == CR_OK) {
        cr_sim_options options = cr_sim_options_default(b->model);
        options.use_gradient = true;
        assert_int_equal(cr_sim_create(b->model, &options, &b->sim, &err), CR_OK);
    }
    b->arena = cri_arena_create(1 << 16);
    assert_true(b->sim && b->arena);
}

static void open_bench(bench *b) {
    open_scene(b, scene_text);
}

static void clear(bench *b) {
    cri_selection_destroy(b->selection);
    cri_arena_destroy(b->arena);
    cr_sim_destroy(b->sim);
    cr_model_destroy(b->model);
}

/// Takes a recording of these entries of x, n_sample rows a time step apart, zero for now.
static void observe(bench *b, const char *const *column, int n_column, int n_sample, double step) {
    cri_recording *r = &b->recording;
    *r = (cri_recording){.n_sample = n_sample, .n_column = n_column};
    r->time = CR_PUSH(b->arena, double, n_sample);
    r->value = CR_PUSH(b->arena, double, n_sample *n_column);
    r->x_index = CR_PUSH(b->arena, int, n_column);
    assert_true(r->time && r->value && r->x_index);
    for (int i = 0; i < n_sample; i++) {
        r->time[i] = i * step;
    }
    for (int c = 0; c < n_column; c++) {
        r->x_index[c] = cr_model_find(b->model, CR_VECTOR_X, column[c], NULL);
        assert_true(r->x_index[c] >= 0);
    }
}

static void select_names(bench *b, const char *names) {
    assert_int_equal(cri_selection_create(b->model, names, &b->selection, NULL), CR_OK);
    assert_int_equal(cri_point_push(b->selection, 1, b->arena, &b->start, NULL), CR_OK);
    cr_model_defaults(b->model, -1, b->start.p, b->start.x0, NULL);
    bool *is_given = CR_PUSH(b->arena, bool, cr_model_sizes(b->model).n_x);
    assert_true(is_given);
    b->problem = (cri_fit_problem){.model = b->model,
                                   .sim_options = cr_sim_options_default(b->model),
                                   .selection = b->selection,
                                   .n_recording = 1,
                                   .recording = &b->recording,
                                   .dt = 0.005,
                                   .p = b->start.p,
                                   .x0 = b->start.x0,
                                   .is_x0_given = is_given,
                                   .n_thread = 1};
}

// ---- closed form -------------------------------------------------------------------------------

typedef struct ball {
    double x[3];
    double v[3];
    double w[2]; // spin about x and y, world
} ball;

static void fly(ball *s, double t) {
    for (int i = 0; i < 3; i++) {
        s->x[i] += s->v[i] * t;
    }
    s->x[2] -= 0.5 * 9.81 * t * t;
    s->v[2] -= 9.81 * t;
}

/// Impact of a solid sphere: Newton's restitution, Coulomb's friction.
static void bounce(ball *s, double mu, double e, double r) {
    double slip[2] = {s->v[0] - r * s->w[1], s->v[1] + r * s->w[0]};
    double speed = hypot(slip[0], slip[1]);
    double normal = -(1.0 + e) * s->v[2];
    double tangent = fmin(mu * normal, 2.0 / 7.0 * speed);
    double j[2] = {-tangent * slip[0] / speed, -tangent * slip[1] / speed};
    s->v[0] += j[0];
    s->v[1] += j[1];
    s->v[2] *= -e;
    s->w[0] += 2.5 / r * j[1];
    s->w[1] -= 2.5 / r * j[0];
}

/// Positions at all times of the recording, from the scene's own values.
static void record_bounces(bench *b) {
    const double mu = 0.12, e = 0.75, r = 0.05;
    ball s = {{0.0, 0.0, 0.5}, {6.0, 1.0, 0.0}, {0.0, 0.0}};
    double now = 0.0;
    for (int i = 0; i < b->recording.n_sample; i++) {
        for (;;) {
            double rest = b->recording.time[i] - now;
            double fall = (s.v[2] + sqrt(s.v[2] * s.v[2] + 2.0 * 9.81 * (s.x[2] - r))) / 9.81;
            fly(&s, fmin(rest, fall));
            now += fmin(rest, fall);
            if (rest <= fall) {
                break;
            }
            bounce(&s, mu, e, r);
            s.x[2] = r;
        }
        memcpy(b->recording.value + 3 * i, s.x, sizeof s.x);
    }
}

static const char *const positions[] = {"ball/qpos[0]", "ball/qpos[1]", "ball/qpos[2]"};

// ---- derivatives -------------------------------------------------------------------------------

/// Residuals of a replay at unknowns z against central differences.
static void check_jacobian(bench *b, cri_replay *replay, double *z) {
    const cri_unknowns *unknowns = replay->unknowns;
    int n = unknowns->n_shared + unknowns->n_own;
    int m = replay->n_sample * replay->recording->n_column;
    double *r = calloc(3 * (size_t)m, sizeof *r);
    double *J = calloc((size_t)n * (size_t)m, sizeof *J);
    assert_true(r && J);
    cri_values values = {z, z + unknowns->n_shared};
    CHECK_INT(cri_replay_residuals(replay, b->sim, &values, r, J, NULL), CR_OK);
    for (int j = 0; j < n; j++) {
        double at = z[j];
        double h = 1e-5 * fmax(fabs(at), 0.01);
        z[j] = at + h;
        CHECK_INT(cri_replay_residuals(replay, b->sim, &values, r + m, NULL, NULL), CR_OK);
        z[j] = at - h;
        CHECK_INT(cri_replay_residuals(replay, b->sim, &values, r + 2 * m, NULL, NULL), CR_OK);
        z[j] = at;
        for (int i = 0; i < m; i++) {
            double difference = (r[m + i] - r[2 * m + i]) / (2.0 * h);
            // central differences err by h^2 f''' and by rounding over h
            CHECK_CLOSE(J[j * m + i], difference, 1e-6, 1e-5);
        }
    }
    free(r);
    free(J);
}

static void check_residuals(const char *names, int n_turn) {
    bench b;
    open_bench(&b);
    static const char *const all[] = {"ball/qpos[0]", "ball/qpos[2]", "ball/qpos[3]",
                                      "ball/qpos[4]", "ball/qpos[6]", "ball/qvel[0]",
                                      "ball/qvel[4]"};
    observe(&b, all, 7, 12, 0.033);
    double sigma[7] = {1.0, 0.5, 1.0, 2.0, 1.0, 1.0, 3.0};
    b.recording.sigma = sigma;
    select_names(&b, names);
    cri_unknowns unknowns;
    cri_replay replay;
    assert_int_equal(cri_unknowns_push(b.selection, b.arena, &unknowns, NULL), CR_OK);
    assert_int_equal(
        cri_replay_init(b.model, &unknowns, &b.recording, 0.005, b.arena, &replay, NULL), CR_OK);
    CHECK_INT(unknowns.n_turn, n_turn);
    // spin, and a quaternion that is not of length one
    cr_model_defaults(b.model, -1, replay.point.p, replay.point.x0, NULL);
    const double turn[4] = {0.9, 0.3, -0.5, 0.2};
    memcpy(replay.point.x0 + 3, turn, sizeof turn);
    memcpy(replay.base, turn, (size_t)n_turn * sizeof turn);
    replay.point.x0[10] = 2.0;
    replay.point.x0[11] = -1.0;
    int n = unknowns.n_shared + unknowns.n_own;
    double *z = calloc((size_t)n, sizeof *z);
    assert_true(z);
    cri_unknowns_read(&unknowns, &replay.point, z, z + unknowns.n_shared);
    for (int a = 0; a < 3 * n_turn; a++) {
        // away from where the rotation vector is its own derivative
        z[unknowns.n_shared + unknowns.turn[0].own + a] = 0.4 - 0.3 * a;
    }
    check_jacobian(&b, &replay, z);
    free(z);
    clear(&b);
}

TEST(residuals_have_their_jacobian) {
    check_residuals("floor:ball/*,ball/size[0],ball/mass,ball/inertia,gravity,x0:*,"
                    "u:ball/torque[0],u:ball/force[1][3]",
                    1);
    // numbers of a quaternion one by one, and a tie of an initial value with a parameter
    check_residuals("ball/size[0]=x0:ball/qvel[1],x0:ball/qpos[3],x0:ball/qpos[5]", 0);
}

// ---- fits --------------------------------------------------------------------------------------

/// Starts from these values instead of the true ones, fits, and compares with the closed form.
static void check_found(double mu, double e, double r, double vx) {
    bench b;
    open_bench(&b);
    observe(&b, positions, 3, 81, 0.02);
    record_bounces(&b);
    select_names(&b, "floor:ball/friction,floor:ball/restitution,ball/size[0],ball/inertia[0]="
                     "ball/inertia[1],x0:ball/qvel[0]");
    const double truth[] = {0.12, 0.75, 0.05, 0.4 * 0.05 * 0.05, 6.0};
    const double start[] = {mu, e, r, 0.002, vx};
    cri_selection_write(b.selection, start, &b.start);
    cri_fit fit = {0};
    cr_error err = {0};
    CHECK_INT(cri_fit_run(&b.problem, b.arena, &fit, &err), CR_OK);
    for (int j = 0; j < fit.n_entry; j++) {
        CHECK(fit.entry[j].start == start[j]);
        CHECK(fit.entry[j].is_identifiable && fit.entry[j].deviation < 1e-8);
        CHECK_CLOSE(fit.entry[j].value, truth[j], 1e-9, 1e-7);
    }
    CHECK(fit.rms < 1e-9);
    if (CHECK(fit.history_every == 1 && fit.n_history == fit.n_iteration)) {
        CHECK(fit.history[0] > 1e-6 && fit.history[fit.n_history - 1] < 1e-9);
    }
    clear(&b);
}

TEST(a_near_start_leads_to_the_truth) {
    check_found(0.13, 0.7, 0.055, 6.1);
}

TEST(far_starts_lead_to_the_truth) {
    check_found(0.3, 0.5, 0.06, 5.5);
    // no friction; a contact that sticks; a ball too large, which touches too early
    check_found(0.0, 0.1, 0.01, 5.5);
    check_found(0.9, 0.95, 0.02, 6.5);
    check_found(0.5, 0.3, 0.19, 6.5);
}

// Heights alone, and a ball that misses the ramp beside it: nothing tells about the pull sideways
// until it is drawn where the ball lands on the ramp. Gravity has no bounds.
TEST(a_name_without_bounds_is_drawn_again) {
    static const char text[] =
        "<mujoco><option timestep='0.01'/><worldbody>"
        "<geom name='floor' type='plane' size='10 10 .1' pos='0 0 -1'/>"
        "<geom name='ramp' type='box' size='1 1 .1' pos='1.5 0 0' euler='0 20 0'/>"
        "<body name='ball' pos='0 0 2'><freejoint/><geom name='ball' type='sphere' size='.05'/>"
        "</body></worldbody></mujoco>";
    static const char *const height[] = {"ball/qpos[2]"};
    bench b;
    open_scene(&b, text);
    observe(&b, height, 1, 71, 0.01);
    select_names(&b, "gravity[0]");
    double truth = 7.0, start = 3.0, dt = 0.01;
    cri_selection_write(b.selection, &truth, &b.start);
    CHECK_INT(cr_sim_set_params(b.sim, b.start.p, NULL), CR_OK);
    b.problem.dt = dt;
    double x[32];
    memcpy(x, b.start.x0, sizeof *x * (size_t)cr_model_sizes(b.model).n_x);
    for (int k = 0; k < 71; k++) {
        b.recording.value[k] = x[2];
        CHECK_INT(cr_sim_step(b.sim, dt, x, NULL, x, NULL), CR_OK);
    }
    cri_selection_write(b.selection, &start, &b.start);
    cri_fit fit = {0};
    CHECK_INT(cri_fit_run(&b.problem, b.arena, &fit, NULL), CR_OK);
    CHECK_CLOSE(fit.entry[0].value, truth, 0.0, 1e-8);
    clear(&b);
}

TEST(standard_errors_are_those_of_the_noise) {
    // many recordings with noise of 1 mm: deviations of the results against the errors claimed
    enum { N_RECORDING = 60 };
    double square = 0.0;
    double claimed = 0.0;
    cr_test_rng rng = cr_test_rng_of(5);
    for (int k = 0; k < N_RECORDING; k++) {
        bench b;
        open_bench(&b);
        observe(&b, positions, 3, 81, 0.02);
        record_bounces(&b);
        for (int i = 0; i < 3 * 81; i++) {
            // twelve uniform numbers make a normal one
            double sum = 0.0;
            for (int j = 0; j < 12; j++) {
                sum += cr_test_uniform(&rng, -0.5, 0.5);
            }
            b.recording.value[i] += 1e-3 * sum;
        }
        select_names(&b, "floor:ball/restitution,ball/size[0]");
        cri_fit fit = {0};
        CHECK_INT(cri_fit_run(&b.problem, b.arena, &fit, NULL), CR_OK);
        double d = fit.entry[0].value - 0.75;
        square += d * d / N_RECORDING;
        claimed += fit.entry[0].deviation * fit.entry[0].deviation / N_RECORDING;
        CHECK_CLOSE(fit.rms, 1e-3, 0.0, 0.2);
        clear(&b);
    }
    // a variance from 60 samples is good to 18 %, three times that is far out
    CHECK_CLOSE(square, claimed, 0.0, 0.55);
}

TEST(names_that_act_as_one_are_reported_together) {
    bench b;
    open_bench(&b);
    observe(&b, positions, 3, 15, 0.02);
    record_bounces(&b);
    // in free flight gravity and a constant force of the same direction are one acceleration
    select_names(&b, "gravity[2],u:ball/force[2],x0:ball/qvel[0]");
    cri_fit fit = {0};
    CHECK_INT(cri_fit_run(&b.problem, b.arena, &fit, NULL), CR_OK);
    CHECK(!fit.entry[0].is_identifiable && strstr(fit.entry[0].why, "u:ball/force[2]"));
    CHECK(!fit.entry[1].is_identifiable && strstr(fit.entry[1].why, "gravity[2]"));
    CHECK(fit.entry[2].is_identifiable);
    CHECK_CLOSE(fit.entry[0].value + fit.entry[1].value, -9.81, 0.0, 1e-9);
    CHECK_CLOSE(fit.entry[2].value, 6.0, 0.0, 1e-9);
    clear(&b);
}

TEST(a_name_without_effect_is_reported_and_left_alone) {
    bench b;
    open_bench(&b);
    observe(&b, positions, 3, 81, 0.02);
    record_bounces(&b);
    // the pair has a friction of its own
    select_names(&b, "floor/friction,floor:ball/restitution");
    const double start[] = {0.7, 0.6};
    cri_selection_write(b.selection, start, &b.start);
    cri_fit fit = {0};
    CHECK_INT(cri_fit_run(&b.problem, b.arena, &fit, NULL), CR_OK);
    CHECK(!fit.entry[0].is_identifiable && fit.entry[0].value == 0.7);
    CHECK(strstr(fit.entry[0].why, "do not depend on floor/friction") != NULL);
    CHECK(isnan(fit.entry[0].deviation));
    CHECK_CLOSE(fit.entry[1].value, 0.75, 0.0, 1e-8);
    clear(&b);
}

TEST(noise_is_seen_through_bounces) {
    bench b;
    open_bench(&b);
    observe(&b, positions, 3, 161, 0.01);
    record_bounces(&b);
    CHECK(cri_recording_noise(&b.recording) < 1e-6);
    cr_test_rng rng = cr_test_rng_of(9);
    for (int i = 0; i < 3 * 161; i++) {
        // uniform on a width w has the standard deviation w/sqrt(12)
        b.recording.value[i] += cr_test_uniform(&rng, -0.5e-2, 0.5e-2);
    }
    // the bounces at the end come too fast for third differences
    CHECK_CLOSE(cri_recording_noise(&b.recording), 1e-2 / sqrt(12.0), 0.0, 0.5);
    clear(&b);
}

TEST(a_long_history_keeps_every_second_value) {
    cri_fit_history history = {.every = 1};
    for (int i = 1; i <= 5 * CRI_HISTORY_LIMIT; i++) {
        cri_history_keep(&history, i, i);
        cri_history_keep(&history, i, -1.0); // not again
    }
    CHECK_INT(history.every, 8);
    CHECK_INT(history.n, 5 * CRI_HISTORY_LIMIT / 8);
    for (int k = 0; k < history.n; k++) {
        CHECK(history.value[k] == 8.0 * (k + 1));
    }
}

CR_TEST_MAIN(residuals_have_their_jacobian, a_near_start_leads_to_the_truth,
             far_starts_lead_to_the_truth, a_name_without_bounds_is_drawn_again,
             standard_errors_are_those_of_the_noise, names_that_act_as_one_are_reported_together,
             a_name_without_effect_is_reported_and_left_alone, noise_is_seen_through_bounces,
             a_long_history_keeps_every_second_value)
