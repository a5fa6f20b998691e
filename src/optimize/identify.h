// SPDX-License-Identifier: MIT
//
// What a least-squares fit has determined, and how well.
//
// The covariance of the unknowns is sigma^2 (J'J)^-1, for residuals that do not depend on each
// other and all have the variance sigma^2. Directions in which the residuals do not change belong
// to no unknown's error; the unknowns in them are not identifiable.

#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "optimize/arrow.h"

typedef struct cri_identity {
    bool is_identifiable; // else the recordings leave it open
    bool is_null;         // the residuals do not depend on it at all
    int partner;          // else the unknown that it is open together with, -1: none, or many
} cri_identity;

/// The verdict. Covariances are for sigma = 1, and leave directions without effect out.
typedef struct cri_verdict {
    int rank;               // directions with an effect
    cri_identity *identity; // (n)
    double *shared;         // (n_shared, n_shared) covariance
    double *own;            // of each block (n_own, n_own), block after block
    double *cross;          // of each block (n_own, n_shared)
    size_t *at_own;         // (n_block)
    size_t *at_cross;
} cri_verdict;

/// Judges the unknowns z from the Jacobian at the result. The arrays live in arena.
CR_MUST_CHECK cr_status cri_identify(const cri_arrow *arrow, const double *z, const double *J,
                                     cr_arena *arena, cri_verdict *out, cr_error *err);
