// SPDX-License-Identifier: MIT
//
// Meshes of an MJCF scene.
//
// A vertex v of the file becomes scale (R' (v - refpos)), R of refquat, entry by entry. Meshes are
// read only when a geom collides with one or weighs by it. Geoms that merely show a mesh are left
// out, so that a scene is the same with and without the files for drawing.

#include "model/scene/mjcf_parts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/io/mesh_file.h"

const cri_mjcf_rules cri_mjcf_mesh_rules = {
    .read = "name class file vertex face scale refpos refquat",
    .ignored = "normal texcoord smoothnormal maxhullvert content_type material octree_maxdepth",
    .fixed = "inertia=exact",
    .refused = "builtin params",
    .remedy = "meshes are solid and come from an OBJ or STL file or from vertex; adapt it",
};

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
