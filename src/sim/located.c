// SPDX-License-Identifier: MIT
//
// The located step: smooth motion to the first impact, a jump, and on, until the step is used up.
//
//   F1  classify features at x: gap g, rate s
//         resting       g <= eps_gap, |s| <= eps_speed       rows of the motion's own solve, never
//                       (more for what rolls on: located.c)     located
//         impact now    g <= eps_gap, s < -eps_speed         event at t = 0
//         separating    g <= eps_gap, s > eps_speed          located after lift-off
//         apart         else                                 located
//       no impact within T: x' = Phi_T(x), done; a fast turn is cut into parts of half a
//       radian, one that draws a resting corner down into shorter ones, each such a sub-step of
//       fixed length
//   F2  t: root of G(t) = sum_k w_k (g_k(Phi_t(x)) - o_k), w_k = rate frozen, over the hits:
//       features of one island within eps_time of the first; o_k = g_k(x) in an overlap, else 0
//   F3  y = Phi_t(x),  y_rate = d Phi_t/dt of the discrete map
//   F4  group: hits and whatever touches in their island; an approaching one joins the hits
//       (back to F2)
//   F5  v+ = jump(y), inelastic where e |b_n| <= eps_speed
//   F6  x = [y_q | v+],  T = T - t; a unit that has had its share of impacts has inelastic rows
//       for what it may reach in what is left, in short parts of fixed length, halved where
//       something else comes down (cri_event_cut)
//
// Adjoint: last line first; what is carried besides x_adj is T_adj, the derivative for the time
// left.
//   A0  (x_adj, T_adj) = motion_vjp(x'_adj)
//   A1  y_adj = [x_adj_q | 0] + jump_vjp(x_adj_v)
//   A2  t_adj = y_adj . y_rate - T_adj
//   A3  if located: y_adj += -t_adj/G_rate sum_k w_k grad g_k        (and so for the parameters)
//   A4  x_adj = motion_vjp(y_adj), its own t_adj was used in A2; the overlaps o_k add
//       t_adj/G_rate w_k grad g_k(x)
//
// Source of the event-time term: implicit function theorem on G(t; x, p) = 0, the saltation matrix
// of one event. For several hits at once it is an average with weights rate^2 (paper 004, Eq. 6-7).

#include "sim/located.h"

#include "contact/island.h"
#include "sim/search.h"
#include "sim/sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/// An impact in the making. Lists of features are in the scan: hit and group; the rates of the
/// hits' gaps are in its roots.
typedef struct cri_impact {
    double t; // s after the start of the sub-step
    int n_hit;
    int n_group;
    double G_rate;
} cri_impact;

// up to here a list is sorted by insertion
enum { MAX_INSERTED = 64 };

/// Accelerations of a body while no joint accelerates.
typedef struct coasting {
    cri_vec3 linear; // of its origin
    cri_vec3 angular;
} coasting;

/// A touch whose gap decides the time of an event.
typedef struct cri_hit {
    cri_near near;
    cri_narrow_touch touch; // at y
    cri_narrow_touch start; // at x, for a deep one
    double weight;          // rate of its gap
    bool is_deep;           // the gap counts from the overlap at the start
} cri_hit;

/// One sub-step: motion over t from x, then, unless it is the last or a part of a fast turn, a jump
/// at y.
typedef struct sub {
    struct sub *previous;
    struct sub *next;
    double t;
    cri_motion motion;
    bool has_event;
    bool is_located;
    int n_hit;
    cri_hit *hit; // (n_hit)
    double G_rate;
    cri_state state; // y
    double *y;       // (n_x)
    double *y_rate;  // (n_tangent)
    cri_jump jump;
} sub;

/// All sub-steps of a step.
typedef struct sub_list {
    sub *first;
    sub *last;
} sub_list;

// ---- warm data ----------------------------------------------------------------------------------

// Warm data: impulses of resting contacts, kept from step to step in a list sorted by contact.

static int by_key(const void *x, const void *y) {
    const int *a = ((const cri_warm *)x)->key, *b = ((const cri_warm *)y)->key;
    for (int i = 0; i < 3; i++) {
        if (a[i] != b[i]) {
            return a[i] < b[i] ? -1 : 1;
        }
    }
    return 0;
}

static cri_warm entry_of(const cri_near *near, int id) {
    if (near->kind == CRI_NEAR_LIMIT) {
        return (cri_warm){.key = {-1, near->limit, 0}};
    }
    return (cri_warm){.key = {near->geom[0], near->geom[1], id}};
}

void cri_warm_clear(cri_warm_list *list) {
    list->n = 0;
}

static bool reserve(cri_warm_list *list, int n) {
    if (n <= list->space) {
        return true;
    }
    CR_ASSERT(n > 0);
    int space = 2 * n;
    cri_warm *grown = realloc(list->entry, sizeof *grown * (size_t)space);
    if (grown) {
        list->entry = grown;
        list->space = space;
    }
    return grown != NULL;
}

bool cri_warm_copy(const cri_warm_list *from, cri_warm_list *to) {
    CR_ASSERT(from && to && from != to);
    if (!reserve(to, from->n)) {
        return false;
    }
    if (from->n > 0) {
        memcpy(to->entry, from->entry, sizeof *to->entry * (size_t)from->n);
    }
    to->n = from->n;
    return true;
}

const double *cri_warm_find(const cri_warm_list *list, const cri_near *near, int id) {
    if (list->n == 0) {
        return NULL;
    }
    cri_warm key = entry_of(near, id);
    const cri_warm *found =
        bsearch(&key, list->entry, (size_t)list->n, sizeof *list->entry, by_key);
    return found ? found->f : NULL;
}

// few, which are nearly in order, one by one
static void sort(cri_warm_list *list) {
    if (list->n > MAX_INSERTED) {
        qsort(list->entry, (size_t)list->n, sizeof *list->entry, by_key);
        return;
    }
    for (int k = 1; k < list->n; k++) {
        cri_warm moved = list->entry[k];
        int at = k;
        for (; at > 0 && by_key(&moved, &list->entry[at - 1]) < 0; at--) {
            list->entry[at] = list->entry[at - 1];
        }
        if (at < k) {
            list->entry[at] = moved;
        }
    }
}

bool cri_warm_store(cri_warm_list *list, int n, const cri_jump *jump) {
    CR_ASSERT(list && n >= 0 && (jump || n == 0));
    int n_entry = 0;
    for (int k = 0; k < n; k++) {
        n_entry += jump[k].n;
    }
    if (!reserve(list, n_entry)) {
        return false; // and what was there stays
    }
    list->n = 0;
    for (int k = 0; k < n; k++) {
        for (int i = 0; i < jump[k].n; i++) {
            cri_warm *e = &list->entry[list->n++];
            *e = entry_of(&jump[k].row[i].near, jump[k].row[i].touch.id);
            memcpy(e->f, jump[k].f + 3 * i, sizeof e->f);
        }
    }
    sort(list);
    return true;
}

// ---- resting contacts ---------------------------------------------------------------------------

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
// it, the step would sink by h^2 |k|/2: it is cut into parts t (sim/located.c), by the k that
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

static double rest_part_of(const cr_sim *sim, double h, double sinking) {
    double n = ceil(h * sqrt(sinking / (1e3 * sim->eps_gap)));
    return h / fmin(fmax(n, 1.0), 128.0);
}

/// The part of a step that the features in scan->rest (n_rest) may move at once without sinking:
/// their rows hold the tangents of turns, which they leave by k t^2/2, no more than half of what
/// counts as an overlap (sim/motion.c); at most 128 parts.
static double rest_part(cr_sim *sim, const cri_motion *motion, int n_rest) {
    CR_ASSERT(n_rest >= 0);
    double most = 0.0;
    bool is_clear = false;
    for (int i = 0; i < n_rest; i++) {
        most = fmax(most, sinking_of(sim, motion, sim->scan.rest[i], &is_clear));
    }
    return rest_part_of(sim, motion->h, most);
}

/// Does a feature in touch approach no faster than such a part leaves it?
static bool rests_by_sinking(cr_sim *sim, const cri_motion *motion, int feature) {
    CR_ASSERT(feature >= 0);
    double gap = sim->scan.gap[feature], speed = sim->scan.speed[feature];
    if (!(gap <= sim->eps_gap && speed < -sim->eps_speed)) {
        return false;
    }
    bool is_clear = false;
    double sinking = sinking_of(sim, motion, feature, &is_clear);
    double part = rest_part_of(sim, motion->h, sinking);
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

/// Is a feature, as it was measured, within reach of such a unit?
static bool rests_by_cap(const cr_sim *sim, int feature, double h) {
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

/// Does a touch of a feature with this rate rest at a state, in a step of h seconds?
static bool cri_is_resting(const cr_sim *sim, int feature, const cri_narrow_touch *touch,
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

// ---- impacts ------------------------------------------------------------------------------------

// Which touches make up an impact, and when exactly it happens (F1 to F4 of sim/located.c).
//
//   hits    features of one island within eps_time of the first root
//   t       root of G(t) = sum_k w_k (g_k(Phi_t(x)) - o_k), w_k = rate frozen, over the hits
//   group   hits and whatever touches in their island at y = Phi_t(x); what approaches joins them

static double rate_of(const cr_sim *sim, int f, const cri_narrow_touch *touch,
                      const cri_state *state) {
    return cri_near_rate(&sim->world, cri_scan_near(&sim->scan, f), touch, state,
                         state->x + sim->model->sizes.n_q, state->motion);
}

static bool rests_at_start(cr_sim *sim, const cri_motion *motion, int f) {
    const cri_scan *scan = &sim->scan;
    return rests_by_cap(sim, f, motion->h) ||
           cri_is_resting(sim, f, &scan->touch[f], &motion->state, motion->h, scan->speed[f]) ||
           rests_by_sinking(sim, motion, f);
}

/// Resting features at the start of a motion, into scan->rest; returns how many.
static int impact_resting(cr_sim *sim, const cri_motion *motion) {
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
static int impact_now(cr_sim *sim, const cri_motion *motion) {
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
static int impact_hits(cr_sim *sim, double t, int first) {
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

/// The feature that had the touch scan->now[f] at the start; -1: none had.
static int impact_start(const cr_sim *sim, int f) {
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
        int start = impact_start(sim, f);
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
static bool impact_locate(cr_sim *sim, cri_motion *motion, double T, bool is_now,
                          cri_impact *impact) {
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

// ---- the step -----------------------------------------------------------------------------------

// copies what locate found onto the tape; false for lack of memory
static bool keep_event(cr_sim *sim, sub *s, int n_hit) {
    const cr_sizes *z = &sim->model->sizes;
    const cri_scan *scan = &sim->scan;
    s->n_hit = n_hit;
    s->hit = CR_PUSH_RAW(sim->tape, cri_hit, n_hit);
    s->y = CR_PUSH_RAW(sim->tape, double, z->n_x);
    s->y_rate = CR_PUSH_RAW(sim->tape, double, z->n_tangent);
    if (!s->hit || !s->y || !s->y_rate ||
        !cri_arena_reserve(sim->tape, cri_state_bytes(sim->model))) {
        return false;
    }
    cri_state_push(sim->model, s->y, &s->state, sim->tape);
    cri_state_copy(sim->model, &sim->work, &s->state);
    memcpy(s->y_rate, sim->y_rate, sizeof *s->y_rate * (size_t)z->n_tangent);
    for (int k = 0; k < n_hit; k++) {
        int f = scan->hit[k], start = impact_start(sim, f);
        s->hit[k] = (cri_hit){.near = *cri_scan_near(scan, f),
                              .touch = scan->now[f],
                              .start = scan->touch[start >= 0 ? start : f],
                              .weight = scan->root[f],
                              .is_deep = start >= 0 && scan->offset[start] < -sim->eps_gap};
        for (int side = 0; s->hit[k].is_deep && side < 2; side++) {
            int unit = s->hit[k].near.unit[side];
            bool is_tree = unit >= 0 && !sim->model->mech.unit[unit].is_free_body;
            if (is_tree && !cri_state_tree(sim->model, &sim->d, &s->motion.state, unit, sim->tape,
                                           sim->scratch)) {
                return false;
            }
        }
    }
    return true;
}

// true when the island of the group has had its share of impacts
static bool count_impact(cr_sim *sim, const cri_jump *jump) {
    bool is_capped = false;
    for (int k = 0; k < jump->n_unit; k++) {
        is_capped = ++sim->n_unit_event[jump->unit[k]] > sim->event_cap || is_capped;
    }
    return is_capped;
}

// does the row press without any motion of its own, so that e -> 0+ ends in rest? Trees: their
// weight alone is asked
static bool is_pressed(const cr_sim *sim, const cri_row *row, const double *u) {
    double push = 0.0;
    for (int side = 0; side < 2; side++) {
        int unit = row->near.unit[side];
        if (unit < 0 || row->near.kind == CRI_NEAR_LIMIT) {
            continue;
        }
        cri_vec3 linear = cri_v3_load(sim->d.mech.gravity), angular, none = {0};
        if (sim->model->mech.unit[unit].is_free_body) {
            cri_drive drive = cri_drive_of(sim, u, &sim->model->mech.unit[unit]);
            cri_acceleration(&drive, none, &linear, &angular);
        }
        push += cri_v3_dot(cri_v3_load(row->J[side][0]), linear);
    }
    return push < 0.0;
}

// F5: which rows of the jump are inelastic
static void set_restitution(cr_sim *sim, sub *s, cr_step_report *report) {
    cri_jump *jump = &s->jump;
    const double *v = s->y + sim->model->sizes.n_q;
    bool is_capped = count_impact(sim, jump);
    for (int k = 0; k < jump->n; k++) {
        const cri_row *row = &jump->row[k];
        double speed = fabs(
            cri_near_rate(&sim->world, &row->near, &row->touch, &s->state, v, s->state.motion));
        jump->is_plain[k] = is_capped || jump->e[k] * speed <= sim->eps_speed;
        if (!jump->is_plain[k]) {
            continue;
        }
        // at e = 0 the derivative is that for e -> 0+, unless the contact then rests
        bool is_edge = jump->e[k] == 0.0 && !is_capped && speed > sim->eps_speed &&
                       row->near.kind != CRI_NEAR_LIMIT;
        jump->has_e[k] = is_edge && !is_pressed(sim, row, s->motion.u);
        report->grad |= is_edge || is_capped ? CR_GRAD_ONE_SIDED : 0;
    }
    report->n_capped += is_capped;
}

// F5 and F6: the jump at s->y, on the group; x_after (n_x) may be anything but s->y
static bool run_jump(cr_sim *sim, sub *s, int n_group, double *x_after, cr_step_report *report) {
    CR_ASSERT(n_group > 0);
    cri_scan *scan = &sim->scan;
    for (int k = 0; k < n_group; k++) {
        int f = scan->group[k];
        scan->ref[k] = (cri_contact_ref){cri_scan_near(scan, f), &scan->now[f]};
    }
    n_group = cri_jump_thin(&sim->world, n_group, scan->ref);
    size_t room = cri_jump_bytes(&sim->world, n_group, scan->ref);
    if (!cri_arena_reserve(sim->tape, 2 * room) || !cri_arena_reserve(sim->scratch, room)) {
        return false;
    }
    int n_q = sim->model->sizes.n_q;
    cri_jump_begin(&sim->world, n_group, scan->ref, &s->state, &s->jump, sim->tape, sim->scratch);
    set_restitution(sim, s, report);
    memcpy(x_after, s->y, sizeof *x_after * (size_t)sim->model->sizes.n_x);
    cri_jump_solve(&sim->world, &s->jump, s->y + n_q, sim->has_cache, x_after + n_q, sim->tape,
                   sim->scratch);
    cri_report_jump(sim, &s->jump, report);
    report->n_event++;
    report->grad |= s->n_hit > 1 ? CR_GRAD_AVERAGED : 0;
    report->grad |= s->is_located ? 0 : CR_GRAD_ONE_SIDED;
    for (int k = 0; k < s->n_hit; k++) {
        report->least_speed = fmin(report->least_speed, fabs(s->hit[k].weight));
        report->grad |= s->hit[k].is_deep ? CR_GRAD_ONE_SIDED : 0;
    }
    return true;
}

static sub *push_sub(cr_sim *sim, sub_list *trail, const double *x, const cri_step_record *record) {
    sub *s = CR_PUSH(sim->tape, sub, 1);
    if (s && !cri_motion_push(sim, &s->motion, x, record->u, record->h)) {
        return NULL;
    }
    if (s) {
        s->previous = trail->last;
        if (trail->last) {
            trail->last->next = s;
        } else {
            trail->first = s;
        }
        trail->last = s;
    }
    return s;
}

// no impact in the rest of the step: x' = Phi_T(x), and its resting impulses are the next warm
// start
static bool finish(cr_sim *sim, sub *s, double T, double *x_next, cr_step_report *report) {
    s->t = T;
    if (!cri_motion_all(sim, &s->motion, T, x_next, NULL)) {
        return false;
    }
    for (int k = 0; k < s->motion.n_island; k++) {
        cri_report_jump(sim, &s->motion.island[k], report);
        report->grad |= CR_GRAD_DISCRETE;
    }
    return cri_warm_store(&sim->warm, s->motion.n_island, s->motion.island);
}

// spin of the fastest body that does not turn alike about all axes, rad/s
static double fastest_spin(const cr_sim *sim, const cri_state *state) {
    double fastest = 0.0;
    for (int b = 0; b < sim->model->mech.n_body; b++) {
        int unit = sim->model->mech.link[b].unit;
        cri_vec3 I = sim->d.body[b].inertia;
        bool is_alike =
            unit >= 0 && sim->model->mech.unit[unit].is_free_body && I.x == I.y && I.y == I.z;
        if (unit >= 0 && !is_alike) {
            fastest = fmax(fastest, cri_v3_norm(cri_v3_load(state->motion + 6 * b + 3)));
        }
    }
    return fastest;
}

// The n-th part of a step, the last one with what is left: a length that the time of no impact
// changes, so that derivatives hold it fixed.
static double part_of(double n, double h, double T) {
    double part = h / fmax(n, 1.0);
    return T > 1.001 * part ? part : T;
}

// The longest smooth motion that RK4 follows well: half a radian. A resting contact knows its shape
// at the start alone: a twentieth, where the step is that of a fast turn (sim/located.c). At most
// 4096 parts of the step.
static double longest_motion(double spin, bool is_resting, double h, double T) {
    bool is_short = is_resting && spin * h > 0.3;
    return part_of(ceil(fmin((is_short ? 20.0 : 2.0) * spin * h, 4096.0)), h, T);
}

// The longest motion of units whose impacts are no longer located, T when there are none. What is
// not among their rows falls freely: by no more than 1e-4 of the smaller body's radius, and no body
// turns by more than 1/100 radian. At most 256 parts of the step.
static double longest_coast(const cr_sim *sim, double spin, double h, double T, bool *is_capped) {
    *is_capped = false;
    double g = cri_v3_norm(cri_v3_load(sim->d.mech.gravity)), n = 1.0;
    for (int k = 0; k < sim->scan.n_near; k++) {
        const cri_near *near = &sim->scan.near[k];
        if (!cri_is_capped(sim, near)) {
            continue;
        }
        for (int side = 0; side < 2 && near->kind != CRI_NEAR_LIMIT; side++) {
            double r = sim->reach[near->geom[side]];
            n = isfinite(r) && r > 0.0 ? fmax(n, h * sqrt(g / (1e-4 * r))) : n;
        }
        n = fmax(n, 100.0 * spin * h);
        *is_capped = true;
    }
    return part_of(fmin(ceil(n), 256.0), h, T);
}

// F1: what rests and what hits at once; *n_now 0: nothing does
static bool begin_sub(cr_sim *sim, sub *s, double T, int *n_now, int *n_rest,
                      cr_step_report *report) {
    if (!cri_scan_start(sim, &s->motion, T)) {
        return false;
    }
    for (int f = 0; f < sim->scan.n_feature; f++) {
        bool is_limit = cri_scan_near(&sim->scan, f)->kind == CRI_NEAR_LIMIT;
        report->penetration = fmax(report->penetration, is_limit ? 0.0 : -sim->scan.gap[f]);
    }
    *n_now = impact_now(sim, &s->motion);
    *n_rest = *n_now > 0 ? 0 : impact_resting(sim, &s->motion);
    s->motion.part = rest_part(sim, &s->motion, *n_rest);
    s->is_located = true;
    for (int k = 0; k < *n_now; k++) {
        int f = sim->scan.hit[k];
        s->is_located = s->is_located && sim->scan.gap[f] >= -sim->eps_gap;
    }
    return cri_motion_begin(sim, &s->motion, *n_rest, sim->scan.rest);
}

// one round of F1 to F6 from x; *T is the time left, x_after the next state
static bool run_sub(cr_sim *sim, sub_list *trail, const cri_step_record *record, const double *x,
                    double *T, double *x_after, cr_step_report *report) {
    sub *s = push_sub(sim, trail, x, record);
    if (!s) {
        return false;
    }
    int n_rest, n_now, first;
    bool has_memory = true, is_capped;
    cri_state_set(sim->model, &s->motion.state);
    double spin = fastest_spin(sim, &s->motion.state);
    double end = longest_motion(spin, false, record->h, *T);
    if (!begin_sub(sim, s, end, &n_now, &n_rest, report)) {
        return false;
    }
    end = n_rest > 0 ? longest_motion(spin, true, record->h, *T) : end;
    double coast = longest_coast(sim, spin, record->h, *T, &is_capped);
    end = fmin(fmin(end, coast), part_of(record->h / s->motion.part, record->h, *T));
    int n_hit = n_now;
    if (is_capped) {
        end = cri_event_cut(sim, &s->motion, end, n_rest, sim->scan.rest, &has_memory);
    }
    if (n_now == 0 && has_memory) {
        s->t = cri_event_search(sim, &s->motion, end, n_rest, sim->scan.rest, &first, &has_memory);
        n_hit = has_memory && first >= 0 ? impact_hits(sim, s->t, first) : 0;
    }
    if (!has_memory) {
        return false;
    }
    if (n_hit == 0) {
        report->grad |= is_capped ? CR_GRAD_ONE_SIDED : 0;
        report->n_capped += is_capped;
        *T = end < *T ? *T - end : 0.0;
        return finish(sim, s, end, x_after, report);
    }
    s->has_event = true;
    cri_impact impact = {.t = s->t, .n_hit = n_hit};
    if (!impact_locate(sim, &s->motion, end, n_now > 0, &impact)) {
        return false;
    }
    s->t = impact.t;
    s->G_rate = impact.G_rate;
    if (!keep_event(sim, s, impact.n_hit) || !run_jump(sim, s, impact.n_group, x_after, report)) {
        return false;
    }
    for (int k = 0; k < s->motion.n_island; k++) {
        cri_report_jump(sim, &s->motion.island[k], report);
        report->grad |= CR_GRAD_DISCRETE;
    }
    *T -= s->t;
    return true;
}

static cr_status located_step(cr_sim *sim, cri_step_record *record, double *x_next, cr_error *err) {
    sub_list *steps = CR_PUSH(sim->tape, sub_list, 1);
    const double *x = record->x;
    double T = record->h;
    bool has_memory;
    memset(sim->n_unit_event, 0, sizeof(int) * (size_t)sim->model->mech.n_unit);
    do {
        double *after = CR_PUSH_RAW(sim->tape, double, sim->model->sizes.n_x);
        has_memory = after && steps && run_sub(sim, steps, record, x, &T, after, &record->report);
        x = after;
    } while (has_memory && (T > 0.0 || steps->last->has_event));
    if (!has_memory) {
        return cri_no_memory(err);
    }
    memcpy(x_next, x, sizeof *x_next * (size_t)sim->model->sizes.n_x);
    record->data = steps;
    return CR_OK;
}

// A1 to A4 for one event; y_adj is that of the state behind the jump, then that of s->motion.x
static void event_vjp(cr_sim *sim, const sub *s, double T_adj, double *y_adj, double *u_adj) {
    int n_v = sim->model->sizes.n_v, n_tangent = sim->model->sizes.n_tangent;
    double *v_adj = CR_PUSH_RAW(sim->scratch, double, n_v);
    double *target_adj = CR_PUSH_RAW(sim->scratch, double, s->jump.n);

    // x = [y_q | v+]: units of the group get their velocity from the jump, the others keep theirs
    memcpy(v_adj, y_adj + n_v, sizeof *v_adj * (size_t)n_v);
    cri_jump_clear(&sim->world, &s->jump, y_adj + n_v);
    cri_jump_solve_vjp(&sim->world, &s->jump, v_adj, y_adj + n_v, y_adj, &sim->d_adj, target_adj,
                       sim->scratch);

    // T_next = T - t and y = Phi_t(x): what t receives
    double t_adj = -T_adj;
    for (int i = 0; i < n_tangent; i++) {
        t_adj += y_adj[i] * s->y_rate[i];
    }

    // G(t; x, p) = sum w_k (g_k(Phi_t(x)) - o_k) = 0
    for (int k = 0; s->is_located && k < s->n_hit; k++) {
        const cri_hit *hit = &s->hit[k];
        cri_touch_diff adj = {.gap = -t_adj / s->G_rate * hit->weight};
        cri_near_touch_vjp(&sim->world, &hit->near, &hit->touch, &s->state, &adj, y_adj,
                           &sim->d_adj);
    }

    // y = Phi_t(x)
    cri_motion_vjp(sim, &s->motion, s->t, y_adj, u_adj);

    // o_k = g_k(x) in an overlap
    for (int k = 0; s->is_located && k < s->n_hit; k++) {
        const cri_hit *hit = &s->hit[k];
        cri_touch_diff adj = {.gap = t_adj / s->G_rate * hit->weight};
        if (hit->is_deep) {
            cri_near_touch_vjp(&sim->world, &hit->near, &hit->start, &s->motion.state, &adj, y_adj,
                               &sim->d_adj);
        }
    }
}

// room in scratch for the derivatives of one sub-step
static bool reserve_for(cr_sim *sim, const sub *s) {
    size_t room = cri_motion_scratch_bytes(sim, &s->motion) +
                  sizeof(double) * 4 * (size_t)sim->model->sizes.n_v;
    if (s->has_event) {
        room += 2 * s->jump.n_byte;
    }
    return cri_arena_reserve(sim->scratch, room);
}

static cr_status located_vjp(cr_sim *sim, const cri_step_record *record, double *y_adj,
                             double *u_adj, cr_error *err) {
    const sub_list *steps = record->data;
    const sub *s = steps->last;
    if (!reserve_for(sim, s)) {
        return cri_no_memory(err);
    }
    double T_adj = cri_motion_vjp(sim, &s->motion, s->t, y_adj, u_adj);
    for (s = s->previous; s; s = s->previous) {
        if (!reserve_for(sim, s)) {
            return cri_no_memory(err);
        }
        cri_arena_mark mark = cri_arena_get_mark(sim->scratch);
        if (s->has_event) {
            event_vjp(sim, s, T_adj, y_adj, u_adj);
        } else {
            // a part of a motion that was too long: its time is a constant
            cri_motion_vjp(sim, &s->motion, s->t, y_adj, u_adj);
        }
        cri_arena_rewind(sim->scratch, mark);
    }
    return CR_OK;
}

// tangent through one event; returns t_tan
static double event_jvp(cr_sim *sim, const sub *s, double *y_tan, const double *u_tan) {
    int n_v = sim->model->sizes.n_v, n_tangent = sim->model->sizes.n_tangent;
    double t_tan = 0.0;
    cri_state_motion(sim->model, &s->motion.state, sim->is_moved, y_tan, sim->body_tan);
    for (int k = 0; s->is_located && k < s->n_hit; k++) {
        const cri_hit *hit = &s->hit[k];
        if (hit->is_deep) {
            cri_touch_diff tan =
                cri_near_touch_jvp(&sim->world, &hit->near, &hit->start, &s->motion.state, y_tan,
                                   sim->body_tan, &sim->d_tan);
            t_tan += hit->weight * tan.gap / s->G_rate;
        }
    }
    cri_motion_jvp(sim, &s->motion, s->t, 0.0, y_tan, u_tan);
    cri_state_motion(sim->model, &s->state, sim->is_moved, y_tan, sim->body_tan);
    for (int k = 0; s->is_located && k < s->n_hit; k++) {
        const cri_hit *hit = &s->hit[k];
        cri_touch_diff tan = cri_near_touch_jvp(&sim->world, &hit->near, &hit->touch, &s->state,
                                                y_tan, sim->body_tan, &sim->d_tan);
        t_tan -= hit->weight * tan.gap / s->G_rate;
    }
    if (t_tan != 0.0) {
        cri_sim_move_all(sim);
    }
    for (int i = 0; i < n_tangent; i++) {
        y_tan[i] += s->y_rate[i] * t_tan;
    }
    if (!cri_sim_spread(sim, &s->jump)) {
        return t_tan;
    }
    double *v_tan = CR_PUSH_RAW(sim->scratch, double, n_v);
    memcpy(v_tan, y_tan + n_v, sizeof *v_tan * (size_t)n_v);
    cri_state_motion(sim->model, &s->state, sim->is_moved, y_tan, sim->body_tan);
    cri_jump_tan tan = {.v = v_tan,
                        .q = y_tan,
                        .body_tan = sim->body_tan,
                        .d = &sim->d_tan,
                        .is_fixed = sim->is_d_fixed};
    cri_jump_solve_jvp(&sim->world, &s->jump, &tan, y_tan + n_v, sim->scratch);
    return t_tan;
}

static cr_status located_jvp(cr_sim *sim, const cri_step_record *record, double *y_tan,
                             const double *u_tan, cr_error *err) {
    const sub_list *steps = record->data;
    double T_tan = 0.0;
    for (const sub *s = steps->first; s; s = s->next) {
        if (!reserve_for(sim, s)) {
            return cri_no_memory(err);
        }
        cri_arena_mark mark = cri_arena_get_mark(sim->scratch);
        if (s->has_event) {
            T_tan -= event_jvp(sim, s, y_tan, u_tan);
        } else {
            cri_motion_jvp(sim, &s->motion, s->t, s->next ? 0.0 : T_tan, y_tan, u_tan);
        }
        cri_arena_rewind(sim->scratch, mark);
    }
    return CR_OK;
}

static int located_contacts(const cri_step_record *record, cr_contact *out) {
    const sub_list *steps = record->data;
    double time = 0.0;
    int n = 0;
    for (const sub *s = steps->first; s; s = s->next) {
        for (int k = 0; k < s->motion.n_island; k++) {
            n += cri_contacts_of(&s->motion.island[k], time, false, out ? out + n : NULL);
        }
        time += s->t;
        if (s->has_event) {
            n += cri_contacts_of(&s->jump, time, true, out ? out + n : NULL);
        }
    }
    return n;
}

const cri_stepper cri_stepper_located = {
    .name = "located",
    .summary = "impacts at their own time; exact gradients away from rest",
    .step = located_step,
    .vjp = located_vjp,
    .jvp = located_jvp,
    .contacts = located_contacts,
};
