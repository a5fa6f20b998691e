// SPDX-License-Identifier: MIT
//
// The signed distance of a closed mesh on a grid.
//
// Distance: the nearest triangle, found in the tree; a neighbour's distance plus the spacing bounds
// it. Sign: two neighbours of which one is more than the spacing away from the surface have the
// same; elsewhere the winding number decides, inside is w > 1/2, so that meshes that cut themselves
// have an inside too.

#include "geometry/mesh/hull.h"
#include "geometry/mesh/tri_tree.h"

#include <math.h>
#include <string.h>

enum { BORDER = 3 }; // cells around the mesh; the field leaves out the outermost

// volume below which a mesh is flat, as a share of the cube of its size: rounding of single
// precision
static const double flat = 1e-9;

static void find_box(const cri_triangles *mesh, double lower[3], double upper[3]) {
    for (int a = 0; a < 3; a++) {
        lower[a] = INFINITY;
        upper[a] = -INFINITY;
    }
    for (size_t i = 0; i < 3 * (size_t)mesh->n_vertex; i++) {
        lower[i % 3] = fmin(lower[i % 3], mesh->vertex[i]);
        upper[i % 3] = fmax(upper[i % 3], mesh->vertex[i]);
    }
}

static double longest(const double lower[3], const double upper[3]) {
    return fmax(upper[0] - lower[0], fmax(upper[1] - lower[1], upper[2] - lower[2]));
}

cr_status cri_triangles_check(const cri_triangles *mesh, cr_error *err) {
    if (mesh->n_face < 1 || mesh->n_vertex < 1) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "the mesh has no triangles; a closed surface is needed");
    }
    if (mesh->n_face > CRI_TRIANGLES_MOST) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "the mesh has %d triangles, at most %d are possible; simplify it",
                        mesh->n_face, CRI_TRIANGLES_MOST);
    }
    for (size_t i = 0; i < 3 * (size_t)mesh->n_face; i++) {
        if (mesh->face[i] < 0 || mesh->face[i] >= mesh->n_vertex) {
            return cri_fail(err, CR_ERR_ARGUMENT, 0,
                            "triangle %zu of the mesh has vertex %d, but there are %d", i / 3,
                            mesh->face[i], mesh->n_vertex);
        }
    }
    if (!cri_all_finite(3 * mesh->n_vertex, mesh->vertex)) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "a vertex of the mesh is not finite");
    }
    int side[2];
    if (!cri_mesh_is_closed(mesh->n_face, mesh->face, side)) {
        if (side[0] < 0) {
            return cri_fail(err, CR_ERR_ARGUMENT, 0,
                            "every triangle of the mesh uses a vertex twice");
        }
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "the mesh is not closed: the side from vertex %d to vertex %d does not "
                        "belong to two triangles that run round in one sense; close its holes",
                        side[0], side[1]);
    }
    cri_mesh_mass mass;
    double lower[3], upper[3];
    find_box(mesh, lower, upper);
    double size = longest(lower, upper);
    bool is_solid =
        cri_mesh_integrals(mesh->n_vertex, mesh->vertex, mesh->n_face, mesh->face, &mass);
    if (!is_solid || fabs(mass.volume) < flat * size * size * size) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0, "the mesh encloses no volume");
    }
    if (mass.volume < 0.0) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "the mesh is inside out: its triangles run clockwise seen from outside; "
                        "turn them round");
    }
    return CR_OK;
}

// ---- samples -----------------------------------------------------------------------------------

typedef struct sampling {
    const cri_tri_tree *tree;
    const cri_tri_dipole *dipole;
    int n[3];
    cri_vec3 origin;
    double h;
    double *phi;
} sampling;

// the neighbour before (i, j, k), or -1
static long neighbour(const sampling *s, int i, int j, int k) {
    long at = ((long)i * s->n[1] + j) * s->n[2] + k;
    if (k > 0) {
        return at - 1;
    }
    if (j > 0) {
        return at - s->n[2];
    }
    return i > 0 ? at - (long)s->n[1] * s->n[2] : -1;
}

static void sample_all(const sampling *s) {
    long at = 0;
    for (int i = 0; i < s->n[0]; i++) {
        for (int j = 0; j < s->n[1]; j++) {
            for (int k = 0; k < s->n[2]; k++, at++) {
                cri_vec3 x = cri_v3_mad(s->origin, s->h, cri_v3(i, j, k));
                long before = neighbour(s, i, j, k);
                double last = before < 0 ? 0.0 : s->phi[before];
                double bound = before < 0 ? INFINITY : (fabs(last) + s->h) * (1.0 + 1e-9);
                double distance = cri_tri_tree_distance(s->tree, x, bound);
                bool is_inside = last < 0.0;
                if (before < 0 || fmax(fabs(last), distance) <= s->h * (1.0 + 1e-9)) {
                    is_inside = cri_tri_tree_winding(s->tree, s->dipole, x) > 0.5;
                }
                s->phi[at] = is_inside ? -distance : distance;
            }
        }
    }
}

cr_status cri_grid_of_mesh(const cri_triangles *mesh, int n_longest, cr_arena *arena, cri_grid *out,
                           cr_error *err) {
    CR_ASSERT(mesh && arena && out);
    *out = (cri_grid){0};
    CR_TRY(cri_triangles_check(mesh, err));
    if (n_longest < 2 * BORDER + 4 || n_longest > CRI_GRID_MOST / 2) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "a grid of %d samples along its longest side: %d to %d are possible",
                        n_longest, 2 * BORDER + 4, CRI_GRID_MOST / 2);
    }
    double lower[3], upper[3], start[3];
    find_box(mesh, lower, upper);
    sampling s = {.h = longest(lower, upper) / (n_longest - 1 - 2 * BORDER)};
    size_t n_sample = 1;
    for (int a = 0; a < 3; a++) {
        int cells = (int)ceil((upper[a] - lower[a]) / s.h - 1e-9) + 2 * BORDER;
        s.n[a] = cells + 1;
        start[a] = 0.5 * (lower[a] + upper[a]) - 0.5 * cells * s.h;
        n_sample *= (size_t)s.n[a];
    }
    s.origin = cri_v3_load(start);
    cr_arena *own = cri_arena_create(1 << 16), *scratch = cri_arena_create(1 << 16);
    cri_tri_tree tree;
    bool is_good = own && scratch && cri_tri_tree_build(mesh, own, scratch, &tree);
    if (is_good) {
        cri_tri_dipole *dipole = CR_PUSH_RAW(own, cri_tri_dipole, tree.n_node);
        s.phi = CR_PUSH_RAW(own, double, n_sample);
        s.tree = &tree;
        s.dipole = dipole;
        is_good = dipole && s.phi;
        if (is_good) {
            cri_tri_tree_dipoles(&tree, dipole);
            sample_all(&s);
            is_good = cri_grid_of_samples(s.n, s.origin, s.h, s.phi, arena, out);
        }
    }
    cri_arena_destroy(own);
    cri_arena_destroy(scratch);
    return is_good
               ? CR_OK
               : cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a grid of %zu samples", n_sample);
}
