// SPDX-License-Identifier: MIT
//
// What a contact law is, and the table of those that exist.
//
// A law maps one island's problem to an impulse. All arrays have three rows a contact (normal, two
// tangents). A new law is one file and one line in laws.c.

#pragma once

#include "base/arena.h"
#include "carom/carom.h"

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
    double smoothing; // of derivatives, relative; 0: they are those of the solution
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
    bool is_refused;           // there is no smoothed derivative
    bool *is_sliding;          // (n), filled by the law: what slides in some phase of it
    const double *compression; // (3n), in keep: impulse of the first phase of two, else NULL
    const double *shift;       // (n), in keep: what the law adds to the diagonal of A, else NULL
} cri_law_report;

enum { CRI_MAX_OUTER = 8 };

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
    bool is_exact;         // not smoothed, whatever the problem asked for
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

/// Among all of them. NULL when there is none of that name.
const cri_law *cri_law_find(const char *name);
