// SPDX-License-Identifier: MIT
//
// Smooth motion of a unit over a time t, u constant. q + x below means that x is added to numbers
// and that quaternions are multiplied by exp(x) on the right.
//
// Classical Runge-Kutta with rates of the rotation vector from the start instead of spins, which
// live in different frames at different stages (Munthe-Kaas), c = (0, 1/2, 1/2, 1), b = (1, 2, 2,
// 1)/6:
//
//   x_s = c_s t K_{s-1},   v_s = v + c_s t a_{s-1},   a_s = a(q + x_s, v_s)
//   K_s = v_s, and w + x x w/2 + x x (x x w)/12 for its spins w
//   q' = q + t sum b_s K_s,   v' = v + t sum b_s a_s
//
// Order 4, orientations too. Euler: a from M + t D,  v' = v + t a,  q' = q + t v'.
//
// Tangents: q + x moves by exp(x)' xi + Jr(x) x_tan.

#include "dynamics/tree.h"

#include "base/math/dense.h"

#include <string.h>

/// Where adjoints of accelerations go.
typedef struct cri_tree_accel_adj {
    double *q, *v;             // (n_v) of the unit
    double *u;                 // (n_u) of the mechanism, NULL: not wanted
    double *h;                 // NULL: not wanted
    const cri_mech_derived *d; // NULL: not wanted
} cri_tree_accel_adj;

#define RATE_GAIN (2.0 / CRI_TIE_TIME)
#define PLACE_GAIN (1.0 / (CRI_TIE_TIME * CRI_TIE_TIME))

static const double side_sign[2] = {1.0, -1.0};

enum { N_STAGE = 4 };

static const double stage_time[N_STAGE] = {0.0, 0.5, 0.5, 1.0};

static const double stage_weight[N_STAGE] = {1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0};

struct cri_tree_trace {
    const cri_tree_plan *plan;
    int n_stage; // 1: Euler
    double t;
    cri_tree *tree[N_STAGE]; // hold v and a of their stages
    double *x[N_STAGE];      // (n_v) displacements of the stages from the start, the first is zero
    double *K[N_STAGE];      // (n_v)
    double *mean;            // (n_v) of K, or the new velocity
    double *end;             // (n_v) t mean
};

/// Adjoints at the end of a motion.
typedef struct flow_adj {
    const double *mean;  // (n_v)
    const double *v_out; // (n_v)
} flow_adj;

/// Tangents of a motion's data.
typedef struct flow_tan {
    cri_accel_tan own; // of the stage at hand
    double t;
    const double *jac; // (n_stage, 2 n_v, n_v) instead of the rest but q and v; NULL: none
} flow_tan;

/// Sums over subtrees, and what unit changes of dofs do to motions.
typedef struct sweep {
    cri_spatial_inertia *I; // (n_node + 1)
    cri_spatial (*B)[3];    // (n_node + 1)
    const cri_spatial *F;   // (n_node + 1), NULL: nothing is displaced
    cri_spatial *x;         // (n_v)
    cri_vec3 *y;            // (n_v) spins
} sweep;

static const cri_spatial no_motion = {{0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}};

/// Rows of X that are added to one of them.
typedef struct gathered {
    int n;
    double weight[CRI_MAX_ROWS];
    const double *from[CRI_MAX_ROWS];
} gathered;

// ---- equalities ---------------------------------------------------------------------------------

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

/// e (n_row) = -(rows at a = 0 with stabilisation).
static void tree_tie_bias(const cri_tree *tree, double *e) {
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

/// Seeds of -nu_adj . rows + mu . E' nu, where L are the motions of mu. Adds to q_adj, v_adj (n_v).
static void tree_tie_vjp_part(const cri_tree *tree, const cri_tree_state *s, const double *nu_adj,
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

/// e (n_row) -= changes of the rows that come with velocities and stabilisation.
static void tree_tie_bias_jvp_part(const cri_tree *tree, const cri_tree_tan *tan,
                                   const double *v_tan, const cri_spatial *dV, double *e) {
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

// ---- accelerations ------------------------------------------------------------------------------

// Accelerations of a unit without contact, as the root of a residual:
//
//   r1 = M a + c(q, v) + h D a + E' nu - forces = 0        r2 = k E a + bias of rows = 0
//
// D is joint damping, and where the integrator is implicit -gear^2 bias[2] of actuators on one
// joint. k = 1 + h/T of the ties' time T (below).
//
// Adjoint: lambda, k nu_adj from the same factor with a_adj on the right; then every adjoint is
// -(lambda . dr1 + nu_adj . dr2), one adjoint recursion with weights mu = -lambda, and one more for
// (k - 1) E a.
// Tangent: the same system with -r1_tan, -r2_tan/k at fixed a, nu on the right.
//
// The forward pass stops at the bias; A and F at the solution, linear in a, follow when derivatives
// are asked for.

// k of ties, a number that multiplies E a
static double tie_lag(const cri_tree *tree) {
    return 1.0 + tree->h / CRI_TIE_TIME;
}

static void divide(int n, double by, double *x) {
    for (int i = 0; i < n; i++) {
        x[i] /= by;
    }
}

/// cri_tree_accel with v (n_v) of the unit; the result is in tree->a.
static void tree_accel_own(cri_tree *tree, const double *v, const double *u, double h,
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
    tree_tie_bias(tree, e);
    divide(plan->n_row, tie_lag(tree), e);
    cri_tree_back_tied(tree, tree->factor, e, tree->a, tree->nu);
    cri_arena_rewind(scratch, mark);
}

void cri_tree_accel(cri_tree *tree, const double *v, const double *u, double h, double *a,
                    cr_arena *scratch) {
    CR_ASSERT(tree && v && u && a && scratch);
    int first = tree->unit->first_v;
    tree_accel_own(tree, v + first, u, h, scratch);
    memcpy(a + first, tree->a, sizeof *a * (size_t)tree->plan->n_v);
}

// A and F at the solution
static cri_tree_state tree_solved_state(const cri_tree *tree, cr_arena *scratch) {
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

/// Adjoint and tangent of it, q and v (n_v) of the unit.
static void tree_accel_vjp_own(const cri_tree *tree, const double *a_adj,
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
    cri_tree_state state = tree_solved_state(tree, scratch);
    tree_tie_vjp_part(tree, &state, nu_adj, mu, L, &seeds, adj->q, adj->v);
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
    tree_accel_vjp_own(tree, a_adj + first, &adj, scratch);
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

static void tree_accel_jvp_own(const cri_tree *tree, const cri_accel_tan *tan, double *a_tan,
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
    cri_tree_state state = tree_solved_state(tree, scratch);

    // r1 and r2 at fixed a, nu
    cri_tree_forces_jvp_part(tree, tan, turn, forces, dF);
    cri_tree_tie_wrenches_jvp_part(tree, turn, tree->nu, dF, r);
    cri_tree_recursion_jvp_part(tree, &state, turn, tan->v, dV, dA, dF, r);
    diagonal_jvp(tree, tan->h, tan->d, r);
    cri_tree_tie_jvp_part(tree, turn, tree->a, state.A, dA, e);
    tree_tie_bias_jvp_part(tree, turn, tan->v, dV, e);
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
    tree_accel_jvp_own(tree, &own, a_tan + first, scratch);
}

// ---- the motion ---------------------------------------------------------------------------------

// ---- displacements -----------------------------------------------------------------------------

// q_out = q + x
static void displace(const cri_tree_plan *plan, const double *q, const double *x, double *q_out) {
    for (int n = 1; n <= plan->n_node; n++) {
        const cri_tree_node *node = plan->node + n;
        const double *from = q + node->first_q, *by = x + node->first_v;
        double *to = q_out + node->first_q;
        if (node->n_v == 1) {
            to[0] = from[0] + by[0];
            continue;
        }
        int still = node->n_still;
        for (int i = 0; i < still; i++) {
            to[i] = from[i] + by[i];
        }
        cri_quat turn = cri_quat_exp(cri_v3_load(by + still));
        cri_q4_store(cri_quat_mul(cri_q4_load(from + still), turn), to + still);
    }
}

// adds to q_adj and x_adj
static void displace_vjp(const cri_tree_plan *plan, const double *x, const double *out_adj,
                         double *q_adj, double *x_adj) {
    for (int n = 1; n <= plan->n_node; n++) {
        const cri_tree_node *node = plan->node + n;
        int turn = node->first_v + (node->n_v == 1 ? 1 : node->n_still);
        for (int i = node->first_v; i < turn; i++) {
            q_adj[i] += out_adj[i];
            x_adj[i] += out_adj[i];
        }
        if (node->n_v > 1) {
            cri_so3 r = cri_so3_of(cri_v3_load(x + turn));
            cri_vec3 adj = cri_v3_load(out_adj + turn);
            cri_v3_accumulate(cri_so3_rotate(&r, adj), q_adj + turn);
            cri_v3_accumulate(cri_so3_right_vjp(&r, adj), x_adj + turn);
        }
    }
}

static void displace_jvp(const cri_tree_plan *plan, const double *x, const double *q_tan,
                         const double *x_tan, double *out_tan) {
    for (int i = 0; i < plan->n_v; i++) {
        out_tan[i] = q_tan[i] + x_tan[i];
    }
    for (int n = 1; plan->n_node < plan->n_v && n <= plan->n_node; n++) {
        const cri_tree_node *node = plan->node + n;
        int turn = node->first_v + node->n_still;
        if (node->n_v > 1) {
            cri_so3 r = cri_so3_of(cri_v3_load(x + turn));
            cri_vec3 moved = cri_so3_unrotate(&r, cri_v3_load(q_tan + turn));
            cri_vec3 turned = cri_so3_right(&r, cri_v3_load(x_tan + turn));
            cri_v3_store(cri_v3_add(moved, turned), out_tan + turn);
        }
    }
}

// K = rates of the displacement x under the velocity v
static void rates(const cri_tree_plan *plan, const double *x, const double *v, double *K) {
    memcpy(K, v, sizeof *K * (size_t)plan->n_v);
    for (int n = 1; n <= plan->n_node; n++) {
        const cri_tree_node *node = plan->node + n;
        if (node->n_v > 1) {
            int turn = node->first_v + node->n_still;
            cri_vec3 t = cri_v3_load(x + turn), c = cri_v3_cross(t, cri_v3_load(v + turn));
            cri_vec3 more = cri_v3_mad(cri_v3_scale(0.5, c), 1.0 / 12.0, cri_v3_cross(t, c));
            cri_v3_accumulate(more, K + turn);
        }
    }
}

// adds to x_adj and v_adj
static void rates_vjp(const cri_tree_plan *plan, const double *x, const double *v,
                      const double *K_adj, double *x_adj, double *v_adj) {
    for (int i = 0; i < plan->n_v; i++) {
        v_adj[i] += K_adj[i];
    }
    for (int n = 1; n <= plan->n_node; n++) {
        const cri_tree_node *node = plan->node + n;
        if (node->n_v > 1) {
            int turn = node->first_v + node->n_still;
            cri_vec3 t = cri_v3_load(x + turn), w = cri_v3_load(v + turn);
            cri_vec3 g = cri_v3_load(K_adj + turn), c = cri_v3_cross(t, w);

            // K = w + c/2 + t x c/12, c = t x w
            cri_vec3 gt = cri_v3_cross(g, t);
            cri_vec3 c_adj = cri_v3_mad(cri_v3_scale(0.5, g), 1.0 / 12.0, gt);
            cri_vec3 t_adj = cri_v3_scale(1.0 / 12.0, cri_v3_cross(c, g));
            cri_v3_accumulate(cri_v3_add(t_adj, cri_v3_cross(w, c_adj)), x_adj + turn);
            cri_v3_accumulate(cri_v3_cross(c_adj, t), v_adj + turn);
        }
    }
}

static void rates_jvp(const cri_tree_plan *plan, const double *x, const double *v,
                      const double *x_tan, const double *v_tan, double *K_tan) {
    memcpy(K_tan, v_tan, sizeof *K_tan * (size_t)plan->n_v);
    for (int n = 1; n <= plan->n_node; n++) {
        const cri_tree_node *node = plan->node + n;
        if (node->n_v > 1) {
            int turn = node->first_v + node->n_still;
            cri_vec3 t = cri_v3_load(x + turn), dt = cri_v3_load(x_tan + turn);
            cri_vec3 w = cri_v3_load(v + turn), dw = cri_v3_load(v_tan + turn);
            cri_vec3 c = cri_v3_cross(t, w);
            cri_vec3 dc = cri_v3_add(cri_v3_cross(dt, w), cri_v3_cross(t, dw));
            cri_vec3 second = cri_v3_add(cri_v3_cross(dt, c), cri_v3_cross(t, dc));
            cri_vec3 more = cri_v3_mad(cri_v3_scale(0.5, dc), 1.0 / 12.0, second);
            cri_v3_accumulate(more, K_tan + turn);
        }
    }
}

// ---- motion ------------------------------------------------------------------------------------

// room of a trace beside its plan, with trees of so many bytes
static size_t trace_bytes(const cri_mechanism *mech, int unit, size_t tree) {
    size_t n_stage = cri_unit_is_euler(mech, unit) ? 1 : N_STAGE,
           n_v = (size_t)mech->unit[unit].n_v;
    // and what the arena counts for the trace and the vectors of the stages
    return n_stage * tree + (2 * N_STAGE + 2) * n_v * sizeof(double) + sizeof(cri_tree_trace) +
           2 * 64;
}

size_t cri_tree_flow_bytes(const cri_mechanism *mech, int unit) {
    size_t plan = cri_tree_plan_bytes(mech, unit), tree = cri_tree_bytes(mech, unit) - plan;
    return plan + trace_bytes(mech, unit, tree);
}

size_t cri_tree_flow_room(const cri_mechanism *mech, const cri_mech_derived *d, int unit) {
    bool has_plan = d->plan && d->plan[unit];
    return has_plan ? trace_bytes(mech, unit, d->plan[unit]->tree_bytes)
                    : cri_tree_flow_bytes(mech, unit);
}

static cri_tree_trace *push_trace(const cri_mechanism *mech, int unit, const cri_mech_derived *d,
                                  cr_arena *keep) {
    cri_tree_trace *trace = CR_PUSH(keep, cri_tree_trace, 1);
    cri_tree_plan *plan = cri_tree_plan_of(mech, unit, d, keep);
    int n_v = mech->unit[unit].n_v;
    double *block = CR_PUSH_RAW(keep, double, (2 * N_STAGE + 2) * n_v);
    if (!trace || !plan || !block) {
        return NULL;
    }
    trace->plan = plan;
    trace->n_stage = cri_unit_is_euler(mech, unit) ? 1 : N_STAGE;
    for (int s = 0; s < trace->n_stage; s++) {
        trace->x[s] = block + 2 * s * n_v;
        trace->K[s] = block + (2 * s + 1) * n_v;
        trace->tree[s] = cri_tree_push_on(plan, mech, unit, d, keep);
        if (!trace->tree[s]) {
            return NULL;
        }
    }
    trace->mean = block + 2 * N_STAGE * n_v;
    trace->end = trace->mean + n_v;
    return trace;
}

// a + t b
static void mad(int n, const double *a, double t, const double *b, double *out) {
    for (int i = 0; i < n; i++) {
        out[i] = a[i] + t * b[i];
    }
}

static void euler(cri_tree_trace *trace, const double *q, const double *v, const double *u,
                  double *v_out, cr_arena *scratch) {
    cri_tree *tree = trace->tree[0];
    int n = trace->plan->n_v;
    cri_tree_place(tree, q);
    if (trace->t == 0.0) {
        cri_tree_factor_mass(tree, 0.0, &tree->plain);
    }
    tree_accel_own(tree, v, u, trace->t, scratch);
    mad(n, v, trace->t, tree->a, trace->mean);
    memcpy(v_out, trace->mean, sizeof *v * (size_t)n);
}

static void runge_kutta(cri_tree_trace *trace, const double *q, const double *v, const double *u,
                        double *v_out, cr_arena *scratch) {
    int n = trace->plan->n_v;
    double t = trace->t;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *q_s = CR_PUSH_RAW(scratch, double, trace->plan->n_q);
    double *v_s = CR_PUSH_RAW(scratch, double, n);
    for (int s = 0; s < N_STAGE; s++) {
        cri_tree *tree = trace->tree[s];
        if (s == 0) {
            memset(trace->x[0], 0, sizeof *v * (size_t)n);
            memcpy(trace->K[0], v, sizeof *v * (size_t)n);
        } else {
            for (int i = 0; i < n; i++) {
                trace->x[s][i] = stage_time[s] * t * trace->K[s - 1][i];
            }
            displace(trace->plan, q, trace->x[s], q_s);
            mad(n, v, stage_time[s] * t, trace->tree[s - 1]->a, v_s);
            rates(trace->plan, trace->x[s], v_s, trace->K[s]);
        }
        cri_tree_place(tree, s == 0 ? q : q_s);
        cri_tree_factor_mass(tree, 0.0, &tree->plain);
        tree_accel_own(tree, s == 0 ? v : v_s, u, 0.0, scratch);
    }
    for (int i = 0; i < n; i++) {
        double K = 0.0, a = 0.0;
        for (int s = 0; s < N_STAGE; s++) {
            K += stage_weight[s] * trace->K[s][i];
            a += stage_weight[s] * trace->tree[s]->a[i];
        }
        trace->mean[i] = K;
        v_out[i] = v[i] + t * a;
    }
    cri_arena_rewind(scratch, mark);
}

cri_tree_trace *cri_tree_flow(const cri_mechanism *mech, int unit, const cri_mech_derived *d,
                              const cri_tree_start *start, double *q_out, double *v_out,
                              cr_arena *keep, cr_arena *scratch) {
    CR_ASSERT(unit >= 0 && unit < mech->n_unit && q_out && v_out && keep && scratch);
    double t = start->t;
    const double *u = start->u;
    CR_VALIDATE(t >= 0.0 && isfinite(t));
    cri_tree_trace *trace = push_trace(mech, unit, d, keep);
    if (!trace) {
        return NULL;
    }
    const cri_unit *range = mech->unit + unit;
    const double *own_q = start->q + range->first_q, *own_v = start->v + range->first_v;
    trace->t = t;
    if (cri_unit_is_euler(mech, unit)) {
        euler(trace, own_q, own_v, u, v_out + range->first_v, scratch);
    } else {
        runge_kutta(trace, own_q, own_v, u, v_out + range->first_v, scratch);
    }
    for (int i = 0; i < range->n_v; i++) {
        trace->end[i] = t * trace->mean[i];
    }
    displace(trace->plan, own_q, trace->end, q_out + range->first_q);
    return trace;
}

// ---- adjoint -----------------------------------------------------------------------------------

static void clear(int n, double *a) {
    memset(a, 0, sizeof *a * (size_t)n);
}

static void euler_vjp(const cri_tree_trace *trace, const flow_adj *end, double *v_adj,
                      cri_tree_accel_adj *adj, double *t_adj, cr_arena *scratch) {
    const cri_tree *tree = trace->tree[0];
    int n = trace->plan->n_v;
    double *a_adj = CR_PUSH_RAW(scratch, double, n);

    // v' = v + t a, mean = v'
    for (int i = 0; i < n; i++) {
        v_adj[i] = end->v_out[i] + end->mean[i];
        a_adj[i] = trace->t * v_adj[i];
    }
    *t_adj += cri_dot(n, v_adj, tree->a);
    adj->v = v_adj;
    adj->h = t_adj;
    tree_accel_vjp_own(tree, a_adj, adj, scratch);
}

static void runge_kutta_vjp(const cri_tree_trace *trace, const flow_adj *end, double *v_adj,
                            cri_tree_accel_adj *adj, double *t_adj, cr_arena *scratch) {
    int n = trace->plan->n_v;
    double *q0 = adj->q, t = trace->t;
    double *a_adj = CR_PUSH(scratch, double, n), *K_adj = CR_PUSH(scratch, double, n);
    double *q_s = CR_PUSH_RAW(scratch, double, n), *v_s = CR_PUSH_RAW(scratch, double, n);
    double *x_s = CR_PUSH_RAW(scratch, double, n);
    memcpy(v_adj, end->v_out, sizeof *v_adj * (size_t)n);
    for (int s = N_STAGE - 1; s >= 0; s--) {
        const cri_tree *tree = trace->tree[s];
        // v' = v + t sum b a, mean = sum b K; what stage s + 1 took is there already
        for (int i = 0; i < n; i++) {
            a_adj[i] += stage_weight[s] * t * end->v_out[i];
            K_adj[i] += stage_weight[s] * end->mean[i];
        }
        *t_adj += stage_weight[s] * cri_dot(n, end->v_out, tree->a);
        clear(n, q_s);
        clear(n, v_s);
        clear(n, x_s);
        rates_vjp(trace->plan, trace->x[s], tree->v, K_adj, x_s, v_s);
        adj->q = s == 0 ? q0 : q_s;
        adj->v = v_s;
        tree_accel_vjp_own(tree, a_adj, adj, scratch);
        for (int i = 0; i < n; i++) {
            v_adj[i] += v_s[i];
        }
        if (s == 0) {
            break;
        }
        // q_s = q + x_s,  x_s = c t K,  v_s = v + c t a, of the stage before
        displace_vjp(trace->plan, trace->x[s], q_s, q0, x_s);
        double c = stage_time[s];
        *t_adj += c * (cri_dot(n, x_s, trace->K[s - 1]) + cri_dot(n, v_s, trace->tree[s - 1]->a));
        for (int i = 0; i < n; i++) {
            K_adj[i] = c * t * x_s[i];
            a_adj[i] = c * t * v_s[i];
        }
    }
}

void cri_tree_flow_vjp(const cri_tree_trace *trace, double *q_adj, double *v_adj, double *u_adj,
                       double *t_adj, const cri_mech_derived *d_adj, cr_arena *scratch) {
    CR_ASSERT(trace && q_adj && v_adj && scratch);
    const cri_tree_plan *plan = trace->plan;
    int n = plan->n_v, first = trace->tree[0]->unit->first_v;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *q0 = CR_PUSH(scratch, double, n), *v_out = CR_PUSH_RAW(scratch, double, n);
    double *end_adj = CR_PUSH(scratch, double, n), t_sum = 0.0;
    memcpy(v_out, v_adj + first, sizeof *v_out * (size_t)n);

    // q' = q + end,  end = t mean
    displace_vjp(plan, trace->end, q_adj + first, q0, end_adj);
    t_sum += cri_dot(n, end_adj, trace->mean);
    for (int i = 0; i < n; i++) {
        end_adj[i] *= trace->t;
    }
    flow_adj end = {.mean = end_adj, .v_out = v_out};
    cri_tree_accel_adj adj = {.q = q0, .u = u_adj, .d = d_adj};
    if (trace->n_stage == 1) {
        euler_vjp(trace, &end, v_adj + first, &adj, &t_sum, scratch);
    } else {
        runge_kutta_vjp(trace, &end, v_adj + first, &adj, &t_sum, scratch);
    }
    memcpy(q_adj + first, q0, sizeof *q0 * (size_t)n);
    if (t_adj) {
        *t_adj += t_sum;
    }
    cri_arena_rewind(scratch, mark);
}

// ---- tangent -----------------------------------------------------------------------------------

// a_tan (n_v) of stage s
static void accel_tangent(const cri_tree_trace *trace, int s, const flow_tan *tan, double *a_tan,
                          cr_arena *scratch) {
    int n = trace->plan->n_v;
    if (!tan->jac) {
        tree_accel_jvp_own(trace->tree[s], &tan->own, a_tan, scratch);
        return;
    }
    const double *row = tan->jac + (size_t)s * 2 * (size_t)n * (size_t)n;
    clear(n, a_tan);
    for (int k = 0; k < n; k++, row += n) {
        if (tan->own.q[k] != 0.0) {
            cri_add_scaled(n, tan->own.q[k], row, a_tan);
        }
    }
    for (int k = 0; k < n; k++, row += n) {
        if (tan->own.v[k] != 0.0) {
            cri_add_scaled(n, tan->own.v[k], row, a_tan);
        }
    }
}

// mean_tan (n_v); v_tan in place
static void euler_jvp(const cri_tree_trace *trace, flow_tan *tan, double *v_tan, double *mean_tan,
                      cr_arena *scratch) {
    const cri_tree *tree = trace->tree[0];
    int n = trace->plan->n_v;
    double *a_tan = CR_PUSH_RAW(scratch, double, n);
    tan->own.v = v_tan;
    tan->own.h = tan->t;
    accel_tangent(trace, 0, tan, a_tan, scratch);
    for (int i = 0; i < n; i++) {
        v_tan[i] += trace->t * a_tan[i] + tan->t * tree->a[i];
        mean_tan[i] = v_tan[i];
    }
}

static void runge_kutta_jvp(const cri_tree_trace *trace, flow_tan *tan, double *v_tan,
                            double *mean_tan, cr_arena *scratch) {
    const cri_tree_plan *plan = trace->plan;
    int n = plan->n_v;
    const double *q0 = tan->own.q;
    double *a_tan = CR_PUSH(scratch, double, n), *K_tan = CR_PUSH(scratch, double, n);
    double *q_s = CR_PUSH_RAW(scratch, double, n), *v_s = CR_PUSH_RAW(scratch, double, n);
    double *x_s = CR_PUSH_RAW(scratch, double, n), *a_sum = CR_PUSH(scratch, double, n);
    clear(n, mean_tan);
    for (int s = 0; s < N_STAGE; s++) {
        double ct = stage_time[s] * trace->t, ct_tan = stage_time[s] * tan->t;
        for (int i = 0; i < n; i++) {
            x_s[i] = s == 0 ? 0.0 : ct * K_tan[i] + ct_tan * trace->K[s - 1][i];
            v_s[i] = v_tan[i];
            v_s[i] += s == 0 ? 0.0 : ct * a_tan[i] + ct_tan * trace->tree[s - 1]->a[i];
        }
        displace_jvp(plan, trace->x[s], q0, x_s, q_s);
        rates_jvp(plan, trace->x[s], trace->tree[s]->v, x_s, v_s, K_tan);
        tan->own.q = q_s;
        tan->own.v = v_s;
        accel_tangent(trace, s, tan, a_tan, scratch);
        for (int i = 0; i < n; i++) {
            mean_tan[i] += stage_weight[s] * K_tan[i];
            a_sum[i] += stage_weight[s] * (trace->t * a_tan[i] + tan->t * trace->tree[s]->a[i]);
        }
    }
    for (int i = 0; i < n; i++) {
        v_tan[i] += a_sum[i];
    }
}

static void flow_tangent(const cri_tree_trace *trace, flow_tan *tan, double *q_tan, double *v_tan,
                         cr_arena *scratch) {
    const cri_tree_plan *plan = trace->plan;
    int n = plan->n_v, first = trace->tree[0]->unit->first_v;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *q0 = CR_PUSH_RAW(scratch, double, n), *mean_tan = CR_PUSH_RAW(scratch, double, n);
    memcpy(q0, q_tan + first, sizeof *q0 * (size_t)n);
    tan->own.q = q0;
    if (trace->n_stage == 1) {
        euler_jvp(trace, tan, v_tan + first, mean_tan, scratch);
    } else {
        runge_kutta_jvp(trace, tan, v_tan + first, mean_tan, scratch);
    }
    // q' = q + end,  end = t mean
    for (int i = 0; i < n; i++) {
        mean_tan[i] = trace->t * mean_tan[i] + tan->t * trace->mean[i];
    }
    displace_jvp(plan, trace->end, q0, mean_tan, q_tan + first);
    cri_arena_rewind(scratch, mark);
}

void cri_tree_flow_jvp(const cri_tree_trace *trace, double *q_tan, double *v_tan,
                       const double *u_tan, double t_tan, const cri_mech_derived *d_tan,
                       cr_arena *scratch) {
    CR_ASSERT(trace && q_tan && v_tan && scratch);
    flow_tan tan = {.own = {.u = u_tan, .d = d_tan}, .t = t_tan};
    flow_tangent(trace, &tan, q_tan, v_tan, scratch);
}

// ---- many tangents -----------------------------------------------------------------------------

size_t cri_tree_flow_jac_bytes(const cri_mechanism *mech, int unit) {
    size_t n_stage = cri_unit_is_euler(mech, unit) ? 1 : N_STAGE,
           n_v = (size_t)mech->unit[unit].n_v;
    return sizeof(double) * n_stage * 2 * n_v * n_v + 64 + cri_tree_jac_bytes(mech, unit);
}

/// Are there the derivatives for all dofs at once? Not with equalities, nor with drives on sites.
static bool tree_has_jac(const cri_tree *tree) {
    bool has = tree->plan->n_row == 0;
    for (int i = 0; i < tree->plan->n_actuator; i++) {
        has = has && tree->mech->actuator[tree->plan->actuator[i]].kind != CRI_DRIVE_SITE;
    }
    return has;
}

static sweep sweep_push(const cri_tree *tree, cr_arena *scratch) {
    int n = tree->plan->n_node + 1;
    sweep s = {.I = CR_PUSH_RAW(scratch, cri_spatial_inertia, n),
               .B = cri_arena_push(scratch, sizeof *s.B * (size_t)n),
               .x = CR_PUSH_RAW(scratch, cri_spatial, tree->plan->n_v),
               .y = CR_PUSH_RAW(scratch, cri_vec3, tree->plan->n_v)};
    memcpy(s.I, tree->I, sizeof *s.I * (size_t)n);
    return s;
}

static cri_spatial unit_turn(int c) {
    return (cri_spatial){{c == 0, c == 1, c == 2}, no_motion.v};
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

// motion of the node above with the still columns of node n, for rates w and motions X
static cri_spatial above(const cri_tree *tree, int n, const double *w, const cri_spatial *X) {
    const cri_tree_node *node = tree->plan->node + n;
    cri_spatial out = X[node->parent];
    for (int k = node->first_v; k < node->first_v + node->n_still; k++) {
        out = cri_sp_mad(out, w[k], tree->S[k]);
    }
    return out;
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

/// Derivatives of the last cri_tree_accel for q, then for v: jac (2 n_v, n_v) of the unit, a row
/// for each dof that changes.
static void tree_accel_jac(const cri_tree *tree, double *jac, cr_arena *scratch) {
    const cri_tree_plan *plan = tree->plan;
    CR_ASSERT(tree->factor && tree_has_jac(tree) && jac && scratch);
    int n = plan->n_v;
    size_t width = 2 * (size_t)n;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *R = CR_PUSH_RAW(scratch, double, width *(size_t)n);
    cri_clear_rows(n, 2 * n, R);
    cri_tree_state state = tree_solved_state(tree, scratch);
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

const double *cri_tree_flow_jac_push(const cri_tree_trace *trace, cr_arena *scratch) {
    int n = trace->plan->n_v;
    if (!tree_has_jac(trace->tree[0])) {
        return NULL;
    }
    double *jac = CR_PUSH_RAW(scratch, double, trace->n_stage * 2 * n * n);
    for (int s = 0; s < trace->n_stage; s++) {
        tree_accel_jac(trace->tree[s], jac + s * 2 * n * n, scratch);
    }
    return jac;
}

void cri_tree_flow_push(const cri_tree_trace *trace, const double *jac, double *q_tan,
                        double *v_tan, cr_arena *scratch) {
    CR_ASSERT(trace && jac && q_tan && v_tan && scratch);
    flow_tan tan = {.jac = jac};
    flow_tangent(trace, &tan, q_tan, v_tan, scratch);
}

// ---- matrix of the derivative -------------------------------------------------------------------

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

// ---- accelerations -----------------------------------------------------------------------------

size_t cri_tree_jac_bytes(const cri_mechanism *mech, int unit) {
    const cri_unit *u = mech->unit + unit;
    size_t n_node = (size_t)u->n_joint + 1, n_v = (size_t)u->n_v;
    size_t sums = (sizeof(cri_spatial_inertia) + 3 * sizeof(cri_spatial)) * n_node +
                  (sizeof(cri_spatial) + sizeof(cri_vec3)) * n_v;
    // and motions and forces of the nodes, the matrix, and what the arena adds
    return sums + 4 * sizeof(cri_spatial) * n_node + sizeof(double) * 2 * n_v * n_v + 16 * 64;
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
    X[0] = no_motion;
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
    cri_spatial X = no_motion;
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
