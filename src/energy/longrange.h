// SPDX-License-Identifier: MIT
//
// Long-range contact potential of two bodies made of triangles, and of a body above a half-space:
// value, gradient and second derivatives in their poses.
//
// In units of the contact coefficient mu (joule): energy = mu value. Poses are charted on the left:
// R' = exp([w]) R, pos' = pos + v; six numbers (w, v) a body, twelve a pair. Forces are minus the
// gradient. Everything here is a pure function; a tree may be shared between threads, the rest
// belongs to one.

#pragma once

#include "energy/plane_potential.h"
#include "geometry/convex/shape.h"
#include "geometry/mesh/sphere_tree.h"

#include <stdint.h>

/// What a pair of clusters far apart counts for.
typedef enum cri_longrange_clusters {
    CRI_CLUSTERS_SINGLE,  // one term (as published)
    CRI_CLUSTERS_COUNTED, // 2^(shortest way down) terms, triangles that they surely have
    CRI_CLUSTERS_WHOLE,   // all their pairs of triangles, as far apart as they can be
} cri_longrange_clusters;

/// What the potential is. Start from cri_longrange_default.
typedef struct cri_longrange_options {
    double ell; // length on which it falls, m, positive
    double eps; // width of the shell in which a cluster takes over from its parts, over its size
    bool has_constant; // every term falls to 12 far away (as published), else to 0
    cri_longrange_clusters clusters;
    bool is_brute; // all pairs of triangles, no clusters: the reference
} cri_longrange_options;

/// ell 1, eps 0.1, has_constant, single clusters.
cri_longrange_options cri_longrange_default(void);

/// CR_ERR_ARGUMENT, with a text that names the option, when ell or eps is not positive and finite.
CR_MUST_CHECK cr_status cri_longrange_check(const cri_longrange_options *options, cr_error *err);

/// A node of a tree in place.
typedef struct cri_longrange_node {
    double r[3]; // centre less the body's position, world axes
    double radius;
} cri_longrange_node;

/// A body in place: borrows the tree, the rest is in the arena that placed it.
typedef struct cri_longrange_body {
    const cri_sphere_tree *tree;
    cri_pose pose;
    const cri_longrange_node *node; // (n_node)
    const double *r;                // (n_vertex, 3) vertices less the position, world axes
    const double *vertex;           // (n_vertex, 3) in its own frame; borrowed
} cri_longrange_body;

/// Puts a mesh, vertices (n_vertex, 3) in its own frame, at a pose. False for lack of memory.
bool cri_longrange_place(const cri_sphere_tree *tree, const double *vertex, const cri_pose *pose,
                         cr_arena *arena, cri_longrange_body *out);

/// Gradient of a body pair in affine motions of both: of x' = A r + b for a body it is N = sum f r'
/// for A and F = sum f for b, f the gradient at a point and r from the position. The sum of both F
/// is zero, so there is one.
typedef struct cri_affine_gradient {
    double F[3];    // of the first body; the second has -F
    double N[2][9]; // row-major
} cri_affine_gradient;

/// Torque part r x f of N, and the term of second order that the exponential map adds to the
/// derivatives for w: sym(N) - trace(N) I.
cri_vec3 cri_affine_torque(const double N[9]);

/// y (3) += what a turn w adds to the torque beyond second derivatives without curvature, when the
/// torque belongs to the chart of the moved pose: (curvature - [torque]x/2) w; turned: its
/// transpose.
void cri_affine_turn(const double N[9], bool is_turned, const double w[3], double y[3]);

/// One remembered plane.
typedef struct cri_longrange_slot {
    uint64_t key; // 0: empty
    uint64_t age; // of the table when it was noted
    double n[3];  // normal in the frame of the first body
    double offset;
} cri_longrange_slot;

/// Planes of the last evaluation of one pair of bodies, a table by hash: a plane that is lost costs
/// time, never the result beyond rounding. n_slot is a power of two; all zero is empty. Planes of
/// another age are forgotten: one more empties the table without a look at it.
typedef struct cri_longrange_warm {
    int n_slot;
    cri_longrange_slot *slot;
    uint64_t age;
} cri_longrange_warm;

/// The normal of the plane between two triangles, in the frame of the first body, whose second
/// body has so many triangles. False: it is not remembered.
bool cri_longrange_recall(const cri_longrange_warm *warm, int n_second, int first, int second,
                          cri_vec3 *n);

/// A part of a potential that has a pole near by: about r(y), r' = 1/(1 - bend y/2)^2, where y = g
/// . motion is the change of first order. A corner at s from its plane gives c/s, which is that.
typedef struct cri_longrange_pole {
    double g[12];    // (w, v) of both bodies
    double bend;     // second derivative over the square of the first
    double strength; // |first derivative| in the distance
} cri_longrange_pole;

enum { CRI_LONGRANGE_POLES = 48 };

/// The strongest ones of a pair. They say where steps lead, never what is true.
typedef struct cri_longrange_poles {
    int n;
    double least; // strength of the weakest, when there are as many as there may be
    cri_longrange_pole at[CRI_LONGRANGE_POLES];
} cri_longrange_poles;

/// A place for one more, NULL when all places have stronger ones.
cri_longrange_pole *cri_longrange_pole_place(cri_longrange_poles *poles, double strength);

/// Derivatives to compute.
typedef enum cri_longrange_order {
    CRI_LONGRANGE_VALUE,
    CRI_LONGRANGE_GRADIENT,
    CRI_LONGRANGE_HESSIAN,
} cri_longrange_order;

/// Potential of a pair. What was not asked for is zero.
typedef struct cri_longrange_result {
    double value; // infinite when triangles touch; derivatives are then meaningless
    cri_affine_gradient affine;
    double g[12];  // gradient: (w, v) of the first, (w, v) of the second body
    double H[144]; // second derivatives, without cri_affine_curvature; symmetric, row-major

    // what it took
    int n_visit;       // pairs of nodes looked at
    int n_centred;     // terms between centres
    int n_exact;       // pairs of triangles solved for
    int n_step;        // Newton steps in these
    double worst_gap;  // largest relative duality gap of them
    double worst_drop; // largest centred over exact value in a shell: below 1
    double gap; // least room that a plane leaves between two triangles, infinite: none is near
    cri_longrange_poles poles; // with second derivatives alone
} cri_longrange_result;

/// As deep as trees of 2^31 triangles are.
enum { CRI_NEAR_SHELLS = 40 };

/// A shell around a near pair in which it fades: nodes of both trees (half-space: the second is
/// -1), how the weight falls with their distance, the direction, and distance over the sum of
/// radii.
typedef struct cri_near_shell {
    int node[2];
    double slope, ratio;
    cri_vec3 u;
} cri_near_shell;

/// A near pair of triangles, or a triangle near a half-space: those whose potential is exact.
typedef struct cri_longrange_near {
    int triangle[2];        // of the first and second body; half-space: -1
    double weight;          // product of (1 - phi) of the shells around it
    double weight_grad[12]; // its gradient in the poses; half-space: six numbers
    int n_shell;
    cri_near_shell shell[CRI_NEAR_SHELLS]; // those in which the weight falls
    const cri_plane_force *force;          // pair
    const cri_half_force *half;            // half-space
} cri_longrange_near;

/// Takes one near pair after the other.
typedef struct cri_longrange_taker {
    void (*take)(void *context, const cri_longrange_near *near);
    void *context;
} cri_longrange_taker;

/// Lists the near pairs of two bodies, in the order of the sum. False when triangles touch.
bool cri_longrange_list(const cri_longrange_options *options, const cri_longrange_body *a,
                        const cri_longrange_body *b, cri_longrange_warm *warm,
                        const cri_longrange_taker *taker);

/// How many there are, and at most how many shells around them.
void cri_longrange_count(const cri_longrange_options *options, const cri_longrange_body *a,
                         const cri_longrange_body *b, int *n_near, int *n_shell);

/// The potential of bodies a and b. warm may be NULL.
void cri_longrange_pair(const cri_longrange_options *options, const cri_longrange_body *a,
                        const cri_longrange_body *b, cri_longrange_order order,
                        cri_longrange_warm *warm, cri_longrange_result *out);

/// Adjoint of value and gradient g in the vertices of both meshes: adds to vertex_adj[k]
/// (n_vertex, 3), in their own frames. Spheres follow their vertices (cri_sphere_tree_fit), unless
/// has_spheres is false: then they are held, as a force at a vertex is understood. warm may be
/// NULL. False when triangles touch or scratch has no memory; nothing is added then.
typedef struct cri_longrange_shape_adj {
    double *vertex_adj[2];
    bool has_spheres;
} cri_longrange_shape_adj;

bool cri_longrange_shape_vjp(const cri_longrange_options *options, const cri_longrange_body body[2],
                             cri_longrange_warm *warm, double value_adj, const double g_adj[12],
                             const cri_longrange_shape_adj *adj, cr_arena *scratch);

/// The half-space n . x <= offset, n a unit vector.
typedef struct cri_half_space {
    cri_vec3 n;
    double offset;
} cri_half_space;

/// Potential of a body above a half-space.
typedef struct cri_longrange_half_result {
    double value; // infinite when a vertex is not above
    double F[3], N[9];
    double g[6];  // gradient (w, v)
    double H[36]; // without cri_affine_curvature
    int n_visit, n_centred, n_exact;
    double gap;                // least height of a triangle that is near, infinite: none is
    cri_longrange_poles poles; // as for a pair
} cri_longrange_half_result;

void cri_longrange_half(const cri_longrange_options *options, const cri_longrange_body *body,
                        const cri_half_space *half, cri_longrange_order order,
                        cri_longrange_half_result *out);

/// Lists the triangles near it. False when a vertex is not above.
bool cri_longrange_half_list(const cri_longrange_options *options, const cri_longrange_body *body,
                             const cri_half_space *half, const cri_longrange_taker *taker);

/// As for a pair.
void cri_longrange_half_vjp(const cri_longrange_half_result *cache, double value_adj,
                            const double g_adj[6], double pose_adj[6]);
void cri_longrange_half_jvp(const cri_longrange_half_result *cache, const double pose_tan[6],
                            double *value_tan, double g_tan[6]);

/// Adjoint of the gradient g in the vertices of the mesh, which its spheres follow, and in the
/// offset: adds to vertex_adj (n_vertex, 3), own frame, and offset_adj. False as for a pair.
bool cri_longrange_half_shape_vjp(const cri_longrange_options *options,
                                  const cri_longrange_body *body, const cri_half_space *half,
                                  const double g_adj[6], double *vertex_adj, double *offset_adj,
                                  cr_arena *scratch);

/// The gradient in both charts.
void cri_longrange_charts(const cri_affine_gradient *affine, double g[12]);

// for tests

void cri_affine_curvature(const double N[9], double K[9]);

/// Adjoint of value and gradient g, after an evaluation with the Hessian: adds to pose_adj (12) in
/// the chart. It includes that g belongs to the chart of the moved pose.
void cri_longrange_pair_vjp(const cri_longrange_result *cache, double value_adj,
                            const double g_adj[12], double pose_adj[12]);

/// Tangent of value and gradient.
void cri_longrange_pair_jvp(const cri_longrange_result *cache, const double pose_tan[12],
                            double *value_tan, double g_tan[12]);
