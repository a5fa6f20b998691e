// SPDX-License-Identifier: MIT
//
// Fields as expressions: primitives, poses of leaves, and smooth combinations.
//
//   pose    y = R'(x - t), R = exp(r):  g = R g_y;  with seeds (a on phi, b on g) and b_y = R' b:
//           y_adj = a g_y + H b_y,  x_adj = R y_adj = -t_adj,  delta_adj = y_adj x y + g_y x b_y
//           for R exp[delta], and r_adj = Jr' delta_adj
//   blend   cubic, C2: h = max(0, 1 - |a - b|/k), m = min(a, b) - k h^3/6, w = h^2/2,
//           (m_a, m_b) = (1 - w, w) if a < b else (w, 1 - w), second derivatives -h/k [1 -1; -1 1],
//           m_k = -h^3/6 - h^2 (1 - h)/2, d(m_a)/dk = -+ h (1 - h)/k
//
// A combination is o m(s_a A, s_b B) with signs: union (1, 1, 1), intersection -m(-A, -B), and
// difference -m(-A, B). With e = s_a g_A - s_b g_B and the weights W = o s m_.:
//
//   g = W_A g_A + W_B g_B      H = W_A H_A + W_B H_B + o c e e',  c = -h/k
//
// No slope is above the largest of the parts. With k = 0 the smaller one counts, the first of
// equals. (Cubic polynomial smooth minimum, I. Quilez.)

#include "geometry/field/field.h"

#include "base/math/quat.h"
#include "geometry/field/grid.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { SIZES = 4 }; // of a primitive, at most

/// Value of a primitive, and how it depends on its sizes: d = dphi/dp, X = dg/dp, column by column.
typedef struct field_jet {
    cri_field_value v;
    double d[SIZES];
    cri_vec3 X[SIZES];
} field_jet;

/// Distance to {q <= 0} in two or three dimensions.
typedef struct orthant {
    double value;
    double n[3];
    double K[3][3];
} orthant;

/// The nearest point of an ellipsoid as y = a^2 w.
typedef struct foot {
    double t;
    double w[3], D[3];
    bool is_focal; // on the inner disc, where there are two
} foot;

enum { BATCH = 64 }; // points at a time

/// The frame of a leaf at a point.
typedef struct frame {
    cri_so3 turn;
    bool is_turned;
    cri_vec3 y; // the point in the frame
} frame;

typedef struct blend {
    double sign, sign_a, sign_b;
    double m, w_a, w_b; // weights without the signs
    double c;           // second derivative for a
    double m_k, w_k;    // for the width; w_k that of w_a
} blend;

/// The results of all nodes, and which two a combination takes.
typedef struct results {
    cri_field_value value[CRI_FIELD_NODES];
    int part[CRI_FIELD_NODES][2];
} results;

typedef struct leaf_box {
    cri_vec3 lower, upper;
} leaf_box;

// ---- primitives ---------------------------------------------------------------------------------

// Exact distances of primitives, with first and second derivatives for point and sizes.
//
// Notation: phi, g, H value, gradient, Hessian; d = dphi/dp, X = dg/dp; n a unit normal.
//
//   sphere     phi = |x| - r, g = x/|x|, H = (1 - g g')/|x|, d = -1
//   orthant    the distance to {q <= 0}, m = max(q, 0): |m|, n = m/|m|,
//              K = (diag(q > 0) - n n')/|m|; inside max q, the first largest entry, K = 0
//   box        orthant of q = |x| - b, s = sgn x: g = s n, H_ij = s_i s_j K_ij, d = -n,
//              X_ij = -s_i K_ij
//   rounded    box of b - r, minus r
//   cylinder   orthant of (rho - r, |z| - h), B = [e_rho, sgn(z) e_z]: g = B n,
//              H = B K B' + n_1/rho t t', t = e_z x e_rho, d = -n, X = -B K
//   capsule    sphere about the nearest point of the axis
//   ellipsoid  nearest point y = a^2 w, w_i = x_i D_i, D_i = 1/(a_i^2 + t), t the largest root of
//              f(t) = sum a_i^2 w_i^2 - 1. With tau = t + a_min^2 every D has a sum of two numbers
//              that are not negative below, f is convex and falls, and Newton climbs to the root
//              from the left. Then phi = t |w|, g = w/|w|, S = sum a^2 w^2 D,
//              t_x = D y/S, t_a = a w^2 (1 - 2 a^2 D)/S, d_i = -a_i w_i^2/|w|,
//              H = P (D - (D w) t_x')/|w|, X = P (-2 a w D - (D w) t_a')/|w|, P = 1 - g g'
//
// Kinks and the element taken there: planes of symmetry inside (sgn 0 = 1), inner bisectors (first
// largest), axes (e_x), centre of a sphere (e_z), focal disc of an ellipsoid (the positive side;
// second derivatives are 0 there).

static double sign_of(double x) {
    return x < 0.0 ? -1.0 : 1.0;
}

static void clear_second(field_jet *jet) {
    memset(jet->v.H, 0, sizeof jet->v.H);
    memset(jet->d, 0, sizeof jet->d);
    memset(jet->X, 0, sizeof jet->X);
}

// ---- ball and capsule --------------------------------------------------------------------------

static void ball(double radius, cri_vec3 x, cri_field_order order, field_jet *jet) {
    double length = cri_v3_norm(x);
    jet->v.phi = length - radius;
    if (order == CRI_FIELD_PHI) {
        return;
    }
    jet->v.g = length > 0.0 ? cri_v3_scale(1.0 / length, x) : cri_v3(0.0, 0.0, 1.0);
    if (order == CRI_FIELD_HESSIAN) {
        clear_second(jet);
        jet->d[0] = -1.0;
        if (length > 0.0) {
            jet->v.H[0] = jet->v.H[1] = jet->v.H[2] = 1.0 / length;
            cri_sym_add_square(-1.0 / length, jet->v.g, jet->v.H);
        }
    }
}

static void capsule(const double *p, cri_vec3 x, cri_field_order order, field_jet *jet) {
    double axis = cri_larger(-p[1], cri_smaller(p[1], x.z));
    bool is_beside = axis == x.z;
    ball(p[0], cri_v3(x.x, x.y, x.z - axis), order, jet);
    if (order == CRI_FIELD_PHI) {
        return;
    }
    if (is_beside && x.x == 0.0 && x.y == 0.0) {
        jet->v.g = cri_v3(1.0, 0.0, 0.0);
    }
    if (order == CRI_FIELD_HESSIAN) {
        double *H = jet->v.H;
        if (is_beside) {
            H[2] = H[4] = H[5] = 0.0;
        } else {
            double s = sign_of(x.z);
            jet->d[1] = -s * jet->v.g.z;
            jet->X[1] = cri_v3(-s * H[4], -s * H[5], -s * H[2]);
        }
    }
}

// ---- box and cylinder --------------------------------------------------------------------------

static orthant orthant_of(int dim, const double *q, cri_field_order order) {
    orthant o = {.value = q[0]};
    double m[3], square = 0.0;
    int first = 0;
    for (int i = 0; i < dim; i++) {
        m[i] = q[i] > 0.0 ? q[i] : 0.0;
        square += m[i] * m[i];
        if (q[i] > o.value) {
            o.value = q[i];
            first = i;
        }
    }
    if (!(square > 0.0)) {
        o.n[first] = 1.0;
        return o;
    }
    o.value = sqrt(square);
    for (int i = 0; i < dim; i++) {
        o.n[i] = m[i] / o.value;
    }
    for (int i = 0; i < dim && order == CRI_FIELD_HESSIAN; i++) {
        for (int j = 0; j < dim; j++) {
            o.K[i][j] = ((i == j && q[i] > 0.0) - o.n[i] * o.n[j]) / o.value;
        }
    }
    return o;
}

static void box(const double *b, double round, cri_vec3 x, cri_field_order order, field_jet *jet) {
    const double q[3] = {fabs(x.x) - b[0] + round, fabs(x.y) - b[1] + round,
                         fabs(x.z) - b[2] + round};
    const double s[3] = {sign_of(x.x), sign_of(x.y), sign_of(x.z)};
    orthant o = orthant_of(3, q, order);
    jet->v.phi = o.value - round;
    if (order == CRI_FIELD_PHI) {
        return;
    }
    jet->v.g = cri_v3(s[0] * o.n[0], s[1] * o.n[1], s[2] * o.n[2]);
    if (order == CRI_FIELD_GRADIENT) {
        return;
    }
    clear_second(jet);
    static const int pair[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};
    for (int k = 0; k < 6; k++) {
        int i = pair[k][0], j = pair[k][1];
        jet->v.H[k] = s[i] * s[j] * o.K[i][j];
    }
    for (int j = 0; j < 3; j++) {
        jet->d[j] = -o.n[j];
        jet->X[j] = cri_v3(-s[0] * o.K[0][j], -s[1] * o.K[1][j], -s[2] * o.K[2][j]);
        jet->X[3] = cri_v3_sub(jet->X[3], jet->X[j]);
    }
    jet->d[3] = o.n[0] + o.n[1] + o.n[2] - 1.0;
}

static void cylinder(const double *p, cri_vec3 x, cri_field_order order, field_jet *jet) {
    double rho = sqrt(x.x * x.x + x.y * x.y), s = sign_of(x.z);
    const double q[2] = {rho - p[0], fabs(x.z) - p[1]};
    orthant o = orthant_of(2, q, order);
    jet->v.phi = o.value;
    if (order == CRI_FIELD_PHI) {
        return;
    }
    cri_vec3 e = rho > 0.0 ? cri_v3(x.x / rho, x.y / rho, 0.0) : cri_v3(1.0, 0.0, 0.0);
    jet->v.g = cri_v3(o.n[0] * e.x, o.n[0] * e.y, o.n[1] * s);
    if (order == CRI_FIELD_GRADIENT) {
        return;
    }
    clear_second(jet);
    cri_sym_add_square(o.K[0][0], e, jet->v.H);
    jet->v.H[2] += o.K[1][1];
    jet->v.H[4] += o.K[0][1] * e.x * s;
    jet->v.H[5] += o.K[0][1] * e.y * s;
    if (rho > 0.0) {
        cri_sym_add_square(o.n[0] / rho, cri_v3(-e.y, e.x, 0.0), jet->v.H);
    }
    for (int j = 0; j < 2; j++) {
        jet->d[j] = -o.n[j];
        jet->X[j] = cri_v3(-o.K[0][j] * e.x, -o.K[0][j] * e.y, -o.K[1][j] * s);
    }
}

// ---- ellipsoid ---------------------------------------------------------------------------------

// f and how it falls, at tau; b = a^2 - a_min^2
static double ellipsoid_f(const double *a, const double *b, const double *x, double tau,
                          double *fall) {
    double sum = -1.0;
    *fall = 0.0;
    for (int i = 0; i < 3; i++) {
        double below = b[i] + tau;
        double u = x[i] == 0.0 ? 0.0 : a[i] * x[i] / below;
        sum += u * u;
        *fall += x[i] == 0.0 ? 0.0 : 2.0 * u * u / below;
    }
    return sum;
}

static foot ellipsoid_foot(const double *a, const double *x) {
    int least = a[1] < a[0] ? 1 : 0;
    least = a[2] < a[least] ? 2 : least;
    double b[3], tau = 0.0, fall;
    for (int i = 0; i < 3; i++) {
        b[i] = (a[i] - a[least]) * (a[i] + a[least]);
        tau = cri_larger(tau, a[i] * fabs(x[i]) - b[i]);
    }
    foot out = {.is_focal = tau == 0.0 && ellipsoid_f(a, b, x, 0.0, &fall) < 0.0};
    // a step that is not positive is rounding: f is convex, and tau is left of the root
    for (int k = 0; k < 60 && !out.is_focal; k++) {
        double step = ellipsoid_f(a, b, x, tau, &fall) / fall;
        if (!(step > 1e-16 * (tau + a[least] * a[least]))) {
            break;
        }
        tau += step;
    }
    double rest = 1.0;
    for (int i = 0; i < 3; i++) {
        out.D[i] = b[i] + tau > 0.0 ? 1.0 / (b[i] + tau) : 0.0;
        out.w[i] = x[i] * out.D[i];
        rest -= a[i] * a[i] * out.w[i] * out.w[i];
    }
    if (out.is_focal) {
        out.w[least] = sqrt(fmax(rest, 0.0)) / a[least];
    }
    out.t = tau - a[least] * a[least];
    return out;
}

static cri_vec3 across(cri_vec3 n, cri_vec3 a) {
    return cri_v3_mad(a, -cri_v3_dot(n, a), n);
}

static void ellipsoid_second(const double *a, const foot *y, double length, field_jet *jet) {
    cri_vec3 n = jet->v.g;
    double Dw[3], t_x[3], t_a[3], S = 0.0;
    for (int i = 0; i < 3; i++) {
        Dw[i] = y->D[i] * y->w[i];
        S += a[i] * a[i] * y->w[i] * Dw[i];
    }
    for (int i = 0; i < 3; i++) {
        t_x[i] = a[i] * a[i] * Dw[i] / S;
        t_a[i] = a[i] * y->w[i] * (y->w[i] - 2.0 * a[i] * a[i] * Dw[i]) / S;
        jet->d[i] = -a[i] * y->w[i] * y->w[i] / length;
    }
    if (y->is_focal || !(S > 0.0)) {
        return;
    }
    cri_vec3 column[3], slide = cri_v3_load(Dw);
    for (int j = 0; j < 3; j++) {
        double e[3] = {0.0, 0.0, 0.0};
        e[j] = y->D[j];
        column[j] = across(n, cri_v3_mad(cri_v3_load(e), -t_x[j], slide));
        column[j] = cri_v3_scale(1.0 / length, column[j]);
        e[j] = -2.0 * a[j] * Dw[j];
        jet->X[j] = across(n, cri_v3_mad(cri_v3_load(e), -t_a[j], slide));
        jet->X[j] = cri_v3_scale(1.0 / length, jet->X[j]);
    }
    const double H[6] = {column[0].x,
                         column[1].y,
                         column[2].z,
                         0.5 * (column[1].x + column[0].y),
                         0.5 * (column[2].x + column[0].z),
                         0.5 * (column[2].y + column[1].z)};
    memcpy(jet->v.H, H, sizeof H);
}

static void ellipsoid(const double *a, cri_vec3 x, cri_field_order order, field_jet *jet) {
    const double point[3] = {x.x, x.y, x.z};
    foot y = ellipsoid_foot(a, point);
    double length = cri_v3_norm(cri_v3_load(y.w));
    jet->v.phi = y.t * length;
    if (order == CRI_FIELD_PHI) {
        return;
    }
    jet->v.g = cri_v3_scale(1.0 / length, cri_v3_load(y.w));
    if (order == CRI_FIELD_HESSIAN) {
        clear_second(jet);
        ellipsoid_second(a, &y, length, jet);
    }
}

// ---- all of them -------------------------------------------------------------------------------

/// Sizes of a primitive; -1 for what is none.
static int field_shape_sizes(cri_field_kind kind) {
    switch (kind) {
    case CRI_FIELD_SPHERE:
        return 1;
    case CRI_FIELD_CYLINDER:
    case CRI_FIELD_CAPSULE:
        return 2;
    case CRI_FIELD_BOX:
    case CRI_FIELD_ELLIPSOID:
        return 3;
    case CRI_FIELD_ROUNDED_BOX:
        return 4;
    case CRI_FIELD_GRID:
    case CRI_FIELD_CUSTOM:
    case CRI_FIELD_UNION:
    case CRI_FIELD_INTERSECTION:
    case CRI_FIELD_DIFFERENCE:
        break;
    }
    return -1;
}

/// What is wrong with the sizes of a primitive, NULL when nothing is.
static const char *field_shape_fault(cri_field_kind kind, const double *p) {
    bool is_round = kind == CRI_FIELD_ROUNDED_BOX;
    int n = is_round ? 3 : field_shape_sizes(kind);
    for (int i = 0; i < n; i++) {
        // the root of an ellipsoid needs squares of its axes
        if (!(p[i] >= 1e-100 && p[i] <= 1e100)) {
            return "a size is not positive";
        }
    }
    if (is_round && !(p[3] >= 0.0 && p[3] <= fmin(p[0], fmin(p[1], p[2])))) {
        return "the rounding is negative or larger than half of the box";
    }
    return NULL;
}

/// The value of a primitive at x. The jet is filled as far as order says; d and X with the Hessian.
static void field_shape(cri_field_kind kind, const double *p, cri_vec3 x, cri_field_order order,
                        field_jet *jet) {
    switch (kind) {
    case CRI_FIELD_SPHERE:
        ball(p[0], x, order, jet);
        break;
    case CRI_FIELD_BOX:
        box(p, 0.0, x, order, jet);
        break;
    case CRI_FIELD_ROUNDED_BOX:
        box(p, p[3], x, order, jet);
        break;
    case CRI_FIELD_CYLINDER:
        cylinder(p, x, order, jet);
        break;
    case CRI_FIELD_CAPSULE:
        capsule(p, x, order, jet);
        break;
    case CRI_FIELD_ELLIPSOID:
        ellipsoid(p, x, order, jet);
        break;
    case CRI_FIELD_GRID:
    case CRI_FIELD_CUSTOM:
    case CRI_FIELD_UNION:
    case CRI_FIELD_INTERSECTION:
    case CRI_FIELD_DIFFERENCE:
        CR_ASSERT(false); // no primitive
    }
}

/// Half lengths of the box around a primitive.
static cri_vec3 field_shape_extent(cri_field_kind kind, const double *p) {
    switch (field_shape_sizes(kind)) {
    case 1:
        return cri_v3(p[0], p[0], p[0]);
    case 2:
        return cri_v3(p[0], p[0], p[1] + (kind == CRI_FIELD_CAPSULE ? p[0] : 0.0));
    default:
        return cri_v3_load(p);
    }
}

// ---- expressions --------------------------------------------------------------------------------

static bool is_combination(cri_field_kind kind) {
    return kind >= CRI_FIELD_UNION;
}

static int own_params(const cri_field_node *node) {
    if (node->kind == CRI_FIELD_CUSTOM) {
        return node->custom->n_param;
    }
    int n = field_shape_sizes(node->kind);
    return n < 0 ? 1 : n;
}

int cri_field_node_params(const cri_field_node *node) {
    return own_params(node) + (node->is_posed ? 6 : 0);
}

// ---- check -------------------------------------------------------------------------------------

static const char *node_fault(const cri_field *field, const cri_field_node *node) {
    bool is_pair = is_combination(node->kind);
    if ((is_pair && node->is_posed) || (node->kind == CRI_FIELD_GRID && !node->grid) ||
        (node->kind == CRI_FIELD_CUSTOM && !node->custom)) {
        return is_pair ? "combinations have no pose" : "there is nothing behind it";
    }
    int n = cri_field_node_params(node);
    if (node->first < 0 || n > field->n_param - node->first) {
        return "its parameters are not there";
    }
    const double *p = field->param + node->first;
    if (!cri_all_finite(n, p)) {
        return "a parameter is not finite";
    }
    if (node->kind == CRI_FIELD_GRID && !(p[0] > 0.0)) {
        return "the scale is not positive";
    }
    if (is_pair && !(p[0] >= 0.0)) {
        return "the width of the blend is negative";
    }
    const double *range = node->kind == CRI_FIELD_CUSTOM ? node->custom->range : NULL;
    for (int k = 0; range && k < node->custom->n_param; k++) {
        if (!(p[k] >= range[2 * k] && p[k] <= range[2 * k + 1])) {
            return "its code is outside of the space of shapes";
        }
    }
    return field_shape_sizes(node->kind) > 0 ? field_shape_fault(node->kind, p) : NULL;
}

cr_status cri_field_check(const cri_field *field, cr_error *err) {
    if (field->n_node < 1 || field->n_node > CRI_FIELD_NODES) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "a field has %d parts; between 1 and %d are possible", field->n_node,
                        CRI_FIELD_NODES);
    }
    int depth = 0;
    for (int i = 0; i < field->n_node; i++) {
        const cri_field_node *node = &field->node[i];
        const char *fault = node_fault(field, node);
        if (!fault && is_combination(node->kind) && depth < 2) {
            fault = "a combination takes the two results before it";
        }
        if (fault) {
            return cri_fail(err, CR_ERR_ARGUMENT, 0, "part %d of a field: %s", i, fault);
        }
        depth += is_combination(node->kind) ? -1 : 1;
    }
    if (depth != 1) {
        return cri_fail(err, CR_ERR_ARGUMENT, 0,
                        "a field leaves %d results; combine them, one is expected", depth);
    }
    return CR_OK;
}

// ---- leaves ------------------------------------------------------------------------------------

static void frame_of(const cri_field *field, const cri_field_node *node, cri_vec3 x, frame *f) {
    f->y = x;
    f->is_turned = false;
    if (node->is_posed) {
        const double *p = field->param + node->first + own_params(node);
        f->y = cri_v3_sub(x, cri_v3_load(p));
        f->is_turned = p[3] != 0.0 || p[4] != 0.0 || p[5] != 0.0;
        if (f->is_turned) {
            f->turn = cri_so3_of(cri_v3_load(p + 3));
            f->y = cri_so3_unrotate(&f->turn, f->y);
        }
    }
}

static cri_vec3 outward(const frame *f, cri_vec3 a) {
    return f->is_turned ? cri_so3_rotate(&f->turn, a) : a;
}

static cri_vec3 inward(const frame *f, cri_vec3 a) {
    return f->is_turned ? cri_so3_unrotate(&f->turn, a) : a;
}

// phi = s G(y/s)
static void scaled_grid(const cri_grid *grid, double s, cri_vec3 y, cri_field_order order,
                        field_jet *jet) {
    cri_vec3 u = cri_v3_scale(1.0 / s, y);
    cri_grid_eval(grid, u, order, &jet->v);
    double G = jet->v.phi;
    jet->v.phi = s * G;
    if (order == CRI_FIELD_HESSIAN) {
        jet->d[0] = G - cri_v3_dot(jet->v.g, u);
        jet->X[0] = cri_v3_scale(-1.0 / s, cri_sym_mul(jet->v.H, u));
        for (int k = 0; k < 6; k++) {
            jet->v.H[k] /= s;
        }
    }
}

// a primitive or a grid in its own frame
static void leaf_jet(const cri_field *field, const cri_field_node *node, cri_vec3 y,
                     cri_field_order order, field_jet *jet) {
    const double *p = field->param + node->first;
    if (node->kind == CRI_FIELD_GRID) {
        scaled_grid(node->grid, p[0], y, order, jet);
    } else {
        field_shape(node->kind, p, y, order, jet);
    }
}

// R H R'
static void turn_matrix(const cri_so3 *turn, double H[6]) {
    cri_vec3 row[3] = {{H[0], H[3], H[4]}, {H[3], H[1], H[5]}, {H[4], H[5], H[2]}}, column[3];
    for (int i = 0; i < 3; i++) {
        row[i] = cri_so3_rotate(turn, row[i]); // row i of H R'
    }
    const cri_vec3 across[3] = {{row[0].x, row[1].x, row[2].x},
                                {row[0].y, row[1].y, row[2].y},
                                {row[0].z, row[1].z, row[2].z}};
    for (int j = 0; j < 3; j++) {
        column[j] = cri_so3_rotate(turn, across[j]);
    }
    const double out[6] = {column[0].x, column[1].y, column[2].z,
                           column[1].x, column[2].x, column[2].y};
    memcpy(H, out, sizeof out);
}

static void leaf_eval(const cri_field *field, const cri_field_node *node, cri_vec3 x,
                      cri_field_order order, cri_field_value *out) {
    frame f;
    frame_of(field, node, x, &f);
    if (node->kind == CRI_FIELD_CUSTOM) {
        node->custom->eval(node->custom->self, field->param + node->first, f.y, order, out);
    } else if (node->kind == CRI_FIELD_GRID) {
        // phi = s G(y/s)
        double s = field->param[node->first], per_s = 1.0 / s;
        cri_grid_eval(node->grid, cri_v3_scale(per_s, f.y), order, out);
        out->phi *= s;
        for (int k = 0; k < 6 && order == CRI_FIELD_HESSIAN; k++) {
            out->H[k] *= per_s;
        }
    } else {
        field_jet jet;
        leaf_jet(field, node, f.y, order, &jet);
        out->phi = jet.v.phi;
        if (order != CRI_FIELD_PHI) {
            out->g = jet.v.g;
        }
        if (order == CRI_FIELD_HESSIAN) {
            memcpy(out->H, jet.v.H, sizeof out->H);
        }
    }
    if (f.is_turned && order != CRI_FIELD_PHI) {
        out->g = cri_so3_rotate(&f.turn, out->g);
    }
    if (f.is_turned && order == CRI_FIELD_HESSIAN) {
        turn_matrix(&f.turn, out->H);
    }
}

// seeds (a, b) to x and parameters
static void leaf_vjp(const cri_field *field, const cri_field_node *node, cri_vec3 x, double a,
                     cri_vec3 b, cri_vec3 *x_adj, double *param_adj) {
    if (a == 0.0 && b.x == 0.0 && b.y == 0.0 && b.z == 0.0) {
        return; // a blend that does not reach this leaf
    }
    frame f;
    frame_of(field, node, x, &f);
    cri_vec3 b_y = inward(&f, b), y_adj = cri_v3(0.0, 0.0, 0.0), g_y;
    double *p_adj = param_adj ? param_adj + node->first : NULL;
    if (node->kind == CRI_FIELD_CUSTOM) {
        const double *p = field->param + node->first;
        cri_field_value v;
        node->custom->eval(node->custom->self, p, f.y, CRI_FIELD_GRADIENT, &v);
        node->custom->vjp(node->custom->self, p, f.y, a, b_y, &y_adj, p_adj);
        g_y = v.g;
    } else {
        field_jet jet;
        leaf_jet(field, node, f.y, CRI_FIELD_HESSIAN, &jet);
        y_adj = cri_v3_mad(cri_sym_mul(jet.v.H, b_y), a, jet.v.g);
        for (int i = 0; i < own_params(node) && p_adj; i++) {
            p_adj[i] += a * jet.d[i] + cri_v3_dot(jet.X[i], b_y);
        }
        g_y = jet.v.g;
    }
    cri_vec3 out = outward(&f, y_adj);
    *x_adj = cri_v3_add(*x_adj, out);
    if (p_adj && node->is_posed) {
        double *pose_adj = p_adj + own_params(node);
        cri_vec3 turn = cri_v3_add(cri_v3_cross(y_adj, f.y), cri_v3_cross(g_y, b_y));
        cri_v3_accumulate(cri_v3_scale(-1.0, out), pose_adj);
        // the right Jacobian of no rotation is 1
        cri_v3_accumulate(f.is_turned ? cri_so3_right_vjp(&f.turn, turn) : turn, pose_adj + 3);
    }
}

static void leaf_jvp(const cri_field *field, const cri_field_node *node, cri_vec3 x, cri_vec3 x_tan,
                     const double *param_tan, double *phi_tan, cri_vec3 *g_tan) {
    frame f;
    frame_of(field, node, x, &f);
    const double *p_tan = param_tan ? param_tan + node->first : NULL;
    cri_vec3 y_tan = inward(&f, x_tan), turn = cri_v3(0.0, 0.0, 0.0), g_y;
    if (p_tan && node->is_posed) {
        const double *pose_tan = p_tan + own_params(node);
        turn = cri_v3_load(pose_tan + 3);
        turn = f.is_turned ? cri_so3_right(&f.turn, turn) : turn;
        y_tan = cri_v3_sub(y_tan, inward(&f, cri_v3_load(pose_tan)));
        y_tan = cri_v3_add(y_tan, cri_v3_cross(f.y, turn));
    }
    if (node->kind == CRI_FIELD_CUSTOM) {
        cri_field_value v;
        const double *p = field->param + node->first;
        node->custom->eval(node->custom->self, p, f.y, CRI_FIELD_GRADIENT, &v);
        node->custom->jvp(node->custom->self, p, f.y, y_tan, p_tan, phi_tan, g_tan);
        g_y = v.g;
    } else {
        field_jet jet;
        leaf_jet(field, node, f.y, CRI_FIELD_HESSIAN, &jet);
        *phi_tan = cri_v3_dot(jet.v.g, y_tan);
        *g_tan = cri_sym_mul(jet.v.H, y_tan);
        for (int i = 0; i < own_params(node) && p_tan; i++) {
            *phi_tan += jet.d[i] * p_tan[i];
            *g_tan = cri_v3_mad(*g_tan, p_tan[i], jet.X[i]);
        }
        g_y = jet.v.g;
    }
    *g_tan = outward(&f, cri_v3_add(*g_tan, cri_v3_cross(turn, g_y)));
}

// ---- combinations ------------------------------------------------------------------------------

static blend blend_of(cri_field_kind kind, double k, double phi_a, double phi_b) {
    blend out = {.sign = kind == CRI_FIELD_UNION ? 1.0 : -1.0,
                 .sign_a = kind == CRI_FIELD_UNION ? 1.0 : -1.0,
                 .sign_b = kind == CRI_FIELD_INTERSECTION ? -1.0 : 1.0};
    double a = out.sign_a * phi_a, b = out.sign_b * phi_b;
    bool is_first = a <= b;
    double h = k > 0.0 ? cri_larger(0.0, 1.0 - fabs(a - b) / k) : 0.0, w = 0.5 * h * h;
    out.m = cri_smaller(a, b) - k * h * h * h / 6.0;
    out.w_a = is_first ? 1.0 - w : w;
    out.w_b = is_first ? w : 1.0 - w;
    if (h > 0.0) {
        out.c = -h / k;
        out.m_k = -h * h * (h / 6.0 + 0.5 * (1.0 - h));
        out.w_k = (is_first ? -1.0 : 1.0) * h * (1.0 - h) / k;
    }
    return out;
}

static cri_vec3 difference_of(const blend *b, cri_vec3 g_a, cri_vec3 g_b) {
    return cri_v3_sub(cri_v3_scale(b->sign_a, g_a), cri_v3_scale(b->sign_b, g_b));
}

static void combine(const cri_field *field, const cri_field_node *node, cri_field_order order,
                    const cri_field_value *A, const cri_field_value *B, cri_field_value *out) {
    blend m = blend_of(node->kind, field->param[node->first], A->phi, B->phi);
    out->phi = m.sign * m.m;
    if (order == CRI_FIELD_PHI) {
        return;
    }
    double W_a = m.sign * m.sign_a * m.w_a, W_b = m.sign * m.sign_b * m.w_b;
    if (order == CRI_FIELD_HESSIAN) {
        for (int k = 0; k < 6; k++) {
            out->H[k] = W_a * A->H[k] + W_b * B->H[k];
        }
        cri_sym_add_square(m.sign * m.c, difference_of(&m, A->g, B->g), out->H);
    }
    out->g = cri_v3_mad(cri_v3_scale(W_a, A->g), W_b, B->g);
}

static void eval_all(const cri_field *field, cri_vec3 x, cri_field_order order, results *r) {
    int stack[CRI_FIELD_NODES], depth = 0;
    for (int i = 0; i < field->n_node; i++) {
        const cri_field_node *node = &field->node[i];
        if (is_combination(node->kind)) {
            CR_ASSERT(depth >= 2);
            r->part[i][0] = stack[depth - 2];
            r->part[i][1] = stack[depth - 1];
            combine(field, node, order, &r->value[r->part[i][0]], &r->value[r->part[i][1]],
                    &r->value[i]);
            depth -= 2;
        } else {
            leaf_eval(field, node, x, order, &r->value[i]);
        }
        stack[depth++] = i;
    }
    CR_ASSERT(depth == 1);
}

void cri_field_eval(const cri_field *field, cri_vec3 x, cri_field_order order,
                    cri_field_value *out) {
    if (field->n_node == 1) {
        leaf_eval(field, field->node, x, order, out);
        return;
    }
    results r;
    eval_all(field, x, order, &r);
    const cri_field_value *last = &r.value[field->n_node - 1];
    out->phi = last->phi;
    if (order != CRI_FIELD_PHI) {
        out->g = last->g;
    }
    if (order == CRI_FIELD_HESSIAN) {
        memcpy(out->H, last->H, sizeof out->H);
    }
}

double cri_field_phi(const cri_field *field, cri_vec3 x) {
    cri_field_value v;
    cri_field_eval(field, x, CRI_FIELD_PHI, &v);
    return v.phi;
}

// the leaf that does many points at once, NULL: there is none
static const cri_field_custom *only_custom(const cri_field *field) {
    const cri_field_node *node = field->node;
    bool is_one = field->n_node == 1 && node->kind == CRI_FIELD_CUSTOM && !node->is_posed;
    return is_one && node->custom->many ? node->custom : NULL;
}

// values of a leaf at n points
static void leaf_batch(const cri_field *field, const cri_field_node *node, int n, const double *x,
                       double *phi) {
    const double *p = field->param + node->first;
    bool is_shape = node->kind != CRI_FIELD_CUSTOM && node->kind != CRI_FIELD_GRID;
    frame f;
    frame_of(field, node, cri_v3(0.0, 0.0, 0.0), &f);
    cri_vec3 t = node->is_posed ? cri_v3_load(p + own_params(node)) : f.y;
    for (int i = 0; i < n; i++) {
        cri_vec3 at = cri_v3_load(x + 3 * (size_t)i);
        if (is_shape) {
            field_jet jet;
            field_shape(node->kind, p, inward(&f, cri_v3_sub(at, t)), CRI_FIELD_PHI, &jet);
            phi[i] = jet.v.phi;
        } else {
            cri_field_value v;
            leaf_eval(field, node, at, CRI_FIELD_PHI, &v);
            phi[i] = v.phi;
        }
    }
}

// values at n points, node by node
static void phi_batch(const cri_field *field, int n, const double *x, double *phi) {
    double stack[CRI_FIELD_NODES][BATCH];
    int depth = 0;
    for (int k = 0; k < field->n_node; k++) {
        const cri_field_node *node = &field->node[k];
        if (!is_combination(node->kind)) {
            leaf_batch(field, node, n, x, stack[depth++]);
            continue;
        }
        CR_ASSERT(depth >= 2);
        double *a = stack[depth - 2], *b = stack[--depth], width = field->param[node->first];
        for (int i = 0; i < n; i++) {
            blend m = blend_of(node->kind, width, a[i], b[i]);
            a[i] = m.sign * m.m;
        }
    }
    CR_ASSERT(depth == 1);
    memcpy(phi, stack[0], sizeof *phi * (size_t)n);
}

void cri_field_phi_many(const cri_field *field, int n, const double *x, double *phi) {
    const cri_field_custom *custom = only_custom(field);
    if (custom) {
        custom->many(custom->self, field->param + field->node->first, n, x, phi, NULL);
        return;
    }
    for (int first = 0; first < n; first += BATCH) {
        int n_here = n - first < BATCH ? n - first : BATCH;
        phi_batch(field, n_here, x + 3 * (size_t)first, phi + first);
    }
}

void cri_field_gradient_many(const cri_field *field, int n, const double *x, double *phi,
                             double *g) {
    const cri_field_custom *custom = only_custom(field);
    if (custom) {
        custom->many(custom->self, field->param + field->node->first, n, x, phi, g);
        return;
    }
    for (int i = 0; i < n; i++) {
        cri_field_value v;
        cri_field_eval(field, cri_v3_load(x + 3 * (size_t)i), CRI_FIELD_GRADIENT, &v);
        phi[i] = v.phi;
        cri_v3_store(v.g, g + 3 * (size_t)i);
    }
}

void cri_field_phi_many_vjp(const cri_field *field, int n, const double *x, const double *phi_adj,
                            double *param_adj) {
    const cri_field_custom *custom = only_custom(field);
    if (custom) {
        int first = field->node->first;
        custom->many_vjp(custom->self, field->param + first, n, x, phi_adj, param_adj + first);
        return;
    }
    for (int i = 0; i < n; i++) {
        cri_field_vjp(field, cri_v3_load(x + 3 * (size_t)i), phi_adj[i], cri_v3(0.0, 0.0, 0.0),
                      NULL, param_adj);
    }
}

void cri_field_phi_many_jvp(const cri_field *field, int n, const double *x, const double *param_tan,
                            double *phi_tan) {
    const cri_field_custom *custom = only_custom(field);
    if (custom) {
        int first = field->node->first;
        custom->many_jvp(custom->self, field->param + first, n, x, param_tan + first, phi_tan);
        return;
    }
    for (int i = 0; i < n; i++) {
        cri_vec3 g_tan;
        cri_field_jvp(field, cri_v3_load(x + 3 * (size_t)i), cri_v3(0.0, 0.0, 0.0), param_tan,
                      &phi_tan[i], &g_tan);
    }
}

void cri_field_vjp(const cri_field *field, cri_vec3 x, double phi_adj, cri_vec3 g_adj,
                   cri_vec3 *x_adj, double *param_adj) {
    cri_vec3 x_inc = cri_v3(0.0, 0.0, 0.0);
    if (field->n_node == 1) {
        leaf_vjp(field, field->node, x, phi_adj, g_adj, x_adj ? x_adj : &x_inc, param_adj);
        return;
    }
    results r;
    // without a seed on g the weights of combinations need values alone
    bool has_seed = g_adj.x != 0.0 || g_adj.y != 0.0 || g_adj.z != 0.0;
    eval_all(field, x, has_seed ? CRI_FIELD_GRADIENT : CRI_FIELD_PHI, &r);
    struct {
        double a;
        cri_vec3 b;
    } seed[CRI_FIELD_NODES];
    seed[field->n_node - 1].a = phi_adj;
    seed[field->n_node - 1].b = g_adj;
    for (int i = field->n_node - 1; i >= 0; i--) {
        const cri_field_node *node = &field->node[i];
        double a = seed[i].a;
        cri_vec3 b = seed[i].b;
        if (!is_combination(node->kind)) {
            leaf_vjp(field, node, x, a, b, &x_inc, param_adj);
            continue;
        }
        int A = r.part[i][0], B = r.part[i][1];
        blend m = blend_of(node->kind, field->param[node->first], r.value[A].phi, r.value[B].phi);
        double W_a = m.sign * m.sign_a * m.w_a, W_b = m.sign * m.sign_b * m.w_b;
        double be = has_seed ? cri_v3_dot(b, difference_of(&m, r.value[A].g, r.value[B].g)) : 0.0;
        // phi = m, g = W_A g_A + W_B g_B, and the weights depend on both values
        seed[A].a = a * W_a + m.sign * m.c * be * m.sign_a;
        seed[B].a = a * W_b - m.sign * m.c * be * m.sign_b;
        seed[A].b = cri_v3_scale(W_a, b);
        seed[B].b = cri_v3_scale(W_b, b);
        if (param_adj) {
            param_adj[node->first] += m.sign * (a * m.m_k + m.w_k * be);
        }
    }
    if (x_adj) {
        *x_adj = cri_v3_add(*x_adj, x_inc);
    }
}

void cri_field_jvp(const cri_field *field, cri_vec3 x, cri_vec3 x_tan, const double *param_tan,
                   double *phi_tan, cri_vec3 *g_tan) {
    results r;
    eval_all(field, x, CRI_FIELD_GRADIENT, &r);
    struct {
        double phi;
        cri_vec3 g;
    } tan[CRI_FIELD_NODES];
    for (int i = 0; i < field->n_node; i++) {
        const cri_field_node *node = &field->node[i];
        if (!is_combination(node->kind)) {
            leaf_jvp(field, node, x, x_tan, param_tan, &tan[i].phi, &tan[i].g);
            continue;
        }
        int A = r.part[i][0], B = r.part[i][1];
        blend m = blend_of(node->kind, field->param[node->first], r.value[A].phi, r.value[B].phi);
        double W_a = m.sign * m.sign_a * m.w_a, W_b = m.sign * m.sign_b * m.w_b;
        double k_tan = param_tan ? param_tan[node->first] : 0.0;
        double w_tan = m.c * (m.sign_a * tan[A].phi - m.sign_b * tan[B].phi) + m.w_k * k_tan;
        tan[i].phi = W_a * tan[A].phi + W_b * tan[B].phi + m.sign * m.m_k * k_tan;
        tan[i].g = cri_v3_mad(cri_v3_scale(W_a, tan[A].g), W_b, tan[B].g);
        tan[i].g =
            cri_v3_mad(tan[i].g, m.sign * w_tan, difference_of(&m, r.value[A].g, r.value[B].g));
    }
    *phi_tan = tan[field->n_node - 1].phi;
    *g_tan = tan[field->n_node - 1].g;
}

// ---- bounds -------------------------------------------------------------------------------------

// Slopes and boxes are those of the leaves, combined.

double cri_field_lipschitz(const cri_field *field) {
    double most = 1.0;
    for (int i = 0; i < field->n_node; i++) {
        const cri_field_node *node = &field->node[i];
        if (node->kind == CRI_FIELD_GRID) {
            // outside of its box the slopes along and across it add up
            double inside = node->grid->lipschitz;
            most = fmax(most, sqrt(1.0 + inside * inside));
        } else if (node->kind == CRI_FIELD_CUSTOM) {
            most = fmax(most, node->custom->lipschitz);
        }
    }
    return most;
}

static leaf_box leaf_range(const cri_field *field, const cri_field_node *node) {
    const double *p = field->param + node->first;
    leaf_box r;
    if (node->kind == CRI_FIELD_GRID) {
        r = (leaf_box){cri_v3_scale(p[0], node->grid->lower),
                       cri_v3_scale(p[0], node->grid->upper)};
    } else if (node->kind == CRI_FIELD_CUSTOM) {
        r = (leaf_box){cri_v3_load(node->custom->lower), cri_v3_load(node->custom->upper)};
    } else {
        cri_vec3 e = field_shape_extent(node->kind, p);
        r = (leaf_box){cri_v3_scale(-1.0, e), e};
    }
    if (!node->is_posed) {
        return r;
    }
    // the box around the turned box
    const double *pose = p + cri_field_node_params(node) - 6;
    cri_so3 turn = cri_so3_of(cri_v3_load(pose + 3));
    cri_vec3 half = cri_v3_scale(0.5, cri_v3_sub(r.upper, r.lower));
    cri_vec3 centre = cri_v3_scale(0.5, cri_v3_add(r.upper, r.lower)), e = cri_v3(0.0, 0.0, 0.0);
    const cri_vec3 axis[3] = {{half.x, 0.0, 0.0}, {0.0, half.y, 0.0}, {0.0, 0.0, half.z}};
    for (int a = 0; a < 3; a++) {
        cri_vec3 turned = cri_so3_rotate(&turn, axis[a]);
        e = cri_v3_add(e, cri_v3(fabs(turned.x), fabs(turned.y), fabs(turned.z)));
    }
    centre = cri_v3_add(cri_so3_rotate(&turn, centre), cri_v3_load(pose));
    return (leaf_box){cri_v3_sub(centre, e), cri_v3_add(centre, e)};
}

static cri_vec3 lowest(cri_vec3 a, cri_vec3 b) {
    return cri_v3(fmin(a.x, b.x), fmin(a.y, b.y), fmin(a.z, b.z));
}

static cri_vec3 highest(cri_vec3 a, cri_vec3 b) {
    return cri_v3(fmax(a.x, b.x), fmax(a.y, b.y), fmax(a.z, b.z));
}

void cri_field_bounds(const cri_field *field, cri_vec3 *lower, cri_vec3 *upper) {
    leaf_box stack[CRI_FIELD_NODES];
    int depth = 0;
    for (int i = 0; i < field->n_node; i++) {
        const cri_field_node *node = &field->node[i];
        if (node->kind < CRI_FIELD_UNION) {
            stack[depth++] = leaf_range(field, node);
            continue;
        }
        CR_ASSERT(depth >= 2);
        leaf_box *a = &stack[depth - 2];
        const leaf_box *b = &stack[depth - 1];
        double k = field->param[node->first];
        if (node->kind == CRI_FIELD_UNION) {
            // a blend adds to the surface where both values are below its width
            cri_vec3 wide = cri_v3(k, k, k);
            a->lower = cri_v3_sub(lowest(a->lower, b->lower), wide);
            a->upper = cri_v3_add(highest(a->upper, b->upper), wide);
        } else if (node->kind == CRI_FIELD_INTERSECTION) {
            a->lower = highest(a->lower, b->lower);
            a->upper = highest(a->lower, lowest(a->upper, b->upper));
        }
        depth--;
    }
    *lower = stack[0].lower;
    *upper = stack[0].upper;
}
