// SPDX-License-Identifier: MIT
//
// Openings of redundant contacts: A = G G' with G (3n, 6), the rows of points of one body. What
// opens must be a motion, G w for some w, and the best one: for every motion G w
//
//   (v - t)' D G w = 0,    D = 1e6 on normals, 1 on tangents
//
// Derivatives are in the gradient table.

#include "contact/island.h"

#include "base/math/dense_factor.h"
#include "cr_test.h"

#include <math.h>
#include <string.h>

enum { N_MOST = 6, M_MOST = 3 * N_MOST, N_DOF = 6 };

/// Points of a face that lies in the plane z = 0, and what they ask for.
typedef struct face {
    int n;
    double G[M_MOST * N_DOF], A[M_MOST * M_MOST], target[N_MOST];
    cr_arena *keep, *scratch;
    cri_opening opening;
} face;

// rows (normal, two tangents) of n points: v + omega x r, r = (x, y, -0.5)
static face face_of(int n, const double (*point)[2]) {
    face s = {.n = n, .keep = cri_arena_create(1 << 16), .scratch = cri_arena_create(1 << 16)};
    assert_true(s.keep && s.scratch);
    for (int a = 0; a < n; a++) {
        const double r[3] = {point[a][0], point[a][1], -0.5};
        for (int i = 0; i < 3; i++) {
            int k = (i + 2) % 3, p = (k + 1) % 3, q = (k + 2) % 3; // z, x, y
            double *row = s.G + (3 * a + i) * N_DOF;
            row[k] = 1.0;
            row[3 + p] = r[q];
            row[3 + q] = -r[p];
        }
    }
    for (int i = 0; i < 3 * n; i++) {
        for (int j = 0; j < 3 * n; j++) {
            for (int k = 0; k < N_DOF; k++) {
                s.A[3 * n * i + j] += s.G[i * N_DOF + k] * s.G[j * N_DOF + k];
            }
        }
    }
    return s;
}

static void face_open(face *s, bool has_derivative) {
    cri_arena_reset(s->keep);
    cri_opening_find(s->n, s->A, s->target, has_derivative, &s->opening, s->keep, s->scratch);
}

static void face_close(face *s) {
    cri_arena_destroy(s->keep);
    cri_arena_destroy(s->scratch);
}

// how far v (3n) is from what the body can do
static double off_range(face *s, const double *v) {
    double b[M_MOST], w[N_DOF], most = 0.0;
    int m = 3 * s->n;
    memcpy(b, v, sizeof *b * (size_t)m);
    cri_arena_mark mark = cri_arena_get_mark(s->scratch);
    const cri_qr qr = cri_qr_factor(m, N_DOF, s->G, 1e-10, s->scratch);
    cri_qr_solve(&qr, b, w);
    for (int i = 0; i < m; i++) {
        double miss = v[i];
        for (int k = 0; k < N_DOF; k++) {
            miss -= s->G[i * N_DOF + k] * w[k];
        }
        most = fmax(most, fabs(miss));
    }
    cri_arena_rewind(s->scratch, mark);
    return most;
}

// largest (v - t)' D G e_k
static double off_best(const face *s, const double *v) {
    double most = 0.0;
    for (int k = 0; k < N_DOF; k++) {
        double sum = 0.0;
        for (int i = 0; i < 3 * s->n; i++) {
            double asked = i % 3 == 0 ? s->target[i / 3] : 0.0;
            sum += (v[i] - asked) * (i % 3 == 0 ? 1e6 : 1.0) * s->G[i * N_DOF + k];
        }
        most = fmax(most, fabs(sum));
    }
    return most;
}

static const double square[][2] = {{1, 1}, {1, -1}, {-1, 1}, {-1, -1}, {0.3, 0.2}, {-0.4, 0.7}};

TEST(what_a_motion_reaches_is_taken_as_it_is) {
    face s = face_of(4, square);
    // straight up
    for (int a = 0; a < 4; a++) {
        s.target[a] = 0.25;
    }
    for (int k = 0; k < 2; k++) {
        face_open(&s, k == 1);
        CHECK_INT(s.opening.n, 4);
        CHECK_INT(s.opening.rank, 6);
        CHECK_INT(s.opening.n_null, 6);
        for (int i = 0; i < 12; i++) {
            CHECK(s.opening.drift[i] == (i % 3 == 0 ? 0.25 : 0.0));
            CHECK(s.opening.s[i] == 0.0);
        }
    }
    face_close(&s);
}

TEST(targets_that_contradict_each_other_open_by_the_best_motion) {
    for (int n = 2; n <= N_MOST; n++) {
        cr_test_rng rng = cr_test_rng_of((uint64_t)n);
        face s = face_of(n, square);
        for (int trial = 0; trial < 20; trial++) {
            for (int a = 0; a < n; a++) {
                s.target[a] = cr_test_uniform(&rng, 0.0, 1.0);
            }
            face_open(&s, trial % 2);
            CHECK_INT(s.opening.n, n);
            // of numbers about one
            CHECK(off_range(&s, s.opening.drift) <= 1e-12);
            // weights of 1e6
            CHECK(off_best(&s, s.opening.drift) <= 1e-6);
        }
        face_close(&s);
    }
}

TEST(a_tilt_opens_as_asked_without_slip) {
    // corners at depths that differ along x: a turn about an axis in the floor's plane
    face s = face_of(4, square);
    const double asked[4] = {0.2, 0.2, 0.1, 0.1};
    memcpy(s.target, asked, sizeof asked);
    face_open(&s, true);
    for (int a = 0; a < 4; a++) {
        CHECK_CLOSE(s.opening.drift[3 * a], asked[a], 1e-12, 0.0);
        CHECK_CLOSE(s.opening.drift[3 * a + 1], 0.0, 1e-12, 0.0);
        CHECK_CLOSE(s.opening.drift[3 * a + 2], 0.0, 1e-12, 0.0);
    }
    CHECK(off_range(&s, s.opening.drift) <= 1e-12);
    // the impulse that would make it: A y = drift
    for (int i = 0; i < 12; i++) {
        double sum = 0.0;
        for (int j = 0; j < 12; j++) {
            sum += s.A[12 * i + j] * s.opening.y[j];
        }
        CHECK_CLOSE(sum, s.opening.drift[i], 1e-12, 0.0);
    }
    face_close(&s);
}

TEST(nothing_opens_without_targets_or_with_a_single_contact) {
    face s = face_of(4, square);
    face_open(&s, true);
    CHECK_INT(s.opening.n, 0);
    CHECK_INT(s.opening.psd.n, 0);
    face_close(&s);
    s = face_of(1, square);
    s.target[0] = 0.5;
    face_open(&s, true);
    CHECK_INT(s.opening.n, 0);
    face_close(&s);
}

TEST(contacts_that_are_not_redundant_keep_their_targets) {
    // one point each of two bodies: A = 1
    double A[36] = {0}, target[2] = {0.3, -0.1};
    for (int i = 0; i < 6; i++) {
        A[7 * i] = 1.0;
    }
    face s = face_of(1, square);
    cri_opening opening;
    cri_opening_find(2, A, target, true, &opening, s.keep, s.scratch);
    CHECK_INT(opening.n, 0);
    CHECK_INT(opening.psd.n, 6); // pivots are there, for the law
    face_close(&s);
}

CR_TEST_MAIN(what_a_motion_reaches_is_taken_as_it_is,
             targets_that_contradict_each_other_open_by_the_best_motion,
             a_tilt_opens_as_asked_without_slip,
             nothing_opens_without_targets_or_with_a_single_contact,
             contacts_that_are_not_redundant_keep_their_targets)
