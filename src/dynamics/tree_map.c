// SPDX-License-Identifier: MIT
//
// Maps between rates of dofs and motions of bodies, and their changes with q.
//
//   motion of body b at p with axes R, on node n:  (at(X_n, p), R' wX_n),   X = motions of w
//   its dual:  a force f at p and a torque t in body axes are the wrench (p x f + R t, f)
//
// With Y the displacement twist of the node: p_tan = at(Y, p), R_tan = wY x R, S_tan = Y x S for
// what moves with it, I_tan = Y x* I - I Y x and what follows from parameters.

#include "dynamics/tree_parts.h"

#include <string.h>

static const cri_spatial zero = {{0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}};

void cri_tree_motion(const cri_tree *tree, const double *w, double *motion) {
    CR_ASSERT(w && motion);
    const cri_tree_plan *plan = tree->plan;
    cri_spatial *X = tree->plan->work[0];
    X[0] = zero;
    cri_tree_spread(tree, w + tree->unit->first_v, X);
    double *out = motion + 6 * tree->unit->first_body;
    for (int b = 0; b < plan->n_body; b++, out += 6) {
        cri_spatial x = X[plan->body_node[b]];
        cri_v3_store(cri_sp_at(x, tree->place[b]), out);
        cri_v3_store(cri_m3_tmul(&tree->pose[b].R, x.w), out + 3);
    }
}

static cri_spatial body_wrench(const cri_tree *tree, int b, const double *force) {
    cri_spatial w = cri_sp_wrench(tree->place[b], cri_v3_load(force));
    w.w = cri_v3_add(w.w, cri_m3_mul(&tree->pose[b].R, cri_v3_load(force + 3)));
    return w;
}

void cri_tree_pull(const cri_tree *tree, const double *force, double *g) {
    CR_ASSERT(force && g);
    const cri_tree_plan *plan = tree->plan;
    cri_spatial *F = tree->plan->work[0];
    memset(F, 0, sizeof *F * (size_t)(plan->n_node + 1));
    const double *own = force + 6 * tree->unit->first_body;
    for (int b = 0; b < plan->n_body; b++, own += 6) {
        int n = plan->body_node[b];
        F[n] = cri_sp_add(F[n], body_wrench(tree, b, own));
    }
    cri_tree_gather(tree, 1.0, F, g + tree->unit->first_v);
}

void cri_tree_pull_rows(const cri_tree *tree, int body, int n, const double *forces, double *G) {
    const cri_tree_plan *plan = tree->plan;
    int b = body - tree->unit->first_body;
    CR_ASSERT(b >= 0 && b < plan->n_body);
    for (int r = 0; r < n; r++, forces += 6, G += plan->n_v) {
        cri_spatial F = body_wrench(tree, b, forces);
        for (int k = plan->body_node[b]; k > 0; k = plan->node[k].parent) {
            const cri_tree_node *node = plan->node + k;
            for (int i = node->first_v; i < node->first_v + node->n_v; i++) {
                G[i] += cri_sp_dot(tree->S[i], F);
            }
        }
    }
}

void cri_tree_pull_body(const cri_tree *tree, int body, const double *force, double *g) {
    cri_tree_pull_rows(tree, body, 1, force, g + tree->unit->first_v);
}

// ---- a direction -------------------------------------------------------------------------------

// change of a body's inertia with its parameters
static void inertia_jvp_part(const cri_tree *tree, int b, const cri_link_derived *d_tan,
                             cri_spatial_inertia *sum) {
    const cri_link_derived *link = tree->d->link + tree->unit->first_body + b;
    const cri_mat3 *R = &tree->pose[b].R;
    cri_vec3 c = cri_v3_add(tree->place[b], cri_m3_mul(R, link->com));
    cri_vec3 mc_tan = cri_v3_scale(link->mass, cri_m3_mul(R, d_tan->com));
    cri_spatial_inertia I = {.mass = d_tan->mass, .h = cri_v3_mad(mc_tan, d_tan->mass, c)};

    // J = R J R' + m (c^2 - c c')
    cri_inertia_rotate(R, d_tan->J, I.J);
    cri_inertia_add_moment(cri_v3_mad(mc_tan, 0.5 * d_tan->mass, c), c, I.J);
    cri_inertia_accumulate(&I, sum);
}

cri_tree_tan *cri_tree_tan_push(const cri_tree *tree, const double *q_tan,
                                const cri_mech_derived *d_tan, cr_arena *scratch) {
    CR_ASSERT(tree && q_tan && scratch);
    return cri_tree_tan_push_own(tree, q_tan + tree->unit->first_v, d_tan, scratch);
}

cri_tree_tan *cri_tree_tan_push_own(const cri_tree *tree, const double *q_tan,
                                    const cri_mech_derived *d_tan, cr_arena *scratch) {
    const cri_tree_plan *plan = tree->plan;
    cri_tree_tan *tan = CR_PUSH_RAW(scratch, cri_tree_tan, 1);
    *tan = (cri_tree_tan){.d = d_tan,
                          .q = q_tan,
                          .Y = CR_PUSH_RAW(scratch, cri_spatial, plan->n_node + 1),
                          .S = CR_PUSH_RAW(scratch, cri_spatial, plan->n_v),
                          .I = CR_PUSH_RAW(scratch, cri_spatial_inertia, plan->n_node + 1),
                          .is_moved = CR_PUSH_RAW(scratch, bool, 2 * (plan->n_node + 1))};
    tan->is_alive = tan->is_moved + plan->n_node + 1;
    tan->is_moved[0] = d_tan != NULL;
    tan->Y[0] = zero;
    tan->I[0] = (cri_spatial_inertia){0};
    cri_tree_spread(tree, tan->q, tan->Y);
    for (int n = 1; n <= plan->n_node; n++) {
        const cri_tree_node *node = plan->node + n;
        bool is_moved = tan->is_moved[node->parent];
        for (int k = node->first_v; k < node->first_v + node->n_v; k++) {
            is_moved = is_moved || q_tan[k] != 0.0;
            tan->S[k] = zero;
        }
        tan->is_moved[n] = is_moved;
        tan->I[n] = is_moved ? cri_inertia_displaced(tree->I + n, tan->Y[n]) : tan->I[0];
        for (int k = node->n_still; is_moved && k < node->n_v; k++) {
            tan->S[node->first_v + k] = cri_sp_cross(tan->Y[n], tree->S[node->first_v + k]);
        }
    }
    for (int b = 0; d_tan && b < plan->n_body; b++) {
        inertia_jvp_part(tree, b, d_tan->link + tree->unit->first_body + b,
                         tan->I + plan->body_node[b]);
    }
    return tan;
}

void cri_tree_spread_jvp_part(const cri_tree *tree, const cri_tree_tan *tan, const double *w,
                              const double *w_tan, cri_spatial *X, cri_spatial *dX) {
    const cri_tree_plan *plan = tree->plan;
    X[0] = dX[0] = zero;
    cri_tree_spread(tree, w, X);
    for (int n = 1; n <= plan->n_node; n++) {
        const cri_tree_node *node = plan->node + n;
        dX[n] = dX[node->parent];
        for (int k = node->first_v; k < node->first_v + node->n_v; k++) {
            if (tan->is_moved[n]) {
                dX[n] = cri_sp_mad(dX[n], w[k], tan->S[k]);
            }
            if (w_tan) {
                dX[n] = cri_sp_mad(dX[n], w_tan[k], tree->S[k]);
            }
        }
    }
}

void cri_tree_motion_jvp(const cri_tree *tree, const cri_tree_tan *tan, const double *w,
                         const double *w_tan, double *motion_tan) {
    CR_ASSERT(tan && motion_tan);
    const cri_tree_plan *plan = tree->plan;
    int first = tree->unit->first_v;
    cri_spatial *X = tree->plan->work[0], *dX = tree->plan->work[1];
    cri_tree_spread_jvp_part(tree, tan, w + first, w_tan + first, X, dX);
    double *out = motion_tan + 6 * tree->unit->first_body;
    for (int b = 0; b < plan->n_body; b++, out += 6) {
        int n = plan->body_node[b];
        cri_vec3 p = tree->place[b], p_tan = cri_sp_at(tan->Y[n], p);
        cri_v3_store(cri_v3_add(cri_sp_at(dX[n], p), cri_v3_cross(X[n].w, p_tan)), out);
        cri_vec3 turned = cri_v3_sub(dX[n].w, cri_v3_cross(tan->Y[n].w, X[n].w));
        cri_v3_store(cri_m3_tmul(&tree->pose[b].R, turned), out + 3);
    }
}

// g_tan += S_tan . F, for forces F of subtrees
static void gather_columns(const cri_tree *tree, const cri_tree_tan *tan, const cri_spatial *F,
                           double *g_tan) {
    for (int n = 1; n <= tree->plan->n_node; n++) {
        const cri_tree_node *node = tree->plan->node + n;
        int end = tan->is_moved[n] ? node->first_v + node->n_v : 0;
        for (int k = node->first_v + node->n_still; k < end; k++) {
            g_tan[k] += cri_sp_dot(tan->S[k], F[n]);
        }
    }
}

// F of subtrees from those of nodes
static void add_up(const cri_tree_plan *plan, cri_spatial *F) {
    for (int n = plan->n_node; n > 0; n--) {
        int p = plan->node[n].parent;
        F[p] = cri_sp_add(F[p], F[n]);
    }
}

void cri_tree_pull_jvp(const cri_tree *tree, const cri_tree_tan *tan, const double *force,
                       const double *force_tan, double *g_tan) {
    CR_ASSERT(tan && g_tan);
    const cri_tree_plan *plan = tree->plan;
    cri_spatial *F = tree->plan->work[0], *dF = tree->plan->work[1];
    memset(F, 0, sizeof *F * (size_t)(plan->n_node + 1));
    memset(dF, 0, sizeof *dF * (size_t)(plan->n_node + 1));
    for (int b = 0; b < plan->n_body; b++) {
        int n = plan->body_node[b];
        const double *f = force + 6 * (tree->unit->first_body + b);
        cri_spatial dw = body_wrench(tree, b, force_tan + 6 * (tree->unit->first_body + b));
        if (!tan->is_moved[n]) {
            dF[n] = cri_sp_add(dF[n], dw);
            continue;
        }
        cri_spatial w = body_wrench(tree, b, f);
        cri_vec3 torque = cri_m3_mul(&tree->pose[b].R, cri_v3_load(f + 3));
        cri_vec3 moved = cri_v3_cross(cri_sp_at(tan->Y[n], tree->place[b]), w.v);
        dw.w = cri_v3_add(cri_v3_add(dw.w, moved), cri_v3_cross(tan->Y[n].w, torque));
        F[n] = cri_sp_add(F[n], w);
        dF[n] = cri_sp_add(dF[n], dw);
    }
    add_up(plan, F);
    double *own = g_tan + tree->unit->first_v;
    gather_columns(tree, tan, F, own);
    cri_tree_gather(tree, 1.0, dF, own);
}

void cri_tree_solve_jvp(const cri_tree *tree, const cri_tree_tan *tan, const double *g_tan,
                        const double *w, const double *nu, double *w_tan, cr_arena *scratch) {
    const cri_tree_plan *plan = tree->plan;
    int first = tree->unit->first_v, n = plan->n_v, n_node = plan->n_node + 1;
    const double *own_w = w + first;
    CR_ASSERT(nu || plan->n_row == 0);
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    cri_spatial *X = CR_PUSH_RAW(scratch, cri_spatial, 2 * n_node), *dX = X + n_node;
    cri_spatial *F = CR_PUSH(scratch, cri_spatial, 2 * n_node), *dF = F + n_node;
    double *r = CR_PUSH(scratch, double, n);
    double *e = CR_PUSH_RAW(scratch, double, plan->n_row);

    // (M_tan w + E_tan' nu) by forces on nodes, and E_tan w
    cri_tree_spread_jvp_part(tree, tan, own_w, NULL, X, dX);
    cri_tree_tie_wrenches(tree, nu, F);
    cri_tree_tie_wrenches_jvp_part(tree, tan, nu, dF, r);
    cri_tree_tie_jvp_part(tree, tan, own_w, X, dX, e);
    for (int k = 1; k < n_node; k++) {
        if (!tan->is_moved[k]) {
            continue; // its F is that of columns which do not change
        }
        F[k] = cri_sp_add(F[k], cri_inertia_apply(tree->I + k, X[k]));
        dF[k] = cri_sp_add(dF[k], cri_inertia_apply(tan->I + k, X[k]));
        dF[k] = cri_sp_add(dF[k], cri_inertia_apply(tree->I + k, dX[k]));
    }
    add_up(plan, F);
    gather_columns(tree, tan, F, r);
    cri_tree_gather(tree, 1.0, dF, r);
    for (int i = 0; tan->d && i < n; i++) {
        r[i] += tan->d->joint[tree->mech->dof_joint[first + i]].armature * own_w[i];
    }
    for (int i = 0; i < n; i++) {
        w_tan[first + i] = g_tan[first + i] - r[i];
    }
    cri_tree_back_tied(tree, &tree->plain, e, w_tan + first, tree->plan->work_row);
    cri_arena_rewind(scratch, mark);
}
