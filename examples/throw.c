// SPDX-License-Identifier: MIT
//
// A throw through a bounce, planned with the public interface alone:
//
//     throw examples/throw.xml
//
// Newton's method on three equations in three unknowns: the place of the ball after 1.1 s shall be
// above the box, the unknowns are its first velocity. Each row of the Jacobian is one adjoint of
// the run, and the gradient goes through the time of the impact.

#include <carom/carom.h>

#include <math.h>
#include <stdio.h>

enum { N_STEP = 220, N_X = 13, VELOCITY = 7 }; // x = position, quaternion, velocity, spin

static const double target[3] = {2.5, 0.5, 0.15};

static int fail(const cr_error *err) {
    fprintf(stderr, "%s\n", err->text);
    return 1;
}

/// Runs from x and gives the miss and its Jacobian for the first velocity.
static cr_status shoot(cr_sim *sim, const double *x, double miss[3], double J[3][3],
                       cr_error *err) {
    static const double dt = 0.005;
    cr_rollout rollout = {.n_step = N_STEP, .dt = &dt, .n_dt = 1};
    double end[N_X];
    cr_status status = cr_sim_rollout(sim, &rollout, x, NULL, end, err);
    for (int i = 0; i < 3 && status == CR_OK; i++) {
        double seed[N_X] = {0.0};
        double x_adj[N_X] = {0.0};
        seed[i] = 1.0;
        cr_seed end_seed = {N_STEP, seed};
        status = cr_sim_rollout_vjp(sim, 1, &end_seed, x_adj, NULL, NULL, err);
        miss[i] = end[i] - target[i];
        for (int j = 0; j < 3; j++) {
            J[i][j] = x_adj[VELOCITY + j];
        }
    }
    return status;
}

/// v -= J^-1 miss by Cramer's rule; steps of at most 1 m/s a number, as the equations have kinks.
static void improve(double J[3][3], const double miss[3], double *v) {
    double cross[3][3]; // rows: products of columns 1 x 2, 2 x 0, 0 x 1
    for (int j = 0; j < 3; j++) {
        int a = (j + 1) % 3, b = (j + 2) % 3;
        for (int i = 0; i < 3; i++) {
            int k = (i + 1) % 3, l = (i + 2) % 3;
            cross[j][i] = J[k][a] * J[l][b] - J[l][a] * J[k][b];
        }
    }
    double det = J[0][0] * cross[0][0] + J[1][0] * cross[0][1] + J[2][0] * cross[0][2];
    for (int j = 0; j < 3; j++) {
        double product = cross[j][0] * miss[0] + cross[j][1] * miss[1] + cross[j][2] * miss[2];
        v[j] -= fmin(fmax(product / det, -1.0), 1.0);
    }
}

static int plan(const cr_model *model, cr_sim *sim) {
    cr_error err;
    double x[N_X], miss[3], J[3][3];
    cr_model_defaults(model, -1, NULL, x, NULL);
    for (int k = 0; k < 50; k++) {
        if (shoot(sim, x, miss, J, &err) != CR_OK) {
            return fail(&err);
        }
        double distance = sqrt(miss[0] * miss[0] + miss[1] * miss[1] + miss[2] * miss[2]);
        printf("%2d  %.3e m  velocity %8.5f %8.5f %8.5f\n", k, distance, x[VELOCITY],
               x[VELOCITY + 1], x[VELOCITY + 2]);
        if (distance < 1e-9) {
            return 0;
        }
        improve(J, miss, x + VELOCITY);
    }
    fprintf(stderr, "not reached\n");
    return 1;
}

int main(int argc, char **argv) {
    cr_model *model = NULL;
    cr_sim *sim = NULL;
    cr_error err;
    if (argc != 2) {
        fprintf(stderr, "usage: throw SCENE\n");
        return 2;
    }
    if (cr_model_load(argv[1], &model, &err) != CR_OK) {
        return fail(&err);
    }
    cr_sim_options options = cr_sim_options_default(model);
    options.use_gradient = true;
    int code = 1;
    if (cr_model_sizes(model).n_x != N_X) {
        fprintf(stderr, "%s: expected one ball that flies\n", argv[1]);
    } else if (cr_sim_create(model, &options, &sim, &err) != CR_OK) {
        code = fail(&err);
    } else {
        code = plan(model, sim);
    }
    cr_sim_destroy(sim);
    cr_model_destroy(model);
    return code;
}
