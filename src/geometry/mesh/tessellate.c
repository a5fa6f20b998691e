// SPDX-License-Identifier: MIT
//
// Sphere: the octahedron |x| + |y| + |z| = n with its faces cut n times, pushed out to the sphere;
// 4 n^2 + 2 vertices, 8 n^2 triangles, n = 4. A capsule has two halves of it and a strip between
// their rims; a cylinder two fans and a strip, over 16 corners.
//
//   vertex = fixed + slope size: a sphere's slope is its unit vector for the radius, a box's the
//   signs of its corner, an ellipsoid's the unit vector entry by entry

#include "geometry/mesh/tessellate.h"

#include <string.h>

enum { CUT = 4, RIM = 16 };

/// A surface in the making; room for the largest of the round shapes.
typedef struct maker {
    int n_vertex, n_triangle;
    int key[160][4]; // lattice point and half of each vertex
    double slope[160][9];
    int triangle[160][3];
} maker;

static void set_slope(cri_shape_kind kind, const int p[3], int half, double slope[9]) {
    double length = sqrt((double)(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]));
    for (int c = 0; c < 3; c++) {
        double u = p[c] / length;
        slope[3 * c + (kind == CRI_SHAPE_ELLIPSOID ? c : 0)] = u;
    }
    if (kind == CRI_SHAPE_CAPSULE) {
        slope[7] = half;
    }
}

// the vertex at a lattice point; a capsule has one for each half on its rim
static int vertex_at(maker *m, cri_shape_kind kind, const int p[3], int half) {
    const int key[4] = {p[0], p[1], p[2], kind == CRI_SHAPE_CAPSULE ? half : 0};
    for (int i = 0; i < m->n_vertex; i++) {
        if (memcmp(m->key[i], key, sizeof key) == 0) {
            return i;
        }
    }
    CR_ASSERT(m->n_vertex < 160);
    memcpy(m->key[m->n_vertex], key, sizeof key);
    set_slope(kind, p, half, m->slope[m->n_vertex]);
    return m->n_vertex++;
}

static void add_triangle(maker *m, int a, int b, int c, bool is_turned) {
    int *t = m->triangle[m->n_triangle++];
    CR_ASSERT(m->n_triangle <= 160);
    t[0] = a;
    t[1] = is_turned ? c : b;
    t[2] = is_turned ? b : c;
}

// one triangle of the octant with these signs; (i, j) is its corner nearest to the z axis
static void add_cell(maker *m, cri_shape_kind kind, const int s[3], int i, int j, bool is_upper) {
    int corner[3];
    const int step[2][3][2] = {{{0, 0}, {1, 0}, {0, 1}}, {{1, 0}, {1, 1}, {0, 1}}};
    for (int k = 0; k < 3; k++) {
        int x = i + step[is_upper][k][0], y = j + step[is_upper][k][1];
        const int p[3] = {s[0] * x, s[1] * y, s[2] * (CUT - x - y)};
        corner[k] = vertex_at(m, kind, p, s[2]);
    }
    add_triangle(m, corner[0], corner[1], corner[2], s[0] * s[1] * s[2] < 0);
}

static void make_ball(maker *m, cri_shape_kind kind) {
    for (int octant = 0; octant < 8; octant++) {
        const int s[3] = {octant & 1 ? -1 : 1, octant & 2 ? -1 : 1, octant & 4 ? -1 : 1};
        for (int i = 0; i < CUT; i++) {
            for (int j = 0; i + j < CUT; j++) {
                add_cell(m, kind, s, i, j, false);
                if (i + j < CUT - 1) {
                    add_cell(m, kind, s, i, j, true);
                }
            }
        }
    }
}

// lattice point number k of the equator, counterclockwise
static void rim_point(int k, int p[3]) {
    int turn = k / CUT, r = k % CUT;
    const int x[4] = {CUT - r, -r, r - CUT, r}, y[4] = {r, CUT - r, -r, r - CUT};
    p[0] = x[turn % 4];
    p[1] = y[turn % 4];
    p[2] = 0;
}

static void make_capsule(maker *m) {
    make_ball(m, CRI_SHAPE_CAPSULE);
    for (int k = 0; k < 4 * CUT; k++) {
        int p[3], q[3];
        rim_point(k, p);
        rim_point((k + 1) % (4 * CUT), q);
        int a = vertex_at(m, CRI_SHAPE_CAPSULE, p, -1), b = vertex_at(m, CRI_SHAPE_CAPSULE, q, -1);
        int c = vertex_at(m, CRI_SHAPE_CAPSULE, q, 1), d = vertex_at(m, CRI_SHAPE_CAPSULE, p, 1);
        add_triangle(m, a, b, c, false);
        add_triangle(m, a, c, d, false);
    }
}

static void make_cylinder(maker *m) {
    const double pi = 3.14159265358979323846;
    for (int side = 0; side < 2; side++) {
        for (int k = 0; k < RIM; k++) {
            double *slope = m->slope[m->n_vertex++];
            slope[0] = cos(2.0 * pi * k / RIM);
            slope[3] = sin(2.0 * pi * k / RIM);
            slope[7] = side ? 1.0 : -1.0;
        }
    }
    for (int side = 0; side < 2; side++) {
        int middle = m->n_vertex++;
        m->slope[middle][7] = side ? 1.0 : -1.0;
        for (int k = 0; k < RIM; k++) {
            add_triangle(m, middle, side * RIM + k, side * RIM + (k + 1) % RIM, side == 0);
        }
    }
    for (int k = 0; k < RIM; k++) {
        int next = (k + 1) % RIM;
        add_triangle(m, k, next, RIM + next, false);
        add_triangle(m, k, RIM + next, RIM + k, false);
    }
}

static void make_box(maker *m) {
    // corner: bits 2, 1, 0 are x, y, z
    static const int face[12][3] = {{0, 1, 3}, {0, 3, 2}, {4, 6, 7}, {4, 7, 5},
                                    {0, 4, 5}, {0, 5, 1}, {2, 3, 7}, {2, 7, 6},
                                    {0, 2, 6}, {0, 6, 4}, {1, 5, 7}, {1, 7, 3}};
    for (int i = 0; i < 8; i++) {
        double *slope = m->slope[m->n_vertex++];
        slope[0] = i & 4 ? 1.0 : -1.0;
        slope[4] = i & 2 ? 1.0 : -1.0;
        slope[8] = i & 1 ? 1.0 : -1.0;
    }
    for (int i = 0; i < 12; i++) {
        add_triangle(m, face[i][0], face[i][1], face[i][2], false);
    }
}

static bool has_area(const cri_mesh_view *mesh, const int *t) {
    cri_vec3 x[3];
    for (int k = 0; k < 3; k++) {
        x[k] = cri_v3_load(mesh->vertex + 3 * (size_t)t[k]);
    }
    cri_vec3 e = cri_v3_sub(x[1], x[0]), f = cri_v3_sub(x[2], x[0]);
    double size = cri_v3_norm(e) + cri_v3_norm(f);
    // below this, rounding decides where the corners are
    return cri_v3_norm(cri_v3_cross(e, f)) > 1e-14 * size * size;
}

int cri_mesh_count_flat(const cri_mesh_view *mesh) {
    int n = 0;
    for (int i = 0; i < mesh->n_triangle; i++) {
        n += !has_area(mesh, mesh->triangle + 3 * (size_t)i);
    }
    return n;
}

static cr_status take_mesh(const cri_mesh_view *mesh, cr_arena *arena, cri_tessellation *out,
                           cr_error *err) {
    int *triangle = CR_PUSH(arena, int, 3 * (size_t)mesh->n_triangle);
    if (!triangle) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
    }
    int n = 0;
    for (int i = 0; i < mesh->n_triangle; i++) {
        const int *t = mesh->triangle + 3 * (size_t)i;
        if (has_area(mesh, t)) {
            memcpy(triangle + 3 * (size_t)n++, t, 3 * sizeof *t);
        }
    }
    *out = (cri_tessellation){mesh->n_vertex, n, 0, mesh->vertex, NULL, triangle};
    if (n == 0) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "all %d triangles are without area",
                        mesh->n_triangle);
    }
    return CR_OK;
}

cr_status cri_tessellate(cri_shape_kind kind, const cri_mesh_view *mesh, cr_arena *arena,
                         cri_tessellation *out, cr_error *err) {
    static const int n_size[CRI_N_SHAPE] = {1, 1, 2, 3, 2, 3, 0};
    CR_ASSERT(kind != CRI_SHAPE_PLANE && arena && out);
    if (kind == CRI_SHAPE_MESH) {
        CR_ASSERT(mesh);
        return take_mesh(mesh, arena, out, err);
    }
    maker m;
    memset(&m, 0, sizeof m);
    if (kind == CRI_SHAPE_BOX) {
        make_box(&m);
    } else if (kind == CRI_SHAPE_CYLINDER) {
        make_cylinder(&m);
    } else if (kind == CRI_SHAPE_CAPSULE) {
        make_capsule(&m);
    } else {
        make_ball(&m, kind);
    }
    double *slope = CR_PUSH_RAW(arena, double, 9 * m.n_vertex);
    int *triangle = CR_PUSH_RAW(arena, int, 3 * m.n_triangle);
    if (!slope || !triangle) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
    }
    memcpy(slope, m.slope, sizeof *slope * 9 * (size_t)m.n_vertex);
    memcpy(triangle, m.triangle, sizeof *triangle * 3 * (size_t)m.n_triangle);
    *out = (cri_tessellation){m.n_vertex, m.n_triangle, n_size[kind], NULL, slope, triangle};
    return CR_OK;
}

void cri_tessellation_place(const cri_tessellation *t, const double *size, const cri_pose *frame,
                            double *vertex) {
    for (size_t i = 0; i < (size_t)t->n_vertex; i++) {
        double x[3] = {0.0, 0.0, 0.0};
        for (int c = 0; c < 3; c++) {
            x[c] = t->fixed ? t->fixed[3 * i + (size_t)c] : 0.0;
            for (int s = 0; s < t->n_size; s++) {
                x[c] += t->slope[9 * i + 3 * (size_t)c + (size_t)s] * size[s];
            }
        }
        cri_vec3 turned = cri_m3_mul(&frame->R, cri_v3_load(x));
        cri_v3_store(cri_v3_add(frame->pos, turned), vertex + 3 * i);
    }
}

void cri_tessellation_place_vjp(const cri_tessellation *t, const cri_pose *frame,
                                const double *vertex_adj, double *size_adj) {
    for (size_t i = 0; t->n_size > 0 && i < (size_t)t->n_vertex; i++) {
        double x_adj[3];
        cri_v3_store(cri_m3_tmul(&frame->R, cri_v3_load(vertex_adj + 3 * i)), x_adj);
        for (int k = 0; k < 9; k++) {
            if (k % 3 < t->n_size) {
                size_adj[k % 3] += t->slope[9 * i + (size_t)k] * x_adj[k / 3];
            }
        }
    }
}

void cri_tessellation_place_jvp(const cri_tessellation *t, const cri_pose *frame,
                                const double *size_tan, double *vertex_tan) {
    for (size_t i = 0; i < (size_t)t->n_vertex; i++) {
        double x_tan[3] = {0.0, 0.0, 0.0};
        for (int k = 0; k < 3 * t->n_size; k++) {
            int c = k / t->n_size, s = k % t->n_size;
            x_tan[c] += t->slope[9 * i + 3 * (size_t)c + (size_t)s] * size_tan[s];
        }
        cri_v3_store(cri_m3_mul(&frame->R, cri_v3_load(x_tan)), vertex_tan + 3 * i);
    }
}
