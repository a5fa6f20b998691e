// SPDX-License-Identifier: MIT
//
// The result of training the nets of contact patches as JSON.

#pragma once

#include "learned/augmented.h"

typedef struct cri_nets_result {
    const char *scene;
    const char *law;                     // that labelled
    const cri_ground_sampling *sampling; // NULL: recordings
    const cri_ground_nets *nets;
    const cri_augmented_score *score; // (CRI_GROUND_KINDS)
    const cri_augmented_score *pdd;   // (CRI_GROUND_KINDS) the rival's
    double seconds;
} cri_nets_result;

/// {"system", "scene", "law", "body", "surface", "sampling": {"along", "closing", "opening"} or
/// null, "kinds": [{"kind", "spin", "train", "test", "accuracy", "confusion": [[..] by label],
/// "friction", "impulse_pdd"}], "seconds"}; spin is null where states were recorded
CR_MUST_CHECK cr_status cri_result_nets(const char *path, const cri_nets_result *result,
                                        cr_error *err);
