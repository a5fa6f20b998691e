// SPDX-License-Identifier: MIT
//
// Training of points with contact on windows of four steps.
//
//   loss = sum over windows of 1/(5 n_x) sum_t |x_t - x*_t|_1,   x_0 = x*_0
//
// Its adjoint is sign(x_t - x*_t)/(5 n_x), pulled back step by step. Physical numbers have their
// own rate: with that of the net restitution would need thousands of steps to cross its range.
// Friction and restitution are clipped to their ranges, at whose ends only a slope that points
// inside counts (nn/adam.h), so that a friction of zero may leave it again.

#include "learn/points_task.h"

#include "base/base.h"
#include "dynamics/points_net.h"
#include "io/checkpoint.h"
#include "nn/start.h"

#include <math.h>
#include <string.h>

enum { SHARD = 25, N_STEP = CRI_WINDOW_STATES - 1, N_GROUP = 4, THREAD_MOST = 64 };

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
    l->net = push_net(def, l->scene, false);
    const cri_potential potential = l->net ? cri_points_net(l->net) : (cri_potential){0};
    if (!l->net || !cri_points_scene_set_potential(l->scene, &potential)) {
        return false;
    }
    l->i_hit = l->n_w = l->scene->n_p;
    if (def->has_hit_net) {
        l->hit = push_net(def, l->scene, true);
        l->n_w += l->hit ? cri_mlp_n_weight(l->hit) : 0;
        l->scene->has_contact = false;
    }
    return !def->has_hit_net || l->hit;
}

cr_status cri_points_learner_create(const cri_points_learner_def *def, cri_points_learner *out,
                                    cr_error *err) {
    CR_ASSERT(def->n_hidden > 0 && def->n_hidden < CRI_MLP_LAYER_MOST && def->width > 0);
    *out = (cri_points_learner){0};
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

bool cri_points_learner_start(const cri_points_learner *l, uint64_t seed, double *w) {
    const cri_points_scene *sc = l->scene;
    cri_random r = cri_random_of(seed, 1);
    memcpy(w, sc->p, sizeof *w * (size_t)sc->n_p);
    for (int i = sc->s.i_mass; i < sc->s.i_gravity; i++) {
        w[i] = 0.1 * cri_random_normal(&r);
    }
    for (int k = 0; k < sc->n_coefficient; k++) {
        w[sc->law.i_mu + k] = cri_random_uniform(&r, 0.0, 1.0);
        w[sc->law.i_e + k] = fmax(-3.0, fmin(3.0, cri_random_normal(&r)));
    }
    cr_arena *work = cri_arena_create(1 << 16);
    bool is_done =
        work && cri_mlp_start(l->net, CRI_START_ORTHOGONAL, &r, w + sc->potential.first, work);
    if (is_done && l->hit) {
        is_done = cri_mlp_start(l->hit, CRI_START_ORTHOGONAL, &r, w + l->i_hit, work);
    }
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
}

// adds the slope for w of the slope p_adj for its values p
static void add_slope(const cri_points_learner *l, const double *p, const double *p_adj,
                      double *w_adj) {
    const cri_points_scene *sc = l->scene;
    for (int i = sc->s.i_mass; i < sc->s.i_gravity; i++) {
        w_adj[i] += p[i] * p_adj[i];
    }
    for (int k = 0; k < sc->n_coefficient; k++) {
        w_adj[sc->law.i_mu + k] += p_adj[sc->law.i_mu + k];
        w_adj[sc->law.i_e + k] += p_adj[sc->law.i_e + k] / 6.0;
    }
    for (int i = sc->potential.first; i < l->n_w; i++) {
        w_adj[i] += p_adj[i];
    }
}

// ---- step --------------------------------------------------------------------------------------

// gathers rows that overlap, and adds what the net says to their velocities
static bool hit_rows(const cri_points_learner *l, const double *p, double *x_next,
                     cri_points_learner_tape *t, const cri_points_memory *m) {
    const cri_points_scene *sc = l->scene;
    size_t n_x = (size_t)sc->n_x, D = n_x / 2, B = (size_t)t->tape->B;
    t->row = CR_PUSH(m->keep, int, B);
    double *in = CR_PUSH_RAW(m->keep, double, B *n_x), *out = CR_PUSH_RAW(m->keep, double, B *D);
    if (!t->row || !in || !out) {
        return false;
    }
    for (int b = 0; b < t->tape->B; b++) {
        const double *x = x_next + (size_t)b * n_x;
        if (!t->tape->has_failed[b] && cri_points_overlap(sc, x)) {
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

const cri_points_learner_tape *cri_points_learner_step(const cri_points_learner *l, const double *p,
                                                       int B, const double *x, double *x_next,
                                                       const cri_points_memory *m) {
    cri_points_learner_tape *t = CR_PUSH(m->keep, cri_points_learner_tape, 1);
    if (t) {
        t->tape = cri_points_step(l->scene, p, B, x, x_next, NULL, m->keep, m->scratch);
    }
    bool is_done = t && t->tape && (!l->hit || hit_rows(l, p, x_next, t, m));
    return is_done ? t : NULL;
}

const bool *cri_points_learner_stepper(const void *learner, const double *p, int B, const double *x,
                                       double *x_next, const cri_points_memory *m) {
    const cri_points_learner_tape *t = cri_points_learner_step(learner, p, B, x, x_next, m);
    return t ? t->tape->has_failed : NULL;
}

// turns the adjoint behind the contacts into that before them
static bool pull_rows(const cri_points_learner *l, const double *p,
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

bool cri_points_learner_pull(const cri_points_learner *l, const double *p,
                             const cri_points_learner_tape *t, const double *x_next_adj,
                             double *x_adj, double *p_adj, cr_arena *scratch) {
    if (t->n == 0) {
        return cri_points_step_vjp(l->scene, p, t->tape, x_next_adj, x_adj, p_adj, scratch);
    }
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    size_t n = (size_t)t->tape->B * (size_t)l->scene->n_x;
    double *adj = CR_PUSH_RAW(scratch, double, n);
    bool is_done = adj != NULL;
    if (is_done) {
        memcpy(adj, x_next_adj, sizeof *adj * n);
        is_done = pull_rows(l, p, t, adj, p_adj, scratch) &&
                  cri_points_step_vjp(l->scene, p, t->tape, adj, x_adj, p_adj, scratch);
    }
    cri_arena_rewind(scratch, mark);
    return is_done;
}

// ---- loss --------------------------------------------------------------------------------------

/// Windows of one call, states time after time.
typedef struct batch {
    const cri_points_learner *l;
    int B;
    size_t n;                         // B n_x
    double *x[CRI_WINDOW_STATES];     // (B, n_x) the model's
    double *truth[CRI_WINDOW_STATES]; // (B, n_x)
    const cri_points_learner_tape *tape[N_STEP];
    bool *is_lost;  // (B)
    double *p;      // (n_w)
    double *adj[2]; // (B, n_x)
    double *p_adj;  // (n_w)
} batch;

static bool push_batch(batch *b, const cri_points_data *data, const int *sample, const double *w,
                       cr_arena *keep) {
    size_t n_x = (size_t)data->n_x;
    b->n = (size_t)b->B * n_x;
    b->is_lost = CR_PUSH(keep, bool, b->B);
    b->p = CR_PUSH_RAW(keep, double, b->l->n_w);
    b->p_adj = CR_PUSH(keep, double, b->l->n_w);
    b->adj[0] = CR_PUSH(keep, double, b->n);
    b->adj[1] = CR_PUSH(keep, double, b->n);
    for (int t = 0; t < CRI_WINDOW_STATES; t++) {
        b->x[t] = CR_PUSH_RAW(keep, double, b->n);
        b->truth[t] = CR_PUSH_RAW(keep, double, b->n);
    }
    if (cri_arena_has_failed(keep)) {
        return false;
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

static bool run_forward(batch *b, const cri_points_memory *m) {
    for (int t = 0; t < N_STEP; t++) {
        b->tape[t] = cri_points_learner_step(b->l, b->p, b->B, b->x[t], b->x[t + 1], m);
        if (!b->tape[t]) {
            return false;
        }
        for (int k = 0; k < b->B; k++) {
            b->is_lost[k] = b->is_lost[k] || b->tape[t]->tape->has_failed[k];
        }
    }
    return true;
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
static void add_sign(const batch *b, int t, double *adj) {
    size_t n_x = (size_t)b->l->scene->n_x;
    double size = 1.0 / (CRI_WINDOW_STATES * (double)n_x);
    for (size_t i = 0; i < b->n; i++) {
        double error = b->x[t][i] - b->truth[t][i];
        if (!b->is_lost[i / n_x]) {
            adj[i] += error > 0.0 ? size : error < 0.0 ? -size : 0.0;
        }
    }
}

static bool run_back(batch *b, cr_arena *scratch) {
    double *next = b->adj[0], *here = b->adj[1];
    for (int t = N_STEP; t > 0; t--) {
        add_sign(b, t, next);
        memset(here, 0, sizeof *here * b->n);
        if (!cri_points_learner_pull(b->l, b->p, b->tape[t - 1], next, here, b->p_adj, scratch)) {
            return false;
        }
        double *kept = next;
        next = here;
        here = kept;
    }
    return true;
}

bool cri_points_window_loss(const cri_points_learner *l, const cri_points_data *data,
                            cri_train_shard *shard, const cri_points_memory *m) {
    batch b = {.l = l, .B = shard->n};
    cri_arena_reset(m->keep);
    if (!push_batch(&b, data, shard->sample, shard->w, m->keep) || !run_forward(&b, m)) {
        return false;
    }
    shard->loss += sum_loss(&b, &shard->n_dropped);
    if (!shard->w_adj) {
        return true;
    }
    if (!run_back(&b, m->scratch)) {
        return false;
    }
    add_slope(l, b.p, b.p_adj, shard->w_adj);
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

// mean loss of the windows for validation; worst when one of them fails
static double validate(void *self, const double *w) {
    context *c = self;
    const cri_points_data *data = c->t->valid;
    int sample[SHARD];
    cri_train_shard s = {.w = w, .sample = sample};
    for (int first = 0; first < data->n; first += SHARD) {
        s.n = data->n - first < SHARD ? data->n - first : SHARD;
        for (int k = 0; k < s.n; k++) {
            sample[k] = first + k;
        }
        if (!cri_points_window_loss(c->t->learner, data, &s, &c->memory[0])) {
            return NAN;
        }
    }
    return s.n_dropped > 0 ? NAN : s.loss / data->n;
}

static void make_groups(const cri_points_learner *l, cri_adam_group group[N_GROUP]) {
    const cri_points_scene *sc = l->scene;
    int n = sc->n_coefficient, first = sc->potential.first;
    group[0] =
        (cri_adam_group){.first = sc->s.i_mass, .n = sc->s.i_gravity - sc->s.i_mass, .rate = 10.0};
    group[1] = (cri_adam_group){.first = sc->law.i_mu, .n = n, .rate = 10.0, .upper = 100.0};
    group[2] =
        (cri_adam_group){.first = sc->law.i_e, .n = n, .rate = 10.0, .lower = -3.0, .upper = 3.0};
    group[3] = (cri_adam_group){.first = first, .n = l->n_w - first, .rate = 1.0, .decay = 1e-4};
}

static uint64_t problem_of(const cri_points_training *t) {
    const cri_points_scene *sc = t->learner->scene;
    int sizes[] = {t->learner->n_w, t->learner->i_hit, sc->n_x,
                   (int)sc->form,   t->train->n,       t->valid->n};
    uint64_t hash = cri_hash(CRI_HASH_START, sizes, sizeof sizes);
    hash = cri_hash_text(cri_hash_text(hash, sc->name), sc->law.law->name);
    size_t n = (size_t)t->train->n * CRI_WINDOW_STATES * (size_t)sc->n_x;
    return cri_hash(hash, t->train->x, n * sizeof *t->train->x);
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
    make_groups(t->learner, group);
    cri_train_task task = {.n_w = t->learner->n_w,
                           .n_group = N_GROUP,
                           .group = group,
                           .n_sample = t->train->n,
                           .loss = loss_of,
                           .validate = validate,
                           .context = &c,
                           .problem = problem_of(t)};
    cri_train_options options = cri_train_options_default();
    options.n_epoch = t->n_epoch;
    options.batch = t->batch;
    options.shard = SHARD;
    options.n_thread = n_thread;
    options.seed = t->seed;
    options.rate = (cri_rate){.kind = CRI_RATE_LINEAR, .rate = t->rate, .begin = 0.5};
    options.is_best_kept = true;
    options.checkpoint = t->checkpoint;
    options.progress = t->progress;
    cr_status status = has_memory ? cri_train(&task, &options, w, history, out, err)
                                  : cri_fail(err, CR_ERR_MEMORY, 0, "no memory to train");
    for (int k = 0; k < n_thread; k++) {
        cri_points_memory_close(&c.memory[k]);
    }
    return status;
}
