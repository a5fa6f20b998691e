// SPDX-License-Identifier: MIT
//
// The staggered central-difference step of points with contacts, and the model that makes it.
//
//   q1 = q + h v                                  (then gates, normals, and the projection)
//   delta = h Minv (-dV/dq(q1) - damping v + u)
//   run = v, changed by the impulses of contacts  (below)
//   v1 = run + delta
//
// Where the system itself finds its contacts, by gaps or by a net, an impulse that would pull is
// left out (the paper does so with gaps alone).
// Source: paper 001, (5)-(7) with q += h v and F = -dV/dq. Without contacts it is symplectic Euler,
// position first. A gap is a branch: the vjp keeps the contacts that acted, so the gradient is the
// one of the discrete map between changes of the contact set.

#include "points/learn/central.h"

#include "base/base.h"
#include "points/learn/names.h"

#include <math.h>
#include <string.h>

/// Turns run_adj (n_q) from behind the impulses into that before them; adds to delta_adj (n_q),
/// q1_adj (n_q), gate_adj (n_contact, NULL: none) and p_adj (NULL: none).
typedef struct cri_central_impulse_adj {
    double *run;
    double *delta;
    double *q1;
    double *gate;
    double *p;
} cri_central_impulse_adj;

/// Masses of a contact, and what follows from them.
typedef struct ratio {
    double inverse_i, inverse_j; // 1/m, 0 for a wall
    double reduced;              // m_red
    double w_i, w_j;             // shares of the projection
} ratio;

/// A contact about to act.
typedef struct meeting {
    double u;       // n.(run_i - run_j)
    double w;       // with the smooth increment
    double bracket; // (1 + e) u + n.(delta_i - delta_j)
} meeting;

static const char *const laws[] = {"restitution", NULL};

/// Adjoints on their way back through a step.
typedef struct back {
    double *run;   // (n_row, n_q)
    double *delta; // (n_row, n_q)
    double *q1;    // (n_row, n_q) of the normals
    double *q2;    // (n_row, n_q)
} back;

/// Sweeps over the contacts that a step makes at most; a cradle of ten balls needs nine.
enum { SWEEP_MOST = 16 };

// ---- potentials ---------------------------------------------------------------------------------

// Potentials of points: value, gradient, and the vjp of the gradient.
//
//   gravity   V = -sum_i m_i g.q_i                 dV/dq_i = -m_i g
//   pendulum  V = sum_i m_i (g/l)(1 - cos q_i)     dV/dq_i = m_i (g/l) sin q_i
//   spring    V = sum_i k/2 |q_i - r|^2            dV/dq_i = k (q_i - r)
//   net       V = net(q)                           (src/base/nn/mlp.c)
//
// A pendulum's m is its moment of inertia, so that q'' = -(g/l) sin q. All are smooth.

/// g (n_row, n_q) = dV/dq at q.
static bool central_force(const cri_central *c, const double *p, int n_row, const double *q,
                          double *g, cri_mlp_cache *net, cr_arena *arena) {
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

/// At q2 of the cache. Adds to q_adj and p_adj, which may be NULL.
static bool central_force_vjp(const cri_central *c, const double *p, int n_row,
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

/// V at q of one row; NaN when there is no memory.
static double central_potential(const cri_central *c, const double *p, const double *q,
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
    return kinetic + central_potential(c, p, x, work);
}

// ---- contacts -----------------------------------------------------------------------------------

// Contacts of the central-difference step: gaps, the closest-point projection, and impulses.
//
//   gap         g = n.(q_i - q_j) - o   or   |d| - o, n = d/|d|, d = q_i - q_j
//   projection  q_i += w_i s, q_j -= w_j s,  s = -g n,  w_i = m_j/(m_i + m_j)   (1 at a wall)
//   impulse     u = n.(run_i - run_j),  lambda = -gate m_red ((1 + e) u + n.(delta_i - delta_j)),
//               run_i += lambda n/m_i,  run_j -= lambda n/m_j
//
// m_red = m_i m_j/(m_i + m_j), at a wall m_i: the paper's mass-ratio operator, whose inverse is
// elementwise. One contact gives u' = -e u for the velocities run + delta, the force of the step
// included. Contacts act in order on the running velocity; a sweep is repeated for pairs that still
// approach because a neighbour has acted since, n_visit_most impulses at most. i and j get the same
// lambda, so momentum is kept to rounding. Spheres whose centres coincide have the first axis as
// normal and no derivative of it.
//
// Source: paper 001, (14)-(17) and (40)-(45), with the signs and factors corrected.

static ratio ratio_of(const cri_central *c, const double *p, int contact) {
    const cri_central_contact *t = &c->touch[contact];
    double m_i = p[t->i];
    if (t->j < 0) {
        return (ratio){1.0 / m_i, 0.0, m_i, 1.0, 0.0};
    }
    double m_j = p[t->j];
    double sum = m_i + m_j;
    return (ratio){1.0 / m_i, 1.0 / m_j, m_i * m_j / sum, m_j / sum, m_i / sum};
}

// adjoints of the masses from those of m_red and of w_i (w_j = 1 - w_i)
static void ratio_vjp(const cri_central *c, const double *p, int contact, double reduced_adj,
                      double w_adj, double *p_adj) {
    const cri_central_contact *t = &c->touch[contact];
    if (t->j < 0) {
        p_adj[t->i] += reduced_adj;
        return;
    }
    ratio r = ratio_of(c, p, contact);
    double sum = p[t->i] + p[t->j];
    // w_i = m_j/(m_i + m_j)
    p_adj[t->i] -= w_adj * r.w_i / sum;
    p_adj[t->j] += w_adj * r.w_j / sum;
    // m_red = m_i m_j/(m_i + m_j)
    p_adj[t->i] += reduced_adj * r.w_i * r.w_i;
    p_adj[t->j] += reduced_adj * r.w_j * r.w_j;
}

// a_i - a_j of a vector of all bodies
static double apart(const cri_central *c, const cri_central_contact *t, const double *a, int k) {
    CR_ASSERT(a);
    return a[t->i * c->n_dim + k] - (t->j < 0 ? 0.0 : a[t->j * c->n_dim + k]);
}

static void add_apart(const cri_central *c, const cri_central_contact *t, double scale_i,
                      double scale_j, const double *b, double *a) {
    for (int k = 0; k < c->n_dim; k++) {
        a[t->i * c->n_dim + k] += scale_i * b[k];
        if (t->j >= 0) {
            a[t->j * c->n_dim + k] -= scale_j * b[k];
        }
    }
}

static double dot(int n, const double *a, const double *b) {
    double sum = 0.0;
    for (int k = 0; k < n; k++) {
        sum += a[k] * b[k];
    }
    return sum;
}

/// One contact at q (n_q): gap, unit normal (n_dim) from j to i, distance of a round one, 0 where
/// it has none.
static double central_gap(const cri_central *c, const double *p, int contact, const double *q,
                          double *normal, double *reach) {
    const cri_central_contact *t = &c->touch[contact];
    double offset = p[c->at_offset + contact];
    *reach = 0.0;
    if (!t->is_round) {
        double along = 0.0;
        for (int k = 0; k < c->n_dim; k++) {
            normal[k] = t->normal[k];
            along += normal[k] * apart(c, t, q, k);
        }
        return along - offset;
    }
    double square = 0.0;
    for (int k = 0; k < c->n_dim; k++) {
        normal[k] = apart(c, t, q, k);
        square += normal[k] * normal[k];
    }
    *reach = sqrt(square);
    for (int k = 0; k < c->n_dim; k++) {
        normal[k] = *reach > 0.0 ? normal[k] / *reach : (k == 0 ? 1.0 : 0.0);
    }
    return *reach - offset;
}

// ---- projection --------------------------------------------------------------------------------

static void go_home(const cri_central *c, int body, double *q) {
    if (body >= 0) {
        size_t at = (size_t)body * (size_t)c->n_dim;
        memcpy(q + at, c->home + at, (size_t)c->n_dim * sizeof *q);
    }
}

/// Moves q (n_q) of one row by the projection of the contacts that moves names; writes the row of
/// the cache.
static void central_project(const cri_central *c, const double *p, const bool *moves, double *q,
                            const cri_central_cache *cache, int row) {
    for (int k = 0; k < c->n_contact; k++) {
        int at = row * c->n_contact + k;
        cache->is_moved[at] = false;
        if (c->projection == CRI_PROJECT_NONE || !moves[k]) {
            continue;
        }
        const cri_central_contact *t = &c->touch[k];
        if (c->projection == CRI_PROJECT_HOME) {
            cache->is_moved[at] = true;
            go_home(c, t->i, q);
            go_home(c, t->j, q);
            continue;
        }
        double *normal = cache->move_normal + (size_t)at * (size_t)c->n_dim;
        double gap = central_gap(c, p, k, q, normal, &cache->move_reach[at]);
        cache->move_gap[at] = gap;
        if (gap < 0.0) {
            ratio r = ratio_of(c, p, k);
            cache->is_moved[at] = true;
            add_apart(c, t, -gap * r.w_i, -gap * r.w_j, normal, q);
        }
    }
}

// q_i += w_i s, q_j -= w_j s with s = -g n
static void project_closest_vjp(const cri_central *c, const double *p,
                                const cri_central_cache *cache, int at, double *q_adj,
                                double *p_adj) {
    CR_ASSERT(q_adj);
    int contact = at % c->n_contact;
    const cri_central_contact *t = &c->touch[contact];
    const double *n = cache->move_normal + (size_t)at * (size_t)c->n_dim;
    double reach = cache->move_reach[at];
    double offset = p[c->at_offset + contact];
    ratio r = ratio_of(c, p, contact);
    const double *i_adj = q_adj + (size_t)(t->i * c->n_dim);
    const double *j_adj = t->j < 0 ? NULL : q_adj + (size_t)(t->j * c->n_dim);

    // s_adj . n, s_adj = w_i i_adj - w_j j_adj
    double i_n = dot(c->n_dim, i_adj, n);
    double j_n = j_adj ? dot(c->n_dim, j_adj, n) : 0.0;
    double along = r.w_i * i_n - r.w_j * j_n;
    if (p_adj) {
        // s = (offset - n.d) n, and w_i, w_j = 1 - w_i weigh it
        p_adj[c->at_offset + contact] += along;
        if (t->j >= 0) {
            ratio_vjp(c, p, contact, 0.0, -cache->move_gap[at] * (i_n + j_n), p_adj);
        }
    }
    for (int k = 0; k < c->n_dim; k++) {
        double d_adj = -n[k] * along;
        if (t->is_round) {
            // s = (offset/l - 1) d
            double s_adj = r.w_i * i_adj[k] - (j_adj ? r.w_j * j_adj[k] : 0.0);
            double curl = reach > 0.0 ? offset / reach * (s_adj - n[k] * along) : 0.0;
            d_adj = reach > 0.0 ? curl - s_adj : 0.0;
        }
        q_adj[t->i * c->n_dim + k] += d_adj;
        if (t->j >= 0) {
            q_adj[t->j * c->n_dim + k] -= d_adj;
        }
    }
}

/// Turns q_adj (n_q) from behind the projection into that before it; adds to p_adj (NULL: none).
static void central_project_vjp(const cri_central *c, const double *p,
                                const cri_central_cache *cache, int row, double *q_adj,
                                double *p_adj) {
    for (int k = c->n_contact - 1; k >= 0; k--) {
        int at = row * c->n_contact + k;
        if (!cache->is_moved[at]) {
            continue;
        }
        if (c->projection == CRI_PROJECT_CLOSEST) {
            project_closest_vjp(c, p, cache, at, q_adj, p_adj);
            continue;
        }
        // q = home
        const cri_central_contact *t = &c->touch[k];
        memset(q_adj + (size_t)(t->i * c->n_dim), 0, (size_t)c->n_dim * sizeof *q_adj);
        if (t->j >= 0) {
            memset(q_adj + (size_t)(t->j * c->n_dim), 0, (size_t)c->n_dim * sizeof *q_adj);
        }
    }
}

// ---- impulses ----------------------------------------------------------------------------------

static meeting meet(const cri_central *c, const double *p, int contact, const double *run,
                    const double *delta, const double *normal) {
    const cri_central_contact *t = &c->touch[contact];
    double u = 0.0;
    double pull = 0.0;
    for (int k = 0; k < c->n_dim; k++) {
        u += normal[k] * apart(c, t, run, k);
        pull += normal[k] * apart(c, t, delta, k);
    }
    return (meeting){u, u + pull, (1.0 + p[c->at_restitution + contact]) * u + pull};
}

static void act(const cri_central *c, const double *p, int contact, double bracket, double *run,
                const cri_central_cache *cache, int row) {
    const cri_central_contact *t = &c->touch[contact];
    int at = row * c->n_contact + contact;
    const double *n = cache->normal + (size_t)at * (size_t)c->n_dim;
    ratio r = ratio_of(c, p, contact);
    size_t seen = (size_t)row * (size_t)c->n_visit_most + (size_t)cache->n_visit[row];
    double lambda = -cache->gate[at] * r.reduced * bracket;
    cache->seen[seen] = (cri_central_visit){contact, cache->gate[at], lambda};
    double *relative = cache->relative + seen * 2 * (size_t)c->n_dim;
    for (int k = 0; k < c->n_dim; k++) {
        relative[k] = apart(c, t, run, k);
        relative[c->n_dim + k] = apart(c, t, cache->delta + (size_t)row * (size_t)c->n_q, k);
    }
    add_apart(c, t, lambda * r.inverse_i, lambda * r.inverse_j, n, run);
    cache->n_visit[row]++;
}

// has a neighbour acted since the contact's own last turn?
static bool is_stale(const cri_central *c, int contact, const cri_central_cache *cache, int row) {
    const cri_central_contact *t = &c->touch[contact];
    const cri_central_visit *seen = cache->seen + (size_t)(row * c->n_visit_most);
    for (int k = cache->n_visit[row] - 1; k >= 0 && seen[k].contact != contact; k--) {
        const cri_central_contact *other = &c->touch[seen[k].contact];
        if (other->i == t->i || other->j == t->i ||
            (t->j >= 0 && (other->i == t->j || other->j == t->j))) {
            return true;
        }
    }
    return false;
}

/// Impulses of one row: changes run (n_q), the velocity without the smooth increment.
static void central_impulse(const cri_central *c, const double *p, bool has_guard, double *run,
                            const cri_central_cache *cache, int row) {
    const double *delta = cache->delta + (size_t)row * (size_t)c->n_q;
    cache->n_visit[row] = 0;
    bool is_first = true;
    bool has_acted = true;
    while (has_acted) {
        has_acted = false;
        for (int k = 0; k < c->n_contact && cache->n_visit[row] < c->n_visit_most; k++) {
            int at = row * c->n_contact + k;
            double gate = cache->gate[at];
            if (gate == 0.0 || (!is_first && (gate < 1.0 || !is_stale(c, k, cache, row)))) {
                continue;
            }
            meeting m = meet(c, p, k, run, delta, cache->normal + (size_t)at * (size_t)c->n_dim);
            // rounding leaves a resting pair with w of a few units in the last place of u
            bool approaches = m.bracket < 0.0 && m.w < -1e-14 * fabs(m.u);
            if (is_first ? has_guard && m.bracket >= 0.0 : !approaches) {
                continue;
            }
            act(c, p, k, m.bracket, run, cache, row);
            has_acted = true;
        }
        is_first = false;
    }
}

// one impulse: its contact, its adjoints
static void visit_vjp(const cri_central *c, const double *p, const cri_central_cache *cache,
                      int row, int visit, const cri_central_impulse_adj *adj) {
    CR_ASSERT(adj->run && adj->delta && adj->q1);
    size_t place = (size_t)row * (size_t)c->n_visit_most + (size_t)visit;
    const cri_central_visit *seen = &cache->seen[place];
    const cri_central_contact *t = &c->touch[seen->contact];
    int at = row * c->n_contact + seen->contact;
    const double *n = cache->normal + (size_t)at * (size_t)c->n_dim;
    const double *run = cache->relative + place * 2 * (size_t)c->n_dim;
    const double *delta = run + c->n_dim;
    double e = p[c->at_restitution + seen->contact];
    ratio r = ratio_of(c, p, seen->contact);
    double u = dot(c->n_dim, n, run);
    double bracket = (1.0 + e) * u + dot(c->n_dim, n, delta);

    // run_i += lambda n/m_i, run_j -= lambda n/m_j
    const double *i_adj = adj->run + (size_t)(t->i * c->n_dim);
    // a wall has no adjoint, and any will do
    const double *j_adj = t->j < 0 ? i_adj : adj->run + (size_t)(t->j * c->n_dim);
    double i_n = dot(c->n_dim, i_adj, n) * r.inverse_i;
    double j_n = t->j < 0 ? 0.0 : dot(c->n_dim, j_adj, n) * r.inverse_j;
    double lambda_adj = i_n - j_n;
    double bracket_adj = -seen->gate * r.reduced * lambda_adj;

    // n occurs in the push and in the bracket; round contacts alone have one that moves
    double reach = cache->reach[at];
    if (reach > 0.0) {
        double n_n = 0.0;
        double n_adj[2] = {0.0, 0.0}; // of one axis, and what goes along n
        for (int k = 0; k < c->n_dim; k++) {
            n_n += n[k] * (seen->lambda * (i_adj[k] * r.inverse_i - j_adj[k] * r.inverse_j) +
                           bracket_adj * ((1.0 + e) * run[k] + delta[k]));
        }
        for (int k = 0; k < c->n_dim; k++) {
            n_adj[0] = seen->lambda * (i_adj[k] * r.inverse_i - j_adj[k] * r.inverse_j) +
                       bracket_adj * ((1.0 + e) * run[k] + delta[k]);
            n_adj[1] = (n_adj[0] - n[k] * n_n) / reach;
            adj->q1[t->i * c->n_dim + k] += n_adj[1];
            adj->q1[t->j * c->n_dim + k] -= n_adj[1];
        }
    }
    if (adj->gate) {
        adj->gate[seen->contact] -= r.reduced * bracket * lambda_adj;
    }
    if (adj->p) {
        adj->p[c->at_restitution + seen->contact] += u * bracket_adj;
        adj->p[t->i] -= seen->lambda * i_n * r.inverse_i;
        if (t->j >= 0) {
            adj->p[t->j] += seen->lambda * j_n * r.inverse_j;
        }
        ratio_vjp(c, p, seen->contact, -seen->gate * bracket * lambda_adj, 0.0, adj->p);
    }
    // bracket = (1 + e) n.(run_i - run_j) + n.(delta_i - delta_j)
    add_apart(c, t, (1.0 + e) * bracket_adj, (1.0 + e) * bracket_adj, n, adj->run);
    add_apart(c, t, bracket_adj, bracket_adj, n, adj->delta);
}

static void central_impulse_vjp(const cri_central *c, const double *p,
                                const cri_central_cache *cache, int row,
                                const cri_central_impulse_adj *adj) {
    for (int visit = cache->n_visit[row] - 1; visit >= 0; visit--) {
        visit_vjp(c, p, cache, row, visit, adj);
    }
}

// ---- the step -----------------------------------------------------------------------------------

static bool push_cache(const cri_central *c, int n_row, cri_central_cache *cache, cr_arena *arena) {
    size_t n_q = (size_t)n_row * (size_t)c->n_q;
    size_t n_touch = (size_t)n_row * (size_t)c->n_contact;
    size_t n_visit = (size_t)n_row * (size_t)c->n_visit_most;
    *cache = (cri_central_cache){
        .q1 = CR_PUSH_RAW(arena, double, n_q),
        .q2 = CR_PUSH_RAW(arena, double, n_q),
        .normal = CR_PUSH_RAW(arena, double, n_touch *(size_t)c->n_dim),
        .reach = CR_PUSH_RAW(arena, double, n_touch),
        .gate = CR_PUSH_RAW(arena, double, n_touch),
        .is_moved = CR_PUSH(arena, bool, n_touch),
        .move_normal = CR_PUSH_RAW(arena, double, n_touch *(size_t)c->n_dim),
        .move_reach = CR_PUSH_RAW(arena, double, n_touch),
        .move_gap = CR_PUSH_RAW(arena, double, n_touch),
        .delta = CR_PUSH_RAW(arena, double, n_q),
        .n_visit = CR_PUSH(arena, int, n_row),
        .seen = CR_PUSH_RAW(arena, cri_central_visit, n_visit),
        .relative = CR_PUSH_RAW(arena, double, n_visit * 2 * (size_t)c->n_dim),
        .is_failed = CR_PUSH(arena, bool, n_row),
    };
    return cache->q1 && cache->q2 && cache->delta && !cri_arena_has_failed(arena);
}

// logit > 0 of the contact net at (q1, v)
static bool net_gates(const cri_central *c, const cri_system_batch *b, cri_central_cache *cache,
                      cr_arena *arena) {
    cri_arena_mark mark = cri_arena_get_mark(arena);
    size_t n_q = (size_t)c->n_q;
    double *in = CR_PUSH_RAW(arena, double, 2 * n_q * (size_t)b->n_row);
    double *logit = CR_PUSH_RAW(arena, double, (size_t)b->n_row *(size_t)c->n_contact);
    if (!in || !logit) {
        return false;
    }
    for (size_t row = 0; row < (size_t)b->n_row; row++) {
        memcpy(in + 2 * n_q * row, cache->q1 + n_q * row, n_q * sizeof *in);
        memcpy(in + 2 * n_q * row + n_q, b->x + 2 * n_q * row + n_q, n_q * sizeof *in);
    }
    bool is_done =
        cri_mlp_value(&c->contact_net, b->p + c->at_contact_net, b->n_row, in, logit, NULL, arena);
    for (int k = 0; is_done && k < b->n_row * c->n_contact; k++) {
        cache->gate[k] = logit[k] > 0.0 ? 1.0 : 0.0;
    }
    cri_arena_rewind(arena, mark);
    return is_done;
}

// normals of all contacts at q1, and the gates that gaps give
static void look(const cri_central *c, const cri_system_batch *b, bool has_gates,
                 const cri_central_cache *cache) {
    for (int at = 0; at < b->n_row * c->n_contact; at++) {
        int row = at / c->n_contact;
        double gap =
            central_gap(c, b->p, at % c->n_contact, cache->q1 + (size_t)row * (size_t)c->n_q,
                        cache->normal + (size_t)at * (size_t)c->n_dim, &cache->reach[at]);
        if (!has_gates) {
            cache->gate[at] = gap <= 0.0 ? 1.0 : 0.0;
        }
    }
}

// where the projection acts: as told, else where the gate is 1
static void move(const cri_central *c, const cri_system_batch *b, const cri_central_gates *gates,
                 const cri_central_cache *cache, bool *moves) {
    memcpy(cache->q2, cache->q1, (size_t)b->n_row * (size_t)c->n_q * sizeof *cache->q2);
    for (int row = 0; row < b->n_row; row++) {
        for (int k = 0; k < c->n_contact; k++) {
            int at = row * c->n_contact + k;
            moves[k] = gates && gates->moves ? gates->moves[at] : cache->gate[at] == 1.0;
        }
        central_project(c, b->p, moves, cache->q2 + (size_t)row * (size_t)c->n_q, cache, row);
    }
}

// delta = h Minv (-g - damping v + u)
static void increment(const cri_central *c, const cri_system_batch *b, double *delta) {
    double damping = b->p[c->at_damping];
    for (int k = 0; k < b->n_row * c->n_q; k++) {
        int row = k / c->n_q;
        int i = k % c->n_q;
        double v = b->x[(size_t)(row * 2 * c->n_q + c->n_q + i)];
        double force = -delta[k] - damping * v + (b->u ? b->u[k] : 0.0);
        delta[k] = b->h * force / b->p[i / c->n_dim];
    }
}

// x_next of one row; what is not finite stays where it was
static void finish(const cri_central *c, const cri_system_batch *b, bool has_guard, int row,
                   double *x_next, const cri_central_cache *cache) {
    size_t n_q = (size_t)c->n_q;
    const double *x = b->x + 2 * n_q * (size_t)row;
    double *next = x_next + 2 * n_q * (size_t)row;
    memcpy(next + n_q, x + n_q, n_q * sizeof *next);
    central_impulse(c, b->p, has_guard, next + n_q, cache, row);
    memcpy(next, cache->q2 + n_q * (size_t)row, n_q * sizeof *next);
    for (size_t k = 0; k < n_q; k++) {
        next[n_q + k] += cache->delta[n_q * (size_t)row + k];
    }
    cache->is_failed[row] = !cri_all_finite(2 * c->n_q, next);
    if (cache->is_failed[row]) {
        cache->n_visit[row] = 0;
        memcpy(next, x, 2 * n_q * sizeof *next);
    }
}

bool cri_central_step(const cri_central *c, const cri_system_batch *batch,
                      const cri_central_gates *gates, double *x_next, cri_central_cache *cache,
                      cr_arena *arena) {
    cri_central_cache own;
    cri_central_cache *k = cache ? cache : &own;
    bool has_gates = gates && gates->gate;
    bool is_net = c->source == CRI_SIGNAL_NET;
    if (!push_cache(c, batch->n_row, k, arena)) {
        return false;
    }
    bool *moves = CR_PUSH(arena, bool, c->n_contact + 1);
    if (!moves) {
        return false;
    }
    // q1 = q + h v
    for (int i = 0; i < batch->n_row * c->n_q; i++) {
        const double *x = batch->x + (size_t)(i / c->n_q * 2 * c->n_q);
        k->q1[i] = x[i % c->n_q] + batch->h * x[c->n_q + i % c->n_q];
    }
    if (has_gates) {
        memcpy(k->gate, gates->gate, (size_t)batch->n_row * (size_t)c->n_contact * sizeof *k->gate);
    } else if (is_net && c->n_contact > 0 && !net_gates(c, batch, k, arena)) {
        return false;
    }
    look(c, batch, has_gates || is_net, k);
    move(c, batch, gates, k, moves);
    if (!central_force(c, batch->p, batch->n_row, k->q2, k->delta, cache ? &k->net : NULL, arena)) {
        return false;
    }
    increment(c, batch, k->delta);
    for (int row = 0; row < batch->n_row; row++) {
        finish(c, batch, !has_gates, row, x_next, k);
    }
    return true;
}

// v1 = run + delta; q_next = q2; and the impulses
static void finish_vjp(const cri_central *c, const cri_system_batch *b,
                       const cri_central_cache *cache, const double *x_next_adj,
                       const cri_central_adj *adj, const back *a) {
    size_t n_q = (size_t)c->n_q;
    for (int row = 0; row < b->n_row; row++) {
        if (cache->is_failed[row]) {
            continue;
        }
        size_t at = n_q * (size_t)row;
        memcpy(a->run + at, x_next_adj + 2 * at + n_q, n_q * sizeof *a->run);
        memcpy(a->delta + at, x_next_adj + 2 * at + n_q, n_q * sizeof *a->run);
        memcpy(a->q2 + at, x_next_adj + 2 * at, n_q * sizeof *a->run);
        double *gate_adj = adj->gate ? adj->gate + (size_t)(row * c->n_contact) : NULL;
        central_impulse_vjp(
            c, b->p, cache, row,
            &(cri_central_impulse_adj){a->run + at, a->delta + at, a->q1 + at, gate_adj, adj->p});
    }
}

// delta = h Minv (-g - damping v + u): a->delta becomes the adjoint of g
static void increment_vjp(const cri_central *c, const cri_system_batch *b,
                          const cri_central_cache *cache, const cri_central_adj *adj,
                          const back *a) {
    double damping = b->p[c->at_damping];
    for (int k = 0; k < b->n_row * c->n_q; k++) {
        int row = k / c->n_q;
        int i = k % c->n_q;
        int body = i / c->n_dim;
        double v = b->x[(size_t)(row * 2 * c->n_q + c->n_q + i)];
        double force_adj = b->h * a->delta[k] / b->p[body];
        if (adj->p) {
            adj->p[body] -= a->delta[k] * cache->delta[k] / b->p[body];
            adj->p[c->at_damping] -= force_adj * v;
        }
        if (adj->u) {
            adj->u[k] += force_adj;
        }
        a->run[k] -= damping * force_adj;
        a->delta[k] = -force_adj;
    }
}

bool cri_central_step_vjp(const cri_central *c, const cri_system_batch *batch,
                          const cri_central_cache *cache, const double *x_next_adj,
                          const cri_central_adj *adj, cr_arena *work) {
    cri_arena_mark mark = cri_arena_get_mark(work);
    int n = batch->n_row * c->n_q;
    back a = {CR_PUSH(work, double, n), CR_PUSH(work, double, n), CR_PUSH(work, double, n),
              CR_PUSH(work, double, n)};
    if (!a.run || !a.delta || !a.q1 || !a.q2) {
        return false;
    }
    finish_vjp(c, batch, cache, x_next_adj, adj, &a);
    increment_vjp(c, batch, cache, adj, &a);
    if (!central_force_vjp(c, batch->p, batch->n_row, cache, a.delta, a.q2, adj->p, work)) {
        return false;
    }
    for (int row = 0; row < batch->n_row; row++) {
        central_project_vjp(c, batch->p, cache, row, a.q2 + (size_t)(row * c->n_q), adj->p);
    }
    // q1 = q + h v
    for (int k = 0; adj->x && k < n; k++) {
        double *x_adj = adj->x + (size_t)(k / c->n_q * 2 * c->n_q);
        double q1_adj = a.q1[k] + a.q2[k];
        x_adj[k % c->n_q] += q1_adj;
        x_adj[c->n_q + k % c->n_q] += a.run[k] + batch->h * q1_adj;
    }
    cri_arena_rewind(work, mark);
    return true;
}

// ---- as a system -------------------------------------------------------------------------------

static bool kind_step(const void *self, const cri_system_batch *batch, double *x_next,
                      cri_system_row *row, const void **cache, cr_arena *arena) {
    const cri_central *c = self;
    cri_central_cache *kept = CR_PUSH(arena, cri_central_cache, 1);
    if (!kept || !cri_central_step(c, batch, NULL, x_next, kept, arena)) {
        return false;
    }
    for (int k = 0; row && k < batch->n_row; k++) {
        row[k] = (cri_system_row){kept->is_failed[k], kept->n_visit[k]};
    }
    if (cache) {
        *cache = kept;
    }
    return true;
}

static bool kind_vjp(const void *self, const cri_system_batch *batch, const void *cache,
                     const double *x_next_adj, double *x_adj, double *u_adj, double *p_adj,
                     cr_arena *work) {
    return cri_central_step_vjp(self, batch, cache, x_next_adj,
                                &(cri_central_adj){x_adj, u_adj, p_adj, NULL}, work);
}

static double kind_energy(const void *self, const double *p, const double *x, cr_arena *work) {
    return cri_central_energy(self, p, x, work);
}

const cri_system_kind cri_central_kind = {.name = "central-difference",
                                          .law = laws,
                                          .step = kind_step,
                                          .vjp = kind_vjp,
                                          .energy = kind_energy};

// ---- the model ----------------------------------------------------------------------------------

static int n_potential(const cri_central_def *def) {
    switch (def->potential) {
    case CRI_POTENTIAL_NONE:
        return 0;
    case CRI_POTENTIAL_GRAVITY:
        return def->points.n_dim;
    case CRI_POTENTIAL_PENDULUM:
        return 2;
    case CRI_POTENTIAL_SPRING:
        return 1 + def->points.n_dim;
    case CRI_POTENTIAL_NET:
        return cri_mlp_n_weight(&def->potential_net);
    }
    return 0;
}

static void lay_out(cri_central *c, const cri_central_def *def) {
    bool has_net = def->source == CRI_SIGNAL_NET && def->n_contact > 0;
    c->n_body = def->points.n_body;
    c->n_dim = def->points.n_dim;
    c->n_q = def->points.n_body * def->points.n_dim;
    c->n_contact = def->n_contact;
    c->n_visit_most = SWEEP_MOST * def->n_contact;
    c->source = def->source;
    c->projection = def->projection;
    c->potential = def->potential;
    c->potential_net = def->potential_net;
    c->contact_net = def->contact_net;
    c->at_restitution = def->points.n_body;
    c->at_offset = c->at_restitution + def->n_contact;
    c->at_damping = c->at_offset + def->n_contact;
    c->at_potential = c->at_damping + 1;
    c->at_contact_net = c->at_potential + n_potential(def);
    c->n_p = c->at_contact_net + (has_net ? cri_mlp_n_weight(&def->contact_net) : 0);
    c->dt = def->dt;
}

static double *copy_doubles(cr_arena *arena, int n, const double *from) {
    double *to = CR_PUSH(arena, double, n + 1);
    if (to && from) {
        memcpy(to, from, (size_t)n * sizeof *to);
    }
    return to;
}

static void fill(cri_central *c, const cri_central_def *def) {
    for (int i = 0; i < c->n_body; i++) {
        c->p0[i] = def->mass[i];
    }
    for (int k = 0; k < c->n_contact; k++) {
        const cri_central_contact *t = &def->touch[k];
        CR_ASSERT(t->i >= 0 && t->i < c->n_body && t->j >= -1 && t->j < c->n_body && t->i != t->j);
        CR_ASSERT(t->is_round ? t->j >= 0 : t->normal != NULL);
        c->touch[k] = *t;
        c->touch[k].normal = t->is_round ? NULL : copy_doubles(c->memory, c->n_dim, t->normal);
        c->touch[k].name = cri_arena_push_text(c->memory, t->name);
        c->p0[c->at_restitution + k] = t->restitution;
        c->p0[c->at_offset + k] = t->offset;
    }
    c->p0[c->at_damping] = def->damping;
    if (def->potential_value && def->potential != CRI_POTENTIAL_NET) {
        memcpy(c->p0 + c->at_potential, def->potential_value,
               (size_t)n_potential(def) * sizeof *c->p0);
    }
}

cri_central *cri_central_create(const cri_central_def *def) {
    CR_ASSERT(def->points.n_body > 0 && def->points.n_dim > 0 && def->n_contact >= 0);
    CR_ASSERT(def->potential != CRI_POTENTIAL_PENDULUM || def->points.n_dim == 1);
    CR_ASSERT(def->potential != CRI_POTENTIAL_NET ||
              def->potential_net.width[0] == def->points.n_body * def->points.n_dim);
    cr_arena *memory = cri_arena_create(4096);
    cri_central *c = memory ? CR_PUSH(memory, cri_central, 1) : NULL;
    if (!c) {
        cri_arena_destroy(memory);
        return NULL;
    }
    c->memory = memory;
    lay_out(c, def);
    c->p0 = CR_PUSH(memory, double, c->n_p);
    c->touch = CR_PUSH(memory, cri_central_contact, c->n_contact + 1);
    c->home = copy_doubles(memory, c->n_q, def->home);
    c->x0 = copy_doubles(memory, 2 * c->n_q, def->x0);
    if (cri_balls_copy(&def->points, &c->points, memory)) {
        fill(c, def);
    }
    if (cri_arena_has_failed(memory)) {
        cri_arena_destroy(memory);
        return NULL;
    }
    return c;
}

void cri_central_destroy(cri_central *c) {
    if (c) {
        cri_arena_destroy(c->memory);
    }
}

static void release(void *self) {
    cri_central_destroy(self);
}

// ---- names -------------------------------------------------------------------------------------

static char *potential_name(const cri_central *c, int k, cr_arena *arena) {
    switch (c->potential) {
    case CRI_POTENTIAL_GRAVITY:
        return cri_name_push(arena, "gravity[%d]", k);
    case CRI_POTENTIAL_PENDULUM:
        return cri_name_push(arena, "%s", k == 0 ? "gravity" : "length");
    case CRI_POTENTIAL_SPRING:
        return k == 0 ? cri_name_push(arena, "stiffness") : cri_name_push(arena, "rest[%d]", k - 1);
    case CRI_POTENTIAL_NONE:
    case CRI_POTENTIAL_NET:
        break;
    }
    return NULL;
}

// a closest point moves with the offset; a gap alone is a threshold, and a net does not ask for it
static const char *held_offset(const cri_central *c) {
    if (c->projection == CRI_PROJECT_CLOSEST) {
        return NULL;
    }
    return c->source == CRI_SIGNAL_GAP ? cri_held_by_threshold
                                       : "not used: the contact net says when";
}

static bool name_bodies(const cri_central *c, const double *p, cri_system_slot *slot,
                        cr_arena *arena) {
    bool is_done = true;
    for (int i = 0; i < c->n_body; i++) {
        is_done &= cri_slot_set(&slot[i], cri_name_push(arena, "%s/mass", c->points.name[i]), p[i]);
        slot[i].lower = 0.0;
        slot[i].is_open_lower = true;
    }
    for (int k = 0; k < c->n_contact; k++) {
        int at = c->at_restitution + k;
        const char *name = c->touch[k].name;
        is_done &= cri_slot_set(&slot[at], cri_name_push(arena, "%s/restitution", name), p[at]);
        slot[at].lower = 0.0;
        slot[at].upper = 1.0;
        at = c->at_offset + k;
        is_done &= cri_slot_set(&slot[at], cri_name_push(arena, "%s/offset", name), p[at]);
        slot[at].held = held_offset(c);
    }
    int at = c->at_damping;
    is_done &= cri_slot_set(&slot[at], cri_name_push(arena, "damping"), p[at]);
    return is_done;
}

static bool name_slots(const cri_central *c, const double *p, cri_system_slot *slot,
                       cr_arena *arena) {
    if (!name_bodies(c, p, slot, arena)) {
        return false;
    }
    int at = c->at_potential;
    if (c->potential == CRI_POTENTIAL_NET) {
        if (!cri_slot_set_net(slot + at, &c->potential_net, "potential", p + at, arena)) {
            return false;
        }
    } else {
        for (int k = at; k < c->at_contact_net; k++) {
            if (!cri_slot_set(&slot[k], potential_name(c, k - at, arena), p[k])) {
                return false;
            }
        }
    }
    if (c->potential == CRI_POTENTIAL_PENDULUM) {
        slot[at + 1].lower = 0.0;
        slot[at + 1].is_open_lower = true;
    }
    at = c->at_contact_net;
    if (at < c->n_p && !cri_slot_set_net(slot + at, &c->contact_net, "contact", p + at, arena)) {
        return false;
    }
    for (int k = at; k < c->n_p; k++) {
        slot[k].held = cri_held_by_threshold;
    }
    return true;
}

cr_status cri_central_model(cri_central *c, const double *p, cr_model **out, cr_error *err) {
    cr_arena *scratch = cri_arena_create(1 << 16);
    cri_system_slot *slot = scratch ? CR_PUSH(scratch, cri_system_slot, c->n_p) : NULL;
    cri_balls_layout layout;
    if (!slot || !name_slots(c, p ? p : c->p0, slot, scratch) ||
        !cri_balls_lay_out(&c->points, &layout, scratch)) {
        cri_arena_destroy(scratch);
        cri_central_destroy(c);
        return cri_fail(err, CR_ERR_MEMORY, 0, "no memory for a system");
    }
    cri_system_def def = {.kind = &cri_central_kind,
                          .self = c,
                          .release = release,
                          .dt = c->dt,
                          .n_q = c->n_q,
                          .n_u = c->n_q,
                          .n_p = c->n_p,
                          .n_body = c->n_body,
                          .slot = slot,
                          .body = layout.body,
                          .coordinate = layout.coordinate,
                          .u_name = layout.u_name,
                          .x0 = c->x0};
    cr_status status = cri_model_from_system(&def, out, err);
    cri_arena_destroy(scratch);
    return status;
}
