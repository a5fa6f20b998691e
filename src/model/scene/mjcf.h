// SPDX-License-Identifier: MIT
//
// MJCF, MuJoCo's scene format, to a scene definition. docs/scenes.md lists what is read.
//
// What would change the motion and is not simulated is an error with file and line; what cannot
// change it is passed over.

#pragma once

#include "base/io/xml.h"
#include "model/model.h"
#include "model/scene_def.h"

/// Reads a scene from memory. file stands in messages. On success *def is released by
/// cri_scene_def_clear; on failure it is empty and err names file, line, element and remedy.
CR_MUST_CHECK cr_status cri_mjcf_read(const char *text, size_t n_byte, const char *file,
                                      cri_scene_def *def, cr_error *err);

/// Elements that share a default.
typedef enum cri_mjcf_family {
    CRI_MJCF_GEOM,
    CRI_MJCF_JOINT,
    CRI_MJCF_SITE,
    CRI_MJCF_MESH,
    CRI_MJCF_ACTUATOR,
    CRI_MJCF_EQUALITY,
    CRI_MJCF_TENDON,
    CRI_MJCF_PAIR,
} cri_mjcf_family;

enum { CRI_MJCF_N_FAMILY = CRI_MJCF_PAIR + 1 };

/// A default class. Its layers are those that its parent had when it was opened, then its own.
typedef struct cri_mjcf_class {
    const char *name;
    const cri_xml_node **layer[CRI_MJCF_N_FAMILY]; // (n_layer) weakest first
    int n_layer[CRI_MJCF_N_FAMILY];
    struct cri_mjcf_class *next; // in order of opening
} cri_mjcf_class;

/// An element and the defaults under it.
typedef struct cri_mjcf_elem {
    const cri_xml_node *node;
    const cri_xml_node *const *base; // (n_base) weakest first
    int n_base;
} cri_mjcf_elem;

/// A mesh of <asset>, read from its file only when something needs it.
typedef struct cri_mjcf_mesh {
    const char *name;
    cri_mjcf_elem elem;
    bool is_needed; // by collision or mass
    int index;      // in the definition, -1: not there
} cri_mjcf_mesh;

/// A file that has been read.
typedef struct cri_mjcf_doc {
    cri_xml xml;
    const char *path;
    const char *key;             // path without detours
    const cri_xml_node *from;    // the <include>, NULL: the scene itself
    struct cri_mjcf_doc *parent; // that includes it
    struct cri_mjcf_doc *next;
} cri_mjcf_doc;

typedef enum cri_mjcf_inertia_source {
    CRI_MJCF_INERTIA_GIVEN, // inertiafromgeom="false"
    CRI_MJCF_INERTIA_GEOMS, // true
    CRI_MJCF_INERTIA_AUTO,  // <inertial>, else geoms
} cri_mjcf_inertia_source;

/// <compiler> and <flag>.
typedef struct cri_mjcf_settings {
    double angle_unit; // rad per unit of the file
    char euler[4];     // axes, lower case: of the moving frame
    const char *meshdir;
    bool strips_path;
    bool has_autolimits;
    bool balances_inertia;
    int inertia_source; // cri_mjcf_inertia_source
    int group_range[2]; // of geoms whose mass counts
    bool has_equality, has_limit, has_actuation, has_spring, has_damper, has_gravity, clamps_ctrl;
} cri_mjcf_settings;

/// What is said once.
typedef enum cri_mjcf_warning {
    CRI_MJCF_WARN_SOFT,
    CRI_MJCF_WARN_MARGIN,
    CRI_MJCF_WARN_LIMIT,
    CRI_MJCF_WARN_MESH,
    CRI_MJCF_WARN_COMPILER,
    CRI_MJCF_WARN_FRICTION,
} cri_mjcf_warning;

/// One reading.
typedef struct cri_mjcf {
    cr_error *err;
    cr_arena *scratch;  // lives until the reading ends
    cri_scene_def *def; // being filled
    cri_mjcf_settings set;
    cri_mjcf_doc *doc;    // files, the last one first
    cri_xml_node *root;   // of the scene, with what it includes
    cri_mjcf_class *main; // the class of whatever names none
    cri_mjcf_mesh *mesh;  // (n_mesh)
    int n_mesh;
    const cri_xml_node **reserved; // (n_reserved) whose names look like those of unnamed things
    int n_reserved;
    int n_replica;   // walked so far
    unsigned warned; // bits of cri_mjcf_warning
} cri_mjcf;

/// Which attributes an element may have: names separated by spaces.
typedef struct cri_mjcf_rules {
    const char *read;    // looked at by the reader
    const char *ignored; // cannot change the motion
    const char *fixed;   // name=value: any other value is not supported
    const char *refused; // would change the motion
    const char *remedy;  // for the last two
} cri_mjcf_rules;

/// Where the children of an element of the world are placed.
typedef struct cri_mjcf_scope {
    int body;       // -1: world
    bool is_moving; // the body has a joint between it and the world
    cri_vec3 pos;   // frame in the body's
    cri_quat quat;
    const cri_mjcf_class *usual; // class of what names none
    const char *suffix;          // of names in a <replicate>
} cri_mjcf_scope;

/// Fails with "FILE:LINE: <ELEMENT> " in front.
cr_status cri_mjcf_fail(const cri_mjcf *m, cr_status status, const cri_xml_node *node,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));
cr_status cri_mjcf_fail_memory(const cri_mjcf *m);

/// Fails for a child that its parent may not have.
cr_status cri_mjcf_fail_element(const cri_mjcf *m, const cri_xml_node *node, const char *remedy);

/// Adds "FILE:LINE: " and the text to the warnings, the first time for each what.
void cri_mjcf_warn(cri_mjcf *m, cri_mjcf_warning what, const cri_xml_node *node, const char *format,
                   ...) __attribute__((format(printf, 4, 5)));
cri_place cri_mjcf_place(const cri_xml_node *node);

/// True when word is one of those in list, separated by spaces. NULL is an empty list.
bool cri_mjcf_is_word(const char *list, const char *word);

/// Checks that node has no attribute outside its rules.
cr_status cri_mjcf_check_attrs(const cri_mjcf *m, const cri_xml_node *node,
                               const cri_mjcf_rules *rules);

/// Checks that node has no child, or none but those in list.
cr_status cri_mjcf_check_children(const cri_mjcf *m, const cri_xml_node *node, const char *list);

/// node without defaults.
cri_mjcf_elem cri_mjcf_bare(const cri_xml_node *node);

/// Value of an attribute, its own or the strongest default, NULL when there is none. *from, if not
/// NULL, is where it stands.
const char *cri_mjcf_get(const cri_mjcf_elem *e, const char *name, const cri_xml_node **from);

/// Reads between n_min and n_max finite numbers, those of defaults first: a shorter list leaves the
/// rest of a longer one. Without the attribute out stays. *n, if not NULL, is the largest count.
cr_status cri_mjcf_numbers(const cri_mjcf *m, const cri_mjcf_elem *e, const char *name, int n_min,
                           int n_max, double *out, int *n);

/// As cri_mjcf_numbers for any positive number of them, in new memory of the definition; *out is
/// NULL without the attribute.
cr_status cri_mjcf_vector(const cri_mjcf *m, const cri_mjcf_elem *e, const char *name, double **out,
                          int *n);

/// As cri_mjcf_numbers for one integer.
cr_status cri_mjcf_int(const cri_mjcf *m, const cri_mjcf_elem *e, const char *name, int *out);

/// As cri_mjcf_numbers for one number of at least 0.
cr_status cri_mjcf_amount(const cri_mjcf *m, const cri_mjcf_elem *e, const char *name, double *out);

/// As cri_mjcf_numbers for three.
cr_status cri_mjcf_vec3(const cri_mjcf *m, const cri_mjcf_elem *e, const char *name, cri_vec3 *out);

/// Reads solref, solimp and solmix, or solreflimit and solimplimit, and warns of what is there: it
/// counts for one law alone.
cr_status cri_mjcf_softness(cri_mjcf *m, const cri_mjcf_elem *e, bool is_limit, cri_softness *out);

/// Warns of margins and of friction that does not slide.
void cri_mjcf_warn_margin(cri_mjcf *m, const cri_mjcf_elem *e, int condim);

/// Index of the attribute's value among words, separated by spaces. Without it *out stays.
cr_status cri_mjcf_choice(const cri_mjcf *m, const cri_mjcf_elem *e, const char *name,
                          const char *words, int *out);

/// As cri_mjcf_choice for false and true.
cr_status cri_mjcf_bool(const cri_mjcf *m, const cri_mjcf_elem *e, const char *name, bool *out);

/// Limits from the attributes limited and range, e.g. ctrllimited and ctrlrange; infinite when they
/// do not act. Values are multiplied by unit.
cr_status cri_mjcf_limits(const cri_mjcf *m, const cri_mjcf_elem *e, const char *limited,
                          const char *range, double unit, double out[2]);

/// a over its length, also where the square would overflow. False when a is zero.
bool cri_mjcf_normalise(int n, double *a);

/// q a q*
cri_vec3 cri_mjcf_rotate(cri_quat q, cri_vec3 a);

/// What has names of its own.
typedef enum cri_mjcf_kind {
    CRI_MJCF_BODIES,
    CRI_MJCF_JOINTS,
    CRI_MJCF_GEOMS,
    CRI_MJCF_SITES,
    CRI_MJCF_TENDONS,
    CRI_MJCF_ACTUATORS,
    CRI_MJCF_EQUALITIES,
    CRI_MJCF_KEYS,
    CRI_MJCF_MESHES, // of cri_mjcf
} cri_mjcf_kind;

/// A name and where it stands.
typedef struct cri_mjcf_label {
    const char *name;
    cri_place place;
} cri_mjcf_label;

/// Notes which names of the file unnamed things must not get. False for lack of memory.
CR_MUST_CHECK bool cri_mjcf_reserve_names(cri_mjcf *m, const cri_xml_node *root);

/// Sets *out to a copy of the node's name and suffix, or to PREFIXi when it has none.
cr_status cri_mjcf_name(const cri_mjcf *m, const cri_xml_node *node, const char *suffix,
                        const char *prefix, int i, const char **out);

/// The thing of this kind that attribute attr of node names; a body named world is -1.
cr_status cri_mjcf_find(const cri_mjcf *m, const cri_xml_node *node, const char *attr,
                        cri_mjcf_kind kind, int *out);

/// Checks that no name comes twice; what says what they are. Sorts label.
cr_status cri_mjcf_check_unique(const cri_mjcf *m, const char *what, cri_mjcf_label *label, int n);

/// As cri_mjcf_check_unique for all of a kind.
cr_status cri_mjcf_check_names(const cri_mjcf *m, cri_mjcf_kind kind);

/// Reads the scene and what it includes. m->doc owns it, to be released by cri_mjcf_clear_files.
cr_status cri_mjcf_read_files(cri_mjcf *m, const char *text, size_t n_byte);
void cri_mjcf_clear_files(cri_mjcf *m);

/// path, seen from the folder of file; NULL for lack of memory.
char *cri_mjcf_path(cr_arena *arena, const char *file, const char *folder, const char *path);

/// Reads all <default> elements of the root.
cr_status cri_mjcf_read_defaults(cri_mjcf *m, const cri_xml_node *root);

/// The class that attribute attr of node names; *out stays without it.
cr_status cri_mjcf_find_class(const cri_mjcf *m, const cri_xml_node *node, const char *attr,
                              const cri_mjcf_class **out);

/// Checks the attributes of node and puts its defaults under it: those of its own class, else of
/// usual, NULL: main.
cr_status cri_mjcf_open(const cri_mjcf *m, const cri_xml_node *node, cri_mjcf_family family,
                        const cri_mjcf_rules *rules, const cri_mjcf_class *usual,
                        cri_mjcf_elem *out);

extern const cri_mjcf_rules cri_mjcf_mesh_rules;

/// Notes the meshes of all <asset> elements of the root.
cr_status cri_mjcf_read_assets(cri_mjcf *m, const cri_xml_node *root);

/// Reads the meshes that collide or weigh something, and leaves out geoms that only show one. The
/// world has been read.
cr_status cri_mjcf_load_meshes(cri_mjcf *m, const cri_xml_node *root);

extern const cri_mjcf_rules cri_mjcf_joint_rules;

extern const cri_mjcf_rules cri_mjcf_geom_rules;

extern const cri_mjcf_rules cri_mjcf_site_rules;

/// Reads all <worldbody> elements of the root.
cr_status cri_mjcf_read_world(cri_mjcf *m, const cri_xml_node *root);
cr_status cri_mjcf_add_joint(cri_mjcf *m, const cri_xml_node *node, const cri_mjcf_scope *scope);

extern const cri_mjcf_rules cri_mjcf_equality_rules;

extern const cri_mjcf_rules cri_mjcf_tendon_rules;

/// Rules of an actuator element, NULL when it is none that is read.
const cri_mjcf_rules *cri_mjcf_actuator_rules(const char *name);

/// Reads all <actuator>, <tendon>, <equality> elements of the root. Tendons come before the others.
cr_status cri_mjcf_read_actuators(cri_mjcf *m, const cri_xml_node *root);
cr_status cri_mjcf_read_tendons(cri_mjcf *m, const cri_xml_node *root);
cr_status cri_mjcf_read_equalities(cri_mjcf *m, const cri_xml_node *root);

extern const cri_mjcf_rules cri_mjcf_pair_rules;

/// Reads all <contact> elements of the root.
cr_status cri_mjcf_read_contact(cri_mjcf *m, const cri_xml_node *root);

/// Gives pairs whose friction follows from priority or condim their coefficient.
cr_status cri_mjcf_rank_pairs(cri_mjcf *m);

/// Reads all <custom> elements of the root. The world has been read.
cr_status cri_mjcf_read_custom(cri_mjcf *m, const cri_xml_node *root);
