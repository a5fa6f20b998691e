// SPDX-License-Identifier: MIT
//
// URDF to a scene definition: the lists of links and joints, and the tree that they make.
//
// URDF lists links and joints in any order. Bodies are numbered depth first, children in the order
// of their joints, so that parents come first and subtrees are contiguous. A link has one parent at
// most; there is one root; what cannot be reached from it hangs in a cycle.

#include "model/scene/urdf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/file.h"
#include "model/scene/urdf_parts.h"

// longest name, bytes, as in MJCF
#define NAME_LIMIT 100

// ---- names -------------------------------------------------------------------------------------

typedef struct label {
    const char *name;
    int index;
    int line;
} label;

static int compare_labels(const void *left, const void *right) {
    const label *a = left;
    const label *b = right;
    int order = strcmp(a->name, b->name);
    return order ? order : (a->index > b->index) - (a->index < b->index);
}

// sorts labels and gives their order; no name may come twice
static cr_status sort_labels(const cri_urdf *u, const char *what, label *labels, int n,
                             int *order) {
    if (n > 1) {
        qsort(labels, (size_t)n, sizeof *labels, compare_labels);
    }
    for (int i = 0; i < n; i++) {
        order[i] = labels[i].index;
        if (i > 0 && strcmp(labels[i - 1].name, labels[i].name) == 0) {
            return cri_file_fail(u->err, CR_ERR_SYNTAX, u->file, labels[i].line,
                                 "two %s have the name '%.*s', the other on line %d: rename one",
                                 what, CRI_URDF_SHOWN, labels[i].name, labels[i - 1].line);
        }
    }
    return CR_OK;
}

int cri_urdf_find_link(const cri_urdf *u, const char *name) {
    int low = 0;
    int high = u->n_link;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (strcmp(u->link[u->link_order[middle]].name, name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool is_found = low < u->n_link && strcmp(u->link[u->link_order[low]].name, name) == 0;
    return is_found ? u->link_order[low] : -1;
}

int cri_urdf_find_joint(const cri_urdf *u, const char *name) {
    int low = 0;
    int high = u->n_joint;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (strcmp(u->joint[u->joint_order[middle]].name, name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool is_found = low < u->n_joint && strcmp(u->joint[u->joint_order[low]].name, name) == 0;
    return is_found ? u->joint_order[low] : -1;
}

static cr_status read_name(const cri_urdf *u, const cri_xml_node *node, const char **out) {
    CR_TRY(cri_urdf_need(u, node, "name", out));
    if (strlen(*out) >= NAME_LIMIT) {
        return cri_urdf_fail(u, CR_ERR_SYNTAX, node, "has a name of %zu bytes, at most %d are read",
                             strlen(*out), NAME_LIMIT - 1);
    }
    return CR_OK;
}

// ---- lists -------------------------------------------------------------------------------------

static cr_status check_root(cri_urdf *u, const cri_xml_node *root) {
    if (strcmp(root->name, "robot") != 0) {
        return cri_urdf_fail(u, CR_ERR_SYNTAX, root, "is no URDF: expected <robot>");
    }
    for (const cri_xml_node *node = root->child; node; node = node->next) {
        if (strcmp(node->name, "link") == 0) {
            u->n_link++;
        } else if (strcmp(node->name, "joint") == 0) {
            u->n_joint++;
        } else if (strncmp(node->name, "xacro:", 6) == 0) {
            return cri_urdf_fail(u, CR_ERR_UNSUPPORTED, node,
                                 "is xacro: run xacro first and read what it writes");
        } else if (cri_urdf_is_extension("transmission gazebo sensor ros2_control mujoco", node)) {
            u->note[CRI_URDF_EXTENSION]++;
        } else if (strcmp(node->name, "material") != 0) {
            return cri_urdf_fail(u, CR_ERR_UNSUPPORTED, node,
                                 "is not known in a robot: check its spelling or remove it");
        }
    }
    if (u->n_link == 0) {
        return cri_urdf_fail(u, CR_ERR_SYNTAX, root, "has no links: add a <link>");
    }
    return CR_OK;
}

static cr_status read_lists(cri_urdf *u, const cri_xml_node *root) {
    u->link = CR_PUSH(u->scratch, cri_urdf_link, u->n_link);
    u->joint = CR_PUSH(u->scratch, cri_urdf_joint, u->n_joint);
    u->link_order = CR_PUSH(u->scratch, int, u->n_link);
    u->joint_order = CR_PUSH(u->scratch, int, u->n_joint);
    label *labels = CR_PUSH(u->scratch, label, u->n_link + u->n_joint);
    if (!u->link || !u->joint || !u->link_order || !u->joint_order || !labels) {
        return cri_urdf_fail_memory(u);
    }
    label *joint_labels = labels + u->n_link;
    int n_link = 0;
    int n_joint = 0;
    for (const cri_xml_node *node = root->child; node; node = node->next) {
        const char *name;
        if (strcmp(node->name, "link") == 0) {
            CR_TRY(read_name(u, node, &name));
            labels[n_link] = (label){name, n_link, node->line};
            u->link[n_link++] = (cri_urdf_link){node, name, -1, -1, -1, -1, false};
        } else if (strcmp(node->name, "joint") == 0) {
            CR_TRY(read_name(u, node, &name));
            joint_labels[n_joint] = (label){name, n_joint, node->line};
            u->joint[n_joint++] = (cri_urdf_joint){node, name, -1, -1, -1, -1};
        }
    }
    CR_TRY(sort_labels(u, "links", labels, n_link, u->link_order));
    return sort_labels(u, "joints", joint_labels, n_joint, u->joint_order);
}

// ---- tree --------------------------------------------------------------------------------------

// the link that <parent> or <child> of a joint names
static cr_status find_end(const cri_urdf *u, const cri_xml_node *joint, const char *which,
                          int *out) {
    const cri_xml_node *node = cri_urdf_child(joint, which);
    if (!node) {
        return cri_urdf_fail(u, CR_ERR_SYNTAX, joint, "has no <%s>: add <%s link=\"...\"/>", which,
                             which);
    }
    const char *name;
    CR_TRY(cri_urdf_need(u, node, "link", &name));
    *out = cri_urdf_find_link(u, name);
    if (*out < 0) {
        return cri_urdf_fail(u, CR_ERR_SYNTAX, node,
                             "names the link '%.*s', which does not exist: check its spelling",
                             CRI_URDF_SHOWN, name);
    }
    return CR_OK;
}

static cr_status connect(cri_urdf *u, int i) {
    cri_urdf_joint *joint = &u->joint[i];
    CR_TRY(find_end(u, joint->node, "parent", &joint->parent));
    CR_TRY(find_end(u, joint->node, "child", &joint->child));
    cri_urdf_link *child = &u->link[joint->child];
    if (child->parent_joint >= 0) {
        return cri_urdf_fail(u, CR_ERR_SYNTAX, joint->node,
                             "'%.*s' gives the link '%.*s' a second parent, the first is on line "
                             "%d: close loops with an equality in MJCF",
                             CRI_URDF_SHOWN, joint->name, CRI_URDF_SHOWN, child->name,
                             u->joint[child->parent_joint].node->line);
    }
    child->parent_joint = i;
    cri_urdf_link *parent = &u->link[joint->parent];
    if (parent->last_child >= 0) {
        u->joint[parent->last_child].next = i;
    } else {
        parent->first_child = i;
    }
    parent->last_child = i;
    return CR_OK;
}

static cr_status find_root(const cri_urdf *u, const cri_xml_node *robot, int *root) {
    *root = -1;
    for (int i = 0; i < u->n_link; i++) {
        if (u->link[i].parent_joint >= 0) {
            continue;
        }
        if (*root >= 0) {
            return cri_urdf_fail(u, CR_ERR_SYNTAX, u->link[i].node,
                                 "'%.*s' has no joint to a parent, and neither has '%.*s': join "
                                 "them, a robot is one tree",
                                 CRI_URDF_SHOWN, u->link[i].name, CRI_URDF_SHOWN,
                                 u->link[*root].name);
        }
        *root = i;
    }
    if (*root < 0) {
        return cri_urdf_fail(u, CR_ERR_SYNTAX, robot,
                             "has no root: its joints make a cycle, remove one of them");
    }
    return CR_OK;
}

// ---- bodies ------------------------------------------------------------------------------------

static cr_status push_body(cri_urdf *u, int link_i) {
    cri_scene_def *def = u->def;
    cri_urdf_link *link = &u->link[link_i];
    int joint_i = link->parent_joint;
    def->body = cri_scene_def_grow(def, def->body, def->n_body, sizeof *def->body);
    char *name = cri_arena_push_text(def->memory, link->name);
    if (!def->body || !name) {
        return cri_urdf_fail_memory(u);
    }
    link->body = def->n_body++;
    cri_body_def *body = &def->body[link->body];
    *body = (cri_body_def){.name = name,
                           .parent = joint_i >= 0 ? u->link[u->joint[joint_i].parent].body : -1,
                           .quat = {1.0, 0.0, 0.0, 0.0},
                           .place = {def->file, link->node->line}};
    if (joint_i >= 0) {
        CR_TRY(cri_urdf_read_joint(u, &u->joint[joint_i], body));
    }
    return cri_urdf_read_link(u, link, body);
}

// the root and everything below it, depth first
static cr_status read_tree(cri_urdf *u, int root) {
    bool is_world = strcmp(u->link[root].name, "world") == 0;
    u->link[root].is_reached = true;
    if (is_world) {
        CR_TRY(cri_urdf_read_link(u, &u->link[root], NULL));
    } else {
        CR_TRY(push_body(u, root));
    }
    // down to the first child, else to the next sibling of the nearest ancestor that has one
    int joint = u->link[root].first_child;
    while (joint >= 0) {
        int link = u->joint[joint].child;
        u->link[link].is_reached = true;
        CR_TRY(push_body(u, link));
        int next = u->link[link].first_child;
        while (next < 0 && joint >= 0) {
            next = u->joint[joint].next;
            joint = u->link[u->joint[joint].parent].parent_joint;
        }
        joint = next;
    }
    for (int i = 0; i < u->n_link; i++) {
        if (!u->link[i].is_reached) {
            return cri_urdf_fail(u, CR_ERR_SYNTAX, u->link[i].node,
                                 "'%.*s' hangs in a cycle of joints: remove one of them",
                                 CRI_URDF_SHOWN, u->link[i].name);
        }
    }
    return CR_OK;
}

// ---- the file ----------------------------------------------------------------------------------

// one line about what has no effect
static void fill_warning(const cri_urdf *u) {
    static const char *const text[CRI_URDF_N_NOTE] = {
        [CRI_URDF_EFFORT] = "effort limits of %d joints have no effect",
        [CRI_URDF_FRICTION] = "friction of %d joints has no effect",
        [CRI_URDF_MIMIC] = "%d mimic joints became equalities",
        [CRI_URDF_EXTENSION] = "%d elements for other programs were passed over",
    };
    char *warning = u->def->warning;
    size_t size = sizeof u->def->warning;
    size_t n = 0;
    for (int i = 0; i < CRI_URDF_N_NOTE; i++) {
        if (u->note[i] > 0 && n < size) {
            n += (size_t)snprintf(warning + n, size - n, "%s", n > 0 ? "; " : "");
        }
        if (u->note[i] > 0 && n < size) {
            char part[80];
            snprintf(part, sizeof part, text[i], u->note[i]);
            n += (size_t)snprintf(warning + n, size - n, "%s", part);
        }
    }
}

static cr_status read_robot(cri_urdf *u, const cri_xml_node *robot) {
    CR_TRY(check_root(u, robot));
    CR_TRY(read_lists(u, robot));
    for (int i = 0; i < u->n_joint; i++) {
        CR_TRY(connect(u, i));
    }
    int root;
    CR_TRY(find_root(u, robot, &root));
    CR_TRY(read_tree(u, root));
    CR_TRY(cri_urdf_read_mimics(u));
    fill_warning(u);
    return CR_OK;
}

cr_status cri_urdf_read(const char *text, size_t n_byte, const char *file, cri_scene_def *def,
                        cr_error *err) {
    CR_ASSERT((text || n_byte == 0) && file && def);
    *def = (cri_scene_def){0};
    cri_xml xml;
    CR_TRY(cri_xml_parse(text, n_byte, file, &xml, err));
    cri_urdf u = {.file = file, .err = err, .scratch = xml.memory, .def = def};
    cr_status status;
    if (cri_scene_def_begin(def, file)) {
        def->integrator = CRI_INTEGRATOR_RK4; // URDF does not say
        status = read_robot(&u, xml.root);
    } else {
        status = cri_file_fail_memory(err, file);
    }
    cri_xml_clear(&xml);
    if (status != CR_OK) {
        cri_scene_def_clear(def);
    }
    return status;
}
