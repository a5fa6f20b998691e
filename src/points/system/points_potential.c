// SPDX-License-Identifier: MIT
//
// The true potential of points: gravity on every mass, and springs.
//
//   V = - sum_k m_k gravity.x_k + sum stiffness (l - l0)^2,   d = x_to - x_from = l n
//   grad: -m_k gravity at points and centres;  2 stiffness (l - l0) n at to, minus that at from
//   Hessian of a spring on y = y_to - y_from:  2 stiffness (n n.y + (1 - l0/l) (y - n n.y))
//
// A spring of length zero has no direction and no force.

#include "points/system/points_parts.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

// n (d) and the length of a spring
static double direction(const cri_points *s, const cri_spring *k, const double *x, double *n) {
    double l2 = 0.0;
    for (int c = 0; c < s->d; c++) {
        n[c] = x[k->to * s->d + c] - (k->from >= 0 ? x[k->from * s->d + c] : 0.0);
        l2 += n[c] * n[c];
    }
    double l = sqrt(l2);
    for (int c = 0; c < s->d; c++) {
        n[c] = l > 0.0 ? n[c] / l : 0.0;
    }
    return l;
}

// adds f (d) at the end of a spring and takes it off its start
static void put(const cri_points *s, const cri_spring *k, const double *f, double *out) {
    for (int c = 0; c < s->d; c++) {
        out[k->to * s->d + c] += f[c];
        if (k->from >= 0) {
            out[k->from * s->d + c] -= f[c];
        }
    }
}

// out (d) = Hessian / stiffness on y (D); returns n.y
static double bend(const cri_points *s, const cri_spring *k, const double *x, const double *y,
                   double *out) {
    double n[CRI_AXES], along = 0.0;
    double l = direction(s, k, x, n);
    double across = l > 0.0 ? 1.0 - k->length / l : 0.0;
    for (int c = 0; c < s->d; c++) {
        out[c] = y[k->to * s->d + c] - (k->from >= 0 ? y[k->from * s->d + c] : 0.0);
        along += n[c] * out[c];
    }
    for (int c = 0; c < s->d; c++) {
        out[c] = 2.0 * (n[c] * along + across * (out[c] - n[c] * along));
    }
    return along;
}

// ---- springs -----------------------------------------------------------------------------------

void cri_springs_grad(const cri_points *s, const double *p, const double *x, double *g) {
    for (int k = 0; k < s->n_spring; k++) {
        double f[CRI_AXES];
        double pull = direction(s, &s->spring[k], x, f) - s->spring[k].length;
        for (int c = 0; c < s->d; c++) {
            f[c] *= 2.0 * p[s->i_stiffness] * pull;
        }
        put(s, &s->spring[k], f, g);
    }
}

void cri_springs_grad_vjp(const cri_points *s, const double *p, const double *x, const double *u,
                          double *x_adj, double *p_adj) {
    for (int k = 0; k < s->n_spring; k++) {
        double f[CRI_AXES], n[CRI_AXES];
        double l = direction(s, &s->spring[k], x, n);
        double along = bend(s, &s->spring[k], x, u, f);
        p_adj[s->i_stiffness] += 2.0 * (l - s->spring[k].length) * along;
        for (int c = 0; c < s->d; c++) {
            f[c] *= p[s->i_stiffness];
        }
        put(s, &s->spring[k], f, x_adj);
    }
}

void cri_springs_grad_jvp(const cri_points *s, const double *p, const double *x,
                          const double *x_tan, const double *p_tan, double *g_tan) {
    for (int k = 0; k < s->n_spring; k++) {
        double f[CRI_AXES], n[CRI_AXES];
        double l = direction(s, &s->spring[k], x, n);
        bend(s, &s->spring[k], x, x_tan, f);
        double more = 2.0 * p_tan[s->i_stiffness] * (l - s->spring[k].length);
        for (int c = 0; c < s->d; c++) {
            f[c] = p[s->i_stiffness] * f[c] + more * n[c];
        }
        put(s, &s->spring[k], f, g_tan);
    }
}

// ---- with gravity ------------------------------------------------------------------------------

static void true_value(const cri_points_potential *self, const double *p, int B, const double *x,
                       double *V) {
    const cri_points *s = self->context;
    double n[CRI_AXES];
    for (int b = 0; b < B; b++, x += s->n_dof) {
        double sum = 0.0;
        for (int k = 0; k < s->n_block; k++) {
            const double *at = x + s->block[k].first * s->d;
            for (int c = 0; c < s->d; c++) {
                sum -= p[s->i_mass + k] * p[s->i_gravity + c] * at[c];
            }
        }
        for (int k = 0; k < s->n_spring; k++) {
            double stretch = direction(s, &s->spring[k], x, n) - s->spring[k].length;
            sum += p[s->i_stiffness] * stretch * stretch;
        }
        V[b] = sum;
    }
}

bool cri_true_grad(const cri_points_potential *self, const double *p, int B, const double *x,
                   double *g, const void **cache, cr_arena *keep) {
    const cri_points *s = self->context;
    size_t D = (size_t)s->n_dof, n = (size_t)B * D;
    double *kept = CR_PUSH_RAW(keep, double, n);
    if (!kept) {
        return false;
    }
    memcpy(kept, x, sizeof *x * n);
    *cache = kept;
    memset(g, 0, sizeof *g * n);
    for (int b = 0; b < B; b++, x += D, g += D) {
        for (int k = 0; k < s->n_block; k++) {
            for (int c = 0; c < s->d; c++) {
                g[s->block[k].first * s->d + c] = -p[s->i_mass + k] * p[s->i_gravity + c];
            }
        }
        cri_springs_grad(s, p, x, g);
    }
    return true;
}

void cri_true_grad_vjp(const cri_points_potential *self, const double *p, int B, const void *cache,
                       const double *u, double *x_adj, double *p_adj, cr_arena *scratch) {
    (void)scratch;
    const cri_points *s = self->context;
    const double *x = cache;
    for (int b = 0; b < B; b++, x += s->n_dof, u += s->n_dof, x_adj += s->n_dof) {
        cri_springs_grad_vjp(s, p, x, u, x_adj, p_adj);
        for (int k = 0; k < s->n_block; k++) {
            for (int c = 0; c < s->d; c++) {
                double at = u[s->block[k].first * s->d + c];
                p_adj[s->i_mass + k] -= p[s->i_gravity + c] * at;
                p_adj[s->i_gravity + c] -= p[s->i_mass + k] * at;
            }
        }
    }
}

void cri_true_grad_jvp(const cri_points_potential *self, const double *p, int B, const void *cache,
                       const double *x_tan, const double *p_tan, double *g_tan, cr_arena *scratch) {
    (void)scratch;
    const cri_points *s = self->context;
    const double *x = cache;
    memset(g_tan, 0, sizeof *g_tan * (size_t)B * (size_t)s->n_dof);
    for (int b = 0; b < B; b++, x += s->n_dof, x_tan += s->n_dof, g_tan += s->n_dof) {
        for (int k = 0; k < s->n_block; k++) {
            for (int c = 0; c < s->d; c++) {
                g_tan[s->block[k].first * s->d + c] = -p_tan[s->i_mass + k] * p[s->i_gravity + c] -
                                                      p[s->i_mass + k] * p_tan[s->i_gravity + c];
            }
        }
        cri_springs_grad_jvp(s, p, x, x_tan, p_tan, g_tan);
    }
}

cri_points_potential cri_points_true_potential(const cri_points *s) {
    return (cri_points_potential){.context = s,
                                  .value = true_value,
                                  .grad = cri_true_grad,
                                  .grad_vjp = cri_true_grad_vjp,
                                  .grad_jvp = cri_true_grad_jvp};
}

cri_points_potential cri_points_no_potential(void) {
    return (cri_points_potential){0};
}
