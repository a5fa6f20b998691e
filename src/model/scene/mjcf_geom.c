// SPDX-License-Identifier: MIT
//
// Geoms and sites of an MJCF scene.
//
// Only the first number of friction acts. Mass: given, else from density. Geoms outside
// inertiagrouprange, and all of them with inertiafromgeom="false", weigh nothing.

#include "model/scene/mjcf_parts.h"

#include <math.h>
#include <string.h>

const cri_mjcf_rules cri_mjcf_geom_rules = {
    .read = "name class type size fromto pos quat euler axisangle xyaxes zaxis mesh mass density "
            "friction contype conaffinity priority condim group solmix solref solimp margin gap",
    .ignored = "material rgba user fitscale fluidshape fluidcoef",
    .fixed = "shellinertia=false",
    .refused = "hfield",
    .remedy = "use a solid shape or a mesh",
};

const cri_mjcf_rules cri_mjcf_site_rules = {
    .read = "name class fromto pos quat euler axisangle xyaxes zaxis",
    .ignored = "type group material size rgba user",
};

// ---- shapes ------------------------------------------------------------------------------------

// the type attribute's words, and what they are
static const char *const type_words = "plane sphere capsule ellipsoid cylinder box mesh hfield sdf";

static const cri_shape_kind shapes[] = {CRI_SHAPE_PLANE,     CRI_SHAPE_SPHERE,   CRI_SHAPE_CAPSULE,
                                        CRI_SHAPE_ELLIPSOID, CRI_SHAPE_CYLINDER, CRI_SHAPE_BOX,
                                        CRI_SHAPE_MESH};

enum { N_TYPE = sizeof shapes / sizeof shapes[0] };

// how many numbers of size a shape has, and what they are
typedef struct size_rule {
    int n;
    const char *what;
} size_rule;

static const size_rule size_rules[CRI_N_SHAPE] = {
    [CRI_SHAPE_PLANE] = {0, ""},
    [CRI_SHAPE_SPHERE] = {1, "1, the radius"},
    [CRI_SHAPE_CAPSULE] = {2, "2, radius and half length (1 with fromto)"},
    [CRI_SHAPE_ELLIPSOID] = {3, "3 half axes (1 with fromto)"},
    [CRI_SHAPE_CYLINDER] = {2, "2, radius and half length (1 with fromto)"},
    [CRI_SHAPE_BOX] = {3, "3 half lengths of the box"},
    [CRI_SHAPE_MESH] = {0, ""},
};

static cr_status read_shape(const cri_mjcf *m, const cri_mjcf_elem *e, cri_geom_def *g) {
    int type = 1;
    CR_TRY(cri_mjcf_choice(m, e, "type", type_words, &type));
    if (type >= N_TYPE) {
        return cri_mjcf_fail(m, CR_ERR_UNSUPPORTED, e->node,
                             "type=\"%s\" is not supported: use a mesh or boxes",
                             cri_mjcf_get(e, "type", NULL));
    }
    g->shape = shapes[type];
    bool is_mesh = g->shape == CRI_SHAPE_MESH;
    const cri_xml_node *from = e->node;
    const char *mesh = cri_mjcf_get(e, "mesh", &from);
    if (mesh && !is_mesh) {
        return cri_mjcf_fail(
            m, CR_ERR_UNSUPPORTED, e->node,
            "fits a primitive to mesh=\"%.40s\": add type=\"mesh\", or remove mesh "
            "and give a size",
            mesh);
    }
    if (!mesh && is_mesh) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, e->node, "is a mesh without mesh: name one");
    }
    return is_mesh ? cri_mjcf_find(m, from, "mesh", CRI_MJCF_MESHES, &g->mesh) : CR_OK;
}

static cr_status check_size(const cri_mjcf *m, const cri_xml_node *node, const cri_geom_def *g,
                            int n_size) {
    size_rule rule = size_rules[g->shape];
    if (n_size < rule.n) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "has %d numbers in size, expected %s", n_size,
                             rule.what);
    }
    for (int i = 0; i < rule.n; i++) {
        if (!(g->size[i] > 0.0)) {
            return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "size is %g, expected more than 0",
                                 g->size[i]);
        }
    }
    return CR_OK;
}

// size, pose and what fromto makes of them
static cr_status read_size(const cri_mjcf *m, const cri_mjcf_elem *e, const cri_mjcf_scope *scope,
                           cri_geom_def *g) {
    int n_size;
    CR_TRY(cri_mjcf_numbers(m, e, "size", 1, 3, g->size, &n_size));
    CR_TRY(cri_mjcf_pose(m, e, scope, &g->pos, &g->quat));

    double half = 0.0;
    bool is_given;
    cri_vec3 pos;
    cri_quat quat;
    CR_TRY(cri_mjcf_fromto(m, e, &pos, &quat, &half, &is_given));
    if (is_given && size_rules[g->shape].n < 2) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, e->node,
                             "has fromto and is no capsule, cylinder, box or ellipsoid: use pos");
    }
    if (is_given) {
        // the last number is along the line, those before it across
        int n = size_rules[g->shape].n;
        g->size[1] = g->size[0];
        g->size[n - 1] = half;
        n_size = n_size > 0 ? n : 0;
        g->pos = pos;
        g->quat = quat;
        cri_mjcf_to_body(scope, &g->pos, &g->quat);
    }
    CR_TRY(check_size(m, e->node, g, n_size));

    // numbers that the shape does not have
    for (int i = size_rules[g->shape].n; i < 3; i++) {
        g->size[i] = 0.0;
    }
    return CR_OK;
}

// ---- geoms -------------------------------------------------------------------------------------

static cr_status read_mass(const cri_mjcf *m, const cri_mjcf_elem *e, cri_geom_def *g) {
    int n;
    CR_TRY(cri_mjcf_numbers(m, e, "mass", 1, 1, &g->mass, &n));
    g->has_mass = n > 0;
    CR_TRY(cri_mjcf_numbers(m, e, "density", 1, 1, &g->density, NULL));
    const char *what = g->has_mass ? "mass" : "density";
    double value = g->has_mass ? g->mass : g->density;
    if (value < 0.0) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, e->node, "%s is %g, expected 0 or more", what,
                             value);
    }
    int group = 0;
    CR_TRY(cri_mjcf_int(m, e, "group", &group));
    bool is_counted = group >= m->set.group_range[0] && group <= m->set.group_range[1] &&
                      m->set.inertia_source != CRI_MJCF_INERTIA_GIVEN;
    if (!is_counted) {
        g->has_mass = true;
        g->mass = 0.0;
    }
    return CR_OK;
}

static cr_status read_contact(const cri_mjcf *m, const cri_mjcf_elem *e, cri_geom_def *g) {
    // sliding, torsional, rolling: only the first acts
    double friction[3] = {g->friction, 0.0, 0.0};
    CR_TRY(cri_mjcf_numbers(m, e, "friction", 1, 3, friction, NULL));
    g->friction = friction[0];
    if (g->friction < 0.0) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, e->node, "friction is %g, expected 0 or more",
                             g->friction);
    }
    CR_TRY(cri_mjcf_int(m, e, "contype", &g->contype));
    CR_TRY(cri_mjcf_int(m, e, "conaffinity", &g->conaffinity));
    CR_TRY(cri_mjcf_int(m, e, "priority", &g->priority));
    CR_TRY(cri_mjcf_int(m, e, "condim", &g->condim));
    int d = g->condim;
    if (d != 1 && d != 3 && d != 4 && d != 6) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, e->node, "condim is %d, expected 1, 3, 4 or 6", d);
    }
    return CR_OK;
}

cr_status cri_mjcf_add_geom(cri_mjcf *m, const cri_xml_node *node, const cri_mjcf_scope *scope) {
    CR_ASSERT(scope->body >= -1 && scope->body < m->def->n_body);
    cri_scene_def *def = m->def;
    // MuJoCo's own defaults
    cri_geom_def g = {.body = scope->body,
                      .mesh = -1,
                      .density = 1000.0,
                      .friction = 1.0,
                      .contype = 1,
                      .conaffinity = 1,
                      .condim = 3,
                      .place = cri_mjcf_place(node)};
    cri_mjcf_elem e;
    CR_TRY(cri_mjcf_open(m, node, CRI_MJCF_GEOM, &cri_mjcf_geom_rules, scope->usual, &e));
    CR_TRY(cri_mjcf_check_children(m, node, NULL));
    CR_TRY(read_shape(m, &e, &g));
    if (g.shape == CRI_SHAPE_PLANE && scope->is_moving) {
        return cri_mjcf_fail(m, CR_ERR_UNSUPPORTED, node,
                             "is a plane on a body that moves: move it into <worldbody>");
    }
    CR_TRY(read_size(m, &e, scope, &g));
    CR_TRY(read_mass(m, &e, &g));
    CR_TRY(read_contact(m, &e, &g));
    CR_TRY(cri_mjcf_softness(m, &e, false, &g.softness));
    cri_mjcf_warn_margin(m, &e, g.condim);
    CR_TRY(cri_mjcf_name(m, node, scope->suffix, "geom", def->n_geom, &g.name));
    cri_geom_def *list = cri_scene_def_grow(def, def->geom, def->n_geom, sizeof *list);
    if (!list) {
        return cri_mjcf_fail_memory(m);
    }
    def->geom = list;
    def->geom[def->n_geom++] = g;
    return CR_OK;
}

// ---- sites -------------------------------------------------------------------------------------

cr_status cri_mjcf_add_site(cri_mjcf *m, const cri_xml_node *node, const cri_mjcf_scope *scope) {
    CR_ASSERT(scope->body >= -1 && scope->body < m->def->n_body);
    cri_scene_def *def = m->def;
    cri_site_def site = {.body = scope->body, .place = cri_mjcf_place(node)};
    cri_mjcf_elem e;
    CR_TRY(cri_mjcf_open(m, node, CRI_MJCF_SITE, &cri_mjcf_site_rules, scope->usual, &e));
    CR_TRY(cri_mjcf_check_children(m, node, NULL));
    CR_TRY(cri_mjcf_pose(m, &e, scope, &site.pos, &site.quat));
    double half;
    bool is_given;
    cri_vec3 pos;
    cri_quat quat;
    CR_TRY(cri_mjcf_fromto(m, &e, &pos, &quat, &half, &is_given));
    if (is_given) {
        site.pos = pos;
        site.quat = quat;
        cri_mjcf_to_body(scope, &site.pos, &site.quat);
    }
    CR_TRY(cri_mjcf_name(m, node, scope->suffix, "site", def->n_site, &site.name));
    cri_site_def *list = cri_scene_def_grow(def, def->site, def->n_site, sizeof *list);
    if (!list) {
        return cri_mjcf_fail_memory(m);
    }
    def->site = list;
    def->site[def->n_site++] = site;
    return CR_OK;
}
