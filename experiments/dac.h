// SPDX-License-Identifier: MIT
//
// Experiments of paper 003: the data-augmented contact model, its ground truth (GS) and its rival,
// pure regression (PDD).

#pragma once

#include "experiment.h"

extern const cri_experiment cri_dac_rectangle, cri_dac_pentagon;
extern const cri_experiment cri_dac_capsule, cri_dac_anisotropic, cri_dac_chain;
extern const cri_experiment cri_dac_ellipse, cri_dac_sliding, cri_dac_box, cri_dac_bodies;
extern const cri_experiment cri_dac_applied;
