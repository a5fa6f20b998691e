// SPDX-License-Identifier: MIT
//
// Recordings of known motions, with noise, and windows in them; how well a model follows them.
//
//   RMSE = sqrt( sum over times and columns (q, v, touch) of the squared error / number of times )
//
// as the paper's program has it: it is not divided by the number of columns.

#include "cdl_case.h"

#include "base/base.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool cri_cdl_truth(const cdl_case *c, const double *x0, int n_row, cdl_path *out, cr_arena *arena) {
    size_t n_x = 2 * (size_t)c->n_q;
    size_t n_touch = (size_t)c->n_contact;
    out->n_row = n_row;
    out->x = CR_PUSH(arena, double, (size_t)n_row *n_x);
    out->touch = CR_PUSH(arena, double, (size_t)n_row *n_touch + 1);
    if (!out->x || !out->touch) {
        return false;
    }
    memcpy(out->x, x0, n_x * sizeof *x0);
    for (size_t k = 1; k < (size_t)n_row; k++) {
        c->step(c, out->x + n_x * (k - 1), out->x + n_x * k, out->touch + n_touch * k);
    }
    return true;
}

bool cri_cdl_record(const cdl_case *c, int n_start, const double *start, uint64_t seed, int horizon,
                    cri_touch_data *out, cr_arena *arena) {
    size_t n_x = 2 * (size_t)c->n_q;
    size_t n_all = (size_t)n_start * (size_t)c->n_row;
    double *x = CR_PUSH(arena, double, n_all *n_x);
    double *touch = CR_PUSH(arena, double, n_all *(size_t)c->n_contact + 1);
    int *window = CR_PUSH(arena, int, n_all);
    if (!x || !touch || !window) {
        return false;
    }
    cri_random stream = cri_random_of(seed, 7);
    int n_window = 0;
    for (int k = 0; k < n_start; k++) {
        cdl_path path;
        size_t first = (size_t)k * (size_t)c->n_row;
        if (!cri_cdl_truth(c, start + n_x * (size_t)k, c->n_row, &path, arena)) {
            return false;
        }
        for (size_t i = 0; i < (size_t)c->n_row * n_x; i++) {
            x[first * n_x + i] = path.x[i] + c->noise * cri_random_normal(&stream);
        }
        memcpy(touch + first * (size_t)c->n_contact, path.touch,
               (size_t)c->n_row * (size_t)c->n_contact * sizeof *touch);
        // the paper leaves the last window out
        for (int row = 0; row + horizon + 1 < c->n_row; row++) {
            window[n_window++] = (int)first + row;
        }
    }
    *out = (cri_touch_data){c->n_q, c->n_contact, (int)n_all, c->dt, x,
                            touch,  horizon,      n_window,   window};
    return true;
}

bool cri_cdl_learner(const cdl_case *c, const cdl_variant *variant, cri_learner *out) {
    static const double mass[CDL_Q_MOST] = {1.0, 1.0, 1.0, 1.0};
    return cri_learner_create(
        &(cri_learner_def){
            .kind = variant->kind,
            .points = c->points,
            .mass = mass,
            .n_contact = c->n_contact,
            .touch = c->touch,
            .projection = variant->has_no_projection ? CRI_PROJECT_NONE : c->projection,
            .learns_restitution = c->learns_restitution,
            .learns_damping = c->learns_damping,
            .n_hidden = 500, // as the paper's
            .n_signal = 100,
            .act = CRI_ACT_SOFTPLUS,
            .dt = c->dt,
            .x0 = c->train,
        },
        out);
}

// ---- statistics --------------------------------------------------------------------------------

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

cdl_spread cri_cdl_spread(int n, double *value) {
    cdl_spread s = {NAN, NAN, NAN, NAN};
    if (n == 0) {
        return s;
    }
    qsort(value, (size_t)n, sizeof *value, ascending);
    s.median = 0.5 * (value[(n - 1) / 2] + value[n / 2]);
    s.mean = 0.0;
    s.most = value[n - 1];
    for (int k = 0; k < n; k++) {
        s.mean += value[k] / n;
    }
    double square = 0.0;
    for (int k = 0; k < n; k++) {
        square += (value[k] - s.mean) * (value[k] - s.mean);
    }
    s.error = n > 1 ? sqrt(square / (n - 1) / n) : NAN;
    return s;
}

// ---- one path ----------------------------------------------------------------------------------

static double rmse(const cdl_case *c, const cdl_path *truth, const cdl_path *found) {
    double sum = 0.0;
    for (int k = 0; k < truth->n_row * 2 * c->n_q; k++) {
        sum += (found->x[k] - truth->x[k]) * (found->x[k] - truth->x[k]);
    }
    for (int k = 0; k < truth->n_row * c->n_contact; k++) {
        sum += (found->touch[k] - truth->touch[k]) * (found->touch[k] - truth->touch[k]);
    }
    return sqrt(sum / truth->n_row);
}

double cri_cdl_energy(const cdl_case *c, const double *x) {
    double g[CDL_Q_MOST];
    double energy = c->potential(c, x, g);
    for (int k = 0; k < c->n_q; k++) {
        energy += 0.5 * x[c->n_q + k] * x[c->n_q + k];
    }
    return energy;
}

static double energy_error(const cdl_case *c, const cdl_path *found) {
    double first = 0.0;
    double worst = 0.0;
    for (int row = 0; row < found->n_row; row++) {
        double energy = cri_cdl_energy(c, found->x + (size_t)(row * 2 * c->n_q));
        first = row == 0 ? energy : first;
        worst = fmax(worst, fabs(energy - first) / fmax(fabs(first), 1e-12));
    }
    return worst;
}

/// Errors of the times of touches, of all tests.
typedef struct bounces {
    int n, n_true, n_wrong;
    double error[CDL_TEST_MOST * 64]; // steps
} bounces;

// the k-th touch of the model against the k-th of the truth, contact by contact
static void compare_touches(const cdl_case *c, const cdl_path *truth, const cdl_path *found,
                            bounces *out) {
    for (int contact = 0; contact < c->n_contact; contact++) {
        int at[2][64];
        int n[2] = {0, 0};
        for (int side = 0; side < 2; side++) {
            const double *touch = (side == 0 ? truth : found)->touch;
            for (int row = 1; row < truth->n_row && n[side] < 64; row++) {
                if (touch[row * c->n_contact + contact] > 0.5) {
                    at[side][n[side]++] = row;
                }
            }
        }
        out->n_true += n[0];
        out->n_wrong += abs(n[0] - n[1]);
        for (int k = 0; k < n[0] && out->n < CDL_TEST_MOST * 64; k++) {
            // one that never comes is late by the whole run
            out->error[out->n++] = k < n[1] ? abs(at[0][k] - at[1][k]) : truth->n_row;
        }
    }
}

// ---- score -------------------------------------------------------------------------------------

/// Sums of forces along paths.
typedef struct forces {
    double found, truth, square, size;
} forces;

static void compare_forces(const cdl_case *c, const cri_learner *learner, const double *p,
                           const cdl_path *truth, forces *out, cr_arena *arena) {
    for (int row = 0; row < truth->n_row; row++) {
        double g[CDL_Q_MOST], found[CDL_Q_MOST];
        const double *q = truth->x + (size_t)(row * 2 * c->n_q);
        c->potential(c, q, g);
        if (!cri_learner_force(learner, p, 1, q, found, arena)) {
            out->size = NAN;
            return;
        }
        for (int k = 0; k < c->n_q; k++) {
            out->found += found[k] * g[k];
            out->truth += g[k] * g[k];
            out->square += (found[k] - g[k]) * (found[k] - g[k]);
            out->size += g[k] * g[k];
        }
    }
}

// largest touch probability along a path of the truth, where nothing touches
static double largest_touch(const cdl_case *c, const cri_learner *learner, const double *p,
                            const cdl_path *truth, cr_arena *arena) {
    if (learner->kind == CRI_LEARN_RESNET || learner->kind == CRI_LEARN_VIN || c->n_contact == 0) {
        return NAN;
    }
    double worst = 0.0;
    for (int row = 0; row + 1 < truth->n_row; row++) {
        double probability[CDL_TOUCH_MOST];
        if (!cri_learner_touch(learner, p, 1, truth->x + (size_t)(row * 2 * c->n_q), probability,
                               arena)) {
            return NAN;
        }
        for (int k = 0; k < c->n_contact; k++) {
            bool is_free = truth->touch[(row + 1) * c->n_contact + k] < 0.5;
            worst = is_free ? fmax(worst, probability[k]) : worst;
        }
    }
    return worst;
}

bool cri_cdl_follow(const cdl_case *c, const cri_learner *learner, const double *p,
                    const double *x0, cdl_path paths[2], int n_row, cr_arena *arena) {
    paths[1].n_row = n_row;
    paths[1].x = CR_PUSH(arena, double, n_row * 2 * c->n_q);
    paths[1].touch = CR_PUSH(arena, double, n_row * c->n_contact + 1);
    return paths[1].x && paths[1].touch && cri_cdl_truth(c, x0, n_row, &paths[0], arena) &&
           cri_learner_predict(learner, p, x0, n_row - 1, paths[1].x, paths[1].touch, arena);
}

static bool score_tests(const cdl_case *c, const cri_learner *learner, const double *p,
                        cdl_score *out, cr_arena *arena) {
    double error[CDL_TEST_MOST];
    bounces touches = {0};
    forces force = {0};
    for (int k = 0; k < c->n_test; k++) {
        cdl_path paths[2];
        if (!cri_cdl_follow(c, learner, p, c->test + (size_t)(k * 2 * c->n_q), paths, c->n_test_row,
                            arena)) {
            return false;
        }
        error[k] = rmse(c, &paths[0], &paths[1]);
        compare_touches(c, &paths[0], &paths[1], &touches);
        compare_forces(c, learner, p, &paths[0], &force, arena);
    }
    out->test_rmse = cri_cdl_spread(c->n_test, error).median;
    out->bounce = cri_cdl_spread(touches.n, touches.error).median;
    out->missed = touches.n_true > 0 ? (double)touches.n_wrong / touches.n_true : NAN;
    out->force = force.size > 0.0 ? fabs(force.found / force.truth - 1.0) : NAN;
    out->ripple = sqrt(force.square / force.size);
    return true;
}

bool cri_cdl_score(const cdl_case *c, const cri_learner *learner, const double *p, cdl_score *out,
                   cr_arena *arena) {
    cri_arena_mark mark = cri_arena_get_mark(arena);
    cdl_path paths[2];
    if (!cri_cdl_follow(c, learner, p, c->train, paths, c->n_row, arena)) {
        return false;
    }
    *out = (cdl_score){.seconds = NAN, .restitution = NAN, .damping = NAN, .held_out = NAN};
    out->rmse = rmse(c, &paths[0], &paths[1]);
    bool is_conservative = c->restitution == 1.0 && c->damping == 0.0;
    out->energy = is_conservative ? energy_error(c, &paths[1]) : NAN;
    out->contact = largest_touch(c, learner, p, &paths[0], arena);
    if (learner->central && c->learns_restitution) {
        double sum = 0.0;
        for (int k = 0; k < c->n_contact; k++) {
            sum += p[learner->central->at_restitution + k];
        }
        out->restitution = sum / c->n_contact;
    }
    if (learner->central && c->learns_damping) {
        out->damping = p[learner->central->at_damping];
    }
    bool is_done = score_tests(c, learner, p, out, arena);
    cri_arena_rewind(arena, mark);
    return is_done;
}
