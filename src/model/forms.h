// SPDX-License-Identifier: MIT
//
// The forms of a model's geoms at some parameters: fields, meshes, trees and masses.
//
// Made once for each set of parameters; constant afterwards. Geoms without a plan have none. They
// are the part of d = derive(p) that is no array of numbers: adjoints and tangents of what follows
// from them are those of the parameters (cri_derived.shape, cri_geom_derived.size).

#pragma once

#include "geometry/field/form.h"
#include "model/model.h"

typedef struct cri_forms {
    cri_form *form;    // (n_geom) plan NULL: none
    double *param;     // (n_geom parameters, one geom after the other) they were made of
    int n_param;       // in all
    cr_arena *memory;  // owns everything above
    cr_arena *scratch; // of the derivatives of masses
} cri_forms;

/// Empty forms. False when there is no memory.
CR_MUST_CHECK bool cri_forms_begin(const cr_model *model, cri_forms *forms);

void cri_forms_clear(cri_forms *forms);

/// Whether they were made of p.
bool cri_forms_are_of(const cr_model *model, const double *p, const cri_forms *forms);

/// Forms of p; nothing is done when their parameters are those they were made of. The geom that is
/// no shape is named. When it fails there are none until the next time.
CR_MUST_CHECK cr_status cri_forms_make(const cr_model *model, const double *p, cri_forms *forms,
                                       cr_error *err);
