// SPDX-License-Identifier: MIT
//
// dac-capsule (paper 003, Fig. 7): a capsule dropped at 45 degrees; it rolls over its tip, so that
// every contact should be static. dac-anisotropic (Fig. 10): a rectangle thrown both ways over a
// ground whose coefficient is 1.5 for what slides towards -x and 0.75 for what slides towards +x.
//
// The paper gives no sizes: capsule of radius 0.05 m and cylinder 0.2 m from a height of 0.3 m;
// rectangle as in dac-rectangle, thrown at 3 m/s from 0.25 m. Rows compare whole motions: the
// largest distance of the centre and of the angle to GS over all steps.

#include "dac.h"

#include "dac_throw.h"

#include <math.h>
#include <string.h>

#define GROUND(custom, name, geom)                                                                 \
    "<mujoco model='" name "'><option timestep='0.002' gravity='0 0 -9.81'/>" custom               \
    "<worldbody><geom name='ground' type='plane' size='5 5 0.1' friction='1'/>"                    \
    "<body name='" name "'>"                                                                       \
    "<joint name='x' type='slide' axis='1 0 0'/><joint name='z' type='slide' axis='0 0 1'/>"       \
    "<joint name='turn' type='hinge' axis='0 -1 0'/>"                                              \
    "<geom name='shape' " geom " mass='1' friction='1'/></body></worldbody></mujoco>"

static const char capsule[] =
    GROUND("", "capsule", "type='capsule' size='0.05 0.1' euler='0 90 0'");
static const char anisotropic[] =
    GROUND("<custom><numeric name='carom:slide:ground:shape' data='0.75 1.5 1 0 0'/></custom>",
           "rectangle", "type='box' size='0.1 0.05 0.05'");

// s
static const double length = 4.0;

static const char *const law_name[DAC_LAWS] = {"ours", "GS", "PDD", "ncp"};

static cr_status run_capsule(const cri_experiment *self, const cri_experiment_options *options,
                             cri_experiment_result *out, cr_error *err) {
    dac_models models;
    CR_TRY(dac_models_train(capsule, self->name, options, &models, err));
    out->is_interrupted = models.is_interrupted;
    dac_tell_accuracy(&models, out);
    static const dac_start start = {0.3, 45.0, 0.0, 0.0};
    dac_throw of[DAC_LAWS];
    cr_status status = CR_OK;
    for (int k = 0; k < DAC_LAWS && status == CR_OK; k++) {
        status = dac_throw_run(&models, k, "end", &start, length, &of[k], err);
    }
    for (int k = 0; k < DAC_LAWS && status == CR_OK; k++) {
        double off[2];
        status = dac_throw_compare(&models, k, &start, length, off, err);
        const char *name = law_name[k];
        cri_experiment_add(out, "m", "lower", off[0], NAN, "%s: largest distance to GS", name);
        cri_experiment_add(out, "degrees", "lower", off[1], NAN, "%s: largest angle to GS", name);
        cri_experiment_add(out, "m", "match", of[k].figure.distance, NAN, "%s: distance", name);
        cri_experiment_add(out, "degrees", "match", of[k].figure.angle_deg, NAN,
                           "%s: final orientation", name);
        cri_experiment_add(out, "%", "match", 100.0 * of[k].n_slide / of[k].n_touch,
                           k == DAC_OURS ? 0.0 : NAN, "%s: contacts that slide, of %d", name,
                           of[k].n_touch);
    }
    dac_models_clear(&models);
    return status;
}

static cr_status run_anisotropic(const cri_experiment *self, const cri_experiment_options *options,
                                 cri_experiment_result *out, cr_error *err) {
    dac_models models;
    CR_TRY(dac_models_train(anisotropic, self->name, options, &models, err));
    out->is_interrupted = models.is_interrupted;
    dac_tell_accuracy(&models, out);
    cr_status status = CR_OK;
    for (int way = 0; way < 2 && status == CR_OK; way++) {
        // mirrored throws: only the ground tells them apart
        double sign = way == 0 ? 1.0 : -1.0;
        dac_start start = {0.25, 0.0, 3.0 * sign, 0.0};
        for (int k = 0; k < DAC_LAWS && status == CR_OK; k++) {
            dac_throw one;
            double off[2] = {0.0, 0.0};
            status = dac_throw_run(&models, k, "end", &start, length, &one, err);
            if (status == CR_OK) {
                status = dac_throw_compare(&models, k, &start, length, off, err);
            }
            const char *to = way == 0 ? "towards +x" : "towards -x";
            cri_experiment_add(out, "m", "match", one.figure.distance, NAN, "%s: %s, distance", to,
                               law_name[k]);
            cri_experiment_add(out, "degrees", "match", one.figure.angle_deg, NAN,
                               "%s: %s, final orientation", to, law_name[k]);
            cri_experiment_add(out, "m", "lower", off[0], NAN, "%s: %s, largest distance to GS", to,
                               law_name[k]);
        }
    }
    dac_models_clear(&models);
    return status;
}

const cri_experiment cri_dac_capsule = {
    .name = "dac-capsule",
    .summary = "a dropped capsule rolls over its tip (003, Fig. 7)",
    .run = run_capsule,
};

const cri_experiment cri_dac_anisotropic = {
    .name = "dac-anisotropic",
    .summary = "friction that differs by the way of sliding (003, Fig. 10)",
    .run = run_anisotropic,
};
