// SPDX-License-Identifier: MIT
//
// The files of an MJCF scene: included ones and meshes.
//
// A vertex v of the file becomes scale (R' (v - refpos)), R of refquat, entry by entry. Meshes are
// read only when a geom collides with one or weighs by it. Geoms that merely show a mesh are left
// out, so that a scene is the same with and without the files for drawing.

#include "model/scene/mjcf.h"

#include "base/io/file.h"
#include "base/io/mesh_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// longest chain of files: bounds what a lexical look at paths misses
enum { CHAIN_LIMIT = 16 };

const cri_mjcf_rules cri_mjcf_mesh_rules = {
    .read = "name class file vertex face scale refpos refquat",
    .ignored = "normal texcoord smoothnormal maxhullvert content_type material octree_maxdepth",
    .fixed = "inertia=exact",
    .refused = "builtin params",
    .remedy = "meshes are solid and come from an OBJ or STL file or from vertex; adapt it",
};

static cr_status load_children(cri_mjcf *m, cri_xml_node **link, cri_mjcf_doc *parent, int depth);

// ---- included files -----------------------------------------------------------------------------

// The files of a scene: an <include> is replaced by the children of the other file's root.
//
// Paths are relative to the including file, or else to the scene's. As in MuJoCo a file may be
// included once only. Nodes keep the name of their own file, for messages.

// ---- paths -------------------------------------------------------------------------------------

// takes "./" and "folder/../" out of path, in place
static void simplify(char *path) {
    char *out = path;
    const char *at = path;
    while (*at) {
        const char *slash = strchr(at, '/');
        size_t n = slash ? (size_t)(slash - at) + 1 : strlen(at);
        bool is_dot = n == 2 && memcmp(at, "./", 2) == 0;
        bool is_up = n == 3 && memcmp(at, "../", 3) == 0;
        // the folder before, unless there is none to take back
        char *before = out;
        if (is_up && out > path + 1) {
            before = out - 1;
            while (before > path && before[-1] != '/') {
                before--;
            }
        }
        bool is_taken = is_up && before < out && memcmp(before, "../", 3) != 0;
        if (is_taken) {
            out = before;
        } else if (!is_dot) {
            memmove(out, at, n);
            out += n;
        }
        at += n;
    }
    *out = '\0';
}

char *cri_mjcf_path(cr_arena *arena, const char *file, const char *folder, const char *path) {
    CR_ASSERT(file && folder && path);
    const char *slash = strrchr(file, '/');
    size_t n_file = slash ? (size_t)(slash - file) + 1 : 0;
    size_t n_folder = strlen(folder);
    size_t n_path = strlen(path);
    bool is_rooted = path[0] == '/';
    if (is_rooted || folder[0] == '/') {
        n_file = 0;
    }
    if (is_rooted) {
        n_folder = 0;
    }
    bool has_slash = n_folder == 0 || folder[n_folder - 1] == '/';
    char *out = cri_arena_push_raw(arena, n_file + n_folder + n_path + 2);
    if (!out) {
        return NULL;
    }
    memcpy(out, file, n_file);
    memcpy(out + n_file, folder, n_folder);
    size_t n = n_file + n_folder;
    if (!has_slash) {
        out[n++] = '/';
    }
    memcpy(out + n, path, n_path + 1);
    simplify(out);
    return out;
}

// ---- files -------------------------------------------------------------------------------------

static cr_status parse_file(cri_mjcf *m, const char *text, size_t n_byte, cri_mjcf_doc *doc) {
    CR_TRY(cri_xml_parse(text, n_byte, doc->path, &doc->xml, m->err));
    // from here on clear_files releases it
    doc->next = m->doc;
    m->doc = doc;
    return CR_OK;
}

// what an <include> gives up for: text says why, after the path
static cr_status fail_open(const cri_mjcf *m, const cri_xml_node *node, const cr_error *why) {
    if (why->status == CR_ERR_MEMORY) {
        return cri_mjcf_fail_memory(m);
    }
    return cri_mjcf_fail(m, CR_ERR_FILE, node,
                         "cannot be opened: %.140s; paths are relative to the file with <include>",
                         why->text);
}

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// "inner < outer < ..." from doc up to the file last
static void write_chain(const cri_mjcf_doc *doc, const cri_mjcf_doc *last, char *text,
                        size_t size) {
    size_t used = 0;
    for (;; doc = doc->parent) {
        int n = snprintf(text + used, size - used, " < %s", last_part(doc->path));
        used += n > 0 ? (size_t)n : size;
        if (doc == last || used >= size) {
            return;
        }
    }
}

static cr_status check_chain(const cri_mjcf *m, const cri_xml_node *node, const char *path,
                             const cri_mjcf_doc *parent) {
    int depth = 0;
    for (const cri_mjcf_doc *doc = parent; doc; doc = doc->parent) {
        if (strcmp(doc->key, path) == 0) {
            char chain[120];
            write_chain(parent, doc, chain, sizeof chain);
            return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                                 "includes a file that it stands in: %.40s%s; remove one",
                                 last_part(path), chain);
        }
        depth++;
    }
    if (depth >= CHAIN_LIMIT) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                             "stands in a chain of more than %d files: include fewer", CHAIN_LIMIT);
    }
    for (const cri_mjcf_doc *doc = m->doc; doc; doc = doc->next) {
        if (doc->from && strcmp(doc->key, path) == 0) {
            return cri_mjcf_fail(m, CR_ERR_SYNTAX, node,
                                 "includes '%.60s' a second time, after %.40s:%d: remove one",
                                 cri_xml_get(node, "file"), last_part(doc->from->file),
                                 doc->from->line);
        }
    }
    return CR_OK;
}

static bool is_file(const char *path) {
    FILE *stream = fopen(path, "rb");
    if (stream) {
        fclose(stream);
    }
    return stream != NULL;
}

static cr_status read_include(cri_mjcf *m, const cri_xml_node *node, cri_mjcf_doc *parent,
                              cri_mjcf_doc **out) {
    CR_TRY(cri_mjcf_check_attrs(m, node, &(cri_mjcf_rules){.read = "file"}));
    CR_TRY(cri_mjcf_check_children(m, node, NULL));
    const char *name = cri_xml_get(node, "file");
    if (!name || !*name) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, node, "has no file: name one");
    }
    // beside the including file, or else beside the scene, where MuJoCo looks
    char *path = cri_mjcf_path(m->def->memory, parent->path, "", name);
    char *other = cri_mjcf_path(m->def->memory, m->def->file, "", name);
    cri_mjcf_doc *doc = CR_PUSH(m->scratch, cri_mjcf_doc, 1);
    if (!path || !other || !doc) {
        return cri_mjcf_fail_memory(m);
    }
    path = !is_file(path) && is_file(other) ? other : path;
    CR_TRY(check_chain(m, node, path, parent));
    *doc = (cri_mjcf_doc){.path = path, .key = path, .from = node, .parent = parent};
    char *text = NULL;
    size_t n_byte = 0;
    cr_error why = {0};
    if (cri_file_read(path, &text, &n_byte, &why) != CR_OK) {
        return fail_open(m, node, &why);
    }
    cr_status status = parse_file(m, text, n_byte, doc);
    free(text);
    *out = doc;
    return status;
}

// parent is so many elements below the scene's root; later walks go as deep as this one
static cr_status splice(cri_mjcf *m, cri_xml_node *parent, cri_mjcf_doc *doc, int depth) {
    cri_xml_node **link = &parent->child;
    if (depth >= CRI_XML_DEPTH) {
        return cri_mjcf_fail(m, CR_ERR_UNSUPPORTED, parent,
                             "is nested deeper than %d with what includes it: nest less",
                             CRI_XML_DEPTH);
    }
    while (*link) {
        cri_xml_node *node = *link;
        if (strcmp(node->name, "include") != 0) {
            CR_TRY(splice(m, node, doc, depth + 1));
            link = &node->next;
            continue;
        }
        cri_xml_node *next = node->next;
        CR_TRY(load_children(m, link, doc, depth));
        // what came in is spliced already
        while (*link != next) {
            CR_ASSERT(*link);
            link = &(*link)->next;
        }
    }
    return CR_OK;
}

// the <include> at *link gives way to the children of its file
static cr_status load_children(cri_mjcf *m, cri_xml_node **link, cri_mjcf_doc *parent, int depth) {
    cri_mjcf_doc *doc = NULL;
    CR_TRY(read_include(m, *link, parent, &doc));
    CR_ASSERT(doc);
    cri_xml_node *root = doc->xml.root;
    if (!cri_mjcf_is_word("mujoco mujocoinclude", root->name)) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, root,
                             "is no part of a scene: expected <mujoco> or <mujocoinclude>");
    }
    CR_TRY(splice(m, root, doc, depth));
    cri_xml_node *next = (*link)->next;
    *link = root->child;
    while (*link) {
        link = &(*link)->next;
    }
    *link = next;
    return CR_OK;
}

cr_status cri_mjcf_read_files(cri_mjcf *m, const char *text, size_t n_byte) {
    cri_mjcf_doc *doc = CR_PUSH(m->scratch, cri_mjcf_doc, 1);
    char *key = cri_mjcf_path(m->scratch, "", "", m->def->file);
    if (!doc || !key) {
        return cri_mjcf_fail_memory(m);
    }
    *doc = (cri_mjcf_doc){.path = m->def->file, .key = key};
    CR_TRY(parse_file(m, text, n_byte, doc));
    m->root = doc->xml.root;
    return splice(m, doc->xml.root, doc, 0);
}

void cri_mjcf_clear_files(cri_mjcf *m) {
    for (cri_mjcf_doc *doc = m->doc; doc; doc = doc->next) {
        cri_xml_clear(&doc->xml);
    }
    m->doc = NULL;
}

// ---- meshes -------------------------------------------------------------------------------------

// ---- assets ------------------------------------------------------------------------------------

// the name of a file without folders and ending, in memory of the definition
static char *push_stem(const cri_mjcf *m, const char *file) {
    const char *slash = strrchr(file, '/');
    char *stem = cri_arena_push_text(m->def->memory, slash ? slash + 1 : file);
    char *dot = stem ? strrchr(stem, '.') : NULL;
    if (dot && dot > stem) {
        *dot = '\0';
    }
    return stem;
}

static cr_status name_mesh(const cri_mjcf *m, const cri_xml_node *node, cri_mjcf_mesh *mesh) {
    const char *file = cri_mjcf_get(&mesh->elem, "file", NULL);
    if (cri_xml_get(node, "name") || !file) {
        return cri_mjcf_name(m, node, "", "mesh", m->n_mesh, &mesh->name);
    }
    mesh->name = push_stem(m, file);
    return mesh->name ? CR_OK : cri_mjcf_fail_memory(m);
}

static cr_status add_mesh(cri_mjcf *m, const cri_xml_node *node) {
    cri_mjcf_mesh mesh = {.index = -1};
    CR_TRY(cri_mjcf_open(m, node, CRI_MJCF_MESH, &cri_mjcf_mesh_rules, NULL, &mesh.elem));
    CR_TRY(cri_mjcf_check_children(m, node, NULL));
    CR_TRY(name_mesh(m, node, &mesh));
    cri_mjcf_mesh *list = cri_scene_def_grow(m->def, m->mesh, m->n_mesh, sizeof *list);
    if (!list) {
        return cri_mjcf_fail_memory(m);
    }
    m->mesh = list;
    m->mesh[m->n_mesh++] = mesh;
    return CR_OK;
}

cr_status cri_mjcf_read_assets(cri_mjcf *m, const cri_xml_node *root) {
    static const char *const known = "mesh texture material hfield skin model";

    for (const cri_xml_node *asset = root->child; asset; asset = asset->next) {
        if (strcmp(asset->name, "asset") != 0) {
            continue;
        }
        CR_TRY(cri_mjcf_check_attrs(m, asset, &(cri_mjcf_rules){0}));
        CR_TRY(cri_mjcf_check_children(m, asset, known));
        for (const cri_xml_node *node = asset->child; node; node = node->next) {
            if (strcmp(node->name, "mesh") == 0) {
                CR_TRY(add_mesh(m, node));
            }
        }
    }
    return cri_mjcf_check_names(m, CRI_MJCF_MESHES);
}

// ---- vertices and faces ------------------------------------------------------------------------

static char *mesh_path(const cri_mjcf *m, const char *file) {
    const char *slash = m->set.strips_path ? strrchr(file, '/') : NULL;
    return cri_mjcf_path(m->scratch, m->def->file, m->set.meshdir, slash ? slash + 1 : file);
}

// 0, or why the file cannot be opened
static int try_open(const char *path) {
    errno = 0;
    FILE *stream = fopen(path, "rb");
    if (!stream) {
        return errno ? errno : EIO;
    }
    fclose(stream);
    return 0;
}

static cr_status read_file(cri_mjcf *m, const cri_xml_node *node, const char *file,
                           cri_mesh_def *mesh) {
    const char *path = mesh_path(m, file);
    if (!path) {
        return cri_mjcf_fail_memory(m);
    }
    int why = try_open(path);
    if (why != 0) {
        return cri_mjcf_fail(m, CR_ERR_FILE, node,
                             "file=\"%.60s\" cannot be opened: %s; check it and meshdir, which is "
                             "relative to the scene",
                             file, why == ENOENT ? "no such file" : strerror(why));
    }
    cr_error inner = {0};
    cr_status status = cri_mesh_read(path, m->def->memory, &mesh->n_vertex, &mesh->vertex,
                                     &mesh->n_face, &mesh->face, &inner);
    if (status == CR_ERR_MEMORY) {
        return cri_mjcf_fail_memory(m);
    }
    return status == CR_OK ? CR_OK
                           : cri_mjcf_fail(m, status, node, "cannot be read: %.170s", inner.text);
}

static cr_status read_faces(const cri_mjcf *m, const cri_mjcf_elem *e, cri_mesh_def *mesh) {
    double *number;
    int n;
    CR_TRY(cri_mjcf_vector(m, e, "face", &number, &n));
    if (n % 3 != 0) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, e->node,
                             "face has %d numbers, expected 3 a triangle", n);
    }
    mesh->n_face = n / 3;
    mesh->face = CR_PUSH(m->def->memory, int, n + 1);
    if (!mesh->face) {
        return cri_mjcf_fail_memory(m);
    }
    for (int i = 0; i < n; i++) {
        bool is_valid = number[i] >= 0.0 && number[i] < mesh->n_vertex;
        if (!is_valid || number[i] != (int)number[i]) {
            return cri_mjcf_fail(m, CR_ERR_SYNTAX, e->node,
                                 "face: %g is no vertex, expected 0 to %d", number[i],
                                 mesh->n_vertex - 1);
        }
        mesh->face[i] = (int)number[i];
    }
    return CR_OK;
}

static cr_status read_inline(const cri_mjcf *m, const cri_mjcf_elem *e, cri_mesh_def *mesh) {
    int n;
    CR_TRY(cri_mjcf_vector(m, e, "vertex", &mesh->vertex, &n));
    if (!mesh->vertex) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, e->node, "has neither file nor vertex: give one");
    }
    // fewer than 4 points span no volume
    if (n % 3 != 0 || n < 12) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, e->node,
                             "vertex has %d numbers, expected 3 a vertex and 4 vertices or more",
                             n);
    }
    mesh->n_vertex = n / 3;
    return read_faces(m, e, mesh);
}

static cr_status place_vertices(const cri_mjcf *m, const cri_mjcf_elem *e, cri_mesh_def *mesh) {
    cri_vec3 scale = {1, 1, 1};
    cri_vec3 origin = {0, 0, 0};
    double q[4] = {1, 0, 0, 0};
    CR_TRY(cri_mjcf_vec3(m, e, "scale", &scale));
    CR_TRY(cri_mjcf_vec3(m, e, "refpos", &origin));
    CR_TRY(cri_mjcf_numbers(m, e, "refquat", 4, 4, q, NULL));
    double flip = scale.x * scale.y * scale.z;
    if (flip == 0.0 || !cri_mjcf_normalise(4, q)) {
        return cri_mjcf_fail(m, CR_ERR_SYNTAX, e->node,
                             "has a zero in scale, or a zero refquat: expected other numbers");
    }
    const cri_mat3 R = cri_quat_rotation(cri_q4_load(q));
    for (int i = 0; i < mesh->n_vertex; i++) {
        double *v = &mesh->vertex[3 * i];
        cri_vec3 local = cri_m3_tmul(&R, cri_v3_sub(cri_v3_load(v), origin));
        cri_v3_store(cri_v3_mul(scale, local), v);
        if (!cri_all_finite(3, v)) {
            return cri_mjcf_fail(m, CR_ERR_SYNTAX, e->node,
                                 "scale makes vertices infinite: use a smaller one");
        }
    }
    // a mirrored triangle would look inwards
    for (int i = 0; flip < 0.0 && i < mesh->n_face; i++) {
        int *face = &mesh->face[3 * i];
        int second = face[1];
        face[1] = face[2];
        face[2] = second;
    }
    return CR_OK;
}

// appends the mesh to the definition
static cr_status load_mesh(cri_mjcf *m, cri_mjcf_mesh *entry) {
    cri_scene_def *def = m->def;
    const cri_xml_node *node = entry->elem.node;
    cri_mesh_def mesh = {.name = entry->name, .place = cri_mjcf_place(node)};
    const char *file = cri_mjcf_get(&entry->elem, "file", NULL);
    CR_TRY(file ? read_file(m, node, file, &mesh) : read_inline(m, &entry->elem, &mesh));
    CR_TRY(place_vertices(m, &entry->elem, &mesh));
    cri_mesh_def *list = cri_scene_def_grow(def, def->mesh, def->n_mesh, sizeof *list);
    if (!list) {
        return cri_mjcf_fail_memory(m);
    }
    def->mesh = list;
    entry->index = def->n_mesh;
    def->mesh[def->n_mesh++] = mesh;
    return CR_OK;
}

// ---- what is needed ----------------------------------------------------------------------------

static bool is_listed(const cri_xml_node *root, const char *geom) {
    for (const cri_xml_node *contact = root->child; contact; contact = contact->next) {
        bool is_contact = strcmp(contact->name, "contact") == 0;
        for (const cri_xml_node *pair = contact->child; is_contact && pair; pair = pair->next) {
            const char *a = cri_xml_get(pair, "geom1");
            const char *b = cri_xml_get(pair, "geom2");
            if ((a && strcmp(a, geom) == 0) || (b && strcmp(b, geom) == 0)) {
                return true;
            }
        }
    }
    return false;
}

// true when the geom collides or weighs something
static bool is_needed(const cri_scene_def *def, const cri_xml_node *root, const cri_geom_def *g) {
    bool has_weight = g->has_mass ? g->mass > 0.0 : g->density > 0.0;
    bool is_counted = g->body >= 0 && !def->body[g->body].has_inertial;
    return g->contype != 0 || g->conaffinity != 0 || (has_weight && is_counted) ||
           is_listed(root, g->name);
}

static void warn_missing(cri_mjcf *m, const cri_mjcf_mesh *mesh) {
    const char *file = cri_mjcf_get(&mesh->elem, "file", NULL);
    const char *path = file ? mesh_path(m, file) : NULL;
    if (path && try_open(path) != 0) {
        cri_mjcf_warn(m, CRI_MJCF_WARN_MESH, mesh->elem.node,
                      "<mesh> '%.40s' cannot be opened: only drawn, left out", file);
    }
}

cr_status cri_mjcf_load_meshes(cri_mjcf *m, const cri_xml_node *root) {
    cri_scene_def *def = m->def;
    for (int i = 0; i < def->n_geom; i++) {
        const cri_geom_def *g = &def->geom[i];
        if (g->mesh >= 0 && is_needed(def, root, g)) {
            m->mesh[g->mesh].is_needed = true;
        }
    }
    int n_kept = 0;
    for (int i = 0; i < def->n_geom; i++) {
        const cri_geom_def *g = &def->geom[i];
        if (g->mesh < 0 || is_needed(def, root, g)) {
            def->geom[n_kept++] = *g;
        }
    }
    def->n_geom = n_kept;
    for (int i = 0; i < m->n_mesh; i++) {
        if (m->mesh[i].is_needed) {
            CR_TRY(load_mesh(m, &m->mesh[i]));
        } else {
            warn_missing(m, &m->mesh[i]);
        }
    }
    for (int i = 0; i < def->n_geom; i++) {
        cri_geom_def *g = &def->geom[i];
        g->mesh = g->mesh >= 0 ? m->mesh[g->mesh].index : -1;
    }
    return CR_OK;
}
