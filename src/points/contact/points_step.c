// SPDX-License-Identifier: MIT
//
// A step of points with contact, and its derivatives: the parts in order, and in reverse order.
//
//   minv = masses(p);  projection;  [x1 | v1] = flow(x);  projection;
//   v' = v1 + jump(x1, v1);  x' = [x1 | v']

#include "points/contact/points_step.h"

#include "base/base.h"

#include <string.h>

static cri_points_call call_of(const cri_points_scene *scene, const double *p,
                               const cri_points_tape *tape, cr_arena *keep, cr_arena *scratch) {
    return (cri_points_call){.s = &scene->s,
                             .form = scene->form,
                             .tableau = scene->tableau,
                             .potential = &scene->potential,
                             .p = p,
                             .minv = tape->minv,
                             .B = tape->B,
                             .has_failed = tape->has_failed,
                             .keep = keep,
                             .scratch = scratch};
}

static cri_jump_world world_of(const cri_points_scene *scene, const double *p,
                               const cri_points_tape *tape) {
    return (cri_jump_world){.s = &scene->s,
                            .law = &scene->law,
                            .n_touch = scene->n_touch,
                            .touch = scene->touch,
                            .p = p,
                            .minv = tape->minv};
}

void cri_points_energy(const cri_points_scene *scene, const double *p, int B, const double *x,
                       double *kinetic, double *potential, cr_arena *scratch) {
    int D = scene->s.n_dof;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *q = CR_PUSH_RAW(scratch, double, (size_t)B *(size_t)D);
    for (int b = 0; b < B; b++) {
        const double *row = x + 2 * (size_t)b * (size_t)D;
        memcpy(q + (size_t)b * (size_t)D, row, sizeof *q * (size_t)D);
        if (kinetic) {
            kinetic[b] = cri_points_kinetic(&scene->s, p, row + D);
        }
        if (potential) {
            potential[b] = 0.0;
        }
    }
    if (potential && scene->potential.value) {
        scene->potential.value(&scene->potential, p, B, q, potential);
    }
    cri_arena_rewind(scratch, mark);
}

// room in scratch of the smooth part of a step, and of its derivatives
static size_t motion_bytes(const cri_points_scene *scene, int B) {
    const cri_points *s = &scene->s;
    size_t row = 40 * (size_t)(s->n_dof + s->n_tie) + 4 * (size_t)(s->n_slot * s->d);
    size_t entries = s->n_tie > 0 ? (size_t)s->pattern.first[s->n_tie] : 0;
    size_t own = scene->potential.n_byte ? scene->potential.n_byte(&scene->potential, B) : 0;
    // stages, their adjoints, and the potential's
    size_t batch = 12 * (size_t)B * (size_t)scene->n_x;
    return sizeof(double) * (row + entries + batch + (size_t)s->n_minv) + own + 8192;
}

// the same with the derivatives of jumps
static size_t tape_bytes(const cri_points_scene *scene, const cri_points_tape *tape) {
    size_t most = 0;
    for (int b = 0; b < tape->B; b++) {
        size_t n = cri_points_jump_bytes(&scene->s, &scene->law, &tape->jump[b]);
        most = n > most ? n : most;
    }
    return motion_bytes(scene, tape->B) + most;
}

// ---- forward -----------------------------------------------------------------------------------

static bool jump_rows(const cri_points_scene *scene, const double *p, cri_points_tape *tape,
                      double *next, cr_arena *keep, cr_arena *scratch) {
    size_t D = (size_t)scene->s.n_dof;
    const cri_jump_world w = world_of(scene, p, tape);
    for (int b = 0; b < tape->B; b++) {
        double *row = next + 2 * (size_t)b * D;
        if (tape->has_failed[b]) {
            continue;
        }
        if (!cri_points_jump_solve(&w, row, row + D, row + D, &tape->jump[b], keep, scratch)) {
            return false;
        }
        tape->n_contact += tape->jump[b].n;
        tape->has_failed[b] = !cri_points_jump_is_solved(&tape->jump[b]);
    }
    return true;
}

// the smooth motion, with what is projected
static bool move_rows(const cri_points_scene *scene, const cri_points_call *call,
                      cri_points_tape *tape, const double *x, double *next) {
    size_t n = (size_t)tape->B * (size_t)scene->n_x;
    double *begin = scene->begins_projected ? CR_PUSH_RAW(call->keep, double, n) : NULL;
    bool has_room = !scene->begins_projected || begin;
    if (begin) {
        memcpy(begin, x, sizeof *begin * n);
        tape->start = cri_points_project(call, begin);
        has_room = tape->start != NULL;
    }
    has_room = has_room && cri_points_flow(call, scene->dt, begin ? begin : x, next, &tape->flow);
    if (has_room && scene->has_projection) {
        tape->project = cri_points_project(call, next);
        has_room = tape->project != NULL;
    }
    return has_room;
}

// what a failed row gives back
static void restore_rows(const cri_points_tape *tape, int n_x, const double *x, double *x_next) {
    for (int b = 0; b < tape->B; b++) {
        const double *from = x + (size_t)b * (size_t)n_x;
        double *to = x_next + (size_t)b * (size_t)n_x;
        if (tape->has_failed[b] && cri_all_finite(n_x, from)) {
            memmove(to, from, sizeof *to * (size_t)n_x);
        } else if (tape->has_failed[b]) {
            memset(to, 0, sizeof *to * (size_t)n_x);
        }
    }
}

static cri_points_tape *push_tape(const cri_points_scene *scene, const double *p, int B,
                                  cr_arena *keep) {
    cri_points_tape *tape = CR_PUSH(keep, cri_points_tape, 1);
    bool *has_failed = CR_PUSH(keep, bool, B);
    double *minv = CR_PUSH_RAW(keep, double, scene->s.n_minv);
    cri_points_jump *jump = CR_PUSH(keep, cri_points_jump, B);
    if (!tape || !has_failed || !minv || !jump) {
        return NULL;
    }
    *tape = (cri_points_tape){.B = B, .has_failed = has_failed, .minv = minv, .jump = jump};
    cri_points_masses(&scene->s, p, minv);
    return tape;
}

const cri_points_tape *cri_points_step(const cri_points_scene *scene, const double *p, int B,
                                       const double *x, double *x_next, cr_outcome *outcome,
                                       cr_arena *keep, cr_arena *scratch) {
    CR_ASSERT(scene && p && B > 0 && x && x_next && keep != scratch);
    size_t n = (size_t)B * (size_t)scene->n_x;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    cri_points_tape *tape = push_tape(scene, p, B, keep);
    bool has_room = tape && cri_arena_reserve(scratch, motion_bytes(scene, B));
    double *next = has_room ? CR_PUSH_RAW(scratch, double, n) : NULL;
    if (has_room) {
        const cri_points_call call = call_of(scene, p, tape, keep, scratch);
        has_room = move_rows(scene, &call, tape, x, next);
    }
    if (has_room && scene->has_contact) {
        has_room = jump_rows(scene, p, tape, next, keep, scratch);
    }
    if (has_room) {
        restore_rows(tape, scene->n_x, x, next);
        memcpy(x_next, next, sizeof *next * n);
        for (int b = 0; outcome && b < B; b++) {
            outcome[b] = tape->jump[b].n > 0 ? tape->jump[b].outcome : CR_SOLVED;
            if (tape->has_failed[b] && outcome[b] != CR_ITERATION_LIMIT) {
                outcome[b] = CR_ITERATION_LIMIT;
            }
        }
    }
    cri_arena_rewind(scratch, mark);
    return has_room ? tape : NULL;
}

// ---- adjoint -----------------------------------------------------------------------------------

bool cri_points_step_vjp(const cri_points_scene *scene, const double *p,
                         const cri_points_tape *tape, const double *x_next_adj, double *x_adj,
                         double *p_adj, cr_arena *scratch) {
    size_t n_x = (size_t)scene->n_x, D = n_x / 2;
    if (!cri_arena_reserve(scratch, tape_bytes(scene, tape))) {
        return false;
    }
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    const cri_points_call call = call_of(scene, p, tape, NULL, scratch);
    const cri_jump_world w = world_of(scene, p, tape);
    double *state_adj = CR_PUSH(scratch, double, (size_t)tape->B *n_x);
    const cri_points_adj adj = {.p = p_adj, .minv = CR_PUSH(scratch, double, scene->s.n_minv)};

    // x' = [x1 | v'],  v' = v1 + jump
    for (int b = 0; b < tape->B; b++) {
        const double *from = x_next_adj + (size_t)b * n_x;
        double *to = state_adj + (size_t)b * n_x;
        if (!tape->has_failed[b]) {
            memcpy(to, from, sizeof *to * D);
            cri_points_jump_vjp(&w, &tape->jump[b], from + D, to, &adj, scratch);
        }
    }
    // projection, flow, masses
    if (tape->project) {
        cri_points_project_vjp(&call, tape->project, state_adj, &adj);
    }
    double *begin_adj = tape->start ? CR_PUSH(scratch, double, (size_t)tape->B *n_x) : x_adj;
    cri_points_flow_vjp(&call, &tape->flow, state_adj, begin_adj, &adj);
    if (tape->start) {
        cri_points_project_vjp(&call, tape->start, begin_adj, &adj);
        for (size_t i = 0; i < (size_t)tape->B * n_x; i++) {
            x_adj[i] += begin_adj[i];
        }
    }
    cri_points_masses_vjp(&scene->s, p, adj.minv, p_adj);
    cri_arena_rewind(scratch, mark);
    return true;
}

bool cri_points_step_jvp(const cri_points_scene *scene, const double *p,
                         const cri_points_tape *tape, const double *x_tan, const double *p_tan,
                         double *x_next_tan, cr_arena *scratch) {
    CR_ASSERT(!scene->potential.grad || scene->potential.grad_jvp);
    size_t n_x = (size_t)scene->n_x, D = n_x / 2;
    if (!cri_arena_reserve(scratch, tape_bytes(scene, tape))) {
        return false;
    }
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    const cri_points_call call = call_of(scene, p, tape, NULL, scratch);
    const cri_jump_world w = world_of(scene, p, tape);
    double *minv_tan = CR_PUSH(scratch, double, scene->s.n_minv);
    double *state_tan = CR_PUSH_RAW(scratch, double, (size_t)tape->B *n_x);
    const cri_points_tan tan = {.p = p_tan, .minv = minv_tan};
    cri_points_masses_jvp(&scene->s, p, p_tan, minv_tan);
    double *begin_tan = CR_PUSH_RAW(scratch, double, (size_t)tape->B *n_x);
    memcpy(begin_tan, x_tan, sizeof *begin_tan * (size_t)tape->B * n_x);
    if (tape->start) {
        cri_points_project_jvp(&call, tape->start, &tan, begin_tan);
    }
    cri_points_flow_jvp(&call, &tape->flow, begin_tan, &tan, state_tan);
    if (tape->project) {
        cri_points_project_jvp(&call, tape->project, &tan, state_tan);
    }
    for (int b = 0; b < tape->B; b++) {
        const double *from = state_tan + (size_t)b * n_x;
        double *to = x_next_tan + (size_t)b * n_x;
        if (tape->has_failed[b]) {
            memset(to, 0, sizeof *to * n_x);
        } else {
            memcpy(to, from, sizeof *to * D);
            cri_points_jump_jvp(&w, &tape->jump[b], from, &tan, to + D, scratch);
        }
    }
    cri_arena_rewind(scratch, mark);
    return true;
}
