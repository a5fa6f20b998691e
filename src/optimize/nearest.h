// SPDX-License-Identifier: MIT
//
// Names that match a pattern, and the name that a mistyped one may have meant.

#pragma once

#include "base/base.h"

/// True when name fits pattern, in which each * stands for any characters, none included.
bool cri_name_matches(const char *pattern, const char *name);

/// The name of the vector that differs from text by the fewest insertions, deletions, replacements
/// and swaps of neighbours, or NULL when none is near. Valid as long as the model.
const char *cri_name_nearest(const cr_model *model, cr_vector vector, const char *text);
