// SPDX-License-Identifier: MIT
//
// The least depth of two overlapping convex sets by an expanding polytope (van den Bergen,
// Game Developers Conference 2001).
//
// A polytope inside D that holds the origin grows at its nearest face by the corner of D farthest
// along that face's normal m, until there is none beyond: m.w - d is the error of the depth d.

#include "geometry/convex/gjk.h"

#include "base/base.h"

#include <math.h>

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

static bool has_corner(const polytope *t, const cri_corner *c) {
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
            has_corner(&t, &c) || !grow(&t, &c, f, 1e-13 * pair->scale)) {
            return true;
        }
    }
}
