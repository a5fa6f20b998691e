// SPDX-License-Identifier: MIT
//
// Windows of points with contact, the loss over them and its slope, and a short training.

#include "cr_test.h"

#include "points/learn/points_finish.h"

#include <math.h>
#include <string.h>

static cri_points_scene *open_scene(const char *name) {
    cri_points_scene *scene = NULL;
    cr_error err = {0};
    assert_int_equal(cri_points_scene_create(name, 10, &scene, &err), CR_OK);
    return scene;
}

static cri_points_data draw(const char *name, uint64_t seed, int n, cr_arena *arena) {
    cri_points_scene *scene = open_scene(name);
    cri_points_data data;
    cr_error err = {0};
    assert_int_equal(cri_points_windows(scene, seed, n, &data, arena, &err), CR_OK);
    cri_points_scene_destroy(scene);
    return data;
}

// a law, or what stands for it: net, relations or alone
static cri_points_learner open_learner(const char *scene, const char *law, cri_points_form form) {
    static const char *const name[] = {"", "net", "relations", "alone"};
    cri_points_hit hit = CRI_HIT_LAW;
    for (int k = 1; k < 4; k++) {
        hit = strcmp(law, name[k]) == 0 ? (cri_points_hit)k : hit;
    }
    cri_points_learner l;
    cr_error err = {0};
    const cri_points_learner_def def = {.name = scene,
                                        .n = 10,
                                        .law = hit == CRI_HIT_LAW ? law : "cone",
                                        .form = form,
                                        .n_hidden = 2,
                                        .width = 8,
                                        .hit = hit,
                                        .relations = {2, 7, 5, 1, 6},
                                        .learns_epsilon = strcmp(law, "cone-reg") == 0};
    assert_int_equal(cri_points_learner_create(&def, &l, &err), CR_OK);
    return l;
}

TEST(half_of_the_windows_have_a_contact_and_none_begins_with_one) {
    cr_arena *arena = cri_arena_create(1 << 16);
    cri_points_scene *scene = open_scene("cp3");
    cri_points_data data = draw("cp3", 3, 200, arena);
    assert_int_equal(data.n, 200);
    assert_in_range(data.n_hit, 70, 130);
    int n_hit = 0;
    for (int k = 0; k < data.n; k++) {
        const double *x = data.x + (size_t)(k * CRI_WINDOW_STATES * data.n_x);
        assert_false(cri_points_overlap(scene, x));
        bool is_hit = false;
        for (int t = 1; t < CRI_WINDOW_STATES; t++) {
            is_hit = is_hit || cri_points_overlap(scene, x + (size_t)(t * data.n_x));
        }
        n_hit += is_hit;
    }
    assert_int_equal(n_hit, data.n_hit);
    cri_points_scene_destroy(scene);
    cri_arena_destroy(arena);
}

TEST(a_seed_names_its_windows) {
    cr_arena *arena = cri_arena_create(1 << 16);
    cri_points_data a = draw("bp5-e", 1, 20, arena), b = draw("bp5-e", 1, 20, arena);
    cri_points_data other = draw("bp5-e", 2, 20, arena);
    size_t n = 20 * CRI_WINDOW_STATES * (size_t)a.n_x;
    assert_memory_equal(a.x, b.x, n * sizeof *a.x);
    assert_memory_not_equal(a.x, other.x, n * sizeof *a.x);
    cri_arena_destroy(arena);
}

// the slope along a direction against a central difference
static void check_slope(const char *scene, const char *law, cri_points_form form) {
    enum { N = 4 };
    const int sample[N] = {0, 1, 2, 3};
    cr_arena *arena = cri_arena_create(1 << 16);
    cri_points_data data = draw(scene, 5, N, arena);
    cri_points_learner l = open_learner(scene, law, form);
    l.scene->law.through_target = true; // in training it is taken as constant
    cri_points_memory m;
    assert_true(cri_points_memory_open(&m));
    double *w = CR_PUSH(arena, double, l.n_w), *adj = CR_PUSH(arena, double, l.n_w);
    double *way = CR_PUSH(arena, double, l.n_w), *at = CR_PUSH(arena, double, l.n_w);
    assert_true(cri_points_learner_start(&l, 2, w));
    double loss[2], slope = 0.0, h = 1e-6;
    cri_train_shard s = {.w = w, .n = N, .sample = sample, .w_adj = adj};
    assert_true(cri_points_window_loss(&l, &data, &s, &m));
    cri_random r = cri_random_of(9, 9);
    for (int i = 0; i < l.n_w; i++) {
        bool is_constant = i >= l.scene->s.i_gravity && i < l.scene->law.i_mu &&
                           !(l.learns_stiffness && i == l.scene->s.i_stiffness);
        is_constant = is_constant || (i == l.scene->law.i_epsilon && !l.learns_epsilon);
        // what an interaction network is given
        is_constant = is_constant || (l.relations && i >= l.scene->law.i_mu && i < l.i_hit &&
                                      i < l.scene->potential.first);
        is_constant = is_constant || (!l.net && i < l.i_hit);
        way[i] = is_constant ? 0.0 : cri_random_normal(&r);
        slope += way[i] * adj[i];
    }
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < l.n_w; i++) {
            at[i] = w[i] + (side ? -h : h) * way[i];
        }
        s = (cri_train_shard){.w = at, .n = N, .sample = sample};
        assert_true(cri_points_window_loss(&l, &data, &s, &m));
        assert_int_equal(s.n_dropped, 0);
        loss[side] = s.loss;
    }
    double difference = (loss[0] - loss[1]) / (2.0 * h);
    assert_true(fabs(slope) > 1e-6);
    assert_true(fabs(slope - difference) < 1e-5 * (fabs(slope) + fabs(difference)));
    cri_points_memory_close(&m);
    cri_points_learner_clear(&l);
    cri_arena_destroy(arena);
}

static bool have_common_window(const cri_points_data *a, const cri_points_data *b) {
    size_t n = CRI_WINDOW_STATES * (size_t)a->n_x;
    for (int k = 0; k < a->n * b->n; k++) {
        const double *x = a->x + (size_t)(k / b->n) * n, *y = b->x + (size_t)(k % b->n) * n;
        if (memcmp(x, y, sizeof *x * n) == 0) {
            return true;
        }
    }
    return false;
}

// all of the experiments and of 'learn points' draw by this
TEST(training_validation_and_test_have_windows_of_their_own) {
    cr_arena *arena = cri_arena_create(1 << 16);
    cri_points_scene *scene = open_scene("cp3");
    cri_points_data data[2][3];
    cr_error err = {0};
    for (uint64_t seed = 0; seed < 2; seed++) {
        cri_points_data *d = data[seed];
        const cri_points_set set[] = {{&d[0], 40}, {&d[1], 20}, {&d[2], 20}};
        assert_int_equal(cri_points_sets(scene, seed, 0.0, set, arena, &err), CR_OK);
    }
    for (int k = 0; k < 36; k++) {
        const cri_points_data *a = &data[0][0] + k / 6, *b = &data[0][0] + k % 6;
        assert_int_equal(have_common_window(a, b), a == b);
    }
    cri_points_scene_destroy(scene);
    cri_arena_destroy(arena);
}

// true values of everything that is learned, made others
static void spoil_truth(cri_points_scene *sc) {
    for (int i = 0; i < sc->s.i_gravity; i++) {
        sc->p[i] *= 3.0;
    }
    for (int k = 0; k < sc->n_coefficient; k++) {
        sc->p[sc->law.i_mu + k] += 0.7;
        sc->p[sc->law.i_e + k] = 0.3;
    }
    sc->p[sc->law.i_epsilon] *= 5.0;
    if (sc->s.n_spring > 0) {
        sc->p[sc->s.i_stiffness] *= 7.0;
    }
}

TEST(a_training_starts_from_nothing_of_the_truth) {
    static const char *const scene[] = {"bp5", "bd5", "cp3", "gyro", "rope"};
    static const char *const law[] = {"cone", "cone-reg", "lcp", "net"};
    cr_arena *arena = cri_arena_create(1 << 16);
    for (size_t k = 0; k < 5 * 4; k++) {
        cri_points_learner l = open_learner(scene[k / 4], law[k % 4], CRI_LAGRANGE);
        cri_points_scene *sc = l.scene;
        double *w = CR_PUSH(arena, double, l.n_w), *other = CR_PUSH(arena, double, l.n_w);
        assert_true(cri_points_learner_start(&l, 5, w));
        spoil_truth(sc);
        assert_true(cri_points_learner_start(&l, 5, other));
        for (int i = 0; i < l.n_w; i++) {
            // gravity is not used by a net; an epsilon that is not learned is given
            bool is_gravity = i >= sc->s.i_gravity && i < sc->s.i_gravity + sc->s.d;
            bool is_given = i == sc->law.i_epsilon && !l.learns_epsilon;
            assert_true(is_gravity || is_given || w[i] == other[i]);
        }
        cri_points_learner_clear(&l);
    }
    cri_arena_destroy(arena);
}

TEST(the_slope_of_the_loss_is_its_derivative) {
    check_slope("cp3", "cone", CRI_LAGRANGE);
    check_slope("cp3", "cone", CRI_HAMILTON);
    check_slope("cp3", "lcp", CRI_LAGRANGE);
    check_slope("bd5", "cone-reg", CRI_LAGRANGE);
    check_slope("gyro", "cone", CRI_HAMILTON);
    check_slope("rope", "cone", CRI_LAGRANGE);
    check_slope("cp3", "net", CRI_LAGRANGE);
    check_slope("cp3", "relations", CRI_LAGRANGE);
    check_slope("gyro", "relations", CRI_LAGRANGE);
    check_slope("bd5", "relations", CRI_LAGRANGE);
    check_slope("bp5", "alone", CRI_LAGRANGE);
    check_slope("rope", "alone", CRI_LAGRANGE);
}

// w of the truth; weights of the net are zero, so is its gradient
static double *true_numbers(const cri_points_learner *l, cr_arena *arena) {
    double *w = CR_PUSH(arena, double, l->n_w);
    memcpy(w, l->scene->p, sizeof *w * (size_t)l->n_w);
    for (int i = 0; i < l->scene->s.i_gravity; i++) {
        w[i] = log(w[i]);
    }
    if (l->learns_stiffness) {
        w[l->scene->s.i_stiffness] = log(w[l->scene->s.i_stiffness]);
    }
    for (int k = 0; k < l->scene->n_coefficient; k++) {
        w[l->scene->law.i_e + k] = 6.0 * w[l->scene->law.i_e + k] - 3.0;
    }
    return w;
}

TEST(a_true_model_without_potential_has_no_loss) {
    cr_arena *arena = cri_arena_create(1 << 16);
    const int sample[2] = {0, 1};
    cri_points_data data = draw("bp5", 4, 2, arena);
    cri_points_learner l = open_learner("bp5", "cone", CRI_LAGRANGE);
    cri_points_memory m;
    assert_true(cri_points_memory_open(&m));
    double *w = true_numbers(&l, arena), *p = CR_PUSH(arena, double, l.n_w);
    cri_points_learner_values(&l, w, p);
    for (int i = 0; i < l.n_w; i++) {
        assert_true(fabs(p[i] - l.scene->p[i]) < 1e-15);
    }
    cri_train_shard s = {.w = w, .n = 2, .sample = sample};
    assert_true(cri_points_window_loss(&l, &data, &s, &m));
    assert_true(s.loss < 1e-12);
    cri_points_memory_close(&m);
    cri_points_learner_clear(&l);
    cri_arena_destroy(arena);
}

// masses off by up to 20 %, friction low, restitution off
static double *wrong_numbers(const cri_points_learner *l, cr_arena *arena) {
    double *w = true_numbers(l, arena);
    for (int i = 0; i < l->scene->s.i_gravity; i++) {
        w[i] += 0.2 * sin(3.0 * i);
    }
    for (int k = 0; k < l->scene->n_coefficient; k++) {
        w[l->scene->law.i_mu + k] *= 0.6;
        w[l->scene->law.i_e + k] = fmax(-3.0, fmin(3.0, w[l->scene->law.i_e + k] + sin(k)));
    }
    return w;
}

TEST(the_last_steps_find_numbers_that_few_windows_feel) {
    cr_arena *arena = cri_arena_create(1 << 16);
    cri_points_data train = draw("bp5", 1, 80, arena), valid = draw("bp5", 2, 20, arena);
    cri_points_learner l = open_learner("bp5", "cone", CRI_LAGRANGE);
    const cri_points_scene *sc = l.scene;
    const cri_points_training t = {.learner = &l, .train = &train, .valid = &valid};
    double *w = wrong_numbers(&l, arena), *p = CR_PUSH(arena, double, l.n_w);
    assert_int_equal(cri_points_finish(&t, w), CRI_PASS_DONE);
    cri_points_learner_values(&l, w, p);
    for (int k = 1; k < sc->s.n_block; k++) {
        CHECK_CLOSE(p[k] / p[0], sc->p[k] / sc->p[0], 0.0, 1e-6);
    }
    // some contacts do not occur, or stick, or rest
    int n_friction = 0, n_restitution = 0;
    for (int k = 0; k < sc->n_coefficient; k++) {
        n_friction += fabs(p[sc->law.i_mu + k] - sc->p[sc->law.i_mu + k]) < 1e-6;
        n_restitution += fabs(p[sc->law.i_e + k] - sc->p[sc->law.i_e + k]) < 1e-6;
    }
    assert_true(n_friction >= 20 && n_restitution >= 20);
    cri_points_learner_clear(&l);
    cri_arena_destroy(arena);
}

// a rope whose gravity is small
static cri_points_data draw_rope(uint64_t seed, int n, double noise, cr_arena *arena) {
    cri_points_scene *scene = open_scene("rope");
    cri_points_data data;
    cr_error err = {0};
    scene->p[scene->s.i_gravity + 1] = -0.1;
    assert_int_equal(cri_points_windows(scene, seed, n, &data, arena, &err), CR_OK);
    cri_points_add_noise(scene, seed, noise, &data);
    cri_points_scene_destroy(scene);
    return data;
}

// masses of a rope by the last steps. The net is zero and misses gravity, as one that has learned
// misses a part of it
static double rope_error(double noise, double *stiffness) {
    cr_arena *arena = cri_arena_create(1 << 16);
    cri_points_data train = draw_rope(1, 50, noise, arena), valid = draw_rope(2, 10, noise, arena);
    cri_points_learner l = open_learner("rope", "cone", CRI_LAGRANGE);
    const cri_points_training t = {.learner = &l, .train = &train, .valid = &valid};
    double *w = wrong_numbers(&l, arena), worst = 0.0;
    w[l.scene->s.i_stiffness] += 0.1;
    assert_int_equal(cri_points_finish(&t, w), CRI_PASS_DONE);
    for (int k = 1; k < l.scene->s.n_block; k++) {
        worst = fmax(worst, fabs(exp(w[k] - w[0]) - 1.0));
    }
    *stiffness = exp(w[l.scene->s.i_stiffness] - w[0]);
    cri_points_learner_clear(&l);
    cri_arena_destroy(arena);
    return worst;
}

TEST(forces_that_a_net_misses_do_not_bend_masses) {
    double stiffness;
    assert_true(rope_error(0.0, &stiffness) < 1e-4);
    CHECK_CLOSE(stiffness, 500.0, 1e-3, 0.0);
    // jumps by themselves would make 0.36 of the noise
    assert_true(rope_error(1e-5, &stiffness) < 0.02);
}

TEST(last_steps_that_validation_does_not_like_are_not_kept) {
    cr_arena *arena = cri_arena_create(1 << 16);
    // what is true here is wrong there
    cri_points_data train = draw("bp5", 1, 40, arena), valid = draw("bp5-e", 2, 20, arena);
    cri_points_learner l = open_learner("bp5", "cone", CRI_LAGRANGE);
    for (int k = 0; k < l.scene->n_coefficient; k++) {
        l.scene->p[l.scene->law.i_mu + k] = 0.0;
        l.scene->p[l.scene->law.i_e + k] = 1.0;
    }
    const cri_points_training t = {.learner = &l, .train = &train, .valid = &valid};
    double *w = true_numbers(&l, arena), *before = true_numbers(&l, arena);
    assert_int_equal(cri_points_finish(&t, w), CRI_PASS_DONE);
    assert_memory_equal(w, before, sizeof *w * (size_t)l.n_w);
    cri_points_learner_clear(&l);
    cri_arena_destroy(arena);
}

/// Says no from a number of windows of the last steps on.
typedef struct patience {
    long long n_most;
    long long n_batch; // batches before it says no
} patience;

static bool ask(void *context, const cri_progress_state *state) {
    const patience *p = context;
    bool is_finish = strstr(state->what, "finish") != NULL;
    return state->done < (is_finish ? p->n_most : p->n_batch);
}

TEST(last_steps_that_are_stopped_say_so_and_keep_the_best) {
    cr_arena *arena = cri_arena_create(1 << 16);
    cri_points_data train = draw("bp5", 1, 40, arena), valid = draw("bp5", 2, 20, arena);
    cri_points_learner l = open_learner("bp5", "cone", CRI_LAGRANGE);
    double best[3];
    // at once, in the middle, not at all
    for (int k = 0; k < 3; k++) {
        patience p = {.n_most = k == 0 ? 0 : k == 1 ? 800 : 1LL << 40, .n_batch = 1000};
        const cri_progress progress = {ask, &p};
        cri_points_training t = {.learner = &l,
                                 .train = &train,
                                 .valid = &valid,
                                 .n_epoch = 2,
                                 .batch = 20,
                                 .rate = 1e-3,
                                 .n_thread = 1,
                                 .progress = &progress};
        double *w = CR_PUSH(arena, double, l.n_w);
        assert_true(cri_points_learner_start(&l, 7, w));
        cri_train_result result;
        cr_error err = {0};
        assert_int_equal(cri_points_train(&t, w, NULL, &result, &err), CR_OK);
        assert_int_equal(result.stop, k < 2 ? CRI_TRAIN_INTERRUPTED : CRI_TRAIN_DONE);
        best[k] = result.best;
    }
    assert_true(best[1] < best[0] && best[2] < best[1]);
    cri_points_learner_clear(&l);
    cri_arena_destroy(arena);
}

TEST(the_bits_of_a_training_do_not_depend_on_threads) {
    cr_arena *arena = cri_arena_create(1 << 16);
    cri_points_data train = draw("cp3", 1, 60, arena), valid = draw("cp3", 2, 10, arena);
    cri_points_learner l = open_learner("cp3", "cone", CRI_LAGRANGE);
    double *w[2], score[2];
    for (int k = 0; k < 2; k++) {
        w[k] = CR_PUSH(arena, double, l.n_w);
        assert_true(cri_points_learner_start(&l, 7, w[k]));
        cri_train_result result;
        cr_error err = {0};
        const cri_points_training t = {.learner = &l,
                                       .train = &train,
                                       .valid = &valid,
                                       .n_epoch = 10,
                                       .batch = 50,
                                       .rate = 1e-2,
                                       .seed = 1,
                                       .n_thread = k + 1};
        double history[20];
        assert_int_equal(cri_points_train(&t, w[k], history, &result, &err), CR_OK);
        assert_true(history[18] < 0.9 * history[0]);
        score[k] = result.best;
    }
    assert_memory_equal(w[0], w[1], sizeof *w[0] * (size_t)l.n_w);
    assert_true(score[0] == score[1]);
    cri_points_learner_clear(&l);
    cri_arena_destroy(arena);
}

TEST(relations_measure_in_radii_and_links) {
    static const struct {
        const char *scene;
        double unit;
    } row[] = {{"cp3", 0.1 / 3.0}, {"bp5", 0.122}, {"bd5", 0.122}, {"gyro", 0.3}, {"rope", 0.05}};
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        cri_points_learner l = open_learner(row[k].scene, "relations", CRI_LAGRANGE);
        CHECK_CLOSE(l.relations->unit, row[k].unit, 1e-12, 0.0);
        cri_points_learner_clear(&l);
    }
}

TEST(baselines_take_five_steps_for_one) {
    cr_arena *arena = cri_arena_create(1 << 16);
    cri_points_data train = draw("cp3", 1, 40, arena), valid = draw("cp3", 2, 10, arena);
    for (int k = 0; k < 2; k++) {
        cri_points_learner l = open_learner("cp3", k == 0 ? "cone" : "relations", CRI_LAGRANGE);
        const cri_points_training t = {.learner = &l,
                                       .train = &train,
                                       .valid = &valid,
                                       .n_epoch = 2,
                                       .batch = 20,
                                       .rate = 1e-3,
                                       .n_thread = 1};
        double *w = CR_PUSH(arena, double, l.n_w);
        cri_train_result result;
        cr_error err = {0};
        assert_true(cri_points_learner_start(&l, 7, w));
        assert_int_equal(cri_points_train(&t, w, NULL, &result, &err), CR_OK);
        assert_int_equal(result.n_step, k == 0 ? 4 : 20);
        cri_points_learner_clear(&l);
    }
    cri_arena_destroy(arena);
}

TEST(an_unknown_law_is_named) {
    cri_points_learner l;
    cr_error err = {0};
    const cri_points_learner_def def = {.name = "cp3", .law = "glue", .n_hidden = 1, .width = 4};
    assert_int_equal(cri_points_learner_create(&def, &l, &err), CR_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "glue"));
}

CR_TEST_MAIN(half_of_the_windows_have_a_contact_and_none_begins_with_one, a_seed_names_its_windows,
             training_validation_and_test_have_windows_of_their_own,
             a_training_starts_from_nothing_of_the_truth, the_slope_of_the_loss_is_its_derivative,
             a_true_model_without_potential_has_no_loss,
             the_last_steps_find_numbers_that_few_windows_feel,
             forces_that_a_net_misses_do_not_bend_masses,
             last_steps_that_validation_does_not_like_are_not_kept,
             last_steps_that_are_stopped_say_so_and_keep_the_best,
             the_bits_of_a_training_do_not_depend_on_threads, relations_measure_in_radii_and_links,
             baselines_take_five_steps_for_one, an_unknown_law_is_named)
