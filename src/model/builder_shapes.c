// SPDX-License-Identifier: MIT
//
// Geoms with their hulls, the mass of each body, and which geoms may touch.
//
// A body without <inertial> has the mass, centre and inertia of its geoms (geometry/mesh/mass.h,
// geometry/mesh/hull.h). Which geoms collide follows MJCF: listed pairs always; else (contype_a &
// conaffinity_b) or (contype_b & conaffinity_a), never within one rigid group of bodies, never a
// body with its parent (unless the parent does not move), never excluded bodies.

#include "model/builder_parts.h"

#include "geometry/mesh/hull.h"
#include "geometry/mesh/mass.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int n_size_of[CRI_N_SHAPE] = {1, 1, 2, 3, 2, 3, 0, 0};

/// A mesh ready for use.
typedef struct ready_mesh {
    const cri_hull *hull;
    double *moment; // volume, centre, inertia; NULL: open, so only collisions are known
    cri_mesh_view surface;
} ready_mesh;

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
    CR_TRY(cri_build_fields(b));
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
