// SPDX-License-Identifier: MIT
//
// What the public interface asks of a model: sizes, names, domains, default values.
//
// A name is looked up as it stands. A pair of geoms answers in either order. A pair without a slot
// of its own answers with the geom's slot that its value comes from, but only if no other pair
// draws on that slot and the other geom's value is 0: else the two names would not mean the same
// thing.

#include "model/model.h"

#include <stdio.h>
#include <string.h>

cr_sizes cr_model_sizes(const cr_model *model) {
    CR_ASSERT(model);
    return model->sizes;
}

const char *cr_model_warning(const cr_model *model) {
    CR_ASSERT(model);
    return model->warning[0] ? model->warning : NULL;
}

static int length_of(const cr_model *m, cr_vector vector) {
    switch (vector) {
    case CR_VECTOR_P:
        return m->sizes.n_p;
    case CR_VECTOR_X:
        return m->sizes.n_x;
    case CR_VECTOR_U:
        return m->sizes.n_u;
    }
    return 0;
}

const char *cr_model_name(const cr_model *model, cr_vector vector, int i) {
    CR_ASSERT(model);
    if (i < 0 || i >= length_of(model, vector)) {
        return NULL;
    }
    switch (vector) {
    case CR_VECTOR_P:
        return model->slot[i].name;
    case CR_VECTOR_X:
        return model->x_name[i];
    case CR_VECTOR_U:
        return model->u_name[i];
    }
    return NULL;
}

static int find_exact(const cr_model *m, cr_vector vector, const char *name) {
    for (int i = 0; i < length_of(m, vector); i++) {
        if (strcmp(cr_model_name(m, vector, i), name) == 0) {
            return i;
        }
    }
    return -1;
}

// index of the geom whose name is text[0 .. n)
static int find_geom(const cr_model *m, const char *text, size_t n) {
    for (int g = 0; g < m->sizes.n_geom; g++) {
        if (strlen(m->geom_name[g]) == n && memcmp(m->geom_name[g], text, n) == 0) {
            return g;
        }
    }
    return -1;
}

// the slot that a pair draws on by default values, its own or a geom's
static int slot_of_pair(const cr_model *m, int g0, int g1, int pair, bool is_friction) {
    const cri_geom_pair *own = pair >= 0 ? &m->pair[pair] : NULL;
    int slot = !own ? -1 : is_friction ? own->slot_friction : own->slot_restitution;
    if (slot >= 0) {
        return slot;
    }
    if (own && is_friction && own->friction_geom >= 0) {
        return m->geom[own->friction_geom].slot_friction;
    }
    const cri_geom *a = &m->geom[g0], *b = &m->geom[g1];
    int first = is_friction ? a->slot_friction : a->slot_restitution;
    int second = is_friction ? b->slot_friction : b->slot_restitution;
    return m->slot[first].value > m->slot[second].value ? first : second;
}

// how many pairs of geoms draw on a slot
static int count_users(const cr_model *m, int slot, bool is_friction) {
    int n = 0, pair;
    for (int a = 0; a < m->sizes.n_geom; a++) {
        for (int b = a + 1; b < m->sizes.n_geom; b++) {
            if (cri_model_may_collide(m, a, b, &pair)) {
                n += slot_of_pair(m, a, b, pair, is_friction) == slot;
            }
        }
    }
    return n;
}

// why a pair has no name of its own, with the remedy
static void explain_pair(const cr_model *m, const char *name, const char *what, const int *geom,
                         int slot, int other, cr_error *err) {
    if (other >= 0) {
        cri_fail(err, CR_ERR_ARGUMENT, 0,
                 "%s is the larger of two; tie %s=%s, or add <numeric name=\"carom:%s:%s:%s\" "
                 "data=\"%g\"/> to <custom>",
                 name, m->slot[slot].name, m->slot[other].name, what, m->geom_name[geom[0]],
                 m->geom_name[geom[1]], m->slot[slot].value);
        return;
    }
    cri_fail(err, CR_ERR_ARGUMENT, 0,
             "%s has no value of its own; use %s, or add <numeric name=\"carom:%s:%s:%s\" "
             "data=\"%g\"/> to <custom>",
             name, m->slot[slot].name, what, m->geom_name[geom[0]], m->geom_name[geom[1]],
             m->slot[slot].value);
}

// the second coefficient of a pair, which no geom has
static int find_friction2(const cr_model *m, const char *name, const int *geom, int pair,
                          cr_error *err) {
    if (pair >= 0 && m->pair[pair].slot_friction2 >= 0) {
        return m->pair[pair].slot_friction2;
    }
    cri_fail(err, CR_ERR_ARGUMENT, 0,
             "no parameter is named %s: its friction is the same in all directions; add <numeric "
             "name=\"carom:friction:%s:%s\" data=\"MU1 MU2\"/> to <custom>",
             name, m->geom_name[geom[0]], m->geom_name[geom[1]]);
    return -1;
}

// that of sliding back, likewise
static int find_friction_back(const cr_model *m, const char *name, const int *geom, int pair,
                              cr_error *err) {
    if (pair >= 0 && m->pair[pair].slot_friction_back >= 0) {
        return m->pair[pair].slot_friction_back;
    }
    cri_fail(err, CR_ERR_ARGUMENT, 0,
             "no parameter is named %s: its friction is the same both ways; add <numeric "
             "name=\"carom:slide:%s:%s\" data=\"MU MU_BACK DX DY DZ\"/> to <custom>",
             name, m->geom_name[geom[0]], m->geom_name[geom[1]]);
    return -1;
}

static int find_in_pair(const cr_model *m, const char *name, cr_error *err) {
    const char *colon = strchr(name, ':'), *slash = strrchr(name, '/');
    bool is_friction = slash && strcmp(slash, "/friction") == 0;
    bool is_second = slash && strcmp(slash, "/friction2") == 0;
    bool is_back = slash && strcmp(slash, "/friction_back") == 0;
    bool is_known =
        is_friction || is_second || is_back || (slash && strcmp(slash, "/restitution") == 0);
    if (!colon || !slash || slash < colon || !is_known) {
        return -1;
    }
    int geom[2] = {find_geom(m, name, (size_t)(colon - name)),
                   find_geom(m, colon + 1, (size_t)(slash - colon - 1))};
    int pair;
    if (geom[0] < 0 || geom[1] < 0 || !cri_model_may_collide(m, geom[0], geom[1], &pair)) {
        cri_fail(err, CR_ERR_ARGUMENT, 0, "no pair of colliding geoms is named %.*s",
                 (int)(slash - name), name);
        return -1;
    }
    if (is_second) {
        return find_friction2(m, name, geom, pair, err);
    }
    if (is_back) {
        return find_friction_back(m, name, geom, pair, err);
    }
    int slot = slot_of_pair(m, geom[0], geom[1], pair, is_friction);
    const cri_geom *a = &m->geom[geom[0]], *b = &m->geom[geom[1]];
    int first = is_friction ? a->slot_friction : a->slot_restitution;
    int second = is_friction ? b->slot_friction : b->slot_restitution;
    int other = slot == first ? second : first;
    bool has_own = pair >= 0 && (is_friction ? m->pair[pair].friction_geom >= 0 ||
                                                   m->pair[pair].slot_friction >= 0
                                             : m->pair[pair].slot_restitution >= 0);
    bool is_held = (slot == first || slot == second) && m->slot[other].value > 0.0 && !has_own;
    if (!is_held && count_users(m, slot, is_friction) == 1) {
        return slot;
    }
    explain_pair(m, name, slash + 1, geom, slot, is_held ? other : -1, err);
    return -1;
}

// JOINT/qpos and JOINT/qvel, with an index where there are several
static int find_in_joint(const cr_model *m, const char *name) {
    const char *slash = strrchr(name, '/');
    bool is_velocity = slash && strncmp(slash, "/qvel", 5) == 0;
    if (!slash || (!is_velocity && strncmp(slash, "/qpos", 5) != 0)) {
        return -1;
    }
    for (int j = 0; j < m->mech.n_joint; j++) {
        const cri_joint *joint = &m->mech.joint[j];
        size_t n = strlen(m->joint_name[j]);
        if (n != (size_t)(slash - name) || memcmp(m->joint_name[j], name, n) != 0) {
            continue;
        }
        int first = is_velocity ? m->sizes.n_q + joint->v : joint->q;
        int length = is_velocity ? joint->n_v : joint->n_q, used = 0, i = 0;
        if (slash[5] == '\0' && length == 1) {
            return first;
        }
        bool is_read = sscanf(slash + 5, "[%d]%n", &i, &used) == 1 && slash[5 + used] == '\0';
        return is_read && i >= 0 && i < length ? first + i : -1;
    }
    return -1;
}

// gain and bias of a servo derive from its kp and kv; false when the name is none of these
static bool explain_servo(const cr_model *m, const char *name, cr_error *err) {
    const char *slash = strrchr(name, '/');
    if (!slash || (strcmp(slash, "/gain") != 0 && strncmp(slash, "/bias", 5) != 0)) {
        return false;
    }
    for (int a = 0; a < m->mech.n_actuator; a++) {
        cri_servo_kind servo = m->mech.actuator[a].servo;
        size_t n = strlen(m->u_name[a]);
        if (servo != CRI_SERVO_GENERAL && n == (size_t)(slash - name) &&
            memcmp(m->u_name[a], name, n) == 0) {
            cri_fail(err, CR_ERR_ARGUMENT, 0, "%s would change half a servo; use %s/%s", name,
                     m->u_name[a], servo == CRI_SERVO_POSITION ? "kp or kv" : "kv");
            return true;
        }
    }
    return false;
}

int cr_model_find(const cr_model *model, cr_vector vector, const char *name, cr_error *err) {
    CR_ASSERT(model && name);
    int i = find_exact(model, vector, name);
    if (i >= 0) {
        return i;
    }
    i = vector == CR_VECTOR_X ? find_in_joint(model, name) : -1;
    if (i >= 0) {
        return i;
    }
    static const char *const kinds[] = {"parameter", "state", "control"};
    if (vector == CR_VECTOR_P && explain_servo(model, name, err)) {
        return -1;
    }
    cri_fail(err, CR_ERR_ARGUMENT, 0, "no %s is named %s", kinds[vector], name);
    return vector == CR_VECTOR_P ? find_in_pair(model, name, err) : -1;
}

void cr_model_domain(const cr_model *model, int i, double *lower, double *upper, bool *open_lower) {
    CR_ASSERT(i >= 0 && i < model->sizes.n_p);
    *lower = model->slot[i].lower;
    *upper = model->slot[i].upper;
    *open_lower = model->slot[i].is_open_lower;
}

void cr_model_defaults(const cr_model *model, int key, double *p, double *x, double *u) {
    CR_ASSERT(key >= -1 && key < (model->sizes.n_key > 0 ? model->sizes.n_key : 1));
    for (int i = 0; p && i < model->sizes.n_p; i++) {
        p[i] = model->slot[i].value;
    }
    if (x) {
        bool has_key = model->sizes.n_key > 0;
        const double *from = has_key ? model->key[key < 0 ? 0 : key].x : model->x_placed;
        memcpy(x, from, sizeof *x * (size_t)model->sizes.n_x);
    }
    if (u) {
        memset(u, 0, sizeof *u * (size_t)model->sizes.n_u);
        if (model->sizes.n_key > 0) {
            memcpy(u, model->key[key < 0 ? 0 : key].u, sizeof *u * (size_t)model->sizes.n_u);
        }
    }
}

int cr_model_find_key(const cr_model *model, const char *name) {
    CR_ASSERT(model && name);
    for (int k = 0; k < model->sizes.n_key; k++) {
        if (strcmp(model->key[k].name, name) == 0) {
            return k;
        }
    }
    return -1;
}

cri_entry cri_model_q_entry(const cr_model *model, int i) {
    CR_ASSERT(i >= 0 && i < model->sizes.n_q);
    const cri_joint *joint = model->mech.joint;
    int low = 0, high = model->mech.n_joint - 1;
    while (low < high) {
        int middle = (low + high + 1) / 2;
        low = joint[middle].q <= i ? middle : low;
        high = joint[middle].q <= i ? high : middle - 1;
    }
    const cri_joint *j = &joint[low];
    int part = i - j->q, n_linear = j->kind == CRI_JOINT_FREE ? 3 : 0;
    bool is_quat = j->n_q >= 4 && part >= n_linear;
    return (cri_entry){.joint = low,
                       .part = part,
                       .quat = is_quat ? j->q + n_linear : -1,
                       .theta = is_quat ? j->v + n_linear : j->v + part};
}

int cri_model_normalise(const cr_model *model, double *q) {
    CR_ASSERT(q);
    for (int j = 0; j < model->mech.n_joint; j++) {
        const cri_joint *joint = &model->mech.joint[j];
        if (joint->n_q < 4) {
            continue;
        }
        double *quat = q + joint->q + joint->n_q - 4;
        double length2 =
            quat[0] * quat[0] + quat[1] * quat[1] + quat[2] * quat[2] + quat[3] * quat[3];
        // anything that can be normalised without overflow
        if (!(length2 > 1e-200 && length2 < 1e200)) {
            return j;
        }
        cri_q4_store(cri_quat_normalise(cri_q4_load(quat)), quat);
    }
    return -1;
}
