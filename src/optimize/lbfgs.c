// SPDX-License-Identifier: MIT
//
// L-BFGS (Nocedal 1980) within bounds by projection, with a line search for losses that jump.
//
//   direction   d = -H g by the two loops over the last pairs s = z' - z, y = g' - g, for the
//               numbers that no bound blocks; -g where that does not fall
//   path        z(t) = P(z + t d), P the projection onto the bounds
//   fall        f(z(t)) <= f + 1e-4 g (z(t) - z)
//   slope       g(z(t)) d >= 0.9 g d over the numbers that P left alone
//
// The search brackets: a t without the first is an upper end, one without the second a lower end;
// the next t halves the bracket, or doubles while there is no upper end (Lewis and Overton 2013).
// It needs no smoothness: a point without a value, without a gradient or behind a jump of the loss
// is an upper end like any other. Where no t has both, the longest with the fall is taken.

#include "optimize/minimise_parts.h"

#include "base/math/dense.h"

#include <math.h>
#include <string.h>

// pairs that are kept: between 3 and 20 are usual
#define N_PAIR 8

// parts of the slope that a step must achieve, and may leave: the usual ones of quasi-Newton
#define PART_FALL 1e-4
#define PART_SLOPE 0.9

// trials of one search: halvings down to the rounding of t
#define TRIAL_LIMIT 50

// cosine between a direction and the gradient, or a pair, below which it is rounding
#define COSINE_LEAST 1e-10

int cri_lbfgs_numbers(int n) {
    return N_PAIR * (2 * n + 1);
}

/// The pair that came age iterations ago: s (n), y (n), 1/(s y).
static double *pair_at(const cri_minimiser *m, int age) {
    int at = ((int)m->whole[CRI_WHOLE_FRONT] - 1 - age + 2 * N_PAIR) % N_PAIR;
    return m->memory + (size_t)at * (size_t)(2 * m->objective->n + 1);
}

static bool is_blocked(const cri_minimiser *m, int j) {
    return cri_domain_blocks(&m->objective->domain[j], m->z[j], m->gradient[j]);
}

static void mask(const cri_minimiser *m, double *v) {
    for (int j = 0; j < m->objective->n; j++) {
        v[j] = is_blocked(m, j) ? 0.0 : v[j];
    }
}

static void steepest(cri_minimiser *m) {
    for (int j = 0; j < m->objective->n; j++) {
        m->direction[j] = -m->gradient[j];
    }
    mask(m, m->direction);
}

static double cosine(int n, const double *a, const double *b) {
    double norms = sqrt(cri_dot(n, a, a)) * sqrt(cri_dot(n, b, b));
    return norms > 0.0 ? cri_dot(n, a, b) / norms : 0.0;
}

/// The two loops.
static void find_direction(cri_minimiser *m) {
    int n = m->objective->n;
    int n_pair = (int)m->whole[CRI_WHOLE_PAIR];
    double alpha[N_PAIR];
    double *d = m->direction;
    steepest(m);
    for (int age = 0; age < n_pair; age++) {
        const double *pair = pair_at(m, age);
        alpha[age] = pair[2 * n] * cri_dot(n, pair, d);
        cri_add_scaled(n, -alpha[age], pair + n, d);
    }
    if (n_pair > 0) {
        const double *pair = pair_at(m, 0);
        double scale = 1.0 / (pair[2 * n] * cri_dot(n, pair + n, pair + n));
        for (int j = 0; j < n; j++) {
            d[j] *= scale;
        }
    }
    for (int age = n_pair - 1; age >= 0; age--) {
        const double *pair = pair_at(m, age);
        double beta = pair[2 * n] * cri_dot(n, pair + n, d);
        cri_add_scaled(n, alpha[age] - beta, pair, d);
    }
    mask(m, d);
    if (!(cosine(n, d, m->gradient) < -COSINE_LEAST)) {
        m->whole[CRI_WHOLE_PAIR] = 0;
        steepest(m);
    }
}

/// Length of the first trial: 1, or one that moves no number by more than the rate.
static double first_length(const cri_minimiser *m) {
    double largest = 0.0;
    for (int j = 0; j < m->objective->n; j++) {
        largest = fmax(largest, fabs(m->direction[j]));
    }
    return m->whole[CRI_WHOLE_PAIR] > 0 || !(largest > 0.0) ? 1.0 : m->options.rate / largest;
}

/// What one trial came to.
typedef struct trial {
    double loss;
    bool is_fall;
    bool is_steep; // the slope is still as at the start: go further
} trial;

static cr_status try_length(cri_minimiser *m, double t, trial *out, cr_error *err) {
    const cri_objective *o = m->objective;
    double expected = 0.0;
    double slope[2] = {0.0, 0.0};
    for (int j = 0; j < o->n; j++) {
        double to = m->z[j] + t * m->direction[j];
        m->trial[j] = cri_domain_clamp(&o->domain[j], m->z[j], to);
        expected += m->gradient[j] * (m->trial[j] - m->z[j]);
    }
    bool has_value = false;
    CR_TRY(cri_minimiser_evaluate(m, m->trial, &out->loss, m->trial_g, &has_value, err));
    for (int j = 0; j < o->n && has_value; j++) {
        bool is_free = m->trial[j] == m->z[j] + t * m->direction[j];
        slope[0] += is_free ? m->gradient[j] * m->direction[j] : 0.0;
        slope[1] += is_free ? m->trial_g[j] * m->direction[j] : 0.0;
    }
    out->is_fall = has_value && expected < 0.0 &&
                   out->loss <= m->number[CRI_NUMBER_LOSS] + PART_FALL * expected;
    out->is_steep = slope[1] < PART_SLOPE * slope[0];
    return CR_OK;
}

/// Finds a step; trial, trial_g and *loss are those of its end.
static cr_status search_line(cri_minimiser *m, double *loss, bool *is_found, cr_error *err) {
    double low = 0.0;
    double high = INFINITY;
    double t = first_length(m);
    trial last = {0};
    for (int i = 0; i < TRIAL_LIMIT; i++) {
        CR_TRY(try_length(m, t, &last, err));
        *is_found = last.is_fall;
        if (last.is_fall && !last.is_steep) {
            *loss = last.loss;
            return CR_OK;
        }
        *(last.is_fall ? &low : &high) = t;
        // a jump of the loss may leave a steep lower end: it is good enough when the bracket is
        // narrow
        if (low > 0.0 && high - low <= 0.1 * low) {
            break;
        }
        t = isfinite(high) ? 0.5 * (low + high) : 2.0 * low;
    }
    *is_found = low > 0.0;
    if (*is_found && !last.is_fall) {
        CR_TRY(try_length(m, low, &last, err));
    }
    *loss = last.loss;
    return CR_OK;
}

/// Remembers how the gradient changed over the step, when it tells a positive curvature.
static void keep_pair(cri_minimiser *m) {
    int n = m->objective->n;
    double product = 0.0;
    double norms[2] = {0.0, 0.0};
    for (int j = 0; j < n; j++) {
        double s = m->trial[j] - m->z[j];
        double y = m->trial_g[j] - m->gradient[j];
        product += s * y;
        norms[0] += s * s;
        norms[1] += y * y;
    }
    if (!(product > COSINE_LEAST * sqrt(norms[0] * norms[1]))) {
        return;
    }
    double *pair = m->memory + (size_t)m->whole[CRI_WHOLE_FRONT] * (size_t)(2 * n + 1);
    for (int j = 0; j < n; j++) {
        pair[j] = m->trial[j] - m->z[j];
        pair[n + j] = m->trial_g[j] - m->gradient[j];
    }
    pair[2 * n] = 1.0 / product;
    int64_t n_pair = m->whole[CRI_WHOLE_PAIR] + 1;
    m->whole[CRI_WHOLE_FRONT] = (m->whole[CRI_WHOLE_FRONT] + 1) % N_PAIR;
    m->whole[CRI_WHOLE_PAIR] = n_pair < N_PAIR ? n_pair : N_PAIR;
}

cr_status cri_lbfgs_iterate(cri_minimiser *m, bool *is_moved, cr_error *err) {
    int n = m->objective->n;
    double loss = 0.0;
    find_direction(m);
    bool has_pairs = m->whole[CRI_WHOLE_PAIR] > 0;
    CR_TRY(search_line(m, &loss, is_moved, err));
    if (!*is_moved && has_pairs) {
        // the curvature of before misleads
        m->whole[CRI_WHOLE_PAIR] = 0;
        steepest(m);
        CR_TRY(search_line(m, &loss, is_moved, err));
    }
    if (!*is_moved) {
        return CR_OK;
    }
    keep_pair(m);
    m->number[CRI_NUMBER_LOSS] = loss;
    memcpy(m->z, m->trial, (size_t)n * sizeof *m->z);
    memcpy(m->gradient, m->trial_g, (size_t)n * sizeof *m->gradient);
    return CR_OK;
}
