// SPDX-License-Identifier: MIT
//
// The contacts of an island as a graph: two are coupled where the block A_ij (3, 3) is not zero.
// From 20 contacts on, products and factors of a problem whose graph is sparse run along it. A
// itself stays where it is, dense.

#pragma once

#include "base/math/sparse_ldlt.h"
#include "solvers/friction.h"

#include <stdbool.h>

/// The graph, and the fill of its factors.
typedef struct cri_blocks {
    cri_pattern row; // of contacts
    cri_fill fill;   // of contacts
} cri_blocks;

/// The graph of A (3n, 3n), or NULL where dense loops are as good: fewer than 20 contacts, or half
/// of the blocks of A or of its factor not zero.
const cri_blocks *cri_blocks_find(int n, const double *A, cr_arena *arena);
size_t cri_blocks_bytes(int n);

/// The contacts that share blocks with one, itself included, ascending; all of them without a
/// graph.
typedef struct cri_neighbours {
    int n;
    const int *index; // NULL: 0 .. n - 1
} cri_neighbours;

static inline cri_neighbours cri_neighbours_of(const cri_friction *problem, int i) {
    const cri_blocks *b = problem->blocks;
    if (!b) {
        return (cri_neighbours){.n = problem->n};
    }
    int first = b->row.first[i];
    return (cri_neighbours){.n = b->row.first[i + 1] - first, .index = b->row.index + first};
}

static inline int cri_neighbour(const cri_neighbours *of, int k) {
    return of->index ? of->index[k] : k;
}

/// out (3) = rows of contact i of A x: to the bit what sums over all columns in their order give.
void cri_blocks_times(const cri_blocks *blocks, const double *A, int i, const double *x,
                      double out[3]);

/// The system of Newton's method on active contacts, see friction_newton.c:
///   M = 1 - D + rho D (A + prox 1)
typedef struct cri_newton_system {
    const cri_blocks *blocks;
    const double *A;       // (3n, 3n)
    const double *D;       // (9n)
    const bool *is_active; // (n)
    double rho, prox;
} cri_newton_system;

/// Solves M x = b (3n each) on the active contacts; elsewhere b is not read and x is zero. False
/// when a pivot vanishes, or the residual is above 1e-6 of b after one refinement: pivots are
/// chosen only within contacts. room has cri_newton_system_room doubles, less than 9n^2.
bool cri_newton_system_solve(const cri_newton_system *s, const double *b, double *x, double *room);
size_t cri_newton_system_room(const cri_blocks *blocks);
