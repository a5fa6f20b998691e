// SPDX-License-Identifier: MIT
//
// Triangle meshes from OBJ and STL files: the choice of the format, words of text, and the merging
// of equal vertices.
//
// Vertices are merged when all their bits are equal, through a hash table with linear probing; -0
// counts as 0. The first of equal vertices keeps its place in the order.

#include "base/io/mesh_parts.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/file.h"
#include "base/io/number.h"

cr_status cri_mesh_check_count(int64_t n_face, const char *file, cr_error *err) {
    return n_face <= CRI_MESH_MOST
               ? CR_OK
               : cri_file_fail(err, CR_ERR_UNSUPPORTED, file, 0,
                               "%lld triangles are too many: simplify the mesh to %d at most",
                               (long long)n_face, CRI_MESH_MOST);
}

// ---- words -------------------------------------------------------------------------------------

cri_mesh_text cri_mesh_text_begin(const char *text, size_t n_byte, const char *file,
                                  cr_error *err) {
    return (cri_mesh_text){.text = text, .n_byte = n_byte, .line = 1, .file = file, .err = err};
}

// bytes of a backslash and the line end behind it, 0 when there is none
static size_t continuation(const cri_mesh_text *t) {
    size_t left = t->n_byte - t->at;
    const char *s = t->text + t->at;
    if (left >= 2 && s[0] == '\\' && s[1] == '\n') {
        return 2;
    }
    return left >= 3 && s[0] == '\\' && s[1] == '\r' && s[2] == '\n' ? 3 : 0;
}

// reads to the next space, line end or continuation
static void take_word(cri_mesh_text *t, cri_mesh_word *word) {
    word->text = t->text + t->at;
    size_t start = t->at;
    while (t->at < t->n_byte && !cri_number_is_space(t->text[t->at]) && continuation(t) == 0) {
        t->at++;
    }
    word->n = t->at - start;
}

bool cri_mesh_next_in_line(cri_mesh_text *t, cri_mesh_word *word) {
    while (t->at < t->n_byte) {
        char c = t->text[t->at];
        size_t n = continuation(t);
        if (n > 0) {
            t->at += n;
            t->line++;
        } else if (c == '\n' || c == '#') {
            return false;
        } else if (cri_number_is_space(c)) {
            t->at++;
        } else {
            take_word(t, word);
            return true;
        }
    }
    return false;
}

bool cri_mesh_next_line(cri_mesh_text *t) {
    const char *end = t->at < t->n_byte ? memchr(t->text + t->at, '\n', t->n_byte - t->at) : NULL;
    if (!end) {
        t->at = t->n_byte;
        return false;
    }
    t->at = (size_t)(end - t->text) + 1;
    t->line++;
    return true;
}

bool cri_mesh_next_word(cri_mesh_text *t, cri_mesh_word *word) {
    while (t->at < t->n_byte && cri_number_is_space(t->text[t->at])) {
        t->line += t->text[t->at] == '\n';
        t->at++;
    }
    take_word(t, word);
    return word->n > 0;
}

bool cri_mesh_is(const cri_mesh_word *word, const char *name) {
    if (word->n != strlen(name)) {
        return false;
    }
    for (size_t i = 0; i < word->n; i++) {
        char c = word->text[i];
        if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != name[i]) {
            return false;
        }
    }
    return true;
}

cr_status cri_mesh_fail(const cri_mesh_text *t, cr_status status, const char *format, ...) {
    char message[sizeof t->err->text];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return cri_file_fail(t->err, status, t->file, t->line, "%s", message);
}

cr_status cri_mesh_number(const cri_mesh_text *t, const cri_mesh_word *word, double *out) {
    cri_number_kind kind = cri_number_parse(word->text, word->n, out);
    if (kind == CRI_NUMBER_OK) {
        return CR_OK;
    }
    int n = word->n < CRI_MESH_SHOWN ? (int)word->n : CRI_MESH_SHOWN;
    return cri_mesh_fail(t, CR_ERR_SYNTAX, "'%.*s' %s: coordinates are finite decimal numbers", n,
                         word->text, cri_number_text(kind));
}

// ---- equal vertices ----------------------------------------------------------------------------

static uint64_t hash_vertex(const double *v) {
    // FNV-1a's prime over whole words, then a mix of the high bits into the low ones
    uint64_t h = 14695981039346656037u;
    for (int i = 0; i < 3; i++) {
        uint64_t bits;
        memcpy(&bits, &v[i], sizeof bits);
        h = (h ^ bits) * 1099511628211u;
        h ^= h >> 32;
    }
    return h;
}

static bool is_same(const double *a, const double *b) {
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

// makes equal vertices one and drops triangles that lose a corner; false for lack of memory
static bool merge_vertices(cri_mesh_data *mesh, cr_arena *arena) {
    cri_arena_mark mark = cri_arena_get_mark(arena);
    size_t n_slot = 16;
    while (n_slot < 2 * (size_t)mesh->n_vertex) {
        n_slot *= 2;
    }
    int *slot = CR_PUSH(arena, int, n_slot); // vertex + 1, 0: empty
    int *moved = CR_PUSH(arena, int, mesh->n_vertex + 1);
    if (!slot || !moved) {
        cri_arena_rewind(arena, mark);
        return false;
    }

    int n_vertex = 0;
    for (int i = 0; i < mesh->n_vertex; i++) {
        // -0 + 0 = 0
        double v[3];
        for (int k = 0; k < 3; k++) {
            v[k] = mesh->vertex[3 * i + k] + 0.0;
        }
        size_t s = (size_t)hash_vertex(v) & (n_slot - 1);
        while (slot[s] > 0 && !is_same(mesh->vertex + 3 * (slot[s] - 1), v)) {
            s = (s + 1) & (n_slot - 1);
        }
        if (slot[s] == 0) {
            memcpy(mesh->vertex + 3 * n_vertex, v, sizeof v);
            slot[s] = ++n_vertex;
        }
        moved[i] = slot[s] - 1;
    }

    int n_face = 0;
    for (int f = 0; f < mesh->n_face; f++) {
        const int *old = mesh->face + 3 * f;
        const int corner[3] = {moved[old[0]], moved[old[1]], moved[old[2]]};
        if (corner[0] != corner[1] && corner[1] != corner[2] && corner[2] != corner[0]) {
            memcpy(mesh->face + 3 * n_face++, corner, sizeof corner);
        }
    }
    mesh->n_vertex = n_vertex;
    mesh->n_face = n_face;
    cri_arena_rewind(arena, mark);
    return true;
}

// ---- files -------------------------------------------------------------------------------------

// true when name ends in ending, which is lower case
static bool has_ending(const char *name, const char *ending) {
    size_t n = strlen(name);
    size_t n_ending = strlen(ending);
    if (n < n_ending) {
        return false;
    }
    cri_mesh_word end = {.text = name + n - n_ending, .n = n_ending};
    return cri_mesh_is(&end, ending);
}

// refused by its name, before it is opened
static cr_status check_ending(const char *name, cr_error *err) {
    if (has_ending(name, ".obj") || has_ending(name, ".stl")) {
        return CR_OK;
    }
    return cri_file_fail(err, CR_ERR_UNSUPPORTED, name, 0,
                         "is no mesh file that is read: convert it to .obj or .stl");
}

cr_status cri_mesh_parse(const char *text, size_t n_byte, const char *name, cr_arena *arena,
                         cri_mesh_data *out, cr_error *err) {
    CR_ASSERT((text || n_byte == 0) && name && arena && out);
    *out = (cri_mesh_data){0};
    CR_TRY(check_ending(name, err));
    if (n_byte > CRI_FILE_LIMIT) {
        return cri_file_fail(err, CR_ERR_FILE, name, 0, "is larger than %d MiB",
                             (int)(CRI_FILE_LIMIT >> 20));
    }
    if (n_byte == 0) {
        return cri_file_fail(err, CR_ERR_SYNTAX, name, 0, "is empty: expected a mesh");
    }

    cri_mesh_data mesh = {0};
    if (has_ending(name, ".obj")) {
        CR_TRY(cri_obj_parse(text, n_byte, name, arena, &mesh, err));
    } else {
        CR_TRY(cri_stl_parse(text, n_byte, name, arena, &mesh, err));
    }
    if (!merge_vertices(&mesh, arena)) {
        return cri_file_fail_memory(err, name);
    }
    *out = mesh;
    return CR_OK;
}

cr_status cri_mesh_read(const char *path, cr_arena *arena, int *n_vertex, double **vertex,
                        int *n_face, int **face, cr_error *err) {
    CR_ASSERT(path && arena && n_vertex && vertex && n_face && face);
    cri_mesh_data mesh = {0};
    char *text = NULL;
    size_t n_byte = 0;
    cr_status status = check_ending(path, err);
    if (status == CR_OK) {
        status = cri_file_read(path, &text, &n_byte, err);
    }
    if (status == CR_OK) {
        status = cri_mesh_parse(text, n_byte, path, arena, &mesh, err);
    }
    free(text);
    *n_vertex = mesh.n_vertex;
    *vertex = mesh.vertex;
    *n_face = mesh.n_face;
    *face = mesh.face;
    return status;
}
