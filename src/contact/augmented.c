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
// g_e >= 0 hold still along the ground (contact/augmented.c), and derivatives move the
// impulses of three corners, which move the body as all of them would.
//
// Inputs outside their range in training are noted; on demand the law that labelled solves instead,
// and always where other things than the body they know take part.
// Rival `regressed` (pure data-driven in the paper): g = k R(x), every row.
//
// A body that hangs on others: contact/augmented.c. Derivatives: contact/augmented.c.

#include "contact/augmented.h"

#include "base/base.h"
#include "base/math/dense_factor.h"
#include "solvers/lcp.h"
#include "solvers/powell.h"

#include <math.h>
#include <string.h>

// convergence of j, and evaluations in all (paper 003: 0.5 %, mostly fewer than 10)
static const double tolerance = 0.005;

enum { MOST_EVALUATION = 60, MOST_JOINT = CRI_AUGMENTED_MOST };

/// The body alone.
typedef struct joint {
    const cri_contact_problem *p;
    cri_augmented_cache alone; // of the last j
    double c[MOST_JOINT];      // of the whole, before
    double C[MOST_JOINT][2];   // in the rows of the patch
    bool is_frozen;
    cri_ground_class frozen;
    int n_evaluation;
    double best, best_j[2]; // least |G|
    cri_ground_class best_said;
    cr_arena *keep, *scratch;
} joint;

enum { MOST_STILL = CRI_AUGMENTED_MOST, MOST_STILL_END = CRI_AUGMENTED_ENDS, MOST_TANGENT = 3 };

// of an inverse mass: what is left of it once others are held still
static const double independent = 1e-9;

// of all speeds: an end that leaves
static const double leaving = 1e-9;

/// Tangents eliminated.
typedef struct schur {
    double S[MOST_STILL_END * MOST_STILL_END], r[MOST_STILL_END];
    double tangent[MOST_TANGENT * MOST_TANGENT];        // factor of A_tt
    double solved[(MOST_STILL_END + 1) * MOST_TANGENT]; // A_tt^-1 A_te by columns, then of c'_t
} schur;

// part of the range of an input by which it may lie beside it
static const double beside = 0.05;

enum { MOST = CRI_AUGMENTED_MOST, MOST_END = CRI_AUGMENTED_ENDS, MOST_OUT = CRI_AUGMENTED_OUT };

/// Adjoints on the way from the impulses to A and c.
typedef struct pass {
    const cri_contact_problem *p;
    const cri_augmented_cache *c;
    double g[MOST];       // of impulses
    double rest[MOST];    // of c'
    double out[MOST_OUT]; // of the regressor's outputs
    double scale;
    double A[MOST * MOST], own[MOST]; // of A and c
    double where;                     // of the place, for nets that see it
    double *weights;                  // NULL: not wanted
} pass;

/// Tangents on the way from A and c to the impulses.
typedef struct push {
    double A[MOST * MOST], own[MOST];
    double out[MOST_OUT];
    double scale;
    double rest[MOST];
    double g[MOST];
} push;

// ---- joint forces -------------------------------------------------------------------------------

// A body that nets know alone, in a mechanism (Algorithm 2 of paper 003). With j the impulse of its
// joint, the body alone has the contact velocities c + C j, and H of Algorithm 1 answers with
// impulses g. Body and mechanism must agree at the joint (Eq. 6 in impulses, both already moved by
// the applied forces, so that they agree before):
//
//   G(j) = K j + C' H(c + C j) = 0,      K = J + J^,  J^ = K - J of the rest of the mechanism
//
// solved by Powell's hybrid method to 0.5 % from the j that brings the rest's end of the joint to
// rest, J^ j = v. (Eq. 7 of the paper has the velocity of the wrong body there.) G jumps where the
// class flips: after ten evaluations the class is that of the least |G| so far, and a solve that
// has not converged by then begins anew from there, with that class.
//
// Powell's tolerance is not that of the mechanics. What is kept of j are the inputs and the class
// of the body; static patch, normals and guards are then solved with the A of the whole mechanism,
// so that no end approaches or pulls, and no joint opens.

// A of the body alone and C in the rows of the patch
static void reduce(joint *s, const cri_ground *ground) {
    int k = ground->n_row, m = 3 * ground->n;
    const cri_contact_link *link = s->p->link;
    for (int i = 0; i < k; i++) {
        const double *left = ground->R + (size_t)i * (size_t)m;
        s->c[i] = ground->c[i];
        s->C[i][0] = s->C[i][1] = 0.0;
        for (int j = 0; j < k; j++) {
            const double *right = ground->R + (size_t)j * (size_t)m;
            double sum = 0.0;
            for (int a = 0; a < m; a++) {
                for (int b = 0; left[a] != 0.0 && b < m; b++) {
                    sum += left[a] * right[b] * link->A[(size_t)a * (size_t)m + (size_t)b];
                }
            }
            s->alone.ground.A[i * k + j] = sum;
        }
        for (int a = 0; a < m; a++) {
            s->C[i][0] += left[a] * link->C[2 * a];
            s->C[i][1] += left[a] * link->C[2 * a + 1];
        }
    }
}

/// Class of the inputs, and by how much it leads in probability.
static cri_ground_class augmented_classify(const cri_contact_problem *p,
                                           const cri_augmented_cache *c, double *margin,
                                           cr_arena *scratch) {
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

// the body under j: velocities, inputs and class; false when nothing moves
static bool look(joint *s, const double *j, double *margin) {
    cri_augmented_cache *a = &s->alone;
    double sum = 0.0;
    a->has_out = a->has_e = false;
    for (int i = 0; i < a->ground.n_row; i++) {
        a->ground.c[i] = s->c[i] + s->C[i][0] * j[0] + s->C[i][1] * j[1];
        sum += fabs(a->ground.c[i]);
    }
    if (!(sum > 0.0) || !isfinite(sum)) {
        return false;
    }
    a->scale = cri_ground_input(&a->ground, a->input);
    a->said = augmented_classify(s->p, a, margin, s->scratch);
    a->said = s->is_frozen ? s->frozen : a->said;
    return true;
}

// of all links: the scale is of a linked body alone
static bool is_closing(const cri_augmented_cache *c) {
    bool is_any = false;
    for (int i = c->ground.n_tangent; i < c->ground.n_row; i++) {
        is_any = is_any || c->ground.c[i] < 0.0;
    }
    return is_any;
}

static bool any_plain(const cri_contact_problem *p) {
    bool any = false;
    for (int i = 0; p->is_plain && i < p->n; i++) {
        any = any || p->is_plain[i];
    }
    return any;
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

// A g = -c' where A is regular
static bool stand_regular(cri_augmented_cache *c) {
    int k = c->ground.n_row;
    memcpy(c->factor, c->ground.A, sizeof *c->factor * (size_t)(k * k));
    bool is_good = cri_cholesky_factor(k, c->factor);
    c->n_held = k;
    for (int i = 0; i < k; i++) {
        c->held[i] = i;
        c->g[i] = -c->rest[i];
    }
    if (is_good) {
        cri_cholesky_solve(k, c->factor, c->g);
    }
    for (int i = c->ground.n_tangent; i < k; i++) {
        is_good = is_good && c->g[i] >= 0.0;
    }
    return is_good;
}

static bool eliminate(const cri_augmented_cache *c, schur *s) {
    int k = c->ground.n_row, n_t = c->ground.n_tangent, n = k - n_t;
    const double *A = c->ground.A;
    for (int i = 0; i < n_t * n_t; i++) {
        s->tangent[i] = A[i / n_t * k + i % n_t];
    }
    if (!cri_cholesky_factor(n_t, s->tangent)) {
        return false;
    }
    for (int j = 0; j <= n; j++) {
        double *column = s->solved + j * n_t;
        for (int i = 0; i < n_t; i++) {
            column[i] = j < n ? A[i * k + n_t + j] : c->rest[i];
        }
        cri_cholesky_solve(n_t, s->tangent, column);
    }
    for (int i = 0; i < n; i++) {
        const double *row = A + (n_t + i) * k;
        for (int j = 0; j <= n; j++) {
            double sum = j < n ? row[n_t + j] : c->rest[n_t + i];
            for (int l = 0; l < n_t; l++) {
                sum -= row[l] * s->solved[j * n_t + l];
            }
            *(j < n ? &s->S[i * n + j] : &s->r[i]) = sum;
        }
    }
    return true;
}

// of all speeds that an end must not exceed to stand still
static double still_of(const cri_augmented_cache *c) {
    double size = 0.0;
    for (int i = 0; i < c->ground.n_row; i++) {
        size += fabs(c->rest[i]);
    }
    return leaving * size;
}

// by how much what ends are to reach differs from rigid motion, m/s
static double slack_of(const cri_augmented_cache *c) {
    int k = c->ground.n_row, n_t = c->ground.n_tangent;
    double most = 0.0;
    // three ends say what a fourth does
    for (int i = n_t + 3; i < k; i++) {
        double held[3], factor[9], own = c->rest[i];
        for (int j = 0; j < 9; j++) {
            factor[j] = c->ground.A[(n_t + j / 3) * k + n_t + j % 3];
        }
        for (int j = 0; j < 3; j++) {
            held[j] = c->ground.A[i * k + n_t + j];
        }
        if (cri_cholesky_factor(3, factor)) {
            cri_cholesky_solve(3, factor, held);
            for (int j = 0; j < 3; j++) {
                own -= held[j] * c->rest[n_t + j];
            }
            most = fmax(most, fabs(own));
        }
    }
    return 2.0 * most;
}

// M (n, n) on these rows
static void gather(int n, const double *M, int n_row, const int *row, double *out) {
    for (int i = 0; i < n_row * n_row; i++) {
        out[i] = M[row[i / n_row] * n + row[i % n_row]];
    }
}

// adds row next to those of a factor unless they determine it already
static void add_row(int n, const double *M, int next, int *n_row, int *row, double *factor) {
    int k = *n_row;
    double own[MOST_STILL], left = M[next * (n + 1)];
    for (int i = 0; i < k; i++) {
        own[i] = M[row[i] * n + next];
    }
    // M_ii less what the others explain
    if (k > 0) {
        cri_cholesky_solve(k, factor, own);
    }
    for (int i = 0; i < k; i++) {
        left -= own[i] * M[row[i] * n + next];
    }
    double trial[MOST_STILL * MOST_STILL];
    row[k] = next;
    gather(n, M, k + 1, row, trial);
    if (left > independent * M[next * (n + 1)] && cri_cholesky_factor(k + 1, trial)) {
        memcpy(factor, trial, sizeof *trial * (size_t)((k + 1) * (k + 1)));
        *n_row = k + 1;
    }
}

static bool stand_singular(cri_augmented_cache *c, cr_arena *scratch) {
    int k = c->ground.n_row, n_t = c->ground.n_tangent, n = k - n_t;
    schur s;
    CR_ASSERT(n > 0 && n <= MOST_STILL_END);
    if (!eliminate(c, &s)) {
        return false;
    }
    cri_lcp lcp = {.n = n, .M = s.S, .q = s.r};
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    cri_lcp_report solved = cri_lcp_solve(&lcp, c->g + n_t, scratch);
    cri_arena_rewind(scratch, mark);
    bool is_good = solved.outcome == CR_SOLVED, is_pushing = false;
    double still = still_of(c), slack = still + slack_of(c), w[MOST_STILL_END] = {0.0};
    for (int i = 0; i < n; i++) {
        c->g[n_t + i] = fmax(c->g[n_t + i], 0.0);
        is_pushing = is_pushing || c->g[n_t + i] > 0.0;
    }
    for (int i = 0; i < n; i++) {
        w[i] = s.r[i];
        for (int j = 0; j < n; j++) {
            w[i] += s.S[i * n + j] * c->g[n_t + j];
        }
        is_good = is_good && w[i] <= slack;
    }
    for (int l = 0; l < n_t; l++) {
        c->g[l] = -s.solved[n * n_t + l];
        for (int j = 0; j < n; j++) {
            c->g[l] -= s.solved[j * n_t + l] * c->g[n_t + j];
        }
    }
    c->n_held = 0;
    for (int i = 0; i < n_t; i++) {
        add_row(k, c->ground.A, i, &c->n_held, c->held, c->factor);
    }
    // those that push, then those that touch
    for (int i = 0; i < 2 * n && is_good; i++) {
        bool pushes = c->g[n_t + i % n] > 0.0, is_still = w[i % n] <= still;
        if (i < n ? pushes : !pushes && is_still) {
            add_row(k, c->ground.A, n_t + i % n, &c->n_held, c->held, c->factor);
        }
    }
    return is_good && is_pushing;
}

/// Static: g that brings the patch to rest, with c' in rest; false when an end would pull.
static bool augmented_stand(cri_augmented_cache *c, cr_arena *scratch) {
    bool is_regular = c->ground.n_row <= CRI_GROUND_LEAD;
    return is_regular ? stand_regular(c) : stand_singular(c, scratch);
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

/// Algorithm 1 with its guards, for the class and inputs that are there.
static void augmented_choose(const cri_contact_problem *p, cri_augmented_cache *c, bool has_cache,
                             cri_law_report *report, cr_arena *keep, cr_arena *scratch) {
    restore(p, c, has_cache, keep);
    if (c->said == CRI_GROUND_STATIC && augmented_stand(c, scratch)) {
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

static bool value(void *context, const double *j, double *G) {
    joint *s = context;
    const cri_contact_link *link = s->p->link;
    double margin;
    bool is_there = look(s, j, &margin);
    memset(s->alone.g, 0, sizeof s->alone.g);
    if (is_there) {
        bool is_sliding[1];
        cri_law_report report = {.is_sliding = is_sliding};
        augmented_choose(s->p, &s->alone, false, &report, s->keep, s->scratch);
    }
    for (int d = 0; d < 2; d++) {
        G[d] = link->K[2 * d] * j[0] + link->K[2 * d + 1] * j[1];
        for (int i = 0; i < s->alone.ground.n_row; i++) {
            G[d] += s->C[i][d] * s->alone.g[i];
        }
    }
    double size = hypot(G[0], G[1]);
    if (size < s->best && is_there) {
        s->best = size;
        memcpy(s->best_j, j, sizeof s->best_j);
        s->best_said = s->alone.said;
    }
    s->n_evaluation++;
    if (s->n_evaluation == CRI_AUGMENTED_FREEZE && isfinite(s->best)) {
        s->is_frozen = true;
        s->frozen = s->best_said;
    }
    return isfinite(size);
}

void cri_augmented_first_joint(const cri_contact_link *link, double j[2]) {
    double B[4], det;
    for (int i = 0; i < 4; i++) {
        B[i] = link->K[i] - link->J[i];
    }
    det = B[0] * B[3] - B[1] * B[2];
    j[0] = j[1] = 0.0;
    if (fabs(det) > 1e-12 * (B[0] * B[0] + B[3] * B[3])) {
        j[0] = (B[3] * link->v[0] - B[1] * link->v[1]) / det;
        j[1] = (B[0] * link->v[1] - B[2] * link->v[0]) / det;
    }
}

/// Algorithm 2: the inputs and the class of the body alone, under the force of its joint. False
/// when nothing moves.
static bool augmented_join(const cri_contact_problem *p, cri_augmented_cache *c,
                           cri_law_report *report, cr_arena *keep, cr_arena *scratch) {
    CR_ASSERT(p->link && cri_powell_exists());
    joint s = {.p = p, .alone = *c, .best = INFINITY, .keep = keep, .scratch = scratch};
    reduce(&s, &c->ground);
    double j[2];
    cri_augmented_first_joint(p->link, j);
    cri_powell_report solved =
        cri_powell_solve(2, value, &s, tolerance, CRI_AUGMENTED_FREEZE + 5, j);
    if (!solved.is_solved && isfinite(s.best)) {
        s.is_frozen = true;
        s.frozen = s.best_said;
        memcpy(j, s.best_j, sizeof j);
        solved = cri_powell_solve(2, value, &s, tolerance, MOST_EVALUATION, j);
    }
    if (!solved.is_solved && isfinite(s.best)) {
        memcpy(j, s.best_j, sizeof j);
    }
    report->n_evaluation += s.n_evaluation;
    bool is_there = look(&s, j, &report->margin);
    if (is_there) {
        memcpy(c->input, s.alone.input, sizeof c->input);
        c->scale = s.alone.scale;
        c->said = s.alone.said;
    }
    return is_there;
}

// ---- what lies still ----------------------------------------------------------------------------

// The static patch of law `augmented`, and the impulses that derivatives move.
//
// A point, a line or a surface of three corners has a regular A: A g = -c'. With more corners the
// tangents t are eliminated,
//
//   S = A_ee - A_et A_tt^-1 A_te,   r = c'_e - A_et A_tt^-1 c'_t,   0 <= g_e perp S g_e + r >= 0
//   g_t = -A_tt^-1 (c'_t + A_te g_e)
//
// whose velocities are unique though g_e is not: the patch is static when some g_e >= 0 hold it,
// that is when none of them leaves. What the ends are to reach need not be the motion of a rigid
// body: then they may leave by as much as that differs.
//
// Derivatives: rows that stand still and are independent, six at most, hold all the others; with
// them as H and g all impulses,  A_HH dg_H = -(dc' + dA g)_H  and dg = 0 elsewhere moves the body
// as any other solution would. The same for the active normals of a surface that slides.

/// The part of the normals' problem that derivatives move, from its solution in g; false when there
/// is none.
static bool augmented_part(cri_augmented_cache *c, const cri_lcp *lcp, cr_arena *keep) {
    int n = lcp->n, n_row = 0;
    const double *g = c->g + c->ground.n_tangent;
    if (n <= 3) {
        c->n_part = n;
        for (int i = 0; i < n; i++) {
            c->part[i] = i;
        }
        return cri_lcp_reduce(lcp, g, &c->lcp, keep);
    }
    int row[MOST_STILL];
    double factor[MOST_STILL * MOST_STILL];
    for (int i = 0; i < n; i++) {
        if (g[i] > 0.0) {
            add_row(n, lcp->M, i, &n_row, row, factor);
        }
    }
    // the others' impulses stay as they are
    double *M = CR_PUSH_RAW(keep, double, n_row *n_row + 1), *q = CR_PUSH_RAW(keep, double, n + 1);
    double *z = CR_PUSH_RAW(keep, double, n + 1);
    gather(n, lcp->M, n_row, row, M);
    for (int i = 0; i < n_row; i++) {
        z[i] = g[row[i]];
    }
    for (int i = 0; i < n_row; i++) {
        q[i] = 0.0;
        for (int j = 0; j < n_row; j++) {
            q[i] -= M[i * n_row + j] * z[j];
        }
        c->part[i] = row[i];
    }
    c->n_part = n_row;
    cri_lcp part = {.n = n_row, .M = M, .q = q};
    return n_row == 0 || cri_lcp_reduce(&part, z, &c->lcp, keep);
}

// ---- the law ------------------------------------------------------------------------------------

cri_ground_class cri_augmented_class(const void *cache) {
    return ((const cri_augmented_cache *)cache)->said;
}

cri_augmented_mode cri_augmented_mode_of(const void *cache) {
    return ((const cri_augmented_cache *)cache)->mode;
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
        bool is_reduced = augmented_part(c, &lcp, keep);
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
        is_there = augmented_join(p, c, report, keep, scratch);
    } else if (is_there) {
        c->said = augmented_classify(p, c, &report->margin, scratch);
    }
    report->is_outside = report->is_outside || (is_there && is_outside(p, c));
    if (p->is_foreign || (report->is_outside && p->outside != CRI_OUTSIDE_NET)) {
        solve_inner(p, c, f, has_cache, report, keep, scratch);
        return c;
    }
    if (is_there) {
        augmented_choose(p, c, has_cache, report, keep, scratch);
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

// A g = -c' on the held rows
static void static_vjp(pass *s) {
    const cri_augmented_cache *c = s->c;
    int k = c->ground.n_row;
    double y[MOST];
    for (int i = 0; i < c->n_held; i++) {
        y[i] = s->g[c->held[i]];
    }
    cri_cholesky_solve(c->n_held, c->factor, y);
    for (int i = 0; i < c->n_held; i++) {
        s->rest[c->held[i]] = -y[i];
        for (int j = 0; j < k; j++) {
            s->A[c->held[i] * k + j] = -y[i] * c->g[j];
        }
    }
}

// g_e = lcp(M = A_ee, q = c'_e + A_et g_t), of the ends that move
static void normals_vjp(pass *s, cr_arena *scratch) {
    const cri_augmented_cache *c = s->c;
    int k = c->ground.n_row, n_t = c->ground.n_tangent;
    double z_adj[MOST_END], q_adj[MOST_END];
    for (int i = 0; i < c->n_part; i++) {
        z_adj[i] = s->g[n_t + c->part[i]];
    }
    if (c->n_part > 0) {
        cri_lcp_vjp(&c->lcp, z_adj, q_adj, scratch);
    }
    for (int i = 0; i < c->n_part; i++) {
        int row = n_t + c->part[i];
        for (int j = n_t; j < k; j++) {
            s->A[row * k + j] += q_adj[i] * c->g[j];
        }
        s->rest[row] += q_adj[i];
        for (int j = 0; j < n_t; j++) {
            s->A[j * k + row] += q_adj[i] * c->g[j];
            s->g[j] += q_adj[i] * c->ground.A[j * k + row];
        }
    }
}

// g = T' h,  h_i = scale out_i of the first n rows
static void impulses_vjp(pass *s, int n) {
    const cri_augmented_cache *c = s->c;
    cri_ground_turn turn = cri_ground_turn_of(&c->ground);
    const double *out = c->out;
    if (c->ground.n_tangent > 1) {
        double along = s->g[0], across = s->g[1];
        double h[2] = {c->scale * out[0], turn.side * c->scale * out[1]};
        cri_ground_turn adj = {along * h[0] + across * h[1], across * h[0] - along * h[1], 0.0,
                               turn.side};
        s->g[0] = turn.cosine * along + turn.sine * across;
        s->g[1] = turn.side * (turn.cosine * across - turn.sine * along);
        if (c->ground.n_tangent > 2) {
            adj.twist = s->g[2] * c->scale * out[2];
            s->g[2] *= turn.twist;
        }
        cri_ground_turn_of_vjp(&c->ground, &adj, s->A, s->own);
    }
    for (int i = 0; i < n; i++) {
        s->scale += s->g[i] * out[i];
        s->out[i] += s->g[i] * c->scale;
    }
}

// c' = c, but for closing ends
static void rest_vjp(pass *s) {
    const cri_augmented_cache *c = s->c;
    double *e = s->out + cri_ground_rows(c->ground.kind);
    for (int i = 0; i < c->ground.n_row; i++) {
        bool is_closing = i >= c->ground.n_tangent && c->ground.c[i] < 0.0;
        s->own[i] += is_closing ? (1.0 + c->e) * s->rest[i] : s->rest[i];
        *e += is_closing && c->has_e ? c->ground.c[i] * s->rest[i] : 0.0;
    }
}

// out and scale of the net's inputs
static void regress_vjp(pass *s, cr_arena *scratch) {
    const cri_ground_nets *nets = s->p->nets;
    int net = 2 * (int)s->c->ground.kind + 1, first = nets->first[net];
    double input_adj[CRI_GROUND_INPUTS] = {0};
    bool has_room = cri_mlp_value_vjp(&nets->net[net], s->p->weights + first, &s->c->net, s->out,
                                      input_adj, s->weights ? s->weights + first : NULL, scratch);
    CR_ASSERT(has_room);
    cri_ground_input_vjp(&s->c->ground, input_adj, s->scale, s->A, s->own);
    s->where = nets->has_place ? input_adj[nets->net[net].width[0] - 1] : 0.0;
}

/// cri_law's derivatives.
static void augmented_vjp(const cri_contact_problem *p, const void *cached, const double *f,
                          const double *f_adj, cri_contact_adj *adj, cr_arena *scratch) {
    const cri_augmented_cache *c = cached;
    if (c->inner) {
        c->inner->vjp(p, c->inner_cache, f, f_adj, adj, scratch);
        return;
    }
    pass s = {.p = p, .c = c, .weights = adj->weights};
    // f = R' g
    cri_ground_take(&c->ground, f_adj, s.g);
    bool has_net = c->has_e;
    switch (c->mode) {
    case CRI_AUGMENTED_NONE:
        break;
    case CRI_AUGMENTED_STATIC:
        static_vjp(&s);
        break;
    case CRI_AUGMENTED_DYNAMIC:
        normals_vjp(&s, scratch);
        impulses_vjp(&s, c->ground.n_tangent);
        has_net = true;
        break;
    case CRI_AUGMENTED_FRICTIONLESS:
        normals_vjp(&s, scratch);
        break;
    case CRI_AUGMENTED_REGRESSED:
        impulses_vjp(&s, cri_ground_rows(c->ground.kind));
        has_net = true;
        break;
    }
    rest_vjp(&s);
    if (has_net) {
        regress_vjp(&s, scratch);
    }
    *adj = (cri_contact_adj){.weights = s.weights,
                             .where = s.where,
                             .mu = CR_PUSH(scratch, double, p->n),
                             .e = CR_PUSH(scratch, double, p->n)};
    cri_ground_reduce_vjp(p, &c->ground, s.A, s.own, adj, scratch);
}

// those of all outputs, each from one vjp
static void regress_jvp(const cri_contact_problem *p, const cri_augmented_cache *c,
                        const cri_contact_tan *tan, push *t, cr_arena *scratch) {
    const double *weights_tan = tan->weights;
    int net = 2 * (int)c->ground.kind + 1, first = p->nets->first[net];
    const cri_mlp *mlp = &p->nets->net[net];
    int n_weight = cri_mlp_n_weight(mlp);
    double input_tan[CRI_GROUND_INPUTS] = {0};
    t->scale = cri_ground_input_jvp(&c->ground, t->A, t->own, input_tan);
    if (p->nets->has_place) {
        input_tan[mlp->width[0] - 1] = tan->where;
    }
    for (int i = 0; i < mlp->width[mlp->n_layer]; i++) {
        cri_arena_mark mark = cri_arena_get_mark(scratch);
        double *row = weights_tan ? CR_PUSH(scratch, double, n_weight) : NULL;
        double input_adj[CRI_GROUND_INPUTS] = {0}, seed[MOST_OUT] = {0};
        seed[i] = 1.0;
        bool has_room =
            cri_mlp_value_vjp(mlp, p->weights + first, &c->net, seed, input_adj, row, scratch);
        CR_ASSERT(has_room);
        t->out[i] = 0.0;
        for (int j = 0; j < mlp->width[0]; j++) {
            t->out[i] += input_adj[j] * input_tan[j];
        }
        for (int j = 0; row && j < n_weight; j++) {
            t->out[i] += row[j] * weights_tan[first + j];
        }
        cri_arena_rewind(scratch, mark);
    }
}

static void rest_jvp(const cri_augmented_cache *c, push *t) {
    double e_tan = c->has_e ? t->out[cri_ground_rows(c->ground.kind)] : 0.0;
    for (int i = 0; i < c->ground.n_row; i++) {
        bool is_closing = i >= c->ground.n_tangent && c->ground.c[i] < 0.0;
        t->rest[i] = is_closing ? (1.0 + c->e) * t->own[i] + e_tan * c->ground.c[i] : t->own[i];
    }
}

static void static_jvp(const cri_augmented_cache *c, push *t) {
    int k = c->ground.n_row;
    double y[MOST];
    for (int i = 0; i < c->n_held; i++) {
        int row = c->held[i];
        y[i] = -t->rest[row];
        for (int j = 0; j < k; j++) {
            y[i] -= t->A[row * k + j] * c->g[j];
        }
    }
    cri_cholesky_solve(c->n_held, c->factor, y);
    for (int i = 0; i < c->n_held; i++) {
        t->g[c->held[i]] = y[i];
    }
}

static void impulses_jvp(const cri_augmented_cache *c, int n, push *t) {
    for (int i = 0; i < n; i++) {
        t->g[i] = t->scale * c->out[i] + c->scale * t->out[i];
    }
    cri_ground_turn turn = cri_ground_turn_of(&c->ground);
    cri_ground_turn tan = cri_ground_turn_of_jvp(&c->ground, t->A, t->own);
    cri_ground_turn_back(&c->ground, &turn, t->g);
    if (c->ground.n_tangent > 1) {
        double along = c->scale * c->out[0], across = turn.side * c->scale * c->out[1];
        t->g[0] += tan.cosine * along - tan.sine * across;
        t->g[1] += tan.sine * along + tan.cosine * across;
    }
    if (c->ground.n_tangent > 2) {
        t->g[2] += tan.twist * c->scale * c->out[2];
    }
}

static void normals_jvp(const cri_augmented_cache *c, push *t, cr_arena *scratch) {
    int k = c->ground.n_row, n_t = c->ground.n_tangent;
    double rhs[MOST_END], z_tan[MOST_END];
    for (int i = 0; i < c->n_part; i++) {
        int row = n_t + c->part[i];
        rhs[i] = t->rest[row];
        for (int j = 0; j < n_t; j++) {
            rhs[i] += t->A[j * k + row] * c->g[j] + c->ground.A[j * k + row] * t->g[j];
        }
        for (int j = n_t; j < k; j++) {
            rhs[i] += t->A[row * k + j] * c->g[j];
        }
    }
    if (c->n_part > 0) {
        cri_lcp_jvp(&c->lcp, rhs, z_tan, scratch);
    }
    for (int i = 0; i < c->n_part; i++) {
        t->g[n_t + c->part[i]] = z_tan[i];
    }
}

static void augmented_jvp(const cri_contact_problem *p, const void *cached, const double *f,
                          const cri_contact_tan *tan, double *f_tan, cr_arena *scratch) {
    const cri_augmented_cache *c = cached;
    if (c->inner) {
        c->inner->jvp(p, c->inner_cache, f, tan, f_tan, scratch);
        return;
    }
    push t = {.scale = 0.0};
    cri_ground_reduce_jvp(&c->ground, tan, t.A, t.own, scratch);
    bool has_friction = c->mode == CRI_AUGMENTED_DYNAMIC || c->mode == CRI_AUGMENTED_REGRESSED;
    if (c->has_e || has_friction) {
        regress_jvp(p, c, tan, &t, scratch);
    }
    rest_jvp(c, &t);
    switch (c->mode) {
    case CRI_AUGMENTED_NONE:
        break;
    case CRI_AUGMENTED_STATIC:
        static_jvp(c, &t);
        break;
    case CRI_AUGMENTED_DYNAMIC:
        impulses_jvp(c, c->ground.n_tangent, &t);
        normals_jvp(c, &t, scratch);
        break;
    case CRI_AUGMENTED_FRICTIONLESS:
        normals_jvp(c, &t, scratch);
        break;
    case CRI_AUGMENTED_REGRESSED:
        impulses_jvp(c, cri_ground_rows(c->ground.kind), &t);
        break;
    }
    cri_ground_spread(&c->ground, t.g, f_tan);
}

const cri_law cri_law_augmented = {
    .name = "augmented",
    .summary = "nets choose stick, slide or leave and regress friction; normals are solved for",
    .promise = "No approach, no pull, no friction without push, whatever the nets say. What "
               "sticks, how it slides and how it rebounds is what they were trained on.",
    .needs_nets = true,
    .solve = solve,
    .vjp = augmented_vjp,
    .jvp = augmented_jvp,
    .n_byte = n_byte,
};

const cri_law cri_law_regressed = {
    .name = "regressed",
    .summary = "a net regresses the whole impulse: the rival of augmented",
    .promise = "Nothing: bodies may sink, stick to the ground or be thrown by it.",
    .needs_nets = true,
    .solve = solve_regressed,
    .vjp = augmented_vjp,
    .jvp = augmented_jvp,
    .n_byte = n_byte,
};
