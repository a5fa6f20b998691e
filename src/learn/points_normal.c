// SPDX-License-Identifier: MIT
//
// Residuals of windows and their normal matrix (points_finish.c): one window at a time, with the
// columns of the coefficients that act in it.

#include "learn/points_finish_parts.h"

#include "base/base.h"
#include "nn/gemm.h"

#include <math.h>
#include <string.h>

// ---- one window --------------------------------------------------------------------------------

// what is left of r (n_r) without the part that a force linear in time would make
static void project(const cri_finish *f, double *r) {
    size_t n_x = (size_t)f->data->n_x, D = n_x / 2;
    for (int k = 0; k < f->n_unknown; k++) {
        const double *x = f->unknown[k], *v = x + CRI_FINISH_STEPS;
        for (size_t i = 0; i < D; i++) {
            double along = 0.0;
            for (size_t t = 0; t < CRI_FINISH_STEPS; t++) {
                along += x[t] * r[t * n_x + i] + v[t] * r[t * n_x + D + i];
            }
            for (size_t t = 0; t < CRI_FINISH_STEPS; t++) {
                r[t * n_x + i] -= along * x[t];
                r[t * n_x + D + i] -= along * v[t];
            }
        }
    }
}

// lengths (n_block) of the residuals of each body
static void measure(const cri_finish *f, bool is_lost, double *norm) {
    const cri_points *s = &f->l->scene->s;
    memset(norm, 0, sizeof *norm * (size_t)s->n_block);
    for (size_t i = 0; i < f->n_r; i++) {
        norm[s->block_of[i % (size_t)s->n_dof / (size_t)s->d]] += f->r[i] * f->r[i];
    }
    for (int k = 0; k < s->n_block; k++) {
        norm[k] = is_lost ? (double)INFINITY : sqrt(norm[k]);
    }
}

// residuals of a motion from the first state on
static bool roll_window(cri_finish *f, const double *truth,
                        const cri_points_tape *tape[CRI_FINISH_STEPS], bool *is_lost) {
    const cri_points_memory *m = &f->memory;
    size_t n_x = (size_t)f->data->n_x;
    double *x = CR_PUSH_RAW(m->keep, double, CRI_WINDOW_STATES *n_x);
    if (!x) {
        return false;
    }
    memcpy(x, truth, sizeof *x * n_x);
    for (int t = 0; t < CRI_FINISH_STEPS; t++, x += n_x) {
        tape[t] = cri_points_step(&f->flat, f->p, 1, x, x + n_x, NULL, m->keep, m->scratch);
        if (!tape[t]) {
            return false;
        }
        *is_lost = *is_lost || tape[t]->has_failed[0];
        for (size_t i = 0; i < n_x; i++) {
            f->r[(size_t)t * n_x + i] = x[n_x + i] - truth[(size_t)(t + 1) * n_x + i];
        }
    }
    project(f, f->r);
    return true;
}

// residuals of the jumps alone, from where the data are; one tape for all steps
static bool jump_window(cri_finish *f, const double *truth,
                        const cri_points_tape *tape[CRI_FINISH_STEPS], bool *is_lost) {
    const cri_points_memory *m = &f->memory;
    const double dt = f->l->scene->dt, *next = truth + f->data->n_x;
    size_t n_x = (size_t)f->data->n_x, D = n_x / 2;
    double *x = CR_PUSH_RAW(m->keep, double, f->n_r);
    if (!x ||
        !cri_points_step(&f->smooth, f->p, CRI_FINISH_STEPS, truth, x, NULL, m->keep, m->scratch)) {
        return false;
    }
    for (size_t t = 0; t < CRI_FINISH_STEPS; t++) {
        double *at = x + t * n_x, *lead = f->lead + t * D;
        for (size_t i = 0; i < D; i++) {
            double end = next[t * n_x + i];
            lead[i] = 2.0 * (end - at[i]) / dt;
            at[D + i] += f->gain * lead[i];
            at[i] = end - dt * at[D + i];
        }
    }
    tape[0] = cri_points_step(&f->free, f->p, CRI_FINISH_STEPS, x, f->r, NULL, m->keep, m->scratch);
    for (int t = 0; tape[0] && t < CRI_FINISH_STEPS; t++) {
        *is_lost = *is_lost || tape[0]->has_failed[t];
    }
    for (size_t i = 0; i < f->n_r; i++) {
        f->r[i] -= next[i];
    }
    return tape[0];
}

// residuals and their lengths (n_block); its tapes stay in keep
static bool run_window(cri_finish *f, int b, const cri_points_tape *tape[CRI_FINISH_STEPS],
                       double *norm) {
    const double *truth = f->data->x + (size_t)b * CRI_WINDOW_STATES * (size_t)f->data->n_x;
    bool is_lost = false;
    cri_arena_reset(f->memory.keep);
    bool has_memory = f->takes_jumps ? jump_window(f, truth, tape, &is_lost)
                                     : roll_window(f, truth, tape, &is_lost);
    if (has_memory) {
        measure(f, is_lost, norm);
    }
    return has_memory;
}

static const cri_points_jump *jump_of(const cri_finish *f,
                                      const cri_points_tape *const tape[CRI_FINISH_STEPS], int t) {
    return f->takes_jumps ? &tape[0]->jump[t] : &tape[t]->jump[0];
}

// is the point of mass k in a contact?
static bool has_point(const cri_points_jump *jump, int k) {
    for (int c = 0; c < jump->n; c++) {
        for (int i = 0; i < jump->row[c].n_slot; i++) {
            if (jump->row[c].point[i] == k) {
                return true;
            }
        }
    }
    return false;
}

// does w_i act in the window? Coefficients do where a contact has them, masses everywhere; where
// jumps are all that counts a mass does in contacts, and a stiffness nowhere
static bool is_felt(const cri_finish *f, const cri_points_tape *const tape[CRI_FINISH_STEPS],
                    int i) {
    const cri_points_scene *sc = f->l->scene;
    bool is_pair = i >= sc->law.i_mu && i < sc->law.i_epsilon;
    if (!is_pair && !f->takes_jumps) {
        return true;
    }
    for (int t = 0; t < CRI_FINISH_STEPS; t++) {
        const cri_points_jump *jump = jump_of(f, tape, t);
        for (int k = 0; k < jump->n && is_pair; k++) {
            if (sc->touch[jump->row[k].touch].coefficient ==
                (i - sc->law.i_mu) % sc->n_coefficient) {
                return true;
            }
        }
        if (i < sc->s.n_block && has_point(jump, i)) {
            return true;
        }
    }
    return i == sc->law.i_epsilon;
}

// dp_i/dw_i
static double value_slope(const cri_finish *f, const double *w, int i) {
    const cri_points_scene *sc = f->l->scene;
    if (i < sc->s.i_gravity || i == sc->s.i_stiffness) {
        return f->p[i];
    }
    if (i == sc->law.i_epsilon) {
        return 1.0 / (1.0 + exp(-w[i]));
    }
    return i < sc->law.i_e ? 1.0 : 1.0 / 6.0;
}

// a column of J (n_r)
static bool fill_column(cri_finish *f, const cri_points_tape *const tape[CRI_FINISH_STEPS],
                        const double *w, int i, double *column) {
    size_t n_x = (size_t)f->data->n_x;
    double *from = f->x_tan[0], *to = f->x_tan[1];
    memset(from, 0, sizeof *from * f->n_r);
    f->p_tan[i] = value_slope(f, w, i);
    bool is_done = !f->takes_jumps || cri_points_step_jvp(&f->free, f->p, tape[0], from, f->p_tan,
                                                          column, f->memory.scratch);
    for (int t = 0; t < CRI_FINISH_STEPS && is_done && !f->takes_jumps; t++) {
        is_done =
            cri_points_step_jvp(&f->flat, f->p, tape[t], from, f->p_tan, to, f->memory.scratch);
        memcpy(column + (size_t)t * n_x, to, sizeof *to * n_x);
        memcpy(from, to, sizeof *to * n_x);
    }
    f->p_tan[i] = 0.0;
    if (!f->takes_jumps) {
        project(f, column);
    }
    return is_done;
}

// r and J times the roots of the weights
static void weigh(cri_finish *f, int n, const double *norm, double scale) {
    const cri_points *s = &f->l->scene->s;
    for (size_t i = 0; i < f->n_r; i++) {
        double own = norm[s->block_of[i % (size_t)s->n_dof / (size_t)s->d]];
        double root = 1.0 / sqrt(fmax(scale, own));
        f->r[i] *= root;
        for (size_t k = 0; k < (size_t)n; k++) {
            f->J[k * f->n_r + i] *= root;
        }
    }
}

// adds a window to N and g
static bool add_window(cri_finish *f, const cri_points_tape *const tape[CRI_FINISH_STEPS],
                       const double *w, const double *norm, double scale) {
    int n = 0;
    for (int k = 0; k < f->n; k++) {
        if (is_felt(f, tape, f->index[k])) {
            f->felt[n] = k;
            if (!fill_column(f, tape, w, f->index[k], f->J + (size_t)n++ * f->n_r)) {
                return false;
            }
        }
    }
    weigh(f, n, norm, scale);
    cri_gemm_nt(n, n, (int)f->n_r, f->J, f->J, f->part, false);
    for (int a = 0; a < n; a++) {
        const double *column = f->J + (size_t)a * f->n_r;
        for (size_t i = 0; i < f->n_r; i++) {
            f->g[f->felt[a]] += column[i] * f->r[i];
        }
        for (int c = 0; c < n; c++) {
            f->N[(size_t)f->felt[a] * (size_t)f->n + (size_t)f->felt[c]] +=
                f->part[(size_t)a * (size_t)n + (size_t)c];
        }
    }
    return true;
}

// ---- all windows -------------------------------------------------------------------------------

static bool goes_on(cri_finish *f) {
    const cri_progress_state state = {"window of the finish", f->n_done++, 0, NAN};
    return cri_progress_tell(f->progress, &state);
}

cri_pass_end cri_finish_windows(cri_finish *f, const double *w, double *norm, double scale) {
    cri_points_learner_values(f->l, w, f->p);
    if (scale > 0.0) {
        memset(f->N, 0, sizeof *f->N * (size_t)f->n * (size_t)f->n);
        memset(f->g, 0, sizeof *f->g * (size_t)f->n);
    }
    for (int b = 0; b < f->data->n; b++, norm += f->l->scene->s.n_block) {
        const cri_points_tape *tape[CRI_FINISH_STEPS];
        if (!goes_on(f)) {
            return CRI_PASS_STOPPED;
        }
        if (!run_window(f, b, tape, norm)) {
            return CRI_PASS_NO_MEMORY;
        }
        if (scale > 0.0 && isfinite(norm[0]) && !add_window(f, tape, w, norm, scale)) {
            return CRI_PASS_NO_MEMORY;
        }
    }
    return CRI_PASS_DONE;
}

cri_pass_end cri_finish_gain(cri_finish *f, const double *w) {
    const cri_points *s = &f->l->scene->s;
    size_t n_x = (size_t)s->n_dof * 2, d = (size_t)s->d;
    double product = 0.0, square = 0.0;
    f->gain = 0.0;
    cri_points_learner_values(f->l, w, f->p);
    for (int b = 0; b < f->data->n; b++) {
        const cri_points_tape *tape[CRI_FINISH_STEPS];
        if (!goes_on(f)) {
            return CRI_PASS_STOPPED;
        }
        if (!run_window(f, b, tape, f->trial)) {
            return CRI_PASS_NO_MEMORY;
        }
        for (size_t i = 0; i < f->n_r / 2 && isfinite(f->trial[0]); i++) {
            size_t t = i / (n_x / 2), c = i % (n_x / 2);
            if (!has_point(&tape[0]->jump[t], (int)(c / d))) {
                product -= f->lead[i] * f->r[t * n_x + n_x / 2 + c];
                square += f->lead[i] * f->lead[i];
            }
        }
    }
    f->gain = square > 0.0 ? fmax(0.0, fmin(1.0, product / square)) : 0.0;
    return CRI_PASS_DONE;
}

cri_pass_end cri_finish_sum(cri_finish *f, const double *w, int n, const int *window, double most,
                            double *sum) {
    *sum = 0.0;
    cri_points_learner_values(f->l, w, f->p);
    for (int k = 0; k < n && *sum < most; k++) {
        const cri_points_tape *tape[CRI_FINISH_STEPS];
        if (!goes_on(f)) {
            return CRI_PASS_STOPPED;
        }
        if (!run_window(f, window[k], tape, f->trial)) {
            return CRI_PASS_NO_MEMORY;
        }
        for (int i = 0; i < f->l->scene->s.n_block; i++) {
            *sum += f->trial[i];
        }
    }
    return CRI_PASS_DONE;
}
