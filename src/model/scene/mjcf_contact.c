// SPDX-License-Identifier: MIT
//
// Pairs of geoms: listed and excluded ones, and the friction of pairs.
//
// Friction of a pair as in MuJoCo: its own coefficient; else that of the geom with the higher
// priority; else the larger one. A pair whose condim comes to 1 has none, as a coefficient of its
// own. Two sliding coefficients act along the tangents of contact/island.h, as in MuJoCo; but there
// the tangents of a capsule on a plane turn with the capsule.

#include "model/scene/mjcf_parts.h"

#include <string.h>

const cri_mjcf_rules cri_mjcf_pair_rules = {
    .read = "name class geom1 geom2 condim friction solref solimp solreffriction margin gap",
};

static const cri_mjcf_rules exclude_rules = {.read = "body1 body2", .ignored = "name"};

// ---- pairs -------------------------------------------------------------------------------------

cri_pair_def *cri_mjcf_find_pair(const cri_scene_def *def, int i, int j) {
    CR_ASSERT(i <= j);
    for (int k = 0; k < def->n_pair; k++) {
        cri_pair_def *pair = &def->pair[k];
        if (pair->geom[0] == i && pair->geom[1] == j) {
            return pair;
        }
    }
    return NULL;
}

cri_pair_def *cri_mjcf_add_pair(cri_scene_def *def, int i, int j, cri_place place) {
    CR_ASSERT(i < j);
    cri_pair_def *list = cri_scene_def_grow(def, def->pair, def->n_pair, sizeof *list);
    if (!list) {
        return NULL;
    }
    def->pair = list;
    cri_pair_def *pair = &def->pair[def->n_pair++];
    *pair = (cri_pair_def){.geom = {i, j}, .place = place};
    return pair;
}

// by their masks alone
static bool is_masked(const cri_geom_def *a, const cri_geom_def *b) {
    bool has_bits = (a->contype & b->conaffinity) || (b->contype & a->conaffinity);
    return a->body == b->body || !has_bits;
}

bool cri_mjcf_may_touch(const cri_scene_def *def, int i, int j) {
    CR_ASSERT(i >= 0 && j >= 0 && i < def->n_geom && j < def->n_geom);
    if (!is_masked(&def->geom[i], &def->geom[j])) {
        return true;
    }
    const cri_pair_def *pair = cri_mjcf_find_pair(def, i, j);
    return pair && pair->is_listed;
}

// ---- <contact> ---------------------------------------------------------------------------------

static bool is_plane_and_capsule(const cri_scene_def *def, const cri_pair_def *pair) {
    cri_shape_kind a = def->geom[pair->geom[0]].shape, b = def->geom[pair->geom[1]].shape;
    return (a == CRI_SHAPE_PLANE && b == CRI_SHAPE_CAPSULE) ||
           (a == CRI_SHAPE_CAPSULE && b == CRI_SHAPE_PLANE);
}

// friction and condim of a listed pair
static cr_status read_pair(cri_mjcf *m, const cri_mjcf_elem *e, cri_pair_def *pair) {
    double friction[5] = {1.0, 1.0, 0.0, 0.0, 0.0};
    int n;
    int condim = 0;
    CR_TRY(cri_mjcf_numbers(m, e, "friction", 1, 5, friction, &n));
    CR_TRY(cri_mjcf_int(m, e, "condim", &condim));
    bool is_known = condim == 0 || condim == 1 || condim == 3 || condim == 4 || condim == 6;
    if (!is_known) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, e->node, "condim is %d, expected 1, 3, 4 or 6",
                             condim);
    }
    double least = n > 1 && friction[1] < friction[0] ? friction[1] : friction[0];
    if (n > 0 && least < 0.0) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, e->node, "friction is %g, expected 0 or more",
                             least);
    }
    bool has_two = n > 1 && friction[0] != friction[1] && condim != 1;
    if (has_two && is_plane_and_capsule(m->def, pair)) {
        return cri_mjcf_fail(m, CR_ERR_UNSUPPORTED, e->node,
                             "friction differs along and across a capsule on a plane: give the "
                             "same number twice, or directions of the world by carom:friction");
    }
    CR_TRY(cri_mjcf_softness(m, e, false, &pair->softness));
    cri_mjcf_warn_margin(m, e, condim);
    if (n == 1 && friction[0] != 1.0 && condim != 1) {
        cri_mjcf_warn(m, CRI_MJCF_WARN_FRICTION, e->node,
                      "<pair> friction has one number, which counts for both directions; in MuJoCo "
                      "the second one is 1: give it twice");
    }
    pair->has_friction = n > 0 || condim == 1;
    pair->friction = condim == 1 ? 0.0 : n > 0 ? friction[0] : 0.0;
    pair->has_two_frictions = has_two;
    pair->friction2 = has_two ? friction[1] : 0.0;
    pair->condim = condim;
    return CR_OK;
}

static cr_status add_listed(cri_mjcf *m, const cri_xml_node *node) {
    cri_mjcf_elem e;
    int geom[2];
    CR_TRY(cri_mjcf_open(m, node, CRI_MJCF_PAIR, &cri_mjcf_pair_rules, NULL, &e));
    CR_TRY(cri_mjcf_find(m, node, "geom1", CRI_MJCF_GEOMS, &geom[0]));
    CR_TRY(cri_mjcf_find(m, node, "geom2", CRI_MJCF_GEOMS, &geom[1]));
    int i = geom[0] < geom[1] ? geom[0] : geom[1];
    int j = geom[0] < geom[1] ? geom[1] : geom[0];
    if (m->def->geom[i].body == m->def->geom[j].body) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                             "lists two geoms of one body: they never collide; remove it");
    }
    if (cri_mjcf_find_pair(m->def, i, j)) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "lists this pair again: remove one");
    }
    cri_pair_def *pair = cri_mjcf_add_pair(m->def, i, j, cri_mjcf_place(node));
    if (!pair) {
        return cri_mjcf_fail_memory(m);
    }
    pair->is_listed = true;
    return read_pair(m, &e, pair);
}

static cr_status add_exclude(cri_mjcf *m, const cri_xml_node *node) {
    cri_scene_def *def = m->def;
    cri_exclude_def exclude = {.place = cri_mjcf_place(node)};
    CR_TRY(cri_mjcf_check_attrs(m, node, &exclude_rules));
    CR_TRY(cri_mjcf_find(m, node, "body1", CRI_MJCF_BODIES, &exclude.body[0]));
    CR_TRY(cri_mjcf_find(m, node, "body2", CRI_MJCF_BODIES, &exclude.body[1]));
    cri_exclude_def *list = cri_scene_def_grow(def, def->exclude, def->n_exclude, sizeof *list);
    if (!list) {
        return cri_mjcf_fail_memory(m);
    }
    def->exclude = list;
    def->exclude[def->n_exclude++] = exclude;
    return CR_OK;
}

cr_status cri_mjcf_read_contact(cri_mjcf *m, const cri_xml_node *root) {
    for (const cri_xml_node *section = root->child; section; section = section->next) {
        if (strcmp(section->name, "contact") != 0) {
            continue;
        }
        CR_TRY(cri_mjcf_check_attrs(m, section, &(cri_mjcf_rules){0}));
        CR_TRY(cri_mjcf_check_children(m, section, "pair exclude"));
        for (const cri_xml_node *node = section->child; node; node = node->next) {
            CR_TRY(cri_mjcf_check_children(m, node, NULL));
            bool is_pair = strcmp(node->name, "pair") == 0;
            CR_TRY(is_pair ? add_listed(m, node) : add_exclude(m, node));
        }
    }
    return CR_OK;
}

// ---- friction ----------------------------------------------------------------------------------

// the coefficient of one pair, when it is not simply the larger of the two
static cr_status rank_pair(cri_mjcf *m, int i, int j, cri_pair_def *pair) {
    cri_scene_def *def = m->def;
    const cri_geom_def *a = &def->geom[i];
    const cri_geom_def *b = &def->geom[j];
    int first = a->priority >= b->priority ? i : j;
    bool is_ranked = a->priority != b->priority;
    int condim = a->condim > b->condim ? a->condim : b->condim;
    condim = is_ranked ? def->geom[first].condim : condim;
    condim = pair && pair->condim > 0 ? pair->condim : condim;
    if (!is_ranked && condim > 1) {
        return CR_OK;
    }
    if (!pair) {
        pair = cri_mjcf_add_pair(def, i, j, def->geom[first].place);
    }
    if (!pair) {
        return cri_mjcf_fail_memory(m);
    }
    if (!pair->has_friction) {
        pair->has_friction = condim <= 1;
        pair->friction = 0.0;
        pair->friction_geom = 1 + first;
    }
    return CR_OK;
}

// do all geoms have one priority and friction? Then no pair is special
static bool are_alike(const cri_scene_def *def) {
    bool are = true;
    for (int i = 0; i < def->n_geom; i++) {
        are = are && def->geom[i].priority == def->geom[0].priority && def->geom[i].condim > 1;
    }
    return are;
}

cr_status cri_mjcf_rank_pairs(cri_mjcf *m) {
    cri_scene_def *def = m->def;
    int n_given = def->n_pair;
    // pairs with something of their own first, then those without
    for (int k = 0; k < n_given; k++) {
        CR_TRY(rank_pair(m, def->pair[k].geom[0], def->pair[k].geom[1], &def->pair[k]));
    }
    if (are_alike(def)) {
        return CR_OK;
    }
    for (int i = 0; i < def->n_geom; i++) {
        for (int j = i + 1; j < def->n_geom; j++) {
            const cri_geom_def *a = &def->geom[i];
            const cri_geom_def *b = &def->geom[j];
            bool is_plain = a->priority == b->priority && (a->condim > 1 || b->condim > 1);
            if (is_plain || is_masked(a, b)) {
                continue;
            }
            bool is_given = false;
            for (int k = 0; k < n_given && !is_given; k++) {
                is_given = def->pair[k].geom[0] == i && def->pair[k].geom[1] == j;
            }
            if (!is_given) {
                CR_TRY(rank_pair(m, i, j, NULL));
            }
        }
    }
    return CR_OK;
}
