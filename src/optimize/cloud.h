// SPDX-License-Identifier: MIT
//
// Recordings of points on a surface, as depth cameras see them.
//
// Every sample of such a recording has the same number of points p, and the residual of a point is
// its signed distance from the geom, phi(R'(p - x)), which needs no pairs of points.

#pragma once

#include "base/arena.h"
#include "geometry/query/depth.h"
#include "model/model.h"
#include "optimize/recording.h"

/// Points of one time, in the world; n may be 0.
typedef struct cri_cloud_frame {
    double time; // s
    int n;
    const double *point; // (n, 3)
} cri_cloud_frame;

/// What was seen of a geom. Borrowed; file stands in messages and stays with the recording.
typedef struct cri_cloud_def {
    int geom;
    int n_frame;
    const cri_cloud_frame *frame; // (n_frame) in ascending time
    int n_point;                  // of each frame that count, above 0
    const char *file;
} cri_cloud_def;

/// A recording of it. Of every frame n_point are taken, evenly over their order; a frame with fewer
/// has some twice, and one without any is left out. CR_ERR_ARGUMENT when a number is not finite,
/// times do not increase or fewer than two frames have points.
CR_MUST_CHECK cr_status cri_cloud_push(const cr_model *model, const cri_cloud_def *def,
                                       cr_arena *arena, cri_recording *out, cr_error *err);

/// The geom as a field with the parameters p (n_p). False: it has none, as planes.
bool cri_cloud_field(const cr_model *model, int geom, const double *p, cri_field_node *leaf,
                     cri_field *out);

/// What the comparison of a frame reads.
typedef struct cri_cloud_view {
    const cr_model *model;
    const cri_recording *recording;
    const double *p; // (n_p)
    const double *x; // (n_x) unit quaternions
    int n_unknown;
    const double *x_tan; // (n_unknown, n_tangent)
    const double *p_tan; // (n_unknown, n_p)
    double *x_adj;       // (n_x) scratch
} cri_cloud_view;

/// Residuals r (n_column) of a sample and, when J is not NULL, their derivatives: J[j stride + i]
/// of point i for unknown j.
void cri_cloud_compare(const cri_cloud_view *view, int sample, double *r, double *J, size_t stride);
