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
//
// Adjoint: K that of C, six numbers; q(u) = sum of K_ij u_i u_j and dq its gradient; m = int x:
//
//   V_adj += -c_adj . c/V + q(c)      m_adj = c_adj/V - dq(c)
//   vol_adj = V_adj + m_adj . s/4 + (q(a) + q(b) + q(c) + q(s))/20
//   a_adj += vol_adj/6 (b x c) + vol (m_adj/4 + (dq(a) + dq(s))/20), and cyclically

#include "geometry/mesh/hull.h"

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

bool cri_mesh_is_closed(int n_face, const int *face, int open[2]) {
    int bad[2] = {-1, -1};
    side *sides = malloc(3 * (size_t)n_face * sizeof *sides + 1);
    size_t n = 0;
    for (int f = 0; f < n_face && sides; f++) {
        const int *v = face + 3 * (size_t)f;
        for (int k = 0; k < 3 && !is_degenerate(v); k++) {
            sides[n++] = (side){v[k], v[(k + 1) % 3]};
        }
    }
    bool is_good = n > 0;
    if (sides) {
        qsort(sides, n, sizeof *sides, compare_sides);
    }
    for (size_t i = 0; i < n && is_good; i++) {
        const side back = {sides[i].to, sides[i].from};
        is_good = (i == 0 || compare_sides(&sides[i - 1], &sides[i]) != 0) &&
                  bsearch(&back, sides, n, sizeof back, compare_sides);
        if (!is_good) {
            bad[0] = sides[i].from;
            bad[1] = sides[i].to;
        }
    }
    free(sides);
    if (open) {
        memcpy(open, bad, sizeof bad);
    }
    return is_good;
}

// volume, first and second moments (xx yy zz xy xz yz) about o
typedef struct moments {
    double volume;
    cri_vec3 first;
    double second[6];
} moments;

static void add_tetrahedron(cri_vec3 a, cri_vec3 b, cri_vec3 c, moments *m) {
    double volume = cri_v3_dot(a, cri_v3_cross(b, c)) / 6.0;
    cri_vec3 s = cri_v3_add(a, cri_v3_add(b, c));
    m->volume += volume;
    m->first = cri_v3_mad(m->first, volume / 4.0, s);
    cri_sym_add_square(volume / 20.0, a, m->second);
    cri_sym_add_square(volume / 20.0, b, m->second);
    cri_sym_add_square(volume / 20.0, c, m->second);
    cri_sym_add_square(volume / 20.0, s, m->second);
}

static cri_vec3 mean_vertex(int n_vertex, const double *vertex) {
    cri_vec3 o = cri_v3(0, 0, 0);
    for (int i = 0; i < n_vertex; i++) {
        o = cri_v3_mad(o, 1.0 / n_vertex, cri_v3_load(vertex + 3 * (size_t)i));
    }
    return o;
}

static moments moments_about(cri_vec3 o, const double *vertex, int n_face, const int *face) {
    moments m = {0};
    for (int f = 0; f < n_face; f++) {
        cri_vec3 corner[3];
        for (int k = 0; k < 3; k++) {
            size_t v = (size_t)face[3 * (size_t)f + (size_t)k];
            corner[k] = cri_v3_sub(cri_v3_load(vertex + 3 * v), o);
        }
        add_tetrahedron(corner[0], corner[1], corner[2], &m);
    }
    return m;
}

static void inertia_of(const double C[6], double inertia[6]) {
    inertia[0] = C[1] + C[2];
    inertia[1] = C[0] + C[2];
    inertia[2] = C[0] + C[1];
    inertia[3] = -C[3];
    inertia[4] = -C[4];
    inertia[5] = -C[5];
}

bool cri_mesh_integrals(int n_vertex, const double *vertex, int n_face, const int *face,
                        cri_mesh_mass *out) {
    CR_ASSERT(n_vertex > 0 && n_face > 0 && out);
    *out = (cri_mesh_mass){0};
    for (size_t i = 0; i < 3 * (size_t)n_face; i++) {
        CR_ASSERT(face[i] >= 0 && face[i] < n_vertex);
    }
    cri_vec3 o = mean_vertex(n_vertex, vertex);
    moments m = moments_about(o, vertex, n_face, face);
    if (m.volume == 0.0 || !isfinite(m.volume)) {
        return false;
    }
    cri_vec3 centre = cri_v3_scale(1.0 / m.volume, m.first);
    cri_sym_add_square(-m.volume, centre, m.second);
    out->volume = m.volume;
    cri_v3_store(cri_v3_add(o, centre), out->centre);
    inertia_of(m.second, out->inertia);
    return cri_all_finite(6, out->inertia);
}

// q(u)
static double form(const double K[6], cri_vec3 u) {
    return u.x * (K[0] * u.x + K[3] * u.y + K[4] * u.z) + u.y * (K[1] * u.y + K[5] * u.z) +
           K[2] * u.z * u.z;
}

static cri_vec3 form_slope(const double K[6], cri_vec3 u) {
    return cri_v3(2.0 * K[0] * u.x + K[3] * u.y + K[4] * u.z,
                  K[3] * u.x + 2.0 * K[1] * u.y + K[5] * u.z,
                  K[4] * u.x + K[5] * u.y + 2.0 * K[2] * u.z);
}

void cri_mesh_integrals_vjp(int n_vertex, const double *vertex, int n_face, const int *face,
                            const cri_mesh_mass *adj, double *vertex_adj) {
    // the sum does not depend on o
    cri_vec3 o = mean_vertex(n_vertex, vertex);
    moments m = moments_about(o, vertex, n_face, face);
    double K[6];
    inertia_of(adj->inertia, K); // the map is its own transpose
    cri_vec3 centre = cri_v3_scale(1.0 / m.volume, m.first), c_adj = cri_v3_load(adj->centre);
    double volume_adj = adj->volume - cri_v3_dot(c_adj, centre) / m.volume + form(K, centre);
    cri_vec3 first_adj = cri_v3_sub(cri_v3_scale(1.0 / m.volume, c_adj), form_slope(K, centre));
    for (int f = 0; f < n_face; f++) {
        cri_vec3 x[3];
        double sum = 0.0;
        for (int k = 0; k < 3; k++) {
            size_t v = (size_t)face[3 * (size_t)f + (size_t)k];
            x[k] = cri_v3_sub(cri_v3_load(vertex + 3 * v), o);
            sum += form(K, x[k]);
        }
        cri_vec3 s = cri_v3_add(x[0], cri_v3_add(x[1], x[2]));
        double volume = cri_v3_dot(x[0], cri_v3_cross(x[1], x[2])) / 6.0;
        double own = volume_adj + 0.25 * cri_v3_dot(first_adj, s) + (sum + form(K, s)) / 20.0;
        cri_vec3 both = cri_v3_mad(cri_v3_scale(0.25, first_adj), 0.05, form_slope(K, s));
        for (int k = 0; k < 3; k++) {
            cri_vec3 area = cri_v3_cross(x[(k + 1) % 3], x[(k + 2) % 3]);
            cri_vec3 moved = cri_v3_mad(both, 0.05, form_slope(K, x[k]));
            cri_v3_accumulate(cri_v3_mad(cri_v3_scale(own / 6.0, area), volume, moved),
                              vertex_adj + 3 * (size_t)face[3 * (size_t)f + (size_t)k]);
        }
    }
}

// second moments of u moved along t
static void add_moved_products(double weight, cri_vec3 u, cri_vec3 t, double *second) {
    second[0] += weight * 2.0 * u.x * t.x;
    second[1] += weight * 2.0 * u.y * t.y;
    second[2] += weight * 2.0 * u.z * t.z;
    second[3] += weight * (u.x * t.y + u.y * t.x);
    second[4] += weight * (u.x * t.z + u.z * t.x);
    second[5] += weight * (u.y * t.z + u.z * t.y);
}

static void add_moved(const cri_vec3 x[3], const cri_vec3 x_tan[3], moments *tan) {
    double volume = cri_v3_dot(x[0], cri_v3_cross(x[1], x[2])) / 6.0, volume_tan = 0.0;
    cri_vec3 s = cri_v3_add(x[0], cri_v3_add(x[1], x[2]));
    cri_vec3 s_tan = cri_v3_add(x_tan[0], cri_v3_add(x_tan[1], x_tan[2]));
    for (int k = 0; k < 3; k++) {
        cri_vec3 area = cri_v3_cross(x[(k + 1) % 3], x[(k + 2) % 3]);
        volume_tan += cri_v3_dot(area, x_tan[k]) / 6.0;
    }
    tan->volume += volume_tan;
    tan->first = cri_v3_mad(tan->first, 0.25 * volume_tan, s);
    tan->first = cri_v3_mad(tan->first, 0.25 * volume, s_tan);
    for (int k = 0; k < 3; k++) {
        cri_sym_add_square(volume_tan / 20.0, x[k], tan->second);
        add_moved_products(volume / 20.0, x[k], x_tan[k], tan->second);
    }
    cri_sym_add_square(volume_tan / 20.0, s, tan->second);
    add_moved_products(volume / 20.0, s, s_tan, tan->second);
}

cri_mesh_mass cri_mesh_integrals_jvp(int n_vertex, const double *vertex, int n_face,
                                     const int *face, const double *vertex_tan) {
    cri_vec3 o = mean_vertex(n_vertex, vertex);
    moments m = moments_about(o, vertex, n_face, face), tan = {0};
    for (int f = 0; f < n_face; f++) {
        cri_vec3 x[3], x_tan[3];
        for (int k = 0; k < 3; k++) {
            size_t v = (size_t)face[3 * (size_t)f + (size_t)k];
            x[k] = cri_v3_sub(cri_v3_load(vertex + 3 * v), o);
            x_tan[k] = cri_v3_load(vertex_tan + 3 * v);
        }
        add_moved(x, x_tan, &tan);
    }
    cri_vec3 centre = cri_v3_scale(1.0 / m.volume, m.first);
    cri_vec3 c_tan = cri_v3_scale(1.0 / m.volume, cri_v3_mad(tan.first, -tan.volume, centre));
    cri_sym_add_square(-tan.volume, centre, tan.second);
    add_moved_products(-m.volume, centre, c_tan, tan.second);
    cri_mesh_mass out = {.volume = tan.volume};
    cri_v3_store(c_tan, out.centre);
    inertia_of(tan.second, out.inertia);
    return out;
}

bool cri_mesh_mass_of(int n_vertex, const double *vertex, int n_face, const int *face,
                      cri_mesh_mass *out) {
    CR_ASSERT(n_vertex >= 0 && n_face >= 0 && out);
    *out = (cri_mesh_mass){0};
    if (n_vertex < 4 || n_face < 4 || !cri_mesh_is_closed(n_face, face, NULL) ||
        !cri_mesh_integrals(n_vertex, vertex, n_face, face, out)) {
        return false;
    }
    if (!(out->volume > 0.0)) {
        *out = (cri_mesh_mass){0};
        return false;
    }
    return true;
}

// J + V (|c|^2 - c c')
cri_mesh_mass cri_mesh_mass_at_origin(const cri_mesh_mass *mass) {
    double C[6] = {0}, moved[6];
    cri_mesh_mass out = *mass;
    cri_sym_add_square(mass->volume, cri_v3_load(mass->centre), C);
    inertia_of(C, moved);
    for (int k = 0; k < 6; k++) {
        out.inertia[k] += moved[k];
    }
    return out;
}

void cri_mesh_mass_at_origin_vjp(const cri_mesh_mass *mass, const cri_mesh_mass *adj,
                                 cri_mesh_mass *mass_adj) {
    double K[6];
    inertia_of(adj->inertia, K);
    cri_vec3 c = cri_v3_load(mass->centre);
    mass_adj->volume += adj->volume + form(K, c);
    cri_v3_accumulate(cri_v3_mad(cri_v3_load(adj->centre), mass->volume, form_slope(K, c)),
                      mass_adj->centre);
    for (int k = 0; k < 6; k++) {
        mass_adj->inertia[k] += adj->inertia[k];
    }
}
