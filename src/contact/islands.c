// SPDX-License-Identifier: MIT
//
// Islands by union and find over units: each contact joins the sets of its two units; a set's root
// is its lowest unit.

#include "contact/islands.h"

#include "base/base.h"

// root of a unit's set; halves the path on its way
static int find(int *parent, int unit) {
    while (parent[unit] != unit) {
        parent[unit] = parent[parent[unit]];
        unit = parent[unit];
    }
    return unit;
}

// the moving unit of a contact, and its second one or the same
static void units_of(const cri_near *near, int unit[2]) {
    unit[1] = near->unit[1] >= 0 ? near->unit[1] : near->unit[0];
    unit[0] = near->unit[0] >= 0 ? near->unit[0] : unit[1];
    CR_ASSERT(unit[1] >= 0);
}

int cri_islands(const cr_model *model, int n, const cri_near *const *near, int *island_of_unit,
                int *island) {
    CR_ASSERT(model && island_of_unit);
    CR_ASSERT(n >= 0);
    int n_unit = model->mech.n_unit, n_island = 0, unit[2];
    int *parent = island_of_unit;
    for (int u = 0; u < n_unit; u++) {
        parent[u] = -1;
    }
    for (int k = 0; k < n; k++) {
        units_of(near[k], unit);
        for (int s = 0; s < 2; s++) {
            parent[unit[s]] = parent[unit[s]] < 0 ? unit[s] : parent[unit[s]];
        }
        int a = find(parent, unit[0]), b = find(parent, unit[1]);
        parent[a < b ? b : a] = a < b ? a : b;
    }
    for (int k = 0; k < n; k++) {
        units_of(near[k], unit);
        island[k] = find(parent, unit[0]);
    }
    for (int u = 0; u < n_unit; u++) {
        parent[u] = parent[u] < 0 ? -1 : find(parent, u);
    }
    // numbers in the order of the first contact; a numbered root holds -2 - number
    for (int k = 0; k < n; k++) {
        int root = island[k];
        if (parent[root] >= 0) {
            parent[root] = -2 - n_island++;
        }
        island[k] = -2 - parent[root];
    }
    for (int u = 0; u < n_unit; u++) {
        parent[u] = parent[u] >= 0 ? -2 - parent[parent[u]] : parent[u];
    }
    for (int u = 0; u < n_unit; u++) {
        parent[u] = parent[u] <= -2 ? -2 - parent[u] : parent[u];
    }
    return n_island;
}
