// SPDX-License-Identifier: MIT
//
// The signed distance of two convex shapes by brute force.
//
// Two polytopes: all face normals and products of edges in an overlap (separating axes), all pairs
// of edges, and of corners and faces, when apart. Both are exact.
//
// A curved one, apart: alternating projections x <- P0(P1(x)), which is the projected gradient
// method for half the squared distance to shape 1 over shape 0 with step 1, accelerated (Beck,
// Teboulle
// 2009) with restarts where the momentum points uphill (O'Donoghue, Candes 2015). It ends when the
// bounds of the header meet.
//
// A curved one, overlapping: the best of thousands of directions and of all that faces, edges and
// axes give, refined by the Nelder-Mead method and at last by a golden section within a golden
// section, which does not mind the creases of s.

#include "brute_distance.h"

#include <math.h>
#include <stdlib.h>

// directions on the sphere; neighbours are about 0.06 rad apart
#define N_DIRECTION 4000

// distinct starts of the refinement, and how far they are apart, rad
#define N_START 20
#define START_APART 0.15

#define GOLDEN 0.6180339887498949

typedef struct pair {
    const brute_body *body[2];
} pair;

static double separation(const pair *p, cri_vec3 n) {
    cri_vec3 near = brute_support(p->body[1], cri_v3_scale(-1.0, n));
    return cri_v3_dot(n, cri_v3_sub(near, brute_support(p->body[0], n)));
}

static void improve(const pair *p, cri_vec3 n, brute_distance *best) {
    double length = cri_v3_norm(n);
    if (length < 1e-9) {
        return;
    }
    for (int side = -1; side <= 1; side += 2) {
        cri_vec3 unit = cri_v3_scale(side / length, n);
        double s = separation(p, unit);
        if (s > best->value) {
            *best = (brute_distance){.value = s, .normal = unit};
        }
    }
}

static cri_vec3 edge_of(const brute_body *b, int k) {
    return cri_v3_sub(b->vertex[b->edge[k][1]], b->vertex[b->edge[k][0]]);
}

// ---- polytopes ---------------------------------------------------------------------------------

// the best separating axis
static brute_distance best_axis(const pair *p) {
    brute_distance best = {.value = -INFINITY};
    for (int side = 0; side < 2; side++) {
        for (int k = 0; k < p->body[side]->n_triangle; k++) {
            improve(p, p->body[side]->normal[k], &best);
        }
    }
    for (int i = 0; i < p->body[0]->n_edge; i++) {
        cri_vec3 u = edge_of(p->body[0], i);
        for (int j = 0; j < p->body[1]->n_edge; j++) {
            improve(p, cri_v3_cross(u, edge_of(p->body[1], j)), &best);
        }
    }
    return best;
}

static void take_nearer(cri_vec3 a, cri_vec3 b, brute_distance *best) {
    cri_vec3 d = cri_v3_sub(b, a);
    double length = cri_v3_norm(d);
    if (length < best->value) {
        *best = (brute_distance){.value = length};
        best->normal = length > 0.0 ? cri_v3_scale(1.0 / length, d) : cri_v3(0, 0, 1);
    }
}

// the nearest points of polytopes that are apart, or of points and segments
static brute_distance nearest_features(const pair *p) {
    const brute_body *a = p->body[0];
    const brute_body *b = p->body[1];
    brute_distance best = {.value = INFINITY};
    for (int i = 0; i < a->n_edge; i++) {
        const cri_vec3 u[2] = {a->vertex[a->edge[i][0]], a->vertex[a->edge[i][1]]};
        for (int j = 0; j < b->n_edge; j++) {
            cri_vec3 v[2] = {b->vertex[b->edge[j][0]], b->vertex[b->edge[j][1]]};
            cri_vec3 near[2] = {u[0], v[0]};
            brute_segments(u, v, near);
            take_nearer(near[0], near[1], &best);
        }
    }
    for (int i = 0; i < a->n_vertex; i++) {
        take_nearer(a->vertex[i], brute_project(b, a->vertex[i]), &best);
    }
    for (int j = 0; j < b->n_vertex; j++) {
        take_nearer(brute_project(a, b->vertex[j]), b->vertex[j], &best);
    }
    return best;
}

static brute_distance polytopes(const pair *p) {
    bool has_volume = p->body[0]->n_triangle > 0 || p->body[1]->n_triangle > 0;
    if (has_volume) {
        brute_distance axis = best_axis(p);
        if (axis.value <= 0.0) {
            return axis;
        }
    }
    brute_distance near = nearest_features(p);
    near.slack = near.value - separation(p, near.normal);
    return near;
}

// ---- curved, apart -----------------------------------------------------------------------------

// false when they overlap, or come too close to tell
static bool project_apart(const pair *p, brute_distance *out) {
    enum { N_ITERATION = 20000 };
    const brute_body *a = p->body[0];
    const brute_body *b = p->body[1];
    cri_vec3 x = brute_project(a, b->kind == BRUTE_POLYTOPE ? b->vertex[0] : b->pose.pos);
    cri_vec3 z = x;
    double momentum = 1.0;
    out->slack = INFINITY;
    for (int k = 0; k < N_ITERATION; k++) {
        cri_vec3 next = brute_project(a, brute_project(b, z));
        cri_vec3 step = cri_v3_sub(next, x);
        bool is_uphill = cri_v3_dot(cri_v3_sub(z, next), step) > 0.0;
        double larger = 0.5 * (1.0 + sqrt(1.0 + 4.0 * momentum * momentum));
        z = is_uphill ? next : cri_v3_mad(next, (momentum - 1.0) / larger, step);
        momentum = is_uphill ? 1.0 : larger;
        x = next;
        if (k % 8 != 0) {
            continue;
        }
        brute_distance now = {.value = INFINITY};
        take_nearer(x, brute_project(b, x), &now);
        if (now.value < 1e-9) {
            return false;
        }
        now.slack = now.value - separation(p, now.normal);
        if (now.slack < out->slack) {
            *out = now;
        }
        // as good as rounding allows
        if (out->slack <= 2e-15 * (1.0 + cri_v3_norm(x))) {
            break;
        }
    }
    return out->value - out->slack > 0.0;
}

// ---- curved, overlapping -----------------------------------------------------------------------

// two unit vectors across n
static void frame_of(cri_vec3 n, cri_vec3 *u, cri_vec3 *v) {
    cri_vec3 other = fabs(n.x) < 0.6 ? cri_v3(1, 0, 0) : cri_v3(0, 1, 0);
    *u = cri_v3_cross(n, other);
    *u = cri_v3_scale(1.0 / cri_v3_norm(*u), *u);
    *v = cri_v3_cross(n, *u);
}

// s near n, over the plane that touches the sphere there
typedef struct chart {
    const pair *p;
    cri_vec3 n, u, v;
} chart;

static cri_vec3 chart_at(const chart *c, double a, double b) {
    cri_vec3 n = cri_v3_mad(cri_v3_mad(c->n, a, c->u), b, c->v);
    return cri_v3_scale(1.0 / cri_v3_norm(n), n);
}

// to be made small
static double chart_depth(const chart *c, const double x[2]) {
    return -separation(c->p, chart_at(c, x[0], x[1]));
}

static int by_depth(const void *a, const void *b) {
    const double *x = a;
    const double *y = b;
    return (x[2] > y[2]) - (x[2] < y[2]);
}

// one pass of the method; corners are (a, b, depth)
static void nelder_mead(const chart *c, double size, double best[3]) {
    double s[3][3] = {{0, 0, 0}, {size, 0, 0}, {-0.5 * size, 0.8 * size, 0}};
    for (int i = 0; i < 3; i++) {
        s[i][2] = chart_depth(c, s[i]);
    }
    for (int k = 0; k < 200; k++) {
        qsort(s, 3, sizeof s[0], by_depth);
        if (fabs(s[2][0] - s[0][0]) + fabs(s[2][1] - s[0][1]) < 1e-13) {
            break;
        }
        // away from the worst corner: reflected, farther, or less far
        static const double reach[] = {1.0, 2.0, 0.5, -0.5};
        double trial[4][3];
        for (int i = 0; i < 4; i++) {
            for (int j = 0; j < 2; j++) {
                double middle = 0.5 * (s[0][j] + s[1][j]);
                trial[i][j] = middle + reach[i] * (middle - s[2][j]);
            }
            trial[i][2] = chart_depth(c, trial[i]);
        }
        qsort(trial, 4, sizeof trial[0], by_depth);
        bool is_better = trial[0][2] < s[1][2];
        for (int j = 0; j < 3; j++) {
            if (is_better) {
                s[2][j] = trial[0][j];
            } else if (j < 2) {
                s[1][j] = 0.5 * (s[1][j] + s[0][j]);
                s[2][j] = 0.5 * (s[2][j] + s[0][j]);
            }
        }
        if (!is_better) {
            s[1][2] = chart_depth(c, s[1]);
            s[2][2] = chart_depth(c, s[2]);
        }
    }
    qsort(s, 3, sizeof s[0], by_depth);
    for (int j = 0; j < 3; j++) {
        best[j] = s[0][j];
    }
}

// least depth over |x[axis]| <= size, and over the other coordinate inside when axis is 0
static double golden(const chart *c, int axis, double size, double x[2]) {
    double at[2] = {-size, size};
    double inner[2] = {at[1] - GOLDEN * 2.0 * size, at[0] + GOLDEN * 2.0 * size};
    double depth[2];
    for (int k = -1; k < 45; k++) {
        // which of the two inner points is new
        int from = k < 0 ? 0 : depth[0] < depth[1] ? 0 : 1;
        if (k >= 0) {
            at[1 - from] = inner[1 - from];
            inner[1 - from] = inner[from];
            depth[1 - from] = depth[from];
            inner[from] =
                from ? at[0] + GOLDEN * (at[1] - at[0]) : at[1] - GOLDEN * (at[1] - at[0]);
        }
        for (int i = from; i < (k < 0 ? 2 : from + 1); i++) {
            x[axis] = inner[i];
            depth[i] = axis == 0 ? golden(c, 1, size, x) : chart_depth(c, x);
        }
    }
    int best = depth[0] < depth[1] ? 0 : 1;
    x[axis] = inner[best];
    return axis == 0 ? golden(c, 1, size, x) : depth[best];
}

static void refine(const pair *p, brute_distance *d) {
    for (int round = 0; round < 3; round++) {
        chart c = {.p = p, .n = d->normal};
        frame_of(c.n, &c.u, &c.v);
        double x[3];
        nelder_mead(&c, round == 0 ? 0.05 : 0.005, x);
        improve(p, chart_at(&c, x[0], x[1]), d);
    }
}

static void polish(const pair *p, brute_distance *d) {
    for (double size = 1e-2; size > 1e-9; size *= 1e-2) {
        chart c = {.p = p, .n = d->normal};
        frame_of(c.n, &c.u, &c.v);
        double x[2] = {0, 0};
        golden(&c, 0, size, x);
        improve(p, chart_at(&c, x[0], x[1]), d);
    }
}

// normals that faces, edges and axes of the two suggest
static void improve_by_features(const pair *p, brute_distance *best) {
    for (int side = 0; side < 2; side++) {
        const brute_body *a = p->body[side];
        const brute_body *b = p->body[1 - side];
        for (int k = 0; k < a->n_triangle; k++) {
            improve(p, a->normal[k], best);
        }
        if (a->kind != BRUTE_CYLINDER) {
            continue;
        }
        cri_vec3 axis = cri_m3_mul(&a->pose.R, cri_v3(0, 0, 1));
        improve(p, axis, best);
        for (int k = 0; k < b->n_edge; k++) {
            improve(p, cri_v3_cross(axis, edge_of(b, k)), best);
        }
        if (b->kind == BRUTE_CYLINDER) {
            improve(p, cri_v3_cross(axis, cri_m3_mul(&b->pose.R, cri_v3(0, 0, 1))), best);
        }
    }
}

typedef struct ranked {
    double value;
    int index;
    cri_vec3 n;
} ranked;

static int by_value(const void *a, const void *b) {
    const ranked *x = a;
    const ranked *y = b;
    int by_index = (x->index > y->index) - (x->index < y->index);
    return x->value != y->value ? (x->value < y->value ? 1 : -1) : by_index;
}

// all directions, best first; a spiral with equal areas
static void rank_directions(const pair *p, ranked *all) {
    for (int i = 0; i < N_DIRECTION; i++) {
        double z = 1.0 - (2.0 * i + 1.0) / N_DIRECTION;
        double r = sqrt(1.0 - z * z);
        double angle = 2.0 * 3.14159265358979323846 * GOLDEN * i;
        all[i].n = cri_v3(r * cos(angle), r * sin(angle), z);
        all[i].index = i;
        all[i].value = separation(p, all[i].n);
    }
    qsort(all, N_DIRECTION, sizeof *all, by_value);
}

static brute_distance search(const pair *p) {
    brute_distance best = {.value = -INFINITY};
    improve_by_features(p, &best);
    ranked *all = malloc(N_DIRECTION * sizeof *all);
    if (!all) {
        abort();
    }
    rank_directions(p, all);
    cri_vec3 taken[N_START];
    int n = 0;
    for (int i = 0; i < N_DIRECTION && n < N_START; i++) {
        bool is_new = true;
        for (int k = 0; k < n; k++) {
            is_new = is_new && cri_v3_dot(taken[k], all[i].n) < cos(START_APART);
        }
        if (is_new) {
            taken[n++] = all[i].n;
            brute_distance d = {.value = all[i].value, .normal = all[i].n};
            refine(p, &d);
            best = d.value > best.value ? d : best;
        }
    }
    free(all);
    polish(p, &best);
    return best;
}

// ---- shapes ------------------------------------------------------------------------------------

static cri_vec3 plane_normal(const cri_pose *pose) {
    return cri_m3_mul(&pose->R, cri_v3(0, 0, 1));
}

// both bodies, on the heap for their size
static brute_body *bodies_of(const cri_shape shape[2], const cri_pose pose[2], pair *p) {
    brute_body *body = malloc(2 * sizeof *body);
    if (!body) {
        abort();
    }
    for (int i = 0; i < 2; i++) {
        p->body[i] = &body[i];
        if (shape[i].kind != CRI_SHAPE_PLANE) {
            brute_body_of(&shape[i], &pose[i], &body[i]);
        }
    }
    return body;
}

double brute_separation(const cri_shape shape[2], const cri_pose pose[2], cri_vec3 n) {
    pair p;
    brute_body *body = bodies_of(shape, pose, &p);
    double s;
    if (shape[0].kind == CRI_SHAPE_PLANE) {
        cri_vec3 near = brute_support(&body[1], cri_v3_scale(-1.0, n));
        s = cri_v3_dot(n, cri_v3_sub(near, pose[0].pos)) - body[1].radius;
    } else {
        s = separation(&p, n) - body[0].radius - body[1].radius;
    }
    free(body);
    return s;
}

static brute_distance without_radius(const pair *p) {
    if (p->body[0]->kind == BRUTE_POLYTOPE && p->body[1]->kind == BRUTE_POLYTOPE) {
        return polytopes(p);
    }
    brute_distance out;
    return project_apart(p, &out) ? out : search(p);
}

brute_distance brute_distance_of(const cri_shape shape[2], const cri_pose pose[2]) {
    if (shape[0].kind == CRI_SHAPE_PLANE) {
        cri_vec3 n = plane_normal(&pose[0]);
        return (brute_distance){brute_separation(shape, pose, n), n, 0.0};
    }
    pair p;
    brute_body *body = bodies_of(shape, pose, &p);
    brute_distance out = without_radius(&p);
    out.value -= body[0].radius + body[1].radius;
    free(body);
    return out;
}

brute_distance brute_distance_search(const cri_shape shape[2], const cri_pose pose[2]) {
    pair p;
    brute_body *body = bodies_of(shape, pose, &p);
    brute_distance out = search(&p);
    out.value -= body[0].radius + body[1].radius;
    free(body);
    return out;
}
