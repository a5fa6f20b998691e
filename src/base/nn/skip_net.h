// SPDX-License-Identifier: MIT
//
// Nets of distance fields: softplus layers with one skip of the input, on batches of rows: value,
// gradient for the input, and the vjp of both.
//
//   h_0 = x;  z_l = h_l W_l^T + b_l,  h_{l+1} = log(1 + exp(beta z_l))/beta for l < L;  out = z_L
//
// The layer "skip" reads [h, x]/sqrt 2, and the one before it is narrower by the input. Weights are
// flat: W_0, b_0, W_1, ... row-major. Work memory is the caller's, so that a point can be evaluated
// without heap or arena. Formulas: skip_net.c.

#pragma once

#include "base/random.h"

#include <stdbool.h>
#include <stddef.h>

enum { CRI_SKIP_NET_MOST = 12 }; // hidden layers

/// Shape of a net with one output.
typedef struct cri_skip_net {
    int n_in;
    int n_hidden;         // L, 1 to CRI_SKIP_NET_MOST
    int width;            // of hidden layers, above n_in
    int skip;             // the layer that reads the input again, 1 to L; 0: none
    double beta;          // sharpness of softplus, 1/m
    const double *turned; // the weights as cri_skip_net_turn has them; NULL: only slower
} cri_skip_net;

/// What is wrong with a shape, NULL when nothing is.
const char *cri_skip_net_fault(const cri_skip_net *net);

/// Inputs and outputs of layer l = 0..L.
int cri_skip_net_in(const cri_skip_net *net, int layer);
int cri_skip_net_out(const cri_skip_net *net, int layer);

/// Where W_l (is_bias false) or b_l of layer l = 0..L begins in the flat weights.
int cri_skip_net_place(const cri_skip_net *net, int layer, bool is_bias);
int cri_skip_net_n_weight(const cri_skip_net *net);

/// First weights for which the value is about |x| - radius.
void cri_skip_net_start(const cri_skip_net *net, double radius, cri_random *stream, double *w);

/// The weights with every W_l transposed in its place, for a net that is asked often.
void cri_skip_net_turn(const cri_skip_net *net, const double *w, double *turned);

/// Numbers of work memory for n_row rows.
size_t cri_skip_net_work(const cri_skip_net *net, int n_row);

/// phi (n_row) and, when not NULL, g (n_row, n_in) = dphi/dx at x (n_row, n_in). work is kept as it
/// is until the vjp.
void cri_skip_net_eval(const cri_skip_net *net, const double *w, int n_row, const double *x,
                       double *phi, double *g, double *work);

/// work of n_row equal rows from that of one row whose eval gave g, as far as the adjoint for the
/// input alone needs it.
void cri_skip_net_repeat(const cri_skip_net *net, int n_row, double *one, double *work);

/// Adjoints phi_adj (n_row) of phi and g_adj (n_row, n_in) of g, either NULL: none, of an eval that
/// gave g. Adds to x_adj (n_row, n_in) and w_adj, each NULL when not wanted. The second derivative
/// along rows u of the input is the x_adj of g_adj = u.
void cri_skip_net_eval_vjp(const cri_skip_net *net, const double *w, int n_row,
                           const double *phi_adj, const double *g_adj, double *x_adj, double *w_adj,
                           double *work);
