// SPDX-License-Identifier: MIT
//
// MJCF to a scene definition: the sections of the file, settings and keyframes.
//
// As in MuJoCo the order of sections in the file does not matter: settings and defaults are read
// first, then the world, then what refers to its names.

#include "scene/mjcf.h"

#include <stdlib.h>
#include <string.h>

#include "io/file.h"
#include "scene/mjcf_parts.h"

// pi / 180
#define RADIAN_PER_DEGREE 0.017453292519943295769

static const cri_mjcf_rules compiler_rules = {
    .read = "angle",
    .ignored = "autolimits fitaabb discardvisual strippath meshdir texturedir assetdir usethread "
               "convexhull exactmeshinertia fusestatic alignfree saveinertial",
    .fixed = "eulerseq=xyz coordinate=local inertiafromgeom=auto balanceinertia=false boundmass=0 "
             "boundinertia=0 settotalmass=-1",
    .refused = "inertiagrouprange",
    .remedy = "only MuJoCo's default is read; remove it and adapt the scene",
};

static const cri_mjcf_rules option_rules = {
    .read = "timestep gravity",
    .ignored = "apirate impratio magnetic o_margin o_solref o_solimp o_friction integrator cone "
               "jacobian solver iterations tolerance ls_iterations ls_tolerance noslip_iterations "
               "noslip_tolerance mpr_iterations mpr_tolerance ccd_iterations ccd_tolerance "
               "sdf_iterations sdf_initpoints actuatorgroupdisable sleep_tolerance",
    .fixed = "wind=0 density=0 viscosity=0 collision=all",
    .remedy = "bodies move in a vacuum and all pairs collide; remove it",
};

static const cri_mjcf_rules flag_rules = {
    .ignored =
        "equality frictionloss limit passive spring damper clampctrl warmstart filterparent "
        "actuation refsafe sensor midphase nativeccd eulerdamp autoreset island energy fwdinv "
        "invdiscrete sensornoise multiccd sleep",
    .fixed = "constraint=enable contact=enable gravity=enable override=disable",
    .remedy = "remove it, and set gravity=\"0 0 0\" or contype and conaffinity instead",
};

static const cri_mjcf_rules key_rules = {
    .read = "name qpos qvel",
    .ignored = "time",
    .refused = "act ctrl mpos mquat",
    .remedy = "a scene has neither actuators nor mocap bodies; remove it",
};

// ---- settings ----------------------------------------------------------------------------------

static cr_status read_compiler(cri_mjcf *m, const cri_xml_node *node) {
    CR_TRY(cri_mjcf_check_attrs(m, node, &compiler_rules));
    const char *angle = cri_xml_get(node, "angle");
    if (!angle) {
        return CR_OK;
    }
    if (strcmp(angle, "degree") != 0 && strcmp(angle, "radian") != 0) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                             "angle=\"%.40s\" is unknown: expected degree or radian", angle);
    }
    m->angle_unit = strcmp(angle, "degree") == 0 ? RADIAN_PER_DEGREE : 1.0;
    return CR_OK;
}

static cr_status read_option(cri_mjcf *m, const cri_xml_node *node) {
    CR_TRY(cri_mjcf_check_attrs(m, node, &option_rules));
    CR_TRY(cri_mjcf_numbers(m, node, "timestep", 1, 1, &m->def->dt, NULL));
    if (!(m->def->dt > 0.0)) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "timestep is %g, expected more than 0",
                             m->def->dt);
    }
    CR_TRY(cri_mjcf_numbers(m, node, "gravity", 3, 3, m->def->gravity, NULL));
    for (const cri_xml_node *child = node->child; child; child = child->next) {
        if (strcmp(child->name, "flag") != 0) {
            return cri_mjcf_fail_element(m, child, "<option> has <flag> only; remove it");
        }
        CR_TRY(cri_mjcf_check_attrs(m, child, &flag_rules));
    }
    return CR_OK;
}

// ---- keyframes ---------------------------------------------------------------------------------

// n numbers of an attribute in new memory, NULL when it is not there
static cr_status read_vector(const cri_mjcf *m, const cri_xml_node *node, const char *name, int n,
                             double **out) {
    *out = NULL;
    if (!cri_xml_get(node, name)) {
        return CR_OK;
    }
    double *a = malloc((size_t)n * sizeof *a);
    if (!a) {
        return cri_mjcf_fail_memory(m);
    }
    cr_status status = cri_mjcf_numbers(m, node, name, n, n, a, NULL);
    if (status != CR_OK) {
        free(a);
        return status;
    }
    *out = a;
    return CR_OK;
}

static cr_status add_key(cri_mjcf *m, const cri_xml_node *node) {
    int n_body = m->def->n_body;
    int i = m->def->n_key++;
    cri_key_def *key = &m->def->key[i];
    *key = (cri_key_def){.line = node->line};
    CR_TRY(cri_mjcf_check_attrs(m, node, &key_rules));
    CR_TRY(cri_mjcf_name(m, node, "key", i, &key->name));
    CR_TRY(read_vector(m, node, "qpos", 7 * n_body, &key->qpos));
    CR_TRY(read_vector(m, node, "qvel", 6 * n_body, &key->qvel));
    key->n_qpos = key->qpos ? 7 * n_body : 0;
    key->n_qvel = key->qvel ? 6 * n_body : 0;
    for (int b = 0; key->qpos && b < n_body; b++) {
        if (!cri_mjcf_normalise(4, key->qpos + 7 * b + 3)) {
            return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "qpos: the quaternion of '%.40s' is zero",
                                 m->def->body[b].name);
        }
    }
    return CR_OK;
}

static cr_status check_keyframe(const cri_mjcf *m, const cri_xml_node *node, int *n_key) {
    CR_TRY(cri_mjcf_check_attrs(m, node, &(cri_mjcf_rules){0}));
    for (const cri_xml_node *child = node->child; child; child = child->next) {
        if (strcmp(child->name, "key") != 0) {
            return cri_mjcf_fail_element(m, child, "<keyframe> has <key> only; remove it");
        }
        (*n_key)++;
    }
    return CR_OK;
}

static cr_status read_keyframes(cri_mjcf *m, const cri_xml_node *root) {
    int n_key = 0;
    for (const cri_xml_node *node = root->child; node; node = node->next) {
        if (strcmp(node->name, "keyframe") == 0) {
            CR_TRY(check_keyframe(m, node, &n_key));
        }
    }
    if (n_key == 0) {
        return CR_OK;
    }
    m->def->key = calloc((size_t)n_key, sizeof *m->def->key);
    cri_mjcf_label *label = CR_PUSH(m->scratch, cri_mjcf_label, n_key);
    if (!m->def->key || !label) {
        return cri_mjcf_fail_memory(m);
    }
    for (const cri_xml_node *node = root->child; node; node = node->next) {
        bool is_keyframe = strcmp(node->name, "keyframe") == 0;
        for (const cri_xml_node *key = node->child; is_keyframe && key; key = key->next) {
            CR_TRY(add_key(m, key));
        }
    }
    for (int i = 0; i < n_key; i++) {
        label[i] = (cri_mjcf_label){m->def->key[i].name, m->def->key[i].line};
    }
    return cri_mjcf_check_unique(m, "keyframes", label, n_key);
}

// ---- the file ----------------------------------------------------------------------------------

static cr_status check_sections(const cri_mjcf *m, const cri_xml_node *root) {
    static const char *const known =
        "compiler option default worldbody custom keyframe asset visual "
        "statistic size sensor";

    if (strcmp(root->name, "mujoco") != 0) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, root, "is no MJCF scene: expected <mujoco>");
    }
    CR_TRY(cri_mjcf_check_attrs(m, root, &(cri_mjcf_rules){.ignored = "model"}));
    for (const cri_xml_node *node = root->child; node; node = node->next) {
        if (!cri_mjcf_is_word(known, node->name)) {
            return cri_mjcf_fail_element(
                m, node, "remove it; scenes are free bodies on planes, in one file");
        }
    }
    return CR_OK;
}

static cr_status read_settings(cri_mjcf *m, const cri_xml_node *root) {
    for (const cri_xml_node *node = root->child; node; node = node->next) {
        if (strcmp(node->name, "compiler") == 0) {
            CR_TRY(read_compiler(m, node));
        } else if (strcmp(node->name, "option") == 0) {
            CR_TRY(read_option(m, node));
        }
    }

    // their orientations need the compiler's angle
    for (const cri_xml_node *node = root->child; node; node = node->next) {
        if (strcmp(node->name, "default") == 0) {
            CR_TRY(cri_mjcf_read_default(m, node));
        }
    }
    return CR_OK;
}

static cr_status read_root(cri_mjcf *m, const cri_xml_node *root) {
    CR_TRY(check_sections(m, root));
    CR_TRY(read_settings(m, root));
    CR_TRY(cri_mjcf_read_world(m, root));
    CR_TRY(cri_mjcf_read_custom(m, root));
    CR_TRY(cri_mjcf_rank_pairs(m));
    return read_keyframes(m, root);
}

cr_status cri_mjcf_read(const char *text, size_t n_byte, const char *file, cri_scene_def *def,
                        cr_error *err) {
    CR_ASSERT((text || n_byte == 0) && file && def);
    // MuJoCo's own defaults
    *def = (cri_scene_def){.dt = 0.002, .gravity = {0.0, 0.0, -9.81}};
    cri_xml xml;
    CR_TRY(cri_xml_parse(text, n_byte, file, &xml, err));
    cri_mjcf m = {.file = file,
                  .err = err,
                  .scratch = xml.memory,
                  .def = def,
                  .angle_unit = RADIAN_PER_DEGREE,
                  .usual = cri_mjcf_geom_builtin()};
    cr_status status = read_root(&m, xml.root);
    cri_xml_clear(&xml);
    if (status != CR_OK) {
        cri_scene_def_clear(def);
    }
    return status;
}

cr_status cr_model_parse(const char *text, size_t n_byte, const char *name, cr_model **out,
                         cr_error *err) {
    CR_ASSERT(name && out);
    *out = NULL;
    cri_scene_def def;
    CR_TRY(cri_mjcf_read(text, n_byte, name, &def, err));
    cr_status status = cri_model_build(&def, name, out, err);
    cri_scene_def_clear(&def);
    return status;
}

cr_status cr_model_load(const char *path, cr_model **out, cr_error *err) {
    CR_ASSERT(path && out);
    *out = NULL;
    char *text;
    size_t n_byte;
    CR_TRY(cri_file_read(path, &text, &n_byte, err));
    cr_status status = cr_model_parse(text, n_byte, path, out, err);
    free(text);
    return status;
}
