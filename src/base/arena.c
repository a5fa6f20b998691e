// SPDX-License-Identifier: MIT
//
// Bump allocation in chained blocks (see arena.h).
//
// Blocks double in size, so that the chain stays short. The chain is kept over resets; a push first
// looks for room in the blocks behind the current one.

#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define CR_HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CR_HAS_ASAN 1
#endif
#endif

#ifdef CR_HAS_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(p, n) ASAN_POISON_MEMORY_REGION((p), (n))
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION((p), (n))
enum { RED_ZONE = 16 };
#else
#define POISON(p, n) ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
enum { RED_ZONE = 0 };
#endif

enum { ALIGNMENT = 16 };

typedef struct block {
    struct block *next;
    size_t size; // of data
    size_t used;
    size_t unused; // keeps data aligned
    unsigned char data[];
} block;

_Static_assert(sizeof(block) % ALIGNMENT == 0, "blocks start aligned");

struct cr_arena {
    block *first;
    block *current;
    bool has_failed;
};

static block *block_create(size_t n_byte) {
    if (n_byte > SIZE_MAX - sizeof(block)) {
        return NULL;
    }
    block *b = malloc(sizeof(block) + n_byte);
    if (b) {
        *b = (block){.size = n_byte};
        POISON(b->data, n_byte);
    }
    return b;
}

cr_arena *cri_arena_create(size_t first_bytes) {
    cr_arena *arena = malloc(sizeof *arena);
    block *b = block_create(first_bytes);
    if (!arena || !b) {
        free(arena);
        free(b);
        return NULL;
    }
    *arena = (cr_arena){.first = b, .current = b};
    return arena;
}

void cri_arena_destroy(cr_arena *arena) {
    if (!arena) {
        return;
    }
    for (block *b = arena->first; b;) {
        block *next = b->next;
        UNPOISON(b->data, b->size);
        free(b);
        b = next;
    }
    free(arena);
}

// the next block with room, chained if there is none
static block *block_with_room(cr_arena *arena, size_t n_byte) {
    block *b = arena->current;
    while (b->next) {
        b = b->next;
        b->used = 0;
        POISON(b->data, b->size);
        if (b->size >= n_byte) {
            return b;
        }
    }
    size_t size = 2 * b->size > n_byte ? 2 * b->size : n_byte;
    b->next = block_create(size);
    return b->next;
}

bool cri_arena_reserve(cr_arena *arena, size_t n_byte) {
    // red zones: no workspace pushes more than 128 pieces
    n_byte += 128 * (size_t)RED_ZONE;
    block *b = arena->current;
    if (b->size - b->used >= n_byte) {
        return true;
    }
    while (b->next) {
        b = b->next;
        if (b->size >= n_byte) {
            return true;
        }
    }
    b->next = block_create(2 * b->size > n_byte ? 2 * b->size : n_byte);
    return b->next != NULL;
}

void *cri_arena_push_raw(cr_arena *arena, size_t n_byte) {
    if (n_byte > SIZE_MAX - ALIGNMENT - RED_ZONE) {
        arena->has_failed = true;
        return NULL;
    }
    size_t room = (n_byte + RED_ZONE + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    block *b = arena->current;
    if (b->size - b->used < room) {
        b = block_with_room(arena, room);
        if (!b) {
            arena->has_failed = true;
            return NULL;
        }
        arena->current = b;
    }
    void *p = b->data + b->used;
    b->used += room;
    UNPOISON(p, n_byte);
    return p;
}

void *cri_arena_push(cr_arena *arena, size_t n_byte) {
    void *p = cri_arena_push_raw(arena, n_byte);
    if (p) {
        memset(p, 0, n_byte);
    }
    return p;
}

char *cri_arena_push_text(cr_arena *arena, const char *text) {
    size_t n = strlen(text) + 1;
    char *copy = cri_arena_push_raw(arena, n);
    if (copy) {
        memcpy(copy, text, n);
    }
    return copy;
}

cri_arena_mark cri_arena_get_mark(const cr_arena *arena) {
    return (cri_arena_mark){.block = arena->current, .used = arena->current->used};
}

void cri_arena_rewind(cr_arena *arena, cri_arena_mark mark) {
    block *b = mark.block;
    b->used = mark.used;
    POISON(b->data + b->used, b->size - b->used);
    arena->current = b;
}

size_t cri_arena_used(const cr_arena *arena) {
    size_t n = arena->current->used;
    for (const block *b = arena->first; b != arena->current; b = b->next) {
        n += b->size;
    }
    return n;
}

void cri_arena_reset(cr_arena *arena) {
    cri_arena_rewind(arena, (cri_arena_mark){.block = arena->first, .used = 0});
    arena->has_failed = false;
}

bool cri_arena_has_failed(const cr_arena *arena) {
    return arena->has_failed;
}
