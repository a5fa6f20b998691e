// SPDX-License-Identifier: MIT
//
// One contact problem as a text file. Words and numbers separated by white space, '#' begins a
// comment that ends with its line, numbers with 17 digits, so that nothing is lost:
//
//     carom-problem 1
//     law ncp                     the law that it is for
//     family stack                as contact/problem_make.h, or none
//     seed 59
//     contacts 2
//     contact 0.5 0.2 0 plain     one line each: mu, e, target m/s, plain or bouncing
//     contact 0.5 0.2 0 bouncing
//     velocity ...                b, three numbers a contact, m/s
//     matrix ...                  lower half of A: 1, 2, .. 3n numbers, 1/kg
//     impulse ...                 the best that was found, three numbers a contact, N s; optional
//
// The remark is a comment of one line behind the first.

#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "bench/problem_make.h"

/// Most contacts that a file may have.
#define CRI_PROBLEM_FILE_LIMIT 200

typedef struct cri_problem_text {
    cri_problem problem;   // arrays in the arena; mass_ratio is not kept, 0
    char law[32];          // "" is written as none
    const char *remark;    // one line, NULL for none; not read
    const double *impulse; // (3n) or NULL
} cri_problem_text;

/// Writes the problem, which has no drift. The file appears whole or not at all.
CR_MUST_CHECK cr_status cri_problem_write(const char *path, const cri_problem_text *text,
                                          cr_error *err);

/// Reads a problem; its arrays stay in keep. Refuses what is no problem: numbers that are not
/// finite, mu < 0, e outside [0, 1], a diagonal that is negative.
CR_MUST_CHECK cr_status cri_problem_read(const char *path, cri_problem_text *out, cr_arena *keep,
                                         cr_error *err);
