// SPDX-License-Identifier: MIT
//
// Interaction networks (Battaglia et al. 2016) for batches, and points as their objects. With bars
// for adjoints:
//
//   (state_i-bar | fixed_i-bar | external-bar | sum-bar) = act-vjp(out-bar)
//   e_r-bar = sum-bar of its receiver;   (d-bar | f_i-bar | f_j-bar | .) = relate-vjp(e_r-bar)
//   state_i-bar += d-bar,  state_j-bar -= d-bar,  fixed_i-bar += f_i-bar,  fixed_j-bar += f_j-bar
//
// Sums go in the order of relations, so that their bits are always the same.

#include "points/learn/interaction.h"

#include "base/base.h"
#include "points/contact/points_step.h"

#include <math.h>
#include <string.h>

/// Relations in the making.
typedef struct draft {
    const cri_points_scene *scene;
    cri_relation *relation;
    int n_relation, n_most;
    double *wall; // (n_wall, d)
    int n_wall;
    double *radius;
} draft;

// ---- the network --------------------------------------------------------------------------------

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

// ---- points as objects --------------------------------------------------------------------------

// Points as objects of an interaction network: features and relations from a scene.
//
//   a = asinh(1/m):          m-bar += a-bar (-1/m^2)/sqrt(1 + 1/m^2)
//   b = asinh(1/(m lam)):    the same for m lam, of which m has lam and lam has m

// ---- who acts on whom --------------------------------------------------------------------------

static bool is_wall(const cri_points_touch *t) {
    return t->kind == CRI_TOUCH_WALL || t->kind == CRI_TOUCH_DISK_WALL ||
           t->kind == CRI_TOUCH_RIM_WALL;
}

static void add_relation(draft *d, int receiver, int sender, const double *attribute) {
    CR_ASSERT(d->n_relation < d->n_most);
    cri_relation *r = &d->relation[d->n_relation++];
    *r = (cri_relation){.receiver = receiver, .sender = sender};
    memcpy(r->attribute, attribute, sizeof r->attribute);
}

// index of a place among the objects, the same one for the same place
static int find_wall(draft *d, const double *place) {
    int n = d->scene->s.d, k = 0;
    while (k < d->n_wall && memcmp(d->wall + k * n, place, sizeof *place * (size_t)n) != 0) {
        k++;
    }
    if (k == d->n_wall) {
        memcpy(d->wall + k * n, place, sizeof *place * (size_t)n);
        d->n_wall++;
    }
    return d->scene->s.n_block + k;
}

static int find_plane(draft *d, const cri_points_touch *t) {
    const cri_points_scene *sc = d->scene;
    bool is_box = sc->kind == CRI_POINTS_BALLS || sc->kind == CRI_POINTS_DISKS;
    double place[CRI_AXES], middle = is_box ? 0.5 : 0.0, height = -t->offset;
    for (int c = 0; c < sc->s.d; c++) {
        height += middle * t->normal[c];
    }
    for (int c = 0; c < sc->s.d; c++) {
        // + 0.0 makes one number of both zeros
        place[c] = middle - height * t->normal[c] + 0.0;
    }
    return find_wall(d, place);
}

// both ways between two points of different blocks; -1 is the origin
static void add_pair(draft *d, int a, int b, const double *attribute) {
    static const double origin[CRI_AXES] = {0.0};
    const int *block = d->scene->s.block_of;
    if (a < 0) {
        add_relation(d, block[b], find_wall(d, origin), attribute);
    } else if (block[a] != block[b]) {
        add_relation(d, block[a], block[b], attribute);
        add_relation(d, block[b], block[a], attribute);
    }
}

static void add_touch(draft *d, const cri_points_touch *t) {
    const cri_points_scene *sc = d->scene;
    const int *block = sc->s.block_of;
    bool is_limit = t->kind == CRI_TOUCH_STRETCH || t->kind == CRI_TOUCH_BEND;
    const double attribute[CRI_RELATION_ATTRIBUTES] = {
        is_limit ? 0.0 : sc->p[sc->law.i_mu + t->coefficient], sc->p[sc->law.i_e + t->coefficient],
        1.0};
    if (!is_limit) {
        d->radius[block[t->a]] = t->size[0];
    }
    if (is_wall(t)) {
        add_relation(d, block[t->a], find_plane(d, t), attribute);
        return;
    }
    if (!is_limit) {
        d->radius[block[t->b]] = t->size[1];
    }
    add_pair(d, t->a, t->kind == CRI_TOUCH_BEND ? t->c : t->b, attribute);
}

static void add_tie(draft *d, const cri_tie *t) {
    static const double none[CRI_RELATION_ATTRIBUTES] = {0.0};
    if (t->kind == CRI_TIE_ANCHOR || (t->kind == CRI_TIE_JOINT && t->axis == 0)) {
        add_pair(d, -1, t->point[0], none);
    } else if (t->kind == CRI_TIE_DISTANCE) {
        add_pair(d, t->point[0], t->point[1], none);
    }
}

static double mean_radius(const draft *d) {
    double sum = 0.0;
    for (int k = 0; k < d->scene->s.n_block; k++) {
        sum += d->radius[k];
    }
    return sum / d->scene->s.n_block;
}

// of what has a size or links; 1 m otherwise
static double unit_of(const draft *d) {
    const cri_points *s = &d->scene->s;
    double radius = mean_radius(d);
    return radius > 0.0 ? radius : s->n_spring > 0 ? s->spring[0].length : 1.0;
}

const cri_points_relations *cri_points_relations_push(const cri_points_scene *scene,
                                                      const cri_interaction_size *size) {
    const cri_points *s = &scene->s;
    int n_most = 2 * (scene->n_touch + s->n_tie), n_point = s->block[0].n;
    cr_arena *arena = scene->arena;
    draft d = {.scene = scene,
               .relation = CR_PUSH(arena, cri_relation, n_most),
               .n_most = n_most,
               .wall = CR_PUSH(arena, double, (scene->n_touch + 1) * s->d),
               .radius = CR_PUSH(arena, double, s->n_block)};
    cri_points_relations *out = CR_PUSH(arena, cri_points_relations, 1);
    if (!d.relation || !d.wall || !d.radius || !out) {
        return NULL;
    }
    for (int i = 0; i < scene->n_touch; i++) {
        add_touch(&d, &scene->touch[i]);
    }
    for (int i = 0; i < s->n_tie; i++) {
        add_tie(&d, &s->tie[i]);
    }
    for (int k = 0; k < s->n_block; k++) {
        CR_ASSERT(s->block[k].n == n_point); // objects are of one kind
    }
    *out = (cri_points_relations){
        .scene = scene, .wall = d.wall, .radius = d.radius, .unit = unit_of(&d)};
    out->net = (cri_interaction){.n_object = s->n_block + d.n_wall,
                                 .n_active = s->n_block,
                                 .n_state = 2 * n_point * s->d,
                                 .n_fixed = n_point > 1 ? 2 + s->d : 2,
                                 .n_external = n_point * s->d,
                                 .n_out = n_point * s->d,
                                 .n_attribute = CRI_RELATION_ATTRIBUTES,
                                 .n_relation = d.n_relation,
                                 .relation = d.relation};
    cri_interaction_shape(&out->net, size);
    return out;
}

// ---- features ----------------------------------------------------------------------------------

// of one row: objects (n_object, n_state + n_fixed)
static void fill_objects(const cri_points_relations *r, const double *p, const double *x,
                         double *objects) {
    const cri_points *s = &r->scene->s;
    int half = r->net.n_state / 2;
    for (int k = 0; k < r->net.n_object; k++) {
        if (k >= s->n_block) {
            for (int i = 0; i < half; i++) {
                objects[i] = r->wall[(k - s->n_block) * s->d + i % s->d] / r->unit;
            }
            objects += r->net.n_state + r->net.n_fixed;
            continue;
        }
        const cri_mass_block *b = &s->block[k];
        for (int i = 0; i < half; i++) {
            objects[i] = x[b->first * s->d + i] / r->unit;
        }
        memcpy(objects + half, x + s->n_dof + b->first * s->d, sizeof *x * (size_t)half);
        objects += r->net.n_state;
        *objects++ = asinh(1.0 / p[s->i_mass + k]);
        for (int i = 0; b->lam >= 0 && i < s->d; i++) {
            *objects++ = asinh(1.0 / (p[s->i_mass + k] * p[s->i_lam + b->lam + i]));
        }
        *objects++ = r->radius[k] / r->unit;
    }
}

// d asinh(1/a) / da
static double slope_of(double a) {
    return -1.0 / (a * sqrt(1.0 + a * a));
}

static void pull_objects(const cri_points_relations *r, const double *p, const double *objects_adj,
                         double *x_adj, double *p_adj) {
    const cri_points *s = &r->scene->s;
    int half = r->net.n_state / 2;
    for (int k = 0; k < s->n_block; k++) {
        const cri_mass_block *b = &s->block[k];
        for (int i = 0; i < half; i++) {
            x_adj[b->first * s->d + i] += objects_adj[i] / r->unit;
            x_adj[s->n_dof + b->first * s->d + i] += objects_adj[half + i];
        }
        objects_adj += r->net.n_state;
        double m = p[s->i_mass + k];
        p_adj[s->i_mass + k] += *objects_adj++ * slope_of(m);
        for (int i = 0; b->lam >= 0 && i < s->d; i++) {
            double lam = p[s->i_lam + b->lam + i], inner = *objects_adj++ * slope_of(m * lam);
            p_adj[s->i_mass + k] += inner * lam;
            p_adj[s->i_lam + b->lam + i] += inner * m;
        }
        objects_adj++; // the radius is constant
    }
}

// ---- the net on states -------------------------------------------------------------------------

bool cri_points_relate(const cri_points_relations *r, const double *p, int B, const double *x,
                       double *out, cri_points_relations_tape *tape, cr_arena *keep) {
    const cri_points_scene *sc = r->scene;
    size_t D = (size_t)sc->s.n_dof, n_b = (size_t)B;
    size_t n = (size_t)r->net.n_object * ((size_t)r->net.n_state + (size_t)r->net.n_fixed);
    double *objects = CR_PUSH(keep, double, n_b *n);
    double *q = CR_PUSH_RAW(keep, double, n_b *D), *external = CR_PUSH(keep, double, n_b *D);
    *tape = (cri_points_relations_tape){0};
    if (!objects || !q || !external) {
        return false;
    }
    for (size_t b = 0; b < n_b; b++) {
        fill_objects(r, p, x + 2 * b * D, objects + b * n);
        memcpy(q + b * D, x + 2 * b * D, sizeof *q * D);
    }
    return sc->potential.grad(&sc->potential, p, B, q, external, &tape->potential, keep) &&
           cri_interaction_value(&r->net, p + sc->n_p, B, objects, external, out, &tape->net, keep);
}

bool cri_points_relate_vjp(const cri_points_relations *r, const double *p,
                           const cri_points_relations_tape *tape, const double *out_adj,
                           double *x_adj, double *p_adj, cr_arena *scratch) {
    const cri_points_scene *sc = r->scene;
    int B = tape->net.B;
    size_t D = (size_t)sc->s.n_dof, n_b = (size_t)B;
    size_t n = (size_t)r->net.n_object * ((size_t)r->net.n_state + (size_t)r->net.n_fixed);
    size_t own = sc->potential.n_byte ? sc->potential.n_byte(&sc->potential, B) : 0;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *objects_adj = CR_PUSH(scratch, double, n_b *n);
    double *q_adj = CR_PUSH(scratch, double, n_b *D);
    double *external_adj = CR_PUSH(scratch, double, n_b *D);
    bool is_done = objects_adj && q_adj && external_adj &&
                   cri_interaction_value_vjp(&r->net, p + sc->n_p, &tape->net, out_adj, objects_adj,
                                             external_adj, p_adj + sc->n_p, scratch) &&
                   cri_arena_reserve(scratch, own + 64 * D * sizeof(double));
    if (is_done) {
        sc->potential.grad_vjp(&sc->potential, p, B, tape->potential, external_adj, q_adj, p_adj,
                               scratch);
    }
    for (size_t b = 0; is_done && b < n_b; b++) {
        pull_objects(r, p, objects_adj + b * n, x_adj + 2 * b * D, p_adj);
        for (size_t i = 0; i < D; i++) {
            x_adj[2 * b * D + i] += q_adj[b * D + i];
        }
    }
    cri_arena_rewind(scratch, mark);
    return is_done;
}
