// SPDX-License-Identifier: MIT
//
// Grids of meshes: distance and sign, and meshes that have no inside.

#include "cr_test.h"

#include "field_fixture.h"
#include "geometry/mesh/march.h"
#include "geometry/mesh/mass.h"
#include "geometry/mesh/tessellate.h"
#include "geometry/mesh/tri_tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cr_arena *arena, *scratch;

static void begin(void) {
    fixture_arenas(&arena, &scratch);
}

// ---- a box -------------------------------------------------------------------------------------

static double corner[8][3];
static int box_face[12][3] = {{0, 1, 3}, {0, 3, 2}, {4, 6, 7}, {4, 7, 5}, {0, 4, 5}, {0, 5, 1},
                              {2, 3, 7}, {2, 7, 6}, {0, 2, 6}, {0, 6, 4}, {1, 5, 7}, {1, 7, 3}};

static cri_triangles box_mesh(void) {
    static const double half[3] = {0.5, 0.4, 0.3};
    for (int i = 0; i < 8; i++) {
        for (int a = 0; a < 3; a++) {
            corner[i][a] = (i >> (2 - a) & 1 ? 1.0 : -1.0) * half[a];
        }
    }
    return (cri_triangles){8, 12, corner[0], box_face[0]};
}

TEST(a_tree_knows_distance_and_winding_of_a_box) {
    begin();
    cri_triangles mesh = box_mesh();
    cri_tri_tree tree;
    CHECK(cri_tri_tree_build(&mesh, arena, scratch, &tree));
    cri_tri_dipole *dipole = CR_PUSH(arena, cri_tri_dipole, tree.n_node);
    assert_non_null(dipole);
    cri_tri_tree_dipoles(&tree, dipole);
    fixture_field f;
    fixture_field_find("box", &f);
    cr_test_rng rng = cr_test_rng_of(1);
    for (int k = 0; k < 2000; k++) {
        cri_vec3 x = fixture_point(&rng, 1.0);
        double phi = cri_field_phi(&f.field, x);
        CHECK_CLOSE(cri_tri_tree_distance(&tree, x, INFINITY), fabs(phi), 1e-14, 0.0);
        CHECK_CLOSE(cri_tri_tree_winding(&tree, dipole, x), phi < 0.0, 0.05, 0.0);
    }
}

// against every triangle, one by one
TEST(a_tree_finds_the_nearest_triangle_of_a_nonconvex_mesh) {
    begin();
    fixture_field f;
    fixture_field_find("torus", &f);
    cri_march_box box = cri_march_box_of(&f.field, 14);
    cri_surface s;
    cr_error err;
    assert_int_equal(cri_surface_of_field(&f.field, &box, arena, scratch, &s, &err), CR_OK);
    cri_triangles mesh = {s.n_vertex, s.n_face, s.vertex, s.face};
    cri_tri_tree tree;
    CHECK(cri_tri_tree_build(&mesh, arena, scratch, &tree));
    cr_test_rng rng = cr_test_rng_of(2);
    for (int k = 0; k < 300; k++) {
        cri_vec3 x = fixture_point(&rng, 1.2);
        double best = INFINITY;
        for (int i = 0; i < s.n_face; i++) {
            cri_triangles one = {s.n_vertex, 1, s.vertex, s.face + 3 * (size_t)i};
            cri_tri_node node = {.lower = {-9, -9, -9}, .upper = {9, 9, 9}, .n = 1};
            const int zero = 0;
            cri_tri_tree single = {one, 1, &node, &zero};
            best = fmin(best, cri_tri_tree_distance(&single, x, INFINITY));
        }
        CHECK_CLOSE(cri_tri_tree_distance(&tree, x, INFINITY), best, 1e-14, 0.0);
        CHECK_CLOSE(cri_tri_tree_distance(&tree, x, 0.5 * best), 0.5 * best, 1e-15, 1e-15);
    }
}

// away from its edges, where splines ring, the grid of a box is the box
TEST(the_grid_of_a_box_is_the_box) {
    begin();
    cri_triangles mesh = box_mesh();
    cri_grid grid;
    cr_error err = {0};
    CHECK_INT(cri_grid_of_mesh(&mesh, 40, arena, &grid, &err), CR_OK);
    fixture_field f;
    fixture_field_find("box", &f);
    cr_test_rng rng = cr_test_rng_of(3);
    for (int k = 0; k < 1000; k++) {
        cri_vec3 x = fixture_point(&rng, 0.55);
        cri_field_value v;
        cri_grid_eval(&grid, x, CRI_FIELD_GRADIENT, &v);
        double phi = cri_field_phi(&f.field, x);
        bool is_in = fabs(x.y) < 0.4 + 2.0 * grid.h && fabs(x.z) < 0.3 + 2.0 * grid.h;
        CHECK(!is_in || fabs(v.phi - phi) < 0.25 * grid.h);
        CHECK(cri_v3_norm(v.g) <= grid.lipschitz + 0.05);
        bool is_on_top = fabs(x.x) < 0.3 && fabs(x.y) < 0.2 && fabs(fabs(x.z) - 0.3) < 0.05;
        CHECK(!is_on_top || fabs(v.phi - phi) < 1e-4);
    }
}

// ---- reference meshes --------------------------------------------------------------------------

// volume and genus survive the way to a grid and back, as far as the spacing allows
TEST(reference_meshes_come_back_from_their_grids) {
    static const struct {
        const char *name;
        double volume;
        int euler;
    } row[] = {{"spot_tri.obj", 0.7183, 2}, {"bob_tri.obj", 0.6889, 0}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        begin();
        cri_triangles mesh = fixture_reference_mesh(row[i].name, arena);
        cri_grid grid;
        cr_error err = {0};
        CHECK_INT(cri_grid_of_mesh(&mesh, 40, arena, &grid, &err), CR_OK);
        fixture_field f;
        fixture_field_leaf(CRI_FIELD_GRID, 1, (double[]){1.0}, &f);
        f.node[0].grid = &grid;
        double worst = 0.0;
        for (int v = 0; v < mesh.n_vertex; v += 7) {
            cri_vec3 x = cri_v3_load(mesh.vertex + 3 * (size_t)v);
            worst = fmax(worst, fabs(cri_field_phi(&f.field, x)));
        }
        CHECK(worst < grid.h);
        cri_march_box box = cri_march_box_of(&f.field, 48);
        cri_surface s;
        CHECK_INT(cri_surface_of_field(&f.field, &box, arena, scratch, &s, &err), CR_OK);
        CHECK_INT(s.n_vertex - s.n_face / 2, row[i].euler);
        cri_mesh_mass m;
        CHECK(cri_mesh_integrals(s.n_vertex, s.vertex, s.n_face, s.face, &m));
        CHECK_CLOSE(m.volume, row[i].volume, 0.0, 0.02);
    }
}

static void check_refused(const cri_triangles *mesh, const char *text) {
    cri_grid grid;
    cr_error err = {0};
    CHECK_INT(cri_grid_of_mesh(mesh, 24, arena, &grid, &err), CR_ERR_ARGUMENT);
    CHECK_TEXT(err.text, text);
    CHECK(!grid.coef);
}

TEST(an_open_teapot_has_no_grid) {
    begin();
    cri_triangles mesh = fixture_reference_mesh("teapot_992_open.obj", arena);
    cri_grid grid;
    cr_error err = {0};
    CHECK_INT(cri_grid_of_mesh(&mesh, 24, arena, &grid, &err), CR_ERR_ARGUMENT);
    CHECK(strstr(err.text, "the mesh is not closed: the side from vertex "));
}

TEST(meshes_without_an_inside_are_refused) {
    begin();
    cri_triangles mesh = box_mesh();
    mesh.n_face = 0;
    check_refused(&mesh, "the mesh has no triangles; a closed surface is needed");
    mesh.n_face = 5000000;
    check_refused(&mesh,
                  "the mesh has 5000000 triangles, at most 1000000 are possible; simplify it");
    mesh.n_face = 11;
    check_refused(&mesh, "the mesh is not closed: the side from vertex 1 to vertex 3 does not "
                         "belong to two triangles that run round in one sense; close its holes");
    mesh = box_mesh();
    int turned[12][3], twice[4][3] = {{0, 0, 1}, {0, 1, 1}, {2, 2, 3}, {3, 3, 3}};
    for (int f = 0; f < 12; f++) {
        turned[f][0] = box_face[f][0];
        turned[f][1] = box_face[f][2];
        turned[f][2] = box_face[f][1];
    }
    mesh.face = turned[0];
    check_refused(&mesh, "the mesh is inside out: its triangles run clockwise seen from outside; "
                         "turn them round");
    mesh.face = twice[0];
    mesh.n_face = 4;
    check_refused(&mesh, "every triangle of the mesh uses a vertex twice");
    mesh = box_mesh();
    for (int i = 0; i < 8; i++) {
        corner[i][1] = 0.0;
    }
    check_refused(&mesh, "the mesh encloses no volume");
    corner[3][1] = NAN;
    check_refused(&mesh, "a vertex of the mesh is not finite");
    mesh = box_mesh();
    mesh.n_vertex = 7;
    check_refused(&mesh, "triangle 2 of the mesh has vertex 7, but there are 7");
    mesh = box_mesh();
    cri_grid grid;
    cr_error err = {0};
    CHECK_INT(cri_grid_of_mesh(&mesh, 9, arena, &grid, &err), CR_ERR_ARGUMENT);
    CHECK_TEXT(err.text, "a grid of 9 samples along its longest side: 10 to 256 are possible");
}

// a vertex in the middle of a diagonal: the triangle along it has no area
TEST(triangles_without_area_do_no_harm) {
    begin();
    cri_triangles mesh = box_mesh();
    double vertex[9][3];
    memcpy(vertex, corner, sizeof corner);
    for (int a = 0; a < 3; a++) {
        vertex[8][a] = 0.5 * (corner[0][a] + corner[3][a]);
    }
    // 0 3 2 becomes 0 8 2 and 8 3 2, and 0 3 8 closes the gap to 0 1 3
    const int split[3][3] = {{0, 8, 2}, {8, 3, 2}, {0, 3, 8}};
    int face[14][3];
    memcpy(face, box_face, sizeof box_face);
    memcpy(face[1], split[0], sizeof split[0]);
    memcpy(face[12], split[1], 2 * sizeof split[0]);
    mesh = (cri_triangles){9, 14, vertex[0], face[0]};
    cri_grid grid;
    cr_error err = {0};
    CHECK_INT(cri_grid_of_mesh(&mesh, 24, arena, &grid, &err), CR_OK);
    const cri_mesh_view view = {9, 14, vertex[0], face[0]};
    CHECK_INT(cri_mesh_count_flat(&view), 1);
    fixture_field f;
    fixture_field_find("box", &f);
    cr_test_rng rng = cr_test_rng_of(5);
    for (int k = 0; k < 300; k++) {
        cri_vec3 x = fixture_point(&rng, 0.6);
        cri_field_value v;
        cri_grid_eval(&grid, x, CRI_FIELD_PHI, &v);
        CHECK_CLOSE(v.phi, cri_field_phi(&f.field, x), 0.6 * grid.h, 0.0);
    }
}

CR_TEST_MAIN(a_tree_knows_distance_and_winding_of_a_box,
             a_tree_finds_the_nearest_triangle_of_a_nonconvex_mesh, the_grid_of_a_box_is_the_box,
             reference_meshes_come_back_from_their_grids, an_open_teapot_has_no_grid,
             meshes_without_an_inside_are_refused, triangles_without_area_do_no_harm)
