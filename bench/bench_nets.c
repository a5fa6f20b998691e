// SPDX-License-Identifier: MIT
//
// What nets cost, each the least of many rounds.

#define _POSIX_C_SOURCE 200809L

#include "bench_nets.h"

#include "base/nn/adam.h"
#include "base/nn/gemm.h"
#include "base/nn/mlp.h"
#include "cli/options.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

// rounds, and calls of a round: long enough for the clock
enum { N_ROUND = 100, N_CALL = 5 };

enum { N_ROW = 32, N_STEP = 10, N_NUMBER = 16000, N_ALL = 256 * 256 };

/// Arrays of the measured calls.
typedef struct bench {
    double *a, *b, *c;
    double *w, *w_adj;
    cri_mlp potential, contact;
    cri_mlp_cache cache;
    cri_adam adam;
    cr_arena *arena, *work;
    bool is_good;
} bench;

// of this process alone: the machine may have other work
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double measure(void (*call)(bench *), bench *x) {
    double least = (double)INFINITY;
    for (int i = 0; i < N_ROUND; i++) {
        double start = now();
        for (int k = 0; k < N_CALL; k++) {
            call(x);
        }
        least = fmin(least, (now() - start) / N_CALL);
    }
    return least;
}

static void small_product(bench *x) {
    cri_gemm_nt(N_ROW, 100, 100, x->a, x->b, x->c, false);
}

static void large_product(bench *x) {
    cri_gemm_nt(200, 256, 256, x->a, x->b, x->c, false);
}

static void logistic(bench *x) {
    cri_logistic(N_NUMBER, x->a, x->c);
}

static void softplus(bench *x) {
    cri_activate(CRI_ACT_SOFTPLUS, N_NUMBER, x->a, x->b, x->c);
}

static void forward(bench *x) {
    cri_arena_reset(x->arena);
    x->is_good =
        cri_mlp_gradient(&x->potential, x->w, N_ROW, x->a, NULL, x->c, &x->cache, x->arena) &&
        x->is_good;
}

static void pull(bench *x) {
    x->is_good =
        cri_mlp_gradient_vjp(&x->potential, x->w, &x->cache, NULL, x->a, x->c, x->w_adj, x->work) &&
        x->is_good;
}

static void contact(bench *x) {
    cri_arena_reset(x->arena);
    x->is_good = cri_mlp_value(&x->contact, x->w, N_ROW, x->a, x->c, &x->cache, x->arena) &&
                 cri_mlp_value_vjp(&x->contact, x->w, &x->cache, x->c, NULL, x->w_adj, x->work) &&
                 x->is_good;
}

// what a batch of 32 windows of 10 steps asks of nets and optimiser
static void batch(bench *x) {
    cri_mlp_cache cache[N_STEP], touch;
    int n_potential = cri_mlp_n_weight(&x->potential);
    const double *w_touch = x->w + n_potential;
    double *w_touch_adj = x->w_adj + n_potential;
    cri_arena_reset(x->arena);
    for (int k = 0; k < N_STEP; k++) {
        x->is_good = cri_mlp_gradient(&x->potential, x->w, N_ROW, x->a + k * N_ROW, NULL, x->c,
                                      &cache[k], x->arena) &&
                     x->is_good;
    }
    x->is_good =
        x->is_good &&
        cri_mlp_value(&x->contact, w_touch, N_STEP * N_ROW, x->a, x->c, &touch, x->arena) &&
        cri_mlp_value_vjp(&x->contact, w_touch, &touch, x->c, x->b, w_touch_adj, x->work);
    for (int k = N_STEP - 1; k >= 0; k--) {
        x->is_good = cri_mlp_gradient_vjp(&x->potential, x->w, &cache[k], NULL, x->a, x->b,
                                          x->w_adj, x->work) &&
                     x->is_good;
    }
    const cri_adam_group all = {.first = 0, .n = x->adam.n, .rate = 1.0, .l2 = 1e-4};
    cri_adam_step(&x->adam, 1e-6, 1, &all, x->w_adj, x->w);
}

static void measure_all(bench *x, cli_bench_nets_result *out) {
    out->has_blas = cri_gemm_has_blas();
    out->small_product = 2.0 * N_ROW * 100 * 100 / measure(small_product, x);
    out->large_product = 2.0 * 200 * 256 * 256 / measure(large_product, x);
    out->forward = measure(forward, x);
    out->vjp = measure(pull, x);
    out->contact = measure(contact, x);
    out->batch = measure(batch, x);
    out->logistic = measure(logistic, x) / N_NUMBER;
    out->softplus = measure(softplus, x) / N_NUMBER;
}

int cli_bench_nets(cli_bench_nets_result *out) {
    double *all = calloc(7 * N_ALL, sizeof *all);
    bench x = {.a = all,
               .potential = {.n_layer = 2, .width = {1, 500, 1}},
               .contact = {.n_layer = 3, .width = {2, 100, 100, 1}},
               .arena = cri_arena_create(1 << 20),
               .work = cri_arena_create(1 << 20),
               .is_good = true};
    x.is_good = all && x.arena && x.work;
    if (x.is_good) {
        x.b = all + N_ALL;
        x.c = all + 2 * N_ALL;
        x.w = all + 3 * N_ALL;
        x.w_adj = all + 4 * N_ALL;
        x.adam = cri_adam_of(cri_mlp_n_weight(&x.potential) + cri_mlp_n_weight(&x.contact),
                             all + 5 * N_ALL, all + 6 * N_ALL);
        for (int i = 0; i < N_ALL; i++) {
            x.a[i] = sin(i);
            x.b[i] = cos(i);
            x.w[i] = 0.1 * sin(2.0 * i);
        }
        measure_all(&x, out);
    }
    cri_arena_destroy(x.arena);
    cri_arena_destroy(x.work);
    free(all);
    return x.is_good ? CLI_DONE : cli_failed("bench nets: no memory");
}
