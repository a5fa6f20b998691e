// SPDX-License-Identifier: MIT
//
// Pieces of a triangle that is large beside the body that it meets: four quarters each, by the
// middles of its sides.

#include "geometry/skin_parts.h"

#include <string.h>

void cri_skin_cut_of(const cri_vec3 V[3], const double w[3][3], cri_skin_cut *c) {
    c->centre = cri_v3(0.0, 0.0, 0.0);
    c->radius = 0.0;
    for (int l = 0; l < 3; l++) {
        c->mid[l] = (w[0][l] + w[1][l] + w[2][l]) / 3.0;
        c->centre = cri_v3_mad(c->centre, c->mid[l], V[l]);
    }
    for (int k = 0; k < 3; k++) {
        cri_vec3 corner = cri_v3_scale(w[k][0], V[0]);
        corner = cri_v3_mad(cri_v3_mad(corner, w[k][1], V[1]), w[k][2], V[2]);
        c->radius = cri_larger(c->radius, cri_v3_norm(cri_v3_sub(corner, c->centre)));
        for (int l = 0; l < 3; l++) {
            c->half[k][l] = 0.5 * (w[(k + 1) % 3][l] + w[(k + 2) % 3][l]);
        }
    }
}

void cri_skin_quarter_of(const double w[3][3], const cri_skin_cut *c, int k, double part[3][3]) {
    memcpy(part[0], w[k], sizeof part[0]);
    memcpy(part[1], c->half[(k + 2) % 3], sizeof part[1]);
    memcpy(part[2], c->half[(k + 1) % 3], sizeof part[2]);
}
