// SPDX-License-Identifier: MIT
//
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

#include "central_parts.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

/// Masses of a contact, and what follows from them.
typedef struct ratio {
    double inverse_i, inverse_j; // 1/m, 0 for a wall
    double reduced;              // m_red
    double w_i, w_j;             // shares of the projection
} ratio;

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

double cri_central_gap(const cri_central *c, const double *p, int contact, const double *q,
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

void cri_central_project(const cri_central *c, const double *p, const bool *moves, double *q,
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
        double gap = cri_central_gap(c, p, k, q, normal, &cache->move_reach[at]);
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

void cri_central_project_vjp(const cri_central *c, const double *p, const cri_central_cache *cache,
                             int row, double *q_adj, double *p_adj) {
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

/// A contact about to act.
typedef struct meeting {
    double u;       // n.(run_i - run_j)
    double w;       // with the smooth increment
    double bracket; // (1 + e) u + n.(delta_i - delta_j)
} meeting;

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

void cri_central_impulse(const cri_central *c, const double *p, bool has_guard, double *run,
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

void cri_central_impulse_vjp(const cri_central *c, const double *p, const cri_central_cache *cache,
                             int row, const cri_central_impulse_adj *adj) {
    for (int visit = cache->n_visit[row] - 1; visit >= 0; visit--) {
        visit_vjp(c, p, cache, row, visit, adj);
    }
}
