// SPDX-License-Identifier: MIT
//
// Frames in MJCF: orientations, fromto, and poses inside frames.
//
// Orientations as in MuJoCo, all to a unit quaternion q (w x y z) that takes the local frame to its
// parent's:
//   euler a b c     turns about the axes of eulerseq: q <- q turn for a moving axis (lower case),
//                   q <- turn q for a fixed one
//   axisangle u a   q = (cos a/2, u sin a/2)
//   xyaxes x y      columns x, y made orthogonal to x, x cross y
//   zaxis z         the least rotation that takes (0, 0, 1) to z
//   fromto a b      zaxis a - b, centre (a + b)/2
// Over defaults the strongest of the last four counts, and quat only without any of them.

#include "model/scene/mjcf_parts.h"

#include <math.h>
#include <string.h>

// longest piece of the file shown in a message, bytes
#define SHOWN 40

// ---- orientations ------------------------------------------------------------------------------

bool cri_mjcf_normalise(int n, double *a) {
    CR_ASSERT(n > 0 && a);
    double largest = 0.0;
    for (int i = 0; i < n; i++) {
        largest = fmax(largest, fabs(a[i]));
    }
    if (largest == 0.0) {
        return false;
    }

    // numbers near 1 keep their bits; only extreme ones are scaled first
    bool is_extreme = largest < 1e-100 || largest > 1e100;
    double sum = 0.0;
    for (int i = 0; i < n; i++) {
        a[i] = is_extreme ? a[i] / largest : a[i];
        sum += a[i] * a[i];
    }
    for (int i = 0; i < n; i++) {
        a[i] /= sqrt(sum);
    }
    return true;
}

static cri_quat axis_quat(const double axis[3], double angle) {
    double s = sin(0.5 * angle);
    return (cri_quat){cos(0.5 * angle), s * axis[0], s * axis[1], s * axis[2]};
}

cri_quat cri_mjcf_euler(const cri_mjcf *m, const double angle[3]) {
    CR_ASSERT(m->set.angle_unit > 0.0);
    cri_quat q = {1, 0, 0, 0};
    for (int i = 0; i < 3; i++) {
        char letter = m->set.euler[i];
        bool is_moving = letter >= 'x';
        double axis[3] = {0};
        axis[is_moving ? letter - 'x' : letter - 'X'] = 1.0;
        cri_quat turn = axis_quat(axis, m->set.angle_unit * angle[i]);
        q = is_moving ? cri_quat_mul(q, turn) : cri_quat_mul(turn, q);
    }
    return q;
}

cri_quat cri_mjcf_zaxis(const double z[3]) {
    // the axis is (0, 0, 1) x z, its length the sine of the angle
    double axis[3] = {-z[1], z[0], 0.0};
    double angle = atan2(hypot(z[0], z[1]), z[2]);
    if (!cri_mjcf_normalise(3, axis)) {
        axis[0] = 1.0;
    }
    return axis_quat(axis, angle);
}

// the quaternion of a rotation with rows R, by its largest component
static cri_quat rotation_quat(double R[3][3]) {
    double trace = R[0][0] + R[1][1] + R[2][2];
    double q[4]; // w x y z
    if (trace > 0.0) {
        q[0] = 1.0 + trace;
        q[1] = R[2][1] - R[1][2];
        q[2] = R[0][2] - R[2][0];
        q[3] = R[1][0] - R[0][1];
    } else {
        int i = R[1][1] > R[0][0] ? 1 : 0;
        i = R[2][2] > R[i][i] ? 2 : i;
        int j = (i + 1) % 3;
        int k = (i + 2) % 3;
        q[0] = R[k][j] - R[j][k];
        q[1 + i] = 1.0 + R[i][i] - R[j][j] - R[k][k];
        q[1 + j] = R[j][i] + R[i][j];
        q[1 + k] = R[k][i] + R[i][k];
    }
    bool is_valid = cri_mjcf_normalise(4, q);
    CR_ASSERT(is_valid);
    return cri_q4_load(q);
}

// false when the two axes span no plane
static bool xyaxes_quat(double a[6], cri_quat *out) {
    double *x = a;
    double *y = a + 3;
    if (!cri_mjcf_normalise(3, x) || !cri_mjcf_normalise(3, y)) {
        return false;
    }
    double along = x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
    for (int i = 0; i < 3; i++) {
        y[i] -= along * x[i];
    }

    // what is left of a unit vector that was nearly parallel is rounding
    if (hypot(hypot(y[0], y[1]), y[2]) < 1e-10 || !cri_mjcf_normalise(3, y)) {
        return false;
    }
    double R[3][3];
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3;
        int k = (i + 2) % 3;
        R[i][0] = x[i];
        R[i][1] = y[i];
        R[i][2] = x[j] * y[k] - x[k] * y[j];
    }
    *out = rotation_quat(R);
    return true;
}

// an orientation attribute and how many numbers it has
typedef struct specifier {
    const char *name;
    int n;
} specifier;

static const specifier specifiers[] = {
    {"quat", 4}, {"euler", 3}, {"axisangle", 4}, {"xyaxes", 6}, {"zaxis", 3}};

enum { N_SPECIFIER = sizeof specifiers / sizeof specifiers[0] };

// out from the numbers a of specifier k; false when they give no direction
static bool quat_from(const cri_mjcf *m, int k, double *a, cri_quat *out) {
    bool is_valid = true;
    switch (k) {
    case 0:
        is_valid = cri_mjcf_normalise(4, a);
        *out = cri_q4_load(a);
        return is_valid;
    case 1:
        *out = cri_mjcf_euler(m, a);
        return true;
    case 2:
        is_valid = cri_mjcf_normalise(3, a);
        *out = axis_quat(a, m->set.angle_unit * a[3]);
        return is_valid;
    case 3:
        return xyaxes_quat(a, out);
    default:
        is_valid = cri_mjcf_normalise(3, a);
        *out = cri_mjcf_zaxis(a);
        return is_valid;
    }
}

// the only specifier of node, -1: none
static cr_status find_specifier(const cri_mjcf *m, const cri_xml_node *node, int *out) {
    *out = -1;
    for (int k = 0; k < N_SPECIFIER; k++) {
        if (!cri_xml_get(node, specifiers[k].name)) {
            continue;
        }
        if (*out >= 0) {
            return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                                 "has both %s and %s: give one orientation only",
                                 specifiers[*out].name, specifiers[k].name);
        }
        *out = k;
    }
    return CR_OK;
}

static cr_status read_specifier(const cri_mjcf *m, const cri_xml_node *node, int k, cri_quat *out) {
    const char *name = specifiers[k].name;
    int n = specifiers[k].n;
    double a[6] = {0};
    cri_mjcf_elem bare = cri_mjcf_bare(node);
    CR_TRY(cri_mjcf_numbers(m, &bare, name, n, n, a, NULL));
    if (!quat_from(m, k, a, out)) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "%s=\"%.*s\" %s", name, SHOWN,
                             cri_xml_get(node, name),
                             n == 6 ? "has parallel or zero axes: give two directions"
                                    : "is zero: give a direction");
    }
    return CR_OK;
}

cr_status cri_mjcf_orientation(const cri_mjcf *m, const cri_mjcf_elem *e, cri_quat *out) {
    bool has_other = false;
    for (int i = 0; i <= e->n_base; i++) {
        const cri_xml_node *node = i < e->n_base ? e->base[i] : e->node;
        int k;
        CR_TRY(find_specifier(m, node, &k));
        if (k < 0) {
            continue;
        }
        // a quaternion never outranks another specifier
        cri_quat q;
        CR_TRY(read_specifier(m, node, k, &q));
        if (k > 0 || !has_other) {
            *out = q;
        }
        has_other = has_other || k > 0;
    }
    return CR_OK;
}

// ---- poses -------------------------------------------------------------------------------------

cri_vec3 cri_mjcf_rotate(cri_quat q, cri_vec3 a) {
    cri_mat3 R = cri_quat_rotation(q);
    return cri_m3_mul(&R, a);
}

void cri_mjcf_to_body(const cri_mjcf_scope *scope, cri_vec3 *pos, cri_quat *quat) {
    *pos = cri_v3_add(scope->pos, cri_mjcf_rotate(scope->quat, *pos));
    *quat = cri_quat_mul(scope->quat, *quat);
}

cr_status cri_mjcf_pose(const cri_mjcf *m, const cri_mjcf_elem *e, const cri_mjcf_scope *scope,
                        cri_vec3 *pos, cri_quat *quat) {
    *pos = cri_v3(0, 0, 0);
    *quat = (cri_quat){1, 0, 0, 0};
    CR_TRY(cri_mjcf_vec3(m, e, "pos", pos));
    CR_TRY(cri_mjcf_orientation(m, e, quat));
    cri_mjcf_to_body(scope, pos, quat);
    return CR_OK;
}

cr_status cri_mjcf_fromto(const cri_mjcf *m, const cri_mjcf_elem *e, cri_vec3 *pos, cri_quat *quat,
                          double *half, bool *is_given) {
    double a[6] = {0};
    int n;
    CR_TRY(cri_mjcf_numbers(m, e, "fromto", 6, 6, a, &n));
    *is_given = n > 0;
    if (n == 0) {
        return CR_OK;
    }
    double z[3] = {a[0] - a[3], a[1] - a[4], a[2] - a[5]};
    *half = 0.5 * cri_v3_norm(cri_v3_load(z));
    *pos = cri_v3_scale(0.5, cri_v3_add(cri_v3_load(a), cri_v3_load(a + 3)));
    if (!isfinite(*half) || !cri_mjcf_normalise(3, z)) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, e->node,
                             "fromto has two equal ends: move one of them");
    }
    *quat = cri_mjcf_zaxis(z);
    return CR_OK;
}
