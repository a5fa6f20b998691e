// SPDX-License-Identifier: MIT
//
// Samples from recordings (paper 003, section III.D): the impulse of a transition is what brings
// the velocities of the patch's rows, G v, from before to after,
//
//   A g = G (v+ - v)
//
// which is also the impulse that fits v+ - v best in the mass norm. The body is put on the surface
// first, for poses have errors.

#include "learn/ground_parts.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

// the velocities of the rows before and after, from a solve that is not otherwise used
static bool look_at(cri_ground_sampler *s, const cri_ground_record *record, int i,
                    cri_ground_solved *out) {
    cri_ground_solved later;
    double after[CRI_GROUND_ROWS], *x = s->x;
    int n_q = s->model->sizes.n_q, n_v = s->model->sizes.n_v;
    memcpy(x, record->q + n_q * i, sizeof *x * (size_t)n_q);
    cri_ground_look(s);
    if (cri_ground_lowest(s)->gap > record->gap) {
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
    for (int i = 0; i < record->n && status == CR_OK; i++) {
        cri_ground_solved one;
        if (look_at(&s, record, i, &one) && one.ground.kind == kind) {
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
