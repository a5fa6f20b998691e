// SPDX-License-Identifier: MIT
//
// What all impulse laws share: restitution in one solve or in two, and its derivatives. A law adds
// a kind of friction (solvers/friction.h).
//
// Newton, one solve:
//   c = b,  c_n = b_n - max(e max(0, -b_n), v*)
//
// Poisson, compression and restitution:
//   f_c: c = b, l = 0;      f_r: c = A f_c + b - v* e_n, l = e f_c,n;      f = f_c + f_r
//
// v* is the target. Plain contacts have e = 0, and their target counts always: at a tie of
// restitution and target (both zero for a contact at rest) the derivative of the target must not be
// lost. When every contact is plain, and nobody asks for e, there is one solve, Newton's.
//
// A regularised law has A + eps in all of this, also in A f_c: so e -> 0 leads to one solve, f_r =
// 0. Where the bodies go is up to A alone. Contacts that only rest have none: they would sink, and
// hit the ground again and again.
//
// For Poisson e = 0 is a kink: f_r = 0 leaves every contact of the second solve undecided. The
// derivative for e -> 0+ has classes read off the solution with l = 1e-7 f_c,n. Where e differ
// between contacts it is that for all of them at once: it is linear only piece by piece. For all
// other data f_r stays zero.
//
// With smoothing each phase of a convex law has the derivative of its central path
// (solvers/cone_qp.c), and the chain between the phases is the same. A second solve that has
// nothing to do is not smoothed: f_r is zero near it, not only there.

#include "contact/impulse.h"

#include "base/base.h"
#include "contact/law.h"
#include "solvers/cone_qp.h"
#include "solvers/friction.h"
#include "solvers/friction_reduced.h"

#include <math.h>
#include <string.h>

/// What every impulse law has alike, as designators of its cri_law.
#define CRI_IMPULSE_FUNCTIONS                                                                      \
    .vjp = impulse_vjp, .jvp = impulse_jvp, .split = impulse_split, .jvp_many = impulse_jvp_many,  \
    .n_byte_many = cri_friction_many_bytes, .n_byte = impulse_bytes

/// One complementarity problem and its reduced system.
typedef struct cri_phase {
    cri_friction problem;
    cri_friction_cache reduced;
    double *c;
    double *l;
    double *f;
    bool is_idle;   // f = 0 solves it
    double kappa;   // smoothing asked for
    double k_least; // size of data that it is relative to, at least
    bool is_smooth; // the derivative is that of smooth
    cri_cone_smooth smooth;
} cri_phase;

/// What a solve leaves for its derivatives.
typedef struct cri_impulse_cache {
    cri_impulse_form form;
    const double *A;          // (3n, 3n) of the solves
    const cri_blocks *blocks; // of A
    int n_phase;
    bool *takes_target; // (n) the normal row follows the target, not restitution
    cri_phase phase[2];
} cri_impulse_cache;

// contacts up to which a solve is tried on its classes once more
enum { MAX_TRY = 12 };

/// Takes what tangents of contact i are brought to off their velocities in c (3n).
static inline void cri_take_drift(const double *drift, int i, double *c) {
    for (int r = 3 * i + 1; drift && r < 3 * i + 3; r++) {
        c[r] -= drift[r];
    }
}

/// Has contact i a bound in Poisson's second solve? Of a plain one it is zero, and only the
/// derivative for e -> 0+ asks for it.
static inline bool cri_restores(const cri_contact_problem *p, int i) {
    return !p->is_plain[i] || (p->has_e && p->has_e[i] && p->e[i] == 0.0);
}

/// y = A x + c0 with the matrix of the solves.
static inline void cri_affine(const cri_friction *p, const double *x, const double *c0, double *y) {
    int m = 3 * p->n;
    for (int i = 0; i < m; i++) {
        const double *row = p->A + (size_t)i * (size_t)m;
        const cri_neighbours near = cri_neighbours_of(p, i / 3);
        y[i] = c0[i];
        for (int e = 0; e < near.n; e++) {
            int j = 3 * cri_neighbour(&near, e);
            y[i] += row[j] * x[j];
            y[i] += row[j + 1] * x[j + 1];
            y[i] += row[j + 2] * x[j + 2];
        }
    }
}

// ---- solve --------------------------------------------------------------------------------------

static size_t impulse_bytes(int n) {
    size_t m = 3 * (size_t)n;
    // A + eps 1
    size_t own = sizeof(double) * m * m;
    return own + 3 * cri_friction_reduce_bytes(n) + cri_friction_bytes(n) + cri_blocks_bytes(n) +
           sizeof(cri_impulse_cache) + sizeof(double) * 64 * m + 4096;
}

/// n_byte_smooth of convex ones.
static size_t impulse_smooth_bytes(int n) {
    return 2 * cri_cone_smooth_bytes(n);
}

static cri_phase phase_begin(const cri_contact_problem *p, const cri_impulse_cache *c,
                             cr_arena *keep) {
    cri_phase ph = {.kappa = p->smoothing};
    ph.c = CR_PUSH(keep, double, 7 * p->n);
    ph.f = ph.c + 3 * p->n;
    ph.l = ph.f + 3 * p->n;
    ph.problem = (cri_friction){.kind = c->form.kind,
                                .n = p->n,
                                .A = c->A,
                                .c = ph.c,
                                .b = p->b,
                                .mu = p->mu,
                                .l = ph.l,
                                .blocks = c->blocks,
                                .pivots = c->A == p->A ? p->pivots : NULL};
    return ph;
}

// is the impulse a choice? That of several contacts may be, that of one where nothing moves in some
// direction, as for a tree in a plane
static bool may_be_redundant(const cri_friction *p) {
    const double *A = p->A;
    if (p->n > 1) {
        return true;
    }
    double trace = A[0] + A[4] + A[8];
    double det = A[0] * (A[4] * A[8] - A[5] * A[7]) - A[1] * (A[3] * A[8] - A[5] * A[6]) +
                 A[2] * (A[3] * A[7] - A[4] * A[6]);
    // the least of three directions counts less than 1e-6 of the others
    return det <= 1e-6 * trace * trace * trace;
}

static bool has_start(const cri_phase *ph) {
    bool has = false;
    for (int i = 0; i < 3 * ph->problem.n; i++) {
        has = has || ph->f[i] != 0.0;
    }
    return has;
}

// Prepares the smoothed derivative of a solved phase. Without a cache too: the report has to tell
// whether there is one.
static void phase_smooth(cri_phase *ph, const cri_friction_limit *limit, cri_law_report *report,
                         cr_arena *keep, cr_arena *scratch) {
    cri_friction problem = ph->problem;
    CR_ASSERT(problem.kind == CRI_CONVEX);
    problem.l = limit ? limit->l : problem.l;
    bool has_path = cri_cone_smooth_at(&problem, ph->kappa, ph->k_least, limit ? limit->f : ph->f,
                                       &ph->smooth, keep, scratch);
    ph->is_smooth = report->is_smoothed = true;
    report->is_refused = report->is_refused || !has_path;
}

// Solves ph from ph->f: on the classes of the start, by Newton's method, on the classes that this
// has found, by all that there is. True when the solution is reduced already. Never depends on
// has_cache, nor do the bits of f.
static bool solve_redundant(cri_phase *ph, bool has_cache, cri_solve_report *r, cr_arena *keep,
                            cr_arena *scratch) {
    const cri_friction *p = &ph->problem;
    size_t bytes = sizeof(double) * 3 * (size_t)p->n;
    cri_friction_cache *reduced = &ph->reduced;
    bool is_reduced =
        has_start(ph) && cri_friction_reduce_at_once(p, ph->f, has_cache, reduced, keep, scratch);
    if (!is_reduced) {
        cri_arena_mark mark = cri_arena_get_mark(scratch);
        double *start = CR_PUSH_RAW(scratch, double, 3 * p->n);
        memcpy(start, ph->f, bytes);
        bool is_tried = p->n <= MAX_TRY, is_solved = false;
        if (is_tried) {
            *r = cri_friction_try(p, ph->f, scratch);
            is_solved = r->outcome == CR_SOLVED;
        }
        if (is_tried && !is_solved) {
            is_reduced = cri_friction_reduce_at_once(p, ph->f, has_cache, reduced, keep, scratch);
        }
        if (!is_solved && !is_reduced) {
            memcpy(ph->f, start, bytes);
            *r = cri_friction_solve(p, ph->f, scratch);
        }
        cri_arena_rewind(scratch, mark);
    }
    if (is_reduced) {
        *r = (cri_solve_report){.n_iteration = r->n_iteration + 1, .residual = reduced->selected};
    }
    return is_reduced;
}

// The selection is part of the solution, whoever asks for derivatives; where it moves the impulse,
// the report is of what it has moved to.
static void select_phase(cri_phase *ph, bool has_cache, cri_solve_report *r, cr_arena *keep,
                         cr_arena *scratch) {
    const cri_friction *p = &ph->problem;
    size_t bytes = sizeof(double) * 3 * (size_t)p->n;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *before = CR_PUSH_RAW(scratch, double, 3 * p->n);
    memcpy(before, ph->f, bytes);
    cri_friction_reduce(p, ph->f, NULL, has_cache, &ph->reduced, keep, scratch);
    if (!ph->is_idle && memcmp(before, ph->f, bytes) != 0) {
        double known = ph->reduced.selected;
        r->residual = known >= 0.0 ? known : cri_friction_certificate(p, ph->f);
        r->outcome = cri_friction_outcome(r->residual);
    }
    cri_arena_rewind(scratch, mark);
}

// solves ph from ph->f; a single contact needs its reduced system only for derivatives. Nothing is
// solved where the compression has left nothing to do: then zero it is, whatever rounding says.
static void phase_solve(cri_phase *ph, const cri_friction_limit *limit, bool has_cache,
                        cri_law_report *report, cr_arena *keep, cr_arena *scratch) {
    const cri_friction *p = &ph->problem;
    cri_solve_report r = {.outcome = CR_SOLVED};
    bool is_redundant = may_be_redundant(p), is_reduced = false, is_kink = false;
    double margin;
    if (!ph->is_idle && is_redundant) {
        is_reduced = solve_redundant(ph, has_cache, &r, keep, scratch);
    } else if (!ph->is_idle) {
        r = cri_friction_solve(p, ph->f, scratch);
    }
    if (!is_reduced && (is_redundant || (has_cache && !limit))) {
        select_phase(ph, has_cache, &r, keep, scratch);
        is_reduced = true;
    }
    if (is_reduced) {
        margin = ph->reduced.margin;
        is_kink = ph->reduced.is_one_sided;
    } else {
        margin = cri_friction_margin(p, ph->f, &is_kink, scratch);
    }
    report->margin = fmin(report->margin, margin);
    if (limit) {
        cri_friction_reduce(p, ph->f, limit, has_cache, &ph->reduced, keep, scratch);
    }
    if (ph->kappa > 0.0 && !ph->is_idle && r.outcome == CR_SOLVED) {
        phase_smooth(ph, limit, report, keep, scratch);
    }
    // there are no classes on the path
    report->is_one_sided = report->is_one_sided || (is_kink && !ph->is_smooth);
    report->n_iteration += r.n_iteration;
    report->residual = fmax(report->residual, r.residual);
    report->outcome = r.outcome > report->outcome ? r.outcome : report->outcome;
}

// marks what lies on its cone, to the certificate's tolerance
static void note_sliding(const cri_contact_problem *p, const cri_impulse_cache *c, const double *f,
                         cri_law_report *report) {
    for (int i = 0; i < p->n; i++) {
        double radius = p->mu[i] * f[3 * i];
        double inside = cri_friction_inside_by(c->form.kind, f + 3 * i, radius);
        report->is_sliding[i] =
            report->is_sliding[i] || (f[3 * i] > 0.0 && inside <= 1e-10 * radius);
    }
}

static void newton_phase(const cri_contact_problem *p, double *f, bool has_cache,
                         cri_impulse_cache *c, cri_law_report *report, cr_arena *keep,
                         cr_arena *scratch) {
    cri_phase *ph = &c->phase[0];
    *ph = phase_begin(p, c, keep);
    c->n_phase = 1;
    memcpy(ph->c, p->b, sizeof(double) * 3 * (size_t)p->n);
    memcpy(ph->f, f, sizeof(double) * 3 * (size_t)p->n);
    for (int i = 0; i < p->n; i++) {
        double bounce = p->e[i] * fmax(0.0, -p->b[3 * i]);
        c->takes_target[i] = p->is_plain[i] || bounce < p->target[i];
        ph->c[3 * i] -= c->takes_target[i] ? p->target[i] : bounce;
        cri_take_drift(p->drift, i, ph->c);
    }
    phase_solve(ph, NULL, has_cache, report, keep, scratch);
    memcpy(f, ph->f, sizeof(double) * 3 * (size_t)p->n);
}

static bool any_restores(const cri_contact_problem *p) {
    bool any = false;
    for (int i = 0; i < p->n; i++) {
        any = any || cri_restores(p, i);
    }
    return any;
}

// the solution with l = 1e-7 f_c,n where e = 0, in scratch
static cri_friction_limit limit_of_no_restitution(const cri_contact_problem *p,
                                                  const cri_phase *first, const cri_phase *second,
                                                  cr_arena *scratch) {
    int m = 3 * p->n;
    double *l = CR_PUSH_RAW(scratch, double, p->n);
    double *f = CR_PUSH(scratch, double, m);
    double *u = CR_PUSH_RAW(scratch, double, m);
    for (int i = 0; i < p->n; i++) {
        double fn = fmax(first->f[3 * i], 0.0);
        l[i] = p->e[i] == 0.0 && cri_restores(p, i) ? 1e-7 * fn : second->l[i];
    }
    cri_friction near = second->problem;
    near.l = l;
    cri_friction_solve(&near, f, scratch);
    cri_affine(&near, f, second->c, u);
    return (cri_friction_limit){.f = f, .u = u, .l = l};
}

// the matrix of the solves
static const double *regularised(const cri_contact_problem *p, double epsilon, cr_arena *keep) {
    size_t m = 3 * (size_t)p->n;
    if (epsilon == 0.0 || !any_restores(p)) {
        return p->A;
    }
    double *A = CR_PUSH_RAW(keep, double, m *m);
    memcpy(A, p->A, sizeof *A * m * m);
    for (size_t i = 0; i < m; i++) {
        A[i * (m + 1)] += cri_restores(p, (int)i / 3) ? epsilon : 0.0;
    }
    return A;
}

static const double *shift_of(const cri_contact_problem *p, double epsilon, cr_arena *keep) {
    double *shift = CR_PUSH_RAW(keep, double, p->n);
    for (int i = 0; i < p->n; i++) {
        shift[i] = cri_restores(p, i) ? epsilon : 0.0;
    }
    return shift;
}

static void poisson_phases(const cri_contact_problem *p, double *f, bool has_cache,
                           cri_impulse_cache *c, cri_law_report *report, cr_arena *keep,
                           cr_arena *scratch) {
    int m = 3 * p->n;

    // compression
    cri_phase *first = &c->phase[0], *second = &c->phase[1];
    *first = phase_begin(p, c, keep);
    memcpy(first->c, p->b, sizeof(double) * (size_t)m);
    memcpy(first->f, f, sizeof(double) * (size_t)m);
    phase_solve(first, NULL, has_cache, report, keep, scratch);

    // restitution
    *second = phase_begin(p, c, keep);
    second->k_least = first->smooth.k;
    c->n_phase = 2;
    cri_affine(&first->problem, first->f, p->b, second->c);
    bool is_kink = false;
    second->is_idle = true;
    for (int i = 0; i < p->n; i++) {
        double fn = fmax(first->f[3 * i], 0.0);
        second->c[3 * i] -= p->target[i];
        cri_take_drift(p->drift, i, second->c);
        second->l[i] = cri_restores(p, i) ? p->e[i] * fn : 0.0;
        second->is_idle = second->is_idle && second->l[i] == 0.0 && p->target[i] <= 0.0;
        is_kink = is_kink || (cri_restores(p, i) && p->e[i] == 0.0 && fn > 0.0);
    }
    for (int i = 0; i < m; i++) {
        second->f[i] = second->is_idle ? 0.0 : p->e[i / 3] * first->f[i];
    }
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    cri_friction_limit limit;
    report->is_one_sided = report->is_one_sided || is_kink;
    bool has_limit = is_kink && (has_cache || (p->smoothing > 0.0 && !second->is_idle));
    if (has_limit) {
        limit = limit_of_no_restitution(p, first, second, scratch);
    }
    phase_solve(second, has_limit ? &limit : NULL, has_cache, report, keep, scratch);
    cri_arena_rewind(scratch, mark);
    for (int i = 0; i < m; i++) {
        f[i] = first->f[i] + second->f[i];
    }
    report->compression = first->f;
    note_sliding(p, c, first->f, report);
    note_sliding(p, c, second->f, report);
}

const void *cri_impulse_solve(const cri_impulse_form *form, const cri_contact_problem *p, double *f,
                              bool has_cache, cri_law_report *report, cr_arena *keep,
                              cr_arena *scratch) {
    CR_ASSERT(form && p->n > 0 && f && report && keep != scratch);
    cri_impulse_cache *c = CR_PUSH(keep, cri_impulse_cache, 1);
    c->form = *form;
    c->A = regularised(p, form->epsilon, keep);
    c->blocks = cri_blocks_find(p->n, c->A, keep);
    c->takes_target = CR_PUSH(keep, bool, p->n);
    memset(report->is_sliding, 0, sizeof(bool) * (size_t)p->n);
    report->compression = NULL;
    report->shift = form->epsilon != 0.0 ? shift_of(p, form->epsilon, keep) : NULL;
    if (form->is_poisson && any_restores(p)) {
        poisson_phases(p, f, has_cache, c, report, keep, scratch);
    } else {
        newton_phase(p, f, has_cache, c, report, keep, scratch);
        note_sliding(p, c, f, report);
    }
    return c;
}

// ---- derivatives --------------------------------------------------------------------------------

// Derivatives of what all impulse laws share (below), phase by phase:
//
//   Newton    c_n = b_n - v*  or  b_n + e min(0, b_n),   c_t = b_t - v*_t
//   Poisson   f_c = solve(c = b),   f_r = solve(c = A f_c + b - v*, l = e f_c,n),   f = f_c + f_r
//
// A phase is differentiated on its reduced system (solvers/friction_reduced.c), or on its central
// path where smoothing was asked for. Adjoints of A are outer products, tangents of A are applied.

// adds the outer products -p f' + z q' of a phase, with p and z of its reduced system or its path
static double *phase_vjp(const cri_phase *ph, const double *f_adj, cri_contact_adj *adj,
                         double *l_adj, cr_arena *scratch) {
    int m = 3 * ph->problem.n;
    double *minus_p = CR_PUSH_RAW(scratch, double, m);
    double *z = CR_PUSH_RAW(scratch, double, m);
    if (ph->is_smooth) {
        cri_cone_smooth_vjp(&ph->smooth, f_adj, minus_p, adj->mu, l_adj, scratch);
    } else {
        cri_friction_reduced_vjp(&ph->problem, &ph->reduced, f_adj, minus_p, z, adj->mu, l_adj,
                                 scratch);
    }
    for (int i = 0; i < m; i++) {
        minus_p[i] = -minus_p[i];
    }
    adj->left[adj->n_outer] = minus_p;
    adj->right[adj->n_outer++] = ph->f;
    if (!ph->is_smooth && ph->reduced.n_null > 0) {
        adj->left[adj->n_outer] = z;
        adj->right[adj->n_outer++] = ph->reduced.q;
    }
    return minus_p; // c_adj
}

static void adj_begin(int n, bool has_drift, cri_contact_adj *adj, cr_arena *scratch) {
    *adj = (cri_contact_adj){0};
    adj->b = CR_PUSH(scratch, double, 3 * n);
    adj->mu = CR_PUSH(scratch, double, n);
    adj->e = CR_PUSH(scratch, double, n);
    adj->target = CR_PUSH(scratch, double, n);
    adj->drift = has_drift ? CR_PUSH(scratch, double, 3 * n) : NULL;
}

// does e move contact i? For a plain one this is the derivative for e -> 0+, which the caller may
// drop
static bool bounces(const cri_contact_problem *p, const cri_impulse_cache *c, int i) {
    bool is_edge = p->is_plain[i] && p->target[i] == 0.0;
    return p->b[3 * i] < 0.0 && (!c->takes_target[i] || is_edge);
}

static void newton_vjp(const cri_contact_problem *p, const cri_impulse_cache *c,
                       const double *f_adj, cri_contact_adj *adj, cr_arena *scratch) {
    double *l_adj = CR_PUSH(scratch, double, p->n);
    const double *c_adj = phase_vjp(&c->phase[0], f_adj, adj, l_adj, scratch);

    // c_n = b_n - target,  or  b_n + e min(0, b_n)
    for (int i = 0; i < p->n; i++) {
        const double *ci = c_adj + 3 * i;
        for (int r = 0; r < 3; r++) {
            adj->b[3 * i + r] += ci[r];
        }
        if (c->takes_target[i]) {
            adj->target[i] -= ci[0];
        } else if (p->b[3 * i] < 0.0) {
            adj->b[3 * i] += p->e[i] * ci[0];
        }
        adj->e[i] += bounces(p, c, i) ? p->b[3 * i] * ci[0] : 0.0;
        cri_take_drift(adj->drift ? c_adj : NULL, i, adj->drift);
    }
}

// adjoint of an idle second solve: f_r = 0 whatever the data are, but for e
static void idle_vjp(const cri_contact_problem *p, const cri_impulse_cache *c, const double *f_adj,
                     cri_contact_adj *adj, cr_arena *scratch) {
    const cri_phase *ph = &c->phase[1];
    double *unused = CR_PUSH(scratch, double, 7 * p->n), *z = unused + 3 * p->n;
    double *l_adj = CR_PUSH(scratch, double, p->n);
    cri_friction_reduced_vjp(&ph->problem, &ph->reduced, f_adj, unused, z, z + 3 * p->n, l_adj,
                             scratch);
    for (int i = 0; i < p->n; i++) {
        adj->e[i] += cri_restores(p, i) ? l_adj[i] * c->phase[0].f[3 * i] : 0.0;
    }
}

// adjoint of the second solve: overwrites first_adj (3n) of f_c
static void second_vjp(const cri_contact_problem *p, const cri_impulse_cache *c,
                       const double *f_adj, double *first_adj, cri_contact_adj *adj,
                       cr_arena *scratch) {
    const cri_phase *first = &c->phase[0];
    double *l_adj = CR_PUSH(scratch, double, p->n);
    double *c_adj = phase_vjp(&c->phase[1], f_adj, adj, l_adj, scratch);
    cri_affine(&first->problem, c_adj, f_adj, first_adj);
    for (int i = 0; i < p->n; i++) {
        adj->target[i] -= c_adj[3 * i];
        cri_take_drift(adj->drift ? c_adj : NULL, i, adj->drift);
        if (cri_restores(p, i)) {
            adj->e[i] += l_adj[i] * first->f[3 * i];
            first_adj[3 * i] += p->e[i] * l_adj[i];
        }
    }
    adj->left[adj->n_outer] = c_adj;
    adj->right[adj->n_outer++] = first->f;
    for (int i = 0; i < 3 * p->n; i++) {
        adj->b[i] += c_adj[i];
    }
}

static void impulse_vjp(const cri_contact_problem *p, const void *cached, const double *f,
                        const double *f_adj, cri_contact_adj *adj, cr_arena *scratch) {
    (void)f;
    const cri_impulse_cache *c = cached;
    int m = 3 * p->n;
    adj_begin(p->n, p->drift != NULL, adj, scratch);
    if (c->n_phase == 1) {
        newton_vjp(p, c, f_adj, adj, scratch);
        return;
    }
    // f = f_c + f_r,  f_r = solve(c = A f_c + b - v* e_n, l = e f_c,n)
    double *unused = CR_PUSH(scratch, double, p->n);
    double *first_adj = CR_PUSH_RAW(scratch, double, m);
    if (c->phase[1].is_idle) {
        memcpy(first_adj, f_adj, sizeof *f_adj * (size_t)m);
        idle_vjp(p, c, f_adj, adj, scratch);
    } else {
        second_vjp(p, c, f_adj, first_adj, adj, scratch);
    }

    // f_c = solve(c = b)
    const double *c_adj = phase_vjp(&c->phase[0], first_adj, adj, unused, scratch);
    for (int i = 0; i < m; i++) {
        adj->b[i] += c_adj[i];
    }
}

static void phase_jvp(const cri_phase *ph, const cri_contact_tan *tan, const double *c_tan,
                      const double *l_tan, double *f_tan, cr_arena *scratch) {
    int m = 3 * ph->problem.n;
    double *rhs = CR_PUSH_RAW(scratch, double, m);
    double *A_q = CR_PUSH_RAW(scratch, double, m);
    tan->apply_A(tan->context, ph->f, rhs);
    for (int i = 0; i < m; i++) {
        rhs[i] += c_tan[i];
    }
    if (ph->is_smooth && !tan->is_exact) {
        cri_cone_smooth_jvp(&ph->smooth, rhs, tan->mu, l_tan, f_tan, scratch);
        return;
    }
    if (ph->reduced.n_null > 0) {
        tan->apply_A(tan->context, ph->reduced.q, A_q);
    }
    cri_friction_tan data = {.rhs = rhs, .A_q = A_q, .mu = tan->mu, .l = l_tan};
    cri_friction_reduced_jvp(&ph->problem, &ph->reduced, &data, f_tan, scratch);
}

static void newton_jvp(const cri_contact_problem *p, const cri_impulse_cache *c,
                       const cri_contact_tan *tan, double *f_tan, cr_arena *scratch) {
    double *c_tan = CR_PUSH_RAW(scratch, double, 3 * p->n);
    double *l_tan = CR_PUSH(scratch, double, p->n);
    memcpy(c_tan, tan->b, sizeof(double) * 3 * (size_t)p->n);
    for (int i = 0; i < p->n; i++) {
        double b = p->b[3 * i];
        if (c->takes_target[i]) {
            c_tan[3 * i] -= tan->target[i];
        } else if (b < 0.0) {
            c_tan[3 * i] += p->e[i] * tan->b[3 * i];
        }
        c_tan[3 * i] += bounces(p, c, i) ? b * tan->e[i] : 0.0;
        cri_take_drift(tan->drift, i, c_tan);
    }
    phase_jvp(&c->phase[0], tan, c_tan, l_tan, f_tan, scratch);
}

static void impulse_jvp(const cri_contact_problem *p, const void *cached, const double *f,
                        const cri_contact_tan *tan, double *f_tan, cr_arena *scratch) {
    (void)f;
    const cri_impulse_cache *c = cached;
    int m = 3 * p->n;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    if (c->n_phase == 1) {
        newton_jvp(p, c, tan, f_tan, scratch);
        cri_arena_rewind(scratch, mark);
        return;
    }
    const cri_phase *first = &c->phase[0], *second = &c->phase[1];
    double *first_tan = CR_PUSH_RAW(scratch, double, m);
    double *c_tan = CR_PUSH_RAW(scratch, double, m);
    double *A_f = CR_PUSH_RAW(scratch, double, m);
    double *l_tan = CR_PUSH(scratch, double, p->n);

    // f_c = solve(c = b)
    phase_jvp(first, tan, tan->b, l_tan, first_tan, scratch);

    // f_r = solve(c = A f_c + b - v* e_n, l = e f_c,n); an idle one moves with e alone
    cri_contact_tan second_tan = *tan;
    for (int i = 0; i < p->n; i++) {
        l_tan[i] =
            cri_restores(p, i) ? tan->e[i] * first->f[3 * i] + p->e[i] * first_tan[3 * i] : 0.0;
    }
    if (second->is_idle) {
        c_tan = CR_PUSH(scratch, double, m);
        second_tan.mu = CR_PUSH(scratch, double, p->n);
    } else {
        tan->apply_A(tan->context, first->f, A_f);
        cri_affine(&first->problem, first_tan, tan->b, c_tan);
        for (int i = 0; i < m; i++) {
            c_tan[i] += A_f[i] - (i % 3 == 0 ? tan->target[i / 3] : 0.0);
        }
        for (int i = 0; i < p->n; i++) {
            cri_take_drift(tan->drift, i, c_tan);
        }
    }
    phase_jvp(second, &second_tan, c_tan, l_tan, f_tan, scratch);
    for (int i = 0; i < m; i++) {
        f_tan[i] += first_tan[i];
    }
    cri_arena_rewind(scratch, mark);
}

/// Its split and jvp_many: of one solve that is not smoothed.
static bool impulse_split(const cri_contact_problem *p, const void *cached,
                          cri_contact_split *split) {
    const cri_impulse_cache *c = cached;
    const cri_phase *ph = &c->phase[0];
    for (int i = 0; i < p->n; i++) {
        bool takes_b = !c->takes_target[i] && p->b[3 * i] < 0.0;
        split->of_b[i] = takes_b ? 1.0 + p->e[i] : 1.0;
        split->of_target[i] = c->takes_target[i];
    }
    split->q = cri_friction_takes_q(&ph->problem, &ph->reduced) ? ph->reduced.q : NULL;
    return c->n_phase == 1 && !ph->is_smooth;
}

static void impulse_jvp_many(const void *cached, int n_column, double *F, const double *A_q,
                             cr_arena *scratch) {
    const cri_impulse_cache *c = cached;
    const cri_phase *ph = &c->phase[0];
    CR_ASSERT(c->n_phase == 1);
    cri_friction_reduced_many(&ph->problem, &ph->reduced, n_column, F, A_q, scratch);
}

// ---- exact Coulomb friction ---------------------------------------------------------------------

// Law `ncp`: Coulomb's cone and Signorini's condition, both exact. u = A f + c,
//
//   0 <= f_n - l  perp  u_n >= 0,    |f_t| <= mu f_n,    f_t = -mu f_n u_t/|u_t| where u_t != 0
//
// A sliding contact stays down (u_n = 0). Not convex: solutions need not be unique, and a solve may
// fail. Restitution is Newton's (`ncp`), or Poisson's (`ncp-poisson`), which was not seen to add
// energy where one coefficient holds for the whole island.

static const void *solve_ncp(const cri_contact_problem *problem, double *f, bool has_cache,
                             cri_law_report *report, cr_arena *keep, cr_arena *scratch) {
    static const cri_impulse_form form = {.kind = CRI_COULOMB};
    return cri_impulse_solve(&form, problem, f, has_cache, report, keep, scratch);
}

const cri_law cri_law_ncp = {
    .name = "ncp",
    .summary = "exact Coulomb cone and Signorini condition, Newton restitution",
    .promise = "What sticks does not creep, what slides does not lift, friction is the same in all "
               "directions. Not convex: a solve can fail, and the step then says so. Energy can "
               "grow in an impact that friction turns round.",
    .solve = solve_ncp,
    CRI_IMPULSE_FUNCTIONS,
};

static const void *solve_ncp_poisson(const cri_contact_problem *problem, double *f, bool has_cache,
                                     cri_law_report *report, cr_arena *keep, cr_arena *scratch) {
    static const cri_impulse_form form = {.kind = CRI_COULOMB, .is_poisson = true};
    return cri_impulse_solve(&form, problem, f, has_cache, report, keep, scratch);
}

const cri_law cri_law_ncp_poisson = {
    .name = "ncp-poisson",
    .summary = "exact Coulomb cone and Signorini condition, Poisson restitution",
    .promise = "As ncp, and restitution gives back a part e of the impulse: no impact with one e "
               "was seen to gain energy.",
    .is_poisson = true,
    .solve = solve_ncp_poisson,
    CRI_IMPULSE_FUNCTIONS,
};

// ---- convex cones -------------------------------------------------------------------------------

// Laws `cone` and `cone-reg`: the convex contact model of DCS (paper 000, Eq. 5-7), two cone
// programmes,
//
//   f_c = argmin 1/2 f'A f + b'f                 |f_t| <= mu f_n
//   f_r = argmin 1/2 f'A f + (v_c - v*)'f        |f_t| <= mu f_n,  f_n >= e f_c,n
//   v_c = A f_c + b
//
// Convex: always solved, and with one e for all the energy never grows. The price: a sliding
// contact is lifted, u_n = mu |u_t|. `cone-reg` has A + eps 1 with eps = 0.01 1/kg, as that paper
// ran it: a unique impulse, contacts a little soft, but for those at rest. Where friction differs
// along the tangents, the direction with less of it is the softer one.

static const void *solve_cone(const cri_contact_problem *problem, double *f, bool has_cache,
                              cri_law_report *report, cr_arena *keep, cr_arena *scratch) {
    static const cri_impulse_form form = {.kind = CRI_CONVEX, .is_poisson = true};
    return cri_impulse_solve(&form, problem, f, has_cache, report, keep, scratch);
}

const cri_law cri_law_cone = {
    .name = "cone",
    .summary = "convex cone programmes for compression and restitution (Poisson)",
    .promise = "Convex: every impact has a solution, and with one e energy never grows. What "
               "sticks does not creep. What slides is lifted, "
               "v_n = mu |v_t|, and hops; its path on average is Coulomb's.",
    .is_poisson = true,
    .is_lifting = true,
    .solve = solve_cone,
    CRI_IMPULSE_FUNCTIONS,
    .n_byte_smooth = impulse_smooth_bytes,
};

static const void *solve_cone_reg(const cri_contact_problem *problem, double *f, bool has_cache,
                                  cri_law_report *report, cr_arena *keep, cr_arena *scratch) {
    static const cri_impulse_form form = {.kind = CRI_CONVEX, .is_poisson = true, .epsilon = 0.01};
    return cri_impulse_solve(&form, problem, f, has_cache, report, keep, scratch);
}

const cri_law cri_law_cone_reg = {
    .name = "cone-reg",
    .summary = "the same with A + 0.01 kg^-1",
    .promise = "Every contact has one impulse, and so a derivative. Soft: what sticks creeps and "
               "what rests sinks, more for heavier bodies. Meant for the stepper end.",
    .is_regularised = true,
    .is_poisson = true,
    .is_lifting = true,
    .solve = solve_cone_reg,
    CRI_IMPULSE_FUNCTIONS,
    .n_byte_smooth = impulse_smooth_bytes,
};

// ---- octagon ------------------------------------------------------------------------------------

// Law `lcp`: friction in an octagon, d_k at 45 k degrees from the first tangent (SDF, paper 004,
// A.7; the data of DCS), Newton's restitution:
//
//   0 <= f_n perp u_n >= 0,    f_t in mu f_n conv{d_0 .. d_7}, and f_t'u_t least of all there
//
// The multipliers of that linear complementarity problem are not unique while a contact sticks;
// here they are eliminated (solvers/friction.h), so that its derivative exists. Not isotropic:
// friction turns by up to 22.5 degrees from the slip, and its size varies by 8 per cent.

static const void *solve_lcp(const cri_contact_problem *problem, double *f, bool has_cache,
                             cri_law_report *report, cr_arena *keep, cr_arena *scratch) {
    static const cri_impulse_form form = {.kind = CRI_OCTAGON};
    return cri_impulse_solve(&form, problem, f, has_cache, report, keep, scratch);
}

const cri_law cri_law_lcp = {
    .name = "lcp",
    .summary = "octagonal friction cone, linear complementarity, Newton restitution",
    .promise = "As ncp, but friction depends on the direction: up to 8 per cent weaker, and slip "
               "turns by up to 22.5 degrees. What sticks does not creep, what slides does not "
               "lift.",
    .is_octagon = true,
    .solve = solve_lcp,
    CRI_IMPULSE_FUNCTIONS,
};
