// SPDX-License-Identifier: MIT
//
// What the tests of the laws share: the laws and steppers by name, and runs of them.

#pragma once

#include "cr_run.h"
#include "cr_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_LAW = 5, N_STEPPER = 2 };

typedef enum law_index { NCP, NCP_POISSON, CONE, CONE_REG, LCP } law_index;

static const char *const law_names[N_LAW] = {"ncp", "ncp-poisson", "cone", "cone-reg", "lcp"};
static const char *const stepper_names[N_STEPPER] = {"located", "end"};

/// A run with the default options, but for its law and stepper, and without gradients.
static inline cr_run laws_open(const char *scene, const char *law, const char *stepper, double dt) {
    cr_run r = cr_run_open(scene, NULL, 1, dt);
    cr_error err = {0};
    r.options.law = law;
    r.options.stepper = stepper;
    r.options.use_gradient = false;
    cr_sim_destroy(r.sim);
    if (cr_sim_create(r.model, &r.options, &r.sim, &err) != CR_OK) {
        fail_msg("%s", err.text);
    }
    return r;
}

/// One step in place; fails the test when a solve did.
static inline void laws_step(cr_run *r, double *x) {
    cr_error err = {0};
    if (cr_sim_step(r->sim, r->dt, x, r->u, x, &err) != CR_OK) {
        fail_msg("%s", err.text);
    }
    const cr_step_report *report = cr_sim_report(r->sim);
    if (report->outcome != CR_SOLVED) {
        cr_test_fail("%s, %s: a solve missed its tolerance %g times", r->options.law,
                     r->options.stepper, report->residual);
    }
}

/// Says where a check of a loop over laws failed.
static inline void laws_near(const cr_run *r, const char *what, double a, double b,
                             double tolerance) {
    if (!(fabs(a - b) <= tolerance * cr_test_tolerance_scale())) {
        cr_test_fail("%s, %s: %s is %.15g, not %.15g", r->options.law, r->options.stepper, what, a,
                     b);
    }
}
