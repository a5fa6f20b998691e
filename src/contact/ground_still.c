// SPDX-License-Identifier: MIT
//
// What would bring a patch to rest, as inputs of the nets: with B and y the inverse masses and
// velocities of its rows in the frame of the nets,
//
//   (B + B')/2 x = -y,   S = |x|,   h = x/S
//
// Friction that holds is a cone in x, with the normals of two ends x_1, x_2 >= 0 and |x_0| <= mu
// (x_1 + x_2) whatever the body and the face that it lies on: borders of the classes that are flat
// here are curved, and others for each face, in B and y. B that cannot be factored, of ends that
// are one place, has h = 0 and no derivative.

#include "contact/ground_still.h"

#include "base/base.h"
#include "base/math/cholesky.h"

#include <math.h>
#include <string.h>

enum { MOST = CRI_GROUND_LEAD };

cri_ground_still cri_ground_still_of(int k, const double *B, const double *y) {
    CR_ASSERT(k >= 1 && k <= MOST && B && y);
    cri_ground_still out = {.k = k};
    for (int i = 0; i < k * k; i++) {
        out.factor[i] = 0.5 * (B[i] + B[i % k * k + i / k]);
    }
    if (!cri_cholesky_factor(k, out.factor)) {
        return out;
    }
    for (int i = 0; i < k; i++) {
        out.x[i] = -y[i];
    }
    cri_cholesky_solve(k, out.factor, out.x);
    for (int i = 0; i < k; i++) {
        out.size += out.x[i] * out.x[i];
    }
    out.size = sqrt(out.size);
    for (int i = 0; i < k && out.size > 0.0; i++) {
        out.h[i] = out.x[i] / out.size;
    }
    return out;
}

void cri_ground_still_vjp(const cri_ground_still *still, const double *h_adj, double *B_adj,
                          double *y_adj) {
    int k = still->k;
    double along = 0.0, x_adj[MOST] = {0.0};
    if (!(still->size > 0.0)) {
        return;
    }

    // h = x/S,  S = |x|
    for (int i = 0; i < k; i++) {
        along += h_adj[i] * still->h[i];
    }
    for (int i = 0; i < k; i++) {
        x_adj[i] = (h_adj[i] - still->h[i] * along) / still->size;
    }

    // B x = -y
    cri_cholesky_solve(k, still->factor, x_adj);
    for (int i = 0; i < k; i++) {
        y_adj[i] -= x_adj[i];
        for (int j = 0; j < k; j++) {
            B_adj[i * k + j] -= 0.5 * (x_adj[i] * still->x[j] + x_adj[j] * still->x[i]);
        }
    }
}

void cri_ground_still_jvp(const cri_ground_still *still, const double *B_tan, const double *y_tan,
                          double *h_tan) {
    int k = still->k;
    double x_tan[MOST] = {0.0}, size_tan = 0.0;
    memset(h_tan, 0, sizeof *h_tan * (size_t)k);
    if (!(still->size > 0.0)) {
        return;
    }
    for (int i = 0; i < k; i++) {
        x_tan[i] = -y_tan[i];
        for (int j = 0; j < k; j++) {
            x_tan[i] -= 0.5 * (B_tan[i * k + j] + B_tan[j * k + i]) * still->x[j];
        }
    }
    cri_cholesky_solve(k, still->factor, x_tan);
    for (int i = 0; i < k; i++) {
        size_tan += still->h[i] * x_tan[i];
    }
    for (int i = 0; i < k; i++) {
        h_tan[i] = (x_tan[i] - still->h[i] * size_tan) / still->size;
    }
}
