// SPDX-License-Identifier: MIT
//
// The sum of all frictions of slip.c with its derivatives. Of one slip, t_1 and t_2 along its
// plane, a corner at r moves along them by a_j = (r x t_j, t_j) . (w, v), and
//
//   gradient   sum q_k e_kj a_kj/h                  N of a side: sum_j t_j (sum q e_j r)'
//   Hessian    sum K_ij a_i a_j' (own blocks) - Y' (sum K)^-1 Y, over h^2;  Y_i = sum K_ij a_j
//
// in (turn of a, shift of a, turn of b): a shift of both changes nothing. Four slips at once, a
// lane each; lanes without a slip repeat the first and weigh nothing.

#include "energy/slip_parts.h"

#include <math.h>
#include <string.h>

/// A vertex over the step: (x' - x)/h, and x' from the body's origin.
typedef struct moved_point {
    cri_vec3 w, r;
} moved_point;

/// What a pair adds, four sums of each number.
typedef struct pair_lanes {
    cri_lane value, F[2][3], N[2][9], H[9][9]; // H: upper triangle
} pair_lanes;

typedef struct pair_sum {
    double value, F[2][3], N[2][9], H[144];
} pair_sum;

/// Four slips in place.
typedef struct quartet {
    int n; // that are not repeated
    cri_slip *slip[CRI_LANES];
    cri_lane3 t[2], r[6];
    cri_slip_lanes flat;
} quartet;

static void gather(const moved_point *point, quartet *of) {
    static const moved_point still;
    const double *at[CRI_LANES];
    cri_lane3 w;
    for (int j = 0; j < 2; j++) {
        for (int i = 0; i < CRI_LANES; i++) {
            at[i] = &of->slip[i]->t[j].x;
        }
        of->t[j] = cri_l3_load(at);
    }
    for (int k = 0; k < 6; k++) {
        const double *back[CRI_LANES];
        for (int i = 0; i < CRI_LANES; i++) {
            const cri_slip *s = of->slip[i];
            const moved_point *p = k < s->n && s->point[k] >= 0 ? &point[s->point[k]] : &still;
            at[i] = &p->w.x;
            back[i] = &p->r.x;
            of->flat.a[k][i] = k < s->n ? s->a[k] : 0.0;
        }
        w = cri_l3_load(at);
        of->r[k] = cri_l3_load(back);
        of->flat.w[0][k] = cri_l3_dot(of->t[0], w);
        of->flat.w[1][k] = cri_l3_dot(of->t[1], w);
    }
}

/// Lists a slip among the strongest of its pair.
static void add_knee(const quartet *of, int lane, double h, cri_slip_knees *knees) {
    const cri_slip *s = of->slip[lane];
    double total[2] = {0.0, 0.0};
    for (int k = 0; k < s->n; k++) {
        total[k / 3] += s->a[k];
    }
    cri_slip_knee *knee = cri_slip_knee_place(knees, total[0]);
    if (!knee) {
        return;
    }
    memset(knee, 0, sizeof *knee);
    knee->strength = total[0];
    for (int k = 0; k < s->n; k++) {
        if (s->point[k] < 0) {
            continue;
        }
        double part = (k < 3 ? 1.0 : -1.0) * s->a[k] / total[k / 3];
        for (int j = 0; j < 2; j++) {
            double *g = knee->g[j] + 6 * (k / 3);
            cri_vec3 along = cri_v3_scale(part / h, s->t[j]);
            cri_v3_accumulate(cri_v3_cross(cri_l3_get(&of->r[k], lane), along), g);
            cri_v3_accumulate(along, g + 3);
            knee->y[j] += part * of->flat.w[j][k][lane];
        }
    }
}

static void store3(cri_lane3 v, cri_lane *out) {
    out[0] = v.x;
    out[1] = v.y;
    out[2] = v.z;
}

/// H += a b' for the 3 x 3 block at a row and a column, at and above its diagonal or all of it
static void add_block(cri_lane3 a, cri_lane3 b, int row, int column, cri_lane H[9][9]) {
    const cri_lane u[3] = {a.x, a.y, a.z}, v[3] = {b.x, b.y, b.z};
    for (int i = 0; i < 3; i++) {
        for (int j = row == column ? i : 0; j < 3; j++) {
            H[row + i][column + j] += u[i] * v[j];
        }
    }
}

/// Gradient of a side.
static void add_forces(const quartet *of, const cri_slip_flat *f, int side, pair_lanes *out) {
    for (int j = 0; j < 2; j++) {
        cri_lane sum = cri_lane_of(0.0), F[3];
        cri_lane3 arm = {sum, sum, sum};
        for (int k = 3 * side; k < 3 * side + 3; k++) {
            cri_lane push = f->q[k] * f->e[j][k];
            sum += push;
            arm = cri_l3_mad(arm, push, of->r[k]);
        }
        const cri_lane t[3] = {of->t[j].x, of->t[j].y, of->t[j].z};
        store3(cri_l3_scale(sum, of->t[j]), F);
        for (int i = 0; i < 3; i++) {
            out->F[side][i] += F[i];
            out->N[side][3 * i] += t[i] * arm.x;
            out->N[side][3 * i + 1] += t[i] * arm.y;
            out->N[side][3 * i + 2] += t[i] * arm.z;
        }
    }
}

/// Y of a side, and its own block; the shift of the second is left out.
static void add_side(const quartet *of, const cri_slip_flat *f, int side, cri_lane Y[2][9],
                     cri_lane H[9][9]) {
    cri_lane zero = cri_lane_of(0.0), S[3] = {zero, zero, zero};
    cri_lane3 c[2] = {{zero, zero, zero}, {zero, zero, zero}};
    int at = 6 * side;
    for (int k = 3 * side; k < 3 * side + 3; k++) {
        cri_lane3 a[2] = {cri_l3_cross(of->r[k], of->t[0]), cri_l3_cross(of->r[k], of->t[1])};
        for (int j = 0; j < 2; j++) {
            cri_lane3 one = cri_l3_mad(cri_l3_scale(f->K[j][k], a[0]), f->K[j + 1][k], a[1]);
            add_block(a[j], one, at, at, H);
            c[j] = cri_l3_add(c[j], one);
        }
        for (int j = 0; j < 3; j++) {
            S[j] += f->K[j][k];
        }
    }
    for (int j = 0; j < 2; j++) {
        store3(c[j], Y[j] + at);
        if (side == 0) {
            cri_lane3 shift = cri_l3_mad(cri_l3_scale(S[j], of->t[0]), S[j + 1], of->t[1]);
            store3(shift, Y[j] + 3);
            add_block(c[j], of->t[j], 0, 3, H);
            add_block(of->t[j], shift, 3, 3, H);
        }
    }
}

/// H -= Y' (sum K)^-1 Y
static void take_product(const cri_lane S[3], cri_lane Y[2][9], cri_mask is_used,
                         cri_lane H[9][9]) {
    cri_lane m = S[1] / S[0], zero = cri_lane_of(0.0);
    cri_lane first = cri_lane_select(is_used, -1.0 / S[0], zero);
    cri_lane second = cri_lane_select(is_used, -1.0 / (S[2] - m * S[1]), zero);
    for (int i = 0; i < 9; i++) {
        Y[1][i] -= m * Y[0][i];
    }
    for (int i = 0; i < 9; i++) {
        cri_lane a = first * Y[0][i], b = second * Y[1][i];
        for (int j = i; j < 9; j++) {
            H[i][j] += a * Y[0][j] + b * Y[1][j];
        }
    }
}

/// Takes lanes that repeat another out of the sums.
static void mask_lanes(cri_mask is_used, cri_slip_flat *f) {
    cri_lane zero = cri_lane_of(0.0);
    f->value = cri_lane_select(is_used, f->value, zero);
    for (int k = 0; k < 6; k++) {
        f->q[k] = cri_lane_select(is_used, f->q[k], zero);
        for (int j = 0; j < 3; j++) {
            f->K[j][k] = cri_lane_select(is_used, f->K[j][k], zero);
        }
    }
}

static void add_slips(quartet *of, double speed, double h, const moved_point *point,
                      cri_slip_knees *knees, bool has_H, pair_lanes *out) {
    cri_lane shift[2], Y[2][9];
    cri_slip_flat f;
    cri_mask is_used = cri_mask_first(of->n);
    for (int i = of->n; i < CRI_LANES; i++) {
        of->slip[i] = of->slip[0];
    }
    gather(point, of);
    for (int j = 0; j < 2; j++) {
        for (int i = 0; i < CRI_LANES; i++) {
            shift[j][i] = of->slip[i]->shift[j];
        }
    }
    cri_slip_flatten(&of->flat, speed, shift, &f);
    for (int i = 0; i < of->n; i++) {
        of->slip[i]->shift[0] = shift[0][i];
        of->slip[i]->shift[1] = shift[1][i];
        if (knees) {
            add_knee(of, i, h, knees);
        }
    }
    if (of->n < CRI_LANES) {
        mask_lanes(is_used, &f);
    }
    out->value += f.value;
    add_forces(of, &f, 0, out);
    add_forces(of, &f, 1, out);
    if (has_H) {
        add_side(of, &f, 0, Y, out->H);
        add_side(of, &f, 1, Y, out->H);
        take_product(f.sum, Y, is_used, out->H);
    }
    of->n = 0;
}

static void reduce(const pair_lanes *from, double h, pair_sum *out) {
    double inv = 1.0 / h;
    out->value = cri_lane_sum(from->value);
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 3; k++) {
            out->F[i][k] = inv * cri_lane_sum(from->F[i][k]);
        }
        for (int k = 0; k < 9; k++) {
            out->N[i][k] = inv * cri_lane_sum(from->N[i][k]);
        }
    }
    for (int i = 0; i < 12; i++) {
        for (int j = i; j < 12; j++) {
            // a shift of the second is one of the first back
            int row = i < 9 ? i : i - 6, column = j < 9 ? j : j - 6;
            int low = row < column ? row : column, high = row < column ? column : row;
            double sign = (i < 9) == (j < 9) ? 1.0 : -1.0;
            double value = sign * inv * inv * cri_lane_sum(from->H[low][high]);
            out->H[12 * i + j] = value;
            out->H[12 * j + i] = value;
        }
    }
}

static cri_pose pose_of(const cri_potential *p, int mantle, const cri_pose *pose) {
    int body = p->mantle[mantle].body;
    return body >= 0 ? pose[body] : cri_model_static_pose(p->model, -1);
}

static void move_points(const cri_potential *p, const cri_slip_list *list, int pair,
                        const cri_pose *pose, moved_point *point) {
    const cri_slip_point *from = list->point + list->first_point[pair];
    int n = list->first_point[pair + 1] - list->first_point[pair];
    for (int i = 0; i < n; i++) {
        int mantle = p->pair[pair].mantle[from[i].side];
        cri_pose at = pose_of(p, mantle, pose);
        cri_vec3 local = cri_v3_load(p->mantle[mantle].vertex + 3 * (size_t)from[i].vertex);
        point[i].r = cri_m3_mul(&at.R, local);
        cri_vec3 x = cri_v3_add(at.pos, point[i].r);
        point[i].w = cri_v3_scale(1.0 / list->h, cri_v3_sub(x, from[i].x));
    }
}

static void sum_pair(const cri_potential *p, const cri_slip_list *list, int pair,
                     const cri_pose *pose, bool has_H, cri_slip_knees *knees, moved_point *point,
                     pair_sum *out) {
    pair_lanes sum;
    quartet of;
    of.n = 0;
    memset(&sum, 0, sizeof sum);
    move_points(p, list, pair, pose, point);
    for (int i = list->first[pair]; i < list->first[pair + 1]; i++) {
        if (list->slip[i].n > 0) {
            of.slip[of.n++] = &list->slip[i];
        }
        if (of.n == CRI_LANES) {
            add_slips(&of, p->slip, list->h, point, knees, has_H, &sum);
        }
    }
    if (of.n > 0) {
        add_slips(&of, p->slip, list->h, point, knees, has_H, &sum);
    }
    reduce(&sum, list->h, out);
}

static void add_to_bodies(const cri_potential *p, int pair, const cri_frames *frames,
                          const pair_sum *one, const cri_body_sum *sum) {
    int body[2];
    cri_potential_bodies(p, pair, body);
    for (int i = 0; i < 2; i++) {
        for (int k = 0; sum->F && body[i] >= 0 && k < 3; k++) {
            sum->F[3 * body[i] + k] += one->F[i][k];
        }
        for (int k = 0; sum->F && body[i] >= 0 && k < 9; k++) {
            sum->N[9 * body[i] + k] += one->N[i][k];
        }
    }
    if (sum->H) {
        cri_frames_add_block(frames, body[0], body[0], one->H, 12, sum->H);
        cri_frames_add_block(frames, body[1], body[1], one->H + 12 * 6 + 6, 12, sum->H);
        cri_frames_add_block(frames, body[0], body[1], one->H + 6, 12, sum->H);
    }
}

double cri_slip_sum(const cri_potential *p, const cri_slip_list *list, const cri_frames *frames,
                    const cri_body_sum *sum, cri_slip_knees *knees, cr_arena *scratch) {
    int n_all = p->n_pair + p->n_half;
    double value = 0.0;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    pair_sum *one = CR_PUSH_RAW(scratch, pair_sum, n_all);
    moved_point *point = CR_PUSH_RAW(scratch, moved_point, list->first_point[n_all]);
    if (!one || !point) {
        cri_arena_rewind(scratch, mark);
        return NAN;
    }
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic, 1) if (p->work >= CRI_MUCH_WORK)
#endif
    for (int i = 0; i < n_all; i++) {
        int k = p->order[i];
        cri_slip_knees *at = knees ? &knees[k] : NULL;
        if (at) {
            at->n = 0;
        }
        if (list->first[k + 1] > list->first[k]) {
            moved_point *own = point + list->first_point[k];
            sum_pair(p, list, k, frames->pose, sum->H != NULL, at, own, &one[k]);
        }
    }
    for (int k = 0; k < n_all; k++) {
        if (list->first[k + 1] > list->first[k]) {
            value += one[k].value;
            add_to_bodies(p, k, frames, &one[k], sum);
        }
    }
    cri_arena_rewind(scratch, mark);
    return value;
}
