// SPDX-License-Identifier: MIT
//
// Tests on cmocka: checks that count and go on, and derivatives against differences.
//
//     TEST(two_spheres_conserve_momentum) {
//         CHECK(n == 2);
//         CHECK_CLOSE(after, before, 1e-12, 1e-12); // rounding of a dozen operations
//     }
//
//     CR_TEST_MAIN(two_spheres_conserve_momentum)
//
// A failed check prints itself and the test goes on; the test fails at its end and the program
// returns non-zero. Plain cmocka tests and assertions may stand beside: cmocka_unit_test(f) in the
// list.
//
// Environment:
//   CAROM_TOLERANCE_SCALE   multiplies every tolerance; 0 prints all residuals and fails none
//   CAROM_TEST_STOP         if set, the first failed check ends the program
//   CAROM_TEST_STRIDE       of many cases alike one in so many is tried; set under the sanitizers,
//                           which are after memory
//   CAROM_TEST_SEED         the commit, which draws cases (cr_test_is_drawn); make sets it
//   CAROM_TEST_LONG         if set, every case is drawn

#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

// ---- tests and checks --------------------------------------------------------------------------

/// Defines a test, to be listed in CR_TEST_MAIN: the compiler finds the one that is not.
#define TEST(test)                                                                                 \
    static void test##_body(void);                                                                 \
    static void test##_run(void **state) {                                                         \
        (void)state;                                                                               \
        cr_test_run(test##_body);                                                                  \
    }                                                                                              \
    static const struct CMUnitTest test = {#test, test##_run, NULL, NULL, NULL};                   \
    static void test##_body(void)

/// The program: runs all tests, returns 0 when all passed, 1 otherwise.
#define CR_TEST_MAIN(...)                                                                          \
    int main(void) {                                                                               \
        const struct CMUnitTest tests[] = {__VA_ARGS__};                                           \
        return cr_test_exit(cmocka_run_group_tests(tests, NULL, NULL));                            \
    }

/// True, and counted when it is not.
#define CHECK(cond) cr_test_check((cond), #cond, __FILE__, __LINE__)

/// |a - b| <= abs_tol + rel_tol max(|a|, |b|), both finite.
#define CHECK_CLOSE(a, b, abs_tol, rel_tol)                                                        \
    cr_test_close((a), (b), (abs_tol), (rel_tol), #a, #b, __FILE__, __LINE__)

/// Equal integers.
#define CHECK_INT(a, b) cr_test_int((long long)(a), (long long)(b), #a, #b, __FILE__, __LINE__)

/// Equal strings; NULL equals NULL alone.
#define CHECK_TEXT(a, b) cr_test_text((a), (b), #a, #b, __FILE__, __LINE__)

/// Ends the test here; the summary shows it as skipped.
#define SKIP(reason) cr_test_skip((reason), __FILE__, __LINE__)

// what the macros above call; the checks return whether they held
void cr_test_run(void (*body)(void));
int cr_test_exit(int n_failed_group);
bool cr_test_check(bool is_true, const char *text, const char *file, int line);
bool cr_test_close(double a, double b, double abs_tol, double rel_tol, const char *a_text,
                   const char *b_text, const char *file, int line);
bool cr_test_int(long long a, long long b, const char *a_text, const char *b_text, const char *file,
                 int line);
bool cr_test_text(const char *a, const char *b, const char *a_text, const char *b_text,
                  const char *file, int line);
void cr_test_skip(const char *reason, const char *file, int line);

/// CAROM_TEST_STRIDE, else 1; and of n cases alike how many to try: all when they are few.
int cr_test_stride(void);
int cr_test_share(int n);

/// Whether a slow test tries the case this time: n_drawn of n_case are drawn, others at the next
/// commit. `make long T=...` tries all.
///
///     for (int i = 0; i < N_SCENE; i++) {
///         if (cr_test_is_drawn(i, N_SCENE, 3)) {
bool cr_test_is_drawn(int case_i, int n_case, int n_drawn);

/// Counts n checks that are made elsewhere; the program prints how many it made.
void cr_test_count(int n);

/// Counts a failure that the caller describes.
void cr_test_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// Failures counted in the running test, so that a test can test a check. Sets the count to n and
/// returns what it was.
int cr_test_swap_failures(int n);

/// Text of failures goes to standard error unless is_quiet.
void cr_test_set_quiet(bool is_quiet);

/// The factor of all tolerances, 1 unless CAROM_TOLERANCE_SCALE says otherwise.
double cr_test_tolerance_scale(void);

// ---- random numbers ----------------------------------------------------------------------------

/// A stream of random numbers that is the same on every machine. Any seed will do.
typedef struct cr_test_rng {
    uint64_t state;
} cr_test_rng;

cr_test_rng cr_test_rng_of(uint64_t seed);

/// Uniform in [lower, upper).
double cr_test_uniform(cr_test_rng *rng, double lower, double upper);

// ---- derivatives -------------------------------------------------------------------------------

/// One differentiable function, as a row of the gradient table. Fields that are not given are 0.
typedef struct cr_vjp_case {
    const char *name;
    const char *vjp_name; // function under test, for tools/check_pairs; NULL when there is no vjp
    const char *jvp_name; // likewise
    int n_in, n_out;
    size_t cache_size; // bytes; the cache comes filled with 0xff, a NaN to whoever forgot to write

    void (*forward)(const double *x, double *y, void *cache);

    /// Adds to x_adj.
    void (*vjp)(const double *x, const void *cache, const double *y_adj, double *x_adj);

    /// Fills y_tan, which comes as zero.
    void (*jvp)(const double *x, const void *cache, const double *x_tan, double *y_tan);

    const double *points; // (n_points, n_in)
    int n_points;
    double step;      // largest step of the differences, times max(1, |x_i|); 0: 1e-2
    double tolerance; // relative; 0: 1e-7

    /// (n_in), NULL: no limits. Entry 1: x_i is positive and steps stay within (0, 2 x_i).
    const int *positive;

    /// (n_in), NULL: all free. Entry +1 or -1: x_i lies on the edge of the domain or on a kink and
    /// is only moved up or down, with one-sided differences.
    const int *side;
} cr_vjp_case;

/// Compares, at each point: the whole Jacobian of vjp with differences, entry by entry; products
/// with random directions; accumulation onto adjoints that are not zero; and vjp with jvp to 1e-12.
///
/// Differences are extrapolated over a sweep of steps; the best is where neighbours agree best,
/// never where the gradient under test does.
void cr_test_vjp(const cr_vjp_case *c);
