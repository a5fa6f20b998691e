// SPDX-License-Identifier: MIT
//
// Side studies of paper 000: fewer windows (Fig. 6), data of another law (Tables S.4 and S.5) and
// the size of the regularisation (Table S.7), each a task with one thing changed. Column heads of
// S.5 are exchanged in the paper; its figures stand here where they belong.

#include "dcs_case.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

#define NO_RATIO                                                                                   \
    { NAN, NAN, NAN, NAN }
#define NO_PAPER                                                                                   \
    { NULL, NAN, NAN, NAN, NO_RATIO }

// five balls, n windows; the paper's losses of validation for CM and MLP
#define SAMPLES(n, cm, mlp, is_only_full)                                                          \
    {"dcs-bp5", ", N = " #n, "cm-clnn", NULL, n, 0.0, cm, NO_PAPER, is_only_full}, {               \
        "dcs-bp5", ", N = " #n, "mlp-clnn", NULL, n, 0.0, mlp, NO_PAPER, is_only_full              \
    }

static const dcs_twist samples[] = {
    SAMPLES(25, 0.00741, 0.0138, false), SAMPLES(50, 0.00827, 0.0138, true),
    SAMPLES(100, 0.00839, 0.0128, true), SAMPLES(200, 0.00839, 0.0117, false),
    SAMPLES(400, 0.00762, 0.0108, true), SAMPLES(800, 0.00774, 0.0107, true),
};

#define LCP(task, label, error)                                                                    \
    { task, label, "cm-clnn", "lcp", 0, 0.0, NAN, {NULL, error, NAN, NAN, NO_RATIO}, false }

static const dcs_twist lcp_data[] = {
    LCP("dcs-bp5e", ", bp5-e", 7.35e-4),
    LCP("dcs-cp3", ", cp3", 1.31e-3),
    LCP("dcs-cp3e", ", cp3-e", 5.46e-3),
    LCP("dcs-gyro", ", gyro", 4.51e-4),
};

#define EPSILON(task, label, value, mu, e)                                                         \
    { task, label, "cmr-clnn", NULL, 0, value, NAN, {NULL, NAN, mu, e, NO_RATIO}, false }

static const dcs_twist regulariser[] = {
    EPSILON("dcs-cp3", ", cp3, 0.001", 0.001, 0.500, 0.007),
    EPSILON("dcs-cp3", ", cp3, 0.01", 0.01, 0.500, 0.023),
    EPSILON("dcs-cp3", ", cp3, 0.1", 0.1, 0.501, 0.180),
    EPSILON("dcs-gyro", ", gyro, 0.001", 0.001, 0.100, 0.811),
    EPSILON("dcs-gyro", ", gyro, 0.01", 0.01, 0.099, 0.892),
    EPSILON("dcs-gyro", ", gyro, 0.1", 0.1, 0.100, 0.886),
};

static const struct {
    const char *name;
    int n;
    const dcs_twist *twist;
} studies[] = {
    {"dcs-samples", sizeof samples / sizeof *samples, samples},
    {"dcs-lcp-data", sizeof lcp_data / sizeof *lcp_data, lcp_data},
    {"dcs-regulariser", sizeof regulariser / sizeof *regulariser, regulariser},
};

cr_status cri_dcs_study_run(const cri_experiment *self, const cri_experiment_options *options,
                            cri_experiment_result *out, cr_error *err) {
    size_t i = 0;
    while (strcmp(studies[i].name, self->name) != 0) {
        i++;
        CR_ASSERT(i < sizeof studies / sizeof *studies);
    }
    for (int k = 0; k < studies[i].n && !out->is_interrupted; k++) {
        const dcs_twist *twist = &studies[i].twist[k];
        if (options->is_full || !twist->is_only_full) {
            CR_TRY(cri_dcs_run(cri_dcs_find(twist->task), twist, options, out, err));
        }
    }
    return CR_OK;
}
