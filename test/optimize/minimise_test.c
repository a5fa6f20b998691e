// SPDX-License-Identifier: MIT
//
// Minimisation within bounds: minima that are known, losses that jump or have no value, and
// searches that go on from their saved numbers.

#include "optimize/minimise.h"

#include "cr_test.h"

#include <math.h>
#include <string.h>

static const cri_method methods[] = {CRI_METHOD_ADAM, CRI_METHOD_LBFGS, CRI_METHOD_GAUSS_NEWTON};

// ---- losses ------------------------------------------------------------------------------------

// Rosenbrock's valley as two residuals, 10 (y - x^2) and 1 - x; least at (1, 1)
static cr_status valley_residuals(void *context, const double *z, double *r, double *J,
                                  double *loss, cr_error *err) {
    (void)context;
    (void)err;
    r[0] = 10.0 * (z[1] - z[0] * z[0]);
    r[1] = 1.0 - z[0];
    *loss = r[0] * r[0] + r[1] * r[1];
    if (J) {
        J[0] = -20.0 * z[0];
        J[1] = -1.0;
        J[2] = 10.0;
        J[3] = 0.0;
    }
    return CR_OK;
}

static cr_status valley(void *context, const double *z, double *loss, double *gradient,
                        cr_error *err) {
    double r[2], J[4];
    CR_TRY(valley_residuals(context, z, r, J, loss, err));
    if (gradient) {
        gradient[0] = 2.0 * (J[0] * r[0] + J[1] * r[1]);
        gradient[1] = 2.0 * (J[2] * r[0] + J[3] * r[1]);
    }
    return CR_OK;
}

// (z - 3)^2, with 1 more from 2 on, and without a value between 0.5 and 0.6
static cr_status jump(void *context, const double *z, double *loss, double *gradient,
                      cr_error *err) {
    (void)context;
    if (z[0] > 0.5 && z[0] < 0.6) {
        return cri_fail(err, CR_ERR_NUMERIC, 0, "no gradient here");
    }
    *loss = (z[0] - 3.0) * (z[0] - 3.0) + (z[0] >= 2.0 ? 1.0 : 0.0);
    if (gradient) {
        gradient[0] = 2.0 * (z[0] - 3.0);
    }
    return CR_OK;
}

static const cri_domain everywhere[2] = {{-INFINITY, INFINITY, false},
                                         {-INFINITY, INFINITY, false}};

static cri_objective valley_in(const cri_domain *domain) {
    return (cri_objective){2, domain, valley, 2, valley_residuals, NULL};
}

// ---- searches ----------------------------------------------------------------------------------

static int run(cri_minimiser *m, int limit) {
    int n = 0;
    for (; n < limit && cri_minimiser_stop(m) == CRI_MINIMISE_GOES_ON; n++) {
        assert_int_equal(cri_minimiser_iterate(m, NULL), CR_OK);
    }
    return n;
}

static cri_minimiser begin(const cri_objective *o, const cri_minimise_options *options,
                           const double *z, cr_arena *arena) {
    cri_minimiser m;
    assert_int_equal(cri_minimiser_init(o, options, arena, &m, NULL), CR_OK);
    assert_int_equal(cri_minimiser_begin(&m, z, NULL), CR_OK);
    return m;
}

TEST(the_valley_is_followed_to_its_end) {
    const double start[2] = {-1.2, 1.0};
    const int limit[] = {20000, 60, 60};
    for (int i = 0; i < 3; i++) {
        cr_arena *arena = cri_arena_create(4096);
        cri_objective o = valley_in(everywhere);
        cri_minimise_options options = cri_minimise_options_default(methods[i]);
        options.patience = 20000;
        cri_minimiser m = begin(&o, &options, start, arena);
        int n = run(&m, limit[i]);
        double tolerance = methods[i] == CRI_METHOD_ADAM ? 1e-3 : 1e-7;
        CHECK_CLOSE(m.best[0], 1.0, tolerance, 0.0);
        CHECK_CLOSE(m.best[1], 1.0, tolerance, 0.0);
        CHECK_INT(cri_minimiser_iterations(&m), n);
        CHECK(cri_minimiser_evaluations(&m) >= n);
        cri_arena_destroy(arena);
    }
}

static cr_status bowl(void *context, const double *z, double *loss, double *gradient,
                      cr_error *err) {
    (void)context;
    (void)err;
    *loss = 0.0;
    for (int i = 0; i < 2; i++) {
        double d = z[i] - 0.33;
        *loss += d * d;
        if (gradient) {
            gradient[i] = 2.0 * d;
        }
    }
    return CR_OK;
}

// steps of one length go to and fro over the bottom; shorter ones end there
TEST(a_rate_that_is_halved_comes_closer) {
    double loss[2];
    for (int i = 0; i < 2; i++) {
        cr_arena *arena = cri_arena_create(4096);
        cri_objective o = {2, everywhere, bowl, 0, NULL, NULL};
        cri_minimise_options options = cri_minimise_options_default(CRI_METHOD_ADAM);
        options.beta[0] = 0.0;
        options.beta[1] = 0.0;
        options.patience = 1000;
        options.halve = 10 * i;
        cri_minimiser m = begin(&o, &options, (double[]){-1.2, 1.0}, arena);
        run(&m, 200);
        loss[i] = cri_minimiser_loss(&m);
        cri_arena_destroy(arena);
    }
    CHECK(loss[0] > 1e-4);
    CHECK(loss[1] < 1e-6);
}

// with y <= 0.25 the least is where 2 (x - 1) + 400 x (x^2 - 0.25) = 0
TEST(a_bound_is_kept_and_the_least_on_it_is_found) {
    static const cri_domain domain[2] = {{-INFINITY, INFINITY, false}, {-INFINITY, 0.25, false}};
    double x = 0.5;
    for (int i = 0; i < 50; i++) {
        x -= (2.0 * (x - 1.0) + 400.0 * x * (x * x - 0.25)) / (2.0 + 1200.0 * x * x - 100.0);
    }
    for (int i = 0; i < 3; i++) {
        cr_arena *arena = cri_arena_create(4096);
        cri_objective o = valley_in(domain);
        cri_minimise_options options = cri_minimise_options_default(methods[i]);
        options.rate = 0.01;
        cri_minimiser m = begin(&o, &options, (double[]){0.0, 3.0}, arena);
        CHECK(m.z[1] == 0.25); // the start moves into the domain
        run(&m, 2000);
        CHECK_CLOSE(m.best[0], x, methods[i] == CRI_METHOD_ADAM ? 1e-3 : 1e-7, 0.0);
        CHECK(m.best[1] <= 0.25);
        CHECK_CLOSE(m.best[1], 0.25, methods[i] == CRI_METHOD_ADAM ? 1e-3 : 0.0, 0.0);
        cri_arena_destroy(arena);
    }
}

TEST(jumps_and_holes_end_no_search) {
    for (int i = 0; i < 2; i++) {
        cr_arena *arena = cri_arena_create(4096);
        cri_objective o = {.n = 1, .domain = everywhere, .loss = jump};
        cri_minimise_options options = cri_minimise_options_default(methods[i]);
        cri_minimiser m = begin(&o, &options, (double[]){0.0}, arena);
        run(&m, 500);
        // just below 2 the loss is 1, at 3 it is 1 again: both are as good
        CHECK_CLOSE(cri_minimiser_loss(&m), 1.0, 0.05, 0.0);
        CHECK(cri_minimiser_stop(&m) != CRI_MINIMISE_GOES_ON || methods[i] == CRI_METHOD_ADAM);
        cri_arena_destroy(arena);
    }
}

TEST(a_start_without_a_value_is_refused) {
    cr_arena *arena = cri_arena_create(4096);
    cri_objective o = {.n = 1, .domain = everywhere, .loss = jump};
    cri_minimise_options options = cri_minimise_options_default(CRI_METHOD_LBFGS);
    cri_minimiser m;
    cr_error err = {0};
    assert_int_equal(cri_minimiser_init(&o, &options, arena, &m, NULL), CR_OK);
    CHECK_INT(cri_minimiser_begin(&m, (double[]){0.55}, &err), CR_ERR_NUMERIC);
    CHECK_TEXT(err.text, "no gradient here");
    cri_arena_destroy(arena);
}

// Adam's first step has the length of the rate whatever the gradient
TEST(adam_begins_with_a_step_of_the_rate) {
    cr_arena *arena = cri_arena_create(4096);
    cri_objective o = valley_in(everywhere);
    cri_minimise_options options = cri_minimise_options_default(CRI_METHOD_ADAM);
    options.beta[0] = 0.3;
    options.beta[1] = 0.5;
    options.rate = 0.02;
    cri_minimiser m = begin(&o, &options, (double[]){-1.2, 1.0}, arena);
    run(&m, 1);
    CHECK_CLOSE(m.z[0], -1.18, 1e-9, 0.0); // eps beside the gradient
    CHECK_CLOSE(m.z[1], 1.02, 1e-9, 0.0);
    cri_arena_destroy(arena);
}

// the valley in a unit so large that a gradient is 1e-15 of the loss or less: what a far body feels
static cr_status faint_valley(void *context, const double *z, double *loss, double *gradient,
                              cr_error *err) {
    CR_TRY(valley(context, z, loss, gradient, err));
    *loss = 1.0 + 0x1p-60 * *loss;
    for (int j = 0; gradient && j < 2; j++) {
        gradient[j] *= 0x1p-60;
    }
    return CR_OK;
}

TEST(adam_follows_a_faint_gradient_like_a_strong_one) {
    cr_arena *arena = cri_arena_create(4096);
    cri_objective o[2] = {valley_in(everywhere), valley_in(everywhere)};
    o[1].loss = faint_valley;
    cri_minimise_options options = cri_minimise_options_default(CRI_METHOD_ADAM);
    cri_minimiser m[2];
    for (int i = 0; i < 2; i++) {
        m[i] = begin(&o[i], &options, (double[]){-1.2, 1.0}, arena);
        CHECK_INT(run(&m[i], 50), 50);
    }
    CHECK(m[0].z[0] == m[1].z[0] && m[0].z[1] == m[1].z[1]); // powers of two: the same bits
    cri_arena_destroy(arena);
}

TEST(a_saved_search_goes_on_to_the_same_bits) {
    const double start[2] = {-1.2, 1.0};
    for (int i = 0; i < 3; i++) {
        cr_arena *arena = cri_arena_create(4096);
        cri_objective o = valley_in(everywhere);
        cri_minimise_options options = cri_minimise_options_default(methods[i]);
        cri_minimiser whole = begin(&o, &options, start, arena);
        cri_minimiser half = begin(&o, &options, start, arena);
        run(&whole, 14);
        run(&half, 6);
        cri_minimiser rest;
        assert_int_equal(cri_minimiser_init(&o, &options, arena, &rest, NULL), CR_OK);
        memcpy(rest.real, half.real, (size_t)half.n_real * sizeof *half.real);
        memcpy(rest.whole, half.whole, (size_t)half.n_whole * sizeof *half.whole);
        run(&rest, 8);
        CHECK(memcmp(rest.real, whole.real, (size_t)whole.n_real * sizeof *whole.real) == 0);
        CHECK(memcmp(rest.whole, whole.whole, (size_t)whole.n_whole * sizeof *whole.whole) == 0);
        cri_arena_destroy(arena);
    }
}

TEST(methods_have_words) {
    cri_method method;
    for (int i = 0; i < 3; i++) {
        CHECK(cri_method_find(cri_method_text(methods[i]), &method) && method == methods[i]);
    }
    CHECK(!cri_method_find("newton", &method));
}

CR_TEST_MAIN(the_valley_is_followed_to_its_end, a_rate_that_is_halved_comes_closer,
             a_bound_is_kept_and_the_least_on_it_is_found, jumps_and_holes_end_no_search,
             a_start_without_a_value_is_refused, adam_begins_with_a_step_of_the_rate,
             adam_follows_a_faint_gradient_like_a_strong_one,
             a_saved_search_goes_on_to_the_same_bits, methods_have_words)
