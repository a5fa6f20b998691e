// SPDX-License-Identifier: MIT
//
// Training of spaces of shapes. For each shape with its code z, surface points x with normals n,
// and points y in space:
//
//   loss = mean |F(x, z)| + mean |F_x(x, z) - n| + mean (|F_x(y, z)| - 1)^2 + kappa |z|
//
// Half of the y lie beside the surface, at distances of 0.01 (normal), the others anywhere in the
// cube of half length 1.8; lengths are in units of the largest distance from the middle of all
// shapes. Adjoints of value and gradient for a point:
//
//   surface  sign(F)/N,  (F_x - n)/|F_x - n|/N        space  0,  2 (|F_x| - 1) F_x/|F_x|/M
//
// 0 where a norm is 0. A sample is a chunk of one shape's points; its points in space are drawn
// once, from a stream of its own, so that nothing but the sample decides about them.

#include "learned/shape_train.h"

#include "base/io/checkpoint.h"

#include <math.h>
#include <string.h>

enum {
    NEAR = 32,
    FAR = 32,
    ROWS = CRI_SHAPE_CHUNK + NEAR + FAR,
    BATCH = 4, // samples of a step
    SHARD = 4, // of a call
    THREAD_MOST = 64,
    SLOPE_POINTS = 4096, // of a shape, where the slope is measured
};

static const double near_sigma = 0.01, far_half = 1.8; // paper 004
static const double kappa = 1e-3;
static const double beta = 100.0;

typedef struct worker {
    double *x, *phi, *g, *phi_adj, *g_adj, *x_adj, *work;
} worker;

typedef struct trainee {
    const cri_shape_data *data;
    cri_shape_space *space;
    int n_weight, n_chunk;
    double *unit; // (n_shape, n_chunk, ROWS, 3) points in units of the space
    worker worker[THREAD_MOST];
} trainee;

cri_shape_training cri_shape_training_default(void) {
    return (cri_shape_training){
        .n_hidden = 4, .width = 64, .n_code = 4, .n_epoch = 100, .rate = 2e-3, .n_thread = 1};
}

// ---- data --------------------------------------------------------------------------------------

// middle of the box around all points, and the largest distance from it
static void set_frame(const cri_shape_data *data, cri_shape_space *s) {
    size_t n = (size_t)data->n_shape * (size_t)data->n_point;
    for (int a = 0; a < 3; a++) {
        s->lower[a] = INFINITY;
        s->upper[a] = -INFINITY;
    }
    for (size_t i = 0; i < 3 * n; i++) {
        s->lower[i % 3] = fmin(s->lower[i % 3], data->point[i]);
        s->upper[i % 3] = fmax(s->upper[i % 3], data->point[i]);
    }
    s->centre = cri_v3_scale(0.5, cri_v3_add(cri_v3_load(s->lower), cri_v3_load(s->upper)));
    s->scale = 0.0;
    for (size_t i = 0; i < n; i++) {
        cri_vec3 r = cri_v3_sub(cri_v3_load(data->point + 3 * i), s->centre);
        s->scale = fmax(s->scale, cri_v3_norm(r));
    }
    // room for codes in between
    for (int a = 0; a < 3; a++) {
        s->lower[a] -= 0.1 * s->scale;
        s->upper[a] += 0.1 * s->scale;
    }
}

static void fill_sample(const trainee *t, uint64_t seed, int sample, double *row) {
    const cri_shape_space *s = t->space;
    cri_random stream = cri_random_of(seed, 1 + (uint64_t)sample);
    const double *point = t->data->point + 3 * (size_t)sample * CRI_SHAPE_CHUNK;
    for (int i = 0; i < ROWS; i++, row += 3) {
        if (i < CRI_SHAPE_CHUNK) {
            cri_vec3 r = cri_v3_sub(cri_v3_load(point + 3 * (size_t)i), s->centre);
            cri_v3_store(cri_v3_scale(1.0 / s->scale, r), row);
            continue;
        }
        bool is_near = i < CRI_SHAPE_CHUNK + NEAR;
        for (int a = 0; a < 3; a++) {
            row[a] = is_near
                         ? row[a - 3 * CRI_SHAPE_CHUNK] + near_sigma * cri_random_normal(&stream)
                         : cri_random_uniform(&stream, -far_half, far_half);
        }
    }
}

// ---- loss --------------------------------------------------------------------------------------

// loss and seeds of one point of the surface with normal n
static double surface_point(double phi, const double *g, const double *n, int n_in, double *phi_adj,
                            double *g_adj) {
    cri_vec3 d = cri_v3_sub(cri_v3_load(g), cri_v3_load(n));
    double off = cri_v3_norm(d), weight = 1.0 / CRI_SHAPE_CHUNK;
    memset(g_adj, 0, sizeof *g_adj * (size_t)n_in);
    *phi_adj = phi > 0.0 ? weight : -weight;
    if (off > 0.0) {
        cri_v3_store(cri_v3_scale(weight / off, d), g_adj);
    }
    return weight * (fabs(phi) + off);
}

static double space_point(const double *g, int n_in, double *phi_adj, double *g_adj) {
    cri_vec3 v = cri_v3_load(g);
    double length = cri_v3_norm(v), off = length - 1.0, weight = 1.0 / (NEAR + FAR);
    memset(g_adj, 0, sizeof *g_adj * (size_t)n_in);
    *phi_adj = 0.0;
    if (length > 0.0) {
        cri_v3_store(cri_v3_scale(2.0 * weight * off / length, v), g_adj);
    }
    return weight * off * off;
}

// kappa |z| and its slope
static double code_penalty(int n_code, const double *code, double *code_adj) {
    double square = 0.0;
    for (int c = 0; c < n_code; c++) {
        square += code[c] * code[c];
    }
    double length = sqrt(square);
    for (int c = 0; length > 0.0 && c < n_code; c++) {
        code_adj[c] += kappa * code[c] / length;
    }
    return kappa * length;
}

// losses and seeds of a sample's rows
static double sample_loss(const trainee *t, const worker *k, int first, int sample) {
    int n_in = t->space->net.n_in;
    const double *normal = t->data->normal + 3 * (size_t)sample * CRI_SHAPE_CHUNK;
    double loss = 0.0;
    for (int i = 0; i < ROWS; i++) {
        int r = first + i;
        double *g = k->g + r * n_in, *g_adj = k->g_adj + r * n_in;
        loss += i < CRI_SHAPE_CHUNK ? surface_point(k->phi[r], g, normal + 3 * (size_t)i, n_in,
                                                    &k->phi_adj[r], g_adj)
                                    : space_point(g, n_in, &k->phi_adj[r], g_adj);
    }
    return loss;
}

// all samples of a shard are one batch of the net: large products are fast
static bool shard_loss(void *context, cri_train_shard *shard) {
    const trainee *t = context;
    const worker *k = &t->worker[shard->worker];
    const cri_skip_net *net = &t->space->net;
    int n_code = t->space->n_code, n_in = net->n_in, n_row = shard->n * ROWS;
    CR_ASSERT(shard->n <= SHARD);
    for (int r = 0; r < n_row; r++) {
        int sample = shard->sample[r / ROWS], shape = sample / t->n_chunk;
        memcpy(k->x + r * n_in, t->unit + ((size_t)sample * ROWS + (size_t)(r % ROWS)) * 3,
               3 * sizeof *k->x);
        memcpy(k->x + r * n_in + 3, shard->w + t->n_weight + shape * n_code,
               sizeof *k->x * (size_t)n_code);
    }
    cri_skip_net_eval(net, shard->w, n_row, k->x, k->phi, k->g, k->work);
    for (int i = 0; i < shard->n; i++) {
        shard->loss += sample_loss(t, k, i * ROWS, shard->sample[i]);
    }
    memset(k->x_adj, 0, sizeof *k->x_adj * (size_t)(n_row * n_in));
    cri_skip_net_eval_vjp(net, shard->w, n_row, k->phi_adj, k->g_adj, k->x_adj, shard->w_adj,
                          k->work);
    for (int i = 0; i < shard->n; i++) {
        int at = t->n_weight + shard->sample[i] / t->n_chunk * n_code;
        for (int r = i * ROWS; r < (i + 1) * ROWS; r++) {
            for (int c = 0; c < n_code; c++) {
                shard->w_adj[at + c] += k->x_adj[r * n_in + 3 + c];
            }
        }
        shard->loss += code_penalty(n_code, shard->w + at, shard->w_adj + at);
    }
    return true;
}

// ---- training ----------------------------------------------------------------------------------

static bool push_memory(trainee *t, int n_thread, uint64_t seed, cr_arena *arena) {
    const cri_skip_net *net = &t->space->net;
    int n_sample = t->data->n_shape * t->n_chunk, n_in = net->n_in;
    t->unit = CR_PUSH_RAW(arena, double, (size_t)n_sample *ROWS * 3);
    for (int i = 0; i < n_thread; i++) {
        worker *k = &t->worker[i];
        k->x = CR_PUSH(arena, double, SHARD *ROWS *n_in);
        k->g = CR_PUSH(arena, double, SHARD *ROWS *n_in);
        k->g_adj = CR_PUSH(arena, double, SHARD *ROWS *n_in);
        k->x_adj = CR_PUSH(arena, double, SHARD *ROWS *n_in);
        k->phi = CR_PUSH(arena, double, SHARD *ROWS);
        k->phi_adj = CR_PUSH(arena, double, SHARD *ROWS);
        k->work = CR_PUSH_RAW(arena, double, cri_skip_net_work(net, SHARD * ROWS));
    }
    if (cri_arena_has_failed(arena)) {
        return false;
    }
    for (int i = 0; i < n_sample; i++) {
        fill_sample(t, seed, i, t->unit + (size_t)i * ROWS * 3);
    }
    return true;
}

// the largest slope over the box and a little beyond, at every code, and a tenth more
static double measure_slope(const cri_shape_space *s, cri_random *stream) {
    cri_neural neural = {&s->net, s->w, s->centre, s->scale};
    double most = 1.0;
    for (int i = 0; i < s->n_shape; i++) {
        for (int first = 0; first < SLOPE_POINTS; first += 64) {
            double x[3 * 64], phi[64], g[3 * 64];
            for (int j = 0; j < 3 * 64; j++) {
                double half = 0.5 * (s->upper[j % 3] - s->lower[j % 3]),
                       mid = s->lower[j % 3] + half;
                x[j] = cri_random_uniform(stream, mid - 1.5 * half, mid + 1.5 * half);
            }
            cri_neural_many(&neural, s->code + i * s->n_code, 64, x, phi, g);
            for (int j = 0; j < 64; j++) {
                most = fmax(most, cri_v3_norm(cri_v3_load(g + 3 * (size_t)j)));
            }
        }
    }
    return 1.1 * most;
}

static uint64_t problem_of(const cri_shape_data *data, const cri_shape_training *o) {
    size_t n = 3 * (size_t)data->n_shape * (size_t)data->n_point;
    const int shape[4] = {o->n_hidden, o->width, o->n_code, data->n_shape};
    uint64_t hash = cri_hash(CRI_HASH_START, shape, sizeof shape);
    hash = cri_hash(hash, data->point, sizeof *data->point * n);
    return cri_hash(hash, data->normal, sizeof *data->normal * n);
}

static cr_status run(trainee *t, const cri_shape_training *o, double *w, cri_train_result *result,
                     cr_error *err) {
    int n_code = t->data->n_shape * o->n_code;
    const cri_adam_group group[2] = {{.first = 0, .n = t->n_weight, .rate = 1.0},
                                     {.first = t->n_weight, .n = n_code, .rate = 1.0}};
    cri_train_task task = {.n_w = t->n_weight + n_code,
                           .n_group = o->n_code > 0 ? 2 : 1,
                           .group = group,
                           .n_sample = t->data->n_shape * t->n_chunk,
                           .loss = shard_loss,
                           .context = t,
                           .problem = problem_of(t->data, o)};
    cri_train_options options = cri_train_options_default();
    options.n_epoch = o->n_epoch;
    options.batch = BATCH;
    options.shard = SHARD;
    options.n_thread = o->n_thread < THREAD_MOST ? o->n_thread : THREAD_MOST;
    options.seed = o->seed;
    options.rate = (cri_rate){CRI_RATE_LINEAR, o->rate, 0.4};
    options.clip = 10.0; // rare batches at the start have slopes of a thousand
    options.checkpoint = o->checkpoint;
    options.save_every = 10;
    options.progress = o->progress;
    CR_TRY(cri_train(&task, &options, w, NULL, result, err));
    return result->stop == CRI_TRAIN_DIVERGED || result->stop == CRI_TRAIN_UNSAVED ? CR_ERR_NUMERIC
                                                                                   : CR_OK;
}

cr_status cri_shape_train(const cri_shape_data *data, const cri_shape_training *o, cr_arena *arena,
                          cri_shape_space *out, cri_train_result *result, cr_error *err) {
    CR_ASSERT(data->n_shape >= 1 && data->n_point >= CRI_SHAPE_CHUNK &&
              data->n_point % CRI_SHAPE_CHUNK == 0);
    *out = (cri_shape_space){
        .net = {3 + o->n_code, o->n_hidden, o->width, o->n_hidden / 2, beta, NULL},
        .n_code = o->n_code,
        .n_shape = data->n_shape};
    const char *fault = cri_skip_net_fault(&out->net);
    if (fault || o->n_code > CRI_CODE_MOST || o->n_hidden * o->width > CRI_NEURAL_UNITS) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "a net of %d layers of %d and codes of %d: %s",
                        o->n_hidden, o->width, o->n_code,
                        fault ? fault : "2048 units and codes of 32 are possible");
    }
    trainee t = {.data = data,
                 .space = out,
                 .n_weight = cri_skip_net_n_weight(&out->net),
                 .n_chunk = data->n_point / CRI_SHAPE_CHUNK};
    int n_thread = o->n_thread < THREAD_MOST ? o->n_thread : THREAD_MOST;
    double *w = CR_PUSH(arena, double, t.n_weight + data->n_shape * o->n_code);
    set_frame(data, out);
    if (!w || !cri_shape_space_push(arena, out) || !push_memory(&t, n_thread, o->seed, arena)) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a space of %d shapes", data->n_shape);
    }
    cri_random stream = cri_random_of(o->seed, 0);
    cri_skip_net_start(&out->net, 1.0, &stream, w);
    CR_TRY(run(&t, o, w, result, err));
    memcpy(out->w, w, sizeof *w * (size_t)t.n_weight);
    memcpy(out->code, w + t.n_weight, sizeof *w * (size_t)(data->n_shape * o->n_code));
    memcpy(out->name, data->name, sizeof *data->name * (size_t)data->n_shape);
    out->slope = measure_slope(out, &stream);
    return CR_OK;
}
