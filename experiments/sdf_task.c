// SPDX-License-Identifier: MIT
//
// loss = weight sum over steps and entries (x - target)^2, with the gradient of the rollout; the
// search makes the same sum least, for the last step or for every so many, by the least squares of
// carom fit. Its Jacobian is taken row by row from the last state back, until the sought numbers no
// longer matter: before the first impact they do not.

#include "sdf_task.h"
#include "sdf_space.h"

#include "base/base.h"
#include "geometry/mesh/mass.h"
#include "optimize/fit.h"
#include "optimize/least_squares.h"

#include <math.h>
#include <string.h>

static const double least_change = 1e-5; // of the loss: the paper's stop

cr_status cri_sdf_open(cri_sdf_task *t, const char *scene, const char *sought, const char *law,
                       const char *stepper, cr_error *err) {
    t->name = sought;
    CR_TRY(cr_model_parse(scene, strlen(scene), "scene of the experiment", &t->model, err));
    t->n = cr_model_sizes(t->model);
    t->options = cr_sim_options_default(t->model);
    t->options.law = law;
    t->options.stepper = stepper;
    t->options.eps_gap = t->eps_gap > 0.0 ? t->eps_gap : t->options.eps_gap;
    CR_TRY(cr_sim_create(t->model, &t->options, &t->sim, err));
    t->memory = cri_arena_create(1 << 16);
    bool is_good = t->memory != NULL;
    if (is_good) {
        size_t n = (size_t)(CRI_SDF_STEPS + 1) * (size_t)t->n.n_x;
        t->p = CR_PUSH(t->memory, double, t->n.n_p);
        t->x0 = CR_PUSH(t->memory, double, t->n.n_x);
        t->target = CR_PUSH(t->memory, double, n);
        t->path = CR_PUSH(t->memory, double, n);
        is_good = !cri_arena_has_failed(t->memory);
    }
    if (!is_good) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
    }
    cr_model_defaults(t->model, 0, t->p, t->x0, NULL);
    char name[128];
    t->n_sought = 0;
    for (const char *at = sought; at;) {
        const char *comma = strchr(at, ',');
        size_t n_byte = comma ? (size_t)(comma - at) : strlen(at);
        CR_ASSERT(n_byte < sizeof name && t->n_sought < CRI_SDF_MOST);
        memcpy(name, at, n_byte);
        name[n_byte] = '\0';
        int slot = cr_model_find(t->model, CR_VECTOR_P, name, err);
        if (slot < 0) {
            return CR_ERR_ARGUMENT;
        }
        t->slot[t->n_sought++] = slot;
        at = comma ? comma + 1 : NULL;
    }
    return CR_OK;
}

void cri_sdf_close(cri_sdf_task *t) {
    cr_sim_destroy(t->sim);
    cr_model_destroy(t->model);
    cri_arena_destroy(t->memory);
    *t = (cri_sdf_task){0};
}

static cr_rollout rollout_of(const cri_sdf_task *t) {
    return (cr_rollout){
        .n_step = t->n_step, .dt = &t->dt, .n_dt = 1, .u = t->u, .n_u_row = t->u ? t->n_step : 0};
}

static bool is_field_kept(const cri_sdf_task *t) {
    return t->density >= 0 && t->kind == CRI_SHAPE_FIELD;
}

cr_status cri_sdf_move(cri_sdf_task *t, double *path, cr_error *err) {
    CR_ASSERT(t->n_step <= CRI_SDF_STEPS);
    cr_rollout rollout = rollout_of(t);
    t->has_slope = false;
    CR_TRY(cr_sim_set_params(t->sim, t->p, err));
    if (is_field_kept(t)) {
        // the form stays, since its own parameters do
        t->p[t->density] = 1.0 / cri_sdf_form(t->sim, t->geom)->mass.volume;
        CR_TRY(cr_sim_set_params(t->sim, t->p, err));
    }
    return cr_sim_rollout(t->sim, &rollout, t->x0, path, NULL, err);
}

void cri_sdf_put(cri_sdf_task *t, const double *value) {
    for (int i = 0; i < t->n_sought; i++) {
        t->p[t->slot[i]] = value[i];
    }
    if (t->density >= 0 && t->kind != CRI_SHAPE_FIELD) {
        double size[3] = {0.0, 0.0, 0.0}, m[4];
        memcpy(size, value, sizeof *value * (size_t)t->n_sought);
        cri_shape_moments(t->kind, size, m, NULL);
        t->p[t->density] = 1.0 / m[0];
    }
}

// gradient (n_sought) at value for n seeds of the path, with the density that keeps the mass
static cr_status pull(cri_sdf_task *t, const double *value, int n, const cr_seed *seed,
                      double *gradient, cr_error *err) {
    double *p_adj = CR_PUSH(t->memory, double, t->n.n_p);
    if (!p_adj) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
    }
    CR_TRY(cr_sim_rollout_vjp(t->sim, n, seed, NULL, NULL, p_adj, err));
    // density = 1/volume
    double volume_adj = 0.0;
    if (t->density >= 0) {
        volume_adj = -p_adj[t->density] * t->p[t->density] * t->p[t->density];
    }
    double volume[CRI_SDF_MOST] = {0.0}; // its derivatives
    if (is_field_kept(t)) {
        const cri_mesh_mass one = {.volume = 1.0};
        if (volume_adj != 0.0 && !t->has_slope) {
            memset(t->slope, 0, sizeof t->slope);
            t->has_slope =
                cri_form_mass_vjp(cri_sdf_form(t->sim, t->geom), &one, t->memory, t->slope);
            CR_TRY(t->has_slope ? CR_OK : cri_fail(err, CR_ERR_MEMORY, 0, "out of memory"));
        }
        memcpy(volume, t->slope, sizeof volume);
    } else if (t->density >= 0) {
        double size[3] = {0.0, 0.0, 0.0}, m[4], m_size[4][3];
        memcpy(size, value, sizeof *value * (size_t)t->n_sought);
        cri_shape_moments(t->kind, size, m, m_size);
        memcpy(volume, m_size[0], sizeof *volume * (size_t)t->n_sought);
    }
    for (int i = 0; i < t->n_sought; i++) {
        gradient[i] = p_adj[t->slot[i]] + volume_adj * volume[i];
    }
    return CR_OK;
}

// the sum of squares of the loss at value, of the states that count
static cr_status loss_at(cri_sdf_task *t, const double *value, double *loss, cr_error *err) {
    cri_sdf_put(t, value);
    CR_TRY(cri_sdf_move(t, t->path, err));
    *loss = 0.0;
    for (int k = t->is_last_only ? t->n_step : 1; k <= t->n_step; k++) {
        for (int e = t->first_entry; e < t->first_entry + t->n_entry; e++) {
            size_t at = (size_t)k * (size_t)t->n.n_x + (size_t)e;
            double apart = t->path[at] - t->target[at];
            *loss += t->weight * apart * apart;
        }
    }
    return CR_OK;
}

// likewise with the gradient of its mean over N(value, width^2): over pairs at value +- d it is
// (loss(value + d) - loss(value - d)) d/(2 width^2); pairs that cannot be simulated are passed over
static cr_status smooth_loss(cri_sdf_task *t, const double *value, double *loss, double *gradient,
                             cr_error *err) {
    int n_good = 0;
    for (int k = 0; k < t->n_pair; k++) {
        double d[CRI_SDF_MOST] = {0.0}, side[2] = {0.0, 0.0};
        cr_status status = CR_OK;
        for (int i = 0; i < t->n_sought; i++) {
            d[i] = t->width * cri_random_normal(&t->random);
        }
        for (int b = 0; b < 2 && status == CR_OK; b++) {
            double at[CRI_SDF_MOST];
            for (int i = 0; i < t->n_sought; i++) {
                double to = value[i] + (b ? -d[i] : d[i]);
                at[i] = fmin(fmax(to, t->lower[i]), t->upper[i]);
            }
            status = loss_at(t, at, &side[b], err);
        }
        if (status != CR_OK && status != CR_ERR_NUMERIC) {
            return status;
        }
        double slope = status == CR_OK ? (side[0] - side[1]) / (2.0 * t->width * t->width) : 0.0;
        for (int i = 0; i < t->n_sought; i++) {
            gradient[i] += slope * d[i] / t->n_pair;
        }
        n_good += status == CR_OK;
    }
    // else err says why the last pair could not
    return n_good > 0 ? loss_at(t, value, loss, err) : CR_ERR_NUMERIC;
}

// loss at value, and its gradient
static cr_status loss_of(cri_sdf_task *t, const double *value, double *loss, double *gradient,
                         cr_error *err) {
    cri_sdf_put(t, value);
    CR_TRY(cri_sdf_move(t, t->path, err));
    cri_arena_mark mark = cri_arena_get_mark(t->memory);
    size_t n_x = (size_t)t->n.n_x;
    double *x_adj = CR_PUSH(t->memory, double, n_x *(size_t)(t->n_step + 1));
    cr_seed seed[CRI_SDF_STEPS + 1];
    if (!x_adj) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
    }
    *loss = 0.0;
    int first = t->is_last_only ? t->n_step : 1, n = 0;
    for (int k = first; k <= t->n_step; k++) {
        for (int e = t->first_entry; e < t->first_entry + t->n_entry; e++) {
            size_t at = (size_t)k * n_x + (size_t)e;
            double apart = t->path[at] - t->target[at];
            *loss += t->weight * apart * apart;
            x_adj[at] = 2.0 * t->weight * apart;
        }
        seed[n++] = (cr_seed){k, x_adj + (size_t)k * n_x};
    }
    cr_status status = pull(t, value, n, seed, gradient, err);
    cri_arena_rewind(t->memory, mark);
    return status;
}

// the number of the curve of a descent
static int begin_curve(const cri_sdf_task *t) {
    const cri_report_chart_def def = {
        .title = t->title, .x = "iteration", .y = "loss", .is_log = true};
    int chart = cri_report_chart(t->report, &def);
    return cri_report_series(t->report, chart, 1, &(cri_report_line){"descent", CRI_LINE_SOLID});
}

cr_status cri_sdf_descend(cri_sdf_task *t, double *value, int *n_done, cr_error *err) {
    int curve = t->report ? begin_curve(t) : -1;
    double m[CRI_SDF_MOST] = {0}, v[CRI_SDF_MOST] = {0}, moved[CRI_SDF_MOST], last = INFINITY;
    size_t bytes = sizeof *value * (size_t)t->n_sought;
    int k = 0;
    for (; k < t->n_iteration; k++) {
        double loss = 0.0, gradient[CRI_SDF_MOST] = {0.0};
        cr_status status = t->n_pair > 0 ? smooth_loss(t, value, &loss, gradient, err)
                                         : loss_of(t, value, &loss, gradient, err);
        if (status == CR_ERR_NUMERIC && k > 0) {
            memcpy(value, moved, bytes); // what was found so far counts
            break;
        }
        CR_TRY(status);
        memcpy(moved, value, bytes);
        for (int i = 0; i < t->n_sought; i++) {
            loss += t->code_weight * value[i] * value[i];
            gradient[i] += 2.0 * t->code_weight * value[i];
        }
        if (t->report) {
            cri_report_point(t->report, curve, k, &loss);
        }
        if (fabs(loss - last) < (t->stop != 0.0 ? t->stop : least_change)) {
            break;
        }
        last = loss;
        cri_progress_state at = {"iteration", k + 1, t->n_iteration, loss};
        t->is_interrupted = !cri_progress_tell(t->progress, &at);
        if (t->is_interrupted) {
            break;
        }
        for (int i = 0; i < t->n_sought; i++) {
            double step = gradient[i];
            if (t->rule == CRI_SDF_ADAM) {
                // the usual decays of Adam
                m[i] = 0.9 * m[i] + 0.1 * step;
                v[i] = 0.999 * v[i] + 0.001 * step * step;
                double first = m[i] / (1.0 - pow(0.9, k + 1));
                step = first / (sqrt(v[i] / (1.0 - pow(0.999, k + 1))) + 1e-8);
            }
            value[i] = fmin(fmax(value[i] - t->rate * step, t->lower[i]), t->upper[i]);
        }
    }
    if (n_done) {
        *n_done = k;
    }
    return CR_OK;
}

// states that count in the search, each (n_entry)
static int n_counted(const cri_sdf_task *t) {
    return t->stride > 0 ? (t->n_step + t->stride - 1) / t->stride : 1;
}

// the row of J (n_sought, m) for an entry of a state; false in *is_any: nothing matters to it
static cr_status row_of(cri_sdf_task *t, const double *z, int step, int entry, int row, double *J,
                        bool *is_any, cr_error *err) {
    cri_arena_mark mark = cri_arena_get_mark(t->memory);
    double *x_adj = CR_PUSH(t->memory, double, t->n.n_x), slope[CRI_SDF_MOST];
    if (!x_adj) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
    }
    x_adj[entry] = 1.0;
    cr_status status = pull(t, z, 1, &(cr_seed){step, x_adj}, slope, err);
    cri_arena_rewind(t->memory, mark);
    CR_TRY(status);
    for (int i = 0; i < t->n_sought; i++) {
        J[i * n_counted(t) * t->n_entry + row] = slope[i];
        *is_any = *is_any || slope[i] != 0.0;
    }
    return CR_OK;
}

// what is left of the states that count, the last one first, and its derivatives by adjoints
static cr_status residuals(void *context, const double *z, double *r, double *J, double *loss,
                           cr_error *err) {
    cri_sdf_task *t = context;
    int m = n_counted(t) * t->n_entry;
    bool is_any = true;
    cri_sdf_put(t, z);
    CR_TRY(cri_sdf_move(t, t->path, err));
    *loss = 0.0;
    for (int i = 0; J && i < t->n_sought * m; i++) {
        J[i] = 0.0;
    }
    for (int k = 0; k < n_counted(t); k++) {
        int step = t->n_step - k * t->stride;
        bool was_any = is_any;
        is_any = false;
        for (int e = 0; e < t->n_entry; e++) {
            int row = k * t->n_entry + e, entry = t->first_entry + e;
            size_t at = (size_t)step * (size_t)t->n.n_x + (size_t)entry;
            r[row] = t->path[at] - t->target[at];
            *loss += r[row] * r[row];
            if (J && was_any) {
                CR_TRY(row_of(t, z, step, entry, row, J, &is_any, err));
            }
        }
    }
    return CR_OK;
}

cr_status cri_sdf_squares(cri_sdf_task *t, const double *value, double *loss, cr_error *err) {
    cri_arena_mark mark = cri_arena_get_mark(t->memory);
    double *r = CR_PUSH(t->memory, double, n_counted(t) * t->n_entry);
    cr_status status = r ? residuals(t, value, r, NULL, loss, err)
                         : cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
    cri_arena_rewind(t->memory, mark);
    return status;
}

cr_status cri_sdf_search(cri_sdf_task *t, double *value, double *loss, cr_error *err) {
    int m = n_counted(t) * t->n_entry;
    cri_arrow_block block = {.n = 0, .m = m};
    cri_arrow arrow = {.n_shared = t->n_sought, .n_block = 1, .block = &block};
    cri_domain domain[CRI_SDF_MOST];
    cri_lsq_result result = {.loss = INFINITY};
    for (int i = 0; i < t->n_sought; i++) {
        domain[i] = (cri_domain){.lower = t->lower[i], .upper = t->upper[i]};
    }
    cri_arrow_place(&arrow);
    const cri_lsq problem = {.arrow = &arrow,
                             .residuals = residuals,
                             .context = t,
                             .domain = domain,
                             .iteration_limit = t->n_search > 0 ? t->n_search : 100,
                             .flat = t->flat > 0.0 ? t->flat : 1e-12,
                             .progress = t->progress};
    cri_arena_mark mark = cri_arena_get_mark(t->memory);
    double *r = CR_PUSH(t->memory, double, m), *J = CR_PUSH(t->memory, double, m * t->n_sought);
    cr_status status = r && J ? cri_lsq_minimise(&problem, value, r, J, &result, err)
                              : cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
    cri_arena_rewind(t->memory, mark);
    if (loss) {
        *loss = result.loss;
    }
    t->is_interrupted = t->is_interrupted || (status == CR_OK && result.stop == CRI_LSQ_STOPPED);
    return status;
}

// the target as a recording
static bool record(cri_sdf_task *t, cri_recording *out) {
    int n = t->n_step + 1;
    *out = (cri_recording){.n_sample = n, .n_column = t->n_entry, .file = "the target"};
    out->time = CR_PUSH(t->memory, double, n);
    out->value = CR_PUSH(t->memory, double, n * t->n_entry);
    out->x_index = CR_PUSH(t->memory, int, t->n_entry);
    if (!out->time || !out->value || !out->x_index) {
        return false;
    }
    for (int k = 0; k < n; k++) {
        out->time[k] = k * t->dt;
        for (int e = 0; e < t->n_entry; e++) {
            out->x_index[e] = t->first_entry + e;
            out->value[k * t->n_entry + e] = t->target[k * t->n.n_x + t->first_entry + e];
        }
    }
    return true;
}

cr_status cri_sdf_fit(cri_sdf_task *t, double *value, cr_error *err) {
    cri_selection *selection = NULL;
    cri_recording recording;
    CR_TRY(cri_selection_create(t->model, t->name, &selection, err));
    cri_arena_mark mark = cri_arena_get_mark(t->memory);
    cr_status status = CR_ERR_MEMORY;
    cri_sdf_put(t, value);
    if (record(t, &recording)) {
        cri_fit_problem problem = {.model = t->model,
                                   .sim_options = t->options,
                                   .selection = selection,
                                   .n_recording = 1,
                                   .recording = &recording,
                                   .dt = t->dt,
                                   .p = t->p,
                                   .x0 = t->x0,
                                   .u = t->u,
                                   .n_thread = 1};
        cri_fit fit;
        status = cri_fit_run(&problem, t->memory, &fit, err);
        for (int i = 0; i < t->n_sought && status == CR_OK; i++) {
            value[i] = fit.entry[i].value;
        }
    }
    cri_arena_rewind(t->memory, mark);
    cri_selection_destroy(selection);
    return status;
}
