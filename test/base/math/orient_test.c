// SPDX-License-Identifier: MIT
//
// Signs of determinants that rounding would lose.

#include "base/math/orient.h"

#include <math.h>

#include "cr_test.h"

TEST(a_point_below_a_triangle_is_positive) {
    const double a[3] = {1, 0, 0};
    const double b[3] = {0, 1, 0};
    const double c[3] = {0, 0, 0};
    const double below[3] = {0, 0, -1};
    const double above[3] = {5, 5, 1};
    const double beside[3] = {7, -3, 0};
    CHECK_INT(cri_orient(a, b, c, below), 1);
    CHECK_INT(cri_orient(a, b, c, above), -1);
    CHECK_INT(cri_orient(a, b, c, beside), 0);
    CHECK(cri_orient_volume(a, b, c, below) == 1.0);
}

// Cassini: F(k+1) F(k-1) - F(k)^2 = (-1)^k, while the products have up to 100 bits
TEST(a_determinant_of_one_among_huge_products_is_seen) {
    double before = 1.0;
    double f = 1.0;
    int k = 2;
    for (; f + before < CRI_ORIENT_LIMIT; k++) {
        double after = f + before;
        const double origin[3] = {0, 0, 0};
        const double a[3] = {after, f, 0};
        const double b[3] = {f, before, 0};
        const double c[3] = {0, 0, CRI_ORIENT_LIMIT};
        int sign = k % 2 == 0 ? 1 : -1;
        CHECK_INT(cri_orient(a, b, c, origin), sign);
        CHECK_INT(cri_orient(b, a, c, origin), -sign);
        CHECK_INT(cri_orient(b, c, a, origin), sign);
        before = f;
        f = after;
    }
    CHECK(k > 70); // F(72) is the last below 2^50
}

TEST(four_points_of_a_plane_with_huge_coordinates_are_flat) {
    cr_test_rng rng = cr_test_rng_of(3);
    for (int i = 0; i < 1000; i++) {
        // d = a + m (b - a) + n (c - a), all integers
        double p[4][3];
        double m = rint(cr_test_uniform(&rng, -5, 5));
        double n = rint(cr_test_uniform(&rng, -5, 5));
        for (int k = 0; k < 3; k++) {
            for (int j = 0; j < 3; j++) {
                p[j][k] = rint(cr_test_uniform(&rng, -4e13, 4e13));
            }
            p[3][k] = p[0][k] + m * (p[1][k] - p[0][k]) + n * (p[2][k] - p[0][k]);
        }
        CHECK_INT(cri_orient(p[0], p[1], p[2], p[3]), 0);

        // one unit along x is not flat, and the normal's x says on which side it is
        p[3][0] += 1.0;
        double right = (p[1][1] - p[0][1]) * (p[2][2] - p[0][2]);
        double left = (p[1][2] - p[0][2]) * (p[2][1] - p[0][1]);
        CHECK_INT(cri_orient(p[0], p[1], p[2], p[3]), right > left ? -1 : 1);
    }
}

CR_TEST_MAIN(a_point_below_a_triangle_is_positive, a_determinant_of_one_among_huge_products_is_seen,
             four_points_of_a_plane_with_huge_coordinates_are_flat)
