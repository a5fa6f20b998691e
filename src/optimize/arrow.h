// SPDX-License-Identifier: MIT
//
// Least squares in block-arrow form: residuals come in blocks, and a block depends on the shared
// unknowns and on unknowns of its own, which no other block knows.
//
// All unknowns stand in one array z: the shared ones, then those of block 0, 1, 2, ... All
// residuals stand in one array r, block after block. The Jacobian holds for each block its columns,
// those of the shared unknowns first: column c of a block has m numbers in a row. One block without
// unknowns of its own is an ordinary dense problem with J (n_shared, m).

#pragma once

#include "base/arena.h"
#include "base/base.h"

typedef struct cri_arrow_block {
    int n; // unknowns of its own
    int m; // residuals

    // filled by cri_arrow_place
    int z;    // the first of its own unknowns
    int r;    // its first residual
    size_t J; // the first number of its Jacobian
} cri_arrow_block;

typedef struct cri_arrow {
    int n_shared;
    int n_block;
    cri_arrow_block *block; // (n_block)

    // filled by cri_arrow_place
    int n;      // all unknowns
    int m;      // all residuals
    size_t n_J; // all numbers of the Jacobian
} cri_arrow;

/// Fills the places from n_shared, n_block and the n and m of the blocks.
void cri_arrow_place(cri_arrow *arrow);

/// The unknown behind column c of a block.
static inline int cri_arrow_unknown(const cri_arrow *arrow, int block, int c) {
    return c < arrow->n_shared ? c : arrow->block[block].z + c - arrow->n_shared;
}

/// slope (n) = J'r, and the norms (n) of all columns.
void cri_arrow_slope(const cri_arrow *arrow, const double *J, const double *r, double *slope);
void cri_arrow_norms(const cri_arrow *arrow, const double *J, double *norm);

/// The linear model r + J delta, factored. Lives in the arena of cri_arrow_model_push.
typedef struct cri_arrow_model {
    const cri_arrow *arrow;
    double *factor;    // of each block, triangular: (n_column, n_column), own columns first
    double *rhs;       // of each block: (n_column)
    double *damped;    // as factor with rows for the damping, of the last solve
    double *damped_b;  // as rhs, likewise
    size_t *at_factor; // (n_block)
    size_t *at_rhs;
    size_t *at_damped;
    size_t *at_damped_b;
    double *shared;   // (n_shared, 2 n_shared) what the blocks leave for the shared unknowns
    double *shared_b; // (2 n_shared)
    double *work;     // for the tallest block
    double *work_b;
} cri_arrow_model;

/// False when there is no memory.
bool cri_arrow_model_push(const cri_arrow *arrow, cr_arena *arena, cri_arrow_model *out);

/// Takes J and r over, each column divided by its scale (n). Columns with is_null count as zero.
void cri_arrow_linearise(cri_arrow_model *model, const double *J, const double *r,
                         const double *scale, const bool *is_null);

/// The delta (n) of all unknowns with is_free that makes |r + J delta|^2 + damping |scale delta|^2
/// least, given the delta of the others. damping is above 0.
void cri_arrow_solve(cri_arrow_model *model, const double *scale, const bool *is_free,
                     double damping, double *delta);

/// |r|^2 - |r + J delta|^2
double cri_arrow_fall(const cri_arrow_model *model, const double *scale, const double *delta);
