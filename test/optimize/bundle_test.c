// SPDX-License-Identifier: MIT
//
// Gradient bundles against closed forms of smoothed losses.

#include "optimize/plan.h"

#include "cr_test.h"

#include <math.h>
#include <string.h>

static const cri_domain everywhere[1] = {{-INFINITY, INFINITY, false}};

// z^2: smoothed z^2 + sigma^2
static cr_status square(void *context, const double *z, double *loss, double *gradient,
                        cr_error *err) {
    (void)context;
    (void)err;
    *loss = z[0] * z[0];
    if (gradient) {
        gradient[0] = 2.0 * z[0];
    }
    return CR_OK;
}

// 1 above 0, else 0: smoothed the normal distribution; its gradient is zero wherever there is one
static cr_status stair(void *context, const double *z, double *loss, double *gradient,
                       cr_error *err) {
    (void)context;
    (void)err;
    *loss = z[0] > 0.0 ? 1.0 : 0.0;
    if (gradient) {
        gradient[0] = 0.0;
    }
    return CR_OK;
}

// no value above 0
static cr_status half(void *context, const double *z, double *loss, double *gradient,
                      cr_error *err) {
    return z[0] > 0.0 ? cri_fail(err, CR_ERR_NUMERIC, 0, "none")
                      : square(context, z, loss, gradient, err);
}

static cr_status evaluate(cri_loss *loss, bool is_zeroth, double z, double *value, double *slope) {
    cr_arena *arena = cri_arena_create(4096);
    cri_objective inner = {.n = 1, .domain = everywhere, .loss = loss};
    cri_bundle_options options = {.n = 4000, .sigma = 0.5, .is_zeroth = is_zeroth, .seed = 3};
    cri_bundle bundle;
    assert_int_equal(cri_bundle_init(&inner, &options, arena, &bundle, NULL), CR_OK);
    cr_status status = bundle.objective.loss(bundle.objective.context, &z, value, slope, NULL);
    cri_arena_destroy(arena);
    return status;
}

// means of 4000 draws: a standard error of 1/63 of the spread
TEST(a_square_keeps_its_gradient_and_gains_the_variance) {
    for (int order = 0; order < 2; order++) {
        double value = 0.0, slope = 0.0, again = 0.0;
        CHECK_INT(evaluate(square, order == 1, 1.0, &value, &slope), CR_OK);
        CHECK_CLOSE(value, 1.25, 0.06, 0.0);
        CHECK_CLOSE(slope, 2.0, 0.12, 0.0);
        CHECK_INT(evaluate(square, order == 1, 1.0, &again, &slope), CR_OK);
        CHECK(again == value);
    }
}

TEST(a_stair_has_a_slope_at_zeroth_order_only) {
    double value = 0.0, slope = 0.0;
    CHECK_INT(evaluate(stair, false, 0.0, &value, &slope), CR_OK);
    CHECK(slope == 0.0);
    CHECK_CLOSE(value, 0.5, 0.03, 0.0);
    CHECK_INT(evaluate(stair, true, 0.0, &value, &slope), CR_OK);
    CHECK_CLOSE(slope, 1.0 / (0.5 * sqrt(2.0 * 3.14159265358979)), 0.05, 0.0);
}

TEST(draws_without_a_value_are_left_out_up_to_half) {
    double value = 0.0, slope = 0.0;
    CHECK_INT(evaluate(half, false, -2.0, &value, &slope), CR_OK);
    CHECK_INT(evaluate(half, false, -0.3, &value, &slope), CR_OK);
    CHECK(value > 0.0 && slope < 0.0);
    CHECK_INT(evaluate(half, false, 0.3, &value, &slope), CR_ERR_NUMERIC);
}

TEST(bundles_are_read) {
    cri_bundle_options o = {0};
    CHECK(cri_bundle_parse("20:0.5", &o) && o.n == 20 && o.sigma == 0.5 && !o.is_zeroth);
    CHECK(cri_bundle_parse("7:1e-3:zeroth", &o) && o.n == 7 && o.is_zeroth);
    CHECK(cri_bundle_parse("7:1:first", &o) && !o.is_zeroth);
    static const char *const wrong[] = {"",     "20",    "20:",        "0:1",  "1.5:1", "5:0",
                                        "5:-1", "5:nan", "5:1:second", "5:1:", "a:1",   "1e9:1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (!CHECK(!cri_bundle_parse(wrong[i], &o))) {
            cr_test_fail("%s", wrong[i]);
        }
    }
}

CR_TEST_MAIN(a_square_keeps_its_gradient_and_gains_the_variance,
             a_stair_has_a_slope_at_zeroth_order_only,
             draws_without_a_value_are_left_out_up_to_half, bundles_are_read)
