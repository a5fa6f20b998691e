// SPDX-License-Identifier: MIT
//
// From a scene definition to a model: pairs, features, and the layout of p, x and u.
//
// Which geoms collide follows MJCF: (contype_a & conaffinity_b) or (contype_b & conaffinity_a),
// never two geoms of one body. Pairs are ordered: (body, plane) first, by body then plane; then
// (body, body). Mass and inertia of a body without <inertial> are those of its geom
// (geometry/mass.h).

#include "model/model.h"

#include "base/arena.h"
#include "geometry/mass.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 256 };

/// Where the next slot goes while p is laid out.
typedef struct layout {
    cr_model *model;
    cr_arena *arena;
    int n_p;
} layout;

void cri_scene_def_clear(cri_scene_def *def) {
    for (int i = 0; i < def->n_body; i++) {
        free(def->body[i].name);
    }
    for (int i = 0; i < def->n_geom; i++) {
        free(def->geom[i].name);
    }
    for (int i = 0; i < def->n_key; i++) {
        free(def->key[i].name);
        free(def->key[i].qpos);
        free(def->key[i].qvel);
    }
    free(def->body);
    free(def->geom);
    free(def->pair);
    free(def->key);
    memset(def, 0, sizeof *def);
}

static const char *joined(cr_arena *arena, const char *owner, const char *what, int index) {
    char text[NAME_BYTES];
    if (index < 0) {
        snprintf(text, sizeof text, "%s%s%s", owner, *owner ? "/" : "", what);
    } else {
        snprintf(text, sizeof text, "%s%s%s[%d]", owner, *owner ? "/" : "", what, index);
    }
    return cri_arena_push_text(arena, text);
}

// adds n slots named owner/what[i] (n = 1 and no index: owner/what) and returns the first
static int add_slots(layout *l, const char *owner, const char *what, int n, const double *value,
                     cri_slot domain) {
    int first = l->n_p;
    for (int i = 0; i < n; i++) {
        cri_slot *slot = &l->model->slot[l->n_p++];
        *slot = domain;
        bool has_index = n > 1 || strcmp(what, "size") == 0;
        slot->name = joined(l->arena, owner, what, has_index ? i : -1);
        slot->value = value[i];
    }
    return first;
}

static const cri_slot any_value = {.lower = -INFINITY, .upper = INFINITY};
static const cri_slot positive = {.lower = 0.0, .upper = INFINITY, .is_open_lower = true};
static const cri_slot not_negative = {.lower = 0.0, .upper = INFINITY};
static const cri_slot unit_interval = {.lower = 0.0, .upper = 1.0};

static void lay_out_body(layout *l, const cri_scene_def *def, int b) {
    const cri_body_def *bd = &def->body[b];
    cri_body *body = &l->model->body[b];
    const cri_geom_def *gd = &def->geom[body->geom];
    double volume = gd->shape == CRI_SHAPE_SPHERE ? cri_sphere_mass(gd->size[0], 1.0, NULL)
                                                  : cri_box_mass(gd->size, 1.0, NULL);
    double density = gd->mass > 0.0 ? gd->mass / volume : gd->density;

    body->slot_mass = body->slot_inertia = body->slot_density = -1;
    if (bd->is_shape_inertia) {
        body->slot_density = add_slots(l, gd->name, "density", 1, &density, positive);
        return;
    }
    double inertia[3];
    double mass = gd->shape == CRI_SHAPE_SPHERE ? cri_sphere_mass(gd->size[0], density, inertia)
                                                : cri_box_mass(gd->size, density, inertia);
    if (bd->has_inertial) {
        mass = bd->mass;
        memcpy(inertia, bd->inertia, sizeof inertia);
    }
    body->slot_mass = add_slots(l, bd->name, "mass", 1, &mass, positive);
    body->slot_inertia = add_slots(l, bd->name, "inertia", 3, inertia, positive);
}

static void lay_out_geom(layout *l, const cri_scene_def *def, int g) {
    const cri_geom_def *gd = &def->geom[g];
    cri_geom *geom = &l->model->geom[g];
    *geom = (cri_geom){.shape = gd->shape, .body = gd->body};
    if (gd->shape == CRI_SHAPE_PLANE) {
        cri_mat3 R = cri_quat_rotation(gd->quat);
        geom->normal = cri_v3(R.m[2], R.m[5], R.m[8]);
        double offset = cri_v3_dot(geom->normal, gd->pos);
        geom->n_size = 1;
        geom->slot_size = add_slots(l, gd->name, "offset", 1, &offset, any_value);
    } else {
        geom->n_size = gd->shape == CRI_SHAPE_BOX ? 3 : 1;
        geom->slot_size = add_slots(l, gd->name, "size", geom->n_size, gd->size, positive);
    }
    geom->slot_friction = add_slots(l, gd->name, "friction", 1, &gd->friction, not_negative);
    geom->slot_restitution =
        add_slots(l, gd->name, "restitution", 1, &gd->restitution, unit_interval);
}

// coefficients of their own, for pairs that have them
static void lay_out_pair(layout *l, const cri_scene_def *def, cri_pair *pair) {
    pair->slot_friction = pair->slot_restitution = -1;
    for (int i = 0; i < def->n_pair; i++) {
        const cri_pair_def *pd = &def->pair[i];
        bool is_same = pd->geom[0] == pair->geom[0] && pd->geom[1] == pair->geom[1];
        bool is_swapped = pd->geom[0] == pair->geom[1] && pd->geom[1] == pair->geom[0];
        if (!is_same && !is_swapped) {
            continue;
        }
        char owner[NAME_BYTES];
        snprintf(owner, sizeof owner, "%s:%s", def->geom[pair->geom[0]].name,
                 def->geom[pair->geom[1]].name);
        if (pd->has_friction) {
            pair->slot_friction = add_slots(l, owner, "friction", 1, &pd->friction, not_negative);
        } else if (pd->friction_geom > 0) {
            pair->slot_friction = l->model->geom[pd->friction_geom - 1].slot_friction;
        }
        if (pd->has_restitution) {
            pair->slot_restitution =
                add_slots(l, owner, "restitution", 1, &pd->restitution, unit_interval);
        }
    }
}

static bool may_collide(const cri_geom_def *a, const cri_geom_def *b) {
    bool has_types = (a->contype & b->conaffinity) != 0 || (b->contype & a->conaffinity) != 0;
    return has_types && a->body != b->body;
}

static const char *shape_name(cri_shape_kind shape) {
    switch (shape) {
    case CRI_SHAPE_PLANE:
        return "plane";
    case CRI_SHAPE_SPHERE:
        return "sphere";
    case CRI_SHAPE_BOX:
        return "box";
    }
    return "?";
}

// the pair of geom a (plane, or of the lower body) and geom b; status for what cannot collide yet
static cr_status make_pair(const cri_scene_def *def, int a, int b, const char *file, cri_pair *pair,
                           cr_error *err) {
    const cri_geom_def *ga = &def->geom[a], *gb = &def->geom[b];
    *pair = (cri_pair){.geom = {a, b}, .body = {ga->body, gb->body}};
    if (ga->shape == CRI_SHAPE_PLANE) {
        pair->kind = gb->shape == CRI_SHAPE_BOX ? CRI_PAIR_PLANE_BOX : CRI_PAIR_PLANE_SPHERE;
        return CR_OK;
    }
    if (ga->shape == CRI_SHAPE_SPHERE && gb->shape == CRI_SHAPE_SPHERE) {
        pair->kind = CRI_PAIR_SPHERE_SPHERE;
        return CR_OK;
    }
    return cri_fail(err, CR_ERR_UNSUPPORTED, gb->line,
                    "%s:%d: geoms %s and %s: contact between %s and %s is not supported; keep them "
                    "apart with contype and conaffinity",
                    file, gb->line, ga->name, gb->name, shape_name(ga->shape),
                    shape_name(gb->shape));
}

// fills pair (when not NULL) and counts
static cr_status find_pairs(const cri_scene_def *def, const cri_body *body, const char *file,
                            cri_pair *pair, int *n_pair, cr_error *err) {
    cri_pair one;
    int n = 0;
    for (int b = 0; b < def->n_body; b++) {
        for (int g = 0; g < def->n_geom; g++) {
            bool is_plane = def->geom[g].body < 0;
            if (is_plane && may_collide(&def->geom[g], &def->geom[body[b].geom])) {
                CR_TRY(make_pair(def, g, body[b].geom, file, pair ? &pair[n] : &one, err));
                n++;
            }
        }
    }
    for (int i = 0; i < def->n_body; i++) {
        for (int j = i + 1; j < def->n_body; j++) {
            if (may_collide(&def->geom[body[i].geom], &def->geom[body[j].geom])) {
                CR_TRY(
                    make_pair(def, body[i].geom, body[j].geom, file, pair ? &pair[n] : &one, err));
                n++;
            }
        }
    }
    *n_pair = n;
    return CR_OK;
}

static int find_geom_of_body(const cri_scene_def *def, int b) {
    for (int g = 0; g < def->n_geom; g++) {
        if (def->geom[g].body == b) {
            return g;
        }
    }
    return -1;
}

// arrays whose sizes are known from the definition and the number of pairs
static bool allocate(cr_model *m, const cri_scene_def *def) {
    cr_arena *a = m->memory;
    int max_p = 3 + 4 * def->n_body + 5 * def->n_geom + 2 * def->n_pair;
    int n_feature = 0;
    for (int k = 0; k < m->n_pair; k++) {
        n_feature += m->pair[k].kind == CRI_PAIR_PLANE_BOX ? 8 : 1;
    }
    m->n_feature = n_feature;
    m->geom = CR_PUSH(a, cri_geom, def->n_geom);
    m->feature = CR_PUSH(a, cri_feature, n_feature);
    m->slot = CR_PUSH(a, cri_slot, max_p);
    m->x_name = CR_PUSH(a, const char *, 13 * def->n_body);
    m->u_name = CR_PUSH(a, const char *, 6 * def->n_body);
    m->body_name = CR_PUSH(a, const char *, def->n_body);
    m->geom_name = CR_PUSH(a, const char *, def->n_geom);
    m->x_placed = CR_PUSH(a, double, 13 * def->n_body);
    m->key = CR_PUSH(a, cri_key, def->n_key);
    return !cri_arena_has_failed(a);
}

static void lay_out_features(cr_model *m) {
    int n = 0;
    for (int k = 0; k < m->n_pair; k++) {
        int n_corner = m->pair[k].kind == CRI_PAIR_PLANE_BOX ? 8 : 1;
        for (int c = 0; c < n_corner; c++) {
            m->feature[n++] = (cri_feature){.pair = k, .corner = c};
        }
    }
}

static void lay_out_state(cr_model *m, const cri_scene_def *def) {
    cr_arena *a = m->memory;
    int n_q = 7 * def->n_body;
    for (int b = 0; b < def->n_body; b++) {
        const char *name = def->body[b].name;
        m->body_name[b] = cri_arena_push_text(a, name);
        for (int i = 0; i < 7; i++) {
            m->x_name[7 * b + i] = joined(a, name, "qpos", i);
        }
        for (int i = 0; i < 6; i++) {
            m->x_name[n_q + 6 * b + i] = joined(a, name, "qvel", i);
            m->u_name[6 * b + i] = joined(a, name, i < 3 ? "force" : "torque", i % 3);
        }
        cri_v3_store(def->body[b].pos, m->x_placed + 7 * b);
        cri_q4_store(def->body[b].quat, m->x_placed + 7 * b + 3);
    }
    for (int g = 0; g < def->n_geom; g++) {
        m->geom_name[g] = cri_arena_push_text(a, def->geom[g].name);
    }
}

static cr_status lay_out_keys(cr_model *m, const cri_scene_def *def, const char *file,
                              cr_error *err) {
    int n_q = 7 * def->n_body, n_v = 6 * def->n_body;
    for (int k = 0; k < def->n_key; k++) {
        const cri_key_def *kd = &def->key[k];
        if ((kd->qpos && kd->n_qpos != n_q) || (kd->qvel && kd->n_qvel != n_v)) {
            return cri_fail(err, CR_ERR_SYNTAX, kd->line,
                            "%s:%d: key %s: qpos needs %d values and qvel %d (found %d and %d)",
                            file, kd->line, kd->name, n_q, n_v, kd->n_qpos, kd->n_qvel);
        }
        double *x = CR_PUSH(m->memory, double, n_q + n_v);
        m->key[k] = (cri_key){.name = cri_arena_push_text(m->memory, kd->name), .x = x};
        if (!x) {
            continue; // reported by the caller, who asks the arena
        }
        memcpy(x, kd->qpos ? kd->qpos : m->x_placed, sizeof(double) * (size_t)n_q);
        if (kd->qvel) {
            memcpy(x + n_q, kd->qvel, sizeof(double) * (size_t)n_v);
        }
        for (int b = 0; b < def->n_body; b++) {
            const double *q = x + 7 * b + 3;
            if (!(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] > 0.0)) {
                return cri_fail(err, CR_ERR_SYNTAX, kd->line,
                                "%s:%d: key %s: the quaternion of body %s is zero", file, kd->line,
                                kd->name, def->body[b].name);
            }
        }
    }
    return CR_OK;
}

// sizes whose mass overflows or vanishes
static cr_status check_masses(const cr_model *m, const cri_scene_def *def, const char *file,
                              cr_error *err) {
    for (int i = 0; i < m->sizes.n_p; i++) {
        double value = m->slot[i].value;
        if (!isfinite(value) || (m->slot[i].is_open_lower && !(value > m->slot[i].lower))) {
            int line = def->body[0].line;
            for (int b = 0; b < m->sizes.n_body; b++) {
                bool is_own = i == m->body[b].slot_density ||
                              (i >= m->body[b].slot_mass && i < m->body[b].slot_mass + 4);
                line = is_own ? def->geom[m->body[b].geom].line : line;
            }
            return cri_fail(err, CR_ERR_SYNTAX, line,
                            "%s:%d: %s comes to %g; check size, mass and density", file, line,
                            m->slot[i].name, value);
        }
    }
    return CR_OK;
}

static cr_status fill(cr_model *m, const cri_scene_def *def, const char *file, cr_error *err) {
    layout l = {.model = m, .arena = m->memory};
    for (int b = 0; b < def->n_body; b++) {
        m->body[b].geom = find_geom_of_body(def, b);
        if (m->body[b].geom < 0) {
            return cri_fail(err, CR_ERR_UNSUPPORTED, def->body[b].line,
                            "%s:%d: body %s has no geom; give it a sphere or a box", file,
                            def->body[b].line, def->body[b].name);
        }
    }
    CR_TRY(find_pairs(def, m->body, file, NULL, &m->n_pair, err));
    m->pair = CR_PUSH(m->memory, cri_pair, m->n_pair);
    if (!m->pair) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "%s: out of memory", file);
    }
    CR_TRY(find_pairs(def, m->body, file, m->pair, &m->n_pair, err));
    if (!allocate(m, def)) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "%s: out of memory", file);
    }

    add_slots(&l, "", "gravity", 3, def->gravity, any_value);
    for (int b = 0; b < def->n_body; b++) {
        lay_out_body(&l, def, b);
    }
    for (int g = 0; g < def->n_geom; g++) {
        lay_out_geom(&l, def, g);
    }
    for (int k = 0; k < m->n_pair; k++) {
        lay_out_pair(&l, def, &m->pair[k]);
    }
    lay_out_features(m);
    lay_out_state(m, def);
    CR_TRY(lay_out_keys(m, def, file, err));

    int n_body = def->n_body;
    m->sizes = (cr_sizes){.n_p = l.n_p,
                          .n_x = 13 * n_body,
                          .n_u = 6 * n_body,
                          .n_q = 7 * n_body,
                          .n_v = 6 * n_body,
                          .n_tangent = 12 * n_body,
                          .n_body = n_body,
                          .n_geom = def->n_geom,
                          .n_key = def->n_key,
                          .dt = def->dt};
    memcpy(m->law, def->law, sizeof m->law);
    memcpy(m->stepper, def->stepper, sizeof m->stepper);
    memcpy(m->warning, def->warning, sizeof m->warning);
    m->file = cri_arena_push_text(m->memory, file);
    m->law_line = def->law_line;
    m->stepper_line = def->stepper_line;
    if (cri_arena_has_failed(m->memory)) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "%s: out of memory", file);
    }
    return check_masses(m, def, file, err);
}

cr_status cri_model_build(const cri_scene_def *def, const char *file, cr_model **out,
                          cr_error *err) {
    CR_ASSERT(def && file && out);
    *out = NULL;
    if (def->n_body == 0) {
        return cri_fail(err, CR_ERR_UNSUPPORTED, 0,
                        "%s: nothing moves; add a body with a freejoint", file);
    }
    cr_arena *arena = cri_arena_create(4096);
    cr_model *m = arena ? CR_PUSH(arena, cr_model, 1) : NULL;
    cri_body *body = m ? CR_PUSH(arena, cri_body, def->n_body) : NULL;
    if (!body) {
        cri_arena_destroy(arena);
        return cri_fail(err, CR_ERR_MEMORY, 0, "%s: out of memory", file);
    }
    m->memory = arena;
    m->body = body;
    cr_status status = fill(m, def, file, err);
    if (status != CR_OK) {
        cri_arena_destroy(arena);
        return status;
    }
    *out = m;
    return CR_OK;
}

void cr_model_destroy(cr_model *model) {
    if (model) {
        cri_arena_destroy(model->memory);
    }
}
