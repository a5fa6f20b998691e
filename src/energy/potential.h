// SPDX-License-Identifier: MIT
//
// Contact as an energy: the surfaces of a scene as triangles, which of them may meet, and the sum
// of their potentials in the coordinates of the dofs.
//
// Energies in joule: mu times the values of energy/longrange.h, energy/barrier.h and
// energy/penalty.h. A cri_potential belongs to one simulator. Planes are
// half-spaces.

#pragma once

#include "contact/law.h"
#include "contact/pair.h"
#include "dynamics/tree.h"
#include "energy/barrier.h"
#include "energy/joint_energy.h"
#include "energy/longrange.h"
#include "geometry/mesh/step_limit.h"
#include "geometry/mesh/tessellate.h"

/// Work from which on threads are worth their start: some milliseconds. On a busy machine a thread
/// may have to wait for a processor as long as that.
enum { CRI_MUCH_WORK = 20000 };

/// Which function of the surfaces.
typedef enum cri_potential_form {
    CRI_POTENTIAL_LONGRANGE, // separating planes with sphere trees: smooth, never zero
    CRI_POTENTIAL_IPC,       // distances of corners, edges and triangles, up to a reach
    CRI_POTENTIAL_SDRS,      // a plane between hulls, up to a reach
    CRI_POTENTIAL_ROUGH,     // distances as ipc's, without end: not smooth
    CRI_POTENTIAL_PENALTY,   // depths of corners, without end or barrier
} cri_potential_form;

/// Triangles of one geom, in the frame of its body.
typedef struct cri_mantle {
    int geom, body; // body -1: world
    bool is_moving;
    cri_pose frame; // of the geom in the body
    cri_tessellation shape;
    cri_sphere_tree tree;
    double *vertex;             // (n_vertex, 3)
    double reach;               // largest distance of a vertex from the body's origin
    double leaf;                // least radius of a triangle's sphere
    const unsigned char *owner; // of barriers on distances
} cri_mantle;

/// Two mantles that may meet, or a mantle and a plane.
typedef struct cri_mantle_pair {
    int mantle[2]; // second -1: a plane
    int plane;     // its geom, else -1
    cri_near near; // for coefficients
    cri_longrange_options options;
    cri_longrange_warm warm;
    int work; // as below
} cri_mantle_pair;

typedef struct cri_potential {
    const cr_model *model;
    const cri_derived *d; // borrowed: sizes, offsets of planes, frictions
    cri_potential_form form;
    cri_longrange_options options;
    cri_barrier_options barrier;
    double reach; // of sdrs and penalty, m
    double slip;  // speed below which friction is that of a fluid, m/s
    int work;     // of the last sum: pairs of nodes visited, pairs of triangles tenfold; a guess
                  // before the first
    int n_mantle, n_pair, n_half;
    cri_mantle *mantle;
    cri_mantle_pair *pair; // (n_pair + n_half), planes behind
    // (n_pair + n_half) in which threads take pairs: those with much work first, so that none is
    // left alone with one at the end
    int *order;
} cri_potential;

/// Surfaces of a model for a law, at its default sizes; everything in arena. CR_ERR_ARGUMENT, with
/// a text that names the geom, for a surface without area.
CR_MUST_CHECK cr_status cri_potential_push(const cr_model *model, cri_potential_form form,
                                           const cri_derived *d, cr_arena *arena,
                                           cri_potential *out, cr_error *err);

/// Follows the sizes in d.
void cri_potential_fit(cri_potential *potential);

/// Forgets the planes of the last step, so that a step depends on nothing before it.
void cri_potential_forget(cri_potential *potential);

/// All mantles in place, in arena; NULL when there is no memory.
cri_longrange_body *cri_potential_place(const cri_potential *potential, const cri_pose *pose,
                                        cr_arena *arena);

/// The half-space of a plane.
cri_half_space cri_potential_half(const cri_potential *potential, const cri_mantle_pair *pair);

/// Sums over bodies and dofs. Arrays may be NULL where a call does not say otherwise.
typedef struct cri_body_sum {
    double *F; // (n_body, 3) gradient for shifts
    double *N; // (n_body, 9) for affine turns
    double *H; // (n_v, n_v) second derivatives without the curvature of coordinates
} cri_body_sum;

/// What a pair of surfaces feels.
typedef struct cri_potential_touch {
    double gap;      // room between them, infinite: nothing is near
    double force[3]; // on the first, N
    double point[3]; // where it acts, world
} cri_potential_touch;

/// What to say about single pairs (n_pair + n_half); NULL: nothing.
typedef struct cri_potential_notes {
    cri_potential_touch *touch;
    cri_longrange_poles *poles; // of mu P
} cri_potential_notes;

/// Value of mu P at the frames, infinite when surfaces touch; adds gradient and second derivatives
/// to sum as far as it has arrays for them, and fills notes. NAN when scratch has no memory.
double cri_potential_sum(cri_potential *potential, const cri_frames *frames, double mu,
                         const cri_body_sum *sum, const cri_potential_notes *notes,
                         cr_arena *scratch);

/// Bodies of a pair that move, else -1.
void cri_potential_bodies(const cri_potential *potential, int pair, int body[2]);

/// The part of a motion from one set of poses to another (a turn and a shift of each body at
/// constant rates) that keeps all surfaces apart by a tenth of their gaps at least, at most 1. A
/// penalty has no such limit. touch (n_pair + n_half) is what the last sum noted where the motion
/// begins, NULL: nothing; it saves time and changes nothing.
double cri_potential_limit(const cri_potential *potential, const cri_potential_touch *touch,
                           const cri_pose *from, const cri_pose *to);

/// Two surfaces that share a point, decided exactly, or one inside of the other; false when there
/// are none. The second looks for nested ones alone, in less time.
bool cri_potential_meet(const cri_potential *potential, const cri_pose *pose, int geom[2]);
bool cri_potential_nest(const cri_potential *potential, const cri_pose *pose, int geom[2]);

// ---- limits of joints --------------------------------------------------------------------------

/// Terms of the limits, one each: mu b(gap), b of cri_hull_barrier_of with a reach of 0.05 rad
/// or m. The value is infinite when the limit is not kept.
void cri_limit_term_at(const cr_model *model, int limit, const double *q, double mu,
                       cri_joint_term *out);

/// The part of a step dq (n_v) that keeps a tenth of every limit's room.
double cri_limit_part(const cr_model *model, const double *q, const double *dq);

// ---- laws that are energies, for the implicit step ---------------------------------------------

extern const cri_law cri_law_longrange;
extern const cri_law cri_law_ipc;
extern const cri_law cri_law_ipc_descent;
extern const cri_law cri_law_sdrs;
extern const cri_law cri_law_rough;
extern const cri_law cri_law_penalty;
