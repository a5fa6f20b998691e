// SPDX-License-Identifier: MIT
//
// Leaves of a field's expression. Private to the files field*.c.

#pragma once

#include "geometry/field/field.h"

enum { CRI_FIELD_SIZES = 4 }; // of a primitive, at most

/// Value of a primitive, and how it depends on its sizes: d = dphi/dp, X = dg/dp, column by column.
typedef struct cri_field_jet {
    cri_field_value v;
    double d[CRI_FIELD_SIZES];
    cri_vec3 X[CRI_FIELD_SIZES];
} cri_field_jet;

/// Sizes of a primitive; -1 for what is none.
int cri_field_shape_sizes(cri_field_kind kind);

/// What is wrong with the sizes of a primitive, NULL when nothing is.
const char *cri_field_shape_fault(cri_field_kind kind, const double *p);

/// The value of a primitive at x. The jet is filled as far as order says; d and X with the Hessian.
void cri_field_shape(cri_field_kind kind, const double *p, cri_vec3 x, cri_field_order order,
                     cri_field_jet *jet);

/// Half lengths of the box around a primitive.
cri_vec3 cri_field_shape_extent(cri_field_kind kind, const double *p);
