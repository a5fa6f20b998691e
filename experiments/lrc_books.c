// SPDX-License-Identifier: MIT
//
// lrc-books, Table 2 of paper 002: 20 planks of 2 x 0.4 x 0.2 m and 0.16 kg, plank k from the top
// L/(2k) over the next, each moved back by 2 mm; the lowest stands still, the others move in the
// plane of the overhang. They stand or fall with mu. Steps of 0.04 s, friction 1, as pairs of
// meshes have in the library of the paper, which does not say what it took.
//
// Planks begin where heights and pitches have their least energy, all pairs of triangles pushing.
// There the pile leans, and friction must hold it: at mu 1e-6 the upper plank by 0.19 rad, at 1e-5
// by 0.89 rad, where a friction of 1 holds up to 0.79. Below the speed `slip` friction is a
// fluid's, and what leans creeps at a part of that: 2 mm is all that keeps a plank.
//
// Beside the margin of the top interface stands a closed form: four facing pairs of triangles carry
// a weight, 4 mu C'(D) = -m g, C the centred potential. It meets the table at 1e-5 and 1e-6.
//
// Force error, in multiples of mu. The paper's row is 6.4e2 mu at every mu, "the error between the
// contact force the top plank received from adjacent planks and the theoretical value". Two
// measures are told:
//
//   all planks   how far what all of them do to the upper one is from its weight: m (a + g) by its
//                motion. Any pile at rest keeps that small.
//   the next     how far the next plank alone, pushing and rubbing, is from carrying the weight: at
//                rest that is what the planks beyond it do, which do not touch. It is proportional
//                to mu, as the paper's row is, since their distances are those of planks.
//
// Beside the second stands the same for the four facing pairs of triangles of each plank beyond the
// next, in a flat pile.

#include "lrc.h"
#include "lrc_stage.h"

#include "energy/plane_potential.h"

#include <math.h>

enum { N_PLANK = 20 };

#define WEIGHT (0.16 * 9.81)

// speed below which friction is a fluid's, m/s: planks that lean creep at a part of it
#define SLIP 1e-6

#define DT 0.04 // s

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

/// A pile, planks from the top.
typedef struct pile {
    bool is_found;
    double x[N_PLANK], z[N_PLANK], pitch[N_PLANK]; // the lowest stands still
    double beyond;                                 // on the upper one, by all but the next, N
} pile;

// flat, as it is set down
static pile flat_pile(double mu) {
    pile p = {0};
    for (int k = 0; k < N_PLANK; k++) {
        p.x[k] = shift_of(k);
        p.z[k] = start_height(mu, k);
    }
    return p;
}

// planks move in the plane of the overhang; is_bound: heights and pitches alone, no friction
static void write_planks(lrc_text *t, double mu, const pile *at, bool is_bound) {
    const char *along = is_bound ? "" : "<joint type='slide' axis='1 0 0'/>";
    lrc_put(t,
            "<mujoco><custom><numeric name='carom:potential:mu' data='%g'/>"
            "<numeric name='carom:potential:slip' data='%g'/></custom><worldbody>",
            mu, SLIP);
    for (int k = 0; k < N_PLANK; k++) {
        // the plank is a body in a body, so that joints are along the axes of the world
        double half = 0.5 * at->pitch[k];
        lrc_put(t, "<body name='p%d' pos='%.17g 0 %.17g'>", k, at->x[k], at->z[k]);
        if (k < N_PLANK - 1) {
            lrc_put(t, "%s<joint type='slide' axis='0 0 1'/><joint axis='0 1 0'/>", along);
        }
        lrc_put(t,
                "<body quat='%.17g 0 %.17g 0'><geom type='box' size='1 .2 .1' mass='.16' "
                "friction='%d'/></body></body>",
                cos(half), sin(half), is_bound ? 0 : 1);
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

// room between the upper plank and the edge of the next one, over which it hangs
static double top_gap(const pile *p) {
    double c = cos(p->pitch[1]), s = sin(p->pitch[1]);
    double x = p->x[1] + c + 0.1 * s - p->x[0], z = p->z[1] - s + 0.1 * c - p->z[0];
    return -(sin(p->pitch[0]) * x + cos(p->pitch[0]) * z) - 0.1;
}

// vertical force on the upper plank, geom 0, by all but the next one, geom 1
static double force_beyond(cr_sim *sim, double dt) {
    int n = 0;
    double sum = 0.0;
    const cr_contact *c = cr_sim_contacts(sim, &n);
    for (int k = 0; k < n; k++) {
        sum -= c[k].geom[0] == 0 && c[k].geom[1] > 1 ? c[k].impulse[2] / dt : 0.0;
    }
    return sum;
}

// corners of one of the two triangles of a face, seen from above
static void face_corners(int triangle, double x, double z, double out[9]) {
    static const double side[2][3][2] = {{{-1, -1}, {1, -1}, {1, 1}}, {{-1, -1}, {1, 1}, {-1, 1}}};
    for (int i = 0; i < 3; i++) {
        out[3 * i] = x + side[triangle][i][0];
        out[3 * i + 1] = 0.2 * side[triangle][i][1];
        out[3 * i + 2] = z;
    }
}

// the same force over mu, by the lower face of the upper plank and the upper faces of the others,
// in a flat pile whose k-th gap carries k weights: the first one over the root of k
static double facing_beyond(double gap) {
    double sum = 0.0, z = -0.1 - gap;
    for (int k = 2; k < N_PLANK; k++) {
        z -= 0.2 + gap / sqrt(k);
        for (int pair = 0; pair < 4; pair++) {
            double x[18], value, g[18];
            cri_plane_force cache;
            face_corners(pair / 2, 0.0, -0.1, x);
            face_corners(pair % 2, shift_of(k), z, x + 9);
            if (cri_plane_potential(x, 1.0, NULL, &value, g, &cache)) {
                sum -= g[2] + g[5] + g[8];
            }
        }
    }
    return sum;
}

// positions q of the joints of a pile
static void read_planks(const pile *from, const double *q, bool is_bound, pile *out) {
    *out = *from;
    int n = is_bound ? 2 : 3;
    for (int k = 0; k < N_PLANK - 1; k++) {
        const double *own = q + n * k;
        out->x[k] += is_bound ? 0.0 : own[0];
        out->z[k] += own[n - 2];
        out->pitch[k] += own[n - 1];
    }
}

// the least energy of heights and pitches: steps of 100 s, each from rest; there may be none
static cr_status settle(double mu, pile *out, cr_error *err) {
    const double dt = 100.0;
    lrc_text t;
    lrc_stage s = {0};
    bool is_found = false;
    pile flat = flat_pile(mu);
    CR_TRY(lrc_text_open(&t, err));
    write_planks(&t, mu, &flat, true);
    cr_status status = lrc_stage_open(&t, "longrange", &s, err);
    for (int k = 0; status == CR_OK && !is_found && k < 20; k++) {
        double most = 0.0;
        for (int i = 0; i < s.z.n_q; i++) {
            s.x[s.z.n_q + i] = 0.0;
        }
        status = cr_sim_step(s.sim, dt, s.x, NULL, s.x, err);
        for (int i = 0; i < s.z.n_q; i++) {
            most = fmax(most, dt * fabs(s.x[s.z.n_q + i]));
        }
        is_found = most < 1e-9;
    }
    *out = flat;
    if (status == CR_OK && is_found) {
        read_planks(&flat, s.x, true, out);
    }
    out->is_found = is_found;
    lrc_stage_close(&s);
    lrc_text_close(&t);
    return status;
}

/// How a pile was followed.
typedef struct story {
    pile end;
    double lift;    // m (a + g) of the upper plank in the last step: what all others do to it, N
    double seconds; // until it had come down, or the whole time
    bool stands;
} story;

static cr_status let_go(double mu, const pile *rest, int n_step, int *n_done, story *out,
                        const cri_experiment_options *options, cri_experiment_result *result,
                        cr_error *err) {
    lrc_text t;
    lrc_stage s = {0};
    *out = (story){.end = *rest, .stands = true};
    CR_TRY(lrc_text_open(&t, err));
    write_planks(&t, mu, rest, false);
    cr_status status = lrc_stage_open(&t, "longrange", &s, err);
    for (int k = 0; status == CR_OK && out->stands && k < n_step; k++) {
        cri_progress_state state = {"books", (*n_done)++, 0, NAN};
        result->is_interrupted = !cri_progress_tell(options->progress, &state);
        if (result->is_interrupted) {
            break;
        }
        double rise = s.x[s.z.n_q + 1];
        status = cr_sim_step(s.sim, DT, s.x, NULL, s.x, err);
        out->lift = 0.16 * (9.81 + (s.x[s.z.n_q + 1] - rise) / DT);
        read_planks(rest, s.x, false, &out->end);
        out->stands = rest->z[0] - out->end.z[0] < 0.2;
        out->seconds += DT;
    }
    if (status == CR_OK) {
        out->end.beyond = force_beyond(s.sim, DT);
    }
    lrc_stage_close(&s);
    lrc_text_close(&t);
    return status;
}

static void add_margins(const pile *rest, const story *run, double mu, double paper,
                        cri_experiment_result *out) {
    double gap = top_gap(&run->end);
    cri_experiment_add(out, "m", "match", gap, paper, "  margin of the upper two");
    cri_experiment_add(out, "m", "match", top_gap(rest), paper, "  of all pairs at rest");
    cri_experiment_add(out, "", "lower", fabs(gap / top_gap(rest) - 1.0), 0.02,
                       "  relative difference of the two, beside what is asked");
    cri_experiment_add(out, "", "lower", fabs(run->lift - WEIGHT) / mu, 6.4e2,
                       "  force error over mu, of all planks");
    cri_experiment_add(out, "", "lower", fabs(run->end.beyond) / mu, 6.4e2,
                       "  of the next plank alone, by all pairs");
}

static cr_status run_pile(double mu, double paper, int n_step, int *n_done,
                          const cri_experiment_options *options, cri_experiment_result *out,
                          cr_error *err) {
    pile rest;
    story run;
    CR_TRY(settle(mu, &rest, err));
    CR_TRY(let_go(mu, &rest, n_step, n_done, &run, options, out, err));
    if (out->is_interrupted) {
        return CR_OK;
    }
    cri_experiment_add(out, "", "match", run.stands, mu <= 1e-6, "mu %g, stands after %.3g s", mu,
                       run.seconds);
    cri_experiment_add(out, "", "match", rest.is_found, NAN, "  least energy is found");
    cri_experiment_add(out, "rad", "match", rest.pitch[0], NAN, "  lean of the upper plank there");
    if (run.stands && rest.is_found) {
        add_margins(&rest, &run, mu, paper, out);
    }
    cri_experiment_add(out, "m", "match", closed_gap(mu), paper, "  four facing pairs");
    cri_experiment_add(out, "", "lower", facing_beyond(closed_gap(mu)), 6.4e2,
                       "  force error over mu, of the next plank, by them");
    return CR_OK;
}

static cr_status run_books(const cri_experiment *self, const cri_experiment_options *options,
                           cri_experiment_result *out, cr_error *err) {
    static const double mus[] = {1e-5, 1e-6, 1e-7, 1e-8, 1e-10};
    static const double paper[] = {1.82e-2, 5.67e-3, 1.47e-3, 4.12e-4, 3.13e-5};
    (void)self;
    int n_mu = options->is_full ? 5 : 2, n_step = options->is_full ? 125 : 25, n_done = 0;
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
