// SPDX-License-Identifier: MIT
//
// The last steps of a training of points: physical numbers by Gauss-Newton, the net as it is.

#pragma once

#include "learn/points_task.h"

/// Improves masses, moments, friction, restitution and a learned epsilon among w (n_w) on the
/// windows for training, and keeps that if it is better on those for validation. The learner has a
/// law. False when there is no memory; told to stop it goes on from what is best so far.
bool cri_points_finish(const cri_points_training *t, double *w);
