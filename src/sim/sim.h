// SPDX-License-Identifier: MIT
//
// The simulator's workspace, the stepper interface, and the record that a step leaves behind.

#pragma once

#include "base/arena.h"
#include "dynamics/unit.h"
#include "energy/potential.h"
#include "energy/soft.h"
#include "model/derived.h"

/// What a step leaves for its derivatives, on the tape.
typedef struct cri_step_record {
    double h;             // length, s
    const double *raw;    // (n_x) state as given
    const double *x;      // (n_x) the same with unit quaternions
    const double *u;      // (n_u)
    const double *x_next; // (n_x)
    const void *data;     // the stepper's own
    cr_step_report report;
} cri_step_record;

/// One way to step. States inside have unit quaternions, derivatives are in tangent coordinates.
typedef struct cri_stepper {
    const char *name;
    const char *summary;
    bool keeps_records; // dear steps whose records cost nothing more: a rollout keeps what it can

    /// From record->x to x_next (n_x); fills record->data and record->report. The record's data
    /// live on sim->tape. Fails for lack of memory only.
    cr_status (*step)(cr_sim *sim, cri_step_record *record, double *x_next, cr_error *err);

    /// y_adj (n_tangent) of x_next becomes that of x, in place; adds to sim->d_adj and u_adj (n_u).
    cr_status (*vjp)(cr_sim *sim, const cri_step_record *record, double *y_adj, double *u_adj,
                     cr_error *err);

    /// y_tan (n_tangent) of x becomes that of x_next, in place, with sim->d_tan and u_tan (n_u).
    /// Starts from sim->is_moved and spreads it.
    cr_status (*jvp)(cr_sim *sim, const cri_step_record *record, double *y_tan, const double *u_tan,
                     cr_error *err);

    /// As jvp for rows of x_tan (n_seed, n_tangent), which may be out, under no change of control
    /// and parameters. NULL: there is no better way than one by one.
    cr_status (*jac)(cr_sim *sim, const cri_step_record *record, int n_seed, const double *x_tan,
                     double *out, cr_error *err);

    /// Contacts of a record, counted, and written to out when not NULL.
    int (*contacts)(const cri_step_record *record, cr_contact *out);
} cri_stepper;

/// Stepper number i, NULL behind the last.
const cri_stepper *cri_stepper_at(int i);

/// The stepper of a law: its own, or the named one (NULL: located). NULL when they do not fit.
const cri_stepper *cri_stepper_of(const char *law, const char *name);

extern const cri_stepper cri_stepper_located;

extern const cri_stepper cri_stepper_end;

extern const cri_stepper cri_stepper_soft;

extern const cri_stepper cri_stepper_implicit;

/// Of models that bring their own step (model/system.h). Not in the table: it fits no scene.
extern const cri_stepper cri_stepper_system;

/// Impulse of a resting contact, where the next solve begins.
typedef struct cri_warm {
    int key[3]; // two geoms and the touch's id; -1 and the number of a limit
    double f[3];
} cri_warm;

/// Sorted by key. Owns its memory.
typedef struct cri_warm_list {
    int n;
    int space;
    cri_warm *entry;
} cri_warm_list;

/// A rollout that can be pulled back.
typedef struct cri_history {
    bool is_valid;
    cr_rollout rollout;
    int every; // steps between checkpoints
    int n_checkpoint;
    int checkpoint_space;
    double *x;           // (checkpoint_space, n_x)
    cri_warm_list *warm; // (checkpoint_space)
    cr_step_report report;
    bool is_kept;             // every record is on the tape: no replay
    cri_step_record **record; // (record_space) of the steps, when they are kept
    int record_space;
} cri_history;

/// What may touch during a sub-step, by number of feature: near[i] has the features first to first
/// + n_slot - 1.
typedef struct cri_scan {
    int n_near;
    int n_feature;
    cri_near *near;
    int *near_of;            // (n_feature)
    cri_narrow_touch *touch; // (n_feature) at the start
    cri_narrow_touch *now;   // (n_feature) at the event
    double *gap;             // (n_feature) at the start
    double *speed;           // (n_feature) its rate
    double *offset;          // (n_feature) overlap at the start, <= 0: an impact is a return to it
    double *root;            // (n_feature) time of the next impact, infinite: none
    double *margin;          // (n_near) below it a gap may rest
    int *rest;               // (n_feature) lists of features
    int *hit;
    int *group;
    int *island;
    const cri_near **member; // (n_feature) work
    cri_contact_ref *ref;    // (n_feature) work
} cri_scan;

/// Releases what a history owns.
void cri_history_clear(cri_history *history);

struct cr_sim {
    const cr_model *model;
    const cri_stepper *stepper;
    int system_law; // index, of a model that brings its own step
    double eps_gap, eps_speed, eps_time;
    int event_cap;
    bool use_gradient;
    bool has_tree;            // some unit is no free body
    bool has_euler;           // and moves by Euler's rule
    bool is_d_fixed;          // d_tan is zero: a seed moves no parameter
    const double **flow_jac;  // (n_unit) what tangents of one motion share; NULL: nothing
    const double *system_jac; // what tangents of a system's last step share; NULL: not there yet
    bool has_cache; // steps fill what their derivatives need: not in a rollout that is replayed
    int checkpoint_every;
    cri_world world;

    cr_arena *memory;  // what lives as long as the sim
    cr_arena *tape;    // records of steps
    cr_arena *scratch; // empty between calls
    cr_arena *output;  // contacts for the user
    cr_arena *list;    // the scan of a sub-step
    cr_arena *narrow;  // the narrow phase of fields

    double *p; // (n_p)
    cri_derived d, d_adj, d_tan;
    cri_forms forms[2];       // those of d and those before or next
    int which_forms;          // of d
    cri_warm_list warm;       // the warm data w
    double *zero_u;           // (n_u)
    double *u_adj;            // (n_u) work
    double *y;                // (n_x) work: state during the event search
    double *y_rate;           // (n_tangent) work: its rate
    double *y_adj;            // (n_tangent) work
    double *body_tan;         // (n_body, 6) work
    bool *is_moved;           // (n_unit) units that a seed moves, the others' entries are zero
    cri_state work;           // of y
    double *time_of;          // (n_unit) time that y and work stand for, by unit; NAN: none
    double *reach;            // (n_geom) radius of the ball around the body's origin that holds it
    double *ball;             // (n_geom) radius around the geom itself
    double *width;            // (n_geom) of its narrowest side, infinite for a plane
    int n_pair;               // pairs that may collide, when they are few enough to be listed
    cri_near *pair;           // (n_pair), NULL: found anew in every sub-step
    int *unit_mark;           // (n_unit) islands of units
    int *n_unit_event;        // (n_unit) impacts of each unit in this step
    cri_potential *potential; // of the implicit stepper, else NULL
    cri_frames frames;        // likewise: paths of bodies
    cri_soft_weights soft;    // of the stepper soft; by the parameters that are set
    bool wants_u, wants_p;    // what the adjoint that runs is for
    cr_sim *surrogate;        // whose gradients these are, NULL: its own
    cri_scan scan;

    const cri_step_record *last; // of cr_sim_step, NULL when there is none
    cr_step_report report;
    cri_history history;
};

/// Runs one step: checks nothing, pushes its record on the tape.
CR_MUST_CHECK cr_status cri_sim_step(cr_sim *sim, double dt, const double *x, const double *u,
                                     double *x_next, cri_step_record **record, cr_error *err);

/// Pulls x_next_adj (n_x) back through a record: adds to x_adj (n_x), u_adj (n_u) and sim->d_adj.
CR_MUST_CHECK cr_status cri_sim_step_vjp(cr_sim *sim, const cri_step_record *record,
                                         const double *x_next_adj, double *x_adj, double *u_adj,
                                         cr_error *err);

/// Before and after the adjoints of one call: nothing without a surrogate.
void cri_surrogate_begin(cr_sim *sim);
void cri_surrogate_end(cr_sim *sim, double *p_adj);

/// x, u and dt as they must be, else a message that names the entry.
CR_MUST_CHECK cr_status cri_sim_check_state(const cr_sim *sim, const double *x, cr_error *err);
CR_MUST_CHECK cr_status cri_sim_check_control(const cr_sim *sim, const double *u, cr_error *err);
CR_MUST_CHECK cr_status cri_sim_check_dt(double dt, cr_error *err);

/// Adds one step's report to a sum over steps.
void cri_report_add(cr_step_report *sum, const cr_step_report *step);
cr_step_report cri_report_none(void);

/// Adds what one jump came to.
void cri_report_jump(const cr_sim *sim, const cri_jump *jump, cr_step_report *report);

/// Says why a report with CR_GRAD_REFUSED has no gradient.
cr_status cri_refuse_gradient(const cr_sim *sim, const cr_step_report *report, cr_error *err);

/// Warm data: empty list, copy, and the impulse kept for a touch (NULL: none).
void cri_warm_clear(cri_warm_list *list);
CR_MUST_CHECK bool cri_warm_copy(const cri_warm_list *from, cri_warm_list *to);
const double *cri_warm_find(const cri_warm_list *list, const cri_near *near, int id);

/// Replaces the list by the impulses of n jumps. False for lack of memory.
CR_MUST_CHECK bool cri_warm_store(cri_warm_list *list, int n, const cri_jump *jump);

/// Marks the units that a seed moves at once: through their state or the force on them. Parameters
/// and actuators may move any.
void cri_sim_mark_moved(cr_sim *sim, const double *y_tan, const double *u_tan, bool has_params);

/// True when a tangent moves some unit of the island, and then all of them are marked.
bool cri_sim_spread(cr_sim *sim, const cri_jump *jump);

/// Marks all units.
void cri_sim_move_all(cr_sim *sim);

/// Contacts of one jump that carry an impulse, counted, and written to out when not NULL.
int cri_contacts_of(const cri_jump *jump, double time, bool is_impact, cr_contact *out);

static inline cr_status cri_no_memory(cr_error *err) {
    return cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
}

// ---- free bodies inside the flat arrays --------------------------------------------------------

static inline cri_body_state cri_state_load(const cr_sim *sim, const double *x, const cri_unit *u) {
    const double *q = x + u->first_q, *v = x + sim->model->sizes.n_q + u->first_v;
    return (cri_body_state){cri_v3_load(q), cri_q4_load(q + 3), cri_v3_load(v), cri_v3_load(v + 3)};
}

static inline void cri_state_store(const cr_sim *sim, const cri_body_state *s, double *x,
                                   const cri_unit *u) {
    double *q = x + u->first_q, *v = x + sim->model->sizes.n_q + u->first_v;
    cri_v3_store(s->pos, q);
    cri_q4_store(s->quat, q + 3);
    cri_v3_store(s->vel, v);
    cri_v3_store(s->spin, v + 3);
}

static inline cri_body_tangent cri_tangent_load(const cr_sim *sim, const double *y,
                                                const cri_unit *u) {
    const double *q = y + u->first_v, *v = q + sim->model->sizes.n_v;
    return (cri_body_tangent){cri_v3_load(q), cri_v3_load(q + 3), cri_v3_load(v),
                              cri_v3_load(v + 3)};
}

static inline void cri_tangent_store(const cr_sim *sim, const cri_body_tangent *s, double *y,
                                     const cri_unit *u) {
    double *q = y + u->first_v, *v = q + sim->model->sizes.n_v;
    cri_v3_store(s->pos, q);
    cri_v3_store(s->rot, q + 3);
    cri_v3_store(s->vel, v);
    cri_v3_store(s->spin, v + 3);
}

// forces on dofs stand behind the actuators
static inline cri_drive cri_drive_of(const cr_sim *sim, const double *u, const cri_unit *unit) {
    return (cri_drive){&sim->d.body[unit->first_body], sim->d.mech.gravity,
                       u + sim->model->mech.n_actuator + unit->first_v,
                       sim->model->mech.omits_gyro};
}

static inline cri_drive_adj cri_drive_adj_of(const cr_sim *sim, double *u_adj,
                                             const cri_unit *unit) {
    return (cri_drive_adj){&sim->d_adj.body[unit->first_body], sim->d_adj.mech.gravity,
                           u_adj + sim->model->mech.n_actuator + unit->first_v};
}

static inline cri_drive cri_drive_tan_of(const cr_sim *sim, const double *u_tan,
                                         const cri_unit *unit) {
    return (cri_drive){&sim->d_tan.body[unit->first_body], sim->d_tan.mech.gravity,
                       u_tan + sim->model->mech.n_actuator + unit->first_v,
                       sim->model->mech.omits_gyro};
}
