// SPDX-License-Identifier: MIT
//
// Products of dense matrices.
//
// The loop of our own takes C in tiles of 6 rows and 8 columns, which fill the registers of AVX2; 8
// columns of B are packed first. Each number of C is one sum over k in order, so that neither tiles
// nor vectors show in its bits. A product with one column is a row of dot products, in 8 parts.
//
// BLAS: cblas_dgemm of OpenBLAS, whose interface has not changed since 1999, by the name of the
// library that the build found.

#include "nn/gemm.h"

#include "base/base.h"
#include "nn/lanes.h"

#include <stddef.h>
#include <string.h>

#ifdef CAROM_BLAS_FILE
#include <dlfcn.h>
#endif

enum { TILE_ROW = 6, TILE_COL = CRI_LANE, DEPTH = 256 };

/// A matrix by its steps in memory.
typedef struct view {
    const double *at;
    long row, col;
} view;

/// C = A B, or C += A B.
typedef struct product {
    int m, n, k;
    view a, b;
    double *c;
    long c_row, c_col;
    bool is_adding;
} product;

// ---- the loop of our own -----------------------------------------------------------------------

// part of B: rows from p, 8 columns from j, zero behind the last
CRI_INLINE void pack(const product *x, int p, int depth, int j, double *out) {
    int n = x->n - j < TILE_COL ? x->n - j : TILE_COL;
    const double *from = x->b.at + p * x->b.row + j * x->b.col;
    for (int i = 0; i < depth; i++, from += x->b.row) {
        for (int c = 0; c < TILE_COL; c++) {
            out[i * TILE_COL + c] = c < n ? from[c * x->b.col] : 0.0;
        }
    }
}

// 8 numbers of C, of which n exist
CRI_INLINE void load_row(const product *x, const double *from, int n, cri_lanes *out) {
    double row[TILE_COL] = {0.0};
    if (n == TILE_COL && x->c_col == 1) {
        memcpy(row, from, sizeof row);
    } else {
        for (int c = 0; c < n; c++) {
            row[c] = from[c * x->c_col];
        }
    }
    memcpy(out, row, sizeof row);
}

CRI_INLINE void store_row(const product *x, const cri_lanes *from, int n, double *to) {
    double row[TILE_COL];
    memcpy(row, from, sizeof row);
    if (n == TILE_COL && x->c_col == 1) {
        memcpy(to, row, sizeof row);
    } else {
        for (int c = 0; c < n; c++) {
            to[c * x->c_col] = row[c];
        }
    }
}

// one tile: rows from i, columns from j, over depth rows of B from row p on
CRI_INLINE void add_tile(const product *x, int i, int j, int p, int depth, const double *b,
                         long b_step) {
    int n = x->n - j < TILE_COL ? x->n - j : TILE_COL;
    int m = x->m - i < TILE_ROW ? x->m - i : TILE_ROW;
    const double *a[TILE_ROW];
    cri_lanes sum[TILE_ROW];
    for (int r = 0; r < TILE_ROW; r++) {
        // rows behind the last repeat it, and are not kept
        int row = i + (r < m ? r : m - 1);
        a[r] = x->a.at + row * x->a.row + p * x->a.col;
        if (x->is_adding || p > 0) {
            load_row(x, x->c + row * x->c_row + j * x->c_col, n, &sum[r]);
        } else {
            memset(&sum[r], 0, sizeof sum[r]);
        }
    }
    long step = x->a.col;
    for (int q = 0; q < depth; q++) {
        cri_lanes line;
        cri_lanes_load(b + q * b_step, &line);
        for (int r = 0; r < TILE_ROW; r++) {
            sum[r] += a[r][q * step] * line;
        }
    }
    for (int r = 0; r < TILE_ROW; r++) {
        if (r < m) {
            store_row(x, &sum[r], n, x->c + (i + r) * x->c_row + j * x->c_col);
        }
    }
}

CRI_INLINE void multiply_body(const product *x) {
    double packed[DEPTH * TILE_COL];
    for (int j = 0; j < x->n; j += TILE_COL) {
        // long columns are far apart in memory
        bool is_flat = x->b.col == 1 && j + TILE_COL <= x->n && (x->k < 64 || x->m < 24);
        for (int p = 0; p < x->k; p += DEPTH) {
            int depth = x->k - p < DEPTH ? x->k - p : DEPTH;
            const double *b = x->b.at + p * x->b.row + j;
            if (!is_flat) {
                pack(x, p, depth, j, packed);
                b = packed;
            }
            for (int i = 0; i < x->m; i += TILE_ROW) {
                add_tile(x, i, j, p, depth, b, is_flat ? x->b.row : TILE_COL);
            }
        }
    }
}

CRI_LANES(multiply, (const product *x), (x))

// a row of A times the only column of B, both without gaps
CRI_INLINE void multiply_column_body(const product *x) {
    for (int i = 0; i < x->m; i++) {
        const double *a = x->a.at + i * x->a.row;
        cri_lanes part = {0.0};
        int p = 0;
        for (; p + TILE_COL <= x->k; p += TILE_COL) {
            cri_lanes u, v;
            cri_lanes_load(a + p, &u);
            cri_lanes_load(x->b.at + p, &v);
            part += u * v;
        }
        double sum = cri_lanes_sum(&part);
        for (; p < x->k; p++) {
            sum += a[p] * x->b.at[p];
        }
        double *to = x->c + i * x->c_row;
        *to = x->is_adding ? *to + sum : sum;
    }
}

CRI_LANES(multiply_column, (const product *x), (x))

static void clear(const product *x) {
    for (long i = 0; i < x->m && !x->is_adding; i++) {
        memset(x->c + i * x->c_row, 0, sizeof *x->c * (size_t)x->n);
    }
}

static void run_plain(const product *x) {
    if (x->k == 0) {
        clear(x);
    } else if (x->n == 1 && x->a.col == 1 && x->k > 1) {
        multiply_column(x);
    } else if (x->n < TILE_COL && x->m > x->n) {
        // few columns: tiles of the transposed
        product t = {.m = x->n,
                     .n = x->m,
                     .k = x->k,
                     .a = {x->b.at, x->b.col, x->b.row},
                     .b = {x->a.at, x->a.col, x->a.row},
                     .c = x->c,
                     .c_row = x->c_col,
                     .c_col = x->c_row,
                     .is_adding = x->is_adding};
        multiply(&t);
    } else {
        multiply(x);
    }
}

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

static bool run_blas(const product *x) {
    bool is_large = (double)x->m * x->n * x->k >= BLAS_LEAST && x->m > 1 && x->n >= TILE_COL &&
                    x->k >= TILE_COL;
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

static bool run_blas(const product *x) {
    (void)x;
    return false;
}

#endif

// ---- products ----------------------------------------------------------------------------------

static void run(const product *x) {
    CR_ASSERT(x->m >= 0 && x->n >= 0 && x->k >= 0);
    if (x->m > 0 && x->n > 0 && !run_blas(x)) {
        run_plain(x);
    }
}

void cri_gemm_nt(int m, int n, int k, const double *A, const double *B, double *C, bool is_adding) {
    run(&(product){m, n, k, {A, k, 1}, {B, 1, k}, C, n, 1, is_adding});
}

void cri_gemm_nn(int m, int n, int k, const double *A, const double *B, double *C, bool is_adding) {
    run(&(product){m, n, k, {A, k, 1}, {B, n, 1}, C, n, 1, is_adding});
}

void cri_gemm_tn(int m, int n, int k, const double *A, const double *B, double *C, bool is_adding) {
    run(&(product){m, n, k, {A, 1, m}, {B, n, 1}, C, n, 1, is_adding});
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

void cri_add_rows(int m, int n, const double *A, double *sum) {
    sum_rows(m, n, A, sum);
}
