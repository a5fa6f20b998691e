// SPDX-License-Identifier: MIT
//
// Two boxes under any contact law: the force that one feels from the other at a pose. Of a law that
// is an energy it is minus the gradient; of any other it is what a step from rest without gravity
// and friction does to the momentum, over the step.

#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "carom/carom.h"
#include "contact/barrier.h"

/// A law to be probed.
typedef struct lrc_law {
    const char *name;
    const char *kin; // whom the paper means, NULL: nobody
    bool is_energy;  // else a law of the simulator
    double table[4]; // the paper's table 1, NAN: not in it
} lrc_law;

/// One law at the two boxes. Release with lrc_probe_close.
typedef struct lrc_probe {
    const lrc_law *law;
    cr_arena *arena, *scratch;
    cri_sphere_tree tree[2];
    const unsigned char *owner[2];
    cr_model *model;
    cr_sim *sim;
    cri_longrange_result result; // of an energy
} lrc_probe;

enum { LRC_N_CORNER = 8 };

/// Edges of the two boxes, m; the second is the larger.
extern const double lrc_box[2][3];

CR_MUST_CHECK cr_status lrc_probe_open(const lrc_law *law, lrc_probe *out, cr_error *err);
void lrc_probe_close(lrc_probe *probe);

/// The force on box 0, N or in units of the coefficient; false when there is none, since the boxes
/// touch or overlap. An energy's result has all derivatives and the value then.
bool lrc_probe_force(lrc_probe *probe, const cri_pose pose[2], cri_vec3 *force);

/// Corners of box k at a pose.
void lrc_corners(int k, const cri_pose *pose, cri_vec3 out[LRC_N_CORNER]);
