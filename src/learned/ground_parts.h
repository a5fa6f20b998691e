// SPDX-License-Identifier: MIT
//
// A body at a state on its surface, and the solve of a law there. Private to src/learn.

#pragma once

#include "base/arena.h"
#include "base/random.h"
#include "contact/island.h"
#include "learned/ground_data.h"

enum { CRI_GROUND_NEAR_MOST = 16, CRI_GROUND_FACE_MOST = 128, CRI_GROUND_EDGE_MOST = 512 };

typedef struct cri_ground_sampler {
    const cr_model *model;
    cri_ground_body ground;
    cri_derived d;
    cri_world world;
    double *x; // (n_x) the state
    cri_near near[CRI_GROUND_NEAR_MOST];
    cri_narrow_touch touch[CRI_GROUND_NEAR_MOST][CRI_MAX_TOUCH];
    int n_near;
    double face[CRI_GROUND_FACE_MOST]; // angles, rad
    int n_face;
    // in space: directions of the body's frame that point down where an edge or a face lies on the
    // surface, and the edge's own
    cri_vec3 edge[CRI_GROUND_EDGE_MOST], edge_along[CRI_GROUND_EDGE_MOST];
    cri_vec3 flat[CRI_GROUND_FACE_MOST];
    int n_edge, n_flat;
    // in space: only so many of a face's corners take part, 0: all; and what chooses them
    int n_only;
    cri_random pick;
    // of two bodies: angles of the one to the other, and of the normal in the other's frame, where
    // faces meet
    double meet[CRI_GROUND_FACE_MOST][2];
    int n_meet;
    double mu_static, before[3]; // of a planar body: 0 for none, and its velocity before forces
    cri_state state;
    cr_arena *memory, *keep, *scratch;
} cri_ground_sampler;

/// The solve of a state in the rows of its patch.
typedef struct cri_ground_solved {
    cri_ground ground;
    double g[CRI_GROUND_ROWS];       // of the rows that nets see
    double u[CRI_GROUND_ROWS];       // velocity after it, less what is to be reached
    double applied[CRI_GROUND_ROWS]; // inputs for what forces made
    double where;                    // m, of the body along the surface
    bool is_plain;                   // nothing can rebound there
    double push[CRI_GROUND_ROWS];    // normal impulses at the ends
    double slip;                     // m/s along the surface that a gap of what sticks makes
} cri_ground_solved;

/// law may be one of nets. Error: no planar body, nothing that touches, no memory. Close it anyhow.
CR_MUST_CHECK cr_status cri_ground_open(const cr_model *model, const cri_law *law,
                                        cri_ground_sampler *out, cr_error *err);
void cri_ground_close(cri_ground_sampler *s);

/// The state of x and all touches there; keep is emptied first.
void cri_ground_look(cri_ground_sampler *s);

/// The least gap of them.
const cri_narrow_touch *cri_ground_lowest(const cri_ground_sampler *s);

/// Puts the lowest point of x on the surface, and looks.
void cri_ground_settle(cri_ground_sampler *s);

/// The jump of what is nearer than reach, with velocities v (n_v) before and v_out after, which
/// may be NULL. False: nothing touches, no plane, no memory, or the law did not solve it.
bool cri_ground_solve(cri_ground_sampler *s, double reach, const double *v, double *v_out,
                      cri_ground_solved *out);

/// Does anything of what touches move? What does not has no direction to be labelled by.
bool cri_ground_is_moving(const cri_ground_solved *solved);

/// g from the velocities u after; false when the rows are not independent.
bool cri_ground_impulse_of(cri_ground_solved *solved);

/// A speed in [lower, upper), unless is_uniform of any smaller size too.
double cri_ground_draw_speed(cri_random *r, bool is_uniform, double lower, double upper);

/// In space: finds edges and faces; draws a state of a kind (returns the height below which things
/// touch).
void cri_ground_find_space(cri_ground_sampler *s);
double cri_ground_draw_space(cri_ground_sampler *s, cri_ground_kind kind,
                             const cri_ground_sampling *sampling, cri_random *r);

/// Of two bodies: finds poses where faces meet; draws a state likewise.
void cri_ground_find_pair(cri_ground_sampler *s);
double cri_ground_draw_pair(cri_ground_sampler *s, cri_ground_kind kind,
                            const cri_ground_sampling *sampling, cri_random *r);

/// Writes sample at: a velocity below noise (m/s) is none.
void cri_ground_store(const cri_ground_solved *from, double noise, int at, cri_ground_data *out);

/// Arrays for n samples; false for lack of memory.
bool cri_ground_data_push(cri_ground_kind kind, int n, bool has_applied, bool has_place,
                          cri_ground_data *out, cr_arena *arena);
