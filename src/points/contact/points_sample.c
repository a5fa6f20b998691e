// SPDX-License-Identifier: MIT
//
// Initial states of the systems of DCS (paper 000, App. H), drawn until nothing overlaps:
//
//   balls, disks   places U(0, 1); v N(0, 1), of disks N(0, 1)/2; angle U(0, 6.28), rate N(0, 1)/2
//   pendulum       absolute angles q U(0, 3.14), rates N(0, 1);   x = l sin q, y = -l cos q, summed
//   rope           the same, every angle the last one plus U(-0.3, 0.3), rest lengths
//   top            ZXZ angles U(-1.5, 1.5); rates U(-4.5, 4.5), U(-0.3, 0.3), +-1.5 N(7, 1)
//   billiards      as it is set up
//
// R = Rz(a) Rx(b) Rz(c), angular velocity a' z + b' Rz(a) x + c' R z.

#include "points/contact/points_step.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

// draws until something fits: the largest balls of a box take some hundred
enum { MOST_DRAWS = 1000000 };

static void draw_balls(const cri_points_scene *sc, cri_random *r, double *x) {
    int D = sc->s.n_dof;
    for (int i = 0; i < D; i++) {
        x[i] = cri_random_uniform(r, 0.0, 1.0);
    }
    for (int i = 0; i < D; i++) {
        x[D + i] = cri_random_normal(r);
    }
}

static void draw_disks(const cri_points_scene *sc, cri_random *r, double *x) {
    int D = sc->s.n_dof;
    for (int i = 0; i < sc->s.n_block; i++) {
        double at[2], speed[2];
        for (int c = 0; c < 2; c++) {
            at[c] = cri_random_uniform(r, 0.0, 1.0);
            speed[c] = 0.5 * cri_random_normal(r);
        }
        double angle = cri_random_uniform(r, 0.0, 6.28), rate = 0.5 * cri_random_normal(r);
        double arm[3][2] = {{0.0, 0.0}, {cos(angle), sin(angle)}, {-sin(angle), cos(angle)}};
        for (int k = 0; k < 3; k++) {
            double *q = x + 6 * i + 2 * k, *v = q + D;
            q[0] = at[0] + arm[k][0];
            q[1] = at[1] + arm[k][1];
            v[0] = speed[0] - rate * arm[k][1];
            v[1] = speed[1] + rate * arm[k][0];
        }
    }
}

// links one after another; every angle is drawn anew, or follows the last one
static void draw_links(const cri_points_scene *sc, cri_random *r, bool is_rope, double *x) {
    double at[4] = {0.0}, q = 0.0;
    int D = sc->s.n_dof;
    for (int k = 0; k < sc->s.n_point; k++) {
        double l = is_rope ? sc->s.spring[k].length : sc->s.tie[k].length;
        bool is_free = !is_rope || k == 0;
        q = is_free ? cri_random_uniform(r, 0.0, 3.14) : q + cri_random_uniform(r, -0.3, 0.3);
        double w = cri_random_normal(r);
        at[0] += l * sin(q);
        at[1] -= l * cos(q);
        at[2] += l * cos(q) * w;
        at[3] += l * sin(q) * w;
        memcpy(x + 2 * k, at, 2 * sizeof *at);
        memcpy(x + D + 2 * k, at + 2, 2 * sizeof *at);
    }
}

static void draw_top(cri_random *r, double *x) {
    double angle[3];
    for (int i = 0; i < 3; i++) {
        angle[i] = cri_random_uniform(r, -1.5, 1.5);
    }
    double turn = cri_random_uniform(r, -4.5, 4.5), nod = cri_random_uniform(r, -0.3, 0.3);
    double sign = cri_random_whole(r, 0, 1) ? 1.0 : -1.0;
    double spin = sign * 1.5 * (7.0 + cri_random_normal(r));
    double ca = cos(angle[0]), sa = sin(angle[0]), cb = cos(angle[1]), sb = sin(angle[1]);
    double cc = cos(angle[2]), sc = sin(angle[2]);
    double R[3][3] = {{ca * cc - sa * cb * sc, -ca * sc - sa * cb * cc, sa * sb},
                      {sa * cc + ca * cb * sc, -sa * sc + ca * cb * cc, -ca * sb},
                      {sb * sc, sb * cc, cb}};
    double omega[3] = {nod * ca + spin * R[0][2], nod * sa + spin * R[1][2], turn + spin * R[2][2]};
    for (int k = 0; k < 4; k++) {
        double *q = x + 3 * k, *v = q + 12;
        for (int c = 0; c < 3; c++) {
            q[c] = 0.5 * R[c][2] + (k > 0 ? R[c][k - 1] : 0.0);
        }
        for (int c = 0; c < 3; c++) {
            int i = (c + 1) % 3, j = (c + 2) % 3;
            v[c] = omega[i] * q[j] - omega[j] * q[i];
        }
    }
}

bool cri_points_overlap(const cri_points_scene *scene, const double *x) {
    for (int i = 0; i < scene->n_touch; i++) {
        if (cri_points_gap(&scene->s, &scene->touch[i], x) < 0.0) {
            return true;
        }
    }
    return false;
}

bool cri_points_sample(const cri_points_scene *scene, cri_random *r, double *x) {
    CR_ASSERT(scene && r && x);
    for (int n = 0; n < MOST_DRAWS; n++) {
        switch (scene->kind) {
        case CRI_POINTS_BALLS:
            draw_balls(scene, r, x);
            break;
        case CRI_POINTS_DISKS:
            draw_disks(scene, r, x);
            break;
        case CRI_POINTS_PENDULUM:
        case CRI_POINTS_ROPE:
            draw_links(scene, r, scene->kind == CRI_POINTS_ROPE, x);
            break;
        case CRI_POINTS_TOP:
            draw_top(r, x);
            break;
        case CRI_POINTS_BILLIARDS:
            memcpy(x, scene->x0, sizeof *x * (size_t)scene->n_x);
            return true;
        }
        if (!cri_points_overlap(scene, x)) {
            return true;
        }
    }
    return false;
}
