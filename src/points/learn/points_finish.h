// SPDX-License-Identifier: MIT
//
// The last steps of a training of points: physical numbers by Gauss-Newton, the net as it is.

#pragma once

#include "points/learn/points_train.h"

/// How passes over windows ended.
typedef enum cri_pass_end { CRI_PASS_DONE, CRI_PASS_STOPPED, CRI_PASS_NO_MEMORY } cri_pass_end;

/// Improves masses, moments, friction, restitution and a learned epsilon among w (n_w) on the
/// windows for training, and keeps that if it is better on those for validation. The learner has a
/// law. Told to stop, it keeps what is best so far.
CR_MUST_CHECK cri_pass_end cri_points_finish(const cri_points_training *t, double *w);
