// SPDX-License-Identifier: MIT
//
// A small space of two balls: it learns both, to the same bits on one thread and two, and after an
// interruption.

#include "learned/shape_train.h"

#include "cr_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { POINTS = 2 * CRI_SHAPE_CHUNK };

static double point[2 * POINTS * 3], normal[2 * POINTS * 3];
static char name[2][CRI_SPACE_NAME];

static cri_shape_data make_data(void) {
    cri_random stream = cri_random_of(4, 0);
    for (int i = 0; i < 2 * POINTS; i++) {
        double *n = normal + 3 * i, square = 0.0, r = i < POINTS ? 0.6 : 1.0;
        for (int a = 0; a < 3; a++) {
            n[a] = cri_random_normal(&stream);
            square += n[a] * n[a];
        }
        for (int a = 0; a < 3; a++) {
            n[a] /= sqrt(square);
            point[3 * i + a] = r * n[a];
        }
    }
    return (cri_shape_data){2, POINTS, point, normal, name};
}

static double radius_of(const cri_shape_space *s, int k) {
    cri_space_field f;
    cri_space_field_make(s, 1.0, s->code + k * s->n_code, &f);
    // along three axes
    double sum = 0.0;
    for (int a = 0; a < 3; a++) {
        cri_vec3 x = cri_v3(a == 0 ? 0.8 : 0.0, a == 1 ? 0.8 : 0.0, a == 2 ? 0.8 : 0.0);
        sum += (0.8 - cri_field_phi(&f.field, x)) / 3.0;
    }
    return sum;
}

static void train(const cri_shape_data *data, int n_thread, const char *checkpoint,
                  const cri_progress *progress, cr_arena *arena, cri_shape_space *out,
                  cri_train_result *result) {
    cri_shape_training t = cri_shape_training_default();
    t.n_hidden = 2;
    t.width = 16;
    t.n_code = 1;
    t.n_epoch = 150;
    t.rate = 1e-2;
    t.n_thread = n_thread;
    t.checkpoint = checkpoint;
    t.progress = progress;
    cr_error err = {0};
    assert_int_equal(cri_shape_train(data, &t, arena, out, result, &err), CR_OK);
}

static bool stop_at_70(void *context, const cri_progress_state *state) {
    (void)context;
    return state->done < 70;
}

TEST(a_space_of_two_balls) {
    cr_arena *arena = cri_arena_create(1 << 20);
    cri_shape_data data = make_data();
    cri_shape_space s, t, u;
    cri_train_result result;
    train(&data, 1, NULL, NULL, arena, &s, &result);
    CHECK_INT(result.stop, CRI_TRAIN_DONE);
    CHECK_CLOSE(radius_of(&s, 0), 0.6, 0.05, 0.0);
    CHECK_CLOSE(radius_of(&s, 1), 1.0, 0.05, 0.0);
    CHECK(s.slope > 1.0 && s.slope < 3.0);
    size_t n = sizeof *s.w * (size_t)cri_skip_net_n_weight(&s.net);
    train(&data, 2, NULL, NULL, arena, &t, &result);
    CHECK(memcmp(s.w, t.w, n) == 0 && memcmp(s.code, t.code, 2 * sizeof *s.code) == 0);

    const char *path = CAROM_BINARY_DIR "/shape_train_test.ck";
    cri_progress stop = {stop_at_70, NULL};
    train(&data, 1, path, &stop, arena, &u, &result);
    CHECK_INT(result.stop, CRI_TRAIN_INTERRUPTED);
    train(&data, 1, path, NULL, arena, &u, &result);
    CHECK_INT(result.stop, CRI_TRAIN_DONE);
    CHECK(memcmp(s.w, u.w, n) == 0);
    (void)remove(path);
    cri_arena_destroy(arena);
}

TEST(nets_that_are_none_are_refused) {
    cr_arena *arena = cri_arena_create(1 << 20);
    cri_shape_data data = make_data();
    cri_shape_training t = cri_shape_training_default();
    cri_shape_space s;
    cri_train_result result;
    cr_error err = {0};
    t.width = 5;
    CHECK_INT(cri_shape_train(&data, &t, arena, &s, &result, &err), CR_ERR_ARGUMENT);
    CHECK(strstr(err.text, "wider than the input"));
    t.width = 1000;
    CHECK_INT(cri_shape_train(&data, &t, arena, &s, &result, &err), CR_ERR_ARGUMENT);
    cri_arena_destroy(arena);
}

CR_TEST_MAIN(a_space_of_two_balls, nets_that_are_none_are_refused)
