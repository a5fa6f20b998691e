// SPDX-License-Identifier: MIT
//
// Experiments of paper 004: shapes as distance fields.

#pragma once

#include "experiment.h"

extern const cri_experiment cri_sdf_bounce, cri_sdf_inertia;
extern const cri_experiment cri_sdf_depth;
extern const cri_experiment cri_sdf_tennis;
extern const cri_experiment cri_sdf_shapes, cri_sdf_sysid, cri_sdf_pole;
