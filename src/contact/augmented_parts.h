// SPDX-License-Identifier: MIT
//
// One solve of the laws made of nets, and what their derivatives replay. Private to src/contact.

#pragma once

#include "contact/augmented.h"
#include "solvers/lcp.h"

enum {
    CRI_AUGMENTED_MOST = CRI_GROUND_ROWS,
    CRI_AUGMENTED_ENDS = CRI_GROUND_ENDS,
    CRI_AUGMENTED_OUT = CRI_GROUND_LEAD + 1,
};

/// One solve.
typedef struct cri_augmented_cache {
    cri_ground ground;
    cri_ground_class said;
    cri_augmented_mode mode;
    double g[CRI_AUGMENTED_MOST];
    double rest[CRI_AUGMENTED_MOST];                        // c, with what closing ends rebound by
    double factor[CRI_AUGMENTED_MOST * CRI_AUGMENTED_MOST]; // static: Cholesky of A on held rows
    int n_held, held[CRI_AUGMENTED_MOST]; // static: rows that stand still, and hold all others
    double input[CRI_GROUND_INPUTS];
    double out[CRI_AUGMENTED_OUT]; // of the regressor
    bool has_out;                  // there is
    bool has_e;                    // restitution counts, and its net moves it
    bool has_applied;              // inputs are also what forces made
    bool is_linked;                // inputs are those of the body alone
    double e;                      // restitution
    double scale;                  // of impulses
    cri_mlp_cache net;
    double M[CRI_AUGMENTED_ENDS * CRI_AUGMENTED_ENDS]; // of the complementarity problem
    double q[CRI_AUGMENTED_ENDS];
    int n_part, part[CRI_AUGMENTED_ENDS]; // ends whose normals derivatives move, independent ones
    cri_lcp_cache lcp;                    // of them
    const cri_law *inner;                 // that solved instead, NULL: none
    const void *inner_cache;
} cri_augmented_cache;

/// Class of the inputs, and by how much it leads in probability.
cri_ground_class cri_augmented_classify(const cri_contact_problem *problem,
                                        const cri_augmented_cache *c, double *margin,
                                        cr_arena *scratch);

/// Algorithm 1 with its guards, for the class and inputs that are there.
void cri_augmented_choose(const cri_contact_problem *problem, cri_augmented_cache *c,
                          bool has_cache, cri_law_report *report, cr_arena *keep,
                          cr_arena *scratch);

/// Static: g that brings the patch to rest, with c' in rest; false when an end would pull.
bool cri_augmented_stand(cri_augmented_cache *c, cr_arena *scratch);

/// The part of the normals' problem that derivatives move, from its solution in g; false when there
/// is none.
bool cri_augmented_part(cri_augmented_cache *c, const cri_lcp *normals, cr_arena *keep);

/// Algorithm 2: the inputs and the class of the body alone, under the force of its joint. False
/// when nothing moves.
bool cri_augmented_join(const cri_contact_problem *problem, cri_augmented_cache *c,
                        cri_law_report *report, cr_arena *keep, cr_arena *scratch);

/// The impulse at the joint that the solve begins from: the rest of the mechanism, J^ = K - J, then
/// stands still there, J^ j = v. Zero where there is none.
void cri_augmented_first_joint(const cri_contact_link *link, double j[2]);

/// cri_law's derivatives.
void cri_augmented_vjp(const cri_contact_problem *problem, const void *cache, const double *f,
                       const double *f_adj, cri_contact_adj *adj, cr_arena *scratch);
void cri_augmented_jvp(const cri_contact_problem *problem, const void *cache, const double *f,
                       const cri_contact_tan *tan, double *f_tan, cr_arena *scratch);
