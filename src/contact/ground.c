// SPDX-License-Identifier: MIT
//
// The patch of a body with a fixed surface, in a plane. The normals of contacts i and j differ by
// their lever arms r about the centre of mass (I the moment of inertia) alone, so that
//
//   A_ii - 2 A_ij + A_jj = (r_i - r_j)^2 / I
//
// tells which contacts lie at one place, whatever the body, and A_it = -+ r_i h / I (h the height
// of the centre) which end comes first. A point has one place; a line has two, its ends: what lies
// between them follows. Reduced rows are means, of all tangents (0) and of the normals at each end
// (1, 2), and A, c those of the rows: friction of a line acts at its middle.
//
// Inputs of the nets, free of units, so that a slow slide is not a small number beside an impact:
//
//   s = sum |c_i|,  N = sum of ends |c_i| + 0.02 s,  a = mean of A over the ends
//   c_0/s;  c_i/s and c_i/N of each end;  A_0i/a;  A_ii/a (a line's);  A_00/a;  log(0.01 + s);
//   h, what would bring the patch to rest (contact/ground_still.c)
//
// The lever arm of experiments on this law is in A: it acts through nothing else. Impulses count in
// closing/a, closing = the mean of max(0, -c_i) over the ends, which has no kink where both close
// alike, as those of a body that lies flat. Kinks at c_i = 0: derivatives are those of the sign
// that the forward pass met.

#include "contact/ground.h"

#include "base/base.h"
#include "contact/ground_still.h"

#include <math.h>
#include <string.h>

// distances below 1e-5 of sqrt(I A_ii), some micrometres, are one place
static const double same_place = 1e-10;
// a tangent across the plane responds to nothing
static const double no_response = 1e-9;
// normal speeds are told apart down to this part of all
static const double part = 0.02;
// speeds below it are slow, m/s
static const double slow = 0.01;

enum { MOST = CRI_GROUND_ROWS };

// ---- reduction ---------------------------------------------------------------------------------

static double entry(const cri_contact_problem *p, int row, int column) {
    return p->A[(size_t)row * 3 * (size_t)p->n + (size_t)column];
}

// squared distance of two contacts, over the moment of inertia
static double apart(const cri_contact_problem *p, int i, int j) {
    return entry(p, 3 * i, 3 * i) - 2.0 * entry(p, 3 * i, 3 * j) + entry(p, 3 * j, 3 * j);
}

static int farthest(const cri_contact_problem *p, int from) {
    int best = from;
    for (int i = 0; i < p->n; i++) {
        best = apart(p, i, from) > apart(p, best, from) ? i : best;
    }
    return best;
}

// the tangent along which things move, 1 or 2; 0: both
static int tangent_of(const cri_contact_problem *p) {
    double sum[3] = {0.0, 0.0, 0.0};
    for (int i = 0; i < p->n; i++) {
        for (int r = 0; r < 3; r++) {
            sum[r] += entry(p, 3 * i + r, 3 * i + r);
        }
    }
    int best = sum[2] > sum[1] ? 2 : 1;
    return sum[3 - best] <= no_response * sum[0] ? best : 0;
}

// a row of R: the mean of row r of the contacts at the place of contact at, or of all (at < 0)
static void fill_mean(const cri_contact_problem *p, int at, int r, double least, double *row) {
    int n = 0;
    for (int i = 0; i < p->n; i++) {
        n += at < 0 || apart(p, i, at) <= least;
    }
    for (int i = 0; i < p->n; i++) {
        bool is_there = at < 0 || apart(p, i, at) <= least;
        row[3 * i + r] = is_there ? 1.0 / n : 0.0;
    }
}

void cri_ground_take(const cri_ground *patch, const double *z, double *g) {
    for (int i = 0; i < patch->n_row; i++) {
        const double *row = patch->R + (size_t)i * 3 * (size_t)patch->n;
        g[i] = 0.0;
        for (int k = 0; k < 3 * patch->n; k++) {
            g[i] += row[k] * z[k];
        }
    }
}

void cri_ground_spread(const cri_ground *patch, const double *g, double *z) {
    memset(z, 0, sizeof *z * 3 * (size_t)patch->n);
    for (int i = 0; i < patch->n_row; i++) {
        const double *row = patch->R + (size_t)i * 3 * (size_t)patch->n;
        for (int k = 0; k < 3 * patch->n; k++) {
            z[k] += row[k] * g[i];
        }
    }
}

void cri_ground_fill(const cri_contact_problem *p, cri_ground *patch) {
    int m = 3 * p->n;
    for (int i = 0; i < patch->n_row; i++) {
        const double *left = patch->R + (size_t)i * (size_t)m;
        double sum[MOST] = {0.0}, c = 0.0;
        for (int k = 0; k < m; k++) {
            double goal = k % 3 == 0 ? p->target[k / 3] : (p->drift ? p->drift[k] : 0.0);
            c += left[k] * (p->b[k] - goal);
            for (int j = 0; left[k] != 0.0 && j <= i; j++) {
                const double *right = patch->R + (size_t)j * (size_t)m;
                for (int l = 0; l < m; l++) {
                    sum[j] += left[k] * right[l] * entry(p, k, l);
                }
            }
        }
        patch->c[i] = c;
        for (int j = 0; j <= i; j++) {
            patch->A[i * patch->n_row + j] = patch->A[j * patch->n_row + i] = sum[j];
        }
    }
}

bool cri_ground_reduce(const cri_contact_problem *p, cri_ground *patch, cr_arena *keep) {
    CR_ASSERT(p->n > 0 && patch && keep);
    if (p->place) {
        return cri_ground_reduce_space(p, patch, keep);
    }
    int tangent = tangent_of(p), m = 3 * p->n;
    int end[2] = {farthest(p, 0), 0};
    end[1] = farthest(p, end[0]);
    double least = same_place * entry(p, 3 * end[0], 3 * end[0]);
    bool is_line = apart(p, end[0], end[1]) > least;
    *patch = (cri_ground){
        .kind = is_line ? CRI_GROUND_LINE : CRI_GROUND_POINT, .n = p->n, .n_tangent = 1};
    patch->n_row = cri_ground_rows(patch->kind);
    patch->R = CR_PUSH(keep, double, patch->n_row *m);
    if (tangent == 0) {
        return false;
    }
    fill_mean(p, -1, tangent, 0.0, patch->R);
    for (int k = 0; k < (is_line ? 2 : 1); k++) {
        fill_mean(p, end[k], 0, least, patch->R + (size_t)(k + 1) * (size_t)m);
    }
    cri_ground_fill(p, patch);
    if (is_line && patch->A[1] > patch->A[2]) {
        // the end with the smaller coupling comes first
        for (int k = 0; k < m; k++) {
            double keep_it = patch->R[m + k];
            patch->R[m + k] = patch->R[2 * m + k];
            patch->R[2 * m + k] = keep_it;
        }
        cri_ground_fill(p, patch);
    }
    return true;
}

void cri_ground_reduce_vjp(const cri_contact_problem *p, const cri_ground *patch,
                           const double *A_adj, const double *c_adj, cri_contact_adj *adj,
                           cr_arena *scratch) {
    CR_ASSERT(p->n == patch->n && A_adj && c_adj);
    int m = 3 * p->n;
    // A = R A R': the adjoint is a sum of R_i' (A_adj,i R)
    adj->n_outer = patch->n_row;
    for (int i = 0; i < patch->n_row; i++) {
        adj->left[i] = CR_PUSH_RAW(scratch, double, m);
        adj->right[i] = CR_PUSH_RAW(scratch, double, m);
        memcpy(adj->left[i], patch->R + (size_t)i * (size_t)m, sizeof(double) * (size_t)m);
        cri_ground_spread(patch, A_adj + i * patch->n_row, adj->right[i]);
    }
    // c = R (b - goal)
    adj->b = CR_PUSH_RAW(scratch, double, m);
    adj->target = CR_PUSH_RAW(scratch, double, p->n);
    adj->drift = p->drift ? CR_PUSH(scratch, double, m) : NULL;
    cri_ground_spread(patch, c_adj, adj->b);
    for (int k = 0; k < m; k++) {
        if (k % 3 == 0) {
            adj->target[k / 3] = -adj->b[k];
        } else if (adj->drift) {
            adj->drift[k] = -adj->b[k];
        }
    }
}

void cri_ground_reduce_jvp(const cri_ground *patch, const cri_contact_tan *tan, double *A_tan,
                           double *c_tan, cr_arena *scratch) {
    int m = 3 * patch->n;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *z = CR_PUSH_RAW(scratch, double, m), column[MOST];
    for (int i = 0; i < patch->n_row; i++) {
        tan->apply_A(tan->context, patch->R + (size_t)i * (size_t)m, z);
        cri_ground_take(patch, z, column);
        for (int j = 0; j < patch->n_row; j++) {
            A_tan[j * patch->n_row + i] = column[j];
        }
    }
    for (int k = 0; k < m; k++) {
        z[k] = tan->b[k] - (k % 3 == 0 ? tan->target[k / 3] : (tan->drift ? tan->drift[k] : 0.0));
    }
    cri_ground_take(patch, z, c_tan);
    cri_arena_rewind(scratch, mark);
}

size_t cri_ground_bytes(int n) {
    return sizeof(double) * (3 * MOST + 4) * 3 * (size_t)n + 4096;
}

// ---- inputs ------------------------------------------------------------------------------------

/// What inputs are quotients of.
typedef struct sums {
    double s, N, a, closing;
} sums;

static double sign_of(double x) {
    return x < 0.0 ? -1.0 : 1.0;
}

static sums sums_of(const cri_ground *patch) {
    int k = patch->n_row, n_end = k - 1;
    sums of = {.closing = 0.0};
    double ends = 0.0;
    for (int i = 1; i < k; i++) {
        of.closing += patch->c[i] < 0.0 ? -patch->c[i] / n_end : 0.0;
        ends += fabs(patch->c[i]);
        for (int j = 1; j < k; j++) {
            of.a += patch->A[i * k + j] / (n_end * n_end);
        }
    }
    of.s = fabs(patch->c[0]) + ends;
    of.N = ends + part * of.s;
    return of;
}

double cri_ground_input(const cri_ground *patch, double input[CRI_GROUND_INPUTS]) {
    if (patch->kind >= CRI_GROUND_SPACE_POINT) {
        return cri_ground_space_input(patch, input);
    }
    int k = patch->n_row, at = 0;
    sums of = sums_of(patch);
    CR_ASSERT(of.s > 0.0 && of.a > 0.0);
    input[at++] = patch->c[0] / of.s;
    for (int i = 1; i < k; i++) {
        input[at++] = patch->c[i] / of.s;
    }
    for (int i = 1; i < k; i++) {
        input[at++] = patch->c[i] / of.N;
    }
    for (int i = 1; i < k; i++) {
        input[at++] = patch->A[i] / of.a;
    }
    for (int i = 1; i < k && k > 2; i++) {
        input[at++] = patch->A[i * (k + 1)] / of.a;
    }
    input[at++] = patch->A[0] / of.a;
    input[at++] = log(slow + of.s);
    cri_ground_still still = cri_ground_still_of(k, patch->A, patch->c);
    memcpy(input + at, still.h, sizeof *input * (size_t)k);
    CR_ASSERT(at + k == cri_ground_inputs(patch->kind));
    return of.closing / of.a;
}

void cri_ground_applied(const cri_ground *patch, const double *applied, double *input) {
    sums of = sums_of(patch);
    cri_ground_take(patch, applied, input);
    for (int i = 0; i < patch->n_row; i++) {
        input[i] /= of.s;
    }
}

void cri_ground_input_vjp(const cri_ground *patch, const double *input_adj, double scale_adj,
                          double *A_adj, double *c_adj) {
    if (patch->kind >= CRI_GROUND_SPACE_POINT) {
        cri_ground_space_input_vjp(patch, input_adj, scale_adj, A_adj, c_adj);
        return;
    }
    int k = patch->n_row, n_end = k - 1, at = cri_ground_inputs(patch->kind) - k - 1;
    sums of = sums_of(patch), adj = {.closing = scale_adj / of.a};

    // h
    cri_ground_still still = cri_ground_still_of(k, patch->A, patch->c);
    cri_ground_still_vjp(&still, input_adj + at + 1, A_adj, c_adj);

    // scale = closing/a
    adj.a = -scale_adj * of.closing / (of.a * of.a);

    // log(0.01 + s), A_00/a
    adj.s = input_adj[at--] / (slow + of.s);
    A_adj[0] += input_adj[at] / of.a;
    adj.a -= input_adj[at--] * patch->A[0] / (of.a * of.a);

    // A_ii/a
    for (int i = k - 1; i > 0 && k > 2; i--, at--) {
        A_adj[i * (k + 1)] += input_adj[at] / of.a;
        adj.a -= input_adj[at] * patch->A[i * (k + 1)] / (of.a * of.a);
    }

    // A_0i/a
    for (int i = k - 1; i > 0; i--, at--) {
        A_adj[i] += input_adj[at] / of.a;
        adj.a -= input_adj[at] * patch->A[i] / (of.a * of.a);
    }

    // c_i/N
    for (int i = k - 1; i > 0; i--, at--) {
        c_adj[i] += input_adj[at] / of.N;
        adj.N -= input_adj[at] * patch->c[i] / (of.N * of.N);
    }

    // c_i/s, of the tangent too
    for (int i = k - 1; i >= 0; i--, at--) {
        c_adj[i] += input_adj[at] / of.s;
        adj.s -= input_adj[at] * patch->c[i] / (of.s * of.s);
    }

    // N = sum of ends |c_i| + part s,  s = sum |c_i|,  a = mean A,  closing = -mean of c_i < 0
    adj.s += part * adj.N;
    c_adj[0] += adj.s * sign_of(patch->c[0]);
    for (int i = 1; i < k; i++) {
        c_adj[i] += (adj.s + adj.N) * sign_of(patch->c[i]);
        c_adj[i] -= patch->c[i] < 0.0 ? adj.closing / n_end : 0.0;
        for (int j = 1; j < k; j++) {
            A_adj[i * k + j] += adj.a / (n_end * n_end);
        }
    }
}

double cri_ground_input_jvp(const cri_ground *patch, const double *A_tan, const double *c_tan,
                            double input_tan[CRI_GROUND_INPUTS]) {
    if (patch->kind >= CRI_GROUND_SPACE_POINT) {
        return cri_ground_space_input_jvp(patch, A_tan, c_tan, input_tan);
    }
    int k = patch->n_row, n_end = k - 1, at = 0;
    sums of = sums_of(patch), tan = {0};
    for (int i = 1; i < k; i++) {
        tan.closing -= patch->c[i] < 0.0 ? c_tan[i] / n_end : 0.0;
        tan.N += sign_of(patch->c[i]) * c_tan[i];
        for (int j = 1; j < k; j++) {
            tan.a += A_tan[i * k + j] / (n_end * n_end);
        }
    }
    tan.s = sign_of(patch->c[0]) * c_tan[0] + tan.N;
    tan.N += part * tan.s;
    for (int i = 0; i < k; i++) {
        input_tan[at++] = (c_tan[i] - patch->c[i] / of.s * tan.s) / of.s;
    }
    for (int i = 1; i < k; i++) {
        input_tan[at++] = (c_tan[i] - patch->c[i] / of.N * tan.N) / of.N;
    }
    for (int i = 1; i < k; i++) {
        input_tan[at++] = (A_tan[i] - patch->A[i] / of.a * tan.a) / of.a;
    }
    for (int i = 1; i < k && k > 2; i++) {
        input_tan[at++] = (A_tan[i * (k + 1)] - patch->A[i * (k + 1)] / of.a * tan.a) / of.a;
    }
    input_tan[at++] = (A_tan[0] - patch->A[0] / of.a * tan.a) / of.a;
    input_tan[at++] = tan.s / (slow + of.s);
    cri_ground_still still = cri_ground_still_of(k, patch->A, patch->c);
    cri_ground_still_jvp(&still, A_tan, c_tan, input_tan + at);
    return (tan.closing - of.closing / of.a * tan.a) / of.a;
}
