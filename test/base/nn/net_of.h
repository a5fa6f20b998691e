// SPDX-License-Identifier: MIT
//
// Nets with weights of a formula: W_l[i][j] = sin(0.5 + 1.3 l + 0.7 i + 0.9 j)/sqrt(fan in) and
// b_l[i] = 0.1 cos(l + 0.3 i), layers counted from 0.

#pragma once

#include "base/nn/mlp.h"

#include <math.h>

static inline void fill_weights(const cri_mlp *net, double *w) {
    for (int l = 0; l < net->n_layer; l++) {
        int n_in = net->width[l], n_out = net->width[l + 1];
        double *W = w + cri_mlp_place(net, l + 1, false);
        bool has_bias = l + 1 < net->n_layer || !net->has_no_last_bias;
        for (int i = 0; i < n_out; i++) {
            for (int j = 0; j < n_in; j++) {
                W[i * n_in + j] = sin(0.5 + 1.3 * l + 0.7 * i + 0.9 * j) / sqrt(n_in);
            }
            if (has_bias) {
                w[cri_mlp_place(net, l + 1, true) + i] = 0.1 * cos(l + 0.3 * i);
            }
        }
    }
}
