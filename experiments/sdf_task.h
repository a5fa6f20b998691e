// SPDX-License-Identifier: MIT
//
// What the experiments of paper 004 share: a motion, some sought numbers of p, a loss against
// another motion, the paper's descent, and the fit of carom fit on the same data.

#pragma once

#include "experiment.h"

#include "base/random.h"
#include "carom/carom.h"
#include "geometry/convex/shape.h"

enum { CRI_SDF_MOST = 4, CRI_SDF_STEPS = 80 };

typedef enum cri_sdf_rule {
    CRI_SDF_SGD,
    CRI_SDF_ADAM,
} cri_sdf_rule;

/// A motion of one body and the numbers that are sought.
typedef struct cri_sdf_task {
    cr_model *model;
    cr_sim *sim;
    cr_sim_options options;
    cr_sizes n;
    int n_step;
    double dt;
    double *p, *x0, *u; // u (n_step, n_u), NULL: zero
    int n_sought;
    int slot[CRI_SDF_MOST];   // in p
    const char *name;         // of them all, for carom fit
    int first_entry, n_entry; // of x that count
    bool is_last_only;        // the last state alone counts
    int stride; // of the states that count in the search, from the last one back; 0: that one alone
    double weight;                                   // of its square
    double *target;                                  // (n_step + 1, n_x)
    double *path;                                    // (n_step + 1, n_x)
    double lower[CRI_SDF_MOST], upper[CRI_SDF_MOST]; // of sought numbers
    int density;                                     // slot that keeps the mass at 1; -1: none
    cri_shape_kind kind; // whose sizes are sought, when the mass is kept; field: geom, by its code
    int geom;
    double code_weight; // of the square of what is sought, in the loss of the descent
    double stop;        // change of the loss that ends the descent; 0: the paper's 1e-5, < 0: none
    double eps_gap;     // that counts as touching, m; 0: as the library has it
    double rate;        // of the descent
    int n_iteration;    // at most
    int n_pair;         // pairs of motions whose differences are the gradient; 0: the adjoint's
    double width;       // deviation of their codes, around the present one
    cri_random random;  // draws them
    int n_search;       // iterations of the search, at most; 0: 100
    double flat;        // part of the loss that an iteration must gain; 0: 1e-12
    cri_sdf_rule rule;
    const cri_progress *progress; // of iterations; may be NULL
    cri_report *report;           // gets the losses of the descent; NULL: none does
    const char *title;            // of them
    bool is_interrupted;
    bool has_slope;             // of the volume of the present field:
    double slope[CRI_SDF_MOST]; // of its code
    cr_arena *memory;
} cri_sdf_task;

/// Opens a scene; sought are names of p with commas between. Release with cri_sdf_close, also after
/// a failure.
CR_MUST_CHECK cr_status cri_sdf_open(cri_sdf_task *task, const char *scene, const char *sought,
                                     const char *law, const char *stepper, cr_error *err);
void cri_sdf_close(cri_sdf_task *task);

/// Writes values (n_sought) into p, with the density that keeps the mass; that of a field follows
/// when it moves.
void cri_sdf_put(cri_sdf_task *task, const double *value);

/// Moves with the values in p: into target, or into path.
CR_MUST_CHECK cr_status cri_sdf_move(cri_sdf_task *task, double *path, cr_error *err);

/// The paper's rule: descent until the loss changes by less than 1e-5. value (n_sought) is the
/// start, then the end; *n_done, if not NULL, gets the iterations.
CR_MUST_CHECK cr_status cri_sdf_descend(cri_sdf_task *task, double *value, int *n_done,
                                        cr_error *err);

/// The least squares of carom fit with the mass kept; value (n_sought) is the start, then the end.
/// *loss, if not NULL, gets the sum of squares there.
CR_MUST_CHECK cr_status cri_sdf_search(cri_sdf_task *task, double *value, double *loss,
                                       cr_error *err);

/// The sum of squares that the search makes least, at value.
CR_MUST_CHECK cr_status cri_sdf_squares(cri_sdf_task *task, const double *value, double *loss,
                                        cr_error *err);

/// carom fit, from the same start.
CR_MUST_CHECK cr_status cri_sdf_fit(cri_sdf_task *task, double *value, cr_error *err);
