// SPDX-License-Identifier: MIT
//
// Friction of a step against the planes that separate near triangles: an energy of the motion over
// the step, with normal forces and planes frozen where the step begins.
//
// Energies in joule. A plane has no mass and moves with the corners on both sides of it, so that
// action is reaction. Below a speed, friction is that of a fluid: what rests creeps.

#pragma once

#include "energy/potential.h"

/// A near pair of triangles, or a triangle near a plane, as the step began. Corners of the second
/// side of a plane are one point that stands still.
typedef struct cri_slip {
    int pair;        // of the potential
    int n;           // corners: 6, or 4 with a plane; 0: too weak to count
    int point[6];    // of the pair's points, -1: stands still
    cri_vec3 t[2];   // directions along the plane
    double a[6];     // friction h mu N: the weight of each corner's slip
    double shift[2]; // the plane's velocity less the corners' mean, when it was last solved for
    int corner[6];   // vertices of the two mantles
    cri_vec3 x[6];   // corners, world
    cri_vec3 normal; // of the plane, upwards
    double N[6];     // normal forces over mu
    double weight;
    double weight_grad[12];
    int n_shell;
    const cri_near_shell *shell; // (n_shell) those in which the weight falls
    cri_plane_force force;       // pairs
    cri_half_force half;         // planes
} cri_slip;

/// A vertex of one side of a pair that some of its slips share, and where it was.
typedef struct cri_slip_point {
    int side, vertex;
    cri_vec3 x;
} cri_slip_point;

/// All of them, in the order of pairs.
typedef struct cri_slip_list {
    int n;
    cri_slip *slip;
    int *first; // (n_pair + n_half + 1) of each pair
    cri_slip_point *point;
    int *first_point; // (n_pair + n_half + 1)
    double *friction; // (n_pair + n_half)
    double h, mu;
} cri_slip_list;

/// Slips from which on threads are worth their start when derivatives go through them one by one.
enum { CRI_MANY_SLIPS = 1000 };

/// Lists the slips at poses, for a step of length h, in arena. CR_ERR_MEMORY alone.
CR_MUST_CHECK cr_status cri_slip_find(cri_potential *potential, const cri_pose *pose, double h,
                                      double mu, cr_arena *arena, cr_arena *scratch,
                                      cri_slip_list *out, cr_error *err);

/// One of the strongest slips of a pair as a single velocity y along its plane, that of one side's
/// centre of pressure against the other's: about strength sqrt(|y|^2 + (2 speed)^2), which is exact
/// unless a side turns about the normal.
typedef struct cri_slip_knee {
    double g[2][12]; // derivative of y in motions (w, v) of both bodies
    double y[2];
    double strength;
} cri_slip_knee;

enum { CRI_SLIP_KNEES = 24 };

/// Those of a pair. They say where steps lead, never what is true.
typedef struct cri_slip_knees {
    int n;
    double least; // strength of the weakest, when there are as many as there may be
    cri_slip_knee at[CRI_SLIP_KNEES];
} cri_slip_knees;

/// Energy of moving to the frames; adds gradient and second derivatives to sum, and lists knees
/// (n_pair + n_half) unless that is NULL. NAN when scratch has no memory.
double cri_slip_sum(const cri_potential *potential, const cri_slip_list *list,
                    const cri_frames *frames, const cri_body_sum *sum, cri_slip_knees *knees,
                    cr_arena *scratch);

/// What knees at a motion (12) of both bodies have beyond second order: the value; adds to the
/// gradient g (12) and to second derivatives H (12, 12), upper triangle, unless that is NULL.
double cri_slip_bend(const cri_slip_knees *knees, double speed, const double *motion, double *g,
                     double *H);

/// What the gradient of potential and friction at the next frames depends on.
typedef struct cri_size_step {
    cri_potential *potential;
    const cri_slip_list *slips; // made at the poses now
    const cri_frames *next;
    const cri_pose *now;
} cri_size_step;

/// Derivatives of l . the friction's gradient, l as motions (n_body, 6), for what the list was made
/// of: adds to pose_adj (n_body, 6; forces at the poses of the list), mu_adj and, for frictions, to
/// d_adj. False when scratch has no memory.
bool cri_slip_sum_vjp(const cri_size_step *step, const double *motion, double *pose_adj,
                      double *mu_adj, const cri_derived *d_adj, cr_arena *scratch);

/// Tangent of the friction's gradient, as forces (n_body, 6) at the next frames: adds. motion
/// (n_body, 6) of the poses of the list; d_tan gives those of mu and frictions, NULL: zero.
void cri_slip_sum_jvp(const cri_size_step *step, const double *motion, const cri_derived *d_tan,
                      double *force);

/// Where adjoints of a pair's surfaces go: vertices (n_vertex, 3), centres (n_node, 3) and radii
/// (n_node) of its mantles' trees, body frames, and the offset of its plane.
typedef struct cri_slip_shape {
    double *vertex[2], *centre[2], *radius[2];
    double *offset;
} cri_slip_shape;

/// Derivatives of l . gradient of one pair's friction for its surfaces: adds.
void cri_slip_pull_shape(const cri_potential *potential, const cri_slip_list *list, int pair,
                         const cri_frames *next, const cri_pose *pose, const double *motion,
                         const cri_slip_shape *adj);

/// Derivatives of l . gradient, l as motions (n_body, 6), for sizes of shapes and offsets of
/// planes: adds to d_adj. False when scratch has no memory. longrange alone.
bool cri_size_step_vjp(const cri_size_step *step, const double *motion, const cri_derived *d_adj,
                       cr_arena *scratch);

/// Tangent of the gradient, as forces (n_body, 6): adds. False when scratch has no memory.
bool cri_size_step_jvp(const cri_size_step *step, const cri_derived *d_tan, double *force,
                       cr_arena *scratch);
