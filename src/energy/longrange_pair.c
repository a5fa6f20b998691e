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
// As published a pair of nodes far apart is one term C, so that a body's push falls by the number
// of its triangles within a shell, and a descent that comes from afar meets a hill. "Whole"
// clusters are as many terms as they have pairs of triangles, n_I n_J C(L + R_I + R_J). They are
// below their parts as well, at any L: a pair of leaves is above 12 (1 + sqrt(ell/l))^2, l between
// its centres, which is at most L + R_I + R_J, and layered spheres are inside of one another, so
// that l + R + R of children is no more than that either. Far away they are the sum over all pairs.
//
// From d2 on a pair of nodes is one term; up to d1 it is its children. Second derivatives only need
// the value and gradient of A, so they are added with the product of (1 - phi) on the way down. A
// pool of shells holds values and gradients: exact pairs wait until four can be solved at once
// (longrange_exact.c), shells until what is in them is known. Twice differentiable everywhere;
// needs only that C <= A in a shell, which holds for layered and, but for whole clusters, for
// wrapped spheres.

#include "energy/longrange_parts.h"

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

// ---- terms -------------------------------------------------------------------------------------

static double constant_of(const walk *w) {
    return w->options->has_constant ? 12.0 : 0.0;
}

/// The centred potential of nodes i, j at a distance.
static void centred_of(const walk *w, int i, int j, double L, double C[3]) {
    const cri_sphere_tree *a = w->a->tree, *b = w->b->tree;
    cri_longrange_clusters clusters = w->options->clusters;
    double count = 1.0;
    if (clusters == CRI_CLUSTERS_COUNTED) {
        count = ldexp(1.0, a->height[i] < b->height[j] ? a->height[i] : b->height[j]);
    } else if (clusters == CRI_CLUSTERS_WHOLE) {
        count = (double)a->n_leaf[i] * b->n_leaf[j];
        L += w->a->node[i].radius + w->b->node[j].radius;
    }
    cri_centred_potential(L, w->options->ell, C);
    C[0] += constant_of(w);
    for (int k = 0; k < 3; k++) {
        C[k] *= count;
    }
}

static void add_centred(walk *w, int i, int j, const cri_longrange_line *line) {
    shell *top = &w->shells[w->top];
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

/// Two leaves wait for their plane. False when triangles touch.
static bool add_exact(walk *w, int i, int j) {
    w->out->n_exact++;
    if (w->is_counting) {
        w->n_near_shell += w->shells[w->top].depth;
        return true;
    }
    w->late[w->n_late++] = (cri_leaf_pair){{i, j}, w->top};
    return w->n_late < CRI_LANES || cri_longrange_solve_late(w);
}

// ---- shells ------------------------------------------------------------------------------------

static void open_shell(walk *w, int i, int j, const cri_longrange_line *line, double d1) {
    CR_ASSERT(w->n_shell < CRI_LONGRANGE_POOL);
    shell *s = &w->shells[w->n_shell];
    const shell *around = &w->shells[w->top];
    memset(&s->part, 0, sizeof s->part);
    s->around = w->top;
    s->depth = around->depth + 1;
    s->is_done = false;
    s->outer = around->inner;
    w->top = w->n_shell++;
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

static void close_shell(walk *w, const shell *s) {
    shell *around = &w->shells[s->around];
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

/// Adds what waits and all shells that are done to what is around them; open ones move up. False
/// when triangles touch.
static bool settle(walk *w) {
    if (!cri_longrange_solve_late(w)) {
        return false;
    }
    for (int i = w->n_shell - 1; i > 0; i--) {
        if (w->shells[i].is_done) {
            close_shell(w, &w->shells[i]);
        }
    }
    int n = 1;
    for (int i = 1; i < w->n_shell; i++) {
        if (!w->shells[i].is_done) {
            w->shells[n] = w->shells[i];
            w->shells[n].around = n - 1;
            n++;
        }
    }
    w->n_shell = n;
    w->top = n - 1;
    return true;
}

static void leave_shell(walk *w) {
    w->shells[w->top].is_done = true;
    w->top = w->shells[w->top].around;
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
        if (w->n_shell == CRI_LONGRANGE_POOL && !settle(w)) {
            return false;
        }
        open_shell(w, i, j, &line, d1);
        is_open = true;
    }
    if (!w->a->tree->right[i] && !w->b->tree->right[j]) {
        bool is_apart = add_exact(w, i, j);
        if (is_open) {
            leave_shell(w);
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
    w->n_late = 0;
    w->top = 0;
    memset(&w->sum, 0, sizeof w->sum);
    memset(&w->shells[0], 0, sizeof w->shells[0]);
    w->shells[0].inner = 1.0;
    memset(w->out, 0, offsetof(cri_longrange_result, poles.at));
    w->out->gap = INFINITY;
    wait_for(w, 0, 0);
    while (w->n_wait > 0) {
        cri_node_pair next = w->waits[--w->n_wait];
        if (next.first < 0) {
            leave_shell(w);
        } else if (!visit(w, next.first, next.second)) {
            return false;
        }
    }
    return settle(w);
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
