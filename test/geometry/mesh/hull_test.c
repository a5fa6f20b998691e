// SPDX-License-Identifier: MIT
//
// Convex hulls: known solids, random clouds, and clouds that break careless code. Every hull must
// be a polyhedron around all of its points.

#include "geometry/mesh/hull.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/math/quat.h"
#include "cr_test.h"

// 2 pi/(golden ratio)^2: the angle between neighbours of a sunflower
#define GOLDEN_ANGLE 2.39996322972865332

enum { N_MAX = 4000 };

static cr_arena *arena;
static double point[3 * N_MAX];
static int n_point;

static void begin(void) {
    cri_arena_destroy(arena);
    arena = cri_arena_create(1 << 16);
    assert_non_null(arena);
    n_point = 0;
}

static void add(double x, double y, double z) {
    assert_true(n_point < N_MAX);
    cri_v3_store(cri_v3(x, y, z), point + 3 * n_point++);
}

static void add_box(double x, double y, double z) {
    for (int i = 0; i < 8; i++) {
        add(i & 1 ? x : -x, i & 2 ? y : -y, i & 4 ? z : -z);
    }
}

static void turn(cri_vec3 rotation, cri_vec3 shift) {
    cri_so3 r = cri_so3_of(rotation);
    for (int i = 0; i < n_point; i++) {
        cri_vec3 p = cri_so3_rotate(&r, cri_v3_load(point + 3 * i));
        cri_v3_store(cri_v3_add(p, shift), point + 3 * i);
    }
}

// ---- what every hull must be -------------------------------------------------------------------

static double size_of_cloud(void) {
    double size = 0.0;
    for (int i = 0; i < n_point; i++) {
        cri_vec3 d = cri_v3_sub(cri_v3_load(point + 3 * i), cri_v3_load(point));
        size = fmax(size, cri_v3_norm(d));
    }
    return size;
}

// the largest height of a point above a face, over the size
static double largest_excess(const cri_hull *h) {
    double excess = -INFINITY;
    for (int f = 0; f < h->n_face; f++) {
        cri_vec3 n = cri_v3_load(h->face_normal + 3 * f);
        for (int i = 0; i < n_point; i++) {
            excess = fmax(excess, cri_v3_dot(n, cri_v3_load(point + 3 * i)) - h->face_offset[f]);
        }
    }
    return excess / size_of_cloud();
}

// largest distance of a corner from the plane of its face, over the size
static double largest_bend(const cri_hull *h) {
    double bend = 0.0;
    for (int f = 0; f < h->n_face; f++) {
        for (int i = h->face_start[f]; i < h->face_start[f + 1]; i++) {
            cri_vec3 p = cri_v3_load(h->vertex + 3 * h->face_vertex[i]);
            double height = cri_v3_dot(cri_v3_load(h->face_normal + 3 * f), p);
            bend = fmax(bend, fabs(height - h->face_offset[f]));
        }
    }
    return bend / size_of_cloud();
}

static bool has_side(const cri_hull *h, int face, int a, int b) {
    int begin_at = h->face_start[face];
    int n = h->face_start[face + 1] - begin_at;
    for (int i = 0; i < n; i++) {
        if (h->face_vertex[begin_at + i] == a && h->face_vertex[begin_at + (i + 1) % n] == b) {
            return true;
        }
    }
    return false;
}

static bool has_link(const cri_hull *h, int from, int to) {
    for (int i = h->link_start[from]; i < h->link_start[from + 1]; i++) {
        if (h->link[i] == to) {
            return true;
        }
    }
    return false;
}

static void check_topology(const cri_hull *h) {
    CHECK_INT(h->n_vertex - h->n_edge + h->n_face, 2);
    CHECK_INT(h->face_start[0], 0);
    CHECK_INT(h->face_start[h->n_face], 2 * h->n_edge);
    CHECK_INT(h->link_start[h->n_vertex], 2 * h->n_edge);
    for (int e = 0; e < h->n_edge; e++) {
        const int *row = h->edge + 4 * e;
        bool is_good = row[0] < row[1] && row[2] != row[3] && has_side(h, row[2], row[0], row[1]) &&
                       has_side(h, row[3], row[1], row[0]) && has_link(h, row[0], row[1]) &&
                       has_link(h, row[1], row[0]);
        if (!CHECK(is_good)) {
            return;
        }
    }
    for (int v = 0; v < h->n_vertex; v++) {
        CHECK(h->link_start[v + 1] - h->link_start[v] >= 3);
    }
}

static const cri_hull *build(void) {
    const cri_hull *h = NULL;
    cr_error err = {0};
    if (cri_hull_build(n_point, point, arena, &h, &err) != CR_OK) {
        cr_test_fail("%s", err.text);
        assert_non_null(h);
    }
    check_topology(h);
    // offsets are the largest height of all vertices, so what is left is rounding of products
    CHECK(largest_excess(h) <= 1e-12);
    for (int f = 0; f < h->n_face; f++) {
        cri_vec3 n = cri_v3_load(h->face_normal + 3 * f);
        CHECK_CLOSE(cri_v3_norm(n), 1.0, 4e-16, 0.0); // rounding of a division
        CHECK(cri_v3_dot(n, cri_v3_load(h->centre)) < h->face_offset[f]);
    }
    double radius = 0.0;
    for (int v = 0; v < h->n_vertex; v++) {
        radius = fmax(radius, cri_v3_norm(cri_v3_load(h->vertex + 3 * v)));
    }
    CHECK_CLOSE(h->radius, radius, 0.0, 0.0);
    return h;
}

static void check_counts(const cri_hull *h, int n_vertex, int n_edge, int n_face) {
    CHECK_INT(h->n_vertex, n_vertex);
    CHECK_INT(h->n_edge, n_edge);
    CHECK_INT(h->n_face, n_face);
}

// ---- solids ------------------------------------------------------------------------------------

TEST(a_tetrahedron_is_its_own_hull) {
    begin();
    add(0, 0, 0), add(1, 0, 0), add(0, 1, 0), add(0, 0, 1);
    const cri_hull *h = build();
    check_counts(h, 4, 6, 4);
    // the slanted face: normal (1, 1, 1)/sqrt 3 at distance 1/sqrt 3
    double slanted = 0.0;
    for (int f = 0; f < 4; f++) {
        slanted = fmax(slanted, h->face_offset[f]);
    }
    CHECK_CLOSE(slanted, 1.0 / sqrt(3.0), 0.0, 1e-15); // rounding of a square root and a product
}

TEST(a_cube_has_six_square_faces) {
    begin();
    add_box(1, 2, 3);
    const cri_hull *h = build();
    check_counts(h, 8, 12, 6);
    for (int f = 0; f < 6; f++) {
        CHECK_INT(h->face_start[f + 1] - h->face_start[f], 4);
    }
    CHECK(largest_bend(h) == 0.0);
}

TEST(points_in_and_on_a_cube_change_nothing) {
    begin();
    for (int i = 0; i < 9 * 9 * 9; i++) {
        add(i % 9 - 4, i / 9 % 9 - 4, i / 81 - 4);
    }
    add_box(4, 4, 4);
    check_counts(build(), 8, 12, 6);
}

TEST(a_turned_cube_of_points_is_still_a_cube) {
    for (int round = 0; round < 20; round++) {
        begin();
        for (int i = 0; i < 6 * 6 * 6; i++) {
            add(0.1 * (i % 6), 0.1 * (i / 6 % 6), 0.1 * (i / 36));
        }
        turn(cri_v3(0.3 + round, 0.2 * round, -0.5), cri_v3(3, -2, 0.1 * round));
        check_counts(build(), 8, 12, 6);
    }
}

TEST(a_cube_in_single_precision_is_still_a_cube) {
    for (int round = 0; round < 20; round++) {
        begin();
        add_box(0.1, 0.2, 0.3);
        turn(cri_v3(0.1 + round, 0.7, -0.2 * round), cri_v3(0.05, 0.02, 0));
        for (int i = 0; i < 3 * n_point; i++) {
            point[i] = (double)(float)point[i];
        }
        const cri_hull *h = build();
        check_counts(h, 8, 12, 6);
        CHECK(largest_bend(h) < 2e-7); // a few roundings of 2^-24
    }
}

TEST(an_icosahedron_has_twenty_faces) {
    const double g = 0.5 * (1.0 + sqrt(5.0));
    begin();
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 4; i++) {
            double p[3];
            p[k] = 0.0;
            p[(k + 1) % 3] = i & 1 ? 1.0 : -1.0;
            p[(k + 2) % 3] = i & 2 ? g : -g;
            add(p[0], p[1], p[2]);
        }
    }
    const cri_hull *h = build();
    check_counts(h, 12, 30, 20);
    for (int f = 0; f < 20; f++) {
        // inscribed sphere for edges of length 2: g^2/sqrt 3
        CHECK_CLOSE(h->face_offset[f], g * g / sqrt(3.0), 0.0, 1e-14);
    }
}

TEST(a_prism_of_many_sides_keeps_its_caps) {
    begin();
    enum { N = 64 };
    for (int i = 0; i < 2 * N; i++) {
        double angle = 2.0 * acos(-1.0) * (i % N) / N;
        add(cos(angle), sin(angle), i < N ? -0.5 : 0.5);
    }
    turn(cri_v3(1, 2, 3), cri_v3(0, 0, 7));
    check_counts(build(), 2 * N, 3 * N, N + 2);
}

// ---- clouds ------------------------------------------------------------------------------------

TEST(all_points_of_a_sphere_are_on_its_hull) {
    begin();
    enum { N = 2000 };
    for (int i = 0; i < N; i++) {
        double z = 1.0 - (2.0 * i + 1.0) / N;
        double r = sqrt(1.0 - z * z);
        add(r * cos(GOLDEN_ANGLE * i), r * sin(GOLDEN_ANGLE * i), z);
    }
    const cri_hull *h = build();
    CHECK_INT(h->n_vertex, N);
    CHECK_INT(h->n_face, 2 * N - 4);
    CHECK_CLOSE(h->radius, 1.0, 0.0, 1e-15); // rounding of a root
}

TEST(random_clouds_are_enclosed) {
    cr_test_rng rng = cr_test_rng_of(11);
    for (int round = 0; round < 30; round++) {
        begin();
        int n = 4 + round * round * 2;
        for (int i = 0; i < n; i++) {
            double x = cr_test_uniform(&rng, -1, 1);
            double y = cr_test_uniform(&rng, -1, 1);
            add(x, y, cr_test_uniform(&rng, -1, 1));
        }
        const cri_hull *h = build();
        CHECK(largest_bend(h) < 2e-7);
    }
}

// coordinates of few digits are full of duplicates, lines and planes
TEST(clouds_on_a_coarse_grid_are_enclosed) {
    cr_test_rng rng = cr_test_rng_of(12);
    for (int round = 0; round < 200; round++) {
        begin();
        add_box(1, 1, 1);
        for (int i = 0; i < 100; i++) {
            double x = rint(cr_test_uniform(&rng, -3, 3));
            double y = rint(cr_test_uniform(&rng, -3, 3));
            add(x, y, rint(cr_test_uniform(&rng, -3, 3)));
        }
        if (round % 2) {
            turn(cri_v3(round, 1, 2), cri_v3(1, 1, 1));
        }
        CHECK(largest_bend(build()) < 2e-7);
    }
}

// points that nearly lie in a plane, on a line or in one place, at every size of noise
TEST(noisy_cubes_of_every_noise_are_enclosed) {
    cr_test_rng rng = cr_test_rng_of(13);
    for (int round = 0; round < 160; round++) {
        begin();
        double noise = pow(10.0, -(round % 16) - 1);
        for (int i = 0; i < 5 * 5 * 5; i++) {
            double x = i % 5 + noise * cr_test_uniform(&rng, -1, 1);
            double y = i / 5 % 5 + noise * cr_test_uniform(&rng, -1, 1);
            add(x, y, i / 25 + noise * cr_test_uniform(&rng, -1, 1));
        }
        const cri_hull *h = build();
        if (noise < 1e-8) {
            check_counts(h, 8, 12, 6);
        }
    }
}

TEST(a_cloud_of_any_scale_has_the_same_hull) {
    begin();
    add_box(1, 1, 1);
    add(0.3, 0.2, 1.5);
    const cri_hull *h = build();
    for (int exponent = -200; exponent <= 200; exponent += 100) {
        double scaled[3 * 9];
        for (int i = 0; i < 27; i++) {
            scaled[i] = ldexp(point[i], exponent);
        }
        const cri_hull *other = NULL;
        cr_error err;
        if (CHECK(cri_hull_build(9, scaled, arena, &other, &err) == CR_OK)) {
            CHECK_INT(other->n_face, h->n_face);
            CHECK(memcmp(other->face_vertex, h->face_vertex,
                         (size_t)h->face_start[h->n_face] * sizeof(int)) == 0);
        }
    }
}

TEST(thin_plates_and_needles_are_enclosed) {
    begin();
    add_box(1, 1, 1e-5);
    check_counts(build(), 8, 12, 6);
    begin();
    add_box(1, 1e-4, 1e-5);
    turn(cri_v3(1, 2, 3), cri_v3(0, 0, 0));
    check_counts(build(), 8, 12, 6);
}

// ---- refusals ----------------------------------------------------------------------------------

static void refuse(const char *message) {
    const cri_hull *h = (const cri_hull *)1;
    cr_error err = {0};
    CHECK_INT(cri_hull_build(n_point, point, arena, &h, &err), CR_ERR_ARGUMENT);
    CHECK(h == NULL);
    CHECK_TEXT(err.text, message);
    CHECK_INT(err.line, 0);
}

TEST(flat_clouds_are_refused) {
    begin();
    add(0, 0, 0), add(1, 0, 0), add(0, 1, 0);
    refuse("3 points enclose no volume: a convex hull needs four or more");
    add(1, 1, 0);
    refuse("all 4 points lie in one plane and enclose no volume: use a mesh with thickness");
    turn(cri_v3(1, 2, 3), cri_v3(5, 6, 7));
    refuse("all 4 points lie in one plane and enclose no volume: use a mesh with thickness");
    begin();
    for (int i = 0; i < 9; i++) {
        add(0.1 * i, 0.2 * i, 0.3 * i);
    }
    refuse("all 9 points lie on one line and enclose no volume: use a mesh with thickness");
    begin();
    for (int i = 0; i < 5; i++) {
        add(1, 2, 3);
    }
    refuse("all 5 points lie in one place and enclose no volume: use a mesh with thickness");
    point[4] = NAN;
    refuse("a point of the convex hull is not finite");
    cri_arena_destroy(arena);
    arena = NULL;
}

CR_TEST_MAIN(a_tetrahedron_is_its_own_hull, a_cube_has_six_square_faces,
             points_in_and_on_a_cube_change_nothing, a_turned_cube_of_points_is_still_a_cube,
             a_cube_in_single_precision_is_still_a_cube, an_icosahedron_has_twenty_faces,
             a_prism_of_many_sides_keeps_its_caps, all_points_of_a_sphere_are_on_its_hull,
             random_clouds_are_enclosed, clouds_on_a_coarse_grid_are_enclosed,
             noisy_cubes_of_every_noise_are_enclosed, a_cloud_of_any_scale_has_the_same_hull,
             thin_plates_and_needles_are_enclosed, flat_clouds_are_refused)
