// SPDX-License-Identifier: MIT
//
// Experiments of paper 002 with the implicit step.
//
// lrc-books, Table 2: 20 planks of 2 x 0.4 x 0.2 m and 0.16 kg, plank k from the top L/(2k) over
// the next, each moved back by 2 mm; the lowest stands still. They stand or fall with mu. Friction
// 0.5, steps of 0.01 s: the paper does not say.
//
// lrc-cost, Fig. 6: 16 balls of 32 to 388 triangles, 15 of them in a triangle, the last one thrown
// at them. Processor time of a frame on one thread, and how it grows with the number of triangles.

#include "lrc.h"

#include "base/base.h"
#include "carom/carom.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TEXT_BYTES = 1 << 17 };

/// A text in the making.
typedef struct text {
    char *at;
    size_t used;
} text;

static void put(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(text *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->at + t->used, TEXT_BYTES - t->used, format, args);
    va_end(args);
    CR_ASSERT(n >= 0 && t->used + (size_t)n < TEXT_BYTES);
    t->used += (size_t)n;
}

/// A scene under longrange.
typedef struct stage {
    cr_model *model;
    cr_sim *sim;
    cr_sizes z;
    double *x;
} stage;

static void close_stage(stage *s) {
    cr_sim_destroy(s->sim);
    cr_model_destroy(s->model);
    free(s->x);
}

static cr_status open_stage(const text *t, stage *s, cr_error *err) {
    *s = (stage){0};
    CR_TRY(cr_model_parse(t->at, t->used, "scene", &s->model, err));
    cr_sim_options options = cr_sim_options_default(s->model);
    options.law = "longrange";
    CR_TRY(cr_sim_create(s->model, &options, &s->sim, err));
    s->z = cr_model_sizes(s->model);
    s->x = calloc((size_t)s->z.n_x, sizeof *s->x);
    if (!s->x) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
    }
    cr_model_defaults(s->model, -1, NULL, s->x, NULL);
    return CR_OK;
}

// ---- books -------------------------------------------------------------------------------------

enum { N_PLANK = 20 };

static void write_planks(text *t, double mu, double gap) {
    double x = 0.0;
    put(t,
        "<mujoco><option timestep='.01'/><custom><numeric name='carom:potential:mu' data='%g'/>"
        "</custom><worldbody>",
        mu);
    // from the top down
    for (int k = 0; k < N_PLANK; k++) {
        double z = (N_PLANK - 1 - k) * (0.2 + gap);
        bool is_last = k == N_PLANK - 1;
        put(t,
            "<body name='p%d' pos='%.9g 0 %.9g'>%s<geom type='box' size='1 .2 .1' mass='.16' "
            "friction='.5'/></body>",
            k, x, z, is_last ? "" : "<freejoint/>");
        x -= 1.0 / (k + 1) - 0.002;
    }
    put(t, "</worldbody></mujoco>");
}

// room between the upper two planks, geoms 0 and 1
static double top_gap(cr_sim *sim) {
    int n = 0;
    const cr_contact *c = cr_sim_contacts(sim, &n);
    for (int k = 0; k < n; k++) {
        if (c[k].geom[0] == 0 && c[k].geom[1] == 1) {
            return c[k].gap;
        }
    }
    return INFINITY;
}

static cr_status run_books(const cri_experiment *self, const cri_experiment_options *options,
                           cri_experiment_result *out, cr_error *err) {
    static const double mus[] = {1e-5, 1e-6, 1e-7, 1e-8, 1e-10};
    static const double paper[] = {1.82e-2, 5.67e-3, 1.47e-3, 4.12e-4, 3.13e-5};
    (void)self;
    int n_mu = options->is_full ? 5 : 2, n_step = options->is_full ? 500 : 50;
    text t = {.at = malloc(TEXT_BYTES)};
    cr_status status = t.at ? CR_OK : cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
    for (int i = 0; status == CR_OK && i < n_mu; i++) {
        stage s;
        t.used = 0;
        write_planks(&t, mus[i], sqrt(60.0 * mus[i]));
        status = open_stage(&t, &s, err);
        double start = status == CR_OK ? s.x[2] : 0.0;
        for (int k = 0; status == CR_OK && k < n_step; k++) {
            cri_progress_state state = {"books", i * n_step + k, n_mu * n_step, NAN};
            out->is_interrupted = !cri_progress_tell(options->progress, &state);
            if (out->is_interrupted) {
                break;
            }
            status = cr_sim_step(s.sim, 0.01, s.x, NULL, s.x, err);
        }
        if (status == CR_OK && !out->is_interrupted) {
            cri_experiment_add(out, "", "match", start - s.x[2] < 0.2 ? 1.0 : 0.0, i > 0,
                               "mu %g, stands after %g s", mus[i], 0.01 * n_step);
            cri_experiment_add(out, "m", "match", top_gap(s.sim), paper[i],
                               "mu %g, gap between the upper two", mus[i]);
        }
        close_stage(&s);
    }
    free(t.at);
    return status;
}

const cri_experiment cri_lrc_books = {
    .name = "lrc-books",
    .summary = "20 planks that overhang: for which mu they stand (Table 2 of paper 002)",
    .run = run_books,
};

// ---- cost --------------------------------------------------------------------------------------

#define RADIUS 0.5

static void write_balls(text *t, int n_vertex) {
    put(t, "<mujoco><option timestep='.04'/><custom><numeric name='carom:potential:mu' "
           "data='1e-7'/></custom><asset><mesh name='ball' vertex='");
    for (int i = 0; i < n_vertex; i++) {
        // even spirals; 2.39996... is the golden angle
        double z = 1.0 - (2.0 * i + 1.0) / n_vertex, r = sqrt(1.0 - z * z),
               a = 2.399963229728653 * i;
        put(t, "%.9g %.9g %.9g ", RADIUS * r * cos(a), RADIUS * r * sin(a), RADIUS * z);
    }
    put(t, "'/></asset><worldbody><geom type='plane' size='9 9 1' friction='.2'/>");
    for (int k = 0; k < 16; k++) {
        int i = k < 1 ? 0 : k < 3 ? 1 : k < 6 ? 2 : k < 10 ? 3 : 4, j = k - i * (i + 1) / 2;
        bool is_cue = k == 15;
        double x = is_cue ? 4.4 : 1.1 * (4 - i) + 2.2 * j, y = is_cue ? 4.4 : -1.905 * i;
        put(t,
            "<body pos='%.9g %.9g %.9g'><freejoint/><geom type='mesh' mesh='ball' density='1' "
            "friction='.3'/></body>",
            RADIUS * x, RADIUS * y, 1.1 * RADIUS);
    }
    put(t, "</worldbody></mujoco>");
}

static double seconds(void) {
    return (double)clock() / CLOCKS_PER_SEC;
}

// seconds of the steps and of their adjoints, a frame
static cr_status time_balls(stage *s, int n_step, double time[2], cr_error *err) {
    size_t n_x = (size_t)s->z.n_x;
    double *adj = calloc(2 * n_x, sizeof *adj), *next = adj ? adj + n_x : NULL;
    cr_status status = adj ? CR_OK : cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
    time[0] = time[1] = 0.0;
    s->x[s->z.n_q + 6 * 15 + 1] = -8.0; // the cue ball
    for (int k = 0; status == CR_OK && k < n_step; k++) {
        double start = seconds();
        status = cr_sim_step(s->sim, 0.04, s->x, NULL, s->x, err);
        double middle = seconds();
        if (status == CR_OK) {
            memset(next, 0, sizeof *next * n_x);
            adj[0] = 1.0;
            status = cr_sim_step_vjp(s->sim, adj, next, NULL, NULL, err);
        }
        time[0] += (middle - start) / n_step;
        time[1] += (seconds() - middle) / n_step;
    }
    free(adj);
    return status;
}

static cr_status run_cost(const cri_experiment *self, const cri_experiment_options *options,
                          cri_experiment_result *out, cr_error *err) {
    static const int n_vertex[] = {18, 48, 96, 144, 196};
    // Fig. 6, at both ends: sphere tree, forward and gradient
    static const double paper[] = {0.6, NAN, NAN, NAN, 3.18};
    (void)self;
    text t = {.at = malloc(TEXT_BYTES)};
    cr_status status = t.at ? CR_OK : cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
    double first = 0.0;
    for (int i = 0; status == CR_OK && i < 5; i += options->is_full ? 1 : 4) {
        int n_triangle = 16 * (2 * n_vertex[i] - 4);
        cri_progress_state state = {"balls", i, 5, NAN};
        out->is_interrupted = !cri_progress_tell(options->progress, &state);
        if (out->is_interrupted) {
            break;
        }
        stage s;
        double time[2] = {0};
        t.used = 0;
        write_balls(&t, n_vertex[i]);
        status = open_stage(&t, &s, err);
        status = status == CR_OK ? time_balls(&s, options->is_full ? 100 : 4, time, err) : status;
        close_stage(&s);
        if (status == CR_OK) {
            double both = time[0] + time[1];
            cri_experiment_add(out, "s", "lower", both, paper[i], "%d triangles, a frame",
                               n_triangle);
            cri_experiment_add(out, "", "lower", time[1] / time[0], NAN,
                               "%d triangles, gradient over forward", n_triangle);
            first = i == 0 ? both : first;
        }
        if (status == CR_OK && i == 4) {
            cri_experiment_add(
                out, "", "lower",
                log(time[0] + time[1]) / log(388.0 / 32.0) - log(first) / log(388.0 / 32.0),
                log(3.18 / 0.6) / log(388.0 / 32.0), "exponent of the number of triangles");
        }
    }
    free(t.at);
    return status;
}

const cri_experiment cri_lrc_cost = {
    .name = "lrc-cost",
    .summary = "processor time of a frame of 16 balls by number of triangles (Fig. 6 of paper 002)",
    .run = run_cost,
};
