// SPDX-License-Identifier: MIT
//
// Laws made of nets, for the contacts of one body that moves in a plane with a fixed surface
// (paper 003): `augmented`, Algorithm 1 with guards, and its rival `regressed`, which takes all of
// the impulse from the regressor and promises nothing.

#pragma once

#include "contact/ground.h"

/// Evaluations of the joint force after which its class stays what it is.
enum { CRI_AUGMENTED_FREEZE = 10 };

extern const cri_law cri_law_augmented;
extern const cri_law cri_law_regressed;

/// What became of a patch after the guards.
typedef enum cri_augmented_mode {
    CRI_AUGMENTED_NONE,         // no impulse
    CRI_AUGMENTED_STATIC,       // the patch stands still
    CRI_AUGMENTED_DYNAMIC,      // friction of the net, normals of the complementarity problem
    CRI_AUGMENTED_FRICTIONLESS, // normals alone: the fallback
    CRI_AUGMENTED_REGRESSED,    // all rows of the net
} cri_augmented_mode;

/// What the classifier said of the last solve and what became of it, from the law's cache.
cri_ground_class cri_augmented_class(const void *cache);
cri_augmented_mode cri_augmented_mode_of(const void *cache);
