// SPDX-License-Identifier: MIT
//
// What the last steps of a training are made of: passes over windows, descent, search.

#pragma once

#include "points/learn/points_finish.h"

// a block: windows that a net is asked about at once
enum { CRI_FINISH_STEPS = CRI_WINDOW_STATES - 1, CRI_FINISH_BLOCK = 8 };

typedef struct cri_finish {
    const cri_points_learner *l;
    const cri_points_data *data;
    const cri_progress *progress;
    cri_points_scene flat;                   // the model with tangents
    cri_points_scene smooth, free;           // without contacts, without forces
    bool takes_jumps;                        // of steps from the data, else windows are rolled
    double gain;                             // of velocities by positions, with jumps
    int n;                                   // numbers
    int *index;                              // (n) of them among w
    size_t n_r;                              // residuals of a window
    double *p, *p_tan;                       // (n_w)
    double *r;                               // (block, n_r)
    double *J;                               // (n, block, n_r) of the columns that are felt there
    double *part;                            // (n, n) of them
    int *felt;                               // (n) those columns
    double *N, *factor;                      // (n, n)
    double *g, *step;                        // (n)
    double *x_tan[2];                        // (block, n_x), with jumps (steps, n_x)
    int n_unknown;                           // shapes in time that motions are freed from
    double unknown[2][2 * CRI_FINISH_STEPS]; // of x, of v; orthonormal
    double *lead;                            // (block, steps, D) 2 (x* - x^)/T
    double *norm, *trial;                    // (windows, n_block) |r_bk|, infinite: a step fails
    double *sorted;                          // the same
    int *window;                             // (windows) of a class
    double *w_trial;                         // (n_w)
    long long n_done;                        // windows, for progress
    cri_points_memory memory;
} cri_finish;

/// Lengths (windows, n_block) of the residuals of all windows, and with scale > 0 N and g.
cri_pass_end cri_finish_windows(cri_finish *f, const double *w, double *norm, double scale);

/// Sets the gain by what points without contact do in all windows.
cri_pass_end cri_finish_gain(cri_finish *f, const double *w);

/// The sum of |r_bk| over n windows of a list, infinite when one is lost; where it is more than
/// most it is a part of it.
cri_pass_end cri_finish_sum(cri_finish *f, const double *w, int n, const int *window, double most,
                            double *sum);

/// Looks for the coefficients of each class among values over their ranges; says whether one has
/// changed.
cri_pass_end cri_finish_search(cri_finish *f, double *w, bool *has_changed);
