// SPDX-License-Identifier: MIT
//
// Exact mass integrals of closed triangle meshes.
//
// The body is the signed sum of tetrahedra from a reference point o to the triangles a, b, c (all
// relative to o, s = a + b + c):
//
//   V = det(a b c)/6      int x = V s/4      int x x' = V (a a' + b b' + c c' + s s')/20
//
// which are exact for polynomials of these degrees, and o drops out when the mesh is closed: every
// side occurs once in each direction. o is the mean vertex, so that a mesh far from its origin
// loses nothing. The inertia about the centre is (tr C) 1 - C, C = int x x' - V c c'.

#include "geometry/hull.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct side {
    int from, to;
} side;

static int compare_sides(const void *left, const void *right) {
    const side *a = left;
    const side *b = right;
    int order = (a->from > b->from) - (a->from < b->from);
    return order ? order : (a->to > b->to) - (a->to < b->to);
}

static bool is_degenerate(const int *face) {
    return face[0] == face[1] || face[1] == face[2] || face[2] == face[0];
}

// every side once in each direction; also false for lack of memory
static bool is_closed(int n_face, const int *face) {
    side *sides = malloc(3 * (size_t)n_face * sizeof *sides);
    if (!sides) {
        return false;
    }
    int n = 0;
    for (int f = 0; f < n_face; f++) {
        const int *v = face + 3 * f;
        for (int k = 0; k < 3 && !is_degenerate(v); k++) {
            sides[n++] = (side){v[k], v[(k + 1) % 3]};
        }
    }
    qsort(sides, (size_t)n, sizeof *sides, compare_sides);
    bool is_good = n > 0;
    for (int i = 0; i < n && is_good; i++) {
        const side back = {sides[i].to, sides[i].from};
        is_good = (i == 0 || compare_sides(&sides[i - 1], &sides[i]) != 0) &&
                  bsearch(&back, sides, (size_t)n, sizeof back, compare_sides);
    }
    free(sides);
    return is_good;
}

// volume, first and second moments (xx yy zz xy xz yz) about o
typedef struct moments {
    double volume;
    cri_vec3 first;
    double second[6];
} moments;

static void add_products(double weight, cri_vec3 a, double *second) {
    second[0] += weight * a.x * a.x;
    second[1] += weight * a.y * a.y;
    second[2] += weight * a.z * a.z;
    second[3] += weight * a.x * a.y;
    second[4] += weight * a.x * a.z;
    second[5] += weight * a.y * a.z;
}

static void add_tetrahedron(cri_vec3 a, cri_vec3 b, cri_vec3 c, moments *m) {
    double volume = cri_v3_dot(a, cri_v3_cross(b, c)) / 6.0;
    cri_vec3 s = cri_v3_add(a, cri_v3_add(b, c));
    m->volume += volume;
    m->first = cri_v3_mad(m->first, volume / 4.0, s);
    add_products(volume / 20.0, a, m->second);
    add_products(volume / 20.0, b, m->second);
    add_products(volume / 20.0, c, m->second);
    add_products(volume / 20.0, s, m->second);
}

bool cri_mesh_mass_of(int n_vertex, const double *vertex, int n_face, const int *face,
                      cri_mesh_mass *out) {
    CR_ASSERT(n_vertex >= 0 && n_face >= 0 && out);
    *out = (cri_mesh_mass){0};
    if (n_vertex < 4 || n_face < 4 || !is_closed(n_face, face)) {
        return false;
    }
    cri_vec3 o = cri_v3(0, 0, 0);
    for (int i = 0; i < n_vertex; i++) {
        o = cri_v3_mad(o, 1.0 / n_vertex, cri_v3_load(vertex + 3 * i));
    }
    moments m = {0};
    for (int f = 0; f < n_face; f++) {
        cri_vec3 corner[3];
        for (int k = 0; k < 3; k++) {
            CR_ASSERT(face[3 * f + k] >= 0 && face[3 * f + k] < n_vertex);
            corner[k] = cri_v3_sub(cri_v3_load(vertex + 3 * face[3 * f + k]), o);
        }
        add_tetrahedron(corner[0], corner[1], corner[2], &m);
    }
    if (!(m.volume > 0.0) || !isfinite(m.volume)) {
        return false;
    }

    cri_vec3 centre = cri_v3_scale(1.0 / m.volume, m.first);
    double *C = m.second;
    add_products(-m.volume, centre, C);
    out->volume = m.volume;
    cri_v3_store(cri_v3_add(o, centre), out->centre);
    const double inertia[6] = {C[1] + C[2], C[0] + C[2], C[0] + C[1], -C[3], -C[4], -C[5]};
    memcpy(out->inertia, inertia, sizeof inertia);
    return cri_all_finite(6, out->inertia);
}
