// SPDX-License-Identifier: MIT
//
// The loss of windows: its slope against differences, for every model; and models of learned
// systems behind the public interface.

#include "central_fixture.h"
#include "points/learn/learner.h"

#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_ROW = 12, N_HORIZON = 4, N_WINDOW = 3 };

/// A recording of two bodies on a line that touch now and then.
static cri_touch_data recording(double *x, double *touch) {
    static const int window[N_WINDOW] = {0, 3, 6};
    cri_random stream = cri_random_of(3, 1);
    for (int k = 0; k < N_ROW * 4; k++) {
        x[k] = cri_random_uniform(&stream, -1.0, 1.0);
    }
    for (int k = 0; k < N_ROW; k++) {
        touch[k] = k % 3 == 1 ? 1.0 : 0.0;
    }
    return (cri_touch_data){2, 1, N_ROW, 0.05, x, touch, N_HORIZON, N_WINDOW, window};
}

static cri_learner learner_of(cri_learner_kind kind, cri_projection projection) {
    static const cri_central_contact touch = {0, 1, false, fixture_along, 0.0, 0.8, "a:b"};
    static const double mass[2] = {1.0, 2.0};
    cri_learner learner;
    assert_true(cri_learner_create(
        &(cri_learner_def){.kind = kind,
                           .points = {.n_body = 2, .n_dim = 1, .name = fixture_body},
                           .mass = mass,
                           .n_contact = 1,
                           .touch = &touch,
                           .projection = projection,
                           .learns_restitution = true,
                           .learns_damping = true,
                           .n_hidden = 6,
                           .n_signal = 5,
                           .act = CRI_ACT_SOFTPLUS,
                           .dt = 0.05},
        &learner));
    return learner;
}

/// What a loss needs, for differences.
typedef struct subject {
    const cri_learner *learner;
    cri_learner_batch batch;
    cr_arena *arena;
    bool is_touch; // which term is asked for
} subject;

static bool loss_of(void *context, const double *p, double *value) {
    const subject *s = context;
    cri_learner_terms terms = {0};
    bool is_done = cri_learner_loss(s->learner, &s->batch, p, &terms, NULL, s->arena);
    *value = (terms.motion + terms.touch) / s->batch.n_mean;
    return is_done;
}

static void check_slope(cri_learner_kind kind, cri_projection projection) {
    static const int all[N_WINDOW] = {0, 1, 2};
    double x[N_ROW * 4], touch[N_ROW];
    cri_touch_data data = recording(x, touch);
    cri_learner learner = learner_of(kind, projection);
    subject s = {.learner = &learner,
                 .batch = {.data = &data, .n_window = N_WINDOW, .window = all, .n_mean = N_WINDOW},
                 .arena = cri_arena_create(1 << 16)};
    double *p = calloc((size_t)learner.n_p, sizeof *p);
    double *p_adj = calloc((size_t)learner.n_p, sizeof *p_adj);
    assert_true(p && p_adj && s.arena);
    assert_true(cri_learner_start(&learner, 5, p, s.arena));
    cri_learner_terms terms = {0};
    assert_true(cri_learner_loss(&learner, &s.batch, p, &terms, p_adj, s.arena));
    CHECK_INT(terms.n_failed, 0);
    for (int i = 0; i < learner.n_p; i++) {
        double difference, uncertainty;
        assert_true(cr_gradient_check(loss_of, &s, p, i, 1e-4, 0, &difference, &uncertainty));
        if (!CHECK_CLOSE(p_adj[i], difference, 1e-8 + 10.0 * uncertainty, 1e-6)) {
            cr_test_fail("%s, number %d", cri_learner_name(kind), i);
        }
    }
    free(p);
    free(p_adj);
    cri_arena_destroy(s.arena);
    cri_learner_clear(&learner);
}

TEST(every_model_has_the_slope_of_its_loss) {
    for (int kind = 0; kind < CRI_N_LEARNER_KIND; kind++) {
        check_slope((cri_learner_kind)kind, CRI_PROJECT_NONE);
    }
    check_slope(CRI_LEARN_CDL, CRI_PROJECT_HOME);
    check_slope(CRI_LEARN_CDL, CRI_PROJECT_CLOSEST);
}

// numbers w = p | shifts: the motion teaches all but a contact net, that of a touch signal alone
static bool motion_of(void *context, const double *w, double *value) {
    subject s = *(const subject *)context;
    cri_learner_terms terms = {0};
    s.batch.shift = w + s.learner->n_p;
    bool is_done = cri_learner_loss(s.learner, &s.batch, w, &terms, NULL, s.arena);
    *value = (s.is_touch ? terms.touch : terms.motion) / s.batch.n_mean;
    return is_done;
}

static void check_shifts(cri_learner_kind kind, cri_projection projection) {
    static const int all[N_WINDOW] = {2, 0, 1};
    double x[N_ROW * 4], touch[N_ROW];
    cri_touch_data data = recording(x, touch);
    cri_learner learner = learner_of(kind, projection);
    int n_p = learner.n_p, n = n_p + N_WINDOW * 4;
    double *w = calloc((size_t)n, sizeof *w);
    double *w_adj = calloc((size_t)n, sizeof *w_adj);
    subject s = {.learner = &learner, .arena = cri_arena_create(1 << 16)};
    assert_true(w && w_adj && s.arena && cri_learner_start(&learner, 5, w, s.arena));
    for (int k = n_p; k < n; k++) {
        w[k] = 0.01 * (k - n_p) - 0.05;
    }
    s.batch = (cri_learner_batch){&data, N_WINDOW, all, N_WINDOW, w + n_p, w_adj + n_p};
    cri_learner_terms terms = {0};
    assert_true(cri_learner_loss(&learner, &s.batch, w, &terms, w_adj, s.arena));
    int net = kind == CRI_LEARN_CDL             ? learner.central->at_contact_net
              : kind == CRI_LEARN_RESNETCONTACT ? learner.baseline->at_contact_net
                                                : n_p;
    for (int i = 0; i < n; i++) {
        double difference, uncertainty;
        s.is_touch = i >= net && i < n_p;
        assert_true(cr_gradient_check(motion_of, &s, w, i, 1e-4, 0, &difference, &uncertainty));
        if (!CHECK_CLOSE(w_adj[i], difference, 1e-8 + 10.0 * uncertainty, 1e-6)) {
            cr_test_fail("%s with shifts, number %d", cri_learner_name(kind), i);
        }
    }
    free(w);
    free(w_adj);
    cri_arena_destroy(s.arena);
    cri_learner_clear(&learner);
}

TEST(fitted_starts_have_the_slope_of_the_motion) {
    for (int kind = 0; kind < CRI_N_LEARNER_KIND; kind++) {
        check_shifts((cri_learner_kind)kind, CRI_PROJECT_NONE);
    }
    check_shifts(CRI_LEARN_CDL, CRI_PROJECT_HOME);
    check_shifts(CRI_LEARN_CDL, CRI_PROJECT_CLOSEST);
}

// accelerations of -9 q, seen with noise of half the amplitude: from rows they seem weaker. All
// rows as one window, after those of ten, tell them best.
TEST(fitted_starts_see_through_noise) {
    enum { ROWS = 240, STEPS = 10 };
    double x[ROWS * 4], touch[ROWS] = {0}, slope[3];
    int window[ROWS];
    cri_random stream = cri_random_of(3, 0);
    double truth[4] = {0.3, 0.0, 0.0, 0.9};
    for (int row = 0; row < ROWS; row++) {
        for (int k = 0; k < 4; k++) {
            x[row * 4 + k] = truth[k] + 0.15 * cri_random_normal(&stream);
        }
        window[row] = row;
        for (int k = 0; k < 2; k++) {
            truth[k] += 0.05 * truth[2 + k];
            truth[2 + k] -= 0.05 * 9.0 * truth[k];
        }
    }
    cri_touch_data data = {2, 1, ROWS, 0.05, x, touch, STEPS, ROWS - STEPS, window};
    cri_touch_data whole = {2, 1, ROWS, 0.05, x, touch, ROWS - 1, 1, window};
    for (int way = 0; way < 3; way++) {
        cri_learner learner = learner_of(CRI_LEARN_CDL, CRI_PROJECT_NONE);
        cr_arena *arena = cri_arena_create(1 << 16);
        double p[400], g[2];
        assert_true(learner.n_p <= 400 && cri_learner_start(&learner, 1, p, arena));
        cri_learner_training training = {.learner = &learner,
                                         .data = &data,
                                         .recipe = {"r", 1e-2, true, 0.0, 0.0, way > 0},
                                         .n_epoch = 200};
        cri_train_result result;
        cr_error err = {0};
        assert_int_equal(cri_learner_train(&training, p, &result, &err), CR_OK);
        if (way == 2) {
            training.data = &whole;
            training.recipe.rate = 1e-3;
            training.n_epoch = 1000;
            assert_int_equal(cri_learner_train(&training, p, &result, &err), CR_OK);
        }
        double work = 0.0, square = 0.0;
        for (int k = 0; k < 24; k++) {
            double q[2] = {0.3 * cos(0.26 * k), 0.3 * sin(0.26 * k)};
            assert_true(cri_learner_force(&learner, p, 1, q, g, arena));
            work += g[0] * q[0] + g[1] / 2.0 * q[1]; // masses 1 and 2
            square += q[0] * q[0] + q[1] * q[1];
        }
        slope[way] = work / square;

        // p as it is, judged with first states of its own
        double before[400];
        memcpy(before, p, sizeof before);
        training.is_fixed = true;
        training.recipe.fits_starts = true;
        training.n_epoch = 20;
        assert_int_equal(cri_learner_train(&training, p, &result, &err), CR_OK);
        assert_memory_equal(before, p, sizeof before);
        cri_arena_destroy(arena);
        cri_learner_clear(&learner);
    }
    print_message("slope 9: %.3f from rows, %.3f fitted, %.3f whole\n", slope[0], slope[1],
                  slope[2]);
    CHECK(fabs(slope[2] - 9.0) < 0.5 * fabs(slope[1] - 9.0));
    CHECK(fabs(slope[1] - 9.0) < 0.5 * fabs(slope[0] - 9.0));
    CHECK(slope[0] < 8.0 && fabs(slope[1] - 9.0) < 0.9);
}

TEST(trained_numbers_are_the_nets_and_what_was_asked_for) {
    cri_learner learner = learner_of(CRI_LEARN_CDL, CRI_PROJECT_NONE);
    const cri_central *c = learner.central;
    cri_adam_group group[CRI_LEARNER_GROUP_MOST];
    int n = cri_learner_groups(&learner, 0.5, 0.0, group);
    int n_number = 0;
    double penalised = 0.0;
    for (int k = 0; k < n; k++) {
        n_number += group[k].n;
        penalised += group[k].l2 > 0.0 ? group[k].n : 0;
    }
    // restitution, damping, both nets; the kernels of the potential alone are penalised
    CHECK_INT(n_number,
              2 + cri_mlp_n_weight(&c->potential_net) + cri_mlp_n_weight(&c->contact_net));
    CHECK(penalised == 6 * 2 + 6);
    cri_learner_clear(&learner);
}

TEST(a_learned_system_is_a_model_like_any_other) {
    for (int kind = 0; kind < CRI_N_LEARNER_KIND; kind++) {
        cri_learner learner = learner_of((cri_learner_kind)kind, CRI_PROJECT_NONE);
        cr_arena *arena = cri_arena_create(1 << 16);
        double p[400], path[8 * 4], touch[8];
        static const double x0[4] = {0.2, -0.1, -1.0, 1.0};
        assert_true(learner.n_p <= 400);
        assert_true(cri_learner_start(&learner, 1, p, arena));
        assert_true(cri_learner_predict(&learner, p, x0, 7, path, touch, arena));
        cr_model *model = NULL;
        cr_error err = {0};
        cr_status status = learner.central ? cri_central_model(learner.central, p, &model, &err)
                                           : cri_baseline_model(learner.baseline, p, &model, &err);
        if (status != CR_OK) {
            fail_msg("%s", err.text);
        }
        cr_sim_options options = cr_sim_options_default(model);
        options.use_gradient = true;
        cr_sim *sim = NULL;
        assert_int_equal(cr_sim_create(model, &options, &sim, &err), CR_OK);
        double end[4];
        static const double h = 0.05;
        cr_rollout rollout = {.n_step = 7, .dt = &h, .n_dt = 1};
        assert_int_equal(cr_sim_rollout(sim, &rollout, x0, NULL, end, &err), CR_OK);
        assert_memory_equal(end, path + 7 * 4, sizeof end);
        CHECK(cr_model_find(model, CR_VECTOR_X, "b/qvel[0]", NULL) == 3);
        cr_sim_destroy(sim);
        cr_model_destroy(model);
        cri_arena_destroy(arena);
    }
}

// Two bodies at 0.7 m without forces or touches, and a contact net that says one thing: of its own
// contacts the projection puts them at 0, in every step. With first states fitted it has no say:
// measured touches do that.
TEST(the_contact_net_decides_where_projection_acts) {
    static const int all[N_WINDOW] = {0, 1, 2};
    double x[N_ROW * 4], touch[N_ROW];
    cri_touch_data data = recording(x, touch);
    memset(touch, 0, sizeof touch);
    for (int k = 0; k < N_ROW * 4; k++) {
        x[k] = k % 4 < 2 ? 0.7 : 0.0;
    }
    cri_learner learner = learner_of(CRI_LEARN_CDL, CRI_PROJECT_HOME);
    const cri_central *c = learner.central;
    int n_net = cri_mlp_n_weight(&c->contact_net);
    cr_arena *arena = cri_arena_create(1 << 16);
    double *p = calloc((size_t)learner.n_p, sizeof *p);
    assert_true(p && arena && cri_learner_start(&learner, 5, p, arena));
    memset(p + c->at_potential, 0, (size_t)(learner.n_p - c->at_potential) * sizeof *p);
    for (int says = -1; says <= 1; says += 2) {
        p[c->at_contact_net + n_net - 1] = says;
        cri_learner_terms terms = {0};
        assert_true(cri_learner_loss(&learner,
                                     &(cri_learner_batch){&data, N_WINDOW, all, 1.0, NULL, NULL}, p,
                                     &terms, NULL, arena));
        double moved = says > 0 ? 0.5 * 0.7 * 0.7 * N_HORIZON * N_WINDOW : 0.0;
        CHECK_CLOSE(terms.motion, moved, 1e-14, 1e-14);
        for (int is_touched = 0; is_touched < 2; is_touched++) {
            static const double shift[N_WINDOW * 4] = {0};
            terms = (cri_learner_terms){0};
            for (int k = 0; k < N_ROW; k++) {
                touch[k] = is_touched;
            }
            assert_true(cri_learner_loss(
                &learner, &(cri_learner_batch){&data, N_WINDOW, all, 1.0, shift, NULL}, p, &terms,
                NULL, arena));
            double fitted = is_touched ? 0.5 * 0.7 * 0.7 * N_HORIZON * N_WINDOW : 0.0;
            CHECK_CLOSE(terms.motion, fitted, 1e-14, 1e-14);
        }
        memset(touch, 0, sizeof touch);
    }
    free(p);
    cri_arena_destroy(arena);
    cri_learner_clear(&learner);
}

CR_TEST_MAIN(every_model_has_the_slope_of_its_loss, the_contact_net_decides_where_projection_acts,
             fitted_starts_have_the_slope_of_the_motion, fitted_starts_see_through_noise,
             trained_numbers_are_the_nets_and_what_was_asked_for,
             a_learned_system_is_a_model_like_any_other)
