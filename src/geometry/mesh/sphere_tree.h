// SPDX-License-Identifier: MIT
//
// Binary tree of spheres around the triangles of a mesh, one triangle a leaf.
//
// Nodes are in preorder: node 0 is the root, the first child of i is i + 1, the second right[i].
// Lengths in metres, in the frame of the mesh. A tree may be shared between threads.

#pragma once

#include "base/arena.h"
#include "base/base.h"

/// How large a sphere is.
typedef enum cri_sphere_kind {
    CRI_SPHERE_LAYERED, // holds the spheres of its children
    CRI_SPHERE_WRAPPED, // holds the vertices of its triangles: smaller
} cri_sphere_kind;

typedef struct cri_sphere_tree {
    cri_sphere_kind kind;
    int n_vertex, n_triangle, n_node; // n_node = 2 n_triangle - 1
    const int *triangle;              // (n_triangle, 3)
    const int *right;                 // (n_node) second child, 0: leaf
    const int *leaf;                  // (n_node) triangle of a leaf, -1 for other nodes
    const int *height;                // (n_node) shortest way down to a leaf
    const int *n_leaf;                // (n_node) triangles below
    const int *start;                 // (n_node + 1) into member
    const int *member;                // distinct vertices below each node
    double *centre;                   // (n_node, 3) mean of these vertices
    double *radius;                   // (n_node)
    double *extent;                   // (n_node) largest distance of its vertices from the centre
    int *farthest; // (n_node) what gives the radius: a vertex, or the child of a layered sphere
} cri_sphere_tree;

/// Builds the tree of vertices (n_vertex, 3) and triangles (n_triangle, 3) in arena, which keeps a
/// copy of the triangles. Triangles may be needles or points. CR_ERR_ARGUMENT when there is none,
/// an index is out of range or a coordinate is not finite.
CR_MUST_CHECK cr_status cri_sphere_tree_build(cri_sphere_kind kind, int n_vertex,
                                              const double *vertex, int n_triangle,
                                              const int *triangle, cr_arena *arena,
                                              cri_sphere_tree *out, cr_error *err);

/// Centres and radii for other coordinates of the same vertices. Smooth but where the farthest
/// vertex or child changes: there the derivative is that of the recorded one.
void cri_sphere_tree_fit(cri_sphere_tree *tree, const double *vertex);

/// Adjoint, after a fit for these vertices: adds to vertex_adj (n_vertex, 3). scratch has room for
/// 4 n_node doubles.
void cri_sphere_tree_fit_vjp(const cri_sphere_tree *tree, const double *vertex,
                             const double *centre_adj, const double *radius_adj, double *vertex_adj,
                             cr_arena *scratch);

/// Tangent: fills centre_tan (n_node, 3) and radius_tan (n_node).
void cri_sphere_tree_fit_jvp(const cri_sphere_tree *tree, const double *vertex,
                             const double *vertex_tan, double *centre_tan, double *radius_tan);

/// Puts two pairs in place of the pair of nodes i, j: children of the larger node, or of the one
/// that has any, with the other. Returns the number of pairs waiting.
static inline int cri_push_children(const cri_sphere_tree *a, int i, const cri_sphere_tree *b,
                                    int j, int (*wait)[2], int n_wait) {
    int ra = a->right[i], rb = b->right[j];
    bool is_first = ra && (!rb || a->radius[i] >= b->radius[j]);
    wait[n_wait][0] = is_first ? ra : i;
    wait[n_wait][1] = is_first ? j : rb;
    wait[n_wait + 1][0] = is_first ? i + 1 : i;
    wait[n_wait + 1][1] = is_first ? j : j + 1;
    return n_wait + 2;
}
