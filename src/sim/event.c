// SPDX-License-Identifier: MIT
//
// Time of contact by conservative advancement of second order. With gap g > 0, its rate s and a
// bound g'' >= -a, the gap stays positive for
//
//   tau = 2 g/(sqrt(s^2 + 2 a g) - s)       if s < 0
//   tau = (s + sqrt(s^2 + 2 a g))/a         else (no end if a = 0)
//
// which near a root converges like Newton from the safe side, and is exact for constant g''. Newton
// polishes. Bounds a (F force, w spin, c corner; kappa = max |I_j - I_k|/I_i):
//
//   plane, sphere     max(0, -n.a_i)
//   two spheres       |a_1 - a_0|             (the rest of |D|'' is positive)
//   plane, corner     as the sphere + |c| (w^2 (1 + kappa/sqrt 3) + |tau|/I_min),
//                     w = (|I w| + |tau| T)/I_min                (angular momentum)
//   resting bodies    8 |a| each instead of the linear part: generous, not proved
//                     (each evaluation is a contact solve: what does not approach is looked at
//                     32 times at the most)
//
// A pair that has just bounced has g = 0 and s > 0; the formula then jumps ahead to where it may
// fall again. A pair that leaves from an overlap hits again when it comes back to that depth: its
// gap counts from there. A root that is reached with a rate above -eps_speed grazes and is no
// impact.
//
// What counts as rest: gap <= eps_gap and |rate| <= eps_speed. Contact points that roll on move on
// circles: with the centripetal part of the gap's acceleration
//
//   plane, corner     k = n.R(w x (w x c))             two spheres     k = (|D'|^2 - (n.D')^2)/|D|
//
// a velocity-first step lifts such a contact by h^2 k/2 and leaves a rate of h k, then of h k/2 in
// every further step. So for k > 0
//
//   gap <= eps_gap + 3/4 h^2 k,     -eps_speed <= rate <= eps_speed + 5/4 h k
//
// Without this a rocking box or a rolling pile would fall back in a shower of tiny impacts. What
// approaches is always located, until a body has had event_cap impacts in the step: then whatever
// is slower than h |g| rests.

#include "sim/event.h"

#include <math.h>
#include <string.h>

/// One feature's search.
typedef struct search {
    int feature;
    int body[2]; // -1: none
    bool is_resting;
    bool is_round; // spheres and planes: rotation does not matter
    double bound;  // a
} search;

// centripetal part of the gap's acceleration
static double centripetal(const cr_sim *sim, int feature, const double *x) {
    const cri_feature *f = &sim->model->feature[feature];
    const cri_pair *pair = &sim->model->pair[f->pair];
    const double *v = x + sim->model->sizes.n_q, *x1 = x + 7 * pair->body[1];
    switch (pair->kind) {
    case CRI_PAIR_PLANE_SPHERE:
        return 0.0;
    case CRI_PAIR_PLANE_BOX: {
        cri_vec3 spin = cri_v3_load(v + 6 * pair->body[1] + 3);
        cri_vec3 corner = cri_box_corner(sim->d.geom[pair->geom[1]].size, f->corner);
        cri_vec3 accel = cri_v3_cross(spin, cri_v3_cross(spin, corner));
        cri_mat3 R = cri_quat_rotation(cri_q4_load(x1 + 3));
        return cri_v3_dot(sim->model->geom[pair->geom[0]].normal, cri_m3_mul(&R, accel));
    }
    case CRI_PAIR_SPHERE_SPHERE:
        break;
    }
    cri_vec3 D = cri_v3_sub(cri_v3_load(x1), cri_v3_load(x + 7 * pair->body[0]));
    cri_vec3 rate =
        cri_v3_sub(cri_v3_load(v + 6 * pair->body[1]), cri_v3_load(v + 6 * pair->body[0]));
    double distance = cri_v3_norm(D);
    cri_vec3 across = cri_v3_cross(D, rate);
    return distance > 0.0 ? cri_v3_dot(across, across) / (distance * distance * distance) : 0.0;
}

// a body that has had its share of impacts in this step: rest is then what one step of its weight
// would do
static bool is_rest_by_cap(const cr_sim *sim, int feature, double h, double gap, double speed) {
    const cri_pair *pair = &sim->model->pair[sim->model->feature[feature].pair];
    double change = h * cri_v3_norm(cri_v3_load(sim->d.gravity));
    bool is_capped = false;
    for (int side = 0; side < 2; side++) {
        int b = pair->body[side];
        is_capped = is_capped || (b >= 0 && sim->n_body_event[b] >= sim->event_cap);
    }
    return is_capped && gap <= fmax(sim->eps_gap, h * change) && fabs(speed) <= change;
}

bool cri_event_is_rest(const cr_sim *sim, int feature, const double *x, double h, double gap,
                       double speed) {
    if (fabs(speed) <= sim->eps_speed && gap <= sim->eps_gap) {
        return true;
    }
    if (is_rest_by_cap(sim, feature, h, gap, speed)) {
        return true;
    }
    if (speed < -sim->eps_speed) {
        return false;
    }
    double k = centripetal(sim, feature, x);
    return k > 0.0 && gap <= sim->eps_gap + 0.75 * h * h * k &&
           speed <= sim->eps_speed + 1.25 * h * k;
}

void cri_event_measure(cr_sim *sim, const double *x) {
    const double *v = x + sim->model->sizes.n_q;
    for (int f = 0; f < sim->model->n_feature; f++) {
        cri_touch touch = cri_feature_touch(&sim->world, f, x);
        sim->gap[f] = touch.gap;
        sim->offset[f] = fmin(touch.gap, 0.0);
        sim->speed[f] = cri_feature_speed(&sim->world, f, &touch, x, v);
    }
}

static cri_vec3 linear_accel(const cr_sim *sim, const cri_motion *motion, int b) {
    cri_vec3 force = cri_v3_load(motion->u + 6 * b);
    return cri_v3_mad(cri_v3_load(sim->d.gravity), sim->d.body[b].inv_mass, force);
}

// the rotational part of the bound for a corner
static double corner_bound(const cr_sim *sim, const cri_motion *motion, int b, double T) {
    const cri_body_derived *d = &sim->d.body[b];
    cri_vec3 I = d->inertia, spin = cri_v3_load(motion->x + sim->model->sizes.n_q + 6 * b + 3);
    double least = fmin(I.x, fmin(I.y, I.z));
    double torque = cri_v3_norm(cri_v3_load(motion->u + 6 * b + 3));
    double w = (cri_v3_norm(cri_v3_mul(I, spin)) + torque * T) / least;
    double kappa = fmax(fabs(I.y - I.z) / I.x, fmax(fabs(I.z - I.x) / I.y, fabs(I.x - I.y) / I.z));
    cri_vec3 size = cri_v3_load(sim->d.geom[sim->model->body[b].geom].size);
    return cri_v3_norm(size) * (w * w * (1.0 + kappa / sqrt(3.0)) + torque / least);
}

static search search_begin(const cr_sim *sim, const cri_motion *motion, int feature, double T) {
    const cri_pair *pair = &sim->model->pair[sim->model->feature[feature].pair];
    search s = {.feature = feature, .body = {pair->body[0], pair->body[1]}};
    s.is_round = pair->kind != CRI_PAIR_PLANE_BOX;
    cri_vec3 a1 = linear_accel(sim, motion, s.body[1]), a0 = {0};
    if (s.body[0] >= 0) {
        a0 = linear_accel(sim, motion, s.body[0]);
    }
    for (int k = 0; k < 2; k++) {
        bool is_resting =
            motion->n_island > 0 && s.body[k] >= 0 && motion->island_of[s.body[k]] >= 0;
        s.is_resting = s.is_resting || is_resting;
    }
    if (s.is_resting) {
        s.bound = 8.0 * (cri_v3_norm(a0) + cri_v3_norm(a1));
    } else if (s.body[0] >= 0) {
        s.bound = cri_v3_norm(cri_v3_sub(a1, a0));
    } else {
        s.bound = fmax(0.0, -cri_v3_dot(sim->model->geom[pair->geom[0]].normal, a1));
    }
    if (!s.is_round) {
        s.bound += corner_bound(sim, motion, s.body[1], T);
    }
    return s;
}

// gap and rate at time t along the motion; false for lack of memory
static bool gap_at(cr_sim *sim, cri_motion *motion, const search *s, double t, double *gap,
                   double *speed) {
    if (s->is_resting && !cri_motion_solve(sim, motion, t, true)) {
        return false;
    }
    for (int k = 0; k < 2; k++) {
        int b = s->body[k];
        if (b < 0) {
            continue;
        }
        if (s->is_round && !s->is_resting) {
            cri_vec3 a = linear_accel(sim, motion, b), v;
            v = cri_v3_load(motion->x + sim->model->sizes.n_q + 6 * b);
            cri_vec3 pos = cri_v3_mad(cri_v3_load(motion->x + 7 * b), t, v);
            cri_v3_store(cri_v3_mad(pos, 0.5 * t * t, a), sim->y + 7 * b);
            cri_v3_store(cri_v3_mad(v, t, a), sim->y_rate + 6 * b);
        } else {
            cri_body_tangent rate;
            cri_body_state state = cri_motion_body(sim, motion, b, t, &rate);
            cri_state_store(sim, &state, sim->y, b);
            cri_tangent_store(sim, &rate, sim->y_rate, b);
        }
    }
    cri_touch touch = cri_feature_touch(&sim->world, s->feature, sim->y);
    *gap = touch.gap - sim->offset[s->feature];
    *speed = cri_feature_speed(&sim->world, s->feature, &touch, sim->y, sim->y_rate);
    return true;
}

// Newton from the safe side of a root, within [0, T]
static bool polish(cr_sim *sim, cri_motion *motion, const search *s, double T, double *t,
                   double *gap, double *speed) {
    for (int k = 0; k < 20; k++) {
        double step = -*gap / *speed;
        *t = fmin(fmax(*t + step, 0.0), T);
        if (!gap_at(sim, motion, s, *t, gap, speed)) {
            return false;
        }
        if (fabs(step) <= 1e-16 * motion->h) {
            break;
        }
    }
    return true;
}

static double advance(double g, double s, double a) {
    double root = sqrt(s * s + 2.0 * a * g);
    if (s < 0.0) {
        return 2.0 * g / (root - s);
    }
    return a > 0.0 ? (s + root) / a : INFINITY;
}

// Does a resting body's gap stay open over the whole of T, judged by a parabola through its start
// and its end? The solve at the end is one for all features.
static bool stays_open(cr_sim *sim, cri_motion *motion, const search *s, double T,
                       bool *has_memory) {
    double g = sim->gap[s->feature] - sim->offset[s->feature], v = sim->speed[s->feature];
    double end, rate;
    *has_memory = gap_at(sim, motion, s, T, &end, &rate);
    if (!*has_memory || !(g > sim->eps_gap) || !(end > sim->eps_gap)) {
        return false;
    }
    double bend = end - g - v * T; // g + v t + bend (t/T)^2
    bool has_dip = bend > 0.0 && v < 0.0 && -v * T < 2.0 * bend;
    return !has_dip || g - v * v * T * T / (4.0 * bend) > sim->eps_gap;
}

// time of the first impact of one feature in (0, T], infinite when there is none; end >= T is that
// of the sub-step
static double first_root(cr_sim *sim, cri_motion *motion, int feature, double T, double end,
                         bool *has_memory) {
    search s = search_begin(sim, motion, feature, T);
    double g = sim->gap[feature] - sim->offset[feature], v = sim->speed[feature], t = 0.0;
    // a resting body's velocity changes with its solve, by little: 64 is a generous lever
    double slack = 64.0 * (sim->eps_speed + sim->eps_gap / motion->h);
    slack = s.is_resting ? slack + 0.25 * s.bound * motion->h : 0.0;
    if (g > 0.0 && g + T * (fmin(v, 0.0) - slack - 0.5 * s.bound * T) > 0.0) {
        return INFINITY;
    }
    if (s.is_resting) {
        if (stays_open(sim, motion, &s, end, has_memory) || !*has_memory) {
            return INFINITY;
        }
        if (!(*has_memory = gap_at(sim, motion, &s, 0.0, &g, &v))) {
            return INFINITY;
        }
    }
    if (g <= sim->eps_gap) {
        g = fmax(g, 0.0);
        if (v <= 0.0) {
            return INFINITY;
        }
    }
    for (int k = 0; k < 500; k++) {
        double tau = advance(g, v, s.bound);
        if (s.is_resting && v >= -sim->eps_speed) {
            tau = fmax(tau, T / 32.0);
        }
        t += tau;
        if (!(t <= T)) {
            return INFINITY;
        }
        if (!(*has_memory = gap_at(sim, motion, &s, t, &g, &v))) {
            return INFINITY;
        }
        // 1e-3, 1e-9: close enough for Newton's quadratic range
        if (g <= 1e-3 * sim->eps_gap || (v < 0.0 && tau < 1e-9 * motion->h)) {
            break;
        }
    }
    if (v >= -sim->eps_speed) {
        return INFINITY;
    }
    *has_memory = polish(sim, motion, &s, T, &t, &g, &v);
    return t;
}

double cri_event_search(cr_sim *sim, cri_motion *motion, double T, int n_rest, const int *rest,
                        int *feature, bool *has_memory) {
    CR_ASSERT(T >= 0.0 && n_rest >= 0);
    double best = INFINITY;
    int next_rest = 0;
    *feature = -1;
    *has_memory = true;
    for (int f = 0; f < sim->model->n_feature && *has_memory; f++) {
        sim->root[f] = INFINITY;
        if (next_rest < n_rest && rest[next_rest] == f) {
            next_rest++;
            continue;
        }
        // nothing later than the best and its neighbours matters
        double horizon = fmin(T, best + sim->eps_time);
        sim->root[f] = first_root(sim, motion, f, horizon, T, has_memory);
        if (sim->root[f] < best) {
            best = sim->root[f];
            *feature = f;
        }
    }
    return best;
}
