// SPDX-License-Identifier: MIT
//
// Contact states of a box, a ball and a scene that is neither: samples, labels, training, files of
// weights, and motion under the trained law with its gradient.

#include "cr_test.h"

#include "learned/augmented.h"
#include "model/scene/ground_file.h"
#include "model/scene/load.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SCENE(body, geom, mass)                                                                    \
    "<mujoco><option timestep='0.002'/><worldbody>"                                                \
    "<geom name='ground' type='plane' size='5 5 0.1' friction='0.7'/><body name='" body "'>"       \
    "<joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/>"                         \
    "<joint type='hinge' axis='0 -1 0'/>"                                                          \
    "<geom name='shape' " geom " mass='" mass "' friction='0.7'/></body></worldbody></mujoco>"

static const char box[] = SCENE("box", "type='box' size='0.1 0.05 0.05'", "1");
static const char heavy[] = SCENE("box", "type='box' size='0.1 0.05 0.05'", "2");
static const char ball[] = SCENE("ball", "type='sphere' size='0.1'", "1");

static cr_model *parse(const char *text, cri_ground_nets *nets) {
    cr_model *model = NULL;
    cr_error err = {0};
    CHECK_INT(cri_model_parse_with(text, strlen(text), "scene.xml", nets, &model, &err), CR_OK);
    return model;
}

static cri_augmented_options few(void) {
    cri_augmented_options o = cri_augmented_options_default();
    o.n_sample[0] = o.n_sample[1] = 2000;
    o.n_epoch = 40;
    o.batch = 64;
    return o;
}

// the class of a sample by Coulomb's law and its inputs alone: no end closes, or what would bring
// it to rest, its last inputs, lies in the cone
static int said_by_cone(const cri_ground_data *data, int i) {
    const double *input = data->input + i * data->n_input;
    const double *still = input + data->n_input - data->n_row;
    double push = 0.0;
    bool is_opening = true, is_pushed = true;
    for (int k = 1; k < data->n_row; k++) {
        push += still[k];
        is_opening = is_opening && input[k] >= 0.0;
        is_pushed = is_pushed && still[k] >= 0.0;
    }
    bool is_held = is_pushed && fabs(still[0]) <= 0.7 * push;
    return is_opening ? CRI_GROUND_DETACH : (is_held ? CRI_GROUND_STATIC : CRI_GROUND_DYNAMIC);
}

TEST(labels_are_those_of_the_law) {
    cr_model *model = parse(box, NULL);
    cr_arena *arena = cri_arena_create(1 << 16);
    cr_error err = {0};
    for (int kind = 0; kind < CRI_GROUND_SPACE_POINT; kind++) {
        cri_ground_sampling sampling = cri_ground_sampling_default();
        cri_ground_data data;
        int n[CRI_GROUND_CLASSES] = {0}, n_wrong = 0, n_off = 0;
        CHECK_INT(
            cri_ground_sample(model, (cri_ground_kind)kind, 1000, &sampling, &data, arena, &err),
            CR_OK);
        CHECK_INT(data.n, 1000);
        for (int i = 0; i < data.n; i++) {
            const double *g = data.impulse + i * data.n_row;
            double push = g[1] + (kind == CRI_GROUND_LINE ? g[2] : 0.0);
            n[data.label[i]]++;
            // Coulomb's cone, and no force on what leaves
            n_wrong += fabs(g[0]) > 0.7 * push + 1e-9 || push < 0.0;
            n_wrong += data.label[i] == CRI_GROUND_DETACH && push > 1e-6;
            n_wrong += data.label[i] != CRI_GROUND_DETACH && push <= 0.0;
            // what the cone can hold sticks, a face that is tilted by a little too
            n_off += data.label[i] != said_by_cone(&data, i);
        }
        CHECK_INT(n_off, 0);
        CHECK_INT(n_wrong, 0);
        CHECK(n[0] > 50 && n[1] > 50 && n[2] > 30);
    }
    cri_arena_destroy(arena);
    cr_model_destroy(model);
}

TEST(training_learns_and_a_file_keeps_it) {
    cr_model *model = parse(box, NULL);
    cr_arena *arena = cri_arena_create(1 << 16);
    cr_error err = {0};
    cri_augmented_options o = few();
    cri_ground_nets nets, again;
    cri_augmented_score score[CRI_GROUND_KINDS];
    CHECK_INT(cri_augmented_train(model, &o, &nets, score, arena, &err), CR_OK);
    CHECK(score[0].accuracy > 0.95 && score[1].accuracy > 0.9);
    CHECK(score[0].friction > 0.6 && score[1].friction > 0.6);
    CHECK_INT(score[0].n_test, 200);

    static const char path[] = "augmented_test_nets.json";
    CHECK_INT(cri_ground_file_write(path, &nets, &err), CR_OK);
    CHECK_INT(cri_ground_file_read(path, &again, arena, &err), CR_OK);
    CHECK_INT(again.n_weight, nets.n_weight);
    CHECK(memcmp(again.weights, nets.weights, sizeof(double) * (size_t)nets.n_weight) == 0);
    CHECK(memcmp(again.lower, nets.lower, sizeof nets.lower) == 0);
    remove(path);

    // the same body takes them, with a parameter for each weight; another one does not
    cr_model *with = parse(box, &again), *other = NULL;
    CHECK_INT(cr_model_sizes(with).n_p, cr_model_sizes(model).n_p + nets.n_weight);
    CHECK(cr_model_find(with, CR_VECTOR_P, "line/friction/b2[3]", NULL) >= 0);
    CHECK_INT(cri_model_parse_with(heavy, strlen(heavy), "heavy.xml", &again, &other, &err),
              CR_ERR_ARGUMENT);
    CHECK(strstr(err.text, "body box (1 kg") && strstr(err.text, "has box (2 kg"));
    cr_model_destroy(with);
    cri_arena_destroy(arena);
    cr_model_destroy(model);
}

TEST(what_cannot_be_learned_is_said) {
    cr_arena *arena = cri_arena_create(1 << 16);
    cr_error err = {0};
    cri_ground_sampling sampling = cri_ground_sampling_default();
    cri_ground_data data;

    // a ball has no lines, and in a plane no patch of space
    cr_model *model = parse(ball, NULL);
    CHECK_INT(cri_ground_sample(model, CRI_GROUND_LINE, 10, &sampling, &data, arena, &err), CR_OK);
    CHECK_INT(data.n, 0);
    for (int kind = CRI_GROUND_SPACE_POINT; kind < CRI_GROUND_KINDS; kind++) {
        CHECK_INT(
            cri_ground_sample(model, (cri_ground_kind)kind, 10, &sampling, &data, arena, &err),
            CR_OK);
        CHECK_INT(data.n, 0);
    }
    sampling.law = "augmented";
    CHECK_INT(cri_ground_sample(model, CRI_GROUND_POINT, 10, &sampling, &data, arena, &err),
              CR_ERR_ARGUMENT);
    CHECK(strstr(err.text, "take lcp or ncp") != NULL);

    // no nets, no law
    cr_sim *sim = NULL;
    cr_sim_options options = cr_sim_options_default(model);
    options.law = "augmented";
    CHECK_INT(cr_sim_create(model, &options, &sim, &err), CR_ERR_ARGUMENT);
    CHECK(strstr(err.text, "carom:weights") != NULL);
    cr_model_destroy(model);

    static const char held[] =
        "<mujoco><worldbody><geom name='ground' type='plane' size='5 5 0.1'/>"
        "<body name='b'><joint type='ball'/><geom size='0.1'/></body></worldbody></mujoco>";
    model = parse(held, NULL);
    sampling.law = "lcp";
    CHECK_INT(cri_ground_sample(model, CRI_GROUND_POINT, 10, &sampling, &data, arena, &err),
              CR_ERR_UNSUPPORTED);
    CHECK(strstr(err.text, "two slides and a hinge") != NULL);
    cr_model_destroy(model);
    cri_arena_destroy(arena);
}

// ---- motion ------------------------------------------------------------------------------------

// a prism with a face of n corners on the ground
static void prism(int n, char *out, size_t n_byte) {
    size_t at = (size_t)snprintf(out, n_byte, "<mujoco><asset><mesh name='m' vertex='");
    for (int i = 0; i < 2 * n; i++) {
        double angle = 2.0 * acos(-1.0) * (i % n + 0.5) / n;
        at += (size_t)snprintf(out + at, n_byte - at, "%.9f %.9f %g ", 0.1 * cos(angle),
                               0.1 * sin(angle), i < n ? -0.05 : 0.05);
    }
    snprintf(out + at, n_byte - at, "'/></asset>%s",
             strstr(SCENE("prism", "type='mesh' mesh='m'", "1"), "<option"));
}

static int count_contacts(const cr_model *model, const char *law, const char *stepper) {
    cr_sim *sim = NULL;
    cr_error err = {0};
    cr_sim_options options = cr_sim_options_default(model);
    options.law = law;
    options.stepper = stepper;
    CHECK_INT(cr_sim_create(model, &options, &sim, &err), CR_OK);
    double x[6] = {0.0, 0.0499, 0.0, 0.0, -1.0, 0.0}, next[6];
    int n = 0;
    CHECK_INT(cr_sim_step(sim, 0.002, x, NULL, next, &err), CR_OK);
    cr_sim_contacts(sim, &n);
    cr_sim_destroy(sim);
    return n;
}

// so that the cost of a solve does not depend on the number of contacts
TEST(a_patch_of_many_corners_is_its_two_ends) {
    static char text[100000];
    cr_arena *arena = cri_arena_create(1 << 16);
    cr_error err = {0};
    static const int n_corner[] = {4, 400}, n_lcp[] = {4, 6};
    for (int k = 0; k < 2; k++) {
        prism(n_corner[k], text, sizeof text);
        cr_model *model = parse(text, NULL);
        cri_augmented_options o = few();
        o.n_sample[0] = o.n_sample[1] = 500;
        cri_ground_nets nets;
        cri_augmented_score score[CRI_GROUND_KINDS];
        CHECK_INT(cri_augmented_train(model, &o, &nets, score, arena, &err), CR_OK);
        cr_model *with = parse(text, &nets);
        for (int j = 0; j < 2; j++) {
            const char *stepper = j ? "located" : "end";
            CHECK(count_contacts(with, "lcp", stepper) >= n_lcp[k]);
            // located: of the impact, and of the rest behind it
            CHECK_INT(count_contacts(with, "augmented", stepper), j ? 4 : 2);
        }
        cr_model_destroy(with);
        cr_model_destroy(model);
    }
    cri_arena_destroy(arena);
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

static bool end_of(void *context, const double *z, double *value) {
    throw *t = context;
    double end[6];
    cr_error err = {0};
    cr_rollout run = {.n_step = t->n_step, .dt = &t->dt, .n_dt = 1};
    bool is_good = cr_sim_set_params(t->sim, z, &err) == CR_OK &&
                   cr_sim_rollout(t->sim, &run, z + t->n.n_p, NULL, end, &err) == CR_OK;
    *value = end[0] * end[0] + end[2] + 0.1 * end[3];
    return is_good;
}

static const double thrown[6] = {0.0, 0.16, 0.4, 2.5, -1.0, 2.0};
static const double lying[6] = {0.0, 0.05, 0.0, 0.5, 0.0, 0.0};

// from a start whose friction comes from the regressor of that kind of patch
static void check_gradient(const cr_model *model, const char *stepper, int n_step,
                           const double start[6], const char *last_bias) {
    throw t = {.n = cr_model_sizes(model), .dt = 0.002, .n_step = n_step};
    cr_error err = {0};
    cr_sim_options options = cr_sim_options_default(model);
    options.law = "augmented";
    options.stepper = stepper;
    CHECK_INT(cr_sim_create(model, &options, &t.sim, &err), CR_OK);
    double z[10000], adj[10000] = {0}, end[6], seed_adj[6] = {0};
    assert_true(t.n.n_p + 6 < 10000);
    cr_model_defaults(model, -1, z, z + t.n.n_p, NULL);
    memcpy(z + t.n.n_p, start, sizeof end);
    cr_rollout run = {.n_step = n_step, .dt = &t.dt, .n_dt = 1};
    CHECK_INT(cr_sim_set_params(t.sim, z, &err), CR_OK);
    CHECK_INT(cr_sim_rollout(t.sim, &run, z + t.n.n_p, NULL, end, &err), CR_OK);
    CHECK(start == lying || cr_sim_report(t.sim)->n_event > 0);
    memcpy(seed_adj, (double[6]){2.0 * end[0], 0.0, 1.0, 0.1, 0.0, 0.0}, sizeof seed_adj);
    cr_seed seed = {n_step, seed_adj};
    CHECK_INT(cr_sim_rollout_vjp(t.sim, 1, &seed, adj + t.n.n_p, NULL, adj, &err), CR_OK);
    int weight = cr_model_find(model, CR_VECTOR_P, last_bias, NULL);
    int mass = cr_model_find(model, CR_VECTOR_P, "box/mass", NULL);
    int size = cr_model_find(model, CR_VECTOR_P, "shape/size[0]", NULL);
    assert_true(weight >= 0 && mass >= 0 && size >= 0);
    int entry[] = {weight,      weight - 3,  mass,        size,
                   t.n.n_p + 2, t.n.n_p + 3, t.n.n_p + 5, weight - 100};
    int n_moving = 0;
    for (size_t i = 0; i < sizeof entry / sizeof entry[0]; i++) {
        double difference, uncertainty;
        CHECK(cr_gradient_check(end_of, &t, z, entry[i], 1e-4, 0, &difference, &uncertainty));
        CHECK_CLOSE(adj[entry[i]], difference, 1e-6 * (1.0 + fabs(difference)) + 10.0 * uncertainty,
                    0.0);
        n_moving += adj[entry[i]] != 0.0;
    }
    // the regressed normal impulse is not used
    CHECK(n_moving >= 6 && adj[weight - 3] == 0.0);
    cr_sim_destroy(t.sim);
}

TEST(a_rollout_has_its_gradient_and_nothing_sinks) {
    cr_model *model = parse(box, NULL);
    cr_arena *arena = cri_arena_create(1 << 16);
    cr_error err = {0};
    cri_augmented_options o = few();
    cri_ground_nets nets;
    cri_augmented_score score[CRI_GROUND_KINDS];
    CHECK_INT(cri_augmented_train(model, &o, &nets, score, arena, &err), CR_OK);
    cr_model *with = parse(box, &nets);
    for (int k = 0; k < 2; k++) {
        const char *stepper = k ? "located" : "end";
        check_gradient(with, stepper, 60, thrown, "point/friction/b4[0]");
        // both ends close alike there, of which neither may stand for the other
        check_gradient(with, stepper, 20, lying, "line/friction/b4[0]");
    }

    // a whole throw, to rest
    cr_sim *sim = NULL;
    cr_sim_options options = cr_sim_options_default(with);
    options.law = "augmented";
    options.stepper = "located";
    options.use_gradient = false;
    CHECK_INT(cr_sim_create(with, &options, &sim, &err), CR_OK);
    double x[6] = {0.0, 0.4, 0.4, 2.5, 0.0, 9.0}, next[6], deepest = 0.0;
    for (int i = 0; i < 1500; i++) {
        CHECK_INT(cr_sim_step(sim, 0.002, x, NULL, next, &err), CR_OK);
        memcpy(x, next, sizeof x);
        deepest = fmax(deepest, cr_sim_report(sim)->penetration);
    }
    CHECK(deepest <= 1e-6);
    CHECK_CLOSE(fabs(sin(2.0 * x[2])), 0.0, 1e-3, 0.0);
    cr_sim_destroy(sim);
    cr_model_destroy(with);
    cri_arena_destroy(arena);
    cr_model_destroy(model);
}

CR_TEST_MAIN(labels_are_those_of_the_law, training_learns_and_a_file_keeps_it,
             what_cannot_be_learned_is_said, a_patch_of_many_corners_is_its_two_ends,
             a_rollout_has_its_gradient_and_nothing_sinks)
