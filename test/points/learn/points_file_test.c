// SPDX-License-Identifier: MIT
//
// Systems of points as files: they come back and move to the same bits; files of another shape are
// refused by what does not fit.

#include "points/learn/weight_file.h"

#include "base/base.h"
#include "base/io/hdf5_file.h"
#include "cr_test.h"
#include "model/system.h"

#include <string.h>

#define PATH CAROM_BINARY_DIR "/points_file_test.h5"

static cri_points_learner learner_of(const char *name, int n, const char *law) {
    cri_points_learner l;
    cr_error err = {0};
    const cri_points_learner_def def = {
        .name = name, .n = n, .law = law, .form = CRI_HAMILTON, .n_hidden = 2, .width = 6};
    assert_int_equal(cri_points_learner_create(&def, &l, &err), CR_OK);
    return l;
}

static void check_round(const char *name, int n, const char *law) {
    cri_points_learner l = learner_of(name, n, law);
    cri_points_scene *sc = l.scene;
    cr_error err = {0};
    cr_model *model = NULL;
    cri_points_memory m;
    double w[2000], x[64], next[64], end[64], p[2000];
    assert_true(l.n_w <= 2000 && sc->n_x <= 64 && cri_points_memory_open(&m));
    assert_true(cri_points_learner_start(&l, 5, w));
    cri_points_learner_values(&l, w, sc->p);
    sc->dt = sc->law.dt = 0.004;
    if (cri_points_file_write(PATH, sc, l.net, sc->p, &err) != CR_OK ||
        cr_model_load(PATH, &model, &err) != CR_OK) {
        fail_msg("%s", err.text);
    }
    cr_model_defaults(model, -1, p, x, NULL);
    assert_memory_equal(p, sc->p, (size_t)sc->n_p * sizeof *p);
    assert_memory_equal(x, sc->x0, (size_t)sc->n_x * sizeof *x);
    cr_sim_options options = cr_sim_options_default(model);
    assert_string_equal(options.law, law);
    assert_true(cr_model_sizes(model).dt == 0.004);
    cr_sim *sim = NULL;
    assert_int_equal(cr_sim_create(model, &options, &sim, &err), CR_OK);
    assert_int_equal(cr_sim_set_params(sim, p, &err), CR_OK);
    assert_int_equal(cr_sim_step(sim, sc->dt, x, NULL, end, &err), CR_OK);
    assert_non_null(cri_points_step(sc, sc->p, 1, x, next, NULL, m.keep, m.scratch));
    assert_memory_equal(next, end, (size_t)sc->n_x * sizeof *next);
    cr_sim_destroy(sim);
    cr_model_destroy(model);
    cri_points_memory_close(&m);
    cri_points_learner_clear(&l);
}

TEST(systems_come_back_and_move_to_the_same_bits) {
    cr_error err = {0};
    if (cri_hdf5_check(PATH, &err) != CR_OK) {
        SKIP("HDF5 is missing");
    }
    check_round("cp3", 0, "cone");
    check_round("bp5", 0, "cone-reg");
    check_round("rope", 4, "lcp");
}

// a file whose texts and arrays are as given
static void check_refused(const char *text[4], int n_array, cri_array *array, const char *word) {
    static const char *const name[4] = {"system", "name", "law", "form"};
    cri_array_text own[4];
    for (int k = 0; k < 4; k++) {
        own[k] = (cri_array_text){name[k], (char *)text[k]};
    }
    cr_error err = {0};
    cr_model *model = NULL;
    const cri_array_file file = {CRI_SYSTEM_FORMAT, n_array, array, 4, own};
    assert_int_equal(cri_arrays_write(PATH, &file, &err), CR_OK);
    assert_int_not_equal(cr_model_load(PATH, &model, &err), CR_OK);
    assert_null(model);
    if (!strstr(err.text, word) || !strstr(err.text, "points_file_test.h5")) {
        fail_msg("'%s' is not in: %s", word, err.text);
    }
}

TEST(files_of_another_shape_are_refused) {
    cr_error err = {0};
    if (cri_hdf5_check(PATH, &err) != CR_OK) {
        SKIP("HDF5 is missing");
    }
    double n_point = 0.0, dt = 0.01, x0[12] = {0.0}, value[10] = {0.0}, weight[100] = {0.0};
    cri_points_scene *sc = NULL;
    assert_int_equal(cri_points_scene_create("cp3", 0, &sc, NULL), CR_OK);
    int n_value = sc->law.i_epsilon + 1;
    assert_true(n_value <= 10);
    memcpy(value, sc->p, (size_t)n_value * sizeof *value);
    cri_points_scene_destroy(sc);
    cri_array good[8] = {{"points", 1, {1}, &n_point},
                         {"dt", 1, {1}, &dt},
                         {"x0", 1, {12}, x0},
                         {"value", 1, {n_value}, value},
                         {"weighted-potential/1/w", 2, {3, 5}, weight},
                         {"weighted-potential/1/b", 1, {3}, weight},
                         {"weighted-potential/2/w", 2, {1, 3}, weight},
                         {"weighted-potential/2/b", 1, {1}, weight}};
    const char *text[4] = {"points", "cp3", "cone", "lagrange"};
    check_refused(text, 8, good, "takes 5 numbers");
    good[4].name = "potential/1/w";
    check_refused(text, 8, good, "train it again");
    n_point = 3.0;
    good[3].extent[0] = n_value + 1; // a stiffness
    good[4].name = "weighted-potential/1/w";
    check_refused((const char *[4]){"points", "rope", "cone", "lagrange"}, 8, good,
                  "a rope without springs, from an older version: train it again");
    n_point = 0.0;
    good[3].extent[0] = n_value;
    check_refused((const char *[4]){"points", "bp5", "cone", "lagrange"}, 4, good, "'x0' has 12");
    check_refused((const char *[4]){"points", "cp4", "cone", "lagrange"}, 4, good, "cp4");
    check_refused((const char *[4]){"points", "cp3", "magic", "lagrange"}, 4, good, "magic");
    check_refused(text, 3, good, "'value'");
    good[3].extent[0] = n_value - 1;
    check_refused(text, 4, good, "'value' has");
    good[3].extent[0] = n_value;
    value[0] = -1.0;
    check_refused(text, 4, good, "mass1/mass");
    value[0] = 0.1;
    dt = 0.0;
    check_refused(text, 4, good, "time step");
}

CR_TEST_MAIN(systems_come_back_and_move_to_the_same_bits, files_of_another_shape_are_refused)
