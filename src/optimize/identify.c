// SPDX-License-Identifier: MIT
//
// What a least-squares fit has determined, and how well.
//
//   B = J N^-1, N the column norms           B V = W, singular values s_k = |w_k|
//   var z_j = sigma^2 / N_j^2  sum_k (V_jk / s_k)^2   over the s_k above 1e-7 of the largest
//
// The rest spans the null space. An unknown that has a part in it is not identifiable; its partner
// is the other unknown with the largest part in the same direction.

#include "optimize/identify.h"

#include "optimize/least_squares.h"
#include "optimize/singular.h"

#include <math.h>
#include <string.h>

// singular values of unit columns below this are zero: Jacobians are good to about 1e-9
#define NULL_SINGULAR 1e-7

// part of a null direction that counts
#define NULL_PART 1e-3

typedef struct spectrum {
    int n;         // unknowns
    int n_kept;    // that the residuals depend on
    int n_row;     // of B, at least n_kept
    double *B;     // (n_kept, n_row)
    double *V;     // (n_kept, n_kept)
    double *s;     // (n_kept)
    double *N;     // (n)
    int *kept;     // (n_kept) the unknowns
    bool *is_null; // (n)
} spectrum;

static bool push_spectrum(spectrum *w, int n, int m, cr_arena *arena) {
    w->n = n;
    w->n_row = m > n ? m : n;
    w->B = CR_PUSH(arena, double, (size_t)n *(size_t)w->n_row);
    w->V = CR_PUSH(arena, double, (size_t)n *(size_t)n);
    w->s = CR_PUSH(arena, double, n);
    w->N = CR_PUSH(arena, double, n);
    w->kept = CR_PUSH(arena, int, n);
    w->is_null = CR_PUSH(arena, bool, n);
    return !cri_arena_has_failed(arena);
}

static void decompose(spectrum *w, int m, const double *z, const double *J) {
    cri_lsq_find_null(w->n, m, z, J, w->is_null);
    for (int j = 0; j < w->n; j++) {
        const double *column = J + (size_t)j * (size_t)m;
        double square = 0.0;
        for (int i = 0; i < m; i++) {
            square += column[i] * column[i];
        }
        w->N[j] = sqrt(square);
        if (w->is_null[j]) {
            continue;
        }
        double *unit = w->B + (size_t)w->n_kept * (size_t)w->n_row;
        for (int i = 0; i < m; i++) {
            unit[i] = column[i] / w->N[j];
        }
        w->kept[w->n_kept++] = j;
    }
    cri_triangularise(w->n_row, w->n_kept, w->B, NULL);
    cri_singular(w->n_row, w->n_kept, w->B, w->V, w->s);
}

/// Marks the unknowns with a part in null direction k.
static void mark_direction(const spectrum *w, int k, cri_identity *out) {
    const double *v = w->V + (size_t)k * (size_t)w->n_kept;
    for (int a = 0; a < w->n_kept; a++) {
        if (fabs(v[a]) <= NULL_PART) {
            continue;
        }
        int partner = -1;
        double largest = 0.0;
        for (int b = 0; b < w->n_kept; b++) {
            if (b != a && fabs(v[b]) > largest) {
                largest = fabs(v[b]);
                partner = w->kept[b];
            }
        }
        out[w->kept[a]].is_identifiable = false;
        out[w->kept[a]].partner = partner;
    }
}

static void judge(const spectrum *w, int m, double loss, cri_identity *out) {
    double largest = 0.0;
    for (int k = 0; k < w->n_kept; k++) {
        largest = fmax(largest, w->s[k]);
    }
    int rank = 0;
    for (int j = 0; j < w->n; j++) {
        out[j] = (cri_identity){NAN, !w->is_null[j], w->is_null[j], -1};
    }
    for (int k = 0; k < w->n_kept; k++) {
        if (w->s[k] > NULL_SINGULAR * largest) {
            rank++;
        } else {
            mark_direction(w, k, out);
        }
    }
    double sigma = m > rank ? sqrt(loss / (m - rank)) : NAN;
    for (int a = 0; a < w->n_kept; a++) {
        double sum = 0.0;
        for (int k = 0; k < w->n_kept; k++) {
            double part = w->V[(size_t)k * (size_t)w->n_kept + (size_t)a];
            sum += w->s[k] > NULL_SINGULAR * largest ? part * part / (w->s[k] * w->s[k]) : 0.0;
        }
        cri_identity *identity = &out[w->kept[a]];
        identity->deviation =
            identity->is_identifiable ? sigma * sqrt(sum) / w->N[w->kept[a]] : NAN;
    }
}

cr_status cri_identify(int n, int m, const double *z, const double *J, double loss,
                       cri_identity *out, cr_error *err) {
    CR_ASSERT(n > 0 && m > 0);
    spectrum w = {0};
    cr_arena *arena = cri_arena_create(1 << 16);
    bool has_memory = arena && push_spectrum(&w, n, m, arena);
    if (has_memory) {
        decompose(&w, m, z, J);
        judge(&w, m, loss, out);
    }
    cri_arena_destroy(arena);
    return has_memory ? CR_OK : cri_fail(err, CR_ERR_MEMORY, 0, "no memory for standard errors");
}
