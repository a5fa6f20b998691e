// SPDX-License-Identifier: MIT
//
// The bodies and contacts behind a random contact problem (contact/problem_make.h).

#pragma once

#include "base/random.h"
#include "bench/problem_make.h"

/// Most bodies and joints of a scene.
#define CRI_SCENE_BODIES 10
#define CRI_SCENE_JOINTS 6

/// A box. Rows of rotation are about x, in world axes.
typedef struct cri_scene_body {
    double x[3];    // m
    double size[3]; // m, half lengths
    double mass;    // kg
    double turn[9]; // inverse inertia, row-major
} cri_scene_body;

typedef struct cri_scene_touch {
    int body[2]; // the normal points from body[1] to body[0]; body[1] = -1: the world
    double point[3];
    double normal[3];
    int n_row; // 1: a limit, 2: planar, 3
} cri_scene_touch;

/// A ball joint.
typedef struct cri_scene_joint {
    int body[2]; // body[1] = -1: the world
    double point[3];
} cri_scene_joint;

typedef struct cri_scene {
    int n_body, n_touch, n_joint;
    cri_scene_body body[CRI_SCENE_BODIES];
    cri_scene_touch touch[CRI_PROBLEM_CONTACTS];
    cri_scene_joint joint[CRI_SCENE_JOINTS];
} cri_scene;

/// Draws a scene of the family; *out comes zeroed.
void cri_scene_make(cri_family family, cri_random *r, cri_scene *out);

/// Three rows (n_dof each) of contact i: normal, tangents; rows that it lacks are zero. rows comes
/// zeroed.
void cri_scene_touch_rows(const cri_scene *s, int i, double *rows);

/// Three rows (n_dof each) of joint i. rows comes zeroed.
void cri_scene_joint_rows(const cri_scene *s, int i, double *rows);

/// Heaviest to lightest body.
double cri_scene_mass_ratio(const cri_scene *s);
