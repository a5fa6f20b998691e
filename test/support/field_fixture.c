// SPDX-License-Identifier: MIT
//
// Fields for tests. The torus: a = rho - R, phi = hypot(a, z) - r.

#include "field_fixture.h"

#include "base/io/mesh_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MESHES CAROM_SOURCE_DIR "/../shared/data/meshes/"

// ---- torus -------------------------------------------------------------------------------------

typedef struct torus_jet {
    cri_field_value v;
    cri_vec3 X; // of g for R; dphi/dR = -u.x
    double u[2];
} torus_jet;

static torus_jet torus_at(const double *p, cri_vec3 x) {
    double rho = hypot(x.x, x.y), a = rho - p[0], l = hypot(a, x.z);
    cri_vec3 e = cri_v3(x.x / rho, x.y / rho, 0.0), t = cri_v3(-e.y, e.x, 0.0);
    torus_jet j = {.u = {a / l, x.z / l}};
    j.v.phi = l - p[1];
    j.v.g = cri_v3(j.u[0] * e.x, j.u[0] * e.y, j.u[1]);
    cri_vec3 s = cri_v3(-j.u[1] * e.x, -j.u[1] * e.y, j.u[0]); // across g in the plane of the axis
    const double w[2] = {1.0 / l, j.u[0] / rho};
    const cri_vec3 along[2] = {s, t};
    for (int k = 0; k < 2; k++) {
        cri_sym_add_square(w[k], along[k], j.v.H);
    }
    j.X = cri_v3_scale(j.u[1] / l, s);
    return j;
}

static void torus_eval(const void *self, const double *p, cri_vec3 x, cri_field_order order,
                       cri_field_value *out) {
    (void)self;
    (void)order;
    *out = torus_at(p, x).v;
}

static void torus_vjp(const void *self, const double *p, cri_vec3 x, double phi_adj, cri_vec3 g_adj,
                      cri_vec3 *x_adj, double *p_adj) {
    (void)self;
    torus_jet j = torus_at(p, x);
    *x_adj = cri_v3_add(*x_adj, cri_v3_mad(cri_sym_mul(j.v.H, g_adj), phi_adj, j.v.g));
    if (p_adj) {
        p_adj[0] += -phi_adj * j.u[0] + cri_v3_dot(j.X, g_adj);
        p_adj[1] -= phi_adj;
    }
}

static void torus_jvp(const void *self, const double *p, cri_vec3 x, cri_vec3 x_tan,
                      const double *p_tan, double *phi_tan, cri_vec3 *g_tan) {
    (void)self;
    torus_jet j = torus_at(p, x);
    *phi_tan = cri_v3_dot(j.v.g, x_tan);
    *g_tan = cri_sym_mul(j.v.H, x_tan);
    if (p_tan) {
        *phi_tan -= j.u[0] * p_tan[0] + p_tan[1];
        *g_tan = cri_v3_mad(*g_tan, p_tan[0], j.X);
    }
}

const cri_field_custom fixture_torus = {.n_param = 2,
                                        .lipschitz = 1.0,
                                        .lower = {-1.1, -1.1, -0.3},
                                        .upper = {1.1, 1.1, 0.3},
                                        .eval = torus_eval,
                                        .vjp = torus_vjp,
                                        .jvp = torus_jvp};

// ---- list --------------------------------------------------------------------------------------

typedef struct listed {
    const char *name;
    int n_node;
    cri_field_node node[8];
    int n_param;
    double param[FIELD_PARAMS];
} listed;

#define POSE 0.1, -0.2, 0.05, 0.3, -0.5, 0.7

static const listed list[FIELD_FIXTURES] = {
    {"sphere", 1, {{.kind = CRI_FIELD_SPHERE}}, 1, {0.7}},
    {"box", 1, {{.kind = CRI_FIELD_BOX}}, 3, {0.5, 0.4, 0.3}},
    {"rounded_box", 1, {{.kind = CRI_FIELD_ROUNDED_BOX}}, 4, {0.5, 0.4, 0.3, 0.1}},
    {"cylinder", 1, {{.kind = CRI_FIELD_CYLINDER}}, 2, {0.4, 0.6}},
    {"capsule", 1, {{.kind = CRI_FIELD_CAPSULE}}, 2, {0.3, 0.5}},
    {"ellipsoid", 1, {{.kind = CRI_FIELD_ELLIPSOID}}, 3, {0.6, 0.4, 0.3}},
    {"csg",
     5,
     {{.kind = CRI_FIELD_ROUNDED_BOX},
      {.kind = CRI_FIELD_CYLINDER, .first = 4},
      {.kind = CRI_FIELD_DIFFERENCE, .first = 6},
      {.kind = CRI_FIELD_SPHERE, .first = 7, .is_posed = true},
      {.kind = CRI_FIELD_UNION, .first = 14}},
     15,
     {0.5, 0.4, 0.3, 0.1, 0.2, 0.6, 0.1, 0.25, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.15}},
    {"posed box", 1, {{.kind = CRI_FIELD_BOX, .is_posed = true}}, 9, {0.5, 0.4, 0.3, POSE}},
    {"posed intersection",
     3,
     {{.kind = CRI_FIELD_ELLIPSOID, .is_posed = true},
      {.kind = CRI_FIELD_CAPSULE, .first = 9, .is_posed = true},
      {.kind = CRI_FIELD_INTERSECTION, .first = 17}},
     18,
     {0.6, 0.4, 0.5, POSE, 0.4, 0.5, 0.1, 0.1, -0.1, -0.2, 0.4, 0.1, 0.2}},
    {"sharp difference",
     3,
     {{.kind = CRI_FIELD_SPHERE},
      {.kind = CRI_FIELD_BOX, .first = 1, .is_posed = true},
      {.kind = CRI_FIELD_DIFFERENCE, .first = 10}},
     11,
     {0.7, 0.3, 0.3, 0.5, 0.3, 0.2, 0.4, 0.1, 0.2, 0.3, 0.0}},
    {"torus",
     1,
     {{.kind = CRI_FIELD_CUSTOM, .is_posed = true, .custom = &fixture_torus}},
     8,
     {0.8, 0.25, POSE}},
};

void fixture_field_settle(fixture_field *f) {
    f->field.node = f->node;
    f->field.param = f->param;
}

void fixture_field_make(int which, fixture_field *out) {
    const listed *l = &list[which];
    memset(out, 0, sizeof *out);
    out->name = l->name;
    memcpy(out->node, l->node, sizeof out->node);
    memcpy(out->param, l->param, sizeof out->param);
    out->field.n_node = l->n_node;
    out->field.n_param = l->n_param;
    fixture_field_settle(out);
}

void fixture_field_find(const char *name, fixture_field *out) {
    for (int i = 0; i < FIELD_FIXTURES; i++) {
        if (strcmp(list[i].name, name) == 0) {
            fixture_field_make(i, out);
            return;
        }
    }
    fail_msg("no field %s", name);
}

void fixture_field_leaf(cri_field_kind kind, int n, const double *param, fixture_field *out) {
    memset(out, 0, sizeof *out);
    out->name = "leaf";
    out->node[0].kind = kind;
    memcpy(out->param, param, sizeof *param * (size_t)n);
    out->field.n_node = 1;
    out->field.n_param = n;
    fixture_field_settle(out);
}

// ---- what tests need besides -------------------------------------------------------------------

void fixture_arenas(cr_arena **arena, cr_arena **scratch) {
    cri_arena_destroy(*arena);
    cri_arena_destroy(*scratch);
    *arena = cri_arena_create(1 << 20);
    *scratch = cri_arena_create(1 << 20);
    assert_non_null(*arena);
    assert_non_null(*scratch);
}

cri_vec3 fixture_point(cr_test_rng *rng, double half) {
    double x = cr_test_uniform(rng, -half, half), y = cr_test_uniform(rng, -half, half);
    return cri_v3(x, y, cr_test_uniform(rng, -half, half));
}

cri_triangles fixture_reference_mesh(const char *name, cr_arena *arena) {
    char path[512];
    snprintf(path, sizeof path, MESHES "%s", name);
    FILE *stream = fopen(path, "rb");
    if (!stream) {
        SKIP("the reference meshes (../shared/data/meshes) are not here");
    }
    fclose(stream);
    double *vertex = NULL;
    int *face = NULL;
    cri_triangles mesh;
    cr_error err;
    assert_int_equal(cri_mesh_read(path, arena, &mesh.n_vertex, &vertex, &mesh.n_face, &face, &err),
                     CR_OK);
    mesh.vertex = vertex;
    mesh.face = face;
    return mesh;
}
