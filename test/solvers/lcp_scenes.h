// SPDX-License-Identifier: MIT
//
// Random problems of friction by eight directions: boxes that touch each other and the ground.
//
//   A = J W J',  b = J v-,  c = b - e max(0, -b_n) in normal rows
//
// Without restitution c lies in the range of J, and the problem has a solution (Anitescu and Potra
// 1997).

#pragma once

#include "cr_test.h"
#include "solvers/lcp.h"

#include <math.h>
#include <string.h>

enum { N_MOST = 12, DOF_MOST = 6 * N_MOST };

/// Boxes that touch each other and the ground.
typedef struct scene {
    int n, n_body;
    double A[9 * N_MOST * N_MOST], b[3 * N_MOST], c[3 * N_MOST], mu[N_MOST], e[N_MOST], l[N_MOST];
} scene;

/// Bodies of a contact (-1: the ground), arms from their centres, frame (normal first).
typedef struct place {
    int body[2];
    double arm[2][3], frame[9];
} place;

static double chance(cr_test_rng *rng) {
    return cr_test_uniform(rng, 0.0, 1.0);
}

static void cross(const double *a, const double *b, double *out) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static void normalise(double *a) {
    double r = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
    for (int i = 0; i < 3; i++) {
        a[i] /= r;
    }
}

// a frame around n that is turned at random
static void draw_frame(const double *n, double *frame, cr_test_rng *rng) {
    double other[3];
    for (int i = 0; i < 3; i++) {
        frame[i] = n[i];
        other[i] = cr_test_uniform(rng, -1.0, 1.0);
    }
    normalise(frame);
    cross(frame, other, frame + 3);
    normalise(frame + 3);
    cross(frame, frame + 3, frame + 6);
}

// rows (3, 6 n_body) of a contact
static void fill_rows(const place *at, int n_dof, double *J) {
    memset(J, 0, sizeof *J * 3 * (size_t)n_dof);
    for (int r = 0; r < 3; r++) {
        for (int s = 0; s < 2; s++) {
            double turn[3], sign = s == 0 ? -1.0 : 1.0, *row = J + r * n_dof;
            cross(at->arm[s], at->frame + 3 * r, turn);
            for (int i = 0; at->body[s] >= 0 && i < 3; i++) {
                row[6 * at->body[s] + i] = sign * at->frame[3 * r + i];
                row[6 * at->body[s] + 3 + i] = sign * turn[i];
            }
        }
    }
}

/// FREE: any points and normals. PATCH: the corners of a box on the ground, and more of its face.
/// STACK: boxes on each other, four corners a face. TWICE: FREE, every second point repeated.
typedef enum family { FREE, PATCH, STACK, TWICE, N_FAMILY } family;

// corner k of a face of 2 m by 1 m, or a point in it
static void draw_face_point(bool is_corner, int k, double *arm, cr_test_rng *rng) {
    arm[0] = is_corner ? (k % 4 < 2 ? 1.0 : -1.0) : cr_test_uniform(rng, -1.0, 1.0);
    arm[1] = is_corner ? (k % 2 ? -0.5 : 0.5) : cr_test_uniform(rng, -0.5, 0.5);
}

static void draw_places(family kind, int n, int n_body, place *at, cr_test_rng *rng) {
    bool is_flat = kind == PATCH || kind == STACK;
    for (int k = 0; k < n; k++) {
        place *p = &at[k];
        double normal[3] = {0.0, 0.0, 1.0};
        if (kind == TWICE && k % 2 == 1) {
            *p = at[k - 1];
            continue;
        }
        *p = (place){.body = {-1, (int)(chance(rng) * n_body)}};
        int other = (int)(chance(rng) * (n_body + 1)) - 1;
        p->body[0] = other == p->body[1] ? -1 : other;
        for (int i = 0; i < 3; i++) {
            p->arm[0][i] = cr_test_uniform(rng, -1.0, 1.0);
            p->arm[1][i] = cr_test_uniform(rng, -1.0, 1.0);
            normal[i] += is_flat ? 0.0 : cr_test_uniform(rng, -0.8, 0.8);
        }
        if (is_flat) {
            p->body[1] = kind == STACK ? k / 4 : 0;
            p->body[0] = p->body[1] - 1;
            draw_face_point(kind == STACK || k < 4, k, p->arm[0], rng);
            memcpy(p->arm[1], p->arm[0], 2 * sizeof(double));
            p->arm[0][2] = 0.5;
            p->arm[1][2] = -0.5;
        }
        draw_frame(normal, p->frame, rng);
    }
}

static scene draw_scene(family kind, int n, double decades, bool bounces, cr_test_rng *rng) {
    static double J[3 * N_MOST * DOF_MOST];
    scene s = {.n = n};
    s.n_body = kind == PATCH ? 1 : kind == STACK ? (n + 3) / 4 : 1 + (int)(chance(rng) * n);
    int m = 3 * n, n_dof = 6 * s.n_body;
    double W[DOF_MOST], v[DOF_MOST];
    place at[N_MOST];
    for (int k = 0; k < s.n_body; k++) {
        double mass = pow(10.0, cr_test_uniform(rng, -0.5 * decades, 0.5 * decades));
        for (int i = 0; i < 6; i++) {
            // inertia of boxes of half a metre to one
            W[6 * k + i] = 1.0 / (i < 3 ? mass : mass * cr_test_uniform(rng, 0.15, 0.6));
            v[6 * k + i] = cr_test_uniform(rng, -1.0, 1.0) - (i == 2 ? 1.0 : 0.0);
        }
    }
    draw_places(kind, n, s.n_body, at, rng);
    double mu = cr_test_uniform(rng, 0.0, 1.2), e = bounces ? chance(rng) : 0.0;
    bool is_alike = chance(rng) < 0.5;
    for (int k = 0; k < n; k++) {
        fill_rows(&at[k], n_dof, J + 3 * k * n_dof);
        s.mu[k] = is_alike ? mu : chance(rng) < 0.1 ? 0.0 : cr_test_uniform(rng, 0.0, 1.2);
        s.e[k] = e;
    }
    for (int i = 0; i < m; i++) {
        for (int k = 0; k < n_dof; k++) {
            s.b[i] += J[i * n_dof + k] * v[k];
            for (int j = 0; j < m; j++) {
                s.A[i * m + j] += J[i * n_dof + k] * W[k] * J[j * n_dof + k];
            }
        }
        s.c[i] = s.b[i] - (i % 3 == 0 ? s.e[i / 3] * fmax(0.0, -s.b[i]) : 0.0);
    }
    return s;
}

static cri_friction friction_of(const scene *s) {
    return (cri_friction){
        .kind = CRI_OCTAGON, .n = s->n, .A = s->A, .b = s->b, .c = s->c, .mu = s->mu, .l = s->l};
}
