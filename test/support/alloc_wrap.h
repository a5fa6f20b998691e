// SPDX-License-Identifier: MIT
//
// Heap calls, counted and made to fail. Link the test with WRAP in test/CMakeLists.txt.
//
// The linker sends every heap call of the library and the test here; those inside shared libraries
// (libc, expat, jansson) go past, unless the library hands them its own functions. A block that
// came from there may be freed through here, and is not counted. Safe to use from several threads.

#pragma once

/// Calls of malloc, calloc, realloc and aligned_alloc since the start of the program.
long cr_alloc_count(void);

/// Blocks taken here and not freed yet.
long cr_alloc_live(void);

/// The k-th of these calls from now returns NULL, once. 0 disables it.
void cr_alloc_fail_at(long k);

/// True when the call chosen by cr_alloc_fail_at has come and failed.
int cr_alloc_has_failed(void);
