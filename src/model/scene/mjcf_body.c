// SPDX-License-Identifier: MIT
//
// The tree of an MJCF scene: bodies, frames and replicas.
//
// Each body is walked twice: first for its joints, so that they are consecutive, then in document
// order for geoms, sites and the bodies in it. A <frame> only moves and turns what it holds.
// Replica k of a <replicate> stands in a frame turned by k times its euler angles, at
//   p(0) = 0,  p(k + 1) = p(k) + R(k) offset,
// and names in it end in k, with zeros in front for equal length.

#include "model/scene/mjcf.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// longest piece of the file shown in a message, bytes
#define SHOWN 40

// an orientation attribute and how many numbers it has
typedef struct specifier {
    const char *name;
    int n;
} specifier;

static const specifier specifiers[] = {
    {"quat", 4}, {"euler", 3}, {"axisangle", 4}, {"xyaxes", 6}, {"zaxis", 3}};

enum { N_SPECIFIER = sizeof specifiers / sizeof specifiers[0] };

static const cri_mjcf_rules inertial_rules = {
    .read = "pos quat euler axisangle xyaxes zaxis mass diaginertia fullinertia",
};

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

// more bodies, joints, geoms and sites than this come from a mistaken <replicate>
enum { THING_LIMIT = 250000 };

// cannot move anything
static const char *const ignored_words = "light camera";

static const cri_mjcf_rules body_rules = {
    .read = "name childclass pos quat euler axisangle xyaxes zaxis",
    .ignored = "user sleep",
    .fixed = "mocap=false gravcomp=0",
    .remedy = "bodies move by joints and under full gravity; remove it",
};

static const cri_mjcf_rules frame_rules = {
    .read = "name childclass pos quat euler axisangle xyaxes zaxis",
};

static const cri_mjcf_rules replicate_rules = {.read = "count offset euler sep childclass"};

// which children of a body are read
typedef enum walk {
    WALK_JOINTS,
    WALK_REST,
} walk;

static cr_status walk_frame(cri_mjcf *m, const cri_xml_node *node, const cri_mjcf_scope *scope,
                            walk what);

static cr_status walk_children(cri_mjcf *m, const cri_xml_node *parent, const cri_mjcf_scope *scope,
                               walk what);

// ---- frames -------------------------------------------------------------------------------------

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

/// Turn by three angles (units of the file) in the sequence of the file.
static cri_quat mjcf_euler(const cri_mjcf *m, const double angle[3]) {
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

/// The least rotation that takes (0, 0, 1) to unit z.
static cri_quat mjcf_zaxis(const double z[3]) {
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

// out from the numbers a of specifier k; false when they give no direction
static bool quat_from(const cri_mjcf *m, int k, double *a, cri_quat *out) {
    bool is_valid = true;
    switch (k) {
    case 0:
        is_valid = cri_mjcf_normalise(4, a);
        *out = cri_q4_load(a);
        return is_valid;
    case 1:
        *out = mjcf_euler(m, a);
        return true;
    case 2:
        is_valid = cri_mjcf_normalise(3, a);
        *out = axis_quat(a, m->set.angle_unit * a[3]);
        return is_valid;
    case 3:
        return xyaxes_quat(a, out);
    default:
        is_valid = cri_mjcf_normalise(3, a);
        *out = mjcf_zaxis(a);
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

/// Reads whichever of quat, euler, axisangle, xyaxes, zaxis is there, as unit quaternion.
static cr_status mjcf_orientation(const cri_mjcf *m, const cri_mjcf_elem *e, cri_quat *out) {
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

/// A pose in the scope's frame becomes one in its body's.
static void mjcf_to_body(const cri_mjcf_scope *scope, cri_vec3 *pos, cri_quat *quat) {
    *pos = cri_v3_add(scope->pos, cri_mjcf_rotate(scope->quat, *pos));
    *quat = cri_quat_mul(scope->quat, *quat);
}

/// pos and orientation of e in the body's frame.
static cr_status mjcf_pose(const cri_mjcf *m, const cri_mjcf_elem *e, const cri_mjcf_scope *scope,
                           cri_vec3 *pos, cri_quat *quat) {
    *pos = cri_v3(0, 0, 0);
    *quat = (cri_quat){1, 0, 0, 0};
    CR_TRY(cri_mjcf_vec3(m, e, "pos", pos));
    CR_TRY(mjcf_orientation(m, e, quat));
    mjcf_to_body(scope, pos, quat);
    return CR_OK;
}

/// Reads fromto, if it is there, as pose (in the scope's frame) and half length.
static cr_status mjcf_fromto(const cri_mjcf *m, const cri_mjcf_elem *e, cri_vec3 *pos,
                             cri_quat *quat, double *half, bool *is_given) {
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
    *quat = mjcf_zaxis(z);
    return CR_OK;
}

// ---- inertias -----------------------------------------------------------------------------------

// <inertial> of a body: mass, centre of mass, inertia about it in body axes.
//
//   diaginertia d with orientation R   J = R diag(d) R'
//   fullinertia                        J itself: xx yy zz xy xz yz
// A real body has J > 0 and 1/2 tr(J) 1 - J >= 0 (its second moments; for principal moments the
// triangle inequality). balanceinertia replaces an impossible J by tr(J)/3.

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
    CR_TRY(mjcf_orientation(m, e, &quat));
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

/// Reads <inertial> into its body.
static cr_status mjcf_read_inertial(cri_mjcf *m, const cri_xml_node *node, cri_body_def *body) {
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

// ---- geoms and sites ----------------------------------------------------------------------------

// Geoms and sites of an MJCF scene.
//
// Only the first number of friction acts. Mass: given, else from density. Geoms outside
// inertiagrouprange, and all of them with inertiafromgeom="false", weigh nothing.

// ---- shapes ------------------------------------------------------------------------------------

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
    CR_TRY(mjcf_pose(m, e, scope, &g->pos, &g->quat));

    double half = 0.0;
    bool is_given;
    cri_vec3 pos;
    cri_quat quat;
    CR_TRY(mjcf_fromto(m, e, &pos, &quat, &half, &is_given));
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
        mjcf_to_body(scope, &g->pos, &g->quat);
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

static cr_status mjcf_add_geom(cri_mjcf *m, const cri_xml_node *node, const cri_mjcf_scope *scope) {
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

static cr_status mjcf_add_site(cri_mjcf *m, const cri_xml_node *node, const cri_mjcf_scope *scope) {
    CR_ASSERT(scope->body >= -1 && scope->body < m->def->n_body);
    cri_scene_def *def = m->def;
    cri_site_def site = {.body = scope->body, .place = cri_mjcf_place(node)};
    cri_mjcf_elem e;
    CR_TRY(cri_mjcf_open(m, node, CRI_MJCF_SITE, &cri_mjcf_site_rules, scope->usual, &e));
    CR_TRY(cri_mjcf_check_children(m, node, NULL));
    CR_TRY(mjcf_pose(m, &e, scope, &site.pos, &site.quat));
    double half;
    bool is_given;
    cri_vec3 pos;
    cri_quat quat;
    CR_TRY(mjcf_fromto(m, &e, &pos, &quat, &half, &is_given));
    if (is_given) {
        site.pos = pos;
        site.quat = quat;
        mjcf_to_body(scope, &site.pos, &site.quat);
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

// ---- the tree of bodies -------------------------------------------------------------------------

// sep and number, in front of what is there already; NULL for lack of memory
static const char *push_suffix(const cri_mjcf *m, const char *sep, int k, int count,
                               const char *outer) {
    char number[16];
    int width = snprintf(number, sizeof number, "%d", count);
    snprintf(number, sizeof number, "%0*d", width, k);
    size_t n = strlen(sep) + strlen(number) + strlen(outer) + 1;
    char *text = cri_arena_push_raw(m->scratch, n);
    if (text) {
        snprintf(text, n, "%s%s%s", sep, number, outer);
    }
    return text;
}

static cr_status walk_replicate(cri_mjcf *m, const cri_xml_node *node, const cri_mjcf_scope *scope,
                                walk what) {
    cri_mjcf_elem e = cri_mjcf_bare(node);
    cri_mjcf_scope inner = *scope;
    int count = -1;
    cri_vec3 offset = {0, 0, 0};
    double euler[3] = {0};
    CR_TRY(cri_mjcf_check_attrs(m, node, &replicate_rules));
    CR_TRY(cri_mjcf_int(m, &e, "count", &count));
    CR_TRY(cri_mjcf_vec3(m, &e, "offset", &offset));
    CR_TRY(cri_mjcf_numbers(m, &e, "euler", 3, 3, euler, NULL));
    CR_TRY(cri_mjcf_find_class(m, node, "childclass", &inner.usual));
    if (count < 0 || count > THING_LIMIT) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "has no count, or not one of 0 to %d",
                             THING_LIMIT);
    }
    const char *sep = cri_xml_get(node, "sep");
    cri_vec3 at = {0, 0, 0};
    for (int k = 0; k < count && node->child; k++) {
        // empty replicas in replicas would take for ever all the same
        if (++m->n_replica > THING_LIMIT) {
            return cri_mjcf_fail(m, CR_ERR_UNSUPPORTED, node,
                                 "makes too many replicas: at most %d are read", THING_LIMIT);
        }
        const double angle[3] = {k * euler[0], k * euler[1], k * euler[2]};
        cri_quat turn = mjcf_euler(m, angle);
        inner.pos = at;
        inner.quat = turn;
        mjcf_to_body(scope, &inner.pos, &inner.quat);
        inner.suffix = push_suffix(m, sep ? sep : "", k, count, scope->suffix);
        if (!inner.suffix) {
            return cri_mjcf_fail_memory(m);
        }
        CR_TRY(walk_children(m, node, &inner, what));
        at = cri_v3_add(at, cri_mjcf_rotate(turn, offset));
    }
    return CR_OK;
}

// the only <inertial> directly in a body
static cr_status take_inertial(cri_mjcf *m, const cri_xml_node *node, int body) {
    const cri_xml_node *first = NULL;
    for (const cri_xml_node *child = node->child; child; child = child->next) {
        if (strcmp(child->name, "inertial") != 0) {
            continue;
        }
        if (first) {
            return cri_mjcf_fail(m, CR_ERR_SYNTAX, child,
                                 "is the second of its body, after line %d: remove one",
                                 first->line);
        }
        first = child;
        CR_TRY(mjcf_read_inertial(m, child, &m->def->body[body]));
    }
    return CR_OK;
}

static cr_status add_body(cri_mjcf *m, const cri_xml_node *node, const cri_mjcf_scope *scope) {
    cri_scene_def *def = m->def;
    int i = def->n_body;
    cri_body_def body = {.parent = scope->body, .place = cri_mjcf_place(node)};
    cri_mjcf_elem e = cri_mjcf_bare(node);
    CR_TRY(cri_mjcf_check_attrs(m, node, &body_rules));
    CR_TRY(cri_mjcf_name(m, node, scope->suffix, "body", i, &body.name));
    if (strcmp(body.name, "world") == 0) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                             "has the name of <worldbody>, 'world': rename it");
    }
    CR_TRY(mjcf_pose(m, &e, scope, &body.pos, &body.quat));
    cri_body_def *list = cri_scene_def_grow(def, def->body, i, sizeof *list);
    if (!list) {
        return cri_mjcf_fail_memory(m);
    }
    def->body = list;
    def->body[def->n_body++] = body;

    cri_mjcf_scope inner = {.body = i,
                            .is_moving = scope->is_moving,
                            .quat = {1, 0, 0, 0},
                            .usual = scope->usual,
                            .suffix = scope->suffix};
    CR_TRY(cri_mjcf_find_class(m, node, "childclass", &inner.usual));
    CR_TRY(take_inertial(m, node, i));
    int n_joint = def->n_joint;
    CR_TRY(walk_children(m, node, &inner, WALK_JOINTS));
    inner.is_moving = inner.is_moving || def->n_joint > n_joint;
    return walk_children(m, node, &inner, WALK_REST);
}

static cr_status fail_child(const cri_mjcf *m, const cri_xml_node *node) {
    if (cri_mjcf_is_word("composite flexcomp", node->name)) {
        return cri_mjcf_fail_element(
            m, node, "soft and composite bodies are not read; write the bodies out");
    }
    if (cri_mjcf_is_word("attach plugin", node->name)) {
        return cri_mjcf_fail_element(m, node, "use <include>, or write it out");
    }
    if (strcmp(node->name, "inertial") == 0) {
        return cri_mjcf_fail_element(m, node, "move it directly into a <body>");
    }
    return cri_mjcf_fail_element(m, node,
                                 "expected body, joint, freejoint, geom, site, inertial, frame, "
                                 "replicate, light or camera");
}

static cr_status walk_child(cri_mjcf *m, const cri_xml_node *node, const cri_mjcf_scope *scope,
                            walk what) {
    const char *name = node->name;
    const cri_scene_def *def = m->def;
    if (def->n_body + def->n_joint + def->n_geom + def->n_site > THING_LIMIT) {
        return cri_mjcf_fail(m, CR_ERR_UNSUPPORTED, node,
                             "is one too many: at most %d bodies, joints, geoms and sites are read",
                             THING_LIMIT);
    }
    if (strcmp(name, "frame") == 0) {
        return walk_frame(m, node, scope, what);
    }
    if (strcmp(name, "replicate") == 0) {
        return walk_replicate(m, node, scope, what);
    }
    if (cri_mjcf_is_word("joint freejoint", name)) {
        // the world is walked for the rest only
        bool is_read = what == WALK_JOINTS || scope->body < 0;
        return is_read ? cri_mjcf_add_joint(m, node, scope) : CR_OK;
    }
    if (what == WALK_JOINTS) {
        return CR_OK;
    }
    if (strcmp(name, "body") == 0) {
        return add_body(m, node, scope);
    }
    if (strcmp(name, "geom") == 0) {
        return mjcf_add_geom(m, node, scope);
    }
    if (strcmp(name, "site") == 0) {
        return mjcf_add_site(m, node, scope);
    }
    return cri_mjcf_is_word(ignored_words, name) ? CR_OK : fail_child(m, node);
}

static cr_status walk_children(cri_mjcf *m, const cri_xml_node *parent, const cri_mjcf_scope *scope,
                               walk what) {
    bool is_body = strcmp(parent->name, "body") == 0;
    for (const cri_xml_node *node = parent->child; node; node = node->next) {
        // read with its body
        if (is_body && strcmp(node->name, "inertial") == 0) {
            continue;
        }
        CR_TRY(walk_child(m, node, scope, what));
    }
    return CR_OK;
}

static cr_status walk_frame(cri_mjcf *m, const cri_xml_node *node, const cri_mjcf_scope *scope,
                            walk what) {
    cri_mjcf_scope inner = *scope;
    cri_mjcf_elem e = cri_mjcf_bare(node);
    CR_TRY(cri_mjcf_check_attrs(m, node, &frame_rules));
    CR_TRY(mjcf_pose(m, &e, scope, &inner.pos, &inner.quat));
    CR_TRY(cri_mjcf_find_class(m, node, "childclass", &inner.usual));
    return walk_children(m, node, &inner, what);
}

// ---- the world ---------------------------------------------------------------------------------

cr_status cri_mjcf_read_world(cri_mjcf *m, const cri_xml_node *root) {
    cri_mjcf_scope scope = {.body = -1, .quat = {1, 0, 0, 0}, .usual = m->main, .suffix = ""};
    for (const cri_xml_node *node = root->child; node; node = node->next) {
        if (strcmp(node->name, "worldbody") == 0) {
            CR_TRY(cri_mjcf_check_attrs(m, node, &(cri_mjcf_rules){0}));
            CR_TRY(walk_children(m, node, &scope, WALK_REST));
        }
    }
    if (m->def->n_body == 0) {
        return cri_mjcf_fail(m, CR_ERR_UNSUPPORTED, root,
                             "has no bodies: add a <body> with <freejoint/> to <worldbody>");
    }
    CR_TRY(cri_mjcf_check_names(m, CRI_MJCF_BODIES));
    CR_TRY(cri_mjcf_check_names(m, CRI_MJCF_JOINTS));
    CR_TRY(cri_mjcf_check_names(m, CRI_MJCF_GEOMS));
    return cri_mjcf_check_names(m, CRI_MJCF_SITES);
}
