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

#include "base/arena.h"
#include "base/base.h"
#include "base/math/dense.h"

#include <math.h>
#include <string.h>

#ifdef CAROM_HAS_AMD
#include <amd.h>
#endif

// rows that are subtracted at once
enum { MOST_ROWS = 8 };

// ---- order -------------------------------------------------------------------------------------

// An order that keeps the factor sparse: approximate minimum degree, or the natural one where the
// library was built without it. Overwrites order (n).

#ifdef CAROM_HAS_AMD

// amd_2 and not amd_order, which would call the heap: it wants rows without the diagonal, destroys
// them, and needs n more places than they have; a fifth more keeps it from moving them around
static void pattern_order(const cri_pattern *p, int *order, cr_arena *scratch) {
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

static void pattern_order(const cri_pattern *p, int *order, cr_arena *scratch) {
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
        pattern_order(p, fill->order, arena);
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

// ---- by blocks ----------------------------------------------------------------------------------

// Elimination by rows, as cri_cholesky_factor does it:
//
//   for every place I, every row k of it, every column i > k of that row:
//       row i -= (u_ki/d_k) row k, from column i on
//
// A row of place J has nonzero columns wherever a row of an earlier place I has, if I and J are
// coupled: so consecutive places of row k lie side by side in row i too, and one run of numbers is
// added to another. Rows of a place are subtracted together, one after the other in every number,
// so that bits do not depend on it. Which blocks become nonzero, and the order, are those of
// cri_fill_find over groups.

static int n_of(const cri_block_factor *f) {
    return f->groups.first[f->groups.n];
}

static int n_ints(int n) {
    return (n + 6) * n + 3;
}

// n_ints numbers, the borders of the groups first
static void set_layout(cri_block_factor *f, int *ints) {
    int n = f->groups.n;
    f->groups.first = ints;
    f->column = ints + n + 1;
    f->run_first = f->column + n + 1;
    f->order = f->run_first + n + 1;
    f->width = f->order + n;
    f->start = f->width + n;
    f->at = f->start + n;
}

static bool push_layout(const cri_groups *groups, cr_arena *arena, cri_block_factor *out) {
    int n = groups->n;
    int *ints = CR_PUSH_RAW(arena, int, n_ints(n));
    *out = (cri_block_factor){.groups = {n, NULL}};
    out->run = CR_PUSH_RAW(arena, cri_block_run, n * n);
    if (!ints || !out->run) {
        return false;
    }
    memcpy(ints, groups->first, sizeof *ints * (size_t)(n + 1));
    set_layout(out, ints);
    return true;
}

bool cri_block_factor_push(const cri_groups *groups, cr_arena *arena, cri_block_factor *out) {
    CR_ASSERT(groups->n > 0 && groups->first[0] == 0);
    size_t n = (size_t)groups->first[groups->n];
    if (!push_layout(groups, arena, out)) {
        return false;
    }
    out->coupled = CR_PUSH_RAW(arena, bool, groups->n * groups->n);
    out->value = CR_PUSH_RAW(arena, double, n *n);
    out->work = CR_PUSH_RAW(arena, double, n);
    return out->coupled && out->value && out->work;
}

// ---- where it is nonzero -----------------------------------------------------------------------

// is a number of the block of two groups, the second not before the first, not zero?
static bool is_coupled(const cri_groups *g, const double *H, int i, int j) {
    int n = g->first[g->n];
    for (int r = g->first[i]; r < g->first[i + 1]; r++) {
        const double *row = H + (size_t)r * (size_t)n;
        for (int c = g->first[j]; c < g->first[j + 1]; c++) {
            if (row[c] != 0.0) {
                return true;
            }
        }
    }
    return false;
}

// true when the couplings are not those that the factor has its layout for
static bool find_couplings(cri_block_factor *f, const double *H) {
    const cri_groups *g = &f->groups;
    bool is_new = f->n_value == 0;
    for (int i = 0; i < g->n; i++) {
        for (int j = i; j < g->n; j++) {
            bool own = i == j || is_coupled(g, H, i, j);
            bool *to = &f->coupled[i * g->n + j];
            is_new = is_new || *to != own;
            *to = f->coupled[j * g->n + i] = own;
        }
    }
    return is_new;
}

static int size_at(const cri_block_factor *f, int place) {
    return f->column[place + 1] - f->column[place];
}

// consecutive places of a row
static void list_runs(cri_block_factor *f, int row, int *n_run) {
    int n = f->groups.n;
    const int *at = f->at + row * n;
    f->run_first[row] = *n_run;
    for (int i = row; i < n; i++) {
        if (at[i] < 0) {
            continue;
        }
        if (i == row || at[i - 1] < 0) {
            f->run[(*n_run)++] = (cri_block_run){.place = i, .at = at[i]};
        }
        f->run[*n_run - 1].end = i + 1;
        f->run[*n_run - 1].length = at[i] + size_at(f, i) - f->run[*n_run - 1].at;
    }
    f->run_first[row + 1] = *n_run;
}

// columns of rows, from the fill
static void lay_out(cri_block_factor *f, const cri_fill *fill) {
    int n = f->groups.n, start = 0, n_run = 0;
    f->column[0] = 0;
    for (int i = 0; i < n; i++) {
        int group = f->order[i] = fill->order[i];
        f->column[i + 1] = f->column[i] + f->groups.first[group + 1] - f->groups.first[group];
    }
    for (int i = 0; i < n; i++) {
        int *at = f->at + i * n, width = size_at(f, i);
        for (int j = 0; j < n; j++) {
            at[j] = j == i ? 0 : -1;
        }
        for (int e = fill->below_first[i]; e < fill->below_first[i + 1]; e++) {
            at[fill->below[e]] = width;
            width += size_at(f, fill->below[e]);
        }
        f->width[i] = width;
        f->start[i] = start;
        start += width * size_at(f, i);
        list_runs(f, i, &n_run);
    }
    f->n_value = start;
}

// layout for the couplings; false: no memory
static bool plan(cri_block_factor *f, cr_arena *scratch) {
    int n = f->groups.n, n_entry = 0;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    size_t bytes = cri_fill_bytes(n, n * n, n * n) + sizeof(int) * (size_t)(n * n + 2 * n + 1);
    // what follows finds memory then
    bool has_memory = cri_arena_push_raw(scratch, bytes + 256) != NULL;
    cri_arena_rewind(scratch, mark);
    if (!has_memory) {
        return false;
    }
    int *first = CR_PUSH_RAW(scratch, int, n + 1), *natural = CR_PUSH_RAW(scratch, int, n);
    int *index = CR_PUSH_RAW(scratch, int, n *n);
    for (int i = 0; i < n; i++) {
        natural[i] = i;
        first[i] = n_entry;
        for (int j = 0; j < n; j++) {
            if (f->coupled[i * n + j]) {
                index[n_entry++] = j;
            }
        }
    }
    first[n] = n_entry;
    const cri_pattern pattern = {n, first, index};
    cri_fill fill;
    const int *order = n_entry == n * n ? natural : NULL;
    bool is_found = cri_fill_find(&pattern, order, n * n, &fill, scratch);
    CR_ASSERT(is_found); // there are no more blocks than that
    lay_out(f, &fill);
    cri_arena_rewind(scratch, mark);
    return true;
}

// ---- numbers -----------------------------------------------------------------------------------

// the matrix at the places of the factor, zero where it is filled in; blocks before the diagonal of
// the given order are the transposed ones
static void gather(cri_block_factor *f, const double *H) {
    int n = f->groups.n, n_all = n_of(f);
    const int *first = f->groups.first;
    for (int i = 0; i < n; i++) {
        for (int j = i; j < n; j++) {
            if (f->at[i * n + j] < 0) {
                continue;
            }
            int a = f->order[i], b = f->order[j], size = size_at(f, j);
            double *to = f->value + f->start[i] + f->at[i * n + j];
            for (int r = 0; r < size_at(f, i); r++, to += f->width[i]) {
                const double *row = H + (size_t)(first[a] + r) * (size_t)n_all + first[b];
                const double *col = H + (size_t)first[b] * (size_t)n_all + first[a] + r;
                for (int c = 0; c < size; c++) {
                    to[c] = a <= b ? row[c] : col[(size_t)c * (size_t)n_all];
                }
            }
        }
    }
}

// subtracts m rows of place i from the r-th on, whose pivots' inverses are known, from the row of
// its c-th column in place j: what is left of the run of j, and the runs behind it
static void subtract_rows(cri_block_factor *f, int i, int r, int m, int e, int j, int c) {
    int width = f->width[i];
    const double *rows = f->value + f->start[i] + r * width;
    double *below = f->value + f->start[j] + c * f->width[j], factor[MOST_ROWS];
    int from = f->at[i * f->groups.n + j] + c, length = f->run[e].at + f->run[e].length - from;
    for (int k = 0; k < m; k++) {
        factor[k] = -rows[k * width + from] * rows[k * width + r + k];
    }
    cri_add_rows(length, m, 1.0, factor, 1, rows + from, width, below + c);
    f->n_times += (double)length * m;
    for (int k = e + 1; k < f->run_first[i + 1]; k++) {
        const cri_block_run *run = &f->run[k];
        int to = f->at[j * f->groups.n + run->place];
        cri_add_rows(run->length, m, 1.0, factor, 1, rows + run->at, width, below + to);
        f->n_times += (double)run->length * m;
    }
}

static void eliminate(cri_block_factor *f, int i, int r, int m) {
    for (int e = f->run_first[i]; e < f->run_first[i + 1]; e++) {
        for (int j = f->run[e].place; j < f->run[e].end; j++) {
            for (int c = j == i ? r + m : 0; c < size_at(f, j); c++) {
                subtract_rows(f, i, r, m, e, j, c);
            }
        }
    }
}

// m rows of place i from the r-th on among themselves; the one whose pivot is not positive, or -1
static int factor_few(cri_block_factor *f, int i, int r, int m) {
    for (int k = r; k < r + m; k++) {
        double *pivot = f->value + f->start[i] + k * f->width[i] + k;
        double inverse = 1.0 / *pivot;
        // a pivot so small that its inverse overflows is none
        if (!(*pivot > 0.0) || !isfinite(*pivot) || !isfinite(inverse)) {
            return k;
        }
        *pivot = inverse;
        for (int c = k + 1; c < r + m; c++) {
            subtract_rows(f, i, k, 1, f->run_first[i], i, c);
        }
    }
    return -1;
}

// the row of the matrix whose pivot is not positive, or -1
static int factor_rows(cri_block_factor *f) {
    f->n_times = 0.0;
    for (int i = 0; i < f->groups.n; i++) {
        for (int r = 0; r < size_at(f, i); r += MOST_ROWS) {
            int left = size_at(f, i) - r, m = left < MOST_ROWS ? left : MOST_ROWS;
            int bad = factor_few(f, i, r, m);
            if (bad >= 0) {
                return f->groups.first[f->order[i]] + bad;
            }
            eliminate(f, i, r, m);
        }
    }
    return -1;
}

int cri_block_factor_make(cri_block_factor *f, const double *H, cr_arena *scratch) {
    CR_ASSERT(f->coupled && H && scratch);
    if (find_couplings(f, H) && !plan(f, scratch)) {
        return -1;
    }
    gather(f, H);
    int row = factor_rows(f);
    return row < 0 ? n_of(f) : row;
}

// ---- use ---------------------------------------------------------------------------------------

// numbers of groups to those of places, or back
static void sort(const cri_block_factor *f, bool is_back, const double *x, double *y) {
    for (int i = 0; i < f->groups.n; i++) {
        int group = f->groups.first[f->order[i]], place = f->column[i];
        size_t bytes = sizeof *x * (size_t)size_at(f, i);
        memcpy(y + (is_back ? group : place), x + (is_back ? place : group), bytes);
    }
}

// y behind the r-th unknown of place i += k times the row behind its pivot
static void add_row(const cri_block_factor *f, int i, int r, double k, double *y) {
    const double *row = f->value + f->start[i] + r * f->width[i];
    for (int e = f->run_first[i]; e < f->run_first[i + 1]; e++) {
        const cri_block_run *run = &f->run[e];
        int skip = run->place == i ? r + 1 : 0;
        cri_add_scaled(run->length - skip, k, row + run->at + skip,
                       y + f->column[run->place] + skip);
    }
}

// sum - the row behind its pivot . y, or + with a sign of 1
static double row_dot(const cri_block_factor *f, int i, int r, double sign, double sum,
                      const double *y) {
    const double *row = f->value + f->start[i] + r * f->width[i];
    for (int e = f->run_first[i]; e < f->run_first[i + 1]; e++) {
        const cri_block_run *run = &f->run[e];
        const double *x = y + f->column[run->place];
        for (int c = run->place == i ? r + 1 : 0; c < run->length; c++) {
            sum += sign * row[run->at + c] * x[c];
        }
    }
    return sum;
}

void cri_block_factor_solve(const cri_block_factor *f, double *b) {
    CR_ASSERT(f->n_value > 0 && b);
    double *y = f->work;
    sort(f, false, b, y);
    // U' y = b
    for (int i = 0; i < f->groups.n; i++) {
        for (int r = 0; r < size_at(f, i); r++) {
            double inverse = f->value[f->start[i] + r * f->width[i] + r];
            add_row(f, i, r, -y[f->column[i] + r] * inverse, y);
        }
    }
    // D U x = y
    for (int i = f->groups.n - 1; i >= 0; i--) {
        for (int r = size_at(f, i) - 1; r >= 0; r--) {
            double inverse = f->value[f->start[i] + r * f->width[i] + r];
            double *own = &y[f->column[i] + r];
            *own = row_dot(f, i, r, -1.0, *own, y) * inverse;
        }
    }
    sort(f, true, y, b);
}

void cri_block_factor_multiply(const cri_block_factor *f, const double *x, double *out) {
    CR_ASSERT(f->n_value > 0 && x && out && x != out);
    double *y = f->work;
    sort(f, false, x, y);
    // y = D U x
    for (int i = 0; i < f->groups.n; i++) {
        for (int r = 0; r < size_at(f, i); r++) {
            double inverse = f->value[f->start[i] + r * f->width[i] + r];
            double *own = &y[f->column[i] + r];
            *own = row_dot(f, i, r, 1.0, *own / inverse, y);
        }
    }
    // y = U' y
    for (int i = f->groups.n - 1; i >= 0; i--) {
        for (int r = size_at(f, i) - 1; r >= 0; r--) {
            double inverse = f->value[f->start[i] + r * f->width[i] + r];
            add_row(f, i, r, y[f->column[i] + r] * inverse, y);
        }
    }
    sort(f, true, y, out);
}

bool cri_block_factor_keep(const cri_block_factor *f, cr_arena *arena, cri_block_factor *out) {
    CR_ASSERT(f->n_value > 0);
    int n = f->groups.n, n_run = f->run_first[n];
    int *ints = CR_PUSH_RAW(arena, int, n_ints(n));
    cri_block_run *run = CR_PUSH_RAW(arena, cri_block_run, n_run);
    double *value = CR_PUSH_RAW(arena, double, f->n_value + n_of(f));
    if (!ints || !run || !value) {
        return false;
    }
    memcpy(ints, f->groups.first, sizeof *ints * (size_t)n_ints(n));
    memcpy(run, f->run, sizeof *run * (size_t)n_run);
    memcpy(value, f->value, sizeof *value * (size_t)f->n_value);
    *out = (cri_block_factor){.groups = {n, NULL},
                              .run = run,
                              .value = value,
                              .work = value + f->n_value,
                              .n_value = f->n_value,
                              .n_times = f->n_times};
    set_layout(out, ints);
    return true;
}
