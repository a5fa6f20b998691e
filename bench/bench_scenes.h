// SPDX-License-Identifier: MIT
//
// The scenes of the benchmarks, built in so that a figure means the same everywhere.

#pragma once

typedef struct cli_bench_scene {
    const char *name;
    const char *title;
    const char *text; // MJCF
    const char *body; // whose path is differentiated
    double mujoco_ir; // instructions a step of MuJoCo 3.12.1 on the like scene, 0: not known
} cli_bench_scene;

/// Scene number i, NULL behind the last.
const cli_bench_scene *cli_bench_scene_at(int i);

/// The same of those whose shapes are distance fields.
const cli_bench_scene *cli_bench_field_at(int i);

/// The scene called "builtin:NAME", NULL when text is not that.
const cli_bench_scene *cli_bench_scene_find(const char *text);
