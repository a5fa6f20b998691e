// SPDX-License-Identifier: MIT
//
// Whole-rollout gradients against differences of the same rollout, every decision taken again:
// {separating, sticking, sliding, impact, resting} x {state, control, mass, inertia, size,
// friction, restitution, gravity}, for both steppers and every law; and tangents against adjoints.
//
// A difference counts where its own uncertainty is small; where it is not (a class changes within
// the sweep) the case is badly chosen, and the test says so.

#include "cr_run.h"
#include "cr_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// A scene in one regime. Scenes are built from parts, see open_regime.
typedef struct regime {
    const char *name;
    const char *geom;     // of the body
    const char *state;    // qpos and qvel of the keyframe
    const char *friction; // of the pair
    const char *restitution;
    double u[6];
    int n_step;
    double dt;
} regime;

static const regime regimes[] = {
    {"ball separating",
     "type='sphere' size='0.1'",
     "qpos='0 0 0.1 0.9 0.1 -0.3 0.2' qvel='1 0.2 0.5 3 -2 1'",
     "0.4",
     "0.6",
     {0.1, -0.2, 0.3, 0.004, -0.002, 0.006},
     6,
     0.01},
    {"ball sticking",
     "type='sphere' size='0.1'",
     "qpos='0 0 0.1 1 0 0 0' qvel='0.3 0.2 0 -2 3 1'",
     "0.9",
     "0.6",
     {0.1, -0.2, 0.3, 0.004, -0.002, 0.006},
     6,
     0.01},
    {"ball sliding",
     "type='sphere' size='0.1'",
     "qpos='0 0 0.1 0.9 0.1 -0.3 0.2' qvel='3 0.2 0 1 3 1'",
     "0.1",
     "0.6",
     {0.1, -0.2, 0.3, 0.004, -0.002, 0.006},
     6,
     0.01},
    {"ball impact, slides",
     "type='sphere' size='0.1'",
     "qpos='0 0 0.15 0.9 0.1 -0.3 0.2' qvel='3 0.2 -2 1 3 1'",
     "0.1",
     "0.6",
     {0.1, -0.2, 0.3, 0.004, -0.002, 0.006},
     6,
     0.01},
    {"ball impact, sticks",
     "type='sphere' size='0.1'",
     "qpos='0 0 0.15 0.9 0.1 -0.3 0.2' qvel='0.3 0.2 -2 1 3 1'",
     "0.8",
     "0.6",
     {0.1, -0.2, 0.3, 0.004, -0.002, 0.006},
     6,
     0.01},
    {"ball resting",
     "type='sphere' size='0.1'",
     "qpos='0 0 0.1 1 0 0 0' qvel='0 0 0 0 0 0'",
     "0.5",
     "0.6",
     {0.1, -0.2, 0.3, 0.004, -0.002, 0.006},
     6,
     0.01},
    {"box impact on a corner",
     "type='box' size='0.1 0.15 0.2'",
     "qpos='0 0 0.3 0.8 0.3 -0.4 0.2' qvel='0.5 0.2 -1 4 -3 6'",
     "0.3",
     "0.5",
     {0.1, -0.2, 0.3, 0.01, -0.02, 0.03},
     6,
     0.02},
    {"box impact on its face",
     "type='box' size='0.15 0.2 0.1'",
     "qpos='0 0 0.15 1 0 0 0' qvel='0.3 0.1 -2 0 0 0'",
     "0.9",
     "0.5",
     {0},
     4,
     0.01},
    {"box sliding on its face",
     "type='box' size='0.15 0.2 0.1'",
     "qpos='0 0 0.1 1 0 0 0' qvel='2 0.5 0 0 0 0'",
     "0.3",
     "0.5",
     {0.3, 0.1, 0, 0, 0, 0},
     4,
     0.02},
    {"box sliding and spinning",
     "type='box' size='0.15 0.2 0.1'",
     "qpos='0 0 0.1 0.98 0 0 0.2' qvel='2 0.5 0 0 0 3'",
     "0.3",
     "0.5",
     {0.3, 0.1, 0, 0, 0, 0.02},
     4,
     0.02},
    {"box sticking on its face",
     "type='box' size='0.15 0.2 0.1'",
     "qpos='0 0 0.1 1 0 0 0' qvel='0 0 0 0 0 0'",
     "0.6",
     "0.5",
     {1.0, 0.5, 0, 0, 0, 0.1},
     4,
     0.02},
};

enum { N_REGIME = sizeof regimes / sizeof regimes[0] };

static const char *const laws[] = {"ncp", "ncp-poisson", "cone", "cone-reg", "lcp"};
enum { N_LAW = sizeof laws / sizeof laws[0] };

static cr_run open_regime(const regime *g, const char *stepper, const char *law) {
    char scene[2048];
    snprintf(scene, sizeof scene,
             "<mujoco><option gravity='0.3 -0.2 -9.81'/><custom>"
             "<numeric name='carom:friction:floor:body' data='%s'/>"
             "<numeric name='carom:restitution:floor:body' data='%s'/></custom><worldbody>"
             "<geom name='floor' type='plane' size='9 9 1'/>"
             "<body name='body'><freejoint/><inertial pos='0 0 0' mass='1.2' diaginertia='0.025 "
             "0.02 0.013'/>"
             "<geom name='body' %s/></body></worldbody><keyframe><key %s/></keyframe></mujoco>",
             g->friction, g->restitution, g->geom, g->state);
    cr_sim_options options = {.stepper = stepper,
                              .law = law,
                              .eps_gap = 1e-9,
                              .eps_speed = 1e-6,
                              .eps_time = 1e-9,
                              .event_cap = 32,
                              .use_gradient = true};
    cr_run r = cr_run_open(scene, &options, g->n_step, g->dt);
    memcpy(r.u, g->u, sizeof g->u);
    return r;
}

static void fill_seed(double *seed, int n) {
    for (int k = 0; k < n; k++) {
        seed[k] = ((7 * k) % 11 - 5) / 10.0;
    }
}

/// Which numbers move without leaving the regime: a body at rest on a plane cannot be pushed into
/// it, and what tilts a face breaks the contact of its four corners at once (four sticking corners
/// of a tilted face cannot bounce with one e: the law's equations then contradict each other).
static bool is_free(const cr_run *r, const regime *g, const char *name) {
    bool is_touching = strstr(g->name, "impact") == NULL;
    bool is_face = strstr(g->name, "face") || strstr(g->name, "sliding and spinning");
    bool is_lift = strcmp(name, "body/qpos[2]") == 0 || strcmp(name, "body/qvel[2]") == 0 ||
                   strcmp(name, "body/size[0]") == 0 || strcmp(name, "floor/offset") == 0 ||
                   strcmp(name, "body/size[2]") == 0;
    bool is_tilt = strncmp(name, "body/qpos", 9) == 0 && name[10] >= '3';
    bool is_tip = strcmp(name, "body/qvel[3]") == 0 || strcmp(name, "body/qvel[4]") == 0;
    is_tip =
        is_tip || ((strcmp(r->options.stepper, "end") == 0 || !is_touching) &&
                   (strcmp(name, "body/torque[0]") == 0 || strcmp(name, "body/torque[1]") == 0));
    if (strstr(g->geom, "box") && is_face && (is_tilt || is_tip)) {
        return false;
    }
    return !(is_touching && is_lift);
}

// one number: adjoint against difference
static void check_number(cr_run *r, const regime *g, const double *seed, const char *name,
                         double *number, double adjoint, double scale) {
    if (!is_free(r, g, name)) {
        return;
    }
    // the pair has coefficients of its own, so those of the geoms do nothing
    if (strstr(name, "/restitution") && !strchr(name, ':')) {
        CHECK(adjoint == 0.0);
        return;
    }
    double uncertainty, step = 1e-2 * fmax(fabs(*number), 0.02);
    double difference = cr_run_difference(r, seed, number, 0, step, &uncertainty);
    // 1e-6 relative, as asked; entries that are small beside the whole gradient have its noise
    double tolerance = 1e-6 * fmax(fabs(difference), 1e-3 * scale) + 4.0 * uncertainty;
    if (!(uncertainty <= 1e-5 * fmax(fabs(difference), 1e-2 * scale))) {
        cr_test_fail("%s, %s, %s: %s: the difference is uncertain: %g +- %g", g->name,
                     r->options.stepper, r->options.law, name, difference, uncertainty);
    }
    if (!(fabs(adjoint - difference) <= tolerance)) {
        cr_test_fail("%s, %s, %s: %s: adjoint %.12g, difference %.12g +- %.1g", g->name,
                     r->options.stepper, r->options.law, name, adjoint, difference, uncertainty);
    }
}

static double largest_of(const cr_run *r) {
    double m = 0.0;
    for (int i = 0; i < r->n.n_x; i++) {
        m = fmax(m, fabs(r->x_adj[i]));
    }
    return m;
}

static void check_regime(const regime *g, const char *stepper, const char *law) {
    cr_run r = open_regime(g, stepper, law);
    double seed[13];
    fill_seed(seed, r.n.n_x);
    cr_run_gradient(&r, seed);
    double scale = largest_of(&r);
    for (int i = 0; i < r.n.n_x; i++) {
        check_number(&r, g, seed, cr_model_name(r.model, CR_VECTOR_X, i), &r.x[i], r.x_adj[i],
                     scale);
    }
    for (int i = 0; i < r.n.n_u; i++) {
        check_number(&r, g, seed, cr_model_name(r.model, CR_VECTOR_U, i), &r.u[i], r.u_adj[i],
                     scale);
    }
    for (int i = 0; i < r.n.n_p; i++) {
        check_number(&r, g, seed, cr_model_name(r.model, CR_VECTOR_P, i), &r.p[i], r.p_adj[i],
                     scale);
    }
    cr_run_close(&r);
}

// tangents along random directions of x, u and p at once, against the adjoint
static void check_tangent(const regime *g, const char *stepper, const char *law) {
    cr_run r = open_regime(g, stepper, law);
    cr_test_rng rng = cr_test_rng_of(7);
    double seed[13], *x = calloc((size_t)r.n.n_x, sizeof *x),
                     *u = calloc((size_t)r.n.n_u, sizeof *u);
    double *p = calloc((size_t)r.n.n_p, sizeof *p), size = 0.0, adjoint = 0.0;
    fill_seed(seed, r.n.n_x);
    cr_run_gradient(&r, seed);
    for (int i = 0; i < r.n.n_x; i++) {
        x[i] = cr_test_uniform(&rng, -1.0, 1.0);
        adjoint += x[i] * r.x_adj[i];
        size += fabs(x[i] * r.x_adj[i]);
    }
    for (int i = 0; i < r.n.n_u; i++) {
        u[i] = cr_test_uniform(&rng, -1.0, 1.0);
        adjoint += u[i] * r.u_adj[i];
        size += fabs(u[i] * r.u_adj[i]);
    }
    for (int i = 0; i < r.n.n_p; i++) {
        p[i] = cr_test_uniform(&rng, -1.0, 1.0);
        adjoint += p[i] * r.p_adj[i];
        size += fabs(p[i] * r.p_adj[i]);
    }
    double tangent = cr_run_tangent(&r, seed, x, u, p);
    if (!(fabs(tangent - adjoint) <= 1e-12 * size)) {
        cr_test_fail("%s, %s, %s: tangent %.15g, adjoint %.15g", g->name, stepper, law, tangent,
                     adjoint);
    }
    free(x);
    free(u);
    free(p);
    cr_run_close(&r);
}

TEST(located_gradients_match_differences) {
    for (int i = 0; i < N_REGIME; i++) {
        for (int law = 0; law < N_LAW; law++) {
            check_regime(&regimes[i], "located", laws[law]);
        }
    }
}

TEST(end_of_step_gradients_match_differences_of_the_discrete_map) {
    for (int i = 0; i < N_REGIME; i++) {
        for (int law = 0; law < N_LAW; law++) {
            check_regime(&regimes[i], "end", laws[law]);
        }
    }
}

TEST(tangents_agree_with_adjoints) {
    for (int i = 0; i < N_REGIME; i++) {
        for (int law = 0; law < N_LAW; law++) {
            check_tangent(&regimes[i], "located", laws[law]);
            check_tangent(&regimes[i], "end", laws[law]);
        }
    }
}

// contacts that slide in some step
static int count_sliding(cr_run *r) {
    cr_error err = {0};
    double x[13];
    int n_sliding = 0;
    memcpy(x, r->x, sizeof x);
    for (int k = 0; k < r->n_step; k++) {
        int n;
        assert_int_equal(cr_sim_step(r->sim, r->dt, x, r->u, x, &err), CR_OK);
        const cr_contact *contact = cr_sim_contacts(r->sim, &n);
        for (int i = 0; i < n; i++) {
            n_sliding += contact[i].is_sliding;
        }
    }
    return n_sliding;
}

static void check_sticking(const regime *g, const char *stepper, const char *law) {
    cr_run r = open_regime(g, stepper, law);
    double seed[13];
    fill_seed(seed, r.n.n_x);
    cr_run_gradient(&r, seed);
    // the end of the step bounces: with Poisson's restitution corners of a face slide on their way
    // up
    bool is_sliding = strcmp(stepper, "end") == 0 && strstr(g->geom, "box") && count_sliding(&r);
    if (!is_sliding && r.p_adj[cr_run_p(&r, "floor:body/friction")] != 0.0) {
        cr_test_fail("%s, %s, %s: friction has an adjoint", g->name, stepper, law);
    }
    for (int i = 0; i < r.n.n_p; i++) {
        CHECK(isfinite(r.p_adj[i]));
    }
    cr_run_close(&r);
}

TEST(friction_has_exactly_no_influence_while_sticking) {
    for (int i = 0; i < N_REGIME; i++) {
        for (int law = 0; law < N_LAW; law++) {
            if (strstr(regimes[i].name, "stick") || strstr(regimes[i].name, "resting")) {
                check_sticking(&regimes[i], "located", laws[law]);
                check_sticking(&regimes[i], "end", laws[law]);
            }
        }
    }
}

CR_TEST_MAIN(located_gradients_match_differences,
             end_of_step_gradients_match_differences_of_the_discrete_map,
             tangents_agree_with_adjoints, friction_has_exactly_no_influence_while_sticking)
