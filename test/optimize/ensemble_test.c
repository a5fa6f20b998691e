// SPDX-License-Identifier: MIT
//
// Many recordings in one fit, and what it says about those that tell nothing. Recordings are made
// by simulation with values that the fit does not see.

#include "toss_fixture.h"

#include <stdlib.h>

// ---- shared and own ----------------------------------------------------------------------------

TEST(shared_values_and_initial_states_are_found_together) {
    fixture f;
    open_toss(&f, 4, 0.0);
    cri_fit fit = run(&f);
    CHECK_INT(fit.n_shared, 3);
    CHECK_INT(fit.n_entry, 3 + 13 * N_RECORDING);
    CHECK_INT(fit.n_correlated, 3);
    for (int j = 0; j < 3; j++) {
        CHECK_CLOSE(fit.entry[j].value, toss_truth[j], 0.0, 1e-7);
        CHECK_INT(fit.entry[j].recording, -1);
    }
    for (int k = 0; k < N_RECORDING; k++) {
        for (int i = 0; i < N_STATE; i++) {
            const cri_fit_entry *e = &fit.entry[3 + 13 * k + i];
            CHECK_INT(e->recording, k);
            bool is_seen = i < (k % 2 ? 3 : 7);
            CHECK(e->start == (is_seen ? f.recording[k].value[i] : f.start.x0[i]) || i > 2);
            // positions say nothing about the attitude of a ball
            bool is_attitude = k % 2 && i >= 3 && i < 7;
            CHECK(e->is_identifiable == !is_attitude || (k % 2 && i >= 10));
            if (e->is_identifiable) {
                CHECK_CLOSE(e->value, f.x0[k][i], 1e-6, 1e-6);
            }
        }
    }
    clear(&f);
}

TEST(bits_do_not_depend_on_the_number_of_threads) {
    cri_fit fit[3];
    fixture f[3];
    for (int t = 0; t < 3; t++) {
        open_toss(&f[t], 5, 1e-3);
        f[t].problem.n_thread = 1 + 2 * t;
        fit[t] = run(&f[t]);
        CHECK(fit[t].loss == fit[0].loss && fit[t].n_iteration == fit[0].n_iteration);
        for (int i = 0; i < fit[0].n_entry; i++) {
            CHECK(fit[t].entry[i].value == fit[0].entry[i].value);
            CHECK(!fit[0].entry[i].is_identifiable ||
                  fit[t].entry[i].deviation == fit[0].entry[i].deviation);
        }
    }
    for (int t = 0; t < 3; t++) {
        clear(&f[t]);
    }
}

TEST(errors_are_as_large_as_claimed) {
    enum { N_FIT = 16 };
    double shared = 0.0, own = 0.0;
    int n_own = 0, n_covered = 0;
    int n_fit = cr_test_share(N_FIT);
    for (int seed = 0; seed < n_fit; seed++) {
        fixture f;
        // with attitude: positions alone leave spins with two answers
        open_toss_of(&f, 100 + (uint64_t)seed, 1e-3, 7);
        set_sigma(&f, 1e-3);
        cri_fit fit = run(&f);
        for (int i = 0; i < fit.n_entry; i++) {
            const cri_fit_entry *e = &fit.entry[i];
            int part = i < 3 ? 0 : (i - 3) % 13;
            double truth = i < 3 ? toss_truth[i] : f.x0[e->recording][part];
            double ratio = (e->value - truth) / e->deviation;
            if (i < 3) {
                shared += ratio * ratio / (3 * N_FIT);
            } else if (e->is_identifiable) {
                own += ratio * ratio;
                n_covered += fabs(ratio) < 2.0;
                n_own++;
            }
        }
        clear(&f);
    }
    if (n_fit < N_FIT) {
        return; // too few for statistics
    }
    // a mean of 48 squares is good to 20 %, one of some 1000 correlated ones to 6 %: three times
    // that
    CHECK_CLOSE(shared, 1.0, 0.6, 0.0);
    CHECK_CLOSE(own / n_own, 1.0, 0.2, 0.0);
    CHECK_CLOSE((double)n_covered / n_own, 0.954, 0.03, 0.0);
}

TEST(a_quaternion_and_its_negative_are_the_same) {
    fixture f;
    open_toss(&f, 6, 0.0);
    for (int i = 0; i < N_SAMPLE; i++) {
        for (int c = 3; c < 7 && i % 3 == 1; c++) {
            f.recording[0].value[i * 7 + c] *= -1.0;
        }
    }
    cri_fit fit = run(&f);
    CHECK(fit.rms < 1e-7);
    CHECK_CLOSE(fit.entry[0].value, toss_truth[0], 0.0, 1e-6);
    clear(&f);
}

// ---- weights -----------------------------------------------------------------------------------

/// Puts every eleventh number of all recordings a decimetre off.
static void spoil(fixture *f) {
    for (int k = 0; k < N_RECORDING; k++) {
        for (int i = 15; i < N_SAMPLE * f->recording[k].n_column; i += 11) {
            f->recording[k].value[i] += i % 2 ? 0.1 : -0.06;
        }
    }
}

TEST(a_robust_loss_sees_through_outliers) {
    double error[3];
    for (int kind = 0; kind < 3; kind++) {
        fixture f;
        open_toss(&f, 7, 1e-3);
        spoil(&f);
        f.problem.n_recording = 4;
        f.problem.loss = (cri_loss_kind)kind;
        cri_fit fit = run(&f);
        error[kind] = 0.0;
        for (int j = 0; j < 3; j++) {
            double relative = fabs(fit.entry[j].value / toss_truth[j] - 1.0);
            error[kind] = fmax(error[kind], relative);
            CHECK(kind == CRI_LOSS_SQUARES ||
                  fabs(fit.entry[j].value - toss_truth[j]) < 4.0 * fit.entry[j].deviation);
        }
        CHECK(kind == CRI_LOSS_SQUARES || (fit.usual < 2e-3 && fit.rms > 1e-2));
        clear(&f);
    }
    CHECK(error[CRI_LOSS_HUBER] < 0.3 * error[CRI_LOSS_SQUARES]);
    CHECK(error[CRI_LOSS_CAUCHY] < 0.3 * error[CRI_LOSS_SQUARES]);
}

TEST(robust_losses_have_their_weights) {
    for (int kind = 0; kind < 3; kind++) {
        cri_robust robust = {.kind = (cri_loss_kind)kind, .scale = 0.7};
        for (double r = -4.0; r < 4.0; r += 0.37) {
            double weight = 0.0, unused = 0.0;
            cri_robust_loss(&robust, r, &weight);
            double up = cri_robust_loss(&robust, r + 1e-6, &unused);
            double down = cri_robust_loss(&robust, r - 1e-6, &unused);
            CHECK_CLOSE(2.0 * weight * r, (up - down) / 2e-6, 1e-8, 1e-8);
        }
    }
    double r[5] = {-1.0, 3.0, 0.5, -2.0, 100.0};
    CHECK_CLOSE(cri_robust_scale(5, r), 2.0 / 0.6745, 0.0, 1e-15);
}

TEST(a_prior_counts_against_the_noise) {
    // two equal pieces of knowledge meet half way, and the error falls by the root of two
    double value[3], deviation[3];
    for (int i = 0; i < 3; i++) {
        fixture f;
        open_toss(&f, 8, 1e-3);
        set_sigma(&f, 1e-3);
        f.problem.n_recording = 3;
        cri_prior prior[2] = {{1, 0.0, 1.0}, {3, 0.0, 1.0}};
        if (i > 0) {
            prior[0] = (cri_prior){1, value[0] + 2.0 * deviation[0], deviation[0]};
            f.problem.prior = prior;
            f.problem.n_prior = i;
        }
        if (i == 2) {
            // and x0:ball/qpos[0], of each recording
            prior[1] = (cri_prior){3, 3.0, 1e-9};
        }
        cri_fit fit = run(&f);
        value[i] = fit.entry[1].value;
        deviation[i] = fit.entry[1].deviation;
        CHECK(i < 2 || fabs(fit.entry[3].value - 3.0) < 1e-6);
        CHECK(i < 2 || fabs(fit.entry[16].value - 3.0) < 1e-6);
        clear(&f);
    }
    CHECK_CLOSE(value[1], value[0] + deviation[0], 0.02 * deviation[0], 0.0);
    CHECK_CLOSE(deviation[1], deviation[0] / sqrt(2.0), 0.0, 0.02);
}

TEST(bounds_of_the_user_hold) {
    fixture f;
    open_toss(&f, 9, 0.0);
    cri_domain bound[16];
    for (int j = 0; j < f.selection->n_variable; j++) {
        bound[j] = (cri_domain){-INFINITY, INFINITY, false};
    }
    bound[1].upper = 0.7;
    f.problem.bound = bound;
    f.problem.n_recording = 1;
    cri_fit fit = run(&f);
    CHECK(fit.entry[1].value == 0.7 && fit.entry[1].is_at_bound);
    CHECK(!fit.entry[0].is_at_bound);
    clear(&f);
}

// ---- held out, stopped -------------------------------------------------------------------------

TEST(what_is_held_out_fits_as_well_when_the_model_is_right) {
    fixture f;
    open_toss(&f, 10, 1e-3);
    f.problem.n_held_out = 2;
    cri_fit fit = run(&f);
    CHECK_INT(fit.n_recording, 4);
    CHECK_INT(fit.n_held_out, N_SAMPLE * 10);
    CHECK_CLOSE(fit.held_out, 1e-3, 0.0, 0.1);
    // now with a wrong radius that only their own initial values may make up for
    for (int i = 0; i < N_SAMPLE; i++) {
        f.recording[4].value[i * 7 + 2] *= 1.05;
    }
    fit = run(&f);
    CHECK(fit.held_out > 2e-3 && fit.rms < 1.2e-3);

    // the end of a single recording
    f.problem.n_recording = 1;
    f.problem.n_held_out = 15;
    fit = run(&f);
    CHECK_INT(fit.n_residual, 45 * 7);
    CHECK_INT(fit.n_held_out, 15 * 7);
    CHECK(fit.held_out < 5e-3);
    CHECK_INT(fit.n_correlated, 3 + 13);
    for (int i = 0; i < 16; i++) {
        for (int j = 0; j < 16; j++) {
            double c = fit.correlation[16 * i + j];
            CHECK(!(fabs(c) > 1.0 + 1e-9) && (i != j || isnan(c) || c == 1.0));
            CHECK(isnan(c) || fabs(c - fit.correlation[16 * j + i]) < 1e-9);
        }
    }
    clear(&f);
}

static bool stop_at(void *context, const cri_progress_state *state) {
    long long *limit = context;
    CHECK(state->loss >= 0.0 && strcmp(state->what, "iteration") == 0);
    return state->done < *limit;
}

TEST(a_fit_stops_when_told_and_keeps_what_it_has) {
    fixture f;
    open_toss(&f, 11, 1e-3);
    long long limit = 4;
    cri_progress progress = {stop_at, &limit};
    f.problem.progress = &progress;
    cri_fit fit = run(&f);
    CHECK_INT(fit.stop, CRI_LSQ_STOPPED);
    CHECK_INT(fit.n_iteration, 4);
    CHECK(isfinite(fit.rms) && isfinite(fit.entry[0].value));
    clear(&f);
}

// ---- what data cannot tell ---------------------------------------------------------------------

/// Fits names to one recording of all 13 numbers, made from x0 with the scene's own values, and
/// looks for words in the sentence of entry 0.
static void check_open(const char *scene, const char *names, const double *x0, const char *words) {
    fixture f;
    open_fixture(&f, scene, names);
    memcpy(f.x0[0], x0, sizeof f.x0[0]);
    memcpy(f.start.x0, x0, sizeof f.x0[0]);
    cr_test_rng rng = cr_test_rng_of(12);
    record(&f, 0, f.start.p, N_STATE, 1e-4, &rng);
    f.problem.n_recording = 1;
    cri_fit fit = run(&f);
    CHECK(!fit.entry[0].is_identifiable && isnan(fit.entry[0].deviation));
    if (!strstr(fit.entry[0].why, words)) {
        cr_test_fail("\"%s\" lacks \"%s\"", fit.entry[0].why, words);
    }
    clear(&f);
}

TEST(friction_is_open_while_everything_sticks) {
    static const char scene[] =
        "<mujoco><option timestep='.01' gravity='2 0 -9.81'/><worldbody>"
        "<geom name='floor' type='plane' size='9 9 1' friction='.8'/>"
        "<body name='box' pos='0 0 .1'><freejoint/>"
        "<geom name='box' type='box' size='.1 .1 .1' mass='1' friction='.8'/></body></worldbody>"
        "<custom><numeric name='carom:friction:floor:box' data='.8'/></custom></mujoco>";
    const double x0[N_STATE] = {0, 0, .1, 1};
    check_open(scene, "floor:box/friction", x0, "sticks");
    // and without any contact
    const double high[N_STATE] = {0, 0, 5, 1};
    check_open(scene, "floor:box/friction", high, "no contact");
    check_open(scene, "floor:box/restitution", high, "no impact");
}

TEST(friction_at_the_edge_of_sticking_is_a_bound) {
    fixture f;
    open_edge(&f, 0.01, 13);
    cri_fit fit = run(&f);
    CHECK(!fit.entry[0].is_identifiable && isnan(fit.entry[0].deviation));
    CHECK(strstr(fit.entry[0].why, "at least") || strstr(fit.entry[0].why, "sticks"));
    CHECK(fit.entry[1].is_identifiable);
    clear(&f);
}

TEST(restitution_is_open_without_an_impact) {
    const double x0[N_STATE] = {0, 0, 5, 1, 0, 0, 0, 1};
    check_open(toss_text, "floor:ball/restitution,x0:ball/qvel[0]", x0, "no impact");
}

TEST(mass_is_open_in_free_flight) {
    const double x0[N_STATE] = {0, 0, 5, 1, 0, 0, 0, 1, 0, 0, 3};
    check_open(toss_text, "ball/mass,x0:ball/qvel[0]", x0, "flies freely");
}

TEST(inertia_is_open_in_a_head_on_bounce) {
    const double x0[N_STATE] = {0, 0, .4, 1};
    check_open(toss_text, "ball/inertia[0]=ball/inertia[1],floor:ball/restitution", x0, "head-on");
}

CR_TEST_MAIN(shared_values_and_initial_states_are_found_together,
             bits_do_not_depend_on_the_number_of_threads, errors_are_as_large_as_claimed,
             a_quaternion_and_its_negative_are_the_same, a_robust_loss_sees_through_outliers,
             robust_losses_have_their_weights, a_prior_counts_against_the_noise,
             bounds_of_the_user_hold, what_is_held_out_fits_as_well_when_the_model_is_right,
             a_fit_stops_when_told_and_keeps_what_it_has, friction_is_open_while_everything_sticks,
             friction_at_the_edge_of_sticking_is_a_bound, restitution_is_open_without_an_impact,
             mass_is_open_in_free_flight, inertia_is_open_in_a_head_on_bounce)
