// SPDX-License-Identifier: MIT
//
// Nets of two moving bodies: momentum stays, rollouts have gradients, another pair is refused. Nets
// that take the forces of a step: what is pulled at rest stays where the same velocity slides. Nets
// that take the place: a surface that rebounds more the farther it is.

#include "cr_test.h"

#include "learned/augmented.h"
#include "model/scene/ground_file.h"
#include "model/scene/load.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PLANAR                                                                                     \
    "<joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/>"                         \
    "<joint type='hinge' axis='0 -1 0'/>"
#define PAIR(first)                                                                                \
    "<mujoco><option timestep='0.002' gravity='0 0 0'/><worldbody><body name='" first "'>" PLANAR  \
    "<geom name='a' type='box' size='0.15 0.05 0.1' mass='2' friction='0.5'/></body>"              \
    "<body name='hammer'>" PLANAR                                                                  \
    "<geom name='b' type='box' size='0.1 0.05 0.05' mass='1' friction='0.5'/></body>"              \
    "</worldbody></mujoco>"

static const char pair[] = PAIR("anvil");
static const char stranger[] = PAIR("block");
static const char pulled[] =
    "<mujoco><option timestep='0.002'/><worldbody>"
    "<geom name='ground' type='plane' size='5 5 0.1' friction='0.3'/><body name='box'>"
    "<joint name='x' type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/>"
    "<joint type='hinge' axis='0 -1 0'/>"
    "<geom type='box' size='0.1 0.05 0.05' mass='1' friction='0.3'/></body></worldbody>"
    "</mujoco>";

enum { N_X = 12 };

static cr_arena *arena;

static void train(const char *text, cri_ground_nets *nets, cri_augmented_score *score) {
    cr_model *model = NULL;
    cr_error err = {0};
    cri_augmented_options o = cri_augmented_options_default();
    o.n_sample[0] = o.n_sample[1] = 1000;
    o.n_epoch = 25;
    o.batch = 64;
    arena = arena ? arena : cri_arena_create(1 << 16);
    CHECK_INT(cr_model_parse(text, strlen(text), "scene.xml", &model, &err), CR_OK);
    CHECK_INT(cri_augmented_train(model, &o, nets, score, arena, &err), CR_OK);
    cr_model_destroy(model);
}

static cr_sim *open_sim(const cr_model *model, const char *stepper) {
    cr_sim *sim = NULL;
    cr_error err = {0};
    cr_sim_options options = cr_sim_options_default(model);
    options.law = "augmented";
    options.stepper = stepper;
    CHECK_INT(cr_sim_create(model, &options, &sim, &err), CR_OK);
    return sim;
}

// ---- two bodies --------------------------------------------------------------------------------

/// A crash whose end is asked for its gradient.
typedef struct crash {
    cr_sim *sim;
    cr_sizes n;
    double dt;
    int n_step;
} crash;

static bool end_of(void *context, const double *z, double *value) {
    crash *t = context;
    double end[N_X];
    cr_error err = {0};
    cr_rollout run = {.n_step = t->n_step, .dt = &t->dt, .n_dt = 1};
    bool is_good = cr_sim_set_params(t->sim, z, &err) == CR_OK &&
                   cr_sim_rollout(t->sim, &run, z + t->n.n_p, NULL, end, &err) == CR_OK;
    *value = end[0] * end[0] + end[4] + 0.1 * end[8];
    return is_good;
}

static void check_gradient(const cr_model *model, const char *stepper, const double *start) {
    crash t = {.n = cr_model_sizes(model), .dt = 0.002, .n_step = 60};
    cr_error err = {0};
    t.sim = open_sim(model, stepper);
    static double z[10000], adj[10000];
    double end[N_X], seed_adj[N_X] = {0};
    memset(adj, 0, sizeof adj);
    assert_true(t.n.n_p + N_X < 10000);
    cr_model_defaults(model, -1, z, z + t.n.n_p, NULL);
    memcpy(z + t.n.n_p, start, sizeof end);
    cr_rollout run = {.n_step = t.n_step, .dt = &t.dt, .n_dt = 1};
    CHECK_INT(cr_sim_set_params(t.sim, z, &err), CR_OK);
    CHECK_INT(cr_sim_rollout(t.sim, &run, z + t.n.n_p, NULL, end, &err), CR_OK);
    CHECK(cr_sim_report(t.sim)->n_event > 0);
    seed_adj[0] = 2.0 * end[0];
    seed_adj[4] = 1.0;
    seed_adj[8] = 0.1;
    cr_seed seed = {t.n_step, seed_adj};
    CHECK_INT(cr_sim_rollout_vjp(t.sim, 1, &seed, adj + t.n.n_p, NULL, adj, &err), CR_OK);
    int weight = cr_model_find(model, CR_VECTOR_P, "point/friction/b4[0]", NULL);
    int mass = cr_model_find(model, CR_VECTOR_P, "anvil/mass", NULL);
    assert_true(weight >= 0 && mass >= 0);
    int entry[] = {weight, mass, t.n.n_p + 2, t.n.n_p + 4, t.n.n_p + 9, t.n.n_p + 11};
    int n_moving = 0;
    for (size_t i = 0; i < sizeof entry / sizeof entry[0]; i++) {
        double difference, uncertainty, own = adj[entry[i]];
        CHECK(cr_gradient_check(end_of, &t, z, entry[i], 1e-4, 0, &difference, &uncertainty));
        CHECK_CLOSE(own, difference, 1e-6 * (1.0 + fabs(difference)) + 10.0 * uncertainty, 0.0);
        n_moving += own != 0.0;
    }
    // the classifier's weights and those of other kinds move nothing
    CHECK(n_moving >= 5);
    cr_sim_destroy(t.sim);
}

TEST(two_bodies_keep_their_momentum_and_have_gradients) {
    cri_ground_nets nets;
    cri_augmented_score score[CRI_GROUND_KINDS];
    train(pair, &nets, score);
    CHECK(nets.has_other && score[0].accuracy > 0.9 && score[1].accuracy > 0.85);
    CHECK(!nets.has_restitution);
    // another pair is refused by name, also after a file
    static const char path[] = "augmented_pair_test.json";
    cr_error err = {0};
    cr_model *model = NULL;
    cri_ground_nets again;
    CHECK_INT(cri_ground_file_write(path, &nets, &err), CR_OK);
    CHECK_INT(cri_ground_file_read(path, &again, arena, &err), CR_OK);
    remove(path);
    CHECK_INT(cri_model_parse_with(stranger, strlen(stranger), "s.xml", &again, &model, &err),
              CR_ERR_ARGUMENT);
    CHECK(strstr(err.text, "anvil") && strstr(err.text, "block"));
    CHECK_INT(cri_model_parse_with(pair, strlen(pair), "p.xml", &again, &model, &err), CR_OK);

    const double start[N_X] = {0, 0, 0.3, 0.35, 0.12, 0.8, 0, 0, 0.5, -2.5, -0.9, 3.0};
    check_gradient(model, "end", start);
    check_gradient(model, "located", start);
    cr_sim *sim = open_sim(model, "located");
    double x[N_X];
    int n_contact = 0;
    memcpy(x, start, sizeof x);
    for (int i = 0; i < 300; i++) {
        CHECK_INT(cr_sim_step(sim, 0.002, x, NULL, x, &err), CR_OK);
        n_contact += cr_sim_report(sim)->n_event;
        CHECK_INT(cr_sim_report(sim)->n_outside, 0);
        CHECK(cr_sim_report(sim)->penetration <= 1e-6);
    }
    CHECK(n_contact > 0);
    for (int k = 0; k < 2; k++) {
        CHECK_CLOSE(2.0 * x[6 + k] + x[9 + k], 2.0 * start[6 + k] + start[9 + k], 1e-12, 0.0);
    }
    cr_sim_destroy(sim);
    cr_model_destroy(model);
}

// what the cone holds with room to spare sticks, also where a tilt leaves an end open
TEST(two_bodies_that_turn_as_one_stick) {
    cr_model *model = NULL;
    cr_error err = {0};
    cri_ground_data data;
    cri_ground_sampling sampling = cri_ground_sampling_default();
    CHECK_INT(cr_model_parse(pair, strlen(pair), "scene.xml", &model, &err), CR_OK);
    CHECK_INT(cri_ground_sample(model, CRI_GROUND_LINE, 1000, &sampling, &data, arena, &err),
              CR_OK);
    int n_held = 0, n_off = 0;
    for (int i = 0; i < data.n; i++) {
        const double *h = data.input + data.n_input * (i + 1) - 3,
                     *x = data.input + data.n_input * i;
        bool is_closing = x[1] < 0.0 || x[2] < 0.0;
        bool is_held =
            is_closing && h[1] > 0.05 && h[2] > 0.05 && fabs(h[0]) < 0.45 * (h[1] + h[2]);
        n_held += is_held;
        n_off += is_held && data.label[i] != CRI_GROUND_STATIC;
    }
    CHECK(n_held > 100);
    CHECK_INT(n_off, 0);
    cr_model_destroy(model);
}

// ---- forces of a step --------------------------------------------------------------------------

// labels: what lies still is held by the static coefficient, all else has the kinetic one
TEST(labels_know_two_coefficients) {
    cr_model *model = NULL;
    cr_error err = {0};
    cri_ground_data data;
    cri_ground_sampling sampling = cri_ground_sampling_default();
    sampling.mu_static = 0.5;
    CHECK_INT(cr_model_parse(pulled, strlen(pulled), "scene.xml", &model, &err), CR_OK);
    CHECK_INT(cri_ground_sample(model, CRI_GROUND_LINE, 4000, &sampling, &data, arena, &err),
              CR_OK);
    int n_own = cri_ground_inputs(CRI_GROUND_LINE);
    CHECK_INT(data.n_input, n_own + 3);
    int n_between = 0, n_wrong = 0;
    for (int i = 0; i < data.n; i++) {
        const double *g = data.impulse + 3 * i, *x = data.input + data.n_input * i;
        double ratio = fabs(g[0]) / (g[1] + g[2] + 1e-12), still = 0.0;
        for (int k = 0; k < 3; k++) {
            // velocities before forces: all less what they made
            still = fmax(still, fabs(x[k] - x[n_own + k]));
        }
        // what jams is cut off
        bool is_cut = fmax(fabs(g[0]), fmax(g[1], g[2])) > 7.9;
        bool is_above = !is_cut && g[1] + g[2] > 1e-6 && ratio > 0.3 + 1e-6;
        n_between += is_above;
        n_wrong +=
            is_above && (still > 1e-6 || ratio > 0.5 + 1e-6 || data.label[i] != CRI_GROUND_STATIC);
    }
    CHECK(n_between > 50);
    CHECK_INT(n_wrong, 0);
    cr_model_destroy(model);
}

// nets that say static where forces made most of the slip, dynamic with a friction of 0.3 elsewhere
static void write_nets(cri_ground_nets *nets, double *w) {
    for (int kind = 0; kind < 2; kind++) {
        int n_in = cri_ground_all_inputs((cri_ground_kind)kind, true, false),
            n = cri_ground_inputs(kind);
        const cri_mlp *class = &nets->net[2 * kind], *friction = &nets->net[2 * kind + 1];
        double *own = w + nets->first[2 * kind], *slide = w + nets->first[2 * kind + 1];
        assert_true(class->width[0] == n_in);
        own[cri_mlp_place(class, 1, false) + n] = 100.0;
        own[cri_mlp_place(class, 1, true)] = -10.0;
        own[cri_mlp_place(class, 2, false)] = 5.0;
        own[cri_mlp_place(class, 2, true) + CRI_GROUND_DETACH] = -50.0;
        slide[cri_mlp_place(friction, 2, true)] = -0.3;
    }
}

TEST(a_pull_at_rest_is_not_a_velocity) {
    static double w[2000];
    cri_ground_nets nets = {.has_applied = true,
                            .law = "lcp",
                            .body = "box",
                            .surface = "ground",
                            .mass = 1.0,
                            .inertia = {0.0125 / 3.0},
                            .shape = "box 0.1 0.05 0.05",
                            .weights = w};
    cri_ground_nets_shape(1, &(int){1}, &nets);
    assert_true(nets.n_weight <= 2000);
    write_nets(&nets, w);
    cr_error err = {0};
    cr_model *model = NULL;
    CHECK_INT(cri_model_parse_with(pulled, strlen(pulled), "p.xml", &nets, &model, &err), CR_OK);
    cr_sim *sim = open_sim(model, "end");
    // 0.4 g, between both coefficients; a little higher, as it falls by h^2 g in the step
    double h = 0.002, f = 0.4 * 9.81, unit = h * 9.81;
    // forces of the slides and the torque of the hinge
    double pull[3] = {f, 0.0, 0.0}, none[3] = {0.0, 0.0, 0.0};
    CHECK_INT(cr_model_sizes(model).n_u, 3);
    double still[6] = {0, 0.05 + 0.99 * h * unit, 0, 0, 0, 0};
    double moving[6] = {0, 0.05 + 0.99 * h * unit, 0, h * f, 0, 0};
    CHECK_INT(cr_sim_step(sim, h, still, pull, still, &err), CR_OK);
    CHECK_INT(cr_sim_step(sim, h, moving, none, moving, &err), CR_OK);
    CHECK_CLOSE(still[3], 0.0, 1e-9, 0.0);
    CHECK_CLOSE(moving[3], 0.1 * unit, 0.01 * unit, 0.0);
    // there is no derivative for what forces made: refused where friction hangs on it, not guessed
    double adj[6] = {0, 0, 0, 1, 0, 0}, x_adj[6] = {0};
    CHECK(cr_sim_step_vjp(sim, adj, x_adj, NULL, NULL, &err) != CR_OK);
    cr_sim_destroy(sim);

    // in one piece forces are there at the end of a step alone
    cr_sim_options options = cr_sim_options_default(model);
    options.law = "augmented";
    options.stepper = "located";
    CHECK_INT(cr_sim_create(model, &options, &sim, &err), CR_ERR_UNSUPPORTED);
    CHECK(strstr(err.text, "stepper end") != NULL);
    cr_model_destroy(model);
    cri_arena_destroy(arena);
}

// ---- places ------------------------------------------------------------------------------------

// a point rebounds by 0.3 + 0.2 tanh(place), and slides with a friction of 0.1 tanh(place)
static void write_places(cri_ground_nets *nets, double *w) {
    const cri_mlp *class = &nets->net[0], *friction = &nets->net[1];
    double *said = w + nets->first[0], *slide = w + nets->first[1];
    CHECK_INT(class->width[0], cri_ground_inputs(CRI_GROUND_POINT) + 1);
    said[cri_mlp_place(class, 2, true) + CRI_GROUND_DYNAMIC] = 5.0;
    slide[cri_mlp_place(friction, 1, false) + class->width[0] - 1] = 1.0;
    slide[cri_mlp_place(friction, 2, false)] = -0.1;
    slide[cri_mlp_place(friction, 2, false) + 2] = 0.2;
    slide[cri_mlp_place(friction, 2, true) + 2] = 0.3;
}

static cr_status parse_placed(const char *text, cri_ground_nets *nets, cr_model **model,
                              cr_error *err) {
    return cri_model_parse_with(text, strlen(text), "p.xml", nets, model, err);
}

TEST(a_surface_may_differ_from_place_to_place) {
    static double w[2000];
    cri_ground_nets nets = {.has_place = true,
                            .has_restitution = true,
                            .law = "recorded",
                            .body = "box",
                            .surface = "ground",
                            .mass = 1.0,
                            .inertia = {0.0125 / 3.0},
                            .shape = "box 0.1 0.05 0.05",
                            .weights = w};
    cri_ground_nets_shape(1, &(int){1}, &nets);
    assert_true(nets.n_weight <= 2000);
    write_places(&nets, w);
    cr_error err = {0};
    cr_model *model = NULL;
    CHECK_INT(parse_placed(pulled, &nets, &model, &err), CR_OK);
    cr_sim *sim = open_sim(model, "located");
    double up[3], x_adj[6] = {0}, far = 1e-6;
    // on a corner, at 0.4 and beside it: the rebound and its derivative for the place
    for (int k = 0; k < 3; k++) {
        double x[6] = {0.4 + (k - 1) * far, 0.12, 0.7, 0.5, -1.0, 0.0};
        CHECK_INT(cr_sim_step(sim, 0.03, x, NULL, x, &err), CR_OK);
        CHECK(cr_sim_report(sim)->n_event > 0);
        up[k] = x[4];
        if (k == 1) {
            CHECK_INT(cr_sim_step_vjp(sim, (double[6]){0, 0, 0, 0, 1, 0}, x_adj, NULL, NULL, &err),
                      CR_OK);
        }
    }
    CHECK(fabs(x_adj[0]) > 1e-2);
    CHECK_CLOSE(x_adj[0], (up[2] - up[0]) / (2.0 * far), 1e-6, 1e-5);
    cr_sim_destroy(sim);
    cr_model_destroy(model);

    // written and read again; two bodies have no place
    cri_ground_nets again;
    cr_arena *own = cri_arena_create(1 << 16);
    CHECK_INT(cri_ground_file_write("places.json", &nets, &err), CR_OK);
    CHECK_INT(cri_ground_file_read("places.json", &again, own, &err), CR_OK);
    CHECK(again.has_place && again.net[0].width[0] == nets.net[0].width[0]);
    (void)remove("places.json");
    (void)snprintf(again.body, sizeof again.body, "hammer");
    again.has_other = true;
    CHECK_INT(parse_placed(pair, &again, &model, &err), CR_ERR_UNSUPPORTED);
    CHECK(strstr(err.text, "its place") != NULL);
    cri_arena_destroy(own);
}

CR_TEST_MAIN(two_bodies_keep_their_momentum_and_have_gradients, two_bodies_that_turn_as_one_stick,
             labels_know_two_coefficients, a_pull_at_rest_is_not_a_velocity,
             a_surface_may_differ_from_place_to_place)
