// SPDX-License-Identifier: MIT
//
// The nets of contact patches and the bodies that they are for.
//
// A body in space has a free joint. A planar body is slide, slide, hinge, with axes at right
// angles. Its surface is the only geom that does not move, a plane along the hinge's axis. A linked
// one hangs on a hinge of a mechanism in such a plane, or is planar itself and tied to one by a
// connect equality.

#include "model/ground_nets.h"

#include "base/base.h"
#include "model/derived.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// m: nearer is at the centre of mass
static const double centred = 1e-9;

// numbers of six digits that are written by different ways
static const double same = 1e-5;

// axes at right angles, or parallel, to this
static const double right_angle = 1e-9;

static const char *const motion[2] = {"in a plane", "in space"};

/// Numbers that describe the inertia.
static inline int cri_ground_moments(bool is_spatial) {
    return is_spatial ? 6 : 1;
}

/// Outputs of a regressor: an impulse for each row, and restitution.
static inline int cri_ground_outputs(cri_ground_kind kind, bool has_restitution) {
    return cri_ground_rows(kind) + (has_restitution ? 1 : 0);
}

// ---- shapes in words ----------------------------------------------------------------------------

// A shape in words: for each geom its kind and half sizes, with the distance of its centre from the
// centre of mass where there is one; of a mesh the number of its corners and their largest and mean
// distance from there. None of these changes with the frame that a scene gives the body, as its
// place in a mechanism does.

static const char *kind_name(cri_shape_kind kind) {
    static const char *const name[CRI_N_SHAPE] = {
        [CRI_SHAPE_PLANE] = "plane",       [CRI_SHAPE_SPHERE] = "sphere",
        [CRI_SHAPE_CAPSULE] = "capsule",   [CRI_SHAPE_ELLIPSOID] = "ellipsoid",
        [CRI_SHAPE_CYLINDER] = "cylinder", [CRI_SHAPE_BOX] = "box",
        [CRI_SHAPE_MESH] = "mesh",         [CRI_SHAPE_FIELD] = "field",
    };
    return name[kind];
}

// appends, as far as there is room
static void append(size_t n_byte, char *out, const char *format, double value) {
    size_t used = strlen(out);
    (void)snprintf(out + used, n_byte - used, format, value);
}

static void add_mesh(const cri_geom *geom, cri_vec3 com, size_t n_byte, char *out) {
    const cri_hull *hull = geom->hull;
    double most = 0.0, mean = 0.0;
    for (int i = 0; i < hull->n_vertex; i++) {
        cri_vec3 at = cri_m3_mul(&geom->R, cri_v3_load(hull->vertex + 3 * i));
        double r = cri_v3_norm(cri_v3_sub(cri_v3_add(geom->pos, at), com));
        most = fmax(most, r);
        mean += r / hull->n_vertex;
    }
    append(n_byte, out, " of %g corners", hull->n_vertex);
    append(n_byte, out, " to %.6g", most);
    append(n_byte, out, " (%.6g)", mean);
}

void cri_ground_shape(const cr_model *m, const cri_derived *d, int body, size_t n_byte, char *out) {
    CR_ASSERT(m && d && body >= 0 && n_byte > 0 && out);
    cri_vec3 com = d->mech.link[body].com;
    out[0] = '\0';
    for (int g = 0; g < m->sizes.n_geom; g++) {
        const cri_geom *geom = &m->geom[g];
        if (geom->body != body || (geom->contype | geom->conaffinity) == 0) {
            continue;
        }
        size_t used = strlen(out);
        (void)snprintf(out + used, n_byte - used, "%s%s", used > 0 ? " + " : "",
                       kind_name(geom->shape));
        if (geom->shape == CRI_SHAPE_MESH && geom->hull) {
            add_mesh(geom, com, n_byte, out);
            continue;
        }
        for (int k = 0; k < geom->n_size; k++) {
            append(n_byte, out, " %.6g", d->geom[g].size[k]);
        }
        double off = cri_v3_norm(cri_v3_sub(geom->pos, com));
        if (off > centred) {
            append(n_byte, out, " at %.6g", off);
        }
    }
}

/// Are two such texts the same but for the rounding of their numbers?
static bool ground_same_shape(const char *a, const char *b) {
    bool is_same = true;
    while (is_same && *a && *b) {
        char *a_end, *b_end;
        double x = strtod(a, &a_end), y = strtod(b, &b_end);
        if (a_end > a && b_end > b) {
            is_same = fabs(x - y) <= same * fmax(fabs(x), fabs(y));
            a = a_end;
            b = b_end;
            continue;
        }
        is_same = *a++ == *b++;
    }
    return is_same && *a == *b;
}

// ---- shapes and names of nets -------------------------------------------------------------------

// Shapes and names of the nets of contact patches. A classifier has three outputs, a regressor one
// for each row of the reduced problem, and restitution where nets have learned it.

void cri_ground_nets_shape(int n_hidden, const int *width, cri_ground_nets *nets) {
    CR_ASSERT(n_hidden >= 1 && n_hidden <= CRI_GROUND_HIDDEN && width && nets);
    nets->n_weight = 0;
    for (int i = 0; i < CRI_GROUND_NETS; i++) {
        cri_ground_kind kind = (cri_ground_kind)(i / 2);
        cri_mlp *net = &nets->net[i];
        nets->first[i] = nets->n_weight;
        *net = (cri_mlp){0};
        if (!cri_ground_has_net(nets, i)) {
            continue;
        }
        *net = (cri_mlp){.n_layer = n_hidden + 1, .act = CRI_ACT_TANH};
        net->width[0] = cri_ground_all_inputs(kind, nets->has_applied, nets->has_place);
        for (int l = 0; l < n_hidden; l++) {
            CR_ASSERT(width[l] >= 1 && width[l] <= CRI_GROUND_WIDTH);
            net->width[l + 1] = width[l];
        }
        net->width[n_hidden + 1] =
            i % 2 == 0 ? CRI_GROUND_CLASSES : cri_ground_outputs(kind, nets->has_restitution);
        nets->n_weight += cri_mlp_n_weight(net);
    }
}

const char *cri_ground_kind_name(int kind) {
    static const char *const name[CRI_GROUND_KINDS] = {"point", "line", "point", "line", "surface"};
    CR_ASSERT(kind >= 0 && kind < CRI_GROUND_KINDS);
    return name[kind];
}

const char *cri_ground_net_name(int net) {
    static const char *const name[CRI_GROUND_NETS] = {
        "point/class",    "point/friction", "line/class",    "line/friction", "point/class",
        "point/friction", "line/class",     "line/friction", "surface/class", "surface/friction"};
    CR_ASSERT(net >= 0 && net < CRI_GROUND_NETS);
    return name[net];
}

// ---- bodies -------------------------------------------------------------------------------------

static cr_status fail_shape(cr_error *err, const char *what) {
    return cri_fail(err, CR_ERR_UNSUPPORTED, 0,
                    "nets of contact patches need one body, free or on two slides and a hinge at "
                    "right angles, over one plane: %s",
                    what);
}

static cr_status find_surface(const cr_model *m, cri_ground_body *out, cr_error *err) {
    out->surface = -1;
    for (int g = 0; g < m->sizes.n_geom; g++) {
        if (m->geom[g].unit >= 0) {
            continue;
        }
        if (out->surface >= 0 || m->geom[g].shape != CRI_SHAPE_PLANE) {
            return fail_shape(err, "there is another fixed geom");
        }
        out->surface = g;
    }
    if (out->surface < 0) {
        return fail_shape(err, "there is no plane");
    }
    out->normal = m->geom[out->surface].normal;
    return CR_OK;
}

// rotation of a body's frame where no joint has moved
static cri_mat3 rest_rotation(const cr_model *m, int body) {
    cri_quat q = {1.0, 0.0, 0.0, 0.0};
    for (; body >= 0; body = m->mech.link[body].parent) {
        q = cri_quat_mul(m->mech.link[body].quat, q);
    }
    return cri_quat_rotation(q);
}

static bool is_planar(const cri_joint *joint) {
    return joint[0].kind == CRI_JOINT_SLIDE && joint[1].kind == CRI_JOINT_SLIDE &&
           joint[2].kind == CRI_JOINT_HINGE &&
           fabs(cri_v3_dot(joint[0].axis, joint[1].axis)) <= right_angle &&
           fabs(cri_v3_dot(joint[0].axis, joint[2].axis)) <= right_angle &&
           fabs(cri_v3_dot(joint[1].axis, joint[2].axis)) <= right_angle;
}

// the numbers of a planar body whose joints begin at joint
static void take_planar(const cr_model *m, int body, const cri_joint *joint, cri_ground_body *out) {
    cri_mat3 R = rest_rotation(m, body);
    out->body = body;
    out->own_axis = joint[2].axis;
    out->axis = cri_m3_mul(&R, joint[2].axis);
    for (int k = 0; k < 2; k++) {
        out->slide_axis[k] = cri_m3_mul(&R, joint[k].axis);
        out->slide[k] = joint[k].q;
    }
    out->hinge = joint[2].q;
}

// two planar bodies in one plane of motion
static cr_status find_pair(const cr_model *m, cri_ground_body *out, cr_error *err) {
    const cri_mechanism *mech = &m->mech;
    cri_ground_body one = {.body = -1};
    for (int k = 0; k < 2; k++) {
        int body = mech->unit[k].first_body;
        const cri_joint *joint = mech->joint + mech->link[body].first_joint;
        if (mech->unit[k].n_body != 1 || mech->link[body].n_joint != 3 || !is_planar(joint)) {
            return fail_shape(err, "of two bodies, one moves otherwise");
        }
        take_planar(m, body, joint, k == 0 ? &one : out);
    }
    if (one.body > out->body) {
        cri_ground_body own = one;
        one = *out;
        *out = own;
    }
    out->other = one.body;
    out->other_slide[0] = one.slide[0];
    out->other_slide[1] = one.slide[1];
    out->other_hinge = one.hinge;
    out->surface = -1;
    for (int k = 0; k < 2; k++) {
        // both slide along the same two lines, so that a distance means the same for both
        double part = fabs(cri_v3_dot(one.slide_axis[k], out->slide_axis[k]));
        if (part < 1.0 - right_angle || cri_v3_dot(one.axis, out->axis) < 1.0 - right_angle) {
            return fail_shape(err, "two bodies move in different planes, or along other axes");
        }
    }
    return CR_OK;
}

cr_status cri_ground_find(const cr_model *m, cri_ground_body *out, cr_error *err) {
    CR_ASSERT(m && out);
    const cri_mechanism *mech = &m->mech;
    *out = (cri_ground_body){.body = -1, .other = -1};
    if (!m->system_kind && mech->n_unit == 2 && mech->n_joint == 6 && mech->n_equality == 0 &&
        m->n_limit == 0) {
        return find_pair(m, out, err);
    }
    bool is_spatial = mech->n_joint == 1 && mech->joint[0].kind == CRI_JOINT_FREE;
    if (m->system_kind || mech->n_unit != 1 || mech->unit[0].n_body != 1 ||
        (mech->n_joint != 3 && !is_spatial) || mech->n_equality > 0 || m->n_limit > 0) {
        return fail_shape(err, "something else moves, or joints are linked or limited");
    }
    out->body = mech->unit[0].first_body;
    out->is_spatial = is_spatial;
    if (is_spatial) {
        return find_surface(m, out, err);
    }
    const cri_joint *joint = mech->joint;
    if (joint[0].kind != CRI_JOINT_SLIDE || joint[1].kind != CRI_JOINT_SLIDE ||
        joint[2].kind != CRI_JOINT_HINGE) {
        return fail_shape(err, "its joints are others");
    }
    take_planar(m, out->body, joint, out);
    CR_TRY(find_surface(m, out, err));
    if (!is_planar(joint) || fabs(cri_v3_dot(out->axis, out->normal)) > right_angle) {
        return fail_shape(err, "its axes are not");
    }
    out->along = cri_v3_cross(out->axis, out->normal);
    return CR_OK;
}

// ---- linked bodies -----------------------------------------------------------------------------

static cr_status fail_linked(const char *body, const char *what, cr_error *err) {
    return cri_fail(err, CR_ERR_UNSUPPORTED, 0,
                    "body %.40s hangs on others; nets of contact patches then need hinges and "
                    "slides in one plane at right angles to the ground: %s",
                    body, what);
}

// its joint to the rest: a hinge of its own, or a connect equality; false when there is none
static bool find_anchor(const cr_model *m, int body, cri_ground_body *out) {
    const cri_link *link = &m->mech.link[body];
    const cri_joint *joint = m->mech.joint + link->first_joint;
    if (link->n_joint == 1 && joint->kind == CRI_JOINT_HINGE) {
        out->own_axis = joint->axis;
        out->anchor = joint->pos;
        return true;
    }
    if (link->n_joint != 3 || !is_planar(joint)) {
        return false;
    }
    int n = 0;
    out->own_axis = joint[2].axis;
    for (int e = 0; e < m->mech.n_equality; e++) {
        const cri_equality *tie = &m->mech.equality[e];
        for (int s = 0; s < 2 && tie->kind == CRI_EQUALITY_CONNECT; s++) {
            if (tie->object[s] == body) {
                out->anchor = tie->anchor[s];
                n++;
            }
        }
    }
    return n == 1;
}

// does everything move in the plane across axis?
static bool is_flat(const cr_model *m, cri_vec3 axis) {
    bool is_good = true;
    for (int j = 0; j < m->mech.n_joint; j++) {
        const cri_joint *joint = &m->mech.joint[j];
        cri_mat3 R = rest_rotation(m, joint->body);
        double part = fabs(cri_v3_dot(cri_m3_mul(&R, joint->axis), axis));
        bool is_hinge = joint->kind == CRI_JOINT_HINGE && part >= 1.0 - right_angle;
        bool is_slide = joint->kind == CRI_JOINT_SLIDE && part <= right_angle;
        is_good = is_good && (is_hinge || is_slide);
    }
    return is_good;
}

/// The body of that name at the end of a mechanism. Error: there is none, or something moves out of
/// its plane.
static cr_status ground_find_linked(const cr_model *m, const char *name, cri_ground_body *out,
                                    cr_error *err) {
    *out = (cri_ground_body){.body = -1, .other = -1};
    for (int b = 0; b < m->sizes.n_body; b++) {
        out->body = strcmp(m->body_name[b], name) == 0 ? b : out->body;
    }
    if (out->body < 0 || m->mech.link[out->body].unit < 0) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "the weights are for body %.40s, which the scene does not have; it has "
                        "%.40s among others",
                        name, m->sizes.n_body > 0 ? m->body_name[m->sizes.n_body - 1] : "none");
    }
    for (int b = 0; b < m->sizes.n_body; b++) {
        if (m->mech.link[b].parent == out->body) {
            return fail_linked(name, "it is not the last one", err);
        }
    }
    if (!find_anchor(m, out->body, out)) {
        return fail_linked(name, "it has no hinge, or more than one tie", err);
    }
    cri_mat3 R = rest_rotation(m, out->body);
    out->axis = cri_m3_mul(&R, out->own_axis);
    CR_TRY(find_surface(m, out, err));
    if (!is_flat(m, out->axis) || fabs(cri_v3_dot(out->axis, out->normal)) > right_angle) {
        return fail_linked(name, "some joint is another one", err);
    }
    out->along = cri_v3_cross(out->axis, out->normal);
    out->is_linked = true;
    return CR_OK;
}

// ---- masses ------------------------------------------------------------------------------------

void cri_ground_mass(const cri_derived *d, const cri_ground_body *ground, double *mass,
                     double *inertia) {
    const cri_link_derived *link = &d->mech.link[ground->body];
    cri_vec3 a = ground->own_axis;
    const double *J = link->J;
    *mass = link->mass;
    if (ground->is_spatial) {
        memcpy(inertia, J, sizeof *inertia * 6);
        return;
    }
    *inertia = J[0] * a.x * a.x + J[1] * a.y * a.y + J[2] * a.z * a.z +
               2.0 * (J[3] * a.x * a.y + J[4] * a.x * a.z + J[5] * a.y * a.z);
}

void cri_ground_other_mass(const cri_derived *d, const cri_ground_body *ground, double *mass,
                           double *inertia) {
    *mass = *inertia = 0.0;
    if (ground->other >= 0) {
        cri_ground_body other = {.body = ground->other, .own_axis = ground->own_axis};
        cri_ground_mass(d, &other, mass, inertia);
    }
}

// equal but for rounding in a file of 9 digits
static bool is_near(double a, double b) {
    return fabs(a - b) <= 1e-8 * fabs(b);
}

// is the other body of two the one that the nets know?
static cr_status check_other(const cr_model *m, const cri_derived *d, const cri_ground_body *ground,
                             cri_ground_nets *nets, cr_error *err) {
    double mass, inertia;
    cri_ground_other_mass(d, ground, &mass, &inertia);
    const char *name = ground->other >= 0 ? m->body_name[ground->other] : "a fixed surface";
    nets->other_index = ground->other;
    if (ground->other < 0 || strcmp(name, nets->surface) != 0 || !is_near(mass, nets->other_mass) ||
        !is_near(inertia, nets->other_inertia)) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "the weights are for body %.40s against %.40s (%g kg, %g kg m^2), the "
                        "scene has %.40s (%g kg, %g kg m^2); train them for this one",
                        nets->body, nets->surface, nets->other_mass, nets->other_inertia, name,
                        mass, inertia);
    }
    return CR_OK;
}

// do the bodies look as those that the nets know? m's are of the ground
static cr_status check_shape(const cr_model *m, const cri_derived *d, const cri_ground_body *ground,
                             const cri_ground_nets *nets, cr_error *err) {
    for (int k = 0; k < 2; k++) {
        int body = k == 0 ? ground->body : ground->other;
        const char *known = k == 0 ? nets->shape : nets->other_shape;
        char here[sizeof nets->shape] = "";
        if (body < 0) {
            continue;
        }
        cri_ground_shape(m, d, body, sizeof here, here);
        if (!ground_same_shape(known, here)) {
            return cri_fail(err, CR_ERR_ARGUMENT, 0,
                            "the weights are for body %.40s with the shape %.60s, the scene's has "
                            "%.60s; train them for this one",
                            m->body_name[body], known, here);
        }
    }
    return CR_OK;
}

cr_status cri_ground_check_nets(const cr_model *m, const cri_derived *d, cri_ground_nets *nets,
                                cr_error *err) {
    cri_ground_body ground;
    double mass, inertia[6];
    bool is_alone = m->mech.n_unit == 0 || nets->has_other ||
                    (m->mech.n_unit == 1 && m->mech.unit[0].n_body == 1);
    CR_TRY(is_alone ? cri_ground_find(m, &ground, err)
                    : ground_find_linked(m, nets->body, &ground, err));
    if ((nets->has_applied || nets->has_place) && (ground.is_linked || ground.other >= 0)) {
        return cri_fail(err, CR_ERR_UNSUPPORTED, 0,
                        "the weights of body %.40s take %s, which they know for a body "
                        "alone on a plane; train them without %s",
                        nets->body, nets->has_applied ? "applied forces" : "its place",
                        nets->has_applied ? "--static" : "--place");
    }
    nets->along = ground.along;
    nets->body_index = ground.body;
    nets->is_linked = ground.is_linked;
    nets->anchor = ground.anchor;
    nets->axis = ground.own_axis;
    cri_ground_mass(d, &ground, &mass, inertia);
    const char *name = m->body_name[ground.body];
    bool is_same = strcmp(name, nets->body) == 0 && ground.is_spatial == nets->is_spatial &&
                   is_near(mass, nets->mass);
    for (int i = 0; i < cri_ground_moments(nets->is_spatial) && is_same; i++) {
        // products of inertia are zero but for rounding
        is_same = fabs(inertia[i] - nets->inertia[i]) <= 1e-8 * fabs(nets->inertia[0]);
    }
    if (is_same && nets->has_other) {
        CR_TRY(check_other(m, d, &ground, nets, err));
    }
    if (!is_same) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "the weights are for body %.40s (%g kg, %g kg m^2, %s), the scene has "
                        "%.40s (%g kg, %g kg m^2, %s); train them for this one",
                        nets->body, nets->mass, nets->inertia[0], motion[nets->is_spatial], name,
                        mass, inertia[0], motion[ground.is_spatial]);
    }
    return check_shape(m, d, &ground, nets, err);
}
