// SPDX-License-Identifier: MIT
//
// Weights by name, to arrays and back.

#include "base/nn/weights.h"

#include "cr_test.h"
#include "net_of.h"

#include <string.h>

static const cri_mlp net = {.n_layer = 3, .width = {3, 4, 5, 1}, .has_no_last_bias = true};

TEST(numbers_have_names) {
    static const struct {
        int i;
        const char *name;
    } row[] = {{0, "v/1/w[0,0]"},  {5, "v/1/w[1,2]"},         {12, "v/1/b[0]"},
               {16, "v/2/w[0,0]"}, {16 + 20 + 4, "v/2/b[4]"}, {16 + 25 + 4, "v/3/w[0,4]"}};
    char name[40];
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        cri_mlp_name(&net, "v", row[k].i, sizeof name, name);
        CHECK_TEXT(name, row[k].name);
    }
}

TEST(nets_come_back_from_arrays) {
    double w[100], back[100];
    cri_array array[2 * CRI_MLP_LAYER_MOST];
    cr_arena *arena = cri_arena_create(1000);
    cr_error err = {0};
    cri_mlp found;
    fill_weights(&net, w);
    int n = cri_mlp_to_arrays(&net, "a/v", w, array, arena);
    CHECK_INT(n, 5);
    cri_array_file content = {.n_array = n, .array = array};
    CHECK_INT(cri_mlp_shape(&content, "x.h5", "a/v", &found, &err), CR_OK);
    CHECK(memcmp(&found, &net, sizeof net) == 0);
    cri_mlp_from_arrays(&content, "a/v", &net, back);
    CHECK(memcmp(w, back, sizeof *w * (size_t)cri_mlp_n_weight(&net)) == 0);

    // another name, and layers that do not fit
    CHECK_INT(cri_mlp_shape(&content, "x.h5", "a/c", &found, &err), CR_ERR_SYNTAX);
    CHECK_TEXT(err.text, "x.h5: has no net 'a/c': the array a/c/1/w is missing");
    array[2].extent[1] = 3;
    CHECK_INT(cri_mlp_shape(&content, "x.h5", "a/v", &found, &err), CR_ERR_SYNTAX);
    CHECK_TEXT(err.text, "x.h5: layer 2 of the net 'a/v' does not fit the one before");
    cri_arena_destroy(arena);
}

TEST(activations_have_names) {
    for (int k = CRI_ACT_SOFTPLUS; k <= CRI_ACT_RELU; k++) {
        cri_activation act = CRI_ACT_RELU;
        CHECK(cri_activation_find(cri_activation_name((cri_activation)k), &act) && (int)act == k);
    }
    cri_activation act;
    CHECK(!cri_activation_find("sigmoid", &act));
}

CR_TEST_MAIN(numbers_have_names, nets_come_back_from_arrays, activations_have_names)
