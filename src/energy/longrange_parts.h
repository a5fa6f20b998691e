// SPDX-License-Identifier: MIT
//
// The walk down two sphere trees and its sums, shared by the files of the long-range potential.

#pragma once

#include "energy/longrange.h"

/// Value and gradient of a part of the potential.
typedef struct cri_longrange_part {
    double value;
    cri_affine_gradient affine;
} cri_longrange_part;

/// Two clusters: their distance, the direction u from the second to the first, and their centres
/// from the positions of their bodies.
typedef struct cri_longrange_line {
    double L;
    cri_vec3 u, ra, rb;
} cri_longrange_line;

/// Second derivatives in the making, for (turn of a, shift of a, turn of b): that a shift of both
/// changes nothing gives the shift of b. With e = d(L)/d(pose) and E = [J_a, -J_b] the derivative
/// of the centres' difference, centred terms are sums of alpha e e' + beta E'E, which a few moments
/// hold. Rows of four, so that the compiler takes them two by two.
typedef struct cri_longrange_sum {
    double direction[6][3]
                    [4];    // sum alpha p p', p u', p q', u u', u q', q q'; p = ra x u, q = rb x u
    double moment[3][3][4]; // sum beta ra (ra, 1)', ra (rb, 1)', rb (rb, 1)'
    double beta;            // sum beta
    double shells[9][12];   // slopes of shells, upper triangle
    cri_lane pairs[9][9];   // exact pairs, upper triangle, four sums of which the whole is one
} cri_longrange_sum;

/// Adds s u . (x_a - x_b) in affine form.
void cri_longrange_add_line(const cri_longrange_line *line, double s, cri_affine_gradient *out);

/// Adds alpha e e' + beta E'E.
void cri_longrange_add_moments(const cri_longrange_line *line, double alpha, double beta,
                               cri_longrange_sum *sum);

/// Adds weight (e g' + g e').
void cri_longrange_add_product(const cri_longrange_line *line, double weight, const double g[12],
                               cri_longrange_sum *sum);

/// Four exact pairs: corners from the positions of their bodies, planes, and forces as in
/// cri_plane_force; weight: product of (1 - phi) around each, zero in lanes without a pair.
typedef struct cri_longrange_lanes {
    cri_lane3 r[6];
    cri_plane_lanes plane;
    cri_lane excess, ratio, scale, q[6], h[6], weight;
} cri_longrange_lanes;

/// Their gradients: part[0..2] is F, then N of both bodies; lanes are pairs.
void cri_longrange_pair_gradients(const cri_longrange_lanes *x, cri_lane part[21]);

/// Adds their second derivatives times their weights, and the strongest corners to the poles.
void cri_longrange_add_pair_hessians(const cri_longrange_lanes *x, cri_longrange_sum *sum,
                                     cri_longrange_poles *poles);

/// The gradient in both charts.
void cri_longrange_charts(const cri_affine_gradient *affine, double g[12]);

/// The whole symmetric matrix.
void cri_longrange_expand(const cri_longrange_sum *sum, double H[144]);

// ---- the walk ----------------------------------------------------------------------------------

// trees are split in halves, so that 2^31 triangles are 32 levels; shells wait in a pool until the
// exact pairs in them are solved, four at a time
enum {
    CRI_LONGRANGE_SHELLS = 40,
    CRI_LONGRANGE_POOL = 4 * CRI_LONGRANGE_SHELLS,
    CRI_LONGRANGE_WAITS = 4 * CRI_LONGRANGE_SHELLS
};

/// A pair of nodes; first < 0: the innermost shell ends.
typedef struct cri_node_pair {
    int first, second;
} cri_node_pair;

/// A part A that is blended with a centred term C.
typedef struct cri_longrange_shell {
    cri_longrange_part part; // A
    cri_longrange_line line;
    cri_node_pair node;
    double C[3], phi[3];
    double outer; // product of (1 - phi) around the shell
    double inner; // and within
    int around;   // the shell around it, in the pool
    int depth;    // how many there are
    bool is_done; // all parts are known or wait
    // along a motion of both bodies, for derivatives in the shape
    double value_tan, outer_tan, inner_tan, L_tan;
    cri_vec3 u_tan;
} cri_longrange_shell;

/// Adjoints of world positions of vertices and centres, and of radii, along a motion.
typedef struct cri_longrange_shape {
    double value_adj;
    const double *motion; // (12)
    double *vertex[2], *centre[2], *radius[2];
} cri_longrange_shape;

/// A pair of leaves that waits to be solved, in a shell.
typedef struct cri_leaf_pair {
    cri_node_pair leaf;
    int shell;
} cri_leaf_pair;

typedef struct cri_longrange_walk {
    const cri_longrange_options *options;
    const cri_longrange_body *a, *b;
    cri_longrange_order order;
    cri_longrange_warm *warm;
    cri_longrange_shape *shape;       // NULL: not wanted
    const cri_longrange_taker *taker; // NULL: not wanted
    bool is_counting;                 // near pairs and their shells alone, no plane is solved for
    int n_near_shell;                 // then
    cri_longrange_result *out;
    cri_vec3 between; // position of a less that of b
    cri_longrange_sum sum;
    int n_shell, n_wait, n_late;
    int top;                                        // the innermost open shell
    cri_longrange_shell shells[CRI_LONGRANGE_POOL]; // the first is the whole
    cri_node_pair waits[CRI_LONGRANGE_WAITS];
    cri_leaf_pair late[CRI_LANES];
} cri_longrange_walk;

/// Solves the exact pairs that wait. False when triangles touch.
bool cri_longrange_solve_late(cri_longrange_walk *w);

/// Walks; false when triangles touch.
bool cri_longrange_walk_down(cri_longrange_walk *w);

/// What a term adds to the adjoints of the shape; in: the shell of an exact pair.
void cri_longrange_shape_centred(cri_longrange_walk *w, cri_node_pair node,
                                 const cri_longrange_line *line, const double C[3]);
void cri_longrange_shape_exact(cri_longrange_walk *w, int in, const int va[3], const int vb[3],
                               const cri_plane_force *f);
void cri_longrange_shape_open(const cri_longrange_walk *w, cri_longrange_shell *s);
void cri_longrange_shape_close(cri_longrange_walk *w, const cri_longrange_shell *s);
