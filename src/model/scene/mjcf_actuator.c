// SPDX-License-Identifier: MIT
//
// Actuators of an MJCF scene.
//
//   force = gain u + bias[0] + bias[1] length + bias[2] velocity
//   motor      gain 1, no bias
//   position   gain kp, bias 0 -kp -kv
//   velocity   gain kv, bias 0 0 -kv
//   general    gainprm[0], and biasprm with biastype affine
// As in MuJoCo all kinds share one default, laid over each other from the weakest on: the kp of a
// position is the gain that a default left.

#include "model/scene/mjcf_parts.h"

#include <math.h>
#include <string.h>

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

// what layers have left so far
typedef struct servo {
    double gain;
    double bias[3];
    bool is_affine;   // bias acts
    bool is_position; // the last bias was one of <position>, which keeps its kv
} servo;

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

static cr_status read_joint(const cri_mjcf *m, const cri_xml_node *node, const char *attr,
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
        return read_joint(m, node, attr, a);
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

// ---- actuators ---------------------------------------------------------------------------------

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
