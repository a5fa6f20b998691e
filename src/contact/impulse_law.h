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
void cri_impulse_vjp(const cri_contact_problem *problem, const void *cache, const double *f,
                     const double *f_adj, cri_contact_adj *adj, cr_arena *scratch);
void cri_impulse_jvp(const cri_contact_problem *problem, const void *cache, const double *f,
                     const cri_contact_tan *tan, double *f_tan, cr_arena *scratch);
size_t cri_impulse_bytes(int n);

/// Its split and jvp_many: of one solve that is not smoothed.
bool cri_impulse_split(const cri_contact_problem *problem, const void *cache,
                       cri_contact_split *split);
void cri_impulse_jvp_many(const void *cache, int n_column, double *F, const double *A_q,
                          cr_arena *scratch);

/// What every impulse law has alike, as designators of its cri_law.
#define CRI_IMPULSE_FUNCTIONS                                                                      \
    .vjp = cri_impulse_vjp, .jvp = cri_impulse_jvp, .split = cri_impulse_split,                    \
    .jvp_many = cri_impulse_jvp_many, .n_byte_many = cri_friction_many_bytes,                      \
    .n_byte = cri_impulse_bytes

/// n_byte_smooth of convex ones.
size_t cri_impulse_smooth_bytes(int n);

extern const cri_law cri_law_ncp, cri_law_ncp_poisson, cri_law_cone, cri_law_cone_reg, cri_law_lcp;
