// SPDX-License-Identifier: MIT
//
// Law `augmented` (Algorithm 1 of paper 003) in the rows of the patch (contact/ground.h), tangents
// t and ends e, with x the inputs, k the scale of impulses and T the frame of the slip:
//
//   class = argmax C(x)
//   static     A g = -c', the patch stands still          some g_i < 0 at an end: as detach
//   dynamic    g_t = k T' R_t(x),  0 <= g_e perp c'_e + A_et g_t + A_ee g_e >= 0
//                                                         all g_e = 0: as detach
//   detach     g = 0                                      some c_e < 0: dynamic with g_t = 0
//
// The three guards on the right are not in the paper. With them no end approaches the ground, no
// end pulls, and there is friction only where an end pushes, whatever the nets say.
//
// Restitution is not in the paper either: with e = min(max(R_e(x), 0), 1), the regressor's last
// output, closing ends rebound, c'_e = (1 + e) c_e where c_e < 0, and c' = c elsewhere, for nets
// without that output and for contacts that only rest. What is static then stands still along the
// ground. Coefficients of the scene do not count: the nets have learned their surface.
//
// A surface of four corners or more has impulses that are not unique. Static is then what some
// g_e >= 0 hold still along the ground (contact/augmented_still.c), and derivatives move the
// impulses of three corners, which move the body as all of them would.
//
// Inputs outside their range in training are noted; on demand the law that labelled solves instead,
// and always where other things than the body they know take part.
// Rival `regressed` (pure data-driven in the paper): g = k R(x), every row.
//
// A body that hangs on others: contact/augmented_joint.c. Derivatives: contact/augmented_diff.c.

#include "contact/augmented_parts.h"

#include "base/base.h"
#include <math.h>
#include <string.h>

// part of the range of an input by which it may lie beside it
static const double beside = 0.05;

cri_ground_class cri_augmented_class(const void *cache) {
    return ((const cri_augmented_cache *)cache)->said;
}

cri_augmented_mode cri_augmented_mode_of(const void *cache) {
    return ((const cri_augmented_cache *)cache)->mode;
}

cri_ground_class cri_augmented_classify(const cri_contact_problem *p, const cri_augmented_cache *c,
                                        double *margin, cr_arena *scratch) {
    int net = 2 * (int)c->ground.kind;
    double out[CRI_GROUND_CLASSES], sum = 0.0, second = 0.0;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    // the law's room suffices for any net that the reader lets through
    bool has_room = cri_mlp_value(&p->nets->net[net], p->weights + p->nets->first[net], 1, c->input,
                                  out, NULL, scratch);
    CR_ASSERT(has_room);
    cri_arena_rewind(scratch, mark);
    int best = 0;
    for (int i = 1; i < CRI_GROUND_CLASSES; i++) {
        best = out[i] > out[best] ? i : best;
    }
    for (int i = 0; i < CRI_GROUND_CLASSES; i++) {
        double weight = exp(out[i] - out[best]);
        sum += weight;
        second = i != best ? fmax(second, weight) : second;
    }
    *margin = (1.0 - second) / sum;
    return (cri_ground_class)best;
}

static void regress(const cri_contact_problem *p, cri_augmented_cache *c, bool has_cache,
                    cr_arena *keep) {
    int net = 2 * (int)c->ground.kind + 1;
    if (c->has_out) {
        return;
    }
    cri_arena_mark mark = cri_arena_get_mark(keep);
    bool has_room = cri_mlp_value(&p->nets->net[net], p->weights + p->nets->first[net], 1, c->input,
                                  c->out, has_cache ? &c->net : NULL, keep);
    CR_ASSERT(has_room);
    if (!has_cache) {
        cri_arena_rewind(keep, mark);
    }
    c->has_out = true;
}

static bool any_plain(const cri_contact_problem *p) {
    bool any = false;
    for (int i = 0; p->is_plain && i < p->n; i++) {
        any = any || p->is_plain[i];
    }
    return any;
}

// of all links: the scale is of a linked body alone
static bool is_closing(const cri_augmented_cache *c) {
    bool is_any = false;
    for (int i = c->ground.n_tangent; i < c->ground.n_row; i++) {
        is_any = is_any || c->ground.c[i] < 0.0;
    }
    return is_any;
}

// e and c'
static void restore(const cri_contact_problem *p, cri_augmented_cache *c, bool has_cache,
                    cr_arena *keep) {
    int k = c->ground.n_row, n_t = c->ground.n_tangent;
    c->e = 0.0;
    if (p->nets->has_restitution && is_closing(c) && !any_plain(p)) {
        regress(p, c, has_cache, keep);
        double e = c->out[cri_ground_rows(c->ground.kind)];
        c->has_e = e > 0.0 && e < 1.0;
        c->e = e >= 1.0 ? 1.0 : (c->has_e ? e : 0.0);
    }
    for (int i = 0; i < k; i++) {
        double own = c->ground.c[i];
        c->rest[i] = i >= n_t && own < 0.0 ? (1.0 + c->e) * own : own;
    }
}

static cri_lcp normals(const cri_augmented_cache *c) {
    return (cri_lcp){.n = c->ground.n_row - c->ground.n_tangent, .M = c->M, .q = c->q};
}

// normals for the friction g_t; false when no end pushes
static bool solve_normals(cri_augmented_cache *c, cri_law_report *report, cr_arena *scratch) {
    int k = c->ground.n_row, n_t = c->ground.n_tangent, n = k - n_t;
    double size = 0.0;
    for (int i = 0; i < n; i++) {
        const double *row = c->ground.A + (n_t + i) * k;
        c->q[i] = c->rest[n_t + i];
        for (int j = 0; j < n_t; j++) {
            c->q[i] += row[j] * c->g[j];
        }
        for (int j = 0; j < n; j++) {
            c->M[i * n + j] = row[n_t + j];
        }
        size = fmax(size, fabs(c->q[i]));
    }
    cri_lcp lcp = normals(c);
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    cri_lcp_report solved = cri_lcp_solve(&lcp, c->g + n_t, scratch);
    cri_arena_rewind(scratch, mark);
    report->outcome = solved.outcome;
    report->n_iteration += solved.n_iteration;
    report->residual = size > 0.0 ? solved.residual / (1e-10 * size) : 0.0;
    bool is_pushing = false;
    for (int i = n_t; i < k; i++) {
        c->g[i] = fmax(c->g[i], 0.0);
        is_pushing = is_pushing || c->g[i] > 0.0;
    }
    return is_pushing;
}

// the friction that the regressor says; false when that is no number
static bool set_friction(cri_augmented_cache *c) {
    cri_ground_turn turn = cri_ground_turn_of(&c->ground);
    bool is_finite = true;
    for (int i = 0; i < c->ground.n_tangent; i++) {
        c->g[i] = c->scale * c->out[i];
    }
    cri_ground_turn_back(&c->ground, &turn, c->g);
    for (int i = 0; i < c->ground.n_tangent; i++) {
        is_finite = is_finite && isfinite(c->g[i]);
    }
    return is_finite;
}

void cri_augmented_choose(const cri_contact_problem *p, cri_augmented_cache *c, bool has_cache,
                          cri_law_report *report, cr_arena *keep, cr_arena *scratch) {
    restore(p, c, has_cache, keep);
    if (c->said == CRI_GROUND_STATIC && cri_augmented_stand(c, scratch)) {
        c->mode = CRI_AUGMENTED_STATIC;
        return;
    }
    if (c->said == CRI_GROUND_DYNAMIC && is_closing(c)) {
        regress(p, c, has_cache, keep);
        if (set_friction(c) && solve_normals(c, report, scratch)) {
            c->mode = CRI_AUGMENTED_DYNAMIC;
            return;
        }
    }
    memset(c->g, 0, sizeof c->g);
    c->mode = CRI_AUGMENTED_NONE;
    if (is_closing(c)) {
        c->mode = CRI_AUGMENTED_FRICTIONLESS;
        solve_normals(c, report, scratch);
    }
}

// ---- beyond training ---------------------------------------------------------------------------

static bool is_outside(const cri_contact_problem *p, const cri_augmented_cache *c) {
    int kind = (int)c->ground.kind, n = p->nets->net[2 * kind].width[0];
    bool is_out = false;
    for (int i = 0; i < n; i++) {
        double lower = p->nets->lower[kind][i], upper = p->nets->upper[kind][i];
        double more = beside * (upper - lower) + 1e-9;
        is_out = is_out || c->input[i] < lower - more || c->input[i] > upper + more;
    }
    return is_out;
}

// the law that the nets learned from, or what comes nearest
static const cri_law *analytic(const cri_contact_problem *p) {
    const cri_law *law = cri_law_find(p->nets->law);
    return law && !law->needs_nets ? law : cri_law_find("lcp");
}

static void solve_inner(const cri_contact_problem *p, cri_augmented_cache *c, double *f,
                        bool has_cache, cri_law_report *report, cr_arena *keep, cr_arena *scratch) {
    CR_ASSERT(p->mu && p->e && p->is_plain);
    report->outcome = CR_SOLVED;
    c->inner = analytic(p);
    c->inner_cache = c->inner->solve(p, f, has_cache, report, keep, scratch);
}

// ---- the laws ----------------------------------------------------------------------------------

// the patch, and the inputs of a body that moves freely; false when there is nothing to solve
static bool begin(const cri_contact_problem *p, cri_augmented_cache *c, cri_law_report *report,
                  cr_arena *keep) {
    CR_ASSERT(p->nets && p->weights);
    report->compression = report->shift = NULL;
    memset(report->is_sliding, 0, sizeof(bool) * (size_t)p->n);
    c->said = CRI_GROUND_DETACH;
    if (!cri_ground_reduce(p, &c->ground, keep) || p->is_foreign) {
        // contacts of another kind than the nets know
        report->is_outside = true;
        report->outcome = CR_ITERATION_LIMIT;
        return false;
    }
    double sum = 0.0;
    for (int i = 0; i < c->ground.n_row; i++) {
        sum += fabs(c->ground.c[i]);
    }
    if (sum <= 0.0) {
        return false;
    }
    c->is_linked = p->link != NULL;
    if (!c->is_linked) {
        c->scale = cri_ground_input(&c->ground, c->input);
    }
    c->has_applied = p->nets->has_applied;
    if (c->has_applied) {
        CR_ASSERT(p->applied && !c->is_linked);
        cri_ground_applied(&c->ground, p->applied, c->input + cri_ground_inputs(c->ground.kind));
    }
    if (p->nets->has_place) {
        CR_ASSERT(!c->is_linked);
        c->input[p->nets->net[2 * (int)c->ground.kind].width[0] - 1] = p->where;
    }
    return true;
}

static void finish(cri_augmented_cache *c, double *f, bool has_cache, cri_law_report *report,
                   cr_arena *keep) {
    cri_ground_spread(&c->ground, c->g, f);
    bool has_lcp = c->mode == CRI_AUGMENTED_DYNAMIC || c->mode == CRI_AUGMENTED_FRICTIONLESS;
    if (has_cache && has_lcp && report->outcome == CR_SOLVED) {
        cri_lcp lcp = normals(c);
        bool is_reduced = cri_augmented_part(c, &lcp, keep);
        report->outcome = is_reduced ? CR_SOLVED : CR_ITERATION_LIMIT;
    }
    for (int i = 0; i < c->ground.n; i++) {
        report->is_sliding[i] = c->mode != CRI_AUGMENTED_STATIC && f[3 * i] > 0.0;
    }
    // what a net sees of a linked body hangs on its own inertia, whose derivatives are not there
    bool uses_net = c->mode == CRI_AUGMENTED_DYNAMIC || c->mode == CRI_AUGMENTED_REGRESSED;
    // and so are those of what forces made
    report->is_refused = (c->is_linked || c->has_applied) && (uses_net || c->has_e);
}

static const void *solve(const cri_contact_problem *p, double *f, bool has_cache,
                         cri_law_report *report, cr_arena *keep, cr_arena *scratch) {
    cri_augmented_cache *c = CR_PUSH(keep, cri_augmented_cache, 1);
    bool is_there = begin(p, c, report, keep);
    if (is_there && c->is_linked) {
        is_there = cri_augmented_join(p, c, report, keep, scratch);
    } else if (is_there) {
        c->said = cri_augmented_classify(p, c, &report->margin, scratch);
    }
    report->is_outside = report->is_outside || (is_there && is_outside(p, c));
    if (p->is_foreign || (report->is_outside && p->outside != CRI_OUTSIDE_NET)) {
        solve_inner(p, c, f, has_cache, report, keep, scratch);
        return c;
    }
    if (is_there) {
        cri_augmented_choose(p, c, has_cache, report, keep, scratch);
    }
    finish(c, f, has_cache, report, keep);
    return c;
}

static const void *solve_regressed(const cri_contact_problem *p, double *f, bool has_cache,
                                   cri_law_report *report, cr_arena *keep, cr_arena *scratch) {
    cri_augmented_cache *c = CR_PUSH(keep, cri_augmented_cache, 1);
    bool is_there = begin(p, c, report, keep);
    if (is_there && c->is_linked) {
        // pure regression has no part for joints: the body is taken as if it were alone
        c->scale = cri_ground_input(&c->ground, c->input);
    }
    report->is_outside = report->is_outside || (is_there && is_outside(p, c));
    if (p->is_foreign || (report->is_outside && p->outside != CRI_OUTSIDE_NET)) {
        solve_inner(p, c, f, has_cache, report, keep, scratch);
        return c;
    }
    if (is_there) {
        regress(p, c, has_cache, keep);
        c->mode = CRI_AUGMENTED_REGRESSED;
        cri_ground_turn turn = cri_ground_turn_of(&c->ground);
        for (int i = 0; i < cri_ground_rows(c->ground.kind); i++) {
            c->g[i] = c->scale * c->out[i];
        }
        cri_ground_turn_back(&c->ground, &turn, c->g);
    }
    finish(c, f, has_cache, report, keep);
    return c;
}

static size_t n_byte(int n) {
    // values, slopes and adjoints of a net's rows at its widest, and a row of all its weights
    size_t wide = CRI_GROUND_WIDTH, net = 4 * CRI_GROUND_HIDDEN * (wide + 8);
    size_t weights = CRI_GROUND_HIDDEN * (wide + 1) * wide, inner = 0;
    for (int i = 0; cri_law_at(i); i++) {
        size_t own = cri_law_at(i)->n_byte(n);
        inner = own > inner ? own : inner;
    }
    return 2 * sizeof(cri_augmented_cache) + cri_ground_bytes(n) +
           2 * cri_lcp_bytes(CRI_AUGMENTED_ENDS) + inner + sizeof(double) * (net + weights) + 4096;
}

const cri_law cri_law_augmented = {
    .name = "augmented",
    .summary = "nets choose stick, slide or leave and regress friction; normals are solved for",
    .promise = "No approach, no pull, no friction without push, whatever the nets say. What "
               "sticks, how it slides and how it rebounds is what they were trained on.",
    .needs_nets = true,
    .solve = solve,
    .vjp = cri_augmented_vjp,
    .jvp = cri_augmented_jvp,
    .n_byte = n_byte,
};

const cri_law cri_law_regressed = {
    .name = "regressed",
    .summary = "a net regresses the whole impulse: the rival of augmented",
    .promise = "Nothing: bodies may sink, stick to the ground or be thrown by it.",
    .needs_nets = true,
    .solve = solve_regressed,
    .vjp = cri_augmented_vjp,
    .jvp = cri_augmented_jvp,
    .n_byte = n_byte,
};
