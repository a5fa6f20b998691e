// SPDX-License-Identifier: MIT
//
// What every command that runs a scene begins with.

#define _POSIX_C_SOURCE 200809L

#include "scene.h"

#include "commands.h"

#include "base/io/checkpoint.h"
#include "base/io/file.h"
#include "base/io/hdf5_file.h"
#include "base/io/number.h"
#include "model/model.h"
#include "optimize/controls.h"
#include "sim/search.h"
#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *cli_stepper_name(int i) {
    return cri_stepper_at(i) ? cri_stepper_at(i)->name : NULL;
}

int cli_scene_bounds(const cli_options *options, const cri_selection *selection,
                     cri_domain *domain) {
    cr_error err = {0};
    for (int i = 0; i < options->n_bound; i++) {
        if (cri_controls_bound(selection, options->bound[i], domain, &err) != CR_OK) {
            return cli_error_in("--bound", &err);
        }
    }
    return CLI_DONE;
}

int cli_error(const cr_error *err) {
    return cli_failed("%s", err->text);
}

int cli_error_in(const char *option, const cr_error *err) {
    bool is_usage = err->status == CR_ERR_ARGUMENT;
    return is_usage ? cli_usage("%s %s", option, err->text) : cli_error(err);
}

double cli_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// overlaps from here on are no rounding, m: the simulator opens them slowly (sim/motion.c)
#define OVERLAP_LEAST 1e-6

// a name without an extension, such as a device, is CSV
int cli_check_format(const char *path) {
    const char *dot = cli_extension(path);
    bool is_known = !dot || strcmp(dot, ".csv") == 0 || cri_hdf5_is_name(path);
    return is_known
               ? CLI_DONE
               : cli_usage("-o %.80s: it is written as .csv, .h5 or .hdf5, not %.20s", path, dot);
}

// ---- options -----------------------------------------------------------------------------------

static int refuse_value(const cli_scene *scene, const cri_selection *selection, const char *text,
                        double value) {
    for (int i = 0; i < selection->n_variable; i++) {
        cri_domain domain = cri_selection_domain(selection, scene->model, i);
        bool is_low = domain.is_open ? value <= domain.lower : value < domain.lower;
        if (is_low) {
            return cli_usage("--set %.80s: must be %s %g", text,
                             domain.is_open ? "above" : "at least", domain.lower);
        }
        if (value > domain.upper) {
            return cli_usage("--set %.80s: must be at most %g", text, domain.upper);
        }
    }
    return CLI_DONE;
}

/// Takes one NAME=VALUE.
static int set_value(cli_scene *scene, const char *text) {
    const char *equals = strchr(text, '=');
    size_t n = equals ? (size_t)(equals - text) : 0;
    char *name = CR_PUSH(scene->memory, char, n + 1);
    if (!name) {
        return cli_failed("no memory for --set");
    }
    memcpy(name, text, n);
    double value = 0.0;
    if (!equals || cri_number_parse(equals + 1, strlen(equals + 1), &value) != CRI_NUMBER_OK) {
        return cli_usage("--set %.80s: expected NAME=VALUE with a number", text);
    }
    cr_error err = {0};
    cri_selection *selection = NULL;
    if (cri_selection_create(scene->model, name, &selection, &err) != CR_OK) {
        return cli_error_in("--set", &err);
    }
    int code = refuse_value(scene, selection, text, value);
    for (int i = 0; i < selection->n_variable && code == CLI_DONE; i++) {
        const cri_variable_place *place = &selection->variable[i].place[0];
        if (place->step >= 0) {
            code = cli_usage("--set %.80s: a single step cannot be set", text);
        } else {
            double *to[] = {scene->p, scene->x0, scene->u};
            to[place->vector][place->index] = value;
            scene->has_control = scene->has_control || place->vector == CR_VECTOR_U;
        }
    }
    cri_selection_destroy(selection);
    return code;
}

static int find_key(const cli_scene *scene, const char *name, int *key) {
    *key = -1;
    if (!name) {
        return CLI_DONE;
    }
    *key = cr_model_find_key(scene->model, name);
    if (*key < 0) {
        return cli_usage("--key %.80s: %.80s has %d keyframes, none of that name", name,
                         scene->path, scene->sizes.n_key);
    }
    return CLI_DONE;
}

static int read_control(cli_scene *scene, const char *path) {
    cr_error err = {0};
    if (cri_control_read(scene->model, path, &scene->table, &err) != CR_OK) {
        return cli_error(&err);
    }
    scene->has_table = true;
    scene->has_control = true;
    return CLI_DONE;
}

/// Fills all but the model.
static int settle(const cli_options *options, cli_scene *scene) {
    scene->sizes = cr_model_sizes(scene->model);
    scene->sim_options = cr_sim_options_default(scene->model);
    scene->sim_options.law = options->law ? options->law : scene->sim_options.law;
    // a law of the command line brings its stepper, whatever the scene says
    bool keeps = !options->law || !cri_law_find_any(options->law) ||
                 !cri_law_find_any(options->law)->stepper;
    const char *stepper = options->stepper ? options->stepper
                          : keeps          ? scene->sim_options.stepper
                                           : NULL;
    const cri_stepper *found = cri_stepper_of(scene->sim_options.law, stepper);
    scene->sim_options.stepper = found && !scene->model->system_kind ? found->name : stepper;
    scene->sim_options.smoothing = options->smoothing;
    scene->sim_options.outside = options->outside;
    scene->sim_options.surrogate = options->surrogate;
    scene->dt = options->dt > 0.0 ? options->dt : scene->sizes.dt;
    scene->memory = cri_arena_create(1 << 14);
    if (scene->memory) {
        scene->p = CR_PUSH(scene->memory, double, scene->sizes.n_p);
        scene->x0 = CR_PUSH(scene->memory, double, scene->sizes.n_x);
        scene->u = CR_PUSH(scene->memory, double, scene->sizes.n_u);
    }
    if (!scene->p || !scene->x0 || !scene->u) {
        return cli_failed("%.80s: no memory", scene->path);
    }
    int key = -1;
    int code = find_key(scene, options->key, &key);
    if (code != CLI_DONE) {
        return code;
    }
    cr_model_defaults(scene->model, key, scene->p, scene->x0, scene->u);
    for (int i = 0; i < scene->sizes.n_u; i++) {
        scene->has_control = scene->has_control || scene->u[i] != 0.0;
    }
    for (int i = 0; i < options->n_set && code == CLI_DONE; i++) {
        code = set_value(scene, options->set[i]);
    }
    return code == CLI_DONE && options->control ? read_control(scene, options->control) : code;
}

// ---- scene -------------------------------------------------------------------------------------

int cli_scene_open(const char *path, const cli_options *options, cli_scene *out) {
    *out = (cli_scene){.path = path};
    cr_error err = {0};
    if (cr_model_load(path, &out->model, &err) != CR_OK) {
        return cli_error(&err);
    }
    const char *warning = cr_model_warning(out->model);
    if (warning) {
        cli_warn("%s", warning);
    }
    return settle(options, out);
}

int cli_scene_parse(const char *name, const char *text, const cli_options *options,
                    cli_scene *out) {
    *out = (cli_scene){.path = name};
    cr_error err = {0};
    if (cr_model_parse(text, strlen(text), name, &out->model, &err) != CR_OK) {
        return cli_error(&err);
    }
    return settle(options, out);
}

void cli_scene_close(cli_scene *scene) {
    cri_control_clear(&scene->table);
    cri_arena_destroy(scene->memory);
    cr_model_destroy(scene->model);
    *scene = (cli_scene){0};
}

int cli_scene_sim(const cli_scene *scene, bool use_gradient, cr_sim **out) {
    cr_sim_options options = scene->sim_options;
    options.use_gradient = use_gradient;
    cr_error err = {0};
    *out = NULL;
    cr_sim *sim = NULL;
    cr_status status = cr_sim_create(scene->model, &options, &sim, &err);
    if (status != CR_OK) {
        // names of laws and steppers come from the command line, or the scene would not have loaded
        return status == CR_ERR_ARGUMENT ? cli_usage("%s", err.text) : cli_error(&err);
    }
    if (cr_sim_set_params(sim, scene->p, &err) != CR_OK) {
        cr_sim_destroy(sim);
        return cli_error(&err);
    }
    *out = sim;
    return CLI_DONE;
}

int cli_scene_check_overlap(const cli_scene *scene, cr_sim *sim, const cli_options *options) {
    CR_ASSERT(sim);
    cr_error err = {0};
    cri_overlap found = {0};
    if (cri_scan_overlap(sim, scene->x0, OVERLAP_LEAST, &found, &err) != CR_OK) {
        return cli_error(&err);
    }
    if (found.n_pair == 0) {
        return CLI_DONE;
    }
    char others[64] = "";
    if (found.n_pair > 1) {
        snprintf(others, sizeof others, ", the deepest of %d pairs", found.n_pair);
    }
    const char *const *name = scene->model->geom_name;
    bool is_refused = options->overlap && strcmp(options->overlap, "refuse") == 0;
    const char *a = name[found.geom[0]], *b = name[found.geom[1]];
    if (is_refused) {
        return cli_failed("%.60s and %.60s overlap by %.3g m at the start%s; move them apart "
                          "(pos, keyframe, --set x0:...)",
                          a, b, found.depth, others);
    }
    // an energy refuses the first step itself, or pushes overlaps apart as it does all else
    if (sim->world.law && sim->world.law->is_energy) {
        return CLI_DONE;
    }
    return cli_warn("%.60s and %.60s overlap by %.3g m at the start%s; this opens over eight "
                    "steps and leaves speed: move them apart (pos, keyframe, --set x0:...)",
                    a, b, found.depth, others);
}

int cli_scene_begin(const cli_options *options, bool use_gradient, cli_scene *scene, cr_sim **sim) {
    int code = cli_scene_open(options->word[0], options, scene);
    if (code == CLI_DONE) {
        code = cli_scene_sim(scene, use_gradient, sim);
    }
    return code == CLI_DONE ? cli_scene_check_overlap(scene, *sim, options) : code;
}

/// Refuses variables that stand for all steps of a control of the file.
static int check_constants(const cli_scene *scene, const cri_selection *selection) {
    for (int j = 0; j < selection->n_variable; j++) {
        const cri_variable_place *place = &selection->variable[j].place[0];
        for (int c = 0; c < scene->table.n_col; c++) {
            if (place->vector == CR_VECTOR_U && place->step < 0 &&
                place->index == scene->table.index[c]) {
                return cli_usage("%.80s: --control gives it a value every step; name one, such as "
                                 "%.80s[0]",
                                 selection->variable[j].name, selection->variable[j].name);
            }
        }
    }
    return CLI_DONE;
}

int cli_scene_point(const cli_scene *scene, const cri_selection *selection,
                    const cri_schedule *schedule, bool is_start, cri_point *out) {
    cr_error err = {0};
    cr_status status =
        scene->has_table
            ? cri_point_push_rows(selection, schedule->n_step, scene->memory, out, &err)
            : cri_point_push(selection, schedule->n_step, scene->memory, out, &err);
    if (status != CR_OK) {
        return cli_error(&err);
    }
    cli_scene_fill(scene, out);
    if (!scene->has_table) {
        return CLI_DONE;
    }
    cri_control_rows(&scene->table, schedule->n_step, schedule->n_dt, schedule->dt, out->u);
    return is_start ? CLI_DONE : check_constants(scene, selection);
}

static int hash_file(const char *path, uint64_t *hash) {
    char *text = NULL;
    size_t n_byte = 0;
    cr_error err = {0};
    if (cri_file_read(path, &text, &n_byte, &err) != CR_OK) {
        return cli_error(&err);
    }
    *hash = cri_hash(*hash, text, n_byte);
    free(text);
    return CLI_DONE;
}

int cli_scene_hash(const cli_scene *scene, const cli_options *options, uint64_t *out) {
    const cr_sizes *sizes = &scene->sizes;
    uint64_t h = CRI_HASH_START;
    int code = hash_file(scene->path, &h);
    if (code == CLI_DONE && options->control) {
        code = hash_file(options->control, &h);
    }
    h = cri_hash_text(h, CR_VERSION);
    h = cri_hash_text(h, scene->sim_options.law);
    h = cri_hash_text(h, scene->sim_options.stepper);
    h = cri_hash(h, &scene->dt, sizeof scene->dt);
    h = cri_hash(h, scene->p, (size_t)sizes->n_p * sizeof(double));
    h = cri_hash(h, scene->x0, (size_t)sizes->n_x * sizeof(double));
    *out = cri_hash(h, scene->u, (size_t)sizes->n_u * sizeof(double));
    return code;
}

void cli_scene_fill(const cli_scene *scene, cri_point *point) {
    const cr_sizes *sizes = &scene->sizes;
    memcpy(point->p, scene->p, (size_t)sizes->n_p * sizeof *point->p);
    memcpy(point->x0, scene->x0, (size_t)sizes->n_x * sizeof *point->x0);
    for (int row = 0; row < point->n_u_row; row++) {
        memcpy(point->u + (size_t)row * (size_t)sizes->n_u, scene->u,
               (size_t)sizes->n_u * sizeof *point->u);
    }
}
