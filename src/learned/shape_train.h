// SPDX-License-Identifier: MIT
//
// Trains a space of shapes from points with normals on their surfaces: implicit geometric
// regularisation (Gropp et al. 2020).

#pragma once

#include "geometry/field/shape_space.h"
#include "learned/trainer.h"

/// Surfaces to train on, in metres, all in one frame.
typedef struct cri_shape_data {
    int n_shape;
    int n_point;    // of each shape, a multiple of CRI_SHAPE_CHUNK
    double *point;  // (n_shape, n_point, 3)
    double *normal; // (n_shape, n_point, 3) unit, outward
    char (*name)[CRI_SPACE_NAME];
} cri_shape_data;

enum { CRI_SHAPE_CHUNK = 128 }; // points of a shape that are one sample of the training

typedef struct cri_shape_training {
    int n_hidden, width; // of the net; the skip leads to its middle
    int n_code;
    int n_epoch;
    double rate; // of Adam, falling to 0 over the last half
    int n_thread;
    uint64_t seed;
    const char *checkpoint; // NULL: none
    const cri_progress *progress;
} cri_shape_training;

/// 4 layers of 64, codes of 4, rate 2e-3, one thread.
cri_shape_training cri_shape_training_default(void);

/// The space, in arena. Fails for a net that is none, for lack of memory, a loss that is no number
/// and a checkpoint that cannot be gone on from. An interrupted training gives what it has come to;
/// result says so.
CR_MUST_CHECK cr_status cri_shape_train(const cri_shape_data *data,
                                        const cri_shape_training *training, cr_arena *arena,
                                        cri_shape_space *out, cri_train_result *result,
                                        cr_error *err);
