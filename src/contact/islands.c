// SPDX-License-Identifier: MIT
//
// Islands by merging labels: each feature joins the labels of its two bodies under the lower one.

#include "contact/islands.h"

#include "base/base.h"

// gives every body labelled a or b the label to
static void relabel(int n_body, int *label, int a, int b, int to) {
    for (int j = 0; j < n_body; j++) {
        if (label[j] >= 0 && (label[j] == a || label[j] == b)) {
            label[j] = to;
        }
    }
}

int cri_islands(const cr_model *model, int n, const int *feature, int *island_of_body,
                int *island) {
    CR_ASSERT(n >= 0);
    int n_body = model->sizes.n_body, n_island = 0;
    for (int b = 0; b < n_body; b++) {
        island_of_body[b] = -1;
    }
    // label by the place of the island's first feature
    for (int k = 0; k < n; k++) {
        const int *body = model->pair[model->feature[feature[k]].pair].body;
        int a = body[0] >= 0 ? island_of_body[body[0]] : -1, b = island_of_body[body[1]];
        int label = a < 0 ? b : (b < 0 || a < b) ? a : b;
        label = label < 0 ? k : label;
        if (a >= 0 && b >= 0 && a != b) {
            relabel(n_body, island_of_body, a, b, label);
        }
        island_of_body[body[1]] = label;
        if (body[0] >= 0) {
            island_of_body[body[0]] = label;
        }
    }
    // number the labels in their order
    for (int k = 0; k < n; k++) {
        int label = island_of_body[model->pair[model->feature[feature[k]].pair].body[1]];
        island[k] = label == k ? n_island++ : island[label];
    }
    for (int b = 0; b < n_body; b++) {
        island_of_body[b] = island_of_body[b] >= 0 ? island[island_of_body[b]] : -1;
    }
    return n_island;
}
