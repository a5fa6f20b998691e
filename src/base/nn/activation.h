// SPDX-License-Identifier: MIT
//
// Activations of nets over arrays, and cross entropy from logits.
//
// Good to 3 units in the last place, the same bits on every machine and for every length. No
// argument overflows: those beyond 700 saturate. NaN stays NaN.

#pragma once

typedef enum cri_activation { CRI_ACT_SOFTPLUS, CRI_ACT_TANH, CRI_ACT_RELU } cri_activation;

/// a = act(z), s = act'(z), n of each; either may be NULL, and either may be z itself.
void cri_activate(cri_activation act, int n, const double *z, double *a, double *s);

/// s (n) = 1/(1 + exp(-z)), which may be z itself.
void cri_logistic(int n, const double *z, double *s);

/// One number of it.
double cri_logistic_at(double z);

/// loss (n) of logits z for labels c in [0, 1]: log(1 + exp z) - c z.
void cri_cross_entropy(int n, const double *z, const double *c, double *loss);

/// Its adjoint: adds to z_adj (n).
void cri_cross_entropy_vjp(int n, const double *z, const double *c, const double *loss_adj,
                           double *z_adj);
