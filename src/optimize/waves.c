// SPDX-License-Identifier: MIT
//
// Sequences of controls as sums of sines.

#include "optimize/waves.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double two_pi = 6.28318530717958647692;

// between the first frequencies, Hz
#define FIRST_FREQUENCY 0.5

// room for a name and what is added to it
#define NAME_LIMIT 160

static bool is_value_of_step(const cri_variable *variable, int step) {
    return variable->n_place == 1 && variable->place[0].vector == CR_VECTOR_U &&
           variable->place[0].step == step;
}

// "u:hip sine 2 frequency" from "u:hip[0]"
static const char *name_of(const char *first, int k, int part, cr_arena *arena) {
    static const char *const word[3] = {"amplitude", "frequency", "phase"};
    char *name = CR_PUSH(arena, char, NAME_LIMIT);
    const char *end = strrchr(first, '[');
    if (name) {
        snprintf(name, NAME_LIMIT, "%.*s sine %d %s", end ? (int)(end - first) : 99, first, k + 1,
                 word[part]);
    }
    return name;
}

cr_status cri_waves_create(const cri_selection *selection, int n_step, int n_dt, const double *dt,
                           int n_sine, cr_arena *arena, cri_waves *out, cr_error *err) {
    CR_ASSERT(selection && n_step > 0 && n_sine > 0);
    for (int j = 0; j < selection->n_variable; j++) {
        if (!is_value_of_step(&selection->variable[j], j % n_step)) {
            return cri_fail(err, CR_ERR_ARGUMENT, 0,
                            "%.80s is no sequence with a value every step; sines are for u:NAME[*] "
                            "alone, without knots",
                            selection->variable[j].name);
        }
    }
    int n_sequence = selection->n_variable / n_step, n = 3 * n_sine * n_sequence;
    double *time = CR_PUSH(arena, double, n_step);
    const char **name = CR_PUSH(arena, const char *, n);
    if (!time || !name) {
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for %d sines", n_sine);
    }
    for (int i = 1; i < n_step; i++) {
        time[i] = time[i - 1] + dt[n_dt > 1 ? i - 1 : 0];
    }
    for (int i = 0; i < n; i++) {
        const char *first = selection->variable[i / (3 * n_sine) * n_step].name;
        name[i] = name_of(first, i / 3 % n_sine, i % 3, arena);
        if (!name[i]) {
            return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for %d sines", n_sine);
        }
    }
    *out = (cri_waves){n_sequence, n_step, n_sine, n, time, name};
    return CR_OK;
}

void cri_waves_begin(const cri_waves *w, const cri_domain *of_values, cri_domain *domain,
                     double *z) {
    double last = w->n_step > 1 ? w->time[w->n_step - 1] / (w->n_step - 1) : 1.0;
    for (int i = 0; i < w->n; i += 3) {
        const cri_domain *u = &of_values[i / (3 * w->n_sine) * w->n_step];
        double most = fmax(fabs(u->lower), fabs(u->upper));
        domain[i] = (cri_domain){.lower = -most, .upper = most};
        // four steps a period, no fewer
        domain[i + 1] = (cri_domain){.lower = 0.0, .upper = 0.25 / last};
        domain[i + 2] = (cri_domain){.lower = -INFINITY, .upper = INFINITY};
        z[i] = z[i + 2] = 0.0;
        z[i + 1] = fmin(FIRST_FREQUENCY * (i / 3 % w->n_sine + 1), domain[i + 1].upper);
    }
}

void cri_waves_write(const cri_waves *w, const double *z, double *values) {
    memset(values, 0, sizeof *values * (size_t)(w->n_sequence * w->n_step));
    for (int i = 0; i < w->n; i += 3) {
        double *u = values + (size_t)(i / (3 * w->n_sine)) * (size_t)w->n_step;
        for (int t = 0; t < w->n_step; t++) {
            u[t] += z[i] * sin(two_pi * z[i + 1] * w->time[t] + z[i + 2]);
        }
    }
}

void cri_waves_write_vjp(const cri_waves *w, const double *z, const double *values_adj,
                         double *z_adj) {
    for (int i = 0; i < w->n; i += 3) {
        const double *u_adj = values_adj + (size_t)(i / (3 * w->n_sine)) * (size_t)w->n_step;
        for (int t = 0; t < w->n_step; t++) {
            // u += a sin(angle), angle = 2 pi f t + phi
            double angle = two_pi * z[i + 1] * w->time[t] + z[i + 2];
            double angle_adj = u_adj[t] * z[i] * cos(angle);
            z_adj[i] += u_adj[t] * sin(angle);
            z_adj[i + 1] += angle_adj * two_pi * w->time[t];
            z_adj[i + 2] += angle_adj;
        }
    }
}
