// SPDX-License-Identifier: MIT
//
// Depth cameras: pictures of fields, the points that they see, and how far points are from a field.
//
// A camera looks along its own -z with y upwards (OpenGL). Pixel (u, v), v from the top, is seen
// along ((u + 1/2 - cx)/fx, -(v + 1/2 - cy)/fy, -1) in the camera's frame; its depth is the
// distance along -z in metres, 0 where nothing is seen.

#pragma once

#include "base/arena.h"
#include "base/random.h"
#include "geometry/convex/shape.h"
#include "geometry/field/field.h"

typedef struct cri_camera {
    int width, height;
    double fx, fy, cx, cy; // pixels
    cri_pose pose;         // of the camera in the world
} cri_camera;

enum { CRI_CAMERA_MOST = 1 << 24 }; // pixels

/// What is wrong with a camera, NULL when nothing is.
const char *cri_camera_fault(const cri_camera *camera);

/// Something to be seen.
typedef struct cri_seen {
    const cri_field *field;
    cri_pose pose;
} cri_seen;

/// Pictures (height, width): depth of the nearest surface, and which of the n things it is, -1:
/// none. normal (height, width, 3), in the world, NULL: not wanted. Rays that begin within a thing
/// do not see it. False when scratch has no memory.
CR_MUST_CHECK bool cri_depth_render(const cri_camera *camera, int n, const cri_seen *seen,
                                    double *depth, int *which, double *normal, cr_arena *scratch);

/// Normal noise of deviation noise d^2 on every depth d.
void cri_depth_disturb(const cri_camera *camera, double noise, cri_random *stream, double *depth);

/// Takes away the pixels of thing k with a neighbour, of the eight, that is not k's: depth becomes
/// 0 there. False when scratch has no memory.
CR_MUST_CHECK bool cri_depth_erode(const cri_camera *camera, int k, int *which, double *depth,
                                   cr_arena *scratch);

/// Points (n, 3) of the world that pixels of thing k see, at most n_most of them; which NULL: all
/// pixels with a depth. Returns how many.
int cri_depth_points(const cri_camera *camera, const double *depth, const int *which, int k,
                     int n_most, double *point);

/// Where a pose goes, and the adjoints of its parts: pos in the world, rot a rotation vector in its
/// own frame.
typedef struct cri_pose_diff {
    cri_vec3 pos, rot;
} cri_pose_diff;

/// Mean of phi^2 over n points (n, 3) of the world, for a field in a pose.
double cri_depth_loss(const cri_field *field, const cri_pose *pose, int n, const double *point);

/// Adds to pose_adj and param_adj (n_param), each NULL when not wanted.
void cri_depth_loss_vjp(const cri_field *field, const cri_pose *pose, int n, const double *point,
                        double loss_adj, cri_pose_diff *pose_adj, double *param_adj);

/// Its tangent; param_tan NULL: parameters at rest.
double cri_depth_loss_jvp(const cri_field *field, const cri_pose *pose, int n, const double *point,
                          const cri_pose_diff *pose_tan, const double *param_tan);
