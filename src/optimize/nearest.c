// SPDX-License-Identifier: MIT
//
// Names that match a pattern, and the name that a mistyped one may have meant.
//
// Distance of two names (optimal string alignment), over prefixes of lengths i and j:
//   d(i, j) = min( d(i-1, j) + 1, d(i, j-1) + 1, d(i-1, j-1) + [a_i != b_j],
//                  d(i-2, j-2) + 1 when the last two characters are swapped )

#include "optimize/nearest.h"

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

static int least(int a, int b) {
    return a < b ? a : b;
}

static int distance(const char *a, const char *b) {
    int n = (int)strlen(b);
    int rows[3][NAME_LIMIT + 1];
    int *before = rows[0]; // row i - 2
    int *above = rows[1];  // row i - 1
    int *row = rows[2];
    for (int j = 0; j <= n; j++) {
        row[j] = j;
    }
    for (int i = 1; a[i - 1]; i++) {
        int *oldest = before;
        before = above;
        above = row;
        row = oldest;
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int replaced = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = least(replaced, least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = least(row[j], before[j - 2] + 1);
            }
        }
    }
    return row[n];
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
        int d = distance(text, name);
        if (d < best) {
            best = d;
            nearest = name;
        }
    }
}
