// SPDX-License-Identifier: MIT
//
// Weights to start training from, drawn from streams of base/random.h: a seed names them to the
// bit.

#pragma once

#include "base/nn/mlp.h"
#include "base/random.h"

typedef enum cri_start {
    CRI_START_ORTHOGONAL, // orthonormal columns or rows, biases U(+-1/sqrt n_0)
    CRI_START_GLOROT,     // U(+-sqrt(6/(n_0 + n_1))), biases 0
    CRI_START_FAN_IN,     // weights and biases U(+-1/sqrt n_0)
} cri_start;

/// Fills w of a whole net, layer by layer. False: no memory.
CR_MUST_CHECK bool cri_mlp_start(const cri_mlp *net, cri_start kind, cri_random *stream, double *w,
                                 cr_arena *work);
