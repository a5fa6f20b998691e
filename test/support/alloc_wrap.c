// SPDX-License-Identifier: MIT
//
// Heap calls, counted and made to fail, by ld's --wrap.
//
// Live blocks are a hash set of addresses with open addressing, so that a block from elsewhere is
// told apart when it is freed here.

#include "alloc_wrap.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *block, size_t n);
void *__real_aligned_alloc(size_t align, size_t n);
void __real_free(void *block);

void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *block, size_t n);
void *__wrap_aligned_alloc(size_t align, size_t n);
void __wrap_free(void *block);

static atomic_flag lock = ATOMIC_FLAG_INIT;
static long n_call;
static long n_live;
static long fail_at; // n_call at which to fail, 0: never
static bool has_failed;

// addresses, 0: empty; a power of two long, at most half full
static uintptr_t *set;
static size_t n_set;

static void enter(void) {
    while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire)) {
    }
}

static void leave(void) {
    atomic_flag_clear_explicit(&lock, memory_order_release);
}

static size_t home(uintptr_t address) {
    return (size_t)(((uint64_t)address * 0x9e3779b97f4a7c15u) >> 20) & (n_set - 1);
}

static void put(uintptr_t address) {
    size_t i = home(address);
    while (set[i] != 0) {
        i = (i + 1) & (n_set - 1);
    }
    set[i] = address;
}

static void grow(void) {
    uintptr_t *old = set;
    size_t n_old = n_set;
    n_set = n_old ? 2 * n_old : 4096;
    set = __real_calloc(n_set, sizeof *set);
    if (!set) {
        abort();
    }
    for (size_t i = 0; i < n_old; i++) {
        if (old[i] != 0) {
            put(old[i]);
        }
    }
    __real_free(old);
}

static void add(void *block) {
    if (!block) {
        return;
    }
    if (2 * (size_t)(n_live + 1) > n_set) {
        grow();
    }
    put((uintptr_t)block);
    n_live++;
}

// true when the block was one of ours
static bool drop(void *block) {
    uintptr_t address = (uintptr_t)block;
    if (!block || n_set == 0) {
        return false;
    }
    size_t i = home(address);
    while (set[i] != address) {
        if (set[i] == 0) {
            return false;
        }
        i = (i + 1) & (n_set - 1);
    }

    // close the gap, so that every address stays reachable from its home
    set[i] = 0;
    for (size_t j = (i + 1) & (n_set - 1); set[j] != 0; j = (j + 1) & (n_set - 1)) {
        uintptr_t moved = set[j];
        set[j] = 0;
        put(moved);
    }
    n_live--;
    return true;
}

// counts a call; true when it is to fail
static bool count(void) {
    n_call++;
    if (n_call != fail_at) {
        return false;
    }
    has_failed = true;
    fail_at = 0;
    return true;
}

void *__wrap_malloc(size_t n) {
    enter();
    void *block = count() ? NULL : __real_malloc(n);
    add(block);
    leave();
    return block;
}

void *__wrap_calloc(size_t n, size_t size) {
    enter();
    void *block = count() ? NULL : __real_calloc(n, size);
    add(block);
    leave();
    return block;
}

void *__wrap_realloc(void *block, size_t n) {
    enter();
    bool is_failure = count();
    bool is_ours = !is_failure && (!block || drop(block));
    void *moved = is_failure ? NULL : __real_realloc(block, n);
    if (is_ours) {
        // a failed realloc leaves the old block alive
        add(moved ? moved : block);
    }
    leave();
    return moved;
}

void *__wrap_aligned_alloc(size_t align, size_t n) {
    enter();
    void *block = count() ? NULL : __real_aligned_alloc(align, n);
    add(block);
    leave();
    return block;
}

void __wrap_free(void *block) {
    enter();
    drop(block);
    __real_free(block);
    leave();
}

long cr_alloc_count(void) {
    enter();
    long n = n_call;
    leave();
    return n;
}

long cr_alloc_live(void) {
    enter();
    long n = n_live;
    leave();
    return n;
}

void cr_alloc_fail_at(long k) {
    enter();
    fail_at = k > 0 ? n_call + k : 0;
    has_failed = false;
    leave();
}

int cr_alloc_has_failed(void) {
    enter();
    int failed = has_failed;
    leave();
    return failed;
}
