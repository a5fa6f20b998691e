// SPDX-License-Identifier: MIT
//
// What a contact law is, and the table of those that exist.
//
// A law maps one island's problem to an impulse. All arrays have three rows a contact (normal, two
// tangents). A new law is one file and one line in sim.c.

#pragma once

#include "base/arena.h"
#include "carom/carom.h"

/// What a law of nets does with a state that they were not trained for.
typedef enum cri_outside {
    CRI_OUTSIDE_NET,      // asks them all the same
    CRI_OUTSIDE_ANALYTIC, // takes the law that they learned from
    CRI_OUTSIDE_STOP,     // the same, and the step is refused
} cri_outside;

/// The touching body of a linked mechanism by itself, for nets that know it alone: what contacts
/// answer to impulses on it, and its joint, in two directions of the plane.
typedef struct cri_contact_link {
    double *A;   // (3n, 3n) of the body alone
    double *C;   // (3n, 2) velocities at the contacts for an impulse at the joint
    double J[4]; // (2, 2) velocity of the joint for an impulse there, the body alone
    double K[4]; // (2, 2) J and that of the rest of the mechanism
    double v[2]; // velocity of the joint before
} cri_contact_link;

/// u = A f + b is the velocity after the impulse. Arrays are borrowed.
typedef struct cri_contact_problem {
    int n;
    const double *A;      // (3n, 3n)
    const double *b;      // (3n) velocity before
    const double *mu;     // (n)
    const double *e;      // (n)
    const double *target; // (n) normal velocity to reach at least
    const double *drift;  // (3n) velocity to which friction brings tangents; NULL: zero
    const bool *is_plain; // (n) no restitution: the target alone counts
    const bool *has_e;    // (n) the derivative for e counts, also of a plain one; NULL: not there
    const struct cri_ground_nets *nets; // of laws that need them, else NULL
    const double *weights;              // theirs
    cri_outside outside;                // what they do beyond their training
    bool is_foreign;                    // some contact is not of the body that they know
    const cri_contact_link *link;       // of the body that they know, NULL: it moves freely
    const double *applied; // (3n) part of b that forces of the step made; NULL: not there
    const double *place;   // (n, 2) where contacts are along the tangents, m, for nets
                           // in space: choices alone hang on it; else NULL
    double where;          // m, of the body that nets know along the surface, for those that ask
    double smoothing;      // of derivatives, relative; 0: they are those of the solution
    // pivots of A (cri_psd_pivot, to 1e-11), NULL: not there
    const struct cri_psd *pivots;
} cri_contact_problem;

/// What a solve came to.
typedef struct cri_law_report {
    cr_outcome outcome;
    int n_iteration;
    double residual;
    double margin;             // relative distance to another contact class
    bool is_one_sided;         // at a kink
    bool is_smoothed;          // derivatives are smoothed
    bool is_refused;           // there is no smoothed derivative, or none through a joint
    bool is_outside;           // nets were not trained for this
    int n_evaluation;          // of the joint force
    bool *is_sliding;          // (n), filled by the law: what slides in some phase of it
    const double *compression; // (3n), in keep: impulse of the first phase of two, else NULL
    const double *shift;       // (n), in keep: what the law adds to the diagonal of A, else NULL
} cri_law_report;

enum { CRI_MAX_OUTER = 14 };

/// Adjoints of the problem. A_adj is a sum of n_outer products left right'.
typedef struct cri_contact_adj {
    int n_outer;
    double *left[CRI_MAX_OUTER];  // (3n) each
    double *right[CRI_MAX_OUTER]; // (3n) each
    double *b;                    // (3n)
    double *mu;                   // (n)
    double *e;                    // (n)
    double *target;               // (n)
    double *drift;                // (3n), normal entries zero; NULL when the problem has none
    double *weights;              // set by the caller, the law adds; NULL: not wanted
    double where;
} cri_contact_adj;

/// Tangents of the problem. A_tan is applied, never formed.
typedef struct cri_contact_tan {
    void (*apply_A)(const void *context, const double *z, double *A_tan_z);
    const void *context;
    const double *b;       // (3n)
    const double *mu;      // (n)
    const double *e;       // (n)
    const double *target;  // (n)
    const double *drift;   // (3n), NULL when the problem has none
    const double *weights; // NULL: zero
    double where;
    bool is_exact; // not smoothed, whatever the problem asked for
} cri_contact_tan;

/// What the right-hand side of a law's tangents is made of: A_tan f + of_b b_tan on normal rows
/// less of_target target_tan, A_tan f + b_tan on the others; and A_tan q.
typedef struct cri_contact_split {
    double *of_b, *of_target; // (n)
    const double *q;          // (3n), NULL: it does not count
} cri_contact_split;

typedef struct cri_law {
    const char *name;
    const char *summary; // a line
    const char *promise; // what holds and what does not, a few sentences; NULL: not said
    bool is_regularised; // soft; the solution depends on the scale of the rows
    bool is_poisson;     // restitution is about impulses, else about velocities (Newton)
    bool is_lifting;     // what slides gets v_n = mu |v_t|
    bool needs_nets;     // only models that have them take it
    bool is_octagon;     // friction along corners, 45 degrees apart from the first tangent
    bool is_soft;        // contacts are springs; bodies overlap while they touch
    // the stepper that alone has it, whose step is the law; NULL: an impulse law, with all below
    const char *stepper;
    bool is_energy; // of the surfaces' positions; bodies must be apart at the start
    int form;       // cri_potential_form, of energies
    double mu;      // their coefficient, unless the scene gives one
    int n_descent;  // derivatives by so many steps of descent; 0: of the solution

    /// Solves from the start f (3n) and overwrites it. Returns the cache that the derivatives need,
    /// in keep; has_cache false lets the law skip what only they need. Both arenas have room
    /// (n_byte).
    const void *(*solve)(const cri_contact_problem *problem, double *f, bool has_cache,
                         cri_law_report *report, cr_arena *keep, cr_arena *scratch);

    /// Overwrites adj, whose arrays the law pushes on scratch.
    void (*vjp)(const cri_contact_problem *problem, const void *cache, const double *f,
                const double *f_adj, cri_contact_adj *adj, cr_arena *scratch);

    /// Overwrites f_tan (3n).
    void (*jvp)(const cri_contact_problem *problem, const void *cache, const double *f,
                const cri_contact_tan *tan, double *f_tan, cr_arena *scratch);

    /// Fills the split's arrays; false when the law has no jvp_many here. NULL: it never has.
    bool (*split)(const cri_contact_problem *problem, const void *cache, cri_contact_split *split);

    /// Tangents of A, b and target by columns: F (3n, n_column) holds right-hand sides on entry, on
    /// return f_tan, but for what moves nothing. A_q (3n, n_column) like split.q.
    void (*jvp_many)(const void *cache, int n_column, double *F, const double *A_q,
                     cr_arena *scratch);
    size_t (*n_byte_many)(int n, int n_column);

    /// Room that one call needs in each arena.
    size_t (*n_byte)(int n);

    /// Room that smoothing adds to it. NULL: the law has no smoothed derivatives.
    size_t (*n_byte_smooth)(int n);
} cri_law;

/// Law number i of those that any scene takes, NULL behind the last.
const cri_law *cri_law_at(int i);

/// Law number i of those that need nets, NULL behind the last.
const cri_law *cri_law_learned_at(int i);

/// Among these. NULL when there is none of that name.
const cri_law *cri_law_find(const char *name);

/// Law number i of those with a stepper of their own, NULL behind the last.
const cri_law *cri_law_stepped_at(int i);

/// Among all that there are.
const cri_law *cri_law_find_any(const char *name);
