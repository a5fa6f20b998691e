// SPDX-License-Identifier: MIT
//
// A balance of pushes, y >= 0 with G' y = 0 and sum y = 1, from the nonnegative least squares
//
//   min |G' y|^2 + (1 - sum y)^2
//
// whose minimum has G' y = 0 exactly when there is one. Otherwise the residual is a motion that
// separates all contacts. Source: Lawson and Hanson, Solving Least Squares Problems (1974), chapter
// 23, with the normal equations of the few free entries.

#include "bench/problem_reach.h"

#include "base/base.h"
#include "base/math/dense_factor.h"

#include <math.h>
#include <string.h>

/// The state of the active set method. Free entries are at most one more than the rank.
typedef struct least_squares {
    int n, n_dof, n_free, most_free;
    const double *G; // (n, n_dof)
    double *y;       // (n)
    double *push;    // (n_dof) G' y
    double *trial;   // (most_free) at the free entries
    double *part;    // (most_free, most_free)
    int *pivot;      // (most_free)
    int *index;      // (most_free) free entries
} least_squares;

size_t cri_problem_jams_bytes(int n, int n_dof) {
    size_t k = (size_t)n_dof + 2;
    size_t count = (size_t)n + (size_t)n_dof + k + k * k;
    return sizeof(double) * count + sizeof(int) * 2 * k + 1024;
}

static double dot(int n, const double *a, const double *b) {
    double sum = 0.0;
    for (int i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

// the entry with the steepest slope downwards; -1 at the minimum
static int find_entry(least_squares *q) {
    double sum = 0.0;
    memset(q->push, 0, sizeof *q->push * (size_t)q->n_dof);
    for (int k = 0; k < q->n_free; k++) {
        int i = q->index[k];
        sum += q->y[i];
        for (int j = 0; j < q->n_dof; j++) {
            q->push[j] += q->y[i] * q->G[i * q->n_dof + j];
        }
    }
    int enter = -1;
    double most = 1e-10; // slopes start at 1
    for (int i = 0; i < q->n; i++) {
        double slope = 1.0 - sum - dot(q->n_dof, q->G + i * q->n_dof, q->push);
        if (slope > most) {
            most = slope;
            enter = i;
        }
    }
    return enter;
}

// the minimum over the free entries, into trial; false when they are dependent
static bool solve_free(least_squares *q) {
    int k = q->n_free;
    for (int i = 0; i < k; i++) {
        q->trial[i] = 1.0;
        for (int j = 0; j < k; j++) {
            const double *a = q->G + q->index[i] * q->n_dof, *b = q->G + q->index[j] * q->n_dof;
            q->part[i * k + j] = dot(q->n_dof, a, b) + 1.0;
        }
    }
    if (!cri_lu_factor(k, q->part, q->pivot)) {
        return false;
    }
    cri_lu_solve(k, q->part, q->pivot, q->trial);
    return true;
}

// goes towards trial until entries are zero, which are free no more; true when it got there
static bool move(least_squares *q) {
    double length = 1.0;
    for (int k = 0; k < q->n_free; k++) {
        double from = q->y[q->index[k]];
        if (q->trial[k] <= 0.0) {
            length = fmin(length, from / (from - q->trial[k]));
        }
    }
    int n_left = 0;
    for (int k = 0; k < q->n_free; k++) {
        int i = q->index[k];
        q->y[i] += length * (q->trial[k] - q->y[i]);
        if (length < 1.0 && q->y[i] <= 1e-14) { // sums to 1: nothing but rounding
            q->y[i] = 0.0;
        } else {
            q->index[n_left++] = i;
        }
    }
    q->n_free = n_left;
    return length >= 1.0;
}

static void solve(least_squares *q) {
    for (int round = 0; round < 3 * q->n; round++) {
        int enter = find_entry(q);
        if (enter < 0 || q->n_free == q->most_free) {
            return;
        }
        q->index[q->n_free++] = enter;
        do {
            if (q->n_free == 0 || !solve_free(q)) {
                return;
            }
        } while (!move(q));
    }
}

bool cri_problem_jams(int n, int n_dof, const double *G, cr_arena *scratch) {
    CR_ASSERT(n > 0 && n_dof > 0);
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    int k = n_dof + 2;
    double *work = CR_PUSH(scratch, double, n + n_dof + k + k * k);
    int *index = CR_PUSH_RAW(scratch, int, 2 * k);
    least_squares q = {.n = n,
                       .n_dof = n_dof,
                       .most_free = k,
                       .G = G,
                       .y = work,
                       .push = work + n,
                       .trial = work + n + n_dof,
                       .part = work + n + n_dof + k,
                       .pivot = index,
                       .index = index + k};
    solve(&q);
    double sum = 0.0;
    find_entry(&q); // the push of the minimum
    for (int i = 0; i < n; i++) {
        sum += q.y[i];
    }
    // a push of less than a millionth of its parts counts as none: almost jammed is jammed
    bool is_jam = sqrt(dot(n_dof, q.push, q.push)) <= 1e-6 * sum;
    cri_arena_rewind(scratch, mark);
    return is_jam;
}
