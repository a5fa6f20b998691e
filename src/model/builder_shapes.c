// SPDX-License-Identifier: MIT
//
// Geoms with their hulls, the mass of each body, and which geoms may touch.
//
// A body without <inertial> has the mass, centre and inertia of its geoms (geometry/mesh/mass.h,
// geometry/mesh/hull.h). Which geoms collide follows MJCF: listed pairs always; else (contype_a &
// conaffinity_b) or (contype_b & conaffinity_a), never within one rigid group of bodies, never a
// body with its parent (unless the parent does not move), never excluded bodies.

#include "model/builder.h"

#include "geometry/field/grid.h"
#include "geometry/field/shape_space.h"
#include "geometry/mesh/hull.h"
#include "geometry/mesh/mass.h"
#include "model/derived.h"

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

static const int n_size_of[CRI_N_SHAPE] = {1, 1, 2, 3, 2, 3, 0, 0};

/// A mesh ready for use.
typedef struct ready_mesh {
    const cri_hull *hull;
    double *moment; // volume, centre, inertia; NULL: open, so only collisions are known
    cri_mesh_view surface;
} ready_mesh;

// ---- geoms that are fields ----------------------------------------------------------------------

// Geoms that are distance fields: those that say so, and meshes that are not convex.
//
// A mesh counts as convex when its volume is that of its hull to ten percent: it then collides as
// its hull, as do open meshes, which have no inside. Any other one that collides is a grid of its
// distance with the mesh itself for a surface. Whatever may touch a field gets a plan too.

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

static cr_status build_fields(cri_builder *b) {
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

// ---- geoms, hulls, masses, pairs ----------------------------------------------------------------

// faces of a hull as fans of triangles
static bool hull_surface(cri_builder *b, const cri_hull *h, cri_mesh_view *out) {
    int n = 0, *face = CR_PUSH(b->arena, int, 3 * (h->face_start[h->n_face] - 2 * h->n_face));
    for (int f = 0; face && f < h->n_face; f++) {
        for (int k = h->face_start[f] + 1; k + 1 < h->face_start[f + 1]; k++) {
            face[n++] = h->face_vertex[h->face_start[f]];
            face[n++] = h->face_vertex[k];
            face[n++] = h->face_vertex[k + 1];
        }
    }
    *out = (cri_mesh_view){h->n_vertex, n / 3, h->vertex, face};
    return face != NULL;
}

// a copy of the mesh, or its hull when it has no faces
static bool mesh_surface(cri_builder *b, const cri_mesh_def *mesh, ready_mesh *out) {
    if (mesh->n_face == 0) {
        return hull_surface(b, out->hull, &out->surface);
    }
    size_t n_vertex = 3 * (size_t)mesh->n_vertex, n_face = 3 * (size_t)mesh->n_face;
    double *vertex = CR_PUSH_RAW(b->arena, double, n_vertex);
    int *face = CR_PUSH_RAW(b->arena, int, n_face);
    if (!vertex || !face) {
        return false;
    }
    memcpy(vertex, mesh->vertex, sizeof *vertex * n_vertex);
    memcpy(face, mesh->face, sizeof *face * n_face);
    out->surface = (cri_mesh_view){mesh->n_vertex, mesh->n_face, vertex, face};
    return true;
}

// exact integrals of a closed mesh; of its hull when it has no faces
static bool mesh_moments(cri_builder *b, const cri_mesh_def *mesh, ready_mesh *out) {
    cri_mesh_mass mass;
    if (!mesh_surface(b, mesh, out)) {
        return false;
    }
    const cri_mesh_view *t = &out->surface;
    if (cri_mesh_mass_of(t->n_vertex, t->vertex, t->n_triangle, t->triangle, &mass)) {
        out->moment = CR_PUSH(b->arena, double, 10);
        if (!out->moment) {
            return false;
        }
        out->moment[0] = mass.volume;
        memcpy(out->moment + 1, mass.centre, sizeof mass.centre);
        memcpy(out->moment + 4, mass.inertia, sizeof mass.inertia);
    }
    return true;
}

static cr_status build_meshes(cri_builder *b, ready_mesh *ready) {
    for (int i = 0; i < b->def->n_mesh; i++) {
        const cri_mesh_def *mesh = &b->def->mesh[i];
        cr_error why = {0};
        cr_status status =
            cri_hull_build(mesh->n_vertex, mesh->vertex, b->arena, &ready[i].hull, &why);
        if (status == CR_ERR_MEMORY || (status == CR_OK && !mesh_moments(b, mesh, &ready[i]))) {
            return cri_build_fail_memory(b);
        }
        if (status != CR_OK) {
            return cri_build_fail(b, CR_ERR_SYNTAX, mesh->place, "mesh %.40s: %.120s", mesh->name,
                                  why.text);
        }
    }
    return CR_OK;
}

static cr_status check_geom(const cri_builder *b, const cri_geom_def *gd) {
    for (int i = 0; i < n_size_of[gd->shape]; i++) {
        if (gd->shape != CRI_SHAPE_PLANE && !(gd->size[i] > 0.0 && isfinite(gd->size[i]))) {
            return cri_build_fail(b, CR_ERR_SYNTAX, gd->place,
                                  "geom %.40s: size[%d] is %g; it must be positive", gd->name, i,
                                  gd->size[i]);
        }
    }
    return CR_OK;
}

static void fill_geom(const cri_builder *b, int g, const ready_mesh *ready) {
    const cri_geom_def *gd = &b->def->geom[g];
    cri_geom *geom = &b->model->geom[g];
    *geom = (cri_geom){.shape = gd->shape,
                       .solid = gd->shape,
                       .body = gd->body,
                       .unit = -1,
                       .group = -1,
                       .n_size = n_size_of[gd->shape],
                       .slot_density = -1,
                       .slot_vertex = -1,
                       .pos = gd->pos,
                       .quat = gd->quat,
                       .R = cri_quat_rotation(gd->quat),
                       .eps = gd->eps,
                       .contype = gd->contype,
                       .conaffinity = gd->conaffinity,
                       .priority = gd->priority,
                       .softness = gd->softness};
    bool is_turned = gd->quat.x != 0.0 || gd->quat.y != 0.0 || gd->quat.z != 0.0;
    geom->is_centred = !is_turned && cri_v3_dot(gd->pos, gd->pos) == 0.0;
    if (gd->shape == CRI_SHAPE_MESH) {
        geom->hull = ready[gd->mesh].hull;
        geom->moment = ready[gd->mesh].moment;
        geom->surface = ready[gd->mesh].surface;
        geom->first_vertex = b->model->n_corner;
        b->model->n_corner += gd->has_vertices ? 3 * geom->surface.n_vertex : 0;
    }
}

// kg/m^3, from mass when it is given; 0: no mass
static cr_status density_of(const cri_builder *b, int g, double *density) {
    const cri_geom_def *gd = &b->def->geom[g];
    *density = 0.0;
    if (gd->shape == CRI_SHAPE_PLANE || (gd->has_mass ? gd->mass : gd->density) == 0.0) {
        return CR_OK;
    }
    double m[4];
    cri_shape_kind shape = b->model->geom[g].shape;
    if (shape == CRI_SHAPE_MESH || shape == CRI_SHAPE_FIELD) {
        if (!b->model->geom[g].moment) {
            return cri_build_fail(b, CR_ERR_SYNTAX, gd->place,
                                  "geom %.40s: its mesh is open, so it has no volume; close it, or "
                                  "give the body an <inertial>",
                                  gd->name);
        }
        m[0] = b->model->geom[g].moment[0];
    } else {
        cri_shape_moments(gd->shape, gd->size, m, NULL);
    }
    *density = gd->has_mass ? gd->mass / m[0] : gd->density;
    return CR_OK;
}

// the solid parts of a body; *n 0: nothing with mass
static cr_status solids_of(const cri_builder *b, int body, cri_solid *solid, int n_max, int *n) {
    const cr_model *m = b->model;
    *n = 0;
    for (int i = 0; i < m->body[body].n_geom; i++) {
        int g = m->geom_of_body[m->body[body].first_geom + i];
        double density;
        CR_TRY(density_of(b, g, &density));
        if (!(density > 0.0)) {
            continue;
        }
        if (*n == n_max) {
            return cri_build_fail(b, CR_ERR_UNSUPPORTED, b->def->body[body].place,
                                  "body %.40s: more than %d geoms with mass; give it an <inertial>",
                                  b->def->body[body].name, n_max);
        }
        solid[(*n)++] = (cri_solid){.kind = m->geom[g].solid,
                                    .size = b->shape[g] ? b->shape[g] : b->def->geom[g].size,
                                    .moment = m->geom[g].moment,
                                    .density = density,
                                    .pos = m->geom[g].pos,
                                    .R = m->geom[g].R};
    }
    return CR_OK;
}

static cr_status weigh(cri_builder *b, int body) {
    enum { MAX_SOLID = 64 };
    const cri_body_def *bd = &b->def->body[body];
    cri_inertia *out = &b->inertia[body];
    if (bd->has_inertial) {
        *out = (cri_inertia){.mass = bd->mass, .com = bd->com};
        memcpy(out->J, bd->inertia, sizeof out->J);
    } else {
        cri_solid solid[MAX_SOLID];
        int n;
        CR_TRY(solids_of(b, body, solid, MAX_SOLID, &n));
        *out = cri_inertia_of(n, solid);
    }
    double trace = out->J[0] + out->J[1] + out->J[2];
    double off = fabs(out->J[3]) + fabs(out->J[4]) + fabs(out->J[5]);
    // 1e-14: rounding of a turned tensor that is diagonal
    b->is_simple[body] = cri_v3_dot(out->com, out->com) == 0.0 && off <= 1e-14 * trace;
    // a field that its parameters may put out of balance
    for (int i = 0; i < b->model->body[body].n_geom && bd->is_shape_inertia; i++) {
        int g = b->model->geom_of_body[b->model->body[body].first_geom + i];
        b->is_simple[body] = b->is_simple[body] && b->model->geom[g].solid != CRI_SHAPE_FIELD;
    }
    b->model->body[body].is_at_origin = bd->is_origin_inertia;
    if (bd->is_origin_inertia) {
        *out = cri_inertia_at_origin(out);
    }
    if (!isfinite(out->mass) || !isfinite(trace + off)) {
        return cri_build_fail(b, CR_ERR_SYNTAX, bd->place,
                              "body %.40s: its mass comes to %g; check size, mass and density",
                              bd->name, out->mass);
    }
    return CR_OK;
}

// geoms by body, in document order
static cr_status sort_geoms(cri_builder *b) {
    cr_model *m = b->model;
    int n_geom = b->def->n_geom, n = 0;
    m->geom_of_body = CR_PUSH(b->arena, int, n_geom);
    if (!m->geom_of_body) {
        return cri_build_fail_memory(b);
    }
    for (int g = 0; g < n_geom; g++) {
        if (b->def->geom[g].body >= 0) {
            m->body[b->def->geom[g].body].n_geom++;
        }
    }
    for (int i = 0; i < b->def->n_body; i++) {
        m->body[i].first_geom = n;
        n += m->body[i].n_geom;
        m->body[i].n_geom = 0;
    }
    for (int g = 0; g < n_geom; g++) {
        if (b->def->geom[g].body >= 0) {
            cri_body *body = &m->body[b->def->geom[g].body];
            m->geom_of_body[body->first_geom + body->n_geom++] = g;
        }
    }
    return CR_OK;
}

cr_status cri_build_shapes(cri_builder *b) {
    cr_model *m = b->model;
    m->geom = CR_PUSH(b->arena, cri_geom, b->def->n_geom);
    ready_mesh *ready = CR_PUSH(b->arena, ready_mesh, b->def->n_mesh);
    if (!m->geom || !ready) {
        return cri_build_fail_memory(b);
    }
    CR_TRY(build_meshes(b, ready));
    for (int g = 0; g < b->def->n_geom; g++) {
        CR_TRY(check_geom(b, &b->def->geom[g]));
        fill_geom(b, g, ready);
    }
    CR_TRY(build_fields(b));
    CR_TRY(sort_geoms(b));
    for (int i = 0; i < b->def->n_body; i++) {
        CR_TRY(weigh(b, i));
    }
    return CR_OK;
}

// ---- who may touch whom ------------------------------------------------------------------------

static int by_geoms(const void *x, const void *y) {
    const cri_geom_pair *a = x, *c = y;
    int first = (a->geom[0] > c->geom[0]) - (a->geom[0] < c->geom[0]);
    return first != 0 ? first : (a->geom[1] > c->geom[1]) - (a->geom[1] < c->geom[1]);
}

// one entry for each pair of geoms, whatever definitions there are of it
static void merge_pairs(cr_model *m) {
    int n = 0;
    for (int k = 0; k < m->n_pair; k++) {
        cri_geom_pair *last = n > 0 ? &m->pair[n - 1] : NULL;
        const cri_geom_pair *next = &m->pair[k];
        if (!last || by_geoms(last, next) != 0) {
            m->pair[n++] = *next;
            continue;
        }
        last->is_listed = last->is_listed || next->is_listed;
        if (next->slot_friction >= 0) {
            last->slot_friction = next->slot_friction;
            last->slide = next->slide;
        }
        last->slot_restitution =
            next->slot_restitution >= 0 ? next->slot_restitution : last->slot_restitution;
        last->friction_geom = next->friction_geom >= 0 ? next->friction_geom : last->friction_geom;
        last->softness = next->is_listed ? next->softness : last->softness;
    }
    m->n_pair = n;
}

cr_status cri_build_pairs(cri_builder *b) {
    const cri_scene_def *def = b->def;
    cr_model *m = b->model;
    m->pair = CR_PUSH(b->arena, cri_geom_pair, def->n_pair);
    m->exclude = cri_arena_push(b->arena, sizeof *m->exclude * (size_t)def->n_exclude);
    if (!m->pair || !m->exclude) {
        return cri_build_fail_memory(b);
    }
    for (int k = 0; k < def->n_pair; k++) {
        const cri_pair_def *pd = &def->pair[k];
        int low = pd->geom[0] < pd->geom[1] ? 0 : 1;
        // slots hold the place of the definition until p is laid out
        m->pair[k] = (cri_geom_pair){.geom = {pd->geom[low], pd->geom[1 - low]},
                                     .is_listed = pd->is_listed,
                                     .slot_friction = pd->has_friction ? k : -1,
                                     .slot_friction2 = -1,
                                     .slot_friction_back = -1,
                                     .slide = low == 0 ? pd->slide : cri_v3_scale(-1.0, pd->slide),
                                     .slot_restitution = pd->has_restitution ? k : -1,
                                     .friction_geom = pd->friction_geom - 1,
                                     .softness = pd->softness};
    }
    m->n_pair = def->n_pair;
    qsort(m->pair, (size_t)m->n_pair, sizeof *m->pair, by_geoms);
    merge_pairs(m);
    for (int k = 0; k < def->n_exclude; k++) {
        m->exclude[k][0] = def->exclude[k].body[0];
        m->exclude[k][1] = def->exclude[k].body[1];
    }
    m->n_exclude = def->n_exclude;
    for (int g = 0; g < def->n_geom; g++) {
        cri_geom *geom = &m->geom[g];
        int body = geom->body;
        geom->unit = body >= 0 ? m->mech.link[body].unit : -1;
        // rigid groups: all that is static, and all that hangs on one joint
        geom->group = body >= 0 && m->mech.link[body].node >= 0 ? 1 + m->mech.link[body].node : 0;
        if (geom->shape == CRI_SHAPE_PLANE && geom->group > 0) {
            return cri_build_fail(b, CR_ERR_UNSUPPORTED, def->geom[g].place,
                                  "geom %.40s: a plane cannot move; use a box", def->geom[g].name);
        }
    }
    return CR_OK;
}

// is one rigid group the parent of the other, and does it move?
static bool is_parent(const cr_model *m, const cri_geom *a, const cri_geom *c) {
    if (a->group == 0 || c->group == 0) {
        return false;
    }
    const cri_mechanism *mech = &m->mech;
    for (int swap = 0; swap < 2; swap++) {
        int child = (swap ? a : c)->group - 1, parent = (swap ? c : a)->group - 1;
        int body = mech->joint[child].body, up = mech->link[body].parent;
        if (up >= 0 && mech->link[up].node == parent) {
            return true;
        }
    }
    return false;
}

static bool is_excluded(const cr_model *m, int body0, int body1) {
    for (int k = 0; k < m->n_exclude; k++) {
        const int *e = m->exclude[k];
        if ((e[0] == body0 && e[1] == body1) || (e[0] == body1 && e[1] == body0)) {
            return true;
        }
    }
    return false;
}

bool cri_model_may_collide(const cr_model *m, int geom0, int geom1, int *pair) {
    CR_ASSERT(geom0 >= 0 && geom0 < m->sizes.n_geom && geom1 >= 0 && geom1 < m->sizes.n_geom);
    int low = geom0 < geom1 ? geom0 : geom1, high = geom0 < geom1 ? geom1 : geom0;
    cri_geom_pair key = {.geom = {low, high}};
    const cri_geom_pair *own =
        m->n_pair > 0 ? bsearch(&key, m->pair, (size_t)m->n_pair, sizeof *m->pair, by_geoms) : NULL;
    const cri_geom *a = &m->geom[geom0], *c = &m->geom[geom1];
    if (pair) {
        *pair = own ? (int)(own - m->pair) : -1;
    }
    if (!m->has_contact || a->group == c->group) {
        return false;
    }
    if (own && own->is_listed) {
        return true;
    }
    bool has_types = (a->contype & c->conaffinity) != 0 || (c->contype & a->conaffinity) != 0;
    if (!has_types || (m->filters_parents && is_parent(m, a, c))) {
        return false;
    }
    return !is_excluded(m, a->body, c->body);
}
