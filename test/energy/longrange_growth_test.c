// SPDX-License-Identifier: MIT
//
// What the long-range potential costs as meshes get finer, in counts that are the same on every
// machine: terms (pairs of triangles and of centres) and pairs of nodes looked at. Exponents and
// ratios alone; times are in `carom experiment lrc-cost`.

#include "cr_test.h"

#include "energy/longrange.h"
#include "longrange_fixture.h"

// what docs/laws/longrange.md says of times, here of counts
#define EXPONENT_MOST 1.15

enum { N_BALL = 16, MAX_GRID = 32 };

typedef struct growth_count {
    double triangles, terms, visits, steps;
} growth_count;

static double exponent_of(double n0, double n1, const growth_count at[2]) {
    return log(n1 / n0) / log(at[1].triangles / at[0].triangles);
}

static void add_result(const cri_longrange_result *r, growth_count *c) {
    c->terms += r->n_exact + r->n_centred;
    c->visits += r->n_visit;
    c->steps += r->n_step;
}

// the rack of the billiards run: 15 balls in a triangle and the cue ball; pitch in diameters
static growth_count count_rack(int n_ball, int n_vertex, double pitch, bool is_brute) {
    static fixture_mesh mesh;
    cr_arena *arena = cri_arena_create(1 << 20);
    cri_longrange_body body[N_BALL];
    cri_longrange_options options = cri_longrange_default();
    growth_count c = {0};
    options.is_brute = is_brute;
    fixture_ball(n_vertex, 0.5, &mesh);
    cri_sphere_tree tree = fixture_tree(CRI_SPHERE_LAYERED, &mesh, arena);
    for (int k = 0; k < n_ball; k++) {
        int i = k < 1 ? 0 : k < 3 ? 1 : k < 6 ? 2 : k < 10 ? 3 : 4, j = k - i * (i + 1) / 2;
        cri_vec3 at = {pitch * (j - 0.5 * i), -0.8661 * pitch * i, 0.0};
        cri_pose pose = fixture_pose(cri_v3(0, 0, 0), k == 15 ? cri_v3(0, 2.2, 0) : at);
        CHECK(cri_longrange_place(&tree, mesh.vertex, &pose, arena, &body[k]));
    }
    for (int k = 0; k < n_ball * n_ball; k++) {
        cri_longrange_result r;
        if (k / n_ball < k % n_ball) {
            cri_longrange_pair(&options, &body[k / n_ball], &body[k % n_ball], CRI_LONGRANGE_VALUE,
                               NULL, &r);
            CHECK(isfinite(r.value));
            add_result(&r, &c);
        }
    }
    c.triangles = (double)n_ball * mesh.n_triangle;
    cri_arena_destroy(arena);
    return c;
}

// 512 and 6208 triangles, as the table is laid and with the balls nearly touching
TEST(a_rack_of_balls_costs_less_than_its_triangles_to_the_1_15) {
    static const double pitch[2] = {1.1, 1.001};
    for (int k = 0; k < 2; k++) {
        growth_count c[2] = {count_rack(N_BALL, 18, pitch[k], false),
                             count_rack(N_BALL, 196, pitch[k], false)};
        CHECK_CLOSE(c[0].triangles, 512, 0.0, 0.0);
        CHECK_CLOSE(c[1].triangles, 6208, 0.0, 0.0);
        CHECK(exponent_of(c[0].terms, c[1].terms, c) < EXPONENT_MOST);
        CHECK(exponent_of(c[0].visits, c[1].visits, c) < EXPONENT_MOST);
        CHECK(exponent_of(c[0].steps, c[1].steps, c) < EXPONENT_MOST);
        // all pairs of triangles of 120 pairs of balls: a hundred times as many
        CHECK(100.0 * c[1].terms < 120.0 * 388.0 * 388.0);
    }
}

// the reference does solve for every pair: the gate above would see it
TEST(all_pairs_cost_their_square) {
    growth_count c[2] = {count_rack(2, 18, 1.001, true), count_rack(2, 48, 1.001, true)};
    CHECK_CLOSE(exponent_of(c[0].terms, c[1].terms, c), 2.0, 0.1, 0.0);
    CHECK(exponent_of(c[0].steps, c[1].steps, c) > 1.7);
}

// two grids on each other, where everything is near: A.2 of paper 002
static growth_count count_grids(int N) {
    static double vertex[3 * (MAX_GRID + 1) * (MAX_GRID + 1)];
    static int triangle[6 * MAX_GRID * MAX_GRID];
    cr_arena *arena = cri_arena_create(1 << 20);
    cri_sphere_tree tree;
    cri_longrange_body body[2];
    cri_longrange_options options = cri_longrange_default();
    cri_longrange_result r;
    growth_count c = {.triangles = 4.0 * N * N};
    for (int i = 0; i < (N + 1) * (N + 1); i++) {
        int row = i / (N + 1), column = i % (N + 1);
        cri_v3_store(cri_v3(column, row, 0.0), vertex + 3 * (size_t)i);
    }
    for (int i = 0; i < N * N; i++) {
        int at = i / N * (N + 1) + i % N, *t = triangle + 6 * (size_t)i;
        t[0] = t[3] = at;
        t[1] = at + 1;
        t[2] = t[4] = at + N + 2;
        t[5] = at + N + 1;
    }
    CHECK_INT(cri_sphere_tree_build(CRI_SPHERE_LAYERED, (N + 1) * (N + 1), vertex, 2 * N * N,
                                    triangle, arena, &tree, NULL),
              CR_OK);
    for (int k = 0; k < 2; k++) {
        cri_pose pose = fixture_pose(cri_v3(0, 0, 0), cri_v3(0, 0, 1e-5 * k));
        CHECK(cri_longrange_place(&tree, vertex, &pose, arena, &body[k]));
    }
    cri_longrange_pair(&options, &body[0], &body[1], CRI_LONGRANGE_VALUE, NULL, &r);
    add_result(&r, &c);
    cri_arena_destroy(arena);
    return c;
}

TEST(facing_grids_cost_less_than_their_triangles_to_the_1_15) {
    growth_count c[2] = {count_grids(MAX_GRID / 2), count_grids(MAX_GRID)};
    CHECK(exponent_of(c[0].terms, c[1].terms, c) < EXPONENT_MOST);
    CHECK(exponent_of(c[0].visits, c[1].visits, c) < EXPONENT_MOST);
    CHECK(exponent_of(c[0].steps, c[1].steps, c) < EXPONENT_MOST);
}

CR_TEST_MAIN(a_rack_of_balls_costs_less_than_its_triangles_to_the_1_15, all_pairs_cost_their_square,
             facing_grids_cost_less_than_their_triangles_to_the_1_15)
