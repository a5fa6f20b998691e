// SPDX-License-Identifier: MIT
//
// The tasks of paper 000 by name: sizes of the training, and what the paper came to. Its tables
// S.3 and S.5 have their columns exchanged; they stand here where they belong.

#include "dcs.h"
#include "dcs_case.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

#define MODELS "cm-clnn cm-chnn cmr-clnn cmr-chnn lcp-clnn mlp-clnn in-clnn in-sp"
#define PAPER(list) .n_paper = (int)(sizeof(list) / sizeof *(list)), .paper = (list)

static const dcs_paper paper_cp3[] = {
    {"cm-clnn", 3.85e-3, 0.5, 0.004, {2.0006, 1.4990, NAN, NAN}},
    {"cm-chnn", NAN, NAN, NAN, {1.9996, 1.4994, NAN, NAN}},
    {"cmr-clnn", NAN, 0.5, 0.023, {2.0002, 1.5001, NAN, NAN}},
    {"cmr-chnn", NAN, NAN, NAN, {2.0009, 1.5009, NAN, NAN}},
};
static const dcs_paper paper_cp3e[] = {
    {"cm-clnn", 2.83e-3, 0.0, 1.0, {0.6500, 0.7502, NAN, NAN}},
    {"cm-chnn", NAN, NAN, NAN, {0.6499, 0.7500, NAN, NAN}},
    {"cmr-clnn", NAN, 0.002, 1.0, {0.6500, 0.7521, NAN, NAN}},
    {"cmr-chnn", NAN, NAN, NAN, {0.6503, 0.7526, NAN, NAN}},
};

static const dcs_paper paper_bp5e[] = {
    {"cm-clnn", 2.34e-5, 0.0, 1.0, {1.0000, 1.0000, 1.0002, 1.0003}},
    {"cm-chnn", NAN, NAN, NAN, {0.9998, 1.0000, 1.0000, 1.0000}},
    {"cmr-clnn", NAN, NAN, NAN, {1.0000, 0.9993, 0.9991, 0.9989}},
    {"cmr-chnn", NAN, NAN, NAN, {1.0004, 0.9994, 0.9999, 0.9997}},
};
static const dcs_paper paper_bp5[] = {
    {"cm-clnn", NAN, NAN, NAN, {2.0000, 6.0036, 8.0014, 10.0024}},
    {"cm-chnn", NAN, NAN, NAN, {2.0005, 6.0020, 8.0015, 10.0029}},
    {"cmr-clnn", NAN, NAN, NAN, {1.9998, 6.0004, 8.0033, 9.9997}},
    {"cmr-chnn", NAN, NAN, NAN, {2.0002, 6.0001, 7.9985, 10.0010}},
};
static const dcs_paper paper_gyroe[] = {
    {"cm-clnn", NAN, 0.0, 1.0, {NAN, NAN, NAN, NAN}},
};
static const dcs_paper paper_gyro[] = {
    {"cm-clnn", 2.39e-3, 0.1, 0.8, {NAN, NAN, NAN, NAN}},
    {"cmr-clnn", NAN, 0.099, 0.892, {NAN, NAN, NAN, NAN}},
};
static const dcs_paper paper_rope[] = {
    {"cm-clnn", 3.20e-3, NAN, 0.0, {NAN, NAN, NAN, NAN}},
    {"cm-chnn", NAN, NAN, 0.0, {NAN, NAN, NAN, NAN}},
    {"cmr-clnn", NAN, NAN, 0.011, {NAN, NAN, NAN, NAN}},
    {"cmr-chnn", NAN, NAN, 0.019, {NAN, NAN, NAN, NAN}},
};

#define SEVEN "cm-clnn cm-chnn cmr-clnn cmr-chnn mlp-clnn in-clnn in-sp"
#define FOUR "cm-clnn mlp-clnn in-clnn in-sp"
#define THREE "cm-clnn mlp-clnn in-clnn"
#define TWO "cm-clnn mlp-clnn"

// Balls and disks have many coefficients and no potential: the last steps of a training find them,
// so that half the epochs do.
//
// sizes: windows, test, epochs, batch, layers, width, rate, points of a rope, models, paper's error
static const dcs_case cases[] = {
    {.name = "dcs-bp5e",
     .scene = "bp5-e",
     .is_elastic = true,
     .has_friction = true,
     .size = {{400, 50, 60, 50, 2, 64, 1e-3, 0, THREE, 0.0},
              {800, 100, 100, 50, 3, 256, 1e-3, 0, SEVEN, 0.0}},
     PAPER(paper_bp5e)},
    {.name = "dcs-bp5",
     .scene = "bp5",
     .has_friction = true,
     .size = {{800, 50, 60, 50, 2, 64, 1e-3, 0, THREE, 0.0},
              {800, 100, 100, 50, 3, 256, 1e-3, 0, SEVEN, 0.0}},
     PAPER(paper_bp5)},
    {.name = "dcs-bd5",
     .scene = "bd5",
     .has_friction = true,
     .size = {{800, 50, 60, 50, 2, 64, 1e-3, 0, TWO, 0.0},
              {800, 100, 100, 50, 3, 256, 1e-3, 0, SEVEN, 0.0}}},
    {.name = "dcs-cp3e",
     .scene = "cp3-e",
     .is_elastic = true,
     .has_friction = true,
     .size = {{400, 50, 60, 50, 2, 64, 1e-3, 0, THREE, 0.0},
              {800, 100, 200, 50, 3, 256, 1e-3, 0, SEVEN, 0.0}},
     PAPER(paper_cp3e)},
    {.name = "dcs-cp3",
     .scene = "cp3",
     .has_friction = true,
     .size = {{400, 50, 60, 50, 2, 64, 1e-3, 0, THREE, 0.0},
              {800, 100, 200, 50, 3, 256, 1e-3, 0, SEVEN, 0.0}},
     PAPER(paper_cp3)},
    {.name = "dcs-gyroe",
     .scene = "gyro-e",
     .is_elastic = true,
     .has_friction = true,
     .size = {{400, 50, 60, 50, 2, 64, 1e-3, 0, THREE, 0.0},
              {800, 100, 200, 50, 3, 256, 1e-3, 0, SEVEN, 0.0}},
     PAPER(paper_gyroe)},
    {.name = "dcs-gyro",
     .scene = "gyro",
     .has_friction = true,
     .size = {{400, 50, 60, 50, 2, 64, 1e-3, 0, THREE, 0.0},
              {800, 100, 200, 50, 3, 256, 1e-3, 0, SEVEN, 0.0}},
     PAPER(paper_gyro)},
    {.name = "dcs-rope",
     .scene = "rope",
     .size = {{400, 50, 60, 10, 2, 64, 2e-3, 50, TWO, 1.97e-3},
              {800, 100, 20, 10, 3, 256, 1e-3, 200, FOUR, 0.0}},
     PAPER(paper_rope)},
};

const dcs_case *cri_dcs_find(const char *name) {
    size_t k = 0;
    while (strcmp(cases[k].name, name) != 0) {
        k++;
        CR_ASSERT(k < sizeof cases / sizeof *cases);
    }
    return &cases[k];
}

static cr_status run(const cri_experiment *self, const cri_experiment_options *options,
                     cri_experiment_result *out, cr_error *err) {
    return cri_dcs_run(cri_dcs_find(self->name), NULL, options, out, err);
}

const cri_experiment cri_dcs_bp5e = {"dcs-bp5e", "five balls in a box, elastic", MODELS, run};
const cri_experiment cri_dcs_bp5 = {"dcs-bp5", "five balls in a box, 30 coefficients", MODELS, run};
const cri_experiment cri_dcs_bd5 = {"dcs-bd5", "five disks in a box, 30 coefficients", MODELS, run};
const cri_experiment cri_dcs_cp3e = {"dcs-cp3e", "chained masses over an elastic ground", MODELS,
                                     run};
const cri_experiment cri_dcs_cp3 = {"dcs-cp3", "chained masses over a rough ground", MODELS, run};
const cri_experiment cri_dcs_gyroe = {"dcs-gyroe", "a top and an elastic wall", MODELS, run};
const cri_experiment cri_dcs_gyro = {"dcs-gyro", "a top and a rough wall", MODELS, run};
const cri_experiment cri_dcs_rope = {"dcs-rope", "a rope with limits of stretch and bend", MODELS,
                                     run};
const cri_experiment cri_dcs_scaling = {"dcs-scaling", "time of an iteration by size of the rope",
                                        NULL, cri_dcs_scaling_run};
const cri_experiment cri_dcs_billiards = {"dcs-billiards", "a break shot by the planner", NULL,
                                          cri_dcs_billiards_run};
const cri_experiment cri_dcs_samples = {"dcs-samples", "five balls, by number of windows",
                                        "cm-clnn mlp-clnn in-clnn", cri_dcs_study_run};
const cri_experiment cri_dcs_lcp_data = {"dcs-lcp-data", "data of the law lcp", "cm-clnn lcp-clnn",
                                         cri_dcs_study_run};
const cri_experiment cri_dcs_regulariser = {"dcs-regulariser", "epsilon of cone-reg", NULL,
                                            cri_dcs_study_run};
const cri_experiment cri_dcs_noise = {"dcs-noise", "chained masses, by noise", "cm-clnn cmr-clnn",
                                      cri_dcs_study_run};
const cri_experiment cri_dcs_ropes = {"dcs-ropes", "ropes, by points, windows and net",
                                      "cm-clnn mlp-clnn in-clnn in-sp", cri_dcs_study_run};
const cri_experiment cri_dcs_penetration = {"dcs-penetration", "a ball comes out of a wall", NULL,
                                            cri_dcs_penetration_run};
const cri_experiment cri_dcs_throw_hit = {"dcs-throw-hit", "a disk hits after one bounce", NULL,
                                          cri_dcs_throw_run};
const cri_experiment cri_dcs_throw_vertical = {"dcs-throw-vertical", "a disk bounces straight up",
                                               NULL, cri_dcs_throw_run};
