// SPDX-License-Identifier: MIT
//
// Surfaces for 'carom shape train'.

#define _POSIX_C_SOURCE 200809L // opendir, access

#include "shape_data.h"

#include "base/io/mesh_file.h"
#include "geometry/field/shape_space.h"
#include "geometry/mesh/march.h"
#include "geometry/mesh/tessellate.h"
#include "geometry/mesh/tri_tree.h"
#include "scene.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum {
    POINTS = 64 * CRI_SHAPE_CHUNK, // on each surface
    CELLS = 96,                    // of a family's mesh along its longest side
    FILE_MOST = 512,
};

typedef struct file_list {
    int n;
    char *path[FILE_MOST];
} file_list;

static bool is_mesh(const char *name) {
    const char *extension = cli_extension(name);
    return extension && (strcasecmp(extension, ".obj") == 0 || strcasecmp(extension, ".stl") == 0);
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int add_file(file_list *list, cr_arena *arena, const char *folder, const char *name) {
    if (list->n == FILE_MOST) {
        return cli_failed("more than %d meshes", FILE_MOST);
    }
    size_t n = strlen(folder) + strlen(name) + 2;
    char *path = CR_PUSH(arena, char, n);
    if (!path) {
        return cli_failed("no memory for a list of files");
    }
    (void)snprintf(path, n, "%s%s%s", folder, *folder ? "/" : "", name);
    list->path[list->n++] = path;
    return CLI_DONE;
}

static int add_word(file_list *list, cr_arena *arena, const char *word) {
    DIR *folder = opendir(word);
    if (!folder && !is_mesh(word) && access(word, F_OK) != 0) {
        return cli_failed("%.200s: no such file, folder or family; families are cans, mugs, "
                          "cameras and animals",
                          word);
    }
    if (!folder) {
        return add_file(list, arena, "", word);
    }
    int code = CLI_DONE, first = list->n;
    for (struct dirent *entry = readdir(folder); entry && code == CLI_DONE;
         entry = readdir(folder)) {
        if (is_mesh(entry->d_name)) {
            code = add_file(list, arena, word, entry->d_name);
        }
    }
    closedir(folder);
    if (code == CLI_DONE && list->n == first) {
        return cli_failed("%.200s: a folder without any .obj or .stl", word);
    }
    qsort(list->path + first, (size_t)(list->n - first), sizeof *list->path, by_name);
    return code;
}

static bool push_data(cr_arena *arena, int n_shape, cri_shape_data *out) {
    out->n_shape = n_shape;
    out->n_point = POINTS;
    out->point = CR_PUSH_RAW(arena, double, (size_t)n_shape *POINTS * 3);
    out->normal = CR_PUSH_RAW(arena, double, (size_t)n_shape *POINTS * 3);
    out->name = cri_arena_push(arena, sizeof *out->name * (size_t)n_shape);
    return out->point && out->normal && out->name;
}

static bool take_points(cri_shape_data *data, int k, const cri_triangles *mesh, cr_arena *scratch) {
    cri_random stream = cri_random_of(17, (uint64_t)k);
    size_t at = (size_t)k * POINTS * 3;
    return cri_mesh_points(mesh, POINTS, &stream, data->point + at, data->normal + at, scratch);
}

static int read_files(const cli_options *o, const file_list *list, cr_arena *arena,
                      cr_arena *scratch, shape_data *out) {
    if (!push_data(arena, list->n, &out->all)) {
        return cli_failed("no memory for %d shapes", list->n);
    }
    for (int k = 0; k < list->n; k++) {
        cri_arena_reset(scratch);
        const char *path = list->path[k], *slash = strrchr(path, '/');
        double *vertex = NULL;
        int *face = NULL;
        cri_triangles mesh = {0};
        cr_error err = {0};
        if (cri_mesh_read(path, scratch, &mesh.n_vertex, &vertex, &mesh.n_face, &face, &err) !=
            CR_OK) {
            return cli_error(&err);
        }
        mesh.vertex = vertex;
        mesh.face = face;
        if (cri_triangles_check(&mesh, &err) != CR_OK) {
            return cli_failed("%.200s: %s", path, err.text);
        }
        const cri_mesh_view view = {mesh.n_vertex, mesh.n_face, mesh.vertex, mesh.face};
        int n_flat = cri_mesh_count_flat(&view);
        if (n_flat > 0) {
            cli_note(o, "%.200s: %d of its triangles ha%s no area", path, n_flat,
                     n_flat > 1 ? "ve" : "s");
        }
        if (!take_points(&out->all, k, &mesh, scratch)) {
            return cli_failed("%.200s: no points on its surface, or no memory for them", path);
        }
        (void)snprintf(out->all.name[k], CRI_SPACE_NAME, "%.*s", CRI_SPACE_NAME - 1,
                       slash ? slash + 1 : path);
    }
    out->n_code = list->n > 8 ? 4 : list->n > 1 ? 2 : 1;
    return CLI_DONE;
}

static int read_family(const cri_shape_family *family, cr_arena *arena, cr_arena *scratch,
                       shape_data *out) {
    int n = cri_shape_family_count(family);
    cr_arena *own = cri_arena_create(1 << 20);
    int code =
        own && push_data(arena, n, &out->all) ? CLI_DONE : cli_failed("no memory for %d shapes", n);
    for (int k = 0; k < n && code == CLI_DONE; k++) {
        cri_shape_family_member member;
        cri_surface surface;
        cr_error err = {0};
        cri_shape_family_make(family, k, &member);
        cri_march_box box = cri_march_box_of(&member.field, CELLS);
        cri_arena_reset(own);
        if (cri_surface_of_field(&member.field, &box, own, scratch, &surface, &err) != CR_OK) {
            code = cli_error(&err);
            break;
        }
        cri_triangles mesh = {surface.n_vertex, surface.n_face, surface.vertex, surface.face};
        code = take_points(&out->all, k, &mesh, scratch) ? CLI_DONE
                                                         : cli_failed("no memory for points");
        (void)snprintf(out->all.name[k], CRI_SPACE_NAME, "%s", member.name);
    }
    cri_arena_destroy(own);
    out->n_code = cri_shape_family_code(family);
    return code;
}

int shape_data_read(const cli_options *o, cr_arena *arena, cr_arena *scratch, shape_data *out) {
    const cri_shape_family *family = o->n_word == 2 ? cri_shape_family_find(o->word[1]) : NULL;
    if (family) {
        return read_family(family, arena, scratch, out);
    }
    file_list list = {0};
    int code = CLI_DONE;
    for (int k = 1; k < o->n_word && code == CLI_DONE; k++) {
        if (cri_shape_family_find(o->word[k])) {
            return cli_usage("%.60s is a family and stands alone", o->word[k]);
        }
        code = add_word(&list, arena, o->word[k]);
    }
    return code == CLI_DONE ? read_files(o, &list, arena, scratch, out) : code;
}
