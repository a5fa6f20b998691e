// SPDX-License-Identifier: MIT
//
// Side studies of paper 000: fewer windows (Fig. 6), data of another law (Tables S.4 and S.5),
// noise (S.6), the size of the regularisation (S.7) and ropes (S.8 to S.10), each a task with one
// thing changed, and with the nets of --quick: what is compared does not need larger ones
// (docs/points.md). Column heads of S.5 are exchanged in the paper; its figures stand here where
// they belong.

#include "dcs_case.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

#define NO_RATIO                                                                                   \
    { NAN, NAN, NAN, NAN }
#define PAPER(error, mu, e)                                                                        \
    { NULL, error, mu, e, NO_RATIO }

// values of initialisers: NOLINTBEGIN(bugprone-macro-parentheses)

// five balls, n windows; the paper's loss of validation
#define SAMPLES(name, n, loss, only_full)                                                          \
    {                                                                                              \
        .task = "dcs-bp5", .label = ", N = " #n, .model = name, .n_train = n, .paper_loss = loss,  \
        .paper_cone = NAN, .paper = PAPER(NAN, NAN, NAN), .is_only_full = only_full,               \
        .is_small = true                                                                           \
    }

static const dcs_twist samples[] = {
    SAMPLES("cm-clnn", 25, 0.00741, false),  SAMPLES("mlp-clnn", 25, 0.0138, false),
    SAMPLES("in-clnn", 25, 0.0144, true),    SAMPLES("cm-clnn", 50, 0.00827, true),
    SAMPLES("mlp-clnn", 50, 0.0138, true),   SAMPLES("in-clnn", 50, 0.0128, true),
    SAMPLES("cm-clnn", 100, 0.00839, true),  SAMPLES("mlp-clnn", 100, 0.0128, true),
    SAMPLES("in-clnn", 100, 0.0122, true),   SAMPLES("cm-clnn", 200, 0.00839, false),
    SAMPLES("mlp-clnn", 200, 0.0117, false), SAMPLES("in-clnn", 200, 0.013, false),
    SAMPLES("cm-clnn", 400, 0.00762, true),  SAMPLES("mlp-clnn", 400, 0.0108, true),
    SAMPLES("in-clnn", 400, 0.0122, true),   SAMPLES("cm-clnn", 800, 0.00774, true),
    SAMPLES("mlp-clnn", 800, 0.0107, true),  SAMPLES("in-clnn", 800, 0.0131, true),
};

#define LCP(name, at, tag, error, cone, mu, e)                                                     \
    {                                                                                              \
        .task = at, .label = tag, .model = name, .law = "lcp", .paper_loss = NAN,                  \
        .paper_cone = cone, .paper = PAPER(error, mu, e), .is_small = true                         \
    }

#define GENERATORS(at, tag, error, cone, mu, e)                                                    \
    {                                                                                              \
        .task = at, .label = tag, .model = "cm-clnn", .law = "generators", .paper_loss = NAN,      \
        .paper_cone = cone, .paper = PAPER(error, mu, e), .is_small = true                         \
    }

// the paper's figures stand at both laws that its data may be of
static const dcs_twist lcp_data[] = {
    LCP("cm-clnn", "dcs-bp5e", ", bp5-e", 7.35e-4, 2.54e-3, 0.0, 1.0),
    LCP("cm-clnn", "dcs-cp3e", ", cp3-e", 5.46e-3, 1.57e-2, 0.003, 1.0),
    LCP("cm-clnn", "dcs-cp3", ", cp3", 1.31e-3, 3.73e-3, 0.5, 0.005),
    LCP("lcp-clnn", "dcs-cp3", ", cp3", NAN, NAN, NAN, NAN),
    LCP("cm-clnn", "dcs-gyro", ", gyro", 4.51e-4, 5.50e-3, NAN, 0.822),
    LCP("lcp-clnn", "dcs-gyro", ", gyro", NAN, NAN, NAN, NAN),
    GENERATORS("dcs-cp3", ", cp3, generators", 1.31e-3, 3.73e-3, 0.5, 0.005),
    GENERATORS("dcs-gyro", ", gyro, generators", 4.51e-4, 5.50e-3, NAN, 0.822),
};

#define EPSILON(at, tag, value, mu, e)                                                             \
    {                                                                                              \
        .task = at, .label = tag, .model = "cmr-clnn", .epsilon = value, .paper_loss = NAN,        \
        .paper_cone = NAN, .paper = PAPER(NAN, mu, e), .is_small = true                            \
    }

static const dcs_twist regulariser[] = {
    EPSILON("dcs-cp3", ", cp3, 0.001", 0.001, 0.500, 0.007),
    EPSILON("dcs-cp3", ", cp3, 0.01", 0.01, 0.500, 0.023),
    EPSILON("dcs-cp3", ", cp3, 0.1", 0.1, 0.501, 0.180),
    EPSILON("dcs-cp3", ", cp3, learned", -1.0, 0.497, 0.453),
    EPSILON("dcs-gyro", ", gyro, 0.001", 0.001, 0.100, 0.811),
    EPSILON("dcs-gyro", ", gyro, 0.01", 0.01, 0.099, 0.892),
    EPSILON("dcs-gyro", ", gyro, 0.1", 0.1, 0.100, 0.886),
    EPSILON("dcs-gyro", ", gyro, learned", -1.0, 0.100, 0.861),
};

// the paper's rows are those of CMr (E8); of CM its archived runs
#define NOISE(name, at, tag, sigma, mu, e)                                                         \
    {                                                                                              \
        .task = at, .label = tag, .model = name, .noise = sigma, .paper_loss = NAN,                \
        .paper_cone = NAN, .paper = PAPER(NAN, mu, e), .is_small = true                            \
    }

static const dcs_twist noise[] = {
    NOISE("cm-clnn", "dcs-cp3", ", cp3, noise 0.01", 0.01, 0.495, 0.018),
    NOISE("cm-clnn", "dcs-cp3", ", cp3, noise 0.05", 0.05, 0.435, 0.063),
    NOISE("cmr-clnn", "dcs-cp3", ", cp3, noise 0", 0.0, 0.500, 0.023),
    NOISE("cmr-clnn", "dcs-cp3", ", cp3, noise 0.01", 0.01, 0.496, 0.036),
    NOISE("cmr-clnn", "dcs-cp3", ", cp3, noise 0.05", 0.05, 0.462, 0.061),
    NOISE("cm-clnn", "dcs-cp3e", ", cp3-e, noise 0.01", 0.01, 0.0009, 1.0),
    NOISE("cm-clnn", "dcs-cp3e", ", cp3-e, noise 0.05", 0.05, 0.0, 0.998),
    NOISE("cmr-clnn", "dcs-cp3e", ", cp3-e, noise 0", 0.0, 0.002, 1.0),
    NOISE("cmr-clnn", "dcs-cp3e", ", cp3-e, noise 0.01", 0.01, 0.004, 1.0),
    NOISE("cmr-clnn", "dcs-cp3e", ", cp3-e, noise 0.05", 0.05, 0.004, 1.0),
};

#define ROPE(name, tag, n, error, only_full)                                                       \
    {                                                                                              \
        .task = "dcs-rope", .label = tag, .model = name, .n_point = n, .paper_loss = NAN,          \
        .paper_cone = NAN, .paper = PAPER(error, NAN, NAN), .is_only_full = only_full,             \
        .is_small = true                                                                           \
    }
#define ROPE_WINDOWS(name, n, error)                                                               \
    {                                                                                              \
        .task = "dcs-rope", .label = ", D = 400, N = " #n, .model = name, .n_train = n,            \
        .n_point = 200, .paper_loss = NAN, .paper_cone = NAN, .paper = PAPER(error, NAN, NAN),     \
        .is_only_full = true, .is_small = true                                                     \
    }

// NOLINTEND(bugprone-macro-parentheses)

// S.10, S.8, whose figure for the large net is that of another model (E7), and S.9 up to 800
static const dcs_twist ropes[] = {
    ROPE("cm-clnn", ", D = 20", 10, NAN, false),
    ROPE("cm-clnn", ", D = 100", 50, 1.97e-3, false),
    ROPE("mlp-clnn", ", D = 100", 50, 1.85e-2, false),
    ROPE("in-clnn", ", D = 100", 50, 2.31e-2, true),
    ROPE("in-sp", ", D = 100", 50, 2.93e-2, true),
    ROPE("cm-clnn", ", D = 200", 100, 9.39e-4, true),
    ROPE("mlp-clnn", ", D = 200", 100, 1.08e-2, true),
    ROPE("in-clnn", ", D = 200", 100, 1.27e-2, true),
    ROPE("in-sp", ", D = 200", 100, 1.37e-2, true),
    ROPE("cm-clnn", ", D = 400", 200, 3.20e-3, true),
    ROPE("mlp-clnn", ", D = 400", 200, 5.98e-3, true),
    ROPE("in-clnn", ", D = 400", 200, 6.87e-3, true),
    ROPE("in-sp", ", D = 400", 200, 8.94e-3, true),
    {.task = "dcs-rope",
     .label = ", D = 400, net 6 x 512",
     .model = "cm-clnn",
     .n_point = 200,
     .n_hidden = 6,
     .width = 512,
     .paper_loss = NAN,
     .paper_cone = NAN,
     .paper = PAPER(NAN, NAN, NAN),
     .is_only_full = true},
    ROPE_WINDOWS("cm-clnn", 25, 1.91e-3),
    ROPE_WINDOWS("mlp-clnn", 25, 2.96e-2),
    ROPE_WINDOWS("cm-clnn", 100, 2.04e-3),
    ROPE_WINDOWS("mlp-clnn", 100, 7.36e-3),
    ROPE_WINDOWS("cm-clnn", 400, 1.90e-3),
    ROPE_WINDOWS("mlp-clnn", 400, 7.02e-3),
};

static const struct {
    const char *name;
    int n;
    const dcs_twist *twist;
} studies[] = {
    {"dcs-samples", sizeof samples / sizeof *samples, samples},
    {"dcs-lcp-data", sizeof lcp_data / sizeof *lcp_data, lcp_data},
    {"dcs-regulariser", sizeof regulariser / sizeof *regulariser, regulariser},
    {"dcs-noise", sizeof noise / sizeof *noise, noise},
    {"dcs-ropes", sizeof ropes / sizeof *ropes, ropes},
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
        bool is_wanted = !options->model || strcmp(options->model, twist->model) == 0;
        if (is_wanted && (options->is_full || !twist->is_only_full)) {
            CR_TRY(cri_dcs_run(cri_dcs_find(twist->task), twist, options, out, err));
        }
    }
    return CR_OK;
}
