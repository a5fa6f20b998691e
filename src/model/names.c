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
    return model->sizes;
}

const char *cr_model_warning(const cr_model *model) {
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

static const cri_pair *find_pair(const cr_model *m, int a, int b) {
    for (int k = 0; k < m->n_pair; k++) {
        const cri_pair *pair = &m->pair[k];
        if ((pair->geom[0] == a && pair->geom[1] == b) ||
            (pair->geom[0] == b && pair->geom[1] == a)) {
            return pair;
        }
    }
    return NULL;
}

// the slot that a pair draws on by default values, its own or a geom's
static int slot_of_pair(const cr_model *m, const cri_pair *pair, bool is_friction) {
    int own = is_friction ? pair->slot_friction : pair->slot_restitution;
    if (own >= 0) {
        return own;
    }
    const cri_geom *a = &m->geom[pair->geom[0]], *b = &m->geom[pair->geom[1]];
    int first = is_friction ? a->slot_friction : a->slot_restitution;
    int second = is_friction ? b->slot_friction : b->slot_restitution;
    return m->slot[first].value > m->slot[second].value ? first : second;
}

static int find_in_pair(const cr_model *m, const char *name, cr_error *err) {
    const char *colon = strchr(name, ':'), *slash = strrchr(name, '/');
    bool is_friction = slash && strcmp(slash, "/friction") == 0;
    if (!colon || !slash || slash < colon || (!is_friction && strcmp(slash, "/restitution") != 0)) {
        return -1;
    }
    int a = find_geom(m, name, (size_t)(colon - name));
    int b = find_geom(m, colon + 1, (size_t)(slash - colon - 1));
    const cri_pair *pair = a >= 0 && b >= 0 ? find_pair(m, a, b) : NULL;
    if (!pair) {
        cri_fail(err, CR_ERR_ARGUMENT, 0, "no pair of colliding geoms is named %.*s",
                 (int)(slash - name), name);
        return -1;
    }
    int slot = slot_of_pair(m, pair, is_friction), n_user = 0;
    for (int k = 0; k < m->n_pair; k++) {
        n_user += slot_of_pair(m, &m->pair[k], is_friction) == slot;
    }
    const cri_geom *ga = &m->geom[a], *gb = &m->geom[b];
    int first = is_friction ? ga->slot_friction : ga->slot_restitution;
    int second = is_friction ? gb->slot_friction : gb->slot_restitution;
    int other = slot == first ? second : first;
    bool is_held = (slot == first || slot == second) && m->slot[other].value > 0.0 &&
                   (is_friction ? pair->slot_friction : pair->slot_restitution) < 0;
    if (n_user == 1 && !is_held) {
        return slot;
    }
    if (is_held) {
        cri_fail(err, CR_ERR_ARGUMENT, 0,
                 "%s is the larger of two; tie %s=%s, or add <numeric name=\"carom:%s:%s:%s\" "
                 "data=\"%g\"/> to <custom>",
                 name, m->slot[slot].name, m->slot[other].name, slash + 1, m->geom_name[a],
                 m->geom_name[b], m->slot[slot].value);
        return -1;
    }
    cri_fail(err, CR_ERR_ARGUMENT, 0,
             "%s has no value of its own; use %s, or add <numeric name=\"carom:%s:%s:%s\" "
             "data=\"%g\"/> to <custom>",
             name, m->slot[slot].name, slash + 1, m->geom_name[a], m->geom_name[b],
             m->slot[slot].value);
    return -1;
}

int cr_model_find(const cr_model *model, cr_vector vector, const char *name, cr_error *err) {
    int i = find_exact(model, vector, name);
    if (i >= 0) {
        return i;
    }
    static const char *const kinds[] = {"parameter", "state", "control"};
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
    }
}

int cr_model_find_key(const cr_model *model, const char *name) {
    for (int k = 0; k < model->sizes.n_key; k++) {
        if (strcmp(model->key[k].name, name) == 0) {
            return k;
        }
    }
    return -1;
}
