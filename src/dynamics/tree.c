// SPDX-License-Identifier: MIT
//
// The plan of a unit, its memory, and forward kinematics.
//
//   body, parents first:  (p, R) = (p_parent + R_parent pos, R_parent R(quat))
//     joint in order:     anchor = p + R jpos,  axis = R jaxis, before it turns anything
//       slide  p += axis (q - ref)                              S = (0, axis)
//       hinge  R = R exp(jaxis (q - ref)),  p = anchor - R jpos   S = (axis, anchor x axis)
//       ball   R = R R(q),                  p = anchor - R jpos   S_k = (R e_k, anchor x R e_k)
//       free   p = q[0:3],  R = R(q[3:7])     S = (0, e_k), then (R e_k, p x R e_k)
//
// The origin O of all spatial vectors is where the unit's first body is when q is set: a constant,
// on which no result depends.

#include "dynamics/tree.h"

#include "base/arena.h"
#include "base/base.h"
#include "base/math/dense.h"
#include "base/math/spatial.h"
#include "model/model.h"

#include <string.h>

// dofs whose columns are made at once
enum { COLUMNS = 6 };

static const cri_spatial no_motion = {{0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}};

/// Pivots of the scaled G below this are redundant rows: G is rounded to about 1e-15, which leaves
/// five digits on either side.
#define RANK_TOLERANCE 1e-10

/// Takes arrays from one block, or only counts when there is none.
typedef struct carver {
    char *base;
    size_t used;
} carver;

#define CARVE(c, type, n) ((type *)carve((c), (size_t)(n), sizeof(type)))

// what one push adds to what it holds, more than the arena's own count
enum { PUSH_BYTES = 64 };

// ---- frames -------------------------------------------------------------------------------------

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

// ---- maps of velocities -------------------------------------------------------------------------

// Maps between rates of dofs and motions of bodies, and their changes with q.
//
//   motion of body b at p with axes R, on node n:  (at(X_n, p), R' wX_n),   X = motions of w
//   its dual:  a force f at p and a torque t in body axes are the wrench (p x f + R t, f)
//
// With Y the displacement twist of the node: p_tan = at(Y, p), R_tan = wY x R, S_tan = Y x S for
// what moves with it, I_tan = Y x* I - I Y x and what follows from parameters.

void cri_tree_motion(const cri_tree *tree, const double *w, double *motion) {
    CR_ASSERT(w && motion);
    const cri_tree_plan *plan = tree->plan;
    cri_spatial *X = tree->plan->work[0];
    X[0] = no_motion;
    cri_tree_spread(tree, w + tree->unit->first_v, X);
    double *out = motion + 6 * tree->unit->first_body;
    for (int b = 0; b < plan->n_body; b++, out += 6) {
        cri_spatial x = X[plan->body_node[b]];
        cri_v3_store(cri_sp_at(x, tree->place[b]), out);
        cri_v3_store(cri_m3_tmul(&tree->pose[b].R, x.w), out + 3);
    }
}

static cri_spatial body_wrench(const cri_tree *tree, int b, const double *force) {
    cri_spatial w = cri_sp_wrench(tree->place[b], cri_v3_load(force));
    w.w = cri_v3_add(w.w, cri_m3_mul(&tree->pose[b].R, cri_v3_load(force + 3)));
    return w;
}

void cri_tree_pull(const cri_tree *tree, const double *force, double *g) {
    CR_ASSERT(force && g);
    const cri_tree_plan *plan = tree->plan;
    cri_spatial *F = tree->plan->work[0];
    memset(F, 0, sizeof *F * (size_t)(plan->n_node + 1));
    const double *own = force + 6 * tree->unit->first_body;
    for (int b = 0; b < plan->n_body; b++, own += 6) {
        int n = plan->body_node[b];
        F[n] = cri_sp_add(F[n], body_wrench(tree, b, own));
    }
    cri_tree_gather(tree, 1.0, F, g + tree->unit->first_v);
}

void cri_tree_pull_rows(const cri_tree *tree, int body, int n, const double *forces, double *G) {
    const cri_tree_plan *plan = tree->plan;
    int b = body - tree->unit->first_body;
    CR_ASSERT(b >= 0 && b < plan->n_body);
    for (int r = 0; r < n; r++, forces += 6, G += plan->n_v) {
        cri_spatial F = body_wrench(tree, b, forces);
        for (int k = plan->body_node[b]; k > 0; k = plan->node[k].parent) {
            const cri_tree_node *node = plan->node + k;
            for (int i = node->first_v; i < node->first_v + node->n_v; i++) {
                G[i] += cri_sp_dot(tree->S[i], F);
            }
        }
    }
}

void cri_tree_pull_body(const cri_tree *tree, int body, const double *force, double *g) {
    cri_tree_pull_rows(tree, body, 1, force, g + tree->unit->first_v);
}

// ---- a direction -------------------------------------------------------------------------------

// change of a body's inertia with its parameters
static void inertia_jvp_part(const cri_tree *tree, int b, const cri_link_derived *d_tan,
                             cri_spatial_inertia *sum) {
    const cri_link_derived *link = tree->d->link + tree->unit->first_body + b;
    const cri_mat3 *R = &tree->pose[b].R;
    cri_vec3 c = cri_v3_add(tree->place[b], cri_m3_mul(R, link->com));
    cri_vec3 mc_tan = cri_v3_scale(link->mass, cri_m3_mul(R, d_tan->com));
    cri_spatial_inertia I = {.mass = d_tan->mass, .h = cri_v3_mad(mc_tan, d_tan->mass, c)};

    // J = R J R' + m (c^2 - c c')
    cri_inertia_rotate(R, d_tan->J, I.J);
    cri_inertia_add_moment(cri_v3_mad(mc_tan, 0.5 * d_tan->mass, c), c, I.J);
    cri_inertia_accumulate(&I, sum);
}

cri_tree_tan *cri_tree_tan_push(const cri_tree *tree, const double *q_tan,
                                const cri_mech_derived *d_tan, cr_arena *scratch) {
    CR_ASSERT(tree && q_tan && scratch);
    return cri_tree_tan_push_own(tree, q_tan + tree->unit->first_v, d_tan, scratch);
}

cri_tree_tan *cri_tree_tan_push_own(const cri_tree *tree, const double *q_tan,
                                    const cri_mech_derived *d_tan, cr_arena *scratch) {
    const cri_tree_plan *plan = tree->plan;
    cri_tree_tan *tan = CR_PUSH_RAW(scratch, cri_tree_tan, 1);
    *tan = (cri_tree_tan){.d = d_tan,
                          .q = q_tan,
                          .Y = CR_PUSH_RAW(scratch, cri_spatial, plan->n_node + 1),
                          .S = CR_PUSH_RAW(scratch, cri_spatial, plan->n_v),
                          .I = CR_PUSH_RAW(scratch, cri_spatial_inertia, plan->n_node + 1),
                          .is_moved = CR_PUSH_RAW(scratch, bool, 2 * (plan->n_node + 1))};
    tan->is_alive = tan->is_moved + plan->n_node + 1;
    tan->is_moved[0] = d_tan != NULL;
    tan->Y[0] = no_motion;
    tan->I[0] = (cri_spatial_inertia){0};
    cri_tree_spread(tree, tan->q, tan->Y);
    for (int n = 1; n <= plan->n_node; n++) {
        const cri_tree_node *node = plan->node + n;
        bool is_moved = tan->is_moved[node->parent];
        for (int k = node->first_v; k < node->first_v + node->n_v; k++) {
            is_moved = is_moved || q_tan[k] != 0.0;
            tan->S[k] = no_motion;
        }
        tan->is_moved[n] = is_moved;
        tan->I[n] = is_moved ? cri_inertia_displaced(tree->I + n, tan->Y[n]) : tan->I[0];
        for (int k = node->n_still; is_moved && k < node->n_v; k++) {
            tan->S[node->first_v + k] = cri_sp_cross(tan->Y[n], tree->S[node->first_v + k]);
        }
    }
    for (int b = 0; d_tan && b < plan->n_body; b++) {
        inertia_jvp_part(tree, b, d_tan->link + tree->unit->first_body + b,
                         tan->I + plan->body_node[b]);
    }
    return tan;
}

void cri_tree_spread_jvp_part(const cri_tree *tree, const cri_tree_tan *tan, const double *w,
                              const double *w_tan, cri_spatial *X, cri_spatial *dX) {
    const cri_tree_plan *plan = tree->plan;
    X[0] = dX[0] = no_motion;
    cri_tree_spread(tree, w, X);
    for (int n = 1; n <= plan->n_node; n++) {
        const cri_tree_node *node = plan->node + n;
        dX[n] = dX[node->parent];
        for (int k = node->first_v; k < node->first_v + node->n_v; k++) {
            if (tan->is_moved[n]) {
                dX[n] = cri_sp_mad(dX[n], w[k], tan->S[k]);
            }
            if (w_tan) {
                dX[n] = cri_sp_mad(dX[n], w_tan[k], tree->S[k]);
            }
        }
    }
}

void cri_tree_motion_jvp(const cri_tree *tree, const cri_tree_tan *tan, const double *w,
                         const double *w_tan, double *motion_tan) {
    CR_ASSERT(tan && motion_tan);
    const cri_tree_plan *plan = tree->plan;
    int first = tree->unit->first_v;
    cri_spatial *X = tree->plan->work[0], *dX = tree->plan->work[1];
    cri_tree_spread_jvp_part(tree, tan, w + first, w_tan + first, X, dX);
    double *out = motion_tan + 6 * tree->unit->first_body;
    for (int b = 0; b < plan->n_body; b++, out += 6) {
        int n = plan->body_node[b];
        cri_vec3 p = tree->place[b], p_tan = cri_sp_at(tan->Y[n], p);
        cri_v3_store(cri_v3_add(cri_sp_at(dX[n], p), cri_v3_cross(X[n].w, p_tan)), out);
        cri_vec3 turned = cri_v3_sub(dX[n].w, cri_v3_cross(tan->Y[n].w, X[n].w));
        cri_v3_store(cri_m3_tmul(&tree->pose[b].R, turned), out + 3);
    }
}

// g_tan += S_tan . F, for forces F of subtrees
static void gather_columns(const cri_tree *tree, const cri_tree_tan *tan, const cri_spatial *F,
                           double *g_tan) {
    for (int n = 1; n <= tree->plan->n_node; n++) {
        const cri_tree_node *node = tree->plan->node + n;
        int end = tan->is_moved[n] ? node->first_v + node->n_v : 0;
        for (int k = node->first_v + node->n_still; k < end; k++) {
            g_tan[k] += cri_sp_dot(tan->S[k], F[n]);
        }
    }
}

// F of subtrees from those of nodes
static void add_up(const cri_tree_plan *plan, cri_spatial *F) {
    for (int n = plan->n_node; n > 0; n--) {
        int p = plan->node[n].parent;
        F[p] = cri_sp_add(F[p], F[n]);
    }
}

void cri_tree_pull_jvp(const cri_tree *tree, const cri_tree_tan *tan, const double *force,
                       const double *force_tan, double *g_tan) {
    CR_ASSERT(tan && g_tan);
    const cri_tree_plan *plan = tree->plan;
    cri_spatial *F = tree->plan->work[0], *dF = tree->plan->work[1];
    memset(F, 0, sizeof *F * (size_t)(plan->n_node + 1));
    memset(dF, 0, sizeof *dF * (size_t)(plan->n_node + 1));
    for (int b = 0; b < plan->n_body; b++) {
        int n = plan->body_node[b];
        const double *f = force + 6 * (tree->unit->first_body + b);
        cri_spatial dw = body_wrench(tree, b, force_tan + 6 * (tree->unit->first_body + b));
        if (!tan->is_moved[n]) {
            dF[n] = cri_sp_add(dF[n], dw);
            continue;
        }
        cri_spatial w = body_wrench(tree, b, f);
        cri_vec3 torque = cri_m3_mul(&tree->pose[b].R, cri_v3_load(f + 3));
        cri_vec3 moved = cri_v3_cross(cri_sp_at(tan->Y[n], tree->place[b]), w.v);
        dw.w = cri_v3_add(cri_v3_add(dw.w, moved), cri_v3_cross(tan->Y[n].w, torque));
        F[n] = cri_sp_add(F[n], w);
        dF[n] = cri_sp_add(dF[n], dw);
    }
    add_up(plan, F);
    double *own = g_tan + tree->unit->first_v;
    gather_columns(tree, tan, F, own);
    cri_tree_gather(tree, 1.0, dF, own);
}

void cri_tree_solve_jvp(const cri_tree *tree, const cri_tree_tan *tan, const double *g_tan,
                        const double *w, const double *nu, double *w_tan, cr_arena *scratch) {
    const cri_tree_plan *plan = tree->plan;
    int first = tree->unit->first_v, n = plan->n_v, n_node = plan->n_node + 1;
    const double *own_w = w + first;
    CR_ASSERT(nu || plan->n_row == 0);
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    cri_spatial *X = CR_PUSH_RAW(scratch, cri_spatial, 2 * n_node), *dX = X + n_node;
    cri_spatial *F = CR_PUSH(scratch, cri_spatial, 2 * n_node), *dF = F + n_node;
    double *r = CR_PUSH(scratch, double, n);
    double *e = CR_PUSH_RAW(scratch, double, plan->n_row);

    // (M_tan w + E_tan' nu) by forces on nodes, and E_tan w
    cri_tree_spread_jvp_part(tree, tan, own_w, NULL, X, dX);
    cri_tree_tie_wrenches(tree, nu, F);
    cri_tree_tie_wrenches_jvp_part(tree, tan, nu, dF, r);
    cri_tree_tie_jvp_part(tree, tan, own_w, X, dX, e);
    for (int k = 1; k < n_node; k++) {
        if (!tan->is_moved[k]) {
            continue; // its F is that of columns which do not change
        }
        F[k] = cri_sp_add(F[k], cri_inertia_apply(tree->I + k, X[k]));
        dF[k] = cri_sp_add(dF[k], cri_inertia_apply(tan->I + k, X[k]));
        dF[k] = cri_sp_add(dF[k], cri_inertia_apply(tree->I + k, dX[k]));
    }
    add_up(plan, F);
    gather_columns(tree, tan, F, r);
    cri_tree_gather(tree, 1.0, dF, r);
    for (int i = 0; tan->d && i < n; i++) {
        r[i] += tan->d->joint[tree->mech->dof_joint[first + i]].armature * own_w[i];
    }
    for (int i = 0; i < n; i++) {
        w_tan[first + i] = g_tan[first + i] - r[i];
    }
    cri_tree_back_tied(tree, &tree->plain, e, w_tan + first, tree->plan->work_row);
    cri_arena_rewind(scratch, mark);
}

// ---- mass ---------------------------------------------------------------------------------------

// Mass matrix of a unit, its sparse factor, and the solve with equalities.
//
// Composite inertias (Featherstone, Rigid Body Dynamics Algorithms, section 6.2): I_parent += I_n
// from the leaves, M_ij = S_i . I_n S_j for dof i of node n and its ancestors j, plus armature.
// Then
//
//   M + h D = L' D L     from the last dof to the first, entries of ancestors only: no fill-in
//
// Rows of ancestors are beginnings of the row itself, so all loops run over contiguous numbers.
//
// Equalities: G = E (M + h D)^-1 E', scaled, by Cholesky with pivoting. Rows behind the rank get no
// multiplier: they follow from the others, so w is unique.

/// Adds the inertia of a body with the pose and place to a sum.
static void tree_body_inertia(const cri_link_derived *link, const cri_mat3 *R, cri_vec3 place,
                              cri_spatial_inertia *sum) {
    cri_vec3 c = cri_v3_add(place, cri_m3_mul(R, link->com));
    cri_spatial_inertia I = {.mass = link->mass, .h = cri_v3_scale(link->mass, c)};
    cri_inertia_rotate(R, link->J, I.J);
    cri_inertia_add_moment(cri_v3_scale(0.5, I.h), c, I.J);
    cri_inertia_accumulate(&I, sum);
}

// rows of the dofs of node n, whose subtree has the inertia I
static void mass_rows(cri_tree *tree, const cri_tree_node *node, const cri_spatial_inertia *I,
                      double armature) {
    const cri_tree_plan *plan = tree->plan;
    for (int i = node->first_v; i < node->first_v + node->n_v; i++) {
        cri_spatial F = cri_inertia_apply(I, tree->S[i]);
        for (int e = plan->row[i]; e < plan->row[i + 1]; e++) {
            tree->M[e] = cri_sp_dot(F, tree->S[plan->ancestor[e]]);
        }
        tree->M[plan->row[i + 1] - 1] += armature;
    }
}

static void tree_mass(cri_tree *tree) {
    const cri_tree_plan *plan = tree->plan;
    const cri_unit *unit = tree->unit;
    size_t n_byte = sizeof *tree->I * (size_t)(plan->n_node + 1);
    memset(tree->I, 0, n_byte);
    for (int b = 0; b < plan->n_body; b++) {
        tree_body_inertia(tree->d->link + unit->first_body + b, &tree->pose[b].R, tree->place[b],
                          tree->I + plan->body_node[b]);
    }
    cri_spatial_inertia *sum = tree->plan->composite;
    memcpy(sum, tree->I, n_byte);
    for (int k = plan->n_node; k > 0; k--) {
        const cri_tree_node *node = plan->node + k;
        double armature = tree->d->joint[unit->first_joint + k - 1].armature;
        mass_rows(tree, node, sum + k, armature);
        if (node->parent > 0) {
            cri_inertia_accumulate(sum + k, sum + node->parent);
        }
    }
}

// L' D L of M + h D
static void factor_tree(const cri_tree *tree, double h, double *H) {
    const cri_tree_plan *plan = tree->plan;
    memcpy(H, tree->M, sizeof *H * (size_t)plan->n_entry);
    if (h > 0.0) {
        for (int i = 0; i < plan->n_v; i++) {
            int joint = tree->mech->dof_joint[tree->unit->first_v + i];
            H[plan->row[i + 1] - 1] += h * tree->d->joint[joint].damping;
        }
        for (int i = 0; i < plan->n_actuator; i++) {
            int dof;
            double c;
            if (cri_tree_drive_damping(tree, i, &c, &dof)) {
                H[plan->row[dof + 1] - 1] += h * c;
            }
        }
    }
    for (int i = plan->n_v - 1; i >= 0; i--) {
        double *Hi = H + plan->row[i];
        const int *ancestor = plan->ancestor + plan->row[i];
        int depth = plan->row[i + 1] - plan->row[i] - 1;
        double inverse = 1.0 / Hi[depth];
        for (int k = depth - 1; k >= 0; k--) {
            double *Hk = H + plan->row[ancestor[k]], l = Hi[k] * inverse;
            for (int e = 0; e <= k; e++) {
                Hk[e] -= l * Hi[e];
            }
            Hi[k] = l;
        }
    }
}

/// (M + h D)^-1 x in place.
static void tree_back(const cri_tree *tree, const cri_tree_factor *factor, double *x) {
    const cri_tree_plan *plan = tree->plan;
    for (int i = plan->n_v - 1; i >= 0; i--) {
        int end = plan->row[i + 1] - 1;
        // what acts on one leg is zero on the others
        for (int e = plan->row[i]; x[i] != 0.0 && e < end; e++) {
            x[plan->ancestor[e]] -= factor->H[e] * x[i];
        }
    }
    for (int i = 0; i < plan->n_v; i++) {
        int end = plan->row[i + 1] - 1;
        double sum = x[i] / factor->H[end];
        for (int e = plan->row[i]; e < end; e++) {
            sum -= factor->H[e] * x[plan->ancestor[e]];
        }
        x[i] = sum;
    }
}

void cri_tree_half_rows(const cri_tree *tree, int n, const double *G, double *Z) {
    // M = L' D L, so that z = D^-1/2 L'^-1 g
    const cri_tree_plan *plan = tree->plan;
    const double *H = tree->plain.H;
    memcpy(Z, G, sizeof *Z * (size_t)n * (size_t)plan->n_v);
    for (int r = 0; r < n; r++, Z += plan->n_v) {
        for (int i = plan->n_v - 1; i >= 0; i--) {
            double z = Z[i];
            if (z == 0.0) {
                continue;
            }
            int end = plan->row[i + 1] - 1;
            for (int e = plan->row[i]; e < end; e++) {
                Z[plan->ancestor[e]] -= H[e] * z;
            }
            Z[i] = z / sqrt(H[end]);
        }
    }
}

// ---- equalities --------------------------------------------------------------------------------

// Cholesky of the scaled G in place, rows in the order of their pivots
static void factor_rows(int n, cri_tree_factor *f) {
    double *G = f->G;
    f->rank = 0;
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++) {
            best = G[f->order[i] * n + f->order[i]] > G[f->order[best] * n + f->order[best]] ? i
                                                                                             : best;
        }
        int p = f->order[best];
        f->order[best] = f->order[k];
        f->order[k] = p;
        double pivot = G[p * n + p];
        if (!(pivot > RANK_TOLERANCE)) {
            return;
        }
        // column k of the factor stands in column p of G
        double root = sqrt(pivot);
        G[p * n + p] = root;
        for (int i = k + 1; i < n; i++) {
            G[f->order[i] * n + p] /= root;
        }
        for (int i = k + 1; i < n; i++) {
            int a = f->order[i];
            for (int j = k + 1; j <= i; j++) {
                int b = f->order[j];
                G[a * n + b] -= G[a * n + p] * G[b * n + p];
                G[b * n + a] = G[a * n + b];
            }
        }
        f->rank = k + 1;
    }
}

// nu = G^-1 nu over the rows within the rank, 0 elsewhere
static void solve_rows(int n, const cri_tree_factor *f, double *nu) {
    for (int i = 0; i < n; i++) {
        nu[i] *= f->scale[i];
    }
    for (int k = 0; k < f->rank; k++) {
        int p = f->order[k];
        nu[p] /= f->G[p * n + p];
        for (int i = k + 1; i < f->rank; i++) {
            nu[f->order[i]] -= f->G[f->order[i] * n + p] * nu[p];
        }
    }
    for (int k = f->rank - 1; k >= 0; k--) {
        int p = f->order[k];
        for (int i = k + 1; i < f->rank; i++) {
            nu[p] -= f->G[f->order[i] * n + p] * nu[f->order[i]];
        }
        nu[p] /= f->G[p * n + p];
    }
    for (int k = f->rank; k < n; k++) {
        nu[f->order[k]] = 0.0;
    }
    for (int i = 0; i < n; i++) {
        nu[i] *= f->scale[i];
    }
}

// rows of one kind in an equality are measured by the largest of them: points by points, turns by
// turns
static void scale_rows(const cri_tree *tree, cri_tree_factor *f) {
    int n = tree->plan->n_row;
    for (int first = 0, e = 0; e < tree->plan->n_equality; e++) {
        cri_equality_kind kind = tree->mech->equality[tree->unit->first_equality + e].kind;
        int n_block = kind == CRI_EQUALITY_WELD ? 2 : 1;
        int size = kind == CRI_EQUALITY_CONNECT || kind == CRI_EQUALITY_WELD ? 3 : 1;
        for (int block = 0; block < n_block; block++, first += size) {
            double largest = 0.0;
            for (int i = first; i < first + size; i++) {
                largest = fmax(largest, f->G[i * n + i]);
            }
            for (int i = first; i < first + size; i++) {
                f->scale[i] = largest > 0.0 ? 1.0 / sqrt(largest) : 0.0;
            }
        }
    }
}

void cri_tree_factor_mass(const cri_tree *tree, double h, cri_tree_factor *factor) {
    CR_ASSERT(h >= 0.0);
    const cri_tree_plan *plan = tree->plan;
    int n = plan->n_row, n_v = plan->n_v;
    factor_tree(tree, h, factor->H);
    if (n == 0) {
        return;
    }
    memcpy(factor->Y, tree->E, sizeof(double) * (size_t)n * (size_t)n_v);
    for (int i = 0; i < n; i++) {
        factor->order[i] = i;
        tree_back(tree, factor, factor->Y + i * n_v);
        for (int j = 0; j < n; j++) {
            factor->G[i * n + j] = cri_dot(n_v, tree->E + j * n_v, factor->Y + i * n_v);
        }
    }
    scale_rows(tree, factor);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            factor->G[i * n + j] *= factor->scale[i] * factor->scale[j];
        }
    }
    factor_rows(n, factor);
}

void cri_tree_back_tied(const cri_tree *tree, const cri_tree_factor *factor, const double *e,
                        double *w, double *nu) {
    int n = tree->plan->n_row, n_v = tree->plan->n_v;
    tree_back(tree, factor, w);
    for (int i = 0; i < n; i++) {
        nu[i] = cri_dot(n_v, tree->E + i * n_v, w) - (e ? e[i] : 0.0);
    }
    if (n > 0) {
        solve_rows(n, factor, nu);
    }
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < n_v; k++) {
            w[k] -= factor->Y[i * n_v + k] * nu[i];
        }
    }
}

// ---- products ----------------------------------------------------------------------------------

void cri_tree_multiply(const cri_tree *tree, const double *g, double *out) {
    const cri_tree_plan *plan = tree->plan;
    CR_ASSERT(g != out);
    g += tree->unit->first_v;
    out += tree->unit->first_v;
    for (int i = 0; i < plan->n_v; i++) {
        int end = plan->row[i + 1] - 1;
        double sum = tree->M[end] * g[i];
        for (int e = plan->row[i]; e < end; e++) {
            int k = plan->ancestor[e];
            sum += tree->M[e] * g[k];
            out[k] += tree->M[e] * g[i];
        }
        out[i] = sum;
    }
}

void cri_tree_solve(const cri_tree *tree, const double *g, double *w, double *nu) {
    CR_ASSERT(g && w);
    const cri_tree_plan *plan = tree->plan;
    double *own = w + tree->unit->first_v;
    if (w != g) {
        memcpy(own, g + tree->unit->first_v, sizeof *w * (size_t)plan->n_v);
    }
    cri_tree_back_tied(tree, &tree->plain, NULL, own, nu ? nu : tree->plan->work_row);
}

// ---- inverse dynamics ---------------------------------------------------------------------------

// Inverse dynamics by recursion over nodes (Newton and Euler), its adjoint and its tangent, O(n).
//
//   V_n = V_p + S v                         u_n = S v over moving columns
//   A_n = A_p + S a + V_n x u_n             A_world = (0, -g)
//   F_n = I A_n + V_n x* (I V_n) - outer forces;  tau = S . F_n,  F_p += F_n from the leaves
//
// Adjoint for weights mu on tau: L = motions with rates mu, W = V x L. With Y the displacement
// twist of a node, dS = Y x S and dI = Y x* I - I Y x for what moves with it:
//
//   A_adj += I L          V_adj -= I W + L x* I V
//   Y_adj += -L x* I A - A x* I L + W x* I V + V x* I W
//   from the leaves:  V_adj += u x* A_adj,  B = -V x* A_adj,  v_adj = S . (V_adj + B)
//                     Y_adj += S x* (mu F + a A_adj + v (V_adj + B)),  q_adj = S . Y_adj
//
// where a still column has neither B nor a share in Y_adj. Inertias enter as L . I A - W . I V.

void cri_tree_spread(const cri_tree *tree, const double *w, cri_spatial *X) {
    const cri_tree_plan *plan = tree->plan;
    for (int n = 1; n <= plan->n_node; n++) {
        const cri_tree_node *node = plan->node + n;
        cri_spatial x = X[node->parent];
        for (int k = node->first_v; k < node->first_v + node->n_v; k++) {
            x = cri_sp_mad(x, w[k], tree->S[k]);
        }
        X[n] = x;
    }
}

// S v over the moving columns
static cri_spatial moving_part(const cri_tree *tree, const cri_tree_node *node, const double *v) {
    cri_spatial u = {{0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}};
    for (int k = node->first_v + node->n_still; k < node->first_v + node->n_v; k++) {
        u = cri_sp_mad(u, v[k], tree->S[k]);
    }
    return u;
}

void cri_tree_bias_forces(const cri_tree *tree, const double *v, cri_spatial *V, cri_spatial *A,
                          cri_spatial *F) {
    const cri_tree_plan *plan = tree->plan;
    static const cri_spatial zero = {{0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}};
    V[0] = F[0] = zero;
    A[0] = (cri_spatial){zero.w, cri_v3_scale(-1.0, cri_v3_load(tree->d->gravity))};
    for (int n = 1; n <= plan->n_node; n++) {
        const cri_tree_node *node = plan->node + n;
        cri_spatial u = moving_part(tree, node, v);
        cri_spatial Vn = cri_sp_add(V[node->parent], u);
        for (int k = node->first_v; k < node->first_v + node->n_still; k++) {
            Vn = cri_sp_mad(Vn, v[k], tree->S[k]);
        }
        V[n] = Vn;
        A[n] = cri_sp_add(A[node->parent], cri_sp_cross(Vn, u));
        cri_spatial P = cri_inertia_apply(tree->I + n, Vn);
        F[n] = cri_sp_add(cri_inertia_apply(tree->I + n, A[n]), cri_sp_cross_force(Vn, P));
    }
}

void cri_tree_gather(const cri_tree *tree, double sign, cri_spatial *F, double *g) {
    const cri_tree_plan *plan = tree->plan;
    for (int n = plan->n_node; n > 0; n--) {
        const cri_tree_node *node = plan->node + n;
        for (int k = node->first_v; k < node->first_v + node->n_v; k++) {
            g[k] += sign * cri_sp_dot(tree->S[k], F[n]);
        }
        F[node->parent] = cri_sp_add(F[node->parent], F[n]);
    }
}

// ---- adjoint -----------------------------------------------------------------------------------

/// Adds scale times the gradient of X . I Z for the inertia of body b (of the unit).
static void tree_inertia_vjp_part(const cri_tree *tree, int b, double scale, cri_spatial X,
                                  cri_spatial Z, cri_link_derived *adj) {
    const cri_link_derived *link = tree->d->link + tree->unit->first_body + b;
    const cri_mat3 *R = &tree->pose[b].R;
    cri_vec3 c = cri_v3_add(tree->place[b], cri_m3_mul(R, link->com));
    cri_vec3 Xc = cri_sp_at(X, c), Zc = cri_sp_at(Z, c);
    cri_vec3 x = cri_m3_tmul(R, X.w), z = cri_m3_tmul(R, Z.w);

    // X . I Z = m at(X, c) . at(Z, c) + x . J z
    adj->mass += scale * cri_v3_dot(Xc, Zc);
    cri_vec3 arm = cri_v3_add(cri_v3_cross(Zc, X.w), cri_v3_cross(Xc, Z.w));
    adj->com = cri_v3_mad(adj->com, scale * link->mass, cri_m3_tmul(R, arm));
    adj->J[0] += scale * x.x * z.x;
    adj->J[1] += scale * x.y * z.y;
    adj->J[2] += scale * x.z * z.z;
    adj->J[3] += scale * (x.x * z.y + x.y * z.x);
    adj->J[4] += scale * (x.x * z.z + x.z * z.x);
    adj->J[5] += scale * (x.y * z.z + x.z * z.y);
}

static void recursion_vjp_outwards(const cri_tree *tree, const cri_tree_state *s,
                                   const cri_spatial *L, const cri_tree_seeds *seeds) {
    for (int n = 1; n <= tree->plan->n_node; n++) {
        const cri_spatial_inertia *I = tree->I + n;
        cri_spatial V = s->V[n], A = s->A[n], W = cri_sp_cross(V, L[n]);
        cri_spatial IL = cri_inertia_apply(I, L[n]), IA = cri_inertia_apply(I, A);
        cri_spatial IV = cri_inertia_apply(I, V), IW = cri_inertia_apply(I, W);

        // F = I A + V x* I V, and I moves with the node
        seeds->A[n] = cri_sp_add(seeds->A[n], IL);
        cri_spatial V_adj = cri_sp_add(IW, cri_sp_cross_force(L[n], IV));
        seeds->V[n] = cri_sp_sub(seeds->V[n], V_adj);
        cri_spatial up = cri_sp_add(cri_sp_cross_force(W, IV), cri_sp_cross_force(V, IW));
        cri_spatial down = cri_sp_add(cri_sp_cross_force(L[n], IA), cri_sp_cross_force(A, IL));
        seeds->Y[n] = cri_sp_add(seeds->Y[n], cri_sp_sub(up, down));
    }
}

static void recursion_vjp_inwards(const cri_tree *tree, const cri_tree_state *s, const double *mu,
                                  const cri_tree_seeds *seeds, double *q_adj, double *v_adj) {
    const cri_tree_plan *plan = tree->plan;
    for (int n = plan->n_node; n > 0; n--) {
        const cri_tree_node *node = plan->node + n;
        int first = node->first_v, moving = first + node->n_still, end = first + node->n_v;
        cri_spatial A_adj = seeds->A[n], Y_adj = seeds->Y[n];

        // A = A_p + S a + V x u
        cri_spatial u = moving_part(tree, node, s->v);
        cri_spatial V_adj = cri_sp_add(seeds->V[n], cri_sp_cross_force(u, A_adj));
        cri_spatial u_adj = cri_sp_sub(V_adj, cri_sp_cross_force(s->V[n], A_adj));

        // V = V_p + S v, tau = S . F; dS = Y x S
        for (int k = first; k < moving; k++) {
            v_adj[k] += cri_sp_dot(tree->S[k], V_adj);
        }
        for (int k = moving; k < end; k++) {
            v_adj[k] += cri_sp_dot(tree->S[k], u_adj);
            cri_spatial S_adj = {cri_v3_scale(mu[k], s->F[n].w), cri_v3_scale(mu[k], s->F[n].v)};
            S_adj = cri_sp_mad(cri_sp_mad(S_adj, s->a[k], A_adj), s->v[k], u_adj);
            Y_adj = cri_sp_add(Y_adj, cri_sp_cross_force(tree->S[k], S_adj));
        }
        // Y = Y_p + S xi
        for (int k = first; k < end; k++) {
            q_adj[k] += cri_sp_dot(tree->S[k], Y_adj);
        }
        int p = node->parent;
        seeds->A[p] = cri_sp_add(seeds->A[p], A_adj);
        seeds->V[p] = cri_sp_add(seeds->V[p], V_adj);
        seeds->Y[p] = cri_sp_add(seeds->Y[p], Y_adj);
    }
}

void cri_tree_recursion_vjp_part(const cri_tree *tree, const cri_tree_state *s, const double *mu,
                                 const cri_spatial *L, const cri_tree_seeds *seeds, double *q_adj,
                                 double *v_adj, const cri_mech_derived *d_adj) {
    recursion_vjp_outwards(tree, s, L, seeds);
    recursion_vjp_inwards(tree, s, mu, seeds, q_adj, v_adj);
    if (!d_adj) {
        return;
    }
    // A_world = -g
    cri_v3_accumulate(cri_v3_scale(-1.0, seeds->A[0].v), d_adj->gravity);
    for (int b = 0; b < tree->plan->n_body; b++) {
        int n = tree->plan->body_node[b];
        cri_link_derived *adj = d_adj->link + tree->unit->first_body + b;
        tree_inertia_vjp_part(tree, b, 1.0, L[n], s->A[n], adj);
        tree_inertia_vjp_part(tree, b, -1.0, cri_sp_cross(s->V[n], L[n]), s->V[n], adj);
    }
}

// ---- tangent -----------------------------------------------------------------------------------

void cri_tree_recursion_jvp_part(const cri_tree *tree, const cri_tree_state *s,
                                 const cri_tree_tan *tan, const double *v_tan, cri_spatial *dV,
                                 cri_spatial *dA, cri_spatial *dF, double *tau_tan) {
    const cri_tree_plan *plan = tree->plan;
    static const cri_spatial zero = {{0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}};
    dV[0] = dA[0] = zero;
    tan->is_alive[0] = tan->is_moved[0];
    if (tan->d) {
        dA[0].v = cri_v3_scale(-1.0, cri_v3_load(tan->d->gravity));
    }
    for (int n = 1; n <= plan->n_node; n++) {
        const cri_tree_node *node = plan->node + n;
        int first = node->first_v, moving = first + node->n_still;
        tan->is_alive[n] = tan->is_alive[node->parent] || tan->is_moved[n];
        for (int k = first; k < first + node->n_v; k++) {
            tan->is_alive[n] = tan->is_alive[n] || v_tan[k] != 0.0;
        }
        if (!tan->is_alive[n]) {
            dV[n] = dA[n] = zero;
            continue;
        }
        cri_spatial u = moving_part(tree, node, s->v), du = moving_part(tree, node, v_tan);
        cri_spatial dVn = dV[node->parent], dAn = dA[node->parent];
        for (int k = first; k < moving; k++) {
            dVn = cri_sp_mad(dVn, v_tan[k], tree->S[k]);
        }
        for (int k = moving; k < first + node->n_v; k++) {
            du = cri_sp_mad(du, s->v[k], tan->S[k]);
            dAn = cri_sp_mad(dAn, s->a[k], tan->S[k]);
        }
        dVn = cri_sp_add(dVn, du);
        dAn = cri_sp_add(dAn, cri_sp_cross(dVn, u));
        dAn = cri_sp_add(dAn, cri_sp_cross(s->V[n], du));

        // F = I A + V x* I V
        const cri_spatial_inertia *I = tree->I + n, *dI = tan->I + n;
        cri_spatial f = cri_inertia_apply(I, dAn);
        f = cri_sp_add(f, cri_inertia_apply(dI, s->A[n]));
        f = cri_sp_add(f, cri_sp_cross_force(dVn, cri_inertia_apply(I, s->V[n])));
        cri_spatial dP = cri_sp_add(cri_inertia_apply(dI, s->V[n]), cri_inertia_apply(I, dVn));
        f = cri_sp_add(f, cri_sp_cross_force(s->V[n], dP));
        dF[n] = cri_sp_add(dF[n], f);
        dV[n] = dVn;
        dA[n] = dAn;
    }
    cri_tree_gather(tree, 1.0, dF, tau_tan);
    for (int n = 1; n <= plan->n_node; n++) {
        const cri_tree_node *node = plan->node + n;
        int end = tan->is_moved[n] ? node->first_v + node->n_v : 0;
        for (int k = node->first_v + node->n_still; k < end; k++) {
            tau_tan[k] += cri_sp_dot(tan->S[k], s->F[n]);
        }
    }
}

// ---- bias and energy ---------------------------------------------------------------------------

void cri_tree_bias(const cri_tree *tree, const double *v, double *c, cr_arena *scratch) {
    CR_ASSERT(tree && v && c && scratch);
    size_t n = (size_t)tree->plan->n_node + 1;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    cri_spatial *V = CR_PUSH_RAW(scratch, cri_spatial, 3 * n);
    cri_tree_bias_forces(tree, v + tree->unit->first_v, V, V + n, V + 2 * n);
    double *own = c + tree->unit->first_v;
    memset(own, 0, sizeof *own * (size_t)tree->plan->n_v);
    cri_tree_gather(tree, 1.0, V + 2 * n, own);
    cri_arena_rewind(scratch, mark);
}

// ---- the matrix in full -------------------------------------------------------------------------

// Gradient of the bilinear number of two motions of a unit. With X, Z the motions of nodes for left
// and right, and wrenches f, g of their forces,
//
//   phi = sum_n f . Z + g . X - X . I Z  -  nu_left . E right - nu_right . E left  -  armature
//
//   X_adj = g - I Z      Z_adj = f - I X      Y_adj = X x* I Z + Z x* I X
//   from the leaves, for moving columns:
//     Y_adj += S x* (left X_adj + right Z_adj),  q_adj = S . Y_adj
//
// A force (f at p, torque t in body axes) moves with its body, so with power on Z it adds
// Y_adj = wrench(p, f x wZ) + (R t x wZ, 0).

// seeds of force . K w, scaled, with motions X of w
static void force_vjp_seeds(const cri_tree *tree, double scale, const double *force,
                            const cri_spatial *X, cri_spatial *X_adj, cri_spatial *Y_adj) {
    if (!force) {
        return;
    }
    const double *own = force + 6 * tree->unit->first_body;
    for (int b = 0; b < tree->plan->n_body; b++, own += 6) {
        int n = tree->plan->body_node[b];
        cri_vec3 f = cri_v3_scale(scale, cri_v3_load(own)), p = tree->place[b];
        cri_vec3 t = cri_m3_mul(&tree->pose[b].R, cri_v3_scale(scale, cri_v3_load(own + 3)));
        cri_spatial w = cri_sp_wrench(p, f), y = cri_sp_wrench(p, cri_v3_cross(f, X[n].w));
        w.w = cri_v3_add(w.w, t);
        y.w = cri_v3_add(y.w, cri_v3_cross(t, X[n].w));
        X_adj[n] = cri_sp_add(X_adj[n], w);
        Y_adj[n] = cri_sp_add(Y_adj[n], y);
    }
}

static void parameters_vjp(const cri_tree *tree, const cri_tree_form *form, double scale,
                           const cri_spatial *X, const cri_spatial *Z,
                           const cri_mech_derived *d_adj) {
    int first = tree->unit->first_v;
    for (int b = 0; b < tree->plan->n_body; b++) {
        int n = tree->plan->body_node[b];
        cri_link_derived *adj = d_adj->link + tree->unit->first_body + b;
        tree_inertia_vjp_part(tree, b, -scale, X[n], Z[n], adj);
    }
    for (int i = first; i < first + tree->plan->n_v; i++) {
        d_adj->joint[tree->mech->dof_joint[i]].armature -= scale * form->left[i] * form->right[i];
    }
}

// X . I Z of all nodes, scaled, then everything from the leaves
static void form_vjp_sweep(const cri_tree *tree, const double *left, const double *right,
                           double scale, cri_spatial *const part[5], double *q_adj) {
    const cri_tree_plan *plan = tree->plan;
    const cri_spatial *X = part[0], *Z = part[1];
    cri_spatial *X_adj = part[2], *Z_adj = part[3], *Y_adj = part[4];
    for (int n = plan->n_node; n > 0; n--) {
        const cri_tree_node *node = plan->node + n;
        int end = node->first_v + node->n_v;
        cri_spatial IX = cri_inertia_apply(tree->I + n, X[n]);
        cri_spatial IZ = cri_inertia_apply(tree->I + n, Z[n]);
        cri_spatial turn = cri_sp_add(cri_sp_cross_force(X[n], IZ), cri_sp_cross_force(Z[n], IX));
        X_adj[n] = cri_sp_mad(X_adj[n], -scale, IZ);
        Z_adj[n] = cri_sp_mad(Z_adj[n], -scale, IX);
        cri_spatial Y = cri_sp_mad(Y_adj[n], scale, turn);
        for (int k = node->first_v + node->n_still; k < end; k++) {
            cri_spatial S_adj = {cri_v3_scale(left[k], X_adj[n].w),
                                 cri_v3_scale(left[k], X_adj[n].v)};
            S_adj = cri_sp_mad(S_adj, right[k], Z_adj[n]);
            Y = cri_sp_add(Y, cri_sp_cross_force(tree->S[k], S_adj));
        }
        for (int k = node->first_v; k < end; k++) {
            q_adj[k] += cri_sp_dot(tree->S[k], Y);
        }
        int p = node->parent;
        X_adj[p] = cri_sp_add(X_adj[p], X_adj[n]);
        Z_adj[p] = cri_sp_add(Z_adj[p], Z_adj[n]);
        Y_adj[p] = cri_sp_add(Y_adj[p], Y);
    }
}

void cri_tree_form_vjp(const cri_tree *tree, const cri_tree_form *form, double scale, double *q_adj,
                       const cri_mech_derived *d_adj, cr_arena *scratch) {
    CR_ASSERT(form->left && form->right && q_adj && scratch);
    const cri_tree_plan *plan = tree->plan;
    int first = tree->unit->first_v;
    const double *left = form->left + first, *right = form->right + first;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    cri_spatial *part[5]; // X, Z and their adjoints, that of Y
    for (int i = 0; i < 5; i++) {
        part[i] = CR_PUSH(scratch, cri_spatial, plan->n_node + 1);
    }
    cri_tree_spread(tree, left, part[0]);
    cri_tree_spread(tree, right, part[1]);
    force_vjp_seeds(tree, scale, form->right_force, part[0], part[2], part[4]);
    force_vjp_seeds(tree, scale, form->left_force, part[1], part[3], part[4]);
    if (form->right_nu) {
        cri_tree_tie_form_vjp_part(tree, scale, form->right_nu, left, part[0], part[2], part[4],
                                   q_adj + first);
    }
    if (form->left_nu) {
        cri_tree_tie_form_vjp_part(tree, scale, form->left_nu, right, part[1], part[3], part[4],
                                   q_adj + first);
    }
    if (d_adj) {
        parameters_vjp(tree, form, scale, part[0], part[1], d_adj);
    }
    form_vjp_sweep(tree, left, right, scale, part, q_adj + first);
    cri_arena_rewind(scratch, mark);
}

// ---- kinematics ---------------------------------------------------------------------------------

// ---- memory ------------------------------------------------------------------------------------

static size_t rounded_up(size_t n_byte) {
    return (n_byte + 15) & ~(size_t)15;
}

static void *carve(carver *c, size_t n, size_t size) {
    void *at = c->base ? c->base + c->used : NULL;
    c->used += rounded_up(n * size);
    return at;
}

static bool has_body(const cri_unit *unit, int body) {
    return body >= unit->first_body && body < unit->first_body + unit->n_body;
}

static bool has_joint(const cri_unit *unit, int joint) {
    return joint >= unit->first_joint && joint < unit->first_joint + unit->n_joint;
}

static bool has_tendon(const cri_mechanism *mech, const cri_unit *unit, int tendon) {
    const cri_tendon *t = mech->tendon + tendon;
    return t->n > 0 && has_joint(unit, t->joint[0]);
}

static bool has_actuator(const cri_mechanism *mech, const cri_unit *unit, int actuator) {
    const cri_actuator *act = mech->actuator + actuator;
    if (act->kind == CRI_DRIVE_SITE) {
        return has_body(unit, mech->site[act->site].body);
    }
    return act->joint >= 0 ? has_joint(unit, act->joint) : has_tendon(mech, unit, act->tendon);
}

static cri_tree_plan count_plan(const cri_mechanism *mech, const cri_unit *unit) {
    cri_tree_plan p = {.n_node = unit->n_joint,
                       .n_v = unit->n_v,
                       .n_q = unit->n_q,
                       .n_body = unit->n_body,
                       .n_row = unit->n_row,
                       .n_equality = unit->n_equality};
    for (int j = unit->first_joint; j < unit->first_joint + unit->n_joint; j++) {
        int above = 0, n = mech->joint[j].n_v;
        for (int k = mech->joint[j].parent; k >= 0; k = mech->joint[k].parent) {
            above += mech->joint[k].n_v;
        }
        p.n_entry += n * above + n * (n + 1) / 2;
    }
    for (int i = 0; i < mech->n_actuator; i++) {
        p.n_actuator += has_actuator(mech, unit, i);
    }
    for (int i = 0; i < mech->n_tendon; i++) {
        p.n_tendon += has_tendon(mech, unit, i);
    }
    return p;
}

static void carve_plan(carver *c, cri_tree_plan *p) {
    p->node = CARVE(c, cri_tree_node, p->n_node + 1);
    p->row = CARVE(c, int, p->n_v + 1);
    p->ancestor = CARVE(c, int, p->n_entry);
    p->body_node = CARVE(c, int, p->n_body);
    p->body_parent = CARVE(c, int, p->n_body);
    p->rest = CARVE(c, cri_pose, p->n_body);
    p->actuator = CARVE(c, int, p->n_actuator);
    p->tendon = CARVE(c, int, p->n_tendon);
    p->work[0] = CARVE(c, cri_spatial, p->n_node + 1);
    p->work[1] = CARVE(c, cri_spatial, p->n_node + 1);
    p->composite = CARVE(c, cri_spatial_inertia, p->n_node + 1);
    p->work_row = CARVE(c, double, p->n_row);
}

size_t cri_tree_plan_bytes(const cri_mechanism *mech, int unit) {
    cri_tree_plan p = count_plan(mech, mech->unit + unit);
    carver c = {NULL, rounded_up(sizeof p)};
    carve_plan(&c, &p);
    return c.used + PUSH_BYTES;
}

// b, which is given in a
static cri_pose compose(const cri_pose *a, const cri_pose *b) {
    return (cri_pose){cri_v3_add(a->pos, cri_m3_mul(&a->R, b->pos)), cri_m3_product(&a->R, &b->R)};
}

static cri_pose link_frame(const cri_link *link) {
    return (cri_pose){link->pos, cri_quat_rotation(link->quat)};
}

// pose in the world of a body without joints above it
static cri_pose static_pose(const cri_mechanism *mech, int body) {
    cri_pose pose = {.R = {{1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0}}};
    for (int b = body; b >= 0; b = mech->link[b].parent) {
        CR_VALIDATE(mech->link[b].node < 0);
        cri_pose frame = link_frame(mech->link + b);
        pose = compose(&frame, &pose);
    }
    return pose;
}

// frame of a body in that of its parent in the unit, or in the world
static cri_pose rest_frame(const cri_mechanism *mech, const cri_unit *unit, int body) {
    const cri_link *link = mech->link + body;
    cri_pose frame = link_frame(link);
    if (has_body(unit, link->parent)) {
        return frame;
    }
    cri_pose base = static_pose(mech, link->parent);
    return compose(&base, &frame);
}

static void plan_nodes(const cri_mechanism *mech, const cri_unit *unit, cri_tree_plan *p) {
    p->node[0] = (cri_tree_node){.parent = -1};
    int end = 0;
    for (int k = 1; k <= p->n_node; k++) {
        const cri_joint *joint = mech->joint + unit->first_joint + k - 1;
        int first = joint->v - unit->first_v;
        int above = joint->parent >= 0 ? joint->parent - unit->first_joint + 1 : 0;
        CR_ASSERT(above >= 0 && above < k);
        p->node[k] = (cri_tree_node){.parent = above,
                                     .first_v = first,
                                     .n_v = joint->n_v,
                                     .n_still = joint->kind == CRI_JOINT_FREE ? 3 : 0,
                                     .first_q = joint->q - unit->first_q};

        // the row of the dof above is the beginning of this row
        const cri_tree_node *parent = p->node + above;
        int last = above > 0 ? parent->first_v + parent->n_v - 1 : -1;
        for (int i = first; i < first + joint->n_v; i++) {
            p->row[i] = end;
            for (int e = last >= 0 ? p->row[last] : 0; last >= 0 && e < p->row[last + 1]; e++) {
                p->ancestor[end++] = p->ancestor[e];
            }
            p->ancestor[end++] = i;
            p->row[i + 1] = end;
            last = i;
        }
    }
    CR_ASSERT(end == p->n_entry);
}

static void carve_factor(carver *c, const cri_tree_plan *p, cri_tree_factor *f) {
    f->H = CARVE(c, double, p->n_entry);
    f->Y = CARVE(c, double, p->n_row * p->n_v);
    f->G = CARVE(c, double, p->n_row * p->n_row);
    f->scale = CARVE(c, double, p->n_row);
    f->order = CARVE(c, int, p->n_row);
    f->rank = 0;
}

static void carve_tree(carver *c, const cri_tree_plan *p, cri_tree *t) {
    int n = p->n_node + 1;
    t->q = CARVE(c, double, p->n_q);
    t->pose = CARVE(c, cri_pose, p->n_body);
    t->place = CARVE(c, cri_vec3, p->n_body);
    t->S = CARVE(c, cri_spatial, p->n_v);
    t->I = CARVE(c, cri_spatial_inertia, n);
    t->M = CARVE(c, double, p->n_entry);
    t->E = CARVE(c, double, p->n_row * p->n_v);
    t->tie = CARVE(c, cri_tree_tie, p->n_equality);
    carve_factor(c, p, &t->plain);
    carve_factor(c, p, &t->damped);
    t->v = CARVE(c, double, p->n_v);
    t->a = CARVE(c, double, p->n_v);
    t->nu = CARVE(c, double, p->n_row);
    t->V = CARVE(c, cri_spatial, n);
    t->A = CARVE(c, cri_spatial, n);
    t->F = CARVE(c, cri_spatial, n);
    t->drive = CARVE(c, cri_tree_drive, p->n_actuator);
}

static size_t tree_bytes(const cri_tree_plan *plan) {
    cri_tree t;
    carver c = {NULL, rounded_up(sizeof t)};
    carve_tree(&c, plan, &t);
    return c.used + PUSH_BYTES;
}

cri_tree_plan *cri_tree_plan_push(const cri_mechanism *mech, int unit_i, cr_arena *arena) {
    CR_ASSERT(unit_i >= 0 && unit_i < mech->n_unit && arena);
    const cri_unit *unit = mech->unit + unit_i;
    cri_tree_plan counted = count_plan(mech, unit);
    carver c = {NULL, rounded_up(sizeof counted)};
    carve_plan(&c, &counted);
    cri_tree_plan *p = cri_arena_push_raw(arena, c.used);
    if (!p) {
        return NULL;
    }
    *p = counted;
    p->tree_bytes = tree_bytes(p);
    c = (carver){(char *)p, rounded_up(sizeof *p)};
    carve_plan(&c, p);
    plan_nodes(mech, unit, p);
    for (int b = 0; b < p->n_body; b++) {
        const cri_link *link = mech->link + unit->first_body + b;
        // a body that stands still between two trees hangs on the world
        CR_ASSERT(link->node < 0 || has_joint(unit, link->node));
        p->body_node[b] = link->node >= 0 ? link->node - unit->first_joint + 1 : 0;
        p->body_parent[b] = has_body(unit, link->parent) ? link->parent - unit->first_body : -1;
        p->rest[b] = rest_frame(mech, unit, unit->first_body + b);
    }
    int n = 0;
    for (int i = 0; i < mech->n_actuator; i++) {
        if (has_actuator(mech, unit, i)) {
            p->actuator[n++] = i;
        }
    }
    n = 0;
    for (int i = 0; i < mech->n_tendon; i++) {
        if (has_tendon(mech, unit, i)) {
            p->tendon[n++] = i;
        }
    }
    return p;
}

cri_tree_plan *cri_tree_plan_of(const cri_mechanism *mech, int unit, const cri_mech_derived *d,
                                cr_arena *arena) {
    return d->plan && d->plan[unit] ? d->plan[unit] : cri_tree_plan_push(mech, unit, arena);
}

size_t cri_tree_room(const cri_mechanism *mech, const cri_mech_derived *d, int unit) {
    return d->plan && d->plan[unit] ? d->plan[unit]->tree_bytes : cri_tree_bytes(mech, unit);
}

size_t cri_tree_bytes(const cri_mechanism *mech, int unit) {
    CR_ASSERT(unit >= 0 && unit < mech->n_unit);
    cri_tree_plan p = count_plan(mech, mech->unit + unit);
    return cri_tree_plan_bytes(mech, unit) + tree_bytes(&p);
}

size_t cri_tree_scratch_bytes(const cri_mechanism *mech, int unit) {
    const cri_unit *u = mech->unit + unit;
    // the most that any call nests: 16 arrays over nodes, one of inertias, two of marks, 24 over
    // dofs, 4 over rows
    size_t node = 16 * sizeof(cri_spatial) + sizeof(cri_spatial_inertia) + 2 * sizeof(bool);
    return ((size_t)u->n_joint + 1) * node + (size_t)u->n_v * (sizeof(cri_spatial) + 24 * 8) +
           (size_t)u->n_row * 4 * 8 + 64 * PUSH_BYTES;
}

cri_tree *cri_tree_push_on(const cri_tree_plan *plan, const cri_mechanism *mech, int unit,
                           const cri_mech_derived *d, cr_arena *arena) {
    CR_ASSERT(plan && unit >= 0 && unit < mech->n_unit);
    cri_tree *t = cri_arena_push_raw(arena, plan->tree_bytes);
    if (!t) {
        return NULL;
    }
    carver c = {(char *)t, rounded_up(sizeof *t)};
    carve_tree(&c, plan, t);
    t->mech = mech;
    t->unit = mech->unit + unit;
    t->d = d;
    t->plan = plan;
    t->factor = NULL;
    return t;
}

cri_tree *cri_tree_push(const cri_mechanism *mech, int unit, const cri_mech_derived *d,
                        cr_arena *arena) {
    CR_ASSERT(d && arena);
    const cri_tree_plan *plan = cri_tree_plan_of(mech, unit, d, arena);
    return plan ? cri_tree_push_on(plan, mech, unit, d, arena) : NULL;
}

// ---- kinematics --------------------------------------------------------------------------------

// R exp(axis angle), in place
static void turn_about(cri_vec3 axis, double angle, cri_mat3 *R) {
    double s = sin(angle), half = sin(0.5 * angle), c = 2.0 * half * half;
    for (int i = 0; i < 9; i += 3) {
        // rows turn the other way: r' = r + sin r x axis + (1 - cos) (r x axis) x axis
        cri_vec3 r = cri_v3_load(R->m + i);
        cri_vec3 rx = cri_v3_cross(r, axis), rxx = cri_v3_cross(rx, axis);
        cri_v3_store(cri_v3_mad(cri_v3_mad(r, s, rx), c, rxx), R->m + i);
    }
}

// moves the pose of a body by one of its joints with the numbers x
static void move_by_joint(const cri_joint *joint, const double *x, cri_pose *pose, cri_vec3 *anchor,
                          cri_vec3 *axis) {
    if (joint->kind == CRI_JOINT_FREE) {
        *pose = (cri_pose){cri_v3_load(x), cri_quat_rotation(cri_q4_load(x + 3))};
        *anchor = pose->pos;
        return;
    }
    *anchor = cri_v3_add(pose->pos, cri_m3_mul(&pose->R, joint->pos));
    if (joint->kind == CRI_JOINT_BALL) {
        cri_pose turn = {.R = cri_quat_rotation(cri_q4_load(x))};
        *pose = compose(pose, &turn);
        pose->pos = cri_v3_sub(*anchor, cri_m3_mul(&pose->R, joint->pos));
        return;
    }
    *axis = cri_m3_mul(&pose->R, joint->axis);
    if (joint->kind == CRI_JOINT_SLIDE) {
        pose->pos = cri_v3_mad(pose->pos, x[0] - joint->ref, *axis);
        return;
    }
    turn_about(joint->axis, x[0] - joint->ref, &pose->R);
    pose->pos = cri_v3_sub(*anchor, cri_m3_mul(&pose->R, joint->pos));
}

void cri_tree_poses(const cri_mechanism *mech, int unit_i, const double *q, cri_pose *pose) {
    CR_ASSERT(unit_i >= 0 && unit_i < mech->n_unit && q && pose);
    const cri_unit *unit = mech->unit + unit_i;
    for (int b = unit->first_body; b < unit->first_body + unit->n_body; b++) {
        const cri_link *link = mech->link + b;
        cri_pose rest = rest_frame(mech, unit, b);
        pose[b] = has_body(unit, link->parent) ? compose(pose + link->parent, &rest) : rest;
        for (int j = link->first_joint; j < link->first_joint + link->n_joint; j++) {
            cri_vec3 anchor, axis;
            move_by_joint(mech->joint + j, q + mech->joint[j].q, pose + b, &anchor, &axis);
        }
    }
}

// columns of a node whose anchor is relative to O
static void set_columns(cri_joint_kind kind, cri_vec3 anchor, cri_vec3 axis, const cri_mat3 *R,
                        cri_spatial *S) {
    static const cri_vec3 zero = {0.0, 0.0, 0.0};
    if (kind == CRI_JOINT_SLIDE) {
        S[0] = (cri_spatial){zero, axis};
        return;
    }
    if (kind == CRI_JOINT_HINGE) {
        S[0] = (cri_spatial){axis, cri_v3_cross(anchor, axis)};
        return;
    }
    if (kind == CRI_JOINT_FREE) {
        S[0] = (cri_spatial){zero, {1.0, 0.0, 0.0}};
        S[1] = (cri_spatial){zero, {0.0, 1.0, 0.0}};
        S[2] = (cri_spatial){zero, {0.0, 0.0, 1.0}};
        S += 3;
    }
    for (int k = 0; k < 3; k++) {
        cri_vec3 e = cri_v3(R->m[k], R->m[3 + k], R->m[6 + k]);
        S[k] = (cri_spatial){e, cri_v3_cross(anchor, e)};
    }
}

void cri_tree_place(cri_tree *tree, const double *q) {
    CR_ASSERT(tree && q);
    const cri_mechanism *mech = tree->mech;
    const cri_unit *unit = tree->unit;
    const cri_tree_plan *plan = tree->plan;
    memcpy(tree->q, q, sizeof *q * (size_t)plan->n_q);

    // work holds anchors and axes of nodes
    cri_spatial *frame = tree->plan->work[0];
    for (int b = 0; b < plan->n_body; b++) {
        const cri_link *link = mech->link + unit->first_body + b;
        int parent = plan->body_parent[b];
        tree->pose[b] = parent < 0 ? plan->rest[b] : compose(tree->pose + parent, plan->rest + b);
        for (int j = link->first_joint; j < link->first_joint + link->n_joint; j++) {
            int n = j - unit->first_joint + 1;
            const double *x = tree->q + plan->node[n].first_q;
            move_by_joint(mech->joint + j, x, tree->pose + b, &frame[n].v, &frame[n].w);
        }
    }
    tree->origin = tree->pose[0].pos;
    for (int b = 0; b < plan->n_body; b++) {
        tree->place[b] = cri_v3_sub(tree->pose[b].pos, tree->origin);
    }
    for (int k = 1; k <= plan->n_node; k++) {
        const cri_joint *joint = mech->joint + unit->first_joint + k - 1;
        set_columns(joint->kind, cri_v3_sub(frame[k].v, tree->origin), frame[k].w,
                    &tree->pose[joint->body - unit->first_body].R, tree->S + plan->node[k].first_v);
    }
    tree_mass(tree);
    cri_tree_tie_all(tree);
}

void cri_tree_set(cri_tree *tree, const double *q, cr_arena *scratch) {
    (void)scratch;
    cri_tree_place(tree, q + tree->unit->first_q);
    cri_tree_factor_mass(tree, 0.0, &tree->plain);
}

cri_pose cri_tree_pose(const cri_tree *tree, int body) {
    CR_ASSERT(has_body(tree->unit, body));
    return tree->pose[body - tree->unit->first_body];
}

int cri_tree_node_of(const cri_tree *tree, int body) {
    return has_body(tree->unit, body) ? tree->plan->body_node[body - tree->unit->first_body] : 0;
}

cri_pose cri_tree_any_pose(const cri_tree *tree, int body) {
    return has_body(tree->unit, body) ? tree->pose[body - tree->unit->first_body]
                                      : static_pose(tree->mech, body);
}
