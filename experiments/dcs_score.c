// SPDX-License-Identifier: MIT
//
// How good a learned model is (experiments of paper 000): with z = [x | v]
//
//   r_t = |z - z*|/|z*|,   error = sum of r_t over the first five states, mean over the windows
//
// and a 95 % half width of that mean. Both motions start at a window's first state; one whose step
// fails stays where it is, is counted, and has no part in means over more states. Energies are
// those of the true masses and potential. Their drift is max_t |E_t - E_0| over the largest
// kinetic energy of the true motion, mean over the windows.

#include "dcs_case.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

/// Two motions of all windows.
typedef struct motions {
    const cri_points_scene *truth;
    int B;
    size_t n;           // B n_x
    double *model;      // (DCS_STATES, B, n_x)
    double *real;       // the same
    bool *is_lost;      // (B)
    double *energy;     // (DCS_STATES, B) of the model
    double *own_energy; // of the truth
    double *kinetic;    // of the truth
    cr_arena *arena;
} motions;

static double relative_error(const motions *m, int t, int b) {
    size_t n_x = (size_t)m->truth->n_x, at = (size_t)t * m->n + (size_t)b * n_x;
    double difference = 0.0, size = 0.0;
    for (size_t i = at; i < at + n_x; i++) {
        double d = m->model[i] - m->real[i];
        difference += d * d;
        size += m->real[i] * m->real[i];
    }
    return sqrt(difference / size);
}

/// Numbers whose mean is asked for.
typedef struct sample {
    int n;
    double sum, square;
} sample;

static void add_number(sample *s, double value) {
    s->n++;
    s->sum += value;
    s->square += value * value;
}

// 95 % half width of the mean; Student's factor for 50 to 100 numbers is 2.01 to 1.98
static double half_width(const sample *s) {
    double mean = s->sum / s->n, variance = (s->square - s->n * mean * mean) / (s->n - 1);
    return 2.0 * sqrt(fmax(0.0, variance) / s->n);
}

static void score_errors(const motions *m, dcs_score *out) {
    sample window = {0}, far = {0};
    for (int b = 0; b < m->B; b++) {
        double own = 0.0, mean = 0.0;
        out->n_lost += m->is_lost[b];
        for (int t = 0; t < DCS_STATES; t++) {
            double r = relative_error(m, t, b);
            own += t < CRI_WINDOW_STATES ? r : 0.0;
            mean += t > 0 && t < DCS_LONG ? r / (DCS_LONG - 1) : 0.0;
            out->r[t] += m->is_lost[b] ? 0.0 : r;
        }
        add_number(&window, own);
        if (!m->is_lost[b]) {
            add_number(&far, mean);
        }
    }
    out->error = window.sum / window.n;
    out->half = half_width(&window);
    out->error_long = far.sum / far.n;
    out->half_long = half_width(&far);
    for (int t = 0; t < DCS_STATES; t++) {
        out->r[t] /= far.n;
    }
}

static double largest_drift(const motions *m, const double *energy, int b) {
    double drift = 0.0, scale = 0.0;
    for (int t = 0; t < DCS_STATES; t++) {
        drift = fmax(drift, fabs(energy[t * m->B + b] - energy[b]));
        scale = fmax(scale, m->kinetic[t * m->B + b]);
    }
    return drift / scale;
}

static void score_energy(const motions *m, dcs_score *out) {
    int B = m->B;
    double *part = CR_PUSH(m->arena, double, B);
    for (int t = 0; part && t < DCS_STATES; t++) {
        const cri_points_scene *sc = m->truth;
        double *own = m->own_energy + t * B, *energy = m->energy + t * B;
        size_t at = (size_t)t * m->n;
        cri_points_energy(sc, sc->p, B, m->real + at, m->kinetic + t * B, own, m->arena);
        cri_points_energy(sc, sc->p, B, m->model + at, part, energy, m->arena);
        for (int b = 0; b < B; b++) {
            own[b] += m->kinetic[t * B + b];
            energy[b] += part[b];
        }
        out->energy[t] = energy[0];
        out->true_energy[t] = own[0];
    }
    for (int b = 0; b < B; b++) {
        if (!m->is_lost[b]) {
            out->drift += largest_drift(m, m->energy, b) / (B - out->n_lost);
            out->own_drift += largest_drift(m, m->own_energy, b) / (B - out->n_lost);
        }
    }
}

static bool run_both(motions *m, const cri_points_runner *model, const cri_points_data *test,
                     const cri_points_memory *memory) {
    size_t n_x = (size_t)test->n_x;
    bool *is_lost = CR_PUSH(m->arena, bool, m->B);
    if (cri_arena_has_failed(m->arena)) {
        return false;
    }
    for (int b = 0; b < m->B; b++) {
        const double *from = test->x + (size_t)b * CRI_WINDOW_STATES * n_x;
        memcpy(m->model + (size_t)b * n_x, from, sizeof *from * n_x);
        memcpy(m->real + (size_t)b * n_x, from, sizeof *from * n_x);
    }
    const cri_points_runner truth = {cri_points_scene_stepper, m->truth, m->truth->p,
                                     m->truth->n_x};
    if (!cri_points_roll(&truth, m->B, DCS_STATES, m->real, is_lost, memory) ||
        !cri_points_roll(model, m->B, DCS_STATES, m->model, m->is_lost, memory)) {
        return false;
    }
    for (int b = 0; b < m->B; b++) {
        m->is_lost[b] = m->is_lost[b] || is_lost[b];
    }
    return true;
}

bool cri_dcs_score(const cri_points_scene *truth, const cri_points_runner *model,
                   const cri_points_data *test, dcs_score *out) {
    CR_ASSERT(test->n > 1);
    *out = (dcs_score){0};
    cri_points_memory memory;
    cr_arena *arena = cri_arena_create(1 << 16);
    bool is_done = cri_points_memory_open(&memory);
    if (arena && is_done) {
        int B = test->n;
        size_t n = (size_t)B * (size_t)test->n_x;
        motions m = {.truth = truth,
                     .B = B,
                     .n = n,
                     .model = CR_PUSH(arena, double, DCS_STATES *n),
                     .real = CR_PUSH(arena, double, DCS_STATES *n),
                     .is_lost = CR_PUSH(arena, bool, B),
                     .energy = CR_PUSH(arena, double, DCS_STATES *B),
                     .own_energy = CR_PUSH(arena, double, DCS_STATES *B),
                     .kinetic = CR_PUSH(arena, double, DCS_STATES *B),
                     .arena = arena};
        is_done = run_both(&m, model, test, &memory);
        if (is_done) {
            score_errors(&m, out);
            score_energy(&m, out);
            is_done = !cri_arena_has_failed(arena);
        }
    }
    cri_points_memory_close(&memory);
    cri_arena_destroy(arena);
    return is_done && arena;
}
