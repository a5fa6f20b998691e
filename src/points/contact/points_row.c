// SPDX-License-Identifier: MIT
//
// Contact rows of points, n from a to b, t = n turned by +90 degrees:
//
//   points      gap |x_b - x_a| - r_a - r_b     rows: -n, -t at a; n, t at b
//   wall        N.x_a - o - r                   N and the tangents at a
//   disks       centres as points               -w_k n, -w_k t at a's points; w_k n, w_k t at b's
//   disk-wall   N.x_0 - o - r                   w_k N, w_k t
//   rim-wall    N.sum w_k x_k - o, deepest      w_k N, w_k t;  w fixed by the sample
//   stretch     +-(l - limit)                   +-u at b, -+u at a
//   bend        limit - |theta|                 -s G_2 at c, s (G_2 + G_1) at b, -s G_1 at a
//
// Weights of a body point with body coordinates c are (1 - sum c, c); a disk has c_k = q e_k.n with
// q = r_a at a, -r_b at b, -r with N at a wall. theta = atan2(d_1 x d_2, d_1.d_2), s its sign,
// G = turn(d)/|d|^2 is the gradient of the direction of d. Adjoints:
//
//   n = d/l: d_adj = (n_adj - n n.n_adj)/l;   t = turn n: n_adj += (t_adj_y, -t_adj_x)
//   c_k: e_k_adj += q n c_k_adj, n_adj += q e_k c_k_adj
//   G: d_adj += (G_adj_y, -G_adj_x)/q2 - 2 d G.G_adj/q2
//
// The sample of a rim and the side of a limit are not differentiated. The gap of a disk sees its
// centres only, that of the others is what their first row is the gradient of.
// Source: DCS (paper 000), sections 4.1 and D; limits as contacts of one row.

#include "points/contact/points_contact.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

typedef double blocks[3][CRI_ROW_POINTS][3];

static double dot(int d, const double *a, const double *b) {
    return a[0] * b[0] + a[1] * b[1] + (d > 2 ? a[2] * b[2] : 0.0);
}

// out = x_to - x_from, -1 is the origin
static void span(int d, const double *x, int from, int to, double *out) {
    for (int c = 0; c < d; c++) {
        out[c] = x[to * d + c] - (from >= 0 ? x[from * d + c] : 0.0);
    }
}

static double angle_of(const double *d1, const double *d2) {
    return atan2(d1[0] * d2[1] - d1[1] * d2[0], d1[0] * d2[0] + d1[1] * d2[1]);
}

// body coordinates of sample k of a rim
static void rim_point(const cri_points_touch *t, int k, double out[3]) {
    out[0] = t->size[0] * cos(t->turn * k);
    out[1] = t->size[0] * sin(t->turn * k);
    out[2] = 0.0;
}

// heights of the centre and of the axes over a wall
static void wall_heights(const cri_points *s, const cri_points_touch *t, const double *x,
                         double h[4]) {
    for (int k = 0; k <= s->d; k++) {
        h[k] = dot(s->d, t->normal, x + (t->a + k) * s->d);
    }
}

static double rim_gap(const double h[4], const double c[3]) {
    return h[0] + c[0] * (h[1] - h[0]) + c[1] * (h[2] - h[0]) + c[2] * (h[3] - h[0]);
}

static double deepest(const cri_points *s, const cri_points_touch *t, const double *x,
                      double out[3]) {
    double h[4] = {0.0}, c[3] = {0.0}, least = INFINITY;
    wall_heights(s, t, x, h);
    for (int k = 0; k < t->n_sample; k++) {
        rim_point(t, k, c);
        double gap = rim_gap(h, c);
        if (gap < least) {
            least = gap;
            memcpy(out, c, sizeof c);
        }
    }
    return least - t->offset;
}

double cri_points_gap(const cri_points *s, const cri_points_touch *t, const double *x) {
    double a[3] = {0.0}, b[3] = {0.0}, l;
    switch (t->kind) {
    case CRI_TOUCH_POINTS:
    case CRI_TOUCH_DISKS:
        span(s->d, x, t->a, t->b, a);
        return sqrt(dot(s->d, a, a)) - t->size[0] - t->size[1];
    case CRI_TOUCH_WALL:
    case CRI_TOUCH_DISK_WALL:
        return dot(s->d, t->normal, x + t->a * s->d) - t->offset - t->size[0];
    case CRI_TOUCH_RIM_WALL:
        return deepest(s, t, x, a);
    case CRI_TOUCH_STRETCH:
        span(s->d, x, t->a, t->b, a);
        l = sqrt(dot(s->d, a, a));
        return fmin(l - t->size[0], t->size[1] - l);
    case CRI_TOUCH_BEND:
        span(s->d, x, t->a, t->b, a);
        span(s->d, x, t->b, t->c, b);
        return t->size[0] - fabs(angle_of(a, b));
    }
    return INFINITY;
}

// ---- rows --------------------------------------------------------------------------------------

static void turn(const double *a, double *out) {
    out[0] = -a[1];
    out[1] = a[0];
}

// n and length between two points
static void set_direction(const cri_points *s, const cri_points_touch *t, const double *x,
                          cri_points_row *r) {
    span(s->d, x, t->a, t->b, r->n);
    r->length = sqrt(dot(s->d, r->n, r->n));
    for (int c = 0; c < s->d; c++) {
        // points that coincide have no normal: any will do
        r->n[c] = r->length > 0.0 ? r->n[c] / r->length : (c == 0);
    }
}

// weights (d + 1) of the point q n of a body, in slots of d + 1 points behind from
static void disk_weights(const double *x, int centre, double q, const double *n, double *w) {
    w[0] = 1.0;
    for (int k = 1; k < 3; k++) {
        double e[2] = {0.0};
        span(2, x, centre, centre + k, e);
        w[k] = q * dot(2, e, n);
        w[0] -= w[k];
    }
}

// J of rows a over points with weights
static void spread(cri_points_row *r, int d, int slot, int n_point, double sign, const double *w,
                   const double *const *a) {
    for (int i = 0; i < r->n_row; i++) {
        for (int k = 0; k < n_point; k++) {
            for (int c = 0; c < d; c++) {
                r->J[i][slot + k][c] = sign * w[k] * a[i][c];
            }
        }
    }
}

static void body_slots(cri_points_row *r, int slot, int first, int n) {
    for (int k = 0; k < n; k++) {
        r->point[slot + k] = first + k;
    }
    r->n_slot = slot + n;
}

static void pair_row(const cri_points *s, const cri_points_touch *t, const double *x,
                     cri_points_row *r) {
    static const double one[1] = {1.0};
    double tangent[3], w[3];
    const double *a[2] = {r->n, tangent};
    CR_ASSERT(s->d == 2);
    set_direction(s, t, x, r);
    turn(r->n, tangent);
    r->n_row = 2;
    if (t->kind == CRI_TOUCH_POINTS) {
        body_slots(r, 0, t->a, 1);
        body_slots(r, 1, t->b, 1);
        spread(r, 2, 0, 1, -1.0, one, a);
        spread(r, 2, 1, 1, 1.0, one, a);
        return;
    }
    body_slots(r, 0, t->a, 3);
    body_slots(r, 3, t->b, 3);
    disk_weights(x, t->a, t->size[0], r->n, w);
    spread(r, 2, 0, 3, -1.0, w, a);
    disk_weights(x, t->b, -t->size[1], r->n, w);
    spread(r, 2, 3, 3, 1.0, w, a);
}

static void wall_row(const cri_points *s, const cri_points_touch *t, const double *x,
                     cri_points_row *r) {
    double w[4] = {1.0};
    const double *a[3] = {t->normal, t->tangent[0], t->tangent[1]};
    int n = 1;
    if (t->kind == CRI_TOUCH_DISK_WALL) {
        disk_weights(x, t->a, -t->size[0], t->normal, w);
        n = 3;
    } else if (t->kind == CRI_TOUCH_RIM_WALL) {
        deepest(s, t, x, r->body_point);
        n = s->d + 1;
        for (int k = 1; k < n; k++) {
            w[k] = r->body_point[k - 1];
            w[0] -= w[k];
        }
    }
    r->n_row = s->d;
    body_slots(r, 0, t->a, n);
    spread(r, s->d, 0, n, 1.0, w, a);
}

// slots of the points that are not the origin: where each of the n stands, -1 for the origin
static void chain_slots(cri_points_row *r, int n, const int *point, int *slot) {
    r->n_slot = 0;
    for (int k = 0; k < n; k++) {
        slot[k] = point[k] >= 0 ? r->n_slot : -1;
        if (point[k] >= 0) {
            r->point[r->n_slot++] = point[k];
        }
    }
}

static void stretch_row(const cri_points *s, const cri_points_touch *t, const double *x,
                        cri_points_row *r) {
    int slot[2];
    chain_slots(r, 2, (int[]){t->a, t->b}, slot);
    set_direction(s, t, x, r);
    r->n_row = 1;
    r->sign = r->length - t->size[0] <= t->size[1] - r->length ? 1.0 : -1.0;
    for (int c = 0; c < s->d; c++) {
        r->J[0][slot[1]][c] = r->sign * r->n[c];
        if (slot[0] >= 0) {
            r->J[0][slot[0]][c] = -r->sign * r->n[c];
        }
    }
}

// G = turn(d)/|d|^2
static void angle_gradient(const double *d, double *G) {
    double q2 = dot(2, d, d);
    turn(d, G);
    G[0] = q2 > 0.0 ? G[0] / q2 : 0.0;
    G[1] = q2 > 0.0 ? G[1] / q2 : 0.0;
}

static void bend_row(const cri_points *s, const cri_points_touch *t, const double *x,
                     cri_points_row *r) {
    double d1[3] = {0.0}, d2[3] = {0.0}, G1[2], G2[2];
    int slot[3];
    CR_ASSERT(s->d == 2);
    chain_slots(r, 3, (int[]){t->a, t->b, t->c}, slot);
    span(2, x, t->a, t->b, d1);
    span(2, x, t->b, t->c, d2);
    angle_gradient(d1, G1);
    angle_gradient(d2, G2);
    r->n_row = 1;
    r->sign = angle_of(d1, d2) >= 0.0 ? 1.0 : -1.0;
    for (int c = 0; c < 2; c++) {
        r->J[0][slot[2]][c] = -r->sign * G2[c];
        r->J[0][slot[1]][c] = r->sign * (G2[c] + G1[c]);
        if (slot[0] >= 0) {
            r->J[0][slot[0]][c] = -r->sign * G1[c];
        }
    }
}

void cri_points_row_at(const cri_points *s, const cri_points_touch *t, const double *x,
                       cri_points_row *row) {
    memset(row, 0, sizeof *row);
    row->gap = cri_points_gap(s, t, x);
    switch (t->kind) {
    case CRI_TOUCH_POINTS:
    case CRI_TOUCH_DISKS:
        pair_row(s, t, x, row);
        break;
    case CRI_TOUCH_WALL:
    case CRI_TOUCH_DISK_WALL:
    case CRI_TOUCH_RIM_WALL:
        wall_row(s, t, x, row);
        break;
    case CRI_TOUCH_STRETCH:
        stretch_row(s, t, x, row);
        break;
    case CRI_TOUCH_BEND:
        bend_row(s, t, x, row);
        break;
    }
}

// ---- adjoint -----------------------------------------------------------------------------------

// n = d/l, d = x_b - x_a
static void direction_vjp(const cri_points *s, const cri_points_touch *t, const cri_points_row *r,
                          const double *n_adj, double *x_adj) {
    double along = dot(s->d, r->n, n_adj);
    for (int c = 0; c < s->d && r->length > 0.0; c++) {
        double d_adj = (n_adj[c] - r->n[c] * along) / r->length;
        x_adj[t->b * s->d + c] += d_adj;
        if (t->a >= 0) {
            x_adj[t->a * s->d + c] -= d_adj;
        }
    }
}

// adjoints of a disk's weights: to its axes and to n
static void weights_vjp(const double *x, int centre, double q, const double *n, const double *w_adj,
                        double *n_adj, double *x_adj) {
    for (int k = 1; k < 3; k++) {
        double e[2] = {0.0}, c_adj = w_adj[k] - w_adj[0];
        span(2, x, centre, centre + k, e);
        for (int c = 0; c < 2; c++) {
            double e_adj = q * n[c] * c_adj;
            x_adj[(centre + k) * 2 + c] += e_adj;
            x_adj[centre * 2 + c] -= e_adj;
            n_adj[c] += q * e[c] * c_adj;
        }
    }
}

static void pair_vjp(const cri_points *s, const cri_points_touch *t, const double *x,
                     const cri_points_row *r, blocks J_adj, double *x_adj) {
    double a_adj[2][2] = {{0.0}}, tangent[2];
    int n = t->kind == CRI_TOUCH_POINTS ? 1 : 3;
    turn(r->n, tangent);
    const double *a[2] = {r->n, tangent};
    for (int side = 0; side < 2; side++) {
        double w[3] = {1.0}, w_adj[3] = {0.0}, sign = side ? 1.0 : -1.0;
        int centre = side ? t->b : t->a;
        double q = side ? -t->size[1] : t->size[0];
        if (n > 1) {
            disk_weights(x, centre, q, r->n, w);
        }
        for (int i = 0; i < 2 * n; i++) {
            const double *block = J_adj[i / n][side * n + i % n];
            for (int c = 0; c < 2; c++) {
                a_adj[i / n][c] += sign * w[i % n] * block[c];
            }
            w_adj[i % n] += sign * dot(2, a[i / n], block);
        }
        if (n > 1) {
            weights_vjp(x, centre, q, r->n, w_adj, a_adj[0], x_adj);
        }
    }
    // t = turn n
    double n_adj[3] = {a_adj[0][0] + a_adj[1][1], a_adj[0][1] - a_adj[1][0], 0.0};
    direction_vjp(s, t, r, n_adj, x_adj);
}

static void disk_wall_vjp(const cri_points_touch *t, const double *x, blocks J_adj, double *x_adj) {
    double w_adj[3] = {0.0}, unused[2] = {0.0};
    const double *a[2] = {t->normal, t->tangent[0]};
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 3; k++) {
            w_adj[k] += dot(2, a[i], J_adj[i][k]);
        }
    }
    weights_vjp(x, t->a, -t->size[0], t->normal, w_adj, unused, x_adj);
}

static void stretch_vjp(const cri_points *s, const cri_points_touch *t, const cri_points_row *r,
                        blocks J_adj, double *x_adj) {
    double n_adj[3] = {0.0};
    bool has_a = t->a >= 0;
    for (int c = 0; c < s->d; c++) {
        n_adj[c] = r->sign * (J_adj[0][has_a][c] - (has_a ? J_adj[0][0][c] : 0.0));
    }
    direction_vjp(s, t, r, n_adj, x_adj);
}

// adds the adjoint of G = turn(d)/|d|^2 to the ends of d
static void angle_gradient_vjp(const double *d, const double *G_adj, int from, int to,
                               double *x_adj) {
    double G[2], q2 = dot(2, d, d), turned[2] = {G_adj[1], -G_adj[0]};
    angle_gradient(d, G);
    double along = dot(2, G, G_adj);
    for (int c = 0; c < 2 && q2 > 0.0; c++) {
        double d_adj = (turned[c] - 2.0 * d[c] * along) / q2;
        x_adj[to * 2 + c] += d_adj;
        if (from >= 0) {
            x_adj[from * 2 + c] -= d_adj;
        }
    }
}

static void bend_vjp(const cri_points_touch *t, const double *x, const cri_points_row *r,
                     blocks J_adj, double *x_adj) {
    double d1[3] = {0.0}, d2[3] = {0.0}, G1_adj[2], G2_adj[2];
    int b = t->a >= 0, c = b + 1;
    span(2, x, t->a, t->b, d1);
    span(2, x, t->b, t->c, d2);
    for (int i = 0; i < 2; i++) {
        G2_adj[i] = r->sign * (J_adj[0][b][i] - J_adj[0][c][i]);
        G1_adj[i] = r->sign * (J_adj[0][b][i] - (b ? J_adj[0][0][i] : 0.0));
    }
    angle_gradient_vjp(d2, G2_adj, t->b, t->c, x_adj);
    angle_gradient_vjp(d1, G1_adj, t->a, t->b, x_adj);
}

// does the gap see centres only?
static bool is_disk(const cri_points_touch *t) {
    return t->kind == CRI_TOUCH_DISKS || t->kind == CRI_TOUCH_DISK_WALL;
}

// the gradient of the gap at slot k; of a disk at its centre alone
static const double *gap_gradient(const cri_points_touch *t, const cri_points_row *r, int k, int d,
                                  double out[3]) {
    for (int c = 0; c < d; c++) {
        if (!is_disk(t)) {
            out[c] = r->J[0][k][c];
        } else if (k % 3 != 0) {
            out[c] = 0.0;
        } else if (t->kind == CRI_TOUCH_DISK_WALL) {
            out[c] = t->normal[c];
        } else {
            out[c] = k == 0 ? -r->n[c] : r->n[c];
        }
    }
    return out;
}

void cri_points_row_vjp(const cri_points *s, const cri_points_touch *t, const double *x,
                        const cri_points_row *row, double J_adj[3][CRI_ROW_POINTS][3],
                        double gap_adj, double *x_adj) {
    double g[3] = {0.0};
    for (int k = 0; k < row->n_slot && gap_adj != 0.0; k++) {
        gap_gradient(t, row, k, s->d, g);
        for (int c = 0; c < s->d; c++) {
            x_adj[row->point[k] * s->d + c] += gap_adj * g[c];
        }
    }
    switch (t->kind) {
    case CRI_TOUCH_POINTS:
    case CRI_TOUCH_DISKS:
        pair_vjp(s, t, x, row, J_adj, x_adj);
        break;
    case CRI_TOUCH_DISK_WALL:
        disk_wall_vjp(t, x, J_adj, x_adj);
        break;
    case CRI_TOUCH_STRETCH:
        stretch_vjp(s, t, row, J_adj, x_adj);
        break;
    case CRI_TOUCH_BEND:
        bend_vjp(t, x, row, J_adj, x_adj);
        break;
    case CRI_TOUCH_WALL:
    case CRI_TOUCH_RIM_WALL:
        break; // constant rows
    }
}

// ---- tangent -----------------------------------------------------------------------------------

static void direction_jvp(const cri_points *s, const cri_points_touch *t, const cri_points_row *r,
                          const double *x_tan, double *n_tan) {
    span(s->d, x_tan, t->a, t->b, n_tan);
    double along = dot(s->d, r->n, n_tan);
    for (int c = 0; c < s->d; c++) {
        n_tan[c] = r->length > 0.0 ? (n_tan[c] - r->n[c] * along) / r->length : 0.0;
    }
}

static void weights_jvp(const double *x, const double *x_tan, int centre, double q, const double *n,
                        const double *n_tan, double *w_tan) {
    w_tan[0] = 0.0;
    for (int k = 1; k < 3; k++) {
        double e[2] = {0.0}, e_tan[2] = {0.0};
        span(2, x, centre, centre + k, e);
        span(2, x_tan, centre, centre + k, e_tan);
        w_tan[k] = q * (dot(2, e_tan, n) + (n_tan ? dot(2, e, n_tan) : 0.0));
        w_tan[0] -= w_tan[k];
    }
}

static void pair_jvp(const cri_points *s, const cri_points_touch *t, const double *x,
                     const cri_points_row *r, const double *x_tan, blocks J_tan) {
    double n_tan[3] = {0.0}, a[2][2], a_tan[2][2];
    int n = t->kind == CRI_TOUCH_POINTS ? 1 : 3;
    direction_jvp(s, t, r, x_tan, n_tan);
    memcpy(a[0], r->n, sizeof a[0]);
    memcpy(a_tan[0], n_tan, sizeof a_tan[0]);
    turn(a[0], a[1]);
    turn(a_tan[0], a_tan[1]);
    for (int side = 0; side < 2; side++) {
        double w[3] = {1.0}, w_tan[3] = {0.0}, sign = side ? 1.0 : -1.0;
        int centre = side ? t->b : t->a;
        double q = side ? -t->size[1] : t->size[0];
        if (n > 1) {
            disk_weights(x, centre, q, r->n, w);
            weights_jvp(x, x_tan, centre, q, r->n, n_tan, w_tan);
        }
        for (int i = 0; i < 2 * n; i++) {
            double *block = J_tan[i / n][side * n + i % n];
            for (int c = 0; c < 2; c++) {
                block[c] = sign * (w_tan[i % n] * a[i / n][c] + w[i % n] * a_tan[i / n][c]);
            }
        }
    }
}

static void disk_wall_jvp(const cri_points_touch *t, const double *x, const double *x_tan,
                          blocks J_tan) {
    double w_tan[3];
    const double *a[2] = {t->normal, t->tangent[0]};
    weights_jvp(x, x_tan, t->a, -t->size[0], t->normal, NULL, w_tan);
    for (int i = 0; i < 6; i++) {
        for (int c = 0; c < 2; c++) {
            J_tan[i / 3][i % 3][c] = w_tan[i % 3] * a[i / 3][c];
        }
    }
}

static void angle_gradient_jvp(const double *d, const double *d_tan, double *G_tan) {
    double G[2], q2 = dot(2, d, d), along = 2.0 * dot(2, d, d_tan);
    angle_gradient(d, G);
    turn(d_tan, G_tan);
    for (int c = 0; c < 2; c++) {
        G_tan[c] = q2 > 0.0 ? (G_tan[c] - G[c] * along) / q2 : 0.0;
    }
}

static void limit_jvp(const cri_points *s, const cri_points_touch *t, const double *x,
                      const cri_points_row *r, const double *x_tan, blocks J_tan) {
    double first[3] = {0.0}, second[3] = {0.0}, d[3] = {0.0}, d_tan[3] = {0.0};
    bool has_a = t->a >= 0, is_bend = t->kind == CRI_TOUCH_BEND;
    if (is_bend) {
        span(2, x, t->a, t->b, d);
        span(2, x_tan, t->a, t->b, d_tan);
        angle_gradient_jvp(d, d_tan, first);
        span(2, x, t->b, t->c, d);
        span(2, x_tan, t->b, t->c, d_tan);
        angle_gradient_jvp(d, d_tan, second);
    } else {
        direction_jvp(s, t, r, x_tan, first);
    }
    for (int c = 0; c < s->d; c++) {
        J_tan[0][has_a][c] = r->sign * (first[c] + second[c]);
        if (has_a) {
            J_tan[0][0][c] = -r->sign * first[c];
        }
        if (is_bend) {
            J_tan[0][has_a + 1][c] = -r->sign * second[c];
        }
    }
}

double cri_points_row_jvp(const cri_points *s, const cri_points_touch *t, const double *x,
                          const cri_points_row *row, const double *x_tan,
                          double J_tan[3][CRI_ROW_POINTS][3]) {
    double gap_tan = 0.0, g[3] = {0.0};
    memset(J_tan, 0, sizeof(blocks));
    for (int k = 0; k < row->n_slot; k++) {
        gap_gradient(t, row, k, s->d, g);
        gap_tan += dot(s->d, g, x_tan + row->point[k] * s->d);
    }
    switch (t->kind) {
    case CRI_TOUCH_POINTS:
    case CRI_TOUCH_DISKS:
        pair_jvp(s, t, x, row, x_tan, J_tan);
        break;
    case CRI_TOUCH_DISK_WALL:
        disk_wall_jvp(t, x, x_tan, J_tan);
        break;
    case CRI_TOUCH_STRETCH:
    case CRI_TOUCH_BEND:
        limit_jvp(s, t, x, row, x_tan, J_tan);
        break;
    case CRI_TOUCH_WALL:
    case CRI_TOUCH_RIM_WALL:
        break; // constant rows
    }
    return gap_tan;
}
