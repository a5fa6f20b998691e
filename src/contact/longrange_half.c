// SPDX-License-Identifier: MIT
//
// Potential of a body above the half-space m . x <= o: a node of radius 0 whose distance is the
// height H of the other's centre. Near means H < (1 + eps) R, so a floor does not make every
// triangle near, as a floor of triangles as large as the room would.
//
//   P(I) = (1 - phi) A + phi C(H),  phi = blend of H over [R, (1 + eps) R]
//   A = sum over children, or the potential of a triangle with its corners' heights
//
// The height is linear in a centre, d = (r x m, m) . pose =: e . pose, so that second derivatives
// are those of longrange_pair.c without Hess L.

#include "contact/longrange.h"

#include <string.h>

enum { MAX_SHELL = 40, MAX_WAIT = 3 * MAX_SHELL };

/// Value and affine gradient of a part. All gradients are along m, so N = m t': three numbers.
typedef struct half_part {
    double value;
    double F;   // along m
    cri_vec3 t; // sum of gradient times r
} half_part;

typedef struct half_shell {
    half_part part;
    cri_vec3 r;
    double C[3], phi[3], outer, inner;
} half_shell;

typedef struct half_walk {
    const cri_longrange_options *options;
    const cri_longrange_body *body;
    cri_longrange_order order;
    cri_longrange_half_result *out;
    cri_vec3 m;
    double height; // of the body's position
    int n_shell, n_wait;
    half_shell shells[MAX_SHELL];
    int waits[MAX_WAIT]; // nodes; -1: the innermost shell ends
} half_walk;

/// e = (r x m, m)
static void lever(cri_vec3 r, cri_vec3 m, double e[6]) {
    cri_v3_store(cri_v3_cross(r, m), e);
    cri_v3_store(m, e + 3);
}

/// H += s (a b' + b a')/2, upper triangle
static void add_product(double s, const double a[6], const double b[6], double H[36]) {
    for (int i = 0; i < 6; i++) {
        for (int j = i; j < 6; j++) {
            H[6 * i + j] += 0.5 * s * (a[i] * b[j] + b[i] * a[j]);
        }
    }
}

static void centred_of(const half_walk *w, double height, double C[3]) {
    cri_centred_potential(height, w->options->ell, C);
    C[0] += w->options->has_constant ? 12.0 : 0.0;
}

static void add_point(half_part *part, double slope, cri_vec3 r) {
    part->F += slope;
    part->t = cri_v3_mad(part->t, slope, r);
}

static bool add_exact(half_walk *w, int i) {
    const cri_sphere_tree *tree = w->body->tree;
    half_shell *top = &w->shells[w->n_shell - 1];
    cri_vec3 r[3];
    double height[3];
    for (int k = 0; k < 3; k++) {
        r[k] = cri_v3_load(w->body->r + 3 * (size_t)tree->triangle[3 * (size_t)tree->leaf[i] + k]);
        height[k] = w->height + cri_v3_dot(w->m, r[k]);
    }
    cri_half_force f;
    if (!cri_half_potential(height, w->options->ell, &f)) {
        return false;
    }
    w->out->n_exact++;
    top->part.value += w->options->has_constant ? f.value : f.excess;
    double e[3][6];
    for (int k = 0; k < 3; k++) {
        add_point(&top->part, f.g[k], r[k]);
        lever(r[k], w->m, e[k]);
    }
    for (int k = 0; w->order >= CRI_LONGRANGE_HESSIAN && k < 9; k++) {
        add_product(top->inner * f.H[k], e[k / 3], e[k % 3], w->out->H);
    }
    return true;
}

static void add_centred(half_walk *w, cri_vec3 r, double height) {
    half_shell *top = &w->shells[w->n_shell - 1];
    double C[3], e[6];
    centred_of(w, height, C);
    w->out->n_centred++;
    top->part.value += C[0];
    add_point(&top->part, C[1], r);
    if (w->order >= CRI_LONGRANGE_HESSIAN) {
        lever(r, w->m, e);
        add_product(top->inner * C[2], e, e, w->out->H);
    }
}

static void open_shell(half_walk *w, cri_vec3 r, double height, double radius) {
    CR_ASSERT(w->n_shell < MAX_SHELL);
    half_shell *s = &w->shells[w->n_shell];
    s->outer = w->shells[w->n_shell - 1].inner;
    w->n_shell++;
    s->part = (half_part){0, 0, {0, 0, 0}};
    s->r = r;
    centred_of(w, height, s->C);
    cri_blend_weight(height, radius, (1.0 + w->options->eps) * radius, s->phi);
    s->inner = s->outer * (1.0 - s->phi[0]);
}

static void close_shell(half_walk *w) {
    half_shell *s = &w->shells[--w->n_shell], *around = s - 1;
    double fall = s->C[0] - s->part.value, rest = 1.0 - s->phi[0];
    around->part.value += s->part.value + s->phi[0] * fall;
    around->part.F += rest * s->part.F;
    around->part.t = cri_v3_mad(around->part.t, rest, s->part.t);
    add_point(&around->part, s->phi[0] * s->C[1] + fall * s->phi[1], s->r);
    if (w->order >= CRI_LONGRANGE_HESSIAN) {
        double e[6], g[6], alpha = s->phi[0] * s->C[2] + fall * s->phi[2];
        alpha += 2.0 * s->phi[1] * s->C[1];
        lever(s->r, w->m, e);
        cri_v3_store(cri_v3_cross(s->part.t, w->m), g);
        cri_v3_store(cri_v3_scale(s->part.F, w->m), g + 3);
        add_product(s->outer * alpha, e, e, w->out->H);
        add_product(-2.0 * s->outer * s->phi[1], e, g, w->out->H);
    }
}

static void wait_for(half_walk *w, int i) {
    CR_ASSERT(w->n_wait < MAX_WAIT);
    w->waits[w->n_wait++] = i;
}

/// One node. False when it reaches into the half-space.
static bool visit(half_walk *w, int i) {
    const cri_longrange_node *node = w->body->node + i;
    cri_vec3 r = cri_v3_load(node->r);
    double height = w->height + cri_v3_dot(w->m, r);
    bool is_open = height > node->radius && !w->options->is_brute;
    w->out->n_visit++;
    if (is_open && height >= (1.0 + w->options->eps) * node->radius) {
        add_centred(w, r, height);
        return true;
    }
    if (is_open) {
        open_shell(w, r, height, node->radius);
    }
    int right = w->body->tree->right[i];
    if (!right) {
        bool is_apart = add_exact(w, i);
        if (is_open) {
            close_shell(w);
        }
        return is_apart;
    }
    if (is_open) {
        wait_for(w, -1);
    }
    wait_for(w, right);
    wait_for(w, i + 1);
    return true;
}

static bool walk_down(half_walk *w) {
    wait_for(w, 0);
    while (w->n_wait > 0) {
        int next = w->waits[--w->n_wait];
        if (next < 0) {
            close_shell(w);
        } else if (!visit(w, next)) {
            return false;
        }
    }
    return true;
}

void cri_longrange_half(const cri_longrange_options *options, const cri_longrange_body *body,
                        const cri_half_space *half, cri_longrange_order order,
                        cri_longrange_half_result *out) {
    CR_ASSERT(options->ell > 0.0 && options->eps > 0.0);
    half_walk w;
    w.options = options;
    w.body = body;
    w.order = order;
    w.out = out;
    w.m = half->n;
    w.height = cri_v3_dot(half->n, body->pose.pos) - half->offset;
    w.n_shell = 1;
    w.n_wait = 0;
    memset(&w.shells[0], 0, sizeof w.shells[0]);
    w.shells[0].inner = 1.0;
    memset(out, 0, sizeof *out);
    if (!walk_down(&w)) {
        out->value = INFINITY;
        return;
    }
    const half_part *all = &w.shells[0].part;
    out->value = all->value;
    cri_v3_store(cri_v3_scale(all->F, w.m), out->F);
    cri_v3_store(cri_v3_scale(w.m.x, all->t), out->N);
    cri_v3_store(cri_v3_scale(w.m.y, all->t), out->N + 3);
    cri_v3_store(cri_v3_scale(w.m.z, all->t), out->N + 6);
    cri_v3_store(cri_affine_torque(out->N), out->g);
    memcpy(out->g + 3, out->F, sizeof out->F);
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j < i; j++) {
            out->H[6 * i + j] = out->H[6 * j + i];
        }
    }
}

/// y += D x, D the derivative of g, or its transpose.
static void chart_product(const cri_longrange_half_result *r, bool is_turned, const double x[6],
                          double y[6]) {
    for (int i = 0; i < 36; i++) {
        y[i / 6] += r->H[i] * x[i % 6];
    }
    cri_affine_turn(r->N, is_turned, x, y);
}

void cri_longrange_half_vjp(const cri_longrange_half_result *cache, double value_adj,
                            const double g_adj[6], double pose_adj[6]) {
    chart_product(cache, true, g_adj, pose_adj);
    for (int i = 0; i < 6; i++) {
        pose_adj[i] += cache->g[i] * value_adj;
    }
}

void cri_longrange_half_jvp(const cri_longrange_half_result *cache, const double pose_tan[6],
                            double *value_tan, double g_tan[6]) {
    memset(g_tan, 0, 6 * sizeof *g_tan);
    chart_product(cache, false, pose_tan, g_tan);
    *value_tan = 0.0;
    for (int i = 0; i < 6; i++) {
        *value_tan += cache->g[i] * pose_tan[i];
    }
}
