// SPDX-License-Identifier: MIT
//
// STL, binary and ASCII: loose triangles.
//
//   binary   80 bytes of anything, n as 32 bits, n times: normal (3 floats), corners (9 floats),
//            16 bits; all little-endian, 84 + 50 n bytes in all
//   ASCII    solid NAME / facet normal x y z / outer loop / 3 times vertex x y z / endloop /
//            endfacet / endsolid NAME, words separated by any white space, in any case
//
// A file whose size fits the count of its header is binary, whatever it begins with: many binary
// files begin with "solid". Normals are skipped, the order of the corners says what is outside.

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/io/file.h"
#include "base/io/mesh_parts.h"

enum { HEADER_BYTES = 84, FACET_BYTES = 50, NORMAL_BYTES = 12 };

static uint32_t load_u32(const char *bytes) {
    const unsigned char *b = (const unsigned char *)bytes;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static double load_float(const char *bytes) {
    uint32_t bits = load_u32(bytes);
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

// room for n loose triangles, which have corners of their own
static bool push_triangles(cr_arena *arena, int n, cri_mesh_data *mesh) {
    *mesh = (cri_mesh_data){.vertex = CR_PUSH_RAW(arena, double, 9 * (size_t)n),
                            .face = CR_PUSH_RAW(arena, int, 3 * (size_t)n)};
    if (!mesh->vertex || !mesh->face) {
        return false;
    }
    for (int i = 0; i < 3 * n; i++) {
        mesh->face[i] = i;
    }
    return true;
}

static cr_status fail_empty(const char *file, cr_error *err) {
    return cri_file_fail(err, CR_ERR_SYNTAX, file, 0, "has no triangles");
}

// ---- binary ------------------------------------------------------------------------------------

static uint64_t binary_bytes(const char *text) {
    return HEADER_BYTES + (uint64_t)FACET_BYTES * load_u32(text + HEADER_BYTES - 4);
}

static cr_status parse_binary(const char *text, const char *file, cr_arena *arena,
                              cri_mesh_data *mesh, cr_error *err) {
    CR_TRY(cri_mesh_check_count(load_u32(text + HEADER_BYTES - 4), file, err));
    int n = (int)load_u32(text + HEADER_BYTES - 4);
    if (n == 0) {
        return fail_empty(file, err);
    }
    if (!push_triangles(arena, n, mesh)) {
        return cri_file_fail_memory(err, file);
    }
    for (int f = 0; f < n; f++) {
        size_t start = HEADER_BYTES + (size_t)f * FACET_BYTES + NORMAL_BYTES;
        for (size_t i = 0; i < 9; i++) {
            double *number = &mesh->vertex[9 * (size_t)f + i];
            *number = load_float(text + start + 4 * i);
            if (!isfinite(*number)) {
                return cri_file_fail(err, CR_ERR_SYNTAX, file, 0,
                                     "byte %zu: a coordinate of triangle %d is not finite: export "
                                     "the mesh again",
                                     start + 4 * i, f);
            }
        }
    }
    mesh->n_vertex = 3 * n;
    mesh->n_face = n;
    return CR_OK;
}

// ---- ASCII -------------------------------------------------------------------------------------

// at most as many triangles as this has the text
static int count_triangles(cri_mesh_text t) {
    int n = 0;
    cri_mesh_word word;
    while (cri_mesh_next_word(&t, &word)) {
        n += cri_mesh_is(&word, "vertex");
    }
    return n / 3;
}

static cr_status expect(cri_mesh_text *t, const char *name) {
    cri_mesh_word word;
    if (!cri_mesh_next_word(t, &word)) {
        return cri_mesh_fail(t, CR_ERR_SYNTAX, "the file ends too early: expected '%s'", name);
    }
    if (!cri_mesh_is(&word, name)) {
        int n = word.n < CRI_MESH_SHOWN ? (int)word.n : CRI_MESH_SHOWN;
        return cri_mesh_fail(t, CR_ERR_SYNTAX, "'%.*s' where '%s' is expected", n, word.text, name);
    }
    return CR_OK;
}

static cr_status read_facet(cri_mesh_text *t, double *corner) {
    cri_mesh_word word;
    CR_TRY(expect(t, "normal"));
    for (int i = 0; i < 3; i++) {
        (void)cri_mesh_next_word(t, &word);
    }
    CR_TRY(expect(t, "outer"));
    CR_TRY(expect(t, "loop"));
    for (int i = 0; i < 9; i++) {
        if (i % 3 == 0) {
            CR_TRY(expect(t, "vertex"));
        }
        if (!cri_mesh_next_word(t, &word)) {
            return cri_mesh_fail(t, CR_ERR_SYNTAX, "the file ends too early: expected a number");
        }
        CR_TRY(cri_mesh_number(t, &word, &corner[i]));
    }
    CR_TRY(expect(t, "endloop"));
    return expect(t, "endfacet");
}

static cr_status parse_ascii(cri_mesh_text *t, cr_arena *arena, cri_mesh_data *mesh) {
    int n_limit = count_triangles(*t);
    CR_TRY(cri_mesh_check_count(n_limit, t->file, t->err));
    if (!push_triangles(arena, n_limit, mesh)) {
        return cri_file_fail_memory(t->err, t->file);
    }
    int n = 0;
    bool is_open = false;
    cri_mesh_word word;
    while (cri_mesh_next_word(t, &word)) {
        if (cri_mesh_is(&word, is_open ? "endsolid" : "solid")) {
            // the rest of the line is its name
            is_open = !is_open;
            (void)cri_mesh_next_line(t);
        } else if (is_open && cri_mesh_is(&word, "facet")) {
            double corner[9];
            CR_TRY(read_facet(t, corner));
            // what stands in a solid's name can end the count early
            if (n == n_limit) {
                return cri_mesh_fail(t, CR_ERR_SYNTAX,
                                     "facets and vertices do not fit together: export the mesh "
                                     "again");
            }
            memcpy(mesh->vertex + 9 * (size_t)n++, corner, sizeof corner);
        } else {
            int shown = word.n < CRI_MESH_SHOWN ? (int)word.n : CRI_MESH_SHOWN;
            return cri_mesh_fail(t, CR_ERR_SYNTAX, "'%.*s' where '%s' is expected", shown,
                                 word.text, is_open ? "facet' or 'endsolid" : "solid");
        }
    }
    if (is_open) {
        return cri_mesh_fail(t, CR_ERR_SYNTAX, "the file ends too early: expected 'endsolid'");
    }
    mesh->n_vertex = 3 * n;
    mesh->n_face = n;
    return n > 0 ? CR_OK : fail_empty(t->file, t->err);
}

cr_status cri_stl_parse(const char *text, size_t n_byte, const char *file, cr_arena *arena,
                        cri_mesh_data *out, cr_error *err) {
    if (n_byte >= HEADER_BYTES && binary_bytes(text) == n_byte) {
        return parse_binary(text, file, arena, out, err);
    }
    cri_mesh_text t = cri_mesh_text_begin(text, n_byte, file, err);
    cri_mesh_text ahead = t;
    cri_mesh_word first;
    if (cri_mesh_next_word(&ahead, &first) && cri_mesh_is(&first, "solid")) {
        return parse_ascii(&t, arena, out);
    }
    if (n_byte < HEADER_BYTES) {
        return cri_file_fail(err, CR_ERR_SYNTAX, file, 0,
                             "is neither ASCII STL, which begins with 'solid', nor binary, which "
                             "has %d bytes or more",
                             HEADER_BYTES);
    }
    return cri_file_fail(err, CR_ERR_SYNTAX, file, 0,
                         "byte 80 announces %lu triangles, which makes %llu bytes, and there are "
                         "%zu: the file is cut off or no STL",
                         (unsigned long)load_u32(text + HEADER_BYTES - 4),
                         (unsigned long long)binary_bytes(text), n_byte);
}
