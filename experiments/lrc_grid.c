// SPDX-License-Identifier: MIT
//
// Appendix A.2 of paper 002: two square grids of N^2 cells, two triangles each, on each other at a
// vanishing distance. The number of terms must grow with T, not with T^2.

#include "lrc.h"

#include "base/base.h"
#include "energy/longrange.h"

#include <math.h>
#include <stdlib.h>

// of the grids, in cells: a hundredth of a millimetre at one metre
#define GAP 1e-5

// terms and pairs of nodes for grids of N^2 cells
static cr_status count(int N, cri_longrange_result *result, cr_error *err) {
    int n_vertex = (N + 1) * (N + 1), n_triangle = 2 * N * N;
    double *vertex = malloc(sizeof *vertex * 3 * (size_t)n_vertex);
    int *triangle = malloc(sizeof *triangle * 3 * (size_t)n_triangle);
    cr_arena *arena = cri_arena_create(1 << 20);
    cr_status status = CR_ERR_MEMORY;
    if (vertex && triangle && arena) {
        for (int i = 0; i < n_vertex; i++) {
            int row = i / (N + 1), column = i % (N + 1);
            cri_v3_store(cri_v3(column, row, 0.0), vertex + 3 * (size_t)i);
        }
        for (int c = 0; c < N * N; c++) {
            int at = c / N * (N + 1) + c % N, *t = triangle + 6 * (size_t)c;
            int corner[6] = {at, at + 1, at + N + 2, at, at + N + 2, at + N + 1};
            for (int k = 0; k < 6; k++) {
                t[k] = corner[k];
            }
        }
        cri_sphere_tree tree;
        status = cri_sphere_tree_build(CRI_SPHERE_LAYERED, n_vertex, vertex, n_triangle, triangle,
                                       arena, &tree, err);
        cri_pose pose[2] = {{.R = {{1, 0, 0, 0, 1, 0, 0, 0, 1}}},
                            {{0.0, 0.0, GAP}, {{1, 0, 0, 0, 1, 0, 0, 0, 1}}}};
        cri_longrange_body body[2];
        cri_longrange_options options = cri_longrange_default();
        bool is_placed = status == CR_OK;
        for (int k = 0; k < 2 && is_placed; k++) {
            is_placed = cri_longrange_place(&tree, vertex, &pose[k], arena, &body[k]);
        }
        status = status == CR_OK && !is_placed ? CR_ERR_MEMORY : status;
        if (status == CR_OK) {
            cri_longrange_pair(&options, &body[0], &body[1], CRI_LONGRANGE_VALUE, NULL, result);
        }
    }
    free(vertex);
    free(triangle);
    cri_arena_destroy(arena);
    return status == CR_ERR_MEMORY ? cri_fail(err, status, 0, "no memory for a grid") : status;
}

static cr_status run(const cri_experiment *self, const cri_experiment_options *options,
                     cri_experiment_result *out, cr_error *err) {
    (void)self;
    int n_size = options->is_full ? 7 : 5;
    double last[2] = {0};
    for (int k = 0; k < n_size; k++) {
        int N = 2 << k;
        double T = 4.0 * N * N; // of both
        cri_progress_state state = {"grid", k, n_size, NAN};
        if (!cri_progress_tell(options->progress, &state)) {
            out->is_interrupted = true;
            break;
        }
        cri_longrange_result r;
        CR_TRY(count(N, &r, err));
        double n_term = r.n_exact + r.n_centred;
        cri_experiment_add(out, "terms", "lower", n_term, NAN, "T = %g, terms", T);
        cri_experiment_add(out, "terms", "lower", n_term / T, NAN, "T = %g, terms a triangle", T);
        cri_experiment_add(out, "pairs", "lower", 0.25 * T * T, NAN, "T = %g, all pairs", T);
        if (k > 0) {
            // the paper: O(T)
            cri_experiment_add(out, "", "match", log(n_term / last[0]) / log(T / last[1]), 1.0,
                               "T = %g, exponent of T from the last", T);
        }
        last[0] = n_term;
        last[1] = T;
    }
    return CR_OK;
}

const cri_experiment cri_lrc_grid = {
    .name = "lrc-grid",
    .summary = "paper 002, A.2: terms of two uniform grids against their triangles",
    .run = run,
};
