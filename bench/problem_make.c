// SPDX-License-Identifier: MIT
//
// Random contact problems:
//
//   A = J W J',   b = J v,   W = M^-1 - M^-1 E' (E M^-1 E')^-1 E M^-1,   E v = 0
//
// J: rows of the contacts (normal, two tangents), E: rows of ball joints, M: masses of boxes. Rows
// that a limit or a planar contact lacks are idle: alone on the diagonal with A_nn, b = 0.
//
// Target velocities t belong to a motion w that separates without slip, so that (t, 0, 0) lies in
// the range of A and no pair of walls is asked to give way on both sides:
//
//   t = projection of the depths drawn on { J_n w : E w = 0, J_t w = 0 }, made >= 0, scaled
//
// Where contacts can jam (problem_reach.h: pushes within the cones that balance), e = 0 for all.

#include "bench/problem_make.h"

#include "base/base.h"
#include "base/math/dense_factor.h"
#include "base/random.h"
#include "bench/problem_reach.h"
#include "bench/problem_scene.h"

#include <math.h>
#include <string.h>

enum { MOST_ROW = 3 * CRI_PROBLEM_CONTACTS, MOST_DOF = 6 * CRI_SCENE_BODIES };

/// Rows of a scene in generalised velocities, (rows, n_dof) each.
typedef struct matrices {
    int n_dof, n_row, n_equal;
    double *J;      // (n_row, n_dof)
    double *Y;      // (n_row, n_dof) J W
    double *E;      // (n_equal, n_dof)
    double *YE;     // (n_equal, n_dof) E M^-1
    double *factor; // (n_equal, n_equal) of E M^-1 E'
    int *pivot;
} matrices;

size_t cri_problem_bytes(void) {
    size_t n = CRI_PROBLEM_CONTACTS, m = MOST_ROW, dof = MOST_DOF, equal = 3 * CRI_SCENE_JOINTS;
    size_t keep = m * m + m + 3 * n;
    size_t work = (2 * m + 2 * equal) * dof + equal * equal + (m + equal) * dof + (n + 1) * n;
    work += 8 * n * dof + (equal + 1) * dof;
    // pushes are counted with what the arena adds to each
    return sizeof(double) * (keep > work ? keep : work) + sizeof(cri_scene) +
           cri_problem_jams_bytes(8 * CRI_PROBLEM_CONTACTS, MOST_DOF) + 4096;
}

static double dot(int n, const double *a, const double *b) {
    double sum = 0.0;
    for (int i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

// y = M^-1 x, body by body
static void apply_inverse_mass(const cri_scene *s, const double *x, double *y) {
    for (int i = 0; i < s->n_body; i++) {
        const cri_scene_body *body = &s->body[i];
        for (int r = 0; r < 3; r++) {
            y[6 * i + r] = x[6 * i + r] / body->mass;
            y[6 * i + 3 + r] = dot(3, body->turn + 3 * r, x + 6 * i + 3);
        }
    }
}

// y -= M^-1 E' (E M^-1 E')^-1 E y, twice: the second time removes what rounding left
static void constrain(const matrices *m, double *y) {
    double force[3 * CRI_SCENE_JOINTS];
    for (int k = 0; k < 2 && m->n_equal > 0; k++) {
        for (int i = 0; i < m->n_equal; i++) {
            force[i] = dot(m->n_dof, m->E + i * m->n_dof, y);
        }
        cri_lu_solve(m->n_equal, m->factor, m->pivot, force);
        for (int i = 0; i < m->n_equal; i++) {
            for (int j = 0; j < m->n_dof; j++) {
                y[j] -= force[i] * m->YE[i * m->n_dof + j];
            }
        }
    }
}

static matrices build(const cri_scene *s, cr_arena *scratch) {
    matrices m = {.n_dof = 6 * s->n_body, .n_row = 3 * s->n_touch, .n_equal = 3 * s->n_joint};
    int dof = m.n_dof;
    m.J = CR_PUSH(scratch, double, (2 * m.n_row + 2 * m.n_equal) * dof);
    m.Y = m.J + m.n_row * dof;
    m.E = m.Y + m.n_row * dof;
    m.YE = m.E + m.n_equal * dof;
    m.factor = CR_PUSH(scratch, double, m.n_equal *m.n_equal);
    m.pivot = CR_PUSH(scratch, int, m.n_equal);
    for (int i = 0; i < s->n_joint; i++) {
        cri_scene_joint_rows(s, i, m.E + 3 * i * dof);
    }
    for (int i = 0; i < m.n_equal; i++) {
        apply_inverse_mass(s, m.E + i * dof, m.YE + i * dof);
    }
    for (int i = 0; i < m.n_equal; i++) {
        for (int j = 0; j < m.n_equal; j++) {
            m.factor[i * m.n_equal + j] = dot(dof, m.E + i * dof, m.YE + j * dof);
        }
    }
    bool is_regular = m.n_equal == 0 || cri_lu_factor(m.n_equal, m.factor, m.pivot);
    CR_ASSERT(is_regular); // the joints of a chain are independent
    for (int i = 0; i < s->n_touch; i++) {
        cri_scene_touch_rows(s, i, m.J + 3 * i * dof);
    }
    for (int i = 0; i < m.n_row; i++) {
        apply_inverse_mass(s, m.J + i * dof, m.Y + i * dof);
        constrain(&m, m.Y + i * dof);
    }
    return m;
}

static void fill_A(const cri_scene *s, const matrices *m, double *A) {
    int n = m->n_row;
    for (int i = 0; i < n; i++) {
        for (int j = i; j < n; j++) {
            double a = dot(m->n_dof, m->J + i * m->n_dof, m->Y + j * m->n_dof);
            A[i * n + j] = A[j * n + i] = a;
        }
    }
    for (int i = 0; i < s->n_touch; i++) {
        double normal = A[3 * i * (n + 1)];
        for (int r = s->touch[i].n_row; r < 3; r++) {
            A[(3 * i + r) * (n + 1)] = normal;
        }
    }
}

static void draw_coefficients(const cri_scene *s, cri_random *r, double *mu, double *e) {
    int n = s->n_touch;
    for (int i = 0; i < n; i++) {
        bool is_smooth = cri_random_uniform(r, 0.0, 1.0) < 0.1;
        mu[i] = is_smooth ? 0.0 : cri_random_uniform(r, 0.05, 1.2);
        bool is_extreme = cri_random_uniform(r, 0.0, 1.0) < 0.5;
        e[i] = is_extreme ? cri_random_whole(r, 0, 1) : cri_random_uniform(r, 0.0, 1.0);
    }
    if (cri_random_uniform(r, 0.0, 1.0) < 0.5) {
        for (int i = 1; i < n; i++) {
            mu[i] = mu[0];
            e[i] = e[0];
        }
    }
    for (int i = 0; i < n; i++) {
        mu[i] = s->touch[i].n_row == 1 ? 0.0 : mu[i];
    }
}

// velocities before: of one step of rest, or of an impact. True for rest.
static bool draw_velocity(const matrices *m, cri_random *r, double *v) {
    for (int i = 0; i < m->n_dof; i++) {
        v[i] = cri_random_normal(r);
    }
    bool is_rest = cri_random_uniform(r, 0.0, 1.0) < 0.4;
    double size = is_rest ? cri_random_decade(r, -6.0, -1.0) : 1.0;
    // gravity of a step of 10 ms, or a fall
    double fall = is_rest ? 0.0981 : cri_random_uniform(r, 0.0, 3.0);
    for (int i = 0; i < m->n_dof; i++) {
        v[i] = size * v[i] - (i % 6 == 2 ? fall : 0.0);
    }
    constrain(m, v);
    return is_rest;
}

// removes from x its parts along the n orthonormal rows of basis
static void remove_parts(int n_dof, int n, const double *basis, double *x) {
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < n; i++) {
            double part = dot(n_dof, basis + i * n_dof, x);
            for (int j = 0; j < n_dof; j++) {
                x[j] -= part * basis[i * n_dof + j];
            }
        }
    }
}

// makes row n of basis orthonormal to those before it; returns their new number
static int add_direction(int size, int n, double *basis) {
    double *x = basis + n * size;
    remove_parts(size, n, basis, x);
    double left = sqrt(dot(size, x, x));
    // lever arms are of size 1: what is left of a dependent row is rounding
    if (n >= size || left <= 1e-9) {
        return n;
    }
    for (int j = 0; j < size; j++) {
        x[j] /= left;
    }
    return n + 1;
}

// orthonormal rows that span the first n_row of E and the tangents; returns their number
static int span(const matrices *m, int n_row, double *basis) {
    int n = 0;
    for (int i = 0; i < n_row; i++) {
        int at = i - m->n_equal;
        if (at < 0 || at % 3 != 0) {
            const double *row = at < 0 ? m->E + i * m->n_dof : m->J + at * m->n_dof;
            memcpy(basis + n * m->n_dof, row, sizeof *row * (size_t)m->n_dof);
            n = add_direction(m->n_dof, n, basis);
        }
    }
    return n;
}

// orthonormal rows (n) that span the normal speeds of motions without slip; returns their number
static int span_speeds(const matrices *m, int n, double *speeds, cr_arena *scratch) {
    double *basis = CR_PUSH_RAW(scratch, double, (m->n_row + m->n_equal) * m->n_dof);
    int n_still = span(m, m->n_equal + m->n_row, basis), n_speed = 0;
    for (int k = 0; k < m->n_dof; k++) {
        double w[MOST_DOF] = {0};
        w[k] = 1.0;
        remove_parts(m->n_dof, n_still, basis, w);
        for (int i = 0; i < n; i++) {
            speeds[n_speed * n + i] = dot(m->n_dof, m->J + 3 * i * m->n_dof, w);
        }
        n_speed = add_direction(n, n_speed, speeds);
    }
    return n_speed;
}

// y += projection of x on the span of n_basis orthonormal rows
static void add_projection(int size, int n_basis, const double *basis, const double *x, double *y) {
    for (int k = 0; k < n_basis; k++) {
        double part = dot(size, basis + k * size, x);
        for (int i = 0; i < size; i++) {
            y[i] += part * basis[k * size + i];
        }
    }
}

static void draw_target(const matrices *m, cri_random *r, double *target, cr_arena *scratch) {
    int n = m->n_row / 3;
    double depth[CRI_PROBLEM_CONTACTS], ones[CRI_PROBLEM_CONTACTS];
    double even[CRI_PROBLEM_CONTACTS] = {0};
    double *speeds = CR_PUSH_RAW(scratch, double, (n + 1) * n);
    for (int i = 0; i < n; i++) {
        bool is_deep = cri_random_uniform(r, 0.0, 1.0) < 0.5;
        double own = cri_random_uniform(r, 0.0, 1.0);
        depth[i] = is_deep ? own : 0.0;
        ones[i] = 1.0;
    }
    double speed = cri_random_uniform(r, 0.0, 0.2);
    int n_speed = span_speeds(m, n, speeds, scratch);
    add_projection(n, n_speed, speeds, depth, target);
    add_projection(n, n_speed, speeds, ones, even);
    // an even motion on top lets nothing approach
    double lift = 0.0, largest = 0.0, least = 0.0;
    for (int i = 0; i < n; i++) {
        lift = even[i] > 1e-6 ? fmax(lift, -target[i] / even[i]) : lift;
    }
    for (int i = 0; i < n; i++) {
        target[i] += lift * even[i];
        largest = fmax(largest, target[i]);
        least = fmin(least, target[i]);
    }
    // nothing separates without slip, or something has to approach: no target
    bool is_none = largest <= 1e-6 || least < -1e-9 * largest;
    for (int i = 0; i < n; i++) {
        target[i] = is_none ? 0.0 : fmax(0.0, target[i] * (speed / largest));
    }
}

// directions in which contact i can push, the octagon around its cone; returns their number
static int fill_pushes(const matrices *m, int i, double mu, double *G) {
    const double *normal = m->J + 3 * i * m->n_dof, h = sqrt(0.5);
    const double corner[8][2] = {{1, 0},  {h, h},   {0, 1},  {-h, h},
                                 {-1, 0}, {-h, -h}, {0, -1}, {h, -h}};
    int n = mu > 0.0 ? 8 : 1;
    double radius = mu * 1.0823922002923940; // 1/cos(22.5 degrees): no push of the cone is left out
    for (int k = 0; k < n; k++) {
        for (int j = 0; j < m->n_dof; j++) {
            double slip =
                corner[k][0] * normal[m->n_dof + j] + corner[k][1] * normal[2 * m->n_dof + j];
            G[k * m->n_dof + j] = normal[j] + radius * slip;
        }
    }
    return n;
}

// no restitution where contacts can jam: friction never lets them reach what Newton's asks for
static void settle(const matrices *m, const double *mu, double *e, cr_arena *scratch) {
    int n = m->n_row / 3, n_push = 0;
    double *G = CR_PUSH_RAW(scratch, double, 8 * n * m->n_dof);
    double *basis = CR_PUSH_RAW(scratch, double, (m->n_equal + 1) * m->n_dof);
    for (int i = 0; i < n; i++) {
        n_push += fill_pushes(m, i, mu[i], G + n_push * m->n_dof);
    }
    int n_joint = span(m, m->n_equal, basis);
    for (int i = 0; i < n_push; i++) {
        remove_parts(m->n_dof, n_joint, basis, G + i * m->n_dof);
    }
    if (cri_problem_jams(n_push, m->n_dof, G, scratch)) {
        memset(e, 0, sizeof *e * (size_t)n);
    }
}

cri_problem cri_problem_make(cri_family family, uint64_t seed, cr_arena *keep, cr_arena *scratch) {
    CR_ASSERT(family >= 0 && family < CRI_N_FAMILY && keep && scratch);
    cri_arena_mark mark = cri_arena_get_mark(scratch);
    cri_random r = cri_random_of(seed, (uint64_t)family);
    cri_scene *s = CR_PUSH(scratch, cri_scene, 1);
    cri_scene_make(family, &r, s);
    int n = s->n_touch;
    CR_ASSERT(n >= 1 && n <= CRI_PROBLEM_CONTACTS);
    matrices m = build(s, scratch);

    double *A = CR_PUSH(keep, double, 9 * n * n + 6 * n);
    double *b = A + 9 * n * n, *mu = b + 3 * n, *e = mu + n, *target = e + n;
    bool *is_plain = CR_PUSH(keep, bool, n);
    double v[MOST_DOF] = {0};
    fill_A(s, &m, A);
    bool is_rest = draw_velocity(&m, &r, v);
    for (int i = 0; i < m.n_row; i++) {
        b[i] = dot(m.n_dof, m.J + i * m.n_dof, v);
    }
    draw_coefficients(s, &r, mu, e);
    settle(&m, mu, e, scratch);
    if (cri_random_uniform(&r, 0.0, 1.0) < 0.3) {
        draw_target(&m, &r, target, scratch);
    }
    // a quarter of what rests is taken without restitution, as a step does
    bool all_plain = cri_random_uniform(&r, 0.0, 1.0) < 0.25 && is_rest;
    for (int i = 0; i < n; i++) {
        is_plain[i] = all_plain;
    }
    double mass_ratio = cri_scene_mass_ratio(s);
    cri_arena_rewind(scratch, mark);
    return (cri_problem){
        .data = {.n = n, .A = A, .b = b, .mu = mu, .e = e, .target = target, .is_plain = is_plain},
        .family = family,
        .seed = seed,
        .mass_ratio = mass_ratio,
    };
}
