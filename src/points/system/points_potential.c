// SPDX-License-Identifier: MIT
//
// The true potential of points: gravity on every mass, and springs.
//
//   V = - sum_k m_k gravity.x_k + sum stiffness (l - l0)^2,   d = x_to - x_from = l n
//   grad: -m_k gravity at points and centres;  2 stiffness (l - l0) n at to, minus that at from
//   Hessian of a spring on y = y_to - y_from:  2 stiffness (n n.y + (1 - l0/l) (y - n n.y))
//
// A spring of length zero has no direction and no force.

#include "points/system/points.h"

#include "base/base.h"
#include "base/nn/mlp.h"

#include <math.h>
#include <string.h>

typedef struct net_cache {
    cri_mlp_cache mlp;
    const double *x; // (B, D)
    const double *h; // (B, D)
} net_cache;

// ---- gravity and springs ------------------------------------------------------------------------

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

// ---- nets ---------------------------------------------------------------------------------------

// The potential of a learned model (DCS, paper 000): a net N on all coordinates, weighted by mass,
// of which motion sees the gradient alone. With m_i the mass of the block of coordinate i
//
//   V(x; m, w) = N(y; w) + springs,  y_i = m_i x_i;      g_i = m_i h_i(y) + theirs,  h = dN/dy
//
// Gravity is then a net with the same h for all masses: accelerations in a uniform field do not
// depend on what the masses are believed to be, and masses are learned from what tells them, ties,
// contacts and forces between points. The adjoint of h is that of base/nn/mlp.h.
//
// Springs are those of the system, along links that it knows, with the stiffness among its
// parameters. They stretch by less than a hundredth of their length, far less than points move, and
// a net on coordinates does not see them.

// mass of the block of coordinate i, by its place among the parameters
static int mass_of(const cri_points *s, size_t i) {
    return s->i_mass + s->block_of[i % (size_t)s->n_dof / (size_t)s->d];
}

bool cri_net_grad(const cri_points_potential *self, const double *p, int B, const double *x,
                  double *g, const void **cache, cr_arena *keep) {
    const cri_points_net_def *def = self->context;
    size_t n = (size_t)B * (size_t)def->s->n_dof;
    net_cache *c = CR_PUSH(keep, net_cache, 1);
    double *y = CR_PUSH_RAW(keep, double, n), *own = CR_PUSH_RAW(keep, double, n);
    double *h = CR_PUSH_RAW(keep, double, n);
    if (!c || !y || !own || !h) {
        return false;
    }
    memcpy(own, x, sizeof *x * n);
    for (size_t i = 0; i < n; i++) {
        y[i] = p[mass_of(def->s, i)] * x[i];
    }
    *cache = c;
    c->x = own;
    c->h = h;
    if (!cri_mlp_gradient(def->net, p + self->first, B, y, NULL, h, &c->mlp, keep)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        g[i] = p[mass_of(def->s, i)] * h[i];
    }
    for (int b = 0; b < B; b++) {
        size_t at = (size_t)b * (size_t)def->s->n_dof;
        cri_springs_grad(def->s, p, x + at, g + at);
    }
    return true;
}

void cri_net_grad_vjp(const cri_points_potential *self, const double *p, int B, const void *cache,
                      const double *u, double *x_adj, double *p_adj, cr_arena *scratch) {
    const cri_points_net_def *def = self->context;
    const net_cache *c = cache;
    size_t n = (size_t)B * (size_t)def->s->n_dof;
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    double *h_adj = CR_PUSH_RAW(scratch, double, n), *y_adj = CR_PUSH(scratch, double, n);
    CR_ASSERT(h_adj && y_adj); // n_byte has been reserved
    // g = springs + m h
    for (int b = 0; b < B; b++) {
        size_t at = (size_t)b * (size_t)def->s->n_dof;
        cri_springs_grad_vjp(def->s, p, c->x + at, u + at, x_adj + at, p_adj);
    }
    for (size_t i = 0; i < n; i++) {
        int m = mass_of(def->s, i);
        h_adj[i] = p[m] * u[i];
        p_adj[m] += u[i] * c->h[i];
    }
    // h(y; w)
    bool has_room = cri_mlp_gradient_vjp(def->net, p + self->first, &c->mlp, NULL, h_adj, y_adj,
                                         p_adj + self->first, scratch);
    CR_ASSERT(has_room);
    // y = m x
    for (size_t i = 0; i < n; i++) {
        int m = mass_of(def->s, i);
        x_adj[i] += p[m] * y_adj[i];
        p_adj[m] += c->x[i] * y_adj[i];
    }
    cri_arena_rewind(scratch, mark);
}

// g_tan = m_tan h and that of the springs, without what y changes
static void push_flat(const cri_points_potential *self, const double *p, int B, const void *cache,
                      const double *x_tan, const double *p_tan, double *g_tan, cr_arena *scratch) {
    (void)scratch;
    const cri_points_net_def *def = self->context;
    const net_cache *c = cache;
    for (size_t i = 0; i < (size_t)B * (size_t)def->s->n_dof; i++) {
        g_tan[i] = p_tan[mass_of(def->s, i)] * c->h[i];
    }
    for (int b = 0; b < B; b++) {
        size_t at = (size_t)b * (size_t)def->s->n_dof;
        cri_springs_grad_jvp(def->s, p, c->x + at, x_tan + at, p_tan, g_tan + at);
    }
}

// pairs of every layer, one more of the widest, what a single layer asks for, and h_adj, y_adj
static size_t net_bytes(const cri_points_potential *self, int B) {
    const cri_mlp *net = ((const cri_points_net_def *)self->context)->net;
    size_t sum = 0, most = 0;
    for (int l = 0; l <= net->n_layer; l++) {
        size_t n = (size_t)net->width[l];
        sum += n;
        most = n > most ? n : most;
    }
    size_t rows = 6 * sum + 2 * (size_t)net->width[0];
    return sizeof(double) * ((size_t)B * rows + ((size_t)net->width[0] + 2) * (most + 8)) + 8192;
}

cri_points_potential cri_points_net(const cri_points_net_def *def) {
    const cri_mlp *net = def->net;
    CR_ASSERT(net->width[0] == def->s->n_dof && net->width[net->n_layer] == 1);
    CR_ASSERT(net->act != CRI_ACT_RELU);
    return (cri_points_potential){.context = def,
                                  .n_param = cri_mlp_n_weight(net),
                                  .n_byte = net_bytes,
                                  .grad = cri_net_grad,
                                  .grad_vjp = cri_net_grad_vjp};
}

cri_points_potential cri_points_net_flat(const cri_points_net_def *def) {
    cri_points_potential flat = cri_points_net(def);
    flat.grad_jvp = push_flat;
    return flat;
}
