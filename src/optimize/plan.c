// SPDX-License-Identifier: MIT
//
// Planning.
//
// Start 0 is the given one; the others draw each variable evenly between its bounds, or from a bell
// around the given value when it has none. All starts make iteration k before any makes k + 1; what
// ends the search is looked at in between, in the order of the starts, by one thread. So nothing
// depends on the threads, and a checkpoint between two iterations holds everything.

#include "optimize/plan.h"

#include "base/io/checkpoint.h"
#include "base/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#endif

// stream of the starts, and more samples than any start has
#define STREAM 0x737461727473u
#define SAMPLE_LIMIT 10000000u

// a gradient that would change the loss by less than this part of it is rounding of zero
#define EFFECT_LEAST 1e-13

/// One search.
typedef struct attempt {
    cr_arena *arena;
    cri_shot shot;
    cri_bundle bundle;
    cri_minimiser minimiser;
    double *kept;               // (1 + n) the best loss without smoothing, and its point
    double *start;              // (n)
    bool is_judged, is_reached; // are targets within the tolerance at the best point, if known
    cr_status status;
    cr_error err;
} attempt;

typedef struct search {
    const cri_shot_def *def;
    const cri_plan_options *options;
    attempt *attempt; // (n_start)
    double *history;  // (iteration_limit + 1)
    int64_t count[2]; // iterations, entries of the history
    int n;
    bool is_cut; // told to stop while it drew
} search;

cri_plan_options cri_plan_options_default(cri_method method) {
    return (cri_plan_options){.minimise = cri_minimise_options_default(method),
                              .iteration_limit = 200,
                              .tolerance = 1e-3,
                              .n_start = 1,
                              .spread = 1.0,
                              .save_every = 10};
}

const char *cri_plan_stop_word(cri_plan_stop stop) {
    static const char *const word[CRI_N_PLAN_STOP] = {"reached",         "converged", "stalled",
                                                      "iteration limit", "no effect", "missed",
                                                      "interrupted",     "unsaved"};
    return word[stop];
}

const char *cri_plan_stop_text(cri_plan_stop stop) {
    static const char *const text[CRI_N_PLAN_STOP] = {
        "every target is reached",
        "the gradient vanished",
        "no step makes the loss fall any more",
        "the iteration limit was reached",
        "no control moves any target",
        "the run ended and a target was missed",
        "it was interrupted",
        "the checkpoint could not be written",
    };
    return text[stop];
}

// ---- one attempt -------------------------------------------------------------------------------

static const cri_objective *objective_of(const search *s, attempt *a) {
    return s->options->bundle.n > 0 ? &a->bundle.objective : &a->shot.objective;
}

static cr_status prepare_attempt(const search *s, attempt *a, cr_error *err) {
    a->arena = cri_arena_create(1 << 14);
    if (!a->arena) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a start");
    }
    a->kept = CR_PUSH(a->arena, double, s->n + 1);
    a->start = CR_PUSH(a->arena, double, s->n);
    if (!a->kept || !a->start) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a start");
    }
    CR_TRY(cri_shot_init(s->def, a->arena, &a->shot, err));
    if (s->options->bundle.n > 0) {
        CR_TRY(cri_bundle_init(&a->shot.objective, &s->options->bundle, a->arena, &a->bundle, err));
    }
    return cri_minimiser_init(objective_of(s, a), &s->options->minimise, a->arena, &a->minimiser,
                              err);
}

static void draw(const search *s, const double *z, uint64_t number, double *start) {
    cri_random stream = cri_random_of(s->options->seed, STREAM + number);
    for (int j = 0; j < s->n; j++) {
        const cri_domain *d = &s->def->domain[j];
        bool is_bounded = isfinite(d->lower) && isfinite(d->upper);
        double drawn = is_bounded ? cri_random_uniform(&stream, d->lower, d->upper)
                                  : z[j] + s->options->spread * cri_random_normal(&stream);
        start[j] = number == 0 ? z[j] : cri_domain_clamp(d, z[j], drawn);
    }
}

/// Whether to go on behind a draw. What was cut short stays so: a search told once has to end.
static bool goes_on(search *s, int done, double loss) {
    bool is_going;
#ifdef _OPENMP
#pragma omp critical
#endif
    {
        cri_progress_state state = {"draw", done, s->options->n_sample,
                                    isfinite(loss) ? loss : NAN};
        s->is_cut = s->is_cut || !cri_progress_tell(s->options->progress, &state);
        is_going = !s->is_cut;
    }
    return is_going;
}

/// Start k: the given one or a drawn one; with samples the best of them and of it.
static cr_status draw_start(search *s, attempt *a, const double *z, int k, cr_error *err) {
    double least = INFINITY, *trial = a->minimiser.trial;
    draw(s, z, (uint64_t)k, a->start);
    for (int i = 0; i <= s->options->n_sample && s->options->n_sample > 0; i++) {
        double loss = INFINITY;
        // numbers that no start has
        uint64_t number = ((uint64_t)k + 1) * SAMPLE_LIMIT + (uint64_t)i;
        draw(s, z, i == 0 ? (uint64_t)k : number, trial);
        const cri_objective *o = &a->shot.objective;
        cr_status status = o->loss(o->context, trial, &loss, NULL, err);
        if (status == CR_ERR_MEMORY) {
            return status;
        }
        if (status == CR_OK && loss < least) {
            least = loss;
            memcpy(a->start, trial, (size_t)s->n * sizeof *trial);
        }
        if (!goes_on(s, i, least)) {
            break;
        }
    }
    return CR_OK;
}

/// Takes over the minimiser's point when its loss, not smoothed, is the least so far.
static cr_status keep(const search *s, attempt *a, cr_error *err) {
    bool is_smoothed = s->options->bundle.n > 0;
    const double *z = is_smoothed ? a->minimiser.z : a->minimiser.best;
    double loss = cri_minimiser_loss(&a->minimiser);
    if (is_smoothed) {
        const cri_objective *o = &a->shot.objective;
        cr_status status = o->loss(o->context, z, &loss, NULL, err);
        if (status == CR_ERR_MEMORY) {
            return status;
        }
        loss = status == CR_OK ? loss : INFINITY;
    }
    if (loss < a->kept[0]) {
        a->kept[0] = loss;
        memcpy(a->kept + 1, z, (size_t)s->n * sizeof *z);
        a->is_judged = false;
    }
    return CR_OK;
}

static void begin_attempt(search *s, attempt *a, const double *z, int k) {
    a->kept[0] = INFINITY;
    a->status = draw_start(s, a, z, k, &a->err);
    if (a->status == CR_OK) {
        a->status = cri_minimiser_begin(&a->minimiser, a->start, &a->err);
    }
    if (a->status == CR_OK) {
        memcpy(a->start, a->minimiser.z, (size_t)s->n * sizeof *a->start);
        a->status = keep(s, a, &a->err);
    }
}

/// A start without a value takes no part.
static bool is_alive(const attempt *a) {
    return isfinite(a->kept[0]);
}

static void iterate_attempt(const search *s, attempt *a) {
    if (!is_alive(a)) {
        return;
    }
    a->status = cri_minimiser_iterate(&a->minimiser, &a->err);
    if (a->status == CR_OK) {
        a->status = keep(s, a, &a->err);
    }
}

// ---- all attempts ------------------------------------------------------------------------------

#ifdef _OPENMP
static int threads_of(const cri_plan_options *options) {
    int most = options->n_thread > 0 ? options->n_thread : omp_get_max_threads();
    return most < options->n_start ? most : options->n_start;
}
#endif

/// All starts make one iteration, or begin at z when that is not NULL.
static cr_status for_all(search *s, const double *z, cr_error *err) {
    int n_start = s->options->n_start;
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads_of(s->options)) schedule(dynamic)
#endif
    for (int k = 0; k < n_start; k++) {
        if (z) {
            begin_attempt(s, &s->attempt[k], z, k);
        } else {
            iterate_attempt(s, &s->attempt[k]);
        }
    }
    for (int k = 0; k < n_start; k++) {
        const attempt *a = &s->attempt[k];
        // the start that the user gave must have a value; a drawn one may lack it
        if (a->status == CR_ERR_MEMORY || (z && k == 0 && a->status != CR_OK)) {
            if (err) {
                *err = a->err;
            }
            return a->status;
        }
    }
    return CR_OK;
}

static int best_attempt(const search *s) {
    int best = 0;
    for (int k = 1; k < s->options->n_start; k++) {
        best = s->attempt[k].kept[0] < s->attempt[best].kept[0] ? k : best;
    }
    return best;
}

/// True when all targets of attempt a are within the tolerance at its best point.
static cr_status check_reached(const search *s, attempt *a, bool *is_reached, cr_error *err) {
    *is_reached = false;
    double tolerance = s->options->tolerance;
    // with a cost the loss is more than the distances; where a target counts after every step it
    // says little about the end
    double most = s->def->n_target * tolerance * tolerance;
    bool is_told = a->shot.aim.has_throughout;
    if (!is_alive(a) || (!is_told && a->kept[0] - cri_shot_cost(&a->shot, a->kept + 1) > most)) {
        return CR_OK;
    }
    if (!a->is_judged) {
        double loss = 0.0;
        CR_TRY(cri_shot_run(&a->shot, a->kept + 1, &loss, err));
        a->is_reached = cri_shot_is_reached(&a->shot, tolerance);
        a->is_judged = true;
    }
    *is_reached = a->is_reached;
    return CR_OK;
}

/// What the searches have come to, when all of them are over or one has reached the targets.
static cr_status look(search *s, bool *is_over, cri_plan_stop *stop, cr_error *err) {
    const cri_plan_options *o = s->options;
    bool is_running = false;
    for (int k = 0; k < o->n_start; k++) {
        attempt *a = &s->attempt[k];
        is_running = is_running ||
                     (is_alive(a) && cri_minimiser_stop(&a->minimiser) == CRI_MINIMISE_GOES_ON);
        // what costs is worth going on with
        bool is_reached = false;
        if (s->def->cost == 0.0) {
            CR_TRY(check_reached(s, a, &is_reached, err));
        }
        if (is_reached) {
            *stop = CRI_PLAN_REACHED;
            *is_over = true;
            return CR_OK;
        }
    }
    const attempt *best = &s->attempt[best_attempt(s)];
    bool is_converged = cri_minimiser_stop(&best->minimiser) == CRI_MINIMISE_CONVERGED;
    *is_over = !is_running || s->count[0] >= o->iteration_limit;
    *stop = is_running ? CRI_PLAN_ITERATION : is_converged ? CRI_PLAN_CONVERGED : CRI_PLAN_STALLED;
    return CR_OK;
}

// ---- checkpoint --------------------------------------------------------------------------------

/// The arrays of a checkpoint, four for each start and two in front.
static int list_arrays(search *s, cri_checkpoint_array *array) {
    int64_t room = (int64_t)s->options->iteration_limit + 1;
    int n = 0;
    array[n++] = (cri_checkpoint_array){.name = "count", .whole = s->count, .n = 2, .n_most = 2};
    array[n++] = (cri_checkpoint_array){
        .name = "history", .real = s->history, .n = s->count[1], .n_most = room};
    for (int k = 0; k < s->options->n_start; k++) {
        attempt *a = &s->attempt[k];
        int64_t n_real = a->minimiser.n_real;
        int64_t n_whole = a->minimiser.n_whole;
        array[n++] = (cri_checkpoint_array){"state", a->minimiser.real, NULL, n_real, n_real};
        array[n++] = (cri_checkpoint_array){"counts", NULL, a->minimiser.whole, n_whole, n_whole};
        array[n++] = (cri_checkpoint_array){"best", a->kept, NULL, s->n + 1, s->n + 1};
        array[n++] = (cri_checkpoint_array){"start", a->start, NULL, s->n, s->n};
    }
    return n;
}

/// Saves, or goes on from what was saved.
static cr_status use_checkpoint(search *s, bool is_save, cr_error *err) {
    const cri_plan_options *o = s->options;
    size_t n_most = 2 + 4 * (size_t)o->n_start;
    cri_checkpoint_array *array = malloc(n_most * sizeof *array);
    if (!array) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a checkpoint");
    }
    int n = list_arrays(s, array);
    cr_status status = is_save ? cri_checkpoint_write(o->checkpoint, o->problem, n, array, err)
                               : cri_checkpoint_read(o->checkpoint, o->problem, n, array, err);
    free(array);
    return status;
}

// ---- search ------------------------------------------------------------------------------------

static void note(search *s) {
    s->history[s->count[1]++] = s->attempt[best_attempt(s)].kept[0];
}

/// The iterations. CRI_PLAN_UNSAVED leaves err filled.
static cr_status iterate(search *s, cri_plan_stop *stop, cr_error *err) {
    const cri_plan_options *o = s->options;
    for (bool is_over = false;;) {
        CR_TRY(look(s, &is_over, stop, err));
        cri_progress_state state = {"iteration", s->count[0], o->iteration_limit,
                                    s->attempt[best_attempt(s)].kept[0]};
        if (!is_over && (s->is_cut || !cri_progress_tell(o->progress, &state))) {
            *stop = CRI_PLAN_INTERRUPTED;
            is_over = true;
        }
        bool is_due = is_over || (s->count[0] > 0 && s->count[0] % o->save_every == 0);
        is_due = is_due && !s->is_cut; // another run has to draw all
        if (o->checkpoint && is_due && use_checkpoint(s, true, err) != CR_OK) {
            *stop = CRI_PLAN_UNSAVED;
            return CR_OK;
        }
        if (is_over) {
            return CR_OK;
        }
        CR_TRY(for_all(s, NULL, err));
        s->count[0]++;
        note(s);
    }
}

/// True when the gradient at the plan is zero: nothing there moves a target.
static cr_status check_effect(search *s, attempt *a, bool *has_effect, cr_error *err) {
    double *gradient = a->minimiser.trial_g;
    double loss = 0.0;
    memset(gradient, 0, (size_t)s->n * sizeof *gradient);
    *has_effect = true;
    CR_TRY(cri_shot_run(&a->shot, a->kept + 1, &loss, err));
    cr_status status = cri_shot_pull(&a->shot, gradient, err);
    if (status != CR_OK) {
        // no gradient is not a gradient of zero
        return status == CR_ERR_MEMORY ? status : CR_OK;
    }
    *has_effect = false;
    for (int j = 0; j < s->n; j++) {
        double effect = fabs(gradient[j]) * fmax(fabs(a->kept[1 + j]), 1.0);
        *has_effect = *has_effect || effect > EFFECT_LEAST * loss;
    }
    return CR_OK;
}

/// Distances and losses of the best plan, and the last word on why the search ended.
static cr_status conclude(search *s, cri_plan *out, cr_error *err) {
    out->best_start = best_attempt(s);
    attempt *a = &s->attempt[out->best_start];
    bool is_reached = false;
    bool has_effect = true;
    CR_TRY(check_reached(s, a, &is_reached, err));
    bool is_end = out->stop == CRI_PLAN_CONVERGED || out->stop == CRI_PLAN_STALLED ||
                  out->stop == CRI_PLAN_ITERATION;
    if (is_end && is_reached) {
        out->stop = CRI_PLAN_REACHED;
    } else if (is_end) {
        CR_TRY(check_effect(s, a, &has_effect, err));
        // a search that came onto a plateau had an effect on its way
        bool has_moved = memcmp(a->kept + 1, a->start, (size_t)s->n * sizeof *a->start) != 0;
        cri_plan_stop flat = has_moved ? CRI_PLAN_CONVERGED : CRI_PLAN_NO_EFFECT;
        out->stop = has_effect ? out->stop : flat;
    }
    CR_TRY(cri_shot_run(&a->shot, a->kept + 1, &out->loss, err));
    out->grad = a->shot.grad;
    out->cost = cri_shot_cost(&a->shot, a->kept + 1);
    for (int i = 0; i < s->def->n_target; i++) {
        out->distance[a->shot.aim.target[i].order] = cri_shot_distance(&a->shot, i);
    }
    memcpy(out->z, a->kept + 1, (size_t)s->n * sizeof *out->z);
    memcpy(out->start, a->start, (size_t)s->n * sizeof *out->start);
    out->history = s->history;
    out->n_history = (int)s->count[1];
    out->n_iteration = (int)s->count[0];
    for (int k = 0; k < s->options->n_start; k++) {
        out->n_start += is_alive(&s->attempt[k]);
        out->n_evaluation += cri_minimiser_evaluations(&s->attempt[k].minimiser);
    }
    return CR_OK;
}

static cr_status run(search *s, const double *z, cri_plan *out, cr_error *err) {
    for (int k = 0; k < s->options->n_start; k++) {
        CR_TRY(prepare_attempt(s, &s->attempt[k], err));
    }
    const char *file = s->options->checkpoint;
    if (file && cri_checkpoint_exists(file)) {
        CR_TRY(use_checkpoint(s, false, err));
    } else {
        CR_TRY(for_all(s, z, err));
        note(s);
    }
    CR_TRY(iterate(s, &out->stop, err));
    return conclude(s, out, out->stop == CRI_PLAN_UNSAVED ? NULL : err);
}

cr_status cri_plan_solve(const cri_shot_def *def, const cri_plan_options *options, const double *z,
                         cr_arena *arena, cri_plan *out, cr_error *err) {
    CR_ASSERT(options->n_start > 0 && options->iteration_limit >= 0 && options->save_every > 0);
    search s = {.def = def, .options = options, .n = cri_shot_size(def)};
    *out = (cri_plan){0};
    s.attempt = CR_PUSH(arena, attempt, options->n_start);
    s.history = CR_PUSH(arena, double, (size_t)options->iteration_limit + 1);
    out->z = CR_PUSH(arena, double, s.n);
    out->start = CR_PUSH(arena, double, s.n);
    out->distance = CR_PUSH(arena, double, def->n_target);
    if (!s.attempt || !s.history || !out->z || !out->start || !out->distance) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a plan of %d variables", s.n);
    }
    cr_status status = run(&s, z, out, err);
    for (int k = 0; k < options->n_start; k++) {
        cri_shot_clear(&s.attempt[k].shot);
        cri_arena_destroy(s.attempt[k].arena);
    }
    return status;
}
