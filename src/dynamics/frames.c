// SPDX-License-Identifier: MIT
//
//   twist of a dof:  dx/dq_j = w_j x x + v_j;  hinge (axis, anchor x axis), slide (0, axis), ball
//   (R e_k, anchor x R e_k), free (0, e_k) and (R e_k, p x R e_k)
//
// For i an ancestor of j or j itself, d2x/dq_i dq_j = w_i x (dx/dq_j). With sums over all bodies
// below j about the world's origin, F = sum f and N = sum f x',
//
//   H_ij += w_i . (N' w_j - tr(N) w_j + v_j x F),
//
// symmetrised over the axes of one ball or free joint, whose coordinates are exponential. The
// linear dofs of a free joint do not turn what comes after them, so that w = 0 says it all.

#include "dynamics/frames.h"

#include <string.h>

static bool push_arrays(const cr_model *model, cr_arena *arena, cri_frames *out) {
    out->model = model;
    out->pose = CR_PUSH(arena, cri_pose, model->mech.n_body);
    out->w = CR_PUSH(arena, cri_vec3, model->mech.n_v);
    out->v = CR_PUSH(arena, cri_vec3, model->mech.n_v);
    for (int b = 0; out->pose && b < model->mech.n_body; b++) {
        out->pose[b] = cri_model_static_pose(model, model->mech.link[b].unit < 0 ? b : -1);
    }
    return out->pose && out->w && out->v;
}

static int depth_of(const cri_mechanism *mech, int body) {
    int n = 0;
    for (int j = mech->link[body].node; j >= 0; j = mech->joint[j].parent) {
        n += mech->joint[j].n_v;
    }
    return n;
}

bool cri_frames_push(const cr_model *model, cr_arena *arena, cri_frames *out) {
    const cri_mechanism *mech = &model->mech;
    *out = (cri_frames){0};
    int *first = CR_PUSH(arena, int, mech->n_body + 1), n = 0;
    for (int b = 0; first && b < mech->n_body; b++) {
        first[b] = n;
        n += depth_of(mech, b);
    }
    int *path = first ? CR_PUSH(arena, int, n) : NULL;
    if (!path) {
        return false;
    }
    first[mech->n_body] = n;
    for (int b = 0; b < mech->n_body; b++) {
        int at = first[b + 1];
        for (int j = mech->link[b].node; j >= 0; j = mech->joint[j].parent) {
            for (int k = mech->joint[j].n_v - 1; k >= 0; k--) {
                path[--at] = mech->joint[j].v + k;
            }
        }
    }
    out->first = first;
    out->path = path;
    return push_arrays(model, arena, out);
}

bool cri_frames_push_like(const cri_frames *other, cr_arena *arena, cri_frames *out) {
    *out = *other;
    return push_arrays(other->model, arena, out);
}

static void set_turns(cri_frames *f, int first, const cri_mat3 *R, cri_vec3 about) {
    for (int k = 0; k < 3; k++) {
        f->w[first + k] = cri_v3(R->m[k], R->m[3 + k], R->m[6 + k]);
        f->v[first + k] = cri_v3_cross(about, f->w[first + k]);
    }
}

// turns about the anchor; the anchor stays
static void turn(cri_pose *at, const cri_joint *j, cri_vec3 anchor, cri_quat q) {
    cri_mat3 by = cri_quat_rotation(q);
    at->R = cri_m3_product(&at->R, &by);
    at->pos = cri_v3_sub(anchor, cri_m3_mul(&at->R, j->pos));
}

static void apply_joint(cri_frames *f, const cri_joint *j, const double *q, cri_pose *at) {
    cri_vec3 anchor = cri_v3_add(at->pos, cri_m3_mul(&at->R, j->pos));
    cri_vec3 axis = cri_m3_mul(&at->R, j->axis);
    switch (j->kind) {
    case CRI_JOINT_FREE:
        *at = (cri_pose){cri_v3_load(q), cri_quat_rotation(cri_q4_load(q + 3))};
        for (int k = 0; k < 3; k++) {
            f->w[j->v + k] = cri_v3(0.0, 0.0, 0.0);
            f->v[j->v + k] = cri_v3(k == 0, k == 1, k == 2);
        }
        set_turns(f, j->v + 3, &at->R, at->pos);
        break;
    case CRI_JOINT_BALL:
        turn(at, j, anchor, cri_q4_load(q));
        set_turns(f, j->v, &at->R, anchor);
        break;
    case CRI_JOINT_HINGE:
        turn(at, j, anchor, cri_quat_exp(cri_v3_scale(q[0] - j->ref, j->axis)));
        f->w[j->v] = axis;
        f->v[j->v] = cri_v3_cross(anchor, axis);
        break;
    case CRI_JOINT_SLIDE:
        at->pos = cri_v3_mad(at->pos, q[0] - j->ref, axis);
        f->w[j->v] = cri_v3(0.0, 0.0, 0.0);
        f->v[j->v] = axis;
        break;
    }
}

void cri_frames_set(cri_frames *f, const double *q) {
    const cri_mechanism *mech = &f->model->mech;
    for (int b = 0; b < mech->n_body; b++) {
        const cri_link *link = &mech->link[b];
        if (link->unit < 0) {
            continue;
        }
        cri_pose up = link->parent >= 0 ? f->pose[link->parent]
                                        : (cri_pose){.R = {{1, 0, 0, 0, 1, 0, 0, 0, 1}}};
        cri_mat3 by = cri_quat_rotation(link->quat);
        cri_pose at = {cri_v3_add(up.pos, cri_m3_mul(&up.R, link->pos)),
                       cri_m3_product(&up.R, &by)};
        for (int k = 0; k < link->n_joint; k++) {
            const cri_joint *joint = &mech->joint[link->first_joint + k];
            apply_joint(f, joint, q + joint->q, &at);
        }
        f->pose[b] = at;
    }
}

// (w, v) of a body for a unit rate of a dof
static void column_of(const cri_frames *f, int body, int dof, double out[6]) {
    cri_v3_store(f->w[dof], out);
    cri_v3_store(cri_v3_add(f->v[dof], cri_v3_cross(f->w[dof], f->pose[body].pos)), out + 3);
}

void cri_frames_motion(const cri_frames *f, const double *y, double *motion) {
    for (int b = 0; b < f->model->mech.n_body; b++) {
        double *m = motion + 6 * b;
        memset(m, 0, 6 * sizeof *m);
        for (int e = f->first[b]; e < f->first[b + 1]; e++) {
            double column[6];
            column_of(f, b, f->path[e], column);
            for (int k = 0; k < 6; k++) {
                m[k] += column[k] * y[f->path[e]];
            }
        }
    }
}

void cri_frames_pull(const cri_frames *f, const double *force, double *g) {
    for (int b = 0; b < f->model->mech.n_body; b++) {
        const double *a = force + 6 * b;
        for (int e = f->first[b]; e < f->first[b + 1]; e++) {
            double column[6];
            column_of(f, b, f->path[e], column);
            for (int k = 0; k < 6; k++) {
                g[f->path[e]] += column[k] * a[k];
            }
        }
    }
}

// dofs whose columns are made at once
enum { COLUMNS = 6 };

// adds row . column[d] to H at row dof[d] and column j, d < n, and across the diagonal
static void add_rows(const cri_frames *f, const int *dof, int n, double column[][6],
                     const double row[6], int j, bool is_mirrored, double *H) {
    size_t n_v = (size_t)f->model->mech.n_v;
    for (int d = 0; d < n; d++) {
        const double *c = column[d];
        double h = row[0] * c[0] + row[1] * c[1] + row[2] * c[2] + row[3] * c[3] + row[4] * c[4] +
                   row[5] * c[5];
        H[(size_t)dof[d] * n_v + (size_t)j] += h;
        if (is_mirrored) {
            H[(size_t)j * n_v + (size_t)dof[d]] += h;
        }
    }
}

void cri_frames_add_block(const cri_frames *f, int a, int b, const double *B, int stride,
                          double *H) {
    if (a < 0 || b < 0) {
        return;
    }
    for (int from = f->first[a]; from < f->first[a + 1]; from += COLUMNS) {
        double own[COLUMNS][6];
        int left = f->first[a + 1] - from, n = left < COLUMNS ? left : COLUMNS;
        for (int d = 0; d < n; d++) {
            column_of(f, a, f->path[from + d], own[d]);
        }
        for (int e = f->first[b]; e < f->first[b + 1]; e++) {
            double column[6], row[6];
            column_of(f, b, f->path[e], column);
            for (int i = 0; i < 6; i++) {
                const double *r = B + (long)i * stride;
                row[i] = r[0] * column[0] + r[1] * column[1] + r[2] * column[2] + r[3] * column[3] +
                         r[4] * column[4] + r[5] * column[5];
            }
            add_rows(f, f->path + from, n, own, row, f->path[e], a != b, H);
        }
    }
}

// N and F of everything below each joint, about the world's origin: work (n_joint, 12)
static void gather(const cri_frames *f, const double *F, const double *N, double *work) {
    const cri_mechanism *mech = &f->model->mech;
    memset(work, 0, sizeof *work * 12 * (size_t)mech->n_joint);
    for (int b = 0; b < mech->n_body; b++) {
        int node = mech->link[b].node;
        double t[3];
        cri_v3_store(f->pose[b].pos, t);
        for (int k = 0; node >= 0 && k < 9; k++) {
            work[12 * node + k] += N[9 * b + k] + F[3 * b + k / 3] * t[k % 3];
        }
        for (int k = 0; node >= 0 && k < 3; k++) {
            work[12 * node + 9 + k] += F[3 * b + k];
        }
    }
    for (int j = mech->n_joint - 1; j >= 0; j--) {
        int up = mech->joint[j].parent;
        for (int k = 0; up >= 0 && k < 12; k++) {
            work[12 * up + k] += work[12 * j + k];
        }
    }
}

// N' w - tr(N) w + v x F of a dof
static cri_vec3 bend_of(const cri_frames *f, int dof, const double *sum) {
    const double *N = sum;
    cri_vec3 w = f->w[dof];
    cri_vec3 t =
        cri_m3_tmul(&(cri_mat3){{N[0], N[1], N[2], N[3], N[4], N[5], N[6], N[7], N[8]}}, w);
    t = cri_v3_mad(t, -(N[0] + N[4] + N[8]), w);
    return cri_v3_add(t, cri_v3_cross(f->v[dof], cri_v3_load(sum + 9)));
}

void cri_frames_add_curvature(const cri_frames *f, const double *F, const double *N, double *work,
                              double *H) {
    const cri_mechanism *mech = &f->model->mech;
    size_t n_v = (size_t)mech->n_v;
    gather(f, F, N, work);
    for (int j = 0; j < mech->n_joint; j++) {
        const cri_joint *joint = &mech->joint[j];
        // the linear dofs of a free joint neither turn anything nor are turned
        int first = joint->kind == CRI_JOINT_FREE ? 3 : 0;
        for (int k = first; k < joint->n_v; k++) {
            size_t dof = (size_t)joint->v + (size_t)k;
            cri_vec3 bend = bend_of(f, joint->v + k, work + 12 * j);
            // its own axes count half for each order of the two
            for (int i = first; i < joint->n_v; i++) {
                double h = 0.5 * cri_v3_dot(f->w[joint->v + i], bend);
                size_t own = (size_t)joint->v + (size_t)i;
                H[own * n_v + dof] += h;
                H[dof * n_v + own] += h;
            }
            for (int up = joint->parent; up >= 0; up = mech->joint[up].parent) {
                for (int i = 0; i < mech->joint[up].n_v; i++) {
                    size_t above = (size_t)mech->joint[up].v + (size_t)i;
                    double h = cri_v3_dot(f->w[above], bend);
                    H[above * n_v + dof] += h;
                    H[dof * n_v + above] += h;
                }
            }
        }
    }
}
