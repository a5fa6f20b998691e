// SPDX-License-Identifier: MIT
//
// Derivatives of friction for what was frozen: corners, planes and normal forces at the start of a
// step. With the notation of slip.c and plane_potential.c, dx_k = l at corner k of the next poses:
//
//   psi = l . gradient,  dw_k = T dx_k/h,  v = (sum K)^-1 sum K dw,  dh_k = dw_k - v,  c_k = K dh_k
//   of a_k   e_k . dh_k/rho_k          of x_k   -T c_k/h
//   of n     -sum (n . (x'_k - x_k)/h) c_k + (n . dx_k/h) (a_k/rho_k) e_k
//
// N_k = w q_k, and along a motion of the corners the plane tilts by (nu1, nu2), shifts by delta and
// its scale grows by nu3:  dq_k = -q_k nu3 - h_k ds_k,  ds_k = sigma_k (n . dx_k + tau_k . nu +
// delta). The gradient is homogeneous in the weights: psi = sum a_k psi_a_k, which gives the
// derivatives for mu and friction.

#include "energy/slip_parts.h"

#include <string.h>

static const double sigma[6] = {1, 1, 1, -1, -1, -1};

/// A slip at the next poses.
typedef struct situation {
    cri_slip_plane plane;
    cri_vec3 apart[6]; // (x' - x)/h
    cri_slip_corner next[6];
} situation;

static void settle(const cri_potential *p, const cri_slip *s, double h, const cri_pose *next,
                   situation *out) {
    cri_vec3 w[6];
    for (int k = 0; k < s->n; k++) {
        out->next[k] = cri_slip_corner_at(p, s, k, next);
        out->apart[k] = cri_v3_scale(1.0 / h, cri_v3_sub(out->next[k].x, s->x[k]));
        w[k] = cri_slip_along(s->normal, out->apart[k]);
    }
    cri_slip_solve(s, p->slip, w, &out->plane);
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

/// Adjoints of weights, corners where the list was made, corners next in their bodies, the normal,
/// and the shells' weight.
typedef struct slip_adj {
    double a[6], weight;
    cri_vec3 x[6], next[6], n;
} slip_adj;

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

/// What the slips of a pair add.
typedef struct pair_pull {
    double psi, pose[12];
} pair_pull;

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

/// Tangents of weights over friction h mu, corners and the normal.
typedef struct slip_tan {
    double N[6];
    cri_vec3 x[6], n;
} slip_tan;

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
