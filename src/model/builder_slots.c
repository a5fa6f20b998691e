// SPDX-License-Identifier: MIT
//
// The layout of p, x and u: slots with names, defaults and domains; keyframes.
//
// Positions and velocities are named by body, counted over all its joints: BODY/qpos[i],
// BODY/qvel[i]. A control is its actuator's name; the forces on dofs behind them are BODY/force[i]
// and BODY/torque[i] for a free body, JOINT/force or JOINT/torque else.

#include "model/builder_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 256 };

static const char *joined(cr_arena *arena, const char *owner, const char *what, int index) {
    char text[NAME_BYTES];
    const char *slash = *owner && *what ? "/" : "";
    if (index < 0) {
        snprintf(text, sizeof text, "%s%s%s", owner, slash, what);
    } else {
        snprintf(text, sizeof text, "%s%s%s[%d]", owner, slash, what, index);
    }
    return cri_arena_push_text(arena, text);
}

// adds n slots named owner/what[i] (n = 1 and no index: owner/what) and returns the first
static int add_slots(cri_builder *b, const char *owner, const char *what, int n,
                     const double *value, cri_slot domain) {
    int first = b->n_p;
    CR_ASSERT(b->n_p + n <= b->p_space);
    for (int i = 0; i < n; i++) {
        cri_slot *slot = &b->model->slot[b->n_p++];
        *slot = domain;
        bool has_index = n > 1 || strcmp(what, "size") == 0;
        slot->name = joined(b->arena, owner, what, has_index ? i : -1);
        slot->value = value[i];
    }
    return first;
}

static const cri_slot any_value = {.lower = -INFINITY, .upper = INFINITY};
static const cri_slot positive = {.lower = 0.0, .upper = INFINITY, .is_open_lower = true};
static const cri_slot not_negative = {.lower = 0.0, .upper = INFINITY};
static const cri_slot unit_interval = {.lower = 0.0, .upper = 1.0};

// ---- bodies ------------------------------------------------------------------------------------

static double volume_of(const cr_model *m, const cri_geom_def *gd, int g) {
    double moment[4];
    if (m->geom[g].shape == CRI_SHAPE_MESH || m->geom[g].shape == CRI_SHAPE_FIELD) {
        return m->geom[g].moment ? m->geom[g].moment[0] : 0.0;
    }
    cri_shape_moments(gd->shape, gd->size, moment, NULL);
    return moment[0];
}

// densities of the geoms that have mass
static void add_densities(cri_builder *b, int body) {
    cr_model *m = b->model;
    for (int i = 0; i < m->body[body].n_geom; i++) {
        int g = m->geom_of_body[m->body[body].first_geom + i];
        const cri_geom_def *gd = &b->def->geom[g];
        if (gd->shape == CRI_SHAPE_PLANE || (gd->has_mass ? gd->mass : gd->density) == 0.0) {
            continue;
        }
        double density = gd->has_mass ? gd->mass / volume_of(m, gd, g) : gd->density;
        m->geom[g].slot_density = add_slots(b, gd->name, "density", 1, &density, positive);
    }
}

static void add_body(cri_builder *b, int i) {
    const cri_body_def *bd = &b->def->body[i];
    cri_body *body = &b->model->body[i];
    const cri_inertia *I = &b->inertia[i];
    int unit = b->model->mech.link[i].unit;
    body->slot_mass = body->slot_com = body->slot_inertia = -1;
    if (unit < 0 || I->mass == 0.0) {
        return;
    }
    if (bd->is_shape_inertia && !bd->has_inertial) {
        add_densities(b, i);
        return;
    }
    body->slot_mass = add_slots(b, bd->name, "mass", 1, &I->mass, positive);
    bool is_free = b->model->mech.unit[unit].is_free_body;
    body->n_inertia = is_free ? 3 : 6;
    if (is_free) {
        body->slot_inertia = add_slots(b, bd->name, "inertia", 3, I->J, positive);
    } else {
        double com[3];
        cri_v3_store(I->com, com);
        body->slot_com = add_slots(b, bd->name, "com", 3, com, any_value);
        body->slot_inertia = add_slots(b, bd->name, "inertia", 6, I->J, any_value);
        for (int k = 0; k < 3; k++) {
            b->model->slot[body->slot_inertia + k].lower = 0.0;
        }
    }
}

// what moves on a joint must have mass
static cr_status check_masses(cri_builder *b) {
    const cri_mechanism *mech = &b->model->mech;
    for (int i = 0; i < mech->n_body; i++) {
        if (mech->link[i].n_joint == 0) {
            continue;
        }
        double mass = 0.0;
        for (int k = i; k < mech->n_body; k++) {
            mass += mech->link[k].node == mech->link[i].node ? b->inertia[k].mass : 0.0;
        }
        if (!(mass > 0.0)) {
            return cri_build_fail(
                b, CR_ERR_SYNTAX, b->def->body[i].place,
                "body %.40s moves and has no mass; give it a geom with density or "
                "an <inertial>",
                b->def->body[i].name);
        }
    }
    for (int i = 0; i < mech->n_body; i++) {
        const double *J = b->inertia[i].J;
        double minor = J[0] * J[1] - J[3] * J[3];
        double det = J[0] * (J[1] * J[2] - J[5] * J[5]) - J[3] * (J[3] * J[2] - J[5] * J[4]) +
                     J[4] * (J[3] * J[5] - J[1] * J[4]);
        bool is_heavy = b->inertia[i].mass > 0.0;
        if (mech->link[i].unit >= 0 && is_heavy && !(J[0] > 0.0 && minor > 0.0 && det > 0.0)) {
            return cri_build_fail(b, CR_ERR_SYNTAX, b->def->body[i].place,
                                  "body %.40s: its inertia is not positive; check size, mass and "
                                  "density, or its <inertial>",
                                  b->def->body[i].name);
        }
    }
    return CR_OK;
}

// ---- geoms and pairs ---------------------------------------------------------------------------

// what parameters of a field are called: a mesh of a file has its scale, a net alone its code
static const char *param_name(const cri_form_plan *plan) {
    bool is_one = plan->n_node == 1 && !plan->node[0].is_posed;
    cri_field_kind kind = plan->node[0].kind;
    return is_one && kind == CRI_FIELD_GRID     ? "scale"
           : is_one && kind == CRI_FIELD_CUSTOM ? "code"
                                                : "shape";
}

static void add_field(cri_builder *b, int g) {
    cri_geom *geom = &b->model->geom[g];
    const cri_form_plan *plan = geom->plan;
    const char *name = param_name(plan);
    bool is_mesh = strcmp(name, "scale") == 0;
    geom->slot_shape = b->n_p;
    for (int i = 0; i < geom->n_shape; i++) {
        cri_slot *slot = &b->model->slot[b->n_p++];
        *slot = cri_build_shape_domain(plan, i);
        slot->name = joined(b->arena, b->def->geom[g].name, name, is_mesh ? -1 : i);
        slot->value = b->shape[g][i];
    }
}

static void add_geom(cri_builder *b, int g) {
    const cri_geom_def *gd = &b->def->geom[g];
    cri_geom *geom = &b->model->geom[g];
    if (gd->shape == CRI_SHAPE_PLANE) {
        cri_pose pose = cri_model_static_pose(b->model, geom->body);
        cri_vec3 z = cri_m3_mul(&geom->R, cri_v3(0.0, 0.0, 1.0));
        geom->normal = cri_m3_mul(&pose.R, z);
        cri_vec3 at = cri_v3_add(pose.pos, cri_m3_mul(&pose.R, geom->pos));
        double offset = cri_v3_dot(geom->normal, at);
        geom->slot_size = add_slots(b, gd->name, "offset", 1, &offset, any_value);
    } else if (geom->shape == CRI_SHAPE_FIELD) {
        add_field(b, g);
    } else {
        geom->slot_size = add_slots(b, gd->name, "size", geom->n_size, gd->size, positive);
    }
    if (gd->has_vertices) {
        geom->slot_vertex = add_slots(b, gd->name, "vertex", 3 * geom->surface.n_vertex,
                                      geom->surface.vertex, any_value);
    }
    geom->slot_friction = add_slots(b, gd->name, "friction", 1, &gd->friction, not_negative);
    geom->slot_restitution =
        add_slots(b, gd->name, "restitution", 1, &gd->restitution, unit_interval);
}

// slots of pairs still hold the place of their definition
static void add_pair(cri_builder *b, cri_geom_pair *pair) {
    char owner[NAME_BYTES];
    // a plane, or the lower body, comes first in a name
    const cri_geom_def *a = &b->def->geom[pair->geom[0]], *c = &b->def->geom[pair->geom[1]];
    bool is_swapped =
        c->shape == CRI_SHAPE_PLANE || (a->shape != CRI_SHAPE_PLANE && a->body >= 0 && c->body < 0);
    snprintf(owner, sizeof owner, "%.120s:%.120s", (is_swapped ? c : a)->name,
             (is_swapped ? a : c)->name);
    if (pair->slot_friction >= 0) {
        const cri_pair_def *pd = &b->def->pair[pair->slot_friction];
        pair->slot_friction = add_slots(b, owner, "friction", 1, &pd->friction, not_negative);
        if (pd->has_two_frictions) {
            pair->slot_friction2 =
                add_slots(b, owner, "friction2", 1, &pd->friction2, not_negative);
        }
        if (pd->has_sides) {
            pair->slot_friction_back =
                add_slots(b, owner, "friction_back", 1, &pd->friction_back, not_negative);
        }
    }
    if (pair->slot_restitution >= 0) {
        double value = b->def->pair[pair->slot_restitution].restitution;
        pair->slot_restitution = add_slots(b, owner, "restitution", 1, &value, unit_interval);
    }
}

// ---- joints, actuators, tendons ----------------------------------------------------------------

static void add_joint(cri_builder *b, int j) {
    const cri_joint_def *jd = &b->def->joint[j];
    const cri_joint *joint = &b->model->mech.joint[j];
    int unit = b->model->mech.link[joint->body].unit;
    b->model->slot_joint[j] = -1;
    if (b->model->mech.unit[unit].is_free_body) {
        return;
    }
    b->model->slot_joint[j] = add_slots(b, jd->name, "stiffness", 1, &jd->stiffness, not_negative);
    add_slots(b, jd->name, "damping", 1, &jd->damping, not_negative);
    add_slots(b, jd->name, "armature", 1, &jd->armature, not_negative);
    if (joint->n_q == 1) {
        add_slots(b, jd->name, "springref", 1, &jd->springref, any_value);
    }
}

// one number for what stands twice in gain and bias, so that nobody changes half a servo
static void add_servo(cri_builder *b, const cri_actuator_def *ad) {
    // a file cannot say less than 0 for kp or kv, but a default for <general> can
    double kp = ad->gain, kv = ad->bias[2] == 0.0 ? 0.0 : -ad->bias[2];
    if (ad->servo == CRI_SERVO_POSITION) {
        CR_ASSERT(ad->bias[1] == -kp);
        add_slots(b, ad->name, "kp", 1, &kp, kp < 0.0 ? any_value : not_negative);
    } else {
        CR_ASSERT(ad->gain == kv);
    }
    add_slots(b, ad->name, "kv", 1, &kv, kv < 0.0 ? any_value : not_negative);
}

static void add_actuator(cri_builder *b, int i) {
    const cri_actuator_def *ad = &b->def->actuator[i];
    const cri_actuator *a = &b->model->mech.actuator[i];
    int n_gear = a->kind == CRI_DRIVE_SITE   ? 6
                 : a->kind == CRI_DRIVE_BALL ? b->model->mech.joint[a->joint].n_v
                                             : 1;
    b->model->n_gear[i] = n_gear;
    b->model->slot_actuator[i] = b->n_p;
    if (ad->servo == CRI_SERVO_GENERAL) {
        add_slots(b, ad->name, "gain", 1, &ad->gain, any_value);
        add_slots(b, ad->name, "bias", 3, ad->bias, any_value);
    } else {
        add_servo(b, ad);
    }
    add_slots(b, ad->name, "gear", n_gear, ad->gear, any_value);
}

// length of a tendon where its joints' springs rest: MuJoCo takes that, and not the reference pose
static double rest_length(const cri_builder *b, const cri_tendon_def *t) {
    double length = 0.0;
    for (int k = 0; k < t->n; k++) {
        length += t->coef[k] * b->def->joint[t->joint[k]].springref;
    }
    return length;
}

// joints have stiffness and damping too: a tendon with the name of one is called tendon:NAME
static const char *tendon_owner(const cri_builder *b, const char *name, char text[NAME_BYTES]) {
    bool is_taken = false;
    for (int j = 0; j < b->def->n_joint && !is_taken; j++) {
        is_taken = strcmp(b->def->joint[j].name, name) == 0;
    }
    snprintf(text, NAME_BYTES, "%s%.120s", is_taken ? "tendon:" : "", name);
    return text;
}

static void add_tendon(cri_builder *b, int i) {
    const cri_tendon_def *t = &b->def->tendon[i];
    char text[NAME_BYTES];
    const char *owner = tendon_owner(b, t->name, text);
    double rest = isnan(t->springlength) ? rest_length(b, t) : t->springlength;
    b->model->slot_tendon[i] = add_slots(b, owner, "stiffness", 1, &t->stiffness, not_negative);
    add_slots(b, owner, "damping", 1, &t->damping, not_negative);
    add_slots(b, owner, "springlength", 1, &rest, any_value);
}

static bool push_slot_arrays(cri_builder *b) {
    const cri_scene_def *def = b->def;
    cr_model *m = b->model;
    b->p_space = 4 + 10 * def->n_body + 6 * def->n_geom + 4 * m->n_pair + 4 * def->n_joint +
                 10 * def->n_actuator + 3 * def->n_tendon + m->n_shape + m->n_corner +
                 cri_build_n_weight(b);
    m->slot = CR_PUSH(b->arena, cri_slot, b->p_space);
    m->slot_joint = CR_PUSH(b->arena, int, def->n_joint);
    m->slot_actuator = CR_PUSH(b->arena, int, def->n_actuator);
    m->n_gear = CR_PUSH(b->arena, int, def->n_actuator);
    m->slot_tendon = CR_PUSH(b->arena, int, def->n_tendon);
    return !cri_arena_has_failed(b->arena);
}

cr_status cri_build_slots(cri_builder *b) {
    const cri_scene_def *def = b->def;
    if (!push_slot_arrays(b)) {
        return cri_build_fail_memory(b);
    }
    CR_TRY(check_masses(b));
    add_slots(b, "", "gravity", 3, def->gravity, any_value);
    for (int i = 0; i < def->n_body; i++) {
        add_body(b, i);
    }
    for (int g = 0; g < def->n_geom; g++) {
        add_geom(b, g);
    }
    for (int k = 0; k < b->model->n_pair; k++) {
        add_pair(b, &b->model->pair[k]);
    }
    for (int j = 0; j < def->n_joint; j++) {
        add_joint(b, j);
    }
    for (int i = 0; i < def->n_actuator; i++) {
        add_actuator(b, i);
    }
    for (int i = 0; i < def->n_tendon; i++) {
        add_tendon(b, i);
    }
    b->model->slot_mu = -1;
    if (def->potential.has_mu) {
        b->model->slot_mu = add_slots(b, "potential", "mu", 1, &def->potential.mu, positive);
    }
    CR_TRY(cri_build_nets(b));
    return cri_arena_has_failed(b->arena) ? cri_build_fail_memory(b) : CR_OK;
}

// ---- names -------------------------------------------------------------------------------------

static void name_state(cri_builder *b) {
    cr_model *m = b->model;
    const cri_mechanism *mech = &m->mech;
    for (int i = 0; i < mech->n_body; i++) {
        const char *name = b->def->body[i].name;
        int n_q = 0, n_v = 0;
        m->body_name[i] = cri_arena_push_text(b->arena, name);
        for (int k = 0; k < mech->link[i].n_joint; k++) {
            const cri_joint *j = &mech->joint[mech->link[i].first_joint + k];
            for (int e = 0; e < j->n_q; e++) {
                m->x_name[j->q + e] = joined(b->arena, name, "qpos", n_q++);
            }
            for (int e = 0; e < j->n_v; e++) {
                m->x_name[mech->n_q + j->v + e] = joined(b->arena, name, "qvel", n_v++);
            }
        }
    }
    for (int g = 0; g < b->def->n_geom; g++) {
        m->geom_name[g] = cri_arena_push_text(b->arena, b->def->geom[g].name);
    }
    for (int i = 0; i < b->def->n_site; i++) {
        m->site_name[i] = cri_arena_push_text(b->arena, b->def->site[i].name);
    }
}

static void name_control(cri_builder *b) {
    cr_model *m = b->model;
    const cri_mechanism *mech = &m->mech;
    for (int i = 0; i < mech->n_actuator; i++) {
        m->u_name[i] = cri_arena_push_text(b->arena, b->def->actuator[i].name);
    }
    for (int k = 0; k < mech->n_joint; k++) {
        const cri_joint *j = &mech->joint[k];
        const char *name = m->joint_name[k] = cri_arena_push_text(b->arena, b->def->joint[k].name);
        const char **u = m->u_name + mech->n_actuator + j->v;
        for (int e = 0; e < j->n_v; e++) {
            switch (j->kind) {
            case CRI_JOINT_FREE:
                u[e] =
                    joined(b->arena, b->def->body[j->body].name, e < 3 ? "force" : "torque", e % 3);
                break;
            case CRI_JOINT_BALL:
                u[e] = joined(b->arena, name, "torque", e);
                break;
            case CRI_JOINT_HINGE:
                u[e] = joined(b->arena, name, "torque", -1);
                break;
            case CRI_JOINT_SLIDE:
                u[e] = joined(b->arena, name, "force", -1);
                break;
            }
        }
    }
}

static void place_state(const cri_builder *b) {
    const cri_mechanism *mech = &b->model->mech;
    for (int k = 0; k < mech->n_joint; k++) {
        const cri_joint *j = &mech->joint[k];
        double *q = b->model->x_placed + j->q;
        switch (j->kind) {
        case CRI_JOINT_FREE:
            cri_v3_store(mech->link[j->body].pos, q);
            cri_q4_store(mech->link[j->body].quat, q + 3);
            break;
        case CRI_JOINT_BALL:
            q[0] = 1.0;
            break;
        case CRI_JOINT_HINGE:
        case CRI_JOINT_SLIDE:
            q[0] = j->ref;
            break;
        }
    }
}

static cr_status build_key(cri_builder *b, int k) {
    const cri_key_def *kd = &b->def->key[k];
    cr_model *m = b->model;
    int n_q = m->mech.n_q, n_v = m->mech.n_v, n_a = m->mech.n_actuator;
    if ((kd->qpos && kd->n_qpos != n_q) || (kd->qvel && kd->n_qvel != n_v) ||
        (kd->ctrl && kd->n_ctrl != n_a)) {
        return cri_build_fail(b, CR_ERR_SYNTAX, kd->place,
                              "key %.40s: qpos needs %d values, qvel %d and ctrl %d (found %d, %d, "
                              "%d)",
                              kd->name, n_q, n_v, n_a, kd->n_qpos, kd->n_qvel, kd->n_ctrl);
    }
    double *x = CR_PUSH(b->arena, double, n_q + n_v);
    double *u = CR_PUSH(b->arena, double, m->mech.n_u);
    m->key[k] = (cri_key){.name = cri_arena_push_text(b->arena, kd->name), .x = x, .u = u};
    if (!x || !u) {
        return cri_build_fail_memory(b);
    }
    memcpy(x, kd->qpos ? kd->qpos : m->x_placed, sizeof(double) * (size_t)n_q);
    if (kd->qvel) {
        memcpy(x + n_q, kd->qvel, sizeof(double) * (size_t)n_v);
    }
    if (kd->ctrl) {
        memcpy(u, kd->ctrl, sizeof(double) * (size_t)n_a);
    }
    int joint = cri_model_normalise(m, x);
    if (joint >= 0) {
        return cri_build_fail(b, CR_ERR_SYNTAX, kd->place,
                              "key %.40s: the quaternion of body %.40s is zero", kd->name,
                              b->def->body[m->mech.joint[joint].body].name);
    }
    return CR_OK;
}

cr_status cri_build_names(cri_builder *b) {
    const cri_scene_def *def = b->def;
    cr_model *m = b->model;
    int n_q = m->mech.n_q, n_v = m->mech.n_v;
    m->sizes = (cr_sizes){.n_p = b->n_p,
                          .n_x = n_q + n_v,
                          .n_u = m->mech.n_u,
                          .n_q = n_q,
                          .n_v = n_v,
                          .n_tangent = 2 * n_v,
                          .n_body = def->n_body,
                          .n_geom = def->n_geom,
                          .n_key = def->n_key,
                          .dt = def->dt};
    m->x_name = CR_PUSH(b->arena, const char *, n_q + n_v);
    m->u_name = CR_PUSH(b->arena, const char *, m->mech.n_u);
    m->site_name = CR_PUSH(b->arena, const char *, def->n_site);
    m->body_name = CR_PUSH(b->arena, const char *, def->n_body);
    m->geom_name = CR_PUSH(b->arena, const char *, def->n_geom);
    m->joint_name = CR_PUSH(b->arena, const char *, def->n_joint);
    m->x_placed = CR_PUSH(b->arena, double, n_q + n_v);
    m->key = CR_PUSH(b->arena, cri_key, def->n_key);
    if (cri_arena_has_failed(b->arena)) {
        return cri_build_fail_memory(b);
    }
    name_state(b);
    name_control(b);
    place_state(b);
    for (int k = 0; k < def->n_key; k++) {
        CR_TRY(build_key(b, k));
    }
    for (int i = 0; i < b->n_p; i++) {
        const cri_slot *s = &m->slot[i];
        if (!isfinite(s->value) || (s->is_open_lower && !(s->value > s->lower))) {
            return cri_build_fail(b, CR_ERR_SYNTAX, (cri_place){0},
                                  "%s comes to %g; check size, mass and density", s->name,
                                  s->value);
        }
    }
    return CR_OK;
}
