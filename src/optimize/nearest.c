// SPDX-License-Identifier: MIT
//
// Names that match a pattern, and the name that a mistyped one may have meant.

#include "optimize/nearest.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

// longer names are not compared: nobody mistypes them by hand
#define NAME_LIMIT 64

bool cri_name_matches(const char *pattern, const char *name) {
    const char *star = NULL;
    const char *resume = name;
    while (*name) {
        if (*pattern == '*') {
            star = pattern++;
            resume = name;
        } else if (*pattern == *name) {
            pattern++;
            name++;
        } else if (star) {
            // let the last star take one more character
            pattern = star + 1;
            name = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*') {
        pattern++;
    }
    return *pattern == '\0';
}

const char *cri_name_nearest(const cr_model *model, cr_vector vector, const char *text) {
    size_t length = strlen(text);
    if (length == 0 || length > NAME_LIMIT) {
        return NULL;
    }

    // a third of the characters may be wrong; beyond that a guess would only confuse
    int best = 2 + (int)length / 3;
    const char *nearest = NULL;
    for (int i = 0;; i++) {
        const char *name = cr_model_name(model, vector, i);
        if (!name) {
            return nearest;
        }
        if (strlen(name) > NAME_LIMIT) {
            continue;
        }
        int d = cri_text_distance(text, name);
        if (d < best) {
            best = d;
            nearest = name;
        }
    }
}
