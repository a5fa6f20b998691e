// SPDX-License-Identifier: MIT
//
// Warm data: impulses of resting contacts, kept from step to step in a list sorted by contact.

#include "sim/sim.h"

#include <stdlib.h>
#include <string.h>

// up to here a list is sorted by insertion
enum { MAX_INSERTED = 64 };

static int by_key(const void *x, const void *y) {
    const int *a = ((const cri_warm *)x)->key, *b = ((const cri_warm *)y)->key;
    for (int i = 0; i < 3; i++) {
        if (a[i] != b[i]) {
            return a[i] < b[i] ? -1 : 1;
        }
    }
    return 0;
}

static cri_warm entry_of(const cri_near *near, int id) {
    if (near->kind == CRI_NEAR_LIMIT) {
        return (cri_warm){.key = {-1, near->limit, 0}};
    }
    return (cri_warm){.key = {near->geom[0], near->geom[1], id}};
}

void cri_warm_clear(cri_warm_list *list) {
    list->n = 0;
}

static bool reserve(cri_warm_list *list, int n) {
    if (n <= list->space) {
        return true;
    }
    CR_ASSERT(n > 0);
    int space = 2 * n;
    cri_warm *grown = realloc(list->entry, sizeof *grown * (size_t)space);
    if (grown) {
        list->entry = grown;
        list->space = space;
    }
    return grown != NULL;
}

bool cri_warm_copy(const cri_warm_list *from, cri_warm_list *to) {
    CR_ASSERT(from && to && from != to);
    if (!reserve(to, from->n)) {
        return false;
    }
    if (from->n > 0) {
        memcpy(to->entry, from->entry, sizeof *to->entry * (size_t)from->n);
    }
    to->n = from->n;
    return true;
}

const double *cri_warm_find(const cri_warm_list *list, const cri_near *near, int id) {
    if (list->n == 0) {
        return NULL;
    }
    cri_warm key = entry_of(near, id);
    const cri_warm *found =
        bsearch(&key, list->entry, (size_t)list->n, sizeof *list->entry, by_key);
    return found ? found->f : NULL;
}

// few, which are nearly in order, one by one
static void sort(cri_warm_list *list) {
    if (list->n > MAX_INSERTED) {
        qsort(list->entry, (size_t)list->n, sizeof *list->entry, by_key);
        return;
    }
    for (int k = 1; k < list->n; k++) {
        cri_warm moved = list->entry[k];
        int at = k;
        for (; at > 0 && by_key(&moved, &list->entry[at - 1]) < 0; at--) {
            list->entry[at] = list->entry[at - 1];
        }
        if (at < k) {
            list->entry[at] = moved;
        }
    }
}

bool cri_warm_store(cri_warm_list *list, int n, const cri_jump *jump) {
    CR_ASSERT(list && n >= 0 && (jump || n == 0));
    int n_entry = 0;
    for (int k = 0; k < n; k++) {
        n_entry += jump[k].n;
    }
    if (!reserve(list, n_entry)) {
        return false; // and what was there stays
    }
    list->n = 0;
    for (int k = 0; k < n; k++) {
        for (int i = 0; i < jump[k].n; i++) {
            cri_warm *e = &list->entry[list->n++];
            *e = entry_of(&jump[k].row[i].near, jump[k].row[i].touch.id);
            memcpy(e->f, jump[k].f + 3 * i, sizeof e->f);
        }
    }
    sort(list);
    return true;
}
