// SPDX-License-Identifier: MIT
//
// Options of carom plan.

#include "options.h"

#include "base/base.h"
#include "io/number.h"

#include <string.h>

// most of a count: beyond it memory ends before time does
#define COUNT_LIMIT 1e6
#define SEED_LIMIT 1e15

static int take_text(const char *name, const char *value, const char **out) {
    if (*out) {
        return cli_usage("%s comes twice", name);
    }
    *out = value;
    return CLI_DONE;
}

static int take_real(const char *name, const char *value, double *out) {
    if (cri_number_parse(value, strlen(value), out) != CRI_NUMBER_OK || !(*out > 0.0)) {
        return cli_usage("%s %.40s: expected a number above 0", name, value);
    }
    return CLI_DONE;
}

static int take_whole(const char *name, const char *value, int *out) {
    double n = 0.0;
    int code = cli_put_whole(name, value, 1.0, COUNT_LIMIT, &n);
    *out = (int)n;
    return code;
}

static int take_seed(const char *name, const char *value, uint64_t *out) {
    double n = 0.0;
    int code = cli_put_whole(name, value, 0.0, SEED_LIMIT, &n);
    *out = (uint64_t)n;
    return code;
}

int cli_plan_take(const char *name, const char *value, cli_plan_options *out, bool *is_known) {
    CR_ASSERT(name && out && is_known);
    const struct {
        const char *name;
        const char **text;
        double *real;
        int *whole;
    } options[] = {
        {"--controls", &out->controls, NULL, NULL},
        {"--method", &out->method, NULL, NULL},
        {"--bundle", &out->bundle, NULL, NULL},
        {"--checkpoint", &out->checkpoint, NULL, NULL},
        {"--resume", &out->resume, NULL, NULL},
        {"--plan", &out->file, NULL, NULL},
        {"--beta", &out->beta, NULL, NULL},
        {"--rate", NULL, &out->rate, NULL},
        {"--tolerance", NULL, &out->tolerance, NULL},
        {"--cost", NULL, &out->cost, NULL},
        {"--radius", NULL, &out->radius, NULL},
        {"--spread", NULL, &out->spread, NULL},
        {"--iterations", NULL, NULL, &out->n_iteration},
        {"--starts", NULL, NULL, &out->n_start},
        {"--samples", NULL, NULL, &out->n_sample},
        {"--sines", NULL, NULL, &out->n_sine},
        {"--knots", NULL, NULL, &out->n_knot},
        {"--halve", NULL, NULL, &out->halve},
        {"--threads", NULL, NULL, &out->n_thread},
        {"--horizon", NULL, NULL, &out->horizon},
        {"--execute", NULL, NULL, &out->execute},
        {"--focus", NULL, NULL, &out->n_focus},
        {"--seed", NULL, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (strcmp(options[i].name, name) != 0) {
            continue;
        }
        *is_known = true;
        if (!value || !*value) {
            return cli_usage("%s needs a value; see 'carom help plan'", name);
        }
        if (options[i].text) {
            return take_text(name, value, options[i].text);
        }
        if (options[i].real) {
            return take_real(name, value, options[i].real);
        }
        if (options[i].whole) {
            return take_whole(name, value, options[i].whole);
        }
        return take_seed(name, value, &out->seed);
    }
    return CLI_DONE;
}
