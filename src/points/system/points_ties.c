// SPDX-License-Identifier: MIT
//
// Ties of points, the factor of S = J Minv J', and one lemma. Phi_e = 1/2 x'H_e x + b_e.x + c_e:
//
//   anchor     (|x_i - o|^2 - l^2)/2      J: i d = x_i - o                  H y: i y_i
//   distance   (|x_i - x_j|^2 - l^2)/2    J: i d = x_i - x_j, j -d        H y: i y_i - y_j, j minus
//   angle      (x_i - x_k).(x_j - x_k)    J: i x_j - x_k, j x_i - x_k, k minus both,   H y alike
//   joint      sum w x - o, on one axis   J: w                              H y: 0
//
// The lemma: a = Minv (f + J'lam), J a + c = 0, so S lam = -(J Minv f + c). Its adjoint is the same
// problem with force a_adj, and its tangent is
//
//   a_tan = t + Minv J'lam_tan,   t = Minv_tan H + Minv (f_tan + J_tan'lam)
//   S lam_tan = -(J t + c_tan + J_tan a)
//
// One factor serves the solve, the adjoint and every tangent. Source: derivation of S.2 (DCS, paper
// 000) by elimination of the multipliers.

#include "points/system/points_parts.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

// ---- ties --------------------------------------------------------------------------------------

// blocks (n_point, d) of H y for one tie, from shifted by at where that is not NULL
static void curve_of(const cri_tie *t, int d, const double *y, const double *at, double *out) {
    const double *i = y + t->point[0] * d;
    for (int c = 0; c < d; c++) {
        switch (t->kind) {
        case CRI_TIE_ANCHOR:
            out[c] = i[c] - (at ? at[c] : 0.0);
            break;
        case CRI_TIE_DISTANCE:
            out[c] = i[c] - y[t->point[1] * d + c];
            out[d + c] = -out[c];
            break;
        case CRI_TIE_ANGLE: {
            double k = y[t->point[2] * d + c];
            out[c] = y[t->point[1] * d + c] - k;
            out[d + c] = i[c] - k;
            out[2 * d + c] = -out[c] - out[d + c];
            break;
        }
        case CRI_TIE_JOINT:
            for (int k = 0; k < t->n_point; k++) {
                out[k * d + c] = at && c == t->axis ? t->weight[k] : 0.0;
            }
            break;
        }
    }
}

void cri_ties_rows(const cri_points *s, const double *x, double *J) {
    for (int e = 0; e < s->n_tie; e++) {
        curve_of(&s->tie[e], s->d, x, s->tie[e].at, J + s->slot_first[e] * s->d);
    }
}

void cri_ties_curve(const cri_points *s, const double *y, double *N) {
    for (int e = 0; e < s->n_tie; e++) {
        curve_of(&s->tie[e], s->d, y, NULL, N + s->slot_first[e] * s->d);
    }
}

static double value_of(const cri_tie *t, int d, const double *x) {
    double sum = t->kind == CRI_TIE_JOINT ? -t->at[0] : -0.5 * t->length * t->length;
    for (int c = 0; c < d; c++) {
        double a = x[t->point[0] * d + c], b;
        switch (t->kind) {
        case CRI_TIE_ANCHOR:
            sum += 0.5 * (a - t->at[c]) * (a - t->at[c]);
            break;
        case CRI_TIE_DISTANCE:
            b = x[t->point[1] * d + c];
            sum += 0.5 * (a - b) * (a - b);
            break;
        case CRI_TIE_ANGLE:
            b = x[t->point[2] * d + c];
            sum += (a - b) * (x[t->point[1] * d + c] - b);
            break;
        case CRI_TIE_JOINT:
            for (int k = 0; c == t->axis && k < t->n_point; k++) {
                sum += t->weight[k] * x[t->point[k] * d + c];
            }
            break;
        }
    }
    return sum;
}

void cri_ties_value(const cri_points *s, const double *x, double *phi) {
    for (int e = 0; e < s->n_tie; e++) {
        phi[e] = value_of(&s->tie[e], s->d, x);
    }
}

void cri_ties_times(const cri_points *s, const double *J, const double *y, double *out) {
    int d = s->d;
    for (int e = 0; e < s->n_tie; e++) {
        double sum = 0.0;
        for (int k = s->slot_first[e]; k < s->slot_first[e + 1]; k++) {
            const double *at = y + s->slot_point[k] * d;
            for (int c = 0; c < d; c++) {
                sum += J[k * d + c] * at[c];
            }
        }
        out[e] = sum;
    }
}

void cri_ties_add(const cri_points *s, const double *J, const double *k, double *out) {
    int d = s->d;
    for (int e = 0; e < s->n_tie; e++) {
        for (int j = s->slot_first[e]; j < s->slot_first[e + 1]; j++) {
            double *at = out + s->slot_point[j] * d;
            for (int c = 0; c < d; c++) {
                at[c] += k[e] * J[j * d + c];
            }
        }
    }
}

void cri_ties_add_curve(const cri_points *s, double factor, const double *k, const double *y,
                        double *out) {
    double blocks[CRI_TIE_POINTS * CRI_AXES] = {0.0};
    int d = s->d;
    for (int e = 0; e < s->n_tie; e++) {
        const cri_tie *t = &s->tie[e];
        if (t->kind == CRI_TIE_JOINT) {
            continue;
        }
        curve_of(t, d, y, NULL, blocks);
        for (int j = 0; j < t->n_point; j++) {
            for (int c = 0; c < d; c++) {
                out[t->point[j] * d + c] += factor * k[e] * blocks[j * d + c];
            }
        }
    }
}

void cri_points_errors(const cri_points *s, const double *x, const double *v, double *phi,
                       double *rate, cr_arena *scratch) {
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *J = CR_PUSH_RAW(scratch, double, s->n_slot * s->d + 1);
    cri_ties_rows(s, x, J);
    cri_ties_value(s, x, phi);
    cri_ties_times(s, J, v, rate);
    cri_arena_rewind(scratch, mark);
}

// ---- factor ------------------------------------------------------------------------------------

static int n_below(const cri_points *s) {
    return s->n_tie > 0 ? s->fill.below_first[s->n_tie] : 0;
}

int cri_ties_factor_size(const cri_points *s) {
    return s->n_slot * s->d + n_below(s) + s->n_tie;
}

cri_ties_factor cri_ties_factor_at(const cri_points *s, const double *minv, double *room) {
    double *value = room + s->n_slot * s->d;
    return (cri_ties_factor){.minv = minv, .J = room, .value = value, .d_inv = value + n_below(s)};
}

static cri_ldlt ldlt_of(const cri_points *s, const cri_ties_factor *f, cr_arena *scratch) {
    return (cri_ldlt){.pattern = &s->pattern,
                      .fill = &s->fill,
                      .value = f->value,
                      .d_inv = f->d_inv,
                      .work = CR_PUSH_RAW(scratch, double, s->n_tie)};
}

bool cri_ties_factorise(const cri_points *s, const cri_ties_factor *f, cr_arena *scratch) {
    if (s->n_tie == 0) {
        return true;
    }
    int d = s->d;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *S = CR_PUSH(scratch, double, s->pattern.first[s->n_tie]);
    for (int t = 0; t < s->n_term; t++) {
        const cri_tie_term *term = &s->term[t];
        const double *a = f->J + term->slot_a * d, *b = f->J + term->slot_b * d;
        double dot = a[0] * b[0] + a[1] * b[1] + (d > 2 ? a[2] * b[2] : 0.0);
        S[term->entry] += f->minv[term->minv] * dot;
    }
    double most = 0.0;
    for (int e = 0; e < s->pattern.first[s->n_tie]; e++) {
        most = fmax(most, fabs(S[e]));
    }
    cri_ldlt ldlt = ldlt_of(s, f, scratch);
    ldlt.filled = CR_PUSH_RAW(scratch, int, s->n_tie);
    bool is_regular = cri_ldlt_factor(&ldlt, S) < 0 && ldlt.n_negative == 0;
    for (int e = 0; is_regular && e < s->n_tie; e++) {
        // pivots that are rounding of the largest entry say that ties repeat each other
        is_regular = f->d_inv[e] * most < 1e13;
    }
    cri_arena_rewind(scratch, mark);
    return is_regular;
}

static void solve_ties(const cri_points *s, const cri_ties_factor *f, double *b,
                       cr_arena *scratch) {
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    const cri_ldlt ldlt = ldlt_of(s, f, scratch);
    cri_ldlt_solve(&ldlt, 1, b);
    cri_arena_rewind(scratch, mark);
}

// ---- the lemma ---------------------------------------------------------------------------------

void cri_lemma_solve(const cri_points *s, const cri_ties_factor *f, const double *force,
                     const double *c, const cri_lemma *out, cr_arena *scratch) {
    size_t bytes = sizeof(double) * (size_t)s->n_dof;
    if (force) {
        memcpy(out->H, force, bytes);
    } else {
        memset(out->H, 0, bytes);
    }
    if (s->n_tie > 0) {
        cri_minv_times(s, f->minv, out->H, out->a);
        cri_ties_times(s, f->J, out->a, out->lam);
        for (int e = 0; e < s->n_tie; e++) {
            out->lam[e] = -(out->lam[e] + (c ? c[e] : 0.0));
        }
        solve_ties(s, f, out->lam, scratch);
        cri_ties_add(s, f->J, out->lam, out->H);
    }
    cri_minv_times(s, f->minv, out->H, out->a);
}

void cri_lemma_vjp(const cri_points *s, const cri_ties_factor *f, const double *a_adj,
                   const double *lam_adj, const cri_lemma_adj *out, cr_arena *scratch) {
    memcpy(out->P, a_adj, sizeof(double) * (size_t)s->n_dof);
    if (s->n_tie > 0) {
        cri_minv_times(s, f->minv, out->P, out->p);
        cri_ties_times(s, f->J, out->p, out->w);
        for (int e = 0; lam_adj && e < s->n_tie; e++) {
            out->w[e] += lam_adj[e];
        }
        solve_ties(s, f, out->w, scratch);
        for (int e = 0; e < s->n_tie; e++) {
            out->w[e] = -out->w[e];
        }
        cri_ties_add(s, f->J, out->w, out->P);
        for (int e = 0; e < s->n_tie; e++) {
            out->w[e] = -out->w[e];
        }
    }
    cri_minv_times(s, f->minv, out->P, out->p);
}

void cri_lemma_pull(const cri_points *s, const cri_lemma *at, const cri_lemma_adj *adj,
                    double *x_adj, double *minv_adj) {
    // J_e = H_e x + b_e, J_adj = lam p' - w a'
    cri_ties_add_curve(s, 1.0, at->lam, adj->p, x_adj);
    cri_ties_add_curve(s, -1.0, adj->w, at->a, x_adj);
    if (minv_adj) {
        cri_minv_add_outer(s, adj->P, at->H, minv_adj);
    }
}

void cri_lemma_jvp(const cri_points *s, const cri_ties_factor *f, const cri_lemma *at,
                   const cri_lemma_tan *tan, double *lam_tan, double *a_tan, cr_arena *scratch) {
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    int D = s->n_dof;
    double *force = CR_PUSH(scratch, double, 2 * D), *t = force + D;
    double *J_a = CR_PUSH_RAW(scratch, double, s->n_tie + 1);
    if (tan->force) {
        memcpy(force, tan->force, sizeof *force * (size_t)D);
    }
    if (tan->J) {
        cri_ties_add(s, tan->J, at->lam, force);
    }
    cri_minv_times(s, f->minv, force, a_tan);
    if (tan->minv) {
        cri_minv_times(s, tan->minv, at->H, t);
    }
    for (int i = 0; i < D; i++) {
        a_tan[i] += t[i];
    }
    if (s->n_tie > 0) {
        cri_ties_times(s, f->J, a_tan, lam_tan);
        if (tan->J) {
            cri_ties_times(s, tan->J, at->a, J_a);
        }
        for (int e = 0; e < s->n_tie; e++) {
            lam_tan[e] = -(lam_tan[e] + (tan->c ? tan->c[e] : 0.0) + (tan->J ? J_a[e] : 0.0));
        }
        solve_ties(s, f, lam_tan, scratch);
        memset(force, 0, sizeof *force * (size_t)D);
        cri_ties_add(s, f->J, lam_tan, force);
        cri_minv_times(s, f->minv, force, t);
        for (int i = 0; i < D; i++) {
            a_tan[i] += t[i];
        }
    }
    cri_arena_rewind(scratch, mark);
}
