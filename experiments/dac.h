// SPDX-License-Identifier: MIT
//
// Experiments of paper 003: the data-augmented contact model, its ground truth (GS) and its rival,
// pure regression (PDD).

#pragma once

#include "experiment.h"

extern const cri_experiment cri_dac_rectangle;
