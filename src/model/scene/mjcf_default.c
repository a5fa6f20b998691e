// SPDX-License-Identifier: MIT
//
// Default classes of MJCF.
//
// A class has for each family of elements a list of layers: those of its parent at the time it was
// opened, then its own. Which class an element has: its class, else the childclass nearest above
// it, else main.

#include "model/scene/mjcf_parts.h"

#include <string.h>

static const cri_mjcf_rules default_rules = {.read = "class"};

// what defaults are of, in the order of cri_mjcf_family; actuators share theirs
static const char *const family_words[CRI_MJCF_N_FAMILY] = {
    "geom",     "joint",  "site", "mesh", "general motor position velocity",
    "equality", "tendon", "pair"};

// -1: none that is read
static int family_of(const char *name) {
    for (int f = 0; f < CRI_MJCF_N_FAMILY; f++) {
        if (cri_mjcf_is_word(family_words[f], name)) {
            return f;
        }
    }
    return -1;
}

static const cri_mjcf_rules *rules_of(cri_mjcf_family family, const char *name) {
    switch (family) {
    case CRI_MJCF_GEOM:
        return &cri_mjcf_geom_rules;
    case CRI_MJCF_JOINT:
        return &cri_mjcf_joint_rules;
    case CRI_MJCF_SITE:
        return &cri_mjcf_site_rules;
    case CRI_MJCF_MESH:
        return &cri_mjcf_mesh_rules;
    case CRI_MJCF_ACTUATOR:
        return cri_mjcf_actuator_rules(name);
    case CRI_MJCF_EQUALITY:
        return &cri_mjcf_equality_rules;
    case CRI_MJCF_TENDON:
        return &cri_mjcf_tendon_rules;
    case CRI_MJCF_PAIR:
        return &cri_mjcf_pair_rules;
    }
    return NULL;
}

// ---- reading -----------------------------------------------------------------------------------

// a list that holds n layers has room for the next power of two
static const cri_xml_node **grow_layers(cri_mjcf *m, const cri_xml_node **layer, int n) {
    bool is_full = (n & (n - 1)) == 0;
    if (!is_full) {
        return layer;
    }
    const cri_xml_node **larger = CR_PUSH(m->scratch, const cri_xml_node *, n > 0 ? 2 * n : 1);
    if (larger && n > 0) {
        memcpy(larger, layer, (size_t)n * sizeof *larger);
    }
    return larger;
}

static cr_status add_layer(cri_mjcf *m, cri_mjcf_class *class, int family,
                           const cri_xml_node *node) {
    CR_ASSERT(class);
    int n = class->n_layer[family];
    const cri_xml_node **layer = grow_layers(m, class->layer[family], n);
    if (!layer) {
        return cri_mjcf_fail_memory(m);
    }
    layer[n] = node;
    class->layer[family] = layer;
    class->n_layer[family] = n + 1;
    return CR_OK;
}

// a class with copies of its parent's layers, at the end of the list
static cr_status open_class(cri_mjcf *m, const cri_mjcf_class *parent, const cri_xml_node *node,
                            cri_mjcf_class **out) {
    CR_ASSERT(parent);
    const char *name = cri_xml_get(node, "class");
    if (!name || !*name) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "has no class: name one");
    }
    cri_mjcf_class **end = &m->main;
    while (*end) {
        if (strcmp((*end)->name, name) == 0) {
            return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                                 "opens the class '%.40s' a second time: rename or join them",
                                 name);
        }
        end = &(*end)->next;
    }
    cri_mjcf_class *class = CR_PUSH(m->scratch, cri_mjcf_class, 1);
    if (!class) {
        return cri_mjcf_fail_memory(m);
    }
    class->name = name;
    *end = class;
    for (int f = 0; f < CRI_MJCF_N_FAMILY; f++) {
        for (int i = 0; i < parent->n_layer[f]; i++) {
            CR_TRY(add_layer(m, class, f, parent->layer[f][i]));
        }
    }
    *out = class;
    return CR_OK;
}

static cr_status read_layer(cri_mjcf *m, cri_mjcf_class *class, const cri_xml_node *node) {
    static const char *const ignored = "material camera light";

    int family = family_of(node->name);
    if (family < 0 && cri_mjcf_is_word(ignored, node->name)) {
        return CR_OK;
    }
    if (family < 0) {
        return cri_mjcf_fail_element(
            m, node,
            "defaults are read of geom, joint, site, mesh, pair, equality, "
            "tendon, general, motor, position, velocity");
    }
    CR_TRY(cri_mjcf_check_attrs(m, node, rules_of((cri_mjcf_family)family, node->name)));
    return add_layer(m, class, family, node);
}

// layers of this class first, so that the classes in it have them wherever they stand
static cr_status read_class(cri_mjcf *m, cri_mjcf_class *class, const cri_xml_node *node) {
    CR_TRY(cri_mjcf_check_attrs(m, node, &default_rules));
    for (const cri_xml_node *child = node->child; child; child = child->next) {
        if (strcmp(child->name, "default") != 0) {
            CR_TRY(read_layer(m, class, child));
        }
    }
    for (const cri_xml_node *child = node->child; child; child = child->next) {
        if (strcmp(child->name, "default") != 0) {
            continue;
        }
        cri_mjcf_class *inner = NULL;
        CR_TRY(open_class(m, class, child, &inner));
        CR_ASSERT(inner);
        CR_TRY(read_class(m, inner, child));
    }
    return CR_OK;
}

cr_status cri_mjcf_read_defaults(cri_mjcf *m, const cri_xml_node *root) {
    m->main = CR_PUSH(m->scratch, cri_mjcf_class, 1);
    if (!m->main) {
        return cri_mjcf_fail_memory(m);
    }
    m->main->name = "main";
    for (const cri_xml_node *node = root->child; node; node = node->next) {
        if (strcmp(node->name, "default") != 0) {
            continue;
        }
        // the outermost class may have another name
        const char *name = cri_xml_get(node, "class");
        m->main->name = name && *name ? name : m->main->name;
        CR_TRY(read_class(m, m->main, node));
    }
    return CR_OK;
}

// ---- use ---------------------------------------------------------------------------------------

static cr_status fail_class(const cri_mjcf *m, const cri_xml_node *node, const char *attr,
                            const char *name) {
    int n = 0;
    for (const cri_mjcf_class *class = m->main; class; class = class->next) {
        n++;
    }
    cri_mjcf_label *label = CR_PUSH(m->scratch, cri_mjcf_label, n);
    if (!label) {
        return cri_mjcf_fail_memory(m);
    }
    n = 0;
    for (const cri_mjcf_class *class = m->main; class; class = class->next) {
        label[n++] = (cri_mjcf_label){.name = class->name};
    }
    return cri_mjcf_fail_unknown(m, node, attr, name, label, n);
}

cr_status cri_mjcf_find_class(const cri_mjcf *m, const cri_xml_node *node, const char *attr,
                              const cri_mjcf_class **out) {
    const char *name = cri_xml_get(node, attr);
    if (!name) {
        return CR_OK;
    }
    for (const cri_mjcf_class *class = m->main; class; class = class->next) {
        if (strcmp(class->name, name) == 0) {
            *out = class;
            return CR_OK;
        }
    }
    if (strcmp(name, "main") == 0) {
        *out = m->main;
        return CR_OK;
    }
    return fail_class(m, node, attr, name);
}

cr_status cri_mjcf_open(const cri_mjcf *m, const cri_xml_node *node, cri_mjcf_family family,
                        const cri_mjcf_rules *rules, const cri_mjcf_class *usual,
                        cri_mjcf_elem *out) {
    CR_ASSERT(m->main && rules);
    CR_TRY(cri_mjcf_check_attrs(m, node, rules));
    const cri_mjcf_class *class = usual ? usual : m->main;
    CR_TRY(cri_mjcf_find_class(m, node, "class", &class));
    *out = (cri_mjcf_elem){
        .node = node, .base = class->layer[family], .n_base = class->n_layer[family]};
    return CR_OK;
}
