// SPDX-License-Identifier: MIT
//
// Physical numbers of a trained model by Gauss-Newton. A coefficient that few windows feel has a
// slope in few batches, and a descent by batches reaches it late or not at all; least squares weigh
// it by those windows alone, however few they are.
//
//   minimised: sum over windows b and bodies k of rho(|r_bk|),  r = x - x* over the four steps
//   rho(a) = a^2/2s for a < s, else a - s/2,       s the median of all |r_bk|
//   (N + damping diag N) dw = -g,   N = J'WJ,  g = J'Wr,  W = 1/max(s, |r_bk|)
//
// so that bodies in the few windows with a contact more or less do not decide (Huber 1964).
//
// What the net misses is a force, and it would bend the masses. Where no ties pass forces on,
// points move freely but for contacts, and jumps of velocity alone tell the masses. So every step
// begins at the data there. With x^, v^ behind the model's smooth step of length T and x*, v* of
// the data
//
//   v = v^ + gain 2 (x* - x^)/T,      r = v + jump(x*, v) - v*
//
// A constant force that the model misses has moved a point by T^2/2 of it, and a jump moves no
// point: with gain 1 it is gone. The gain is that of least squares for r of all points without
// contact, between 0 and 1. Noise of positions, which 2/T multiplies, brings it down; below 0.99
// motions over four steps are taken, as with ties. They are freed, coordinate by coordinate and
// window by window, r and J, from all that a force linear in time makes: x = T^2/2, v = T and
// x = T^3/6, v = T^2/2.
//
// A stiffness is found by itself, from such motions.
//
// J has the tangents of the steps without the curvature of the potential and without the target
// velocity; what is accepted lowers the sum, whose residuals are exact. Numbers at an end of their
// range that are pushed out of it stay. The scale of all masses is kept: motion does not tell it,
// and the regularisation of cone-reg, in 1/kg, could be made to vanish by it.
// Levenberg and Marquardt: damping falls tenfold with every step that is accepted, else rises.
// Between the descents coefficients are looked for over their ranges (below).

#include "points/learn/points_finish.h"

#include "base/base.h"
#include "base/math/dense_factor.h"
#include "base/nn/gemm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// a block: windows that a net is asked about at once
enum { CRI_FINISH_STEPS = CRI_WINDOW_STATES - 1, CRI_FINISH_BLOCK = 8 };

typedef struct cri_finish {
    const cri_points_learner *l;
    const cri_points_data *data;
    const cri_progress *progress;
    cri_points_scene flat;                   // the model with tangents
    cri_points_scene smooth, free;           // without contacts, without forces
    bool takes_jumps;                        // of steps from the data, else windows are rolled
    double gain;                             // of velocities by positions, with jumps
    int n;                                   // numbers
    int *index;                              // (n) of them among w
    size_t n_r;                              // residuals of a window
    double *p, *p_tan;                       // (n_w)
    double *r;                               // (block, n_r)
    double *J;                               // (n, block, n_r) of the columns that are felt there
    double *part;                            // (n, n) of them
    int *felt;                               // (n) those columns
    double *N, *factor;                      // (n, n)
    double *g, *step;                        // (n)
    double *x_tan[2];                        // (block, n_x), with jumps (steps, n_x)
    int n_unknown;                           // shapes in time that motions are freed from
    double unknown[2][2 * CRI_FINISH_STEPS]; // of x, of v; orthonormal
    double *lead;                            // (block, steps, D) 2 (x* - x^)/T
    double *norm, *trial;                    // (windows, n_block) |r_bk|, infinite: a step fails
    double *sorted;                          // the same
    int *window;                             // (windows) of a class
    double *w_trial;                         // (n_w)
    long long n_done;                        // windows, for progress
    cri_points_memory memory;
} cri_finish;

/// Windows and what their steps leave, in keep.
typedef struct block {
    int n;
    int window[CRI_FINISH_BLOCK];
    bool is_lost[CRI_FINISH_BLOCK];
    const cri_points_tape *tape[CRI_FINISH_BLOCK]; // with jumps of each window, else of each step
} block;

_Static_assert((int)CRI_FINISH_BLOCK >= (int)CRI_FINISH_STEPS,
               "tapes and tangents of all steps fit");

enum { N_VALUE = 20 };

static const double friction_most = 2.0; // that is looked for

enum { ITERATION_MOST = 12, TRY_MOST = 6, SEARCH_MOST = 3 };

static const double damping_start = 1e-3, damping_least = 1e-9;

static const double scale_weight = 1e3; // of the penalty, by the largest of N

static const double exponent_most = 14.0; // of a mass, six powers of ten

static const double rounding = 1e-12; // of residuals, m and m/s

static const double gain_least = 0.99; // with less, positions have too much noise

static const double enough = 1e-5; // relative decrease that is worth another step

// ---- residuals and normal matrix ----------------------------------------------------------------

// Residuals of windows and their normal matrix, by blocks of windows, since a net that is asked
// about one state at a time does little but read its weights. Jumps ask no net:
// they are taken window by window, with the columns of the numbers that act there. Motions go on
// together, with all columns that one of them feels; where each feels few of many coefficients a
// block is one window.

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

/// Lengths (windows, n_block) of the residuals of all windows, and with scale > 0 N and g.
static cri_pass_end finish_windows(cri_finish *f, const double *w, double *norm, double scale) {
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

/// Sets the gain by what points without contact do in all windows.
static cri_pass_end finish_gain(cri_finish *f, const double *w) {
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

/// The sum of |r_bk| over n windows of a list, infinite when one is lost; where it is more than
/// most it is a part of it.
static cri_pass_end finish_sum(cri_finish *f, const double *w, int n, const int *window,
                               double most, double *sum) {
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

// ---- search -------------------------------------------------------------------------------------

// Coefficients that a descent cannot find. Friction of a contact that sticks in the model has no
// slope, nor has a restitution that the target velocity hides, although another value would slide
// or bounce as the data do. So each is looked for among values over its whole range, on the windows
// in which its contact acts.

// does a contact of the class act in the window, by the data?
static bool has_class(const cri_finish *f, int b, int class) {
    const cri_points_scene *sc = f->l->scene;
    const double *x = f->data->x + (size_t)b * CRI_WINDOW_STATES * (size_t)f->data->n_x;
    for (int i = 0; i < sc->n_touch; i++) {
        for (int t = 1; t < CRI_WINDOW_STATES && sc->touch[i].coefficient == class; t++) {
            if (cri_points_gap(&sc->s, &sc->touch[i], x + t * f->data->n_x) < 0.0) {
                return true;
            }
        }
    }
    return false;
}

// the best of w_i and values over its range
static cri_pass_end search_number(cri_finish *f, double *w, int i, int n, const int *window,
                                  bool *has_changed) {
    bool is_mu = i < f->l->scene->law.i_e;
    double least, best = w[i], sum;
    cri_pass_end end = finish_sum(f, w, n, window, (double)INFINITY, &least);
    memcpy(f->w_trial, w, sizeof *w * (size_t)f->l->n_w);
    for (int k = 0; k <= N_VALUE && end == CRI_PASS_DONE; k++) {
        double share = (double)k / N_VALUE;
        f->w_trial[i] = is_mu ? friction_most * share : 6.0 * share - 3.0;
        end = finish_sum(f, f->w_trial, n, window, least, &sum);
        if (end == CRI_PASS_DONE && sum < least) {
            least = sum;
            best = f->w_trial[i];
            *has_changed = true;
        }
    }
    w[i] = best;
    return end;
}

/// Looks for the coefficients of each class among values over their ranges; says whether one has
/// changed.
static cri_pass_end finish_search(cri_finish *f, double *w, bool *has_changed) {
    const cri_points_scene *sc = f->l->scene;
    cri_pass_end end = CRI_PASS_DONE;
    *has_changed = false;
    for (int class = 0; class < sc->n_coefficient && end == CRI_PASS_DONE; class ++) {
        int n = 0;
        for (int b = 0; b < f->data->n; b++) {
            if (has_class(f, b, class)) {
                f->window[n++] = b;
            }
        }
        end = search_number(f, w, sc->law.i_mu + class, n, f->window, has_changed);
        if (end == CRI_PASS_DONE) {
            end = search_number(f, w, sc->law.i_e + class, n, f->window, has_changed);
        }
    }
    return end;
}

// ---- Gauss-Newton -------------------------------------------------------------------------------

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static size_t n_norm(const cri_finish *f) {
    return (size_t)f->data->n * (size_t)f->l->scene->s.n_block;
}

static double median(cri_finish *f) {
    memcpy(f->sorted, f->norm, sizeof *f->norm * n_norm(f));
    qsort(f->sorted, n_norm(f), sizeof *f->sorted, compare);
    return f->sorted[n_norm(f) / 2];
}

// sum of rho; windows that were lost before are left out of both
static void compare_sums(const cri_finish *f, double s, double *before, double *after) {
    *before = *after = 0.0;
    for (size_t i = 0; i < n_norm(f); i++) {
        double a = f->norm[i], b = f->trial[i];
        if (isfinite(a)) {
            *before += a < s ? a * a / (2.0 * s) : a - 0.5 * s;
            *after += b < s ? b * b / (2.0 * s) : b - 0.5 * s;
        }
    }
}

// ---- steps -------------------------------------------------------------------------------------

static void range_of(const cri_finish *f, int i, double *least, double *most) {
    const cri_points_scene *sc = f->l->scene;
    bool is_mu = i >= sc->law.i_mu && i < sc->law.i_e;
    bool is_e = i >= sc->law.i_e && i < sc->law.i_epsilon;
    *least = is_mu ? 0.0 : is_e ? -3.0 : -exponent_most;
    *most = is_mu ? (double)INFINITY : is_e ? 3.0 : exponent_most;
}

// how much of a step is taken, so that no number goes further than 1: a mass by a factor e
static double shorten(const cri_finish *f) {
    double most = 1.0;
    for (int k = 0; k < f->n; k++) {
        most = fmax(most, fabs(f->step[k]));
    }
    return 1.0 / most;
}

// a penalty on the mean step of all log masses, which come first if they are among the numbers
static void keep_scale(const cri_finish *f) {
    bool has_masses = f->index[0] == f->l->scene->s.i_mass;
    size_t n = (size_t)f->n, n_mass = has_masses ? (size_t)f->l->scene->s.n_block : 0;
    double most = 0.0;
    for (size_t k = 0; k < n_mass; k++) {
        most = fmax(most, f->factor[k * n + k]);
    }
    for (size_t k = 0; k < n_mass * n_mass; k++) {
        f->factor[k / n_mass * n + k % n_mass] += scale_weight * most;
    }
}

// w_trial = w + step, within ranges; false when N has no factor
static bool move(cri_finish *f, const double *w, double damping) {
    size_t n = (size_t)f->n;
    memcpy(f->factor, f->N, sizeof *f->N * n * n);
    for (size_t k = 0; k < n; k++) {
        double least, most, own = f->N[k * n + k];
        range_of(f, f->index[k], &least, &most);
        double at = w[f->index[k]];
        bool stays = own == 0.0 || (at <= least && f->g[k] > 0.0) || (at >= most && f->g[k] < 0.0);
        for (size_t c = 0; stays && c < n; c++) {
            f->factor[k * n + c] = f->factor[c * n + k] = 0.0;
        }
        f->factor[k * n + k] = stays ? 1.0 : own * (1.0 + damping);
        f->step[k] = stays ? 0.0 : -f->g[k];
    }
    keep_scale(f);
    if (!cri_cholesky_factor(f->n, f->factor)) {
        return false;
    }
    cri_cholesky_solve(f->n, f->factor, f->step);
    double share = shorten(f);
    memcpy(f->w_trial, w, sizeof *w * (size_t)f->l->n_w);
    for (size_t k = 0; k < n; k++) {
        double least, most;
        range_of(f, f->index[k], &least, &most);
        f->w_trial[f->index[k]] = fmax(least, fmin(most, w[f->index[k]] + share * f->step[k]));
    }
    return cri_all_finite(f->l->n_w, f->w_trial);
}

// one step that lowers the sum; gain (relative) 0: there is none
static cri_pass_end improve(cri_finish *f, double *w, double *damping, double *gain) {
    double s = fmax(median(f), rounding);
    *gain = 0.0;
    cri_pass_end end = isfinite(s) ? finish_windows(f, w, f->norm, s) : CRI_PASS_STOPPED;
    for (int k = 0; k < TRY_MOST && end == CRI_PASS_DONE && *gain <= 0.0; k++) {
        if (move(f, w, *damping)) {
            double before, after;
            end = finish_windows(f, f->w_trial, f->trial, 0.0);
            compare_sums(f, s, &before, &after);
            *gain = end == CRI_PASS_DONE ? (before - after) / before : 0.0;
        }
        *damping = *gain > 0.0 ? fmax(damping_least, *damping / 10.0) : 10.0 * *damping;
    }
    if (*gain > 0.0) {
        memcpy(w, f->w_trial, sizeof *w * (size_t)f->l->n_w);
        memcpy(f->norm, f->trial, sizeof *f->norm * n_norm(f));
    }
    return end;
}

// ---- the whole ---------------------------------------------------------------------------------

// steps until they gain nothing
static cri_pass_end descend(cri_finish *f, double *w) {
    cri_pass_end end = finish_windows(f, w, f->norm, 0.0);
    double damping = damping_start, gain = 1.0;
    for (int k = 0; k < ITERATION_MOST && end == CRI_PASS_DONE && gain > enough; k++) {
        end = improve(f, w, &damping, &gain);
    }
    return end;
}

// descents, with searches between
static cri_pass_end descend_all(cri_finish *f, double *w) {
    cri_pass_end end = descend(f, w);
    bool has_changed = f->l->scene->n_coefficient > 1;
    for (int k = 0; k < SEARCH_MOST && end == CRI_PASS_DONE && has_changed; k++) {
        end = finish_search(f, w, &has_changed);
        if (end == CRI_PASS_DONE && has_changed) {
            end = descend(f, w);
        }
    }
    return end;
}

// numbers that are improved
static void find_numbers(cri_finish *f) {
    const cri_points_scene *sc = f->l->scene;
    for (int i = 0; i <= sc->law.i_epsilon; i++) {
        bool is_mass = i >= sc->s.i_mass && i < sc->s.i_gravity;
        bool is_pair = i >= sc->law.i_mu && i < sc->law.i_epsilon;
        if (is_mass || is_pair || (i == sc->law.i_epsilon && f->l->learns_epsilon)) {
            f->index[f->n++] = i;
        }
    }
}

static bool push_all(cri_finish *f, int n_window, cr_arena *arena) {
    size_t n_most = (size_t)f->l->scene->law.i_epsilon + 1;
    f->n_r = CRI_FINISH_STEPS * (size_t)f->data->n_x;
    f->index = CR_PUSH(arena, int, n_most);
    if (!f->index) {
        return false;
    }
    find_numbers(f);
    size_t n = (size_t)f->n, n_w = (size_t)f->l->n_w;
    size_t n_norm = (size_t)n_window * (size_t)f->l->scene->s.n_block;
    f->felt = CR_PUSH(arena, int, n);
    f->p = CR_PUSH(arena, double, n_w);
    f->p_tan = CR_PUSH(arena, double, n_w);
    f->w_trial = CR_PUSH(arena, double, n_w);
    f->r = CR_PUSH(arena, double, CRI_FINISH_BLOCK * f->n_r);
    f->J = CR_PUSH(arena, double, n *CRI_FINISH_BLOCK * f->n_r);
    f->part = CR_PUSH(arena, double, n *n);
    f->N = CR_PUSH(arena, double, n *n);
    f->factor = CR_PUSH(arena, double, n *n);
    f->g = CR_PUSH(arena, double, n);
    f->step = CR_PUSH(arena, double, n);
    f->x_tan[0] = CR_PUSH(arena, double, CRI_FINISH_BLOCK *(size_t)f->data->n_x);
    f->x_tan[1] = CR_PUSH(arena, double, CRI_FINISH_BLOCK *(size_t)f->data->n_x);
    f->lead = CR_PUSH(arena, double, CRI_FINISH_BLOCK * f->n_r / 2);
    f->norm = CR_PUSH(arena, double, n_norm);
    f->trial = CR_PUSH(arena, double, n_norm);
    f->sorted = CR_PUSH(arena, double, n_norm);
    f->window = CR_PUSH(arena, int, n_window);
    return !cri_arena_has_failed(arena);
}

// shapes of x and v at the four steps under a force 1 and a force T, orthonormal
static void find_unknown(cri_finish *f) {
    const double dt = f->l->scene->dt;
    f->n_unknown = f->l->scene->s.n_tie == 0 ? 2 : 0;
    for (int k = 0; k < f->n_unknown; k++) {
        double *shape = f->unknown[k];
        for (int t = 0; t < CRI_FINISH_STEPS; t++) {
            double T = (t + 1) * dt;
            shape[t] = k == 0 ? T * T / 2.0 : T * T * T / 6.0;
            shape[CRI_FINISH_STEPS + t] = k == 0 ? T : T * T / 2.0;
        }
        int rank = cri_orthonormalise(f->unknown[0], k, 2 * CRI_FINISH_STEPS);
        CR_ASSERT(rank == 1);
    }
}

// is w better than what it was, on other windows?
static bool is_better(cri_finish *f, const cri_points_data *other, const double *before,
                      const double *w) {
    f->data = other;
    f->progress = NULL;
    double sum[2] = {0.0, 0.0};
    if (finish_windows(f, before, f->norm, 0.0) == CRI_PASS_DONE &&
        finish_windows(f, w, f->trial, 0.0) == CRI_PASS_DONE) {
        compare_sums(f, fmax(median(f), rounding), &sum[0], &sum[1]);
    }
    return sum[1] < sum[0];
}

// w, when validation agrees, also with what a stop has left; better (n_w) is room
static cri_pass_end finish(cri_finish *f, const cri_points_training *t, double *w, double *better) {
    f->data = t->train;
    f->progress = t->progress;
    memcpy(better, w, sizeof *w * (size_t)f->l->n_w);
    cri_pass_end end = descend_all(f, better);
    if (end != CRI_PASS_NO_MEMORY && is_better(f, t->valid, w, better)) {
        memcpy(w, better, sizeof *w * (size_t)f->l->n_w);
    }
    return end;
}

// what springs make of the motion between contacts
static cri_pass_end finish_springs(cri_finish *f, const cri_points_training *t, double *w,
                                   double *better) {
    int first = f->index[0], n = f->n;
    f->takes_jumps = false;
    f->n = 1;
    f->index[0] = f->l->scene->s.i_stiffness;
    cri_pass_end end = finish(f, t, w, better);
    f->n = n;
    f->index[0] = first;
    return end;
}

// masses and coefficients; with springs, of whose errors jumps still see a little, in two rounds
static cri_pass_end finish_all(cri_finish *f, const cri_points_training *t, double *w,
                               double *better) {
    cri_pass_end end = CRI_PASS_DONE;
    for (int k = 0; k < 1 + f->l->learns_stiffness && end == CRI_PASS_DONE; k++) {
        f->takes_jumps = f->l->scene->s.n_tie == 0;
        f->data = t->train;
        f->progress = t->progress;
        end = f->takes_jumps ? finish_gain(f, w) : CRI_PASS_DONE;
        f->takes_jumps = f->takes_jumps && f->gain > gain_least;
        if (end == CRI_PASS_DONE) {
            end = finish(f, t, w, better);
        }
        if (end == CRI_PASS_DONE && f->l->learns_stiffness) {
            end = finish_springs(f, t, w, better);
        }
    }
    return end;
}

cri_pass_end cri_points_finish(const cri_points_training *t, double *w) {
    const cri_points_learner *l = t->learner;
    CR_ASSERT(l->kind == CRI_HIT_LAW && t->train->n > 0 && t->valid->n > 0);
    cri_finish f = {.l = l, .data = t->train, .progress = t->progress, .flat = *l->scene};
    f.flat.potential.grad_jvp = cri_points_net_flat(l->scene->potential.context).grad_jvp;
    f.smooth = f.free = f.flat;
    f.smooth.has_contact = false;
    f.free.potential = cri_points_no_potential();
    int n_window = t->train->n > t->valid->n ? t->train->n : t->valid->n;
    find_unknown(&f);
    cr_arena *arena = cri_arena_create(1 << 16);
    double *better = arena ? CR_PUSH(arena, double, l->n_w) : NULL;
    bool has_memory = better && cri_points_memory_open(&f.memory) && push_all(&f, n_window, arena);
    cri_pass_end end = has_memory ? finish_all(&f, t, w, better) : CRI_PASS_NO_MEMORY;
    cri_points_memory_close(&f.memory);
    cri_arena_destroy(arena);
    return end;
}
