// SPDX-License-Identifier: MIT
//
// Single entries of a state x and tangent coordinates.
//
// In tangent coordinates each quaternion q of x is a rotation vector theta in the body frame, so
// n_tangent = 2 n_v. Both directions take q as it is and mean its unit quaternion.

#pragma once

#include "model/model.h"

/// Adds the tangent of a unit change of entry i of x to x_tan (n_tangent).
void cri_tangent_of_entry(const cr_model *model, const double *x, int i, double *x_tan);

/// The change of entry i of x, its quaternions of length one, for the tangent x_tan (n_tangent).
double cri_entry_of_tangent(const cr_model *model, const double *x, int i, const double *x_tan);
