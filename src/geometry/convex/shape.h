// SPDX-License-Identifier: MIT
//
// Shapes, hulls and poses: what the narrow phase reads.
//
// Lengths in metres. Shape frames are MJCF's: centred, long axis z.

#pragma once

#include "base/math/vec3.h"

#include <stdbool.h>

typedef enum cri_shape_kind {
    CRI_SHAPE_PLANE,     // half-space below the local z axis; static bodies only
    CRI_SHAPE_SPHERE,    // size[0] radius
    CRI_SHAPE_CAPSULE,   // size[0] radius, size[1] half length of the axis without the caps
    CRI_SHAPE_ELLIPSOID, // size half axes
    CRI_SHAPE_CYLINDER,  // size[0] radius, size[1] half length
    CRI_SHAPE_BOX,       // size half lengths
    CRI_SHAPE_MESH,      // its convex hull collides
    CRI_SHAPE_FIELD,     // a distance field (geometry/field/form.h); has no sizes, and no cri_shape
} cri_shape_kind;

enum { CRI_N_SHAPE = CRI_SHAPE_FIELD + 1 };

/// A convex polyhedron. Faces are polygons, counterclockwise from outside; coplanar triangles are
/// merged. Constant and shareable.
typedef struct cri_hull {
    int n_vertex, n_face, n_edge;
    const double *vertex;  // (n_vertex, 3)
    const int *face_start; // (n_face + 1) into face_vertex
    const int *face_vertex;
    const double *face_normal; // (n_face, 3) unit, outward
    const double *face_offset; // (n_face) normal . x on the face
    const int *edge;           // (n_edge, 4): two vertices, two faces
    const int *link_start; // (n_vertex + 1) into link: neighbours of a vertex, for hill climbing
    const int *link;
    double radius;            // largest distance of a vertex from the origin
    double centre[3];         // inside
    int tree_depth;           // of the tree over many vertices (geometry/mesh/hull_tree.h)
    const double *tree_bound; // (2^depth, 9, 2) middle, half length, width of pairs of nodes
    const int *tree_order;    // (n_vertex) vertices as leaves have them; NULL: there is no tree
} cri_hull;

/// A shape with its numbers. size is borrowed; hull only for a mesh.
typedef struct cri_shape {
    cri_shape_kind kind;
    const double *size;   // (3)
    const cri_hull *hull; // NULL unless a mesh
} cri_shape;

/// Frame of a shape or body in the world.
typedef struct cri_pose {
    cri_vec3 pos;
    cri_mat3 R; // local to world
} cri_pose;
