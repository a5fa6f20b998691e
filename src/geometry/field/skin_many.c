// SPDX-License-Identifier: MIT
//
// Triangles of one skin that may be low in the net of another, by many points at once.
//
// A ball (c, r) of the tree is left out when phi(c) - L r >= bound, L the slope, as one by one
// (skin.c), but 32 balls are asked together, and those not at all that cannot be left out by the
// value at the ball above. Of the triangles that remain all corners v_k are asked together, with
// gradients; with the lowest corner l and the longest side a, a triangle is left out when
//
//   phi_l - L a/sqrt 3 >= bound          no point is farther from the nearest corner
//   phi_l - max_k (v_l - v_k).g_l >= bound        the gap of Frank-Wolfe (triangle_min.h), where
//                                                 the search itself would end
//
// the second for triangles alone that are not cut into pieces, each with its own search.

#include "geometry/field/skin_parts.h"

#include <string.h>

enum { BALLS = 32, OPEN = BALLS * CRI_TRI_DEPTH };

bool cri_field_is_slow(const cri_field *field) {
    bool is = false;
    for (int k = 0; k < field->n_node; k++) {
        const cri_field_node *node = &field->node[k];
        is = is || (node->kind == CRI_FIELD_CUSTOM && node->custom->many);
    }
    return is;
}

/// Balls that are open, each with a value that phi at its centre cannot exceed.
typedef struct open_balls {
    int n, at[OPEN];
    double most[OPEN];
} open_balls;

// the triangles of a ball, or the two in it
static int expand(const cri_skin_below_rule *r, int at, double most, open_balls *open, int n_face,
                  int *face) {
    const cri_tri_node *node = &r->tree->node[at];
    for (int k = 0; k < node->n; k++) {
        face[n_face++] = r->tree->order[node->first + k];
    }
    const int child[2] = {node->right, at + 1};
    for (int k = 0; k < 2 && node->n == 0; k++) {
        cri_vec3 apart = cri_v3_sub(r->tree->node[child[k]].centre, node->centre);
        CR_ASSERT(open->n < OPEN);
        open->at[open->n] = child[k];
        open->most[open->n++] = most + r->slope * cri_v3_norm(apart);
    }
    return n_face;
}

// triangles of all balls that may be below the bound
static int find_faces(const cri_skin_below_rule *r, int *face) {
    const cri_tri_node *node = r->tree->node;
    open_balls open;
    int n_face = 0;
    open.n = 1;
    open.at[0] = 0;
    open.most[0] = INFINITY;
    while (open.n > 0) {
        double x[3 * BALLS], phi[BALLS];
        int asked[BALLS], m = 0;
        while (open.n > 0 && m < BALLS) {
            int at = open.at[--open.n];
            double most = open.most[open.n];
            if (most - r->slope * node[at].radius < r->bound) {
                n_face = expand(r, at, most, &open, n_face, face);
                continue;
            }
            cri_v3_store(cri_pose_out(r->place, node[at].centre), x + 3 * m);
            asked[m++] = at;
        }
        cri_field_phi_many(r->field, m, x, phi);
        for (int i = 0; i < m; i++) {
            if (phi[i] - r->slope * node[asked[i]].radius < r->bound) {
                n_face = expand(r, asked[i], phi[i], &open, n_face, face);
            }
        }
    }
    return n_face;
}

/// Corners in the field, each once.
typedef struct corners {
    int n;
    int *number; // (n_vertex) -1: not among them
    double *x, *phi, *g;
} corners;

static bool push_corners(const cri_skin_below_rule *r, int n_face, const int *face,
                         cr_arena *scratch, corners *c) {
    const cri_tri_tree *tree = r->tree;
    size_t n_vertex = (size_t)tree->mesh.n_vertex;
    c->n = 0;
    c->number = CR_PUSH_RAW(scratch, int, n_vertex);
    c->x = CR_PUSH_RAW(scratch, double, 7 * n_vertex);
    if (!c->number || !c->x) {
        return false;
    }
    memset(c->number, 0xff, sizeof *c->number * n_vertex);
    for (int i = 0; i < n_face; i++) {
        for (int k = 0; k < 3; k++) {
            int v = tree->mesh.face[3 * (size_t)face[i] + (size_t)k];
            if (c->number[v] < 0) {
                cri_vec3 V = cri_v3_load(tree->mesh.vertex + 3 * (size_t)v);
                cri_v3_store(cri_pose_out(r->place, V), c->x + 3 * (size_t)c->n);
                c->number[v] = c->n++;
            }
        }
    }
    c->phi = c->x + 3 * n_vertex;
    c->g = c->phi + n_vertex;
    return true;
}

// may a triangle be below the bound? *lowest gets its lowest corner's value
static bool may_be_below(const cri_skin_below_rule *r, int face, const corners *c, double *lowest) {
    cri_vec3 V[3];
    double phi[3], longest = 0.0, gain = 0.0;
    int at[3], low = 0;
    for (int k = 0; k < 3; k++) {
        at[k] = c->number[r->tree->mesh.face[3 * (size_t)face + (size_t)k]];
        V[k] = cri_v3_load(c->x + 3 * (size_t)at[k]);
        phi[k] = c->phi[at[k]];
        low = phi[k] < phi[low] ? k : low;
    }
    cri_vec3 g = cri_v3_load(c->g + 3 * (size_t)at[low]);
    for (int k = 0; k < 3; k++) {
        longest = cri_larger(longest, cri_v3_norm(cri_v3_sub(V[(k + 1) % 3], V[k])));
        gain = cri_larger(gain, cri_v3_dot(cri_v3_sub(V[low], V[k]), g));
    }
    *lowest = phi[low];
    return phi[low] - r->slope * 0.578 * longest < r->bound &&
           (longest > r->large || phi[low] - gain < r->bound);
}

int cri_skin_below(const cri_skin_below_rule *r, cr_arena *scratch, int **face) {
    corners c;
    double least = INFINITY;
    int n = 0, n_face;
    *face = CR_PUSH_RAW(scratch, int, r->tree->mesh.n_face);
    if (!*face) {
        return -1;
    }
    n_face = find_faces(r, *face);
    if (!push_corners(r, n_face, *face, scratch, &c)) {
        return -1;
    }
    cri_field_gradient_many(r->field, c.n, c.x, c.phi, c.g);
    for (int i = 0; i < n_face; i++) {
        double lowest;
        int one = (*face)[i];
        if (may_be_below(r, one, &c, &lowest)) {
            (*face)[n++] = one;
            if (lowest < least) {
                (*face)[n - 1] = (*face)[0];
                (*face)[0] = one;
                least = lowest;
            }
        }
    }
    return n;
}
