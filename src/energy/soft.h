// SPDX-License-Identifier: MIT
//
// Law `soft`: contacts and limits as springs with dampers, with the meaning that MuJoCo gives to
// solref and solimp.
//
// A contact with the gap r < 0 and the rows G wants the acceleration (normal row; tangents without
// the term in r)
//
//   a* = -B G v - K d(r) r,     d(r) in (0, 1) the impedance
//
// and yields: the impulse f over a step h, with A = G W G', is the one solution of
//
//   f = argmin 1/2 f'(A + R) f + f'(G v_free - G v - h a*),   |f_t| <= mu f_n
//   R = (1 - d)/d w,    w the two bodies' mean inverse masses where the scene was placed
//
// so that far from friction's border G dv = (1 - d) G dv_free + d h a*, if w were A. Elliptic
// cones, impratio 1. (MuJoCo's documentation, chapter Computation; checked against its library by
// test/oracle/mujoco_soft_test.c.)

#pragma once

#include "contact/island.h"

/// The law as the tables know it: name and promises. It is solved by the stepper soft alone.
extern const cri_law cri_law_soft;

/// What a softness comes to at a gap.
typedef struct cri_soft_terms {
    double d; // impedance
    double K; // 1/s^2
    double B; // 1/s
} cri_soft_terms;

/// Of solref (2) and solimp (5) at a gap over steps of h; a time constant below 2 h is taken as
/// 2 h.
cri_soft_terms cri_soft_terms_of(const double *ref, const double *imp, double gap, double h);

/// Softness of a contact or limit: of the pair, else of the geom with the higher priority, else the
/// mean of the two with weights solmix. Both arrays are filled whatever the scene gave.
cri_softness cri_soft_mix(const cr_model *model, const cri_near *near);

/// Inverse masses w at the model's placed pose: of bodies (n_body), and of limits (n_limit).
typedef struct cri_soft_weights {
    double *body;
    double *limit;
} cri_soft_weights;

/// Room that cri_soft_weigh needs in scratch.
size_t cri_soft_weigh_bytes(const cr_model *model);

/// Fills both arrays. False for lack of memory.
CR_MUST_CHECK bool cri_soft_weigh(const cr_model *model, const cri_derived *d,
                                  cri_soft_weights *weights, cr_arena *scratch);

/// Solves a jump that stands at the start of a step of h: v velocity there, v_free without contact
/// (n_v each). Fills f from the start in it, and the report; writes the units' entries of impulse
/// (n_v), G' f. Needs jump->n_byte in scratch.
void cri_soft_solve(const cri_world *world, const cri_soft_weights *weights, cri_jump *jump,
                    const double *v, const double *v_free, double h, double *impulse,
                    cr_arena *scratch);
