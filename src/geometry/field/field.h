// SPDX-License-Identifier: MIT
//
// Signed distance fields: one question, phi(x; theta), asked of every shape.
//
// phi is negative inside; metres; points in the field's own frame; sizes are MJCF's half lengths
// with long axes along z. A field is an expression in postfix order: leaves are shapes, each in a
// pose of its own if wanted, combinations take the two results before them. It borrows everything
// and is constant: threads share it, and a change of a parameter is a change of param.
//
// Parameters of a leaf, in this order; a posed leaf has six more behind them, its position and
// rotation vector in the field's frame:
//
//   sphere       radius
//   box          half lengths (3)
//   rounded box  outer half lengths (3), radius of the rounding
//   cylinder     radius, half length
//   capsule      radius, half length of the axis without the caps
//   ellipsoid    half axes (3)
//   grid         scale: phi(x) = s G(x/s)
//   custom       what it says; a neural field is one
//
// and of a combination: the width k of its blend, 0 for a sharp one.

#pragma once

#include "base/base.h"
#include "base/math/vec3.h"

#include <stdbool.h>

typedef enum cri_field_kind {
    CRI_FIELD_SPHERE,
    CRI_FIELD_BOX,
    CRI_FIELD_ROUNDED_BOX,
    CRI_FIELD_CYLINDER,
    CRI_FIELD_CAPSULE,
    CRI_FIELD_ELLIPSOID,
    CRI_FIELD_GRID,
    CRI_FIELD_CUSTOM,
    CRI_FIELD_UNION,
    CRI_FIELD_INTERSECTION,
    CRI_FIELD_DIFFERENCE, // the first without the second
} cri_field_kind;

enum { CRI_FIELD_NODES = 32 }; // of an expression, at most

/// Value, gradient and second derivative (xx yy zz xy xz yz) at a point.
typedef struct cri_field_value {
    double phi;
    cri_vec3 g;
    double H[6];
} cri_field_value;

/// How much of a value is wanted; the rest is left as it is.
typedef enum cri_field_order {
    CRI_FIELD_PHI,
    CRI_FIELD_GRADIENT,
    CRI_FIELD_HESSIAN,
} cri_field_order;

/// A field that somebody else computes. The vjp is that of (phi, g) with seeds phi_adj and g_adj;
/// it adds to x_adj and, when not NULL, to param_adj. The jvp gives the tangents of phi and g for
/// x_tan and, when not NULL, param_tan. The last three, NULL for fields that are not faster so, do
/// many points (n, 3) at once: phi (n) and, when not NULL, g (n, 3), and the adjoint and tangent of
/// phi for the parameters.
typedef struct cri_field_custom {
    int n_param;
    double lipschitz;          // |g| is never above it
    double lower[3], upper[3]; // of a box around the surface
    const double *range;       // (n_param, 2) what parameters may be, NULL: anything
    const void *self;
    void (*eval)(const void *self, const double *param, cri_vec3 x, cri_field_order order,
                 cri_field_value *out);
    void (*vjp)(const void *self, const double *param, cri_vec3 x, double phi_adj, cri_vec3 g_adj,
                cri_vec3 *x_adj, double *param_adj);
    void (*jvp)(const void *self, const double *param, cri_vec3 x, cri_vec3 x_tan,
                const double *param_tan, double *phi_tan, cri_vec3 *g_tan);
    void (*many)(const void *self, const double *param, int n, const double *x, double *phi,
                 double *g);
    void (*many_vjp)(const void *self, const double *param, int n, const double *x,
                     const double *phi_adj, double *param_adj);
    void (*many_jvp)(const void *self, const double *param, int n, const double *x,
                     const double *param_tan, double *phi_tan);
} cri_field_custom;

struct cri_grid;

typedef struct cri_field_node {
    cri_field_kind kind;
    bool is_posed;                  // leaves only
    int first;                      // of its parameters
    const struct cri_grid *grid;    // of a grid
    const cri_field_custom *custom; // of a custom leaf
} cri_field_node;

typedef struct cri_field {
    int n_node;
    const cri_field_node *node; // (n_node) postfix
    int n_param;
    const double *param; // (n_param)
} cri_field;

/// How many parameters a node has, with those of its pose.
int cri_field_node_params(const cri_field_node *node);

/// Refuses what is no expression, and sizes that are no shape: CR_ERR_ARGUMENT, and err says which
/// node and why. All other functions want a field that passed.
CR_MUST_CHECK cr_status cri_field_check(const cri_field *field, cr_error *err);

/// Cannot fail. Inside, where phi has a kink, g is one of its one-sided gradients.
void cri_field_eval(const cri_field *field, cri_vec3 x, cri_field_order order,
                    cri_field_value *out);

/// phi alone.
double cri_field_phi(const cri_field *field, cri_vec3 x);

/// phi (n) at points (n, 3).
void cri_field_phi_many(const cri_field *field, int n, const double *x, double *phi);

/// phi (n) and its gradient g (n, 3) at points (n, 3).
void cri_field_gradient_many(const cri_field *field, int n, const double *x, double *phi,
                             double *g);

/// The adjoint of phi (n) for the parameters alone: adds to param_adj (n_param).
void cri_field_phi_many_vjp(const cri_field *field, int n, const double *x, const double *phi_adj,
                            double *param_adj);

/// phi_tan (n) for the parameters' param_tan (n_param), the points at rest.
void cri_field_phi_many_jvp(const cri_field *field, int n, const double *x, const double *param_tan,
                            double *phi_tan);

/// Adjoint of (phi, g) at x: adds to x_adj and param_adj (n_param), each NULL when not wanted. It
/// evaluates again at the same point, so that every branch is the one that was taken.
void cri_field_vjp(const cri_field *field, cri_vec3 x, double phi_adj, cri_vec3 g_adj,
                   cri_vec3 *x_adj, double *param_adj);

/// Tangents of (phi, g) at x; param_tan NULL: parameters at rest.
void cri_field_jvp(const cri_field *field, cri_vec3 x, cri_vec3 x_tan, const double *param_tan,
                   double *phi_tan, cri_vec3 *g_tan);

/// |phi(x) - phi(y)| is at most this times |x - y|.
double cri_field_lipschitz(const cri_field *field);

/// A box that holds {phi <= 0}, in the field's frame.
void cri_field_bounds(const cri_field *field, cri_vec3 *lower, cri_vec3 *upper);
