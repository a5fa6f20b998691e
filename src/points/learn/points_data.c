// SPDX-License-Identifier: MIT
//
// Recordings and windows of points.
//
// Recordings are made up to a hundred at a time. With r the share of them that ever have a contact,
// one that has is asked for a window with a contact with probability min(1, 0.5/r), so that half of
// all windows have one as long as r >= 0.5 (paper 000, App. H). A window has a contact when one of
// its states behind the first overlaps: that is where a step has made a jump.

#include "points/learn/points_data.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

// recordings of one go; rows of one step, whose contacts of long ropes take some MB each
enum { CHUNK = 100, ROLL = 16, MOST_EMPTY = 10 };

bool cri_points_memory_open(cri_points_memory *m) {
    *m = (cri_points_memory){cri_arena_create(1 << 20), cri_arena_create(1 << 20)};
    if (m->keep && m->scratch) {
        return true;
    }
    cri_points_memory_close(m);
    return false;
}

void cri_points_memory_close(cri_points_memory *m) {
    cri_arena_destroy(m->keep);
    cri_arena_destroy(m->scratch);
    *m = (cri_points_memory){0};
}

const bool *cri_points_scene_stepper(const void *scene, const double *p, int B, const double *x,
                                     double *x_next, const cri_points_memory *m) {
    const cri_points_tape *tape =
        cri_points_step(scene, p, B, x, x_next, NULL, m->keep, m->scratch);
    return tape ? tape->has_failed : NULL;
}

bool cri_points_roll(const cri_points_runner *runner, int B, int n_state, double *x, bool *is_lost,
                     const cri_points_memory *m) {
    size_t n_x = (size_t)runner->n_x, n = (size_t)B * n_x;
    memset(is_lost, 0, sizeof *is_lost * (size_t)B);
    for (int t = 1; t < n_state; t++, x += n) {
        for (int first = 0; first < B; first += ROLL) {
            double *from = x + (size_t)first * n_x, *to = from + n;
            int n_row = B - first < ROLL ? B - first : ROLL;
            cri_arena_reset(m->keep);
            const bool *has_failed = runner->step(runner->self, runner->p, n_row, from, to, m);
            if (!has_failed) {
                return false;
            }
            for (int b = 0; b < n_row; b++) {
                is_lost[first + b] = is_lost[first + b] || has_failed[b];
                if (is_lost[first + b]) {
                    memcpy(to + (size_t)b * n_x, from + (size_t)b * n_x, sizeof *x * n_x);
                }
            }
        }
    }
    return true;
}

/// Recordings of one go.
typedef struct chunk {
    const cri_points_scene *scene;
    int B; // recordings
    int n_state;
    double *x;                // (n_state, B, n_x)
    bool *is_hit;             // (B, n_state)
    bool is_lost[CHUNK];      // a step failed
    bool has_contact[CHUNK];  // ever
    double share;             // of recordings that have a contact
    cri_points_memory memory; // of steps
} chunk;

static const double *state_of(const chunk *c, int b, int t) {
    return c->x + ((size_t)t * (size_t)c->B + (size_t)b) * (size_t)c->scene->n_x;
}

static void find_contacts(chunk *c) {
    int n_contact = 0;
    for (int b = 0; b < c->B; b++) {
        c->has_contact[b] = false;
        for (int t = 0; t < c->n_state; t++) {
            bool is_hit = cri_points_overlap(c->scene, state_of(c, b, t));
            c->is_hit[b * c->n_state + t] = is_hit;
            c->has_contact[b] = c->has_contact[b] || is_hit;
        }
        n_contact += c->has_contact[b];
    }
    c->share = (double)n_contact / c->B;
}

// false when there is no memory or no state can be drawn
static bool record(chunk *c, cri_random *r) {
    for (int b = 0; b < c->B; b++) {
        if (!cri_points_sample(c->scene, r, c->x + (size_t)b * (size_t)c->scene->n_x)) {
            return false;
        }
    }
    const cri_points_runner runner = {cri_points_scene_stepper, c->scene, c->scene->p,
                                      c->scene->n_x};
    if (!cri_points_roll(&runner, c->B, c->n_state, c->x, c->is_lost, &c->memory)) {
        return false;
    }
    find_contacts(c);
    return true;
}

static bool window_is_hit(const bool *is_hit, int first) {
    for (int t = 1; t < CRI_WINDOW_STATES; t++) {
        if (is_hit[first + t]) {
            return true;
        }
    }
    return false;
}

// how many windows with or without contact there are; out, the place of number k
static int count_windows(const chunk *c, int b, bool is_hit, int k, int *out) {
    const bool *hit = c->is_hit + b * c->n_state;
    int n = 0;
    for (int first = 0; first + CRI_WINDOW_STATES <= c->n_state; first++) {
        if (!hit[first] && window_is_hit(hit, first) == is_hit) {
            *out = n == k ? first : *out;
            n++;
        }
    }
    return n;
}

// where the window of recording b begins, -1: it has none
static int choose(const chunk *c, int b, cri_random *r) {
    double chance = c->has_contact[b] ? fmin(1.0, 0.5 / c->share) : 0.0;
    bool is_hit = cri_random_uniform(r, 0.0, 1.0) < chance;
    int first = -1;
    int n = count_windows(c, b, is_hit, -1, &first);
    if (n == 0) {
        is_hit = !is_hit;
        n = count_windows(c, b, is_hit, -1, &first);
    }
    if (n > 0) {
        (void)count_windows(c, b, is_hit, cri_random_whole(r, 0, n - 1), &first);
    }
    return first;
}

void cri_points_data_add(const cri_points_scene *sc, const double *const state[CRI_WINDOW_STATES],
                         cri_points_data *out) {
    size_t n_x = (size_t)sc->n_x;
    double *x = out->x + (size_t)out->n++ * CRI_WINDOW_STATES * n_x;
    bool is_hit = false;
    for (int t = 0; t < CRI_WINDOW_STATES; t++) {
        memcpy(x + (size_t)t * n_x, state[t], sizeof *x * n_x);
        for (int i = 0; t > 0 && i < sc->n_touch; i++) {
            const cri_points_touch *touch = &sc->touch[i];
            bool acts = cri_points_gap(&sc->s, touch, state[t]) < 0.0;
            out->n_touch[touch->coefficient] += acts;
            is_hit = is_hit || acts;
        }
    }
    out->n_hit += is_hit;
}

static void keep_window(const chunk *c, int b, int first, cri_points_data *out) {
    const double *state[CRI_WINDOW_STATES];
    for (int t = 0; t < CRI_WINDOW_STATES; t++) {
        state[t] = state_of(c, b, first + t);
    }
    cri_points_data_add(c->scene, state, out);
}

static cr_status draw(chunk *c, cri_random *r, int n, cri_points_data *out, cr_error *err) {
    for (int n_empty = 0; out->n < n;) {
        if (!record(c, r)) {
            return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for recordings of '%s'",
                            c->scene->name);
        }
        int before = out->n;
        for (int b = 0; b < c->B && out->n < n; b++) {
            int first = c->is_lost[b] ? -1 : choose(c, b, r);
            if (first >= 0) {
                keep_window(c, b, first, out);
            }
        }
        n_empty += out->n == before;
        if (n_empty == MOST_EMPTY) {
            return cri_fail(err, CR_ERR_NUMERIC, 0,
                            "no recording of '%s' in %d tries; look at its parameters",
                            c->scene->name, c->B * MOST_EMPTY);
        }
    }
    return CR_OK;
}

cr_status cri_points_windows(const cri_points_scene *scene, uint64_t seed, int n,
                             cri_points_data *out, cr_arena *arena, cr_error *err) {
    CR_ASSERT(scene && n > 0 && scene->n_step >= CRI_WINDOW_STATES);
    size_t n_x = (size_t)scene->n_x;
    *out = (cri_points_data){.n_x = scene->n_x,
                             .x = CR_PUSH(arena, double, (size_t)n *CRI_WINDOW_STATES *n_x),
                             .n_touch = CR_PUSH(arena, int, scene->n_coefficient)};
    cr_arena *own = cri_arena_create(1 << 16);
    chunk c = {.scene = scene, .B = n < CHUNK ? n : CHUNK, .n_state = scene->n_step};
    if (own) {
        c.x = CR_PUSH_RAW(own, double, (size_t)c.n_state *(size_t)c.B *n_x);
        c.is_hit = CR_PUSH(own, bool, (size_t)c.n_state *(size_t)c.B);
    }
    cr_status status = CR_OK;
    if (!out->x || !out->n_touch || !c.x || !c.is_hit || !cri_points_memory_open(&c.memory)) {
        status = cri_fail(err, CR_ERR_MEMORY, 0, "no memory for recordings of '%s'", scene->name);
    } else {
        cri_random r = cri_random_of(seed, 0);
        status = draw(&c, &r, n, out, err);
    }
    cri_points_memory_close(&c.memory);
    cri_arena_destroy(own);
    return status;
}

// ---- noise -------------------------------------------------------------------------------------

// links one after another: x = l sin q, y = -l cos q, and w = q'
static void shake_links(const cri_points *s, cri_random *r, double sigma, double *x) {
    double *v = x + s->n_dof, last[4] = {0.0}, at[4] = {0.0};
    for (int k = 0; k < s->n_point; k++) {
        double l = s->tie[k].length;
        const double own[4] = {x[2 * k], x[2 * k + 1], v[2 * k], v[2 * k + 1]};
        double q = atan2(own[0] - last[0], last[1] - own[1]);
        double w = ((own[2] - last[2]) * cos(q) + (own[3] - last[3]) * sin(q)) / l;
        memcpy(last, own, sizeof last);
        q += sigma * cri_random_normal(r);
        w += sigma * cri_random_normal(r);
        at[0] += l * sin(q);
        at[1] -= l * cos(q);
        at[2] += l * cos(q) * w;
        at[3] += l * sin(q) * w;
        memcpy(x + 2 * k, at, 2 * sizeof *at);
        memcpy(v + 2 * k, at + 2, 2 * sizeof *at);
    }
}

void cri_points_add_noise(const cri_points_scene *scene, uint64_t seed, double sigma,
                          cri_points_data *data) {
    CR_ASSERT(sigma >= 0.0 && data->n_x == scene->n_x);
    cri_random r = cri_random_of(seed, 2);
    for (int k = 0; k < data->n * CRI_WINDOW_STATES; k++) {
        double *x = data->x + (size_t)k * (size_t)data->n_x;
        if (scene->kind == CRI_POINTS_PENDULUM) {
            shake_links(&scene->s, &r, sigma, x);
            continue;
        }
        for (int i = 0; i < data->n_x; i++) {
            x[i] += sigma * cri_random_normal(&r);
        }
    }
}

cr_status cri_points_sets(const cri_points_scene *scene, uint64_t seed, double sigma,
                          const cri_points_set set[3], cr_arena *arena, cr_error *err) {
    for (int k = 0; k < 3; k++) {
        uint64_t own = 8 * seed + (uint64_t)k;
        if (set[k].n == 0) {
            continue;
        }
        CR_TRY(cri_points_windows(scene, own, set[k].n, set[k].data, arena, err));
        if (sigma > 0.0) {
            cri_points_add_noise(scene, own, sigma, set[k].data);
        }
    }
    return CR_OK;
}
