// SPDX-License-Identifier: MIT
//
// Assertions and error reports.

#include "base/base.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

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
