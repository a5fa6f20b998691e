// SPDX-License-Identifier: MIT
//
// What fuzz targets share.
//
// A target is one function that takes bytes. tools/fuzz links it with libFuzzer, which searches for
// bytes that crash it; the ordinary tests link it with run_corpus.c, which runs its seeds.

#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "carom/carom.h"

/// Runs one input. Always 0; what is wrong ends the program.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/// Ends the program when a promise was broken.
#define FUZZ_CHECK(cond)                                                                           \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #cond);                     \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/// A refusal says its status, and one line that names the file.
static inline void fuzz_check_error(cr_status status, const cr_error *err, const char *file) {
    FUZZ_CHECK(status != CR_OK && err->status == status);
    FUZZ_CHECK(strncmp(err->text, file, strlen(file)) == 0);
    FUZZ_CHECK(strlen(err->text) > strlen(file) + 2 && strlen(err->text) < sizeof err->text);
    FUZZ_CHECK(!strchr(err->text, '\n'));
}
