// SPDX-License-Identifier: MIT
//
// <link>: inertia and collision shapes.
//
// The inertia is given about the centre of mass in axes of its own, R: J_body = R J R'. Shapes of a
// robot overlap at its joints, so that they touch those of the link world alone.

#include <stdio.h>
#include <string.h>

#include "model/scene/urdf_parts.h"

// MJCF's own, for links that say nothing about their inertia and for all contacts
#define DENSITY 1000.0
#define FRICTION 1.0
#define CONDIM 3

static cr_status read_tensor(const cri_urdf *u, const cri_xml_node *node, double J[6]) {
    static const char *const name[6] = {"ixx", "iyy", "izz", "ixy", "ixz", "iyz"};
    for (int i = 0; i < 6; i++) {
        J[i] = 0.0;
        if (i < 3) {
            CR_TRY(cri_urdf_need_number(u, node, name[i], &J[i]));
        } else {
            CR_TRY(cri_urdf_numbers(u, node, name[i], 1, &J[i], NULL));
        }
    }
    return CR_OK;
}

// R J R', both as xx yy zz xy xz yz
static void turn_tensor(const cri_mat3 *R, const double J[6], double out[6]) {
    const cri_vec3 row[3] = {{J[0], J[3], J[4]}, {J[3], J[1], J[5]}, {J[4], J[5], J[2]}};
    double turned[3][3];
    for (int k = 0; k < 3; k++) {
        // column k of R J R' is R J times row k of R
        cri_vec3 r = cri_v3_load(R->m + 3 * k);
        cri_vec3 Jr = cri_v3(cri_v3_dot(row[0], r), cri_v3_dot(row[1], r), cri_v3_dot(row[2], r));
        cri_v3_store(cri_m3_mul(R, Jr), turned[k]);
    }
    out[0] = turned[0][0];
    out[1] = turned[1][1];
    out[2] = turned[2][2];
    out[3] = turned[0][1];
    out[4] = turned[0][2];
    out[5] = turned[1][2];
}

static cr_status read_inertial(const cri_urdf *u, const cri_xml_node *node, cri_body_def *body) {
    if (body->has_inertial) {
        return cri_urdf_fail(u, CR_ERR_SYNTAX, node, "is the second one of its link: remove one");
    }
    const cri_xml_node *mass = cri_urdf_child(node, "mass");
    const cri_xml_node *inertia = cri_urdf_child(node, "inertia");
    if (!mass || !inertia) {
        return cri_urdf_fail(u, CR_ERR_SYNTAX, node,
                             "needs <mass value> and <inertia ixx iyy izz>: add the one missing");
    }
    CR_TRY(cri_urdf_need_number(u, mass, "value", &body->mass));
    if (body->mass < 0.0) {
        return cri_urdf_fail(u, CR_ERR_SYNTAX, mass, "value=\"%g\" must not be negative",
                             body->mass);
    }
    double J[6];
    CR_TRY(read_tensor(u, inertia, J));
    cri_quat quat;
    CR_TRY(cri_urdf_origin(u, node, &body->com, &quat));
    cri_mat3 R = cri_quat_rotation(quat);
    turn_tensor(&R, J, body->inertia);
    if (!cri_all_finite(6, body->inertia)) {
        return cri_urdf_fail(u, CR_ERR_SYNTAX, inertia, "has numbers too large to be turned");
    }
    body->has_inertial = true;
    return CR_OK;
}

// ---- shapes ------------------------------------------------------------------------------------

static cr_status read_box(const cri_urdf *u, const cri_xml_node *node, double size[3]) {
    const char *value;
    CR_TRY(cri_urdf_need(u, node, "size", &value));
    CR_TRY(cri_urdf_numbers(u, node, "size", 3, size, NULL));
    for (int i = 0; i < 3; i++) {
        if (!(size[i] > 0.0)) {
            return cri_urdf_fail(u, CR_ERR_SYNTAX, node,
                                 "size=\"%.*s\" must be larger than zero in all directions",
                                 CRI_URDF_SHOWN, value);
        }
        size[i] *= 0.5;
    }
    return CR_OK;
}

// radius and half length; a capsule's length has no caps, as in MJCF
static cr_status read_round(const cri_urdf *u, const cri_xml_node *node, double size[3]) {
    CR_TRY(cri_urdf_need_positive(u, node, "radius", &size[0]));
    CR_TRY(cri_urdf_need_positive(u, node, "length", &size[1]));
    size[1] *= 0.5;
    return CR_OK;
}

static cr_status read_shape(cri_urdf *u, const cri_xml_node *node, cri_geom_def *geom) {
    if (strcmp(node->name, "sphere") == 0) {
        geom->shape = CRI_SHAPE_SPHERE;
        return cri_urdf_need_positive(u, node, "radius", &geom->size[0]);
    }
    if (strcmp(node->name, "box") == 0) {
        geom->shape = CRI_SHAPE_BOX;
        return read_box(u, node, geom->size);
    }
    if (strcmp(node->name, "cylinder") == 0) {
        geom->shape = CRI_SHAPE_CYLINDER;
        return read_round(u, node, geom->size);
    }
    if (strcmp(node->name, "capsule") == 0) {
        geom->shape = CRI_SHAPE_CAPSULE;
        return read_round(u, node, geom->size);
    }
    if (strcmp(node->name, "mesh") == 0) {
        // collision meshes of robots are made to be hulls
        static const cri_form_def hull = {.is_hull = true};
        geom->shape = CRI_SHAPE_MESH;
        geom->form = &hull;
        return cri_urdf_read_mesh(u, node, &geom->mesh);
    }
    return cri_urdf_fail(u, CR_ERR_UNSUPPORTED, node,
                         "is no shape that is read: use sphere, box, cylinder, capsule or mesh");
}

// the link's name for its first shape, then LINK.1, LINK.2; NULL for lack of memory
static const char *geom_name(cri_urdf *u, const cri_urdf_link *link, int i) {
    size_t n = strlen(link->name) + 16;
    char *name = CR_PUSH(u->def->memory, char, n);
    if (name && i == 0) {
        snprintf(name, n, "%s", link->name);
    } else if (name) {
        snprintf(name, n, "%s.%d", link->name, i);
    }
    return name;
}

static cr_status read_collision(cri_urdf *u, const cri_urdf_link *link, const cri_xml_node *node,
                                int i) {
    const cri_xml_node *geometry = cri_urdf_child(node, "geometry");
    if (!geometry || !geometry->child || geometry->child->next) {
        return cri_urdf_fail(u, CR_ERR_SYNTAX, node,
                             "needs one <geometry> with one shape: use a <collision> for each");
    }
    cri_geom_def geom = {.body = link->body,
                         .mesh = -1,
                         .density = DENSITY,
                         .friction = FRICTION,
                         .contype = 1,
                         .conaffinity = link->body < 0,
                         .condim = CONDIM,
                         .place = {u->def->file, node->line}};
    CR_TRY(read_shape(u, geometry->child, &geom));
    CR_TRY(cri_urdf_origin(u, node, &geom.pos, &geom.quat));
    cri_scene_def *def = u->def;
    geom.name = geom_name(u, link, i);
    def->geom = cri_scene_def_grow(def, def->geom, def->n_geom, sizeof *def->geom);
    if (!geom.name || !def->geom) {
        return cri_urdf_fail_memory(u);
    }
    def->geom[def->n_geom++] = geom;
    return CR_OK;
}

cr_status cri_urdf_read_link(cri_urdf *u, const cri_urdf_link *link, cri_body_def *body) {
    int n_collision = 0;
    for (const cri_xml_node *node = link->node->child; node; node = node->next) {
        if (strcmp(node->name, "collision") == 0) {
            CR_TRY(read_collision(u, link, node, n_collision++));
        } else if (strcmp(node->name, "inertial") == 0) {
            if (body) {
                CR_TRY(read_inertial(u, node, body));
            }
        } else if (cri_urdf_is_extension("contact sensor gazebo", node)) {
            u->note[CRI_URDF_EXTENSION]++;
        } else if (!cri_urdf_is_word("visual material self_collision_checking verbose",
                                     node->name)) {
            return cri_urdf_fail(u, CR_ERR_UNSUPPORTED, node,
                                 "is not known in a link: check its spelling or remove it");
        }
    }
    return CR_OK;
}
