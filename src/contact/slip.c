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
// N_k = w q_k: the corner's force times the product w of (1 - phi) around the pair, which is
// bounded by the true force, and equal to the published one inside of all shells. The published
// one, |(1 - phi) g_k - P phi' du_k| with the innermost phi, is not here: within a shell it is
// mostly the slope of phi, as P is at least 12.
// A half-space has three corners and a point that stands still, whose weight is the sum of theirs.

#include "contact/slip_parts.h"

#include <math.h>
#include <string.h>

enum { MAX_STEP = 60 };

// ---- the velocity of a plane -------------------------------------------------------------------

static double value_at(const cri_slip *s, double speed, const cri_vec3 w[6], cri_vec3 u) {
    double sum = 0.0;
    for (int k = 0; k < s->n; k++) {
        cri_vec3 e = cri_v3_sub(w[k], u);
        sum += s->a[k] * sqrt(cri_v3_dot(e, e) + speed * speed);
    }
    return sum;
}

// inverse of a symmetric positive matrix
static void invert(const double M[6], double out[6]) {
    double a = M[1] * M[2] - M[5] * M[5], b = M[4] * M[5] - M[3] * M[2];
    double c = M[3] * M[5] - M[1] * M[4];
    double det = 1.0 / (M[0] * a + M[3] * b + M[4] * c);
    out[0] = a * det;
    out[3] = b * det;
    out[4] = c * det;
    out[1] = (M[0] * M[2] - M[4] * M[4]) * det;
    out[2] = (M[0] * M[1] - M[3] * M[3]) * det;
    out[5] = (M[3] * M[4] - M[0] * M[5]) * det;
}

// slips, their matrices and the force left over at a velocity of the plane
static cri_vec3 look(const cri_slip *s, double speed, const cri_vec3 w[6], cri_vec3 u,
                     cri_slip_plane *out) {
    cri_vec3 force = {0.0, 0.0, 0.0};
    double sum[6] = {0};
    for (int k = 0; k < s->n; k++) {
        cri_vec3 e = cri_v3_sub(w[k], u);
        double rho2 = cri_v3_dot(e, e) + speed * speed, rho = sqrt(rho2), q = s->a[k] / rho;
        double *K = out->K[k];
        K[0] = K[1] = K[2] = q;
        K[3] = K[4] = K[5] = 0.0;
        cri_sym_add_square(-q / rho2, e, K);
        out->e[k] = e;
        out->rho[k] = rho;
        force = cri_v3_mad(force, q, e);
        for (int i = 0; i < 6; i++) {
            sum[i] += K[i];
        }
    }
    invert(sum, out->inv);
    return force;
}

void cri_slip_solve(const cri_slip *s, double speed, const cri_vec3 w[6], cri_slip_plane *out) {
    cri_vec3 u = {0.0, 0.0, 0.0};
    double total = 0.0, fastest = 0.0;
    for (int k = 0; k < s->n; k++) {
        u = cri_v3_mad(u, s->a[k], w[k]);
        total += s->a[k];
        fastest = fmax(fastest, cri_v3_norm(w[k]));
    }
    u = cri_v3_scale(1.0 / total, u);
    double value = value_at(s, speed, w, u);
    cri_vec3 force = look(s, speed, w, u, out);
    for (int step = 0; step < MAX_STEP; step++) {
        cri_vec3 du = cri_sym_mul(out->inv, force);
        double fall = cri_v3_dot(du, force), part = 1.0, next = value;
        bool is_last = cri_v3_norm(du) <= 1e-9 * (speed + fastest);
        for (int half = 0; half < 40; half++, part *= 0.5) {
            next = value_at(s, speed, w, cri_v3_mad(u, part, du));
            // what rounding leaves is no reason to turn back
            if (is_last || next <= value - 1e-4 * part * fall + 1e-15 * value) {
                break;
            }
        }
        u = cri_v3_mad(u, part, du);
        value = next;
        force = look(s, speed, w, u, out);
        // Newton's last step squares what is left
        if (is_last) {
            break;
        }
    }
    out->value = value;
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

/// Who lists.
typedef struct finder {
    const cri_potential *p;
    const cri_longrange_body *body;
    cri_slip_list *list;
    int pair;
    double scale; // friction h mu
    cr_arena *arena;
    cri_slip *block; // room for more, NULL: none
    int n_block, n_used;
} finder;

static void take(void *context, const cri_longrange_near *near) {
    finder *f = context;
    if (f->n_used == f->n_block) {
        return; // more than were counted: the walks differ by rounding
    }
    const cri_mantle_pair *pair = &f->p->pair[f->pair];
    cri_slip *s = &f->block[f->n_used];
    memset(s, 0, sizeof *s);
    s->pair = f->pair;
    s->n = pair->plane >= 0 ? 4 : 6;
    s->weight = near->weight;
    memcpy(s->weight_grad, near->weight_grad, sizeof s->weight_grad);
    s->n_shell = near->n_shell;
    memcpy(s->shell, near->shell, sizeof s->shell);
    for (int k = 0; k < (pair->plane >= 0 ? 3 : 6); k++) {
        const cri_longrange_body *b = &f->body[pair->mantle[k / 3]];
        s->corner[k] = b->tree->triangle[3 * (size_t)near->triangle[k / 3] + (size_t)(k % 3)];
        s->x[k] = cri_v3_add(b->pose.pos, cri_v3_load(b->r + 3 * (size_t)s->corner[k]));
        s->N[k] = s->weight * (near->force ? near->force->q[k] : -near->half->g[k]);
    }
    if (near->force) {
        s->force = *near->force;
        s->normal = near->force->plane.n;
    } else {
        s->half = *near->half;
        s->normal = f->p->model->geom[pair->plane].normal;
        s->N[3] = s->N[0] + s->N[1] + s->N[2];
        s->x[3] = s->x[0];
    }
    double total = 0.0;
    for (int k = 0; k < s->n; k++) {
        s->a[k] = f->scale * s->N[k];
        total += s->a[k];
    }
    // where a pair's weight has fallen to nothing there is no friction, to rounding
    f->n_used += total > 0.0;
}

static void count(void *context, const cri_longrange_near *near) {
    (void)near;
    (*(int *)context)++;
}

static bool walk(const finder *f, cri_mantle_pair *pair, const cri_longrange_taker *taker) {
    const cri_longrange_body *a = &f->body[pair->mantle[0]];
    if (pair->plane >= 0) {
        cri_half_space half = cri_potential_half(f->p, pair);
        return cri_longrange_half_list(&f->p->options, a, &half, taker);
    }
    const cri_longrange_body *b = &f->body[pair->mantle[1]];
    return cri_longrange_list(&f->p->options, a, b, &pair->warm, taker);
}

static bool list_all(finder *f) {
    int n_all = f->p->n_pair + f->p->n_half, n = 0;
    const cri_longrange_taker counter = {count, &n};
    for (int k = 0; k < n_all; k++) {
        if (f->list->friction[k] > 0.0) {
            walk(f, &f->p->pair[k], &counter);
        }
    }
    f->block = CR_PUSH_RAW(f->arena, cri_slip, n);
    f->n_block = n;
    f->list->slip = f->block;
    for (int k = 0; f->block && k < n_all; k++) {
        f->list->first[k] = f->n_used;
        f->pair = k;
        f->scale = f->list->friction[k] * f->list->h * f->list->mu;
        if (f->scale > 0.0) {
            const cri_longrange_taker taker = {take, f};
            walk(f, &f->p->pair[k], &taker);
        }
    }
    f->list->first[n_all] = f->list->n = f->n_used;
    return f->block != NULL;
}

cr_status cri_slip_find(cri_potential *p, const cri_pose *pose, double h, double mu,
                        cr_arena *arena, cr_arena *scratch, cri_slip_list *out, cr_error *err) {
    int n_all = p->n_pair + p->n_half;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    *out = (cri_slip_list){.h = h, .mu = mu};
    out->first = CR_PUSH(arena, int, n_all + 1);
    out->friction = CR_PUSH(arena, double, n_all);
    finder f = {.p = p, .list = out, .arena = arena};
    bool is_good = out->first && out->friction;
    for (int k = 0; is_good && p->form == CRI_POTENTIAL_LONGRANGE && k < n_all; k++) {
        cri_world world = cri_slip_world(p);
        out->friction[k] = cri_near_coefficients(&world, &p->pair[k].near).friction;
    }
    f.body = is_good ? cri_potential_place(p, pose, scratch) : NULL;
    is_good = f.body && list_all(&f);
    cri_arena_rewind(scratch, mark);
    return is_good ? CR_OK : cri_fail(err, CR_ERR_MEMORY, 0, "out of memory");
}

// ---- the sum -----------------------------------------------------------------------------------

// block (12, 12) += J' G J of a corner at r on a side
static void add_corner(int side, cri_vec3 r, const double G[9], double *block) {
    for (int i = 0; i < 3; i++) {
        cri_vec3 row = cri_v3_load(G + 3 * i), turned = cri_v3_cross(r, row);
        const double a[6] = {turned.x, turned.y, turned.z, row.x, row.y, row.z};
        cri_vec3 axis = cri_v3(i == 0, i == 1, i == 2), lever = cri_v3_cross(r, axis);
        const double b[6] = {lever.x, lever.y, lever.z, axis.x, axis.y, axis.z};
        for (int k = 0; k < 36; k++) {
            block[12 * (6 * side + k / 6) + 6 * side + k % 6] += b[k / 6] * a[k % 6];
        }
    }
}

// G = T K T/h^2 of a symmetric K
static void along_plane(cri_vec3 n, const double K[6], double h, double G[9]) {
    double inv = 1.0 / (h * h);
    for (int j = 0; j < 3; j++) {
        cri_vec3 axis = cri_v3(j == 0, j == 1, j == 2);
        cri_vec3 c = cri_slip_along(n, cri_sym_mul(K, cri_slip_along(n, axis)));
        G[j] = inv * c.x;
        G[3 + j] = inv * c.y;
        G[6 + j] = inv * c.z;
    }
}

/// Twelve numbers for each axis: how poses move the sum of K w.
static void add_rigid(const cri_slip *s, const cri_slip_plane *plane, const cri_vec3 *r, double h,
                      double *block) {
    double Y[3][12] = {{0}}, G[9];
    for (int k = 0; k < s->n; k++) {
        if (s->n == 4 && k == 3) {
            continue;
        }
        along_plane(s->normal, plane->K[k], h, G);
        add_corner(k / 3, r[k], G, block);
        for (int j = 0; j < 3; j++) {
            cri_vec3 axis = cri_v3(j == 0, j == 1, j == 2);
            cri_vec3 c = cri_slip_along(s->normal, cri_sym_mul(plane->K[k], axis));
            c = cri_v3_scale(1.0 / h, c);
            cri_v3_accumulate(cri_v3_cross(r[k], c), Y[j] + 6 * (k / 3));
            cri_v3_accumulate(c, Y[j] + 6 * (k / 3) + 3);
        }
    }
    for (int i = 0; i < 12; i++) {
        cri_vec3 y = cri_sym_mul(plane->inv, cri_v3(Y[0][i], Y[1][i], Y[2][i]));
        for (int j = 0; j < 12; j++) {
            block[12 * i + j] -= y.x * Y[0][j] + y.y * Y[1][j] + y.z * Y[2][j];
        }
    }
}

static double add_slip(const cri_potential *p, const cri_slip *s, double h, const cri_pose *pose,
                       const cri_body_sum *sum, double *block) {
    cri_slip_plane plane;
    cri_vec3 w[6], r[6];
    int body[6];
    for (int k = 0; k < s->n; k++) {
        cri_slip_corner c = cri_slip_corner_at(p, s, k, pose);
        w[k] = cri_slip_along(s->normal, cri_v3_scale(1.0 / h, cri_v3_sub(c.x, s->x[k])));
        r[k] = c.r;
        body[k] = c.body;
    }
    cri_slip_solve(s, p->slip, w, &plane);
    for (int k = 0; sum->F && k < s->n; k++) {
        if (body[k] < 0) {
            continue;
        }
        cri_vec3 f = cri_v3_scale(s->a[k] / (plane.rho[k] * h), plane.e[k]);
        double *N = sum->N + 9 * body[k];
        cri_v3_accumulate(f, sum->F + 3 * body[k]);
        cri_v3_accumulate(cri_v3_scale(f.x, r[k]), N);
        cri_v3_accumulate(cri_v3_scale(f.y, r[k]), N + 3);
        cri_v3_accumulate(cri_v3_scale(f.z, r[k]), N + 6);
    }
    if (sum->H) {
        add_rigid(s, &plane, r, h, block);
    }
    return plane.value;
}

// bodies of a pair that move
static void bodies_of(const cri_potential *p, int k, int body[2]) {
    for (int i = 0; i < 2; i++) {
        int mantle = p->pair[k].mantle[i];
        body[i] = mantle >= 0 && p->mantle[mantle].is_moving ? p->mantle[mantle].body : -1;
    }
}

double cri_slip_sum(const cri_potential *p, const cri_slip_list *list, const cri_frames *frames,
                    const cri_body_sum *sum) {
    double value = 0.0;
    for (int k = 0; k < p->n_pair + p->n_half; k++) {
        double block[144] = {0};
        for (int i = list->first[k]; i < list->first[k + 1]; i++) {
            value += add_slip(p, &list->slip[i], list->h, frames->pose, sum, block);
        }
        if (sum->H && list->first[k + 1] > list->first[k]) {
            int body[2];
            bodies_of(p, k, body);
            cri_frames_add_block(frames, body[0], body[0], block, 12, sum->H);
            cri_frames_add_block(frames, body[1], body[1], block + 12 * 6 + 6, 12, sum->H);
            cri_frames_add_block(frames, body[0], body[1], block + 6, 12, sum->H);
        }
    }
    return value;
}
