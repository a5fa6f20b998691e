// SPDX-License-Identifier: MIT
//
// Potential of two bodies by their sphere trees (equations 6 to 8 of the long-range contact
// potential).
//
// For nodes I, J with centres L apart, d1 = R_I + R_J, d2 = (1 + eps) d1:
//
//   P(I, J) = (1 - phi) A + phi C,    phi = blend of L over [d1, d2],   C = 12 (1 + sqrt(ell/L))^2
//   A = sum over children of both, or the exact potential of two triangles
//
//   grad = (1 - phi) gA + k e,   k = phi C' + (C - A) phi',   e = grad L
//   Hess = (1 - phi) HA + (phi C'' + (C - A) phi'') e e' + k Hess L + phi' (e dg' + dg e'),
//   dg = C' e - gA
//
// From d2 on a pair of nodes is one term; up to d1 it is its children. Second derivatives only need
// the value and gradient of A, so they are added with the product of (1 - phi) on the way down, and
// a stack of open shells holds values and gradients. Twice differentiable everywhere; needs only
// that C <= A in a shell, which holds for layered and wrapped spheres.

#include "contact/longrange_parts.h"

#include <stddef.h>
#include <string.h>

typedef cri_longrange_walk walk;
typedef cri_longrange_shell shell;

cri_longrange_options cri_longrange_default(void) {
    return (cri_longrange_options){.ell = 1.0, .eps = 0.1, .has_constant = true};
}

cr_status cri_longrange_check(const cri_longrange_options *options, cr_error *err) {
    if (!(options->ell > 0.0) || !isfinite(options->ell)) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "ell is %g; it is a length, positive and finite",
                        options->ell);
    }
    if (!(options->eps > 0.0) || !isfinite(options->eps)) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "eps is %g; it is the relative width of a shell, positive and finite",
                        options->eps);
    }
    return CR_OK;
}

bool cri_longrange_place(const cri_sphere_tree *tree, const double *vertex, const cri_pose *pose,
                         cr_arena *arena, cri_longrange_body *out) {
    cri_longrange_node *node = CR_PUSH_RAW(arena, cri_longrange_node, tree->n_node);
    double *r = CR_PUSH_RAW(arena, double, 3 * (size_t)tree->n_vertex);
    if (!node || !r) {
        return false;
    }
    for (int i = 0; i < tree->n_node; i++) {
        cri_vec3 c = cri_v3_load(tree->centre + 3 * (size_t)i);
        cri_v3_store(cri_m3_mul(&pose->R, c), node[i].r);
        node[i].radius = tree->radius[i];
    }
    for (int i = 0; i < tree->n_vertex; i++) {
        cri_vec3 v = cri_v3_load(vertex + 3 * (size_t)i);
        cri_v3_store(cri_m3_mul(&pose->R, v), r + 3 * (size_t)i);
    }
    *out = (cri_longrange_body){tree, *pose, node, r, vertex};
    return true;
}

// ---- remembered planes -------------------------------------------------------------------------

/// The slot of a pair of triangles, NULL without warm data.
static cri_longrange_slot *slot_of(const walk *w, int ta, int tb, uint64_t *key) {
    *key = 1 + (uint64_t)ta * (uint64_t)w->b->tree->n_triangle + (uint64_t)tb;
    if (!w->warm || w->warm->n_slot < 1) {
        return NULL;
    }
    // multiplicative hashing, by 2^64 over the golden ratio
    uint64_t hash = (*key * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
    return w->warm->slot + (hash & (uint64_t)(w->warm->n_slot - 1));
}

static cri_plane_hint recall(const walk *w, const cri_longrange_slot *slot) {
    cri_plane_hint hint;
    hint.n = cri_m3_mul(&w->a->pose.R, cri_v3_load(slot->n));
    hint.offset = slot->offset - cri_v3_dot(hint.n, w->between);
    return hint;
}

static void remember(const walk *w, uint64_t key, const cri_plane_pair *p,
                     cri_longrange_slot *slot) {
    slot->key = key;
    cri_v3_store(cri_m3_tmul(&w->a->pose.R, p->n), slot->n);
    slot->offset = -cri_v3_dot(p->n, cri_v3_sub(p->c, w->between));
}

// ---- terms -------------------------------------------------------------------------------------

static double constant_of(const walk *w) {
    return w->options->has_constant ? 12.0 : 0.0;
}

/// The centred potential of nodes i, j at a distance.
static void centred_of(const walk *w, int i, int j, double L, double C[3]) {
    cri_centred_potential(L, w->options->ell, C);
    C[0] += constant_of(w);
    if (w->options->is_counted) {
        int ha = w->a->tree->height[i], hb = w->b->tree->height[j];
        double count = ldexp(1.0, ha < hb ? ha : hb);
        for (int k = 0; k < 3; k++) {
            C[k] *= count;
        }
    }
}

static void add_centred(walk *w, int i, int j, const cri_longrange_line *line) {
    shell *top = &w->shells[w->n_shell - 1];
    double C[3];
    centred_of(w, i, j, line->L, C);
    w->out->n_centred++;
    top->part.value += C[0];
    if (w->order >= CRI_LONGRANGE_GRADIENT) {
        cri_longrange_add_line(line, C[1], &top->part.affine);
    }
    if (w->order >= CRI_LONGRANGE_HESSIAN) {
        double beta = C[1] / line->L;
        cri_longrange_add_moments(line, top->inner * (C[2] - beta), top->inner * beta, &w->sum);
    }
    if (w->shape) {
        cri_longrange_shape_centred(w, (cri_node_pair){i, j}, line, C);
    }
}

/// What a plane leaves between two triangles.
static double room_of(const double s[6]) {
    return fmin(s[0], fmin(s[1], s[2])) + fmin(s[3], fmin(s[4], s[5]));
}

/// Two triangles. False when they touch.
static bool add_exact(walk *w, int i, int j) {
    if (w->is_counting) {
        w->out->n_exact++;
        w->n_near_shell += w->n_shell - 1;
        return true;
    }
    const cri_sphere_tree *ta = w->a->tree, *tb = w->b->tree;
    const int *va = ta->triangle + 3 * (size_t)ta->leaf[i];
    const int *vb = tb->triangle + 3 * (size_t)tb->leaf[j];
    cri_vec3 r[6], x[6];
    for (int k = 0; k < 3; k++) {
        r[k] = cri_v3_load(w->a->r + 3 * (size_t)va[k]);
        r[k + 3] = cri_v3_load(w->b->r + 3 * (size_t)vb[k]);
        x[k] = cri_v3_add(r[k], w->between);
        x[k + 3] = r[k + 3];
    }
    uint64_t key;
    cri_longrange_slot *slot = slot_of(w, ta->leaf[i], tb->leaf[j], &key);
    bool is_known = slot && slot->key == key;
    cri_plane_hint hint = is_known ? recall(w, slot) : (cri_plane_hint){{0, 0, 0}, 0};
    cri_plane_force f;
    if (!cri_plane_solve(x, is_known ? &hint : NULL, &f.plane)) {
        return false;
    }
    if (slot) {
        remember(w, key, &f.plane, slot);
    }
    cri_plane_forces(&f.plane, w->options->ell, &f);
    shell *top = &w->shells[w->n_shell - 1];
    w->out->n_exact++;
    w->out->n_step += f.plane.n_step;
    w->out->worst_gap = fmax(w->out->worst_gap, fabs(f.plane.gap));
    w->out->gap = fmin(w->out->gap, room_of(f.plane.s));
    top->part.value += f.excess + constant_of(w);
    if (w->order >= CRI_LONGRANGE_GRADIENT) {
        cri_longrange_add_pair(&f, r, &top->part.affine);
    }
    if (w->order >= CRI_LONGRANGE_HESSIAN) {
        cri_longrange_add_pair_hessian(&f, r, top->inner, &w->sum, &w->out->poles);
    }
    if (w->shape) {
        cri_longrange_shape_exact(w, va, vb, &f);
    }
    if (w->taker) {
        cri_longrange_near near = {
            .triangle = {ta->leaf[i], tb->leaf[j]}, .weight = top->inner, .force = &f};
        cri_longrange_weigh(w, &near);
        w->taker->take(w->taker->context, &near);
    }
    return true;
}

// ---- shells ------------------------------------------------------------------------------------

static void open_shell(walk *w, int i, int j, const cri_longrange_line *line, double d1) {
    CR_ASSERT(w->n_shell < CRI_LONGRANGE_SHELLS);
    shell *s = &w->shells[w->n_shell];
    s->outer = w->shells[w->n_shell - 1].inner;
    w->n_shell++;
    memset(&s->part, 0, sizeof s->part);
    s->line = *line;
    s->node = (cri_node_pair){i, j};
    centred_of(w, i, j, line->L, s->C);
    cri_blend_weight(line->L, d1, (1.0 + w->options->eps) * d1, s->phi);
    s->inner = s->outer * (1.0 - s->phi[0]);
    if (w->shape) {
        cri_longrange_shape_open(w, s);
    }
}

/// out += s a
static void add_scaled(double s, const cri_affine_gradient *a, cri_affine_gradient *out) {
    for (int i = 0; i < 3; i++) {
        out->F[i] += s * a->F[i];
    }
    for (int i = 0; i < 9; i++) {
        out->N[0][i] += s * a->N[0][i];
        out->N[1][i] += s * a->N[1][i];
    }
}

static void close_shell(walk *w) {
    shell *s = &w->shells[--w->n_shell], *around = s - 1;
    const double *C = s->C, *phi = s->phi;
    double fall = C[0] - s->part.value;
    double k = phi[0] * C[1] + fall * phi[1];
    w->out->worst_drop = fmax(w->out->worst_drop, C[0] / s->part.value);
    around->part.value += s->part.value + phi[0] * fall;
    if (w->order >= CRI_LONGRANGE_GRADIENT) {
        add_scaled(1.0 - phi[0], &s->part.affine, &around->part.affine);
        cri_longrange_add_line(&s->line, k, &around->part.affine);
    }
    if (w->order >= CRI_LONGRANGE_HESSIAN) {
        double g[12];
        double alpha = phi[0] * C[2] + fall * phi[2] + 2.0 * phi[1] * C[1];
        double beta = k / s->line.L;
        cri_longrange_charts(&s->part.affine, g);
        cri_longrange_add_moments(&s->line, s->outer * (alpha - beta), s->outer * beta, &w->sum);
        cri_longrange_add_product(&s->line, -s->outer * phi[1], g, &w->sum);
    }
    if (w->shape) {
        cri_longrange_shape_close(w, s);
    }
}

// ---- the walk ----------------------------------------------------------------------------------

static void wait_for(walk *w, int i, int j) {
    CR_ASSERT(w->n_wait < CRI_LONGRANGE_WAITS);
    w->waits[w->n_wait++] = (cri_node_pair){i, j};
}

/// Children of both, or those of the one that has any; the first pair on top.
static void wait_for_children(walk *w, int i, int j) {
    int ra = w->a->tree->right[i], rb = w->b->tree->right[j];
    if (ra && rb) {
        wait_for(w, ra, rb);
        wait_for(w, ra, j + 1);
        wait_for(w, i + 1, rb);
        wait_for(w, i + 1, j + 1);
    } else if (ra) {
        wait_for(w, ra, j);
        wait_for(w, i + 1, j);
    } else {
        wait_for(w, i, rb);
        wait_for(w, i, j + 1);
    }
}

/// One pair of nodes. False when triangles touch.
static bool visit(walk *w, int i, int j) {
    const cri_longrange_node *a = w->a->node + i, *b = w->b->node + j;
    cri_longrange_line line = {0, {0, 0, 0}, cri_v3_load(a->r), cri_v3_load(b->r)};
    cri_vec3 d = cri_v3_add(w->between, cri_v3_sub(line.ra, line.rb));
    double L2 = cri_v3_dot(d, d);
    double d1 = a->radius + b->radius;
    double d2 = (1.0 + w->options->eps) * d1;
    w->out->n_visit++;
    bool is_open = false;
    if (L2 > d1 * d1 && !w->options->is_brute) {
        line.L = sqrt(L2);
        line.u = cri_v3_scale(1.0 / line.L, d);
        if (L2 >= d2 * d2) {
            add_centred(w, i, j, &line);
            return true;
        }
        open_shell(w, i, j, &line, d1);
        is_open = true;
    }
    if (!w->a->tree->right[i] && !w->b->tree->right[j]) {
        bool is_apart = add_exact(w, i, j);
        if (is_open) {
            close_shell(w);
        }
        return is_apart;
    }
    if (is_open) {
        wait_for(w, -1, -1);
    }
    wait_for_children(w, i, j);
    return true;
}

bool cri_longrange_walk_down(walk *w) {
    CR_ASSERT(w->options->ell > 0.0 && w->options->eps > 0.0);
    CR_ASSERT(!w->warm || (w->warm->n_slot & (w->warm->n_slot - 1)) == 0);
    w->between = cri_v3_sub(w->a->pose.pos, w->b->pose.pos);
    w->n_shell = 1;
    w->n_wait = 0;
    memset(&w->sum, 0, sizeof w->sum);
    memset(&w->shells[0], 0, sizeof w->shells[0]);
    w->shells[0].inner = 1.0;
    memset(w->out, 0, offsetof(cri_longrange_result, poles.at));
    w->out->gap = INFINITY;
    wait_for(w, 0, 0);
    while (w->n_wait > 0) {
        cri_node_pair next = w->waits[--w->n_wait];
        if (next.first < 0) {
            close_shell(w);
        } else if (!visit(w, next.first, next.second)) {
            return false;
        }
    }
    return true;
}

/// All but the stacks, which are large.
static void begin(walk *w, const cri_longrange_options *options, const cri_longrange_body *a,
                  const cri_longrange_body *b, cri_longrange_order order, cri_longrange_warm *warm,
                  cri_longrange_result *out) {
    w->options = options;
    w->a = a;
    w->b = b;
    w->order = order;
    w->warm = warm;
    w->shape = NULL;
    w->taker = NULL;
    w->is_counting = false;
    w->out = out;
}

void cri_longrange_pair(const cri_longrange_options *options, const cri_longrange_body *a,
                        const cri_longrange_body *b, cri_longrange_order order,
                        cri_longrange_warm *warm, cri_longrange_result *out) {
    walk w;
    begin(&w, options, a, b, order, warm, out);
    if (!cri_longrange_walk_down(&w)) {
        out->value = INFINITY;
        return;
    }
    out->value = w.shells[0].part.value;
    out->affine = w.shells[0].part.affine;
    cri_longrange_charts(&out->affine, out->g);
    if (order >= CRI_LONGRANGE_HESSIAN) {
        cri_longrange_expand(&w.sum, out->H);
    }
}

bool cri_longrange_list(const cri_longrange_options *options, const cri_longrange_body *a,
                        const cri_longrange_body *b, cri_longrange_warm *warm,
                        const cri_longrange_taker *taker) {
    cri_longrange_result out;
    walk w;
    begin(&w, options, a, b, CRI_LONGRANGE_VALUE, warm, &out);
    w.taker = taker;
    return cri_longrange_walk_down(&w);
}

void cri_longrange_count(const cri_longrange_options *options, const cri_longrange_body *a,
                         const cri_longrange_body *b, int *n_near, int *n_shell) {
    cri_longrange_result out;
    walk w;
    begin(&w, options, a, b, CRI_LONGRANGE_VALUE, NULL, &out);
    w.is_counting = true;
    w.n_near_shell = 0;
    (void)cri_longrange_walk_down(&w);
    *n_near = out.n_exact;
    *n_shell = w.n_near_shell;
}

/// y += D x, D the derivative of g, or its transpose.
static void chart_product(const cri_longrange_result *r, bool is_turned, const double x[12],
                          double y[12]) {
    for (int i = 0; i < 144; i++) {
        y[i / 12] += r->H[i] * x[i % 12];
    }
    cri_affine_turn(r->affine.N[0], is_turned, x, y);
    cri_affine_turn(r->affine.N[1], is_turned, x + 6, y + 6);
}

void cri_longrange_pair_vjp(const cri_longrange_result *cache, double value_adj,
                            const double g_adj[12], double pose_adj[12]) {
    chart_product(cache, true, g_adj, pose_adj);
    for (int i = 0; i < 12; i++) {
        pose_adj[i] += cache->g[i] * value_adj;
    }
}

void cri_longrange_pair_jvp(const cri_longrange_result *cache, const double pose_tan[12],
                            double *value_tan, double g_tan[12]) {
    memset(g_tan, 0, 12 * sizeof *g_tan);
    chart_product(cache, false, pose_tan, g_tan);
    *value_tan = 0.0;
    for (int i = 0; i < 12; i++) {
        *value_tan += cache->g[i] * pose_tan[i];
    }
}
