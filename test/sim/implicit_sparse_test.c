// SPDX-License-Identifier: MIT
//
// The factor of a step over bodies: what does not know each other costs nothing, and the step is
// that of the dense factor.

#include "cr_test.h"

#include "sim/implicit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_BOX = 10, N_DOF = 6 * N_BOX, N_X = 13 * N_BOX };

// a row of boxes of 0.1 m above a floor, so far apart and a little turned
static void write_row(char *text, size_t n, double gap) {
    size_t at = (size_t)snprintf(text, n, "<mujoco><worldbody>");
    for (int i = 0; i < N_BOX; i++) {
        at += (size_t)snprintf(text + at, n - at,
                               "<body pos='%g %g .054' euler='0 0 %g'><freejoint/><geom type='box' "
                               "size='.05 .05 .05' mass='1'/></body>",
                               (0.1 + gap) * i, 0.01 * sin(i), 2.0 * cos(2.0 * i));
    }
    snprintf(text + at, n - at, "<geom type='plane' size='9 9 1'/></worldbody></mujoco>");
}

static void open_sim(const char *text, const char *law, cr_model **model, cr_sim **sim) {
    cr_error err = {0};
    if (cr_model_parse(text, strlen(text), "scene", model, &err) != CR_OK) {
        fail_msg("%s", err.text);
    }
    cr_sim_options options = cr_sim_options_default(*model);
    options.law = law;
    if (cr_sim_create(*model, &options, sim, &err) != CR_OK) {
        fail_msg("%s", err.text);
    }
}

// one step; what its factor is
static const cri_block_factor *step_once(cr_sim *sim, double *x) {
    cr_error err = {0};
    if (cr_sim_step(sim, 0.02, x, NULL, x, &err) != CR_OK) {
        fail_msg("%s", err.text);
    }
    CHECK_INT(cr_sim_report(sim)->outcome, CR_SOLVED);
    return &((const cri_implicit_record *)sim->last->data)->factor;
}

/// A step by the problem itself, with groups of its own: next positions, and H^-1 b.
static void step_densely(cr_sim *sim, const double *x, double *q, double *b) {
    static const int whole[2] = {0, N_DOF};
    static const double still[2 * N_DOF]; // no controls and forces
    const cri_groups groups = {1, whole};
    cr_arena *arena = cri_arena_create(1 << 22), *keep = cri_arena_create(1 << 20);
    cri_step_record record = {.h = 0.02, .x = x, .u = still};
    cri_implicit s;
    cri_block_factor f;
    cri_descent_report report;
    assert_true(cri_implicit_begin(sim, &record, keep, arena, &s));
    assert_true(cri_block_factor_push(&groups, arena, &f));
    cri_potential_forget(sim->potential);
    assert_int_equal(
        cri_slip_find(sim->potential, s.now.pose, s.h, s.mu, keep, arena, &s.slips, NULL), CR_OK);
    cri_implicit_guess(&s, false);
    cri_descent problem = cri_implicit_problem(&s);
    problem.groups = groups;
    cri_descent_run(&problem, &f, arena, &report);
    CHECK(report.is_solved);
    CHECK_INT(f.n_value, N_DOF * N_DOF);
    memcpy(q, s.q_stand, sizeof *q * 7 * N_BOX);
    cri_block_factor_solve(&f, b);
    cri_arena_destroy(keep);
    cri_arena_destroy(arena);
}

// laws of local support, boxes that know their neighbours alone
TEST(a_row_of_bodies_has_the_factor_of_a_row) {
    static const struct {
        const char *law;
        double gap;
    } row[2] = {{"ipc", 0.005}, {"sdrs", 0.08}};
    static char text[8192];
    for (int k = 0; k < 2; k++) {
        cr_model *model = NULL;
        cr_sim *sim = NULL;
        double x[N_X], before[N_X], q[7 * N_BOX], b[N_DOF], c[N_DOF];
        write_row(text, sizeof text, row[k].gap);
        open_sim(text, row[k].law, &model, &sim);
        cr_model_defaults(model, 0, NULL, x, NULL);
        for (int i = 0; i < 3; i++) {
            memcpy(before, x, sizeof x);
            step_once(sim, x);
        }
        const cri_block_factor *f = &((const cri_implicit_record *)sim->last->data)->factor;
        CHECK_INT(f->n_value, 36 * (2 * N_BOX - 1));
        CHECK(f->n_times < 0.2 * N_DOF * (N_DOF * N_DOF - 1.0) / 6.0);
        for (int i = 0; i < N_DOF; i++) {
            b[i] = c[i] = cos(i);
        }
        cri_block_factor_solve(f, b);
        step_densely(sim, before, q, c);
        for (int i = 0; i < 7 * N_BOX; i++) {
            CHECK_CLOSE(x[i], q[i], 1e-10, 0.0);
        }
        for (int i = 0; i < N_DOF; i++) {
            CHECK_CLOSE(b[i], c[i], 1e-9, 1e-7); // two ends of one minimisation
        }
        cr_sim_destroy(sim);
        cr_model_destroy(model);
    }
}

// nothing is zero under the long-range potential
TEST(far_pairs_couple_every_body) {
    static char text[8192];
    cr_model *model = NULL;
    cr_sim *sim = NULL;
    double x[N_X];
    write_row(text, sizeof text, 0.3);
    open_sim(text, "longrange", &model, &sim);
    cr_model_defaults(model, 0, NULL, x, NULL);
    const cri_block_factor *f = step_once(sim, x);
    CHECK_INT(f->n_value, 36 * N_BOX * (N_BOX + 1) / 2);
    for (int i = 0; i < N_BOX; i++) {
        CHECK_INT(f->order[i], i);
    }
    cr_sim_destroy(sim);
    cr_model_destroy(model);
}

// bodies of different branches of a tree know each other through those before them alone
TEST(branches_of_a_tree_are_apart) {
    static const char text[] =
        "<mujoco><option gravity='0 0 0'/><worldbody><body><freejoint/>"
        "<geom type='box' size='.1 .1 .1' mass='1' contype='0' conaffinity='0'/>"
#define ARM(x, y)                                                                                  \
    "<body pos='" x " " y " 0'><joint axis='0 0 1'/><geom type='box' size='.1 .1 .1' mass='1' "    \
    "contype='0' conaffinity='0'/><body pos='" x " " y " 0'><joint axis='0 0 1'/><geom type='box'" \
    " size='.1 .1 .1' mass='1' contype='0' conaffinity='0'/></body></body>"
        ARM("1", "0") ARM("-1", "0") ARM("0", "1") ARM("0", "-1") "</body></worldbody></mujoco>";
    cr_model *model = NULL;
    cr_sim *sim = NULL;
    double x[64];
    open_sim(text, "ipc", &model, &sim);
    cr_model_defaults(model, 0, NULL, x, NULL);
    const cri_block_factor *f = step_once(sim, x);
    // an arm's end knows itself, what it hangs on and the root's six; that itself and the six
#ifdef CAROM_HAS_AMD
    CHECK_INT(f->n_value, 4 * (8 + 7) + 36);
#else
    CHECK(f->n_value <= 14 * 14);
#endif
    cr_sim_destroy(sim);
    cr_model_destroy(model);
}

CR_TEST_MAIN(a_row_of_bodies_has_the_factor_of_a_row, far_pairs_couple_every_body,
             branches_of_a_tree_are_apart)
