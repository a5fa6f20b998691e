// SPDX-License-Identifier: MIT
//
// Products with an island's matrices. Private to src/contact.
//
// Island vectors have n_dof numbers, units one behind the other; contact vectors have 3n.

#pragma once

#include "contact/jump.h"

/// Numbers of dofs of unit k of the island.
static inline const cri_unit *cri_jump_unit(const cri_world *world, const cri_jump *jump, int k) {
    return &world->model->mech.unit[jump->unit[k]];
}

/// The inverse mass matrix of a free body, which is diagonal; its tangent likewise.
static inline void cri_jump_load_inverse(const cri_body_derived *d, double W[6]) {
    W[0] = W[1] = W[2] = d->inv_mass;
    cri_v3_store(d->inv_inertia, W + 3);
}

/// o (6) += rows (3, 6)' z (3): as cri_jump_pull, of a free body.
static inline void cri_jump_pull6(const double *rows, const double *z, double *o) {
    for (int r = 0; r < 3; r++) {
        for (int i = 0; i < 6; i++) {
            o[i] += rows[6 * r + i] * z[r];
        }
    }
}

/// out (n_dof) = G' z, out (3n) = G w.
void cri_jump_pull(const cri_world *world, const cri_jump *jump, const double *z, double *out);
void cri_jump_push(const cri_world *world, const cri_jump *jump, const double *w, double *out);

/// w (n_dof) = W g; nu (n_row), if not NULL, gets the multipliers. w may be g.
void cri_jump_respond(const cri_world *world, const cri_jump *jump, const double *g, double *w,
                      double *nu, cr_arena *scratch);

/// Copies between island vectors and those of the model.
void cri_jump_gather(const cri_world *world, const cri_jump *jump, const double *wide, double *out);
void cri_jump_scatter(const cri_world *world, const cri_jump *jump, const double *in, double *wide);

/// The forces on bodies J' z: adds to force (n_body, 6), of which only the island's trees are
/// written.
void cri_jump_body_force(const cri_world *world, const cri_jump *jump, const cri_row *row,
                         const double *z, double *force);

/// Sets force (n_body, 6) to zero for the bodies of the island's trees.
void cri_jump_clear_force(const cri_world *world, const cri_jump *jump, double *force);

/// The touching body alone, in keep, for laws of nets whose body hangs on others; NULL: it does
/// not.
cri_contact_link *cri_jump_link(const cri_world *world, const cri_jump *jump, cr_arena *keep,
                                cr_arena *scratch);
size_t cri_jump_link_bytes(const cri_world *world, int n);

/// Nets that ask where their body is along its surface, else NULL; and that place, m, or 0.
const struct cri_ground_nets *cri_jump_placed(const cri_world *world);
double cri_jump_where(const cri_world *world, const cri_jump *jump);

/// Friction that depends on the way a contact slides (jump_side.c): coefficients for the velocity
/// before; then those whose impulse is on the other side change, until none does. False: they go
/// in circles.
void cri_jump_begin_sides(const cri_world *world, cri_jump *jump);
bool cri_jump_turn_sides(const cri_world *world, cri_jump *jump);

cri_contact_problem cri_jump_problem(const cri_world *world, const cri_jump *jump);
