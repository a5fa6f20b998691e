// SPDX-License-Identifier: MIT
//
// Gap g, normal n and arms rho of primitive pairs.
//
//   plane n.x = d, sphere       g = n.x - d - r         rho_1 = -r n
//   spheres, D = x_1 - x_0      g = |D| - r_0 - r_1     n = D/|D|   rho_0 = r_0 n   rho_1 = -r_1 n
//
// Smooth except for two spheres with one centre, which nothing can reach from outside; there the
// normal is +z.

#include "geometry/query/collide.h"

#include "base/base.h"

cri_touch cri_plane_sphere(cri_vec3 normal, double offset, cri_vec3 pos, double radius) {
    CR_VALIDATE(fabs(cri_v3_dot(normal, normal) - 1.0) < 1e-6);
    CR_VALIDATE(radius >= 0.0);
    return (cri_touch){.gap = cri_v3_dot(normal, pos) - offset - radius,
                       .normal = normal,
                       .arm = {[1] = cri_v3_scale(-radius, normal)}};
}

void cri_plane_sphere_vjp(cri_vec3 normal, const cri_touch *adj, cri_vec3 *pos_adj,
                          double *offset_adj, double *radius_adj) {
    // arm = -r n
    *radius_adj -= cri_v3_dot(adj->arm[1], normal);

    // gap = n.x - d - r
    *pos_adj = cri_v3_mad(*pos_adj, adj->gap, normal);
    *offset_adj -= adj->gap;
    *radius_adj -= adj->gap;
}

cri_touch cri_plane_sphere_jvp(cri_vec3 normal, cri_vec3 pos_tan, double offset_tan,
                               double radius_tan) {
    return (cri_touch){.gap = cri_v3_dot(normal, pos_tan) - offset_tan - radius_tan,
                       .arm = {[1] = cri_v3_scale(-radius_tan, normal)}};
}

// D/|D|, +z for a zero D
static cri_vec3 direction(cri_vec3 delta, double *distance) {
    *distance = cri_v3_norm(delta);
    return *distance > 0.0 ? cri_v3_scale(1.0 / *distance, delta) : cri_v3(0.0, 0.0, 1.0);
}

cri_touch cri_sphere_sphere(cri_vec3 delta, double radius0, double radius1) {
    CR_VALIDATE(radius0 > 0.0 && radius1 > 0.0);
    double distance;
    cri_vec3 n = direction(delta, &distance);
    return (cri_touch){.gap = distance - radius0 - radius1,
                       .normal = n,
                       .arm = {cri_v3_scale(radius0, n), cri_v3_scale(-radius1, n)}};
}

void cri_sphere_sphere_vjp(cri_vec3 delta, double radius0, double radius1, const cri_touch *adj,
                           cri_vec3 *delta_adj, double *radius0_adj, double *radius1_adj) {
    double distance;
    cri_vec3 n = direction(delta, &distance);

    // arm_0 = r_0 n,  arm_1 = -r_1 n,  gap = |D| - r_0 - r_1
    cri_vec3 n_adj = cri_v3_mad(adj->normal, radius0, adj->arm[0]);
    n_adj = cri_v3_mad(n_adj, -radius1, adj->arm[1]);
    *radius0_adj += cri_v3_dot(adj->arm[0], n) - adj->gap;
    *radius1_adj -= cri_v3_dot(adj->arm[1], n) + adj->gap;

    // n = D/|D|
    *delta_adj = cri_v3_mad(*delta_adj, adj->gap, n);
    if (distance > 0.0) {
        cri_vec3 across = cri_v3_mad(n_adj, -cri_v3_dot(n, n_adj), n);
        *delta_adj = cri_v3_mad(*delta_adj, 1.0 / distance, across);
    }
}

cri_touch cri_sphere_sphere_jvp(cri_vec3 delta, double radius0, double radius1, cri_vec3 delta_tan,
                                double radius0_tan, double radius1_tan) {
    double distance;
    cri_vec3 n = direction(delta, &distance);
    double along = cri_v3_dot(n, delta_tan);
    cri_vec3 n_tan = {0};
    if (distance > 0.0) {
        n_tan = cri_v3_scale(1.0 / distance, cri_v3_mad(delta_tan, -along, n));
    }
    return (cri_touch){
        .gap = along - radius0_tan - radius1_tan,
        .normal = n_tan,
        .arm = {cri_v3_mad(cri_v3_scale(radius0, n_tan), radius0_tan, n),
                cri_v3_mad(cri_v3_scale(-radius1, n_tan), -radius1_tan, n)},
    };
}
