// SPDX-License-Identifier: MIT
//
// From a scene definition to a model, in four parts: shapes and masses, the mechanism, the layout
// of p, and names with keyframes.

#include "model/builder_parts.h"

#include "geometry/mesh/tessellate.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

cr_status cri_build_fail(const cri_builder *b, cr_status status, cri_place place,
                         const char *format, ...) {
    char text[200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const char *file = place.file ? place.file : b->def->file;
    if (place.line > 0) {
        return cri_fail(b->err, status, place.line, "%.100s:%d: %s", file, place.line, text);
    }
    return cri_fail(b->err, status, 0, "%.100s: %s", file, text);
}

cr_status cri_build_fail_memory(const cri_builder *b) {
    return cri_fail(b->err, CR_ERR_MEMORY, 0, "%.100s: out of memory", b->def->file);
}

// triangles without area are accepted; one sentence of the warning counts those of all meshes
static void tell_flat(cri_builder *b) {
    char *text = b->model->warning, line[200];
    const char *first = NULL;
    int n_mesh = 0, n_flat = 0;
    for (int i = 0; i < b->def->n_mesh; i++) {
        const cri_mesh_def *mesh = &b->def->mesh[i];
        const cri_mesh_view view = {mesh->n_vertex, mesh->n_face, mesh->vertex, mesh->face};
        int n = cri_mesh_count_flat(&view);
        first = first || n == 0 ? first : mesh->name;
        n_mesh += n > 0;
        n_flat += n;
    }
    if (n_flat == 0) {
        return;
    }
    size_t used = strlen(text), room = sizeof b->model->warning - used;
    int n = snprintf(line, sizeof line, "%smesh %.60s", used > 0 ? "; " : "", first);
    if (n_mesh > 1) {
        n += snprintf(line + n, sizeof line - (size_t)n, " and %d more", n_mesh - 1);
    }
    n += snprintf(line + n, sizeof line - (size_t)n, ": %d triangle%s no area", n_flat,
                  n_flat > 1 ? "s have" : " has");
    if ((size_t)n < room) {
        memcpy(text + used, line, (size_t)n + 1);
    }
}

static cr_status fill(cri_builder *b) {
    cr_model *m = b->model;
    const cri_scene_def *def = b->def;
    m->has_contact = def->has_contact;
    m->filters_parents = def->filters_parents;
    m->mech.n_body = def->n_body;
    m->body = CR_PUSH(b->arena, cri_body, def->n_body);
    b->inertia = CR_PUSH(b->arena, cri_inertia, def->n_body);
    b->is_simple = CR_PUSH(b->arena, bool, def->n_body);
    if (!m->body || !b->inertia || !b->is_simple) {
        return cri_build_fail_memory(b);
    }
    memcpy(m->warning, def->warning, sizeof m->warning);
    tell_flat(b);
    CR_TRY(cri_build_shapes(b));
    CR_TRY(cri_build_mechanism(b));
    CR_TRY(cri_build_pairs(b));
    CR_TRY(cri_build_slots(b));
    CR_TRY(cri_build_names(b));
    CR_TRY(cri_build_partners(b));
    m->potential = def->potential;
    memcpy(m->law, def->law, sizeof m->law);
    memcpy(m->stepper, def->stepper, sizeof m->stepper);
    m->law_place = (cri_place){
        cri_arena_push_text(b->arena, def->law_place.file ? def->law_place.file : def->file),
        def->law_place.line};
    m->stepper_place = (cri_place){m->law_place.file, def->stepper_place.line};
    return cri_arena_has_failed(b->arena) ? cri_build_fail_memory(b) : cri_build_check_nets(b);
}

cr_status cri_model_build(const cri_scene_def *def, cr_model **out, cr_error *err) {
    CR_ASSERT(def && out);
    *out = NULL;
    if (def->n_joint == 0) {
        return cri_fail(err, CR_ERR_UNSUPPORTED, 0,
                        "%.100s: nothing moves; add a body with a joint or a freejoint", def->file);
    }
    cr_arena *arena = cri_arena_create(16384);
    cr_model *m = arena ? CR_PUSH(arena, cr_model, 1) : NULL;
    if (!m) {
        cri_arena_destroy(arena);
        return cri_fail(err, CR_ERR_MEMORY, 0, "%.100s: out of memory", def->file);
    }
    m->memory = arena;
    cri_builder b = {.model = m, .def = def, .arena = arena, .err = err};
    cr_status status = fill(&b);
    if (status != CR_OK) {
        cri_arena_destroy(arena);
        return status;
    }
    *out = m;
    return CR_OK;
}

void cr_model_destroy(cr_model *model) {
    if (model) {
        if (model->system_release) {
            model->system_release(model->system_self);
        }
        cri_arena_destroy(model->memory);
    }
}
