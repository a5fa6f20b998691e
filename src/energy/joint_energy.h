// SPDX-License-Identifier: MIT
//
// Energies of joints over an implicit step: armature, springs, damping, drives, tendons and forces
// on dofs, as terms that depend on one combination of dofs, or on the turn of one joint.
//
// A term knows its gradient in the unknown next position, and what that depends on besides: the
// position and rate now, controls, parameters. Sums and derivatives are then loops over terms.

#pragma once

#include "model/model.h"

enum { CRI_TERM_PARAMS = 5 };

/// What joint terms are made of. Positions have unit quaternions.
typedef struct cri_joint_step {
    const cri_mechanism *mech;
    const cri_mech_derived *d;
    const double *next, *now; // (n_q)
    const double *rate;       // (n_v) now
    const double *u;          // (n_u)
    double h;                 // s
} cri_joint_step;

/// A function of c = sum coef q over hinges, slides or linear dofs of a free joint.
typedef struct cri_joint_term {
    int n;
    const int *dof; // (n), or own_dof
    const double *coef;
    double next;                  // c next
    double value, slope, bend;    // of the energy in it
    double slope_now, slope_rate; // of the slope: for c now, for its rate
    int u;                        // control that it depends on, -1: none
    double slope_u;
    int n_param; // consecutive numbers of d, param their place from d->gravity
    long param;
    double slope_param[CRI_TERM_PARAMS];
    double slope_mu; // for the contact coefficient
    int own_dof;
} cri_joint_term;

/// A function of the turn of a ball or free joint. Matrices (3, 3), row-major, of the gradient.
typedef struct cri_turn_term {
    int dof; // first of three
    double value, g[3];
    double H[9]; // symmetric
    double now[9], rate[9], u[9];
    int first_u;
    long param; // stiffness, damping, armature, from d->gravity
    double of_param[3][3];
} cri_turn_term;

/// Terms of combinations, numbered; those of dofs without effect have value and slopes zero.
int cri_joint_n_term(const cri_mechanism *mech);
void cri_joint_term_at(const cri_joint_step *step, int i, cri_joint_term *out);

/// The turn of a joint. False when it has none, or nothing acts on it.
bool cri_turn_term_at(const cri_joint_step *step, int joint, cri_turn_term *out);

/// CR_ERR_UNSUPPORTED, naming it, when something acts on joints that has no such energy: equality
/// constraints, drives on sites and on ball joints.
CR_MUST_CHECK cr_status cri_joint_energy_check(const cri_mechanism *mech, cr_error *err);

/// Value of all terms; adds to the gradient g (n_v) and to H (n_v, n_v), NULL when not wanted, and
/// to *size what is rounded in the value.
double cri_joint_energy(const cri_joint_step *step, double *g, double *H, double *size);

/// Derivatives of l . gradient, l (n_v), for all but the next position: adds to q_adj, v_adj (n_v,
/// tangents), u_adj (n_u) and to the numbers of d_adj.
void cri_joint_energy_vjp(const cri_joint_step *step, const double *l, double *q_adj, double *v_adj,
                          double *u_adj, const cri_mech_derived *d_adj);

/// Tangents of positions now, rates, controls and parameters.
typedef struct cri_joint_tan {
    const double *q, *v;       // (n_v)
    const double *u;           // (n_u)
    const cri_mech_derived *d; // NULL: zero
} cri_joint_tan;

/// Adds the tangent of the gradient to g_tan (n_v).
void cri_joint_energy_jvp(const cri_joint_step *step, const cri_joint_tan *tan, double *g_tan);

/// What one term adds, for terms of others: contact laws have limits of joints.
void cri_joint_term_add(const cri_joint_term *t, int n_v, double *g, double *H);
