// SPDX-License-Identifier: MIT
//
// An interaction network against numbers of an independent program, and the relations of scenes.

#include "cr_test.h"

#include "points/learn/interaction.h"

#include <math.h>

enum { N_OBJECT = 3, N_RELATION = 6, N_OUT = 2 };

// W_l[i][j] = sin(0.5 + 1.3 l + 0.7 i + 0.9 j)/sqrt(n_j), b_l[i] = 0.1 cos(l + 0.3 i)
static double *put_weights(const cri_mlp *net, double *w) {
    for (int l = 0; l < net->n_layer; l++) {
        int n = net->width[l], m = net->width[l + 1];
        for (int i = 0; i < m; i++) {
            for (int j = 0; j < n; j++) {
                *w++ = sin(0.5 + 1.3 * l + 0.7 * i + 0.9 * j) / sqrt(n);
            }
        }
        for (int i = 0; i < m; i++) {
            *w++ = 0.1 * cos(l + 0.3 * i);
        }
    }
    return w;
}

TEST(values_and_adjoints_are_those_of_the_derivation) {
    static const double value[6] = {0.0913542374617372, 0.0496871244932082, 0.109402436578406,
                                    -0.367185093906293, -0.206272266582392, -0.272755536951558};
    static const double adjoint[9] = {-0.0378108398390057, -0.123661580141925,  -0.115927701977639,
                                      0.147754214539001,   -0.0709050359911801, -0.235904768884417,
                                      0.11419907104333,    0.131281888778947,   0.0490131903934577};
    static const int receiver[6] = {0, 1, 0, 2, 1, 2}, sender[6] = {1, 0, 2, 0, 2, 1};
    cri_relation relation[N_RELATION];
    for (int k = 0; k < N_RELATION; k++) {
        relation[k] = (cri_relation){receiver[k], sender[k], {cos(k) + 0.2}};
    }
    cri_interaction net = {.n_object = N_OBJECT,
                           .n_active = N_OBJECT,
                           .n_fixed = 3,
                           .n_external = 2,
                           .n_out = N_OUT,
                           .n_attribute = 1,
                           .n_relation = N_RELATION,
                           .relation = relation};
    cri_interaction_shape(&net, &(cri_interaction_size){1, 6, 4, 1, 5});
    double w[256], w_adj[256] = {0}, objects[9], external[6], out[6], seed[6];
    double objects_adj[9] = {0}, external_adj[6] = {0};
    assert_true(put_weights(&net.act, put_weights(&net.relate, w)) - w ==
                cri_interaction_n_weight(&net));
    for (int k = 0; k < 9; k++) {
        objects[k] = cos(k);
    }
    for (int k = 0; k < 6; k++) {
        external[k] = cos(k) - 0.5;
        seed[k] = cos(k);
    }
    cr_arena *arena = cri_arena_create(1 << 12);
    cri_interaction_cache cache;
    assert_true(cri_interaction_value(&net, w, 1, objects, external, out, &cache, arena));
    assert_true(
        cri_interaction_value_vjp(&net, w, &cache, seed, objects_adj, external_adj, w_adj, arena));
    for (int k = 0; k < 6; k++) {
        CHECK(fabs(out[k] - value[k]) < 1e-13);
    }
    for (int k = 0; k < 9; k++) {
        CHECK(fabs(objects_adj[k] - adjoint[k]) < 1e-13);
    }
    cri_arena_destroy(arena);
}

// objects and relations that a scene has
static void check_scene(const char *name, int n_object, int n_relation) {
    cri_points_scene *scene = NULL;
    cr_error err = {0};
    assert_int_equal(cri_points_scene_create(name, 10, &scene, &err), CR_OK);
    const cri_points_relations *r =
        cri_points_relations_push(scene, &(cri_interaction_size){1, 3, 2, 1, 3});
    CHECK_INT(r->net.n_object, n_object);
    CHECK_INT(r->net.n_relation, n_relation);
    cri_points_scene_destroy(scene);
}

TEST(contacts_and_ties_are_relations_and_walls_are_objects) {
    check_scene("bp5", 5 + 4, 20 + 20);
    check_scene("bd5", 5 + 4, 20 + 20);
    check_scene("cp3", 3 + 2, 1 + 5);     // ground and pivot; one contact, three ties
    check_scene("gyro", 1 + 2, 1 + 1);    // wall and pivot
    check_scene("rope", 10 + 1, 19 + 17); // ten stretches, nine bends, one of each at the origin
}

CR_TEST_MAIN(values_and_adjoints_are_those_of_the_derivation,
             contacts_and_ties_are_relations_and_walls_are_objects)
