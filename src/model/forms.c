// SPDX-License-Identifier: MIT
//
// Forms of geoms, made anew where a parameter has changed.

#include "model/forms.h"

#include <string.h>

enum { FIRST_BYTES = 1 << 12 };

bool cri_forms_begin(const cr_model *m, cri_forms *forms) {
    *forms = (cri_forms){0};
    if (m->n_form == 0) {
        return true;
    }
    forms->memory = cri_arena_create(FIRST_BYTES);
    forms->scratch = cri_arena_create(FIRST_BYTES);
    return forms->memory && forms->scratch;
}

void cri_forms_clear(cri_forms *forms) {
    cri_arena_destroy(forms->memory);
    cri_arena_destroy(forms->scratch);
    *forms = (cri_forms){0};
}

// parameters of a geom's plan; a hull has none of its own
static const double *params_of(const cri_geom *geom, const double *p) {
    static const double one = 1.0;
    if (geom->shape == CRI_SHAPE_MESH) {
        return &one;
    }
    return p + (geom->shape == CRI_SHAPE_FIELD ? geom->slot_shape : geom->slot_size);
}

bool cri_forms_are_of(const cr_model *m, const double *p, const cri_forms *forms) {
    CR_ASSERT(p && forms);
    const double *own = forms->param;
    for (int g = 0; g < m->sizes.n_geom && forms->form; g++) {
        const cri_geom *geom = &m->geom[g];
        int n = geom->plan ? geom->plan->n_param : 0;
        if (n > 0 && memcmp(own, params_of(geom, p), sizeof *p * (size_t)n) != 0) {
            return false;
        }
        own += n;
    }
    return forms->form != NULL;
}

static cr_status make(const cr_model *m, const double *p, cri_forms *forms, cr_error *err) {
    int n_geom = m->sizes.n_geom, n_param = 0;
    for (int g = 0; g < n_geom; g++) {
        n_param += m->geom[g].plan ? m->geom[g].plan->n_param : 0;
    }
    cri_form *form = CR_PUSH(forms->memory, cri_form, n_geom);
    double *own = CR_PUSH(forms->memory, double, n_param + 1);
    if (!form || !own) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
    }
    forms->param = own;
    for (int g = 0; g < n_geom; g++) {
        const cri_geom *geom = &m->geom[g];
        if (!geom->plan) {
            continue;
        }
        cr_error why = {0};
        const double *param = params_of(geom, p);
        cr_status status =
            cri_form_make(geom->plan, param, forms->memory, forms->scratch, &form[g], &why);
        if (status != CR_OK) {
            return cri_fail(err, status, 0, "the shape of geom %.60s: %.150s", m->geom_name[g],
                            why.text);
        }
        memcpy(own, param, sizeof *own * (size_t)geom->plan->n_param);
        own += geom->plan->n_param;
        // what derivatives of the mass will push: vertices, and phi at those of a marched mesh
        size_t n = 3 * (size_t)form[g].tree.mesh.n_vertex + (size_t)form[g].surface.n_vertex;
        if (!cri_arena_reserve(forms->scratch, sizeof(double) * n + 256)) {
            return cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
        }
    }
    forms->n_param = n_param;
    forms->form = form;
    return CR_OK;
}

cr_status cri_forms_make(const cr_model *m, const double *p, cri_forms *forms, cr_error *err) {
    CR_ASSERT(p && forms);
    if (m->n_form == 0 || cri_forms_are_of(m, p, forms)) {
        return CR_OK;
    }
    cri_arena_reset(forms->memory);
    forms->form = NULL;
    forms->param = NULL;
    return make(m, p, forms, err);
}
