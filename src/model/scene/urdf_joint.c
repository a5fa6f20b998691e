// SPDX-License-Identifier: MIT
//
// <joint>: the frame of its child, axis, range, damping, mimic.
//
// The joint's frame is that of its child, so anchors are at the origin and axes in the child's
// frame. <mimic> is an equality q = multiplier other + offset.

#include <math.h>
#include <string.h>

#include "model/scene/urdf_parts.h"

static cr_status read_axis(const cri_urdf *u, const cri_xml_node *node, cri_vec3 *out) {
    double axis[3] = {1.0, 0.0, 0.0};
    const cri_xml_node *child = cri_urdf_child(node, "axis");
    if (child) {
        CR_TRY(cri_urdf_numbers(u, child, "xyz", 3, axis, NULL));
    }
    if (!cri_urdf_normalise(axis)) {
        return cri_urdf_fail(u, CR_ERR_SYNTAX, child, "xyz is zero: an axis needs a direction");
    }
    *out = cri_v3_load(axis);
    return CR_OK;
}

// lower and upper; what is left out of the two is zero, as URDF says
static cr_status read_range(const cri_urdf *u, const cri_xml_node *node, const cri_xml_node *limit,
                            double range[2]) {
    bool has_lower = false;
    bool has_upper = false;
    range[0] = 0.0;
    range[1] = 0.0;
    if (limit) {
        CR_TRY(cri_urdf_numbers(u, limit, "lower", 1, &range[0], &has_lower));
        CR_TRY(cri_urdf_numbers(u, limit, "upper", 1, &range[1], &has_upper));
    }
    if (!has_lower && !has_upper) {
        return cri_urdf_fail(u, CR_ERR_SYNTAX, node,
                             "has no range: add <limit lower=\"...\" upper=\"...\"/>, or make it "
                             "continuous or fixed");
    }
    if (!(range[0] < range[1])) {
        return cri_urdf_fail(u, CR_ERR_SYNTAX, limit,
                             "lower %g is not below upper %g: exchange them, or make the joint "
                             "fixed",
                             range[0], range[1]);
    }
    return CR_OK;
}

static cr_status read_details(cri_urdf *u, const cri_xml_node *node, bool has_range,
                              cri_joint_def *joint) {
    CR_TRY(read_axis(u, node, &joint->axis));
    const cri_xml_node *limit = cri_urdf_child(node, "limit");
    if (has_range) {
        CR_TRY(read_range(u, node, limit, joint->range));
    }
    u->note[CRI_URDF_EFFORT] += limit && cri_xml_get(limit, "effort");

    const cri_xml_node *dynamics = cri_urdf_child(node, "dynamics");
    if (dynamics) {
        double friction = 0.0;
        CR_TRY(cri_urdf_numbers(u, dynamics, "damping", 1, &joint->damping, NULL));
        CR_TRY(cri_urdf_numbers(u, dynamics, "friction", 1, &friction, NULL));
        if (joint->damping < 0.0) {
            return cri_urdf_fail(u, CR_ERR_SYNTAX, dynamics, "damping %g must not be negative",
                                 joint->damping);
        }
        u->note[CRI_URDF_FRICTION] += friction > 0.0;
    }
    return CR_OK;
}

static cr_status check_children(cri_urdf *u, const cri_xml_node *node) {
    for (const cri_xml_node *child = node->child; child; child = child->next) {
        if (cri_urdf_is_extension("safety_controller calibration gazebo sensor", child)) {
            u->note[CRI_URDF_EXTENSION]++;
        } else if (!cri_urdf_is_word("origin parent child axis limit dynamics mimic",
                                     child->name)) {
            return cri_urdf_fail(u, CR_ERR_UNSUPPORTED, child,
                                 "is not known in a joint: check its spelling or remove it");
        }
    }
    return CR_OK;
}

static cr_status push_joint(cri_urdf *u, cri_urdf_joint *joint, const cri_joint_def *row) {
    cri_scene_def *def = u->def;
    def->joint = cri_scene_def_grow(def, def->joint, def->n_joint, sizeof *def->joint);
    char *name = cri_arena_push_text(def->memory, joint->name);
    if (!def->joint || !name) {
        return cri_urdf_fail_memory(u);
    }
    joint->number = def->n_joint++;
    def->joint[joint->number] = *row;
    def->joint[joint->number].name = name;
    return CR_OK;
}

static cr_status fail_floating(const cri_urdf *u, const cri_urdf_joint *joint) {
    return cri_urdf_fail(u, CR_ERR_UNSUPPORTED, joint->node,
                         "of type floating starts at the link '%.*s': only a link named world may "
                         "carry one",
                         CRI_URDF_SHOWN, u->link[joint->parent].name);
}

cr_status cri_urdf_read_joint(cri_urdf *u, cri_urdf_joint *joint, cri_body_def *body) {
    CR_ASSERT(joint->parent >= 0 && joint->child >= 0 && body);
    const cri_xml_node *node = joint->node;
    CR_TRY(check_children(u, node));
    CR_TRY(cri_urdf_origin(u, node, &body->pos, &body->quat));
    const char *type;
    CR_TRY(cri_urdf_need(u, node, "type", &type));
    cri_joint_def row = {.body = u->link[joint->child].body,
                         .axis = {0.0, 0.0, 1.0},
                         .range = {-INFINITY, INFINITY},
                         .place = {u->def->file, node->line}};
    if (strcmp(type, "fixed") == 0) {
        return CR_OK;
    }
    if (strcmp(type, "floating") == 0) {
        row.kind = CRI_JOINT_FREE;
        return body->parent < 0 ? push_joint(u, joint, &row) : fail_floating(u, joint);
    }
    if (cri_urdf_is_word("revolute continuous", type)) {
        row.kind = CRI_JOINT_HINGE;
        CR_TRY(read_details(u, node, *type == 'r', &row));
        return push_joint(u, joint, &row);
    }
    if (strcmp(type, "prismatic") == 0) {
        row.kind = CRI_JOINT_SLIDE;
        CR_TRY(read_details(u, node, true, &row));
        return push_joint(u, joint, &row);
    }
    if (strcmp(type, "planar") == 0) {
        return cri_urdf_fail(u, CR_ERR_UNSUPPORTED, node,
                             "of type planar is not read: use MJCF with two slides and a hinge");
    }
    return cri_urdf_fail(u, CR_ERR_SYNTAX, node,
                         "has the unknown type '%.*s': use fixed, revolute, continuous, prismatic "
                         "or floating",
                         CRI_URDF_SHOWN, type);
}

// ---- mimic -------------------------------------------------------------------------------------

static bool is_scalar(const cri_urdf *u, int number) {
    return number >= 0 && u->def->joint[number].kind != CRI_JOINT_FREE;
}

static cr_status read_mimic(cri_urdf *u, const cri_urdf_joint *joint, const cri_xml_node *node) {
    const char *other;
    CR_TRY(cri_urdf_need(u, node, "joint", &other));
    int i = cri_urdf_find_joint(u, other);
    if (i < 0) {
        return cri_urdf_fail(u, CR_ERR_SYNTAX, node,
                             "names the joint '%.*s', which does not exist: check its spelling",
                             CRI_URDF_SHOWN, other);
    }
    int number = u->joint[i].number;
    if (number == joint->number || !is_scalar(u, number) || !is_scalar(u, joint->number)) {
        return cri_urdf_fail(u, CR_ERR_SYNTAX, node,
                             "ties '%.*s' to '%.*s': both must be different revolute, continuous "
                             "or prismatic joints",
                             CRI_URDF_SHOWN, joint->name, CRI_URDF_SHOWN, other);
    }
    double multiplier = 1.0;
    double offset = 0.0;
    CR_TRY(cri_urdf_numbers(u, node, "multiplier", 1, &multiplier, NULL));
    CR_TRY(cri_urdf_numbers(u, node, "offset", 1, &offset, NULL));
    cri_scene_def *def = u->def;
    def->equality = cri_scene_def_grow(def, def->equality, def->n_equality, sizeof *def->equality);
    if (!def->equality) {
        return cri_urdf_fail_memory(u);
    }
    def->equality[def->n_equality++] = (cri_equality_def){.name = def->joint[joint->number].name,
                                                          .kind = CRI_EQUALITY_JOINT,
                                                          .object = {joint->number, number},
                                                          .relative = {1.0, 0.0, 0.0, 0.0},
                                                          .poly = {offset, multiplier},
                                                          .place = {def->file, node->line}};
    u->note[CRI_URDF_MIMIC]++;
    return CR_OK;
}

cr_status cri_urdf_read_mimics(cri_urdf *u) {
    for (int i = 0; i < u->n_joint; i++) {
        const cri_xml_node *node = cri_urdf_child(u->joint[i].node, "mimic");
        if (node) {
            CR_TRY(read_mimic(u, &u->joint[i], node));
        }
    }
    return CR_OK;
}
