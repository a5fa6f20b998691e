// SPDX-License-Identifier: MIT
//
// The adjoint of 20 steps of the law longrange in which bodies slide, hit and rest, against
// differences of the whole rollout: to 1e-6 of the derivative. One step of each kind of scene:
// test/gradient_table_implicit.c.

#include "cr_test.h"

#include "carom/carom.h"

#include <math.h>
#include <string.h>

// a box is shoved over a floor into another one, and an arm with a motor comes down on the second
static const char *const scene =
    "<mujoco><option timestep='.02'/><custom><numeric name='carom:potential:mu' data='1e-5'/>"
    "<numeric name='carom:potential:slip' data='.05'/>"
    "<text name='carom:vertices:b' data='parameters'/></custom><asset><mesh name='b' vertex='"
    "-.1 -.13 -.1 .11 -.13 -.101 -.1 .12 -.1 .1 .13 -.103 -.1 -.13 .1 .1 -.12 .11 -.11 .13 .1 "
    ".1 .13 .1'/></asset><worldbody>"
    "<geom name='floor' type='plane' size='9 9 1' friction='.4'/>"
    "<body name='a' pos='0 0 .12'><freejoint/><geom name='a' type='box' size='.12 .1 .1' "
    "mass='1.2' friction='.3'/></body>"
    "<body name='b' pos='.29 .02 .12' euler='0 0 8'><freejoint/><geom name='b' type='mesh' "
    "mesh='b' mass='.8' friction='.3'/></body>"
    "<body name='arm' pos='.75 .03 .3'><joint name='arm' axis='0 1 0' damping='.1'/><geom "
    "name='arm' type='box' pos='-.2 0 0' size='.2 .04 .03' mass='.5' friction='.3'/></body>"
    "</worldbody><actuator><motor name='motor' joint='arm'/></actuator></mujoco>";

enum { N_STEP = 20, MOST = 96 };

/// What is asked for: an entry of the state, the control or the parameters.
typedef struct wanted {
    cr_vector vector;
    const char *name;
    double step;
} wanted;

static const wanted entries[] = {
    {CR_VECTOR_X, "a/qvel[0]", 1e-4},    {CR_VECTOR_X, "b/qpos[1]", 2e-5},
    {CR_VECTOR_X, "arm/qpos[0]", 2e-5},  {CR_VECTOR_U, "motor", 2e-4},
    {CR_VECTOR_P, "b/mass", 1e-4},       {CR_VECTOR_P, "a/size[0]", 1e-5},
    {CR_VECTOR_P, "potential/mu", 5e-9}, {CR_VECTOR_P, "floor/friction", 1e-4},
    {CR_VECTOR_P, "b/vertex[4]", 1e-5},
};

enum { N_ENTRY = sizeof entries / sizeof *entries };

typedef struct run {
    cr_model *model;
    cr_sim *sim;
    cr_sizes n;
    double x[MOST], u[MOST], p[MOST], weight[MOST];
    int index[N_ENTRY];
} run;

static double *place_of(run *r, int k) {
    double *const base[] = {[CR_VECTOR_X] = r->x, [CR_VECTOR_U] = r->u, [CR_VECTOR_P] = r->p};
    return base[entries[k].vector] + r->index[k];
}

static void loss_of(run *r, const double *z, double *value) {
    cr_error err = {0};
    static const double dt = 0.02; // borrowed until the adjoint is done
    double end[MOST];
    for (int k = 0; k < N_ENTRY; k++) {
        *place_of(r, k) = z[k];
    }
    cr_rollout rollout = {.n_step = N_STEP, .dt = &dt, .n_dt = 1, .u = r->u, .n_u_row = 1};
    if (cr_sim_set_params(r->sim, r->p, &err) != CR_OK ||
        cr_sim_rollout(r->sim, &rollout, r->x, NULL, end, &err) != CR_OK) {
        fail_msg("%s", err.text);
    }
    *value = 0.0;
    for (int i = 0; i < r->n.n_x; i++) {
        *value += r->weight[i] * end[i];
    }
}

static void open_run(run *r, int every) {
    cr_error err = {0};
    memset(r, 0, sizeof *r);
    if (cr_model_parse(scene, strlen(scene), "scene", &r->model, &err) != CR_OK) {
        fail_msg("%s", err.text);
    }
    cr_sim_options options = cr_sim_options_default(r->model);
    options.law = "longrange";
    options.checkpoint_every = every;
    if (cr_sim_create(r->model, &options, &r->sim, &err) != CR_OK) {
        fail_msg("%s", err.text);
    }
    r->n = cr_model_sizes(r->model);
    assert_true(r->n.n_x <= MOST && r->n.n_u <= MOST && r->n.n_p <= MOST);
    cr_model_defaults(r->model, -1, r->p, r->x, r->u);
    for (int k = 0; k < N_ENTRY; k++) {
        r->index[k] = cr_model_find(r->model, entries[k].vector, entries[k].name, &err);
        if (r->index[k] < 0) {
            fail_msg("%s", err.text);
        }
    }
    for (int i = 0; i < r->n.n_x; i++) {
        r->weight[i] = 0.3 + 0.1 * (i % 7);
    }
    r->x[r->index[0]] = 1.5;
    r->u[r->index[3]] = 0.2;
}

// central differences at two steps, extrapolated
static double difference(run *r, double *z, int k) {
    double slope[2], at = z[k];
    for (int i = 0; i < 2; i++) {
        double step = entries[k].step / (1 + i), up, down;
        z[k] = at + step;
        loss_of(r, z, &up);
        z[k] = at - step;
        loss_of(r, z, &down);
        slope[i] = (up - down) / (2.0 * step);
    }
    z[k] = at;
    return (4.0 * slope[1] - slope[0]) / 3.0;
}

TEST(twenty_steps_of_contact_have_their_derivatives) {
    run r;
    cr_error err = {0};
    double z[N_ENTRY], value, adj[3][MOST] = {{0}};
    open_run(&r, 0);
    for (int k = 0; k < N_ENTRY; k++) {
        z[k] = *place_of(&r, k);
    }
    loss_of(&r, z, &value);
    const cr_seed seed = {N_STEP, r.weight};
    if (cr_sim_rollout_vjp(r.sim, 1, &seed, adj[0], adj[1], adj[2], &err) != CR_OK) {
        fail_msg("%s", err.text);
    }
    double *const base[] = {[CR_VECTOR_X] = adj[0], [CR_VECTOR_U] = adj[1], [CR_VECTOR_P] = adj[2]};
    for (int k = 0; k < N_ENTRY; k++) {
        double ours = base[entries[k].vector][r.index[k]], theirs = difference(&r, z, k);
        if (!CHECK(fabs(theirs) > 0.0 && fabs(ours - theirs) <= 1e-6 * fabs(theirs))) {
            print_message("%s: %.12g, differences %.12g\n", entries[k].name, ours, theirs);
        }
    }
    cr_sim_destroy(r.sim);
    cr_model_destroy(r.model);
}

// adjoints of the scene's own start, two in a row
static void pull_twice(int every, double adj[2][3][MOST]) {
    run r;
    cr_error err = {0};
    double z[N_ENTRY], value;
    open_run(&r, every);
    for (int k = 0; k < N_ENTRY; k++) {
        z[k] = *place_of(&r, k);
    }
    loss_of(&r, z, &value);
    for (int i = 0; i < 2; i++) {
        const cr_seed seed = {N_STEP - 7 * i, r.weight};
        if (cr_sim_rollout_vjp(r.sim, 1, &seed, adj[i][0], adj[i][1], adj[i][2], &err) != CR_OK) {
            fail_msg("%s", err.text);
        }
    }
    cr_sim_destroy(r.sim);
    cr_model_destroy(r.model);
}

TEST(kept_records_give_the_bits_of_a_replay) {
    static double kept[2][3][MOST], replayed[2][3][MOST];
    pull_twice(0, kept);
    pull_twice(3, replayed);
    CHECK(kept[0][0][0] != 0.0 && kept[0][0][0] != kept[1][0][0]);
    for (int i = 0; i < 2; i++) {
        CHECK(memcmp(kept[i], replayed[i], 2 * sizeof kept[i][0]) == 0);
        // separating planes for sizes are found anew, from where the last step left them
        for (int k = 0; k < MOST; k++) {
            CHECK_CLOSE(kept[i][2][k], replayed[i][2][k], 1e-15, 1e-11);
        }
    }
}

CR_TEST_MAIN(twenty_steps_of_contact_have_their_derivatives, kept_records_give_the_bits_of_a_replay)
