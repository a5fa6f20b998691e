// SPDX-License-Identifier: MIT
//
// Pieces of the surfaces of shapes: where they are, which is farthest, which comes next.
//
// A piece is an affine set and a bulge: x = p + e_1 u_1 + e_2 u_2 + k(n) is its point with outward
// normal n, which is orthogonal to every e. Vertices, edges and faces have no bulge; the ball of a
// sphere or capsule, the rim of a cylinder and the ellipsoid are bulges. A feature is the number of
// a piece within its shape: 4 index + kind.

#pragma once

#include "geometry/convex/shape.h"

typedef enum cri_piece_kind {
    CRI_PIECE_VERTEX, // box, mesh; centre of a sphere or ellipsoid; end of a capsule's axis;
                      // fixed point on the rim of a cylinder, CRI_N_RIM each
    CRI_PIECE_EDGE, // box, mesh; axis of a capsule; 0: side of a cylinder, then chords of its rims
    CRI_PIECE_FACE, // plane, box, mesh, caps of a cylinder
    CRI_PIECE_RIM,  // of a cylinder, bottom and top
} cri_piece_kind;

enum { CRI_N_RIM = 8 }; // fixed points on a rim

typedef enum cri_bulge {
    CRI_BULGE_NONE,
    CRI_BULGE_BALL,
    CRI_BULGE_RIM,
    CRI_BULGE_ELLIPSOID
} cri_bulge;

/// A piece in world axes; p is relative to the origin of shape 0.
typedef struct cri_piece {
    int dim; // how many e
    cri_vec3 p;
    cri_vec3 e[2];   // unit
    double reach[2]; // |u_i| at the end of an edge or of a box's face
    cri_bulge bulge;
    double radius;      // ball, rim
    const cri_mat3 *R;  // frame of the shape
    const double *size; // of the shape
} cri_piece;

static inline int cri_feature_of(cri_piece_kind kind, int index) {
    return 4 * index + (int)kind;
}

static inline cri_piece_kind cri_feature_kind(int feature) {
    return (cri_piece_kind)(feature & 3);
}

static inline int cri_feature_index(int feature) {
    return feature >> 2;
}

static inline cri_vec3 cri_m3_column(const cri_mat3 *M, int j) {
    return cri_v3(M->m[j], M->m[3 + j], M->m[6 + j]);
}

/// A unit vector orthogonal to unit a, always the same one.
cri_vec3 cri_v3_orthogonal(cri_vec3 a);

/// pos: origin of the shape relative to that of shape 0.
cri_piece cri_piece_at(const cri_shape *shape, const cri_mat3 *R, cri_vec3 pos, int feature);

/// Derivatives of the local p by the three sizes.
void cri_piece_grow(const cri_shape *shape, int feature, cri_vec3 grow[3]);

/// Outward unit normal of a face, in the shape's frame.
cri_vec3 cri_face_normal(const cri_shape *shape, int feature);

/// k(n).
cri_vec3 cri_bulge_at(const cri_piece *piece, cri_vec3 n);

/// (dk/dn) a, symmetric in a; k is homogeneous of degree 0 but for the ball's r n.
cri_vec3 cri_bulge_bend(const cri_piece *piece, cri_vec3 n, cri_vec3 a);

/// Of two vectors at once, for the price of little more than one.
void cri_bulge_bend_two(const cri_piece *piece, cri_vec3 n, const cri_vec3 a[2], cri_vec3 out[2]);

/// a . dk/dsize.
void cri_bulge_grow(const cri_piece *piece, cri_vec3 n, cri_vec3 a, double size_adj[3]);

/// A farthest point without ball, in the shape's frame, and its feature. hint: vertex of a mesh to
/// start from, and the one found.
cri_vec3 cri_core_support(const cri_shape *shape, cri_vec3 direction, int *feature, int *hint);

/// Radius of the ball of a sphere or capsule, 0 otherwise.
double cri_core_radius(const cri_shape *shape);

/// The feature between two vertices of one face (an edge, a chord), -1: none.
int cri_edge_between(const cri_shape *shape, int feature_a, int feature_b);

/// Both ends of an edge, as features.
void cri_edge_ends(const cri_shape *shape, int feature, int end[2]);

/// The piece spanned by several features found by cri_core_support around a point x, all local.
int cri_piece_spanned(const cri_shape *shape, int n, const int *feature, cri_vec3 x,
                      cri_vec3 direction);

/// A better piece when u leaves this one or the outward normal leaves its cone (all local); the
/// same feature when neither. slack is a length.
int cri_piece_step(const cri_shape *shape, int feature, cri_vec3 normal, const double u[2],
                   double slack);

/// Radius of the smallest ball around the shape's origin that holds it; infinite for planes.
double cri_bounding_radius(const cri_shape *shape);

// for tests

/// Farthest point of a shape in a direction (need not be unit), both in the shape's frame. Not for
/// planes.
cri_vec3 cri_support(const cri_shape *shape, cri_vec3 direction);
