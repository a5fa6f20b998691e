// SPDX-License-Identifier: MIT
//
// The brute-force distance, which other tests trust, against closed forms and planted answers.

#include "support/brute_distance.h"

#include <math.h>
#include <string.h>

#include "support/cr_test.h"
#include "support/random_shape.h"

enum { N_CONVEX = CRI_SHAPE_FIELD }; // kinds of shapes before it, and the plane

// rounding of sums of numbers of order 1, a few hundred of them
#define TOLERANCE 2e-13

// ends of the search over directions: a golden section stops at about 1e-8 of its bracket
#define SEARCH_TOLERANCE 1e-11

static const cri_mat3 identity = {{1, 0, 0, 0, 1, 0, 0, 0, 1}};

// a hull is only its corners here
typedef struct corners {
    double vertex[3 * 16];
    cri_hull hull;
} corners;

static void random_corners(cr_test_rng *rng, int n, corners *out) {
    for (int i = 0; i < n; i++) {
        cri_v3_store(cri_v3_scale(cr_test_uniform(rng, 0.1, 0.5), random_unit(rng)),
                     out->vertex + 3 * i);
    }
    out->hull = (cri_hull){.n_vertex = n, .vertex = out->vertex};
}

static void box_corners(const double size[3], corners *out) {
    for (int i = 0; i < 8; i++) {
        for (int k = 0; k < 3; k++) {
            out->vertex[3 * i + k] = i >> k & 1 ? size[k] : -size[k];
        }
    }
    out->hull = (cri_hull){.n_vertex = 8, .vertex = out->vertex};
}

// both poses moved by one rotation and translation
static void move_together(cr_test_rng *rng, cri_pose pose[2]) {
    cri_mat3 R = random_rotation(rng);
    cri_vec3 t = random_unit(rng);
    for (int i = 0; i < 2; i++) {
        cri_mat3 old = pose[i].R;
        for (int c = 0; c < 3; c++) {
            cri_vec3 column = cri_v3(old.m[c], old.m[3 + c], old.m[6 + c]);
            column = cri_m3_mul(&R, column);
            pose[i].R.m[c] = column.x;
            pose[i].R.m[3 + c] = column.y;
            pose[i].R.m[6 + c] = column.z;
        }
        pose[i].pos = cri_v3_add(t, cri_m3_mul(&R, pose[i].pos));
    }
}

// checks a distance in a random place, both ways round; kinds and sizes as in cri_shape
static void check_distance(cr_test_rng *rng, cri_shape a, cri_shape b, cri_vec3 at,
                           double expected) {
    cri_shape shape[2] = {a, b};
    cri_pose pose[2] = {{.R = identity}, {.pos = at, .R = identity}};
    move_together(rng, pose);
    bool is_exact = a.kind != CRI_SHAPE_CYLINDER && a.kind != CRI_SHAPE_ELLIPSOID &&
                    b.kind != CRI_SHAPE_CYLINDER && b.kind != CRI_SHAPE_ELLIPSOID;
    double tolerance = is_exact || expected > 0.0 ? TOLERANCE : SEARCH_TOLERANCE;
    for (int turn = 0; turn < 2; turn++) {
        brute_distance d = brute_distance_of(shape, pose);
        if (!CHECK_CLOSE(d.value, expected, tolerance, 0.0)) {
            print_message("  %s, %s at %g %g %g\n", shape_kind_name(a.kind),
                          shape_kind_name(b.kind), at.x, at.y, at.z);
        }
        // the bound that proves it
        CHECK_CLOSE(brute_separation(shape, pose, d.normal), d.value, tolerance + d.slack, 0.0);
        shape[0] = b;
        shape[1] = a;
        cri_pose swapped = pose[0];
        pose[0] = pose[1];
        pose[1] = swapped;
    }
}

static double gap_of(int n, const double *gap) {
    double sum = 0.0;
    double most = -INFINITY;
    for (int i = 0; i < n; i++) {
        most = fmax(most, gap[i]);
        sum += fmax(gap[i], 0.0) * fmax(gap[i], 0.0);
    }
    return most > 0.0 ? sqrt(sum) : most;
}

static cri_vec3 random_place(cr_test_rng *rng) {
    return cri_v3_scale(cr_test_uniform(rng, 0.01, 1.2), random_unit(rng));
}

TEST(spheres_and_boxes_have_closed_forms) {
    cr_test_rng rng = cr_test_rng_of(1);
    for (int run = 0; run < 100; run++) {
        random_shape ball;
        random_shape other;
        cri_vec3 at = random_place(&rng);
        const double offset[3] = {fabs(at.x), fabs(at.y), fabs(at.z)};
        random_shape_init(&rng, CRI_SHAPE_SPHERE, 0.05, 1.0, NULL, &ball);
        random_shape_init(&rng, CRI_SHAPE_SPHERE, 0.05, 1.0, NULL, &other);
        check_distance(&rng, ball.shape, other.shape, at,
                       cri_v3_norm(at) - ball.size[0] - other.size[0]);

        random_shape_init(&rng, CRI_SHAPE_BOX, 0.05, 1.0, NULL, &other);
        double gap[3];
        for (int k = 0; k < 3; k++) {
            gap[k] = offset[k] - other.size[k];
        }
        check_distance(&rng, other.shape, ball.shape, at, gap_of(3, gap) - ball.size[0]);

        random_shape box;
        random_shape_init(&rng, CRI_SHAPE_BOX, 0.05, 1.0, NULL, &box);
        for (int k = 0; k < 3; k++) {
            gap[k] = offset[k] - other.size[k] - box.size[k];
        }
        check_distance(&rng, other.shape, box.shape, at, gap_of(3, gap));
    }
}

TEST(upright_cylinders_and_capsules_have_closed_forms) {
    cr_test_rng rng = cr_test_rng_of(2);
    for (int run = 0; run < 60; run++) {
        random_shape a;
        random_shape b;
        cri_vec3 at = random_place(&rng);
        double radial = hypot(at.x, at.y);
        random_shape_init(&rng, CRI_SHAPE_CYLINDER, 0.05, 1.0, NULL, &a);
        random_shape_init(&rng, CRI_SHAPE_CYLINDER, 0.05, 1.0, NULL, &b);
        check_distance(&rng, a.shape, b.shape, at,
                       gap_of(2, (double[]){radial - a.size[0] - b.size[0],
                                            fabs(at.z) - a.size[1] - b.size[1]}));
        random_shape_init(&rng, CRI_SHAPE_SPHERE, 0.05, 1.0, NULL, &b);
        check_distance(&rng, a.shape, b.shape, at,
                       gap_of(2, (double[]){radial - a.size[0], fabs(at.z) - a.size[1]}) -
                           b.size[0]);
        random_shape_init(&rng, CRI_SHAPE_CAPSULE, 0.05, 1.0, NULL, &b);
        check_distance(
            &rng, a.shape, b.shape, at,
            gap_of(2, (double[]){radial - a.size[0], fabs(at.z) - a.size[1] - b.size[1]}) -
                b.size[0]);

        // two capsules: segments on parallel lines
        random_shape_init(&rng, CRI_SHAPE_CAPSULE, 0.05, 1.0, NULL, &a);
        double apart = fmax(fabs(at.z) - a.size[1] - b.size[1], 0.0);
        check_distance(&rng, a.shape, b.shape, at, hypot(radial, apart) - a.size[0] - b.size[0]);
    }
}

TEST(a_round_ellipsoid_is_a_sphere) {
    cr_test_rng rng = cr_test_rng_of(3);
    corners c;
    random_corners(&rng, 12, &c);
    for (int run = 0; run < 20; run++) {
        for (int kind = CRI_SHAPE_SPHERE; kind < N_CONVEX; kind++) {
            random_shape other;
            random_shape_init(&rng, kind, 0.05, 1.0, &c.hull, &other);
            double r = cr_test_uniform(&rng, 0.05, 1.0);
            const double size[3] = {r, r, r};
            cri_shape round = {CRI_SHAPE_ELLIPSOID, size, NULL};
            cri_shape ball = {CRI_SHAPE_SPHERE, size, NULL};
            cri_pose pose[2] = {{.R = identity}, {random_place(&rng), random_rotation(&rng)}};
            double a = brute_distance_of((cri_shape[2]){ball, other.shape}, pose).value;
            double b = brute_distance_of((cri_shape[2]){round, other.shape}, pose).value;
            CHECK_CLOSE(a, b, a > 0.0 ? 10 * TOLERANCE : SEARCH_TOLERANCE, 0.0);
        }
    }
}

TEST(a_box_is_the_hull_of_its_corners) {
    cr_test_rng rng = cr_test_rng_of(4);
    for (int run = 0; run < 20; run++) {
        for (int kind = CRI_SHAPE_SPHERE; kind < N_CONVEX; kind++) {
            random_shape box;
            random_shape other;
            corners c;
            corners hull;
            random_corners(&rng, 10, &hull);
            random_shape_init(&rng, CRI_SHAPE_BOX, 0.05, 1.0, NULL, &box);
            random_shape_init(&rng, kind, 0.05, 1.0, &hull.hull, &other);
            box_corners(box.size, &c);
            cri_shape mesh = {CRI_SHAPE_MESH, NULL, &c.hull};
            cri_pose pose[2] = {{.R = identity}, {random_place(&rng), random_rotation(&rng)}};
            double a = brute_distance_of((cri_shape[2]){box.shape, other.shape}, pose).value;
            double b = brute_distance_of((cri_shape[2]){mesh, other.shape}, pose).value;
            CHECK_CLOSE(a, b, TOLERANCE, 0.0);
        }
    }
}

TEST(planted_gaps_are_found) {
    cr_test_rng rng = cr_test_rng_of(5);
    for (int kind = 0; kind < N_CONVEX * N_CONVEX; kind++) {
        cri_shape_kind kind0 = kind / N_CONVEX;
        cri_shape_kind kind1 = kind % N_CONVEX;
        if (kind0 == CRI_SHAPE_PLANE || kind1 == CRI_SHAPE_PLANE) {
            continue;
        }
        for (int run = 0; run < 12; run++) {
            random_shape a;
            random_shape b;
            corners hull[2];
            random_corners(&rng, 10, &hull[0]);
            random_corners(&rng, 14, &hull[1]);
            random_shape_init(&rng, kind0, 0.05, 1.0, &hull[0].hull, &a);
            random_shape_init(&rng, kind1, 0.05, 1.0, &hull[1].hull, &b);
            cri_shape shape[2] = {a.shape, b.shape};
            cri_pose pose[2] = {{random_unit(&rng), random_rotation(&rng)},
                                {cri_v3(0, 0, 0), random_rotation(&rng)}};
            // shape 1 is moved along n until both are apart by the gap there, at a point each:
            // then no two points are nearer
            cri_vec3 n = random_unit(&rng);
            double gap = 0.5 * pow(10.0, cr_test_uniform(&rng, -4.0, 0.0));
            static brute_body body[2];
            brute_body_of(&shape[0], &pose[0], &body[0]);
            brute_body_of(&shape[1], &pose[1], &body[1]);
            cri_vec3 near[2] = {brute_support(&body[0], n),
                                brute_support(&body[1], cri_v3_scale(-1.0, n))};
            double reach = gap + body[0].radius + body[1].radius;
            pose[1].pos = cri_v3_mad(cri_v3_sub(near[0], near[1]), reach, n);
            brute_distance d = brute_distance_of(shape, pose);
            if (!CHECK_CLOSE(d.value, gap, TOLERANCE, 0.0)) {
                print_message("  %s, %s, slack %.3g\n", shape_kind_name(kind0),
                              shape_kind_name(kind1), d.slack);
            }
            // where the gap is small against the shapes the bound comes late, not the value
            CHECK(d.slack < 1e-9);

            // an overlap along n is never less deep than the least
            pose[1].pos = cri_v3_mad(pose[1].pos, -gap - 0.1, n);
            CHECK(brute_distance_of(shape, pose).value >= -0.1 - SEARCH_TOLERANCE);
        }
    }
}

TEST(the_search_finds_the_best_separating_axis) {
    cr_test_rng rng = cr_test_rng_of(6);
    int n_overlap = 0;
    for (int run = 0; run < 60; run++) {
        random_shape a;
        random_shape b;
        corners hull;
        random_corners(&rng, 12, &hull);
        random_shape_init(&rng, CRI_SHAPE_BOX, 0.05, 1.0, NULL, &a);
        random_shape_init(&rng, run % 2 ? CRI_SHAPE_BOX : CRI_SHAPE_MESH, 0.05, 1.0, &hull.hull,
                          &b);
        cri_shape shape[2] = {a.shape, b.shape};
        cri_pose pose[2] = {{.R = identity},
                            {cri_v3_scale(0.5, random_place(&rng)), random_rotation(&rng)}};
        brute_distance exact = brute_distance_of(shape, pose);
        if (exact.value < 0.0) {
            n_overlap++;
            CHECK_CLOSE(brute_distance_search(shape, pose).value, exact.value, SEARCH_TOLERANCE,
                        0.0);
        }
    }
    CHECK(n_overlap > 20);
}

TEST(planes_meet_the_lowest_point) {
    cr_test_rng rng = cr_test_rng_of(7);
    for (int run = 0; run < 50; run++) {
        random_shape box;
        random_shape_init(&rng, CRI_SHAPE_BOX, 0.05, 1.0, NULL, &box);
        cri_shape shape[2] = {{.kind = CRI_SHAPE_PLANE}, box.shape};
        cri_pose pose[2] = {{.R = identity}, {random_place(&rng), random_rotation(&rng)}};
        double expected = pose[1].pos.z;
        for (int k = 0; k < 3; k++) {
            expected -= fabs(pose[1].R.m[6 + k]) * box.size[k];
        }
        move_together(&rng, pose);
        CHECK_CLOSE(brute_distance_of(shape, pose).value, expected, TOLERANCE, 0.0);
    }
}

CR_TEST_MAIN(spheres_and_boxes_have_closed_forms, upright_cylinders_and_capsules_have_closed_forms,
             a_round_ellipsoid_is_a_sphere, a_box_is_the_hull_of_its_corners,
             planted_gaps_are_found, the_search_finds_the_best_separating_axis,
             planes_meet_the_lowest_point)
