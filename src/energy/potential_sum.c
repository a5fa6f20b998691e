// SPDX-License-Identifier: MIT
//
// The sum of all potentials with its derivatives. Pairs of surfaces are independent: threads take
// them, and their results are added in the order of pairs, so that the bits do not depend on how
// many threads there are.

#include "energy/potential.h"

#include "energy/hull_barrier.h"
#include "energy/penalty.h"

#include <math.h>
#include <string.h>

static void pair_result(cri_potential *p, const cri_longrange_body *body, int k,
                        cri_longrange_order order, cri_longrange_result *out) {
    cri_mantle_pair *pair = &p->pair[k];
    const cri_longrange_body *a = &body[pair->mantle[0]], *b = &body[pair->mantle[1]];
    cri_barrier_body x = {*a, p->mantle[pair->mantle[0]].owner};
    cri_barrier_body y = {*b, p->mantle[pair->mantle[1]].owner};
    switch (p->form) {
    case CRI_POTENTIAL_LONGRANGE:
        cri_longrange_pair(&pair->options, a, b, order, &pair->warm, out);
        break;
    case CRI_POTENTIAL_IPC:
    case CRI_POTENTIAL_ROUGH:
        cri_barrier_pair(&p->barrier, &x, &y, order, out);
        break;
    case CRI_POTENTIAL_SDRS:
        cri_hull_barrier_pair(p->reach, a, b, order, out);
        break;
    case CRI_POTENTIAL_PENALTY:
        cri_penalty_pair(p->reach, a, b, order, out);
        break;
    }
}

static void half_result(const cri_potential *p, const cri_longrange_body *body, int k,
                        cri_longrange_order order, cri_longrange_half_result *out) {
    const cri_mantle_pair *pair = &p->pair[p->n_pair + k];
    cri_half_space half = cri_potential_half(p, pair);
    const cri_longrange_body *a = &body[pair->mantle[0]];
    if (p->form == CRI_POTENTIAL_LONGRANGE) {
        cri_longrange_half(&pair->options, a, &half, order, out);
    } else {
        cri_barrier_half(&p->barrier, p->form == CRI_POTENTIAL_SDRS, a, &half, order, out);
    }
}

/// Everything an evaluation computes before it is summed.
typedef struct results {
    cri_longrange_order order;
    double mu;
    cri_longrange_poles *poles; // of mu P, NULL: not wanted
    cri_longrange_body *body;
    cri_longrange_result *pair;
    cri_longrange_half_result *half;
} results;

static void note_poles(const cri_longrange_poles *from, double mu, cri_longrange_poles *out) {
    out->n = from->n;
    for (int i = 0; i < from->n; i++) {
        for (int j = 0; j < 12; j++) {
            out->at[i].g[j] = mu * from->at[i].g[j];
        }
        out->at[i].bend = from->at[i].bend / mu;
    }
}

// pair k, half-spaces behind
static void evaluate_one(cri_potential *p, int k, const results *r) {
    const cri_longrange_poles *poles;
    if (k < p->n_pair) {
        pair_result(p, r->body, k, r->order, &r->pair[k]);
        poles = &r->pair[k].poles;
    } else {
        half_result(p, r->body, k - p->n_pair, r->order, &r->half[k - p->n_pair]);
        poles = &r->half[k - p->n_pair].poles;
    }
    if (r->poles) {
        note_poles(poles, r->mu, &r->poles[k]);
    }
}

static bool evaluate(cri_potential *p, const cri_frames *frames, results *r, cr_arena *scratch) {
    r->body = cri_potential_place(p, frames->pose, scratch);
    r->pair = CR_PUSH_RAW(scratch, cri_longrange_result, p->n_pair);
    r->half = CR_PUSH_RAW(scratch, cri_longrange_half_result, p->n_half);
    if (!r->body || !r->pair || !r->half) {
        return false;
    }
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic, 1) if (p->work >= CRI_MUCH_WORK)
#endif
    for (int i = 0; i < p->n_pair + p->n_half; i++) {
        evaluate_one(p, p->order[i], r);
    }
    return true;
}

static void add_affine(double s, const double *F, const double *N, int body,
                       const cri_body_sum *sum) {
    if (body < 0 || !sum->F) {
        return;
    }
    for (int i = 0; i < 3; i++) {
        sum->F[3 * body + i] += s * F[i];
    }
    for (int i = 0; i < 9; i++) {
        sum->N[9 * body + i] += s * N[i];
    }
}

// bodies that move; the others have no dofs
static int body_of(const cri_potential *p, int mantle) {
    return mantle >= 0 && p->mantle[mantle].is_moving ? p->mantle[mantle].body : -1;
}

static void add_pair(const cri_potential *p, const cri_frames *frames, double mu, int k,
                     const cri_longrange_result *r, const cri_body_sum *sum) {
    int a = body_of(p, p->pair[k].mantle[0]), b = body_of(p, p->pair[k].mantle[1]);
    const double back[3] = {-r->affine.F[0], -r->affine.F[1], -r->affine.F[2]};
    add_affine(mu, r->affine.F, r->affine.N[0], a, sum);
    add_affine(mu, back, r->affine.N[1], b, sum);
    if (!sum->H) {
        return;
    }
    double H[144];
    for (int i = 0; i < 144; i++) {
        H[i] = mu * r->H[i];
    }
    cri_frames_add_block(frames, a, a, H, 12, sum->H);
    cri_frames_add_block(frames, b, b, H + 12 * 6 + 6, 12, sum->H);
    cri_frames_add_block(frames, a, b, H + 6, 12, sum->H);
}

static void add_half(const cri_potential *p, const cri_frames *frames, double mu, int k,
                     const cri_longrange_half_result *r, const cri_body_sum *sum) {
    int a = body_of(p, p->pair[p->n_pair + k].mantle[0]);
    add_affine(mu, r->F, r->N, a, sum);
    if (sum->H) {
        double H[36];
        for (int i = 0; i < 36; i++) {
            H[i] = mu * r->H[i];
        }
        cri_frames_add_block(frames, a, a, H, 6, sum->H);
    }
}

// force on the first body and the point nearest to its origin where it acts
static void describe(double mu, double gap, const double *F, const double *N, cri_vec3 pos,
                     cri_potential_touch *out) {
    cri_vec3 f = cri_v3_load(F), torque = cri_affine_torque(N);
    double f2 = cri_v3_dot(f, f);
    // r x f = torque
    cri_vec3 r = f2 > 0.0 ? cri_v3_scale(1.0 / f2, cri_v3_cross(f, torque)) : cri_v3(0, 0, 0);
    out->gap = gap;
    cri_v3_store(cri_v3_scale(-mu, f), out->force);
    cri_v3_store(cri_v3_add(pos, r), out->point);
}

static void describe_all(const cri_potential *p, double mu, const results *r,
                         cri_potential_touch *touch) {
    for (int k = 0; k < p->n_pair; k++) {
        const cri_longrange_result *one = &r->pair[k];
        cri_vec3 pos = r->body[p->pair[k].mantle[0]].pose.pos;
        describe(mu, one->gap, one->affine.F, one->affine.N[0], pos, &touch[k]);
    }
    for (int k = 0; k < p->n_half; k++) {
        const cri_longrange_half_result *one = &r->half[k];
        cri_vec3 pos = r->body[p->pair[p->n_pair + k].mantle[0]].pose.pos;
        describe(mu, one->gap, one->F, one->N, pos, &touch[p->n_pair + k]);
    }
}

void cri_potential_bodies(const cri_potential *p, int pair, int body[2]) {
    body[0] = body_of(p, p->pair[pair].mantle[0]);
    body[1] = body_of(p, p->pair[pair].mantle[1]);
}

// how often a number can be halved
static int class_of(int work) {
    int n = 0;
    for (; work > 0; work /= 2) {
        n++;
    }
    return n;
}

// pairs by their work, to a factor of two
static void sort_pairs(cri_potential *p) {
    int first[33] = {0}, n_all = p->n_pair + p->n_half;
    for (int k = 0; k < n_all; k++) {
        first[class_of(p->pair[k].work)]++;
    }
    for (int c = 32, n = 0; c >= 0; c--) {
        n += first[c];
        first[c] = n - first[c];
    }
    for (int k = 0; k < n_all; k++) {
        p->order[first[class_of(p->pair[k].work)]++] = k;
    }
}

double cri_potential_sum(cri_potential *p, const cri_frames *frames, double mu,
                         const cri_body_sum *sum, const cri_potential_notes *notes,
                         cr_arena *scratch) {
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    results r = {.order = sum->H   ? CRI_LONGRANGE_HESSIAN
                          : sum->F ? CRI_LONGRANGE_GRADIENT
                                   : CRI_LONGRANGE_VALUE,
                 .mu = mu,
                 .poles = notes->poles};
    double value = 0.0;
    if (!evaluate(p, frames, &r, scratch)) {
        cri_arena_rewind(scratch, mark);
        return NAN;
    }
    p->work = 0;
    for (int k = 0; k < p->n_pair; k++) {
        value += mu * r.pair[k].value;
        p->pair[k].work = r.pair[k].n_visit + 10 * r.pair[k].n_exact;
        p->work += p->pair[k].work;
    }
    for (int k = 0; k < p->n_half; k++) {
        value += mu * r.half[k].value;
        p->pair[p->n_pair + k].work = r.half[k].n_visit + 10 * r.half[k].n_exact;
    }
    sort_pairs(p);
    for (int k = 0; isfinite(value) && k < p->n_pair; k++) {
        add_pair(p, frames, mu, k, &r.pair[k], sum);
    }
    for (int k = 0; isfinite(value) && k < p->n_half; k++) {
        add_half(p, frames, mu, k, &r.half[k], sum);
    }
    if (notes->touch && isfinite(value)) {
        describe_all(p, mu, &r, notes->touch);
    }
    cri_arena_rewind(scratch, mark);
    return value;
}
