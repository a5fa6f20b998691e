// SPDX-License-Identifier: MIT
//
// Exact pairs of triangles in the walk down two sphere trees: planes, forces and what they add,
// four pairs at once, a lane each (base/math/lane.h). Lanes without a pair repeat the first one
// with the weight 0.
//
// Planes are remembered in the frame of the first body, in a table by hash: a plane that is lost
// costs time, never the result.

#include "energy/longrange_parts.h"

#include <string.h>

typedef cri_longrange_walk walk;
typedef cri_longrange_shell shell;
typedef cri_longrange_lanes lanes;

/// Who the four are.
typedef struct quartet {
    int n; // that are not repeated
    const int *corner[CRI_LANES][2];
    int triangle[CRI_LANES][2];
    shell *in[CRI_LANES];
    int index[CRI_LANES]; // of the shell
    cri_longrange_slot *slot[CRI_LANES];
    uint64_t key[CRI_LANES];
} quartet;

// ---- remembered planes -------------------------------------------------------------------------

/// The slot of a pair of triangles, NULL without warm data.
static cri_longrange_slot *slot_of(const cri_longrange_warm *warm, int n_second, int ta, int tb,
                                   uint64_t *key) {
    *key = 1 + (uint64_t)ta * (uint64_t)n_second + (uint64_t)tb;
    if (!warm || warm->n_slot < 1) {
        return NULL;
    }
    // multiplicative hashing, by 2^64 over the golden ratio
    uint64_t hash = (*key * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
    return warm->slot + (hash & (uint64_t)(warm->n_slot - 1));
}

bool cri_longrange_recall(const cri_longrange_warm *warm, int n_second, int first, int second,
                          cri_vec3 *n) {
    uint64_t key;
    const cri_longrange_slot *slot = slot_of(warm, n_second, first, second, &key);
    if (!slot || slot->key != key || slot->age != warm->age) {
        return false;
    }
    *n = cri_v3_load(slot->n);
    return true;
}

/// R n, or R' n
static cri_lane3 turn(const cri_mat3 *R, bool is_back, cri_lane3 n) {
    const double *m = R->m;
    int row = is_back ? 1 : 3, column = is_back ? 3 : 1;
    return cri_l3(m[0] * n.x + m[column] * n.y + m[2 * column] * n.z,
                  m[row] * n.x + m[row + column] * n.y + m[row + 2 * column] * n.z,
                  m[2 * row] * n.x + m[2 * row + column] * n.y + m[2 * row + 2 * column] * n.z);
}

static void recall(const walk *w, const quartet *of, cri_plane_hints *hints) {
    static const cri_longrange_slot none;
    const cri_longrange_slot *slot[CRI_LANES];
    const double *n[CRI_LANES];
    for (int i = 0; i < CRI_LANES; i++) {
        const cri_longrange_slot *at = of->slot[i];
        bool is_known = at && at->key == of->key[i] && at->age == w->warm->age;
        slot[i] = is_known ? of->slot[i] : &none;
        n[i] = slot[i]->n;
        hints->is_known[i] = is_known ? -1 : 0;
    }
    hints->n = turn(&w->a->pose.R, false, cri_l3_load(n));
    hints->offset = (cri_lane){slot[0]->offset, slot[1]->offset, slot[2]->offset, slot[3]->offset} -
                    cri_l3_dot(hints->n, cri_l3_of(w->between));
}

static void remember(const walk *w, const quartet *of, const cri_plane_lanes *p) {
    if (!of->slot[0]) {
        return;
    }
    cri_lane3 n = turn(&w->a->pose.R, true, p->n);
    cri_lane offset = -cri_l3_dot(p->n, cri_l3_sub(p->c, cri_l3_of(w->between)));
    for (int i = 0; i < of->n; i++) {
        of->slot[i]->key = of->key[i];
        of->slot[i]->age = w->warm->age;
        cri_v3_store(cri_l3_get(&n, i), of->slot[i]->n);
        of->slot[i]->offset = offset[i];
    }
}

// ---- planes and forces -------------------------------------------------------------------------

static void gather(walk *w, quartet *of, lanes *x) {
    const cri_sphere_tree *ta = w->a->tree, *tb = w->b->tree;
    of->n = w->n_late;
    for (int i = 0; i < CRI_LANES; i++) {
        const cri_leaf_pair *pair = &w->late[i < of->n ? i : 0];
        of->triangle[i][0] = ta->leaf[pair->leaf.first];
        of->triangle[i][1] = tb->leaf[pair->leaf.second];
        of->corner[i][0] = ta->triangle + 3 * (size_t)of->triangle[i][0];
        of->corner[i][1] = tb->triangle + 3 * (size_t)of->triangle[i][1];
        of->index[i] = pair->shell;
        of->in[i] = &w->shells[pair->shell];
        of->slot[i] =
            slot_of(w->warm, tb->n_triangle, of->triangle[i][0], of->triangle[i][1], &of->key[i]);
        x->weight[i] = i < of->n ? of->in[i]->inner : 0.0;
    }
    for (int k = 0; k < 6; k++) {
        const double *from = k < 3 ? w->a->r : w->b->r;
        const double *at[CRI_LANES];
        for (int i = 0; i < CRI_LANES; i++) {
            at[i] = from + 3 * (size_t)of->corner[i][k / 3][k % 3];
        }
        x->r[k] = cri_l3_load(at);
    }
}

/// As cri_plane_forces.
static void set_forces(double ell, lanes *x) {
    static const double sqrt_12 = 3.46410161513775458705;
    cri_lane root = cri_lane_sqrt(ell * x->plane.W), over = 1.0 / (sqrt_12 + root);
    cri_lane z = root * over, rest = sqrt_12 * over;
    x->excess = root * (2.0 * sqrt_12 + root);
    x->ratio = z / ell;
    x->scale = 0.5 * rest * x->ratio / x->plane.W;
    cri_lane inverse = 1.0 / x->ratio;
    for (int k = 0; k < 6; k++) {
        x->q[k] = x->plane.inverse[k] * x->plane.inverse[k] * inverse;
        x->h[k] = 2.0 * x->q[k] * x->plane.inverse[k];
    }
}

static void force_of_lane(const lanes *x, int lane, cri_plane_force *out) {
    cri_plane_of_lane(&x->plane, lane, &out->plane);
    out->excess = x->excess[lane];
    out->value = 12.0 + out->excess;
    out->ratio = x->ratio[lane];
    out->scale = x->scale[lane];
    for (int k = 0; k < 6; k++) {
        out->q[k] = x->q[k][lane];
        out->h[k] = x->h[k][lane];
    }
}

/// Solves for the planes. False when triangles touch.
static bool solve(const walk *w, const quartet *of, lanes *x) {
    cri_plane_hints hints;
    cri_lane3 corner[6], between = cri_l3_of(w->between);
    for (int k = 0; k < 6; k++) {
        corner[k] = k < 3 ? cri_l3_add(x->r[k], between) : x->r[k];
    }
    recall(w, of, &hints);
    cri_mask is_found = cri_plane_solve_lanes(corner, &hints, &x->plane);
    if (cri_mask_any(~is_found)) {
        return false;
    }
    remember(w, of, &x->plane);
    set_forces(w->options->ell, x);
    return true;
}

// ---- what they add -----------------------------------------------------------------------------

/// Derivatives of the weight of a near pair in the shells around it, innermost at.
static void weigh(const walk *w, int at, cri_longrange_near *near) {
    double *grad = near->weight_grad;
    int chain[CRI_LONGRANGE_SHELLS], n = w->shells[at].depth;
    CR_ASSERT(n < CRI_LONGRANGE_SHELLS);
    for (int i = n; i-- > 0; at = w->shells[at].around) {
        chain[i] = at;
    }
    for (int i = 0; i < n; i++) {
        const shell *s = &w->shells[chain[i]];
        const cri_longrange_line *line = &s->line;
        double slope = -s->phi[1];
        for (int k = 0; k < n; k++) {
            slope *= k == i ? 1.0 : 1.0 - w->shells[chain[k]].phi[0];
        }
        if (slope == 0.0) {
            continue;
        }
        cri_vec3 u = cri_v3_scale(slope, line->u);
        cri_v3_accumulate(cri_v3_cross(line->ra, u), grad);
        cri_v3_accumulate(u, grad + 3);
        cri_v3_accumulate(cri_v3_cross(u, line->rb), grad + 6);
        cri_v3_accumulate(cri_v3_scale(-1.0, u), grad + 9);
        double d1 = w->a->node[s->node.first].radius + w->b->node[s->node.second].radius;
        CR_ASSERT(near->n_shell < CRI_NEAR_SHELLS);
        near->shell[near->n_shell++] =
            (cri_near_shell){{s->node.first, s->node.second}, slope, line->L / d1, line->u};
    }
}

/// To whom takes or differentiates single pairs.
static void hand_on(walk *w, const quartet *of, const lanes *x) {
    for (int i = 0; i < of->n; i++) {
        cri_plane_force f;
        force_of_lane(x, i, &f);
        if (w->shape) {
            cri_longrange_shape_exact(w, of->index[i], of->corner[i][0], of->corner[i][1], &f);
        }
        if (w->taker) {
            cri_longrange_near near = {.triangle = {of->triangle[i][0], of->triangle[i][1]},
                                       .weight = of->in[i]->inner,
                                       .force = &f};
            weigh(w, of->index[i], &near);
            w->taker->take(w->taker->context, &near);
        }
    }
}

static void note(walk *w, const quartet *of, const lanes *x) {
    const cri_lane *s = x->plane.s;
    cri_lane room = cri_lane_smaller(s[0], cri_lane_smaller(s[1], s[2])) +
                    cri_lane_smaller(s[3], cri_lane_smaller(s[4], s[5]));
    for (int i = 0; i < of->n; i++) {
        w->out->n_step += (int)x->plane.n_step[i];
        w->out->worst_gap = cri_larger(w->out->worst_gap, fabs(x->plane.gap[i]));
        w->out->gap = cri_smaller(w->out->gap, room[i]);
    }
}

bool cri_longrange_solve_late(walk *w) {
    if (w->n_late == 0) {
        return true;
    }
    quartet of;
    lanes x;
    gather(w, &of, &x);
    w->n_late = 0;
    if (!solve(w, &of, &x)) {
        return false;
    }
    note(w, &of, &x);
    double constant = w->options->has_constant ? 12.0 : 0.0;
    for (int i = 0; i < of.n; i++) {
        of.in[i]->part.value += x.excess[i] + constant;
    }
    if (w->order >= CRI_LONGRANGE_GRADIENT) {
        cri_lane part[21];
        cri_longrange_pair_gradients(&x, part);
        for (int i = 0; i < of.n; i++) {
            cri_affine_gradient *sum = &of.in[i]->part.affine;
            for (int k = 0; k < 3; k++) {
                sum->F[k] += part[k][i];
            }
            for (int k = 0; k < 9; k++) {
                sum->N[0][k] += part[3 + k][i];
                sum->N[1][k] += part[12 + k][i];
            }
        }
    }
    if (w->order >= CRI_LONGRANGE_HESSIAN) {
        cri_longrange_add_pair_hessians(&x, &w->sum, &w->out->poles);
    }
    if (w->shape || w->taker) {
        hand_on(w, &of, &x);
    }
    return true;
}
