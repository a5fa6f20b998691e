// SPDX-License-Identifier: MIT
//
// Systems of points behind the public interface. Needs WRAP.

#include "alloc_wrap.h"
#include "carom/carom.h"
#include "points/contact/points_model.h"
#include "points/system/points_fixture.h"

static cr_model *make_model(const char *name, int n) {
    cr_model *model;
    cr_error err = {0};
    assert_int_equal(cri_points_model_create(fixture_scene(name, n), &model, &err), CR_OK);
    return model;
}

static cr_sim *make_sim(const cr_model *model, const char *law) {
    cr_sim *sim;
    cr_error err = {0};
    cr_sim_options options = cr_sim_options_default(model);
    options.law = law;
    options.use_gradient = true;
    if (cr_sim_create(model, &options, &sim, &err) != CR_OK) {
        fail_msg("%s", err.text);
    }
    return sim;
}

TEST(every_system_is_a_model_with_names) {
    for (int k = 0; cri_points_scene_name(k); k++) {
        cr_model *model = make_model(cri_points_scene_name(k), 12);
        cr_sizes n = cr_model_sizes(model);
        CHECK_INT(n.n_q, n.n_v);
        CHECK(cr_model_find(model, CR_VECTOR_P, "gravity[1]", NULL) >= 0);
        cr_model_destroy(model);
    }
    cr_model *model = make_model("bd5", 0);
    CHECK_INT(cr_model_find(model, CR_VECTOR_P, "disk3/mass", NULL), 2);
    CHECK_INT(cr_model_find(model, CR_VECTOR_X, "disk1.y/qpos[1]", NULL), 5);
    CHECK_INT(cr_model_find(model, CR_VECTOR_X, "disk2/qvel[0]", NULL), 36);
    double low, high;
    bool is_open;
    cr_model_domain(model, cr_model_find(model, CR_VECTOR_P, "disk1:left/restitution", NULL), &low,
                    &high, &is_open);
    CHECK(low == 0.0 && high == 1.0 && !is_open);
    cr_model_destroy(model);
}

// the simulator gives what the step gives, and so does its adjoint
TEST(a_model_steps_like_its_system) {
    static const char *const laws[] = {"cone", "cone-reg", "lcp"};
    fixture_rooms rooms = fixture_open();
    for (int k = 0; k < 3; k++) {
        cr_model *model = make_model("cp3", 0);
        cr_sim *sim = make_sim(model, laws[k]);
        cri_points_scene *sc = fixture_scene("cp3", 0);
        assert_true(cri_points_scene_set_law(sc, laws[k]));
        double x[12], got[12], want[12], adj[12], x_adj[2][12] = {{0.0}}, p_adj[2][16] = {{0.0}};
        cr_error err = {0};
        fixture_seed(12, adj);
        // 2 mm in the ground
        fixture_chain((double[]){0.1, 0.0, 0.1}, (double[]){-2.0, -1.0, -1.0}, x);
        assert_int_equal(cr_sim_step(sim, 0.01, x, NULL, got, &err), CR_OK);
        assert_int_equal(cr_sim_step_vjp(sim, adj, x_adj[0], NULL, p_adj[0], &err), CR_OK);
        const cri_points_tape *tape =
            cri_points_step(sc, sc->p, 1, x, want, NULL, rooms.keep, rooms.scratch);
        assert_non_null(tape);
        CHECK(tape->n_contact == 1);
        assert_true(cri_points_step_vjp(sc, sc->p, tape, adj, x_adj[1], p_adj[1], rooms.scratch));
        CHECK(memcmp(got, want, sizeof got) == 0);
        fixture_check(12, x_adj[0], x_adj[1], 1e-15);
        fixture_check(sc->n_p, p_adj[0], p_adj[1], 1e-15);
        cri_points_scene_destroy(sc);
        cr_sim_destroy(sim);
        cr_model_destroy(model);
    }
    fixture_close(&rooms);
}

TEST(steps_of_a_model_call_no_heap_after_the_first) {
    cr_model *model = make_model("rope", 10);
    cr_sim *sim = make_sim(model, "cone");
    double x[40], next[40], adj[40], x_adj[40] = {0.0};
    cr_error err = {0};
    cr_model_defaults(model, -1, NULL, x, NULL);
    fixture_seed(40, adj);
    x[38] = 3.0; // the end is thrown aside
    for (int round = 0; round < 2; round++) {
        long before = cr_alloc_count();
        for (int t = 0; t < 10; t++) {
            assert_int_equal(cr_sim_step(sim, 0.005, x, NULL, next, &err), CR_OK);
            assert_int_equal(cr_sim_step_vjp(sim, adj, x_adj, NULL, NULL, &err), CR_OK);
            memcpy(x, next, sizeof x);
        }
        CHECK(round == 0 || cr_alloc_count() == before);
        cr_model_defaults(model, -1, NULL, x, NULL);
        x[38] = 3.0;
    }
    cr_sim_destroy(sim);
    cr_model_destroy(model);
}

TEST(a_model_without_memory_says_so) {
    long live = cr_alloc_live();
    bool is_done = false;
    for (long k = 1; !is_done && k < 200; k++) {
        cri_points_scene *sc = fixture_scene("cp3", 0);
        cr_model *model;
        cr_alloc_fail_at(k);
        cr_status status = cri_points_model_create(sc, &model, NULL);
        is_done = !cr_alloc_has_failed();
        cr_alloc_fail_at(0);
        CHECK(is_done ? status == CR_OK : status == CR_ERR_MEMORY && model == NULL);
        cr_model_destroy(model);
    }
    CHECK(is_done);
    CHECK(cr_alloc_live() == live);
}

CR_TEST_MAIN(every_system_is_a_model_with_names, a_model_steps_like_its_system,
             steps_of_a_model_call_no_heap_after_the_first, a_model_without_memory_says_so)
