// SPDX-License-Identifier: MIT
//
// Two boxes under any contact law: the force that one feels from the other at a pose. Of a law that
// is an energy it is minus the gradient; of any other it is what a step, from rest or from a
// velocity of the first box, without gravity does to its momentum, over the step. Laws of nets know
// one body and a plane, which is then the upper face of the second box, and the law restitution
// knows balls: two as far apart as the first box is from that face. Without friction, but for nets,
// which learn it.

#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "carom/carom.h"
#include "energy/barrier.h"
#include "learned/augmented.h"
#include "points/learn/central.h"

typedef enum lrc_kind {
    LRC_ENERGY, // of two boxes
    LRC_BOXES,  // steps of two boxes
    LRC_PLANE,  // steps of a box and a plane, by nets that are trained for it
    LRC_BALLS,  // steps of two balls
} lrc_kind;

/// A law to be probed.
typedef struct lrc_law {
    const char *name;
    const char *kin; // whom the paper means, NULL: nobody
    lrc_kind kind;
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
    cri_central *balls;
    cri_vec3 velocity;           // of the first box before a step, the caller's to set
    cri_longrange_result result; // of an energy
} lrc_probe;

enum { LRC_N_CORNER = 8 };

/// Edges of the two boxes, m; the second is the larger.
extern const double lrc_box[2][3];

/// Nets are trained here: seconds. Interrupted training leaves the nets that there are by then.
CR_MUST_CHECK cr_status lrc_probe_open(const lrc_law *law, uint64_t seed,
                                       const cri_progress *progress, lrc_probe *out, cr_error *err);
void lrc_probe_close(lrc_probe *probe);

/// The force on box 0, N or in units of the coefficient; false when there is none, since the boxes
/// touch or overlap. An energy's result has all derivatives and the value then.
bool lrc_probe_force(lrc_probe *probe, const cri_pose pose[2], cri_vec3 *force);

/// Corners of box k at a pose.
void lrc_corners(int k, const cri_pose *pose, cri_vec3 out[LRC_N_CORNER]);
