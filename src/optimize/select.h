// SPDX-License-Identifier: MIT
//
// Which entries of p, x0 and u a gradient or a fit is about, by name.
//
// A selection is text such as "ball/mass,floor:ball/*,x0:ball/qvel[2],u:ball/force[0][17]":
//
//     NAME          a parameter; NAME without its index stands for all its entries
//     x0:NAME       an entry of the initial state
//     u:NAME        a control, constant over the run
//     u:NAME[STEP]  a control during that step only, the first step being 0
//     a*b           every name that fits
//     a=b           a tie: both are one variable; names with several entries are tied one by one
//
// A selection is immutable once created and may be shared between threads.
//
// Single entries of a state x and tangent coordinates.
//
// In tangent coordinates each quaternion q of x is a rotation vector theta in the body frame, so
// n_tangent = 2 n_v. Both directions take q as it is and mean its unit quaternion.

#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "model/model.h"
#include "optimize/domain.h"

/// The name of the vector that differs from text by the fewest insertions, deletions, replacements
/// and swaps of neighbours, or NULL when none is near. Valid as long as the model.
const char *cri_name_nearest(const cr_model *model, cr_vector vector, const char *text);

/// The change of entry i of x, its quaternions of length one, for the tangent x_tan (n_tangent).
double cri_entry_of_tangent(const cr_model *model, const double *x, int i, const double *x_tan);

/// One entry that a variable stands for.
typedef struct cri_variable_place {
    cr_vector vector; // CR_VECTOR_X: the initial state
    int index;
    int step; // of a control; -1: every step, and for the other vectors
} cri_variable_place;

/// One unknown, shared by all its places.
typedef struct cri_variable {
    const char *name; // as the user wrote it, or in full where he wrote a pattern
    const cri_variable_place *place;
    int n_place; // at least 1
} cri_variable;

typedef struct cri_selection {
    const cr_model *model; // borrowed
    cr_sizes sizes;
    cri_variable *variable;
    int n_variable; // at least 1
    cr_arena *memory;
} cri_selection;

/// Parameters, initial state and controls of a run, or the adjoints of all three.
typedef struct cri_point {
    double *p;   // (n_p)
    double *x0;  // (n_x)
    double *u;   // (n_u_row, n_u)
    int n_u_row; // one row a step, or 1 when no variable is about a single step
} cri_point;

/// Resolves text. On failure *out is NULL and err names the part that is wrong and, for an unknown
/// name, the nearest one.
CR_MUST_CHECK cr_status cri_selection_create(const cr_model *model, const char *text,
                                             cri_selection **out, cr_error *err);

/// Releases selection. NULL is allowed.
void cri_selection_destroy(cri_selection *selection);

/// Refuses a selection that names a step beyond the n_step of a run.
CR_MUST_CHECK cr_status cri_selection_check_steps(const cri_selection *selection, int n_step,
                                                  cr_error *err);

/// Refuses parameters for which a law has no derivatives: sizes of shapes under the
/// rivals of longrange.
CR_MUST_CHECK cr_status cri_selection_check_law(const cri_selection *selection, const char *law,
                                                cr_error *err);

/// A zeroed point with as many rows of u as the selection needs in a run of n_step steps.
CR_MUST_CHECK cr_status cri_point_push(const cri_selection *selection, int n_step, cr_arena *arena,
                                       cri_point *out, cr_error *err);

/// As cri_point_push, with n_u_row rows of u, one or as many as steps.
CR_MUST_CHECK cr_status cri_point_push_rows(const cri_selection *selection, int n_u_row,
                                            cr_arena *arena, cri_point *out, cr_error *err);

/// Refuses ties of places with different values: err names two of them, their values and what to
/// set.
CR_MUST_CHECK cr_status cri_selection_check_ties(const cri_selection *selection,
                                                 const cri_point *point, cr_error *err);

/// z (n_variable): the value of each variable's first place.
void cri_selection_read(const cri_selection *selection, const cri_point *point, double *z);

/// Writes z (n_variable) to all places.
void cri_selection_write(const cri_selection *selection, const double *z, cri_point *point);

/// Adjoint of cri_selection_write: adds to z_adj (n_variable).
void cri_selection_write_vjp(const cri_selection *selection, const cri_point *point_adj,
                             double *z_adj);

/// The same for variable j alone.
double cri_selection_value(const cri_selection *selection, int j, const cri_point *point);
void cri_selection_put(const cri_selection *selection, int j, double value, cri_point *point);

/// Tangent of one variable, put into zeroed rows: p_tan (n_p); x0_tan (n_tangent) at the initial
/// state x0; u_tan (n_u) during that step.
void cri_variable_p_tan(const cri_variable *variable, double *p_tan);
void cri_variable_x0_tan(const cri_variable *variable, const cr_model *model, const double *x0,
                         double *x0_tan);
void cri_variable_u_tan(const cri_variable *variable, int step, double *u_tan);

/// The common domain of all places of variable i.
cri_domain cri_selection_domain(const cri_selection *selection, const cr_model *model, int i);

/// True when some variable is about that vector.
bool cri_selection_has(const cri_selection *selection, cr_vector vector);

// for tests

/// True when name fits pattern, in which each * stands for any characters, none included.
bool cri_name_matches(const char *pattern, const char *name);

/// Adds the tangent of a unit change of entry i of x to x_tan (n_tangent).
void cri_tangent_of_entry(const cr_model *model, const double *x, int i, double *x_tan);
