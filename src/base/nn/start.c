// SPDX-License-Identifier: MIT
//
// Starts. Of the fans n_0 (in) and n_1 (out) of a layer,
//
//   orthogonal   Q of the QR factorisation of a Gaussian matrix with positive diagonal of R, which
//                is uniform over matrices with orthonormal columns (Mezzadri 2007); of the
//                transposed one when n_1 < n_0
//   Glorot       uniform, variance 2/(n_0 + n_1) (Glorot and Bengio 2010, eq. 16)
//   fan-in       uniform in +-1/sqrt n_0
//
// Gram and Schmidt's process twice gives Q with a positive diagonal of R as it stands.

#include "base/nn/start.h"

#include "base/base.h"
#include "base/math/dense.h"

#include <math.h>

static void fill_uniform(cri_random *stream, int n, double limit, double *w) {
    for (int i = 0; i < n; i++) {
        w[i] = limit > 0.0 ? cri_random_uniform(stream, -limit, limit) : 0.0;
    }
}

// n_vector orthonormal rows of length n >= n_vector
static void fill_orthonormal(cri_random *stream, int n_vector, int n, double *rows) {
    for (int k = 0; k < n_vector; k++) {
        double *row = rows + (long)k * n;
        double before = 0.0, after = 0.0;
        do {
            for (int i = 0; i < n; i++) {
                row[i] = cri_random_normal(stream);
            }
            before = sqrt(cri_dot(n, row, row));
            for (int pass = 0; pass < 2; pass++) {
                for (int j = 0; j < k; j++) {
                    const double *other = rows + (long)j * n;
                    cri_add_scaled(n, -cri_dot(n, row, other), other, row);
                }
            }
            after = sqrt(cri_dot(n, row, row));
        } while (!(after > 1e-8 * before)); // in the span of the others: draw again
        for (int i = 0; i < n; i++) {
            row[i] /= after;
        }
    }
}

static bool fill_orthogonal(cri_random *stream, int n_out, int n_in, double *w, cr_arena *work) {
    if (n_out <= n_in) {
        fill_orthonormal(stream, n_out, n_in, w);
        return true;
    }
    cri_arena_mark mark = cri_arena_get_mark(work);
    double *columns = CR_PUSH_RAW(work, double, (size_t)n_out *(size_t)n_in);
    if (columns) {
        fill_orthonormal(stream, n_in, n_out, columns);
    }
    for (long i = 0; columns && i < (long)n_out * n_in; i++) {
        w[i] = columns[i % n_in * n_out + i / n_in];
    }
    cri_arena_rewind(work, mark);
    return columns != NULL;
}

bool cri_mlp_start(const cri_mlp *net, cri_start kind, cri_random *stream, double *w,
                   cr_arena *work) {
    CR_ASSERT(net && stream && w && work);
    for (int l = 1; l <= net->n_layer; l++) {
        int n_in = net->width[l - 1], n_out = net->width[l];
        double *W = w + cri_mlp_place(net, l, false);
        double limit = 1.0 / sqrt(n_in);
        switch (kind) {
        case CRI_START_ORTHOGONAL:
            if (!fill_orthogonal(stream, n_out, n_in, W, work)) {
                return false;
            }
            break;
        case CRI_START_GLOROT:
            fill_uniform(stream, n_out * n_in, sqrt(6.0 / (n_in + n_out)), W);
            limit = 0.0;
            break;
        case CRI_START_FAN_IN:
            fill_uniform(stream, n_out * n_in, limit, W);
            break;
        }
        if (l < net->n_layer || !net->has_no_last_bias) {
            fill_uniform(stream, n_out, limit, w + cri_mlp_place(net, l, true));
        }
    }
    return true;
}
