// SPDX-License-Identifier: MIT
//
// MJCF to a scene definition: the sections of the file, and keyframes.
//
// As in MuJoCo the order of sections in the file does not matter: settings and defaults are read
// first, then the world, then what refers to its names.

#include "model/scene/mjcf.h"

#include <string.h>

#include "base/io/file.h"
#include "model/scene/mjcf_parts.h"

#define FIRST_BLOCK ((size_t)16 << 10)

static const cri_mjcf_rules key_rules = {
    .read = "name qpos qvel ctrl",
    .ignored = "time",
    .refused = "act mpos mquat",
    .remedy = "actuators have no activation and bodies no mocap; remove it",
};

// ---- keyframes ---------------------------------------------------------------------------------

static cr_status add_key(cri_mjcf *m, const cri_xml_node *node) {
    cri_scene_def *def = m->def;
    cri_key_def key = {.place = cri_mjcf_place(node)};
    cri_mjcf_elem e = cri_mjcf_bare(node);
    CR_TRY(cri_mjcf_check_attrs(m, node, &key_rules));
    CR_TRY(cri_mjcf_name(m, node, "", "key", def->n_key, &key.name));
    CR_TRY(cri_mjcf_vector(m, &e, "qpos", &key.qpos, &key.n_qpos));
    CR_TRY(cri_mjcf_vector(m, &e, "qvel", &key.qvel, &key.n_qvel));
    CR_TRY(cri_mjcf_vector(m, &e, "ctrl", &key.ctrl, &key.n_ctrl));
    cri_key_def *list = cri_scene_def_grow(def, def->key, def->n_key, sizeof *list);
    if (!list) {
        return cri_mjcf_fail_memory(m);
    }
    def->key = list;
    def->key[def->n_key++] = key;
    return CR_OK;
}

static cr_status read_keyframes(cri_mjcf *m, const cri_xml_node *root) {
    for (const cri_xml_node *node = root->child; node; node = node->next) {
        if (strcmp(node->name, "keyframe") != 0) {
            continue;
        }
        CR_TRY(cri_mjcf_check_attrs(m, node, &(cri_mjcf_rules){0}));
        for (const cri_xml_node *key = node->child; key; key = key->next) {
            if (strcmp(key->name, "key") != 0) {
                return cri_mjcf_fail_element(m, key, "<keyframe> has <key> only; remove it");
            }
            CR_TRY(add_key(m, key));
        }
    }
    return cri_mjcf_check_names(m, CRI_MJCF_KEYS);
}

// ---- the file ----------------------------------------------------------------------------------

static cr_status check_sections(const cri_mjcf *m, const cri_xml_node *root) {
    static const char *const known =
        "compiler option default worldbody custom keyframe asset visual statistic size sensor "
        "actuator tendon equality contact";

    if (strcmp(root->name, "mujoco") != 0) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, root, "is no MJCF scene: expected <mujoco>");
    }
    CR_TRY(cri_mjcf_check_attrs(m, root, &(cri_mjcf_rules){.ignored = "model"}));
    for (const cri_xml_node *node = root->child; node; node = node->next) {
        if (!cri_mjcf_is_word(known, node->name)) {
            return cri_mjcf_fail_element(m, node,
                                         "remove it; plugins and soft bodies are not simulated");
        }
    }
    return CR_OK;
}

static cr_status read_root(cri_mjcf *m, const cri_xml_node *root) {
    CR_TRY(check_sections(m, root));
    if (!cri_mjcf_reserve_names(m, root)) {
        return cri_mjcf_fail_memory(m);
    }
    CR_TRY(cri_mjcf_read_settings(m, root));
    CR_TRY(cri_mjcf_read_defaults(m, root));
    CR_TRY(cri_mjcf_read_assets(m, root));
    CR_TRY(cri_mjcf_read_world(m, root));
    CR_TRY(cri_mjcf_load_meshes(m, root));
    CR_TRY(cri_mjcf_read_tendons(m, root));
    CR_TRY(cri_mjcf_read_actuators(m, root));
    CR_TRY(cri_mjcf_read_equalities(m, root));
    CR_TRY(cri_mjcf_read_contact(m, root));
    CR_TRY(cri_mjcf_read_custom(m, root));
    CR_TRY(cri_mjcf_rank_pairs(m));
    CR_TRY(read_keyframes(m, root));
    cri_mjcf_apply_flags(m);
    return CR_OK;
}

cr_status cri_mjcf_read(const char *text, size_t n_byte, const char *file, cri_scene_def *def,
                        cr_error *err) {
    CR_ASSERT((text || n_byte == 0) && file && def);
    cri_mjcf m = {.err = err, .def = def};
    bool has_memory = cri_scene_def_begin(def, file);
    m.scratch = has_memory ? cri_arena_create(FIRST_BLOCK) : NULL;
    cr_status status = CR_OK;
    if (!m.scratch) {
        status = cri_file_fail_memory(err, file);
    } else {
        status = cri_mjcf_read_files(&m, text, n_byte);
    }
    if (status == CR_OK) {
        CR_ASSERT(m.root);
        status = read_root(&m, m.root);
    }
    cri_mjcf_clear_files(&m);
    cri_arena_destroy(m.scratch);
    if (status != CR_OK) {
        cri_scene_def_clear(def);
    }
    return status;
}
