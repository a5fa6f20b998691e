// SPDX-License-Identifier: MIT
//
// Bump allocation in chained blocks.
//
// Pushes never move: a full block chains a new one. Rewinding or resetting keeps the blocks, so a
// run that has met its largest need makes no more heap calls. Memory is zeroed by cri_arena_push.
// A push that finds no memory returns NULL and marks the arena as failed until the next reset.
// Under the address sanitizer free space is poisoned, with a red zone behind every push.

#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct cr_arena cr_arena;

/// A point in the arena to come back to.
typedef struct cri_arena_mark {
    void *block;
    size_t used;
} cri_arena_mark;

/// NULL when there is no memory. first_bytes is the size of the first block.
cr_arena *cri_arena_create(size_t first_bytes);

/// Releases all blocks. NULL is allowed.
void cri_arena_destroy(cr_arena *arena);

/// n_byte zeroed bytes, aligned for any type, or NULL.
void *cri_arena_push(cr_arena *arena, size_t n_byte);

/// As cri_arena_push, but the bytes are left as they are.
void *cri_arena_push_raw(cr_arena *arena, size_t n_byte);

/// Makes sure that pushes of n_byte in all, counted with 16 bytes (32 under the sanitizer) for
/// each, will find memory. False when there is none.
bool cri_arena_reserve(cr_arena *arena, size_t n_byte);

/// A copy of a string, or NULL.
char *cri_arena_push_text(cr_arena *arena, const char *text);

cri_arena_mark cri_arena_get_mark(const cr_arena *arena);
void cri_arena_rewind(cr_arena *arena, cri_arena_mark mark);

/// Bytes of all pushes since the last reset, with what is left at the ends of blocks.
size_t cri_arena_used(const cr_arena *arena);

/// Forgets all pushes and a failure, keeps the memory.
void cri_arena_reset(cr_arena *arena);

/// True when a push has failed since the last reset.
bool cri_arena_has_failed(const cr_arena *arena);

#define CR_PUSH(arena, type, n) ((type *)cri_arena_push((arena), sizeof(type) * (size_t)(n)))
#define CR_PUSH_RAW(arena, type, n)                                                                \
    ((type *)cri_arena_push_raw((arena), sizeof(type) * (size_t)(n)))
