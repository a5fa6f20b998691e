// SPDX-License-Identifier: MIT
//
// Two spheres on a floor that touch each other: mass 1 kg, radius 1 m, moment 2/5 kg m^2, rows
// (normal, two tangents).
//
//   contact        at            normal  tangents  mu
//   floor, first   (0, 0, 0)     z       x, y      0.3
//   floor, second  (2, 0, 0)     z       x, y      0.5
//   spheres        (1, 0, 1)     x       y, z      0.2
//
//   A = J W J',  b = J v,  v = (1, 1, -1) and (-0.5, -0.9, -1) m/s, no spin
//
// All three are hit. The normal impulse of the last is 0.750 N s under Coulomb's law and 0.820 in
// the convex problem (test/oracle compares both with Siconos).

#include "bench_spheres.h"

#include "bench/certificate.h"
#include "cli/options.h"
#include "cli/scene.h"

#include <math.h>
#include <string.h>

enum { N = 3, M = 3 * N, N_DOF = 12 };

// a batch is long enough for the clock, and short enough to fall between interruptions
enum { N_BATCH = 200, N_SOLVE = 20 };

/// A problem, and the arenas that it is solved in.
typedef struct spheres {
    cri_contact_problem data;
    double A[M * M], b[M], mu[N], e[N], target[N];
    bool is_plain[N], is_sliding[N];
    double f[M], f_adj[M];
    cri_law_report report;
    cr_arena *keep, *scratch;
} spheres;

// adds sign times the velocity of the point arm of a body to three rows, whose axes begin with axis
static void add_point(double J[M][N_DOF], int contact, int body, double sign, const double arm[3],
                      int axis) {
    for (int r = 0; r < 3; r++) {
        int k = (axis + r) % 3, i = (k + 1) % 3, j = (k + 2) % 3;
        double *row = J[3 * contact + r] + 6 * body;
        // v_k + (omega x arm)_k
        row[k] += sign;
        row[3 + i] += sign * arm[j];
        row[3 + j] -= sign * arm[i];
    }
}

static void spheres_fill(spheres *s, double e) {
    static const double down[3] = {0, 0, -1}, left[3] = {-1, 0, 0}, right[3] = {1, 0, 0};
    static const double v[N_DOF] = {1, 1, -1, 0, 0, 0, -0.5, -0.9, -1, 0, 0, 0};
    static const double mu[N] = {0.3, 0.5, 0.2};
    double J[M][N_DOF] = {{0}};
    add_point(J, 0, 0, 1.0, down, 2);
    add_point(J, 1, 1, 1.0, down, 2);
    add_point(J, 2, 0, -1.0, right, 0);
    add_point(J, 2, 1, 1.0, left, 0);
    for (int i = 0; i < M; i++) {
        for (int k = 0; k < N_DOF; k++) {
            double inverse = k % 6 < 3 ? 1.0 : 2.5; // of mass or moment
            s->b[i] += J[i][k] * v[k];
            for (int j = 0; j < M; j++) {
                s->A[M * i + j] += J[i][k] * inverse * J[j][k];
            }
        }
        // any seed will do, if no entry is zero
        s->f_adj[i] = 1.0 + 0.25 * i;
    }
    for (int i = 0; i < N; i++) {
        s->mu[i] = mu[i];
        s->e[i] = e;
        s->is_plain[i] = e == 0.0;
    }
    s->data = (cri_contact_problem){.n = N,
                                    .A = s->A,
                                    .b = s->b,
                                    .mu = s->mu,
                                    .e = s->e,
                                    .target = s->target,
                                    .is_plain = s->is_plain};
}

static bool spheres_begin(spheres *s, const cri_law *law, double e) {
    size_t n_byte = law->n_byte(N);
    *s = (spheres){.keep = cri_arena_create(n_byte), .scratch = cri_arena_create(n_byte)};
    spheres_fill(s, e);
    return s->keep && s->scratch && cri_arena_reserve(s->keep, n_byte) &&
           cri_arena_reserve(s->scratch, n_byte);
}

static void spheres_end(spheres *s) {
    cri_arena_destroy(s->keep);
    cri_arena_destroy(s->scratch);
}

static const void *cold_solve(spheres *s, const cri_law *law, bool has_cache) {
    cri_arena_reset(s->keep);
    memset(s->f, 0, sizeof s->f);
    s->report = (cri_law_report){.margin = 1.0, .is_sliding = s->is_sliding};
    return law->solve(&s->data, s->f, has_cache, &s->report, s->keep, s->scratch);
}

static void adjoint(spheres *s, const cri_law *law, const void *cache) {
    cri_contact_adj adj;
    cri_arena_mark mark = cri_arena_get_mark(s->scratch);
    law->vjp(&s->data, cache, s->f, s->f_adj, &adj, s->scratch);
    cri_arena_rewind(s->scratch, mark);
}

int cli_bench_spheres(const cri_law *law, double e, cli_spheres_times *out) {
    spheres s;
    if (!spheres_begin(&s, law, e)) {
        spheres_end(&s);
        return cli_failed("no memory for two spheres");
    }
    *out = (cli_spheres_times){.solve = INFINITY, .prepared = INFINITY, .vjp = INFINITY};
    for (int batch = 0; batch < N_BATCH; batch++) {
        const void *cache = NULL;
        double start = cli_seconds();
        for (int i = 0; i < N_SOLVE; i++) {
            cold_solve(&s, law, false);
        }
        double solved = cli_seconds();
        for (int i = 0; i < N_SOLVE; i++) {
            cache = cold_solve(&s, law, true);
        }
        double prepared = cli_seconds();
        for (int i = 0; i < N_SOLVE; i++) {
            adjoint(&s, law, cache);
        }
        double end = cli_seconds();
        out->solve = fmin(out->solve, (solved - start) / N_SOLVE);
        out->prepared = fmin(out->prepared, (prepared - solved) / N_SOLVE);
        out->vjp = fmin(out->vjp, (end - prepared) / N_SOLVE);
    }
    const cri_certificate judged =
        cri_certificate_of(law->name, &s.data, s.f, s.report.compression, s.report.shift);
    out->outcome = s.report.outcome;
    out->residual = judged.residual;
    out->f_n = s.f[6];
    spheres_end(&s);
    return CLI_DONE;
}

int cli_bench_spheres_work(const char *name, bool is_vjp, int n) {
    const cri_law *law = cri_law_find(name);
    spheres s;
    if (!law) {
        return cli_usage("unknown law %.40s", name);
    }
    if (!spheres_begin(&s, law, 0.0)) {
        spheres_end(&s);
        return cli_failed("no memory for two spheres");
    }
    const void *cache = cold_solve(&s, law, true);
    for (int i = 0; i < n; i++) {
        if (is_vjp) {
            adjoint(&s, law, cache);
        } else {
            cold_solve(&s, law, false);
        }
    }
    spheres_end(&s);
    return CLI_DONE;
}
