// SPDX-License-Identifier: MIT
//
// The touch of a general pair that comes next while others rest.
//
// A mesh on a plane, and a field's mesh on one, may come down with any of their vertices, and the
// outline of those within a margin leaves out most. All are looked at here: of those that approach,
// the lowest. What touches and neither rests nor approaches lies between resting ones, whose rows
// hold it. Where nothing approaches the lowest of what does not touch may do so later.

#include "contact/near_parts.h"

#include "base/base.h"
#include "geometry/convex/pieces.h"
#include "model/forms.h"

#include <math.h>

/// What cri_near_next was asked.
typedef struct question {
    const cri_world *world;
    const cri_near *near;
    const cri_state *state;
    const double *v, *motion;
    const cri_next *next;
    double least_gap; // of one that need not approach
} question;

static bool is_asked_for(const void *context, const cri_narrow_touch *touch) {
    const question *q = context;
    for (int i = 0; i < q->next->n_skip; i++) {
        if (q->next->skip[i] == touch->id) {
            return false;
        }
    }
    return touch->gap > q->least_gap || cri_near_rate(q->world, q->near, touch, q->state, q->v,
                                                      q->motion) < -q->next->least_speed;
}

// Of what cri_near_touches has, as a resting touch may come under another id: on a plane those that
// approach come first, elsewhere those that approach or do not touch yet, then whatever is there.
static bool next_of_outline(question q, bool has_plane, double margin, cri_narrow_touch *out) {
    cri_narrow_touch touch[CRI_MOST_SLOT];
    cri_near_touches(q.world, q.near, q.state, margin, touch);
    out->gap = INFINITY;
    const double least_gap[] = {INFINITY, q.next->least_gap, -INFINITY};
    for (int pass = 0; pass < 2 && !isfinite(out->gap); pass++) {
        q.least_gap = least_gap[has_plane ? pass : pass + 1];
        for (int k = 0; k < q.near->n_slot && isfinite(touch[k].gap); k++) {
            if (touch[k].gap < out->gap && is_asked_for(&q, &touch[k])) {
                *out = touch[k];
            }
        }
    }
    return isfinite(out->gap);
}

// rates of the vertices of a mesh are linear in their places: taken from four
static cri_plane_asked asked_of(const question *q, const cri_pose pose[2]) {
    cri_narrow_touch t = {.normal = cri_m3_column(&pose[0].R, 2)};
    double rate[4];
    for (int k = 0; k < 4; k++) {
        cri_vec3 x = k < 3 ? cri_v3_add(pose[1].pos, cri_m3_column(&pose[1].R, k)) : pose[1].pos;
        t.point[0] = t.point[1] = x;
        rate[k] = cri_near_rate(q->world, q->near, &t, q->state, q->v, q->motion);
    }
    return (cri_plane_asked){{rate[0] - rate[3], rate[1] - rate[3], rate[2] - rate[3]},
                             -q->next->least_speed - rate[3],
                             q->least_gap};
}

// of all vertices above a plane
static bool next_of_all(const question *q, double margin, cri_narrow_touch *touch) {
    const cri_world *w = q->world;
    const int *g = q->near->geom;
    cri_pose pose[2];
    cri_near_poses(w, q->near, q->state, pose);
    if (!cri_near_are_finite(pose)) {
        return false;
    }
    if (q->near->is_field) {
        const cri_form *form = w->d->forms->form;
        const cri_skin skin[2] = {cri_form_skin(&form[g[0]]), cri_form_skin(&form[g[1]])};
        return cri_skins_next(skin, pose, margin, is_asked_for, q, touch, w->scratch);
    }
    cri_shape shape[2];
    for (int s = 0; s < 2; s++) {
        const cri_geom *geom = &w->model->geom[g[s]];
        shape[s] = (cri_shape){geom->shape, w->d->geom[g[s]].size, geom->hull};
    }
    cri_plane_asked asked = asked_of(q, pose);
    return cri_plane_next(shape, pose, &asked, is_asked_for, q, touch) && touch->gap <= margin;
}

bool cri_near_next(const cri_world *w, const cri_near *near, const cri_state *state,
                   const double *v, const double *motion, double margin, const cri_next *next,
                   cri_narrow_touch *touch) {
    CR_ASSERT(near->kind == CRI_NEAR_GENERAL && next && touch);
    question q = {w, near, state, v, motion, next, INFINITY};
    const cri_geom *a = &w->model->geom[near->geom[0]], *b = &w->model->geom[near->geom[1]];
    // a smooth field touches with its own lowest points
    bool has_all = b->shape == CRI_SHAPE_MESH ||
                   (near->is_field && !cri_form_skin(&w->d->forms->form[near->geom[1]]).is_round);
    bool has_plane = a->shape == CRI_SHAPE_PLANE;
    if (!has_plane || !has_all) {
        return next_of_outline(q, has_plane, margin, touch);
    }
    if (next_of_all(&q, margin, touch)) {
        return true;
    }
    q.least_gap = next->least_gap;
    return next_of_all(&q, margin, touch);
}
