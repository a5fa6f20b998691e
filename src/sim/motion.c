// SPDX-License-Identifier: MIT
//
// Motion Phi_t of a sub-step. Units without contact: dynamics/unit.h, dynamics/tree.h. Units linked
// to a resting contact:
//
//   v_free = v + t a(q, v),   v' = jump(v_free; e = 0, target = -gap/h),   q' = q (+) t v'
//
// The target closes the gap within one full step h, so that nothing sinks and a resting height
// follows the shape; h is the full step or a fixed part of it (sim/located.c), never t, or a
// short sub-step would explode. (A deep overlap takes eight steps.) Joint damping is implicit over
// the full step. v' depends on t, so
//
//   v'_t = jump_v a,   q'_t by cri_advance_jvp
//
// First order in h: gradients through resting contacts are those of the time-stepping map.

#include "sim/motion.h"

#include "contact/island.h"
#include "dynamics/unit.h"

#include <math.h>
#include <string.h>

// how fast a resting contact closes its gap, 1/s: within the part that it moves at once, or an
// overlap that is no rounding, such as that of a scene which starts in one, over eight of them
static double opening_rate(const cr_sim *sim, const cri_motion *motion, double gap) {
    return (gap < -1e3 * sim->eps_gap ? 0.125 : 1.0) / motion->part;
}

static const cri_unit *unit_of(const cr_sim *sim, int unit) {
    return &sim->model->mech.unit[unit];
}

// ---- resting islands ---------------------------------------------------------------------------

// jumps of the islands, at the start
static bool begin_islands(cr_sim *sim, cri_motion *motion, int n, const int *feature,
                          const int *island) {
    cri_scan *scan = &sim->scan;
    for (int k = 0; k < motion->n_island; k++) {
        cri_jump *jump = &motion->island[k];
        int n_member = 0;
        for (int i = 0; i < n; i++) {
            if (island[i] == k) {
                scan->ref[n_member++] = (cri_contact_ref){&scan->near[scan->near_of[feature[i]]],
                                                          &scan->touch[feature[i]]};
            }
        }
        n_member = cri_jump_thin(&sim->world, n_member, scan->ref);
        size_t room = cri_jump_bytes(&sim->world, n_member, scan->ref);
        if (!cri_arena_reserve(sim->tape, room) || !cri_arena_reserve(sim->scratch, room)) {
            return false;
        }
        cri_jump_begin(&sim->world, n_member, scan->ref, &motion->state, jump, sim->tape,
                       sim->scratch);
        for (int i = 0; i < n_member; i++) {
            jump->is_plain[i] = true;
            jump->has_e[i] = false;
            double gap = jump->row[i].touch.gap;
            jump->target[i] = -gap * opening_rate(sim, motion, gap);
        }
    }
    return true;
}

// acceleration of a resting unit at the start
static bool accelerate(cr_sim *sim, cri_motion *motion, int unit) {
    const cri_unit *u = unit_of(sim, unit);
    const double *v = motion->state.x + sim->model->sizes.n_q;
    if (u->is_free_body) {
        cri_drive drive = cri_drive_of(sim, motion->u, u);
        cri_vec3 linear, angular;
        cri_acceleration(&drive, cri_v3_load(v + u->first_v + 3), &linear, &angular);
        cri_v3_store(linear, motion->accel + u->first_v);
        cri_v3_store(angular, motion->accel + u->first_v + 3);
        return true;
    }
    cri_tree *tree =
        cri_state_tree(sim->model, &sim->d, &motion->state, unit, sim->tape, sim->scratch);
    if (!tree ||
        !cri_arena_reserve(sim->scratch, cri_tree_scratch_bytes(&sim->model->mech, unit))) {
        return false;
    }
    cri_tree_accel(tree, v, motion->u, motion->h, motion->accel, sim->scratch);
    return true;
}

static bool begin_rest(cr_sim *sim, cri_motion *motion, int n_rest, const int *rest) {
    int n_v = sim->model->sizes.n_v, n_unit = sim->model->mech.n_unit;
    cri_scan *scan = &sim->scan;
    motion->island_of = CR_PUSH_RAW(sim->tape, int, n_unit);
    motion->island = CR_PUSH_RAW(sim->tape, cri_jump, n_rest);
    motion->v_new = CR_PUSH(sim->tape, double, 3 * n_v);
    if (!motion->island_of || !motion->island || !motion->v_new) {
        return false;
    }
    motion->v_rate = motion->v_new + n_v;
    motion->accel = motion->v_new + 2 * n_v;
    for (int i = 0; i < n_rest; i++) {
        scan->member[i] = &scan->near[scan->near_of[rest[i]]];
    }
    motion->n_island =
        cri_islands(sim->model, n_rest, scan->member, motion->island_of, scan->island);
    bool is_good = begin_islands(sim, motion, n_rest, rest, scan->island);
    for (int u = 0; is_good && u < n_unit; u++) {
        is_good = motion->island_of[u] < 0 || accelerate(sim, motion, u);
    }
    return is_good;
}

bool cri_motion_push(cr_sim *sim, cri_motion *motion, const double *x, const double *u, double h) {
    CR_ASSERT(x && u && h > 0.0);
    const cr_model *m = sim->model;
    int n_unit = m->mech.n_unit;
    *motion = (cri_motion){.u = u, .h = h, .part = h, .t_solved = -1.0};
    if (!cri_arena_reserve(sim->tape, cri_state_bytes(m))) {
        return false;
    }
    cri_state_push(m, x, &motion->state, sim->tape);
    if (sim->has_tree) {
        motion->trace = CR_PUSH(sim->tape, cri_tree_trace *, n_unit);
        motion->t_flow = CR_PUSH_RAW(sim->tape, double, n_unit);
        motion->flow = CR_PUSH_RAW(sim->tape, double, m->sizes.n_x);
        if (!motion->trace || !motion->t_flow || !motion->flow) {
            return false;
        }
        for (int i = 0; i < n_unit; i++) {
            motion->t_flow[i] = NAN;
        }
    }
    return true;
}

bool cri_motion_begin(cr_sim *sim, cri_motion *motion, int n_rest, const int *rest) {
    CR_ASSERT(motion->h > 0.0 && motion->state.x && motion->u && n_rest >= 0);
    motion->n_island = 0;
    motion->t_solved = -1.0;
    if (n_rest > 0 && !begin_rest(sim, motion, n_rest, rest)) {
        return false;
    }
    motion->solve_mark = cri_arena_get_mark(sim->tape);
    return true;
}

// solves one island for v_free (n_v); with has_rate also its v_rate
static bool solve_island(cr_sim *sim, cri_motion *motion, cri_jump *jump, const double *v_free,
                         bool has_rate) {
    if (!cri_arena_reserve(sim->tape, jump->n_byte) ||
        !cri_arena_reserve(sim->scratch, 2 * jump->n_byte)) {
        return false;
    }
    for (int i = 0; i < jump->n; i++) {
        const double *warm = cri_warm_find(&sim->warm, &jump->row[i].near, jump->row[i].touch.id);
        for (int r = 0; r < 3; r++) {
            jump->f[3 * i + r] = warm ? warm[r] : 0.0;
        }
    }
    cri_jump_solve(&sim->world, jump, v_free, has_rate || sim->has_cache, motion->v_new, sim->tape,
                   sim->scratch);
    if (has_rate && !jump->law_cache) {
        cri_jump_clear(&sim->world, jump, motion->v_rate);
    } else if (has_rate) {
        // Only the velocity moves: the rows stand at the start of the sub-step. The rate is part of
        // the motion.
        memset(sim->d_tan.block, 0, sizeof(double) * (size_t)sim->d_tan.n_double);
        memset(sim->y_adj, 0, sizeof(double) * (size_t)sim->model->sizes.n_v);
        memset(sim->body_tan, 0, sizeof(double) * 6 * (size_t)sim->model->mech.n_body);
        cri_jump_tan tan = {.v = motion->accel,
                            .q = sim->y_adj,
                            .body_tan = sim->body_tan,
                            .d = &sim->d_tan,
                            .is_fixed = true,
                            .is_exact = true};
        cri_jump_solve_jvp(&sim->world, jump, &tan, motion->v_rate, sim->scratch);
    }
    return true;
}

bool cri_motion_solve(cr_sim *sim, cri_motion *motion, double t, bool has_rate) {
    CR_ASSERT(t >= 0.0);
    bool is_solved = motion->t_solved == t && (motion->has_rate || !has_rate);
    if (motion->n_island == 0 || is_solved) {
        return true;
    }
    int n_v = sim->model->sizes.n_v, n_q = sim->model->sizes.n_q;
    cri_arena_rewind(sim->tape, motion->solve_mark);
    for (int u = 0; motion->trace && u < sim->model->mech.n_unit; u++) {
        motion->t_flow[u] = NAN; // their traces lay behind the mark
    }
    cri_arena_mark mark = cri_arena_get_mark(sim->scratch);
    double *v_free = CR_PUSH_RAW(sim->scratch, double, n_v);
    bool is_good = v_free != NULL;
    for (int i = 0; is_good && i < n_v; i++) {
        v_free[i] = motion->state.x[n_q + i] + t * motion->accel[i];
    }
    for (int k = 0; is_good && k < motion->n_island; k++) {
        is_good = solve_island(sim, motion, &motion->island[k], v_free, has_rate);
    }
    cri_arena_rewind(sim->scratch, mark);
    motion->t_solved = t;
    motion->has_rate = has_rate;
    return is_good;
}

// ---- units -------------------------------------------------------------------------------------

// a resting unit: q' = q (+) t v'
static void resting_unit(const cr_sim *sim, const cri_motion *motion, int unit, double t, double *y,
                         double *y_rate) {
    const cri_mechanism *mech = &sim->model->mech;
    const cri_unit *u = &mech->unit[unit];
    size_t n_byte = sizeof(double) * (size_t)u->n_v;
    CR_VALIDATE(motion->t_solved == t);
    cri_advance(mech, unit, motion->state.x, motion->v_new, t, y);
    memcpy(y + mech->n_q + u->first_v, motion->v_new + u->first_v, n_byte);
    if (y_rate) {
        memset(y_rate + u->first_v, 0, n_byte);
        cri_advance_jvp(mech, unit, motion->v_new, motion->v_rate, t, 1.0, y_rate);
        memcpy(y_rate + mech->n_v + u->first_v, motion->v_rate + u->first_v, n_byte);
    }
}

// the flow of a tree into y; a flow on the tape is kept, and found again at the same t
static bool tree_unit(cr_sim *sim, cri_motion *motion, int unit, double t, double *y,
                      double *y_rate, cr_arena *keep) {
    const cri_mechanism *mech = &sim->model->mech;
    const cri_unit *u = &mech->unit[unit];
    const double *x = motion->state.x;
    bool is_kept = keep == sim->tape;
    cri_tree_trace *trace = motion->trace[unit];
    double *out = is_kept ? motion->flow : y;
    if (!is_kept || motion->t_flow[unit] != t) {
        if (!cri_arena_reserve(sim->scratch, cri_tree_scratch_bytes(mech, unit)) ||
            !cri_arena_reserve(keep, cri_tree_flow_room(mech, &sim->d.mech, unit))) {
            return false;
        }
        cri_tree_start start = {.q = x, .v = x + mech->n_q, .u = motion->u, .t = t};
        trace = cri_tree_flow(mech, unit, &sim->d.mech, &start, out, out + mech->n_q, keep,
                              sim->scratch);
        if (!trace) {
            return false;
        }
    }
    if (is_kept) {
        motion->trace[unit] = trace;
        motion->t_flow[unit] = t;
        memcpy(y + u->first_q, out + u->first_q, sizeof *y * (size_t)u->n_q);
        memcpy(y + mech->n_q + u->first_v, out + mech->n_q + u->first_v,
               sizeof *y * (size_t)u->n_v);
    }
    if (y_rate) {
        memset(y_rate + u->first_v, 0, sizeof *y * (size_t)u->n_v);
        memset(y_rate + mech->n_v + u->first_v, 0, sizeof *y * (size_t)u->n_v);
        cri_tree_flow_jvp(trace, y_rate, y_rate + mech->n_v, sim->zero_u, 1.0, NULL, sim->scratch);
    }
    return true;
}

bool cri_motion_unit(cr_sim *sim, cri_motion *motion, int unit, double t, double *y, double *y_rate,
                     cr_arena *keep) {
    CR_ASSERT(unit >= 0 && unit < sim->model->mech.n_unit && t >= 0.0 && y);
    const cri_unit *u = unit_of(sim, unit);
    if (cri_motion_is_resting(motion, unit)) {
        resting_unit(sim, motion, unit, t, y, y_rate);
        return true;
    }
    if (!u->is_free_body) {
        return tree_unit(sim, motion, unit, t, y, y_rate, keep);
    }
    cri_body_state s = cri_state_load(sim, motion->state.x, u);
    cri_drive drive = cri_drive_of(sim, motion->u, u);
    if (y_rate) {
        cri_body_tangent rate = cri_flow_rate(&drive, &s, t);
        cri_tangent_store(sim, &rate, y_rate, u);
    }
    s = cri_flow(&drive, &s, t);
    cri_state_store(sim, &s, y, u);
    return true;
}

bool cri_motion_all(cr_sim *sim, cri_motion *motion, double t, double *y, double *y_rate) {
    CR_ASSERT(y);
    bool is_good = cri_motion_solve(sim, motion, t, y_rate != NULL);
    for (int u = 0; is_good && u < sim->model->mech.n_unit; u++) {
        is_good = cri_motion_unit(sim, motion, u, t, y, y_rate, sim->tape);
    }
    return is_good;
}

size_t cri_motion_scratch_bytes(const cr_sim *sim, const cri_motion *motion) {
    size_t room = sizeof(double) * 4 * (size_t)sim->model->sizes.n_v + 1024;
    for (int k = 0; k < motion->n_island; k++) {
        room += 2 * motion->island[k].n_byte;
    }
    for (int u = 0; u < sim->model->mech.n_unit; u++) {
        if (!unit_of(sim, u)->is_free_body) {
            room += cri_tree_scratch_bytes(&sim->model->mech, u);
        }
    }
    return room;
}

size_t cri_motion_jac_bytes(const cr_sim *sim) {
    const cri_mechanism *mech = &sim->model->mech;
    size_t room = sizeof(double *) * (size_t)mech->n_unit + 64;
    for (int u = 0; u < mech->n_unit; u++) {
        room += mech->unit[u].is_free_body ? 0 : cri_tree_flow_jac_bytes(mech, u);
    }
    return room;
}

void cri_motion_share(cr_sim *sim, const cri_motion *motion) {
    CR_ASSERT(motion->n_island == 0);
    const cri_mechanism *mech = &sim->model->mech;
    sim->flow_jac = CR_PUSH(sim->scratch, const double *, mech->n_unit);
    for (int u = 0; u < mech->n_unit; u++) {
        if (!mech->unit[u].is_free_body) {
            sim->flow_jac[u] = cri_tree_flow_jac_push(motion->trace[u], sim->scratch);
        }
    }
}

// ---- adjoint -----------------------------------------------------------------------------------

// adjoint of v_free = v + t a(q, v) of one resting unit, from v_free_adj to y_adj; returns t_adj
static double free_velocity_vjp(cr_sim *sim, const cri_motion *motion, int unit, double t,
                                const double *v_free_adj, double *y_adj, double *u_adj) {
    const cri_unit *u = unit_of(sim, unit);
    int n_v = sim->model->sizes.n_v, first = u->first_v;
    const double *v = motion->state.x + sim->model->sizes.n_q;
    double t_adj = 0.0;
    for (int i = first; i < first + u->n_v; i++) {
        t_adj += v_free_adj[i] * motion->accel[i];
        y_adj[n_v + i] += v_free_adj[i];
    }
    if (u->is_free_body) {
        cri_drive drive = cri_drive_of(sim, motion->u, u);
        cri_drive_adj drive_adj = cri_drive_adj_of(sim, u_adj, u);
        cri_vec3 linear = cri_v3_scale(t, cri_v3_load(v_free_adj + first));
        cri_vec3 angular = cri_v3_scale(t, cri_v3_load(v_free_adj + first + 3)), spin_adj = {0};
        cri_acceleration_vjp(&drive, cri_v3_load(v + first + 3), linear, angular, &spin_adj,
                             &drive_adj);
        cri_v3_accumulate(spin_adj, y_adj + n_v + first + 3);
        return t_adj;
    }
    cri_arena_mark mark = cri_arena_get_mark(sim->scratch);
    double *a_adj = CR_PUSH_RAW(sim->scratch, double, n_v), h_adj = 0.0;
    for (int i = first; i < first + u->n_v; i++) {
        a_adj[i] = t * v_free_adj[i];
    }
    cri_tree_accel_vjp(motion->state.tree[unit], a_adj, y_adj, y_adj + n_v, u_adj, &h_adj,
                       &sim->d_adj.mech, sim->scratch);
    cri_arena_rewind(sim->scratch, mark);
    return t_adj;
}

// adjoint of the islands' solves: from v_new_adj (n_v) to y_adj, whose pose part has been pulled
// back
static double islands_vjp(cr_sim *sim, const cri_motion *motion, double t, const double *v_new_adj,
                          double *y_adj, double *u_adj) {
    int n_v = sim->model->sizes.n_v;
    double *v_free_adj = CR_PUSH(sim->scratch, double, n_v), t_adj = 0.0;

    // v' = jump(v_free; target = -gap/h)
    for (int k = 0; k < motion->n_island; k++) {
        const cri_jump *jump = &motion->island[k];
        double *target_adj = CR_PUSH_RAW(sim->scratch, double, jump->n);
        cri_jump_solve_vjp(&sim->world, jump, v_new_adj, v_free_adj, y_adj, &sim->d_adj, target_adj,
                           sim->scratch);
        for (int i = 0; i < jump->n; i++) {
            const cri_row *row = &jump->row[i];
            double rate = opening_rate(sim, motion, row->touch.gap);
            cri_touch_diff adj = {.gap = -target_adj[i] * rate};
            cri_near_touch_vjp(&sim->world, &row->near, &row->touch, &motion->state, &adj, y_adj,
                               &sim->d_adj);
        }
    }
    for (int u = 0; u < sim->model->mech.n_unit; u++) {
        if (cri_motion_is_resting(motion, u)) {
            t_adj += free_velocity_vjp(sim, motion, u, t, v_free_adj, y_adj, u_adj);
        }
    }
    return t_adj;
}

// adjoint of q' = q (+) t v' of one resting unit: pose part in place, v' part to v_new_adj
static double resting_unit_vjp(const cr_sim *sim, const cri_motion *motion, int unit, double t,
                               double *y_adj, double *v_new_adj) {
    const cri_unit *u = unit_of(sim, unit);
    double *v_adj = y_adj + sim->model->sizes.n_v + u->first_v;
    size_t n_byte = sizeof *v_adj * (size_t)u->n_v;
    memcpy(v_new_adj + u->first_v, v_adj, n_byte);
    memset(v_adj, 0, n_byte);
    return cri_advance_vjp(&sim->model->mech, unit, motion->v_new, t, y_adj, v_new_adj);
}

static double flowing_unit_vjp(cr_sim *sim, const cri_motion *motion, int unit, double t,
                               double *y_adj, double *u_adj) {
    const cri_unit *u = unit_of(sim, unit);
    double t_adj = 0.0;
    if (!u->is_free_body) {
        cri_tree_flow_vjp(motion->trace[unit], y_adj, y_adj + sim->model->sizes.n_v, u_adj, &t_adj,
                          &sim->d_adj.mech, sim->scratch);
        return t_adj;
    }
    cri_body_tangent out_adj = cri_tangent_load(sim, y_adj, u);
    cri_body_state s = cri_state_load(sim, motion->state.x, u);
    cri_body_tangent s_adj = {.pos = {.x = 0.0}};
    cri_drive drive = cri_drive_of(sim, motion->u, u);
    cri_drive_adj drive_adj = cri_drive_adj_of(sim, u_adj, u);
    cri_flow_vjp(&drive, &s, t, &out_adj, &s_adj, &t_adj, &drive_adj);
    cri_tangent_store(sim, &s_adj, y_adj, u);
    return t_adj;
}

double cri_motion_vjp(cr_sim *sim, const cri_motion *motion, double t, double *y_adj,
                      double *u_adj) {
    CR_ASSERT(t >= 0.0 && y_adj);
    CR_VALIDATE(motion->n_island == 0 || motion->t_solved == t);
    cri_arena_mark mark = cri_arena_get_mark(sim->scratch);
    double *v_new_adj = NULL, t_adj = 0.0;
    if (motion->n_island > 0) {
        v_new_adj = CR_PUSH(sim->scratch, double, sim->model->sizes.n_v);
    }
    for (int u = 0; u < sim->model->mech.n_unit; u++) {
        t_adj += cri_motion_is_resting(motion, u)
                     ? resting_unit_vjp(sim, motion, u, t, y_adj, v_new_adj)
                     : flowing_unit_vjp(sim, motion, u, t, y_adj, u_adj);
    }
    if (motion->n_island > 0) {
        t_adj += islands_vjp(sim, motion, t, v_new_adj, y_adj, u_adj);
    }
    cri_arena_rewind(sim->scratch, mark);
    return t_adj;
}

// ---- tangent -----------------------------------------------------------------------------------

// tangent of v_free = v + t a(q, v) of a resting unit
static void free_velocity_jvp(cr_sim *sim, const cri_motion *motion, int unit, double t,
                              double t_tan, const double *y_tan, const double *u_tan,
                              double *v_free_tan) {
    const cri_unit *u = unit_of(sim, unit);
    int n_v = sim->model->sizes.n_v, first = u->first_v;
    double *a_tan = v_free_tan;
    if (u->is_free_body) {
        cri_body_tangent s_tan = cri_tangent_load(sim, y_tan, u);
        const double *v = motion->state.x + sim->model->sizes.n_q + first;
        cri_vec3 linear, angular;
        cri_drive drive = cri_drive_of(sim, motion->u, u), tan = cri_drive_tan_of(sim, u_tan, u);
        cri_acceleration_jvp(&drive, cri_v3_load(v + 3), s_tan.spin, &tan, &linear, &angular);
        cri_v3_store(linear, a_tan + first);
        cri_v3_store(angular, a_tan + first + 3);
    } else {
        cri_accel_tan tan = {
            .q = y_tan, .v = y_tan + n_v, .u = u_tan, .h = 0.0, .d = &sim->d_tan.mech};
        cri_tree_accel_jvp(motion->state.tree[unit], &tan, a_tan, sim->scratch);
    }
    for (int i = first; i < first + u->n_v; i++) {
        v_free_tan[i] = y_tan[n_v + i] + t * a_tan[i] + t_tan * motion->accel[i];
    }
}

// tangents v_new_tan (n_v) of the islands' solves
static void islands_jvp(cr_sim *sim, const cri_motion *motion, const double *y_tan,
                        const double *v_free_tan, double *v_new_tan) {
    cri_state_motion(sim->model, &motion->state, sim->is_moved, y_tan, sim->body_tan);
    for (int k = 0; k < motion->n_island; k++) {
        const cri_jump *jump = &motion->island[k];
        if (!sim->is_moved[jump->unit[0]]) {
            continue;
        }
        double *target_of_gap = CR_PUSH_RAW(sim->scratch, double, jump->n);
        for (int i = 0; i < jump->n; i++) {
            target_of_gap[i] = -opening_rate(sim, motion, jump->row[i].touch.gap);
        }
        cri_jump_tan tan = {.v = v_free_tan,
                            .q = y_tan,
                            .body_tan = sim->body_tan,
                            .d = &sim->d_tan,
                            .target_of_gap = target_of_gap,
                            .is_fixed = sim->is_d_fixed};
        cri_jump_solve_jvp(&sim->world, jump, &tan, v_new_tan, sim->scratch);
    }
}

static void resting_unit_jvp(const cr_sim *sim, const cri_motion *motion, int unit, double t,
                             double t_tan, const double *v_new_tan, double *y_tan) {
    const cri_unit *u = unit_of(sim, unit);
    cri_advance_jvp(&sim->model->mech, unit, motion->v_new, v_new_tan, t, t_tan, y_tan);
    memcpy(y_tan + sim->model->sizes.n_v + u->first_v, v_new_tan + u->first_v,
           sizeof *y_tan * (size_t)u->n_v);
}

static void flowing_unit_jvp(cr_sim *sim, const cri_motion *motion, int unit, double t,
                             double t_tan, double *y_tan, const double *u_tan) {
    const cri_unit *u = unit_of(sim, unit);
    double *v_tan = y_tan + sim->model->sizes.n_v;
    if (!u->is_free_body && sim->flow_jac && sim->flow_jac[unit]) {
        cri_tree_flow_push(motion->trace[unit], sim->flow_jac[unit], y_tan, v_tan, sim->scratch);
        return;
    }
    if (!u->is_free_body) {
        cri_tree_flow_jvp(motion->trace[unit], y_tan, v_tan, u_tan, t_tan,
                          sim->is_d_fixed ? NULL : &sim->d_tan.mech, sim->scratch);
        return;
    }
    cri_body_tangent s_tan = cri_tangent_load(sim, y_tan, u);
    cri_body_state s = cri_state_load(sim, motion->state.x, u);
    cri_drive drive = cri_drive_of(sim, motion->u, u);
    cri_drive tan = cri_drive_tan_of(sim, u_tan, u);
    cri_body_tangent out = cri_flow_jvp(&drive, &s, t, &s_tan, t_tan, &tan);
    cri_tangent_store(sim, &out, y_tan, u);
}

void cri_motion_jvp(cr_sim *sim, const cri_motion *motion, double t, double t_tan, double *y_tan,
                    const double *u_tan) {
    CR_ASSERT(t >= 0.0 && y_tan);
    CR_VALIDATE(motion->n_island == 0 || motion->t_solved == t);
    cri_arena_mark mark = cri_arena_get_mark(sim->scratch);
    int n_v = sim->model->sizes.n_v, n_unit = sim->model->mech.n_unit;
    double *v_new_tan = NULL;
    if (t_tan != 0.0) {
        cri_sim_move_all(sim);
    }
    for (int k = 0; k < motion->n_island; k++) {
        cri_sim_spread(sim, &motion->island[k]);
    }
    if (motion->n_island > 0) {
        double *v_free_tan = CR_PUSH(sim->scratch, double, n_v);
        v_new_tan = CR_PUSH(sim->scratch, double, n_v);
        for (int u = 0; u < n_unit; u++) {
            if (sim->is_moved[u] && cri_motion_is_resting(motion, u)) {
                free_velocity_jvp(sim, motion, u, t, t_tan, y_tan, u_tan, v_free_tan);
            }
        }
        islands_jvp(sim, motion, y_tan, v_free_tan, v_new_tan);
    }
    for (int u = 0; u < n_unit; u++) {
        if (!sim->is_moved[u]) {
            continue;
        }
        if (cri_motion_is_resting(motion, u)) {
            resting_unit_jvp(sim, motion, u, t, t_tan, v_new_tan, y_tan);
        } else {
            flowing_unit_jvp(sim, motion, u, t, t_tan, y_tan, u_tan);
        }
    }
    cri_arena_rewind(sim->scratch, mark);
}
