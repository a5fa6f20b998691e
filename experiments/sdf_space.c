// SPDX-License-Identifier: MIT
//
// Spaces of shapes that come with Carom.

#include "sdf_space.h"

#include "geometry/mesh/march.h"
#include "geometry/mesh/tri_tree.h"
#include "sim/sim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CELLS = 32, COARSE = 16 };

const char *const cri_sdf_space_name[CRI_SDF_SPACES] = {"animals", "cans", "cameras", "mugs"};

cr_status cri_sdf_space_open(const char *name, cri_sdf_space *out, cr_error *err) {
    char file[64];
    *out = (cri_sdf_space){.arena = cri_arena_create(1 << 16),
                           .work = cri_arena_create(1 << 20),
                           .scratch = cri_arena_create(1 << 20)};
    if (!out->arena || !out->work || !out->scratch) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
    }
    (void)snprintf(file, sizeof file, "shapes/%s.h5", name);
    CR_TRY(cri_shipped_path(file, out->path, err));
    return cri_shape_space_read(out->path, out->arena, &out->space, err);
}

void cri_sdf_space_close(cri_sdf_space *s) {
    cri_arena_destroy(s->arena);
    cri_arena_destroy(s->work);
    cri_arena_destroy(s->scratch);
    *s = (cri_sdf_space){0};
}

void cri_sdf_space_near(const cri_sdf_space *s, cri_random *random, const double *centre,
                        double width, double *code) {
    const cri_shape_space *space = &s->space;
    int n = space->n_shape;
    for (int k = 0; k < space->n_code; k++) {
        double mean = 0.0, square = 0.0, lower, upper;
        for (int i = 0; i < n; i++) {
            double c = space->code[i * space->n_code + k];
            mean += c / n;
            square += c * c / n;
        }
        double deviation = sqrt(fmax(square - mean * mean, 0.0));
        cri_shape_space_range(space, k, &lower, &upper);
        code[k] = (centre ? centre[k] : mean) + width * deviation * cri_random_normal(random);
        code[k] = fmin(fmax(code[k], lower), upper);
    }
}

void cri_sdf_space_draw(const cri_sdf_space *s, cri_random *random, double *truth, double *start) {
    const cri_shape_space *space = &s->space;
    int n = space->n_shape, which = (int)cri_random_uniform(random, 0.0, n);
    which = which < n ? which : n - 1;
    memcpy(truth, space->code + which * space->n_code, sizeof *truth * (size_t)space->n_code);
    cri_sdf_space_near(s, random, NULL, 0.1, start);
}

static cr_status mesh_of(cri_sdf_space *s, const double *code, int n_cell, cri_triangles *out,
                         cr_error *err) {
    cri_space_field f;
    cri_surface surface;
    cri_space_field_make(&s->space, 1.0, code, &f);
    cri_march_box box = cri_march_box_of(&f.field, n_cell);
    CR_TRY(cri_surface_of_field(&f.field, &box, s->work, s->scratch, &surface, err));
    *out = (cri_triangles){surface.n_vertex, surface.n_face, surface.vertex, surface.face};
    return CR_OK;
}

cr_status cri_sdf_space_chamfer(cri_sdf_space *s, const double *one, const double *two, double *out,
                                cr_error *err) {
    cri_triangles mesh[2];
    cri_arena_reset(s->work);
    CR_TRY(mesh_of(s, one, CELLS, &mesh[0], err));
    CR_TRY(mesh_of(s, two, CELLS, &mesh[1], err));
    *out = cri_mesh_chamfer(&mesh[0], &mesh[1], s->scratch);
    return isfinite(*out) ? CR_OK : cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
}

cr_status cri_sdf_space_euler(cri_sdf_space *s, const double *code, int *out, cr_error *err) {
    cri_triangles mesh;
    cri_arena_reset(s->work);
    CR_TRY(mesh_of(s, code, CELLS, &mesh, err));
    // closed: three edges for two faces
    *out = mesh.n_vertex - mesh.n_face / 2;
    return CR_OK;
}

cr_status cri_sdf_space_mesh(cri_sdf_space *s, const double *code, const char **text, double *reach,
                             cr_error *err) {
    cri_triangles mesh;
    cri_arena_reset(s->work);
    CR_TRY(mesh_of(s, code, COARSE, &mesh, err));
    size_t n = 3 * (size_t)mesh.n_vertex, n_face = 3 * (size_t)mesh.n_face, at = 0;
    size_t room = 20 * n + 8 * n_face + 100;
    char *out = CR_PUSH_RAW(s->work, char, room);
    if (!out) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
    }
    at += (size_t)snprintf(out, room, "<asset><mesh name='m' vertex='");
    *reach = 0.0;
    for (size_t i = 0; i < n; i++) {
        at += (size_t)snprintf(out + at, room - at, "%.9f ", mesh.vertex[i]);
        *reach = i % 3 == 2 ? fmax(*reach, -mesh.vertex[i]) : *reach;
    }
    at += (size_t)snprintf(out + at, room - at, "' face='");
    for (size_t i = 0; i < n_face; i++) {
        at += (size_t)snprintf(out + at, room - at, "%d ", mesh.face[i]);
    }
    (void)snprintf(out + at, room - at, "'/></asset>");
    *text = out;
    return CR_OK;
}

const cri_form *cri_sdf_form(const cr_sim *sim, int geom) {
    CR_ASSERT(sim->d.forms && sim->d.forms->form[geom].plan);
    return &sim->d.forms->form[geom];
}

const char *cri_sdf_space_sought(const cri_sdf_space *s, char text[128]) {
    int at = 0;
    for (int k = 0; k < s->space.n_code; k++) {
        at += snprintf(text + at, 128 - (size_t)at, "%sb/code[%d]", k ? "," : "", k);
    }
    return text;
}
