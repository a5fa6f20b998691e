// SPDX-License-Identifier: MIT
//
// A model, its sim and a rollout for tests.

#include "cr_run.h"
#include "cr_test.h"

#include "base/math/quat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void must(cr_status status, const cr_error *err) {
    if (status != CR_OK) {
        fail_msg("%s: %s", cr_status_text(status), err->text);
    }
}

static double *zeros(int n) {
    double *a = calloc((size_t)n + 1, sizeof *a);
    assert_non_null(a);
    return a;
}

cr_run cr_run_open(const char *scene, const cr_sim_options *options, int n_step, double dt) {
    cr_run r = {.n_step = n_step, .dt = dt};
    cr_error err = {0};
    must(cr_model_parse(scene, strlen(scene), "test scene", &r.model, &err), &err);
    r.n = cr_model_sizes(r.model);
    r.options = options ? *options : cr_sim_options_default(r.model);
    must(cr_sim_create(r.model, &r.options, &r.sim, &err), &err);
    r.p = zeros(r.n.n_p);
    r.x = zeros(r.n.n_x);
    r.u = zeros(r.n.n_u);
    r.x_end = zeros(r.n.n_x);
    r.p_adj = zeros(r.n.n_p);
    r.x_adj = zeros(r.n.n_x);
    r.u_adj = zeros(r.n.n_u);
    cr_model_defaults(r.model, -1, r.p, r.x, NULL);
    return r;
}

void cr_run_close(cr_run *r) {
    double *all[] = {r->p, r->x, r->u, r->x_end, r->p_adj, r->x_adj, r->u_adj};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        free(all[i]);
    }
    cr_sim_destroy(r->sim);
    cr_model_destroy(r->model);
}

static double product(int n, const double *a, const double *b) {
    double sum = 0.0;
    for (int i = 0; a && i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

double cr_run_value(cr_run *r, const double *seed) {
    cr_error err = {0};
    cr_rollout rollout = {.n_step = r->n_step, .dt = &r->dt, .n_dt = 1, .u = r->u, .n_u_row = 1};
    must(cr_sim_set_params(r->sim, r->p, &err), &err);
    must(cr_sim_rollout(r->sim, &rollout, r->x, NULL, r->x_end, &err), &err);
    return product(r->n.n_x, seed, r->x_end);
}

double cr_run_gradient(cr_run *r, const double *seed) {
    cr_error err = {0};
    double value = cr_run_value(r, seed);
    memset(r->p_adj, 0, sizeof(double) * (size_t)r->n.n_p);
    memset(r->x_adj, 0, sizeof(double) * (size_t)r->n.n_x);
    memset(r->u_adj, 0, sizeof(double) * (size_t)r->n.n_u);
    cr_seed s = {.step = r->n_step, .x_adj = seed};
    must(cr_sim_rollout_vjp(r->sim, 1, &s, r->x_adj, r->u_adj, r->p_adj, &err), &err);
    return value;
}

double cr_run_tangent(cr_run *r, const double *seed, const double *x_tan, const double *u_tan,
                      const double *p_tan) {
    cr_error err = {0};
    double *x = zeros(r->n.n_x), *y = zeros(r->n.n_tangent), sum = 0.0;
    int n_q = r->n.n_q, n_v = r->n.n_v;
    memcpy(x, r->x, sizeof *x * (size_t)r->n.n_x);
    for (int b = 0; x_tan && b < r->n.n_body; b++) {
        memcpy(y + 6 * b, x_tan + 7 * b, 3 * sizeof *y);
        cri_v3_store(cri_quat_tangent(cri_q4_load(x + 7 * b + 3), x_tan + 7 * b + 3),
                     y + 6 * b + 3);
        memcpy(y + n_v + 6 * b, x_tan + n_q + 6 * b, 6 * sizeof *y);
    }
    must(cr_sim_set_params(r->sim, r->p, &err), &err);
    for (int k = 0; k < r->n_step; k++) {
        must(cr_sim_step(r->sim, r->dt, x, r->u, x, &err), &err);
        must(cr_sim_step_jac(r->sim, 1, y, u_tan, p_tan, y, &err), &err);
    }
    for (int b = 0; b < r->n.n_body; b++) {
        cri_vec3 adj = cri_quat_tangent_vjp(cri_q4_load(x + 7 * b + 3), seed + 7 * b + 3);
        sum += product(3, seed + 7 * b, y + 6 * b) + cri_v3_dot(adj, cri_v3_load(y + 6 * b + 3)) +
               product(6, seed + n_q + 6 * b, y + n_v + 6 * b);
    }
    free(x);
    free(y);
    return sum;
}

static int must_find(const cr_run *r, cr_vector vector, const char *name) {
    cr_error err = {0};
    int i = cr_model_find(r->model, vector, name, &err);
    if (i < 0) {
        fail_msg("%s", err.text);
    }
    return i;
}

int cr_run_p(const cr_run *r, const char *name) {
    return must_find(r, CR_VECTOR_P, name);
}

int cr_run_x(const cr_run *r, const char *name) {
    return must_find(r, CR_VECTOR_X, name);
}

int cr_run_u(const cr_run *r, const char *name) {
    return must_find(r, CR_VECTOR_U, name);
}

/// A number of the run as the coordinate of a loss.
typedef struct probe {
    cr_run *run;
    const double *seed;
    double *number;
} probe;

static bool probe_loss(void *context, const double *z, double *value) {
    probe *p = context;
    double kept = *p->number;
    *p->number = *z;
    *value = cr_run_value(p->run, p->seed);
    *p->number = kept;
    return true;
}

double cr_run_difference(cr_run *r, const double *seed, double *number, int side, double step,
                         double *uncertainty) {
    cr_error err = {0};
    cr_run other = *r;
    other.options.use_gradient = false;
    must(cr_sim_create(r->model, &other.options, &other.sim, &err), &err);
    probe p = {.run = &other, .seed = seed, .number = number};
    double z = *number, difference = NAN;
    cr_gradient_check(probe_loss, &p, &z, 0, step, side, &difference, uncertainty);
    cr_sim_destroy(other.sim);
    return difference;
}
