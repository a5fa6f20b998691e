// SPDX-License-Identifier: MIT
//
// Bodies that are points of any dimension, stepped by staggered central differences with impulses
// at contacts (law "restitution"): the system "central-difference".
//
// x = [q | v], q (n_body, n_dim); the v that goes with q_n is the one at n + 1/2, which carries the
// position to q_{n+1}. Formulas: central.c.
//
// p = mass (n_body) | restitution (n_contact) | offset (n_contact) | damping | parameters of the
// potential, or the weights of its net | weights of the contact net.

#pragma once

#include "base/nn/mlp.h"
#include "model/system.h"
#include "points/learn/names.h"

/// Where a contact takes its signal from.
typedef enum cri_signal {
    CRI_SIGNAL_GAP, // gap <= 0 at the new position, and an impulse that pushes
    CRI_SIGNAL_NET, // logit > 0 of a net of (q_{n+1}, v), and an impulse that pushes
} cri_signal;

/// What an impact does to positions.
typedef enum cri_projection {
    CRI_PROJECT_NONE,
    CRI_PROJECT_CLOSEST, // the nearest positions without overlap
    CRI_PROJECT_HOME,    // both bodies go to their home
} cri_projection;

typedef enum cri_potential_kind {
    CRI_POTENTIAL_NONE,
    CRI_POTENTIAL_GRAVITY,  // V = -sum m g.q          gravity[k]
    CRI_POTENTIAL_PENDULUM, // V = sum m (g/l)(1 - cos q), m the moment of inertia; gravity, length
    CRI_POTENTIAL_SPRING,   // V = sum k/2 |q - r|^2   stiffness, rest[k]
    CRI_POTENTIAL_NET,      // V = net(q of all bodies)
} cri_potential_kind;

/// Two bodies, or a body and a wall. gap = n.(q_i - q_j) - offset, or |q_i - q_j| - offset.
typedef struct cri_central_contact {
    int i, j;             // j = -1: a wall
    bool is_round;        // spheres, j >= 0
    const double *normal; // (n_dim) from j to i, unit; NULL when round
    double offset;        // m
    double restitution;   // in [0, 1]
    const char *name;     // of the pair, such as "ball:floor"
} cri_central_contact;

/// What a system is made from; all of it is copied.
typedef struct cri_central_def {
    cri_balls points;                 // bodies
    const double *mass;               // (n_body) kg
    int n_contact;                    //
    const cri_central_contact *touch; // (n_contact) in the order in which they act
    cri_signal source;                //
    cri_projection projection;        //
    const double *home;               // (n_body n_dim), NULL: zero
    double damping;                   // N s/m
    cri_potential_kind potential;     //
    const double *potential_value;    // its parameters; NULL with a net
    cri_mlp potential_net;            // n_q to 1
    cri_mlp contact_net;              // 2 n_q to n_contact
    double dt;                        // s
    const double *x0;                 // (n_x), NULL: zero
} cri_central_def;

/// The system as it steps. Constant once made.
typedef struct cri_central {
    int n_body, n_dim, n_q, n_contact, n_p;
    cri_central_contact *touch;
    cri_signal source;
    cri_projection projection;
    double *home; // (n_q)
    cri_potential_kind potential;
    cri_mlp potential_net;
    cri_mlp contact_net;
    int at_restitution, at_offset, at_damping, at_potential, at_contact_net; // places in p
    int n_visit_most;                                                        // of a row and step
    double dt;
    double *p0;       // (n_p) as defined
    double *x0;       // (n_x)
    cri_balls points; // names are owned
    cr_arena *memory; // owns everything, the struct too
} cri_central;

/// One impulse of a step.
typedef struct cri_central_visit {
    int contact;
    double gate;
    double lambda; // N s
} cri_central_visit;

/// What a step leaves for its vjp; rows after rows.
typedef struct cri_central_cache {
    double *q1;              // (n_row, n_q) before the projection
    double *q2;              // (n_row, n_q) behind it
    double *normal;          // (n_row, n_contact, n_dim) at q1
    double *reach;           // (n_row, n_contact) distance at q1, of round contacts; 0: none
    double *gate;            // (n_row, n_contact)
    bool *is_moved;          // (n_row, n_contact) by the projection
    double *move_normal;     // (n_row, n_contact, n_dim) when its turn came
    double *move_reach;      // (n_row, n_contact)
    double *move_gap;        // (n_row, n_contact)
    double *delta;           // (n_row, n_q) smooth increment of v
    int *n_visit;            // (n_row)
    cri_central_visit *seen; // (n_row, n_visit_most)
    double *relative;        // (n_row, n_visit_most, 2, n_dim) of run and of delta
    cri_mlp_cache net;       // of the potential
    bool *is_failed;         // (n_row)
} cri_central_cache;

/// Contact signals from outside, as in training. NULL members: the system's own.
typedef struct cri_central_gates {
    const double *gate; // (n_row, n_contact) in [0, 1]
    const bool *moves;  // (n_row, n_contact) does the projection act? NULL: where the gate is 1
} cri_central_gates;

/// Adjoints that a vjp adds to; each may be NULL.
typedef struct cri_central_adj {
    double *x;    // (n_row, n_x)
    double *u;    // (n_row, n_u)
    double *p;    // (n_p)
    double *gate; // (n_row, n_contact)
} cri_central_adj;

extern const cri_system_kind cri_central_kind;

/// NULL when there is no memory.
cri_central *cri_central_create(const cri_central_def *def);

/// Releases c. NULL is allowed.
void cri_central_destroy(cri_central *c);

/// Makes a model of c with parameters p (n_p, NULL: as defined), which owns c from then on.
CR_MUST_CHECK cr_status cri_central_model(cri_central *c, const double *p, cr_model **out,
                                          cr_error *err);

/// The step with contact signals from outside; gates NULL: none. cache NULL: none is wanted. x_next
/// is not x.
CR_MUST_CHECK bool cri_central_step(const cri_central *c, const cri_system_batch *batch,
                                    const cri_central_gates *gates, double *x_next,
                                    cri_central_cache *cache, cr_arena *arena);
CR_MUST_CHECK bool cri_central_step_vjp(const cri_central *c, const cri_system_batch *batch,
                                        const cri_central_cache *cache, const double *x_next_adj,
                                        const cri_central_adj *adj, cr_arena *work);

// for tests

/// Kinetic and potential energy of one row, J.
double cri_central_energy(const cri_central *c, const double *p, const double *x, cr_arena *work);
