// SPDX-License-Identifier: MIT
//
// A body that moves in front of a depth camera, and what of it is fitted to the pictures.

#pragma once

#include "experiment.h"
#include "optimize/fit.h"
#include "optimize/replay.h"

/// How a motion is filmed.
typedef struct sdf_camera {
    cri_camera camera;
    double noise; // of a depth d: noise d^2, 1/m
    double dt;    // from frame to frame, s
    int n_frame;
} sdf_camera;

/// A scene with one free body, whose geom is filmed. Release with sdf_scene_close.
typedef struct sdf_scene {
    cr_model *model;
    cr_sim *sim;
    cr_sizes sizes;
    int geom;
    double *p, *x0; // defaults, for the caller to change
    cr_arena *memory;
} sdf_scene;

CR_MUST_CHECK cr_status sdf_scene_open(const char *text, const char *geom, sdf_scene *out,
                                       cr_error *err);
void sdf_scene_close(sdf_scene *scene);

/// Simulates p from x0 and films it: frames (n_frame) in the scene's memory, points in the order of
/// pixels, the mask one pixel narrower than the geom.
CR_MUST_CHECK cr_status sdf_film(sdf_scene *scene, const sdf_camera *camera, uint64_t seed,
                                 cri_cloud_frame *frame, cr_error *err);

/// Fits names from p and x0 to the frames, n_point of each, and leaves what was found in p and x0.
CR_MUST_CHECK cr_status sdf_fit(sdf_scene *scene, const char *names, int n_frame,
                                const cri_cloud_frame *frame, int n_point, double dt,
                                cr_error *err);
