// SPDX-License-Identifier: MIT
//
// Receding horizon. Between two windows the controls carried out and those planned say everything:
// going on from a checkpoint carries out the former again.

#include "optimize/receding.h"

#include "base/io/checkpoint.h"
#include "optimize/controls.h"

#include <math.h>
#include <string.h>

// part of its radius by which a target out of focus may be farther than where a window begins:
// without it the faintest push from afar would count; and of the way by which one in focus must
// come nearer
#define FOCUS_SLACK 0.1

// windows in a row that bring a target in focus no nearer, until another one has its turn: going
// round to its back takes two or three
enum { PATIENCE = 4, RESTS = -1 };

typedef struct run {
    const cri_receding_def *def;
    const cri_plan_options *options;
    cr_sizes sizes;
    cr_sim *plant;
    double *x;        // (n_x) of the plant
    double *u;        // (n_step, n_u) carried out up to done, planned behind
    int64_t count[4]; // steps done, windows, iterations, idle windows
    int64_t
        *focus; // (n_target) 0: does not count, RESTS: nor shall it now, else windows in vain + 1
    double *nearest; // (n_target) m, in focus
    bool is_cut;     // progress asked to stop: the window's plan so far is in u and does not count
    cr_arena *scratch;
    cri_receding *out;
} run;

static double *row_of(const run *r, int step) {
    return r->u + (size_t)step * (size_t)r->sizes.n_u;
}

static long step_of(const run *r, const cri_target *t) {
    return lround(t->time / r->def->dt);
}

/// Notes the distance of every target at this step.
static void judge(const run *r, int step) {
    for (int i = 0; i < r->def->n_target; i++) {
        const cri_target *t = &r->def->target[i];
        if (step_of(r, t) == step) {
            r->out->distance[t->order] = cri_target_distance(t, r->x);
        }
    }
}

/// Carries out the steps from first to before last.
static cr_status carry_out(run *r, int first, int last, cr_error *err) {
    for (int k = first; k < last; k++) {
        CR_TRY(cr_sim_step(r->plant, r->def->dt, r->x, row_of(r, k), r->x, err));
        judge(r, k + 1);
    }
    return CR_OK;
}

/// True when the same body has another target between step first and t.
static bool is_preceded(const run *r, const cri_target *t, int first) {
    for (int i = 0; i < r->def->n_target; i++) {
        const cri_target *other = &r->def->target[i];
        if (other->body == t->body && step_of(r, other) > first &&
            step_of(r, other) < step_of(r, t)) {
            return true;
        }
    }
    return false;
}

/// Within this distance a target is reached; its own radius, which a search goes for, may be less.
static double reach_of(const run *r, const cri_target *t) {
    return fmax(r->options->tolerance, t->radius);
}

static bool is_in_place(const run *r, const cri_target *t) {
    return cri_target_distance(t, r->x) <= reach_of(r, t);
}

/// Whether a target that was in focus stays there. One in place, but farther than its own radius,
/// does for as long as it comes nearer by a part of what is between: at the rim it would not stay.
static int64_t keep_focus(run *r, int i) {
    const cri_target *t = &r->def->target[i];
    double d = cri_target_distance(t, r->x);
    double way = is_in_place(r, t) ? reach_of(r, t) - t->radius : t->radius;
    bool is_nearer = d < r->nearest[i] - FOCUS_SLACK * way;
    if (is_in_place(r, t) && (t->radius == 0.0 || d <= t->radius || !is_nearer)) {
        return 0;
    }
    if (is_nearer) {
        r->nearest[i] = d;
        return 1;
    }
    return r->focus[i] < PATIENCE ? r->focus[i] + 1 : RESTS;
}

/// The farthest that is out of place and has its turn, -1: none.
static int find_farthest(const run *r) {
    double most = 0.0;
    int far = -1;
    for (int i = 0; i < r->def->n_target; i++) {
        double d = cri_target_distance(&r->def->target[i], r->x);
        if (r->focus[i] == 0 && d > most && !is_in_place(r, &r->def->target[i])) {
            most = d;
            far = i;
        }
    }
    return far;
}

/// Those that were in focus and come nearer stay there until they are within their radius, then
/// come the farthest; where none is left, those that rest.
static void choose_focus(run *r) {
    int n = 0;
    for (int i = 0; i < r->def->n_target; i++) {
        r->focus[i] = r->focus[i] > 0 ? keep_focus(r, i) : r->focus[i];
        n += r->focus[i] > 0;
    }
    for (; n < r->def->n_focus; n++) {
        int far = find_farthest(r);
        for (int i = 0; i < r->def->n_target && far < 0; i++) {
            r->focus[i] = r->focus[i] == RESTS ? 0 : r->focus[i];
        }
        far = far < 0 ? find_farthest(r) : far;
        if (far < 0) {
            return;
        }
        r->focus[far] = 1;
        r->nearest[far] = cri_target_distance(&r->def->target[far], r->x);
    }
}

/// The targets as a window of n steps from step first sees them; returns how many.
static int window_targets(const run *r, int first, int n, cri_target *target) {
    int n_target = 0;
    for (int i = 0; i < r->def->n_target; i++) {
        cri_target t = r->def->target[i];
        long step = step_of(r, &t) - first;
        if (r->def->n_focus > 0 && r->focus[i] <= 0) {
            // may lie where it is reached, else not be moved away by more than this
            double away = cri_target_distance(&t, r->x) + FOCUS_SLACK * t.radius;
            t.radius = is_in_place(r, &t) ? reach_of(r, &t) : away;
        }
        if (step > 0 && (step <= n || !is_preceded(r, &t, first))) {
            t.has_time = true;
            t.time = (double)(step < n ? step : n) * r->def->dt;
            t.order = n_target;
            target[n_target++] = t;
        }
    }
    return n_target;
}

/// Within this a window has reached its targets in focus; the others have radii of their own.
static double window_tolerance(const run *r) {
    double least = r->options->tolerance;
    for (int i = 0; i < r->def->n_target; i++) {
        double radius = r->def->target[i].radius;
        bool counts = r->def->n_focus > 0 && r->focus[i] > 0 && radius > 0.0;
        least = counts ? fmin(least, radius) : least;
    }
    return least;
}

/// Tells where the run stands. Within a window too, so that one that takes long can be interrupted.
static bool tell(run *r) {
    double last = r->count[1] > 0 ? r->out->history[r->count[1] - 1] : NAN;
    cri_progress_state state = {"step", r->count[0], r->def->n_step, last};
    r->is_cut = r->is_cut || !cri_progress_tell(r->options->progress, &state);
    return !r->is_cut;
}

static bool hear(void *context, const cri_progress_state *of_window) {
    (void)of_window;
    return tell(context);
}

/// Plans the window; the rows of u behind first become its plan.
static cr_status plan_window(run *r, int first, int n, cri_selection *selection, cri_target *target,
                             int n_target, cr_error *err) {
    const cri_receding_def *def = r->def;
    cri_point point = {.n_u_row = n, .u = row_of(r, first)};
    point.p = CR_PUSH(r->scratch, double, r->sizes.n_p);
    point.x0 = r->x;
    cri_domain *domain = CR_PUSH(r->scratch, cri_domain, selection->n_variable);
    double *z = CR_PUSH(r->scratch, double, selection->n_variable);
    if (!point.p || !domain || !z) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a window of %d steps", n);
    }
    memcpy(point.p, def->p, (size_t)r->sizes.n_p * sizeof *point.p);
    cri_controls_domain(selection, def->model, domain);
    for (int i = 0; i < def->n_bound; i++) {
        CR_TRY(cri_controls_bound(selection, def->bound[i], domain, err));
    }
    cri_selection_read(selection, &point, z);
    cri_shot_def shot = {.model = def->model,
                         .sim_options = def->sim_options,
                         .selection = selection,
                         .domain = domain,
                         .start = &point,
                         .has_control = true,
                         .n_target = n_target,
                         .target = target,
                         .aim = {.n_step = n, .dt = def->dt},
                         .cost = def->cost};
    cri_plan_options options = *r->options;
    options.tolerance = window_tolerance(r);
    options.checkpoint = NULL;
    cri_progress progress = {hear, r};
    options.progress = &progress;
    cri_plan plan = {0};
    CR_TRY(cri_plan_solve(&shot, &options, z, r->scratch, &plan, err));
    cri_selection_write(selection, plan.z, &point);
    if (r->is_cut) {
        return CR_OK;
    }
    r->out->history[r->count[1]] = plan.loss + plan.cost;
    r->count[1]++;
    r->count[2] += plan.n_iteration;
    r->count[3] += plan.stop == CRI_PLAN_NO_EFFECT;
    return CR_OK;
}

/// Plans the window from what is left of the last plan; where that has no gradient, as when a
/// contact of its motion is not solved, from holding the last control. A window without either is
/// idle.
static cr_status plan_or_hold(run *r, int first, int n, cri_target *target, int n_target,
                              cr_error *err) {
    int n_knot = r->def->n_knot < n ? r->def->n_knot : n;
    cri_selection *selection = NULL;
    CR_TRY(cri_controls_create(r->def->model, r->def->controls, n, n_knot, &selection, err));
    cr_status status = plan_window(r, first, n, selection, target, n_target, err);
    if (status == CR_ERR_NUMERIC && first > 0 && !r->is_cut) {
        for (int k = first; k < first + n; k++) {
            memcpy(row_of(r, k), row_of(r, first - 1), (size_t)r->sizes.n_u * sizeof *r->u);
        }
        status = plan_window(r, first, n, selection, target, n_target, err);
    }
    cri_selection_destroy(selection);
    if (r->is_cut && status == CR_ERR_NUMERIC) {
        return CR_OK;
    }
    if (status == CR_ERR_NUMERIC && first > 0) {
        r->out->history[r->count[1]++] = NAN;
        r->count[3]++;
        return CR_OK;
    }
    return status;
}

/// Plans and carries out one window.
static cr_status advance(run *r, cr_error *err) {
    const cri_receding_def *def = r->def;
    int first = (int)r->count[0];
    int left = def->n_step - first;
    int n = left < def->horizon ? left : def->horizon;
    int n_out = n < def->execute ? n : def->execute;
    cri_arena_reset(r->scratch);
    cri_target *target = CR_PUSH(r->scratch, cri_target, def->n_target);
    if (!target) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for %d targets", def->n_target);
    }
    choose_focus(r);
    int n_target = window_targets(r, first, n, target);
    if (n_target > 0) {
        CR_TRY(plan_or_hold(r, first, n, target, n_target, err));
    }
    if (r->is_cut) {
        return CR_OK;
    }
    CR_TRY(carry_out(r, first, first + n_out, err));
    // the window after this one sees further by as many steps: they begin as the last one planned
    for (int k = first + n; n_target > 0 && k < def->n_step && k < first + n + n_out; k++) {
        memcpy(row_of(r, k), row_of(r, first + n - 1), (size_t)r->sizes.n_u * sizeof *r->u);
    }
    r->count[0] += n_out;
    return CR_OK;
}

// ---- checkpoint --------------------------------------------------------------------------------

static cr_status use_checkpoint(run *r, bool is_save, cr_error *err) {
    const cri_plan_options *o = r->options;
    int64_t n_u = (int64_t)r->def->n_step * r->sizes.n_u;
    cri_checkpoint_array array[] = {
        {"count", NULL, r->count, 4, 4},
        {"controls", r->u, NULL, n_u, n_u},
        {"history", r->out->history, NULL, r->count[1], r->def->n_step},
        {"focus", NULL, r->focus, r->def->n_target, r->def->n_target},
        {"nearest", r->nearest, NULL, r->def->n_target, r->def->n_target},
    };
    return is_save ? cri_checkpoint_write(o->checkpoint, o->problem, 5, array, err)
                   : cri_checkpoint_read(o->checkpoint, o->problem, 5, array, err);
}

// ---- run ---------------------------------------------------------------------------------------

static cr_status windows(run *r, cr_error *err) {
    const cri_plan_options *o = r->options;
    r->out->stop = CRI_PLAN_MISSED;
    while (r->count[0] < r->def->n_step) {
        bool goes_on = tell(r);
        if (o->checkpoint && use_checkpoint(r, true, err) != CR_OK) {
            r->out->stop = CRI_PLAN_UNSAVED;
            return CR_OK;
        }
        if (goes_on) {
            CR_TRY(advance(r, err));
        }
        if (r->is_cut) {
            r->out->stop = CRI_PLAN_INTERRUPTED;
            return CR_OK;
        }
    }
    if (o->checkpoint && use_checkpoint(r, true, err) != CR_OK) {
        r->out->stop = CRI_PLAN_UNSAVED;
    }
    return CR_OK;
}

static void conclude(run *r) {
    cri_receding *out = r->out;
    out->n_done = (int)r->count[0];
    out->n_window = (int)r->count[1];
    out->n_iteration = (int)r->count[2];
    out->n_idle = (int)r->count[3];
    bool is_reached = true;
    for (int i = 0; i < r->def->n_target; i++) {
        const cri_target *t = &r->def->target[i];
        is_reached = is_reached && out->distance[t->order] <= reach_of(r, t);
    }
    bool is_end = out->stop == CRI_PLAN_MISSED;
    if (is_end && is_reached) {
        out->stop = CRI_PLAN_REACHED;
    } else if (is_end) {
        bool is_idle = out->n_window > 0 && out->n_idle == out->n_window;
        out->stop = is_idle ? CRI_PLAN_NO_EFFECT : CRI_PLAN_MISSED;
    }
}

static cr_status begin(run *r, cr_error *err) {
    const cri_receding_def *def = r->def;
    cr_sim_options options = *def->sim_options;
    options.use_gradient = false;
    r->scratch = cri_arena_create(1 << 16);
    if (!r->scratch) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a run of %d steps", def->n_step);
    }
    CR_TRY(cr_sim_create(def->model, &options, &r->plant, err));
    CR_TRY(cr_sim_set_params(r->plant, def->p, err));
    memcpy(r->x, def->x, (size_t)r->sizes.n_x * sizeof *r->x);
    for (int i = 0; i < def->n_target; i++) {
        r->out->distance[i] = NAN;
    }
    judge(r, 0);
    if (r->options->checkpoint && cri_checkpoint_exists(r->options->checkpoint)) {
        CR_TRY(use_checkpoint(r, false, err));
    }
    return carry_out(r, 0, (int)r->count[0], err);
}

cr_status cri_receding_run(const cri_receding_def *def, const cri_plan_options *options, double *u,
                           cr_arena *arena, cri_receding *out, cr_error *err) {
    CR_ASSERT(def->horizon > 0 && def->execute > 0 && def->execute <= def->horizon);
    *out = (cri_receding){0};
    run r = {
        .def = def, .options = options, .sizes = cr_model_sizes(def->model), .u = u, .out = out};
    r.x = CR_PUSH(arena, double, r.sizes.n_x);
    out->history = CR_PUSH(arena, double, def->n_step);
    out->distance = CR_PUSH(arena, double, def->n_target);
    r.focus = CR_PUSH(arena, int64_t, def->n_target);
    r.nearest = CR_PUSH(arena, double, def->n_target);
    if (!r.x || !out->history || !out->distance || !r.focus || !r.nearest) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a run of %d steps", def->n_step);
    }
    cr_status status = begin(&r, err);
    if (status == CR_OK) {
        status = windows(&r, err);
    }
    conclude(&r);
    cr_sim_destroy(r.plant);
    cri_arena_destroy(r.scratch);
    return status;
}
