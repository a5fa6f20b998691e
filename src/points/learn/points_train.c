// SPDX-License-Identifier: MIT
//
// Points with contact as a model that learns, and its training on windows of four steps.
//
//   loss = sum over windows of 1/(5 n_x) sum_t |x_t - x*_t|_1,   x_0 = x*_0
//
// Its adjoint is sign(x_t - x*_t)/(5 n_x), pulled back step by step. Baselines are trained on pairs
// of states instead: every step of a window starts from the data.
//
// Physical numbers have their own rate: with that of the net restitution would need thousands of
// steps to cross its range. Friction and restitution are clipped to their ranges, at whose ends
// only a slope that points inside counts (base/nn/adam.h), so that a friction of zero may leave it
// again.
//
// A contact that sticks has no slope for friction, one that the target velocity drives apart none
// for restitution. Where all contacts share both, others have; a pair of balls with coefficients of
// its own touches a few times in all windows. So friction comes from below there, restitution
// rather from above: both are pulled to that end, out of where an early overshoot has left them.
// The pull fades with the rate, and faster. Restitution has six times the rate, as its number has
// six times the range.

#include "points/learn/points_train.h"

#include "base/base.h"
#include "base/io/checkpoint.h"
#include "base/nn/mlp.h"
#include "learned/trainer.h"
#include "points/learn/interaction.h"
#include "points/learn/points_data.h"
#include "points/learn/points_finish.h"

#include <math.h>
#include <string.h>

// a number of a state that no system has, m or m/s
static const double out_of_reach = 1e8;

// relations of a shard, some 12 kB each with the layers of the paper
enum {
    SHARD = 25,
    RELATION_MOST = 4000,
    N_STEP = CRI_WINDOW_STATES - 1,
    N_GROUP = 6,
    PAIR_SHARE = 5, // a batch of pairs is the fifth part of one of windows
    THREAD_MOST = 64
};

/// Windows of one call, states time after time.
typedef struct batch {
    const cri_points_learner *l;
    int B;
    size_t n;                         // B n_x
    double *x[CRI_WINDOW_STATES];     // (B, n_x) the model's, one behind the other
    double *truth[CRI_WINDOW_STATES]; // (B, n_x), likewise
    const cri_points_learner_tape *tape[N_STEP];
    bool *is_lost;                  // (B)
    double *p;                      // (n_w)
    double *adj[CRI_WINDOW_STATES]; // (B, n_x), likewise
    double *p_adj;                  // (n_w)
} batch;

typedef struct context {
    const cri_points_training *t;
    cri_points_memory memory[THREAD_MOST];
} context;

// ---- models -------------------------------------------------------------------------------------

// Models of points with contact as they are learned: numbers, first values, a step and its adjoint.

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

/// Adds to w_adj (n_w) what the slope p_adj for the values p of w means.
static void points_learner_slope(const cri_points_learner *l, const double *w, const double *p,
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

/// Are its steps trained one by one, each from the data? Baselines are.
static bool points_learner_has_pairs(const cri_points_learner *l) {
    return l->kind != CRI_HIT_LAW;
}

// ---- training -----------------------------------------------------------------------------------

// ---- loss --------------------------------------------------------------------------------------

static bool push_batch(batch *b, const cri_points_data *data, const int *sample, const double *w,
                       cr_arena *keep) {
    size_t n_x = (size_t)data->n_x;
    b->n = (size_t)b->B * n_x;
    b->is_lost = CR_PUSH(keep, bool, b->B);
    b->p = CR_PUSH_RAW(keep, double, b->l->n_w);
    b->p_adj = CR_PUSH(keep, double, b->l->n_w);
    double *x = CR_PUSH_RAW(keep, double, CRI_WINDOW_STATES * b->n);
    double *truth = CR_PUSH_RAW(keep, double, CRI_WINDOW_STATES * b->n);
    double *adj = CR_PUSH(keep, double, CRI_WINDOW_STATES * b->n);
    if (cri_arena_has_failed(keep)) {
        return false;
    }
    for (int t = 0; t < CRI_WINDOW_STATES; t++) {
        b->x[t] = x + (size_t)t * b->n;
        b->truth[t] = truth + (size_t)t * b->n;
        b->adj[t] = adj + (size_t)t * b->n;
    }
    cri_points_learner_values(b->l, w, b->p);
    for (int k = 0; k < b->B; k++) {
        const double *from = data->x + (size_t)sample[k] * CRI_WINDOW_STATES * n_x;
        for (int t = 0; t < CRI_WINDOW_STATES; t++) {
            memcpy(b->truth[t] + (size_t)k * n_x, from + (size_t)t * n_x, sizeof *from * n_x);
        }
    }
    memcpy(b->x[0], b->truth[0], sizeof *b->x[0] * b->n);
    return true;
}

// n_step steps of all windows from t on, rows of one call
static bool run_forward(batch *b, int t, int n_step, const double *from,
                        const cri_points_memory *m) {
    b->tape[t] = cri_points_learner_step(b->l, b->p, n_step * b->B, from, b->x[t + 1], m);
    for (int k = 0; b->tape[t] && k < n_step * b->B; k++) {
        b->is_lost[k % b->B] = b->is_lost[k % b->B] || b->tape[t]->has_failed[k];
    }
    return b->tape[t];
}

static double sum_loss(const batch *b, int *n_dropped) {
    size_t n_x = (size_t)b->l->scene->n_x;
    double loss = 0.0;
    for (int k = 0; k < b->B; k++) {
        *n_dropped += b->is_lost[k];
        for (int t = 1; t < CRI_WINDOW_STATES && !b->is_lost[k]; t++) {
            for (size_t i = (size_t)k * n_x; i < ((size_t)k + 1) * n_x; i++) {
                loss += fabs(b->x[t][i] - b->truth[t][i]);
            }
        }
    }
    return loss / (CRI_WINDOW_STATES * (double)n_x);
}

// adds the adjoint of the loss for the states at t
static void add_sign(const batch *b, int t) {
    double *adj = b->adj[t];
    size_t n_x = (size_t)b->l->scene->n_x;
    double size = 1.0 / (CRI_WINDOW_STATES * (double)n_x);
    for (size_t i = 0; i < b->n; i++) {
        double error = b->x[t][i] - b->truth[t][i];
        if (!b->is_lost[i / n_x]) {
            adj[i] += error > 0.0 ? size : error < 0.0 ? -size : 0.0;
        }
    }
}

static bool run_window(batch *b, bool has_slope, const cri_points_memory *m) {
    bool is_done = true;
    for (int t = 0; t < N_STEP && is_done; t++) {
        is_done = run_forward(b, t, 1, b->x[t], m);
    }
    for (int t = N_STEP; t > 0 && is_done && has_slope; t--) {
        add_sign(b, t);
        is_done = cri_points_learner_pull(b->l, b->p, b->tape[t - 1], b->adj[t], b->adj[t - 1],
                                          b->p_adj, m->scratch);
    }
    return is_done;
}

// each step from the data, all of them in one call
static bool run_pairs(batch *b, bool has_slope, const cri_points_memory *m) {
    double *from_adj = CR_PUSH(m->keep, double, N_STEP * b->n);
    bool is_done = from_adj && run_forward(b, 0, N_STEP, b->truth[0], m);
    for (int t = 1; t < CRI_WINDOW_STATES && is_done && has_slope; t++) {
        add_sign(b, t);
    }
    return is_done && (!has_slope || cri_points_learner_pull(b->l, b->p, b->tape[0], b->adj[1],
                                                             from_adj, b->p_adj, m->scratch));
}

bool cri_points_window_loss(const cri_points_learner *l, const cri_points_data *data,
                            cri_train_shard *shard, const cri_points_memory *m) {
    batch b = {.l = l, .B = shard->n};
    bool has_slope = shard->w_adj != NULL;
    cri_arena_reset(m->keep);
    if (!push_batch(&b, data, shard->sample, shard->w, m->keep)) {
        return false;
    }
    bool is_done =
        points_learner_has_pairs(l) ? run_pairs(&b, has_slope, m) : run_window(&b, has_slope, m);
    if (!is_done) {
        return false;
    }
    shard->loss += sum_loss(&b, &shard->n_dropped);
    if (has_slope) {
        points_learner_slope(l, shard->w, b.p, b.p_adj, shard->w_adj);
    }
    return true;
}

// ---- descent -----------------------------------------------------------------------------------

static bool loss_of(void *self, cri_train_shard *s) {
    context *c = self;
    return cri_points_window_loss(c->t->learner, c->t->train, s, &c->memory[s->worker]);
}

// windows of one call: fewer of a long rope with relations, whose layers would fill the memory
static int shard_of(const cri_points_learner *l) {
    int most = l->relations ? RELATION_MOST / (N_STEP * l->relations->net.n_relation + 1) : SHARD;
    return most < 1 ? 1 : most < SHARD ? most : SHARD;
}

// mean loss of the windows for validation; worst when one of them fails
static double validate(void *self, const double *w) {
    context *c = self;
    const cri_points_data *data = c->t->valid;
    int sample[SHARD], shard = shard_of(c->t->learner);
    cri_train_shard s = {.w = w, .sample = sample};
    for (int first = 0; first < data->n; first += shard) {
        s.n = data->n - first < shard ? data->n - first : shard;
        for (int k = 0; k < s.n; k++) {
            sample[k] = first + k;
        }
        if (!cri_points_window_loss(c->t->learner, data, &s, &c->memory[0])) {
            return NAN;
        }
    }
    return s.n_dropped > 0 ? NAN : s.loss / data->n;
}

// what a model is given has no group
static int make_groups(const cri_points_learner *l, cri_adam_group group[N_GROUP]) {
    const cri_points_scene *sc = l->scene;
    int n = sc->n_coefficient, first = l->net ? sc->potential.first : l->i_hit, n_group = 0;
    if (l->kind != CRI_HIT_ALONE) {
        group[n_group++] = (cri_adam_group){
            .first = sc->s.i_mass, .n = sc->s.i_gravity - sc->s.i_mass, .rate = 10.0};
    }
    if (!l->relations) {
        bool is_own = n > 1; // a pair for every contact
        group[n_group++] = (cri_adam_group){.first = sc->law.i_mu,
                                            .n = n,
                                            .rate = 10.0,
                                            .upper = 100.0,
                                            .pull = is_own ? 0.15 : 0.0};
        group[n_group++] = (cri_adam_group){.first = sc->law.i_e,
                                            .n = n,
                                            .rate = is_own ? 60.0 : 10.0,
                                            .lower = -3.0,
                                            .upper = 3.0,
                                            .pull = is_own ? 0.2 : 0.0,
                                            .home = 3.0};
    }
    if (l->learns_epsilon) {
        group[n_group++] = (cri_adam_group){.first = sc->law.i_epsilon, .n = 1, .rate = 10.0};
    }
    if (l->learns_stiffness) {
        group[n_group++] = (cri_adam_group){.first = sc->s.i_stiffness, .n = 1, .rate = 10.0};
    }
    group[n_group++] =
        (cri_adam_group){.first = first, .n = l->n_w - first, .rate = 1.0, .decay = 1e-4};
    return n_group;
}

static uint64_t problem_of(const cri_points_training *t) {
    const cri_points_scene *sc = t->learner->scene;
    int sizes[] = {t->learner->n_w, t->learner->i_hit, (int)t->learner->kind,
                   sc->n_x,         (int)sc->form,     t->train->n,
                   t->valid->n};
    uint64_t hash = cri_hash(CRI_HASH_START, sizes, sizeof sizes);
    const double given[] = {sc->dt, sc->p[sc->law.i_epsilon], t->learner->learns_epsilon};
    hash = cri_hash(hash, given, sizeof given);
    hash = cri_hash_text(cri_hash_text(hash, sc->name), sc->law.law->name);
    const cri_points_data *data[] = {t->train, t->valid};
    for (int k = 0; k < 2; k++) {
        size_t n = (size_t)data[k]->n * CRI_WINDOW_STATES * (size_t)sc->n_x;
        hash = cri_hash(hash, data[k]->x, n * sizeof *data[k]->x);
    }
    return hash;
}

// baselines, which bring no mechanics, take as many steps of smaller batches as in the paper
static int batch_of(const cri_points_training *t) {
    int n = points_learner_has_pairs(t->learner) ? t->batch / PAIR_SHARE : t->batch;
    return n > 1 ? n : 1;
}

cr_status cri_points_train(const cri_points_training *t, double *w, double *history,
                           cri_train_result *out, cr_error *err) {
    CR_ASSERT(t->n_epoch > 0 && t->batch > 0 && t->n_thread > 0);
    context c = {.t = t};
    int n_thread = t->n_thread < THREAD_MOST ? t->n_thread : THREAD_MOST;
    bool has_memory = true;
    for (int k = 0; k < n_thread && has_memory; k++) {
        has_memory = cri_points_memory_open(&c.memory[k]);
    }
    cri_adam_group group[N_GROUP];
    int n_group = make_groups(t->learner, group);
    cri_train_task task = {.n_w = t->learner->n_w,
                           .n_group = n_group,
                           .group = group,
                           .n_sample = t->train->n,
                           .loss = loss_of,
                           .validate = validate,
                           .context = &c,
                           .problem = problem_of(t)};
    cri_train_options options = cri_train_options_default();
    options.n_epoch = t->n_epoch;
    options.batch = batch_of(t);
    options.shard = shard_of(t->learner);
    options.n_thread = n_thread;
    options.seed = t->seed;
    options.rate = (cri_rate){.kind = CRI_RATE_LINEAR, .rate = t->rate, .begin = 0.5};
    options.is_best_kept = true;
    options.save_every = 10;
    options.checkpoint = t->checkpoint;
    options.progress = t->progress;
    cr_status status = has_memory ? cri_train(&task, &options, w, history, out, err)
                                  : cri_fail(err, CR_ERR_MEMORY, 0, "no memory to train");
    bool is_done = status == CR_OK && out->stop == CRI_TRAIN_DONE;
    if (is_done && t->learner->kind == CRI_HIT_LAW) {
        cri_pass_end end = cri_points_finish(t, w);
        if (end == CRI_PASS_NO_MEMORY) {
            status = cri_fail(err, CR_ERR_MEMORY, 0, "no memory for the last steps of a training");
        }
        out->stop = end == CRI_PASS_STOPPED ? CRI_TRAIN_INTERRUPTED : out->stop;
        out->best = validate(&c, w);
    }
    for (int k = 0; k < n_thread; k++) {
        cri_points_memory_close(&c.memory[k]);
    }
    return status;
}
