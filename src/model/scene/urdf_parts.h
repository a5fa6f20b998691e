// SPDX-License-Identifier: MIT
//
// What the files of the URDF reader share. Private to src/scene.

#pragma once

#include "base/io/xml.h"
#include "model/scene_def.h"

/// Longest piece of the file shown in a message, bytes.
#define CRI_URDF_SHOWN 40

/// What is read and has no effect.
typedef enum cri_urdf_note {
    CRI_URDF_EFFORT,
    CRI_URDF_FRICTION,
    CRI_URDF_MIMIC, // has an effect that not every reader gives it
    CRI_URDF_EXTENSION,
    CRI_URDF_N_NOTE,
} cri_urdf_note;

/// A <link> and its place in the tree.
typedef struct cri_urdf_link {
    const cri_xml_node *node;
    const char *name;
    int parent_joint; // joint that it is the child of, -1: root
    int first_child;  // joint, -1: none
    int last_child;
    int body; // -1: the world, or not reached yet
    bool is_reached;
} cri_urdf_link;

/// A <joint> between two links.
typedef struct cri_urdf_joint {
    const cri_xml_node *node;
    const char *name;
    int parent; // link
    int child;  // link
    int next;   // next joint with the same parent, -1: none
    int number; // in def->joint, -1: none
} cri_urdf_joint;

/// Where a mesh came from.
typedef struct cri_urdf_source {
    const char *path;
    double scale[3];
} cri_urdf_source;

/// One reading.
typedef struct cri_urdf {
    const char *file;
    cr_error *err;
    cr_arena *scratch;  // lives until the reading ends
    cri_scene_def *def; // being filled
    int n_link;
    int n_joint;
    cri_urdf_link *link;
    cri_urdf_joint *joint;
    int *link_order;         // (n_link) by name
    int *joint_order;        // (n_joint) by name
    cri_urdf_source *source; // (n_mesh)
    int note[CRI_URDF_N_NOTE];
} cri_urdf;

// ---- urdf_attr.c -------------------------------------------------------------------------------

/// Fails with "FILE:LINE: <ELEMENT> " in front.
cr_status cri_urdf_fail(const cri_urdf *u, cr_status status, const cri_xml_node *node,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));

cr_status cri_urdf_fail_memory(const cri_urdf *u);

/// The first child of a name, NULL when there is none.
const cri_xml_node *cri_urdf_child(const cri_xml_node *node, const char *name);

/// Sets *out to an attribute, which must be there and not be empty.
cr_status cri_urdf_need(const cri_urdf *u, const cri_xml_node *node, const char *name,
                        const char **out);

/// Reads n finite numbers. Without the attribute out stays and *is_given, if not NULL, is false.
cr_status cri_urdf_numbers(const cri_urdf *u, const cri_xml_node *node, const char *name, int n,
                           double *out, bool *is_given);

/// As cri_urdf_numbers for one number that must be there.
cr_status cri_urdf_need_number(const cri_urdf *u, const cri_xml_node *node, const char *name,
                               double *out);

/// As cri_urdf_need_number for one that is larger than zero.
cr_status cri_urdf_need_positive(const cri_urdf *u, const cri_xml_node *node, const char *name,
                                 double *out);

/// Reads <origin xyz rpy> of an element, which may be left out.
cr_status cri_urdf_origin(const cri_urdf *u, const cri_xml_node *node, cri_vec3 *pos,
                          cri_quat *quat);

/// a over its length, also where the square would overflow. False when a is zero.
bool cri_urdf_normalise(double a[3]);

/// True when word is one of those in list, separated by spaces.
bool cri_urdf_is_word(const char *list, const char *word);

/// True for elements that speak to other programs: those of the list and all with a prefix.
bool cri_urdf_is_extension(const char *list, const cri_xml_node *node);

// ---- urdf_link.c -------------------------------------------------------------------------------

/// Checks the children of a link, fills the inertia of body (NULL: the world) and adds its geoms.
cr_status cri_urdf_read_link(cri_urdf *u, const cri_urdf_link *link, cri_body_def *body);

// ---- urdf_joint.c ------------------------------------------------------------------------------

/// Fills the frame of a joint's body, and adds the joint unless it is fixed.
cr_status cri_urdf_read_joint(cri_urdf *u, cri_urdf_joint *joint, cri_body_def *body);

/// Adds an equality for every <mimic>. All joints have been read.
cr_status cri_urdf_read_mimics(cri_urdf *u);

// ---- urdf_mesh.c -------------------------------------------------------------------------------

/// Reads the mesh of a <mesh> element, or finds it among those read before; *out is its number.
cr_status cri_urdf_read_mesh(cri_urdf *u, const cri_xml_node *node, int *out);

// ---- urdf.c ------------------------------------------------------------------------------------

/// Number of a link or joint, -1 when there is none of that name.
int cri_urdf_find_link(const cri_urdf *u, const char *name);
int cri_urdf_find_joint(const cri_urdf *u, const char *name);
