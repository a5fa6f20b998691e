// SPDX-License-Identifier: MIT
//
// A shape as a body has it: a distance field, the mesh of its surface, and the mass of what is
// within, all three functions of one array of parameters.
//
// A plan says how, and is constant; a form is what it comes to for some parameters. There are three
// kinds of mesh. A linear one, of primitives and of meshes from files, has vertices
// v = sum_k theta_k T_k(v). A marched one is the surface of the field by marching cubes on a
// lattice that does not move with the parameters: its spacing takes one of two values an octave and
// its planes stand at fixed places, so that vertices are smooth functions of the parameters but
// where the spacing changes. A half-space has none.

#pragma once

#include "base/arena.h"
#include "geometry/field/skin.h"
#include "geometry/mesh/march.h"
#include "geometry/mesh/mass.h"

enum { CRI_FORM_CELLS = 32, CRI_FORM_CELLS_MOST = 160 };

/// Constant and shareable; borrows what it points to.
typedef struct cri_form_plan {
    int n_node;
    const cri_field_node *node; // (n_node) of the field, postfix
    int n_param;
    int n_vertex, n_face;
    const int *face;      // (n_face, 3) of a linear mesh
    const double *linear; // (n_param, n_vertex, 3), NULL: marched
    int n_cell;           // of a marched one, along its longest side, up to a factor of 1.5
    cri_vertex_rule rule; // of a marched one
    bool is_round;        // the field is smooth at the surface: on planes its own point counts
    bool is_convex;       // a convex primitive
    bool is_half_space;   // z <= 0
} cri_form_plan;

/// Borrows its plan; arrays live in the arena that was given.
typedef struct cri_form {
    const cri_form_plan *plan;
    cri_field field;
    cri_surface surface; // marched only
    cri_tri_tree tree;   // none of a half-space
    cri_mesh_mass mass;  // of unit density
    double radius;       // of a ball about the origin that holds the mesh
    double width;        // least extent of the box around it
} cri_form;

/// What the narrow phase reads.
cri_skin cri_form_skin(const cri_form *form);

/// The plan of a half-space.
const cri_form_plan *cri_form_half_space(void);

/// Linear meshes of an unposed leaf: sphere, box, cylinder, capsule, ellipsoid, or a mesh that is
/// scaled by its one parameter. They set all but the nodes. False when there is no memory.
bool cri_form_plan_primitive(cri_field_kind kind, cr_arena *arena, cri_form_plan *plan);
bool cri_form_plan_mesh(const cri_triangles *mesh, cr_arena *arena, cri_form_plan *plan);

/// The form of param (n_param), which is copied. CR_ERR_ARGUMENT when they are no shape, with a
/// text without file or line; scratch is rewound.
CR_MUST_CHECK cr_status cri_form_make(const cri_form_plan *plan, const double *param,
                                      cr_arena *arena, cr_arena *scratch, cri_form *out,
                                      cr_error *err);

/// Adjoint of the mass: adds to param_adj. False when scratch has no memory.
bool cri_form_mass_vjp(const cri_form *form, const cri_mesh_mass *adj, cr_arena *scratch,
                       double *param_adj);

/// Tangent of the mass. False when scratch has no memory.
bool cri_form_mass_jvp(const cri_form *form, const double *param_tan, cr_arena *scratch,
                       cri_mesh_mass *tan);

/// Adjoint or tangent of a form with its pose, as that of a skin; param may be NULL.
typedef struct cri_form_diff {
    cri_vec3 pos, rot;
    double *param;
} cri_form_diff;

/// Adds to adj[0] and adj[1]: that of cri_skin_touch_vjp, with the corners of its triangle taken on
/// to the parameters.
void cri_form_touch_vjp(const cri_form *const form[2], const cri_pose pose[2],
                        const cri_narrow_touch *touch, const cri_touch_diff *touch_adj,
                        cri_form_diff adj[2]);
cri_touch_diff cri_form_touch_jvp(const cri_form *const form[2], const cri_pose pose[2],
                                  const cri_narrow_touch *touch, const cri_form_diff tan[2]);

// for tests

/// Adjoint of one vertex of the mesh: adds to param_adj (n_param).
void cri_form_vertex_vjp(const cri_form *form, int vertex, cri_vec3 v_adj, double *param_adj);

/// Tangent of one vertex.
cri_vec3 cri_form_vertex_jvp(const cri_form *form, int vertex, const double *param_tan);
