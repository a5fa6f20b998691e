// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: touches of every pair of shapes, at one point for every combination
// of pieces and every way their touch is found.
//
// Points are drawn at random; one is taken when its combination is new and when every touch with
// its id stays the same within the steps of the differences. forward looks for all touches anew.

#include "cr_test.h"

#include "base/math/quat.h"
#include "geometry/convex/pieces.h"
#include "narrow_fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_IN = 18, N_OUT = 10 };

/// Largest step of the differences; sizes are around one.
static const double step = 1e-4;

/// The pair of the row at zero displacement, and which touch.
static struct {
    fixture_pair pair;
    int id;
    double margin;
} now;

static void set_column(cri_mat3 *M, int j, cri_vec3 a) {
    M->m[j] = a.x;
    M->m[3 + j] = a.y;
    M->m[6 + j] = a.z;
}

// x = (pos, rotation vector, size) of both
static void pair_at(const double *x, fixture_pair *out) {
    *out = now.pair;
    for (int i = 0; i < 2; i++, x += 9) {
        cri_mat3 turn = fixture_turn(cri_v3_load(x + 3));
        const cri_mat3 *R = &now.pair.pose[i].R;
        out->pose[i].pos = cri_v3_load(x);
        for (int j = 0; j < 3; j++) {
            set_column(&out->pose[i].R, j, cri_m3_mul(R, cri_m3_column(&turn, j)));
        }
        memcpy(out->size[i], x + 6, sizeof out->size[i]);
    }
    fixture_settle(out);
}

static bool touch_at(const double *x, cri_narrow_touch *out) {
    fixture_pair pair;
    cri_narrow_touch touch[CRI_MAX_TOUCH];
    pair_at(x, &pair);
    int n = cri_collide(pair.shape, pair.pose, now.margin, touch);
    for (int k = 0; k < n; k++) {
        if (touch[k].id == now.id) {
            *out = touch[k];
            return true;
        }
    }
    return false;
}

static void forward(const double *x, double *y, void *cache) {
    cri_narrow_touch touch;
    memset(&touch, 0, sizeof touch);
    bool is_there = touch_at(x, &touch);
    CHECK(is_there);
    memcpy(cache, &touch, sizeof touch);
    y[0] = touch.gap;
    cri_v3_store(touch.normal, y + 1);
    cri_v3_store(touch.point[0], y + 4);
    cri_v3_store(touch.point[1], y + 7);
    // outputs have the rounding error of numbers of size one
    for (int j = 0; j < N_OUT; j++) {
        y[j] += 1.0;
    }
}

static void vjp(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    fixture_pair pair;
    cri_narrow_touch touch;
    pair_at(x, &pair);
    memcpy(&touch, cache, sizeof touch);
    cri_touch_diff touch_adj = {
        y_adj[0], cri_v3_load(y_adj + 1), {cri_v3_load(y_adj + 4), cri_v3_load(y_adj + 7)}};
    cri_shape_diff adj[2];
    for (int i = 0; i < 2; i++) {
        adj[i].pos = cri_v3_load(x_adj + 9 * i);
        adj[i].rot = cri_v3_load(x_adj + 9 * i + 3);
        memcpy(adj[i].size, x_adj + 9 * i + 6, sizeof adj[i].size);
    }
    cri_touch_vjp(pair.shape, pair.pose, &touch, &touch_adj, adj);
    for (int i = 0; i < 2; i++) {
        cri_v3_store(adj[i].pos, x_adj + 9 * i);
        cri_v3_store(adj[i].rot, x_adj + 9 * i + 3);
        memcpy(x_adj + 9 * i + 6, adj[i].size, sizeof adj[i].size);
    }
}

static void jvp(const double *x, const void *cache, const double *x_tan, double *y_tan) {
    fixture_pair pair;
    cri_narrow_touch touch;
    pair_at(x, &pair);
    memcpy(&touch, cache, sizeof touch);
    cri_shape_diff tan[2];
    for (int i = 0; i < 2; i++, x_tan += 9) {
        tan[i].pos = cri_v3_load(x_tan);
        tan[i].rot = cri_v3_load(x_tan + 3);
        memcpy(tan[i].size, x_tan + 6, sizeof tan[i].size);
    }
    cri_touch_diff out = cri_touch_jvp(pair.shape, pair.pose, &touch, tan);
    y_tan[0] = out.gap;
    cri_v3_store(out.normal, y_tan + 1);
    cri_v3_store(out.point[0], y_tan + 4);
    cri_v3_store(out.point[1], y_tan + 7);
}

// ---- points ------------------------------------------------------------------------------------

static void displaced(double *x) {
    for (int i = 0; i < 2; i++) {
        cri_v3_store(now.pair.pose[i].pos, x + 9 * i);
        memset(x + 9 * i + 3, 0, 3 * sizeof *x);
        memcpy(x + 9 * i + 6, now.pair.size[i], 3 * sizeof *x);
    }
}

// the same pieces within a few steps around, and a normal that turns by little in one
static bool is_steady(cr_test_rng *rng, const cri_narrow_touch *touch) {
    double x[N_IN], moved[N_IN];
    displaced(x);
    for (int trial = 0; trial < 24; trial++) {
        cri_narrow_touch other;
        for (int i = 0; i < N_IN; i++) {
            moved[i] = x[i] + cr_test_uniform(rng, -5.0, 5.0) * step;
        }
        if (!touch_at(moved, &other) || other.cache.kind != touch->cache.kind ||
            cri_v3_norm(cri_v3_sub(other.normal, touch->normal)) > 100.0 * step) {
            return false;
        }
    }
    return true;
}

// sizes around one, next to each other: half of them nearly flat on each other
static void draw(cr_test_rng *rng, cri_shape_kind kind0, cri_shape_kind kind1) {
    fixture_pair *p = &now.pair;
    memset(p, 0, sizeof *p);
    bool is_flat = cr_test_uniform(rng, 0, 1) < 0.5;
    for (int i = 0; i < 2; i++) {
        p->shape[i].kind = i ? kind1 : kind0;
        for (int k = 0; k < 3; k++) {
            p->size[i][k] = cr_test_uniform(rng, 0.4, 1.2);
        }
        if (p->shape[i].kind == CRI_SHAPE_MESH) {
            fixture_solid((int)cr_test_uniform(rng, 0, 3), p->size[i][0], &p->hull[i]);
        }
        double quarter = 0.5 * 3.14159265358979323846;
        double angle = cr_test_uniform(rng, 0, 3);
        p->pose[i].R = fixture_turn(cri_v3_scale(angle, fixture_direction(rng)));
        if (is_flat) {
            // quarter turns about x, any about the common z, and a tilt
            double about_x = quarter * floor(cr_test_uniform(rng, 0, 2));
            cri_mat3 a = fixture_turn(cri_v3(about_x, 0, 0));
            cri_vec3 tilt = cri_v3_scale(0.01, fixture_direction(rng));
            cri_mat3 b = fixture_turn(cri_v3(tilt.x, tilt.y, cr_test_uniform(rng, -2, 2)));
            for (int j = 0; j < 3; j++) {
                set_column(&p->pose[i].R, j, cri_m3_mul(&b, cri_m3_column(&a, j)));
            }
        }
    }
    cri_vec3 d = fixture_direction(rng);
    if (is_flat) {
        d = cri_v3(0.4 * d.x, 0.4 * d.y, 1.0);
    }
    p->pose[0].pos = cri_v3(0.3, -0.2, 0.1);
    p->pose[1].pos = cri_v3_mad(p->pose[0].pos, cr_test_uniform(rng, 0.3, 2.5), d);
    fixture_settle(p);
    if (is_flat) {
        // into reach of each other
        double gap = fixture_separation(p, cri_v3(0, 0, 1)) - cr_test_uniform(rng, -0.1, 0.1);
        p->pose[1].pos = cri_v3_mad(p->pose[1].pos, -gap, cri_v3(0, 0, 1));
        fixture_settle(p);
    }
    now.margin = 0.3;
}

static void check_row(const char *name) {
    double x[N_IN];
    displaced(x);
    cr_test_vjp(&(cr_vjp_case){.name = name,
                               .vjp_name = "cri_touch_vjp",
                               .jvp_name = "cri_touch_jvp",
                               .n_in = N_IN,
                               .n_out = N_OUT,
                               .cache_size = sizeof(cri_narrow_touch),
                               .forward = forward,
                               .vjp = vjp,
                               .jvp = jvp,
                               .points = x,
                               .n_points = 1,
                               .step = step});
}

static const char *const names[CRI_N_SHAPE] = {"plane",    "sphere", "capsule", "ellipsoid",
                                               "cylinder", "box",    "mesh"};

// rows of all combinations that show up; returns how many
static int check_pair(cri_shape_kind kind0, cri_shape_kind kind1, int n_draw) {
    cr_test_rng rng = cr_test_rng_of(100u * (unsigned)kind0 + kind1);
    bool is_done[3][4][4][2] = {{{{false}}}};
    int n_row = 0;
    for (int k = 0; k < n_draw; k++) {
        draw(&rng, kind0, kind1);
        cri_narrow_touch touch[CRI_MAX_TOUCH];
        int n = cri_collide(now.pair.shape, now.pair.pose, now.margin, touch);
        for (int i = 0; i < n; i++) {
            const cri_touch_cache *c = &touch[i].cache;
            bool *done = &is_done[c->kind & 3][c->feature[0] & 3][c->feature[1] & 3][i > 0];
            now.id = touch[i].id;
            if (*done || (c->kind & 3) == CRI_TOUCH_HELD || !is_steady(&rng, &touch[i])) {
                continue;
            }
            *done = true;
            n_row++;
            char name[64];
            snprintf(name, sizeof name, "%s %s: %d, %d and %d, %s", names[kind0], names[kind1],
                     c->kind & 3, c->feature[0] & 3, c->feature[1] & 3, i ? "patch" : "nearest");
            check_row(name);
        }
    }
    return n_row;
}

// Combinations that are drawn at least: all that are the nearest points, apart from parallel ones,
// and most of those that only patches have.
static const struct {
    cri_shape_kind kind[2];
    int n_row;
} pairs[] = {
    {{CRI_SHAPE_PLANE, CRI_SHAPE_SPHERE}, 1},
    {{CRI_SHAPE_PLANE, CRI_SHAPE_CAPSULE}, 2},
    {{CRI_SHAPE_PLANE, CRI_SHAPE_ELLIPSOID}, 1},
    {{CRI_SHAPE_PLANE, CRI_SHAPE_CYLINDER}, 3},
    {{CRI_SHAPE_PLANE, CRI_SHAPE_BOX}, 2},
    {{CRI_SHAPE_PLANE, CRI_SHAPE_MESH}, 2},
    {{CRI_SHAPE_SPHERE, CRI_SHAPE_SPHERE}, 1},
    {{CRI_SHAPE_SPHERE, CRI_SHAPE_CAPSULE}, 2},
    {{CRI_SHAPE_SPHERE, CRI_SHAPE_ELLIPSOID}, 1},
    {{CRI_SHAPE_SPHERE, CRI_SHAPE_CYLINDER}, 3},
    {{CRI_SHAPE_SPHERE, CRI_SHAPE_BOX}, 3},
    {{CRI_SHAPE_SPHERE, CRI_SHAPE_MESH}, 3},
    {{CRI_SHAPE_CAPSULE, CRI_SHAPE_CAPSULE}, 6},
    {{CRI_SHAPE_CAPSULE, CRI_SHAPE_ELLIPSOID}, 2},
    {{CRI_SHAPE_CAPSULE, CRI_SHAPE_CYLINDER}, 9},
    {{CRI_SHAPE_CAPSULE, CRI_SHAPE_BOX}, 8},
    {{CRI_SHAPE_CAPSULE, CRI_SHAPE_MESH}, 9},
    {{CRI_SHAPE_ELLIPSOID, CRI_SHAPE_ELLIPSOID}, 1},
    {{CRI_SHAPE_ELLIPSOID, CRI_SHAPE_CYLINDER}, 3},
    {{CRI_SHAPE_ELLIPSOID, CRI_SHAPE_BOX}, 3},
    {{CRI_SHAPE_ELLIPSOID, CRI_SHAPE_MESH}, 3},
    {{CRI_SHAPE_CYLINDER, CRI_SHAPE_CYLINDER}, 12},
    {{CRI_SHAPE_CYLINDER, CRI_SHAPE_BOX}, 10},
    {{CRI_SHAPE_CYLINDER, CRI_SHAPE_MESH}, 12},
    {{CRI_SHAPE_BOX, CRI_SHAPE_BOX}, 9},
    {{CRI_SHAPE_BOX, CRI_SHAPE_MESH}, 10},
    {{CRI_SHAPE_MESH, CRI_SHAPE_MESH}, 10},
};

TEST(touches_of_every_pair_have_their_gradients) {
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        int n_row = check_pair(pairs[k].kind[0], pairs[k].kind[1], 400);
        CHECK(n_row >= pairs[k].n_row);
    }
}

// x = both radii: with one centre the normal is held, and only the sizes move smoothly
static void held_forward(const double *x, double *y, void *cache) {
    now.pair.size[0][0] = x[0];
    now.pair.size[1][0] = x[1];
    double all[N_IN];
    displaced(all);
    forward(all, y, cache);
}

static void held_vjp(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    (void)x;
    double all[N_IN], adj[N_IN] = {0};
    displaced(all);
    vjp(all, cache, y_adj, adj);
    x_adj[0] += adj[6];
    x_adj[1] += adj[15];
}

static void held_jvp(const double *x, const void *cache, const double *x_tan, double *y_tan) {
    (void)x;
    double all[N_IN], tan[N_IN] = {[6] = x_tan[0], [15] = x_tan[1]};
    displaced(all);
    jvp(all, cache, tan, y_tan);
}

TEST(a_held_normal_leaves_the_gradient_of_sizes) {
    static const double radii[] = {0.4, 0.7};
    memset(&now.pair, 0, sizeof now.pair);
    for (int i = 0; i < 2; i++) {
        now.pair.shape[i].kind = CRI_SHAPE_SPHERE;
        now.pair.pose[i].pos = cri_v3(0.3, -0.2, 0.1);
        now.pair.pose[i].R = fixture_turn(cri_v3(0.1 + i, 0.2, 0.3));
        now.pair.size[i][0] = radii[i];
    }
    fixture_settle(&now.pair);
    cri_narrow_touch touch;
    cri_distance(now.pair.shape, now.pair.pose, &touch);
    CHECK_INT(touch.cache.kind & 3, CRI_TOUCH_HELD);
    now.id = touch.id;
    cr_test_vjp(&(cr_vjp_case){.name = "one centre",
                               .vjp_name = "cri_touch_vjp",
                               .jvp_name = "cri_touch_jvp",
                               .n_in = 2,
                               .n_out = N_OUT,
                               .cache_size = sizeof(cri_narrow_touch),
                               .forward = held_forward,
                               .vjp = held_vjp,
                               .jvp = held_jvp,
                               .points = radii,
                               .n_points = 1});
}

CR_TEST_MAIN(touches_of_every_pair_have_their_gradients, a_held_normal_leaves_the_gradient_of_sizes)
