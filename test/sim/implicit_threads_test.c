// SPDX-License-Identifier: MIT
//
// A step of a law that is an energy has the same bits on one thread and on several, and so have its
// derivatives: in a scene with so much to do that threads start.

#include "cr_test.h"

#include "sim/implicit.h"

#include <stdio.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

enum { SIDE = 4, N_BALL = SIDE * SIDE, N_STEP = 3, MOST_X = 256, MOST_P = 512 };

// how many are there then
static int use_threads(int n) {
    int n_there = 1;
#ifdef _OPENMP
    omp_set_num_threads(n);
#pragma omp parallel
    {
#pragma omp single
        n_there = omp_get_num_threads();
    }
#else
    (void)n;
#endif
    return n_there;
}

// balls on a floor, closer than a tenth of their size, in motion towards the middle
static cr_model *balls(void) {
    static char text[8192];
    size_t used = (size_t)snprintf(
        text, sizeof text,
        "<mujoco><custom><numeric name='carom:potential:mu' data='1e-8'/></custom><worldbody><geom "
        "type='plane' size='9 9 1' friction='.4'/>");
    for (int k = 0; k < N_BALL; k++) {
        int row = k / SIDE;
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "<body pos='%g %g .101'><freejoint/><geom type='sphere' size='.1' "
                                 "mass='.5' friction='.3'/></body>",
                                 0.205 * (k % SIDE) + 0.001 * k, 0.205 * row);
    }
    used += (size_t)snprintf(text + used, sizeof text - used, "</worldbody></mujoco>");
    cr_model *model = NULL;
    cr_error err = {0};
    if (cr_model_parse(text, used, "balls", &model, &err) != CR_OK) {
        fail_msg("%s", err.text);
    }
    return model;
}

/// What some steps and the adjoint of the last give.
typedef struct outcome {
    double x[MOST_X], x_adj[MOST_X], p_adj[MOST_P];
    int work, n_slip;
} outcome;

static void run(const cr_model *model, const char *law, int n_thread, outcome *out) {
    cr_sim *sim = NULL;
    cr_error err = {0};
    cr_sizes z = cr_model_sizes(model);
    cr_sim_options options = cr_sim_options_default(model);
    double y_adj[MOST_X] = {0};
    assert_true(z.n_x <= MOST_X && z.n_p <= MOST_P);
    memset(out, 0, sizeof *out);
    options.law = law;
    cr_model_defaults(model, -1, NULL, out->x, NULL);
    for (int k = 0; k < N_BALL; k++) {
        out->x[z.n_q + 6 * k] = 0.3 * (k % SIDE < 2 ? 1.0 : -1.0);
        out->x[z.n_q + 6 * k + 4] = 2.0;
    }
    for (int i = 0; i < z.n_tangent; i++) {
        y_adj[i] = 1.0 / (1.0 + i);
    }
    use_threads(n_thread);
    cr_status status = cr_sim_create(model, &options, &sim, &err);
    for (int k = 0; status == CR_OK && k < N_STEP; k++) {
        status = cr_sim_step(sim, 0.02, out->x, NULL, out->x, &err);
    }
    if (status == CR_OK) {
        const cri_implicit_record *record = sim->last->data;
        CHECK_INT(cr_sim_report(sim)->outcome, CR_SOLVED);
        out->work = sim->potential->work;
        out->n_slip = record->slips.n;
        status = cr_sim_step_vjp(sim, y_adj, out->x_adj, NULL, out->p_adj, &err);
    }
    use_threads(1);
    if (status != CR_OK) {
        fail_msg("%s", err.text);
    }
    cr_sim_destroy(sim);
}

static void check_bits(const char *what, int n_thread, int n, const double *a, const double *b) {
    for (int i = 0; i < n; i++) {
        if (a[i] != b[i]) {
            fail_msg("%s[%d] on %d threads: %.17g, on one %.17g", what, i, n_thread, b[i], a[i]);
        }
    }
}

TEST(threads_do_not_change_a_step_or_its_adjoint) {
    static outcome one, more;
    int n_there = use_threads(3);
    use_threads(1);
    if (n_there < 3) {
        print_message("no threads: built without OpenMP, or limited by OMP_THREAD_LIMIT\n");
        skip();
    }
    cr_model *model = balls();
    run(model, "longrange", 1, &one);
    // else no thread starts, and this test says nothing
    CHECK(one.work >= CRI_MUCH_WORK);
    CHECK(one.n_slip >= CRI_MANY_SLIPS);
    for (int n = 2; n <= 3; n++) {
        run(model, "longrange", n, &more);
        check_bits("x", n, (int)(sizeof one.x / sizeof *one.x), one.x, more.x);
        check_bits("x_adj", n, (int)(sizeof one.x_adj / sizeof *one.x_adj), one.x_adj, more.x_adj);
        check_bits("p_adj", n, (int)(sizeof one.p_adj / sizeof *one.p_adj), one.p_adj, more.p_adj);
    }
    cr_model_destroy(model);
}

CR_TEST_MAIN(threads_do_not_change_a_step_or_its_adjoint)
