// SPDX-License-Identifier: MIT
//
// What a least-squares fit has determined, and how well.
//
// The covariance of the unknowns is sigma^2 (J'J)^-1 with sigma^2 = |r|^2/(m - rank), for residuals
// of one size that do not depend on each other. Directions in which the residuals do not change
// belong to no unknown's error; the unknowns in them are not identifiable.

#pragma once

#include "base/arena.h"
#include "base/base.h"

typedef struct cri_identity {
    double deviation;     // standard error, in the unknown's own unit; NaN when there is none
    bool is_identifiable; // else the recording leaves it open
    bool is_null;         // the residuals do not depend on it at all
    int partner;          // else the unknown that it is open together with, -1 when identifiable
} cri_identity;

/// Judges n unknowns z from the Jacobian by columns J (n, m) at the result and the loss |r|^2.
CR_MUST_CHECK cr_status cri_identify(int n, int m, const double *z, const double *J, double loss,
                                     cri_identity *out, cr_error *err);
