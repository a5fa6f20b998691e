// SPDX-License-Identifier: MIT
//
// Experiments of paper 001: central-difference Lagrange networks with touch feedback.

#pragma once

#include "experiment.h"

extern const cri_experiment cri_cdl_pendulum;
extern const cri_experiment cri_cdl_ball;
extern const cri_experiment cri_cdl_ball_inelastic;
extern const cri_experiment cri_cdl_cradle;
extern const cri_experiment cri_cdl_box;
extern const cri_experiment cri_cdl_cradle3;
extern const cri_experiment cri_cdl_damped;
extern const cri_experiment cri_cdl_step;
