// SPDX-License-Identifier: MIT
//
// Curves in bounded memory. Points gather in buckets of stride points each; when all buckets are
// full, neighbours are joined and the stride doubles. A bucket keeps the least and the largest
// value of each curve and which came first, so that an impulse of one step is still seen among a
// million.

#include "report/report_parts.h"

#include <math.h>

// joins two spans, a before b
static cri_report_span join(cri_report_span a, cri_report_span b) {
    if (isnan(a.low)) {
        return b;
    }
    if (isnan(b.low)) {
        return a;
    }
    bool is_low_of_a = a.low <= b.low, is_high_of_a = a.high >= b.high;
    cri_report_span both = {is_low_of_a ? a.low : b.low, is_high_of_a ? a.high : b.high, false};
    if (is_low_of_a == is_high_of_a) {
        both.is_low_first = is_low_of_a ? a.is_low_first : b.is_low_first;
    } else {
        both.is_low_first = is_low_of_a;
    }
    return both;
}

int cri_report_chart(cri_report *report, const cri_report_chart_def *def) {
    if (!report) {
        return -1;
    }
    cri_report_chart_node *node = CR_PUSH(report->memory, cri_report_chart_node, 1);
    if (!node) {
        return -1;
    }
    node->def = (cri_report_chart_def){.title = cri_report_copy(report, def->title),
                                       .x = cri_report_copy(report, def->x),
                                       .x_unit = cri_report_copy(report, def->x_unit),
                                       .y = cri_report_copy(report, def->y),
                                       .unit = cri_report_copy(report, def->unit),
                                       .is_log = def->is_log,
                                       .motion = def->motion};
    CRI_REPORT_APPEND(report->first_chart, report->last_chart, node);
    return report->n_chart++;
}

int cri_report_series(cri_report *report, int chart, int n_line, const cri_report_line *line) {
    CR_ASSERT(n_line > 0);
    if (!report || chart < 0) {
        return -1;
    }
    CR_ASSERT(chart < report->n_chart);
    cr_arena *memory = report->memory;
    cri_report_series_node *node = CR_PUSH(memory, cri_report_series_node, 1);
    cri_report_line *copy = CR_PUSH(memory, cri_report_line, n_line);
    double(*x)[2] = cri_arena_push(memory, sizeof *x * (CRI_REPORT_POINTS + 1));
    cri_report_span *span = CR_PUSH(memory, cri_report_span, (CRI_REPORT_POINTS + 1) * n_line);
    if (!node || !copy || !x || !span) {
        return -1;
    }
    for (int i = 0; i < n_line; i++) {
        copy[i] = (cri_report_line){cri_report_copy(report, line[i].name), line[i].style};
    }
    *node = (cri_report_series_node){
        .chart = chart, .n_line = n_line, .line = copy, .stride = 1, .x = x, .span = span};
    node->number = report->n_series;
    CRI_REPORT_APPEND(report->first_series, report->last_series, node);
    return report->n_series++;
}

/// Joins neighbours; an even number of buckets is full.
static void halve(cri_report_series_node *s) {
    for (int i = 0; i < s->n_bucket / 2; i++) {
        s->x[i][0] = s->x[2 * i][0];
        s->x[i][1] = s->x[2 * i + 1][1];
        const cri_report_span *a = s->span + (size_t)(2 * i) * (size_t)s->n_line;
        cri_report_span *to = s->span + (size_t)i * (size_t)s->n_line;
        for (int k = 0; k < s->n_line; k++) {
            to[k] = join(a[k], a[s->n_line + k]);
        }
    }
    s->n_bucket /= 2;
    s->stride *= 2;
}

void cri_report_point(cri_report *report, int series, double x, const double *y) {
    if (!report || series < 0 || !isfinite(x)) {
        return;
    }
    // what was begun last is filled most
    cri_report_series_node *s = report->current_series;
    if (!s || s->number != series) {
        s = report->first_series;
        while (s && s->number != series) {
            s = s->next;
        }
        report->current_series = s;
    }
    CR_ASSERT(s);
    if (s->n_bucket == CRI_REPORT_POINTS) {
        halve(s);
    }
    cri_report_span *span = s->span + (size_t)s->n_bucket * (size_t)s->n_line;
    for (int k = 0; k < s->n_line; k++) {
        double value = isfinite(y[k]) ? y[k] : NAN;
        cri_report_span here = {value, value, true};
        span[k] = s->n_filled > 0 ? join(span[k], here) : here;
    }
    if (s->n_filled == 0) {
        s->x[s->n_bucket][0] = x;
    }
    s->x[s->n_bucket][1] = x;
    if (++s->n_filled == s->stride) {
        s->n_bucket++;
        s->n_filled = 0;
    }
}

int cri_report_n_point(const cri_report_series_node *series) {
    int n = series->n_bucket + (series->n_filled > 0);
    return series->stride > 1 ? 2 * n : n;
}

double cri_report_x(const cri_report_series_node *series, int point) {
    bool is_pair = series->stride > 1;
    return is_pair ? series->x[point / 2][point % 2] : series->x[point][0];
}

double cri_report_y(const cri_report_series_node *series, int line, int point) {
    bool is_pair = series->stride > 1;
    size_t bucket = (size_t)(is_pair ? point / 2 : point);
    const cri_report_span *span = &series->span[bucket * (size_t)series->n_line + (size_t)line];
    bool is_first = is_pair ? point % 2 == 0 : true;
    return is_first == span->is_low_first ? span->low : span->high;
}
