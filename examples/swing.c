// SPDX-License-Identifier: MIT
//
// An arm of three links that hits a ball, planned with the public interface alone:
//
//     swing examples/swing.xml
//
// Three motors, each of four values held over 0.2 s, shall send the ball from its tee through a
// place 2 m away after 0.8 s. BFGS on the squared distance: one run and one adjoint a step,
// whatever the number of unknowns, and the gradient goes through the hit. H is an estimate of the
// inverse of the Hessian, with s = z' - z, y = g' - g and c = s'y:
//
//     H' = (1 - s y'/c) H (1 - y s'/c) + s s'/c

#include <carom/carom.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

// x = 3 angles, the ball's position and quaternion, and their rates; u = 3 motors, 9 forces
enum { N_STEP = 160, N_X = 19, BALL = 3, N_U = 12, N_MOTOR = 3, N_KNOT = 4, N_Z = 12 };

static const double target[3] = {2.0, 0.0, 0.5};
static const double strongest = 30.0; // N m, the motors' range

typedef struct plan {
    double z[N_Z]; // torques, the knots of a motor in a row, N m
    double g[N_Z]; // gradient of the loss
    double loss;   // squared distance, m^2
} plan;

static double dot(const double *a, const double *b) {
    double sum = 0.0;
    for (int i = 0; i < N_Z; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/// Runs under the torques of a plan and fills its loss and gradient.
static cr_status swing(cr_sim *sim, const double *x, plan *p, cr_error *err) {
    static const double dt = 0.005;
    double u[N_STEP][N_U] = {{0.0}};
    double u_adj[N_STEP][N_U] = {{0.0}};
    double end[N_X];
    double seed[N_X] = {0.0};
    for (int k = 0; k < N_STEP; k++) {
        for (int m = 0; m < N_MOTOR; m++) {
            u[k][m] = p->z[m * N_KNOT + k * N_KNOT / N_STEP];
        }
    }
    cr_rollout rollout = {.n_step = N_STEP, .dt = &dt, .n_dt = 1, .u = u[0], .n_u_row = N_STEP};
    cr_status status = cr_sim_rollout(sim, &rollout, x, NULL, end, err);
    if (status != CR_OK) {
        return status;
    }
    p->loss = 0.0;
    for (int i = 0; i < 3; i++) {
        double miss = end[BALL + i] - target[i];
        p->loss += miss * miss;
        seed[BALL + i] = 2.0 * miss;
    }
    cr_seed end_seed = {N_STEP, seed};
    status = cr_sim_rollout_vjp(sim, 1, &end_seed, NULL, u_adj[0], NULL, err);
    memset(p->g, 0, sizeof p->g);
    for (int k = 0; k < N_STEP; k++) {
        for (int m = 0; m < N_MOTOR; m++) {
            p->g[m * N_KNOT + k * N_KNOT / N_STEP] += u_adj[k][m];
        }
    }
    return status;
}

/// Takes the change from one plan to the next into H, when the loss is convex along it.
static void learn(double H[N_Z][N_Z], const plan *from, const plan *to) {
    double s[N_Z], y[N_Z], Hy[N_Z];
    for (int i = 0; i < N_Z; i++) {
        s[i] = to->z[i] - from->z[i];
        y[i] = to->g[i] - from->g[i];
    }
    double c = dot(s, y);
    if (c <= 1e-12 * sqrt(dot(s, s) * dot(y, y))) {
        return;
    }
    for (int i = 0; i < N_Z; i++) {
        Hy[i] = dot(H[i], y);
    }
    double factor = (1.0 + dot(y, Hy) / c) / c;
    for (int i = 0; i < N_Z; i++) {
        for (int j = 0; j < N_Z; j++) {
            H[i][j] += factor * s[i] * s[j] - (Hy[i] * s[j] + s[i] * Hy[j]) / c;
        }
    }
}

/// Goes along -H g, at first 2 N m at most, then by halves until the loss falls as it should.
static cr_status improve(cr_sim *sim, const double *x, double H[N_Z][N_Z], plan *p, bool *is_better,
                         cr_error *err) {
    double d[N_Z];
    for (int i = 0; i < N_Z; i++) {
        d[i] = -dot(H[i], p->g);
    }
    double slope = dot(d, p->g);
    double scale = fmin(1.0, 2.0 / sqrt(dot(d, d)));
    cr_status status = CR_OK;
    *is_better = false;
    for (int k = 0; k < 20 && !*is_better && status == CR_OK; k++, scale *= 0.5) {
        plan next = {.loss = 0.0};
        for (int i = 0; i < N_Z; i++) {
            next.z[i] = fmin(fmax(p->z[i] + scale * d[i], -strongest), strongest);
        }
        status = swing(sim, x, &next, err);
        if (status == CR_OK && next.loss < p->loss + 1e-4 * scale * slope) {
            learn(H, p, &next);
            *p = next;
            *is_better = true;
        }
    }
    return status;
}

static int search(cr_sim *sim, const double *x, cr_error *err) {
    plan p = {.z = {0.0}};
    double H[N_Z][N_Z] = {{0.0}};
    bool is_better = true;
    cr_status status = swing(sim, x, &p, err);
    for (int i = 0; i < N_Z; i++) {
        H[i][i] = 10.0; // (N m)^2 / m^2
    }
    for (int k = 0; k < 100 && is_better && status == CR_OK; k++) {
        printf("%2d  %.3e m away\n", k, sqrt(p.loss));
        if (sqrt(p.loss) < 1e-3) {
            for (int m = 0; m < N_MOTOR; m++) {
                const double *z = p.z + m * N_KNOT;
                printf("motor %d: %.3f %.3f %.3f %.3f N m\n", m, z[0], z[1], z[2], z[3]);
            }
            return 0;
        }
        status = improve(sim, x, H, &p, &is_better, err);
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
        fprintf(stderr, "usage: swing SCENE\n");
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
        fprintf(stderr, "%s: expected an arm of three hinges and a ball\n", argv[1]);
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
