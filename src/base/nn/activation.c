// SPDX-License-Identifier: MIT
//
// Activations: formulas in lanes_exp.h, and
//
//   tanh' = 1 - tanh^2;   relu(z) = max(z, 0),  relu'(z) = 1 for z > 0, 0 else

#include "base/nn/activation.h"

#include "base/base.h"
#include "base/nn/lanes_exp.h"

CRI_INLINE void softplus_body(int n, const double *z, double *a, double *s) {
    for (int i = 0; i < n; i += CRI_LANE) {
        cri_lanes x, e, y;
        cri_lanes_load_some(n - i, z + i, &x);
        cri_lanes_decay(&x, &e);
        if (a) {
            cri_lanes_softplus(&x, &e, &y);
            cri_lanes_store_some(n - i, &y, a + i);
        }
        if (s) {
            cri_lanes_logistic(&x, &e, &y);
            cri_lanes_store_some(n - i, &y, s + i);
        }
    }
}

CRI_INLINE void tangens_body(int n, const double *z, double *a, double *s) {
    for (int i = 0; i < n; i += CRI_LANE) {
        cri_lanes x, y;
        cri_lanes_load_some(n - i, z + i, &x);
        cri_lanes_tanh(&x, &y);
        if (a) {
            cri_lanes_store_some(n - i, &y, a + i);
        }
        if (s) {
            y = 1.0 - y * y;
            cri_lanes_store_some(n - i, &y, s + i);
        }
    }
}

CRI_INLINE void relu_body(int n, const double *z, double *a, double *s) {
    for (int i = 0; i < n; i += CRI_LANE) {
        cri_lanes x, y, zero = {0.0}, one = zero + 1.0;
        cri_lanes_load_some(n - i, z + i, &x);
        cri_lane_bits is_below = x <= 0.0, is_above = x > 0.0;
        if (a) {
            y = CRI_LANES_PICK(is_below, zero, x);
            cri_lanes_store_some(n - i, &y, a + i);
        }
        if (s) {
            y = CRI_LANES_PICK(is_above, one, zero);
            cri_lanes_store_some(n - i, &y, s + i);
        }
    }
}

CRI_LANES(softplus, (int n, const double *z, double *a, double *s), (n, z, a, s))
CRI_LANES(tangens, (int n, const double *z, double *a, double *s), (n, z, a, s))
CRI_LANES(relu, (int n, const double *z, double *a, double *s), (n, z, a, s))

void cri_activate(cri_activation act, int n, const double *z, double *a, double *s) {
    CR_ASSERT(n >= 0 && (a || s) && a != s);
    switch (act) {
    case CRI_ACT_SOFTPLUS:
        softplus(n, z, a, s);
        return;
    case CRI_ACT_TANH:
        tangens(n, z, a, s);
        return;
    case CRI_ACT_RELU:
        relu(n, z, a, s);
        return;
    }
}

void cri_logistic(int n, const double *z, double *s) {
    softplus(n, z, NULL, s);
}

double cri_logistic_at(double z) {
    double s;
    softplus(1, &z, NULL, &s);
    return s;
}

// ---- cross entropy -----------------------------------------------------------------------------

CRI_INLINE void entropy_body(int n, const double *z, const double *c, double *loss) {
    for (int i = 0; i < n; i += CRI_LANE) {
        cri_lanes x, label, e, log;
        cri_lanes_load_some(n - i, z + i, &x);
        cri_lanes_load_some(n - i, c + i, &label);
        cri_lanes_decay(&x, &e);
        cri_lanes_log_1p(&e, &log);
        // softplus(z) - c z without the difference of large numbers
        cri_lane_bits is_negative = x < 0.0;
        cri_lanes share = 1.0 - label;
        log += CRI_LANES_PICK(is_negative, -label, share) * x;
        cri_lanes_store_some(n - i, &log, loss + i);
    }
}

CRI_LANES(entropy, (int n, const double *z, const double *c, double *loss), (n, z, c, loss))

void cri_cross_entropy(int n, const double *z, const double *c, double *loss) {
    entropy(n, z, c, loss);
}

void cri_cross_entropy_vjp(int n, const double *z, const double *c, const double *loss_adj,
                           double *z_adj) {
    for (int i = 0; i < n; i++) {
        z_adj[i] += loss_adj[i] * (cri_logistic_at(z[i]) - c[i]);
    }
}
