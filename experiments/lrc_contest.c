// SPDX-License-Identifier: MIT
//
// A task under several laws. Every entry has the same iterations, seeds and rates: the task's rate,
// then three times and a third of it until one succeeds (quick runs: in contact alone; entries with
// one rate: never). Where every gradient of a search was exactly zero no rate has come in, and none
// is tried again. A law that fails counts as not there.

#include "lrc_contest.h"

#include "base/io/checkpoint.h"
#include "lrc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const start_word[LRC_N_START] = LRC_START_WORDS;

cr_status lrc_contest_open(lrc_contest *c, const lrc_task *task, cr_error *err) {
    c->task = task;
    c->model = NULL;
    return lrc_task_model(task, &c->model, err);
}

void lrc_contest_close(lrc_contest *c) {
    if (c->o->report) {
        cri_report_own_model(c->o->report, c->model);
    } else {
        cr_model_destroy(c->model);
    }
    c->model = NULL;
}

// ---- one run -----------------------------------------------------------------------------------

// of texts and radius: the rest of what a search is told
static uint64_t hash_task(const lrc_task *t) {
    uint64_t hash = cri_hash(CRI_HASH_START, &t->radius, sizeof t->radius);
    hash = cri_hash_text(hash, t->controls);
    for (int i = 0; i < LRC_BOUND_MOST && t->bound[i]; i++) {
        hash = cri_hash_text(hash, t->bound[i]);
    }
    for (int i = 0; i < LRC_TARGET_MOST && t->target[i]; i++) {
        hash = cri_hash_text(hash, t->target[i]);
    }
    return cri_hash_text(hash, lrc_scene(t->scene));
}

// everything that a run depends on
static void name_run(const lrc_run *r, const char *entry, char text[200]) {
    const lrc_task *t = r->task;
    bool f = r->o->is_full;
    (void)snprintf(
        text, 200,
        "%s %016llx %s %s %s %g seed %lld rate %.9g dt %.9g aim %.9g %d %d %d %d %d %d %d %d",
        t->scene, (unsigned long long)hash_task(t), entry, r->rival->law, start_word[r->start],
        r->rival->mu, (long long)r->seed, r->rate, r->dt, r->target[0].radius, r->n_step,
        t->horizon[f], t->execute[f], t->n_iteration[f], t->n_finish[f], t->n_focus, t->n_knot,
        t->n_halve);
}

/// Searches, or takes what a file has.
static cr_status find_or_search(lrc_contest *c, const lrc_entry *e, lrc_run *r, cr_error *err) {
    char text[200];
    CR_TRY(lrc_run_open(r, err));
    name_run(r, e->name, text);
    size_t n = lrc_run_size(r);
    double *number = CR_PUSH(r->arena, double, n);
    if (!number) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a task");
    }
    if (cri_kept_find(c->kept, text, n, number)) {
        lrc_run_unpack(r, number);
        return CR_OK;
    }
    CR_TRY(lrc_run_search(r, err));
    if (r->stop == CRI_PLAN_INTERRUPTED) {
        c->out->is_interrupted = true;
        return CR_OK;
    }
    lrc_run_pack(r, number);
    return cri_kept_add(c->kept, text, n, number, err);
}

static void draw_curve(const lrc_entry *e, const lrc_run *r) {
    cri_report *report = r->o->report;
    if (e->chart < 0 || !report) {
        return;
    }
    bool is_receding = r->task->horizon[0] > 0;
    int series = cri_report_series(report, e->chart, 1, &(cri_report_line){.name = e->name});
    for (int k = 0; k < (is_receding ? r->n_step + 1 : r->n_history); k++) {
        cri_report_point(report, series, is_receding ? k * r->dt : k,
                         is_receding ? &r->loss[k] : &r->history[k]);
    }
}

static cr_status draw_motion(const lrc_entry *e, lrc_run *r, cr_error *err) {
    cri_report *report = r->o->report;
    if (!report || !e->has_film) {
        return CR_OK;
    }
    char name[100];
    (void)snprintf(name, sizeof name, "%s, %s start", e->name, start_word[e->start]);
    cri_report_motion(report, name);
    for (int i = 0; i < r->n_target; i++) {
        cri_report_marker(report, "target", r->target[i].point);
    }
    return lrc_run_replay(r, report, err);
}

// ---- an entry ----------------------------------------------------------------------------------

/// Sums over the seeds.
typedef struct score {
    int n, n_reached;
    double worst, iterations, settled, seconds; // the last three of those that reached
} score;

static void add_run(const lrc_run *r, score *s) {
    bool is_reached = r->stop == CRI_PLAN_REACHED;
    bool is_receding = r->task->horizon[0] > 0;
    s->n++;
    s->n_reached += is_reached;
    s->worst += r->worst;
    if (is_reached) {
        s->iterations += (double)r->n_iteration / (is_receding ? fmax(1.0, r->n_history) : 1.0);
        s->settled += r->settled;
        s->seconds += r->seconds;
    }
}

/// True when another rate would change nothing: all is reached, or no step was ever taken.
static bool is_settled(const lrc_run *r) {
    bool is_still = r->stop == CRI_PLAN_NO_EFFECT && r->n_iteration == 0;
    return r->stop == CRI_PLAN_REACHED || is_still;
}

/// The best of the rates for one seed, in *best, whose arena is the caller's then.
static cr_status run_seed(lrc_contest *c, const lrc_entry *e, uint64_t seed, lrc_run *best,
                          cr_error *err) {
    static const double scale[3] = {1.0, 3.0, 1.0 / 3.0};
    bool has_rates = (c->o->is_full || e->start == LRC_TOUCHING) && !e->has_one_rate;
    int n_rate = has_rates ? 3 : 1;
    best->worst = INFINITY;
    for (int k = 0; k < n_rate && !is_settled(best) && !c->out->is_interrupted; k++) {
        lrc_run r = {.task = c->task,
                     .o = c->o,
                     .rival = e->rival,
                     .model = c->model,
                     .rate = scale[k] * c->task->rate[c->o->is_full],
                     .start = e->start,
                     .seed = seed,
                     .dt = e->dt,
                     .arena = cri_arena_create(1 << 18),
                     .stop = CRI_PLAN_MISSED};
        cr_status status = r.arena ? find_or_search(c, e, &r, err)
                                   : cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a task");
        bool is_better = status == CR_OK && !c->out->is_interrupted &&
                         (!best->arena || r.worst < best->worst || r.stop == CRI_PLAN_REACHED);
        if (is_better) {
            cri_arena_destroy(best->arena);
            *best = r;
        } else {
            cri_arena_destroy(r.arena);
        }
        if (status == CR_ERR_MEMORY || status == CR_ERR_FILE) {
            return status;
        }
        if (status != CR_OK && k == 0) {
            cri_report_note(c->o->report, "%s, %s start: %s", e->name, start_word[e->start],
                            err->text);
        }
    }
    return CR_OK;
}

static void tell(lrc_contest *c, const lrc_entry *e, const score *s) {
    const char *start = start_word[e->start];
    bool has_paper = e->is_ours && c->o->is_full;
    cri_experiment_add(c->out, "", "higher", (double)s->n_reached / s->n, e->is_ours ? 1.0 : NAN,
                       "%s, %s start, reached", e->name, start);
    cri_experiment_add(c->out, "m", "lower", s->worst / s->n, NAN, "%s, %s start, farthest object",
                       e->name, start);
    if (s->n_reached == 0) {
        return;
    }
    bool is_receding = c->task->horizon[0] > 0;
    cri_experiment_add(c->out, "", "lower", s->iterations / s->n_reached,
                       has_paper ? (double)c->task->n_paper : NAN, "%s, %s start, iterations%s",
                       e->name, start, is_receding ? " a window" : "");
    cri_experiment_add(c->out, "s", "lower", s->seconds / s->n_reached, NAN,
                       "%s, %s start, processor time", e->name, start);
    if (is_receding) {
        cri_experiment_add(c->out, "s", "lower", s->settled / s->n_reached, NAN,
                           "%s, %s start, simulated until there", e->name, start);
    }
}

cr_status lrc_contest_enter(lrc_contest *c, lrc_entry *e, cr_error *err) {
    int n_seed = c->o->n_run > 0 ? c->o->n_run : c->o->is_full ? 5 : 1;
    score s = {0};
    e->settled = NAN;
    for (int seed = 0; seed < n_seed && !c->out->is_interrupted; seed++) {
        lrc_run best = {.stop = CRI_PLAN_MISSED};
        cr_status status = run_seed(c, e, c->o->seed + (uint64_t)seed, &best, err);
        if (status == CR_OK && !c->out->is_interrupted) {
            if (best.arena) {
                add_run(&best, &s);
            } else {
                s.n++;
                s.worst = INFINITY;
            }
            if (seed == 0 && best.arena) {
                draw_curve(e, &best);
                status = draw_motion(e, &best, err);
            }
            cri_progress_state state = {e->name, seed + 1, n_seed, best.worst};
            c->out->is_interrupted = !cri_progress_tell(c->o->progress, &state);
        }
        cri_arena_destroy(best.arena);
        CR_TRY(status);
    }
    if (s.n > 0) {
        tell(c, e, &s);
        e->settled = s.n_reached > 0 ? s.settled / s.n_reached : NAN;
    }
    return CR_OK;
}
