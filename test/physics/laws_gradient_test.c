// SPDX-License-Identifier: MIT
//
// Whole-rollout gradients of every law in both modes, where single bodies (regimes_test.c) don't
// reach: several impacts in one step, a stack of ten boxes, a robot with a loop, edges of the
// coefficients; and the labels of gradients that are not those of the motion.
//
// Differences run the same rollout again, every decision taken again. Numbers are moved so that the
// order of events and the contact set stay.

#include "contact/law.h"
#include "cr_run.h"
#include "cr_test.h"
#include "sim/sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const laws[] = {"ncp", "ncp-poisson", "cone", "cone-reg", "lcp"};
static const char *const steppers[] = {"located", "end"};
enum { N_LAW = sizeof laws / sizeof laws[0] };

static cr_sim_options options_of(const char *stepper, const char *law) {
    return (cr_sim_options){.stepper = stepper,
                            .law = law,
                            .eps_gap = 1e-9,
                            .eps_speed = 1e-6,
                            .eps_time = 1e-9,
                            .event_cap = 64,
                            .use_gradient = true};
}

/// A number that moves, and to which side (0: both).
typedef struct moved {
    const char *name;
    int side;
} moved;

/// A scene, its rollout and what moves.
typedef struct course {
    const char *name, *scene;
    int n_step;
    double dt;
    const moved *moved;
    int n_event;      // at least, over all steps
    double eps_speed; // 0: that of options_of
} course;

static double *number_of(cr_run *r, const char *name, double *adjoint) {
    bool is_state = strstr(name, "/qpos") || strstr(name, "/qvel");
    if (is_state) {
        int i = cr_run_x(r, name);
        *adjoint = r->x_adj[i];
        return &r->x[i];
    }
    if (strstr(name, "/force")) {
        int i = cr_run_u(r, name);
        *adjoint = r->u_adj[i];
        return &r->u[i];
    }
    int i = cr_run_p(r, name);
    *adjoint = r->p_adj[i];
    return &r->p[i];
}

static double *seed_of(const cr_run *r) {
    double *seed = calloc((size_t)r->n.n_x, sizeof *seed);
    assert_non_null(seed);
    for (int k = 0; k < r->n.n_x; k++) {
        seed[k] = ((7 * k) % 11 - 5) / 10.0;
    }
    return seed;
}

// adjoints against differences, to 1e-6 of the largest
static void check_course(const course *c, const char *stepper, const char *law) {
    cr_sim_options options = options_of(stepper, law);
    options.eps_speed = c->eps_speed > 0.0 ? c->eps_speed : options.eps_speed;
    cr_run r = cr_run_open(c->scene, &options, c->n_step, c->dt);
    double *seed = seed_of(&r), scale = 0.0, adjoint;
    cr_run_gradient(&r, seed);
    CHECK(cr_sim_report(r.sim)->n_event >= c->n_event);
    for (const moved *m = c->moved; m->name; m++) {
        number_of(&r, m->name, &adjoint);
        scale = fmax(scale, fabs(adjoint));
    }
    CHECK(scale > 1e-3);
    for (const moved *m = c->moved; m->name; m++) {
        double *number = number_of(&r, m->name, &adjoint), uncertainty;
        double step = 1e-3 * fmax(fabs(*number), m->side == 0 ? 0.05 : 2.0);
        double difference = cr_run_difference(&r, seed, number, m->side, step, &uncertainty);
        double tolerance = 1e-6 * fmax(fabs(difference), 1e-2 * scale) + 4.0 * uncertainty;
        if (!(uncertainty <= 1e-5 * fmax(fabs(difference), 1e-1 * scale))) {
            cr_test_fail("%s, %s, %s: %s: the difference is uncertain: %g +- %g", c->name, stepper,
                         law, m->name, difference, uncertainty);
        }
        if (!(fabs(adjoint - difference) <= tolerance)) {
            cr_test_fail("%s, %s, %s: %s: adjoint %.12g, difference %.12g +- %.1g", c->name,
                         stepper, law, m->name, adjoint, difference, uncertainty);
        }
    }
    free(seed);
    cr_run_close(&r);
}

static void check_both(const course *c) {
    for (int law = 0; law < N_LAW; law++) {
        check_course(c, "located", laws[law]);
        check_course(c, "end", laws[law]);
    }
}

// ---- several impacts in one step ---------------------------------------------------------------

// two balls fall, one after the other, hit the floor, and then each other
static const char juggle[] =
    "<mujoco><option gravity='0.3 -0.2 -9.81'/><custom>"
    "<numeric name='carom:friction:floor:one' data='0.3'/>"
    "<numeric name='carom:restitution:floor:one' data='0.8'/>"
    "<numeric name='carom:friction:floor:two' data='0.2'/>"
    "<numeric name='carom:restitution:floor:two' data='0.7'/>"
    "<numeric name='carom:friction:one:two' data='0.1'/>"
    "<numeric name='carom:restitution:one:two' data='0.6'/></custom><worldbody>"
    "<geom name='floor' type='plane' size='9 9 1'/>"
    "<body name='one'><freejoint/><inertial pos='0 0 0' mass='1.2' diaginertia='0.006 0.005 "
    "0.004'/>"
    "<geom name='one' size='0.1'/></body>"
    "<body name='two'><freejoint/><inertial pos='0 0 0' mass='0.7' diaginertia='0.003 0.002 "
    "0.004'/>"
    "<geom name='two' size='0.12'/></body></worldbody>"
    "<keyframe><key qpos='0 0 0.15 1 0 0 0 0.05 0.03 0.5 1 0 0 0'"
    " qvel='0.6 0.2 -2 1 3 1 -0.3 0.1 -4 2 -1 1'/></keyframe></mujoco>";

static const moved juggled[] = {{"one/mass", 0},
                                {"two/mass", 0},
                                {"one/size[0]", 0},
                                {"two/size[0]", 0},
                                {"one/inertia[1]", 0},
                                {"floor:one/friction", 0},
                                {"one:two/friction", 0},
                                {"floor:one/restitution", 0},
                                {"one:two/restitution", 0},
                                {"gravity[2]", 0},
                                {"one/qpos[2]", 0},
                                {"two/qpos[0]", 0},
                                {"two/qvel[2]", 0},
                                {NULL, 0}};

TEST(several_impacts_in_one_step_have_their_gradient) {
    const course once = {"juggle", juggle, 1, 0.12, juggled, 3, 0.0};
    const course often = {"juggle", juggle, 12, 0.01, juggled, 3, 0.0};
    for (int law = 0; law < N_LAW; law++) {
        cr_sim_options options = options_of("located", laws[law]);
        cr_run r = cr_run_open(juggle, &options, 1, 0.12);
        cr_run_value(&r, NULL);
        CHECK(cr_sim_report(r.sim)->n_event >= 3);
        CHECK_INT(cr_sim_report(r.sim)->grad, CR_GRAD_EXACT);
        cr_run_close(&r);
        check_course(&once, "located", laws[law]);
    }
    check_both(&often);
}

// ---- a stack of ten boxes ----------------------------------------------------------------------

enum { N_BOX = 10 };

// at rest on each other, the last one slides; friction falls with height. Overlaps keep contacts at
// the end of the step.
static const char *stack_scene(double overlap) {
    static char scene[8000];
    int n = snprintf(scene, sizeof scene, "<mujoco><option gravity='0 0 -9.81'/><custom>");
    for (int i = 0; i < N_BOX; i++) {
        char below[8] = "floor";
        if (i > 0) {
            snprintf(below, sizeof below, "b%d", i - 1);
        }
        n +=
            snprintf(scene + n, sizeof scene - (size_t)n,
                     "<numeric name='carom:friction:%s:b%d' data='%g'/>", below, i, 0.8 - 0.05 * i);
    }
    n += snprintf(scene + n, sizeof scene - (size_t)n,
                  "</custom><worldbody><geom name='floor' type='plane' size='9 9 1'/>");
    for (int i = 0; i < N_BOX; i++) {
        // each smaller than the one below
        n += snprintf(scene + n, sizeof scene - (size_t)n,
                      "<body name='b%d' pos='0 0 %g'><freejoint/><inertial pos='0 0 0' mass='%g'"
                      " diaginertia='0.03 0.03 0.05'/><geom name='b%d' type='box'"
                      " size='%g %g 0.05'/></body>",
                      i, 0.05 + 0.1 * i - overlap * (i + 1), 1.5 - 0.1 * i, i, 0.4 - 0.02 * i,
                      0.38 - 0.02 * i);
    }
    n += snprintf(scene + n, sizeof scene - (size_t)n, "</worldbody><keyframe><key qvel='");
    for (int i = 0; i < 6 * N_BOX; i++) {
        double v = i == 6 * N_BOX - 6 ? 0.8 : i == 6 * N_BOX - 5 ? 0.3 : 0.0;
        n += snprintf(scene + n, sizeof scene - (size_t)n, "%g ", v);
    }
    snprintf(scene + n, sizeof scene - (size_t)n, "'/></keyframe></mujoco>");
    return scene;
}

TEST(a_stack_of_ten_boxes_has_its_gradient) {
    static const moved stacked[] = {
        {"b3/mass", 0}, {"b8:b9/friction", 0}, {"b9/qvel[0]", 0}, {NULL, 0}};
    for (int k = 0; k < 2 * N_LAW; k++) {
        const char *law = laws[k / 2], *stepper = steppers[k % 2];
        const course c = {"stack", stack_scene(k % 2 == 0 ? 0.0 : 1e-4), 2, 0.01, stacked, 0, 0.0};
        cr_sim_options options = options_of(stepper, law);
        cr_run r = cr_run_open(c.scene, &options, c.n_step, c.dt);
        double *seed = seed_of(&r);
        cr_run_gradient(&r, seed);
        // what sticks knows nothing of its friction
        CHECK(r.p_adj[cr_run_p(&r, "b2:b3/friction")] == 0.0);
        free(seed);
        cr_run_close(&r);
        check_course(&c, stepper, law);
    }
}

// ---- a robot with a loop -----------------------------------------------------------------------

// a four-bar linkage on a rail: two legs whose shins are connected, with balls for feet
static const char linkage[] =
    "<mujoco><option gravity='0.3 0 -9.81'/><custom>"
    "<numeric name='carom:friction:floor:foot' data='0.4'/>"
    "<numeric name='carom:restitution:floor:foot' data='0.5'/></custom><worldbody>"
    "<geom name='floor' type='plane' size='9 9 1'/>"
    "<body name='hip' pos='0 0 0.9'><joint name='x' type='slide' axis='1 0 0'/>"
    "<joint name='z' type='slide' axis='0 0 1'/>"
    "<inertial pos='0 0 0' mass='1.5' diaginertia='0.02 0.03 0.02'/>"
    "<body name='a'><joint name='a' axis='0 1 0' damping='0.05'/>"
    "<inertial pos='0.1 0 -0.2' mass='0.5' diaginertia='0.01 0.01 0.004'/>"
    "<body name='c' pos='0.2 0 -0.35'><joint name='c' axis='0 1 0'/>"
    "<inertial pos='-0.1 0 -0.2' mass='0.4' diaginertia='0.01 0.011 0.003'/>"
    "<geom name='foot' type='sphere' size='0.05' pos='-0.2 0 -0.35'/></body></body>"
    "<body name='b'><joint name='b' axis='0 1 0'/>"
    "<inertial pos='-0.1 0 -0.2' mass='0.6' diaginertia='0.01 0.012 0.004'/>"
    "<body name='d' pos='-0.2 0 -0.35'><joint name='d' axis='0 1 0'/>"
    "<inertial pos='0.1 0 -0.2' mass='0.45' diaginertia='0.01 0.009 0.003'/></body></body></body>"
    "</worldbody><equality><connect body1='c' body2='d' anchor='-0.2 0 -0.35'/></equality>"
    "<keyframe><key qpos='0 -0.13 0 0 0 0' qvel='0.8 -1.5 0.3 -0.6 -0.3 0.6'/></keyframe></mujoco>";

static const moved linked[] = {{"floor:foot/friction", 0},
                               {"floor:foot/restitution", 0},
                               {"hip/mass", 0},
                               {"foot/size[0]", 0},
                               {"gravity[2]", 0},
                               {"z/qvel", 0},
                               {"x/qvel", 0},
                               {NULL, 0}};

TEST(a_robot_with_a_loop_has_its_gradient_when_it_lands) {
    const course c = {"linkage", linkage, 10, 0.01, linked, 1, 0.0};
    check_both(&c);
}

// tangents against adjoints, step by step: joints of this robot have coordinates without
// quaternions
static void check_tangents(const char *stepper, const char *law) {
    cr_sim_options options = options_of(stepper, law);
    cr_run r = cr_run_open(linkage, &options, 10, 0.01);
    cr_error err = {0};
    cr_test_rng rng = cr_test_rng_of(3);
    double *seed = seed_of(&r), x[12], y[12], adjoint = 0.0, tangent = 0.0, size = 0.0;
    double *p_tan = calloc((size_t)r.n.n_p, sizeof *p_tan);
    assert_non_null(p_tan);
    assert_int_equal(r.n.n_x, 12);
    cr_run_gradient(&r, seed);
    memcpy(x, r.x, sizeof x);
    for (int i = 0; i < 12; i++) {
        y[i] = cr_test_uniform(&rng, -1.0, 1.0);
        adjoint += y[i] * r.x_adj[i];
        size += fabs(y[i] * r.x_adj[i]);
    }
    for (int i = 0; i < r.n.n_p; i++) {
        p_tan[i] = cr_test_uniform(&rng, -1.0, 1.0);
        adjoint += p_tan[i] * r.p_adj[i];
        size += fabs(p_tan[i] * r.p_adj[i]);
    }
    for (int k = 0; k < r.n_step; k++) {
        assert_int_equal(cr_sim_step(r.sim, r.dt, x, r.u, x, &err), CR_OK);
        assert_int_equal(cr_sim_step_jac(r.sim, 1, y, NULL, p_tan, y, &err), CR_OK);
    }
    for (int i = 0; i < 12; i++) {
        tangent += seed[i] * y[i];
    }
    if (!(fabs(tangent - adjoint) <= 1e-12 * size)) {
        cr_test_fail("%s, %s: tangent %.15g, adjoint %.15g", stepper, law, tangent, adjoint);
    }
    free(seed);
    free(p_tan);
    cr_run_close(&r);
}

TEST(tangents_of_a_robot_with_a_loop_agree_with_adjoints) {
    for (int law = 0; law < N_LAW; law++) {
        check_tangents("located", laws[law]);
        check_tangents("end", laws[law]);
    }
}

// ---- edges of the coefficients -----------------------------------------------------------------

// a box lands on a corner; no gravity, so that it leaves again however little it bounces
#define CORNER(friction, restitution)                                                              \
    "<mujoco><option gravity='0 0 0'/><custom>"                                                    \
    "<numeric name='carom:friction:floor:body' data='" friction "'/>"                              \
    "<numeric name='carom:restitution:floor:body' data='" restitution "'/></custom><worldbody>"    \
    "<geom name='floor' type='plane' size='9 9 1'/><body name='body'><freejoint/>"                 \
    "<inertial pos='0 0 0' mass='1.2' diaginertia='0.025 0.02 0.013'/>"                            \
    "<geom name='body' type='box' size='0.1 0.15 0.2'/></body></worldbody><keyframe>"              \
    "<key qpos='0 0 0.3 0.8 0.3 -0.4 0.2' qvel='0.5 0.2 -1 4 -3 6'/></keyframe></mujoco>"

static const moved at_edge[] = {{"floor:body/friction", 1}, {"floor:body/restitution", 1},
                                {"body/mass", 0},           {"body/size[1]", 0},
                                {"body/qvel[0]", 0},        {"body/qpos[2]", 0},
                                {"body/qvel[4]", 0},        {NULL, 0}};

TEST(coefficients_of_zero_have_one_sided_gradients) {
    // no friction; no restitution, where it slides and where it sticks; neither. A bounce of less
    // than eps_speed is none, so that differences need it small
    const course courses[] = {
        {"no friction", CORNER("0", "0.5"), 20, 0.01, at_edge, 1, 1e-11},
        {"no restitution, slides", CORNER("0.1", "0"), 20, 0.01, at_edge, 1, 1e-11},
        {"no restitution, sticks", CORNER("2.5", "0"), 20, 0.01, at_edge, 1, 1e-11},
        {"neither", CORNER("0", "0"), 20, 0.01, at_edge, 1, 1e-11},
    };
    for (int k = 0; k < 4 * N_LAW; k++) {
        const char *law = laws[k / 4];
        check_course(&courses[k % 4], "end", law);
        // a soft contact without restitution still approaches, and hits again in the same moment
        if (k % 4 == 0 || strcmp(law, "cone-reg") != 0) {
            check_course(&courses[k % 4], "located", law);
        }
    }
}

// ---- labels ------------------------------------------------------------------------------------

static const char flat_box[] =
    "<mujoco><option gravity='0 0 -9.81'/><custom>"
    "<numeric name='carom:restitution:floor:body' data='0.5'/></custom><worldbody>"
    "<geom name='floor' type='plane' size='9 9 1'/><body name='body' pos='0 0 0.15'><freejoint/>"
    "<geom name='body' type='box' size='0.15 0.2 0.1'/></body></worldbody>"
    "<keyframe><key qvel='0.3 0.1 -2 0 0 0'/></keyframe></mujoco>";

// gradients of all steps of a rollout, or-ed
static int labels_of(const char *scene, const char *stepper, const char *law, int n_step) {
    cr_sim_options options = options_of(stepper, law);
    cr_run r = cr_run_open(scene, &options, n_step, 0.01);
    cr_error err = {0};
    double x[13];
    int labels = 0;
    assert_int_equal(r.n.n_x, 13);
    memcpy(x, r.x, sizeof x);
    for (int k = 0; k < n_step; k++) {
        assert_int_equal(cr_sim_step(r.sim, r.dt, x, NULL, x, &err), CR_OK);
        labels |= (int)cr_sim_report(r.sim)->grad;
    }
    cr_run_close(&r);
    return labels;
}

TEST(simultaneous_impacts_are_labelled_averaged) {
    for (int law = 0; law < N_LAW; law++) {
        CHECK(labels_of(flat_box, "located", laws[law], 4) & CR_GRAD_AVERAGED);
        // one corner alone
        CHECK(!(labels_of(CORNER("0.3", "0.5"), "located", laws[law], 20) & CR_GRAD_AVERAGED));
        CHECK_INT(labels_of(CORNER("0.3", "0.5"), "end", laws[law], 20), CR_GRAD_DISCRETE);
    }
}

TEST(restitution_of_zero_is_labelled_one_sided) {
    for (int law = 0; law < N_LAW; law++) {
        CHECK(labels_of(CORNER("0.1", "0"), "located", laws[law], 20) & CR_GRAD_ONE_SIDED);
        CHECK_INT(labels_of(CORNER("0.1", "0.5"), "located", laws[law], 20), CR_GRAD_EXACT);
    }
}

// a box that tips over its edge: at this very force the two far corners carry nothing
TEST(a_contact_set_about_to_change_is_labelled_one_sided) {
    static const char scene[] =
        "<mujoco><option gravity='0 0 -10'/><custom>"
        "<numeric name='carom:friction:floor:body' data='2'/></custom><worldbody>"
        "<geom name='floor' type='plane' size='9 9 1'/><body name='body' pos='0 0 0.1'><freejoint/>"
        "<inertial pos='0 0 0' mass='1' diaginertia='0.02 0.02 0.02'/>"
        "<geom name='body' type='box' size='0.1 0.2 0.1'/></body></worldbody></mujoco>";
    for (int law = 0; law < N_LAW; law++) {
        for (int k = 0; k < 2; k++) {
            cr_sim_options options = options_of("located", laws[law]);
            cr_run r = cr_run_open(scene, &options, 1, 0.01);
            // weight 10 N on an arm of 0.1 m holds a force of 10 N at a height of 0.1 m
            r.u[cr_run_u(&r, "body/force[0]")] = k == 0 ? 10.0 : 5.0;
            cr_run_value(&r, NULL);
            bool is_one_sided = cr_sim_report(r.sim)->grad & CR_GRAD_ONE_SIDED;
            if (is_one_sided != (k == 0)) {
                cr_test_fail("%s, %g of the force that tips it: label %d", laws[law],
                             k == 0 ? 1.0 : 0.5, (int)cr_sim_report(r.sim)->grad);
            }
            cr_run_close(&r);
        }
    }
}

// the law under test with a solve that fails
static const cri_law *failing;

static const void *solve_in_vain(const cri_contact_problem *problem, double *f, bool has_cache,
                                 cri_law_report *report, cr_arena *keep, cr_arena *scratch) {
    const void *cache = failing->solve(problem, f, has_cache, report, keep, scratch);
    report->outcome = CR_ITERATION_LIMIT;
    return cache;
}

TEST(there_is_no_gradient_after_an_unsolved_step) {
    for (int k = 0; k < 2 * N_LAW; k++) {
        cr_sim_options options = options_of(steppers[k % 2], laws[k / 2]);
        cr_run r = cr_run_open(flat_box, &options, 4, 0.01);
        cr_error err = {0};
        double *seed = seed_of(&r), x_adj[13] = {0}, u_adj[6] = {0};
        failing = r.sim->world.law;
        cri_law law = *failing;
        law.solve = solve_in_vain;
        r.sim->world.law = &law;
        cr_rollout rollout = {.n_step = 4, .dt = &r.dt, .n_dt = 1, .u = r.u, .n_u_row = 1};
        cr_seed s = {.step = 4, .x_adj = seed};
        CHECK_INT(cr_sim_rollout(r.sim, &rollout, r.x, NULL, r.x_end, &err), CR_OK);
        CHECK_INT(cr_sim_rollout_vjp(r.sim, 1, &s, x_adj, u_adj, r.p_adj, &err), CR_ERR_NUMERIC);
        // nothing was handed out
        for (int i = 0; i < 13; i++) {
            CHECK(x_adj[i] == 0.0);
        }
        free(seed);
        cr_run_close(&r);
    }
}

CR_TEST_MAIN(several_impacts_in_one_step_have_their_gradient, a_stack_of_ten_boxes_has_its_gradient,
             a_robot_with_a_loop_has_its_gradient_when_it_lands,
             tangents_of_a_robot_with_a_loop_agree_with_adjoints,
             coefficients_of_zero_have_one_sided_gradients,
             simultaneous_impacts_are_labelled_averaged, restitution_of_zero_is_labelled_one_sided,
             a_contact_set_about_to_change_is_labelled_one_sided,
             there_is_no_gradient_after_an_unsolved_step)
