// SPDX-License-Identifier: MIT
//
// The tables of docs/laws/cone.md and docs/laws/lcp.md, in Markdown on standard output:
//
//     build/release/test/physics_laws_table
//
// A plate of 1 kg that cannot tip (its corners move as one point), default time step 0.002 s.

#include "carom/carom.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double g = 9.81, dt = 0.002, pi = 3.14159265358979323846;

static void must(cr_status status, const cr_error *err) {
    if (status != CR_OK) {
        fprintf(stderr, "%s\n", err->text);
        exit(1);
    }
}

/// A plate on a plane.
typedef struct plate {
    cr_model *model;
    cr_sim *sim;
    double x[13];
} plate;

static plate open_plate(const char *law, const char *stepper, double slope, double yaw, double mu) {
    plate p = {0};
    cr_error err = {0};
    char scene[1024];
    snprintf(scene, sizeof scene,
             "<mujoco><option gravity='%.17g %.17g %.17g'/><custom>"
             "<numeric name='carom:friction:floor:plate' data='%g'/></custom><worldbody>"
             "<geom name='floor' type='plane' size='9 9 1'/><body pos='0 0 0.05'><freejoint/>"
             "<inertial pos='0 0 0' mass='1' diaginertia='1e9 1e9 1e9'/>"
             "<geom name='plate' type='box' size='0.1 0.1 0.05'/></body></worldbody></mujoco>",
             g * sin(slope) * cos(yaw), g * sin(slope) * sin(yaw), -g * cos(slope), mu);
    must(cr_model_parse(scene, strlen(scene), "plate", &p.model, &err), &err);
    cr_sim_options options = cr_sim_options_default(p.model);
    options.law = law;
    options.stepper = stepper;
    options.use_gradient = false;
    must(cr_sim_create(p.model, &options, &p.sim, &err), &err);
    cr_model_defaults(p.model, -1, NULL, p.x, NULL);
    return p;
}

static void close_plate(plate *p) {
    cr_sim_destroy(p->sim);
    cr_model_destroy(p->model);
}

// returns whether something touched
static bool step(plate *p) {
    cr_error err = {0};
    int n;
    must(cr_sim_step(p->sim, dt, p->x, NULL, p->x, &err), &err);
    cr_sim_contacts(p->sim, &n);
    return n > 0;
}

// one plate that slides at 2 m/s until it stops
static void slide_row(const char *law, const char *stepper, double mu) {
    plate p = open_plate(law, stepper, 0.0, 0.0, mu);
    double speed = 2.0, lift = 0.0, top = 0.0, theory = 0.0, time = 0.0;
    int n = 0, n_air = 0;
    p.x[7] = speed;
    for (; p.x[7] > 1e-6 && n < 5000; n++) {
        bool has_touched = step(&p);
        n_air += !has_touched;
        top = fmax(top, p.x[2] - 0.05);
        if (has_touched && lift == 0.0) {
            lift = p.x[9] / (mu * p.x[7]);
            theory = 0.5 * mu * mu * p.x[7] * p.x[7] / g;
        }
        time = n * dt;
    }
    printf("| %g | %s | %s | %.3f | %.2f | %.2f | %.0f | %.4f | %.4f | %.3f | %.3f |\n", mu, law,
           stepper, lift, 1e3 * top, strncmp(law, "cone", 4) == 0 ? 1e3 * theory : 0.0,
           100.0 * n_air / n, p.x[0], 0.5 * speed * speed / (mu * g), time, speed / (mu * g));
    close_plate(&p);
}

static void slide_table(void) {
    static const double friction[] = {0.1, 0.3, 0.5, 0.8};
    static const char *const run[][2] = {
        {"ncp", "located"}, {"cone", "located"}, {"cone", "end"}, {"cone-reg", "end"}};
    printf(
        "| mu | law | stepper | lift v_n/(mu v_t) | highest hop, mm | theory | steps in the air, "
        "%% | distance, m | Coulomb | time, s | Coulomb |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 4; k++) {
            slide_row(run[k][0], run[k][1], friction[i]);
        }
    }
}

// one second down an incline of 0.4 rad with mu = 0.3, by the direction of the fall line
static void direction_table(void) {
    const double slope = 0.4, mu = 0.3, fall = g * (sin(slope) - mu * cos(slope));
    static const char *const law[] = {"ncp", "lcp"};
    printf("\n| fall line, degrees | ncp turned | ncp speed | lcp turned | lcp speed |\n"
           "|---|---|---|---|---|\n");
    for (int i = 0; i <= 8; i++) {
        double yaw = pi * i / 32.0;
        printf("| %.3f |", 180.0 * yaw / pi);
        for (int k = 0; k < 2; k++) {
            plate p = open_plate(law[k], "located", slope, yaw, mu);
            for (int n = 0; n < 500; n++) {
                step(&p);
            }
            printf(" %.3f | %.4f |", 180.0 * (atan2(p.x[8], p.x[7]) - yaw) / pi,
                   hypot(p.x[7], p.x[8]) / fall);
            close_plate(&p);
        }
        printf("\n");
    }
}

int main(void) {
    slide_table();
    direction_table();
    return 0;
}
