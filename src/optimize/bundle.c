// SPDX-License-Identifier: MIT
//
// Gradient bundles.
//
//   first order    F = mean f(z + sigma w)
//                  gradient = mean of the gradients there
//   zeroth order   F = mean (f(z + sigma w) + f(z - sigma w)) / 2
//                  gradient = mean (f(z + sigma w) - f(z - sigma w)) w / (2 sigma)
//
// Points beyond a bound are moved onto it. The means run over the draws that have a value, in their
// order; when less than half have one, F has none.

#include "optimize/bundle.h"

#include "base/io/number.h"
#include "base/math/dense.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

// numbers of the stream that the draws come from
#define STREAM 0x62756e646c65u

// most draws of one bundle: more runs than these take an iteration to minutes
#define DRAW_LIMIT 100000

bool cri_bundle_parse(const char *text, cri_bundle_options *out) {
    size_t n = strcspn(text, ":");
    double count = 0.0;
    if (text[n] != ':' || cri_number_parse(text, n, &count) != CRI_NUMBER_OK || count < 1.0 ||
        count > DRAW_LIMIT || count != floor(count)) {
        return false;
    }
    const char *rest = text + n + 1;
    n = strcspn(rest, ":");
    if (cri_number_parse(rest, n, &out->sigma) != CRI_NUMBER_OK || !(out->sigma > 0.0)) {
        return false;
    }
    const char *order = rest[n] ? rest + n + 1 : "first";
    out->n = (int)count;
    out->is_zeroth = strcmp(order, "zeroth") == 0;
    return out->is_zeroth || strcmp(order, "first") == 0;
}

/// Work goes to z + k w, within the domain.
static void shift(cri_bundle *b, const double *z, const double *w, double k) {
    for (int j = 0; j < b->inner->n; j++) {
        b->z[j] = cri_domain_clamp(&b->inner->domain[j], z[j], z[j] + k * w[j]);
    }
}

/// Adds what one draw has to say to *sum and to gradient, unless it is NULL; *is_good is false when
/// that is nothing.
static cr_status add_first(cri_bundle *b, const double *z, const double *w, double *sum,
                           double *gradient, bool *is_good, cr_error *err) {
    const cri_objective *f = b->inner;
    double loss = 0.0;
    shift(b, z, w, b->options.sigma);
    cr_status status = f->loss(f->context, b->z, &loss, gradient ? b->gradient : NULL, err);
    *is_good = status == CR_OK && isfinite(loss);
    if (*is_good) {
        *sum += loss;
        if (gradient) {
            cri_add_scaled(f->n, 1.0, b->gradient, gradient);
        }
    }
    return status == CR_ERR_MEMORY ? status : CR_OK;
}

static cr_status add_zeroth(cri_bundle *b, const double *z, const double *w, double *sum,
                            double *gradient, bool *is_good, cr_error *err) {
    const cri_objective *f = b->inner;
    double loss[2] = {0.0, 0.0};
    *is_good = true;
    for (int side = 0; side < 2; side++) {
        shift(b, z, w, side == 0 ? b->options.sigma : -b->options.sigma);
        cr_status status = f->loss(f->context, b->z, &loss[side], NULL, err);
        if (status == CR_ERR_MEMORY) {
            return status;
        }
        *is_good = *is_good && status == CR_OK && isfinite(loss[side]);
    }
    if (*is_good) {
        *sum += 0.5 * (loss[0] + loss[1]);
        if (gradient) {
            cri_add_scaled(f->n, (loss[0] - loss[1]) / (2.0 * b->options.sigma), w, gradient);
        }
    }
    return CR_OK;
}

static cr_status evaluate(void *context, const double *z, double *loss, double *gradient,
                          cr_error *err) {
    cri_bundle *b = context;
    int n = b->inner->n;
    int n_good = 0;
    double sum = 0.0;
    if (gradient) {
        memset(gradient, 0, (size_t)n * sizeof *gradient);
    }
    for (int i = 0; i < b->options.n; i++) {
        const double *w = b->noise + (size_t)i * (size_t)n;
        bool is_good = false;
        if (b->options.is_zeroth) {
            CR_TRY(add_zeroth(b, z, w, &sum, gradient, &is_good, err));
        } else {
            CR_TRY(add_first(b, z, w, &sum, gradient, &is_good, err));
        }
        n_good += is_good;
    }
    if (2 * n_good < b->options.n) {
        return cri_fail(err, CR_ERR_NUMERIC, 0,
                        "%d of %d draws of the bundle have no value; lower its sigma",
                        b->options.n - n_good, b->options.n);
    }
    *loss = sum / n_good;
    for (int j = 0; gradient && j < n; j++) {
        gradient[j] /= n_good;
    }
    return CR_OK;
}

cr_status cri_bundle_init(const cri_objective *inner, const cri_bundle_options *options,
                          cr_arena *arena, cri_bundle *out, cr_error *err) {
    CR_ASSERT(options->n > 0 && options->sigma > 0.0);
    size_t n = (size_t)inner->n;
    size_t n_noise = (size_t)options->n * n;
    *out = (cri_bundle){.options = *options, .inner = inner};
    out->noise = CR_PUSH(arena, double, n_noise);
    out->z = CR_PUSH(arena, double, n);
    out->gradient = CR_PUSH(arena, double, n);
    if (!out->noise || !out->z || !out->gradient) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a bundle of %d", options->n);
    }
    cri_random stream = cri_random_of(options->seed, STREAM);
    for (size_t i = 0; i < n_noise; i++) {
        out->noise[i] = cri_random_normal(&stream);
    }
    out->objective =
        (cri_objective){.n = inner->n, .domain = inner->domain, .loss = evaluate, .context = out};
    return CR_OK;
}
