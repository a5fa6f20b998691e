// SPDX-License-Identifier: MIT
//
// Samples from recordings (paper 003, section III.D): the impulse of a transition is what brings
// the velocities of the patch's rows, G v, from before to after,
//
//   A g = G (v+ - v)
//
// which is also the impulse that fits v+ - v best in the mass norm. The body is put on the surface
// first, for poses have errors.
//
// Rows of a recording are at any time around an impact, which is found between two of them: with
// gaps g at the first pose q and g' where v alone would have brought it, the touch is at
//
//   q + s h v,   s = g/(g - g')   where g' < 0
//
// else at the second one. What closes after it nearly as before has not touched yet. Differences of
// positions are no velocities where a neighbouring transition has an impact: of such recordings
// only what meets the surface by v counts, and nothing right behind an impact.

#include "learned/ground_parts.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

// of the normal speed before: what closes with more of it afterwards has not touched
static const double untouched = 0.5;

static double gap_at(cri_ground_sampler *s, const double *q, double t, const double *v) {
    for (int k = 0; k < s->model->sizes.n_q; k++) {
        s->x[k] = q[k] + (v ? t * v[k] : 0.0);
    }
    cri_ground_look(s);
    return cri_ground_lowest(s)->gap;
}

// part of the span h after which the lowest point, above at its begin and below at its end, touches
static double find_touch(cri_ground_sampler *s, const double *q, double h, const double *v) {
    double low = 0.0, high = 1.0;
    for (int k = 0; k < 40; k++) {
        double part = 0.5 * (low + high);
        *(gap_at(s, q, part * h, v) > 0.0 ? &low : &high) = part;
    }
    return high;
}

// sets the pose of the contact of transition i; false when there is none. An impact begins away
// from the surface.
static bool place(cri_ground_sampler *s, const cri_ground_record *record, int i, bool *is_impact) {
    int n_q = s->model->sizes.n_q, n_v = s->model->sizes.n_v;
    double end = gap_at(s, record->q + n_q * i, 0.0, NULL);
    *is_impact = false;
    if (!record->from) {
        return end <= record->gap;
    }
    CR_ASSERT(record->span && n_q == n_v);
    const double *from = record->from + n_q * i;
    const double *v = (record->mean ? record->mean : record->before) + n_v * i;
    double h = record->span[i], first = gap_at(s, from, 0.0, NULL), last = gap_at(s, from, h, v);
    *is_impact = last < 0.0 && first > 0.0;
    if (last < 0.0) {
        double part = first > 0.0 ? find_touch(s, from, h, v) : 0.0;
        (void)gap_at(s, from, part * h, v);
    } else {
        (void)gap_at(s, record->q + n_q * i, 0.0, NULL);
    }
    return record->is_difference ? last < 0.0 : fmin(last, end) <= record->gap;
}

// does transition i begin where the one before it ends?
static bool goes_on(const cri_ground_sampler *s, const cri_ground_record *record, int i) {
    int n_q = s->model->sizes.n_q;
    return record->from && i > 0 &&
           memcmp(record->from + n_q * i, record->q + n_q * (i - 1),
                  sizeof *record->q * (size_t)n_q) == 0;
}

// does an end close after the transition as if there had been no contact?
static bool is_closing_on(const cri_ground *before, const double *after, double noise) {
    bool is_on = false;
    for (int k = before->n_tangent; k < before->n_row; k++) {
        is_on = is_on || (after[k] < -noise && after[k] < untouched * before->c[k]);
    }
    return is_on;
}

// the velocities of the rows before and after, from a solve that is not otherwise used
static bool look_at(cri_ground_sampler *s, const cri_ground_record *record, int i, bool *is_impact,
                    cri_ground_solved *out) {
    cri_ground_solved later;
    double after[CRI_GROUND_ROWS];
    int n_v = s->model->sizes.n_v;
    bool was_impact = *is_impact && record->is_difference && goes_on(s, record, i);
    bool is_near = place(s, record, i, is_impact);
    *is_impact = *is_impact && !was_impact; // the velocity behind an impact says nothing
    if (!is_near || was_impact) {
        return false;
    }
    cri_ground_settle(s);
    if (!cri_ground_solve(s, record->reach, record->after + n_v * i, NULL, &later)) {
        return false;
    }
    memcpy(after, later.ground.c, sizeof after);
    cri_ground_settle(s);
    bool is_good = cri_ground_solve(s, record->reach, record->before + n_v * i, NULL, out) &&
                   cri_ground_is_moving(out) && out->ground.kind == later.ground.kind;
    if (record->from && is_good && is_closing_on(&out->ground, after, record->noise)) {
        return false;
    }
    memcpy(out->u, after, sizeof after);
    out->is_plain = false;
    is_good = is_good && cri_ground_impulse_of(out);
    memcpy(out->push, out->g, sizeof out->g);
    return is_good;
}

cr_status cri_ground_take_record(const cr_model *model, cri_ground_kind kind,
                                 const cri_ground_record *record, cri_ground_data *out,
                                 cr_arena *arena, cr_error *err) {
    CR_ASSERT(model && record && record->n > 0 && out && arena);
    *out = (cri_ground_data){0};
    cri_ground_sampler s;
    cr_status status = cri_ground_open(model, cri_law_find("lcp"), &s, err);
    if (status == CR_OK &&
        !cri_ground_data_push(kind, record->n, false, record->has_place, out, arena)) {
        status = cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
    }
    int n = 0;
    bool is_impact = false;
    for (int i = 0; i < record->n && status == CR_OK; i++) {
        cri_ground_solved one;
        if (look_at(&s, record, i, &is_impact, &one) && one.ground.kind == kind) {
            cri_ground_store(&one, record->noise, n++, out);
        }
    }
    out->n = n;
    cri_ground_close(&s);
    return status;
}

cr_status cri_ground_predict(const cr_model *model, const char *law,
                             const cri_ground_record *record, double *after, cr_error *err) {
    CR_ASSERT(model && law && record && after);
    cri_ground_sampler s;
    cr_status status = cri_ground_open(model, cri_law_find(law), &s, err);
    for (int i = 0; i < record->n && status == CR_OK; i++) {
        cri_ground_solved one;
        int n_q = model->sizes.n_q, n_v = model->sizes.n_v;
        memcpy(s.x, record->q + n_q * i, sizeof *after * (size_t)n_q);
        cri_ground_settle(&s);
        memcpy(after + n_v * i, record->before + n_v * i, sizeof *after * (size_t)n_v);
        (void)cri_ground_solve(&s, record->reach, record->before + n_v * i, after + n_v * i, &one);
    }
    cri_ground_close(&s);
    return status;
}
