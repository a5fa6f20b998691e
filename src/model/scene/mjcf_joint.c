// SPDX-License-Identifier: MIT
//
// Joints of an MJCF scene.
//
// Angles of hinges and balls (range, ref, springref) are in the file's unit; pos and axis inside a
// <frame> move with it.

#include "model/scene/mjcf_parts.h"

#include <math.h>
#include <string.h>

#define REMEDY "joints have linear springs and damping only; use damping or remove it"

const cri_mjcf_rules cri_mjcf_joint_rules = {
    .read = "name class type pos axis range limited stiffness damping armature ref springref "
            "actuatorfrcrange actuatorfrclimited margin solreflimit solimplimit",
    .ignored = "group user solreffriction solimpfriction actuatorgravcomp",
    .fixed = "frictionloss=0 springdamper=0",
    .remedy = REMEDY,
};

static const cri_mjcf_rules freejoint_rules = {.read = "name", .ignored = "group align class user"};

// what joints do not have
static cr_status check_joint(const cri_mjcf *m, const cri_mjcf_elem *e) {
    const cri_xml_node *from = e->node;
    if (cri_mjcf_get(e, "actuatorfrcrange", &from)) {
        return cri_mjcf_fail(m, CR_ERR_UNSUPPORTED, from,
                             "actuatorfrcrange is not simulated: use forcerange of the actuators");
    }
    return CR_OK;
}

static cr_status read_axis(const cri_mjcf *m, const cri_mjcf_elem *e, const cri_mjcf_scope *scope,
                           cri_joint_def *joint) {
    double axis[3] = {0, 0, 1};
    CR_TRY(cri_mjcf_numbers(m, e, "axis", 3, 3, axis, NULL));
    if (!cri_mjcf_normalise(3, axis)) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, e->node, "axis is zero: give a direction");
    }
    joint->axis = cri_mjcf_rotate(scope->quat, cri_v3_load(axis));
    return CR_OK;
}

static cr_status read_range(const cri_mjcf *m, const cri_mjcf_elem *e, double unit,
                            cri_joint_def *joint) {
    CR_TRY(cri_mjcf_limits(m, e, "limited", "range", unit, joint->range));
    bool is_limited = isfinite(joint->range[0]);
    if (joint->kind == CRI_JOINT_FREE && is_limited) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, e->node, "is free and limited: remove one");
    }
    if (joint->kind == CRI_JOINT_BALL && is_limited && joint->range[0] != 0.0) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, e->node,
                             "range of a ball begins at %g, expected 0 and the largest angle",
                             joint->range[0] / unit);
    }
    return CR_OK;
}

static cr_status read_joint(const cri_mjcf *m, const cri_mjcf_elem *e, const cri_mjcf_scope *scope,
                            cri_joint_def *joint) {
    static const cri_joint_kind kinds[] = {CRI_JOINT_FREE, CRI_JOINT_BALL, CRI_JOINT_SLIDE,
                                           CRI_JOINT_HINGE};
    int type = 3;
    CR_TRY(cri_mjcf_choice(m, e, "type", "free ball slide hinge", &type));
    joint->kind = kinds[type];
    bool is_hinge = joint->kind == CRI_JOINT_HINGE;
    bool is_slide = joint->kind == CRI_JOINT_SLIDE;
    double unit = is_slide ? 1.0 : m->set.angle_unit;
    CR_TRY(read_axis(m, e, scope, joint));
    CR_TRY(cri_mjcf_vec3(m, e, "pos", &joint->pos));
    joint->pos = cri_v3_add(scope->pos, cri_mjcf_rotate(scope->quat, joint->pos));
    if (joint->kind == CRI_JOINT_FREE) {
        joint->pos = cri_v3(0, 0, 0);
    }
    CR_TRY(read_range(m, e, unit, joint));
    CR_TRY(cri_mjcf_amount(m, e, "stiffness", &joint->stiffness));
    CR_TRY(cri_mjcf_amount(m, e, "damping", &joint->damping));
    CR_TRY(cri_mjcf_amount(m, e, "armature", &joint->armature));
    CR_TRY(cri_mjcf_numbers(m, e, "ref", 1, 1, &joint->ref, NULL));
    CR_TRY(cri_mjcf_numbers(m, e, "springref", 1, 1, &joint->springref, NULL));
    joint->ref = is_hinge || is_slide ? unit * joint->ref : 0.0;
    joint->springref = is_hinge || is_slide ? unit * joint->springref : 0.0;
    return CR_OK;
}

// what joints a body may have, as in MuJoCo
static cr_status check_joints(const cri_mjcf *m, const cri_xml_node *node,
                              const cri_joint_def *joint, const cri_mjcf_scope *scope) {
    const cri_scene_def *def = m->def;
    const cri_joint_def *before = def->n_joint > 0 ? &def->joint[def->n_joint - 1] : NULL;
    if (before && before->body != joint->body) {
        before = NULL;
    }
    bool is_free = joint->kind == CRI_JOINT_FREE;
    if (before && (is_free || before->kind == CRI_JOINT_FREE)) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                             "is the second of a body with a free joint, after line %d: remove one",
                             before->place.line);
    }
    if (is_free && def->body[scope->body].parent >= 0) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                             "is free in a body inside another: move the body to <worldbody>");
    }
    if (before && before->kind == CRI_JOINT_BALL && joint->kind != CRI_JOINT_SLIDE) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                             "turns a body after its ball joint of line %d: remove one",
                             before->place.line);
    }
    return CR_OK;
}

cr_status cri_mjcf_add_joint(cri_mjcf *m, const cri_xml_node *node, const cri_mjcf_scope *scope) {
    CR_ASSERT(scope->body < m->def->n_body);
    cri_scene_def *def = m->def;
    if (scope->body < 0) {
        return cri_mjcf_fail_element(m, node, "the world has no joints; move it into a <body>");
    }
    CR_TRY(cri_mjcf_check_children(m, node, NULL));
    cri_joint_def joint = {.body = scope->body,
                           .kind = CRI_JOINT_FREE,
                           .axis = {0, 0, 1},
                           .range = {-INFINITY, INFINITY},
                           .place = cri_mjcf_place(node)};
    if (strcmp(node->name, "freejoint") == 0) {
        CR_TRY(cri_mjcf_check_attrs(m, node, &freejoint_rules));
    } else {
        cri_mjcf_elem e;
        CR_TRY(cri_mjcf_open(m, node, CRI_MJCF_JOINT, &cri_mjcf_joint_rules, scope->usual, &e));
        CR_TRY(read_joint(m, &e, scope, &joint));
        CR_TRY(check_joint(m, &e));
        CR_TRY(cri_mjcf_softness(m, &e, true, &joint.softness));
    }
    CR_TRY(check_joints(m, node, &joint, scope));
    CR_TRY(cri_mjcf_name(m, node, scope->suffix, "joint", def->n_joint, &joint.name));
    cri_joint_def *list = cri_scene_def_grow(def, def->joint, def->n_joint, sizeof *list);
    if (!list) {
        return cri_mjcf_fail_memory(m);
    }
    def->joint = list;
    def->joint[def->n_joint++] = joint;
    return CR_OK;
}
