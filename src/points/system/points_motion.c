// SPDX-License-Identifier: MIT
//
// The motion of points with ties: the vector field, explicit Runge-Kutta steps of it, and the
// projection onto the ties.
//
//   k_i = F(s + h sum_{j<i} a_ij k_j),   s' = s + h sum b_i k_i
//   k_adj_i = h (b_i s'_adj + sum_{j>i} a_ji Y_j),  Y_i = F_vjp(k_adj_i),  s_adj = s'_adj + sum Y_i
//
//   projection   x' = x + lemma(0, c = Phi(x)),   v' = v + lemma at x' (0, c = J v)
//
// Kutta's 3/8 rule is the one of the data of DCS (paper 000), Euler's that of its billiards. A row
// that fails on the way stays where it was; derivatives leave it out.

#include "points/system/points.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

struct cri_field_cache {
    const void *potential;
    int size;     // doubles a row
    double *rows; // (B, size)
};

/// What one row of the batch keeps.
typedef struct slice {
    cri_ties_factor f;
    double *N;           // (n_slot, d)
    double *v;           // (D)
    double *xdot;        // (D) Hamilton
    cri_lemma one, last; // Hamilton has both
} slice;

const cri_tableau cri_rk_euler = {.n_stage = 1, .b = {1.0}};

const cri_tableau cri_rk_classic = {.n_stage = 4,
                                    .a = {{0.0}, {0.5}, {0.0, 0.5}, {0.0, 0.0, 1.0}},
                                    .b = {1.0 / 6.0, 2.0 / 6.0, 2.0 / 6.0, 1.0 / 6.0}};

const cri_tableau cri_rk_38 = {
    .n_stage = 4,
    .a = {{0.0}, {1.0 / 3.0}, {-1.0 / 3.0, 1.0}, {1.0, -1.0, 1.0}},
    .b = {0.125, 0.375, 0.375, 0.125},
};

struct cri_project_cache {
    int size;     // doubles a row
    double *rows; // (B, size)
};

/// What one row keeps: of the position, of the velocity, and the velocity before.
typedef struct project_slice {
    cri_ties_factor fx, fv;
    cri_lemma x, v;
    double *before; // (D)
} project_slice;

// ---- ties ---------------------------------------------------------------------------------------

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

/// out (n_tie) = J y
static void ties_times(const cri_points *s, const double *J, const double *y, double *out) {
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

/// out (D) += J' k
static void ties_add(const cri_points *s, const double *J, const double *k, double *out) {
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
    ties_times(s, J, v, rate);
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
        ties_times(s, f->J, out->a, out->lam);
        for (int e = 0; e < s->n_tie; e++) {
            out->lam[e] = -(out->lam[e] + (c ? c[e] : 0.0));
        }
        solve_ties(s, f, out->lam, scratch);
        ties_add(s, f->J, out->lam, out->H);
    }
    cri_minv_times(s, f->minv, out->H, out->a);
}

void cri_lemma_vjp(const cri_points *s, const cri_ties_factor *f, const double *a_adj,
                   const double *lam_adj, const cri_lemma_adj *out, cr_arena *scratch) {
    memcpy(out->P, a_adj, sizeof(double) * (size_t)s->n_dof);
    if (s->n_tie > 0) {
        cri_minv_times(s, f->minv, out->P, out->p);
        ties_times(s, f->J, out->p, out->w);
        for (int e = 0; lam_adj && e < s->n_tie; e++) {
            out->w[e] += lam_adj[e];
        }
        solve_ties(s, f, out->w, scratch);
        for (int e = 0; e < s->n_tie; e++) {
            out->w[e] = -out->w[e];
        }
        ties_add(s, f->J, out->w, out->P);
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
        ties_add(s, tan->J, at->lam, force);
    }
    cri_minv_times(s, f->minv, force, a_tan);
    if (tan->minv) {
        cri_minv_times(s, tan->minv, at->H, t);
    }
    for (int i = 0; i < D; i++) {
        a_tan[i] += t[i];
    }
    if (s->n_tie > 0) {
        ties_times(s, f->J, a_tan, lam_tan);
        if (tan->J) {
            ties_times(s, tan->J, at->a, J_a);
        }
        for (int e = 0; e < s->n_tie; e++) {
            lam_tan[e] = -(lam_tan[e] + (tan->c ? tan->c[e] : 0.0) + (tan->J ? J_a[e] : 0.0));
        }
        solve_ties(s, f, lam_tan, scratch);
        memset(force, 0, sizeof *force * (size_t)D);
        ties_add(s, f->J, lam_tan, force);
        cri_minv_times(s, f->minv, force, t);
        for (int i = 0; i < D; i++) {
            a_tan[i] += t[i];
        }
    }
    cri_arena_rewind(scratch, mark);
}

// ---- the vector field ---------------------------------------------------------------------------

// The vector field of constrained points, (x, v) -> (xdot, vdot), N_e = H_e v, by the lemma above:
//
//   Lagrange   xdot = v,   vdot = lemma(force -grad V, c = N v)
//   Hamilton   xdot = v + lemma(force 0, c = J v), multipliers lam_1
//              vdot = lemma(force -grad V - N'lam_1, c = N xdot)
//
// Hamilton's form is block elimination in the field of S.4: it keeps Phi also where J v != 0,
// Lagrange's lets it grow. They agree where J v = 0; their derivatives do only along directions
// that keep it so. Without ties both are the same function.
//
// Adjoints, Lagrange: v_adj += xdot_adj - 2 sum w_e H_e v. Hamilton, with p_2, w_2 of the second
// part and p_1, w_1 of the first:
//
//   lam_1_adj = -N p_2,   N_adj = -lam_1 p_2' - w_2 xdot',   xdot_adj -= N'w_2
//   v_adj += xdot_adj - J'w_1 + sum H_e N_adj_e,   J_adj of both parts, less w_1 v'
//
// Source: DCS (paper 000), S.2 and S.4 to S.7.

static bool is_hamilton(const cri_points_call *call) {
    return call->form == CRI_HAMILTON && call->s->n_tie > 0;
}

static int slice_size(const cri_points_call *call) {
    const cri_points *s = call->s;
    int lemma = s->n_tie + 2 * s->n_dof;
    int size = cri_ties_factor_size(s) + s->n_slot * s->d + s->n_dof + lemma;
    return size + (is_hamilton(call) ? lemma + s->n_dof : 0);
}

static double *take(double **room, int n) {
    double *at = *room;
    *room += n;
    return at;
}

static cri_lemma take_lemma(const cri_points *s, double **room) {
    cri_lemma l;
    l.lam = take(room, s->n_tie);
    l.H = take(room, s->n_dof);
    l.a = take(room, s->n_dof);
    return l;
}

static slice slice_at(const cri_points_call *call, const cri_field_cache *c, int b) {
    const cri_points *s = call->s;
    double *room = c->rows + (size_t)b * (size_t)c->size;
    slice r = {.f = cri_ties_factor_at(s, call->minv, room)};
    room += cri_ties_factor_size(s);
    r.N = take(&room, s->n_slot * s->d);
    r.v = take(&room, s->n_dof);
    r.last = take_lemma(s, &room);
    if (is_hamilton(call)) {
        r.one = take_lemma(s, &room);
        r.xdot = take(&room, s->n_dof);
    }
    return r;
}

// one row: state (2 D), g (D) -> rate (2 D)
static bool row_field(const cri_points_call *call, const slice *r, const double *state,
                      const double *g, double *rate) {
    const cri_points *s = call->s;
    int D = s->n_dof;
    cri_arena_mark mark = cri_arena_get_mark(call->scratch);
    double *force = CR_PUSH_RAW(call->scratch, double, D);
    double *c = CR_PUSH_RAW(call->scratch, double, s->n_tie + 1), *lam = NULL;
    const double *v = state + D, *xdot = v;
    memcpy(r->v, v, sizeof *v * (size_t)D);
    cri_ties_rows(s, state, r->f.J);
    cri_ties_curve(s, v, r->N);
    bool is_regular = cri_ties_factorise(s, &r->f, call->scratch);
    if (is_regular && is_hamilton(call)) {
        ties_times(s, r->f.J, v, c);
        cri_lemma_solve(s, &r->f, NULL, c, &r->one, call->scratch);
        for (int i = 0; i < D; i++) {
            r->xdot[i] = v[i] + r->one.a[i];
        }
        xdot = r->xdot;
        lam = r->one.lam;
    }
    if (is_regular) {
        memset(force, 0, sizeof *force * (size_t)D);
        if (lam) {
            ties_add(s, r->N, lam, force);
        }
        for (int i = 0; i < D; i++) {
            force[i] = -g[i] - force[i];
        }
        ties_times(s, r->N, xdot, c);
        cri_lemma_solve(s, &r->f, force, c, &r->last, call->scratch);
        memcpy(rate, xdot, sizeof *rate * (size_t)D);
        memcpy(rate + D, r->last.a, sizeof *rate * (size_t)D);
    }
    cri_arena_rewind(call->scratch, mark);
    return is_regular && cri_all_finite(2 * D, rate);
}

const cri_field_cache *cri_points_field(const cri_points_call *call, const double *state,
                                        double *rate) {
    const cri_points *s = call->s;
    int D = s->n_dof, B = call->B, size = slice_size(call);
    cri_arena_mark mark = cri_arena_get_mark(call->scratch);
    cri_field_cache *c = CR_PUSH(call->keep, cri_field_cache, 1);
    double *rows = CR_PUSH_RAW(call->keep, double, (size_t)B *(size_t)size);
    double *x = CR_PUSH_RAW(call->scratch, double, (size_t)B *(size_t)D);
    double *g = CR_PUSH(call->scratch, double, (size_t)B *(size_t)D);
    bool has_room = c && rows && x && g;
    if (has_room) {
        *c = (cri_field_cache){.size = size, .rows = rows};
        for (int b = 0; b < B; b++) {
            memcpy(x + (size_t)b * D, state + 2 * (size_t)b * D, sizeof *x * (size_t)D);
        }
        const cri_points_potential *V = call->potential;
        has_room = !V->grad || V->grad(V, call->p, B, x, g, &c->potential, call->keep);
    }
    for (int b = 0; has_room && b < B; b++) {
        const slice r = slice_at(call, c, b);
        double *out = rate + 2 * (size_t)b * D;
        memset(out, 0, sizeof *out * 2 * (size_t)D);
        if (!call->has_failed[b] &&
            !row_field(call, &r, state + 2 * (size_t)b * D, g + (size_t)b * D, out)) {
            call->has_failed[b] = true;
            memset(out, 0, sizeof *out * 2 * (size_t)D);
        }
    }
    cri_arena_rewind(call->scratch, mark);
    return has_room ? c : NULL;
}

// ---- adjoint -----------------------------------------------------------------------------------

static cri_lemma_adj push_adj(const cri_points *s, cr_arena *scratch) {
    double *room = CR_PUSH_RAW(scratch, double, s->n_tie + 2 * s->n_dof);
    return (cri_lemma_adj){.w = room, .P = room + s->n_tie, .p = room + s->n_tie + s->n_dof};
}

// what Hamilton's first part adds, given the adjoint of the second
static void first_part_vjp(const cri_points_call *call, const slice *r, const cri_lemma_adj *two,
                           const double *xdot_adj, double *state_adj, double *minv_adj) {
    const cri_points *s = call->s;
    int D = s->n_dof;
    cri_lemma_adj one = push_adj(s, call->scratch);
    double *lam_adj = CR_PUSH_RAW(call->scratch, double, 2 * s->n_tie);
    double *minus_w = lam_adj + s->n_tie;
    double *a_adj = CR_PUSH(call->scratch, double, D);
    double *x_adj = state_adj, *v_adj = state_adj + D;

    // c_2 = N xdot,  f_2 = -grad V - N'lam_1
    ties_times(s, r->N, two->p, lam_adj);
    ties_add(s, r->N, two->w, a_adj);
    for (int e = 0; e < s->n_tie; e++) {
        lam_adj[e] = -lam_adj[e];
    }
    for (int i = 0; i < D; i++) {
        a_adj[i] = xdot_adj[i] - a_adj[i];
        v_adj[i] += a_adj[i];
    }
    cri_ties_add_curve(s, -1.0, r->one.lam, two->p, v_adj);
    cri_ties_add_curve(s, -1.0, two->w, r->xdot, v_adj);

    // a_1 = lemma(0, c_1 = J v),  xdot = v + a_1
    cri_lemma_vjp(s, &r->f, a_adj, lam_adj, &one, call->scratch);
    cri_lemma_pull(s, &r->one, &one, x_adj, minv_adj);
    cri_ties_add_curve(s, -1.0, one.w, r->v, x_adj);
    for (int e = 0; e < s->n_tie; e++) {
        minus_w[e] = -one.w[e];
    }
    ties_add(s, r->f.J, minus_w, v_adj);
}

// rate_adj (2 D) -> state_adj (2 D), u (D): adjoint of the potential's gradient
static void row_vjp(const cri_points_call *call, const slice *r, const double *rate_adj,
                    double *state_adj, double *u, double *minv_adj) {
    const cri_points *s = call->s;
    int D = s->n_dof;
    cri_arena_mark mark = cri_arena_get_mark(call->scratch);
    cri_lemma_adj two = push_adj(s, call->scratch);
    cri_lemma_vjp(s, &r->f, rate_adj + D, NULL, &two, call->scratch);
    cri_lemma_pull(s, &r->last, &two, state_adj, minv_adj);
    for (int i = 0; i < D; i++) {
        u[i] = -two.p[i];
    }
    if (is_hamilton(call)) {
        first_part_vjp(call, r, &two, rate_adj, state_adj, minv_adj);
    } else {
        // xdot = v,  c = v'H v
        for (int i = 0; i < D; i++) {
            state_adj[D + i] += rate_adj[i];
        }
        cri_ties_add_curve(s, -2.0, two.w, r->v, state_adj + D);
    }
    cri_arena_rewind(call->scratch, mark);
}

void cri_points_field_vjp(const cri_points_call *call, const cri_field_cache *c,
                          const double *rate_adj, double *state_adj, const cri_points_adj *adj) {
    const cri_points *s = call->s;
    size_t D = (size_t)s->n_dof, B = (size_t)call->B;
    cri_arena_mark mark = cri_arena_get_mark(call->scratch);
    double *u = CR_PUSH(call->scratch, double, B *D);
    double *x_adj = CR_PUSH(call->scratch, double, B *D);
    for (size_t b = 0; b < B; b++) {
        if (!call->has_failed[b]) {
            const slice r = slice_at(call, c, (int)b);
            row_vjp(call, &r, rate_adj + 2 * b * D, state_adj + 2 * b * D, u + b * D, adj->minv);
        }
    }
    const cri_points_potential *V = call->potential;
    if (V->grad_vjp) {
        V->grad_vjp(V, call->p, call->B, c->potential, u, x_adj, adj->p, call->scratch);
    }
    for (size_t b = 0; b < B; b++) {
        for (size_t i = 0; i < D; i++) {
            state_adj[2 * b * D + i] += x_adj[b * D + i];
        }
    }
    cri_arena_rewind(call->scratch, mark);
}

// ---- tangent -----------------------------------------------------------------------------------

// Hamilton's first part: xdot_tan (D), lam_tan (n_tie)
static void first_part_jvp(const cri_points_call *call, const slice *r, const double *J_tan,
                           const double *v_tan, const double *minv_tan, double *xdot_tan,
                           double *lam_tan) {
    const cri_points *s = call->s;
    double *c_tan = CR_PUSH_RAW(call->scratch, double, 2 * s->n_tie), *J_v = c_tan + s->n_tie;
    ties_times(s, J_tan, r->v, c_tan);
    ties_times(s, r->f.J, v_tan, J_v);
    for (int e = 0; e < s->n_tie; e++) {
        c_tan[e] += J_v[e];
    }
    const cri_lemma_tan tan = {.minv = minv_tan, .J = J_tan, .c = c_tan};
    cri_lemma_jvp(s, &r->f, &r->one, &tan, lam_tan, xdot_tan, call->scratch);
    for (int i = 0; i < s->n_dof; i++) {
        xdot_tan[i] += v_tan[i];
    }
}

static void row_jvp(const cri_points_call *call, const slice *r, const double *state_tan,
                    const double *g_tan, const double *minv_tan, double *rate_tan) {
    const cri_points *s = call->s;
    int D = s->n_dof, E = s->n_tie;
    cri_arena_mark mark = cri_arena_get_mark(call->scratch);
    double *J_tan = CR_PUSH_RAW(call->scratch, double, 2 * s->n_slot * s->d + 1);
    double *N_tan = J_tan + s->n_slot * s->d;
    double *lam_tan = CR_PUSH(call->scratch, double, 4 * E + 1), *two_tan = lam_tan + E;
    double *c_tan = two_tan + E, *N_x = c_tan + E;
    double *force = CR_PUSH(call->scratch, double, D);
    const double *v_tan = state_tan + D;
    cri_ties_curve(s, state_tan, J_tan);
    cri_ties_curve(s, v_tan, N_tan);
    memcpy(rate_tan, v_tan, sizeof *v_tan * (size_t)D);
    if (is_hamilton(call)) {
        first_part_jvp(call, r, J_tan, v_tan, minv_tan, rate_tan, lam_tan);
        ties_add(s, N_tan, r->one.lam, force);
        ties_add(s, r->N, lam_tan, force);
        ties_times(s, N_tan, r->xdot, c_tan);
        ties_times(s, r->N, rate_tan, N_x);
    } else {
        ties_times(s, r->N, v_tan, c_tan);
        memcpy(N_x, c_tan, sizeof *c_tan * (size_t)E);
    }
    for (int e = 0; e < E; e++) {
        c_tan[e] += N_x[e];
    }
    for (int i = 0; i < D; i++) {
        force[i] = -g_tan[i] - force[i];
    }
    const cri_lemma_tan tan = {.minv = minv_tan, .J = J_tan, .force = force, .c = c_tan};
    cri_lemma_jvp(s, &r->f, &r->last, &tan, two_tan, rate_tan + D, call->scratch);
    cri_arena_rewind(call->scratch, mark);
}

void cri_points_field_jvp(const cri_points_call *call, const cri_field_cache *c,
                          const double *state_tan, const cri_points_tan *tan, double *rate_tan) {
    const cri_points *s = call->s;
    size_t D = (size_t)s->n_dof, B = (size_t)call->B;
    cri_arena_mark mark = cri_arena_get_mark(call->scratch);
    double *x_tan = CR_PUSH_RAW(call->scratch, double, B *D);
    double *g_tan = CR_PUSH(call->scratch, double, B *D);
    for (size_t b = 0; b < B; b++) {
        memcpy(x_tan + b * D, state_tan + 2 * b * D, sizeof *x_tan * D);
    }
    const cri_points_potential *V = call->potential;
    if (V->grad_jvp) {
        V->grad_jvp(V, call->p, call->B, c->potential, x_tan, tan->p, g_tan, call->scratch);
    }
    for (size_t b = 0; b < B; b++) {
        double *out = rate_tan + 2 * b * D;
        memset(out, 0, sizeof *out * 2 * D);
        if (!call->has_failed[b]) {
            const slice r = slice_at(call, c, (int)b);
            row_jvp(call, &r, state_tan + 2 * b * D, g_tan + b * D, tan->minv, out);
        }
    }
    cri_arena_rewind(call->scratch, mark);
}

// ---- steps and projection -----------------------------------------------------------------------

static size_t n_state(const cri_points_call *call) {
    return 2 * (size_t)call->B * (size_t)call->s->n_dof;
}

// Puts rows that are not finite, or have failed, back to their start, or to zero: what the
// potential keeps of them must be finite.
static void mend_rows(const cri_points_call *call, const double *state, double *y) {
    int n = 2 * call->s->n_dof;
    for (int b = 0; b < call->B; b++) {
        double *row = y + (size_t)b * (size_t)n;
        const double *start = state + (size_t)b * (size_t)n;
        call->has_failed[b] = call->has_failed[b] || !cri_all_finite(n, row);
        if (call->has_failed[b] && cri_all_finite(n, start)) {
            memcpy(row, start, sizeof *row * (size_t)n);
        } else if (call->has_failed[b]) {
            memset(row, 0, sizeof *row * (size_t)n);
        }
    }
}

// y = x + h sum w_j k_j
static void combine(size_t n, int n_stage, const double *x, double h, const double *w, double *k,
                    double *y) {
    memcpy(y, x, sizeof *y * n);
    for (int j = 0; j < n_stage; j++) {
        double factor = h * w[j];
        const double *kj = k + (size_t)j * n;
        for (size_t i = 0; factor != 0.0 && i < n; i++) {
            y[i] += factor * kj[i];
        }
    }
}

bool cri_points_flow(const cri_points_call *call, double h, const double *state, double *next,
                     cri_points_flow_cache *cache) {
    const cri_tableau *t = call->tableau;
    size_t n = n_state(call);
    cri_arena_mark mark = cri_arena_get_mark(call->scratch);
    double *k = CR_PUSH_RAW(call->scratch, double, 4 * n);
    double *y = CR_PUSH_RAW(call->scratch, double, n);
    bool has_room = k && y;
    *cache = (cri_points_flow_cache){.h = h};
    for (int i = 0; has_room && i < t->n_stage; i++) {
        combine(n, i, state, h, t->a[i], k, y);
        mend_rows(call, state, y);
        cache->stage[i] = cri_points_field(call, y, k + (size_t)i * n);
        has_room = cache->stage[i] != NULL;
    }
    if (has_room) {
        combine(n, t->n_stage, state, h, t->b, k, y);
        mend_rows(call, state, y);
        memcpy(next, y, sizeof *y * n);
    }
    cri_arena_rewind(call->scratch, mark);
    return has_room;
}

void cri_points_flow_vjp(const cri_points_call *call, const cri_points_flow_cache *cache,
                         const double *next_adj, double *state_adj, const cri_points_adj *adj) {
    const cri_tableau *t = call->tableau;
    size_t n = n_state(call), row = n / (size_t)call->B;
    cri_arena_mark mark = cri_arena_get_mark(call->scratch);
    double *Y = CR_PUSH(call->scratch, double, (size_t)t->n_stage *n);
    double *k_adj = CR_PUSH_RAW(call->scratch, double, n);
    for (int i = t->n_stage - 1; i >= 0; i--) {
        for (size_t j = 0; j < n; j++) {
            k_adj[j] = cache->h * t->b[i] * next_adj[j];
        }
        for (int m = i + 1; m < t->n_stage; m++) {
            double factor = cache->h * t->a[m][i];
            for (size_t j = 0; factor != 0.0 && j < n; j++) {
                k_adj[j] += factor * Y[(size_t)m * n + j];
            }
        }
        cri_points_field_vjp(call, cache->stage[i], k_adj, Y + (size_t)i * n, adj);
    }
    for (size_t j = 0; j < n; j++) {
        double sum = next_adj[j];
        for (int i = 0; i < t->n_stage; i++) {
            sum += Y[(size_t)i * n + j];
        }
        state_adj[j] += call->has_failed[j / row] ? 0.0 : sum;
    }
    cri_arena_rewind(call->scratch, mark);
}

void cri_points_flow_jvp(const cri_points_call *call, const cri_points_flow_cache *cache,
                         const double *state_tan, const cri_points_tan *tan, double *next_tan) {
    const cri_tableau *t = call->tableau;
    size_t n = n_state(call), row = n / (size_t)call->B;
    cri_arena_mark mark = cri_arena_get_mark(call->scratch);
    double *k = CR_PUSH_RAW(call->scratch, double, 4 * n);
    double *y = CR_PUSH_RAW(call->scratch, double, n);
    for (int i = 0; i < t->n_stage; i++) {
        combine(n, i, state_tan, cache->h, t->a[i], k, y);
        cri_points_field_jvp(call, cache->stage[i], y, tan, k + (size_t)i * n);
    }
    combine(n, t->n_stage, state_tan, cache->h, t->b, k, y);
    for (size_t j = 0; j < n; j++) {
        next_tan[j] = call->has_failed[j / row] ? 0.0 : y[j];
    }
    cri_arena_rewind(call->scratch, mark);
}

// ---- projection --------------------------------------------------------------------------------

static int project_size(const cri_points *s) {
    return 2 * (cri_ties_factor_size(s) + s->n_tie + 2 * s->n_dof) + s->n_dof;
}

static project_slice project_at(const cri_points_call *call, const cri_project_cache *c, int b) {
    const cri_points *s = call->s;
    int n_factor = cri_ties_factor_size(s), D = s->n_dof, E = s->n_tie;
    double *room = c->rows + (size_t)b * (size_t)c->size;
    double *lx = room + 2 * n_factor, *lv = lx + E + 2 * D;
    return (project_slice){.fx = cri_ties_factor_at(s, call->minv, room),
                           .fv = cri_ties_factor_at(s, call->minv, room + n_factor),
                           .x = {.lam = lx, .H = lx + E, .a = lx + E + D},
                           .v = {.lam = lv, .H = lv + E, .a = lv + E + D},
                           .before = lv + E + 2 * D};
}

static bool project_row(const cri_points_call *call, const project_slice *r, double *state) {
    const cri_points *s = call->s;
    int D = s->n_dof;
    cri_arena_mark mark = cri_arena_get_mark(call->scratch);
    double *c = CR_PUSH_RAW(call->scratch, double, s->n_tie + 1);
    double *next = CR_PUSH_RAW(call->scratch, double, 2 * D);
    memcpy(r->before, state + D, sizeof *state * (size_t)D);
    cri_ties_rows(s, state, r->fx.J);
    cri_ties_value(s, state, c);
    bool is_regular = cri_ties_factorise(s, &r->fx, call->scratch);
    if (is_regular) {
        cri_lemma_solve(s, &r->fx, NULL, c, &r->x, call->scratch);
        for (int i = 0; i < D; i++) {
            next[i] = state[i] + r->x.a[i];
        }
        cri_ties_rows(s, next, r->fv.J);
        ties_times(s, r->fv.J, r->before, c);
        is_regular = cri_ties_factorise(s, &r->fv, call->scratch);
    }
    if (is_regular) {
        cri_lemma_solve(s, &r->fv, NULL, c, &r->v, call->scratch);
        for (int i = 0; i < D; i++) {
            next[D + i] = r->before[i] + r->v.a[i];
        }
        is_regular = cri_all_finite(2 * D, next);
    }
    if (is_regular) {
        memcpy(state, next, sizeof *state * 2 * (size_t)D);
    }
    cri_arena_rewind(call->scratch, mark);
    return is_regular;
}

const cri_project_cache *cri_points_project(const cri_points_call *call, double *state) {
    int size = project_size(call->s), n = 2 * call->s->n_dof;
    cri_project_cache *c = CR_PUSH(call->keep, cri_project_cache, 1);
    double *rows = CR_PUSH_RAW(call->keep, double, (size_t)call->B *(size_t)size);
    if (!c || !rows) {
        return NULL;
    }
    *c = (cri_project_cache){.size = size, .rows = rows};
    for (int b = 0; b < call->B; b++) {
        const project_slice r = project_at(call, c, b);
        call->has_failed[b] =
            call->has_failed[b] || !project_row(call, &r, state + (size_t)b * (size_t)n);
    }
    return c;
}

static void project_row_vjp(const cri_points_call *call, const project_slice *r, double *state_adj,
                            double *minv_adj) {
    const cri_points *s = call->s;
    int D = s->n_dof, E = s->n_tie;
    cri_arena_mark mark = cri_arena_get_mark(call->scratch);
    double *room = CR_PUSH_RAW(call->scratch, double, E + 2 * D);
    const cri_lemma_adj adj = {.w = room, .P = room + E, .p = room + E + D};
    double *x_adj = state_adj, *v_adj = state_adj + D;

    // v' = v + lemma(c = J v) at x'
    cri_lemma_vjp(s, &r->fv, v_adj, NULL, &adj, call->scratch);
    cri_lemma_pull(s, &r->v, &adj, x_adj, minv_adj);
    cri_ties_add_curve(s, -1.0, adj.w, r->before, x_adj);
    for (int e = 0; e < E; e++) {
        adj.w[e] = -adj.w[e];
    }
    ties_add(s, r->fv.J, adj.w, v_adj);

    // x' = x + lemma(c = Phi(x))
    cri_lemma_vjp(s, &r->fx, x_adj, NULL, &adj, call->scratch);
    cri_lemma_pull(s, &r->x, &adj, x_adj, minv_adj);
    for (int e = 0; e < E; e++) {
        adj.w[e] = -adj.w[e];
    }
    ties_add(s, r->fx.J, adj.w, x_adj);
    cri_arena_rewind(call->scratch, mark);
}

void cri_points_project_vjp(const cri_points_call *call, const cri_project_cache *cache,
                            double *state_adj, const cri_points_adj *adj) {
    for (int b = 0; b < call->B; b++) {
        if (!call->has_failed[b]) {
            const project_slice r = project_at(call, cache, b);
            project_row_vjp(call, &r, state_adj + 2 * (size_t)b * (size_t)call->s->n_dof,
                            adj->minv);
        }
    }
}

static void project_row_jvp(const cri_points_call *call, const project_slice *r,
                            const double *minv_tan, double *state_tan) {
    const cri_points *s = call->s;
    int D = s->n_dof, E = s->n_tie;
    cri_arena_mark mark = cri_arena_get_mark(call->scratch);
    double *J_tan = CR_PUSH_RAW(call->scratch, double, s->n_slot * s->d + 1);
    double *c_tan = CR_PUSH_RAW(call->scratch, double, 3 * E + 1), *J_v = c_tan + E;
    double *a_tan = CR_PUSH_RAW(call->scratch, double, D);
    double *v_tan = state_tan + D;
    cri_lemma_tan tan = {.minv = minv_tan, .J = J_tan, .c = c_tan};

    // x' = x + lemma(c = Phi(x))
    cri_ties_curve(s, state_tan, J_tan);
    ties_times(s, r->fx.J, state_tan, c_tan);
    cri_lemma_jvp(s, &r->fx, &r->x, &tan, J_v, a_tan, call->scratch);
    for (int i = 0; i < D; i++) {
        state_tan[i] += a_tan[i];
    }

    // v' = v + lemma(c = J v) at x'
    cri_ties_curve(s, state_tan, J_tan);
    ties_times(s, J_tan, r->before, c_tan);
    ties_times(s, r->fv.J, v_tan, J_v);
    for (int e = 0; e < E; e++) {
        c_tan[e] += J_v[e];
    }
    cri_lemma_jvp(s, &r->fv, &r->v, &tan, J_v, a_tan, call->scratch);
    for (int i = 0; i < D; i++) {
        v_tan[i] += a_tan[i];
    }
    cri_arena_rewind(call->scratch, mark);
}

void cri_points_project_jvp(const cri_points_call *call, const cri_project_cache *cache,
                            const cri_points_tan *tan, double *state_tan) {
    for (int b = 0; b < call->B; b++) {
        if (!call->has_failed[b]) {
            const project_slice r = project_at(call, cache, b);
            project_row_jvp(call, &r, tan->minv,
                            state_tan + 2 * (size_t)b * (size_t)call->s->n_dof);
        }
    }
}
