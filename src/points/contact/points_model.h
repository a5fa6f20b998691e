// SPDX-License-Identifier: MIT
//
// Systems of points as models of the public interface: simulated, differentiated, fitted and
// planned like any scene.

#pragma once

#include "model/system.h"
#include "points/contact/points_step.h"

/// The kind "points"; its laws are cone, cone-reg, lcp, ncp and ncp-poisson.
extern const cri_system_kind cri_points_system;

/// Builds a model of scene, which goes over to it: destroyed with it, and when building fails.
CR_MUST_CHECK cr_status cri_points_model_create(cri_points_scene *scene, cr_model **out,
                                                cr_error *err);
