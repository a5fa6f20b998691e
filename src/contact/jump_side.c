// SPDX-License-Identifier: MIT
//
// Friction that depends on which way a contact slides: mu along a direction d of the surface, mu'
// against it (paper 003, section IV.E),
//
//   f_t . d <= 0:  |f_t| <= mu f_n        f_t . d > 0:  |f_t| <= mu' f_n
//
// for friction opposes sliding. An impulse of the plain law, whose coefficients are those of the
// sides that its own friction is on, is one of this law, and the derivatives are the same. So sides
// are tried: first those of the velocity before, then those of the impulse, until they agree. In
// the plane some choice always does; in space the two halves of the cone meet with a step along the
// line across d, where none may: the report then says that there is no solution.

#include "contact/jump_parts.h"

#include "base/base.h"

// of a vector in the rows of contact a, on the second geom, along the pair's direction
static double along(const cri_world *world, const cri_jump *jump, int a, const double *z) {
    const cri_row *row = &jump->row[a];
    cri_vec3 way = world->model->pair[row->near.pair].slide;
    // the pair has its geoms in the order of the scene, the contact may have a plane first
    bool is_swapped = row->near.geom[0] != world->model->pair[row->near.pair].geom[0];
    double sum = 0.0;
    for (int r = 1; r < 3; r++) {
        sum += z[3 * a + r] * cri_v3_dot(row->frame.axis[r], way);
    }
    return is_swapped ? -sum : sum;
}

static void take_side(const cri_coefficients *c, cri_jump *jump, int a, bool is_back) {
    jump->is_back[a] = is_back;
    jump->mu[a] = is_back ? c->friction_back : c->friction;
}

void cri_jump_begin_sides(const cri_world *world, cri_jump *jump) {
    for (int a = 0; a < jump->n; a++) {
        cri_coefficients c = cri_near_coefficients(world, &jump->row[a].near);
        if (c.has_sides) {
            take_side(&c, jump, a, along(world, jump, a, jump->b) < 0.0);
        }
    }
}

bool cri_jump_turn_sides(const cri_world *world, cri_jump *jump) {
    bool is_turned = false;
    for (int a = 0; a < jump->n; a++) {
        cri_coefficients c = cri_near_coefficients(world, &jump->row[a].near);
        double pull = c.has_sides ? along(world, jump, a, jump->f) : 0.0;
        if (pull != 0.0 && jump->is_back[a] != (pull > 0.0)) {
            take_side(&c, jump, a, pull > 0.0);
            is_turned = true;
        }
    }
    return is_turned;
}
