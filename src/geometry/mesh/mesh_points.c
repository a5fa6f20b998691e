// SPDX-License-Identifier: MIT
//
// Points over a mesh: triangles by their share of the area, and within one
// p = a + (1 - sqrt u) (b - a) + v sqrt u (c - a) for u, v even in [0, 1] (Osada et al. 2002).

#include "geometry/mesh/mesh_points.h"

#include "geometry/mesh/tri_tree.h"

#include <math.h>

static cri_vec3 area_vector(const cri_triangles *mesh, int f) {
    cri_vec3 a = cri_triangle_corner(mesh, f, 0);
    cri_vec3 ab = cri_v3_sub(cri_triangle_corner(mesh, f, 1), a);
    return cri_v3_scale(0.5, cri_v3_cross(ab, cri_v3_sub(cri_triangle_corner(mesh, f, 2), a)));
}

// the first triangle whose summed area is above x
static int find(int n, const double *sum, double x) {
    int low = 0, high = n - 1;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (sum[middle] > x) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

bool cri_mesh_points(const cri_triangles *mesh, int n, cri_random *stream, double *point,
                     double *normal, cr_arena *scratch) {
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *sum = CR_PUSH_RAW(scratch, double, mesh->n_face);
    double total = 0.0;
    for (int f = 0; sum && f < mesh->n_face; f++) {
        total += cri_v3_norm(area_vector(mesh, f));
        sum[f] = total;
    }
    bool is_good = sum && total > 0.0;
    for (int i = 0; is_good && i < n; i++) {
        int f = find(mesh->n_face, sum, cri_random_uniform(stream, 0.0, total));
        cri_vec3 a = cri_triangle_corner(mesh, f, 0), w = area_vector(mesh, f);
        cri_vec3 ab = cri_v3_sub(cri_triangle_corner(mesh, f, 1), a);
        cri_vec3 ac = cri_v3_sub(cri_triangle_corner(mesh, f, 2), a);
        double root = sqrt(cri_random_uniform(stream, 0.0, 1.0));
        double v = cri_random_uniform(stream, 0.0, 1.0);
        cri_vec3 p = cri_v3_mad(cri_v3_mad(a, 1.0 - root, ab), v * root, ac);
        cri_v3_store(p, point + 3 * (size_t)i);
        cri_v3_store(cri_v3_scale(1.0 / cri_v3_norm(w), w), normal + 3 * (size_t)i);
    }
    cri_arena_rewind(scratch, mark);
    return is_good;
}

// mean squared distance of a's vertices from b
static double one_way(const cri_triangles *a, const cri_triangles *b, cr_arena *scratch) {
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    cr_arena *own = cri_arena_create(1 << 16);
    cri_tri_tree tree;
    double sum = 0.0;
    if (!own || !cri_tri_tree_build(b, scratch, own, &tree)) {
        sum = NAN;
    }
    for (int i = 0; isfinite(sum) && i < a->n_vertex; i++) {
        double d = cri_tri_tree_distance(&tree, cri_v3_load(a->vertex + 3 * (size_t)i), INFINITY);
        sum += d * d / a->n_vertex;
    }
    cri_arena_destroy(own);
    cri_arena_rewind(scratch, mark);
    return sum;
}

double cri_mesh_chamfer(const cri_triangles *a, const cri_triangles *b, cr_arena *scratch) {
    return one_way(a, b, scratch) + one_way(b, a, scratch);
}
