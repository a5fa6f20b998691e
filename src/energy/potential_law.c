// SPDX-License-Identifier: MIT
//
// The laws that are energies: names, forms and coefficients. What they compute: potential_sum.c.

#include "energy/potential_law.h"

#include "energy/potential.h"

const cri_law cri_law_longrange = {
    .name = "longrange",
    .summary = "long-range potential of surfaces, smooth and never zero; implicit step",
    .promise =
        "Bodies never touch: a potential mu P pushes them apart at any distance, ever so "
        "weakly. Twice differentiable, never pulling, infinite where surfaces meet. Friction "
        "is that of separating planes. Gradients are those of the implicit step.",
    .stepper = "implicit",
    .is_energy = true,
    .form = CRI_POTENTIAL_LONGRANGE,
    .mu = 1e-8,
};

const cri_law cri_law_ipc = {
    .name = "ipc",
    .summary = "barrier on distances of corners, edges and triangles, up to a reach; implicit step",
    .promise = "Bodies never touch. Zero beyond its reach; second derivatives jump where the "
               "closest pieces change. No friction.",
    .stepper = "implicit",
    .is_energy = true,
    .form = CRI_POTENTIAL_IPC,
    .mu = 10.0,
};

// five: the paper says a few
const cri_law cri_law_ipc_descent = {
    .name = "ipc-descent",
    .summary = "the motion of ipc, gradients by five steps of descent",
    .promise = "As ipc. Derivatives are not those of the motion: they are what five steps of "
               "descent on the energy of a step, from its end, would make of a change.",
    .stepper = "implicit",
    .is_energy = true,
    .form = CRI_POTENTIAL_IPC,
    .mu = 10.0,
    .n_descent = 5,
};

const cri_law cri_law_sdrs = {
    .name = "sdrs",
    .summary = "barrier on a plane between hulls, up to a reach; implicit step",
    .promise = "Hulls never touch. Smooth, zero beyond its reach. No friction.",
    .stepper = "implicit",
    .is_energy = true,
    .form = CRI_POTENTIAL_SDRS,
    .mu = 1e-4,
};

const cri_law cri_law_rough = {
    .name = "rough",
    .summary = "the function of longrange on the distances of ipc: not smooth; implicit step",
    .promise = "Bodies never touch. Never zero, but second derivatives jump where the closest "
               "pieces change, and every pair of pieces counts. No friction.",
    .stepper = "implicit",
    .is_energy = true,
    .form = CRI_POTENTIAL_ROUGH,
    .mu = 1e-8,
};

const cri_law cri_law_penalty = {
    .name = "penalty",
    .summary = "spring on the depth of corners that pushes at any distance; implicit step",
    .promise = "Surfaces may overlap, and fast ones pass. Never zero; second derivatives jump "
               "where the closest pieces change. No friction.",
    .stepper = "implicit",
    .is_energy = true,
    .form = CRI_POTENTIAL_PENALTY,
    .mu = 1e4,
};
