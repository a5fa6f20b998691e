// SPDX-License-Identifier: MIT
//
// Derivatives of inverse dynamics for all dofs at once (Carpentier and Mansard, Analytical
// Derivatives of Rigid Body Dynamics Algorithms, 2018), O(n depth).
//
// A unit change of q_k displaces the subtree of its node by the twist S_k. What of a node's motion
// does not simply ride along is the same for all of them. p is the node above, with the still
// columns of k's own node:
//
//   V_n: S_k x V_n + y,            y = V_p x S_k
//   A_n: S_k x A_n + x + y x V_n,  x = A_p x S_k + V_p x y
//   F_n: S_k x* F_n + I x + B y,   B y = I (y x V) + y x* I V + V x* I y
//
// and of v_k without the displacement, y = S_k and x = (V_p + V_k) x S_k, V_k where k moves itself.
// B y depends on the spin of y alone: three columns. With sums over subtrees I, B and F,
//
//   dof j below k:  tau_j = S_j . (I_j x + B_j y)          what rides along does no work
//   dof j above k:  tau_j = S_j . (S_k x* F_k + I_k x + B_k y)
//
// A force f on a body at p that keeps its axes in the world has B y = p, y x f: the wrench.

#include "dynamics/tree_parts.h"

#include "base/math/dense.h"

#include <string.h>

/// Sums over subtrees, and what unit changes of dofs do to motions.
typedef struct sweep {
    cri_spatial_inertia *I; // (n_node + 1)
    cri_spatial (*B)[3];    // (n_node + 1)
    const cri_spatial *F;   // (n_node + 1), NULL: nothing is displaced
    cri_spatial *x;         // (n_v)
    cri_vec3 *y;            // (n_v) spins
} sweep;

static sweep sweep_push(const cri_tree *tree, cr_arena *scratch) {
    int n = tree->plan->n_node + 1;
    sweep s = {.I = CR_PUSH_RAW(scratch, cri_spatial_inertia, n),
               .B = cri_arena_push(scratch, sizeof *s.B * (size_t)n),
               .x = CR_PUSH_RAW(scratch, cri_spatial, tree->plan->n_v),
               .y = CR_PUSH_RAW(scratch, cri_vec3, tree->plan->n_v)};
    memcpy(s.I, tree->I, sizeof *s.I * (size_t)n);
    return s;
}

// sums of subtrees
static void sum_up(const cri_tree_plan *plan, const sweep *s) {
    for (int n = plan->n_node; n > 0; n--) {
        int p = plan->node[n].parent;
        cri_inertia_accumulate(s->I + n, s->I + p);
        for (int c = 0; c < 3; c++) {
            s->B[p][c] = cri_sp_add(s->B[p][c], s->B[n][c]);
        }
    }
}

// I x + B y of the subtree of node n
static cri_spatial change_of_force(const sweep *s, int n, int k) {
    const cri_spatial *B = s->B[n];
    cri_spatial f = cri_inertia_apply(s->I + n, s->x[k]);
    f = cri_sp_mad(f, s->y[k].x, B[0]);
    f = cri_sp_mad(f, s->y[k].y, B[1]);
    return cri_sp_mad(f, s->y[k].z, B[2]);
}

// R (rows of n_column numbers) += sign (changes of tau by rows, dofs by columns)
static void add_changes(const cri_tree *tree, const sweep *s, double sign, int n_column,
                        double *R) {
    const cri_tree_plan *plan = tree->plan;
    for (int n = 1; n <= plan->n_node; n++) {
        const cri_tree_node *node = plan->node + n;
        int first = node->first_v, moving = first + node->n_still, end = first + node->n_v;
        for (int k = first; k < end; k++) {
            double *row = R + (size_t)k * (size_t)n_column;
            cri_spatial S = tree->S[k], P = cri_inertia_apply(s->I + n, S);
            cri_vec3 Q = cri_v3(cri_sp_dot(s->B[n][0], S), cri_sp_dot(s->B[n][1], S),
                                cri_sp_dot(s->B[n][2], S));
            cri_spatial within = change_of_force(s, n, k), all = within;
            if (s->F) {
                all = cri_sp_add(all, cri_sp_cross_force(S, s->F[n]));
            }
            for (int e = plan->row[k]; plan->ancestor[e] < first; e++) {
                int j = plan->ancestor[e];
                R[(size_t)j * (size_t)n_column + k] += sign * cri_sp_dot(tree->S[j], all);
                row[j] += sign * (cri_sp_dot(P, s->x[j]) + cri_v3_dot(Q, s->y[j]));
            }
            for (int j = first; j < end; j++) {
                double own = cri_sp_dot(tree->S[j], j < moving ? all : within);
                R[(size_t)j * (size_t)n_column + k] += sign * own;
            }
        }
    }
}

// motion of the node above with the still columns of node n, for rates w and motions X
static cri_spatial above(const cri_tree *tree, int n, const double *w, const cri_spatial *X) {
    const cri_tree_node *node = tree->plan->node + n;
    cri_spatial out = X[node->parent];
    for (int k = node->first_v; k < node->first_v + node->n_still; k++) {
        out = cri_sp_mad(out, w[k], tree->S[k]);
    }
    return out;
}

static const cri_spatial zero = {{0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}};

static cri_spatial unit_turn(int c) {
    return (cri_spatial){{c == 0, c == 1, c == 2}, zero.v};
}

// ---- accelerations -----------------------------------------------------------------------------

bool cri_tree_has_jac(const cri_tree *tree) {
    bool has = tree->plan->n_row == 0;
    for (int i = 0; i < tree->plan->n_actuator; i++) {
        has = has && tree->mech->actuator[tree->plan->actuator[i]].kind != CRI_DRIVE_SITE;
    }
    return has;
}

size_t cri_tree_jac_bytes(const cri_mechanism *mech, int unit) {
    const cri_unit *u = mech->unit + unit;
    size_t n_node = (size_t)u->n_joint + 1, n_v = (size_t)u->n_v;
    size_t sums = (sizeof(cri_spatial_inertia) + 3 * sizeof(cri_spatial)) * n_node +
                  (sizeof(cri_spatial) + sizeof(cri_vec3)) * n_v;
    // and motions and forces of the nodes, the matrix, and what the arena adds
    return sums + 4 * sizeof(cri_spatial) * n_node + sizeof(double) * 2 * n_v * n_v + 16 * 64;
}

// B of the nodes at the velocities V
static void turn_columns(const cri_tree *tree, const cri_spatial *V, const sweep *s) {
    for (int n = 1; n <= tree->plan->n_node; n++) {
        const cri_spatial_inertia *I = tree->I + n;
        if (I->mass == 0.0) {
            continue; // a joint without a body of its own
        }
        cri_spatial P = cri_inertia_apply(I, V[n]);
        for (int c = 0; c < 3; c++) {
            cri_spatial y = unit_turn(c);
            cri_spatial b = cri_inertia_apply(I, cri_sp_cross(y, V[n]));
            b = cri_sp_add(b, cri_sp_cross_force(y, P));
            s->B[n][c] = cri_sp_add(b, cri_sp_cross_force(V[n], cri_inertia_apply(I, y)));
        }
    }
}

/// Rows of X that are added to one of them.
typedef struct gathered {
    int n;
    double weight[CRI_MAX_ROWS];
    const double *from[CRI_MAX_ROWS];
} gathered;

static void flush(gathered *g, int n_column, double *to) {
    cri_add_combination(n_column, g->n, g->weight, g->from, to);
    g->n = 0;
}

static void gather(gathered *g, double weight, const double *from, int n_column, double *to) {
    g->weight[g->n] = weight;
    g->from[g->n++] = from;
    if (g->n == CRI_MAX_ROWS) {
        flush(g, n_column, to);
    }
}

// (M + h D)^-1 on the rows of X, n_column numbers each
static void back_many(const cri_tree *tree, const cri_tree_factor *factor, int n_column,
                      double *X) {
    const cri_tree_plan *plan = tree->plan;
    size_t width = (size_t)n_column;
    gathered g = {.n = 0};
    // L'^-1: each row takes from all below it
    for (int i = plan->n_v - 1; i >= 0; i--) {
        int depth = plan->row[i + 1] - plan->row[i] - 1;
        double *x = X + (size_t)i * width;
        for (int k = i + 1; k < plan->n_v; k++) {
            int e = plan->row[k] + depth;
            if (e < plan->row[k + 1] && plan->ancestor[e] == i) {
                gather(&g, -factor->H[e], X + (size_t)k * width, n_column, x);
            }
        }
        flush(&g, n_column, x);
    }
    // D^-1, and L^-1: from all above it
    for (int i = 0; i < plan->n_v; i++) {
        double *x = X + (size_t)i * width;
        double inverse = 1.0 / factor->H[plan->row[i + 1] - 1];
        for (int k = 0; k < n_column; k++) {
            x[k] *= inverse;
        }
        for (int e = plan->row[i]; e < plan->row[i + 1] - 1; e++) {
            gather(&g, -factor->H[e], X + (size_t)plan->ancestor[e] * width, n_column, x);
        }
        flush(&g, n_column, x);
    }
}

void cri_tree_accel_jac(const cri_tree *tree, double *jac, cr_arena *scratch) {
    const cri_tree_plan *plan = tree->plan;
    CR_ASSERT(tree->factor && cri_tree_has_jac(tree) && jac && scratch);
    int n = plan->n_v;
    size_t width = 2 * (size_t)n;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *R = CR_PUSH_RAW(scratch, double, width *(size_t)n);
    cri_clear_rows(n, 2 * n, R);
    cri_tree_state state = cri_tree_solved_state(tree, scratch);
    sweep s = sweep_push(tree, scratch);
    turn_columns(tree, state.V, &s);
    sum_up(plan, &s);

    // changes of -r1 with q, then with v
    s.F = state.F;
    for (int k = 1; k <= plan->n_node; k++) {
        const cri_tree_node *node = plan->node + k;
        cri_spatial V = above(tree, k, state.v, state.V), A = above(tree, k, state.a, state.A);
        for (int i = node->first_v; i < node->first_v + node->n_v; i++) {
            cri_spatial y = cri_sp_cross(V, tree->S[i]);
            s.x[i] = cri_sp_add(cri_sp_cross(A, tree->S[i]), cri_sp_cross(V, y));
            s.y[i] = y.w;
        }
    }
    add_changes(tree, &s, -1.0, 2 * n, R);
    s.F = NULL;
    for (int k = 1; k <= plan->n_node; k++) {
        const cri_tree_node *node = plan->node + k;
        cri_spatial V = above(tree, k, state.v, state.V);
        for (int i = node->first_v; i < node->first_v + node->n_v; i++) {
            bool is_still = i < node->first_v + node->n_still;
            cri_spatial sum = is_still ? V : cri_sp_add(V, state.V[k]);
            s.x[i] = cri_sp_cross(sum, tree->S[i]);
            s.y[i] = tree->S[i].w;
        }
    }
    add_changes(tree, &s, -1.0, 2 * n, R + n);
    cri_tree_forces_jac_part(tree, R);
    back_many(tree, tree->factor, 2 * n, R);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 2 * n; k++) {
            jac[k * n + i] = R[(size_t)i * width + (size_t)k];
        }
    }
    cri_arena_rewind(scratch, mark);
}

// ---- responses to forces on bodies -------------------------------------------------------------

void cri_tree_response_jac(const cri_tree *tree, const double *w, const double *force, int n_column,
                           double *R, cr_arena *scratch) {
    const cri_tree_plan *plan = tree->plan;
    CR_ASSERT(plan->n_row == 0 && w && force && n_column >= plan->n_v && R && scratch);
    const double *own_w = w + tree->unit->first_v, *own = force + 6 * tree->unit->first_body;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    cri_spatial *X = CR_PUSH_RAW(scratch, cri_spatial, plan->n_node + 1);
    cri_spatial *F = CR_PUSH(scratch, cri_spatial, plan->n_node + 1);
    sweep s = sweep_push(tree, scratch);
    X[0] = zero;
    cri_tree_spread(tree, own_w, X);
    for (int n = 1; n <= plan->n_node; n++) {
        F[n] = cri_inertia_apply(tree->I + n, X[n]);
    }
    for (int b = 0; b < plan->n_body; b++, own += 6) {
        int n = plan->body_node[b];
        cri_vec3 f = cri_v3_load(own), p = tree->place[b];
        cri_spatial wrench = cri_sp_wrench(p, f);
        wrench.w = cri_v3_add(wrench.w, cri_m3_mul(&tree->pose[b].R, cri_v3_load(own + 3)));
        F[n] = cri_sp_sub(F[n], wrench);
        for (int c = 0; c < 3; c++) {
            cri_vec3 turned = cri_v3_cross(unit_turn(c).w, f);
            s.B[n][c] = cri_sp_add(s.B[n][c], cri_sp_wrench(p, turned));
        }
    }
    for (int n = plan->n_node; n > 0; n--) {
        int p = plan->node[n].parent;
        F[p] = cri_sp_add(F[p], F[n]);
    }
    sum_up(plan, &s);
    s.F = F;
    for (int k = 1; k <= plan->n_node; k++) {
        const cri_tree_node *node = plan->node + k;
        cri_spatial x = above(tree, k, own_w, X);
        for (int i = node->first_v; i < node->first_v + node->n_v; i++) {
            s.x[i] = cri_sp_cross(x, tree->S[i]);
            s.y[i] = tree->S[i].w;
        }
    }
    add_changes(tree, &s, -1.0, n_column, R);
    cri_arena_rewind(scratch, mark);
}

void cri_tree_solve_many(const cri_tree *tree, int n_column, double *X) {
    CR_ASSERT(tree->plan->n_row == 0 && n_column > 0 && X);
    back_many(tree, &tree->plain, n_column, X);
}

void cri_tree_solve_rows(const cri_tree *tree, int n, double *X, cr_arena *scratch) {
    CR_ASSERT(tree->plan->n_row == 0 && n >= 0 && X && scratch);
    int n_v = tree->plan->n_v;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *columns = CR_PUSH_RAW(scratch, double, n *n_v);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < n_v; k++) {
            columns[k * n + i] = X[i * n_v + k];
        }
    }
    back_many(tree, &tree->plain, n, columns);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < n_v; k++) {
            X[i * n_v + k] = columns[k * n + i];
        }
    }
    cri_arena_rewind(scratch, mark);
}

// ---- motions of a body -------------------------------------------------------------------------

// dofs that move node n, from the root: their number, and the first of them in plan->ancestor
static int path_of(const cri_tree_plan *plan, int n, int *first) {
    *first = 0;
    if (n == 0) {
        return 0;
    }
    int last = plan->node[n].first_v + plan->node[n].n_v - 1;
    *first = plan->row[last];
    return plan->row[last + 1] - plan->row[last];
}

// motion of a body for that of its node
static void store_motion(const cri_tree *tree, int b, cri_spatial X, double *out) {
    cri_v3_store(cri_sp_at(X, tree->place[b]), out);
    cri_v3_store(cri_m3_tmul(&tree->pose[b].R, X.w), out + 3);
}

int cri_tree_body_columns(const cri_tree *tree, int body, int *dof, double *columns) {
    const cri_tree_plan *plan = tree->plan;
    int b = body - tree->unit->first_body, first, n = path_of(plan, plan->body_node[b], &first);
    for (int e = 0; e < n; e++) {
        int i = plan->ancestor[first + e];
        dof[e] = tree->unit->first_v + i;
        store_motion(tree, b, tree->S[i], columns + 6 * e);
    }
    return n;
}

void cri_tree_body_motion_jac(const cri_tree *tree, int body, const double *w, double *columns) {
    // K w rides along with the body's axes, but for y = X_p x S_k: its first part turns in the
    // world
    const cri_tree_plan *plan = tree->plan;
    const double *own = w + tree->unit->first_v;
    int b = body - tree->unit->first_body, first, n = path_of(plan, plan->body_node[b], &first);
    cri_spatial X = zero;
    for (int e = 0; e < n;) {
        int k = plan->ancestor[first + e];
        int joint = tree->mech->dof_joint[tree->unit->first_v + k];
        const cri_tree_node *node = plan->node + joint - tree->unit->first_joint + 1;
        cri_spatial below = X;
        for (int i = k; i < k + node->n_v; i++) {
            below = cri_sp_mad(below, own[i], tree->S[i]);
            X = i < k + node->n_still ? below : X;
        }
        for (int i = k; i < k + node->n_v; i++, e++) {
            store_motion(tree, b, cri_sp_cross(X, tree->S[i]), columns + 6 * e);
        }
        X = below;
    }
    cri_vec3 at = cri_sp_at(X, tree->place[b]);
    for (int e = 0; e < n; e++) {
        cri_vec3 spin = tree->S[plan->ancestor[first + e]].w;
        cri_v3_accumulate(cri_v3_cross(spin, at), columns + 6 * e);
    }
}
