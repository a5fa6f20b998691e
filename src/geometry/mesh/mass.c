// SPDX-License-Identifier: MIT
//
// Solids. Per unit density, with MJCF's sizes (r radius, h half length, a b c half sizes):
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

/// One solid with unit density: volume, centre in the body, tensor about it in body axes.
typedef struct part {
    double volume;
    cri_vec3 centre;
    cri_mat3 J;
} part;

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
