// SPDX-License-Identifier: MIT
//
// Derivatives of the long-range potential in the vertices of the meshes: of its value, and of its
// gradient along a motion l of both bodies, which an adjoint of the gradient is.
//
// A part of the potential with a path weight W = prod (1 - phi) gives a point the gradient f. Along
// l it changes by df, and a point of the body's own frame gets R' (c f + df + f x l_w), c the
// adjoint of the value: frames turn with their bodies. Nothing but W, the values A of open shells
// and their rates along l is carried down and up:
//
//   centred   f = W C' u,  df = (dW C' + W C'' dL) u + W C' du      dL = u . dx, du = (dx - u dL)/L
//   exact     f = W g,     df = dW g + W H dx
//   shell     f = W k u,   k = phi C' + (C - A) phi',  dk = ..., and, as phi depends on L/d1 alone,
//             for the radii W (C - A) (-phi' L/d1)
//   whole     C is that at L + d1: for the radii W C' of a centred term, W phi C' in a shell
//
// Centres are means of vertices and radii distances: cri_sphere_tree_fit_vjp takes them on.

#include "energy/longrange_parts.h"

#include <string.h>

typedef cri_longrange_walk walk;
typedef cri_longrange_shell shell;

/// Velocity of a point of body k at r from its position.
static cri_vec3 velocity(const cri_longrange_shape *shape, int k, cri_vec3 r) {
    const double *l = shape->motion + 6 * k;
    return cri_v3_add(cri_v3_load(l + 3), cri_v3_cross(cri_v3_load(l), r));
}

/// Rates of distance and direction.
static double line_rate(const walk *w, const cri_longrange_line *line, cri_vec3 *u_tan) {
    cri_vec3 dx = cri_v3_sub(velocity(w->shape, 0, line->ra), velocity(w->shape, 1, line->rb));
    double L_tan = cri_v3_dot(line->u, dx);
    *u_tan = cri_v3_scale(1.0 / line->L, cri_v3_mad(dx, -L_tan, line->u));
    return L_tan;
}

/// A gradient f with its rate at a point of body k.
static void push_point(const walk *w, int k, cri_vec3 f, cri_vec3 f_tan, double *out) {
    const cri_longrange_shape *shape = w->shape;
    cri_vec3 turned = cri_v3_cross(f, cri_v3_load(shape->motion + 6 * k));
    cri_v3_accumulate(cri_v3_add(cri_v3_mad(f_tan, shape->value_adj, f), turned), out);
}

/// The gradient s u, with its rate, on the centre of the first node, and against it on the second.
static void push_line(const walk *w, cri_node_pair node, cri_vec3 f, cri_vec3 f_tan) {
    push_point(w, 0, f, f_tan, w->shape->centre[0] + 3 * (size_t)node.first);
    push_point(w, 1, cri_v3_scale(-1.0, f), cri_v3_scale(-1.0, f_tan),
               w->shape->centre[1] + 3 * (size_t)node.second);
}

/// The derivative in the sum of two radii.
static void push_radii(const walk *w, cri_node_pair node, double adj) {
    w->shape->radius[0][node.first] += adj;
    w->shape->radius[1][node.second] += adj;
}

void cri_longrange_shape_centred(walk *w, cri_node_pair node, const cri_longrange_line *line,
                                 const double C[3]) {
    shell *top = &w->shells[w->top];
    cri_vec3 u_tan;
    double L_tan = line_rate(w, line, &u_tan);
    double s = top->inner * C[1];
    double s_tan = top->inner_tan * C[1] + top->inner * C[2] * L_tan;
    top->value_tan += C[1] * L_tan;
    push_line(w, node, cri_v3_scale(s, line->u),
              cri_v3_mad(cri_v3_scale(s_tan, line->u), s, u_tan));
    if (w->options->clusters == CRI_CLUSTERS_WHOLE) {
        push_radii(w, node, w->shape->value_adj * s + s_tan);
    }
}

void cri_longrange_shape_exact(walk *w, int in, const int va[3], const int vb[3],
                               const cri_plane_force *f) {
    shell *top = &w->shells[in];
    double x_tan[18], g_tan[18], value_tan;
    for (int k = 0; k < 3; k++) {
        cri_vec3 ra = cri_v3_load(w->a->r + 3 * (size_t)va[k]);
        cri_vec3 rb = cri_v3_load(w->b->r + 3 * (size_t)vb[k]);
        cri_v3_store(velocity(w->shape, 0, ra), x_tan + 3 * k);
        cri_v3_store(velocity(w->shape, 1, rb), x_tan + 9 + 3 * k);
    }
    cri_plane_potential_jvp(f, x_tan, &value_tan, g_tan);
    top->value_tan += value_tan;
    for (int k = 0; k < 6; k++) {
        int side = k / 3;
        cri_vec3 g = cri_v3_scale(side ? f->q[k] : -f->q[k], f->plane.n);
        cri_vec3 f_tan =
            cri_v3_mad(cri_v3_scale(top->inner_tan, g), top->inner, cri_v3_load(g_tan + 3 * k));
        push_point(w, side, cri_v3_scale(top->inner, g), f_tan,
                   w->shape->vertex[side] + 3 * (size_t)(side ? vb[k - 3] : va[k]));
    }
}

void cri_longrange_shape_open(const walk *w, shell *s) {
    const shell *around = &w->shells[s->around];
    s->value_tan = 0.0;
    s->outer_tan = around->inner_tan;
    s->L_tan = line_rate(w, &s->line, &s->u_tan);
    s->inner_tan = s->outer_tan * (1.0 - s->phi[0]) - s->outer * s->phi[1] * s->L_tan;
}

void cri_longrange_shape_close(walk *w, const shell *s) {
    shell *around = &w->shells[s->around];
    const double *C = s->C, *phi = s->phi;
    double L = s->line.L, L_tan = s->L_tan;
    double fall = C[0] - s->part.value;
    double fall_tan = C[1] * L_tan - s->value_tan;
    around->value_tan += s->value_tan + phi[0] * fall_tan + fall * phi[1] * L_tan;

    // on the centres
    double k = phi[0] * C[1] + fall * phi[1];
    double k_tan = (phi[1] * C[1] + phi[0] * C[2] + fall * phi[2]) * L_tan + fall_tan * phi[1];
    double f = s->outer * k, f_tan = s->outer_tan * k + s->outer * k_tan;
    push_line(w, s->node, cri_v3_scale(f, s->line.u),
              cri_v3_mad(cri_v3_scale(f_tan, s->line.u), f, s->u_tan));

    // on the radii
    double d1 = w->a->node[s->node.first].radius + w->b->node[s->node.second].radius;
    double slope = -phi[1] * L / d1;
    double slope_tan = -(phi[2] * L + phi[1]) / d1 * L_tan;
    double adj = w->shape->value_adj * s->outer * fall * slope + s->outer_tan * fall * slope +
                 s->outer * (fall_tan * slope + fall * slope_tan);
    push_radii(w, s->node, adj);
    if (w->options->clusters == CRI_CLUSTERS_WHOLE) {
        double own = phi[0] * C[1], own_tan = (phi[1] * C[1] + phi[0] * C[2]) * L_tan;
        push_radii(w, s->node,
                   (w->shape->value_adj * s->outer + s->outer_tan) * own + s->outer * own_tan);
    }
}

/// Turns n vectors into a body's own frame.
static void turn_back(const cri_mat3 *R, int n, double *a) {
    for (int i = 0; i < n; i++) {
        cri_v3_store(cri_m3_tmul(R, cri_v3_load(a + 3 * (size_t)i)), a + 3 * (size_t)i);
    }
}

/// From world positions of a body to its vertices.
static void collect(const cri_longrange_body *body, const cri_longrange_shape *shape, int k,
                    const cri_longrange_shape_adj *adj, cr_arena *scratch) {
    const cri_sphere_tree *tree = body->tree;
    turn_back(&body->pose.R, tree->n_vertex, shape->vertex[k]);
    turn_back(&body->pose.R, tree->n_node, shape->centre[k]);
    for (int i = 0; i < 3 * tree->n_vertex; i++) {
        adj->vertex_adj[k][i] += shape->vertex[k][i];
    }
    if (!adj->has_spheres) {
        memset(shape->radius[k], 0, (size_t)tree->n_node * sizeof(double));
    }
    cri_sphere_tree_fit_vjp(tree, body->vertex, shape->centre[k], shape->radius[k],
                            adj->vertex_adj[k], scratch);
}

bool cri_longrange_shape_vjp(const cri_longrange_options *options, const cri_longrange_body body[2],
                             cri_longrange_warm *warm, double value_adj, const double g_adj[12],
                             const cri_longrange_shape_adj *adj, cr_arena *scratch) {
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    cri_longrange_result out;
    cri_longrange_shape shape = {.value_adj = value_adj, .motion = g_adj};
    size_t n_most = 0;
    for (int k = 0; k < 2; k++) {
        size_t n_node = (size_t)body[k].tree->n_node;
        shape.vertex[k] = CR_PUSH(scratch, double, 3 * (size_t)body[k].tree->n_vertex);
        shape.centre[k] = CR_PUSH(scratch, double, 3 * n_node);
        shape.radius[k] = CR_PUSH(scratch, double, n_node);
        n_most = n_node > n_most ? n_node : n_most;
    }
    // two pushes of the spheres' own
    bool is_done = !cri_arena_has_failed(scratch) &&
                   cri_arena_reserve(scratch, 4 * n_most * sizeof(double) + 64);
    if (is_done) {
        cri_longrange_walk w = {.options = options,
                                .a = &body[0],
                                .b = &body[1],
                                .order = CRI_LONGRANGE_VALUE,
                                .warm = warm,
                                .shape = &shape,
                                .out = &out};
        is_done = cri_longrange_walk_down(&w);
    }
    for (int k = 0; is_done && k < 2; k++) {
        collect(&body[k], &shape, k, adj, scratch);
    }
    cri_arena_rewind(scratch, mark);
    return is_done;
}
