// SPDX-License-Identifier: MIT
//
// The page of a comparison of contact laws.

#pragma once

#include "aim.h"
#include "optimize/differ.h"

/// What a comparison has left behind.
typedef struct cli_compare_result {
    const cli_scene *scene;
    const cli_aim *run;
    const cri_compare *compare;
    const cri_differ *differ;
} cli_compare_result;

/// Writes the page that the options ask for. Returns an exit code.
int cli_compare_page(const cli_options *options, const cli_compare_result *result);
