// SPDX-License-Identifier: MIT
//
// Experiments of paper 000: Lagrangian and Hamiltonian networks with two-phase contact.

#pragma once

#include "experiment.h"

extern const cri_experiment cri_dcs_bp5e;
extern const cri_experiment cri_dcs_bp5;
extern const cri_experiment cri_dcs_bd5;
extern const cri_experiment cri_dcs_cp3e;
extern const cri_experiment cri_dcs_cp3;
extern const cri_experiment cri_dcs_gyroe;
extern const cri_experiment cri_dcs_gyro;
extern const cri_experiment cri_dcs_rope;
extern const cri_experiment cri_dcs_scaling;
extern const cri_experiment cri_dcs_billiards;
extern const cri_experiment cri_dcs_samples;
extern const cri_experiment cri_dcs_lcp_data;
extern const cri_experiment cri_dcs_regulariser;
extern const cri_experiment cri_dcs_throw_hit;
extern const cri_experiment cri_dcs_throw_vertical;
extern const cri_experiment cri_dcs_noise;
extern const cri_experiment cri_dcs_ropes;
extern const cri_experiment cri_dcs_penetration;
