// SPDX-License-Identifier: MIT
//
// Gradient of the bilinear number of two motions of a unit. With X, Z the motions of nodes for left
// and right, and wrenches f, g of their forces,
//
//   phi = sum_n f . Z + g . X - X . I Z  -  nu_left . E right - nu_right . E left  -  armature
//
//   X_adj = g - I Z      Z_adj = f - I X      Y_adj = X x* I Z + Z x* I X
//   from the leaves, for moving columns:
//     Y_adj += S x* (left X_adj + right Z_adj),  q_adj = S . Y_adj
//
// A force (f at p, torque t in body axes) moves with its body, so with power on Z it adds
// Y_adj = wrench(p, f x wZ) + (R t x wZ, 0).

#include "dynamics/tree_parts.h"

// seeds of force . K w, scaled, with motions X of w
static void force_vjp_seeds(const cri_tree *tree, double scale, const double *force,
                            const cri_spatial *X, cri_spatial *X_adj, cri_spatial *Y_adj) {
    if (!force) {
        return;
    }
    const double *own = force + 6 * tree->unit->first_body;
    for (int b = 0; b < tree->plan->n_body; b++, own += 6) {
        int n = tree->plan->body_node[b];
        cri_vec3 f = cri_v3_scale(scale, cri_v3_load(own)), p = tree->place[b];
        cri_vec3 t = cri_m3_mul(&tree->pose[b].R, cri_v3_scale(scale, cri_v3_load(own + 3)));
        cri_spatial w = cri_sp_wrench(p, f), y = cri_sp_wrench(p, cri_v3_cross(f, X[n].w));
        w.w = cri_v3_add(w.w, t);
        y.w = cri_v3_add(y.w, cri_v3_cross(t, X[n].w));
        X_adj[n] = cri_sp_add(X_adj[n], w);
        Y_adj[n] = cri_sp_add(Y_adj[n], y);
    }
}

static void parameters_vjp(const cri_tree *tree, const cri_tree_form *form, double scale,
                           const cri_spatial *X, const cri_spatial *Z,
                           const cri_mech_derived *d_adj) {
    int first = tree->unit->first_v;
    for (int b = 0; b < tree->plan->n_body; b++) {
        int n = tree->plan->body_node[b];
        cri_link_derived *adj = d_adj->link + tree->unit->first_body + b;
        cri_tree_inertia_vjp_part(tree, b, -scale, X[n], Z[n], adj);
    }
    for (int i = first; i < first + tree->plan->n_v; i++) {
        d_adj->joint[tree->mech->dof_joint[i]].armature -= scale * form->left[i] * form->right[i];
    }
}

// X . I Z of all nodes, scaled, then everything from the leaves
static void form_vjp_sweep(const cri_tree *tree, const double *left, const double *right,
                           double scale, cri_spatial *const part[5], double *q_adj) {
    const cri_tree_plan *plan = tree->plan;
    const cri_spatial *X = part[0], *Z = part[1];
    cri_spatial *X_adj = part[2], *Z_adj = part[3], *Y_adj = part[4];
    for (int n = plan->n_node; n > 0; n--) {
        const cri_tree_node *node = plan->node + n;
        int end = node->first_v + node->n_v;
        cri_spatial IX = cri_inertia_apply(tree->I + n, X[n]);
        cri_spatial IZ = cri_inertia_apply(tree->I + n, Z[n]);
        cri_spatial turn = cri_sp_add(cri_sp_cross_force(X[n], IZ), cri_sp_cross_force(Z[n], IX));
        X_adj[n] = cri_sp_mad(X_adj[n], -scale, IZ);
        Z_adj[n] = cri_sp_mad(Z_adj[n], -scale, IX);
        cri_spatial Y = cri_sp_mad(Y_adj[n], scale, turn);
        for (int k = node->first_v + node->n_still; k < end; k++) {
            cri_spatial S_adj = {cri_v3_scale(left[k], X_adj[n].w),
                                 cri_v3_scale(left[k], X_adj[n].v)};
            S_adj = cri_sp_mad(S_adj, right[k], Z_adj[n]);
            Y = cri_sp_add(Y, cri_sp_cross_force(tree->S[k], S_adj));
        }
        for (int k = node->first_v; k < end; k++) {
            q_adj[k] += cri_sp_dot(tree->S[k], Y);
        }
        int p = node->parent;
        X_adj[p] = cri_sp_add(X_adj[p], X_adj[n]);
        Z_adj[p] = cri_sp_add(Z_adj[p], Z_adj[n]);
        Y_adj[p] = cri_sp_add(Y_adj[p], Y);
    }
}

void cri_tree_form_vjp(const cri_tree *tree, const cri_tree_form *form, double scale, double *q_adj,
                       const cri_mech_derived *d_adj, cr_arena *scratch) {
    CR_ASSERT(form->left && form->right && q_adj && scratch);
    const cri_tree_plan *plan = tree->plan;
    int first = tree->unit->first_v;
    const double *left = form->left + first, *right = form->right + first;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    cri_spatial *part[5]; // X, Z and their adjoints, that of Y
    for (int i = 0; i < 5; i++) {
        part[i] = CR_PUSH(scratch, cri_spatial, plan->n_node + 1);
    }
    cri_tree_spread(tree, left, part[0]);
    cri_tree_spread(tree, right, part[1]);
    force_vjp_seeds(tree, scale, form->right_force, part[0], part[2], part[4]);
    force_vjp_seeds(tree, scale, form->left_force, part[1], part[3], part[4]);
    if (form->right_nu) {
        cri_tree_tie_form_vjp_part(tree, scale, form->right_nu, left, part[0], part[2], part[4],
                                   q_adj + first);
    }
    if (form->left_nu) {
        cri_tree_tie_form_vjp_part(tree, scale, form->left_nu, right, part[1], part[3], part[4],
                                   q_adj + first);
    }
    if (d_adj) {
        parameters_vjp(tree, form, scale, part[0], part[1], d_adj);
    }
    form_vjp_sweep(tree, left, right, scale, part, q_adj + first);
    cri_arena_rewind(scratch, mark);
}
