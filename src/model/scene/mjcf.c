// SPDX-License-Identifier: MIT
//
// MJCF to a scene definition: settings, the sections of the file, and keyframes.
//
// As in MuJoCo the order of sections in the file does not matter: settings and defaults are read
// first, then the world, then what refers to its names.

#include "model/scene/mjcf.h"

#include "base/io/file.h"
#include "base/io/xml.h"
#include "model/scene_def.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// pi / 180
#define RADIAN_PER_DEGREE 0.017453292519943295769

static const cri_mjcf_rules compiler_rules = {
    .read = "angle eulerseq meshdir assetdir strippath autolimits inertiafromgeom balanceinertia "
            "inertiagrouprange exactmeshinertia",
    .ignored = "fitaabb discardvisual texturedir usethread convexhull fusestatic alignfree "
               "saveinertial",
    .fixed = "coordinate=local boundmass=0 boundinertia=0 settotalmass=-1",
    .remedy = "remove it, use local coordinates and give masses in <inertial> or <geom>",
};

static const cri_mjcf_rules option_rules = {
    .read = "timestep gravity integrator",
    .ignored = "apirate impratio magnetic o_margin o_solref o_solimp o_friction cone "
               "jacobian solver iterations tolerance ls_iterations ls_tolerance noslip_iterations "
               "noslip_tolerance mpr_iterations mpr_tolerance ccd_iterations ccd_tolerance "
               "sdf_iterations sdf_initpoints sleep_tolerance",
    .fixed = "wind=0 density=0 viscosity=0 collision=all",
    .refused = "actuatorgroupdisable",
    .remedy = "bodies move in a vacuum, all pairs collide, all actuators act; remove it",
};

static const cri_mjcf_rules flag_rules = {
    .read = "constraint equality limit contact spring damper passive gravity clampctrl "
            "filterparent actuation",
    .ignored = "frictionloss warmstart refsafe sensor midphase nativeccd autoreset island "
               "energy fwdinv invdiscrete sensornoise multiccd sleep",
    .fixed = "override=disable eulerdamp=enable",
    .remedy = "remove it: contacts have the coefficients of their geoms, damping is implicit",
};

#define FIRST_BLOCK ((size_t)16 << 10)

static const cri_mjcf_rules key_rules = {
    .read = "name qpos qvel ctrl",
    .ignored = "time",
    .refused = "act mpos mquat",
    .remedy = "actuators have no activation and bodies no mocap; remove it",
};

// ---- settings -----------------------------------------------------------------------------------

// Settings of an MJCF scene: <compiler>, <option>, <flag>.
//
// As in MuJoCo the order of sections does not matter and a later setting replaces an earlier one.

// ---- compiler ----------------------------------------------------------------------------------

static cr_status read_euler(cri_mjcf *m, const cri_xml_node *node) {
    const char *sequence = cri_xml_get(node, "eulerseq");
    if (!sequence) {
        return CR_OK;
    }
    if (strlen(sequence) != 3 || strspn(sequence, "xyzXYZ") != 3) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                             "eulerseq=\"%.40s\" is no sequence: expected three letters of xyzXYZ",
                             sequence);
    }
    memcpy(m->set.euler, sequence, 4);
    return CR_OK;
}

static cr_status read_groups(cri_mjcf *m, const cri_mjcf_elem *e) {
    double range[2] = {m->set.group_range[0], m->set.group_range[1]};
    CR_TRY(cri_mjcf_numbers(m, e, "inertiagrouprange", 2, 2, range, NULL));
    for (int i = 0; i < 2; i++) {
        if (!(fabs(range[i]) <= 1e6) || range[i] != floor(range[i])) {
            return cri_mjcf_fail(m, CR_ERR_SYNTAX, e->node,
                                 "inertiagrouprange: %g is no group: expected 0 to 5", range[i]);
        }
        m->set.group_range[i] = (int)range[i];
    }
    return CR_OK;
}

static cr_status read_compiler(cri_mjcf *m, const cri_xml_node *node) {
    cri_mjcf_settings *set = &m->set;
    cri_mjcf_elem e = cri_mjcf_bare(node);
    CR_TRY(cri_mjcf_check_attrs(m, node, &compiler_rules));
    CR_TRY(cri_mjcf_check_children(m, node, "lengthrange"));
    int is_radian = set->angle_unit == 1.0;
    CR_TRY(cri_mjcf_choice(m, &e, "angle", "degree radian", &is_radian));
    set->angle_unit = is_radian ? 1.0 : RADIAN_PER_DEGREE;
    CR_TRY(read_euler(m, node));
    CR_TRY(cri_mjcf_bool(m, &e, "strippath", &set->strips_path));
    CR_TRY(cri_mjcf_bool(m, &e, "autolimits", &set->has_autolimits));
    CR_TRY(cri_mjcf_bool(m, &e, "balanceinertia", &set->balances_inertia));
    CR_TRY(cri_mjcf_choice(m, &e, "inertiafromgeom", "false true auto", &set->inertia_source));
    CR_TRY(read_groups(m, &e));
    const char *meshdir = cri_xml_get(node, "meshdir");
    meshdir = meshdir ? meshdir : cri_xml_get(node, "assetdir");
    set->meshdir = meshdir ? meshdir : set->meshdir;
    bool is_exact = true;
    CR_TRY(cri_mjcf_bool(m, &e, "exactmeshinertia", &is_exact));
    if (!is_exact) {
        cri_mjcf_warn(m, CRI_MJCF_WARN_COMPILER, node,
                      "exactmeshinertia has no effect: masses of meshes are exact");
    }
    return CR_OK;
}

// ---- option ------------------------------------------------------------------------------------

// *out stays without the attribute, and whatever it says once something above disabled it
static cr_status read_flag(const cri_mjcf *m, const cri_xml_node *node, const char *name,
                           bool *out) {
    cri_mjcf_elem e = cri_mjcf_bare(node);
    int is_on = *out;
    CR_TRY(cri_mjcf_choice(m, &e, name, "disable enable", &is_on));
    *out = is_on != 0;
    return CR_OK;
}

static cr_status read_flags(cri_mjcf *m, const cri_xml_node *node) {
    cri_mjcf_settings *set = &m->set;
    cri_scene_def *def = m->def;
    CR_TRY(cri_mjcf_check_attrs(m, node, &flag_rules));
    CR_TRY(read_flag(m, node, "contact", &def->has_contact));
    CR_TRY(read_flag(m, node, "filterparent", &def->filters_parents));
    CR_TRY(read_flag(m, node, "equality", &set->has_equality));
    CR_TRY(read_flag(m, node, "limit", &set->has_limit));
    CR_TRY(read_flag(m, node, "actuation", &set->has_actuation));
    CR_TRY(read_flag(m, node, "spring", &set->has_spring));
    CR_TRY(read_flag(m, node, "damper", &set->has_damper));
    CR_TRY(read_flag(m, node, "clampctrl", &set->clamps_ctrl));

    // these switch off several
    bool has_constraint = true;
    bool has_passive = true;
    bool has_gravity = true;
    CR_TRY(read_flag(m, node, "constraint", &has_constraint));
    CR_TRY(read_flag(m, node, "passive", &has_passive));
    CR_TRY(read_flag(m, node, "gravity", &has_gravity));
    def->has_contact = def->has_contact && has_constraint;
    set->has_equality = set->has_equality && has_constraint;
    set->has_limit = set->has_limit && has_constraint;
    set->has_spring = set->has_spring && has_passive;
    set->has_damper = set->has_damper && has_passive;
    set->has_gravity = set->has_gravity && has_gravity;
    return CR_OK;
}

static cr_status read_option(cri_mjcf *m, const cri_xml_node *node) {
    cri_mjcf_elem e = cri_mjcf_bare(node);
    CR_TRY(cri_mjcf_check_attrs(m, node, &option_rules));
    CR_TRY(cri_mjcf_numbers(m, &e, "timestep", 1, 1, &m->def->dt, NULL));
    if (!(m->def->dt > 0.0)) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "timestep is %g, expected more than 0",
                             m->def->dt);
    }
    CR_TRY(cri_mjcf_numbers(m, &e, "gravity", 3, 3, m->def->gravity, NULL));

    // the implicit ones are Euler with another treatment of damping
    static const cri_integrator integrators[] = {CRI_INTEGRATOR_EULER, CRI_INTEGRATOR_RK4,
                                                 CRI_INTEGRATOR_IMPLICIT, CRI_INTEGRATOR_IMPLICIT};
    int integrator = -1;
    CR_TRY(cri_mjcf_choice(m, &e, "integrator", "Euler RK4 implicit implicitfast", &integrator));
    m->def->integrator = integrator >= 0 ? integrators[integrator] : m->def->integrator;
    CR_TRY(cri_mjcf_check_children(m, node, "flag"));
    for (const cri_xml_node *child = node->child; child; child = child->next) {
        CR_TRY(read_flags(m, child));
    }
    return CR_OK;
}

/// Reads all <compiler> and <option> elements of the root.
static cr_status mjcf_read_settings(cri_mjcf *m, const cri_xml_node *root) {
    m->set = (cri_mjcf_settings){.angle_unit = RADIAN_PER_DEGREE,
                                 .euler = "xyz",
                                 .meshdir = "",
                                 .has_autolimits = true,
                                 .inertia_source = CRI_MJCF_INERTIA_AUTO,
                                 .group_range = {0, 5},
                                 .has_equality = true,
                                 .has_limit = true,
                                 .has_actuation = true,
                                 .has_spring = true,
                                 .has_damper = true,
                                 .has_gravity = true,
                                 .clamps_ctrl = true};
    for (const cri_xml_node *node = root->child; node; node = node->next) {
        if (strcmp(node->name, "compiler") == 0) {
            CR_TRY(read_compiler(m, node));
        } else if (strcmp(node->name, "option") == 0) {
            CR_TRY(read_option(m, node));
        }
    }
    return CR_OK;
}

// ---- flags -------------------------------------------------------------------------------------

static void free_range(double range[2]) {
    range[0] = -INFINITY;
    range[1] = INFINITY;
}

static void apply_passive(cri_mjcf *m) {
    cri_scene_def *def = m->def;
    for (int i = 0; i < def->n_joint; i++) {
        cri_joint_def *joint = &def->joint[i];
        joint->stiffness = m->set.has_spring ? joint->stiffness : 0.0;
        joint->damping = m->set.has_damper ? joint->damping : 0.0;
        if (!m->set.has_limit) {
            free_range(joint->range);
        }
    }
    for (int i = 0; i < def->n_tendon; i++) {
        cri_tendon_def *tendon = &def->tendon[i];
        tendon->stiffness = m->set.has_spring ? tendon->stiffness : 0.0;
        tendon->damping = m->set.has_damper ? tendon->damping : 0.0;
        if (!m->set.has_limit) {
            free_range(tendon->range);
        }
    }
}

/// Takes out what flags disable.
static void mjcf_apply_flags(cri_mjcf *m) {
    cri_scene_def *def = m->def;
    apply_passive(m);
    if (!m->set.has_gravity) {
        memset(def->gravity, 0, sizeof def->gravity);
    }
    if (!m->set.has_equality) {
        def->n_equality = 0;
    }
    for (int i = 0; i < def->n_actuator; i++) {
        cri_actuator_def *actuator = &def->actuator[i];
        if (!m->set.clamps_ctrl) {
            free_range(actuator->ctrl);
        }
        if (!m->set.has_actuation) {
            actuator->gain = 0.0;
            memset(actuator->bias, 0, sizeof actuator->bias);
        }
    }
}

// ---- sections and keyframes ---------------------------------------------------------------------

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
    CR_TRY(mjcf_read_settings(m, root));
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
    mjcf_apply_flags(m);
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
