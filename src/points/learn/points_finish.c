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
// Between the descents coefficients are looked for over their ranges (points_search.c).

#include "points/learn/points_finish_parts.h"

#include "base/base.h"
#include "base/math/dense_factor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATION_MOST = 12, TRY_MOST = 6, SEARCH_MOST = 3 };

static const double damping_start = 1e-3, damping_least = 1e-9;
static const double scale_weight = 1e3;   // of the penalty, by the largest of N
static const double exponent_most = 14.0; // of a mass, six powers of ten
static const double rounding = 1e-12;     // of residuals, m and m/s
static const double gain_least = 0.99;    // with less, positions have too much noise
static const double enough = 1e-5;        // relative decrease that is worth another step

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
    cri_pass_end end = isfinite(s) ? cri_finish_windows(f, w, f->norm, s) : CRI_PASS_STOPPED;
    for (int k = 0; k < TRY_MOST && end == CRI_PASS_DONE && *gain <= 0.0; k++) {
        if (move(f, w, *damping)) {
            double before, after;
            end = cri_finish_windows(f, f->w_trial, f->trial, 0.0);
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
    cri_pass_end end = cri_finish_windows(f, w, f->norm, 0.0);
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
        end = cri_finish_search(f, w, &has_changed);
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
    if (cri_finish_windows(f, before, f->norm, 0.0) == CRI_PASS_DONE &&
        cri_finish_windows(f, w, f->trial, 0.0) == CRI_PASS_DONE) {
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
        end = f->takes_jumps ? cri_finish_gain(f, w) : CRI_PASS_DONE;
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
