// SPDX-License-Identifier: MIT
//
// Positions after a time t at constant joint velocities: q' = q (+) t v, with adjoint and tangent.

#pragma once

#include "model/mechanism.h"

/// q, q_out (n_q of the mechanism) and v (n_v): the unit's entries are read and written. q_out may
/// be q.
void cri_advance(const cri_mechanism *mech, int unit, const double *q, const double *v, double t,
                 double *q_out);

/// Adjoint: q_adj (n_v, tangents) of q_out becomes that of q in place; adds to v_adj (n_v). Returns
/// the adjoint of t.
double cri_advance_vjp(const cri_mechanism *mech, int unit, const double *v, double t,
                       double *q_adj, double *v_adj);

/// Tangent: q_tan (n_v) of q becomes that of q_out in place.
void cri_advance_jvp(const cri_mechanism *mech, int unit, const double *v, const double *v_tan,
                     double t, double t_tan, double *q_tan);
