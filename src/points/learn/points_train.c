// SPDX-License-Identifier: MIT
//
// Training of points with contact on windows of four steps.
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

#include "points/learn/points_finish.h"

#include "base/base.h"
#include "base/io/checkpoint.h"

#include <math.h>
#include <string.h>

// relations of a shard, some 12 kB each with the layers of the paper
enum {
    SHARD = 25,
    RELATION_MOST = 4000,
    N_STEP = CRI_WINDOW_STATES - 1,
    N_GROUP = 6,
    PAIR_SHARE = 5, // a batch of pairs is the fifth part of one of windows
    THREAD_MOST = 64
};

// ---- loss --------------------------------------------------------------------------------------

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
    bool is_done = cri_points_learner_has_pairs(l) ? run_pairs(&b, has_slope, m)
                                                   : run_window(&b, has_slope, m);
    if (!is_done) {
        return false;
    }
    shard->loss += sum_loss(&b, &shard->n_dropped);
    if (has_slope) {
        cri_points_learner_slope(l, shard->w, b.p, b.p_adj, shard->w_adj);
    }
    return true;
}

// ---- training ----------------------------------------------------------------------------------

typedef struct context {
    const cri_points_training *t;
    cri_points_memory memory[THREAD_MOST];
} context;

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
    int n = cri_points_learner_has_pairs(t->learner) ? t->batch / PAIR_SHARE : t->batch;
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
