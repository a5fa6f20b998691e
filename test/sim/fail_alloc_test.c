// SPDX-License-Identifier: MIT
//
// The simulator when the heap gives out: the k-th allocation fails, for every k from the scene's
// text to the last gradient. The call says CR_ERR_MEMORY and leaves its outputs untouched; called
// again it gives the bits of an undisturbed run; nothing leaks. Needs WRAP.

#include "alloc_wrap.h"
#include "cr_test.h"

#include "carom/carom.h"

#include <stdlib.h>
#include <string.h>

enum { N_STEP = 12, MAX_X = 26, MAX_P = 64, MAX_U = 12, MAX_TANGENT = 24, N_ITEM = 3 };

// a box that lands on four corners and slides into a ball: chained arenas, an island of five
// contacts
static const char scene[] =
    "<mujoco><default><geom friction='0.5'/></default><custom>"
    "<numeric name='carom:restitution:floor' data='0.4'/></custom><worldbody>"
    "<geom name='floor' type='plane' size='9 9 1'/>"
    "<body name='box'><freejoint/><geom name='box' type='box' size='0.1 0.08 0.05' contype='2'"
    " conaffinity='1'/></body>"
    "<body name='ball'><freejoint/><geom name='ball' size='0.05' contype='4' "
    "conaffinity='1'/></body>"
    "</worldbody><keyframe><key qpos='0 0 0.06 1 0 0 0 0.3 0 0.05 1 0 0 0' "
    "qvel='0.5 0 -0.5 0 0 0 0.2 0 0 0 0 1'/></keyframe></mujoco>";

static const double dt = 0.01;

/// Everything that the calls write.
typedef struct outputs {
    double path[(N_STEP + 1) * MAX_X], end[MAX_X], step[MAX_X];
    double x0_adj[MAX_X], u_adj[MAX_U], p_adj[MAX_P];
    double x_adj[MAX_X], step_u_adj[MAX_U], step_p_adj[MAX_P], tan[3 * MAX_TANGENT];
    double batch_end[N_ITEM * MAX_X], batch_adj[N_ITEM * MAX_X], batch_p_adj[MAX_P];
} outputs;

/// One run through the interface. Calls that fail are made once more.
typedef struct session {
    cr_model *model;
    cr_sim *sim;
    double p[MAX_P], x[MAX_X], seed[MAX_X], tan[3 * MAX_TANGENT];
    outputs out;
    outputs before;
    int n_failed;
} session;

static void session_begin(session *s) {
    memset(s, 0, sizeof *s);
    double *all = (double *)&s->out;
    for (size_t i = 0; i < sizeof s->out / sizeof *all; i++) {
        all[i] = 0.5 + (double)(i % 7);
    }
    for (int i = 0; i < MAX_X; i++) {
        s->seed[i] = ((7 * i) % 11 - 5) / 10.0;
    }
    for (int i = 0; i < 3 * MAX_TANGENT; i++) {
        s->tan[i] = ((5 * i) % 13 - 6) / 10.0;
    }
    s->before = s->out;
}

static void session_end(session *s) {
    cr_sim_destroy(s->sim);
    cr_model_destroy(s->model);
}

// after a call: true when it has failed and is to be made again
static bool has_to_repeat(session *s, const char *what, cr_status status, const cr_error *err) {
    if (status == CR_OK) {
        s->before = s->out;
        return false;
    }
    if (status != CR_ERR_MEMORY || err->status != CR_ERR_MEMORY || err->text[0] == '\0') {
        cr_test_fail("%s: %s: %s", what, cr_status_text(status), err->text);
    }
    if (memcmp(&s->before, &s->out, sizeof s->out) != 0) {
        cr_test_fail("%s: outputs of a failed call are touched", what);
        s->out = s->before;
    }
    if (s->n_failed++ > 0) {
        fail_msg("%s fails again", what);
    }
    return true;
}

static void open_sim(session *s) {
    cr_error err = {0};
    while (has_to_repeat(s, "parse", cr_model_parse(scene, strlen(scene), "scene", &s->model, &err),
                         &err)) {
        CHECK(s->model == NULL);
    }
    cr_model_defaults(s->model, -1, s->p, s->x, NULL);
    cr_sim_options options = cr_sim_options_default(s->model);
    options.checkpoint_every = 4;
    while (has_to_repeat(s, "create", cr_sim_create(s->model, &options, &s->sim, &err), &err)) {
        CHECK(s->sim == NULL);
    }
    while (has_to_repeat(s, "set_params", cr_sim_set_params(s->sim, s->p, &err), &err)) {
    }
}

// x_path holds the steps that were made, also on failure
static cr_status roll(session *s, const cr_rollout *rollout, cr_error *err) {
    cr_status status = cr_sim_rollout(s->sim, rollout, s->x, s->out.path, s->out.end, err);
    memcpy(s->before.path, s->out.path, sizeof s->out.path);
    return status;
}

// a rollout and its adjoint, twice: the second one is longer
static void use_rollouts(session *s) {
    cr_error err = {0};
    outputs *o = &s->out;
    open_sim(s);
    static const double u[MAX_U] = {0.1, 0.2, 0.3};
    for (int n_step = N_STEP / 2; n_step <= N_STEP; n_step += N_STEP / 2) {
        cr_rollout rollout = {.n_step = n_step, .dt = &dt, .n_dt = 1, .u = u, .n_u_row = 1};
        cr_seed seed[] = {{.step = 2, .x_adj = s->seed}, {.step = n_step, .x_adj = s->seed}};
        while (has_to_repeat(s, "rollout", roll(s, &rollout, &err), &err)) {
        }
        while (has_to_repeat(
            s, "rollout_vjp",
            cr_sim_rollout_vjp(s->sim, 2, seed, o->x0_adj, o->u_adj, o->p_adj, &err), &err)) {
        }
    }
}

static void pull_step(session *s) {
    cr_error err = {0};
    outputs *o = &s->out;
    while (has_to_repeat(
        s, "step_vjp",
        cr_sim_step_vjp(s->sim, s->seed, o->x_adj, o->step_u_adj, o->step_p_adj, &err), &err)) {
    }
}

static void push_step(session *s) {
    cr_error err = {0};
    while (has_to_repeat(s, "step_jac",
                         cr_sim_step_jac(s->sim, 3, s->tan, NULL, NULL, s->out.tan, &err), &err)) {
    }
}

static void ask_contacts(session *s) {
    int n;
    bool is_none = !cr_sim_contacts(s->sim, &n);
    CHECK(is_none == (n == 0));
    // none twice: there are none; none once: there was no memory
    s->n_failed += is_none && cr_sim_contacts(s->sim, &n);
}

// single steps with everything that may be asked of them
static void use_steps(session *s) {
    cr_error err = {0};
    open_sim(s);
    for (int k = 0; k < N_STEP; k++) {
        const double *x = k == 0 ? s->x : s->out.path + (k - 1) * MAX_X;
        double *next = s->out.path + k * MAX_X;
        while (has_to_repeat(s, "step", cr_sim_step(s->sim, dt, x, NULL, next, &err), &err)) {
        }
        ask_contacts(s);
        push_step(s);
        pull_step(s);
    }
}

static void use_steps_backwards(session *s) {
    cr_error err = {0};
    open_sim(s);
    for (int k = 0; k < N_STEP; k++) {
        const double *x = k == 0 ? s->x : s->out.path + (k - 1) * MAX_X;
        double *next = s->out.path + k * MAX_X;
        while (has_to_repeat(s, "step", cr_sim_step(s->sim, dt, x, NULL, next, &err), &err)) {
        }
        pull_step(s);
        push_step(s);
    }
}

// failures of items are in their status: the item's rows are then untouched
static bool repair_items(session *s, const cr_status *status) {
    bool is_good = true;
    for (int k = 0; k < N_ITEM; k++) {
        if (status[k] == CR_OK) {
            continue;
        }
        is_good = false;
        CHECK_INT(status[k], CR_ERR_MEMORY);
        size_t at = (size_t)k * (size_t)cr_model_sizes(s->model).n_x;
        size_t n_byte = sizeof(double) * (size_t)cr_model_sizes(s->model).n_x;
        if (memcmp(s->out.batch_adj + at, s->before.batch_adj + at, n_byte) != 0) {
            cr_test_fail("batch: x0_adj of a failed item is touched");
        }
    }
    s->n_failed += !is_good;
    return is_good;
}

static void use_batch(session *s) {
    cr_error err = {0};
    outputs *o = &s->out;
    open_sim(s);
    cr_sizes n = cr_model_sizes(s->model);
    double x0[N_ITEM * MAX_X], seed[N_ITEM * MAX_X];
    cr_status status[N_ITEM] = {CR_OK};
    for (int k = 0; k < N_ITEM; k++) {
        memcpy(x0 + k * n.n_x, s->x, sizeof(double) * (size_t)n.n_x);
        memcpy(seed + k * n.n_x, s->seed, sizeof(double) * (size_t)n.n_x);
        x0[k * n.n_x + n.n_q] += 0.1 * k;
    }
    cr_sim_options options = cr_sim_options_default(s->model);
    cr_batch batch = {.n_item = N_ITEM,
                      .rollout = {.n_step = N_STEP, .dt = &dt, .n_dt = 1},
                      .p = s->p,
                      .x0 = x0,
                      .x_end = o->batch_end,
                      .x_end_adj = seed,
                      .x0_adj = o->batch_adj,
                      .p_adj = o->batch_p_adj,
                      .status = status};
    do {
        outputs start = s->out;
        while (has_to_repeat(s, "batch", cr_batch_rollout(s->model, &options, &batch, 2, &err),
                             &err)) {
        }
        s->before = start;
    } while (!repair_items(s, status));
}

static void fail_every_allocation(void (*use)(session *)) {
    session *reference = malloc(sizeof *reference), *s = malloc(sizeof *s);
    assert_true(reference && s);
    session_begin(reference);
    use(reference);
    session_end(reference);
    CHECK_INT(reference->n_failed, 0);
    long live = cr_alloc_live();
    int n_failed = 0;
    for (long k = 1;; k++) {
        session_begin(s);
        cr_alloc_fail_at(k);
        use(s);
        session_end(s);
        bool has_come = cr_alloc_has_failed();
        cr_alloc_fail_at(0);
        CHECK_INT(cr_alloc_live(), live);
        if (memcmp(&s->out, &reference->out, sizeof s->out) != 0) {
            cr_test_fail("allocation %ld: the run after a failure has other bits", k);
        }
        n_failed += s->n_failed;
        if (!has_come) {
            break;
        }
    }
    // parsing alone takes some
    CHECK(n_failed > 20);
    free(reference);
    free(s);
}

TEST(rollouts_survive_the_failure_of_every_allocation) {
    fail_every_allocation(use_rollouts);
}

TEST(steps_survive_the_failure_of_every_allocation) {
    fail_every_allocation(use_steps);
    fail_every_allocation(use_steps_backwards);
}

TEST(batches_survive_the_failure_of_every_allocation) {
    fail_every_allocation(use_batch);
}

CR_TEST_MAIN(rollouts_survive_the_failure_of_every_allocation,
             steps_survive_the_failure_of_every_allocation,
             batches_survive_the_failure_of_every_allocation)
