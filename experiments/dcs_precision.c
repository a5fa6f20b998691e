// SPDX-License-Identifier: MIT
//
// Which coefficients the windows for training show, and how well: standard errors
//
//   s/sqrt(sum over windows and states of |dx/dtheta|^2)
//
// with s the mean error of a number in validation, other coefficients kept, and the tangents of the
// true system along its own motion. Friction of contacts that all stick moves nothing, nor does a
// restitution that the target velocity hides: both are infinite, and no model could learn them.

#include "dcs_case.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

enum { N_STEP = CRI_WINDOW_STATES - 1 };

/// Windows of one class and their tangents.
typedef struct view {
    const dcs_trained *t;
    int B;
    double *x[CRI_WINDOW_STATES];   // (B, n_x)
    double *tan[CRI_WINDOW_STATES]; // (B, n_x)
    double *p_tan;                  // (n_p)
    cri_points_memory memory;
} view;

static bool has_class(const cri_points_scene *sc, const double *window, int k) {
    for (int t = 1; t < CRI_WINDOW_STATES; t++) {
        for (int i = 0; i < sc->n_touch; i++) {
            if (sc->touch[i].coefficient == k &&
                cri_points_gap(&sc->s, &sc->touch[i], window + (size_t)t * (size_t)sc->n_x) < 0.0) {
                return true;
            }
        }
    }
    return false;
}

// first states of the windows with class k
static void gather(view *v, int k) {
    const cri_points_data *data = v->t->train;
    size_t n_x = (size_t)data->n_x;
    v->B = 0;
    for (int b = 0; b < data->n; b++) {
        const double *window = data->x + (size_t)b * CRI_WINDOW_STATES * n_x;
        if (has_class(v->t->truth, window, k)) {
            memcpy(v->x[0] + (size_t)v->B++ * n_x, window, sizeof *window * n_x);
        }
    }
}

// sum of squares of the tangents of parameter i; steps that fail have none
static bool sum_tangents(view *v, int i, double *sum) {
    const cri_points_scene *sc = v->t->truth;
    const cri_points_memory *m = &v->memory;
    *sum = 0.0;
    v->p_tan[i] = 1.0;
    bool is_done = true;
    for (int t = 0; t < N_STEP && is_done && v->B > 0; t++) {
        cri_arena_reset(m->keep);
        const cri_points_tape *tape =
            cri_points_step(sc, sc->p, v->B, v->x[t], v->x[t + 1], NULL, m->keep, m->scratch);
        is_done = tape && cri_points_step_jvp(sc, sc->p, tape, v->tan[t], v->p_tan, v->tan[t + 1],
                                              m->scratch);
        for (size_t a = 0; is_done && a < (size_t)v->B * (size_t)sc->n_x; a++) {
            *sum += v->tan[t + 1][a] * v->tan[t + 1][a];
        }
    }
    v->p_tan[i] = 0.0;
    return is_done;
}

bool cri_dcs_precision(const dcs_trained *t, double *error, cr_arena *arena) {
    const cri_points_scene *sc = t->truth;
    CR_ASSERT(t->model->hit == CRI_HIT_LAW);
    view v = {.t = t, .p_tan = CR_PUSH(arena, double, sc->n_p)};
    size_t n = (size_t)t->train->n * (size_t)sc->n_x;
    for (int k = 0; k < CRI_WINDOW_STATES; k++) {
        v.x[k] = CR_PUSH(arena, double, n);
        v.tan[k] = CR_PUSH(arena, double, n);
    }
    bool is_done = !cri_arena_has_failed(arena) && cri_points_memory_open(&v.memory);
    // the loss is a mean over the states of a window, of which the first has no error
    double s = t->score.best * CRI_WINDOW_STATES / N_STEP;
    for (int k = 0; k < sc->n_coefficient && is_done; k++) {
        double sum[2];
        gather(&v, k);
        is_done = sum_tangents(&v, sc->law.i_mu + k, &sum[0]) &&
                  sum_tangents(&v, sc->law.i_e + k, &sum[1]);
        for (int c = 0; c < 2 && is_done; c++) {
            error[c * sc->n_coefficient + k] = s / sqrt(sum[c]);
        }
    }
    cri_points_memory_close(&v.memory);
    return is_done;
}
