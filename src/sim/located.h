// SPDX-License-Identifier: MIT
//
// Which touches make up an impact, and when exactly it happens.

#pragma once

#include "sim/search.h"

/// Has one of the units had its share of impacts in this step?
bool cri_is_capped(const cr_sim *sim, const cri_near *near);
