// SPDX-License-Identifier: MIT
//
// Learned shapes from their bounces (paper 004, Table A.1): the set-up of sdf-bounce without
// gravity, 1 s, a random orientation; the code of the shape is sought. Target: the code of a shape
// that the space was trained on; start: near the mean of all codes. Adam with rate 0.001, at most
// 100 iterations, stop at a change of 1e-5 as for the ball, 1e-4 |code|^2 in the loss; mass 1
// whatever the shape.
//
// Beside it a search that sees the same positions and no more: the least squares of carom fit over
// every third of them, from the same start and, until one fits, from the best by their squares of
// codes that are drawn, first with the mean and deviation of the space, then with those of the best
// of the round before, then around the best of all. A search that gains less than a hundredth in an
// iteration has come to a kink, where another point touches first, and is left: what is drawn
// around it lies behind the kink. All of that is an attempt; where it has not fitted, the next
// begins anew, since codes far from the truth may fit nearly as well. When none comes within 1 mm,
// the start is what is known.
//
// Floor and wall are planes, their front faces; the spaces are those of data/shapes, since the
// paper's scans cannot be had.

#include "sdf.h"
#include "sdf_space.h"
#include "sdf_task.h"

#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_RUN = 50, N_QUICK = 1, N_STEP = 30, N_ITERATION = 100, N_ITERATION_QUICK = 30 };
enum { N_ROUND = 3, N_DRAW = 24, N_BEST = 6, N_SEARCH = 20 }; // codes drawn a round, the best
enum { N_HOP = 16, N_NEAR = 4, N_POLISH = 5 }; // around the best: codes drawn, iterations from one
enum { N_ATTEMPT = 6 }; // one in three fails on cameras: all of six, one in 700

static const double is_fitted = 1e-12; // sum of squares, m2
static const double is_near = 1e-5;    // likewise, about 1 mm a position: else nothing was found
static const double hop_least = 0.03, hop_most = 0.5; // deviations of the space, around the best
static const double least_gain = 0.01;                // of the squares: at a kink a search creeps

// mean chamfer of Table A.1, found over start
static const double paper_ratio[CRI_SDF_SPACES] = {0.0081 / 0.0216, 0.0019 / 0.0076,
                                                   0.0244 / 0.0290, 0.0064 / 0.0052};

static cr_status open_task(cri_sdf_space *s, const double quat[4], const char *sought,
                           const char *stepper, cri_sdf_task *task, cr_error *err) {
    char scene[3072];
    snprintf(scene, sizeof scene,
             "<mujoco><option gravity='0 0 0'/><custom>"
             "<text name='carom:shape:b' data='neural %s; cells 16'/>"
             "<text name='carom:inertia:b' data='shape'/>"
             "<numeric name='carom:restitution:b' data='0.5'/></custom><worldbody>"
             "<geom name='floor' type='plane' size='9 9 1' friction='0.25'/>"
             "<geom name='wall' type='plane' size='9 9 1' pos='4.5 0 0' zaxis='-1 0 0' "
             "friction='0.25'/><body name='b'><freejoint/><geom name='b' type='sphere' size='0.5' "
             "friction='0.25'/></body></worldbody><keyframe><key qpos='0 0 5 %.17g %.17g %.17g "
             "%.17g' qvel='5 0 0 0 0 0'/></keyframe></mujoco>",
             s->path, quat[0], quat[1], quat[2], quat[3]);
    *task = (cri_sdf_task){.n_step = N_STEP,
                           .dt = 1.0 / 30.0,
                           .n_entry = 3,
                           .stride = 3,
                           .weight = 1.0 / N_STEP,
                           .density = -1,
                           .kind = CRI_SHAPE_FIELD,
                           .geom = 2,
                           .code_weight = 1e-4,
                           .rate = 1e-3,
                           .n_search = N_SEARCH,
                           .flat = least_gain,
                           .rule = CRI_SDF_ADAM};
    for (int k = 0; k < s->space.n_code && k < CRI_SDF_MOST; k++) {
        cri_shape_space_range(&s->space, k, &task->lower[k], &task->upper[k]);
    }
    CR_TRY(cri_sdf_open(task, scene, sought, "lcp", stepper, err));
    task->density = cr_model_find(task->model, CR_VECTOR_P, "b/density", err);
    return task->density >= 0 ? CR_OK : CR_ERR_ARGUMENT;
}

enum { START, RULE, SEARCH, BLIND, STAGES }; // BLIND: without the time of contact

/// Chamfer distances of one space: sums over runs, and what is left of the start in each.
typedef struct score {
    int n;
    double sum[STAGES];
    double *left[STAGES]; // (n)
} score;

/// The best codes of a round, the best one first.
typedef struct starts {
    int n;
    double code[N_BEST + 1][CRI_CODE_MOST], loss[N_BEST + 1];
} starts;

static void put_start(starts *b, const double *code, double loss) {
    int at = b->n < N_BEST ? b->n++ : N_BEST;
    for (; at > 0 && loss < b->loss[at - 1]; at--) {
        memcpy(b->code[at], b->code[at - 1], sizeof b->code[at]);
        b->loss[at] = b->loss[at - 1];
    }
    memcpy(b->code[at], code, sizeof b->code[at]);
    b->loss[at] = loss;
}

// a code among the best if it is one; what cannot be simulated is passed over
static cr_status try_code(cri_sdf_task *task, const double *code, starts *best, cr_error *err) {
    double loss = 0.0;
    cr_status status = cri_sdf_squares(task, code, &loss, err);
    if (status == CR_OK) {
        put_start(best, code, loss);
    }
    return status == CR_ERR_NUMERIC ? CR_OK : status;
}

// a code with the mean and deviation of the best so far
static void draw_among(const cri_sdf_task *task, const starts *among, cri_random *random,
                       double *code) {
    for (int k = 0; k < task->n_sought; k++) {
        double mean = 0.0, square = 0.0;
        for (int i = 0; i < among->n; i++) {
            mean += among->code[i][k] / among->n;
        }
        for (int i = 0; i < among->n; i++) {
            double apart = among->code[i][k] - mean;
            square += apart * apart / among->n;
        }
        double to = mean + sqrt(square) * cri_random_normal(random);
        code[k] = fmin(fmax(to, task->lower[k]), task->upper[k]);
    }
}

// the best of codes drawn among those of the last round, or of all the space when there are none
static cr_status draw_starts(const cri_sdf_space *s, cri_sdf_task *task, cri_random *random,
                             starts *best, cr_error *err) {
    starts last = *best;
    best->n = 0;
    for (int i = 0; i < N_DRAW; i++) {
        double code[CRI_CODE_MOST] = {0.0};
        if (last.n > 0) {
            draw_among(task, &last, random, code);
        } else {
            cri_sdf_space_near(s, random, NULL, 1.0, code);
        }
        CR_TRY(try_code(task, code, best, err));
    }
    return CR_OK;
}

// a search from code; what is better than *best goes into value
static cr_status search_from(cri_sdf_task *task, const double *code, double *best, double *value,
                             cr_error *err) {
    double at[CRI_CODE_MOST] = {0.0}, loss = INFINITY;
    size_t n_byte = sizeof *value * (size_t)task->n_sought;
    memcpy(at, code, n_byte);
    cr_status status = cri_sdf_search(task, at, &loss, err);
    if (status == CR_OK && loss < *best) {
        *best = loss;
        memcpy(value, at, n_byte);
    }
    return status == CR_ERR_NUMERIC ? CR_OK : status;
}

// draws around the best, value, and begins from the best of these, again and again until one fits
static cr_status hop(const cri_sdf_space *s, cri_sdf_task *task, cri_random *random, double *best,
                     double *value, cr_error *err) {
    task->n_search = N_POLISH;
    for (int k = 0; *best > is_fitted && k < N_HOP && !task->is_interrupted; k++) {
        starts drawn = {0};
        for (int i = 0; i < N_NEAR; i++) {
            double code[CRI_CODE_MOST] = {0.0};
            double width = exp(cri_random_uniform(random, log(hop_least), log(hop_most)));
            cri_sdf_space_near(s, random, value, width, code);
            CR_TRY(try_code(task, code, &drawn, err));
        }
        if (drawn.n > 0) {
            CR_TRY(search_from(task, drawn.code[0], best, value, err));
        }
        cri_progress_state at = {"hop", k + 1, N_HOP, *best};
        task->is_interrupted = !cri_progress_tell(task->progress, &at);
    }
    task->n_search = N_SEARCH;
    return CR_OK;
}

// from the best of each round, of the first one from two, then around the best, until one fits
static cr_status attempt(const cri_sdf_space *s, cri_sdf_task *task, cri_random *random,
                         double *best, double *value, cr_error *err) {
    starts drawn = {0};
    for (int round = 0; *best > is_fitted && round < N_ROUND && !task->is_interrupted; round++) {
        int n_from = round == 0 ? 2 : 1;
        CR_TRY(draw_starts(s, task, random, &drawn, err));
        for (int i = 0; *best > is_fitted && i < drawn.n && i < n_from; i++) {
            CR_TRY(search_from(task, drawn.code[i], best, value, err));
        }
    }
    return hop(s, task, random, best, value, err);
}

// from value, then by attempts that know nothing of one another, until one fits: where one has gone
// to a wrong code that fits nearly as well, the next does not begin there. The first attempt has
// the search from value to hop around. value stays as it is when none comes near
static cr_status search(const cri_sdf_space *s, cri_sdf_task *task, cri_random *random,
                        double *value, cr_error *err) {
    double best = INFINITY, here = INFINITY;
    double start[CRI_CODE_MOST] = {0.0}, at[CRI_CODE_MOST] = {0.0};
    size_t n_byte = sizeof *value * (size_t)task->n_sought;
    memcpy(start, value, n_byte);
    memcpy(at, value, n_byte);
    CR_TRY(search_from(task, start, &here, at, err));
    for (int k = 0; k < N_ATTEMPT && best > is_fitted && !task->is_interrupted; k++) {
        CR_TRY(attempt(s, task, random, &here, at, err));
        if (here < best) {
            best = here;
            memcpy(value, at, n_byte);
        }
        here = INFINITY;
        memcpy(at, start, n_byte);
    }
    if (best > is_near) {
        memcpy(value, start, n_byte);
    }
    return CR_OK;
}

/// What all stages of a run share.
typedef struct bounce {
    double truth[CRI_CODE_MOST], quat[4];
    int n_iteration; // of the descent
    cri_random random;
    const cri_progress *progress;
    bool is_interrupted;
} bounce;

// the code that a stage finds from the start, in value
static cr_status find(cri_sdf_space *s, int stage, bounce *b, cri_report *report, double *value,
                      cr_error *err) {
    cri_sdf_task task;
    char sought[128];
    cr_status status = open_task(s, b->quat, cri_sdf_space_sought(s, sought),
                                 stage == BLIND ? "end" : "located", &task, err);
    if (status == CR_OK) {
        task.n_iteration = b->n_iteration;
        task.report = report;
        task.title = s->path;
        task.progress = b->progress;
        cri_sdf_put(&task, b->truth);
        status = cri_sdf_move(&task, task.target, err);
    }
    if (status == CR_OK) {
        status = stage == SEARCH ? search(s, &task, &b->random, value, err)
                                 : cri_sdf_descend(&task, value, NULL, err);
    }
    b->is_interrupted = task.is_interrupted;
    cri_sdf_close(&task);
    return status;
}

static cr_status run_one(cri_sdf_space *s, uint64_t seed, const cri_experiment_options *options,
                         score *out, cr_error *err) {
    bounce b = {.n_iteration = options->is_full ? N_ITERATION : N_ITERATION_QUICK,
                .random = cri_random_of(seed, 3),
                .progress = options->progress};
    double start[CRI_CODE_MOST], value[CRI_CODE_MOST];
    double apart[STAGES] = {0.0};
    int n_stage = options->is_full ? STAGES : BLIND;
    cri_sdf_space_draw(s, &b.random, b.truth, start);
    for (int i = 0; i < 4; i++) {
        b.quat[i] = cri_random_normal(&b.random);
    }
    for (int k = 0; k < n_stage && !b.is_interrupted; k++) {
        memcpy(value, start, sizeof value);
        if (k != START) {
            CR_TRY(find(s, k, &b, k == RULE && out->n == 0 ? options->report : NULL, value, err));
        }
        CR_TRY(cri_sdf_space_chamfer(s, b.truth, value, &apart[k], err));
    }
    for (int k = 0; k < STAGES && !b.is_interrupted; k++) {
        out->sum[k] += k < n_stage ? apart[k] : NAN;
        out->left[k][out->n] = apart[k] / apart[START];
    }
    out->n += !b.is_interrupted;
    return CR_OK;
}

// sorts, and counts those below one half
static double median(int n, double *value, int *n_below) {
    *n_below = 0;
    for (int i = 0; i < n; i++) {
        double v = value[i];
        int at = i;
        for (; at > 0 && value[at - 1] > v; at--) {
            value[at] = value[at - 1];
        }
        value[at] = v;
        *n_below += v < 0.5;
    }
    return 0.5 * (value[(n - 1) / 2] + value[n / 2]);
}

static void tell(const char *name, uint64_t first_seed, const score *e, double paper,
                 cri_experiment_result *out) {
    static const char *const what[STAGES] = {"start", "found", "found by search",
                                             "found without the time of contact"};
    for (int k = START; k < STAGES && isfinite(e->sum[k]); k++) {
        cri_experiment_add(out, "m2", "lower", e->sum[k] / e->n, NAN, "%s: chamfer, %s", name,
                           what[k]);
    }
    for (int k = RULE; k < STAGES && isfinite(e->sum[k]); k++) {
        for (int i = 0; i < e->n; i++) {
            cri_experiment_add(out, "1", "lower", e->left[k][i], NAN,
                               "%s: %s over start, seed %lld", name, what[k],
                               (long long)first_seed + i);
        }
    }
    // behind the rows by seed, since a median sorts
    for (int k = RULE; k < STAGES && isfinite(e->sum[k]); k++) {
        int n_below;
        double middle = median(e->n, e->left[k], &n_below);
        cri_experiment_add(out, "1", "lower", e->sum[k] / e->sum[START], k == RULE ? paper : NAN,
                           "%s: %s over start", name, what[k]);
        cri_experiment_add(out, "1", "lower", middle, NAN, "%s: %s, median of runs", name, what[k]);
        cri_experiment_add(out, "1", "higher", (double)n_below / e->n, NAN,
                           "%s: %s, share of runs below 0.5", name, what[k]);
    }
}

static cr_status run(const cri_experiment *self, const cri_experiment_options *options,
                     cri_experiment_result *out, cr_error *err) {
    (void)self;
    int n = options->n_run > 0 ? options->n_run : options->is_full ? N_RUN : N_QUICK;
    double ratio = 0.0, by_search = 0.0;
    for (int k = 0; k < CRI_SDF_SPACES && !out->is_interrupted; k++) {
        cri_sdf_space space;
        score e = {0};
        if (options->model && strcmp(options->model, cri_sdf_space_name[k]) != 0) {
            continue;
        }
        cr_status status = cri_sdf_space_open(cri_sdf_space_name[k], &space, err);
        for (int i = 0; i < STAGES && status == CR_OK; i++) {
            e.left[i] = CR_PUSH(space.arena, double, n);
            status = e.left[i] ? CR_OK : cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
        }
        for (int i = 0; i < n && status == CR_OK && !out->is_interrupted; i++) {
            status = run_one(&space, options->seed + (uint64_t)i, options, &e, err);
            cri_progress_state at = {cri_sdf_space_name[k], i + 1, n, NAN};
            out->is_interrupted = !cri_progress_tell(options->progress, &at);
        }
        cri_sdf_space_close(&space);
        CR_TRY(status);
        if (e.n > 0) {
            tell(cri_sdf_space_name[k], options->seed, &e, paper_ratio[k], out);
            ratio += e.sum[RULE] / e.sum[START] / CRI_SDF_SPACES;
            by_search += e.sum[SEARCH] / e.sum[START] / CRI_SDF_SPACES;
        }
    }
    if (!out->is_interrupted && !options->model) {
        cri_experiment_add(out, "1", "lower", ratio, 0.62, "mean of found over start");
        if (isfinite(by_search)) {
            cri_experiment_add(out, "1", "lower", by_search, NAN,
                               "mean of found by search over start");
        }
    }
    return CR_OK;
}

const cri_experiment cri_sdf_shapes = {
    .name = "sdf-shapes",
    .summary = "learned shapes from their bounces (paper 004, Table A.1)",
    .models = "animals cans cameras mugs",
    .run = run,
};
