// SPDX-License-Identifier: MIT
//
// The models of paper 001 as one interface: what they are made of, which numbers are trained, how
// they predict. The loss is in learner_loss.c.

#include "points/learn/learner.h"

#include "base/base.h"
#include "base/nn/mlp.h"

#include <string.h>

static const char *const names[CRI_N_LEARNER_KIND] = {"cdl", "cdl-notouch", "resnet",
                                                      "resnetcontact", "vin"};

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
