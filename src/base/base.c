// SPDX-License-Identifier: MIT
//
// Assertions and error reports.

#include "base/base.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cri_assert_failed(const char *condition, const char *file, int line) {
    fprintf(stderr, "carom: %s:%d: assertion failed: %s\n", file, line, condition);
    abort();
}

cr_status cri_fail(cr_error *err, cr_status status, int line, const char *format, ...) {
    if (err) {
        *err = (cr_error){.status = status, .line = line};
        va_list args;
        va_start(args, format);
        vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
    }
    return status;
}

const char *cr_status_text(cr_status status) {
    switch (status) {
    case CR_OK:
        return "ok";
    case CR_ERR_ARGUMENT:
        return "argument";
    case CR_ERR_MEMORY:
        return "memory";
    case CR_ERR_FILE:
        return "file";
    case CR_ERR_SYNTAX:
        return "syntax";
    case CR_ERR_UNSUPPORTED:
        return "unsupported";
    case CR_ERR_NUMERIC:
        return "numeric";
    }
    return "unknown";
}

bool cri_all_finite(int n, const double *a) {
    for (int i = 0; i < n; i++) {
        if (!isfinite(a[i])) {
            return false;
        }
    }
    return true;
}

static int least(int a, int b) {
    return a < b ? a : b;
}

// over prefixes of lengths i and j:
//   d(i, j) = min( d(i-1, j) + 1, d(i, j-1) + 1, d(i-1, j-1) + [a_i != b_j],
//                  d(i-2, j-2) + 1 when the last two characters are swapped )
int cri_text_distance(const char *a, const char *b) {
    int rows[3][CRI_TEXT_LIMIT];
    size_t n_byte = strlen(b);
    if (strlen(a) >= CRI_TEXT_LIMIT || n_byte >= CRI_TEXT_LIMIT) {
        return CRI_TEXT_LIMIT;
    }
    int n = (int)n_byte;
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

int cri_text_slack(size_t n_byte) {
    return n_byte < 3 ? 0 : n_byte < 6 ? 1 : 2;
}
