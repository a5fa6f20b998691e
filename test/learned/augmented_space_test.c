// SPDX-License-Identifier: MIT
//
// Nets of a body in space: labels, training, a throw that sinks nowhere, gradients of rollouts,
// states beyond training and weights of another body.

#include "cr_test.h"

#include "learned/augmented.h"
#include "model/scene/ground_file.h"
#include "model/scene/load.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SCENE(name, mass)                                                                          \
    "<mujoco><option timestep='0.002'/><worldbody>"                                                \
    "<geom name='ground' type='plane' size='5 5 0.1' friction='0.6'/>"                             \
    "<body name='" name "'><freejoint/><geom name='shape' type='box' size='0.1 0.07 0.05' "        \
    "mass='" mass "' friction='0.6'/></body></worldbody></mujoco>"

static const char box[] = SCENE("box", "1");
static const char crate[] = SCENE("crate", "2");

enum { N_X = 13 };

static cr_arena *arena;
static cri_ground_nets nets; // of the second test

static cr_model *parse(const char *text, cri_ground_nets *with) {
    cr_model *model = NULL;
    cr_error err = {0};
    CHECK_INT(cri_model_parse_with(text, strlen(text), "scene.xml", with, &model, &err), CR_OK);
    return model;
}

TEST(labels_are_those_of_the_law) {
    cr_model *model = parse(box, NULL);
    cr_error err = {0};
    arena = cri_arena_create(1 << 16);
    for (int kind = CRI_GROUND_SPACE_POINT; kind < CRI_GROUND_KINDS; kind++) {
        cri_ground_sampling sampling = cri_ground_sampling_default();
        cri_ground_data data;
        int n[CRI_GROUND_CLASSES] = {0}, n_wrong = 0;
        CHECK_INT(
            cri_ground_sample(model, (cri_ground_kind)kind, 500, &sampling, &data, arena, &err),
            CR_OK);
        CHECK_INT(data.n, 500);
        for (int i = 0; i < data.n; i++) {
            const double *g = data.impulse + i * data.n_row;
            int n_t = cri_ground_tangents(data.kind);
            double push = 0.0;
            for (int j = n_t; j < data.n_row; j++) {
                push += g[j];
            }
            n[data.label[i]]++;
            // Coulomb's cone for all of the patch, no force on what leaves
            n_wrong += hypot(g[0], g[1]) > 0.6 * push + 1e-6;
            n_wrong += data.label[i] == CRI_GROUND_DETACH && push > 1e-6;
        }
        CHECK_INT(n_wrong, 0);
        CHECK(n[0] > 20 && n[1] > 20 && n[2] > 20);
        CHECK(!data.has_restitution);
    }
    cr_model_destroy(model);
}

// what comes down on a face may touch with two corners across it, far from the middle: no edge has
// such an inverse mass
TEST(lines_are_also_diagonals_of_faces) {
    enum { AT_FIRST_END = 17 };
    cr_model *model = parse(box, NULL);
    cr_error err = {0};
    cri_ground_sampling sampling = cri_ground_sampling_default();
    cri_ground_data data;
    int n_far = 0;
    CHECK_INT(cri_ground_sample(model, CRI_GROUND_SPACE_LINE, 500, &sampling, &data, arena, &err),
              CR_OK);
    for (int i = 0; i < data.n; i++) {
        n_far += data.input[i * data.n_input + AT_FIRST_END] > 3.3;
    }
    CHECK(n_far > 20 && n_far < 250);
    cr_model_destroy(model);
}

TEST(training_learns_and_a_file_keeps_it) {
    static const char path[] = "augmented_space_test.json";
    cr_model *model = parse(box, NULL);
    cr_error err = {0};
    cri_augmented_options o = cri_augmented_options_default();
    for (int k = 0; k < CRI_GROUND_KINDS; k++) {
        o.n_sample[k] = 1500;
    }
    o.n_epoch_space = 25;
    o.batch = 64;
    cri_augmented_score score[CRI_GROUND_KINDS];
    CHECK_INT(cri_augmented_train(model, &o, &nets, score, arena, &err), CR_OK);
    for (int k = CRI_GROUND_SPACE_POINT; k < CRI_GROUND_KINDS; k++) {
        CHECK(score[k].accuracy > 0.85);
        CHECK(score[k].friction > 0.5);
    }
    CHECK_INT(score[0].n_train, 0);
    cri_ground_nets again;
    CHECK_INT(cri_ground_file_write(path, &nets, &err), CR_OK);
    CHECK_INT(cri_ground_file_read(path, &again, arena, &err), CR_OK);
    CHECK(again.is_spatial && again.n_weight == nets.n_weight);
    CHECK(memcmp(again.weights, nets.weights, sizeof(double) * (size_t)nets.n_weight) == 0);
    CHECK(memcmp(again.inertia, nets.inertia, sizeof nets.inertia) == 0);
    remove(path);
    cr_model_destroy(model);

    // another body is refused, and so is one in a plane
    CHECK_INT(cri_model_parse_with(crate, strlen(crate), "c.xml", &nets, &model, &err),
              CR_ERR_ARGUMENT);
    CHECK(strstr(err.text, "box (1 kg") && strstr(err.text, "crate (2 kg"));
}

static cr_sim *open_sim(const cr_model *model, const char *stepper, const char *outside) {
    cr_sim *sim = NULL;
    cr_error err = {0};
    cr_sim_options options = cr_sim_options_default(model);
    options.law = "augmented";
    options.stepper = stepper;
    options.outside = outside;
    CHECK_INT(cr_sim_create(model, &options, &sim, &err), CR_OK);
    return sim;
}

TEST(a_state_beyond_training_is_flagged) {
    cr_model *model = parse(box, &nets);
    static const char *const word[] = {"net", "analytic", "stop"};
    // at 150 m/s; inputs grow by the logarithm alone
    const double x[N_X] = {0, 0, 0.3, 0.8, 0.3, 0.4, 0.332, 150, 0, -150, 1, 2, 3};
    cr_error err = {0};
    for (int k = 0; k < 3; k++) {
        cr_sim *sim = open_sim(model, "end", word[k]);
        double next[N_X];
        CHECK_INT(cr_sim_step(sim, 0.002, x, NULL, next, &err), k == 2 ? CR_ERR_NUMERIC : CR_OK);
        if (k < 2) {
            CHECK_INT(cr_sim_report(sim)->n_outside, 1);
            CHECK(next[9] > -1.0);
        }
        cr_sim_destroy(sim);
    }
    CHECK(strstr(err.text, "box") != NULL);
    cr_model_destroy(model);
}

// ---- gradient ----------------------------------------------------------------------------------

/// A throw whose end is asked for its gradient.
typedef struct throw {
    cr_sim *sim;
    cr_sizes n;
    double dt;
    int n_step;
}
throw;

static double value_of(const double *end) {
    return end[0] * end[0] + end[1] + 0.1 * end[7] + 0.01 * end[12];
}

static bool end_of(void *context, const double *z, double *value) {
    throw *t = context;
    double end[N_X];
    cr_error err = {0};
    cr_rollout run = {.n_step = t->n_step, .dt = &t->dt, .n_dt = 1};
    bool is_good = cr_sim_set_params(t->sim, z, &err) == CR_OK &&
                   cr_sim_rollout(t->sim, &run, z + t->n.n_p, NULL, end, &err) == CR_OK;
    *value = value_of(end);
    return is_good;
}

static const double thrown[N_X] = {0,   0,    0.16, 0.8, 0.3, 0.4, 0.33166247903554,
                                   1.5, -0.7, -0.5, 3,   -2,  4};
static const double lying[N_X] = {0, 0, 0.05, 1, 0, 0, 0, 0.5, 0.3, 0, 0, 0, 0.4};

// from a start whose friction comes from the regressor of that kind of patch
static void check_gradient(const cr_model *model, const char *stepper, int n_step,
                           const double start[N_X], const char *last_bias) {
    throw t = {.n = cr_model_sizes(model), .dt = 0.002, .n_step = n_step};
    cr_error err = {0};
    t.sim = open_sim(model, stepper, NULL);
    static double z[20000], adj[20000];
    assert_true(t.n.n_p + N_X < 20000);
    memset(adj, 0, sizeof adj);
    cr_model_defaults(model, -1, z, z + t.n.n_p, NULL);
    double end[N_X], seed_adj[N_X] = {0};
    memcpy(z + t.n.n_p, start, sizeof end);
    cr_rollout run = {.n_step = t.n_step, .dt = &t.dt, .n_dt = 1};
    CHECK_INT(cr_sim_set_params(t.sim, z, &err), CR_OK);
    CHECK_INT(cr_sim_rollout(t.sim, &run, z + t.n.n_p, NULL, end, &err), CR_OK);
    CHECK(start == lying || cr_sim_report(t.sim)->n_event > 0);
    seed_adj[0] = 2.0 * end[0];
    seed_adj[1] = 1.0;
    seed_adj[7] = 0.1;
    seed_adj[12] = 0.01;
    cr_seed seed = {t.n_step, seed_adj};
    CHECK_INT(cr_sim_rollout_vjp(t.sim, 1, &seed, adj + t.n.n_p, NULL, adj, &err), CR_OK);
    int weight = cr_model_find(model, CR_VECTOR_P, last_bias, NULL);
    int mass = cr_model_find(model, CR_VECTOR_P, "box/mass", NULL);
    int size = cr_model_find(model, CR_VECTOR_P, "shape/size[0]", NULL);
    assert_true(weight >= 0 && mass >= 0 && size >= 0);
    // what lies is lifted off by its height: a kink
    int along = t.n.n_p + (start == lying ? 10 : 2);
    int entry[] = {weight, weight + 1, weight - 50, mass, size, along, t.n.n_p + 7, t.n.n_p + 11};
    int n_moving = 0;
    for (size_t i = 0; i < sizeof entry / sizeof entry[0]; i++) {
        double difference, uncertainty, own = adj[entry[i]];
        CHECK(cr_gradient_check(end_of, &t, z, entry[i], 1e-4, 0, &difference, &uncertainty));
        CHECK_CLOSE(own, difference, 1e-6 * (1.0 + fabs(difference)) + 10.0 * uncertainty, 0.0);
        n_moving += own != 0.0;
    }
    CHECK(n_moving >= 7);
    cr_sim_destroy(t.sim);
}

TEST(a_rollout_has_its_gradient_and_nothing_sinks) {
    cr_model *model = parse(box, &nets);
    for (int k = 0; k < 2; k++) {
        const char *stepper = k ? "located" : "end";
        check_gradient(model, stepper, 50, thrown, "point/friction/b4[0]");
        // all corners close alike there, of which none may stand for the others
        check_gradient(model, stepper, 20, lying, "surface/friction/b4[0]");
    }
    cr_sim *sim = open_sim(model, "located", NULL);
    double x[N_X] = {0, 0, 0.4, 0.8, 0.3, 0.4, 0.33166247903554, 1.5, -0.7, 0, 3, -2, 4};
    double deepest = 0.0, speed = 0.0;
    cr_error err = {0};
    for (int i = 0; i < 1000; i++) {
        CHECK_INT(cr_sim_step(sim, 0.002, x, NULL, x, &err), CR_OK);
        deepest = fmax(deepest, cr_sim_report(sim)->penetration);
    }
    for (int i = 7; i < N_X; i++) {
        speed += fabs(x[i]);
    }
    CHECK(deepest <= 1e-6);
    CHECK(speed < 0.05);
    cr_sim_destroy(sim);
    cr_model_destroy(model);
    cri_arena_destroy(arena);
}

CR_TEST_MAIN(labels_are_those_of_the_law, lines_are_also_diagonals_of_faces,
             training_learns_and_a_file_keeps_it, a_state_beyond_training_is_flagged,
             a_rollout_has_its_gradient_and_nothing_sinks)
