// SPDX-License-Identifier: MIT
//
// Laws `cone` and `cone-reg`: the convex contact model of DCS (paper 000, Eq. 5-7), two cone
// programmes,
//
//   f_c = argmin 1/2 f'A f + b'f                 |f_t| <= mu f_n
//   f_r = argmin 1/2 f'A f + (v_c - v*)'f        |f_t| <= mu f_n,  f_n >= e f_c,n
//   v_c = A f_c + b
//
// Convex: always solved, and with one e for all the energy never grows. The price: a sliding
// contact is lifted, u_n = mu |u_t|. `cone-reg` has A + eps 1 with eps = 0.01 1/kg, as that paper
// ran it: a unique impulse, contacts a little soft, but for those at rest. Where friction differs
// along the tangents, the direction with less of it is the softer one.

#include "contact/impulse_law.h"

static const void *solve_cone(const cri_contact_problem *problem, double *f, bool has_cache,
                              cri_law_report *report, cr_arena *keep, cr_arena *scratch) {
    static const cri_impulse_form form = {.kind = CRI_CONVEX, .is_poisson = true};
    return cri_impulse_solve(&form, problem, f, has_cache, report, keep, scratch);
}

const cri_law cri_law_cone = {
    .name = "cone",
    .summary = "convex cone programmes for compression and restitution (Poisson)",
    .promise = "Convex: every impact has a solution, and with one e energy never grows. What "
               "sticks does not creep. What slides is lifted, "
               "v_n = mu |v_t|, and hops; its path on average is Coulomb's.",
    .is_poisson = true,
    .is_lifting = true,
    .solve = solve_cone,
    CRI_IMPULSE_FUNCTIONS,
    .n_byte_smooth = cri_impulse_smooth_bytes,
};

static const void *solve_cone_reg(const cri_contact_problem *problem, double *f, bool has_cache,
                                  cri_law_report *report, cr_arena *keep, cr_arena *scratch) {
    static const cri_impulse_form form = {.kind = CRI_CONVEX, .is_poisson = true, .epsilon = 0.01};
    return cri_impulse_solve(&form, problem, f, has_cache, report, keep, scratch);
}

const cri_law cri_law_cone_reg = {
    .name = "cone-reg",
    .summary = "the same with A + 0.01 kg^-1",
    .promise = "Every contact has one impulse, and so a derivative. Soft: what sticks creeps and "
               "what rests sinks, more for heavier bodies. Meant for the stepper end.",
    .is_regularised = true,
    .is_poisson = true,
    .is_lifting = true,
    .solve = solve_cone_reg,
    CRI_IMPULSE_FUNCTIONS,
    .n_byte_smooth = cri_impulse_smooth_bytes,
};
