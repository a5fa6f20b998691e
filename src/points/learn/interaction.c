// SPDX-License-Identifier: MIT
//
// Interaction networks (Battaglia et al. 2016) for batches. With bars for adjoints:
//
//   (state_i-bar | fixed_i-bar | external-bar | sum-bar) = act-vjp(out-bar)
//   e_r-bar = sum-bar of its receiver;   (d-bar | f_i-bar | f_j-bar | .) = relate-vjp(e_r-bar)
//   state_i-bar += d-bar,  state_j-bar -= d-bar,  fixed_i-bar += f_i-bar,  fixed_j-bar += f_j-bar
//
// Sums go in the order of relations, so that their bits are always the same.

#include "points/learn/interaction.h"

#include "base/base.h"

#include <string.h>

static int n_feature(const cri_interaction *net) {
    return net->n_state + net->n_fixed;
}

static cri_mlp shape(int n_in, int n_hidden, int width, int n_out) {
    cri_mlp net = {.n_layer = n_hidden + 1, .act = CRI_ACT_RELU};
    CR_ASSERT(n_hidden >= 0 && n_hidden < CRI_MLP_LAYER_MOST);
    net.width[0] = n_in;
    for (int k = 1; k <= n_hidden; k++) {
        net.width[k] = width;
    }
    net.width[n_hidden + 1] = n_out;
    return net;
}

void cri_interaction_shape(cri_interaction *net, const cri_interaction_size *size) {
    CR_ASSERT(net->n_active > 0 && net->n_active <= net->n_object);
    CR_ASSERT(net->n_attribute <= CRI_RELATION_ATTRIBUTES);
    int n_in = net->n_state + 2 * net->n_fixed + net->n_attribute;
    net->relate = shape(n_in, size->n_relate, size->relate, size->n_effect);
    n_in = n_feature(net) + net->n_external + size->n_effect;
    net->act = shape(n_in, size->n_act, size->act, net->n_out);
}

int cri_interaction_n_weight(const cri_interaction *net) {
    return cri_mlp_n_weight(&net->relate) + cri_mlp_n_weight(&net->act);
}

// what relation r sees of the objects of one row
static void see(const cri_interaction *net, const cri_relation *r, const double *objects,
                double *in) {
    int n = n_feature(net);
    const double *to = objects + r->receiver * n, *from = objects + r->sender * n;
    for (int i = 0; i < net->n_state; i++) {
        *in++ = to[i] - from[i];
    }
    for (int i = net->n_state; i < n; i++) {
        *in++ = to[i];
    }
    for (int i = net->n_state; i < n; i++) {
        *in++ = from[i];
    }
    for (int i = 0; i < net->n_attribute; i++) {
        *in++ = r->attribute[i];
    }
}

static void pull_seen(const cri_interaction *net, const cri_relation *r, const double *in_adj,
                      double *objects_adj) {
    int n = n_feature(net);
    double *to = objects_adj + r->receiver * n, *from = objects_adj + r->sender * n;
    for (int i = 0; i < net->n_state; i++) {
        to[i] += *in_adj;
        from[i] -= *in_adj++;
    }
    for (int i = net->n_state; i < n; i++) {
        to[i] += *in_adj++;
    }
    for (int i = net->n_state; i < n; i++) {
        from[i] += *in_adj++;
    }
}

// inputs of the second net: its last part has the effects
static void gather(const cri_interaction *net, int B, const double *objects, const double *external,
                   const double *effect, double *in) {
    int n = n_feature(net), n_in = net->act.width[0];
    int n_effect = net->relate.width[net->relate.n_layer];
    for (int b = 0; b < B; b++) {
        for (int i = 0; i < net->n_active; i++) {
            double *row = in + ((size_t)b * (size_t)net->n_active + (size_t)i) * (size_t)n_in;
            size_t at = (size_t)b * (size_t)net->n_object + (size_t)i;
            memcpy(row, objects + at * (size_t)n, sizeof *row * (size_t)n);
            at = (size_t)b * (size_t)net->n_active + (size_t)i;
            memcpy(row + n, external + at * (size_t)net->n_external,
                   sizeof *row * (size_t)net->n_external);
        }
        for (int k = 0; k < net->n_relation; k++) {
            size_t at = (size_t)b * (size_t)net->n_active + (size_t)net->relation[k].receiver;
            double *sum = in + at * (size_t)n_in + n + net->n_external;
            for (int i = 0; i < n_effect; i++) {
                sum[i] += *effect++;
            }
        }
    }
}

bool cri_interaction_value(const cri_interaction *net, const double *w, int B,
                           const double *objects, const double *external, double *out,
                           cri_interaction_cache *cache, cr_arena *arena) {
    CR_ASSERT(net && w && B > 0 && cache);
    size_t n_relate = (size_t)net->relate.width[0], n_act = (size_t)net->act.width[0];
    size_t n_effect = (size_t)net->relate.width[net->relate.n_layer];
    size_t R = (size_t)B * (size_t)net->n_relation, N = (size_t)B * (size_t)net->n_active;
    double *seen = CR_PUSH_RAW(arena, double, R *n_relate + 1);
    double *effect = CR_PUSH_RAW(arena, double, R *n_effect + 1);
    double *in = CR_PUSH(arena, double, N *n_act);
    *cache = (cri_interaction_cache){.B = B};
    if (!seen || !effect || !in) {
        return false;
    }
    for (size_t k = 0; k < R; k++) {
        size_t b = k / (size_t)net->n_relation;
        see(net, &net->relation[k % (size_t)net->n_relation],
            objects + b * (size_t)(net->n_object * n_feature(net)), seen + k * n_relate);
    }
    if (R > 0 && !cri_mlp_value(&net->relate, w, (int)R, seen, effect, &cache->relate, arena)) {
        return false;
    }
    gather(net, B, objects, external, effect, in);
    const double *w_act = w + cri_mlp_n_weight(&net->relate);
    return cri_mlp_value(&net->act, w_act, (int)N, in, out, &cache->act, arena);
}

// adjoint of gather: effect_adj (R, n_effect) is overwritten
static void pull_gathered(const cri_interaction *net, int B, const double *in_adj,
                          double *objects_adj, double *external_adj, double *effect_adj) {
    int n = n_feature(net), n_in = net->act.width[0];
    int n_effect = net->relate.width[net->relate.n_layer];
    for (int b = 0; b < B; b++) {
        for (int i = 0; i < net->n_active; i++) {
            size_t active = (size_t)b * (size_t)net->n_active + (size_t)i;
            size_t at = (size_t)b * (size_t)net->n_object + (size_t)i;
            const double *row = in_adj + active * (size_t)n_in;
            for (int k = 0; k < n; k++) {
                objects_adj[at * (size_t)n + (size_t)k] += row[k];
            }
            for (int k = 0; k < net->n_external; k++) {
                external_adj[active * (size_t)net->n_external + (size_t)k] += row[n + k];
            }
        }
        for (int k = 0; k < net->n_relation; k++) {
            size_t at = (size_t)b * (size_t)net->n_active + (size_t)net->relation[k].receiver;
            memcpy(effect_adj, in_adj + at * (size_t)n_in + n + net->n_external,
                   sizeof *effect_adj * (size_t)n_effect);
            effect_adj += n_effect;
        }
    }
}

bool cri_interaction_value_vjp(const cri_interaction *net, const double *w,
                               const cri_interaction_cache *cache, const double *out_adj,
                               double *objects_adj, double *external_adj, double *w_adj,
                               cr_arena *work) {
    int B = cache->B, n_w = cri_mlp_n_weight(&net->relate);
    size_t n_relate = (size_t)net->relate.width[0], n_act = (size_t)net->act.width[0];
    size_t n_effect = (size_t)net->relate.width[net->relate.n_layer];
    size_t R = (size_t)B * (size_t)net->n_relation, N = (size_t)B * (size_t)net->n_active;
    cri_arena_mark mark = cri_arena_get_mark(work);
    double *seen_adj = CR_PUSH(work, double, R *n_relate + 1);
    double *effect_adj = CR_PUSH_RAW(work, double, R *n_effect + 1);
    double *in_adj = CR_PUSH(work, double, N *n_act);
    bool is_done =
        seen_adj && effect_adj && in_adj &&
        cri_mlp_value_vjp(&net->act, w + n_w, &cache->act, out_adj, in_adj, w_adj + n_w, work);
    if (is_done) {
        pull_gathered(net, B, in_adj, objects_adj, external_adj, effect_adj);
        is_done = R == 0 || cri_mlp_value_vjp(&net->relate, w, &cache->relate, effect_adj, seen_adj,
                                              w_adj, work);
    }
    for (size_t k = 0; is_done && k < R; k++) {
        size_t b = k / (size_t)net->n_relation;
        pull_seen(net, &net->relation[k % (size_t)net->n_relation], seen_adj + k * n_relate,
                  objects_adj + b * (size_t)(net->n_object * n_feature(net)));
    }
    cri_arena_rewind(work, mark);
    return is_done;
}
