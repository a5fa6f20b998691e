// SPDX-License-Identifier: MIT
//
// The patch of a body with a fixed surface, in a plane. The normals of contacts i and j differ by
// their lever arms r about the centre of mass (I the moment of inertia) alone, so that
//
//   A_ii - 2 A_ij + A_jj = (r_i - r_j)^2 / I
//
// tells which contacts lie at one place, whatever the body, and A_it = -+ r_i h / I (h the height
// of the centre) which end comes first. A point has one place; a line has two, its ends: what lies
// between them follows. Reduced rows are means, of all tangents (0) and of the normals at each end
// (1, 2), and A, c those of the rows: friction of a line acts at its middle.
//
// Inputs of the nets, free of units, so that a slow slide is not a small number beside an impact:
//
//   s = sum |c_i|,  N = sum of ends |c_i| + 0.02 s,  a = mean of A over the ends
//   c_0/s;  c_i/s and c_i/N of each end;  A_0i/a;  A_ii/a (a line's);  A_00/a;  log(0.01 + s);
//   h, what would bring the patch to rest (contact/ground.c)
//
// The lever arm of experiments on this law is in A: it acts through nothing else. Impulses count in
// closing/a, closing = the mean of max(0, -c_i) over the ends, which has no kink where both close
// alike, as those of a body that lies flat. Kinks at c_i = 0: derivatives are those of the sign
// that the forward pass met.

#include "contact/ground.h"

#include "base/base.h"
#include "base/math/dense_factor.h"
#include "contact/pair.h"
#include "model/ground_nets.h"

#include <math.h>
#include <string.h>

// m: nearer is one place, narrower is a line
static const double same_corner = 1e-6;

// distances that differ by less of themselves are equal
static const double same_size = 1e-6;

/// A corner of the patch.
typedef struct corner {
    double x[2];
    int contact; // one of those that are there
} corner;

enum { MOST_STILL = CRI_GROUND_LEAD };

// normal speeds are told apart down to this space_part of all, as slow as they are in training
static const double space_part = 1e-4;

// speeds below it are slow, m/s
static const double slow = 0.01;

enum { LEAD = CRI_GROUND_LEAD };

/// What inputs are made of, or its adjoint or tangent.
typedef struct seen {
    double B[LEAD * LEAD]; // (k, k)
    double y[LEAD];        // y_0 = |c_t|, y_1 = 0
    double s, N, a, closing;
} seen;

// distances below 1e-5 of sqrt(I A_ii), some micrometres, are one place
static const double same_place = 1e-10;

// a tangent across the plane responds to nothing
static const double no_response = 1e-9;

// normal speeds are told apart down to this part of all
static const double part = 0.02;

enum { MOST = CRI_GROUND_ROWS };

/// What inputs are quotients of.
typedef struct sums {
    double s, N, a, closing;
} sums;

// ---- ellipses -----------------------------------------------------------------------------------

// Friction that differs along the two tangents: maximum dissipation in an ellipse. N = diag(mu1,
// mu2), u_t the slip,
//
//   f_t = -f_n N^2 u_t / |N u_t|
//
// With m = max(mu1, mu2), S = N/m and g the impulse in the cone of width m,
//
//   f_t = S g_t,   g_t = -m f_n (S u_t) / |S u_t|
//
// So a law that knows one coefficient serves: the tangential rows of the contact Jacobian are
// multiplied by S before A and b are formed. A frictionless direction has an empty row. For mu1 =
// mu2 = 0 the rows stay as they are, S = 1.
//
// Only m S counts: f is the same for (c m, S/c). So at mu1 = mu2, where the maximum has a kink,
//
//   m m_adj = s1 s1_adj + s2 s2_adj,   mu_r_adj = s_r_adj / m whichever is called the larger
//
// and there is none in f; but a law that adds to the diagonal of A notices. At mu1 = mu2 = 0 the
// derivative returned is that of both together, half to each.

cri_ellipse cri_ellipse_of(double mu1, double mu2) {
    CR_ASSERT(mu1 >= 0.0 && mu2 >= 0.0);
    if (mu1 == 0.0 && mu2 == 0.0) {
        return (cri_ellipse){0.0, {1.0, 1.0, 1.0}, -1};
    }
    return mu1 >= mu2 ? (cri_ellipse){mu1, {1.0, 1.0, mu2 / mu1}, 0}
                      : (cri_ellipse){mu2, {1.0, mu1 / mu2, 1.0}, 1};
}

void cri_ellipse_of_vjp(const cri_ellipse *e, const cri_ellipse *adj, double *mu1_adj,
                        double *mu2_adj) {
    CR_ASSERT(e && adj && mu1_adj && mu2_adj);
    if (e->larger < 0) {
        *mu1_adj += 0.5 * adj->size;
        *mu2_adj += 0.5 * adj->size;
        return;
    }
    // size = larger mu, scale = smaller mu / size
    int smaller = 1 - e->larger;
    double scale_adj = adj->scale[1 + smaller] / e->size;
    double size_adj = adj->size - scale_adj * e->scale[1 + smaller];
    *mu1_adj += e->larger == 0 ? size_adj : scale_adj;
    *mu2_adj += e->larger == 0 ? scale_adj : size_adj;
}

cri_ellipse cri_ellipse_of_jvp(const cri_ellipse *e, double mu1_tan, double mu2_tan) {
    CR_ASSERT(e);
    if (e->larger < 0) {
        return (cri_ellipse){.size = 0.5 * (mu1_tan + mu2_tan)};
    }
    cri_ellipse tan = {.size = e->larger == 0 ? mu1_tan : mu2_tan};
    int smaller = 1 - e->larger;
    double mu_tan = e->larger == 0 ? mu2_tan : mu1_tan;
    tan.scale[1 + smaller] = (mu_tan - e->scale[1 + smaller] * tan.size) / e->size;
    return tan;
}

// ---- limit axis ---------------------------------------------------------------------------------

// The axis about which a ball joint has turned, u, and its angle phi:
//
//   phi_tan = u . theta,   u_tan = 1/2 (cot(phi/2) (theta - u (u.theta)) + u x theta)

cri_vec3 cri_limit_axis(const cri_limit *l, const double *q, double *angle) {
    CR_ASSERT(l->ball >= 0 && l->n == 3);
    cri_quat r = cri_q4_load(q + l->ball);
    double sign = r.w < 0.0 ? -1.0 : 1.0;
    cri_vec3 im = cri_v3_scale(sign, cri_v3(r.x, r.y, r.z));
    double sine = cri_v3_norm(im);
    *angle = 2.0 * atan2(sine, sign * r.w);
    return sine > 0.0 ? cri_v3_scale(1.0 / sine, im) : im;
}

cri_vec3 cri_limit_axis_vjp(const cri_limit *l, const double *q, cri_vec3 axis_adj) {
    CR_ASSERT(l->ball >= 0);
    double angle;
    cri_vec3 u = cri_limit_axis(l, q, &angle);
    if (!(angle > 0.0)) {
        return cri_v3(0.0, 0.0, 0.0);
    }
    // u_tan = 1/2 (cot(phi/2) (theta - u (u.theta)) + u x theta)
    cri_vec3 across = cri_v3_mad(axis_adj, -cri_v3_dot(u, axis_adj), u);
    cri_vec3 sum =
        cri_v3_add(cri_v3_scale(1.0 / tan(0.5 * angle), across), cri_v3_cross(axis_adj, u));
    return cri_v3_scale(0.5, sum);
}

cri_vec3 cri_limit_axis_jvp(const cri_limit *l, const double *q, cri_vec3 theta) {
    CR_ASSERT(l->ball >= 0);
    double angle;
    cri_vec3 u = cri_limit_axis(l, q, &angle);
    if (!(angle > 0.0)) {
        return cri_v3(0.0, 0.0, 0.0);
    }
    cri_vec3 across = cri_v3_mad(theta, -cri_v3_dot(u, theta), u);
    cri_vec3 sum = cri_v3_add(cri_v3_scale(1.0 / tan(0.5 * angle), across), cri_v3_cross(u, theta));
    return cri_v3_scale(0.5, sum);
}

// ---- corners ------------------------------------------------------------------------------------

// The patch of a body with a fixed surface, in space. Contacts have places x in the plane of their
// tangents; the ends of the patch are the corners of their hull, one, two or more. Rows:
//
//   0, 1     the tangents, means over the ends
//   2        the twist, of lines and surfaces: half the difference of one tangent at two ends
//   3..      the normals of ends (2.. of a point)
//
// The velocities of two ends differ by omega x (x_b - x_a), so that the difference along tangent k
// is the spin about the normal times an arm; k is the one with the longer arm, the sign that of the
// spin. Coefficients of all rows are constants: places choose, they are in no number, and what
// varies with the pose does so through A and c.
//
// Of a surface nets see three ends, which come first: the rearmost along the slip, the one farthest
// from it, and the farthest from the line between, again the rearmost of those that are equally
// far; the others follow. What nets see of them: contact/ground.c.

static double cross(const double *o, const double *a, const double *b) {
    return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
}

static double distance(const double *a, const double *b) {
    return hypot(b[0] - a[0], b[1] - a[1]);
}

static bool is_before(const corner *a, const corner *b) {
    return a->x[0] < b->x[0] || (a->x[0] == b->x[0] && a->x[1] < b->x[1]);
}

// places without repetition, by their first coordinate
static int sort_places(const cri_contact_problem *p, corner *out) {
    int n = 0;
    for (int i = 0; i < p->n; i++) {
        corner own = {{p->place[2 * i], p->place[2 * i + 1]}, i};
        bool is_new = true;
        for (int j = 0; j < n; j++) {
            is_new = is_new && distance(own.x, out[j].x) > same_corner;
        }
        int at = is_new ? n++ : -1;
        for (; at > 0 && is_before(&own, &out[at - 1]); at--) {
            out[at] = out[at - 1];
        }
        if (at >= 0) {
            out[at] = own;
        }
    }
    return n;
}

// does b lie on the line from a to c, or inside?
static bool is_idle(const corner *a, const corner *b, const corner *c) {
    return cross(a->x, b->x, c->x) <= same_corner * distance(a->x, c->x);
}

// corners of the hull (room for n + 1 of them), counter-clockwise
static int find_hull(int n, const corner *sorted, corner *hull) {
    int n_hull = 0, least = 1;
    for (int i = 0; i < n; i++) {
        while (n_hull > least && is_idle(&hull[n_hull - 2], &hull[n_hull - 1], &sorted[i])) {
            n_hull--;
        }
        hull[n_hull++] = sorted[i];
    }
    least = n_hull;
    for (int i = n - 2; i >= 0; i--) {
        while (n_hull > least && is_idle(&hull[n_hull - 2], &hull[n_hull - 1], &sorted[i])) {
            n_hull--;
        }
        hull[n_hull++] = sorted[i];
    }
    return n > 1 ? n_hull - 1 : n;
}

// moves corner from to place to
static void bring(corner *hull, int from, int to) {
    corner own = hull[from];
    hull[from] = hull[to];
    hull[to] = own;
}

// how far a corner is along the slip
static double ahead(const corner *own, const double *slip) {
    return own->x[0] * slip[0] + own->x[1] * slip[1];
}

// the ends that nets see come first
static void order(int n, const double *slip, corner *hull) {
    int best = 0;
    for (int i = 1; i < n; i++) {
        best = ahead(&hull[i], slip) < ahead(&hull[best], slip) ? i : best;
    }
    bring(hull, best, 0);
    best = 1;
    for (int i = 2; i < n; i++) {
        double own = distance(hull[0].x, hull[i].x), most = distance(hull[0].x, hull[best].x);
        best = own > (1.0 + same_size) * most ? i : best;
    }
    if (n > 1) {
        bring(hull, best, 1);
    }
    best = 2;
    for (int i = 3; i < n; i++) {
        double own = fabs(cross(hull[0].x, hull[1].x, hull[i].x));
        double most = fabs(cross(hull[0].x, hull[1].x, hull[best].x));
        bool is_rear = ahead(&hull[i], slip) < ahead(&hull[best], slip);
        best = own > (1.0 + same_size) * most || (is_rear && own >= (1.0 - same_size) * most)
                   ? i
                   : best;
    }
    if (n > 3) {
        bring(hull, best, 2);
    }
}

// adds part times the mean of row r over the contacts at a corner
static void add_mean(const cri_contact_problem *p, const corner *at, int r, double weight,
                     double *row) {
    int n = 0;
    for (int i = 0; i < p->n; i++) {
        n += distance(p->place + 2 * i, at->x) <= same_corner;
    }
    for (int i = 0; i < p->n; i++) {
        bool is_there = distance(p->place + 2 * i, at->x) <= same_corner;
        row[3 * i + r] += is_there ? weight / n : 0.0;
    }
}

static void fill_twist(const cri_contact_problem *p, const corner *a, const corner *b,
                       double *row) {
    double x = b->x[0] - a->x[0], y = b->x[1] - a->x[1];
    int r = fabs(y) > fabs(x) ? 1 : 2;
    double sign = r == 1 ? (y < 0.0 ? 1.0 : -1.0) : (x < 0.0 ? -1.0 : 1.0);
    add_mean(p, b, r, 0.5 * sign, row);
    add_mean(p, a, r, -0.5 * sign, row);
}

static double entry(const cri_contact_problem *p, int row, int column) {
    return p->A[(size_t)row * 3 * (size_t)p->n + (size_t)column];
}

/// A = R A R' and c = R (b - what is to be reached), of R.
static void ground_fill(const cri_contact_problem *p, cri_ground *patch) {
    int m = 3 * p->n;
    for (int i = 0; i < patch->n_row; i++) {
        const double *left = patch->R + (size_t)i * (size_t)m;
        double sum[MOST] = {0.0}, c = 0.0;
        for (int k = 0; k < m; k++) {
            double goal = k % 3 == 0 ? p->target[k / 3] : (p->drift ? p->drift[k] : 0.0);
            c += left[k] * (p->b[k] - goal);
            for (int j = 0; left[k] != 0.0 && j <= i; j++) {
                const double *right = patch->R + (size_t)j * (size_t)m;
                for (int l = 0; l < m; l++) {
                    sum[j] += left[k] * right[l] * entry(p, k, l);
                }
            }
        }
        patch->c[i] = c;
        for (int j = 0; j <= i; j++) {
            patch->A[i * patch->n_row + j] = patch->A[j * patch->n_row + i] = sum[j];
        }
    }
}

/// The same for problems in space; false for a surface of more than CRI_GROUND_ENDS corners.
static bool ground_reduce_space(const cri_contact_problem *p, cri_ground *patch, cr_arena *keep) {
    int m = 3 * p->n;
    *patch = (cri_ground){.kind = CRI_GROUND_SPACE_POINT, .n = p->n, .n_tangent = 2, .n_row = 3};
    corner *sorted = CR_PUSH(keep, corner, p->n), *hull = CR_PUSH(keep, corner, 2 * p->n + 1);
    int n_end = find_hull(sort_places(p, sorted), sorted, hull);
    patch->R = CR_PUSH(keep, double, CRI_GROUND_ROWS *m);
    if (n_end > CRI_GROUND_ENDS) {
        return false;
    }
    double slip[2] = {0.0, 0.0};
    for (int r = 0; r < 2; r++) {
        double *row = patch->R + (size_t)r * (size_t)m;
        for (int i = 0; i < n_end; i++) {
            add_mean(p, &hull[i], r + 1, 1.0 / n_end, row);
        }
        for (int k = 0; k < m; k++) {
            slip[r] += row[k] * (p->b[k] - (p->drift ? p->drift[k] : 0.0));
        }
    }
    order(n_end, slip, hull);
    if (n_end > 1) {
        patch->kind = n_end > 2 ? CRI_GROUND_SPACE_SURFACE : CRI_GROUND_SPACE_LINE;
        patch->n_tangent = 3;
        fill_twist(p, &hull[0], &hull[1], patch->R + 2 * (size_t)m);
    }
    patch->n_row = patch->n_tangent + n_end;
    for (int i = 0; i < n_end; i++) {
        add_mean(p, &hull[i], 0, 1.0, patch->R + (size_t)(patch->n_tangent + i) * (size_t)m);
    }
    ground_fill(p, patch);
    return true;
}

// ---- what lies still ----------------------------------------------------------------------------

// What would bring a patch to rest, as inputs of the nets: with B and y the inverse masses and
// velocities of its rows in the frame of the nets,
//
//   (B + B')/2 x = -y,   S = |x|,   h = x/S
//
// Friction that holds is a cone in x, with the normals of two ends x_1, x_2 >= 0 and |x_0| <= mu
// (x_1 + x_2) whatever the body and the face that it lies on: borders of the classes that are flat
// here are curved, and others for each face, in B and y. B that cannot be factored, of ends that
// are one place, has h = 0 and no derivative.

cri_ground_still cri_ground_still_of(int k, const double *B, const double *y) {
    CR_ASSERT(k >= 1 && k <= MOST_STILL && B && y);
    cri_ground_still out = {.k = k};
    for (int i = 0; i < k * k; i++) {
        out.factor[i] = 0.5 * (B[i] + B[i % k * k + i / k]);
    }
    if (!cri_cholesky_factor(k, out.factor)) {
        return out;
    }
    for (int i = 0; i < k; i++) {
        out.x[i] = -y[i];
    }
    cri_cholesky_solve(k, out.factor, out.x);
    for (int i = 0; i < k; i++) {
        out.size += out.x[i] * out.x[i];
    }
    out.size = sqrt(out.size);
    for (int i = 0; i < k && out.size > 0.0; i++) {
        out.h[i] = out.x[i] / out.size;
    }
    return out;
}

void cri_ground_still_vjp(const cri_ground_still *still, const double *h_adj, double *B_adj,
                          double *y_adj) {
    int k = still->k;
    double along = 0.0, x_adj[MOST_STILL] = {0.0};
    if (!(still->size > 0.0)) {
        return;
    }

    // h = x/S,  S = |x|
    for (int i = 0; i < k; i++) {
        along += h_adj[i] * still->h[i];
    }
    for (int i = 0; i < k; i++) {
        x_adj[i] = (h_adj[i] - still->h[i] * along) / still->size;
    }

    // B x = -y
    cri_cholesky_solve(k, still->factor, x_adj);
    for (int i = 0; i < k; i++) {
        y_adj[i] -= x_adj[i];
        for (int j = 0; j < k; j++) {
            B_adj[i * k + j] -= 0.5 * (x_adj[i] * still->x[j] + x_adj[j] * still->x[i]);
        }
    }
}

void cri_ground_still_jvp(const cri_ground_still *still, const double *B_tan, const double *y_tan,
                          double *h_tan) {
    int k = still->k;
    double x_tan[MOST_STILL] = {0.0}, size_tan = 0.0;
    memset(h_tan, 0, sizeof *h_tan * (size_t)k);
    if (!(still->size > 0.0)) {
        return;
    }
    for (int i = 0; i < k; i++) {
        x_tan[i] = -y_tan[i];
        for (int j = 0; j < k; j++) {
            x_tan[i] -= 0.5 * (B_tan[i * k + j] + B_tan[j * k + i]) * still->x[j];
        }
    }
    cri_cholesky_solve(k, still->factor, x_tan);
    for (int i = 0; i < k; i++) {
        size_tan += still->h[i] * x_tan[i];
    }
    for (int i = 0; i < k; i++) {
        h_tan[i] = (x_tan[i] - still->h[i] * size_tan) / still->size;
    }
}

// ---- in space -----------------------------------------------------------------------------------

// What nets see of the patch of a body with a fixed surface, in space: two tangents, the twist of
// lines and surfaces, and the normals of ends (contact/ground.c).
//
// They see it along its slip, so that they need not learn that friction has no direction of
// its own: with (cos, sin) = (c_0, c_1)/|c_t|, a the mean of A over the ends, and d = sqrt(a/A_22),
//
//   T = [cos sin; -m sin, m cos] on the tangents, m d on the twist, 1 on normals
//   B = T A T',   y = T c
//   s = sum |y_i|,   N = sum over ends |y_i| + 0.0001 s
//   y_i/s but y_1, which is zero;  y_i/N of ends;  B_ij/a but B_22 = a and, of a point, B_nn = a;
//   log(0.01 + s);  h, what would bring these rows to rest (contact/ground.c)
//
// m = +-1 mirrors, so that the twist is not negative (of a point, B_1n). They say impulses h in the
// same frame, g = T' h, counted in closing/a, closing = the mean of max(0, -c_i) over all ends: no
// kink where these close alike, as those of a body that lies flat. Of a surface they see the first
// three ends. Where nothing slips the frame is that of the tangents, and its derivative is taken to
// be zero.

// ---- the frame of the slip ---------------------------------------------------------------------

// mean of A over the ends that nets see
static double mean_of(const cri_ground *patch, const double *A) {
    int k = patch->n_row, first = patch->n_tangent, last = cri_ground_rows(patch->kind);
    double sum = 0.0;
    for (int i = first; i < last; i++) {
        for (int j = first; j < last; j++) {
            sum += A[i * k + j];
        }
    }
    return sum / ((last - first) * (last - first));
}

static void add_mean_adj(const cri_ground *patch, double mean_adj, double *A_adj) {
    int k = patch->n_row, first = patch->n_tangent, last = cri_ground_rows(patch->kind);
    for (int i = first; i < last; i++) {
        for (int j = first; j < last; j++) {
            A_adj[i * k + j] += mean_adj / ((last - first) * (last - first));
        }
    }
}

cri_ground_turn cri_ground_turn_of(const cri_ground *patch) {
    cri_ground_turn turn = {1.0, 0.0, 1.0, 1.0};
    int k = patch->n_row;
    if (patch->n_tangent < 2) {
        return turn;
    }
    double r = hypot(patch->c[0], patch->c[1]);
    if (r > 0.0) {
        turn.cosine = patch->c[0] / r;
        turn.sine = patch->c[1] / r;
    }
    if (patch->n_tangent > 2) {
        turn.side = patch->c[2] < 0.0 ? -1.0 : 1.0;
        turn.twist = turn.side * sqrt(mean_of(patch, patch->A) / patch->A[2 * (k + 1)]);
    } else {
        bool is_right = turn.cosine * patch->A[k + 2] < turn.sine * patch->A[2];
        turn.side = is_right ? -1.0 : 1.0;
    }
    return turn;
}

void cri_ground_turn_of_vjp(const cri_ground *patch, const cri_ground_turn *adj, double *A_adj,
                            double *c_adj) {
    if (patch->n_tangent < 2) {
        return;
    }
    cri_ground_turn turn = cri_ground_turn_of(patch);
    double r = hypot(patch->c[0], patch->c[1]);
    // cos, sin of the angle of (c_0, c_1)
    double angle_adj = turn.cosine * adj->sine - turn.sine * adj->cosine;
    if (r > 0.0) {
        c_adj[0] -= angle_adj * turn.sine / r;
        c_adj[1] += angle_adj * turn.cosine / r;
    }
    // twist = sqrt(a/A_22)
    if (patch->n_tangent > 2) {
        double a = mean_of(patch, patch->A), half = 0.5 * adj->twist * turn.twist;
        A_adj[2 * (patch->n_row + 1)] -= half / patch->A[2 * (patch->n_row + 1)];
        add_mean_adj(patch, half / a, A_adj);
    }
}

cri_ground_turn cri_ground_turn_of_jvp(const cri_ground *patch, const double *A_tan,
                                       const double *c_tan) {
    cri_ground_turn tan = {0.0, 0.0, 0.0, 0.0};
    if (patch->n_tangent < 2) {
        return tan;
    }
    cri_ground_turn turn = cri_ground_turn_of(patch);
    tan.side = turn.side;
    double r = hypot(patch->c[0], patch->c[1]);
    double angle_tan = r > 0.0 ? (turn.cosine * c_tan[1] - turn.sine * c_tan[0]) / r : 0.0;
    tan.cosine = -turn.sine * angle_tan;
    tan.sine = turn.cosine * angle_tan;
    if (patch->n_tangent > 2) {
        int at = 2 * (patch->n_row + 1);
        double a = mean_of(patch, patch->A);
        tan.twist = 0.5 * turn.twist * (mean_of(patch, A_tan) / a - A_tan[at] / patch->A[at]);
    }
    return tan;
}

void cri_ground_turn_back(const cri_ground *patch, const cri_ground_turn *turn, double *g) {
    if (patch->n_tangent < 2) {
        return;
    }
    double along = g[0], across = turn->side * g[1];
    g[0] = turn->cosine * along - turn->sine * across;
    g[1] = turn->sine * along + turn->cosine * across;
    g[2] *= patch->n_tangent > 2 ? turn->twist : 1.0;
}

// ---- inputs ------------------------------------------------------------------------------------

// T (k, k)
static void matrix_of(const cri_ground_turn *turn, int n_tangent, int k, double one, double *T) {
    memset(T, 0, sizeof *T * (size_t)(k * k));
    for (int i = n_tangent; i < k; i++) {
        T[i * (k + 1)] = one;
    }
    T[0] = turn->cosine;
    T[1] = turn->sine;
    T[k] = -turn->side * turn->sine;
    T[k + 1] = turn->side * turn->cosine;
    if (n_tangent > 2) {
        T[2 * (k + 1)] = turn->twist;
    }
}

// out (k, k) += X M Y' with M's rows n apart
static void add_product(int k, const double *X, int n, const double *M, const double *Y,
                        double *out) {
    double XM[LEAD * LEAD] = {0.0};
    CR_ASSERT(k <= LEAD);
    for (int i = 0; i < k * k; i++) {
        for (int l = 0; l < k; l++) {
            XM[i] += X[i / k * k + l] * M[l * n + i % k];
        }
    }
    for (int i = 0; i < k * k; i++) {
        for (int l = 0; l < k; l++) {
            out[i] += XM[i / k * k + l] * Y[i % k * k + l];
        }
    }
}

// mean of max(0, -c_i) over all ends, along c_tan: c itself, or its tangent
static double closing_of(const cri_ground *patch, const double *c_tan) {
    double sum = 0.0;
    for (int i = patch->n_tangent; i < patch->n_row; i++) {
        sum -= patch->c[i] < 0.0 ? c_tan[i] : 0.0;
    }
    return sum / (patch->n_row - patch->n_tangent);
}

static void add_closing_adj(const cri_ground *patch, double closing_adj, double *c_adj) {
    for (int i = patch->n_tangent; i < patch->n_row; i++) {
        c_adj[i] -= patch->c[i] < 0.0 ? closing_adj / (patch->n_row - patch->n_tangent) : 0.0;
    }
}

static seen look(const cri_ground *patch) {
    int k = cri_ground_rows(patch->kind), first = patch->n_tangent;
    cri_ground_turn turn = cri_ground_turn_of(patch);
    double T[LEAD * LEAD] = {0}, ends = 0.0;
    matrix_of(&turn, first, k, 1.0, T);
    seen at = {.a = mean_of(patch, patch->A)};
    add_product(k, T, patch->n_row, patch->A, T, at.B);
    at.y[0] = hypot(patch->c[0], patch->c[1]);
    if (first > 2) {
        at.y[2] = turn.twist * patch->c[2];
    }
    at.s = at.y[0] + fabs(at.y[2]) * (first > 2 ? 1.0 : 0.0);
    for (int i = first; i < k; i++) {
        at.y[i] = patch->c[i];
        ends += fabs(at.y[i]);
    }
    at.s += ends;
    at.N = ends + space_part * at.s;
    at.closing = closing_of(patch, patch->c);
    return at;
}

static double sign_of(double x) {
    return x < 0.0 ? -1.0 : 1.0;
}

// is B_ij an input?
static bool is_input(const cri_ground *patch, int i, int j) {
    bool is_twist = i == 2 && j == 2 && patch->n_tangent > 2;
    bool is_mean = i == 2 && j == 2 && patch->kind == CRI_GROUND_SPACE_POINT;
    return j >= i && !is_twist && !is_mean;
}

double cri_ground_space_input(const cri_ground *patch, double input[CRI_GROUND_INPUTS]) {
    int k = cri_ground_rows(patch->kind), at = 0;
    seen is = look(patch);
    CR_ASSERT(is.s > 0.0 && is.a > 0.0);
    for (int i = 0; i < k; i++) {
        if (i != 1) {
            input[at++] = is.y[i] / is.s;
        }
    }
    for (int i = patch->n_tangent; i < k; i++) {
        input[at++] = is.y[i] / is.N;
    }
    for (int i = 0; i < k * k; i++) {
        if (is_input(patch, i / k, i % k)) {
            input[at++] = is.B[i] / is.a;
        }
    }
    input[at++] = log(slow + is.s);
    cri_ground_still still = cri_ground_still_of(k, is.B, is.y);
    memcpy(input + at, still.h, sizeof *input * (size_t)k);
    CR_ASSERT(at + k == cri_ground_inputs(patch->kind));
    return is.closing / is.a;
}

// adjoints of B, y and a to A and c
static void look_back(const cri_ground *patch, const seen *is, const seen *adj, double *A_adj,
                      double *c_adj) {
    int k = cri_ground_rows(patch->kind), n = patch->n_row, first = patch->n_tangent;
    cri_ground_turn turn = cri_ground_turn_of(patch), turn_adj = {0.0, 0.0, 0.0, 0.0};
    double T[LEAD * LEAD] = {0}, both[LEAD * LEAD] = {0}, T_adj[LEAD * LEAD] = {0};
    matrix_of(&turn, first, k, 1.0, T);
    // B = T A T':  T_adj = (B_adj + B_adj') T A,  A_adj = T' B_adj T
    double eye[LEAD * LEAD] = {0}, turned[LEAD * LEAD] = {0}, Tt[LEAD * LEAD] = {0};
    for (int i = 0; i < k; i++) {
        eye[i * (k + 1)] = 1.0;
    }
    for (int i = 0; i < k * k; i++) {
        both[i] = adj->B[i] + adj->B[i % k * k + i / k];
        Tt[i] = T[i % k * k + i / k];
    }
    double TA[LEAD * LEAD] = {0};
    add_product(k, T, n, patch->A, eye, TA);
    add_product(k, both, k, TA, eye, T_adj);
    add_product(k, Tt, k, adj->B, Tt, turned);
    for (int i = 0; i < k * k; i++) {
        A_adj[i / k * n + i % k] += turned[i];
    }
    turn_adj.cosine = T_adj[0] + turn.side * T_adj[k + 1];
    turn_adj.sine = T_adj[1] - turn.side * T_adj[k];
    // y_0 = |c_t|,  y_2 = twist c_2
    c_adj[0] += is->y[0] > 0.0 ? turn.cosine * adj->y[0] : 0.0;
    c_adj[1] += is->y[0] > 0.0 ? turn.sine * adj->y[0] : 0.0;
    if (first > 2) {
        c_adj[2] += turn.twist * adj->y[2];
        turn_adj.twist = T_adj[2 * (k + 1)] + adj->y[2] * patch->c[2];
    }
    for (int i = first; i < k; i++) {
        c_adj[i] += adj->y[i];
    }
    add_mean_adj(patch, adj->a, A_adj);
    cri_ground_turn_of_vjp(patch, &turn_adj, A_adj, c_adj);
    add_closing_adj(patch, adj->closing, c_adj);
}

void cri_ground_space_input_vjp(const cri_ground *patch, const double *input_adj, double scale_adj,
                                double *A_adj, double *c_adj) {
    int k = cri_ground_rows(patch->kind), at = cri_ground_inputs(patch->kind) - 1 - k;
    seen is = look(patch), adj = {.closing = scale_adj / is.a};

    // h
    cri_ground_still still = cri_ground_still_of(k, is.B, is.y);
    cri_ground_still_vjp(&still, input_adj + at + 1, adj.B, adj.y);

    // scale = closing/a
    adj.a = -scale_adj * is.closing / (is.a * is.a);

    // log(0.01 + s)
    adj.s = input_adj[at--] / (slow + is.s);

    // B_ij/a
    for (int i = k * k - 1; i >= 0; i--) {
        if (is_input(patch, i / k, i % k)) {
            adj.B[i] += input_adj[at] / is.a;
            adj.a -= input_adj[at--] * is.B[i] / (is.a * is.a);
        }
    }

    // y_i/N of ends
    for (int i = k - 1; i >= patch->n_tangent; i--, at--) {
        adj.y[i] += input_adj[at] / is.N;
        adj.N -= input_adj[at] * is.y[i] / (is.N * is.N);
    }

    // y_i/s
    for (int i = k - 1; i >= 0; i--) {
        if (i != 1) {
            adj.y[i] += input_adj[at] / is.s;
            adj.s -= input_adj[at--] * is.y[i] / (is.s * is.s);
        }
    }

    // N = sum over ends |y_i| + space_part s,  s = sum |y_i|
    adj.s += space_part * adj.N;
    for (int i = 0; i < k; i++) {
        double own = adj.s + (i >= patch->n_tangent ? adj.N : 0.0);
        adj.y[i] += i == 1 ? 0.0 : own * sign_of(is.y[i]);
    }
    look_back(patch, &is, &adj, A_adj, c_adj);
}

static seen look_moving(const cri_ground *patch, const seen *is, const double *A_tan,
                        const double *c_tan) {
    int k = cri_ground_rows(patch->kind), n = patch->n_row, first = patch->n_tangent;
    cri_ground_turn turn = cri_ground_turn_of(patch);
    cri_ground_turn turn_tan = cri_ground_turn_of_jvp(patch, A_tan, c_tan);
    double T[LEAD * LEAD] = {0}, T_tan[LEAD * LEAD] = {0}, ends = 0.0;
    matrix_of(&turn, first, k, 1.0, T);
    matrix_of(&turn_tan, first, k, 0.0, T_tan);
    seen tan = {.a = mean_of(patch, A_tan)};
    add_product(k, T, n, A_tan, T, tan.B);
    add_product(k, T_tan, n, patch->A, T, tan.B);
    add_product(k, T, n, patch->A, T_tan, tan.B);
    tan.y[0] = is->y[0] > 0.0 ? turn.cosine * c_tan[0] + turn.sine * c_tan[1] : 0.0;
    tan.s = tan.y[0];
    if (first > 2) {
        tan.y[2] = turn.twist * c_tan[2] + turn_tan.twist * patch->c[2];
        tan.s += sign_of(is->y[2]) * tan.y[2];
    }
    for (int i = first; i < k; i++) {
        tan.y[i] = c_tan[i];
        ends += sign_of(is->y[i]) * c_tan[i];
    }
    tan.s += ends;
    tan.N = ends + space_part * tan.s;
    tan.closing = closing_of(patch, c_tan);
    return tan;
}

double cri_ground_space_input_jvp(const cri_ground *patch, const double *A_tan, const double *c_tan,
                                  double input_tan[CRI_GROUND_INPUTS]) {
    int k = cri_ground_rows(patch->kind), at = 0;
    seen is = look(patch), tan = look_moving(patch, &is, A_tan, c_tan);
    for (int i = 0; i < k; i++) {
        if (i != 1) {
            input_tan[at++] = (tan.y[i] - is.y[i] / is.s * tan.s) / is.s;
        }
    }
    for (int i = patch->n_tangent; i < k; i++) {
        input_tan[at++] = (tan.y[i] - is.y[i] / is.N * tan.N) / is.N;
    }
    for (int i = 0; i < k * k; i++) {
        if (is_input(patch, i / k, i % k)) {
            input_tan[at++] = (tan.B[i] - is.B[i] / is.a * tan.a) / is.a;
        }
    }
    input_tan[at++] = tan.s / (slow + is.s);
    cri_ground_still still = cri_ground_still_of(k, is.B, is.y);
    cri_ground_still_jvp(&still, tan.B, tan.y, input_tan + at);
    return (tan.closing - is.closing / is.a * tan.a) / is.a;
}

// ---- in a plane ---------------------------------------------------------------------------------

// ---- reduction ---------------------------------------------------------------------------------

// squared distance of two contacts, over the moment of inertia
static double apart(const cri_contact_problem *p, int i, int j) {
    return entry(p, 3 * i, 3 * i) - 2.0 * entry(p, 3 * i, 3 * j) + entry(p, 3 * j, 3 * j);
}

static int farthest(const cri_contact_problem *p, int from) {
    int best = from;
    for (int i = 0; i < p->n; i++) {
        best = apart(p, i, from) > apart(p, best, from) ? i : best;
    }
    return best;
}

// the tangent along which things move, 1 or 2; 0: both
static int tangent_of(const cri_contact_problem *p) {
    double sum[3] = {0.0, 0.0, 0.0};
    for (int i = 0; i < p->n; i++) {
        for (int r = 0; r < 3; r++) {
            sum[r] += entry(p, 3 * i + r, 3 * i + r);
        }
    }
    int best = sum[2] > sum[1] ? 2 : 1;
    return sum[3 - best] <= no_response * sum[0] ? best : 0;
}

// a row of R: the mean of row r of the contacts at the place of contact at, or of all (at < 0)
static void fill_mean(const cri_contact_problem *p, int at, int r, double least, double *row) {
    int n = 0;
    for (int i = 0; i < p->n; i++) {
        n += at < 0 || apart(p, i, at) <= least;
    }
    for (int i = 0; i < p->n; i++) {
        bool is_there = at < 0 || apart(p, i, at) <= least;
        row[3 * i + r] = is_there ? 1.0 / n : 0.0;
    }
}

void cri_ground_take(const cri_ground *patch, const double *z, double *g) {
    for (int i = 0; i < patch->n_row; i++) {
        const double *row = patch->R + (size_t)i * 3 * (size_t)patch->n;
        g[i] = 0.0;
        for (int k = 0; k < 3 * patch->n; k++) {
            g[i] += row[k] * z[k];
        }
    }
}

void cri_ground_spread(const cri_ground *patch, const double *g, double *z) {
    memset(z, 0, sizeof *z * 3 * (size_t)patch->n);
    for (int i = 0; i < patch->n_row; i++) {
        const double *row = patch->R + (size_t)i * 3 * (size_t)patch->n;
        for (int k = 0; k < 3 * patch->n; k++) {
            z[k] += row[k] * g[i];
        }
    }
}

bool cri_ground_reduce(const cri_contact_problem *p, cri_ground *patch, cr_arena *keep) {
    CR_ASSERT(p->n > 0 && patch && keep);
    if (p->place) {
        return ground_reduce_space(p, patch, keep);
    }
    int tangent = tangent_of(p), m = 3 * p->n;
    int end[2] = {farthest(p, 0), 0};
    end[1] = farthest(p, end[0]);
    double least = same_place * entry(p, 3 * end[0], 3 * end[0]);
    bool is_line = apart(p, end[0], end[1]) > least;
    *patch = (cri_ground){
        .kind = is_line ? CRI_GROUND_LINE : CRI_GROUND_POINT, .n = p->n, .n_tangent = 1};
    patch->n_row = cri_ground_rows(patch->kind);
    patch->R = CR_PUSH(keep, double, patch->n_row *m);
    if (tangent == 0) {
        return false;
    }
    fill_mean(p, -1, tangent, 0.0, patch->R);
    for (int k = 0; k < (is_line ? 2 : 1); k++) {
        fill_mean(p, end[k], 0, least, patch->R + (size_t)(k + 1) * (size_t)m);
    }
    ground_fill(p, patch);
    if (is_line && patch->A[1] > patch->A[2]) {
        // the end with the smaller coupling comes first
        for (int k = 0; k < m; k++) {
            double keep_it = patch->R[m + k];
            patch->R[m + k] = patch->R[2 * m + k];
            patch->R[2 * m + k] = keep_it;
        }
        ground_fill(p, patch);
    }
    return true;
}

void cri_ground_reduce_vjp(const cri_contact_problem *p, const cri_ground *patch,
                           const double *A_adj, const double *c_adj, cri_contact_adj *adj,
                           cr_arena *scratch) {
    CR_ASSERT(p->n == patch->n && A_adj && c_adj);
    int m = 3 * p->n;
    // A = R A R': the adjoint is a sum of R_i' (A_adj,i R)
    adj->n_outer = patch->n_row;
    for (int i = 0; i < patch->n_row; i++) {
        adj->left[i] = CR_PUSH_RAW(scratch, double, m);
        adj->right[i] = CR_PUSH_RAW(scratch, double, m);
        memcpy(adj->left[i], patch->R + (size_t)i * (size_t)m, sizeof(double) * (size_t)m);
        cri_ground_spread(patch, A_adj + i * patch->n_row, adj->right[i]);
    }
    // c = R (b - goal)
    adj->b = CR_PUSH_RAW(scratch, double, m);
    adj->target = CR_PUSH_RAW(scratch, double, p->n);
    adj->drift = p->drift ? CR_PUSH(scratch, double, m) : NULL;
    cri_ground_spread(patch, c_adj, adj->b);
    for (int k = 0; k < m; k++) {
        if (k % 3 == 0) {
            adj->target[k / 3] = -adj->b[k];
        } else if (adj->drift) {
            adj->drift[k] = -adj->b[k];
        }
    }
}

void cri_ground_reduce_jvp(const cri_ground *patch, const cri_contact_tan *tan, double *A_tan,
                           double *c_tan, cr_arena *scratch) {
    int m = 3 * patch->n;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *z = CR_PUSH_RAW(scratch, double, m), column[MOST];
    for (int i = 0; i < patch->n_row; i++) {
        tan->apply_A(tan->context, patch->R + (size_t)i * (size_t)m, z);
        cri_ground_take(patch, z, column);
        for (int j = 0; j < patch->n_row; j++) {
            A_tan[j * patch->n_row + i] = column[j];
        }
    }
    for (int k = 0; k < m; k++) {
        z[k] = tan->b[k] - (k % 3 == 0 ? tan->target[k / 3] : (tan->drift ? tan->drift[k] : 0.0));
    }
    cri_ground_take(patch, z, c_tan);
    cri_arena_rewind(scratch, mark);
}

size_t cri_ground_bytes(int n) {
    return sizeof(double) * (3 * MOST + 4) * 3 * (size_t)n + 4096;
}

// ---- inputs ------------------------------------------------------------------------------------

static sums sums_of(const cri_ground *patch) {
    int k = patch->n_row, n_end = k - 1;
    sums of = {.closing = 0.0};
    double ends = 0.0;
    for (int i = 1; i < k; i++) {
        of.closing += patch->c[i] < 0.0 ? -patch->c[i] / n_end : 0.0;
        ends += fabs(patch->c[i]);
        for (int j = 1; j < k; j++) {
            of.a += patch->A[i * k + j] / (n_end * n_end);
        }
    }
    of.s = fabs(patch->c[0]) + ends;
    of.N = ends + part * of.s;
    return of;
}

double cri_ground_input(const cri_ground *patch, double input[CRI_GROUND_INPUTS]) {
    if (patch->kind >= CRI_GROUND_SPACE_POINT) {
        return cri_ground_space_input(patch, input);
    }
    int k = patch->n_row, at = 0;
    sums of = sums_of(patch);
    CR_ASSERT(of.s > 0.0 && of.a > 0.0);
    input[at++] = patch->c[0] / of.s;
    for (int i = 1; i < k; i++) {
        input[at++] = patch->c[i] / of.s;
    }
    for (int i = 1; i < k; i++) {
        input[at++] = patch->c[i] / of.N;
    }
    for (int i = 1; i < k; i++) {
        input[at++] = patch->A[i] / of.a;
    }
    for (int i = 1; i < k && k > 2; i++) {
        input[at++] = patch->A[i * (k + 1)] / of.a;
    }
    input[at++] = patch->A[0] / of.a;
    input[at++] = log(slow + of.s);
    cri_ground_still still = cri_ground_still_of(k, patch->A, patch->c);
    memcpy(input + at, still.h, sizeof *input * (size_t)k);
    CR_ASSERT(at + k == cri_ground_inputs(patch->kind));
    return of.closing / of.a;
}

void cri_ground_applied(const cri_ground *patch, const double *applied, double *input) {
    sums of = sums_of(patch);
    cri_ground_take(patch, applied, input);
    for (int i = 0; i < patch->n_row; i++) {
        input[i] /= of.s;
    }
}

void cri_ground_input_vjp(const cri_ground *patch, const double *input_adj, double scale_adj,
                          double *A_adj, double *c_adj) {
    if (patch->kind >= CRI_GROUND_SPACE_POINT) {
        cri_ground_space_input_vjp(patch, input_adj, scale_adj, A_adj, c_adj);
        return;
    }
    int k = patch->n_row, n_end = k - 1, at = cri_ground_inputs(patch->kind) - k - 1;
    sums of = sums_of(patch), adj = {.closing = scale_adj / of.a};

    // h
    cri_ground_still still = cri_ground_still_of(k, patch->A, patch->c);
    cri_ground_still_vjp(&still, input_adj + at + 1, A_adj, c_adj);

    // scale = closing/a
    adj.a = -scale_adj * of.closing / (of.a * of.a);

    // log(0.01 + s), A_00/a
    adj.s = input_adj[at--] / (slow + of.s);
    A_adj[0] += input_adj[at] / of.a;
    adj.a -= input_adj[at--] * patch->A[0] / (of.a * of.a);

    // A_ii/a
    for (int i = k - 1; i > 0 && k > 2; i--, at--) {
        A_adj[i * (k + 1)] += input_adj[at] / of.a;
        adj.a -= input_adj[at] * patch->A[i * (k + 1)] / (of.a * of.a);
    }

    // A_0i/a
    for (int i = k - 1; i > 0; i--, at--) {
        A_adj[i] += input_adj[at] / of.a;
        adj.a -= input_adj[at] * patch->A[i] / (of.a * of.a);
    }

    // c_i/N
    for (int i = k - 1; i > 0; i--, at--) {
        c_adj[i] += input_adj[at] / of.N;
        adj.N -= input_adj[at] * patch->c[i] / (of.N * of.N);
    }

    // c_i/s, of the tangent too
    for (int i = k - 1; i >= 0; i--, at--) {
        c_adj[i] += input_adj[at] / of.s;
        adj.s -= input_adj[at] * patch->c[i] / (of.s * of.s);
    }

    // N = sum of ends |c_i| + part s,  s = sum |c_i|,  a = mean A,  closing = -mean of c_i < 0
    adj.s += part * adj.N;
    c_adj[0] += adj.s * sign_of(patch->c[0]);
    for (int i = 1; i < k; i++) {
        c_adj[i] += (adj.s + adj.N) * sign_of(patch->c[i]);
        c_adj[i] -= patch->c[i] < 0.0 ? adj.closing / n_end : 0.0;
        for (int j = 1; j < k; j++) {
            A_adj[i * k + j] += adj.a / (n_end * n_end);
        }
    }
}

double cri_ground_input_jvp(const cri_ground *patch, const double *A_tan, const double *c_tan,
                            double input_tan[CRI_GROUND_INPUTS]) {
    if (patch->kind >= CRI_GROUND_SPACE_POINT) {
        return cri_ground_space_input_jvp(patch, A_tan, c_tan, input_tan);
    }
    int k = patch->n_row, n_end = k - 1, at = 0;
    sums of = sums_of(patch), tan = {0};
    for (int i = 1; i < k; i++) {
        tan.closing -= patch->c[i] < 0.0 ? c_tan[i] / n_end : 0.0;
        tan.N += sign_of(patch->c[i]) * c_tan[i];
        for (int j = 1; j < k; j++) {
            tan.a += A_tan[i * k + j] / (n_end * n_end);
        }
    }
    tan.s = sign_of(patch->c[0]) * c_tan[0] + tan.N;
    tan.N += part * tan.s;
    for (int i = 0; i < k; i++) {
        input_tan[at++] = (c_tan[i] - patch->c[i] / of.s * tan.s) / of.s;
    }
    for (int i = 1; i < k; i++) {
        input_tan[at++] = (c_tan[i] - patch->c[i] / of.N * tan.N) / of.N;
    }
    for (int i = 1; i < k; i++) {
        input_tan[at++] = (A_tan[i] - patch->A[i] / of.a * tan.a) / of.a;
    }
    for (int i = 1; i < k && k > 2; i++) {
        input_tan[at++] = (A_tan[i * (k + 1)] - patch->A[i * (k + 1)] / of.a * tan.a) / of.a;
    }
    input_tan[at++] = (A_tan[0] - patch->A[0] / of.a * tan.a) / of.a;
    input_tan[at++] = tan.s / (slow + of.s);
    cri_ground_still still = cri_ground_still_of(k, patch->A, patch->c);
    cri_ground_still_jvp(&still, A_tan, c_tan, input_tan + at);
    return (tan.closing - of.closing / of.a * tan.a) / of.a;
}
