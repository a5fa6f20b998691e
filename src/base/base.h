// SPDX-License-Identifier: MIT
//
// Assertions and error reports, included everywhere.
//
// Wrong code asserts; the outside world returns a status; numerics report an outcome.

#pragma once

#include "carom/carom.h"

/// The calling code broke a promise. Never returns.
_Noreturn void cri_assert_failed(const char *condition, const char *file, int line);

#define CR_ASSERT(cond) ((cond) ? (void)0 : cri_assert_failed(#cond, __FILE__, __LINE__))

// walks structures; debug builds only
#ifdef CR_VALIDATE_ON
#define CR_VALIDATE(cond) CR_ASSERT(cond)
#else
#define CR_VALIDATE(cond) ((void)0)
#endif

#define CR_TRY(call)                                                                               \
    do {                                                                                           \
        cr_status try_status = (call);                                                             \
        if (try_status != CR_OK) {                                                                 \
            return try_status;                                                                     \
        }                                                                                          \
    } while (0)

/// Fills err, if there is one, and returns status. line 0: not about a line of a file.
cr_status cri_fail(cr_error *err, cr_status status, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/// Edits that turn a into b: one character put in, taken out or changed, or two neighbours swapped
/// (optimal string alignment). CRI_TEXT_LIMIT when one of them is that long.
int cri_text_distance(const char *a, const char *b);

#define CRI_TEXT_LIMIT 100

/// How many edits a mistyped word of n_byte may be away from what was meant: one in three
/// characters, two at most.
int cri_text_slack(size_t n_byte);

/// True when every one of n numbers is finite.
bool cri_all_finite(int n, const double *a);
