// SPDX-License-Identifier: MIT
//
// P = min over |n| < 1, d of 12/(1 - |n|) + ell sum_k 1/(sigma_k (n . x_k + d))
//
// (long-range contact potential of triangles, eq. 3 there, with a length ell). For a fixed
// direction the length |n| = z is found in closed form, which leaves W of plane_potential.h:
//
//   z = sqrt(ell W)/(sqrt 12 + sqrt(ell W)),    P = (sqrt 12 + sqrt(ell W))^2
//
// Gradient in corner k: -sigma_k q_k n, q_k = ell/(z s_k^2). Second derivatives by the implicit
// function theorem; in the frame of the plane the length decouples from tilts and offset:
//
//   H = blockdiag(h_k n n') - c g g' - B A^-1 B',   h_k = 2 q_k/s_k,   c = (1 - z) z/(2 ell W)
//   A = (ell/z) (matrix of W, below),        B_k = h_k n (tau_k, 1)' - sigma_k q_k [t1 t2 0]
//
// Analytic while the triangles are apart, also for needles and points.
//
// Half-space: the lower corners at infinity within its face. The plane is then parallel to it, at a
// height delta:  W = min over delta of 3/delta + sum 1/(h_k - delta).

#include "energy/plane_potential.h"

#include "base/math/lane.h"
#include "geometry/mesh/triangle_pair.h"

#include <float.h>
#include <stddef.h>
#include <string.h>

#define CRI_PLANE_TOUCH 1e-9

enum { MAX_STEP = 60 };

static const double sigma[6] = {1, 1, 1, -1, -1, -1};

typedef cri_plane_lanes planes;

/// One step: the tilts and offset, the change of every distance over it, and the decrement.
typedef struct plane_step {
    cri_lane nu[2], delta;
    cri_lane rate[6];    // ds_k / s_k
    cri_lane largest;    // |rate| or |nu|
    cri_lane shrink;     // largest -rate
    cri_lane decrement2; // -gradient . step
} plane_step;

/// Pairs about their middles, so that nothing is lost far from the origin.
typedef struct pairs {
    cri_lane3 y[6];
    cri_lane3 middle, between; // of the centres, and from the second to the first
    cri_lane least;            // room below which triangles touch
} pairs;

/// Room for planes with normals n.
typedef struct room {
    cri_lane low, high; // lowest upper, highest lower corner
} room;

static const double sqrt_12 = 3.46410161513775458705;

// ---- the plane of two triangles -----------------------------------------------------------------

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
//
// Four pairs are solved at once (base/math/lane.h), as long as one of them is not done: those that
// are stay as they are.

// ---- the plane as it stands --------------------------------------------------------------------

/// Two tangents of a unit vector, continuous but for n.z = 0.
static void any_tangents(cri_lane3 n, cri_lane3 *t1, cri_lane3 *t2) {
    cri_lane one = cri_lane_of(1.0), sign = cri_lane_select(n.z >= 0.0, one, -one);
    cri_lane a = -1.0 / (sign + n.z);
    cri_lane b = n.x * n.y * a;
    *t1 = cri_l3(1.0 + sign * n.x * n.x * a, sign * b, -sign * n.x);
    *t2 = cri_l3(b, sign + n.y * n.y * a, -n.y);
}

/// t1 to the corner with the largest weighted arm
static void set_tangents(planes *p, const cri_lane3 r[6], const cri_lane h[6]) {
    cri_lane arm = cri_lane_of(-INFINITY), far2 = cri_lane_of(0.0), square = far2, height = far2;
    cri_lane lowest[2] = {p->s[0], p->s[3]};
    cri_lane3 to = r[0];
    for (int k = 0; k < 6; k++) {
        cri_lane own2 = cri_l3_dot(r[k], r[k]);
        cri_lane own = h[k] * (own2 - p->s[k] * p->s[k]);
        cri_mask is_more = own > arm;
        arm = cri_lane_select(is_more, own, arm);
        to = cri_l3_select(is_more, r[k], to);
        square = cri_lane_select(is_more, own2, square);
        height = cri_lane_select(is_more, sigma[k] * p->s[k], height);
        far2 = cri_lane_larger(own2, far2);
        lowest[k / 3] = cri_lane_smaller(p->s[k], lowest[k / 3]);
    }
    p->kappa = cri_lane_sqrt(far2) / (lowest[0] + lowest[1]);
    cri_lane3 t = cri_l3_mad(to, -height, p->n);

    // an arm along the normal has no direction
    cri_mask is_clear = cri_l3_dot(t, t) > 1e-8 * square;
    t = cri_l3_mad(t, -cri_l3_dot(t, p->n), p->n);
    p->t1 = cri_l3_scale(1.0 / cri_l3_norm(t), t);
    p->t2 = cri_l3_cross(p->n, p->t1);
    if (cri_mask_any(~is_clear)) {
        cri_lane3 t1, t2;
        any_tangents(p->n, &t1, &t2);
        p->t1 = cri_l3_select(is_clear, p->t1, t1);
        p->t2 = cri_l3_select(is_clear, p->t2, t2);
    }
}

/// Moves c to the weighted mean of the corners' feet, and r with it.
static void set_point(planes *p, const cri_lane h[6], cri_lane3 r[6]) {
    cri_lane3 mean = cri_l3_scale(h[0], r[0]);
    p->o = h[0];
    for (int k = 1; k < 6; k++) {
        p->o += h[k];
        mean = cri_l3_mad(mean, h[k], r[k]);
    }
    mean = cri_l3_scale(1.0 / p->o, mean);
    mean = cri_l3_mad(mean, -cri_l3_dot(p->n, mean), p->n);
    p->c = cri_l3_add(p->c, mean);
    for (int k = 0; k < 6; k++) {
        r[k] = cri_l3_sub(r[k], mean);
    }
}

/// Fills all but the certificate from n and a point; c is in the plane, too. Lanes in which every
/// corner is on its side.
static cri_mask look(const cri_lane3 x[6], cri_lane3 point, planes *p) {
    cri_lane3 r[6];
    cri_lane h[6], lowest = cri_lane_of(INFINITY);
    p->W = cri_lane_of(0.0);
    p->c = point;
    for (int k = 0; k < 6; k++) {
        r[k] = cri_l3_sub(x[k], point);
        p->s[k] = sigma[k] * cri_l3_dot(p->n, r[k]);
        p->inverse[k] = 1.0 / p->s[k];
        p->W += p->inverse[k];
        h[k] = 2.0 * p->inverse[k] * p->inverse[k] * p->inverse[k];
        lowest = cri_lane_smaller(p->s[k], lowest);
    }
    set_point(p, h, r);
    set_tangents(p, r, h);

    // the matrix of tilts, by its pivots
    cri_lane b = cri_lane_of(0.0);
    p->a = p->W;
    p->d = p->W;
    for (int k = 0; k < 6; k++) {
        cri_lane u = cri_l3_dot(p->t1, r[k]), v = cri_l3_dot(p->t2, r[k]);
        p->tau[0][k] = u;
        p->tau[1][k] = v;
        p->a += h[k] * u * u;
        b += h[k] * u * v;
        p->d += h[k] * v * v;
    }
    p->m = b / p->a;
    p->d -= p->m * b;
    return lowest > 0.0;
}

// ---- Newton ------------------------------------------------------------------------------------

static void newton(const planes *p, plane_step *step) {
    cri_lane b[3] = {cri_lane_of(0.0), cri_lane_of(0.0), cri_lane_of(0.0)};
    for (int k = 0; k < 6; k++) {
        cri_lane q = sigma[k] * p->inverse[k] * p->inverse[k];
        b[0] += q * p->tau[0][k];
        b[1] += q * p->tau[1][k];
        b[2] += q;
    }
    // as cri_plane_unwind
    step->nu[1] = (b[1] - p->m * b[0]) / p->d;
    step->nu[0] = b[0] / p->a - p->m * step->nu[1];
    step->delta = b[2] / p->o;
    step->decrement2 = b[0] * step->nu[0] + b[1] * step->nu[1] + b[2] * step->delta;
    cri_lane low = cri_lane_of(0.0), high = low;
    for (int k = 0; k < 6; k++) {
        cri_lane ds = p->tau[0][k] * step->nu[0] + p->tau[1][k] * step->nu[1] + step->delta;
        step->rate[k] = sigma[k] * ds * p->inverse[k];
        low = cri_lane_smaller(step->rate[k], low);
        high = cri_lane_larger(step->rate[k], high);
    }
    cri_lane tilt = cri_lane_larger(cri_lane_abs(step->nu[0]), cri_lane_abs(step->nu[1]));
    step->shrink = -low;
    step->largest = cri_lane_larger(tilt, cri_lane_larger(-low, high));
}

/// Part of the step to take: distances keep a tenth, and W falls while it is far from its minimum.
static cri_lane damp(const planes *p, const plane_step *step) {
    cri_lane part = cri_lane_select(step->shrink > 0.9, 0.9 / step->shrink, cri_lane_of(1.0));
    cri_mask is_far = step->decrement2 > 1e-3 * p->W;
    cri_lane nu2 = step->nu[0] * step->nu[0] + step->nu[1] * step->nu[1];
    for (int trial = 0; trial < 40 && cri_mask_any(is_far); trial++) {
        cri_lane sum = cri_lane_of(0.0);
        for (int k = 0; k < 6; k++) {
            sum += p->inverse[k] / (1.0 + part * step->rate[k]);
        }
        cri_lane reached = cri_lane_sqrt(1.0 + part * part * nu2) * sum;
        is_far &= ~(reached <= p->W - 1e-4 * part * step->decrement2);
        part = cri_lane_select(is_far, 0.5 * part, part);
    }
    return part;
}

/// The next normal and point, of the lanes that are open.
static void advance(const plane_step *step, cri_lane part, cri_mask is_open, planes *p,
                    cri_lane3 *point) {
    // the plane's point moves along the old normal, on which both planes are one apart
    cri_lane3 to = cri_l3_mad(p->c, -part * step->delta, p->n);
    cri_lane3 n = cri_l3_mad(p->n, part * step->nu[0], p->t1);
    n = cri_l3_mad(n, part * step->nu[1], p->t2);
    n = cri_l3_scale(1.0 / cri_l3_norm(n), n);
    *point = cri_l3_select(is_open, to, *point);
    p->n = cri_l3_select(is_open, n, p->n);
}

/// The lower bound of W from a step.
static cri_lane dual_bound(const planes *p, const plane_step *step) {
    cri_lane zero = cri_lane_of(0.0), roots = zero, along[3] = {zero, zero, zero};
    for (int side = 0; side < 2; side++) {
        cri_lane sum = zero, root = zero, part[3] = {zero, zero, zero};
        for (int k = 3 * side; k < 3 * side + 3; k++) {
            cri_lane y = cri_lane_larger(zero, 1.0 - 2.0 * step->rate[k]);
            root += cri_lane_sqrt(y) * p->inverse[k];
            y *= p->inverse[k] * p->inverse[k];
            sum += y;
            part[0] += y * p->tau[0][k];
            part[1] += y * p->tau[1][k];
            part[2] += y * sigma[k] * p->s[k];
        }
        cri_lane over = 1.0 / sum;
        roots += root * cri_lane_sqrt(over);
        for (int j = 0; j < 3; j++) {
            along[j] += (side ? -over : over) * part[j];
        }
    }
    return roots * roots / cri_l3_norm(cri_l3(along[0], along[1], along[2]));
}

/// Newton's method from planes that separate, n and c, in some lanes; those that arrive.
static cri_mask descend(const cri_lane3 x[6], cri_mask is_placed, planes *p) {
    cri_lane3 point = p->c;
    cri_mask is_open = look(x, point, p) & is_placed, is_done = {0};
    plane_step step;
    p->n_step = cri_lane_of(0.0);
    for (int i = 0; i < MAX_STEP && cri_mask_any(is_open); i++) {
        newton(p, &step);
        p->n_step += cri_lane_select(is_open, cri_lane_of(1.0), cri_lane_of(0.0));
        // convergence is quadratic: after a step of 1e-7 the next would be of rounding. Rounding
        // itself makes steps of a few ulp kappa
        cri_mask is_last = step.largest <= 1e-7 + 32.0 * DBL_EPSILON * p->kappa;
        advance(&step, damp(p, &step), is_open, p, &point);
        is_open &= look(x, point, p);
        is_done |= is_open & is_last;
        is_open &= ~is_last;
    }
    newton(p, &step);
    p->gap = 1.0 - dual_bound(p, &step) / p->W;
    return is_done;
}

// ---- where to begin ----------------------------------------------------------------------------

static room room_along(const pairs *x, cri_lane3 n) {
    room r = {cri_l3_dot(n, x->y[0]), cri_l3_dot(n, x->y[3])};
    for (int k = 1; k < 3; k++) {
        r.low = cri_lane_smaller(cri_l3_dot(n, x->y[k]), r.low);
        r.high = cri_lane_larger(cri_l3_dot(n, x->y[k + 3]), r.high);
    }
    return r;
}

/// Puts planes at a height along their normals in some lanes.
static void put(cri_mask mask, cri_lane3 n, cri_lane height, planes *p) {
    p->n = cri_l3_select(mask, n, p->n);
    p->c = cri_l3_select(mask, cri_l3_scale(height, n), p->c);
}

/// At the offset of the hint if that keeps a twentieth of the room on either side, else in the
/// middle. The lanes placed.
static cri_mask place_hints(const pairs *x, const cri_plane_hints *hints, planes *p) {
    room r = room_along(x, hints->n);
    cri_lane width = r.low - r.high, middle = 0.5 * (r.low + r.high);
    cri_lane height = -hints->offset - cri_l3_dot(hints->n, x->middle);
    cri_mask is_inside = cri_lane_abs(height - middle) < 0.45 * width;
    cri_mask is_good = hints->is_known & (width > x->least);
    put(is_good, hints->n, cri_lane_select(is_inside, height, middle), p);
    return is_good;
}

/// The centres show the way when a pair is not close. The lanes placed, of those wanted.
static cri_mask place_centres(const pairs *x, cri_mask is_wanted, planes *p) {
    cri_lane length = cri_l3_norm(x->between);
    cri_lane3 n = cri_l3_scale(1.0 / length, x->between);
    room r = room_along(x, n);
    cri_mask is_good = is_wanted & (length > 0.0) & (r.low - r.high > 0.1 * length);
    put(is_good, n, 0.5 * (r.low + r.high), p);
    return is_good;
}

/// One lane: across the closest points, or along the best axis.
static bool place_closely(const pairs *x, int lane, bool is_axis, planes *p) {
    cri_vec3 y[6], n;
    double least = x->least[lane], width;
    for (int k = 0; k < 6; k++) {
        y[k] = cri_l3_get(&x->y[k], lane);
    }
    if (is_axis) {
        width = cri_triangle_axis(y, y + 3, &n);
    } else {
        cri_triangle_gap near = cri_triangle_closest(y, y + 3);
        if (!(near.distance > least)) {
            return false;
        }
        n = cri_v3_scale(1.0 / near.distance, cri_v3_sub(near.a, near.b));
        width = cri_triangle_width(y, y + 3, n);
        least = 0.2 * near.distance;
    }
    if (!(width > least)) {
        return false;
    }
    double low = fmin(cri_v3_dot(n, y[0]), fmin(cri_v3_dot(n, y[1]), cri_v3_dot(n, y[2])));
    cri_l3_set(&p->n, lane, n);
    cri_l3_set(&p->c, lane, cri_v3_scale(low - 0.5 * width, n));
    return true;
}

// ---- the whole ---------------------------------------------------------------------------------

static void set_about_middle(const cri_lane3 x[6], pairs *out) {
    cri_lane3 centre[2];
    for (int i = 0; i < 2; i++) {
        const cri_lane3 *v = x + 3 * i;
        cri_lane3 sum = cri_l3_add(cri_l3_add(v[0], v[1]), v[2]);
        centre[i] = cri_l3_scale(cri_lane_of(1.0 / 3.0), sum);
    }
    cri_lane size2 = cri_lane_of(0.0);
    out->middle = cri_l3_scale(cri_lane_of(0.5), cri_l3_add(centre[0], centre[1]));
    out->between = cri_l3_sub(centre[0], centre[1]);
    for (int k = 0; k < 6; k++) {
        out->y[k] = cri_l3_sub(x[k], out->middle);
        size2 = cri_lane_larger(cri_l3_dot(out->y[k], out->y[k]), size2);
    }
    out->least = CRI_PLANE_TOUCH * cri_lane_sqrt(size2);
}

/// One lane from another start, when its first led nowhere.
static bool solve_again(const pairs *x, int lane, planes *p) {
    cri_mask own = {0};
    own[lane] = -1;
    for (int i = 0; i < 2; i++) {
        planes other = *p;
        if (place_closely(x, lane, i == 1, &other) && cri_mask_any(descend(x->y, own, &other))) {
            for (size_t k = 0; k < sizeof other / sizeof(cri_lane); k++) {
                ((cri_lane *)p)[k][lane] = ((const cri_lane *)&other)[k][lane];
            }
            return true;
        }
    }
    return false;
}

cri_mask cri_plane_solve_lanes(const cri_lane3 x[6], const cri_plane_hints *hints, planes *out) {
    pairs y;
    cri_mask is_placed = {0};
    set_about_middle(x, &y);
    out->n = cri_l3_of(cri_v3(0.0, 0.0, 1.0));
    out->c = cri_l3_of(cri_v3(0.0, 0.0, 0.0));
    if (cri_mask_any(hints->is_known)) {
        is_placed = place_hints(&y, hints, out);
    }
    if (cri_mask_any(~is_placed)) {
        is_placed |= place_centres(&y, ~is_placed, out);
    }
    for (int i = 0; i < CRI_LANES && cri_mask_any(~is_placed); i++) {
        bool is_good =
            is_placed[i] || place_closely(&y, i, false, out) || place_closely(&y, i, true, out);
        is_placed[i] = is_good ? -1 : 0;
    }
    cri_mask is_found = descend(y.y, is_placed, out);
    for (int i = 0; i < CRI_LANES && cri_mask_any(is_placed & ~is_found); i++) {
        if (is_placed[i] && !is_found[i]) {
            is_found[i] = solve_again(&y, i, out) ? -1 : 0;
            is_placed[i] = is_found[i];
        }
    }
    out->c = cri_l3_add(out->c, y.middle);
    return is_found;
}

void cri_plane_of_lane(const planes *from, int lane, cri_plane_pair *out) {
    out->n = cri_l3_get(&from->n, lane);
    out->t1 = cri_l3_get(&from->t1, lane);
    out->t2 = cri_l3_get(&from->t2, lane);
    out->c = cri_l3_get(&from->c, lane);
    for (int k = 0; k < 6; k++) {
        out->s[k] = from->s[k][lane];
        out->tau[0][k] = from->tau[0][k][lane];
        out->tau[1][k] = from->tau[1][k][lane];
    }
    out->W = from->W[lane];
    out->a = from->a[lane];
    out->m = from->m[lane];
    out->d = from->d[lane];
    out->o = from->o[lane];
    out->gap = from->gap[lane];
    out->kappa = from->kappa[lane];
    out->n_step = (int)from->n_step[lane];
}

bool cri_plane_solve(const cri_vec3 x[6], const cri_plane_hint *hint, cri_plane_pair *out) {
    cri_lane3 corner[6];
    planes all;
    cri_plane_hints hints = {.is_known = {0}};
    for (int k = 0; k < 6; k++) {
        corner[k] = cri_l3_of(x[k]);
    }
    if (hint) {
        hints = (cri_plane_hints){cri_mask_first(CRI_LANES), cri_l3_of(hint->n),
                                  cri_lane_of(hint->offset)};
    }
    cri_mask is_found = cri_plane_solve_lanes(corner, &hints, &all);
    cri_plane_of_lane(&all, 0, out);
    return is_found[0] != 0;
}

// ---- potentials ---------------------------------------------------------------------------------

/// Forces of a plane that was found. The gradient in corner k is -sigma_k q_k n.
static void plane_forces(const cri_plane_pair *plane, double ell, cri_plane_force *out) {
    double root = sqrt(ell * plane->W);
    double z = root / (sqrt_12 + root);
    double rest = sqrt_12 / (sqrt_12 + root); // 1 - z
    if (&out->plane != plane) {
        out->plane = *plane;
    }
    out->excess = root * (2.0 * sqrt_12 + root);
    out->value = 12.0 + out->excess;
    out->ratio = z / ell;
    out->scale = 0.5 * rest * out->ratio / plane->W;
    for (int k = 0; k < 6; k++) {
        double inverse = 1.0 / plane->s[k];
        out->q[k] = inverse * inverse / out->ratio;
        out->h[k] = 2.0 * out->q[k] * inverse;
    }
}

bool cri_plane_potential(const double x[18], double ell, const cri_plane_hint *hint, double *value,
                         double gradient[18], cri_plane_force *cache) {
    cri_vec3 corner[6];
    for (int k = 0; k < 6; k++) {
        corner[k] = cri_v3_load(x + 3 * k);
    }
    if (!cri_plane_solve(corner, hint, &cache->plane)) {
        *value = INFINITY;
        memset(gradient, 0, 18 * sizeof *gradient);
        return false;
    }
    plane_forces(&cache->plane, ell, cache);
    *value = cache->value;
    for (int k = 0; k < 6; k++) {
        cri_v3_store(cri_v3_scale(-sigma[k] * cache->q[k], cache->plane.n), gradient + 3 * k);
    }
    return true;
}

/// out += H v, and returns g . v
static double add_product(const cri_plane_force *f, const double v[18], double out[18]) {
    const cri_plane_pair *p = &f->plane;
    double slope = 0.0, b[3] = {0}, z[3];
    for (int k = 0; k < 6; k++) {
        cri_vec3 w = cri_v3_load(v + 3 * k);
        double along = cri_v3_dot(p->n, w);
        double q = sigma[k] * f->q[k];
        slope -= q * along;
        b[0] += f->h[k] * p->tau[0][k] * along - q * cri_v3_dot(p->t1, w);
        b[1] += f->h[k] * p->tau[1][k] * along - q * cri_v3_dot(p->t2, w);
        b[2] += f->h[k] * along;
    }
    cri_plane_unwind(p, b, z);
    cri_vec3 turn = cri_v3_mad(cri_v3_scale(z[0], p->t1), z[1], p->t2);
    for (int k = 0; k < 6; k++) {
        double q = sigma[k] * f->q[k];
        double move = p->tau[0][k] * z[0] + p->tau[1][k] * z[1] + z[2];
        double along = cri_v3_dot(p->n, cri_v3_load(v + 3 * k)) - f->ratio * move;
        double normal = f->h[k] * along + f->scale * slope * q;
        cri_v3_accumulate(cri_v3_mad(cri_v3_scale(normal, p->n), q * f->ratio, turn), out + 3 * k);
    }
    return slope;
}

void cri_plane_potential_vjp(const cri_plane_force *cache, double value_adj,
                             const double gradient_adj[18], double x_adj[18]) {
    // value and gradient: g value_adj + H gradient_adj
    (void)add_product(cache, gradient_adj, x_adj);
    for (int k = 0; k < 6; k++) {
        double q = -sigma[k] * cache->q[k] * value_adj;
        cri_v3_accumulate(cri_v3_scale(q, cache->plane.n), x_adj + 3 * k);
    }
}

void cri_plane_potential_jvp(const cri_plane_force *cache, const double x_tan[18],
                             double *value_tan, double gradient_tan[18]) {
    memset(gradient_tan, 0, 18 * sizeof *gradient_tan);
    *value_tan = add_product(cache, x_tan, gradient_tan);
}

// ---- half-space --------------------------------------------------------------------------------

/// Height of the plane: root of a monotone function. A flat triangle has it in the middle, one that
/// stands on a corner at sqrt(3)/(1 + sqrt(3)) of the lowest height, others between.
static double half_plane_height(const double height[3], double lowest) {
    double low = 0.5 * lowest, high = 0.635 * lowest, x = low;
    for (int step = 0; step < 100; step++) {
        double f1 = -3.0 / (x * x), f2 = 6.0 / (x * x * x);
        for (int k = 0; k < 3; k++) {
            double inverse = 1.0 / (height[k] - x);
            f1 += inverse * inverse;
            f2 += 2.0 * inverse * inverse * inverse;
        }
        if (f1 > 0.0) {
            high = x;
        } else {
            low = x;
        }
        double next = x - f1 / f2;
        if (!(next >= low && next <= high)) {
            next = 0.5 * (low + high);
        }
        // Newton's last step squares a relative error of 1e-9
        bool is_last = fabs(next - x) <= 1e-9 * x;
        x = next;
        if (is_last) {
            break;
        }
    }
    return x;
}

bool cri_half_potential(const double height[3], double ell, cri_half_force *out) {
    memset(out, 0, sizeof *out);
    double lowest = fmin(height[0], fmin(height[1], height[2]));
    if (!(lowest > 0.0)) {
        out->value = INFINITY;
        out->excess = INFINITY;
        return false;
    }
    double x = half_plane_height(height, lowest);
    double W = 3.0 / x, curve = 6.0 / (x * x * x), slope[3], stiff[3];
    for (int k = 0; k < 3; k++) {
        double inverse = 1.0 / (height[k] - x);
        W += inverse;
        slope[k] = -inverse * inverse;
        stiff[k] = 2.0 * inverse * inverse * inverse;
        curve += stiff[k];
    }
    // P of W, and its derivatives
    double root = sqrt(ell * W);
    double P1 = ell * (1.0 + sqrt_12 / root);
    double P2 = -0.5 * sqrt_12 * ell * ell / (root * root * root);
    out->excess = root * (2.0 * sqrt_12 + root);
    out->value = 12.0 + out->excess;
    for (int i = 0; i < 3; i++) {
        out->g[i] = P1 * slope[i];
        for (int j = 0; j < 3; j++) {
            double bend = (i == j ? stiff[i] : 0.0) - stiff[i] * stiff[j] / curve;
            out->H[3 * i + j] = P1 * bend + P2 * slope[i] * slope[j];
        }
    }
    return true;
}

void cri_half_potential_vjp(const cri_half_force *cache, double value_adj, const double g_adj[3],
                            double height_adj[3]) {
    for (int i = 0; i < 3; i++) {
        const double *row = cache->H + 3 * i; // symmetric
        height_adj[i] += cache->g[i] * value_adj + row[0] * g_adj[0] + row[1] * g_adj[1];
        height_adj[i] += row[2] * g_adj[2];
    }
}

void cri_half_potential_jvp(const cri_half_force *cache, const double height_tan[3],
                            double *value_tan, double g_tan[3]) {
    *value_tan = 0.0;
    for (int i = 0; i < 3; i++) {
        const double *row = cache->H + 3 * i;
        *value_tan += cache->g[i] * height_tan[i];
        g_tan[i] = row[0] * height_tan[0] + row[1] * height_tan[1] + row[2] * height_tan[2];
    }
}

// ---- far away ----------------------------------------------------------------------------------

void cri_centred_potential(double L, double ell, double value[3]) {
    double rho = sqrt(ell / L);
    value[0] = 12.0 * rho * (2.0 + rho);
    value[1] = -12.0 * rho * (1.0 + rho) / L;
    value[2] = 12.0 * rho * (1.5 + 2.0 * rho) / (L * L);
}

void cri_blend_weight(double L, double d1, double d2, double phi[3]) {
    double width = d2 - d1;
    double t = fmin(fmax((L - d1) / width, 0.0), 1.0);
    phi[0] = t * t * t * (10.0 + t * (6.0 * t - 15.0));
    phi[1] = 30.0 * t * t * (1.0 - t) * (1.0 - t) / width;
    phi[2] = 60.0 * t * (1.0 - t) * (1.0 - 2.0 * t) / (width * width);
}
