// SPDX-License-Identifier: MIT
//
// Models of points with contact as they are learned: numbers, first values, a step and its adjoint.

#include "points/learn/points_task.h"

#include "base/base.h"
#include "base/nn/mlp.h"

#include <math.h>
#include <string.h>

// ---- the model ---------------------------------------------------------------------------------

// a net of a definition, on the arena of its scene; NULL when there is no memory
static const cri_mlp *push_net(const cri_points_learner_def *def, cri_points_scene *scene,
                               bool is_hit) {
    cri_mlp *net = CR_PUSH(scene->arena, cri_mlp, 1);
    if (net) {
        *net = (cri_mlp){.n_layer = def->n_hidden + 1,
                         .act = is_hit ? CRI_ACT_RELU : CRI_ACT_SOFTPLUS};
        net->width[0] = is_hit ? scene->n_x : scene->s.n_dof;
        for (int k = 1; k <= def->n_hidden; k++) {
            net->width[k] = def->width;
        }
        net->width[def->n_hidden + 1] = is_hit ? scene->s.n_dof : 1;
    }
    return net;
}

static bool push_nets(const cri_points_learner_def *def, cri_points_learner *l) {
    l->scene->has_contact = def->hit == CRI_HIT_LAW;
    if (def->hit != CRI_HIT_ALONE) {
        l->net = push_net(def, l->scene, false);
        if (!l->net || !cri_points_scene_set_net(l->scene, l->net)) {
            return false;
        }
        l->learns_stiffness = l->scene->s.n_spring > 0;
    }
    l->i_hit = l->n_w = l->scene->n_p;
    switch (def->hit) {
    case CRI_HIT_LAW:
        return true;
    case CRI_HIT_NET:
        l->hit = push_net(def, l->scene, true);
        l->n_w += l->hit ? cri_mlp_n_weight(l->hit) : 0;
        return l->hit;
    case CRI_HIT_RELATIONS:
    case CRI_HIT_ALONE:
        l->relations = cri_points_relations_push(l->scene, &def->relations);
        l->n_w += l->relations ? cri_interaction_n_weight(&l->relations->net) : 0;
        return l->relations;
    }
    return false;
}

cr_status cri_points_learner_create(const cri_points_learner_def *def, cri_points_learner *out,
                                    cr_error *err) {
    CR_ASSERT(def->n_hidden > 0 && def->n_hidden < CRI_MLP_LAYER_MOST && def->width > 0);
    *out = (cri_points_learner){.kind = def->hit, .learns_epsilon = def->learns_epsilon};
    CR_TRY(cri_points_scene_create(def->name, def->n, &out->scene, err));
    out->scene->form = def->form;
    if (!cri_points_scene_set_law(out->scene, def->law)) {
        cri_points_learner_clear(out);
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "no law '%.40s'; 'carom laws' lists them",
                        def->law);
    }
    if (!push_nets(def, out)) {
        cri_points_learner_clear(out);
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a model of '%s'", def->name);
    }
    return CR_OK;
}

void cri_points_learner_clear(cri_points_learner *l) {
    cri_points_scene_destroy(l->scene);
    *l = (cri_points_learner){0};
}

// w whose values are those of the scene
static void put_given(const cri_points_scene *sc, double *w) {
    memcpy(w, sc->p, sizeof *w * (size_t)sc->n_p);
    for (int i = sc->s.i_mass; i < sc->s.i_gravity; i++) {
        w[i] = log(sc->p[i]);
    }
    for (int k = 0; k < sc->n_coefficient; k++) {
        w[sc->law.i_e + k] = 6.0 * sc->p[sc->law.i_e + k] - 3.0;
    }
}

static bool start_nets(const cri_points_learner *l, cri_random *r, double *w, cr_arena *work) {
    const cri_start kind = CRI_START_ORTHOGONAL;
    bool is_done = !l->net || cri_mlp_start(l->net, kind, r, w + l->scene->potential.first, work);
    if (is_done && l->hit) {
        is_done = cri_mlp_start(l->hit, kind, r, w + l->i_hit, work);
    }
    if (is_done && l->relations) {
        const cri_interaction *net = &l->relations->net;
        is_done =
            cri_mlp_start(&net->relate, kind, r, w + l->i_hit, work) &&
            cri_mlp_start(&net->act, kind, r, w + l->i_hit + cri_mlp_n_weight(&net->relate), work);
    }
    return is_done;
}

bool cri_points_learner_start(const cri_points_learner *l, uint64_t seed, double *w) {
    const cri_points_scene *sc = l->scene;
    cri_random r = cri_random_of(seed, 1);
    put_given(sc, w);
    for (int i = sc->s.i_mass; l->kind != CRI_HIT_ALONE && i < sc->s.i_gravity; i++) {
        w[i] = 0.1 * cri_random_normal(&r);
    }
    for (int k = 0; !l->relations && k < sc->n_coefficient; k++) {
        w[sc->law.i_mu + k] = cri_random_uniform(&r, 0.0, sc->n_coefficient > 1 ? 0.1 : 1.0);
        w[sc->law.i_e + k] = fmax(-3.0, fmin(3.0, cri_random_normal(&r)));
    }
    if (l->learns_epsilon) {
        w[sc->law.i_epsilon] = cri_random_normal(&r);
    }
    if (l->learns_stiffness) {
        w[sc->s.i_stiffness] = 0.1 * cri_random_normal(&r);
    }
    cr_arena *work = cri_arena_create(1 << 16);
    bool is_done = work && start_nets(l, &r, w, work);
    cri_arena_destroy(work);
    return is_done;
}

void cri_points_learner_values(const cri_points_learner *l, const double *w, double *p) {
    const cri_points_scene *sc = l->scene;
    memcpy(p, w, sizeof *p * (size_t)l->n_w);
    for (int i = sc->s.i_mass; i < sc->s.i_gravity; i++) {
        p[i] = exp(w[i]);
    }
    for (int k = 0; k < sc->n_coefficient; k++) {
        p[sc->law.i_e + k] = fmax(0.0, fmin(1.0, (w[sc->law.i_e + k] + 3.0) / 6.0));
    }
    if (l->learns_epsilon) {
        p[sc->law.i_epsilon] = log1p(exp(w[sc->law.i_epsilon]));
    }
    if (l->learns_stiffness) {
        p[sc->s.i_stiffness] = exp(w[sc->s.i_stiffness]);
    }
}

void cri_points_learner_slope(const cri_points_learner *l, const double *w, const double *p,
                              const double *p_adj, double *w_adj) {
    const cri_points_scene *sc = l->scene;
    for (int i = sc->s.i_mass; i < sc->s.i_gravity; i++) {
        w_adj[i] += p[i] * p_adj[i];
    }
    for (int k = 0; k < sc->n_coefficient; k++) {
        w_adj[sc->law.i_mu + k] += p_adj[sc->law.i_mu + k];
        w_adj[sc->law.i_e + k] += p_adj[sc->law.i_e + k] / 6.0;
    }
    if (l->learns_epsilon) {
        int i = sc->law.i_epsilon;
        w_adj[i] += p_adj[i] / (1.0 + exp(-w[i]));
    }
    if (l->learns_stiffness) {
        int i = sc->s.i_stiffness;
        w_adj[i] += p[i] * p_adj[i];
    }
    for (int i = l->net ? sc->potential.first : l->i_hit; i < l->n_w; i++) {
        w_adj[i] += p_adj[i];
    }
}

// ---- step --------------------------------------------------------------------------------------

// gathers rows that overlap, and adds what the net says to their velocities
static bool hit_rows(const cri_points_learner *l, const double *p, double *x_next,
                     cri_points_learner_tape *t, const cri_points_memory *m) {
    const cri_points_scene *sc = l->scene;
    size_t n_x = (size_t)sc->n_x, D = n_x / 2, B = (size_t)t->B;
    t->row = CR_PUSH(m->keep, int, B);
    double *in = CR_PUSH_RAW(m->keep, double, B *n_x), *out = CR_PUSH_RAW(m->keep, double, B *D);
    if (!t->row || !in || !out) {
        return false;
    }
    for (int b = 0; b < t->B; b++) {
        const double *x = x_next + (size_t)b * n_x;
        if (!t->has_failed[b] && cri_points_overlap(sc, x)) {
            memcpy(in + (size_t)t->n * n_x, x, sizeof *x * n_x);
            t->row[t->n++] = b;
        }
    }
    if (t->n == 0) {
        return true;
    }
    if (!cri_mlp_value(l->hit, p + l->i_hit, t->n, in, out, &t->cache, m->keep)) {
        return false;
    }
    for (int k = 0; k < t->n; k++) {
        double *v = x_next + (size_t)t->row[k] * n_x + D;
        for (size_t i = 0; i < D; i++) {
            v[i] += out[(size_t)k * D + i];
        }
    }
    return true;
}

// a number of a state that no system has, m or m/s
static const double out_of_reach = 1e8;

// what the relations say is added to velocities, or takes their place
static bool relate_rows(const cri_points_learner *l, const double *p, const double *x,
                        double *x_next, cri_points_learner_tape *t, const cri_points_memory *m) {
    size_t n_x = (size_t)l->scene->n_x, D = n_x / 2;
    bool is_alone = l->kind == CRI_HIT_ALONE;
    double *out = CR_PUSH_RAW(m->keep, double, (size_t)t->B *D);
    if (!out || !cri_points_relate(l->relations, p, t->B, is_alone ? x : x_next, out, &t->relations,
                                   m->keep)) {
        return false;
    }
    for (int b = 0; b < t->B; b++) {
        const double *from = x + (size_t)b * n_x;
        double *to = x_next + (size_t)b * n_x;
        for (size_t i = 0; i < D; i++) {
            double v = out[(size_t)b * D + i];
            to[i] = is_alone ? from[i] + l->scene->dt * from[D + i] : to[i];
            to[D + i] = is_alone ? v : to[D + i] + v;
            t->has_failed[b] = t->has_failed[b] || !(fabs(to[D + i]) < out_of_reach);
        }
        if (t->has_failed[b]) {
            memcpy(to, from, sizeof *to * n_x);
        }
    }
    return true;
}

const cri_points_learner_tape *cri_points_learner_step(const cri_points_learner *l, const double *p,
                                                       int B, const double *x, double *x_next,
                                                       const cri_points_memory *m) {
    cri_points_learner_tape *t = CR_PUSH(m->keep, cri_points_learner_tape, 1);
    if (!t) {
        return NULL;
    }
    t->B = B;
    if (l->kind == CRI_HIT_ALONE) {
        t->has_failed = CR_PUSH(m->keep, bool, B);
    } else {
        t->tape = cri_points_step(l->scene, p, B, x, x_next, NULL, m->keep, m->scratch);
        t->has_failed = t->tape ? t->tape->has_failed : NULL;
    }
    bool is_done = t->has_failed && (!l->hit || hit_rows(l, p, x_next, t, m)) &&
                   (!l->relations || relate_rows(l, p, x, x_next, t, m));
    return is_done ? t : NULL;
}

const bool *cri_points_learner_stepper(const void *learner, const double *p, int B, const double *x,
                                       double *x_next, const cri_points_memory *m) {
    const cri_points_learner_tape *t = cri_points_learner_step(learner, p, B, x, x_next, m);
    return t ? t->has_failed : NULL;
}

// turns the adjoint behind the hits into that before them
static bool pull_hits(const cri_points_learner *l, const double *p,
                      const cri_points_learner_tape *t, double *adj, double *p_adj,
                      cr_arena *scratch) {
    size_t n_x = (size_t)l->scene->n_x, D = n_x / 2;
    double *out = CR_PUSH_RAW(scratch, double, (size_t)t->n *D);
    double *in = CR_PUSH(scratch, double, (size_t)t->n *n_x);
    if (!out || !in) {
        return false;
    }
    for (int k = 0; k < t->n; k++) {
        memcpy(out + (size_t)k * D, adj + (size_t)t->row[k] * n_x + D, sizeof *out * D);
    }
    if (!cri_mlp_value_vjp(l->hit, p + l->i_hit, &t->cache, out, in, p_adj + l->i_hit, scratch)) {
        return false;
    }
    for (int k = 0; k < t->n; k++) {
        double *row = adj + (size_t)t->row[k] * n_x;
        for (size_t i = 0; i < n_x; i++) {
            row[i] += in[(size_t)k * n_x + i];
        }
    }
    return true;
}

// the same for relations; of CRI_HIT_ALONE into that of the state before the step
static bool pull_relations(const cri_points_learner *l, const double *p,
                           const cri_points_learner_tape *t, double *adj, double *p_adj,
                           cr_arena *scratch) {
    size_t n_x = (size_t)l->scene->n_x, D = n_x / 2;
    double *out = CR_PUSH(scratch, double, (size_t)t->B *D);
    for (int b = 0; out && b < t->B; b++) {
        double *row = adj + (size_t)b * n_x;
        if (t->has_failed[b]) {
            memset(row, 0, sizeof *row * n_x);
        }
        memcpy(out + (size_t)b * D, row + D, sizeof *out * D);
        for (size_t i = 0; l->kind == CRI_HIT_ALONE && i < D; i++) {
            row[D + i] = l->scene->dt * row[i];
        }
    }
    return out && cri_points_relate_vjp(l->relations, p, &t->relations, out, adj, p_adj, scratch);
}

bool cri_points_learner_pull(const cri_points_learner *l, const double *p,
                             const cri_points_learner_tape *t, const double *x_next_adj,
                             double *x_adj, double *p_adj, cr_arena *scratch) {
    if (t->n == 0 && !l->relations) {
        return cri_points_step_vjp(l->scene, p, t->tape, x_next_adj, x_adj, p_adj, scratch);
    }
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    size_t n = (size_t)t->B * (size_t)l->scene->n_x;
    double *adj = CR_PUSH_RAW(scratch, double, n);
    bool is_done = adj != NULL;
    if (is_done) {
        memcpy(adj, x_next_adj, sizeof *adj * n);
        is_done = l->relations ? pull_relations(l, p, t, adj, p_adj, scratch)
                               : pull_hits(l, p, t, adj, p_adj, scratch);
    }
    if (is_done && t->tape) {
        is_done = cri_points_step_vjp(l->scene, p, t->tape, adj, x_adj, p_adj, scratch);
    }
    for (size_t i = 0; is_done && !t->tape && i < n; i++) {
        x_adj[i] += adj[i];
    }
    cri_arena_rewind(scratch, mark);
    return is_done;
}

bool cri_points_learner_has_pairs(const cri_points_learner *l) {
    return l->kind != CRI_HIT_LAW;
}
