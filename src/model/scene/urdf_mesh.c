// SPDX-License-Identifier: MIT
//
// Mesh files of a URDF: where they are, and their scale.
//
// package://NAME/a/b/c.stl names a place in somebody's workspace. The longest end of the path that
// exists is taken: a/b/c.stl, b/c.stl, c.stl, each beside the URDF, in its folder meshes, and
// beside its folder, as ROS packages are laid out. file:// names a place of this machine.

#include "model/scene/urdf_parts.h"

#include <stdio.h>
#include <string.h>

#include "base/io/mesh_file.h"

// longest path, bytes
enum { PATH_BYTES = 1024 };

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
        return cri_urdf_fail(u, CR_ERR_SYNTAX, node, "filename is longer than %d bytes",
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
    return cri_urdf_fail(
        u, CR_ERR_FILE, node,
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

cr_status cri_urdf_read_mesh(cri_urdf *u, const cri_xml_node *node, int *out) {
    CR_ASSERT(out);
    const char *name;
    CR_TRY(cri_urdf_need(u, node, "filename", &name));
    double scale[3] = {1.0, 1.0, 1.0};
    CR_TRY(cri_urdf_numbers(u, node, "scale", 3, scale, NULL));
    if (scale[0] == 0.0 || scale[1] == 0.0 || scale[2] == 0.0) {
        return cri_urdf_fail(u, CR_ERR_SYNTAX, node, "scale has a zero, which leaves no volume");
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
        return cri_urdf_fail_memory(u);
    }
    mesh->place = (cri_place){u->def->file, node->line};
    CR_TRY(cri_mesh_read(path, u->def->memory, &mesh->n_vertex, &mesh->vertex, &mesh->n_face,
                         &mesh->face, u->err));
    apply_scale(mesh, scale);
    if (!cri_all_finite(3 * mesh->n_vertex, mesh->vertex)) {
        return cri_urdf_fail(u, CR_ERR_SYNTAX, node, "scale makes coordinates infinite");
    }
    return CR_OK;
}
