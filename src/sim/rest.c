// SPDX-License-Identifier: MIT
//
// What counts as rest: gap <= eps_gap and |rate| <= eps_speed. Contact points that roll on move on
// circles: with the centripetal part of the gap's acceleration
//
//   plane, ball at c     k = n.R(w x (w x c))          two balls     k = (|D'|^2 - (n.D')^2)/|D|
//   any two shapes       k = w_0^2 |rho_0| + w_1^2 |rho_1|           (no more than that)
//   bodies of a tree     k = n.(a_1 - a_0), accelerations while no joint accelerates
//
// a velocity-first step lifts such a contact by h^2 k/2 and leaves a rate of h k, then of h k/2 in
// every further step. So for k > 0
//
//   gap <= eps_gap + 3/4 h^2 k,     -eps_speed <= rate <= eps_speed + 5/4 h k,     h w <= 0.3
//
// Without this a rocking box or a rolling pile would fall back in a shower of tiny impacts. For
// k < 0, which a spin about the normal can make of a corner and a turning face of what slides over
// it, the step would sink by h^2 |k|/2: it is cut into parts t (sim/step_located.c), by the k that
// stands at bend_of, and ends with a rate of t k, so that a touch rests when
//
//   -1e3 eps_gap - 2 t^2 |k| <= gap <= eps_gap,     -eps_speed - 5/4 t |k| <= rate < -eps_speed
//
// What else approaches is always located, until a unit has had event_cap impacts in the step: then
// whatever may be reached in it, gap <= h (|rate| + h |g|), is a row of the motion's own solve,
// which lets no gap close beyond zero; nothing of that unit is located any more. Of shapes with
// many points no more than 1e-4 of the smaller radius: a row asks for -gap/h, and what several ask
// for is met on average, so that a far one would draw a near one in. What comes down from farther
// ends the part (cri_event_cut).

#include "sim/rest.h"

#include <math.h>
#include <string.h>

// velocity of a point of a body
static cri_vec3 velocity_at(const cri_state *state, int body, cri_vec3 point) {
    const double *m = state->motion + 6 * body;
    cri_vec3 spin = cri_m3_mul(&state->pose[body].R, cri_v3_load(m + 3));
    cri_vec3 arm = cri_v3_sub(point, state->pose[body].pos);
    return cri_v3_add(cri_v3_load(m), cri_v3_cross(spin, arm));
}

// the ball's centre behind a touch
static cri_vec3 centre_of(const cr_sim *sim, const cri_near *near, const cri_narrow_touch *touch,
                          int side) {
    double r = near->kind == CRI_NEAR_PLANE_BOX ? 0.0 : sim->d.geom[near->geom[side]].size[0];
    return cri_v3_mad(touch->point[side], side == 0 ? -r : r, touch->normal);
}

// centripetal part of the gap's acceleration for two balls
static double roll_of_balls(const cr_sim *sim, const cri_near *near, const cri_narrow_touch *touch,
                            const cri_state *state) {
    cri_vec3 D = cri_v3_sub(centre_of(sim, near, touch, 1), centre_of(sim, near, touch, 0));
    cri_vec3 rate = {0};
    for (int s = 0; s < 2; s++) {
        if (near->unit[s] >= 0) {
            cri_vec3 v = velocity_at(state, near->body[s], centre_of(sim, near, touch, s));
            rate = cri_v3_mad(rate, s == 0 ? -1.0 : 1.0, v);
        }
    }
    double distance = cri_v3_norm(D);
    cri_vec3 across = cri_v3_cross(D, rate);
    return distance > 0.0 ? cri_v3_dot(across, across) / (distance * distance * distance) : 0.0;
}

/// Accelerations of a body while no joint accelerates.
typedef struct coasting {
    cri_vec3 linear; // of its origin
    cri_vec3 angular;
} coasting;

static cri_vec3 spin_of(const cri_state *state, int body) {
    return cri_m3_mul(&state->pose[body].R, cri_v3_load(state->motion + 6 * body + 3));
}

// from the root: a = a_p + alpha_p x r + w_p x (w_p x r) + 2 w_p x v_rel + w_rel x v_rel,
// alpha = alpha_p + w_p x w_rel
static coasting coast(const cr_sim *sim, const cri_state *state, int body) {
    coasting c = {.linear = {.x = 0.0}};
    int parent = sim->model->mech.link[body].parent;
    if (parent < 0 || sim->model->mech.link[parent].unit < 0) {
        return c;
    }
    coasting up = coast(sim, state, parent);
    cri_vec3 r = cri_v3_sub(state->pose[body].pos, state->pose[parent].pos);
    cri_vec3 w = spin_of(state, parent), w_rel = cri_v3_sub(spin_of(state, body), w);
    cri_vec3 carried = velocity_at(state, parent, state->pose[body].pos);
    cri_vec3 v_rel = cri_v3_sub(cri_v3_load(state->motion + 6 * body), carried);
    c.linear = cri_v3_add(up.linear, cri_v3_cross(up.angular, r));
    c.linear = cri_v3_add(c.linear, cri_v3_cross(w, cri_v3_cross(w, r)));
    c.linear = cri_v3_add(c.linear, cri_v3_cross(cri_v3_mad(w_rel, 2.0, w), v_rel));
    c.angular = cri_v3_add(up.angular, cri_v3_cross(w, w_rel));
    return c;
}

// along a direction, of a point of a body
static double coasting_along(const cr_sim *sim, const cri_state *state, int body, cri_vec3 point,
                             cri_vec3 along) {
    coasting c = coast(sim, state, body);
    cri_vec3 arm = cri_v3_sub(point, state->pose[body].pos), w = spin_of(state, body);
    cri_vec3 a = cri_v3_add(c.linear, cri_v3_cross(c.angular, arm));
    return cri_v3_dot(along, cri_v3_add(a, cri_v3_cross(w, cri_v3_cross(w, arm))));
}

static double centripetal(const cr_sim *sim, const cri_near *near, const cri_narrow_touch *touch,
                          const cri_state *state) {
    if (near->kind == CRI_NEAR_LIMIT) {
        return 0.0;
    }
    if (near->kind == CRI_NEAR_SPHERE_SPHERE) {
        return roll_of_balls(sim, near, touch, state);
    }
    double sum = 0.0;
    for (int s = 0; s < 2; s++) {
        if (near->unit[s] < 0) {
            continue;
        }
        if (!sim->model->mech.unit[near->unit[s]].is_free_body) {
            bool is_ball = near->kind != CRI_NEAR_GENERAL;
            cri_vec3 at = is_ball ? centre_of(sim, near, touch, s) : touch->point[s];
            double a = coasting_along(sim, state, near->body[s], at, touch->normal);
            sum += s == 0 ? -a : a;
            continue;
        }
        const cri_pose *pose = &state->pose[near->body[s]];
        cri_vec3 w = cri_m3_mul(&pose->R, cri_v3_load(state->motion + 6 * near->body[s] + 3));
        if (near->kind == CRI_NEAR_GENERAL) {
            cri_vec3 arm = cri_v3_sub(touch->point[s], pose->pos);
            sum += cri_v3_dot(w, w) * cri_v3_norm(arm);
        } else {
            cri_vec3 arm = cri_v3_sub(centre_of(sim, near, touch, s), pose->pos);
            sum += cri_v3_dot(touch->normal, cri_v3_cross(w, cri_v3_cross(w, arm)));
        }
    }
    return sum;
}

// does a body turn so far in a step that its touches may leave their tangents?
static bool is_turning(const cri_near *near, const cri_state *state, double h) {
    bool is = false;
    for (int s = 0; s < 2; s++) {
        if (near->unit[s] >= 0 && near->body[s] >= 0) {
            cri_vec3 w = cri_v3_load(state->motion + 6 * near->body[s] + 3);
            // h^2 w u/2 is below 1e-9 m for u = 2 m/s and h = 0.01 s
            is = is || h * h * cri_v3_dot(w, w) > 1e-14;
        }
    }
    return is;
}

// k of a touch: n and p_i move as the touch does, with rates n', p_i'; u_i is the velocity of a
// body at p_i, r_i = p_i - x_i, a_i and alpha_i accelerations while no joint accelerates
//
//   k = d/dt n.(u_1 - u_0) = n'.(u_1 - u_0) + n.(b_1 - b_0)
//   b_i = a_i + alpha_i x r_i + w_i x (p_i' - x_i')
static double bend_of(const cr_sim *sim, const cri_near *near, const cri_narrow_touch *touch,
                      const cri_state *state) {
    const double *v = state->x + sim->model->sizes.n_q;
    bool is_ball = near->kind != CRI_NEAR_GENERAL, has_rate = !is_ball && !near->is_field;
    cri_touch_diff rate = {0};
    if (has_rate) {
        rate = cri_near_touch_jvp(&sim->world, near, touch, state, v, state->motion, &sim->d_tan);
    }
    double k = 0.0;
    for (int s = 0; s < 2; s++) {
        if (near->unit[s] < 0) {
            continue;
        }
        int body = near->body[s];
        cri_vec3 at = is_ball ? centre_of(sim, near, touch, s) : touch->point[s];
        cri_vec3 arm = cri_v3_sub(at, state->pose[body].pos), w = spin_of(state, body);
        cri_vec3 u = velocity_at(state, body, at), moved = has_rate ? rate.point[s] : u;
        coasting c = coast(sim, state, body);
        cri_vec3 turned = cri_v3_sub(moved, cri_v3_load(state->motion + 6 * body));
        cri_vec3 bend = cri_v3_add(c.linear, cri_v3_cross(c.angular, arm));
        bend = cri_v3_add(bend, cri_v3_cross(w, turned));
        double own = cri_v3_dot(touch->normal, bend) + cri_v3_dot(rate.normal, u);
        k += s == 0 ? -own : own;
    }
    return k;
}

// -k of a feature, 0: what does not turn, and balls, only ever part; *is_clear: d_tan is zero
static double sinking_of(cr_sim *sim, const cri_motion *motion, int feature, bool *is_clear) {
    const cri_near *near = cri_scan_near(&sim->scan, feature);
    if (near->kind == CRI_NEAR_LIMIT || near->kind == CRI_NEAR_SPHERE_SPHERE ||
        !is_turning(near, &motion->state, motion->h)) {
        return 0.0;
    }
    if (near->kind == CRI_NEAR_GENERAL && !*is_clear) {
        memset(sim->d_tan.block, 0, sizeof(double) * (size_t)sim->d_tan.n_double);
        *is_clear = true;
    }
    return fmax(-bend_of(sim, near, &sim->scan.touch[feature], &motion->state), 0.0);
}

static double part_of(const cr_sim *sim, double h, double sinking) {
    double n = ceil(h * sqrt(sinking / (1e3 * sim->eps_gap)));
    return h / fmin(fmax(n, 1.0), 128.0);
}

double cri_rest_part(cr_sim *sim, const cri_motion *motion, int n_rest) {
    CR_ASSERT(n_rest >= 0);
    double most = 0.0;
    bool is_clear = false;
    for (int i = 0; i < n_rest; i++) {
        most = fmax(most, sinking_of(sim, motion, sim->scan.rest[i], &is_clear));
    }
    return part_of(sim, motion->h, most);
}

bool cri_rests_by_sinking(cr_sim *sim, const cri_motion *motion, int feature) {
    CR_ASSERT(feature >= 0);
    double gap = sim->scan.gap[feature], speed = sim->scan.speed[feature];
    if (!(gap <= sim->eps_gap && speed < -sim->eps_speed)) {
        return false;
    }
    bool is_clear = false;
    double sinking = sinking_of(sim, motion, feature, &is_clear);
    double part = part_of(sim, motion->h, sinking);
    return -gap <= 1e3 * sim->eps_gap + 2.0 * part * part * sinking &&
           -speed <= sim->eps_speed + 1.25 * part * sinking;
}

bool cri_is_capped(const cr_sim *sim, const cri_near *near) {
    bool is_capped = false;
    for (int side = 0; side < 2; side++) {
        int u = near->unit[side];
        is_capped = is_capped || (u >= 0 && sim->n_unit_event[u] >= sim->event_cap);
    }
    return is_capped;
}

bool cri_rests_by_cap(const cr_sim *sim, int feature, double h) {
    CR_ASSERT(feature >= 0 && h > 0.0);
    const cri_scan *scan = &sim->scan;
    double change = h * cri_v3_norm(cri_v3_load(sim->d.mech.gravity));
    double far = h * (change + fmax(-scan->speed[feature], 0.0));
    const cri_near *near = cri_scan_near(scan, feature);
    if (!cri_near_has_points(near)) {
        far = fmin(far, 1e-4 * fmin(sim->reach[near->geom[0]], sim->reach[near->geom[1]]));
    }
    return scan->gap[feature] <= fmax(sim->eps_gap, far) && cri_is_capped(sim, near);
}

// does a body turn so far in a step that its contact point leaves its circle's beginning?
static bool turns_fast(const cri_near *near, const cri_state *state, double h) {
    bool is_fast = false;
    // balls roll over each other by their centres' motion, whatever their spin
    for (int s = 0; s < 2 && near->kind != CRI_NEAR_SPHERE_SPHERE; s++) {
        if (near->unit[s] >= 0 && near->body[s] >= 0) {
            cri_vec3 w = cri_v3_load(state->motion + 6 * near->body[s] + 3);
            // 0.3 rad: the circle is a parabola to a percent
            is_fast = is_fast || h * h * cri_v3_dot(w, w) > 0.09;
        }
    }
    return is_fast;
}

bool cri_is_resting(const cr_sim *sim, int feature, const cri_narrow_touch *touch,
                    const cri_state *state, double h, double speed) {
    CR_ASSERT(feature >= 0 && touch);
    const cri_near *near = cri_scan_near(&sim->scan, feature);
    double gap = touch->gap;
    if (fabs(speed) <= sim->eps_speed && gap <= sim->eps_gap) {
        return true;
    }
    if (speed < -sim->eps_speed || !isfinite(gap) || turns_fast(near, state, h)) {
        return false;
    }
    double k = centripetal(sim, near, touch, state);
    return k > 0.0 && gap <= sim->eps_gap + 0.75 * h * h * k &&
           speed <= sim->eps_speed + 1.25 * h * k;
}
