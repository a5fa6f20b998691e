// SPDX-License-Identifier: MIT
//
// carom bench sdf. Shapes of one parameter to twenty: a ball, a rounded box, an ellipsoid, and a
// cup, which is a cylinder without its inside, with a handle. Times are those of the processor.

#include "bench_sdf.h"

#include "base/math/quat.h"
#include "cli/scene.h"
#include "geometry/field/skin.h"
#include "geometry/mesh/march.h"
#include "geometry/mesh/mass.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { REPEATS = 5, COLLISIONS = 50, SAMPLES = 128, GRID = 64, TOUCHES = 64, PARAMS = 24 };

/// A field in its own memory, its mesh and its tree.
typedef struct shape {
    const char *name;
    cri_field field;
    cri_field_node node[5];
    double param[PARAMS];
    cri_surface surface;
    cri_tri_tree tree;
    cri_grid grid;
} shape;

/// What the fields of all benchmarks live in.
typedef struct bench {
    cr_arena *keep, *scratch;
    cr_error err;
} bench;

static const shape shapes[CLI_SDF_SURFACES] = {
    {.name = "ball",
     .field = {.n_node = 1, .n_param = 1},
     .node = {{.kind = CRI_FIELD_SPHERE}},
     .param = {0.7}},
    {.name = "rounded box",
     .field = {.n_node = 1, .n_param = 4},
     .node = {{.kind = CRI_FIELD_ROUNDED_BOX}},
     .param = {0.5, 0.45, 0.4, 0.02}},
    {.name = "ellipsoid",
     .field = {.n_node = 1, .n_param = 3},
     .node = {{.kind = CRI_FIELD_ELLIPSOID}},
     .param = {0.6, 0.5, 0.4}},
    {.name = "cup",
     .field = {.n_node = 5, .n_param = 20},
     .node = {{.kind = CRI_FIELD_CYLINDER},
              {.kind = CRI_FIELD_CAPSULE, .first = 2, .is_posed = true},
              {.kind = CRI_FIELD_DIFFERENCE, .first = 10},
              {.kind = CRI_FIELD_CAPSULE, .first = 11, .is_posed = true},
              {.kind = CRI_FIELD_UNION, .first = 19}},
     .param = {0.4,  0.5,  0.3,  0.5,  0.0, 0.0, 0.3, 0.0, 0.0, 0.0,
               0.05, 0.06, 0.25, 0.45, 0.0, 0.0, 0.0, 0.0, 0.0, 0.05}},
};

// of this process, whatever else the machine does
static double cpu_seconds(void) {
    return (double)clock() / CLOCKS_PER_SEC;
}

static void settle(shape *s) {
    s->field.node = s->node;
    s->field.param = s->param;
}

static void mesh_of(const shape *s, cri_triangles *mesh) {
    *mesh =
        (cri_triangles){s->surface.n_vertex, s->surface.n_face, s->surface.vertex, s->surface.face};
}

// ---- surfaces ----------------------------------------------------------------------------------

// a cube of SAMPLES^3 around the shape
static cri_march_box cube_around(const cri_field *field) {
    cri_march_box box = cri_march_box_of(field, SAMPLES - 5);
    for (int a = 0; a < 3; a++) {
        double *at = a == 0 ? &box.origin.x : a == 1 ? &box.origin.y : &box.origin.z;
        *at -= 0.5 * box.h * (SAMPLES - box.n[a]);
        box.n[a] = SAMPLES;
    }
    return box;
}

static bool time_surface(bench *b, int which, cli_bench_sdf_result *out) {
    shape s = shapes[which];
    settle(&s);
    cri_march_box box = cube_around(&s.field);
    out->surface[which].name = s.name;
    out->surface[which].surface = out->surface[which].mass = out->surface[which].adjoint = INFINITY;
    for (int k = 0; k < REPEATS; k++) {
        cri_arena_reset(b->keep);
        cri_arena_reset(b->scratch);
        double start = cpu_seconds();
        if (cri_surface_of_field(&s.field, &box, b->keep, b->scratch, &s.surface, &b->err) !=
            CR_OK) {
            return false;
        }
        double marched = cpu_seconds();
        const cri_surface *f = &s.surface;
        cri_mesh_mass mass, adj = {.volume = 1.0, .inertia = {1.0, 1.0, 1.0}};
        bool is_good = cri_mesh_integrals(f->n_vertex, f->vertex, f->n_face, f->face, &mass);
        double weighed = cpu_seconds(), param_adj[PARAMS] = {0.0};
        double *vertex_adj = CR_PUSH(b->scratch, double, 3 * f->n_vertex);
        if (!is_good || !vertex_adj) {
            return false;
        }
        cri_mesh_integrals_vjp(f->n_vertex, f->vertex, f->n_face, f->face, &adj, vertex_adj);
        if (!cri_surface_of_field_vjp(&s.field, f, CRI_VERTEX_EDGE, vertex_adj, b->scratch,
                                      param_adj)) {
            return false;
        }
        out->surface[which].n_face = f->n_face;
        out->surface[which].surface = fmin(out->surface[which].surface, marched - start);
        out->surface[which].mass = fmin(out->surface[which].mass, weighed - marched);
        out->surface[which].adjoint = fmin(out->surface[which].adjoint, cpu_seconds() - weighed);
    }
    return true;
}

// ---- contact -----------------------------------------------------------------------------------

// marches a shape to about 5000 triangles; with a grid its field is that of the mesh
static bool make_shape(bench *b, int which, bool use_grid, shape *s, double *seconds) {
    static const int cells[CLI_SDF_SURFACES] = {27, 23, 28, 22};
    *s = shapes[which];
    settle(s);
    cri_march_box box = cri_march_box_of(&s->field, cells[which]);
    if (cri_surface_of_field(&s->field, &box, b->keep, b->scratch, &s->surface, &b->err) != CR_OK) {
        return false;
    }
    cri_triangles mesh;
    mesh_of(s, &mesh);
    if (!cri_tri_tree_build(&mesh, b->keep, b->scratch, &s->tree)) {
        return false;
    }
    if (use_grid) {
        double start = cpu_seconds();
        if (cri_grid_of_mesh(&mesh, GRID, b->keep, &s->grid, &b->err) != CR_OK) {
            return false;
        }
        *seconds = cpu_seconds() - start;
        s->node[0] = (cri_field_node){.kind = CRI_FIELD_GRID, .grid = &s->grid};
        s->param[0] = 1.0;
        s->field.n_node = s->field.n_param = 1;
    }
    return true;
}

/// Two shapes, the second lowered until they touch.
typedef struct setting {
    const char *name;
    int which[2];
    bool use_grid;
    double at[3], turn[3]; // of the second
} setting;

static const setting settings[CLI_SDF_PAIRS] = {
    {"box on box, face to face", {1, 1}, false, {0.1, 0.07, 0.9}, {0.0, 0.0, 0.3}},
    {"the same as grids", {1, 1}, true, {0.1, 0.07, 0.9}, {0.0, 0.0, 0.3}},
    {"ellipsoid in a cup, as grids", {3, 2}, true, {0.02, 0.03, 1.3}, {0.3, 1.4, 0.2}},
};

static void time_touches(const cri_skin skin[2], const cri_pose pose[2], int n,
                         const cri_narrow_touch *touch) {
    double param[2][PARAMS] = {{0.0}};
    for (int i = 0; i < n; i++) {
        cri_touch_diff adj = {.gap = 1.0, .normal = touch[i].normal};
        cri_skin_diff out[2] = {{.param = param[0]}, {.param = param[1]}};
        cri_skin_touch_vjp(skin, pose, &touch[i], &adj, out);
    }
}

static bool time_pair(bench *b, int which, cli_bench_sdf_result *out) {
    const setting *set = &settings[which];
    shape s[2];
    cri_arena_reset(b->keep);
    cri_arena_reset(b->scratch);
    for (int i = 0; i < 2; i++) {
        if (!make_shape(b, set->which[i], set->use_grid, &s[i], &out->grid)) {
            return false;
        }
        settle(&s[i]);
        out->pair[which].n_face[i] = s[i].tree.mesh.n_face;
        out->grid_faces = s[i].tree.mesh.n_face;
    }
    const cri_skin skin[2] = {{&s[0].field, &s[0].tree, false, false},
                              {&s[1].field, &s[1].tree, false, false}};
    cri_pose pose[2] = {
        {.R = cri_quat_rotation(cri_quat_exp(cri_v3(0.0, 0.0, 0.0)))},
        {cri_v3_load(set->at), cri_quat_rotation(cri_quat_exp(cri_v3_load(set->turn)))}};
    cri_narrow_touch touch[TOUCHES];
    int n = 0;
    // down by half of the margin, until it rests
    for (int k = 0; k < 4000 && !(n > 0 && touch[0].gap < 0.0); k++) {
        pose[1].pos.z -= 5e-4;
        n = cri_skins_collide(skin, pose, 1e-3, TOUCHES, touch, b->scratch);
    }
    double least = INFINITY, least_adjoint = INFINITY;
    for (int k = 0; k < COLLISIONS; k++) {
        double start = cpu_seconds();
        n = cri_skins_collide(skin, pose, 1e-3, TOUCHES, touch, b->scratch);
        double middle = cpu_seconds();
        time_touches(skin, pose, n, touch);
        least = fmin(least, middle - start);
        least_adjoint = fmin(least_adjoint, cpu_seconds() - middle);
    }
    out->pair[which].name = set->name;
    out->pair[which].n_touch = n;
    out->pair[which].collide = least;
    out->pair[which].adjoint = least_adjoint;
    return n > 0;
}

int cli_bench_sdf(cli_bench_sdf_result *out) {
    *out = (cli_bench_sdf_result){.grid = 0.0};
    bench b = {.keep = cri_arena_create(1 << 24), .scratch = cri_arena_create(1 << 24)};
    bool is_good = b.keep && b.scratch;
    for (int k = 0; k < CLI_SDF_SURFACES && is_good; k++) {
        is_good = time_surface(&b, k, out);
    }
    for (int k = 0; k < CLI_SDF_PAIRS && is_good; k++) {
        is_good = time_pair(&b, k, out);
    }
    cri_arena_destroy(b.keep);
    cri_arena_destroy(b.scratch);
    if (!is_good && !b.err.text[0]) {
        cri_fail(&b.err, CR_ERR_MEMORY, 0, "no memory for the shapes of the benchmark");
    }
    return is_good ? CLI_DONE : cli_error(&b.err);
}
