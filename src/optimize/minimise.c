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

#include "optimize/minimise_parts.h"

#include <float.h>
#include <math.h>
#include <string.h>

// of Adam, part of the largest entry below which entries move less
#define ADAM_EPS 1e-8

// halvings of a step to a point without a value
#define HALVINGS 30

// a fall of the best loss below this part of it does not count
#define FALL_LEAST 1e-10

// Gauss-Newton ends when a good step makes the loss fall by less than this part of it
#define FLAT 1e-14

static const char *const method_text[CRI_N_METHOD] = {"adam", "lbfgs", "gauss-newton"};

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
        return cri_lbfgs_numbers(n);
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

cr_status cri_minimiser_evaluate(cri_minimiser *m, const double *z, double *loss, double *gradient,
                                 bool *has_value, cr_error *err) {
    const cri_objective *o = m->objective;
    m->whole[CRI_WHOLE_EVALUATION]++;
    cr_status status = o->loss(o->context, z, loss, gradient, err);
    *has_value = status == CR_OK && isfinite(*loss) && cri_all_finite(o->n, gradient);
    return status == CR_ERR_MEMORY ? status : CR_OK;
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
    CR_TRY(cri_minimiser_evaluate(m, m->best, &loss, m->trial_g, &has_value, err));
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
        CR_TRY(cri_minimiser_evaluate(m, m->trial, &loss, m->trial_g, is_moved, err));
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
        CR_TRY(cri_lbfgs_iterate(m, &is_moved, err));
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
