// SPDX-License-Identifier: MIT
//
// A model, its sim and a rollout for tests: everything aborts the test on failure.

#pragma once

#include "carom/carom.h"

/// A scene with everything that a test moves. Filled by cr_run_open.
typedef struct cr_run {
    cr_model *model;
    cr_sim *sim;
    cr_sizes n;
    cr_sim_options options;
    double *p, *x, *u;             // values; change them before cr_run_value
    double *x_end;                 // (n_x)
    double *p_adj, *x_adj, *u_adj; // gradients of the last cr_run_gradient
    int n_step;
    double dt;
} cr_run;

/// Parses scene text; options NULL takes the defaults.
cr_run cr_run_open(const char *scene, const cr_sim_options *options, int n_step, double dt);
void cr_run_close(cr_run *run);

/// Rolls out from x under the constant u with p set, and returns seed . x_end (NULL seed: 0).
double cr_run_value(cr_run *run, const double *seed);

/// As cr_run_value, and fills the gradients.
double cr_run_gradient(cr_run *run, const double *seed);

/// Directional derivative of seed . x_end by tangents through all steps; any of the tangents may be
/// NULL. x_tan is raw (n_x).
double cr_run_tangent(cr_run *run, const double *seed, const double *x_tan, const double *u_tan,
                      const double *p_tan);

/// Index of a parameter, state or control; fails the test when there is none.
int cr_run_p(const cr_run *run, const char *name);
int cr_run_x(const cr_run *run, const char *name);
int cr_run_u(const cr_run *run, const char *name);

/// Central difference of seed . x_end in one number of p, x or u (side 0), or one-sided;
/// extrapolated. Runs without gradients, every decision taken again. *uncertainty gets the
/// difference's own.
double cr_run_difference(cr_run *run, const double *seed, double *number, int side, double step,
                         double *uncertainty);
