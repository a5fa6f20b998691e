// SPDX-License-Identifier: MIT
//
// What all impulse laws share: a kind of friction with Newton's or Poisson's restitution.

#pragma once

#include "contact/law.h"
#include "solvers/friction_reduced.h"

/// What makes an impulse law.
typedef struct cri_impulse_form {
    cri_friction_kind kind;
    bool is_poisson; // else Newton's restitution
    double epsilon;  // 1/kg, added to the diagonal of A where a contact does not merely rest
} cri_impulse_form;

/// cri_law's solve, vjp, jvp and n_byte for a form.
const void *cri_impulse_solve(const cri_impulse_form *form, const cri_contact_problem *problem,
                              double *f, bool has_cache, cri_law_report *report, cr_arena *keep,
                              cr_arena *scratch);

extern const cri_law cri_law_ncp, cri_law_ncp_poisson, cri_law_cone, cri_law_cone_reg, cri_law_lcp;
