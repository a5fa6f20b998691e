// SPDX-License-Identifier: MIT
//
// Long work saved in a file: named arrays of numbers, whole or not at all.
//
//     8 bytes   "carom ck"
//     1 double  1.5, so that another machine's order of bytes is noticed
//     int64     version 1, problem, count of arrays
//     arrays    int64 kind, length of the name, length; the name; the numbers
//     int64     checksum of everything before it
//
// The problem is a number that only equal work has: see cri_hash. A file of another problem, or
// one that is damaged, is refused.

#pragma once

#include "base/base.h"

#include <stdint.h>

/// Start value of cri_hash.
#define CRI_HASH_START 0xcbf29ce484222325u

/// Mixes n_byte bytes into a hash (FNV-1a, 64 bits), and a text with its end.
uint64_t cri_hash(uint64_t hash, const void *bytes, size_t n_byte);
uint64_t cri_hash_text(uint64_t hash, const char *text);

/// An array of the caller's: either kind, of which one pointer is not NULL.
typedef struct cri_checkpoint_array {
    const char *name; // at most CRI_CHECKPOINT_NAME bytes
    double *real;
    int64_t *whole;
    int64_t n;      // numbers in use; set by reading
    int64_t n_most; // room, for reading
} cri_checkpoint_array;

#define CRI_CHECKPOINT_NAME 64

/// Writes all arrays. After a failure what stood at path still does.
CR_MUST_CHECK cr_status cri_checkpoint_write(const char *path, uint64_t problem, int n_array,
                                             const cri_checkpoint_array *array, cr_error *err);

/// Reads a file of the same problem that has the same arrays in the same order, none longer than
/// its room. After a failure the arrays are as before.
CR_MUST_CHECK cr_status cri_checkpoint_read(const char *path, uint64_t problem, int n_array,
                                            cri_checkpoint_array *array, cr_error *err);

/// Length of the file at path: more than its arrays take together. 0: there is none.
size_t cri_checkpoint_bytes(const char *path);

/// True when a plain file stands at path.
bool cri_checkpoint_exists(const char *path);
