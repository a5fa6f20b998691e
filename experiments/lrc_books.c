// SPDX-License-Identifier: MIT
//
// lrc-books, Table 2 of paper 002: 20 planks of 2 x 0.4 x 0.2 m and 0.16 kg, plank k from the top
// L/(2k) over the next, each moved back by 2 mm; the lowest stands still. They stand or fall with
// mu. Friction 0.5, steps of 0.01 s: the paper does not say.
//
// Beside the paper's margin of the top interface stand two of our own:
//
//   closed form   four facing pairs of triangles carry a weight: 4 mu C'(D) = -m g, C the centred
//                 potential; it meets the table at 1e-5 and 1e-6
//   static        all pairs of triangles of planks up to two apart, no clusters, each plank free to
//                 rise and to pitch: minimum of mu P + m g z by Newton's method. The simulation
//                 must come to this one.
//
// Force error: how far the force between the top two is from the weight m g, in multiples of mu.

#include "lrc.h"
#include "lrc_stage.h"

#include "contact/longrange.h"
#include "math/cholesky.h"
#include "math/quat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_PLANK = 20, N_FREE = N_PLANK - 1, N_UNKNOWN = 2 * N_FREE };

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

// ---- statics -----------------------------------------------------------------------------------

/// Planks at heights and pitches, the lowest at zero.
typedef struct pile {
    double mu;
    cri_sphere_tree tree;
    double vertex[24];
    cr_arena *arena;
    double at[2 * N_PLANK]; // height and pitch, from the top
    double top;             // room between the upper two
} pile;

static cr_status open_pile(double mu, double gap, pile *p, cr_error *err) {
    static const int triangle[36] = {0, 1, 3, 0, 3, 2, 4, 6, 7, 4, 7, 5, 0, 4, 5, 0, 5, 1,
                                     2, 3, 7, 2, 7, 6, 0, 2, 6, 0, 6, 4, 1, 5, 7, 1, 7, 3};
    *p = (pile){.mu = mu, .arena = cri_arena_create(1 << 16)};
    if (!p->arena) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
    }
    for (int i = 0; i < 8; i++) {
        p->vertex[3 * i] = i & 4 ? 1.0 : -1.0;
        p->vertex[3 * i + 1] = i & 2 ? 0.2 : -0.2;
        p->vertex[3 * i + 2] = i & 1 ? 0.1 : -0.1;
    }
    for (int k = 0; k < N_PLANK; k++) {
        p->at[2 * k] = (N_PLANK - 1 - k) * (0.2 + gap);
    }
    return cri_sphere_tree_build(CRI_SPHERE_LAYERED, 8, p->vertex, 12, triangle, p->arena, &p->tree,
                                 err);
}

// adds a pair of planks to value, gradient and second derivatives of the unknowns
static double add_planks(pile *p, const cri_longrange_body *body, int a, int b, double *g,
                         double *H) {
    // turn about y and shift along z of both, in the chart of twelve
    static const int chart[4] = {5, 1, 11, 7};
    const int unknown[4] = {2 * a, 2 * a + 1, 2 * b, 2 * b + 1};
    cri_longrange_options options = cri_longrange_default();
    cri_longrange_result r;
    options.is_brute = true;
    options.has_constant = false;
    cri_longrange_pair(&options, &body[a], &body[b], CRI_LONGRANGE_HESSIAN, NULL, &r);
    p->top = a == 0 && b == 1 ? r.gap : p->top;
    for (int i = 0; isfinite(r.value) && i < 4; i++) {
        if (unknown[i] >= N_UNKNOWN) {
            continue;
        }
        g[unknown[i]] += p->mu * r.g[chart[i]];
        for (int j = 0; j < 4; j++) {
            double bend = r.H[12 * chart[i] + chart[j]];
            double K[9];
            cri_affine_curvature(r.affine.N[i / 2], K);
            bend += i == j && i % 2 == 1 ? K[4] : 0.0;
            if (unknown[j] < N_UNKNOWN) {
                H[N_UNKNOWN * unknown[i] + unknown[j]] += p->mu * bend;
            }
        }
    }
    return p->mu * r.value;
}

static double pile_energy(pile *p, const double *at, double *g, double *H) {
    cri_arena_mark mark = cri_arena_get_mark(p->arena);
    cri_longrange_body body[N_PLANK];
    double sum = 0.0;
    memset(g, 0, sizeof *g * N_UNKNOWN);
    memset(H, 0, sizeof *H * N_UNKNOWN * N_UNKNOWN);
    for (int k = 0; k < N_PLANK; k++) {
        cri_pose pose = {{shift_of(k), 0.0, at[2 * k]},
                         cri_quat_rotation(cri_quat_exp(cri_v3(0.0, at[2 * k + 1], 0.0)))};
        if (!cri_longrange_place(&p->tree, p->vertex, &pose, p->arena, &body[k])) {
            return NAN;
        }
        if (k < N_FREE) {
            sum += WEIGHT * at[2 * k];
            g[2 * k] += WEIGHT;
        }
    }
    for (int k = 0; k < N_PLANK; k++) {
        for (int j = k + 1; j < N_PLANK && j <= k + 2; j++) {
            sum += add_planks(p, body, k, j, g, H);
        }
    }
    cri_arena_rewind(p->arena, mark);
    return sum;
}

// Newton's method with halving; true when it came to rest
static bool settle_pile(pile *p) {
    static double g[N_UNKNOWN], H[N_UNKNOWN * N_UNKNOWN], d[N_UNKNOWN];
    for (int step = 0; step < 300; step++) {
        double next[2 * N_PLANK], part = 1.0, most = 0.0;
        double value = pile_energy(p, p->at, g, H), shift = 0.0, kept[N_UNKNOWN * N_UNKNOWN];
        memcpy(kept, H, sizeof kept);
        while (!cri_cholesky_factor(N_UNKNOWN, H)) {
            shift = shift > 0.0 ? 4.0 * shift : 1e-3;
            memcpy(H, kept, sizeof kept);
            for (int i = 0; i < N_UNKNOWN; i++) {
                H[(N_UNKNOWN + 1) * i] += shift;
            }
        }
        for (int i = 0; i < N_UNKNOWN; i++) {
            d[i] = -g[i];
        }
        cri_cholesky_solve(N_UNKNOWN, H, d);
        for (int i = 0; i < N_UNKNOWN; i++) {
            most = fmax(most, fabs(d[i]));
        }
        if (shift == 0.0 && most < 1e-9) {
            return true;
        }
        double slope = 0.0, gone[N_UNKNOWN];
        memcpy(next, p->at, sizeof next);
        for (int i = 0; i < N_UNKNOWN; i++) {
            slope += g[i] * d[i];
        }
        for (; part > 1e-12; part *= 0.5) {
            for (int i = 0; i < N_UNKNOWN; i++) {
                next[i] = p->at[i] + part * d[i];
            }
            double tried = pile_energy(p, next, gone, H);
            if (tried <= value + 1e-4 * part * slope) {
                break;
            }
        }
        memcpy(p->at, next, sizeof next);
    }
    return false;
}

// room between the upper two at rest, NAN: none was found
static cr_status static_gap(double mu, double *out, cr_error *err) {
    pile p;
    cr_status status = open_pile(mu, sqrt(60.0 * mu), &p, err);
    *out = status == CR_OK && settle_pile(&p) ? p.top : NAN;
    cri_arena_destroy(p.arena);
    return status;
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
    double ours = NAN, force;
    CR_TRY(static_gap(mu, &ours, err));
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
            cri_experiment_add(out, "", "match", gap / ours, 1.0, "  over the static solution");
            cri_experiment_add(out, "", "lower", fabs(force - WEIGHT) / mu, 6.4e2,
                               "  force error over mu, N/J");
        }
        cri_experiment_add(out, "m", "match", closed_gap(mu), paper, "  four facing pairs");
        cri_experiment_add(out, "m", "match", ours, NAN, "  static, all pairs");
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
