// SPDX-License-Identifier: MIT
//
// The step of the law soft (energy/soft.h): contacts at the start of the step, semi-implicit
// Euler.
//
//   v_free = v + h a(q, v, u),    f = soft(q, v, v_free),    v' = v + h a(q, v, u + G'f/h; damping
//   implicit over h),    q' = q (+) h v'
//
// A contact is a touch with a gap below zero; both bodies feel it at the middle of the overlap, as
// in MuJoCo. Equalities stay rigid, the integrator is always this one.
//
// Derivatives are central differences of this map, CR_GRAD_DIFFERENCES: in tangent coordinates of
// x, in u and in the numbers that follow from the parameters. Units whose bounding balls are apart
// do not act on each other within a step, so that the k-th coordinates of all such groups are moved
// at once; of parameters each is moved alone.

#include "sim/search.h"

#include "contact/island.h"
#include "dynamics/unit.h"

#include <math.h>
#include <string.h>

// step of differences, relative to numbers above one: cube root of rounding, a little less since
// contacts are stiff
#define DELTA 1e-6

typedef struct soft_data {
    cri_motion motion; // its start, nothing else
    int n_jump;
    cri_jump *jump; // (n_jump)
} soft_data;

// ---- one step ----------------------------------------------------------------------------------

// accelerations of a unit under u (n_u) with joint damping implicit over h, into a (n_v)
static bool accelerate(cr_sim *sim, cri_motion *motion, int unit, const double *u, double h,
                       double *a) {
    const cri_unit *own = &sim->model->mech.unit[unit];
    const double *v = motion->state.x + sim->model->sizes.n_q;
    if (own->is_free_body) {
        cri_drive drive = cri_drive_of(sim, u, own);
        cri_vec3 linear, angular;
        cri_acceleration(&drive, cri_v3_load(v + own->first_v + 3), &linear, &angular);
        cri_v3_store(linear, a + own->first_v);
        cri_v3_store(angular, a + own->first_v + 3);
        return true;
    }
    cri_tree *tree =
        cri_state_tree(sim->model, &sim->d, &motion->state, unit, sim->tape, sim->scratch);
    if (!tree ||
        !cri_arena_reserve(sim->scratch, cri_tree_scratch_bytes(&sim->model->mech, unit))) {
        return false;
    }
    cri_tree_accel(tree, v, u, h, a, sim->scratch);
    return true;
}

// both bodies feel a contact in the middle of the overlap
static void meet_in_the_middle(cri_narrow_touch *touch) {
    cri_vec3 middle = cri_v3_scale(0.5, cri_v3_add(touch->point[0], touch->point[1]));
    touch->point[0] = touch->point[1] = middle;
}

// what overlaps, into scan->hit; returns how many
static int find_contacts(cr_sim *sim, cr_step_report *report) {
    cri_scan *scan = &sim->scan;
    int n = 0;
    for (int f = 0; f < scan->n_feature; f++) {
        if (scan->now[f].gap < 0.0) {
            bool is_limit = cri_scan_near(scan, f)->kind == CRI_NEAR_LIMIT;
            report->penetration = fmax(report->penetration, is_limit ? 0.0 : -scan->now[f].gap);
            if (!is_limit) {
                meet_in_the_middle(&scan->now[f]);
            }
            scan->hit[n] = f;
            scan->member[n++] = cri_scan_near(scan, f);
        }
    }
    return n;
}

// solves one island of the contacts in scan->hit (n); adds its impulses on dofs to impulse (n_v)
static bool solve_island(cr_sim *sim, soft_data *data, int k, int n, const double *v_free, double h,
                         double *impulse) {
    cri_scan *scan = &sim->scan;
    int n_member = 0;
    for (int i = 0; i < n; i++) {
        if (scan->island[i] == k) {
            scan->ref[n_member++] = (cri_contact_ref){scan->member[i], &scan->now[scan->hit[i]]};
        }
    }
    size_t room = cri_jump_bytes(&sim->world, n_member, scan->ref);
    if (!cri_arena_reserve(sim->tape, room) || !cri_arena_reserve(sim->scratch, 2 * room)) {
        return false;
    }
    cri_jump *jump = &data->jump[k];
    cri_jump_begin(&sim->world, n_member, scan->ref, &data->motion.state, jump, sim->tape,
                   sim->scratch);
    for (int i = 0; i < n_member; i++) {
        const double *warm = cri_warm_find(&sim->warm, &jump->row[i].near, jump->row[i].touch.id);
        for (int r = 0; warm && r < 3; r++) {
            jump->f[3 * i + r] = warm[r];
        }
    }
    const double *v = data->motion.state.x + sim->model->sizes.n_q;
    cri_soft_solve(&sim->world, &sim->soft, jump, v, v_free, h, impulse, sim->scratch);
    return true;
}

// all islands: impulse (n_v) of contacts on dofs. Work: v_free (n_v)
static bool solve_all(cr_sim *sim, soft_data *data, const cri_step_record *record, int n,
                      double *v_free, double *impulse) {
    const cr_sizes *z = &sim->model->sizes;
    cri_scan *scan = &sim->scan;
    data->n_jump = cri_islands(sim->model, n, scan->member, sim->unit_mark, scan->island);
    data->jump = CR_PUSH_RAW(sim->tape, cri_jump, data->n_jump);
    bool is_good = data->jump != NULL;
    for (int u = 0; is_good && u < sim->model->mech.n_unit; u++) {
        if (sim->unit_mark[u] >= 0) {
            is_good = accelerate(sim, &data->motion, u, record->u, 0.0, v_free);
        }
    }
    for (int i = 0; is_good && i < z->n_v; i++) {
        v_free[i] = record->x[z->n_q + i] + record->h * v_free[i];
    }
    for (int k = 0; is_good && k < data->n_jump; k++) {
        is_good = solve_island(sim, data, k, n, v_free, record->h, impulse);
    }
    return is_good;
}

// velocities and positions of all units under the impulses
static bool advance(cr_sim *sim, soft_data *data, const cri_step_record *record,
                    const double *impulse, double *x_next) {
    const cri_mechanism *mech = &sim->model->mech;
    double *v = x_next + mech->n_q, h = record->h;
    double *u = CR_PUSH_RAW(sim->scratch, double, sim->model->sizes.n_u);
    if (!u) {
        return false;
    }
    memcpy(u, record->u, sizeof *u * (size_t)sim->model->sizes.n_u);
    for (int i = 0; i < mech->n_v; i++) {
        u[mech->n_actuator + i] += impulse[i] / h;
    }
    for (int k = 0; k < mech->n_unit; k++) {
        if (!accelerate(sim, &data->motion, k, u, h, v)) {
            return false;
        }
    }
    for (int i = 0; i < mech->n_v; i++) {
        v[i] = record->x[mech->n_q + i] + h * v[i];
    }
    for (int k = 0; k < mech->n_unit; k++) {
        cri_advance(mech, k, record->x, v, h, x_next);
    }
    return true;
}

// the step of a record, without touching the warm data
static bool run(cr_sim *sim, cri_step_record *record, double *x_next) {
    int n_v = sim->model->sizes.n_v;
    soft_data *data = CR_PUSH(sim->tape, soft_data, 1);
    cri_arena_mark mark = cri_arena_get_mark(sim->scratch);
    double *v_free = CR_PUSH(sim->scratch, double, 2 * n_v), *impulse = v_free + n_v;
    if (!data || !v_free || !cri_motion_push(sim, &data->motion, record->x, record->u, record->h)) {
        return false;
    }
    cri_state_set(sim->model, &data->motion.state);
    bool is_good = cri_scan_here(sim, &data->motion, &data->motion.state);
    int n = is_good ? find_contacts(sim, &record->report) : 0;
    is_good = is_good && (n == 0 || solve_all(sim, data, record, n, v_free, impulse)) &&
              advance(sim, data, record, impulse, x_next);
    cri_arena_rewind(sim->scratch, mark);
    record->data = data;
    return is_good;
}

static cr_status soft_step(cr_sim *sim, cri_step_record *record, double *x_next, cr_error *err) {
    if (!run(sim, record, x_next)) {
        return cri_no_memory(err);
    }
    const soft_data *data = record->data;
    for (int k = 0; k < data->n_jump; k++) {
        cri_report_jump(sim, &data->jump[k], &record->report);
    }
    record->report.grad |= CR_GRAD_DISCRETE | CR_GRAD_DIFFERENCES;
    // the solution is unique: neither a tie of coefficients nor a class makes differences one-sided
    record->report.grad &= ~CR_GRAD_ONE_SIDED;
    if (!cri_warm_store(&sim->warm, data->n_jump, data->jump)) {
        return cri_no_memory(err);
    }
    return CR_OK;
}

static int soft_contacts(const cri_step_record *record, cr_contact *out) {
    const soft_data *data = record->data;
    int n = 0;
    for (int k = 0; k < data->n_jump; k++) {
        n += cri_contacts_of(&data->jump[k], 0.0, false, out ? out + n : NULL);
    }
    return n;
}

// ---- differences -------------------------------------------------------------------------------

/// Two neighbours of a step and where they lead, in scratch.
typedef struct neighbours {
    double *y;    // (2 n_v) direction in x
    double *u;    // (n_u) direction
    double *x;    // (n_x) a neighbour of x
    double *at_u; // (n_u) of u
    double *end;  // (2, n_x) their ends
    double *diff; // (2 n_v) difference of the ends, in tangent coordinates
    double *wide; // (2 n_v) work
} neighbours;

static bool push_neighbours(cr_sim *sim, neighbours *b) {
    const cr_sizes *z = &sim->model->sizes;
    b->y = CR_PUSH(sim->scratch, double, z->n_tangent);
    b->u = CR_PUSH(sim->scratch, double, z->n_u);
    b->x = CR_PUSH(sim->scratch, double, z->n_x);
    b->at_u = CR_PUSH(sim->scratch, double, z->n_u);
    b->end = CR_PUSH(sim->scratch, double, 2 * z->n_x);
    b->diff = CR_PUSH(sim->scratch, double, z->n_tangent);
    b->wide = CR_PUSH(sim->scratch, double, z->n_tangent);
    return b->y && b->u && b->x && b->at_u && b->end && b->diff && b->wide;
}

// the end of the step that begins at x + s y, u + s u_dir
static bool run_at(cr_sim *sim, const cri_step_record *record, const neighbours *b, double s,
                   double *end) {
    const cri_mechanism *mech = &sim->model->mech;
    const cr_sizes *z = &sim->model->sizes;
    cri_arena_mark mark = cri_arena_get_mark(sim->tape);
    memcpy(b->x, record->x, sizeof *b->x * (size_t)z->n_x);
    for (int k = 0; k < mech->n_unit; k++) {
        cri_advance(mech, k, record->x, b->y, s, b->x);
    }
    for (int i = 0; i < z->n_v; i++) {
        b->x[z->n_q + i] += s * b->y[z->n_v + i];
    }
    for (int i = 0; i < z->n_u; i++) {
        b->at_u[i] = record->u[i] + s * b->u[i];
    }
    cri_step_record at = {.h = record->h, .x = b->x, .u = b->at_u, .report = cri_report_none()};
    bool is_good = run(sim, &at, end);
    cri_arena_rewind(sim->tape, mark);
    return is_good;
}

// diff = (end[1] - end[0])/scale in tangent coordinates
static void subtract_ends(const cr_sim *sim, const neighbours *b, double scale) {
    const cri_mechanism *mech = &sim->model->mech;
    const double *low = b->end, *high = b->end + sim->model->sizes.n_x;
    for (int j = 0; j < mech->n_joint; j++) {
        const cri_joint *joint = &mech->joint[j];
        int n_linear = joint->n_q >= 4 ? joint->n_q - 4 : joint->n_q, at = joint->q + n_linear;
        for (int i = 0; i < n_linear; i++) {
            b->diff[joint->v + i] = (high[joint->q + i] - low[joint->q + i]) / scale;
        }
        if (joint->n_q >= 4) {
            double apart[4];
            for (int i = 0; i < 4; i++) {
                apart[i] = (high[at + i] - low[at + i]) / scale;
            }
            cri_vec3 theta = cri_quat_tangent(cri_q4_load(low + at), apart);
            cri_v3_store(theta, b->diff + joint->v + n_linear);
        }
    }
    for (int i = 0; i < mech->n_v; i++) {
        b->diff[mech->n_v + i] = (high[mech->n_q + i] - low[mech->n_q + i]) / scale;
    }
}

static bool difference(cr_sim *sim, const cri_step_record *record, const neighbours *b) {
    if (!run_at(sim, record, b, -DELTA, b->end) ||
        !run_at(sim, record, b, DELTA, b->end + sim->model->sizes.n_x)) {
        return false;
    }
    subtract_ends(sim, b, 2.0 * DELTA);
    return true;
}

// the end of the step with number i of d at value
static bool run_with(cr_sim *sim, const cri_step_record *record, const neighbours *b, int i,
                     double value, double *end) {
    double kept = sim->d.block[i];
    sim->d.block[i] = value;
    bool is_good = cri_scan_prepare(sim) &&
                   cri_soft_weigh(sim->model, &sim->d, &sim->soft, sim->scratch) &&
                   run_at(sim, record, b, 0.0, end);
    sim->d.block[i] = kept;
    return is_good;
}

// diff for a change of number i of d. Zero is the border of most domains: there one-sided, by a
// parabola, 2 (f(1) - f(0)) - (f(2) - f(0))/2
static bool difference_in_d(cr_sim *sim, const cri_step_record *record, const neighbours *b,
                            int i) {
    int n_x = sim->model->sizes.n_x, n_tangent = sim->model->sizes.n_tangent;
    double value = sim->d.block[i], delta = DELTA * fabs(value);
    double *high = b->end + n_x;
    if (value != 0.0) {
        bool is_good = run_with(sim, record, b, i, value - delta, b->end) &&
                       run_with(sim, record, b, i, value + delta, high);
        subtract_ends(sim, b, 2.0 * delta);
        return is_good;
    }
    if (!run_with(sim, record, b, i, 0.0, b->end) ||
        !run_with(sim, record, b, i, 2.0 * DELTA, high)) {
        return false;
    }
    subtract_ends(sim, b, 2.0 * DELTA);
    memcpy(b->wide, b->diff, sizeof *b->wide * (size_t)n_tangent);
    if (!run_with(sim, record, b, i, DELTA, high)) {
        return false;
    }
    subtract_ends(sim, b, DELTA);
    for (int k = 0; k < n_tangent; k++) {
        b->diff[k] = 2.0 * b->diff[k] - b->wide[k];
    }
    return true;
}

/// Coordinates of x (tangents) and u, each with its group of units and its number in it.
typedef struct coordinates {
    int n;      // 2 n_v + n_u
    int *unit;  // (n)
    int *rank;  // (n)
    int *group; // (n_unit)
    int *count; // (n_unit) of a group
} coordinates;

static int actuator_unit(const cri_mechanism *mech, int i) {
    const cri_actuator *a = &mech->actuator[i];
    int joint = a->joint >= 0 ? a->joint : a->tendon >= 0 ? mech->tendon[a->tendon].joint[0] : -1;
    int body = joint >= 0 ? mech->joint[joint].body : mech->site[a->site].body;
    return body >= 0 ? mech->link[body].unit : -1;
}

// groups of units that may act on each other in this step
static bool find_groups(cr_sim *sim, const soft_data *data, int *group) {
    if (!cri_scan_here(sim, &data->motion, &data->motion.state)) {
        return false;
    }
    cri_scan *scan = &sim->scan;
    for (int k = 0; k < scan->n_near; k++) {
        scan->member[k] = &scan->near[k];
    }
    int n = cri_islands(sim->model, scan->n_near, scan->member, group, scan->island);
    for (int u = 0; u < sim->model->mech.n_unit; u++) {
        group[u] = group[u] < 0 ? n++ : group[u];
    }
    return true;
}

static bool push_coordinates(cr_sim *sim, const soft_data *data, coordinates *c) {
    const cri_mechanism *mech = &sim->model->mech;
    c->n = 2 * mech->n_v + mech->n_u;
    c->unit = CR_PUSH(sim->scratch, int, c->n);
    c->rank = CR_PUSH(sim->scratch, int, c->n);
    // a group has a unit of its own, and each without a near may be one more
    c->group = CR_PUSH(sim->scratch, int, mech->n_unit);
    c->count = CR_PUSH(sim->scratch, int, mech->n_unit);
    if (!c->unit || !c->rank || !c->group || !c->count || !find_groups(sim, data, c->group)) {
        return false;
    }
    for (int k = 0; k < mech->n_unit; k++) {
        for (int i = mech->unit[k].first_v; i < mech->unit[k].first_v + mech->unit[k].n_v; i++) {
            c->unit[i] = c->unit[mech->n_v + i] = k;
            c->unit[2 * mech->n_v + mech->n_actuator + i] = k;
        }
    }
    for (int i = 0; i < mech->n_actuator; i++) {
        c->unit[2 * mech->n_v + i] = actuator_unit(mech, i);
    }
    for (int i = 0; i < c->n; i++) {
        bool is_there = c->unit[i] >= 0 && (i < 2 * mech->n_v || sim->wants_u);
        c->rank[i] = is_there ? c->count[c->group[c->unit[i]]]++ : -1;
    }
    return true;
}

// y_adj . diff by groups: sum (n_unit)
static void weigh_groups(const cr_sim *sim, const coordinates *c, const double *y_adj,
                         const double *diff, double *sum) {
    memset(sum, 0, sizeof *sum * (size_t)sim->model->mech.n_unit);
    for (int i = 0; i < 2 * sim->model->sizes.n_v; i++) {
        sum[c->group[c->unit[i]]] += y_adj[i] * diff[i];
    }
}

static bool pull_coordinates(cr_sim *sim, const cri_step_record *record, const neighbours *b,
                             const double *y_adj, double *out, double *u_adj) {
    int n_tangent = sim->model->sizes.n_tangent, most = 0;
    coordinates c = {0};
    double *sum = CR_PUSH(sim->scratch, double, sim->model->mech.n_unit);
    if (!sum || !push_coordinates(sim, record->data, &c)) {
        return false;
    }
    for (int k = 0; k < sim->model->mech.n_unit; k++) {
        most = c.count[k] > most ? c.count[k] : most;
    }
    for (int r = 0; r < most; r++) {
        for (int i = 0; i < c.n; i++) {
            *(i < n_tangent ? &b->y[i] : &b->u[i - n_tangent]) = c.rank[i] == r ? 1.0 : 0.0;
        }
        if (!difference(sim, record, b)) {
            return false;
        }
        weigh_groups(sim, &c, y_adj, b->diff, sum);
        for (int i = 0; i < c.n; i++) {
            if (c.rank[i] == r) {
                *(i < n_tangent ? &out[i] : &u_adj[i - n_tangent]) += sum[c.group[c.unit[i]]];
            }
        }
    }
    return true;
}

static bool pull_params(cr_sim *sim, const cri_step_record *record, const neighbours *b,
                        const double *y_adj) {
    memset(b->y, 0, sizeof *b->y * (size_t)sim->model->sizes.n_tangent);
    memset(b->u, 0, sizeof *b->u * (size_t)sim->model->sizes.n_u);
    bool is_good = true;
    for (int i = 0; is_good && i < sim->d.n_double; i++) {
        is_good = difference_in_d(sim, record, b, i);
        for (int k = 0; is_good && k < sim->model->sizes.n_tangent; k++) {
            sim->d_adj.block[i] += y_adj[k] * b->diff[k];
        }
    }
    return cri_scan_prepare(sim) && cri_soft_weigh(sim->model, &sim->d, &sim->soft, sim->scratch) &&
           is_good;
}

static cr_status soft_vjp(cr_sim *sim, const cri_step_record *record, double *y_adj, double *u_adj,
                          cr_error *err) {
    size_t bytes = sizeof *y_adj * (size_t)sim->model->sizes.n_tangent;
    cri_arena_mark mark = cri_arena_get_mark(sim->scratch);
    neighbours b;
    double *out = CR_PUSH(sim->scratch, double, sim->model->sizes.n_tangent);
    bool is_good = out && push_neighbours(sim, &b) &&
                   pull_coordinates(sim, record, &b, y_adj, out, u_adj) &&
                   (!sim->wants_p || pull_params(sim, record, &b, y_adj));
    if (is_good) {
        memcpy(y_adj, out, bytes);
    }
    cri_arena_rewind(sim->scratch, mark);
    return is_good ? CR_OK : cri_no_memory(err);
}

// d moved by s d_tan, from what is in kept (n_double)
static bool move_params(cr_sim *sim, const double *kept, double s) {
    for (int i = 0; i < sim->d.n_double; i++) {
        sim->d.block[i] = kept[i] + s * sim->d_tan.block[i];
    }
    return cri_scan_prepare(sim) && cri_soft_weigh(sim->model, &sim->d, &sim->soft, sim->scratch);
}

static cr_status soft_jvp(cr_sim *sim, const cri_step_record *record, double *y_tan,
                          const double *u_tan, cr_error *err) {
    const cr_sizes *z = &sim->model->sizes;
    cri_arena_mark mark = cri_arena_get_mark(sim->scratch);
    neighbours b;
    double *kept = CR_PUSH(sim->scratch, double, sim->d.n_double);
    bool is_good = kept && push_neighbours(sim, &b);
    double size = 0.0;
    for (int i = 0; i < z->n_tangent; i++) {
        size = fmax(size, fabs(y_tan[i]));
    }
    for (int i = 0; i < z->n_u; i++) {
        size = fmax(size, fabs(u_tan[i]));
    }
    for (int i = 0; i < sim->d.n_double; i++) {
        size = fmax(size, fabs(sim->d_tan.block[i]));
    }
    double delta = size > 0.0 ? DELTA / size : DELTA;
    if (is_good) {
        memcpy(b.y, y_tan, sizeof *b.y * (size_t)z->n_tangent);
        memcpy(b.u, u_tan, sizeof *b.u * (size_t)z->n_u);
        memcpy(kept, sim->d.block, sizeof *kept * (size_t)sim->d.n_double);
        is_good = move_params(sim, kept, -delta) && run_at(sim, record, &b, -delta, b.end) &&
                  move_params(sim, kept, delta) && run_at(sim, record, &b, delta, b.end + z->n_x);
        is_good = move_params(sim, kept, 0.0) && is_good;
    }
    if (is_good) {
        subtract_ends(sim, &b, 2.0 * delta);
        memcpy(y_tan, b.diff, sizeof *y_tan * (size_t)z->n_tangent);
    }
    cri_sim_move_all(sim);
    cri_arena_rewind(sim->scratch, mark);
    return is_good ? CR_OK : cri_no_memory(err);
}

const cri_stepper cri_stepper_soft = {
    .name = "soft",
    .summary = "springs and dampers, semi-implicit Euler; gradients by differences of the step",
    .step = soft_step,
    .vjp = soft_vjp,
    .jvp = soft_jvp,
    .contacts = soft_contacts,
};
