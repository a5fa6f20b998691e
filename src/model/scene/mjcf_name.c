// SPDX-License-Identifier: MIT
//
// Names in MJCF: what they stand for, what is nearest to a wrong one, what comes twice.
//
// Things without a name are called by their kind and their number in document order, those with a
// name counted: geom0, geom1, ... Where the file gives such a name to another one, _ is appended.

#include "model/scene/mjcf_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/file.h"

// longest piece of the file shown in a message, bytes
#define SHOWN 40

// longest name, bytes: two of them and what they own make the name of a parameter
#define NAME_LIMIT 100

// ---- names of things without one ---------------------------------------------------------------

// elements of the kind whose unnamed members begin so
static const struct {
    const char *prefix;
    const char *elements;
} kinds[] = {{"body", "body"},
             {"joint", "joint freejoint"},
             {"geom", "geom"},
             {"site", "site"},
             {"tendon", "fixed"},
             {"actuator", "motor position velocity general"},
             {"equality", "connect weld joint tendon"},
             {"key", "key"},
             {"mesh", "mesh"}};

// is it of that kind, with a name that begins like those of the kind's unnamed members?
static bool is_reserved(const cri_xml_node *node, const char *prefix, const char *elements) {
    const char *name = cri_xml_get(node, "name");
    size_t n = strlen(prefix);
    return name && strncmp(name, prefix, n) == 0 && name[n] >= '0' && name[n] <= '9' &&
           cri_mjcf_is_word(elements, node->name);
}

// counts what is reserved below node, and lists it when there is a list
static int reserve(const cri_xml_node *node, const cri_xml_node **list, int n) {
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        if (is_reserved(node, kinds[k].prefix, kinds[k].elements)) {
            if (list) {
                list[n] = node;
            }
            n++;
        }
    }
    for (const cri_xml_node *child = node->child; child; child = child->next) {
        n = reserve(child, list, n);
    }
    return n;
}

bool cri_mjcf_reserve_names(cri_mjcf *m, const cri_xml_node *root) {
    CR_ASSERT(root && !m->reserved);
    m->n_reserved = reserve(root, NULL, 0);
    m->reserved = CR_PUSH(m->scratch, const cri_xml_node *, m->n_reserved + 1);
    return m->reserved && reserve(root, m->reserved, 0) == m->n_reserved;
}

static bool is_taken(const cri_mjcf *m, const char *prefix, const char *name) {
    const char *elements = "";
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        elements = strcmp(kinds[k].prefix, prefix) == 0 ? kinds[k].elements : elements;
    }
    for (int i = 0; i < m->n_reserved; i++) {
        if (cri_mjcf_is_word(elements, m->reserved[i]->name) &&
            strcmp(cri_xml_get(m->reserved[i], "name"), name) == 0) {
            return true;
        }
    }
    return false;
}

cr_status cri_mjcf_name(const cri_mjcf *m, const cri_xml_node *node, const char *suffix,
                        const char *prefix, int i, const char **out) {
    CR_ASSERT(suffix && prefix && i >= 0);
    char text[NAME_LIMIT + 1];
    const char *name = cri_xml_get(node, "name");
    size_t n;
    if (!name || !*name) {
        n = (size_t)snprintf(text, sizeof text, "%s%d", prefix, i);
        while (n < NAME_LIMIT && is_taken(m, prefix, text)) {
            text[n++] = '_';
            text[n] = '\0';
        }
    } else {
        n = strlen(name) + strlen(suffix);
        snprintf(text, sizeof text, "%s%s", name, suffix);
    }
    if (n >= NAME_LIMIT) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "has a name of %zu bytes, at most %d are read",
                             n, NAME_LIMIT - 1);
    }
    *out = cri_arena_push_text(m->def->memory, text);
    return *out ? CR_OK : cri_mjcf_fail_memory(m);
}

// ---- lists of names ----------------------------------------------------------------------------

static int count_of(const cri_mjcf *m, cri_mjcf_kind kind) {
    const cri_scene_def *def = m->def;
    switch (kind) {
    case CRI_MJCF_BODIES:
        return def->n_body;
    case CRI_MJCF_JOINTS:
        return def->n_joint;
    case CRI_MJCF_GEOMS:
        return def->n_geom;
    case CRI_MJCF_SITES:
        return def->n_site;
    case CRI_MJCF_TENDONS:
        return def->n_tendon;
    case CRI_MJCF_ACTUATORS:
        return def->n_actuator;
    case CRI_MJCF_EQUALITIES:
        return def->n_equality;
    case CRI_MJCF_KEYS:
        return def->n_key;
    case CRI_MJCF_MESHES:
        return m->n_mesh;
    }
    return 0;
}

static cri_mjcf_label label_of(const cri_mjcf *m, cri_mjcf_kind kind, int i) {
    const cri_scene_def *def = m->def;
    switch (kind) {
    case CRI_MJCF_BODIES:
        return (cri_mjcf_label){def->body[i].name, def->body[i].place};
    case CRI_MJCF_JOINTS:
        return (cri_mjcf_label){def->joint[i].name, def->joint[i].place};
    case CRI_MJCF_GEOMS:
        return (cri_mjcf_label){def->geom[i].name, def->geom[i].place};
    case CRI_MJCF_SITES:
        return (cri_mjcf_label){def->site[i].name, def->site[i].place};
    case CRI_MJCF_TENDONS:
        return (cri_mjcf_label){def->tendon[i].name, def->tendon[i].place};
    case CRI_MJCF_ACTUATORS:
        return (cri_mjcf_label){def->actuator[i].name, def->actuator[i].place};
    case CRI_MJCF_EQUALITIES:
        return (cri_mjcf_label){def->equality[i].name, def->equality[i].place};
    case CRI_MJCF_KEYS:
        return (cri_mjcf_label){def->key[i].name, def->key[i].place};
    case CRI_MJCF_MESHES:
        return (cri_mjcf_label){m->mesh[i].name, cri_mjcf_place(m->mesh[i].elem.node)};
    }
    return (cri_mjcf_label){0};
}

// all names of a kind in scratch memory, NULL when there is none
static cri_mjcf_label *push_labels(const cri_mjcf *m, cri_mjcf_kind kind, int *n) {
    *n = count_of(m, kind);
    cri_mjcf_label *label = CR_PUSH(m->scratch, cri_mjcf_label, *n + 1);
    for (int i = 0; label && i < *n; i++) {
        label[i] = label_of(m, kind, i);
    }
    return label;
}

// ---- references --------------------------------------------------------------------------------

// the label nearest to name, NULL when none is near
static const char *nearest_label(const char *name, const cri_mjcf_label *label, int n) {
    const char *best = NULL;
    int limit = cri_text_slack(strlen(name));
    for (int i = 0; i < n; i++) {
        int d = cri_text_distance(name, label[i].name);
        if (d <= limit) {
            best = label[i].name;
            limit = d - 1;
        }
    }
    return best;
}

cr_status cri_mjcf_fail_unknown(const cri_mjcf *m, const cri_xml_node *node, const char *attr,
                                const char *name, const cri_mjcf_label *label, int n) {
    const char *near = nearest_label(name, label, n);
    if (near) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "%s=\"%.*s\" is unknown: did you mean '%.*s'?",
                             attr, SHOWN, name, SHOWN, near);
    }
    if (n == 0) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "%s=\"%.*s\" is unknown: the scene has none",
                             attr, SHOWN, name);
    }
    char list[80] = "";
    size_t used = 0;
    for (int i = 0; i < n; i++) {
        CR_ASSERT(label[i].name);
        size_t length = strlen(label[i].name);
        if (used + length + 8 > sizeof list) {
            snprintf(list + used, sizeof list - used, used > 0 ? ", ..." : "...");
            break;
        }
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "",
                                 label[i].name);
    }
    return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "%s=\"%.*s\" is unknown: the scene has %s", attr,
                         SHOWN, name, list);
}

cr_status cri_mjcf_find(const cri_mjcf *m, const cri_xml_node *node, const char *attr,
                        cri_mjcf_kind kind, int *out) {
    const char *name = cri_xml_get(node, attr);
    if (!name) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "has no %s: name one", attr);
    }
    if (kind == CRI_MJCF_BODIES && strcmp(name, "world") == 0) {
        *out = -1;
        return CR_OK;
    }
    int n = count_of(m, kind);
    for (int i = 0; i < n; i++) {
        cri_mjcf_label label = label_of(m, kind, i);
        CR_ASSERT(label.name);
        if (strcmp(label.name, name) == 0) {
            *out = i;
            return CR_OK;
        }
    }
    const cri_mjcf_label *all = push_labels(m, kind, &n);
    return all ? cri_mjcf_fail_unknown(m, node, attr, name, all, n) : cri_mjcf_fail_memory(m);
}

// ---- uniqueness --------------------------------------------------------------------------------

static int compare_labels(const void *a, const void *b) {
    const cri_mjcf_label *left = a;
    const cri_mjcf_label *right = b;
    int order = strcmp(left->name, right->name);
    order = order ? order : strcmp(left->place.file, right->place.file);
    int line = left->place.line;
    return order ? order : (line > right->place.line) - (line < right->place.line);
}

static cr_status fail_twice(const cri_mjcf *m, const char *what, const cri_mjcf_label *first,
                            const cri_mjcf_label *second) {
    char where[96];
    if (strcmp(first->place.file, second->place.file) == 0) {
        snprintf(where, sizeof where, "on line %d", first->place.line);
    } else {
        cr_error other;
        (void)cri_file_fail(&other, CR_OK, first->place.file, first->place.line, "%s", "");
        snprintf(where, sizeof where, "at %.*s", (int)strcspn(other.text, " ") - 1, other.text);
    }
    return cri_file_fail(m->err, CR_ERR_SYNTAX, second->place.file, second->place.line,
                         "two %s have the name '%.*s', the other %s: rename one", what, SHOWN,
                         second->name, where);
}

cr_status cri_mjcf_check_unique(const cri_mjcf *m, const char *what, cri_mjcf_label *label, int n) {
    CR_ASSERT(n >= 0 && (label || n == 0));
    if (n > 1) {
        qsort(label, (size_t)n, sizeof *label, compare_labels);
    }
    for (int i = 1; i < n; i++) {
        if (strcmp(label[i - 1].name, label[i].name) == 0) {
            return fail_twice(m, what, &label[i - 1], &label[i]);
        }
    }
    return CR_OK;
}

cr_status cri_mjcf_check_names(const cri_mjcf *m, cri_mjcf_kind kind) {
    static const char *const what[] = {"bodies",    "joints",     "geoms",     "sites", "tendons",
                                       "actuators", "equalities", "keyframes", "meshes"};
    int n;
    cri_mjcf_label *label = push_labels(m, kind, &n);
    return label ? cri_mjcf_check_unique(m, what[kind], label, n) : cri_mjcf_fail_memory(m);
}
