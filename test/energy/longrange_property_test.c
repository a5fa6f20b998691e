// SPDX-License-Identifier: MIT
//
// The four properties of the long-range potential on meshes that are random, linked or nearly
// touching: it is infinite where they meet and finite elsewhere, twice differentiable across every
// border, never pulls, and never vanishes. And what holds it together: planes that are remembered,
// memory, bad input.

#include "cr_test.h"

#include "alloc_wrap.h"
#include "energy/longrange.h"
#include "longrange_fixture.h"
#include "narrow_fixture.h"

#include <stdlib.h>
#include <string.h>

enum { N_SLOT = 1 << 12 };

/// Two bodies with what they stand on.
static struct {
    cr_arena *arena, *scratch;
    fixture_mesh mesh[2];
    cri_sphere_tree tree[2];
    cri_pose pose[2];
    cri_longrange_body body[2];
    cri_longrange_options options;
    cri_longrange_result result;
} now;

static void plant(cri_sphere_kind kind) {
    now.options = cri_longrange_default();
    now.arena = cri_arena_create(1 << 18);
    now.scratch = cri_arena_create(1 << 18);
    for (int k = 0; k < 2; k++) {
        now.tree[k] = fixture_tree(kind, &now.mesh[k], now.arena);
    }
}

static void fell(void) {
    cri_arena_destroy(now.arena);
    cri_arena_destroy(now.scratch);
}

static const cri_longrange_result *evaluate(cri_longrange_order order, cri_longrange_warm *warm) {
    cri_arena_reset(now.scratch);
    for (int k = 0; k < 2; k++) {
        CHECK(cri_longrange_place(&now.tree[k], now.mesh[k].vertex, &now.pose[k], now.scratch,
                                  &now.body[k]));
    }
    cri_longrange_pair(&now.options, &now.body[0], &now.body[1], order, warm, &now.result);
    return &now.result;
}

static bool do_meet(void) {
    static double world[2][3 * FIXTURE_MESH_VERTEX];
    for (int k = 0; k < 2; k++) {
        fixture_world(&now.mesh[k], &now.pose[k], world[k]);
    }
    return fixture_meshes_meet(&now.mesh[0], world[0], &now.mesh[1], world[1]);
}

static cri_pose random_pose(cr_test_rng *rng, double reach) {
    cri_vec3 axis = fixture_direction(rng), way = fixture_direction(rng);
    double angle = cr_test_uniform(rng, 0, 3), far = cr_test_uniform(rng, 0, reach);
    return fixture_pose(cri_v3_scale(angle, axis), cri_v3_scale(far, way));
}

// ---- barrier -----------------------------------------------------------------------------------

/// Random poses of both, near each other: infinite if and only if an edge pierces a triangle.
static void check_barrier(cr_test_rng *rng, int n, double reach) {
    int n_meet = 0;
    for (int i = 0; i < n; i++) {
        now.pose[0] = random_pose(rng, 0.1);
        now.pose[1] = random_pose(rng, reach);
        double value = evaluate(CRI_LONGRANGE_VALUE, NULL)->value;
        bool is_met = do_meet();
        n_meet += is_met;
        CHECK(isinf(value) == is_met);
        CHECK(value > 0.0);
    }
    CHECK(n_meet > n / 10 && n_meet < n - n / 10);
}

TEST(it_is_infinite_where_surfaces_meet_and_nowhere_else) {
    cr_test_rng rng = cr_test_rng_of(21);
    for (int kind = CRI_SPHERE_LAYERED; kind <= CRI_SPHERE_WRAPPED; kind++) {
        fixture_box(1.0, 0.6, 0.4, &now.mesh[0]);
        fixture_box(0.8, 0.5, 0.7, &now.mesh[1]);
        plant((cri_sphere_kind)kind);
        check_barrier(&rng, 150, 1.4);
        fell();
        // rings go through each other, so that no plane separates them
        fixture_ring(10, 4, 1.0, 0.2, &now.mesh[0]);
        fixture_ring(8, 3, 1.0, 0.2, &now.mesh[1]);
        plant((cri_sphere_kind)kind);
        check_barrier(&rng, 60, 1.5);
        fell();
    }
}

// a corner comes down on a face: P grows like 12 ell/D, D between the gap and three of it
TEST(it_grows_without_bound_as_a_corner_comes_down) {
    fixture_box(1.0, 1.0, 1.0, &now.mesh[0]);
    fixture_box(1.0, 1.0, 1.0, &now.mesh[1]);
    plant(CRI_SPHERE_LAYERED);
    now.pose[1] = fixture_pose(cri_v3(0, 0, 0), cri_v3(0, 0, 0));
    double previous = 0.0;
    for (double gap = 0.1; gap > 2e-8; gap *= 0.1) {
        // lowest corner of the turned box at its gap over the face, inside of it
        now.pose[0] = fixture_pose(cri_v3(0.5, 0.4, 0.1), cri_v3(0.1, 0.05, 0));
        static double world[3 * FIXTURE_MESH_VERTEX];
        fixture_world(&now.mesh[0], &now.pose[0], world);
        double low = INFINITY;
        for (int i = 0; i < 8; i++) {
            low = fmin(low, world[3 * i + 2]);
        }
        now.pose[0].pos.z += 0.5 + gap - low;
        const cri_longrange_result *r = evaluate(CRI_LONGRANGE_HESSIAN, NULL);
        CHECK(isfinite(r->value) && r->value > previous && r->value >= 4.0 / gap);
        CHECK(r->g[5] < 0.0 && r->H[12 * 5 + 5] > 0.0);
        CHECK(cri_all_finite(144, r->H));
        previous = r->value;
    }
    now.pose[0].pos.z -= 1e-6;
    CHECK(isinf(evaluate(CRI_LONGRANGE_VALUE, NULL)->value));
    fell();
}

// ---- twice differentiable ----------------------------------------------------------------------

/// Largest change of second derivatives in one of n steps of the second body along a line.
static double largest_change(int n, cri_vec3 way, double from, double to) {
    cri_vec3 start = now.pose[1].pos;
    static double last[144];
    double most = 0.0;
    for (int i = 0; i <= n; i++) {
        double at = from + (to - from) * i / n;
        now.pose[1].pos = cri_v3_mad(start, at, way);
        const cri_longrange_result *r = evaluate(CRI_LONGRANGE_HESSIAN, NULL);
        for (int k = 0; k < 144; k++) {
            most = fmax(most, i ? fabs(r->H[k] - last[k]) : 0.0);
            last[k] = r->H[k];
        }
    }
    now.pose[1].pos = start;
    return most;
}

// Steps a tenth as long change them a tenth as much, whatever borders of shells, and of corners,
// edges and faces, they cross. A jump would stay.
static void check_smooth(cri_vec3 way, double from, double to) {
    double coarse = largest_change(120, way, from, to);
    double fine = largest_change(1200, way, from, to);
    CHECK(fine < 0.15 * coarse);
}

TEST(second_derivatives_are_continuous_across_all_borders) {
    const cri_vec3 way = {0.6, 0.64, 0.48};
    for (int kind = CRI_SPHERE_LAYERED; kind <= CRI_SPHERE_WRAPPED; kind++) {
        fixture_box(1.0, 0.6, 0.4, &now.mesh[0]);
        fixture_box(0.8, 0.5, 0.7, &now.mesh[1]);
        plant((cri_sphere_kind)kind);
        now.pose[0] = fixture_pose(cri_v3(0.3, -0.2, 0.5), cri_v3(0, 0, 0));
        now.pose[1] = fixture_pose(cri_v3(-0.4, 0.3, 0.2), cri_v3(0, 0, 0));
        check_smooth(way, 1.2, 1.5);
        check_smooth(way, 1.5, 1.9);
        check_smooth(way, 1.9, 2.4);
        // borders of the root's own shell, where a jump would be largest: a hundredth of the step
        double d1 = now.tree[0].radius[0] + now.tree[1].radius[0];
        for (int k = 0; k < 2; k++) {
            double at = k ? (1.0 + now.options.eps) * d1 : d1;
            CHECK(largest_change(1, way, at - 1e-8, at + 1e-8) <
                  0.02 * largest_change(1, way, at - 1e-6, at + 1e-6));
        }
        fell();
    }
}

// A corner slides over a face, across its diagonal and its edge, and down beside it: the closest
// pieces change three times.
TEST(second_derivatives_are_continuous_where_a_corner_leaves_a_face) {
    fixture_box(1.0, 1.0, 1.0, &now.mesh[0]);
    fixture_box(1.0, 1.0, 1.0, &now.mesh[1]);
    plant(CRI_SPHERE_LAYERED);
    now.pose[0] = fixture_pose(cri_v3(0, 0, 0), cri_v3(0, 0, 0));
    now.pose[1] = fixture_pose(cri_v3(0.5, 0.4, 0.1), cri_v3(0.1, 0.05, 1.37));
    CHECK(isfinite(evaluate(CRI_LONGRANGE_VALUE, NULL)->value) && now.result.value > 500.0);
    check_smooth(cri_v3(1, 0.2, 0), 0.0, 0.6);
    check_smooth(cri_v3(1, 0, -0.3), 0.6, 1.0);
    fell();
}

// ---- pushes alone ------------------------------------------------------------------------------

/// f lies in the cone of x_i - y_j, by three of them (Caratheodory), up to a part of its length.
static bool is_in_cone(cri_vec3 f, int n, const cri_vec3 *edge) {
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            cri_vec3 c = cri_v3_cross(edge[i], edge[j]), cf = cri_v3_cross(f, edge[j]);
            cri_vec3 ci = cri_v3_cross(edge[i], f);
            for (int k = 0; k < j; k++) {
                double det = cri_v3_dot(edge[k], c);
                double a = cri_v3_dot(f, c) / det, b = cri_v3_dot(edge[k], cf) / det;
                double d = cri_v3_dot(edge[k], ci) / det;
                if (a >= 0.0 && b >= 0.0 && d >= 0.0) {
                    return true;
                }
            }
        }
    }
    return false;
}

/// Every vertex of two convex meshes apart is pushed along some x_i - y_j, away from the other.
static void check_pushes(void) {
    static double adj[2][3 * FIXTURE_MESH_VERTEX], world[2][3 * FIXTURE_MESH_VERTEX];
    static cri_vec3 edge[64];
    memset(adj, 0, sizeof adj);
    CHECK(isfinite(evaluate(CRI_LONGRANGE_VALUE, NULL)->value));
    static const double still[12];
    cri_longrange_shape_adj out = {{adj[0], adj[1]}, false};
    CHECK(cri_longrange_shape_vjp(&now.options, now.body, NULL, 1.0, still, &out, now.scratch));
    int n = 0;
    for (int k = 0; k < 2; k++) {
        fixture_world(&now.mesh[k], &now.pose[k], world[k]);
    }
    for (int i = 0; i < 8; i++) {
        for (int j = 0; j < 8; j++) {
            edge[n++] = cri_v3_sub(cri_v3_load(world[0] + 3 * i), cri_v3_load(world[1] + 3 * j));
        }
    }
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 8; i++) {
            cri_vec3 g = cri_m3_mul(&now.pose[k].R, cri_v3_load(adj[k] + 3 * i));
            CHECK(cri_v3_norm(g) > 0.0);
            CHECK(is_in_cone(cri_v3_scale(k ? 1.0 : -1.0, g), n, edge));
        }
    }
}

TEST(every_vertex_is_pushed_away_and_none_is_left_out) {
    cr_test_rng rng = cr_test_rng_of(22);
    for (int kind = CRI_SPHERE_LAYERED; kind <= CRI_SPHERE_WRAPPED; kind++) {
        fixture_box(1.0, 0.6, 0.4, &now.mesh[0]);
        fixture_box(0.8, 0.5, 0.7, &now.mesh[1]);
        plant((cri_sphere_kind)kind);
        for (int i = 0; i < 36; i++) {
            // from nearly touching to beyond the last shell, by every kind of cluster
            static const double gap[] = {1e-4, 1e-2, 0.1, 0.3, 1.0, 30.0};
            now.pose[0] = random_pose(&rng, 0.2);
            now.pose[1] = random_pose(&rng, 0.2);
            static double world[2][3 * FIXTURE_MESH_VERTEX];
            cri_vec3 way = fixture_direction(&rng);
            double low = INFINITY, high = -INFINITY;
            for (int k = 0; k < 2; k++) {
                fixture_world(&now.mesh[k], &now.pose[k], world[k]);
            }
            for (int v = 0; v < 8; v++) {
                low = fmin(low, cri_v3_dot(way, cri_v3_load(world[0] + 3 * v)));
                high = fmax(high, cri_v3_dot(way, cri_v3_load(world[1] + 3 * v)));
            }
            now.pose[0].pos = cri_v3_mad(now.pose[0].pos, high - low + gap[i % 6], way);
            now.options.clusters = (cri_longrange_clusters)(i / 6 % 3);
            now.options.has_constant = i < 18;
            if (now.options.clusters != CRI_CLUSTERS_WHOLE || kind == CRI_SPHERE_LAYERED) {
                check_pushes();
            }
        }
        fell();
    }
}

// ---- never vanishes ----------------------------------------------------------------------------

TEST(bodies_a_million_sizes_apart_still_push) {
    fixture_box(1.0, 0.6, 0.4, &now.mesh[0]);
    fixture_ball(48, 0.5, &now.mesh[1]);
    plant(CRI_SPHERE_LAYERED);
    now.pose[0] = fixture_pose(cri_v3(0.3, -0.2, 0.5), cri_v3(0, 0, 0));
    double previous = -INFINITY;
    for (double far = 10.0; far < 2e6; far *= 10.0) {
        now.pose[1] = fixture_pose(cri_v3(0, 0.2, 0), cri_v3(0, far, 0));
        const cri_longrange_result *r = evaluate(CRI_LONGRANGE_HESSIAN, NULL);
        double C[3];
        cri_centred_potential(far, now.options.ell, C);
        CHECK_INT(r->n_centred, 1);
        CHECK_CLOSE(r->g[10], C[1], 0, 1e-12 + 1.0 / far);
        CHECK(r->g[10] < 0.0 && r->g[10] > previous);
        CHECK(r->H[12 * 10 + 10] > 0.0);
        previous = r->g[10];
        cri_half_space wall = {{0, -1, 0}, -far};
        cri_longrange_half_result half;
        cri_longrange_half(&now.options, &now.body[0], &wall, CRI_LONGRANGE_HESSIAN, &half);
        CHECK(half.g[4] > 0.0 && half.H[6 * 4 + 4] > 0.0);
    }
    fell();
}

// ---- what holds it together --------------------------------------------------------------------

// so that blending never lowers the barrier: the cluster is below what it replaces
TEST(a_cluster_is_below_its_parts_in_every_shell) {
    cr_test_rng rng = cr_test_rng_of(23);
    for (int k = 0; k < 10; k++) {
        fixture_box(1.0, 0.6, 0.4, &now.mesh[0]);
        fixture_ball(18, 0.5, &now.mesh[1]);
        bool is_whole = k >= 8; // of layered spheres alone
        plant(!is_whole && k & 1 ? CRI_SPHERE_WRAPPED : CRI_SPHERE_LAYERED);
        now.options.clusters = is_whole ? CRI_CLUSTERS_WHOLE
                               : k & 2  ? CRI_CLUSTERS_COUNTED
                                        : CRI_CLUSTERS_SINGLE;
        now.options.has_constant = is_whole ? k == 9 : k & 4;
        double worst = 0.0;
        for (int i = 0; i < 40; i++) {
            now.pose[0] = random_pose(&rng, 0.1);
            now.pose[1] = random_pose(&rng, 2.0);
            if (isfinite(evaluate(CRI_LONGRANGE_VALUE, NULL)->value)) {
                worst = fmax(worst, now.result.worst_drop);
            }
        }
        CHECK(worst > 0.3 && worst < 1.0);
        fell();
    }
}

// so that a descent from afar meets a small hill at most: far away they are the sum over all pairs
TEST(whole_clusters_push_as_their_triangles_do) {
    fixture_box(1.0, 0.6, 0.4, &now.mesh[0]);
    fixture_ball(18, 0.5, &now.mesh[1]);
    plant(CRI_SPHERE_LAYERED);
    now.pose[0] = fixture_pose(cri_v3(0.3, -0.2, 0.5), cri_v3(0, 0, 0));
    for (double far = 10.0; far < 2e4; far *= 10.0) {
        now.pose[1] = fixture_pose(cri_v3(0, 0.2, 0), cri_v3(0, far, 0));
        now.options.clusters = CRI_CLUSTERS_WHOLE;
        double whole = evaluate(CRI_LONGRANGE_GRADIENT, NULL)->g[10];
        CHECK_INT(now.result.n_centred, 1);
        now.options.is_brute = true;
        double all = evaluate(CRI_LONGRANGE_GRADIENT, NULL)->g[10];
        now.options.is_brute = false;
        CHECK(whole < 0.0 && whole > all); // they push as if they were farther
        CHECK_CLOSE(whole, all, 0, 8.0 / far);
    }
    fell();
}

TEST(remembered_planes_save_steps_and_not_the_result) {
    fixture_ball(96, 0.5, &now.mesh[0]);
    fixture_ball(48, 0.5, &now.mesh[1]);
    plant(CRI_SPHERE_LAYERED);
    cri_longrange_slot *slot = calloc(N_SLOT, sizeof *slot);
    cri_longrange_warm warm = {N_SLOT, slot, 0}, tiny = {1, slot, 0};
    now.pose[0] = fixture_pose(cri_v3(0.3, -0.2, 0.5), cri_v3(0, 0, 0));
    now.pose[1] = fixture_pose(cri_v3(0, 0, 0), cri_v3(0.9, 0.4, 0.1));
    evaluate(CRI_LONGRANGE_HESSIAN, &warm);
    int n_cold = now.result.n_step, n_exact = now.result.n_exact;
    now.pose[1].pos.x += 1e-3;
    evaluate(CRI_LONGRANGE_HESSIAN, &warm);
    double value = now.result.value, push = now.result.g[3], stiff = now.result.H[12 * 3 + 3];
    CHECK(n_exact > 100);
    CHECK(4 * now.result.n_step < 3 * n_cold);
    evaluate(CRI_LONGRANGE_HESSIAN, NULL);
    CHECK_CLOSE(now.result.value, value, 0, 1e-12);
    CHECK_CLOSE(now.result.g[3], push, 0, 1e-11);
    CHECK_CLOSE(now.result.H[12 * 3 + 3], stiff, 0, 1e-10);
    // planes of another age are forgotten: as many steps, and the bits, of an empty table
    int n_empty = now.result.n_step;
    double bare = now.result.value;
    warm.age++;
    evaluate(CRI_LONGRANGE_HESSIAN, &warm);
    CHECK_INT(now.result.n_step, n_empty);
    CHECK(now.result.value == bare);
    // one slot that everybody overwrites
    evaluate(CRI_LONGRANGE_HESSIAN, &tiny);
    CHECK_CLOSE(now.result.value, value, 0, 1e-12);
    free(slot);
    fell();
}

TEST(an_evaluation_makes_no_heap_call) {
    fixture_ring(12, 6, 1.0, 0.2, &now.mesh[0]);
    fixture_ball(48, 0.5, &now.mesh[1]);
    plant(CRI_SPHERE_LAYERED);
    now.pose[0] = fixture_pose(cri_v3(0.3, -0.2, 0.5), cri_v3(0, 0, 0));
    now.pose[1] = fixture_pose(cri_v3(0, 0, 0), cri_v3(0.1, 0, 0.6));
    evaluate(CRI_LONGRANGE_HESSIAN, NULL);
    long before = cr_alloc_count();
    evaluate(CRI_LONGRANGE_HESSIAN, NULL);
    CHECK(isfinite(now.result.value));
    CHECK_INT(cr_alloc_count() - before, 0);
    fell();
}

TEST(a_tree_without_memory_says_so) {
    fixture_ball(96, 0.5, &now.mesh[0]);
    for (long k = 1; k < 20; k++) {
        cr_arena *arena = cri_arena_create(64);
        cri_sphere_tree tree;
        cr_error err;
        cr_alloc_fail_at(k);
        cr_status status =
            cri_sphere_tree_build(CRI_SPHERE_LAYERED, now.mesh[0].n_vertex, now.mesh[0].vertex,
                                  now.mesh[0].n_triangle, now.mesh[0].triangle, arena, &tree, &err);
        bool has_failed = cr_alloc_has_failed();
        cr_alloc_fail_at(0);
        CHECK_INT(status, has_failed ? CR_ERR_MEMORY : CR_OK);
        cri_arena_destroy(arena);
    }
}

TEST(wrong_meshes_and_options_are_named) {
    cr_arena *arena = cri_arena_create(1 << 12);
    cri_sphere_tree tree;
    cr_error err;
    double vertex[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    int triangle[3] = {0, 1, 3};
    CHECK_INT(cri_sphere_tree_build(CRI_SPHERE_LAYERED, 3, vertex, 1, triangle, arena, &tree, &err),
              CR_ERR_ARGUMENT);
    CHECK_TEXT(err.text, "triangle 0 names vertex 3; there are vertices 0 to 2");
    CHECK_INT(cri_sphere_tree_build(CRI_SPHERE_LAYERED, 3, vertex, 0, triangle, arena, &tree, &err),
              CR_ERR_ARGUMENT);
    triangle[2] = 2;
    vertex[4] = NAN;
    CHECK_INT(cri_sphere_tree_build(CRI_SPHERE_LAYERED, 3, vertex, 1, triangle, arena, &tree, &err),
              CR_ERR_ARGUMENT);
    CHECK_TEXT(err.text, "vertex 1 of triangle 0 is not finite; repair the mesh");
    static const double wrong[] = {0.0, -1.0, NAN, INFINITY};
    for (int k = 0; k < 4; k++) {
        cri_longrange_options options = cri_longrange_default();
        options.eps = wrong[k];
        CHECK_INT(cri_longrange_check(&options, &err), CR_ERR_ARGUMENT);
        options = cri_longrange_default();
        options.ell = wrong[k];
        CHECK_INT(cri_longrange_check(&options, &err), CR_ERR_ARGUMENT);
    }
    cri_longrange_options options = cri_longrange_default();
    CHECK_INT(cri_longrange_check(&options, &err), CR_OK);
    cri_arena_destroy(arena);
}

// a mesh with needles, points and the same triangle twice is a mesh
TEST(degenerate_triangles_are_harmless) {
    fixture_box(1.0, 0.6, 0.4, &now.mesh[0]);
    fixture_box(0.8, 0.5, 0.7, &now.mesh[1]);
    static const int more[] = {0, 0, 0, 1, 1, 2, 0, 1, 3, 0, 1, 3};
    memcpy(now.mesh[0].triangle + 36, more, sizeof more);
    now.mesh[0].n_triangle += 4;
    for (int kind = CRI_SPHERE_LAYERED; kind <= CRI_SPHERE_WRAPPED; kind++) {
        plant((cri_sphere_kind)kind);
        now.pose[0] = fixture_pose(cri_v3(0.3, -0.2, 0.5), cri_v3(0, 0, 0));
        for (double far = 0.9; far < 4.0; far += 0.1) {
            now.pose[1] = fixture_pose(cri_v3(0, 0, 0), cri_v3(far, 0.2, 0.1));
            const cri_longrange_result *r = evaluate(CRI_LONGRANGE_HESSIAN, NULL);
            CHECK(isfinite(r->value) || do_meet());
            CHECK(cri_all_finite(144, r->H) && cri_all_finite(12, r->g));
        }
        fell();
    }
}

CR_TEST_MAIN(it_is_infinite_where_surfaces_meet_and_nowhere_else,
             it_grows_without_bound_as_a_corner_comes_down,
             second_derivatives_are_continuous_across_all_borders,
             second_derivatives_are_continuous_where_a_corner_leaves_a_face,
             every_vertex_is_pushed_away_and_none_is_left_out,
             bodies_a_million_sizes_apart_still_push, a_cluster_is_below_its_parts_in_every_shell,
             whole_clusters_push_as_their_triangles_do,
             remembered_planes_save_steps_and_not_the_result, an_evaluation_makes_no_heap_call,
             a_tree_without_memory_says_so, wrong_meshes_and_options_are_named,
             degenerate_triangles_are_harmless)
