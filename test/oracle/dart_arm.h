// SPDX-License-Identifier: MIT
//
// A robot on hinges and slides in DART, for a test in C.

#pragma once

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dart_arm dart_arm;

/// Reads a URDF without its looks and shapes, which do not matter for the motion. NULL: DART
/// refuses it.
dart_arm *dart_arm_load(const char *path);
void dart_arm_destroy(dart_arm *arm);

int dart_arm_n_dof(const dart_arm *arm);
int dart_arm_n_body(const dart_arm *arm);
const char *dart_arm_joint_name(const dart_arm *arm, int dof);
const char *dart_arm_body_name(const dart_arm *arm, int body);
double dart_arm_mass(const dart_arm *arm, int body);
double dart_arm_total_mass(const dart_arm *arm);

/// Places, rates and forces of the dofs. What follows belongs to this state.
void dart_arm_set(dart_arm *arm, const double *q, const double *v, const double *tau);

void dart_arm_pose(const dart_arm *arm, int body, double pos[3], double R[9]);
void dart_arm_mass_matrix(const dart_arm *arm, double *M);
void dart_arm_bias(const dart_arm *arm, double *c); // Coriolis and gravity
void dart_arm_accel(dart_arm *arm, double *a);      // forward dynamics

#ifdef __cplusplus
}
#endif
