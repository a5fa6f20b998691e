// SPDX-License-Identifier: MIT
//
// carom version: which build this is, and what it has.

#include "commands.h"

#include "base/io/hdf5_file.h"
#include "base/nn/gemm.h"
#include "report/result.h"
#include "report/viewer_bundle.h"
#include "scene.h"
#include "version_commit.h" // made by cmake/commit.cmake at every build

#include <stdio.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#ifdef CAROM_HAS_AMD
#define HAS_AMD true
#else
#define HAS_AMD false
#endif

#ifdef CAROM_HAS_CMINPACK
#define HAS_CMINPACK true
#else
#define HAS_CMINPACK false
#endif

#ifdef CAROM_IS_MINIMAL
#define IS_MINIMAL true
#else
#define IS_MINIMAL false
#endif

static int count_threads(void) {
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 0;
#endif
}

static int run(const cli_options *options) {
    const struct {
        cri_build_part part;
        const char *use;
    } rows[] = {
        {{"HDF5", cri_hdf5_check("", NULL) == CR_OK}, "recordings and weights as .h5"},
        {{"AMD", HAS_AMD}, "speed of large piles"},
        {{"cminpack", HAS_CMINPACK}, "learned laws of mechanisms with joints"},
        {{"OpenBLAS", cri_gemm_has_blas()}, "speed of large nets"},
        {{"OpenMP", count_threads() > 0}, "threads"},
        {{"charts", cri_viewer_script_bytes > 0}, "curves and motions in reports"},
        {{"minimal", IS_MINIMAL}, "built with expat and jansson alone"},
    };
    enum { N_ROW = sizeof rows / sizeof *rows };
    cri_build_part part[N_ROW];
    printf("carom " CR_VERSION "\ncommit    %s\n", CAROM_COMMIT);
    for (int i = 0; i < N_ROW; i++) {
        part[i] = rows[i].part;
        printf("%-9s %-4s %s\n", part[i].name, part[i].is_there ? "yes" : "no", rows[i].use);
    }
    cr_error err = {0};
    return !options->json ||
                   cri_result_version(options->json, CAROM_COMMIT, N_ROW, part, &err) == CR_OK
               ? CLI_DONE
               : cli_error(&err);
}

const cli_command cli_version = {
    .name = "version",
    .arguments = "",
    .summary = "the version, its commit, and what the build has",
    .help =
        "HDF5 and OpenBLAS are looked for when the command runs. 'carom --version' is one line.\n\n"
        "  --json FILE           the same as JSON\n",
    .known = CLI_JSON,
    .n_word_least = 0,
    .n_word_most = 0,
    .run = run,
};
