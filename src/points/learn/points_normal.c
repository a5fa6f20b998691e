// SPDX-License-Identifier: MIT
//
// Residuals of windows and their normal matrix (points_finish.c), by blocks of windows, since a
// net that is asked about one state at a time does little but read its weights. Jumps ask no net:
// they are taken window by window, with the columns of the numbers that act there. Motions go on
// together, with all columns that one of them feels; where each feels few of many coefficients a
// block is one window.

#include "points/learn/points_finish_parts.h"

#include "base/base.h"
#include "base/nn/gemm.h"

#include <math.h>
#include <string.h>

/// Windows and what their steps leave, in keep.
typedef struct block {
    int n;
    int window[CRI_FINISH_BLOCK];
    bool is_lost[CRI_FINISH_BLOCK];
    const cri_points_tape *tape[CRI_FINISH_BLOCK]; // with jumps of each window, else of each step
} block;

_Static_assert((int)CRI_FINISH_BLOCK >= (int)CRI_FINISH_STEPS,
               "tapes and tangents of all steps fit");

// ---- a block -----------------------------------------------------------------------------------

static const double *truth_of(const cri_finish *f, const block *k, int b) {
    return f->data->x + (size_t)k->window[b] * CRI_WINDOW_STATES * (size_t)f->data->n_x;
}

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

// lengths (n_block) of the residuals of each body in a window
static void measure(const cri_finish *f, const double *r, bool is_lost, double *norm) {
    const cri_points *s = &f->l->scene->s;
    memset(norm, 0, sizeof *norm * (size_t)s->n_block);
    for (size_t i = 0; i < f->n_r; i++) {
        norm[s->block_of[i % (size_t)s->n_dof / (size_t)s->d]] += r[i] * r[i];
    }
    for (int k = 0; k < s->n_block; k++) {
        norm[k] = is_lost ? (double)INFINITY : sqrt(norm[k]);
    }
}

// residuals of motions from the first states on
static bool roll_block(cri_finish *f, block *k) {
    const cri_points_memory *m = &f->memory;
    size_t n_x = (size_t)f->data->n_x, n = (size_t)k->n;
    double *x = CR_PUSH_RAW(m->keep, double, CRI_WINDOW_STATES *n *n_x);
    if (!x) {
        return false;
    }
    for (int b = 0; b < k->n; b++) {
        memcpy(x + (size_t)b * n_x, truth_of(f, k, b), sizeof *x * n_x);
    }
    for (size_t t = 0; t < CRI_FINISH_STEPS; t++) {
        double *next = x + n * n_x;
        k->tape[t] = cri_points_step(&f->flat, f->p, k->n, x, next, NULL, m->keep, m->scratch);
        if (!k->tape[t]) {
            return false;
        }
        for (int b = 0; b < k->n; b++) {
            const double *truth = truth_of(f, k, b) + (t + 1) * n_x;
            double *r = f->r + (size_t)b * f->n_r + t * n_x;
            k->is_lost[b] = k->is_lost[b] || k->tape[t]->has_failed[b];
            for (size_t i = 0; i < n_x; i++) {
                r[i] = next[(size_t)b * n_x + i] - truth[i];
            }
        }
        x = next;
    }
    for (int b = 0; b < k->n; b++) {
        project(f, f->r + (size_t)b * f->n_r);
    }
    return true;
}

// residuals of the jumps of window b alone, from where the data are; x (steps, n_x) is behind the
// smooth steps
static bool jump_window(cri_finish *f, block *k, int b, double *x) {
    const cri_points_memory *m = &f->memory;
    const double dt = f->l->scene->dt, *next = truth_of(f, k, b) + f->data->n_x;
    size_t n_x = (size_t)f->data->n_x, D = n_x / 2;
    double *r = f->r + (size_t)b * f->n_r;
    for (size_t t = 0; t < CRI_FINISH_STEPS; t++) {
        double *at = x + t * n_x, *lead = f->lead + (size_t)b * f->n_r / 2 + t * D;
        for (size_t i = 0; i < D; i++) {
            double end = next[t * n_x + i];
            lead[i] = 2.0 * (end - at[i]) / dt;
            at[D + i] += f->gain * lead[i];
            at[i] = end - dt * at[D + i];
        }
    }
    k->tape[b] = cri_points_step(&f->free, f->p, CRI_FINISH_STEPS, x, r, NULL, m->keep, m->scratch);
    for (int t = 0; k->tape[b] && t < CRI_FINISH_STEPS; t++) {
        k->is_lost[b] = k->is_lost[b] || k->tape[b]->has_failed[t];
    }
    for (size_t i = 0; i < f->n_r; i++) {
        r[i] -= next[i];
    }
    return k->tape[b];
}

static bool jump_block(cri_finish *f, block *k) {
    const cri_points_memory *m = &f->memory;
    double *truth = CR_PUSH_RAW(m->keep, double, (size_t)k->n * f->n_r);
    double *x = CR_PUSH_RAW(m->keep, double, (size_t)k->n * f->n_r);
    if (!truth || !x) {
        return false;
    }
    for (int b = 0; b < k->n; b++) {
        memcpy(truth + (size_t)b * f->n_r, truth_of(f, k, b), sizeof *x * f->n_r);
    }
    bool is_done = cri_points_step(&f->smooth, f->p, k->n * CRI_FINISH_STEPS, truth, x, NULL,
                                   m->keep, m->scratch);
    for (int b = 0; b < k->n && is_done; b++) {
        is_done = jump_window(f, k, b, x + (size_t)b * f->n_r);
    }
    return is_done;
}

// a block of at most n windows, those of a list or, without one, from first on.
static void set_block(const cri_finish *f, int n, int first, const int *list, block *k) {
    bool is_many = f->takes_jumps || f->l->scene->n_coefficient <= 1;
    int most = is_many ? CRI_FINISH_BLOCK : 1;
    *k = (block){.n = n < most ? n : most};
    for (int b = 0; b < k->n; b++) {
        k->window[b] = list ? list[b] : first + b;
    }
}

// residuals and their lengths (n, n_block)
static bool run_block(cri_finish *f, block *k, double *norm) {
    cri_arena_reset(f->memory.keep);
    if (!(f->takes_jumps ? jump_block(f, k) : roll_block(f, k))) {
        return false;
    }
    size_t n_block = (size_t)f->l->scene->s.n_block;
    for (int b = 0; b < k->n; b++, norm += n_block) {
        double *r = f->r + (size_t)b * f->n_r;
        k->is_lost[b] = k->is_lost[b] || !cri_all_finite((int)f->n_r, r);
        measure(f, r, k->is_lost[b], norm);
    }
    return true;
}

// ---- columns -----------------------------------------------------------------------------------

static const cri_points_jump *jump_of(const cri_finish *f, const block *k, int b, int t) {
    return f->takes_jumps ? &k->tape[b]->jump[t] : &k->tape[t]->jump[b];
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

// does w_i act in window b? Coefficients do where a contact has them, masses everywhere; where
// jumps are all that counts a mass does in contacts, and a stiffness nowhere
static bool is_felt(const cri_finish *f, const block *k, int b, int i) {
    const cri_points_scene *sc = f->l->scene;
    bool is_pair = i >= sc->law.i_mu && i < sc->law.i_epsilon;
    if (!is_pair && !f->takes_jumps) {
        return true;
    }
    for (int t = 0; t < CRI_FINISH_STEPS; t++) {
        const cri_points_jump *jump = jump_of(f, k, b, t);
        for (int c = 0; c < jump->n && is_pair; c++) {
            if (sc->touch[jump->row[c].touch].coefficient ==
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

// columns of J stand for windows from b on: with jumps for one, else for the whole block
static int n_together(const cri_finish *f, const block *k) {
    return f->takes_jumps ? 1 : k->n;
}

// a column of J (n_together, n_r)
static bool fill_column(cri_finish *f, const block *k, int b, const double *w, int i,
                        double *column) {
    size_t n_x = (size_t)f->data->n_x, n = (size_t)k->n;
    cr_arena *scratch = f->memory.scratch;
    double *from = f->x_tan[0], *to = f->x_tan[1];
    memset(from, 0, sizeof *from * CRI_FINISH_BLOCK * n_x);
    f->p_tan[i] = value_slope(f, w, i);
    bool is_done = !f->takes_jumps ||
                   cri_points_step_jvp(&f->free, f->p, k->tape[b], from, f->p_tan, column, scratch);
    for (size_t t = 0; t < CRI_FINISH_STEPS && is_done && !f->takes_jumps; t++) {
        is_done = cri_points_step_jvp(&f->flat, f->p, k->tape[t], from, f->p_tan, to, scratch);
        for (size_t c = 0; c < n; c++) {
            memcpy(column + c * f->n_r + t * n_x, to + c * n_x, sizeof *to * n_x);
        }
        memcpy(from, to, sizeof *to * n * n_x);
    }
    f->p_tan[i] = 0.0;
    for (size_t c = 0; c < n && !f->takes_jumps; c++) {
        project(f, column + c * f->n_r);
    }
    return is_done;
}

// r and J times the roots of the weights, of windows from b on; lost ones have none
static void weigh(cri_finish *f, const block *k, int b, int n, const double *norm, double scale) {
    const cri_points *s = &f->l->scene->s;
    size_t n_all = (size_t)n_together(f, k) * f->n_r;
    double *r = f->r + (size_t)b * f->n_r;
    for (size_t i = 0; i < n_all; i++) {
        size_t at = i / f->n_r * (size_t)s->n_block;
        at += (size_t)s->block_of[i % (size_t)s->n_dof / (size_t)s->d];
        bool is_lost = !isfinite(norm[at]);
        double root = 1.0 / sqrt(fmax(scale, norm[at]));
        r[i] = is_lost ? 0.0 : root * r[i];
        for (size_t c = 0; c < (size_t)n; c++) {
            f->J[c * n_all + i] = is_lost ? 0.0 : root * f->J[c * n_all + i];
        }
    }
}

// adds windows from b on to N and g; norm is theirs
static bool add_windows(cri_finish *f, const block *k, int b, const double *w, const double *norm,
                        double scale) {
    int n = 0, n_window = n_together(f, k);
    size_t n_all = (size_t)n_window * f->n_r;
    const double *r = f->r + (size_t)b * f->n_r;
    for (int i = 0; i < f->n; i++) {
        bool is_in = false;
        for (int c = b; c < b + n_window && !is_in; c++) {
            is_in = !k->is_lost[c] && is_felt(f, k, c, f->index[i]);
        }
        if (is_in) {
            f->felt[n] = i;
            if (!fill_column(f, k, b, w, f->index[i], f->J + (size_t)n++ * n_all)) {
                return false;
            }
        }
    }
    weigh(f, k, b, n, norm, scale);
    cri_gemm_nt(n, n, (int)n_all, f->J, f->J, f->part, false);
    for (int a = 0; a < n; a++) {
        const double *column = f->J + (size_t)a * n_all;
        for (size_t i = 0; i < n_all; i++) {
            f->g[f->felt[a]] += column[i] * r[i];
        }
        for (int c = 0; c < n; c++) {
            f->N[(size_t)f->felt[a] * (size_t)f->n + (size_t)f->felt[c]] +=
                f->part[(size_t)a * (size_t)n + (size_t)c];
        }
    }
    return true;
}

// adds a block to N and g; norm is that of its windows
static bool add_block(cri_finish *f, const block *k, const double *w, const double *norm,
                      double scale) {
    bool is_done = true;
    for (int b = 0; b < k->n && is_done; b += n_together(f, k)) {
        is_done = add_windows(f, k, b, w, norm + (size_t)b * (size_t)f->l->scene->s.n_block, scale);
    }
    return is_done;
}

// ---- all windows -------------------------------------------------------------------------------

static bool goes_on(cri_finish *f, const block *k) {
    const cri_progress_state state = {"window of the finish", f->n_done, 0, NAN};
    f->n_done += k->n;
    return cri_progress_tell(f->progress, &state);
}

cri_pass_end cri_finish_windows(cri_finish *f, const double *w, double *norm, double scale) {
    block k;
    cri_points_learner_values(f->l, w, f->p);
    if (scale > 0.0) {
        memset(f->N, 0, sizeof *f->N * (size_t)f->n * (size_t)f->n);
        memset(f->g, 0, sizeof *f->g * (size_t)f->n);
    }
    for (int at = 0; at < f->data->n; at += k.n) {
        set_block(f, f->data->n - at, at, NULL, &k);
        if (!goes_on(f, &k)) {
            return CRI_PASS_STOPPED;
        }
        if (!run_block(f, &k, norm) || (scale > 0.0 && !add_block(f, &k, w, norm, scale))) {
            return CRI_PASS_NO_MEMORY;
        }
        norm += (size_t)k.n * (size_t)f->l->scene->s.n_block;
    }
    return CRI_PASS_DONE;
}

// what window b says of the gain: r = -gain lead for points without contact
static void add_lead(const cri_finish *f, const block *k, int b, double *product, double *square) {
    const cri_points *s = &f->l->scene->s;
    size_t D = (size_t)s->n_dof, d = (size_t)s->d;
    const double *lead = f->lead + (size_t)b * f->n_r / 2, *r = f->r + (size_t)b * f->n_r;
    for (size_t i = 0; i < f->n_r / 2; i++) {
        size_t t = i / D, c = i % D;
        if (!has_point(jump_of(f, k, b, (int)t), (int)(c / d))) {
            *product -= lead[i] * r[t * 2 * D + D + c];
            *square += lead[i] * lead[i];
        }
    }
}

cri_pass_end cri_finish_gain(cri_finish *f, const double *w) {
    double product = 0.0, square = 0.0;
    block k;
    f->gain = 0.0;
    cri_points_learner_values(f->l, w, f->p);
    for (int at = 0; at < f->data->n; at += k.n) {
        set_block(f, f->data->n - at, at, NULL, &k);
        if (!goes_on(f, &k)) {
            return CRI_PASS_STOPPED;
        }
        if (!run_block(f, &k, f->trial)) {
            return CRI_PASS_NO_MEMORY;
        }
        for (int b = 0; b < k.n; b++) {
            if (!k.is_lost[b]) {
                add_lead(f, &k, b, &product, &square);
            }
        }
    }
    f->gain = square > 0.0 ? fmax(0.0, fmin(1.0, product / square)) : 0.0;
    return CRI_PASS_DONE;
}

cri_pass_end cri_finish_sum(cri_finish *f, const double *w, int n, const int *window, double most,
                            double *sum) {
    block k;
    *sum = 0.0;
    cri_points_learner_values(f->l, w, f->p);
    for (int at = 0; at < n && *sum < most; at += k.n) {
        set_block(f, n - at, 0, window + at, &k);
        if (!goes_on(f, &k)) {
            return CRI_PASS_STOPPED;
        }
        if (!run_block(f, &k, f->trial)) {
            return CRI_PASS_NO_MEMORY;
        }
        for (int i = 0; i < k.n * f->l->scene->s.n_block; i++) {
            *sum += f->trial[i];
        }
    }
    return CRI_PASS_DONE;
}
