// SPDX-License-Identifier: MIT
//
// Smoothed gradients of whole steps under the laws cone and cone-reg: the motion is not touched,
// they lead to the exact ones, tangents and adjoints agree, and they exist at kinks.
//
// A ball of 1 kg, c = 2/5, lands without gravity at (v, -w) = (1.4, -2). In compression
//
//   sticks from mu = v/(3.5 w) = 0.2;   slides: f_n = (w + mu v)/(1 + 3.5 mu^2), v' = v - mu f_n

#include "cr_run.h"
#include "cr_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const laws[] = {"cone", "cone-reg"};
static const char *const steppers[] = {"located", "end"};

static cr_sim_options options_of(const char *stepper, const char *law, double smoothing) {
    return (cr_sim_options){.stepper = stepper,
                            .law = law,
                            .eps_gap = 1e-9,
                            .eps_speed = 1e-6,
                            .eps_time = 1e-9,
                            .event_cap = 64,
                            .use_gradient = true,
                            .smoothing = smoothing};
}

static cr_run open_run(const char *scene, int at, double smoothing, int n_step, double dt) {
    cr_sim_options options = options_of(steppers[at % 2], laws[at / 2], smoothing);
    return cr_run_open(scene, &options, n_step, dt);
}

#define BALL(e)                                                                                    \
    "<mujoco><option gravity='0 0 0'/><custom>"                                                    \
    "<numeric name='carom:friction:floor:ball' data='0.2'/>"                                       \
    "<numeric name='carom:restitution:floor:ball' data='" e "'/></custom><worldbody>"              \
    "<geom name='floor' type='plane' size='9 9 1'/><body name='ball'><freejoint/>"                 \
    "<inertial pos='0 0 0' mass='1' diaginertia='0.004 0.004 0.004'/>"                             \
    "<geom name='ball' size='0.1'/></body></worldbody>"                                            \
    "<keyframe><key qpos='0 0 0.3 1 0 0 0' qvel='1.4 0 -2 0 0 0'/></keyframe></mujoco>"

// at rest on four corners, its centre of mass is not in the middle; gravity pulls to the side
#define BOX(mu)                                                                                    \
    "<mujoco><option gravity='1.1 0.4 -9.81'/><custom>"                                            \
    "<numeric name='carom:friction:floor:box' data='" mu "'/></custom><worldbody>"                 \
    "<geom name='floor' type='plane' size='9 9 1'/><body name='box' pos='0 0 0.05'><freejoint/>"   \
    "<inertial pos='0.03 -0.02 0.01' mass='1.3' diaginertia='0.006 0.007 0.009'/>"                 \
    "<geom name='box' type='box' size='0.1 0.08 0.05'/></body></worldbody></mujoco>"

// tumbles, lands and comes to rest
static const char tumbling[] =
    "<mujoco><option gravity='0.2 0 -9.81'/><custom>"
    "<numeric name='carom:friction:floor:box' data='0.5'/>"
    "<numeric name='carom:restitution:floor:box' data='0.3'/></custom><worldbody>"
    "<geom name='floor' type='plane' size='9 9 1'/><body name='box'><freejoint/>"
    "<inertial pos='0 0 0' mass='1.3' diaginertia='0.006 0.007 0.009'/>"
    "<geom name='box' type='box' size='0.1 0.08 0.05'/></body></worldbody>"
    "<keyframe><key qpos='0 0 0.15 0.95 0.2 0.1 0.1' qvel='0.6 0.2 0 2 1 3'/></keyframe></mujoco>";

// two balls fall on each other, e = 0 between them: some bounds of the second solve are zero
static const char pair[] =
    "<mujoco><option gravity='0 0 0'/><custom>"
    "<numeric name='carom:friction:floor:low' data='0.4'/>"
    "<numeric name='carom:restitution:floor:low' data='0.5'/>"
    "<numeric name='carom:friction:low:high' data='0.3'/>"
    "<numeric name='carom:restitution:low:high' data='0'/></custom><worldbody>"
    "<geom name='floor' type='plane' size='9 9 1'/>"
    "<body name='low' pos='0 0 0.095'><freejoint/><geom name='low' size='0.1' mass='1'/></body>"
    "<body name='high' pos='0.02 0 0.29'><freejoint/><geom name='high' size='0.1' mass='0.7'/>"
    "</body></worldbody>"
    "<keyframe><key qvel='0.3 0.1 -1 0 0 0 0.1 0 -2 0 0 0'/></keyframe></mujoco>";

static void fill_seed(const cr_run *r, double *seed) {
    for (int k = 0; k < r->n.n_x; k++) {
        seed[k] = ((7 * k) % 11 - 5) / 10.0;
    }
}

// every entry of the gradient into out; returns how many
static int gradient_of(cr_run *r, double *out) {
    double seed[64];
    assert_true(r->n.n_x <= 64);
    fill_seed(r, seed);
    cr_run_gradient(r, seed);
    memcpy(out, r->p_adj, sizeof *out * (size_t)r->n.n_p);
    memcpy(out + r->n.n_p, r->x_adj, sizeof *out * (size_t)r->n.n_x);
    return r->n.n_p + r->n.n_x;
}

static double distance(int n, const double *a, const double *b) {
    double sum = 0.0;
    for (int i = 0; i < n; i++) {
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    }
    return sqrt(sum);
}

enum { N_MOST = 200 };

// ---- the motion --------------------------------------------------------------------------------

TEST(smoothing_never_touches_the_motion) {
    for (int at = 0; at < 4; at++) {
        cr_run plain = open_run(tumbling, at, 0.0, 60, 0.01);
        cr_run smooth = open_run(tumbling, at, 1e-2, 60, 0.01);
        cr_run_value(&plain, NULL);
        cr_run_value(&smooth, NULL);
        CHECK(memcmp(plain.x_end, smooth.x_end, sizeof(double) * (size_t)plain.n.n_x) == 0);
        CHECK(!(cr_sim_report(plain.sim)->grad & CR_GRAD_SMOOTHED));
        CHECK(cr_sim_report(smooth.sim)->grad & CR_GRAD_SMOOTHED);
        cr_run_close(&plain);
        cr_run_close(&smooth);
    }
}

TEST(a_flight_has_nothing_to_smooth) {
    cr_run r = open_run(BALL("0.5"), 0, 1e-2, 1, 0.05);
    cr_run_value(&r, NULL);
    CHECK_INT(cr_sim_report(r.sim)->grad, CR_GRAD_EXACT);
    cr_run_close(&r);
}

// ---- towards the exact gradient ----------------------------------------------------------------

// distances of the gradients at 1e-6 and 1e-5 from the exact one, relative to that
static void check_order(const char *where, const char *scene, double mu, int at) {
    static const double kappa[] = {0.0, 1e-6, 1e-5};
    double g[3][N_MOST] = {{0}}, none[N_MOST] = {0};
    int n = 0;
    for (int k = 0; k < 3; k++) {
        cr_run r = open_run(scene, at, kappa[k], 1, 0.2);
        r.p[cr_run_p(&r, "floor:ball/friction")] = mu;
        n = gradient_of(&r, g[k]);
        CHECK(n <= N_MOST);
        cr_run_close(&r);
    }
    double size = distance(n, g[0], none), near = distance(n, g[0], g[1]) / size;
    double ratio = distance(n, g[0], g[2]) / size / near;
    // slopes of the size of 1/margin, at least 0.1 here
    if (!(near > 0.0 && near < 2e-4 && ratio > 9.0 && ratio < 11.0)) {
        cr_test_fail("%s, mu %g, %s, %s: distance %g at 1e-6, %g times that at 1e-5", where, mu,
                     laws[at / 2], steppers[at % 2], near, ratio);
    }
}

TEST(smoothed_gradients_lead_to_exact_ones_linearly) {
    for (int at = 0; at < 4; at++) {
        check_order("no restitution", BALL("0"), 0.1, at);
        check_order("no restitution", BALL("0"), 0.4, at);
        check_order("restitution", BALL("0.5"), 0.1, at);
        check_order("restitution", BALL("0.5"), 0.4, at);
    }
}

// The path's impulse of redundant contacts is not the selected one; velocities must not notice.
// Where they slide, friction about the normal depends on who carries how much, so that only what
// does not turn is compared.
TEST(smoothed_gradients_of_redundant_contacts_lead_to_exact_ones) {
    static const char *const straight[] = {"box/qvel[0]", "box/qvel[1]", "box/qvel[2]"};
    for (int at = 0; at < 4; at++) {
        double exact[N_MOST] = {0}, smooth[N_MOST] = {0}, none[N_MOST] = {0};
        // 1e-8 over a margin of 0.07; at the end of the step gap and speed are zero, a kink: the
        // root of it
        double tolerance = at % 2 == 0 ? 1e-6 : 1e-3;
        cr_run a = open_run(BOX("0.5"), at, 0.0, 1, 0.01);
        cr_run b = open_run(BOX("0.5"), at, 1e-8, 1, 0.01);
        int n = gradient_of(&a, exact);
        gradient_of(&b, smooth);
        CHECK(distance(n, exact, smooth) <= tolerance * distance(n, exact, none));
        cr_run_close(&a);
        cr_run_close(&b);

        a = open_run(BOX("0.05"), at, 0.0, 1, 0.01);
        b = open_run(BOX("0.05"), at, 1e-8, 1, 0.01);
        gradient_of(&a, exact);
        gradient_of(&b, smooth);
        int mu = cr_run_p(&a, "floor:box/friction");
        CHECK_CLOSE(b.p_adj[mu], a.p_adj[mu], 0.0, 10.0 * tolerance);
        for (int k = 0; k < 3; k++) {
            int i = cr_run_x(&a, straight[k]);
            CHECK_CLOSE(b.x_adj[i], a.x_adj[i], tolerance, tolerance);
        }
        cr_run_close(&a);
        cr_run_close(&b);
    }
}

TEST(what_sticks_learns_of_its_friction) {
    for (int at = 0; at < 4; at++) {
        double last = 0.0;
        for (int k = 0; k < 3; k++) {
            cr_run r = open_run(BALL("0.5"), at, k == 0 ? 0.0 : k == 1 ? 1e-4 : 1e-2, 1, 0.2);
            int mu = cr_run_p(&r, "floor:ball/friction");
            double seed[13] = {0};
            seed[cr_run_x(&r, "ball/qvel[0]")] = 1.0;
            r.p[mu] = 0.3;
            cr_run_gradient(&r, seed);
            // more friction takes more speed, and more so the smoother
            CHECK(k == 0 ? r.p_adj[mu] == 0.0 : r.p_adj[mu] < last);
            last = r.p_adj[mu];
            cr_run_close(&r);
        }
        CHECK(last < -1e-3);
    }
}

// ---- kinks -------------------------------------------------------------------------------------

TEST(between_stick_and_slide_is_the_mean_of_both) {
    double v = 1.4, w = 2.0, mu_kink = v / (3.5 * w);
    // d(mu f_n)/dmu where it slides
    double slope = w - mu_kink * v / (1.0 + 3.5 * mu_kink * mu_kink);
    double seed[13] = {0};
    cr_run r = open_run(BALL("0"), 0, 0.0, 1, 0.2);
    int mu = cr_run_p(&r, "floor:ball/friction");
    seed[cr_run_x(&r, "ball/qvel[0]")] = 1.0;
    r.p[mu] = mu_kink * (1.0 - 1e-9);
    cr_run_gradient(&r, seed);
    CHECK_CLOSE(r.p_adj[mu], -slope, 1e-6, 0.0);
    CHECK(cr_sim_report(r.sim)->grad & CR_GRAD_ONE_SIDED);
    cr_run_close(&r);
    r = open_run(BALL("0.5"), 0, 1e-8, 1, 0.2);
    r.p[mu] = mu_kink;
    cr_run_gradient(&r, seed);
    CHECK_INT(cr_sim_report(r.sim)->grad, CR_GRAD_SMOOTHED);
    cr_run_close(&r);
    r = open_run(BALL("0"), 0, 1e-8, 1, 0.2);
    r.p[mu] = mu_kink;
    cr_run_gradient(&r, seed);
    // on a kink the path leaves its end as sqrt(kappa)
    CHECK_CLOSE(r.p_adj[mu], -0.5 * slope, 1e-3, 0.0);
    cr_run_close(&r);
}

// With little restitution, little is left for the second solve where the first one sticks. It is
// not to undo the smoothing of that: the derivative fades out over the width of the smoothing, 0.1.
TEST(the_second_solve_keeps_the_smoothing_of_the_first) {
    double last = 0.0, seed[13] = {0};
    for (int k = 0; k <= 10; k++) {
        cr_run r = open_run(BALL("0.01"), 0, 1e-2, 1, 0.2);
        int mu = cr_run_p(&r, "floor:ball/friction");
        seed[cr_run_x(&r, "ball/qvel[0]")] = 1.0;
        r.p[mu] = 0.1 + 0.02 * k;
        cr_run_gradient(&r, seed);
        CHECK(k == 0 || (r.p_adj[mu] > last && r.p_adj[mu] < 0.5 * last));
        last = r.p_adj[mu];
        cr_run_close(&r);
    }
}

// Restitution begins at zero. Its derivative stays the exact one in the impact; the rest of the
// step is smoothed.
TEST(an_edge_of_restitution_keeps_its_derivative) {
    double e_adj[2];
    for (int k = 0; k < 2; k++) {
        cr_run r = open_run(BALL("0"), 0, k == 0 ? 0.0 : 1e-6, 1, 0.2);
        double seed[13] = {0};
        seed[cr_run_x(&r, "ball/qvel[2]")] = 1.0;
        r.p[cr_run_p(&r, "floor:ball/friction")] = 0.4;
        cr_run_gradient(&r, seed);
        e_adj[k] = r.p_adj[cr_run_p(&r, "floor:ball/restitution")];
        CHECK(cr_sim_report(r.sim)->grad & CR_GRAD_ONE_SIDED);
        cr_run_close(&r);
    }
    // v_n' = e w
    CHECK_CLOSE(e_adj[0], 2.0, 1e-12, 0.0);
    CHECK_CLOSE(e_adj[1], 2.0, 1e-5, 0.0);
}

// The floor throws the lower one against the upper: a little restitution between them has no effect
// to first order, but it has one on the path.
TEST(an_edge_of_restitution_among_others_has_a_derivative) {
    static const double kappa[] = {0.0, 1e-6, 1e-2};
    double e_adj[3], seed[26] = {0};
    for (int k = 0; k < 3; k++) {
        cr_run r = open_run(pair, 1, kappa[k], 1, 0.01);
        seed[cr_run_x(&r, "high/qvel[2]")] = 1.0;
        cr_run_gradient(&r, seed);
        CHECK(cr_sim_report(r.sim)->grad & CR_GRAD_ONE_SIDED);
        e_adj[k] = r.p_adj[cr_run_p(&r, "low:high/restitution")];
        cr_run_close(&r);
    }
    // proportional to kappa, with a factor near 10 as above
    CHECK(e_adj[0] == 0.0);
    CHECK(e_adj[1] > 1e-6 && e_adj[1] < 1e-4);
    CHECK(e_adj[2] > 1e-2 && e_adj[2] < 1.0);
}

// ---- tangents and adjoints ---------------------------------------------------------------------

static void check_pair(const char *scene, int at, double smoothing, int n_step) {
    cr_run r = open_run(scene, at, smoothing, n_step, 0.01);
    double seed[64], *x_tan = calloc((size_t)r.n.n_x, sizeof *x_tan),
                     *p_tan = calloc((size_t)r.n.n_p, sizeof *p_tan), sum = 0.0, size = 0.0;
    assert_true(r.n.n_x <= 64 && x_tan && p_tan);
    fill_seed(&r, seed);
    cr_run_gradient(&r, seed);
    for (int i = 0; i < r.n.n_x; i++) {
        x_tan[i] = ((5 * i) % 7 - 3) / 10.0;
        sum += x_tan[i] * r.x_adj[i];
        size += fabs(x_tan[i] * r.x_adj[i]);
    }
    for (int i = 0; i < r.n.n_p; i++) {
        p_tan[i] = ((3 * i) % 7 - 3) / 10.0;
        sum += p_tan[i] * r.p_adj[i];
        size += fabs(p_tan[i] * r.p_adj[i]);
    }
    double tangent = cr_run_tangent(&r, seed, x_tan, NULL, p_tan);
    if (!(fabs(tangent - sum) <= 1e-12 * size)) {
        cr_test_fail("%s, %s, smoothing %g: tangent %.15g, adjoint %.15g of terms %g", laws[at / 2],
                     steppers[at % 2], smoothing, tangent, sum, size);
    }
    free(x_tan);
    free(p_tan);
    cr_run_close(&r);
}

TEST(smoothed_tangents_are_the_adjoints) {
    for (int at = 0; at < 4; at++) {
        for (int k = 0; k < 2; k++) {
            double smoothing = k == 0 ? 1e-2 : 1e-4;
            check_pair(BALL("0"), at, smoothing, 20);
            check_pair(BALL("0.5"), at, smoothing, 20);
            check_pair(BOX("0.5"), at, smoothing, 5);
            check_pair(BOX("0.05"), at, smoothing, 1);
            check_pair(tumbling, at, smoothing, 30);
            check_pair(pair, at, smoothing, 2);
        }
    }
}

// ---- refusals ----------------------------------------------------------------------------------

TEST(a_path_that_is_not_reached_refuses_the_gradient) {
    // below the rounding of any impulse
    cr_run r = open_run(BALL("0.5"), 0, 1e-200, 1, 0.2);
    double seed[13] = {1.0}, x_adj[13] = {0};
    cr_seed at_end = {.step = 1, .x_adj = seed};
    cr_error err = {0};
    cr_run_value(&r, NULL);
    CHECK(cr_sim_report(r.sim)->grad & CR_GRAD_REFUSED);
    CHECK_INT(cr_sim_report(r.sim)->outcome, CR_SOLVED);
    CHECK_INT(cr_sim_rollout_vjp(r.sim, 1, &at_end, x_adj, NULL, NULL, &err), CR_ERR_NUMERIC);
    CHECK(strstr(err.text, "smoothing 1e-200"));
    assert_int_equal(cr_sim_step(r.sim, 0.2, r.x, NULL, r.x_end, &err), CR_OK);
    CHECK_INT(cr_sim_step_vjp(r.sim, seed, x_adj, NULL, NULL, &err), CR_ERR_NUMERIC);
    CHECK(strstr(err.text, "smoothing 1e-200"));
    cr_run_close(&r);
}

CR_TEST_MAIN(smoothing_never_touches_the_motion, a_flight_has_nothing_to_smooth,
             smoothed_gradients_lead_to_exact_ones_linearly,
             smoothed_gradients_of_redundant_contacts_lead_to_exact_ones,
             what_sticks_learns_of_its_friction, between_stick_and_slide_is_the_mean_of_both,
             the_second_solve_keeps_the_smoothing_of_the_first,
             an_edge_of_restitution_keeps_its_derivative,
             an_edge_of_restitution_among_others_has_a_derivative,
             smoothed_tangents_are_the_adjoints, a_path_that_is_not_reached_refuses_the_gradient)
