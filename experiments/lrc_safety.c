// SPDX-License-Identifier: MIT
//
// Nothing passes through anything: random scenes of three boxes and a plate 4 mm thick, thrown at
// each other at up to 40 m/s, turned and turning, three steps of 0.02 s each; after every step an
// exact test, which knows nothing of the potential, looks for triangles that share a point. And a
// ball that comes at 100 of its sizes a step to a plate as thin as that. Paper 002 asks for it and
// tells no figure.

#include "lrc.h"
#include "lrc_inside.h"
#include "lrc_stage.h"

#include "base/random.h"

#include <math.h>

static void write_throw(lrc_text *t, cri_random *draw) {
    lrc_put(t, "<mujoco><worldbody>");
    for (int b = 0; b < 4; b++) {
        double size[3], at = cri_random_uniform(draw, -0.2, 0.2), turn[3];
        for (int i = 0; i < 3; i++) {
            size[i] = cri_random_uniform(draw, 0.05, 0.2);
            turn[i] = cri_random_uniform(draw, -180.0, 180.0);
        }
        lrc_put(t,
                "<body pos='%d %d %.9g' euler='%.9g %.9g %.9g'><freejoint/><geom type='box' "
                "size='%.9g %.9g %.9g' mass='1' friction='.5'/></body>",
                b % 2, b / 2, at, turn[0], turn[1], turn[2], size[0], size[1],
                b == 3 ? 0.002 : size[2]);
    }
    lrc_put(t, "</worldbody></mujoco>");
}

// towards the middle
static void throw_bodies(lrc_stage *s, cri_random *draw) {
    for (int b = 0; b < 4; b++) {
        for (int i = 0; i < 3; i++) {
            double middle = i < 2 ? 0.5 - s->x[7 * b + i] : 0.0;
            s->x[28 + 6 * b + i] = 80.0 * cri_random_uniform(draw, 0.0, 1.0) * middle;
            s->x[28 + 6 * b + 3 + i] = cri_random_uniform(draw, -20.0, 20.0);
        }
    }
}

/// Sums over scenes.
typedef struct tally {
    int n_step, n_met, n_open;
} tally;

static cr_status step(lrc_stage *s, double dt, tally *sum, cr_error *err) {
    CR_TRY(cr_sim_step(s->sim, dt, s->x, NULL, s->x, err));
    sum->n_step++;
    sum->n_open += cr_sim_report(s->sim)->outcome != CR_SOLVED;
    sum->n_met += lrc_surfaces_meet(s->sim);
    return CR_OK;
}

static cr_status run_throw(lrc_text *t, uint64_t seed, int scene, tally *sum, cr_error *err) {
    cri_random draw = cri_random_of(seed, 0x73616665u + (uint64_t)scene);
    lrc_stage s;
    t->used = 0;
    write_throw(t, &draw);
    cr_status status = lrc_stage_open(t, "longrange", &s, err);
    if (status == CR_OK) {
        throw_bodies(&s, &draw);
    }
    for (int k = 0; status == CR_OK && k < 3; k++) {
        status = step(&s, 0.02, sum, err);
    }
    lrc_stage_close(&s);
    return status;
}

// where the ball is after three steps, m; the plate is at 0
static cr_status run_bullet(lrc_text *t, const char *law, tally *sum, double *place,
                            cr_error *err) {
    lrc_stage s;
    t->used = 0;
    lrc_put(t, "<mujoco><option gravity='0 0 0'/><worldbody><body pos='-1 0 0'><freejoint/><geom "
               "type='sphere' size='.05' mass='1'/></body><geom type='box' size='.002 1 1'/>"
               "</worldbody></mujoco>");
    cr_status status = lrc_stage_open(t, law, &s, err);
    if (status == CR_OK) {
        s.x[7] = 100.0 * 0.1 / 0.02;
    }
    for (int k = 0; status == CR_OK && k < 3; k++) {
        status = step(&s, 0.02, sum, err);
    }
    *place = status == CR_OK ? s.x[0] : NAN;
    lrc_stage_close(&s);
    return status;
}

static cr_status run(const cri_experiment *self, const cri_experiment_options *options,
                     cri_experiment_result *out, cr_error *err) {
    static const char *const laws[] = {"longrange", "ipc", "sdrs", "rough"};
    int n_scene = options->n_run > 0 ? 100 * options->n_run : options->is_full ? 10000 : 100;
    tally sum = {0};
    lrc_text t;
    (void)self;
    cr_status status = lrc_text_open(&t, err);
    int k = 0;
    for (; status == CR_OK && k < n_scene; k++) {
        cri_progress_state state = {"scenes", k, n_scene, NAN};
        out->is_interrupted = !cri_progress_tell(options->progress, &state);
        if (out->is_interrupted) {
            break;
        }
        status = run_throw(&t, options->seed, k, &sum, err);
    }
    if (status == CR_OK) {
        cri_experiment_add(out, "", "match", sum.n_met, 0.0, "steps with triangles that meet");
        cri_experiment_add(out, "", "match", sum.n_step, NAN, "steps of %d scenes", k);
        cri_experiment_add(out, "", "lower", sum.n_open, NAN, "steps not solved to 1e-9");
    }
    for (int i = 0; status == CR_OK && !out->is_interrupted && i < 4; i++) {
        double place;
        tally one = {0};
        status = run_bullet(&t, laws[i], &one, &place, err);
        if (status == CR_OK) {
            cri_experiment_add(out, "m", "lower", place, NAN,
                               "%s, ball at 100 sizes a step, before the plate at 0", laws[i]);
        }
    }
    lrc_text_close(&t);
    return status;
}

const cri_experiment cri_lrc_safety = {
    .name = "lrc-safety",
    .summary =
        "random throws under longrange: no triangles may meet (paper 002; --runs N: hundreds)",
    .run = run,
};
