// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: the long-range potential and what it is made of. Outputs are a value
// and its gradient, so that a row checks second derivatives as well.

#include "cr_test.h"

#include "energy/barrier.h"
#include "energy/penalty.h"
#include "geometry/convex/feature_distance.h"
#include "longrange_fixture.h"

#include <string.h>

// ---- two triangles -----------------------------------------------------------------------------

static void pair_forward(const double *x, double *y, void *cache) {
    CHECK(cri_plane_potential(x, 0.7, NULL, y, y + 1, cache));
}

static void pair_vjp(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    (void)x;
    cri_plane_potential_vjp(cache, y_adj[0], y_adj + 1, x_adj);
}

static void pair_jvp(const double *x, const void *cache, const double *x_tan, double *y_tan) {
    (void)x;
    cri_plane_potential_jvp(cache, x_tan, y_tan, y_tan + 1);
}

static void check_pair(const char *name, const double *x, double step) {
    cr_test_vjp(&(cr_vjp_case){.name = name,
                               .vjp_name = "cri_plane_potential_vjp",
                               .jvp_name = "cri_plane_potential_jvp",
                               .n_in = 18,
                               .n_out = 19,
                               .cache_size = sizeof(cri_plane_force),
                               .forward = pair_forward,
                               .vjp = pair_vjp,
                               .jvp = pair_jvp,
                               .points = x,
                               .n_points = 1,
                               .step = step});
}

TEST(triangles_have_their_derivatives) {
    check_pair("reference pair", fixture_reference_pair, 1e-2);
    cr_test_rng rng = cr_test_rng_of(11);
    static const double gaps[] = {10.0, 0.5, 0.03};
    for (int k = 0; k < 9; k++) {
        cri_vec3 x[6];
        double flat[18];
        fixture_triangles(&rng, gaps[k % 3], x);
        for (int i = 0; i < 6; i++) {
            cri_v3_store(x[i], flat + 3 * i);
        }
        check_pair("random pair", flat, 0.02 * fmin(1.0, gaps[k % 3]));
    }
}

// ---- half-space --------------------------------------------------------------------------------

static void half_forward(const double *x, double *y, void *cache) {
    CHECK(cri_half_potential(x, 0.7, cache));
    const cri_half_force *f = cache;
    y[0] = f->value;
    memcpy(y + 1, f->g, sizeof f->g);
}

static void half_vjp(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    (void)x;
    cri_half_potential_vjp(cache, y_adj[0], y_adj + 1, x_adj);
}

static void half_jvp(const double *x, const void *cache, const double *x_tan, double *y_tan) {
    (void)x;
    cri_half_potential_jvp(cache, x_tan, y_tan, y_tan + 1);
}

TEST(a_half_space_has_its_derivatives) {
    static const double points[] = {
        0.5,  0.8,  0.6, // tilted
        1.0,  1.0,  1.0, // flat
        0.05, 0.7,  1.9, // on a corner
        30.0, 31.0, 33.0,
    };
    cr_test_vjp(&(cr_vjp_case){.name = "half-space",
                               .vjp_name = "cri_half_potential_vjp",
                               .jvp_name = "cri_half_potential_jvp",
                               .n_in = 3,
                               .n_out = 4,
                               .cache_size = sizeof(cri_half_force),
                               .forward = half_forward,
                               .vjp = half_vjp,
                               .jvp = half_jvp,
                               .points = points,
                               .n_points = 4,
                               .step = 1e-3});
}

// ---- points, triangles and edges ---------------------------------------------------------------

static bool is_edges; // which of the two distances

static void feature_forward(const double *x, double *y, void *cache) {
    cri_vec3 p[4];
    cri_feature_distance *f = cache;
    for (int k = 0; k < 4; k++) {
        p[k] = cri_v3_load(x + 3 * k);
    }
    *f = is_edges ? cri_edge_edge_distance(p) : cri_point_triangle_distance(p);
    y[0] = f->distance;
    for (int k = 0; k < 4; k++) {
        cri_v3_store(cri_v3_scale(f->w[k], f->n), y + 1 + 3 * k);
    }
}

static void feature_vjp(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    (void)x;
    cri_feature_distance_vjp(cache, y_adj[0], y_adj + 1, x_adj);
}

static void feature_jvp(const double *x, const void *cache, const double *x_tan, double *y_tan) {
    (void)x;
    cri_feature_distance_jvp(cache, x_tan, y_tan, y_tan + 1);
}

static void check_features(const char *name, const double *points, int n_points) {
    cr_test_vjp(&(cr_vjp_case){.name = name,
                               .vjp_name = "cri_feature_distance_vjp",
                               .jvp_name = "cri_feature_distance_jvp",
                               .n_in = 12,
                               .n_out = 13,
                               .cache_size = sizeof(cri_feature_distance),
                               .forward = feature_forward,
                               .vjp = feature_vjp,
                               .jvp = feature_jvp,
                               .points = points,
                               .n_points = n_points,
                               .step = 1e-3});
}

TEST(distances_of_pieces_have_their_derivatives) {
    static const double point_triangle[] = {
        0.2,  0.3,  0.5, 0, 0.1, 0, 1, 0, 0.1, 0, 1, -0.1, // face
        0.4,  -0.5, 0.3, 0, 0.1, 0, 1, 0, 0.1, 0, 1, -0.1, // an edge
        -0.4, 0.5,  0.3, 0, 0.1, 0, 1, 0, 0.1, 0, 1, -0.1, // another
        0.9,  0.9,  0.3, 0, 0.1, 0, 1, 0, 0.1, 0, 1, -0.1, // the third
        1.9,  -0.3, 0.3, 0, 0.1, 0, 1, 0, 0.1, 0, 1, -0.1, // a corner
    };
    static const double edge_edge[] = {
        -1,  0.1, 0.5, 1, -0.1, 0.6, 0.1,  -1,  0, 0,   1,   0.1, // crossing
        -1,  0.1, 0.5, 1, -0.1, 0.6, 0.1,  0.4, 0, 0,   1,   0.1, // end of the second
        0.3, 0.1, 0.5, 1, -0.1, 0.6, 0.1,  -1,  0, 0,   1,   0.1, // end of the first
        0.3, 0.1, 0.5, 1, -0.1, 0.6, 0.1,  0.4, 0, 0,   1,   0.1, // two ends
        -1,  0.1, 0.5, 1, -0.1, 0.6, -0.9, 0.4, 0, 1.2, 0.2, 0.1, // nearly parallel
    };
    is_edges = false;
    check_features("point and triangle", point_triangle, 5);
    is_edges = true;
    check_features("edge and edge", edge_edge, 5);
}

// ---- spheres -----------------------------------------------------------------------------------

enum { N_VERTEX = 18, N_NODE = 63 };

/// A ball, pushed out of shape so that no two distances are the same.
static struct {
    cr_arena *arena, *scratch;
    fixture_mesh mesh[2];
    cri_sphere_tree tree[2];
    cri_pose pose[2];
    cri_longrange_options options;
} now;

static void make_meshes(cri_sphere_kind kind, int n_vertex) {
    cr_test_rng rng = cr_test_rng_of(12);
    now.options = cri_longrange_default();
    now.options.ell = 0.7;
    now.arena = cri_arena_create(1 << 16);
    now.scratch = cri_arena_create(1 << 16);
    for (int k = 0; k < 2; k++) {
        fixture_mesh *m = &now.mesh[k];
        fixture_ball(n_vertex, k ? 0.4 : 0.5, m);
        for (int i = 0; i < 3 * m->n_vertex; i++) {
            m->vertex[i] += cr_test_uniform(&rng, -0.05, 0.05);
        }
        now.tree[k] = fixture_tree(kind, &now.mesh[k], now.arena);
    }
}

static void drop_meshes(void) {
    cri_arena_destroy(now.arena);
    cri_arena_destroy(now.scratch);
}

static void fit_forward(const double *x, double *y, void *cache) {
    (void)cache;
    cri_sphere_tree *tree = &now.tree[0];
    cri_sphere_tree_fit(tree, x);
    memcpy(y, tree->centre, 3 * N_NODE * sizeof *y);
    memcpy(y + 3 * N_NODE, tree->radius, N_NODE * sizeof *y);
}

static void fit_vjp(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    (void)cache;
    cri_sphere_tree_fit(&now.tree[0], x);
    cri_sphere_tree_fit_vjp(&now.tree[0], x, y_adj, y_adj + 3 * N_NODE, x_adj, now.scratch);
}

static void fit_jvp(const double *x, const void *cache, const double *x_tan, double *y_tan) {
    (void)cache;
    cri_sphere_tree_fit(&now.tree[0], x);
    cri_sphere_tree_fit_jvp(&now.tree[0], x, x_tan, y_tan, y_tan + 3 * N_NODE);
}

TEST(spheres_follow_their_vertices) {
    for (int kind = CRI_SPHERE_LAYERED; kind <= CRI_SPHERE_WRAPPED; kind++) {
        make_meshes((cri_sphere_kind)kind, N_VERTEX);
        CHECK_INT(now.tree[0].n_node, N_NODE);
        cr_test_vjp(&(cr_vjp_case){.name = kind ? "wrapped spheres" : "layered spheres",
                                   .vjp_name = "cri_sphere_tree_fit_vjp",
                                   .jvp_name = "cri_sphere_tree_fit_jvp",
                                   .n_in = 3 * N_VERTEX,
                                   .n_out = 4 * N_NODE,
                                   .cache_size = 1,
                                   .forward = fit_forward,
                                   .vjp = fit_vjp,
                                   .jvp = fit_jvp,
                                   .points = now.mesh[0].vertex,
                                   .n_points = 1,
                                   .step = 1e-4});
        drop_meshes();
    }
}

// ---- bodies ------------------------------------------------------------------------------------

// x: motions (w, v) of both bodies from their poses; gradients in the charts of the moved poses
static void body_forward(const double *x, double *y, void *cache) {
    cri_longrange_body body[2];
    cri_longrange_result *r = cache;
    cri_arena_reset(now.scratch);
    for (int k = 0; k < 2; k++) {
        cri_pose pose = fixture_moved(&now.pose[k], x + 6 * k);
        CHECK(cri_longrange_place(&now.tree[k], now.mesh[k].vertex, &pose, now.scratch, &body[k]));
    }
    cri_longrange_pair(&now.options, &body[0], &body[1], CRI_LONGRANGE_HESSIAN, NULL, r);
    y[0] = r->value;
    memcpy(y + 1, r->g, sizeof r->g);
}

static void body_vjp(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    (void)x;
    cri_longrange_pair_vjp(cache, y_adj[0], y_adj + 1, x_adj);
}

static void body_jvp(const double *x, const void *cache, const double *x_tan, double *y_tan) {
    (void)x;
    cri_longrange_pair_jvp(cache, x_tan, y_tan, y_tan + 1);
}

static void check_bodies(const char *name, cri_vec3 at) {
    static const double zero[12];
    now.pose[0] = fixture_pose(cri_v3(0.3, -0.2, 0.5), cri_v3(0.1, 0.2, -0.1));
    now.pose[1] = fixture_pose(cri_v3(-0.4, 0.3, 0.2), at);
    cr_test_vjp(&(cr_vjp_case){.name = name,
                               .vjp_name = "cri_longrange_pair_vjp",
                               .jvp_name = "cri_longrange_pair_jvp",
                               .n_in = 12,
                               .n_out = 13,
                               .cache_size = sizeof(cri_longrange_result),
                               .forward = body_forward,
                               .vjp = body_vjp,
                               .jvp = body_jvp,
                               .points = zero,
                               .n_points = 1,
                               .step = 1e-3,
                               .tolerance = 1e-6});
}

TEST(bodies_have_their_derivatives) {
    for (int kind = CRI_SPHERE_LAYERED; kind <= CRI_SPHERE_WRAPPED; kind++) {
        make_meshes((cri_sphere_kind)kind, N_VERTEX);
        check_bodies("near", cri_v3(0.6, 0.6, 0.5));
        check_bodies("between", cri_v3(0.9, 0.7, 0.9));
        check_bodies("far", cri_v3(3.0, 2.0, 1.0));
        now.options.clusters = CRI_CLUSTERS_WHOLE;
        check_bodies("between, whole", cri_v3(0.9, 0.7, 0.9));
        check_bodies("far, whole", cri_v3(3.0, 2.0, 1.0));
        now.options.clusters = CRI_CLUSTERS_COUNTED;
        now.options.has_constant = false;
        check_bodies("between, counted, no constant", cri_v3(0.9, 0.7, 0.9));
        now.options.is_brute = true;
        check_bodies("all pairs", cri_v3(0.9, 0.7, 0.9));
        drop_meshes();
    }
}

// barriers on distances give the same result, and the same adjoints of it
static cri_barrier_options barrier;
static bool is_hull, is_penalty;

static void barrier_forward(const double *x, double *y, void *cache) {
    cri_barrier_body body[2];
    cri_longrange_result *r = cache;
    cri_arena_reset(now.scratch);
    for (int k = 0; k < 2; k++) {
        cri_pose pose = fixture_moved(&now.pose[k], x + 6 * k);
        body[k].owner = cri_barrier_owners(&now.tree[k], now.scratch);
        CHECK(cri_longrange_place(&now.tree[k], now.mesh[k].vertex, &pose, now.scratch,
                                  &body[k].body));
    }
    if (is_hull) {
        cri_hull_barrier_pair(0.1, &body[0].body, &body[1].body, CRI_LONGRANGE_HESSIAN, r);
    } else if (is_penalty) {
        cri_penalty_pair(0.3, &body[0].body, &body[1].body, CRI_LONGRANGE_HESSIAN, r);
    } else {
        cri_barrier_pair(&barrier, &body[0], &body[1], CRI_LONGRANGE_HESSIAN, r);
    }
    CHECK(isfinite(r->value) && (is_penalty || r->value > 0.0));
    y[0] = r->value;
    memcpy(y + 1, r->g, sizeof r->g);
}

static void check_barrier(const char *name, double step) {
    static const double zero[12];
    cr_test_vjp(&(cr_vjp_case){.name = name,
                               .vjp_name = "cri_longrange_pair_vjp",
                               .jvp_name = "cri_longrange_pair_jvp",
                               .n_in = 12,
                               .n_out = 13,
                               .cache_size = sizeof(cri_longrange_result),
                               .forward = barrier_forward,
                               .vjp = body_vjp,
                               .jvp = body_jvp,
                               .points = zero,
                               .n_points = 1,
                               .step = step,
                               .tolerance = 1e-5});
}

TEST(barriers_on_distances_have_their_derivatives) {
    make_meshes(CRI_SPHERE_WRAPPED, 6);
    now.pose[0] = fixture_pose(cri_v3(0.3, -0.2, 0.5), cri_v3(0.1, 0.2, -0.1));
    now.pose[1] = fixture_pose(cri_v3(-0.4, 0.3, 0.2), cri_v3(0.6, 0.6, 0.5));
    barrier = (cri_barrier_options){CRI_BARRIER_LOCAL, 0.5, 0.0};
    check_barrier("local barrier", 1e-5);
    barrier = (cri_barrier_options){CRI_BARRIER_GLOBAL, 0.0, 0.7};
    check_barrier("global barrier", 1e-5);
    is_hull = true;
    now.pose[1].pos = cri_v3(0.5, 0.5, 0.45);
    check_barrier("barrier of hulls", 1e-4);
    is_hull = false;
    is_penalty = true;
    check_barrier("penalty, apart", 1e-5);
    now.pose[1].pos = cri_v3(0.25, 0.3, 0.1);
    check_barrier("penalty, overlapping", 1e-5);
    is_penalty = false;
    drop_meshes();
}

// x: vertices of both meshes in their own frames
enum { N_SHAPE = 6 * N_VERTEX };

static void place_shapes(const double *x, cri_longrange_body body[2]) {
    cri_arena_reset(now.scratch);
    for (int k = 0; k < 2; k++) {
        const double *vertex = x + (size_t)(3 * N_VERTEX * k);
        cri_sphere_tree_fit(&now.tree[k], vertex);
        CHECK(cri_longrange_place(&now.tree[k], vertex, &now.pose[k], now.scratch, &body[k]));
    }
}

static void shape_forward(const double *x, double *y, void *cache) {
    (void)cache;
    cri_longrange_body body[2];
    cri_longrange_result r;
    place_shapes(x, body);
    cri_longrange_pair(&now.options, &body[0], &body[1], CRI_LONGRANGE_GRADIENT, NULL, &r);
    y[0] = r.value;
    memcpy(y + 1, r.g, sizeof r.g);
}

static void shape_vjp(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    (void)cache;
    cri_longrange_body body[2];
    place_shapes(x, body);
    cri_longrange_shape_adj adj = {{x_adj, x_adj + (size_t)(3 * N_VERTEX)}, true};
    CHECK(
        cri_longrange_shape_vjp(&now.options, body, NULL, y_adj[0], y_adj + 1, &adj, now.scratch));
}

TEST(bodies_have_derivatives_in_their_shapes) {
    static const double at[][3] = {{0.6, 0.6, 0.5}, {0.9, 0.7, 0.9}, {3.0, 2.0, 1.0}};
    for (int k = 0; k < 9; k++) {
        double x[N_SHAPE];
        make_meshes(k >= 3 && k < 6 ? CRI_SPHERE_WRAPPED : CRI_SPHERE_LAYERED, N_VERTEX);
        now.options.clusters = k >= 6 ? CRI_CLUSTERS_WHOLE : CRI_CLUSTERS_SINGLE;
        now.pose[0] = fixture_pose(cri_v3(0.3, -0.2, 0.5), cri_v3(0.1, 0.2, -0.1));
        now.pose[1] = fixture_pose(cri_v3(-0.4, 0.3, 0.2), cri_v3_load(at[k % 3]));
        for (int i = 0; i < 2; i++) {
            memcpy(x + (size_t)(3 * N_VERTEX * i), now.mesh[i].vertex, sizeof x / 2);
        }
        cr_test_vjp(&(cr_vjp_case){.name = "shape",
                                   .vjp_name = "cri_longrange_shape_vjp",
                                   .n_in = N_SHAPE,
                                   .n_out = 13,
                                   .cache_size = 1,
                                   .forward = shape_forward,
                                   .vjp = shape_vjp,
                                   .points = x,
                                   .n_points = 1,
                                   .step = 2e-4,
                                   .tolerance = 1e-6});
        drop_meshes();
    }
}

static void floor_forward(const double *x, double *y, void *cache) {
    static const cri_half_space half = {{0.48, 0.6, 0.64}, -0.3};
    cri_longrange_body body;
    cri_longrange_half_result *r = cache;
    cri_arena_reset(now.scratch);
    cri_pose pose = fixture_moved(&now.pose[0], x);
    CHECK(cri_longrange_place(&now.tree[0], now.mesh[0].vertex, &pose, now.scratch, &body));
    cri_longrange_half(&now.options, &body, &half, CRI_LONGRANGE_HESSIAN, r);
    y[0] = r->value;
    memcpy(y + 1, r->g, sizeof r->g);
}

static void floor_vjp(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    (void)x;
    cri_longrange_half_vjp(cache, y_adj[0], y_adj + 1, x_adj);
}

static void floor_jvp(const double *x, const void *cache, const double *x_tan, double *y_tan) {
    (void)x;
    cri_longrange_half_jvp(cache, x_tan, y_tan, y_tan + 1);
}

TEST(a_body_above_a_floor_has_its_derivatives) {
    static const double zero[6], heights[] = {0.6, 0.9, 4.0};
    for (int kind = CRI_SPHERE_LAYERED; kind <= CRI_SPHERE_WRAPPED; kind++) {
        make_meshes((cri_sphere_kind)kind, N_VERTEX);
        for (int k = 0; k < 4; k++) {
            double h = heights[k % 3] - 0.3;
            now.options.is_brute = k == 3;
            now.pose[0] = fixture_pose(cri_v3(0.3, -0.2, 0.5), cri_v3(0.48 * h, 0.6 * h, 0.64 * h));
            cr_test_vjp(&(cr_vjp_case){.name = "floor",
                                       .vjp_name = "cri_longrange_half_vjp",
                                       .jvp_name = "cri_longrange_half_jvp",
                                       .n_in = 6,
                                       .n_out = 7,
                                       .cache_size = sizeof(cri_longrange_half_result),
                                       .forward = floor_forward,
                                       .vjp = floor_vjp,
                                       .jvp = floor_jvp,
                                       .points = zero,
                                       .n_points = 1,
                                       .step = 1e-3,
                                       .tolerance = 1e-6});
        }
        drop_meshes();
    }
}

CR_TEST_MAIN(triangles_have_their_derivatives, a_half_space_has_its_derivatives,
             distances_of_pieces_have_their_derivatives, spheres_follow_their_vertices,
             bodies_have_their_derivatives, barriers_on_distances_have_their_derivatives,
             bodies_have_derivatives_in_their_shapes, a_body_above_a_floor_has_its_derivatives)
