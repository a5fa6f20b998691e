// SPDX-License-Identifier: MIT
//
// Ties and the lemma that all of points dynamics is made of, and springs.
//
// Rows of ties are kept as blocks: J (n_slot, d), one block for each point that a tie touches.

#pragma once

#include "points/system/points.h"

/// J of x (D), and H_e y (n_slot, d): J without its constant part.
void cri_ties_rows(const cri_points *s, const double *x, double *J);
void cri_ties_curve(const cri_points *s, const double *y, double *N);

/// phi (n_tie)
void cri_ties_value(const cri_points *s, const double *x, double *phi);

/// out (n_tie) = J y
void cri_ties_times(const cri_points *s, const double *J, const double *y, double *out);

/// out (D) += J' k
void cri_ties_add(const cri_points *s, const double *J, const double *k, double *out);

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

void cri_lemma_vjp(const cri_points *s, const cri_ties_factor *f, const double *a_adj,
                   const double *lam_adj, const cri_lemma_adj *out, cr_arena *scratch);

/// Adds what J_adj = lam p' - w a' means for x, and Minv_adj.
void cri_lemma_pull(const cri_points *s, const cri_lemma *at, const cri_lemma_adj *adj,
                    double *x_adj, double *minv_adj);

/// Tangents: minv_tan (NULL: none), that of the rows J_tan (n_slot, d), of the force (D) and of c
/// (n_tie), NULL for none. Overwrites lam_tan (n_tie) and a_tan (D).
typedef struct cri_lemma_tan {
    const double *minv, *J, *force, *c;
} cri_lemma_tan;

void cri_lemma_jvp(const cri_points *s, const cri_ties_factor *f, const cri_lemma *at,
                   const cri_lemma_tan *tan, double *lam_tan, double *a_tan, cr_arena *scratch);
