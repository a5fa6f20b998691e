// SPDX-License-Identifier: MIT
//
// Products of dense matrices: large ones by BLAS, others by a loop of our own (gemm_plain.c).
//
// BLAS: cblas_dgemm of OpenBLAS, whose interface has not changed since 1999, by the name of the
// library that the build found.

#include "base/nn/gemm.h"

#include "base/base.h"
#include "base/nn/gemm_parts.h"
#include "base/nn/lanes.h"

#include <stddef.h>
#include <string.h>

#ifdef CAROM_BLAS_FILE
#include <dlfcn.h>
#endif

// ---- BLAS --------------------------------------------------------------------------------------

#ifdef CAROM_BLAS_FILE

// multiplications of a large product. Below, our own loop keeps rows independent of their batch,
// and is as good to a factor of two.
#define BLAS_LEAST 4e6

// cblas.h's numbers
enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, TRANSPOSE = 112 };

typedef void dgemm_call(int order, int trans_a, int trans_b, int m, int n, int k, double alpha,
                        const double *A, int lda, const double *B, int ldb, double beta, double *C,
                        int ldc);

// a symbol's address into a pointer of whatever type; POSIX has them all of one size
static bool find(void *library, const char *name, void *pointer) {
    void *symbol = library ? dlsym(library, name) : NULL;
    memcpy(pointer, &symbol, sizeof symbol);
    return symbol != NULL;
}

// On a processor that it does not know OpenBLAS takes its oldest kernels, which our own loop beats
// twice (docs/nets.md). OPENBLAS_CORETYPE in the environment tells it better.
static bool is_outdated(const char *core) {
    return strcmp(core, "Prescott") == 0 || strcmp(core, "Generic") == 0;
}

// NULL when there is no library, or not one that is wanted. Nothing is kept between calls: the
// loader knows what it has loaded, and answers within the time of a small product.
static dgemm_call *find_blas(void) {
    void *library = dlopen(CAROM_BLAS_FILE, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    dgemm_call *call;
    void (*set_threads)(int);
    int (*get_threads)(void);
    char *(*get_core)(void);
    bool is_good = find(library, "cblas_dgemm", &call) &&
                   find(library, "openblas_set_num_threads", &set_threads) &&
                   find(library, "openblas_get_num_threads", &get_threads) &&
                   find(library, "openblas_get_corename", &get_core) && !is_outdated(get_core());
    if (is_good && get_threads() != 1) {
        set_threads(1);
    }
    if (library) {
        dlclose(library); // it stays
    }
    return is_good ? call : NULL;
}

bool cri_gemm_has_blas(void) {
    return find_blas() != NULL;
}

static bool run_blas(const cri_product *x) {
    bool is_large = (double)x->m * x->n * x->k >= BLAS_LEAST && x->m > 1 && x->n >= CRI_PART &&
                    x->k >= CRI_PART;
    dgemm_call *dgemm = is_large ? find_blas() : NULL;
    if (!dgemm) {
        return false;
    }
    bool is_a_flat = x->a.col == 1;
    bool is_b_flat = x->b.col == 1;
    dgemm(ROW_MAJOR, is_a_flat ? NO_TRANSPOSE : TRANSPOSE, is_b_flat ? NO_TRANSPOSE : TRANSPOSE,
          x->m, x->n, x->k, 1.0, x->a.at, (int)(is_a_flat ? x->a.row : x->a.col), x->b.at,
          (int)(is_b_flat ? x->b.row : x->b.col), x->is_adding ? 1.0 : 0.0, x->c, (int)x->c_row);
    return true;
}

#else

bool cri_gemm_has_blas(void) {
    return false;
}

static bool run_blas(const cri_product *x) {
    (void)x;
    return false;
}

#endif

// ---- products ----------------------------------------------------------------------------------

static void run(const cri_product *x) {
    CR_ASSERT(x->m >= 0 && x->n >= 0 && x->k >= 0);
    if (x->m > 0 && x->n > 0 && !run_blas(x)) {
        cri_gemm_plain(x);
    }
}

void cri_gemm_nt(int m, int n, int k, const double *A, const double *B, double *C, bool is_adding) {
    run(&(cri_product){m, n, k, {A, k, 1}, {B, 1, k}, C, n, 1, is_adding});
}

void cri_gemm_nn(int m, int n, int k, const double *A, const double *B, double *C, bool is_adding) {
    run(&(cri_product){m, n, k, {A, k, 1}, {B, n, 1}, C, n, 1, is_adding});
}

void cri_gemm_tn(int m, int n, int k, const double *A, const double *B, double *C, bool is_adding) {
    run(&(cri_product){m, n, k, {A, 1, m}, {B, n, 1}, C, n, 1, is_adding});
}

CRI_INLINE void sum_rows_body(int m, int n, const double *A, double *restrict sum) {
    for (int i = 0; i < m; i++) {
        const double *row = A + (long)i * n;
        for (int j = 0; j < n; j++) {
            sum[j] += row[j];
        }
    }
}

CRI_LANES(sum_rows, (int m, int n, const double *A, double *sum), (m, n, A, sum))

void cri_sum_rows(int m, int n, const double *A, double *sum) {
    sum_rows(m, n, A, sum);
}
