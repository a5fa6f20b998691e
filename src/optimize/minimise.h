// SPDX-License-Identifier: MIT
//
// Minimisation of a loss of n numbers within bounds, one iteration a call.
//
// One objective, three methods: Adam, L-BFGS with bounds by projection, and Gauss-Newton with
// damping for a loss that is a sum of squares. The best point met is always kept. All that a method
// carries from one iteration to the next stands in two plain arrays, so that a run which is saved
// and goes on later gives the same bits.

#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "optimize/domain.h"
#include "optimize/least_squares.h"

#include <stdint.h>

/// Loss at z (n), and its gradient (n), overwritten, when that is not NULL. CR_ERR_MEMORY ends the
/// search; any other failure means that there is no value or no gradient at z.
typedef cr_status cri_loss(void *context, const double *z, double *loss, double *gradient,
                           cr_error *err);

typedef struct cri_objective {
    int n;
    const cri_domain *domain; // (n)
    cri_loss *loss;
    int m;                    // residuals, whose squares sum up to the loss
    cri_residuals *residuals; // NULL: none, so no Gauss-Newton
    void *context;            // of both
} cri_objective;

typedef enum cri_method {
    CRI_METHOD_ADAM,
    CRI_METHOD_LBFGS,
    CRI_METHOD_GAUSS_NEWTON,
} cri_method;

enum { CRI_N_METHOD = CRI_METHOD_GAUSS_NEWTON + 1 };

/// Start from cri_minimise_options_default and change what differs.
typedef struct cri_minimise_options {
    cri_method method;
    double rate;      // in the unit of z. Adam: length of a step; L-BFGS: of the first one;
                      // Gauss-Newton: longest step of a number that is smaller
    double beta[2];   // Adam: decay of the mean and of the square of the gradient
    double tolerance; // converged when |gradient| max(|z|, 1) is below this part of the first loss
    int halve; // Adam: back to the best and half the rate after so many iterations without a fall;
               // 0: never
    int patience; // stalled after so many iterations without a fall of the best loss
} cri_minimise_options;

typedef enum cri_minimise_stop {
    CRI_MINIMISE_GOES_ON,
    CRI_MINIMISE_CONVERGED, // the gradient vanished, but for directions that a bound blocks
    CRI_MINIMISE_STALLED,   // no step makes the loss fall any more
} cri_minimise_stop;

/// A search. What is saved is real (n_real) and whole (n_whole); all else points into them or is
/// made anew.
typedef struct cri_minimiser {
    const cri_objective *objective; // borrowed
    cri_minimise_options options;

    double *real;
    int n_real;
    int64_t *whole;
    int n_whole;

    // in real
    double *z;        // (n) the current point
    double *gradient; // (n) there
    double *best;     // (n) the best point
    double *number;   // loss, best and first loss, damping and its growth; see minimise.c
    double *memory;   // of the method

    // not saved
    double *trial;     // (n)
    double *trial_g;   // (n)
    double *direction; // (n)
    double *r;         // (m)
    double *J;         // (n, m)
    bool has_values;   // r and J belong to z
} cri_minimiser;

cri_minimise_options cri_minimise_options_default(cri_method method);

/// Word for a method, and the method of a word; false when there is none.
const char *cri_method_text(cri_method method);
bool cri_method_find(const char *text, cri_method *out);

/// Makes a search from arena; it has not begun.
CR_MUST_CHECK cr_status cri_minimiser_init(const cri_objective *objective,
                                           const cri_minimise_options *options, cr_arena *arena,
                                           cri_minimiser *out, cr_error *err);

/// Begins at z (n), moved into the domain. Fails when there is no value there.
CR_MUST_CHECK cr_status cri_minimiser_begin(cri_minimiser *m, const double *z, cr_error *err);

/// One iteration, unless the search has stopped. Fails when there is no memory.
CR_MUST_CHECK cr_status cri_minimiser_iterate(cri_minimiser *m, cr_error *err);
double cri_minimiser_loss(const cri_minimiser *m); // of the best point
int cri_minimiser_evaluations(const cri_minimiser *m);
cri_minimise_stop cri_minimiser_stop(const cri_minimiser *m);

// for tests

int cri_minimiser_iterations(const cri_minimiser *m);
