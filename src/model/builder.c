// SPDX-License-Identifier: MIT
//
// From a scene definition to a model, in four parts: shapes and masses, the mechanism, the layout
// of p, and names with keyframes.

#include "model/builder.h"

#include "base/arena.h"
#include "geometry/field/form.h"
#include "geometry/mesh/mass.h"
#include "geometry/mesh/tessellate.h"
#include "model/ground_nets.h"
#include "model/model.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const int n_q_of[] = {7, 4, 1, 1};

static const int n_v_of[] = {6, 3, 1, 1};

/// Trees in document order.
typedef struct forest {
    int n;
    int *of_body;    // (n_body), -1: static
    int *first_body; // (n)
    bool *is_joined; // (n) with the next
} forest;

static const int n_row_of[] = {3, 6, 1, 1};

enum { NAME_BYTES = 256 };

static const cri_slot any_value = {.lower = -INFINITY, .upper = INFINITY};

static const cri_slot positive = {.lower = 0.0, .upper = INFINITY, .is_open_lower = true};

static const cri_slot not_negative = {.lower = 0.0, .upper = INFINITY};

static const cri_slot unit_interval = {.lower = 0.0, .upper = 1.0};

// ---- links, joints, units and what acts on them -------------------------------------------------

// Links, joints and units of a mechanism, and what acts on them.
//
// A tree is a body with joints whose ancestors do not move, with everything below it. A unit is a
// run of trees; equalities, tendons and actuators that reach from one tree to another join all
// trees in between, so that a unit's bodies and dofs stay contiguous.

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

static cr_status build_mechanism(cri_builder *b) {
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

// ---- nets ---------------------------------------------------------------------------------------

// Nets of a scene: a copy in the model, and a slot for each of their weights, NET/w1[i], NET/b1[i],
// NET/w2[i], ... (w of a layer by rows, b its biases).

static int build_n_weight(const cri_builder *b) {
    return b->def->nets ? b->def->nets->n_weight : 0;
}

static void add_weights(cri_builder *b, const char *net, const char *what, int n,
                        const double *value) {
    CR_ASSERT(b->n_p + n <= b->p_space);
    for (int i = 0; i < n; i++) {
        char name[96];
        snprintf(name, sizeof name, "%s/%s[%d]", net, what, i);
        b->model->slot[b->n_p++] = (cri_slot){.name = cri_arena_push_text(b->arena, name),
                                              .value = value[i],
                                              .lower = -INFINITY,
                                              .upper = INFINITY};
    }
}

static cr_status build_nets(cri_builder *b) {
    const cri_ground_nets *from = b->def->nets;
    if (!from) {
        return CR_OK;
    }
    cri_ground_nets *nets = CR_PUSH(b->arena, cri_ground_nets, 1);
    double *weights = CR_PUSH(b->arena, double, from->n_weight);
    if (!nets || !weights) {
        return cri_build_fail_memory(b);
    }
    memcpy(weights, from->weights, sizeof *weights * (size_t)from->n_weight);
    *nets = *from;
    nets->weights = weights;
    b->model->nets = nets;
    b->model->slot_nets = b->n_p;
    for (int i = 0; i < CRI_GROUND_NETS; i++) {
        // those of other kinds have no layers
        const cri_mlp *net = &nets->net[i];
        const double *w = weights + nets->first[i];
        for (int l = 1; l <= net->n_layer; l++) {
            char what[8];
            snprintf(what, sizeof what, "w%d", l);
            add_weights(b, cri_ground_net_name(i), what, net->width[l] * net->width[l - 1],
                        w + cri_mlp_place(net, l, false));
            what[0] = 'b';
            add_weights(b, cri_ground_net_name(i), what, net->width[l],
                        w + cri_mlp_place(net, l, true));
        }
    }
    return cri_arena_has_failed(b->arena) ? cri_build_fail_memory(b) : CR_OK;
}

static cr_status build_check_nets(const cri_builder *b) {
    const cr_model *m = b->model;
    if (!m->nets) {
        return CR_OK;
    }
    cr_arena *work = cri_arena_create(4096);
    double *p = work ? CR_PUSH(work, double, m->sizes.n_p) : NULL;
    cri_derived d = p ? cri_derived_push(m, work) : (cri_derived){0};
    cr_status status = CR_OK;
    if (!d.block) {
        status = cri_build_fail_memory(b);
    } else {
        for (int i = 0; i < m->sizes.n_p; i++) {
            p[i] = m->slot[i].value;
        }
        cri_derive(m, p, &d);
        status = cri_ground_check_nets(m, &d, m->nets, b->err);
    }
    cri_arena_destroy(work);
    return status;
}

// ---- slots and names ----------------------------------------------------------------------------

// The layout of p, x and u: slots with names, defaults and domains; keyframes.
//
// Positions and velocities are named by body, counted over all its joints: BODY/qpos[i],
// BODY/qvel[i]. A control is its actuator's name; the forces on dofs behind them are BODY/force[i]
// and BODY/torque[i] for a free body, JOINT/force or JOINT/torque else.

static const char *joined(cr_arena *arena, const char *owner, const char *what, int index) {
    char text[NAME_BYTES];
    const char *slash = *owner && *what ? "/" : "";
    if (index < 0) {
        snprintf(text, sizeof text, "%s%s%s", owner, slash, what);
    } else {
        snprintf(text, sizeof text, "%s%s%s[%d]", owner, slash, what, index);
    }
    return cri_arena_push_text(arena, text);
}

// adds n slots named owner/what[i] (n = 1 and no index: owner/what) and returns the first
static int add_slots(cri_builder *b, const char *owner, const char *what, int n,
                     const double *value, cri_slot domain) {
    int first = b->n_p;
    CR_ASSERT(b->n_p + n <= b->p_space);
    for (int i = 0; i < n; i++) {
        cri_slot *slot = &b->model->slot[b->n_p++];
        *slot = domain;
        bool has_index = n > 1 || strcmp(what, "size") == 0;
        slot->name = joined(b->arena, owner, what, has_index ? i : -1);
        slot->value = value[i];
    }
    return first;
}

// ---- bodies ------------------------------------------------------------------------------------

static double volume_of(const cr_model *m, const cri_geom_def *gd, int g) {
    double moment[4];
    if (m->geom[g].shape == CRI_SHAPE_MESH || m->geom[g].shape == CRI_SHAPE_FIELD) {
        return m->geom[g].moment ? m->geom[g].moment[0] : 0.0;
    }
    cri_shape_moments(gd->shape, gd->size, moment, NULL);
    return moment[0];
}

// densities of the geoms that have mass
static void add_densities(cri_builder *b, int body) {
    cr_model *m = b->model;
    for (int i = 0; i < m->body[body].n_geom; i++) {
        int g = m->geom_of_body[m->body[body].first_geom + i];
        const cri_geom_def *gd = &b->def->geom[g];
        if (gd->shape == CRI_SHAPE_PLANE || (gd->has_mass ? gd->mass : gd->density) == 0.0) {
            continue;
        }
        double density = gd->has_mass ? gd->mass / volume_of(m, gd, g) : gd->density;
        m->geom[g].slot_density = add_slots(b, gd->name, "density", 1, &density, positive);
    }
}

static void add_body(cri_builder *b, int i) {
    const cri_body_def *bd = &b->def->body[i];
    cri_body *body = &b->model->body[i];
    const cri_inertia *I = &b->inertia[i];
    int unit = b->model->mech.link[i].unit;
    body->slot_mass = body->slot_com = body->slot_inertia = -1;
    if (unit < 0 || I->mass == 0.0) {
        return;
    }
    if (bd->is_shape_inertia && !bd->has_inertial) {
        add_densities(b, i);
        return;
    }
    body->slot_mass = add_slots(b, bd->name, "mass", 1, &I->mass, positive);
    bool is_free = b->model->mech.unit[unit].is_free_body;
    body->n_inertia = is_free ? 3 : 6;
    if (is_free) {
        body->slot_inertia = add_slots(b, bd->name, "inertia", 3, I->J, positive);
    } else {
        double com[3];
        cri_v3_store(I->com, com);
        body->slot_com = add_slots(b, bd->name, "com", 3, com, any_value);
        body->slot_inertia = add_slots(b, bd->name, "inertia", 6, I->J, any_value);
        for (int k = 0; k < 3; k++) {
            b->model->slot[body->slot_inertia + k].lower = 0.0;
        }
    }
}

// what moves on a joint must have mass
static cr_status check_masses(cri_builder *b) {
    const cri_mechanism *mech = &b->model->mech;
    for (int i = 0; i < mech->n_body; i++) {
        if (mech->link[i].n_joint == 0) {
            continue;
        }
        double mass = 0.0;
        for (int k = i; k < mech->n_body; k++) {
            mass += mech->link[k].node == mech->link[i].node ? b->inertia[k].mass : 0.0;
        }
        if (!(mass > 0.0)) {
            return cri_build_fail(
                b, CR_ERR_SYNTAX, b->def->body[i].place,
                "body %.40s moves and has no mass; give it a geom with density or "
                "an <inertial>",
                b->def->body[i].name);
        }
    }
    for (int i = 0; i < mech->n_body; i++) {
        const double *J = b->inertia[i].J;
        double minor = J[0] * J[1] - J[3] * J[3];
        double det = J[0] * (J[1] * J[2] - J[5] * J[5]) - J[3] * (J[3] * J[2] - J[5] * J[4]) +
                     J[4] * (J[3] * J[5] - J[1] * J[4]);
        bool is_heavy = b->inertia[i].mass > 0.0;
        if (mech->link[i].unit >= 0 && is_heavy && !(J[0] > 0.0 && minor > 0.0 && det > 0.0)) {
            return cri_build_fail(b, CR_ERR_SYNTAX, b->def->body[i].place,
                                  "body %.40s: its inertia is not positive; check size, mass and "
                                  "density, or its <inertial>",
                                  b->def->body[i].name);
        }
    }
    return CR_OK;
}

// ---- geoms and pairs ---------------------------------------------------------------------------

// what parameters of a field are called: a mesh of a file has its scale, a net alone its code
static const char *param_name(const cri_form_plan *plan) {
    bool is_one = plan->n_node == 1 && !plan->node[0].is_posed;
    cri_field_kind kind = plan->node[0].kind;
    return is_one && kind == CRI_FIELD_GRID     ? "scale"
           : is_one && kind == CRI_FIELD_CUSTOM ? "code"
                                                : "shape";
}

static void add_field(cri_builder *b, int g) {
    cri_geom *geom = &b->model->geom[g];
    const cri_form_plan *plan = geom->plan;
    const char *name = param_name(plan);
    bool is_mesh = strcmp(name, "scale") == 0;
    geom->slot_shape = b->n_p;
    for (int i = 0; i < geom->n_shape; i++) {
        cri_slot *slot = &b->model->slot[b->n_p++];
        *slot = cri_build_shape_domain(plan, i);
        slot->name = joined(b->arena, b->def->geom[g].name, name, is_mesh ? -1 : i);
        slot->value = b->shape[g][i];
    }
}

static void add_geom(cri_builder *b, int g) {
    const cri_geom_def *gd = &b->def->geom[g];
    cri_geom *geom = &b->model->geom[g];
    if (gd->shape == CRI_SHAPE_PLANE) {
        cri_pose pose = cri_model_static_pose(b->model, geom->body);
        cri_vec3 z = cri_m3_mul(&geom->R, cri_v3(0.0, 0.0, 1.0));
        geom->normal = cri_m3_mul(&pose.R, z);
        cri_vec3 at = cri_v3_add(pose.pos, cri_m3_mul(&pose.R, geom->pos));
        double offset = cri_v3_dot(geom->normal, at);
        geom->slot_size = add_slots(b, gd->name, "offset", 1, &offset, any_value);
    } else if (geom->shape == CRI_SHAPE_FIELD) {
        add_field(b, g);
    } else {
        geom->slot_size = add_slots(b, gd->name, "size", geom->n_size, gd->size, positive);
    }
    if (gd->has_vertices) {
        geom->slot_vertex = add_slots(b, gd->name, "vertex", 3 * geom->surface.n_vertex,
                                      geom->surface.vertex, any_value);
    }
    geom->slot_friction = add_slots(b, gd->name, "friction", 1, &gd->friction, not_negative);
    geom->slot_restitution =
        add_slots(b, gd->name, "restitution", 1, &gd->restitution, unit_interval);
}

// slots of pairs still hold the place of their definition
static void add_pair(cri_builder *b, cri_geom_pair *pair) {
    char owner[NAME_BYTES];
    // a plane, or the lower body, comes first in a name
    const cri_geom_def *a = &b->def->geom[pair->geom[0]], *c = &b->def->geom[pair->geom[1]];
    bool is_swapped =
        c->shape == CRI_SHAPE_PLANE || (a->shape != CRI_SHAPE_PLANE && a->body >= 0 && c->body < 0);
    snprintf(owner, sizeof owner, "%.120s:%.120s", (is_swapped ? c : a)->name,
             (is_swapped ? a : c)->name);
    if (pair->slot_friction >= 0) {
        const cri_pair_def *pd = &b->def->pair[pair->slot_friction];
        pair->slot_friction = add_slots(b, owner, "friction", 1, &pd->friction, not_negative);
        if (pd->has_two_frictions) {
            pair->slot_friction2 =
                add_slots(b, owner, "friction2", 1, &pd->friction2, not_negative);
        }
        if (pd->has_sides) {
            pair->slot_friction_back =
                add_slots(b, owner, "friction_back", 1, &pd->friction_back, not_negative);
        }
    }
    if (pair->slot_restitution >= 0) {
        double value = b->def->pair[pair->slot_restitution].restitution;
        pair->slot_restitution = add_slots(b, owner, "restitution", 1, &value, unit_interval);
    }
}

// ---- joints, actuators, tendons ----------------------------------------------------------------

static void add_joint(cri_builder *b, int j) {
    const cri_joint_def *jd = &b->def->joint[j];
    const cri_joint *joint = &b->model->mech.joint[j];
    int unit = b->model->mech.link[joint->body].unit;
    b->model->slot_joint[j] = -1;
    if (b->model->mech.unit[unit].is_free_body) {
        return;
    }
    b->model->slot_joint[j] = add_slots(b, jd->name, "stiffness", 1, &jd->stiffness, not_negative);
    add_slots(b, jd->name, "damping", 1, &jd->damping, not_negative);
    add_slots(b, jd->name, "armature", 1, &jd->armature, not_negative);
    if (joint->n_q == 1) {
        add_slots(b, jd->name, "springref", 1, &jd->springref, any_value);
    }
}

// one number for what stands twice in gain and bias, so that nobody changes half a servo
static void add_servo(cri_builder *b, const cri_actuator_def *ad) {
    // a file cannot say less than 0 for kp or kv, but a default for <general> can
    double kp = ad->gain, kv = ad->bias[2] == 0.0 ? 0.0 : -ad->bias[2];
    if (ad->servo == CRI_SERVO_POSITION) {
        CR_ASSERT(ad->bias[1] == -kp);
        add_slots(b, ad->name, "kp", 1, &kp, kp < 0.0 ? any_value : not_negative);
    } else {
        CR_ASSERT(ad->gain == kv);
    }
    add_slots(b, ad->name, "kv", 1, &kv, kv < 0.0 ? any_value : not_negative);
}

static void add_actuator(cri_builder *b, int i) {
    const cri_actuator_def *ad = &b->def->actuator[i];
    const cri_actuator *a = &b->model->mech.actuator[i];
    int n_gear = a->kind == CRI_DRIVE_SITE   ? 6
                 : a->kind == CRI_DRIVE_BALL ? b->model->mech.joint[a->joint].n_v
                                             : 1;
    b->model->n_gear[i] = n_gear;
    b->model->slot_actuator[i] = b->n_p;
    if (ad->servo == CRI_SERVO_GENERAL) {
        add_slots(b, ad->name, "gain", 1, &ad->gain, any_value);
        add_slots(b, ad->name, "bias", 3, ad->bias, any_value);
    } else {
        add_servo(b, ad);
    }
    add_slots(b, ad->name, "gear", n_gear, ad->gear, any_value);
}

// length of a tendon where its joints' springs rest: MuJoCo takes that, and not the reference pose
static double rest_length(const cri_builder *b, const cri_tendon_def *t) {
    double length = 0.0;
    for (int k = 0; k < t->n; k++) {
        length += t->coef[k] * b->def->joint[t->joint[k]].springref;
    }
    return length;
}

// joints have stiffness and damping too: a tendon with the name of one is called tendon:NAME
static const char *tendon_owner(const cri_builder *b, const char *name, char text[NAME_BYTES]) {
    bool is_taken = false;
    for (int j = 0; j < b->def->n_joint && !is_taken; j++) {
        is_taken = strcmp(b->def->joint[j].name, name) == 0;
    }
    snprintf(text, NAME_BYTES, "%s%.120s", is_taken ? "tendon:" : "", name);
    return text;
}

static void add_tendon(cri_builder *b, int i) {
    const cri_tendon_def *t = &b->def->tendon[i];
    char text[NAME_BYTES];
    const char *owner = tendon_owner(b, t->name, text);
    double rest = isnan(t->springlength) ? rest_length(b, t) : t->springlength;
    b->model->slot_tendon[i] = add_slots(b, owner, "stiffness", 1, &t->stiffness, not_negative);
    add_slots(b, owner, "damping", 1, &t->damping, not_negative);
    add_slots(b, owner, "springlength", 1, &rest, any_value);
}

static bool push_slot_arrays(cri_builder *b) {
    const cri_scene_def *def = b->def;
    cr_model *m = b->model;
    b->p_space = 4 + 10 * def->n_body + 6 * def->n_geom + 4 * m->n_pair + 4 * def->n_joint +
                 10 * def->n_actuator + 3 * def->n_tendon + m->n_shape + m->n_corner +
                 build_n_weight(b);
    m->slot = CR_PUSH(b->arena, cri_slot, b->p_space);
    m->slot_joint = CR_PUSH(b->arena, int, def->n_joint);
    m->slot_actuator = CR_PUSH(b->arena, int, def->n_actuator);
    m->n_gear = CR_PUSH(b->arena, int, def->n_actuator);
    m->slot_tendon = CR_PUSH(b->arena, int, def->n_tendon);
    return !cri_arena_has_failed(b->arena);
}

static cr_status build_slots(cri_builder *b) {
    const cri_scene_def *def = b->def;
    if (!push_slot_arrays(b)) {
        return cri_build_fail_memory(b);
    }
    CR_TRY(check_masses(b));
    add_slots(b, "", "gravity", 3, def->gravity, any_value);
    for (int i = 0; i < def->n_body; i++) {
        add_body(b, i);
    }
    for (int g = 0; g < def->n_geom; g++) {
        add_geom(b, g);
    }
    for (int k = 0; k < b->model->n_pair; k++) {
        add_pair(b, &b->model->pair[k]);
    }
    for (int j = 0; j < def->n_joint; j++) {
        add_joint(b, j);
    }
    for (int i = 0; i < def->n_actuator; i++) {
        add_actuator(b, i);
    }
    for (int i = 0; i < def->n_tendon; i++) {
        add_tendon(b, i);
    }
    b->model->slot_mu = -1;
    if (def->potential.has_mu) {
        b->model->slot_mu = add_slots(b, "potential", "mu", 1, &def->potential.mu, positive);
    }
    CR_TRY(build_nets(b));
    return cri_arena_has_failed(b->arena) ? cri_build_fail_memory(b) : CR_OK;
}

// ---- names -------------------------------------------------------------------------------------

static void name_state(cri_builder *b) {
    cr_model *m = b->model;
    const cri_mechanism *mech = &m->mech;
    for (int i = 0; i < mech->n_body; i++) {
        const char *name = b->def->body[i].name;
        int n_q = 0, n_v = 0;
        m->body_name[i] = cri_arena_push_text(b->arena, name);
        for (int k = 0; k < mech->link[i].n_joint; k++) {
            const cri_joint *j = &mech->joint[mech->link[i].first_joint + k];
            for (int e = 0; e < j->n_q; e++) {
                m->x_name[j->q + e] = joined(b->arena, name, "qpos", n_q++);
            }
            for (int e = 0; e < j->n_v; e++) {
                m->x_name[mech->n_q + j->v + e] = joined(b->arena, name, "qvel", n_v++);
            }
        }
    }
    for (int g = 0; g < b->def->n_geom; g++) {
        m->geom_name[g] = cri_arena_push_text(b->arena, b->def->geom[g].name);
    }
    for (int i = 0; i < b->def->n_site; i++) {
        m->site_name[i] = cri_arena_push_text(b->arena, b->def->site[i].name);
    }
}

static void name_control(cri_builder *b) {
    cr_model *m = b->model;
    const cri_mechanism *mech = &m->mech;
    for (int i = 0; i < mech->n_actuator; i++) {
        m->u_name[i] = cri_arena_push_text(b->arena, b->def->actuator[i].name);
    }
    for (int k = 0; k < mech->n_joint; k++) {
        const cri_joint *j = &mech->joint[k];
        const char *name = m->joint_name[k] = cri_arena_push_text(b->arena, b->def->joint[k].name);
        const char **u = m->u_name + mech->n_actuator + j->v;
        for (int e = 0; e < j->n_v; e++) {
            switch (j->kind) {
            case CRI_JOINT_FREE:
                u[e] =
                    joined(b->arena, b->def->body[j->body].name, e < 3 ? "force" : "torque", e % 3);
                break;
            case CRI_JOINT_BALL:
                u[e] = joined(b->arena, name, "torque", e);
                break;
            case CRI_JOINT_HINGE:
                u[e] = joined(b->arena, name, "torque", -1);
                break;
            case CRI_JOINT_SLIDE:
                u[e] = joined(b->arena, name, "force", -1);
                break;
            }
        }
    }
}

static void place_state(const cri_builder *b) {
    const cri_mechanism *mech = &b->model->mech;
    for (int k = 0; k < mech->n_joint; k++) {
        const cri_joint *j = &mech->joint[k];
        double *q = b->model->x_placed + j->q;
        switch (j->kind) {
        case CRI_JOINT_FREE:
            cri_v3_store(mech->link[j->body].pos, q);
            cri_q4_store(mech->link[j->body].quat, q + 3);
            break;
        case CRI_JOINT_BALL:
            q[0] = 1.0;
            break;
        case CRI_JOINT_HINGE:
        case CRI_JOINT_SLIDE:
            q[0] = j->ref;
            break;
        }
    }
}

static cr_status build_key(cri_builder *b, int k) {
    const cri_key_def *kd = &b->def->key[k];
    cr_model *m = b->model;
    int n_q = m->mech.n_q, n_v = m->mech.n_v, n_a = m->mech.n_actuator;
    if ((kd->qpos && kd->n_qpos != n_q) || (kd->qvel && kd->n_qvel != n_v) ||
        (kd->ctrl && kd->n_ctrl != n_a)) {
        return cri_build_fail(b, CR_ERR_SYNTAX, kd->place,
                              "key %.40s: qpos needs %d values, qvel %d and ctrl %d (found %d, %d, "
                              "%d)",
                              kd->name, n_q, n_v, n_a, kd->n_qpos, kd->n_qvel, kd->n_ctrl);
    }
    double *x = CR_PUSH(b->arena, double, n_q + n_v);
    double *u = CR_PUSH(b->arena, double, m->mech.n_u);
    m->key[k] = (cri_key){.name = cri_arena_push_text(b->arena, kd->name), .x = x, .u = u};
    if (!x || !u) {
        return cri_build_fail_memory(b);
    }
    memcpy(x, kd->qpos ? kd->qpos : m->x_placed, sizeof(double) * (size_t)n_q);
    if (kd->qvel) {
        memcpy(x + n_q, kd->qvel, sizeof(double) * (size_t)n_v);
    }
    if (kd->ctrl) {
        memcpy(u, kd->ctrl, sizeof(double) * (size_t)n_a);
    }
    int joint = cri_model_normalise(m, x);
    if (joint >= 0) {
        return cri_build_fail(b, CR_ERR_SYNTAX, kd->place,
                              "key %.40s: the quaternion of body %.40s is zero", kd->name,
                              b->def->body[m->mech.joint[joint].body].name);
    }
    return CR_OK;
}

static cr_status build_names(cri_builder *b) {
    const cri_scene_def *def = b->def;
    cr_model *m = b->model;
    int n_q = m->mech.n_q, n_v = m->mech.n_v;
    m->sizes = (cr_sizes){.n_p = b->n_p,
                          .n_x = n_q + n_v,
                          .n_u = m->mech.n_u,
                          .n_q = n_q,
                          .n_v = n_v,
                          .n_tangent = 2 * n_v,
                          .n_body = def->n_body,
                          .n_geom = def->n_geom,
                          .n_key = def->n_key,
                          .dt = def->dt};
    m->x_name = CR_PUSH(b->arena, const char *, n_q + n_v);
    m->u_name = CR_PUSH(b->arena, const char *, m->mech.n_u);
    m->site_name = CR_PUSH(b->arena, const char *, def->n_site);
    m->body_name = CR_PUSH(b->arena, const char *, def->n_body);
    m->geom_name = CR_PUSH(b->arena, const char *, def->n_geom);
    m->joint_name = CR_PUSH(b->arena, const char *, def->n_joint);
    m->x_placed = CR_PUSH(b->arena, double, n_q + n_v);
    m->key = CR_PUSH(b->arena, cri_key, def->n_key);
    if (cri_arena_has_failed(b->arena)) {
        return cri_build_fail_memory(b);
    }
    name_state(b);
    name_control(b);
    place_state(b);
    for (int k = 0; k < def->n_key; k++) {
        CR_TRY(build_key(b, k));
    }
    for (int i = 0; i < b->n_p; i++) {
        const cri_slot *s = &m->slot[i];
        if (!isfinite(s->value) || (s->is_open_lower && !(s->value > s->lower))) {
            return cri_build_fail(b, CR_ERR_SYNTAX, (cri_place){0},
                                  "%s comes to %g; check size, mass and density", s->name,
                                  s->value);
        }
    }
    return CR_OK;
}

// ---- the model ----------------------------------------------------------------------------------

cr_status cri_build_fail(const cri_builder *b, cr_status status, cri_place place,
                         const char *format, ...) {
    char text[200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const char *file = place.file ? place.file : b->def->file;
    if (place.line > 0) {
        return cri_fail(b->err, status, place.line, "%.100s:%d: %s", file, place.line, text);
    }
    return cri_fail(b->err, status, 0, "%.100s: %s", file, text);
}

cr_status cri_build_fail_memory(const cri_builder *b) {
    return cri_fail(b->err, CR_ERR_MEMORY, 0, "%.100s: out of memory", b->def->file);
}

// triangles without area are accepted; one sentence of the warning counts those of all meshes
static void tell_flat(cri_builder *b) {
    char *text = b->model->warning, line[200];
    const char *first = NULL;
    int n_mesh = 0, n_flat = 0;
    for (int i = 0; i < b->def->n_mesh; i++) {
        const cri_mesh_def *mesh = &b->def->mesh[i];
        const cri_mesh_view view = {mesh->n_vertex, mesh->n_face, mesh->vertex, mesh->face};
        int n = cri_mesh_count_flat(&view);
        first = first || n == 0 ? first : mesh->name;
        n_mesh += n > 0;
        n_flat += n;
    }
    if (n_flat == 0) {
        return;
    }
    size_t used = strlen(text), room = sizeof b->model->warning - used;
    int n = snprintf(line, sizeof line, "%smesh %.60s", used > 0 ? "; " : "", first);
    if (n_mesh > 1) {
        n += snprintf(line + n, sizeof line - (size_t)n, " and %d more", n_mesh - 1);
    }
    n += snprintf(line + n, sizeof line - (size_t)n, ": %d triangle%s no area", n_flat,
                  n_flat > 1 ? "s have" : " has");
    if ((size_t)n < room) {
        memcpy(text + used, line, (size_t)n + 1);
    }
}

static cr_status fill(cri_builder *b) {
    cr_model *m = b->model;
    const cri_scene_def *def = b->def;
    m->has_contact = def->has_contact;
    m->filters_parents = def->filters_parents;
    m->mech.n_body = def->n_body;
    m->body = CR_PUSH(b->arena, cri_body, def->n_body);
    b->inertia = CR_PUSH(b->arena, cri_inertia, def->n_body);
    b->is_simple = CR_PUSH(b->arena, bool, def->n_body);
    if (!m->body || !b->inertia || !b->is_simple) {
        return cri_build_fail_memory(b);
    }
    memcpy(m->warning, def->warning, sizeof m->warning);
    tell_flat(b);
    CR_TRY(cri_build_shapes(b));
    CR_TRY(build_mechanism(b));
    CR_TRY(cri_build_pairs(b));
    CR_TRY(build_slots(b));
    CR_TRY(build_names(b));
    CR_TRY(cri_build_partners(b));
    m->potential = def->potential;
    memcpy(m->law, def->law, sizeof m->law);
    memcpy(m->stepper, def->stepper, sizeof m->stepper);
    m->law_place = (cri_place){
        cri_arena_push_text(b->arena, def->law_place.file ? def->law_place.file : def->file),
        def->law_place.line};
    m->stepper_place = (cri_place){m->law_place.file, def->stepper_place.line};
    return cri_arena_has_failed(b->arena) ? cri_build_fail_memory(b) : build_check_nets(b);
}

cr_status cri_model_build(const cri_scene_def *def, cr_model **out, cr_error *err) {
    CR_ASSERT(def && out);
    *out = NULL;
    if (def->n_joint == 0) {
        return cri_fail(err, CR_ERR_UNSUPPORTED, 0,
                        "%.100s: nothing moves; add a body with a joint or a freejoint", def->file);
    }
    cr_arena *arena = cri_arena_create(16384);
    cr_model *m = arena ? CR_PUSH(arena, cr_model, 1) : NULL;
    if (!m) {
        cri_arena_destroy(arena);
        return cri_fail(err, CR_ERR_MEMORY, 0, "%.100s: out of memory", def->file);
    }
    m->memory = arena;
    cri_builder b = {.model = m, .def = def, .arena = arena, .err = err};
    cr_status status = fill(&b);
    if (status != CR_OK) {
        cri_arena_destroy(arena);
        return status;
    }
    *out = m;
    return CR_OK;
}

void cr_model_destroy(cr_model *model) {
    if (model) {
        if (model->system_release) {
            model->system_release(model->system_self);
        }
        cri_arena_destroy(model->memory);
    }
}
