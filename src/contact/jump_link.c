// SPDX-License-Identifier: MIT
//
// The touching body of a mechanism by itself, for nets that know it alone (augmented.c). In
// the plane of motion, whose axis is a, with r the arm from the body's centre of mass and t, t' two
// directions of the plane,
//
//   A_ij = t . t'/m + (r x t . a)(r' x t' . a)/I
//
// at contacts, joint, and between them. B, the joint's answer with everything attached, is that of
// the mechanism; two things that meet at a joint answer like masses side by side, so that
//
//   B = (J^-1 + J^^-1)^-1  =>  K = J + J^ = J (J - B)^-1 J

#include "contact/island.h"

#include "base/base.h"
#include "base/math/dense.h"
#include "model/ground_nets.h"

#include <math.h>
#include <string.h>

/// A direction of the plane at a point of the body.
typedef struct lever {
    cri_vec3 t;  // without its part along the axis
    double turn; // r x t . a
} lever;

/// The body.
typedef struct alone {
    cri_vec3 axis, com; // world
    double inv_mass, inv_inertia;
} alone;

static lever lever_of(const alone *b, cri_vec3 point, cri_vec3 t) {
    cri_vec3 flat = cri_v3_mad(t, -cri_v3_dot(t, b->axis), b->axis);
    cri_vec3 arm = cri_v3_sub(point, b->com);
    return (lever){flat, cri_v3_dot(cri_v3_cross(arm, flat), b->axis)};
}

static double answer(const alone *b, const lever *x, const lever *y) {
    return cri_v3_dot(x->t, y->t) * b->inv_mass + x->turn * y->turn * b->inv_inertia;
}

static alone alone_of(const cri_world *world, const cri_ground_nets *nets, const cri_pose *pose) {
    const cri_link_derived *link = &world->d->mech.link[nets->body_index];
    const double *J = link->J;
    cri_vec3 a = nets->axis;
    double inertia = J[0] * a.x * a.x + J[1] * a.y * a.y + J[2] * a.z * a.z +
                     2.0 * (J[3] * a.x * a.y + J[4] * a.x * a.z + J[5] * a.y * a.z);
    return (alone){.axis = cri_m3_mul(&pose->R, a),
                   .com = cri_v3_add(pose->pos, cri_m3_mul(&pose->R, link->com)),
                   .inv_mass = 1.0 / link->mass,
                   .inv_inertia = 1.0 / inertia};
}

// the joint's answer with everything attached, and its velocity
static void whole(const cri_world *world, const cri_jump *jump, const cri_vec3 way[2],
                  cri_vec3 anchor, double B[4], double v[2], cr_arena *scratch) {
    const cri_ground_nets *nets = world->model->nets;
    const cri_pose *pose = &jump->state->pose[nets->body_index];
    int unit = world->model->mech.link[nets->body_index].unit;
    const cri_unit *u = &world->model->mech.unit[unit];
    const cri_tree *tree = jump->state->tree[unit];
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *G = CR_PUSH(scratch, double, 2 * u->n_v), forces[12];
    double *wide = CR_PUSH_RAW(scratch, double, world->model->mech.n_v);
    cri_vec3 arm = cri_v3_sub(anchor, pose->pos);
    for (int d = 0; d < 2; d++) {
        cri_v3_store(way[d], forces + 6 * d);
        cri_v3_store(cri_m3_tmul(&pose->R, cri_v3_cross(arm, way[d])), forces + 6 * d + 3);
    }
    cri_tree_pull_rows(tree, nets->body_index, 2, forces, G);
    int at = 0;
    for (int k = 0; k < jump->n_unit; k++) {
        at = jump->unit[k] == unit ? jump->at[k] : at;
    }
    for (int d = 0; d < 2; d++) {
        memcpy(wide + u->first_v, G + d * u->n_v, sizeof *G * (size_t)u->n_v);
        cri_tree_solve(tree, wide, wide, NULL);
        B[d] = cri_dot(u->n_v, G, wide + u->first_v);
        B[2 + d] = cri_dot(u->n_v, G + u->n_v, wide + u->first_v);
        v[d] = cri_dot(u->n_v, G + d * u->n_v, jump->v + at);
    }
    cri_arena_rewind(scratch, mark);
}

static bool invert(const double M[4], double out[4]) {
    double det = M[0] * M[3] - M[1] * M[2];
    memcpy(out, (double[4]){M[3] / det, -M[1] / det, -M[2] / det, M[0] / det}, sizeof(double) * 4);
    return fabs(det) > 1e-14 * (M[0] * M[0] + M[3] * M[3]);
}

static void multiply(const double X[4], const double Y[4], double out[4]) {
    for (int i = 0; i < 4; i++) {
        out[i] = X[i / 2 * 2] * Y[i % 2] + X[i / 2 * 2 + 1] * Y[2 + i % 2];
    }
}

size_t cri_jump_link_bytes(const cri_world *world, int n) {
    bool has = world->law->needs_nets && world->model->nets && world->model->nets->is_linked;
    size_t m = 3 * (size_t)n;
    return has ? sizeof(cri_contact_link) + sizeof(double) * (m * m + 2 * m) + m * sizeof(lever) +
                     sizeof(double) * 4 * (size_t)world->model->mech.n_v + 1024
               : 0;
}

cri_contact_link *cri_jump_link(const cri_world *world, const cri_jump *jump, cr_arena *keep,
                                cr_arena *scratch) {
    const cri_ground_nets *nets = world->model->nets;
    if (!world->law->needs_nets || !nets || !nets->is_linked) {
        return NULL;
    }
    int m = 3 * jump->n;
    cri_contact_link *link = CR_PUSH(keep, cri_contact_link, 1);
    lever *row = CR_PUSH_RAW(keep, lever, m);
    link->A = CR_PUSH_RAW(keep, double, m *m);
    link->C = CR_PUSH_RAW(keep, double, 2 * m);
    const cri_pose *pose = &jump->state->pose[nets->body_index];
    alone body = alone_of(world, nets, pose);
    cri_vec3 anchor = cri_v3_add(pose->pos, cri_m3_mul(&pose->R, nets->anchor));
    cri_vec3 way[2] = {nets->along, cri_v3_cross(nets->along, body.axis)};
    lever end[2] = {lever_of(&body, anchor, way[0]), lever_of(&body, anchor, way[1])};
    for (int i = 0; i < m; i++) {
        const cri_row *r = &jump->row[i / 3];
        row[i] = lever_of(&body, r->touch.point[1], r->frame.axis[i % 3]);
    }
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < m; j++) {
            link->A[i * m + j] = answer(&body, &row[i], &row[j]);
        }
        link->C[2 * i] = answer(&body, &row[i], &end[0]);
        link->C[2 * i + 1] = answer(&body, &row[i], &end[1]);
    }
    double B[4], rest[4], inverse[4], half[4];
    whole(world, jump, way, anchor, B, link->v, scratch);
    for (int i = 0; i < 4; i++) {
        link->J[i] = answer(&body, &end[i / 2], &end[i % 2]);
        rest[i] = link->J[i] - B[i];
    }
    if (!invert(rest, inverse)) {
        // nothing hangs there: no force
        memcpy(link->K, (double[4]){1.0, 0.0, 0.0, 1.0}, sizeof link->K);
        memset(link->C, 0, sizeof(double) * 2 * (size_t)m);
        return link;
    }
    multiply(link->J, inverse, half);
    multiply(half, link->J, link->K);
    return link;
}

// ---- its place ---------------------------------------------------------------------------------

const cri_ground_nets *cri_jump_placed(const cri_world *world) {
    const cri_ground_nets *nets = world->law->needs_nets ? world->model->nets : NULL;
    return nets && nets->has_place ? nets : NULL;
}

double cri_jump_where(const cri_world *world, const cri_jump *jump) {
    const cri_ground_nets *nets = cri_jump_placed(world);
    return nets ? cri_v3_dot(jump->state->pose[nets->body_index].pos, nets->along) : 0.0;
}
