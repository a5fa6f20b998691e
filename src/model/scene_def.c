// SPDX-License-Identifier: MIT
//
// Memory of a scene definition: one arena, lists that double when they are full.

#include "model/scene_def.h"

#include <string.h>

enum { FIRST_CAPACITY = 8 };

bool cri_scene_def_begin(cri_scene_def *def, const char *file) {
    CR_ASSERT(def && file);
    // MuJoCo's own defaults
    *def = (cri_scene_def){.dt = 0.002,
                           .gravity = {0.0, 0.0, -9.81},
                           // shells of a tenth, a metre, a centimetre a second
                           .potential = {.eps = 0.1, .length = 1.0, .slip = 1e-2},
                           .has_contact = true,
                           .filters_parents = true,
                           .memory = cri_arena_create(4096)};
    def->file = def->memory ? cri_arena_push_text(def->memory, file) : NULL;
    return def->file != NULL;
}

void cri_scene_def_clear(cri_scene_def *def) {
    CR_ASSERT(def);
    cri_arena_destroy(def->memory);
    memset(def, 0, sizeof *def);
}

void *cri_scene_def_grow(cri_scene_def *def, void *list, int n, size_t item_bytes) {
    CR_ASSERT(n >= 0 && (list || n == 0));
    bool is_full = n == 0 || (n >= FIRST_CAPACITY && (n & (n - 1)) == 0);
    if (!is_full) {
        return list;
    }
    size_t capacity = n < FIRST_CAPACITY ? FIRST_CAPACITY : 2 * (size_t)n;
    void *grown = cri_arena_push(def->memory, capacity * item_bytes);
    if (grown && n > 0) {
        memcpy(grown, list, (size_t)n * item_bytes);
    }
    return grown;
}
