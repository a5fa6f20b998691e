// SPDX-License-Identifier: MIT
//
// Laws that are energies, for the implicit step.

#pragma once

#include "contact/law.h"

extern const cri_law cri_law_longrange;
extern const cri_law cri_law_ipc;
extern const cri_law cri_law_ipc_descent;
extern const cri_law cri_law_sdrs;
extern const cri_law cri_law_rough;
extern const cri_law cri_law_penalty;
