// SPDX-License-Identifier: MIT
//
// Mass and principal moments of solid primitives, with their adjoints and tangents.
//
// Lengths in metres, density in kg/m^3. Moments are about the centre, along the shape's own axes.

#pragma once

/// Mass of a ball; inertia (3), when not NULL, gets its moments.
double cri_sphere_mass(double radius, double density, double *inertia);

/// Adds to radius_adj and density_adj.
void cri_sphere_mass_vjp(double radius, double density, double mass_adj, const double *inertia_adj,
                         double *radius_adj, double *density_adj);

/// Tangent of cri_sphere_mass: returns that of the mass, overwrites inertia_tan (3).
double cri_sphere_mass_jvp(double radius, double density, double radius_tan, double density_tan,
                           double *inertia_tan);

/// Mass of a box with half lengths size (3); inertia (3), when not NULL, gets its moments.
double cri_box_mass(const double *size, double density, double *inertia);

/// Adds to size_adj (3) and density_adj.
void cri_box_mass_vjp(const double *size, double density, double mass_adj,
                      const double *inertia_adj, double *size_adj, double *density_adj);

/// Tangent of cri_box_mass: returns that of the mass, overwrites inertia_tan (3).
double cri_box_mass_jvp(const double *size, double density, const double *size_tan,
                        double density_tan, double *inertia_tan);
