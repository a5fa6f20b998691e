// SPDX-License-Identifier: MIT
//
// URDF to a scene definition: the lists of links and joints, and the tree that they make.
//
// URDF lists links and joints in any order. Bodies are numbered depth first, children in the order
// of their joints, so that parents come first and subtrees are contiguous. A link has one parent at
// most; there is one root; what cannot be reached from it hangs in a cycle.

#include "model/scene/urdf.h"

#include "base/io/file.h"
#include "base/io/mesh_file.h"
#include "base/io/number.h"
#include "base/io/xml.h"
#include "model/scene_def.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

// longest path, bytes
enum { PATH_BYTES = 1024 };

// MJCF's own, for links that say nothing about their inertia and for all contacts
#define DENSITY 1000.0
#define FRICTION 1.0
#define CONDIM 3

// longest name, bytes, as in MJCF
#define NAME_LIMIT 100

typedef struct label {
    const char *name;
    int index;
    int line;
} label;

// ---- attributes ---------------------------------------------------------------------------------

// Attributes of URDF elements: numbers, frames, messages.
//
// rpy turns about the fixed axes x, y, z in this order: q = qz(yaw) qy(pitch) qx(roll).

/// Fails with "FILE:LINE: <ELEMENT> " in front.
static cr_status urdf_fail(const cri_urdf *u, cr_status status, const cri_xml_node *node,
                           const char *format, ...) {
    CR_ASSERT(status != CR_OK && node);
    char message[sizeof u->err->text];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return cri_file_fail(u->err, status, u->file, node->line, "<%.*s> %s", CRI_URDF_SHOWN,
                         node->name, message);
}

static cr_status urdf_fail_memory(const cri_urdf *u) {
    return cri_file_fail_memory(u->err, u->file);
}

/// The first child of a name, NULL when there is none.
static const cri_xml_node *urdf_child(const cri_xml_node *node, const char *name) {
    for (const cri_xml_node *child = node->child; child; child = child->next) {
        if (strcmp(child->name, name) == 0) {
            return child;
        }
    }
    return NULL;
}

// the next word of a text, from *at on; false at its end
static bool next_word(const char **at, const char **word, size_t *n) {
    while (cri_number_is_space(**at)) {
        (*at)++;
    }
    *word = *at;
    while (**at && !cri_number_is_space(**at)) {
        (*at)++;
    }
    *n = (size_t)(*at - *word);
    return *n > 0;
}

/// True when word is one of those in list, separated by spaces.
static bool urdf_is_word(const char *list, const char *word) {
    const char *entry;
    size_t n;
    while (next_word(&list, &entry, &n)) {
        if (strlen(word) == n && memcmp(entry, word, n) == 0) {
            return true;
        }
    }
    return false;
}

/// True for elements that speak to other programs: those of the list and all with a prefix.
static bool urdf_is_extension(const char *list, const cri_xml_node *node) {
    return urdf_is_word(list, node->name) || strchr(node->name, ':');
}

/// Sets *out to an attribute, which must be there and not be empty.
static cr_status urdf_need(const cri_urdf *u, const cri_xml_node *node, const char *name,
                           const char **out) {
    CR_ASSERT(name && out);
    *out = cri_xml_get(node, name);
    if (!*out || !**out) {
        return urdf_fail(u, CR_ERR_SYNTAX, node, "has no %s: add %s=\"...\"", name, name);
    }
    return CR_OK;
}

/// Reads n finite numbers. Without the attribute out stays and *is_given, if not NULL, is false.
static cr_status urdf_numbers(const cri_urdf *u, const cri_xml_node *node, const char *name, int n,
                              double *out, bool *is_given) {
    CR_ASSERT(n > 0 && out);
    const char *value = cri_xml_get(node, name);
    if (is_given) {
        *is_given = value != NULL;
    }
    if (!value) {
        return CR_OK;
    }
    const char *at = value;
    const char *word;
    size_t length;
    int n_found = 0;
    for (; next_word(&at, &word, &length); n_found++) {
        double number = 0.0;
        cri_number_kind kind = cri_number_parse(word, length, &number);
        if (kind != CRI_NUMBER_OK) {
            return urdf_fail(u, CR_ERR_SYNTAX, node, "%s: '%.*s' %s, expected a finite number",
                             name, length < CRI_URDF_SHOWN ? (int)length : CRI_URDF_SHOWN, word,
                             cri_number_text(kind));
        }
        if (n_found < n) {
            out[n_found] = number;
        }
    }
    if (n_found != n) {
        return urdf_fail(u, CR_ERR_SYNTAX, node, "%s=\"%.*s\" has %d numbers, expected %d", name,
                         CRI_URDF_SHOWN, value, n_found, n);
    }
    return CR_OK;
}

/// As urdf_numbers for one number that must be there.
static cr_status urdf_need_number(const cri_urdf *u, const cri_xml_node *node, const char *name,
                                  double *out) {
    const char *value;
    CR_TRY(urdf_need(u, node, name, &value));
    return urdf_numbers(u, node, name, 1, out, NULL);
}

/// As urdf_need_number for one that is larger than zero.
static cr_status urdf_need_positive(const cri_urdf *u, const cri_xml_node *node, const char *name,
                                    double *out) {
    CR_TRY(urdf_need_number(u, node, name, out));
    if (!(*out > 0.0)) {
        return urdf_fail(u, CR_ERR_SYNTAX, node, "%s=\"%.*s\" must be larger than zero", name,
                         CRI_URDF_SHOWN, cri_xml_get(node, name));
    }
    return CR_OK;
}

static cri_quat axis_quat(int axis, double angle) {
    double q[4] = {cos(0.5 * angle), 0.0, 0.0, 0.0};
    q[1 + axis] = sin(0.5 * angle);
    return cri_q4_load(q);
}

/// Reads <origin xyz rpy> of an element, which may be left out.
static cr_status urdf_origin(const cri_urdf *u, const cri_xml_node *node, cri_vec3 *pos,
                             cri_quat *quat) {
    double xyz[3] = {0};
    double rpy[3] = {0};
    const cri_xml_node *origin = urdf_child(node, "origin");
    if (origin) {
        CR_TRY(urdf_numbers(u, origin, "xyz", 3, xyz, NULL));
        CR_TRY(urdf_numbers(u, origin, "rpy", 3, rpy, NULL));
    }
    *pos = cri_v3_load(xyz);
    cri_quat q = cri_quat_mul(axis_quat(2, rpy[2]), axis_quat(1, rpy[1]));
    *quat = cri_quat_normalise(cri_quat_mul(q, axis_quat(0, rpy[0])));
    return CR_OK;
}

/// a over its length, also where the square would overflow. False when a is zero.
static bool urdf_normalise(double a[3]) {
    double largest = fmax(fabs(a[0]), fmax(fabs(a[1]), fabs(a[2])));
    if (!(largest > 0.0)) {
        return false;
    }
    double sum = 0.0;
    for (int i = 0; i < 3; i++) {
        a[i] /= largest;
        sum += a[i] * a[i];
    }
    for (int i = 0; i < 3; i++) {
        a[i] /= sqrt(sum);
    }
    return true;
}

// ---- meshes -------------------------------------------------------------------------------------

// Mesh files of a URDF: where they are, and their scale.
//
// package://NAME/a/b/c.stl names a place in somebody's workspace. The longest end of the path that
// exists is taken: a/b/c.stl, b/c.stl, c.stl, each beside the URDF, in its folder meshes, and
// beside its folder, as ROS packages are laid out. file:// names a place of this machine.

// a folder can be opened, and not read
static bool exists(const char *path) {
    FILE *stream = fopen(path, "rb");
    if (!stream) {
        return false;
    }
    bool is_file = fgetc(stream) != EOF || !ferror(stream);
    fclose(stream);
    return is_file;
}

// what follows start in text, NULL when text does not begin with it
static const char *behind(const char *text, const char *start) {
    while (*start && *text == *start) {
        text++;
        start++;
    }
    return *start ? NULL : text;
}

// the first of the places that has a file, for this end of a path
static bool try_end(const char *file, const char *end, char path[PATH_BYTES]) {
    static const char *const folders[] = {"", "meshes/", "../"};
    const char *slash = strrchr(file, '/');
    int n_folder = slash ? (int)(slash - file) + 1 : 0;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        int n = snprintf(path, PATH_BYTES, "%.*s%s%s", n_folder, file, folders[i], end);
        if (n < PATH_BYTES && exists(path)) {
            return true;
        }
    }
    return false;
}

static cr_status find_file(const cri_urdf *u, const cri_xml_node *node, const char *name,
                           char path[PATH_BYTES]) {
    const char *package = behind(name, "package://");
    const char *local = behind(name, "file://");
    const char *end = package ? package + strcspn(package, "/") : local ? local : name;
    bool is_absolute = !package && *end == '/';
    if (strlen(name) >= PATH_BYTES) {
        return urdf_fail(u, CR_ERR_SYNTAX, node, "filename is longer than %d bytes",
                         PATH_BYTES - 1);
    }
    if (is_absolute && exists(end)) {
        snprintf(path, PATH_BYTES, "%s", end);
        return CR_OK;
    }
    while (*end) {
        end += strspn(end, "/");
        if (*end && try_end(u->file, end, path)) {
            return CR_OK;
        }
        end += strcspn(end, "/");
    }
    return urdf_fail(u, CR_ERR_FILE, node,
                     "file '%.*s' is neither beside the URDF nor in a folder meshes there: copy "
                     "it to one of them",
                     2 * CRI_URDF_SHOWN, name);
}

// the part of a path between its folder and its ending
static const char *base_name(cr_arena *arena, const char *path) {
    const char *slash = strrchr(path, '/');
    char *name = cri_arena_push_text(arena, slash ? slash + 1 : path);
    char *dot = name ? strrchr(name, '.') : NULL;
    if (dot && dot > name) {
        *dot = '\0';
    }
    return name;
}

static void apply_scale(cri_mesh_def *mesh, const double scale[3]) {
    for (int i = 0; i < 3 * mesh->n_vertex; i++) {
        mesh->vertex[i] *= scale[i % 3];
    }
    // a mirror image is inside out
    if (scale[0] * scale[1] * scale[2] < 0.0) {
        for (int f = 0; f < mesh->n_face; f++) {
            int *corner = mesh->face + 3 * f;
            int second = corner[1];
            corner[1] = corner[2];
            corner[2] = second;
        }
    }
}

// a mesh read before from the same path with the same scale, -1: none
static int find_mesh(const cri_urdf *u, const char *path, const double scale[3]) {
    for (int i = 0; i < u->def->n_mesh; i++) {
        const cri_urdf_source *source = &u->source[i];
        bool is_scale = source->scale[0] == scale[0] && source->scale[1] == scale[1] &&
                        source->scale[2] == scale[2];
        if (is_scale && strcmp(source->path, path) == 0) {
            return i;
        }
    }
    return -1;
}

static bool has_mesh_name(const cri_scene_def *def, const char *name) {
    for (int i = 0; i < def->n_mesh; i++) {
        if (strcmp(def->mesh[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

// adds an empty mesh and remembers where it comes from; NULL for lack of memory
static cri_mesh_def *push_mesh(cri_urdf *u, const char *path, const double scale[3]) {
    cri_scene_def *def = u->def;
    def->mesh = cri_scene_def_grow(def, def->mesh, def->n_mesh, sizeof *def->mesh);
    u->source = cri_scene_def_grow(def, u->source, def->n_mesh, sizeof *u->source);
    const char *name = base_name(def->memory, path);
    char *copy = cri_arena_push_text(def->memory, path);
    if (!def->mesh || !u->source || !name || !copy) {
        return NULL;
    }
    if (has_mesh_name(def, name)) {
        char longer[PATH_BYTES + 16];
        snprintf(longer, sizeof longer, "%s.%d", name, def->n_mesh);
        name = cri_arena_push_text(def->memory, longer);
        if (!name) {
            return NULL;
        }
    }
    cri_urdf_source *source = &u->source[def->n_mesh];
    source->path = copy;
    memcpy(source->scale, scale, sizeof source->scale);
    cri_mesh_def *mesh = &def->mesh[def->n_mesh++];
    *mesh = (cri_mesh_def){.name = name};
    return mesh;
}

/// Reads the mesh of a <mesh> element, or finds it among those read before; *out is its number.
static cr_status urdf_read_mesh(cri_urdf *u, const cri_xml_node *node, int *out) {
    CR_ASSERT(out);
    const char *name;
    CR_TRY(urdf_need(u, node, "filename", &name));
    double scale[3] = {1.0, 1.0, 1.0};
    CR_TRY(urdf_numbers(u, node, "scale", 3, scale, NULL));
    if (scale[0] == 0.0 || scale[1] == 0.0 || scale[2] == 0.0) {
        return urdf_fail(u, CR_ERR_SYNTAX, node, "scale has a zero, which leaves no volume");
    }
    char path[PATH_BYTES];
    CR_TRY(find_file(u, node, name, path));
    *out = find_mesh(u, path, scale);
    if (*out >= 0) {
        return CR_OK;
    }
    *out = u->def->n_mesh;
    cri_mesh_def *mesh = push_mesh(u, path, scale);
    if (!mesh) {
        return urdf_fail_memory(u);
    }
    mesh->place = (cri_place){u->def->file, node->line};
    CR_TRY(cri_mesh_read(path, u->def->memory, &mesh->n_vertex, &mesh->vertex, &mesh->n_face,
                         &mesh->face, u->err));
    apply_scale(mesh, scale);
    if (!cri_all_finite(3 * mesh->n_vertex, mesh->vertex)) {
        return urdf_fail(u, CR_ERR_SYNTAX, node, "scale makes coordinates infinite");
    }
    return CR_OK;
}

// ---- links --------------------------------------------------------------------------------------

// <link>: inertia and collision shapes.
//
// The inertia is given about the centre of mass in axes of its own, R: J_body = R J R'. Shapes of a
// robot overlap at its joints, so that they touch those of the link world alone.

static cr_status read_tensor(const cri_urdf *u, const cri_xml_node *node, double J[6]) {
    static const char *const name[6] = {"ixx", "iyy", "izz", "ixy", "ixz", "iyz"};
    for (int i = 0; i < 6; i++) {
        J[i] = 0.0;
        if (i < 3) {
            CR_TRY(urdf_need_number(u, node, name[i], &J[i]));
        } else {
            CR_TRY(urdf_numbers(u, node, name[i], 1, &J[i], NULL));
        }
    }
    return CR_OK;
}

// R J R', both as xx yy zz xy xz yz
static void turn_tensor(const cri_mat3 *R, const double J[6], double out[6]) {
    const cri_vec3 row[3] = {{J[0], J[3], J[4]}, {J[3], J[1], J[5]}, {J[4], J[5], J[2]}};
    double turned[3][3];
    for (int k = 0; k < 3; k++) {
        // column k of R J R' is R J times row k of R
        cri_vec3 r = cri_v3_load(R->m + 3 * k);
        cri_vec3 Jr = cri_v3(cri_v3_dot(row[0], r), cri_v3_dot(row[1], r), cri_v3_dot(row[2], r));
        cri_v3_store(cri_m3_mul(R, Jr), turned[k]);
    }
    out[0] = turned[0][0];
    out[1] = turned[1][1];
    out[2] = turned[2][2];
    out[3] = turned[0][1];
    out[4] = turned[0][2];
    out[5] = turned[1][2];
}

static cr_status read_inertial(const cri_urdf *u, const cri_xml_node *node, cri_body_def *body) {
    if (body->has_inertial) {
        return urdf_fail(u, CR_ERR_SYNTAX, node, "is the second one of its link: remove one");
    }
    const cri_xml_node *mass = urdf_child(node, "mass");
    const cri_xml_node *inertia = urdf_child(node, "inertia");
    if (!mass || !inertia) {
        return urdf_fail(u, CR_ERR_SYNTAX, node,
                         "needs <mass value> and <inertia ixx iyy izz>: add the one missing");
    }
    CR_TRY(urdf_need_number(u, mass, "value", &body->mass));
    if (body->mass < 0.0) {
        return urdf_fail(u, CR_ERR_SYNTAX, mass, "value=\"%g\" must not be negative", body->mass);
    }
    double J[6];
    CR_TRY(read_tensor(u, inertia, J));
    cri_quat quat;
    CR_TRY(urdf_origin(u, node, &body->com, &quat));
    cri_mat3 R = cri_quat_rotation(quat);
    turn_tensor(&R, J, body->inertia);
    if (!cri_all_finite(6, body->inertia)) {
        return urdf_fail(u, CR_ERR_SYNTAX, inertia, "has numbers too large to be turned");
    }
    body->has_inertial = true;
    return CR_OK;
}

// ---- shapes ------------------------------------------------------------------------------------

static cr_status read_box(const cri_urdf *u, const cri_xml_node *node, double size[3]) {
    const char *value;
    CR_TRY(urdf_need(u, node, "size", &value));
    CR_TRY(urdf_numbers(u, node, "size", 3, size, NULL));
    for (int i = 0; i < 3; i++) {
        if (!(size[i] > 0.0)) {
            return urdf_fail(u, CR_ERR_SYNTAX, node,
                             "size=\"%.*s\" must be larger than zero in all directions",
                             CRI_URDF_SHOWN, value);
        }
        size[i] *= 0.5;
    }
    return CR_OK;
}

// radius and half length; a capsule's length has no caps, as in MJCF
static cr_status read_round(const cri_urdf *u, const cri_xml_node *node, double size[3]) {
    CR_TRY(urdf_need_positive(u, node, "radius", &size[0]));
    CR_TRY(urdf_need_positive(u, node, "length", &size[1]));
    size[1] *= 0.5;
    return CR_OK;
}

static cr_status read_shape(cri_urdf *u, const cri_xml_node *node, cri_geom_def *geom) {
    if (strcmp(node->name, "sphere") == 0) {
        geom->shape = CRI_SHAPE_SPHERE;
        return urdf_need_positive(u, node, "radius", &geom->size[0]);
    }
    if (strcmp(node->name, "box") == 0) {
        geom->shape = CRI_SHAPE_BOX;
        return read_box(u, node, geom->size);
    }
    if (strcmp(node->name, "cylinder") == 0) {
        geom->shape = CRI_SHAPE_CYLINDER;
        return read_round(u, node, geom->size);
    }
    if (strcmp(node->name, "capsule") == 0) {
        geom->shape = CRI_SHAPE_CAPSULE;
        return read_round(u, node, geom->size);
    }
    if (strcmp(node->name, "mesh") == 0) {
        // collision meshes of robots are made to be hulls
        static const cri_form_def hull = {.is_hull = true};
        geom->shape = CRI_SHAPE_MESH;
        geom->form = &hull;
        return urdf_read_mesh(u, node, &geom->mesh);
    }
    return urdf_fail(u, CR_ERR_UNSUPPORTED, node,
                     "is no shape that is read: use sphere, box, cylinder, capsule or mesh");
}

// the link's name for its first shape, then LINK.1, LINK.2; NULL for lack of memory
static const char *geom_name(cri_urdf *u, const cri_urdf_link *link, int i) {
    size_t n = strlen(link->name) + 16;
    char *name = CR_PUSH(u->def->memory, char, n);
    if (name && i == 0) {
        snprintf(name, n, "%s", link->name);
    } else if (name) {
        snprintf(name, n, "%s.%d", link->name, i);
    }
    return name;
}

static cr_status read_collision(cri_urdf *u, const cri_urdf_link *link, const cri_xml_node *node,
                                int i) {
    const cri_xml_node *geometry = urdf_child(node, "geometry");
    if (!geometry || !geometry->child || geometry->child->next) {
        return urdf_fail(u, CR_ERR_SYNTAX, node,
                         "needs one <geometry> with one shape: use a <collision> for each");
    }
    cri_geom_def geom = {.body = link->body,
                         .mesh = -1,
                         .density = DENSITY,
                         .friction = FRICTION,
                         .contype = 1,
                         .conaffinity = link->body < 0,
                         .condim = CONDIM,
                         .place = {u->def->file, node->line}};
    CR_TRY(read_shape(u, geometry->child, &geom));
    CR_TRY(urdf_origin(u, node, &geom.pos, &geom.quat));
    cri_scene_def *def = u->def;
    geom.name = geom_name(u, link, i);
    def->geom = cri_scene_def_grow(def, def->geom, def->n_geom, sizeof *def->geom);
    if (!geom.name || !def->geom) {
        return urdf_fail_memory(u);
    }
    def->geom[def->n_geom++] = geom;
    return CR_OK;
}

/// Checks the children of a link, fills the inertia of body (NULL: the world) and adds its geoms.
static cr_status urdf_read_link(cri_urdf *u, const cri_urdf_link *link, cri_body_def *body) {
    int n_collision = 0;
    for (const cri_xml_node *node = link->node->child; node; node = node->next) {
        if (strcmp(node->name, "collision") == 0) {
            CR_TRY(read_collision(u, link, node, n_collision++));
        } else if (strcmp(node->name, "inertial") == 0) {
            if (body) {
                CR_TRY(read_inertial(u, node, body));
            }
        } else if (urdf_is_extension("contact sensor gazebo", node)) {
            u->note[CRI_URDF_EXTENSION]++;
        } else if (!urdf_is_word("visual material self_collision_checking verbose", node->name)) {
            return urdf_fail(u, CR_ERR_UNSUPPORTED, node,
                             "is not known in a link: check its spelling or remove it");
        }
    }
    return CR_OK;
}

// ---- joints -------------------------------------------------------------------------------------

// <joint>: the frame of its child, axis, range, damping, mimic.
//
// The joint's frame is that of its child, so anchors are at the origin and axes in the child's
// frame. <mimic> is an equality q = multiplier other + offset.

static cr_status read_axis(const cri_urdf *u, const cri_xml_node *node, cri_vec3 *out) {
    double axis[3] = {1.0, 0.0, 0.0};
    const cri_xml_node *child = urdf_child(node, "axis");
    if (child) {
        CR_TRY(urdf_numbers(u, child, "xyz", 3, axis, NULL));
    }
    if (!urdf_normalise(axis)) {
        return urdf_fail(u, CR_ERR_SYNTAX, child, "xyz is zero: an axis needs a direction");
    }
    *out = cri_v3_load(axis);
    return CR_OK;
}

// lower and upper; what is left out of the two is zero, as URDF says
static cr_status read_range(const cri_urdf *u, const cri_xml_node *node, const cri_xml_node *limit,
                            double range[2]) {
    bool has_lower = false;
    bool has_upper = false;
    range[0] = 0.0;
    range[1] = 0.0;
    if (limit) {
        CR_TRY(urdf_numbers(u, limit, "lower", 1, &range[0], &has_lower));
        CR_TRY(urdf_numbers(u, limit, "upper", 1, &range[1], &has_upper));
    }
    if (!has_lower && !has_upper) {
        return urdf_fail(u, CR_ERR_SYNTAX, node,
                         "has no range: add <limit lower=\"...\" upper=\"...\"/>, or make it "
                         "continuous or fixed");
    }
    if (!(range[0] < range[1])) {
        return urdf_fail(u, CR_ERR_SYNTAX, limit,
                         "lower %g is not below upper %g: exchange them, or make the joint "
                         "fixed",
                         range[0], range[1]);
    }
    return CR_OK;
}

static cr_status read_details(cri_urdf *u, const cri_xml_node *node, bool has_range,
                              cri_joint_def *joint) {
    CR_TRY(read_axis(u, node, &joint->axis));
    const cri_xml_node *limit = urdf_child(node, "limit");
    if (has_range) {
        CR_TRY(read_range(u, node, limit, joint->range));
    }
    u->note[CRI_URDF_EFFORT] += limit && cri_xml_get(limit, "effort");

    const cri_xml_node *dynamics = urdf_child(node, "dynamics");
    if (dynamics) {
        double friction = 0.0;
        CR_TRY(urdf_numbers(u, dynamics, "damping", 1, &joint->damping, NULL));
        CR_TRY(urdf_numbers(u, dynamics, "friction", 1, &friction, NULL));
        if (joint->damping < 0.0) {
            return urdf_fail(u, CR_ERR_SYNTAX, dynamics, "damping %g must not be negative",
                             joint->damping);
        }
        u->note[CRI_URDF_FRICTION] += friction > 0.0;
    }
    return CR_OK;
}

static cr_status check_children(cri_urdf *u, const cri_xml_node *node) {
    for (const cri_xml_node *child = node->child; child; child = child->next) {
        if (urdf_is_extension("safety_controller calibration gazebo sensor", child)) {
            u->note[CRI_URDF_EXTENSION]++;
        } else if (!urdf_is_word("origin parent child axis limit dynamics mimic", child->name)) {
            return urdf_fail(u, CR_ERR_UNSUPPORTED, child,
                             "is not known in a joint: check its spelling or remove it");
        }
    }
    return CR_OK;
}

static cr_status push_joint(cri_urdf *u, cri_urdf_joint *joint, const cri_joint_def *row) {
    cri_scene_def *def = u->def;
    def->joint = cri_scene_def_grow(def, def->joint, def->n_joint, sizeof *def->joint);
    char *name = cri_arena_push_text(def->memory, joint->name);
    if (!def->joint || !name) {
        return urdf_fail_memory(u);
    }
    joint->number = def->n_joint++;
    def->joint[joint->number] = *row;
    def->joint[joint->number].name = name;
    return CR_OK;
}

static cr_status fail_floating(const cri_urdf *u, const cri_urdf_joint *joint) {
    return urdf_fail(u, CR_ERR_UNSUPPORTED, joint->node,
                     "of type floating starts at the link '%.*s': only a link named world may "
                     "carry one",
                     CRI_URDF_SHOWN, u->link[joint->parent].name);
}

/// Fills the frame of a joint's body, and adds the joint unless it is fixed.
static cr_status urdf_read_joint(cri_urdf *u, cri_urdf_joint *joint, cri_body_def *body) {
    CR_ASSERT(joint->parent >= 0 && joint->child >= 0 && body);
    const cri_xml_node *node = joint->node;
    CR_TRY(check_children(u, node));
    CR_TRY(urdf_origin(u, node, &body->pos, &body->quat));
    const char *type;
    CR_TRY(urdf_need(u, node, "type", &type));
    cri_joint_def row = {.body = u->link[joint->child].body,
                         .axis = {0.0, 0.0, 1.0},
                         .range = {-INFINITY, INFINITY},
                         .place = {u->def->file, node->line}};
    if (strcmp(type, "fixed") == 0) {
        return CR_OK;
    }
    if (strcmp(type, "floating") == 0) {
        row.kind = CRI_JOINT_FREE;
        return body->parent < 0 ? push_joint(u, joint, &row) : fail_floating(u, joint);
    }
    if (urdf_is_word("revolute continuous", type)) {
        row.kind = CRI_JOINT_HINGE;
        CR_TRY(read_details(u, node, *type == 'r', &row));
        return push_joint(u, joint, &row);
    }
    if (strcmp(type, "prismatic") == 0) {
        row.kind = CRI_JOINT_SLIDE;
        CR_TRY(read_details(u, node, true, &row));
        return push_joint(u, joint, &row);
    }
    if (strcmp(type, "planar") == 0) {
        return urdf_fail(u, CR_ERR_UNSUPPORTED, node,
                         "of type planar is not read: use MJCF with two slides and a hinge");
    }
    return urdf_fail(u, CR_ERR_SYNTAX, node,
                     "has the unknown type '%.*s': use fixed, revolute, continuous, prismatic "
                     "or floating",
                     CRI_URDF_SHOWN, type);
}

// ---- mimic -------------------------------------------------------------------------------------

static bool is_scalar(const cri_urdf *u, int number) {
    return number >= 0 && u->def->joint[number].kind != CRI_JOINT_FREE;
}

static int urdf_find_joint(const cri_urdf *u, const char *name) {
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

static cr_status read_mimic(cri_urdf *u, const cri_urdf_joint *joint, const cri_xml_node *node) {
    const char *other;
    CR_TRY(urdf_need(u, node, "joint", &other));
    int i = urdf_find_joint(u, other);
    if (i < 0) {
        return urdf_fail(u, CR_ERR_SYNTAX, node,
                         "names the joint '%.*s', which does not exist: check its spelling",
                         CRI_URDF_SHOWN, other);
    }
    int number = u->joint[i].number;
    if (number == joint->number || !is_scalar(u, number) || !is_scalar(u, joint->number)) {
        return urdf_fail(u, CR_ERR_SYNTAX, node,
                         "ties '%.*s' to '%.*s': both must be different revolute, continuous "
                         "or prismatic joints",
                         CRI_URDF_SHOWN, joint->name, CRI_URDF_SHOWN, other);
    }
    double multiplier = 1.0;
    double offset = 0.0;
    CR_TRY(urdf_numbers(u, node, "multiplier", 1, &multiplier, NULL));
    CR_TRY(urdf_numbers(u, node, "offset", 1, &offset, NULL));
    cri_scene_def *def = u->def;
    def->equality = cri_scene_def_grow(def, def->equality, def->n_equality, sizeof *def->equality);
    if (!def->equality) {
        return urdf_fail_memory(u);
    }
    def->equality[def->n_equality++] = (cri_equality_def){.name = def->joint[joint->number].name,
                                                          .kind = CRI_EQUALITY_JOINT,
                                                          .object = {joint->number, number},
                                                          .relative = {1.0, 0.0, 0.0, 0.0},
                                                          .poly = {offset, multiplier},
                                                          .place = {def->file, node->line}};
    u->note[CRI_URDF_MIMIC]++;
    return CR_OK;
}

/// Adds an equality for every <mimic>. All joints have been read.
static cr_status urdf_read_mimics(cri_urdf *u) {
    for (int i = 0; i < u->n_joint; i++) {
        const cri_xml_node *node = urdf_child(u->joint[i].node, "mimic");
        if (node) {
            CR_TRY(read_mimic(u, &u->joint[i], node));
        }
    }
    return CR_OK;
}

// ---- the tree -----------------------------------------------------------------------------------

// ---- names -------------------------------------------------------------------------------------

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

/// Number of a link or joint, -1 when there is none of that name.
static int urdf_find_link(const cri_urdf *u, const char *name) {
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

static cr_status read_name(const cri_urdf *u, const cri_xml_node *node, const char **out) {
    CR_TRY(urdf_need(u, node, "name", out));
    CR_ASSERT(*out);
    if (strlen(*out) >= NAME_LIMIT) {
        return urdf_fail(u, CR_ERR_SYNTAX, node, "has a name of %zu bytes, at most %d are read",
                         strlen(*out), NAME_LIMIT - 1);
    }
    return CR_OK;
}

// ---- lists -------------------------------------------------------------------------------------

static cr_status check_root(cri_urdf *u, const cri_xml_node *root) {
    if (strcmp(root->name, "robot") != 0) {
        return urdf_fail(u, CR_ERR_SYNTAX, root, "is no URDF: expected <robot>");
    }
    for (const cri_xml_node *node = root->child; node; node = node->next) {
        if (strcmp(node->name, "link") == 0) {
            u->n_link++;
        } else if (strcmp(node->name, "joint") == 0) {
            u->n_joint++;
        } else if (strncmp(node->name, "xacro:", 6) == 0) {
            return urdf_fail(u, CR_ERR_UNSUPPORTED, node,
                             "is xacro: run xacro first and read what it writes");
        } else if (urdf_is_extension("transmission gazebo sensor ros2_control mujoco", node)) {
            u->note[CRI_URDF_EXTENSION]++;
        } else if (strcmp(node->name, "material") != 0) {
            return urdf_fail(u, CR_ERR_UNSUPPORTED, node,
                             "is not known in a robot: check its spelling or remove it");
        }
    }
    if (u->n_link == 0) {
        return urdf_fail(u, CR_ERR_SYNTAX, root, "has no links: add a <link>");
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
        return urdf_fail_memory(u);
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
    const cri_xml_node *node = urdf_child(joint, which);
    if (!node) {
        return urdf_fail(u, CR_ERR_SYNTAX, joint, "has no <%s>: add <%s link=\"...\"/>", which,
                         which);
    }
    const char *name;
    CR_TRY(urdf_need(u, node, "link", &name));
    *out = urdf_find_link(u, name);
    if (*out < 0) {
        return urdf_fail(u, CR_ERR_SYNTAX, node,
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
        return urdf_fail(u, CR_ERR_SYNTAX, joint->node,
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
            return urdf_fail(u, CR_ERR_SYNTAX, u->link[i].node,
                             "'%.*s' has no joint to a parent, and neither has '%.*s': join "
                             "them, a robot is one tree",
                             CRI_URDF_SHOWN, u->link[i].name, CRI_URDF_SHOWN, u->link[*root].name);
        }
        *root = i;
    }
    if (*root < 0) {
        return urdf_fail(u, CR_ERR_SYNTAX, robot,
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
        return urdf_fail_memory(u);
    }
    link->body = def->n_body++;
    cri_body_def *body = &def->body[link->body];
    *body = (cri_body_def){.name = name,
                           .parent = joint_i >= 0 ? u->link[u->joint[joint_i].parent].body : -1,
                           .quat = {1.0, 0.0, 0.0, 0.0},
                           .place = {def->file, link->node->line}};
    if (joint_i >= 0) {
        CR_TRY(urdf_read_joint(u, &u->joint[joint_i], body));
    }
    return urdf_read_link(u, link, body);
}

// the root and everything below it, depth first
static cr_status read_tree(cri_urdf *u, int root) {
    bool is_world = strcmp(u->link[root].name, "world") == 0;
    u->link[root].is_reached = true;
    if (is_world) {
        CR_TRY(urdf_read_link(u, &u->link[root], NULL));
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
            return urdf_fail(u, CR_ERR_SYNTAX, u->link[i].node,
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
    CR_TRY(urdf_read_mimics(u));
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
