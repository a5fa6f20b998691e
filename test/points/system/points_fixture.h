// SPDX-License-Identifier: MIT
//
// States of chains, disks and tops, and a potential whose gradient is constant.

#pragma once

#include "base/arena.h"
#include "cr_test.h"
#include "points/contact/points_step.h"

#include <math.h>
#include <string.h>

/// cos(0), cos(1), ...: the adjoints of the reference
static inline void fixture_seed(int n, double *a) {
    for (int i = 0; i < n; i++) {
        a[i] = cos(i);
    }
}

static inline void fixture_check(int n, const double *got, const double *want, double tolerance) {
    for (int i = 0; i < n; i++) {
        CHECK_CLOSE(got[i], want[i], tolerance, tolerance);
    }
}

/// Absolute angles and rates of three links to [x | v] (12).
static inline void fixture_chain(const double *q, const double *w, double *state) {
    static const double l[3] = {0.35, 0.4, 0.35};
    double at[4] = {0.0};
    for (int k = 0; k < 3; k++) {
        at[0] += l[k] * sin(q[k]);
        at[1] -= l[k] * cos(q[k]);
        at[2] += l[k] * cos(q[k]) * w[k];
        at[3] += l[k] * sin(q[k]) * w[k];
        memcpy(state + 2 * k, at, 2 * sizeof *at);
        memcpy(state + 6 + 2 * k, at + 2, 2 * sizeof *at);
    }
}

/// Rotation by ZXZ angles and angular velocity in space to the state (24) of a top.
static inline void fixture_top(const double *angle, const double *omega, double *state) {
    double ca = cos(angle[0]), sa = sin(angle[0]), cb = cos(angle[1]), sb = sin(angle[1]);
    double cc = cos(angle[2]), sc = sin(angle[2]);
    double R[3][3] = {{ca * cc - sa * cb * sc, -ca * sc - sa * cb * cc, sa * sb},
                      {sa * cc + ca * cb * sc, -sa * sc + ca * cb * cc, -ca * sb},
                      {sb * sc, sb * cc, cb}};
    for (int k = 0; k < 4; k++) {
        double *x = state + 3 * k, *v = state + 12 + 3 * k;
        for (int c = 0; c < 3; c++) {
            x[c] = 0.5 * R[c][2] + (k > 0 ? R[c][k - 1] : 0.0);
        }
        for (int c = 0; c < 3; c++) {
            int i = (c + 1) % 3, j = (c + 2) % 3;
            v[c] = omega[i] * x[j] - omega[j] * x[i];
        }
    }
}

/// A disk with centre, angle, velocity and rate: six numbers of x, six of v.
static inline void fixture_disk(const double *centre, double angle, const double *speed,
                                double rate, double *x, double *v) {
    double arm[3][2] = {{0.0, 0.0}, {cos(angle), sin(angle)}, {-sin(angle), cos(angle)}};
    for (int k = 0; k < 3; k++) {
        x[2 * k] = centre[0] + arm[k][0];
        x[2 * k + 1] = centre[1] + arm[k][1];
        v[2 * k] = speed[0] - rate * arm[k][1];
        v[2 * k + 1] = speed[1] + rate * arm[k][0];
    }
}

/// V = weight.x, whatever the masses are.
typedef struct fixture_slope {
    int n;
    const double *weight;
} fixture_slope;

static inline bool fixture_slope_grad(const cri_points_potential *self, const double *p, int B,
                                      const double *x, double *g, const void **cache,
                                      cr_arena *keep) {
    (void)p, (void)x, (void)cache, (void)keep;
    const fixture_slope *f = self->context;
    for (int i = 0; i < B * f->n; i++) {
        g[i] = f->weight[i % f->n];
    }
    return true;
}

/// Arenas of a test.
typedef struct fixture_rooms {
    cr_arena *keep, *scratch;
} fixture_rooms;

static inline fixture_rooms fixture_open(void) {
    fixture_rooms r = {cri_arena_create(1 << 20), cri_arena_create(1 << 20)};
    assert_non_null(r.keep);
    assert_non_null(r.scratch);
    return r;
}

static inline void fixture_close(fixture_rooms *r) {
    cri_arena_destroy(r->keep);
    cri_arena_destroy(r->scratch);
}

static inline cri_points_scene *fixture_scene(const char *name, int n) {
    cri_points_scene *scene;
    cr_error err;
    assert_int_equal(cri_points_scene_create(name, n, &scene, &err), CR_OK);
    return scene;
}
