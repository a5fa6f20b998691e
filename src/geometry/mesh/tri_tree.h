// SPDX-License-Identifier: MIT
//
// A tree of boxes over the triangles of a mesh: nearest point, winding number, and what the narrow
// phase leaves out. Constant and shareable; it borrows the mesh. Also points spread over a mesh,
// and how far two meshes are apart.

#pragma once

#include "base/arena.h"
#include "base/random.h"
#include "geometry/field/grid.h"

typedef struct cri_tri_node {
    double lower[3], upper[3];
    cri_vec3 centre; // of the box
    double radius;   // of a ball about centre that holds the triangles
    int first, n;    // leaf: its triangles in order; n = 0 otherwise
    int right;       // the second child; the first is the next node
} cri_tri_node;

enum { CRI_TRI_LEAF = 4, CRI_TRI_DEPTH = 64 };

typedef struct cri_tri_tree {
    cri_triangles mesh;
    int n_node;
    const cri_tri_node *node;
    const int *order; // (n_face) triangles, leaf by leaf
} cri_tri_tree;

/// Builds the tree of a mesh with one triangle at least. Lives in arena; scratch is rewound. False
/// when there is no memory.
bool cri_tri_tree_build(const cri_triangles *mesh, cr_arena *arena, cr_arena *scratch,
                        cri_tri_tree *out);

/// Corner k of triangle f.
static inline cri_vec3 cri_triangle_corner(const cri_triangles *mesh, int f, int k) {
    return cri_v3_load(mesh->vertex + 3 * (size_t)mesh->face[3 * (size_t)f + (size_t)k]);
}

/// The distance from x to the nearest triangle, but not more than bound, which may be infinite.
double cri_tri_tree_distance(const cri_tri_tree *tree, cri_vec3 x, double bound);

/// Where a node's triangles are and which way they look, seen from afar.
typedef struct cri_tri_dipole {
    cri_vec3 area;   // sum of area vectors
    cri_vec3 centre; // weighted by area
    double radius;   // about centre
} cri_tri_dipole;

/// Dipoles (n_node) of a tree.
void cri_tri_tree_dipoles(const cri_tri_tree *tree, cri_tri_dipole *dipole);

/// The winding number of the mesh about x, to 0.05 or so: 1 inside a closed mesh, 0 outside.
double cri_tri_tree_winding(const cri_tri_tree *tree, const cri_tri_dipole *dipole, cri_vec3 x);

/// n points (n, 3) with the normals (n, 3) of their triangles, even over the area. False when
/// scratch has no memory or the mesh no area.
CR_MUST_CHECK bool cri_mesh_points(const cri_triangles *mesh, int n, cri_random *stream,
                                   double *point, double *normal, cr_arena *scratch);

/// Symmetric chamfer distance, m^2: the mean squared distance of the vertices of each mesh from
/// the other's surface, both ways added (paper 004, A.21, which takes the nearest vertex). NAN when
/// scratch has no memory.
double cri_mesh_chamfer(const cri_triangles *a, const cri_triangles *b, cr_arena *scratch);
