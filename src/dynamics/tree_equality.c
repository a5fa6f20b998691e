// SPDX-License-Identifier: MIT
//
// Equalities of a unit as rows on accelerations, with stabilisation:
//
//   (1 + h/T) E a + E' v + 2/T E v + r/T^2 = 0     (E' the rate of E), so r decays like exp(-t/T)
//
// h is the step of Euler, 0 of Runge-Kutta. With v' = v + h a, q' = q + h v' it moves r by
// h E v' + h^2/2 E' v', that is by h (E v + h/2 E a) where r'' = 0: this rate is damped.
// E v alone would hold r = T h E' v open, 1.3 mm in a chain of 0.2 m at 13 rad/s and 2 ms; what is
// left is some T^2 h/2 (E' v)', 0.2 mm there.
//
//   connect  r = x0 - x1,   row  sum over sides s = +1, -1 of  s (at(A, x) + w x at(V, x))
//   weld     likewise, and  sum s wA;  r = 2 vec(e),  e = q0 q_rel q1*,  e_0 >= 0
//            dr = e_0 (y0 - y1) + (y0 + y1) x r/2   for turns y of the two bodies
//   joint, tendon   r = l0 - ref0 - poly(l1 - ref1),  E = e0 - poly' e1,  E' v = -poly'' l1'^2
//
// Adjoints, for the weight g = s m of a side on its row:
//
//   A_adj = wrench(x, g)            V_adj = wrench(x, b + 2/T g) + (at(V, x) x g, 0),  b = g x w
//   Y_adj = wrench(x, g x wA + (b + 2/T g) x w + g/T^2)
//
// and for E' nu, whose wrench s nu at x has power with L:  Y_adj = wrench(x, s nu x wL).
// e_0 changes its sign at half a turn: the forward pass records it. Steps are stable below 2.8 T
// (RK4) and 2 T (Euler).

#include "dynamics/tree_parts.h"

#include <string.h>

#define RATE_GAIN (2.0 / CRI_TIE_TIME)
#define PLACE_GAIN (1.0 / (CRI_TIE_TIME * CRI_TIE_TIME))

static const double side_sign[2] = {1.0, -1.0};

static const cri_equality *equality_of(const cri_tree *tree, int i) {
    return tree->mech->equality + tree->unit->first_equality + i;
}

static bool is_between_bodies(const cri_equality *eq) {
    return eq->kind == CRI_EQUALITY_CONNECT || eq->kind == CRI_EQUALITY_WELD;
}

// the dofs of one side of an equality of joints or tendons; empty when there is none
static cri_tendon side_of(const cri_tree *tree, const cri_equality *eq, int side) {
    static const int none = -1;
    int object = eq->object[side];
    if (object < 0) {
        return (cri_tendon){0, NULL, NULL};
    }
    bool is_joint = eq->kind == CRI_EQUALITY_JOINT;
    return cri_tree_combination(tree->mech, is_joint ? &eq->object[side] : &none, object);
}

static double reference_length(const cri_tree *tree, const cri_tendon *c) {
    double sum = 0.0;
    for (int i = 0; i < c->n; i++) {
        sum += c->coef[i] * tree->mech->joint[c->joint[i]].ref;
    }
    return sum;
}

// ---- rows --------------------------------------------------------------------------------------

static cri_mat3 transposed(const cri_mat3 *a) {
    const double *m = a->m;
    return (cri_mat3){{m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8]}};
}

static void tie_bodies(cri_tree *tree, const cri_equality *eq, cri_tree_tie *tie) {
    cri_pose pose[2];
    for (int s = 0; s < 2; s++) {
        pose[s] = cri_tree_any_pose(tree, eq->object[s]);
        cri_vec3 arm = cri_m3_mul(&pose[s].R, eq->anchor[s]);
        tie->node[s] = cri_tree_node_of(tree, eq->object[s]);
        tie->x[s] = cri_v3_add(cri_v3_sub(pose[s].pos, tree->origin), arm);
    }
    tie->apart = cri_v3_sub(tie->x[0], tie->x[1]);
    bool is_weld = eq->kind == CRI_EQUALITY_WELD;
    if (is_weld) {
        cri_mat3 relative = cri_quat_rotation(eq->relative), back = transposed(&pose[1].R);
        cri_mat3 wanted = cri_m3_product(&pose[0].R, &relative),
                 error = cri_m3_product(&wanted, &back);
        cri_quat e = cri_quat_of_rotation(&error);
        tie->e0 = e.w;
        tie->turn = cri_v3(2.0 * e.x, 2.0 * e.y, 2.0 * e.z);
    }
    int n_v = tree->plan->n_v;
    double *E = tree->E + tie->row * n_v;
    for (int s = 0; s < 2; s++) {
        for (int n = tie->node[s]; n > 0; n = tree->plan->node[n].parent) {
            const cri_tree_node *node = tree->plan->node + n;
            for (int k = node->first_v; k < node->first_v + node->n_v; k++) {
                cri_vec3 p = cri_sp_at(tree->S[k], tie->x[s]), w = tree->S[k].w;
                double rows[6] = {p.x, p.y, p.z, w.x, w.y, w.z};
                for (int i = 0; i < (is_weld ? 6 : 3); i++) {
                    E[i * n_v + k] += side_sign[s] * rows[i];
                }
            }
        }
    }
}

static void tie_lengths(cri_tree *tree, const cri_equality *eq, cri_tree_tie *tie) {
    const double *c = eq->poly;
    cri_tendon left = side_of(tree, eq, 0), right = side_of(tree, eq, 1);
    double x = 0.0;
    tie->slope = tie->bend = tie->rise = 0.0;
    tie->value = cri_tree_length(tree, &left) - reference_length(tree, &left) - c[0];
    if (eq->object[1] >= 0) {
        x = cri_tree_length(tree, &right) - reference_length(tree, &right);
        tie->value -= x * (c[1] + x * (c[2] + x * (c[3] + x * c[4])));
        tie->slope = c[1] + x * (2.0 * c[2] + x * (3.0 * c[3] + x * 4.0 * c[4]));
        tie->bend = 2.0 * c[2] + x * (6.0 * c[3] + x * 12.0 * c[4]);
        tie->rise = 6.0 * c[3] + x * 24.0 * c[4];
    }
    double *E = tree->E + tie->row * tree->plan->n_v;
    cri_tree_add_along(tree, &left, 1.0, E);
    cri_tree_add_along(tree, &right, -tie->slope, E);
}

void cri_tree_tie_all(cri_tree *tree) {
    const cri_tree_plan *plan = tree->plan;
    if (plan->n_row == 0) {
        return;
    }
    memset(tree->E, 0, sizeof *tree->E * (size_t)plan->n_row * (size_t)plan->n_v);
    int row = 0;
    for (int i = 0; i < plan->n_equality; i++) {
        const cri_equality *eq = equality_of(tree, i);
        tree->tie[i].row = row;
        if (is_between_bodies(eq)) {
            tie_bodies(tree, eq, tree->tie + i);
            row += eq->kind == CRI_EQUALITY_WELD ? 6 : 3;
        } else {
            tie_lengths(tree, eq, tree->tie + i);
            row++;
        }
    }
    CR_ASSERT(row == plan->n_row);
}

// ---- accelerations -----------------------------------------------------------------------------

void cri_tree_tie_wrenches(const cri_tree *tree, const double *nu, cri_spatial *F) {
    for (int i = 0; i < tree->plan->n_equality; i++) {
        const cri_equality *eq = equality_of(tree, i);
        const cri_tree_tie *tie = tree->tie + i;
        for (int s = 0; is_between_bodies(eq) && s < 2; s++) {
            cri_vec3 f = cri_v3_scale(side_sign[s], cri_v3_load(nu + tie->row));
            cri_spatial w = cri_sp_wrench(tie->x[s], f);
            if (eq->kind == CRI_EQUALITY_WELD) {
                w.w = cri_v3_mad(w.w, side_sign[s], cri_v3_load(nu + tie->row + 3));
            }
            F[tie->node[s]] = cri_sp_add(F[tie->node[s]], w);
        }
    }
}

void cri_tree_tie_bias(const cri_tree *tree, double *e) {
    for (int i = 0; i < tree->plan->n_equality; i++) {
        const cri_equality *eq = equality_of(tree, i);
        const cri_tree_tie *tie = tree->tie + i;
        double *out = e + tie->row;
        if (!is_between_bodies(eq)) {
            cri_tendon left = side_of(tree, eq, 0), right = side_of(tree, eq, 1);
            double rate = cri_tree_rate(tree, &right, tree->v);
            double error = cri_tree_rate(tree, &left, tree->v) - tie->slope * rate;
            out[0] = tie->bend * rate * rate - RATE_GAIN * error - PLACE_GAIN * tie->value;
            continue;
        }
        cri_vec3 point = cri_v3_scale(PLACE_GAIN, tie->apart);
        cri_vec3 turn = cri_v3_scale(PLACE_GAIN, tie->turn);
        for (int s = 0; s < 2; s++) {
            cri_spatial V = tree->V[tie->node[s]], A = tree->A[tie->node[s]];
            cri_vec3 speed = cri_sp_at(V, tie->x[s]);
            cri_vec3 a = cri_v3_add(cri_sp_at(A, tie->x[s]), cri_v3_cross(V.w, speed));
            point = cri_v3_mad(point, side_sign[s], cri_v3_mad(a, RATE_GAIN, speed));
            turn = cri_v3_mad(turn, side_sign[s], cri_v3_mad(A.w, RATE_GAIN, V.w));
        }
        cri_v3_store(cri_v3_scale(-1.0, point), out);
        if (eq->kind == CRI_EQUALITY_WELD) {
            cri_v3_store(cri_v3_scale(-1.0, turn), out + 3);
        }
    }
}

// ---- adjoints ----------------------------------------------------------------------------------

// weights m on the rows of points and turns; nu in mu . E' nu
static void bodies_vjp_part(const cri_tree_tie *tie, bool is_weld, const cri_tree_state *s,
                            const double *nu_adj, const double *nu, const cri_spatial *L,
                            const cri_tree_seeds *seeds) {
    for (int k = 0; k < 2; k++) {
        int n = tie->node[k];
        cri_vec3 x = tie->x[k], w = s->V[n].w;
        cri_vec3 g = cri_v3_scale(-side_sign[k], cri_v3_load(nu_adj));
        cri_vec3 f = cri_v3_scale(side_sign[k], cri_v3_load(nu));

        // s (at(A, x) + w x at(V, x) + 2/T at(V, x) + x/T^2), and wrench(x, s nu) . L
        cri_vec3 b = cri_v3_mad(cri_v3_cross(g, w), RATE_GAIN, g);
        cri_vec3 x_adj = cri_v3_add(cri_v3_cross(g, s->A[n].w), cri_v3_cross(b, w));
        x_adj = cri_v3_add(cri_v3_mad(x_adj, PLACE_GAIN, g), cri_v3_cross(f, L[n].w));
        cri_spatial V_adj = cri_sp_wrench(x, b);
        V_adj.w = cri_v3_add(V_adj.w, cri_v3_cross(cri_sp_at(s->V[n], x), g));
        seeds->A[n] = cri_sp_add(seeds->A[n], cri_sp_wrench(x, g));
        seeds->V[n] = cri_sp_add(seeds->V[n], V_adj);
        seeds->Y[n] = cri_sp_add(seeds->Y[n], cri_sp_wrench(x, x_adj));
        if (!is_weld) {
            continue;
        }
        // s (wA + 2/T wV) + r/T^2
        cri_vec3 m = cri_v3_scale(-1.0, cri_v3_load(nu_adj + 3));
        cri_vec3 turn = cri_v3_scale(0.5, cri_v3_cross(tie->turn, m));
        turn = cri_v3_mad(turn, side_sign[k] * tie->e0, m);
        seeds->A[n].w = cri_v3_mad(seeds->A[n].w, side_sign[k], m);
        seeds->V[n].w = cri_v3_mad(seeds->V[n].w, side_sign[k] * RATE_GAIN, m);
        seeds->Y[n].w = cri_v3_mad(seeds->Y[n].w, PLACE_GAIN, turn);
    }
}

static void lengths_vjp_part(const cri_tree *tree, int i, const cri_tree_state *s, double m,
                             double nu, const double *mu, double *q_adj, double *v_adj) {
    const cri_equality *eq = equality_of(tree, i);
    const cri_tree_tie *tie = tree->tie + i;
    cri_tendon left = side_of(tree, eq, 0), right = side_of(tree, eq, 1);
    double rate = cri_tree_rate(tree, &right, s->v), a = cri_tree_rate(tree, &right, s->a);

    // E a - poly'' l1'^2 + 2/T E v + r/T^2, and nu E . mu
    cri_tree_add_along(tree, &left, m * PLACE_GAIN, q_adj);
    cri_tree_add_along(tree, &left, m * RATE_GAIN, v_adj);
    double q1 = -tie->bend * a - tie->rise * rate * rate - RATE_GAIN * tie->bend * rate;
    q1 = m * (q1 - PLACE_GAIN * tie->slope) - nu * tie->bend * cri_tree_rate(tree, &right, mu);
    cri_tree_add_along(tree, &right, q1, q_adj);
    cri_tree_add_along(tree, &right, -m * (2.0 * tie->bend * rate + RATE_GAIN * tie->slope), v_adj);
}

void cri_tree_tie_vjp_part(const cri_tree *tree, const cri_tree_state *s, const double *nu_adj,
                           const double *mu, const cri_spatial *L, const cri_tree_seeds *seeds,
                           double *q_adj, double *v_adj) {
    for (int i = 0; i < tree->plan->n_equality; i++) {
        const cri_equality *eq = equality_of(tree, i);
        int row = tree->tie[i].row;
        if (is_between_bodies(eq)) {
            bodies_vjp_part(tree->tie + i, eq->kind == CRI_EQUALITY_WELD, s, nu_adj + row,
                            tree->nu + row, L, seeds);
        } else {
            lengths_vjp_part(tree, i, s, -nu_adj[row], tree->nu[row], mu, q_adj, v_adj);
        }
    }
}

void cri_tree_tie_form_vjp_part(const cri_tree *tree, double scale, const double *nu,
                                const double *w, const cri_spatial *X, cri_spatial *X_adj,
                                cri_spatial *Y_adj, double *q_adj) {
    for (int i = 0; i < tree->plan->n_equality; i++) {
        const cri_equality *eq = equality_of(tree, i);
        const cri_tree_tie *tie = tree->tie + i;
        if (!is_between_bodies(eq)) {
            cri_tendon right = side_of(tree, eq, 1);
            double bent = tie->bend * cri_tree_rate(tree, &right, w);
            cri_tree_add_along(tree, &right, scale * nu[tie->row] * bent, q_adj);
            continue;
        }
        for (int s = 0; s < 2; s++) {
            int n = tie->node[s];
            double sign = -scale * side_sign[s];
            cri_vec3 f = cri_v3_scale(sign, cri_v3_load(nu + tie->row));
            X_adj[n] = cri_sp_add(X_adj[n], cri_sp_wrench(tie->x[s], f));
            cri_spatial Y = cri_sp_wrench(tie->x[s], cri_v3_cross(f, X[n].w));
            Y_adj[n] = cri_sp_add(Y_adj[n], Y);
            if (eq->kind == CRI_EQUALITY_WELD) {
                X_adj[n].w = cri_v3_mad(X_adj[n].w, sign, cri_v3_load(nu + tie->row + 3));
            }
        }
    }
}

// ---- tangents ----------------------------------------------------------------------------------

void cri_tree_tie_wrenches_jvp_part(const cri_tree *tree, const cri_tree_tan *tan, const double *nu,
                                    cri_spatial *dF, double *g_tan) {
    for (int i = 0; i < tree->plan->n_equality; i++) {
        const cri_equality *eq = equality_of(tree, i);
        const cri_tree_tie *tie = tree->tie + i;
        if (!is_between_bodies(eq)) {
            cri_tendon right = side_of(tree, eq, 1);
            double slope_tan = tie->bend * cri_tree_rate(tree, &right, tan->q);
            cri_tree_add_along(tree, &right, -slope_tan * nu[tie->row], g_tan);
            continue;
        }
        for (int s = 0; s < 2; s++) {
            int n = tie->node[s];
            cri_vec3 f = cri_v3_scale(side_sign[s], cri_v3_load(nu + tie->row));
            cri_vec3 x_tan = cri_sp_at(tan->Y[n], tie->x[s]);
            dF[n].w = cri_v3_add(dF[n].w, cri_v3_cross(x_tan, f));
        }
    }
}

void cri_tree_tie_jvp_part(const cri_tree *tree, const cri_tree_tan *tan, const double *w,
                           const cri_spatial *X, const cri_spatial *dX, double *e) {
    for (int i = 0; i < tree->plan->n_equality; i++) {
        const cri_equality *eq = equality_of(tree, i);
        const cri_tree_tie *tie = tree->tie + i;
        if (!is_between_bodies(eq)) {
            cri_tendon right = side_of(tree, eq, 1);
            double slope_tan = tie->bend * cri_tree_rate(tree, &right, tan->q);
            e[tie->row] = slope_tan * cri_tree_rate(tree, &right, w);
            continue;
        }
        cri_vec3 point = {0.0, 0.0, 0.0}, turn = {0.0, 0.0, 0.0};
        for (int s = 0; s < 2; s++) {
            int n = tie->node[s];
            cri_vec3 x_tan = cri_sp_at(tan->Y[n], tie->x[s]);
            cri_vec3 p = cri_v3_add(cri_sp_at(dX[n], tie->x[s]), cri_v3_cross(X[n].w, x_tan));
            point = cri_v3_mad(point, -side_sign[s], p);
            turn = cri_v3_mad(turn, -side_sign[s], dX[n].w);
        }
        cri_v3_store(point, e + tie->row);
        if (eq->kind == CRI_EQUALITY_WELD) {
            cri_v3_store(turn, e + tie->row + 3);
        }
    }
}

static void lengths_jvp_part(const cri_tree *tree, int i, const double *q_tan, const double *v_tan,
                             double *e) {
    const cri_equality *eq = equality_of(tree, i);
    const cri_tree_tie *tie = tree->tie + i;
    cri_tendon left = side_of(tree, eq, 0), right = side_of(tree, eq, 1);
    double x = cri_tree_rate(tree, &right, q_tan), rate_tan = cri_tree_rate(tree, &right, v_tan);
    double rate = cri_tree_rate(tree, &right, tree->v);
    double value_tan = cri_tree_rate(tree, &left, q_tan) - tie->slope * x;
    double error_tan =
        cri_tree_rate(tree, &left, v_tan) - tie->slope * rate_tan - tie->bend * x * rate;
    e[tie->row] += tie->rise * x * rate * rate + 2.0 * tie->bend * rate * rate_tan -
                   RATE_GAIN * error_tan - PLACE_GAIN * value_tan;
}

void cri_tree_tie_bias_jvp_part(const cri_tree *tree, const cri_tree_tan *tan, const double *v_tan,
                                const cri_spatial *dV, double *e) {
    for (int i = 0; i < tree->plan->n_equality; i++) {
        const cri_equality *eq = equality_of(tree, i);
        const cri_tree_tie *tie = tree->tie + i;
        if (!is_between_bodies(eq)) {
            lengths_jvp_part(tree, i, tan->q, v_tan, e);
            continue;
        }
        cri_vec3 point = {0.0, 0.0, 0.0}, turn = {0.0, 0.0, 0.0}, both = {0.0, 0.0, 0.0};
        for (int s = 0; s < 2; s++) {
            int n = tie->node[s];
            cri_spatial V = tree->V[n], Y = tan->Y[n];
            cri_vec3 x_tan = cri_sp_at(Y, tie->x[s]), speed = cri_sp_at(V, tie->x[s]);
            cri_vec3 speed_tan = cri_v3_add(cri_sp_at(dV[n], tie->x[s]), cri_v3_cross(V.w, x_tan));
            cri_vec3 a = cri_v3_add(cri_v3_cross(dV[n].w, speed), cri_v3_cross(V.w, speed_tan));
            a = cri_v3_mad(cri_v3_mad(a, RATE_GAIN, speed_tan), PLACE_GAIN, x_tan);
            point = cri_v3_mad(point, side_sign[s], a);
            cri_vec3 t = cri_v3_scale(RATE_GAIN, dV[n].w);
            t = cri_v3_mad(t, PLACE_GAIN * tie->e0, Y.w);
            turn = cri_v3_mad(turn, side_sign[s], t);
            both = cri_v3_add(both, Y.w);
        }
        cri_v3_accumulate(cri_v3_scale(-1.0, point), e + tie->row);
        if (eq->kind == CRI_EQUALITY_WELD) {
            turn = cri_v3_mad(turn, 0.5 * PLACE_GAIN, cri_v3_cross(both, tie->turn));
            cri_v3_accumulate(cri_v3_scale(-1.0, turn), e + tie->row + 3);
        }
    }
}
