// SPDX-License-Identifier: MIT
//
// Touches: closed forms, patches, and random pairs of every kind.
//
// A random pair is judged by what convexity says: the separation of the supporting planes across
// any direction is below the signed distance, and any two points of the shapes are above it. When
// both meet at a touch, it is the distance. In an overlap the first is a bound from many
// directions.
//
// Environment: CAROM_SWEEP   random pairs of each kind, 300 unless given

#include "narrow_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const cri_mat3 upright = {{1, 0, 0, 0, 1, 0, 0, 0, 1}};
static const double pi = 3.14159265358979323846;

static fixture_pair pair_of(cri_shape_kind kind0, const double size0[3], cri_shape_kind kind1,
                            const double size1[3], cri_vec3 pos1) {
    fixture_pair p;
    memset(&p, 0, sizeof p);
    p.shape[0].kind = kind0;
    p.shape[1].kind = kind1;
    memcpy(p.size[0], size0, sizeof p.size[0]);
    memcpy(p.size[1], size1, sizeof p.size[1]);
    p.pose[0].R = p.pose[1].R = upright;
    p.pose[1].pos = pos1;
    for (int i = 0; i < 2; i++) {
        if (p.shape[i].kind == CRI_SHAPE_MESH) {
            // a cube of half length size[0]
            fixture_solid(1, sqrt(3.0) * p.size[i][0], &p.hull[i]);
        }
    }
    return p;
}

static cri_narrow_touch distance_of(fixture_pair *p) {
    cri_narrow_touch touch;
    fixture_settle(p);
    cri_distance(p->shape, p->pose, &touch);
    return touch;
}

static int collide(fixture_pair *p, double margin, cri_narrow_touch *touch) {
    fixture_settle(p);
    return cri_collide(p->shape, p->pose, margin, touch);
}

// ---- closed forms ------------------------------------------------------------------------------

// shape 1 above shape 0 on the z axis
typedef struct stack {
    cri_shape_kind kind[2];
    double gap;
} stack;

// heights of the shapes below over their origins, along +z; all are symmetric
static const double sizes[CRI_N_SHAPE][3] = {
    [CRI_SHAPE_SPHERE] = {0.5},        [CRI_SHAPE_CAPSULE] = {0.2, 0.6},
    [CRI_SHAPE_ELLIPSOID] = {1, 2, 3}, [CRI_SHAPE_CYLINDER] = {0.7, 0.4},
    [CRI_SHAPE_BOX] = {0.3, 0.4, 0.9}, [CRI_SHAPE_MESH] = {0.35},
};
static const double tops[CRI_N_SHAPE] = {0, 0.5, 0.8, 3, 0.4, 0.9, 0.35};

TEST(shapes_on_top_of_each_other_have_the_gap_of_their_heights) {
    for (cri_shape_kind a = CRI_SHAPE_PLANE; a <= CRI_SHAPE_MESH; a++) {
        for (cri_shape_kind b = CRI_SHAPE_SPHERE; b <= CRI_SHAPE_MESH; b++) {
            // apart, in contact, and overlapping by less than any other way out
            for (int k = -1; k <= 1; k++) {
                double gap = 0.05 * k;
                cri_vec3 pos = cri_v3(0, 0, tops[a] + tops[b] + gap);
                fixture_pair p = pair_of(a, sizes[a], b, sizes[b], pos);
                cri_narrow_touch t = distance_of(&p);
                // rounding of sums of order 1; in contact the normal of round shapes is that of a
                // difference of order 1e-16 and decided by the pieces
                CHECK_CLOSE(t.gap, gap, 1e-14, 0.0);
                CHECK_CLOSE(t.normal.z, 1.0, 1e-14, 0.0);
                CHECK_CLOSE(t.point[0].z, tops[a], 1e-14, 0.0);
                CHECK_CLOSE(t.point[1].z, tops[a] + gap, 1e-14, 0.0);
            }
        }
    }
}

// shapes whose nearest points are known by hand
TEST(nearest_pieces_have_their_distances) {
    static const double ball[3] = {0.5}, box[3] = {1, 1, 1}, rod[3] = {0.2, 1};
    // over a corner, an edge and a face of a box
    fixture_pair p = pair_of(CRI_SHAPE_SPHERE, ball, CRI_SHAPE_BOX, box, cri_v3(3, 3, 3));
    CHECK_CLOSE(distance_of(&p).gap, 2.0 * sqrt(3.0) - 0.5, 1e-14, 0.0);
    p.pose[1].pos = cri_v3(3, 3, 0.5);
    CHECK_CLOSE(distance_of(&p).gap, 2.0 * sqrt(2.0) - 0.5, 1e-14, 0.0);
    p.pose[1].pos = cri_v3(3, 0.5, 0.5);
    CHECK_CLOSE(distance_of(&p).gap, 1.5, 1e-14, 0.0);
    // the centre inside: the way out of the nearest face
    p.pose[1].pos = cri_v3(0.75, 0.1, 0.2);
    CHECK_CLOSE(distance_of(&p).gap, -0.75, 1e-14, 0.0);

    // over side, cap and rim of a cylinder, the last at 3-4-5
    static const double can[3] = {1, 1};
    p = pair_of(CRI_SHAPE_SPHERE, ball, CRI_SHAPE_CYLINDER, can, cri_v3(3, 0, 0.3));
    CHECK_CLOSE(distance_of(&p).gap, 1.5, 1e-14, 0.0);
    p.pose[1].pos = cri_v3(0.3, 0.2, 4);
    CHECK_CLOSE(distance_of(&p).gap, 2.5, 1e-14, 0.0);
    p.pose[1].pos = cri_v3(4, 0, 5);
    CHECK_CLOSE(distance_of(&p).gap, 4.5, 1e-14, 0.0);

    // crossed capsules, ends of parallel ones, and axes that meet
    p = pair_of(CRI_SHAPE_CAPSULE, rod, CRI_SHAPE_CAPSULE, rod, cri_v3(0.3, 1, 0.2));
    p.pose[1].R = fixture_turn(cri_v3(0, 0.5 * pi, 0));
    CHECK_CLOSE(distance_of(&p).gap, 0.6, 1e-14, 0.0);
    p.pose[1].pos = cri_v3(0.3, 0, 0.2);
    CHECK_CLOSE(distance_of(&p).gap, -0.4, 1e-14, 0.0);
    p.pose[1].R = upright;
    p.pose[1].pos = cri_v3(3, 0, 6);
    CHECK_CLOSE(distance_of(&p).gap, 5.0 - 0.4, 1e-14, 0.0);

    // edges of two boxes, each turned by an eighth
    p = pair_of(CRI_SHAPE_BOX, box, CRI_SHAPE_BOX, box, cri_v3(0, 0, 3));
    p.pose[0].R = fixture_turn(cri_v3(0.25 * pi, 0, 0));
    p.pose[1].R = fixture_turn(cri_v3(0, 0.25 * pi, 0));
    CHECK_CLOSE(distance_of(&p).gap, 3.0 - 2.0 * sqrt(2.0), 1e-14, 0.0);

    // crossed cylinders: the sides
    p = pair_of(CRI_SHAPE_CYLINDER, can, CRI_SHAPE_CYLINDER, can, cri_v3(0.1, 3, 0.2));
    p.pose[1].R = fixture_turn(cri_v3(0, 0.5 * pi, 0));
    CHECK_CLOSE(distance_of(&p).gap, 1.0, 1e-14, 0.0);
}

// A point x on an ellipsoid, m its outward normal and d a length: a sphere around x + (r + d) m has
// the distance d.
TEST(a_sphere_is_as_far_from_an_ellipsoid_as_it_was_put) {
    static const double axes[3] = {0.3, 1.0, 2.5}, ball[3] = {0.4};
    cr_test_rng rng = cr_test_rng_of(5);
    for (int k = 0; k < 100; k++) {
        cri_vec3 u = fixture_direction(&rng);
        cri_vec3 x = cri_v3(axes[0] * u.x, axes[1] * u.y, axes[2] * u.z);
        cri_vec3 m = cri_v3(u.x / axes[0], u.y / axes[1], u.z / axes[2]);
        m = cri_v3_scale(1.0 / cri_v3_norm(m), m);
        // the least radius of curvature is 0.3^2/2.5 = 0.036: the centre stays outside of the
        // evolute
        double d = cr_test_uniform(&rng, -0.4, 1.0);
        fixture_pair p =
            pair_of(CRI_SHAPE_ELLIPSOID, axes, CRI_SHAPE_SPHERE, ball, cri_v3_mad(x, 0.4 + d, m));
        cri_narrow_touch t = distance_of(&p);
        CHECK_CLOSE(t.gap, d, 1e-14, 0.0);
        // the normal is a quotient by the distance of the centre, d + 0.4, from 1e-16
        if (d > -0.39) {
            CHECK_CLOSE(cri_v3_norm(cri_v3_sub(t.normal, m)), 0.0, 1e-11, 0.0);
        }
    }
}

// ---- patches -----------------------------------------------------------------------------------

static void check_count(fixture_pair *p, double margin, int n_least, int n_most) {
    cri_narrow_touch touch[CRI_MAX_TOUCH];
    int n = collide(p, margin, touch);
    CHECK(n >= n_least && n <= n_most);
    for (int k = 1; k < n; k++) {
        CHECK(touch[k].gap <= margin);
        CHECK(touch[k].gap >= touch[0].gap - 1e-12);
        for (int j = 0; j < k; j++) {
            CHECK(touch[j].id != touch[k].id);
        }
    }
}

TEST(what_lies_flat_touches_at_its_corners) {
    static const double box[3] = {1, 0.6, 0.4}, rod[3] = {0.2, 1}, can[3] = {0.5, 1},
                        cube[3] = {0.5};
    static const double none[3] = {0};
    static const double egg[3] = {0.5, 0.6, 0.7};
    double margin = 1e-3;
    struct {
        cri_shape_kind kind[2];
        const double *size[2];
        double height, about_x;
        int n_least, n_most;
    } cases[] = {
        {{CRI_SHAPE_PLANE, CRI_SHAPE_SPHERE}, {none, cube}, 0.5, 0, 1, 1},
        {{CRI_SHAPE_PLANE, CRI_SHAPE_ELLIPSOID}, {none, egg}, 0.7, 0, 1, 1},
        {{CRI_SHAPE_PLANE, CRI_SHAPE_BOX}, {none, box}, 0.4, 0, 4, 4},
        {{CRI_SHAPE_PLANE, CRI_SHAPE_MESH}, {none, cube}, 0.5, 0, 4, 4},
        {{CRI_SHAPE_PLANE, CRI_SHAPE_CAPSULE}, {none, rod}, 1.2, 0, 1, 1},
        {{CRI_SHAPE_PLANE, CRI_SHAPE_CAPSULE}, {none, rod}, 0.2, 0.5, 2, 2},
        {{CRI_SHAPE_PLANE, CRI_SHAPE_CYLINDER}, {none, can}, 1.0, 0, 4, 8},
        {{CRI_SHAPE_PLANE, CRI_SHAPE_CYLINDER}, {none, can}, 0.5, 0.5, 2, 2},
        {{CRI_SHAPE_BOX, CRI_SHAPE_BOX}, {box, box}, 0.8, 0, 4, 8},
        {{CRI_SHAPE_BOX, CRI_SHAPE_MESH}, {box, cube}, 0.9, 0, 4, 8},
        {{CRI_SHAPE_MESH, CRI_SHAPE_MESH}, {cube, cube}, 1.0, 0, 4, 8},
        {{CRI_SHAPE_BOX, CRI_SHAPE_CAPSULE}, {box, rod}, 0.6, 0.5, 2, 2},
        {{CRI_SHAPE_BOX, CRI_SHAPE_CYLINDER}, {box, can}, 1.4, 0, 4, 8},
        {{CRI_SHAPE_BOX, CRI_SHAPE_CYLINDER}, {box, can}, 0.9, 0.5, 2, 2},
        {{CRI_SHAPE_MESH, CRI_SHAPE_CYLINDER}, {cube, can}, 1.5, 0, 4, 8},
        {{CRI_SHAPE_CYLINDER, CRI_SHAPE_CYLINDER}, {can, can}, 2.0, 0, 4, 8},
        {{CRI_SHAPE_BOX, CRI_SHAPE_SPHERE}, {box, cube}, 0.9, 0, 1, 1},
        {{CRI_SHAPE_BOX, CRI_SHAPE_ELLIPSOID}, {box, egg}, 1.1, 0, 1, 1},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        // resting, a little apart, a little tilted, each also aside
        for (int way = 0; way < 8; way++) {
            double gap = way & 1 ? 5e-4 : way & 2 ? -1e-6 : 0.0;
            cri_vec3 pos =
                cri_v3(way & 4 ? 0.05 : 0.0, way & 4 ? 0.02 : 0.0, cases[k].height + gap);
            fixture_pair p = pair_of(cases[k].kind[0], cases[k].size[0], cases[k].kind[1],
                                     cases[k].size[1], pos);
            p.pose[1].R = fixture_turn(cri_v3(cases[k].about_x * pi, 0, 0));
            check_count(&p, margin, cases[k].n_least, cases[k].n_most);
            double tilt = way & 2 ? 1e-5 : 0.0;
            p.pose[1].R = fixture_turn(cri_v3(cases[k].about_x * pi + tilt, 0, 0));
            check_count(&p, margin, cases[k].n_least, cases[k].n_most);
        }
    }
    // side by side: two capsules, capsule and cylinder
    fixture_pair p = pair_of(CRI_SHAPE_CAPSULE, rod, CRI_SHAPE_CAPSULE, rod, cri_v3(0.4, 0, 0.5));
    check_count(&p, margin, 2, 2);
    p = pair_of(CRI_SHAPE_CAPSULE, rod, CRI_SHAPE_CYLINDER, can, cri_v3(0.7, 0, 0.5));
    check_count(&p, margin, 2, 2);
}

// half a turn in small steps: resting boxes keep their four points with the same names
TEST(names_of_points_stay_while_nothing_changes) {
    static const double box[3] = {1, 0.6, 0.4}, slab[3] = {3, 3, 0.5};
    fixture_pair p = pair_of(CRI_SHAPE_BOX, slab, CRI_SHAPE_BOX, box, cri_v3(0, 0, 0.9));
    int first[4];
    for (int step = 0; step < 40; step++) {
        cri_narrow_touch touch[CRI_MAX_TOUCH];
        p.pose[1].R = fixture_turn(cri_v3(0, 0, 0.08 * step));
        CHECK_INT(collide(&p, 1e-3, touch), 4);
        int n_same = 0;
        for (int k = 0; k < 4; k++) {
            first[k] = step == 0 ? touch[k].id : first[k];
            for (int j = 0; j < 4; j++) {
                n_same += touch[j].id == first[k];
            }
        }
        CHECK_INT(n_same, 4);
    }
}

// a tower of equal cubes, turned against each other: eight corners of an octagon
TEST(turned_cubes_meet_in_an_octagon) {
    static const double cube[3] = {1, 1, 1};
    fixture_pair p = pair_of(CRI_SHAPE_BOX, cube, CRI_SHAPE_BOX, cube, cri_v3(0, 0, 2));
    p.pose[1].R = fixture_turn(cri_v3(0, 0, 0.25 * pi));
    cri_narrow_touch touch[CRI_MAX_TOUCH];
    CHECK_INT(collide(&p, 1e-3, touch), 8);
    // sides of both cross at 1 and sqrt 2 - 1
    for (int k = 0; k < 8; k++) {
        double x = fabs(touch[k].point[0].x), y = fabs(touch[k].point[0].y);
        CHECK_CLOSE(fmax(x, y), 1.0, 1e-14, 0.0);
        CHECK_CLOSE(fmin(x, y), sqrt(2.0) - 1.0, 1e-14, 0.0);
    }
}

// ---- random pairs ------------------------------------------------------------------------------

typedef struct sweep {
    cr_test_rng rng;
    int n_apart, n_overlap, n_again;
    double point, plane, deeper; // worst: points outside, supporting planes, a smaller depth
} sweep;

static void check_touch(fixture_pair *p, const cri_narrow_touch *t, sweep *s) {
    cri_vec3 rest = cri_v3_sub(t->point[1], t->point[0]);
    rest = cri_v3_mad(rest, -t->gap, t->normal);
    // rounding of world coordinates; rotations are orthogonal to 1e-15
    CHECK(isfinite(t->gap) && t->id >= 0);
    CHECK_CLOSE(cri_v3_norm(t->normal), 1.0, 1e-12, 0.0);
    CHECK(cri_v3_norm(rest) <= 1e-12 * p->scale);
    for (int i = 0; i < 2; i++) {
        double out = fixture_outside(p, i, t->point[i]) / p->scale;
        s->point = fmax(s->point, out);
        // corners are taken within 1e-9 of a face
        CHECK(out <= 3e-9);
    }
    // the same pieces at the same place
    cri_narrow_touch again = *t;
    bool is_there = cri_touch_again(p->shape, p->pose, &again);
    CHECK(is_there);
    s->n_again += is_there;
    CHECK(fabs(again.gap - t->gap) <= 1e-11 * p->scale);
}

// a greater separation across some other direction
static double search(const fixture_pair *p, cri_vec3 n, double best, sweep *s) {
    double start = best, width = 2.0;
    for (int k = 0; k < 200; k++) {
        cri_vec3 m = cri_v3_mad(n, width, fixture_direction(&s->rng));
        double length = cri_v3_norm(m);
        m = length > 0.0 ? cri_v3_scale(1.0 / length, m) : n;
        double separation = fixture_separation(p, m);
        if (separation > best) {
            best = separation;
            n = m;
        } else if (k > 100) {
            width *= 0.93;
        }
    }
    return best - start;
}

static void check_random(cri_shape_kind a, cri_shape_kind b, sweep *s) {
    fixture_pair p;
    fixture_random(&s->rng, a, b, &p);
    cri_narrow_touch touch[CRI_MAX_TOUCH], alone;
    double margin = cr_test_uniform(&s->rng, 0, 1) < 0.5 ? 0.0 : 0.02 * p.scale;
    int n = cri_collide(p.shape, p.pose, margin, touch);
    cri_distance(p.shape, p.pose, &alone);
    CHECK(n >= 1 && n <= CRI_MAX_TOUCH);
    CHECK(alone.gap == touch[0].gap);
    for (int k = 0; k < n; k++) {
        check_touch(&p, &touch[k], s);
        CHECK(k == 0 || touch[k].gap <= margin);
        for (int j = 0; j < k; j++) {
            CHECK(touch[j].id != touch[k].id);
        }
    }
    double separation = fixture_separation(&p, touch[0].normal);
    double off = fabs(separation - touch[0].gap) / p.scale;
    s->plane = fmax(s->plane, off);
    CHECK(off <= 1e-10);
    if (touch[0].gap > 0.0) {
        s->n_apart++;
        return;
    }
    s->n_overlap++;
    if (a != CRI_SHAPE_PLANE) {
        double deeper = search(&p, touch[0].normal, touch[0].gap, s) / p.scale;
        bool has_corners = (a >= CRI_SHAPE_BOX || a <= CRI_SHAPE_CAPSULE) && b >= CRI_SHAPE_BOX;
        s->deeper = fmax(s->deeper, deeper);
        // least for polytopes; for round shapes next to the least, which is known to a thousandth
        CHECK(deeper <= (has_corners ? 1e-10 : 2e-3));
    }
}

TEST(random_pairs_are_touched_at_their_distance) {
    const char *count = getenv("CAROM_SWEEP");
    long n = count ? atol(count) : 300;
    for (cri_shape_kind a = CRI_SHAPE_PLANE; a <= CRI_SHAPE_MESH; a++) {
        for (cri_shape_kind b = a > CRI_SHAPE_PLANE ? a : CRI_SHAPE_SPHERE; b <= CRI_SHAPE_MESH;
             b++) {
            sweep s = {.rng = cr_test_rng_of(1000u + 10u * a + b)};
            for (long k = 0; k < n; k++) {
                check_random(a, b, &s);
            }
            CHECK(s.n_apart > n / 20 && s.n_overlap > n / 20);
            if (count) {
                printf("%d %d: apart %d, overlap %d, points %.1e, planes %.1e, deeper %.1e\n", a, b,
                       s.n_apart, s.n_overlap, s.point, s.plane, s.deeper);
            }
        }
    }
}

static cri_mat3 product(const cri_mat3 *A, const cri_mat3 *B) {
    cri_mat3 out;
    for (int j = 0; j < 9; j++) {
        const double *row = A->m + j / 3 * 3, *column = B->m + j % 3;
        out.m[j] = row[0] * column[0] + row[1] * column[3] + row[2] * column[6];
    }
    return out;
}

static void check_invariance(cri_shape_kind a, cri_shape_kind b, cr_test_rng *rng) {
    fixture_pair p;
    fixture_random(rng, a, b, &p);
    cri_narrow_touch t = distance_of(&p), u;
    // in an overlap two ways out may be nearly as deep
    double slack = (t.gap > 0.0 ? 1e-12 : 1e-2) * p.scale;
    cri_shape shape[2] = {p.shape[1], p.shape[0]};
    cri_pose pose[2] = {p.pose[1], p.pose[0]};
    cri_distance(shape, pose, &u);
    CHECK_CLOSE(u.gap, t.gap, slack, 0.0);
    if (t.gap > 0.01 * p.scale) {
        // the normal is a quotient by the gap
        CHECK(cri_v3_norm(cri_v3_add(u.normal, t.normal)) <= 1e-9);
    }
    cri_mat3 turn = fixture_turn(cri_v3_scale(2.0, fixture_direction(rng)));
    for (int i = 0; i < 2; i++) {
        p.pose[i].R = product(&turn, &p.pose[i].R);
        p.pose[i].pos = cri_m3_mul(&turn, p.pose[i].pos);
    }
    CHECK_CLOSE(distance_of(&p).gap, t.gap, slack, 0.0);
}

// the other way round, and seen from elsewhere
TEST(a_distance_does_not_depend_on_order_or_frame) {
    for (cri_shape_kind a = CRI_SHAPE_SPHERE; a <= CRI_SHAPE_MESH; a++) {
        for (cri_shape_kind b = a; b <= CRI_SHAPE_MESH; b++) {
            cr_test_rng rng = cr_test_rng_of(2000u + 10u * a + b);
            for (int k = 0; k < 50; k++) {
                check_invariance(a, b, &rng);
            }
        }
    }
}

// ---- the same touch elsewhere, supports --------------------------------------------------------

TEST(a_touch_is_found_again_until_it_leaves_its_pieces) {
    static const double ball[3] = {0.5}, box[3] = {1, 1, 1};
    fixture_pair p = pair_of(CRI_SHAPE_BOX, box, CRI_SHAPE_SPHERE, ball, cri_v3(0.9, 0.3, 2));
    cri_narrow_touch t = distance_of(&p);
    p.pose[1].pos = cri_v3(0.95, 0.3, 1.9);
    fixture_settle(&p);
    CHECK(cri_touch_again(p.shape, p.pose, &t));
    CHECK_CLOSE(t.gap, 0.4, 1e-15, 0.0);
    CHECK_CLOSE(t.point[1].x, 0.95, 1e-15, 0.0);
    // past the edge of the face
    p.pose[1].pos = cri_v3(1.05, 0.3, 1.9);
    CHECK(!cri_touch_again(p.shape, p.pose, &t));
    // from a corner to over a face
    p.pose[1].pos = cri_v3(1.5, 1.5, 1.5);
    t = distance_of(&p);
    p.pose[1].pos = cri_v3(1.6, 1.5, 1.5);
    CHECK(cri_touch_again(p.shape, p.pose, &t));
    CHECK_CLOSE(t.gap, sqrt(0.86) - 0.5, 1e-15, 0.0);
    p.pose[1].pos = cri_v3(0.2, 0.2, 1.9);
    CHECK(!cri_touch_again(p.shape, p.pose, &t));
}

TEST(supports_are_the_farthest_points) {
    for (cri_shape_kind kind = CRI_SHAPE_SPHERE; kind <= CRI_SHAPE_MESH; kind++) {
        cr_test_rng rng = cr_test_rng_of(kind);
        double farthest = 0.0, bound = 0.0;
        for (int k = 0; k < 2000; k++) {
            fixture_pair p =
                pair_of(CRI_SHAPE_PLANE, sizes[kind], kind, sizes[kind], cri_v3(0, 0, 0));
            fixture_settle(&p);
            cri_vec3 d = fixture_direction(&rng),
                     x = cri_support(&p.shape[1], cri_v3_scale(3.0, d));
            // the plane has no height: separation is that of the shape alone
            CHECK_CLOSE(cri_v3_dot(d, x), -fixture_separation(&p, cri_v3_scale(-1.0, d)), 1e-14,
                        0.0);
            farthest = fmax(farthest, cri_v3_norm(x));
            bound = cri_bounding_radius(&p.shape[1]);
        }
        CHECK(farthest <= bound * (1.0 + 1e-14));
        // an ellipsoid's tip may be missed by the random directions
        CHECK(farthest >= bound * 0.99);
    }
}

CR_TEST_MAIN(shapes_on_top_of_each_other_have_the_gap_of_their_heights,
             nearest_pieces_have_their_distances,
             a_sphere_is_as_far_from_an_ellipsoid_as_it_was_put,
             what_lies_flat_touches_at_its_corners, names_of_points_stay_while_nothing_changes,
             turned_cubes_meet_in_an_octagon, random_pairs_are_touched_at_their_distance,
             a_distance_does_not_depend_on_order_or_frame,
             a_touch_is_found_again_until_it_leaves_its_pieces, supports_are_the_farthest_points)
