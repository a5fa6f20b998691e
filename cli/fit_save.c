// SPDX-License-Identifier: MIT
//
// How a run of carom fit is saved and goes on.

#include "fit_save.h"

#include "base/io/checkpoint.h"

#include <stdio.h>
#include <string.h>

static const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static uint64_t hash_numbers(uint64_t h, int n, const double *value) {
    return cri_hash(h, value, (size_t)n * sizeof *value);
}

/// Recordings with their noise. Names of files do not count.
static uint64_t hash_data(const cri_fit_problem *problem) {
    uint64_t h = cri_hash(CRI_HASH_START, &problem->n_recording, sizeof problem->n_recording);
    for (int k = 0; k < problem->n_recording; k++) {
        const cri_recording *r = &problem->recording[k];
        const int sizes[] = {r->n_sample, r->n_column, r->sigma != NULL};
        h = cri_hash(h, sizes, sizeof sizes);
        h = cri_hash(h, r->x_index, (size_t)r->n_column * sizeof *r->x_index);
        h = hash_numbers(h, r->n_sample, r->time);
        h = hash_numbers(h, r->n_sample * r->n_column, r->value);
        if (r->cloud) {
            h = hash_numbers(h, 3 * r->n_sample * r->n_column, r->cloud);
        }
        h = r->sigma ? hash_numbers(h, r->n_column, r->sigma) : h;
    }
    return h;
}

static uint64_t hash_options(const cli_options *options, const cri_fit_problem *problem, int n_x) {
    uint64_t h = cri_hash_text(CRI_HASH_START, options->wrt);
    h = cri_hash(h, problem->is_x0_given, (size_t)n_x * sizeof *problem->is_x0_given);
    for (int j = 0; j < problem->selection->n_variable; j++) {
        const double bound[] = {problem->bound[j].lower, problem->bound[j].upper};
        h = hash_numbers(h, 2, bound);
    }
    for (int i = 0; i < problem->n_prior; i++) {
        const cri_prior *prior = &problem->prior[i];
        const double numbers[] = {prior->variable, prior->mean, prior->sigma};
        h = hash_numbers(h, 3, numbers);
    }
    const double numbers[] = {(double)problem->loss, problem->tuning, problem->n_held_out};
    return hash_numbers(h, 3, numbers);
}

int cli_fit_save(const cli_scene *scene, const cli_options *options, const cri_fit_problem *problem,
                 char label[CRI_JOURNAL_LABEL], cri_journal_def *def) {
    *def = (cri_journal_def){.file = options->plan.checkpoint, .label = label};
    def->part[CRI_JOURNAL_DATA] = hash_data(problem);
    def->part[CRI_JOURNAL_OPTIONS] = hash_options(options, problem, scene->sizes.n_x);
    char more[16] = "";
    if (problem->n_recording > 1) {
        snprintf(more, sizeof more, ", +%d", problem->n_recording - 1);
    }
    snprintf(label, CRI_JOURNAL_LABEL, "%.20s with %.20s%s", file_name(options->word[0]),
             file_name(options->word[1]), more);
    return cli_scene_hash(scene, options, &def->part[CRI_JOURNAL_SCENE]);
}
