// SPDX-License-Identifier: MIT
//
// Charts of a trained model beside the truth: motion, phase portrait, energy, potential gradient,
// contact function.

#include "cdl_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/// A point of a phase portrait.
typedef struct phase {
    double q, v;
} phase;

static int by_q(const void *a, const void *b) {
    double x = ((const phase *)a)->q;
    double y = ((const phase *)b)->q;
    return (x > y) - (x < y);
}

/// What is drawn.
typedef struct page {
    const cdl_case *c;
    const char *name;
    const cri_learner *learner;
    const double *p;
    cri_report *report;
    cr_arena *arena;
    cdl_path path[2]; // true, and the model's
} page;

static int begin_chart(const page *g, const char *what, const char *x, const char *y) {
    char title[120];
    (void)snprintf(title, sizeof title, "%s: %s", g->name, what);
    return cri_report_chart(g->report, &(cri_report_chart_def){.title = title, .x = x, .y = y});
}

static int begin_pair(const page *g, int chart, const char *truth, const char *model) {
    return cri_report_series(
        g->report, chart, 2,
        (cri_report_line[]){{truth, CRI_LINE_DASHED}, {model, CRI_LINE_SOLID}});
}

static void put_motion(const page *g) {
    const cdl_case *c = g->c;
    int chart = begin_chart(g, "positions", "time in s", "position");
    for (int k = 0; k < c->n_q; k++) {
        char label[2][60];
        (void)snprintf(label[0], sizeof label[0], "true q[%d]", k);
        (void)snprintf(label[1], sizeof label[1], "%.40s q[%d]", g->name, k);
        int series = begin_pair(g, chart, label[0], label[1]);
        for (int row = 0; row < g->path[0].n_row; row++) {
            size_t at = (size_t)(row * 2 * c->n_q + k);
            cri_report_point(g->report, series, row * c->dt,
                             (double[]){g->path[0].x[at], g->path[1].x[at]});
        }
    }
}

// points by ascending position, since curves are functions of x
static bool put_portrait(const page *g) {
    const cdl_case *c = g->c;
    int chart = begin_chart(g, "phase portrait of q[0]", "position", "velocity");
    int n_row = g->path[0].n_row;
    phase *sorted = CR_PUSH(g->arena, phase, n_row);
    for (int side = 0; sorted && side < 2; side++) {
        for (int row = 0; row < n_row; row++) {
            const double *x = g->path[side].x + (size_t)(row * 2 * c->n_q);
            sorted[row] = (phase){x[0], x[c->n_q]};
        }
        qsort(sorted, (size_t)n_row, sizeof *sorted, by_q);
        int series = cri_report_series(
            g->report, chart, 1,
            &(cri_report_line){.name = side ? g->name : "true", .style = CRI_LINE_POINTS});
        for (int row = 0; row < n_row; row++) {
            cri_report_point(g->report, series, sorted[row].q, &sorted[row].v);
        }
    }
    return sorted != NULL;
}

static void put_energy(const page *g) {
    int chart = begin_chart(g, "energy of the state in the true potential", "time in s", "J");
    int series = begin_pair(g, chart, "true", g->name);
    for (int row = 0; row < g->path[0].n_row; row++) {
        double energy[2];
        for (int side = 0; side < 2; side++) {
            energy[side] = cri_cdl_energy(g->c, g->path[side].x + (size_t)(row * 2 * g->c->n_q));
        }
        cri_report_point(g->report, series, row * g->c->dt, energy);
    }
}

/// Where the first coordinate of the truth goes.
typedef struct span {
    double least, most; // of position
    double speed;       // the least velocity
} span;

static span span_of(const page *g) {
    span s = {INFINITY, -INFINITY, INFINITY};
    for (int row = 0; row < g->path[0].n_row; row++) {
        const double *x = g->path[0].x + (size_t)(row * 2 * g->c->n_q);
        s.least = fmin(s.least, x[0]);
        s.most = fmax(s.most, x[0]);
        s.speed = fmin(s.speed, x[g->c->n_q]);
    }
    return s;
}

enum { N_POINT = 200 };

static bool put_force(const page *g, span s) {
    int chart = begin_chart(g, "potential gradient along q[0]", "position", "dV/dq");
    int series = begin_pair(g, chart, "true", "learned");
    for (int k = 0; k <= N_POINT; k++) {
        double q[CDL_Q_MOST] = {s.least + (s.most - s.least) * k / N_POINT};
        double truth[CDL_Q_MOST], found[CDL_Q_MOST];
        g->c->potential(g->c, q, truth);
        if (!cri_learner_force(g->learner, g->p, 1, q, found, g->arena)) {
            return false;
        }
        cri_report_point(g->report, series, q[0], (double[]){truth[0], found[0]});
    }
    return true;
}

static bool put_contact(const page *g, span s) {
    char what[60];
    (void)snprintf(what, sizeof what, "contact function at velocity %.3g", s.speed);
    int chart = begin_chart(g, what, "position", "probability");
    int series =
        cri_report_series(g->report, chart, 1, &(cri_report_line){"contact net", CRI_LINE_SOLID});
    for (int k = 0; k <= N_POINT; k++) {
        double x[2 * CDL_Q_MOST] = {s.least + (s.most - s.least) * k / N_POINT};
        double probability[CDL_TOUCH_MOST];
        x[g->c->n_q] = s.speed;
        if (!cri_learner_touch(g->learner, g->p, 1, x, probability, g->arena)) {
            return false;
        }
        cri_report_point(g->report, series, x[0], probability);
    }
    return true;
}

bool cri_cdl_page(const cdl_case *c, const char *name, const cri_learner *learner, const double *p,
                  cri_report *report, cr_arena *arena) {
    cri_arena_mark mark = cri_arena_get_mark(arena);
    page g = {c, name, learner, p, report, arena, {{0}, {0}}};
    if (!cri_cdl_follow(c, learner, p, c->train, g.path, c->n_row, arena)) {
        return false;
    }
    bool has_force = learner->central || learner->kind == CRI_LEARN_VIN;
    bool has_touch = learner->central || learner->kind == CRI_LEARN_RESNETCONTACT;
    put_motion(&g);
    put_energy(&g);
    bool is_done = put_portrait(&g) && (!has_force || put_force(&g, span_of(&g))) &&
                   (!has_touch || put_contact(&g, span_of(&g)));
    cri_arena_rewind(arena, mark);
    return is_done;
}
