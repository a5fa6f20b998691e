// SPDX-License-Identifier: MIT
//
// Bodies, geoms and the default class of an MJCF scene.
//
// Read are free bodies directly under the world, with one sphere or box at the origin each, and
// planes in the world. Bodies and geoms are counted first, so that the arrays have their final
// size. Unnamed ones are bodyN and geomN, N counting all bodies or geoms in document order.

#include "scene/mjcf_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// cannot move anything
#define IGNORED_IN_WORLD "site light camera"

static const cri_mjcf_rules body_rules = {
    .read = "name pos quat euler axisangle xyaxes zaxis",
    .ignored = "user sleep",
    .fixed = "mocap=false gravcomp=0",
    .refused = "childclass",
    .remedy = "bodies move freely under gravity and have no class; remove it",
};

static const cri_mjcf_rules geom_rules = {
    .read = "name type size pos quat euler axisangle xyaxes zaxis mass density friction contype "
            "conaffinity priority condim",
    .ignored = "solmix solref solimp margin gap group material rgba user fitscale fluidshape "
               "fluidcoef",
    .fixed = "shellinertia=false",
    .refused = "class fromto mesh hfield",
    .remedy = "use a solid sphere or box with size, without class",
};

static const cri_mjcf_rules freejoint_rules = {.ignored = "name group align"};

static const cri_mjcf_rules joint_rules = {
    .read = "type",
    .ignored =
        "name group pos axis user limited range margin ref springref solreflimit solimplimit "
        "solreffriction solimpfriction actuatorfrcrange actuatorfrclimited "
        "actuatorgravcomp",
    .fixed = "stiffness=0 damping=0 armature=0 frictionloss=0 springdamper=0",
    .refused = "class",
    .remedy = "a free joint has no springs, damping, friction or class; use <freejoint/>",
};

static const cri_mjcf_rules inertial_rules = {
    .read = "pos mass diaginertia quat euler axisangle xyaxes zaxis",
    .refused = "fullinertia",
    .remedy = "turn the body to its principal axes and give diaginertia",
};

// ---- geoms -------------------------------------------------------------------------------------

cri_mjcf_geom cri_mjcf_geom_builtin(void) {
    return (cri_mjcf_geom){
        .def = {.shape = CRI_SHAPE_SPHERE,
                .body = -1,
                .quat = {1, 0, 0, 0},
                .density = 1000.0, // water, as in MuJoCo
                .friction = 1.0,
                .contype = 1,
                .conaffinity = 1},
        .condim = 3,
    };
}

static cr_status read_shape(const cri_mjcf *m, const cri_xml_node *node, cri_mjcf_geom *g) {
    const char *type = cri_xml_get(node, "type");
    if (!type) {
        return CR_OK;
    }
    if (strcmp(type, "plane") == 0) {
        g->def.shape = CRI_SHAPE_PLANE;
    } else if (strcmp(type, "sphere") == 0) {
        g->def.shape = CRI_SHAPE_SPHERE;
    } else if (strcmp(type, "box") == 0) {
        g->def.shape = CRI_SHAPE_BOX;
    } else if (cri_mjcf_is_word("hfield capsule ellipsoid cylinder mesh sdf", type)) {
        return cri_mjcf_fail(m, CR_ERR_UNSUPPORTED, node,
                             "type=\"%s\" is not supported: use a sphere, a box or a plane", type);
    } else {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                             "type=\"%.40s\" is unknown: expected sphere, box or plane", type);
    }
    return CR_OK;
}

// lays the attributes of node over those that g has
static cr_status read_geom_attrs(const cri_mjcf *m, const cri_xml_node *node, cri_mjcf_geom *g) {
    CR_TRY(cri_mjcf_check_attrs(m, node, &geom_rules));
    CR_TRY(read_shape(m, node, g));

    int n;
    CR_TRY(cri_mjcf_numbers(m, node, "size", 1, 3, g->def.size, &n));
    g->n_size = n > g->n_size ? n : g->n_size;
    CR_TRY(cri_mjcf_numbers(m, node, "mass", 1, 1, &g->def.mass, &n));
    g->has_mass = g->has_mass || n > 0;
    CR_TRY(cri_mjcf_numbers(m, node, "density", 1, 1, &g->def.density, NULL));

    // sliding, torsional, rolling: only the first acts
    double friction[3] = {g->def.friction, 0.0, 0.0};
    CR_TRY(cri_mjcf_numbers(m, node, "friction", 1, 3, friction, NULL));
    g->def.friction = friction[0];

    CR_TRY(cri_mjcf_int(m, node, "contype", &g->def.contype));
    CR_TRY(cri_mjcf_int(m, node, "conaffinity", &g->def.conaffinity));
    CR_TRY(cri_mjcf_int(m, node, "priority", &g->priority));
    CR_TRY(cri_mjcf_int(m, node, "condim", &g->condim));
    CR_TRY(cri_mjcf_pos(m, node, &g->def.pos));
    return cri_mjcf_orientation(m, node, &g->def.quat);
}

static cr_status check_contact(const cri_mjcf *m, const cri_xml_node *node,
                               const cri_mjcf_geom *g) {
    if (g->def.friction < 0.0) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "friction is %g, expected 0 or more",
                             g->def.friction);
    }
    bool is_known = g->condim == 1 || g->condim == 3 || g->condim == 4 || g->condim == 6;
    if (!is_known) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "condim is %d, expected 1, 3, 4 or 6",
                             g->condim);
    }
    return CR_OK;
}

static cr_status check_size(const cri_mjcf *m, const cri_xml_node *node, const cri_mjcf_geom *g) {
    bool is_box = g->def.shape == CRI_SHAPE_BOX;
    int n = is_box ? 3 : 1;
    if (g->n_size < n) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "has %d numbers in size, expected %s",
                             g->n_size, is_box ? "3 half lengths of the box" : "1, the radius");
    }
    for (int i = 0; i < n; i++) {
        if (!(g->def.size[i] > 0.0)) {
            return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "size is %g, expected more than 0",
                                 g->def.size[i]);
        }
    }
    return CR_OK;
}

// whichever of mass and density is used must be positive
static cr_status check_mass(const cri_mjcf *m, const cri_xml_node *node, const cri_mjcf_geom *g,
                            bool has_inertial) {
    const char *what = g->has_mass ? "mass" : "density";
    double value = g->has_mass ? g->def.mass : g->def.density;
    if (value < 0.0 || (value == 0.0 && !has_inertial)) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "%s is %g, expected more than 0", what, value);
    }
    return CR_OK;
}

static bool is_identity(cri_vec3 pos, cri_quat quat) {
    bool is_turned = quat.x != 0.0 || quat.y != 0.0 || quat.z != 0.0;
    return pos.x == 0.0 && pos.y == 0.0 && pos.z == 0.0 && !is_turned;
}

// says once that softness has no effect
static void warn_softness(cri_mjcf *m, const cri_xml_node *node, int condim) {
    static const char *const soft[] = {"solref", "solimp", "solmix", "margin", "gap"};
    cri_scene_def *def = m->def;
    const char *found = condim > 3 ? "condim" : NULL;
    for (size_t k = 0; !found && k < sizeof soft / sizeof soft[0]; k++) {
        found = cri_xml_get(node, soft[k]) ? soft[k] : NULL;
    }
    if (found && def->warning[0] == '\0') {
        snprintf(def->warning, sizeof def->warning,
                 "%.120s:%d: %s has no effect: contacts are rigid, with sliding friction only",
                 m->file, node->line, found);
    }
}

// appends a geom; body -1 is the world
static cr_status add_geom(cri_mjcf *m, const cri_xml_node *node, int body) {
    cri_scene_def *def = m->def;
    cri_mjcf_geom g = m->usual;
    CR_TRY(read_geom_attrs(m, node, &g));
    CR_TRY(check_contact(m, node, &g));

    bool is_plane = g.def.shape == CRI_SHAPE_PLANE;
    if (is_plane && body >= 0) {
        return cri_mjcf_fail(m, CR_ERR_UNSUPPORTED, node,
                             "is a plane on a body: move it into <worldbody>");
    }
    if (!is_plane && body < 0) {
        return cri_mjcf_fail(m, CR_ERR_UNSUPPORTED, node,
                             "is fixed to the world and no plane: use a plane, or a <body> with "
                             "<freejoint/> around it");
    }
    if (!is_plane) {
        CR_TRY(check_size(m, node, &g));
        CR_TRY(check_mass(m, node, &g, def->body[body].has_inertial));
        if (!is_identity(g.def.pos, g.def.quat)) {
            return cri_mjcf_fail(m, CR_ERR_UNSUPPORTED, node,
                                 "is not at the origin of its body: move or turn the <body> "
                                 "instead");
        }
    }

    warn_softness(m, node, g.condim);
    int i = def->n_geom++;
    def->geom[i] = g.def;
    def->geom[i].body = body;
    def->geom[i].line = node->line;
    m->rank[i] = (cri_mjcf_rank){.priority = g.priority, .condim = g.condim};
    return cri_mjcf_name(m, node, "geom", i, &def->geom[i].name);
}

// ---- bodies ------------------------------------------------------------------------------------

static cr_status check_joint(const cri_mjcf *m, const cri_xml_node *node) {
    if (strcmp(node->name, "freejoint") == 0) {
        return cri_mjcf_check_attrs(m, node, &freejoint_rules);
    }
    const char *type = cri_xml_get(node, "type");
    if (!type || strcmp(type, "free") != 0) {
        return cri_mjcf_fail(m, CR_ERR_UNSUPPORTED, node,
                             "of type %.40s is not supported: use <freejoint/>",
                             type ? type : "hinge (the default)");
    }
    return cri_mjcf_check_attrs(m, node, &joint_rules);
}

static cr_status read_inertial(const cri_mjcf *m, const cri_xml_node *node, cri_body_def *body) {
    CR_TRY(cri_mjcf_check_attrs(m, node, &inertial_rules));
    if (!cri_xml_get(node, "mass") || !cri_xml_get(node, "diaginertia")) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "needs both mass and diaginertia");
    }
    cri_vec3 pos = {0, 0, 0};
    cri_quat quat = {1, 0, 0, 0};
    CR_TRY(cri_mjcf_pos(m, node, &pos));
    CR_TRY(cri_mjcf_orientation(m, node, &quat));
    if (!is_identity(pos, quat)) {
        return cri_mjcf_fail(m, CR_ERR_UNSUPPORTED, node,
                             "is not at the origin of its body: only pos=\"0 0 0\" without "
                             "rotation is simulated");
    }
    CR_TRY(cri_mjcf_numbers(m, node, "mass", 1, 1, &body->mass, NULL));
    if (!(body->mass > 0.0)) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "mass is %g, expected more than 0",
                             body->mass);
    }
    double *I = body->inertia;
    CR_TRY(cri_mjcf_numbers(m, node, "diaginertia", 3, 3, I, NULL));
    for (int i = 0; i < 3; i++) {
        // moments of a real body obey the triangle inequality, up to the digits a file gives
        bool is_real = I[i] <= (I[(i + 1) % 3] + I[(i + 2) % 3]) * (1.0 + 1e-9);
        if (!(I[i] > 0.0) || !is_real) {
            return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                                 "diaginertia %g is impossible: each moment must be above 0 and at "
                                 "most the sum of the other two",
                                 I[i]);
        }
    }
    body->has_inertial = true;
    return CR_OK;
}

// the children that a body has exactly one of, or at most one
typedef struct parts {
    const cri_xml_node *joint;
    const cri_xml_node *geom;
    const cri_xml_node *inertial;
} parts;

// *slot becomes node, which must be the first of its kind
static cr_status take_part(const cri_mjcf *m, const cri_xml_node *node, const char *remedy,
                           const cri_xml_node **slot) {
    if (*slot) {
        return cri_mjcf_fail(m, CR_ERR_UNSUPPORTED, node,
                             "is the second of its body, after line %d: %s", (*slot)->line, remedy);
    }
    *slot = node;
    return CR_OK;
}

static cr_status sort_children(const cri_mjcf *m, const cri_xml_node *body, parts *p) {
    for (const cri_xml_node *node = body->child; node; node = node->next) {
        if (cri_mjcf_is_word("joint freejoint", node->name)) {
            CR_TRY(take_part(m, node, "use a single <freejoint/>", &p->joint));
        } else if (strcmp(node->name, "geom") == 0) {
            CR_TRY(take_part(m, node, "give each body a single geom", &p->geom));
        } else if (strcmp(node->name, "inertial") == 0) {
            CR_TRY(take_part(m, node, "remove one", &p->inertial));
        } else if (!cri_mjcf_is_word(IGNORED_IN_WORLD, node->name)) {
            return cri_mjcf_fail_element(m, node,
                                         "a body has <freejoint>, <geom>, <inertial> only, and "
                                         "stands directly under <worldbody>");
        }
    }
    if (!p->joint) {
        return cri_mjcf_fail(m, CR_ERR_UNSUPPORTED, body,
                             "has no joint and would be fixed: add <freejoint/>");
    }
    if (!p->geom) {
        return cri_mjcf_fail(m, CR_ERR_UNSUPPORTED, body,
                             "has no geom: add a <geom> of type sphere or box");
    }
    return CR_OK;
}

static cr_status add_body(cri_mjcf *m, const cri_xml_node *node) {
    int i = m->def->n_body++;
    cri_body_def *body = &m->def->body[i];
    *body = (cri_body_def){.quat = {1, 0, 0, 0}, .line = node->line};
    CR_TRY(cri_mjcf_check_attrs(m, node, &body_rules));
    CR_TRY(cri_mjcf_name(m, node, "body", i, &body->name));
    CR_TRY(cri_mjcf_pos(m, node, &body->pos));
    CR_TRY(cri_mjcf_orientation(m, node, &body->quat));

    parts p = {0};
    CR_TRY(sort_children(m, node, &p));
    CR_ASSERT(p.joint && p.geom);
    CR_TRY(check_joint(m, p.joint));
    if (p.inertial) {
        CR_TRY(read_inertial(m, p.inertial, body));
    }
    return add_geom(m, p.geom, i);
}

// ---- the world ---------------------------------------------------------------------------------

static void count_children(const cri_xml_node *parent, const char *name, int *n) {
    for (const cri_xml_node *node = parent->child; node; node = node->next) {
        *n += strcmp(node->name, name) == 0;
    }
}

static cr_status reserve(cri_mjcf *m, const cri_xml_node *root) {
    int n_body = 0;
    int n_geom = 0;
    for (const cri_xml_node *world = root->child; world; world = world->next) {
        if (strcmp(world->name, "worldbody") != 0) {
            continue;
        }
        count_children(world, "body", &n_body);
        count_children(world, "geom", &n_geom);
        for (const cri_xml_node *node = world->child; node; node = node->next) {
            count_children(node, "geom", &n_geom);
        }
    }
    if (n_body == 0) {
        return cri_mjcf_fail(m, CR_ERR_UNSUPPORTED, root,
                             "has no bodies: add a <body> with <freejoint/> to <worldbody>");
    }

    // a body without geom is refused later, and calloc(0) might look like a failure
    m->def->body = calloc((size_t)n_body, sizeof *m->def->body);
    m->def->geom = calloc((size_t)n_geom + 1, sizeof *m->def->geom);
    m->rank = CR_PUSH(m->scratch, cri_mjcf_rank, n_geom + 1);
    bool has_all = m->def->body && m->def->geom && m->rank;
    return has_all ? CR_OK : cri_mjcf_fail_memory(m);
}

static cr_status check_names(cri_mjcf *m) {
    const cri_scene_def *def = m->def;
    int n = def->n_body > def->n_geom ? def->n_body : def->n_geom;
    cri_mjcf_label *label = CR_PUSH(m->scratch, cri_mjcf_label, n);
    if (!label) {
        return cri_mjcf_fail_memory(m);
    }
    for (int i = 0; i < def->n_body; i++) {
        label[i] = (cri_mjcf_label){def->body[i].name, def->body[i].line};
    }
    CR_TRY(cri_mjcf_check_unique(m, "bodies", label, def->n_body));
    for (int i = 0; i < def->n_geom; i++) {
        label[i] = (cri_mjcf_label){def->geom[i].name, def->geom[i].line};
    }
    return cri_mjcf_check_unique(m, "geoms", label, def->n_geom);
}

static cr_status read_worldbody(cri_mjcf *m, const cri_xml_node *world) {
    CR_TRY(cri_mjcf_check_attrs(m, world, &(cri_mjcf_rules){0}));
    for (const cri_xml_node *node = world->child; node; node = node->next) {
        if (strcmp(node->name, "body") == 0) {
            CR_TRY(add_body(m, node));
        } else if (strcmp(node->name, "geom") == 0) {
            CR_TRY(add_geom(m, node, -1));
        } else if (!cri_mjcf_is_word(IGNORED_IN_WORLD, node->name)) {
            return cri_mjcf_fail_element(m, node, "the world has free bodies and planes only");
        }
    }
    return CR_OK;
}

cr_status cri_mjcf_read_world(cri_mjcf *m, const cri_xml_node *root) {
    CR_TRY(reserve(m, root));
    for (const cri_xml_node *node = root->child; node; node = node->next) {
        if (strcmp(node->name, "worldbody") == 0) {
            CR_TRY(read_worldbody(m, node));
        }
    }
    return check_names(m);
}

// ---- defaults ----------------------------------------------------------------------------------

cr_status cri_mjcf_read_default(cri_mjcf *m, const cri_xml_node *node) {
    // of what is passed over, nothing can be in a scene that is read
    static const char *const ignored =
        "site camera light material mesh pair equality tendon general motor position velocity "
        "intvelocity damper cylinder muscle adhesion plugin";

    CR_TRY(cri_mjcf_check_attrs(m, node, &(cri_mjcf_rules){.ignored = "class"}));
    for (const cri_xml_node *child = node->child; child; child = child->next) {
        if (strcmp(child->name, "geom") == 0) {
            CR_TRY(read_geom_attrs(m, child, &m->usual));
        } else if (strcmp(child->name, "joint") == 0) {
            CR_TRY(cri_mjcf_check_attrs(m, child, &joint_rules));
        } else if (strcmp(child->name, "default") == 0) {
            return cri_mjcf_fail_element(m, child,
                                         "classes are not read; write the attributes into the "
                                         "elements");
        } else if (!cri_mjcf_is_word(ignored, child->name)) {
            return cri_mjcf_fail_element(m, child, "only defaults of <geom> are read");
        }
    }
    return CR_OK;
}
