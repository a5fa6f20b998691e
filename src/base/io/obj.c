// SPDX-License-Identifier: MIT
//
// Wavefront OBJ: vertices and polygons.
//
//   v x y z [w] [r g b]        what follows the three coordinates is skipped
//   f a[/t][/n] b ... c ...    counted from 1, or from the end with a minus; a fan of triangles
//
// Two passes over the text: the first counts, the second fills arrays of the right size. Positive
// indices may name vertices that come later. Statements about looks and grouping are skipped, those
// about free-form surfaces are refused: their shape would be missing.

#include <string.h>

#include "base/io/file.h"
#include "base/io/mesh_parts.h"
#include "base/io/number.h"

static const char *const skipped[] = {"vt",         "vn",        "vp",    "g",        "o",
                                      "s",          "l",         "p",     "mtllib",   "usemtl",
                                      "mg",         "lod",       "end",   "maplib",   "usemap",
                                      "shadow_obj", "trace_obj", "bevel", "c_interp", "d_interp"};

static bool is_skipped(const cri_mesh_word *word) {
    for (size_t i = 0; i < sizeof skipped / sizeof skipped[0]; i++) {
        if (cri_mesh_is(word, skipped[i])) {
            return true;
        }
    }
    return false;
}

static int shown(const cri_mesh_word *word) {
    return word->n < CRI_MESH_SHOWN ? (int)word->n : CRI_MESH_SHOWN;
}

static int count_words(cri_mesh_text *t) {
    cri_mesh_word word;
    int n = 0;
    while (cri_mesh_next_in_line(t, &word)) {
        n++;
    }
    return n;
}

// vertices, and triangles of all polygons
static void count(cri_mesh_text t, int *n_vertex, int *n_face) {
    *n_vertex = 0;
    *n_face = 0;
    do {
        cri_mesh_word word;
        if (!cri_mesh_next_in_line(&t, &word)) {
            continue;
        }
        // all words, so that a continued line is one statement here as well
        int n = count_words(&t);
        if (cri_mesh_is(&word, "v")) {
            (*n_vertex)++;
        } else if (cri_mesh_is(&word, "f")) {
            *n_face += n > 2 ? n - 2 : 0;
        }
    } while (cri_mesh_next_line(&t));
}

static cr_status read_vertex(cri_mesh_text *t, double *out) {
    for (int i = 0; i < 3; i++) {
        cri_mesh_word word;
        if (!cri_mesh_next_in_line(t, &word)) {
            return cri_mesh_fail(t, CR_ERR_SYNTAX, "v has %d numbers: expected x y z", i);
        }
        CR_TRY(cri_mesh_number(t, &word, &out[i]));
    }
    return CR_OK;
}

// an integer at the start of text, *used bytes long; false when there is none or it is too large
static bool parse_int(const char *text, size_t n, int *value, size_t *used) {
    size_t i = n > 0 && (text[0] == '-' || text[0] == '+') ? 1 : 0;
    size_t first = i;
    long sum = 0;
    for (; i < n && text[i] >= '0' && text[i] <= '9'; i++) {
        sum = 10 * sum + (text[i] - '0');
        // more than any file has
        if (sum > (long)CRI_FILE_LIMIT) {
            return false;
        }
    }
    if (i == first) {
        return false;
    }
    *value = text[0] == '-' ? -(int)sum : (int)sum;
    *used = i;
    return true;
}

// a, a/b, a//c or a/b/c; *index gets a
static bool parse_corner(const cri_mesh_word *word, int *index) {
    size_t at;
    if (!parse_int(word->text, word->n, index, &at)) {
        return false;
    }
    for (int part = 0; part < 2 && at < word->n && word->text[at] == '/'; part++) {
        at++;
        // texture and normal only have to be integers; the texture may be left out
        int unused;
        size_t used = 0;
        bool is_left_out = part == 0 && at < word->n && word->text[at] == '/';
        if (!is_left_out && !parse_int(word->text + at, word->n - at, &unused, &used)) {
            return false;
        }
        at += used;
    }
    return at == word->n;
}

// one corner of a polygon; n_seen vertices came before it, n_vertex are in the file
static cr_status read_corner(const cri_mesh_text *t, const cri_mesh_word *word, int n_seen,
                             int n_vertex, int *out) {
    int index = 0;
    if (!parse_corner(word, &index)) {
        return cri_mesh_fail(t, CR_ERR_SYNTAX,
                             "'%.*s' is no corner of a face: expected v, v/vt, "
                             "v//vn or v/vt/vn",
                             shown(word), word->text);
    }
    *out = index > 0 ? index - 1 : n_seen + index;
    if (index == 0 || *out < 0 || *out >= n_vertex) {
        return cri_mesh_fail(t, CR_ERR_SYNTAX,
                             "'%.*s' names no vertex: there are %d, counted from 1 (%d before this "
                             "line)",
                             shown(word), word->text, n_vertex, n_seen);
    }
    return CR_OK;
}

static cr_status read_face(cri_mesh_text *t, int n_seen, int n_vertex, cri_mesh_data *mesh) {
    cri_mesh_word word;
    int first = 0;
    int last = 0;
    int n = 0;
    for (; cri_mesh_next_in_line(t, &word); n++) {
        int corner = 0;
        CR_TRY(read_corner(t, &word, n_seen, n_vertex, &corner));
        if (n >= 2) {
            const int face[3] = {first, last, corner};
            memcpy(mesh->face + 3 * mesh->n_face++, face, sizeof face);
        }
        first = n == 0 ? corner : first;
        last = corner;
    }
    if (n < 3) {
        return cri_mesh_fail(t, CR_ERR_SYNTAX, "f has %d corners: a face needs three or more", n);
    }
    return CR_OK;
}

static cr_status read_line(cri_mesh_text *t, int n_vertex, cri_mesh_data *mesh) {
    cri_mesh_word word;
    if (!cri_mesh_next_in_line(t, &word) || is_skipped(&word)) {
        // a continued line that is skipped has more to skip
        (void)count_words(t);
        return CR_OK;
    }
    if (cri_mesh_is(&word, "v")) {
        CR_TRY(read_vertex(t, mesh->vertex + 3 * mesh->n_vertex));
        mesh->n_vertex++;
        (void)count_words(t);
        return CR_OK;
    }
    if (cri_mesh_is(&word, "f")) {
        return read_face(t, mesh->n_vertex, n_vertex, mesh);
    }
    return cri_mesh_fail(t, CR_ERR_UNSUPPORTED,
                         "'%.*s' is no OBJ statement that is read: export plain polygons",
                         shown(&word), word.text);
}

cr_status cri_obj_parse(const char *text, size_t n_byte, const char *file, cr_arena *arena,
                        cri_mesh_data *out, cr_error *err) {
    cri_mesh_text t = cri_mesh_text_begin(text, n_byte, file, err);
    int n_vertex = 0;
    int n_face = 0;
    count(t, &n_vertex, &n_face);
    CR_TRY(cri_mesh_check_count(n_face, file, err));
    *out = (cri_mesh_data){.vertex = CR_PUSH_RAW(arena, double, 3 * (size_t)n_vertex),
                           .face = CR_PUSH_RAW(arena, int, 3 * (size_t)n_face)};
    if (!out->vertex || !out->face) {
        return cri_file_fail_memory(err, file);
    }
    do {
        CR_TRY(read_line(&t, n_vertex, out));
    } while (cri_mesh_next_line(&t));
    CR_ASSERT(out->n_vertex == n_vertex && out->n_face == n_face);
    if (n_vertex == 0) {
        return cri_file_fail(err, CR_ERR_SYNTAX, file, 0,
                             "has no vertices: expected lines v x y z");
    }
    return CR_OK;
}
