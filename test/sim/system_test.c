// SPDX-License-Identifier: MIT
//
// A system that brings its own step is a model like any other: two bodies on hard springs, stepped
// by Euler's rule, one of them driven. Names, steps, rollouts, adjoints, tangents, energy, bad
// choices.
//
//   q' = q + h v,   v' = v + h (u - k q'^3)/m

#include "cr_test.h"

#include "dynamics/unit.h"
#include "model/system.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_BODY = 2, N_Q = 2, N_X = 4, N_U = 1, N_P = 3, N_STEP = 30 };

// p = [k, m0, m1]; the first body is driven
static bool spring_step(const void *self, const cri_system_batch *b, double *x_next,
                        cri_system_row *row, const void **cache, cr_arena *arena) {
    CR_ASSERT(self && arena);
    for (int r = 0; r < b->n_row; r++) {
        const double *x = b->x + (size_t)r * N_X, *u = b->u ? b->u + (size_t)r * N_U : NULL;
        double *y = x_next + (size_t)r * N_X;
        for (int i = 0; i < N_Q; i++) {
            y[i] = x[i] + b->h * x[N_Q + i];
            double force = (u && i == 0 ? u[0] : 0.0) - b->p[0] * y[i] * y[i] * y[i];
            y[N_Q + i] = x[N_Q + i] + b->h * force / b->p[1 + i];
        }
        row[r] = (cri_system_row){.is_failed = x[0] > 50.0};
    }
    if (cache) {
        *cache = x_next;
    }
    return true;
}

static bool spring_vjp(const void *self, const cri_system_batch *b, const void *cache,
                       const double *x_next_adj, double *x_adj, double *u_adj, double *p_adj,
                       cr_arena *work) {
    CR_ASSERT(self && cache && work);
    for (int r = 0; r < b->n_row; r++) {
        size_t at = (size_t)r * N_X;
        const double *y = (const double *)cache + at, *x = b->x + at, *y_adj = x_next_adj + at;
        for (int i = 0; i < N_Q; i++) {
            double v_adj = y_adj[N_Q + i], gain = b->h / b->p[1 + i], cube = y[i] * y[i] * y[i];
            double q_adj = y_adj[i] - 3.0 * b->p[0] * y[i] * y[i] * gain * v_adj;
            if (x_adj) {
                x_adj[at + (size_t)i] += q_adj;
                x_adj[at + N_Q + (size_t)i] += v_adj + b->h * q_adj;
            }
            if (p_adj) {
                p_adj[0] -= gain * cube * v_adj;
                p_adj[1 + i] -= (y[N_Q + i] - x[N_Q + i]) / b->p[1 + i] * v_adj;
            }
        }
        if (u_adj) {
            u_adj[(size_t)r * N_U] += b->h / b->p[1] * y_adj[N_Q];
        }
    }
    return true;
}

static double spring_energy(const void *self, const double *p, const double *x, cr_arena *work) {
    CR_ASSERT(self && work);
    double sum = 0.0;
    for (int i = 0; i < N_Q; i++) {
        sum += 0.5 * p[1 + i] * x[N_Q + i] * x[N_Q + i] + 0.25 * p[0] * pow(x[i], 4.0);
    }
    return sum;
}

static const char *const spring_laws[] = {"none", NULL};

static const cri_system_kind spring_kind = {
    .name = "hard-spring",
    .law = spring_laws,
    .step = spring_step,
    .vjp = spring_vjp,
    .energy = spring_energy,
};

static int n_release;

static void spring_release(void *self) {
    (void)self;
    n_release++;
}

/// The model with its simulator, and somewhere to start.
typedef struct fixture {
    cr_model *model;
    cr_sim *sim;
    double p[N_P], x[N_X], u[N_U];
} fixture;

static cr_model *make_model(void) {
    static const cri_system_body body[] = {{.name = "left", .radius = 0.1},
                                           {"right", {.x = 1.0}, 0.1}};
    static const cri_system_coordinate coordinate[] = {
        {.kind = CRI_JOINT_SLIDE, .axis = {.z = 1.0}},
        {1, CRI_JOINT_HINGE, {.y = 1.0}, {.z = 2.0}},
    };
    static const cri_system_slot slot[] = {
        {"spring/stiffness", 3.0, 0.0, INFINITY, false, NULL},
        {"left/mass", 1.0, 0.0, INFINITY, true, NULL},
        {"right/mass", 2.0, 0.0, INFINITY, true, NULL},
    };
    static const char *const u_name[] = {"push"};
    static const double x0[] = {1.0, 0.4, 0.0, -0.3};
    static int self;
    cri_system_def def = {.kind = &spring_kind,
                          .self = &self,
                          .release = spring_release,
                          .dt = 0.05,
                          .n_q = N_Q,
                          .n_u = N_U,
                          .n_p = N_P,
                          .n_body = N_BODY,
                          .body = body,
                          .coordinate = coordinate,
                          .slot = slot,
                          .u_name = u_name,
                          .x0 = x0};
    cr_model *model = NULL;
    cr_error err = {0};
    CHECK_INT(cri_model_from_system(&def, &model, &err), CR_OK);
    return model;
}

static fixture open_fixture(void) {
    fixture f = {.model = make_model(), .u = {0.7}};
    cr_error err = {0};
    cr_sim_options options = cr_sim_options_default(f.model);
    CHECK_INT(cr_sim_create(f.model, &options, &f.sim, &err), CR_OK);
    cr_model_defaults(f.model, -1, f.p, f.x, NULL);
    return f;
}

static void close_fixture(fixture *f) {
    cr_sim_destroy(f->sim);
    cr_model_destroy(f->model);
}

TEST(names_sizes_and_release) {
    n_release = 0;
    cr_model *model = make_model();
    cr_sizes z = cr_model_sizes(model);
    CHECK_INT(z.n_tangent, N_X);
    CHECK_INT(cr_model_find(model, CR_VECTOR_P, "right/mass", NULL), 2);
    CHECK_INT(cr_model_find(model, CR_VECTOR_X, "right/qvel[0]", NULL), 3);
    CHECK_INT(cr_model_find(model, CR_VECTOR_U, "push", NULL), 0);
    CHECK_INT(cr_model_find(model, CR_VECTOR_P, "right/size", NULL), -1);
    CHECK_INT(n_release, 0);
    cr_model_destroy(model);
    CHECK_INT(n_release, 1);
}

// a slide carries its body along, a hinge turns it about its anchor
TEST(bodies_stand_where_coordinates_put_them) {
    cr_model *model = make_model();
    double x[N_X] = {0.25, 0.5 * acos(-1.0), 0.0, 0.0};
    cri_vec3 left = cri_body_position(model, 0, (cri_vec3){0}, x);
    cri_vec3 right = cri_body_position(model, 1, (cri_vec3){0}, x);
    CHECK_CLOSE(left.z, 0.25, 1e-15, 0.0);
    CHECK_CLOSE(left.x, 0.0, 1e-15, 0.0);
    // from 2 below the anchor at (1, 0, 2), a quarter turn about y
    CHECK_CLOSE(right.x, -1.0, 1e-14, 0.0);
    CHECK_CLOSE(right.z, 2.0, 1e-14, 0.0);
    cr_model_destroy(model);
}

// sum of squares at the end
static bool end_loss(void *context, const double *z, double *value) {
    fixture *f = context;
    double end[N_X];
    cr_error err = {0};
    cr_rollout run = {.n_step = N_STEP, .dt = &(double){0.05}, .n_dt = 1, .u = z + N_P + N_X};
    run.n_u_row = 1;
    bool is_good = cr_sim_set_params(f->sim, z, &err) == CR_OK &&
                   cr_sim_rollout(f->sim, &run, z + N_P, NULL, end, &err) == CR_OK;
    *value = 0.0;
    for (int i = 0; i < N_X; i++) {
        *value += end[i] * end[i];
    }
    return is_good;
}

TEST(adjoint_of_a_rollout_matches_differences) {
    fixture f = open_fixture();
    double z[N_P + N_X + N_U], adj[N_P + N_X + N_U] = {0}, end[N_X], value;
    memcpy(z, f.p, sizeof f.p);
    memcpy(z + N_P, f.x, sizeof f.x);
    memcpy(z + N_P + N_X, f.u, sizeof f.u);
    double dt = 0.05;
    cr_rollout run = {.n_step = N_STEP, .dt = &dt, .n_dt = 1, .u = f.u, .n_u_row = 1};
    cr_error err = {0};
    CHECK_INT(cr_sim_rollout(f.sim, &run, f.x, NULL, end, &err), CR_OK);
    for (int i = 0; i < N_X; i++) {
        end[i] *= 2.0;
    }
    cr_seed seed = {N_STEP, end};
    CHECK_INT(cr_sim_rollout_vjp(f.sim, 1, &seed, adj + N_P, adj + N_P + N_X, adj, &err), CR_OK);
    for (int i = 0; i < N_P + N_X + N_U; i++) {
        double difference, uncertainty;
        CHECK(cr_gradient_check(end_loss, &f, z, i, 1e-2, 0, &difference, &uncertainty));
        CHECK_CLOSE(adj[i], difference, 1e-7 * (1.0 + fabs(difference)), 0.0);
    }
    CHECK(end_loss(&f, z, &value) && value > 0.0);
    close_fixture(&f);
}

TEST(tangents_agree_with_adjoints) {
    fixture f = open_fixture();
    enum { N_SEED = 2 };
    double x_tan[N_SEED * N_X], u_tan[N_SEED * N_U], p_tan[N_SEED * N_P], out[N_SEED * N_X];
    double y[N_X], y_adj[N_X], x_adj[N_X] = {0}, u_adj[N_U] = {0}, p_adj[N_P] = {0};
    cr_error err = {0};
    for (int i = 0; i < N_SEED * N_X; i++) {
        x_tan[i] = cos(1.0 + i);
        y_adj[i % N_X] = sin(2.0 + i);
    }
    for (int i = 0; i < N_SEED * N_P; i++) {
        p_tan[i] = cos(3.0 + i);
        u_tan[i % (N_SEED * N_U)] = sin(4.0 + i);
    }
    CHECK_INT(cr_sim_step(f.sim, 0.05, f.x, f.u, y, &err), CR_OK);
    CHECK_INT(cr_sim_step_vjp(f.sim, y_adj, x_adj, u_adj, p_adj, &err), CR_OK);
    CHECK_INT(cr_sim_step_jac(f.sim, N_SEED, x_tan, u_tan, p_tan, out, &err), CR_OK);
    for (int s = 0; s < N_SEED; s++) {
        double forward = 0.0, backward = 0.0;
        for (int i = 0; i < N_X; i++) {
            forward += y_adj[i] * out[s * N_X + i];
            backward += x_adj[i] * x_tan[s * N_X + i];
        }
        for (int i = 0; i < N_P; i++) {
            backward += p_adj[i] * p_tan[s * N_P + i];
        }
        backward += u_adj[0] * u_tan[s];
        CHECK_CLOSE(forward, backward, 1e-14, 0.0);
    }
    // fixed parameters leave the same rows for the state
    CHECK_INT(cr_sim_step_jac(f.sim, 1, x_tan, NULL, NULL, out, &err), CR_OK);
    close_fixture(&f);
}

TEST(a_failed_row_has_no_gradient) {
    fixture f = open_fixture();
    double y[N_X], x_adj[N_X] = {0};
    cr_error err = {0};
    f.x[0] = 51.0;
    CHECK_INT(cr_sim_step(f.sim, 0.05, f.x, NULL, y, &err), CR_OK);
    CHECK(cr_sim_report(f.sim)->grad & CR_GRAD_REFUSED);
    CHECK_INT(cr_sim_step_vjp(f.sim, y, x_adj, NULL, NULL, &err), CR_ERR_NUMERIC);
    close_fixture(&f);
}

TEST(laws_and_steppers_of_scenes_are_refused) {
    fixture f = open_fixture();
    cr_error err = {0};
    cr_sim *sim = NULL;
    cr_sim_options options = cr_sim_options_default(f.model);
    options.law = "ncp";
    CHECK_INT(cr_sim_create(f.model, &options, &sim, &err), CR_ERR_ARGUMENT);
    CHECK(strstr(err.text, "ncp") != NULL);
    options = cr_sim_options_default(f.model);
    options.stepper = "located";
    CHECK_INT(cr_sim_create(f.model, &options, &sim, &err), CR_ERR_ARGUMENT);
    CHECK(strstr(err.text, "hard-spring") != NULL);
    f.p[1] = 0.0;
    CHECK_INT(cr_sim_set_params(f.sim, f.p, &err), CR_ERR_ARGUMENT);
    CHECK(strstr(err.text, "left/mass") != NULL);
    close_fixture(&f);
}

TEST(energy_is_the_systems) {
    fixture f = open_fixture();
    double expected = 0.75 * (1.0 + pow(0.4, 4.0)) + 0.09;
    CHECK_CLOSE(cr_sim_energy(f.sim, f.x), expected, 1e-14, 0.0);
    close_fixture(&f);
}

CR_TEST_MAIN(names_sizes_and_release, bodies_stand_where_coordinates_put_them,
             adjoint_of_a_rollout_matches_differences, tangents_agree_with_adjoints,
             a_failed_row_has_no_gradient, laws_and_steppers_of_scenes_are_refused,
             energy_is_the_systems)
