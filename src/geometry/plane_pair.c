// SPDX-License-Identifier: MIT
//
// W = min over unit n and offset of sum_k 1/s_k,  s_k = sigma_k n . (x_k - c): the distance of
// corner k to the plane through c, sigma = +1 for the upper triangle and -1 for the lower.
//
// Damped Newton in the tilts and the offset (nu1, nu2, delta), n <- normalise(n + nu1 t1 + nu2 t2),
// with tau_k the tangential coordinates of x_k - c:
//
//   W(nu, delta) = sqrt(1 + |nu|^2) sum 1/(s_k + ds_k),    ds_k = sigma_k (tau_k . nu + delta)
//   -gradient at 0:  sum sigma_k (tau_k, 1)/s_k^2
//   Hessian at 0:    diag(W, W, 0) + sum (2/s_k^3) (tau_k, 1)(tau_k, 1)'
//
// The Hessian is positive definite, and the stationary point is unique (the problem is the polar
// form of a convex one in four unknowns), so that the method converges from any separating plane.
//
// Conditioning: 1/s^3 spans (size/gap)^3. Two choices take it out of the linear algebra. c is the
// mean of the corners weighted by 2/s^3: the offset then decouples from the tilts. t1 points to the
// corner with the largest weighted arm: the 2 x 2 matrix of tilts is then graded, and its second
// pivot is a sum without cancellation, at least a seventh of the diagonal entry.
//
// Certificate: W = max over weights alpha, beta of (sum sqrt alpha + sum sqrt beta)^2 / |a - b|
// with a = sum alpha x, b = sum beta x on the two triangles. Any weights give a lower bound. Those
// of the last step, y_k = s_k^-2 (1 - 2 ds_k/s_k), are right to second order in the step.

#include "geometry/plane_pair.h"

#include "geometry/triangle_pair.h"

#include <float.h>
#include <stddef.h>

enum { MAX_STEP = 60 };

static const double sigma[6] = {1, 1, 1, -1, -1, -1};

/// Six points, coordinate by coordinate, so that the compiler takes them two by two.
typedef struct corners {
    double x[6], y[6], z[6];
} corners;

/// One step: the tilts and offset, the change of every distance over it, and the decrement.
typedef struct plane_step {
    double nu[2], delta;
    double rate[6];    // ds_k / s_k
    double largest;    // |rate| or |nu|
    double shrink;     // largest -rate
    double decrement2; // -gradient . step
} plane_step;

// ---- the plane as it stands --------------------------------------------------------------------

/// Two tangents of a unit vector, continuous but for n.z = 0.
static void any_tangents(cri_vec3 n, cri_vec3 *t1, cri_vec3 *t2) {
    double sign = n.z >= 0.0 ? 1.0 : -1.0;
    double a = -1.0 / (sign + n.z);
    double b = n.x * n.y * a;
    *t1 = cri_v3(1.0 + sign * n.x * n.x * a, sign * b, -sign * n.x);
    *t2 = cri_v3(b, sign + n.y * n.y * a, -n.y);
}

/// t1 to the corner with the largest weighted arm
static void set_tangents(cri_plane_pair *p, const corners *r, const double h[6]) {
    double square[6], arm[6];
    for (int k = 0; k < 6; k++) {
        square[k] = r->x[k] * r->x[k] + r->y[k] * r->y[k] + r->z[k] * r->z[k];
        arm[k] = h[k] * (square[k] - p->s[k] * p->s[k]);
    }
    int most = 0;
    double far2 = square[0], lowest[2] = {p->s[0], p->s[3]};
    for (int k = 1; k < 6; k++) {
        most = arm[k] > arm[most] ? k : most;
        far2 = square[k] > far2 ? square[k] : far2;
        lowest[k / 3] = p->s[k] < lowest[k / 3] ? p->s[k] : lowest[k / 3];
    }
    p->kappa = sqrt(far2) / (lowest[0] + lowest[1]);
    cri_vec3 t =
        cri_v3_mad(cri_v3(r->x[most], r->y[most], r->z[most]), -sigma[most] * p->s[most], p->n);

    // an arm along the normal has no direction
    if (!(cri_v3_dot(t, t) > 1e-8 * square[most])) {
        any_tangents(p->n, &p->t1, &p->t2);
        return;
    }
    t = cri_v3_mad(t, -cri_v3_dot(t, p->n), p->n);
    p->t1 = cri_v3_scale(1.0 / cri_v3_norm(t), t);
    p->t2 = cri_v3_cross(p->n, p->t1);
}

/// Moves c to the weighted mean of the corners' feet, and r with it.
static void set_point(cri_plane_pair *p, const double h[6], corners *r) {
    cri_vec3 mean = {0, 0, 0};
    p->o = 0.0;
    for (int k = 0; k < 6; k++) {
        p->o += h[k];
        mean = cri_v3_add(mean, cri_v3(h[k] * r->x[k], h[k] * r->y[k], h[k] * r->z[k]));
    }
    mean = cri_v3_scale(1.0 / p->o, mean);
    mean = cri_v3_mad(mean, -cri_v3_dot(p->n, mean), p->n);
    p->c = cri_v3_add(p->c, mean);
    for (int k = 0; k < 6; k++) {
        r->x[k] -= mean.x;
        r->y[k] -= mean.y;
        r->z[k] -= mean.z;
    }
}

/// Fills all but the certificate from n and c; moves c within the plane. False when a corner is on
/// the wrong side.
static bool look(const corners *x, cri_plane_pair *p) {
    corners r;
    double h[6], lowest = INFINITY;
    for (int k = 0; k < 6; k++) {
        r.x[k] = x->x[k] - p->c.x;
        r.y[k] = x->y[k] - p->c.y;
        r.z[k] = x->z[k] - p->c.z;
        p->s[k] = sigma[k] * (p->n.x * r.x[k] + p->n.y * r.y[k] + p->n.z * r.z[k]);
        h[k] = 1.0 / p->s[k];
    }
    p->W = 0.0;
    for (int k = 0; k < 6; k++) {
        p->W += h[k];
        h[k] = 2.0 * h[k] * h[k] * h[k];
        lowest = p->s[k] < lowest ? p->s[k] : lowest;
    }
    if (!(lowest > 0.0)) {
        return false;
    }
    set_point(p, h, &r);
    set_tangents(p, &r, h);

    // the matrix of tilts, by its pivots
    double u2[6], uv[6], v2[6], b = 0.0;
    for (int k = 0; k < 6; k++) {
        double u = p->t1.x * r.x[k] + p->t1.y * r.y[k] + p->t1.z * r.z[k];
        double v = p->t2.x * r.x[k] + p->t2.y * r.y[k] + p->t2.z * r.z[k];
        p->tau[0][k] = u;
        p->tau[1][k] = v;
        u2[k] = h[k] * u * u;
        uv[k] = h[k] * u * v;
        v2[k] = h[k] * v * v;
    }
    p->a = p->W;
    p->d = p->W;
    for (int k = 0; k < 6; k++) {
        p->a += u2[k];
        b += uv[k];
        p->d += v2[k];
    }
    p->m = b / p->a;
    p->d -= p->m * b;
    return true;
}

// ---- Newton ------------------------------------------------------------------------------------

static void newton(const cri_plane_pair *p, plane_step *step) {
    double q[6], u[6], v[6], b[3] = {0}, z[3];
    for (int k = 0; k < 6; k++) {
        q[k] = sigma[k] / (p->s[k] * p->s[k]);
        u[k] = q[k] * p->tau[0][k];
        v[k] = q[k] * p->tau[1][k];
    }
    for (int k = 0; k < 6; k++) {
        b[0] += u[k];
        b[1] += v[k];
        b[2] += q[k];
    }
    cri_plane_unwind(p, b, z);
    step->nu[0] = z[0];
    step->nu[1] = z[1];
    step->delta = z[2];
    step->decrement2 = b[0] * z[0] + b[1] * z[1] + b[2] * z[2];
    for (int k = 0; k < 6; k++) {
        double ds = sigma[k] * (p->tau[0][k] * z[0] + p->tau[1][k] * z[1] + z[2]);
        step->rate[k] = ds / p->s[k];
    }
    double low = 0.0, high = 0.0;
    for (int k = 0; k < 6; k++) {
        low = step->rate[k] < low ? step->rate[k] : low;
        high = step->rate[k] > high ? step->rate[k] : high;
    }
    double tilt = fabs(z[0]) > fabs(z[1]) ? fabs(z[0]) : fabs(z[1]);
    step->shrink = -low;
    step->largest = -low > high ? -low : high;
    step->largest = tilt > step->largest ? tilt : step->largest;
}

/// Part of the step to take: distances keep a tenth, and W falls while it is far from its minimum.
static double damp(const cri_plane_pair *p, const plane_step *step) {
    double part = step->shrink > 0.9 ? 0.9 / step->shrink : 1.0;
    if (step->decrement2 <= 1e-3 * p->W) {
        return part;
    }
    double nu2 = step->nu[0] * step->nu[0] + step->nu[1] * step->nu[1];
    for (int trial = 0; trial < 40; trial++, part *= 0.5) {
        double sum = 0.0;
        for (int k = 0; k < 6; k++) {
            sum += 1.0 / (p->s[k] * (1.0 + part * step->rate[k]));
        }
        if (sqrt(1.0 + part * part * nu2) * sum <= p->W - 1e-4 * part * step->decrement2) {
            break;
        }
    }
    return part;
}

static void advance(cri_plane_pair *p, const plane_step *step, double part) {
    // the plane's point moves along the old normal, on which both planes are one apart
    p->c = cri_v3_mad(p->c, -part * step->delta, p->n);
    cri_vec3 n = cri_v3_mad(p->n, part * step->nu[0], p->t1);
    n = cri_v3_mad(n, part * step->nu[1], p->t2);
    p->n = cri_v3_scale(1.0 / cri_v3_norm(n), n);
}

/// The lower bound of W from the last step.
static double dual_bound(const cri_plane_pair *p, const plane_step *step) {
    double roots = 0.0, along[3] = {0};
    for (int side = 0; side < 2; side++) {
        double y[3], sum = 0.0, root = 0.0, part[3] = {0};
        for (int i = 0; i < 3; i++) {
            int k = 3 * side + i;
            y[i] = fmax(0.0, 1.0 - 2.0 * step->rate[k]) / (p->s[k] * p->s[k]);
            sum += y[i];
            root += sqrt(y[i]);
            part[0] += y[i] * p->tau[0][k];
            part[1] += y[i] * p->tau[1][k];
            part[2] += y[i] * sigma[k] * p->s[k];
        }
        if (!(sum > 0.0)) {
            return 0.0;
        }
        roots += root / sqrt(sum);
        for (int j = 0; j < 3; j++) {
            along[j] += (side ? -1.0 : 1.0) * part[j] / sum;
        }
    }
    return roots * roots / cri_v3_norm(cri_v3_load(along));
}

/// Newton's method from a plane that separates.
static bool descend(const cri_vec3 y[6], cri_plane_pair *p) {
    corners x;
    for (int k = 0; k < 6; k++) {
        x.x[k] = y[k].x;
        x.y[k] = y[k].y;
        x.z[k] = y[k].z;
    }
    if (!look(&x, p)) {
        return false;
    }
    for (p->n_step = 1; p->n_step <= MAX_STEP; p->n_step++) {
        plane_step step;
        newton(p, &step);
        double part = damp(p, &step);

        // convergence is quadratic: after a step of 1e-7 the next would be of rounding. Rounding
        // itself makes steps of a few ulp kappa
        bool is_last = step.largest <= 1e-7 + 32.0 * DBL_EPSILON * p->kappa;
        double bound = is_last ? dual_bound(p, &step) : 0.0;
        advance(p, &step, part);
        if (!look(&x, p)) {
            return false;
        }
        if (is_last) {
            p->gap = 1.0 - bound / p->W;
            return true;
        }
    }
    return false;
}

// ---- where to begin ----------------------------------------------------------------------------

/// Puts a plane with normal n between the triangles: at the offset of the hint if that keeps a
/// twentieth of the room on either side, else in the middle. False when n does not separate them by
/// more than least.
static bool place(const cri_vec3 x[6], cri_vec3 n, const double *height, double least,
                  cri_plane_pair *p) {
    double low = INFINITY, high = -INFINITY;
    for (int k = 0; k < 3; k++) {
        low = fmin(low, cri_v3_dot(n, x[k]));
        high = fmax(high, cri_v3_dot(n, x[k + 3]));
    }
    double width = low - high;
    if (!(width > least)) {
        return false;
    }
    double at = 0.5 * (low + high);
    if (height && fabs(*height - at) < 0.45 * width) {
        at = *height;
    }
    p->n = n;
    p->c = cri_v3_scale(at, n);
    return true;
}

/// size: largest distance of a corner from the origin
static bool start_cold(const cri_vec3 x[6], cri_vec3 between, double size, cri_plane_pair *p) {
    double least = CRI_PLANE_TOUCH * size;

    // the centres show the way when the pair is not close
    double length = cri_v3_norm(between);
    if (length > 0.0 && place(x, cri_v3_scale(1.0 / length, between), NULL, 0.1 * length, p)) {
        return descend(x, p);
    }
    cri_triangle_gap near = cri_triangle_closest(x, x + 3);
    cri_vec3 d = cri_v3_sub(near.a, near.b);
    if (near.distance > least &&
        place(x, cri_v3_scale(1.0 / near.distance, d), NULL, 0.2 * near.distance, p) &&
        descend(x, p)) {
        return true;
    }
    cri_vec3 n;
    return cri_triangle_axis(x, x + 3, &n) > least && place(x, n, NULL, least, p) && descend(x, p);
}

bool cri_plane_solve(const cri_vec3 x[6], const cri_plane_hint *hint, cri_plane_pair *out) {
    // about the middle, so that nothing is lost far from the origin
    cri_vec3 centre[2], y[6];
    for (int i = 0; i < 2; i++) {
        const cri_vec3 *v = x + 3 * i;
        centre[i] = cri_v3_scale(1.0 / 3.0, cri_v3_add(cri_v3_add(v[0], v[1]), v[2]));
    }
    cri_vec3 middle = cri_v3_scale(0.5, cri_v3_add(centre[0], centre[1]));
    double size2 = 0.0;
    for (int k = 0; k < 6; k++) {
        y[k] = cri_v3_sub(x[k], middle);
        size2 = fmax(size2, cri_v3_dot(y[k], y[k]));
    }
    double size = sqrt(size2);

    bool is_found = false;
    if (hint) {
        double height = -hint->offset - cri_v3_dot(hint->n, middle);
        is_found = place(y, hint->n, &height, CRI_PLANE_TOUCH * size, out) && descend(y, out);
    }
    if (!is_found) {
        is_found = start_cold(y, cri_v3_sub(centre[0], centre[1]), size, out);
    }
    out->c = cri_v3_add(out->c, middle);
    return is_found;
}
