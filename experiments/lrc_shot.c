// SPDX-License-Identifier: MIT
//
// Random targets of billiards that can be reached: where a shot drawn from the seed puts two balls,
// drawn as well among those that it moves by more than a diameter. Without a shot none goes that
// far. The search is not told the shot.
//
// Place across 2.2 +- 0.3 m, speed across +- 0.3 m/s, along -4 to -2 m/s over 4 s; a shorter run
// has a faster shot. A shot that moves fewer than two balls so far is drawn again.

#include "lrc_task.h"

#include "base/random.h"

#include <math.h>
#include <string.h>

enum { N_BALL = 15, N_SHOT_MOST = 30 };

// of a ball, m
#define DIAMETER 1.0

// s, to which the speeds belong
#define SPAN 4.0

static const char *const ball[N_BALL] = {"b00:0,0,0", "b10:0,0,0", "b11:0,0,0", "b20:0,0,0",
                                         "b21:0,0,0", "b22:0,0,0", "b30:0,0,0", "b31:0,0,0",
                                         "b32:0,0,0", "b33:0,0,0", "b40:0,0,0", "b41:0,0,0",
                                         "b42:0,0,0", "b43:0,0,0", "b44:0,0,0"};

static void put(const lrc_run *r, const char *name, double value, double *x) {
    int i = cr_model_find(r->model, CR_VECTOR_X, name, NULL);
    CR_ASSERT(i >= 0);
    x[i] = value;
}

/// Plays a shot from the first state; x becomes the last.
static cr_status play(const lrc_run *r, cri_random *draw, double *x, cr_error *err) {
    cr_sizes sizes = cr_model_sizes(r->model);
    double haste = SPAN / (r->n_step * r->dt);
    cr_sim_options options = cr_sim_options_default(r->model);
    options.use_gradient = false;
    memcpy(x, r->x, (size_t)sizes.n_x * sizeof *x);
    put(r, "cue/qpos[0]", cri_random_uniform(draw, 1.9, 2.5), x);
    put(r, "cue/qvel[0]", haste * cri_random_uniform(draw, -0.3, 0.3), x);
    put(r, "cue/qvel[1]", haste * cri_random_uniform(draw, -4.0, -2.0), x);
    cr_sim *sim = NULL;
    CR_TRY(cr_sim_create(r->model, &options, &sim, err));
    cr_status status = CR_OK;
    for (int k = 0; k < r->n_step && status == CR_OK; k++) {
        status = cr_sim_step(sim, r->dt, x, r->u, x, err);
    }
    cr_sim_destroy(sim);
    return status;
}

/// The balls that are far from where they were; returns how many.
static int moved(const lrc_run *r, const cri_target *all, const double *x, int far[N_BALL]) {
    int n = 0;
    for (int i = 0; i < N_BALL; i++) {
        cri_vec3 from = cri_target_place(&all[i], r->x), to = cri_target_place(&all[i], x);
        if (cri_v3_norm(cri_v3_sub(to, from)) > DIAMETER) {
            far[n++] = i;
        }
    }
    return n;
}

cr_status lrc_shot_targets(lrc_run *r, cr_error *err) {
    cri_random draw = cri_random_of(r->seed, 0x73686f74u);
    int far[N_BALL], n_far = 0;
    cri_target *all = CR_PUSH(r->arena, cri_target, N_BALL);
    double *x = CR_PUSH(r->arena, double, cr_model_sizes(r->model).n_x);
    if (!all || !x) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a task");
    }
    for (int i = 0; i < N_BALL; i++) {
        CR_TRY(cri_target_parse(r->model, ball[i], &all[i], err));
    }
    for (int k = 0; k < N_SHOT_MOST && n_far < 2; k++) {
        CR_TRY(play(r, &draw, x, err));
        n_far = moved(r, all, x, far);
    }
    if (n_far < 2) {
        return cri_fail(err, CR_ERR_NUMERIC, 0, "no shot of %d moves two balls by %g m",
                        N_SHOT_MOST, DIAMETER);
    }
    for (r->n_target = 0; r->n_target < 2; r->n_target++) {
        int pick = cri_random_whole(&draw, 0, n_far - 1);
        cri_target *t = &r->target[r->n_target];
        *t = all[far[pick]];
        cri_v3_store(cri_target_place(t, x), t->point);
        t->order = r->n_target;
        t->radius = r->task->radius;
        t->has_time = true;
        t->time = r->n_step * r->dt;
        far[pick] = far[--n_far];
    }
    return CR_OK;
}
