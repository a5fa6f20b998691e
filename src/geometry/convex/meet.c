// SPDX-License-Identifier: MIT
//
// Two pieces that face each other.
//
// The separation along a unit normal n that is orthogonal to every e of both pieces,
//
//   phi(n) = n.v(n),   v = p_1 - p_0 - k_0(n) - k_1(n),   grad phi = v,
//
// has its maximum at the touch: the distance when pieces are apart, minus the least depth when they
// overlap. On the sphere v is along n there, and Newton's step is (K_0 + K_1 + phi) dn = v across
// n, K = dk/dn: two unknowns for two vertices, one for a vertex and an edge, none with two e.
// Without rim and ellipsoid it is solved at once. The coordinates follow from x_1 - x_0 = phi n.

#include "geometry/convex/pieces.h"

#include "base/base.h"

#include <math.h>

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

/// Tangents of the sphere that stay across e, and the matrix of Newton's step in them.
typedef struct newton {
    int n;
    cri_vec3 t[2];
    double a, b, c; // (a b; b c)
    double r[2];
} newton;

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
