// SPDX-License-Identifier: MIT
//
// <inertial> of a body: mass, centre of mass, inertia about it in body axes.
//
//   diaginertia d with orientation R   J = R diag(d) R'
//   fullinertia                        J itself: xx yy zz xy xz yz
// A real body has J > 0 and 1/2 tr(J) 1 - J >= 0 (its second moments; for principal moments the
// triangle inequality). balanceinertia replaces an impossible J by tr(J)/3.

#include "model/scene/mjcf_parts.h"

#include <math.h>
#include <string.h>

static const cri_mjcf_rules inertial_rules = {
    .read = "pos quat euler axisangle xyaxes zaxis mass diaginertia fullinertia",
};

// J = R diag(d) R' as xx yy zz xy xz yz
static void rotate_moments(cri_quat q, const double d[3], double J[6]) {
    static const int row[6] = {0, 1, 2, 0, 0, 1};
    static const int column[6] = {0, 1, 2, 1, 2, 2};
    const cri_mat3 R = cri_quat_rotation(q);
    for (int k = 0; k < 6; k++) {
        const double *a = &R.m[3 * row[k]];
        const double *b = &R.m[3 * column[k]];
        J[k] = a[0] * d[0] * b[0] + a[1] * d[1] * b[1] + a[2] * d[2] * b[2];
    }
}

// smallest eigenvalue of the symmetric matrix xx yy zz xy xz yz
//
// With m = tr/3, B = A - m 1, p^2 = tr(B^2)/6, r = det(B)/(2 p^3) the eigenvalues are
// m + 2 p cos((acos(r) + 2 pi k)/3), the smallest for k = 1.
static double smallest_eigenvalue(const double A[6]) {
    double mean = (A[0] + A[1] + A[2]) / 3.0;
    double a = A[0] - mean;
    double b = A[1] - mean;
    double c = A[2] - mean;
    double off = A[3] * A[3] + A[4] * A[4] + A[5] * A[5];
    double p = sqrt((a * a + b * b + c * c + 2.0 * off) / 6.0);
    if (p == 0.0) {
        return mean;
    }
    double det =
        a * b * c + 2.0 * A[3] * A[4] * A[5] - a * A[5] * A[5] - b * A[4] * A[4] - c * A[3] * A[3];
    double r = det / (2.0 * p * p * p);
    r = fmin(1.0, fmax(-1.0, r));
    // 2 pi / 3
    return mean + 2.0 * p * cos(acos(r) / 3.0 + 2.0943951023931954923);
}

// what must be positive for J and for its second moments, over the trace
static void margins(const double J[6], double *moment, double *second) {
    double trace = J[0] + J[1] + J[2];
    double scale = trace > 0.0 ? 1.0 / trace : 1.0;
    double A[6];
    double B[6];
    for (int k = 0; k < 6; k++) {
        A[k] = scale * J[k];
        B[k] = (k < 3 ? 0.5 * scale * trace : 0.0) - A[k];
    }
    *moment = smallest_eigenvalue(A);
    *second = smallest_eigenvalue(B);
}

static cr_status check_inertia(const cri_mjcf *m, const cri_xml_node *node, const char *attr,
                               double J[6]) {
    double moment;
    double second;
    margins(J, &moment, &second);
    // up to the digits that a file gives
    bool is_real = second >= -1e-6;
    if (!is_real && m->set.balances_inertia) {
        double mean = (J[0] + J[1] + J[2]) / 3.0;
        for (int k = 0; k < 6; k++) {
            J[k] = k < 3 ? mean : 0.0;
        }
        moment = mean;
        is_real = true;
    }
    // rounding leaves this much of a zero moment
    if (!(moment > 1e-15) || !is_real) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                             "%s is impossible: each principal moment must be above 0 and at most "
                             "the sum of the other two",
                             attr);
    }
    return CR_OK;
}

static cr_status read_moments(const cri_mjcf *m, const cri_mjcf_elem *e, cri_body_def *body) {
    int n_diagonal;
    int n_full;
    double d[3] = {0};
    CR_TRY(cri_mjcf_numbers(m, e, "diaginertia", 3, 3, d, &n_diagonal));
    CR_TRY(cri_mjcf_numbers(m, e, "fullinertia", 6, 6, body->inertia, &n_full));
    if (n_diagonal > 0 && n_full > 0) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, e->node,
                             "has both diaginertia and fullinertia: remove one");
    }
    cri_quat quat = {1, 0, 0, 0};
    CR_TRY(cri_mjcf_orientation(m, e, &quat));
    if (n_full > 0) {
        bool is_turned = quat.x != 0.0 || quat.y != 0.0 || quat.z != 0.0;
        if (is_turned) {
            return cri_mjcf_fail(m, CR_ERR_SYNTAX, e->node,
                                 "has fullinertia and an orientation: remove one");
        }
        return check_inertia(m, e->node, "fullinertia", body->inertia);
    }
    rotate_moments(quat, d, body->inertia);
    return check_inertia(m, e->node, "diaginertia", body->inertia);
}

cr_status cri_mjcf_read_inertial(cri_mjcf *m, const cri_xml_node *node, cri_body_def *body) {
    CR_ASSERT(body && !body->has_inertial);
    cri_mjcf_elem e = cri_mjcf_bare(node);
    CR_TRY(cri_mjcf_check_attrs(m, node, &inertial_rules));
    bool has_moments = cri_xml_get(node, "diaginertia") || cri_xml_get(node, "fullinertia");
    if (!cri_xml_get(node, "mass") || !has_moments) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                             "needs mass and one of diaginertia, fullinertia");
    }
    CR_TRY(cri_mjcf_vec3(m, &e, "pos", &body->com));
    CR_TRY(cri_mjcf_numbers(m, &e, "mass", 1, 1, &body->mass, NULL));
    if (!(body->mass > 0.0)) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "mass is %g, expected more than 0",
                             body->mass);
    }
    CR_TRY(read_moments(m, &e, body));
    // read all the same, for its mistakes
    body->has_inertial = m->set.inertia_source != CRI_MJCF_INERTIA_GEOMS;
    return CR_OK;
}
