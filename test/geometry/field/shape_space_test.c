// SPDX-License-Identifier: MIT
//
// Families and spaces of shapes: closed surfaces of the right genus, files that come back, codes
// and files that are refused, points spread over a mesh.

#include "geometry/field/shape_space.h"

#include "cr_test.h"
#include "geometry/mesh/march.h"
#include "geometry/mesh/tri_tree.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static cri_triangles mesh_of(const cri_field *field, int n_cell, cr_arena *arena,
                             cr_arena *scratch) {
    cri_march_box box = cri_march_box_of(field, n_cell);
    cri_surface s;
    cr_error err;
    assert_int_equal(cri_surface_of_field(field, &box, arena, scratch, &s, &err), CR_OK);
    return (cri_triangles){s.n_vertex, s.n_face, s.vertex, s.face};
}

TEST(members_of_families_have_the_right_genus) {
    static const struct {
        const char *name;
        int n, euler[2]; // of the first and of the last member
    } known[] = {{"cans", 24, {2, 2}},
                 {"mugs", 22, {0, 0}},
                 {"cameras", 22, {2, 2}},
                 {"animals", 2, {2, 0}}};
    cr_arena *arena = cri_arena_create(1 << 20), *scratch = cri_arena_create(1 << 20);
    for (int f = 0; f < 4; f++) {
        const cri_shape_family *family = cri_shape_family_find(known[f].name);
        assert_non_null(family);
        CHECK_INT(cri_shape_family_count(family), known[f].n);
        for (int k = 0; k < 2; k++) {
            cri_shape_family_member member;
            cr_error err;
            cri_arena_reset(arena);
            cri_shape_family_make(family, k ? known[f].n - 1 : 0, &member);
            assert_int_equal(cri_field_check(&member.field, &err), CR_OK);
            cri_triangles mesh = mesh_of(&member.field, 48, arena, scratch);
            CHECK_INT(mesh.n_vertex - mesh.n_face / 2, known[f].euler[k]);
            CHECK_INT(cri_triangles_check(&mesh, &err), CR_OK);
        }
    }
    CHECK(!cri_shape_family_find("teapots") && !cri_shape_family_at(4));
    cri_arena_destroy(scratch);
    cri_arena_destroy(arena);
}

TEST(points_lie_on_the_mesh_and_chamfer_tells_it_apart) {
    cr_arena *arena = cri_arena_create(1 << 20), *scratch = cri_arena_create(1 << 20);
    double radius[2] = {0.5, 0.6}, point[3 * 400], normal[3 * 400];
    cri_field_node node = {.kind = CRI_FIELD_SPHERE};
    cri_triangles ball[2];
    for (int k = 0; k < 2; k++) {
        cri_field field = {1, &node, 1, &radius[k]};
        ball[k] = mesh_of(&field, 24, arena, scratch);
    }
    cri_random stream = cri_random_of(5, 0);
    assert_true(cri_mesh_points(&ball[0], 400, &stream, point, normal, scratch));
    cri_vec3 sum = cri_v3(0.0, 0.0, 0.0);
    for (int i = 0; i < 400; i++) {
        cri_vec3 p = cri_v3_load(point + 3 * i), n = cri_v3_load(normal + 3 * i);
        CHECK_CLOSE(cri_v3_norm(p), 0.5, 2e-3, 0.0);
        CHECK(cri_v3_dot(p, n) > 0.48);
        sum = cri_v3_add(sum, p);
    }
    // a mean of 400 points of deviation 0.5/sqrt 3
    CHECK(cri_v3_norm(sum) / 400 < 0.06);
    CHECK_CLOSE(cri_mesh_chamfer(&ball[0], &ball[0], scratch), 0.0, 1e-20, 0.0);
    // 0.1^2 both ways
    CHECK_CLOSE(cri_mesh_chamfer(&ball[0], &ball[1], scratch), 0.02, 2e-4, 0.0);
    cri_arena_destroy(scratch);
    cri_arena_destroy(arena);
}

static void plant(cr_arena *arena, cri_shape_space *s) {
    *s = (cri_shape_space){.net = {5, 3, 16, 1, 100.0, NULL},
                           .n_code = 2,
                           .n_shape = 2,
                           .scale = 1.5,
                           .slope = 1.2,
                           .lower = {-1, -1, -1},
                           .upper = {1, 1, 1}};
    assert_true(cri_shape_space_push(arena, s));
    cri_random stream = cri_random_of(2, 0);
    cri_skip_net_start(&s->net, 0.5, &stream, s->w);
    const double code[4] = {0.1, 0.2, -0.1, 0.0};
    memcpy(s->code, code, sizeof code);
    (void)snprintf(s->name[0], CRI_SPACE_NAME, "one");
    (void)snprintf(s->name[1], CRI_SPACE_NAME, "two");
}

TEST(spaces_come_back_from_files) {
    cr_arena *arena = cri_arena_create(1 << 16);
    cri_shape_space s, back;
    cr_error err;
    plant(arena, &s);
    const char *path = CAROM_BINARY_DIR "/shape_space_test.h5";
    assert_int_equal(cri_shape_space_write(path, &s, &err), CR_OK);
    assert_int_equal(cri_shape_space_read(path, arena, &back, &err), CR_OK);
    CHECK_INT(back.n_shape, 2);
    CHECK_TEXT(back.name[1], "two");
    CHECK(memcmp(&s.net, &back.net, sizeof s.net) == 0);
    CHECK(memcmp(s.w, back.w, sizeof *s.w * (size_t)cri_skip_net_n_weight(&s.net)) == 0);
    CHECK(memcmp(s.code, back.code, 4 * sizeof *s.code) == 0);
    cri_space_field a, b;
    cri_space_field_make(&s, 2.0, s.code, &a);
    cri_space_field_make(&back, 1.0, s.code, &b);
    cri_vec3 x = cri_v3(0.4, -0.3, 0.7);
    // twice as large, and twice as far away
    CHECK_CLOSE(cri_field_phi(&a.field, cri_v3_scale(2.0, x)), 2.0 * cri_field_phi(&b.field, x),
                1e-14, 0.0);
    (void)remove(path);
    CHECK(cri_shape_space_read(path, arena, &back, &err) != CR_OK);
    cri_arena_destroy(arena);
}

TEST(codes_outside_of_a_space_are_refused) {
    cr_arena *arena = cri_arena_create(1 << 16);
    cri_shape_space s;
    cr_error err = {0};
    plant(arena, &s);
    double lower, upper;
    cri_shape_space_range(&s, 0, &lower, &upper);
    CHECK_CLOSE(lower, -0.2, 1e-14, 0.0);
    CHECK_CLOSE(upper, 0.2, 1e-14, 0.0);
    CHECK_INT(cri_shape_space_check(&s, (double[]){0.0, 0.1}, &err), CR_OK);
    CHECK_INT(cri_shape_space_check(&s, (double[]){0.0, 3.0}, &err), CR_ERR_ARGUMENT);
    CHECK(strstr(err.text, "number 1 of the code is 3, outside of the space"));
    CHECK_INT(cri_shape_space_check(&s, (double[]){NAN, 0.1}, &err), CR_ERR_ARGUMENT);
    cri_arena_destroy(arena);
}

CR_TEST_MAIN(members_of_families_have_the_right_genus,
             points_lie_on_the_mesh_and_chamfer_tells_it_apart, spaces_come_back_from_files,
             codes_outside_of_a_space_are_refused)
