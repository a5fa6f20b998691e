// SPDX-License-Identifier: MIT
//
// The models of paper 001 as one interface: what they are made of, which numbers are trained, how
// they predict, their loss and their training.

#include "points/learn/learner.h"

#include "base/base.h"
#include "base/io/checkpoint.h"
#include "base/nn/mlp.h"
#include "learned/trainer.h"

#include <string.h>

static const char *const names[CRI_N_LEARNER_KIND] = {"cdl", "cdl-notouch", "resnet",
                                                      "resnetcontact", "vin"};

/// One pass.
typedef struct pass {
    const cri_learner *learner;
    const cri_learner_batch *batch;
    const double *p;
    cr_arena *arena;
    int n_row, n_x, n_step;
    double h;
    double *state;                // (n_step + 1, n_row, n_x)
    double *touch;                // (n_step, n_row, n_touch) measured behind the step
    double *in;                   // (n_step, n_row, n_x) of the contact net
    double *in_adj;               // as in
    double *logit;                // (n_step, n_row, n_touch)
    double *gate;                 // as logit: sigmoids, without touch
    bool *moves;                  // (n_row, n_touch)
    bool *is_failed;              // (n_row)
    cri_mlp_cache *signal_at;     // (n_step) of contact nets that steps asked
    cri_central_cache *central;   // (n_step)
    cri_residual_cache *residual; // (n_step)
    cri_verlet_cache *verlet;     // (n_step)
} pass;

typedef struct context {
    const cri_learner_training *training;
    cr_arena *arena;
} context;

// ---- models -------------------------------------------------------------------------------------

const char *cri_learner_name(cri_learner_kind kind) {
    return names[kind];
}

int cri_learner_find(const char *name) {
    for (int k = 0; k < CRI_N_LEARNER_KIND; k++) {
        if (strcmp(names[k], name) == 0) {
            return k;
        }
    }
    return -1;
}

static bool create_central(const cri_learner_def *def, cri_learner *out) {
    int n_q = def->points.n_body * def->points.n_dim;
    out->central = cri_central_create(&(cri_central_def){
        .points = def->points,
        .mass = def->mass,
        .n_contact = def->n_contact,
        .touch = def->touch,
        .source = CRI_SIGNAL_NET,
        .projection = def->projection,
        .potential = CRI_POTENTIAL_NET,
        .potential_net = {2, {n_q, def->n_hidden, 1}, def->act, true},
        .contact_net =
            {3, {2 * n_q, def->n_signal, def->n_signal, def->n_contact}, CRI_ACT_RELU, false},
        .dt = def->dt,
        .x0 = def->x0,
    });
    out->n_p = out->central ? out->central->n_p : 0;
    return out->central != NULL;
}

static bool create_baseline(const cri_learner_def *def, cri_learner *out) {
    int n_q = def->points.n_body * def->points.n_dim;
    bool is_vin = def->kind == CRI_LEARN_VIN;
    bool has_touch = def->kind == CRI_LEARN_RESNETCONTACT;
    int n_in = is_vin ? n_q : 2 * n_q + (has_touch ? def->n_contact : 0);
    out->baseline = cri_baseline_create(&(cri_baseline_def){
        .kind = is_vin      ? CRI_BASELINE_VIN
                : has_touch ? CRI_BASELINE_RESNETCONTACT
                            : CRI_BASELINE_RESNET,
        .points = def->points,
        .n_signal = def->n_contact,
        .mass = def->mass,
        .net = {2, {n_in, def->n_hidden, is_vin ? 1 : 2 * n_q}, def->act, is_vin},
        .contact_net =
            {3, {2 * n_q, def->n_signal, def->n_signal, def->n_contact}, CRI_ACT_RELU, false},
        .dt = def->dt,
        .x0 = def->x0,
    });
    out->n_p = out->baseline ? out->baseline->n_p : 0;
    return out->baseline != NULL;
}

bool cri_learner_create(const cri_learner_def *def, cri_learner *out) {
    *out = (cri_learner){.kind = def->kind,
                         .learns_restitution = def->learns_restitution,
                         .learns_damping = def->learns_damping,
                         .n_q = def->points.n_body * def->points.n_dim,
                         .n_touch = def->n_contact};
    bool is_central = def->kind == CRI_LEARN_CDL || def->kind == CRI_LEARN_CDL_NOTOUCH;
    return is_central ? create_central(def, out) : create_baseline(def, out);
}

void cri_learner_clear(cri_learner *learner) {
    cri_central_destroy(learner->central);
    cri_baseline_destroy(learner->baseline);
    *learner = (cri_learner){0};
}

// ---- numbers that are trained ------------------------------------------------------------------

bool cri_learner_start(const cri_learner *learner, uint64_t seed, double *p, cr_arena *work) {
    cri_random stream = cri_random_of(seed, 1);
    const cri_central *c = learner->central;
    if (c) {
        memcpy(p, c->p0, (size_t)c->n_p * sizeof *p);
        return cri_mlp_start(&c->potential_net, CRI_START_GLOROT, &stream, p + c->at_potential,
                             work) &&
               (c->at_contact_net == c->n_p || cri_mlp_start(&c->contact_net, CRI_START_GLOROT,
                                                             &stream, p + c->at_contact_net, work));
    }
    const cri_baseline *b = learner->baseline;
    memcpy(p, b->mass, (size_t)b->at_net * sizeof *p);
    return cri_mlp_start(&b->net, CRI_START_GLOROT, &stream, p + b->at_net, work) &&
           (b->at_contact_net == b->n_p ||
            cri_mlp_start(&b->contact_net, CRI_START_GLOROT, &stream, p + b->at_contact_net, work));
}

// kernels with a penalty, biases without
static int add_net(const cri_mlp *net, int at, double l2, cri_adam_group *group) {
    int n = 0;
    int end = at + cri_mlp_n_weight(net);
    for (int layer = 1; layer <= net->n_layer; layer++) {
        int kernel = at + cri_mlp_place(net, layer, false);
        int bias = kernel + net->width[layer] * net->width[layer - 1];
        int next = layer < net->n_layer ? at + cri_mlp_place(net, layer + 1, false) : end;
        group[n++] = (cri_adam_group){.first = kernel, .n = bias - kernel, .rate = 1.0, .l2 = l2};
        if (next > bias) {
            group[n++] = (cri_adam_group){.first = bias, .n = next - bias, .rate = 1.0};
        }
    }
    return n;
}

int cri_learner_groups(const cri_learner *learner, double l2, double l2_touch,
                       cri_adam_group *group) {
    const cri_central *c = learner->central;
    int n = 0;
    if (!c) {
        const cri_baseline *b = learner->baseline;
        n += add_net(&b->net, b->at_net, l2, group);
        if (b->at_contact_net < b->n_p) {
            n += add_net(&b->contact_net, b->at_contact_net, l2_touch, group + n);
        }
        return n;
    }
    if (learner->learns_restitution && c->n_contact > 0) {
        group[n++] = (cri_adam_group){
            .first = c->at_restitution, .n = c->n_contact, .rate = 1.0, .lower = 0.0, .upper = 1.0};
    }
    if (learner->learns_damping) {
        group[n++] = (cri_adam_group){.first = c->at_damping, .n = 1, .rate = 1.0};
    }
    n += add_net(&c->potential_net, c->at_potential, l2, group + n);
    if (c->at_contact_net < c->n_p) {
        n += add_net(&c->contact_net, c->at_contact_net, l2_touch, group + n);
    }
    return n;
}

// ---- prediction --------------------------------------------------------------------------------

static bool step_once(const cri_learner *learner, const cri_system_batch *batch, double *next,
                      double *touch, cr_arena *arena) {
    memset(touch, 0, (size_t)learner->n_touch * sizeof *touch);
    if (learner->central) {
        cri_central_cache cache;
        if (!cri_central_step(learner->central, batch, NULL, next, &cache, arena)) {
            return false;
        }
        for (int k = 0; k < cache.n_visit[0]; k++) {
            touch[cache.seen[k].contact] = 1.0;
        }
        return true;
    }
    if (learner->kind == CRI_LEARN_VIN) {
        return cri_verlet_step(learner->baseline, batch, next, NULL, arena);
    }
    cri_residual_cache cache;
    if (!cri_residual_step(learner->baseline, batch, NULL, next, &cache, arena)) {
        return false;
    }
    memcpy(touch, cache.touched, (size_t)learner->baseline->n_signal * sizeof *touch);
    return true;
}

static double step_of(const cri_learner *learner) {
    return learner->central ? learner->central->dt : learner->baseline->dt;
}

bool cri_learner_predict(const cri_learner *learner, const double *p, const double *x0, int n_step,
                         double *path, double *touch, cr_arena *arena) {
    size_t n_x = 2 * (size_t)learner->n_q;
    size_t n_touch = (size_t)learner->n_touch;
    memcpy(path, x0, n_x * sizeof *path);
    memset(touch, 0, n_touch * sizeof *touch);
    bool is_done = true;
    for (size_t k = 0; is_done && k < (size_t)n_step; k++) {
        cri_arena_mark mark = cri_arena_get_mark(arena);
        cri_system_batch batch = {p, step_of(learner), 1, 0, path + n_x * k, NULL};
        is_done =
            step_once(learner, &batch, path + n_x * (k + 1), touch + n_touch * (k + 1), arena);
        cri_arena_rewind(arena, mark);
    }
    return is_done;
}

bool cri_learner_touch(const cri_learner *learner, const double *p, int n_row, const double *x,
                       double *probability, cr_arena *arena) {
    cri_arena_mark mark = cri_arena_get_mark(arena);
    int n_q = learner->n_q;
    double *in = CR_PUSH_RAW(arena, double, n_row * 2 * n_q);
    if (!in) {
        return false;
    }
    // the central step's net sees the new position
    double h = learner->central ? learner->central->dt : 0.0;
    for (int k = 0; k < n_row * 2 * n_q; k++) {
        in[k] = x[k] + (k % (2 * n_q) < n_q ? h * x[k + n_q] : 0.0);
    }
    const cri_mlp *net =
        learner->central ? &learner->central->contact_net : &learner->baseline->contact_net;
    int at =
        learner->central ? learner->central->at_contact_net : learner->baseline->at_contact_net;
    bool is_done = cri_mlp_value(net, p + at, n_row, in, probability, NULL, arena);
    if (is_done) {
        cri_logistic(n_row * learner->n_touch, probability, probability);
    }
    cri_arena_rewind(arena, mark);
    return is_done;
}

bool cri_learner_force(const cri_learner *learner, const double *p, int n_row, const double *q,
                       double *g, cr_arena *arena) {
    const cri_central *c = learner->central;
    if (!c && learner->kind != CRI_LEARN_VIN) {
        return false;
    }
    cri_arena_mark mark = cri_arena_get_mark(arena);
    const cri_mlp *net = c ? &c->potential_net : &learner->baseline->net;
    int at = c ? c->at_potential : learner->baseline->at_net;
    bool is_done = cri_mlp_gradient(net, p + at, n_row, q, NULL, g, NULL, arena);
    cri_arena_rewind(arena, mark);
    return is_done;
}

// ---- the loss -----------------------------------------------------------------------------------

// The loss of windows of a recording, and its slope for all numbers of a model: one pass through
// the horizon and back, windows side by side as rows of a batch.
//
// Training graph of cdl: the gate of step n is the measured touch of row n + 1, a constant; the
// contact net sees (q + h v, v) of every step and goes through its cross entropy alone, so that it
// takes the H B rows of all steps behind the rollout. Its slope for the states is added when a step
// is reversed. A projection acts where the net itself says so. Without touch the gate is
// S = sigmoid(logit), whose slope S (1 - S) gate_adj goes back to the net step by step. Nets that a
// step has asked are not asked again for their cross entropy.
//
// With shifts d of the first states, x_0 = row + d, the loss has a term |d|^2/n_x more, the same as
// of every other row: noise of the first row is no longer taken for truth. States are then fitted
// to the motion alone: the cross entropy has no slope for them, and a projection acts where a touch
// was measured.
// Source: paper 001, (18)-(21) and section 3.3.

static bool has_cross_entropy(const pass *t) {
    return t->learner->n_touch > 0 &&
           (t->learner->kind == CRI_LEARN_CDL || t->learner->kind == CRI_LEARN_RESNETCONTACT);
}

static bool is_soft(const pass *t) {
    return t->learner->kind == CRI_LEARN_CDL_NOTOUCH && t->learner->n_touch > 0;
}

// is the contact net asked in every step?
static bool asks_net(const pass *t) {
    const cri_central *c = t->learner->central;
    return c && c->n_contact > 0 &&
           (is_soft(t) || (c->projection != CRI_PROJECT_NONE && !t->batch->shift));
}

static const cri_mlp *signal_net(const pass *t, int *at) {
    const cri_central *c = t->learner->central;
    *at = c ? c->at_contact_net : t->learner->baseline->at_contact_net;
    return c ? &c->contact_net : &t->learner->baseline->contact_net;
}

static double *state_at(const pass *t, int step) {
    return t->state + (size_t)step * (size_t)t->n_row * (size_t)t->n_x;
}

static size_t touch_at(const pass *t, int step) {
    return (size_t)step * (size_t)t->n_row * (size_t)t->learner->n_touch;
}

static cri_system_batch batch_at(const pass *t, int step) {
    return (cri_system_batch){t->p, t->h, t->n_row, 0, state_at(t, step), NULL};
}

static bool push_pass(pass *t) {
    size_t n = (size_t)t->n_row * (size_t)t->n_x;
    size_t n_step = (size_t)t->n_step;
    size_t n_touch = (size_t)t->n_row * (size_t)t->learner->n_touch;
    cr_arena *a = t->arena;
    t->state = CR_PUSH_RAW(a, double, (n_step + 1) * n);
    t->touch = CR_PUSH_RAW(a, double, n_step *n_touch);
    t->in = CR_PUSH_RAW(a, double, n_step *n);
    t->in_adj = CR_PUSH(a, double, n_step *n);
    t->logit = CR_PUSH_RAW(a, double, n_step *n_touch);
    t->gate = CR_PUSH_RAW(a, double, n_step *n_touch);
    t->moves = CR_PUSH(a, bool, n_touch);
    t->is_failed = CR_PUSH(a, bool, t->n_row);
    t->signal_at = CR_PUSH(a, cri_mlp_cache, n_step);
    t->central = CR_PUSH(a, cri_central_cache, n_step);
    t->residual = CR_PUSH(a, cri_residual_cache, n_step);
    t->verlet = CR_PUSH(a, cri_verlet_cache, n_step);
    return !cri_arena_has_failed(a);
}

// where the shift of a number k of the first states (n_row, n_x) stands
static size_t shift_at(const pass *t, size_t k) {
    size_t n_x = (size_t)t->n_x;
    return (size_t)t->batch->window[k / n_x] * n_x + k % n_x;
}

// first states and touches of all windows
static void gather(const pass *t) {
    const cri_touch_data *data = t->batch->data;
    size_t n_x = (size_t)t->n_x;
    size_t n_touch = (size_t)t->learner->n_touch;
    for (size_t row = 0; row < (size_t)t->n_row; row++) {
        size_t first = (size_t)data->window[t->batch->window[row]];
        memcpy(t->state + n_x * row, data->x + n_x * first, n_x * sizeof *t->state);
        for (size_t k = 0; t->batch->shift && k < n_x; k++) {
            t->state[n_x * row + k] += t->batch->shift[shift_at(t, n_x * row + k)];
        }
        for (int k = 0; k < t->n_step; k++) {
            memcpy(t->touch + touch_at(t, k) + n_touch * row,
                   data->touch + n_touch * (first + (size_t)k + 1), n_touch * sizeof *t->touch);
        }
    }
}

// ---- forwards ----------------------------------------------------------------------------------

// what the contact net sees of a step
static void look(const pass *t, int step) {
    const double *x = state_at(t, step);
    double *in = t->in + (size_t)step * (size_t)t->n_row * (size_t)t->n_x;
    double h = t->learner->central ? t->h : 0.0;
    int n_q = t->learner->n_q;
    for (int k = 0; k < t->n_row * t->n_x; k++) {
        in[k] = x[k] + (k % t->n_x < n_q ? h * x[k + n_q] : 0.0);
    }
}

static bool step_central(pass *t, int step) {
    const cri_central *c = t->learner->central;
    cri_system_batch batch = batch_at(t, step);
    const double *in = t->in + (size_t)step * (size_t)t->n_row * (size_t)t->n_x;
    double *logit = t->logit + touch_at(t, step);
    int n = t->n_row * c->n_contact;
    cri_central_gates gates = {.gate = t->touch + touch_at(t, step)};
    if (asks_net(t) && !cri_mlp_value(&c->contact_net, t->p + c->at_contact_net, t->n_row, in,
                                      logit, &t->signal_at[step], t->arena)) {
        return false;
    }
    if (is_soft(t)) {
        gates.gate = t->gate + touch_at(t, step);
        cri_logistic(n, logit, t->gate + touch_at(t, step));
    }
    if (asks_net(t)) {
        for (int k = 0; k < n; k++) {
            t->moves[k] = logit[k] > 0.0;
        }
        gates.moves = t->moves;
    }
    return cri_central_step(c, &batch, &gates, state_at(t, step + 1), &t->central[step], t->arena);
}

static const bool *failed_at(const pass *t, int step) {
    switch (t->learner->kind) {
    case CRI_LEARN_CDL:
    case CRI_LEARN_CDL_NOTOUCH:
        return t->central[step].is_failed;
    case CRI_LEARN_RESNET:
    case CRI_LEARN_RESNETCONTACT:
        return t->residual[step].is_failed;
    case CRI_LEARN_VIN:
        return t->verlet[step].is_failed;
    }
    return NULL;
}

static bool run(pass *t) {
    for (int step = 0; step < t->n_step; step++) {
        cri_system_batch batch = batch_at(t, step);
        double *next = state_at(t, step + 1);
        look(t, step);
        bool is_done = false;
        switch (t->learner->kind) {
        case CRI_LEARN_CDL:
        case CRI_LEARN_CDL_NOTOUCH:
            is_done = step_central(t, step);
            break;
        case CRI_LEARN_RESNET:
        case CRI_LEARN_RESNETCONTACT:
            is_done = cri_residual_step(t->learner->baseline, &batch, t->touch + touch_at(t, step),
                                        next, &t->residual[step], t->arena);
            break;
        case CRI_LEARN_VIN:
            is_done =
                cri_verlet_step(t->learner->baseline, &batch, next, &t->verlet[step], t->arena);
            break;
        }
        if (!is_done) {
            return false;
        }
        for (int row = 0; row < t->n_row; row++) {
            t->is_failed[row] |= failed_at(t, step)[row];
        }
    }
    return true;
}

// ---- loss --------------------------------------------------------------------------------------

// mean over numbers of the squared error behind a step, and its slope
static double motion_error(const pass *t, int step, double *adj) {
    const cri_touch_data *data = t->batch->data;
    const double *x = state_at(t, step + 1);
    double scale = 1.0 / t->n_x;
    double sum = 0.0;
    for (int row = 0; row < t->n_row; row++) {
        if (t->is_failed[row]) {
            continue;
        }
        size_t first = (size_t)data->window[t->batch->window[row]] + (size_t)step + 1;
        for (int k = 0; k < t->n_x; k++) {
            double error = x[row * t->n_x + k] - data->x[first * (size_t)t->n_x + (size_t)k];
            sum += scale * error * error;
            adj[row * t->n_x + k] += 2.0 * scale * error / t->batch->n_mean;
        }
    }
    return sum;
}

// cross entropy of n_row rows from row first on, of which asked (NULL: nothing) is known; adds the
// slope for the net's input to in_adj
static bool touch_error_part(pass *t, int first, int n_row, const cri_mlp_cache *asked, double *sum,
                             double *p_adj) {
    int at;
    const cri_mlp *net = signal_net(t, &at);
    cri_arena_mark mark = cri_arena_get_mark(t->arena);
    size_t from = (size_t)first * (size_t)t->n_x;
    int n_touch = t->learner->n_touch, n = n_row * n_touch;
    const double *touch = t->touch + (size_t)first * (size_t)n_touch;
    double *logit = t->logit + (size_t)first * (size_t)n_touch;
    double *loss = CR_PUSH_RAW(t->arena, double, n);
    double *loss_adj = CR_PUSH_RAW(t->arena, double, n);
    double *logit_adj = CR_PUSH(t->arena, double, n);
    cri_mlp_cache own;
    if (!loss || !loss_adj || !logit_adj ||
        (!asked && !cri_mlp_value(net, t->p + at, n_row, t->in + from, logit, p_adj ? &own : NULL,
                                  t->arena))) {
        return false;
    }
    cri_cross_entropy(n, logit, touch, loss);
    for (int k = 0; k < n; k++) {
        bool is_out = t->is_failed[(first + k / n_touch) % t->n_row];
        *sum += is_out ? 0.0 : loss[k] / n_touch;
        loss_adj[k] = is_out ? 0.0 : 1.0 / (n_touch * t->batch->n_mean);
    }
    bool is_done = true;
    if (p_adj) {
        cri_cross_entropy_vjp(n, logit, touch, loss_adj, logit_adj);
        is_done = cri_mlp_value_vjp(net, t->p + at, asked ? asked : &own, logit_adj,
                                    t->in_adj + from, p_adj + at, t->arena);
    }
    cri_arena_rewind(t->arena, mark);
    return is_done;
}

// cross entropy of all steps, in parts whose layers stay near, or as the steps asked the net
static bool touch_error(pass *t, double *sum, double *p_adj) {
    bool is_asked = asks_net(t);
    int n_row = t->n_step * t->n_row, part = is_asked ? t->n_row : 64;
    for (int first = 0; first < n_row; first += part) {
        int left = n_row - first;
        if (!touch_error_part(t, first, left < part ? left : part,
                              is_asked ? &t->signal_at[first / part] : NULL, sum, p_adj)) {
            return false;
        }
    }
    return true;
}

// ---- backwards ---------------------------------------------------------------------------------

// the gates' slope to the contact net, without touch
static bool soft_gate_vjp(pass *t, int step, const double *gate_adj, double *p_adj) {
    const cri_central *c = t->learner->central;
    cri_arena_mark mark = cri_arena_get_mark(t->arena);
    int n = t->n_row * c->n_contact;
    const double *gate = t->gate + touch_at(t, step);
    double *logit_adj = CR_PUSH_RAW(t->arena, double, n);
    if (!logit_adj) {
        return false;
    }
    for (int k = 0; k < n; k++) {
        logit_adj[k] = gate[k] * (1.0 - gate[k]) * gate_adj[k];
    }
    double *in_adj = t->in_adj + (size_t)step * (size_t)t->n_row * (size_t)t->n_x;
    bool is_done = cri_mlp_value_vjp(&c->contact_net, t->p + c->at_contact_net, &t->signal_at[step],
                                     logit_adj, in_adj, p_adj + c->at_contact_net, t->arena);
    cri_arena_rewind(t->arena, mark);
    return is_done;
}

static bool step_vjp(pass *t, int step, const double *adj, double *x_adj, double *p_adj) {
    cri_system_batch batch = batch_at(t, step);
    const cri_baseline *b = t->learner->baseline;
    cri_arena_mark mark = cri_arena_get_mark(t->arena);
    bool is_done = false;
    switch (t->learner->kind) {
    case CRI_LEARN_CDL:
    case CRI_LEARN_CDL_NOTOUCH: {
        double *gate_adj =
            is_soft(t) ? CR_PUSH(t->arena, double, t->n_row * t->learner->n_touch) : NULL;
        is_done = cri_central_step_vjp(t->learner->central, &batch, &t->central[step], adj,
                                       &(cri_central_adj){x_adj, NULL, p_adj, gate_adj}, t->arena);
        is_done = is_done && (!gate_adj || soft_gate_vjp(t, step, gate_adj, p_adj));
        break;
    }
    case CRI_LEARN_RESNET:
    case CRI_LEARN_RESNETCONTACT:
        is_done = cri_residual_step_vjp(b, &batch, &t->residual[step], adj, x_adj, p_adj, t->arena);
        break;
    case CRI_LEARN_VIN:
        is_done = cri_verlet_step_vjp(b, &batch, &t->verlet[step], adj, x_adj, p_adj, t->arena);
        break;
    }
    cri_arena_rewind(t->arena, mark);
    return is_done;
}

// in = (q + h v, v), or x itself
static void look_vjp(const pass *t, int step, double *x_adj) {
    const double *in_adj = t->in_adj + (size_t)step * (size_t)t->n_row * (size_t)t->n_x;
    double h = t->learner->central ? t->h : 0.0;
    int n_q = t->learner->n_q;
    for (int k = 0; k < t->n_row * t->n_x; k++) {
        x_adj[k] += in_adj[k] + (k % t->n_x >= n_q ? h * in_adj[k - n_q] : 0.0);
    }
}

// squares of the shifts, mean over numbers
static double shift_error(const pass *t) {
    double sum = 0.0;
    for (size_t k = 0; t->batch->shift && k < (size_t)t->n_row * (size_t)t->n_x; k++) {
        double shift = t->batch->shift[shift_at(t, k)];
        sum += t->is_failed[k / (size_t)t->n_x] ? 0.0 : shift * shift / t->n_x;
    }
    return sum;
}

// x_0 = row + d, and the term of d itself
static void shift_error_vjp(const pass *t, const double *state_adj) {
    const cri_learner_batch *b = t->batch;
    for (size_t k = 0; b->shift_adj && k < (size_t)t->n_row * (size_t)t->n_x; k++) {
        size_t at = shift_at(t, k);
        if (!t->is_failed[k / (size_t)t->n_x]) {
            b->shift_adj[at] += state_adj[k] + 2.0 * b->shift[at] / (t->n_x * b->n_mean);
        }
    }
}

static bool come_back(pass *t, double *const error_adj, double *p_adj) {
    size_t n = (size_t)t->n_row * (size_t)t->n_x;
    double *adj = CR_PUSH(t->arena, double, n);
    double *x_adj = CR_PUSH(t->arena, double, n);
    if (!adj || !x_adj) {
        return false;
    }
    for (int step = t->n_step - 1; step >= 0; step--) {
        const double *error = error_adj + (size_t)step * n;
        for (size_t k = 0; k < n; k++) {
            adj[k] += error[k];
        }
        memset(x_adj, 0, n * sizeof *x_adj);
        if (!step_vjp(t, step, adj, x_adj, p_adj)) {
            return false;
        }
        if (!t->batch->shift || is_soft(t)) {
            look_vjp(t, step, x_adj);
        }
        memcpy(adj, x_adj, n * sizeof *adj);
    }
    shift_error_vjp(t, adj);
    return true;
}

bool cri_learner_loss(const cri_learner *learner, const cri_learner_batch *batch, const double *p,
                      cri_learner_terms *terms, double *p_adj, cr_arena *arena) {
    CR_ASSERT(batch->data->n_q == learner->n_q && batch->data->n_touch == learner->n_touch);
    cri_arena_mark mark = cri_arena_get_mark(arena);
    pass t = {.learner = learner,
              .batch = batch,
              .p = p,
              .arena = arena,
              .n_row = batch->n_window,
              .n_x = 2 * learner->n_q,
              .n_step = batch->data->horizon,
              .h = batch->data->dt};
    size_t n = (size_t)t.n_row * (size_t)t.n_x;
    double *error_adj = CR_PUSH(arena, double, (size_t)t.n_step *n);
    if (!error_adj || !push_pass(&t)) {
        return false;
    }
    gather(&t);
    if (!run(&t)) {
        return false;
    }
    for (int step = 0; step < t.n_step; step++) {
        terms->motion += motion_error(&t, step, error_adj + (size_t)step * n);
    }
    terms->motion += shift_error(&t);
    for (int row = 0; row < t.n_row; row++) {
        terms->n_failed += t.is_failed[row];
    }
    if (has_cross_entropy(&t) && !touch_error(&t, &terms->touch, p_adj)) {
        return false;
    }
    if (p_adj && !come_back(&t, error_adj, p_adj)) {
        return false;
    }
    cri_arena_rewind(arena, mark);
    return true;
}

// ---- training -----------------------------------------------------------------------------------

// Training a learner on a recording, by the trainer that knows nothing of it.
//
// w = p | shifts of the first states of all windows (n_window, n_x), when they are fitted. Windows
// that begin at noisy rows make an error in variables: what noise does to q looks like a force that
// does not grow with q, and a body at rest has nothing else. With the shifts free, the loss is the
// squared distance of all rows of a window from a path of the model, noise of one size assumed.

static bool loss(void *self, cri_train_shard *shard) {
    context *c = self;
    cri_learner_terms terms = {0};
    cri_learner_batch batch = {
        .data = c->training->data, .n_window = shard->n, .window = shard->sample, .n_mean = 1.0};
    if (c->training->recipe.fits_starts) {
        batch.shift = shard->w + c->training->learner->n_p;
        batch.shift_adj = shard->w_adj + c->training->learner->n_p;
    }
    cri_arena_reset(c->arena);
    if (!cri_learner_loss(c->training->learner, &batch, shard->w, &terms, shard->w_adj, c->arena)) {
        return false;
    }
    shard->loss += terms.motion + terms.touch;
    shard->n_dropped += terms.n_failed;
    return true;
}

// which bodies a contact pushes, and which way
static uint64_t contacts_of(const cri_central *c, uint64_t hash) {
    for (int k = 0; k < c->n_contact; k++) {
        const cri_central_contact *t = &c->touch[k];
        int bodies[] = {t->i, t->j, t->is_round};
        hash = cri_hash(hash, bodies, sizeof bodies);
        if (t->normal) {
            hash = cri_hash(hash, t->normal, (size_t)c->n_dim * sizeof *t->normal);
        }
    }
    return hash;
}

// everything that the loss depends on; p as it is at the start, with the numbers that are given
static uint64_t problem_of(const cri_learner_training *t, const double *p) {
    const cri_touch_data *d = t->data;
    int sizes[] = {(int)t->learner->kind, d->n_q, d->n_touch, d->n_row, d->horizon, d->n_window};
    uint64_t hash = cri_hash(CRI_HASH_START, sizes, sizeof sizes);
    hash = cri_hash(hash, d->x, (size_t)d->n_row * 2 * (size_t)d->n_q * sizeof *d->x);
    hash = cri_hash(hash, d->touch, (size_t)d->n_row * (size_t)d->n_touch * sizeof *d->touch);
    hash = cri_hash(hash, d->window, (size_t)d->n_window * sizeof *d->window);
    int learned[] = {t->learner->learns_restitution, t->learner->learns_damping,
                     t->recipe.fits_starts, t->is_fixed};
    hash = cri_hash(hash, learned, sizeof learned);
    hash = cri_hash(hash, p, (size_t)t->learner->n_p * sizeof *p);
    hash = t->learner->central ? contacts_of(t->learner->central, hash) : hash;
    return cri_hash(hash, &d->dt, sizeof d->dt);
}

static cri_train_options options_of(const cri_learner_training *t) {
    cri_train_options options = cri_train_options_default();
    options.n_epoch = t->n_epoch;
    options.batch = t->batch > 0 ? t->batch : 32;
    options.shard = options.batch;
    options.seed = t->seed;
    options.rate = (cri_rate){.kind = t->recipe.is_annealed ? CRI_RATE_LINEAR : CRI_RATE_CONSTANT,
                              .rate = t->recipe.rate};
    options.checkpoint = t->checkpoint;
    options.progress = t->progress;
    return options;
}

cr_status cri_learner_train(const cri_learner_training *training, double *p, cri_train_result *out,
                            cr_error *err) {
    CR_ASSERT(training->learner && training->data && training->n_epoch > 0);
    int n_p = training->learner->n_p;
    int n_shift =
        training->recipe.fits_starts ? training->data->n_window * 2 * training->data->n_q : 0;
    context c = {training, cri_arena_create((size_t)1 << 20)};
    cr_arena *memory = cri_arena_create((size_t)(n_p + n_shift + 1) * sizeof(double));
    double *w = c.arena && memory ? CR_PUSH(memory, double, n_p + n_shift) : NULL;
    cr_status status = CR_ERR_MEMORY;
    if (w) {
        cri_adam_group group[CRI_LEARNER_GROUP_MOST + 1];
        int n_group = training->is_fixed
                          ? 0
                          : cri_learner_groups(training->learner, training->recipe.l2,
                                               training->recipe.l2_touch, group);
        if (n_shift > 0) {
            group[n_group++] = (cri_adam_group){.first = n_p, .n = n_shift, .rate = 1.0};
        }
        memcpy(w, p, (size_t)n_p * sizeof *p);
        cri_train_task task = {.n_w = n_p + n_shift,
                               .n_group = n_group,
                               .group = group,
                               .n_sample = training->data->n_window,
                               .loss = loss,
                               .context = &c,
                               .problem = problem_of(training, p)};
        cri_train_options options = options_of(training);
        status = cri_train(&task, &options, w, NULL, out, err);
        memcpy(p, w, (size_t)n_p * sizeof *p);
    } else {
        status = cri_fail(err, CR_ERR_MEMORY, 0, "no memory to train");
    }
    cri_arena_destroy(memory);
    cri_arena_destroy(c.arena);
    return status;
}
