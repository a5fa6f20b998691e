// SPDX-License-Identifier: MIT
//
// Contacts between points, and the jump of velocity that they make.
//
// A touch is what may come into contact. Its row has a gap (m, of a bend rad; below zero: it acts)
// and up to d rows of a Jacobian, normal first, whose normal velocity separates when positive. A
// limit of stretch or bend has one row and no friction. A planar contact has two.

#pragma once

#include "contact/law.h"
#include "points/system/points.h"

typedef enum cri_points_touch_kind {
    CRI_TOUCH_POINTS,    // round points a and b, radii size[0] and size[1]
    CRI_TOUCH_WALL,      // round point a over a wall, radius size[0]
    CRI_TOUCH_DISKS,     // planar bodies with centres a and b, radii size[0] and size[1]
    CRI_TOUCH_DISK_WALL, // planar body with centre a over a wall, radius size[0]
    CRI_TOUCH_RIM_WALL, // body with centre a: deepest of n_sample points of its rim, radius size[0]
    CRI_TOUCH_STRETCH,  // size[0] <= |x_b - x_a| <= size[1]; a = -1 is the origin
    CRI_TOUCH_BEND,     // |angle from b - a to c - b| <= size[0]; a = -1 is the origin
} cri_points_touch_kind;

typedef struct cri_points_touch {
    cri_points_touch_kind kind;
    int a, b, c;      // points
    int coefficient;  // class of mu and e
    double size[2];   // m or rad
    double normal[3]; // of a wall: normal.x >= offset
    double tangent[2][3];
    double offset;
    int n_sample; // of a rim, turn apart from each other
    double turn;  // rad
} cri_points_touch;

enum { CRI_ROW_POINTS = 6 };

/// A touch at a configuration.
typedef struct cri_points_row {
    int touch; // index
    int n_row; // 1 to 3
    int n_slot;
    int point[CRI_ROW_POINTS];
    double J[3][CRI_ROW_POINTS][3];
    double gap;
    double n[3], length; // direction between two points, and their distance
    double sign;         // of a limit: which side; of a bend that of the angle
    double body_point[3];
} cri_points_row;

/// Gap alone: what detection asks for first.
double cri_points_gap(const cri_points *s, const cri_points_touch *t, const double *x);

/// Fills row of touch t at x (D).
void cri_points_row_at(const cri_points *s, const cri_points_touch *t, const double *x,
                       cri_points_row *row);

/// Adds to x_adj (D) the adjoint J_adj of the row's J, and gap_adj of its gap.
void cri_points_row_vjp(const cri_points *s, const cri_points_touch *t, const double *x,
                        const cri_points_row *row, double J_adj[3][CRI_ROW_POINTS][3],
                        double gap_adj, double *x_adj);

/// Overwrites J_tan; returns the tangent of the gap.
double cri_points_row_jvp(const cri_points *s, const cri_points_touch *t, const double *x,
                          const cri_points_row *row, const double *x_tan,
                          double J_tan[3][CRI_ROW_POINTS][3]);

// ---- the jump ----------------------------------------------------------------------------------

typedef double cri_row_blocks[3][CRI_ROW_POINTS][3];

/// A law on points, and where its coefficients stand in the parameters.
typedef struct cri_points_law {
    const cri_law *law;  // cone, cone-reg, lcp or any other of sim.c
    int i_mu, i_e;       // of class 0
    int i_epsilon;       // 1/kg, of a regularised law
    double dt;           // s, of the target velocity depth/(share dt)
    double share;        // steps that a penetration takes to vanish
    bool through_target; // derivatives see the target velocity
} cri_points_law;

/// All that a jump depends on but the state.
typedef struct cri_jump_world {
    const cri_points *s;
    const cri_points_law *law;
    int n_touch;
    const cri_points_touch *touch;
    const double *p;
    const double *minv;
} cri_jump_world;

/// Contacts first to first + problem.n - 1, which no other island moves.
typedef struct cri_jump_island {
    int first;
    cri_contact_problem problem;
    const void *cache;
} cri_jump_island;

/// The target velocity v* of all rows, and what its derivatives need.
typedef struct cri_jump_goal {
    double *value;          // (3 n)
    cri_ties_factor factor; // of J_E J_E', when there are ties
    double *K;              // (3n, 3n) factor of J J'
    double *z;              // (3 n)
    double *y;              // (D)
    cri_lemma lemma;
} cri_jump_goal;

/// The jump of one state.
typedef struct cri_points_jump {
    int n;               // contacts
    cri_points_row *row; // (n) island after island
    int n_island;
    cri_jump_island *island;
    double *x, *v;          // (D) before
    double *f;              // (3 n) impulses
    double *dv;             // (D)
    cri_ties_factor factor; // of J_E Minv J_E'
    cri_jump_goal goal;
    cr_outcome outcome;
    bool is_one_sided; // at a kink
} cri_points_jump;

/// The touches that overlap at x (D) make v_next (D) = v + dv. False when there is no memory.
/// Nothing touches: n = 0, v_next = v. Unsolved: v_next = v, and there are no derivatives.
bool cri_points_jump_solve(const cri_jump_world *w, const double *x, const double *v,
                           double *v_next, cri_points_jump *out, cr_arena *keep, cr_arena *scratch);

/// Room in scratch that its derivatives need.
size_t cri_points_jump_bytes(const cri_points *s, const cri_points_law *law,
                             const cri_points_jump *jump);

/// Is it worth its derivatives?
bool cri_points_jump_is_solved(const cri_points_jump *jump);

/// Adds to state_adj (2 D), to coefficients in adj->p and to adj->minv.
void cri_points_jump_vjp(const cri_jump_world *w, const cri_points_jump *jump,
                         const double *v_next_adj, double *state_adj, const cri_points_adj *adj,
                         cr_arena *scratch);

/// state_tan (2 D) -> v_next_tan (D).
void cri_points_jump_jvp(const cri_jump_world *w, const cri_points_jump *jump,
                         const double *state_tan, const cri_points_tan *tan, double *v_next_tan,
                         cr_arena *scratch);

// for tests

/// Adds what goal_adj (3 n) means for the rows (n), their gaps (n) and, through ties, for x (D).
void cri_points_goal_vjp(const cri_jump_world *w, const cri_points_jump *jump,
                         const double *goal_adj, cri_row_blocks *J_adj, double *gap_adj,
                         double *x_adj, cr_arena *scratch);

/// Overwrites goal_tan (3 n).
void cri_points_goal_jvp(const cri_jump_world *w, const cri_points_jump *jump,
                         const cri_row_blocks *J_tan, const double *gap_tan, const double *x_tan,
                         double *goal_tan, cr_arena *scratch);
