// SPDX-License-Identifier: MIT
//
// Friction of the long-range potential (equation 12 and appendix A.3 there). Frozen at the start of
// a step: the plane's normal n with T = 1 - n n', corners x_k, their normal forces N_k, and weights
// a_k = friction h mu N_k. Over the step, with w_k = T (x'_k - x_k)/h,
//
//   D = min over u of sum a_k rho_k,   e_k = w_k - u,   rho_k = sqrt(|e_k|^2 + v^2)
//
// u is the velocity of the plane; sum a_k e_k/rho_k = 0 is the balance of forces on it. The force
// on a corner has the length friction mu N_k at most, and with K_k = a_k/rho_k (1 - e e'/rho^2)
//
//   gradient in x'_k   a_k e_k/(rho_k h)
//   Hessian            T (blockdiag K - K (sum K)^-1 K') T/h^2, positive semidefinite
//
// Slips lie in the plane, so u has two numbers. Four slips are solved at once, a lane each.
//
// N_k = w q_k: the corner's force times the product w of (1 - phi) around the pair, which is
// bounded by the true force, and equal to the published one inside of all shells. The published
// one, |(1 - phi) g_k - P phi' du_k| with the innermost phi, is not here: within a shell it is
// mostly the slope of phi, as P is at least 12.
// A half-space has three corners and a point that stands still, whose weight is the sum of theirs.

#include "energy/slip.h"

#include "base/math/lane.h"
#include "contact/pair.h"
#include "energy/potential.h"

#include <math.h>
#include <string.h>

/// Four slips, a lane each, in the two directions along their planes: weights and velocities of
/// corners. Corners that a slip does not have weigh nothing.
typedef struct cri_slip_lanes {
    cri_lane a[6], w[2][6];
} cri_slip_lanes;

/// Solved: min over u of sum a_k rho_k, rho_k^2 = |e_k|^2 + v^2, e_k = w_k - u.
typedef struct cri_slip_flat {
    cri_lane e[2][6];
    cri_lane q[6];    // a/rho
    cri_lane K[3][6]; // a/rho (1 - e e'/rho^2): 11, 12, 22
    cri_lane sum[3];  // of K
    cri_lane left[2]; // force on the plane that is left
    cri_lane value;
} cri_slip_flat;

/// The same in space; everything is along the plane.
typedef struct cri_slip_plane {
    cri_vec3 e[6];
    double rho[6];
    double K[6][6]; // a/rho (1 - e e'/rho^2), xx yy zz xy xz yz
    double inv[6];  // of the sum of K, on the plane
} cri_slip_plane;

/// Position of a corner at poses, and from its body's origin; the still point of a plane is where
/// it was.
typedef struct cri_slip_corner {
    cri_vec3 x, r;
    int body; // -1: none that moves
} cri_slip_corner;

enum { MAX_STEP = 60 };

/// Who lists one pair.
typedef struct finder {
    const cri_potential *p;
    const cri_longrange_body *body;
    int pair;
    double scale; // friction h mu
    cri_slip *slip;
    int n, n_most; // more than were counted: the walks differ by rounding
    cri_near_shell *shell;
    int n_shell, n_shell_most;
} finder;

// changes of y, over f, that do not bend
static const double straight = 1e-3;

/// A vertex over the step: (x' - x)/h, and x' from the body's origin.
typedef struct moved_point {
    cri_vec3 w, r;
} moved_point;

/// What a pair adds, four sums of each number.
typedef struct pair_lanes {
    cri_lane value, F[2][3], N[2][9], H[9][9]; // H: upper triangle
} pair_lanes;

typedef struct pair_sum {
    double value, F[2][3], N[2][9], H[144];
} pair_sum;

/// Four slips in place.
typedef struct quartet {
    int n; // that are not repeated
    cri_slip *slip[CRI_LANES];
    cri_lane3 t[2], r[6];
    cri_slip_lanes flat;
} quartet;

static const double sigma[6] = {1, 1, 1, -1, -1, -1};

/// A slip at the next poses.
typedef struct situation {
    cri_slip_plane plane;
    cri_vec3 apart[6]; // (x' - x)/h
    cri_slip_corner next[6];
} situation;

/// Adjoints of weights, corners where the list was made, corners next in their bodies, the normal,
/// and the shells' weight.
typedef struct slip_adj {
    double a[6], weight;
    cri_vec3 x[6], next[6], n;
} slip_adj;

/// What the slips of a pair add.
typedef struct pair_pull {
    double psi, pose[12];
} pair_pull;

/// Tangents of weights over friction h mu, corners and the normal.
typedef struct slip_tan {
    double N[6];
    cri_vec3 x[6], n;
} slip_tan;

/// a - n (n . a)
static inline cri_vec3 cri_slip_along(cri_vec3 n, cri_vec3 a) {
    return cri_v3_mad(a, -cri_v3_dot(n, a), n);
}

/// For coefficients of pairs.
static inline cri_world cri_slip_world(const cri_potential *potential) {
    return (cri_world){.model = potential->model, .d = potential->d, .law = &cri_law_longrange};
}

// ---- what is frozen -----------------------------------------------------------------------------

// ---- the velocity of a plane -------------------------------------------------------------------

// slips, their matrices and the force left over at velocities of the planes
static void look(const cri_slip_lanes *s, double speed, const cri_lane u[2], cri_slip_flat *out) {
    cri_lane zero = cri_lane_of(0.0), sum[6] = {zero, zero, zero, zero, zero, zero};
    double v2 = speed * speed;
    for (int k = 0; k < 6; k++) {
        cri_lane x = s->w[0][k] - u[0], y = s->w[1][k] - u[1];
        cri_lane xx = x * x, yy = y * y, rho2 = xx + yy + v2, rho = cri_lane_sqrt(rho2);
        cri_lane q = s->a[k] / rho, p = q / rho2;
        out->e[0][k] = x;
        out->e[1][k] = y;
        out->q[k] = q;
        out->K[0][k] = p * (yy + v2);
        out->K[1][k] = -p * x * y;
        out->K[2][k] = p * (xx + v2);
        sum[0] += out->K[0][k];
        sum[1] += out->K[1][k];
        sum[2] += out->K[2][k];
        sum[3] += q * x;
        sum[4] += q * y;
        sum[5] += s->a[k] * rho;
    }
    memcpy(out->sum, sum, sizeof out->sum);
    memcpy(out->left, sum + 3, sizeof out->left);
    out->value = sum[5];
}

// the weighted mean of the velocities, and the fastest of them
static void measure(const cri_slip_lanes *s, cri_lane mean[2], cri_lane *fastest) {
    cri_lane total = cri_lane_of(0.0);
    mean[0] = mean[1] = *fastest = total;
    for (int k = 0; k < 6; k++) {
        mean[0] += s->a[k] * s->w[0][k];
        mean[1] += s->a[k] * s->w[1][k];
        total += s->a[k];
        cri_lane fast = cri_lane_abs(s->w[0][k]) + cri_lane_abs(s->w[1][k]);
        *fastest = cri_lane_larger(fast, *fastest);
    }
    mean[0] /= total;
    mean[1] /= total;
}

/// shift as in cri_slip.
static void slip_flatten(const cri_slip_lanes *s, double speed, cri_lane shift[2],
                         cri_slip_flat *out) {
    cri_lane mean[2], fastest;
    measure(s, mean, &fastest);
    cri_lane u[2] = {mean[0] + shift[0], mean[1] + shift[1]};
    cri_mask is_open = cri_mask_first(CRI_LANES);
    look(s, speed, u, out);
    for (int step = 0; step < MAX_STEP && cri_mask_any(is_open); step++) {
        const cri_lane *S = out->sum, *f = out->left;
        cri_lane over = 1.0 / (S[0] * S[2] - S[1] * S[1]), value = out->value;
        cri_lane du[2] = {(S[2] * f[0] - S[1] * f[1]) * over, (S[0] * f[1] - S[1] * f[0]) * over};
        cri_lane fall = du[0] * f[0] + du[1] * f[1], part = cri_lane_of(1.0);
        // Newton's last step squares what is left
        cri_mask is_last = cri_lane_abs(du[0]) + cri_lane_abs(du[1]) <= 1e-7 * (speed + fastest);
        cri_lane from[2] = {u[0], u[1]};
        for (int half = 0; half < 40; half++) {
            u[0] = cri_lane_select(is_open, from[0] + part * du[0], from[0]);
            u[1] = cri_lane_select(is_open, from[1] + part * du[1], from[1]);
            look(s, speed, u, out);
            // what rounding leaves is no reason to turn back
            cri_mask is_low = out->value <= value - 1e-4 * part * fall + 1e-15 * value;
            cri_mask is_bad = is_open & ~is_last & ~is_low;
            if (!cri_mask_any(is_bad)) {
                break;
            }
            part = cri_lane_select(is_bad, 0.5 * part, part);
        }
        is_open &= ~is_last;
    }
    shift[0] = u[0] - mean[0];
    shift[1] = u[1] - mean[1];
}

// out = M_11 t1 t1' + M_12 (t1 t2' + t2 t1') + M_22 t2 t2'
static void lift(const cri_vec3 *t, const double *M, double *out) {
    cri_vec3 a = cri_v3_mad(cri_v3_scale(M[0], t[0]), M[1], t[1]);
    cri_vec3 b = cri_v3_mad(cri_v3_scale(M[1], t[0]), M[2], t[1]);
    out[0] = a.x * t[0].x + b.x * t[1].x;
    out[1] = a.y * t[0].y + b.y * t[1].y;
    out[2] = a.z * t[0].z + b.z * t[1].z;
    out[3] = a.x * t[0].y + b.x * t[1].y;
    out[4] = a.x * t[0].z + b.x * t[1].z;
    out[5] = a.y * t[0].z + b.y * t[1].z;
}

/// w (6): velocities of the corners along the plane.
static void slip_solve(const cri_slip *s, double speed, const cri_vec3 w[6], cri_slip_plane *out) {
    cri_slip_lanes flat;
    cri_lane shift[2] = {cri_lane_of(s->shift[0]), cri_lane_of(s->shift[1])};
    cri_slip_flat f;
    for (int k = 0; k < 6; k++) {
        flat.a[k] = cri_lane_of(k < s->n ? s->a[k] : 0.0);
        flat.w[0][k] = cri_lane_of(k < s->n ? cri_v3_dot(s->t[0], w[k]) : 0.0);
        flat.w[1][k] = cri_lane_of(k < s->n ? cri_v3_dot(s->t[1], w[k]) : 0.0);
    }
    slip_flatten(&flat, speed, shift, &f);
    for (int k = 0; k < s->n; k++) {
        const double K[3] = {f.K[0][k][0], f.K[1][k][0], f.K[2][k][0]};
        double x = f.e[0][k][0], y = f.e[1][k][0];
        out->e[k] = cri_v3_mad(cri_v3_scale(x, s->t[0]), y, s->t[1]);
        out->rho[k] = sqrt(x * x + y * y + speed * speed);
        lift(s->t, K, out->K[k]);
    }
    const double S[3] = {f.sum[0][0], f.sum[1][0], f.sum[2][0]};
    double det = S[0] * S[2] - S[1] * S[1];
    const double inv[3] = {S[2] / det, -S[1] / det, S[0] / det};
    lift(s->t, inv, out->inv);
}

// ---- the list ----------------------------------------------------------------------------------

static cri_slip_corner slip_corner_at(const cri_potential *p, const cri_slip *s, int k,
                                      const cri_pose *pose) {
    const cri_mantle_pair *pair = &p->pair[s->pair];
    int mantle = pair->mantle[k / 3];
    if (mantle < 0) {
        return (cri_slip_corner){s->x[k], {0.0, 0.0, 0.0}, -1};
    }
    const cri_mantle *t = &p->mantle[mantle];
    cri_pose at = t->body >= 0 ? pose[t->body] : cri_model_static_pose(p->model, -1);
    cri_vec3 r = cri_m3_mul(&at.R, cri_v3_load(t->vertex + 3 * (size_t)s->corner[k]));
    return (cri_slip_corner){cri_v3_add(at.pos, r), r, t->is_moving ? t->body : -1};
}

// a unit vector across n
static cri_vec3 across(cri_vec3 n) {
    cri_vec3 axis = fabs(n.x) < 0.6 ? cri_v3(1.0, 0.0, 0.0) : cri_v3(0.0, 1.0, 0.0);
    cri_vec3 t = cri_slip_along(n, axis);
    return cri_v3_scale(1.0 / cri_v3_norm(t), t);
}

static void set_forces(const finder *f, const cri_longrange_near *near, cri_slip *s) {
    const cri_mantle_pair *pair = &f->p->pair[f->pair];
    if (near->force) {
        s->force = *near->force;
        s->normal = near->force->plane.n;
        s->t[0] = near->force->plane.t1;
        s->t[1] = near->force->plane.t2;
    } else {
        s->half = *near->half;
        s->normal = f->p->model->geom[pair->plane].normal;
        s->t[0] = across(s->normal);
        s->t[1] = cri_v3_cross(s->normal, s->t[0]);
        s->N[3] = s->N[0] + s->N[1] + s->N[2];
        s->x[3] = s->x[0];
    }
    double total = 0.0;
    for (int k = 0; k < s->n; k++) {
        s->a[k] = f->scale * s->N[k];
        total += s->a[k];
    }
    // where a pair's weight has fallen to nothing there is no friction, to rounding
    s->n = total > 0.0 ? s->n : 0;
}

static void take(void *context, const cri_longrange_near *near) {
    finder *f = context;
    if (f->n == f->n_most || f->n_shell + near->n_shell > f->n_shell_most) {
        return;
    }
    const cri_mantle_pair *pair = &f->p->pair[f->pair];
    cri_slip *s = &f->slip[f->n++];
    memset(s, 0, sizeof *s);
    s->pair = f->pair;
    s->n = pair->plane >= 0 ? 4 : 6;
    s->weight = near->weight;
    memcpy(s->weight_grad, near->weight_grad, sizeof s->weight_grad);
    s->n_shell = near->n_shell;
    s->shell = memcpy(f->shell + f->n_shell, near->shell, sizeof *s->shell * (size_t)s->n_shell);
    f->n_shell += near->n_shell;
    for (int k = 0; k < (pair->plane >= 0 ? 3 : 6); k++) {
        const cri_longrange_body *b = &f->body[pair->mantle[k / 3]];
        s->corner[k] = b->tree->triangle[3 * (size_t)near->triangle[k / 3] + (size_t)(k % 3)];
        s->x[k] = cri_v3_add(b->pose.pos, cri_v3_load(b->r + 3 * (size_t)s->corner[k]));
        s->N[k] = s->weight * (near->force ? near->force->q[k] : -near->half->g[k]);
    }
    set_forces(f, near, s);
}

static void count(void *context, const cri_longrange_near *near) {
    finder *f = context;
    f->n_most++;
    f->n_shell_most += near->n_shell;
}

static void walk(const finder *f, const cri_longrange_taker *taker) {
    cri_mantle_pair *pair = &f->p->pair[f->pair];
    const cri_longrange_body *a = &f->body[pair->mantle[0]];
    if (pair->plane >= 0) {
        cri_half_space half = cri_potential_half(f->p, pair);
        (void)cri_longrange_half_list(&pair->options, a, &half, taker);
    } else {
        const cri_longrange_body *b = &f->body[pair->mantle[1]];
        (void)cri_longrange_list(&pair->options, a, b, &pair->warm, taker);
    }
}

static void count_near(finder *f) {
    const cri_mantle_pair *pair = &f->p->pair[f->pair];
    if (pair->plane >= 0) {
        const cri_longrange_taker counter = {count, f};
        walk(f, &counter);
    } else {
        cri_longrange_count(&pair->options, &f->body[pair->mantle[0]], &f->body[pair->mantle[1]],
                            &f->n_most, &f->n_shell_most);
    }
}

// lists the slips, once they are counted. finders (n_pair + n_half)
static bool list_slips(const cri_potential *p, const cri_longrange_body *body, finder *finders,
                       cr_arena *arena, cri_slip_list *list) {
    int n_all = p->n_pair + p->n_half, n_shell = 0;
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic, 1) if (p->work >= CRI_MUCH_WORK)
#endif
    for (int i = 0; i < n_all; i++) {
        int k = p->order[i];
        finders[k] = (finder){
            .p = p, .body = body, .pair = k, .scale = list->friction[k] * list->h * list->mu};
        if (list->friction[k] > 0.0) {
            count_near(&finders[k]);
        }
    }
    for (int k = 0; k < n_all; k++) {
        list->first[k + 1] = list->first[k] + finders[k].n_most;
        n_shell += finders[k].n_shell_most;
    }
    list->n = list->first[n_all];
    list->slip = CR_PUSH_RAW(arena, cri_slip, list->n);
    cri_near_shell *shell = CR_PUSH_RAW(arena, cri_near_shell, n_shell);
    if (!list->slip || !shell) {
        return false;
    }
    for (int k = 0; k < n_all; k++) {
        finders[k].slip = list->slip + list->first[k];
        finders[k].shell = shell;
        shell += finders[k].n_shell_most;
    }
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic, 1) if (p->work >= CRI_MUCH_WORK)
#endif
    for (int i = 0; i < n_all; i++) {
        finder *f = &finders[p->order[i]];
        const cri_longrange_taker taker = {take, f};
        if (f->n_most > 0) {
            walk(f, &taker);
        }
        for (; f->n < f->n_most; f->n++) {
            f->slip[f->n].n = 0;
        }
    }
    return true;
}

// numbers the vertices that the slips of a pair share; place (n_vertex) of both sides is -1
static void list_points(cri_slip_list *list, int pair, int *const place[2], cri_slip_point *point) {
    int n = list->first_point[pair];
    for (int i = list->first[pair]; i < list->first[pair + 1]; i++) {
        cri_slip *s = &list->slip[i];
        for (int k = 0; k < s->n; k++) {
            if (s->n == 4 && k == 3) {
                s->point[k] = -1;
                continue;
            }
            int *at = &place[k / 3][s->corner[k]];
            if (*at < 0) {
                *at = n - list->first_point[pair];
                if (point) {
                    point[n] = (cri_slip_point){k / 3, s->corner[k], s->x[k]};
                }
                n++;
            }
            s->point[k] = *at;
        }
    }
    for (int i = list->first[pair]; i < list->first[pair + 1]; i++) {
        const cri_slip *s = &list->slip[i];
        for (int k = 0; k < (s->n == 4 ? 3 : s->n); k++) {
            place[k / 3][s->corner[k]] = -1;
        }
    }
    list->first_point[pair + 1] = n;
}

// points of all pairs: once to count them, once to note them
static bool list_all_points(const cri_potential *p, cr_arena *arena, cr_arena *scratch,
                            cri_slip_list *list) {
    int most = 1, n_all = p->n_pair + p->n_half;
    for (int i = 0; i < p->n_mantle; i++) {
        most = p->mantle[i].shape.n_vertex > most ? p->mantle[i].shape.n_vertex : most;
    }
    int *room = CR_PUSH_RAW(scratch, int, 2 * (size_t)most);
    if (!room) {
        return false;
    }
    int *const place[2] = {room, room + most};
    memset(room, -1, sizeof *room * 2 * (size_t)most);
    for (int k = 0; k < n_all; k++) {
        list_points(list, k, place, NULL);
    }
    list->point = CR_PUSH_RAW(arena, cri_slip_point, list->first_point[n_all]);
    for (int k = 0; list->point && k < n_all; k++) {
        list_points(list, k, place, list->point);
    }
    return list->point != NULL;
}

cr_status cri_slip_find(cri_potential *p, const cri_pose *pose, double h, double mu,
                        cr_arena *arena, cr_arena *scratch, cri_slip_list *out, cr_error *err) {
    int n_all = p->n_pair + p->n_half;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    *out = (cri_slip_list){.h = h, .mu = mu};
    out->first = CR_PUSH(arena, int, 2 * (n_all + 1));
    out->friction = CR_PUSH(arena, double, n_all);
    bool is_good = out->first && out->friction;
    for (int k = 0; is_good && p->form == CRI_POTENTIAL_LONGRANGE && k < n_all; k++) {
        cri_world world = cri_slip_world(p);
        out->friction[k] = cri_near_coefficients(&world, &p->pair[k].near).friction;
    }
    out->first_point = is_good ? out->first + n_all + 1 : NULL;
    const cri_longrange_body *body = is_good ? cri_potential_place(p, pose, scratch) : NULL;
    finder *finders = body ? CR_PUSH_RAW(scratch, finder, n_all) : NULL;
    is_good = finders && list_slips(p, body, finders, arena, out) &&
              list_all_points(p, arena, scratch, out);
    cri_arena_rewind(scratch, mark);
    return is_good ? CR_OK : cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
}

// ---- strongest slips ----------------------------------------------------------------------------

// The strongest slips of two bodies, for a model of where a step leads. Both sides of a plane press
// with the same weight A on it; when neither turns, the plane moves halfway between them, and
//
//   min over u of A rho(y_1 - u) + A rho(y_2 - u) = A sqrt(|y|^2 + (2 v)^2),   y = y_1 - y_2
//
// With z = y + G d and f(z) the root, what the model has beyond second order in d is
//
//   A (f(z) - f(y) - f'(y) . G d - (G d)' f''(y) G d/2),   f' = z/f,  f'' = (1 - z z'/f^2)/f
//
// A slide that stops or turns round is an edge for a quadratic: f'' goes from v^2/|y|^3 to 1/v.

/// A place for one more knee, NULL when all places have stronger ones.
static cri_slip_knee *slip_knee_place(cri_slip_knees *knees, double strength) {
    int i = cri_strongest_place(&knees->n, CRI_SLIP_KNEES, &knees->least, strength,
                                &knees->at[0].strength, sizeof knees->at[0]);
    return i >= 0 ? &knees->at[i] : NULL;
}

/// f, f' (2) and f'' (11, 12, 22) at z
static double root_at(const double z[2], double speed, double slope[2], double curve[3]) {
    double f = sqrt(z[0] * z[0] + z[1] * z[1] + 4.0 * speed * speed);
    slope[0] = z[0] / f;
    slope[1] = z[1] / f;
    curve[0] = (1.0 - slope[0] * slope[0]) / f;
    curve[1] = -slope[0] * slope[1] / f;
    curve[2] = (1.0 - slope[1] * slope[1]) / f;
    return f;
}

double cri_slip_bend(const cri_slip_knees *knees, double speed, const double *motion, double *g,
                     double *H) {
    double sum = 0.0;
    for (int k = 0; k < knees->n; k++) {
        const cri_slip_knee *knee = &knees->at[k];
        double d[2] = {cri_row12_dot(knee->g[0], motion), cri_row12_dot(knee->g[1], motion)};
        double z[2] = {knee->y[0] + d[0], knee->y[1] + d[1]}, from[2], to[2], K[3], M[3];
        double f = root_at(knee->y, speed, from, K), A = knee->strength;
        if (fabs(d[0]) + fabs(d[1]) < straight * f) {
            continue;
        }
        double turn[2] = {K[0] * d[0] + K[1] * d[1], K[1] * d[0] + K[2] * d[1]};
        double rise = root_at(z, speed, to, M) - f;
        sum += A * (rise - (from[0] + 0.5 * turn[0]) * d[0] - (from[1] + 0.5 * turn[1]) * d[1]);
        for (int j = 0; j < 2; j++) {
            cri_row12_add(A * (to[j] - from[j] - turn[j]), knee->g[j], g);
        }
        double a = A * (M[0] - K[0]), b = A * (M[1] - K[1]), c = A * (M[2] - K[2]);
        for (int i = 0; H && i < 12; i++) {
            double p = knee->g[0][i], q = knee->g[1][i];
            cri_row12_add_upper(i, a * p + b * q, knee->g[0], H);
            cri_row12_add_upper(i, b * p + c * q, knee->g[1], H);
        }
    }
    return sum;
}

// ---- the sum ------------------------------------------------------------------------------------

// The sum of all frictions with its derivatives. Of one slip, t_1 and t_2 along its
// plane, a corner at r moves along them by a_j = (r x t_j, t_j) . (w, v), and
//
//   gradient   sum q_k e_kj a_kj/h                  N of a side: sum_j t_j (sum q e_j r)'
//   Hessian    sum K_ij a_i a_j' (own blocks) - Y' (sum K)^-1 Y, over h^2;  Y_i = sum K_ij a_j
//
// in (turn of a, shift of a, turn of b): a shift of both changes nothing. Four slips at once, a
// lane each; lanes without a slip repeat the first and weigh nothing.

static void gather(const moved_point *point, quartet *of) {
    static const moved_point still;
    const double *at[CRI_LANES];
    cri_lane3 w;
    for (int j = 0; j < 2; j++) {
        for (int i = 0; i < CRI_LANES; i++) {
            at[i] = &of->slip[i]->t[j].x;
        }
        of->t[j] = cri_l3_load(at);
    }
    for (int k = 0; k < 6; k++) {
        const double *back[CRI_LANES];
        for (int i = 0; i < CRI_LANES; i++) {
            const cri_slip *s = of->slip[i];
            const moved_point *p = k < s->n && s->point[k] >= 0 ? &point[s->point[k]] : &still;
            at[i] = &p->w.x;
            back[i] = &p->r.x;
            of->flat.a[k][i] = k < s->n ? s->a[k] : 0.0;
        }
        w = cri_l3_load(at);
        of->r[k] = cri_l3_load(back);
        of->flat.w[0][k] = cri_l3_dot(of->t[0], w);
        of->flat.w[1][k] = cri_l3_dot(of->t[1], w);
    }
}

/// Lists a slip among the strongest of its pair.
static void add_knee(const quartet *of, int lane, double h, cri_slip_knees *knees) {
    const cri_slip *s = of->slip[lane];
    double total[2] = {0.0, 0.0};
    for (int k = 0; k < s->n; k++) {
        total[k / 3] += s->a[k];
    }
    cri_slip_knee *knee = slip_knee_place(knees, total[0]);
    if (!knee) {
        return;
    }
    memset(knee, 0, sizeof *knee);
    knee->strength = total[0];
    for (int k = 0; k < s->n; k++) {
        if (s->point[k] < 0) {
            continue;
        }
        double part = (k < 3 ? 1.0 : -1.0) * s->a[k] / total[k / 3];
        for (int j = 0; j < 2; j++) {
            double *g = knee->g[j] + 6 * (k / 3);
            cri_vec3 along = cri_v3_scale(part / h, s->t[j]);
            cri_v3_accumulate(cri_v3_cross(cri_l3_get(&of->r[k], lane), along), g);
            cri_v3_accumulate(along, g + 3);
            knee->y[j] += part * of->flat.w[j][k][lane];
        }
    }
}

static void store3(cri_lane3 v, cri_lane *out) {
    out[0] = v.x;
    out[1] = v.y;
    out[2] = v.z;
}

/// H += a b' for the 3 x 3 block at a row and a column, at and above its diagonal or all of it
static void add_block(cri_lane3 a, cri_lane3 b, int row, int column, cri_lane H[9][9]) {
    const cri_lane u[3] = {a.x, a.y, a.z}, v[3] = {b.x, b.y, b.z};
    for (int i = 0; i < 3; i++) {
        for (int j = row == column ? i : 0; j < 3; j++) {
            H[row + i][column + j] += u[i] * v[j];
        }
    }
}

/// Gradient of a side.
static void add_forces(const quartet *of, const cri_slip_flat *f, int side, pair_lanes *out) {
    for (int j = 0; j < 2; j++) {
        cri_lane sum = cri_lane_of(0.0), F[3];
        cri_lane3 arm = {sum, sum, sum};
        for (int k = 3 * side; k < 3 * side + 3; k++) {
            cri_lane push = f->q[k] * f->e[j][k];
            sum += push;
            arm = cri_l3_mad(arm, push, of->r[k]);
        }
        const cri_lane t[3] = {of->t[j].x, of->t[j].y, of->t[j].z};
        store3(cri_l3_scale(sum, of->t[j]), F);
        for (int i = 0; i < 3; i++) {
            out->F[side][i] += F[i];
            out->N[side][3 * i] += t[i] * arm.x;
            out->N[side][3 * i + 1] += t[i] * arm.y;
            out->N[side][3 * i + 2] += t[i] * arm.z;
        }
    }
}

/// Y of a side, and its own block; the shift of the second is left out.
static void add_side(const quartet *of, const cri_slip_flat *f, int side, cri_lane Y[2][9],
                     cri_lane H[9][9]) {
    cri_lane zero = cri_lane_of(0.0), S[3] = {zero, zero, zero};
    cri_lane3 c[2] = {{zero, zero, zero}, {zero, zero, zero}};
    int at = 6 * side;
    for (int k = 3 * side; k < 3 * side + 3; k++) {
        cri_lane3 a[2] = {cri_l3_cross(of->r[k], of->t[0]), cri_l3_cross(of->r[k], of->t[1])};
        for (int j = 0; j < 2; j++) {
            cri_lane3 one = cri_l3_mad(cri_l3_scale(f->K[j][k], a[0]), f->K[j + 1][k], a[1]);
            add_block(a[j], one, at, at, H);
            c[j] = cri_l3_add(c[j], one);
        }
        for (int j = 0; j < 3; j++) {
            S[j] += f->K[j][k];
        }
    }
    for (int j = 0; j < 2; j++) {
        store3(c[j], Y[j] + at);
        if (side == 0) {
            cri_lane3 shift = cri_l3_mad(cri_l3_scale(S[j], of->t[0]), S[j + 1], of->t[1]);
            store3(shift, Y[j] + 3);
            add_block(c[j], of->t[j], 0, 3, H);
            add_block(of->t[j], shift, 3, 3, H);
        }
    }
}

/// H -= Y' (sum K)^-1 Y
static void take_product(const cri_lane S[3], cri_lane Y[2][9], cri_mask is_used,
                         cri_lane H[9][9]) {
    cri_lane m = S[1] / S[0], zero = cri_lane_of(0.0);
    cri_lane first = cri_lane_select(is_used, -1.0 / S[0], zero);
    cri_lane second = cri_lane_select(is_used, -1.0 / (S[2] - m * S[1]), zero);
    for (int i = 0; i < 9; i++) {
        Y[1][i] -= m * Y[0][i];
    }
    for (int i = 0; i < 9; i++) {
        cri_lane a = first * Y[0][i], b = second * Y[1][i];
        for (int j = i; j < 9; j++) {
            H[i][j] += a * Y[0][j] + b * Y[1][j];
        }
    }
}

/// Takes lanes that repeat another out of the sums.
static void mask_lanes(cri_mask is_used, cri_slip_flat *f) {
    cri_lane zero = cri_lane_of(0.0);
    f->value = cri_lane_select(is_used, f->value, zero);
    for (int k = 0; k < 6; k++) {
        f->q[k] = cri_lane_select(is_used, f->q[k], zero);
        for (int j = 0; j < 3; j++) {
            f->K[j][k] = cri_lane_select(is_used, f->K[j][k], zero);
        }
    }
}

static void add_slips(quartet *of, double speed, double h, const moved_point *point,
                      cri_slip_knees *knees, bool has_H, pair_lanes *out) {
    cri_lane shift[2], Y[2][9];
    cri_slip_flat f;
    cri_mask is_used = cri_mask_first(of->n);
    for (int i = of->n; i < CRI_LANES; i++) {
        of->slip[i] = of->slip[0];
    }
    gather(point, of);
    for (int j = 0; j < 2; j++) {
        for (int i = 0; i < CRI_LANES; i++) {
            shift[j][i] = of->slip[i]->shift[j];
        }
    }
    slip_flatten(&of->flat, speed, shift, &f);
    for (int i = 0; i < of->n; i++) {
        of->slip[i]->shift[0] = shift[0][i];
        of->slip[i]->shift[1] = shift[1][i];
        if (knees) {
            add_knee(of, i, h, knees);
        }
    }
    if (of->n < CRI_LANES) {
        mask_lanes(is_used, &f);
    }
    out->value += f.value;
    add_forces(of, &f, 0, out);
    add_forces(of, &f, 1, out);
    if (has_H) {
        add_side(of, &f, 0, Y, out->H);
        add_side(of, &f, 1, Y, out->H);
        take_product(f.sum, Y, is_used, out->H);
    }
    of->n = 0;
}

static void reduce(const pair_lanes *from, double h, pair_sum *out) {
    double inv = 1.0 / h;
    out->value = cri_lane_sum(from->value);
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 3; k++) {
            out->F[i][k] = inv * cri_lane_sum(from->F[i][k]);
        }
        for (int k = 0; k < 9; k++) {
            out->N[i][k] = inv * cri_lane_sum(from->N[i][k]);
        }
    }
    for (int i = 0; i < 12; i++) {
        for (int j = i; j < 12; j++) {
            // a shift of the second is one of the first back
            int row = i < 9 ? i : i - 6, column = j < 9 ? j : j - 6;
            int low = row < column ? row : column, high = row < column ? column : row;
            double sign = (i < 9) == (j < 9) ? 1.0 : -1.0;
            double value = sign * inv * inv * cri_lane_sum(from->H[low][high]);
            out->H[12 * i + j] = value;
            out->H[12 * j + i] = value;
        }
    }
}

static cri_pose pose_of(const cri_potential *p, int mantle, const cri_pose *pose) {
    int body = p->mantle[mantle].body;
    return body >= 0 ? pose[body] : cri_model_static_pose(p->model, -1);
}

static void move_points(const cri_potential *p, const cri_slip_list *list, int pair,
                        const cri_pose *pose, moved_point *point) {
    const cri_slip_point *from = list->point + list->first_point[pair];
    int n = list->first_point[pair + 1] - list->first_point[pair];
    for (int i = 0; i < n; i++) {
        int mantle = p->pair[pair].mantle[from[i].side];
        cri_pose at = pose_of(p, mantle, pose);
        cri_vec3 local = cri_v3_load(p->mantle[mantle].vertex + 3 * (size_t)from[i].vertex);
        point[i].r = cri_m3_mul(&at.R, local);
        cri_vec3 x = cri_v3_add(at.pos, point[i].r);
        point[i].w = cri_v3_scale(1.0 / list->h, cri_v3_sub(x, from[i].x));
    }
}

static void sum_pair(const cri_potential *p, const cri_slip_list *list, int pair,
                     const cri_pose *pose, bool has_H, cri_slip_knees *knees, moved_point *point,
                     pair_sum *out) {
    pair_lanes sum;
    quartet of;
    of.n = 0;
    memset(&sum, 0, sizeof sum);
    move_points(p, list, pair, pose, point);
    for (int i = list->first[pair]; i < list->first[pair + 1]; i++) {
        if (list->slip[i].n > 0) {
            of.slip[of.n++] = &list->slip[i];
        }
        if (of.n == CRI_LANES) {
            add_slips(&of, p->slip, list->h, point, knees, has_H, &sum);
        }
    }
    if (of.n > 0) {
        add_slips(&of, p->slip, list->h, point, knees, has_H, &sum);
    }
    reduce(&sum, list->h, out);
}

static void add_to_bodies(const cri_potential *p, int pair, const cri_frames *frames,
                          const pair_sum *one, const cri_body_sum *sum) {
    int body[2];
    cri_potential_bodies(p, pair, body);
    for (int i = 0; i < 2; i++) {
        for (int k = 0; sum->F && body[i] >= 0 && k < 3; k++) {
            sum->F[3 * body[i] + k] += one->F[i][k];
        }
        for (int k = 0; sum->F && body[i] >= 0 && k < 9; k++) {
            sum->N[9 * body[i] + k] += one->N[i][k];
        }
    }
    if (sum->H) {
        cri_frames_add_block(frames, body[0], body[0], one->H, 12, sum->H);
        cri_frames_add_block(frames, body[1], body[1], one->H + 12 * 6 + 6, 12, sum->H);
        cri_frames_add_block(frames, body[0], body[1], one->H + 6, 12, sum->H);
    }
}

double cri_slip_sum(const cri_potential *p, const cri_slip_list *list, const cri_frames *frames,
                    const cri_body_sum *sum, cri_slip_knees *knees, cr_arena *scratch) {
    int n_all = p->n_pair + p->n_half;
    double value = 0.0;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    pair_sum *one = CR_PUSH_RAW(scratch, pair_sum, n_all);
    moved_point *point = CR_PUSH_RAW(scratch, moved_point, list->first_point[n_all]);
    if (!one || !point) {
        cri_arena_rewind(scratch, mark);
        return NAN;
    }
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic, 1) if (p->work >= CRI_MUCH_WORK)
#endif
    for (int i = 0; i < n_all; i++) {
        int k = p->order[i];
        cri_slip_knees *at = knees ? &knees[k] : NULL;
        if (at) {
            at->n = 0;
        }
        if (list->first[k + 1] > list->first[k]) {
            moved_point *own = point + list->first_point[k];
            sum_pair(p, list, k, frames->pose, sum->H != NULL, at, own, &one[k]);
        }
    }
    for (int k = 0; k < n_all; k++) {
        if (list->first[k + 1] > list->first[k]) {
            value += one[k].value;
            add_to_bodies(p, k, frames, &one[k], sum);
        }
    }
    cri_arena_rewind(scratch, mark);
    return value;
}

// ---- derivatives for what was frozen ------------------------------------------------------------

// Derivatives of friction for what was frozen: corners, planes and normal forces at the start of a
// step. With the notation above and of plane_potential.c, dx_k = l at corner k of the next poses:
//
//   psi = l . gradient,  dw_k = T dx_k/h,  v = (sum K)^-1 sum K dw,  dh_k = dw_k - v,  c_k = K dh_k
//   of a_k   e_k . dh_k/rho_k          of x_k   -T c_k/h
//   of n     -sum (n . (x'_k - x_k)/h) c_k + (n . dx_k/h) (a_k/rho_k) e_k
//
// N_k = w q_k, and along a motion of the corners the plane tilts by (nu1, nu2), shifts by delta and
// its scale grows by nu3:  dq_k = -q_k nu3 - h_k ds_k,  ds_k = sigma_k (n . dx_k + tau_k . nu +
// delta). The gradient is homogeneous in the weights: psi = sum a_k psi_a_k, which gives the
// derivatives for mu and friction.

static void settle(const cri_potential *p, const cri_slip *s, double h, const cri_pose *next,
                   situation *out) {
    cri_vec3 w[6];
    for (int k = 0; k < s->n; k++) {
        out->next[k] = slip_corner_at(p, s, k, next);
        out->apart[k] = cri_v3_scale(1.0 / h, cri_v3_sub(out->next[k].x, s->x[k]));
        w[k] = cri_slip_along(s->normal, out->apart[k]);
    }
    slip_solve(s, p->slip, w, &out->plane);
}

// velocity of a corner at r on a body that moves
static cri_vec3 velocity(const double *motion, int body, cri_vec3 r) {
    if (body < 0) {
        return cri_v3(0.0, 0.0, 0.0);
    }
    const double *m = motion + 6 * body;
    return cri_v3_add(cri_v3_load(m + 3), cri_v3_cross(cri_v3_load(m), r));
}

// ---- adjoint -----------------------------------------------------------------------------------

static slip_adj pull_plane(const cri_slip *s, const situation *at, double h, const double *motion) {
    const cri_slip_plane *q = &at->plane;
    slip_adj out;
    memset(&out, 0, sizeof out);
    cri_vec3 dD[6], dw[6], sum = {0.0, 0.0, 0.0};
    for (int k = 0; k < s->n; k++) {
        dD[k] = cri_v3_scale(1.0 / h, velocity(motion, at->next[k].body, at->next[k].r));
        dw[k] = cri_slip_along(s->normal, dD[k]);
        sum = cri_v3_add(sum, cri_sym_mul(q->K[k], dw[k]));
    }
    cri_vec3 v = cri_sym_mul(q->inv, sum);
    for (int k = 0; k < s->n; k++) {
        cri_vec3 dh = cri_v3_sub(dw[k], v), c = cri_sym_mul(q->K[k], dh);
        out.a[k] = cri_v3_dot(q->e[k], dh) / q->rho[k];
        out.x[k] = cri_v3_scale(-1.0 / h, cri_slip_along(s->normal, c));
        // a corner moved within its body moves next as well, and l moves it with its turn
        cri_vec3 f = cri_v3_scale(s->a[k] / (q->rho[k] * h), q->e[k]);
        cri_vec3 w = at->next[k].body >= 0 ? cri_v3_load(motion + 6 * at->next[k].body)
                                           : cri_v3(0.0, 0.0, 0.0);
        out.next[k] = cri_v3_sub(cri_v3_cross(f, w), out.x[k]);
        out.n = cri_v3_mad(out.n, -cri_v3_dot(s->normal, at->apart[k]), c);
        double along = cri_v3_dot(s->normal, dD[k]) * s->a[k] / q->rho[k];
        out.n = cri_v3_mad(out.n, -along, q->e[k]);
    }
    return out;
}

// from forces and the normal of a pair's plane to its corners; N_adj (6)
static double pull_pair(const cri_slip *s, const double *N_adj, slip_adj *adj) {
    const cri_plane_force *f = &s->force;
    const cri_plane_pair *p = &f->plane;
    double b[3] = {cri_v3_dot(adj->n, p->t1), cri_v3_dot(adj->n, p->t2), 0.0}, z[3];
    double scale_adj = 0.0, weight_adj = 0.0, s_adj[6];
    for (int k = 0; k < 6; k++) {
        double q_adj = s->weight * N_adj[k];
        weight_adj += N_adj[k] * f->q[k];
        scale_adj -= q_adj * f->q[k];
        s_adj[k] = -q_adj * f->h[k] * sigma[k];
        b[0] += s_adj[k] * p->tau[0][k];
        b[1] += s_adj[k] * p->tau[1][k];
        b[2] += s_adj[k];
    }
    cri_plane_unwind(p, b, z);
    cri_vec3 turn = cri_v3_mad(cri_v3_scale(z[0], p->t1), z[1], p->t2);
    for (int k = 0; k < 6; k++) {
        double q = sigma[k] * f->q[k];
        double move = p->tau[0][k] * z[0] + p->tau[1][k] * z[1] + z[2];
        double normal = s_adj[k] - f->ratio * f->h[k] * move - f->scale * scale_adj * q;
        adj->x[k] = cri_v3_mad(adj->x[k], normal, p->n);
        adj->x[k] = cri_v3_mad(adj->x[k], f->ratio * q, turn);
    }
    return weight_adj;
}

static double pull_half(const cri_slip *s, const double *N_adj, slip_adj *adj) {
    double weight_adj = 0.0;
    for (int k = 0; k < 3; k++) {
        double height_adj = 0.0;
        for (int i = 0; i < 3; i++) {
            height_adj -= s->weight * s->half.H[3 * k + i] * (N_adj[i] + N_adj[3]);
        }
        weight_adj -= (N_adj[k] + N_adj[3]) * s->half.g[k];
        adj->x[k] = cri_v3_mad(adj->x[k], height_adj, s->normal);
    }
    return weight_adj;
}

// all of it
static slip_adj pull_slip(const cri_slip *s, const cri_slip_list *list, const situation *at,
                          const double *motion) {
    slip_adj adj = pull_plane(s, at, list->h, motion);
    double N_adj[6] = {0};
    for (int k = 0; k < s->n; k++) {
        N_adj[k] = list->friction[s->pair] * list->h * list->mu * adj.a[k];
    }
    adj.weight = s->n == 6 ? pull_pair(s, N_adj, &adj) : pull_half(s, N_adj, &adj);
    return adj;
}

// psi, and what it adds to the poses (2, 6) of its two bodies where the list was made
static double pull_poses(const cri_slip *s, const situation *at, const slip_adj *adj,
                         const cri_pose *pose, double *pose_adj) {
    double psi = 0.0;
    for (int k = 0; k < s->n; k++) {
        psi += s->a[k] * adj->a[k];
    }
    for (int k = 0; k < (s->n == 6 ? 6 : 3); k++) {
        int body = at->next[k].body;
        if (body >= 0) {
            double *out = pose_adj + 6 * (k / 3);
            cri_vec3 r = cri_v3_sub(s->x[k], pose[body].pos);
            cri_v3_accumulate(cri_v3_cross(r, adj->x[k]), out);
            cri_v3_accumulate(adj->x[k], out + 3);
        }
    }
    for (int i = 0; i < (s->n == 6 ? 12 : 6); i++) {
        pose_adj[i] += adj->weight * s->weight_grad[i];
    }
    return psi;
}

// rotation of a mantle's body, or of the world
static cri_mat3 turn_of(const cri_potential *p, int mantle, const cri_pose *pose) {
    int body = p->mantle[mantle].body;
    return body >= 0 ? pose[body].R : cri_model_static_pose(p->model, -1).R;
}

static void pull_shells(const cri_potential *p, const cri_slip *s, double weight_adj,
                        const cri_pose *pose, const cri_slip_shape *adj) {
    for (int i = 0; i < s->n_shell; i++) {
        const cri_near_shell *shell = &s->shell[i];
        double slope = weight_adj * shell->slope;
        for (int side = 0; side < s->n / 3; side++) {
            cri_mat3 R = turn_of(p, p->pair[s->pair].mantle[side], pose);
            cri_vec3 u = cri_m3_tmul(&R, cri_v3_scale(side ? -slope : slope, shell->u));
            cri_v3_accumulate(u, adj->centre[side] + 3 * (size_t)shell->node[side]);
            adj->radius[side][shell->node[side]] -= slope * shell->ratio;
        }
        if (s->n == 4) {
            *adj->offset -= slope;
        }
    }
}

void cri_slip_pull_shape(const cri_potential *p, const cri_slip_list *list, int pair,
                         const cri_frames *next, const cri_pose *pose, const double *motion,
                         const cri_slip_shape *out) {
    for (int i = list->first[pair]; i < list->first[pair + 1]; i++) {
        const cri_slip *s = &list->slip[i];
        situation at;
        if (s->n == 0) {
            continue;
        }
        settle(p, s, list->h, next->pose, &at);
        slip_adj adj = pull_slip(s, list, &at, motion);
        for (int k = 0; k < (s->n == 6 ? 6 : 3); k++) {
            int mantle = p->pair[pair].mantle[k / 3];
            cri_mat3 now = turn_of(p, mantle, pose), then = turn_of(p, mantle, next->pose);
            double *v = out->vertex[k / 3] + 3 * (size_t)s->corner[k];
            cri_v3_accumulate(cri_m3_tmul(&now, adj.x[k]), v);
            cri_v3_accumulate(cri_m3_tmul(&then, adj.next[k]), v);
        }
        pull_shells(p, s, adj.weight, pose, out);
        for (int k = 0; s->n == 4 && k < 3; k++) {
            // heights alone see the offset; slips along the plane are across it
            *out->offset -= cri_v3_dot(s->normal, adj.x[k]);
        }
    }
}

static pair_pull pull_slips(const cri_size_step *step, int pair, const double *motion) {
    const cri_slip_list *list = step->slips;
    pair_pull out;
    memset(&out, 0, sizeof out);
    for (int i = list->first[pair]; i < list->first[pair + 1]; i++) {
        const cri_slip *s = &list->slip[i];
        situation at;
        if (s->n == 0) {
            continue;
        }
        settle(step->potential, s, list->h, step->next->pose, &at);
        slip_adj adj = pull_slip(s, list, &at, motion);
        out.psi += pull_poses(s, &at, &adj, step->now, out.pose);
    }
    return out;
}

bool cri_slip_sum_vjp(const cri_size_step *step, const double *motion, double *pose_adj,
                      double *mu_adj, const cri_derived *d_adj, cr_arena *scratch) {
    const cri_potential *p = step->potential;
    const cri_slip_list *list = step->slips;
    int n_all = p->n_pair + p->n_half;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    pair_pull *pulled = CR_PUSH_RAW(scratch, pair_pull, n_all);
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic, 1) if (pulled && list->n >= CRI_MANY_SLIPS)
#endif
    for (int i = 0; i < (pulled ? n_all : 0); i++) {
        pulled[p->order[i]] = pull_slips(step, p->order[i], motion);
    }
    for (int k = 0; k < (pulled ? n_all : 0); k++) {
        int body[2];
        cri_potential_bodies(p, k, body);
        for (int i = 0; i < 12; i++) {
            if (body[i / 6] >= 0) {
                pose_adj[6 * body[i / 6] + i % 6] += pulled[k].pose[i];
            }
        }
        *mu_adj += pulled[k].psi / list->mu;
        cri_world world = cri_slip_world(p);
        int place = cri_near_coefficients(&world, &p->pair[k].near).at_friction;
        if (list->first[k + 1] > list->first[k] && place >= 0) {
            d_adj->block[place] += pulled[k].psi / list->friction[k];
        }
    }
    cri_arena_rewind(scratch, mark);
    return pulled != NULL;
}

// ---- tangent -----------------------------------------------------------------------------------

static void push_pair(const cri_slip *s, double weight_tan, slip_tan *tan) {
    const cri_plane_force *f = &s->force;
    const cri_plane_pair *p = &f->plane;
    double b[3] = {0}, z[3], slope = 0.0;
    for (int k = 0; k < 6; k++) {
        double along = cri_v3_dot(p->n, tan->x[k]), q = sigma[k] * f->q[k];
        slope -= q * along;
        b[0] += f->h[k] * p->tau[0][k] * along - q * cri_v3_dot(p->t1, tan->x[k]);
        b[1] += f->h[k] * p->tau[1][k] * along - q * cri_v3_dot(p->t2, tan->x[k]);
        b[2] += f->h[k] * along;
    }
    cri_plane_unwind(p, b, z);
    for (int i = 0; i < 3; i++) {
        z[i] *= -f->ratio;
    }
    tan->n = cri_v3_mad(cri_v3_scale(z[0], p->t1), z[1], p->t2);
    for (int k = 0; k < 6; k++) {
        double ds = cri_v3_dot(p->n, tan->x[k]) + p->tau[0][k] * z[0] + p->tau[1][k] * z[1] + z[2];
        double q_tan = -f->q[k] * f->scale * slope - f->h[k] * sigma[k] * ds;
        tan->N[k] = s->weight * q_tan + weight_tan * f->q[k];
    }
}

static void push_half(const cri_slip *s, double weight_tan, slip_tan *tan) {
    tan->n = cri_v3(0.0, 0.0, 0.0);
    tan->N[3] = 0.0;
    for (int k = 0; k < 3; k++) {
        tan->N[k] = -weight_tan * s->half.g[k];
        for (int i = 0; i < 3; i++) {
            double height_tan = cri_v3_dot(s->normal, tan->x[i]);
            tan->N[k] -= s->weight * s->half.H[3 * k + i] * height_tan;
        }
        tan->N[3] += tan->N[k];
    }
}

static slip_tan push_slip(const cri_slip *s, const situation *at, const cri_pose *pose,
                          const double *motion) {
    slip_tan tan;
    memset(&tan, 0, sizeof tan);
    double weight_tan = 0.0;
    for (int k = 0; k < (s->n == 6 ? 6 : 3); k++) {
        int body = at->next[k].body;
        cri_vec3 r = body >= 0 ? cri_v3_sub(s->x[k], pose[body].pos) : s->x[k];
        tan.x[k] = velocity(motion, body, r);
        for (int i = 0; k % 3 == 0 && body >= 0 && i < 6; i++) {
            weight_tan += s->weight_grad[2 * k + i] * motion[6 * body + i];
        }
    }
    if (s->n == 6) {
        push_pair(s, weight_tan, &tan);
    } else {
        push_half(s, weight_tan, &tan);
    }
    return tan;
}

// forces on the corners; a_tan (6) and tangents of corners and normal
static void push_forces(const cri_slip *s, const situation *at, double h, const double *a_tan,
                        const slip_tan *tan, double *force) {
    const cri_slip_plane *q = &at->plane;
    cri_vec3 w_tan[6], sum = {0.0, 0.0, 0.0};
    for (int k = 0; k < s->n; k++) {
        // w = T (x' - x)/h
        cri_vec3 a = at->apart[k];
        cri_vec3 w = cri_v3_scale(-cri_v3_dot(s->normal, a), tan->n);
        w = cri_v3_mad(w, -cri_v3_dot(tan->n, a), s->normal);
        w_tan[k] = cri_v3_mad(w, -1.0 / h, cri_slip_along(s->normal, tan->x[k]));
        sum = cri_v3_add(sum, cri_sym_mul(q->K[k], w_tan[k]));
        sum = cri_v3_mad(sum, a_tan[k] / q->rho[k], q->e[k]);
    }
    cri_vec3 u_tan = cri_sym_mul(q->inv, sum);
    for (int k = 0; k < s->n; k++) {
        int body = at->next[k].body;
        if (body < 0) {
            continue;
        }
        cri_vec3 f = cri_sym_mul(q->K[k], cri_v3_sub(w_tan[k], u_tan));
        f = cri_slip_along(s->normal, cri_v3_mad(f, a_tan[k] / q->rho[k], q->e[k]));
        // and the plane of the force turns
        double along = s->a[k] / q->rho[k] * cri_v3_dot(tan->n, q->e[k]);
        f = cri_v3_scale(1.0 / h, cri_v3_mad(f, -along, s->normal));
        cri_v3_accumulate(cri_v3_cross(at->next[k].r, f), force + 6 * body);
        cri_v3_accumulate(f, force + 6 * body + 3);
    }
}

void cri_slip_sum_jvp(const cri_size_step *step, const double *motion, const cri_derived *d_tan,
                      double *force) {
    const cri_potential *p = step->potential;
    const cri_slip_list *list = step->slips;
    for (int k = 0; k < p->n_pair + p->n_half; k++) {
        cri_world world = cri_slip_world(p);
        int place = cri_near_coefficients(&world, &p->pair[k].near).at_friction;
        double growth = d_tan ? d_tan->mu[0] / list->mu : 0.0; // relative, of all weights
        if (d_tan && place >= 0 && list->friction[k] > 0.0) {
            growth += d_tan->block[place] / list->friction[k];
        }
        for (int i = list->first[k]; i < list->first[k + 1]; i++) {
            const cri_slip *s = &list->slip[i];
            situation at;
            if (s->n == 0) {
                continue;
            }
            settle(p, s, list->h, step->next->pose, &at);
            slip_tan tan = push_slip(s, &at, step->now, motion);
            double a_tan[6];
            for (int c = 0; c < s->n; c++) {
                a_tan[c] = list->friction[k] * list->h * list->mu * tan.N[c] + growth * s->a[c];
            }
            push_forces(s, &at, list->h, a_tan, &tan, force);
        }
    }
}
