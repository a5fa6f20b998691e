// SPDX-License-Identifier: MIT
//
// carom params: every name that --wrt and --set take for a scene, with its value and domain.

#include "commands.h"

#include "report/result.h"
#include "scene.h"
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *prefix;
    const char *title;
} kinds[] = {
    [CR_VECTOR_P] = {"", "parameters"},
    [CR_VECTOR_X] = {"x0:", "initial state"},
    [CR_VECTOR_U] = {"u:", "controls, N and N m"},
};

static void print_domain(const cri_name_row *row) {
    bool has_lower = isfinite(row->lower);
    bool has_upper = isfinite(row->upper);
    if (has_lower && has_upper) {
        printf("  %g to %g", row->lower, row->upper);
    } else if (has_lower) {
        printf("  %s %g", row->is_open ? "above" : "from", row->lower);
    } else if (has_upper) {
        printf("  up to %g", row->upper);
    }
}

static void print_rows(int n, const cri_name_row *row) {
    int width = 0;
    double largest = cli_largest(n, &row->value, sizeof *row);
    for (int i = 0; i < n; i++) {
        int length = (int)(strlen(row[i].name) + strlen(kinds[row[i].vector].prefix));
        width = length > width ? length : width;
    }
    for (int i = 0; i < n; i++) {
        const char *prefix = kinds[row[i].vector].prefix;
        if (i == 0 || row[i].vector != row[i - 1].vector) {
            printf("%s%s\n", i > 0 ? "\n" : "", kinds[row[i].vector].title);
        }
        int rest = width - (int)strlen(prefix);
        printf("  %s%-*s  %14.9g", prefix, rest, row[i].name, cli_shown(row[i].value, largest));
        print_domain(&row[i]);
        putchar('\n');
    }
}

/// One row for each entry of the three vectors, NULL when there is no memory.
static cri_name_row *push_rows(const cli_scene *scene, int *n) {
    const cr_sizes *sizes = &scene->sizes;
    *n = sizes->n_p + sizes->n_x + sizes->n_u;
    cri_name_row *row = CR_PUSH(scene->memory, cri_name_row, *n);
    const double *value[] = {scene->p, scene->x0, scene->u};
    int at = 0;
    for (cr_vector vector = CR_VECTOR_P; row && vector <= CR_VECTOR_U; vector++) {
        const char *name = NULL;
        for (int i = 0; (name = cr_model_name(scene->model, vector, i)) != NULL; i++) {
            cri_name_row *out = &row[at++];
            *out = (cri_name_row){vector, name, value[vector][i], -INFINITY, INFINITY, false};
            if (vector == CR_VECTOR_P) {
                cr_model_domain(scene->model, i, &out->lower, &out->upper, &out->is_open);
            }
        }
    }
    return row;
}

static int run(const cli_options *options) {
    cli_scene scene;
    int code = cli_scene_open(options->word[0], options, &scene);
    if (code == CLI_DONE) {
        int n = 0;
        cri_name_row *row = push_rows(&scene, &n);
        cr_error err = {0};
        if (!row) {
            code = cli_failed("no memory for %d names", n);
        } else {
            print_rows(n, row);
        }
        if (row && options->json && cri_result_params(options->json, n, row, &err) != CR_OK) {
            code = cli_error(&err);
        }
    }
    cli_scene_close(&scene);
    return code;
}

const cli_command cli_params = {
    .name = "params",
    .arguments = "SCENE",
    .summary = "the names of a scene that --wrt and --set take",
    .help = "  --key NAME            initial state of that keyframe, else of the first\n"
            "  --set NAME=VALUE      changes a value; may be repeated\n"
            "  --json FILE           the list as JSON\n",
    .known = CLI_JSON | CLI_KEY | CLI_SET,
    .takes = CLI_TAKES_INPUT,
    .n_word_least = 1,
    .n_word_most = 1,
    .run = run,
};
