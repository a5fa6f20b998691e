// SPDX-License-Identifier: MIT
//
// Inverse dynamics by recursion over nodes (Newton and Euler), its adjoint and its tangent, O(n).
//
//   V_n = V_p + S v                         u_n = S v over moving columns
//   A_n = A_p + S a + V_n x u_n             A_world = (0, -g)
//   F_n = I A_n + V_n x* (I V_n) - outer forces;  tau = S . F_n,  F_p += F_n from the leaves
//
// Adjoint for weights mu on tau: L = motions with rates mu, W = V x L. With Y the displacement
// twist of a node, dS = Y x S and dI = Y x* I - I Y x for what moves with it:
//
//   A_adj += I L          V_adj -= I W + L x* I V
//   Y_adj += -L x* I A - A x* I L + W x* I V + V x* I W
//   from the leaves:  V_adj += u x* A_adj,  B = -V x* A_adj,  v_adj = S . (V_adj + B)
//                     Y_adj += S x* (mu F + a A_adj + v (V_adj + B)),  q_adj = S . Y_adj
//
// where a still column has neither B nor a share in Y_adj. Inertias enter as L . I A - W . I V.

#include "dynamics/tree_parts.h"

#include <string.h>

void cri_tree_spread(const cri_tree *tree, const double *w, cri_spatial *X) {
    const cri_tree_plan *plan = tree->plan;
    for (int n = 1; n <= plan->n_node; n++) {
        const cri_tree_node *node = plan->node + n;
        cri_spatial x = X[node->parent];
        for (int k = node->first_v; k < node->first_v + node->n_v; k++) {
            x = cri_sp_mad(x, w[k], tree->S[k]);
        }
        X[n] = x;
    }
}

// S v over the moving columns
static cri_spatial moving_part(const cri_tree *tree, const cri_tree_node *node, const double *v) {
    cri_spatial u = {{0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}};
    for (int k = node->first_v + node->n_still; k < node->first_v + node->n_v; k++) {
        u = cri_sp_mad(u, v[k], tree->S[k]);
    }
    return u;
}

void cri_tree_bias_forces(const cri_tree *tree, const double *v, cri_spatial *V, cri_spatial *A,
                          cri_spatial *F) {
    const cri_tree_plan *plan = tree->plan;
    static const cri_spatial zero = {{0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}};
    V[0] = F[0] = zero;
    A[0] = (cri_spatial){zero.w, cri_v3_scale(-1.0, cri_v3_load(tree->d->gravity))};
    for (int n = 1; n <= plan->n_node; n++) {
        const cri_tree_node *node = plan->node + n;
        cri_spatial u = moving_part(tree, node, v);
        cri_spatial Vn = cri_sp_add(V[node->parent], u);
        for (int k = node->first_v; k < node->first_v + node->n_still; k++) {
            Vn = cri_sp_mad(Vn, v[k], tree->S[k]);
        }
        V[n] = Vn;
        A[n] = cri_sp_add(A[node->parent], cri_sp_cross(Vn, u));
        cri_spatial P = cri_inertia_apply(tree->I + n, Vn);
        F[n] = cri_sp_add(cri_inertia_apply(tree->I + n, A[n]), cri_sp_cross_force(Vn, P));
    }
}

void cri_tree_gather(const cri_tree *tree, double sign, cri_spatial *F, double *g) {
    const cri_tree_plan *plan = tree->plan;
    for (int n = plan->n_node; n > 0; n--) {
        const cri_tree_node *node = plan->node + n;
        for (int k = node->first_v; k < node->first_v + node->n_v; k++) {
            g[k] += sign * cri_sp_dot(tree->S[k], F[n]);
        }
        F[node->parent] = cri_sp_add(F[node->parent], F[n]);
    }
}

// ---- adjoint -----------------------------------------------------------------------------------

void cri_tree_inertia_vjp_part(const cri_tree *tree, int b, double scale, cri_spatial X,
                               cri_spatial Z, cri_link_derived *adj) {
    const cri_link_derived *link = tree->d->link + tree->unit->first_body + b;
    const cri_mat3 *R = &tree->pose[b].R;
    cri_vec3 c = cri_v3_add(tree->place[b], cri_m3_mul(R, link->com));
    cri_vec3 Xc = cri_sp_at(X, c), Zc = cri_sp_at(Z, c);
    cri_vec3 x = cri_m3_tmul(R, X.w), z = cri_m3_tmul(R, Z.w);

    // X . I Z = m at(X, c) . at(Z, c) + x . J z
    adj->mass += scale * cri_v3_dot(Xc, Zc);
    cri_vec3 arm = cri_v3_add(cri_v3_cross(Zc, X.w), cri_v3_cross(Xc, Z.w));
    adj->com = cri_v3_mad(adj->com, scale * link->mass, cri_m3_tmul(R, arm));
    adj->J[0] += scale * x.x * z.x;
    adj->J[1] += scale * x.y * z.y;
    adj->J[2] += scale * x.z * z.z;
    adj->J[3] += scale * (x.x * z.y + x.y * z.x);
    adj->J[4] += scale * (x.x * z.z + x.z * z.x);
    adj->J[5] += scale * (x.y * z.z + x.z * z.y);
}

static void recursion_vjp_outwards(const cri_tree *tree, const cri_tree_state *s,
                                   const cri_spatial *L, const cri_tree_seeds *seeds) {
    for (int n = 1; n <= tree->plan->n_node; n++) {
        const cri_spatial_inertia *I = tree->I + n;
        cri_spatial V = s->V[n], A = s->A[n], W = cri_sp_cross(V, L[n]);
        cri_spatial IL = cri_inertia_apply(I, L[n]), IA = cri_inertia_apply(I, A);
        cri_spatial IV = cri_inertia_apply(I, V), IW = cri_inertia_apply(I, W);

        // F = I A + V x* I V, and I moves with the node
        seeds->A[n] = cri_sp_add(seeds->A[n], IL);
        cri_spatial V_adj = cri_sp_add(IW, cri_sp_cross_force(L[n], IV));
        seeds->V[n] = cri_sp_sub(seeds->V[n], V_adj);
        cri_spatial up = cri_sp_add(cri_sp_cross_force(W, IV), cri_sp_cross_force(V, IW));
        cri_spatial down = cri_sp_add(cri_sp_cross_force(L[n], IA), cri_sp_cross_force(A, IL));
        seeds->Y[n] = cri_sp_add(seeds->Y[n], cri_sp_sub(up, down));
    }
}

static void recursion_vjp_inwards(const cri_tree *tree, const cri_tree_state *s, const double *mu,
                                  const cri_tree_seeds *seeds, double *q_adj, double *v_adj) {
    const cri_tree_plan *plan = tree->plan;
    for (int n = plan->n_node; n > 0; n--) {
        const cri_tree_node *node = plan->node + n;
        int first = node->first_v, moving = first + node->n_still, end = first + node->n_v;
        cri_spatial A_adj = seeds->A[n], Y_adj = seeds->Y[n];

        // A = A_p + S a + V x u
        cri_spatial u = moving_part(tree, node, s->v);
        cri_spatial V_adj = cri_sp_add(seeds->V[n], cri_sp_cross_force(u, A_adj));
        cri_spatial u_adj = cri_sp_sub(V_adj, cri_sp_cross_force(s->V[n], A_adj));

        // V = V_p + S v, tau = S . F; dS = Y x S
        for (int k = first; k < moving; k++) {
            v_adj[k] += cri_sp_dot(tree->S[k], V_adj);
        }
        for (int k = moving; k < end; k++) {
            v_adj[k] += cri_sp_dot(tree->S[k], u_adj);
            cri_spatial S_adj = {cri_v3_scale(mu[k], s->F[n].w), cri_v3_scale(mu[k], s->F[n].v)};
            S_adj = cri_sp_mad(cri_sp_mad(S_adj, s->a[k], A_adj), s->v[k], u_adj);
            Y_adj = cri_sp_add(Y_adj, cri_sp_cross_force(tree->S[k], S_adj));
        }
        // Y = Y_p + S xi
        for (int k = first; k < end; k++) {
            q_adj[k] += cri_sp_dot(tree->S[k], Y_adj);
        }
        int p = node->parent;
        seeds->A[p] = cri_sp_add(seeds->A[p], A_adj);
        seeds->V[p] = cri_sp_add(seeds->V[p], V_adj);
        seeds->Y[p] = cri_sp_add(seeds->Y[p], Y_adj);
    }
}

void cri_tree_recursion_vjp_part(const cri_tree *tree, const cri_tree_state *s, const double *mu,
                                 const cri_spatial *L, const cri_tree_seeds *seeds, double *q_adj,
                                 double *v_adj, const cri_mech_derived *d_adj) {
    recursion_vjp_outwards(tree, s, L, seeds);
    recursion_vjp_inwards(tree, s, mu, seeds, q_adj, v_adj);
    if (!d_adj) {
        return;
    }
    // A_world = -g
    cri_v3_accumulate(cri_v3_scale(-1.0, seeds->A[0].v), d_adj->gravity);
    for (int b = 0; b < tree->plan->n_body; b++) {
        int n = tree->plan->body_node[b];
        cri_link_derived *adj = d_adj->link + tree->unit->first_body + b;
        cri_tree_inertia_vjp_part(tree, b, 1.0, L[n], s->A[n], adj);
        cri_tree_inertia_vjp_part(tree, b, -1.0, cri_sp_cross(s->V[n], L[n]), s->V[n], adj);
    }
}

// ---- tangent -----------------------------------------------------------------------------------

void cri_tree_recursion_jvp_part(const cri_tree *tree, const cri_tree_state *s,
                                 const cri_tree_tan *tan, const double *v_tan, cri_spatial *dV,
                                 cri_spatial *dA, cri_spatial *dF, double *tau_tan) {
    const cri_tree_plan *plan = tree->plan;
    static const cri_spatial zero = {{0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}};
    dV[0] = dA[0] = zero;
    tan->is_alive[0] = tan->is_moved[0];
    if (tan->d) {
        dA[0].v = cri_v3_scale(-1.0, cri_v3_load(tan->d->gravity));
    }
    for (int n = 1; n <= plan->n_node; n++) {
        const cri_tree_node *node = plan->node + n;
        int first = node->first_v, moving = first + node->n_still;
        tan->is_alive[n] = tan->is_alive[node->parent] || tan->is_moved[n];
        for (int k = first; k < first + node->n_v; k++) {
            tan->is_alive[n] = tan->is_alive[n] || v_tan[k] != 0.0;
        }
        if (!tan->is_alive[n]) {
            dV[n] = dA[n] = zero;
            continue;
        }
        cri_spatial u = moving_part(tree, node, s->v), du = moving_part(tree, node, v_tan);
        cri_spatial dVn = dV[node->parent], dAn = dA[node->parent];
        for (int k = first; k < moving; k++) {
            dVn = cri_sp_mad(dVn, v_tan[k], tree->S[k]);
        }
        for (int k = moving; k < first + node->n_v; k++) {
            du = cri_sp_mad(du, s->v[k], tan->S[k]);
            dAn = cri_sp_mad(dAn, s->a[k], tan->S[k]);
        }
        dVn = cri_sp_add(dVn, du);
        dAn = cri_sp_add(dAn, cri_sp_cross(dVn, u));
        dAn = cri_sp_add(dAn, cri_sp_cross(s->V[n], du));

        // F = I A + V x* I V
        const cri_spatial_inertia *I = tree->I + n, *dI = tan->I + n;
        cri_spatial f = cri_inertia_apply(I, dAn);
        f = cri_sp_add(f, cri_inertia_apply(dI, s->A[n]));
        f = cri_sp_add(f, cri_sp_cross_force(dVn, cri_inertia_apply(I, s->V[n])));
        cri_spatial dP = cri_sp_add(cri_inertia_apply(dI, s->V[n]), cri_inertia_apply(I, dVn));
        f = cri_sp_add(f, cri_sp_cross_force(s->V[n], dP));
        dF[n] = cri_sp_add(dF[n], f);
        dV[n] = dVn;
        dA[n] = dAn;
    }
    cri_tree_gather(tree, 1.0, dF, tau_tan);
    for (int n = 1; n <= plan->n_node; n++) {
        const cri_tree_node *node = plan->node + n;
        int end = tan->is_moved[n] ? node->first_v + node->n_v : 0;
        for (int k = node->first_v + node->n_still; k < end; k++) {
            tau_tan[k] += cri_sp_dot(tan->S[k], s->F[n]);
        }
    }
}

// ---- bias and energy ---------------------------------------------------------------------------

void cri_tree_bias(const cri_tree *tree, const double *v, double *c, cr_arena *scratch) {
    CR_ASSERT(tree && v && c && scratch);
    size_t n = (size_t)tree->plan->n_node + 1;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    cri_spatial *V = CR_PUSH_RAW(scratch, cri_spatial, 3 * n);
    cri_tree_bias_forces(tree, v + tree->unit->first_v, V, V + n, V + 2 * n);
    double *own = c + tree->unit->first_v;
    memset(own, 0, sizeof *own * (size_t)tree->plan->n_v);
    cri_tree_gather(tree, 1.0, V + 2 * n, own);
    cri_arena_rewind(scratch, mark);
}
