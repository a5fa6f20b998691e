// SPDX-License-Identifier: MIT
//
// Contact problems of a body in space: inverse mass w, inverse inertia J (xx yy zz xy xz yz), its
// centre at the height h over contacts at (x_i, y_i), frames along the axes; small nets.
//
//   G = [a', (r_i x a)'] of the axes a = z, x, y,   W = diag(w, J),   A = G W G',   b = G v
//
// Numbers of a problem x = (w, J (6), h, places (2n), v (6), target (n), weights).

#pragma once

#include "base/math/vec3.h"
#include "contact/augmented.h"

#include <math.h>
#include <string.h>

enum { SPACE_CONTACTS = 8, SPACE_ROWS = 3 * SPACE_CONTACTS };

typedef struct space_plant {
    int n; // contacts
    cri_ground_nets nets;
} space_plant;

static inline int space_at_v(const space_plant *g) {
    return 8 + 2 * g->n;
}

static inline int space_at_target(const space_plant *g) {
    return space_at_v(g) + 6;
}

static inline int space_at_weights(const space_plant *g) {
    return space_at_target(g) + g->n;
}

static inline int space_size(const space_plant *g) {
    return space_at_weights(g) + g->nets.n_weight;
}

/// G (3n, 6); or with is_tan what x as a tangent changes in it.
static inline void space_rows(const space_plant *g, const double *x, bool is_tan, double *G) {
    static const int axis[3] = {2, 0, 1};
    for (int i = 0; i < 3 * g->n; i++) {
        cri_vec3 r = cri_v3(x[8 + i / 3 * 2], x[9 + i / 3 * 2], -x[7]);
        double a[3] = {0.0, 0.0, 0.0};
        a[axis[i % 3]] = 1.0;
        cri_v3_store(cri_v3_scale(is_tan ? 0.0 : 1.0, cri_v3_load(a)), G + 6 * i);
        cri_v3_store(cri_v3_cross(r, cri_v3_load(a)), G + 6 * i + 3);
    }
}

/// out (6) = W z.
static inline void space_answer(const double *x, const double *z, double *out) {
    const double *J = x + 1;
    for (int i = 0; i < 3; i++) {
        out[i] = x[0] * z[i];
    }
    out[3] = J[0] * z[3] + J[3] * z[4] + J[4] * z[5];
    out[4] = J[3] * z[3] + J[1] * z[4] + J[5] * z[5];
    out[5] = J[4] * z[3] + J[5] * z[4] + J[2] * z[5];
}

/// out (3n) = G z, or out (6) = G' f.
static inline void space_push(int n, const double *G, const double *z, double *out) {
    for (int i = 0; i < 3 * n; i++) {
        out[i] = 0.0;
        for (int d = 0; d < 6; d++) {
            out[i] += G[6 * i + d] * z[d];
        }
    }
}

static inline void space_pull(int n, const double *G, const double *f, double *out) {
    memset(out, 0, sizeof *out * 6);
    for (int i = 0; i < 3 * n; i++) {
        for (int d = 0; d < 6; d++) {
            out[d] += G[6 * i + d] * f[i];
        }
    }
}

/// A (3n, 3n), b (3n) and the problem of x.
static inline cri_contact_problem space_problem(const space_plant *g, const double *x, double *A,
                                                double *b) {
    double G[6 * SPACE_ROWS], GW[6 * SPACE_ROWS];
    int m = 3 * g->n;
    space_rows(g, x, false, G);
    space_push(g->n, G, x + space_at_v(g), b);
    for (int i = 0; i < m; i++) {
        space_answer(x, G + 6 * i, GW + 6 * i);
    }
    for (int i = 0; i < m * m; i++) {
        A[i] = 0.0;
        for (int d = 0; d < 6; d++) {
            A[i] += GW[i / m * 6 + d] * G[i % m * 6 + d];
        }
    }
    return (cri_contact_problem){.n = g->n,
                                 .A = A,
                                 .b = b,
                                 .target = x + space_at_target(g),
                                 .nets = &g->nets,
                                 .weights = x + space_at_weights(g),
                                 .place = x + 8};
}
