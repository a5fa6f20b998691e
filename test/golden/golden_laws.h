// SPDX-License-Identifier: MIT
//
// The contact laws that meet closed forms, and how the golden tests run them.

#pragma once

#include "contact/law.h"

#include <string.h>

/// Law number i that has closed forms, NULL behind the last
static inline const char *hard_law(int i) {
    for (int k = 0; cri_law_at(k); k++) {
        bool is_soft = strcmp(cri_law_at(k)->name, "cone-reg") == 0;
        if (!is_soft && i-- == 0) {
            return cri_law_at(k)->name;
        }
    }
    return NULL;
}

static inline cr_sim_options options_of(const char *stepper, const char *law) {
    return (cr_sim_options){.stepper = stepper,
                            .law = law,
                            .eps_gap = 1e-9,
                            .eps_speed = 1e-6,
                            .eps_time = 1e-9,
                            .event_cap = 32,
                            .use_gradient = true};
}
