// SPDX-License-Identifier: MIT
//
// A touch: two pieces that face each other, and the derivatives of the system that they solve.
//
//   x_0 = p_0 + E_0 s + k_0(n),   x_1 = p_1 + E_1 t - k_1(n),   z = (s, t, n, g)
//   F(z) = x_1 - x_0 - g n = 0
//   free    n.E_0 = 0,  n.E_1 = 0,  (n.n - 1)/2 = 0
//   along   n = R_ref n_face
//   held    s, t and n stay, n.F = 0 alone
//
// J = dF/dz. Points are x_0 and x_0 + g n. A pose moves a material point by
// dx = dpos + omega x (x - pos), omega = R rot, and at constant n the bulge by
// omega x k - K (omega x n), K = dk/dn. tan: J dz = -dF. vjp: J' lambda = dz_adj, then -lambda
// seeds dF.
//
// Exact where the pieces stay the same. Held touches are at kinks (one centre, lines that cross,
// parallel edges): the gap has its directional derivative along the held normal.

#include "geometry/convex/touch.h"

#include "base/base.h"
#include "base/math/dense_factor.h"
#include "geometry/convex/pieces.h"

#include <math.h>
#include <string.h>

static const double parallel = 1e-9; // sine of an angle below which two edges are parallel

static const double half_pi = 1.57079632679489661923;

enum { MAX_NEWTON = 40 };

/// All e of both pieces, and whose.
typedef struct span {
    int n;
    cri_vec3 e[4];
    int slot[4]; // of cri_meet.u
    double sign[4];
} span;

/// Tangents of the sphere that stay across e, and the matrix of Newton's step in them.
typedef struct newton {
    int n;
    cri_vec3 t[2];
    double a, b, c; // (a b; b c)
    double r[2];
} newton;

enum { MAX_Z = 8 };

/// Everything about a touch that both derivatives read.
typedef struct equations {
    cri_touch_kind kind;
    int ref;
    int n, dim; // unknowns, how many of them coordinates
    cri_piece piece[2];
    cri_vec3 x[2]; // relative to the origins of their own shapes
    cri_vec3 normal;
    double gap;
    double lu[MAX_Z * MAX_Z];
    int pivot[MAX_Z];
    cri_vec3 e[4]; // e with its sign in F: dF/du
    int owner[4];
} equations;

// ---- two pieces that face each other ------------------------------------------------------------

// The separation along a unit normal n that is orthogonal to every e of both pieces,
//
//   phi(n) = n.v(n),   v = p_1 - p_0 - k_0(n) - k_1(n),   grad phi = v,
//
// has its maximum at the touch: the distance when pieces are apart, minus the least depth when they
// overlap. On the sphere v is along n there, and Newton's step is (K_0 + K_1 + phi) dn = v across
// n, K = dk/dn: two unknowns for two vertices, one for a vertex and an edge, none with two e.
// Without rim and ellipsoid it is solved at once. The coordinates follow from x_1 - x_0 = phi n.

static span span_of(const cri_piece piece[2]) {
    span s = {0};
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < piece[i].dim; k++) {
            s.e[s.n] = piece[i].e[k];
            s.slot[s.n] = 2 * i + k;
            s.sign[s.n++] = i == 0 ? 1.0 : -1.0;
        }
    }
    return s;
}

static bool is_straight(const cri_piece *piece) {
    // on the side of a cylinder n is across the axis, where its bulge is a ball's
    return piece->bulge <= CRI_BULGE_BALL || (piece->bulge == CRI_BULGE_RIM && piece->dim == 1);
}

static cri_vec3 without(cri_vec3 a, cri_vec3 unit) {
    return cri_v3_mad(a, -cri_v3_dot(a, unit), unit);
}

static cri_vec3 normalised(cri_vec3 a) {
    return cri_v3_scale(1.0 / cri_v3_norm(a), a);
}

static cri_vec3 between(const cri_piece piece[2], cri_vec3 n) {
    cri_vec3 v = cri_v3_sub(piece[1].p, piece[0].p);
    v = cri_v3_sub(v, cri_bulge_at(&piece[0], n));
    return cri_v3_sub(v, cri_bulge_at(&piece[1], n));
}

// coordinates from v - phi n = sum sign u e, in the plane across n
static void set_coordinates(const span *s, cri_vec3 v, cri_meet *meet) {
    for (int k = 0; k < 4; k++) {
        meet->u[k] = 0.0;
    }
    if (s->n == 1) {
        meet->u[s->slot[0]] = s->sign[0] * cri_v3_dot(v, s->e[0]);
    } else if (s->n == 2) {
        cri_vec3 c = cri_v3_cross(s->e[0], s->e[1]);
        double c2 = cri_v3_dot(c, c);
        meet->u[s->slot[0]] = s->sign[0] * cri_v3_dot(cri_v3_cross(v, s->e[1]), c) / c2;
        meet->u[s->slot[1]] = s->sign[1] * cri_v3_dot(cri_v3_cross(s->e[0], v), c) / c2;
    }
}

static void finish(const cri_piece piece[2], const span *s, cri_meet *meet) {
    cri_vec3 v = between(piece, meet->n);
    meet->gap = cri_v3_dot(v, meet->n);
    set_coordinates(s, cri_v3_mad(v, -meet->gap, meet->n), meet);
    meet->x = cri_v3_add(piece[0].p, cri_bulge_at(&piece[0], meet->n));
    for (int k = 0; k < piece[0].dim; k++) {
        meet->x = cri_v3_mad(meet->x, meet->u[k], piece[0].e[k]);
    }
}

// unit vector across the first e, as near to n as possible
static cri_vec3 normal_across(const span *s, cri_vec3 n) {
    if (s->n == 0) {
        return n;
    }
    cri_vec3 across = without(n, s->e[0]);
    double length = cri_v3_norm(across);
    // below that n is the direction of the edge but for rounding
    return length > 1e-8 ? cri_v3_scale(1.0 / length, without(across, s->e[0]))
                         : cri_v3_orthogonal(s->e[0]);
}

// ---- Newton ------------------------------------------------------------------------------------

static newton newton_at(const cri_piece piece[2], const span *s, cri_vec3 n, cri_vec3 v) {
    newton w = {.n = 2 - s->n};
    w.t[0] = s->n == 1 ? cri_v3_cross(s->e[0], n) : cri_v3_orthogonal(n);
    w.t[1] = cri_v3_cross(n, w.t[0]);
    cri_vec3 Kt[2], Kt1[2];
    cri_bulge_bend_two(&piece[0], n, w.t, Kt);
    cri_bulge_bend_two(&piece[1], n, w.t, Kt1);
    for (int k = 0; k < w.n; k++) {
        Kt[k] = cri_v3_add(Kt[k], Kt1[k]);
        w.r[k] = cri_v3_dot(v, w.t[k]);
    }
    double phi = cri_v3_dot(v, n);
    w.a = cri_v3_dot(w.t[0], Kt[0]) + phi;
    w.c = 1.0;
    if (w.n == 2) {
        w.b = cri_v3_dot(w.t[0], Kt[1]);
        w.c = cri_v3_dot(w.t[1], Kt[1]) + phi;
    }
    return w;
}

// least eigenvalue
static double newton_least(const newton *w) {
    if (w->n < 2) {
        return w->a;
    }
    double half = 0.5 * (w->a - w->c);
    return 0.5 * (w->a + w->c) - hypot(half, w->b);
}

// the way up from a saddle: along the eigenvector of the least eigenvalue
static cri_vec3 saddle_step(const newton *w) {
    double angle = w->n == 2 ? 0.5 * atan2(2.0 * w->b, w->a - w->c) + half_pi : 0.0;
    const double far = 0.1; // radians, some way off the saddle
    return cri_v3_add(cri_v3_scale(far * cos(angle), w->t[0]),
                      cri_v3_scale(far * sin(angle), w->t[1]));
}

// ascends even where phi is not concave: every eigenvalue is lifted to at least floor
static cri_vec3 newton_step(newton w, double floor) {
    double lift = floor - newton_least(&w);
    if (lift > 0.0) {
        w.a += lift;
        w.c += w.n == 2 ? lift : 0.0;
    }
    double det = w.a * w.c - w.b * w.b;
    double d0 = (w.c * w.r[0] - w.b * w.r[1]) / det, d1 = (w.a * w.r[1] - w.b * w.r[0]) / det;
    if (w.n < 2) {
        d0 = w.r[0] / w.a;
        d1 = 0.0;
    }
    // a radian at most
    double length = hypot(d0, d1), limit = length > 1.0 ? 1.0 / length : 1.0;
    return cri_v3_add(cri_v3_scale(limit * d0, w.t[0]), cri_v3_scale(limit * d1, w.t[1]));
}

// Off the axis of a rim, where phi has a kink, towards what is beyond the rim. The rim is part of
// between with some point of it; what is farther off than the rim outweighs that.
static cri_vec3 leave_axis(const cri_piece piece[2], const span *s, cri_vec3 n) {
    for (int i = 0; i < 2; i++) {
        cri_vec3 axis = cri_m3_column(piece[i].R, 2);
        // sines of angles: near, and away
        if (piece[i].bulge == CRI_BULGE_RIM && cri_v3_norm(cri_v3_cross(axis, n)) < 0.02) {
            cri_vec3 v = cri_v3_add(between(piece, n), cri_bulge_at(&piece[i], n));
            v = without(v, n);
            double off = cri_v3_norm(v);
            if (off > piece[i].radius) {
                n = normalised(normal_across(s, cri_v3_mad(n, 0.3 / off, v)));
            }
        }
    }
    return n;
}

static bool climb(const cri_piece piece[2], const span *s, double scale, cri_meet *meet) {
    cri_vec3 n = leave_axis(piece, s, meet->n), v = between(piece, n);
    double phi = cri_v3_dot(v, n), last = INFINITY;
    for (int i = 0; i < MAX_NEWTON; i++) {
        newton w = newton_at(piece, s, n, v);
        double slope = w.n == 2 ? hypot(w.r[0], w.r[1]) : fabs(w.r[0]);
        meet->n = n;
        // singular: not a maximum that a small push leaves alone
        meet->is_singular = newton_least(&w) < 1e-12 * scale;
        // rounding, or no longer better
        bool is_still = slope <= 1e-16 * scale || (slope <= 1e-12 * scale && slope >= 0.5 * last);
        bool is_saddle = slope <= 1e-9 * scale && newton_least(&w) < -1e-9 * scale;
        if (is_still && !is_saddle) {
            return true;
        }
        last = slope;
        cri_vec3 dn = is_saddle ? saddle_step(&w) : newton_step(w, 1e-6 * scale);
        double h = 1.0, size = cri_v3_norm(dn);
        for (;;) {
            cri_vec3 m = normalised(normal_across(s, cri_v3_mad(n, h, dn)));
            cri_vec3 v_m = between(piece, m);
            double phi_m = cri_v3_dot(v_m, m);
            // near the end phi is flat to rounding and says nothing
            if (phi_m >= phi || (h * size < 1e-7 && isfinite(phi_m))) {
                n = m;
                v = v_m;
                phi = phi_m;
                break;
            }
            h *= 0.5;
            // a kink: n is the axis of a rim
            if (h < 1e-3 && (slope > 1e-6 * scale || !isfinite(phi_m))) {
                return false;
            }
        }
    }
    return last <= 1e-10 * scale;
}

// ---- meetings ----------------------------------------------------------------------------------

static cri_meeting meet_parallel(const cri_piece piece[2], const span *s, cri_meet *meet) {
    int face = piece[0].dim == 2 ? 0 : piece[1].dim == 2 ? 1 : -1;
    if (face >= 0) {
        cri_vec3 n = cri_v3_cross(piece[face].e[0], piece[face].e[1]);
        meet->n = cri_v3_dot(n, meet->n) >= 0.0 ? n : cri_v3_scale(-1.0, n);
        const cri_piece *other = &piece[1 - face];
        for (int k = 0; k < other->dim; k++) {
            if (fabs(cri_v3_dot(n, other->e[k])) > parallel) {
                return CRI_MEET_CROSSED;
            }
        }
        return CRI_MEET_FLAT;
    }
    // two parallel edges: the direction between the lines
    cri_vec3 v = without(cri_v3_sub(piece[1].p, piece[0].p), s->e[0]);
    double length = cri_v3_norm(v);
    double far = fabs(piece[0].p.x) + fabs(piece[1].p.x) + piece[0].reach[0] + piece[1].reach[0];
    meet->n = length > 1e-12 * far ? cri_v3_scale(1.0 / length, v)
                                   : normalised(normal_across(s, meet->n));
    return CRI_MEET_FLAT;
}

cri_meeting cri_pieces_meet(const cri_piece piece[2], double scale, cri_meet *meet) {
    CR_ASSERT(meet && scale > 0.0);
    span s = span_of(piece);
    meet->is_singular = false;
    if (s.n > 2) {
        cri_meeting meeting = meet_parallel(piece, &s, meet);
        meet->gap = cri_v3_dot(meet->n, between(piece, meet->n));
        return meeting;
    }
    if (s.n == 2) {
        cri_vec3 c = cri_v3_cross(s.e[0], s.e[1]);
        double sine = cri_v3_norm(c);
        if (sine < parallel) {
            meet_parallel(piece, &s, meet);
            meet->gap = cri_v3_dot(meet->n, between(piece, meet->n));
            return CRI_MEET_FLAT;
        }
        meet->n = cri_v3_scale(cri_v3_dot(c, meet->n) >= 0.0 ? 1.0 / sine : -1.0 / sine, c);
    } else {
        meet->n = normalised(normal_across(&s, meet->n));
        if (is_straight(&piece[0]) && is_straight(&piece[1])) {
            cri_vec3 v = cri_v3_sub(piece[1].p, piece[0].p);
            v = s.n == 1 ? without(v, s.e[0]) : v;
            double length = cri_v3_norm(v);
            meet->is_singular = length <= 1e-13 * scale;
            meet->n = meet->is_singular ? meet->n : cri_v3_scale(1.0 / length, v);
        } else if (!climb(piece, &s, scale, meet)) {
            return CRI_MEET_NONE;
        }
    }
    finish(piece, &s, meet);
    return CRI_MEET_POINT;
}

bool cri_pieces_meet_along(const cri_piece piece[2], cri_meet *meet) {
    CR_ASSERT(meet);
    span s = span_of(piece);
    meet->is_singular = false;
    if (s.n != 2) {
        return false;
    }
    // v = sum sign u e + gap n
    cri_vec3 v = between(piece, meet->n), n = meet->n;
    cri_vec3 c = cri_v3_cross(s.e[0], s.e[1]);
    double det = cri_v3_dot(c, n);
    if (fabs(det) < parallel) {
        return false;
    }
    for (int k = 0; k < 4; k++) {
        meet->u[k] = 0.0;
    }
    meet->gap = cri_v3_dot(c, v) / det;
    meet->u[s.slot[0]] = s.sign[0] * cri_v3_dot(cri_v3_cross(v, s.e[1]), n) / det;
    meet->u[s.slot[1]] = s.sign[1] * cri_v3_dot(cri_v3_cross(s.e[0], v), n) / det;
    meet->x = cri_v3_add(piece[0].p, cri_bulge_at(&piece[0], n));
    for (int k = 0; k < piece[0].dim; k++) {
        meet->x = cri_v3_mad(meet->x, meet->u[k], piece[0].e[k]);
    }
    return true;
}

void cri_pieces_hold(const cri_piece piece[2], cri_meet *meet) {
    meet->is_singular = true;
    for (int i = 0; i < 2; i++) {
        cri_vec3 x = i ? cri_v3_mad(meet->x, meet->gap, meet->n) : meet->x;
        x = cri_v3_sub(x, piece[i].p);
        x = cri_v3_mad(x, i ? 1.0 : -1.0, cri_bulge_at(&piece[i], meet->n));
        for (int k = 0; k < 2; k++) {
            meet->u[2 * i + k] = k < piece[i].dim ? cri_v3_dot(x, piece[i].e[k]) : 0.0;
        }
    }
}

// ---- the system of a touch ----------------------------------------------------------------------

static cri_touch_kind kind_of(const cri_narrow_touch *touch) {
    return (cri_touch_kind)(touch->cache.kind & 3);
}

static int face_of(const cri_narrow_touch *touch) {
    return cri_feature_of(CRI_PIECE_FACE, touch->cache.kind >> 3);
}

static void set_v3(double *a, int row, int column, cri_vec3 v) {
    a[row * MAX_Z + column] = v.x;
    a[(row + 1) * MAX_Z + column] = v.y;
    a[(row + 2) * MAX_Z + column] = v.z;
}

// J, rows F first; columns coordinates, n, g
static void fill_matrix(equations *s, double *a) {
    int d = s->dim;
    for (int k = 0; k < d; k++) {
        set_v3(a, 0, k, s->e[k]);
    }
    for (int j = 0; j < 3; j++) {
        cri_vec3 unit = cri_v3(j == 0, j == 1, j == 2);
        cri_vec3 bend = cri_v3_add(cri_bulge_bend(&s->piece[0], s->normal, unit),
                                   cri_bulge_bend(&s->piece[1], s->normal, unit));
        set_v3(a, 0, d + j, cri_v3_scale(-1.0, cri_v3_mad(bend, s->gap, unit)));
    }
    set_v3(a, 0, d + 3, cri_v3_scale(-1.0, s->normal));
    if (s->kind == CRI_TOUCH_ALONG) {
        for (int j = 0; j < 3; j++) {
            a[(3 + j) * MAX_Z + d + j] = 1.0;
        }
        return;
    }
    for (int k = 0; k < d; k++) {
        cri_v3_store(s->e[k], a + (3 + k) * MAX_Z + d);
    }
    cri_v3_store(s->normal, a + (3 + d) * MAX_Z + d);
}

static void factor(equations *s) {
    double a[MAX_Z * MAX_Z] = {0};
    fill_matrix(s, a);
    for (int i = 0; i < s->n; i++) {
        for (int j = 0; j < s->n; j++) {
            s->lu[i * s->n + j] = a[i * MAX_Z + j];
        }
    }
    if (!cri_lu_factor(s->n, s->lu, s->pivot)) {
        s->kind = CRI_TOUCH_HELD;
    }
}

static void system_at(const cri_shape shape[2], const cri_pose pose[2],
                      const cri_narrow_touch *touch, equations *s) {
    cri_vec3 apart = cri_v3_sub(pose[1].pos, pose[0].pos);
    memset(s, 0, sizeof *s);
    s->kind = kind_of(touch);
    s->ref = touch->cache.kind >> 2 & 1;
    s->normal = touch->normal;
    s->gap = touch->gap;
    for (int i = 0; i < 2; i++) {
        s->piece[i] = cri_piece_at(&shape[i], &pose[i].R, i ? apart : cri_v3(0.0, 0.0, 0.0),
                                   touch->cache.feature[i]);
        s->x[i] = cri_v3_sub(touch->point[i], pose[i].pos);
        for (int k = 0; k < s->piece[i].dim; k++) {
            s->owner[s->dim] = i;
            s->e[s->dim++] = cri_v3_scale(i ? 1.0 : -1.0, s->piece[i].e[k]);
        }
    }
    s->n = s->dim + 4;
    CR_ASSERT(s->kind == CRI_TOUCH_HELD || s->n <= MAX_Z);
    if (s->kind != CRI_TOUCH_HELD) {
        factor(s);
    }
}

// ---- explicit motion of a point of shape i ------------------------------------------------------

// of x_i at constant coordinates and normal
static cri_vec3 point_tan(const cri_shape *shape, int feature, const equations *s, int i,
                          const cri_shape_diff *tan) {
    const cri_piece *piece = &s->piece[i];
    cri_vec3 omega = cri_m3_mul(piece->R, tan->rot);
    double sign = i ? -1.0 : 1.0;

    // pos, omega x (x - pos)
    cri_vec3 dx = cri_v3_add(tan->pos, cri_v3_cross(omega, s->x[i]));
    cri_vec3 bend = cri_bulge_bend(piece, s->normal, cri_v3_cross(omega, s->normal));
    dx = cri_v3_mad(dx, -sign, bend);

    // sizes, in p and in k
    cri_vec3 grow[3];
    cri_piece_grow(shape, feature, grow);
    for (int k = 0; k < 3; k++) {
        dx = cri_v3_mad(dx, tan->size[k], cri_m3_mul(piece->R, grow[k]));
    }
    double part[3][3] = {{0}};
    for (int j = 0; j < 3; j++) {
        cri_bulge_grow(piece, s->normal, cri_v3(j == 0, j == 1, j == 2), part[j]);
    }
    cri_vec3 dk = {0};
    for (int k = 0; k < 3; k++) {
        dk = cri_v3_mad(dk, tan->size[k], cri_v3(part[0][k], part[1][k], part[2][k]));
    }
    return cri_v3_mad(dx, sign, dk);
}

// adds; x_adj seeds point_tan, omega_adj a rotation of its own
static void add_point_adj(const cri_shape *shape, int feature, const equations *s, int i,
                          cri_vec3 x_adj, cri_vec3 omega_adj, cri_shape_diff *adj) {
    const cri_piece *piece = &s->piece[i];
    double sign = i ? -1.0 : 1.0;

    // sizes, in k and in p
    cri_bulge_grow(piece, s->normal, cri_v3_scale(sign, x_adj), adj->size);
    cri_vec3 grow[3], local = cri_m3_tmul(piece->R, x_adj);
    cri_piece_grow(shape, feature, grow);
    for (int k = 0; k < 3; k++) {
        adj->size[k] += cri_v3_dot(grow[k], local);
    }

    // omega x (x - pos) - sign K (omega x n), pos
    cri_vec3 bend = cri_bulge_bend(piece, s->normal, x_adj);
    omega_adj = cri_v3_add(omega_adj, cri_v3_cross(s->x[i], x_adj));
    omega_adj = cri_v3_mad(omega_adj, -sign, cri_v3_cross(s->normal, bend));
    adj->rot = cri_v3_add(adj->rot, cri_m3_tmul(piece->R, omega_adj));
    adj->pos = cri_v3_add(adj->pos, x_adj);
}

// ---- tangent and adjoint -----------------------------------------------------------------------

cri_touch_diff cri_touch_jvp(const cri_shape shape[2], const cri_pose pose[2],
                             const cri_narrow_touch *touch, const cri_shape_diff tan[2]) {
    CR_ASSERT(shape && pose && touch);
    equations s;
    system_at(shape, pose, touch, &s);
    cri_vec3 dx[2], omega[2], n = s.normal;
    for (int i = 0; i < 2; i++) {
        dx[i] = point_tan(&shape[i], touch->cache.feature[i], &s, i, &tan[i]);
        omega[i] = cri_m3_mul(&pose[i].R, tan[i].rot);
    }
    cri_vec3 dF = cri_v3_sub(dx[1], dx[0]);
    cri_touch_diff out = {.gap = cri_v3_dot(n, dF)};
    if (s.kind != CRI_TOUCH_HELD) {
        // J dz = -dF
        double z[MAX_Z] = {0};
        cri_v3_store(cri_v3_scale(-1.0, dF), z);
        if (s.kind == CRI_TOUCH_ALONG) {
            cri_v3_store(cri_v3_cross(omega[s.ref], n), z + 3);
        }
        for (int k = 0; k < s.dim && s.kind == CRI_TOUCH_FREE; k++) {
            z[3 + k] = -cri_v3_dot(n, cri_v3_cross(omega[s.owner[k]], s.e[k]));
        }
        cri_lu_solve(s.n, s.lu, s.pivot, z);
        out.normal = cri_v3_load(z + s.dim);
        out.gap = z[s.dim + 3];
        for (int k = 0; k < s.piece[0].dim; k++) {
            dx[0] = cri_v3_mad(dx[0], z[k], s.piece[0].e[k]);
        }
        dx[0] = cri_v3_add(dx[0], cri_bulge_bend(&s.piece[0], n, out.normal));
    }
    out.point[0] = dx[0];
    out.point[1] = cri_v3_mad(cri_v3_mad(dx[0], out.gap, n), s.gap, out.normal);
    return out;
}

// solves A' x = b from the factors P A = L U
static void solve_transposed(int n, const double *lu, const int *pivot, double *b) {
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            b[i] -= lu[j * n + i] * b[j];
        }
        b[i] /= lu[i * n + i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int j = i + 1; j < n; j++) {
            b[i] -= lu[j * n + i] * b[j];
        }
    }
    for (int k = n - 1; k >= 0; k--) {
        double t = b[pivot[k]];
        b[pivot[k]] = b[k];
        b[k] = t;
    }
}

void cri_touch_vjp(const cri_shape shape[2], const cri_pose pose[2], const cri_narrow_touch *touch,
                   const cri_touch_diff *touch_adj, cri_shape_diff adj[2]) {
    CR_ASSERT(shape && pose && touch);
    equations s;
    system_at(shape, pose, touch, &s);
    cri_vec3 n = s.normal, omega_adj[2] = {{0, 0, 0}, {0, 0, 0}};

    // point_1 = point_0 + g n
    cri_vec3 x0_adj = cri_v3_add(touch_adj->point[0], touch_adj->point[1]);
    cri_vec3 n_adj = cri_v3_mad(touch_adj->normal, s.gap, touch_adj->point[1]);
    double gap_adj = touch_adj->gap + cri_v3_dot(touch_adj->point[1], n);

    cri_vec3 F_adj = cri_v3_scale(gap_adj, n);
    if (s.kind != CRI_TOUCH_HELD) {
        // point_0 = x_0: its coordinates, its bulge
        double z[MAX_Z] = {0};
        for (int k = 0; k < s.piece[0].dim; k++) {
            z[k] = cri_v3_dot(x0_adj, s.piece[0].e[k]);
        }
        cri_v3_store(cri_v3_add(n_adj, cri_bulge_bend(&s.piece[0], n, x0_adj)), z + s.dim);
        z[s.dim + 3] = gap_adj;

        // J' lambda = z_adj
        solve_transposed(s.n, s.lu, s.pivot, z);
        F_adj = cri_v3_scale(-1.0, cri_v3_load(z));
        if (s.kind == CRI_TOUCH_ALONG) {
            omega_adj[s.ref] = cri_v3_cross(n, cri_v3_load(z + 3));
        }
        for (int k = 0; k < s.dim && s.kind == CRI_TOUCH_FREE; k++) {
            cri_vec3 *w = &omega_adj[s.owner[k]];
            *w = cri_v3_mad(*w, -z[3 + k], cri_v3_cross(s.e[k], n));
        }
    }

    // F = x_1 - x_0 - g n
    x0_adj = cri_v3_sub(x0_adj, F_adj);
    add_point_adj(&shape[0], touch->cache.feature[0], &s, 0, x0_adj, omega_adj[0], &adj[0]);
    add_point_adj(&shape[1], touch->cache.feature[1], &s, 1, F_adj, omega_adj[1], &adj[1]);
}

// ---- the same touch elsewhere ------------------------------------------------------------------

void cri_touch_fill(const cri_pose pose[2], const cri_meet *meet, int kind, const int feature[2],
                    cri_narrow_touch *touch) {
    unsigned id = (unsigned)feature[0] * 65599u + (unsigned)feature[1];
    touch->id = (int)(id & 0x7fffffffu);
    touch->gap = meet->gap;
    touch->normal = meet->n;
    touch->point[0] = cri_v3_add(pose[0].pos, meet->x);
    touch->point[1] = cri_v3_mad(touch->point[0], meet->gap, meet->n);
    touch->cache.kind = kind;
    for (int i = 0; i < 2; i++) {
        touch->cache.feature[i] = feature[i];
    }
    memcpy(touch->cache.u, meet->u, sizeof meet->u);
}

// n and the coordinates stay; x_1 may leave x_0 + g n sideways
static void meet_held(const cri_piece piece[2], cri_meet *meet) {
    cri_vec3 x[2];
    for (int i = 0; i < 2; i++) {
        x[i] = cri_v3_mad(piece[i].p, i ? -1.0 : 1.0, cri_bulge_at(&piece[i], meet->n));
        for (int k = 0; k < piece[i].dim; k++) {
            x[i] = cri_v3_mad(x[i], meet->u[2 * i + k], piece[i].e[k]);
        }
    }
    meet->x = x[0];
    meet->gap = cri_v3_dot(meet->n, cri_v3_sub(x[1], x[0]));
}

// beyond the end of an edge, of a box's face or of a cap, by more than rounding of many steps
static bool has_left(const cri_shape *shape, const cri_piece *piece, int feature, const double u[2],
                     double scale) {
    double slack = 1e-6 * scale;
    if (shape->kind == CRI_SHAPE_CYLINDER && cri_feature_kind(feature) == CRI_PIECE_FACE) {
        return hypot(u[0], u[1]) > shape->size[0] + slack;
    }
    if (piece->dim == 1 || (piece->dim == 2 && shape->kind == CRI_SHAPE_BOX)) {
        return fabs(u[0]) > piece->reach[0] + slack || fabs(u[1]) > piece->reach[1] + slack;
    }
    if (piece->dim == 2 && shape->kind == CRI_SHAPE_MESH) {
        return cri_piece_step(shape, feature, cri_face_normal(shape, feature), u, slack) != feature;
    }
    return false;
}

// The shape is farther out elsewhere. Corners of a patch are not the lowest ones: what they may be
// off by is the tilt of a patch, 0.15 radians, across the shape.
static bool has_turned(const cri_shape *shape, const cri_pose *pose, int i, int feature,
                       const cri_meet *meet) {
    if (shape->kind == CRI_SHAPE_PLANE) {
        return false;
    }
    cri_vec3 out = cri_v3_scale(i ? -1.0 : 1.0, cri_m3_tmul(&pose->R, meet->n));
    double slack = 0.3 * cri_bounding_radius(shape);
    return cri_piece_step(shape, feature, out, meet->u + 2 * i, slack) != feature;
}

bool cri_touch_again(const cri_shape shape[2], const cri_pose pose[2], cri_narrow_touch *touch) {
    CR_ASSERT(shape && pose && touch);
    cri_touch_kind kind = kind_of(touch);
    const int *feature = touch->cache.feature;
    cri_vec3 apart = cri_v3_sub(pose[1].pos, pose[0].pos);
    cri_piece piece[2];
    double scale = cri_v3_norm(apart);
    for (int i = 0; i < 2; i++) {
        piece[i] = cri_piece_at(&shape[i], &pose[i].R, i ? apart : cri_v3(0, 0, 0), feature[i]);
        double radius = cri_bounding_radius(&shape[i]);
        scale += isfinite(radius) ? radius : 0.0;
    }
    cri_meet meet = {.n = touch->normal};
    memcpy(meet.u, touch->cache.u, sizeof meet.u);
    if (kind == CRI_TOUCH_HELD) {
        meet_held(piece, &meet);
    } else if (kind == CRI_TOUCH_ALONG) {
        int ref = touch->cache.kind >> 2 & 1;
        meet.n = cri_m3_mul(&pose[ref].R, cri_face_normal(&shape[ref], face_of(touch)));
        meet.n = cri_v3_scale(ref ? -1.0 : 1.0, meet.n);
        if (!cri_pieces_meet_along(piece, &meet)) {
            return false;
        }
    } else if (cri_pieces_meet(piece, scale, &meet) != CRI_MEET_POINT) {
        return false;
    }
    for (int i = 0; i < 2 && kind != CRI_TOUCH_HELD; i++) {
        if (has_left(&shape[i], &piece[i], feature[i], meet.u + 2 * i, scale) ||
            (kind == CRI_TOUCH_FREE && has_turned(&shape[i], &pose[i], i, feature[i], &meet))) {
            return false;
        }
    }
    cri_touch_fill(pose, &meet, touch->cache.kind, (int[2]){feature[0], feature[1]}, touch);
    return true;
}
