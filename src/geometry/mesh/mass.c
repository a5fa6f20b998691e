// SPDX-License-Identifier: MIT
//
// Solids; closed meshes are below. Per unit density, with MJCF's sizes (r radius, h half length,
// a b c half sizes):
//
//   sphere      V = 4/3 pi r^3                   J = 8/15 pi r^5
//   capsule     V = 2 pi r^2 h + 4/3 pi r^3      Jx = pi (3/2 r^4 h + 2/3 r^2 h^3 + 4/3 r^3 h^2
//                                                         + 8/15 r^5),  Jz = pi (r^4 h + 8/15 r^5)
//   ellipsoid   V = 4/3 pi a b c                 Jx = V (b^2 + c^2)/5
//   cylinder    V = 2 pi r^2 h                   Jx = pi (r^4 h/2 + 2/3 r^2 h^3),  Jz = pi r^4 h
//   box         V = 8 a b c                      Jx = V (b^2 + c^2)/3
//
// All are sums of monomials, held in one table and differentiated by rule. Of several solids
//
//   m = sum m_i,  c = sum m_i c_i/m,  J = sum R_i J_i R_i' + m_i (|d|^2 - d d'),  d = c_i - c
//
//   m_i_adj = m_adj + c_adj . d/m + |d|^2 tr A - d . A d,     J_i_adj = R_i' A R_i
//
// with A the symmetric adjoint of J; J does not feel c, because sum m_i d = 0. Polynomials: smooth
// wherever there is mass. About the origin (Steiner): J + m (|c|^2 - c c').

#include "geometry/mesh/mass.h"

#include "base/base.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

/// coef times sizes to these powers, in moment 0 (volume), 1, 2 or 3.
typedef struct monomial {
    cri_shape_kind kind;
    int moment;
    double coef;
    int power[3];
} monomial;

static const monomial table[] = {
    {CRI_SHAPE_SPHERE, 0, 4.0 / 3.0 * PI, {3, 0, 0}},
    {CRI_SHAPE_SPHERE, 1, 8.0 / 15.0 * PI, {5, 0, 0}},
    {CRI_SHAPE_SPHERE, 2, 8.0 / 15.0 * PI, {5, 0, 0}},
    {CRI_SHAPE_SPHERE, 3, 8.0 / 15.0 * PI, {5, 0, 0}},
    {CRI_SHAPE_CAPSULE, 0, 2.0 * PI, {2, 1, 0}},
    {CRI_SHAPE_CAPSULE, 0, 4.0 / 3.0 * PI, {3, 0, 0}},
    {CRI_SHAPE_CAPSULE, 1, 1.5 * PI, {4, 1, 0}},
    {CRI_SHAPE_CAPSULE, 1, 2.0 / 3.0 * PI, {2, 3, 0}},
    {CRI_SHAPE_CAPSULE, 1, 4.0 / 3.0 * PI, {3, 2, 0}},
    {CRI_SHAPE_CAPSULE, 1, 8.0 / 15.0 * PI, {5, 0, 0}},
    {CRI_SHAPE_CAPSULE, 2, 1.5 * PI, {4, 1, 0}},
    {CRI_SHAPE_CAPSULE, 2, 2.0 / 3.0 * PI, {2, 3, 0}},
    {CRI_SHAPE_CAPSULE, 2, 4.0 / 3.0 * PI, {3, 2, 0}},
    {CRI_SHAPE_CAPSULE, 2, 8.0 / 15.0 * PI, {5, 0, 0}},
    {CRI_SHAPE_CAPSULE, 3, PI, {4, 1, 0}},
    {CRI_SHAPE_CAPSULE, 3, 8.0 / 15.0 * PI, {5, 0, 0}},
    {CRI_SHAPE_ELLIPSOID, 0, 4.0 / 3.0 * PI, {1, 1, 1}},
    {CRI_SHAPE_ELLIPSOID, 1, 4.0 / 15.0 * PI, {1, 3, 1}},
    {CRI_SHAPE_ELLIPSOID, 1, 4.0 / 15.0 * PI, {1, 1, 3}},
    {CRI_SHAPE_ELLIPSOID, 2, 4.0 / 15.0 * PI, {3, 1, 1}},
    {CRI_SHAPE_ELLIPSOID, 2, 4.0 / 15.0 * PI, {1, 1, 3}},
    {CRI_SHAPE_ELLIPSOID, 3, 4.0 / 15.0 * PI, {3, 1, 1}},
    {CRI_SHAPE_ELLIPSOID, 3, 4.0 / 15.0 * PI, {1, 3, 1}},
    {CRI_SHAPE_CYLINDER, 0, 2.0 * PI, {2, 1, 0}},
    {CRI_SHAPE_CYLINDER, 1, 0.5 * PI, {4, 1, 0}},
    {CRI_SHAPE_CYLINDER, 1, 2.0 / 3.0 * PI, {2, 3, 0}},
    {CRI_SHAPE_CYLINDER, 2, 0.5 * PI, {4, 1, 0}},
    {CRI_SHAPE_CYLINDER, 2, 2.0 / 3.0 * PI, {2, 3, 0}},
    {CRI_SHAPE_CYLINDER, 3, PI, {4, 1, 0}},
    {CRI_SHAPE_BOX, 0, 8.0, {1, 1, 1}},
    {CRI_SHAPE_BOX, 1, 8.0 / 3.0, {1, 3, 1}},
    {CRI_SHAPE_BOX, 1, 8.0 / 3.0, {1, 1, 3}},
    {CRI_SHAPE_BOX, 2, 8.0 / 3.0, {3, 1, 1}},
    {CRI_SHAPE_BOX, 2, 8.0 / 3.0, {1, 1, 3}},
    {CRI_SHAPE_BOX, 3, 8.0 / 3.0, {3, 1, 1}},
    {CRI_SHAPE_BOX, 3, 8.0 / 3.0, {1, 3, 1}},
};

/// One solid with unit density: volume, centre in the body, tensor about it in body axes.
typedef struct part {
    double volume;
    cri_vec3 centre;
    cri_mat3 J;
} part;

typedef struct side {
    int from, to;
} side;

// volume, first and second moments (xx yy zz xy xz yz) about o
typedef struct moments {
    double volume;
    cri_vec3 first;
    double second[6];
} moments;

// ---- solids -------------------------------------------------------------------------------------

static double power(double x, int n) {
    double y = 1.0;
    for (int i = 0; i < n; i++) {
        y *= x;
    }
    return y;
}

void cri_shape_moments(cri_shape_kind kind, const double *size, double m[4], double m_size[4][3]) {
    CR_VALIDATE(cri_all_finite(3, size));
    CR_ASSERT(kind != CRI_SHAPE_PLANE && kind != CRI_SHAPE_MESH && kind != CRI_SHAPE_FIELD);
    memset(m, 0, 4 * sizeof *m);
    if (m_size) {
        memset(m_size, 0, 12 * sizeof(double));
    }
    for (size_t k = 0; k < sizeof table / sizeof table[0]; k++) {
        const monomial *t = &table[k];
        if (t->kind != kind) {
            continue;
        }
        double f[3];
        for (int i = 0; i < 3; i++) {
            f[i] = power(size[i], t->power[i]);
        }
        m[t->moment] += t->coef * f[0] * f[1] * f[2];
        for (int i = 0; m_size && i < 3; i++) {
            if (t->power[i] > 0) {
                double other = f[(i + 1) % 3] * f[(i + 2) % 3];
                m_size[t->moment][i] +=
                    t->coef * t->power[i] * power(size[i], t->power[i] - 1) * other;
            }
        }
    }
}

/// A symmetric tensor as six numbers xx yy zz xy xz yz, and as a matrix.
static cri_mat3 tensor(const double *J) {
    return (cri_mat3){{J[0], J[3], J[4], J[3], J[1], J[5], J[4], J[5], J[2]}};
}

static void add_tensor(const cri_mat3 *T, double *J) {
    J[0] += T->m[0];
    J[1] += T->m[4];
    J[2] += T->m[8];
    J[3] += 0.5 * (T->m[1] + T->m[3]);
    J[4] += 0.5 * (T->m[2] + T->m[6]);
    J[5] += 0.5 * (T->m[5] + T->m[7]);
}

// R T R'
static cri_mat3 turned(const cri_mat3 *R, const cri_mat3 *T) {
    cri_mat3 RT, out;
    for (int i = 0; i < 9; i++) {
        RT.m[i] = R->m[i / 3 * 3] * T->m[i % 3] + R->m[i / 3 * 3 + 1] * T->m[3 + i % 3] +
                  R->m[i / 3 * 3 + 2] * T->m[6 + i % 3];
    }
    for (int i = 0; i < 9; i++) {
        const double *row = RT.m + i / 3 * 3, *col = R->m + i % 3 * 3;
        out.m[i] = row[0] * col[0] + row[1] * col[1] + row[2] * col[2];
    }
    return out;
}

// |d|^2 - d d'
static cri_mat3 parallel(cri_vec3 d) {
    double s = cri_v3_dot(d, d);
    return (cri_mat3){{s - d.x * d.x, -d.x * d.y, -d.x * d.z, -d.x * d.y, s - d.y * d.y, -d.y * d.z,
                       -d.x * d.z, -d.y * d.z, s - d.z * d.z}};
}

static bool has_moments(const cri_solid *s) {
    return s->kind == CRI_SHAPE_MESH || s->kind == CRI_SHAPE_FIELD;
}

static part part_of(const cri_solid *s) {
    part p = {.centre = s->pos};
    if (has_moments(s)) {
        cri_mat3 local = tensor(s->moment + 4);
        p.volume = s->moment[0];
        p.centre = cri_v3_add(s->pos, cri_m3_mul(&s->R, cri_v3_load(s->moment + 1)));
        p.J = turned(&s->R, &local);
        return p;
    }
    double m[4];
    cri_shape_moments(s->kind, s->size, m, NULL);
    cri_mat3 local = {{m[1], 0, 0, 0, m[2], 0, 0, 0, m[3]}};
    p.volume = m[0];
    p.J = turned(&s->R, &local);
    return p;
}

cri_inertia cri_inertia_of(int n, const cri_solid *solid) {
    CR_ASSERT(n >= 0 && (solid || n == 0));
    cri_inertia out = {0};
    for (int i = 0; i < n; i++) {
        part p = part_of(&solid[i]);
        out.mass += solid[i].density * p.volume;
        out.com = cri_v3_mad(out.com, solid[i].density * p.volume, p.centre);
    }
    if (!(out.mass > 0.0)) {
        return (cri_inertia){0};
    }
    out.com = cri_v3_scale(1.0 / out.mass, out.com);
    for (int i = 0; i < n; i++) {
        part p = part_of(&solid[i]);
        cri_mat3 steiner = parallel(cri_v3_sub(p.centre, out.com));
        for (int k = 0; k < 9; k++) {
            p.J.m[k] = solid[i].density * (p.J.m[k] + p.volume * steiner.m[k]);
        }
        add_tensor(&p.J, out.J);
    }
    return out;
}

// sum of the products of two matrices, entry by entry
static double contract(const cri_mat3 *A, const cri_mat3 *B) {
    double sum = 0.0;
    for (int i = 0; i < 9; i++) {
        sum += A->m[i] * B->m[i];
    }
    return sum;
}

// the symmetric adjoint of a tensor whose off-diagonal numbers occur twice
static cri_mat3 symmetric_adjoint(const double *J) {
    double half[6] = {J[0], J[1], J[2], 0.5 * J[3], 0.5 * J[4], 0.5 * J[5]};
    return tensor(half);
}

static cri_vec3 column_of(const cri_mat3 *R, int k) {
    return cri_v3(R->m[k], R->m[3 + k], R->m[6 + k]);
}

// moments of a field: volume, centre c (d from the body's) and tensor; m the mass of the part,
// m_adj that of the mass, A that of the body's tensor, com_adj that of its centre over its mass
static void moments_vjp(const cri_solid *s, const part *p, cri_vec3 d, double m_adj,
                        const cri_mat3 *A, cri_vec3 com_adj, double *moment) {
    double m = s->density * p->volume, trace = A->m[0] + A->m[4] + A->m[8];
    cri_vec3 c_adj = cri_v3_sub(cri_v3_scale(trace, d), cri_m3_mul(A, d));
    c_adj = cri_v3_scale(m, cri_v3_mad(com_adj, 2.0, c_adj));
    moment[0] += m_adj * s->density;
    cri_v3_accumulate(cri_m3_tmul(&s->R, c_adj), moment + 1);
    // J = density R J_own R', whose off-diagonal numbers occur twice
    for (int k = 0; k < 6; k++) {
        static const int row[6] = {0, 1, 2, 0, 0, 1}, column[6] = {0, 1, 2, 1, 2, 2};
        cri_vec3 a = column_of(&s->R, row[k]), b = column_of(&s->R, column[k]);
        double entry = cri_v3_dot(a, cri_m3_mul(A, b));
        moment[4 + k] += s->density * (k < 3 ? entry : 2.0 * entry);
    }
}

void cri_inertia_of_vjp(int n, const cri_solid *solid, const cri_inertia *adj,
                        cri_solid_diff *diff) {
    CR_ASSERT(n >= 0 && adj);
    cri_inertia sum = cri_inertia_of(n, solid);
    if (!(sum.mass > 0.0)) {
        return;
    }
    cri_mat3 A = symmetric_adjoint(adj->J);
    for (int i = 0; i < n; i++) {
        part p = part_of(&solid[i]);
        cri_vec3 d = cri_v3_sub(p.centre, sum.com);
        cri_mat3 steiner = parallel(d);

        // m_i in mass, com and the parallel axes; J_i = density R J R'
        double m_adj = adj->mass + cri_v3_dot(adj->com, d) / sum.mass + contract(&A, &steiner);
        diff[i].density += m_adj * p.volume + contract(&A, &p.J);
        if (solid[i].kind == CRI_SHAPE_FIELD) {
            cri_vec3 com_adj = cri_v3_scale(1.0 / sum.mass, adj->com);
            moments_vjp(&solid[i], &p, d, m_adj, &A, com_adj, diff[i].moment);
        }
        if (has_moments(&solid[i])) {
            continue;
        }
        double m[4], m_size[4][3], moment_adj[4];
        cri_shape_moments(solid[i].kind, solid[i].size, m, m_size);
        moment_adj[0] = m_adj * solid[i].density;
        for (int k = 0; k < 3; k++) {
            cri_vec3 axis = column_of(&solid[i].R, k);
            moment_adj[1 + k] = solid[i].density * cri_v3_dot(axis, cri_m3_mul(&A, axis));
        }
        for (int k = 0; k < 12; k++) {
            diff[i].size[k % 3] += moment_adj[k / 3] * m_size[k / 3][k % 3];
        }
    }
}

// tangents of density and unit moments: of the mass and of density J
static double part_jvp(const cri_solid *s, const part *p, const cri_solid_diff *tan,
                       cri_mat3 *J_tan) {
    double volume_tan = 0.0;
    cri_mat3 local = {{0}};
    if (s->kind == CRI_SHAPE_FIELD) {
        volume_tan = tan->moment[0];
        local = tensor(tan->moment + 4);
    } else if (!has_moments(s)) {
        double m[4], m_size[4][3], m_tan[4] = {0};
        cri_shape_moments(s->kind, s->size, m, m_size);
        for (int k = 0; k < 12; k++) {
            m_tan[k / 3] += m_size[k / 3][k % 3] * tan->size[k % 3];
        }
        volume_tan = m_tan[0];
        local = (cri_mat3){{m_tan[1], 0, 0, 0, m_tan[2], 0, 0, 0, m_tan[3]}};
    }
    cri_mat3 turn = turned(&s->R, &local);
    for (int k = 0; k < 9; k++) {
        J_tan->m[k] = tan->density * p->J.m[k] + s->density * turn.m[k];
    }
    return tan->density * p->volume + s->density * volume_tan;
}

// how |d|^2 - d d' moves with d
static cri_mat3 parallel_tangent(cri_vec3 d, cri_vec3 t) {
    double s = 2.0 * cri_v3_dot(d, t);
    double xy = -d.x * t.y - t.x * d.y, xz = -d.x * t.z - t.x * d.z, yz = -d.y * t.z - t.y * d.z;
    return (cri_mat3){
        {s - 2.0 * d.x * t.x, xy, xz, xy, s - 2.0 * d.y * t.y, yz, xz, yz, s - 2.0 * d.z * t.z}};
}

cri_inertia cri_inertia_of_jvp(int n, const cri_solid *solid, const cri_solid_diff *diff) {
    CR_ASSERT(n >= 0);
    cri_inertia sum = cri_inertia_of(n, solid), out = {0};
    if (!(sum.mass > 0.0)) {
        return out;
    }
    for (int i = 0; i < n; i++) {
        part p = part_of(&solid[i]);
        cri_vec3 d = cri_v3_sub(p.centre, sum.com), c_tan = {0};
        if (solid[i].kind == CRI_SHAPE_FIELD) {
            c_tan = cri_m3_mul(&solid[i].R, cri_v3_load(diff[i].moment + 1));
        }
        double m = solid[i].density * p.volume;
        cri_mat3 steiner = parallel(d), moved = parallel_tangent(d, c_tan), J_tan;
        double m_tan = part_jvp(&solid[i], &p, &diff[i], &J_tan);
        out.mass += m_tan;
        out.com = cri_v3_mad(out.com, m_tan / sum.mass, d);
        out.com = cri_v3_mad(out.com, m / sum.mass, c_tan);
        for (int k = 0; k < 9; k++) {
            J_tan.m[k] += m_tan * steiner.m[k] + m * moved.m[k];
        }
        add_tensor(&J_tan, out.J);
    }
    return out;
}

// ---- about the origin --------------------------------------------------------------------------

cri_inertia cri_inertia_at_origin(const cri_inertia *i) {
    CR_ASSERT(i);
    cri_inertia out = {.mass = i->mass};
    cri_mat3 steiner = parallel(i->com);
    add_tensor(&steiner, out.J);
    for (int k = 0; k < 6; k++) {
        out.J[k] = i->J[k] + i->mass * out.J[k];
    }
    return out;
}

void cri_inertia_at_origin_vjp(const cri_inertia *i, const cri_inertia *out_adj,
                               cri_inertia *i_adj) {
    CR_ASSERT(i && out_adj && i_adj);
    cri_mat3 A = symmetric_adjoint(out_adj->J), steiner = parallel(i->com);
    double trace = A.m[0] + A.m[4] + A.m[8];
    cri_vec3 c_adj = cri_v3_sub(cri_v3_scale(trace, i->com), cri_m3_mul(&A, i->com));

    // J = J_c + m (|c|^2 - c c'), and the new centre is a constant
    i_adj->mass += out_adj->mass + contract(&A, &steiner);
    i_adj->com = cri_v3_mad(i_adj->com, 2.0 * i->mass, c_adj);
    for (int k = 0; k < 6; k++) {
        i_adj->J[k] += out_adj->J[k];
    }
}

cri_inertia cri_inertia_at_origin_jvp(const cri_inertia *i, const cri_inertia *tan) {
    CR_ASSERT(i && tan);
    cri_inertia out = {.mass = tan->mass};
    cri_mat3 steiner = parallel(i->com), moved = parallel_tangent(i->com, tan->com);
    for (int k = 0; k < 9; k++) {
        moved.m[k] = tan->mass * steiner.m[k] + i->mass * moved.m[k];
    }
    memcpy(out.J, tan->J, sizeof out.J);
    add_tensor(&moved, out.J);
    return out;
}

// ---- meshes -------------------------------------------------------------------------------------

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
