// SPDX-License-Identifier: MIT
//
// Distance and least depth of two convex sets by their farthest points; the depth is below.
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

/// Part of a simplex and the point of it nearest to the origin.
typedef struct part {
    int n;
    int index[4];
    double weight[4];
    cri_vec3 v;
    double length2;
} part;

enum { MAX_CORNER = 128, MAX_FACE = 2 * MAX_CORNER, MAX_HORIZON = 128 };

typedef struct face {
    int v[3]; // counterclockwise from outside
    cri_vec3 m;
    double d;
    bool is_alive;
} face;

typedef struct polytope {
    int n_corner, n_face;
    cri_corner corner[MAX_CORNER];
    face face[MAX_FACE];
} polytope;

// ---- distance -----------------------------------------------------------------------------------

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

// ---- depth --------------------------------------------------------------------------------------

// The least depth of two overlapping convex sets by an expanding polytope (van den Bergen,
// Game Developers Conference 2001).
//
// A polytope inside D that holds the origin grows at its nearest face by the corner of D farthest
// along that face's normal m, until there is none beyond: m.w - d is the error of the depth d.

// false: too thin to have a normal
static bool add_face(polytope *t, int a, int b, int c) {
    int slot = 0;
    while (slot < t->n_face && t->face[slot].is_alive) {
        slot++;
    }
    if (slot == MAX_FACE) {
        return false;
    }
    cri_vec3 w = t->corner[a].w;
    cri_vec3 ab = cri_v3_sub(t->corner[b].w, w), ac = cri_v3_sub(t->corner[c].w, w);
    cri_vec3 m = cri_v3_cross(ab, ac);
    double length = cri_v3_norm(m);
    if (length <= 1e-14 * cri_v3_norm(ab) * cri_v3_norm(ac)) {
        return false;
    }
    m = cri_v3_scale(1.0 / length, m);
    t->face[slot] = (face){.v = {a, b, c}, .m = m, .d = cri_v3_dot(m, w), .is_alive = true};
    t->n_face = slot == t->n_face ? slot + 1 : t->n_face;
    return true;
}

// corners of near to four that are not in a plane
static bool build_tetrahedron(const cri_pair *pair, cri_nearest *near) {
    double thin = 1e-10 * pair->scale;
    while (near->n < 4) {
        cri_vec3 a = near->corner[0].w, d[6];
        int n_d = 0;
        if (near->n == 3) {
            d[0] = cri_v3_cross(cri_v3_sub(near->corner[1].w, a), cri_v3_sub(near->corner[2].w, a));
            n_d = 1;
        } else if (near->n == 2) {
            cri_vec3 along = cri_v3_sub(near->corner[1].w, a);
            along = cri_v3_scale(1.0 / cri_v3_norm(along), along);
            d[0] = cri_v3_orthogonal(along);
            d[1] = cri_v3_cross(along, d[0]);
            n_d = 2;
        } else {
            for (n_d = 0; n_d < 3; n_d++) {
                d[n_d] = cri_v3(n_d == 0, n_d == 1, n_d == 2);
            }
        }
        bool has_grown = false;
        for (int k = 0; k < 2 * n_d && !has_grown; k++) {
            cri_vec3 u = cri_v3_scale((k & 1) ? -1.0 : 1.0, d[k / 2]);
            cri_corner c = cri_pair_corner(pair, u, near->hint);
            double length = cri_v3_norm(u);
            if (fabs(cri_v3_dot(u, cri_v3_sub(c.w, a))) > thin * length) {
                near->corner[near->n++] = c;
                has_grown = true;
            }
        }
        if (!has_grown) {
            return false;
        }
    }
    return true;
}

static bool begin(const cri_pair *pair, cri_nearest *near, polytope *t) {
    if (!build_tetrahedron(pair, near)) {
        return false;
    }
    t->n_corner = 4;
    t->n_face = 0;
    for (int i = 0; i < 4; i++) {
        t->corner[i] = near->corner[i];
    }
    cri_vec3 a = t->corner[0].w, b = cri_v3_sub(t->corner[1].w, a);
    cri_vec3 c = cri_v3_sub(t->corner[2].w, a), d = cri_v3_sub(t->corner[3].w, a);
    bool is_left = cri_v3_dot(cri_v3_cross(b, c), d) > 0.0;
    static const int side[4][3] = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}};
    for (int k = 0; k < 4; k++) {
        const int *v = side[k];
        if (!add_face(t, v[0], is_left ? v[1] : v[2], is_left ? v[2] : v[1])) {
            return false;
        }
    }
    return true;
}

static int nearest_face(const polytope *t) {
    int best = -1;
    for (int f = 0; f < t->n_face; f++) {
        if (t->face[f].is_alive && (best < 0 || t->face[f].d < t->face[best].d)) {
            best = f;
        }
    }
    return best;
}

static bool polytope_has(const polytope *t, const cri_corner *c) {
    for (int i = 0; i < t->n_corner; i++) {
        const cri_vec3 a = t->corner[i].w, b = c->w;
        if (a.x == b.x && a.y == b.y && a.z == b.z) {
            return true;
        }
    }
    return false;
}

// adds an edge of the horizon, or removes it when its other side is seen as well
static bool toggle(int (*edge)[2], int *n, int a, int b) {
    for (int k = 0; k < *n; k++) {
        if (edge[k][0] == b && edge[k][1] == a) {
            (*n)--;
            edge[k][0] = edge[*n][0];
            edge[k][1] = edge[*n][1];
            return true;
        }
    }
    if (*n == MAX_HORIZON) {
        return false;
    }
    edge[*n][0] = a;
    edge[(*n)++][1] = b;
    return true;
}

// false: the polytope can no longer grow and is not to be used
static bool grow(polytope *t, const cri_corner *c, int first, double slack) {
    int edge[MAX_HORIZON][2], n_edge = 0;
    for (int f = 0; f < t->n_face; f++) {
        face *s = &t->face[f];
        // those in a plane with the corner are seen too, lest new faces be thin
        if (s->is_alive && (f == first || cri_v3_dot(s->m, c->w) - s->d > -slack)) {
            s->is_alive = false;
            for (int k = 0; k < 3; k++) {
                if (!toggle(edge, &n_edge, s->v[k], s->v[(k + 1) % 3])) {
                    return false;
                }
            }
        }
    }
    int v = t->n_corner++;
    t->corner[v] = *c;
    for (int k = 0; k < n_edge; k++) {
        if (!add_face(t, edge[k][0], edge[k][1], v)) {
            return false;
        }
    }
    return n_edge > 2;
}

// weights of the foot of the origin on a face; returns the least of them
static double foot(const polytope *t, const face *s, double weight[3]) {
    const cri_vec3 a = t->corner[s->v[0]].w, b = t->corner[s->v[1]].w, c = t->corner[s->v[2]].w;
    cri_vec3 o = cri_v3_scale(s->d, s->m);
    cri_vec3 m = cri_v3_cross(cri_v3_sub(b, a), cri_v3_sub(c, a));
    double m2 = cri_v3_dot(m, m);
    weight[0] = cri_v3_dot(m, cri_v3_cross(cri_v3_sub(b, o), cri_v3_sub(c, o))) / m2;
    weight[1] = cri_v3_dot(m, cri_v3_cross(cri_v3_sub(c, o), cri_v3_sub(a, o))) / m2;
    weight[2] = 1.0 - weight[0] - weight[1];
    return fmin(weight[0], fmin(weight[1], weight[2]));
}

static void report(const polytope *t, const face *best, double separation, double slack,
                   cri_nearest *near) {
    double most = foot(t, best, near->weight);
    const face *chosen = best;
    // of faces in one plane the one that holds the foot
    for (int f = 0; f < t->n_face && most < 0.0; f++) {
        const face *s = &t->face[f];
        double weight[3];
        if (s->is_alive && s->d <= best->d + slack) {
            double least = foot(t, s, weight);
            if (least > most) {
                most = least;
                chosen = s;
            }
        }
    }
    foot(t, chosen, near->weight);
    // rounding, or a polytope that could not grow: the nearest point inside, about
    double sum = 0.0;
    for (int k = 0; k < 3; k++) {
        near->weight[k] = fmax(near->weight[k], 0.0);
        sum += near->weight[k];
    }
    for (int k = 0; k < 3; k++) {
        near->weight[k] /= sum;
    }
    near->n = 3;
    near->normal = cri_v3_scale(-1.0, best->m);
    near->separation = separation;
    for (int k = 0; k < 3; k++) {
        near->corner[k] = t->corner[chosen->v[k]];
    }
}

bool cri_epa(const cri_pair *pair, double share, cri_nearest *near) {
    CR_ASSERT(near && near->n > 0 && share > 0.0);
    polytope t;
    if (!begin(pair, near, &t)) {
        return false;
    }
    double tolerance = 1e-13 * pair->scale, least = INFINITY;
    share = cri_pair_is_round(pair) ? share : 0.0;
    for (;;) {
        int f = nearest_face(&t);
        face best = t.face[f];
        cri_corner c = cri_pair_corner(pair, cri_v3_scale(-1.0, best.m), near->hint);
        double height = cri_v3_dot(best.m, c.w);
        // without an end the least depth seen so far
        if (height <= least + tolerance) {
            least = height;
            report(&t, &best, -height, 1e-12 * pair->scale, near);
        }
        if (height - best.d <= tolerance + share * height || t.n_corner == MAX_CORNER ||
            polytope_has(&t, &c) || !grow(&t, &c, f, 1e-13 * pair->scale)) {
            return true;
        }
    }
}
