// SPDX-License-Identifier: MIT
//
// A small net learns a parabola: on one thread and two, interrupted and gone on with, with samples
// that fail and with a loss that does. Needs WRAP.

#include "learned/trainer.h"

#include "alloc_wrap.h"
#include "base/nn/mlp.h"
#include "cr_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_SAMPLE = 100, N_W = 49, SHARD = 8, WORKERS = 2 };

static const cri_mlp net = {.n_layer = 2, .width = {1, 16, 1}, .act = CRI_ACT_TANH};

/// y = x^2 at points of [-1, 1].
typedef struct parabola {
    double x[N_SAMPLE];
    cr_arena *arena[WORKERS];
    int fail_every;   // samples whose index divides by it fail, 0: none
    long long nan_at; // call whose loss is NaN, 0: none
    long long n_call; // one worker alone
    int n_validated;
} parabola;

static bool parabola_loss(void *context, cri_train_shard *s) {
    parabola *p = context;
    cr_arena *arena = p->arena[s->worker];
    cri_arena_reset(arena);
    double x[SHARD], out[SHARD], out_adj[SHARD];
    int n = 0;
    for (int i = 0; i < s->n; i++) {
        if (p->fail_every > 0 && s->sample[i] % p->fail_every == 0) {
            s->n_dropped++;
        } else {
            x[n++] = p->x[s->sample[i]];
        }
    }
    cri_mlp_cache cache;
    if (!cri_mlp_value(&net, s->w, n, x, out, &cache, arena)) {
        return false;
    }
    for (int i = 0; i < n; i++) {
        double error = out[i] - x[i] * x[i];
        s->loss += error * error;
        out_adj[i] = 2.0 * error;
    }
    if (p->nan_at > 0 && ++p->n_call == p->nan_at) {
        s->loss = NAN;
    }
    return cri_mlp_value_vjp(&net, s->w, &cache, out_adj, NULL, s->w_adj, arena);
}

// mean square error between the points
static double parabola_score(void *context, const double *w) {
    parabola *p = context;
    p->n_validated++;
    double sum = 0.0;
    for (int i = 0; i < 50; i++) {
        double x = -0.99 + 0.04 * i, y = 0.0;
        cri_arena_reset(p->arena[0]);
        if (!cri_mlp_value(&net, w, 1, &x, &y, NULL, p->arena[0])) {
            return NAN;
        }
        sum += (y - x * x) * (y - x * x) / 50.0;
    }
    return sum;
}

static void begin(parabola *p, double *w) {
    *p = (parabola){0};
    for (int i = 0; i < N_SAMPLE; i++) {
        p->x[i] = -1.0 + 2.0 * i / (N_SAMPLE - 1);
    }
    for (int i = 0; i < WORKERS; i++) {
        p->arena[i] = cri_arena_create(1 << 16);
    }
    cri_random stream = cri_random_of(5, 0);
    CHECK(cri_mlp_start(&net, CRI_START_FAN_IN, &stream, w, p->arena[0]));
    CHECK_INT(cri_mlp_n_weight(&net), N_W);
}

static void end(parabola *p) {
    for (int i = 0; i < WORKERS; i++) {
        cri_arena_destroy(p->arena[i]);
    }
}

static const cri_adam_group all = {.first = 0, .n = N_W, .rate = 1.0};

static cri_train_task task_of(parabola *p) {
    return (cri_train_task){.n_w = N_W,
                            .n_group = 1,
                            .group = &all,
                            .n_sample = N_SAMPLE,
                            .loss = parabola_loss,
                            .validate = parabola_score,
                            .context = p};
}

static cri_train_options options_of(int n_epoch) {
    cri_train_options o = cri_train_options_default();
    o.n_epoch = n_epoch;
    o.shard = SHARD;
    o.rate = (cri_rate){.kind = CRI_RATE_LINEAR, .rate = 0.02, .begin = 0.5};
    return o;
}

TEST(a_net_learns_a_parabola) {
    parabola p;
    double w[N_W], history[2 * 400];
    begin(&p, w);
    cri_train_task task = task_of(&p);
    cri_train_options o = options_of(400);
    cri_train_result out;
    CHECK_INT(cri_train(&task, &o, w, history, &out, NULL), CR_OK);
    CHECK_INT(out.stop, CRI_TRAIN_DONE);
    CHECK_INT(out.n_epoch, 400);
    CHECK_INT(out.n_step, 400 * 4);
    CHECK_INT(out.n_dropped, 0);
    CHECK_INT(p.n_validated, 40);
    CHECK(history[0] > 0.05 && isnan(history[1]) && isfinite(history[19]));
    CHECK(out.loss == history[2 * 399] && out.loss < 1e-4); // one per cent of y
    CHECK(parabola_score(&p, w) < 1e-4 && out.best <= parabola_score(&p, w));
    end(&p);
}

TEST(the_best_by_validation_is_kept_when_asked_for) {
    parabola p;
    double w[N_W];
    begin(&p, w);
    cri_train_task task = task_of(&p);
    cri_train_options o = options_of(60);
    o.is_best_kept = true;
    o.validate_every = 7;
    o.rate = (cri_rate){.kind = CRI_RATE_CONSTANT, .rate = 0.1};
    cri_train_result out;
    CHECK_INT(cri_train(&task, &o, w, NULL, &out, NULL), CR_OK);
    CHECK(parabola_score(&p, w) == out.best);
    CHECK(out.best_epoch % 7 == 0 || out.best_epoch == 60);
    end(&p);
}

static void train(parabola *p, const cri_train_options *o, double *w, double *history) {
    cri_train_task task = task_of(p);
    cri_train_result out;
    CHECK_INT(cri_train(&task, o, w, history, &out, NULL), CR_OK);
    CHECK_INT(out.stop, CRI_TRAIN_DONE);
}

TEST(one_thread_and_two_give_the_same_bits) {
    parabola p;
    double w[2][N_W], history[2][2 * 20];
    for (int k = 0; k < 2; k++) {
        begin(&p, w[k]);
        cri_train_options o = options_of(20);
        o.n_thread = 1 + k;
        train(&p, &o, w[k], history[k]);
        end(&p);
    }
    CHECK(memcmp(w[0], w[1], sizeof w[0]) == 0);
    CHECK(memcmp(history[0], history[1], sizeof history[0]) == 0);
}

TEST(seeds_differ) {
    parabola p;
    double w[2][N_W];
    for (int k = 0; k < 2; k++) {
        begin(&p, w[k]);
        cri_train_options o = options_of(3);
        o.seed = (uint64_t)k;
        train(&p, &o, w[k], NULL);
        end(&p);
    }
    CHECK(memcmp(w[0], w[1], sizeof w[0]) != 0);
}

// stops at the batch that context points to
static bool stop_at(void *context, const cri_progress_state *state) {
    const long long *at = context;
    CHECK_TEXT(state->what, "batch");
    CHECK_INT(state->total, 20 * 4);
    return state->done < *at;
}

TEST(an_interrupted_training_goes_on_to_the_same_bits) {
    static const char *const path = "trainer_test.checkpoint";
    parabola p;
    double whole[N_W], whole_history[2 * 20], w[N_W], history[2 * 20];
    cri_train_options o = options_of(20);
    o.validate_every = 3;
    o.is_best_kept = true;
    begin(&p, whole);
    train(&p, &o, whole, whole_history);
    end(&p);

    remove(path);
    o.checkpoint = path;
    // within the first epoch, at the start of one, within one
    static const long long stops[3] = {2, 8, 47};
    begin(&p, w);
    cri_train_task task = task_of(&p);
    for (int k = 0; k < 3; k++) {
        long long at = stops[k];
        o.progress = &(cri_progress){stop_at, &at};
        double thrown_away[N_W]; // what stands in w at the start is of no account later
        memcpy(thrown_away, w, sizeof w);
        cri_train_result out;
        CHECK_INT(cri_train(&task, &o, thrown_away, history, &out, NULL), CR_OK);
        CHECK_INT(out.stop, CRI_TRAIN_INTERRUPTED);
        CHECK_INT(out.n_step, stops[k]);
    }
    o.progress = NULL;
    train(&p, &o, w, history);
    CHECK(memcmp(w, whole, sizeof w) == 0);
    CHECK(memcmp(history, whole_history, sizeof history) == 0);

    // what is done is done, and another problem is refused
    train(&p, &o, w, history);
    CHECK(memcmp(w, whole, sizeof w) == 0);
    cri_train_result out;
    cr_error err = {0};
    o.seed = 9;
    CHECK_INT(cri_train(&task, &o, w, NULL, &out, &err), CR_ERR_ARGUMENT);
    CHECK(strstr(err.text, "another"));
    end(&p);
    remove(path);
}

TEST(a_checkpoint_that_cannot_be_written_is_told) {
    parabola p;
    double w[N_W];
    begin(&p, w);
    cri_train_task task = task_of(&p);
    cri_train_options o = options_of(20);
    o.save_every = 2;
    o.checkpoint = "no such folder/trainer_test.checkpoint";
    cri_train_result out;
    cr_error err = {0};
    CHECK_INT(cri_train(&task, &o, w, NULL, &out, &err), CR_OK);
    CHECK_INT(out.stop, CRI_TRAIN_UNSAVED);
    CHECK_INT(out.n_epoch, 2);
    CHECK(strstr(err.text, "no such folder"));
    end(&p);
}

TEST(samples_that_fail_are_left_out_and_counted) {
    parabola p;
    double w[N_W];
    begin(&p, w);
    p.fail_every = 3; // 34 of 100
    cri_train_task task = task_of(&p);
    cri_train_options o = options_of(400);
    cri_train_result out;
    CHECK_INT(cri_train(&task, &o, w, NULL, &out, NULL), CR_OK);
    CHECK_INT(out.n_dropped, 34 * 400);
    CHECK_CLOSE(out.loss, 0.0, 1e-4, 0.0);
    CHECK_CLOSE(parabola_score(&p, w), 0.0, 1e-4, 0.0);
    end(&p);
}

TEST(when_every_sample_fails_training_says_so) {
    parabola p;
    double w[N_W], before[N_W];
    begin(&p, w);
    memcpy(before, w, sizeof w);
    p.fail_every = 1;
    cri_train_task task = task_of(&p);
    cri_train_options o = options_of(10);
    cri_train_result out;
    cr_error err = {0};
    CHECK_INT(cri_train(&task, &o, w, NULL, &out, &err), CR_OK);
    CHECK_INT(out.stop, CRI_TRAIN_DIVERGED);
    CHECK(strstr(err.text, "every sample"));
    CHECK(memcmp(w, before, sizeof w) == 0);
    end(&p);
}

TEST(a_loss_that_is_no_number_ends_training_with_the_best_weights) {
    parabola p;
    double w[N_W];
    begin(&p, w);
    p.nan_at = 13 * 15 + 7; // calls of an epoch: 13; in epoch 16
    cri_train_task task = task_of(&p);
    cri_train_options o = options_of(40);
    cri_train_result out;
    cr_error err = {0};
    CHECK_INT(cri_train(&task, &o, w, NULL, &out, &err), CR_OK);
    CHECK_INT(out.stop, CRI_TRAIN_DIVERGED);
    CHECK_INT(out.n_epoch, 15);
    CHECK_INT(out.best_epoch, 10);
    CHECK(parabola_score(&p, w) == out.best);
    CHECK(strstr(err.text, "epoch 16, batch 2") && strstr(err.text, "epoch 10 are kept"));
    end(&p);
}

// heap calls at the start of epoch 2 and at the end
static bool count_calls(void *context, const cri_progress_state *state) {
    long *count = context;
    if (state->done == 4) {
        count[0] = cr_alloc_count();
    }
    count[1] = cr_alloc_count();
    return true;
}

TEST(after_the_first_epoch_no_memory_is_asked_for) {
    parabola p;
    double w[N_W];
    long count[2] = {0, 0};
    begin(&p, w);
    cri_train_options o = options_of(10);
    o.progress = &(cri_progress){count_calls, count};
    train(&p, &o, w, NULL);
    CHECK(count[0] > 0);
    CHECK_INT(count[0], count[1]);
    end(&p);
}

TEST(lack_of_memory_is_told) {
    for (long k = 1;; k++) {
        parabola p;
        double w[N_W];
        begin(&p, w);
        cri_train_task task = task_of(&p);
        cri_train_options o = options_of(2);
        cri_train_result out;
        cr_alloc_fail_at(k);
        cr_status status = cri_train(&task, &o, w, NULL, &out, NULL);
        bool has_failed = cr_alloc_has_failed();
        cr_alloc_fail_at(0);
        end(&p);
        CHECK_INT(status, has_failed ? CR_ERR_MEMORY : CR_OK);
        if (!has_failed) {
            break;
        }
    }
}

CR_TEST_MAIN(a_net_learns_a_parabola, the_best_by_validation_is_kept_when_asked_for,
             one_thread_and_two_give_the_same_bits, seeds_differ,
             an_interrupted_training_goes_on_to_the_same_bits,
             a_checkpoint_that_cannot_be_written_is_told,
             samples_that_fail_are_left_out_and_counted, when_every_sample_fails_training_says_so,
             a_loss_that_is_no_number_ends_training_with_the_best_weights,
             after_the_first_epoch_no_memory_is_asked_for, lack_of_memory_is_told)
