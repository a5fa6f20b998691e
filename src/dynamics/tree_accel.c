// SPDX-License-Identifier: MIT
//
// Accelerations of a unit without contact, as the root of a residual:
//
//   r1 = M a + c(q, v) + h D a + E' nu - forces = 0        r2 = k E a + bias of rows = 0
//
// D is joint damping, and where the integrator is implicit -gear^2 bias[2] of actuators on one
// joint. k = 1 + h/T of the ties' time T (tree_equality.c).
//
// Adjoint: lambda, k nu_adj from the same factor with a_adj on the right; then every adjoint is
// -(lambda . dr1 + nu_adj . dr2), one adjoint recursion with weights mu = -lambda, and one more for
// (k - 1) E a.
// Tangent: the same system with -r1_tan, -r2_tan/k at fixed a, nu on the right.
//
// The forward pass stops at the bias; A and F at the solution, linear in a, follow when derivatives
// are asked for.

#include "dynamics/tree_parts.h"

#include "base/math/dense.h"

#include <string.h>

// k of ties, a number that multiplies E a
static double tie_lag(const cri_tree *tree) {
    return 1.0 + tree->h / CRI_TIE_TIME;
}

static void divide(int n, double by, double *x) {
    for (int i = 0; i < n; i++) {
        x[i] /= by;
    }
}

void cri_tree_accel_own(cri_tree *tree, const double *v, const double *u, double h,
                        cr_arena *scratch) {
    const cri_tree_plan *plan = tree->plan;
    CR_VALIDATE(h >= 0.0);
    memcpy(tree->v, v, sizeof *v * (size_t)plan->n_v);
    tree->h = h;
    memset(tree->a, 0, sizeof *tree->a * (size_t)plan->n_v);
    cri_tree_bias_forces(tree, tree->v, tree->V, tree->A, tree->F);
    cri_tree_forces(tree, tree->v, u, tree->a, tree->F);
    cri_tree_gather(tree, -1.0, tree->F, tree->a);
    // which actuators are at a limit is known now
    tree->factor = &tree->plain;
    if (h > 0.0) {
        cri_tree_factor_mass(tree, h, &tree->damped);
        tree->factor = &tree->damped;
    }
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *e = CR_PUSH_RAW(scratch, double, plan->n_row);
    cri_tree_tie_bias(tree, e);
    divide(plan->n_row, tie_lag(tree), e);
    cri_tree_back_tied(tree, tree->factor, e, tree->a, tree->nu);
    cri_arena_rewind(scratch, mark);
}

void cri_tree_accel(cri_tree *tree, const double *v, const double *u, double h, double *a,
                    cr_arena *scratch) {
    CR_ASSERT(tree && v && u && a && scratch);
    int first = tree->unit->first_v;
    cri_tree_accel_own(tree, v + first, u, h, scratch);
    memcpy(a + first, tree->a, sizeof *a * (size_t)tree->plan->n_v);
}

// A and F at the solution
cri_tree_state cri_tree_solved_state(const cri_tree *tree, cr_arena *scratch) {
    const cri_tree_plan *plan = tree->plan;
    int n_node = plan->n_node;
    cri_spatial *A = CR_PUSH_RAW(scratch, cri_spatial, n_node + 1);
    cri_spatial *F = CR_PUSH_RAW(scratch, cri_spatial, n_node + 1);
    memset(A, 0, sizeof *A);
    memset(F, 0, sizeof *F * (size_t)(n_node + 1));
    cri_tree_spread(tree, tree->a, A);
    cri_tree_tie_wrenches(tree, tree->nu, F);
    for (int n = n_node; n > 0; n--) {
        int parent = plan->node[n].parent;
        F[n] = cri_sp_add(F[n], cri_inertia_apply(tree->I + n, A[n]));
        F[parent] = cri_sp_add(F[parent], F[n]);
        F[n] = cri_sp_add(F[n], tree->F[n]);
    }
    for (int n = 0; n <= n_node; n++) {
        A[n] = cri_sp_add(A[n], tree->A[n]);
    }
    return (cri_tree_state){tree->v, tree->a, tree->V, A, F};
}

// armature and implicit damping: (armature + h damping) a in r1
static void diagonal_vjp(const cri_tree *tree, const double *lambda, double *h_adj,
                         const cri_mech_derived *d_adj) {
    for (int i = 0; i < tree->plan->n_v; i++) {
        int joint = tree->mech->dof_joint[tree->unit->first_v + i];
        double la = lambda[i] * tree->a[i];
        if (d_adj) {
            d_adj->joint[joint].armature -= la;
            d_adj->joint[joint].damping -= tree->h * la;
        }
        if (h_adj) {
            *h_adj -= la * tree->d->joint[joint].damping;
        }
    }
    for (int i = 0; i < tree->plan->n_actuator; i++) {
        int dof;
        double c;
        if (!cri_tree_drive_damping(tree, i, &c, &dof)) {
            continue;
        }
        double la = lambda[dof] * tree->a[dof];
        // c = -gear^2 bias[2],  c_adj = -h la
        int actuator = tree->plan->actuator[i];
        const cri_actuator_derived *d = tree->d->actuator + actuator;
        if (d_adj) {
            d_adj->actuator[actuator].bias[2] += tree->h * la * d->gear[0] * d->gear[0];
            d_adj->actuator[actuator].gear[0] += tree->h * la * 2.0 * d->gear[0] * d->bias[2];
        }
        if (h_adj) {
            *h_adj -= la * c;
        }
    }
}

// (k - 1) E a in r2
static void lag_vjp(const cri_tree *tree, const double *nu_adj, const cri_tree_accel_adj *adj,
                    cr_arena *scratch) {
    int n = tree->plan->n_v, n_node = tree->plan->n_node + 1;
    const double *zero = CR_PUSH(scratch, double, n);
    cri_spatial *A = CR_PUSH_RAW(scratch, cri_spatial, n_node);
    cri_spatial *none = CR_PUSH(scratch, cri_spatial, n_node);
    cri_spatial *seed = CR_PUSH(scratch, cri_spatial, 3 * n_node);
    cri_tree_seeds seeds = {seed, seed + n_node, seed + 2 * n_node};
    memset(A, 0, sizeof *A);
    cri_tree_spread(tree, tree->a, A);
    cri_tree_tie_form_vjp_part(tree, tie_lag(tree) - 1.0, nu_adj, tree->a, A, seeds.A, seeds.Y,
                               adj->q);
    // motions of a alone: the recursion without velocities, gravity and forces
    cri_tree_state state = {zero, tree->a, none, A, none};
    cri_tree_recursion_vjp_part(tree, &state, zero, none, &seeds, adj->q, adj->v, NULL);
    for (int i = 0; adj->h && i < tree->plan->n_row; i++) {
        *adj->h -= nu_adj[i] * cri_dot(n, tree->E + i * n, tree->a) / CRI_TIE_TIME;
    }
}

void cri_tree_accel_vjp_own(const cri_tree *tree, const double *a_adj,
                            const cri_tree_accel_adj *adj, cr_arena *scratch) {
    const cri_tree_plan *plan = tree->plan;
    CR_ASSERT(tree->factor);
    int n = plan->n_v, n_node = plan->n_node + 1;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *lambda = CR_PUSH_RAW(scratch, double, n);
    double *mu = CR_PUSH_RAW(scratch, double, n);
    double *nu_adj = CR_PUSH_RAW(scratch, double, plan->n_row);
    cri_spatial *L = CR_PUSH_RAW(scratch, cri_spatial, n_node);
    cri_spatial *seed = CR_PUSH(scratch, cri_spatial, 3 * n_node);
    cri_tree_seeds seeds = {seed, seed + n_node, seed + 2 * n_node};

    // (M + h D) lambda + k E' nu_adj = a_adj,  E lambda = 0
    memcpy(lambda, a_adj, sizeof *lambda * (size_t)n);
    cri_tree_back_tied(tree, tree->factor, NULL, lambda, nu_adj);
    divide(plan->n_row, tie_lag(tree), nu_adj);
    memset(L, 0, sizeof *L);
    cri_tree_spread(tree, lambda, L);
    cri_tree_force_adj force_adj = {adj->q, adj->v, adj->u, seeds.Y, adj->d};
    cri_tree_forces_vjp_part(tree, lambda, L, &force_adj);
    diagonal_vjp(tree, lambda, adj->h, adj->d);

    // what follows has the weights mu = -lambda
    for (int i = 0; i < n; i++) {
        mu[i] = -lambda[i];
    }
    for (int k = 1; k < n_node; k++) {
        L[k] = (cri_spatial){cri_v3_scale(-1.0, L[k].w), cri_v3_scale(-1.0, L[k].v)};
    }
    cri_tree_state state = cri_tree_solved_state(tree, scratch);
    cri_tree_tie_vjp_part(tree, &state, nu_adj, mu, L, &seeds, adj->q, adj->v);
    cri_tree_recursion_vjp_part(tree, &state, mu, L, &seeds, adj->q, adj->v, adj->d);
    if (plan->n_row > 0 && (tree->h > 0.0 || adj->h)) {
        lag_vjp(tree, nu_adj, adj, scratch);
    }
    cri_arena_rewind(scratch, mark);
}

void cri_tree_accel_vjp(const cri_tree *tree, const double *a_adj, double *q_adj, double *v_adj,
                        double *u_adj, double *h_adj, const cri_mech_derived *d_adj,
                        cr_arena *scratch) {
    CR_ASSERT(tree && a_adj && q_adj && v_adj && scratch);
    int first = tree->unit->first_v;
    cri_tree_accel_adj adj = {q_adj + first, v_adj + first, u_adj, h_adj, d_adj};
    cri_tree_accel_vjp_own(tree, a_adj + first, &adj, scratch);
}

// tau_tan += changes of (armature + h damping) a at fixed a
static void diagonal_jvp(const cri_tree *tree, double h_tan, const cri_mech_derived *d_tan,
                         double *tau_tan) {
    for (int i = 0; i < tree->plan->n_v; i++) {
        int joint = tree->mech->dof_joint[tree->unit->first_v + i];
        double change = h_tan * tree->d->joint[joint].damping;
        if (d_tan) {
            change += d_tan->joint[joint].armature + tree->h * d_tan->joint[joint].damping;
        }
        tau_tan[i] += change * tree->a[i];
    }
    for (int i = 0; i < tree->plan->n_actuator; i++) {
        int dof;
        double c;
        if (!cri_tree_drive_damping(tree, i, &c, &dof)) {
            continue;
        }
        double change = h_tan * c;
        const cri_actuator_derived *d = tree->d->actuator + tree->plan->actuator[i];
        if (d_tan) {
            const cri_actuator_derived *dd = d_tan->actuator + tree->plan->actuator[i];
            change -=
                tree->h * d->gear[0] * (2.0 * d->bias[2] * dd->gear[0] + d->gear[0] * dd->bias[2]);
        }
        tau_tan[dof] += change * tree->a[dof];
    }
}

// e (n_row) -= changes of (k - 1) E a at fixed a
static void lag_jvp(const cri_tree *tree, const cri_tree_tan *turn, double h_tan, double *e,
                    cr_arena *scratch) {
    int n = tree->plan->n_v, n_row = tree->plan->n_row, n_node = tree->plan->n_node + 1;
    cri_spatial *X = CR_PUSH_RAW(scratch, cri_spatial, 2 * n_node), *dX = X + n_node;
    double *more = CR_PUSH_RAW(scratch, double, n_row);
    cri_tree_spread_jvp_part(tree, turn, tree->a, NULL, X, dX);
    cri_tree_tie_jvp_part(tree, turn, tree->a, X, dX, more);
    for (int i = 0; i < n_row; i++) {
        double Ea = cri_dot(n, tree->E + i * n, tree->a);
        e[i] += (tie_lag(tree) - 1.0) * more[i] - h_tan / CRI_TIE_TIME * Ea;
    }
}

void cri_tree_accel_jvp_own(const cri_tree *tree, const cri_accel_tan *tan, double *a_tan,
                            cr_arena *scratch) {
    const cri_tree_plan *plan = tree->plan;
    CR_ASSERT(tree->factor);
    int n = plan->n_v, n_node = plan->n_node + 1;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    cri_tree_tan *turn = cri_tree_tan_push_own(tree, tan->q, tan->d, scratch);
    double *r = CR_PUSH(scratch, double, n);
    double *forces = CR_PUSH(scratch, double, n);
    double *e = CR_PUSH_RAW(scratch, double, plan->n_row);
    cri_spatial *dV = CR_PUSH_RAW(scratch, cri_spatial, 2 * n_node);
    cri_spatial *dA = dV + n_node, *dF = CR_PUSH(scratch, cri_spatial, n_node);
    cri_tree_state state = cri_tree_solved_state(tree, scratch);

    // r1 and r2 at fixed a, nu
    cri_tree_forces_jvp_part(tree, tan, turn, forces, dF);
    cri_tree_tie_wrenches_jvp_part(tree, turn, tree->nu, dF, r);
    cri_tree_recursion_jvp_part(tree, &state, turn, tan->v, dV, dA, dF, r);
    diagonal_jvp(tree, tan->h, tan->d, r);
    cri_tree_tie_jvp_part(tree, turn, tree->a, state.A, dA, e);
    cri_tree_tie_bias_jvp_part(tree, turn, tan->v, dV, e);
    if (plan->n_row > 0 && (tree->h > 0.0 || tan->h != 0.0)) {
        lag_jvp(tree, turn, tan->h, e, scratch);
    }
    divide(plan->n_row, tie_lag(tree), e);

    for (int i = 0; i < n; i++) {
        a_tan[i] = forces[i] - r[i];
    }
    cri_tree_back_tied(tree, tree->factor, e, a_tan, tree->plan->work_row);
    cri_arena_rewind(scratch, mark);
}

void cri_tree_accel_jvp(const cri_tree *tree, const cri_accel_tan *tan, double *a_tan,
                        cr_arena *scratch) {
    CR_ASSERT(tree && tan && a_tan && scratch);
    int first = tree->unit->first_v;
    cri_accel_tan own = *tan;
    own.q += first;
    own.v += first;
    cri_tree_accel_jvp_own(tree, &own, a_tan + first, scratch);
}
