// SPDX-License-Identifier: MIT
//
// Assembly of an island's contact problem and its solve.
//
//   G = J K,   A = G W G',   b = G v,   v+ = v + W G' f
//
// For a free body K = 1 and W is diagonal; for a tree W is applied through its factor
// (dynamics/tree.h). Rows of a limit are constants. Everything is dense within the island.

#include "contact/island.h"

#include "base/base.h"
#include "base/math/dense.h"
#include "base/math/dense_factor.h"
#include "base/math/vec3.h"
#include "contact/ground.h"
#include "contact/law.h"
#include "contact/pair.h"
#include "model/ground_nets.h"

#include <math.h>
#include <string.h>

static const double sign_of_side[2] = {-1.0, 1.0};

// 1/k: a thousandth of the slip that a target takes is worth a thousandth of the target
static const double normal_slack = 1e-6;

// pivots of A below this, relative, are rounding; as in the reduced system, which shares them
static const double rank_tolerance = 1e-11;

// and below this no part of what opens
static const double weak_pivot = 1e-6;

// what is asked for can be had, to rounding
static const double consistent = 1e-14;

// m, along the surface
static const double one_place = 1e-6;

// terms of the derivatives that are held at once, see island_diff.c
enum { MAX_TERM = 2 + 2 * CRI_MAX_OUTER };

/// A contact's block in the dofs of one unit: factors of G W G'.
typedef struct block_part {
    int contact;
    int n;               // rows
    double GW[18];       // of a free body
    double Gt[24];       // (6, 4) its G by columns, the last of them zero
    const double *left;  // (n, n_v)
    const double *right; // (n, n_v)
} block_part;

// ---- islands ------------------------------------------------------------------------------------

// Islands by union and find over units: each contact joins the sets of its two units; a set's root
// is its lowest unit.

// root of a unit's set; halves the path on its way
static int find(int *parent, int unit) {
    while (parent[unit] != unit) {
        parent[unit] = parent[parent[unit]];
        unit = parent[unit];
    }
    return unit;
}

// the moving unit of a contact, and its second one or the same
static void units_of(const cri_near *near, int unit[2]) {
    unit[1] = near->unit[1] >= 0 ? near->unit[1] : near->unit[0];
    unit[0] = near->unit[0] >= 0 ? near->unit[0] : unit[1];
    CR_ASSERT(unit[1] >= 0);
}

int cri_islands(const cr_model *model, int n, const cri_near *const *near, int *island_of_unit,
                int *island) {
    CR_ASSERT(model && island_of_unit);
    CR_ASSERT(n >= 0);
    int n_unit = model->mech.n_unit, n_island = 0, unit[2];
    int *parent = island_of_unit;
    for (int u = 0; u < n_unit; u++) {
        parent[u] = -1;
    }
    for (int k = 0; k < n; k++) {
        units_of(near[k], unit);
        for (int s = 0; s < 2; s++) {
            parent[unit[s]] = parent[unit[s]] < 0 ? unit[s] : parent[unit[s]];
        }
        int a = find(parent, unit[0]), b = find(parent, unit[1]);
        parent[a < b ? b : a] = a < b ? a : b;
    }
    for (int k = 0; k < n; k++) {
        units_of(near[k], unit);
        island[k] = find(parent, unit[0]);
    }
    for (int u = 0; u < n_unit; u++) {
        parent[u] = parent[u] < 0 ? -1 : find(parent, u);
    }
    // numbers in the order of the first contact; a numbered root holds -2 - number
    for (int k = 0; k < n; k++) {
        int root = island[k];
        if (parent[root] >= 0) {
            parent[root] = -2 - n_island++;
        }
        island[k] = -2 - parent[root];
    }
    for (int u = 0; u < n_unit; u++) {
        parent[u] = parent[u] >= 0 ? -2 - parent[parent[u]] : parent[u];
    }
    for (int u = 0; u < n_unit; u++) {
        parent[u] = parent[u] <= -2 ? -2 - parent[u] : parent[u];
    }
    return n_island;
}

// ---- frames -------------------------------------------------------------------------------------

// Orthonormal frame from a unit normal without a square root (Duff et al. 2017):
//
//   s = sign(n_z),  a = -1/(s + n_z),  b = n_x n_y a
//   t1 = (1 + s n_x^2 a, s b, -s n_x),   t2 = (b, s + n_y^2 a, -n_y)
//
// The sign is a branch of the forward pass. It follows from the normal alone, so the derivatives
// take it again from the same number. Smooth but for n_z = 0, where the tangents jump and an
// isotropic law does not notice.
//
// Aligned frame, for friction that differs along the tangents; MuJoCo's, so that a scene means the
// same there:
//
//   e = y where |n_y| < 1/2, else z;   p = e - n (n.e),   t1 = p/|p|,   t2 = n x t1
//
// The same lines for n and -n. They jump where |n_y| = 1/2, and friction with them.

static double sign_of(cri_vec3 n) {
    return n.z >= 0.0 ? 1.0 : -1.0;
}

cri_frame cri_frame_of(cri_vec3 n) {
    CR_VALIDATE(fabs(cri_v3_dot(n, n) - 1.0) < 0.1);
    double s = sign_of(n);
    double a = -1.0 / (s + n.z);
    double b = n.x * n.y * a;
    return (cri_frame){
        {n, cri_v3(1.0 + s * n.x * n.x * a, s * b, -s * n.x), cri_v3(b, s + n.y * n.y * a, -n.y)}};
}

void cri_frame_of_vjp(cri_vec3 n, const cri_frame *adj, cri_vec3 *normal_adj) {
    CR_ASSERT(adj && normal_adj);
    double s = sign_of(n);
    double a = -1.0 / (s + n.z);
    cri_vec3 t1 = adj->axis[1], t2 = adj->axis[2];

    // t1 = (1 + s n_x^2 a, s b, -s n_x),  t2 = (b, s + n_y^2 a, -n_y)
    double b_adj = s * t1.y + t2.x;
    double a_adj = s * n.x * n.x * t1.x + n.y * n.y * t2.y;
    double x_adj = 2.0 * s * n.x * a * t1.x - s * t1.z;
    double y_adj = 2.0 * n.y * a * t2.y - t2.z;

    // b = n_x n_y a
    a_adj += n.x * n.y * b_adj;
    x_adj += n.y * a * b_adj;
    y_adj += n.x * a * b_adj;

    // a = -1/(s + n_z), so da = a^2 dn_z
    *normal_adj =
        cri_v3_add(*normal_adj, cri_v3_add(adj->axis[0], cri_v3(x_adj, y_adj, a_adj * a * a)));
}

cri_frame cri_frame_of_jvp(cri_vec3 n, cri_vec3 n_tan) {
    double s = sign_of(n);
    double a = -1.0 / (s + n.z), a_tan = a * a * n_tan.z;
    double b_tan = (n_tan.x * n.y + n.x * n_tan.y) * a + n.x * n.y * a_tan;
    cri_vec3 t1 =
        cri_v3(s * (2.0 * n.x * n_tan.x * a + n.x * n.x * a_tan), s * b_tan, -s * n_tan.x);
    cri_vec3 t2 = cri_v3(b_tan, 2.0 * n.y * n_tan.y * a + n.y * n.y * a_tan, -n_tan.y);
    return (cri_frame){{n_tan, t1, t2}};
}

// the axis of the world that is far from the normal
static cri_vec3 axis_beside(cri_vec3 n) {
    return fabs(n.y) < 0.5 ? cri_v3(0.0, 1.0, 0.0) : cri_v3(0.0, 0.0, 1.0);
}

cri_frame cri_frame_aligned(cri_vec3 n) {
    CR_VALIDATE(fabs(cri_v3_dot(n, n) - 1.0) < 0.1);
    cri_vec3 e = axis_beside(n);
    cri_vec3 p = cri_v3_mad(e, -cri_v3_dot(n, e), n);
    cri_vec3 t1 = cri_v3_scale(1.0 / sqrt(cri_v3_dot(p, p)), p);
    return (cri_frame){{n, t1, cri_v3_cross(n, t1)}};
}

void cri_frame_aligned_vjp(cri_vec3 n, const cri_frame *adj, cri_vec3 *normal_adj) {
    CR_ASSERT(adj && normal_adj);
    cri_vec3 e = axis_beside(n);
    cri_vec3 p = cri_v3_mad(e, -cri_v3_dot(n, e), n);
    double inv_length = 1.0 / sqrt(cri_v3_dot(p, p));
    cri_vec3 t1 = cri_v3_scale(inv_length, p);

    // t2 = n x t1
    cri_vec3 n_adj = cri_v3_add(adj->axis[0], cri_v3_cross(t1, adj->axis[2]));
    cri_vec3 t1_adj = cri_v3_add(adj->axis[1], cri_v3_cross(adj->axis[2], n));

    // t1 = p/|p|
    cri_vec3 p_adj = cri_v3_scale(inv_length, cri_v3_mad(t1_adj, -cri_v3_dot(t1, t1_adj), t1));

    // p = e - n (n.e)
    n_adj = cri_v3_mad(n_adj, -cri_v3_dot(n, e), p_adj);
    n_adj = cri_v3_mad(n_adj, -cri_v3_dot(n, p_adj), e);
    *normal_adj = cri_v3_add(*normal_adj, n_adj);
}

cri_frame cri_frame_aligned_jvp(cri_vec3 n, cri_vec3 n_tan) {
    cri_vec3 e = axis_beside(n);
    cri_vec3 p = cri_v3_mad(e, -cri_v3_dot(n, e), n);
    double inv_length = 1.0 / sqrt(cri_v3_dot(p, p));
    cri_vec3 t1 = cri_v3_scale(inv_length, p);
    cri_vec3 p_tan = cri_v3_scale(-cri_v3_dot(n, e), n_tan);
    p_tan = cri_v3_mad(p_tan, -cri_v3_dot(n_tan, e), n);
    cri_vec3 t1_tan = cri_v3_scale(inv_length, cri_v3_mad(p_tan, -cri_v3_dot(t1, p_tan), t1));
    cri_vec3 t2_tan = cri_v3_add(cri_v3_cross(n_tan, t1), cri_v3_cross(n, t1_tan));
    return (cri_frame){{n_tan, t1_tan, t2_tan}};
}

// ---- rows ---------------------------------------------------------------------------------------

// Rows of the contact Jacobian: relative velocity of the witness points along n, t1, t2.
//
//   J = sign s [t', w'],   w = R' (rho x t),   rho = point - origin       (spin in the body frame)
//
// With R moved by R exp[theta]:  w_tan = R' (rho_tan x t + rho x t_tan) - theta x w. The scale s is
// 1 but for friction that differs along the tangents (contact/ground.h); then the frame is the
// aligned one. Which it is, the pair of geoms says.

static cri_vec3 arm_of(const cri_row *row, const cri_state *state, int side) {
    return cri_v3_sub(row->touch.point[side], state->pose[row->near.body[side]].pos);
}

// an axis of the frame as it stands in J
static cri_vec3 scaled_axis(const cri_row *row, int side, int r) {
    return cri_v3_scale(sign_of_side[side] * row->ellipse.scale[r], row->frame.axis[r]);
}

void cri_row_at(const cri_world *w, const cri_near *near, const cri_narrow_touch *touch,
                const cri_state *state, cri_row *row) {
    CR_ASSERT(near && touch && state && row);
    row->near = *near;
    row->touch = *touch;
    row->ellipse = cri_ellipse_round(1.0);
    if (near->kind == CRI_NEAR_LIMIT) {
        memset(&row->frame, 0, sizeof row->frame);
        return;
    }
    if (near->has_two_frictions) {
        const cri_pair_derived *pair = &w->d->pair[near->pair];
        row->ellipse = cri_ellipse_of(pair->friction, pair->friction2);
        row->frame = cri_frame_aligned(touch->normal);
    } else {
        row->frame = cri_frame_of(touch->normal);
    }
    for (int s = 0; s < 2; s++) {
        if (near->unit[s] < 0) {
            continue;
        }
        const cri_mat3 *R = &state->pose[near->body[s]].R;
        cri_vec3 arm = arm_of(row, state, s);
        for (int r = 0; r < 3; r++) {
            cri_vec3 t = scaled_axis(row, s, r);
            cri_v3_store(t, row->J[s][r]);
            cri_v3_store(cri_m3_tmul(R, cri_v3_cross(arm, t)), row->J[s][r] + 3);
        }
    }
}

void cri_row_at_vjp(const cri_world *w, const cri_row *row, const cri_state *state,
                    double J_adj[2][3][6], double *q_adj, const cri_derived *d_adj) {
    CR_ASSERT(row && state);
    if (row->near.kind == CRI_NEAR_LIMIT) {
        return;
    }
    cri_frame frame_adj = {0};
    cri_ellipse ellipse_adj = {0};
    cri_touch_diff touch_adj = {0};
    for (int s = 0; s < 2; s++) {
        if (row->near.unit[s] < 0) {
            continue;
        }
        const cri_mat3 *R = &state->pose[row->near.body[s]].R;
        cri_vec3 arm = arm_of(row, state, s), rot_adj = {0}, arm_adj = {0};
        for (int r = 0; r < 3; r++) {
            cri_vec3 t = scaled_axis(row, s, r);
            cri_vec3 w_adj = cri_v3_load(J_adj[s][r] + 3);

            // w = R' (arm x t)
            rot_adj = cri_v3_add(rot_adj, cri_v3_cross(w_adj, cri_v3_load(row->J[s][r] + 3)));
            cri_vec3 cross_adj = cri_m3_mul(R, w_adj);
            arm_adj = cri_v3_add(arm_adj, cri_v3_cross(t, cross_adj));
            cri_vec3 t_adj = cri_v3_cross(cross_adj, arm);

            // t = sign scale axis, and it stands in J itself
            t_adj = cri_v3_scale(sign_of_side[s], cri_v3_add(t_adj, cri_v3_load(J_adj[s][r])));
            frame_adj.axis[r] = cri_v3_mad(frame_adj.axis[r], row->ellipse.scale[r], t_adj);
            ellipse_adj.scale[r] += cri_v3_dot(row->frame.axis[r], t_adj);
        }
        // arm = point - origin
        touch_adj.point[s] = arm_adj;
        cri_state_pose_vjp(w->model, state, row->near.body[s], cri_v3_scale(-1.0, arm_adj), rot_adj,
                           q_adj);
    }
    if (row->near.has_two_frictions) {
        cri_pair_derived *pair_adj = &d_adj->pair[row->near.pair];
        cri_ellipse_of_vjp(&row->ellipse, &ellipse_adj, &pair_adj->friction, &pair_adj->friction2);
        cri_frame_aligned_vjp(row->touch.normal, &frame_adj, &touch_adj.normal);
    } else {
        cri_frame_of_vjp(row->touch.normal, &frame_adj, &touch_adj.normal);
    }
    cri_near_touch_vjp(w, &row->near, &row->touch, state, &touch_adj, q_adj, d_adj);
}

double cri_row_at_jvp(const cri_world *w, const cri_row *row, const cri_state *state,
                      const double *q_tan, const double *body_tan, const cri_derived *d_tan,
                      double J_tan[2][3][6]) {
    CR_ASSERT(row && state);
    memset(J_tan, 0, sizeof(double) * 36);
    cri_touch_diff touch_tan =
        cri_near_touch_jvp(w, &row->near, &row->touch, state, q_tan, body_tan, d_tan);
    if (row->near.kind == CRI_NEAR_LIMIT) {
        return touch_tan.gap;
    }
    cri_ellipse ellipse_tan = {0};
    cri_frame frame_tan;
    if (row->near.has_two_frictions) {
        const cri_pair_derived *pair_tan = &d_tan->pair[row->near.pair];
        ellipse_tan = cri_ellipse_of_jvp(&row->ellipse, pair_tan->friction, pair_tan->friction2);
        frame_tan = cri_frame_aligned_jvp(row->touch.normal, touch_tan.normal);
    } else {
        frame_tan = cri_frame_of_jvp(row->touch.normal, touch_tan.normal);
    }
    for (int s = 0; s < 2; s++) {
        if (row->near.unit[s] < 0) {
            continue;
        }
        const double *tan = body_tan + 6 * row->near.body[s];
        const cri_mat3 *R = &state->pose[row->near.body[s]].R;
        cri_vec3 theta = cri_v3_load(tan + 3), arm = arm_of(row, state, s);
        cri_vec3 arm_tan = cri_v3_sub(touch_tan.point[s], cri_v3_load(tan));
        for (int r = 0; r < 3; r++) {
            cri_vec3 t = scaled_axis(row, s, r);
            cri_vec3 t_tan =
                cri_v3_scale(sign_of_side[s] * row->ellipse.scale[r], frame_tan.axis[r]);
            t_tan = cri_v3_mad(t_tan, sign_of_side[s] * ellipse_tan.scale[r], row->frame.axis[r]);
            cri_vec3 cross_tan = cri_v3_add(cri_v3_cross(arm_tan, t), cri_v3_cross(arm, t_tan));
            cri_vec3 turn = cri_v3_cross(theta, cri_v3_load(row->J[s][r] + 3));
            cri_v3_store(t_tan, J_tan[s][r]);
            cri_v3_store(cri_v3_sub(cri_m3_tmul(R, cross_tan), turn), J_tan[s][r] + 3);
        }
    }
    return touch_tan.gap;
}

// ---- opening ------------------------------------------------------------------------------------

// Of all velocities v that bodies can have, v in range(A), the one next to what is asked for,
// t = (target, 0, 0) at each contact, where normal velocities count k = 1e6 times as much as slip:
//
//   v = argmin (v - t)' D (v - t)  with  N' v = 0,     D = k on normals, 1 on tangents
//
//   v = t + D^-1 s,   s = N x,   K x = -N' t,   K = N' D^-1 N
//
// N = [-A11^-1 A12; 1] spans the null space of the rows of A that count as independent: those whose
// pivots keep 1e-6 of their diagonal. What is left of others, such as a squeeze along links in
// line, could be opened by huge impulses only. K is positive definite. Where t can be had x = 0 and
// v = t. Since v is in range(A), the contact problem with c = b - v stays consistent: what can
// stick, does.
//
// With A^- = [A11^-1 0; 0 0], y = A^- v, and the same rows: N_tan = -A^- A_tan N and
//
//   v_tan = t_tan + D^-1 (N x_tan - A^- A_tan s)
//   K x_tan = N' (A_tan y - t_tan + D^-1 A^- A_tan s)
//
// so that with h = N K^-1 N' D^-1 v_adj: t_adj = v_adj - h and
// A_adj = h y' + (A^- D^-1 (h - v_adj)) s'.

size_t cri_opening_bytes(int n) {
    size_t m = 3 * (size_t)n;
    return cri_psd_bytes((int)m) + sizeof(double) * (2 * m * m + 8 * m) + 1024;
}

// entry i of D^-1
static double slack_of(int i) {
    return i % 3 == 0 ? normal_slack : 1.0;
}

// is there more than one contact, and something to open?
static bool is_needed(int n, const double *target) {
    bool has_target = false;
    for (int a = 0; a < n; a++) {
        has_target = has_target || target[a] != 0.0;
    }
    return has_target && n > 1;
}

// rows that count as independent
static int rank_of(const cri_psd *psd, const double *A) {
    int rank = 0;
    for (size_t m = (size_t)psd->n; rank < psd->rank; rank++) {
        double pivot = psd->U[(size_t)rank * (m + 1)];
        if (pivot * pivot < weak_pivot * A[(size_t)psd->order[rank] * (m + 1)]) {
            break;
        }
    }
    return rank;
}

// is N' t zero? t2 = U12' U11^-T t1 in the order of the pivots
static bool can_be_had(const cri_opening *o, const double *t, cr_arena *scratch) {
    const cri_psd *psd = &o->psd;
    int m = psd->n;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *rest = CR_PUSH_RAW(scratch, double, m), most = 0.0, miss = 0.0;
    for (int i = 0; i < m; i++) {
        rest[i] = t[psd->order[i]];
        most = fmax(most, fabs(rest[i]));
    }
    for (int i = 0; i < o->rank; i++) {
        const double *row = psd->U + i * m + i;
        cri_add_scaled(m - i - 1, -rest[i] / row[0], row + 1, rest + i + 1);
    }
    for (int i = o->rank; i < m; i++) {
        miss = fmax(miss, fabs(rest[i]));
    }
    cri_arena_rewind(scratch, mark);
    return miss <= consistent * most;
}

// what the derivatives and targets that contradict each other need; false for numbers beyond all
// scales
static bool prepare(cri_opening *o, cr_arena *keep, cr_arena *scratch) {
    int m = 3 * o->n;
    o->X = CR_PUSH_RAW(keep, double, o->n_null *m);
    o->K = o->X + o->n_null * o->rank;
    cri_psd_null_basis(&o->psd, o->rank, o->X);
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *slack = CR_PUSH_RAW(scratch, double, m + o->n_null * o->rank);
    for (int i = 0; i < m; i++) {
        slack[i] = slack_of(i);
    }
    bool is_good = cri_psd_null_factor(&o->psd, o->rank, o->X, slack, o->K, slack + m);
    cri_arena_rewind(scratch, mark);
    return is_good;
}

// out (3n) = N K^-1 N' a
static void null_part(const cri_opening *o, const double *a, double *out, cr_arena *scratch) {
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *work = CR_PUSH_RAW(scratch, double, 6 * o->n);
    cri_psd_null_apply(&o->psd, o->rank, o->X, o->K, a, out, work);
    cri_arena_rewind(scratch, mark);
}

void cri_opening_find(int n, const double *A, const double *target, bool has_derivative,
                      cri_opening *out, cr_arena *keep, cr_arena *scratch) {
    CR_ASSERT(n > 0 && A && target && out && keep != scratch);
    *out = (cri_opening){0};
    if (!is_needed(n, target)) {
        return;
    }
    int m = 3 * n;
    cri_opening o = {.n = n, .psd = cri_psd_pivot(m, A, rank_tolerance, keep)};
    out->psd = o.psd;
    o.rank = rank_of(&o.psd, A);
    o.n_null = m - o.rank;
    if (o.n_null == 0) {
        return;
    }
    o.drift = CR_PUSH_RAW(keep, double, 3 * m);
    o.s = o.drift + m;
    o.y = o.s + m;
    memset(o.s, 0, sizeof *o.s * 2 * (size_t)m);
    for (int a = 0; a < n; a++) {
        o.y[3 * a] = target[a];
    }
    bool is_easy = can_be_had(&o, o.y, scratch);
    if ((!is_easy || has_derivative) && !prepare(&o, keep, scratch)) {
        return;
    }
    if (!is_easy) {
        null_part(&o, o.y, o.s, scratch);
    }
    for (int i = 0; i < m; i++) {
        o.s[i] = is_easy ? 0.0 : -o.s[i];
        o.drift[i] = o.y[i] + slack_of(i) * o.s[i];
    }
    if (has_derivative) {
        cri_arena_mark mark = cri_arena_get_mark(scratch);
        double *work = CR_PUSH_RAW(scratch, double, m);
        cri_psd_solve_first(&o.psd, o.rank, o.drift, o.y, work);
        cri_arena_rewind(scratch, mark);
    }
    *out = o;
}

void cri_opening_find_vjp(const cri_opening *o, const double *drift_adj, double *target_adj,
                          cri_contact_adj *adj, cr_arena *scratch) {
    CR_ASSERT(o->n > 0 && drift_adj && target_adj && adj->n_outer + 2 <= CRI_MAX_OUTER);
    int m = 3 * o->n;
    double *h = CR_PUSH_RAW(scratch, double, 2 * m), *left = h + m;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *work = CR_PUSH_RAW(scratch, double, 3 * m), *part = work + 2 * m;

    // K x_tan = N' (A_tan y - t_tan + ..),  v_tan = t_tan + D^-1 (N x_tan - ..)
    for (int i = 0; i < m; i++) {
        part[i] = slack_of(i) * drift_adj[i];
    }
    null_part(o, part, h, scratch);
    for (int a = 0; a < o->n; a++) {
        target_adj[a] = drift_adj[3 * a] - h[3 * a];
    }

    // N_tan = -A^- A_tan N
    for (int i = 0; i < m; i++) {
        part[i] = slack_of(i) * (h[i] - drift_adj[i]);
    }
    cri_psd_solve_first(&o->psd, o->rank, part, left, work);
    cri_arena_rewind(scratch, mark);
    adj->left[adj->n_outer] = h;
    adj->right[adj->n_outer++] = o->y;
    adj->left[adj->n_outer] = left;
    adj->right[adj->n_outer++] = o->s;
}

void cri_opening_find_jvp(const cri_opening *o, const double *target_tan, const double *A_tan_y,
                          const double *A_tan_s, double *drift_tan, cr_arena *scratch) {
    CR_ASSERT(o->n > 0 && target_tan && A_tan_y && drift_tan);
    int m = 3 * o->n;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *moved = CR_PUSH(scratch, double, 4 * m), *rhs = moved + m, *own = rhs + m;
    double *work = own + m;
    if (A_tan_s) {
        cri_psd_solve_first(&o->psd, o->rank, A_tan_s, moved, work);
    }
    for (int i = 0; i < m; i++) {
        double target = i % 3 == 0 ? target_tan[i / 3] : 0.0;
        rhs[i] = A_tan_y[i] - target + slack_of(i) * moved[i];
        drift_tan[i] = target - slack_of(i) * moved[i];
    }
    null_part(o, rhs, own, scratch);
    for (int i = 0; i < m; i++) {
        drift_tan[i] += slack_of(i) * own[i];
    }
    cri_arena_rewind(scratch, mark);
}

// ---- touches that are left out ------------------------------------------------------------------

// Laws of nets take the patch of a body in a plane by its two ends (contact/ground.h): what lies
// between them, or beside them along the hinge's axis, follows and would add nothing but rows. So
// the cost of a solve does not depend on how many touches there are.

int cri_jump_thin(const cri_world *world, int n, cri_contact_ref *ref) {
    CR_ASSERT(n > 0 && ref);
    const cri_ground_nets *nets = world->law->needs_nets ? world->model->nets : NULL;
    if (!nets || nets->is_spatial || nets->has_other) {
        return n;
    }
    double least = INFINITY, most = -INFINITY;
    int first = 0, last = 0;
    for (int i = 0; i < n; i++) {
        const cri_near *near = ref[i].near;
        if (near->body[1] != nets->body_index || near->unit[0] >= 0) {
            // something else touches as well: the law sees all of it
            return n;
        }
        double at = cri_v3_dot(nets->along, ref[i].touch->point[1]);
        first = at < least ? i : first;
        last = at > most ? i : last;
        least = fmin(least, at);
        most = fmax(most, at);
    }
    cri_contact_ref end[2] = {ref[first], ref[last]};
    ref[0] = end[0];
    if (most - least <= one_place) {
        return 1;
    }
    ref[1] = end[1];
    return 2;
}

// ---- sides of friction --------------------------------------------------------------------------

// Friction that depends on which way a contact slides: mu along a direction d of the surface, mu'
// against it (paper 003, section IV.E),
//
//   f_t . d <= 0:  |f_t| <= mu f_n        f_t . d > 0:  |f_t| <= mu' f_n
//
// for friction opposes sliding. An impulse of the plain law, whose coefficients are those of the
// sides that its own friction is on, is one of this law, and the derivatives are the same. So sides
// are tried: first those of the velocity before, then those of the impulse, until they agree. In
// the plane some choice always does; in space the two halves of the cone meet with a step along the
// line across d, where none may: the report then says that there is no solution.

// of a vector in the rows of contact a, on the second geom, along the pair's direction
static double along(const cri_world *world, const cri_jump *jump, int a, const double *z) {
    const cri_row *row = &jump->row[a];
    cri_vec3 way = world->model->pair[row->near.pair].slide;
    // the pair has its geoms in the order of the scene, the contact may have a plane first
    bool is_swapped = row->near.geom[0] != world->model->pair[row->near.pair].geom[0];
    double sum = 0.0;
    for (int r = 1; r < 3; r++) {
        sum += z[3 * a + r] * cri_v3_dot(row->frame.axis[r], way);
    }
    return is_swapped ? -sum : sum;
}

static void take_side(const cri_coefficients *c, cri_jump *jump, int a, bool is_back) {
    jump->is_back[a] = is_back;
    jump->mu[a] = is_back ? c->friction_back : c->friction;
}

/// Friction that depends on the way a contact slides (below): coefficients for the velocity
/// before; then those whose impulse is on the other side change, until none does. False: they go
/// in circles.
static void jump_begin_sides(const cri_world *world, cri_jump *jump) {
    for (int a = 0; a < jump->n; a++) {
        cri_coefficients c = cri_near_coefficients(world, &jump->row[a].near);
        if (c.has_sides) {
            take_side(&c, jump, a, along(world, jump, a, jump->b) < 0.0);
        }
    }
}

static bool jump_turn_sides(const cri_world *world, cri_jump *jump) {
    bool is_turned = false;
    for (int a = 0; a < jump->n; a++) {
        cri_coefficients c = cri_near_coefficients(world, &jump->row[a].near);
        double pull = c.has_sides ? along(world, jump, a, jump->f) : 0.0;
        if (pull != 0.0 && jump->is_back[a] != (pull > 0.0)) {
            take_side(&c, jump, a, pull > 0.0);
            is_turned = true;
        }
    }
    return is_turned;
}

// ---- assembly and solve -------------------------------------------------------------------------

size_t cri_jump_bytes(const cri_world *world, int n, const cri_contact_ref *ref) {
    CR_ASSERT(world && n > 0 && ref);
    const cri_mechanism *mech = &world->model->mech;
    size_t m = 3 * (size_t)n, n_dof = 0, n_row = 0, tree = 0, work = 0, last_bytes = 0;
    int last = -1; // contacts of one tree follow each other
    for (int a = 0; a < n; a++) {
        for (int s = 0; s < 2; s++) {
            int unit = ref[a].near->unit[s];
            if (unit < 0) {
                continue;
            }
            const cri_unit *u = &mech->unit[unit];
            n_dof += (size_t)u->n_v;
            n_row += (size_t)u->n_row;
            if (!u->is_free_body) {
                size_t need = cri_tree_scratch_bytes(mech, unit);
                last_bytes = unit == last ? last_bytes : cri_tree_room(mech, &world->d->mech, unit);
                last = unit;
                tree += last_bytes;
                work = need > work ? need : work;
            }
        }
    }
    bool has_tree = tree > 0;
    size_t wide = has_tree ? 6 * (size_t)mech->n_body + (size_t)mech->n_v : 0;
    size_t smooth = world->smoothing > 0.0 ? world->law->n_byte_smooth(n) : 0;
    return world->law->n_byte(n) + cri_jump_link_bytes(world, n) + smooth + cri_opening_bytes(n) +
           tree + work +
           sizeof(double) * (3 * m * m + (MAX_TERM + 14) * (n_dof + n_row) + 16 * m + 6 * n_dof +
                             (MAX_TERM + 8) * wide) +
           CRI_JUMP_BASES * (sizeof(double) * (m + 2 * n_dof + n_row) + sizeof(cri_jump_base)) +
           (2 * sizeof(cri_row) + sizeof(cri_block) * 2 + sizeof(block_part) +
            sizeof(double) * 80) *
               (size_t)n +
           64 * (MAX_TERM + 64) + 8192;
}

// ---- products ----------------------------------------------------------------------------------

void cri_jump_pull(const cri_world *world, const cri_jump *jump, const double *z, double *out) {
    memset(out, 0, sizeof *out * (size_t)jump->n_dof);
    for (int a = 0; a < jump->n; a++) {
        for (int s = 0; s < 2; s++) {
            const cri_block *block = &jump->block[a][s];
            if (block->place < 0) {
                continue;
            }
            int n_v = cri_jump_unit(world, jump, block->place)->n_v;
            double *o = out + jump->at[block->place];
            if (n_v == 6) {
                cri_jump_pull6(block->G, z + 3 * a, o);
                continue;
            }
            for (int r = 0; r < 3; r++) {
                double weight = z[3 * a + r];
                for (int i = 0; i < n_v; i++) {
                    o[i] += block->G[r * n_v + i] * weight;
                }
            }
        }
    }
}

void cri_jump_push(const cri_world *world, const cri_jump *jump, const double *w, double *out) {
    for (int a = 0; a < jump->n; a++) {
        for (int r = 0; r < 3; r++) {
            double sum = 0.0;
            for (int s = 0; s < 2; s++) {
                const cri_block *block = &jump->block[a][s];
                if (block->place >= 0) {
                    int n_v = cri_jump_unit(world, jump, block->place)->n_v;
                    sum += cri_dot(n_v, block->G + r * n_v, w + jump->at[block->place]);
                }
            }
            out[3 * a + r] = sum;
        }
    }
}

// W g of one unit
static void respond_unit(const cri_world *world, const cri_jump *jump, int k, const double *g,
                         double *w, double *nu, cr_arena *scratch) {
    const cri_unit *u = cri_jump_unit(world, jump, k);
    if (u->is_free_body) {
        for (int i = 0; i < u->n_v; i++) {
            w[i] = jump->W[jump->at[k] + i] * g[i];
        }
        return;
    }
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *wide = CR_PUSH_RAW(scratch, double, world->model->mech.n_v);
    memcpy(wide + u->first_v, g, sizeof *g * (size_t)u->n_v);
    cri_tree_solve(jump->state->tree[jump->unit[k]], wide, wide, nu ? nu + jump->row_at[k] : NULL);
    memcpy(w, wide + u->first_v, sizeof *w * (size_t)u->n_v);
    cri_arena_rewind(scratch, mark);
}

void cri_jump_respond(const cri_world *world, const cri_jump *jump, const double *g, double *w,
                      double *nu, cr_arena *scratch) {
    CR_ASSERT(g && w && scratch);
    for (int k = 0; k < jump->n_unit; k++) {
        respond_unit(world, jump, k, g + jump->at[k], w + jump->at[k], nu, scratch);
    }
}

void cri_jump_gather(const cri_world *world, const cri_jump *jump, const double *wide,
                     double *out) {
    for (int k = 0; k < jump->n_unit; k++) {
        const cri_unit *u = cri_jump_unit(world, jump, k);
        memcpy(out + jump->at[k], wide + u->first_v, sizeof *out * (size_t)u->n_v);
    }
}

void cri_jump_scatter(const cri_world *world, const cri_jump *jump, const double *in,
                      double *wide) {
    for (int k = 0; k < jump->n_unit; k++) {
        const cri_unit *u = cri_jump_unit(world, jump, k);
        memcpy(wide + u->first_v, in + jump->at[k], sizeof *in * (size_t)u->n_v);
    }
}

void cri_jump_clear(const cri_world *world, const cri_jump *jump, double *v) {
    for (int k = 0; k < jump->n_unit; k++) {
        const cri_unit *u = cri_jump_unit(world, jump, k);
        memset(v + u->first_v, 0, sizeof *v * (size_t)u->n_v);
    }
}

void cri_jump_clear_force(const cri_world *world, const cri_jump *jump, double *force) {
    for (int k = 0; k < jump->n_unit; k++) {
        const cri_unit *u = cri_jump_unit(world, jump, k);
        if (!u->is_free_body) {
            memset(force + 6 * u->first_body, 0, sizeof *force * 6 * (size_t)u->n_body);
        }
    }
}

void cri_jump_body_force(const cri_world *world, const cri_jump *jump, const cri_row *row,
                         const double *z, double *force) {
    CR_ASSERT(row && z && force);
    for (int a = 0; a < jump->n; a++) {
        const cri_near *near = &jump->row[a].near;
        for (int s = 0; s < 2 && near->kind != CRI_NEAR_LIMIT; s++) {
            if (near->unit[s] < 0 || world->model->mech.unit[near->unit[s]].is_free_body) {
                continue;
            }
            cri_jump_pull6(row[a].J[s][0], z + 3 * a, force + 6 * near->body[s]);
        }
    }
}

// do nets know another body than one of these, or another surface?
static bool has_foreign(const cri_world *world, const cri_jump *jump) {
    const cri_ground_nets *nets = world->law->needs_nets ? world->model->nets : NULL;
    bool has = false;
    for (int a = 0; nets && a < jump->n; a++) {
        const cri_near *near = &jump->row[a].near;
        bool is_other = nets->has_other ? near->body[0] != nets->other_index : near->unit[0] >= 0;
        has = has || near->kind == CRI_NEAR_LIMIT || is_other || near->body[1] != nets->body_index;
    }
    return has;
}

cri_contact_problem cri_jump_problem(const cri_world *world, const cri_jump *jump) {
    CR_ASSERT(jump->n > 0 && jump->row);
    return (cri_contact_problem){.n = jump->n,
                                 .A = jump->A,
                                 .b = jump->b,
                                 .mu = jump->mu,
                                 .e = jump->e,
                                 .target = jump->target,
                                 .drift = jump->opening.n > 0 ? jump->opening.drift : NULL,
                                 .pivots = jump->opening.psd.n > 0 ? &jump->opening.psd : NULL,
                                 .is_plain = jump->is_plain,
                                 .has_e = jump->has_e,
                                 .nets = world->model->nets,
                                 .weights = world->d->weights,
                                 .outside = world->outside,
                                 .is_foreign = has_foreign(world, jump),
                                 .link = jump->link};
}

// where contacts are along the tangents, for nets in space; NULL: not wanted, or frames differ
static const double *places(const cri_world *world, const cri_jump *jump, cr_arena *keep) {
    const cri_ground_nets *nets = world->law->needs_nets ? world->model->nets : NULL;
    if (!nets || !nets->is_spatial) {
        return NULL;
    }
    double *place = CR_PUSH_RAW(keep, double, 2 * jump->n);
    for (int a = 0; a < jump->n; a++) {
        const cri_row *row = &jump->row[a];
        for (int r = 0; r < 2; r++) {
            place[2 * a + r] = cri_v3_dot(row->touch.point[1], row->frame.axis[r + 1]);
        }
    }
    return place;
}

// the block_part of b that forces made, for nets that want it
static const double *applied(const cri_world *world, const cri_jump *jump, cr_arena *keep) {
    const cri_ground_nets *nets = world->law->needs_nets ? world->model->nets : NULL;
    if (!nets || !nets->has_applied || !jump->before) {
        return NULL;
    }
    double *own = CR_PUSH_RAW(keep, double, jump->n_dof);
    double *out = CR_PUSH_RAW(keep, double, 3 * jump->n);
    cri_jump_gather(world, jump, jump->before, own);
    cri_jump_push(world, jump, own, out);
    for (int i = 0; i < 3 * jump->n; i++) {
        out[i] = jump->b[i] - out[i];
    }
    return out;
}

// ---- assembly ----------------------------------------------------------------------------------

// place of a unit in the island, added when it is new
static int place_of(const cri_world *world, cri_jump *jump, int unit) {
    for (int k = 0; k < jump->n_unit; k++) {
        if (jump->unit[k] == unit) {
            return k;
        }
    }
    const cri_unit *u = &world->model->mech.unit[unit];
    int k = jump->n_unit++;
    jump->unit[k] = unit;
    jump->at[k] = jump->n_dof;
    jump->row_at[k] = jump->n_row;
    jump->n_dof += u->n_v;
    jump->n_row += u->n_row;
    jump->has_tree = jump->has_tree || !u->is_free_body;
    return k;
}

// G of one side in a tree's dofs: rows of J through K, or those of a limit; adds to G
static void fill_tree_block(const cri_world *world, const cri_jump *jump, int a, int s, double *G) {
    const cri_row *row = &jump->row[a];
    int unit = row->near.unit[s];
    const cri_unit *u = &world->model->mech.unit[unit];
    if (row->near.kind == CRI_NEAR_LIMIT) {
        const cri_limit *l = &world->model->limit[row->near.limit];
        cri_limit_add_row(l, jump->state->x, 1.0, u->first_v, G);
        return;
    }
    cri_tree_pull_rows(jump->state->tree[unit], row->near.body[s], 3, row->J[s][0], G);
}

// the blocks of contact a
static void fill_blocks(const cri_world *world, cri_jump *jump, int a, cr_arena *keep,
                        cr_arena *scratch) {
    const cri_row *row = &jump->row[a];
    jump->block[a][0].place = jump->block[a][1].place = -1;
    bool is_one = row->near.unit[0] == row->near.unit[1];
    for (int s = 1; s >= 0; s--) {
        int unit = row->near.unit[s];
        if (unit < 0 || (s == 0 && is_one)) {
            continue;
        }
        cri_block *block = &jump->block[a][s];
        const cri_unit *u = &world->model->mech.unit[unit];
        block->place = place_of(world, jump, unit);
        if (u->is_free_body) {
            block->G = row->J[s][0];
            continue;
        }
        double *G = CR_PUSH(keep, double, 6 * u->n_v), *Y = G + 3 * u->n_v;
        fill_tree_block(world, jump, a, s, G);
        if (is_one && row->near.kind != CRI_NEAR_LIMIT) {
            fill_tree_block(world, jump, a, 0, G);
        }
        // a limit has one row
        int n_row = row->near.kind == CRI_NEAR_LIMIT ? 1 : 3;
        block->G = block->right = G;
        block->left = Y;
        if (u->n_row == 0) {
            cri_tree_half_rows(jump->state->tree[unit], n_row, G, Y);
            block->right = Y;
            continue;
        }
        for (int r = 0; r < n_row; r++) {
            respond_unit(world, jump, block->place, G + r * u->n_v, Y + r * u->n_v, NULL, scratch);
        }
    }
}

// the blocks of unit k; returns their number
static int find_parts(const cri_world *world, const cri_jump *jump, int k, block_part *parts) {
    const double *W = jump->W + jump->at[k];
    bool is_free = cri_jump_unit(world, jump, k)->is_free_body;
    int n = 0;
    for (int a = 0; a < jump->n; a++) {
        const cri_block *block = &jump->block[a][jump->block[a][0].place == k ? 0 : 1];
        if (block->place != k) {
            continue;
        }
        block_part *p = &parts[n++];
        p->contact = a;
        p->n = jump->row[a].near.kind == CRI_NEAR_LIMIT ? 1 : 3;
        p->left = is_free ? p->GW : block->left;
        p->right = is_free ? block->G : block->right;
        for (int r = 0; is_free && r < 18; r += 6) {
            for (int i = 0; i < 6; i++) {
                p->GW[r + i] = block->G[r + i] * W[i];
                p->Gt[4 * i + r / 6] = block->G[r + i];
                p->Gt[4 * i + 3] = 0.0;
            }
        }
    }
    return n;
}

// A_ab += G_a W G_b' for one shared unit with n_v dofs
static void add_block(const cri_jump *jump, int n_v, const block_part *a, const block_part *b) {
    size_t m = 3 * (size_t)jump->n;
    double *A = jump->A + 3 * (size_t)a->contact * m + 3 * (size_t)b->contact;
    for (int r = 0; r < a->n; r++, A += m) {
        const double *left = a->left + r * n_v;
        for (int c = 0; c < b->n; c++) {
            A[c] += cri_dot(n_v, left, b->right + c * n_v);
        }
    }
}

// the same for a free body
static void add_free_block(const cri_jump *jump, const block_part *a, const block_part *b) {
    size_t m = 3 * (size_t)jump->n;
    double *A = jump->A + 3 * (size_t)a->contact * m + 3 * (size_t)b->contact;
    for (int r = 0; r < 3; r++, A += m) {
        const double *left = a->GW + 6 * r;
        double sum[4] = {0.0, 0.0, 0.0, 0.0};
        for (int i = 0; i < 6; i++) {
            for (int c = 0; c < 4; c++) {
                sum[c] += left[i] * b->Gt[4 * i + c];
            }
        }
        A[0] += sum[0];
        A[1] += sum[1];
        A[2] += sum[2];
    }
}

// A_ba = A_ab', so that A is symmetric to the last bit
static void mirror_block(const cri_jump *jump, int a, int b) {
    size_t m = 3 * (size_t)jump->n;
    const double *from = jump->A + 3 * (size_t)a * m + 3 * (size_t)b;
    double *to = jump->A + 3 * (size_t)b * m + 3 * (size_t)a;
    for (size_t r = 0; r < 3; r++) {
        for (size_t c = 0; c < 3; c++) {
            to[c * m + r] = from[r * m + c];
        }
    }
}

// across a limit nothing moves, along a frictionless tangent nothing acts: any positive entry keeps
// the impulse of such a row at zero
static void fill_empty_rows(const cri_jump *jump, int a) {
    const cri_row *row = &jump->row[a];
    size_t to_next = 3 * (size_t)jump->n + 1, at = 3 * (size_t)a * to_next;
    for (size_t r = 1; r < 3; r++) {
        if (row->near.kind == CRI_NEAR_LIMIT || row->ellipse.scale[r] == 0.0) {
            jump->A[at + r * to_next] = jump->A[at];
        }
    }
}

static void assemble(const cri_world *world, const cri_jump *jump, cr_arena *scratch) {
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    block_part *parts = CR_PUSH_RAW(scratch, block_part, jump->n);
    for (int k = 0; k < jump->n_unit; k++) {
        int n_v = cri_jump_unit(world, jump, k)->n_v, n = find_parts(world, jump, k, parts);
        bool is_free = cri_jump_unit(world, jump, k)->is_free_body;
        for (int i = 0; i < n; i++) {
            for (int j = i; j < n; j++) {
                if (is_free) {
                    add_free_block(jump, &parts[i], &parts[j]);
                } else {
                    add_block(jump, n_v, &parts[i], &parts[j]);
                }
                // two units may share a pair of contacts: the last of them has the sum
                mirror_block(jump, parts[i].contact, parts[j].contact);
            }
        }
    }
    for (int a = 0; a < jump->n; a++) {
        fill_empty_rows(jump, a);
    }
    cri_arena_rewind(scratch, mark);
}

static void push_arrays(cri_jump *jump, cr_arena *keep) {
    int n = jump->n;
    jump->row = CR_PUSH_RAW(keep, cri_row, n);
    jump->block = cri_arena_push_raw(keep, sizeof *jump->block * (size_t)n);
    jump->unit = CR_PUSH_RAW(keep, int, 6 * n);
    jump->at = jump->unit + 2 * n;
    jump->row_at = jump->at + 2 * n;
    jump->A = CR_PUSH_RAW(keep, double, 9 * n * n + 9 * n);
    cri_clear_rows(3 * n, 3 * n, jump->A);
    jump->b = jump->A + 9 * n * n;
    jump->f = jump->b + 3 * n;
    jump->mu = jump->f + 3 * n;
    jump->e = jump->mu + n;
    jump->target = jump->e + n;
    cri_clear_rows(1, 9 * n, jump->b);
    jump->is_plain = CR_PUSH(keep, bool, 4 * n);
    jump->has_e = jump->is_plain + n;
    jump->is_sliding = jump->has_e + n;
    jump->is_back = jump->is_sliding + n;
}

// trees at the state, and inverse inertia of free bodies
static void prepare_units(const cri_world *world, cri_jump *jump, cr_arena *keep,
                          cr_arena *scratch) {
    const cri_mechanism *mech = &world->model->mech;
    int n_dof = 0;
    for (int a = 0; a < jump->n; a++) {
        for (int s = 0; s < 2; s++) {
            int unit = jump->row[a].near.unit[s];
            n_dof += unit >= 0 ? mech->unit[unit].n_v : 0;
            if (unit >= 0 && !mech->unit[unit].is_free_body) {
                cri_tree *tree =
                    cri_state_tree(world->model, world->d, jump->state, unit, keep, scratch);
                CR_ASSERT(tree); // the caller has reserved room
            }
        }
    }
    jump->W = CR_PUSH_RAW(keep, double, 2 * n_dof);
    jump->v = jump->W + n_dof;
}

void cri_jump_begin(const cri_world *world, int n, const cri_contact_ref *ref, cri_state *state,
                    cri_jump *jump, cr_arena *keep, cr_arena *scratch) {
    CR_ASSERT(world && ref && state && jump && keep && scratch);
    CR_ASSERT(n > 0);
    *jump = (cri_jump){.n = n, .state = state, .n_byte = cri_jump_bytes(world, n, ref)};
    push_arrays(jump, keep);
    for (int a = 0; a < n; a++) {
        cri_row_at(world, ref[a].near, ref[a].touch, state, &jump->row[a]);
        cri_coefficients c = cri_near_coefficients(world, ref[a].near);
        jump->mu[a] = c.friction;
        jump->e[a] = c.restitution;
        jump->has_e[a] = true;
        jump->has_sides = jump->has_sides || c.has_sides;
    }
    prepare_units(world, jump, keep, scratch);
    for (int a = 0; a < n; a++) {
        fill_blocks(world, jump, a, keep, scratch);
    }
    for (int k = 0; k < jump->n_unit; k++) {
        const cri_unit *u = cri_jump_unit(world, jump, k);
        if (u->is_free_body) {
            cri_jump_load_inverse(&world->d->body[u->first_body], jump->W + jump->at[k]);
        }
    }
    assemble(world, jump, scratch);
}

// room for the responses that tangents keep
static void push_bases(cri_jump *jump, cr_arena *keep) {
    int m = 3 * jump->n, n = m + 2 * jump->n_dof + jump->n_row;
    jump->n_base = CR_PUSH(keep, int, 1);
    jump->base = CR_PUSH_RAW(keep, cri_jump_base, CRI_JUMP_BASES);
    double *at = CR_PUSH_RAW(keep, double, CRI_JUMP_BASES *n);
    for (int k = 0; k < CRI_JUMP_BASES; k++, at += n) {
        double *g = at + m;
        jump->base[k] = (cri_jump_base){at, g, g + jump->n_dof, g + 2 * jump->n_dof};
    }
}

// Targets become what can be had. A contact that has to give way for another leaves its
// restitution: Newton's max(e ..., target) would not let it.
static void find_opening(cri_jump *jump, bool has_cache, cr_arena *keep, cr_arena *scratch) {
    const cri_opening *o = &jump->opening;
    cri_opening_find(jump->n, jump->A, jump->target, has_cache, &jump->opening, keep, scratch);
    double most = 0.0;
    for (int a = 0; a < o->n; a++) {
        most = fmax(most, fabs(o->drift[3 * a]));
    }
    for (int a = 0; a < o->n; a++) {
        // a thousandth of the largest: less is rounding, or gaps that agree to first order
        bool gives_way = jump->target[a] >= 0.0 && o->drift[3 * a] < -1e-3 * most;
        jump->is_plain[a] = jump->is_plain[a] || gives_way;
        jump->target[a] = o->drift[3 * a];
    }
}

// what has a frictionless tangent slides, whatever the other does. Where that one sticks,
// velocities grow with |mu| of the frictionless one, a kink whose derivative is taken to be zero.
static void note_frictionless(cri_jump *jump) {
    for (int a = 0; a < jump->n; a++) {
        const double *scale = jump->row[a].ellipse.scale;
        if ((scale[1] == 0.0 || scale[2] == 0.0) && jump->f[3 * a] > 0.0) {
            jump->report.is_one_sided = jump->report.is_one_sided || !jump->is_sliding[a];
            jump->is_sliding[a] = true;
        }
    }
}

// the law's solve, once more for each turn of a side
static void solve_by_law(const cri_world *world, cri_jump *jump, bool has_cache, cr_arena *keep,
                         cr_arena *scratch) {
    cri_contact_problem problem = cri_jump_problem(world, jump);
    problem.link = problem.is_foreign ? NULL : cri_jump_link(world, jump, keep, scratch);
    problem.place = problem.is_foreign ? NULL : places(world, jump, keep);
    problem.applied = applied(world, jump, keep);
    problem.where = cri_jump_where(world, jump);
    jump->link = problem.link;
    problem.smoothing = world->smoothing;
    if (jump->has_sides) {
        jump_begin_sides(world, jump);
    }
    cri_arena_mark mark = cri_arena_get_mark(keep);
    jump->law_cache = world->law->solve(&problem, jump->f, has_cache, &jump->report, keep, scratch);
    int n_try = 2 * jump->n + 2;
    while (jump->has_sides && jump_turn_sides(world, jump)) {
        if (n_try-- == 0) {
            jump->report.outcome = CR_ITERATION_LIMIT;
            return;
        }
        cri_arena_rewind(keep, mark);
        jump->report = (cri_law_report){.margin = 1.0, .is_sliding = jump->is_sliding};
        jump->law_cache =
            world->law->solve(&problem, jump->f, has_cache, &jump->report, keep, scratch);
    }
}

void cri_jump_solve(const cri_world *world, cri_jump *jump, const double *v, bool has_cache,
                    double *v_out, cr_arena *keep, cr_arena *scratch) {
    CR_ASSERT(jump->n > 0 && v && v_out && keep && scratch);
    cri_jump_gather(world, jump, v, jump->v);
    cri_jump_push(world, jump, jump->v, jump->b);
    jump->opening = (cri_opening){0};
    jump->report = (cri_law_report){.margin = 1.0, .is_sliding = jump->is_sliding};
    bool is_finite = cri_all_finite(3 * jump->n, jump->b) && cri_all_finite(jump->n, jump->target);
    for (int i = 0; i < 3 * jump->n; i++) {
        // A_ij^2 <= A_ii A_jj: no other entry is larger
        is_finite = is_finite && isfinite(jump->A[(size_t)i * (3 * (size_t)jump->n + 1)]);
    }
    if (!is_finite) {
        // speeds or levers beyond all numbers: no impulse, and the report says so
        memset(jump->f, 0, sizeof *jump->f * 3 * (size_t)jump->n);
        jump->report.outcome = CR_ITERATION_LIMIT;
        jump->law_cache = NULL;
        cri_jump_scatter(world, jump, jump->v, v_out);
        return;
    }
    find_opening(jump, has_cache, keep, scratch);
    solve_by_law(world, jump, has_cache, keep, scratch);
    note_frictionless(jump);
    jump->base = NULL;
    if (has_cache) {
        push_bases(jump, keep);
    }

    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *w = CR_PUSH_RAW(scratch, double, jump->n_dof);
    cri_jump_pull(world, jump, jump->f, w);
    cri_jump_respond(world, jump, w, w, NULL, scratch);
    for (int i = 0; i < jump->n_dof; i++) {
        w[i] += jump->v[i];
    }
    cri_jump_scatter(world, jump, w, v_out);
    cri_arena_rewind(scratch, mark);
}
