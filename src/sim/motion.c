// SPDX-License-Identifier: MIT
//
// Motion Phi_t of a sub-step. Free bodies: dynamics/flow.h. Bodies linked to a resting contact:
//
//   v_free = v + t a(v),   v' = jump(v_free; e = 0, target = -gap/h)
//   x' = x + t v',   q' = q exp(t w')
//
// The target closes the gap within one full step h, so that nothing sinks and a resting height
// follows the shape; h is the full step, never t, or a short sub-step would explode. (A deep
// overlap takes eight steps.) v' depends on t, so
//
//   v'_t = jump_v a,   x'_t = v' + t v'_t,   theta'_t = Jr(t w') (w' + t w'_t)
//
// First order in h: gradients through resting contacts are those of the time-stepping map.

#include "sim/motion.h"

#include "contact/islands.h"

#include <string.h>

// how fast a resting contact closes its gap, 1/s: within the full step, or an overlap that is no
// rounding, such as that of a scene which starts in one, over eight steps
static double opening_rate(const cr_sim *sim, const cri_motion *motion, double gap) {
    return gap < -1e3 * sim->eps_gap ? 0.125 / motion->h : 1.0 / motion->h;
}

// jumps of the islands, at the start
static bool begin_islands(cr_sim *sim, cri_motion *motion, int n, const int *feature,
                          const int *island) {
    cri_arena_mark mark = cri_arena_get_mark(sim->scratch);
    int *members = CR_PUSH_RAW(sim->scratch, int, n);
    bool is_good = members != NULL;
    for (int k = 0; is_good && k < motion->n_island; k++) {
        cri_jump *jump = &motion->island[k];
        int n_member = 0;
        for (int i = 0; i < n; i++) {
            if (island[i] == k) {
                members[n_member++] = feature[i];
            }
        }
        is_good = cri_arena_reserve(sim->tape, cri_jump_bytes(&sim->world, n_member));
        if (!is_good) {
            break;
        }
        cri_jump_begin(&sim->world, n_member, members, motion->x, jump, sim->tape);
        for (int i = 0; i < n_member; i++) {
            jump->is_plain[i] = true;
            jump->has_e[i] = false;
            double gap = jump->row[i].touch.gap;
            jump->target[i] = -gap * opening_rate(sim, motion, gap);
        }
    }
    cri_arena_rewind(sim->scratch, mark);
    return is_good;
}

bool cri_motion_begin(cr_sim *sim, cri_motion *motion, int n_rest, const int *rest) {
    CR_ASSERT(motion->h > 0.0 && motion->x && motion->u && n_rest >= 0);
    motion->n_island = 0;
    motion->t_solved = -1.0;
    if (n_rest == 0) {
        return true;
    }
    int n_v = sim->model->sizes.n_v, n_body = sim->model->sizes.n_body;
    cri_arena_mark mark = cri_arena_get_mark(sim->scratch);
    int *island = CR_PUSH_RAW(sim->scratch, int, n_rest);
    motion->island_of = CR_PUSH_RAW(sim->tape, int, n_body);
    motion->island = CR_PUSH_RAW(sim->tape, cri_jump, n_rest);
    motion->v_new = CR_PUSH(sim->tape, double, 3 * n_v);
    if (!island || !motion->island_of || !motion->island || !motion->v_new) {
        return false;
    }
    motion->v_rate = motion->v_new + n_v;
    motion->accel = motion->v_new + 2 * n_v;
    motion->n_island = cri_islands(sim->model, n_rest, rest, motion->island_of, island);
    bool is_good = begin_islands(sim, motion, n_rest, rest, island);
    cri_arena_rewind(sim->scratch, mark);
    for (int b = 0; b < n_body; b++) {
        if (motion->island_of[b] >= 0) {
            cri_drive drive = cri_drive_of(sim, motion->u, b);
            cri_vec3 spin = cri_v3_load(motion->x + sim->model->sizes.n_q + 6 * b + 3);
            cri_vec3 linear, angular;
            cri_acceleration(&drive, spin, &linear, &angular);
            cri_v3_store(linear, motion->accel + 6 * b);
            cri_v3_store(angular, motion->accel + 6 * b + 3);
        }
    }
    motion->solve_mark = cri_arena_get_mark(sim->tape);
    return is_good;
}

// solves one island for v_free (n_v); with has_rate also its v_rate
static bool solve_island(cr_sim *sim, cri_motion *motion, cri_jump *jump, const double *v_free,
                         bool has_rate) {
    size_t room = cri_jump_bytes(&sim->world, jump->n);
    if (!cri_arena_reserve(sim->tape, room) || !cri_arena_reserve(sim->scratch, 2 * room)) {
        return false;
    }
    for (int i = 0; i < jump->n; i++) {
        memcpy(jump->f + 3 * i, sim->warm + 3 * jump->row[i].feature, 3 * sizeof(double));
    }
    cri_jump_solve(&sim->world, jump, v_free, has_rate || sim->has_cache, motion->v_new, sim->tape,
                   sim->scratch);
    if (has_rate) {
        // only the velocity moves: the rows stand at the start of the sub-step
        memset(sim->d_tan.block, 0, sizeof(double) * (size_t)sim->d_tan.n_double);
        memset(sim->y_adj, 0, sizeof(double) * (size_t)sim->model->sizes.n_v);
        cri_jump_tan tan = {.v = motion->accel, .q = sim->y_adj, .d = &sim->d_tan};
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
    cri_arena_mark mark = cri_arena_get_mark(sim->scratch);
    double *v_free = CR_PUSH_RAW(sim->scratch, double, n_v);
    bool is_good = v_free != NULL;
    for (int i = 0; is_good && i < n_v; i++) {
        v_free[i] = motion->x[n_q + i] + t * motion->accel[i];
    }
    for (int k = 0; is_good && k < motion->n_island; k++) {
        is_good = solve_island(sim, motion, &motion->island[k], v_free, has_rate);
    }
    cri_arena_rewind(sim->scratch, mark);
    motion->t_solved = t;
    motion->has_rate = has_rate;
    return is_good;
}

static bool is_resting(const cri_motion *motion, int b) {
    return motion->n_island > 0 && motion->island_of[b] >= 0;
}

cri_body_state cri_motion_body(const cr_sim *sim, const cri_motion *motion, int b, double t,
                               cri_body_tangent *rate) {
    cri_body_state s = cri_state_load(sim, motion->x, b);
    if (!is_resting(motion, b)) {
        cri_drive drive = cri_drive_of(sim, motion->u, b);
        if (rate) {
            *rate = cri_flow_rate(&drive, &s, t);
        }
        return cri_flow(&drive, &s, t);
    }
    CR_VALIDATE(motion->t_solved == t);
    s.vel = cri_v3_load(motion->v_new + 6 * b);
    s.spin = cri_v3_load(motion->v_new + 6 * b + 3);
    cri_vec3 turn = cri_v3_scale(t, s.spin);
    s.pos = cri_v3_mad(s.pos, t, s.vel);
    s.quat = cri_quat_mul(s.quat, cri_quat_exp(turn));
    if (rate) {
        cri_so3 r = cri_so3_of(turn);
        rate->vel = cri_v3_load(motion->v_rate + 6 * b);
        rate->spin = cri_v3_load(motion->v_rate + 6 * b + 3);
        rate->pos = cri_v3_mad(s.vel, t, rate->vel);
        rate->rot = cri_so3_right(&r, cri_v3_mad(s.spin, t, rate->spin));
    }
    return s;
}

size_t cri_motion_scratch_bytes(const cr_sim *sim, const cri_motion *motion) {
    size_t room = sizeof(double) * 4 * (size_t)sim->model->sizes.n_v + 1024;
    for (int k = 0; k < motion->n_island; k++) {
        room += 2 * cri_jump_bytes(&sim->world, motion->island[k].n);
    }
    return room;
}

// adjoint of x' = x + t v', q' = q exp(t w') of one resting body: s_adj in place, v' part to
// v_new_adj
static double resting_body_vjp(const cri_motion *motion, int b, double t, cri_body_tangent *s_adj,
                               double *v_new_adj) {
    cri_vec3 v = cri_v3_load(motion->v_new + 6 * b), w = cri_v3_load(motion->v_new + 6 * b + 3);
    cri_so3 turn = cri_so3_of(cri_v3_scale(t, w));

    // q' = q exp(t w')
    cri_vec3 turn_adj = cri_so3_right_vjp(&turn, s_adj->rot);
    s_adj->rot = cri_so3_rotate(&turn, s_adj->rot);
    double t_adj = cri_v3_dot(turn_adj, w);
    cri_v3_store(cri_v3_mad(s_adj->spin, t, turn_adj), v_new_adj + 3);

    // x' = x + t v'
    t_adj += cri_v3_dot(s_adj->pos, v);
    cri_v3_store(cri_v3_mad(s_adj->vel, t, s_adj->pos), v_new_adj);
    s_adj->vel = s_adj->spin = cri_v3(0.0, 0.0, 0.0);
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
            double rate = opening_rate(sim, motion, jump->row[i].touch.gap);
            cri_touch adj = {.gap = -target_adj[i] * rate};
            cri_feature_touch_vjp(&sim->world, jump->row[i].feature, motion->x, &adj, y_adj,
                                  &sim->d_adj);
        }
    }

    // v_free = v + t a(v)
    for (int b = 0; b < sim->model->sizes.n_body; b++) {
        if (!is_resting(motion, b)) {
            continue;
        }
        cri_vec3 linear = cri_v3_load(v_free_adj + 6 * b);
        cri_vec3 angular = cri_v3_load(v_free_adj + 6 * b + 3);
        cri_vec3 spin = cri_v3_load(motion->x + sim->model->sizes.n_q + 6 * b + 3);
        cri_vec3 spin_adj = angular;
        cri_drive drive = cri_drive_of(sim, motion->u, b);
        cri_drive_adj drive_adj = cri_drive_adj_of(sim, u_adj, b);
        t_adj += cri_v3_dot(linear, cri_v3_load(motion->accel + 6 * b)) +
                 cri_v3_dot(angular, cri_v3_load(motion->accel + 6 * b + 3));
        cri_acceleration_vjp(&drive, spin, cri_v3_scale(t, linear), cri_v3_scale(t, angular),
                             &spin_adj, &drive_adj);
        cri_v3_accumulate(linear, y_adj + n_v + 6 * b);
        cri_v3_accumulate(spin_adj, y_adj + n_v + 6 * b + 3);
    }
    return t_adj;
}

double cri_motion_vjp(cr_sim *sim, const cri_motion *motion, double t, double *y_adj,
                      double *u_adj) {
    CR_VALIDATE(motion->n_island == 0 || motion->t_solved == t);
    cri_arena_mark mark = cri_arena_get_mark(sim->scratch);
    double *v_new_adj = NULL, t_adj = 0.0;
    if (motion->n_island > 0) {
        v_new_adj = CR_PUSH(sim->scratch, double, sim->model->sizes.n_v);
    }
    for (int b = 0; b < sim->model->sizes.n_body; b++) {
        cri_body_tangent out_adj = cri_tangent_load(sim, y_adj, b);
        if (is_resting(motion, b)) {
            t_adj += resting_body_vjp(motion, b, t, &out_adj, v_new_adj + 6 * b);
            cri_tangent_store(sim, &out_adj, y_adj, b);
            continue;
        }
        cri_body_state s = cri_state_load(sim, motion->x, b);
        cri_body_tangent s_adj = {.pos = {.x = 0.0}};
        cri_drive drive = cri_drive_of(sim, motion->u, b);
        cri_drive_adj drive_adj = cri_drive_adj_of(sim, u_adj, b);
        cri_flow_vjp(&drive, &s, t, &out_adj, &s_adj, &t_adj, &drive_adj);
        cri_tangent_store(sim, &s_adj, y_adj, b);
    }
    if (motion->n_island > 0) {
        t_adj += islands_vjp(sim, motion, t, v_new_adj, y_adj, u_adj);
    }
    cri_arena_rewind(sim->scratch, mark);
    return t_adj;
}

// tangents of v_free = v + t a(v) of the resting bodies
static void free_velocity_jvp(cr_sim *sim, const cri_motion *motion, double t, double t_tan,
                              const double *y_tan, const double *u_tan, double *v_free_tan) {
    for (int b = 0; b < sim->model->sizes.n_body; b++) {
        if (!is_resting(motion, b)) {
            continue;
        }
        cri_body_tangent s_tan = cri_tangent_load(sim, y_tan, b);
        cri_vec3 spin = cri_v3_load(motion->x + sim->model->sizes.n_q + 6 * b + 3), linear, angular;
        cri_drive drive = cri_drive_of(sim, motion->u, b), tan = cri_drive_tan_of(sim, u_tan, b);
        cri_acceleration_jvp(&drive, spin, s_tan.spin, &tan, &linear, &angular);
        linear = cri_v3_mad(s_tan.vel, t, linear);
        angular = cri_v3_mad(s_tan.spin, t, angular);
        const double *a = motion->accel + 6 * b;
        cri_v3_store(cri_v3_mad(linear, t_tan, cri_v3_load(a)), v_free_tan + 6 * b);
        cri_v3_store(cri_v3_mad(angular, t_tan, cri_v3_load(a + 3)), v_free_tan + 6 * b + 3);
    }
}

// tangents v_new_tan (n_v) of the islands' solves
static void islands_jvp(cr_sim *sim, const cri_motion *motion, const double *y_tan,
                        const double *v_free_tan, double *v_new_tan) {
    for (int k = 0; k < motion->n_island; k++) {
        const cri_jump *jump = &motion->island[k];
        double *target_tan = CR_PUSH_RAW(sim->scratch, double, jump->n);
        for (int i = 0; i < jump->n; i++) {
            cri_touch touch = cri_feature_touch_jvp(&sim->world, jump->row[i].feature, motion->x,
                                                    y_tan, &sim->d_tan);
            target_tan[i] = -touch.gap * opening_rate(sim, motion, jump->row[i].touch.gap);
        }
        cri_jump_tan tan = {.v = v_free_tan, .q = y_tan, .d = &sim->d_tan, .target = target_tan};
        cri_jump_solve_jvp(&sim->world, jump, &tan, v_new_tan, sim->scratch);
    }
}

static cri_body_tangent resting_body_jvp(const cri_motion *motion, int b, double t, double t_tan,
                                         const cri_body_tangent *s_tan, const double *v_new_tan) {
    cri_vec3 v = cri_v3_load(motion->v_new + 6 * b), w = cri_v3_load(motion->v_new + 6 * b + 3);
    cri_vec3 v_tan = cri_v3_load(v_new_tan), w_tan = cri_v3_load(v_new_tan + 3);
    cri_so3 turn = cri_so3_of(cri_v3_scale(t, w));
    cri_vec3 turn_tan = cri_v3_mad(cri_v3_scale(t, w_tan), t_tan, w);
    return (cri_body_tangent){
        .pos = cri_v3_mad(cri_v3_mad(s_tan->pos, t, v_tan), t_tan, v),
        .rot = cri_v3_add(cri_so3_unrotate(&turn, s_tan->rot), cri_so3_right(&turn, turn_tan)),
        .vel = v_tan,
        .spin = w_tan,
    };
}

void cri_motion_jvp(cr_sim *sim, const cri_motion *motion, double t, double t_tan, double *y_tan,
                    const double *u_tan) {
    CR_VALIDATE(motion->n_island == 0 || motion->t_solved == t);
    cri_arena_mark mark = cri_arena_get_mark(sim->scratch);
    int n_v = sim->model->sizes.n_v;
    double *v_new_tan = NULL;
    if (motion->n_island > 0) {
        double *v_free_tan = CR_PUSH(sim->scratch, double, n_v);
        v_new_tan = CR_PUSH(sim->scratch, double, n_v);
        free_velocity_jvp(sim, motion, t, t_tan, y_tan, u_tan, v_free_tan);
        islands_jvp(sim, motion, y_tan, v_free_tan, v_new_tan);
    }
    for (int b = 0; b < sim->model->sizes.n_body; b++) {
        cri_body_tangent s_tan = cri_tangent_load(sim, y_tan, b), out;
        if (is_resting(motion, b)) {
            out = resting_body_jvp(motion, b, t, t_tan, &s_tan, v_new_tan + 6 * b);
        } else {
            cri_body_state s = cri_state_load(sim, motion->x, b);
            cri_drive drive = cri_drive_of(sim, motion->u, b);
            cri_drive tan = cri_drive_tan_of(sim, u_tan, b);
            out = cri_flow_jvp(&drive, &s, t, &s_tan, t_tan, &tan);
        }
        cri_tangent_store(sim, &out, y_tan, b);
    }
    cri_arena_rewind(sim->scratch, mark);
}
