// SPDX-License-Identifier: MIT
//
// Joints of an MJCF scene, and what ties and drives them: tendons, equalities and actuators.
//
// Angles of hinges and balls (range, ref, springref) are in the file's unit; pos and axis inside a
// <frame> move with it.

#include "model/scene/mjcf.h"

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

#define SHARED_READ                                                                                \
    "name class ctrllimited ctrlrange forcelimited forcerange gear joint jointinparent tendon "    \
    "site "                                                                                        \
    "refsite "
#define SHARED_IGNORED "group user lengthrange actlimited actrange"
#define SHARED_REFUSED " slidersite cranksite cranklength body plugin"
#define SHARED_REMEDY "actuators act on a joint, a fixed tendon or a site, without activation"

static const cri_mjcf_rules motor_rules = {
    .read = SHARED_READ,
    .ignored = SHARED_IGNORED,
    .refused = SHARED_REFUSED,
    .remedy = SHARED_REMEDY,
};

static const cri_mjcf_rules position_rules = {
    .read = SHARED_READ "kp kv inheritrange",
    .ignored = SHARED_IGNORED,
    .fixed = "timeconst=0 dampratio=0",
    .refused = SHARED_REFUSED,
    .remedy = "give kp and kv as numbers; " SHARED_REMEDY,
};

static const cri_mjcf_rules velocity_rules = {
    .read = SHARED_READ "kv",
    .ignored = SHARED_IGNORED,
    .refused = SHARED_REFUSED,
    .remedy = SHARED_REMEDY,
};

static const cri_mjcf_rules general_rules = {
    .read = SHARED_READ "gaintype biastype dyntype gainprm biasprm",
    .ignored = SHARED_IGNORED " dynprm actearly",
    .fixed = "actdim=-1",
    .refused = SHARED_REFUSED,
    .remedy = SHARED_REMEDY,
};

// what layers have left so far
typedef struct servo {
    double gain;
    double bias[3];
    bool is_affine;   // bias acts
    bool is_position; // the last bias was one of <position>, which keeps its kv
} servo;

// ---- joints -------------------------------------------------------------------------------------

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

// ---- tendons and equalities ---------------------------------------------------------------------

// Fixed tendons and equalities of an MJCF scene.
//
//   <fixed>    length = sum coef q
//   <connect>  anchor (frame of body1) stays where it is in body2 at the start
//   <weld>     body2 keeps its pose relpose in body1, or that at the start
//   <joint>    q1 = poly(q2), or q1 = polycoef[0], in displacements from ref
//   <tendon>   the same with lengths
// Equalities are rigid: solref and solimp have no effect.

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

// ---- actuators ----------------------------------------------------------------------------------

// Actuators of an MJCF scene.
//
//   force = gain u + bias[0] + bias[1] length + bias[2] velocity
//   motor      gain 1, no bias
//   position   gain kp, bias 0 -kp -kv
//   velocity   gain kv, bias 0 0 -kv
//   general    gainprm[0], and biasprm with biastype affine
// As in MuJoCo all kinds share one default, laid over each other from the weakest on: the kp of a
// position is the gain that a default left.

const cri_mjcf_rules *cri_mjcf_actuator_rules(const char *name) {
    static const struct {
        const char *name;
        const cri_mjcf_rules *rules;
    } table[] = {{"motor", &motor_rules},
                 {"position", &position_rules},
                 {"velocity", &velocity_rules},
                 {"general", &general_rules}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (strcmp(table[i].name, name) == 0) {
            return table[i].rules;
        }
    }
    return NULL;
}

// ---- gain and bias -----------------------------------------------------------------------------

static cr_status lay_general(const cri_mjcf *m, const cri_mjcf_elem *e, servo *s) {
    static const char *const remedy = "use gaintype=\"fixed\", biastype=\"none\" or \"affine\", "
                                      "dyntype=\"none\"";
    double gain[10] = {s->gain};
    double bias[10] = {s->bias[0], s->bias[1], s->bias[2]};
    int gain_type = 0;
    int bias_type = s->is_affine;
    int dyn_type = 0;
    CR_TRY(cri_mjcf_choice(m, e, "gaintype", "fixed affine muscle user", &gain_type));
    CR_TRY(cri_mjcf_choice(m, e, "biastype", "none affine muscle user", &bias_type));
    CR_TRY(cri_mjcf_choice(m, e, "dyntype", "none integrator filter filterexact muscle user",
                           &dyn_type));
    if (gain_type > 0 || bias_type > 1 || dyn_type > 0) {
        const char *attr = gain_type > 0 ? "gaintype" : bias_type > 1 ? "biastype" : "dyntype";
        return cri_mjcf_fail(m, CR_ERR_UNSUPPORTED, e->node, "%s=\"%.20s\" is not supported: %s",
                             attr, cri_xml_get(e->node, attr), remedy);
    }
    CR_TRY(cri_mjcf_numbers(m, e, "gainprm", 1, 10, gain, NULL));
    CR_TRY(cri_mjcf_numbers(m, e, "biasprm", 1, 10, bias, NULL));
    *s = (servo){gain[0], {bias[0], bias[1], bias[2]}, bias_type == 1, s->is_position};
    return CR_OK;
}

// lays one element over what is there
static cr_status lay_servo(const cri_mjcf *m, const cri_xml_node *node, servo *s) {
    cri_mjcf_elem e = cri_mjcf_bare(node);
    double gain = s->gain;
    if (strcmp(node->name, "general") == 0) {
        return lay_general(m, &e, s);
    }
    if (strcmp(node->name, "motor") == 0) {
        *s = (servo){.gain = 1.0};
        return CR_OK;
    }
    if (strcmp(node->name, "velocity") == 0) {
        CR_TRY(cri_mjcf_amount(m, &e, "kv", &gain));
        *s = (servo){.gain = gain, .bias = {0.0, 0.0, -gain}, .is_affine = true};
        return CR_OK;
    }
    double kv = s->is_position ? -s->bias[2] : 0.0;
    CR_TRY(cri_mjcf_amount(m, &e, "kp", &gain));
    CR_TRY(cri_mjcf_amount(m, &e, "kv", &kv));
    *s = (servo){gain, {0.0, -gain, -kv}, true, true};
    return CR_OK;
}

static cr_status read_servo(const cri_mjcf *m, const cri_mjcf_elem *e, cri_actuator_def *a) {
    servo s = {.gain = 1.0};
    for (int i = 0; i < e->n_base; i++) {
        CR_TRY(lay_servo(m, e->base[i], &s));
    }
    CR_TRY(lay_servo(m, e->node, &s));
    a->servo = strcmp(e->node->name, "position") == 0   ? CRI_SERVO_POSITION
               : strcmp(e->node->name, "velocity") == 0 ? CRI_SERVO_VELOCITY
                                                        : CRI_SERVO_GENERAL;
    a->gain = s.gain;
    for (int k = 0; k < 3 && s.is_affine; k++) {
        // a bias of -0 would only look odd
        a->bias[k] = s.bias[k] == 0.0 ? 0.0 : s.bias[k];
    }
    return CR_OK;
}

// ---- transmission ------------------------------------------------------------------------------

static cr_status read_driven_joint(const cri_mjcf *m, const cri_xml_node *node, const char *attr,
                                   cri_actuator_def *a) {
    CR_TRY(cri_mjcf_find(m, node, attr, CRI_MJCF_JOINTS, &a->joint));
    cri_joint_kind kind = m->def->joint[a->joint].kind;
    bool is_scalar = kind == CRI_JOINT_HINGE || kind == CRI_JOINT_SLIDE;
    if (!is_scalar && strcmp(attr, "jointinparent") == 0) {
        return cri_mjcf_fail(m, CR_ERR_UNSUPPORTED, node,
                             "jointinparent of a ball or free joint is not supported: use a site "
                             "and refsite");
    }
    a->kind = is_scalar ? CRI_DRIVE_DOFS : CRI_DRIVE_BALL;
    return CR_OK;
}

static cr_status read_transmission(const cri_mjcf *m, const cri_xml_node *node,
                                   cri_actuator_def *a) {
    static const char *const attrs[] = {"joint", "jointinparent", "tendon", "site"};
    const char *attr = NULL;
    for (size_t k = 0; k < sizeof attrs / sizeof attrs[0]; k++) {
        if (!cri_xml_get(node, attrs[k])) {
            continue;
        }
        if (attr) {
            return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "has both %s and %s: remove one", attr,
                                 attrs[k]);
        }
        attr = attrs[k];
    }
    if (!attr) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "acts on nothing: add joint, tendon or site");
    }
    bool has_frame = cri_xml_get(node, "refsite") != NULL;
    if (has_frame && strcmp(attr, "site") != 0) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "has refsite without site: remove it");
    }
    if (strcmp(attr, "tendon") == 0) {
        a->kind = CRI_DRIVE_DOFS;
        return cri_mjcf_find(m, node, attr, CRI_MJCF_TENDONS, &a->tendon);
    }
    if (strcmp(attr, "site") != 0) {
        return read_driven_joint(m, node, attr, a);
    }
    a->kind = CRI_DRIVE_SITE;
    CR_TRY(cri_mjcf_find(m, node, attr, CRI_MJCF_SITES, &a->site));
    return has_frame ? cri_mjcf_find(m, node, "refsite", CRI_MJCF_SITES, &a->ref_site) : CR_OK;
}

// limits of the control from those of what a position acts on, about the same middle
static cr_status inherit_range(const cri_mjcf *m, const cri_mjcf_elem *e, cri_actuator_def *a) {
    double share = 0.0;
    if (strcmp(e->node->name, "position") != 0) {
        return CR_OK;
    }
    CR_TRY(cri_mjcf_amount(m, e, "inheritrange", &share));
    if (share == 0.0) {
        return CR_OK;
    }
    if (isfinite(a->ctrl[0])) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, e->node,
                             "has both ctrlrange and inheritrange: remove one");
    }
    const double none[2] = {-INFINITY, INFINITY};
    const double *range = a->joint >= 0    ? m->def->joint[a->joint].range
                          : a->tendon >= 0 ? m->def->tendon[a->tendon].range
                                           : none;
    if (!isfinite(range[0])) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, e->node,
                             "inherits the range of something without limits: give ctrlrange");
    }
    double middle = 0.5 * (range[0] + range[1]);
    double half = 0.5 * share * (range[1] - range[0]);
    a->ctrl[0] = middle - half;
    a->ctrl[1] = middle + half;
    return CR_OK;
}

// ---- elements ----------------------------------------------------------------------------------

static cr_status fail_kind(const cri_mjcf *m, const cri_xml_node *node) {
    return cri_mjcf_fail_element(m, node,
                                 "actuators are motor, position, velocity or general, without "
                                 "activation; use one of them");
}

static cr_status add_actuator(cri_mjcf *m, const cri_xml_node *node) {
    cri_scene_def *def = m->def;
    const cri_mjcf_rules *rules = cri_mjcf_actuator_rules(node->name);
    if (!rules) {
        return fail_kind(m, node);
    }
    cri_actuator_def a = {.joint = -1,
                          .tendon = -1,
                          .site = -1,
                          .ref_site = -1,
                          .gear = {1.0},
                          .place = cri_mjcf_place(node)};
    cri_mjcf_elem e;
    CR_TRY(cri_mjcf_open(m, node, CRI_MJCF_ACTUATOR, rules, NULL, &e));
    CR_TRY(cri_mjcf_check_children(m, node, NULL));
    CR_TRY(read_transmission(m, node, &a));
    CR_TRY(read_servo(m, &e, &a));
    if (a.kind != CRI_DRIVE_DOFS && (a.bias[1] != 0.0 || a.bias[2] != 0.0)) {
        return cri_mjcf_fail(m, CR_ERR_UNSUPPORTED, node,
                             "feeds back from a ball, a free joint or a site: use a <motor>, or "
                             "stiffness and damping of the joint");
    }
    CR_TRY(cri_mjcf_numbers(m, &e, "gear", 1, 6, a.gear, NULL));
    CR_TRY(cri_mjcf_limits(m, &e, "ctrllimited", "ctrlrange", 1.0, a.ctrl));
    CR_TRY(cri_mjcf_limits(m, &e, "forcelimited", "forcerange", 1.0, a.force));
    CR_TRY(inherit_range(m, &e, &a));
    CR_TRY(cri_mjcf_name(m, node, "", "actuator", def->n_actuator, &a.name));
    cri_actuator_def *list = cri_scene_def_grow(def, def->actuator, def->n_actuator, sizeof *list);
    if (!list) {
        return cri_mjcf_fail_memory(m);
    }
    def->actuator = list;
    def->actuator[def->n_actuator++] = a;
    return CR_OK;
}

cr_status cri_mjcf_read_actuators(cri_mjcf *m, const cri_xml_node *root) {
    for (const cri_xml_node *section = root->child; section; section = section->next) {
        if (strcmp(section->name, "actuator") != 0) {
            continue;
        }
        CR_TRY(cri_mjcf_check_attrs(m, section, &(cri_mjcf_rules){0}));
        for (const cri_xml_node *node = section->child; node; node = node->next) {
            CR_TRY(add_actuator(m, node));
        }
    }
    return cri_mjcf_check_names(m, CRI_MJCF_ACTUATORS);
}
