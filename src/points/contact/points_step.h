// SPDX-License-Identifier: MIT
//
// Systems of points with contact, and their step in time for a batch of states (DCS, paper 000):
//
//     [projection onto the ties];  [x1 | v1] = Runge-Kutta(x), dt;  [projection];
//     x' = [x1 | v1 + jump at x1]
//
// A state is x = [q | v] (n_x), a batch (B, n_x), rows independent of each other. Parameters are
// physical values, flat:
//
//     p = [mass | lam | gravity | stiffness | friction | restitution | epsilon | potential's own]
//
// A scene is constant during steps and may be shared between threads, each with its own arenas.

#pragma once

#include "base/random.h"
#include "points/contact/points_contact.h"
#include "points/system/points.h"

/// How a system is set up.
typedef enum cri_points_kind {
    CRI_POINTS_BALLS,
    CRI_POINTS_DISKS,
    CRI_POINTS_PENDULUM,
    CRI_POINTS_ROPE,
    CRI_POINTS_TOP,
    CRI_POINTS_BILLIARDS,
} cri_points_kind;

typedef struct cri_points_scene {
    cr_arena *arena; // owns all of it
    const char *name;
    cri_points_kind kind;
    const char *body_name; // ball, disk, ...: bodies are called ball1, ball2, ...
    cri_points s;
    int n_touch;
    cri_points_touch *touch;
    int n_coefficient; // classes of friction and restitution
    const char **pair; // (n_coefficient) names: ball1:ball2, ball1:left; one class: contact
    int n_x, n_p;
    double *p;  // (n_p) the true values; of a potential's own parameters zero
    double *x0; // (n_x) a state without overlap
    double dt;  // s
    int n_step; // of one recording
    cri_points_form form;
    const cri_tableau *tableau;
    bool has_projection;   // onto the ties, behind the motion
    bool begins_projected; // and before it: for starts that the ties do not allow
    bool has_contact;      // false: the smooth motion alone
    cri_points_law law;
    cri_points_potential potential;
} cri_points_scene;

/// Builds bp5-e, bp5, bd5, bd1, cp3-e, cp3, gyro-e, gyro, billiards or rope with n points (0: 200,
/// elsewhere it is ignored). Law cone, 3/8 rule, Lagrange. An unknown name lists those that are.
CR_MUST_CHECK cr_status cri_points_scene_create(const char *name, int n, cri_points_scene **out,
                                                cr_error *err);
void cri_points_scene_destroy(cri_points_scene *scene);

/// The same with a net, which is borrowed (points/system/points.h).
bool cri_points_scene_set_net(cri_points_scene *scene, const cri_mlp *net);

/// Chooses a law of sim.c. False when there is none of that name.
bool cri_points_scene_set_law(cri_points_scene *scene, const char *law);

/// Name of parameter i: ball1/mass, top/lam[0], gravity[1], stiffness, ball1:left/friction,
/// contact/restitution, epsilon, potential[0]. Cut to n_byte.
void cri_points_param_name(const cri_points_scene *scene, int i, char *out, size_t n_byte);

/// Name of point i: ball1; disk1 for a body's centre, disk1.x, disk1.y for the ends of its axes.
/// Cut to n_byte.
void cri_points_point_name(const cri_points_scene *scene, int i, char *out, size_t n_byte);

/// Are all n_p parameters in their domains: masses and moments positive, friction and epsilon not
/// negative, restitution in [0, 1], all finite? The error names the first that is not. Steps
/// assert.
CR_MUST_CHECK cr_status cri_points_check(const cri_points_scene *scene, const double *p,
                                         cr_error *err);

/// Draws an initial state (n_x) without overlap as the paper does; x0 for billiards. False when a
/// million draws have found none.
bool cri_points_sample(const cri_points_scene *scene, cri_random *r, double *x);

/// Does some touch overlap at x (D)?
bool cri_points_overlap(const cri_points_scene *scene, const double *x);

/// Kinetic and potential energy (B) of states (B, n_x). Each may be NULL.
void cri_points_energy(const cri_points_scene *scene, const double *p, int B, const double *x,
                       double *kinetic, double *potential, cr_arena *scratch);

// ---- step --------------------------------------------------------------------------------------

/// What a step leaves for its derivatives, in keep.
typedef struct cri_points_tape {
    int B;
    bool *has_failed; // (B)
    int n_contact;    // in all rows
    double *minv;
    cri_points_flow_cache flow;
    const cri_project_cache *start, *project; // before and behind the motion
    cri_points_jump *jump;                    // (B)
} cri_points_tape;

/// One step of B states. outcome (B), NULL if not wanted: CR_SOLVED; anything but it and
/// CR_SOLVED_LOOSELY marks a row that failed (unsolved contact, singular ties, a number that is not
/// finite), whose x_next is x, or zero if x is not finite. NULL when there is no memory.
const cri_points_tape *cri_points_step(const cri_points_scene *scene, const double *p, int B,
                                       const double *x, double *x_next, cr_outcome *outcome,
                                       cr_arena *keep, cr_arena *scratch);

/// Adds to x_adj (B, n_x) and p_adj (n_p). Rows that failed have no part in it. False, and nothing
/// added, when there is no memory.
bool cri_points_step_vjp(const cri_points_scene *scene, const double *p,
                         const cri_points_tape *tape, const double *x_next_adj, double *x_adj,
                         double *p_adj, cr_arena *scratch);

/// Overwrites x_next_tan (B, n_x); zero for rows that failed. The potential must have tangents.
/// False when there is no memory.
bool cri_points_step_jvp(const cri_points_scene *scene, const double *p,
                         const cri_points_tape *tape, const double *x_tan, const double *p_tan,
                         double *x_next_tan, cr_arena *scratch);

// for tests

/// Name number i, NULL behind the last.
const char *cri_points_scene_name(int i);
