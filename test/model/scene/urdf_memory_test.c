// SPDX-License-Identifier: MIT
//
// URDF, meshes and hulls when the heap gives out: every allocation fails once. Needs WRAP.

// mkdtemp
#define _POSIX_C_SOURCE 200809L

#include "model/scene/urdf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/io/mesh_file.h"
#include "geometry/mesh/hull.h"
#include "support/alloc_wrap.h"

enum { N_LINK = 40, N_VERTEX = 600, TEXT_BYTES = 64 * 1024 };

static char robot[TEXT_BYTES];
static char mesh_path[64];
static char robot_path[64];
static double cloud[3 * N_VERTEX];

// call allocates, releases everything again and returns what became of it
static void fail_every_allocation(cr_status (*call)(cr_error *err)) {
    cr_error err = {0};
    assert_int_equal(call(&err), CR_OK);
    long live = cr_alloc_live();
    int n_failed = 0;
    for (long k = 1;; k++) {
        cr_alloc_fail_at(k);
        err = (cr_error){0};
        cr_status status = call(&err);
        bool has_failed = cr_alloc_has_failed();
        cr_alloc_fail_at(0);
        assert_int_equal(cr_alloc_live(), live);
        if (!has_failed) {
            assert_int_equal(status, CR_OK);
            break;
        }
        // expat and realloc may do without; what fails must say so
        if (status != CR_OK) {
            assert_int_equal(status, CR_ERR_MEMORY);
            assert_int_equal(err.status, CR_ERR_MEMORY);
            assert_true(err.text[0] != '\0');
            n_failed++;
        }
    }
    assert_true(n_failed > 2);
}

static cr_status read_robot(cr_error *err) {
    cri_scene_def def;
    cr_status status = cri_urdf_read(robot, strlen(robot), robot_path, &def, err);
    if (status == CR_OK) {
        assert_int_equal(def.n_body, N_LINK);
        assert_int_equal(def.n_mesh, 1);
    } else {
        assert_null(def.memory);
    }
    cri_scene_def_clear(&def);
    return status;
}

static cr_status read_mesh(cr_error *err) {
    cr_arena *arena = cri_arena_create(64);
    if (!arena) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no arena");
    }
    int n_vertex, n_face;
    double *vertex;
    int *face;
    cr_status status = cri_mesh_read(mesh_path, arena, &n_vertex, &vertex, &n_face, &face, err);
    assert_int_equal(n_vertex, status == CR_OK ? N_VERTEX : 0);
    cri_arena_destroy(arena);
    return status;
}

static cr_status build_hull(cr_error *err) {
    cr_arena *arena = cri_arena_create(64);
    if (!arena) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no arena");
    }
    const cri_hull *hull;
    cr_status status = cri_hull_build(N_VERTEX, cloud, arena, &hull, err);
    assert_true((hull != NULL) == (status == CR_OK));
    cri_arena_destroy(arena);
    return status;
}

static void a_robot_without_memory(void **state) {
    (void)state;
    fail_every_allocation(read_robot);
}

static void a_mesh_without_memory(void **state) {
    (void)state;
    fail_every_allocation(read_mesh);
}

static void a_hull_without_memory(void **state) {
    (void)state;
    fail_every_allocation(build_hull);
}

// a chain whose every link has the mesh, in a folder of its own
static void write_robot(void) {
    size_t n = (size_t)snprintf(robot, TEXT_BYTES, "<robot name='r'>");
    for (int i = 0; i < N_LINK; i++) {
        n += (size_t)snprintf(robot + n, TEXT_BYTES - n,
                              "<link name='l%d'><collision><geometry><mesh filename='m.obj'/>"
                              "</geometry></collision></link>",
                              i);
    }
    for (int i = 1; i < N_LINK; i++) {
        n += (size_t)snprintf(robot + n, TEXT_BYTES - n,
                              "<joint name='j%d' type='continuous'><parent link='l%d'/><child "
                              "link='l%d'/></joint>",
                              i, i - 1, i);
    }
    n += (size_t)snprintf(robot + n, TEXT_BYTES - n, "</robot>");
    assert_true(n < TEXT_BYTES);
}

int main(void) {
    char folder[] = CAROM_BINARY_DIR "/urdf_XXXXXX";
    if (!mkdtemp(folder)) {
        return 1;
    }
    snprintf(mesh_path, sizeof mesh_path, "%s/m.obj", folder);
    snprintf(robot_path, sizeof robot_path, "%s/r.urdf", folder);
    FILE *stream = fopen(mesh_path, "wb");
    if (!stream) {
        return 1;
    }
    for (int i = 0; i < N_VERTEX; i++) {
        // on a paraboloid, so that all are on the hull
        double x = i % 25 - 12;
        double y = i / 25 - 12;
        const double p[3] = {x, y, 0.1 * (x * x + y * y)};
        memcpy(cloud + 3 * i, p, sizeof p);
        fprintf(stream, "v %g %g %g\n", p[0], p[1], p[2]);
    }
    fclose(stream);
    write_robot();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_robot_without_memory),
        cmocka_unit_test(a_mesh_without_memory),
        cmocka_unit_test(a_hull_without_memory),
    };
    int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove(mesh_path);
    remove(folder);
    return n_failed;
}
