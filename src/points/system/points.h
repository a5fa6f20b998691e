// SPDX-License-Identifier: MIT
//
// Points in Cartesian coordinates: constant masses, quadratic constraints, a potential (DCS, paper
// 000). n_point points with d = 2 or 3 coordinates each, D = n_point d; x and v (D) point after
// point, a state is [x | v] (2 D), a batch is (B, 2 D), rows independent of each other.
//
// Masses come in blocks: a point of mass m, or an extended body of d + 1 points, its centre and the
// ends of its axes of length 1, whose mass lies at the centre with second moments per mass lam_k:
//
//     Minv = 1/m,   Minv = (1/m) (1 1' + diag(0, 1/lam_1 .. 1/lam_d))       on points, every axis
//
// Ties are scalar equations Phi_e(x) = 1/2 x'H_e x + b_e.x + c_e = 0 with rows J_e = H_e x + b_e:
// distances, right angles of a body, and joints, which are linear.
//
// Everything is SI and double. A cri_points is immutable and may be shared between threads.

#pragma once

#include "base/arena.h"
#include "base/math/sparse_ldlt.h"
#include "base/nn/mlp.h"

#include <stdbool.h>

enum { CRI_TIE_POINTS = 8, CRI_AXES = 3 };

typedef enum cri_tie_kind {
    CRI_TIE_ANCHOR,   // |x_i - at|^2 = length^2
    CRI_TIE_DISTANCE, // |x_i - x_j|^2 = length^2
    CRI_TIE_ANGLE,    // (x_i - x_k).(x_j - x_k) = 0 for points i, j, k
    CRI_TIE_JOINT,    // sum of weight x = at, on one axis
} cri_tie_kind;

/// One equation.
typedef struct cri_tie {
    cri_tie_kind kind;
    int n_point;
    int point[CRI_TIE_POINTS];
    double weight[CRI_TIE_POINTS]; // of a joint
    double at[CRI_AXES];           // m; a joint has its coordinate at [0]
    double length;                 // m
    int axis;                      // of a joint
} cri_tie;

/// A spring with energy stiffness (l - length)^2, without a factor 1/2.
typedef struct cri_spring {
    int from, to; // points; from -1 is the origin
    double length;
} cri_spring;

/// What a system is made of. Points of a block follow each other.
typedef struct cri_points_def {
    int d;
    int n_block;
    const bool *is_body; // (n_block) d + 1 points, else one; their ties are added
    int n_tie;
    const cri_tie *tie;
    int n_spring;
    const cri_spring *spring;
} cri_points_def;

typedef struct cri_mass_block {
    int first, n; // points
    int lam;      // its first second moment, -1: a point
    int entry;    // of the inverse mass, (n, n)
} cri_mass_block;

/// S[entry] += Minv[minv] J[slot_a].J[slot_b]
typedef struct cri_tie_term {
    int entry, slot_a, slot_b, minv;
} cri_tie_term;

typedef struct cri_points {
    int d, n_point, n_dof;
    int n_block, n_lam;
    const cri_mass_block *block;
    const int *block_of; // (n_point)
    int n_minv;          // numbers of the inverse mass: (n, n) of every block
    const double *unit;  // (n_minv) inverse mass 1
    int n_tie;
    const cri_tie *tie;
    int n_slot;            // points of all ties
    const int *slot_first; // (n_tie + 1)
    const int *slot_point; // (n_slot)
    cri_pattern pattern;   // of S = J Minv J', when there are ties
    cri_fill fill;
    int n_term;
    const cri_tie_term *term;
    const int *group_of; // (n_point) the least point that blocks and ties connect it with
    int n_spring;
    const cri_spring *spring;
    // parameters: [mass | lam | gravity | stiffness if there are springs]
    int i_mass, i_lam, i_gravity, i_stiffness, n_param;
} cri_points;

/// Builds a system on the arena. False when there is no memory; wrong indices assert.
bool cri_points_build(const cri_points_def *def, cri_points *out, cr_arena *arena);

/// Fills minv (n_minv) from parameters p, whose masses and second moments are positive.
void cri_points_masses(const cri_points *s, const double *p, double *minv);
void cri_points_masses_vjp(const cri_points *s, const double *p, const double *minv_adj,
                           double *p_adj);
void cri_points_masses_jvp(const cri_points *s, const double *p, const double *p_tan,
                           double *minv_tan);

/// 1/2 v'M v of one state.
double cri_points_kinetic(const cri_points *s, const double *p, const double *v);

// ---- potentials --------------------------------------------------------------------------------

/// A potential V(x; p) by its gradient, for B configurations at once. p is the whole parameter
/// vector of the system, in which its own n_param begin at first. A potential without functions is
/// zero.
typedef struct cri_points_potential cri_points_potential;

struct cri_points_potential {
    const void *context;
    int first, n_param;

    /// Room in scratch that grad_vjp and grad_jvp need for B rows. NULL: none.
    size_t (*n_byte)(const cri_points_potential *self, int B);

    /// V (B)
    void (*value)(const cri_points_potential *self, const double *p, int B, const double *x,
                  double *V);

    /// g = dV/dx (B, D). *cache, in keep, is what derivatives need. False when there is no memory.
    bool (*grad)(const cri_points_potential *self, const double *p, int B, const double *x,
                 double *g, const void **cache, cr_arena *keep);

    /// Adds to x_adj (B, D) and p_adj the adjoints of u (B, D).g
    void (*grad_vjp)(const cri_points_potential *self, const double *p, int B, const void *cache,
                     const double *u, double *x_adj, double *p_adj, cr_arena *scratch);

    /// Overwrites g_tan (B, D).
    void (*grad_jvp)(const cri_points_potential *self, const double *p, int B, const void *cache,
                     const double *x_tan, const double *p_tan, double *g_tan, cr_arena *scratch);
};

/// Gravity on the masses, and the springs: V = - sum m gravity.x + sum stiffness (l - length)^2.
/// Its parameters are those of the system; it has none of its own. s is borrowed.
cri_points_potential cri_points_true_potential(const cri_points *s);

/// V = 0.
cri_points_potential cri_points_no_potential(void);

// ---- motion ------------------------------------------------------------------------------------

typedef enum cri_points_form {
    CRI_LAGRANGE, // S.2: constraint accelerations vanish
    CRI_HAMILTON, // S.4: velocities are projected too
} cri_points_form;

/// An explicit Runge-Kutta method.
typedef struct cri_tableau {
    int n_stage;
    double a[4][4], b[4];
} cri_tableau;

extern const cri_tableau cri_rk_euler, cri_rk_classic, cri_rk_38;

/// What a call works on. Rows that fail are marked and left out from then on.
typedef struct cri_points_call {
    const cri_points *s;
    cri_points_form form;
    const cri_tableau *tableau;
    const cri_points_potential *potential;
    const double *p;    // whole parameter vector
    const double *minv; // (n_minv) cri_points_masses of p
    int B;
    bool *has_failed; // (B) a singular constraint, or a number that is not finite
    cr_arena *keep;   // caches; not of derivatives
    cr_arena *scratch;
} cri_points_call;

/// Where adjoints go.
typedef struct cri_points_adj {
    double *p;    // whole parameter vector: what the potential adds
    double *minv; // (n_minv)
} cri_points_adj;

/// Tangents of parameters.
typedef struct cri_points_tan {
    const double *p;
    const double *minv;
} cri_points_tan;

/// (xdot, vdot) of one batch and what its derivatives need.
typedef struct cri_field_cache cri_field_cache;

/// A step h of the tableau.
typedef struct cri_points_flow_cache {
    double h;
    const cri_field_cache *stage[4];
} cri_points_flow_cache;

/// Overwrites next (B, 2 D). False when there is no memory. A failed row stays where it was.
bool cri_points_flow(const cri_points_call *call, double h, const double *state, double *next,
                     cri_points_flow_cache *cache);
void cri_points_flow_vjp(const cri_points_call *call, const cri_points_flow_cache *cache,
                         const double *next_adj, double *state_adj, const cri_points_adj *adj);
void cri_points_flow_jvp(const cri_points_call *call, const cri_points_flow_cache *cache,
                         const double *state_tan, const cri_points_tan *tan, double *next_tan);

/// One Newton step to Phi = 0 in the metric of the masses, then J v = 0, in place.
typedef struct cri_project_cache cri_project_cache;

const cri_project_cache *cri_points_project(const cri_points_call *call, double *state);

/// state_adj (B, 2 D) is overwritten: that of the output becomes that of the input.
void cri_points_project_vjp(const cri_points_call *call, const cri_project_cache *cache,
                            double *state_adj, const cri_points_adj *adj);
void cri_points_project_jvp(const cri_points_call *call, const cri_project_cache *cache,
                            const cri_points_tan *tan, double *state_tan);

/// What the potential of a net is made of; borrowed.
typedef struct cri_points_net_def {
    const cri_mlp *net; // n_dof inputs, one output, no relu
    const cri_points *s;
} cri_points_net_def;

/// The potential. Its own parameters are the weights. It has no tangents: steps with it have
/// adjoints alone. Its energy is not asked for: that of a learned motion is judged by the true one.
cri_points_potential cri_points_net(const cri_points_net_def *def);

/// The same with tangents for masses and springs and none of the net for states and weights: what
/// is left out, curvature, is small over a few steps. For Jacobians of which a direction of search
/// is made.
cri_points_potential cri_points_net_flat(const cri_points_net_def *def);

// ---- ties and the lemma that all of points dynamics is made of; springs -------------------------
//
// Rows of ties are kept as blocks: J (n_slot, d), one block for each point that a tie touches.

/// J of x (D), and H_e y (n_slot, d): J without its constant part.
void cri_ties_rows(const cri_points *s, const double *x, double *J);
void cri_ties_curve(const cri_points *s, const double *y, double *N);

/// phi (n_tie)
void cri_ties_value(const cri_points *s, const double *x, double *phi);

/// out (D) += factor sum_e k_e H_e y
void cri_ties_add_curve(const cri_points *s, double factor, const double *k, const double *y,
                        double *out);

/// out (D) = Minv y;   minv_adj += sum over axes of y_adj_a y_b
void cri_minv_times(const cri_points *s, const double *minv, const double *y, double *out);
void cri_minv_add_outer(const cri_points *s, const double *left, const double *right,
                        double *minv_adj);

/// Adds the gradient (D) of all springs at x (D); their stiffness is the one of p.
void cri_springs_grad(const cri_points *s, const double *p, const double *x, double *g);

/// Adds to x_adj (D) and p_adj the adjoints of u (D).gradient
void cri_springs_grad_vjp(const cri_points *s, const double *p, const double *x, const double *u,
                          double *x_adj, double *p_adj);

/// Adds the tangent (D).
void cri_springs_grad_jvp(const cri_points *s, const double *p, const double *x,
                          const double *x_tan, const double *p_tan, double *g_tan);

/// A factor of S = J Minv J'. Numbers are borrowed by whoever keeps them.
typedef struct cri_ties_factor {
    const double *minv;
    double *J;     // (n_slot, d)
    double *value; // (fill->below_first[n_tie])
    double *d_inv; // (n_tie)
} cri_ties_factor;

/// Doubles that a factor takes, J included.
int cri_ties_factor_size(const cri_points *s);
cri_ties_factor cri_ties_factor_at(const cri_points *s, const double *minv, double *room);

/// Factors S of the rows J in f. False when it is singular: ties contradict or repeat each other.
bool cri_ties_factorise(const cri_points *s, const cri_ties_factor *f, cr_arena *scratch);

/// a = Minv (f + J'lam),  J a + c = 0:   S lam = -(J Minv f + c).   H = f + J'lam.
typedef struct cri_lemma {
    double *lam; // (n_tie)
    double *H;   // (D)
    double *a;   // (D)
} cri_lemma;

/// Solves for force (D) and c (n_tie), NULL for zero, into out.
void cri_lemma_solve(const cri_points *s, const cri_ties_factor *f, const double *force,
                     const double *c, const cri_lemma *out, cr_arena *scratch);

/// The adjoint lemma: w = S^-1 (J Minv a_adj + lam_adj), P = a_adj - J'w, p = Minv P. Then
/// f_adj = p, c_adj = -w, J_adj = lam p' - w a', Minv_adj = P H'. lam_adj NULL: zero.
typedef struct cri_lemma_adj {
    double *w; // (n_tie)
    double *P; // (D)
    double *p; // (D)
} cri_lemma_adj;

/// Tangents: minv_tan (NULL: none), that of the rows J_tan (n_slot, d), of the force (D) and of c
/// (n_tie), NULL for none. Overwrites lam_tan (n_tie) and a_tan (D).
typedef struct cri_lemma_tan {
    const double *minv, *J, *force, *c;
} cri_lemma_tan;

void cri_lemma_jvp(const cri_points *s, const cri_ties_factor *f, const cri_lemma *at,
                   const cri_lemma_tan *tan, double *lam_tan, double *a_tan, cr_arena *scratch);

// for tests

/// Its functions, as the gradient table calls them.
bool cri_true_grad(const cri_points_potential *self, const double *p, int B, const double *x,
                   double *g, const void **cache, cr_arena *keep);
void cri_true_grad_vjp(const cri_points_potential *self, const double *p, int B, const void *cache,
                       const double *u, double *x_adj, double *p_adj, cr_arena *scratch);
void cri_true_grad_jvp(const cri_points_potential *self, const double *p, int B, const void *cache,
                       const double *x_tan, const double *p_tan, double *g_tan, cr_arena *scratch);

/// Its functions, as the gradient table calls them.
bool cri_net_grad(const cri_points_potential *self, const double *p, int B, const double *x,
                  double *g, const void **cache, cr_arena *keep);
void cri_net_grad_vjp(const cri_points_potential *self, const double *p, int B, const void *cache,
                      const double *u, double *x_adj, double *p_adj, cr_arena *scratch);

/// Phi (n_tie) and J v (n_tie) of one state: what drift and projection are about.
void cri_points_errors(const cri_points *s, const double *x, const double *v, double *phi,
                       double *rate, cr_arena *scratch);

/// Overwrites rate (B, 2 D). NULL when there is no memory.
const cri_field_cache *cri_points_field(const cri_points_call *call, const double *state,
                                        double *rate);
void cri_points_field_vjp(const cri_points_call *call, const cri_field_cache *cache,
                          const double *rate_adj, double *state_adj, const cri_points_adj *adj);
void cri_points_field_jvp(const cri_points_call *call, const cri_field_cache *cache,
                          const double *state_tan, const cri_points_tan *tan, double *rate_tan);
void cri_lemma_vjp(const cri_points *s, const cri_ties_factor *f, const double *a_adj,
                   const double *lam_adj, const cri_lemma_adj *out, cr_arena *scratch);

/// Adds what J_adj = lam p' - w a' means for x, and Minv_adj.
void cri_lemma_pull(const cri_points *s, const cri_lemma *at, const cri_lemma_adj *adj,
                    double *x_adj, double *minv_adj);
