// SPDX-License-Identifier: MIT
//
// From the definition of a system to a model: a mechanism of hinges and slides without a unit, so
// that positions, names and tangent coordinates are those of any other model, and p as the system
// has it. Nothing but the system's own step moves it.

#include "model/system.h"

#include "base/base.h"
#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int cri_system_find_law(const cri_system_kind *kind, const char *name) {
    CR_ASSERT(kind && name);
    for (int i = 0; kind->law[i]; i++) {
        if (strcmp(kind->law[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

static bool fill_joints(const cri_system_def *def, cr_model *m) {
    cr_arena *a = m->memory;
    cri_joint *joint = CR_PUSH(a, cri_joint, def->n_q);
    cri_link *link = CR_PUSH(a, cri_link, def->n_body);
    int *dof_joint = CR_PUSH(a, int, def->n_q);
    m->joint_name = CR_PUSH(a, const char *, def->n_q);
    if (!joint || !link || !dof_joint || !m->joint_name) {
        return false;
    }
    int i = 0;
    for (int b = 0; b < def->n_body; b++) {
        int first = i;
        for (; i < def->n_q && def->coordinate[i].body == b; i++) {
            const cri_system_coordinate *c = &def->coordinate[i];
            CR_ASSERT(c->kind == CRI_JOINT_HINGE || c->kind == CRI_JOINT_SLIDE);
            joint[i] = (cri_joint){.kind = c->kind,
                                   .body = b,
                                   .parent = i > first ? i - 1 : -1,
                                   .q = i,
                                   .v = i,
                                   .n_q = 1,
                                   .n_v = 1,
                                   .pos = c->anchor,
                                   .axis = c->axis};
            dof_joint[i] = i;
            m->joint_name[i] = "";
        }
        link[b] = (cri_link){.parent = -1,
                             .node = i > first ? i - 1 : -1,
                             .first_joint = first,
                             .n_joint = i - first,
                             .unit = -1,
                             .pos = def->body[b].pos,
                             .quat = {.w = 1.0}};
    }
    CR_ASSERT(i == def->n_q);
    m->mech.joint = joint;
    m->mech.link = link;
    m->mech.dof_joint = dof_joint;
    return true;
}

static bool fill_control(const cri_system_def *def, cr_model *m) {
    cri_actuator *actuator = CR_PUSH(m->memory, cri_actuator, def->n_u);
    m->u_name = CR_PUSH(m->memory, const char *, def->n_u);
    for (int i = 0; actuator && m->u_name && i < def->n_u; i++) {
        actuator[i] = (cri_actuator){.kind = CRI_DRIVE_DOFS,
                                     .joint = -1,
                                     .tendon = -1,
                                     .site = -1,
                                     .ref_site = -1,
                                     .ctrl = {-INFINITY, INFINITY},
                                     .force = {-INFINITY, INFINITY}};
        m->u_name[i] = cri_arena_push_text(m->memory, def->u_name[i]);
    }
    m->mech.actuator = actuator;
    return !cri_arena_has_failed(m->memory);
}

static bool fill_names(const cri_system_def *def, cr_model *m) {
    m->body_name = CR_PUSH(m->memory, const char *, def->n_body);
    m->x_name = CR_PUSH(m->memory, const char *, 2 * def->n_q);
    if (!m->body_name || !m->x_name) {
        return false;
    }
    for (int b = 0; b < def->n_body; b++) {
        m->body_name[b] = cri_arena_push_text(m->memory, def->body[b].name);
    }
    for (int i = 0; i < def->n_q; i++) {
        const cri_system_coordinate *c = &def->coordinate[i];
        int part = i - m->mech.link[c->body].first_joint;
        char text[120];
        snprintf(text, sizeof text, "%.90s/qpos[%d]", def->body[c->body].name, part);
        m->x_name[i] = cri_arena_push_text(m->memory, text);
        snprintf(text, sizeof text, "%.90s/qvel[%d]", def->body[c->body].name, part);
        m->x_name[def->n_q + i] = cri_arena_push_text(m->memory, text);
    }
    return true;
}

static bool fill_slots(const cri_system_def *def, cr_model *m) {
    m->slot = CR_PUSH(m->memory, cri_slot, def->n_p);
    for (int i = 0; m->slot && i < def->n_p; i++) {
        const cri_system_slot *s = &def->slot[i];
        m->slot[i] = (cri_slot){.name = cri_arena_push_text(m->memory, s->name),
                                .value = s->value,
                                .lower = s->lower,
                                .upper = s->upper,
                                .is_open_lower = s->is_open_lower,
                                .held = s->held};
    }
    m->x_placed = CR_PUSH(m->memory, double, 2 * def->n_q);
    if (m->x_placed) {
        memcpy(m->x_placed, def->x0, sizeof(double) * 2 * (size_t)def->n_q);
    }
    return !cri_arena_has_failed(m->memory);
}

static bool fill_walls(const cri_system_def *def, cr_model *m) {
    m->n_system_wall = def->n_wall;
    m->system_wall = CR_PUSH(m->memory, cri_system_wall, def->n_wall);
    for (int i = 0; m->system_wall && i < def->n_wall; i++) {
        m->system_wall[i] = def->wall[i];
        m->system_wall[i].name = cri_arena_push_text(m->memory, def->wall[i].name);
    }
    return !cri_arena_has_failed(m->memory);
}

static bool fill(const cri_system_def *def, cr_model *m) {
    m->sizes = (cr_sizes){.n_p = def->n_p,
                          .n_x = 2 * def->n_q,
                          .n_u = def->n_u,
                          .n_q = def->n_q,
                          .n_v = def->n_q,
                          .n_tangent = 2 * def->n_q,
                          .n_body = def->n_body,
                          .dt = def->dt};
    m->mech = (cri_mechanism){.n_body = def->n_body,
                              .n_joint = def->n_q,
                              .n_q = def->n_q,
                              .n_v = def->n_q,
                              .n_u = def->n_u,
                              .n_actuator = def->n_u};
    m->body = CR_PUSH(m->memory, cri_body, def->n_body);
    m->static_pose = CR_PUSH(m->memory, cri_pose, def->n_body);
    m->system_radius = CR_PUSH(m->memory, double, def->n_body);
    for (int b = 0; m->body && m->static_pose && m->system_radius && b < def->n_body; b++) {
        m->body[b] = (cri_body){.slot_mass = -1, .slot_com = -1, .slot_inertia = -1};
        m->static_pose[b] = (cri_pose){def->body[b].pos, cri_quat_rotation((cri_quat){.w = 1.0})};
        m->system_radius[b] = def->body[b].radius;
    }
    snprintf(m->law, sizeof m->law, "%s", def->law ? def->law : def->kind->law[0]);
    snprintf(m->stepper, sizeof m->stepper, "%s", def->kind->name);
    return fill_joints(def, m) && fill_control(def, m) && fill_names(def, m) &&
           fill_walls(def, m) && fill_slots(def, m) && !cri_arena_has_failed(m->memory);
}

cr_status cri_model_from_system(const cri_system_def *def, cr_model **out, cr_error *err) {
    CR_ASSERT(def && def->kind && def->kind->law[0] && def->dt > 0.0 && out);
    *out = NULL;
    cr_arena *memory = cri_arena_create(4096);
    cr_model *m = memory ? CR_PUSH(memory, cr_model, 1) : NULL;
    if (m) {
        m->memory = memory;
        m->system_kind = def->kind;
        m->system_self = def->self;
    }
    if (!m || !fill(def, m)) {
        cri_arena_destroy(memory);
        if (def->release) {
            def->release(def->self);
        }
        return cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
    }
    m->system_release = def->release;
    *out = m;
    return CR_OK;
}
