// SPDX-License-Identifier: MIT
//
// Fields for tests.

#pragma once

#include "cr_test.h"
#include "geometry/field/grid.h"

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

/// Empties two arenas, or makes them; the test ends when there is no memory.
void fixture_arenas(cr_arena **arena, cr_arena **scratch);

/// A point of a cube about the origin.
cri_vec3 fixture_point(cr_test_rng *rng, double half);

/// A reference mesh in arena; the test is skipped when it is not there.
cri_triangles fixture_reference_mesh(const char *name, cr_arena *arena);
