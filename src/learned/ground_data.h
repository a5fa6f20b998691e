// SPDX-License-Identifier: MIT
//
// Contact states of a body, planar or free, sampled and labelled by an analytic law: what the nets
// of contact patches are trained on (paper 003, section III.D; labels: ground_data.c).

#pragma once

#include "contact/augmented.h"
#include "model/ground_nets.h"

#include <stdint.h>

/// Where states are drawn from. Half of the samples are uniform; in the other half every speed is
/// multiplied by a power of ten, 10^-4 to 1, or zero with probability 1/10, so that sliding,
/// rocking and resting are there beside impacts.
typedef struct cri_ground_sampling {
    const char *law; // that labels; NULL: the usual one
    uint64_t seed;
    double along;                  // m/s, either way
    double closing, opening;       // m/s, towards the surface and away from it
    double spin[CRI_GROUND_KINDS]; // rad/s, either way
    double tilt;                   // rad, by which a line may miss its face, either way
    double mu_static; // of what lies still before forces act; then forces are inputs; 0: no such
    bool is_uniform;  // all samples are, and no line is tilted
} cri_ground_sampling;

/// No law, which is lcp in a plane and ncp in space, whose friction has no corners; 5 m/s; 5 and 1
/// m/s; 50 rad/s for points and 20 for others; 0.003 rad.
cri_ground_sampling cri_ground_sampling_default(void);

/// Samples of one kind of patch.
typedef struct cri_ground_data {
    cri_ground_kind kind;
    int n, n_input, n_row;
    double *input;        // (n, n_input)
    double *impulse;      // (n, n_row) over the scale
    double *scale;        // (n) kg m/s
    double *restitution;  // (n) of the closing end that pushes most
    bool has_restitution; // of some sample
    bool has_applied;     // inputs have what forces made
    bool has_place;       // and end with the place along the surface
    int *label;           // (n) cri_ground_class
} cri_ground_data;

/// Recorded transitions of a body: a pose, the velocity before, with the applied forces in,
/// and the velocity after.
typedef struct cri_ground_record {
    int n;
    const double *q;              // (n, n_q) as the scene has them: slides and hinge, or all 7
    const double *before, *after; // (n, n_v)
    const double *from;           // (n, n_q) pose at the begin of a planar body; NULL: q is that of
                                  // the contact
    const double *mean;           // (n, n_v) mean velocity over span without contact; NULL: before
    const double *span;           // (n) s from there to q; with from alone
    bool is_difference;           // velocities are differences to rows beside those two
    double noise;                 // m/s: velocities below it are zero
    double reach;                 // m: what touches besides the lowest point
    double gap;                   // m: what is higher does not touch
    bool has_place;               // where on the surface it happens is an input, in a plane
} cri_ground_record;

/// The samples of one kind among them. Those where nothing moves are left out.
CR_MUST_CHECK cr_status cri_ground_take_record(const cr_model *model, cri_ground_kind kind,
                                               const cri_ground_record *record,
                                               cri_ground_data *out, cr_arena *arena,
                                               cr_error *err);

/// What a law of that name, also one of nets, makes of them: after (n, n_v) is overwritten. Solves
/// that fail leave the velocity before.
CR_MUST_CHECK cr_status cri_ground_predict(const cr_model *model, const char *law,
                                           const cri_ground_record *record, double *after,
                                           cr_error *err);

/// The law that labels this model's samples.
const char *cri_ground_label_law(const cri_ground_sampling *sampling, bool is_spatial);

/// Arrays are on the arena. Of a kind that the body cannot have n is 0: a line or surface without
/// flat faces, any in space of a body in a plane. Error: a scene that has no such body, a law that
/// is none or needs nets, or no memory.
CR_MUST_CHECK cr_status cri_ground_sample(const cr_model *model, cri_ground_kind kind, int n,
                                          const cri_ground_sampling *sampling, cri_ground_data *out,
                                          cr_arena *arena, cr_error *err);
