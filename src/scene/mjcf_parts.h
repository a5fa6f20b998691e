// SPDX-License-Identifier: MIT
//
// What the files of the MJCF reader share. Private to src/scene.

#pragma once

#include "io/xml.h"
#include "model/model.h"

/// A geom's attributes while they are collected: built-in values, then the scene's default, then
/// its own.
typedef struct cri_mjcf_geom {
    cri_geom_def def;
    int n_size;    // numbers given in size
    bool has_mass; // mass given, which outranks density
    int priority;
    int condim;
} cri_mjcf_geom;

/// What decides the friction of a pair besides the coefficients.
typedef struct cri_mjcf_rank {
    int priority;
    int condim;
} cri_mjcf_rank;

/// One reading.
typedef struct cri_mjcf {
    const char *file;
    cr_error *err;
    cr_arena *scratch;   // lives until the reading ends
    cri_scene_def *def;  // being filled
    double angle_unit;   // rad per unit of the file
    cri_mjcf_geom usual; // geom attributes of <default>
    cri_mjcf_rank *rank; // (n_geom)
    int pair_space;      // pairs that fit into def->pair
} cri_mjcf;

/// Which attributes an element may have: names separated by spaces.
typedef struct cri_mjcf_rules {
    const char *read;    // looked at by the reader
    const char *ignored; // cannot change the motion
    const char *fixed;   // name=value: any other value is not supported
    const char *refused; // would change the motion
    const char *remedy;  // for the last two
} cri_mjcf_rules;

// ---- mjcf_attr.c -------------------------------------------------------------------------------

/// Fails with "FILE:LINE: <ELEMENT> " in front.
cr_status cri_mjcf_fail(const cri_mjcf *m, cr_status status, const cri_xml_node *node,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));

cr_status cri_mjcf_fail_memory(const cri_mjcf *m);

/// Fails for a child that its parent may not have.
cr_status cri_mjcf_fail_element(const cri_mjcf *m, const cri_xml_node *node, const char *remedy);

/// True when word is one of those in list, separated by spaces. NULL is an empty list.
bool cri_mjcf_is_word(const char *list, const char *word);

/// Checks that node has no attribute outside its rules.
cr_status cri_mjcf_check_attrs(const cri_mjcf *m, const cri_xml_node *node,
                               const cri_mjcf_rules *rules);

/// Reads between n_min and n_max finite numbers. Without the attribute out stays and *n, if not
/// NULL, is 0.
cr_status cri_mjcf_numbers(const cri_mjcf *m, const cri_xml_node *node, const char *name, int n_min,
                           int n_max, double *out, int *n);

/// As cri_mjcf_numbers for one integer.
cr_status cri_mjcf_int(const cri_mjcf *m, const cri_xml_node *node, const char *name, int *out);

/// As cri_mjcf_numbers for the three numbers of pos.
cr_status cri_mjcf_pos(const cri_mjcf *m, const cri_xml_node *node, cri_vec3 *out);

/// Reads whichever of quat, euler, axisangle, xyaxes, zaxis is there, as unit quaternion.
cr_status cri_mjcf_orientation(const cri_mjcf *m, const cri_xml_node *node, cri_quat *out);

/// a over its length, also where the square would overflow. False when a is zero.
bool cri_mjcf_normalise(int n, double *a);

/// Sets *out to a copy of the node's name, or to PREFIXi when it has none.
cr_status cri_mjcf_name(const cri_mjcf *m, const cri_xml_node *node, const char *prefix, int i,
                        char **out);

/// A name and where it stands.
typedef struct cri_mjcf_label {
    const char *name;
    int line;
} cri_mjcf_label;

/// Checks that no name comes twice; what says what they are. Sorts label.
cr_status cri_mjcf_check_unique(const cri_mjcf *m, const char *what, cri_mjcf_label *label, int n);

// ---- mjcf_body.c -------------------------------------------------------------------------------

/// Geom attributes before any file has been read.
cri_mjcf_geom cri_mjcf_geom_builtin(void);

/// Reads a <default> element into m->usual.
cr_status cri_mjcf_read_default(cri_mjcf *m, const cri_xml_node *node);

/// Reads all <worldbody> elements of the root.
cr_status cri_mjcf_read_world(cri_mjcf *m, const cri_xml_node *root);

// ---- mjcf_custom.c -----------------------------------------------------------------------------

/// Reads all <custom> elements of the root. The world has been read.
cr_status cri_mjcf_read_custom(cri_mjcf *m, const cri_xml_node *root);

/// Gives pairs whose friction follows from priority or condim their coefficient.
cr_status cri_mjcf_rank_pairs(cri_mjcf *m);
