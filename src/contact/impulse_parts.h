// SPDX-License-Identifier: MIT
//
// Phases of an impulse law, shared by its solve and its derivatives. Private to src/contact.

#pragma once

#include "contact/impulse_law.h"
#include "solvers/cone_qp.h"
#include "solvers/friction_reduced.h"
#include "solvers/friction_sparse.h"

/// One complementarity problem and its reduced system.
typedef struct cri_phase {
    cri_friction problem;
    cri_friction_cache reduced;
    double *c;
    double *l;
    double *f;
    bool is_idle;   // f = 0 solves it
    double kappa;   // smoothing asked for
    double k_least; // size of data that it is relative to, at least
    bool is_smooth; // the derivative is that of smooth
    cri_cone_smooth smooth;
} cri_phase;

/// What a solve leaves for its derivatives.
typedef struct cri_impulse_cache {
    cri_impulse_form form;
    const double *A;          // (3n, 3n) of the solves
    const cri_blocks *blocks; // of A
    int n_phase;
    bool *takes_target; // (n) the normal row follows the target, not restitution
    cri_phase phase[2];
} cri_impulse_cache;

/// Takes what tangents of contact i are brought to off their velocities in c (3n).
static inline void cri_take_drift(const double *drift, int i, double *c) {
    for (int r = 3 * i + 1; drift && r < 3 * i + 3; r++) {
        c[r] -= drift[r];
    }
}

/// Has contact i a bound in Poisson's second solve? Of a plain one it is zero, and only the
/// derivative for e -> 0+ asks for it.
static inline bool cri_restores(const cri_contact_problem *p, int i) {
    return !p->is_plain[i] || (p->has_e && p->has_e[i] && p->e[i] == 0.0);
}

/// y = A x + c0 with the matrix of the solves.
static inline void cri_affine(const cri_friction *p, const double *x, const double *c0, double *y) {
    int m = 3 * p->n;
    for (int i = 0; i < m; i++) {
        const double *row = p->A + (size_t)i * (size_t)m;
        const cri_neighbours near = cri_neighbours_of(p, i / 3);
        y[i] = c0[i];
        for (int e = 0; e < near.n; e++) {
            int j = 3 * cri_neighbour(&near, e);
            y[i] += row[j] * x[j];
            y[i] += row[j + 1] * x[j + 1];
            y[i] += row[j + 2] * x[j + 2];
        }
    }
}
