// SPDX-License-Identifier: MIT
//
// A planar body is slide, slide, hinge, with axes at right angles; its surface is the only geom
// that does not move, a plane along the hinge's axis.

#include "model/ground_body.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

// axes at right angles to this
static const double right_angle = 1e-9;

static cr_status fail_shape(cr_error *err, const char *what) {
    return cri_fail(err, CR_ERR_UNSUPPORTED, 0,
                    "nets of contact patches need one body on two slides and a hinge at right "
                    "angles, over one plane: %s",
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

cr_status cri_ground_find(const cr_model *m, cri_ground_body *out, cr_error *err) {
    CR_ASSERT(m && out);
    const cri_mechanism *mech = &m->mech;
    if (m->system_kind || mech->n_unit != 1 || mech->unit[0].n_body != 1 || mech->n_joint != 3 ||
        mech->n_equality > 0 || m->n_limit > 0) {
        return fail_shape(err, "something else moves, or joints are linked or limited");
    }
    *out = (cri_ground_body){.body = mech->unit[0].first_body};
    const cri_joint *joint = mech->joint;
    if (joint[0].kind != CRI_JOINT_SLIDE || joint[1].kind != CRI_JOINT_SLIDE ||
        joint[2].kind != CRI_JOINT_HINGE) {
        return fail_shape(err, "its joints are others");
    }
    cri_pose rest = cri_model_static_pose(m, mech->link[out->body].parent);
    cri_mat3 own = cri_quat_rotation(mech->link[out->body].quat);
    out->axis = cri_m3_mul(&rest.R, cri_m3_mul(&own, joint[2].axis));
    for (int k = 0; k < 2; k++) {
        out->slide_axis[k] = cri_m3_mul(&rest.R, cri_m3_mul(&own, joint[k].axis));
    }
    out->slide[0] = joint[0].q;
    out->slide[1] = joint[1].q;
    out->hinge = joint[2].q;
    CR_TRY(find_surface(m, out, err));
    bool is_right = fabs(cri_v3_dot(joint[0].axis, joint[1].axis)) <= right_angle &&
                    fabs(cri_v3_dot(joint[0].axis, joint[2].axis)) <= right_angle &&
                    fabs(cri_v3_dot(joint[1].axis, joint[2].axis)) <= right_angle &&
                    fabs(cri_v3_dot(out->axis, out->normal)) <= right_angle;
    if (!is_right) {
        return fail_shape(err, "its axes are not");
    }
    out->along = cri_v3_cross(out->axis, out->normal);
    return CR_OK;
}

void cri_ground_mass(const cr_model *m, const cri_derived *d, const cri_ground_body *ground,
                     double *mass, double *inertia) {
    const cri_link_derived *link = &d->mech.link[ground->body];
    cri_vec3 a = m->mech.joint[2].axis;
    const double *J = link->J;
    *mass = link->mass;
    *inertia = J[0] * a.x * a.x + J[1] * a.y * a.y + J[2] * a.z * a.z +
               2.0 * (J[3] * a.x * a.y + J[4] * a.x * a.z + J[5] * a.y * a.z);
}

// equal but for rounding in a file of 9 digits
static bool is_near(double a, double b) {
    return fabs(a - b) <= 1e-8 * fabs(b);
}

cr_status cri_ground_check_nets(const cr_model *m, const cri_derived *d, cri_ground_nets *nets,
                                cr_error *err) {
    cri_ground_body ground;
    double mass, inertia;
    CR_TRY(cri_ground_find(m, &ground, err));
    nets->along = ground.along;
    cri_ground_mass(m, d, &ground, &mass, &inertia);
    const char *name = m->body_name[ground.body];
    if (strcmp(name, nets->body) != 0 || !is_near(mass, nets->mass) ||
        !is_near(inertia, nets->inertia)) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "the weights are for body %.40s (%g kg, %g kg m^2), the scene has %.40s "
                        "(%g kg, %g kg m^2); train them for this one",
                        nets->body, nets->mass, nets->inertia, name, mass, inertia);
    }
    return CR_OK;
}
