// SPDX-License-Identifier: MIT
//
// Fixed tendons and equalities of an MJCF scene.
//
//   <fixed>    length = sum coef q
//   <connect>  anchor (frame of body1) stays where it is in body2 at the start
//   <weld>     body2 keeps its pose relpose in body1, or that at the start
//   <joint>    q1 = poly(q2), or q1 = polycoef[0], in displacements from ref
//   <tendon>   the same with lengths
// Equalities are rigid: solref and solimp have no effect.

#include "model/scene/mjcf_parts.h"

#include <math.h>
#include <string.h>

const cri_mjcf_rules cri_mjcf_tendon_rules = {
    .read = "name class limited range stiffness damping springlength solreflimit solimplimit",
    .ignored = "group width material rgba user margin solreffriction solimpfriction "
               "actuatorfrclimited",
    .fixed = "frictionloss=0 armature=0",
    .refused = "actuatorfrcrange",
    .remedy = "tendons have stiffness, damping and a range only; remove it",
};

const cri_mjcf_rules cri_mjcf_equality_rules = {
    .read = "name class active body1 body2 site1 site2 anchor relpose joint1 joint2 tendon1 "
            "tendon2 polycoef",
    .ignored = "solref solimp torquescale",
};

// ---- tendons -----------------------------------------------------------------------------------

static cr_status read_joints(cri_mjcf *m, const cri_xml_node *node, cri_tendon_def *t) {
    static const cri_mjcf_rules rules = {.read = "joint coef"};
    CR_TRY(cri_mjcf_check_children(m, node, "joint"));
    int n = 0;
    for (const cri_xml_node *child = node->child; child; child = child->next) {
        n++;
    }
    if (n == 0) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "has no joints: add <joint joint coef/>");
    }
    t->joint = CR_PUSH(m->def->memory, int, n);
    t->coef = CR_PUSH(m->def->memory, double, n);
    if (!t->joint || !t->coef) {
        return cri_mjcf_fail_memory(m);
    }
    for (const cri_xml_node *child = node->child; child; child = child->next) {
        cri_mjcf_elem e = cri_mjcf_bare(child);
        CR_TRY(cri_mjcf_check_attrs(m, child, &rules));
        CR_TRY(cri_mjcf_find(m, child, "joint", CRI_MJCF_JOINTS, &t->joint[t->n]));
        cri_joint_kind kind = m->def->joint[t->joint[t->n]].kind;
        if (kind != CRI_JOINT_HINGE && kind != CRI_JOINT_SLIDE) {
            return cri_mjcf_fail(m, CR_ERR_SYNTAX, child,
                                 "joint=\"%.40s\" is neither hinge nor slide: use one",
                                 cri_xml_get(child, "joint"));
        }
        CR_TRY(cri_mjcf_numbers(m, &e, "coef", 1, 1, &t->coef[t->n], NULL));
        t->n++;
    }
    return CR_OK;
}

static cr_status read_springlength(const cri_mjcf *m, const cri_mjcf_elem *e, cri_tendon_def *t) {
    // -1: where the springs of its joints rest
    double length[2] = {-1.0, -1.0};
    int n;
    CR_TRY(cri_mjcf_numbers(m, e, "springlength", 1, 2, length, &n));
    if (n == 2 && length[0] != length[1]) {
        return cri_mjcf_fail(m, CR_ERR_UNSUPPORTED, e->node,
                             "springlength with a dead band is not supported: give one length");
    }
    t->springlength = length[0] == -1.0 ? NAN : length[0];
    return CR_OK;
}

static cr_status add_tendon(cri_mjcf *m, const cri_xml_node *node) {
    cri_scene_def *def = m->def;
    if (strcmp(node->name, "fixed") != 0) {
        return cri_mjcf_fail_element(m, node,
                                     "tendons are <fixed> combinations of joints; use one");
    }
    cri_tendon_def t = {.place = cri_mjcf_place(node)};
    cri_mjcf_elem e;
    CR_TRY(cri_mjcf_open(m, node, CRI_MJCF_TENDON, &cri_mjcf_tendon_rules, NULL, &e));
    CR_TRY(cri_mjcf_limits(m, &e, "limited", "range", 1.0, t.range));
    CR_TRY(cri_mjcf_amount(m, &e, "stiffness", &t.stiffness));
    CR_TRY(cri_mjcf_amount(m, &e, "damping", &t.damping));
    CR_TRY(cri_mjcf_softness(m, &e, true, &t.softness));
    CR_TRY(read_springlength(m, &e, &t));
    CR_TRY(read_joints(m, node, &t));
    CR_TRY(cri_mjcf_name(m, node, "", "tendon", def->n_tendon, &t.name));
    cri_tendon_def *list = cri_scene_def_grow(def, def->tendon, def->n_tendon, sizeof *list);
    if (!list) {
        return cri_mjcf_fail_memory(m);
    }
    def->tendon = list;
    def->tendon[def->n_tendon++] = t;
    return CR_OK;
}

cr_status cri_mjcf_read_tendons(cri_mjcf *m, const cri_xml_node *root) {
    for (const cri_xml_node *section = root->child; section; section = section->next) {
        if (strcmp(section->name, "tendon") != 0) {
            continue;
        }
        CR_TRY(cri_mjcf_check_attrs(m, section, &(cri_mjcf_rules){0}));
        for (const cri_xml_node *node = section->child; node; node = node->next) {
            CR_TRY(add_tendon(m, node));
        }
    }
    return cri_mjcf_check_names(m, CRI_MJCF_TENDONS);
}

// ---- equalities --------------------------------------------------------------------------------

static cr_status read_bodies(const cri_mjcf *m, const cri_xml_node *node, cri_equality_def *q) {
    CR_TRY(cri_mjcf_find(m, node, "body1", CRI_MJCF_BODIES, &q->object[0]));
    if (cri_xml_get(node, "body2")) {
        CR_TRY(cri_mjcf_find(m, node, "body2", CRI_MJCF_BODIES, &q->object[1]));
    }
    if (q->object[0] == q->object[1]) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "links a body to itself: name another one");
    }
    return CR_OK;
}

static cr_status read_connect(const cri_mjcf *m, const cri_mjcf_elem *e, cri_equality_def *q) {
    const cri_xml_node *node = e->node;
    if (cri_xml_get(node, "site1") || cri_xml_get(node, "site2")) {
        return cri_mjcf_fail(m, CR_ERR_UNSUPPORTED, node,
                             "between sites is not supported: use body1, body2 and anchor");
    }
    CR_TRY(read_bodies(m, node, q));
    if (!cri_mjcf_get(e, "anchor", NULL)) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "has no anchor: give a point in body1");
    }
    q->kind = CRI_EQUALITY_CONNECT;
    q->has_anchor = true;
    return cri_mjcf_vec3(m, e, "anchor", &q->anchor[0]);
}

// relative pose of the bodies of two sites that shall coincide: T(site1) T(site2)^-1
static cr_status read_sites(const cri_mjcf *m, const cri_xml_node *node, cri_equality_def *q) {
    int site[2];
    CR_TRY(cri_mjcf_find(m, node, "site1", CRI_MJCF_SITES, &site[0]));
    CR_TRY(cri_mjcf_find(m, node, "site2", CRI_MJCF_SITES, &site[1]));
    const cri_site_def *a = &m->def->site[site[0]];
    const cri_site_def *b = &m->def->site[site[1]];
    if (a->body == b->body) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "links a body to itself: name another site");
    }
    q->object[0] = a->body;
    q->object[1] = b->body;
    q->has_relative = true;
    q->relative = cri_quat_mul(a->quat, (cri_quat){b->quat.w, -b->quat.x, -b->quat.y, -b->quat.z});
    q->relative_pos = cri_v3_sub(a->pos, cri_mjcf_rotate(q->relative, b->pos));
    return CR_OK;
}

static cr_status read_weld(const cri_mjcf *m, const cri_mjcf_elem *e, cri_equality_def *q) {
    const cri_xml_node *node = e->node;
    q->kind = CRI_EQUALITY_WELD;
    if (cri_xml_get(node, "site1") || cri_xml_get(node, "site2")) {
        return read_sites(m, node, q);
    }
    CR_TRY(read_bodies(m, node, q));
    // where the weld is held has no effect on a rigid one
    q->has_anchor = cri_mjcf_get(e, "anchor", NULL) != NULL;
    CR_TRY(cri_mjcf_vec3(m, e, "anchor", &q->anchor[1]));
    double pose[7] = {0};
    CR_TRY(cri_mjcf_numbers(m, e, "relpose", 7, 7, pose, NULL));
    // a zero quaternion stands for the pose at the start
    q->has_relative = cri_mjcf_normalise(4, pose + 3);
    if (q->has_relative) {
        q->relative_pos = cri_v3_load(pose);
        q->relative = cri_q4_load(pose + 3);
    }
    return CR_OK;
}

// joints or tendons, second one optional
static cr_status read_scalars(const cri_mjcf *m, const cri_mjcf_elem *e, cri_mjcf_kind kind,
                              cri_equality_def *q) {
    const cri_xml_node *node = e->node;
    bool is_joint = kind == CRI_MJCF_JOINTS;
    const char *const attr[2] = {is_joint ? "joint1" : "tendon1", is_joint ? "joint2" : "tendon2"};
    q->kind = is_joint ? CRI_EQUALITY_JOINT : CRI_EQUALITY_TENDON;
    for (int k = 0; k < 2; k++) {
        if (k == 1 && !cri_xml_get(node, attr[1])) {
            break;
        }
        CR_TRY(cri_mjcf_find(m, node, attr[k], kind, &q->object[k]));
        cri_joint_kind joint = is_joint ? m->def->joint[q->object[k]].kind : CRI_JOINT_HINGE;
        if (joint != CRI_JOINT_HINGE && joint != CRI_JOINT_SLIDE) {
            return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                                 "%s=\"%.40s\" is neither hinge nor slide: use one", attr[k],
                                 cri_xml_get(node, attr[k]));
        }
    }
    if (q->object[0] == q->object[1]) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "has %s and %s alike: name another one",
                             attr[0], attr[1]);
    }
    q->poly[1] = 1.0;
    return cri_mjcf_numbers(m, e, "polycoef", 5, 5, q->poly, NULL);
}

static cr_status read_equality(const cri_mjcf *m, const cri_mjcf_elem *e, cri_equality_def *q) {
    const char *name = e->node->name;
    if (strcmp(name, "connect") == 0) {
        return read_connect(m, e, q);
    }
    if (strcmp(name, "weld") == 0) {
        return read_weld(m, e, q);
    }
    if (strcmp(name, "joint") == 0) {
        return read_scalars(m, e, CRI_MJCF_JOINTS, q);
    }
    return read_scalars(m, e, CRI_MJCF_TENDONS, q);
}

static cr_status add_equality(cri_mjcf *m, const cri_xml_node *node) {
    cri_scene_def *def = m->def;
    cri_equality_def q = {
        .object = {-1, -1}, .relative = {1, 0, 0, 0}, .place = cri_mjcf_place(node)};
    cri_mjcf_elem e;
    bool is_active = true;
    if (!cri_mjcf_is_word("connect weld joint tendon", node->name)) {
        return cri_mjcf_fail_element(m, node, "equalities are connect, weld, joint and tendon");
    }
    CR_TRY(cri_mjcf_open(m, node, CRI_MJCF_EQUALITY, &cri_mjcf_equality_rules, NULL, &e));
    CR_TRY(cri_mjcf_check_children(m, node, NULL));
    CR_TRY(cri_mjcf_bool(m, &e, "active", &is_active));
    CR_TRY(read_equality(m, &e, &q));
    if (!is_active) {
        return CR_OK;
    }
    CR_TRY(cri_mjcf_name(m, node, "", "equality", def->n_equality, &q.name));
    cri_equality_def *list = cri_scene_def_grow(def, def->equality, def->n_equality, sizeof *list);
    if (!list) {
        return cri_mjcf_fail_memory(m);
    }
    def->equality = list;
    def->equality[def->n_equality++] = q;
    return CR_OK;
}

cr_status cri_mjcf_read_equalities(cri_mjcf *m, const cri_xml_node *root) {
    for (const cri_xml_node *section = root->child; section; section = section->next) {
        if (strcmp(section->name, "equality") != 0) {
            continue;
        }
        CR_TRY(cri_mjcf_check_attrs(m, section, &(cri_mjcf_rules){0}));
        for (const cri_xml_node *node = section->child; node; node = node->next) {
            CR_TRY(add_equality(m, node));
        }
    }
    return cri_mjcf_check_names(m, CRI_MJCF_EQUALITIES);
}
