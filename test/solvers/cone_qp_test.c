// SPDX-License-Identifier: MIT
//
// The cone programme by its interior point, on random problems of bodies: A = J W J', c = J v.
//
// Optimality is judged from raw data. With u = A f + c the multiplier of the bound may be at most
// y = u_n - mu |u_t|, and f is optimal if and only if it is admissible, y >= 0, and the gap
// u'f - y l vanishes in every contact: z = u - y e_n is then in the dual cone and z'f = 0. A slow
// method with a projection of its own (accelerated projected gradient) finds the same velocities.

#include "cr_test.h"
#include "math/cholesky.h"
#include "solvers/cone_qp.h"

#include <math.h>
#include <string.h>

enum { N_MOST = 12, M_MOST = 3 * N_MOST, DOF_MOST = 6 * N_MOST };

// ---- random problems ---------------------------------------------------------------------------

typedef enum kind {
    LOOSE,   // every contact between bodies of its own choice
    FACE,    // one body on points of one plane: redundant from three on
    DOUBLED, // every contact twice
    WEDGED,  // one body between opposed normals
    HEAVY,   // a chain of bodies, each a thousand times heavier: mass ratios to 1e6
    N_KIND,
} kind;

/// A problem in scaled variables, as friction_solve.c makes it.
typedef struct sample {
    int n, n_dof;
    double J[M_MOST * DOF_MOST], W[DOF_MOST];
    double A[M_MOST * M_MOST], c[M_MOST], mu[N_MOST], l[N_MOST];
} sample;

static cri_friction problem_of(const sample *s) {
    return (cri_friction){
        .kind = CRI_CONVEX, .n = s->n, .A = s->A, .c = s->c, .b = s->c, .mu = s->mu, .l = s->l};
}

static void cross(const double *a, const double *b, double *out) {
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        out[i] = a[j] * b[k] - a[k] * b[j];
    }
}

// rows of a contact at r of one body, 3 by 3 directions in d
static void set_rows(sample *s, int i, int body, const double *r, const double *d, double sign) {
    for (int k = 0; k < 3; k++) {
        double *row = s->J + (size_t)(3 * i + k) * DOF_MOST + 6 * body;
        cross(r, d + 3 * k, row + 3);
        for (int j = 0; j < 3; j++) {
            row[j] = sign * d[3 * k + j];
            row[3 + j] *= sign;
        }
    }
}

// directions (3, 3) of a frame whose first is along n
static void frame(const double *n, double *d) {
    double any[3] = {0.3, -0.5, 0.8}, size = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    for (int j = 0; j < 3; j++) {
        d[j] = n[j] / size;
    }
    cross(d, any, d + 3);
    size = sqrt(d[3] * d[3] + d[4] * d[4] + d[5] * d[5]);
    for (int j = 3; j < 6; j++) {
        d[j] /= size;
    }
    cross(d, d + 3, d + 6);
}

static void add_contact(sample *s, kind kind, int i, int n_body, cr_test_rng *rng) {
    double n[3], r[3], r2[3], d[9];
    for (int j = 0; j < 3; j++) {
        n[j] = cr_test_uniform(rng, -1.0, 1.0);
        r[j] = cr_test_uniform(rng, -0.5, 0.5);
        r2[j] = cr_test_uniform(rng, -0.5, 0.5);
    }
    if (kind == FACE || kind == WEDGED) {
        n[0] = n[1] = 0.0;
        n[2] = kind == WEDGED && i % 2 ? -1.0 : 1.0;
        r[2] = -0.5 * n[2];
    }
    frame(n, d);
    int one = (int)cr_test_uniform(rng, 0.0, n_body), other = one - 1; // -1: the world
    set_rows(s, i, one, r, d, 1.0);
    if (other >= 0) {
        set_rows(s, i, other, r2, d, -1.0);
    }
}

// A = J W J', c = J v
static void assemble(sample *s, cr_test_rng *rng) {
    int m = 3 * s->n;
    double v[DOF_MOST];
    for (int k = 0; k < s->n_dof; k++) {
        v[k] = cr_test_uniform(rng, -1.0, 1.0);
    }
    for (int i = 0; i < m; i++) {
        const double *a = s->J + (size_t)i * DOF_MOST;
        s->c[i] = 0.0;
        for (int k = 0; k < s->n_dof; k++) {
            s->c[i] += a[k] * v[k];
        }
        for (int j = 0; j < m; j++) {
            const double *b = s->J + (size_t)j * DOF_MOST;
            s->A[i * m + j] = 0.0;
            for (int k = 0; k < s->n_dof; k++) {
                s->A[i * m + j] += a[k] * s->W[k] * b[k];
            }
        }
    }
}

// diagonal blocks get a trace of 3, data the size 1
static void scale(sample *s) {
    int m = 3 * s->n;
    double r[N_MOST], largest = 1e-300;
    for (int i = 0; i < s->n; i++) {
        double trace = 0.0;
        for (int k = 0; k < 3; k++) {
            trace += s->A[(3 * i + k) * (m + 1)];
        }
        r[i] = sqrt(3.0 / trace);
        largest = fmax(largest, s->l[i] / r[i]);
        for (int k = 0; k < 3; k++) {
            largest = fmax(largest, fabs(s->c[3 * i + k]) * r[i]);
        }
    }
    for (int i = 0; i < m; i++) {
        s->c[i] *= r[i / 3] / largest;
        for (int j = 0; j < m; j++) {
            s->A[i * m + j] *= r[i / 3] * r[j / 3];
        }
    }
    for (int i = 0; i < s->n; i++) {
        s->l[i] /= r[i] * largest;
    }
}

static sample make_sample(kind kind, int n, uint64_t seed) {
    sample s = {.n = n};
    cr_test_rng rng = cr_test_rng_of(1000 * seed + 10 * (uint64_t)n + (uint64_t)kind);
    int n_body = kind == HEAVY ? 3 : kind == LOOSE || kind == DOUBLED ? (n + 1) / 2 : 1;
    s.n_dof = 6 * n_body;
    for (int b = 0; b < n_body; b++) {
        double mass = kind == HEAVY ? pow(1000.0, b) : cr_test_uniform(&rng, 0.5, 2.0);
        for (int k = 0; k < 6; k++) {
            s.W[6 * b + k] = k < 3 ? 1.0 / mass : 1.0 / (mass * cr_test_uniform(&rng, 0.05, 0.2));
        }
    }
    for (int i = 0; i < n; i++) {
        double coin = cr_test_uniform(&rng, 0.0, 1.0), bound = cr_test_uniform(&rng, -1.0, 1.0);
        s.mu[i] = coin < 0.2 ? 0.0 : coin; // one in five is a limit
        s.l[i] = seed % 3 == 0 ? fmax(0.0, bound) : 0.0;
        add_contact(&s, kind, i, n_body, &rng);
        if (kind == DOUBLED && i % 2) {
            size_t row = 3 * DOF_MOST;
            memcpy(s.J + (size_t)i * row, s.J + (size_t)(i - 1) * row, row * sizeof *s.J);
        }
    }
    assemble(&s, &rng);
    scale(&s);
    return s;
}

// the same with contacts in the reverse order
static sample reversed(const sample *s) {
    sample r = {.n = s->n};
    int m = 3 * s->n;
    for (int i = 0; i < s->n; i++) {
        int from = s->n - 1 - i;
        r.mu[i] = s->mu[from];
        r.l[i] = s->l[from];
    }
    for (int i = 0; i < m; i++) {
        int row = 3 * (s->n - 1 - i / 3) + i % 3;
        r.c[i] = s->c[row];
        for (int j = 0; j < m; j++) {
            r.A[i * m + j] = s->A[row * m + 3 * (s->n - 1 - j / 3) + j % 3];
        }
    }
    return r;
}

// ---- solves and what is known of them -----------------------------------------------------------

static cri_cone_report solve(const sample *s, double gap, double *f) {
    cri_friction problem = problem_of(s);
    cr_arena *scratch = cri_arena_create(cri_cone_interior_bytes(s->n));
    assert_non_null(scratch);
    for (int i = 0; i < 3 * s->n; i++) {
        f[i] = NAN; // nothing is read
    }
    cri_cone_report report = cri_cone_interior(&problem, gap, f, scratch);
    cri_arena_destroy(scratch);
    return report;
}

static void velocity(const sample *s, const double *f, double *u) {
    int m = 3 * s->n;
    for (int i = 0; i < m; i++) {
        u[i] = s->c[i];
        for (int j = 0; j < m; j++) {
            u[i] += s->A[i * m + j] * f[j];
        }
    }
}

/// Largest miss of any condition of optimality, relative to the size of what it compares.
static double miss(const sample *s, const double *f) {
    double u[M_MOST], worst = 0.0;
    velocity(s, f, u);
    for (int i = 0; i < s->n; i++) {
        const double *fi = f + 3 * i, *ui = u + 3 * i;
        double mu = s->mu[i], y = ui[0] - mu * hypot(ui[1], ui[2]);
        double gap = ui[0] * fi[0] + ui[1] * fi[1] + ui[2] * fi[2] - fmax(y, 0.0) * s->l[i];
        double size = 1.0 + fabs(fi[0]);
        worst = fmax(worst, (s->l[i] - fi[0]) / size);
        worst = fmax(worst, (hypot(fi[1], fi[2]) - mu * fi[0]) / size);
        worst = fmax(worst, fmax(-y, fabs(gap)) / size);
        worst = isfinite(gap) ? worst : INFINITY;
    }
    return worst;
}

// nearest point of |t| <= mu n, n >= l
static void project(double mu, double l, double *x) {
    double r = hypot(x[1], x[2]);
    if (r > mu * x[0]) {
        double n = fmax(l, (x[0] + mu * r) / (1.0 + mu * mu));
        // on the disc n = l a tangential part within its radius stays
        double cut = r > mu * n ? mu * n / r : 1.0;
        x[0] = n;
        x[1] *= cut;
        x[2] *= cut;
    } else if (x[0] < l) {
        double cut = r > mu * l ? mu * l / r : 1.0;
        x[0] = l;
        x[1] *= cut;
        x[2] *= cut;
    }
}

// accelerated projected gradient, starting over when the objective's slope turns
static void slow_solve(const sample *s, int n_step, double *f) {
    int m = 3 * s->n;
    double u[M_MOST], x[M_MOST], next[M_MOST], norm = 0.0, t = 1.0;
    for (int i = 0; i < m; i++) {
        double sum = 0.0;
        for (int j = 0; j < m; j++) {
            sum += fabs(s->A[i * m + j]);
        }
        norm = fmax(norm, sum);
        f[i] = x[i] = 0.0;
    }
    for (int step = 0; step < n_step; step++) {
        double slope = 0.0, t_next = 0.5 * (1.0 + sqrt(1.0 + 4.0 * t * t));
        velocity(s, x, u);
        for (int i = 0; i < m; i++) {
            next[i] = x[i] - u[i] / norm;
        }
        for (int i = 0; i < s->n; i++) {
            project(s->mu[i], s->l[i], next + 3 * i);
        }
        for (int i = 0; i < m; i++) {
            slope += (x[i] - next[i]) * (next[i] - f[i]);
        }
        double momentum = slope > 0.0 ? 0.0 : (t - 1.0) / t_next;
        for (int i = 0; i < m; i++) {
            x[i] = next[i] + momentum * (next[i] - f[i]);
            f[i] = next[i];
        }
        t = slope > 0.0 ? 1.0 : t_next;
    }
}
