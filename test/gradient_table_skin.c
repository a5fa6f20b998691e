// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: touches of two skins for both poses, the parameters of both fields
// and the corners of the triangle, with the lowest point on a corner, a side and within.

#include "cr_test.h"

#include "field_fixture.h"
#include "geometry/field/skin.h"
#include "narrow_fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_OUT = 10, MOST_IN = 12 + 2 * FIELD_PARAMS + 9 };

/// The owner is one triangle with a field of its own, the other a field with a triangle far away.
static struct {
    fixture_field field[2];
    double corner[2][9];
    cri_pose pose[2];
    cri_narrow_touch touch;
    int owner;
    int n_in;
} now;

typedef struct stage {
    fixture_field field[2];
    double corner[2][9];
    cri_pose pose[2];
    cri_tri_node node[2];
    cri_tri_tree tree[2];
    cri_skin skin[2];
} stage;

static const int one_face[3] = {0, 1, 2}, zero = 0;

// x = (pos, rotation vector) of both, parameters of both, corners of the owner's triangle
static void stage_at(const double *x, stage *s) {
    const double *p = x + 12;
    memcpy(s->corner, now.corner, sizeof s->corner);
    for (int i = 0; i < 2; i++) {
        cri_mat3 turn = fixture_turn(cri_v3_load(x + 6 * i + 3));
        s->pose[i].pos = cri_v3_load(x + 6 * i);
        s->pose[i].R = cri_m3_product(&now.pose[i].R, &turn);
        s->field[i] = now.field[i];
        fixture_field_settle(&s->field[i]);
        memcpy(s->field[i].param, p, sizeof *p * (size_t)s->field[i].field.n_param);
        p += s->field[i].field.n_param;
    }
    memcpy(s->corner[now.owner], p, sizeof s->corner[0]);
    for (int i = 0; i < 2; i++) {
        s->node[i] = (cri_tri_node){.lower = {-9, -9, -9}, .upper = {9, 9, 9}, .radius = 3, .n = 1};
        s->tree[i] = (cri_tri_tree){{3, 1, s->corner[i], one_face}, 1, &s->node[i], &zero};
        s->skin[i] = (cri_skin){&s->field[i].field, &s->tree[i], false, false};
    }
}

static void forward(const double *x, double *y, void *cache) {
    stage s;
    stage_at(x, &s);
    cri_narrow_touch t = now.touch;
    bool is_same = cri_skin_touch_again(s.skin, s.pose, &t);
    CHECK(is_same);
    memcpy(cache, &t, sizeof t);
    y[0] = t.gap;
    cri_v3_store(t.normal, y + 1);
    cri_v3_store(t.point[0], y + 4);
    cri_v3_store(t.point[1], y + 7);
    // outputs have the rounding error of numbers of size one
    for (int j = 0; j < N_OUT; j++) {
        y[j] += 1.0;
    }
}

static void load_diff(const double *x, double *copy, cri_vec3 corner[3], cri_skin_diff diff[2]) {
    memcpy(copy, x, sizeof *x * (size_t)now.n_in);
    double *p = copy + 12;
    for (int i = 0; i < 2; i++) {
        diff[i] = (cri_skin_diff){cri_v3_load(x + 6 * i), cri_v3_load(x + 6 * i + 3), p, NULL};
        p += now.field[i].field.n_param;
    }
    for (int l = 0; l < 3; l++) {
        corner[l] = cri_v3_load(p + 3 * l);
    }
    diff[now.owner].corner = corner;
}

static void vjp(const double *x, const void *cache, const double *y_adj, double *x_adj) {
    stage s;
    stage_at(x, &s);
    cri_narrow_touch t;
    memcpy(&t, cache, sizeof t);
    cri_touch_diff adj = {
        y_adj[0], cri_v3_load(y_adj + 1), {cri_v3_load(y_adj + 4), cri_v3_load(y_adj + 7)}};
    double copy[MOST_IN];
    cri_vec3 corner[3];
    cri_skin_diff diff[2];
    load_diff(x_adj, copy, corner, diff);
    cri_skin_touch_vjp(s.skin, s.pose, &t, &adj, diff);
    memcpy(x_adj, copy, sizeof *copy * (size_t)now.n_in);
    for (int l = 0; l < 3; l++) {
        cri_v3_store(corner[l], x_adj + now.n_in - 9 + 3 * l);
    }
    for (int i = 0; i < 2; i++) {
        cri_v3_store(diff[i].pos, x_adj + 6 * i);
        cri_v3_store(diff[i].rot, x_adj + 6 * i + 3);
    }
}

static void jvp(const double *x, const void *cache, const double *x_tan, double *y_tan) {
    stage s;
    stage_at(x, &s);
    cri_narrow_touch t;
    memcpy(&t, cache, sizeof t);
    double copy[MOST_IN];
    cri_vec3 corner[3];
    cri_skin_diff diff[2];
    load_diff(x_tan, copy, corner, diff);
    cri_touch_diff tan = cri_skin_touch_jvp(s.skin, s.pose, &t, diff);
    y_tan[0] = tan.gap;
    cri_v3_store(tan.normal, y_tan + 1);
    cri_v3_store(tan.point[0], y_tan + 4);
    cri_v3_store(tan.point[1], y_tan + 7);
}

/// A triangle in the frame of the other's field, and what is expected of its lowest point.
typedef struct row {
    const char *name;
    const char *other;
    double corner[9];
    int n_active;
    double start[3];
} row;

// the point of the row: poses that are not trivial, the triangle where the row wants it
static void point_of(const row *r, int owner, double *x) {
    static const double pose[2][6] = {{0.3, -0.2, 0.5, 0.4, 0.1, -0.3},
                                      {-0.1, 0.6, 0.2, -0.2, 0.5, 0.3}};
    memset(&now, 0, sizeof now);
    now.owner = owner;
    fixture_field_find("posed intersection", &now.field[owner]);
    fixture_field_find(r->other, &now.field[1 - owner]);
    memset(x, 0, sizeof *x * 12);
    for (int i = 0; i < 2; i++) {
        now.pose[i].pos = cri_v3_load(pose[i]);
        now.pose[i].R = fixture_turn(cri_v3_load(pose[i] + 3));
        memcpy(x + 6 * i, pose[i], 3 * sizeof *x);
    }
    double *p = x + 12;
    for (int i = 0; i < 2; i++) {
        memcpy(p, now.field[i].param, sizeof *p * (size_t)now.field[i].field.n_param);
        p += now.field[i].field.n_param;
    }
    const cri_pose *mine = &now.pose[owner], *other = &now.pose[1 - owner];
    for (int l = 0; l < 3; l++) {
        cri_vec3 world =
            cri_v3_add(other->pos, cri_m3_mul(&other->R, cri_v3_load(r->corner + 3 * l)));
        cri_v3_store(cri_m3_tmul(&mine->R, cri_v3_sub(world, mine->pos)), p + 3 * l);
    }
    memcpy(now.corner[owner], p, sizeof now.corner[0]);
    now.n_in = (int)(p + 9 - x);
}

static void check_row(const row *r, int owner, int kind) {
    double x[MOST_IN];
    point_of(r, owner, x);
    stage s;
    stage_at(x, &s);
    now.touch.cache.kind = kind | (owner ? CRI_SKIN_OWNER : 0);
    memcpy(now.touch.cache.u, r->start, sizeof r->start);
    // from the start of the row to the lowest point, whose corners are those of the start
    CHECK(cri_skin_touch_again(s.skin, s.pose, &now.touch));
    int n_active = 0;
    for (int l = 0; l < 3; l++) {
        n_active += now.touch.cache.u[l] > 0.0;
    }
    CHECK_INT(n_active, r->n_active);
    char name[96];
    snprintf(name, sizeof name, "%s, owner %d, kind %d", r->name, owner, kind);
    cr_test_vjp(&(cr_vjp_case){.name = name,
                               .vjp_name = "cri_skin_touch_vjp",
                               .jvp_name = "cri_skin_touch_jvp",
                               .n_in = now.n_in,
                               .n_out = N_OUT,
                               .cache_size = sizeof(cri_narrow_touch),
                               .forward = forward,
                               .vjp = vjp,
                               .jvp = jvp,
                               .points = x,
                               .n_points = 1,
                               .step = 1e-4,
                               .tolerance = 1e-6});
}

static const row rows[] = {
    {"corner at an ellipsoid",
     "ellipsoid",
     {0.1, 0.2, 0.35, 0.9, 0.1, 0.8, 0.2, 0.8, 0.9},
     1,
     {1, 0, 0}},
    {"side at an ellipsoid",
     "ellipsoid",
     {-0.5, 0.05, 0.32, 0.6, 0.1, 0.3, 0.1, 0.9, 0.9},
     2,
     {0.5, 0.5, 0}},
    {"inside at an ellipsoid",
     "ellipsoid",
     {-0.6, -0.4, 0.3, 0.7, -0.3, 0.32, 0, 0.8, 0.35},
     3,
     {0.3, 0.3, 0.4}},
    {"corner at a csg", "csg", {0.55, 0.45, 0.33, 0.9, 0.8, 0.8, 1.2, 0.3, 0.6}, 1, {1, 0, 0}},
    {"inside at a csg",
     "csg",
     {-0.35, -0.4, 0.74, 0.45, -0.3, 0.73, 0.02, 0.5, 0.75},
     3,
     {0.3, 0.3, 0.4}},
    {"side in a sphere",
     "sphere",
     {-0.5, 0.05, 0.62, 0.6, 0.1, 0.6, 0.1, 0.9, 1.2},
     2,
     {0.5, 0.5, 0}},
    {"corner at a box", "box", {0.1, 0.2, 0.28, 0.9, 0.1, 0.8, 0.2, 0.8, 0.9}, 1, {1, 0, 0}},
};

TEST(touches_of_skins_have_their_gradients) {
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        for (int owner = 0; owner < 2; owner++) {
            check_row(&rows[k], owner, owner ? CRI_SKIN_OWN : 0);
            check_row(&rows[k], owner, owner ? 0 : CRI_SKIN_OWN);
        }
    }
}

// a triangle on the face of a box: any of its points is lowest, and weights are held
TEST(flat_touches_have_the_gradient_of_held_weights) {
    static const row flat = {"flat on a box",
                             "box",
                             {-0.2, -0.1, 0.31, 0.3, -0.2, 0.31, 0.1, 0.3, 0.31},
                             3,
                             {0.25, 0.35, 0.4}};
    check_row(&flat, 0, CRI_SKIN_FLAT);
    check_row(&flat, 1, CRI_SKIN_FLAT);
}

CR_TEST_MAIN(touches_of_skins_have_their_gradients, flat_touches_have_the_gradient_of_held_weights)
