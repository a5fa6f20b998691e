// SPDX-License-Identifier: MIT
//
// Two geoms near each other, or a joint near its limit: their touches, with adjoints and tangents.
//
// A touch of two geoms is a pair of witness points (geometry/query/narrow.h). A limit is a touch
// without points: its gap is the distance of a combination of joints from its bound.

#pragma once

#include "contact/law.h"
#include "dynamics/unit.h"
#include "geometry/query/narrow.h"

#include <stddef.h>

/// What every contact computation reads: the model, what follows from its parameters, the law.
typedef struct cri_world {
    const cr_model *model;
    const cri_derived *d;
    const cri_law *law;
    double smoothing;         // of gradients, 0: none
    cri_outside outside;      // of laws of nets
    struct cr_arena *scratch; // of the narrow phase of fields; NULL: the model has none
} cri_world;

typedef enum cri_near_kind {
    CRI_NEAR_PLANE_SPHERE,  // slot 0
    CRI_NEAR_PLANE_CAPSULE, // slot 0: end at +z, 1: at -z
    CRI_NEAR_PLANE_BOX,     // slot: corner, bits 2, 1, 0 are the signs of x, y, z
    CRI_NEAR_SPHERE_SPHERE, // slot 0
    CRI_NEAR_GENERAL,       // slot 0: the signed distance, others: the rest of the patch
    CRI_NEAR_LIMIT,         // slot 0
} cri_near_kind;

enum { CRI_MOST_SLOT = 24 }; // touches of any pair

typedef struct cri_near {
    cri_near_kind kind;
    int geom[2];            // a plane is geom[0]; limit: -1
    int body[2];            // -1: world
    int unit[2];            // -1: static
    int pair;               // coefficients of their own, -1: none
    bool has_two_frictions; // the pair has one for each tangent
    bool is_field;          // one of the geoms is a distance field, the kind is general
    int limit;              // -1: none
    int n_slot;             // touches it may have
    int first;              // feature number of slot 0
} cri_near;

/// Direction in which a ball joint has turned (unit, child frame; zero at angle zero), and how far,
/// in [0, pi]. Its gap has the rate -axis . spin.
cri_vec3 cri_limit_axis(const cri_limit *limit, const double *q, double *angle);

/// Adjoint of the axis, as tangent of the joint's quaternion; and its tangent.
cri_vec3 cri_limit_axis_vjp(const cri_limit *limit, const double *q, cri_vec3 axis_adj);
cri_vec3 cri_limit_axis_jvp(const cri_limit *limit, const double *q, cri_vec3 theta);

/// Adds scale times the row of a limit's gap in dofs to out, which begins at dof first.
void cri_limit_add_row(const cri_limit *limit, const double *q, double scale, int first,
                       double *out);

/// Two geoms that may collide, or a limit.
cri_near cri_near_geoms(const cr_model *model, int geom0, int geom1, int pair);
cri_near cri_near_limit(const cr_model *model, int limit);

/// True when slot k alone says where it will be; else only the distance in slot 0 does.
static inline bool cri_near_has_points(const cri_near *near) {
    return near->kind != CRI_NEAR_GENERAL;
}

/// Which touches of a general pair are asked for: none of these ids; those that approach faster
/// than this, else those that are farther than this.
typedef struct cri_next {
    double least_speed, least_gap;
    int n_skip;
    const int *skip; // (n_skip)
} cri_next;

/// The lowest such touch within the margin at a state, v and motion as for cri_near_rate. Of a mesh
/// on a plane and of fields all points are looked at, of other pairs those of cri_near_touches.
/// False: none.
bool cri_near_next(const cri_world *world, const cri_near *near, const cri_state *state,
                   const double *v, const double *motion, double margin, const cri_next *next,
                   cri_narrow_touch *touch);

/// All touches at a state: touch (n_slot), absent ones with an infinite gap. margin as in
/// cri_collide.
void cri_near_touches(const cri_world *world, const cri_near *near, const cri_state *state,
                      double margin, cri_narrow_touch *touch);

/// One slot, which must have points of its own, or the distance of a general pair.
void cri_near_touch(const cri_world *world, const cri_near *near, int slot, const cri_state *state,
                    cri_narrow_touch *touch);

/// Adds to q_adj (n_v) and d_adj. The trees of the state's moving units must be there.
void cri_near_touch_vjp(const cri_world *world, const cri_near *near, const cri_narrow_touch *touch,
                        const cri_state *state, const cri_touch_diff *adj, double *q_adj,
                        const cri_derived *d_adj);

/// Tangent for q_tan (n_v), body_tan (n_body, 6; cri_state_motion of it) and d_tan.
cri_touch_diff cri_near_touch_jvp(const cri_world *world, const cri_near *near,
                                  const cri_narrow_touch *touch, const cri_state *state,
                                  const double *q_tan, const double *body_tan,
                                  const cri_derived *d_tan);

/// Rate of the gap for velocities v (n_v) and those of the bodies (n_body, 6), m/s.
double cri_near_rate(const cri_world *world, const cri_near *near, const cri_narrow_touch *touch,
                     const cri_state *state, const double *v, const double *motion);

/// Coefficients of the pair, and the numbers of d that they are: in d_adj and d_tan they have the
/// same place.
typedef struct cri_coefficients {
    double friction;      // the larger of two
    double friction_back; // of what slides against the pair's direction
    double restitution;
    bool has_sides;           // friction and friction_back differ in name
    int at_friction_back;     // as at_friction, -1: there is none
    int at_friction;          // place in the block of d, -1: a constant, or two of them
    int at_restitution;       // likewise
    bool is_friction_tied;    // of equal ones: the derivative is one-sided
    bool is_restitution_tied; // likewise
} cri_coefficients;

cri_coefficients cri_near_coefficients(const cri_world *world, const cri_near *near);

/// The place of one more: how many there are (n, of most), the strength of the weakest once all
/// places are taken (least), and where strengths stand (first, then every so many bytes). -1 when
/// all places have stronger ones. The caller writes it, its strength included.
static inline int cri_strongest_place(int *n, int most, double *least, double strength,
                                      const double *first, size_t stride) {
    if (*n < most) {
        *least = *n == 0 || strength < *least ? strength : *least;
        return (*n)++;
    }
    if (strength <= *least) {
        return -1;
    }
    int weakest = 0;
    double kept = *first, next = strength;
    for (int i = 1; i < most; i++) {
        double own = *(const double *)(const void *)((const char *)first + (size_t)i * stride);
        double stronger = own < kept ? kept : own;
        weakest = own < kept ? i : weakest;
        kept = own < kept ? own : kept;
        next = stronger < next ? stronger : next;
    }
    *least = next;
    return weakest;
}

// for tests

/// The same touch (pieces and all) at another state. False when it is none there.
bool cri_near_again(const cri_world *world, const cri_near *near, const cri_state *state,
                    cri_narrow_touch *touch);
