// SPDX-License-Identifier: MIT
//
// E = sum over corner-triangle pairs of b(d) + sum over edge-edge pairs of m b(d)
//
//   b = -(d - D)^2 log(d/D) for d < D        (IPC's barrier on distances, stiffness left out)
//   m = (c/x)(2 - c/x) for c = |e1 x e2|^2 < x = 1e-3 |e1|^2 |e2|^2, else 1
//
// Derivatives of one term are in barrier_term.c; none in vertices is kept.

#include "energy/barrier.h"

#include "energy/barrier_parts.h"
#include "energy/hull_barrier.h"
#include "energy/longrange_parts.h"
#include "energy/penalty.h"
#include "geometry/convex/feature_distance.h"
#include "geometry/mesh/triangle_pair.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_WAIT = 160 };

typedef struct barrier_walk {
    const cri_barrier_options *options;
    const cri_barrier_body *body[2];
    cri_longrange_order order;
    cri_longrange_result *out;
    cri_vec3 between; // position of the first less that of the second
} barrier_walk;

void cri_barrier_of_distance(const cri_barrier_options *options, double d, double value[3]) {
    if (options->kind == CRI_BARRIER_GLOBAL) {
        cri_centred_potential(d, options->ell, value);
        value[0] += 12.0;
        return;
    }
    if (options->kind == CRI_BARRIER_NONE) {
        cri_penalty_of(options->reach, d, value);
        return;
    }
    memset(value, 0, 3 * sizeof *value);
    double D = options->reach, room = D - d;
    if (room > 0.0) {
        double q = D / d, l = log(q);
        value[0] = room * room * l;
        value[1] = -room * (2.0 * l + q - 1.0);
        value[2] = (q + 2.0) * q + 2.0 * l - 3.0;
    }
}

bool cri_barrier_mollify(const cri_vec3 x[4], double *weight, double g[12], double H[144]) {
    cri_vec3 e1 = cri_v3_sub(x[1], x[0]), e2 = cri_v3_sub(x[3], x[2]);
    double a = cri_v3_dot(e1, e1), b = cri_v3_dot(e2, e2), dot = cri_v3_dot(e1, e2);
    cri_vec3 cross = cri_v3_cross(e1, e2);
    double c = cri_v3_dot(cross, cross), top = 1e-3 * a * b;
    *weight = 1.0;
    if (!(c < top)) {
        return false;
    }
    *weight = c / top * (2.0 - c / top);
    double slope = 2.0 / top * (1.0 - c / top), bend = -2.0 / (top * top);

    // derivatives of c in the edges, then of the weight in the ends
    double E1[3], E2[3], dc[6], d2c[36];
    cri_v3_store(e1, E1);
    cri_v3_store(e2, E2);
    for (int i = 0; i < 3; i++) {
        dc[i] = 2.0 * (b * E1[i] - dot * E2[i]);
        dc[i + 3] = 2.0 * (a * E2[i] - dot * E1[i]);
        for (int j = 0; j < 3; j++) {
            double one = i == j ? 1.0 : 0.0;
            double mixed = 2.0 * (2.0 * E1[i] * E2[j] - E2[i] * E1[j] - one * dot);
            d2c[6 * i + j] = 2.0 * (one * b - E2[i] * E2[j]);
            d2c[6 * (i + 3) + j + 3] = 2.0 * (one * a - E1[i] * E1[j]);
            d2c[6 * i + j + 3] = mixed;
            d2c[6 * (j + 3) + i] = mixed;
        }
    }
    for (int i = 0; i < 12; i++) {
        int k = i / 6 * 3 + i % 3; // entry of (e1, e2)
        double si = i / 3 % 2 ? 1.0 : -1.0;
        g[i] = si * slope * dc[k];
        for (int j = 0; j < 12; j++) {
            int l = j / 6 * 3 + j % 3;
            double sj = j / 3 % 2 ? 1.0 : -1.0;
            H[12 * i + j] = si * sj * (slope * d2c[6 * k + l] + bend * dc[k] * dc[l]);
        }
    }
    return true;
}

// ---- two triangles -----------------------------------------------------------------------------

/// b(d) in the four points. False when it is zero; infinite at distance zero.
static bool energy_of(const barrier_walk *w, const cri_feature_distance *f, cri_barrier_term *t) {
    double b[3];
    if (w->options->kind == CRI_BARRIER_LOCAL && f->distance >= w->options->reach) {
        return false;
    }
    if (!(f->distance > 0.0)) {
        memset(t->g, 0, sizeof t->g);
        t->value = INFINITY;
        return true;
    }
    cri_barrier_of_distance(w->options, f->distance, b);
    cri_barrier_term_set(b, f, t);
    return true;
}

/// Point k of a term is corner v of a triangle's body.
static void take_point(const barrier_walk *w, int side, int v, int k, cri_barrier_term *t) {
    t->side[k] = side;
    t->r[k] = cri_v3_load(w->body[side]->body.r + 3 * (size_t)v);
    t->x[k] = side ? t->r[k] : cri_v3_add(t->r[k], w->between);
}

/// The corners that a triangle of one side stands for against a triangle of the other.
static void add_corners(barrier_walk *w, int side, int own, const int v[3], const int other[3]) {
    for (int i = 0; i < 3; i++) {
        cri_barrier_term t;
        if (!(own >> i & 1)) {
            continue;
        }
        take_point(w, side, v[i], 0, &t);
        for (int k = 0; k < 3; k++) {
            take_point(w, !side, other[k], 1 + k, &t);
        }
        cri_feature_distance f = cri_point_triangle_distance(t.x);
        if (energy_of(w, &f, &t)) {
            cri_barrier_term_add(&t, w->order, w->out);
        }
    }
}

static void add_edges(barrier_walk *w, const int own[2], const int va[3], const int vb[3]) {
    for (int i = 0; i < 9; i++) {
        int ea = i / 3, eb = i % 3;
        cri_barrier_term t;
        if (!(own[0] >> (3 + ea) & 1) || !(own[1] >> (3 + eb) & 1)) {
            continue;
        }
        take_point(w, 0, va[ea], 0, &t);
        take_point(w, 0, va[(ea + 1) % 3], 1, &t);
        take_point(w, 1, vb[eb], 2, &t);
        take_point(w, 1, vb[(eb + 1) % 3], 3, &t);
        cri_feature_distance f = cri_edge_edge_distance(t.x);
        if (energy_of(w, &f, &t)) {
            if (isfinite(t.value)) {
                cri_barrier_term_mollify(w->order, &t);
            }
            cri_barrier_term_add(&t, w->order, w->out);
        }
    }
}

static bool is_out_of_reach(const barrier_walk *w, const int va[3], const int vb[3]) {
    cri_vec3 x[6];
    if (w->options->kind != CRI_BARRIER_LOCAL) {
        return false;
    }
    for (int k = 0; k < 3; k++) {
        x[k] = cri_v3_add(cri_v3_load(w->body[0]->body.r + 3 * (size_t)va[k]), w->between);
        x[k + 3] = cri_v3_load(w->body[1]->body.r + 3 * (size_t)vb[k]);
    }
    return cri_triangle_far(x, x + 3, w->options->reach);
}

static void add_triangles(barrier_walk *w, int ta, int tb) {
    const int *va = w->body[0]->body.tree->triangle + 3 * (size_t)ta;
    const int *vb = w->body[1]->body.tree->triangle + 3 * (size_t)tb;
    if (is_out_of_reach(w, va, vb)) {
        return;
    }
    const int own[2] = {w->body[0]->owner[ta], w->body[1]->owner[tb]};
    add_corners(w, 0, own[0], va, vb);
    add_corners(w, 1, own[1], vb, va);
    add_edges(w, own, va, vb);
}

void cri_barrier_pair(const cri_barrier_options *options, const cri_barrier_body *a,
                      const cri_barrier_body *b, cri_longrange_order order,
                      cri_longrange_result *out) {
    CR_ASSERT(options->kind != CRI_BARRIER_NONE);
    CR_ASSERT(options->kind == CRI_BARRIER_LOCAL ? options->reach > 0.0 : options->ell > 0.0);
    const cri_sphere_tree *ta = a->body.tree, *tb = b->body.tree;
    cri_vec3 between = cri_v3_sub(a->body.pose.pos, b->body.pose.pos);
    barrier_walk w = {options, {a, b}, order, out, between};
    double reach = options->kind == CRI_BARRIER_LOCAL ? options->reach : INFINITY;
    int wait[MAX_WAIT][2] = {{0, 0}}, n_wait = 1;
    memset(out, 0, sizeof *out);
    while (n_wait > 0) {
        int i = wait[--n_wait][0], j = wait[n_wait][1];
        cri_vec3 d = cri_v3_sub(cri_v3_load(a->body.node[i].r), cri_v3_load(b->body.node[j].r));
        double L = cri_v3_norm(cri_v3_add(between, d));
        out->n_visit++;
        if (L > a->body.node[i].radius + b->body.node[j].radius + reach) {
            continue;
        }
        if (!ta->right[i] && !tb->right[j]) {
            add_triangles(&w, ta->leaf[i], tb->leaf[j]);
            continue;
        }
        CR_ASSERT(n_wait + 2 <= MAX_WAIT);
        n_wait = cri_push_children(ta, i, tb, j, wait, n_wait);
    }
    cri_longrange_charts(&out->affine, out->g);
}

// ---- what triangles stand for ------------------------------------------------------------------

typedef struct owned_edge {
    int low, high; // vertices
    int place;     // 3 triangle + edge
} owned_edge;

static int by_vertices(const void *a, const void *b) {
    const owned_edge *p = a, *q = b;
    if (p->low != q->low) {
        return p->low < q->low ? -1 : 1;
    }
    if (p->high != q->high) {
        return p->high < q->high ? -1 : 1;
    }
    return (p->place > q->place) - (p->place < q->place);
}

const unsigned char *cri_barrier_owners(const cri_sphere_tree *tree, cr_arena *arena) {
    size_t n = 3 * (size_t)tree->n_triangle;
    unsigned char *owner = CR_PUSH(arena, unsigned char, tree->n_triangle);
    cri_arena_mark mark = cri_arena_get_mark(arena);
    unsigned char *is_taken = CR_PUSH(arena, unsigned char, tree->n_vertex);
    owned_edge *edge = CR_PUSH(arena, owned_edge, n);
    if (!owner || !is_taken || !edge) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        int v = tree->triangle[i], next = tree->triangle[i - i % 3 + (i + 1) % 3];
        edge[i] = (owned_edge){v < next ? v : next, v < next ? next : v, (int)i};
        if (!is_taken[v]) {
            is_taken[v] = 1;
            owner[i / 3] = (unsigned char)(owner[i / 3] | 1U << i % 3);
        }
    }
    qsort(edge, n, sizeof *edge, by_vertices);
    for (size_t i = 0; i < n; i++) {
        bool is_first =
            i == 0 || edge[i].low != edge[i - 1].low || edge[i].high != edge[i - 1].high;
        if (is_first && edge[i].low != edge[i].high) {
            int t = edge[i].place / 3;
            owner[t] = (unsigned char)(owner[t] | 8U << edge[i].place % 3);
        }
    }
    cri_arena_rewind(arena, mark);
    return owner;
}

// ---- half-space --------------------------------------------------------------------------------

static void height_function(const cri_barrier_options *options, bool is_hull, double height,
                            double b[3]) {
    if (is_hull) {
        cri_hull_barrier_of(options->reach, height, b);
    } else {
        cri_barrier_of_distance(options, height, b);
    }
}

void cri_barrier_half(const cri_barrier_options *options, bool is_hull,
                      const cri_longrange_body *body, const cri_half_space *half,
                      cri_longrange_order order, cri_longrange_half_result *out) {
    double base = cri_v3_dot(half->n, body->pose.pos) - half->offset;
    cri_vec3 t = {0.0, 0.0, 0.0};
    double slope = 0.0;
    memset(out, 0, sizeof *out);
    out->gap = INFINITY;
    for (size_t i = 0; i < (size_t)body->tree->n_vertex; i++) {
        cri_vec3 r = cri_v3_load(body->r + 3 * i);
        double height = base + cri_v3_dot(half->n, r), b[3], e[6];
        out->gap = fmin(out->gap, height);
        if (!(height > 0.0) && options->kind != CRI_BARRIER_NONE) {
            out->value = INFINITY;
            return;
        }
        height_function(options, is_hull, height, b);
        out->value += b[0];
        out->n_exact += b[1] != 0.0;
        slope += b[1];
        t = cri_v3_mad(t, b[1], r);
        cri_v3_store(cri_v3_cross(r, half->n), e);
        cri_v3_store(half->n, e + 3);
        for (int k = 0; order >= CRI_LONGRANGE_HESSIAN && k < 36; k++) {
            out->H[k] += b[2] * e[k / 6] * e[k % 6];
        }
    }
    cri_v3_store(cri_v3_scale(slope, half->n), out->F);
    cri_v3_store(cri_v3_scale(half->n.x, t), out->N);
    cri_v3_store(cri_v3_scale(half->n.y, t), out->N + 3);
    cri_v3_store(cri_v3_scale(half->n.z, t), out->N + 6);
    cri_v3_store(cri_affine_torque(out->N), out->g);
    memcpy(out->g + 3, out->F, sizeof out->F);
}
