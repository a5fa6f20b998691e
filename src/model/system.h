// SPDX-License-Identifier: MIT
//
// A system that brings its own step: points, learned dynamics. It has no bodies in the sense of a
// scene, only flat coordinates q, their rates v (n_q = n_v), and parameters with names.
//
// A step takes a batch of rows at once, since nets want matrices; the simulator uses batches of
// one, the trainer shards of many. Rows never influence one another.
//
//   x_next = step(p, h, x)          x, x_next (n_row, n_x), x = [q | v]
//   x_adj, p_adj += vjp(cache, x_next_adj)
//
// The step of a gated or thresholded system fixes its branches; the vjp keeps them.

#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "carom/carom.h"
#include "model/mechanism.h"

/// One batch of steps: what goes in.
typedef struct cri_system_batch {
    const double *p; // (n_p) of the model
    double h;        // s
    int n_row;
    int law;         // index in the system's list of laws
    const double *x; // (n_row, n_x)
    const double *u; // (n_row, n_u), NULL: zero
} cri_system_batch;

/// What a step says of each row.
typedef struct cri_system_row {
    bool is_failed; // no gradient, and x_next is the best that there is, always finite
    int n_event;    // contacts that acted
} cri_system_row;

/// The methods of a kind of system. self is the system's own description.
typedef struct cri_system_kind {
    const char *name;       // as in weight files: "central-difference"
    const char *const *law; // names, NULL behind the last; the first is the default

    /// x_next (n_row, n_x); row (n_row). *cache lives on the arena, NULL: none is wanted. False for
    /// lack of memory.
    bool (*step)(const void *self, const cri_system_batch *batch, double *x_next,
                 cri_system_row *row, const void **cache, cr_arena *arena);

    /// Adds to x_adj (n_row, n_x), u_adj (n_row, n_u) and p_adj (n_p), each of which may be NULL.
    bool (*vjp)(const void *self, const cri_system_batch *batch, const void *cache,
                const double *x_next_adj, double *x_adj, double *u_adj, double *p_adj,
                cr_arena *work);

    /// Energy of one row at p, J; NAN for lack of memory. NULL: the system has none, 0 stands for
    /// it.
    double (*energy)(const void *self, const double *p, const double *x, cr_arena *work);
} cri_system_kind;

/// One parameter of a system.
typedef struct cri_system_slot {
    const char *name;
    double value;
    double lower, upper;
    bool is_open_lower;
    const char *held; // why its derivative is 0 whatever it does, static text; NULL: it is not
} cri_system_slot;

/// Where a body stands at q = 0, for targets and pictures.
typedef struct cri_system_body {
    const char *name;
    cri_vec3 pos;
    double radius; // of the ball that pictures show, m
} cri_system_body;

/// A plane for pictures, the system on the side that its normal points to.
typedef struct cri_system_wall {
    const char *name;
    cri_vec3 normal; // unit
    double offset;   // normal . x, m
} cri_system_wall;

/// What one number of q does to its body. Those of a body follow one another, bodies in order.
typedef struct cri_system_coordinate {
    int body;
    cri_joint_kind kind; // hinge or slide
    cri_vec3 axis;       // unit
    cri_vec3 anchor;     // hinge: a point of its axis, from the body's origin
} cri_system_coordinate;

/// What a model of a system is built from. All of it is copied but self, which goes over to the
/// model: release is called for it when the model goes, and when building fails.
typedef struct cri_system_def {
    const cri_system_kind *kind;
    void *self;
    void (*release)(void *self); // NULL: nothing to do
    const char *law;             // that runs when none is asked for, NULL: the kind's first
    double dt;                   // s
    int n_q;                     // = n_v
    int n_u;
    int n_p;
    int n_body;
    int n_wall;
    const cri_system_body *body;             // (n_body)
    const cri_system_wall *wall;             // (n_wall)
    const cri_system_coordinate *coordinate; // (n_q)
    const cri_system_slot *slot;             // (n_p)
    const char *const *u_name;               // (n_u)
    const double *x0;                        // (n_x)
} cri_system_def;

/// Builds the model, which the public interface then treats like any other. Names in x are
/// BODY/qpos[i] and BODY/qvel[i].
CR_MUST_CHECK cr_status cri_model_from_system(const cri_system_def *def, cr_model **out,
                                              cr_error *err);

/// Index of a law of this kind, -1: it has none of that name.
int cri_system_find_law(const cri_system_kind *kind, const char *name);

/// Format of all such files, see base/io/hdf5_file.h. The text "system" names the kind of the
/// system.
#define CRI_SYSTEM_FORMAT "carom weights 1"

/// Which reader builds the model of a file of weights. The readers belong to higher layers, which
/// define the table (points/learn/weight_file.c); cr_model_load looks into it.
typedef struct cri_system_reader {
    const char *kind; // name of the system, as cri_system_kind has it
    cr_status (*read)(const char *bytes, size_t n_byte, const char *file, cr_model **out,
                      cr_error *err);
} cri_system_reader;

/// All readers; the last one has kind NULL.
extern const cri_system_reader cri_system_readers[];
