// SPDX-License-Identifier: MIT
//
// The test support tests itself: what is wrong is caught, what is right is not.

#define _POSIX_C_SOURCE 200809L // setenv

#include "cr_test.h"

#include "alloc_wrap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- checks ------------------------------------------------------------------------------------

// failures counted while body runs, which don't count for the test that asks
static int failures_of(void (*body)(void)) {
    int before = cr_test_swap_failures(0);
    cr_test_set_quiet(true);
    body();
    cr_test_set_quiet(false);
    return cr_test_swap_failures(before);
}

static void wrong_checks(void) {
    CHECK(1 + 1 == 3);
    CHECK_CLOSE(1.0, 1.1, 1e-3, 1e-3);
    CHECK_CLOSE(NAN, 1.0, 1e300, 1.0);
    CHECK_CLOSE(1.0, NAN, 1e300, 1.0);
    CHECK_CLOSE(INFINITY, INFINITY, 1e300, 1.0);
    CHECK_INT(3, 4);
    CHECK_TEXT("a", "b");
    CHECK_TEXT("a", NULL);
}

static void right_checks(void) {
    CHECK(1 + 1 == 2);
    CHECK_CLOSE(1.0, 1.1, 0.2, 0.0);
    CHECK_CLOSE(-100.0, -101.0, 0.0, 0.01);
    CHECK_INT(4, 4);
    CHECK_TEXT("a", "a");
    CHECK_TEXT(NULL, NULL);
}

TEST(failed_checks_are_counted_and_the_test_goes_on) {
    if (cr_test_tolerance_scale() != 1.0) {
        SKIP("tolerances are scaled");
    }
    CHECK_INT(failures_of(wrong_checks), 8);
    CHECK_INT(failures_of(right_checks), 0);
}

TEST(random_numbers_are_the_same_everywhere) {
    cr_test_rng a = cr_test_rng_of(7);
    cr_test_rng b = cr_test_rng_of(7);
    cr_test_rng other = cr_test_rng_of(8);
    double sum = 0.0;
    for (int i = 0; i < 1000; i++) {
        double u = cr_test_uniform(&a, -1.0, 3.0);
        CHECK(u >= -1.0 && u < 3.0);
        CHECK(u == cr_test_uniform(&b, -1.0, 3.0));
        CHECK(u != cr_test_uniform(&other, -1.0, 3.0));
        sum += u;
    }
    // mean 1, standard deviation of the mean 4/sqrt(12000) = 0.037
    CHECK_CLOSE(sum / 1000.0, 1.0, 0.15, 0.0);
}

// ---- derivatives: y = (|a| b + 1e-3 sin c, a/b), b > 0 -----------------------------------------

typedef struct pair_cache {
    double sign;
} pair_cache;

static void forward(const double *x, double *y, void *cache) {
    pair_cache *k = cache;
    k->sign = x[0] < 0.0 ? -1.0 : 1.0;
    // a step must never leave the domain
    if (x[1] <= 0.0) {
        abort();
    }
    y[0] = k->sign * x[0] * x[1] + 1e-3 * sin(x[2]);
    y[1] = x[0] / x[1];
}

static void vjp(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    const pair_cache *k = cache;
    x_adj[0] += k->sign * x[1] * y_adj[0] + y_adj[1] / x[1];
    x_adj[1] += k->sign * x[0] * y_adj[0] - y_adj[1] * x[0] / (x[1] * x[1]);
    x_adj[2] += 1e-3 * cos(x[2]) * y_adj[0];
}

static void jvp(const double *x, const void *cache, const double *x_tan, double *y_tan) {
    const pair_cache *k = cache;
    y_tan[0] = k->sign * (x_tan[0] * x[1] + x[0] * x_tan[1]) + 1e-3 * cos(x[2]) * x_tan[2];
    y_tan[1] = x_tan[0] / x[1] - x_tan[1] * x[0] / (x[1] * x[1]);
}

static void vjp_wrong_sign(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    const pair_cache *k = cache;
    x_adj[0] += k->sign * x[1] * y_adj[0] + y_adj[1] / x[1];
    x_adj[1] += k->sign * x[0] * y_adj[0] + y_adj[1] * x[0] / (x[1] * x[1]);
    x_adj[2] += 1e-3 * cos(x[2]) * y_adj[0];
}

static void vjp_wrong_small_sign(const double *x, const void *cache, const double *y_adj,
                                 double *x_adj) {
    vjp(x, cache, y_adj, x_adj);
    x_adj[2] -= 2e-3 * cos(x[2]) * y_adj[0];
}

static void vjp_slightly_off(const double *x, const void *cache, const double *y_adj,
                             double *x_adj) {
    vjp(x, cache, y_adj, x_adj);
    x_adj[0] += 1e-6 * y_adj[0];
}

static void vjp_overwrites(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    memset(x_adj, 0, 3 * sizeof *x_adj);
    vjp(x, cache, y_adj, x_adj);
}

static void vjp_decides_again(const double *x, const void *cache, const double *y_adj,
                              double *x_adj) {
    (void)cache;
    vjp(x, &(pair_cache){1.0}, y_adj, x_adj);
}

static void vjp_gives_nan(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    vjp(x, cache, y_adj, x_adj);
    x_adj[1] += NAN;
}

static void vjp_scribbles(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    vjp(x, cache, y_adj, x_adj);
    ((pair_cache *)(size_t)cache)->sign = 1.0;
}

static void jvp_slightly_off(const double *x, const void *cache, const double *x_tan,
                             double *y_tan) {
    jvp(x, cache, x_tan, y_tan);
    y_tan[1] += 1e-10 * x_tan[0];
}

static void forward_forgets(const double *x, double *y, void *cache) {
    (void)cache;
    forward(x, y, &(pair_cache){0});
}

static const double points[] = {
    0.7,  0.2,   0.3,  //
    -0.7, 1.5,   -2.0, // the other branch
    40.0, 300.0, 1.0,  // large
    0.3,  0.004, 0.5,  // near the edge of the domain
};
static const int positive[] = {0, 1, 0};

static cr_vjp_case good_case(void) {
    return (cr_vjp_case){.name = "pair",
                         .n_in = 3,
                         .n_out = 2,
                         .cache_size = sizeof(pair_cache),
                         .forward = forward,
                         .vjp = vjp,
                         .jvp = jvp,
                         .points = points,
                         .n_points = 4,
                         .positive = positive};
}

static cr_vjp_case current;

static void run_current(void) {
    cr_test_vjp(&current);
}

static int failures_of_case(cr_vjp_case c) {
    current = c;
    return failures_of(run_current);
}

TEST(right_derivatives_pass) {
    cr_vjp_case c = good_case();
    cr_test_vjp(&c);

    c.jvp = NULL;
    cr_test_vjp(&c);

    c.vjp = NULL;
    c.jvp = jvp;
    cr_test_vjp(&c);
}

TEST(wrong_derivatives_are_caught) {
    if (cr_test_tolerance_scale() != 1.0) {
        SKIP("tolerances are scaled");
    }
    void (*const wrong[])(const double *, const void *, const double *, double *) = {
        vjp_wrong_sign,    vjp_wrong_small_sign, vjp_slightly_off, vjp_overwrites,
        vjp_decides_again, vjp_gives_nan,        vjp_scribbles,
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cr_vjp_case c = good_case();
        c.vjp = wrong[i];
        if (!CHECK(failures_of_case(c) > 0)) {
            print_message("wrong derivative %zu survives\n", i);
        }

        // and without the help of the jvp
        c.jvp = NULL;
        CHECK(failures_of_case(c) > 0);
    }

    cr_vjp_case c = good_case();
    c.jvp = jvp_slightly_off;
    CHECK(failures_of_case(c) > 0);

    c = good_case();
    c.forward = forward_forgets;
    CHECK(failures_of_case(c) > 0);

    c = good_case();
    c.n_points = 0;
    CHECK(failures_of_case(c) > 0);
}

// y = 3 x + x^3 to the right of 0, x + x^3 to the left
static void forward_kink(const double *x, double *y, void *cache) {
    (void)cache;
    y[0] = (x[0] > 0.0 ? 3.0 * x[0] : x[0]) + x[0] * x[0] * x[0];
}

static void vjp_kink_right(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    (void)cache;
    x_adj[0] += (3.0 + 3.0 * x[0] * x[0]) * y_adj[0];
}

TEST(one_sided_derivatives_at_a_kink) {
    static const double kink[] = {0.0};
    static const int right[] = {1};
    static const int left[] = {-1};
    cr_vjp_case c = {.name = "kink",
                     .n_in = 1,
                     .n_out = 1,
                     .forward = forward_kink,
                     .vjp = vjp_kink_right,
                     .points = kink,
                     .n_points = 1,
                     .side = right};
    cr_test_vjp(&c);
    if (cr_test_tolerance_scale() == 1.0) {
        c.side = left;
        CHECK(failures_of_case(c) > 0);
        c.side = NULL;
        CHECK(failures_of_case(c) > 0);
    }
}

// a function that moves too wildly for differences proves nothing and must not pass
static void forward_wild(const double *x, double *y, void *cache) {
    (void)cache;
    y[0] = 1e-3 * sin(1e9 * x[0]);
}

static void vjp_wild(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    (void)cache;
    x_adj[0] += 0.9e6 * cos(1e9 * x[0]) * y_adj[0];
}

TEST(differences_that_do_not_settle_are_reported) {
    static const double wild[] = {0.3};
    cr_vjp_case c = {.name = "wild",
                     .n_in = 1,
                     .n_out = 1,
                     .forward = forward_wild,
                     .vjp = vjp_wild,
                     .points = wild,
                     .n_points = 1};
    if (cr_test_tolerance_scale() == 1.0) {
        CHECK(failures_of_case(c) > 0);
    }
}

// ---- heap --------------------------------------------------------------------------------------

TEST(heap_calls_are_counted) {
    long n_call = cr_alloc_count();
    long n_live = cr_alloc_live();
    void *volatile block[4];
    block[0] = malloc(10);
    block[1] = calloc(3, 8);
    block[2] = realloc(NULL, 100);
    block[3] = aligned_alloc(64, 128);
    CHECK_INT(cr_alloc_count() - n_call, 4);
    CHECK_INT(cr_alloc_live() - n_live, 4);

    block[0] = realloc(block[0], 100000);
    CHECK(block[0] != NULL);
    CHECK_INT(cr_alloc_count() - n_call, 5);
    CHECK_INT(cr_alloc_live() - n_live, 4);

    for (int i = 0; i < 4; i++) {
        free(block[i]);
    }
    free(NULL);
    CHECK_INT(cr_alloc_live() - n_live, 0);
}

TEST(the_chosen_heap_call_fails_once) {
    long n_live = cr_alloc_live();
    cr_alloc_fail_at(2);
    void *volatile a = malloc(8);
    CHECK(a != NULL);
    CHECK(!cr_alloc_has_failed());
    void *volatile b = realloc(a, 16);
    CHECK(b == NULL);
    CHECK(cr_alloc_has_failed());
    void *volatile c = calloc(1, 8);
    CHECK(c != NULL);
    CHECK_INT(cr_alloc_live() - n_live, 2);
    free(a);
    free(c);
    CHECK_INT(cr_alloc_live() - n_live, 0);

    cr_alloc_fail_at(1);
    cr_alloc_fail_at(0);
    void *volatile d = malloc(8);
    CHECK(d != NULL);
    free(d);
}

TEST(many_live_blocks_are_kept_apart) {
    enum { N = 20000 };
    long n_live = cr_alloc_live();
    void **block = malloc(N * sizeof *block);
    assert_non_null(block);
    for (int i = 0; i < N; i++) {
        block[i] = malloc(16);
    }
    CHECK_INT(cr_alloc_live() - n_live, N + 1);
    // every third one first, so that gaps close behind others
    for (int k = 0; k < 3; k++) {
        for (int i = k; i < N; i += 3) {
            free(block[i]);
        }
    }
    free(block);
    CHECK_INT(cr_alloc_live() - n_live, 0);
}

// ---- draws -------------------------------------------------------------------------------------

// cases drawn of n, as bits
static uint64_t drawn_of(int n, int n_drawn) {
    uint64_t bits = 0;
    for (int i = 0; i < n; i++) {
        bits |= (uint64_t)cr_test_is_drawn(i, n, n_drawn) << i;
    }
    return bits;
}

static int count_bits(uint64_t bits) {
    int n = 0;
    for (; bits; bits >>= 1) {
        n += (int)(bits & 1);
    }
    return n;
}

TEST(the_commit_draws_as_many_cases_as_asked) {
    char seed[64] = "";
    const char *before = getenv("CAROM_TEST_SEED");
    snprintf(seed, sizeof seed, "%s", before ? before : "");
    bool is_long = getenv("CAROM_TEST_LONG") != NULL;

    uint64_t union_of_commits = 0;
    static const char *const commits[] = {"12a1e33", "9304074", "46e6cb8", "700f44b", "4d88372",
                                          "0dc440b", "9a99e13", "31c2ad9", "fffffff", "0000001"};
    for (size_t k = 0; k < sizeof commits / sizeof *commits; k++) {
        setenv("CAROM_TEST_SEED", commits[k], 1);
        for (int n = 1; n <= 40; n++) {
            CHECK_INT(count_bits(drawn_of(n, n)), n);
            CHECK_INT(count_bits(drawn_of(n, (n + 2) / 3)), is_long ? n : (n + 2) / 3);
        }
        union_of_commits |= drawn_of(6, 2);
    }
    // commits differ in what they draw, and leave nothing out for long
    CHECK_INT(count_bits(union_of_commits), 6);
    setenv("CAROM_TEST_SEED", seed, 1);
}

CR_TEST_MAIN(failed_checks_are_counted_and_the_test_goes_on, random_numbers_are_the_same_everywhere,
             the_commit_draws_as_many_cases_as_asked, right_derivatives_pass,
             wrong_derivatives_are_caught, one_sided_derivatives_at_a_kink,
             differences_that_do_not_settle_are_reported, heap_calls_are_counted,
             the_chosen_heap_call_fails_once, many_live_blocks_are_kept_apart)
