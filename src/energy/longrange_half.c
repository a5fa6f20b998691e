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
// are those of longrange.c without Hess L.

#include "energy/longrange.h"

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
    int node;
    cri_vec3 r;
    double height, C[3], phi[3], outer, inner;
    // along a motion of the body, for derivatives in the shape
    double value_tan, outer_tan, inner_tan, height_tan;
} half_shell;

/// Adjoints of vertices, centres and radii along a motion, as in longrange.c.
typedef struct half_shape {
    const double *motion;             // (6)
    double *vertex, *centre, *radius; // world axes
    double sum;                       // of all changes of gradients
} half_shape;

typedef struct half_walk {
    const cri_longrange_options *options;
    const cri_longrange_body *body;
    cri_longrange_order order;
    cri_longrange_half_result *out;
    const cri_longrange_taker *taker; // NULL: not wanted
    half_shape *shape;                // likewise
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

// ---- derivatives in the shape ------------------------------------------------------------------

/// Rate of the height of a point at r.
static double height_rate(const half_walk *w, cri_vec3 r) {
    const double *l = w->shape->motion;
    return cri_v3_dot(w->m, cri_v3_add(cri_v3_load(l + 3), cri_v3_cross(cri_v3_load(l), r)));
}

/// The gradient f m with its rate at a point.
static void push_point(const half_walk *w, double f, double f_tan, double *out) {
    cri_vec3 turned = cri_v3_cross(cri_v3_scale(f, w->m), cri_v3_load(w->shape->motion));
    cri_v3_accumulate(cri_v3_mad(turned, f_tan, w->m), out);
    w->shape->sum += f_tan;
}

static void shape_centred(half_walk *w, int i, cri_vec3 r, const double C[3]) {
    half_shell *top = &w->shells[w->n_shell - 1];
    double rate = height_rate(w, r);
    top->value_tan += C[1] * rate;
    push_point(w, top->inner * C[1], top->inner_tan * C[1] + top->inner * C[2] * rate,
               w->shape->centre + 3 * (size_t)i);
}

static void shape_exact(half_walk *w, const int v[3], const cri_vec3 r[3],
                        const cri_half_force *f) {
    half_shell *top = &w->shells[w->n_shell - 1];
    const double rate[3] = {height_rate(w, r[0]), height_rate(w, r[1]), height_rate(w, r[2])};
    for (int k = 0; k < 3; k++) {
        const double *H = f->H + 3 * k;
        double bend = H[0] * rate[0] + H[1] * rate[1] + H[2] * rate[2];
        top->value_tan += f->g[k] * rate[k];
        push_point(w, top->inner * f->g[k], top->inner_tan * f->g[k] + top->inner * bend,
                   w->shape->vertex + 3 * (size_t)v[k]);
    }
}

static void shape_open(const half_walk *w, half_shell *s) {
    s->value_tan = 0.0;
    s->outer_tan = (s - 1)->inner_tan;
    s->height_tan = height_rate(w, s->r);
    s->inner_tan = s->outer_tan * (1.0 - s->phi[0]) - s->outer * s->phi[1] * s->height_tan;
}

static void shape_close(half_walk *w, const half_shell *s) {
    half_shell *around = &w->shells[w->n_shell - 1];
    const double *C = s->C, *phi = s->phi;
    double rate = s->height_tan, fall = C[0] - s->part.value;
    double fall_tan = C[1] * rate - s->value_tan;
    around->value_tan += s->value_tan + phi[0] * fall_tan + fall * phi[1] * rate;

    // on the centre
    double k = phi[0] * C[1] + fall * phi[1];
    double k_tan = (phi[1] * C[1] + phi[0] * C[2] + fall * phi[2]) * rate + fall_tan * phi[1];
    push_point(w, s->outer * k, s->outer_tan * k + s->outer * k_tan,
               w->shape->centre + 3 * (size_t)s->node);

    // on the radius
    double R = w->body->node[s->node].radius;
    double slope = -phi[1] * s->height / R;
    double slope_tan = -(phi[2] * s->height + phi[1]) / R * rate;
    w->shape->radius[s->node] +=
        s->outer_tan * fall * slope + s->outer * (fall_tan * slope + fall * slope_tan);
}

// ---- terms -------------------------------------------------------------------------------------

/// Derivatives of the product of (1 - phi) of the open shells.
static void weigh(const half_walk *w, cri_longrange_near *near) {
    for (int i = 1; i < w->n_shell; i++) {
        const half_shell *s = &w->shells[i];
        double slope = -s->phi[1], e[6];
        for (int k = 1; k < w->n_shell; k++) {
            slope *= k == i ? 1.0 : 1.0 - w->shells[k].phi[0];
        }
        if (slope == 0.0) {
            continue;
        }
        lever(s->r, w->m, e);
        for (int k = 0; k < 6; k++) {
            near->weight_grad[k] += slope * e[k];
        }
        CR_ASSERT(near->n_shell < CRI_NEAR_SHELLS);
        near->shell[near->n_shell++] =
            (cri_near_shell){{s->node, -1}, slope, s->height / w->body->node[s->node].radius, w->m};
    }
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
    w->out->gap = fmin(w->out->gap, fmin(height[0], fmin(height[1], height[2])));
    top->part.value += w->options->has_constant ? f.value : f.excess;
    double e[3][6];
    for (int k = 0; k < 3; k++) {
        add_point(&top->part, f.g[k], r[k]);
        lever(r[k], w->m, e[k]);
    }
    for (int k = 0; w->order >= CRI_LONGRANGE_HESSIAN && k < 9; k++) {
        add_product(top->inner * f.H[k], e[k / 3], e[k % 3], w->out->H);
    }
    for (int k = 0; w->order >= CRI_LONGRANGE_HESSIAN && k < 3; k++) {
        double q = top->inner * f.g[k];
        cri_longrange_pole *pole = cri_longrange_pole_place(&w->out->poles, -q);
        if (pole) {
            memset(pole, 0, sizeof *pole);
            pole->strength = -q;
            pole->bend = q < 0.0 ? top->inner * f.H[4 * k] / (q * q) : 0.0;
            for (int j = 0; j < 6; j++) {
                pole->g[j] = q * e[k][j];
            }
        }
    }
    if (w->shape) {
        shape_exact(w, tree->triangle + 3 * (size_t)tree->leaf[i], r, &f);
    }
    if (w->taker) {
        cri_longrange_near near = {
            .triangle = {tree->leaf[i], -1}, .weight = top->inner, .half = &f};
        weigh(w, &near);
        w->taker->take(w->taker->context, &near);
    }
    return true;
}

static void add_centred(half_walk *w, int i, cri_vec3 r, double height) {
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
    if (w->shape) {
        shape_centred(w, i, r, C);
    }
}

static void open_shell(half_walk *w, int i, cri_vec3 r, double height, double radius) {
    CR_ASSERT(w->n_shell < MAX_SHELL);
    half_shell *s = &w->shells[w->n_shell];
    s->outer = w->shells[w->n_shell - 1].inner;
    w->n_shell++;
    s->part = (half_part){0, 0, {0, 0, 0}};
    s->node = i;
    s->r = r;
    s->height = height;
    centred_of(w, height, s->C);
    cri_blend_weight(height, radius, (1.0 + w->options->eps) * radius, s->phi);
    s->inner = s->outer * (1.0 - s->phi[0]);
    if (w->shape) {
        shape_open(w, s);
    }
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
    if (w->shape) {
        shape_close(w, s);
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
        add_centred(w, i, r, height);
        return true;
    }
    if (is_open) {
        open_shell(w, i, r, height, node->radius);
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

static bool walk_from(half_walk *w, const cri_half_space *half) {
    CR_ASSERT(w->options->ell > 0.0 && w->options->eps > 0.0);
    w->m = half->n;
    w->height = cri_v3_dot(half->n, w->body->pose.pos) - half->offset;
    w->n_shell = 1;
    w->n_wait = 0;
    memset(&w->shells[0], 0, sizeof w->shells[0]);
    w->shells[0].inner = 1.0;
    memset(w->out, 0, sizeof *w->out);
    w->out->gap = INFINITY;
    return walk_down(w);
}

void cri_longrange_half(const cri_longrange_options *options, const cri_longrange_body *body,
                        const cri_half_space *half, cri_longrange_order order,
                        cri_longrange_half_result *out) {
    half_walk w;
    w.options = options;
    w.body = body;
    w.order = order;
    w.out = out;
    w.taker = NULL;
    w.shape = NULL;
    if (!walk_from(&w, half)) {
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

bool cri_longrange_half_list(const cri_longrange_options *options, const cri_longrange_body *body,
                             const cri_half_space *half, const cri_longrange_taker *taker) {
    cri_longrange_half_result out;
    half_walk w;
    w.options = options;
    w.body = body;
    w.order = CRI_LONGRANGE_VALUE;
    w.out = &out;
    w.taker = taker;
    w.shape = NULL;
    return walk_from(&w, half);
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

// world axes to the body's own
static void turn_back(const cri_mat3 *R, int n, double *a) {
    for (size_t i = 0; i < (size_t)n; i++) {
        cri_v3_store(cri_m3_tmul(R, cri_v3_load(a + 3 * i)), a + 3 * i);
    }
}

bool cri_longrange_half_shape_vjp(const cri_longrange_options *options,
                                  const cri_longrange_body *body, const cri_half_space *half,
                                  const double g_adj[6], double *vertex_adj, double *offset_adj,
                                  cr_arena *scratch) {
    const cri_sphere_tree *tree = body->tree;
    size_t n_node = (size_t)tree->n_node;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    cri_longrange_half_result out;
    half_shape shape = {.motion = g_adj};
    shape.vertex = CR_PUSH(scratch, double, 3 * (size_t)tree->n_vertex);
    shape.centre = CR_PUSH(scratch, double, 3 * n_node);
    shape.radius = CR_PUSH(scratch, double, n_node);
    half_walk w;
    w.options = options;
    w.body = body;
    w.order = CRI_LONGRANGE_VALUE;
    w.out = &out;
    w.taker = NULL;
    w.shape = &shape;
    bool is_done = !cri_arena_has_failed(scratch) &&
                   cri_arena_reserve(scratch, 4 * n_node * sizeof(double) + 64) &&
                   walk_from(&w, half);
    if (is_done) {
        turn_back(&body->pose.R, tree->n_vertex, shape.vertex);
        turn_back(&body->pose.R, tree->n_node, shape.centre);
        for (size_t i = 0; i < 3 * (size_t)tree->n_vertex; i++) {
            vertex_adj[i] += shape.vertex[i];
        }
        cri_sphere_tree_fit_vjp(tree, body->vertex, shape.centre, shape.radius, vertex_adj,
                                scratch);
        // lifting the half-space lowers the body
        *offset_adj -= shape.sum;
    }
    cri_arena_rewind(scratch, mark);
    return is_done;
}
