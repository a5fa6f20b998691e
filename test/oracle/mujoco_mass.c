// SPDX-License-Identifier: MIT
//
// Mass, centre and inertia of bodies against MuJoCo 2.2.2.
//
// MuJoCo keeps an inertia as principal moments and axes. Where it has to find the axes (full
// inertias, several geoms, meshes), it turns a plane until a turn's cosine is above 1 - 1e-12, so
// that up to AXES of the difference of two moments is left between their axes. Moments agree to
// AXES^2. Vertices of meshes are floats there.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mujoco_both.h"

// angle whose cosine is 1 - 1e-12, in each of the two planes that meet at an axis
#define AXES 2.0e-6

// a float is wrong by up to 2^-24 = 6e-8; masses and centres see its third power, though vertices
// err to both sides, and moments its fifth
#define MESH_TOLERANCE 1e-7
#define MESH_MOMENT_TOLERANCE 3e-7

// rounding of a rotation
#define EXACT 1e-14

// eigenvalues in ascending order, by Jacobi's rotations
static void moments_of(const double J[6], double out[3]) {
    double a[3][3] = {{J[0], J[3], J[4]}, {J[3], J[1], J[5]}, {J[4], J[5], J[2]}};
    for (int k = 0; k < 60; k++) {
        int i = k % 3 == 2 ? 1 : 0;
        int j = k % 3 == 0 ? 1 : 2;
        int l = 3 - i - j;
        double angle = 0.5 * atan2(2.0 * a[i][j], a[j][j] - a[i][i]);
        double c = cos(angle);
        double s = sin(angle);
        double ii = c * c * a[i][i] - 2.0 * c * s * a[i][j] + s * s * a[j][j];
        double jj = s * s * a[i][i] + 2.0 * c * s * a[i][j] + c * c * a[j][j];
        double il = c * a[i][l] - s * a[j][l];
        double jl = s * a[i][l] + c * a[j][l];
        a[i][i] = ii;
        a[j][j] = jj;
        a[i][j] = a[j][i] = 0.0;
        a[i][l] = a[l][i] = il;
        a[j][l] = a[l][j] = jl;
    }
    double least = fmin(a[0][0], fmin(a[1][1], a[2][2]));
    double most = fmax(a[0][0], fmax(a[1][1], a[2][2]));
    out[0] = least;
    out[1] = a[0][0] + a[1][1] + a[2][2] - least - most;
    out[2] = most;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

// MuJoCo's inertia in body axes
static void inertia_of(const both *s, int b, double J[6]) {
    double R[9];
    mju_quat2Mat(R, s->m->body_iquat + 4 * (b + 1));
    const double *moment = s->m->body_inertia + 3 * (b + 1);
    static const int row[6] = {0, 1, 2, 0, 0, 1};
    static const int column[6] = {0, 1, 2, 1, 2, 2};
    for (int k = 0; k < 6; k++) {
        J[k] = 0.0;
        for (int i = 0; i < 3; i++) {
            J[k] += R[3 * row[k] + i] * moment[i] * R[3 * column[k] + i];
        }
    }
}

static void compare_inertia(const both *s, int b, worst *w) {
    double tolerance = s->is_meshed[b] ? MESH_MOMENT_TOLERANCE : TOLERANCE;
    const cri_link_derived *link = &s->derived->link[b];
    double moments[2][3];
    moments_of(link->J, moments[0]);
    mju_copy3(moments[1], s->m->body_inertia + 3 * (b + 1));
    qsort(moments[1], 3, sizeof(double), by_size);
    compare("principal moment of a body", s, 3, moments[0], moments[1], tolerance, &w->inertia);

    double J[6];
    inertia_of(s, b, J);
    double spread = s->is_turned[b] ? AXES * (moments[0][2] - moments[0][0]) / moments[0][2] : 0.0;
    compare("inertia of a body", s, 6, link->J, J, tolerance + spread, &w->axes);
}

void compare_masses(const both *s, worst *w) {
    double total[2] = {0};
    bool has_mesh = false;
    for (int b = 0; b < s->mech->n_body; b++) {
        const cri_link_derived *link = &s->derived->link[b];
        if (s->mech->link[b].unit < 0) {
            continue;
        }
        has_mesh = has_mesh || s->is_meshed[b];
        double tolerance = s->is_meshed[b] ? MESH_TOLERANCE : TOLERANCE;
        total[0] += link->mass;
        total[1] += s->m->body_mass[b + 1];
        double carom[4] = {link->mass, link->com.x, link->com.y, link->com.z};
        double mujoco[4] = {s->m->body_mass[b + 1]};
        mju_copy3(mujoco + 1, s->m->body_ipos + 3 * (b + 1));
        compare("mass and centre of a body", s, 4, carom, mujoco, tolerance, &w->mass);
        compare_inertia(s, b, w);
    }
    compare("total mass", s, 1, &total[0], &total[1], has_mesh ? MESH_TOLERANCE : TOLERANCE,
            &w->mass);
}

void adopt_masses(both *s) {
    for (int b = 0; b < s->mech->n_body; b++) {
        cri_link_derived *link = &s->derived->link[b];
        if (s->mech->link[b].unit < 0 || !(s->is_meshed[b] || s->is_turned[b])) {
            continue;
        }
        double J[6];
        double most = 0.0;
        inertia_of(s, b, J);
        for (int k = 0; k < 6; k++) {
            most = fmax(most, fabs(J[k] - link->J[k]));
        }
        // one that was given with its axes is kept as it is
        if (s->is_meshed[b] || most > EXACT * fmax(J[0], fmax(J[1], J[2]))) {
            link->mass = s->m->body_mass[b + 1];
            link->com = cri_v3_load(s->m->body_ipos + 3 * (b + 1));
            memcpy(link->J, J, sizeof J);
        }
    }
}
