// SPDX-License-Identifier: MIT
//
// Contact points of any two shapes, with adjoint and tangent.
//
// A touch has two witness points, one on each surface: point[1] = point[0] + gap normal. The normal
// is a unit vector from shape 0 to shape 1; the gap is negative in an overlap. Its rate is
// normal . (velocity of point[1] on shape 1 - velocity of point[0] on shape 0). All in the world.

#pragma once

#include "geometry/convex/shape.h"

enum { CRI_MAX_TOUCH = 8 };

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

/// The contact patch of two shapes. touch[0] is always there and is the signed distance, down to
/// the least depth of any separating translation in an overlap; the others are points of the patch
/// with gap <= margin. Returns how many, at most CRI_MAX_TOUCH. At most one of the two is a plane,
/// and then it is shape 0.
int cri_collide(const cri_shape shape[2], const cri_pose pose[2], double margin,
                cri_narrow_touch touch[CRI_MAX_TOUCH]);

/// The signed distance and its witness points alone: touch[0] of cri_collide.
void cri_distance(const cri_shape shape[2], const cri_pose pose[2], cri_narrow_touch *touch);

/// Whether a touch is one that is asked for.
typedef bool (*cri_touch_filter)(const void *context, const cri_narrow_touch *touch);

/// Vertices x (frame of the mesh) with rate.x <= most_rate, or with a gap of least_gap and more.
typedef struct cri_plane_asked {
    cri_vec3 rate;
    double most_rate, least_gap; // INFINITY: no gap will do
} cri_plane_asked;

/// The lowest touch of a plane and a mesh that the filter lets pass, of all its vertices. asked
/// holds all of these and is quick to look through. False: none.
bool cri_plane_next(const cri_shape shape[2], const cri_pose pose[2], const cri_plane_asked *asked,
                    cri_touch_filter filter, const void *context, cri_narrow_touch *touch);

/// The same touch (its id and pieces) at another pose or size nearby, without looking for others.
/// False when that piece no longer supports a contact there.
bool cri_touch_again(const cri_shape shape[2], const cri_pose pose[2], cri_narrow_touch *touch);

/// Adds to adj[0] and adj[1].
void cri_touch_vjp(const cri_shape shape[2], const cri_pose pose[2], const cri_narrow_touch *touch,
                   const cri_touch_diff *touch_adj, cri_shape_diff adj[2]);

cri_touch_diff cri_touch_jvp(const cri_shape shape[2], const cri_pose pose[2],
                             const cri_narrow_touch *touch, const cri_shape_diff tan[2]);

/// Farthest point of a shape in a direction (need not be unit), both in the shape's frame. Not for
/// planes.
cri_vec3 cri_support(const cri_shape *shape, cri_vec3 direction);

/// Radius of the smallest ball around the shape's origin that holds it; infinite for planes.
double cri_bounding_radius(const cri_shape *shape);
