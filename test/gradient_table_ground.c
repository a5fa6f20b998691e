// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: patches of contact, and the laws made of nets, in every mode
// (contact/ground_plant.h).

#include "gradient_row.h"

#include "contact/ground.h"
#include "contact/ground_plant.h"

#include <math.h>
#include <string.h>

// ---- inputs ------------------------------------------------------------------------------------

static cri_ground patch;

// x = (A, c)
static void load_patch(const double *x) {
    int k = patch.n_row;
    memcpy(patch.A, x, sizeof *x * (size_t)(k * k));
    memcpy(patch.c, x + k * k, sizeof *x * (size_t)k);
}

static void input_forward(const double *x, double *y) {
    load_patch(x);
    y[cri_ground_inputs(patch.kind)] = cri_ground_input(&patch, y);
}

static void input_vjp(const double *x, const double *y_adj, double *x_adj) {
    load_patch(x);
    int k = patch.n_row;
    cri_ground_input_vjp(&patch, y_adj, y_adj[cri_ground_inputs(patch.kind)], x_adj, x_adj + k * k);
}

static void input_jvp(const double *x, const double *x_tan, double *y_tan) {
    load_patch(x);
    int k = patch.n_row;
    y_tan[cri_ground_inputs(patch.kind)] =
        cri_ground_input_jvp(&patch, x_tan, x_tan + k * k, y_tan);
}

TEST(inputs_of_nets) {
    static const double points[][12] = {
        {1.4, 0.3, 0.3, 1.9, 0.7, -0.4},
        {1.4, 0.3, 0.3, 1.9, -0.7, 0.4},
        {1.4, 0.3, -0.2, 0.3, 1.9, 0.1, -0.2, 0.1, 2.1, 0.7, -0.4, 0.3},
        {1.4, 0.3, -0.2, 0.3, 1.9, 0.1, -0.2, 0.1, 2.1, -0.7, -0.4, -0.6},
    };
    for (int i = 0; i < 4; i++) {
        patch = (cri_ground){.kind = i < 2 ? CRI_GROUND_POINT : CRI_GROUND_LINE, .n_tangent = 1};
        patch.n_row = cri_ground_rows(patch.kind);
        table_check(&(table_row){.name = "ground_input",
                                 .vjp_name = "cri_ground_input_vjp",
                                 .jvp_name = "cri_ground_input_jvp",
                                 .n_in = patch.n_row * (patch.n_row + 1),
                                 .n_out = cri_ground_inputs(patch.kind) + 1,
                                 .forward = input_forward,
                                 .vjp = input_vjp,
                                 .jvp = input_jvp,
                                 .x = points[i]});
    }
}

// ---- what would bring to rest ------------------------------------------------------------------

static int n_still;

// x = (B, y)
static void still_forward(const double *x, double *h) {
    cri_ground_still still = cri_ground_still_of(n_still, x, x + n_still * n_still);
    memcpy(h, still.h, sizeof *h * (size_t)n_still);
}

static void still_vjp(const double *x, const double *h_adj, double *x_adj) {
    int k = n_still;
    cri_ground_still still = cri_ground_still_of(k, x, x + k * k);
    cri_ground_still_vjp(&still, h_adj, x_adj, x_adj + k * k);
}

static void still_jvp(const double *x, const double *x_tan, double *h_tan) {
    int k = n_still;
    cri_ground_still still = cri_ground_still_of(k, x, x + k * k);
    cri_ground_still_jvp(&still, x_tan, x_tan + k * k, h_tan);
}

TEST(what_would_bring_to_rest) {
    static const double points[][12] = {
        {1.4, 0.3, 0.3, 1.9, 0.7, -0.4},
        {1.4, 0.3, -0.2, 0.3, 1.9, 0.1, -0.2, 0.1, 2.1, 0.7, -0.4, 0.0},
        {1.0, 2.0, 2.0, 1.0, 0.7, -0.4}, // no inverse mass: nothing is said
    };
    for (int i = 0; i < 3; i++) {
        n_still = i == 1 ? 3 : 2;
        table_check(&(table_row){.name = "ground_still",
                                 .vjp_name = "cri_ground_still_vjp",
                                 .jvp_name = "cri_ground_still_jvp",
                                 .n_in = n_still * (n_still + 1),
                                 .n_out = n_still,
                                 .forward = still_forward,
                                 .vjp = still_vjp,
                                 .jvp = still_jvp,
                                 .x = points[i]});
    }
}

// ---- laws --------------------------------------------------------------------------------------

/// The problem of the row and its last solution.
static struct {
    ground_plant plant;
    const cri_law *law;
    cri_augmented_mode mode;
    double x[TABLE_LIMIT];
    double A[9 * PLANT_CONTACTS * PLANT_CONTACTS];
    double f[3 * PLANT_CONTACTS];
    const void *cache;
    cr_arena *keep, *scratch;
} run;

static void law_forward(const double *x, double *y) {
    bool is_sliding[PLANT_CONTACTS];
    cri_law_report report = {.margin = 1.0, .is_sliding = is_sliding};
    memcpy(run.x, x, sizeof *x * (size_t)plant_size(&run.plant));
    plant_matrix_of(&run.plant, run.x, NULL, run.A);
    cri_contact_problem problem = plant_problem_of(&run.plant, run.x, run.A);
    cri_arena_reset(run.keep);
    cri_arena_reset(run.scratch);
    run.cache = run.law->solve(&problem, run.f, true, &report, run.keep, run.scratch);
    CHECK_INT(report.outcome, CR_SOLVED);
    CHECK_INT(cri_augmented_mode_of(run.cache), run.mode);
    memcpy(y, run.f, sizeof *y * 3 * (size_t)run.plant.n);
}

// dA of one number of x is a matrix of its own: cheap, as there are few
static void matrix_vjp(const cri_contact_adj *adj, double *x_adj) {
    int m = 3 * run.plant.n;
    for (int p = 0; p < plant_at_b(&run.plant); p++) {
        double unit[TABLE_LIMIT] = {0}, dA[9 * PLANT_CONTACTS * PLANT_CONTACTS];
        unit[p] = 1.0;
        plant_matrix_of(&run.plant, run.x, unit, dA);
        for (int k = 0; k < adj->n_outer; k++) {
            for (int i = 0; i < m * m; i++) {
                x_adj[p] += adj->left[k][i / m] * adj->right[k][i % m] * dA[i];
            }
        }
    }
}

static void law_vjp(const double *x, const double *y_adj, double *x_adj) {
    (void)x;
    const ground_plant *g = &run.plant;
    cri_contact_problem problem = plant_problem_of(g, run.x, run.A);
    cri_contact_adj adj = {.weights = x_adj + plant_at_weights(g)};
    cri_arena_mark mark = cri_arena_get_mark(run.scratch);
    run.law->vjp(&problem, run.cache, run.f, y_adj, &adj, run.scratch);
    matrix_vjp(&adj, x_adj);
    for (int i = 0; i < 3 * g->n; i++) {
        x_adj[plant_at_b(g) + i] += adj.b[i];
    }
    for (int i = 0; i < g->n; i++) {
        x_adj[plant_at_target(g) + i] += adj.target[i];
        CHECK(adj.mu[i] == 0.0 && adj.e[i] == 0.0);
    }
    cri_arena_rewind(run.scratch, mark);
}

static void apply_A_tan(const void *context, const double *z, double *out) {
    const double *A_tan = context;
    int m = 3 * run.plant.n;
    for (int i = 0; i < m; i++) {
        out[i] = 0.0;
        for (int j = 0; j < m; j++) {
            out[i] += A_tan[i * m + j] * z[j];
        }
    }
}

static void law_jvp(const double *x, const double *x_tan, double *y_tan) {
    (void)x;
    const ground_plant *g = &run.plant;
    double A_tan[9 * PLANT_CONTACTS * PLANT_CONTACTS];
    plant_matrix_of(g, run.x, x_tan, A_tan);
    cri_contact_problem problem = plant_problem_of(g, run.x, run.A);
    cri_contact_tan tan = {.apply_A = apply_A_tan,
                           .context = A_tan,
                           .b = x_tan + plant_at_b(g),
                           .target = x_tan + plant_at_target(g),
                           .weights = x_tan + plant_at_weights(g)};
    run.law->jvp(&problem, run.cache, run.f, &tan, y_tan, run.scratch);
}

/// A row: what happens, to contacts at r with velocities b = (normal, tangent).
typedef struct ground_row {
    const char *name;
    cri_ground_class said;
    cri_augmented_mode mode;
    int n;
    double r[PLANT_CONTACTS];
    double normal[PLANT_CONTACTS], tangent;
} ground_row;

static void check_row(const ground_row *row, bool has_restitution) {
    double x[TABLE_LIMIT] = {0.8, 150.0, 0.06};
    table_move move[TABLE_LIMIT] = {0};
    ground_plant *g = &run.plant;
    *g = (ground_plant){.n = row->n, .nets.has_restitution = has_restitution};
    cri_ground_nets_shape(1, &(int){3}, &g->nets);
    run.law = row->mode == CRI_AUGMENTED_REGRESSED ? &cri_law_regressed : &cri_law_augmented;
    run.mode = row->mode;
    assert_true(plant_size(g) <= TABLE_LIMIT);
    for (int i = 0; i < row->n; i++) {
        x[3 + i] = row->r[i];
        for (int j = 0; j < row->n; j++) {
            // moved apart they would be two places
            move[3 + i] = i != j && row->r[i] == row->r[j] ? TABLE_HELD : move[3 + i];
        }
        x[plant_at_b(g) + 3 * i] = row->normal[i];
        x[plant_at_b(g) + 3 * i + 1] = row->tangent;
        x[plant_at_target(g) + i] = 0.01 * (i + 1);
    }
    for (int i = plant_at_weights(g); i < plant_size(g); i++) {
        x[i] = 0.5 * sin(1.0 + 1.7 * i);
    }
    plant_say(g, row->said, x);
    for (int i = 1; has_restitution && i < 2 * CRI_GROUND_SPACE_POINT; i += 2) {
        // within 0 and 1
        const cri_mlp *net = &g->nets.net[i];
        int last = net->width[net->n_layer] - 1;
        x[plant_at_weights(g) + g->nets.first[i] + cri_mlp_place(net, net->n_layer, true) + last] =
            0.6;
    }
    run.keep = cri_arena_create(run.law->n_byte(row->n));
    run.scratch = cri_arena_create(run.law->n_byte(row->n));
    bool is_even = !has_restitution;
    table_check(&(table_row){.name = row->name,
                             .vjp_name = is_even ? "cri_ground_reduce_vjp" : "augmented_vjp",
                             .jvp_name = is_even ? "cri_ground_reduce_jvp" : "augmented_jvp",
                             .n_in = plant_size(g),
                             .n_out = 3 * row->n,
                             .forward = law_forward,
                             .vjp = law_vjp,
                             .jvp = law_jvp,
                             .x = x,
                             .move = move});
    cri_arena_destroy(run.keep);
    cri_arena_destroy(run.scratch);
}

static const ground_row rows[] = {
    {"point, static", CRI_GROUND_STATIC, CRI_AUGMENTED_STATIC, 2, {0.03, 0.03}, {-1, -1}, 0.3},
    {"point, dynamic", CRI_GROUND_DYNAMIC, CRI_AUGMENTED_DYNAMIC, 1, {0.03}, {-1}, 2.0},
    {"point, frictionless", CRI_GROUND_DETACH, CRI_AUGMENTED_FRICTIONLESS, 1, {0.03}, {-1}, 2.0},
    {"point, none", CRI_GROUND_DETACH, CRI_AUGMENTED_NONE, 1, {0.03}, {1}, 2.0},
    {"point, regressed", CRI_GROUND_DETACH, CRI_AUGMENTED_REGRESSED, 1, {0.03}, {-1}, 2.0},
    {"line, static",
     CRI_GROUND_STATIC,
     CRI_AUGMENTED_STATIC,
     4,
     {0.1, -0.1, 0.1, -0.1},
     {-1, -0.9, -1, -0.9},
     0.1},
    {"line, dynamic", CRI_GROUND_DYNAMIC, CRI_AUGMENTED_DYNAMIC, 2, {0.1, -0.09}, {-1, -1.2}, 2.0},
    {"line, one end", CRI_GROUND_DYNAMIC, CRI_AUGMENTED_DYNAMIC, 2, {0.1, -0.09}, {-1, 2.5}, 2.0},
    {"line, between",
     CRI_GROUND_DYNAMIC,
     CRI_AUGMENTED_DYNAMIC,
     3,
     {0.1, 0, -0.09},
     {-1, -1, -1},
     -2},
    {"line, frictionless",
     CRI_GROUND_DETACH,
     CRI_AUGMENTED_FRICTIONLESS,
     2,
     {0.1, -0.09},
     {-1, -0.8},
     2.0},
    {"line, none", CRI_GROUND_STATIC, CRI_AUGMENTED_NONE, 2, {0.1, -0.09}, {1, 0.8}, 2.0},
    {"line, regressed",
     CRI_GROUND_DETACH,
     CRI_AUGMENTED_REGRESSED,
     2,
     {0.1, -0.09},
     {-1, -0.8},
     2.0},
};

TEST(laws_of_nets) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check_row(&rows[i], false);
        check_row(&rows[i], true);
    }
}

TABLE_PART(gradient_table_ground, inputs_of_nets, what_would_bring_to_rest, laws_of_nets)
