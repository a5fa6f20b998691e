// SPDX-License-Identifier: MIT
//
// Carom: differentiable contact simulation. The whole public interface.
//
// Everything is a step with an adjoint:
//
//     d  = derive(p)               p: every physical quantity, flat
//     x' = step(d, x, u)           x: state, u: control, flat
//     x_adj, u_adj, p_adj += step_vjp(x'_adj)
//
// Layout of x = [q | v] (version 2), joint after joint in document order, as in MuJoCo:
//     free    q: position (3, world, m), quaternion w x y z (4)
//             v: linear velocity (3, world, m/s), angular velocity (3, body frame, rad/s)
//     ball    q: quaternion w x y z (4)      v: angular velocity (3, body frame, rad/s)
//     hinge   q: angle (1, rad)              v: its rate (1, rad/s)
//     slide   q: displacement (1, m)         v: its rate (1, m/s)
// Layout of u, constant during a step: one control an actuator, in document order; then one
// generalised force a velocity, in the order of v: force (3, world, N) and torque (3, body frame,
// N m) for a free joint, torque for a ball (3, body frame) or hinge, force for a slide.
// Layout of p: whatever cr_model_name says; values are physical, SI units.
// Tangent coordinates of x: as x, but each quaternion is a rotation vector (3, body frame, rad), so
// n_tangent = 2 n_v. A scene of free bodies without actuators has the layout of version 1.
//
// A cr_model is immutable and may be shared between threads. A cr_sim belongs to one thread.
// Nothing here prints, exits, or reads the environment.

#pragma once

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
#define CR_BEGIN_C extern "C" {
#define CR_END_C }
#else
#define CR_BEGIN_C
#define CR_END_C
#endif

#if defined(__GNUC__)
#define CR_API __attribute__((visibility("default")))
#define CR_MUST_CHECK __attribute__((warn_unused_result))
#else
#define CR_API
#define CR_MUST_CHECK
#endif

#define CR_VERSION "0.2.0"

CR_BEGIN_C

// ---- errors ------------------------------------------------------------------------------------

/// What became of a call. Everything but CR_OK leaves its outputs untouched, unless it says so.
typedef enum cr_status {
    CR_OK = 0,
    CR_ERR_ARGUMENT,    // a value outside its domain, an unknown name, a NaN
    CR_ERR_MEMORY,      // the heap is exhausted
    CR_ERR_FILE,        // a file cannot be opened or read
    CR_ERR_SYNTAX,      // a file is not what it should be
    CR_ERR_UNSUPPORTED, // a scene asks for what this version does not simulate
    CR_ERR_NUMERIC,     // a gradient was asked of a step that did not converge
} cr_status;

/// Where and why, for a human. Every function that takes one accepts NULL.
typedef struct cr_error {
    cr_status status;
    int line;   // of the input file, 0 when there is none
    int column; // of the input file, 0 when there is none
    char text[240];
} cr_error;

/// One word for a status, for messages.
CR_API const char *cr_status_text(cr_status status);

// ---- model -------------------------------------------------------------------------------------

/// Topology, names and default parameters of one scene. Immutable.
typedef struct cr_model cr_model;

/// Which flat vector an index or a name belongs to.
typedef enum cr_vector {
    CR_VECTOR_P, // parameters
    CR_VECTOR_X, // state
    CR_VECTOR_U, // control
} cr_vector;

/// Lengths of the flat vectors, and what the scene file chose.
typedef struct cr_sizes {
    int n_p;       // parameters
    int n_x;       // state, n_q + n_v
    int n_u;       // control, actuators and n_v
    int n_q;       // positions: angles, displacements, quaternions
    int n_v;       // velocities
    int n_tangent; // tangent coordinates of x, 2 n_v
    int n_body;    // all bodies of the file, those that cannot move too; the world does not count
    int n_geom;
    int n_key; // keyframes
    double dt; // time step of the scene, s
} cr_sizes;

/// Reads an MJCF scene or a URDF robot, as its root element says. On success *out is released by
/// cr_model_destroy; on failure it is NULL and err names file, line, element and remedy.
CR_MUST_CHECK CR_API cr_status cr_model_load(const char *path, cr_model **out, cr_error *err);

/// As cr_model_load, from memory. name stands for the file in messages.
CR_MUST_CHECK CR_API cr_status cr_model_parse(const char *text, size_t n_byte, const char *name,
                                              cr_model **out, cr_error *err);

/// Releases model, which no sim may use any more. NULL is allowed.
CR_API void cr_model_destroy(cr_model *model);

CR_API cr_sizes cr_model_sizes(const cr_model *model);

/// A line about what the scene file asks for and rigid contacts do not have, NULL when there is
/// nothing to say.
CR_API const char *cr_model_warning(const cr_model *model);

/// Name of entry i of a vector, such as "ball/mass", "ball/qpos[2]", "ball/force[0]". In x it is
/// BODY/qpos[i] and BODY/qvel[i], counted over all joints of that body; in u the actuator's name,
/// then BODY/force[i], BODY/torque[i] for a free body, JOINT/force or JOINT/torque else. Valid as
/// long as the model; NULL when i is out of range.
CR_API const char *cr_model_name(const cr_model *model, cr_vector vector, int i);

/// Index of a name, -1 when there is none. The two geoms of a pair come in either order, and a pair
/// without coefficients of its own answers with the slot that its value comes from, when no other
/// pair shares that slot. In x, JOINT/qpos and JOINT/qvel are found too, with [i] for a joint of
/// several. err, if not NULL, says why not.
CR_API int cr_model_find(const cr_model *model, cr_vector vector, const char *name, cr_error *err);

/// Domain of parameter i: lower <= p[i] <= upper; open_lower means strictly above lower.
CR_API void cr_model_domain(const cr_model *model, int i, double *lower, double *upper,
                            bool *open_lower);

/// Fills what is not NULL: default parameters (n_p), state of keyframe key (n_x), control of that
/// keyframe (n_u; zero where it gives no ctrl, and for the forces behind it). key -1 takes the
/// first keyframe if there is one, else the bodies as placed, at rest, under no control.
CR_API void cr_model_defaults(const cr_model *model, int key, double *p, double *x, double *u);

/// Index of a keyframe by name, -1 when there is none.
CR_API int cr_model_find_key(const cr_model *model, const char *name);

// ---- simulator ---------------------------------------------------------------------------------

/// One thread's workspace: derived parameters, warm data, the cache of the last step or rollout.
typedef struct cr_sim cr_sim;

/// How to step. Start from cr_sim_options_default and change what differs.
typedef struct cr_sim_options {
    const char *stepper;  // "located", "end", or NULL for that of the law; read, not kept
    const char *law;      // "ncp", "ncp-poisson", "cone", "cone-reg", "lcp", "soft"; read, not kept
    double eps_gap;       // m, below it a pair touches
    double eps_speed;     // m/s, below it a touching pair rests
    double eps_time;      // s, impacts of one island closer than this are one event
    int event_cap;        // impacts of one body in one step, the rest is inelastic
    bool use_gradient;    // fill caches, so that vjp and jac may be called
    int checkpoint_every; // steps between checkpoints of a rollout, 0: near the least memory
    double smoothing;     // of gradients, laws "cone" and "cone-reg" only; 0: none
    const char *outside;  // nets beyond their training: "net", "analytic", "stop"; NULL: "net"
    const char *surrogate; // gradients are those of this law's steps: "longrange"; NULL: its own
} cr_sim_options;

/// What kind of derivative a step has; see docs/gradients.md. Several bits may be set.
typedef enum cr_grad {
    CR_GRAD_EXACT = 0,            // of the continuous motion
    CR_GRAD_DISCRETE = 1 << 0,    // of the time-stepping map
    CR_GRAD_AVERAGED = 1 << 1,    // several impacts of one island at once
    CR_GRAD_ONE_SIDED = 1 << 2,   // at a kink
    CR_GRAD_REFUSED = 1 << 3,     // a solve failed: there is none
    CR_GRAD_SMOOTHED = 1 << 4,    // of a smoothed contact law, as asked for
    CR_GRAD_DIFFERENCES = 1 << 5, // central differences of each step, not derivatives
    CR_GRAD_SURROGATE = 1 << 6,   // of another law's steps, as asked for
    CR_GRAD_UNROLLED = 1 << 7,    // of a few iterations, not of the solution, as the law has it
} cr_grad;

/// What the contact solves of a step came to.
typedef enum cr_outcome {
    CR_SOLVED,          // every residual below its tolerance
    CR_SOLVED_LOOSELY,  // below the loose tolerance only
    CR_ITERATION_LIMIT, // best iterate returned
} cr_outcome;

/// What happened in the last step, or summed up over the last rollout.
typedef struct cr_step_report {
    cr_outcome outcome; // worst of all solves
    int grad;           // cr_grad bits of all sub-steps
    int n_event;        // impacts
    int n_capped;       // motions with inelastic rows because the cap was reached
    int n_iteration;    // linear solves of the contact laws
    double residual;    // largest certificate of the solves, relative
    double least_speed; // slowest located impact, m/s: gradients grow like its inverse
    double penetration; // deepest overlap met at the start of a sub-step, m; NaN: not known
    double slip_margin; // smallest relative distance to a change of contact class
    int n_outside;      // contact solves beyond what the nets of a learned law were trained for
    int n_joint_force;  // evaluations for the joint force of a learned law
} cr_step_report;

/// One contact of the last step.
typedef struct cr_contact {
    int geom[2];       // the plane, or the body with the lower index, first
    double time;       // s after the start of the step
    double gap;        // m
    double point[3];   // world
    double normal[3];  // world, from geom[0] to geom[1]
    double impulse[3]; // world, on geom[1], N s
    bool is_impact;    // else a resting contact
    bool is_sliding;
} cr_contact;

/// Options that the scene file asks for, else the library's defaults.
CR_API cr_sim_options cr_sim_options_default(const cr_model *model);

/// Makes a workspace with the model's default parameters set. model is borrowed until destroy.
CR_MUST_CHECK CR_API cr_status cr_sim_create(const cr_model *model, const cr_sim_options *options,
                                             cr_sim **out, cr_error *err);

/// Releases sim. NULL is allowed.
CR_API void cr_sim_destroy(cr_sim *sim);

/// Derives everything that depends on p (n_p) alone and forgets warm data. A value outside its
/// domain is refused by name, and the sim keeps the parameters that it had.
CR_MUST_CHECK CR_API cr_status cr_sim_set_params(cr_sim *sim, const double *p, cr_error *err);

/// One step of dt seconds from x (n_x) under u (n_u, NULL: zero, not a keyframe's) to x_next (n_x,
/// may be x). No heap call once the workspace has seen the largest contact count of the run. A
/// contact solve that fails is no error here: the report says so, and the gradient will be refused.
CR_MUST_CHECK CR_API cr_status cr_sim_step(cr_sim *sim, double dt, const double *x, const double *u,
                                           double *x_next, cr_error *err);

/// Adjoint of the last step. Adds to x_adj (n_x), u_adj (n_u), p_adj (n_p); each may be NULL.
CR_MUST_CHECK CR_API cr_status cr_sim_step_vjp(cr_sim *sim, const double *x_next_adj, double *x_adj,
                                               double *u_adj, double *p_adj, cr_error *err);

/// Pushes n_seed tangents through the last step. Row s of x_tan (n_seed, n_tangent), u_tan (n_seed,
/// n_u) and p_tan (n_seed, n_p) is one direction, NULL is zero; x_next_tan (n_seed, n_tangent) is
/// overwritten and may be x_tan.
CR_MUST_CHECK CR_API cr_status cr_sim_step_jac(cr_sim *sim, int n_seed, const double *x_tan,
                                               const double *u_tan, const double *p_tan,
                                               double *x_next_tan, cr_error *err);

/// Report of the last step or rollout. Valid until the next call on sim.
CR_API const cr_step_report *cr_sim_report(const cr_sim *sim);

/// Contacts of the last cr_sim_step, in the order in which they acted; *n_contact 0 after anything
/// else. Valid until the next call on sim, NULL when there are none or no memory.
CR_API const cr_contact *cr_sim_contacts(cr_sim *sim, int *n_contact);

/// Kinetic energy plus that of gravity and springs at x, J. Heights count from the origin. NAN when
/// there is no memory.
CR_API double cr_sim_energy(cr_sim *sim, const double *x);

// ---- rollout -----------------------------------------------------------------------------------

/// Steps in a row. All arrays are borrowed until the last vjp of this rollout.
typedef struct cr_rollout {
    int n_step;
    const double *dt; // (n_dt) step lengths, s
    int n_dt;         // n_step, or 1 for equal steps
    const double *u;  // (n_u_row, n_u), NULL: zero
    int n_u_row;      // n_step, or 1 for a constant control
} cr_rollout;

/// Adjoint of the state after so many steps. step 0 is the initial state.
typedef struct cr_seed {
    int step;
    const double *x_adj; // (n_x)
} cr_seed;

/// Runs from x0 (n_x), with checkpoints when the sim has gradients on. x_path, if not NULL,
/// receives (n_step + 1, n_x); x_end, if not NULL, the last state (n_x). The sim starts without
/// warm data, so that equal calls give equal bits. On failure x_path holds the steps that were
/// done.
CR_MUST_CHECK CR_API cr_status cr_sim_rollout(cr_sim *sim, const cr_rollout *rollout,
                                              const double *x0, double *x_path, double *x_end,
                                              cr_error *err);

/// Adjoint of the last rollout for a loss with these seeds, steps in ascending order. Adds to
/// x0_adj (n_x), u_adj (n_u_row, n_u), p_adj (n_p); each may be NULL. May be called again with
/// other seeds.
CR_MUST_CHECK CR_API cr_status cr_sim_rollout_vjp(cr_sim *sim, int n_seed, const cr_seed *seed,
                                                  double *x0_adj, double *u_adj, double *p_adj,
                                                  cr_error *err);

/// Many rollouts of one model. Item k starts at row k of x0; u and dt are shared. With x_end_adj,
/// gradients too.
typedef struct cr_batch {
    int n_item;
    cr_rollout rollout;
    const double *p;         // (n_p)
    const double *x0;        // (n_item, n_x)
    double *x_end;           // (n_item, n_x)
    const double *x_end_adj; // (n_item, n_x), NULL: no gradients
    double *x0_adj;          // (n_item, n_x), overwritten, may be NULL
    double *p_adj;           // (n_p), the sum over items in their order, overwritten, may be NULL
    cr_status *status;       // (n_item), of each item; one that failed has no part in p_adj
} cr_batch;

/// Runs a batch on n_thread threads. Bits do not depend on n_thread. Fails only as a whole (memory,
/// argument); failures of single items are in batch->status.
CR_MUST_CHECK CR_API cr_status cr_batch_rollout(const cr_model *model,
                                                const cr_sim_options *options,
                                                const cr_batch *batch, int n_thread, cr_error *err);

// ---- checks and states -------------------------------------------------------------------------

/// A loss of numbers z. Returns false when it has no value there.
typedef bool cr_loss(void *context, const double *z, double *value);

/// Differences of a loss at z in its coordinate i, extrapolated over a sweep of steps that starts
/// at first_step; never compares with any gradient. side 0: central, +1 or -1: one-sided. z[i] is
/// moved and restored. Returns false when the loss has no value near z. *difference gets the value,
/// *uncertainty its own estimate.
CR_API bool cr_gradient_check(cr_loss *loss, void *context, double *z, int i, double first_step,
                              int side, double *difference, double *uncertainty);

/// Bytes that cr_sim_save would write now: parameters and warm data, so it changes with the resting
/// contacts. The state x is the caller's own.
CR_API size_t cr_sim_save_bytes(const cr_sim *sim);
CR_API void cr_sim_save(const cr_sim *sim, void *bytes);

/// Takes back what cr_sim_save wrote for the same model; the run then goes on with the same bits.
CR_MUST_CHECK CR_API cr_status cr_sim_restore(cr_sim *sim, const void *bytes, size_t n_byte,
                                              cr_error *err);

CR_END_C
