// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: forms. Vertices and masses for parameters; touches of geoms that are
// fields for the poses of both bodies and all sizes, through the forms made anew.

#include "cr_test.h"

#include "contact/pair.h"
#include "field_fixture.h"
#include "geometry/field/form.h"
#include "sim/sim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// ---- vertices and masses -----------------------------------------------------------------------

enum { N_VERTEX = 4, N_SHAPE_OUT = 3 * N_VERTEX + 10 };

static struct {
    cri_form_plan plan;
    cri_form form;
    cr_arena *own, *arena, *scratch; // of the plan, of the form
} now;

// out is an adjoint or tangent as well
static void load_mass(const double *y, cri_mesh_mass *out) {
    out->volume = y[0];
    memcpy(out->centre, y + 1, sizeof out->centre);
    memcpy(out->inertia, y + 4, sizeof out->inertia);
}

static void store_mass(const cri_mesh_mass *mass, double *y) {
    y[0] = mass->volume;
    memcpy(y + 1, mass->centre, sizeof mass->centre);
    memcpy(y + 4, mass->inertia, sizeof mass->inertia);
}

static int vertex_number(int k) {
    return (int)((long long)k * (now.form.tree.mesh.n_vertex - 1) / (N_VERTEX - 1));
}

static void shape_forward(const double *x, double *y, void *cache) {
    *(char *)cache = 0;
    cr_error err = {0};
    cri_arena_reset(now.arena);
    CHECK_INT(cri_form_make(&now.plan, x, now.arena, now.scratch, &now.form, &err), CR_OK);
    for (int k = 0; k < N_VERTEX; k++) {
        memcpy(y + 3 * k, now.form.tree.mesh.vertex + 3 * vertex_number(k), 3 * sizeof *y);
    }
    store_mass(&now.form.mass, y + 3 * N_VERTEX);
    for (int i = 0; i < N_SHAPE_OUT; i++) {
        y[i] += 1.0;
    }
}

static void shape_vjp(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    double y[N_SHAPE_OUT];
    char unused;
    (void)cache;
    shape_forward(x, y, &unused);
    for (int k = 0; k < N_VERTEX; k++) {
        cri_form_vertex_vjp(&now.form, vertex_number(k), cri_v3_load(y_adj + 3 * k), x_adj);
    }
    cri_mesh_mass adj;
    load_mass(y_adj + 3 * N_VERTEX, &adj);
    CHECK(cri_form_mass_vjp(&now.form, &adj, now.scratch, x_adj));
}

static void shape_jvp(const double *x, const void *cache, const double *x_tan, double *y_tan) {
    double y[N_SHAPE_OUT];
    char unused;
    (void)cache;
    shape_forward(x, y, &unused);
    for (int k = 0; k < N_VERTEX; k++) {
        cri_v3_store(cri_form_vertex_jvp(&now.form, vertex_number(k), x_tan), y_tan + 3 * k);
    }
    cri_mesh_mass tan;
    CHECK(cri_form_mass_jvp(&now.form, x_tan, now.scratch, &tan));
    store_mass(&tan, y_tan + 3 * N_VERTEX);
}

static void check_shape(const char *name, const char *vjp, const char *jvp, int n,
                        const double *x) {
    cr_test_vjp(&(cr_vjp_case){.name = name,
                               .vjp_name = vjp,
                               .jvp_name = jvp,
                               .n_in = n,
                               .n_out = N_SHAPE_OUT,
                               .cache_size = 1,
                               .forward = shape_forward,
                               .vjp = shape_vjp,
                               .jvp = shape_jvp,
                               .points = x,
                               .n_points = 1,
                               .step = 1e-4,
                               .tolerance = 1e-6});
}

static void begin_shapes(void) {
    fixture_arenas(&now.arena, &now.scratch);
    now.own = now.own ? now.own : cri_arena_create(1 << 16);
    assert_non_null(now.own);
    cri_arena_reset(now.own);
    now.plan = (cri_form_plan){.n_node = 1};
}

TEST(linear_meshes_have_their_gradients) {
    static const cri_field_kind kind[] = {CRI_FIELD_SPHERE, CRI_FIELD_BOX, CRI_FIELD_CYLINDER,
                                          CRI_FIELD_CAPSULE, CRI_FIELD_ELLIPSOID};
    static const double x[3] = {0.4, 0.3, 0.5};
    for (size_t k = 0; k < sizeof kind / sizeof *kind; k++) {
        begin_shapes();
        cri_field_node node = {.kind = kind[k]};
        now.plan.node = &node;
        assert_true(cri_form_plan_primitive(kind[k], now.own, &now.plan));
        check_shape("primitive", "cri_form_vertex_vjp", "cri_form_vertex_jvp", now.plan.n_param, x);
        int side[2];
        CHECK(cri_mesh_is_closed(now.plan.n_face, now.plan.face, side));
        CHECK(now.form.mass.volume > 0.0);
    }
}

TEST(marched_meshes_have_their_gradients) {
    static const char *const name[] = {"posed intersection"};
    for (size_t k = 0; k < sizeof name / sizeof *name; k++) {
        fixture_field f;
        begin_shapes();
        fixture_field_find(name[k], &f);
        fixture_field_settle(&f);
        now.plan.node = f.field.node;
        now.plan.n_node = f.field.n_node;
        now.plan.n_param = f.field.n_param;
        now.plan.n_cell = 8;
        check_shape(name[k], "cri_form_mass_vjp", "cri_form_mass_jvp", f.field.n_param, f.param);
    }
}

// ---- touches of geoms --------------------------------------------------------------------------

enum { N_TOUCH_OUT = 10, MOST_X = 32, MOST_P = 96 };

static const char *const scene =
    "<mujoco><custom>"
    "<text name='carom:shape:a' data='union 0.05 (box 0.2 0.15 0.1, sphere 0.12 at 0.1 0.05 0.1)"
    "; cells 10'/>"
    "<text name='carom:shape:b' data='ellipsoid 0.2 0.3 0.25; cells 10'/>"
    "</custom><worldbody>"
    "<geom name='floor' type='plane' size='1 1 1'/>"
    "<geom name='wall' type='box' size='0.1 1 1' pos='0.6 0 0' euler='0 10 20'/>"
    "<body name='a'><freejoint/><inertial mass='1' pos='0 0 0' diaginertia='1 1 1'/>"
    "<geom name='a' type='sphere' size='0.2' pos='0.01 0.02 0.03' euler='10 20 30'/></body>"
    "<body name='b'><freejoint/><inertial mass='1' pos='0 0 0' diaginertia='1 1 1'/>"
    "<geom name='b' type='sphere' size='0.2'/></body>"
    "</worldbody></mujoco>";

static struct {
    cr_model *model;
    cr_sim *sim;
    cr_sizes n;
    double x[MOST_X], p[MOST_P];
    cri_near near;
    cri_narrow_touch first, touch;
    double at[MOST_X];
    cri_state state;
    cr_arena *arena;
    int n_shape, slot[24]; // parameters that are moved
} pair;

// x = (displacement of q, sizes and shapes)
static void pose_pair(const double *x) {
    double p[MOST_P];
    cr_error err = {0};
    memcpy(p, pair.p, sizeof p);
    for (int i = 0; i < pair.n_shape; i++) {
        p[pair.slot[i]] = x[pair.n.n_v + i];
    }
    CHECK_INT(cr_sim_set_params(pair.sim, p, &err), CR_OK);
    memcpy(pair.at, pair.x, sizeof pair.at);
    for (int b = 0; b < 2; b++) {
        double *q = pair.at + 7 * b;
        cri_quat turn = cri_quat_exp(cri_v3_load(x + 6 * b + 3));
        for (int i = 0; i < 3; i++) {
            q[i] += x[6 * b + i];
        }
        cri_q4_store(cri_quat_mul(cri_q4_load(pair.x + 7 * b + 3), turn), q + 3);
    }
    cri_arena_reset(pair.arena);
    cri_state_push(pair.model, pair.at, &pair.state, pair.arena);
    cri_state_set(pair.model, &pair.state);
}

static void touch_forward(const double *x, double *y, void *cache) {
    pose_pair(x);
    pair.touch = pair.first;
    CHECK(cri_near_again(&pair.sim->world, &pair.near, &pair.state, &pair.touch));
    memcpy(cache, &pair.touch, sizeof pair.touch);
    y[0] = pair.touch.gap;
    cri_v3_store(pair.touch.normal, y + 1);
    cri_v3_store(pair.touch.point[0], y + 4);
    cri_v3_store(pair.touch.point[1], y + 7);
    for (int i = 0; i < N_TOUCH_OUT; i++) {
        y[i] += 1.0;
    }
}

static void touch_vjp(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    cri_narrow_touch t;
    memcpy(&t, cache, sizeof t);
    pose_pair(x);
    cri_derived *d_adj = &pair.sim->d_adj;
    double p_adj[MOST_P] = {0};
    memset(d_adj->block, 0, sizeof(double) * (size_t)d_adj->n_double);
    cri_touch_diff adj = {
        y_adj[0], cri_v3_load(y_adj + 1), {cri_v3_load(y_adj + 4), cri_v3_load(y_adj + 7)}};
    cri_near_touch_vjp(&pair.sim->world, &pair.near, &t, &pair.state, &adj, x_adj, d_adj);
    cri_derive_vjp(pair.model, pair.sim->p, &pair.sim->d, d_adj, p_adj);
    for (int i = 0; i < pair.n_shape; i++) {
        x_adj[pair.n.n_v + i] += p_adj[pair.slot[i]];
    }
}

static void touch_jvp(const double *x, const void *cache, const double *x_tan, double *y_tan) {
    cri_narrow_touch t;
    memcpy(&t, cache, sizeof t);
    pose_pair(x);
    double p_tan[MOST_P] = {0}, body_tan[12];
    for (int i = 0; i < pair.n_shape; i++) {
        p_tan[pair.slot[i]] = x_tan[pair.n.n_v + i];
    }
    cri_derive_jvp(pair.model, pair.sim->p, &pair.sim->d, p_tan, &pair.sim->d_tan);
    cri_state_motion(pair.model, &pair.state, NULL, x_tan, body_tan);
    cri_touch_diff tan = cri_near_touch_jvp(&pair.sim->world, &pair.near, &t, &pair.state, x_tan,
                                            body_tan, &pair.sim->d_tan);
    y_tan[0] = tan.gap;
    cri_v3_store(tan.normal, y_tan + 1);
    cri_v3_store(tan.point[0], y_tan + 4);
    cri_v3_store(tan.point[1], y_tan + 7);
}

static void open_pair(void) {
    cr_error err = {0};
    cr_sim_options options;
    CHECK_INT(cr_model_parse(scene, strlen(scene), "scene", &pair.model, &err), CR_OK);
    options = cr_sim_options_default(pair.model);
    CHECK_INT(cr_sim_create(pair.model, &options, &pair.sim, &err), CR_OK);
    pair.n = cr_model_sizes(pair.model);
    CHECK(pair.n.n_p <= MOST_P && pair.n.n_x <= MOST_X);
    cr_model_defaults(pair.model, -1, pair.p, pair.x, NULL);
    pair.arena = cri_arena_create(1 << 12);
    assert_non_null(pair.arena);
    // the offset of the floor, sizes of the wall, all parameters of the two fields
    pair.n_shape = 0;
    for (int g = 0; g < pair.n.n_geom; g++) {
        const cri_geom *geom = &pair.model->geom[g];
        bool is_field = geom->shape == CRI_SHAPE_FIELD;
        for (int i = 0; i < (is_field ? geom->n_shape : geom->n_size); i++) {
            pair.slot[pair.n_shape++] = (is_field ? geom->slot_shape : geom->slot_size) + i;
        }
    }
    CHECK(pair.n_shape <= 24);
}

// all touches of two geoms at a state
static void check_touches(const char *name, int geom0, int geom1, const double *q,
                          const char *const names[2]) {
    double x[MOST_P] = {0};
    cri_narrow_touch touch[CRI_MOST_SLOT];
    memcpy(pair.x, q, 14 * sizeof *q);
    cri_model_normalise(pair.model, pair.x);
    CHECK(cri_model_may_collide(pair.model, geom0, geom1, NULL));
    pair.near = cri_near_geoms(pair.model, geom0, geom1, -1);
    for (int i = 0; i < pair.n_shape; i++) {
        x[pair.n.n_v + i] = pair.p[pair.slot[i]];
    }
    pose_pair(x);
    cri_near_touches(&pair.sim->world, &pair.near, &pair.state, 0.02, touch);
    CHECK(isfinite(touch[0].gap));
    pair.first = touch[0];
    cr_test_vjp(&(cr_vjp_case){.name = name,
                               .vjp_name = names[0],
                               .jvp_name = names[1],
                               .n_in = pair.n.n_v + pair.n_shape,
                               .n_out = N_TOUCH_OUT,
                               .cache_size = sizeof(cri_narrow_touch),
                               .forward = touch_forward,
                               .vjp = touch_vjp,
                               .jvp = touch_jvp,
                               .points = x,
                               .n_points = 1,
                               .step = 1e-5,
                               .tolerance = 1e-5});
}

TEST(touches_of_fields_have_their_gradients) {
    static const char *const form[2] = {"cri_form_touch_vjp", "cri_form_touch_jvp"};
    static const char *const field[2] = {"near_field_vjp", "near_field_jvp"};
    static const char *const pose[2] = {"near_pose_vjp", "near_pose_jvp"};
    // heights for which something is within the margin
    static const double floor_b[14] = {5, 5, 5, 1, 0, 0, 0, 0.1, 0.2, 0.262, 0.9, 0.2, 0.3, 0.1};
    static const double floor_a[14] = {0, 0, 0.155, 0.9, 0.3, 0.1, 0.2, 5, 5, 5, 1, 0, 0, 0};
    static const double wall_b[14] = {5, 5, 5, 1, 0, 0, 0, 0.3, 0, 0.4, 0.9, 0.2, 0.3, 0.1};
    static const double both[14] = {0, 0, 1, 0.9, 0.3, 0.1, 0.2, 0.05, 0.02, 1.42, 1, 0.2, 0, 0.1};
    open_pair();
    check_touches("ellipsoid on a plane", 0, 3, floor_b, field);
    check_touches("csg on a plane", 0, 2, floor_a, form);
    check_touches("ellipsoid at a box", 1, 3, wall_b, pose);
    check_touches("ellipsoid on a csg", 2, 3, both, form);
    cr_sim_destroy(pair.sim);
    cr_model_destroy(pair.model);
    cri_arena_destroy(pair.arena);
}

// |x| - r: a vertex at v moves along v/|v| with r
TEST(the_rule_along_the_normal_moves_vertices_outward) {
    const cri_field_node node = {.kind = CRI_FIELD_SPHERE};
    const double radius = 0.5, one = 1.0;
    cr_error err = {0};
    fixture_arenas(&now.arena, &now.scratch);
    now.plan = (cri_form_plan){
        .n_node = 1, .node = &node, .n_param = 1, .n_cell = 8, .rule = CRI_VERTEX_NORMAL};
    assert_int_equal(cri_form_make(&now.plan, &radius, now.arena, now.scratch, &now.form, &err),
                     CR_OK);
    for (int k = 0; k < N_VERTEX; k++) {
        int v = vertex_number(k);
        cri_vec3 at = cri_v3_load(now.form.tree.mesh.vertex + 3 * v), a = {0.3, -0.5, 0.7};
        cri_vec3 moved = cri_form_vertex_jvp(&now.form, v, &one);
        cri_vec3 out = cri_v3_scale(1.0 / cri_v3_norm(at), at);
        double got = 0.0;
        cri_form_vertex_vjp(&now.form, v, a, &got);
        CHECK(cri_v3_norm(cri_v3_sub(moved, out)) < 1e-14);
        CHECK_CLOSE(got, cri_v3_dot(a, out), 1e-14, 0.0);
    }
}

CR_TEST_MAIN(linear_meshes_have_their_gradients, marched_meshes_have_their_gradients,
             touches_of_fields_have_their_gradients,
             the_rule_along_the_normal_moves_vertices_outward)
