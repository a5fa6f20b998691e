// SPDX-License-Identifier: MIT
//
// The table of experiments.

#include "experiment.h"

#include "cdl.h"
#include "dac.h"
#include "dcs.h"
#include "lrc.h"
#include "sdf.h"

#include "base/base.h"
#include "base/io/hdf5_file.h"
#include "solvers/powell.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// one a line
// clang-format off
const cri_experiment *const cri_experiments[] = {
    &cri_sdf_depth,
    &cri_sdf_tennis,
    &cri_cdl_pendulum,
    &cri_cdl_ball,
    &cri_cdl_ball_inelastic,
    &cri_cdl_cradle,
    &cri_cdl_box,
    &cri_cdl_cradle3,
    &cri_cdl_damped,
    &cri_cdl_step,
    &cri_dcs_cp3,
    &cri_dcs_cp3e,
    &cri_dcs_bp5e,
    &cri_dcs_bp5,
    &cri_dcs_bd5,
    &cri_dcs_gyroe,
    &cri_dcs_gyro,
    &cri_dcs_rope,
    &cri_dcs_scaling,
    &cri_dcs_billiards,
    &cri_dcs_samples,
    &cri_dcs_lcp_data,
    &cri_dcs_regulariser,
    &cri_dcs_noise,
    &cri_dcs_ropes,
    &cri_dcs_penetration,
    &cri_dcs_throw_hit,
    &cri_dcs_throw_vertical,
    &cri_dac_rectangle,
    &cri_dac_pentagon,
    &cri_dac_capsule,
    &cri_dac_anisotropic,
    &cri_dac_chain,
    &cri_dac_ellipse,
    &cri_dac_sliding,
    &cri_dac_box,
    &cri_dac_bodies,
    &cri_dac_applied,
    &cri_lrc_properties,
    &cri_lrc_grid,
    &cri_lrc_books,
    &cri_lrc_cost,
    &cri_lrc_safety,
    &cri_lrc_billiards,
    &cri_lrc_push,
    &cri_lrc_gather,
    &cri_lrc_sort,
    &cri_lrc_ant,
    &cri_lrc_bunny,
    &cri_lrc_arm,
    &cri_lrc_smoothness,
    &cri_lrc_stiffness,
    &cri_sdf_bounce,
    &cri_sdf_inertia,
    &cri_sdf_shapes,
    &cri_sdf_pole,
    &cri_sdf_sysid,
    NULL,
};
// clang-format on

const cri_experiment *cri_experiment_find(const char *name) {
    for (int k = 0; cri_experiments[k]; k++) {
        if (strcmp(cri_experiments[k]->name, name) == 0) {
            return cri_experiments[k];
        }
    }
    return NULL;
}

static const cri_experiment *const keeping_runs[] = {
    &cri_cdl_pendulum,   &cri_cdl_ball,        &cri_cdl_ball_inelastic,
    &cri_cdl_cradle,     &cri_cdl_box,         &cri_cdl_cradle3,
    &cri_dcs_cp3,        &cri_dcs_cp3e,        &cri_dcs_bp5e,
    &cri_dcs_bp5,        &cri_dcs_bd5,         &cri_dcs_gyroe,
    &cri_dcs_gyro,       &cri_dcs_rope,        &cri_dcs_samples,
    &cri_dcs_lcp_data,   &cri_dcs_regulariser, &cri_dcs_noise,
    &cri_dcs_ropes,      &cri_cdl_damped,      &cri_lrc_billiards,
    &cri_lrc_push,       &cri_lrc_gather,      &cri_lrc_sort,
    &cri_lrc_ant,        &cri_lrc_bunny,       &cri_lrc_arm,
    &cri_lrc_smoothness, &cri_lrc_stiffness,
};

bool cri_experiment_keeps_runs(const cri_experiment *experiment) {
    for (size_t k = 0; k < sizeof keeping_runs / sizeof *keeping_runs; k++) {
        if (keeping_runs[k] == experiment) {
            return true;
        }
    }
    return false;
}

// the experiments that read data/shapes, and those of their models that don't
static bool reads_shapes(const cri_experiment *experiment, const char *model) {
    bool is_solid = model && (strcmp(model, "sphere") == 0 || strcmp(model, "box") == 0 ||
                              strcmp(model, "cylinder") == 0);
    return experiment == &cri_sdf_shapes || experiment == &cri_sdf_pole ||
           experiment == &cri_sdf_sysid || (experiment == &cri_sdf_inertia && !is_solid);
}

cr_status cri_experiment_check_parts(const cri_experiment *experiment, const char *model,
                                     cr_error *err) {
    if (reads_shapes(experiment, model)) {
        CR_TRY(cri_hdf5_check(experiment->name, err));
    }
    if (experiment == &cri_dac_chain && !cri_powell_exists()) {
        return cri_fail(err, CR_ERR_UNSUPPORTED, 0,
                        "%s: this carom was built without cminpack; install libcminpack-dev and "
                        "build again",
                        experiment->name);
    }
    return CR_OK;
}

bool cri_experiment_has_epochs(const cri_experiment *experiment) {
    return strncmp(experiment->name, "dcs-", 4) == 0 && cri_experiment_keeps_runs(experiment);
}

const char *cri_experiment_starts(const cri_experiment *experiment) {
    static const cri_experiment *const tasks[] = {&cri_lrc_billiards, &cri_lrc_gather,
                                                  &cri_lrc_sort,      &cri_lrc_ant,
                                                  &cri_lrc_bunny,     &cri_lrc_arm};
    for (size_t k = 0; k < sizeof tasks / sizeof *tasks; k++) {
        if (tasks[k] == experiment) {
            return "trivial sampled";
        }
    }
    return experiment == &cri_lrc_push ? "trivial sampled touching" : NULL;
}

void cri_experiment_add(cri_experiment_result *result, const char *unit, const char *better,
                        double value, double paper, const char *format, ...) {
    CR_ASSERT(result->n_row < CRI_EXPERIMENT_ROW_MOST);
    cri_experiment_row *row = &result->row[result->n_row++];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(row->name, sizeof row->name, format, list);
    va_end(list);
    row->value = value;
    row->paper = paper;
    row->unit = unit;
    row->better = better;
}
