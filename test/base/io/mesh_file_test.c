// SPDX-License-Identifier: MIT
//
// OBJ and STL: what is read, and the texts of what is refused.

#include "base/io/mesh_file.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cr_test.h"

enum { HEADER = 84, FACET = 50 };

static cr_arena *arena;
static cr_error err;

static cr_status parse(const char *name, const char *text, size_t n, cri_mesh_data *mesh) {
    cri_arena_destroy(arena);
    arena = cri_arena_create(64);
    assert_non_null(arena);
    // memory of the exact size lets the address sanitizer see a read behind the end
    char *copy = malloc(n > 0 ? n : 1);
    assert_non_null(copy);
    memcpy(copy, text, n);
    err = (cr_error){0};
    cr_status status = cri_mesh_parse(copy, n, name, arena, mesh, &err);
    free(copy);
    return status;
}

static cri_mesh_data read_obj(const char *text) {
    cri_mesh_data mesh;
    if (parse("m.obj", text, strlen(text), &mesh) != CR_OK) {
        cr_test_fail("%s", err.text);
    }
    return mesh;
}

static void refuse(const char *name, const char *text, const char *message) {
    cri_mesh_data mesh = {.n_vertex = 7};
    CHECK(parse(name, text, strlen(text), &mesh) != CR_OK);
    CHECK_TEXT(err.text, message);
    CHECK_INT(mesh.n_vertex, 0);
    CHECK(!mesh.vertex && !mesh.face);
}

static void check_face(const cri_mesh_data *mesh, int f, int a, int b, int c) {
    if (CHECK(f < mesh->n_face)) {
        CHECK_INT(mesh->face[3 * f], a);
        CHECK_INT(mesh->face[3 * f + 1], b);
        CHECK_INT(mesh->face[3 * f + 2], c);
    }
}

// ---- OBJ ---------------------------------------------------------------------------------------

TEST(obj_reads_vertices_and_every_form_of_corner) {
    cri_mesh_data mesh =
        read_obj("# a comment\no thing\r\nv 0 0 0\r\nv 1 0 0 1.0\n"
                 "v 0 1e0 0 .1 .2 .3\n\n  v +0 -0 1.5 # up\nvn 0 0 1\nvt 0 0\n"
                 "f 1 3 2\nf 1/1 2/1 4/1\nf 2//1 3//1 4//1\r\nf 3/1/1 1/1/1 4/1/1\n");
    CHECK_INT(mesh.n_vertex, 4);
    CHECK_INT(mesh.n_face, 4);
    check_face(&mesh, 0, 0, 2, 1);
    check_face(&mesh, 3, 2, 0, 3);
    CHECK(mesh.vertex[7] == 1.0 && mesh.vertex[11] == 1.5);
}

TEST(obj_counts_back_from_the_line_of_the_face) {
    cri_mesh_data mesh = read_obj("v 0 0 0\nv 1 0 0\nv 0 1 0\nf -3 -2 -1\nv 0 0 1\nf -1 -4 2");
    CHECK_INT(mesh.n_face, 2);
    check_face(&mesh, 0, 0, 1, 2);
    check_face(&mesh, 1, 3, 0, 1);
}

TEST(obj_may_name_vertices_that_come_later) {
    cri_mesh_data mesh = read_obj("f 1 2 3\nv 0 0 0\nv 1 0 0\nv 0 1 0\n");
    check_face(&mesh, 0, 0, 1, 2);
}

TEST(obj_makes_fans_of_polygons) {
    cri_mesh_data mesh = read_obj("v 0 0 0\nv 1 0 0\nv 2 1 0\nv 1 2 0\nv 0 1 0\nf 1 2 3 4 5\n");
    CHECK_INT(mesh.n_face, 3);
    check_face(&mesh, 0, 0, 1, 2);
    check_face(&mesh, 1, 0, 2, 3);
    check_face(&mesh, 2, 0, 3, 4);
}

TEST(obj_continues_lines_behind_a_backslash) {
    cri_mesh_data mesh =
        read_obj("v 0 0 \\\n 0\nv 1 0\\\r\n 0\nv 0 1 0\ng a \\\nv 5 5 5\nf 1 2 \\\n3\n");
    CHECK_INT(mesh.n_vertex, 3);
    CHECK_INT(mesh.n_face, 1);
    refuse("m.obj", "v 0 0 \\\n\\\n x\n",
           "m.obj:3: 'x' is not a number: coordinates are finite "
           "decimal numbers");
}

TEST(equal_vertices_are_one_and_empty_triangles_go) {
    cri_mesh_data mesh = read_obj("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 0 0\nv 0 0 -0\nv 0 0 1\n"
                                  "f 1 2 3\nf 5 6 4\nf 1 5 3\nf 2 2 6\n");
    CHECK_INT(mesh.n_vertex, 4);
    CHECK_INT(mesh.n_face, 2);
    check_face(&mesh, 1, 0, 3, 1);
}

TEST(obj_may_have_points_alone) {
    cri_mesh_data mesh = read_obj("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1");
    CHECK_INT(mesh.n_vertex, 4);
    CHECK_INT(mesh.n_face, 0);
}

TEST(obj_errors_say_where_and_what) {
    refuse("m.obj", "", "m.obj: is empty: expected a mesh");
    refuse("m.obj", "# nothing\n", "m.obj: has no vertices: expected lines v x y z");
    refuse("m.obj", "v 0 0\n", "m.obj:1: v has 2 numbers: expected x y z");
    refuse("m.obj", "\nv 0 nan 0\n",
           "m.obj:2: 'nan' is NaN: coordinates are finite decimal numbers");
    refuse("m.obj", "v 0 0 0\nf 1 1\n", "m.obj:2: f has 2 corners: a face needs three or more");
    refuse("m.obj", "v 0 0 0\nf 1 2 1\n",
           "m.obj:2: '2' names no vertex: there are 1, counted from 1 (1 before this line)");
    refuse("m.obj", "v 0 0 0\nf 1 0 1\n",
           "m.obj:2: '0' names no vertex: there are 1, counted from 1 (1 before this line)");
    refuse("m.obj", "f -1 -1 -1\nv 0 0 0\n",
           "m.obj:1: '-1' names no vertex: there are 1, counted from 1 (0 before this line)");
    refuse("m.obj", "v 0 0 0\nf 1/ 1 1\n",
           "m.obj:2: '1/' is no corner of a face: expected v, v/vt, v//vn or v/vt/vn");
    refuse("m.obj", "v 0 0 0\nf 99999999999999999999 1 1\n",
           "m.obj:2: '99999999999999999999' is no corner of a face: expected v, v/vt, v//vn or "
           "v/vt/vn");
    refuse("m.obj", "v 0 0 0\nsurf 0 1\n",
           "m.obj:2: 'surf' is no OBJ statement that is read: export plain polygons");
    refuse("m.dae", "<x/>", "m.dae: is no mesh file that is read: convert it to .obj or .stl");
}

// ---- STL ---------------------------------------------------------------------------------------

#define CORNERS "outer loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\n"

TEST(stl_reads_text) {
    const char text[] = "solid a vertex of facets\n facet normal 0 0 nan\n" CORNERS "endfacet\n"
                        "FACET NORMAL 0 0 1 OUTER LOOP VERTEX 0 0 0 VERTEX 0 1 0 VERTEX 0 0 "
                        "1e0\r\nENDLOOP ENDFACET\nendsolid a vertex of facets\nsolid\nendsolid\n";
    cri_mesh_data mesh;
    if (parse("m.STL", text, strlen(text), &mesh) != CR_OK) {
        cr_test_fail("%s", err.text);
    }
    CHECK_INT(mesh.n_vertex, 4);
    CHECK_INT(mesh.n_face, 2);
    check_face(&mesh, 1, 0, 2, 3);
}

TEST(stl_text_errors_say_where_and_what) {
    refuse("m.stl", "solid\nendsolid\n", "m.stl: has no triangles");
    refuse("m.stl", "solid\nfacet normal 0 0 1\n" CORNERS,
           "m.stl:8: the file ends too early: expected 'endfacet'");
    refuse("m.stl", "solid\nfacet normal 0 0 1\n" CORNERS "endfacet",
           "m.stl:8: the file ends too early: expected 'endsolid'");
    refuse("m.stl", "solid\nfacet normal 0 0 1\nouter lop\n",
           "m.stl:3: 'lop' where 'loop' is expected");
    refuse("m.stl", "solid\nfact\n", "m.stl:2: 'fact' where 'facet' or 'endsolid' is expected");
    refuse("m.stl", "solid\nendsolid\nmore", "m.stl:3: 'more' where 'solid' is expected");
    refuse("m.stl", "solid\nfacet normal 0 0 1 outer loop vertex 0 0 inf",
           "m.stl:2: 'inf' is infinite: coordinates are finite decimal numbers");
    refuse("m.stl", "sold",
           "m.stl: is neither ASCII STL, which begins with 'solid', nor binary, which has 84 bytes "
           "or more");
}

static void store_float(float value, char *out) {
    unsigned bits;
    memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 4; i++) {
        out[i] = (char)(bits >> 8 * i & 0xff);
    }
}

// two triangles with a common side, and a header that looks like text
static void fill_binary(char bytes[HEADER + 2 * FACET]) {
    static const float corner[18] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 1, 1, 0.1f, 0, 1, 0};
    memset(bytes, 0, HEADER + 2 * FACET);
    memcpy(bytes, "solid of something", 18);
    bytes[80] = 2;
    for (int i = 0; i < 18; i++) {
        store_float(corner[i], bytes + HEADER + i / 9 * FACET + 12 + i % 9 * 4);
    }
}

TEST(stl_reads_binary_that_begins_with_solid) {
    char bytes[HEADER + 2 * FACET];
    fill_binary(bytes);
    cri_mesh_data mesh;
    CHECK_INT(parse("m.stl", bytes, sizeof bytes, &mesh), CR_OK);
    CHECK_INT(mesh.n_vertex, 4);
    CHECK_INT(mesh.n_face, 2);
    check_face(&mesh, 1, 1, 3, 2);
    CHECK(mesh.vertex[11] == (double)0.1f);
}

TEST(stl_binary_errors_say_where_and_what) {
    char bytes[HEADER + 2 * FACET];
    fill_binary(bytes);
    cri_mesh_data mesh;
    store_float(INFINITY, bytes + HEADER + FACET + 12 + 8);
    CHECK_INT(parse("m.stl", bytes, sizeof bytes, &mesh), CR_ERR_SYNTAX);
    CHECK_TEXT(err.text, "m.stl: byte 154: a coordinate of triangle 1 is not finite: export the "
                         "mesh again");
    memcpy(bytes, "thing", 5);
    CHECK_INT(parse("m.stl", bytes, sizeof bytes - 1, &mesh), CR_ERR_SYNTAX);
    CHECK_TEXT(err.text, "m.stl: byte 80 announces 2 triangles, which makes 184 bytes, and there "
                         "are 183: the file is cut off or no STL");
    bytes[80] = 0;
    CHECK_INT(parse("m.stl", bytes, HEADER, &mesh), CR_ERR_SYNTAX);
    CHECK_TEXT(err.text, "m.stl: has no triangles");
}

// ---- files -------------------------------------------------------------------------------------

TEST(too_many_triangles_are_refused_by_their_count) {
    uint32_t n = CRI_MESH_MOST + 1;
    size_t n_byte = HEADER + (size_t)FACET * n;
    char *bytes = calloc(n_byte, 1);
    cri_mesh_data mesh = {0};
    CHECK(bytes);
    for (int i = 0; bytes && i < 4; i++) {
        bytes[HEADER - 4 + i] = (char)(n >> (8 * i));
    }
    CHECK_INT(parse("m.stl", bytes, n_byte, &mesh), CR_ERR_UNSUPPORTED);
    CHECK_TEXT(err.text,
               "m.stl: 1000001 triangles are too many: simplify the mesh to 1000000 at most");
    free(bytes);
}

TEST(a_missing_file_is_named) {
    int n_vertex = 1;
    int n_face = 1;
    double *vertex = NULL;
    int *face = NULL;
    cr_arena *a = cri_arena_create(64);
    assert_non_null(a);
    CHECK_INT(cri_mesh_read("nowhere/m.obj", a, &n_vertex, &vertex, &n_face, &face, &err),
              CR_ERR_FILE);
    CHECK_TEXT(err.text, "nowhere/m.obj: no such file");
    CHECK(n_vertex == 0 && n_face == 0);
    cri_arena_destroy(a);
}

// every beginning of a file, and every flipped byte, is read or refused with a text
static void damage(const char *name, const char *text, size_t n) {
    char *copy = malloc(n);
    assert_non_null(copy);
    cri_mesh_data mesh;
    for (size_t i = 0; i < n; i++) {
        cr_status status = parse(name, text, i, &mesh);
        CHECK(status == CR_OK || strncmp(err.text, name, strlen(name)) == 0);
        for (int bit = 0; bit < 8; bit++) {
            memcpy(copy, text, n);
            copy[i] = (char)(copy[i] ^ 1 << bit);
            status = parse(name, copy, n, &mesh);
            CHECK(status == CR_OK || strncmp(err.text, name, strlen(name)) == 0);
        }
    }
    free(copy);
}

TEST(damaged_files_are_read_or_refused) {
    const char obj[] = "# c\nv 0 0 \\\n0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1/2/3 -1 2//2 3\ng a\n";
    damage("m.obj", obj, sizeof obj - 1);
    const char text[] = "solid a\nfacet normal 0 0 1\n" CORNERS "endfacet\nendsolid a\n";
    damage("m.stl", text, sizeof text - 1);
    char bytes[HEADER + 2 * FACET];
    fill_binary(bytes);
    damage("m.stl", bytes, sizeof bytes);
    cri_arena_destroy(arena);
    arena = NULL;
}

CR_TEST_MAIN(obj_reads_vertices_and_every_form_of_corner, obj_counts_back_from_the_line_of_the_face,
             obj_may_name_vertices_that_come_later, obj_makes_fans_of_polygons,
             obj_continues_lines_behind_a_backslash, equal_vertices_are_one_and_empty_triangles_go,
             obj_may_have_points_alone, obj_errors_say_where_and_what, stl_reads_text,
             stl_text_errors_say_where_and_what, stl_reads_binary_that_begins_with_solid,
             stl_binary_errors_say_where_and_what, too_many_triangles_are_refused_by_their_count,
             a_missing_file_is_named, damaged_files_are_read_or_refused)
