// SPDX-License-Identifier: MIT
//
// Trained models as files: every model comes back and moves to the same bits; damage is refused.

#include "central_fixture.h"

#include "base/io/hdf5_file.h"
#include "points/learn/weight_file.h"

#include <stdio.h>
#include <stdlib.h>

#define PATH CAROM_BINARY_DIR "/learner_file_test.h5"

static const double wall[2] = {0.6, 0.8};

static cri_learner learner_of(cri_learner_kind kind, int n_contact) {
    static const cri_central_contact touch[2] = {{0, -1, false, wall, 0.3, 0.7, "a:wall"},
                                                 {0, 1, true, NULL, 0.5, 0.9, "a:b"}};
    static const double mass[2] = {1.5, 2.0};
    static const double x0[8] = {0.1, 0.2, 0.3, 0.4, 1.0, -1.0, 0.5, 0.2};
    cri_learner learner;
    assert_true(cri_learner_create(
        &(cri_learner_def){.kind = kind,
                           .points = {.n_body = 2, .n_dim = 2, .name = fixture_body},
                           .mass = mass,
                           .n_contact = n_contact,
                           .touch = touch,
                           .projection = CRI_PROJECT_CLOSEST,
                           .n_hidden = 7,
                           .n_signal = 5,
                           .act = CRI_ACT_TANH,
                           .dt = 0.05,
                           .x0 = x0},
        &learner));
    return learner;
}

static void check_kind(cri_learner_kind kind, int n_contact) {
    cri_learner learner = learner_of(kind, n_contact);
    cr_arena *arena = cri_arena_create(1 << 16);
    double *p = calloc((size_t)learner.n_p, sizeof *p);
    double *q = calloc((size_t)learner.n_p, sizeof *q);
    double x0[8], path[11 * 8], touch[11 * 2], end[8];
    cr_error err = {0};
    assert_true(arena && p && q && cri_learner_start(&learner, 3, p, arena));
    if (cri_learner_write(PATH, &learner, p, &err) != CR_OK) {
        fail_msg("%s", err.text);
    }
    cr_model *model = NULL;
    if (cr_model_load(PATH, &model, &err) != CR_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(cr_model_sizes(model).n_p, learner.n_p);
    cr_model_defaults(model, -1, q, x0, NULL);
    assert_memory_equal(p, q, (size_t)learner.n_p * sizeof *p);
    assert_true(cri_learner_predict(&learner, p, x0, 10, path, touch, arena));
    cr_sim_options options = cr_sim_options_default(model);
    cr_sim *sim = NULL;
    assert_int_equal(cr_sim_create(model, &options, &sim, &err), CR_OK);
    static const double h = 0.05;
    assert_int_equal(
        cr_sim_rollout(sim, &(cr_rollout){.n_step = 10, .dt = &h, .n_dt = 1}, x0, NULL, end, &err),
        CR_OK);
    assert_memory_equal(end, path + 10 * 8, sizeof end);
    cr_sim_destroy(sim);
    cr_model_destroy(model);
    free(p);
    free(q);
    cri_arena_destroy(arena);
    cri_learner_clear(&learner);
}

TEST(every_model_comes_back_from_its_file) {
    if (cri_hdf5_check(PATH, NULL) != CR_OK) {
        SKIP("HDF5 is missing");
    }
    for (int kind = 0; kind < CRI_N_LEARNER_KIND; kind++) {
        check_kind((cri_learner_kind)kind, 2);
    }
    check_kind(CRI_LEARN_RESNET, 0);
    (void)remove(PATH);
}

TEST(what_is_no_model_is_refused) {
    cr_error err = {0};
    if (cri_hdf5_check(PATH, &err) != CR_OK) {
        SKIP("HDF5 is missing");
    }
    double one = 1.0;
    cri_array array = {.name = (char[]){"dt"}, .rank = 1, .extent = {1}, .value = &one};
    static const char *const systems[] = {"central-difference", "pinball"};
    for (int k = 0; k < 2; k++) {
        char system[32];
        (void)snprintf(system, sizeof system, "%s", systems[k]);
        cri_array_text text = {"system", system};
        cri_array_file content = {
            .format = "carom weights 1", .n_array = 1, .array = &array, .n_text = 1, .text = &text};
        assert_int_equal(cri_arrays_write(PATH, &content, &err), CR_OK);
        cr_model *model = NULL;
        CHECK(cr_model_load(PATH, &model, &err) != CR_OK && model == NULL);
        CHECK(strstr(err.text, k == 0 ? "no model of weights" : "pinball") != NULL);
    }
    (void)remove(PATH);
}

CR_TEST_MAIN(every_model_comes_back_from_its_file, what_is_no_model_is_refused)
