// SPDX-License-Identifier: MIT
//
// Laws made of nets, for the contacts of one body that moves in a plane with a fixed surface
// (paper 003): `augmented`, Algorithm 1 with guards, and its rival `regressed`, which takes all of
// the impulse from the regressor and promises nothing.

#pragma once

#include "contact/ground.h"
#include "solvers/lcp.h"

/// Evaluations of the joint force after which its class stays what it is.
enum { CRI_AUGMENTED_FREEZE = 10 };

extern const cri_law cri_law_augmented;

extern const cri_law cri_law_regressed;

/// What became of a patch after the guards.
typedef enum cri_augmented_mode {
    CRI_AUGMENTED_NONE,         // no impulse
    CRI_AUGMENTED_STATIC,       // the patch stands still
    CRI_AUGMENTED_DYNAMIC,      // friction of the net, normals of the complementarity problem
    CRI_AUGMENTED_FRICTIONLESS, // normals alone: the fallback
    CRI_AUGMENTED_REGRESSED,    // all rows of the net
} cri_augmented_mode;

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

// for tests

/// What the classifier said of the last solve and what became of it, from the law's cache.
cri_ground_class cri_augmented_class(const void *cache);
cri_augmented_mode cri_augmented_mode_of(const void *cache);

/// The impulse at the joint that the solve begins from: the rest of the mechanism, J^ = K - J, then
/// stands still there, J^ j = v. Zero where there is none.
void cri_augmented_first_joint(const cri_contact_link *link, double j[2]);
