// SPDX-License-Identifier: MIT
//
// Links, joints and units of a mechanism, and what acts on them.
//
// A tree is a body with joints whose ancestors do not move, with everything below it. A unit is a
// run of trees; equalities, tendons and actuators that reach from one tree to another join all
// trees in between, so that a unit's bodies and dofs stay contiguous.

#include "model/builder_parts.h"

#include <math.h>
#include <string.h>

static const int n_q_of[] = {7, 4, 1, 1};
static const int n_v_of[] = {6, 3, 1, 1};

static cr_status build_joints(cri_builder *b) {
    const cri_scene_def *def = b->def;
    cri_mechanism *mech = &b->model->mech;
    cri_link *link = CR_PUSH(b->arena, cri_link, def->n_body);
    cri_joint *joint = CR_PUSH(b->arena, cri_joint, def->n_joint);
    if (!link || !joint) {
        return cri_build_fail_memory(b);
    }
    int j = 0;
    for (int i = 0; i < def->n_body; i++) {
        const cri_body_def *bd = &def->body[i];
        CR_ASSERT(bd->parent < i);
        int node = bd->parent >= 0 ? link[bd->parent].node : -1;
        link[i] = (cri_link){.parent = bd->parent, .unit = -1, .pos = bd->pos, .quat = bd->quat};
        link[i].first_joint = j;
        for (; j < def->n_joint && def->joint[j].body == i; j++) {
            const cri_joint_def *jd = &def->joint[j];
            if (jd->kind == CRI_JOINT_FREE && (bd->parent >= 0 || j > link[i].first_joint)) {
                return cri_build_fail(b, CR_ERR_SYNTAX, jd->place,
                                      "joint %.40s: a free joint needs a body of the world with no "
                                      "other joint; move the body up",
                                      jd->name);
            }
            joint[j] = (cri_joint){.kind = jd->kind,
                                   .body = i,
                                   .parent = node,
                                   .q = mech->n_q,
                                   .v = mech->n_v,
                                   .n_q = n_q_of[jd->kind],
                                   .n_v = n_v_of[jd->kind],
                                   .pos = jd->pos,
                                   .axis = jd->axis,
                                   .ref = jd->ref,
                                   .q_spring = {1.0, 0.0, 0.0, 0.0}};
            if (jd->kind == CRI_JOINT_FREE) {
                joint[j].pos = cri_v3(0.0, 0.0, 0.0);
                joint[j].q_spring = bd->quat;
                joint[j].x_spring = bd->pos;
            }
            mech->n_q += joint[j].n_q;
            mech->n_v += joint[j].n_v;
            node = j;
        }
        link[i].n_joint = j - link[i].first_joint;
        link[i].node = node;
    }
    CR_ASSERT(j == def->n_joint);
    int *dof_joint = CR_PUSH(b->arena, int, mech->n_v);
    for (int k = 0; dof_joint && k < def->n_joint; k++) {
        for (int i = 0; i < joint[k].n_v; i++) {
            dof_joint[joint[k].v + i] = k;
        }
    }
    mech->n_joint = def->n_joint;
    mech->link = link;
    mech->joint = joint;
    mech->dof_joint = dof_joint;
    return dof_joint ? CR_OK : cri_build_fail_memory(b);
}

// ---- poses in the reference configuration ------------------------------------------------------

static void reference_pose(const cri_builder *b, int body, cri_vec3 *pos, cri_quat *quat) {
    *pos = cri_v3(0.0, 0.0, 0.0);
    *quat = (cri_quat){1.0, 0.0, 0.0, 0.0};
    for (; body >= 0; body = b->def->body[body].parent) {
        const cri_body_def *bd = &b->def->body[body];
        cri_mat3 R = cri_quat_rotation(bd->quat);
        *pos = cri_v3_add(bd->pos, cri_m3_mul(&R, *pos));
        *quat = cri_quat_mul(bd->quat, *quat);
    }
}

static cri_quat conjugate(cri_quat q) {
    return (cri_quat){q.w, -q.x, -q.y, -q.z};
}

// frame of body 1 in body 0, in the reference configuration
static void relative_pose(const cri_builder *b, const int *body, cri_vec3 *pos, cri_quat *quat) {
    cri_vec3 p[2];
    cri_quat q[2];
    for (int i = 0; i < 2; i++) {
        reference_pose(b, body[i], &p[i], &q[i]);
    }
    cri_mat3 R0 = cri_quat_rotation(q[0]);
    *pos = cri_m3_tmul(&R0, cri_v3_sub(p[1], p[0]));
    *quat = cri_quat_mul(conjugate(q[0]), q[1]);
}

// ---- units -------------------------------------------------------------------------------------

/// Trees in document order.
typedef struct forest {
    int n;
    int *of_body;    // (n_body), -1: static
    int *first_body; // (n)
    bool *is_joined; // (n) with the next
} forest;

static bool push_forest(cri_builder *b, forest *f) {
    const cri_mechanism *mech = &b->model->mech;
    f->of_body = CR_PUSH(b->arena, int, mech->n_body);
    f->first_body = CR_PUSH(b->arena, int, mech->n_body);
    f->is_joined = CR_PUSH(b->arena, bool, mech->n_body + 1);
    if (!f->of_body || !f->first_body || !f->is_joined) {
        return false;
    }
    for (int i = 0; i < mech->n_body; i++) {
        int parent = mech->link[i].parent;
        f->of_body[i] = parent >= 0 ? f->of_body[parent] : -1;
        if (f->of_body[i] < 0 && mech->link[i].node >= 0) {
            f->first_body[f->n] = i;
            f->of_body[i] = f->n++;
        }
    }
    return true;
}

static void join(forest *f, int tree0, int tree1) {
    int low = tree0 < tree1 ? tree0 : tree1, high = tree0 < tree1 ? tree1 : tree0;
    for (int t = low; low >= 0 && t < high; t++) {
        f->is_joined[t] = true;
    }
}

static int tree_of_joint(const cri_builder *b, const forest *f, int joint) {
    return f->of_body[b->model->mech.joint[joint].body];
}

static int tree_of_tendon(const cri_builder *b, const forest *f, int tendon) {
    const cri_tendon_def *t = &b->def->tendon[tendon];
    for (int i = 1; i < t->n; i++) {
        join((forest *)f, tree_of_joint(b, f, t->joint[0]), tree_of_joint(b, f, t->joint[i]));
    }
    return tree_of_joint(b, f, t->joint[0]);
}

// the trees of an equality's two objects, -1: static
static void trees_of(const cri_builder *b, const forest *f, const cri_equality_def *e,
                     int tree[2]) {
    for (int i = 0; i < 2; i++) {
        tree[i] = -1;
        if (e->object[i] < 0) {
            continue;
        }
        switch (e->kind) {
        case CRI_EQUALITY_CONNECT:
        case CRI_EQUALITY_WELD:
            tree[i] = f->of_body[e->object[i]];
            break;
        case CRI_EQUALITY_JOINT:
            tree[i] = tree_of_joint(b, f, e->object[i]);
            break;
        case CRI_EQUALITY_TENDON:
            tree[i] = tree_of_tendon(b, f, e->object[i]);
            break;
        }
    }
}

static void join_trees(const cri_builder *b, forest *f) {
    for (int i = 0; i < b->def->n_equality; i++) {
        int tree[2];
        trees_of(b, f, &b->def->equality[i], tree);
        if (tree[0] >= 0 && tree[1] >= 0) {
            join(f, tree[0], tree[1]);
        }
    }
    for (int i = 0; i < b->def->n_tendon; i++) {
        tree_of_tendon(b, f, i);
    }
    for (int i = 0; i < b->def->n_actuator; i++) {
        const cri_actuator_def *a = &b->def->actuator[i];
        if (a->kind == CRI_DRIVE_SITE && a->ref_site >= 0) {
            int body = b->def->site[a->site].body, ref = b->def->site[a->ref_site].body;
            if (body >= 0 && ref >= 0 && f->of_body[body] >= 0 && f->of_body[ref] >= 0) {
                join(f, f->of_body[body], f->of_body[ref]);
            }
        }
    }
}

// does anything but weight act on the joints of a body's tree?
static bool is_driven(const cri_builder *b, const forest *f, int tree) {
    const cri_scene_def *def = b->def;
    bool is = false;
    for (int i = 0; i < def->n_actuator && !is; i++) {
        const cri_actuator_def *a = &def->actuator[i];
        int body = a->kind == CRI_DRIVE_SITE ? def->site[a->site].body
                   : a->joint >= 0           ? def->joint[a->joint].body
                                             : -1;
        is = body >= 0 && f->of_body[body] == tree;
    }
    for (int i = 0; i < def->n_equality && !is; i++) {
        int of[2];
        trees_of(b, f, &def->equality[i], of);
        is = of[0] == tree || of[1] == tree;
    }
    return is;
}

// a free joint and nothing that acts on it
static bool is_rigid(const cri_builder *b, const forest *f, const cri_unit *u) {
    const cri_joint_def *jd = &b->def->joint[u->first_joint];
    bool is_plain = u->n_joint == 1 && jd->kind == CRI_JOINT_FREE && jd->stiffness == 0.0 &&
                    jd->damping == 0.0 && jd->armature == 0.0;
    return is_plain && !is_driven(b, f, f->of_body[u->first_body]);
}

static void fill_unit(const cri_builder *b, const forest *f, int first, int last, cri_unit *u) {
    const cri_mechanism *mech = &b->model->mech;
    int end = f->first_body[last];
    for (int i = end; i < mech->n_body && (i == end || f->of_body[i] == last); i++) {
        end = f->of_body[i] == last ? i + 1 : end;
    }
    const cri_link *start = &mech->link[f->first_body[first]];
    *u = (cri_unit){.first_body = f->first_body[first],
                    .n_body = end - f->first_body[first],
                    .first_joint = start->first_joint};
    for (int i = u->first_body; i < end; i++) {
        u->n_joint += mech->link[i].n_joint;
    }
    const cri_joint *a = &mech->joint[u->first_joint], *z = a + u->n_joint - 1;
    u->first_q = a->q;
    u->first_v = a->v;
    u->n_q = z->q + z->n_q - a->q;
    u->n_v = z->v + z->n_v - a->v;
    u->is_rigid = first == last && is_rigid(b, f, u);
    u->is_free_body = u->is_rigid && u->n_body == 1 && b->is_simple[u->first_body];
}

static cr_status build_units(cri_builder *b, forest *f) {
    cri_mechanism *mech = &b->model->mech;
    cri_unit *unit = CR_PUSH(b->arena, cri_unit, f->n);
    if (!unit) {
        return cri_build_fail_memory(b);
    }
    join_trees(b, f);
    cri_link *link = (cri_link *)mech->link;
    for (int t = 0; t < f->n;) {
        int last = t;
        while (f->is_joined[last]) {
            last++;
        }
        cri_unit *u = &unit[mech->n_unit];
        fill_unit(b, f, t, last, u);
        for (int i = u->first_body; i < u->first_body + u->n_body; i++) {
            link[i].unit = link[i].node >= 0 ? mech->n_unit : -1;
        }
        mech->n_unit++;
        t = last + 1;
    }
    mech->unit = unit;
    return CR_OK;
}

// w x J w is left out of single free bodies alone
static cr_status check_gyro(const cri_builder *b) {
    cri_mechanism *mech = &b->model->mech;
    mech->omits_gyro = b->def->omits_gyro;
    for (int i = 0; mech->omits_gyro && i < mech->n_unit; i++) {
        const cri_unit *u = &mech->unit[i];
        bool is_free = mech->joint[u->first_joint].kind == CRI_JOINT_FREE;
        if (!is_free || u->n_joint != 1 || u->n_body != 1) {
            return cri_build_fail(b, CR_ERR_UNSUPPORTED, b->def->gyro_place,
                                  "carom:gyroscopic off is for free bodies without links, and body "
                                  "%.40s is none; remove the entry",
                                  b->def->body[u->first_body].name);
        }
    }
    return CR_OK;
}

// ---- what acts on them -------------------------------------------------------------------------

static const int n_row_of[] = {3, 6, 1, 1};

static cri_equality equality_of(const cri_builder *b, const cri_equality_def *e) {
    cri_equality out = {.kind = e->kind, .object = {e->object[0], e->object[1]}};
    memcpy(out.poly, e->poly, sizeof out.poly);
    cri_vec3 pos;
    cri_quat quat;
    if (e->kind == CRI_EQUALITY_CONNECT) {
        relative_pose(b, e->object, &pos, &quat);
        cri_mat3 R = cri_quat_rotation(quat);
        out.anchor[0] = e->anchor[0];
        out.anchor[1] = cri_m3_tmul(&R, cri_v3_sub(e->anchor[0], pos));
    } else if (e->kind == CRI_EQUALITY_WELD) {
        relative_pose(b, e->object, &pos, &quat);
        if (e->has_relative) {
            pos = e->relative_pos;
            quat = e->relative;
        }
        cri_mat3 R = cri_quat_rotation(quat);
        out.anchor[1] = e->anchor[1];
        out.anchor[0] = cri_v3_add(pos, cri_m3_mul(&R, e->anchor[1]));
        out.relative = quat;
    }
    return out;
}

static cr_status build_equalities(cri_builder *b, const forest *f) {
    cri_mechanism *mech = &b->model->mech;
    cri_equality *list = CR_PUSH(b->arena, cri_equality, b->def->n_equality);
    if (!list) {
        return cri_build_fail_memory(b);
    }
    cri_unit *unit = (cri_unit *)mech->unit;
    for (int u = 0; u < mech->n_unit; u++) {
        unit[u].first_equality = mech->n_equality;
        for (int i = 0; i < b->def->n_equality; i++) {
            int tree[2];
            trees_of(b, f, &b->def->equality[i], tree);
            int moving = tree[0] >= 0 ? tree[0] : tree[1];
            if (moving < 0 || mech->link[f->first_body[moving]].unit != u) {
                continue;
            }
            cri_equality *e = &list[mech->n_equality++];
            *e = equality_of(b, &b->def->equality[i]);
            e->unit = u;
            unit[u].n_equality++;
            unit[u].n_row += n_row_of[e->kind];
        }
    }
    mech->equality = list;
    return CR_OK;
}

static cr_status build_tendons(cri_builder *b) {
    const cri_scene_def *def = b->def;
    cri_mechanism *mech = &b->model->mech;
    cri_tendon *list = CR_PUSH(b->arena, cri_tendon, def->n_tendon);
    if (!list) {
        return cri_build_fail_memory(b);
    }
    for (int i = 0; i < def->n_tendon; i++) {
        const cri_tendon_def *t = &def->tendon[i];
        int *joint = CR_PUSH(b->arena, int, t->n);
        double *coef = CR_PUSH(b->arena, double, t->n);
        if (!joint || !coef) {
            return cri_build_fail_memory(b);
        }
        for (int k = 0; k < t->n; k++) {
            if (def->joint[t->joint[k]].kind < CRI_JOINT_HINGE) {
                return cri_build_fail(b, CR_ERR_SYNTAX, t->place,
                                      "tendon %.40s: joint %.40s is neither hinge nor slide",
                                      t->name, def->joint[t->joint[k]].name);
            }
            joint[k] = t->joint[k];
            coef[k] = t->coef[k];
        }
        list[i] = (cri_tendon){.n = t->n, .joint = joint, .coef = coef};
    }
    mech->tendon = list;
    mech->n_tendon = def->n_tendon;
    return CR_OK;
}

static cr_status build_actuators(cri_builder *b) {
    const cri_scene_def *def = b->def;
    cri_mechanism *mech = &b->model->mech;
    cri_actuator *list = CR_PUSH(b->arena, cri_actuator, def->n_actuator);
    cri_site *site = CR_PUSH(b->arena, cri_site, def->n_site);
    if (!list || !site) {
        return cri_build_fail_memory(b);
    }
    for (int i = 0; i < def->n_actuator; i++) {
        const cri_actuator_def *a = &def->actuator[i];
        list[i] = (cri_actuator){.kind = a->kind,
                                 .servo = a->servo,
                                 .joint = a->joint,
                                 .tendon = a->tendon,
                                 .site = a->site,
                                 .ref_site = a->ref_site,
                                 .ctrl = {a->ctrl[0], a->ctrl[1]},
                                 .force = {a->force[0], a->force[1]}};
        if (a->kind == CRI_DRIVE_DOFS && a->joint >= 0 && mech->joint[a->joint].n_v > 1) {
            list[i].kind = CRI_DRIVE_BALL;
        }
    }
    for (int i = 0; i < def->n_site; i++) {
        site[i] = (cri_site){def->site[i].body, def->site[i].pos, def->site[i].quat};
    }
    mech->actuator = list;
    mech->n_actuator = def->n_actuator;
    mech->site = site;
    mech->n_site = def->n_site;
    mech->n_u = def->n_actuator + mech->n_v;
    // MJCF's default is Euler
    mech->is_euler = def->integrator != CRI_INTEGRATOR_RK4;
    mech->has_implicit_drives =
        def->integrator == CRI_INTEGRATOR_RK4 || def->integrator == CRI_INTEGRATOR_IMPLICIT;
    return CR_OK;
}

// ---- limits ------------------------------------------------------------------------------------

static bool push_limit(cri_builder *b, int n, const int *joint, const double *coef, double bound,
                       double sign, const cri_softness *softness) {
    const cri_mechanism *mech = &b->model->mech;
    int *q = CR_PUSH(b->arena, int, n);
    int *dof = CR_PUSH(b->arena, int, n);
    double *c = CR_PUSH(b->arena, double, n);
    if (!q || !dof || !c) {
        return false;
    }
    for (int i = 0; i < n; i++) {
        q[i] = mech->joint[joint[i]].q;
        dof[i] = mech->joint[joint[i]].v;
        c[i] = coef[i];
    }
    int unit = mech->link[mech->joint[joint[0]].body].unit;
    b->model->limit[b->model->n_limit++] =
        (cri_limit){unit, -1, n, q, dof, c, bound, sign, *softness};
    return true;
}

// the largest angle of a ball joint
static bool push_ball_limit(cri_builder *b, int joint, const cri_joint_def *jd) {
    const cri_joint *j = &b->model->mech.joint[joint];
    int *dof = CR_PUSH(b->arena, int, 3);
    for (int i = 0; dof && i < 3; i++) {
        dof[i] = j->v + i;
    }
    int unit = b->model->mech.link[j->body].unit;
    b->model->limit[b->model->n_limit++] = (cri_limit){.unit = unit,
                                                       .ball = j->q,
                                                       .n = 3,
                                                       .dof = dof,
                                                       .bound = jd->range[1],
                                                       .sign = -1.0,
                                                       .softness = jd->softness};
    return dof != NULL;
}

// both ends of one range
static cr_status push_range(cri_builder *b, int n, const int *joint, const double *coef,
                            const double *range, const cri_softness *softness) {
    bool is_good = true;
    if (isfinite(range[0])) {
        is_good = push_limit(b, n, joint, coef, range[0], 1.0, softness);
    }
    if (isfinite(range[1])) {
        is_good = push_limit(b, n, joint, coef, range[1], -1.0, softness) && is_good;
    }
    return is_good ? CR_OK : cri_build_fail_memory(b);
}

static cr_status build_limits(cri_builder *b) {
    const cri_scene_def *def = b->def;
    b->model->limit = CR_PUSH(b->arena, cri_limit, 2 * (def->n_joint + def->n_tendon));
    if (!b->model->limit) {
        return cri_build_fail_memory(b);
    }
    for (int j = 0; j < def->n_joint; j++) {
        const cri_joint_def *jd = &def->joint[j];
        static const double one = 1.0;
        bool is_limited = isfinite(jd->range[0]) || isfinite(jd->range[1]);
        if (is_limited && jd->kind == CRI_JOINT_BALL) {
            if (isfinite(jd->range[1]) && !push_ball_limit(b, j, jd)) {
                return cri_build_fail_memory(b);
            }
        } else if (is_limited && jd->kind != CRI_JOINT_FREE) {
            CR_TRY(push_range(b, 1, &j, &one, jd->range, &jd->softness));
        }
    }
    for (int t = 0; t < def->n_tendon; t++) {
        const cri_tendon_def *td = &def->tendon[t];
        CR_TRY(push_range(b, td->n, td->joint, td->coef, td->range, &td->softness));
    }
    return CR_OK;
}

cr_status cri_build_mechanism(cri_builder *b) {
    forest f = {0};
    CR_TRY(build_joints(b));
    if (!push_forest(b, &f)) {
        return cri_build_fail_memory(b);
    }
    CR_TRY(build_units(b, &f));
    CR_TRY(check_gyro(b));
    CR_TRY(build_equalities(b, &f));
    CR_TRY(build_tendons(b));
    CR_TRY(build_actuators(b));
    CR_TRY(build_limits(b));
    cr_model *m = b->model;
    m->static_pose = CR_PUSH(b->arena, cri_pose, m->mech.n_body);
    for (int i = 0; m->static_pose && i < m->mech.n_body; i++) {
        cri_quat quat;
        reference_pose(b, i, &m->static_pose[i].pos, &quat);
        m->static_pose[i].R = cri_quat_rotation(quat);
    }
    return m->static_pose ? CR_OK : cri_build_fail_memory(b);
}

cri_pose cri_model_static_pose(const cr_model *model, int body) {
    static const cri_pose world = {.R = {{1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0}}};
    return body >= 0 ? model->static_pose[body] : world;
}
