// SPDX-License-Identifier: MIT
//
// Law `ncp`: Coulomb's cone and Signorini's condition, both exact. u = A f + c,
//
//   0 <= f_n - l  perp  u_n >= 0,    |f_t| <= mu f_n,    f_t = -mu f_n u_t/|u_t| where u_t != 0
//
// A sliding contact stays down (u_n = 0). Not convex: solutions need not be unique, and a solve may
// fail. Restitution is Newton's (`ncp`), or Poisson's (`ncp-poisson`), which was not seen to add
// energy where one coefficient holds for the whole island.

#include "contact/impulse_law.h"

static const void *solve_ncp(const cri_contact_problem *problem, double *f, bool has_cache,
                             cri_law_report *report, cr_arena *keep, cr_arena *scratch) {
    static const cri_impulse_form form = {.kind = CRI_COULOMB};
    return cri_impulse_solve(&form, problem, f, has_cache, report, keep, scratch);
}

const cri_law cri_law_ncp = {
    .name = "ncp",
    .summary = "exact Coulomb cone and Signorini condition, Newton restitution",
    .promise = "What sticks does not creep, what slides does not lift, friction is the same in all "
               "directions. Not convex: a solve can fail, and the step then says so. Energy can "
               "grow in an impact that friction turns round.",
    .solve = solve_ncp,
    CRI_IMPULSE_FUNCTIONS,
};

static const void *solve_ncp_poisson(const cri_contact_problem *problem, double *f, bool has_cache,
                                     cri_law_report *report, cr_arena *keep, cr_arena *scratch) {
    static const cri_impulse_form form = {.kind = CRI_COULOMB, .is_poisson = true};
    return cri_impulse_solve(&form, problem, f, has_cache, report, keep, scratch);
}

const cri_law cri_law_ncp_poisson = {
    .name = "ncp-poisson",
    .summary = "exact Coulomb cone and Signorini condition, Poisson restitution",
    .promise = "As ncp, and restitution gives back a part e of the impulse: no impact with one e "
               "was seen to gain energy.",
    .is_poisson = true,
    .solve = solve_ncp_poisson,
    CRI_IMPULSE_FUNCTIONS,
};
