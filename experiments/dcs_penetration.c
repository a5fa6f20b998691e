// SPDX-License-Identifier: MIT
//
// How a penetration is repaired (paper 000, Fig. S.2): a ball at rest 0.02 m deep in a wall, with
// restitution 0. The target velocity depth/(share dt) opens it in share steps; a share without end
// leaves it where it is.

#include "dcs_case.h"

#include <math.h>

enum { MOST_STEPS = 40 };

static const double depth = 0.02; // m

/// How it went.
typedef struct repair {
    double left; // m, depth after MOST_STEPS
    double n;    // steps until it is open, NAN: never
} repair;

static bool run_share(cri_points_scene *scene, double share, const cri_points_memory *m,
                      repair *out) {
    double x[2][20] = {{0.1 - depth, 0.5, 0.4, 0.5, 0.4, 0.2, 0.7, 0.5, 0.7, 0.2}};
    *out = (repair){.n = NAN};
    scene->law.share = share;
    scene->p[scene->law.i_e] = 0.0;
    for (int n = 0; n < MOST_STEPS; n++) {
        const double *from = x[n % 2];
        double *to = x[(n + 1) % 2];
        cri_arena_reset(m->keep);
        if (!cri_points_step(scene, scene->p, 1, from, to, NULL, m->keep, m->scratch)) {
            return false;
        }
        out->left = fmax(0.0, 0.1 - to[0]);
        if (out->left < 1e-9 && !isfinite(out->n)) {
            out->n = n; // the step that finds the overlap moves it from the next one on
        }
    }
    return true;
}

cr_status cri_dcs_penetration_run(const cri_experiment *self, const cri_experiment_options *options,
                                  cri_experiment_result *out, cr_error *err) {
    (void)self;
    (void)options;
    static const double share[] = {1.0, 4.0, 8.0, 1e12};
    static const double paper[] = {1.0, 4.0, NAN, NAN};
    cri_points_scene *scene = NULL;
    cri_points_memory memory;
    CR_TRY(cri_points_scene_create("bp5-e", 0, &scene, err));
    bool is_done = cri_points_memory_open(&memory);
    for (int k = 0; is_done && k < 4; k++) {
        repair r;
        is_done = run_share(scene, share[k], &memory, &r);
        if (is_done && k < 3) {
            cri_experiment_add(out, "steps", "match", r.n, paper[k], "share %g, repaired after",
                               share[k]);
        } else if (is_done) {
            cri_experiment_add(out, "m", "match", r.left, NAN,
                               "no target, what is left of 0.02 after %d steps", MOST_STEPS);
        }
    }
    cri_points_memory_close(&memory);
    cri_points_scene_destroy(scene);
    return is_done ? CR_OK : cri_fail(err, CR_ERR_MEMORY, 0, "no memory for an experiment");
}
