// SPDX-License-Identifier: MIT
//
// The end-of-step jump: smooth motion over the whole step, then one velocity jump of whatever
// overlaps.
//
//   y = Phi_h(x),   v+ = jump(y; e, target = depth/(8 h)) where gap <= eps_gap,   x' = [y_q | v+]
//
// The target opens an overlap over eight steps (paper 000 as run; experiments with one step
// bounce). A fresh contact has depth <= |v| h, so the target acts on it only if e < 1/8.
//
// The instant of the jump is a multiple of h and does not move: the gradient is that of this map
// (CR_GRAD_DISCRETE) and does not converge to that of the motion. The target's own derivative is
// included.

#include "sim/search.h"

#include "base/math/dense.h"
#include "contact/island.h"

#include <math.h>
#include <string.h>

// steps over which an overlap opens
static const double n_open = 8.0;

// so many tangents do not pay for what they could share
enum { FEW_SEEDS = 4 };

/// The jumps of a step.
typedef struct end_data {
    cri_motion motion;
    int n_jump;
    cri_jump *jump;  // (n_jump)
    cri_state state; // y
    double *y;       // (n_x)
} end_data;

// jumps of the islands of scan->hit (n); x_next's velocities are overwritten
static bool run_jumps(cr_sim *sim, end_data *data, int n, double *x_next, cri_step_record *record) {
    int n_q = sim->model->sizes.n_q;
    cri_scan *scan = &sim->scan;
    for (int i = 0; i < n; i++) {
        scan->member[i] = cri_scan_near(scan, scan->hit[i]);
    }
    data->n_jump = cri_islands(sim->model, n, scan->member, sim->unit_mark, scan->island);
    data->jump = CR_PUSH_RAW(sim->tape, cri_jump, data->n_jump);
    bool is_good = data->jump != NULL;
    for (int k = 0; is_good && k < data->n_jump; k++) {
        int n_group = 0;
        for (int i = 0; i < n; i++) {
            int f = scan->hit[i];
            if (scan->island[i] == k) {
                scan->ref[n_group++] = (cri_contact_ref){scan->member[i], &scan->now[f]};
            }
        }
        n_group = cri_jump_thin(&sim->world, n_group, scan->ref);
        size_t room = cri_jump_bytes(&sim->world, n_group, scan->ref);
        is_good = cri_arena_reserve(sim->tape, 2 * room) && cri_arena_reserve(sim->scratch, room);
        if (!is_good) {
            break;
        }
        cri_jump *jump = &data->jump[k];
        cri_jump_begin(&sim->world, n_group, scan->ref, &data->state, jump, sim->tape,
                       sim->scratch);
        for (int i = 0; i < n_group; i++) {
            const cri_row *row = &jump->row[i];
            const double *warm = cri_warm_find(&sim->warm, &row->near, row->touch.id);
            jump->target[i] = -row->touch.gap / (n_open * record->h);
            for (int r = 0; warm && r < 3; r++) {
                jump->f[3 * i + r] = warm[r];
            }
        }
        jump->before = record->x + n_q;
        cri_jump_solve(&sim->world, jump, data->y + n_q, sim->has_cache, x_next + n_q, sim->tape,
                       sim->scratch);
        cri_report_jump(sim, jump, &record->report);
        record->report.grad |= CR_GRAD_DISCRETE;
        record->report.n_event++;
    }
    return is_good && cri_warm_store(&sim->warm, data->n_jump, data->jump);
}

static cr_status end_step(cr_sim *sim, cri_step_record *record, double *x_next, cr_error *err) {
    end_data *data = CR_PUSH(sim->tape, end_data, 1);
    double *y = CR_PUSH_RAW(sim->tape, double, sim->model->sizes.n_x);
    if (!data || !y) {
        return cri_no_memory(err);
    }
    data->y = y;
    if (!cri_motion_push(sim, &data->motion, record->x, record->u, record->h) ||
        !cri_arena_reserve(sim->tape, cri_state_bytes(sim->model))) {
        return cri_no_memory(err);
    }
    cri_state_push(sim->model, y, &data->state, sim->tape);
    if (!cri_motion_all(sim, &data->motion, record->h, y, NULL)) {
        return cri_no_memory(err);
    }
    cri_state_set(sim->model, &data->state);
    if (!cri_scan_here(sim, &data->motion, &data->state)) {
        return cri_no_memory(err);
    }
    int n = 0;
    for (int f = 0; f < sim->scan.n_feature; f++) {
        double gap = sim->scan.now[f].gap;
        bool is_limit = cri_scan_near(&sim->scan, f)->kind == CRI_NEAR_LIMIT;
        record->report.penetration = fmax(record->report.penetration, is_limit ? 0.0 : -gap);
        if (gap <= sim->eps_gap) {
            sim->scan.hit[n++] = f;
        }
    }
    memcpy(x_next, y, sizeof *y * (size_t)sim->model->sizes.n_x);
    if (n == 0) {
        cri_warm_clear(&sim->warm);
    } else if (!run_jumps(sim, data, n, x_next, record)) {
        return cri_no_memory(err);
    }
    record->data = data;
    return CR_OK;
}

static bool reserve_for(cr_sim *sim, const end_data *data) {
    size_t room = cri_motion_scratch_bytes(sim, &data->motion);
    for (int k = 0; k < data->n_jump; k++) {
        room += 2 * data->jump[k].n_byte;
    }
    return cri_arena_reserve(sim->scratch, room);
}

static cr_status end_vjp(cr_sim *sim, const cri_step_record *record, double *y_adj, double *u_adj,
                         cr_error *err) {
    const end_data *data = record->data;
    int n_v = sim->model->sizes.n_v;
    if (!reserve_for(sim, data)) {
        return cri_no_memory(err);
    }
    cri_arena_mark mark = cri_arena_get_mark(sim->scratch);
    double *v_adj = CR_PUSH_RAW(sim->scratch, double, n_v);
    memcpy(v_adj, y_adj + n_v, sizeof *v_adj * (size_t)n_v);

    // x' = [y_q | v+],  v+ = jump(y; target = -gap/(8 h))
    for (int k = data->n_jump - 1; k >= 0; k--) {
        const cri_jump *jump = &data->jump[k];
        double *target_adj = CR_PUSH_RAW(sim->scratch, double, jump->n);
        cri_jump_clear(&sim->world, jump, y_adj + n_v);
        cri_jump_solve_vjp(&sim->world, jump, v_adj, y_adj + n_v, y_adj, &sim->d_adj, target_adj,
                           sim->scratch);
        for (int i = 0; i < jump->n; i++) {
            const cri_row *row = &jump->row[i];
            cri_touch_diff adj = {.gap = -target_adj[i] / (n_open * record->h)};
            cri_near_touch_vjp(&sim->world, &row->near, &row->touch, &data->state, &adj, y_adj,
                               &sim->d_adj);
        }
    }

    // y = Phi_h(x)
    cri_motion_vjp(sim, &data->motion, record->h, y_adj, u_adj);
    cri_arena_rewind(sim->scratch, mark);
    return CR_OK;
}

// derivative of the targets for the gaps, in scratch
static const double *push_target_of_gap(cr_sim *sim, const cri_jump *jump, double h) {
    double *target_of_gap = CR_PUSH_RAW(sim->scratch, double, jump->n);
    for (int i = 0; i < jump->n; i++) {
        target_of_gap[i] = -1.0 / (n_open * h);
    }
    return target_of_gap;
}

// the island's velocities in y_tan, whose poses are those of the jump
static void push_jump(cr_sim *sim, const end_data *data, const cri_jump *jump, double h,
                      double *y_tan) {
    int n_v = sim->model->sizes.n_v;
    cri_arena_mark mark = cri_arena_get_mark(sim->scratch);
    cri_jump_tan tan = {.v = y_tan + n_v,
                        .q = y_tan,
                        .body_tan = sim->body_tan,
                        .d = &sim->d_tan,
                        .target_of_gap = push_target_of_gap(sim, jump, h),
                        .is_fixed = sim->is_d_fixed};
    cri_state_motion(sim->model, &data->state, sim->is_moved, y_tan, sim->body_tan);
    cri_jump_solve_jvp(&sim->world, jump, &tan, y_tan + n_v, sim->scratch);
    cri_arena_rewind(sim->scratch, mark);
}

static cr_status end_jvp(cr_sim *sim, const cri_step_record *record, double *y_tan,
                         const double *u_tan, cr_error *err) {
    const end_data *data = record->data;
    if (!reserve_for(sim, data)) {
        return cri_no_memory(err);
    }
    cri_motion_jvp(sim, &data->motion, record->h, 0.0, y_tan, u_tan);
    for (int k = 0; k < data->n_jump; k++) {
        if (cri_sim_spread(sim, &data->jump[k])) {
            push_jump(sim, data, &data->jump[k], record->h, y_tan);
        }
    }
    return CR_OK;
}

/// The matrix of a jump, by rows of inputs: v+_tan = q_tan' Q + v_tan' P in the dofs of the island.
typedef struct jump_matrix {
    int n;       // dofs
    int *dof;    // (n) of the model
    double *Q;   // (n, n)
    double *P;   // (n, n)
    double *in;  // (2 n_v) work: tangents of poses and velocities
    double *out; // (n_v) work
    double *weight;
    const double **from; // (2n) work
} jump_matrix;

static jump_matrix jump_matrix_push(cr_sim *sim, const cri_jump *jump) {
    int n = jump->n_dof, n_v = sim->model->sizes.n_v, at = 0;
    jump_matrix matrix = {.n = n};
    matrix.dof = CR_PUSH_RAW(sim->scratch, int, n);
    matrix.Q = CR_PUSH_RAW(sim->scratch, double, 2 * n * n);
    matrix.P = matrix.Q + n * n;
    matrix.in = CR_PUSH(sim->scratch, double, 2 * n_v);
    matrix.out = CR_PUSH_RAW(sim->scratch, double, n_v);
    matrix.weight = CR_PUSH_RAW(sim->scratch, double, 2 * n);
    matrix.from = CR_PUSH_RAW(sim->scratch, const double *, 2 * n);
    for (int k = 0; k < jump->n_unit; k++) {
        const cri_unit *u = &sim->model->mech.unit[jump->unit[k]];
        for (int i = 0; i < u->n_v; i++) {
            matrix.dof[at++] = u->first_v + i;
        }
    }
    return matrix;
}

static void jump_matrix_fill(cr_sim *sim, const end_data *data, const cri_jump *jump, double h,
                             const jump_matrix *m) {
    int n_v = sim->model->sizes.n_v, row = 0;
    cri_jump_tan tan = {.v = m->in + n_v,
                        .q = m->in,
                        .body_tan = sim->body_tan,
                        .d = &sim->d_tan,
                        .target_of_gap = push_target_of_gap(sim, jump, h),
                        .is_fixed = true};
    memset(sim->is_moved, 0, sizeof(bool) * (size_t)sim->model->mech.n_unit);
    for (int k = 0; k < jump->n_unit; k++) {
        sim->is_moved[jump->unit[k]] = true;
        for (int i = 0; i < sim->model->mech.unit[jump->unit[k]].n_v; i++, row++) {
            for (int is_v = 0; is_v < 2; is_v++) {
                double *seed = m->in + (is_v ? n_v : 0) + m->dof[row];
                double *to = (is_v ? m->P : m->Q) + row * m->n;
                *seed = 1.0;
                tan.is_still = is_v;
                if (!is_v) {
                    cri_state_motion(sim->model, &data->state, sim->is_moved, m->in, sim->body_tan);
                }
                cri_jump_solve_jvp(&sim->world, jump, &tan, m->out, sim->scratch);
                *seed = 0.0;
                for (int j = 0; j < m->n; j++) {
                    to[j] = m->out[m->dof[j]];
                }
            }
        }
        sim->is_moved[jump->unit[k]] = false;
    }
}

// P += h Q: where a pose moves by h times the new velocity there is nothing left for Q
static void jump_matrix_lean(const jump_matrix *m, double h) {
    for (int i = 0; i < m->n; i++) {
        cri_add_scaled(m->n, h, m->Q + i * m->n, m->P + i * m->n);
    }
}

// q' Q + v' P = (q - h v)' Q + v' (P + h Q)
static void jump_matrix_apply(const jump_matrix *m, double h, int n_v, double *y_tan) {
    double *out = m->out;
    int n = 0;
    memset(out, 0, sizeof *out * (size_t)m->n);
    for (int i = 0; i < m->n; i++) {
        double v = y_tan[n_v + m->dof[i]], q = y_tan[m->dof[i]] - h * v;
        if (q != 0.0) {
            m->weight[n] = q;
            m->from[n++] = m->Q + i * m->n;
        }
        if (v != 0.0) {
            m->weight[n] = v;
            m->from[n++] = m->P + i * m->n;
        }
    }
    cri_add_combination(m->n, n, m->weight, m->from, out);
    for (int j = 0; j < m->n; j++) {
        y_tan[n_v + m->dof[j]] = out[j];
    }
}

// does the seed with these marks (n_unit) move the island?
static bool is_live(const cri_jump *jump, const bool *is_moved) {
    bool is_any = false;
    for (int k = 0; k < jump->n_unit; k++) {
        is_any = is_any || is_moved[jump->unit[k]];
    }
    return is_any;
}

// one jump for all seeds: by its matrix, unless they are fewer than what it takes to form it
static void jump_jac(cr_sim *sim, const cri_step_record *record, const cri_jump *jump, int n_seed,
                     const bool *is_moved, double *y_tan) {
    const end_data *data = record->data;
    size_t n_unit = (size_t)sim->model->mech.n_unit,
           n_tangent = (size_t)sim->model->sizes.n_tangent;
    int n_live = 0;
    for (int s = 0; s < n_seed; s++) {
        n_live += is_live(jump, is_moved + (size_t)s * n_unit);
    }
    cri_arena_mark mark = cri_arena_get_mark(sim->scratch);
    bool use_matrix = n_live > FEW_SEEDS;
    jump_matrix matrix = {0};
    if (use_matrix) {
        matrix = jump_matrix_push(sim, jump);
        const double *target_of_gap = push_target_of_gap(sim, jump, record->h);
        bool is_filled =
            cri_jump_jac(&sim->world, jump, &sim->d_tan, target_of_gap, matrix.Q, sim->scratch);
        use_matrix = is_filled || n_live > jump->n_dof;
        if (use_matrix && !is_filled) {
            jump_matrix_fill(sim, data, jump, record->h, &matrix);
        }
        if (use_matrix) {
            jump_matrix_lean(&matrix, record->h);
        }
    }
    for (int s = 0; s < n_seed; s++) {
        const bool *moved = is_moved + (size_t)s * n_unit;
        double *y = y_tan + (size_t)s * n_tangent;
        if (!is_live(jump, moved)) {
            continue;
        }
        if (use_matrix) {
            jump_matrix_apply(&matrix, record->h, sim->model->sizes.n_v, y);
        } else {
            memcpy(sim->is_moved, moved, sizeof *moved * n_unit);
            push_jump(sim, data, jump, record->h, y);
        }
    }
    cri_arena_rewind(sim->scratch, mark);
}

static cr_status end_jac(cr_sim *sim, const cri_step_record *record, int n_seed,
                         const double *x_tan, double *out, cr_error *err) {
    const end_data *data = record->data;
    const cr_sizes *z = &sim->model->sizes;
    size_t n_unit = (size_t)sim->model->mech.n_unit, n_tangent = (size_t)z->n_tangent, most = 0;
    for (int k = 0; k < data->n_jump; k++) {
        size_t n = (size_t)data->jump[k].n_dof;
        most = n > most ? n : most;
    }
    bool *is_moved = CR_PUSH_RAW(sim->scratch, bool, n_unit *(size_t)n_seed);
    bool use_shared = sim->has_tree && n_seed > FEW_SEEDS;
    size_t room = cri_motion_scratch_bytes(sim, &data->motion) +
                  (use_shared ? cri_motion_jac_bytes(sim) : 0) +
                  sizeof(double) * (2 * most * most + 5 * most + 3 * (size_t)z->n_v) + 1024;
    for (int k = 0; k < data->n_jump; k++) {
        room += 2 * data->jump[k].n_byte + cri_jump_jac_bytes(&sim->world, &data->jump[k]);
    }
    if (!is_moved || !cri_arena_reserve(sim->scratch, room)) {
        return cri_no_memory(err);
    }
    if (use_shared) {
        cri_motion_share(sim, &data->motion);
    }
    for (size_t s = 0; s < (size_t)n_seed; s++) {
        double *y = out + s * n_tangent;
        memmove(y, x_tan + s * n_tangent, sizeof *y * n_tangent);
        cri_sim_mark_moved(sim, y, sim->zero_u, false);
        memcpy(is_moved + s * n_unit, sim->is_moved, sizeof *is_moved * n_unit);
        cri_motion_jvp(sim, &data->motion, record->h, 0.0, y, sim->zero_u);
    }
    sim->flow_jac = NULL;
    for (int k = 0; k < data->n_jump; k++) {
        jump_jac(sim, record, &data->jump[k], n_seed, is_moved, out);
    }
    return CR_OK;
}

static int end_contacts(const cri_step_record *record, cr_contact *out) {
    const end_data *data = record->data;
    int n = 0;
    for (int k = 0; k < data->n_jump; k++) {
        n += cri_contacts_of(&data->jump[k], record->h, true, out ? out + n : NULL);
    }
    return n;
}

const cri_stepper cri_stepper_end = {
    .name = "end",
    .summary = "one jump at the end of the step; gradients of that map, not of the motion",
    .step = end_step,
    .vjp = end_vjp,
    .jvp = end_jvp,
    .jac = end_jac,
    .contacts = end_contacts,
};
