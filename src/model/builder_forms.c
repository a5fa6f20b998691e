// SPDX-License-Identifier: MIT
//
// Geoms that are distance fields: those that say so, and meshes that are not convex.
//
// A mesh counts as convex when its volume is that of its hull to ten percent: it then collides as
// its hull, as do open meshes, which have no inside. Any other one that collides is a grid of its
// distance with the mesh itself for a surface. Whatever may touch a field gets a plan too.

#include "model/builder_parts.h"

#include "geometry/field/grid.h"
#include "geometry/field/shape_space.h"
#include "geometry/mesh/mass.h"
#include "model/forms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GRID_SAMPLES = 64 };

static const double convex = 0.9; // volume over that of the hull

static const cri_field_kind field_of_shape[CRI_N_SHAPE] = {
    [CRI_SHAPE_SPHERE] = CRI_FIELD_SPHERE,
    [CRI_SHAPE_CAPSULE] = CRI_FIELD_CAPSULE,
    [CRI_SHAPE_ELLIPSOID] = CRI_FIELD_ELLIPSOID,
    [CRI_SHAPE_CYLINDER] = CRI_FIELD_CYLINDER,
    [CRI_SHAPE_BOX] = CRI_FIELD_BOX,
};

cri_slot cri_build_shape_domain(const cri_form_plan *plan, int i) {
    cri_slot slot = {.lower = -INFINITY, .upper = INFINITY};
    for (int k = 0; k < plan->n_node; k++) {
        const cri_field_node *node = &plan->node[k];
        int n = cri_field_node_params(node), n_own = n - (node->is_posed ? 6 : 0);
        if (i < node->first || i >= node->first + n) {
            continue;
        }
        bool is_blend = node->kind == CRI_FIELD_UNION || node->kind == CRI_FIELD_INTERSECTION ||
                        node->kind == CRI_FIELD_DIFFERENCE;
        if (i < node->first + n_own && node->kind != CRI_FIELD_CUSTOM) {
            slot.lower = 0.0;
            slot.is_open_lower = !is_blend;
        }
        if (i < node->first + n_own && node->kind == CRI_FIELD_CUSTOM) {
            slot.lower = node->custom->range[2 * (i - node->first)];
            slot.upper = node->custom->range[2 * (i - node->first) + 1];
        }
    }
    return slot;
}

// ---- meshes ------------------------------------------------------------------------------------

// triangles of a hull, for meshes without faces and for partners; NULL: no memory
static int *hull_faces(const cri_hull *h, cr_arena *arena, int *n_face) {
    int n = 0, *face = CR_PUSH(arena, int, 3 * (h->face_start[h->n_face] - 2 * h->n_face) + 3);
    for (int f = 0; face && f < h->n_face; f++) {
        for (int k = h->face_start[f] + 1; k + 1 < h->face_start[f + 1]; k++) {
            face[n++] = h->face_vertex[h->face_start[f]];
            face[n++] = h->face_vertex[k];
            face[n++] = h->face_vertex[k + 1];
        }
    }
    *n_face = n / 3;
    return face;
}

static bool is_convex(cri_builder *b, const cri_geom *geom) {
    cri_mesh_mass mass;
    int n_face;
    const cri_hull *h = geom->hull;
    int *face = hull_faces(h, b->arena, &n_face);
    return !face || !cri_mesh_integrals(h->n_vertex, h->vertex, n_face, face, &mass) ||
           geom->moment[0] >= convex * mass.volume;
}

static bool is_colliding(const cri_scene_def *def, int g) {
    bool is_listed = false;
    for (int k = 0; k < def->n_pair && !is_listed; k++) {
        is_listed =
            def->pair[k].is_listed && (def->pair[k].geom[0] == g || def->pair[k].geom[1] == g);
    }
    return def->has_contact &&
           (is_listed || def->geom[g].contype != 0 || def->geom[g].conaffinity != 0);
}

static cr_status fail_form(cri_builder *b, int g, cr_status status, const char *why) {
    const cri_geom_def *gd = &b->def->geom[g];
    cri_place place = gd->form ? gd->form->place : gd->place;
    return cri_build_fail(b, status == CR_ERR_MEMORY ? status : CR_ERR_SYNTAX, place,
                          "geom %.40s: %.140s", gd->name, why);
}

// one grid for all geoms that want the same one of a mesh
static cr_status make_grid(cri_builder *b, int g, const cri_triangles *mesh, int n_sample,
                           const cri_grid **out) {
    cri_grid *grid = CR_PUSH(b->arena, cri_grid, 1);
    cr_error why = {0};
    if (!grid) {
        return cri_build_fail_memory(b);
    }
    cr_status status =
        cri_grid_of_mesh(mesh, n_sample > 0 ? n_sample : GRID_SAMPLES, b->arena, grid, &why);
    *out = grid;
    return status == CR_OK ? CR_OK : fail_form(b, g, status, why.text);
}

// ---- fields ------------------------------------------------------------------------------------

// the shape whose closed forms a plan has, or a field
static cri_shape_kind solid_of(const cri_form_plan *plan) {
    if (plan->n_node == 1 && !plan->node[0].is_posed && plan->linear) {
        for (int k = CRI_SHAPE_SPHERE; k <= CRI_SHAPE_BOX; k++) {
            if (field_of_shape[k] == plan->node[0].kind) {
                return (cri_shape_kind)k;
            }
        }
    }
    return CRI_SHAPE_FIELD;
}

static bool is_primitive(cri_field_kind kind) {
    return kind == CRI_FIELD_SPHERE || kind == CRI_FIELD_BOX || kind == CRI_FIELD_CYLINDER ||
           kind == CRI_FIELD_CAPSULE || kind == CRI_FIELD_ELLIPSOID;
}

// the mesh of a plan whose nodes are there
static bool plan_mesh(cri_builder *b, const cri_triangles *mesh, int n_cell, cri_form_plan *plan) {
    const cri_field_node *leaf = &plan->node[0];
    bool is_leaf = plan->n_node == 1 && !leaf->is_posed && n_cell == 0;
    if (is_leaf && is_primitive(leaf->kind)) {
        return cri_form_plan_primitive(leaf->kind, b->arena, plan);
    }
    if (is_leaf && leaf->kind == CRI_FIELD_GRID) {
        return cri_form_plan_mesh(mesh, b->arena, plan);
    }
    plan->n_cell = n_cell > 0 ? n_cell : CRI_FORM_CELLS;
    plan->is_round = true;
    return true;
}

// nodes of the definition with their grids
static cr_status copy_nodes(cri_builder *b, int g, const cri_form_def *def,
                            const cri_triangles *mesh, cri_form_plan *plan) {
    cri_field_node *node = CR_PUSH(b->arena, cri_field_node, def->n_node);
    const cri_grid *grid = NULL;
    if (!node) {
        return cri_build_fail_memory(b);
    }
    for (int k = 0; k < def->n_node; k++) {
        node[k] = def->node[k];
        if (node[k].kind == CRI_FIELD_GRID) {
            if (mesh->n_face == 0) {
                return fail_form(b, g, CR_ERR_SYNTAX,
                                 "a shape 'mesh' needs a geom of type mesh with triangles");
            }
            if (!grid) {
                CR_TRY(make_grid(b, g, mesh, def->n_sample, &grid));
            }
            node[k].grid = grid;
        }
        if (node[k].kind == CRI_FIELD_CUSTOM) {
            node[k].custom = cri_space_leaf_copy(def->node[k].custom, b->arena);
            if (!node[k].custom) {
                return cri_build_fail_memory(b);
            }
        }
    }
    plan->node = node;
    plan->n_node = def->n_node;
    plan->n_param = def->n_param;
    plan->rule = def->rule;
    b->model->has_normal_rule = b->model->has_normal_rule || def->rule == CRI_VERTEX_NORMAL;
    return CR_OK;
}

// volume, centre and inertia at the parameters of the scene
static cr_status weigh_form(cri_builder *b, int g, const double *param) {
    cri_geom *geom = &b->model->geom[g];
    double *moment = CR_PUSH(b->arena, double, 10);
    cr_arena *memory = cri_arena_create(1 << 14), *scratch = cri_arena_create(1 << 14);
    cr_error why = {0};
    cr_status status = CR_ERR_MEMORY;
    cri_form form;
    if (moment && memory && scratch) {
        status = cri_form_make(geom->plan, param, memory, scratch, &form, &why);
    }
    if (status == CR_OK) {
        moment[0] = form.mass.volume;
        memcpy(moment + 1, form.mass.centre, sizeof form.mass.centre);
        memcpy(moment + 4, form.mass.inertia, sizeof form.mass.inertia);
        geom->moment = moment;
        if (geom->solid != CRI_SHAPE_FIELD) {
            double exact[4];
            cri_shape_moments(geom->solid, param, exact, NULL);
            moment[0] = exact[0];
        }
    }
    cri_arena_destroy(memory);
    cri_arena_destroy(scratch);
    return status == CR_OK ? CR_OK : fail_form(b, g, status, moment ? why.text : "out of memory");
}

static cr_status build_field(cri_builder *b, int g, const cri_form_def *form) {
    const cri_geom_def *gd = &b->def->geom[g];
    cri_geom *geom = &b->model->geom[g];
    cri_triangles mesh = {0};
    if (gd->mesh >= 0) {
        const cri_mesh_def *md = &b->def->mesh[gd->mesh];
        mesh = (cri_triangles){md->n_vertex, md->n_face, md->vertex, md->face};
    }
    cri_form_plan *plan = CR_PUSH(b->arena, cri_form_plan, 1);
    double *param = CR_PUSH(b->arena, double, form->n_param + 3);
    if (!plan || !param) {
        return cri_build_fail_memory(b);
    }
    CR_TRY(copy_nodes(b, g, form, &mesh, plan));
    if (!plan_mesh(b, &mesh, form->n_cell, plan)) {
        return cri_build_fail_memory(b);
    }
    CR_ASSERT(plan->n_param == form->n_param);
    memcpy(param, form->param, sizeof *param * (size_t)form->n_param);
    geom->shape = CRI_SHAPE_FIELD;
    geom->plan = plan;
    geom->solid = solid_of(plan);
    geom->hull = NULL;
    geom->n_size = 0;
    geom->n_shape = plan->n_param;
    geom->first_shape = b->model->n_shape;
    b->shape[g] = param;
    b->model->n_shape += plan->n_param;
    b->model->n_form++;
    return weigh_form(b, g, param);
}

cr_status cri_build_fields(cri_builder *b) {
    static const double one = 1.0;
    static const cri_form_def mesh_form = {
        .n_node = 1, .node = {{.kind = CRI_FIELD_GRID}}, .n_param = 1, .param = &one};
    b->shape = CR_PUSH(b->arena, double *, b->def->n_geom);
    if (!b->shape) {
        return cri_build_fail_memory(b);
    }
    for (int g = 0; g < b->def->n_geom; g++) {
        const cri_geom_def *gd = &b->def->geom[g];
        const cri_geom *geom = &b->model->geom[g];
        const cri_form_def *form = gd->form;
        bool is_mesh = gd->shape == CRI_SHAPE_MESH && geom->moment && is_colliding(b->def, g) &&
                       b->def->mesh[gd->mesh].n_face > 0;
        if (!form && is_mesh && !is_convex(b, geom)) {
            form = &mesh_form;
        }
        if (form && !form->is_hull) {
            CR_TRY(build_field(b, g, form));
        }
    }
    return CR_OK;
}

// ---- partners ----------------------------------------------------------------------------------

static cr_status plan_partner(cri_builder *b, int g) {
    cri_geom *geom = &b->model->geom[g];
    if (geom->shape == CRI_SHAPE_PLANE) {
        geom->plan = cri_form_half_space();
        return CR_OK;
    }
    cri_field_node *node = CR_PUSH(b->arena, cri_field_node, 1);
    cri_form_plan *plan = CR_PUSH(b->arena, cri_form_plan, 1);
    cri_triangles mesh = {0};
    if (!node || !plan) {
        return cri_build_fail_memory(b);
    }
    *node = (cri_field_node){.kind = field_of_shape[geom->shape]};
    if (geom->shape == CRI_SHAPE_MESH) {
        const cri_hull *h = geom->hull;
        mesh = (cri_triangles){.n_vertex = h->n_vertex, .vertex = h->vertex};
        mesh.face = hull_faces(h, b->arena, &mesh.n_face);
        if (!mesh.face) {
            return cri_build_fail_memory(b);
        }
        node->kind = CRI_FIELD_GRID;
        CR_TRY(make_grid(b, g, &mesh, 0, &node->grid));
    }
    plan->node = node;
    plan->n_node = 1;
    geom->plan = plan;
    return plan_mesh(b, &mesh, 0, plan) ? CR_OK : cri_build_fail_memory(b);
}

cr_status cri_build_partners(cri_builder *b) {
    cr_model *m = b->model;
    int n_geom = b->def->n_geom;
    for (int g = 0; g < n_geom && m->n_form > 0; g++) {
        bool is_needed = false;
        for (int k = 0; k < n_geom && !is_needed && m->geom[g].shape != CRI_SHAPE_FIELD; k++) {
            is_needed = m->geom[k].shape == CRI_SHAPE_FIELD && k != g &&
                        cri_model_may_collide(m, g, k, NULL);
        }
        if (is_needed) {
            CR_TRY(plan_partner(b, g));
        }
    }
    return CR_OK;
}
