// SPDX-License-Identifier: MIT
//
// Friction and restitution of the puck of puck.csv through the public interface: what 'carom fit'
// does, in one loop of Gauss and Newton with damping.
//
//     cc -o fit_puck examples/fit_puck.c $(pkg-config --cflags --libs carom) && ./fit_puck
//
// z are three parameters and six initial values, r the differences to the recording over their
// noise; J = dr/dz goes along with the steps; (J'J + damping) dz = -J'r.

#include <carom/carom.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 9, N_COLUMN = 4, N_FRAME = 46, N_X = 13, N_TANGENT = 12, SUB_STEP = 33, N_P_MOST = 64 };

static const char *const name[N] = {"table/friction", "rail:rim/friction", "rail:rim/restitution",
                                    "puck/qpos[0]",   "puck/qpos[1]",      "puck/qvel[0]",
                                    "puck/qvel[1]",   "puck/qvel[5]",      "turn"};
// column -> entry of x and its noise; unknown 3.. -> row of the tangent of x (5: turn about z)
static const int column[N_COLUMN] = {0, 1, 3, 6};
static const double sigma[N_COLUMN] = {1e-3, 1e-3, 2.5e-3, 2.5e-3};
static const int tangent[N - 3] = {0, 1, 6, 7, 11, 5};
static double frame[N_FRAME][1 + N_COLUMN];

static void check(cr_status status, const cr_error *err) {
    if (status != CR_OK) {
        fprintf(stderr, "%s\n", err->text);
        exit(EXIT_FAILURE);
    }
}

static void read_frames(const char *path) {
    FILE *file = fopen(path, "r");
    char line[256];
    for (int i = 0; file && i < N_FRAME && fgets(line, sizeof line, file);) {
        double *f = frame[i];
        i += sscanf(line, "%lf,%lf,%lf,%lf,%lf", f, f + 1, f + 2, f + 3, f + 4) == 5;
    }
    if (!file || frame[N_FRAME - 1][0] <= 0.0) {
        fprintf(stderr, "%s: cannot read %d frames\n", path, N_FRAME);
        exit(EXIT_FAILURE);
    }
    fclose(file);
}

/// Loss |r|^2 of the first n frames at p and x0; H = J'J and g = J'r.
static double simulate(cr_sim *sim, int n, int n_p, const double *p, const double *x0,
                       const int *slot, double H[N][N], double g[N]) {
    static double x_tan[N][N_TANGENT], p_tan[N * N_P_MOST];
    double x[N_X], loss = 0.0;
    cr_error err = {0};
    memcpy(x, x0, sizeof x);
    memset(x_tan, 0, sizeof x_tan);
    memset(p_tan, 0, sizeof p_tan);
    memset(H, 0, N * sizeof H[0]);
    memset(g, 0, N * sizeof g[0]);
    for (int j = 0; j < N; j++) {
        *(j < 3 ? &p_tan[j * n_p + slot[j]] : &x_tan[j][tangent[j - 3]]) = 1.0;
    }
    check(cr_sim_set_params(sim, p, &err), &err);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < SUB_STEP && i > 0; k++) {
            double dt = (frame[i][0] - frame[i - 1][0]) / SUB_STEP;
            check(cr_sim_step(sim, dt, x, NULL, x, &err), &err);
            check(cr_sim_step_jac(sim, N, x_tan[0], NULL, p_tan, x_tan[0], &err), &err);
        }
        for (int c = 0; c < N_COLUMN; c++) {
            double r = (x[column[c]] - frame[i][1 + c]) / sigma[c], J[N];
            for (int j = 0; j < N; j++) {
                // the quaternion (w, 0, 0, z) turns with half the angle
                const double *t = x_tan[j];
                J[j] = (c < 2 ? t[c] : 0.5 * t[5] * (c == 2 ? -x[6] : x[3])) / sigma[c];
                g[j] += J[j] * r;
                for (int l = 0; l <= j; l++) {
                    H[j][l] += J[j] * J[l];
                }
            }
            loss += r * r;
        }
    }
    return loss;
}

/// Solves (H + damping diag H) z = -g by Cholesky's method; z may be the error of unknown j too.
static void solve(double H[N][N], double damping, const double *g, double *z) {
    double L[N][N];
    for (int i = 0; i < N; i++) {
        for (int j = 0; j <= i; j++) {
            // what the frames say nothing about stays where it is
            L[i][j] = i == j ? H[i][j] * (1.0 + damping) + 1e-9 : H[i][j];
            for (int k = 0; k < j; k++) {
                L[i][j] -= L[i][k] * L[j][k];
            }
            L[i][j] = i == j ? sqrt(L[i][j]) : L[i][j] / L[j][j];
        }
    }
    for (int i = 0; i < N; i++) {
        z[i] = -g[i];
        for (int k = 0; k < i; k++) {
            z[i] -= L[i][k] * z[k];
        }
        z[i] /= L[i][i];
    }
    for (int i = N - 1; i >= 0; i--) {
        for (int k = i + 1; k < N; k++) {
            z[i] -= L[k][i] * z[k];
        }
        z[i] /= L[i][i];
    }
}

/// p and x0 moved by dz. False when a parameter would leave its domain.
static bool move(const int *slot, const double *dz, double *p, double *x0) {
    bool is_inside = true;
    for (int j = 0; j < 3; j++) {
        p[slot[j]] += dz[j];
        is_inside = is_inside && p[slot[j]] > 0.0 && p[slot[j]] < 1.0;
    }
    for (int j = 3; j < N - 1; j++) {
        x0[tangent[j - 3] + (tangent[j - 3] > 5)] += dz[j];
    }
    double half = atan2(x0[6], x0[3]) + 0.5 * dz[N - 1];
    x0[3] = cos(half);
    x0[6] = sin(half);
    return is_inside;
}

int main(int argc, char **argv) {
    const char *folder = argc > 1 ? argv[1] : "examples";
    char path[512];
    cr_error err = {0};
    cr_model *model = NULL;
    cr_sim *sim = NULL;
    snprintf(path, sizeof path, "%s/puck.xml", folder);
    check(cr_model_load(path, &model, &err), &err);
    snprintf(path, sizeof path, "%s/puck.csv", folder);
    read_frames(path);
    cr_sim_options options = cr_sim_options_default(model);
    options.use_gradient = true;
    check(cr_sim_create(model, &options, &sim, &err), &err);
    int n_p = cr_model_sizes(model).n_p, slot[3];
    double p[N_P_MOST], x0[N_X], p_new[N_P_MOST], x_new[N_X];
    double H[N][N], g[N], H_new[N][N], g_new[N], dz[N];
    cr_model_defaults(model, -1, p, x0, NULL);
    for (int j = 0; j < 3; j++) {
        slot[j] = cr_model_find(model, CR_VECTOR_P, name[j], &err);
    }
    double loss = 0.0;
    // the first frames alone lead to where the rest has only one answer
    for (int n = N_FRAME / 4; n <= N_FRAME; n += n < N_FRAME ? (N_FRAME - n + 1) / 2 : 1) {
        double damping = 1e-3;
        loss = simulate(sim, n, n_p, p, x0, slot, H, g);
        for (int i = 0; i < 50 && damping < 1e6; i++) {
            solve(H, damping, g, dz);
            memcpy(p_new, p, sizeof p);
            memcpy(x_new, x0, sizeof x0);
            double trial = move(slot, dz, p_new, x_new)
                               ? simulate(sim, n, n_p, p_new, x_new, slot, H_new, g_new)
                               : INFINITY;
            damping *= trial < loss ? 0.3 : 4.0;
            if (trial < loss) {
                i = loss - trial < 1e-8 * loss ? 50 : i;
                loss = trial;
                memcpy(p, p_new, sizeof p);
                memcpy(x0, x_new, sizeof x0);
                memcpy(H, H_new, sizeof H);
                memcpy(g, g_new, sizeof g);
            }
        }
    }
    for (int j = 0; j < 3; j++) {
        double unit[N] = {0};
        unit[j] = -1.0;
        solve(H, 0.0, unit, dz);
        printf("%-22s %.5f +- %.5f\n", name[j], p[slot[j]], sqrt(dz[j]));
    }
    printf("rms residual %.3f times the noise\n", sqrt(loss / (N_FRAME * N_COLUMN)));
    cr_sim_destroy(sim);
    cr_model_destroy(model);
    return 0;
}
