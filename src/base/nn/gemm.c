// SPDX-License-Identifier: MIT
//
// Products of dense matrices: large ones by BLAS, others by a loop of our own.
//
// BLAS: cblas_dgemm of OpenBLAS, whose interface has not changed since 1999, by the name of the
// library that the build found.

#include "base/nn/gemm.h"

#include "base/base.h"
#include "base/nn/lanes.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#ifdef CAROM_BLAS_FILE
#include <dlfcn.h>
#endif

/// A matrix by its steps in memory.
typedef struct cri_matrix_view {
    const double *at;
    long row, col;
} cri_matrix_view;

/// C = A B, or C += A B.
typedef struct cri_product {
    int m, n, k;
    cri_matrix_view a, b;
    double *c;
    long c_row, c_col;
    bool is_adding;
} cri_product;

enum { TILE_ROW = 6, TILE_THIN = 2, TILE_THREE = 3, TILE_FOUR = 4, TILE_COL = CRI_PART };

enum { SHALLOW = 2, DEPTH = 256, FEW = 3, FEW_TILE = 8 };

// a transposed A is gathered in blocks of rows that stay in the second cache, where the copy is
// read often enough to pay: k and the tiles across are this many at least (by measurement)
enum { BLOCK_ROW = 8 * TILE_ROW, BLOCK_LEAST = 16, BLOCK_ACROSS = 4 };

/// Rows of A, 8 columns of B and where their product goes.
typedef struct strip {
    const double *a[TILE_ROW];
    const double *b;
    long a_step, b_step;
    int depth;
    bool is_fresh; // C is not read
    double *c[TILE_ROW];
} strip;

/// Where a tile is: its first row and column of C, its first row of B.
typedef struct place {
    int i, j, p;
} place;

// ---- a loop of our own --------------------------------------------------------------------------

// The loop takes C in tiles of 6 rows and 8 columns, which fill the registers of AVX2 (or half as
// many of AVX-512, twice as wide). 8 columns of B are packed first, and rows of A where its columns
// have no gaps: rows that are a power of two apart would push each other out of the cache. Each
// number of C is one sum over k in order, so that neither tiles nor vectors show in its bits. A
// product with one column is a row of dot products, in 8 parts.

// 8 columns of B that lie one behind the other, or whose rows do
CRI_INLINE void pack_whole(const cri_matrix_view *b, const double *from, int depth, double *out) {
    for (int i = 0; i < depth; i++) {
        const double *row = from + i * b->row;
        cri_lanes left, right;
        if (b->col == 1) {
            cri_lanes_load(row, &left);
            cri_lanes_load(row + CRI_LANE, &right);
        } else {
            const double *half = row + CRI_LANE * b->col;
            left = (cri_lanes){row[0], row[b->col], row[2 * b->col], row[3 * b->col]};
            right = (cri_lanes){half[0], half[b->col], half[2 * b->col], half[3 * b->col]};
        }
        cri_lanes_store(&left, out + i * TILE_COL);
        cri_lanes_store(&right, out + i * TILE_COL + CRI_LANE);
    }
}

// part of B: rows from p, 8 columns from j, zero behind the last
CRI_INLINE void pack(const cri_product *x, int p, int depth, int j, double *out) {
    int n = x->n - j < TILE_COL ? x->n - j : TILE_COL;
    const double *from = x->b.at + p * x->b.row + j * x->b.col;
    if (n == TILE_COL) {
        pack_whole(&x->b, from, depth, out);
        return;
    }
    memset(out, 0, sizeof *out * (size_t)(depth * TILE_COL));
    for (int i = 0; i < depth; i++) {
        for (int c = 0; c < n; c++) {
            out[i * TILE_COL + c] = from[i * x->b.row + c * x->b.col];
        }
    }
}

// part of A: n_row rows from i, columns from p, tile by tile and in a tile column by column
CRI_INLINE void pack_rows(const cri_product *x, int i, int n_row, int p, int depth, double *out) {
    for (int t = 0; t < n_row; t += TILE_ROW) {
        int n = n_row - t < TILE_ROW ? n_row - t : TILE_ROW;
        const double *from = x->a.at + (i + t) * x->a.row + p * x->a.col;
        for (int q = 0; q < depth; q++) {
            for (int r = 0; r < n; r++) {
                out[q * TILE_ROW + r] = from[q * x->a.col + r * x->a.row];
            }
        }
        out += depth * TILE_ROW;
    }
}

// C = A B or C += A B for n_row rows, two registers a row, or one; both are constants where
// this is inlined
CRI_INLINE void add_narrow(const strip *s, int n_row, bool is_half) {
    cri_lanes left[TILE_ROW], right[TILE_ROW];
#pragma GCC unroll 6 // TILE_ROW
    for (int r = 0; r < n_row; r++) {
        if (s->is_fresh) {
            left[r] = right[r] = (cri_lanes){0.0};
        } else {
            cri_lanes_load(s->c[r], &left[r]);
            cri_lanes_load(s->c[r] + CRI_LANE, &right[r]);
        }
    }
    for (int q = 0; q < s->depth; q++) {
        cri_lanes b_left, b_right;
        cri_lanes_load(s->b + q * s->b_step, &b_left);
        cri_lanes_load(s->b + q * s->b_step + CRI_LANE, &b_right);
#pragma GCC unroll 6
        for (int r = 0; r < n_row; r++) {
            double a = s->a[r][q * s->a_step];
            left[r] += a * b_left;
            if (!is_half) {
                right[r] += a * b_right;
            }
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < n_row; r++) {
        cri_lanes_store(&left[r], s->c[r]);
        cri_lanes_store(&right[r], s->c[r] + CRI_LANE);
    }
}

// as add_narrow, one register a row: AVX-512
CRI_INLINE void add_wide(const strip *s) {
    typedef double wide __attribute__((vector_size(sizeof(double) * TILE_COL)));
    wide row[TILE_ROW];
#pragma GCC unroll 6
    for (int r = 0; r < TILE_ROW; r++) {
        if (s->is_fresh) {
            row[r] = (wide){0.0};
        } else {
            memcpy(&row[r], s->c[r], sizeof row[r]);
        }
    }
    for (int q = 0; q < s->depth; q++) {
        wide line;
        memcpy(&line, s->b + q * s->b_step, sizeof line);
#pragma GCC unroll 6
        for (int r = 0; r < TILE_ROW; r++) {
            row[r] += s->a[r][q * s->a_step] * line;
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < TILE_ROW; r++) {
        memcpy(s->c[r], &row[r], sizeof row[r]);
    }
}

CRI_INLINE void add_strip(const strip *s, int m, int n, bool is_wide) {
    if (is_wide) {
        add_wide(s);
    } else if (m <= TILE_THIN) {
        add_narrow(s, TILE_THIN, false);
    } else if (m == TILE_THREE && n > CRI_LANE) {
        add_narrow(s, TILE_THREE, false);
    } else if (n <= CRI_LANE) {
        add_narrow(s, TILE_ROW, true);
    } else if (m == TILE_FOUR) {
        add_narrow(s, TILE_FOUR, false);
    } else {
        add_narrow(s, TILE_ROW, false);
    }
}

// a tile at the border of C, m by n of it, by way of a whole one
CRI_INLINE void add_border(const cri_product *x, strip *s, double *c, int m, int n, bool is_wide) {
    double whole[TILE_ROW][TILE_COL];
    memset(whole, 0, sizeof whole);
    for (int r = 0; r < TILE_ROW; r++) {
        // rows behind the last repeat it, and are not kept
        s->a[r] = s->a[r < m ? r : m - 1];
        s->c[r] = whole[r];
        for (int j = 0; j < n && r < m && !s->is_fresh; j++) {
            whole[r][j] = c[r * x->c_row + j * x->c_col];
        }
    }
    add_strip(s, m, n, is_wide);
    for (int r = 0; r < m; r++) {
        for (int j = 0; j < n; j++) {
            c[r * x->c_row + j * x->c_col] = whole[r][j];
        }
    }
}

// one tile, rows of A at a, over depth rows of B at b
CRI_INLINE void add_tile(const cri_product *x, place at, int depth, const cri_matrix_view *a,
                         const cri_matrix_view *b, bool is_wide) {
    int n = x->n - at.j < TILE_COL ? x->n - at.j : TILE_COL;
    int m = x->m - at.i < TILE_ROW ? x->m - at.i : TILE_ROW;
    strip s; // rows behind the last are add_border's
    s.b = b->at;
    s.a_step = a->col;
    s.b_step = b->row;
    s.depth = depth;
    s.is_fresh = !x->is_adding && at.p == 0;
    double *c = x->c + at.i * x->c_row + at.j * x->c_col;
    for (int r = 0; r < m; r++) {
        s.a[r] = a->at + r * a->row;
        s.c[r] = c + r * x->c_row;
        __builtin_prefetch(s.c[r] + TILE_ROW * x->c_row, 1); // of the tile below, a hint
    }
    if (m == TILE_ROW && n == TILE_COL && x->c_col == 1) {
        add_strip(&s, TILE_ROW, TILE_COL, is_wide);
    } else {
        add_border(x, &s, c, m, n, is_wide);
    }
}

// A row of A and n_tile tiles of columns at once, as one sum has to wait for itself; of them the
// first n_old columns are there already. n_tile is a constant where this is inlined. One register
// a tile: AVX-512; elsewhere such a vector would go through memory at every step.
CRI_INLINE void add_row_wide(const cri_product *x, int i, int j, int n_tile, int n_old) {
    typedef double wide __attribute__((vector_size(sizeof(double) * TILE_COL)));
    const double *a = x->a.at + i * x->a.row;
    double *c = x->c + i * x->c_row + j;
    wide sum[FEW_TILE] = {{0.0}};
    if (x->is_adding) {
        memcpy(sum, c, sizeof *sum * (size_t)n_tile);
    }
    for (int q = 0; q < x->k; q++) {
        const double *b = x->b.at + q * x->b.row + j;
        double a_q = a[q * x->a.col];
#pragma GCC unroll 8 // FEW_TILE
        for (int t = 0; t < n_tile; t++) {
            wide line;
            memcpy(&line, b + t * TILE_COL, sizeof line);
            sum[t] += a_q * line;
        }
    }
    if (n_old == 0) {
        memcpy(c, sum, sizeof *sum * (size_t)n_tile);
    } else {
        double last[TILE_COL];
        memcpy(last, sum, sizeof last);
        memcpy(c + n_old, last + n_old, sizeof *c * (size_t)(TILE_COL - n_old));
    }
}

// as add_row_wide, two registers a tile
CRI_INLINE void add_row_narrow(const cri_product *x, int i, int j, int n_tile, int n_old) {
    const double *a = x->a.at + i * x->a.row;
    double *c = x->c + i * x->c_row + j;
    cri_lanes sum[FEW_TILE];
#pragma GCC unroll 8
    for (int t = 0; t < 2 * n_tile; t++) {
        sum[t] = (cri_lanes){0.0};
        if (x->is_adding) {
            cri_lanes_load(c + t * CRI_LANE, &sum[t]);
        }
    }
    for (int q = 0; q < x->k; q++) {
        const double *b = x->b.at + q * x->b.row + j;
        double a_q = a[q * x->a.col];
#pragma GCC unroll 8
        for (int t = 0; t < 2 * n_tile; t++) {
            cri_lanes line;
            cri_lanes_load(b + t * CRI_LANE, &line);
            sum[t] += a_q * line;
        }
    }
    if (n_old == 0) {
#pragma GCC unroll 8
        for (int t = 0; t < 2 * n_tile; t++) {
            cri_lanes_store(&sum[t], c + t * CRI_LANE);
        }
    } else {
        double last[TILE_COL];
        cri_lanes_store(&sum[0], last);
        cri_lanes_store(&sum[1], last + CRI_LANE);
        memcpy(c + n_old, last + n_old, sizeof *c * (size_t)(TILE_COL - n_old));
    }
}

CRI_INLINE void add_row(const cri_product *x, int i, int j, int n_tile, int n_old, bool is_wide) {
    if (is_wide) {
        add_row_wide(x, i, j, n_tile, n_old);
    } else {
        add_row_narrow(x, i, j, n_tile, n_old);
    }
}

// few rows of A, one by one, and at least a tile of columns
CRI_INLINE void add_few(const cri_product *x, bool is_wide) {
    for (int i = 0; i < x->m; i++) {
        int j = 0;
        for (; is_wide && j + FEW_TILE * TILE_COL <= x->n; j += FEW_TILE * TILE_COL) {
            add_row_wide(x, i, j, FEW_TILE, 0);
        }
        for (; j + 4 * TILE_COL <= x->n; j += 4 * TILE_COL) {
            add_row(x, i, j, 4, 0, is_wide);
        }
        if (j + 2 * TILE_COL <= x->n) {
            add_row(x, i, j, 2, 0, is_wide);
            j += 2 * TILE_COL;
        }
        if (j + TILE_COL <= x->n) {
            add_row(x, i, j, 1, 0, is_wide);
            j += TILE_COL;
        }
        if (j < x->n) {
            add_row(x, i, x->n - TILE_COL, 1, TILE_COL - (x->n - j), is_wide);
        }
    }
}

// A of few columns: 8 columns of B stay in registers, and all rows of C go by; n_deep is x->k, a
// constant where this is inlined
CRI_INLINE void add_shallow(const cri_product *x, int n_deep, int j, const double *b, long b_step) {
    cri_lanes left[SHALLOW], right[SHALLOW];
    for (int q = 0; q < n_deep; q++) {
        cri_lanes_load(b + q * b_step, &left[q]);
        cri_lanes_load(b + q * b_step + CRI_LANE, &right[q]);
    }
    for (int i = 0; i < x->m; i++) {
        const double *a = x->a.at + i * x->a.row;
        double *c = x->c + i * x->c_row + j;
        cri_lanes sum[2] = {{0.0}};
        if (x->is_adding) {
            cri_lanes_load(c, &sum[0]);
            cri_lanes_load(c + CRI_LANE, &sum[1]);
        }
        for (int q = 0; q < n_deep; q++) {
            sum[0] += a[q * x->a.col] * left[q];
            sum[1] += a[q * x->a.col] * right[q];
        }
        cri_lanes_store(&sum[0], c);
        cri_lanes_store(&sum[1], c + CRI_LANE);
    }
}

// rows from i to end, 8 columns from j; packed (NULL: none) has the rows as pack_rows left them
CRI_INLINE void add_panel(const cri_product *x, place at, int end, int depth,
                          const cri_matrix_view *b, const double *packed, bool is_wide) {
    bool is_whole = x->c_col == 1 && at.j + TILE_COL <= x->n;
    if (x->k == 1 && is_whole) {
        add_shallow(x, 1, at.j, b->at, b->row);
        return;
    }
    if (x->k == SHALLOW && is_whole) {
        add_shallow(x, SHALLOW, at.j, b->at, b->row);
        return;
    }
    for (; at.i < end; at.i += TILE_ROW) {
        cri_matrix_view a = {x->a.at + at.i * x->a.row + at.p * x->a.col, x->a.row, x->a.col};
        if (packed) {
            a = (cri_matrix_view){packed, 1, TILE_ROW};
            packed += depth * TILE_ROW;
        }
        add_tile(x, at, depth, &a, b, is_wide);
    }
}

// rows from i to end over depth terms from p
CRI_INLINE void add_block(const cri_product *x, int i, int end, int p, int depth,
                          const double *packed, bool is_wide) {
    double columns[DEPTH * TILE_COL];
    for (int j = 0; j < x->n; j += TILE_COL) {
        // long columns are far apart in memory
        bool is_flat = x->b.col == 1 && j + TILE_COL <= x->n && (x->k < 64 || x->m < 24);
        cri_matrix_view b = {x->b.at + p * x->b.row + j, x->b.row, 1};
        if (!is_flat) {
            pack(x, p, depth, j, columns);
            b = (cri_matrix_view){columns, TILE_COL, 1};
        }
        add_panel(x, (place){i, j, p}, end, depth, &b, packed, is_wide);
    }
}

CRI_INLINE void multiply_with(const cri_product *x, bool is_wide) {
    if (x->m <= FEW && x->n >= TILE_COL && x->k > SHALLOW && x->b.col == 1 && x->c_col == 1) {
        add_few(x, is_wide);
        return;
    }
    double rows[BLOCK_ROW * DEPTH];
    bool is_packed = x->a.col != 1 && x->k >= BLOCK_LEAST && x->n >= BLOCK_ACROSS * TILE_COL;
    int n_block = is_packed ? BLOCK_ROW : x->m;
    for (int p = 0; p < x->k; p += DEPTH) {
        int depth = x->k - p < DEPTH ? x->k - p : DEPTH;
        for (int i = 0; i < x->m; i += n_block) {
            int end = i + n_block < x->m ? i + n_block : x->m;
            if (is_packed) {
                pack_rows(x, i, end - i, p, depth, rows);
            }
            add_block(x, i, end, p, depth, is_packed ? rows : NULL, is_wide);
        }
    }
}

CRI_INLINE void multiply_narrow_body(const cri_product *x) {
    multiply_with(x, false);
}

CRI_LANES(multiply_narrow, (const cri_product *x), (x))

#ifdef CRI_LANES_WIDE
CRI_LANES_WIDE static void multiply_wide(const cri_product *x) {
    multiply_with(x, true);
}

static void multiply(const cri_product *x) {
    if (cri_lanes_are_wide()) {
        multiply_wide(x);
    } else {
        multiply_narrow(x);
    }
}
#else
static void multiply(const cri_product *x) {
    multiply_narrow(x);
}
#endif

// a row of A times the only column of B, both without gaps
CRI_INLINE void multiply_column_body(const cri_product *x) {
    for (int i = 0; i < x->m; i++) {
        const double *a = x->a.at + i * x->a.row;
        cri_lanes part[2] = {{0.0}};
        int p = 0;
        for (; p + CRI_PART <= x->k; p += CRI_PART) {
            for (int half = 0; half < 2; half++) {
                cri_lanes u, v;
                cri_lanes_load(a + p + half * CRI_LANE, &u);
                cri_lanes_load(x->b.at + p + half * CRI_LANE, &v);
                part[half] += u * v;
            }
        }
        double sum = cri_lanes_sum(&part[0], &part[1]);
        for (; p < x->k; p++) {
            sum += a[p] * x->b.at[p];
        }
        double *to = x->c + i * x->c_row;
        *to = x->is_adding ? *to + sum : sum;
    }
}

CRI_LANES(multiply_column, (const cri_product *x), (x))

// Columns from j on of the only row of C, where columns of B have no gaps: four of them at a time
// become a vector. n_group is a constant where this is inlined.
CRI_INLINE void add_columns(const cri_product *x, int j, int n_group) {
    cri_lanes sum[CRI_LANE];
    const long next = x->b.col;
    for (int g = 0; g < n_group; g++) {
        sum[g] = (cri_lanes){0.0};
        if (x->is_adding) {
            cri_lanes_load(x->c + j + g * CRI_LANE, &sum[g]);
        }
    }
    for (int q = 0; q < x->k; q++) {
        const double *b = x->b.at + j * next + q;
#pragma GCC unroll 4 // CRI_LANE
        for (int g = 0; g < n_group; g++, b += CRI_LANE * next) {
            const cri_lanes line = {b[0], b[next], b[2 * next], b[3 * next]};
            sum[g] += x->a.at[q] * line;
        }
    }
    for (int g = 0; g < n_group; g++) {
        cri_lanes_store(&sum[g], x->c + j + g * CRI_LANE);
    }
}

// a row without gaps by such columns
CRI_INLINE void multiply_line_body(const cri_product *x) {
    int j = 0;
    for (; j + CRI_LANE * CRI_LANE <= x->n; j += CRI_LANE * CRI_LANE) {
        add_columns(x, j, CRI_LANE);
    }
    for (; j + CRI_LANE <= x->n; j += CRI_LANE) {
        add_columns(x, j, 1);
    }
    for (; j < x->n; j++) {
        double sum = x->is_adding ? x->c[j] : 0.0;
        for (int q = 0; q < x->k; q++) {
            sum += x->a.at[q] * x->b.at[j * x->b.col + q];
        }
        x->c[j] = sum;
    }
}

CRI_LANES(multiply_line, (const cri_product *x), (x))

static void clear(const cri_product *x) {
    for (long i = 0; i < x->m && !x->is_adding; i++) {
        memset(x->c + i * x->c_row, 0, sizeof *x->c * (size_t)x->n);
    }
}

/// The product by a loop of our own.
static void gemm_plain(const cri_product *x) {
    if (x->k == 0) {
        clear(x);
    } else if (x->n == 1 && x->a.col == 1 && x->k > 1) {
        multiply_column(x);
    } else if (x->m == 1 && x->a.col == 1 && x->b.row == 1 && x->b.col != 1 && x->c_col == 1 &&
               x->n >= TILE_COL && x->k > SHALLOW) {
        multiply_line(x);
    } else if ((x->n < TILE_COL && x->m > x->n) ||
               (x->m < CRI_LANE && x->m < x->n && x->b.row == 1 && x->b.col != 1)) {
        // few columns, or few rows by columns that would have to be packed: tiles of the transposed
        cri_product t = {.m = x->n,
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
        gemm_plain(x);
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
