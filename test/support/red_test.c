// SPDX-License-Identifier: MIT
//
// A test that fails when asked to, so that tools/check_red can see CI turn red.
//
// CAROM_RED chooses the way: check, close, assert, plain, vjp, crash or abort. Without it all
// passes.

#include "cr_test.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static bool is_asked_for(const char *way) {
    const char *asked = getenv("CAROM_RED");
    return asked && strcmp(asked, way) == 0;
}

static void square(const double *x, double *y, void *cache) {
    (void)cache;
    y[0] = x[0] * x[0];
}

static void square_vjp_wrong(const double *x, const void *cache, const double *y_adj,
                             double *x_adj) {
    (void)cache;
    double sign = is_asked_for("vjp") ? -1.0 : 1.0;
    x_adj[0] += sign * 2.0 * x[0] * y_adj[0];
}

TEST(a_failed_check) {
    CHECK(!is_asked_for("check"));
}

TEST(a_number_that_is_off) {
    CHECK_CLOSE(is_asked_for("close") ? NAN : 1.0, 1.0, 1e-12, 0.0);
}

TEST(a_wrong_adjoint) {
    static const double point[] = {0.7};
    cr_test_vjp(&(cr_vjp_case){.name = "square",
                               .n_in = 1,
                               .n_out = 1,
                               .forward = square,
                               .vjp = square_vjp_wrong,
                               .points = point,
                               .n_points = 1});
}

static void a_failed_assertion_of_cmocka(void **state) {
    (void)state;
    assert_false(is_asked_for("assert"));
}

// a plain cmocka test does not look at the count of checks; the program does
static void a_failed_check_in_a_plain_test(void **state) {
    (void)state;
    CHECK(!is_asked_for("plain"));
}

TEST(a_crash) {
    if (is_asked_for("crash")) {
        raise(SIGSEGV);
    }
    if (is_asked_for("abort")) {
        abort();
    }
}

CR_TEST_MAIN(a_failed_check, a_number_that_is_off, a_wrong_adjoint,
             cmocka_unit_test(a_failed_assertion_of_cmocka),
             cmocka_unit_test(a_failed_check_in_a_plain_test), a_crash)
