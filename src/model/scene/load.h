// SPDX-License-Identifier: MIT
//
// Scenes with nets that are not in a file.

#pragma once

#include "carom/carom.h"

/// As cr_model_load, with the nets of learned contact laws, which are copied. They take the place
/// of those that the scene names.
CR_MUST_CHECK cr_status cri_model_load_with(const char *path, struct cri_ground_nets *nets,
                                            cr_model **out, cr_error *err);

/// As cr_model_parse.
CR_MUST_CHECK cr_status cri_model_parse_with(const char *text, size_t n_byte, const char *name,
                                             struct cri_ground_nets *nets, cr_model **out,
                                             cr_error *err);
