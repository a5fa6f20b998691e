// SPDX-License-Identifier: MIT
//
// lrc-books, Table 2 of paper 002: 20 planks of 2 x 0.4 x 0.2 m and 0.16 kg, plank k from the top
// L/(2k) over the next, each moved back by 2 mm; the lowest stands still. They stand or fall with
// mu. Friction 0.5, steps of 0.01 s: the paper does not say.
//
// Beside the margin of the top interface stands a closed form: four facing pairs of triangles carry
// a weight, 4 mu C'(D) = -m g, C the centred potential. It meets the table at 1e-5 and 1e-6; the
// simulation, in which all pairs push, stays farther apart.
//
// Force error: how far the force between the top two is from the weight m g, in multiples of mu.

#include "lrc.h"
#include "lrc_stage.h"

#include "geometry/plane_potential.h"

#include <math.h>

enum { N_PLANK = 20 };

#define WEIGHT (0.16 * 9.81)

// of plank k from the top, along x
static double shift_of(int k) {
    double x = 0.0;
    for (int i = 0; i < k; i++) {
        x -= 1.0 / (i + 1) - 0.002;
    }
    return x;
}

static void write_planks(lrc_text *t, double mu, double gap) {
    lrc_put(t,
            "<mujoco><option timestep='.01'/><custom><numeric name='carom:potential:mu' data='%g'/>"
            "</custom><worldbody>",
            mu);
    for (int k = 0; k < N_PLANK; k++) {
        lrc_put(t,
                "<body name='p%d' pos='%.9g 0 %.9g'>%s<geom type='box' size='1 .2 .1' mass='.16' "
                "friction='.5'/></body>",
                k, shift_of(k), (N_PLANK - 1 - k) * (0.2 + gap),
                k == N_PLANK - 1 ? "" : "<freejoint/>");
    }
    lrc_put(t, "</worldbody></mujoco>");
}

// gap at which four pairs of triangles carry a weight
static double closed_gap(double mu) {
    double low = 1e-9, high = 1.0;
    for (int i = 0; i < 200; i++) {
        double middle = sqrt(low * high), C[3];
        cri_centred_potential(middle, 1.0, C);
        *(-4.0 * mu * C[1] > WEIGHT ? &low : &high) = middle;
    }
    return low;
}

// ---- the run -----------------------------------------------------------------------------------

// room between the upper two planks, geoms 0 and 1, and the force
static double top_gap(cr_sim *sim, double dt, double *force) {
    int n = 0;
    const cr_contact *c = cr_sim_contacts(sim, &n);
    *force = NAN;
    for (int k = 0; k < n; k++) {
        if (c[k].geom[0] == 0 && c[k].geom[1] == 1) {
            *force = fabs(c[k].impulse[2]) / dt;
            return c[k].gap;
        }
    }
    return INFINITY;
}

static cr_status run_pile(double mu, double paper, int n_step, int *n_done,
                          const cri_experiment_options *options, cri_experiment_result *out,
                          cr_error *err) {
    const double dt = 0.01;
    lrc_text t;
    lrc_stage s = {0};
    double force;
    CR_TRY(lrc_text_open(&t, err));
    write_planks(&t, mu, sqrt(60.0 * mu));
    cr_status status = lrc_stage_open(&t, "longrange", &s, err);
    double start = status == CR_OK ? s.x[2] : 0.0;
    for (int k = 0; status == CR_OK && k < n_step; k++) {
        cri_progress_state state = {"books", (*n_done)++, 0, NAN};
        out->is_interrupted = !cri_progress_tell(options->progress, &state);
        if (out->is_interrupted) {
            break;
        }
        status = cr_sim_step(s.sim, dt, s.x, NULL, s.x, err);
    }
    if (status == CR_OK && !out->is_interrupted) {
        bool stands = start - s.x[2] < 0.2;
        cri_experiment_add(out, "", "match", stands, mu <= 1e-6, "mu %g, stands after %g s", mu,
                           dt * n_step);
        double gap = top_gap(s.sim, dt, &force);
        if (stands) {
            cri_experiment_add(out, "m", "match", gap, paper, "mu %g, margin of the upper two", mu);
            cri_experiment_add(out, "", "lower", fabs(force - WEIGHT) / mu, 6.4e2,
                               "  force error over mu, N/J");
        }
        cri_experiment_add(out, "m", "match", closed_gap(mu), paper, "  four facing pairs");
    }
    lrc_stage_close(&s);
    lrc_text_close(&t);
    return status;
}

static cr_status run_books(const cri_experiment *self, const cri_experiment_options *options,
                           cri_experiment_result *out, cr_error *err) {
    static const double mus[] = {1e-5, 1e-6, 1e-7, 1e-8, 1e-10};
    static const double paper[] = {1.82e-2, 5.67e-3, 1.47e-3, 4.12e-4, 3.13e-5};
    (void)self;
    int n_mu = options->is_full ? 5 : 2, n_step = options->is_full ? 500 : 50, n_done = 0;
    for (int i = 0; i < n_mu && !out->is_interrupted; i++) {
        CR_TRY(run_pile(mus[i], paper[i], n_step, &n_done, options, out, err));
    }
    return CR_OK;
}

const cri_experiment cri_lrc_books = {
    .name = "lrc-books",
    .summary = "20 planks that overhang: for which mu they stand (Table 2 of paper 002)",
    .run = run_books,
};
