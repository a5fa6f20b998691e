// SPDX-License-Identifier: MIT
//
// Pairs of geoms one of which is a distance field: forms of geometry/field/form.h in the world.
//
// Touches within the margin are those of both meshes in both fields; when there is none, the first
// touch is the lowest point of either mesh, however far. A field that is no exact distance far from
// its surface makes that an estimate; it is exact where it counts, at a gap of zero.

#include "contact/near_parts.h"

#include "model/forms.h"

#include <math.h>

static void forms_of(const cri_world *w, const cri_near *near, const cri_form *form[2]) {
    CR_ASSERT(w->d->forms && w->d->forms->form);
    for (int s = 0; s < 2; s++) {
        form[s] = &w->d->forms->form[near->geom[s]];
        CR_ASSERT(form[s]->plan);
    }
}

// parameters of a geom in a derived block, NULL: it has none
static double *params_in(const cri_world *w, int g, const cri_derived *d) {
    const cri_geom *geom = &w->model->geom[g];
    if (geom->shape == CRI_SHAPE_FIELD) {
        return d->shape + geom->first_shape;
    }
    bool has_sizes = geom->shape != CRI_SHAPE_PLANE && geom->shape != CRI_SHAPE_MESH;
    return has_sizes ? d->geom[g].size : NULL;
}

void cri_near_field_touch(const cri_world *w, const cri_near *near, const cri_pose pose[2],
                          cri_narrow_touch *touch) {
    const cri_form *form[2];
    forms_of(w, near, form);
    const cri_skin skin[2] = {cri_form_skin(form[0]), cri_form_skin(form[1])};
    cri_skins_distance(skin, pose, touch, w->scratch);
}

void cri_near_field_touches(const cri_world *w, const cri_near *near, const cri_pose pose[2],
                            double margin, cri_narrow_touch *touch) {
    const cri_form *form[2];
    forms_of(w, near, form);
    const cri_skin skin[2] = {cri_form_skin(form[0]), cri_form_skin(form[1])};
    // the narrow phase has met its largest need when parameters were set
    int n = cri_skins_collide(skin, pose, margin, near->n_slot, touch, w->scratch);
    CR_ASSERT(!cri_arena_has_failed(w->scratch));
    if (n == 0) {
        cri_skins_distance(skin, pose, touch, w->scratch);
        n = 1;
    }
    for (int k = n; k < near->n_slot; k++) {
        touch[k].gap = INFINITY;
    }
}

bool cri_near_field_again(const cri_world *w, const cri_near *near, const cri_pose pose[2],
                          cri_narrow_touch *touch) {
    const cri_form *form[2];
    forms_of(w, near, form);
    const cri_skin skin[2] = {cri_form_skin(form[0]), cri_form_skin(form[1])};
    return cri_skin_touch_again(skin, pose, touch);
}

cri_vec3 cri_near_gap_direction(const cri_world *w, const cri_near *near, const cri_state *state,
                                const cri_narrow_touch *touch) {
    if (!near->is_field || !(touch->cache.kind & CRI_SKIN_OWN)) {
        return touch->normal;
    }
    const cri_form *form[2];
    cri_pose pose[2];
    forms_of(w, near, form);
    cri_near_poses(w, near, state, pose);
    const cri_skin skin[2] = {cri_form_skin(form[0]), cri_form_skin(form[1])};
    return cri_skin_gap_direction(skin, pose, touch);
}

void cri_near_field_vjp(const cri_world *w, const cri_near *near, const cri_narrow_touch *touch,
                        const cri_state *state, const cri_touch_diff *adj, double *q_adj,
                        const cri_derived *d_adj) {
    const cri_form *form[2];
    cri_pose pose[2];
    cri_form_diff diff[2];
    forms_of(w, near, form);
    cri_near_poses(w, near, state, pose);
    for (int s = 0; s < 2; s++) {
        diff[s] = (cri_form_diff){.param = params_in(w, near->geom[s], d_adj)};
    }
    cri_form_touch_vjp(form, pose, touch, adj, diff);
    for (int s = 0; s < 2; s++) {
        cri_near_pose_vjp(w, near->geom[s], state, diff[s].pos, diff[s].rot, q_adj, d_adj);
    }
}

cri_touch_diff cri_near_field_jvp(const cri_world *w, const cri_near *near,
                                  const cri_narrow_touch *touch, const cri_state *state,
                                  const double *body_tan, const cri_derived *d_tan) {
    const cri_form *form[2];
    cri_pose pose[2];
    cri_form_diff diff[2];
    forms_of(w, near, form);
    cri_near_poses(w, near, state, pose);
    for (int s = 0; s < 2; s++) {
        diff[s].param = params_in(w, near->geom[s], d_tan);
        cri_near_pose_jvp(w, near->geom[s], state, body_tan, d_tan, &diff[s].pos, &diff[s].rot);
    }
    return cri_form_touch_jvp(form, pose, touch, diff);
}
