// SPDX-License-Identifier: MIT
//
// Contact of fields: lowest points of triangles, patches, nonconvex shapes, and no heap calls.

#include "cr_test.h"

#include "alloc_wrap.h"
#include "field_fixture.h"
#include "geometry/field/skin.h"
#include "geometry/mesh/march.h"
#include "geometry/mesh/triangle_min.h"
#include "narrow_fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static cr_arena *arena, *scratch;

static void begin(void) {
    fixture_arenas(&arena, &scratch);
}

// ---- lowest points -----------------------------------------------------------------------------

static double lowest_sample(const cri_field *field, const cri_vec3 c[3]) {
    enum { N = 24 };
    double best = INFINITY;
    for (int i = 0; i <= N; i++) {
        for (int j = 0; i + j <= N; j++) {
            cri_vec3 x = cri_v3_scale((double)i / N, c[0]);
            x = cri_v3_mad(cri_v3_mad(x, (double)j / N, c[1]), (double)(N - i - j) / N, c[2]);
            best = fmin(best, cri_field_phi(field, x));
        }
    }
    return best;
}

// distances to convex shapes are convex: what is stationary outside is lowest
TEST(the_lowest_point_of_a_triangle_is_found_to_rounding) {
    static const char *const name[] = {"sphere",  "rounded_box", "cylinder",
                                       "capsule", "ellipsoid",   "box"};
    cr_test_rng rng = cr_test_rng_of(21);
    int count[4] = {0}, n_unsettled = 0;
    for (int k = 0; k < 900; k++) {
        fixture_field f;
        fixture_field_find(name[k % 6], &f);
        cri_vec3 c[3], at = fixture_point(&rng, 0.8);
        double size = k % 12 < 6 ? 0.8 : 0.05;
        for (int l = 0; l < 3; l++) {
            c[l] = cri_v3_add(at, fixture_point(&rng, size));
        }
        double best = lowest_sample(&f.field, c);
        if (best < 0.01) {
            continue;
        }
        cri_triangle_min m;
        const double middle[3] = {1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0};
        cri_triangle_min_find(&f.field, c, middle, &m);
        n_unsettled += !m.is_settled;
        CHECK(!m.is_settled || m.gap < 1e-12);
        CHECK(m.v.phi <= best + 1e-12);
        int active[3];
        count[cri_triangle_active(m.weight, active)]++;
    }
    // corners, sides and insides all occur; nothing is left unfinished
    CHECK(count[1] > 100 && count[2] > 100 && count[3] > 10);
    CHECK_INT(n_unsettled, 0);
}

// with a bound the same point, or none: never one that is not below
TEST(a_search_below_a_bound_finds_the_same_point_or_none) {
    static const char *const name[] = {"sphere", "rounded_box", "ellipsoid"};
    cr_test_rng rng = cr_test_rng_of(23);
    int n_found = 0, n_none = 0;
    for (int k = 0; k < 300; k++) {
        fixture_field f;
        fixture_field_find(name[k % 3], &f);
        cri_vec3 c[3], at = fixture_point(&rng, 1.5);
        for (int l = 0; l < 3; l++) {
            c[l] = cri_v3_add(at, fixture_point(&rng, 0.3));
        }
        cri_triangle_min all, m;
        const double corner[3] = {1.0, 0.0, 0.0};
        cri_triangle_min_find(&f.field, c, corner, &all);
        if (!(all.v.phi > 0.01)) {
            continue; // convex outside only
        }
        CHECK(cri_triangle_min_below(&f.field, c, corner, all.v.phi + 1e-9, &m));
        CHECK_CLOSE(m.v.phi, all.v.phi, 1e-12, 0.0);
        CHECK(!cri_triangle_min_below(&f.field, c, corner, all.v.phi - 1e-9, &m));
        bool is = cri_triangle_min_below(&f.field, c, corner, 0.3, &m);
        CHECK(is == (all.v.phi < 0.3));
        n_found += is;
        n_none += !is;
    }
    CHECK(n_found > 30 && n_none > 30);
}

// ---- skins -------------------------------------------------------------------------------------

/// A field, its mesh and its tree.
typedef struct body {
    fixture_field field;
    cri_surface surface;
    cri_tri_tree tree;
} body;

static cri_skin skin_of(const body *b) {
    return (cri_skin){&b->field.field, &b->tree, false, false};
}

static void march_body(body *b, int n) {
    cri_march_box box = cri_march_box_of(&b->field.field, n);
    cr_error err;
    assert_int_equal(cri_surface_of_field(&b->field.field, &box, arena, scratch, &b->surface, &err),
                     CR_OK);
    cri_triangles mesh = {b->surface.n_vertex, b->surface.n_face, b->surface.vertex,
                          b->surface.face};
    assert_true(cri_tri_tree_build(&mesh, arena, scratch, &b->tree));
}

// a box with its twelve triangles
static void box_body(body *b, double hx, double hy, double hz) {
    static const int face[12][3] = {{0, 1, 3}, {0, 3, 2}, {4, 6, 7}, {4, 7, 5},
                                    {0, 4, 5}, {0, 5, 1}, {2, 3, 7}, {2, 7, 6},
                                    {0, 2, 6}, {0, 6, 4}, {1, 5, 7}, {1, 7, 3}};
    const double half[3] = {hx, hy, hz};
    double *vertex = CR_PUSH(arena, double, 24);
    assert_non_null(vertex);
    for (int i = 0; i < 24; i++) {
        vertex[i] = (i / 3 >> (2 - i % 3) & 1 ? 1.0 : -1.0) * half[i % 3];
    }
    fixture_field_leaf(CRI_FIELD_BOX, 3, half, &b->field);
    cri_triangles mesh = {8, 12, vertex, face[0]};
    assert_true(cri_tri_tree_build(&mesh, arena, scratch, &b->tree));
}

static void csg_and_ellipsoid(body *a, body *b) {
    fixture_field_find("csg", &a->field);
    march_body(a, 24);
    fixture_field_find("ellipsoid", &b->field);
    march_body(b, 24);
}

static void torus_body(body *b, int n) {
    fixture_field_find("torus", &b->field);
    b->field.node[0].is_posed = false;
    b->field.field.n_param = 2;
    march_body(b, n);
}

static cri_pose pose_at(double x, double y, double z, double rx, double ry, double rz) {
    return (cri_pose){cri_v3(x, y, z), fixture_turn(cri_v3(rx, ry, rz))};
}

enum { MOST = 64 };
static cri_narrow_touch touch[MOST];

static int collide(const body *a, const body *b, const cri_pose pose[2], double margin) {
    const cri_skin skin[2] = {skin_of(a), skin_of(b)};
    int n = cri_skins_collide(skin, pose, margin, MOST, touch, scratch);
    for (int k = 0; k < n; k++) {
        cri_vec3 far = cri_v3_mad(touch[k].point[0], touch[k].gap, touch[k].normal);
        CHECK(cri_v3_norm(cri_v3_sub(far, touch[k].point[1])) < 1e-12);
        CHECK_CLOSE(cri_v3_norm(touch[k].normal), 1.0, 1e-12, 0.0);
        CHECK(touch[k].gap <= margin && touch[k].id >= 0);
        cri_narrow_touch again = touch[k];
        CHECK(cri_skin_touch_again(skin, pose, &again));
        CHECK_CLOSE(again.gap, touch[k].gap, 1e-12, 0.0);
    }
    return n;
}

// the floor's triangle in the sphere's field is exact, whatever the sphere's mesh
TEST(a_sphere_on_a_floor_has_its_exact_gap) {
    begin();
    body floor, ball;
    box_body(&floor, 10.0, 10.0, 0.5);
    fixture_field_find("sphere", &ball.field);
    march_body(&ball, 20);
    for (int k = 0; k < 4; k++) {
        double gap = 1e-3 * (1 - k);
        const cri_pose pose[2] = {pose_at(0, 0, -0.5, 0, 0, 0),
                                  pose_at(0.13, 0.21, 0.7 + gap, 0.3, 0.2, 0.1 * k)};
        int n = collide(&floor, &ball, pose, 2e-3);
        CHECK(n >= 1);
        CHECK_CLOSE(touch[0].gap, gap, 1e-12, 0.0);
        CHECK_CLOSE(touch[0].normal.z, 1.0, 1e-12, 0.0);
        CHECK_CLOSE(touch[0].point[1].x, 0.13, 1e-6, 0.0);
        CHECK_CLOSE(touch[0].point[1].y, 0.21, 1e-6, 0.0);
    }
    const cri_pose apart[2] = {pose_at(0, 0, -0.5, 0, 0, 0), pose_at(0, 0, 0.71, 0, 0, 0)};
    CHECK_INT(collide(&floor, &ball, apart, 2e-3), 0);
}

TEST(a_box_on_a_floor_stands_on_its_corners) {
    begin();
    body floor, box;
    box_body(&floor, 10.0, 10.0, 0.5);
    box_body(&box, 0.5, 0.4, 0.3);
    for (int k = 0; k < 2; k++) {
        // flat, and tilted by less than the margin; either may be first
        cri_pose lower = pose_at(0, 0, -0.5, 0, 0, 0);
        cri_pose upper = pose_at(0.3, 0.2, 0.2995, 1e-4 * k, 2e-4 * k, 0.7);
        for (int swap = 0; swap < 2; swap++) {
            const cri_pose pose[2] = {swap ? upper : lower, swap ? lower : upper};
            int n = collide(swap ? &box : &floor, swap ? &floor : &box, pose, 1e-3);
            CHECK(n >= 4 && n <= CRI_MAX_TOUCH);
            int n_corner = 0;
            for (int i = 0; i < n; i++) {
                cri_vec3 x = cri_m3_tmul(&upper.R, cri_v3_sub(touch[i].point[!swap], upper.pos));
                n_corner += fabs(fabs(x.x) - 0.5) < 1e-9 && fabs(fabs(x.y) - 0.4) < 1e-9;
                CHECK_CLOSE(touch[i].normal.z, swap ? -1.0 : 1.0, 1e-6, 0.0);
                CHECK_CLOSE(touch[i].gap, -5e-4, 2.5e-4 * k + 1e-9, 0.0);
            }
            CHECK_INT(n_corner, 4);
        }
    }
}

// unit gradient of a body's field at a point of the world, in the world
static cri_vec3 normal_at(const body *b, const cri_pose *pose, cri_vec3 x) {
    cri_field_value v;
    cri_field_eval(&b->field.field, cri_m3_tmul(&pose->R, cri_v3_sub(x, pose->pos)),
                   CRI_FIELD_GRADIENT, &v);
    cri_vec3 g = cri_m3_mul(&pose->R, v.g);
    return cri_v3_scale(1.0 / cri_v3_norm(g), g);
}

// A large ball and a small one: beside the line of their centres the normals differ. Whoever's
// vertex it is, that of the large one counts, in either order; but for its own vertices only
// within 5 degrees of the small one's.
TEST(the_normal_is_that_of_the_flatter_body) {
    begin();
    body ball[2];
    const double radius[2] = {1.0, 0.2};
    for (int i = 0; i < 2; i++) {
        fixture_field_leaf(CRI_FIELD_SPHERE, 1, &radius[i], &ball[i].field);
        march_body(&ball[i], 40);
    }
    int n_owned[2] = {0}, n_far = 0;
    double differ = 0.0;
    for (int swap = 0; swap < 2; swap++) {
        const cri_pose at[2] = {pose_at(0, 0, 0, 0.2, 0.1, 0.3), pose_at(0, 0, 1.19, 0.5, 0.7, 0)};
        const cri_pose pose[2] = {at[swap], at[1 - swap]};
        int n = collide(&ball[swap], &ball[1 - swap], pose, 2e-3);
        for (int k = 0; k < n; k++) {
            bool is_second = touch[k].cache.kind & CRI_SKIN_OWNER;
            int owner = is_second != swap; // 1: the small one has the vertex
            cri_vec3 x = touch[k].point[is_second];
            cri_vec3 large = normal_at(&ball[0], &at[0], x);
            large = cri_v3_scale(swap ? -1.0 : 1.0, large);
            cri_vec3 small = cri_v3_scale(swap ? 1.0 : -1.0, normal_at(&ball[1], &at[1], x));
            double apart = cri_v3_norm(cri_v3_sub(large, small));
            bool is_far = owner == 0 && cri_v3_dot(large, small) <= 0.9962;
            CHECK(cri_v3_norm(cri_v3_sub(touch[k].normal, is_far ? small : large)) < 1e-12);
            CHECK(!(touch[k].cache.kind & CRI_SKIN_OWN) == (owner == 1 || is_far));
            differ = fmax(differ, owner == 0 && !is_far ? apart : 0.0);
            n_owned[owner] += !is_far;
            n_far += is_far;
        }
    }
    CHECK(n_owned[0] > 0 && n_owned[1] > 0 && n_far > 0 && differ > 0.05);
}

// neither has a corner over the other: the patch is found by pieces of the large triangles
TEST(planks_across_each_other_touch_over_their_crossing) {
    begin();
    body a, b;
    box_body(&a, 2.0, 0.2, 0.1);
    box_body(&b, 0.2, 2.0, 0.1);
    const cri_pose pose[2] = {pose_at(0, 0, 0, 0, 0, 0), pose_at(0, 0, 0.1999, 0, 0, 0)};
    int n = collide(&a, &b, pose, 1e-3);
    double lower[2] = {1, 1}, upper[2] = {-1, -1};
    for (int i = 0; i < n; i++) {
        CHECK_CLOSE(touch[i].normal.z, 1.0, 1e-12, 0.0);
        CHECK_CLOSE(touch[i].gap, -1e-4, 1e-12, 0.0);
        const double x[2] = {touch[i].point[0].x, touch[i].point[0].y};
        for (int c = 0; c < 2; c++) {
            lower[c] = fmin(lower[c], x[c]);
            upper[c] = fmax(upper[c], x[c]);
        }
    }
    CHECK(n >= 3);
    for (int c = 0; c < 2; c++) {
        CHECK(lower[c] < -0.05 && lower[c] >= -0.2 - 1e-9);
        CHECK(upper[c] > 0.05 && upper[c] <= 0.2 + 1e-9);
    }
}

// a torus hung on a peg touches it above, inside its hole: no convex hull would
TEST(a_torus_hangs_on_a_peg) {
    begin();
    body peg, ring;
    fixture_field_leaf(CRI_FIELD_CYLINDER, 2, (double[]){0.2, 1.0}, &peg.field);
    march_body(&peg, 64);
    torus_body(&ring, 40);
    // the peg along y, the ring's axis too: the inner radius 0.55 hangs on the peg's 0.2
    const double down = acos(-1.0) / 2.0;
    const cri_pose pose[2] = {pose_at(0, 0, 0, down, 0, 0),
                              pose_at(0, 0, 0.2 - 0.55 + 1e-4, down, 0, 0)};
    int n = collide(&peg, &ring, pose, 2e-3);
    CHECK(n >= 1);
    for (int i = 0; i < n; i++) {
        CHECK(touch[i].normal.z > 0.9);
        CHECK(touch[i].point[0].z > 0.19);
        CHECK(touch[i].gap > -1e-3 && fabs(touch[i].point[0].y) < 0.05);
    }
    CHECK_CLOSE(touch[0].gap, 1e-4, 1e-3, 0.0);
}

TEST(the_order_of_two_skins_does_not_matter) {
    begin();
    body a, b;
    csg_and_ellipsoid(&a, &b);
    cr_test_rng rng = cr_test_rng_of(8);
    int n_touching = 0;
    for (int k = 0; k < 30; k++) {
        cri_vec3 at = fixture_point(&rng, 0.8), turn = fixture_point(&rng, 2.0);
        cri_pose first = pose_at(0, 0, 0, 0, 0, 0);
        cri_pose second = pose_at(at.x, at.y, at.z, turn.x, turn.y, turn.z);
        const cri_pose ab[2] = {first, second}, ba[2] = {second, first};
        int n = collide(&a, &b, ab, 1e-2);
        double gap = n ? touch[0].gap : 0.0;
        cri_vec3 normal = n ? touch[0].normal : at;
        CHECK_INT(collide(&b, &a, ba, 1e-2) > 0, n > 0);
        if (n) {
            CHECK_CLOSE(touch[0].gap, gap, 1e-9, 0.0);
            CHECK(cri_v3_norm(cri_v3_add(touch[0].normal, normal)) < 1e-6);
        }
        n_touching += n > 0;
    }
    CHECK(n_touching > 5);
}

// Its lowest vertex is the deepest point, as far as its grid tells.
TEST(spot_stands_on_a_floor) {
    begin();
    body floor, spot;
    box_body(&floor, 10.0, 10.0, 0.5);
    cri_triangles mesh = fixture_reference_mesh("spot_tri.obj", arena);
    cri_grid grid;
    cr_error err = {0};
    CHECK_INT(cri_grid_of_mesh(&mesh, 48, arena, &grid, &err), CR_OK);
    fixture_field_leaf(CRI_FIELD_GRID, 1, (double[]){1.0}, &spot.field);
    spot.field.node[0].grid = &grid;
    assert_true(cri_tri_tree_build(&mesh, arena, scratch, &spot.tree));
    // y is up in its file
    cri_pose upright = pose_at(0, 0, 0, acos(0.0), 0, 0);
    double lowest = INFINITY;
    for (int v = 0; v < mesh.n_vertex; v++) {
        lowest = fmin(lowest, cri_m3_mul(&upright.R, cri_v3_load(mesh.vertex + 3 * v)).z);
    }
    const cri_pose pose[2] = {pose_at(0, 0, -0.5, 0, 0, 0),
                              {cri_v3(0.3, -0.2, -lowest - 1e-3), upright.R}};
    int n = collide(&floor, &spot, pose, 5e-3);
    CHECK(n >= 3);
    CHECK_CLOSE(touch[0].gap, -1e-3, 0.1 * grid.h, 0.0);
    for (int i = 0; i < n; i++) {
        CHECK_CLOSE(touch[i].normal.z, 1.0, 1e-3, 0.0);
    }
}

// The chords of a coarse mesh on the rim of a peg: the search for the next touch has to see what
// the scan has, or it finds impacts that nobody is part of.
TEST(sides_of_a_smooth_mesh_leave_sharp_edges_to_the_other) {
    begin();
    body peg, ring;
    fixture_field_leaf(CRI_FIELD_CYLINDER, 2, (double[]){0.3, 0.5}, &peg.field);
    march_body(&peg, 12);
    torus_body(&ring, 12);
    cri_skin skin[2] = {skin_of(&peg), skin_of(&ring)};
    skin[0].is_round = skin[1].is_round = true; // as marched forms are
    cr_test_rng rng = cr_test_rng_of(12);
    int n_touching = 0;
    for (int k = 0; k < 60; k++) {
        cri_vec3 at = fixture_point(&rng, 0.8), turn = fixture_point(&rng, 2.0);
        cri_pose pose[2] = {pose_at(0, 0, 0, 0, 0, 0),
                            pose_at(at.x, at.y, 1.8, turn.x, turn.y, turn.z)};
        bool is_deep = false;
        for (; !is_deep && pose[1].pos.z > 0.0; pose[1].pos.z -= 2e-3) {
            cri_narrow_touch lowest;
            int n = cri_skins_collide(skin, pose, 1e-2, MOST, touch, scratch);
            cri_skins_distance(skin, pose, &lowest, scratch);
            is_deep = n > 0 && touch[0].gap < 0.0;
            if (n > 0 && !is_deep) {
                // the scan leaves out what gains less than a tenth of the margin
                CHECK(lowest.gap > touch[0].gap - 1e-3);
                n_touching++;
            }
        }
    }
    CHECK(n_touching > 100);
}

static const cri_field_custom *plain; // a field of one point at a time

static void many_of(const void *self, const double *param, int n, const double *x, double *phi,
                    double *g) {
    for (int i = 0; i < n; i++) {
        cri_field_value v;
        plain->eval(self, param, cri_v3_load(x + 3 * i), CRI_FIELD_GRADIENT, &v);
        phi[i] = v.phi;
        if (g) {
            cri_v3_store(v.g, g + 3 * i);
        }
    }
}

// a field that does many points at once is asked otherwise, and says the same
TEST(the_lowest_point_in_a_slow_field_is_the_same) {
    begin();
    body other[2], ring;
    box_body(&other[0], 0.3, 0.3, 0.5);
    fixture_field_find("ellipsoid", &other[1].field);
    march_body(&other[1], 16);
    torus_body(&ring, 16);
    plain = ring.field.node[0].custom;
    cri_field_custom slow = *plain;
    slow.many = many_of;
    cr_test_rng rng = cr_test_rng_of(13);
    for (int k = 0; k < 200; k++) {
        cri_vec3 at = fixture_point(&rng, 1.5), turn = fixture_point(&rng, 2.0);
        const cri_pose pose[2] = {pose_at(0, 0, 0, 0, 0, 0),
                                  pose_at(at.x, at.y, at.z, turn.x, turn.y, turn.z)};
        const cri_skin skin[2] = {skin_of(&other[k % 2]), skin_of(&ring)};
        cri_narrow_touch lowest[2];
        cri_skins_distance(skin, pose, &lowest[0], scratch);
        ring.field.node[0].custom = &slow;
        cri_skins_distance(skin, pose, &lowest[1], scratch);
        ring.field.node[0].custom = plain;
        if (lowest[0].gap > 0.0) {
            CHECK_CLOSE(lowest[1].gap, lowest[0].gap, 1e-9, 0.0);
        }
    }
}

TEST(a_second_look_makes_no_heap_calls) {
    begin();
    body a, b;
    csg_and_ellipsoid(&a, &b);
    const cri_pose pose[2] = {pose_at(0, 0, 0, 0, 0, 0), pose_at(0.9, 0.1, 0, 0, 0, 0)};
    const cri_skin skin[2] = {skin_of(&a), skin_of(&b)};
    int n = cri_skins_collide(skin, pose, 1e-2, MOST, touch, scratch);
    CHECK(n > 0);
    long before = cr_alloc_count();
    CHECK_INT(cri_skins_collide(skin, pose, 1e-2, MOST, touch, scratch), n);
    CHECK_INT(cr_alloc_count(), before);
}

CR_TEST_MAIN(the_lowest_point_of_a_triangle_is_found_to_rounding,
             a_search_below_a_bound_finds_the_same_point_or_none,
             the_normal_is_that_of_the_flatter_body, a_sphere_on_a_floor_has_its_exact_gap,
             a_box_on_a_floor_stands_on_its_corners,
             planks_across_each_other_touch_over_their_crossing, a_torus_hangs_on_a_peg,
             the_order_of_two_skins_does_not_matter, spot_stands_on_a_floor,
             sides_of_a_smooth_mesh_leave_sharp_edges_to_the_other,
             the_lowest_point_in_a_slow_field_is_the_same, a_second_look_makes_no_heap_calls)
