// SPDX-License-Identifier: MIT
//
// The table of contact laws: one line each.

#include "contact/law.h"

#include "base/base.h"
#include "contact/augmented.h"
#include "contact/impulse_law.h"
#include "energy/potential_law.h"
#include "energy/soft.h"

#include <string.h>

static const cri_law *const laws[] = {
    &cri_law_ncp, &cri_law_ncp_poisson, &cri_law_cone, &cri_law_cone_reg, &cri_law_lcp,
};

static const cri_law *const learned[] = {&cri_law_augmented, &cri_law_regressed};

static const cri_law *const stepped[] = {
    &cri_law_soft, &cri_law_longrange, &cri_law_ipc,     &cri_law_ipc_descent,
    &cri_law_sdrs, &cri_law_rough,     &cri_law_penalty,
};

const cri_law *cri_law_at(int i) {
    int n = (int)(sizeof laws / sizeof laws[0]);
    return i >= 0 && i < n ? laws[i] : NULL;
}

const cri_law *cri_law_learned_at(int i) {
    int n = (int)(sizeof learned / sizeof learned[0]);
    return i >= 0 && i < n ? learned[i] : NULL;
}

const cri_law *cri_law_find(const char *name) {
    CR_ASSERT(name);
    for (int i = 0; cri_law_at(i); i++) {
        if (strcmp(laws[i]->name, name) == 0) {
            return laws[i];
        }
    }
    for (int i = 0; cri_law_learned_at(i); i++) {
        if (strcmp(learned[i]->name, name) == 0) {
            return learned[i];
        }
    }
    return NULL;
}

const cri_law *cri_law_stepped_at(int i) {
    int n = (int)(sizeof stepped / sizeof stepped[0]);
    return i >= 0 && i < n ? stepped[i] : NULL;
}

const cri_law *cri_law_find_any(const char *name) {
    CR_ASSERT(name);
    for (int i = 0; cri_law_stepped_at(i); i++) {
        if (strcmp(stepped[i]->name, name) == 0) {
            return stepped[i];
        }
    }
    return cri_law_find(name);
}
