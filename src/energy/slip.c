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

#include "energy/slip_parts.h"

#include <math.h>
#include <string.h>

enum { MAX_STEP = 60 };

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

void cri_slip_flatten(const cri_slip_lanes *s, double speed, cri_lane shift[2],
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

void cri_slip_solve(const cri_slip *s, double speed, const cri_vec3 w[6], cri_slip_plane *out) {
    cri_slip_lanes flat;
    cri_lane shift[2] = {cri_lane_of(s->shift[0]), cri_lane_of(s->shift[1])};
    cri_slip_flat f;
    for (int k = 0; k < 6; k++) {
        flat.a[k] = cri_lane_of(k < s->n ? s->a[k] : 0.0);
        flat.w[0][k] = cri_lane_of(k < s->n ? cri_v3_dot(s->t[0], w[k]) : 0.0);
        flat.w[1][k] = cri_lane_of(k < s->n ? cri_v3_dot(s->t[1], w[k]) : 0.0);
    }
    cri_slip_flatten(&flat, speed, shift, &f);
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

cri_slip_corner cri_slip_corner_at(const cri_potential *p, const cri_slip *s, int k,
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
