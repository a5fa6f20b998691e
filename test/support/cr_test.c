// SPDX-License-Identifier: MIT
//
// Checks that count and go on.

#include "cr_test.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_int n_failure;       // in the running test
static atomic_int n_total;         // in the program
static atomic_llong n_check;       // checks that the program made, good or bad
static atomic_bool is_silent;      // a test tests a check
static const double no_scale = -1; // CAROM_TOLERANCE_SCALE not read yet

void cr_test_run(void (*body)(void)) {
    atomic_store(&n_failure, 0);
    body();
    int n = atomic_load(&n_failure);
    if (n > 0) {
        fail_msg("%d failed check%s", n, n == 1 ? "" : "s");
    }
}

void cr_test_count(int n) {
    atomic_fetch_add(&n_check, n);
}

// tools/run_tests adds these lines up; a program ends here whatever its main returns
__attribute__((destructor)) static void print_count(void) {
    printf("%lld checks\n", atomic_load(&n_check));
}

int cr_test_exit(int n_failed_group) {
    // plain cmocka tests don't look at the count, so the program does
    return n_failed_group != 0 || atomic_load(&n_total) != 0;
}

int cr_test_stride(void) {
    const char *text = getenv("CAROM_TEST_STRIDE");
    int stride = text ? atoi(text) : 1;
    return stride > 1 ? stride : 1;
}

int cr_test_share(int n) {
    int stride = cr_test_stride();
    return n > stride ? n / stride : n;
}

bool cr_test_is_drawn(int case_i, int n_case, int n_drawn) {
    if (getenv("CAROM_TEST_LONG")) {
        return true;
    }
    const char *text = getenv("CAROM_TEST_SEED");
    uint64_t seed = cr_test_rng_of(text ? strtoull(text, NULL, 16) : 1).state;

    // as evenly as n_drawn fit into n_case, from where the seed says
    uint64_t place = ((uint64_t)case_i + seed % (uint64_t)n_case) % (uint64_t)n_case;
    return place * (uint64_t)n_drawn % (uint64_t)n_case < (uint64_t)n_drawn;
}

void cr_test_fail(const char *format, ...) {
    atomic_fetch_add(&n_failure, 1);
    if (atomic_load(&is_silent)) {
        return;
    }
    atomic_fetch_add(&n_total, 1);

    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "FAILED %s\n", text);
    if (getenv("CAROM_TEST_STOP")) {
        fflush(NULL);
        _Exit(1);
    }
}

int cr_test_swap_failures(int n) {
    return atomic_exchange(&n_failure, n);
}

void cr_test_set_quiet(bool is_quiet) {
    atomic_store(&is_silent, is_quiet);
}

double cr_test_tolerance_scale(void) {
    static _Atomic double scale = -1;
    double s = atomic_load(&scale);
    if (s == no_scale) {
        const char *text = getenv("CAROM_TOLERANCE_SCALE");
        char *end = NULL;
        s = text ? strtod(text, &end) : 1.0;
        if (text && (end == text || *end != '\0' || !(s >= 0.0))) {
            fprintf(stderr, "CAROM_TOLERANCE_SCALE is no number >= 0: %s\n", text);
            exit(2);
        }
        atomic_store(&scale, s);
    }
    return s;
}

bool cr_test_check(bool is_true, const char *text, const char *file, int line) {
    cr_test_count(1);
    if (!is_true) {
        cr_test_fail("%s:%d: %s", file, line, text);
    }
    return is_true;
}

bool cr_test_close(double a, double b, double abs_tol, double rel_tol, const char *a_text,
                   const char *b_text, const char *file, int line) {
    cr_test_count(1);
    double scale = cr_test_tolerance_scale();
    double residual = fabs(a - b);
    double allowed = abs_tol + rel_tol * fmax(fabs(a), fabs(b));

    if (scale == 0.0) {
        fprintf(stderr, "residual %.3e of %.3e  %s:%d: %s, %s\n", residual, allowed, file, line,
                a_text, b_text);
        return true;
    }

    // written so that a NaN anywhere fails
    if (isfinite(a) && isfinite(b) && residual <= scale * allowed) {
        return true;
    }
    cr_test_fail("%s:%d: %s is %.17g, %s is %.17g, residual %.3e, allowed %.3e", file, line, a_text,
                 a, b_text, b, residual, scale * allowed);
    return false;
}

bool cr_test_int(long long a, long long b, const char *a_text, const char *b_text, const char *file,
                 int line) {
    cr_test_count(1);
    if (a != b) {
        cr_test_fail("%s:%d: %s is %lld, %s is %lld", file, line, a_text, a, b_text, b);
    }
    return a == b;
}

bool cr_test_text(const char *a, const char *b, const char *a_text, const char *b_text,
                  const char *file, int line) {
    cr_test_count(1);
    bool is_equal = a && b ? strcmp(a, b) == 0 : a == b;
    if (!is_equal) {
        cr_test_fail("%s:%d: %s is \"%s\", %s is \"%s\"", file, line, a_text, a ? a : "(null)",
                     b_text, b ? b : "(null)");
    }
    return is_equal;
}

void cr_test_skip(const char *reason, const char *file, int line) {
    fprintf(stderr, "SKIPPED %s:%d: %s\n", file, line, reason);
    skip();
}

cr_test_rng cr_test_rng_of(uint64_t seed) {
    // splitmix64, so that neighbouring seeds give unrelated streams and none is zero
    uint64_t z = seed + 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (cr_test_rng){z ? z : 1};
}

double cr_test_uniform(cr_test_rng *rng, double lower, double upper) {
    // xorshift64*
    uint64_t z = rng->state;
    z ^= z >> 12;
    z ^= z << 25;
    z ^= z >> 27;
    rng->state = z;
    double unit = (double)((z * 0x2545f4914f6cdd1du) >> 11) * 0x1p-53;
    return lower + (upper - lower) * unit;
}
