// SPDX-License-Identifier: MIT
//
// carom_trace step|adjoint SCENE OUT: one step of a scene, or its adjoint, after some steps.
// carom_trace command OUT ARGUMENT...: the command with those arguments.
//
// Writes each entry into a function and each return, in order, as a line: "+ADDRESS" or "-". Built
// with -finstrument-functions and without optimisation, so that inline functions count too.
// tools/trace builds it and turns addresses into files.

#include "carom/carom.h"

#include "../cli/start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// steps before the one that is looked at
enum { WARM_STEPS = 100 };

static FILE *out; // NULL: nothing is written

void __cyg_profile_func_enter(void *function, void *caller) __attribute__((no_instrument_function));
void __cyg_profile_func_exit(void *function, void *caller) __attribute__((no_instrument_function));

void __cyg_profile_func_enter(void *function, void *caller) {
    (void)caller;
    if (out) {
        fprintf(out, "+%p\n", function);
    }
}

void __cyg_profile_func_exit(void *function, void *caller) {
    (void)function;
    (void)caller;
    if (out) {
        fputs("-\n", out);
    }
}

static FILE *open_out(const char *path) {
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        exit(1);
    }
    return file;
}

static void need(cr_status status, const cr_error *err) {
    if (status != CR_OK) {
        fprintf(stderr, "trace: %s\n", err->text);
        exit(1);
    }
}

static void trace_step(const char *scene, const char *path, bool is_adjoint) {
    cr_model *model = NULL;
    cr_sim *sim = NULL;
    cr_error err = {0};
    need(cr_model_load(scene, &model, &err), &err);
    cr_sizes n = cr_model_sizes(model);
    cr_sim_options options = cr_sim_options_default(model);
    options.use_gradient = is_adjoint;
    need(cr_sim_create(model, &options, &sim, &err), &err);
    double *x = calloc((size_t)(2 * n.n_x + n.n_u + n.n_p), sizeof *x);
    double *x_adj = x + n.n_x, *u_adj = x_adj + n.n_x, *p_adj = u_adj + n.n_u;
    cr_model_defaults(model, -1, NULL, x, NULL);
    for (int k = 0; k < WARM_STEPS; k++) {
        need(cr_sim_step(sim, n.dt, x, NULL, x, &err), &err);
    }
    FILE *file = open_out(path);
    out = is_adjoint ? NULL : file;
    need(cr_sim_step(sim, n.dt, x, NULL, x, &err), &err);
    out = is_adjoint ? file : NULL;
    if (is_adjoint) {
        need(cr_sim_step_vjp(sim, x, x_adj, u_adj, p_adj, &err), &err);
    }
    out = NULL;
    fclose(file);
    free(x);
    cr_sim_destroy(sim);
    cr_model_destroy(model);
}

int main(int argc, char **argv) {
    bool is_step = argc == 4 && strcmp(argv[1], "step") == 0;
    bool is_adjoint = argc == 4 && strcmp(argv[1], "adjoint") == 0;
    if (is_step || is_adjoint) {
        trace_step(argv[2], argv[3], is_adjoint);
        return 0;
    }
    if (argc < 4 || strcmp(argv[1], "command") != 0) {
        fputs("usage: carom_trace step|adjoint SCENE OUT, or command OUT ARGUMENT...\n", stderr);
        return 2;
    }
    FILE *file = open_out(argv[2]);
    argv[2] = argv[0];
    out = file;
    int code = cli_command_main(argc - 2, argv + 2);
    out = NULL;
    fclose(file);
    return code;
}
