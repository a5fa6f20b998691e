// SPDX-License-Identifier: MIT
//
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

#include "contact/augmented_parts.h"

#include "base/base.h"
#include "solvers/powell.h"

#include <math.h>
#include <string.h>

// convergence of j, and evaluations in all (paper 003: 0.5 %, mostly fewer than 10)
static const double tolerance = 0.005;
enum { MOST_EVALUATION = 60, MOST = CRI_AUGMENTED_MOST };

/// The body alone.
typedef struct joint {
    const cri_contact_problem *p;
    cri_augmented_cache alone; // of the last j
    double c[MOST];            // of the whole, before
    double C[MOST][2];         // in the rows of the patch
    bool is_frozen;
    cri_ground_class frozen;
    int n_evaluation;
    double best, best_j[2]; // least |G|
    cri_ground_class best_said;
    cr_arena *keep, *scratch;
} joint;

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
    a->said = cri_augmented_classify(s->p, a, margin, s->scratch);
    a->said = s->is_frozen ? s->frozen : a->said;
    return true;
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
        cri_augmented_choose(s->p, &s->alone, false, &report, s->keep, s->scratch);
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

bool cri_augmented_join(const cri_contact_problem *p, cri_augmented_cache *c,
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
