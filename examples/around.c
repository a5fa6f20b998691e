// SPDX-License-Identifier: MIT
//
// A box pushed past a post, planned with the public interface alone:
//
//     around examples/around.xml
//
// Two forces on the box, each of five values held over a fifth of 1.5 s, shall bring it to a place
// behind the post. Levenberg-Marquardt on the miss r of three numbers, in ten unknowns: with the
// Jacobian J, of which a row is one adjoint of the run, a step is the least that solves the
// equations, z -= J' (J J' + lambda)^-1 r. The loss has kinks and jumps, so each step is tried with
// many lambdas, and the best one counts; where none helps, the plan is shaken and goes on.

#include <carom/carom.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

// x = position, quaternion, velocity, spin; u = force, torque
enum { N_STEP = 150, N_X = 13, N_U = 6, N_KNOT = 5, N_Z = 2 * N_KNOT };

static const double target[3] = {0.8, 0.0, 0.05};
static const double strongest = 10.0; // N

typedef struct plan {
    double z[N_Z]; // forces along x, then along y, N
    double miss[3];
    double distance;
} plan;

/// Runs under the forces of a plan and fills its miss; J (3, N_Z), if not NULL, gets its Jacobian.
static cr_status push(cr_sim *sim, const double *x, plan *p, double J[3][N_Z], cr_error *err) {
    static const double dt = 0.01;
    double u[N_STEP][N_U] = {{0.0}};
    double u_adj[N_STEP][N_U];
    double end[N_X];
    for (int k = 0; k < N_STEP; k++) {
        u[k][0] = p->z[k * N_KNOT / N_STEP];
        u[k][1] = p->z[N_KNOT + k * N_KNOT / N_STEP];
    }
    cr_rollout rollout = {.n_step = N_STEP, .dt = &dt, .n_dt = 1, .u = u[0], .n_u_row = N_STEP};
    cr_status status = cr_sim_rollout(sim, &rollout, x, NULL, end, err);
    double square = 0.0;
    for (int i = 0; i < 3 && status == CR_OK; i++) {
        p->miss[i] = end[i] - target[i];
        square += p->miss[i] * p->miss[i];
    }
    p->distance = sqrt(square);
    for (int i = 0; i < 3 && J && status == CR_OK; i++) {
        double seed[N_X] = {0.0};
        cr_seed end_seed = {N_STEP, seed};
        seed[i] = 1.0;
        memset(u_adj, 0, sizeof u_adj);
        memset(J[i], 0, sizeof J[i]);
        status = cr_sim_rollout_vjp(sim, 1, &end_seed, NULL, u_adj[0], NULL, err);
        for (int k = 0; k < N_STEP; k++) {
            J[i][k * N_KNOT / N_STEP] += u_adj[k][0];
            J[i][N_KNOT + k * N_KNOT / N_STEP] += u_adj[k][1];
        }
    }
    return status;
}

/// y = (J J' + lambda)^-1 r by elimination; the matrix is positive definite.
static void solve(double J[3][N_Z], double lambda, const double r[3], double y[3]) {
    double A[3][4];
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            A[i][j] = i == j ? lambda : 0.0;
            for (int k = 0; k < N_Z; k++) {
                A[i][j] += J[i][k] * J[j][k];
            }
        }
        A[i][3] = r[i];
    }
    for (int i = 0; i < 3; i++) {
        for (int k = i + 1; k < 3; k++) {
            double factor = A[k][i] / A[i][i];
            for (int j = i; j < 4; j++) {
                A[k][j] -= factor * A[i][j];
            }
        }
    }
    for (int i = 2; i >= 0; i--) {
        y[i] = A[i][3];
        for (int j = i + 1; j < 3; j++) {
            y[i] -= A[i][j] * y[j];
        }
        y[i] /= A[i][i];
    }
}

static plan stepped(const plan *p, double J[3][N_Z], double lambda) {
    plan next = *p;
    double y[3];
    solve(J, lambda, p->miss, y);
    for (int k = 0; k < N_Z; k++) {
        double z = p->z[k] - (J[0][k] * y[0] + J[1][k] * y[1] + J[2][k] * y[2]);
        next.z[k] = fmin(fmax(z, -strongest), strongest);
    }
    return next;
}

/// Tries steps from the longest to the shortest and keeps the best of those that improve the plan.
static cr_status improve(cr_sim *sim, const double *x, plan *p, bool *is_better, cr_error *err) {
    double J[3][N_Z];
    plan from = *p;
    cr_status status = push(sim, x, &from, J, err);
    *is_better = false;
    for (double lambda = 1e-6; lambda < 1e2 && status == CR_OK; lambda *= 4.0) {
        plan next = stepped(&from, J, lambda);
        status = push(sim, x, &next, NULL, err);
        if (status == CR_OK && next.distance < p->distance) {
            *p = next;
            *is_better = true;
        }
    }
    return status;
}

/// Changes every force by up to 0.1 N, for the k-th time.
static cr_status shake(cr_sim *sim, const double *x, int k, plan *p, cr_error *err) {
    for (int i = 0; i < N_Z; i++) {
        p->z[i] += 0.1 * sin(7.0 * k + 3.0 * i);
    }
    return push(sim, x, p, NULL, err);
}

static int search(cr_sim *sim, const double *x, cr_error *err) {
    plan p = {.z = {4.0, 4.0, 4.0, 4.0, 4.0}}; // the box sticks below 3 N
    bool is_better = false;
    cr_status status = push(sim, x, &p, NULL, err);
    for (int k = 0; k < 120 && status == CR_OK; k++) {
        printf("%2d  %.3e m away\n", k, p.distance);
        if (p.distance < 1e-3) {
            printf("forces");
            for (int i = 0; i < N_Z; i++) {
                printf(" %.3f%s", p.z[i], i == N_KNOT - 1 ? "," : "");
            }
            puts(" N");
            return 0;
        }
        status = improve(sim, x, &p, &is_better, err);
        if (status == CR_OK && !is_better) {
            status = shake(sim, x, k, &p, err);
        }
    }
    fprintf(stderr, "%s\n", status == CR_OK ? "not reached" : err->text);
    return 1;
}

int main(int argc, char **argv) {
    cr_model *model = NULL;
    cr_sim *sim = NULL;
    cr_error err = {0};
    double x[N_X];
    int code = 1;
    if (argc != 2) {
        fprintf(stderr, "usage: around SCENE\n");
        return 2;
    }
    if (cr_model_load(argv[1], &model, &err) != CR_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    cr_sizes sizes = cr_model_sizes(model);
    cr_sim_options options = cr_sim_options_default(model);
    options.use_gradient = true;
    if (sizes.n_x != N_X || sizes.n_u != N_U) {
        fprintf(stderr, "%s: expected one free body\n", argv[1]);
    } else if (cr_sim_create(model, &options, &sim, &err) != CR_OK) {
        fprintf(stderr, "%s\n", err.text);
    } else {
        cr_model_defaults(model, -1, NULL, x, NULL);
        code = search(sim, x, &err);
    }
    cr_sim_destroy(sim);
    cr_model_destroy(model);
    return code;
}
