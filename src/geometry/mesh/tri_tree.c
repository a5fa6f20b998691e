// SPDX-License-Identifier: MIT
//
// A tree of boxes, halved at the median along their longest side.
//
// Winding number of a triangle with corners a, b, c seen from x (van Oosterom, Strackee 1983):
//
//   w = atan2(a.(b x c), |a||b||c| + (a.b)|c| + (b.c)|a| + (c.a)|b|)/(2 pi)
//
// and of a node that is more than twice its radius away, with area vector A at p (Barill et al.
// 2018): w = A.(p - x)/(4 pi |p - x|^3).

#include "geometry/mesh/tri_tree.h"

#include "base/arena.h"
#include "base/random.h"
#include "geometry/field/grid.h"

#include <math.h>
#include <string.h>

static const double far_ratio = 2.0; // distance over radius from which on a node is one dipole

typedef struct builder {
    const cri_triangles *mesh;
    const double *middle; // (n_face, 3)
    int *order;
    cri_tri_node *node;
    int n_node;
} builder;

// ---- building ----------------------------------------------------------------------------------

static void bound(const builder *b, int first, int n, cri_tri_node *node) {
    for (int a = 0; a < 3; a++) {
        node->lower[a] = INFINITY;
        node->upper[a] = -INFINITY;
    }
    for (int i = 0; i < 3 * n; i++) {
        double x[3];
        cri_v3_store(cri_triangle_corner(b->mesh, b->order[first + i / 3], i % 3), x);
        for (int a = 0; a < 3; a++) {
            node->lower[a] = fmin(node->lower[a], x[a]);
            node->upper[a] = fmax(node->upper[a], x[a]);
        }
    }
    node->centre =
        cri_v3_scale(0.5, cri_v3_add(cri_v3_load(node->lower), cri_v3_load(node->upper)));
    double most = 0.0;
    for (int i = 0; i < 3 * n; i++) {
        cri_vec3 x = cri_triangle_corner(b->mesh, b->order[first + i / 3], i % 3);
        cri_vec3 apart = cri_v3_sub(x, node->centre);
        most = fmax(most, cri_v3_dot(apart, apart));
    }
    node->radius = sqrt(most);
}

// puts the middle triangle of order[first, first + n) along axis in its place, smaller ones before
static void select_middle(const builder *b, int first, int n, int axis) {
    int *order = b->order;
    int low = first, high = first + n - 1, wanted = first + n / 2;
    while (low < high) {
        double pivot = b->middle[3 * (size_t)order[(low + high) / 2] + (size_t)axis];
        int i = low, j = high;
        while (i <= j) {
            while (b->middle[3 * (size_t)order[i] + (size_t)axis] < pivot) {
                i++;
            }
            while (b->middle[3 * (size_t)order[j] + (size_t)axis] > pivot) {
                j--;
            }
            if (i <= j) {
                int other = order[i];
                order[i++] = order[j];
                order[j--] = other;
            }
        }
        if (wanted <= j) {
            high = j;
        } else if (wanted >= i) {
            low = i;
        } else {
            return;
        }
    }
}

static int build_node(builder *b, int first, int n) {
    int at = b->n_node++;
    cri_tri_node *node = &b->node[at];
    bound(b, first, n, node);
    if (n <= CRI_TRI_LEAF) {
        node->first = first;
        node->n = n;
        return at;
    }
    int axis = 0;
    for (int a = 1; a < 3; a++) {
        if (node->upper[a] - node->lower[a] > node->upper[axis] - node->lower[axis]) {
            axis = a;
        }
    }
    select_middle(b, first, n, axis);
    build_node(b, first, n / 2);
    // the array does not move
    node->right = build_node(b, first + n / 2, n - n / 2);
    return at;
}

bool cri_tri_tree_build(const cri_triangles *mesh, cr_arena *arena, cr_arena *scratch,
                        cri_tri_tree *out) {
    CR_ASSERT(mesh && mesh->n_face > 0 && arena != scratch && out);
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    int n = mesh->n_face;
    // no leaf has fewer than two triangles but the only one of a single triangle
    builder b = {.mesh = mesh,
                 .order = CR_PUSH_RAW(arena, int, n),
                 .node = CR_PUSH(arena, cri_tri_node, n + 1)};
    double *middle = CR_PUSH_RAW(scratch, double, 3 * (size_t)n);
    bool is_good = b.order && b.node && middle;
    for (int f = 0; f < n && is_good; f++) {
        cri_vec3 sum = cri_v3(0.0, 0.0, 0.0);
        for (int k = 0; k < 3; k++) {
            sum = cri_v3_add(sum, cri_triangle_corner(mesh, f, k));
        }
        cri_v3_store(sum, middle + 3 * (size_t)f);
        b.order[f] = f;
    }
    if (is_good) {
        b.middle = middle;
        build_node(&b, 0, n);
        *out = (cri_tri_tree){.mesh = *mesh, .n_node = b.n_node, .node = b.node, .order = b.order};
    }
    cri_arena_rewind(scratch, mark);
    return is_good;
}

// ---- distance ----------------------------------------------------------------------------------

static double segment_distance2(cri_vec3 x, cri_vec3 a, cri_vec3 b) {
    cri_vec3 e = cri_v3_sub(b, a), d = cri_v3_sub(x, a);
    double ee = cri_v3_dot(e, e), t = ee > 0.0 ? cri_v3_dot(d, e) / ee : 0.0;
    d = cri_v3_mad(d, -cri_larger(0.0, cri_smaller(1.0, t)), e);
    return cri_v3_dot(d, d);
}

static double triangle_distance2(cri_vec3 x, const cri_vec3 c[3]) {
    cri_vec3 n = cri_v3_cross(cri_v3_sub(c[1], c[0]), cri_v3_sub(c[2], c[0]));
    double nn = cri_v3_dot(n, n), best = INFINITY;
    bool is_above = nn > 0.0;
    for (int k = 0; k < 3; k++) {
        cri_vec3 a = c[k], b = c[(k + 1) % 3];
        // beyond a side the side itself is nearest; a triangle without area has sides only
        bool is_in = cri_v3_dot(cri_v3_cross(cri_v3_sub(b, a), cri_v3_sub(x, a)), n) >= 0.0;
        if (!is_in || nn == 0.0) {
            best = cri_smaller(best, segment_distance2(x, a, b));
            is_above = false;
        }
    }
    if (is_above) {
        double height = cri_v3_dot(cri_v3_sub(x, c[0]), n);
        best = height * height / nn;
    }
    return best;
}

static double box_distance2(const cri_tri_node *node, const double *x) {
    double sum = 0.0;
    for (int a = 0; a < 3; a++) {
        double d = cri_larger(0.0, cri_larger(node->lower[a] - x[a], x[a] - node->upper[a]));
        sum += d * d;
    }
    return sum;
}

double cri_tri_tree_distance(const cri_tri_tree *tree, cri_vec3 x, double bound) {
    const double point[3] = {x.x, x.y, x.z};
    int stack[CRI_TRI_DEPTH], n = 1;
    double best = bound * bound;
    CR_ASSERT(tree->node && tree->order);
    stack[0] = 0;
    while (n > 0) {
        int at = stack[--n];
        const cri_tri_node *node = &tree->node[at];
        if (box_distance2(node, point) >= best) {
            continue;
        }
        for (int i = 0; i < node->n; i++) {
            int f = tree->order[node->first + i];
            cri_vec3 corner[3];
            for (int k = 0; k < 3; k++) {
                corner[k] = cri_triangle_corner(&tree->mesh, f, k);
            }
            best = cri_smaller(best, triangle_distance2(x, corner));
        }
        if (node->n == 0) {
            int near = at + 1, far = node->right;
            if (box_distance2(&tree->node[far], point) < box_distance2(&tree->node[near], point)) {
                near = node->right;
                far = at + 1;
            }
            CR_ASSERT(n + 2 <= CRI_TRI_DEPTH);
            stack[n++] = far;
            stack[n++] = near;
        }
    }
    return sqrt(best);
}

// ---- winding -----------------------------------------------------------------------------------

static cri_vec3 area_of(const cri_vec3 c[3]) {
    return cri_v3_scale(0.5, cri_v3_cross(cri_v3_sub(c[1], c[0]), cri_v3_sub(c[2], c[0])));
}

void cri_tri_tree_dipoles(const cri_tri_tree *tree, cri_tri_dipole *dipole) {
    // children stand behind their parents
    for (int at = tree->n_node - 1; at >= 0; at--) {
        const cri_tri_node *node = &tree->node[at];
        cri_tri_dipole *d = &dipole[at];
        cri_vec3 sum = cri_v3(0.0, 0.0, 0.0);
        double total = 0.0;
        d->area = sum;
        for (int i = 0; i < node->n; i++) {
            cri_vec3 c[3], middle = cri_v3(0.0, 0.0, 0.0);
            for (int k = 0; k < 3; k++) {
                c[k] = cri_triangle_corner(&tree->mesh, tree->order[node->first + i], k);
                middle = cri_v3_mad(middle, 1.0 / 3.0, c[k]);
            }
            cri_vec3 area = area_of(c);
            double size = cri_v3_norm(area);
            d->area = cri_v3_add(d->area, area);
            sum = cri_v3_mad(sum, size, middle);
            total += size;
        }
        for (int side = 0; side < 2 && node->n == 0; side++) {
            const cri_tri_dipole *child = &dipole[side ? node->right : at + 1];
            // a dipole keeps the sum of the areas in its radius until it is finished
            double size = child->radius;
            d->area = cri_v3_add(d->area, child->area);
            sum = cri_v3_mad(sum, size, child->centre);
            total += size;
        }
        d->centre = total > 0.0 ? cri_v3_scale(1.0 / total, sum) : node->centre;
        d->radius = total;
    }
    for (int at = 0; at < tree->n_node; at++) {
        const cri_tri_node *node = &tree->node[at];
        dipole[at].radius = node->radius + cri_v3_norm(cri_v3_sub(dipole[at].centre, node->centre));
    }
}

static double triangle_angle(cri_vec3 x, const cri_vec3 c[3]) {
    cri_vec3 a = cri_v3_sub(c[0], x), b = cri_v3_sub(c[1], x), d = cri_v3_sub(c[2], x);
    double la = cri_v3_norm(a), lb = cri_v3_norm(b), ld = cri_v3_norm(d);
    double below =
        la * lb * ld + cri_v3_dot(a, b) * ld + cri_v3_dot(b, d) * la + cri_v3_dot(d, a) * lb;
    return 2.0 * atan2(cri_v3_dot(a, cri_v3_cross(b, d)), below);
}

double cri_tri_tree_winding(const cri_tri_tree *tree, const cri_tri_dipole *dipole, cri_vec3 x) {
    const double full = 12.566370614359172; // 4 pi
    int stack[CRI_TRI_DEPTH], n = 1;
    double sum = 0.0;
    stack[0] = 0;
    while (n > 0) {
        int at = stack[--n];
        const cri_tri_node *node = &tree->node[at];
        cri_vec3 apart = cri_v3_sub(dipole[at].centre, x);
        double length = cri_v3_norm(apart);
        if (length > far_ratio * dipole[at].radius) {
            sum += cri_v3_dot(dipole[at].area, apart) / (length * length * length);
            continue;
        }
        for (int i = 0; i < node->n; i++) {
            cri_vec3 corner[3];
            for (int k = 0; k < 3; k++) {
                corner[k] = cri_triangle_corner(&tree->mesh, tree->order[node->first + i], k);
            }
            sum += triangle_angle(x, corner);
        }
        if (node->n == 0) {
            CR_ASSERT(n + 2 <= CRI_TRI_DEPTH);
            stack[n++] = node->right;
            stack[n++] = at + 1;
        }
    }
    return sum / full;
}

// ---- points over a mesh -------------------------------------------------------------------------

// Triangles by their share of the area, and within one
// p = a + (1 - sqrt u) (b - a) + v sqrt u (c - a) for u, v even in [0, 1] (Osada et al. 2002).

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
    cri_tri_tree tree = {0};
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
