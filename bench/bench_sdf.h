// SPDX-License-Identifier: MIT
//
// carom bench sdf: surfaces of distance fields, grids of meshes, and contact of fields.

#pragma once

#include "cli/options.h"

enum { CLI_SDF_SURFACES = 4, CLI_SDF_PAIRS = 3 };

/// Least processor seconds of several runs.
typedef struct cli_bench_sdf_result {
    struct {
        const char *name;
        int n_face;
        double surface; // samples where they matter and marching cubes, 128^3
        double mass;    // volume, centre and inertia
        double adjoint; // of these, back to the parameters of the field
    } surface[CLI_SDF_SURFACES];
    struct {
        const char *name;
        int n_face[2], n_touch;
        double collide;
        double adjoint; // of all its touches
    } pair[CLI_SDF_PAIRS];
    int grid_faces;
    double grid; // 64 samples along the longest side
} cli_bench_sdf_result;

/// Returns an exit code.
int cli_bench_sdf(cli_bench_sdf_result *out);
