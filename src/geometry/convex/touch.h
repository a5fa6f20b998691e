// SPDX-License-Identifier: MIT
//
// Two pieces that face each other, and the touch they make, with adjoint and tangent.
//
// A touch has two witness points, one on each surface: point[1] = point[0] + gap normal. The normal
// is a unit vector from shape 0 to shape 1; the gap is negative in an overlap. Its rate is
// normal . (velocity of point[1] on shape 1 - velocity of point[0] on shape 0). All in the world.

#pragma once

#include "geometry/convex/pieces.h"

/// Two pieces that face each other: x_1 - x_0 = gap n.
typedef struct cri_meet {
    cri_vec3 n;
    double gap;
    double u[4];      // of piece 0, of piece 1
    cri_vec3 x;       // on piece 0
    bool is_singular; // n is any of many
} cri_meet;

typedef enum cri_meeting {
    CRI_MEET_NONE,    // Newton's method failed
    CRI_MEET_POINT,   // one pair of points
    CRI_MEET_FLAT,    // pieces in parallel: only n and gap are set
    CRI_MEET_CROSSED, // a face and an edge or face that cross it: only n is set, the face's
} cri_meeting;

/// Nearest points, or those of the least depth near the direction meet->n. scale: a length that all
/// others are below.
cri_meeting cri_pieces_meet(const cri_piece piece[2], double scale, cri_meet *meet);

/// Points that face each other along the fixed meet->n. False when there is not one pair.
bool cri_pieces_meet_along(const cri_piece piece[2], cri_meet *meet);

/// Coordinates of pieces by projection, for meet->n, gap and x that are given.
void cri_pieces_hold(const cri_piece piece[2], cri_meet *meet);

/// How a touch was found, in cri_touch_cache.kind.
typedef enum cri_touch_kind {
    CRI_TOUCH_FREE,  // the normal follows from the pieces
    CRI_TOUCH_ALONG, // the normal is that of a face
    CRI_TOUCH_HELD,  // the normal is held
} cri_touch_kind;

/// ref and face: whose face gives the normal, for CRI_TOUCH_ALONG.
static inline int cri_touch_kind_of(cri_touch_kind kind, int ref, int face) {
    return (int)kind + 4 * (ref + 2 * cri_feature_index(face));
}

/// Which local pieces of the two surfaces touch; the derivatives replay it. Private to geometry.
typedef struct cri_touch_cache {
    int kind;
    int feature[2];
    double u[4]; // coordinates on the two pieces
} cri_touch_cache;

typedef struct cri_narrow_touch {
    int id; // which point of the pair's patch, stable from step to step; >= 0
    double gap;
    cri_vec3 normal;
    cri_vec3 point[2];
    cri_touch_cache cache;
} cri_narrow_touch;

/// Adjoint or tangent of a touch.
typedef struct cri_touch_diff {
    double gap;
    cri_vec3 normal;
    cri_vec3 point[2];
} cri_touch_diff;

/// Adjoint or tangent of a shape with its pose: pos in the world, rot a rotation vector in the
/// shape's own frame (R moves to R exp[rot]), size as cri_shape's.
typedef struct cri_shape_diff {
    cri_vec3 pos;
    cri_vec3 rot;
    double size[3];
} cri_shape_diff;

/// The touch of a meeting.
void cri_touch_fill(const cri_pose pose[2], const cri_meet *meet, int kind, const int feature[2],
                    cri_narrow_touch *touch);

/// The same touch (its id and pieces) at another pose or size nearby, without looking for others.
/// False when that piece no longer supports a contact there.
bool cri_touch_again(const cri_shape shape[2], const cri_pose pose[2], cri_narrow_touch *touch);

/// Adds to adj[0] and adj[1].
void cri_touch_vjp(const cri_shape shape[2], const cri_pose pose[2], const cri_narrow_touch *touch,
                   const cri_touch_diff *touch_adj, cri_shape_diff adj[2]);
cri_touch_diff cri_touch_jvp(const cri_shape shape[2], const cri_pose pose[2],
                             const cri_narrow_touch *touch, const cri_shape_diff tan[2]);
