// SPDX-License-Identifier: MIT
//
// A = P' L D L' P, row by row (up-looking):
//
//   L_(<k) D_(<k) y = a_(<k),k        forward substitution with the columns of L so far
//   l_ki = y_i/d_i,   d_k = a_kk - sum_i l_ki y_i
//
// Row k of L is nonzero where the elimination tree leads from the entries of row k of A: from each
// entry i up along parents (the first row below the diagonal of column i) until k.
// Sources: Liu, "The role of elimination trees in sparse factorization" (1990); the order is that
// of Amestoy, Davis and Duff, "An approximate minimum degree ordering algorithm" (1996), from their
// library.

#include "base/math/sparse_ldlt.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

#ifdef CAROM_HAS_AMD
#include <amd.h>
#endif

// ---- order -------------------------------------------------------------------------------------

#ifdef CAROM_HAS_AMD

// amd_2 and not amd_order, which would call the heap: it wants rows without the diagonal, destroys
// them, and needs n more places than they have; a fifth more keeps it from moving them around
void cri_pattern_order(const cri_pattern *p, int *order, cr_arena *scratch) {
    CR_ASSERT(p->n > 0 && order && scratch);
    int n = p->n, n_entry = p->first[n], n_room = n_entry + n_entry / 5 + n;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    int *room = CR_PUSH_RAW(scratch, int, 8 * n + n_room), *rows = room + 8 * n;
    int *begin = room, *length = room + n, at = 0;
    for (int i = 0; i < n; i++) {
        begin[i] = at;
        for (int e = p->first[i]; e < p->first[i + 1]; e++) {
            if (p->index[e] != i) {
                rows[at++] = p->index[e];
            }
        }
        length[i] = at - begin[i];
    }
    amd_2(n, begin, rows, length, n_room, at, room + 2 * n, room + 3 * n, order, room + 4 * n,
          room + 5 * n, room + 6 * n, room + 7 * n, NULL, NULL);
    cri_arena_rewind(scratch, mark);
}

#else

void cri_pattern_order(const cri_pattern *p, int *order, cr_arena *scratch) {
    CR_ASSERT(p->n > 0 && order && scratch);
    for (int i = 0; i < p->n; i++) {
        order[i] = i;
    }
}

#endif

// ---- fill --------------------------------------------------------------------------------------

size_t cri_fill_bytes(int n, int n_entry, int n_most) {
    size_t order = 10 * (size_t)n + 2 * (size_t)n_entry, fill = 8 * (size_t)n + 2 * (size_t)n_most;
    return sizeof(int) * (order + fill) + 512;
}

// Walks the rows of L. parent (n) is the elimination tree, made on the way; seen (n) the last row
// that met a column. Counts in below_first[k + 1] and left_first[k + 1].
static void count_fill(const cri_pattern *p, cri_fill *f, int *parent, int *seen) {
    memset(f->below_first, 0, sizeof(int) * (size_t)(p->n + 1));
    memset(f->left_first, 0, sizeof(int) * (size_t)(p->n + 1));
    for (int k = 0; k < p->n; k++) {
        int row = f->order[k];
        parent[k] = -1;
        seen[k] = k;
        for (int e = p->first[row]; e < p->first[row + 1]; e++) {
            for (int i = f->place[p->index[e]]; i < k && seen[i] != k; i = parent[i]) {
                if (parent[i] < 0) {
                    parent[i] = k;
                }
                seen[i] = k;
                f->below_first[i + 1]++;
                f->left_first[k + 1]++;
            }
        }
    }
}

static void add_up(int n, int *first) {
    for (int k = 0; k < n; k++) {
        first[k + 1] += first[k];
    }
}

// The columns of L by the same walk, and the rows from the columns: both come out ascending.
// filled and seen (n) are work space.
static void list_fill(const cri_pattern *p, cri_fill *f, const int *parent, int *seen,
                      int *filled) {
    int n = p->n;
    memset(filled, 0, sizeof *filled * (size_t)n);
    for (int k = 0; k < n; k++) {
        int row = f->order[k];
        seen[k] = k;
        for (int e = p->first[row]; e < p->first[row + 1]; e++) {
            for (int i = f->place[p->index[e]]; i < k && seen[i] != k; i = parent[i]) {
                seen[i] = k;
                f->below[f->below_first[i] + filled[i]++] = k;
            }
        }
    }
    memset(filled, 0, sizeof *filled * (size_t)n);
    for (int i = 0; i < n; i++) {
        for (int e = f->below_first[i]; e < f->below_first[i + 1]; e++) {
            int k = f->below[e];
            f->left[f->left_first[k] + filled[k]++] = i;
        }
    }
}

bool cri_fill_find(const cri_pattern *p, const int *order, int n_most, cri_fill *fill,
                   cr_arena *arena) {
    CR_ASSERT(p->n > 0 && n_most >= 0 && fill && arena);
    int n = p->n;
    cri_arena_mark mark = cri_arena_get_mark(arena);
    *fill = (cri_fill){.n = n, .order = CR_PUSH_RAW(arena, int, 7 * n + 2)};
    fill->place = fill->order + n;
    fill->below_first = fill->place + n;
    fill->left_first = fill->below_first + n + 1;
    int *parent = fill->left_first + n + 1, *seen = parent + n, *filled = seen + n;
    if (order) {
        memcpy(fill->order, order, sizeof *order * (size_t)n);
    } else {
        cri_pattern_order(p, fill->order, arena);
    }
    for (int k = 0; k < n; k++) {
        fill->place[fill->order[k]] = k;
    }
    count_fill(p, fill, parent, seen);
    add_up(n, fill->below_first);
    add_up(n, fill->left_first);
    int n_below = fill->below_first[n];
    bool is_sparse = n_below <= n_most;
    if (is_sparse) {
        fill->below = CR_PUSH_RAW(arena, int, 2 * n_below);
        fill->left = fill->below + n_below;
        list_fill(p, fill, parent, seen, filled);
    } else {
        cri_arena_rewind(arena, mark);
    }
    return is_sparse;
}

// ---- numbers -----------------------------------------------------------------------------------

size_t cri_ldlt_bytes(int n, int n_most) {
    return sizeof(double) * (2 * (size_t)n + (size_t)n_most) + sizeof(int) * (size_t)n + 128;
}

cri_ldlt cri_ldlt_push(const cri_pattern *p, const cri_fill *fill, cr_arena *arena) {
    CR_ASSERT(p->n == fill->n && arena);
    int n = p->n;
    cri_ldlt f = {.pattern = p, .fill = fill};
    f.d_inv = CR_PUSH_RAW(arena, double, 2 * n + fill->below_first[n]);
    f.work = f.d_inv + n;
    f.value = f.work + n;
    f.filled = CR_PUSH_RAW(arena, int, n);
    return f;
}

int cri_ldlt_factor(cri_ldlt *f, const double *a) {
    CR_ASSERT(f->fill && a);
    const cri_pattern *p = f->pattern;
    const cri_fill *fill = f->fill;
    double *y = f->work;
    memset(y, 0, sizeof *y * (size_t)p->n);
    memset(f->filled, 0, sizeof(int) * (size_t)p->n);
    f->n_negative = 0;
    for (int k = 0; k < p->n; k++) {
        int row = fill->order[k];
        double d = 0.0;
        for (int e = p->first[row]; e < p->first[row + 1]; e++) {
            int i = fill->place[p->index[e]];
            if (i < k) {
                y[i] = a[e];
            } else if (i == k) {
                d = a[e];
            }
        }
        for (int e = fill->left_first[k]; e < fill->left_first[k + 1]; e++) {
            int i = fill->left[e], begin = fill->below_first[i], end = begin + f->filled[i]++;
            double yi = y[i], l = yi * f->d_inv[i];
            y[i] = 0.0;
            for (int at = begin; at < end; at++) {
                y[fill->below[at]] -= f->value[at] * yi;
            }
            CR_VALIDATE(fill->below[end] == k);
            f->value[end] = l;
            d -= l * yi;
        }
        f->d_inv[k] = 1.0 / d;
        // a pivot so small that its inverse overflows is none
        if (!isfinite(d) || !isfinite(f->d_inv[k])) {
            return row;
        }
        f->n_negative += d < 0.0;
    }
    return -1;
}

void cri_ldlt_solve(const cri_ldlt *f, int n_rhs, double *b) {
    CR_ASSERT(n_rhs >= 0 && b);
    const cri_fill *fill = f->fill;
    int n = fill->n;
    double *x = f->work;
    for (int s = 0; s < n_rhs; s++, b += n) {
        for (int k = 0; k < n; k++) {
            x[k] = b[fill->order[k]];
        }
        // L y = b
        for (int k = 0; k < n; k++) {
            for (int e = fill->below_first[k]; e < fill->below_first[k + 1]; e++) {
                x[fill->below[e]] -= f->value[e] * x[k];
            }
        }
        // D L' x = y
        for (int k = n - 1; k >= 0; k--) {
            double sum = x[k] * f->d_inv[k];
            for (int e = fill->below_first[k]; e < fill->below_first[k + 1]; e++) {
                sum -= f->value[e] * x[fill->below[e]];
            }
            x[k] = sum;
        }
        for (int k = 0; k < n; k++) {
            b[fill->order[k]] = x[k];
        }
    }
}
