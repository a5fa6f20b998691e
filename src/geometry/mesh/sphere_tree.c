// SPDX-License-Identifier: MIT
//
// Built from the top: triangles are split in halves along the longest extent of their centres.
//
//   c = mean of the distinct vertices below,    leaf:     R = max over vertices |x - c|
//   layered: R = max over children |c - c_child| + R_child,  wrapped: R = max over vertices |x - c|
//
// (definition 5.3 of the long-range contact potential). Layered spheres hold the spheres of their
// children, so that far spheres have far children.

#include "geometry/mesh/sphere_tree.h"

#include "base/math/vec3.h"

#include <stdlib.h>
#include <string.h>

/// Place of a triangle in the order of an axis.
typedef struct place {
    double at;
    int before; // in the order of the node above: equal places keep it
    int triangle;
} place;

/// A tree in the making.
typedef struct growth {
    const double *vertex;
    const int *triangle;
    place *order;   // (n_triangle) each node is a range of it
    double *middle; // (n_triangle, 3) centres of triangles
    int *stamp;     // (n_vertex) last node that has the vertex
    int *first;     // (n_node) range of a node
    int *count;
    int *right, *leaf, *height, *start;
    int n_node;
} growth;

static int by_place(const void *a, const void *b) {
    const place *p = a, *q = b;
    if (p->at != q->at) {
        return p->at < q->at ? -1 : 1;
    }
    return (p->before > q->before) - (p->before < q->before);
}

/// Sorts a range of triangles along the longest extent of their centres.
static void sort_range(const growth *g, place *order, int n) {
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int i = 0; i < n; i++) {
        const double *m = g->middle + 3 * (size_t)order[i].triangle;
        for (int k = 0; k < 3; k++) {
            low[k] = fmin(low[k], m[k]);
            high[k] = fmax(high[k], m[k]);
        }
    }
    int axis = 0;
    for (int k = 1; k < 3; k++) {
        if (high[k] - low[k] > high[axis] - low[axis]) {
            axis = k;
        }
    }
    for (int i = 0; i < n; i++) {
        order[i].at = g->middle[3 * (size_t)order[i].triangle + axis];
        order[i].before = i;
    }
    qsort(order, (size_t)n, sizeof *order, by_place);
}

/// Node i of a known range, its first child right behind it.
static void split(growth *g, int i) {
    int n = g->count[i];
    g->leaf[i] = -1;
    g->right[i] = 0;
    if (n == 1) {
        g->leaf[i] = g->order[g->first[i]].triangle;
        return;
    }
    sort_range(g, g->order + g->first[i], n);
    int n_left = n / 2;
    g->right[i] = i + 2 * n_left; // the left part has 2 n_left - 1 nodes
    g->first[i + 1] = g->first[i];
    g->count[i + 1] = n_left;
    g->first[g->right[i]] = g->first[i] + n_left;
    g->count[g->right[i]] = n - n_left;
}

/// Adds the vertices of triangle t that node i does not have yet; stores them when there is a
/// place.
static int list_corners(growth *g, int i, int t, int n, int *member) {
    for (int j = 0; j < 3; j++) {
        int v = g->triangle[3 * (size_t)t + j];
        if (g->stamp[v] == i) {
            continue;
        }
        g->stamp[v] = i;
        if (member) {
            member[n] = v;
        }
        n++;
    }
    return n;
}

/// Distinct vertices of each node; returns how many there are in all.
static int list_members(growth *g, int *member) {
    int n = 0;
    for (int i = 0; i < g->n_node; i++) {
        g->start[i] = n;
        for (int k = 0; k < g->count[i]; k++) {
            n = list_corners(g, i, g->order[g->first[i] + k].triangle, n, member);
        }
    }
    g->start[g->n_node] = n;
    return n;
}

static bool push_growth(growth *g, int n_vertex, int n_triangle, cr_arena *arena) {
    g->n_node = 2 * n_triangle - 1;
    g->right = CR_PUSH(arena, int, g->n_node);
    g->leaf = CR_PUSH(arena, int, g->n_node);
    g->height = CR_PUSH(arena, int, g->n_node);
    g->start = CR_PUSH(arena, int, g->n_node + 1);
    g->order = CR_PUSH(arena, place, n_triangle);
    g->middle = CR_PUSH(arena, double, 3 * (size_t)n_triangle);
    g->stamp = CR_PUSH(arena, int, n_vertex);
    g->first = CR_PUSH(arena, int, g->n_node);
    g->count = CR_PUSH(arena, int, g->n_node);
    return !cri_arena_has_failed(arena);
}

static void grow(growth *g, int n_vertex, int n_triangle) {
    for (int i = 0; i < n_triangle; i++) {
        cri_vec3 sum = {0, 0, 0};
        for (int k = 0; k < 3; k++) {
            sum = cri_v3_add(sum, cri_v3_load(g->vertex + 3 * (size_t)g->triangle[3 * i + k]));
        }
        cri_v3_store(cri_v3(sum.x / 3.0, sum.y / 3.0, sum.z / 3.0), g->middle + 3 * (size_t)i);
        g->order[i].triangle = i;
    }
    g->first[0] = 0;
    g->count[0] = n_triangle;
    for (int i = 0; i < g->n_node; i++) {
        split(g, i);
    }
    for (int i = g->n_node - 1; i >= 0; i--) {
        const int *h = g->height;
        int r = g->right[i];
        g->height[i] = r ? 1 + (h[r] < h[i + 1] ? h[r] : h[i + 1]) : 0;
    }
    for (int v = 0; v < n_vertex; v++) {
        g->stamp[v] = -1;
    }
}

static cr_status check_mesh(int n_vertex, const double *vertex, int n_triangle, const int *triangle,
                            cr_error *err) {
    if (n_triangle < 1 || n_vertex < 1) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "a mesh needs a triangle, this one has none");
    }
    for (int i = 0; i < 3 * n_triangle; i++) {
        if (triangle[i] < 0 || triangle[i] >= n_vertex) {
            return cri_fail(err, CR_ERR_ARGUMENT, 0,
                            "triangle %d names vertex %d; there are vertices 0 to %d", i / 3,
                            triangle[i], n_vertex - 1);
        }
        if (!cri_all_finite(3, vertex + 3 * (size_t)triangle[i])) {
            return cri_fail(err, CR_ERR_ARGUMENT, 0,
                            "vertex %d of triangle %d is not finite; repair the mesh", triangle[i],
                            i / 3);
        }
    }
    return CR_OK;
}

cr_status cri_sphere_tree_build(cri_sphere_kind kind, int n_vertex, const double *vertex,
                                int n_triangle, const int *triangle, cr_arena *arena,
                                cri_sphere_tree *out, cr_error *err) {
    CR_TRY(check_mesh(n_vertex, vertex, n_triangle, triangle, err));
    int *copy = CR_PUSH(arena, int, 3 * (size_t)n_triangle);
    growth g = {.vertex = vertex, .triangle = copy};
    if (!copy || !push_growth(&g, n_vertex, n_triangle, arena)) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a tree of %d triangles", n_triangle);
    }
    memcpy(copy, triangle, 3 * (size_t)n_triangle * sizeof *copy);
    grow(&g, n_vertex, n_triangle);

    // counted first, then stored
    int n_member = list_members(&g, NULL);
    int *member = CR_PUSH(arena, int, n_member);
    *out = (cri_sphere_tree){.kind = kind,
                             .n_vertex = n_vertex,
                             .n_triangle = n_triangle,
                             .n_node = g.n_node,
                             .triangle = copy,
                             .right = g.right,
                             .leaf = g.leaf,
                             .height = g.height,
                             .n_leaf = g.count,
                             .start = g.start,
                             .member = member,
                             .centre = CR_PUSH(arena, double, 3 * (size_t)g.n_node),
                             .radius = CR_PUSH(arena, double, g.n_node),
                             .extent = CR_PUSH(arena, double, g.n_node),
                             .farthest = CR_PUSH(arena, int, g.n_node)};
    if (cri_arena_has_failed(arena)) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a tree of %d triangles", n_triangle);
    }
    memset(g.stamp, 0xff, (size_t)n_vertex * sizeof *g.stamp); // -1: no node
    list_members(&g, member);
    cri_sphere_tree_fit(out, vertex);
    return CR_OK;
}

// ---- centres and radii -------------------------------------------------------------------------

/// The radius of a node is the distance to vertices, not to the spheres of children.
static bool is_wrapped(const cri_sphere_tree *tree, int i) {
    return tree->kind == CRI_SPHERE_WRAPPED || !tree->right[i];
}

static cri_vec3 mean_of(const cri_sphere_tree *tree, const double *vertex, int i) {
    cri_vec3 sum = {0, 0, 0};
    for (int k = tree->start[i]; k < tree->start[i + 1]; k++) {
        sum = cri_v3_add(sum, cri_v3_load(vertex + 3 * (size_t)tree->member[k]));
    }
    return cri_v3_scale(1.0 / (tree->start[i + 1] - tree->start[i]), sum);
}

/// Distance of a point from the centre of node i.
static double reach(const cri_sphere_tree *tree, int i, const double *point) {
    cri_vec3 c = cri_v3_load(tree->centre + 3 * (size_t)i);
    return cri_v3_norm(cri_v3_sub(cri_v3_load(point), c));
}

void cri_sphere_tree_fit(cri_sphere_tree *tree, const double *vertex) {
    // children come behind their parents
    for (int i = tree->n_node - 1; i >= 0; i--) {
        cri_v3_store(mean_of(tree, vertex, i), tree->centre + 3 * (size_t)i);
        tree->extent[i] = -1.0;
        for (int k = tree->start[i]; k < tree->start[i + 1]; k++) {
            double R = reach(tree, i, vertex + 3 * (size_t)tree->member[k]);
            if (R > tree->extent[i]) {
                tree->extent[i] = R;
                tree->farthest[i] = tree->member[k];
            }
        }
        tree->radius[i] = is_wrapped(tree, i) ? tree->extent[i] : -1.0;
        if (is_wrapped(tree, i)) {
            continue;
        }
        for (int k = 0; k < 2; k++) {
            int child = k ? tree->right[i] : i + 1;
            double R = reach(tree, i, tree->centre + 3 * (size_t)child) + tree->radius[child];
            if (R > tree->radius[i]) {
                tree->radius[i] = R;
                tree->farthest[i] = child;
            }
        }
    }
}

/// Unit vector from the centre of node i to what gives its radius; zero when they are one point.
static cri_vec3 outward(const cri_sphere_tree *tree, const double *vertex, int i) {
    const double *to = is_wrapped(tree, i) ? vertex : tree->centre;
    cri_vec3 d = cri_v3_sub(cri_v3_load(to + 3 * (size_t)tree->farthest[i]),
                            cri_v3_load(tree->centre + 3 * (size_t)i));
    double length = cri_v3_norm(d);
    return length > 0.0 ? cri_v3_scale(1.0 / length, d) : cri_v3(0, 0, 0);
}

void cri_sphere_tree_fit_vjp(const cri_sphere_tree *tree, const double *vertex,
                             const double *centre_adj, const double *radius_adj, double *vertex_adj,
                             cr_arena *scratch) {
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *c_adj = CR_PUSH(scratch, double, 3 * (size_t)tree->n_node);
    double *r_adj = CR_PUSH(scratch, double, tree->n_node);
    CR_ASSERT(c_adj && r_adj);
    memcpy(c_adj, centre_adj, 3 * (size_t)tree->n_node * sizeof *c_adj);
    memcpy(r_adj, radius_adj, (size_t)tree->n_node * sizeof *r_adj);
    for (int i = 0; i < tree->n_node; i++) {
        // R = |x - c|, or |c_child - c| + R_child
        cri_vec3 u = cri_v3_scale(r_adj[i], outward(tree, vertex, i));
        int f = tree->farthest[i];
        if (is_wrapped(tree, i)) {
            cri_v3_accumulate(u, vertex_adj + 3 * (size_t)f);
        } else {
            cri_v3_accumulate(u, c_adj + 3 * (size_t)f);
            r_adj[f] += r_adj[i];
        }

        // c = mean
        cri_vec3 c = cri_v3_sub(cri_v3_load(c_adj + 3 * (size_t)i), u);
        c = cri_v3_scale(1.0 / (tree->start[i + 1] - tree->start[i]), c);
        for (int k = tree->start[i]; k < tree->start[i + 1]; k++) {
            cri_v3_accumulate(c, vertex_adj + 3 * (size_t)tree->member[k]);
        }
    }
    cri_arena_rewind(scratch, mark);
}

void cri_sphere_tree_fit_jvp(const cri_sphere_tree *tree, const double *vertex,
                             const double *vertex_tan, double *centre_tan, double *radius_tan) {
    for (int i = tree->n_node - 1; i >= 0; i--) {
        cri_vec3 c_tan = mean_of(tree, vertex_tan, i);
        cri_v3_store(c_tan, centre_tan + 3 * (size_t)i);
        int f = tree->farthest[i];
        const double *to = is_wrapped(tree, i) ? vertex_tan : centre_tan;
        cri_vec3 d_tan = cri_v3_sub(cri_v3_load(to + 3 * (size_t)f), c_tan);
        radius_tan[i] = cri_v3_dot(outward(tree, vertex, i), d_tan);
        if (!is_wrapped(tree, i)) {
            radius_tan[i] += radius_tan[f];
        }
    }
}
