// SPDX-License-Identifier: MIT
//
// Law `lcp`: friction in an octagon, d_k at 45 k degrees from the first tangent (SDF, paper 004,
// A.7; the data of DCS), Newton's restitution:
//
//   0 <= f_n perp u_n >= 0,    f_t in mu f_n conv{d_0 .. d_7}, and f_t'u_t least of all there
//
// The multipliers of that linear complementarity problem are not unique while a contact sticks;
// here they are eliminated (solvers/friction.h), so that its derivative exists. Not isotropic:
// friction turns by up to 22.5 degrees from the slip, and its size varies by 8 per cent.

#include "contact/impulse_law.h"

static const void *solve_lcp(const cri_contact_problem *problem, double *f, bool has_cache,
                             cri_law_report *report, cr_arena *keep, cr_arena *scratch) {
    static const cri_impulse_form form = {.kind = CRI_OCTAGON};
    return cri_impulse_solve(&form, problem, f, has_cache, report, keep, scratch);
}

const cri_law cri_law_lcp = {
    .name = "lcp",
    .summary = "octagonal friction cone, linear complementarity, Newton restitution",
    .promise = "As ncp, but friction depends on the direction: up to 8 per cent weaker, and slip "
               "turns by up to 22.5 degrees. What sticks does not creep, what slides does not "
               "lift.",
    .is_octagon = true,
    .solve = solve_lcp,
    CRI_IMPULSE_FUNCTIONS,
};
