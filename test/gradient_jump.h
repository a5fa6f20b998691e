// SPDX-License-Identifier: MIT
//
// Velocity jumps of one island as rows of the gradient table: what the parts share.
//
// x = (v, q displacement, d, target of each contact, target of all, restitution of all pairs on top
// of their own), y = v after the jump. A jump does not ask whether its features touch. Four corners
// of a box are redundant, and stay so however the box is moved, turned or sized; but a target of a
// single corner contradicts the others.

#pragma once

#include "gradient_table.h"

#include "contact/island.h"

/// The laws of the rows, in this order.
enum { N_LAW = 5 };

/// A point of a scene. Classes of the impulses under each law: o open, t stick, d slide in some
/// phase; NULL: not asked; "-": no row, see there.
typedef struct jump_point {
    const char *name;
    const char *classes[N_LAW];
    const double *v;              // (n_v)
    double friction, restitution; // of every pair
    double friction2;             // of pairs that have two
    double lift;                  // target of all
    bool is_plain;                // every contact
    bool is_upright;              // what would tilt the box is held
} jump_point;

/// Opens a scene of free bodies, or a robot, with contacts (n).
void jump_open_scene(const table_scene *scene, int n, const table_contact *contact);
void jump_open_robot(const char *mjcf, int n, const table_contact *contact, bool is_redundant);
void jump_close(void);

/// Checks the rows of a point under every law.
void jump_check(const jump_point *p);

/// Contact i of what is open.
const cri_near *jump_near(int i);

/// Says whether the floor has the coefficients of the first foot.
void jump_tie(bool is_tied);
