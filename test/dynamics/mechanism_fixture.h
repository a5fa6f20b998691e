// SPDX-License-Identifier: MIT
//
// Mechanisms put together by hand, for the tests of tree dynamics.
//
//     fixture f = {0};
//     fixture_body(&f, -1, 1.0);
//     fixture_joint(&f, CRI_JOINT_HINGE)->axis = ...;
//     fixture_close(&f);
//
// Numbers that nobody gives come from a stream of random numbers: frames, anchors, axes, inertias,
// state. Parameters are one block of doubles, so that a row of the gradient table can hold them.

#pragma once

#include "cr_test.h"
#include "dynamics/tree.h"

#include <math.h>
#include <string.h>

enum { FIXTURE_PARTS = 16, FIXTURE_NUMBERS = 512 };

typedef struct fixture {
    cri_mechanism mech;
    cri_mech_derived d;
    int n_d;
    double block[FIXTURE_NUMBERS]; // (n_d) what d points to
    double q[64], v[64], u[64];
    cr_test_rng rng;

    cri_link link[FIXTURE_PARTS];
    cri_joint joint[FIXTURE_PARTS];
    cri_actuator actuator[FIXTURE_PARTS];
    cri_tendon tendon[4];
    cri_equality equality[8];
    cri_site site[8];
    cri_unit unit[4];
    int dof_joint[64];
    int tendon_joint[4][4];
    double tendon_coef[4][4];
    cri_link_derived link_d[FIXTURE_PARTS];
    cri_joint_derived joint_d[FIXTURE_PARTS];
    cri_actuator_derived actuator_d[FIXTURE_PARTS];
    cri_tendon_derived tendon_d[4];
    double gravity[3];
} fixture;

static inline double fixture_random(fixture *f) {
    return cr_test_uniform(&f->rng, -1.0, 1.0);
}

static inline cri_vec3 fixture_vector(fixture *f, double size) {
    double x = fixture_random(f), y = fixture_random(f), z = fixture_random(f);
    return cri_v3(size * x, size * y, size * z);
}

/// A body on a parent, -1: the world. Static until it or a body above it gets a joint.
static inline cri_link *fixture_body(fixture *f, int parent, double mass) {
    int b = f->mech.n_body++;
    cri_quat quat = cri_quat_exp(fixture_vector(f, 1.5));
    f->link[b] = (cri_link){.parent = parent,
                            .node = parent >= 0 ? f->link[parent].node : -1,
                            .first_joint = f->mech.n_joint,
                            .unit = -1,
                            .pos = fixture_vector(f, 0.4),
                            .quat = quat};
    double a = 0.03 * mass, b1 = 0.05 * mass, c = 0.04 * mass;
    f->link_d[b] = (cri_link_derived){
        .mass = mass, .com = fixture_vector(f, 0.2), .J = {a, b1, c, 0.2 * a, -0.1 * a, 0.15 * a}};
    return f->link + b;
}

/// A joint of the last body, with a spring, damping and armature.
static inline cri_joint *fixture_joint(fixture *f, cri_joint_kind kind) {
    static const int n_q[4] = {7, 4, 1, 1}, n_v[4] = {6, 3, 1, 1};
    int j = f->mech.n_joint++, b = f->mech.n_body - 1;
    cri_link *link = f->link + b;
    cri_vec3 axis = fixture_vector(f, 1.0);
    f->joint[j] = (cri_joint){.kind = kind,
                              .body = b,
                              .parent = link->node,
                              .q = f->mech.n_q,
                              .v = f->mech.n_v,
                              .n_q = n_q[kind],
                              .n_v = n_v[kind],
                              .pos = fixture_vector(f, kind == CRI_JOINT_FREE ? 0.0 : 0.2),
                              .axis = cri_v3_scale(1.0 / cri_v3_norm(axis), axis),
                              .ref = kind >= CRI_JOINT_HINGE ? 0.3 * fixture_random(f) : 0.0,
                              .q_spring = cri_quat_exp(fixture_vector(f, 0.5)),
                              .x_spring = fixture_vector(f, 0.5)};
    f->joint_d[j] = (cri_joint_derived){.stiffness = 1.0 + 0.5 * fixture_random(f),
                                        .damping = 0.3 + 0.2 * fixture_random(f),
                                        .armature = 0.05 + 0.02 * fixture_random(f),
                                        .springref = 0.4 * fixture_random(f)};
    link->node = j;
    link->n_joint++;
    f->mech.n_q += n_q[kind];
    for (int i = 0; i < n_v[kind]; i++) {
        f->dof_joint[f->mech.n_v++] = j;
    }
    return f->joint + j;
}

/// Puts the bodies from first on into a unit of their own, with the equalities added since.
static inline void fixture_unit(fixture *f, int first_body) {
    cri_unit *unit = f->unit + f->mech.n_unit;
    int joint = f->link[first_body].first_joint, n_row = 0;
    *unit = (cri_unit){.first_body = first_body,
                       .n_body = f->mech.n_body - first_body,
                       .first_joint = joint,
                       .n_joint = f->mech.n_joint - joint,
                       .first_q = f->joint[joint].q,
                       .n_q = f->mech.n_q - f->joint[joint].q,
                       .first_v = f->joint[joint].v,
                       .n_v = f->mech.n_v - f->joint[joint].v};
    for (int b = first_body; b < f->mech.n_body; b++) {
        f->link[b].unit = f->mech.n_unit;
    }
    static const int rows[4] = {3, 6, 1, 1};
    for (int e = f->mech.n_equality - 1; e >= 0 && f->equality[e].unit < 0; e--) {
        f->equality[e].unit = f->mech.n_unit;
        unit->first_equality = e;
        unit->n_equality++;
        n_row += rows[f->equality[e].kind];
    }
    unit->n_row = n_row;
    f->mech.n_unit++;
}

static inline cri_actuator *fixture_actuator(fixture *f, cri_drive_kind kind) {
    int i = f->mech.n_actuator++;
    f->actuator[i] = (cri_actuator){.kind = kind,
                                    .joint = -1,
                                    .tendon = -1,
                                    .site = -1,
                                    .ref_site = -1,
                                    .ctrl = {-INFINITY, INFINITY},
                                    .force = {-INFINITY, INFINITY}};
    cri_actuator_derived *d = f->actuator_d + i;
    d->gain = 2.0 + fixture_random(f);
    for (int k = 0; k < 3; k++) {
        d->bias[k] = fixture_random(f);
    }
    for (int k = 0; k < 6; k++) {
        d->gear[k] = 1.0 + 0.5 * fixture_random(f);
    }
    return f->actuator + i;
}

/// A tendon over two joints.
static inline void fixture_tendon(fixture *f, int joint0, int joint1) {
    int t = f->mech.n_tendon++;
    int joint[2] = {joint0, joint1};
    for (int i = 0; i < 2; i++) {
        f->tendon_joint[t][i] = joint[i];
        f->tendon_coef[t][i] = 1.0 + 0.5 * fixture_random(f);
    }
    f->tendon_d[t] = (cri_tendon_derived){.stiffness = 1.5, .damping = 0.4, .springlength = 0.2};
}

static inline int fixture_site(fixture *f, int body) {
    cri_quat quat = cri_quat_exp(fixture_vector(f, 1.0));
    f->site[f->mech.n_site] = (cri_site){body, fixture_vector(f, 0.2), quat};
    return f->mech.n_site++;
}

static inline cri_equality *fixture_equality(fixture *f, cri_equality_kind kind, int object0,
                                             int object1) {
    cri_equality *eq = f->equality + f->mech.n_equality++;
    *eq = (cri_equality){.kind = kind,
                         .object = {object0, object1},
                         .anchor = {fixture_vector(f, 0.3), fixture_vector(f, 0.3)},
                         .relative = cri_quat_exp(fixture_vector(f, 1.0)),
                         .poly = {0.1, 0.8, -0.4, 0.3, 0.2},
                         .unit = -1};
    return eq;
}

/// Points d to the numbers of a block; returns how many there are.
static inline int fixture_map(const fixture *f, double *block, cri_mech_derived *d) {
    double *at = block;
    d->gravity = at;
    at += 3;
    d->link = (cri_link_derived *)at;
    at += 10 * f->mech.n_body;
    d->joint = (cri_joint_derived *)at;
    at += 4 * f->mech.n_joint;
    d->actuator = (cri_actuator_derived *)at;
    at += 10 * f->mech.n_actuator;
    d->tendon = (cri_tendon_derived *)at;
    at += 3 * f->mech.n_tendon;
    return (int)(at - block);
}

/// Sets the pointers, and a random state. f must not move any more.
static inline void fixture_close(fixture *f) {
    cri_mechanism *m = &f->mech;
    m->n_u = m->n_actuator + m->n_v;
    m->has_implicit_drives = true;
    m->link = f->link;
    m->joint = f->joint;
    m->actuator = f->actuator;
    m->equality = f->equality;
    m->site = f->site;
    m->unit = f->unit;
    m->dof_joint = f->dof_joint;
    m->tendon = f->tendon;
    for (int t = 0; t < m->n_tendon; t++) {
        f->tendon[t] = (cri_tendon){2, f->tendon_joint[t], f->tendon_coef[t]};
    }
    f->n_d = fixture_map(f, f->block, &f->d);
    assert_true(f->n_d <= FIXTURE_NUMBERS && m->n_q <= 64 && m->n_u <= 64);
    memcpy(f->d.gravity, f->gravity, sizeof f->gravity);
    memcpy(f->d.link, f->link_d, sizeof *f->link_d * (size_t)m->n_body);
    memcpy(f->d.joint, f->joint_d, sizeof *f->joint_d * (size_t)m->n_joint);
    memcpy(f->d.actuator, f->actuator_d, sizeof *f->actuator_d * (size_t)m->n_actuator);
    memcpy(f->d.tendon, f->tendon_d, sizeof *f->tendon_d * (size_t)m->n_tendon);
    for (int j = 0; j < m->n_joint; j++) {
        double *q = f->q + f->joint[j].q;
        if (f->joint[j].n_v == 1) {
            q[0] = 0.6 * fixture_random(f);
            continue;
        }
        if (f->joint[j].kind == CRI_JOINT_FREE) {
            cri_v3_store(fixture_vector(f, 0.5), q);
            q += 3;
        }
        cri_q4_store(cri_quat_exp(fixture_vector(f, 0.8)), q);
    }
    for (int i = 0; i < m->n_v; i++) {
        f->v[i] = fixture_random(f);
    }
    for (int i = 0; i < m->n_u; i++) {
        f->u[i] = fixture_random(f);
    }
}

/// Every kind of joint and force in unit 1; unit 0 is a free body. A static parent, bodies with no,
/// one and two joints, two roots; springs, damping, tendons, and actuators within and at limits.
static inline void fixture_zoo(fixture *f) {
    f->rng = cr_test_rng_of(7);
    cri_v3_store(cri_v3(0.3, -0.2, -9.81), f->gravity);
    fixture_body(f, -1, 1.0); // static
    fixture_body(f, -1, 1.2);
    fixture_joint(f, CRI_JOINT_FREE);
    fixture_unit(f, 1);

    fixture_body(f, 0, 0.9); // body 2: joints 1, 2
    fixture_joint(f, CRI_JOINT_SLIDE);
    fixture_joint(f, CRI_JOINT_HINGE);
    fixture_body(f, 2, 0.7); // body 3: joint 3
    fixture_joint(f, CRI_JOINT_HINGE);
    fixture_body(f, 3, 0.3); // body 4: rigid on 3
    fixture_body(f, 3, 0.5); // body 5: joint 4
    fixture_joint(f, CRI_JOINT_BALL);
    fixture_body(f, -1, 1.1); // body 6: joint 5
    fixture_joint(f, CRI_JOINT_FREE);
    fixture_body(f, 6, 0.6); // body 7: joint 6
    fixture_joint(f, CRI_JOINT_HINGE);
    fixture_body(f, 7, 0.4); // body 8: joint 7
    fixture_joint(f, CRI_JOINT_SLIDE);
    fixture_body(f, 6, 0.8); // body 9: joints 8, 9
    fixture_joint(f, CRI_JOINT_HINGE);
    fixture_joint(f, CRI_JOINT_BALL);

    fixture_tendon(f, 3, 6);
    fixture_tendon(f, 7, 1);
    int site4 = fixture_site(f, 4), site9 = fixture_site(f, 9), world = fixture_site(f, -1);
    fixture_actuator(f, CRI_DRIVE_DOFS)->joint = 2;
    fixture_actuator(f, CRI_DRIVE_DOFS)->tendon = 0;
    fixture_actuator(f, CRI_DRIVE_BALL)->joint = 4;
    fixture_actuator(f, CRI_DRIVE_BALL)->joint = 5;
    fixture_actuator(f, CRI_DRIVE_SITE)->site = site4;
    cri_actuator *act = fixture_actuator(f, CRI_DRIVE_SITE);
    act->site = site9;
    act->ref_site = site4;
    act = fixture_actuator(f, CRI_DRIVE_SITE);
    act->site = site9;
    act->ref_site = world;
    act = fixture_actuator(f, CRI_DRIVE_SITE); // within one tree
    act->site = fixture_site(f, 8);
    act->ref_site = site9;
    act = fixture_actuator(f, CRI_DRIVE_DOFS); // u at its limit
    act->joint = 6;
    act->ctrl[1] = -1.5;
    act = fixture_actuator(f, CRI_DRIVE_DOFS); // force at its limit
    act->joint = 8;
    act->force[0] = 20.0;
}

/// Equalities of every kind in unit 1 of the zoo.
static inline void fixture_zoo_ties(fixture *f) {
    fixture_equality(f, CRI_EQUALITY_CONNECT, 9, 0);
    fixture_equality(f, CRI_EQUALITY_WELD, 5, 8);
    fixture_equality(f, CRI_EQUALITY_JOINT, 3, 6);
    fixture_equality(f, CRI_EQUALITY_TENDON, 1, 0);
    fixture_equality(f, CRI_EQUALITY_JOINT, 2, -1);
}

/// Displacement of a joint or tendon from its reference.
static inline double fixture_shift(const fixture *f, cri_equality_kind kind, int object) {
    if (object < 0) {
        return 0.0;
    }
    const cri_tendon *t = kind == CRI_EQUALITY_JOINT ? NULL : f->tendon + object;
    int n = t ? t->n : 1;
    double sum = 0.0;
    for (int i = 0; i < n; i++) {
        const cri_joint *joint = f->joint + (t ? t->joint[i] : object);
        double coef = t ? t->coef[i] : 1.0;
        sum += coef * (f->q[joint->q] - joint->ref);
    }
    return sum;
}

/// The orientation of frame b in frame a, turned by a rotation vector. Not for half turns.
static inline cri_quat fixture_relative(const cri_mat3 *a, const cri_mat3 *b, cri_vec3 turn) {
    double m[9];
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            m[3 * i + k] =
                a->m[i] * b->m[k] + a->m[3 + i] * b->m[3 + k] + a->m[6 + i] * b->m[6 + k];
        }
    }
    double w = 0.5 * sqrt(1.0 + m[0] + m[4] + m[8]), s = 0.25 / w;
    cri_quat q = {w, s * (m[7] - m[5]), s * (m[2] - m[6]), s * (m[3] - m[1])};
    return cri_quat_mul(q, cri_quat_exp(turn));
}

/// Moves anchors, orientations and constants so that the equalities of a unit are nearly met: wrong
/// by about `apart`, as drift would leave them. Static bodies stand on the world.
static inline void fixture_settle(fixture *f, int unit, double apart) {
    cri_pose pose[FIXTURE_PARTS];
    cri_tree_poses(&f->mech, unit, f->q, pose);
    for (int b = 0; b < f->mech.n_body; b++) {
        if (f->link[b].unit < 0) {
            pose[b] = (cri_pose){f->link[b].pos, cri_quat_rotation(f->link[b].quat)};
        }
    }
    const cri_unit *range = f->unit + unit;
    for (int e = range->first_equality; e < range->first_equality + range->n_equality; e++) {
        cri_equality *eq = f->equality + e;
        cri_vec3 wrong = fixture_vector(f, apart);
        if (eq->kind == CRI_EQUALITY_JOINT || eq->kind == CRI_EQUALITY_TENDON) {
            double x[2];
            for (int s = 0; s < 2; s++) {
                x[s] = fixture_shift(f, eq->kind, eq->object[s]);
            }
            const double *c = eq->poly;
            double y = eq->object[1] < 0
                           ? 0.0
                           : x[1] * (c[1] + x[1] * (c[2] + x[1] * (c[3] + x[1] * c[4])));
            eq->poly[0] = x[0] - y + wrong.x;
            continue;
        }
        const cri_pose *a = pose + eq->object[0], *b = pose + eq->object[1];
        cri_vec3 point = cri_v3_add(a->pos, cri_m3_mul(&a->R, eq->anchor[0]));
        point = cri_v3_add(point, wrong);
        eq->anchor[1] = cri_m3_tmul(&b->R, cri_v3_sub(point, b->pos));
        eq->relative = fixture_relative(&a->R, &b->R, fixture_vector(f, apart));
    }
}
