// SPDX-License-Identifier: MIT
//
// What a trained model comes to: rows beside the paper's figures, and charts.
//
// Absolute masses are not identifiable: masses and potential may be scaled together. So masses are
// judged by their ratio to the first, moments by what motion can see of them: of a disk lam_1 +
// lam_2, of the top lam_1 and lam_2 relative to lam_3 + (1/2)^2, that of its axis about the joint.

#include "dcs_case.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static dcs_paper paper_of(const dcs_trained *t) {
    if (t->twist) {
        return t->twist->paper;
    }
    for (int k = 0; k < t->c->n_paper; k++) {
        if (strcmp(t->c->paper[k].model, t->model->name) == 0) {
            dcs_paper found = t->c->paper[k];
            bool has_own = isfinite(found.error) && t->size->paper_error > 0.0;
            found.error = has_own ? t->size->paper_error : found.error;
            return found;
        }
    }
    return (dcs_paper){NULL, NAN, NAN, NAN, {NAN, NAN, NAN, NAN}};
}

static void add_errors(const dcs_trained *t, const dcs_paper *paper, cri_experiment_result *out) {
    const dcs_score *s = &t->score;
    cri_experiment_add(out, "", "lower", s->error, paper->error, "%s trajectory error, 5 states",
                       t->name);
    cri_experiment_add(out, "", "lower", s->half, NAN, "%s trajectory error, 95 %% half width",
                       t->name);
    cri_experiment_add(out, "", "lower", s->error_long, NAN, "%s relative error, mean of 50 steps",
                       t->name);
    cri_experiment_add(out, "", "lower", s->half_long, NAN,
                       "%s relative error, 95 %% half width of it", t->name);
    if (s->n_lost > 0) {
        cri_experiment_add(out, "windows", "lower", s->n_lost, NAN, "%s motions that fail",
                           t->name);
    }
    if (s->n_dropped > 0.0) {
        cri_experiment_add(out, "windows", "lower", s->n_dropped, NAN, "%s dropped in training",
                           t->name);
    }
    if (t->c->is_elastic) {
        cri_experiment_add(out, "", "lower", s->drift, NAN, "%s energy drift, 100 steps", t->name);
        cri_experiment_add(out, "", "lower", s->own_drift, NAN,
                           "%s energy drift of the true simulation", t->name);
    }
}

// classes one by one: judged are those that act in the windows for training, friction of a contact
// that slides and restitution of one that bounces somewhere
static void add_classes(const dcs_trained *t, const char *what, int first, const double *spread,
                        cri_experiment_result *out) {
    int n = t->truth->n_coefficient, n_judged = 0;
    double largest = 0.0, mean = 0.0;
    for (int k = 0; k < n; k++) {
        double error = fabs(t->p[first + k] - t->truth->p[first + k]);
        if (isfinite(spread[k])) {
            n_judged++;
            largest = fmax(largest, error);
            mean += error;
        }
    }
    if (n_judged > 0) {
        const char *does = first == t->truth->law.i_mu ? "slide" : "bounce";
        cri_experiment_add(out, "", "lower", largest, NAN,
                           "%s %s, largest error of %d classes that %s in the data", t->name, what,
                           n_judged, does);
        cri_experiment_add(out, "", "lower", mean / n_judged, NAN, "%s %s, mean error of them",
                           t->name, what);
    }
}

static void add_coefficient(const dcs_trained *t, const char *what, int first, double paper,
                            cri_experiment_result *out) {
    if (t->truth->n_coefficient > 1) {
        bool is_friction = first == t->truth->law.i_mu;
        add_classes(t, what, first, t->spread + (is_friction ? 0 : t->truth->n_coefficient), out);
        return;
    }
    double truth = t->truth->p[first], error = fabs(t->p[first] - truth);
    cri_experiment_add(out, "", "match", t->p[first], paper, "%s %s, truth %g", t->name, what,
                       truth);
    cri_experiment_add(out, "", "lower", error, fabs(paper - truth), "%s %s, error", t->name, what);
}

static void add_masses(const dcs_trained *t, const dcs_paper *paper, cri_experiment_result *out) {
    const cri_points *s = &t->truth->s;
    const double *p = t->p + s->i_mass, *truth = t->truth->p + s->i_mass;
    double largest = 0.0, next = 0.0;
    for (int k = 1; k < s->n_block; k++) {
        double ratio = p[k] / p[0], real = truth[k] / truth[0];
        largest = fmax(largest, fabs(ratio / real - 1.0));
        next = fmax(next, fabs(p[k] / p[k - 1] / (truth[k] / truth[k - 1]) - 1.0));
        if (s->n_block <= DCS_RATIO_MOST + 1) {
            cri_experiment_add(out, "", "match", ratio, paper->ratio[k - 1],
                               "%s mass %d/mass 1, truth %g", t->name, k + 1, real);
        }
    }
    if (s->n_block > 1) {
        cri_experiment_add(out, "", "lower", largest, NAN, "%s mass ratios, largest relative error",
                           t->name);
    }
    if (t->learner->learns_stiffness) {
        double ratio = t->p[s->i_stiffness] / p[0], real = t->truth->p[s->i_stiffness] / truth[0];
        cri_experiment_add(out, "1/s^2", "match", ratio, NAN, "%s stiffness/mass 1, truth %g",
                           t->name, real);
    }
    // contacts of a rope are between neighbours, and errors add up along it
    if (t->truth->kind == CRI_POINTS_ROPE) {
        cri_experiment_add(out, "", "lower", next, NAN, "%s mass ratios of neighbours, the same",
                           t->name);
    }
}

static void add_moments(const dcs_trained *t, cri_experiment_result *out) {
    const cri_points *s = &t->truth->s;
    double largest = 0.0;
    for (int k = 0; k < s->n_lam / s->d; k++) {
        const double *p = t->p + s->i_lam + k * s->d, *truth = t->truth->p + s->i_lam + k * s->d;
        if (s->d == 2) {
            double ratio = (p[0] + p[1]) / (truth[0] + truth[1]);
            largest = fmax(largest, fabs(ratio - 1.0));
            continue;
        }
        for (int i = 0; i < 2; i++) {
            double ratio = p[i] / (p[2] + 0.25) / (truth[i] / (truth[2] + 0.25));
            largest = fmax(largest, fabs(ratio - 1.0));
        }
    }
    if (s->n_lam > 0) {
        cri_experiment_add(out, "", "lower", largest, NAN, "%s moments, largest relative error",
                           t->name);
    }
}

static void put_classes(const dcs_trained *t, cri_report *report) {
    const cri_points_scene *sc = t->truth;
    cri_report_table(report, "coefficients", 8,
                     (cri_report_column[]){{.name = "contact"},
                                           {.name = "in the windows", .kind = CRI_COLUMN_NUMBER},
                                           {.name = "friction", .kind = CRI_COLUMN_NUMBER},
                                           {.name = "truth", .kind = CRI_COLUMN_NUMBER},
                                           {.name = "standard error", .kind = CRI_COLUMN_NUMBER},
                                           {.name = "restitution", .kind = CRI_COLUMN_NUMBER},
                                           {.name = "truth", .kind = CRI_COLUMN_NUMBER},
                                           {.name = "standard error", .kind = CRI_COLUMN_NUMBER}});
    for (int k = 0; k < sc->n_coefficient; k++) {
        int mu = sc->law.i_mu + k, e = sc->law.i_e + k;
        cri_report_row(report, (cri_report_cell[]){{.text = sc->pair[k]},
                                                   {.value = t->train->n_touch[k]},
                                                   {.value = t->p[mu]},
                                                   {.value = sc->p[mu]},
                                                   {.value = t->spread[k]},
                                                   {.value = t->p[e]},
                                                   {.value = sc->p[e]},
                                                   {.value = t->spread[sc->n_coefficient + k]}});
    }
}

static void put_charts(const dcs_trained *t, cri_report *report) {
    char title[120];
    (void)snprintf(title, sizeof title, "%s: relative error along the motion", t->name);
    int chart = cri_report_chart(
        report, &(cri_report_chart_def){.title = title, .x = "step", .y = "mean r"});
    int series =
        cri_report_series(report, chart, 1, (cri_report_line[]){{t->name, CRI_LINE_SOLID}});
    for (int k = 0; k < DCS_STATES; k++) {
        cri_report_point(report, series, k, (double[]){t->score.r[k]});
    }
    if (!t->c->is_elastic) {
        return;
    }
    (void)snprintf(title, sizeof title, "%s: energy from the first test window", t->name);
    chart = cri_report_chart(
        report, &(cri_report_chart_def){.title = title, .x = "step", .y = "energy in J"});
    series = cri_report_series(
        report, chart, 2,
        (cri_report_line[]){{"true", CRI_LINE_DASHED}, {t->name, CRI_LINE_SOLID}});
    for (int k = 0; k < DCS_STATES; k++) {
        cri_report_point(report, series, k,
                         (double[]){t->score.true_energy[k], t->score.energy[k]});
    }
}

void cri_dcs_tell(const dcs_trained *t, cri_report *report, cri_experiment_result *out) {
    const cri_points_law *law = &t->truth->law;
    const dcs_paper paper = paper_of(t);
    add_errors(t, &paper, out);
    bool has_law = t->model->hit == CRI_HIT_LAW;
    if (t->c->has_friction && has_law) {
        add_coefficient(t, "friction", law->i_mu, paper.friction, out);
    }
    if (has_law) {
        add_coefficient(t, "restitution", law->i_e, paper.restitution, out);
    }
    if (t->learner->learns_epsilon) {
        cri_experiment_add(out, "1/kg", "match", t->p[law->i_epsilon], NAN, "%s epsilon", t->name);
    }
    if (t->model->hit != CRI_HIT_ALONE) {
        add_masses(t, &paper, out);
        add_moments(t, out);
    }
    cri_experiment_add(out, "", "lower", t->score.best, t->twist ? t->twist->paper_loss : NAN,
                       "%s loss of validation", t->name);
    cri_experiment_add(out, "epoch", "match", t->score.best_epoch, NAN, "%s best epoch", t->name);
    cri_experiment_add(out, "s", "lower", t->score.seconds, NAN, "%s training", t->name);
    if (report && t->spread) {
        put_classes(t, report);
    }
    if (report) {
        put_charts(t, report);
    }
}
