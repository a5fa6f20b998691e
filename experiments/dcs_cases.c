// SPDX-License-Identifier: MIT
//
// The tasks of paper 000 by name: sizes of the training, and what the paper came to. Its tables
// S.3 and S.5 have their columns exchanged; they stand here where they belong.

#include "dcs.h"
#include "dcs_case.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

#define MODELS "cm-clnn cm-chnn cmr-clnn cmr-chnn lcp-clnn"
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

static const dcs_case cases[] = {
    {.name = "dcs-cp3",
     .scene = "cp3",
     .has_friction = true,
     .size = {{400, 50, 60, 50, 2, 64, 1e-3, 0, "cm-clnn"},
              {800, 100, 200, 50, 3, 256, 1e-3, 0, "cm-clnn cm-chnn cmr-clnn cmr-chnn"}},
     PAPER(paper_cp3)},
    {.name = "dcs-cp3e",
     .scene = "cp3-e",
     .is_elastic = true,
     .has_friction = true,
     .size = {{400, 50, 60, 50, 2, 64, 1e-3, 0, "cm-clnn"},
              {800, 100, 200, 50, 3, 256, 1e-3, 0, "cm-clnn cm-chnn cmr-clnn cmr-chnn"}},
     PAPER(paper_cp3e)},
};

static cr_status run(const cri_experiment *self, const cri_experiment_options *options,
                     cri_experiment_result *out, cr_error *err) {
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        if (strcmp(cases[k].name, self->name) == 0) {
            return cri_dcs_run(&cases[k], options, out, err);
        }
    }
    CR_ASSERT(false); // every experiment has its case
    return CR_ERR_ARGUMENT;
}

const cri_experiment cri_dcs_cp3 = {"dcs-cp3", "chained masses over a rough ground", MODELS, run};
const cri_experiment cri_dcs_cp3e = {"dcs-cp3e", "chained masses over an elastic ground", MODELS,
                                     run};
