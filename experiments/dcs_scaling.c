// SPDX-License-Identifier: MIT
//
// Time of one iteration, loss and slope, as Table 3 of paper 000 has it: ropes of 50, 100 and 200
// points with one window a batch, on one thread, net and law as they are trained. Beside it five
// balls with batches of 200. Windows with a contact are as frequent as in training. What contact
// takes is the difference to the same windows without it, which take turns with them. Every time is
// the processor's, the least of four.

#include "dcs_case.h"

#include "base/base.h"

#include <math.h>
#include <time.h>

enum { N_WINDOW = 200, N_REPEAT = 4 };

/// What is timed.
typedef struct subject {
    const char *name;
    const char *scene;
    int n_point;
    int batch;
    double paper;        // s
    double paper_growth; // relative to the first
} subject;

/// What it took.
typedef struct timing {
    double whole, smooth; // s
} timing;

static const subject subjects[] = {
    {"rope D = 100, batch 1", "rope", 50, 1, 0.869, 1.0},
    {"rope D = 200, batch 1", "rope", 100, 1, 1.563, 1.7},
    {"rope D = 400, batch 1", "rope", 200, 1, 3.225, 3.7},
    {"five balls, batch 200", "bp5", 0, 200, NAN, NAN},
};

static cr_status no_memory(cr_error *err) {
    return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for an experiment");
}

/// One model and its windows.
typedef struct bench {
    const cri_points_learner *l;
    const cri_points_data *data;
    const double *w;
    double *w_adj;
    cri_points_memory memory;
} bench;

static double processor_seconds(void) {
    return (double)clock() / CLOCKS_PER_SEC;
}

// seconds of a batch with or without contact; negative when there is no memory
static double time_batch(const bench *b, int n, const int *sample, bool has_contact) {
    cri_train_shard s = {.w = b->w, .n = n, .sample = sample, .w_adj = b->w_adj};
    b->l->scene->has_contact = has_contact;
    double begin = processor_seconds();
    bool is_done = cri_points_window_loss(b->l, b->data, &s, &b->memory);
    double seconds = processor_seconds() - begin;
    b->l->scene->has_contact = true;
    return is_done ? seconds : -1.0;
}

// means over n batches of the least times; false when there is no memory
static bool time_batches(const bench *b, int batch, int n, timing *out) {
    int sample[N_WINDOW];
    for (int k = 0; k < n; k++) {
        for (int i = 0; i < batch; i++) {
            sample[i] = (k + i) % b->data->n;
        }
        timing least = {INFINITY, INFINITY};
        for (int r = 0; r < N_REPEAT && least.smooth >= 0.0 && least.whole >= 0.0; r++) {
            least.smooth = fmin(least.smooth, time_batch(b, batch, sample, false));
            least.whole = fmin(least.whole, time_batch(b, batch, sample, true));
        }
        if (least.smooth < 0.0 || least.whole < 0.0) {
            return false;
        }
        out->smooth += least.smooth / n;
        out->whole += least.whole / n;
    }
    return true;
}

static cr_status time_model(const subject *u, const cri_points_learner *l,
                            const cri_points_data *data, int n, timing *out, cr_error *err) {
    bench b = {.l = l, .data = data};
    cr_arena *arena = cri_arena_create(1 << 16);
    bool is_done = cri_points_memory_open(&b.memory) && arena;
    double *w = is_done ? CR_PUSH(arena, double, l->n_w) : NULL;
    b.w = w;
    b.w_adj = is_done ? CR_PUSH(arena, double, l->n_w) : NULL;
    is_done = w && b.w_adj && cri_points_learner_start(l, 1, w);
    is_done = is_done && time_batches(&b, u->batch, n, out);
    cri_points_memory_close(&b.memory);
    cri_arena_destroy(arena);
    return is_done ? CR_OK : no_memory(err);
}

static cr_status time_subject(const subject *u, int n, uint64_t seed, timing *out, cr_error *err) {
    cri_points_scene *truth = NULL;
    cri_points_data data;
    cr_arena *arena = cri_arena_create(1 << 16);
    cri_points_learner l = {0};
    cr_status status =
        arena ? cri_points_scene_create(u->scene, u->n_point, &truth, err) : no_memory(err);
    if (status == CR_OK) {
        status = cri_points_windows(truth, seed, N_WINDOW, &data, arena, err);
    }
    if (status == CR_OK) {
        const cri_points_learner_def def = {
            .name = u->scene, .n = u->n_point, .law = "cone", .n_hidden = 3, .width = 256};
        status = cri_points_learner_create(&def, &l, err);
    }
    if (status == CR_OK) {
        status = time_model(u, &l, &data, n, out, err);
    }
    cri_points_learner_clear(&l);
    cri_points_scene_destroy(truth);
    cri_arena_destroy(arena);
    return status;
}

cr_status cri_dcs_scaling_run(const cri_experiment *self, const cri_experiment_options *options,
                              cri_experiment_result *out, cr_error *err) {
    (void)self;
    const int n_subject = (int)(sizeof subjects / sizeof *subjects);
    double first = 0.0;
    for (int k = 0; k < n_subject; k++) {
        const subject *u = &subjects[k];
        timing t = {0};
        int n = u->batch == 1 ? 40 : 4;
        CR_TRY(time_subject(u, options->is_full ? 5 * n : n, options->seed, &t, err));
        first = k == 0 ? t.whole : first;
        cri_experiment_add(out, "s", "lower", t.whole, u->paper, "%s, iteration", u->name);
        cri_experiment_add(out, "s", "lower", fmax(0.0, t.whole - t.smooth), NAN,
                           "%s, of it for contact", u->name);
        if (isfinite(u->paper_growth)) {
            cri_experiment_add(out, "", "lower", t.whole / first, u->paper_growth,
                               "%s, growth from D = 100", u->name);
        }
        if (!cri_progress_tell(options->progress,
                               &(cri_progress_state){"size", k + 1, n_subject, NAN})) {
            out->is_interrupted = true;
            return CR_OK;
        }
    }
    return CR_OK;
}
