// SPDX-License-Identifier: MIT
//
// The located step: smooth motion to the first impact, a jump, and on, until the step is used up.
//
//   F1  classify features at x: gap g, rate s
//         resting       g <= eps_gap, |s| <= eps_speed       rows of the motion's own solve, never
//                       (more for what rolls on: rest.c)     located
//         impact now    g <= eps_gap, s < -eps_speed         event at t = 0
//         separating    g <= eps_gap, s > eps_speed          located after lift-off
//         apart         else                                 located
//       no impact within T: x' = Phi_T(x), done; a fast turn is cut into parts of half a
//       radian, one that draws a resting corner down into shorter ones, each such a sub-step of
//       fixed length
//   F2  t: root of G(t) = sum_k w_k (g_k(Phi_t(x)) - o_k), w_k = rate frozen, over the hits:
//       features of one island within eps_time of the first; o_k = g_k(x) in an overlap, else 0
//   F3  y = Phi_t(x),  y_rate = d Phi_t/dt of the discrete map
//   F4  group: hits and whatever touches in their island; an approaching one joins the hits
//       (back to F2)
//   F5  v+ = jump(y), inelastic where e |b_n| <= eps_speed
//   F6  x = [y_q | v+],  T = T - t; a unit that has had its share of impacts has inelastic rows
//       for what it may reach in what is left, in short parts of fixed length, halved where
//       something else comes down (cri_event_cut)
//
// Adjoint: last line first; what is carried besides x_adj is T_adj, the derivative for the time
// left.
//   A0  (x_adj, T_adj) = motion_vjp(x'_adj)
//   A1  y_adj = [x_adj_q | 0] + jump_vjp(x_adj_v)
//   A2  t_adj = y_adj . y_rate - T_adj
//   A3  if located: y_adj += -t_adj/G_rate sum_k w_k grad g_k        (and so for the parameters)
//   A4  x_adj = motion_vjp(y_adj), its own t_adj was used in A2; the overlaps o_k add
//       t_adj/G_rate w_k grad g_k(x)
//
// Source of the event-time term: implicit function theorem on G(t; x, p) = 0, the saltation matrix
// of one event. For several hits at once it is an average with weights rate^2 (paper 004, Eq. 6-7).

#include "sim/impact.h"
#include "sim/rest.h"

#include <math.h>
#include <string.h>

/// A touch whose gap decides the time of an event.
typedef struct cri_hit {
    cri_near near;
    cri_narrow_touch touch; // at y
    cri_narrow_touch start; // at x, for a deep one
    double weight;          // rate of its gap
    bool is_deep;           // the gap counts from the overlap at the start
} cri_hit;

/// One sub-step: motion over t from x, then, unless it is the last or a part of a fast turn, a jump
/// at y.
typedef struct sub {
    struct sub *previous;
    struct sub *next;
    double t;
    cri_motion motion;
    bool has_event;
    bool is_located;
    int n_hit;
    cri_hit *hit; // (n_hit)
    double G_rate;
    cri_state state; // y
    double *y;       // (n_x)
    double *y_rate;  // (n_tangent)
    cri_jump jump;
} sub;

/// All sub-steps of a step.
typedef struct sub_list {
    sub *first;
    sub *last;
} sub_list;

// copies what locate found onto the tape; false for lack of memory
static bool keep_event(cr_sim *sim, sub *s, int n_hit) {
    const cr_sizes *z = &sim->model->sizes;
    const cri_scan *scan = &sim->scan;
    s->n_hit = n_hit;
    s->hit = CR_PUSH_RAW(sim->tape, cri_hit, n_hit);
    s->y = CR_PUSH_RAW(sim->tape, double, z->n_x);
    s->y_rate = CR_PUSH_RAW(sim->tape, double, z->n_tangent);
    if (!s->hit || !s->y || !s->y_rate ||
        !cri_arena_reserve(sim->tape, cri_state_bytes(sim->model))) {
        return false;
    }
    cri_state_push(sim->model, s->y, &s->state, sim->tape);
    cri_state_copy(sim->model, &sim->work, &s->state);
    memcpy(s->y_rate, sim->y_rate, sizeof *s->y_rate * (size_t)z->n_tangent);
    for (int k = 0; k < n_hit; k++) {
        int f = scan->hit[k], start = cri_impact_start(sim, f);
        s->hit[k] = (cri_hit){.near = *cri_scan_near(scan, f),
                              .touch = scan->now[f],
                              .start = scan->touch[start >= 0 ? start : f],
                              .weight = scan->root[f],
                              .is_deep = start >= 0 && scan->offset[start] < -sim->eps_gap};
        for (int side = 0; s->hit[k].is_deep && side < 2; side++) {
            int unit = s->hit[k].near.unit[side];
            bool is_tree = unit >= 0 && !sim->model->mech.unit[unit].is_free_body;
            if (is_tree && !cri_state_tree(sim->model, &sim->d, &s->motion.state, unit, sim->tape,
                                           sim->scratch)) {
                return false;
            }
        }
    }
    return true;
}

// true when the island of the group has had its share of impacts
static bool count_impact(cr_sim *sim, const cri_jump *jump) {
    bool is_capped = false;
    for (int k = 0; k < jump->n_unit; k++) {
        is_capped = ++sim->n_unit_event[jump->unit[k]] > sim->event_cap || is_capped;
    }
    return is_capped;
}

// does the row press without any motion of its own, so that e -> 0+ ends in rest? Trees: their
// weight alone is asked
static bool is_pressed(const cr_sim *sim, const cri_row *row, const double *u) {
    double push = 0.0;
    for (int side = 0; side < 2; side++) {
        int unit = row->near.unit[side];
        if (unit < 0 || row->near.kind == CRI_NEAR_LIMIT) {
            continue;
        }
        cri_vec3 linear = cri_v3_load(sim->d.mech.gravity), angular, none = {0};
        if (sim->model->mech.unit[unit].is_free_body) {
            cri_drive drive = cri_drive_of(sim, u, &sim->model->mech.unit[unit]);
            cri_acceleration(&drive, none, &linear, &angular);
        }
        push += cri_v3_dot(cri_v3_load(row->J[side][0]), linear);
    }
    return push < 0.0;
}

// F5: which rows of the jump are inelastic
static void set_restitution(cr_sim *sim, sub *s, cr_step_report *report) {
    cri_jump *jump = &s->jump;
    const double *v = s->y + sim->model->sizes.n_q;
    bool is_capped = count_impact(sim, jump);
    for (int k = 0; k < jump->n; k++) {
        const cri_row *row = &jump->row[k];
        double speed = fabs(
            cri_near_rate(&sim->world, &row->near, &row->touch, &s->state, v, s->state.motion));
        jump->is_plain[k] = is_capped || jump->e[k] * speed <= sim->eps_speed;
        if (!jump->is_plain[k]) {
            continue;
        }
        // at e = 0 the derivative is that for e -> 0+, unless the contact then rests
        bool is_edge = jump->e[k] == 0.0 && !is_capped && speed > sim->eps_speed &&
                       row->near.kind != CRI_NEAR_LIMIT;
        jump->has_e[k] = is_edge && !is_pressed(sim, row, s->motion.u);
        report->grad |= is_edge || is_capped ? CR_GRAD_ONE_SIDED : 0;
    }
    report->n_capped += is_capped;
}

// F5 and F6: the jump at s->y, on the group; x_after (n_x) may be anything but s->y
static bool run_jump(cr_sim *sim, sub *s, int n_group, double *x_after, cr_step_report *report) {
    CR_ASSERT(n_group > 0);
    cri_scan *scan = &sim->scan;
    for (int k = 0; k < n_group; k++) {
        int f = scan->group[k];
        scan->ref[k] = (cri_contact_ref){cri_scan_near(scan, f), &scan->now[f]};
    }
    n_group = cri_jump_thin(&sim->world, n_group, scan->ref);
    size_t room = cri_jump_bytes(&sim->world, n_group, scan->ref);
    if (!cri_arena_reserve(sim->tape, 2 * room) || !cri_arena_reserve(sim->scratch, room)) {
        return false;
    }
    int n_q = sim->model->sizes.n_q;
    cri_jump_begin(&sim->world, n_group, scan->ref, &s->state, &s->jump, sim->tape, sim->scratch);
    set_restitution(sim, s, report);
    memcpy(x_after, s->y, sizeof *x_after * (size_t)sim->model->sizes.n_x);
    cri_jump_solve(&sim->world, &s->jump, s->y + n_q, sim->has_cache, x_after + n_q, sim->tape,
                   sim->scratch);
    cri_report_jump(sim, &s->jump, report);
    report->n_event++;
    report->grad |= s->n_hit > 1 ? CR_GRAD_AVERAGED : 0;
    report->grad |= s->is_located ? 0 : CR_GRAD_ONE_SIDED;
    for (int k = 0; k < s->n_hit; k++) {
        report->least_speed = fmin(report->least_speed, fabs(s->hit[k].weight));
        report->grad |= s->hit[k].is_deep ? CR_GRAD_ONE_SIDED : 0;
    }
    return true;
}

static sub *push_sub(cr_sim *sim, sub_list *trail, const double *x, const cri_step_record *record) {
    sub *s = CR_PUSH(sim->tape, sub, 1);
    if (s && !cri_motion_push(sim, &s->motion, x, record->u, record->h)) {
        return NULL;
    }
    if (s) {
        s->previous = trail->last;
        if (trail->last) {
            trail->last->next = s;
        } else {
            trail->first = s;
        }
        trail->last = s;
    }
    return s;
}

// no impact in the rest of the step: x' = Phi_T(x), and its resting impulses are the next warm
// start
static bool finish(cr_sim *sim, sub *s, double T, double *x_next, cr_step_report *report) {
    s->t = T;
    if (!cri_motion_all(sim, &s->motion, T, x_next, NULL)) {
        return false;
    }
    for (int k = 0; k < s->motion.n_island; k++) {
        cri_report_jump(sim, &s->motion.island[k], report);
        report->grad |= CR_GRAD_DISCRETE;
    }
    return cri_warm_store(&sim->warm, s->motion.n_island, s->motion.island);
}

// spin of the fastest body that does not turn alike about all axes, rad/s
static double fastest_spin(const cr_sim *sim, const cri_state *state) {
    double fastest = 0.0;
    for (int b = 0; b < sim->model->mech.n_body; b++) {
        int unit = sim->model->mech.link[b].unit;
        cri_vec3 I = sim->d.body[b].inertia;
        bool is_alike =
            unit >= 0 && sim->model->mech.unit[unit].is_free_body && I.x == I.y && I.y == I.z;
        if (unit >= 0 && !is_alike) {
            fastest = fmax(fastest, cri_v3_norm(cri_v3_load(state->motion + 6 * b + 3)));
        }
    }
    return fastest;
}

// The n-th part of a step, the last one with what is left: a length that the time of no impact
// changes, so that derivatives hold it fixed.
static double part_of(double n, double h, double T) {
    double part = h / fmax(n, 1.0);
    return T > 1.001 * part ? part : T;
}

// The longest smooth motion that RK4 follows well: half a radian. A resting contact knows its shape
// at the start alone: a twentieth, where the step is that of a fast turn (sim/rest.c). At most
// 4096 parts of the step.
static double longest_motion(double spin, bool is_resting, double h, double T) {
    bool is_short = is_resting && spin * h > 0.3;
    return part_of(ceil(fmin((is_short ? 20.0 : 2.0) * spin * h, 4096.0)), h, T);
}

// The longest motion of units whose impacts are no longer located, T when there are none. What is
// not among their rows falls freely: by no more than 1e-4 of the smaller body's radius, and no body
// turns by more than 1/100 radian. At most 256 parts of the step.
static double longest_coast(const cr_sim *sim, double spin, double h, double T, bool *is_capped) {
    *is_capped = false;
    double g = cri_v3_norm(cri_v3_load(sim->d.mech.gravity)), n = 1.0;
    for (int k = 0; k < sim->scan.n_near; k++) {
        const cri_near *near = &sim->scan.near[k];
        if (!cri_is_capped(sim, near)) {
            continue;
        }
        for (int side = 0; side < 2 && near->kind != CRI_NEAR_LIMIT; side++) {
            double r = sim->reach[near->geom[side]];
            n = isfinite(r) && r > 0.0 ? fmax(n, h * sqrt(g / (1e-4 * r))) : n;
        }
        n = fmax(n, 100.0 * spin * h);
        *is_capped = true;
    }
    return part_of(fmin(ceil(n), 256.0), h, T);
}

// F1: what rests and what hits at once; *n_now 0: nothing does
static bool begin_sub(cr_sim *sim, sub *s, double T, int *n_now, int *n_rest,
                      cr_step_report *report) {
    if (!cri_scan_start(sim, &s->motion, T)) {
        return false;
    }
    for (int f = 0; f < sim->scan.n_feature; f++) {
        bool is_limit = cri_scan_near(&sim->scan, f)->kind == CRI_NEAR_LIMIT;
        report->penetration = fmax(report->penetration, is_limit ? 0.0 : -sim->scan.gap[f]);
    }
    *n_now = cri_impact_now(sim, &s->motion);
    *n_rest = *n_now > 0 ? 0 : cri_impact_resting(sim, &s->motion);
    s->motion.part = cri_rest_part(sim, &s->motion, *n_rest);
    s->is_located = true;
    for (int k = 0; k < *n_now; k++) {
        int f = sim->scan.hit[k];
        s->is_located = s->is_located && sim->scan.gap[f] >= -sim->eps_gap;
    }
    return cri_motion_begin(sim, &s->motion, *n_rest, sim->scan.rest);
}

// one round of F1 to F6 from x; *T is the time left, x_after the next state
static bool run_sub(cr_sim *sim, sub_list *trail, const cri_step_record *record, const double *x,
                    double *T, double *x_after, cr_step_report *report) {
    sub *s = push_sub(sim, trail, x, record);
    if (!s) {
        return false;
    }
    int n_rest, n_now, first;
    bool has_memory = true, is_capped;
    cri_state_set(sim->model, &s->motion.state);
    double spin = fastest_spin(sim, &s->motion.state);
    double end = longest_motion(spin, false, record->h, *T);
    if (!begin_sub(sim, s, end, &n_now, &n_rest, report)) {
        return false;
    }
    end = n_rest > 0 ? longest_motion(spin, true, record->h, *T) : end;
    double coast = longest_coast(sim, spin, record->h, *T, &is_capped);
    end = fmin(fmin(end, coast), part_of(record->h / s->motion.part, record->h, *T));
    int n_hit = n_now;
    if (is_capped) {
        end = cri_event_cut(sim, &s->motion, end, n_rest, sim->scan.rest, &has_memory);
    }
    if (n_now == 0 && has_memory) {
        s->t = cri_event_search(sim, &s->motion, end, n_rest, sim->scan.rest, &first, &has_memory);
        n_hit = has_memory && first >= 0 ? cri_impact_hits(sim, s->t, first) : 0;
    }
    if (!has_memory) {
        return false;
    }
    if (n_hit == 0) {
        report->grad |= is_capped ? CR_GRAD_ONE_SIDED : 0;
        report->n_capped += is_capped;
        *T = end < *T ? *T - end : 0.0;
        return finish(sim, s, end, x_after, report);
    }
    s->has_event = true;
    cri_impact impact = {.t = s->t, .n_hit = n_hit};
    if (!cri_impact_locate(sim, &s->motion, end, n_now > 0, &impact)) {
        return false;
    }
    s->t = impact.t;
    s->G_rate = impact.G_rate;
    if (!keep_event(sim, s, impact.n_hit) || !run_jump(sim, s, impact.n_group, x_after, report)) {
        return false;
    }
    for (int k = 0; k < s->motion.n_island; k++) {
        cri_report_jump(sim, &s->motion.island[k], report);
        report->grad |= CR_GRAD_DISCRETE;
    }
    *T -= s->t;
    return true;
}

static cr_status located_step(cr_sim *sim, cri_step_record *record, double *x_next, cr_error *err) {
    sub_list *steps = CR_PUSH(sim->tape, sub_list, 1);
    const double *x = record->x;
    double T = record->h;
    bool has_memory;
    memset(sim->n_unit_event, 0, sizeof(int) * (size_t)sim->model->mech.n_unit);
    do {
        double *after = CR_PUSH_RAW(sim->tape, double, sim->model->sizes.n_x);
        has_memory = after && steps && run_sub(sim, steps, record, x, &T, after, &record->report);
        x = after;
    } while (has_memory && (T > 0.0 || steps->last->has_event));
    if (!has_memory) {
        return cri_no_memory(err);
    }
    memcpy(x_next, x, sizeof *x_next * (size_t)sim->model->sizes.n_x);
    record->data = steps;
    return CR_OK;
}

// A1 to A4 for one event; y_adj is that of the state behind the jump, then that of s->motion.x
static void event_vjp(cr_sim *sim, const sub *s, double T_adj, double *y_adj, double *u_adj) {
    int n_v = sim->model->sizes.n_v, n_tangent = sim->model->sizes.n_tangent;
    double *v_adj = CR_PUSH_RAW(sim->scratch, double, n_v);
    double *target_adj = CR_PUSH_RAW(sim->scratch, double, s->jump.n);

    // x = [y_q | v+]: units of the group get their velocity from the jump, the others keep theirs
    memcpy(v_adj, y_adj + n_v, sizeof *v_adj * (size_t)n_v);
    cri_jump_clear(&sim->world, &s->jump, y_adj + n_v);
    cri_jump_solve_vjp(&sim->world, &s->jump, v_adj, y_adj + n_v, y_adj, &sim->d_adj, target_adj,
                       sim->scratch);

    // T_next = T - t and y = Phi_t(x): what t receives
    double t_adj = -T_adj;
    for (int i = 0; i < n_tangent; i++) {
        t_adj += y_adj[i] * s->y_rate[i];
    }

    // G(t; x, p) = sum w_k (g_k(Phi_t(x)) - o_k) = 0
    for (int k = 0; s->is_located && k < s->n_hit; k++) {
        const cri_hit *hit = &s->hit[k];
        cri_touch_diff adj = {.gap = -t_adj / s->G_rate * hit->weight};
        cri_near_touch_vjp(&sim->world, &hit->near, &hit->touch, &s->state, &adj, y_adj,
                           &sim->d_adj);
    }

    // y = Phi_t(x)
    cri_motion_vjp(sim, &s->motion, s->t, y_adj, u_adj);

    // o_k = g_k(x) in an overlap
    for (int k = 0; s->is_located && k < s->n_hit; k++) {
        const cri_hit *hit = &s->hit[k];
        cri_touch_diff adj = {.gap = t_adj / s->G_rate * hit->weight};
        if (hit->is_deep) {
            cri_near_touch_vjp(&sim->world, &hit->near, &hit->start, &s->motion.state, &adj, y_adj,
                               &sim->d_adj);
        }
    }
}

// room in scratch for the derivatives of one sub-step
static bool reserve_for(cr_sim *sim, const sub *s) {
    size_t room = cri_motion_scratch_bytes(sim, &s->motion) +
                  sizeof(double) * 4 * (size_t)sim->model->sizes.n_v;
    if (s->has_event) {
        room += 2 * s->jump.n_byte;
    }
    return cri_arena_reserve(sim->scratch, room);
}

static cr_status located_vjp(cr_sim *sim, const cri_step_record *record, double *y_adj,
                             double *u_adj, cr_error *err) {
    const sub_list *steps = record->data;
    const sub *s = steps->last;
    if (!reserve_for(sim, s)) {
        return cri_no_memory(err);
    }
    double T_adj = cri_motion_vjp(sim, &s->motion, s->t, y_adj, u_adj);
    for (s = s->previous; s; s = s->previous) {
        if (!reserve_for(sim, s)) {
            return cri_no_memory(err);
        }
        cri_arena_mark mark = cri_arena_get_mark(sim->scratch);
        if (s->has_event) {
            event_vjp(sim, s, T_adj, y_adj, u_adj);
        } else {
            // a part of a motion that was too long: its time is a constant
            cri_motion_vjp(sim, &s->motion, s->t, y_adj, u_adj);
        }
        cri_arena_rewind(sim->scratch, mark);
    }
    return CR_OK;
}

// tangent through one event; returns t_tan
static double event_jvp(cr_sim *sim, const sub *s, double *y_tan, const double *u_tan) {
    int n_v = sim->model->sizes.n_v, n_tangent = sim->model->sizes.n_tangent;
    double t_tan = 0.0;
    cri_state_motion(sim->model, &s->motion.state, sim->is_moved, y_tan, sim->body_tan);
    for (int k = 0; s->is_located && k < s->n_hit; k++) {
        const cri_hit *hit = &s->hit[k];
        if (hit->is_deep) {
            cri_touch_diff tan =
                cri_near_touch_jvp(&sim->world, &hit->near, &hit->start, &s->motion.state, y_tan,
                                   sim->body_tan, &sim->d_tan);
            t_tan += hit->weight * tan.gap / s->G_rate;
        }
    }
    cri_motion_jvp(sim, &s->motion, s->t, 0.0, y_tan, u_tan);
    cri_state_motion(sim->model, &s->state, sim->is_moved, y_tan, sim->body_tan);
    for (int k = 0; s->is_located && k < s->n_hit; k++) {
        const cri_hit *hit = &s->hit[k];
        cri_touch_diff tan = cri_near_touch_jvp(&sim->world, &hit->near, &hit->touch, &s->state,
                                                y_tan, sim->body_tan, &sim->d_tan);
        t_tan -= hit->weight * tan.gap / s->G_rate;
    }
    if (t_tan != 0.0) {
        cri_sim_move_all(sim);
    }
    for (int i = 0; i < n_tangent; i++) {
        y_tan[i] += s->y_rate[i] * t_tan;
    }
    if (!cri_sim_spread(sim, &s->jump)) {
        return t_tan;
    }
    double *v_tan = CR_PUSH_RAW(sim->scratch, double, n_v);
    memcpy(v_tan, y_tan + n_v, sizeof *v_tan * (size_t)n_v);
    cri_state_motion(sim->model, &s->state, sim->is_moved, y_tan, sim->body_tan);
    cri_jump_tan tan = {.v = v_tan,
                        .q = y_tan,
                        .body_tan = sim->body_tan,
                        .d = &sim->d_tan,
                        .is_fixed = sim->is_d_fixed};
    cri_jump_solve_jvp(&sim->world, &s->jump, &tan, y_tan + n_v, sim->scratch);
    return t_tan;
}

static cr_status located_jvp(cr_sim *sim, const cri_step_record *record, double *y_tan,
                             const double *u_tan, cr_error *err) {
    const sub_list *steps = record->data;
    double T_tan = 0.0;
    for (const sub *s = steps->first; s; s = s->next) {
        if (!reserve_for(sim, s)) {
            return cri_no_memory(err);
        }
        cri_arena_mark mark = cri_arena_get_mark(sim->scratch);
        if (s->has_event) {
            T_tan -= event_jvp(sim, s, y_tan, u_tan);
        } else {
            cri_motion_jvp(sim, &s->motion, s->t, s->next ? 0.0 : T_tan, y_tan, u_tan);
        }
        cri_arena_rewind(sim->scratch, mark);
    }
    return CR_OK;
}

static int located_contacts(const cri_step_record *record, cr_contact *out) {
    const sub_list *steps = record->data;
    double time = 0.0;
    int n = 0;
    for (const sub *s = steps->first; s; s = s->next) {
        for (int k = 0; k < s->motion.n_island; k++) {
            n += cri_contacts_of(&s->motion.island[k], time, false, out ? out + n : NULL);
        }
        time += s->t;
        if (s->has_event) {
            n += cri_contacts_of(&s->jump, time, true, out ? out + n : NULL);
        }
    }
    return n;
}

const cri_stepper cri_stepper_located = {
    .name = "located",
    .summary = "impacts at their own time; exact gradients away from rest",
    .step = located_step,
    .vjp = located_vjp,
    .jvp = located_jvp,
    .contacts = located_contacts,
};
