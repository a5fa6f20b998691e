// SPDX-License-Identifier: MIT
//
// Which touches make up an impact, and when exactly it happens (F1 to F4 of sim/step_located.c).
//
//   hits    features of one island within eps_time of the first root
//   t       root of G(t) = sum_k w_k (g_k(Phi_t(x)) - o_k), w_k = rate frozen, over the hits
//   group   hits and whatever touches in their island at y = Phi_t(x); what approaches joins them

#include "sim/impact.h"

#include "contact/islands.h"
#include "sim/event.h"
#include "sim/rest.h"

#include <math.h>
#include <string.h>

static double rate_of(const cr_sim *sim, int f, const cri_narrow_touch *touch,
                      const cri_state *state) {
    return cri_near_rate(&sim->world, cri_scan_near(&sim->scan, f), touch, state,
                         state->x + sim->model->sizes.n_q, state->motion);
}

static bool rests_at_start(cr_sim *sim, const cri_motion *motion, int f) {
    const cri_scan *scan = &sim->scan;
    return cri_rests_by_cap(sim, f, motion->h) ||
           cri_is_resting(sim, f, &scan->touch[f], &motion->state, motion->h, scan->speed[f]) ||
           cri_rests_by_sinking(sim, motion, f);
}

int cri_impact_resting(cr_sim *sim, const cri_motion *motion) {
    int n = 0;
    for (int f = 0; f < sim->scan.n_feature; f++) {
        if (rests_at_start(sim, motion, f)) {
            sim->scan.rest[n++] = f;
        }
    }
    return n;
}

// keeps those of a list of features that are in the island of its member first; returns how many
static int keep_island(cr_sim *sim, int n, int *feature, int first) {
    cri_scan *scan = &sim->scan;
    int n_kept = 0, of_first = 0;
    if (n <= 1) {
        return n;
    }
    for (int k = 0; k < n; k++) {
        scan->member[k] = cri_scan_near(scan, feature[k]);
    }
    cri_islands(sim->model, n, scan->member, sim->unit_mark, scan->island);
    for (int k = 0; k < n; k++) {
        of_first = feature[k] == first ? scan->island[k] : of_first;
    }
    for (int k = 0; k < n; k++) {
        if (scan->island[k] == of_first) {
            feature[n_kept++] = feature[k];
        }
    }
    return n_kept;
}

// features that touch and approach: the island of the first; 0 when there are none
int cri_impact_now(cr_sim *sim, const cri_motion *motion) {
    cri_scan *scan = &sim->scan;
    int n = 0;
    for (int f = 0; f < scan->n_feature; f++) {
        bool is_hit = scan->gap[f] <= sim->eps_gap && scan->speed[f] < -sim->eps_speed;
        if (is_hit && !rests_at_start(sim, motion, f)) {
            scan->hit[n++] = f;
        }
    }
    return n > 0 ? keep_island(sim, n, scan->hit, scan->hit[0]) : 0;
}

// hits of a located event: within eps_time of the first, in its island
int cri_impact_hits(cr_sim *sim, double t, int first) {
    CR_ASSERT(t >= 0.0 && first >= 0);
    cri_scan *scan = &sim->scan;
    int n = 0;
    for (int f = 0; f < scan->n_feature; f++) {
        if (scan->root[f] <= t + sim->eps_time) {
            scan->hit[n++] = f;
        }
    }
    return keep_island(sim, n, scan->hit, first);
}

// everything at time t: sim->y, y_rate, sim->work, the rates of bodies in body_tan, touches in
// scan->now; false for lack of memory
static bool move_to(cr_sim *sim, cri_motion *motion, double t) {
    const cr_sizes *z = &sim->model->sizes;
    double *v = sim->y + z->n_q;
    if (!cri_motion_all(sim, motion, t, sim->y, sim->y_rate)) {
        return false;
    }
    // rates of poses are those of y in t, which velocities are up to the order of the step
    memcpy(sim->y_adj, v, sizeof *v * (size_t)z->n_v);
    memcpy(v, sim->y_rate, sizeof *v * (size_t)z->n_v);
    cri_state_set(sim->model, &sim->work);
    memcpy(sim->body_tan, sim->work.motion, sizeof *v * 6 * (size_t)z->n_body);
    memcpy(v, sim->y_adj, sizeof *v * (size_t)z->n_v);
    cri_state_set(sim->model, &sim->work);
    cri_scan_now(sim, &sim->work);
    return true;
}

// Which feature hits: where some touches of a general pair rest it is the next one, whatever its
// slot. The outline of the pair may have left it out: it takes the place of the last.
static int keep_hit(cr_sim *sim, const cri_motion *motion, int f) {
    cri_scan *scan = &sim->scan;
    const cri_near *near = cri_scan_near(scan, f);
    int skip[CRI_MOST_SLOT], n_skip = 0, at = near->first;
    for (int i = near->first; i < near->first + near->n_slot; i++) {
        if (rests_at_start(sim, motion, i)) {
            skip[n_skip++] = scan->touch[i].id;
        }
    }
    cri_narrow_touch touch;
    if (cri_near_has_points(near) || n_skip == 0 ||
        !cri_event_next(sim, near, &sim->work, n_skip, skip, &touch)) {
        return f;
    }
    int last = near->first + near->n_slot - 1;
    while (at < last && isfinite(scan->now[at].gap) && scan->now[at].id != touch.id) {
        at++;
    }
    scan->now[at] = touch;
    return at;
}

int cri_impact_start(const cr_sim *sim, int f) {
    const cri_scan *scan = &sim->scan;
    const cri_near *near = cri_scan_near(scan, f);
    if (cri_near_has_points(near)) {
        return f;
    }
    // touches of a general pair have any slot at any time
    for (int i = near->first; i < near->first + near->n_slot; i++) {
        if (isfinite(scan->gap[i]) && scan->touch[i].id == scan->now[f].id) {
            return i;
        }
    }
    return -1;
}

// G and its rate over the hits at time t; weights go to scan->root, by feature
static double weighted_gap(cr_sim *sim, int n_hit, double *G_rate) {
    cri_scan *scan = &sim->scan;
    double G = 0.0;
    *G_rate = 0.0;
    for (int k = 0; k < n_hit; k++) {
        int f = scan->hit[k];
        double rate = cri_near_rate(&sim->world, cri_scan_near(scan, f), &scan->now[f], &sim->work,
                                    sim->y_rate, sim->body_tan);
        scan->root[f] = rate;
        int start = cri_impact_start(sim, f);
        G += rate * (scan->now[f].gap - (start >= 0 ? scan->offset[start] : 0.0));
        *G_rate += rate * rate;
    }
    return G;
}

// does a feature touch at sim->work, and does it approach?
static bool is_touching(const cr_sim *sim, int f, double h, bool *is_approaching) {
    const cri_narrow_touch *touch = &sim->scan.now[f];
    *is_approaching = false;
    if (!isfinite(touch->gap)) {
        return false;
    }
    double speed = rate_of(sim, f, touch, &sim->work);
    bool is_rest = cri_is_resting(sim, f, touch, &sim->work, h, speed);
    *is_approaching = speed < -sim->eps_speed && !is_rest;
    // what would touch within eps_time belongs to the event
    double reach = sim->eps_gap + (*is_approaching ? -speed * sim->eps_time : 0.0);
    return touch->gap <= reach || is_rest;
}

// touching features at sim->work in the island of the hits, into scan->group; also those of hit
static int find_group(cr_sim *sim, int n_hit, double h) {
    cri_scan *scan = &sim->scan;
    int n = 0, next = 0;
    for (int f = 0; f < scan->n_feature; f++) {
        bool is_hit = next < n_hit && scan->hit[next] == f, is_approaching;
        next += is_hit;
        if (is_hit || is_touching(sim, f, h, &is_approaching)) {
            scan->group[n++] = f;
        }
    }
    return keep_island(sim, n, scan->group, scan->hit[0]);
}

// adds the approaching members of the group to the hits, ascending; returns the new number
static int join_hits(cr_sim *sim, int n_hit, int n_group, double h) {
    cri_scan *scan = &sim->scan;
    int n = 0, next = 0;
    for (int k = 0; k < n_group; k++) {
        bool is_hit = next < n_hit && scan->hit[next] == scan->group[k], is_approaching;
        next += is_hit;
        is_touching(sim, scan->group[k], h, &is_approaching);
        scan->island[k] = is_hit || is_approaching;
    }
    for (int k = 0; k < n_group; k++) {
        if (scan->island[k]) {
            scan->hit[n++] = scan->group[k];
        }
    }
    return n;
}

// F2 to F4: leaves y, y_rate, hits, weights (in scan->root) and group; false for lack of memory
bool cri_impact_locate(cr_sim *sim, cri_motion *motion, double T, bool is_now, cri_impact *impact) {
    CR_ASSERT(T >= 0.0 && impact);
    // what belongs to one event is no farther from its first root
    double first = impact->t, slack = sim->eps_time + sim->eps_gap / sim->eps_speed;
    for (int round = 0;; round++) {
        for (int k = 0; k < 6; k++) {
            if (!move_to(sim, motion, impact->t)) {
                return false;
            }
            for (int i = 0; i < impact->n_hit && !is_now && round == 0; i++) {
                sim->scan.hit[i] = keep_hit(sim, motion, sim->scan.hit[i]);
            }
            double G = weighted_gap(sim, impact->n_hit, &impact->G_rate);
            bool is_root = fabs(G / impact->G_rate) <= 1e-17 * motion->h;
            if (is_now || impact->n_hit == 1 || is_root || k == 5) {
                break; // y stands at t
            }
            double t = fmin(fmax(impact->t - G / impact->G_rate, first - slack), first + slack);
            impact->t = fmin(fmax(t, 0.0), T);
        }
        impact->n_group = find_group(sim, impact->n_hit, motion->h);
        int n = join_hits(sim, impact->n_hit, impact->n_group, motion->h);
        // patches come and go as t moves: a few rounds settle them or never will
        if (n == impact->n_hit || round == 8) {
            return true;
        }
        impact->n_hit = n;
    }
}
