// SPDX-License-Identifier: MIT
//
// carom bench: speed, as ratios in one run and as instruction counts, both of which repeat on a
// shared machine where times do not.

#include "cli/commands.h"

#include "bench_boxes.h"
#include "bench_fit.h"
#include "bench_gas.h"
#include "bench_nets.h"
#include "bench_points.h"
#include "bench_process.h"
#include "bench_run.h"
#include "bench_scenes.h"
#include "bench_sdf.h"
#include "bench_solvers.h"
#include "bench_spheres.h"
#include "cli/report.h"
#include "cli/scene.h"
#include "cli/text.h"
#include "report/result.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// five laws with eight families and all, nine numbers each, two spheres twice, and three counts
#define ROW_LIMIT 512

// rollouts whose times are compared: long enough for the clock, repeated for the least time
#define RATIO_STEPS 1000
#define RATIO_REPEATS 30

// the long run, which must not need memory in proportion
#define LONG_STEPS 1000000
#define REAL_STEPS 100
#define REAL_REPEATS 5
#define LONG_REPEATS 2

// times that a scene is loaded
#define LOAD_REPEATS 30

// the lesser gas has this many hundred spheres
#define GAS_LAYERS 10

// recordings of the fit
#define FIT_RECORDINGS 100

// steps of an instruction count: 2 s of the bouncing ball
#define COUNT_STEPS 1000

// and of contact, whose Jacobians take their time under callgrind
#define CONTACT_STEPS 1000

typedef struct rows {
    int n;
    cri_bench_row row[ROW_LIMIT];
} rows;

/// Prints a row and keeps it for the JSON file.
__attribute__((format(printf, 4, 5))) static void add(rows *r, double value, const char *unit,
                                                      const char *format, ...) {
    if (r->n == ROW_LIMIT) {
        return;
    }
    cri_bench_row *row = &r->row[r->n++];
    *row = (cri_bench_row){.value = value, .unit = unit};
    va_list args;
    va_start(args, format);
    vsnprintf(row->name, sizeof row->name, format, args);
    va_end(args);
    // rows appear as they come: the largest of those so far that have the unit
    double largest = 0.0;
    for (int i = 0; i < r->n; i++) {
        bool is_same = strcmp(r->row[i].unit, unit) == 0;
        largest = is_same ? fmax(largest, fabs(r->row[i].value)) : largest;
    }
    printf("%-48s  %12.6g  %s\n", row->name, cli_shown(row->value, largest), row->unit);
    fflush(stdout);
}

static void add_ratios(rows *r, const cli_bench_times *times, const char *title) {
    add(r, times->gradient / times->forward, "ratio", "%s: gradient / forward", title);
    add(r, (times->recorded + times->gradient) / times->forward, "ratio",
        "%s: (value + gradient) / forward", title);
}

// ---- one function a benchmark ------------------------------------------------------------------

static int bench_gradient(const cli_options *options, rows *r) {
    (void)options;
    for (int i = 0; cli_bench_scene_at(i); i++) {
        const cli_bench_scene *scene = cli_bench_scene_at(i);
        char name[64];
        snprintf(name, sizeof name, "builtin:%s", scene->name);
        cli_bench_times times;
        int code = cli_bench_rollout(name, RATIO_STEPS, RATIO_REPEATS, &times);
        if (code != CLI_DONE) {
            return code;
        }
        add(r, 1e6 * times.forward / RATIO_STEPS, "us", "%s: step", scene->title);
        add_ratios(r, &times, scene->title);
    }
    return CLI_DONE;
}

static int bench_long(const cli_options *options, rows *r) {
    char self[4096];
    char steps[16];
    static char text[CLI_PROCESS_TEXT];
    snprintf(steps, sizeof steps, "%d", options->n_step > 0 ? options->n_step : LONG_STEPS);
    // a process of its own, so that its memory is that of this run alone
    const char *const argument[] = {self, "bench", "--work", "long", "builtin:ball", steps, NULL};
    if (!cli_process_self(self, sizeof self) || !cli_process_run(argument, text)) {
        return cli_failed("bench long: %.200s", text[0] ? text : "cannot start");
    }
    cli_bench_times times = {0};
    double peak = 0.0;
    if (sscanf(text, "%lf %lf %lf %lf", &times.forward, &times.recorded, &times.gradient, &peak) !=
        4) {
        return cli_failed("bench long: unexpected result %.80s", text);
    }
    add(r, times.forward, "s", "long run of %s steps: forward", steps);
    add_ratios(r, &times, "long run");
    add(r, peak, "MB", "long run: peak memory");
    return CLI_DONE;
}

static int bench_start(const cli_options *options, rows *r) {
    (void)options;
    double milliseconds = 0.0;
    int code = cli_bench_start(&milliseconds);
    if (code == CLI_DONE) {
        add(r, milliseconds, "ms", "start of process to first gradient");
    }
    return code;
}

static int bench_load(const cli_options *options, rows *r) {
    (void)options;
    double seconds = 0.0;
    int code = cli_bench_load("builtin:hopper", LOAD_REPEATS, &seconds);
    if (code == CLI_DONE) {
        add(r, 1e6 * seconds, "us", "hopper: load, from text to model");
    }
    return code;
}

static int bench_fit(const cli_options *options, rows *r) {
    (void)options;
    cli_bench_fit_result fit;
    int code = cli_bench_fit(FIT_RECORDINGS, &fit);
    if (code != CLI_DONE) {
        return code;
    }
    const char *title = "fit of 100 recordings";
    add(r, fit.seconds, "s", "%s: time on %d threads", title, fit.n_thread);
    add(r, fit.processor, "s", "%s: processor time", title);
    add(r, fit.n_iteration, "", "%s: iterations", title);
    add(r, fit.rms, "sigma", "%s: rms residual", title);
    add(r, fit.worst_shared, "stderr", "%s: largest shared error", title);
    add(r, fit.own_spread, "stderr", "%s: initial values, rms", title);
    add(r, fit.own_covered, "", "%s: within 2 stderr", title);
    return CLI_DONE;
}

static int bench_gas(const cli_options *options, rows *r) {
    (void)options;
    cli_bench_gas_result small;
    cli_bench_gas_result large;
    int code = cli_bench_gas(GAS_LAYERS, &small);
    if (code == CLI_DONE) {
        code = cli_bench_gas(2 * GAS_LAYERS, &large);
    }
    if (code == CLI_DONE) {
        add(r, 1e6 * small.flight, "us", "1000 spheres, no impact: step");
        add(r, large.flight / small.flight, "ratio", "2000 / 1000 spheres, no impact: step");
        add(r, 1e6 * small.step, "us", "1000 spheres, %.3g impacts a step: step", small.impact);
        add(r, large.step / small.step, "ratio", "2000 / 1000 spheres, %.3g impacts a step: step",
            large.impact);
        add(r, large.load / small.load, "ratio", "2000 / 1000 spheres: load");
    }
    return code;
}

static int bench_boxes(const cli_options *options, rows *r) {
    (void)options;
    static const char *const name[] = {"on the floor", "in eight stacks"};
    int code = CLI_DONE;
    for (int k = CLI_BOXES_FLOOR; k <= CLI_BOXES_STACKS && code == CLI_DONE; k++) {
        cli_bench_boxes_result boxes;
        code = cli_bench_boxes((cli_boxes)k, &boxes);
        if (code == CLI_DONE) {
            add(r, 1e3 * boxes.step, "ms", "32 boxes %s, %d contacts: step", name[k],
                boxes.n_contact);
            add(r, 1e3 * boxes.jacobian, "ms", "32 boxes %s: step, full Jacobian", name[k]);
        }
    }
    return code;
}

static int bench_nets(const cli_options *options, rows *r) {
    (void)options;
    cli_bench_nets_result nets;
    int code = cli_bench_nets(&nets);
    if (code == CLI_DONE) {
        add(r, 1e-9 * nets.small_product, "Gflop/s", "product 32 x 100 x 100");
        add(r, 1e-9 * nets.large_product, "Gflop/s", "product 200 x 256 x 256, %s",
            nets.has_blas ? "BLAS" : "own loop");
        add(r, 1e9 * nets.logistic, "ns", "logistic function");
        add(r, 1e9 * nets.softplus, "ns", "softplus, value and slope");
        add(r, 1e6 * nets.forward, "us", "potential 1-500-1, 32 rows: gradient");
        add(r, 1e6 * nets.vjp, "us", "potential 1-500-1, 32 rows: vjp of it");
        add(r, 1e6 * nets.contact, "us", "contact net 2-100-100-1, 32 rows: value, vjp");
        add(r, 1e6 * nets.batch, "us", "both nets, 32 windows of 10 steps, Adam");
    }
    return code;
}

// windows of four steps with their adjoints, no potential
static int bench_points(const cli_options *options, rows *r) {
    (void)options;
    static const struct {
        const char *name;
        int n, B;
    } kind[] = {{"bp5", 0, 200}, {"bd5", 0, 200},  {"cp3", 0, 200}, {"gyro", 0, 200},
                {"rope", 50, 1}, {"rope", 100, 1}, {"rope", 200, 1}};
    int code = CLI_DONE;
    for (size_t k = 0; k < sizeof kind / sizeof *kind && code == CLI_DONE; k++) {
        cli_bench_points_result p;
        code = cli_bench_points(kind[k].name, kind[k].n, kind[k].B, &p);
        if (code == CLI_DONE) {
            add(r, 1e3 * p.smooth, "ms", "%s, %d coordinates, batch %d: window, smooth",
                kind[k].name, p.n_dof, kind[k].B);
            add(r, 1e3 * p.contact, "ms",
                "%s, %d coordinates, %.2g contacts a step: window, contact", kind[k].name, p.n_dof,
                p.per_row);
        }
    }
    return code;
}

// says why a scene cannot be read, before time is spent on others
static int check_scene(const char *scene) {
    cr_model *model = NULL;
    cr_error err = {0};
    if (cr_model_load(scene, &model, &err) != CR_OK) {
        return cli_error(&err);
    }
    cr_model_destroy(model);
    return CLI_DONE;
}

// value and gradient of one simulated second, in times of real time
static int bench_real_time(const char *scene, const char *title, rows *r) {
    cli_bench_times times;
    int code = cli_bench_rollout(scene, REAL_STEPS, REAL_REPEATS, &times);
    if (code == CLI_DONE) {
        double all = (times.recorded + times.gradient) / (REAL_STEPS * times.dt);
        add(r, 1.0 / all, "x", "%s, with gradient: real time over time", title);
    }
    return code;
}

static int bench_sdf(const cli_options *options, rows *r) {
    cli_bench_sdf_result sdf;
    int code = CLI_DONE;
    for (int i = 1; i < options->n_word && code == CLI_DONE; i++) {
        code = check_scene(options->word[i]);
    }
    code = code == CLI_DONE ? cli_bench_sdf(&sdf) : code;
    for (int k = 0; k < CLI_SDF_SURFACES && code == CLI_DONE; k++) {
        double all = sdf.surface[k].surface + sdf.surface[k].mass + sdf.surface[k].adjoint;
        add(r, 1e3 * sdf.surface[k].surface, "ms", "%s, 128^3, %d triangles: surface",
            sdf.surface[k].name, sdf.surface[k].n_face);
        add(r, 1e3 * all, "ms", "%s: surface, mass, adjoint", sdf.surface[k].name);
    }
    for (int k = 0; k < CLI_SDF_PAIRS && code == CLI_DONE; k++) {
        add(r, 1e3 * sdf.pair[k].collide, "ms", "%s, %d + %d triangles, %d touches",
            sdf.pair[k].name, sdf.pair[k].n_face[0], sdf.pair[k].n_face[1], sdf.pair[k].n_touch);
        add(r, 1e3 * sdf.pair[k].adjoint, "ms", "%s: adjoint of all touches", sdf.pair[k].name);
    }
    if (code == CLI_DONE) {
        add(r, 1e3 * sdf.grid, "ms", "64^3 grid of a mesh of %d triangles", sdf.grid_faces);
    }
    for (int i = 0; cli_bench_field_at(i) && code == CLI_DONE; i++) {
        char name[64];
        snprintf(name, sizeof name, "builtin:%s", cli_bench_field_at(i)->name);
        code = bench_real_time(name, cli_bench_field_at(i)->title, r);
    }
    for (int i = 1; i < options->n_word && code == CLI_DONE; i++) {
        code = bench_real_time(options->word[i], options->word[i], r);
    }
    return code;
}

static int bench_ir(const cli_options *options, rows *r) {
    cli_bench_count count = {.work = "steps",
                             .stepper = options->stepper,
                             .law = options->law,
                             .n_step = options->n_step > 0 ? options->n_step : COUNT_STEPS};
    double instructions = 0.0;
    if (options->n_word > 1) {
        count.scene = options->word[1];
        int code = cli_bench_instructions(&count, &instructions, NULL);
        if (code == CLI_DONE) {
            add(r, instructions, "Ir/step", "%.50s", options->word[1]);
        }
        return code;
    }
    for (int i = 0; cli_bench_scene_at(i); i++) {
        const cli_bench_scene *scene = cli_bench_scene_at(i);
        char name[64];
        snprintf(name, sizeof name, "builtin:%s", scene->name);
        count.scene = name;
        int code = cli_bench_instructions(&count, &instructions, NULL);
        if (code != CLI_DONE) {
            return code;
        }
        add(r, instructions, "Ir/step", "%s", scene->title);
        if (scene->mujoco_ir > 0.0) {
            add(r, scene->mujoco_ir, "Ir/step", "%s, MuJoCo 3.12.1 as measured", scene->title);
        }
    }
    return CLI_DONE;
}

static int bench_solvers(const cli_options *options, rows *r) {
    return cli_bench_solvers(options, ROW_LIMIT, r->row, &r->n);
}

/// Three counts of one scene, and what derivatives cost in steps.
static int count_contact(const cli_options *options, const char *scene, rows *r) {
    static const char *const work[] = {"steps", "gradient", "jacobian"};
    const char *slash = strrchr(scene, '/');
    const char *name = slash ? slash + 1 : scene;
    double ir[3];
    int n_refused = 0;
    if (check_scene(scene) != CLI_DONE) {
        return CLI_FAILED;
    }
    for (int k = 0; k < 3; k++) {
        cli_bench_count count = {.work = work[k],
                                 .scene = scene,
                                 .stepper = options->stepper ? options->stepper : "end",
                                 .law = options->law,
                                 .n_step = options->n_step > 0 ? options->n_step : CONTACT_STEPS};
        int code = cli_bench_instructions(&count, &ir[k], &n_refused);
        if (code != CLI_DONE) {
            return code;
        }
    }
    add(r, ir[0], "Ir/step", "%.30s: step", name);
    add(r, ir[1], "Ir/step", "%.30s: step, adjoint", name);
    add(r, ir[2], "Ir/step", "%.30s: step, full Jacobian", name);
    add(r, ir[1] / ir[0], "ratio", "%.30s: (step, adjoint) / step", name);
    add(r, ir[2] / ir[0], "ratio", "%.30s: (step, Jacobian) / step", name);
    if (n_refused > 0) {
        add(r, n_refused, "steps", "%.30s: without a derivative", name);
    }
    return CLI_DONE;
}

static int bench_contact(const cli_options *options, rows *r) {
    int code = CLI_DONE;
    for (int i = 1; i < options->n_word && code == CLI_DONE; i++) {
        code = count_contact(options, options->word[i], r);
    }
    return code;
}

static const struct {
    const char *name;
    int (*run)(const cli_options *options, rows *r);
} benches[] = {
    {"gradient", bench_gradient}, {"long", bench_long},
    {"start", bench_start},       {"load", bench_load},
    {"gas", bench_gas},           {"boxes", bench_boxes},
    {"nets", bench_nets},         {"points", bench_points},
    {"sdf", bench_sdf},           {"ir", bench_ir},
    {"solvers", bench_solvers},   {"contact", bench_contact},
    {"fit", bench_fit},
};

// ---- command -----------------------------------------------------------------------------------

/// What a benchmark starts this program for: --work KIND SCENE STEPS.
static int run_work(const cli_options *options) {
    const char *scene = options->n_word == 2 ? options->word[0] : "";
    long n_step = options->n_word == 2 ? strtol(options->word[1], NULL, 10) : 0;
    if (n_step < 1 || n_step > INT_MAX) {
        return cli_usage("--work %.20s: expected SCENE STEPS", options->work);
    }
    static const char *const work[] = {"steps", "gradient", "jacobian"};
    for (int k = 0; k < 3; k++) {
        if (strcmp(options->work, work[k]) == 0) {
            return cli_bench_steps(options, scene, (int)n_step, (cli_bench_work)k);
        }
    }
    if (strcmp(options->work, "solvers") == 0) {
        return cli_bench_solves(scene, (int)n_step);
    }
    bool is_vjp = strcmp(options->work, "spheres-vjp") == 0;
    if (is_vjp || strcmp(options->work, "spheres") == 0) {
        return cli_bench_spheres_work(scene, is_vjp, (int)n_step);
    }
    cli_bench_times times;
    int code = cli_bench_rollout(scene, (int)n_step, LONG_REPEATS, &times);
    if (code == CLI_DONE) {
        printf("%.9g %.9g %.9g %.9g\n", times.forward, times.recorded, times.gradient,
               cli_bench_peak_mb());
    }
    return code;
}

/// Are there as many scenes as the benchmark takes?
static int check_words(const cli_options *options, const char *name) {
    bool is_solvers = name && strcmp(name, "solvers") == 0;
    bool is_contact = name && strcmp(name, "contact") == 0;
    bool is_sdf = name && strcmp(name, "sdf") == 0;
    bool is_ir = name && strcmp(name, "ir") == 0;
    if (is_contact && options->n_word < 2) {
        return cli_usage("'carom bench contact' needs a scene");
    }
    if (!is_contact && !is_solvers && !is_sdf && options->n_word > (is_ir ? 2 : 1)) {
        return cli_usage("only 'carom bench ir' takes a scene, 'carom bench contact' and 'sdf' "
                         "several, and 'carom bench solvers' files");
    }
    for (int i = 1; i < options->n_word; i++) {
        if (strcmp(options->word[i], "-") == 0) {
            return cli_usage(
                "carom bench %.20s -: scenes are read several times; give a file's name", name);
        }
    }
    bool has_problems =
        options->n_problem > 0 || options->keep || options->use_families || options->seed > 0;
    if (has_problems && !is_solvers) {
        return cli_usage("--problems, --seed, --keep and --families are for 'carom bench solvers'");
    }
    return CLI_DONE;
}

/// The page of --report: the rows as a table.
static int write_page(const cli_options *options, const rows *r) {
    cri_report *report = NULL;
    int code = cli_report_open(options, "Benchmarks", NULL, &report);
    const cri_report_column column[] = {
        {.name = "what"}, {.name = "value", .kind = CRI_COLUMN_NUMBER}, {.name = "unit"}};
    cri_report_table(report, "Benchmarks", 3, column);
    for (int i = 0; i < r->n; i++) {
        const cri_bench_row *row = &r->row[i];
        cri_report_row(report,
                       (cri_report_cell[]){{row->name, 0.0}, {NULL, row->value}, {row->unit, 0.0}});
    }
    return cli_report_close(options, report, code);
}

static int run(const cli_options *options) {
    if (options->work) {
        return run_work(options);
    }
    const char *name = options->n_word > 0 ? options->word[0] : NULL;
    int code = check_words(options, name);
    if (code != CLI_DONE) {
        return code;
    }
    static rows r;
    for (size_t i = 0; i < sizeof benches / sizeof *benches; i++) {
        if (!name && benches[i].run == bench_ir && !cli_bench_has_valgrind()) {
            (void)cli_note(options, "no instruction counts: valgrind is not installed");
        } else if (!name || strcmp(benches[i].name, name) == 0) {
            int own = benches[i].run(options, &r);
            code = own > code ? own : code;
        }
    }
    cr_error err = {0};
    if (code == CLI_DONE && options->json &&
        cri_result_bench(options->json, r.n, r.row, &err) != CR_OK) {
        code = cli_error(&err);
    }
    return code == CLI_DONE ? write_page(options, &r) : code;
}

const cli_command cli_bench = {
    .name = "bench",
    .arguments = "[NAME [SCENE | FILE]...]",
    .summary = "speed, as ratios in one run",
    .help =
        "  carom bench fit               100 recordings, 5 shared and 1300 initial values\n"
        "  carom bench gradient          gradient of a rollout against the rollout\n"
        "  carom bench long              1,000,000 steps: gradient and memory\n"
        "  carom bench start             start of the process to the first gradient\n"
        "  carom bench load              a robot scene, from text to model\n"
        "  carom bench gas               1000 and 2000 spheres that fly about in a box\n"
        "  carom bench boxes             32 boxes in contact: step and full Jacobian\n"
        "  carom bench nets              products, activations and vjps of nets\n"
        "  carom bench points            systems of points: windows with their adjoints\n"
        "  carom bench sdf [SCENE]...    distance fields: surface, mass, grid, contact, bounces\n"
        "  carom bench ir [SCENE]        instructions a step; needs valgrind\n"
        "  carom bench solvers [FILE]... contact laws on random problems, or on files\n"
        "  carom bench contact SCENE...  likewise with adjoint and full Jacobian, end of step\n"
        "\n"
        "  --steps N                     steps of long, ir and contact\n"
        "  --stepper NAME, --law NAME    of ir and contact; --law of solvers, without: all\n"
        "  --problems N                  solvers: problems a law\n"
        "  --seed K                      solvers: the first seed\n"
        "  --families                    solvers: a row for each family too\n"
        "  --keep DIR                    solvers: writes what is not solved there\n"
        "  --json FILE                   the rows as JSON\n"
        "  --report FILE.html            a page with the rows as a table\n",
    .known = CLI_JSON | CLI_STEPS | CLI_WORK | CLI_STEPPER | CLI_LAW | CLI_PROBLEMS | CLI_REPORT,
    .takes = CLI_TAKES_INPUT,
    .words = "fit gradient long start load gas boxes nets points sdf ir solvers contact",
    .n_word_least = 0,
    .n_word_most = CLI_WORD_LIMIT,
    .run = run,
};
