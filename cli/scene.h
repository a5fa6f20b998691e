// SPDX-License-Identifier: MIT
//
// What every command that runs a scene begins with: the model, its start values, its simulator.

#pragma once

#include "base/arena.h"
#include "optimize/control_table.h"
#include "optimize/schedule.h"
#include "optimize/select.h"
#include "options.h"

typedef struct cli_scene {
    const char *path;
    cr_model *model;
    cr_sizes sizes;
    cr_sim_options sim_options;
    double dt;               // s
    double *p;               // (n_p) with --set
    double *x0;              // (n_x) of the key, with --set
    double *u;               // (n_u) of the key, with --set
    bool has_control;        // some u was set, or is not zero in the keyframe
    cri_control_table table; // of --control
    bool has_table;
    cr_arena *memory;
} cli_scene;

/// Loads the scene and takes what the options say. Returns an exit code, after a line on stderr
/// when it is not CLI_DONE. Close the scene in either case.
int cli_scene_open(const char *path, const cli_options *options, cli_scene *out);

/// As cli_scene_open, for a scene in memory.
int cli_scene_parse(const char *name, const char *text, const cli_options *options, cli_scene *out);

/// Releases the scene; sims of it must be gone.
void cli_scene_close(cli_scene *scene);

/// Makes a simulator with the scene's parameters set. Destroy it before the scene.
int cli_scene_sim(const cli_scene *scene, bool use_gradient, cr_sim **out);

/// Looks for geoms that overlap in the start state: one line on stderr about the deepest pair, and
/// CLI_FAILED when the options ask to refuse.
int cli_scene_check_overlap(const cli_scene *scene, cr_sim *sim, const cli_options *options);

/// Makes a point of the scene's start values, with the controls of --control when there are any. A
/// variable that stands for all steps of a control which the file gives is refused, unless is_start
/// says that those values are where a search begins.
int cli_scene_point(const cli_scene *scene, const cri_selection *selection,
                    const cri_schedule *schedule, bool is_start, cri_point *out);

/// What a command that runs a scene begins with: cli_scene_open, cli_scene_sim and
/// cli_scene_check_overlap.
int cli_scene_begin(const cli_options *options, bool use_gradient, cli_scene *scene, cr_sim **sim);

/// Copies the start values to a point; every row of its u gets the scene's.
void cli_scene_fill(const cli_scene *scene, cri_point *point);

/// Narrows domain (n_variable) by every --bound. Returns an exit code.
int cli_scene_bounds(const cli_options *options, const cri_selection *selection,
                     cri_domain *domain);

/// The line for a failure of the library. Returns CLI_USAGE for what the command line got wrong,
/// given by the option that it came from, else CLI_FAILED.
int cli_error(const cr_error *err);
int cli_error_in(const char *option, const cr_error *err);

/// A number that only equal scenes under equal options have: files, law, stepper, step, start
/// values.
int cli_scene_hash(const cli_scene *scene, const cli_options *options, uint64_t *out);

/// Refuses names of files that no motion is written to.
int cli_check_format(const char *path);

/// Seconds of a clock that only runs forwards.
double cli_seconds(void);
