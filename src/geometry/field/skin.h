// SPDX-License-Identifier: MIT
//
// Contact of any two fields: triangles of the surface of one in the field of the other, both ways.
//
// A touch is that of narrow.h: point[1] = point[0] + gap normal, the normal from skin 0 to skin 1.
// Its point on the owner is a corner of the owner's mesh, or the lowest point of one of its
// triangles in the other's field, and gap = phi/|g| there. The normal is that of the flatter field
// at the point; the owner's only when it is nearly opposite to the other's, as own corners have
// none.
//
// Derivatives are exact with the triangle, its corners with weight and the field of the normal
// held: on a corner, a side or within. Where a side or a triangle lies flat in the other's field
// the lowest point is not unique, the weights are held and the derivative is one-sided. The caller
// takes adjoints of corners on to the parameters of the owner's field (form.h).

#pragma once

#include "geometry/mesh/tri_tree.h"
#include "geometry/query/narrow.h"

/// A field and the tree over a mesh of its surface, both in one frame. Constant and shareable. A
/// half-space z <= 0 has no tree; on it, a skin whose field is smooth touches with the lowest point
/// of its field instead of that of its mesh.
typedef struct cri_skin {
    const cri_field *field;
    const cri_tri_tree *tree; // NULL: a half-space
    bool is_round;            // the field is smooth at the surface
    bool is_convex;           // and an exact distance outside
} cri_skin;

/// What the cache of a touch means here: its kind is made of these, its first feature is the
/// triangle, and u has the weights of the corners. On a half-space that owns the touch there is no
/// triangle, and u has the point's x and y.
enum {
    CRI_SKIN_OWNER = 1, // the triangle is that of skin 1
    CRI_SKIN_OWN = 2,   // the normal is that of the owner's field
    CRI_SKIN_FLAT = 4,  // the point is not unique: weights are held
    CRI_SKIN_KINK = 8,  // phi is not stationary there: no derivative but with weights held
};

/// All touches with gap <= margin: in each patch of one normal its outline and its deepest point,
/// CRI_MAX_TOUCH at most. Returns how many, at most n_most, deepest first. Makes no heap call once
/// scratch has met its largest need; 0 when scratch has no memory, and cri_arena_has_failed says
/// so.
int cri_skins_collide(const cri_skin skin[2], const cri_pose pose[2], double margin, int n_most,
                      cri_narrow_touch *touch, cr_arena *scratch);

/// The lowest touch with gap <= margin that the filter lets pass, of all points before their
/// outline is taken. False: none.
bool cri_skins_next(const cri_skin skin[2], const cri_pose pose[2], double margin,
                    cri_touch_filter filter, const void *context, cri_narrow_touch *touch,
                    cr_arena *scratch);

/// What the largest need is for meshes no larger than this one.
size_t cri_skins_scratch_bytes(const cri_triangles *mesh);

/// The lowest point of either mesh in the other's field, however far: gap and points of one touch.
/// Far from a convex skin, that of the ball around the other one: it lies beyond a plane through
/// the touch's points, and the gap is not too large.
/// At most one of the two is a half-space. scratch is rewound.
void cri_skins_distance(const cri_skin skin[2], const cri_pose pose[2], cri_narrow_touch *touch,
                        cr_arena *scratch);

/// The direction along which the gap of a touch grows, from skin 0 to skin 1: its normal, but for
/// touches whose normal is the owner's.
cri_vec3 cri_skin_gap_direction(const cri_skin skin[2], const cri_pose pose[2],
                                const cri_narrow_touch *touch);

/// The same touch at another pose, parameter or vertex nearby: same triangle, corners and field of
/// the normal. False when the lowest point has other corners now.
bool cri_skin_touch_again(const cri_skin skin[2], const cri_pose pose[2], cri_narrow_touch *touch);

/// Adjoint or tangent of a skin with its pose: pos in the world, rot a rotation vector in the
/// skin's own frame. param (n_param of the field) and corner (3), the vertices of the triangle on
/// the owner, may be NULL: not wanted, or at rest.
typedef struct cri_skin_diff {
    cri_vec3 pos, rot;
    double *param;
    cri_vec3 *corner;
} cri_skin_diff;

/// Adds to adj[0] and adj[1].
void cri_skin_touch_vjp(const cri_skin skin[2], const cri_pose pose[2],
                        const cri_narrow_touch *touch, const cri_touch_diff *touch_adj,
                        cri_skin_diff adj[2]);
cri_touch_diff cri_skin_touch_jvp(const cri_skin skin[2], const cri_pose pose[2],
                                  const cri_narrow_touch *touch, const cri_skin_diff tan[2]);
