// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: value and gradient of fields for point and parameters, grids for
// their samples, meshes for theirs, and masses of both.

#include "cr_test.h"

#include "base/arena.h"
#include "field_fixture.h"
#include "geometry/field/grid.h"
#include "geometry/mesh/march.h"
#include "geometry/mesh/mass.h"

#include <math.h>
#include <string.h>

enum { LIMIT = 3 + FIELD_PARAMS };

static fixture_field now;

// x = point and parameters, y = phi and g
static void forward(const double *x, double *y, void *cache) {
    (void)cache;
    memcpy(now.param, x + 3, sizeof *x * (size_t)now.field.n_param);
    cri_field_value v;
    cri_field_eval(&now.field, cri_v3_load(x), CRI_FIELD_GRADIENT, &v);
    y[0] = v.phi;
    cri_v3_store(v.g, y + 1);
    // outputs have the rounding error of numbers of size one
    for (int j = 0; j < 4; j++) {
        y[j] += 1.0;
    }
}

static void vjp(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    (void)cache;
    cri_vec3 point_adj = cri_v3_load(x_adj);
    memcpy(now.param, x + 3, sizeof *x * (size_t)now.field.n_param);
    cri_field_vjp(&now.field, cri_v3_load(x), y_adj[0], cri_v3_load(y_adj + 1), &point_adj,
                  x_adj + 3);
    cri_v3_store(point_adj, x_adj);
}

static void jvp(const double *x, const void *cache, const double *x_tan, double *y_tan) {
    (void)cache;
    cri_vec3 g_tan;
    memcpy(now.param, x + 3, sizeof *x * (size_t)now.field.n_param);
    cri_field_jvp(&now.field, cri_v3_load(x), cri_v3_load(x_tan), x_tan + 3, y_tan, &g_tan);
    cri_v3_store(g_tan, y_tan + 1);
}

static void check_at(int n_points, const double (*point)[3], double step) {
    double all[16 * LIMIT];
    int n_in = 3 + now.field.n_param;
    for (int k = 0; k < n_points; k++) {
        memcpy(all + k * n_in, point[k], sizeof point[k]);
        memcpy(all + k * n_in + 3, now.param, sizeof *all * (size_t)now.field.n_param);
    }
    cr_test_vjp(&(cr_vjp_case){.name = now.name,
                               .vjp_name = "cri_field_vjp",
                               .jvp_name = "cri_field_jvp",
                               .n_in = n_in,
                               .n_out = 4,
                               .forward = forward,
                               .vjp = vjp,
                               .jvp = jvp,
                               .points = all,
                               .n_points = n_points,
                               .step = step});
}

// beside a face, an edge and a corner, outside and inside, and within blends
static const double points[][3] = {{0.62, 0.51, 0.47},  {0.1, 0.2, 0.05},    {-0.3, 0.25, -0.9},
                                   {0.71, -0.1, 0.23},  {0.24, 0.11, 0.28},  {0.05, -0.33, 0.41},
                                   {-0.52, -0.47, 0.1}, {0.31, -0.09, -0.2}, {0.12, 0.19, 0.31},
                                   {0.21, 0.44, 0.38}};

TEST(fields_have_their_gradients) {
    for (int i = 0; i < FIELD_FIXTURES; i++) {
        fixture_field_make(i, &now);
        check_at((int)(sizeof points / sizeof *points), points, 1e-3);
    }
}

// ---- grids -------------------------------------------------------------------------------------

enum { NX = 6, NY = 5, NZ = 7, N_SAMPLE = NX * NY * NZ };
static const int size[3] = {NX, NY, NZ};
static cri_vec3 at;
static double samples[N_SAMPLE];

static void plant(cri_grid *grid, const double *coef) {
    *grid = (cri_grid){
        .n = {NX, NY, NZ}, .origin = {-0.5, -0.4, -0.6}, .h = 0.2, .coef = coef, .lipschitz = 2.0};
}

// x = samples, y = phi and g at a point
static void grid_forward(const double *x, double *y, void *cache) {
    (void)cache;
    double coef[N_SAMPLE];
    memcpy(coef, x, sizeof coef);
    cri_grid_filter(size, coef);
    cri_grid grid;
    plant(&grid, coef);
    cri_field_value v;
    cri_grid_eval(&grid, at, CRI_FIELD_GRADIENT, &v);
    y[0] = v.phi;
    cri_v3_store(v.g, y + 1);
}

static void grid_vjp(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    (void)x;
    (void)cache;
    double adj[N_SAMPLE] = {0};
    cri_grid grid;
    plant(&grid, samples);
    cri_grid_eval_vjp(&grid, at, y_adj[0], cri_v3_load(y_adj + 1), adj);
    cri_grid_filter_vjp(size, adj);
    for (int i = 0; i < N_SAMPLE; i++) {
        x_adj[i] += adj[i];
    }
}

static void draw_samples(void) {
    cr_test_rng rng = cr_test_rng_of(7);
    for (int i = 0; i < N_SAMPLE; i++) {
        samples[i] = cr_test_uniform(&rng, -1.0, 1.0);
    }
}

TEST(grids_have_the_gradient_of_their_samples) {
    static const cri_vec3 where[] = {{0.01, 0.02, -0.05}, {0.9, 0.1, -0.7}, {-0.29, 0.7, 0.01}};
    draw_samples();
    for (int k = 0; k < 3; k++) {
        at = where[k];
        cr_test_vjp(&(cr_vjp_case){.name = "grid samples",
                                   .vjp_name = k ? "cri_grid_filter_vjp" : "cri_grid_eval_vjp",
                                   .n_in = N_SAMPLE,
                                   .n_out = 4,
                                   .forward = grid_forward,
                                   .vjp = grid_vjp,
                                   .points = samples,
                                   .n_points = 1});
    }
}

// point, scale and pose of a grid, within its box and beside, and behind an edge and a corner of it
TEST(fields_of_grids_have_their_gradients) {
    static const double where[][3] = {{0.03, 0.02, -0.05},
                                      {0.13, -0.11, 0.07},
                                      {0.9, 0.03, 0.02},
                                      {0.9, 0.7, 0.01},
                                      {-0.8, 0.9, 1.1}};
    double coef[N_SAMPLE];
    draw_samples();
    memcpy(coef, samples, sizeof coef);
    cri_grid_filter(size, coef);
    cri_grid grid;
    plant(&grid, coef);
    static const double param[] = {1.3, 0.05, 0.1, -0.04, 0.1, 0.2, -0.3};
    fixture_field_leaf(CRI_FIELD_GRID, 7, param, &now);
    now.node[0].grid = &grid;
    now.node[0].is_posed = true;
    now.name = "grid";
    check_at(5, where, 1e-4);
}

// ---- meshes ------------------------------------------------------------------------------------

enum { N_CORNER = 6, N_TRIANGLE = 8 };
static const int octahedron[N_TRIANGLE][3] = {{0, 2, 4}, {2, 1, 4}, {1, 3, 4}, {3, 0, 4},
                                              {2, 0, 5}, {1, 2, 5}, {3, 1, 5}, {0, 3, 5}};

static void store_mass(const cri_mesh_mass *m, double *y) {
    y[0] = m->volume;
    memcpy(y + 1, m->centre, sizeof m->centre);
    memcpy(y + 4, m->inertia, sizeof m->inertia);
}

static cri_mesh_mass load_mass(const double *y) {
    cri_mesh_mass m = {.volume = y[0]};
    memcpy(m.centre, y + 1, sizeof m.centre);
    memcpy(m.inertia, y + 4, sizeof m.inertia);
    return m;
}

static void mass_forward(const double *x, double *y, void *cache) {
    (void)cache;
    cri_mesh_mass m;
    CHECK(cri_mesh_integrals(N_CORNER, x, N_TRIANGLE, octahedron[0], &m));
    store_mass(&m, y);
}

static void mass_vjp(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    (void)cache;
    cri_mesh_mass adj = load_mass(y_adj);
    cri_mesh_integrals_vjp(N_CORNER, x, N_TRIANGLE, octahedron[0], &adj, x_adj);
}

static void mass_jvp(const double *x, const void *cache, const double *x_tan, double *y_tan) {
    (void)cache;
    cri_mesh_mass tan = cri_mesh_integrals_jvp(N_CORNER, x, N_TRIANGLE, octahedron[0], x_tan);
    store_mass(&tan, y_tan);
}

static void origin_forward(const double *x, double *y, void *cache) {
    (void)cache;
    cri_mesh_mass m = load_mass(x), moved = cri_mesh_mass_at_origin(&m);
    store_mass(&moved, y);
}

static void origin_vjp(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    (void)cache;
    cri_mesh_mass m = load_mass(x), adj = load_mass(y_adj), m_adj = load_mass(x_adj);
    cri_mesh_mass_at_origin_vjp(&m, &adj, &m_adj);
    store_mass(&m_adj, x_adj);
}

TEST(masses_of_meshes_have_their_gradients) {
    static const double corner[3 * N_CORNER] = {1.3, 0.2,  0.1, -0.9, 0.3, 0.2, 0.1, 1.1, 0.3,
                                                0.2, -0.8, 0.1, 0.3,  0.2, 1.5, 0.1, 0.2, -0.7};
    cr_test_vjp(&(cr_vjp_case){.name = "mass of a mesh",
                               .vjp_name = "cri_mesh_integrals_vjp",
                               .jvp_name = "cri_mesh_integrals_jvp",
                               .n_in = 3 * N_CORNER,
                               .n_out = 10,
                               .forward = mass_forward,
                               .vjp = mass_vjp,
                               .jvp = mass_jvp,
                               .points = corner,
                               .n_points = 1});
    static const double mass[10] = {1.3, 0.2, -0.4, 0.3, 1.1, 1.2, 1.3, 0.1, -0.2, 0.05};
    cr_test_vjp(&(cr_vjp_case){.name = "inertia about the origin",
                               .vjp_name = "cri_mesh_mass_at_origin_vjp",
                               .n_in = 10,
                               .n_out = 10,
                               .forward = origin_forward,
                               .vjp = origin_vjp,
                               .points = mass,
                               .n_points = 1});
}

// ---- marching cubes ----------------------------------------------------------------------------

static cr_arena *arena, *scratch;
static cri_surface surface;

static const cri_march_box *lattice;

// x = parameters of a field, y = mass of its mesh
static void surface_forward(const double *x, double *y, void *cache) {
    (void)cache;
    cri_arena_reset(arena);
    memcpy(now.param, x, sizeof *x * (size_t)now.field.n_param);
    cr_error err;
    assert_int_equal(cri_surface_of_field(&now.field, lattice, arena, scratch, &surface, &err),
                     CR_OK);
    cri_mesh_mass m;
    assert_true(
        cri_mesh_integrals(surface.n_vertex, surface.vertex, surface.n_face, surface.face, &m));
    store_mass(&m, y);
    // sums over the mesh have the rounding error of numbers of size one
    for (int j = 0; j < 10; j++) {
        y[j] += 1.0;
    }
}

static void surface_vjp(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    (void)x;
    (void)cache;
    cri_mesh_mass adj = load_mass(y_adj);
    double *v_adj = CR_PUSH(scratch, double, 3 * surface.n_vertex);
    assert_non_null(v_adj);
    cri_mesh_integrals_vjp(surface.n_vertex, surface.vertex, surface.n_face, surface.face, &adj,
                           v_adj);
    assert_true(
        cri_surface_of_field_vjp(&now.field, &surface, CRI_VERTEX_EDGE, v_adj, scratch, x_adj));
    cri_arena_reset(scratch);
}

static void surface_jvp(const double *x, const void *cache, const double *x_tan, double *y_tan) {
    (void)x;
    (void)cache;
    double *v_tan = CR_PUSH(scratch, double, 3 * surface.n_vertex);
    assert_non_null(v_tan);
    assert_true(
        cri_surface_of_field_jvp(&now.field, &surface, CRI_VERTEX_EDGE, x_tan, scratch, v_tan));
    cri_mesh_mass tan = cri_mesh_integrals_jvp(surface.n_vertex, surface.vertex, surface.n_face,
                                               surface.face, v_tan);
    store_mass(&tan, y_tan);
    cri_arena_reset(scratch);
}

static void check_mass(const char *name, const cri_march_box *box, const double *param) {
    lattice = box;
    cr_test_vjp(&(cr_vjp_case){.name = name,
                               .vjp_name = "cri_surface_of_field_vjp",
                               .jvp_name = "cri_surface_of_field_jvp",
                               .n_in = now.field.n_param,
                               .n_out = 10,
                               .forward = surface_forward,
                               .vjp = surface_vjp,
                               .jvp = surface_jvp,
                               .points = param,
                               .n_points = 1,
                               .step = 1e-5,
                               .tolerance = 1e-6});
}

// differences move samples by less than any of them is away from zero
TEST(masses_of_fields_have_the_gradient_of_their_sizes) {
    static const cri_march_box box = {{11, 9, 11}, {-0.667, -0.553, -0.461}, 0.1317};
    fixture_arenas(&arena, &scratch);
    fixture_field_find("csg", &now);
    double param[FIELD_PARAMS];
    memcpy(param, now.param, sizeof param);
    // no pose at a kink of symmetry
    const double pose[6] = {0.011, 0.023, 0.47, 0.1, 0.2, 0.3};
    memcpy(param + 8, pose, sizeof pose);
    check_mass("mass of a field", &box, param);
}

// The distance to a bar of equal half lengths has a kink where y = z, and samples stand there; the
// surface has none.
TEST(kinks_within_a_shape_do_not_count) {
    static const cri_march_box box = {{13, 9, 9}, {-0.553, -0.553, -0.553}, 0.1317};
    static const double param[11] = {0.4, 0.5, 0.15, 0.15, 0.25, 0, 0, 0, 0, 0, 0.1};
    fixture_arenas(&arena, &scratch);
    now = (fixture_field){.field = {.n_node = 3, .n_param = 11},
                          .node = {{.kind = CRI_FIELD_SPHERE},
                                   {.kind = CRI_FIELD_BOX, .is_posed = true, .first = 1},
                                   {.kind = CRI_FIELD_UNION, .first = 10}}};
    fixture_field_settle(&now);
    check_mass("bar with equal half lengths", &box, param);
}

// |x| - r: a vertex at v moves along v/|v| with r, and an adjoint a on it is worth a . v/|v|
TEST(the_rule_along_the_normal_moves_a_ball_outward) {
    fixture_arenas(&arena, &scratch);
    const double radius = 0.5, one = 1.0;
    fixture_field_leaf(CRI_FIELD_SPHERE, 1, &radius, &now);
    cri_march_box box = cri_march_box_of(&now.field, 8);
    cr_error err;
    assert_int_equal(cri_surface_of_field(&now.field, &box, arena, scratch, &surface, &err), CR_OK);
    size_t n = 3 * (size_t)surface.n_vertex;
    double *a = CR_PUSH(arena, double, n), *tan = CR_PUSH(arena, double, n), got = 0.0, sum = 0.0;
    assert_true(a && tan);
    cr_test_rng rng = {.state = 7};
    for (size_t i = 0; i < n; i++) {
        a[i] = cr_test_uniform(&rng, -1.0, 1.0);
    }
    assert_true(
        cri_surface_of_field_jvp(&now.field, &surface, CRI_VERTEX_NORMAL, &one, scratch, tan));
    assert_true(
        cri_surface_of_field_vjp(&now.field, &surface, CRI_VERTEX_NORMAL, a, scratch, &got));
    for (size_t i = 0; i < n; i += 3) {
        double length = cri_v3_norm(cri_v3_load(surface.vertex + i));
        for (size_t k = i; k < i + 3; k++) {
            CHECK_CLOSE(tan[k], surface.vertex[k] / length, 1e-14, 0.0);
            sum += a[k] * surface.vertex[k] / length;
        }
    }
    CHECK_CLOSE(got, sum, 1e-12, 0.0);
}

CR_TEST_MAIN(fields_have_their_gradients, grids_have_the_gradient_of_their_samples,
             fields_of_grids_have_their_gradients, masses_of_meshes_have_their_gradients,
             masses_of_fields_have_the_gradient_of_their_sizes, kinks_within_a_shape_do_not_count,
             the_rule_along_the_normal_moves_a_ball_outward)
