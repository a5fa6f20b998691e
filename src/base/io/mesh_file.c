// SPDX-License-Identifier: MIT
//
// Triangle meshes from OBJ and STL files: the choice of the format, words of text, and the merging
// of equal vertices.
//
// Vertices are merged when all their bits are equal, through a hash table with linear probing; -0
// counts as 0. The first of equal vertices keeps its place in the order.

#include "base/io/mesh_file.h"

#include "base/io/file.h"
#include "base/io/number.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Longest piece of the file shown in a message, bytes.
#define CRI_MESH_SHOWN 40

/// A place in a text.
typedef struct cri_mesh_text {
    const char *text;
    size_t n_byte;
    size_t at;
    int line;
    const char *file;
    cr_error *err;
} cri_mesh_text;

typedef struct cri_mesh_word {
    const char *text;
    size_t n;
} cri_mesh_word;

static const char *const skipped[] = {"vt",         "vn",        "vp",    "g",        "o",
                                      "s",          "l",         "p",     "mtllib",   "usemtl",
                                      "mg",         "lod",       "end",   "maplib",   "usemap",
                                      "shadow_obj", "trace_obj", "bevel", "c_interp", "d_interp"};

enum { HEADER_BYTES = 84, FACET_BYTES = 50, NORMAL_BYTES = 12 };

/// True when word is name, in any case.
static bool mesh_is(const cri_mesh_word *word, const char *name) {
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

// ---- OBJ ----------------------------------------------------------------------------------------

// Wavefront OBJ: vertices and polygons.
//
//   v x y z [w] [r g b]        what follows the three coordinates is skipped
//   f a[/t][/n] b ... c ...    counted from 1, or from the end with a minus; a fan of triangles
//
// Two passes over the text: the first counts, the second fills arrays of the right size. Positive
// indices may name vertices that come later. Statements about looks and grouping are skipped, those
// about free-form surfaces are refused: their shape would be missing.

static bool is_skipped(const cri_mesh_word *word) {
    for (size_t i = 0; i < sizeof skipped / sizeof skipped[0]; i++) {
        if (mesh_is(word, skipped[i])) {
            return true;
        }
    }
    return false;
}

static int shown(const cri_mesh_word *word) {
    return word->n < CRI_MESH_SHOWN ? (int)word->n : CRI_MESH_SHOWN;
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

/// The next word of the line; false at its end. A backslash before the end of a line continues it,
/// '#' begins a comment.
static bool mesh_next_in_line(cri_mesh_text *t, cri_mesh_word *word) {
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

static int count_words(cri_mesh_text *t) {
    cri_mesh_word word;
    int n = 0;
    while (mesh_next_in_line(t, &word)) {
        n++;
    }
    return n;
}

/// Goes to the next line; false behind the last one.
static bool mesh_next_line(cri_mesh_text *t) {
    const char *end = t->at < t->n_byte ? memchr(t->text + t->at, '\n', t->n_byte - t->at) : NULL;
    if (!end) {
        t->at = t->n_byte;
        return false;
    }
    t->at = (size_t)(end - t->text) + 1;
    t->line++;
    return true;
}

// vertices, and triangles of all polygons
static void count(cri_mesh_text t, int *n_vertex, int *n_face) {
    *n_vertex = 0;
    *n_face = 0;
    do {
        cri_mesh_word word;
        if (!mesh_next_in_line(&t, &word)) {
            continue;
        }
        // all words, so that a continued line is one statement here as well
        int n = count_words(&t);
        if (mesh_is(&word, "v")) {
            (*n_vertex)++;
        } else if (mesh_is(&word, "f")) {
            *n_face += n > 2 ? n - 2 : 0;
        }
    } while (mesh_next_line(&t));
}

/// Fails with FILE:LINE.
static cr_status mesh_fail(const cri_mesh_text *t, cr_status status, const char *format, ...) {
    char message[sizeof t->err->text];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return cri_file_fail(t->err, status, t->file, t->line, "%s", message);
}

/// Reads one finite number.
static cr_status mesh_number(const cri_mesh_text *t, const cri_mesh_word *word, double *out) {
    cri_number_kind kind = cri_number_parse(word->text, word->n, out);
    if (kind == CRI_NUMBER_OK) {
        return CR_OK;
    }
    int n = word->n < CRI_MESH_SHOWN ? (int)word->n : CRI_MESH_SHOWN;
    return mesh_fail(t, CR_ERR_SYNTAX, "'%.*s' %s: coordinates are finite decimal numbers", n,
                     word->text, cri_number_text(kind));
}

static cr_status read_vertex(cri_mesh_text *t, double *out) {
    for (int i = 0; i < 3; i++) {
        cri_mesh_word word;
        if (!mesh_next_in_line(t, &word)) {
            return mesh_fail(t, CR_ERR_SYNTAX, "v has %d numbers: expected x y z", i);
        }
        CR_TRY(mesh_number(t, &word, &out[i]));
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
        return mesh_fail(t, CR_ERR_SYNTAX,
                         "'%.*s' is no corner of a face: expected v, v/vt, "
                         "v//vn or v/vt/vn",
                         shown(word), word->text);
    }
    *out = index > 0 ? index - 1 : n_seen + index;
    if (index == 0 || *out < 0 || *out >= n_vertex) {
        return mesh_fail(t, CR_ERR_SYNTAX,
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
    for (; mesh_next_in_line(t, &word); n++) {
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
        return mesh_fail(t, CR_ERR_SYNTAX, "f has %d corners: a face needs three or more", n);
    }
    return CR_OK;
}

static cr_status read_line(cri_mesh_text *t, int n_vertex, cri_mesh_data *mesh) {
    cri_mesh_word word;
    if (!mesh_next_in_line(t, &word) || is_skipped(&word)) {
        // a continued line that is skipped has more to skip
        (void)count_words(t);
        return CR_OK;
    }
    if (mesh_is(&word, "v")) {
        CR_TRY(read_vertex(t, mesh->vertex + 3 * mesh->n_vertex));
        mesh->n_vertex++;
        (void)count_words(t);
        return CR_OK;
    }
    if (mesh_is(&word, "f")) {
        return read_face(t, mesh->n_vertex, n_vertex, mesh);
    }
    return mesh_fail(t, CR_ERR_UNSUPPORTED,
                     "'%.*s' is no OBJ statement that is read: export plain polygons", shown(&word),
                     word.text);
}

static cri_mesh_text mesh_text_begin(const char *text, size_t n_byte, const char *file,
                                     cr_error *err) {
    return (cri_mesh_text){.text = text, .n_byte = n_byte, .line = 1, .file = file, .err = err};
}

/// Refuses a file of too many triangles.
static cr_status mesh_check_count(int64_t n_face, const char *file, cr_error *err) {
    return n_face <= CRI_MESH_MOST
               ? CR_OK
               : cri_file_fail(err, CR_ERR_UNSUPPORTED, file, 0,
                               "%lld triangles are too many: simplify the mesh to %d at most",
                               (long long)n_face, CRI_MESH_MOST);
}

/// The formats. Vertices come as the file has them, not merged; every index is in range.
static cr_status obj_parse(const char *text, size_t n_byte, const char *file, cr_arena *arena,
                           cri_mesh_data *out, cr_error *err) {
    cri_mesh_text t = mesh_text_begin(text, n_byte, file, err);
    int n_vertex = 0;
    int n_face = 0;
    count(t, &n_vertex, &n_face);
    CR_TRY(mesh_check_count(n_face, file, err));
    *out = (cri_mesh_data){.vertex = CR_PUSH_RAW(arena, double, 3 * (size_t)n_vertex),
                           .face = CR_PUSH_RAW(arena, int, 3 * (size_t)n_face)};
    if (!out->vertex || !out->face) {
        return cri_file_fail_memory(err, file);
    }
    do {
        CR_TRY(read_line(&t, n_vertex, out));
    } while (mesh_next_line(&t));
    CR_ASSERT(out->n_vertex == n_vertex && out->n_face == n_face);
    if (n_vertex == 0) {
        return cri_file_fail(err, CR_ERR_SYNTAX, file, 0,
                             "has no vertices: expected lines v x y z");
    }
    return CR_OK;
}

// ---- STL ----------------------------------------------------------------------------------------

// STL, binary and ASCII: loose triangles.
//
//   binary   80 bytes of anything, n as 32 bits, n times: normal (3 floats), corners (9 floats),
//            16 bits; all little-endian, 84 + 50 n bytes in all
//   ASCII    solid NAME / facet normal x y z / outer loop / 3 times vertex x y z / endloop /
//            endfacet / endsolid NAME, words separated by any white space, in any case
//
// A file whose size fits the count of its header is binary, whatever it begins with: many binary
// files begin with "solid". Normals are skipped, the order of the corners says what is outside.

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
    CR_TRY(mesh_check_count(load_u32(text + HEADER_BYTES - 4), file, err));
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

/// The next word on this line or a later one; false at the end of the text.
static bool mesh_next_word(cri_mesh_text *t, cri_mesh_word *word) {
    while (t->at < t->n_byte && cri_number_is_space(t->text[t->at])) {
        t->line += t->text[t->at] == '\n';
        t->at++;
    }
    take_word(t, word);
    return word->n > 0;
}

// ---- ASCII -------------------------------------------------------------------------------------

// at most as many triangles as this has the text
static int count_triangles(cri_mesh_text t) {
    int n = 0;
    cri_mesh_word word;
    while (mesh_next_word(&t, &word)) {
        n += mesh_is(&word, "vertex");
    }
    return n / 3;
}

static cr_status expect(cri_mesh_text *t, const char *name) {
    cri_mesh_word word;
    if (!mesh_next_word(t, &word)) {
        return mesh_fail(t, CR_ERR_SYNTAX, "the file ends too early: expected '%s'", name);
    }
    if (!mesh_is(&word, name)) {
        int n = word.n < CRI_MESH_SHOWN ? (int)word.n : CRI_MESH_SHOWN;
        return mesh_fail(t, CR_ERR_SYNTAX, "'%.*s' where '%s' is expected", n, word.text, name);
    }
    return CR_OK;
}

static cr_status read_facet(cri_mesh_text *t, double *corner) {
    cri_mesh_word word;
    CR_TRY(expect(t, "normal"));
    for (int i = 0; i < 3; i++) {
        (void)mesh_next_word(t, &word);
    }
    CR_TRY(expect(t, "outer"));
    CR_TRY(expect(t, "loop"));
    for (int i = 0; i < 9; i++) {
        if (i % 3 == 0) {
            CR_TRY(expect(t, "vertex"));
        }
        if (!mesh_next_word(t, &word)) {
            return mesh_fail(t, CR_ERR_SYNTAX, "the file ends too early: expected a number");
        }
        CR_TRY(mesh_number(t, &word, &corner[i]));
    }
    CR_TRY(expect(t, "endloop"));
    return expect(t, "endfacet");
}

static cr_status parse_ascii(cri_mesh_text *t, cr_arena *arena, cri_mesh_data *mesh) {
    int n_limit = count_triangles(*t);
    CR_TRY(mesh_check_count(n_limit, t->file, t->err));
    if (!push_triangles(arena, n_limit, mesh)) {
        return cri_file_fail_memory(t->err, t->file);
    }
    int n = 0;
    bool is_open = false;
    cri_mesh_word word;
    while (mesh_next_word(t, &word)) {
        if (mesh_is(&word, is_open ? "endsolid" : "solid")) {
            // the rest of the line is its name
            is_open = !is_open;
            (void)mesh_next_line(t);
        } else if (is_open && mesh_is(&word, "facet")) {
            double corner[9];
            CR_TRY(read_facet(t, corner));
            // what stands in a solid's name can end the count early
            if (n == n_limit) {
                return mesh_fail(t, CR_ERR_SYNTAX,
                                 "facets and vertices do not fit together: export the mesh "
                                 "again");
            }
            memcpy(mesh->vertex + 9 * (size_t)n++, corner, sizeof corner);
        } else {
            int shown = word.n < CRI_MESH_SHOWN ? (int)word.n : CRI_MESH_SHOWN;
            return mesh_fail(t, CR_ERR_SYNTAX, "'%.*s' where '%s' is expected", shown, word.text,
                             is_open ? "facet' or 'endsolid" : "solid");
        }
    }
    if (is_open) {
        return mesh_fail(t, CR_ERR_SYNTAX, "the file ends too early: expected 'endsolid'");
    }
    mesh->n_vertex = 3 * n;
    mesh->n_face = n;
    return n > 0 ? CR_OK : fail_empty(t->file, t->err);
}

static cr_status stl_parse(const char *text, size_t n_byte, const char *file, cr_arena *arena,
                           cri_mesh_data *out, cr_error *err) {
    if (n_byte >= HEADER_BYTES && binary_bytes(text) == n_byte) {
        return parse_binary(text, file, arena, out, err);
    }
    cri_mesh_text t = mesh_text_begin(text, n_byte, file, err);
    cri_mesh_text ahead = t;
    cri_mesh_word first;
    if (mesh_next_word(&ahead, &first) && mesh_is(&first, "solid")) {
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
    return mesh_is(&end, ending);
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
        CR_TRY(obj_parse(text, n_byte, name, arena, &mesh, err));
    } else {
        CR_TRY(stl_parse(text, n_byte, name, arena, &mesh, err));
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
