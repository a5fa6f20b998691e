// SPDX-License-Identifier: MIT
//
// Mass and principal moments of solid primitives.
//
//   ball   m = 4/3 pi rho r^3        I = 2/5 m r^2
//   box    m = 8 rho a b c           I = m/3 (b^2 + c^2, a^2 + c^2, a^2 + b^2)
//
// Polynomials: smooth everywhere.

#include "geometry/mass.h"

#include "base/base.h"

#include <stddef.h>

static const double ball_volume = 4.18879020478639098462; // 4 pi / 3

double cri_sphere_mass(double radius, double density, double *inertia) {
    CR_ASSERT(radius > 0.0 && density > 0.0);
    double mass = ball_volume * density * radius * radius * radius;
    if (inertia) {
        inertia[0] = inertia[1] = inertia[2] = 0.4 * mass * radius * radius;
    }
    return mass;
}

void cri_sphere_mass_vjp(double radius, double density, double mass_adj, const double *inertia_adj,
                         double *radius_adj, double *density_adj) {
    double r2 = radius * radius;
    double mass = ball_volume * density * r2 * radius;

    // inertia = 2/5 m r^2, three times
    double sum = inertia_adj[0] + inertia_adj[1] + inertia_adj[2];
    double m_adj = mass_adj + 0.4 * r2 * sum;
    *radius_adj += 0.8 * mass * radius * sum;

    // m = 4/3 pi rho r^3
    *radius_adj += m_adj * 3.0 * ball_volume * density * r2;
    *density_adj += m_adj * ball_volume * r2 * radius;
}

double cri_sphere_mass_jvp(double radius, double density, double radius_tan, double density_tan,
                           double *inertia_tan) {
    double r2 = radius * radius;
    double mass = ball_volume * density * r2 * radius;
    double mass_tan = ball_volume * (density_tan * r2 * radius + 3.0 * density * r2 * radius_tan);
    double i_tan = 0.4 * (mass_tan * r2 + 2.0 * mass * radius * radius_tan);
    inertia_tan[0] = inertia_tan[1] = inertia_tan[2] = i_tan;
    return mass_tan;
}

double cri_box_mass(const double *size, double density, double *inertia) {
    CR_ASSERT(size[0] > 0.0 && size[1] > 0.0 && size[2] > 0.0 && density > 0.0);
    double mass = 8.0 * density * size[0] * size[1] * size[2];
    double s0 = size[0] * size[0], s1 = size[1] * size[1], s2 = size[2] * size[2];
    if (inertia) {
        inertia[0] = mass / 3.0 * (s1 + s2);
        inertia[1] = mass / 3.0 * (s0 + s2);
        inertia[2] = mass / 3.0 * (s0 + s1);
    }
    return mass;
}

void cri_box_mass_vjp(const double *size, double density, double mass_adj,
                      const double *inertia_adj, double *size_adj, double *density_adj) {
    double mass = 8.0 * density * size[0] * size[1] * size[2];
    double m_adj = mass_adj;

    // inertia[i] = m/3 (size[j]^2 + size[k]^2)
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        m_adj += inertia_adj[i] * (size[j] * size[j] + size[k] * size[k]) / 3.0;
        size_adj[j] += inertia_adj[i] * mass / 1.5 * size[j];
        size_adj[k] += inertia_adj[i] * mass / 1.5 * size[k];
    }

    // m = 8 rho a b c
    size_adj[0] += m_adj * 8.0 * density * size[1] * size[2];
    size_adj[1] += m_adj * 8.0 * density * size[0] * size[2];
    size_adj[2] += m_adj * 8.0 * density * size[0] * size[1];
    *density_adj += m_adj * 8.0 * size[0] * size[1] * size[2];
}

double cri_box_mass_jvp(const double *size, double density, const double *size_tan,
                        double density_tan, double *inertia_tan) {
    double mass = 8.0 * density * size[0] * size[1] * size[2];
    double volume_tan = 8.0 * (size_tan[0] * size[1] * size[2] + size[0] * size_tan[1] * size[2] +
                               size[0] * size[1] * size_tan[2]);
    double mass_tan = 8.0 * density_tan * size[0] * size[1] * size[2] + density * volume_tan;
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        inertia_tan[i] = mass_tan / 3.0 * (size[j] * size[j] + size[k] * size[k]) +
                         mass / 1.5 * (size[j] * size_tan[j] + size[k] * size_tan[k]);
    }
    return mass_tan;
}
