// SPDX-License-Identifier: MIT
//
// Experiments of paper 002 about the potential itself, and its tasks.

#pragma once

#include "experiment.h"

extern const cri_experiment cri_lrc_properties;
extern const cri_experiment cri_lrc_grid;
extern const cri_experiment cri_lrc_books;
extern const cri_experiment cri_lrc_cost;
extern const cri_experiment cri_lrc_safety;

// tasks (lrc_tasks.c)
extern const cri_experiment cri_lrc_billiards;
extern const cri_experiment cri_lrc_push;
extern const cri_experiment cri_lrc_gather;
extern const cri_experiment cri_lrc_sort;
extern const cri_experiment cri_lrc_ant;
extern const cri_experiment cri_lrc_bunny;
extern const cri_experiment cri_lrc_arm;
extern const cri_experiment cri_lrc_smoothness;
extern const cri_experiment cri_lrc_stiffness;
