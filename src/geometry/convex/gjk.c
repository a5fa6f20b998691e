// SPDX-License-Identifier: MIT
//
// The distance of convex sets by Gilbert, Johnson and Keerthi (IEEE J. Robotics Automation 4,
// 1988): the nearest point v of a simplex of D, then the point w of D lowest along v. |v| is above
// the distance and v.w/|v| below it.
//
// Of the parts of the simplex that hold the newest corner the one with the nearest point wins; each
// is projected on by itself, so that nothing depends on which side of a plane rounding puts it.

#include "geometry/convex/gjk.h"

#include "base/base.h"

#include <math.h>

enum { MAX_STEP = 100 };

cri_corner cri_pair_corner(const cri_pair *pair, cri_vec3 d, int hint[2]) {
    cri_corner c;
    for (int i = 0; i < 2; i++) {
        const cri_mat3 *R = &pair->pose[i].R;
        cri_vec3 local = cri_m3_tmul(R, i ? cri_v3_scale(-1.0, d) : d);
        cri_vec3 x = cri_core_support(&pair->shape[i], local, &c.feature[i], &hint[i]);
        c.x[i] = cri_m3_mul(R, x);
    }
    c.x[1] = cri_v3_add(c.x[1], pair->apart);
    c.w = cri_v3_sub(c.x[1], c.x[0]);
    return c;
}

/// Part of a simplex and the point of it nearest to the origin.
typedef struct part {
    int n;
    int index[4];
    double weight[4];
    cri_vec3 v;
    double length2;
} part;

static void keep_nearer(part *best, const part *p) {
    if (p->length2 < best->length2) {
        *best = *p;
    }
}

static void try_segment(const cri_corner *c, int a, int b, part *best) {
    cri_vec3 along = cri_v3_sub(c[b].w, c[a].w);
    double length2 = cri_v3_dot(along, along);
    double t = -cri_v3_dot(c[a].w, along) / length2;
    if (!(t > 0.0 && t < 1.0)) {
        return;
    }
    part p = {.n = 2, .index = {a, b}, .weight = {1.0 - t, t}};
    p.v = cri_v3_mad(c[a].w, t, along);
    p.length2 = cri_v3_dot(p.v, p.v);
    keep_nearer(best, &p);
}

static void try_triangle(const cri_corner *corner, const int index[3], part *best) {
    cri_vec3 a = corner[index[0]].w, b = corner[index[1]].w, c = corner[index[2]].w;
    cri_vec3 ab = cri_v3_sub(b, a), ac = cri_v3_sub(c, a), bc = cri_v3_sub(c, b);
    cri_vec3 m = cri_v3_cross(ab, ac);
    double m2 = cri_v3_dot(m, m);
    // thinner than rounding
    if (m2 <= 1e-28 * cri_v3_dot(ab, ab) * cri_v3_dot(ac, ac)) {
        return;
    }
    double wa = cri_v3_dot(m, cri_v3_cross(b, bc)) / m2;
    double wb = -cri_v3_dot(m, cri_v3_cross(a, ac)) / m2;
    double wc = 1.0 - wa - wb;
    if (!(wa > 0.0 && wb > 0.0 && wc > 0.0)) {
        return;
    }
    part p = {.n = 3, .index = {index[0], index[1], index[2]}, .weight = {wa, wb, wc}};
    p.v = cri_v3_scale(cri_v3_dot(a, m) / m2, m);
    p.length2 = cri_v3_dot(p.v, p.v);
    keep_nearer(best, &p);
}

static double volume(cri_vec3 a, cri_vec3 b, cri_vec3 c) {
    return cri_v3_dot(a, cri_v3_cross(b, c));
}

// weights of the origin; true when it is inside
static bool inside_tetrahedron(const cri_corner *c, double weight[4]) {
    double all =
        volume(cri_v3_sub(c[1].w, c[0].w), cri_v3_sub(c[2].w, c[0].w), cri_v3_sub(c[3].w, c[0].w));
    weight[0] = volume(c[1].w, c[2].w, c[3].w) / all;
    weight[1] = -volume(c[0].w, c[2].w, c[3].w) / all;
    weight[2] = volume(c[0].w, c[1].w, c[3].w) / all;
    weight[3] = -volume(c[0].w, c[1].w, c[2].w) / all;
    return weight[0] > 0.0 && weight[1] > 0.0 && weight[2] > 0.0 && weight[3] > 0.0;
}

// the newest corner is the last
static part nearest_part(const cri_corner *c, int n) {
    int last = n - 1;
    part best = {.n = 1, .index = {last}, .weight = {1.0}, .v = c[last].w};
    best.length2 = cri_v3_dot(best.v, best.v);
    for (int i = 0; i < last; i++) {
        try_segment(c, i, last, &best);
    }
    for (int i = 0; i < last; i++) {
        for (int j = i + 1; j < last; j++) {
            try_triangle(c, (int[3]){i, j, last}, &best);
        }
    }
    if (n == 4) {
        part p = {.n = 4, .index = {0, 1, 2, 3}};
        if (inside_tetrahedron(c, p.weight)) {
            best = p;
        }
    }
    return best;
}

static bool has_corner(const cri_nearest *near, const cri_corner *c) {
    for (int i = 0; i < near->n; i++) {
        const cri_vec3 a = near->corner[i].w, b = c->w;
        if (a.x == b.x && a.y == b.y && a.z == b.z) {
            return true;
        }
    }
    return false;
}

static void keep_part(cri_nearest *near, const part *p) {
    cri_corner kept[4];
    for (int i = 0; i < p->n; i++) {
        kept[i] = near->corner[p->index[i]];
    }
    for (int i = 0; i < p->n; i++) {
        near->corner[i] = kept[i];
        near->weight[i] = p->weight[i];
    }
    near->n = p->n;
}

static bool is_round(const cri_shape *shape) {
    return shape->kind == CRI_SHAPE_CYLINDER || shape->kind == CRI_SHAPE_ELLIPSOID;
}

bool cri_pair_is_round(const cri_pair *pair) {
    return is_round(&pair->shape[0]) || is_round(&pair->shape[1]);
}

bool cri_gjk(const cri_pair *pair, double share, double close, cri_nearest *near) {
    CR_ASSERT(near && share > 0.0 && close >= 0.0);
    cri_vec3 d = pair->apart;
    double far = cri_v3_norm(d);
    // any direction for one centre
    near->normal = far > 0.0 ? cri_v3_scale(1.0 / far, d) : cri_v3(1.0, 0.0, 0.0);
    d = far > 0.0 ? d : near->normal;
    // corners end cores that have some
    bool is_soft = cri_pair_is_round(pair);
    share = is_soft ? share : 1e-11;
    close = is_soft ? close : 0.0;
    near->hint[0] = near->hint[1] = 0;
    near->corner[0] = cri_pair_corner(pair, d, near->hint);
    near->weight[0] = 1.0;
    near->n = 1;
    cri_vec3 v = near->corner[0].w;
    double length2 = cri_v3_dot(v, v);
    double least = 1e-14 * pair->scale;
    for (int i = 0; i < MAX_STEP; i++) {
        double length = sqrt(length2);
        if (length <= least) {
            return false;
        }
        cri_corner c = cri_pair_corner(pair, v, near->hint);
        double below = cri_v3_dot(v, c.w);
        near->normal = cri_v3_scale(1.0 / length, v);
        near->separation = below / length;
        // the second term is rounding
        double enough = share * length2 + 1e-15 * pair->scale * length;
        if (has_corner(near, &c) || length2 - below <= enough || length < close) {
            return true;
        }
        near->corner[near->n++] = c;
        part p = nearest_part(near->corner, near->n);
        if (p.n == 4) {
            near->n = 4;
            return false;
        }
        if (p.length2 >= length2) {
            near->n--;
            return true;
        }
        keep_part(near, &p);
        v = p.v;
        length2 = p.length2;
    }
    return true;
}
