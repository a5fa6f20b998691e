// SPDX-License-Identifier: MIT
//
// Nets of distance fields against numbers of the derivation, and their start.

#include "base/nn/skip_net.h"

#include "cr_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { W_MOST = 60, WORK_MOST = 400 };

// 3-4-1(+3)-4-1: numbers of an independent implementation
static void plant(const cri_skip_net *net, double *w) {
    static const double step[4] = {1.0, 2.0, 3.0, 1.0}, size[4] = {0.05, 1.0, 0.05, 1.0};
    for (int l = 0; l <= 3; l++) {
        int n = cri_skip_net_out(net, l) * cri_skip_net_in(net, l);
        double *W = w + cri_skip_net_place(net, l, false),
               *b = w + cri_skip_net_place(net, l, true);
        for (int i = 0; i < n; i++) {
            W[i] = size[l] * (l < 3 ? sin(step[l] * (i + 1)) : cos(i + 1.0));
        }
        for (int i = 0; i < cri_skip_net_out(net, l); i++) {
            b[i] = l == 1 ? 0.0 : l == 3 ? -0.2 : 0.01 * cos(i + 1.0);
        }
    }
}

TEST(value_gradient_and_adjoints_are_those_of_the_derivation) {
    static const cri_skip_net net = {.n_in = 3, .n_hidden = 3, .width = 4, .skip = 2, .beta = 100};
    static const double x[3] = {0.3, -0.2, 0.5}, phi_adj = 0.7, u[3] = {1.0, -2.0, 0.5};
    static const double g_known[3] = {-9.55521637286603e-05, 0.000754793360037222,
                                      -0.00143506671352673};
    static const double x_known[3] = {-0.00939517895268644, 0.00795276348150085,
                                      -0.00562264571785283};
    static const double last[4] = {-0.0109615326209846, -0.00315078776670645, -0.00134693314956362,
                                   -0.00281719725083671};
    double w[W_MOST], work[WORK_MOST], phi, g[3], x_adj[3] = {0.0}, w_adj[W_MOST] = {0.0};
    assert_true(cri_skip_net_n_weight(&net) <= W_MOST && cri_skip_net_work(&net, 1) <= WORK_MOST);
    plant(&net, w);
    cri_skip_net_eval(&net, w, 1, x, &phi, g, work);
    cri_skip_net_eval_vjp(&net, w, 1, &phi_adj, u, x_adj, w_adj, work);
    CHECK_CLOSE(phi, -0.198733974322057, 1e-14, 0.0);
    for (int i = 0; i < 3; i++) {
        CHECK_CLOSE(g[i], g_known[i], 1e-15, 0.0);
        CHECK_CLOSE(x_adj[i], x_known[i], 1e-14, 0.0);
    }
    for (int i = 0; i < 4; i++) {
        CHECK_CLOSE(w_adj[cri_skip_net_place(&net, 3, false) + i], last[i], 1e-14, 0.0);
    }
    CHECK_CLOSE(w_adj[cri_skip_net_place(&net, 1, false)], 0.000148965958737885, 1e-15, 0.0);
    CHECK_CLOSE(w_adj[cri_skip_net_place(&net, 0, true)], 0.00658908451856422, 1e-14, 0.0);
}

TEST(nets_start_as_a_sphere) {
    static const cri_skip_net net = {
        .n_in = 7, .n_hidden = 4, .width = 128, .skip = 2, .beta = 100};
    double *w = calloc((size_t)cri_skip_net_n_weight(&net), sizeof *w);
    double *work = calloc(cri_skip_net_work(&net, 1), sizeof *work);
    cri_random stream = cri_random_of(3, 0);
    cri_skip_net_start(&net, 0.8, &stream, w);
    for (int k = 0; k < 20; k++) {
        double x[7] = {0.0}, phi, g[7], r = 0.4 + 0.05 * k, square = 0.0;
        for (int i = 0; i < 3; i++) {
            x[i] = cri_random_normal(&stream);
            square += x[i] * x[i];
        }
        for (int i = 0; i < 3; i++) {
            x[i] *= r / sqrt(square);
        }
        cri_skip_net_eval(&net, w, 1, x, &phi, g, work);
        // a random net of this width is round to some tenths
        CHECK_CLOSE(phi, r - 0.8, 0.3, 0.0);
        CHECK((g[0] * x[0] + g[1] * x[1] + g[2] * x[2]) / r > 0.6);
    }
    free(work);
    free(w);
}

TEST(shapes_that_are_no_net_are_refused) {
    static const struct {
        int n_in, n_hidden, width, skip;
        double beta;
    } bad[] = {{3, 0, 8, 0, 100.0},  {3, 13, 8, 0, 100.0}, {3, 2, 3, 0, 100.0}, {3, 2, 8, 3, 100.0},
               {3, 2, 8, -1, 100.0}, {3, 2, 8, 1, 0.0},    {3, 2, 8, 1, 100.0}};
    for (int k = 0; k < 7; k++) {
        cri_skip_net net = {.n_in = bad[k].n_in,
                            .n_hidden = bad[k].n_hidden,
                            .width = bad[k].width,
                            .skip = bad[k].skip,
                            .beta = bad[k].beta};
        CHECK((cri_skip_net_fault(&net) != NULL) == (k < 6));
    }
}

TEST(turned_weights_give_the_same_bits) {
    enum { ROWS = 7 };
    static const int n_row[] = {1, 3, ROWS};
    cri_skip_net net = {.n_in = 7, .n_hidden = 4, .width = 64, .skip = 2, .beta = 100};
    size_t n_weight = (size_t)cri_skip_net_n_weight(&net), n_work = cri_skip_net_work(&net, ROWS);
    double *w = calloc(2 * n_weight, sizeof *w), *work = calloc(n_work, sizeof *work);
    double x[ROWS * 7], phi[2][ROWS], g[2][ROWS * 7], x_adj[2][ROWS * 7];
    cri_random stream = cri_random_of(5, 0);
    cri_skip_net_start(&net, 0.8, &stream, w);
    cri_skip_net_turn(&net, w, w + n_weight);
    for (int i = 0; i < ROWS * 7; i++) {
        x[i] = cri_random_normal(&stream);
    }
    for (int k = 0; k < 3; k++) {
        memset(x_adj, 0, sizeof x_adj);
        for (int way = 0; way < 2; way++) {
            net.turned = way ? w + n_weight : NULL;
            cri_skip_net_eval(&net, w, n_row[k], x, phi[way], g[way], work);
            cri_skip_net_eval_vjp(&net, w, n_row[k], NULL, x, x_adj[way], NULL, work);
        }
        size_t n = sizeof(double) * (size_t)n_row[k];
        CHECK(memcmp(phi[0], phi[1], n) == 0 && memcmp(g[0], g[1], 7 * n) == 0 &&
              memcmp(x_adj[0], x_adj[1], 7 * n) == 0);
    }
    free(work);
    free(w);
}

CR_TEST_MAIN(value_gradient_and_adjoints_are_those_of_the_derivation, nets_start_as_a_sphere,
             shapes_that_are_no_net_are_refused, turned_weights_give_the_same_bits)
