// SPDX-License-Identifier: MIT
//
// The whole way: any bytes become a model and a step, or are refused. Large models only have to be
// built.

#include "base/base.h"
#include "fuzz.h"

#define NAME "/nonexistent/fuzz/f.xml"

// larger mechanisms take too long for a fuzzer
enum { N_V_MAX = 30 };

static void step(const cr_model *model, const cr_sizes *n) {
    cr_error err;
    cr_sim_options options = cr_sim_options_default(model);
    cr_sim *sim = NULL;
    if (cr_sim_create(model, &options, &sim, &err) != CR_OK) {
        FUZZ_CHECK(!sim && err.text[0]);
        return;
    }
    double *x = calloc((size_t)n->n_x + 1, sizeof *x);
    double *u = calloc((size_t)n->n_u + 1, sizeof *u);
    FUZZ_CHECK(x && u);
    cr_model_defaults(model, -1, NULL, x, u);
    if (cr_sim_step(sim, n->dt, x, u, x, &err) == CR_OK) {
        FUZZ_CHECK(cri_all_finite(n->n_x, x));
    } else {
        FUZZ_CHECK(err.text[0]);
    }
    free(x);
    free(u);
    cr_sim_destroy(sim);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cr_model *model = NULL;
    cr_error err;
    cr_status status = cr_model_parse((const char *)data, size, NAME, &model, &err);
    if (status != CR_OK) {
        fuzz_check_error(status, &err, "/nonexistent/fuzz/");
        FUZZ_CHECK(!model);
        return 0;
    }
    cr_sizes n = cr_model_sizes(model);
    if (n.n_v <= N_V_MAX) {
        step(model, &n);
    }
    cr_model_destroy(model);
    return 0;
}
