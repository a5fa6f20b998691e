// SPDX-License-Identifier: MIT
//
// The law soft by itself: what the step says of it, its impedance, rest at the depth that its
// spring asks for, and gradients by differences of each step against those of the whole run. Its
// motion is compared with MuJoCo's in test/oracle/mujoco_soft_test.c.

#include <math.h>
#include <string.h>

#include "energy/soft.h"
#include "support/cr_run.h"
#include "support/cr_test.h"

static const char ball[] =
    "<mujoco><option timestep='.002'/><worldbody><geom name='floor' type='plane' size='9 9 1'/>"
    "<body name='ball' pos='0 0 .1'><freejoint/><geom name='ball' size='.1' mass='2'/></body>"
    "<body name='far' pos='3 0 .5'><freejoint/><geom name='far' size='.1' mass='1'/></body>"
    "</worldbody></mujoco>";

typedef struct stage {
    cr_model *model;
    cr_sim *sim;
    cr_sizes z;
    double p[64], x[64];
} stage;

static stage open_stage(const char *text) {
    stage s = {0};
    cr_error err = {0};
    if (cr_model_parse(text, strlen(text), "scene", &s.model, &err) != CR_OK) {
        fail_msg("%s", err.text);
    }
    cr_sim_options options = cr_sim_options_default(s.model);
    options.law = "soft";
    if (cr_sim_create(s.model, &options, &s.sim, &err) != CR_OK) {
        fail_msg("%s", err.text);
    }
    s.z = cr_model_sizes(s.model);
    assert_true(s.z.n_p <= 64 && s.z.n_x <= 64);
    cr_model_defaults(s.model, -1, s.p, s.x, NULL);
    return s;
}

static void close_stage(stage *s) {
    cr_sim_destroy(s->sim);
    cr_model_destroy(s->model);
}

TEST(impedance_rises_from_one_end_to_the_other) {
    static const double ref[2] = {0.02, 1.0}, direct[2] = {-300.0, -20.0};
    static const double imp[5] = {0.9, 0.95, 0.001, 0.5, 2.0}, line[5] = {0.2, 0.6, 0.1, 0.5, 1.0};
    static const double flat[5] = {0.7, 0.7, 0.1, 0.5, 2.0};
    CHECK_CLOSE(cri_soft_terms_of(ref, imp, 0.0, 0.002).d, 0.9, 1e-15, 0.0);
    CHECK_CLOSE(cri_soft_terms_of(ref, imp, -0.0005, 0.002).d, 0.925, 1e-15, 0.0);
    CHECK_CLOSE(cri_soft_terms_of(ref, imp, -1.0, 0.002).d, 0.95, 1e-15, 0.0);
    // below the midpoint 2 x^2, above 1 - 2 (1 - x)^2
    CHECK_CLOSE(cri_soft_terms_of(ref, imp, -0.00025, 0.002).d, 0.9 + 0.05 * 0.125, 1e-15, 0.0);
    CHECK_CLOSE(cri_soft_terms_of(ref, imp, -0.00075, 0.002).d, 0.9 + 0.05 * 0.875, 1e-15, 0.0);
    CHECK_CLOSE(cri_soft_terms_of(ref, line, -0.025, 0.002).d, 0.3, 1e-15, 0.0);
    CHECK_CLOSE(cri_soft_terms_of(ref, flat, -0.02, 0.002).d, 0.7, 1e-15, 0.0);
    // K = 1/(d1 t z)^2, B = 2/(d1 t), and t is at least 2 h
    cri_soft_terms t = cri_soft_terms_of(ref, imp, 0.0, 0.002);
    CHECK_CLOSE(t.K, 1.0 / (0.019 * 0.019), 0.0, 1e-14);
    CHECK_CLOSE(t.B, 2.0 / 0.019, 0.0, 1e-14);
    CHECK_CLOSE(cri_soft_terms_of(ref, imp, 0.0, 0.02).B, 2.0 / (0.95 * 0.04), 0.0, 1e-14);
    t = cri_soft_terms_of(direct, flat, 0.0, 0.002);
    CHECK_CLOSE(t.K, 300.0 / 0.49, 0.0, 1e-14);
    CHECK_CLOSE(t.B, 20.0 / 0.7, 0.0, 1e-14);
}

TEST(a_ball_rests_where_its_spring_carries_it) {
    stage s = open_stage(ball);
    cr_error err = {0};
    for (int k = 0; k < 2000; k++) {
        assert_int_equal(cr_sim_step(s.sim, 0.002, s.x, NULL, s.x, &err), CR_OK);
    }
    double depth = 0.1 - s.x[2], weight = 0.0;
    cri_soft_terms t = cri_soft_terms_of((double[]){0.02, 1.0},
                                         (double[]){0.9, 0.95, 0.001, 0.5, 2.0}, -depth, 0.002);
    // at rest A f/h = g, and (A + R) f/h = g + K d depth with A + R = A/d, since w = A = 1/m
    CHECK_CLOSE(9.81 / t.d, 9.81 + t.K * t.d * depth, 0.0, 1e-9);
    int n = 0;
    const cr_contact *contact = cr_sim_contacts(s.sim, &n);
    for (int k = 0; k < n; k++) {
        weight += contact[k].geom[1] == 1 ? contact[k].impulse[2] / 0.002 : 0.0;
    }
    CHECK_CLOSE(weight, 2.0 * 9.81, 0.0, 1e-9);
    const cr_step_report *report = cr_sim_report(s.sim);
    CHECK_INT(report->grad, CR_GRAD_DISCRETE | CR_GRAD_DIFFERENCES);
    CHECK(report->penetration > 0.0 && report->penetration < 1e-3);
    close_stage(&s);
}

typedef struct loss_of {
    stage *s;
    cr_rollout rollout;
    int n_p; // the first entries of z are parameters, the others the state
} loss_of;

// height and side of the first ball, and where the second has rolled to
static const double weights[] = {1.0, -0.5, 2.0, 0.3, 0.1};

static double loss(const double *x) {
    return weights[0] * x[0] + weights[1] * x[1] + weights[2] * x[2] + weights[3] * x[7] +
           weights[4] * x[9];
}

static bool run_loss(void *context, const double *z, double *value) {
    const loss_of *l = context;
    double end[64];
    bool is_good = cr_sim_set_params(l->s->sim, z, NULL) == CR_OK &&
                   cr_sim_rollout(l->s->sim, &l->rollout, z + l->n_p, NULL, end, NULL) == CR_OK;
    *value = is_good ? loss(end) : 0.0;
    return is_good;
}

TEST(differences_of_steps_chain_to_those_of_a_run) {
    stage s = open_stage(ball);
    cr_error err = {0};
    double dt = 0.002, z[128], end_adj[64] = {0}, x_adj[64] = {0}, p_adj[64] = {0}, end[64];
    loss_of l = {&s, {.n_step = 40, .dt = &dt, .n_dt = 1}, s.z.n_p};
    // the first slips and spins, the second lands within the run
    s.x[2] = 0.0993;
    s.x[9] = 0.12;
    int v = s.z.n_q;
    s.x[v] = 1.0, s.x[v + 1] = 0.3, s.x[v + 4] = 5.0, s.x[v + 8] = -0.7, s.x[v + 6] = 0.4;
    memcpy(z, s.p, sizeof(double) * (size_t)s.z.n_p);
    memcpy(z + s.z.n_p, s.x, sizeof(double) * (size_t)s.z.n_x);
    assert_int_equal(cr_sim_rollout(s.sim, &l.rollout, s.x, NULL, end, &err), CR_OK);
    end_adj[0] = weights[0], end_adj[1] = weights[1], end_adj[2] = weights[2];
    end_adj[7] = weights[3], end_adj[9] = weights[4];
    cr_seed seed = {40, end_adj};
    assert_int_equal(cr_sim_rollout_vjp(s.sim, 1, &seed, x_adj, NULL, p_adj, &err), CR_OK);
    for (int i = 0; i < s.z.n_p + s.z.n_x; i++) {
        double value = i < s.z.n_p ? p_adj[i] : x_adj[i - s.z.n_p], difference, unsure;
        double lower = 0.0, upper = 1.0;
        bool is_open = false;
        if (i < s.z.n_p) {
            cr_model_domain(s.model, i, &lower, &upper, &is_open);
        }
        int side = i < s.z.n_p && z[i] <= lower ? 1 : 0;
        assert_true(cr_gradient_check(run_loss, &l, z, i, 1e-4, side, &difference, &unsure));
        // rounding over the step of the differences, 40 times
        if (!CHECK_CLOSE(value, difference, 1e-7 + unsure, 1e-5)) {
            cr_test_fail("entry %d: %s", i,
                         i < s.z.n_p ? cr_model_name(s.model, CR_VECTOR_P, i) : "x");
        }
    }
    close_stage(&s);
}

TEST(tangents_and_adjoints_agree) {
    stage s = open_stage(ball);
    cr_error err = {0};
    s.x[2] = 0.0993;
    s.x[s.z.n_q] = 1.0;
    double next[64], tan[64], out[64], next_adj[64], x_adj[64] = {0}, left = 0.0, right = 0.0;
    assert_int_equal(cr_sim_step(s.sim, 0.002, s.x, NULL, next, &err), CR_OK);
    for (int i = 0; i < s.z.n_x; i++) {
        next_adj[i] = sin(3.0 * i + 1.0);
    }
    for (int i = 0; i < s.z.n_tangent; i++) {
        tan[i] = cos(2.0 * i);
    }
    // quaternions of both balls are 1 0 0 0 and stay near it: only positions and velocities here
    for (int k = 0; k < 4; k++) {
        next_adj[3 + k] = next_adj[10 + k] = 0.0;
    }
    for (int k = 3; k < 6; k++) {
        tan[k] = tan[6 + k] = 0.0;
    }
    assert_int_equal(cr_sim_step_jac(s.sim, 1, tan, NULL, NULL, out, &err), CR_OK);
    assert_int_equal(cr_sim_step_vjp(s.sim, next_adj, x_adj, NULL, NULL, &err), CR_OK);
    for (int b = 0; b < 2; b++) {
        for (int k = 0; k < 3; k++) {
            left += next_adj[7 * b + k] * out[6 * b + k];
            right += x_adj[7 * b + k] * tan[6 * b + k];
        }
    }
    for (int i = 0; i < s.z.n_v; i++) {
        left += next_adj[s.z.n_q + i] * out[s.z.n_v + i];
        right += x_adj[s.z.n_q + i] * tan[s.z.n_v + i];
    }
    CHECK_CLOSE(left, right, 1e-7, 1e-7);
    close_stage(&s);
}

CR_TEST_MAIN(impedance_rises_from_one_end_to_the_other, a_ball_rests_where_its_spring_carries_it,
             differences_of_steps_chain_to_those_of_a_run, tangents_and_adjoints_agree)
