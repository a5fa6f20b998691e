// SPDX-License-Identifier: MIT
//
// Starts for Coulomb's law: polygons in place of discs, turned and narrowed to where friction
// points. Private to src/solvers.

#pragma once

#include "base/arena.h"
#include "solvers/friction.h"

/// One polygon a contact. Points into the arena that it was opened in.
typedef struct cri_fans {
    int n;
    int n_turn;     // turns made
    double *axis;   // (n) radians, where the middle corner points
    double *width;  // (n) radians, from that corner to the next
    double *corner; // (n, 8, 2)
} cri_fans;

/// Fans along the friction of f (3n), as wide as they get.
cri_fans cri_fans_open(int n, const double *f, cr_arena *arena);

/// Overwrites f (3n) with the solution for these polygons, and makes those of the next turn.
void cri_fans_turn(cri_fans *fans, const cri_friction *problem, double *f, cr_arena *scratch);

/// Room that both need together.
size_t cri_fans_bytes(int n);
