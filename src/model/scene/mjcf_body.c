// SPDX-License-Identifier: MIT
//
// The tree of an MJCF scene: bodies, frames and replicas.
//
// Each body is walked twice: first for its joints, so that they are consecutive, then in document
// order for geoms, sites and the bodies in it. A <frame> only moves and turns what it holds.
// Replica k of a <replicate> stands in a frame turned by k times its euler angles, at
//   p(0) = 0,  p(k + 1) = p(k) + R(k) offset,
// and names in it end in k, with zeros in front for equal length.

#include "model/scene/mjcf_parts.h"

#include <stdio.h>
#include <string.h>

// more bodies, joints, geoms and sites than this come from a mistaken <replicate>
enum { THING_LIMIT = 250000 };

// cannot move anything
static const char *const ignored_words = "light camera";

static const cri_mjcf_rules body_rules = {
    .read = "name childclass pos quat euler axisangle xyaxes zaxis",
    .ignored = "user sleep",
    .fixed = "mocap=false gravcomp=0",
    .remedy = "bodies move by joints and under full gravity; remove it",
};

static const cri_mjcf_rules frame_rules = {
    .read = "name childclass pos quat euler axisangle xyaxes zaxis",
};

static const cri_mjcf_rules replicate_rules = {.read = "count offset euler sep childclass"};

// which children of a body are read
typedef enum walk {
    WALK_JOINTS,
    WALK_REST,
} walk;

static cr_status walk_children(cri_mjcf *m, const cri_xml_node *parent, const cri_mjcf_scope *scope,
                               walk what);

// ---- frames ------------------------------------------------------------------------------------

static cr_status walk_frame(cri_mjcf *m, const cri_xml_node *node, const cri_mjcf_scope *scope,
                            walk what) {
    cri_mjcf_scope inner = *scope;
    cri_mjcf_elem e = cri_mjcf_bare(node);
    CR_TRY(cri_mjcf_check_attrs(m, node, &frame_rules));
    CR_TRY(cri_mjcf_pose(m, &e, scope, &inner.pos, &inner.quat));
    CR_TRY(cri_mjcf_find_class(m, node, "childclass", &inner.usual));
    return walk_children(m, node, &inner, what);
}

// sep and number, in front of what is there already; NULL for lack of memory
static const char *push_suffix(const cri_mjcf *m, const char *sep, int k, int count,
                               const char *outer) {
    char number[16];
    int width = snprintf(number, sizeof number, "%d", count);
    snprintf(number, sizeof number, "%0*d", width, k);
    size_t n = strlen(sep) + strlen(number) + strlen(outer) + 1;
    char *text = cri_arena_push_raw(m->scratch, n);
    if (text) {
        snprintf(text, n, "%s%s%s", sep, number, outer);
    }
    return text;
}

static cr_status walk_replicate(cri_mjcf *m, const cri_xml_node *node, const cri_mjcf_scope *scope,
                                walk what) {
    cri_mjcf_elem e = cri_mjcf_bare(node);
    cri_mjcf_scope inner = *scope;
    int count = -1;
    cri_vec3 offset = {0, 0, 0};
    double euler[3] = {0};
    CR_TRY(cri_mjcf_check_attrs(m, node, &replicate_rules));
    CR_TRY(cri_mjcf_int(m, &e, "count", &count));
    CR_TRY(cri_mjcf_vec3(m, &e, "offset", &offset));
    CR_TRY(cri_mjcf_numbers(m, &e, "euler", 3, 3, euler, NULL));
    CR_TRY(cri_mjcf_find_class(m, node, "childclass", &inner.usual));
    if (count < 0 || count > THING_LIMIT) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "has no count, or not one of 0 to %d",
                             THING_LIMIT);
    }
    const char *sep = cri_xml_get(node, "sep");
    cri_vec3 at = {0, 0, 0};
    for (int k = 0; k < count && node->child; k++) {
        // empty replicas in replicas would take for ever all the same
        if (++m->n_replica > THING_LIMIT) {
            return cri_mjcf_fail(m, CR_ERR_UNSUPPORTED, node,
                                 "makes too many replicas: at most %d are read", THING_LIMIT);
        }
        const double angle[3] = {k * euler[0], k * euler[1], k * euler[2]};
        cri_quat turn = cri_mjcf_euler(m, angle);
        inner.pos = at;
        inner.quat = turn;
        cri_mjcf_to_body(scope, &inner.pos, &inner.quat);
        inner.suffix = push_suffix(m, sep ? sep : "", k, count, scope->suffix);
        if (!inner.suffix) {
            return cri_mjcf_fail_memory(m);
        }
        CR_TRY(walk_children(m, node, &inner, what));
        at = cri_v3_add(at, cri_mjcf_rotate(turn, offset));
    }
    return CR_OK;
}

// ---- bodies ------------------------------------------------------------------------------------

// the only <inertial> directly in a body
static cr_status take_inertial(cri_mjcf *m, const cri_xml_node *node, int body) {
    const cri_xml_node *first = NULL;
    for (const cri_xml_node *child = node->child; child; child = child->next) {
        if (strcmp(child->name, "inertial") != 0) {
            continue;
        }
        if (first) {
            return cri_mjcf_fail(m, CR_ERR_SYNTAX, child,
                                 "is the second of its body, after line %d: remove one",
                                 first->line);
        }
        first = child;
        CR_TRY(cri_mjcf_read_inertial(m, child, &m->def->body[body]));
    }
    return CR_OK;
}

static cr_status add_body(cri_mjcf *m, const cri_xml_node *node, const cri_mjcf_scope *scope) {
    cri_scene_def *def = m->def;
    int i = def->n_body;
    cri_body_def body = {.parent = scope->body, .place = cri_mjcf_place(node)};
    cri_mjcf_elem e = cri_mjcf_bare(node);
    CR_TRY(cri_mjcf_check_attrs(m, node, &body_rules));
    CR_TRY(cri_mjcf_name(m, node, scope->suffix, "body", i, &body.name));
    if (strcmp(body.name, "world") == 0) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                             "has the name of <worldbody>, 'world': rename it");
    }
    CR_TRY(cri_mjcf_pose(m, &e, scope, &body.pos, &body.quat));
    cri_body_def *list = cri_scene_def_grow(def, def->body, i, sizeof *list);
    if (!list) {
        return cri_mjcf_fail_memory(m);
    }
    def->body = list;
    def->body[def->n_body++] = body;

    cri_mjcf_scope inner = {.body = i,
                            .is_moving = scope->is_moving,
                            .quat = {1, 0, 0, 0},
                            .usual = scope->usual,
                            .suffix = scope->suffix};
    CR_TRY(cri_mjcf_find_class(m, node, "childclass", &inner.usual));
    CR_TRY(take_inertial(m, node, i));
    int n_joint = def->n_joint;
    CR_TRY(walk_children(m, node, &inner, WALK_JOINTS));
    inner.is_moving = inner.is_moving || def->n_joint > n_joint;
    return walk_children(m, node, &inner, WALK_REST);
}

static cr_status fail_child(const cri_mjcf *m, const cri_xml_node *node) {
    if (cri_mjcf_is_word("composite flexcomp", node->name)) {
        return cri_mjcf_fail_element(
            m, node, "soft and composite bodies are not read; write the bodies out");
    }
    if (cri_mjcf_is_word("attach plugin", node->name)) {
        return cri_mjcf_fail_element(m, node, "use <include>, or write it out");
    }
    if (strcmp(node->name, "inertial") == 0) {
        return cri_mjcf_fail_element(m, node, "move it directly into a <body>");
    }
    return cri_mjcf_fail_element(m, node,
                                 "expected body, joint, freejoint, geom, site, inertial, frame, "
                                 "replicate, light or camera");
}

static cr_status walk_child(cri_mjcf *m, const cri_xml_node *node, const cri_mjcf_scope *scope,
                            walk what) {
    const char *name = node->name;
    const cri_scene_def *def = m->def;
    if (def->n_body + def->n_joint + def->n_geom + def->n_site > THING_LIMIT) {
        return cri_mjcf_fail(m, CR_ERR_UNSUPPORTED, node,
                             "is one too many: at most %d bodies, joints, geoms and sites are read",
                             THING_LIMIT);
    }
    if (strcmp(name, "frame") == 0) {
        return walk_frame(m, node, scope, what);
    }
    if (strcmp(name, "replicate") == 0) {
        return walk_replicate(m, node, scope, what);
    }
    if (cri_mjcf_is_word("joint freejoint", name)) {
        // the world is walked for the rest only
        bool is_read = what == WALK_JOINTS || scope->body < 0;
        return is_read ? cri_mjcf_add_joint(m, node, scope) : CR_OK;
    }
    if (what == WALK_JOINTS) {
        return CR_OK;
    }
    if (strcmp(name, "body") == 0) {
        return add_body(m, node, scope);
    }
    if (strcmp(name, "geom") == 0) {
        return cri_mjcf_add_geom(m, node, scope);
    }
    if (strcmp(name, "site") == 0) {
        return cri_mjcf_add_site(m, node, scope);
    }
    return cri_mjcf_is_word(ignored_words, name) ? CR_OK : fail_child(m, node);
}

static cr_status walk_children(cri_mjcf *m, const cri_xml_node *parent, const cri_mjcf_scope *scope,
                               walk what) {
    bool is_body = strcmp(parent->name, "body") == 0;
    for (const cri_xml_node *node = parent->child; node; node = node->next) {
        // read with its body
        if (is_body && strcmp(node->name, "inertial") == 0) {
            continue;
        }
        CR_TRY(walk_child(m, node, scope, what));
    }
    return CR_OK;
}

// ---- the world ---------------------------------------------------------------------------------

cr_status cri_mjcf_read_world(cri_mjcf *m, const cri_xml_node *root) {
    cri_mjcf_scope scope = {.body = -1, .quat = {1, 0, 0, 0}, .usual = m->main, .suffix = ""};
    for (const cri_xml_node *node = root->child; node; node = node->next) {
        if (strcmp(node->name, "worldbody") == 0) {
            CR_TRY(cri_mjcf_check_attrs(m, node, &(cri_mjcf_rules){0}));
            CR_TRY(walk_children(m, node, &scope, WALK_REST));
        }
    }
    if (m->def->n_body == 0) {
        return cri_mjcf_fail(m, CR_ERR_UNSUPPORTED, root,
                             "has no bodies: add a <body> with <freejoint/> to <worldbody>");
    }
    CR_TRY(cri_mjcf_check_names(m, CRI_MJCF_BODIES));
    CR_TRY(cri_mjcf_check_names(m, CRI_MJCF_JOINTS));
    CR_TRY(cri_mjcf_check_names(m, CRI_MJCF_GEOMS));
    return cri_mjcf_check_names(m, CRI_MJCF_SITES);
}
