// SPDX-License-Identifier: MIT
//
// Minimum of a field on a triangle: pairwise Frank-Wolfe steps (Lacoste-Julien, Jaggi 2015) with
// Newton steps on the active corners.
//
// At x = sum w_l v_l with gradient g the lowest corner s = argmin v_l . g bounds what can be gained
// by the gap (x - s) . g, for convex fields. On the corners with weight, and s, with E their sides
// from s:
//
//   Newton     (E H E') z = -E g, when E H E' is positive; with a little more on the diagonal of H
//              when it is straight in one direction, as beside an edge
//   pairwise   from the highest corner with weight to s, as far as the curvature along says
//
// both cut where a weight becomes 0, and halved until phi falls. Newton converges quadratically
// once the active corners are right; Frank-Wolfe alone needs 1/gap steps beside edges and faces.

#include "geometry/mesh/triangle_min.h"

#include <math.h>
#include <string.h>

enum { STEPS = 40, HALVINGS = 30 };

static const double bend_floor = 1e-8; // curvature times size below which a side is straight

static const double straight_share = 1e-3; // added to H, of its trace, where it has no inverse

static double longest_side(const cri_vec3 corner[3]) {
    double most = 0.0;
    for (int k = 0; k < 3; k++) {
        cri_vec3 e = cri_v3_sub(corner[(k + 1) % 3], corner[k]);
        most = cri_larger(most, cri_v3_dot(e, e));
    }
    return sqrt(most);
}

double cri_triangle_min_tolerance(const cri_vec3 corner[3]) {
    double far = 0.0;
    for (int k = 0; k < 3; k++) {
        far = cri_larger(far, cri_v3_dot(corner[k], corner[k]));
    }
    // sixteen roundings of coordinates
    return 1e-13 * longest_side(corner) + 4e-15 * sqrt(far);
}

int cri_triangle_active(const double weight[3], int active[3]) {
    int n = 0;
    for (int l = 0; l < 3; l++) {
        if (weight[l] > 0.0) {
            active[n++] = l;
        }
    }
    return n;
}

bool cri_triangle_bend(const cri_vec3 corner[3], int n, const int active[3], const double H[6],
                       double B[3]) {
    cri_vec3 e[2] = {{0}}, He[2] = {{0}};
    double size = longest_side(corner);
    memset(B, 0, 3 * sizeof *B);
    for (int k = 1; k < n; k++) {
        e[k - 1] = cri_v3_sub(corner[active[k]], corner[active[0]]);
        He[k - 1] = cri_sym_mul(H, e[k - 1]);
    }
    B[0] = cri_v3_dot(e[0], He[0]);
    bool is_good = n > 1 && B[0] * size > bend_floor * cri_v3_dot(e[0], e[0]);
    if (n > 2) {
        B[1] = cri_v3_dot(e[1], He[0]);
        B[2] = cri_v3_dot(e[1], He[1]);
        cri_vec3 area = cri_v3_cross(e[0], e[1]);
        double least = bend_floor / size;
        is_good = is_good && B[2] * size > bend_floor * cri_v3_dot(e[1], e[1]) &&
                  B[0] * B[2] - B[1] * B[1] > least * least * cri_v3_dot(area, area);
    }
    return is_good;
}

void cri_triangle_bend_solve(int n, const double B[3], const double r[2], double z[2]) {
    CR_ASSERT(n == 2 || n == 3);
    if (n == 2) {
        z[0] = r[0] / B[0];
        z[1] = 0.0;
        return;
    }
    double det = B[0] * B[2] - B[1] * B[1];
    z[0] = (B[2] * r[0] - B[1] * r[1]) / det;
    z[1] = (B[0] * r[1] - B[1] * r[0]) / det;
}

static cri_vec3 point_at(const cri_vec3 corner[3], const double w[3]) {
    cri_vec3 x = cri_v3_scale(w[0], corner[0]);
    return cri_v3_mad(cri_v3_mad(x, w[1], corner[1]), w[2], corner[2]);
}

// how far along d a weight becomes 0, and which; 1 and -1 when none does before
static double room(const double w[3], const double d[3], int *which) {
    double most = 1.0;
    *which = -1;
    for (int l = 0; l < 3; l++) {
        if (d[l] < 0.0 && w[l] <= -most * d[l]) {
            most = -w[l] / d[l];
            *which = l;
        }
    }
    return most;
}

// Newton on the corners with weight and s; false when there is no such step
static bool newton_step(const cri_vec3 corner[3], const double w[3], const cri_field_value *v,
                        int s, double d[3]) {
    int active[3] = {s}, n = 1, which;
    for (int l = 0; l < 3; l++) {
        if (l != s && w[l] > 0.0) {
            active[n++] = l;
        }
    }
    double B[3], r[2] = {0.0, 0.0}, z[2], H[6];
    memcpy(H, v->H, sizeof H);
    if (n < 2) {
        return false;
    }
    if (!cri_triangle_bend(corner, n, active, H, B)) {
        double more = straight_share * (fabs(H[0]) + fabs(H[1]) + fabs(H[2]));
        for (int a = 0; a < 3; a++) {
            H[a] += more;
        }
        if (!cri_triangle_bend(corner, n, active, H, B)) {
            return false;
        }
    }
    for (int k = 1; k < n; k++) {
        r[k - 1] = -cri_v3_dot(cri_v3_sub(corner[active[k]], corner[s]), v->g);
    }
    cri_triangle_bend_solve(n, B, r, z);
    d[0] = d[1] = d[2] = 0.0;
    for (int k = 1; k < n; k++) {
        d[active[k]] = z[k - 1];
        d[s] -= z[k - 1];
    }
    return room(w, d, &which) > 1e-9;
}

static void pairwise_step(const cri_vec3 corner[3], const double w[3], const double score[3],
                          const cri_field_value *v, int s, double d[3]) {
    int high = 0;
    for (int l = 1; l < 3; l++) {
        if (w[l] > 0.0 && (!(w[high] > 0.0) || score[l] > score[high])) {
            high = l;
        }
    }
    cri_vec3 e = cri_v3_sub(corner[s], corner[high]);
    double bend = cri_v3_dot(e, cri_sym_mul(v->H, e)), gain = score[high] - score[s];
    double far = bend * w[high] > gain ? gain / bend : w[high];
    d[0] = d[1] = d[2] = 0.0;
    d[s] += far;
    d[high] -= far;
}

// w = weight + t d, where which becomes 0; what is left by rounding is no weight
static void move_weights(const double weight[3], double t, const double d[3], int which,
                         double w[3]) {
    double sum = 0.0;
    for (int l = 0; l < 3; l++) {
        double moved = weight[l] + t * d[l];
        w[l] = 0.0;
        if (l != which && moved >= 1e-14) {
            w[l] = moved;
            sum += moved;
        }
    }
    for (int l = 0; l < 3; l++) {
        w[l] /= sum;
    }
}

// goes along d as far as phi falls; false when it does not
static bool descend(const cri_field *field, const cri_vec3 corner[3], const double d[3],
                    cri_triangle_min *m) {
    int which;
    double t = room(m->weight, d, &which), full = t;
    cri_vec3 e = point_at(corner, d);
    double slope = cri_v3_dot(e, m->v.g);
    for (int k = 0; k < HALVINGS; k++, t *= 0.5) {
        double w[3];
        move_weights(m->weight, t, d, t == full ? which : -1, w);
        cri_vec3 x = point_at(corner, w);
        // the first is nearly always taken
        cri_field_order order = k > 0 ? CRI_FIELD_PHI : CRI_FIELD_HESSIAN;
        cri_field_value v;
        cri_field_eval(field, x, order, &v);
        double rounding = 4e-16 * (fabs(v.phi) + fabs(m->v.phi) + cri_v3_norm(x));
        if (v.phi <= m->v.phi + 1e-4 * t * slope + (k < 3 ? rounding : 0.0)) {
            memcpy(m->weight, w, sizeof w);
            m->x = x;
            m->v = v;
            if (k > 0) {
                cri_field_eval(field, x, CRI_FIELD_HESSIAN, &m->v);
            }
            return true;
        }
    }
    return false;
}

bool cri_triangle_min_below(const cri_field *field, const cri_vec3 corner[3], const double start[3],
                            double bound, cri_triangle_min *out) {
    CR_ASSERT(field && corner && out);
    double tolerance = cri_triangle_min_tolerance(corner);
    memcpy(out->weight, start, sizeof out->weight);
    out->x = point_at(corner, start);
    cri_field_eval(field, out->x, CRI_FIELD_HESSIAN, &out->v);
    bool is_moving = true;
    for (int k = 0; k <= STEPS; k++) {
        double score[3], d[3];
        int s = 0;
        for (int l = 0; l < 3; l++) {
            // relative to x, so that far from the origin nothing is lost
            score[l] = cri_v3_dot(cri_v3_sub(corner[l], out->x), out->v.g);
            s = score[l] < score[s] ? l : s;
        }
        out->gap = -score[s];
        out->is_settled = out->gap <= tolerance;
        if (out->is_settled || !is_moving || k == STEPS) {
            break;
        }
        if (out->v.phi - out->gap >= bound) {
            return false;
        }
        bool is_newton = newton_step(corner, out->weight, &out->v, s, d);
        is_moving = is_newton && descend(field, corner, d, out);
        if (!is_moving) {
            pairwise_step(corner, out->weight, score, &out->v, s, d);
            is_moving = descend(field, corner, d, out);
        }
    }
    return out->v.phi < bound;
}

void cri_triangle_min_find(const cri_field *field, const cri_vec3 corner[3], const double start[3],
                           cri_triangle_min *out) {
    cri_triangle_min_below(field, corner, start, INFINITY, out);
}
