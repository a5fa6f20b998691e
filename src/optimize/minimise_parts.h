// SPDX-License-Identifier: MIT
//
// What the methods of minimise.c share.

#pragma once

#include "optimize/minimise.h"

// places in cri_minimiser.number
enum {
    CRI_NUMBER_LOSS,
    CRI_NUMBER_BEST,
    CRI_NUMBER_FIRST,
    CRI_NUMBER_DAMPING, // Adam: what the rate has been halved to, as a part of it; 0: all
    CRI_NUMBER_GROWTH,
    CRI_N_NUMBER
};

// places in cri_minimiser.whole
enum {
    CRI_WHOLE_ITERATION,
    CRI_WHOLE_EVALUATION,
    CRI_WHOLE_STOP,
    CRI_WHOLE_IDLE,  // iterations since the best loss fell
    CRI_WHOLE_PAIR,  // L-BFGS: pairs kept
    CRI_WHOLE_FRONT, // L-BFGS: where the next one goes
    CRI_N_WHOLE
};

/// Loss and gradient at z, counted. *has_value is false where there is none; fails for memory only.
cr_status cri_minimiser_evaluate(cri_minimiser *m, const double *z, double *loss, double *gradient,
                                 bool *has_value, cr_error *err);

/// Numbers that L-BFGS keeps for n unknowns.
int cri_lbfgs_numbers(int n);

/// One iteration of L-BFGS; z, gradient and loss become those of the next point. *is_moved is false
/// when no step makes the loss fall.
cr_status cri_lbfgs_iterate(cri_minimiser *m, bool *is_moved, cr_error *err);
