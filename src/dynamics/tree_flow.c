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

#include "dynamics/tree_parts.h"

#include "base/math/dense.h"

#include <string.h>

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
    cri_tree_accel_own(tree, v, u, trace->t, scratch);
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
        cri_tree_accel_own(tree, s == 0 ? v : v_s, u, 0.0, scratch);
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

/// Adjoints at the end of a motion.
typedef struct flow_adj {
    const double *mean;  // (n_v)
    const double *v_out; // (n_v)
} flow_adj;

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
    cri_tree_accel_vjp_own(tree, a_adj, adj, scratch);
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
        cri_tree_accel_vjp_own(tree, a_adj, adj, scratch);
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

/// Tangents of a motion's data.
typedef struct flow_tan {
    cri_accel_tan own; // of the stage at hand
    double t;
    const double *jac; // (n_stage, 2 n_v, n_v) instead of the rest but q and v; NULL: none
} flow_tan;

// a_tan (n_v) of stage s
static void accel_tangent(const cri_tree_trace *trace, int s, const flow_tan *tan, double *a_tan,
                          cr_arena *scratch) {
    int n = trace->plan->n_v;
    if (!tan->jac) {
        cri_tree_accel_jvp_own(trace->tree[s], &tan->own, a_tan, scratch);
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

const double *cri_tree_flow_jac_push(const cri_tree_trace *trace, cr_arena *scratch) {
    int n = trace->plan->n_v;
    if (!cri_tree_has_jac(trace->tree[0])) {
        return NULL;
    }
    double *jac = CR_PUSH_RAW(scratch, double, trace->n_stage * 2 * n * n);
    for (int s = 0; s < trace->n_stage; s++) {
        cri_tree_accel_jac(trace->tree[s], jac + s * 2 * n * n, scratch);
    }
    return jac;
}

void cri_tree_flow_push(const cri_tree_trace *trace, const double *jac, double *q_tan,
                        double *v_tan, cr_arena *scratch) {
    CR_ASSERT(trace && jac && q_tan && v_tan && scratch);
    flow_tan tan = {.jac = jac};
    flow_tangent(trace, &tan, q_tan, v_tan, scratch);
}
