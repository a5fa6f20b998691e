// SPDX-License-Identifier: MIT
//
// A tree of one unit of a mechanism with its arenas, for the tests of tree dynamics.

#pragma once

#include "dynamics/mechanism_fixture.h"

#include "base/arena.h"

/// A mechanism with its arenas, and a tree of one unit.
typedef struct bench {
    fixture f;
    int unit;
    cr_arena *keep, *scratch;
    cri_tree *tree;
} bench;

static bench b;

static inline void begin(void) {
    memset(&b, 0, sizeof b);
    b.f.rng = cr_test_rng_of(3);
    cri_v3_store(cri_v3(0.0, 0.0, -9.81), b.f.gravity);
}

static inline void open_unit(int unit) {
    b.unit = unit;
    b.keep = cri_arena_create(cri_tree_bytes(&b.f.mech, unit));
    b.scratch = cri_arena_create(cri_tree_scratch_bytes(&b.f.mech, unit));
    b.tree = cri_tree_push(&b.f.mech, unit, &b.f.d, b.keep);
    assert_non_null(b.tree);
    cri_tree_set(b.tree, b.f.q, b.scratch);
}

static inline void end(void) {
    cri_arena_destroy(b.keep);
    cri_arena_destroy(b.scratch);
}

/// Each entry to an absolute and relative tolerance.
static inline void check_all(int n, const double *a, const double *expected, double tolerance) {
    for (int i = 0; i < n; i++) {
        CHECK_CLOSE(a[i], expected[i], tolerance, tolerance);
    }
}

/// A hinge on a free body.
static inline void open_reference(void) {
    static const double q[8] = {0.1, 0.2, 0.7, 0.5, 0.5, -0.5, 0.5, 0.3};
    static const double v[7] = {0.4, -0.3, 0.2, 1.0, -2.0, 0.5, 0.7};
    begin();
    fixture *f = &b.f;
    *fixture_body(f, -1, 2.0) = (cri_link){.parent = -1, .node = -1, .quat = {1.0, 0.0, 0.0, 0.0}};
    f->link_d[0] =
        (cri_link_derived){2.0, {0.1, 0.0, -0.05}, {0.02, 0.03, 0.025, 0.001, 0.0, -0.002}};
    fixture_joint(f, CRI_JOINT_FREE);
    f->joint_d[0] = (cri_joint_derived){0};
    cri_link *link = fixture_body(f, 0, 0.5);
    link->pos = cri_v3(0.2, 0.1, 0.0);
    link->quat = (cri_quat){0.8, 0.0, 0.6, 0.0};
    f->link_d[1] = (cri_link_derived){0.5, {0.0, 0.0, 0.15}, {0.004, 0.005, 0.001, 0.0, 0.0, 0.0}};
    cri_joint *hinge = fixture_joint(f, CRI_JOINT_HINGE);
    hinge->pos = cri_v3(0.0, 0.05, 0.0);
    hinge->axis = cri_v3(0.0, 0.6, 0.8);
    hinge->ref = 0.0;
    f->joint_d[1] = (cri_joint_derived){3.0, 0.4, 0.01, 0.0};
    fixture_actuator(f, CRI_DRIVE_DOFS)->joint = 1;
    f->actuator_d[0] = (cri_actuator_derived){.gain = 1.0, .gear = {2.0}};
    fixture_unit(f, 0);
    fixture_close(f);
    memcpy(f->q, q, sizeof q);
    memcpy(f->v, v, sizeof v);
    memset(f->u, 0, sizeof f->u);
    f->u[0] = 0.25;
    open_unit(0);
}

/// Unit 1 of the zoo, its equalities met.
static inline void open_zoo(bool has_ties) {
    begin();
    fixture_zoo(&b.f);
    if (has_ties) {
        fixture_zoo_ties(&b.f);
    }
    fixture_unit(&b.f, 2);
    fixture_close(&b.f);
    fixture_settle(&b.f, 1, 0.0);
    open_unit(1);
}
