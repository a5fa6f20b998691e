// SPDX-License-Identifier: MIT
//
// What the trainings of a case came to: rows beside the paper's figures, tables, charts.

#include "cdl_study.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

// a number of the scores of a model's runs, by its place in the struct
static cdl_spread spread_of(const cdl_study *s, int variant, size_t place) {
    double value[CDL_RUN_MOST];
    int n = 0;
    for (int k = 0; k < s->n_job; k++) {
        const cdl_job *j = &s->job[k];
        if (j->is_done && j->variant == variant && j->run != CDL_TUNING) {
            memcpy(&value[n], (const char *)&j->score + place, sizeof *value);
            n += !isnan(value[n]); // what runs away counts as infinite
        }
    }
    return cri_cdl_spread(n, value);
}

#define SPREAD(s, variant, field) spread_of((s), (variant), offsetof(cdl_score, field))

static const char *recipe_of(const cdl_study *s, int variant) {
    return s->recipe[s->chosen[variant]].windows.name;
}

static void add_rmse(const cdl_study *s, int variant, cri_experiment_result *out) {
    const cdl_variant *v = &s->c->variant[variant];
    const char *recipe = recipe_of(s, variant);
    cdl_spread r = SPREAD(s, variant, rmse);
    cri_experiment_add(out, "", "lower", r.median, v->paper, "%s %s rmse median", v->name, recipe);
    if (s->n_run > 1) {
        cri_experiment_add(out, "", "lower", r.mean, v->paper_mean, "%s %s rmse mean", v->name,
                           recipe);
        cri_experiment_add(out, "", "lower", r.error, NAN, "%s %s rmse standard error", v->name,
                           recipe);
        cri_experiment_add(out, "", "lower", r.most, NAN, "%s %s rmse of the worst run", v->name,
                           recipe);
    }
    cri_experiment_add(out, "", "lower", SPREAD(s, variant, test_rmse).median, NAN,
                       "%s %s rmse of other starts", v->name, recipe);
}

/// A row that is there when its number is.
typedef struct extra {
    size_t place;
    const char *unit, *better, *text;
    double paper;
} extra;

static void add_extras(const cdl_study *s, int variant, cri_experiment_result *out) {
    const cdl_case *c = s->c;
    const extra extras[] = {
        {offsetof(cdl_score, bounce), "steps", "lower", "bounce time error of other starts", NAN},
        {offsetof(cdl_score, missed), "", "lower", "share of bounces missing or too many", NAN},
        {offsetof(cdl_score, force), "", "lower", "mean force, relative error", NAN},
        {offsetof(cdl_score, ripple), "", "lower", "force, relative rms error", NAN},
        {offsetof(cdl_score, energy), "", "lower", "energy, largest relative error", NAN},
        {offsetof(cdl_score, contact), "", "lower", "largest contact function without touch", NAN},
        {offsetof(cdl_score, restitution), "", "match", "learned restitution", c->restitution},
        {offsetof(cdl_score, damping), "N s/m", "match", "learned damping", c->damping},
        {offsetof(cdl_score, seconds), "s", "lower", "training", NAN},
    };
    for (size_t k = 0; k < sizeof extras / sizeof *extras; k++) {
        const extra *e = &extras[k];
        cdl_spread spread = spread_of(s, variant, e->place);
        if (isfinite(spread.median)) {
            cri_experiment_add(out, e->unit, e->better, spread.median, e->paper, "%s %s %s",
                               c->variant[variant].name, recipe_of(s, variant), e->text);
        }
    }
}

// what the trainings that chose the recipe came to
static void add_tuning(const cdl_study *s, int variant, cri_experiment_result *out) {
    for (int k = 0; k < s->n_job; k++) {
        const cdl_job *j = &s->job[k];
        if (j->is_done && j->variant == variant && j->run == CDL_TUNING) {
            const char *name = s->c->variant[variant].name,
                       *recipe = s->recipe[j->recipe].windows.name;
            cri_experiment_add(out, "", "lower", j->score.held_out, NAN,
                               "%s tuning, %s: loss held out", name, recipe);
            cri_experiment_add(out, "", "lower", j->score.rmse, NAN, "%s tuning, %s: rmse", name,
                               recipe);
            cri_experiment_add(out, "s", "lower", j->score.seconds, NAN,
                               "%s tuning, %s: training of %d epochs", name, recipe,
                               s->recipe[j->recipe].n_epoch);
        }
    }
}

// place of number k among those that are finite, 1 is least
static double rank_of(int n, const double *value, int k) {
    double rank = 1.0;
    for (int other = 0; other < n; other++) {
        rank += value[other] < value[k];
    }
    return isfinite(value[k]) ? rank : NAN;
}

// places of the models that the paper has too, by its single run and by its mean of five
static void add_ranks(const cdl_study *s, cri_experiment_result *out) {
    const cdl_case *c = s->c;
    for (int way = 0; way < 2; way++) {
        double ours[CDL_VARIANT_MOST], paper[CDL_VARIANT_MOST];
        for (int k = 0; k < c->n_variant; k++) {
            cdl_spread r = SPREAD(s, k, rmse);
            paper[k] = way == 0 ? c->variant[k].paper : c->variant[k].paper_mean;
            ours[k] = !isfinite(paper[k]) ? NAN : way == 0 ? r.median : r.mean;
        }
        for (int k = 0; k < c->n_variant; k++) {
            if (isfinite(ours[k])) {
                cri_experiment_add(out, "", "match", rank_of(c->n_variant, ours, k),
                                   rank_of(c->n_variant, paper, k),
                                   "%s rank by %s of those in the paper", c->variant[k].name,
                                   way == 0 ? "median" : "mean");
            }
        }
    }
}

static void put_row(const cdl_study *s, int variant) {
    const cdl_variant *v = &s->c->variant[variant];
    cdl_spread r = SPREAD(s, variant, rmse);
    cri_report_row(s->options->report, (cri_report_cell[]){
                                           {v->name, 0.0},
                                           {recipe_of(s, variant), 0.0},
                                           {NULL, r.median},
                                           {NULL, r.mean},
                                           {NULL, r.error},
                                           {NULL, v->paper},
                                           {NULL, v->paper_mean},
                                           {NULL, SPREAD(s, variant, test_rmse).median},
                                           {NULL, SPREAD(s, variant, bounce).median},
                                           {NULL, SPREAD(s, variant, force).median},
                                       });
}

static void put_table(const cdl_study *s) {
    static const cri_report_column column[] = {
        {"model", NULL, CRI_COLUMN_TEXT, 0},
        {"recipe", NULL, CRI_COLUMN_TEXT, 0},
        {"RMSE median", NULL, CRI_COLUMN_NUMBER, 3},
        {"mean", NULL, CRI_COLUMN_NUMBER, 3},
        {"standard error", NULL, CRI_COLUMN_NUMBER, 3},
        {"paper", NULL, CRI_COLUMN_NUMBER, 4},
        {"paper, 5 runs", NULL, CRI_COLUMN_NUMBER, 4},
        {"other starts", NULL, CRI_COLUMN_NUMBER, 3},
        {"bounce times", "steps", CRI_COLUMN_NUMBER, 3},
        {"force error", NULL, CRI_COLUMN_NUMBER, 3},
    };
    cri_report *report = s->options->report;
    cri_report_note(report,
                    "RMSE is the root of the squared error summed over positions, velocities and "
                    "touches, per time. It jumps when a bounce comes one step early or late.");
    for (int k = 0; k < s->n_recipe; k++) {
        const cri_learner_recipe *r = &s->recipe[k].windows;
        cri_report_note(report, "Recipe %s: Adam, rate %g%s, L2 %g, %d epochs%s%s.", r->name,
                        r->rate, r->is_annealed ? " falling to 0" : "", r->l2, s->recipe[k].n_epoch,
                        r->fits_starts ? ", first states of windows fitted too" : "",
                        s->recipe[k].n_whole > 0 ? "; then steps on whole recordings" : "");
    }
    if (s->n_recipe > 1) {
        cri_report_note(
            report,
            "Each model has the recipe whose loss was lowest on a recording held out%s, "
            "after one training by each.",
            s->c->follows_whole ? ", taken as one window whose first state is fitted"
            : s->c->fits_starts ? ", its first states fitted"
                                : "");
    }
    cri_report_fact(report, "runs", "%d", s->n_run);
    cri_report_table(report, "RMSE over the recording, and on starts that were not seen",
                     sizeof column / sizeof *column, column);
    for (int k = 0; k < s->c->n_variant; k++) {
        if (isfinite(SPREAD(s, k, rmse).median)) {
            put_row(s, k);
        }
    }
}

static bool put_charts(const cdl_study *s) {
    cr_arena *arena = cri_arena_create(1 << 16);
    bool is_done = arena != NULL;
    for (int k = 0; is_done && k < s->n_job; k++) {
        const cdl_job *j = &s->job[k];
        const cdl_variant *v = &s->c->variant[j->variant];
        cri_learner learner = {0};
        if (j->is_done && j->p) {
            is_done = cri_cdl_learner(s->c, v, &learner) &&
                      cri_cdl_page(s->c, v->name, &learner, j->p, s->options->report, arena);
        }
        cri_learner_clear(&learner);
    }
    cri_arena_destroy(arena);
    return is_done;
}

cr_status cri_cdl_tell(const cdl_study *s, cri_experiment_result *out, cr_error *err) {
    for (int k = 0; k < s->c->n_variant; k++) {
        if (isfinite(SPREAD(s, k, rmse).median)) {
            add_rmse(s, k, out);
            add_extras(s, k, out);
        }
        add_tuning(s, k, out);
    }
    if (!s->options->model && !s->is_stopped) {
        add_ranks(s, out);
    }
    if (!s->options->report) {
        return CR_OK;
    }
    put_table(s);
    return put_charts(s) ? CR_OK : cri_fail(err, CR_ERR_MEMORY, 0, "no memory for the page");
}
