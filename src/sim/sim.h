// SPDX-License-Identifier: MIT
//
// The simulator's workspace, the stepper interface, and the record that a step leaves behind.

#pragma once

#include "base/arena.h"
#include "contact/jump.h"
#include "dynamics/flow.h"

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

    /// From record->x to x_next (n_x); fills record->data and record->report. The record's data
    /// live on sim->tape. Fails for lack of memory only.
    cr_status (*step)(cr_sim *sim, cri_step_record *record, double *x_next, cr_error *err);

    /// y_adj (n_tangent) of x_next becomes that of x, in place; adds to sim->d_adj and u_adj (n_u).
    cr_status (*vjp)(cr_sim *sim, const cri_step_record *record, double *y_adj, double *u_adj,
                     cr_error *err);

    /// y_tan (n_tangent) of x becomes that of x_next, in place, with sim->d_tan and u_tan (n_u).
    cr_status (*jvp)(cr_sim *sim, const cri_step_record *record, double *y_tan, const double *u_tan,
                     cr_error *err);

    /// Contacts of a record, counted, and written to out when not NULL.
    int (*contacts)(const cr_sim *sim, const cri_step_record *record, cr_contact *out);
} cri_stepper;

/// Stepper number i, NULL behind the last.
const cri_stepper *cri_stepper_at(int i);
const cri_stepper *cri_stepper_find(const char *name);

extern const cri_stepper cri_stepper_located;
extern const cri_stepper cri_stepper_end;

/// A rollout that can be pulled back.
typedef struct cri_history {
    bool is_valid;
    cr_rollout rollout;
    int every; // steps between checkpoints
    int n_checkpoint;
    double *checkpoint; // (n_checkpoint, n_x + n_warm)
    size_t capacity;    // in doubles
    cr_step_report report;
} cri_history;

struct cr_sim {
    const cr_model *model;
    const cri_stepper *stepper;
    double eps_gap, eps_speed, eps_time;
    int event_cap;
    bool use_gradient;
    bool has_cache; // steps fill what their derivatives need: not in a rollout that is replayed
    int checkpoint_every;
    cri_world world;

    cr_arena *memory;  // what lives as long as the sim
    cr_arena *tape;    // records of steps
    cr_arena *scratch; // empty between calls
    cr_arena *output;  // contacts for the user

    double *p; // (n_p)
    cri_derived d, d_adj, d_tan;
    cri_derive_cache *derive_cache;
    double *warm;   // (n_feature, 3) impulses of resting contacts, the warm data w
    double *zero_u; // (n_u)
    double *u_adj;  // (n_u) work
    double *y;      // (n_x) work: state during the event search
    double *y_rate; // (n_tangent) work: its rate
    double *y_adj;  // (n_tangent) work
    double *gap;    // (n_feature) at the start of a sub-step
    double *speed;  // (n_feature) its rate
    double *
        offset; // (n_feature) overlap at the start of a sub-step, <= 0: an impact is a return to it
    double *root;      // (n_feature) time of the next impact, infinite: none
    int *rest;         // (n_feature) lists of features
    int *hit;          // (n_feature)
    int *group;        // (n_feature)
    int *island;       // (n_feature)
    int *body_mark;    // (n_body) islands of bodies
    int *n_body_event; // (n_body) impacts of each body in this step

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

/// x, u and dt as they must be, else a message that names the entry.
CR_MUST_CHECK cr_status cri_sim_check_state(const cr_sim *sim, const double *x, cr_error *err);
CR_MUST_CHECK cr_status cri_sim_check_control(const cr_sim *sim, const double *u, cr_error *err);
CR_MUST_CHECK cr_status cri_sim_check_dt(double dt, cr_error *err);

/// Adds one step's report to a sum over steps.
void cri_report_add(cr_step_report *sum, const cr_step_report *step);
cr_step_report cri_report_none(void);

/// Adds what one jump came to.
void cri_report_jump(const cr_sim *sim, const cri_jump *jump, cr_step_report *report);

/// Contacts of one jump that carry an impulse, counted, and written to out when not NULL.
int cri_contacts_of(const cr_sim *sim, const cri_jump *jump, double time, bool is_impact,
                    cr_contact *out);

static inline cr_status cri_no_memory(cr_error *err) {
    return cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
}

// ---- states of single bodies inside the flat arrays
// -------------------------------------------------

static inline cri_body_state cri_state_load(const cr_sim *sim, const double *x, int b) {
    const double *v = x + sim->model->sizes.n_q + 6 * b;
    return (cri_body_state){cri_v3_load(x + 7 * b), cri_q4_load(x + 7 * b + 3), cri_v3_load(v),
                            cri_v3_load(v + 3)};
}

static inline void cri_state_store(const cr_sim *sim, const cri_body_state *s, double *x, int b) {
    double *v = x + sim->model->sizes.n_q + 6 * b;
    cri_v3_store(s->pos, x + 7 * b);
    cri_q4_store(s->quat, x + 7 * b + 3);
    cri_v3_store(s->vel, v);
    cri_v3_store(s->spin, v + 3);
}

static inline cri_body_tangent cri_tangent_load(const cr_sim *sim, const double *y, int b) {
    const double *v = y + sim->model->sizes.n_v + 6 * b;
    return (cri_body_tangent){cri_v3_load(y + 6 * b), cri_v3_load(y + 6 * b + 3), cri_v3_load(v),
                              cri_v3_load(v + 3)};
}

static inline void cri_tangent_store(const cr_sim *sim, const cri_body_tangent *s, double *y,
                                     int b) {
    double *v = y + sim->model->sizes.n_v + 6 * b;
    cri_v3_store(s->pos, y + 6 * b);
    cri_v3_store(s->rot, y + 6 * b + 3);
    cri_v3_store(s->vel, v);
    cri_v3_store(s->spin, v + 3);
}

static inline cri_drive cri_drive_of(const cr_sim *sim, const double *u, int b) {
    return (cri_drive){&sim->d.body[b], sim->d.gravity, u + 6 * b};
}

static inline cri_drive_adj cri_drive_adj_of(const cr_sim *sim, double *u_adj, int b) {
    return (cri_drive_adj){&sim->d_adj.body[b], sim->d_adj.gravity, u_adj + 6 * b};
}

static inline cri_drive cri_drive_tan_of(const cr_sim *sim, const double *u_tan, int b) {
    return (cri_drive){&sim->d_tan.body[b], sim->d_tan.gravity, u_tan + 6 * b};
}
