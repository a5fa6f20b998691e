// SPDX-License-Identifier: MIT
//
// Contact problems for two programs, and how Siconos 4.4 is asked.
//
// Its fc3d solvers know Coulomb's law alone; the convex problem
//
//   f = argmin 1/2 f'A f + c'f  over  |f_t| <= mu f_n
//
// is what its solver SOCLCP makes of the same data, for it leaves out the shift mu |u_t| of the
// normal velocity. It is called past the driver of all solvers, which answers f = 0 as soon as no
// contact approaches: true under Coulomb's law, false for the convex problem where a contact slides
// faster than it separates.

#include "siconos_problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <FrictionContactProblem.h>
#include <Friction_cst.h>
#include <NonSmoothDrivers.h>
#include <NumericsMatrix.h>
#include <NumericsVerbose.h>
#include <SolverOptions.h>
#include <fc3d_Solvers.h>

// ---- fixed problems ----------------------------------------------------------------------------

enum { MAX_DOF = 6 * N_CONTACT };

// bodies behind the contacts of a problem
typedef struct bodies {
    int n_dof;
    double J[N_ROW][MAX_DOF];
    double W[MAX_DOF]; // inverse masses and moments
    double v[MAX_DOF]; // before
} bodies;

static void cross(const double *a, const double *b, double *out) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

// adds sign times the velocity of the point arm of a body to the rows of a contact
static void add_point(bodies *s, int contact, int body, double sign, const double *arm,
                      double frame[3][3]) {
    for (int r = 0; r < 3; r++) {
        double turn[3], *row = s->J[3 * contact + r] + 6 * body;
        cross(arm, frame[r], turn);
        for (int i = 0; i < 3; i++) {
            row[i] += sign * frame[r][i];
            row[3 + i] += sign * turn[i];
        }
    }
}

// A = J W J', c = J v
static void fill_problem(const bodies *s, oracle_problem *p) {
    int m = 3 * p->n;
    for (int i = 0; i < m; i++) {
        for (int k = 0; k < s->n_dof; k++) {
            p->c[i] += s->J[i][k] * s->v[k];
            for (int j = 0; j < m; j++) {
                p->A[i * m + j] += s->J[i][k] * s->W[k] * s->J[j][k];
            }
        }
    }
}

static oracle_problem two_spheres(void) {
    oracle_problem p = {.name = "two spheres", .n = 3, .mu = {0.3, 0.5, 0.2}};
    // masses 1, moments 2/5. The two impulses below were known and the velocities were not: these
    // are chosen to give them, so that the digits tell the laws apart and prove nothing else
    bodies s = {.n_dof = 12,
                .W = {1, 1, 1, 2.5, 2.5, 2.5, 1, 1, 1, 2.5, 2.5, 2.5},
                .v = {1, 1, -1, 0, 0, 0, -0.5, -0.9, -1, 0, 0, 0}};
    double up[3][3] = {{0, 0, 1}, {1, 0, 0}, {0, 1, 0}};
    double along[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    static const double down[3] = {0, 0, -1}, left[3] = {-1, 0, 0}, right[3] = {1, 0, 0};
    add_point(&s, 0, 0, 1.0, down, up);
    add_point(&s, 1, 1, 1.0, down, up);
    add_point(&s, 2, 0, -1.0, right, along);
    add_point(&s, 2, 1, 1.0, left, along);
    fill_problem(&s, &p);
    for (int i = 0; i < N_ROW; i++) {
        p.coulomb[i] = p.convex[i] = NAN;
    }
    // the laws differ most in the normal impulse between the spheres
    p.coulomb[6] = 0.750;
    p.convex[6] = 0.820;
    return p;
}

// A1, A2 of the vectors, and A2 with the limit and the planar contact among decoupled rows
static const double A1[9] = {2, 0.3, -0.2, 0.3, 3, 0.4, -0.2, 0.4, 2.5};
static const double A2[36] = {2,    0.3, -0.2, 0.5, 0.1,  0,   0.3, 3,    0.4, -0.1, 0.6, 0.2,
                              -0.2, 0.4, 2.5,  0,   -0.3, 0.7, 0.5, -0.1, 0,   1.5,  0.2, -0.4,
                              0.1,  0.6, -0.3, 0.2, 2.2,  0.1, 0,   0.2,  0.7, -0.4, 0.1, 1.8};

// impulses are those of a program in another language: exact Coulomb with Newton's restitution e,
// and the convex problem of the compression, which is this problem for e = 0
typedef struct vector {
    const char *name;
    int n;
    int row[6]; // where a row of A stands among those of the contacts
    const double *A;
    double b[6], mu[3], e[3], coulomb[6], convex[6];
} vector;

static const vector vectors[] = {
    {"V1 stick",
     1,
     {0, 1, 2},
     A1,
     {-1, 0.2, -0.1},
     {0.6},
     {0.5},
     {0.787289143977042, -0.162595366417022, 0.128998390144887},
     {0.530412262896339, -0.133547980681739, 0.103800657940785}},
    {"V2 slide",
     1,
     {0, 1, 2},
     A1,
     {-1, 2, 1},
     {0.3},
     {0.5},
     {0.774867560472126, -0.218563411061134, -0.079169511870441},
     {0.771609623043946, -0.217605014193036, -0.078945454154818}},
    {"V4 two",
     2,
     {0, 1, 2, 3, 4, 5},
     A2,
     {-1, 0.1, 0.05, -0.6, 1.5, -0.8},
     {0.5, 0.25},
     {1, 1},
     {0.889677239783293, -0.091290016569225, 0.032306019141434, 0.531366822907173,
      -0.111896822211190, 0.071596228667725},
     {0.359193116002926, -0.026936137750112, -0.024885293761529, 0.594132100442935,
      -0.123484996545910, 0.082544019629544}},
    {"V7 mixed",
     3,
     {0, 3, 4, 6, 7, 8},
     A2,
     {-0.4, -1, 0.8, -0.7, 0.3, 1.1},
     {0, 0.4, 0.3},
     {0.3, 0.8, 0},
     {0.012728280991695, 0.679337856091195, -0.271735142436478, 0.493725804194229,
      -0.104678493951593, -0.104791594030618},
     {0, 0.473965090671070, -0.189586036268428, 0.622975157547204, -0.123268220210978,
      -0.140476937996614}},
};

// rows that A does not have are decoupled: nothing moves there
static oracle_problem vector_problem(const vector *t, bool has_restitution) {
    oracle_problem p = {.name = t->name, .n = t->n};
    int m = 3 * t->n, n_row = t->n == 3 ? 6 : m;
    for (int i = 0; i < m; i++) {
        p.A[i * (m + 1)] = 1.0;
        p.coulomb[i] = p.convex[i] = 0.0;
    }
    for (int i = 0; i < n_row; i++) {
        int at = t->row[i];
        double e = has_restitution && at % 3 == 0 ? t->e[at / 3] : 0.0;
        p.c[at] = t->b[i] - e * fmax(0.0, -t->b[i]);
        p.coulomb[at] = has_restitution ? t->coulomb[i] : NAN;
        p.convex[at] = has_restitution ? NAN : t->convex[i];
        for (int j = 0; j < n_row; j++) {
            p.A[at * m + t->row[j]] = t->A[i * n_row + j];
        }
    }
    memcpy(p.mu, t->mu, sizeof t->mu);
    return p;
}

oracle_problem fixed_problem(int i) {
    return i == 0 ? two_spheres() : vector_problem(&vectors[(i - 1) / 2], i % 2 == 1);
}

// ---- random problems ---------------------------------------------------------------------------

static int draw(cr_test_rng *rng, int n) {
    return (int)cr_test_uniform(rng, 0.0, n);
}

static void normalise(double *a) {
    double r = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
    for (int i = 0; i < 3; i++) {
        a[i] /= r;
    }
}

// a normal that points up more or less, so that not all bodies are wedged, and two tangents
static void draw_frame(cr_test_rng *rng, double frame[3][3]) {
    double other[3];
    for (int i = 0; i < 3; i++) {
        frame[0][i] = cr_test_uniform(rng, -1.0, 1.0) + (i == 2 ? 1.5 : 0.0);
        other[i] = cr_test_uniform(rng, -1.0, 1.0);
    }
    normalise(frame[0]);
    cross(frame[0], other, frame[1]);
    normalise(frame[1]);
    cross(frame[0], frame[1], frame[2]);
}

static void draw_bodies(cr_test_rng *rng, int n_body, bodies *s) {
    s->n_dof = 6 * n_body;
    for (int k = 0; k < s->n_dof; k++) {
        // moments are smaller than masses, for arms of about 1
        s->W[k] = cr_test_uniform(rng, 0.5, 2.0) * (k % 6 < 3 ? 1.0 : 3.0);
        s->v[k] = cr_test_uniform(rng, -1.0, 1.0) - (k % 6 == 2 ? 1.0 : 0.0);
    }
}

oracle_problem random_problem(cr_test_rng *rng, bool is_singular) {
    oracle_problem p = {.name = "random", .n = 1 + draw(rng, N_CONTACT)};
    bodies s = {0};
    // of full rank with two contacts a body at most
    int n_body = is_singular ? 1 + draw(rng, p.n) : p.n;
    draw_bodies(rng, n_body, &s);
    for (int n_free = s.n_dof; is_singular && n_free >= 3 * p.n;) {
        int k = draw(rng, s.n_dof);
        n_free -= s.W[k] > 0.0 ? 1 : 0;
        s.W[k] = s.v[k] = 0.0;
    }
    for (int i = 0; i < p.n; i++) {
        double frame[3][3], arm[2][3];
        for (int k = 0; k < 6; k++) {
            arm[k / 3][k % 3] = cr_test_uniform(rng, -1.0, 1.0);
        }
        // on the world, or on a body below
        int body = is_singular ? draw(rng, n_body) : i, other = draw(rng, body + 1) - 1;
        draw_frame(rng, frame);
        add_point(&s, i, body, 1.0, arm[0], frame);
        if (other >= 0) {
            add_point(&s, i, other, -1.0, arm[1], frame);
        }
        p.mu[i] = cr_test_uniform(rng, 0.0, 0.8);
    }
    fill_problem(&s, &p);
    for (int i = 0; i < N_ROW; i++) {
        p.coulomb[i] = p.convex[i] = NAN;
    }
    return p;
}

// ---- Siconos -----------------------------------------------------------------------------------

// a copy, which Siconos frees
static double *copy(const double *a, int n) {
    double *b = malloc(sizeof *b * (size_t)n);
    if (!b) {
        abort();
    }
    memcpy(b, a, sizeof *b * (size_t)n);
    return b;
}

// goes on from f
static bool solve_by(int id, const oracle_problem *p, double *f) {
    // what it asks for a relative error of rounding size; sweeps converge slowly
    const double tolerance = 1e-12;
    const int n_iteration = 20000;
    int m = 3 * p->n, info = 1;
    double u[N_ROW] = {0};
    numerics_set_verbose(0);
    // A is symmetric: rows or columns first is the same
    FrictionContactProblem *problem = frictionContactProblem_new_with_data(
        3, p->n, NM_create_from_data(NM_DENSE, m, m, copy(p->A, m * m)), copy(p->c, m),
        copy(p->mu, p->n));
    SolverOptions *options = solver_options_create(id);
    options->dparam[SICONOS_DPARAM_TOL] = tolerance;
    options->iparam[SICONOS_IPARAM_MAX_ITER] = n_iteration;
    if (id == SICONOS_FRICTION_3D_SOCLCP) {
        options->internalSolvers[0]->dparam[SICONOS_DPARAM_TOL] = tolerance;
        options->internalSolvers[0]->iparam[SICONOS_IPARAM_MAX_ITER] = n_iteration;
        fc3d_SOCLCP(problem, f, u, &info, options);
    } else {
        info = fc3d_driver(problem, f, u, options);
    }
    solver_options_delete(options);
    frictionContactProblem_free(problem);
    return info == 0;
}

bool siconos_solve(cri_friction_kind kind, const oracle_problem *p, double *f) {
    memset(f, 0, sizeof *f * 3 * (size_t)p->n);
    bool is_solved = false;
    // sweeps; some end before they should, and another start from there brings them further
    for (int k = 0; k < 4 && kind == CRI_CONVEX; k++) {
        is_solved = solve_by(SICONOS_FRICTION_3D_SOCLCP, p, f);
    }
    // sweeps, and where they stop, Newton from there
    return is_solved || (kind == CRI_COULOMB && (solve_by(SICONOS_FRICTION_3D_NSGS, p, f) ||
                                                 solve_by(SICONOS_FRICTION_3D_NSN_AC, p, f)));
}
