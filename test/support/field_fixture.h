// SPDX-License-Identifier: MIT
//
// Fields for tests.

#pragma once

#include "geometry/field.h"

enum { FIELD_FIXTURES = 11, FIELD_PARAMS = 24 };

/// A field in its own memory.
typedef struct fixture_field {
    const char *name;
    cri_field field;
    cri_field_node node[8];
    double param[FIELD_PARAMS];
} fixture_field;

/// sphere, box, rounded_box, cylinder, capsule, ellipsoid; csg: a rounded box minus a cylinder,
/// united with a sphere; then a posed box, a posed intersection, a sharp difference and a torus
/// that is a custom field. Sizes below one.
void fixture_field_make(int which, fixture_field *out);

/// By name; the test ends when there is none.
void fixture_field_find(const char *name, fixture_field *out);

/// A sphere, box, ... alone.
void fixture_field_leaf(cri_field_kind kind, int n, const double *param, fixture_field *out);

/// Points the field to the memory of its own struct, after it was copied.
void fixture_field_settle(fixture_field *f);

/// Distance to a torus about z: param is the radius of its circle and that of its tube.
extern const cri_field_custom fixture_torus;
