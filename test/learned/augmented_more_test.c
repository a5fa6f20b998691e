// SPDX-License-Identifier: MIT
//
// Nets beyond their training, of bodies that rebound, at the end of a chain, and from recordings.

#include "cr_test.h"

#include "learned/augmented.h"
#include "model/scene/load.h"
#include "solvers/powell.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define GROUND                                                                                     \
    "<option timestep='0.002'/><worldbody>"                                                        \
    "<geom name='ground' type='plane' size='5 5 0.1' friction='0.5'/>"
#define PLANAR                                                                                     \
    "<joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/>"                         \
    "<joint type='hinge' axis='0 -1 0'/>"
#define LINK(at, touches)                                                                          \
    "<geom name='" at "' type='box' pos='0.1 0 0' size='0.1 0.025 0.025' mass='0.5' "              \
    "friction='0.5' contype='" touches "' conaffinity='" touches "'/>"
#define HINGE "<joint type='hinge' axis='0 -1 0'/>"

static const char alone[] =
    "<mujoco>" GROUND "<body name='last'>" PLANAR LINK("c", "1") "</body></worldbody></mujoco>";
static const char bouncy[] =
    "<mujoco><custom><numeric name='carom:restitution:c' data='0.6'/></custom>" GROUND
    "<body name='last'>" PLANAR LINK("c", "1") "</body></worldbody></mujoco>";
static const char chain[] = "<mujoco>" GROUND "<body name='first' pos='0 0 0.5'>" HINGE
    LINK("a", "0") "<body name='second' pos='0.2 0 0'>" HINGE LINK(
        "b", "0") "<body name='last' "
                  "pos='0.2 0 0'>" HINGE LINK("c",
                                              "1") "</body></body></body></worldbody></mujoco>";
static const char limp[] = "<mujoco>" GROUND "<body name='first' pos='0 0 0.5'>" HINGE
    LINK("a", "0") "<body name='last' pos='0.2 0 0'><joint type='ball'/>" LINK(
        "c", "1") "</body></body></worldbody></mujoco>";

static cr_arena *arena;
static cri_ground_nets nets_alone; // of the first test

static void train(const char *scene, const cri_ground_record *record, cri_ground_nets *nets,
                  cri_augmented_score *score) {
    cr_error err = {0};
    cr_model *model = NULL;
    cri_augmented_options o = cri_augmented_options_default();
    o.n_sample[0] = o.n_sample[1] = 2000;
    o.n_epoch = 40;
    o.batch = 64;
    o.record = record;
    arena = arena ? arena : cri_arena_create(1 << 20);
    CHECK_INT(cr_model_parse(scene, strlen(scene), "scene.xml", &model, &err), CR_OK);
    CHECK_INT(cri_augmented_train(model, &o, nets, score, arena, &err), CR_OK);
    cr_model_destroy(model);
}

static cr_model *parse(const char *text, cri_ground_nets *nets) {
    cr_model *model = NULL;
    cr_error err = {0};
    CHECK_INT(cri_model_parse_with(text, strlen(text), "scene.xml", nets, &model, &err), CR_OK);
    return model;
}

static cr_sim *open_sim(const cr_model *model, const char *law, const char *stepper,
                        const char *outside) {
    cr_sim *sim = NULL;
    cr_error err = {0};
    cr_sim_options options = cr_sim_options_default(model);
    options.law = law;
    options.stepper = stepper;
    options.outside = outside;
    CHECK_INT(cr_sim_create(model, &options, &sim, &err), CR_OK);
    return sim;
}

TEST(a_state_beyond_training_is_flagged_and_falls_back) {
    cri_augmented_score score[CRI_GROUND_KINDS];
    train(alone, NULL, &nets_alone, score);
    cr_model *model = parse(alone, &nets_alone);
    static const char *const word[] = {NULL, "net", "analytic", "stop"};
    // a throw within, then one at 300 m/s that slides, where nets are not the law
    const double x[2][6] = {{0, 0.02, 0.7, 2, -2, 1}, {0, 0.058, 0.7, 300, -20, 1}};
    double end[2][6], by_net[6], same[6];
    cr_error err = {0};
    cr_sim *lcp = open_sim(model, "lcp", "end", NULL);
    for (int k = 0; k < 4; k++) {
        cr_sim *sim = open_sim(model, "augmented", "end", word[k]);
        for (int fast = 0; fast < 2; fast++) {
            memcpy(same, x[fast], sizeof same);
            memcpy(end[fast], x[fast], sizeof same);
            cr_status status = cr_sim_step(sim, 0.002, same, NULL, end[fast], &err);
            CHECK_INT(status, fast && k == 3 ? CR_ERR_NUMERIC : CR_OK);
            if (status == CR_OK) {
                CHECK_INT(cr_sim_report(sim)->n_outside, fast);
                CHECK(cr_sim_report(sim)->n_event > 0);
            }
        }
        if (k == 1) {
            memcpy(by_net, end[1], sizeof by_net);
        }
        if (k == 2) {
            double by_law[6], adj[6] = {1, 0, 1, 1, 0, 1}, x_adj[2][6] = {{0}};
            CHECK_INT(cr_sim_step_vjp(sim, adj, x_adj[0], NULL, NULL, &err), CR_OK);
            CHECK_INT(cr_sim_step(lcp, 0.002, x[1], NULL, by_law, &err), CR_OK);
            CHECK_INT(cr_sim_step_vjp(lcp, adj, x_adj[1], NULL, NULL, &err), CR_OK);
            for (int i = 0; i < 6; i++) {
                CHECK_CLOSE(end[1][i], by_law[i], 1e-9, 1e-9);
                CHECK_CLOSE(x_adj[0][i], x_adj[1][i], 1e-6, 1e-6);
            }
            CHECK(fabs(by_net[3] - by_law[3]) > 1e-3);
        }
        cr_sim_destroy(sim);
    }
    CHECK(strstr(err.text, "last") != NULL);
    cr_sim_destroy(lcp);
    cr_sim_options options = cr_sim_options_default(model);
    options.outside = "maybe";
    CHECK_INT(cr_sim_create(model, &options, &lcp, &err), CR_ERR_ARGUMENT);
    CHECK(strstr(err.text, "net, analytic or stop") != NULL);
    cr_model_destroy(model);
}

TEST(what_rebounds_is_learned) {
    cri_ground_nets nets;
    cri_augmented_score score[CRI_GROUND_KINDS];
    train(bouncy, NULL, &nets, score);
    CHECK(nets.has_restitution);
    CHECK(score[0].rebound < 0.25);
    cr_model *model = parse(bouncy, &nets);
    // on its corner, without turning: velocities up that the nets and the law of their labels make
    double most[2] = {0.0, 0.0};
    for (int k = 0; k < 2; k++) {
        cr_sim *sim = open_sim(model, k == 0 ? "augmented" : "lcp", "located", NULL);
        double x[6] = {0, 0.3, 0.8, 0, -2, 0};
        cr_error err = {0};
        for (int i = 0; i < 400; i++) {
            CHECK_INT(cr_sim_step(sim, 0.002, x, NULL, x, &err), CR_OK);
            most[k] = fmax(most[k], x[4]);
            CHECK(cr_sim_report(sim)->penetration <= 1e-6);
        }
        cr_sim_destroy(sim);
    }
    CHECK(most[1] > 0.3);
    CHECK_CLOSE(most[0], most[1], 0.0, 0.2);
    cr_model_destroy(model);
}

TEST(a_chain_takes_nets_of_its_last_link) {
    if (!cri_powell_exists()) {
        SKIP("this build has no cminpack");
    }
    cri_ground_nets nets = nets_alone;
    cr_model *model = parse(chain, &nets);
    cr_sim *ours = open_sim(model, "augmented", "located", NULL);
    cr_sim *truth = open_sim(model, "lcp", "located", NULL);
    double x[6] = {0}, y[6] = {0};
    int n_solve = 0, n_evaluation = 0;
    cr_error err = {0};
    for (int i = 0; i < 300; i++) {
        CHECK_INT(cr_sim_step(ours, 0.002, x, NULL, x, &err), CR_OK);
        CHECK_INT(cr_sim_step(truth, 0.002, y, NULL, y, &err), CR_OK);
        const cr_step_report *r = cr_sim_report(ours);
        n_solve += r->n_joint_force > 0;
        n_evaluation += r->n_joint_force;
        CHECK(r->penetration <= 1e-6);
        CHECK_INT(r->outcome, CR_SOLVED);
    }
    CHECK(n_solve > 10 && n_evaluation < 40 * n_solve);
    for (int i = 0; i < 3; i++) {
        CHECK_CLOSE(x[i], y[i], 0.2, 0.0);
    }
    cr_sim_destroy(ours);
    cr_sim_destroy(truth);
    cr_model_destroy(model);

    // bodies and joints that do not fit are named
    CHECK_INT(cri_model_parse_with(limp, strlen(limp), "limp.xml", &nets, &model, &err),
              CR_ERR_UNSUPPORTED);
    CHECK(strstr(err.text, "no hinge") != NULL);
    strcpy(nets.body, "foot");
    CHECK_INT(cri_model_parse_with(chain, strlen(chain), "chain.xml", &nets, &model, &err),
              CR_ERR_ARGUMENT);
    CHECK(strstr(err.text, "foot") && strstr(err.text, "last"));
}

// velocities before and after differ by impulses that are known: they are what a record says. The
// link alone is a box of 0.2 x 0.05 m whose middle is 0.1 m from its frame, 0.5 kg
TEST(a_record_has_the_impulse_that_made_it) {
    enum { N = 4 };
    static const double m = 0.5, inertia = 0.5 / 3.0 * (0.1 * 0.1 + 0.025 * 0.025);
    // on a corner at two angles; on the lower face and on the upper one
    static const double angle[N] = {0.4, 2.2, 0.0, 3.14159265358979};
    // friction, and what pushes at the ends in the order of x
    static const double p[N][3] = {
        {0.11, 0.3, 0.0}, {-0.07, 0.2, 0.0}, {0.05, 0.2, 0.3}, {-0.04, 0.1, 0.25}};
    double q[3 * N], before[3 * N], after[3 * N];
    for (int i = 0; i < N; i++) {
        double c = cos(angle[i]), s = sin(angle[i]), low[2] = {0.0, INFINITY}, width = 0.0;
        // corners from the middle, by the angle from x to z; their height does not count
        for (int k = 0; k < 4; k++) {
            double x = k % 2 ? 0.1 : -0.1, z = k / 2 ? 0.025 : -0.025;
            double at[2] = {c * x - s * z, s * x + c * z};
            width = fabs(at[1] - low[1]) < 1e-9 ? fabs(at[0] - low[0]) : width;
            memcpy(low, at[1] < low[1] - 1e-9 ? at : low, sizeof low);
        }
        // the frame is 0.1 m behind the middle along the link
        double arm[2] = {width > 0.0 ? 0.0 : low[0], low[1]};
        double push = p[i][1] + p[i][2];
        double moment = width > 0.0 ? 0.5 * width * (p[i][2] - p[i][1]) : arm[0] * push;
        double spin = 3.0, spin_after = spin + (moment - arm[1] * p[i][0]) / inertia;
        memcpy(q + 3 * i, (double[3]){-0.1 * c, -low[1] - 0.1 * s, angle[i]}, sizeof(double) * 3);
        // velocities of the frame, from those of the middle
        double v[2] = {1.0, -2.0}, w[2] = {1.0 + p[i][0] / m, -2.0 + push / m};
        memcpy(before + 3 * i, (double[3]){v[0] + 0.1 * s * spin, v[1] - 0.1 * c * spin, spin},
               sizeof(double) * 3);
        memcpy(after + 3 * i,
               (double[3]){w[0] + 0.1 * s * spin_after, w[1] - 0.1 * c * spin_after, spin_after},
               sizeof(double) * 3);
    }
    cri_ground_record record = {
        .n = N, .q = q, .before = before, .after = after, .reach = 1e-7, .gap = 1e-3};
    cr_model *model = parse(alone, NULL);
    cr_error err = {0};
    for (int kind = 0; kind < 2; kind++) {
        cri_ground_data data;
        CHECK_INT(cri_ground_take_record(model, (cri_ground_kind)kind, &record, &data, arena, &err),
                  CR_OK);
        CHECK_INT(data.n, 2);
        for (int i = 0; i < data.n; i++) {
            const double *known = p[2 * kind + i], *said = data.impulse + data.n_row * i;
            for (int r = 0; r < data.n_row; r++) {
                CHECK_CLOSE(data.scale[i] * said[r], known[r], 1e-9, 0.0);
            }
        }
    }
    cr_model_destroy(model);
}

enum { MOST_ROW = 4000 };

/// Transitions between rows of throws at 2 ms.
typedef struct rows {
    double from[3 * MOST_ROW], q[3 * MOST_ROW], before[3 * MOST_ROW], after[3 * MOST_ROW];
    double span[MOST_ROW];
    int n, n_impact;
    bool is_first[MOST_ROW], is_last[MOST_ROW]; // of a throw
} rows;

// throws of the bouncing link until two rows behind the first impact
static void throw_often(const cr_model *model, rows *out) {
    cr_sim *sim = open_sim(model, "lcp", "located", NULL);
    cr_error err = {0};
    for (int k = 0; out->n + 200 < MOST_ROW; k++) {
        double x[6] = {0, 0.35, 0.37 * k, 2 * sin(1.0 + k), 0, 5 * sin(2.0 * k)};
        for (int first = out->n, n_left = 200; n_left > 0; n_left--, out->n++) {
            int n = out->n;
            memcpy(out->from + 3 * n, x, sizeof(double) * 3);
            memcpy(out->before + 3 * n, x + 3, sizeof(double) * 3);
            out->before[3 * n + 1] -= 9.81 * 0.002;
            CHECK_INT(cr_sim_step(sim, 0.002, x, NULL, x, &err), CR_OK);
            memcpy(out->q + 3 * n, x, sizeof(double) * 3);
            memcpy(out->after + 3 * n, x + 3, sizeof(double) * 3);
            out->span[n] = 0.002;
            bool is_hit = cr_sim_report(sim)->n_event > 0;
            out->n_impact += is_hit;
            n_left = is_hit && n_left > 3 ? 3 : n_left;
            out->is_first[n] = n == first;
            out->is_last[n] = n_left == 1;
        }
    }
    cr_sim_destroy(sim);
}

// differences to the rows beside a transition for its velocities
static void take_differences(rows *r) {
    for (int i = 0; i < r->n; i++) {
        for (int k = 0; k < 3 && !r->is_first[i] && !r->is_last[i]; k++) {
            int at = 3 * i + k;
            r->before[at] = (r->q[at - 3] - r->from[at - 3]) / 0.002 - (k == 1 ? 9.81 * 0.004 : 0);
            r->after[at] = (r->q[at + 3] - r->from[at + 3]) / 0.002;
        }
    }
}

// how many impacts are found, of which with the restitution that they had; and states that close
// without an impulse
static void find_impacts(const cr_model *model, const rows *r, bool is_difference, int *n_found,
                         int *n_like, int *n_closing_on) {
    cri_ground_record record = {.n = r->n,
                                .q = r->q,
                                .before = r->before,
                                .after = r->after,
                                .from = r->from,
                                .span = r->span,
                                .is_difference = is_difference,
                                .noise = 1e-3,
                                .reach = 1e-3,
                                .gap = 1e-3};
    cr_error err = {0};
    *n_found = *n_like = *n_closing_on = 0;
    for (int kind = 0; kind < 2; kind++) {
        cri_ground_data data;
        CHECK_INT(cri_ground_take_record(model, (cri_ground_kind)kind, &record, &data, arena, &err),
                  CR_OK);
        for (int i = 0; i < data.n; i++) {
            bool is_away = data.label[i] == CRI_GROUND_DETACH;
            *n_found += !is_away;
            *n_like += !is_away && fabs(data.restitution[i] - 0.6) < 0.05;
            // input 1 is the normal speed of an end
            *n_closing_on += is_away && data.input[data.n_input * i + 1] < -1e-3;
        }
    }
    print_message("%d impacts, %d found, %d of them rebound by 0.6; %d that close on\n",
                  r->n_impact, *n_found, *n_like, *n_closing_on);
}

// rows are at any time around an impact, and what is about to touch is no contact
TEST(impacts_are_found_between_rows) {
    static rows r;
    cr_model *model = parse(bouncy, NULL);
    throw_often(model, &r);
    int n_found, n_like, n_closing_on;
    CHECK(r.n_impact > 20);
    find_impacts(model, &r, false, &n_found, &n_like, &n_closing_on);
    CHECK_INT(n_found, r.n_impact);
    CHECK_INT(n_closing_on, 0);
    CHECK(n_like >= 0.9 * r.n_impact);
    // differences see neither the gravity within them nor how a corner turns: 27 of 32
    take_differences(&r);
    find_impacts(model, &r, true, &n_found, &n_like, &n_closing_on);
    CHECK(n_found > 0.8 * r.n_impact && n_found <= r.n_impact);
    CHECK_INT(n_closing_on, 0);
    CHECK(n_like >= 0.75 * n_found);
    cr_model_destroy(model);
}

// a box that slides 5e-5 m above the ground meets it in every row by differences: one such row does
// not silence those behind it
TEST(a_slide_above_the_ground_is_not_one_impact) {
    enum { N = 40 };
    static double q[3 * N], from[3 * N], before[3 * N], after[3 * N], span[N];
    cr_model *model = parse(bouncy, NULL);
    for (int i = 0; i < N; i++) {
        double v = 2.0 - 0.01 * i, z = 0.025 + 5e-5;
        const double at[3] = {0.004 * i, z, 0.0}, next[3] = {0.004 * (i + 1), z, 0.0};
        const double old[3] = {v, -9.81 * 0.004, 0.0}, new[3] = {v - 0.01, 0.0, 0.0};
        memcpy(from + 3 * i, at, sizeof at);
        memcpy(q + 3 * i, next, sizeof next);
        memcpy(before + 3 * i, old, sizeof old);
        memcpy(after + 3 * i, new, sizeof new);
        span[i] = 0.002;
    }
    cri_ground_record record = {.n = N,
                                .q = q,
                                .before = before,
                                .after = after,
                                .from = from,
                                .span = span,
                                .is_difference = true,
                                .noise = 1e-3,
                                .reach = 1e-3,
                                .gap = 1e-3};
    cri_ground_data data;
    cr_error err = {0};
    CHECK_INT(cri_ground_take_record(model, CRI_GROUND_LINE, &record, &data, arena, &err), CR_OK);
    CHECK(data.n >= N / 2);
    cr_model_destroy(model);
}

// transitions of the scene's own simulation are what it samples
TEST(recordings_teach_what_samples_do) {
    enum { N = 3000 };
    static double q[3 * N], before[3 * N], after[3 * N];
    cr_model *model = parse(alone, NULL);
    cr_sim *sim = open_sim(model, "lcp", "end", NULL);
    cr_error err = {0};
    int n = 0;
    for (int k = 0; n < N; k++) {
        double x[6] = {0, 0.15, 0.37 * k, 3 * sin(1.0 + k), -2, 9 * sin(2.0 * k)}, next[6];
        for (int i = 0; i < 150 && n < N; i++) {
            CHECK_INT(cr_sim_step(sim, 0.002, x, NULL, next, &err), CR_OK);
            if (cr_sim_report(sim)->n_event > 0) {
                memcpy(q + 3 * n, next, sizeof(double) * 3);
                memcpy(before + 3 * n, x + 3, sizeof(double) * 3);
                before[3 * n + 1] -= 9.81 * 0.002;
                memcpy(after + 3 * n++, next + 3, sizeof(double) * 3);
            }
            memcpy(x, next, sizeof x);
        }
    }
    cr_sim_destroy(sim);
    cri_ground_record record = {.n = n,
                                .q = q,
                                .before = before,
                                .after = after,
                                .noise = 1e-4,
                                .reach = 1e-3,
                                .gap = 1e-3};
    cri_ground_nets nets;
    cri_augmented_score score[CRI_GROUND_KINDS];
    train(alone, &record, &nets, score);
    CHECK(score[0].n_train + score[1].n_train > 2000);
    CHECK(score[0].accuracy > 0.8);

    // and a law predicts its own
    static double said[3 * N];
    record.n = 200;
    CHECK_INT(cri_ground_predict(model, "lcp", &record, said, &err), CR_OK);
    int n_near = 0;
    for (int i = 0; i < 200; i++) {
        n_near +=
            fabs(said[3 * i] - after[3 * i]) + fabs(said[3 * i + 1] - after[3 * i + 1]) < 0.05;
    }
    CHECK(n_near > 150);
    record.gap = -1.0;
    cri_augmented_options o = cri_augmented_options_recorded(&record);
    CHECK_INT(cri_augmented_train(model, &o, &nets, score, arena, &err), CR_ERR_ARGUMENT);
    CHECK(strstr(err.text, "no contact") != NULL);
    cr_model_destroy(model);
    cri_arena_destroy(arena);
}

CR_TEST_MAIN(a_state_beyond_training_is_flagged_and_falls_back, what_rebounds_is_learned,
             a_chain_takes_nets_of_its_last_link, a_record_has_the_impulse_that_made_it,
             impacts_are_found_between_rows, a_slide_above_the_ground_is_not_one_impact,
             recordings_teach_what_samples_do)
