// SPDX-License-Identifier: MIT
//
// Adjoints and tangents against differences.
//
// The difference quotient D(h) along v is taken at h, h/2, h/4, ... over five decades and
// extrapolated:
//
//     central     D = (f(x + h v) - f(x - h v)) / 2h    R = (4 D(h/2) - D(h)) / 3
//     one-sided   D = (f(x + h v) - f(x)) / h           A = 2 D(h/2) - D(h)
//                                                       R = (4 A(h/2) - A(h)) / 3
//
// For each output the R whose next neighbour differs least wins, and that difference plus the
// rounding error of D is its uncertainty. The steps end where that is a fiftieth of the tolerance,
// or where rounding takes over. The gradient under test has no part in the choice; its size has one
// in the end.

#include "cr_test.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    N_STEP = 17,  // halvings from 1e-2 to 1.5e-7
    N_RANDOM = 4, // random directions a point
    N_SHOWN = 8,  // failures printed a case
};

// bound on what two ways of the same sum may differ by, relative to the sum of its absolute terms
static const double rounding = 1e-12;

typedef struct bench {
    const cr_vjp_case *c;
    const double *x; // (n_in) the point
    int point_i;
    double *scale;     // (n_in) unit of a step in each input
    double *y;         // (n_out)
    double *jac;       // (n_out, n_in) from vjp, or from jvp when there is no vjp
    double *num;       // (n_out) difference along one direction
    double *unc;       // (n_out) its uncertainty
    double *row;       // (n_out) largest scaled entry of a row of jac
    double *quotient;  // (N_STEP, n_out)
    double *x_moved;   // (n_in)
    double *y_moved;   // (n_out)
    double *v;         // (n_in)
    double *y_adj;     // (n_out)
    double *x_adj;     // (n_in)
    double *x_adj0;    // (n_in)
    double *y_tan;     // (n_out)
    void *cache;       // of x
    void *cache_copy;  // to see that it is only read
    void *cache_moved; // of moved points
    double all;        // largest of row
    double worst;      // largest residual so far, in units of what is allowed
    int n_fail;
} bench;

static void *take(size_t n) {
    void *block = calloc(n ? n : 1, 1);
    if (!block) {
        fprintf(stderr, "cr_test_vjp: no memory\n");
        exit(2);
    }
    return block;
}

static double *doubles(int n) {
    return take((size_t)n * sizeof(double));
}

static bench bench_create(const cr_vjp_case *c) {
    int n = c->n_in;
    int m = c->n_out;
    return (bench){.c = c,
                   .scale = doubles(n),
                   .y = doubles(m),
                   .jac = doubles(m * n),
                   .num = doubles(m),
                   .unc = doubles(m),
                   .row = doubles(m),
                   .quotient = doubles(N_STEP * m),
                   .x_moved = doubles(n),
                   .y_moved = doubles(m),
                   .v = doubles(n),
                   .y_adj = doubles(m),
                   .x_adj = doubles(n),
                   .x_adj0 = doubles(n),
                   .y_tan = doubles(m),
                   .cache = take(c->cache_size),
                   .cache_copy = take(c->cache_size),
                   .cache_moved = take(c->cache_size)};
}

static void bench_clear(bench *b) {
    double *arrays[] = {b->scale,   b->y,       b->jac, b->num,   b->unc,   b->row,    b->quotient,
                        b->x_moved, b->y_moved, b->v,   b->y_adj, b->x_adj, b->x_adj0, b->y_tan};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        free(arrays[i]);
    }
    free(b->cache);
    free(b->cache_copy);
    free(b->cache_moved);
}

// counts a residual above allowed, or one that is no number
static void judge(bench *b, const char *what, int out, int in, double got, double want,
                  double allowed) {
    cr_test_count(1);
    double residual = fabs(got - want);
    double scale = cr_test_tolerance_scale();
    double ratio = residual <= 0.0 ? 0.0 : residual / fmax(allowed, DBL_MIN);
    b->worst = fmax(b->worst, isfinite(ratio) ? ratio : HUGE_VAL);
    if (scale == 0.0 || (isfinite(got) && isfinite(want) && residual <= scale * allowed)) {
        return;
    }
    b->n_fail++;
    if (b->n_fail <= N_SHOWN) {
        cr_test_fail(
            "%s, point %d: %s, output %d, input %d: %.12g instead of %.12g, residual %.2e, "
            "allowed %.2e",
            b->c->name, b->point_i, what, out, in, got, want, residual, scale * allowed);
    }
}

static void complain(bench *b, const char *what) {
    b->n_fail++;
    if (b->n_fail <= N_SHOWN) {
        cr_test_fail("%s, point %d: %s", b->c->name, b->point_i, what);
    }
}

static double tolerance_of(const cr_vjp_case *c) {
    return c->tolerance > 0.0 ? c->tolerance : 1e-7;
}

// ---- differences -------------------------------------------------------------------------------

static void evaluate(bench *b, double h, double *y) {
    const cr_vjp_case *c = b->c;
    for (int i = 0; i < c->n_in; i++) {
        b->x_moved[i] = b->x[i] + h * b->v[i];
    }
    memset(b->cache_moved, 0xff, c->cache_size);
    for (int j = 0; j < c->n_out; j++) {
        y[j] = NAN;
    }
    c->forward(b->x_moved, y, b->cache_moved);
}

static double first_step(const bench *b) {
    const cr_vjp_case *c = b->c;
    double h = c->step > 0.0 ? c->step : 1e-2;
    for (int i = 0; c->positive && i < c->n_in; i++) {
        if (c->positive[i] && b->v[i] != 0.0) {
            h = fmin(h, 0.5 * b->x[i] / fabs(b->v[i]));
        }
    }
    return h;
}

static bool is_one_sided(const bench *b) {
    for (int i = 0; b->c->side && i < b->c->n_in; i++) {
        if (b->c->side[i] && b->v[i] != 0.0) {
            return true;
        }
    }
    return false;
}

// extrapolation that starts at row k; d is one column of the quotients, m apart
static double extrapolate(const double *d, int m, int k, bool one_sided) {
    const double *e = d + k * m;
    if (!one_sided) {
        return (4.0 * e[m] - e[0]) / 3.0;
    }
    double a0 = 2.0 * e[m] - e[0];
    double a1 = 2.0 * e[2 * m] - e[m];
    return (4.0 * a1 - a0) / 3.0;
}

// quotients at the step h
static void fill_quotient(bench *b, double h, bool one_sided, double *d) {
    evaluate(b, h, d);
    evaluate(b, one_sided ? 0.0 : -h, b->y_moved);
    for (int j = 0; j < b->c->n_out; j++) {
        d[j] = (d[j] - b->y_moved[j]) / (one_sided ? h : 2.0 * h);
    }
}

// what an entry of a row is asked for at least: a thousandth of the row's size, and in rows that
// vanish by cancellation what is left of the others
static double entry_floor(const bench *b, int j) {
    return fmax(1e-3 * b->row[j], 1e-7 * b->all);
}

// takes the extrapolation that starts at row k where it is the best so far; true when smaller steps
// cannot matter: all uncertainties are far below the tolerance, or below the noise of the next step
static bool improve(bench *b, int k, double h, bool one_sided, double x_size) {
    int m = b->c->n_out;
    bool is_done = true;
    for (int j = 0; j < m; j++) {
        double here = extrapolate(b->quotient + j, m, k, one_sided);
        double next = extrapolate(b->quotient + j, m, k + 1, one_sided);
        double noise = 2.0 * DBL_EPSILON * (fabs(b->y[j]) + fabs(next) * x_size) / h;
        double unc = fabs(next - here) + noise;
        if (unc < b->unc[j]) {
            b->num[j] = next;
            b->unc[j] = unc;
        }
        double enough = 0.02 * tolerance_of(b->c) * fmax(fabs(b->num[j]), entry_floor(b, j));
        is_done = is_done && (b->unc[j] <= enough || b->unc[j] <= 2.0 * noise);
    }
    return is_done;
}

// fills num and unc with the derivative along v; an unc of infinity means there is none
static void differentiate(bench *b) {
    int m = b->c->n_out;
    bool one_sided = is_one_sided(b);
    double first = first_step(b);
    double x_size = 0.0;
    for (int i = 0; i < b->c->n_in; i++) {
        x_size = fmax(x_size, b->v[i] != 0.0 ? fabs(b->x[i] / b->v[i]) : 0.0);
    }
    for (int j = 0; j < m; j++) {
        b->num[j] = NAN;
        b->unc[j] = HUGE_VAL;
    }

    // rows that two neighbouring extrapolations need
    int n_need = one_sided ? 4 : 3;
    bool is_done = false;
    double h = first;
    for (int k = 0; k < N_STEP && !is_done; k++, h /= 2.0) {
        fill_quotient(b, h, one_sided, b->quotient + k * m);
        if (k + 1 >= n_need) {
            int start = k + 1 - n_need;
            is_done = improve(b, start, first / 4.0 / ldexp(1.0, start), one_sided, x_size);
        }
    }
}

// ---- the derivative under test -----------------------------------------------------------------

// without a cache the function may keep its own, which the differences have overwritten
static void refresh(bench *b) {
    if (b->c->cache_size == 0) {
        b->c->forward(b->x, b->y_moved, b->cache);
    }
}

static void call_vjp(bench *b) {
    const cr_vjp_case *c = b->c;
    refresh(b);
    memcpy(b->cache_copy, b->cache, c->cache_size);
    c->vjp(b->x, b->cache, b->y_adj, b->x_adj);
    if (c->cache_size > 0 && memcmp(b->cache_copy, b->cache, c->cache_size) != 0) {
        complain(b, "vjp writes to its cache");
        memcpy(b->cache, b->cache_copy, c->cache_size);
    }
}

static void call_jvp(bench *b) {
    refresh(b);
    memset(b->y_tan, 0, (size_t)b->c->n_out * sizeof *b->y_tan);
    b->c->jvp(b->x, b->cache, b->v, b->y_tan);
}

static void clear(double *a, int n) {
    memset(a, 0, (size_t)n * sizeof *a);
}

// jac by unit adjoints or, without a vjp, by unit tangents; then the sizes of its rows
static void fill_jacobian(bench *b) {
    int n = b->c->n_in;
    int m = b->c->n_out;
    for (int j = 0; b->c->vjp && j < m; j++) {
        clear(b->y_adj, m);
        clear(b->x_adj, n);
        b->y_adj[j] = 1.0;
        call_vjp(b);
        memcpy(b->jac + j * n, b->x_adj, (size_t)n * sizeof *b->jac);
    }
    for (int i = 0; !b->c->vjp && i < n; i++) {
        clear(b->v, n);
        b->v[i] = 1.0;
        call_jvp(b);
        for (int j = 0; j < m; j++) {
            b->jac[j * n + i] = b->y_tan[j];
        }
    }

    b->all = 0.0;
    for (int j = 0; j < m; j++) {
        b->row[j] = 0.0;
        for (int i = 0; i < n; i++) {
            b->row[j] = fmax(b->row[j], fabs(b->jac[j * n + i]) * b->scale[i]);
        }
        b->all = fmax(b->all, b->row[j]);
    }
}

// ---- comparisons -------------------------------------------------------------------------------

// of how many inputs one is differentiated
static int entry_stride(int n) {
    int stride = cr_test_stride();
    return n > stride ? stride : 1;
}

static void check_entries(bench *b) {
    int n = b->c->n_in;
    int m = b->c->n_out;
    double tol = tolerance_of(b->c);
    int stride = entry_stride(n);
    for (int i = 0; i < n; i += stride) {
        clear(b->v, n);
        b->v[i] = b->c->side && b->c->side[i] < 0 ? -b->scale[i] : b->scale[i];
        differentiate(b);
        for (int j = 0; j < m; j++) {
            double got = b->jac[j * n + i] * b->v[i];
            double floor = entry_floor(b, j);
            double size = fmax(fabs(got), fabs(b->num[j]));
            judge(b, "entry", j, i, got, b->num[j], tol * fmax(size, floor) + 4.0 * b->unc[j]);

            // a difference that is all noise proves nothing
            size = fmax(fmax(size, b->row[j]), fmax(1e-6 * b->all, 1e-3 * fabs(b->y[j])));
            if (b->unc[j] > 10.0 * tol * size + 1e-12) {
                judge(b, "differences do not settle", j, i, b->num[j], got, 0.0);
            }
        }
    }
}

// random products, linearity and accumulation
static void check_products(bench *b, cr_test_rng *rng) {
    int n = b->c->n_in;
    int m = b->c->n_out;
    double tol = tolerance_of(b->c);
    for (int i = 0; i < n; i++) {
        b->v[i] = b->scale[i] * cr_test_uniform(rng, -1.0, 1.0);
        if (b->c->side && b->c->side[i]) {
            b->v[i] = b->c->side[i] * fabs(b->v[i]);
        }
        b->x_adj0[i] = cr_test_uniform(rng, 1.0, 2.0);
    }
    for (int j = 0; j < m; j++) {
        b->y_adj[j] = cr_test_uniform(rng, -1.0, 1.0);
    }

    double num = 0.0;
    double unc = 0.0;
    differentiate(b);
    for (int j = 0; j < m; j++) {
        num += b->y_adj[j] * b->num[j];
        unc += fabs(b->y_adj[j]) * b->unc[j];
    }

    memcpy(b->x_adj, b->x_adj0, (size_t)n * sizeof *b->x_adj);
    if (b->c->vjp) {
        call_vjp(b);
    }
    double got = 0.0;  // <x_adj, v>
    double size = 0.0; // sum of the absolute terms
    for (int i = 0; i < n; i++) {
        double sum = 0.0;
        double part = 0.0;
        for (int j = 0; j < m; j++) {
            sum += b->jac[j * n + i] * b->y_adj[j];
            part += fabs(b->jac[j * n + i] * b->y_adj[j]);
        }
        got += sum * b->v[i];
        size += part * fabs(b->v[i]);
        if (b->c->vjp) {
            judge(b, "accumulation or linearity of vjp", -1, i, b->x_adj[i], b->x_adj0[i] + sum,
                  rounding * (part + fabs(b->x_adj0[i])));
        }
    }
    double allowed = tol * fmax(fmax(fabs(num), fabs(got)), 1e-3 * size) + 4.0 * unc;
    judge(b, "random product", -1, -1, got, num, allowed);

    if (b->c->jvp) {
        call_jvp(b);
        double product = 0.0;
        for (int j = 0; j < m; j++) {
            product += b->y_adj[j] * b->y_tan[j];
        }
        judge(b, "<y_adj, jvp> and <vjp, v>", -1, -1, product, got, rounding * size);
    }
}

// each column of jvp against jac
static void check_tangents(bench *b) {
    int n = b->c->n_in;
    int m = b->c->n_out;
    for (int i = 0; i < n; i++) {
        clear(b->v, n);
        b->v[i] = 1.0;
        call_jvp(b);
        for (int j = 0; j < m; j++) {
            // a row that vanishes by cancellation has the rounding of the others
            double row = fmax(b->row[j], 0.1 * b->all);
            judge(b, "jvp against vjp", j, i, b->y_tan[j], b->jac[j * n + i],
                  rounding * (fabs(b->y_tan[j]) + row / b->scale[i]));
        }
    }
}

static void check_point(bench *b, cr_test_rng *rng) {
    const cr_vjp_case *c = b->c;
    for (int i = 0; i < c->n_in; i++) {
        b->scale[i] = fmax(1.0, fabs(b->x[i]));
    }
    memset(b->cache, 0xff, c->cache_size);
    for (int j = 0; j < c->n_out; j++) {
        b->y[j] = NAN;
    }
    c->forward(b->x, b->y, b->cache);
    for (int j = 0; j < c->n_out; j++) {
        if (!isfinite(b->y[j])) {
            complain(b, "forward leaves an output that is no number");
            return;
        }
    }

    fill_jacobian(b);
    check_entries(b);
    for (int k = 0; k < N_RANDOM; k++) {
        check_products(b, rng);
    }
    if (c->vjp && c->jvp) {
        check_tangents(b);
    }
}

void cr_test_vjp(const cr_vjp_case *c) {
    bench b = bench_create(c);
    cr_test_rng rng = cr_test_rng_of(1);
    if (!c->forward || (!c->vjp && !c->jvp) || c->n_points < 1) {
        complain(&b, "the case lacks a function or a point");
    } else {
        for (int k = 0; k < c->n_points; k++) {
            b.x = c->points + (size_t)k * (size_t)c->n_in;
            b.point_i = k;
            check_point(&b, &rng);
        }
    }
    if (b.n_fail > N_SHOWN) {
        cr_test_fail("%s: %d more", c->name, b.n_fail - N_SHOWN);
    }
    if (cr_test_tolerance_scale() == 0.0) {
        fprintf(stderr, "residual %.3e of what is allowed  %s\n", b.worst, c->name);
    }
    bench_clear(&b);
}
