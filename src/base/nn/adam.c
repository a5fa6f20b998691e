// SPDX-License-Identifier: MIT
//
// Adam (Kingma and Ba 2015, algorithm 1) and AdamW (Loshchilov and Hutter 2019, algorithm 2).
//
//   m = b1 m + (1 - b1) g,  s = b2 s + (1 - b2) g^2
//   w -= rate (m/(1 - b1^t)) / (sqrt(s/(1 - b2^t)) + eps) + rate decay w
//        + rate pull clip(w - home, -1, 1)
//
// A number at its bound whose slope would push it outside has slope 0 there, and after the step it
// is clipped: so a coefficient that reaches 0 may leave it again when the loss wants that.

#include "base/nn/adam.h"

#include "base/nn/lanes.h"

#include <math.h>
#include <string.h>

double cri_rate_at(const cri_rate *rate, long long done, long long n_step) {
    CR_ASSERT(rate && done >= 0 && rate->begin >= 0.0 && rate->begin < 1.0);
    if (rate->kind == CRI_RATE_CONSTANT || n_step <= 0) {
        return rate->rate;
    }
    double part = (double)done / (double)n_step;
    double left = (1.0 - part) / (1.0 - rate->begin);
    return rate->rate * fmax(0.0, fmin(1.0, left));
}

cri_adam cri_adam_of(int n, double *mean, double *square) {
    CR_ASSERT(n >= 0 && mean && square);
    memset(mean, 0, sizeof *mean * (size_t)n);
    memset(square, 0, sizeof *square * (size_t)n);
    return (cri_adam){
        .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .n = n, .mean = mean, .square = square};
}

// penalties, and no slope out of the bounds
static void prepare(const cri_adam_group *g, const double *w, double *w_adj) {
    bool has_bounds = g->lower < g->upper;
    for (int i = g->first; i < g->first + g->n; i++) {
        w_adj[i] += 2.0 * g->l2 * w[i];
        // a descent goes against the slope
        if (has_bounds &&
            ((w[i] <= g->lower && w_adj[i] > 0.0) || (w[i] >= g->upper && w_adj[i] < 0.0))) {
            w_adj[i] = 0.0;
        }
    }
}

/// Numbers of a step that all weights of a group share.
typedef struct group_step {
    double b1, b2, c1, c2, eps;
    double rate, decay, pull, home;
} group_step;

// m, s, w_adj and w begin at the group
CRI_INLINE void move_weights_body(const group_step *at, int n, const double *restrict w_adj,
                                  double *restrict m, double *restrict s, double *restrict w) {
    for (int i = 0; i < n; i++) {
        double slope = w_adj[i];
        m[i] = at->b1 * m[i] + (1.0 - at->b1) * slope;
        s[i] = at->b2 * s[i] + (1.0 - at->b2) * slope * slope;
        double move = m[i] * at->c1 / (sqrt(s[i] * at->c2) + at->eps);
        double away = w[i] - at->home;
        double back = away > 1.0 ? 1.0 : away < -1.0 ? -1.0 : away;
        w[i] -= at->rate * (move + at->decay * w[i] + at->pull * back);
    }
}

CRI_LANES(move_weights,
          (const group_step *at, int n, const double *w_adj, double *m, double *s, double *w),
          (at, n, w_adj, m, s, w))

static void step_group(cri_adam *adam, double rate, const cri_adam_group *g, const double *w_adj,
                       double *w) {
    group_step at = {.b1 = adam->beta1,
                     .b2 = adam->beta2,
                     .c1 = 1.0 / (1.0 - pow(adam->beta1, (double)adam->n_step)),
                     .c2 = 1.0 / (1.0 - pow(adam->beta2, (double)adam->n_step)),
                     .eps = adam->eps,
                     .rate = rate * g->rate,
                     .decay = g->decay,
                     .pull = adam->pull * g->pull,
                     .home = g->home};
    int i = g->first;
    move_weights(&at, g->n, w_adj + i, adam->mean + i, adam->square + i, w + i);
    for (; g->lower < g->upper && i < g->first + g->n; i++) {
        w[i] = fmin(fmax(w[i], g->lower), g->upper);
    }
}

void cri_adam_step(cri_adam *adam, double rate, int n_group, const cri_adam_group *group,
                   double *w_adj, double *w) {
    CR_ASSERT(adam && rate >= 0.0 && w_adj && w);
    adam->n_step++;
    for (int k = 0; k < n_group; k++) {
        CR_ASSERT(group[k].first >= 0 && group[k].n >= 0 && group[k].first + group[k].n <= adam->n);
        prepare(&group[k], w, w_adj);
        step_group(adam, rate, &group[k], w_adj, w);
    }
}
