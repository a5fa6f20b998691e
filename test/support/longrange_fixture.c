// SPDX-License-Identifier: MIT

#include "longrange_fixture.h"

#include "base/arena.h"
#include "geometry/mesh/hull.h"
#include "geometry/mesh/triangle_pair.h"
#include "narrow_fixture.h"

#include <string.h>

const double fixture_reference_pair[18] = {0.2,  0.1, 0.5, 0.9, -0.2, 0.8,  0.1, 0.7,  0.6,
                                           -0.3, 0.2, 0.1, 0.8, 0.3,  -0.2, 0.2, -0.6, 0.15};

void fixture_triangles(cr_test_rng *rng, double gap, cri_vec3 x[6]) {
    double low = INFINITY, high = -INFINITY;
    for (int k = 0; k < 6; k++) {
        // one after the other: arguments have no order
        double u[3];
        for (int i = 0; i < 3; i++) {
            u[i] = cr_test_uniform(rng, -1, 1);
        }
        x[k] = cri_v3_load(u);
        low = fmin(low, k < 3 ? x[k].z : INFINITY);
        high = fmax(high, k < 3 ? -INFINITY : x[k].z);
    }
    // apart by some height, then along the closest points to the gap
    for (int k = 0; k < 6; k++) {
        x[k].z += k < 3 ? 0.1 - low : -high;
    }
    cri_triangle_gap near = cri_triangle_closest(x, x + 3);
    cri_vec3 d = cri_v3_sub(near.a, near.b);
    double angle = cr_test_uniform(rng, 0, 3);
    cri_mat3 turn = fixture_turn(cri_v3_scale(angle, fixture_direction(rng)));
    for (int k = 0; k < 6; k++) {
        double move = k < 3 ? gap / near.distance - 1.0 : 0.0;
        x[k] = cri_m3_mul(&turn, cri_v3_mad(x[k], move, d));
    }
}

void fixture_box(double x, double y, double z, fixture_mesh *out) {
    static const int triangle[36] = {0, 1, 3, 0, 3, 2, 4, 6, 7, 4, 7, 5, 0, 4, 5, 0, 5, 1,
                                     2, 3, 7, 2, 7, 6, 0, 2, 6, 0, 6, 4, 1, 5, 7, 1, 7, 3};
    out->n_vertex = 8;
    out->n_triangle = 12;
    memcpy(out->triangle, triangle, sizeof triangle);
    for (int i = 0; i < 8; i++) {
        cri_v3_store(cri_v3(i & 4 ? 0.5 * x : -0.5 * x, i & 2 ? 0.5 * y : -0.5 * y,
                            i & 1 ? 0.5 * z : -0.5 * z),
                     out->vertex + 3 * i);
    }
}

void fixture_ball(int n, double radius, fixture_mesh *out) {
    const double golden = 2.39996322972865332; // angle, pi (3 - sqrt 5)
    for (int i = 0; i < n; i++) {
        double z = 1.0 - (2.0 * i + 1.0) / n;
        double r = radius * sqrt(1.0 - z * z);
        cri_v3_store(cri_v3(r * cos(golden * i), r * sin(golden * i), radius * z),
                     out->vertex + 3 * i);
    }
    cr_arena *arena = cri_arena_create(1 << 20);
    const cri_hull *hull = NULL;
    cr_error err;
    bool is_made = arena && cri_hull_build(n, out->vertex, arena, &hull, &err) == CR_OK;
    CHECK(is_made);
    out->n_vertex = n;
    out->n_triangle = 0;
    for (int f = 0; is_made && f < hull->n_face; f++) {
        // fans, should a face have more than three corners; vertices keep their places in the hull
        const int *v = hull->face_vertex + hull->face_start[f];
        int n_corner = hull->face_start[f + 1] - hull->face_start[f];
        for (int k = 2; k < n_corner; k++) {
            int *t = out->triangle + 3 * out->n_triangle++;
            t[0] = v[0];
            t[1] = v[k - 1];
            t[2] = v[k];
        }
    }
    if (is_made) {
        CHECK_INT(hull->n_vertex, n);
        memcpy(out->vertex, hull->vertex, 3 * (size_t)n * sizeof *out->vertex);
    }
    cri_arena_destroy(arena);
}

void fixture_ring(int n_around, int n_section, double radius, double thickness, fixture_mesh *out) {
    const double turn = 6.28318530717958648;
    out->n_vertex = n_around * n_section;
    out->n_triangle = 0;
    for (int i = 0; i < n_around; i++) {
        for (int j = 0; j < n_section; j++) {
            double a = turn * i / n_around, b = turn * j / n_section;
            double r = radius + thickness * cos(b);
            cri_v3_store(cri_v3(r * cos(a), r * sin(a), thickness * sin(b)),
                         out->vertex + 3 * (size_t)(i * n_section + j));
            int right = (i + 1) % n_around, up = (j + 1) % n_section;
            const int v[4] = {i * n_section + j, right * n_section + j, right * n_section + up,
                              i * n_section + up};
            const int corner[6] = {v[0], v[1], v[2], v[0], v[2], v[3]};
            memcpy(out->triangle + 3 * (size_t)out->n_triangle, corner, sizeof corner);
            out->n_triangle += 2;
        }
    }
}

/// Moeller and Trumbore's test of the segment p, q against a triangle.
static bool pierces(cri_vec3 p, cri_vec3 q, const cri_vec3 t[3]) {
    cri_vec3 d = cri_v3_sub(q, p), e1 = cri_v3_sub(t[1], t[0]), e2 = cri_v3_sub(t[2], t[0]);
    cri_vec3 c = cri_v3_cross(d, e2), r = cri_v3_sub(p, t[0]);
    double det = cri_v3_dot(e1, c);
    if (det == 0.0) {
        return false;
    }
    cri_vec3 s = cri_v3_cross(r, e1);
    double u = cri_v3_dot(r, c) / det, v = cri_v3_dot(d, s) / det, w = cri_v3_dot(e2, s) / det;
    return u >= 0.0 && v >= 0.0 && u + v <= 1.0 && w >= 0.0 && w <= 1.0;
}

static void corners(const fixture_mesh *m, const double *v, int i, cri_vec3 t[3]) {
    for (int k = 0; k < 3; k++) {
        t[k] = cri_v3_load(v + 3 * (size_t)m->triangle[3 * i + k]);
    }
}

bool fixture_meshes_meet(const fixture_mesh *a, const double *va, const fixture_mesh *b,
                         const double *vb) {
    for (int i = 0; i < a->n_triangle * b->n_triangle; i++) {
        cri_vec3 s[3], t[3];
        corners(a, va, i / b->n_triangle, s);
        corners(b, vb, i % b->n_triangle, t);
        for (int k = 0; k < 3; k++) {
            if (pierces(s[k], s[(k + 1) % 3], t) || pierces(t[k], t[(k + 1) % 3], s)) {
                return true;
            }
        }
    }
    return false;
}

void fixture_world(const fixture_mesh *mesh, const cri_pose *pose, double *out) {
    for (int i = 0; i < mesh->n_vertex; i++) {
        cri_vec3 r = cri_m3_mul(&pose->R, cri_v3_load(mesh->vertex + 3 * (size_t)i));
        cri_v3_store(cri_v3_add(pose->pos, r), out + 3 * (size_t)i);
    }
}

cri_sphere_tree fixture_tree(cri_sphere_kind kind, const fixture_mesh *mesh, cr_arena *arena) {
    cri_sphere_tree tree = {0};
    cr_error err;
    CHECK_INT(cri_sphere_tree_build(kind, mesh->n_vertex, mesh->vertex, mesh->n_triangle,
                                    mesh->triangle, arena, &tree, &err),
              CR_OK);
    return tree;
}

cri_pose fixture_pose(cri_vec3 w, cri_vec3 t) {
    return (cri_pose){t, fixture_turn(w)};
}

cri_pose fixture_moved(const cri_pose *pose, const double x[6]) {
    cri_mat3 turn = fixture_turn(cri_v3_load(x));
    return (cri_pose){cri_v3_add(pose->pos, cri_v3_load(x + 3)), cri_m3_product(&turn, &pose->R)};
}
