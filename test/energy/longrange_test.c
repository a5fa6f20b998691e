// SPDX-License-Identifier: MIT
//
// The long-range potential of bodies: reference values, and the four properties (barrier, twice
// differentiable, never pulling, never vanishing) by trees and by all pairs.

#include "cr_test.h"

#include "energy/longrange.h"
#include "longrange_fixture.h"

#include <string.h>

/// Two bodies with what they stand on.
static struct {
    cr_arena *arena, *scratch;
    fixture_mesh mesh[2];
    cri_sphere_tree tree[2];
    cri_longrange_body body[2];
    cri_longrange_options options;
    cri_longrange_result result;
    cri_longrange_half_result half;
} now;

static void plant(cri_sphere_kind kind) {
    now.options = cri_longrange_default();
    now.arena = cri_arena_create(1 << 16);
    now.scratch = cri_arena_create(1 << 16);
    for (int k = 0; k < 2; k++) {
        now.tree[k] = fixture_tree(kind, &now.mesh[k], now.arena);
    }
}

static void fell(void) {
    cri_arena_destroy(now.arena);
    cri_arena_destroy(now.scratch);
}

static void plant_boxes(cri_sphere_kind kind) {
    fixture_box(1.0, 0.6, 0.4, &now.mesh[0]);
    fixture_box(0.8, 0.5, 0.7, &now.mesh[1]);
    plant(kind);
}

static void place(int k, const cri_pose *pose) {
    CHECK(cri_longrange_place(&now.tree[k], now.mesh[k].vertex, pose, now.scratch, &now.body[k]));
}

/// The boxes of the reference, the second one at a place.
static const cri_longrange_result *boxes_at(cri_vec3 at) {
    cri_arena_reset(now.scratch);
    cri_pose pose[2] = {fixture_pose(cri_v3(0.3, -0.2, 0.5), cri_v3(0, 0, 0)),
                        fixture_pose(cri_v3(-0.4, 0.3, 0.2), at)};
    place(0, &pose[0]);
    place(1, &pose[1]);
    cri_longrange_pair(&now.options, &now.body[0], &now.body[1], CRI_LONGRANGE_HESSIAN, NULL,
                       &now.result);
    return &now.result;
}

/// With the term of the exponential map.
static double whole_hessian(const cri_longrange_result *r, int i, int j) {
    double K[9] = {0};
    bool is_turn = i / 6 == j / 6 && i % 6 < 3 && j % 6 < 3;
    if (is_turn) {
        cri_affine_curvature(r->affine.N[i / 6], K);
    }
    return r->H[12 * i + j] + (is_turn ? K[3 * (i % 6) + j % 6] : 0.0);
}

static double trace_of(const cri_longrange_result *r) {
    double sum = 0.0;
    for (int i = 0; i < 12; i++) {
        sum += whole_hessian(r, i, i);
    }
    return sum;
}

// made by an independent program, to 15 digits
TEST(all_pairs_of_two_boxes_meet_the_reference) {
    static const double g[9] = {1911.97916278233, -1500.11665269301, -1280.22263853668,
                                4951.54893625204, -1163.29487131605, 8037.49774440017,
                                567.991539584747, -2019.96961507811, -757.052532898173};
    plant_boxes(CRI_SPHERE_LAYERED);
    now.options.is_brute = true;
    const cri_longrange_result *r = boxes_at(cri_v3(0.9, 0.2, 0.75));
    CHECK_INT(r->n_exact, 144);
    CHECK_CLOSE(r->value, 7942.63967707591, 0, 1e-13);
    for (int i = 0; i < 9; i++) {
        CHECK_CLOSE(r->g[i], g[i], 0, 1e-12);
    }
    for (int i = 0; i < 3; i++) {
        CHECK(r->g[9 + i] == -r->g[3 + i]);
    }
    CHECK_CLOSE(trace_of(r), 107054.540796845, 0, 1e-12);
    CHECK_CLOSE(whole_hessian(r, 0, 6), 1137.09541396969, 0, 1e-11);
    CHECK_CLOSE(whole_hessian(r, 5, 11), -50344.1447410842, 0, 1e-12);
    fell();
}

typedef struct tree_value {
    double at[3];
    int n_exact, n_centred;
    double value, first, last, trace, turn, push; // g[0], g[11], trace, H[0][6], H[5][11]
} tree_value;

static void check_tree(const tree_value *v) {
    const cri_longrange_result *r = boxes_at(cri_v3_load(v->at));
    CHECK_CLOSE(r->value, v->value, 0, 1e-12);
    CHECK_CLOSE(r->g[0], v->first, 1e-11, 1e-10);
    CHECK_CLOSE(r->g[11], v->last, 0, 1e-11);
    CHECK_CLOSE(trace_of(r), v->trace, 0, 1e-9);
    CHECK_CLOSE(whole_hessian(r, 0, 6), v->turn, 1e-8, 1e-10);
    CHECK_CLOSE(whole_hessian(r, 5, 11), v->push, 0, 1e-9);
    if (v->n_centred) {
        CHECK_INT(r->n_exact, v->n_exact);
        CHECK_INT(r->n_centred, v->n_centred);
    }
    CHECK(r->worst_gap <= 1e-12);
}

TEST(trees_of_two_boxes_meet_the_reference) {
    static const tree_value layered[] = {
        {{1.3, 0.2, 0.1},
         62,
         58,
         6024.42179310066,
         35.3985444359461,
         223.875444088066,
         38635.1551349609,
         -186.119513017707,
         6925.28431346734},
        {{0.9, 0.2, 0.75},
         80,
         45,
         6851.57292099154,
         1854.88518783053,
         -9919.27112064053,
         64163.9506287492,
         1065.42668761862,
         -41802.3482555772},
        {{1.5, -0.2, 0.9},
         8,
         74,
         2923.67309987958,
         1.0585726339521,
         -2903.02056150464,
         -26993.6602341826,
         184.881660019634,
         -1984.64975463399},
        {{2.6, 0.5, 0.3},
         0,
         4,
         53.0123646043073,
         0.00138564152904393,
         -66.0381011724889,
         11811.7875319635,
         -2.79103213067451e-06,
         136.832712628644},
    };
    static const tree_value counted = {{0.9, 0.2, 0.75},
                                       0,
                                       0,
                                       6510.74005856431,
                                       1324.28139100711,
                                       -12193.8239300833,
                                       115056.130537229,
                                       620.01436937984,
                                       -48673.0433968227};
    plant_boxes(CRI_SPHERE_LAYERED);
    for (int k = 0; k < 4; k++) {
        check_tree(&layered[k]);
    }
    fell();
    plant_boxes(CRI_SPHERE_WRAPPED);
    now.options.clusters = CRI_CLUSTERS_COUNTED;
    check_tree(&counted);
    fell();
}

static const cri_half_space ground = {{0, 0, 1}, 0};

static const cri_longrange_half_result *box_above_ground(double height) {
    cri_arena_reset(now.scratch);
    cri_pose pose = fixture_pose(cri_v3(0.3, -0.2, 0.5), cri_v3(0, 0, height));
    place(0, &pose);
    cri_longrange_half(&now.options, &now.body[0], &ground, CRI_LONGRANGE_HESSIAN, &now.half);
    return &now.half;
}

static double half_trace(const cri_longrange_half_result *r) {
    double K[9], sum = 0.0;
    cri_affine_curvature(r->N, K);
    for (int i = 0; i < 6; i++) {
        sum += r->H[7 * i] + (i < 3 ? K[4 * i] : 0.0);
    }
    return sum;
}

TEST(a_box_above_the_ground_meets_the_reference) {
    static const double rows[][5] = {
        {0.45, 1743.13239741922, 5967.14657315773, -15881.3323765916, 551924.883339507},
        {0.8, 611.887659042584, 102.204224361844, -871.562785801043, -30722.3361379432},
        {1.4, 49.5819246230756, -0.000646157845603161, -480.750210546185, 10742.5366036926},
    };
    plant_boxes(CRI_SPHERE_LAYERED);
    for (int k = 0; k < 3; k++) {
        const cri_longrange_half_result *r = box_above_ground(rows[k][0]);
        CHECK_CLOSE(r->value, rows[k][1], 0, 1e-12);
        CHECK_CLOSE(r->g[0], rows[k][2], 1e-11, 1e-11);
        CHECK_CLOSE(r->g[5], rows[k][3], 0, 1e-11);
        CHECK_CLOSE(half_trace(r), rows[k][4], 0, 1e-9);
    }
    now.options.is_brute = true;
    const cri_longrange_half_result *r = box_above_ground(0.6);
    CHECK_CLOSE(r->value, 956.739806577883, 0, 1e-13);
    CHECK_CLOSE(r->g[0], 572.89527770593, 0, 1e-12);
    CHECK_CLOSE(r->g[1], -448.429789867997, 0, 1e-12);
    CHECK_CLOSE(r->g[2], 0.0, 1e-12, 0);
    CHECK_CLOSE(r->g[5], -2020.91385224818, 0, 1e-13);
    CHECK_CLOSE(half_trace(r), 18002.9714459576, 0, 1e-12);
    fell();
}

CR_TEST_MAIN(all_pairs_of_two_boxes_meet_the_reference, trees_of_two_boxes_meet_the_reference,
             a_box_above_the_ground_meets_the_reference)
