// SPDX-License-Identifier: MIT
//
// The projections of three laws of friction, r = |z_t|:
//
//   Coulomb   p_n = max(l, z_n), then z_t cut to the disc of radius mu p_n
//   convex    the nearest point of |p_t| <= mu p_n, p_n >= l:  z inside;  0 if l = 0 and
//             mu r <= -z_n;  alpha (1, mu z_t/r) with alpha = (z_n + mu r)/(1 + mu^2) if that is
//             above l;  else p_n = l and z_t cut to radius mu l
//   octagon   p_n = max(l, z_n), then the point of the octagon with corners mu p_n d_k next to z_t
//
// and the certificate |f - P(f - rho u)|, rho_i = 3/trace A_ii. At mu = 0 a contact slides with
// f_t = 0, it never sticks: so its derivative for mu is the one-sided one.
// Sources: De Saxce and Feng 1998; Alart and Curnier 1991; SDF (paper 004), A.7.

#include "solvers/friction.h"

#include "base/base.h"
#include "base/math/dense.h"
#include "solvers/friction_sparse.h"

#include <float.h>
#include <math.h>
#include <string.h>

// m/s: a contact that would change no speed by more carries no force
static const double weak_speed = 1e-12;

// cosine and sine of 22.5 degrees: distance of a side, half its length
#define SIDE_NEAR 0.92387953251128674
#define SIDE_HALF 0.38268343236508977
#define DIAGONAL 0.70710678118654752

static const double corner[8][2] = {
    {1.0, 0.0},  {DIAGONAL, DIAGONAL},   {0.0, 1.0},  {-DIAGONAL, DIAGONAL},
    {-1.0, 0.0}, {-DIAGONAL, -DIAGONAL}, {0.0, -1.0}, {DIAGONAL, -DIAGONAL},
};

// directions of the middles of sides
static const double outward[8][2] = {
    {SIDE_NEAR, SIDE_HALF},  {SIDE_HALF, SIDE_NEAR},   {-SIDE_HALF, SIDE_NEAR},
    {-SIDE_NEAR, SIDE_HALF}, {-SIDE_NEAR, -SIDE_HALF}, {-SIDE_HALF, -SIDE_NEAR},
    {SIDE_HALF, -SIDE_NEAR}, {SIDE_NEAR, -SIDE_HALF},
};

void cri_octagon_corner(int k, double d[2]) {
    CR_ASSERT(k >= 0 && k < 8);
    d[0] = corner[k][0];
    d[1] = corner[k][1];
}

void cri_octagon_side(int k, double middle[2], double along[2]) {
    CR_ASSERT(k >= 0 && k < 8);
    middle[0] = SIDE_NEAR * outward[k][0];
    middle[1] = SIDE_NEAR * outward[k][1];
    along[0] = -outward[k][1];
    along[1] = outward[k][0];
}

// the side whose sector z_t lies in
static int side_at(double x, double y) {
    double ax = fabs(x), ay = fabs(y);
    int half = ay > ax; // second half of its quadrant, before signs
    if (x >= 0.0 && y >= 0.0) {
        return half;
    }
    if (x < 0.0 && y >= 0.0) {
        return half ? 2 : 3;
    }
    if (x < 0.0) {
        return half ? 5 : 4;
    }
    return half ? 6 : 7;
}

// z_t onto the octagon of radius r, behind p_n
static void project_octagon(const double z[3], double r, cri_friction_point *at) {
    int k = side_at(z[1], z[2]);
    const double *out = outward[k];
    double far = z[1] * out[0] + z[2] * out[1], along = z[2] * out[0] - z[1] * out[1];
    at->face = k;
    if (far <= SIDE_NEAR * r && r > 0.0) {
        at->p[1] = z[1];
        at->p[2] = z[2];
        at->branch = CRI_STICK;
    } else if (fabs(along) >= SIDE_HALF * r) {
        at->face = along > 0.0 ? (k + 1) % 8 : k;
        at->p[1] = r * corner[at->face][0];
        at->p[2] = r * corner[at->face][1];
        at->branch = CRI_SLIDE;
    } else {
        at->p[1] = SIDE_NEAR * r * out[0] - along * out[1];
        at->p[2] = SIDE_NEAR * r * out[1] + along * out[0];
        at->branch = CRI_EDGE;
    }
}

// z_t cut to a disc of radius r
static bool cut(const double z[3], double r, double p[3]) {
    double r2 = z[1] * z[1] + z[2] * z[2];
    if (r > 0.0 && r2 <= r * r) {
        p[1] = z[1];
        p[2] = z[2];
        return false;
    }
    double k = r2 > 0.0 ? r / sqrt(r2) : 0.0;
    p[1] = k * z[1];
    p[2] = k * z[2];
    return true;
}

static cri_friction_point project_convex(const double z[3], double mu, double l) {
    cri_friction_point at = {.branch = CRI_OPEN};
    double r = sqrt(z[1] * z[1] + z[2] * z[2]);
    if (z[0] > l && r <= mu * z[0] && mu > 0.0) {
        memcpy(at.p, z, sizeof at.p);
        at.branch = CRI_STICK;
        return at;
    }
    if (l == 0.0 && mu * r <= -z[0]) {
        return at;
    }
    double alpha = (z[0] + mu * r) / (1.0 + mu * mu);
    if (alpha > l) {
        double k = r > 0.0 ? mu * alpha / r : 0.0;
        at = (cri_friction_point){.p = {alpha, k * z[1], k * z[2]}, .branch = CRI_SLIDE};
        return at;
    }
    at.p[0] = l;
    at.branch = cut(z, mu * l, at.p) ? CRI_BOUND_SLIDE : CRI_BOUND_STICK;
    return at;
}

cri_friction_point cri_friction_project(cri_friction_kind kind, const double z[3], double mu,
                                        double l) {
    if (kind == CRI_CONVEX) {
        return project_convex(z, mu, l);
    }
    cri_friction_point at = {.branch = CRI_OPEN};
    bool is_up = z[0] > l;
    if (!is_up && l == 0.0) {
        return at;
    }
    at.p[0] = is_up ? z[0] : l;
    if (kind == CRI_OCTAGON) {
        CR_VALIDATE(l == 0.0); // its restitution is Newton's
        project_octagon(z, mu * at.p[0], &at);
        return at;
    }
    bool is_cut = cut(z, mu * at.p[0], at.p);
    at.branch =
        is_up ? (is_cut ? CRI_SLIDE : CRI_STICK) : (is_cut ? CRI_BOUND_SLIDE : CRI_BOUND_STICK);
    return at;
}

void cri_friction_project_jacobian(cri_friction_kind kind, const double z[3], double mu,
                                   const cri_friction_point *at, double D[9]) {
    CR_ASSERT(at && D);
    memset(D, 0, 9 * sizeof *D);
    bool is_bound = at->branch == CRI_BOUND_STICK || at->branch == CRI_BOUND_SLIDE;
    if (at->branch == CRI_OPEN) {
        return;
    }
    D[0] = is_bound ? 0.0 : 1.0;
    if (at->branch == CRI_STICK || at->branch == CRI_BOUND_STICK) {
        D[4] = D[8] = 1.0;
        return;
    }
    if (kind == CRI_OCTAGON) {
        double middle[2], along[2];
        cri_octagon_side(at->face, middle, along);
        bool is_edge = at->branch == CRI_EDGE;
        const double *d = is_edge ? middle : corner[at->face];
        D[3] = mu * d[0];
        D[6] = mu * d[1];
        for (int i = 0; is_edge && i < 4; i++) {
            D[4 + i % 2 + 3 * (i / 2)] = along[i / 2] * along[i % 2];
        }
        return;
    }
    double r = sqrt(z[1] * z[1] + z[2] * z[2]);
    if (r == 0.0) {
        return;
    }
    double s1 = z[1] / r, s2 = z[2] / r, k = mu * at->p[0] / r;
    D[4] = k * s2 * s2;
    D[5] = D[7] = -k * s1 * s2;
    D[8] = k * s1 * s1;
    if (kind == CRI_CONVEX && !is_bound) {
        double a[3] = {1.0, mu * s1, mu * s2}, w = 1.0 / (1.0 + mu * mu);
        D[0] = 0.0;
        for (int i = 0; i < 9; i++) {
            D[i] += w * a[i / 3] * a[i % 3];
        }
        return;
    }
    D[3] = mu * s1 * D[0];
    D[6] = mu * s2 * D[0];
}

// ---- certificate and margins -------------------------------------------------------------------

double cri_friction_rho(const cri_friction *p, int i) {
    int m = 3 * p->n;
    const double *d = p->A + (size_t)(3 * i) * (size_t)m + 3 * i;
    double trace = d[0] + d[m + 1] + d[2 * m + 2];
    return trace > 0.0 ? 3.0 / trace : 1.0;
}

bool cri_friction_is_weak(const cri_friction *p, int i, double f_n, double l) {
    size_t m = 3 * (size_t)p->n, at = 3 * (size_t)i;
    const double *row = p->A + at * m;
    bool is_weak = l == 0.0 && f_n * row[at] <= weak_speed;
    // what hardly moves its own heavy body may move a light one
    for (size_t j = 0; is_weak && f_n > 0.0 && j < m; j++) {
        is_weak = f_n * fabs(row[j]) <= weak_speed;
    }
    return is_weak;
}

static double norm3(const double *a) {
    return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
}

// the largest sum of |A_ij f_j| over three rows
static double rounding_of(int m, const double *rows, const double *f) {
    double most = 0.0;
    for (int r = 0; r < 3; r++) {
        double sum = 0.0;
        for (int j = 0; j < m; j++) {
            sum += fabs(rows[r * m + j] * f[j]);
        }
        most = fmax(most, sum);
    }
    return most;
}

// of the velocity known (3n), or of that which f makes
static double certificate(const cri_friction *p, const double *f, const double *known) {
    int m = 3 * p->n;
    double worst = 0.0, largest = 0.0;
    for (int i = 0; i < m; i++) {
        largest = fmax(largest, fmax(fabs(p->b[i]), fabs(p->c[i])));
    }
    for (int i = 0; i < p->n; i++) {
        const double *rows = p->A + (size_t)(3 * i) * (size_t)m;
        const cri_neighbours near = cri_neighbours_of(p, i);
        double rho = cri_friction_rho(p, i), z[3];
        for (int r = 0; r < 3; r++) {
            double u = known ? known[3 * i + r] : p->c[3 * i + r];
            for (int e = 0; !known && e < near.n; e++) {
                int at = 3 * cri_neighbour(&near, e);
                u += cri_dot(3, rows + r * m + at, f + at);
            }
            z[r] = f[3 * i + r] - rho * u;
        }
        const cri_friction_point at = cri_friction_project(p->kind, z, p->mu[i], p->l[i]);
        double miss[3] = {f[3 * i] - at.p[0], f[3 * i + 1] - at.p[1], f[3 * i + 2] - at.p[2]};
        // an impulse that has run away, as where targets contradict each other, excuses no miss
        double own = fmin(norm3(f + 3 * i), 1e8 * rho * largest);
        double scale = own + rho * fmax(norm3(p->b + 3 * i), norm3(p->c + 3 * i));
        scale = fmax(scale, 1e-6 * rho * largest);
        // what the solve drops as weak is no miss
        double tolerance = 1e-10 * scale + (2.0 + p->mu[i]) * rho * weak_speed;
        double size = norm3(miss);
        // rounding only makes the ratio smaller
        if (!(size <= worst * tolerance)) {
            tolerance += 64.0 * DBL_EPSILON * rho * rounding_of(m, rows, f);
            double ratio = tolerance > 0.0 ? size / tolerance : 0.0;
            worst = ratio <= worst ? worst : ratio; // NaN, from an overflow, is the worst of all
        }
        if (isnan(worst)) {
            return INFINITY;
        }
    }
    return worst;
}

cr_outcome cri_friction_outcome(double certificate) {
    return certificate <= 1.0   ? CR_SOLVED
           : certificate <= 1e4 ? CR_SOLVED_LOOSELY
                                : CR_ITERATION_LIMIT;
}

double cri_friction_certificate(const cri_friction *p, const double *f) {
    CR_ASSERT(p->n > 0 && f);
    return certificate(p, f, NULL);
}

double cri_friction_certificate_at(const cri_friction *p, const double *f, const double *u) {
    CR_ASSERT(p->n > 0 && f && u);
    return certificate(p, f, u);
}

static double relative(double value, double scale) {
    return scale > 0.0 ? value / scale : 1.0;
}

// how clearly u_t picks its corner: the two smallest d_k.u_t
static double corner_gap(const double *u) {
    double first = INFINITY, second = INFINITY;
    for (int k = 0; k < 8; k++) {
        double along = corner[k][0] * u[1] + corner[k][1] * u[2];
        second = fmin(second, fmax(along, first));
        first = fmin(first, along);
    }
    return second - first;
}

double cri_friction_inside_by(cri_friction_kind kind, const double *f, double r) {
    if (kind == CRI_OCTAGON) {
        const double *out = outward[side_at(f[1], f[2])];
        return SIDE_NEAR * r - (out[0] * f[1] + out[1] * f[2]);
    }
    return r - cri_tangent_size(f);
}

double cri_friction_margin_of(const cri_friction *p, int i, const cri_friction_point *at,
                              const double *f, const double *u, double f_scale) {
    CR_ASSERT(p && at && f && u);
    double u_scale = f_scale / cri_friction_rho(p, i), mu = p->mu[i], slip = cri_tangent_size(u);
    bool is_slide = at->branch == CRI_SLIDE || at->branch == CRI_BOUND_SLIDE;
    bool is_bound = at->branch == CRI_BOUND_STICK || at->branch == CRI_BOUND_SLIDE;
    // a convex contact opens when u leaves the dual cone
    double lift = p->kind == CRI_CONVEX && (is_slide || at->branch == CRI_OPEN) ? mu * slip : 0.0;
    double margin = at->branch == CRI_OPEN || is_bound ? relative(u[0] - lift, u_scale)
                                                       : relative(f[0] - p->l[i], f_scale);
    if (is_slide) {
        double clear = p->kind == CRI_OCTAGON ? corner_gap(u) : slip;
        return fmin(margin, relative(clear, u_scale));
    }
    if (at->branch == CRI_EDGE) {
        double middle[2], along[2];
        cri_octagon_side(at->face, middle, along);
        double left = SIDE_HALF * mu * f[0] - fabs(along[0] * f[1] + along[1] * f[2]);
        return fmin(margin, fmin(relative(left, f_scale), relative(slip, u_scale)));
    }
    if (at->branch != CRI_OPEN) {
        return fmin(margin, relative(cri_friction_inside_by(p->kind, f, mu * f[0]), f_scale));
    }
    return margin;
}
