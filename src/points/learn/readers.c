// SPDX-License-Identifier: MIT
//
// The readers of weight files, by system.

#include "model/system_file.h"
#include "points/learn/learner_file.h"
#include "points/learn/points_file.h"

const cri_system_reader cri_system_readers[] = {
    {"central-difference", cri_learner_read}, {"resnet", cri_learner_read},
    {"resnetcontact", cri_learner_read},      {"vin", cri_learner_read},
    {"points", cri_points_file_read},         {NULL, NULL},
};
