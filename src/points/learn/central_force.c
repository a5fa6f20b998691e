// SPDX-License-Identifier: MIT
//
// Potentials of points: value, gradient, and the vjp of the gradient.
//
//   gravity   V = -sum_i m_i g.q_i                 dV/dq_i = -m_i g
//   pendulum  V = sum_i m_i (g/l)(1 - cos q_i)     dV/dq_i = m_i (g/l) sin q_i
//   spring    V = sum_i k/2 |q_i - r|^2            dV/dq_i = k (q_i - r)
//   net       V = net(q)                           (src/base/nn/mlp.c)
//
// A pendulum's m is its moment of inertia, so that q'' = -(g/l) sin q. All are smooth.

#include "central_parts.h"

#include <math.h>
#include <string.h>

bool cri_central_force(const cri_central *c, const double *p, int n_row, const double *q, double *g,
                       cri_mlp_cache *net, cr_arena *arena) {
    const double *value = p + c->at_potential;
    if (c->potential == CRI_POTENTIAL_NET) {
        return cri_mlp_gradient(&c->potential_net, value, n_row, q, NULL, g, net, arena);
    }
    for (int k = 0; k < n_row * c->n_q; k++) {
        int i = k % c->n_q / c->n_dim;
        int axis = k % c->n_dim;
        switch (c->potential) {
        case CRI_POTENTIAL_GRAVITY:
            g[k] = -p[i] * value[axis];
            break;
        case CRI_POTENTIAL_PENDULUM:
            g[k] = p[i] * value[0] / value[1] * sin(q[k]);
            break;
        case CRI_POTENTIAL_SPRING:
            g[k] = value[0] * (q[k] - value[1 + axis]);
            break;
        case CRI_POTENTIAL_NONE:
        case CRI_POTENTIAL_NET:
            g[k] = 0.0;
            break;
        }
    }
    return true;
}

// adjoints of one number of g; p_adj may be scratch
static double force_entry_vjp(const cri_central *c, const double *p, int k, double q, double g_adj,
                              double *p_adj) {
    const double *value = p + c->at_potential;
    double *value_adj = p_adj + c->at_potential;
    int i = k % c->n_q / c->n_dim;
    int axis = k % c->n_dim;
    switch (c->potential) {
    case CRI_POTENTIAL_GRAVITY: {
        // g = -m value
        p_adj[i] -= value[axis] * g_adj;
        value_adj[axis] -= p[i] * g_adj;
        return 0.0;
    }
    case CRI_POTENTIAL_PENDULUM: {
        // g = m a sin q,  a = value_0 / value_1
        double a = value[0] / value[1];
        p_adj[i] += a * sin(q) * g_adj;
        double a_adj = p[i] * sin(q) * g_adj;
        value_adj[0] += a_adj / value[1];
        value_adj[1] -= a_adj * a / value[1];
        return p[i] * a * cos(q) * g_adj;
    }
    case CRI_POTENTIAL_SPRING: {
        // g = k (q - r)
        value_adj[0] += (q - value[1 + axis]) * g_adj;
        value_adj[1 + axis] -= value[0] * g_adj;
        return value[0] * g_adj;
    }
    case CRI_POTENTIAL_NONE:
    case CRI_POTENTIAL_NET:
        break;
    }
    return 0.0;
}

bool cri_central_force_vjp(const cri_central *c, const double *p, int n_row,
                           const cri_central_cache *cache, const double *g_adj, double *q_adj,
                           double *p_adj, cr_arena *work) {
    if (c->potential == CRI_POTENTIAL_NET) {
        return cri_mlp_gradient_vjp(&c->potential_net, p + c->at_potential, &cache->net, NULL,
                                    g_adj, q_adj, p_adj ? p_adj + c->at_potential : NULL, work);
    }
    cri_arena_mark mark = cri_arena_get_mark(work);
    double *sink = p_adj ? p_adj : CR_PUSH(work, double, c->n_p);
    if (!sink) {
        return false;
    }
    for (int k = 0; k < n_row * c->n_q; k++) {
        double inc = force_entry_vjp(c, p, k, cache->q2[k], g_adj[k], sink);
        if (q_adj) {
            q_adj[k] += inc;
        }
    }
    cri_arena_rewind(work, mark);
    return true;
}

double cri_central_potential(const cri_central *c, const double *p, const double *q,
                             cr_arena *work) {
    const double *value = p + c->at_potential;
    double v = 0.0;
    if (c->potential == CRI_POTENTIAL_NET) {
        cri_arena_mark mark = cri_arena_get_mark(work);
        if (!cri_mlp_value(&c->potential_net, value, 1, q, &v, NULL, work)) {
            v = NAN;
        }
        cri_arena_rewind(work, mark);
        return v;
    }
    for (int k = 0; k < c->n_q; k++) {
        double mass = p[k / c->n_dim];
        int axis = k % c->n_dim;
        switch (c->potential) {
        case CRI_POTENTIAL_GRAVITY:
            v -= mass * value[axis] * q[k];
            break;
        case CRI_POTENTIAL_PENDULUM:
            v += mass * value[0] / value[1] * (1.0 - cos(q[k]));
            break;
        case CRI_POTENTIAL_SPRING:
            v += 0.5 * value[0] * (q[k] - value[1 + axis]) * (q[k] - value[1 + axis]);
            break;
        case CRI_POTENTIAL_NONE:
        case CRI_POTENTIAL_NET:
            break;
        }
    }
    return v;
}

double cri_central_energy(const cri_central *c, const double *p, const double *x, cr_arena *work) {
    double kinetic = 0.0;
    for (int k = 0; k < c->n_q; k++) {
        double v = x[c->n_q + k];
        kinetic += 0.5 * p[k / c->n_dim] * v * v;
    }
    return kinetic + cri_central_potential(c, p, x, work);
}
