// SPDX-License-Identifier: MIT
//
// The laws `ncp` (Newton restitution) and `ncp-poisson` (Poisson restitution).

#pragma once

#include "contact/law.h"

extern const cri_law cri_law_ncp;
extern const cri_law cri_law_ncp_poisson;
