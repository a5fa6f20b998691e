// SPDX-License-Identifier: MIT
//
// carom linearize: one step as a linear map of small changes.

#include "commands.h"

#include "base/io/file.h"
#include "base/io/hdf5_file.h"
#include "optimize/linearise.h"
#include "report.h"
#include "report/result.h"
#include "scene.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>

// room for a name of a tangent coordinate
#define NAME_LIMIT 160

// columns that are printed side by side
#define PRINT_LIMIT 8

// columns of a matrix on a page; what has more is for -o
#define PAGE_LIMIT 120

typedef struct task {
    cli_scene scene;
    cr_sim *sim;
    cri_linearisation map;
    const char **row;    // (n) names of tangent coordinates
    const char **column; // (n_u) names of controls
} task;

/// Goes on to the state of --at-step, and linearises there.
static int linearise(task *t, int at_step) {
    cli_scene *scene = &t->scene;
    cr_error err = {0};
    const double *u = scene->has_control ? scene->u : NULL;
    for (int k = 0; k <= at_step; k++) {
        if (scene->has_table) {
            cri_control_at(&scene->table, k * scene->dt, scene->u);
        }
        if (k < at_step && cr_sim_step(t->sim, scene->dt, scene->x0, u, scene->x0, &err) != CR_OK) {
            return cli_failed("step %d: %s", k, err.text);
        }
    }
    if (cri_linearise(scene->model, t->sim, scene->dt, scene->x0, u, scene->memory, &t->map,
                      &err) != CR_OK) {
        return cli_error(&err);
    }
    return CLI_DONE;
}

static int name_all(task *t) {
    cli_scene *scene = &t->scene;
    t->row = CR_PUSH(scene->memory, const char *, t->map.n);
    t->column = CR_PUSH(scene->memory, const char *, t->map.n_u);
    bool has_memory = t->row && t->column;
    for (int i = 0; i < t->map.n && has_memory; i++) {
        char name[NAME_LIMIT];
        cri_tangent_name(scene->model, i, name, sizeof name);
        t->row[i] = cri_arena_push_text(scene->memory, name);
        has_memory = t->row[i];
    }
    for (int i = 0; i < t->map.n_u && has_memory; i++) {
        t->column[i] = cr_model_name(scene->model, CR_VECTOR_U, i);
    }
    return has_memory ? CLI_DONE : cli_failed("no memory for names");
}

// ---- output ------------------------------------------------------------------------------------

static void print_matrix(const task *t, const char *title, int n_col, const double *value,
                         const char *const *column) {
    double largest = cli_largest(t->map.n * n_col, value, sizeof *value);
    printf("\n%s\n", title);
    for (int first = 0; first < n_col; first += PRINT_LIMIT) {
        int end = first + PRINT_LIMIT < n_col ? first + PRINT_LIMIT : n_col;
        printf("%-20s", "");
        for (int j = first; j < end; j++) {
            printf("  %16.16s", column[j]);
        }
        putchar('\n');
        for (int i = 0; i < t->map.n; i++) {
            printf("%-20s", t->row[i]);
            for (int j = first; j < end; j++) {
                printf("  %16.9g",
                       cli_shown(value[(size_t)i * (size_t)n_col + (size_t)j], largest));
            }
            putchar('\n');
        }
    }
}

static void print(const task *t, const cli_options *options) {
    char label[64];
    cri_grad_text(t->map.grad, label);
    printf("one step of %g s after %d, %d tangent coordinates, %d controls; gradient: %s\n",
           t->scene.dt, options->at_step, t->map.n, t->map.n_u, label);
    if (options->use_print) {
        print_matrix(t, "A = dx'/dx", t->map.n, t->map.A, t->row);
        print_matrix(t, "B = dx'/du", t->map.n_u, t->map.B, t->column);
    } else if (!options->output && !options->json && !options->use_quiet) {
        puts("-o FILE writes the matrices, -o - to standard output; --print shows them");
    }
}

/// A row a tangent coordinate, A beside B.
static int write_csv(const task *t, const char *path) {
    cr_error err = {0};
    cri_atomic_file file;
    if (cri_atomic_open(path, &file, &err) != CR_OK) {
        return cli_error(&err);
    }
    fputs("name", file.stream);
    for (int j = 0; j < t->map.n + t->map.n_u; j++) {
        fprintf(file.stream, ",%s", j < t->map.n ? t->row[j] : t->column[j - t->map.n]);
    }
    fputc('\n', file.stream);
    for (int i = 0; i < t->map.n; i++) {
        fputs(t->row[i], file.stream);
        for (int j = 0; j < t->map.n; j++) {
            fprintf(file.stream, ",%.17g", t->map.A[(size_t)i * (size_t)t->map.n + (size_t)j]);
        }
        for (int j = 0; j < t->map.n_u; j++) {
            fprintf(file.stream, ",%.17g", t->map.B[(size_t)i * (size_t)t->map.n_u + (size_t)j]);
        }
        fputc('\n', file.stream);
    }
    return cri_atomic_commit(&file, &err) == CR_OK ? CLI_DONE : cli_error(&err);
}

static int write_hdf5(const task *t, const char *path, int at_step) {
    const cri_map map = {.n = t->map.n,
                         .n_u = t->map.n_u,
                         .A = t->map.A,
                         .B = t->map.B,
                         .state = t->row,
                         .control = t->column,
                         .scene = t->scene.path,
                         .law = t->scene.sim_options.law,
                         .dt = t->scene.dt,
                         .step = at_step};
    cr_error err = {0};
    char *bytes = NULL;
    size_t n_byte = 0;
    cri_atomic_file file;
    if (cri_hdf5_make_map(&map, path, &bytes, &n_byte, &err) != CR_OK) {
        return cli_error(&err);
    }
    cr_status status = cri_atomic_open(path, &file, &err);
    if (status == CR_OK) {
        // a short write shows at the commit
        fwrite(bytes, 1, n_byte, file.stream);
        status = cri_atomic_commit(&file, &err);
    }
    free(bytes);
    return status == CR_OK ? CLI_DONE : cli_error(&err);
}

static int write_matrices(const task *t, const cli_options *options) {
    const char *path = options->output;
    if (!path) {
        return CLI_DONE;
    }
    return cri_hdf5_is_name(path) ? write_hdf5(t, path, options->at_step) : write_csv(t, path);
}

static void put_matrix(const task *t, cri_report *report, const char *title, int n_col,
                       const double *value, const char *const *name) {
    if (n_col == 0 || n_col > PAGE_LIMIT) {
        cri_report_note(report, "%s has %d columns%s.", title, n_col,
                        n_col ? ", more than a page shows; -o FILE.csv writes them" : "");
        return;
    }
    cri_report_column column[PAGE_LIMIT + 1] = {{.name = ""}};
    cri_report_cell cell[PAGE_LIMIT + 1];
    for (int j = 0; j < n_col; j++) {
        column[j + 1] = (cri_report_column){.name = name[j], .kind = CRI_COLUMN_NUMBER};
    }
    cri_report_table(report, title, n_col + 1, column);
    for (int i = 0; i < t->map.n; i++) {
        cell[0] = (cri_report_cell){.text = t->row[i]};
        for (int j = 0; j < n_col; j++) {
            cell[j + 1] = (cri_report_cell){.value = value[(size_t)i * (size_t)n_col + (size_t)j]};
        }
        cri_report_row(report, cell);
    }
}

static int write_page(const task *t, const cli_options *options) {
    cri_report *report = NULL;
    int code = cli_report_open(options, "Linearisation", &t->scene, &report);
    if (code != CLI_DONE || !report) {
        return code;
    }
    char label[64];
    cri_grad_text(t->map.grad, label);
    cri_report_fact(report, "gradient", "%s", label);
    cri_report_fact(report, "after steps", "%d", options->at_step);
    cri_report_fact(report, "tangent coordinates", "%d", t->map.n);
    cri_report_fact(report, "controls", "%d", t->map.n_u);
    put_matrix(t, report, "A = dx'/dx", t->map.n, t->map.A, t->row);
    put_matrix(t, report, "B = dx'/du", t->map.n_u, t->map.B, t->column);
    return cli_report_close(options, report, CLI_DONE);
}

static int write_all(const task *t, const cli_options *options) {
    int code = write_matrices(t, options);
    cri_linear_result result = {.scene = t->scene.path,
                                .law = t->scene.sim_options.law,
                                .dt = t->scene.dt,
                                .at_step = options->at_step,
                                .map = &t->map,
                                .row = t->row,
                                .column = t->column};
    cr_error err = {0};
    if (code == CLI_DONE && options->json &&
        cri_result_linear(options->json, &result, &err) != CR_OK) {
        code = cli_error(&err);
    }
    return code == CLI_DONE ? write_page(t, options) : code;
}

static int run(const cli_options *options) {
    task t = {0};
    int code = options->output ? cli_check_format(options->output) : CLI_DONE;
    if (code == CLI_DONE) {
        code = cli_scene_begin(options, true, &t.scene, &t.sim);
    }
    if (code == CLI_DONE) {
        code = linearise(&t, options->at_step);
    }
    if (code == CLI_DONE) {
        code = name_all(&t);
    }
    if (code == CLI_DONE) {
        code = write_all(&t, options);
    }
    if (code == CLI_DONE) {
        print(&t, options);
    }
    cr_sim_destroy(t.sim);
    cli_scene_close(&t.scene);
    return code;
}

const cli_command cli_linearize = {
    .name = "linearize",
    .arguments = "SCENE [--at-step N]",
    .summary = "one step as matrices A and B",
    .help =
        "dx' = A dx + B du in tangent coordinates: BODY/dq[i] are changes of position, of which\n"
        "BODY/qvel[i] are the rates (a rotation vector in the body frame for a quaternion),\n"
        "then changes of the velocities.\n\n"
        "  --at-step N           linearise after N steps, else at the initial state\n"
        "  --dt S                length of the step in s, else the scene's\n"
        "  --law LAW             contact law, see 'carom laws'\n"
        "  --outside W           nets beyond their training: net (asked anyhow), analytic or stop\n"
        "  --smoothing K         derivatives of a smoothed contact law, cone and cone-reg only\n"
        "  --stepper NAME        located (impacts inside the step) or end (at its end)\n"
        "  --set NAME=VALUE      changes a parameter, x0:NAME or u:NAME; may be repeated\n"
        "  --key NAME            start from that keyframe, else from the first\n"
        "  --control FILE        controls over time, as for 'carom simulate'\n"
        "  --overlap refuse      stop when geoms overlap at the start; else that is said\n"
        "  --print               show both\n"
        "  -o FILE               A beside B as CSV, a row a tangent coordinate, or both as HDF5\n"
        "                        (.h5, .hdf5); - is standard output, as CSV\n"
        "  --json FILE           both as JSON\n"
        "  --report FILE.html    a page with both as tables\n",
    .known =
        CLI_JSON | CLI_RUN | CLI_CONTROL | CLI_AT_STEP | CLI_SMOOTHING | CLI_OUTPUT | CLI_REPORT,
    .takes = CLI_TAKES_INPUT,
    .n_word_least = 1,
    .n_word_most = 1,
    .run = run,
};
