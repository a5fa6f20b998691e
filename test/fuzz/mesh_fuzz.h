// SPDX-License-Identifier: MIT
//
// One mesh file: read, hull and mass.

#pragma once

#include <math.h>

#include "base/io/mesh_file.h"
#include "fuzz.h"
#include "geometry/mesh/hull.h"
#include "geometry/mesh/mass.h"

// every point is below every face, relative to the size of the cloud
static inline void fuzz_check_hull(const cri_hull *hull, int n, const double *point) {
    FUZZ_CHECK(hull->n_vertex - hull->n_edge + hull->n_face == 2);
    FUZZ_CHECK(hull->face_start[hull->n_face] == 2 * hull->n_edge);
    double size = 0.0;
    for (int i = 0; i < 3 * n; i++) {
        size = fmax(size, fabs(point[i]));
    }
    for (int f = 0; f < hull->n_face; f++) {
        for (int i = 0; i < n; i++) {
            const double *normal = hull->face_normal + 3 * f;
            const double *p = point + 3 * i;
            double height = normal[0] * p[0] + normal[1] * p[1] + normal[2] * p[2];
            FUZZ_CHECK(height - hull->face_offset[f] <= 1e-12 * size);
        }
    }
}

static inline int fuzz_mesh(const uint8_t *data, size_t size, const char *name) {
    cr_arena *arena = cri_arena_create(256);
    cri_mesh_data mesh;
    cr_error err;
    cr_status status = cri_mesh_parse((const char *)data, size, name, arena, &mesh, &err);
    if (status != CR_OK) {
        fuzz_check_error(status, &err, name);
        FUZZ_CHECK(mesh.n_vertex == 0 && mesh.n_face == 0 && !mesh.vertex && !mesh.face);
        cri_arena_destroy(arena);
        return 0;
    }
    FUZZ_CHECK(mesh.n_vertex > 0 && cri_all_finite(3 * mesh.n_vertex, mesh.vertex));
    for (int i = 0; i < 3 * mesh.n_face; i++) {
        FUZZ_CHECK(mesh.face[i] >= 0 && mesh.face[i] < mesh.n_vertex);
    }
    cri_mesh_mass mass;
    if (cri_mesh_mass_of(mesh.n_vertex, mesh.vertex, mesh.n_face, mesh.face, &mass)) {
        FUZZ_CHECK(mass.volume > 0.0 && cri_all_finite(6, mass.inertia));
    }
    const cri_hull *hull = NULL;
    if (cri_hull_build(mesh.n_vertex, mesh.vertex, arena, &hull, &err) == CR_OK) {
        fuzz_check_hull(hull, mesh.n_vertex, mesh.vertex);
    } else {
        FUZZ_CHECK(!hull && err.status == CR_ERR_ARGUMENT);
    }
    cri_arena_destroy(arena);
    return 0;
}
