// SPDX-License-Identifier: MIT
//
// Losses, per sample: cross entropy of the softmax, -log p_label, for classifiers; the mean square
// of the standardised error for regressors, which learn sliding states alone (the rival, and nets
// with restitution: all that push). For recordings, which have outliers, the square of an error d
// becomes 2 w^2 (sqrt(1 + (d/w)^2) - 1), linear beyond the width w.
//
// Inputs and targets are standardised, and the nets then take the standardisation in:
//
//   W_1 (x - m)/d + b_1 = (W_1/d) x + (b_1 - W_1 m/d),      d_y (W_L a + b_L) + m_y
//
// An input that hardly varies (the shape of a body's only face) keeps at least 0.01 as its width.

#include "learned/augmented.h"

#include "base/base.h"
#include "base/nn/mlp.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_OUT = CRI_GROUND_LEAD + 1, N_WORKER = 16 };

// of an input's width
static const double least_width = 0.01;

/// One net and its samples, standardised.
typedef struct task {
    const cri_mlp *net;
    bool is_classifier;
    double robust;
    int n, n_in, n_out;
    int n_epoch;
    double *x;      // (n, n_in)
    double *y;      // (n, n_out), regressors
    double *weight; // (n) of their losses
    int *label;
    double mean[CRI_GROUND_INPUTS], width[CRI_GROUND_INPUTS]; // of inputs
    double mean_y[MOST_OUT], width_y[MOST_OUT];
    cr_arena *work[N_WORKER];
} task;

// contacts of recordings of which one can be held out
enum { N_LEAST = 10 };

cri_augmented_options cri_augmented_options_default(void) {
    return (cri_augmented_options){.sampling = cri_ground_sampling_default(),
                                   .n_sample = {15000, 35000, 40000, 160000, 80000},
                                   .n_hidden = 3,
                                   .width = {32, 32, 16},
                                   .n_epoch = 300,
                                   .n_epoch_space = 75,
                                   .batch = 256,
                                   .n_thread = 1,
                                   .rate = 3e-3};
}

cri_augmented_options cri_augmented_options_recorded(const cri_ground_record *record) {
    cri_augmented_options o = cri_augmented_options_default();
    o.record = record;
    o.n_epoch = 600;
    o.robust = 0.1;
    o.l2 = 2e-4;
    return o;
}

// ---- standard numbers --------------------------------------------------------------------------

static void standardise(int n, int n_column, double least, double *x, double *mean, double *width) {
    for (int j = 0; j < n_column; j++) {
        double sum = 0.0, square = 0.0;
        int n_known = 0;
        for (int i = 0; i < n; i++) {
            bool is_known = !isnan(x[i * n_column + j]);
            sum += is_known ? x[i * n_column + j] : 0.0;
            n_known += is_known;
        }
        mean[j] = n_known > 0 ? sum / n_known : 0.0;
        for (int i = 0; i < n; i++) {
            double d = x[i * n_column + j] - mean[j];
            square += isnan(d) ? 0.0 : d * d;
        }
        width[j] = fmax(n_known > 0 ? sqrt(square / n_known) : 1.0, least);
        for (int i = 0; i < n; i++) {
            x[i * n_column + j] = (x[i * n_column + j] - mean[j]) / width[j];
        }
    }
}

static void take_in(const task *t, double *w) {
    const cri_mlp *net = t->net;
    double *W = w + cri_mlp_place(net, 1, false), *b = w + cri_mlp_place(net, 1, true);
    for (int i = 0; i < net->width[1]; i++) {
        for (int j = 0; j < t->n_in; j++) {
            W[i * t->n_in + j] /= t->width[j];
            b[i] -= W[i * t->n_in + j] * t->mean[j];
        }
    }
    int last = net->n_layer, n = net->width[last - 1];
    W = w + cri_mlp_place(net, last, false);
    b = w + cri_mlp_place(net, last, true);
    for (int i = 0; i < t->n_out && !t->is_classifier; i++) {
        for (int j = 0; j < n; j++) {
            W[i * n + j] *= t->width_y[i];
        }
        b[i] = b[i] * t->width_y[i] + t->mean_y[i];
    }
}

// ---- losses ------------------------------------------------------------------------------------

// overwrites out (n_out) by its adjoint; returns the loss
static double cross_entropy(int n_out, int label, double *out) {
    double most = out[0], sum = 0.0, own = out[label];
    for (int j = 1; j < n_out; j++) {
        most = fmax(most, out[j]);
    }
    for (int j = 0; j < n_out; j++) {
        out[j] = exp(out[j] - most);
        sum += out[j];
    }
    for (int j = 0; j < n_out; j++) {
        out[j] = out[j] / sum - (j == label ? 1.0 : 0.0);
    }
    return log(sum) + most - own;
}

// a target that is NaN asks for nothing
static double square(int n_out, const double *y, double width, double *out) {
    double sum = 0.0;
    for (int j = 0; j < n_out; j++) {
        double d = isnan(y[j]) ? 0.0 : out[j] - y[j];
        double root = width > 0.0 ? sqrt(1.0 + d * d / (width * width)) : 1.0;
        sum += (width > 0.0 ? 2.0 * width * width * (root - 1.0) : d * d) / n_out;
        out[j] = 2.0 * d / (root * n_out);
    }
    return sum;
}

static bool loss(void *context, cri_train_shard *shard) {
    const task *t = context;
    cr_arena *work = t->work[shard->worker];
    cri_arena_reset(work);
    double *x = CR_PUSH_RAW(work, double, shard->n * t->n_in);
    double *out = CR_PUSH_RAW(work, double, shard->n * t->n_out);
    if (!x || !out) {
        return false;
    }
    for (int i = 0; i < shard->n; i++) {
        memcpy(x + i * t->n_in, t->x + (size_t)shard->sample[i] * (size_t)t->n_in,
               sizeof *x * (size_t)t->n_in);
    }
    cri_mlp_cache cache;
    if (!cri_mlp_value(t->net, shard->w, shard->n, x, out, &cache, work)) {
        return false;
    }
    for (int i = 0; i < shard->n; i++) {
        int k = shard->sample[i];
        double *o = out + i * t->n_out;
        if (t->is_classifier) {
            shard->loss += cross_entropy(t->n_out, t->label[k], o);
            continue;
        }
        shard->loss +=
            t->weight[k] * square(t->n_out, t->y + (size_t)k * (size_t)t->n_out, t->robust, o);
        for (int j = 0; j < t->n_out; j++) {
            o[j] *= t->weight[k];
        }
    }
    return cri_mlp_value_vjp(t->net, shard->w, &cache, out, NULL, shard->w_adj, work);
}

// ---- training ----------------------------------------------------------------------------------

// samples [0, n_train) that the net learns from
static bool task_begin(const cri_augmented_options *o, const cri_ground_data *data, int n_train,
                       bool is_classifier, const cri_mlp *net, task *t, cr_arena *arena) {
    bool takes_all = is_classifier || o->is_regressed;
    bool is_absolute = o->is_absolute && !is_classifier;
    *t = (task){.net = net, .is_classifier = is_classifier, .n_in = data->n_input};
    t->n_out = net->width[net->n_layer];
    t->n_epoch = data->kind >= CRI_GROUND_SPACE_POINT ? o->n_epoch_space : o->n_epoch;
    t->x = CR_PUSH(arena, double, n_train * t->n_in);
    t->y = CR_PUSH(arena, double, n_train * t->n_out);
    t->label = CR_PUSH(arena, int, n_train);
    t->weight = CR_PUSH(arena, double, n_train);
    for (int k = 0; k < o->n_thread; k++) {
        t->work[k] = cri_arena_create(1 << 18);
    }
    if (cri_arena_has_failed(arena)) {
        return false;
    }
    for (int i = 0; i < n_train; i++) {
        bool is_pushed = data->label[i] == CRI_GROUND_DYNAMIC ||
                         (data->has_restitution && data->label[i] == CRI_GROUND_STATIC);
        if (!takes_all && !is_pushed) {
            continue;
        }
        memcpy(t->x + t->n * t->n_in, data->input + (size_t)i * (size_t)t->n_in,
               sizeof *t->x * (size_t)t->n_in);
        if (!is_classifier) {
            double *y = t->y + t->n * t->n_out;
            memcpy(y, data->impulse + (size_t)i * (size_t)data->n_row,
                   sizeof *y * (size_t)data->n_row);
            // what sticks or leaves has no friction to learn from
            for (int j = 0; !takes_all && j < data->n_row; j++) {
                y[j] = data->label[i] == CRI_GROUND_DYNAMIC ? y[j] : (double)NAN;
            }
            if (t->n_out > data->n_row) {
                y[data->n_row] = data->restitution[i];
            }
        }
        t->weight[t->n] = data->scale[i] * data->scale[i];
        t->label[t->n++] = data->label[i];
    }
    double sum = 0.0;
    for (int i = 0; i < t->n; i++) {
        sum += t->weight[i] / t->n;
    }
    for (int i = 0; i < t->n; i++) {
        t->weight[i] = is_absolute && sum > 0.0 ? t->weight[i] / sum : 1.0;
    }
    if (t->n > 0) {
        standardise(t->n, t->n_in, least_width, t->x, t->mean, t->width);
        if (!is_classifier) {
            standardise(t->n, t->n_out, 1e-9, t->y, t->mean_y, t->width_y);
        }
    }
    return true;
}

static cr_status train_net(const cri_augmented_options *o, task *t, double *w, bool *is_stopped,
                           cr_error *err) {
    int n_w = cri_mlp_n_weight(t->net);
    cri_adam_group all = {.n = n_w, .rate = 1.0, .l2 = o->l2};
    cri_train_task job = {
        .n_w = n_w, .n_group = 1, .group = &all, .n_sample = t->n, .loss = loss, .context = t};
    cri_train_options options = cri_train_options_default();
    options.n_epoch = t->n_epoch;
    // few samples still make several steps an epoch
    options.batch = t->n / 8 < 1 ? 1 : (t->n / 8 < o->batch ? t->n / 8 : o->batch);
    options.shard = options.batch;
    options.n_thread = o->n_thread;
    options.seed = o->sampling.seed;
    options.rate = (cri_rate){CRI_RATE_LINEAR, o->rate, 0.25};
    options.progress = o->progress;
    t->robust = o->robust;
    cri_train_result result;
    CR_TRY(cri_train(&job, &options, w, NULL, &result, err));
    if (result.stop == CRI_TRAIN_DIVERGED) {
        return CR_ERR_NUMERIC;
    }
    *is_stopped = *is_stopped || result.stop == CRI_TRAIN_INTERRUPTED;
    take_in(t, w);
    return CR_OK;
}

static cr_status train_kind(const cri_augmented_options *o, const cri_ground_data *data,
                            cri_ground_nets *nets, double *weights, bool *is_stopped,
                            cr_error *err) {
    int n_train = data->n - data->n / 10;
    cr_status status = CR_OK;
    for (int k = 0; k < 2 && status == CR_OK; k++) {
        int net = 2 * (int)data->kind + k;
        bool is_classifier = k == 0;
        cr_arena *arena = cri_arena_create(1 << 20);
        task t = {0};
        bool is_good =
            arena && task_begin(o, data, n_train, is_classifier, &nets->net[net], &t, arena);
        if (!is_good) {
            status = cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
        } else if (t.n > 0 && !(is_classifier && o->is_regressed)) {
            status = train_net(o, &t, weights + nets->first[net], is_stopped, err);
        }
        for (int i = 0; i < N_WORKER; i++) {
            cri_arena_destroy(t.work[i]);
        }
        cri_arena_destroy(arena);
    }
    return status;
}

static void note_ranges(const cri_ground_data *data, cri_ground_nets *nets) {
    for (int j = 0; j < data->n_input && data->n > 0; j++) {
        double *lower = &nets->lower[data->kind][j], *upper = &nets->upper[data->kind][j];
        *lower = *upper = data->input[j];
        for (int i = 0; i < data->n; i++) {
            *lower = fmin(*lower, data->input[i * data->n_input + j]);
            *upper = fmax(*upper, data->input[i * data->n_input + j]);
        }
    }
}

bool cri_augmented_judge(const cri_ground_nets *nets, const double *weights,
                         const cri_ground_data *data, bool is_regressed, cri_augmented_score *out,
                         cr_arena *work) {
    int net = 2 * (int)data->kind, n_right = 0;
    double error[2] = {0.0, 0.0}, size[2] = {0.0, 0.0}, rebound = 0.0;
    memset(out->confusion, 0, sizeof out->confusion);
    out->n_test = data->n;
    for (int i = 0; i < data->n; i++) {
        cri_arena_mark mark = cri_arena_get_mark(work);
        const double *x = data->input + (size_t)i * (size_t)data->n_input;
        double class[CRI_GROUND_CLASSES], y[MOST_OUT];
        if (!cri_mlp_value(&nets->net[net], weights + nets->first[net], 1, x, class, NULL, work) ||
            !cri_mlp_value(&nets->net[net + 1], weights + nets->first[net + 1], 1, x, y, NULL,
                           work)) {
            return false;
        }
        cri_arena_rewind(work, mark);
        int best = class[1] > class[0] ? 1 : 0;
        best = class[2] > class[best] ? 2 : best;
        out->confusion[data->label[i]][best]++;
        n_right += best == data->label[i];
        if (nets->has_restitution) {
            rebound += fabs(fmin(fmax(y[data->n_row], 0.0), 1.0) - data->restitution[i]) / data->n;
        }
        for (int j = 0; j < data->n_row; j++) {
            if (is_regressed || data->label[i] == CRI_GROUND_DYNAMIC) {
                double right = data->impulse[i * data->n_row + j] * data->scale[i];
                double off = fabs(y[j] * data->scale[i] - right);
                error[1] += off;
                size[1] += fabs(right);
                bool is_tangent = j < cri_ground_tangents(data->kind);
                error[0] += is_tangent ? off : 0.0;
                size[0] += is_tangent ? fabs(right) : 0.0;
            }
        }
    }
    out->rebound = rebound;
    out->accuracy = data->n > 0 ? (double)n_right / data->n : 0.0;
    out->friction = size[0] > 0.0 ? 1.0 - error[0] / size[0] : 0.0;
    out->impulse = size[1] > 0.0 ? 1.0 - error[1] / size[1] : 0.0;
    return true;
}

static cr_status describe(const cr_model *model, cri_ground_nets *nets, cr_error *err) {
    cri_ground_body ground;
    CR_TRY(cri_ground_find(model, &ground, err));
    nets->is_spatial = ground.is_spatial;
    cr_arena *work = cri_arena_create(4096);
    double *p = work ? CR_PUSH(work, double, model->sizes.n_p) : NULL;
    cri_derived d = p ? cri_derived_push(model, work) : (cri_derived){0};
    if (d.block) {
        cr_model_defaults(model, -1, p, NULL, NULL);
        cri_derive(model, p, &d);
        cri_ground_mass(&d, &ground, &nets->mass, nets->inertia);
        cri_ground_other_mass(&d, &ground, &nets->other_mass, &nets->other_inertia);
        cri_ground_shape(model, &d, ground.body, sizeof nets->shape, nets->shape);
        if (ground.other >= 0) {
            cri_ground_shape(model, &d, ground.other, sizeof nets->other_shape, nets->other_shape);
        }
    }
    bool is_good = d.block != NULL;
    cri_arena_destroy(work);
    nets->has_other = ground.other >= 0;
    const char *name[2] = {model->body_name[ground.body], nets->has_other
                                                              ? model->body_name[ground.other]
                                                              : model->geom_name[ground.surface]};
    if (strlen(name[0]) >= sizeof nets->body || strlen(name[1]) >= sizeof nets->surface) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "the name %.60s is too long; take fewer than 64 "
                        "bytes for body and surface",
                        strlen(name[0]) >= sizeof nets->body ? name[0] : name[1]);
    }
    memcpy(nets->body, name[0], strlen(name[0]) + 1);
    memcpy(nets->surface, name[1], strlen(name[1]) + 1);
    return is_good ? CR_OK : cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
}

// samples of both kinds, and whether things rebound
static cr_status gather(const cr_model *model, const cri_augmented_options *o, bool is_spatial,
                        cri_ground_data data[CRI_GROUND_KINDS], cr_arena *arena, cr_error *err) {
    int n = 0;
    for (int k = 0; k < CRI_GROUND_KINDS; k++) {
        cri_ground_kind kind = (cri_ground_kind)k;
        data[k] = (cri_ground_data){.kind = kind};
        if (!cri_ground_has(is_spatial, k)) {
            continue;
        }
        CR_TRY(o->record ? cri_ground_take_record(model, kind, o->record, &data[k], arena, err)
                         : cri_ground_sample(model, kind, o->n_sample[k], &o->sampling, &data[k],
                                             arena, err));
        n += data[k].n;
    }
    if (n == 0) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "there is no contact in the recordings; check heights and units");
    }
    if (o->record && n < N_LEAST) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "there are %d contacts in the recordings, and at least %d are needed; "
                        "record more throws",
                        n, N_LEAST);
    }
    return CR_OK;
}

// trains the nets of one kind and judges them by the last tenth of its samples
static cr_status train_and_judge(const cri_augmented_options *o, const cri_ground_data *data,
                                 cri_ground_nets *nets, double *weights, cri_augmented_score *score,
                                 cr_arena *arena, cr_error *err) {
    note_ranges(data, nets);
    bool is_stopped = false;
    CR_TRY(train_kind(o, data, nets, weights, &is_stopped, err));
    int n_train = data->n - data->n / 10;
    cri_ground_data rest = *data;
    rest.n = data->n - n_train;
    rest.input += n_train * data->n_input;
    rest.impulse += n_train * data->n_row;
    rest.scale += n_train;
    rest.restitution += n_train;
    rest.label += n_train;
    *score = (cri_augmented_score){.n_train = n_train, .is_interrupted = is_stopped};
    return cri_augmented_judge(nets, weights, &rest, o->is_regressed, score, arena)
               ? CR_OK
               : cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
}

cr_status cri_augmented_train(const cr_model *model, const cri_augmented_options *options,
                              cri_ground_nets *nets, cri_augmented_score score[CRI_GROUND_KINDS],
                              cr_arena *arena, cr_error *err) {
    CR_ASSERT(model && options && nets && score && arena && options->n_thread <= N_WORKER);
    cri_ground_data data[CRI_GROUND_KINDS];
    *nets = (cri_ground_nets){0};
    CR_TRY(describe(model, nets, err));
    nets->is_regressed = options->is_regressed;
    CR_TRY(gather(model, options, nets->is_spatial, data, arena, err));
    (void)snprintf(nets->law, sizeof nets->law, "%s",
                   options->record ? "recorded"
                                   : cri_ground_label_law(&options->sampling, nets->is_spatial));
    for (int k = 0; k < CRI_GROUND_KINDS; k++) {
        nets->has_restitution = nets->has_restitution || data[k].has_restitution;
    }
    for (int k = 0; k < CRI_GROUND_KINDS; k++) {
        data[k].has_restitution = nets->has_restitution;
    }
    nets->has_applied = options->sampling.mu_static > 0.0 && !options->record;
    if (nets->has_applied && (nets->is_spatial || nets->has_other)) {
        return cri_fail(err, CR_ERR_UNSUPPORTED, 0,
                        "body %.40s: forces as inputs are there for one body in a plane, over a "
                        "fixed surface",
                        nets->body);
    }
    nets->has_place = options->record && options->record->has_place;
    if (nets->has_place && (nets->is_spatial || nets->has_other)) {
        return cri_fail(err, CR_ERR_UNSUPPORTED, 0,
                        "body %.40s: its place is an input for one body in a plane, over a fixed "
                        "surface",
                        nets->body);
    }
    cri_ground_nets_shape(options->n_hidden, options->width, nets);
    double *weights = CR_PUSH(arena, double, nets->n_weight);
    cri_random stream = cri_random_of(options->sampling.seed, 100);
    bool is_good = weights != NULL;
    for (int i = 0; i < CRI_GROUND_NETS && is_good; i++) {
        is_good =
            !cri_ground_has_net(nets, i) || cri_mlp_start(&nets->net[i], CRI_START_GLOROT, &stream,
                                                          weights + nets->first[i], arena);
    }
    if (!is_good) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
    }
    nets->weights = weights;
    for (int k = 0; k < CRI_GROUND_KINDS; k++) {
        score[k] = (cri_augmented_score){0};
        if (!cri_ground_has(nets->is_spatial, k)) {
            continue;
        }
        CR_TRY(train_and_judge(options, &data[k], nets, weights, &score[k], arena, err));
    }
    return CR_OK;
}
