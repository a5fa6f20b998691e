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

/// True when every one of n numbers is finite.
bool cri_all_finite(int n, const double *a);
