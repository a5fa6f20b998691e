// SPDX-License-Identifier: MIT

#include "geometry/mesh/hull_tree.h"

#include "base/random.h"
#include "cr_test.h"
#include "geometry/mesh/hull.h"

#include <math.h>
#include <stdlib.h>

enum { N = 400, N_QUESTION = 2000 };

// a prism of two rims, or points all over a ball
static const cri_hull *make(bool is_prism, cr_arena *arena) {
    static double point[6 * N];
    cri_random r = cri_random_of(3, 0);
    for (int i = 0; i < 2 * N; i++) {
        double angle = 2.0 * acos(-1.0) * (i % N + 0.5) / N;
        cri_vec3 x = cri_v3(0.1 * cos(angle), 0.1 * sin(angle), i < N ? -0.05 : 0.05);
        if (!is_prism) {
            x = cri_v3(cri_random_normal(&r), cri_random_normal(&r), cri_random_normal(&r));
            x = cri_v3_scale(0.1 / cri_v3_norm(x), x);
        }
        cri_v3_store(x, point + 3 * i);
    }
    const cri_hull *hull = NULL;
    cr_error err = {0};
    CHECK_INT(cri_hull_build(2 * N, point, arena, &hull, &err), CR_OK);
    return hull;
}

static cri_vec3 direction(cri_random *r) {
    cri_vec3 d = cri_v3(cri_random_normal(r), cri_random_normal(r), cri_random_normal(r));
    return cri_v3_scale(1.0 / cri_v3_norm(d), d);
}

static double along(const cri_hull *hull, cri_vec3 d, int i) {
    return cri_v3_dot(d, cri_v3_load(hull->vertex + 3 * i));
}

// answers to one question, all vertices looked at
static void check_question(const cri_hull *hull, cri_vec3 d, cri_vec3 z, double limit) {
    cri_hull_part part = cri_hull_part_of(hull, z, limit);
    double most = -INFINITY, least = INFINITY;
    int n_below = 0, list[9], end[2];
    for (int i = 0; i < hull->n_vertex; i++) {
        bool is_below = along(hull, z, i) <= limit;
        n_below += is_below;
        most = is_below ? fmax(most, along(hull, d, i)) : most;
        least = is_below ? fmin(least, along(hull, d, i)) : least;
    }
    int n = cri_hull_below(&part, 9, list);
    CHECK_INT(n, n_below < 9 ? n_below : 9);
    for (int k = 0; k < n; k++) {
        CHECK(along(hull, z, list[k]) <= limit);
    }
    int far = cri_hull_farthest(&part, d, -INFINITY);
    cri_hull_ends(&part, d, end);
    CHECK_INT(end[1], far);
    CHECK((far < 0) == (n_below == 0));
    if (far >= 0) {
        // rounding of places 0.1 m from the origin
        CHECK(along(hull, z, far) <= limit && along(hull, z, end[0]) <= limit);
        CHECK(fabs(along(hull, d, far) - most) <= 2e-15);
        CHECK(fabs(along(hull, d, end[0]) - least) <= 2e-15);
        CHECK_INT(cri_hull_farthest(&part, d, most), -1);
    }
}

TEST(a_tree_answers_as_all_vertices_do) {
    cri_random r = cri_random_of(1, 0);
    for (int k = 0; k < 2; k++) {
        cr_arena *arena = cri_arena_create(1 << 16);
        const cri_hull *hull = make(k == 0, arena);
        CHECK(hull->tree_order != NULL);
        for (int i = 0; i < N_QUESTION; i++) {
            // every second question is that of a body which lies flat, but for a little tilt
            cri_vec3 z = direction(&r), d = direction(&r);
            double tilt = i % 4 == 0 ? 0.0 : 1e-4;
            z = i % 2 ? z : cri_v3(tilt * z.x, tilt * z.y, 1.0);
            double limit = i % 2 ? cri_random_uniform(&r, -0.12, 0.12) : -0.05 + 1e-5;
            check_question(hull, d, z, i % 32 == 31 ? INFINITY : limit);
        }
        cri_arena_destroy(arena);
    }
}

TEST(few_vertices_need_no_tree) {
    static const double corner[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    cr_arena *arena = cri_arena_create(1 << 12);
    const cri_hull *hull = NULL;
    cr_error err = {0};
    CHECK_INT(cri_hull_build(4, corner, arena, &hull, &err), CR_OK);
    CHECK(!hull->tree_order);
    check_question(hull, cri_v3(1.0, 0.5, 0.2), cri_v3(0.0, 0.0, 1.0), 0.5);
    cri_arena_destroy(arena);
}

CR_TEST_MAIN(a_tree_answers_as_all_vertices_do, few_vertices_need_no_tree)
