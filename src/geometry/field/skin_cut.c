// SPDX-License-Identifier: MIT
//
// Pieces of a triangle that is large beside the body that it meets: two halves each, by the middle
// of the longest side, so that a long narrow one has few; and those of them from which the lowest
// point is searched.

#include "geometry/field/skin_parts.h"

#include <string.h>

void cri_skin_cut_of(const cri_vec3 V[3], const double w[3][3], cri_skin_cut *c) {
    cri_vec3 corner[3];
    double longest = -1.0;
    c->centre = cri_v3(0.0, 0.0, 0.0);
    c->radius = 0.0;
    c->side = 0;
    for (int k = 0; k < 3; k++) {
        c->mid[k] = (w[0][k] + w[1][k] + w[2][k]) / 3.0;
        c->centre = cri_v3_mad(c->centre, c->mid[k], V[k]);
        corner[k] = cri_v3_mad(cri_v3_scale(w[k][0], V[0]), w[k][1], V[1]);
        corner[k] = cri_v3_mad(corner[k], w[k][2], V[2]);
    }
    for (int k = 0; k < 3; k++) {
        cri_vec3 side = cri_v3_sub(corner[(k + 1) % 3], corner[k]);
        c->radius = cri_larger(c->radius, cri_v3_norm(cri_v3_sub(corner[k], c->centre)));
        if (cri_v3_dot(side, side) > longest) {
            longest = cri_v3_dot(side, side);
            c->side = k;
        }
    }
}

void cri_skin_half_of(const double w[3][3], const cri_skin_cut *c, int which, double part[3][3]) {
    int a = c->side, b = (a + 1) % 3;
    memcpy(part, w, 3 * sizeof part[0]);
    for (int l = 0; l < 3; l++) {
        part[which == 0 ? b : a][l] = 0.5 * (w[a][l] + w[b][l]);
    }
}

static void add_start(cri_skin_starts *all, const cri_skin_start *one) {
    int at = all->n;
    for (int i = 0; i < all->n; i++) {
        double apart = cri_v3_norm(cri_v3_sub(all->of[i].centre, one->centre));
        at = at == all->n && apart < 2.0 * fmax(all->of[i].radius, one->radius) ? i : at;
    }
    if (at == CRI_SKIN_STARTS) {
        // the highest makes room
        at = 0;
        for (int i = 1; i < CRI_SKIN_STARTS; i++) {
            at = all->of[i].phi > all->of[at].phi ? i : at;
        }
    }
    if (at == all->n) {
        all->of[all->n++] = *one;
    } else if (one->phi < all->of[at].phi) {
        all->of[at] = *one;
    }
}

void cri_skin_starts_find(const cri_skin_piece_rule *rule, const double w[3][3], int depth,
                          cri_skin_starts *out) {
    cri_skin_cut c;
    cri_skin_cut_of(rule->V, w, &c);
    double phi = cri_field_phi(rule->field, c.centre);
    if (phi - rule->slope * c.radius >= rule->least) {
        return;
    }
    // a quarter of the distance is near enough to begin from
    if (c.radius <= rule->radius || c.radius <= 0.25 * phi || depth == CRI_SKIN_PIECES_DEEP) {
        add_start(out, &(cri_skin_start){phi, c.radius, {c.mid[0], c.mid[1], c.mid[2]}, c.centre});
        return;
    }
    for (int k = 0; k < 2; k++) {
        double part[3][3];
        cri_skin_half_of(w, &c, k, part);
        cri_skin_starts_find(rule, (const double(*)[3])part, depth + 1, out);
    }
}
