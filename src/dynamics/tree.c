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

#include "dynamics/tree_parts.h"

#include <string.h>

// ---- memory ------------------------------------------------------------------------------------

/// Takes arrays from one block, or only counts when there is none.
typedef struct carver {
    char *base;
    size_t used;
} carver;

static size_t rounded_up(size_t n_byte) {
    return (n_byte + 15) & ~(size_t)15;
}

static void *carve(carver *c, size_t n, size_t size) {
    void *at = c->base ? c->base + c->used : NULL;
    c->used += rounded_up(n * size);
    return at;
}

#define CARVE(c, type, n) ((type *)carve((c), (size_t)(n), sizeof(type)))

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

// what one push adds to what it holds, more than the arena's own count
enum { PUSH_BYTES = 64 };

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
    cri_tree_mass(tree);
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
