// SPDX-License-Identifier: MIT
//
// What recordings say against the options of 'carom learn'.
//
// Velocities: q_{n+1} - q_n = s h v_n has the least squares s = sum dq hv / sum (hv)^2, which is 1
// for the velocity of that column in units a second, with the error e^2 = sum (dq - s hv)^2 /
// (n sum (hv)^2). A doubt is |s - 1| > 1/2 + 5 e: a wrong sign, unit or column.
//
// Touches: a contact pushes, so u = normal.(v_i - v_j) jumps up at its rows. The mean of
// u_{n+k} - u_{n+k-1} over touches that stand alone, less the mean over all rows, is asked for at
// k = 0; where it is below 0 the direction is wrong, where it is twice as large at k = -1 or 1 the
// column is a row off.

#include "learn_doubt.h"

#include <math.h>

// rows with touch on end that make one ask whether the sensor stays on
enum { HELD_MOST = 3 };

// touches that stand alone, below which none is judged
enum { ALONE_LEAST = 2 };

static const double *row_of(const learn_data *d, int row) {
    return d->all.x + (size_t)row * 2 * (size_t)d->n_q;
}

// rows whose neighbours from -before to behind are of the same recording: first <= row < end
typedef struct span {
    int first, end;
} span;

static span span_of(const learn_data *d, int series, int before, int behind) {
    return (span){d->first[series] + before, d->first[series + 1] - behind};
}

void learn_pace_add(learn_pace *pace, double dq, double hv) {
    pace->moved += dq * dq;
    pace->along += dq * hv;
    pace->square += hv * hv;
    pace->n += 1.0;
}

bool learn_pace_is_wrong(const learn_pace *pace, double *slope) {
    if (!(pace->square > 0.0)) {
        return false;
    }
    *slope = pace->along / pace->square;
    double left = fmax(pace->moved - *slope * pace->along, 0.0);
    return fabs(*slope - 1.0) > 0.5 + 5.0 * sqrt(left / (pace->n * pace->square));
}

static void doubt_velocity(const learn_data *d, int k) {
    learn_pace pace = {0};
    double slope;
    for (int s = 0; s < d->n_series; s++) {
        span at = span_of(d, s, 0, 1);
        for (int row = at.first; row < at.end; row++) {
            learn_pace_add(&pace, row_of(d, row + 1)[k] - row_of(d, row)[k],
                           d->all.dt * row_of(d, row)[d->n_q + k]);
        }
    }
    if (learn_pace_is_wrong(&pace, &slope)) {
        (void)cli_warn("--v %.60s: %.60s changes by %.3g times a step of it; is it the velocity of "
                       "that column, in its units a second, and --time in seconds?",
                       d->v[k], d->q[k], slope);
    }
}

static double speed_of(const learn_data *d, const cri_central_contact *c, int row) {
    const double *v = row_of(d, row) + d->n_q;
    return c->normal[0] * (v[c->i] - (c->j >= 0 ? v[c->j] : 0.0));
}

static bool is_touched(const learn_data *d, int contact, int row) {
    return d->all.touch[row * d->n_touch + contact] > 0.5;
}

/// Mean changes of u over rows -1, 0, 1 from touches that stand alone.
typedef struct jumps {
    int n;
    double mean[3];
} jumps;

static jumps find_jumps(const learn_data *d, int contact) {
    jumps out = {0};
    double all = 0.0, n_all = 0.0;
    for (int s = 0; s < d->n_series; s++) {
        span at = span_of(d, s, 2, 2);
        for (int row = at.first; row < at.end; row++) {
            all += speed_of(d, &d->touch[contact], row) - speed_of(d, &d->touch[contact], row - 1);
            n_all += 1.0;
            bool is_alone = is_touched(d, contact, row);
            for (int k = -2; k <= 2; k++) {
                is_alone = is_alone && (k == 0 || !is_touched(d, contact, row + k));
            }
            out.n += is_alone;
            for (int k = -1; k <= 1 && is_alone; k++) {
                out.mean[k + 1] += speed_of(d, &d->touch[contact], row + k) -
                                   speed_of(d, &d->touch[contact], row + k - 1);
            }
        }
    }
    for (int k = 0; k < 3; k++) {
        out.mean[k] = out.mean[k] / fmax(out.n, 1.0) - all / fmax(n_all, 1.0);
    }
    return out;
}

static void doubt_touch(const learn_data *d, int contact) {
    const cri_central_contact *c = &d->touch[contact];
    jumps j = find_jumps(d, contact);
    if (j.n < ALONE_LEAST) {
        return;
    }
    double own = fabs(j.mean[1]);
    bool is_early = fabs(j.mean[2]) > 2.0 * own, is_late = fabs(j.mean[0]) > 2.0 * own;
    if (is_early || is_late) {
        (void)cli_warn("contact %.60s: velocities jump in the row %s its touches; 1 belongs into "
                       "the first row behind the touch",
                       c->name, is_early ? "behind" : "before");
    } else if (j.mean[1] < 0.0 && c->j < 0) {
        (void)cli_warn("contact %.60s: at its touches %.60s jumps against its direction; did you "
                       "mean --touch %.60s:%c%.60s?",
                       c->name, d->q[c->i], c->name, c->normal[0] > 0.0 ? '-' : '+', d->q[c->i]);
    } else if (j.mean[1] < 0.0) {
        (void)cli_warn("contact %.60s: at its touches %.60s and %.60s jump towards each other; did "
                       "you mean --touch %.60s:%.60s-%.60s?",
                       c->name, d->q[c->i], d->q[c->j], c->name, d->q[c->j], d->q[c->i]);
    }
}

static void doubt_rows(const cli_options *options, const learn_data *d, int contact) {
    if (d->n_hit[contact] == 0) {
        (void)cli_warn("contact %.60s: no row has a touch%s", d->touch[contact].name,
                       "; only what motion tells can be learned of it");
    }
    const learn_held *held = &d->held[contact];
    if (held->n_row >= HELD_MOST && !options->touch_held) {
        (void)cli_warn("contact %.60s: %d rows with touch on end, %.80s from row %d on, each an "
                       "impact of its own; if the sensor stays on while things touch, say "
                       "--touch-held first, else --touch-held each",
                       d->touch[contact].name, held->n_row, held->file, held->row);
    }
}

void learn_doubt(const cli_options *options, const learn_data *d) {
    if (!options->output) {
        (void)cli_note(options, "weights are not kept: -o FILE.h5 is missing");
    }
    if (d->n_touch == 0) {
        (void)cli_warn("no --touch and no velocity jumps: there is no contact to learn%s",
                       d->has_v ? ""
                                : "; differences of noisy positions hide jumps, --v names "
                                  "measured velocities");
    }
    if (d->n_left > 0) {
        (void)cli_warn("%d velocity jumps belong to none of the first %d contacts that were "
                       "proposed and are left out; --touch names the contacts that are there",
                       d->n_left, d->n_touch);
    }
    for (int k = 0; k < d->n_q && d->has_v; k++) {
        doubt_velocity(d, k);
    }
    for (int k = 0; k < d->n_touch; k++) {
        doubt_rows(options, d, k);
        if (!d->is_proposed) {
            doubt_touch(d, k);
        }
    }
}
