// SPDX-License-Identifier: MIT
//
// Mass integrals of closed meshes: closed forms, motion of the mesh, reference meshes, and meshes
// that have no inside.

#include "geometry/mesh/hull.h"
#include "geometry/mesh/mass.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/io/mesh_file.h"
#include "base/math/quat.h"
#include "cr_test.h"

#define MESHES CAROM_SOURCE_DIR "/../shared/data/meshes/"

static const int box_face[12][3] = {{0, 2, 1}, {1, 2, 3}, {4, 5, 6}, {5, 7, 6},
                                    {0, 1, 4}, {1, 5, 4}, {2, 6, 3}, {3, 6, 7},
                                    {0, 4, 2}, {2, 4, 6}, {1, 3, 5}, {3, 7, 5}};

static void fill_box(double x, double y, double z, double vertex[24]) {
    for (int i = 0; i < 8; i++) {
        cri_v3_store(cri_v3(i & 1 ? x : 0, i & 2 ? y : 0, i & 4 ? z : 0), vertex + 3 * i);
    }
}

// rounding of a few dozen operations
static void check_mass(const cri_mesh_mass *m, double volume, const double centre[3],
                       const double inertia[6], double tolerance) {
    CHECK_CLOSE(m->volume, volume, 0.0, tolerance);
    double size = 0.0;
    for (int i = 0; i < 3; i++) {
        CHECK_CLOSE(m->centre[i], centre[i], tolerance * cbrt(volume), tolerance);
        size = fmax(size, fabs(inertia[i]));
    }
    for (int i = 0; i < 6; i++) {
        CHECK_CLOSE(m->inertia[i], inertia[i], tolerance * size, 0.0);
    }
}

TEST(a_box_has_its_closed_form) {
    double vertex[24];
    fill_box(1, 2, 3, vertex);
    cri_mesh_mass m;
    CHECK(cri_mesh_mass_of(8, vertex, 12, box_face[0], &m));
    const double centre[3] = {0.5, 1.0, 1.5};
    // m (b^2 + c^2)/12, m = 6
    const double inertia[6] = {6.5, 5.0, 2.5, 0, 0, 0};
    check_mass(&m, 6.0, centre, inertia, 1e-14);
}

TEST(a_tetrahedron_has_its_closed_form) {
    const double vertex[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    const int face[12] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};
    cri_mesh_mass m;
    CHECK(cri_mesh_mass_of(4, vertex, 4, face, &m));
    const double centre[3] = {0.25, 0.25, 0.25};
    // int x^2 = 1/60 and int x y = 1/120; about the centre 1/60 - V/16 = 1/160, 1/120 - V/16 =
    // -1/480
    const double inertia[6] = {1.0 / 80, 1.0 / 80, 1.0 / 80, 1.0 / 480, 1.0 / 480, 1.0 / 480};
    check_mass(&m, 1.0 / 6.0, centre, inertia, 1e-14);
}

TEST(a_hollow_box_is_the_difference) {
    double vertex[48];
    int face[72];
    fill_box(3, 3, 3, vertex);
    fill_box(1, 1, 1, vertex + 24);
    for (int i = 0; i < 8; i++) {
        for (int k = 0; k < 3; k++) {
            vertex[24 + 3 * i + k] += 1.0;
        }
    }
    memcpy(face, box_face, sizeof box_face);
    for (int f = 0; f < 12; f++) {
        // inside out
        for (int k = 0; k < 3; k++) {
            face[36 + 3 * f + k] = 8 + box_face[f][2 - k];
        }
    }
    cri_mesh_mass m;
    CHECK(cri_mesh_mass_of(16, vertex, 24, face, &m));
    const double centre[3] = {1.5, 1.5, 1.5};
    // 27 * 18/12 - 1 * 2/12
    const double part = 40.5 - 1.0 / 6.0;
    const double inertia[6] = {part, part, part, 0, 0, 0};
    check_mass(&m, 26.0, centre, inertia, 1e-14);
}

TEST(meshes_without_inside_are_refused) {
    double vertex[24];
    int face[72];
    cri_mesh_mass m;
    fill_box(1, 2, 3, vertex);
    CHECK(!cri_mesh_mass_of(8, vertex, 11, box_face[0], &m));
    CHECK(!cri_mesh_mass_of(0, vertex, 0, NULL, &m));

    // one triangle turned over
    memcpy(face, box_face, sizeof box_face);
    face[0] = box_face[0][1];
    face[1] = box_face[0][0];
    CHECK(!cri_mesh_mass_of(8, vertex, 12, face, &m));

    // all turned over: closed, and the volume is negative
    for (int i = 0; i < 36; i++) {
        face[i] = box_face[i / 3][2 - i % 3];
    }
    CHECK(!cri_mesh_mass_of(8, vertex, 12, face, &m));

    // every triangle twice
    memcpy(face, box_face, sizeof box_face);
    memcpy(face + 36, box_face, sizeof box_face);
    CHECK(!cri_mesh_mass_of(8, vertex, 24, face, &m));

    // no thickness
    fill_box(1, 2, 0, vertex);
    CHECK(!cri_mesh_mass_of(8, vertex, 12, box_face[0], &m));
}

// ---- reference meshes --------------------------------------------------------------------------

static cr_arena *arena;

static cri_mesh_data read(const char *name) {
    char path[512];
    snprintf(path, sizeof path, MESHES "%s", name);
    FILE *stream = fopen(path, "rb");
    if (!stream) {
        SKIP("the reference meshes (../shared/data/meshes) are not here");
    }
    fclose(stream);
    cri_arena_destroy(arena);
    arena = cri_arena_create(1 << 16);
    assert_non_null(arena);
    cri_mesh_data mesh;
    cr_error err;
    cr_status status =
        cri_mesh_read(path, arena, &mesh.n_vertex, &mesh.vertex, &mesh.n_face, &mesh.face, &err);
    if (status != CR_OK) {
        cr_test_fail("%s", err.text);
        assert_int_equal(status, CR_OK);
    }
    return mesh;
}

// triangles and volume as listed with the meshes, to the digits given there
TEST(reference_meshes_have_the_volume_listed_with_them) {
    static const struct {
        const char *name;
        int n_face;
        double volume;
        double rounding;
    } row[] = {{"spot_tri.obj", 5856, 0.7183, 5e-5},   {"spot_control.obj", 372, 0.8448, 5e-5},
               {"bob_tri.obj", 10688, 0.6889, 5e-5},   {"bob_control.obj", 668, 0.7330, 5e-5},
               {"bunny_3674.obj", 3674, 194.29, 5e-3}, {"gearwheel.stl", 2444, 8922.6, 5e-2}};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        cri_mesh_data mesh = read(row[i].name);
        cri_mesh_mass m;
        CHECK_INT(mesh.n_face, row[i].n_face);
        CHECK(cri_mesh_mass_of(mesh.n_vertex, mesh.vertex, mesh.n_face, mesh.face, &m));
        CHECK_CLOSE(m.volume, row[i].volume, row[i].rounding, 0.0);
        const cri_hull *hull = NULL;
        cr_error err;
        CHECK_INT(cri_hull_build(mesh.n_vertex, mesh.vertex, arena, &hull, &err), CR_OK);
    }
}

TEST(an_open_teapot_is_refused) {
    cri_mesh_data mesh = read("teapot_992_open.obj");
    cri_mesh_mass m;
    CHECK_INT(mesh.n_face, 992);
    CHECK(!cri_mesh_mass_of(mesh.n_vertex, mesh.vertex, mesh.n_face, mesh.face, &m));
}

// By MuJoCo 2.2.2: a free body with one geom of this mesh, density 1 and <compiler
// exactmeshinertia="true"/>; body_mass, body_ipos and body_inertia, whose axes are body_iquat = 0.5
// 0.5 -0.5 0.5: z, -x, -y. It keeps vertices in single precision.
TEST(the_gear_agrees_with_mujoco) {
    cri_mesh_data mesh = read("gearwheel.stl");
    cri_mesh_mass m;
    CHECK(cri_mesh_mass_of(mesh.n_vertex, mesh.vertex, mesh.n_face, mesh.face, &m));
    const double centre[3] = {-0.022612184032639905, -9.0102345706612712e-10, 4.000000059885922};
    const double inertia[6] = {1013377.0985941528, 1012067.0168911623, 1930269.3244543385, 0, 0, 0};
    check_mass(&m, 8922.6366546142981, centre, inertia, 1e-8);
}

TEST(a_moved_mesh_has_moved_integrals) {
    cri_mesh_data mesh = read("bunny_3674.obj");
    cri_mesh_mass m, moved;
    CHECK(cri_mesh_mass_of(mesh.n_vertex, mesh.vertex, mesh.n_face, mesh.face, &m));
    cri_so3 r = cri_so3_of(cri_v3(0.3, -1.2, 0.8));
    cri_vec3 shift = cri_v3(30, -20, 10);
    for (int i = 0; i < mesh.n_vertex; i++) {
        cri_vec3 p = cri_so3_rotate(&r, cri_v3_load(mesh.vertex + 3 * i));
        cri_v3_store(cri_v3_add(p, shift), mesh.vertex + 3 * i);
    }
    CHECK(cri_mesh_mass_of(mesh.n_vertex, mesh.vertex, mesh.n_face, mesh.face, &moved));

    double centre[3];
    cri_v3_store(cri_v3_add(cri_so3_rotate(&r, cri_v3_load(m.centre)), shift), centre);
    // R J R', column by column
    const double *J = m.inertia;
    const cri_vec3 row[3] = {{J[0], J[3], J[4]}, {J[3], J[1], J[5]}, {J[4], J[5], J[2]}};
    double turned[3][3];
    for (int k = 0; k < 3; k++) {
        cri_vec3 e = cri_so3_unrotate(&r, cri_v3(k == 0, k == 1, k == 2));
        cri_vec3 Je = cri_v3(cri_v3_dot(row[0], e), cri_v3_dot(row[1], e), cri_v3_dot(row[2], e));
        cri_v3_store(cri_so3_rotate(&r, Je), turned[k]);
    }
    const double inertia[6] = {turned[0][0], turned[1][1], turned[2][2],
                               turned[0][1], turned[0][2], turned[1][2]};
    // vertices are rounded at 40, ten times the size of the bunny
    check_mass(&moved, m.volume, centre, inertia, 1e-13);
    cri_arena_destroy(arena);
    arena = NULL;
}

CR_TEST_MAIN(a_box_has_its_closed_form, a_tetrahedron_has_its_closed_form,
             a_hollow_box_is_the_difference, meshes_without_inside_are_refused,
             reference_meshes_have_the_volume_listed_with_them, an_open_teapot_is_refused,
             the_gear_agrees_with_mujoco, a_moved_mesh_has_moved_integrals)
