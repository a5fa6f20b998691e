// SPDX-License-Identifier: MIT
//
// Gap g, normal n and arms rho of primitive pairs.
//
//   plane n.x = d, sphere       g = n.x - d - r         rho_1 = -r n
//   plane, box corner c         g = n.(x + R c) - d     rho_1 = R c
//   spheres, D = x_1 - x_0      g = |D| - r_0 - r_1     n = D/|D|   rho_0 = r_0 n   rho_1 = -r_1 n
//
// Smooth except for two spheres with one centre, which nothing can reach from outside; there the
// normal is +z.

#include "geometry/collide.h"

#include "base/base.h"

cri_touch cri_plane_sphere(cri_vec3 normal, double offset, cri_vec3 pos, double radius) {
    CR_VALIDATE(radius > 0.0);
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

static cri_vec3 corner_signs(int corner) {
    return cri_v3(corner & 4 ? 1.0 : -1.0, corner & 2 ? 1.0 : -1.0, corner & 1 ? 1.0 : -1.0);
}

cri_vec3 cri_box_corner(const double *size, int corner) {
    CR_ASSERT(corner >= 0 && corner < 8);
    return cri_v3_mul(corner_signs(corner), cri_v3_load(size));
}

cri_touch cri_plane_box(cri_vec3 normal, double offset, cri_vec3 pos, const cri_mat3 *R,
                        cri_vec3 corner) {
    cri_vec3 arm = cri_m3_mul(R, corner);
    return (cri_touch){.gap = cri_v3_dot(normal, cri_v3_add(pos, arm)) - offset,
                       .normal = normal,
                       .arm = {[1] = arm}};
}

void cri_plane_box_vjp(cri_vec3 normal, const cri_mat3 *R, int corner_i, const double *size,
                       const cri_touch *adj, cri_vec3 *pos_adj, cri_vec3 *rot_adj,
                       double *offset_and_size_adj[2]) {
    // gap = n.(x + arm) - d
    *pos_adj = cri_v3_mad(*pos_adj, adj->gap, normal);
    offset_and_size_adj[0][0] -= adj->gap;
    cri_vec3 arm_adj = cri_v3_mad(adj->arm[1], adj->gap, normal);

    // arm = R c, which moves by R (theta x c) and R c_tan
    cri_vec3 c_adj = cri_m3_tmul(R, arm_adj);
    *rot_adj = cri_v3_add(*rot_adj, cri_v3_cross(cri_box_corner(size, corner_i), c_adj));
    cri_v3_accumulate(cri_v3_mul(corner_signs(corner_i), c_adj), offset_and_size_adj[1]);
}

cri_touch cri_plane_box_jvp(cri_vec3 normal, const cri_mat3 *R, int corner_i, const double *size,
                            cri_vec3 pos_tan, cri_vec3 rot_tan, double offset_tan,
                            const double *size_tan) {
    cri_vec3 turn = cri_v3_cross(rot_tan, cri_box_corner(size, corner_i));
    cri_vec3 arm_tan = cri_m3_mul(R, cri_v3_add(turn, cri_box_corner(size_tan, corner_i)));
    return (cri_touch){.gap = cri_v3_dot(normal, cri_v3_add(pos_tan, arm_tan)) - offset_tan,
                       .arm = {[1] = arm_tan}};
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
