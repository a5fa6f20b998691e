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
// (solvers/cone_smooth.c), and the chain between the phases is the same. A second solve that has
// nothing to do is not smoothed: f_r is zero near it, not only there.

#include "contact/impulse_parts.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

// contacts up to which a solve is tried on its classes once more
enum { MAX_TRY = 12 };

size_t cri_impulse_bytes(int n) {
    size_t m = 3 * (size_t)n;
    // A + eps 1
    size_t own = sizeof(double) * m * m;
    return own + 3 * cri_friction_reduce_bytes(n) + cri_friction_bytes(n) + cri_blocks_bytes(n) +
           sizeof(cri_impulse_cache) + sizeof(double) * 64 * m + 4096;
}

size_t cri_impulse_smooth_bytes(int n) {
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
