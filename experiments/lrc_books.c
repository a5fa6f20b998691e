// SPDX-License-Identifier: MIT
//
// lrc-books, Table 2 of paper 002: 20 planks of 2 x 0.4 x 0.2 m and 0.16 kg, plank k from the top
// L/(2k) over the next, each moved back by 2 mm; the lowest stands still, the others move in the
// plane of the overhang. They stand or fall with mu. Steps of 0.01 s, friction 1, as pairs of
// meshes have in the library of the paper, which does not say what it took; at 0.5 the pile slides
// apart at mu 1e-6.
//
// Planks begin where heights and pitches have their least energy, all pairs of triangles pushing.
// There the pile leans, the upper plank by 0.2 rad at mu 1e-6, and friction must hold it. Below the
// speed `slip` it is a fluid's, and what leans creeps at a part of that: 2 mm is all that keeps a
// plank. At mu 1e-5 no such position was found; planks begin flat.
//
// Beside the margin of the top interface stands a closed form: four facing pairs of triangles carry
// a weight, 4 mu C'(D) = -m g, C the centred potential. It meets the table at 1e-5 and 1e-6.
//
// Force error: how far the force between the top two is from the weight m g, in multiples of mu;
// planks farther down carry a part of it.

#include "lrc.h"
#include "lrc_stage.h"

#include "geometry/plane_potential.h"

#include <math.h>

enum { N_PLANK = 20 };

#define WEIGHT (0.16 * 9.81)

// speed below which friction is a fluid's, m/s: planks that lean creep at a part of it
#define SLIP 1e-4

// of plank k from the top, along x
static double shift_of(int k) {
    double x = 0.0;
    for (int i = 0; i < k; i++) {
        x -= 1.0 / (i + 1) - 0.002;
    }
    return x;
}

// of plank k from the top, as it is set down
static double start_height(double mu, int k) {
    return (N_PLANK - 1 - k) * (0.2 + sqrt(60.0 * mu));
}

// planks move in the plane of the overhang; is_bound: heights and pitches alone, no friction
static void write_planks(lrc_text *t, double mu, bool is_bound) {
    const char *along = is_bound ? "" : "<joint type='slide' axis='1 0 0'/>";
    lrc_put(t,
            "<mujoco><option timestep='.01'/><custom><numeric name='carom:potential:mu' data='%g'/>"
            "<numeric name='carom:potential:slip' data='%g'/></custom><worldbody>",
            mu, SLIP);
    for (int k = 0; k < N_PLANK; k++) {
        lrc_put(t, "<body name='p%d' pos='%.9g 0 %.9g'>", k, shift_of(k), start_height(mu, k));
        if (k < N_PLANK - 1) {
            lrc_put(t, "%s<joint type='slide' axis='0 0 1'/><joint axis='0 1 0'/>", along);
        }
        lrc_put(t, "<geom type='box' size='1 .2 .1' mass='.16' friction='%d'/></body>",
                is_bound ? 0 : 1);
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

/// A pile, planks from the top.
typedef struct pile {
    bool is_found;
    double x[N_PLANK], z[N_PLANK], pitch[N_PLANK]; // of the planks that move
    double force;                                  // between the upper two
} pile;

// room between the upper plank and the edge of the next one, over which it hangs
static double top_gap(const pile *p) {
    double c = cos(p->pitch[1]), s = sin(p->pitch[1]);
    double x = p->x[1] + c + 0.1 * s - p->x[0], z = p->z[1] - s + 0.1 * c - p->z[0];
    return -(sin(p->pitch[0]) * x + cos(p->pitch[0]) * z) - 0.1;
}

// force between the upper two planks, geoms 0 and 1
static double top_force(cr_sim *sim, double dt) {
    int n = 0;
    const cr_contact *c = cr_sim_contacts(sim, &n);
    for (int k = 0; k < n; k++) {
        if (c[k].geom[0] == 0 && c[k].geom[1] == 1) {
            return fabs(c[k].impulse[2]) / dt;
        }
    }
    return NAN;
}

// the least energy of heights and pitches: steps of 100 s, each from rest; there may be none
static cr_status settle(double mu, pile *out, cr_error *err) {
    const double dt = 100.0;
    lrc_text t;
    lrc_stage s = {0};
    *out = (pile){0};
    CR_TRY(lrc_text_open(&t, err));
    write_planks(&t, mu, true);
    cr_status status = lrc_stage_open(&t, "longrange", &s, err);
    for (int k = 0; status == CR_OK && !out->is_found && k < 20; k++) {
        double top = s.x[0];
        for (int i = 0; i < s.z.n_q; i++) {
            s.x[s.z.n_q + i] = 0.0;
        }
        status = cr_sim_step(s.sim, dt, s.x, NULL, s.x, err);
        out->is_found = fabs(s.x[0] - top) < 1e-9;
    }
    for (int k = 0; status == CR_OK && k < N_PLANK - 1; k++) {
        out->x[k] = shift_of(k);
        out->z[k] = (out->is_found ? s.x[2 * k] : 0.0) + start_height(mu, k);
        out->pitch[k] = out->is_found ? s.x[2 * k + 1] : 0.0;
    }
    if (status == CR_OK) {
        out->force = top_force(s.sim, dt);
    }
    lrc_stage_close(&s);
    lrc_text_close(&t);
    return status;
}

static cr_status let_go(double mu, const pile *rest, int n_step, int *n_done, pile *end,
                        const cri_experiment_options *options, cri_experiment_result *out,
                        cr_error *err) {
    const double dt = 0.01;
    lrc_text t;
    lrc_stage s = {0};
    CR_TRY(lrc_text_open(&t, err));
    write_planks(&t, mu, false);
    cr_status status = lrc_stage_open(&t, "longrange", &s, err);
    for (int k = 0; status == CR_OK && k < N_PLANK - 1; k++) {
        s.x[3 * k + 1] = rest->z[k] - start_height(mu, k);
        s.x[3 * k + 2] = rest->pitch[k];
    }
    for (int k = 0; status == CR_OK && k < n_step; k++) {
        cri_progress_state state = {"books", (*n_done)++, 0, NAN};
        out->is_interrupted = !cri_progress_tell(options->progress, &state);
        if (out->is_interrupted) {
            break;
        }
        status = cr_sim_step(s.sim, dt, s.x, NULL, s.x, err);
    }
    for (int k = 0; status == CR_OK && k < N_PLANK - 1; k++) {
        end->x[k] = shift_of(k) + s.x[3 * k];
        end->z[k] = start_height(mu, k) + s.x[3 * k + 1];
        end->pitch[k] = s.x[3 * k + 2];
    }
    if (status == CR_OK) {
        end->force = top_force(s.sim, dt);
    }
    lrc_stage_close(&s);
    lrc_text_close(&t);
    return status;
}

static cr_status run_pile(double mu, double paper, int n_step, int *n_done,
                          const cri_experiment_options *options, cri_experiment_result *out,
                          cr_error *err) {
    pile rest, end = {0};
    CR_TRY(settle(mu, &rest, err));
    CR_TRY(let_go(mu, &rest, n_step, n_done, &end, options, out, err));
    if (out->is_interrupted) {
        return CR_OK;
    }
    bool stands = rest.z[0] - end.z[0] < 0.2;
    cri_experiment_add(out, "", "match", stands, mu <= 1e-6, "mu %g, stands after %g s", mu,
                       0.01 * n_step);
    cri_experiment_add(out, "", "match", rest.is_found, NAN, "  there is a position of rest");
    if (stands && rest.is_found) {
        cri_experiment_add(out, "m", "match", top_gap(&end), paper, "  margin of the upper two");
        cri_experiment_add(out, "m", "match", top_gap(&rest), paper, "  of all pairs at rest");
        cri_experiment_add(out, "", "lower", fabs(top_gap(&end) / top_gap(&rest) - 1.0), 0.02,
                           "  relative difference of the two, beside what is asked");
        cri_experiment_add(out, "", "lower", fabs(end.force - WEIGHT) / mu, 6.4e2,
                           "  force error over mu, N/J");
    }
    cri_experiment_add(out, "m", "match", closed_gap(mu), paper, "  four facing pairs");
    return CR_OK;
}

static cr_status run_books(const cri_experiment *self, const cri_experiment_options *options,
                           cri_experiment_result *out, cr_error *err) {
    static const double mus[] = {1e-5, 1e-6, 1e-7, 1e-8, 1e-10};
    static const double paper[] = {1.82e-2, 5.67e-3, 1.47e-3, 4.12e-4, 3.13e-5};
    (void)self;
    int n_mu = options->is_full ? 5 : 2, n_step = options->is_full ? 500 : 60, n_done = 0;
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
