// SPDX-License-Identifier: MIT
//
// Minimisation within bounds: Adam, the frame of all methods, and Gauss-Newton by least_squares.c.
//
// Adam (Kingma and Ba 2015), iteration k from 1, with g the gradient, bounds by projection:
//   a = b1 a + (1 - b1) g      b = b2 b + (1 - b2) g^2
//   z = z - rate (a / (1 - b1^k)) / (sqrt(b / (1 - b2^k)) + e)
// with e = 1e-8 of the largest of these roots: the unit of the loss does not matter, and only a
// gradient of zero ends it. Where the next point has no value, other lengths of the step are tried:
// half, twice, a quarter, an eighth and so on.

#include "optimize/minimise.h"

#include "base/math/dense.h"

#include <float.h>
#include <math.h>
#include <string.h>

// places in cri_minimiser.number
enum {
    CRI_NUMBER_LOSS,
    CRI_NUMBER_BEST,
    CRI_NUMBER_FIRST,
    CRI_NUMBER_DAMPING, // Adam: what the rate has been halved to, as a part of it; 0: all
    CRI_NUMBER_GROWTH,
    CRI_N_NUMBER
};

// places in cri_minimiser.whole
enum {
    CRI_WHOLE_ITERATION,
    CRI_WHOLE_EVALUATION,
    CRI_WHOLE_STOP,
    CRI_WHOLE_IDLE,  // iterations since the best loss fell
    CRI_WHOLE_PAIR,  // L-BFGS: pairs kept
    CRI_WHOLE_FRONT, // L-BFGS: where the next one goes
    CRI_N_WHOLE
};

// pairs that are kept: between 3 and 20 are usual
#define N_PAIR 8

// parts of the slope that a step must achieve, and may leave: the usual ones of quasi-Newton
#define PART_FALL 1e-4
#define PART_SLOPE 0.9

// trials of one search: halvings down to the rounding of t
#define TRIAL_LIMIT 50

// cosine between a direction and the gradient, or a pair, below which it is rounding
#define COSINE_LEAST 1e-10

/// What one trial came to.
typedef struct trial {
    double loss;
    bool is_fall;
    bool is_steep; // the slope is still as at the start: go further
} trial;

// of Adam, part of the largest entry below which entries move less
#define ADAM_EPS 1e-8

// halvings of a step to a point without a value
#define HALVINGS 30

// a fall of the best loss below this part of it does not count
#define FALL_LEAST 1e-10

// Gauss-Newton ends when a good step makes the loss fall by less than this part of it
#define FLAT 1e-14

static const char *const method_text[CRI_N_METHOD] = {"adam", "lbfgs", "gauss-newton"};

// ---- L-BFGS -------------------------------------------------------------------------------------

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

/// Numbers that L-BFGS keeps for n unknowns.
static int lbfgs_numbers(int n) {
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

/// Loss and gradient at z, counted. *has_value is false where there is none; fails for memory only.
static cr_status minimiser_evaluate(cri_minimiser *m, const double *z, double *loss,
                                    double *gradient, bool *has_value, cr_error *err) {
    const cri_objective *o = m->objective;
    m->whole[CRI_WHOLE_EVALUATION]++;
    cr_status status = o->loss(o->context, z, loss, gradient, err);
    *has_value = status == CR_OK && isfinite(*loss) && cri_all_finite(o->n, gradient);
    return status == CR_ERR_MEMORY ? status : CR_OK;
}

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
    CR_TRY(minimiser_evaluate(m, m->trial, &out->loss, m->trial_g, &has_value, err));
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

/// One iteration of L-BFGS; z, gradient and loss become those of the next point. *is_moved is false
/// when no step makes the loss fall.
static cr_status lbfgs_iterate(cri_minimiser *m, bool *is_moved, cr_error *err) {
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

// ---- Adam, and the frame ------------------------------------------------------------------------

const char *cri_method_text(cri_method method) {
    return method_text[method];
}

bool cri_method_find(const char *text, cri_method *out) {
    for (int i = 0; i < CRI_N_METHOD; i++) {
        if (strcmp(text, method_text[i]) == 0) {
            *out = (cri_method)i;
            return true;
        }
    }
    return false;
}

cri_minimise_options cri_minimise_options_default(cri_method method) {
    return (cri_minimise_options){.method = method,
                                  .rate = method == CRI_METHOD_ADAM ? 0.1 : 1.0,
                                  .beta = {0.9, 0.999},
                                  .tolerance = method == CRI_METHOD_ADAM ? 0.0 : 1e-9,
                                  .patience = method == CRI_METHOD_ADAM ? 100 : 5};
}

// ---- memory ------------------------------------------------------------------------------------

static int memory_numbers(const cri_objective *objective, cri_method method) {
    int n = objective->n;
    switch (method) {
    case CRI_METHOD_ADAM:
        return 2 * n;
    case CRI_METHOD_LBFGS:
        return lbfgs_numbers(n);
    case CRI_METHOD_GAUSS_NEWTON:
        return n;
    }
    return 0;
}

cr_status cri_minimiser_init(const cri_objective *objective, const cri_minimise_options *options,
                             cr_arena *arena, cri_minimiser *out, cr_error *err) {
    int n = objective->n;
    CR_ASSERT(n > 0 && objective->domain && objective->loss);
    bool has_residuals = options->method == CRI_METHOD_GAUSS_NEWTON;
    CR_ASSERT(!has_residuals || (objective->residuals && objective->m > 0));
    size_t m = has_residuals ? (size_t)objective->m : 0;
    *out = (cri_minimiser){.objective = objective, .options = *options, .n_whole = CRI_N_WHOLE};
    out->n_real = 3 * n + CRI_N_NUMBER + memory_numbers(objective, options->method);
    out->real = CR_PUSH(arena, double, out->n_real);
    out->whole = CR_PUSH(arena, int64_t, out->n_whole);
    out->trial = CR_PUSH(arena, double, n);
    out->trial_g = CR_PUSH(arena, double, n);
    out->direction = CR_PUSH(arena, double, n);
    out->r = CR_PUSH(arena, double, m);
    out->J = CR_PUSH(arena, double, m *(size_t)n);
    if (cri_arena_has_failed(arena)) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory to search for %d numbers", n);
    }
    out->z = out->real;
    out->gradient = out->z + n;
    out->best = out->gradient + n;
    out->number = out->best + n;
    out->memory = out->number + CRI_N_NUMBER;
    return CR_OK;
}

// ---- frame -------------------------------------------------------------------------------------

double cri_minimiser_loss(const cri_minimiser *m) {
    return m->number[CRI_NUMBER_BEST];
}

int cri_minimiser_iterations(const cri_minimiser *m) {
    return (int)m->whole[CRI_WHOLE_ITERATION];
}

int cri_minimiser_evaluations(const cri_minimiser *m) {
    return (int)m->whole[CRI_WHOLE_EVALUATION];
}

cri_minimise_stop cri_minimiser_stop(const cri_minimiser *m) {
    return (cri_minimise_stop)m->whole[CRI_WHOLE_STOP];
}

/// True when the largest slope that no bound blocks, times the size of its number, is nothing.
static bool is_flat(const cri_minimiser *m) {
    double largest = 0.0;
    for (int j = 0; j < m->objective->n; j++) {
        if (!cri_domain_blocks(&m->objective->domain[j], m->z[j], m->gradient[j])) {
            largest = fmax(largest, fabs(m->gradient[j]) * fmax(fabs(m->z[j]), 1.0));
        }
    }
    return largest <= m->options.tolerance * m->number[CRI_NUMBER_FIRST];
}

static void keep_best(cri_minimiser *m) {
    double *number = m->number;
    double fall = number[CRI_NUMBER_BEST] - number[CRI_NUMBER_LOSS];
    bool is_fall = fall > FALL_LEAST * number[CRI_NUMBER_BEST];
    m->whole[CRI_WHOLE_IDLE] = is_fall ? 0 : m->whole[CRI_WHOLE_IDLE] + 1;
    if (fall > 0.0) {
        number[CRI_NUMBER_BEST] = number[CRI_NUMBER_LOSS];
        memcpy(m->best, m->z, (size_t)m->objective->n * sizeof *m->best);
    }
}

cr_status cri_minimiser_begin(cri_minimiser *m, const double *z, cr_error *err) {
    const cri_objective *o = m->objective;
    memset(m->real, 0, (size_t)m->n_real * sizeof *m->real);
    memset(m->whole, 0, (size_t)m->n_whole * sizeof *m->whole);
    m->has_values = false;
    for (int j = 0; j < o->n; j++) {
        m->z[j] = cri_domain_clamp(&o->domain[j], z[j], z[j]);
    }
    double loss = 0.0;
    m->whole[CRI_WHOLE_EVALUATION] = 1;
    CR_TRY(o->loss(o->context, m->z, &loss, m->gradient, err));
    if (!isfinite(loss) || !cri_all_finite(o->n, m->gradient)) {
        return cri_fail(err, CR_ERR_NUMERIC, 0, "the loss or its gradient is not finite");
    }
    m->number[CRI_NUMBER_LOSS] = loss;
    m->number[CRI_NUMBER_BEST] = loss;
    m->number[CRI_NUMBER_FIRST] = loss;
    memcpy(m->best, m->z, (size_t)o->n * sizeof *m->best);
    m->whole[CRI_WHOLE_STOP] = is_flat(m) ? CRI_MINIMISE_CONVERGED : CRI_MINIMISE_GOES_ON;
    return CR_OK;
}

// ---- methods -----------------------------------------------------------------------------------

/// Back to the best point at half the rate, when steps are too long to find a better one.
static cr_status halve(cri_minimiser *m, cr_error *err) {
    int64_t idle = m->whole[CRI_WHOLE_IDLE];
    if (m->options.halve <= 0 || idle == 0 || idle % m->options.halve != 0) {
        return CR_OK;
    }
    bool has_value = false;
    double loss = 0.0, part = m->number[CRI_NUMBER_DAMPING];
    m->number[CRI_NUMBER_DAMPING] = 0.5 * (part > 0.0 ? part : 1.0);
    CR_TRY(minimiser_evaluate(m, m->best, &loss, m->trial_g, &has_value, err));
    if (has_value) {
        m->number[CRI_NUMBER_LOSS] = loss;
        memcpy(m->z, m->best, (size_t)m->objective->n * sizeof *m->z);
        memcpy(m->gradient, m->trial_g, (size_t)m->objective->n * sizeof *m->gradient);
    }
    return CR_OK;
}

static cr_status adam(cri_minimiser *m, bool *is_moved, cr_error *err) {
    const cri_objective *o = m->objective;
    const double *beta = m->options.beta;
    CR_TRY(halve(m, err));
    double cut = m->number[CRI_NUMBER_DAMPING];
    double rate = m->options.rate * (cut > 0.0 ? cut : 1.0);
    double *mean = m->memory;
    double *square = m->memory + o->n;
    double k = (double)(m->whole[CRI_WHOLE_ITERATION] + 1);
    double weight = 1.0 - pow(beta[0], k);
    double weight2 = 1.0 - pow(beta[1], k);
    double most = 0.0;
    for (int j = 0; j < o->n; j++) {
        double g = m->gradient[j];
        mean[j] = beta[0] * mean[j] + (1.0 - beta[0]) * g;
        square[j] = beta[1] * square[j] + (1.0 - beta[1]) * g * g;
        most = fmax(most, square[j]);
    }
    // of the largest entry: a loss that a far body changes by 1e-12 m^2 has a direction as well
    double floor = fmax(ADAM_EPS * sqrt(most / weight2), DBL_MIN);
    for (int j = 0; j < o->n; j++) {
        m->direction[j] = -rate * (mean[j] / weight) / (sqrt(square[j] / weight2) + floor);
    }
    *is_moved = false;
    for (int i = 0; i < HALVINGS && !*is_moved; i++) {
        double part = i < 2 ? ldexp(1.0, -i) : i == 2 ? 2.0 : ldexp(1.0, 1 - i);
        for (int j = 0; j < o->n; j++) {
            double to = m->z[j] + part * m->direction[j];
            m->trial[j] = cri_domain_clamp(&o->domain[j], m->z[j], to);
        }
        double loss = 0.0;
        CR_TRY(minimiser_evaluate(m, m->trial, &loss, m->trial_g, is_moved, err));
        if (*is_moved) {
            m->number[CRI_NUMBER_LOSS] = loss;
            memcpy(m->z, m->trial, (size_t)o->n * sizeof *m->z);
            memcpy(m->gradient, m->trial_g, (size_t)o->n * sizeof *m->gradient);
        }
    }
    return CR_OK;
}

/// One step of least_squares.c; the gradient is 2 J'r.
static cr_status gauss_newton(cri_minimiser *m, cri_minimise_stop *stop, cr_error *err) {
    const cri_objective *o = m->objective;
    cri_lsq_state state = {.scale = m->memory,
                           .damping = m->number[CRI_NUMBER_DAMPING],
                           .growth = m->number[CRI_NUMBER_GROWTH],
                           .has_values = m->has_values,
                           .loss = m->number[CRI_NUMBER_LOSS],
                           .reach = m->options.rate};
    cri_arrow_block block = {.m = o->m};
    cri_arrow arrow = {.n_shared = o->n, .n_block = 1, .block = &block};
    cri_arrow_place(&arrow);
    cri_lsq problem = {.arrow = &arrow,
                       .residuals = o->residuals,
                       .context = o->context,
                       .domain = o->domain,
                       .iteration_limit = 1,
                       .flat = FLAT};
    cri_lsq_result result = {0};
    CR_TRY(cri_lsq_advance(&problem, &state, m->z, m->r, m->J, &result, err));
    m->has_values = true;
    m->whole[CRI_WHOLE_EVALUATION] += result.n_trial;
    m->number[CRI_NUMBER_DAMPING] = state.damping;
    m->number[CRI_NUMBER_GROWTH] = state.growth;
    m->number[CRI_NUMBER_LOSS] = result.loss;
    cri_arrow_slope(&arrow, m->J, m->r, m->gradient);
    for (int j = 0; j < o->n; j++) {
        m->gradient[j] *= 2.0;
    }
    bool is_best = result.stop == CRI_LSQ_GRADIENT || result.stop == CRI_LSQ_FLAT;
    *stop = is_best                            ? CRI_MINIMISE_CONVERGED
            : result.stop == CRI_LSQ_ITERATION ? CRI_MINIMISE_GOES_ON
                                               : CRI_MINIMISE_STALLED;
    return CR_OK;
}

static cr_status step(cri_minimiser *m, cri_minimise_stop *stop, cr_error *err) {
    bool is_moved = true;
    *stop = CRI_MINIMISE_GOES_ON;
    switch (m->options.method) {
    case CRI_METHOD_ADAM:
        CR_TRY(adam(m, &is_moved, err));
        break;
    case CRI_METHOD_LBFGS:
        CR_TRY(lbfgs_iterate(m, &is_moved, err));
        break;
    case CRI_METHOD_GAUSS_NEWTON:
        CR_TRY(gauss_newton(m, stop, err));
        break;
    }
    *stop = is_moved ? *stop : CRI_MINIMISE_STALLED;
    return CR_OK;
}

cr_status cri_minimiser_iterate(cri_minimiser *m, cr_error *err) {
    if (cri_minimiser_stop(m) != CRI_MINIMISE_GOES_ON) {
        return CR_OK;
    }
    cri_minimise_stop stop = CRI_MINIMISE_GOES_ON;
    CR_TRY(step(m, &stop, err));
    m->whole[CRI_WHOLE_ITERATION]++;
    keep_best(m);
    if (stop == CRI_MINIMISE_GOES_ON && m->whole[CRI_WHOLE_IDLE] >= m->options.patience) {
        stop = CRI_MINIMISE_STALLED;
    }
    m->whole[CRI_WHOLE_STOP] = is_flat(m) ? CRI_MINIMISE_CONVERGED : stop;
    return CR_OK;
}
