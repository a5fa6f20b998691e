// SPDX-License-Identifier: MIT
//
// dac-applied (paper 003, section V): two cases that a law of velocities alone cannot tell apart,
// once the forces of a step are integrated before contact. A box of 1 kg lies on a surface whose
// static coefficient mu_s is larger than the kinetic mu_d:
//
//   A   at rest, pulled by f with mu_d g < f < mu_s g:         it stays at rest
//   B   no force, but the velocity h f that the pull makes:    it slides, and has h f - h mu_d g
//
// Nets learn from states where forces are drawn beside velocities: what lies still before forces
// act is held by mu_s when that suffices, all else has mu_d (law `lcp` with the one or the other).
// Once with what forces made of the velocities as further inputs, once without them, on the same
// law.

#include "dac.h"

#include "dac_throw.h"
#include "model/scene/load.h"

#include <math.h>
#include <string.h>

static const char scene[] =
    "<mujoco model='box'><option timestep='0.002' gravity='0 0 -9.81'/><worldbody>"
    "<geom name='ground' type='plane' size='5 5 0.1' friction='0.3'/><body name='box'>"
    "<joint name='x' type='slide' axis='1 0 0'/><joint name='z' type='slide' axis='0 0 1'/>"
    "<joint name='turn' type='hinge' axis='0 -1 0'/>"
    "<geom name='shape' type='box' size='0.1 0.05 0.05' mass='1' friction='0.3'/></body>"
    "</worldbody></mujoco>";

enum { N_PULL = 9 };

static const double mu_static = 0.5, mu_kinetic = 0.3, gravity = 9.81, h = 0.002;

/// What a law makes of the two cases.
typedef struct cases {
    int n_right[2];  // of all pulls
    double error[2]; // largest error of the velocity after a step, over h g
} cases;

// one step from the velocity v along the ground, under the force f. It begins higher by what it
// falls, so that the jump finds it on the ground and not in it
static cr_status step(cr_sim *sim, double v, double f, double *after, cr_error *err) {
    double fall[6] = {0.0, 1.0, 0.0, 0.0, 0.0, 0.0}, x[6] = {0.0, 0.05, 0.0, v, 0.0, 0.0};
    double pull[3] = {f, 0.0, 0.0};
    CR_TRY(cr_sim_step(sim, h, fall, NULL, fall, err));
    // rounding must not keep it from touching
    x[1] += (1.0 - 1e-6) * (1.0 - fall[1]);
    CR_TRY(cr_sim_step(sim, h, x, pull, x, err));
    *after = x[3];
    return CR_OK;
}

static cr_status try_cases(const cr_model *model, const char *law, cases *out, cr_error *err) {
    cr_sim_options options = cr_sim_options_default(model);
    options.law = law;
    options.stepper = "end";
    options.use_gradient = false;
    cr_sim *sim = NULL;
    CR_TRY(cr_sim_create(model, &options, &sim, err));
    cr_status status = CR_OK;
    *out = (cases){{0, 0}, {0.0, 0.0}};
    for (int i = 0; i < N_PULL && status == CR_OK; i++) {
        double part = (i + 1.0) / (N_PULL + 1.0), unit = h * gravity;
        double f = gravity * (mu_kinetic + (mu_static - mu_kinetic) * part), after[2] = {0.0, 0.0};
        status = step(sim, 0.0, f, &after[0], err);
        if (status == CR_OK) {
            status = step(sim, h * f, 0.0, &after[1], err);
        }
        double truth[2] = {0.0, h * f - mu_kinetic * unit};
        for (int k = 0; k < 2; k++) {
            double off = fabs(after[k] - truth[k]) / unit;
            out->n_right[k] += off < 0.019;
            out->error[k] = fmax(out->error[k], off);
        }
    }
    cr_sim_destroy(sim);
    return status;
}

static void tell(const char *name, const cases *of, cri_experiment_result *out) {
    static const char *const what[2] = {"A, pulled at rest: stays", "B, moving: slides on"};
    for (int k = 0; k < 2; k++) {
        cri_experiment_add(out, "of 9", "higher", of->n_right[k], NAN, "%s: case %s", name,
                           what[k]);
        cri_experiment_add(out, "h g", "lower", of->error[k], NAN,
                           "%s: case %s, largest error of velocity", name, what[k]);
    }
}

static cr_status run(const cri_experiment *self, const cri_experiment_options *options,
                     cri_experiment_result *out, cr_error *err) {
    static const char *const name[2] = {"forces are inputs", "velocities alone"};
    cr_status status = CR_OK;
    for (int k = 0; k < 2 && status == CR_OK; k++) {
        dac_nets trained;
        CR_TRY(dac_nets_train_with(scene, self->name, options, k == 0 ? mu_static : 0.0, &trained,
                                   err));
        out->is_interrupted = out->is_interrupted || trained.is_interrupted;
        for (int i = 0; i < CRI_GROUND_SPACE_POINT; i++) {
            cri_experiment_add(out, "%", "higher", 100.0 * trained.score[i].accuracy, NAN,
                               "%s: classifier, %s", name[k], cri_ground_kind_name(i));
        }
        cr_model *model = NULL;
        cases of;
        status = cri_model_parse_with(scene, strlen(scene), "box", &trained.nets, &model, err);
        if (status == CR_OK) {
            status = try_cases(model, "augmented", &of, err);
        }
        if (status == CR_OK) {
            tell(name[k], &of, out);
        }
        if (status == CR_OK && k == 1) {
            status = try_cases(model, "lcp", &of, err);
            tell("lcp, one coefficient", &of, out);
        }
        cr_model_destroy(model);
        dac_nets_clear(&trained);
    }
    return status;
}

const cri_experiment cri_dac_applied = {
    .name = "dac-applied",
    .summary = "a pull that static friction holds, and the same velocity without it (003, V)",
    .run = run,
};
