// SPDX-License-Identifier: MIT
//
// Weights of nets by name: net/1/w and net/1/b are the arrays of the first layer of "net" in a
// file, net/1/w[3,0] and net/1/b[3] its single numbers.

#pragma once

#include "base/arena.h"
#include "base/io/hdf5_file.h"
#include "base/nn/mlp.h"

/// "softplus", "tanh", "relu", and back; false: there is no such.
const char *cri_activation_name(cri_activation act);
bool cri_activation_find(const char *name, cri_activation *act);

/// The name of number i of the weights into out, cut off at n_byte.
void cri_mlp_name(const cri_mlp *net, const char *prefix, int i, size_t n_byte, char *out);

/// Arrays of a net to write, at most 2 CRI_MLP_LAYER_MOST; values are borrowed from w, names live
/// on the arena. Returns how many, -1 for lack of memory.
int cri_mlp_to_arrays(const cri_mlp *net, const char *prefix, double *w, cri_array *out,
                      cr_arena *arena);

/// The shape of the net that a file holds under prefix, without act. Fails when its layers do not
/// fit together; file stands in messages.
CR_MUST_CHECK cr_status cri_mlp_shape(const cri_array_file *content, const char *file,
                                      const char *prefix, cri_mlp *net, cr_error *err);

/// The weights of the net of this shape, which the file has.
void cri_mlp_from_arrays(const cri_array_file *content, const char *prefix, const cri_mlp *net,
                         double *w);
