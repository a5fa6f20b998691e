// SPDX-License-Identifier: MIT
//
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

#include "geometry/field/field_parts.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static double sign_of(double x) {
    return x < 0.0 ? -1.0 : 1.0;
}

static void clear_second(cri_field_jet *jet) {
    memset(jet->v.H, 0, sizeof jet->v.H);
    memset(jet->d, 0, sizeof jet->d);
    memset(jet->X, 0, sizeof jet->X);
}

// ---- ball and capsule --------------------------------------------------------------------------

static void ball(double radius, cri_vec3 x, cri_field_order order, cri_field_jet *jet) {
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

static void capsule(const double *p, cri_vec3 x, cri_field_order order, cri_field_jet *jet) {
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

/// Distance to {q <= 0} in two or three dimensions.
typedef struct orthant {
    double value;
    double n[3];
    double K[3][3];
} orthant;

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

static void box(const double *b, double round, cri_vec3 x, cri_field_order order,
                cri_field_jet *jet) {
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

static void cylinder(const double *p, cri_vec3 x, cri_field_order order, cri_field_jet *jet) {
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

/// The nearest point of an ellipsoid as y = a^2 w.
typedef struct foot {
    double t;
    double w[3], D[3];
    bool is_focal; // on the inner disc, where there are two
} foot;

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

static void ellipsoid_second(const double *a, const foot *y, double length, cri_field_jet *jet) {
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

static void ellipsoid(const double *a, cri_vec3 x, cri_field_order order, cri_field_jet *jet) {
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

int cri_field_shape_sizes(cri_field_kind kind) {
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

const char *cri_field_shape_fault(cri_field_kind kind, const double *p) {
    bool is_round = kind == CRI_FIELD_ROUNDED_BOX;
    int n = is_round ? 3 : cri_field_shape_sizes(kind);
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

void cri_field_shape(cri_field_kind kind, const double *p, cri_vec3 x, cri_field_order order,
                     cri_field_jet *jet) {
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

cri_vec3 cri_field_shape_extent(cri_field_kind kind, const double *p) {
    switch (cri_field_shape_sizes(kind)) {
    case 1:
        return cri_v3(p[0], p[0], p[0]);
    case 2:
        return cri_v3(p[0], p[0], p[1] + (kind == CRI_FIELD_CAPSULE ? p[0] : 0.0));
    default:
        return cri_v3_load(p);
    }
}
