// SPDX-License-Identifier: MIT
//
// What the files of the central-difference step share.

#pragma once

#include "points/learn/central.h"

/// g (n_row, n_q) = dV/dq at q.
CR_MUST_CHECK bool cri_central_force(const cri_central *c, const double *p, int n_row,
                                     const double *q, double *g, cri_mlp_cache *net,
                                     cr_arena *arena);
/// At q2 of the cache. Adds to q_adj and p_adj, which may be NULL.
CR_MUST_CHECK bool cri_central_force_vjp(const cri_central *c, const double *p, int n_row,
                                         const cri_central_cache *cache, const double *g_adj,
                                         double *q_adj, double *p_adj, cr_arena *work);

/// V at q of one row; NaN when there is no memory.
double cri_central_potential(const cri_central *c, const double *p, const double *q,
                             cr_arena *work);

/// One contact at q (n_q): gap, unit normal (n_dim) from j to i, distance of a round one, 0 where
/// it has none.
double cri_central_gap(const cri_central *c, const double *p, int contact, const double *q,
                       double *normal, double *reach);

/// Moves q (n_q) of one row by the projection of the contacts that moves names; writes the row of
/// the cache.
void cri_central_project(const cri_central *c, const double *p, const bool *moves, double *q,
                         const cri_central_cache *cache, int row);
/// Turns q_adj (n_q) from behind the projection into that before it; adds to p_adj (NULL: none).
void cri_central_project_vjp(const cri_central *c, const double *p, const cri_central_cache *cache,
                             int row, double *q_adj, double *p_adj);

/// Impulses of one row: changes run (n_q), the velocity without the smooth increment.
void cri_central_impulse(const cri_central *c, const double *p, bool has_guard, double *run,
                         const cri_central_cache *cache, int row);
/// Turns run_adj (n_q) from behind the impulses into that before them; adds to delta_adj (n_q),
/// q1_adj (n_q), gate_adj (n_contact, NULL: none) and p_adj (NULL: none).
typedef struct cri_central_impulse_adj {
    double *run;
    double *delta;
    double *q1;
    double *gate;
    double *p;
} cri_central_impulse_adj;
void cri_central_impulse_vjp(const cri_central *c, const double *p, const cri_central_cache *cache,
                             int row, const cri_central_impulse_adj *adj);
