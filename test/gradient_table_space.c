// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: patches in space and the laws made of nets there, in every mode
// (contact/space_plant.h). The output is what becomes of the body's velocity, as impulses of a
// surface are not unique.

#include "gradient_row.h"

#include "contact/space_plant.h"

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

// inputs, scale, and the frame
static void input_forward(const double *x, double *y) {
    load_patch(x);
    int n = cri_ground_inputs(patch.kind);
    y[n] = cri_ground_space_input(&patch, y);
    cri_ground_turn turn = cri_ground_turn_of(&patch);
    memcpy(y + n + 1, (double[3]){turn.cosine, turn.sine, turn.twist}, sizeof(double) * 3);
}

static void input_vjp(const double *x, const double *y_adj, double *x_adj) {
    load_patch(x);
    int k = patch.n_row, n = cri_ground_inputs(patch.kind);
    cri_ground_turn turn_adj = {y_adj[n + 1], y_adj[n + 2], y_adj[n + 3], 1.0};
    cri_ground_space_input_vjp(&patch, y_adj, y_adj[n], x_adj, x_adj + k * k);
    cri_ground_turn_of_vjp(&patch, &turn_adj, x_adj, x_adj + k * k);
}

static void input_jvp(const double *x, const double *x_tan, double *y_tan) {
    load_patch(x);
    int k = patch.n_row, n = cri_ground_inputs(patch.kind);
    y_tan[n] = cri_ground_space_input_jvp(&patch, x_tan, x_tan + k * k, y_tan);
    cri_ground_turn turn_tan = cri_ground_turn_of_jvp(&patch, x_tan, x_tan + k * k);
    memcpy(y_tan + n + 1, (double[3]){turn_tan.cosine, turn_tan.sine, turn_tan.twist},
           sizeof(double) * 3);
}

TEST(inputs_of_nets_in_space) {
    for (int i = 0; i < 9; i++) {
        cri_ground_kind kind = (cri_ground_kind)(CRI_GROUND_SPACE_POINT + i / 3);
        // the last of each kind closes with all ends alike
        bool is_flat = i % 3 == 2;
        // the surface has a corner that nets do not see
        int k = cri_ground_rows(kind) + (kind == CRI_GROUND_SPACE_SURFACE), n = k * k;
        patch = (cri_ground){.kind = kind, .n_row = k, .n_tangent = cri_ground_tangents(kind)};
        double x[CRI_GROUND_ROWS * (CRI_GROUND_ROWS + 1)];
        for (int a = 0; a < k; a++) {
            for (int b = 0; b < k; b++) {
                x[a * k + b] = a == b ? 1.5 + 0.1 * a : 0.2 * sin(1.0 + a + b + 3.0 * a * b);
            }
            x[n + a] = is_flat && a >= patch.n_tangent ? -0.4 : cos(2.0 * a + 1.3 * i);
        }
        table_check(&(table_row){
            .name = "ground_space_input",
            .vjp_name = i % 2 ? "cri_ground_space_input_vjp" : "cri_ground_turn_of_vjp",
            .jvp_name = i % 2 ? "cri_ground_space_input_jvp" : "cri_ground_turn_of_jvp",
            .n_in = n + k,
            .n_out = cri_ground_inputs(kind) + 4,
            .forward = input_forward,
            .vjp = input_vjp,
            .jvp = input_jvp,
            .x = x});
    }
}

// ---- laws --------------------------------------------------------------------------------------

/// The problem of the row and its last solution.
static struct {
    space_plant plant;
    const cri_law *law;
    cri_augmented_mode mode;
    double x[TABLE_LIMIT], A[SPACE_ROWS * SPACE_ROWS], b[SPACE_ROWS], f[SPACE_ROWS];
    double G[6 * SPACE_ROWS];
    const void *cache;
    cr_arena *keep, *scratch;
} run;

// y = W G' f
static void law_forward(const double *x, double *y) {
    bool is_sliding[SPACE_CONTACTS];
    cri_law_report report = {.margin = 1.0, .is_sliding = is_sliding};
    memcpy(run.x, x, sizeof *x * (size_t)space_size(&run.plant));
    cri_contact_problem problem = space_problem(&run.plant, run.x, run.A, run.b);
    space_rows(&run.plant, run.x, false, run.G);
    cri_arena_reset(run.keep);
    cri_arena_reset(run.scratch);
    run.cache = run.law->solve(&problem, run.f, true, &report, run.keep, run.scratch);
    CHECK_INT(report.outcome, CR_SOLVED);
    CHECK_INT(cri_augmented_mode_of(run.cache), run.mode);
    double z[6];
    space_pull(run.plant.n, run.G, run.f, z);
    space_answer(run.x, z, y);
}

// adds l' W r for W of (w, J)
static void answer_vjp(const double *l, const double *r, double *x_adj) {
    static const int at[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};
    for (int i = 0; i < 3; i++) {
        x_adj[0] += l[i] * r[i];
    }
    for (int i = 0; i < 6; i++) {
        int a = 3 + at[i][0], b = 3 + at[i][1];
        x_adj[1 + i] += l[a] * r[b] + (a != b ? l[b] * r[a] : 0.0);
    }
}

// the adjoint of row i of G is weight z: of h and the place
static void row_vjp(int i, double weight, const double *z, double *x_adj) {
    for (int p = 7; p < space_at_v(&run.plant); p++) {
        double unit[TABLE_LIMIT] = {0}, G[6 * SPACE_ROWS];
        unit[p] = 1.0;
        space_rows(&run.plant, unit, true, G);
        for (int d = 0; d < 6; d++) {
            x_adj[p] += weight * z[d] * G[6 * i + d];
        }
    }
}

static void law_vjp(const double *x, const double *y_adj, double *x_adj) {
    (void)x;
    const space_plant *g = &run.plant;
    int n = g->n, m = 3 * n;
    double A[SPACE_ROWS * SPACE_ROWS], b[SPACE_ROWS], f_adj[SPACE_ROWS], Wy[6], Gf[6];
    cri_contact_problem problem = space_problem(g, run.x, A, b);
    // y = W G' f
    space_answer(run.x, y_adj, Wy);
    space_push(n, run.G, Wy, f_adj);
    space_pull(n, run.G, run.f, Gf);
    answer_vjp(y_adj, Gf, x_adj);
    for (int i = 0; i < m; i++) {
        row_vjp(i, run.f[i], Wy, x_adj);
    }
    cri_contact_adj adj = {.weights = x_adj + space_at_weights(g)};
    cri_arena_mark mark = cri_arena_get_mark(run.scratch);
    run.law->vjp(&problem, run.cache, run.f, f_adj, &adj, run.scratch);
    // A = G W G'
    for (int k = 0; k < adj.n_outer; k++) {
        double l[6], r[6], Wl[6], Wr[6];
        space_pull(n, run.G, adj.left[k], l);
        space_pull(n, run.G, adj.right[k], r);
        space_answer(run.x, l, Wl);
        space_answer(run.x, r, Wr);
        answer_vjp(l, r, x_adj);
        for (int i = 0; i < m; i++) {
            row_vjp(i, adj.left[k][i], Wr, x_adj);
            row_vjp(i, adj.right[k][i], Wl, x_adj);
        }
    }
    // b = G v
    double v_adj[6];
    space_pull(n, run.G, adj.b, v_adj);
    for (int d = 0; d < 6; d++) {
        x_adj[space_at_v(g) + d] += v_adj[d];
    }
    for (int i = 0; i < m; i++) {
        row_vjp(i, adj.b[i], run.x + space_at_v(g), x_adj);
    }
    for (int i = 0; i < n; i++) {
        x_adj[space_at_target(g) + i] += adj.target[i];
    }
    cri_arena_rewind(run.scratch, mark);
}

/// Tangents of G and W.
typedef struct moved {
    const double *x_tan;
    double G[6 * SPACE_ROWS];
} moved;

static void apply_A_tan(const void *context, const double *z, double *out) {
    const moved *tan = context;
    int n = run.plant.n;
    double a[6], b[6], Wa[6], Wb[6], first[SPACE_ROWS], second[SPACE_ROWS];
    space_pull(n, run.G, z, a);
    space_pull(n, tan->G, z, b);
    space_answer(run.x, a, Wa);
    space_answer(run.x, b, Wb);
    space_push(n, tan->G, Wa, first);
    space_push(n, run.G, Wb, second);
    space_answer(tan->x_tan, a, Wa);
    space_push(n, run.G, Wa, out);
    for (int i = 0; i < 3 * n; i++) {
        out[i] += first[i] + second[i];
    }
}

static void law_jvp(const double *x, const double *x_tan, double *y_tan) {
    (void)x;
    const space_plant *g = &run.plant;
    int n = g->n;
    moved tangents = {.x_tan = x_tan};
    space_rows(g, x_tan, true, tangents.G);
    double A[SPACE_ROWS * SPACE_ROWS], b[SPACE_ROWS], b_tan[SPACE_ROWS], more[SPACE_ROWS];
    double f_tan[SPACE_ROWS], a[6], c[6], d[6], e[6];
    cri_contact_problem problem = space_problem(g, run.x, A, b);
    space_push(n, run.G, x_tan + space_at_v(g), b_tan);
    space_push(n, tangents.G, run.x + space_at_v(g), more);
    for (int i = 0; i < 3 * n; i++) {
        b_tan[i] += more[i];
    }
    cri_contact_tan tan = {.apply_A = apply_A_tan,
                           .context = &tangents,
                           .b = b_tan,
                           .target = x_tan + space_at_target(g),
                           .weights = x_tan + space_at_weights(g)};
    run.law->jvp(&problem, run.cache, run.f, &tan, f_tan, run.scratch);
    space_pull(n, run.G, run.f, a);
    space_answer(x_tan, a, y_tan);
    space_pull(n, tangents.G, run.f, c);
    space_pull(n, run.G, f_tan, d);
    for (int i = 0; i < 6; i++) {
        c[i] += d[i];
    }
    space_answer(run.x, c, e);
    for (int i = 0; i < 6; i++) {
        y_tan[i] += e[i];
    }
}

/// A row: what happens to contacts at these places with the velocity v.
typedef struct space_row {
    const char *name;
    cri_ground_class said;
    cri_augmented_mode mode;
    int n;
    double place[2 * 5];
    double v[6];
} space_row;

#define POINT                                                                                      \
    1, {                                                                                           \
        0.03, -0.05                                                                                \
    }
#define LINE                                                                                       \
    2, {                                                                                           \
        0.1, -0.05, -0.08, 0.06                                                                    \
    }
#define FOUR                                                                                       \
    4, {                                                                                           \
        0.1, -0.07, -0.09, -0.06, -0.1, 0.07, 0.08, 0.075                                          \
    }
#define FIVE                                                                                       \
    5, {                                                                                           \
        0.1, -0.07, -0.09, -0.06, -0.1, 0.07, 0.08, 0.075, 0.01, 0.02                              \
    }
#define FALL                                                                                       \
    { 0.4, 0.3, -1.0, 0.6, -0.4, 2.0 }
#define FLAT                                                                                       \
    { 0.2, -0.1, -1.0, 0.3, -0.2, 0.5 }
#define EVEN                                                                                       \
    { 0.2, -0.1, -1.0, 0.0, 0.0, 0.5 }
#define RISE                                                                                       \
    { 0.4, 0.3, 1.0, 0.6, -0.4, 2.0 }

static const space_row rows[] = {
    {"point, static", CRI_GROUND_STATIC, CRI_AUGMENTED_STATIC, POINT, FALL},
    {"point, dynamic", CRI_GROUND_DYNAMIC, CRI_AUGMENTED_DYNAMIC, POINT, FALL},
    {"point, frictionless", CRI_GROUND_DETACH, CRI_AUGMENTED_FRICTIONLESS, POINT, FALL},
    {"point, none", CRI_GROUND_DETACH, CRI_AUGMENTED_NONE, POINT, RISE},
    {"point, regressed", CRI_GROUND_DETACH, CRI_AUGMENTED_REGRESSED, POINT, FALL},
    {"line, static", CRI_GROUND_STATIC, CRI_AUGMENTED_STATIC, LINE, FALL},
    {"line, dynamic", CRI_GROUND_DYNAMIC, CRI_AUGMENTED_DYNAMIC, LINE, FALL},
    {"line, frictionless", CRI_GROUND_DETACH, CRI_AUGMENTED_FRICTIONLESS, LINE, FALL},
    {"line, regressed", CRI_GROUND_DETACH, CRI_AUGMENTED_REGRESSED, LINE, FALL},
    {"surface, static", CRI_GROUND_STATIC, CRI_AUGMENTED_STATIC, FOUR, FLAT},
    {"surface, dynamic", CRI_GROUND_DYNAMIC, CRI_AUGMENTED_DYNAMIC, FIVE, FLAT},
    {"line, dynamic, ends alike", CRI_GROUND_DYNAMIC, CRI_AUGMENTED_DYNAMIC, LINE, EVEN},
    {"surface, dynamic, ends alike", CRI_GROUND_DYNAMIC, CRI_AUGMENTED_DYNAMIC, FOUR, EVEN},
    {"surface, frictionless", CRI_GROUND_DETACH, CRI_AUGMENTED_FRICTIONLESS, FOUR, FLAT},
    {"surface, regressed", CRI_GROUND_DETACH, CRI_AUGMENTED_REGRESSED, FOUR, FALL},
};

static void check_row(const space_row *row, bool has_restitution) {
    double x[TABLE_LIMIT] = {0.8, 150.0, 210.0, 260.0, 12.0, -7.0, 5.0, 0.06};
    table_move move[TABLE_LIMIT] = {0};
    space_plant *g = &run.plant;
    *g = (space_plant){.n = row->n, .nets = {.is_spatial = true}};
    g->nets.has_restitution = has_restitution;
    cri_ground_nets_shape(1, &(int){2}, &g->nets);
    run.law = row->mode == CRI_AUGMENTED_REGRESSED ? &cri_law_regressed : &cri_law_augmented;
    run.mode = row->mode;
    assert_true(space_size(g) <= TABLE_LIMIT);
    memcpy(x + 8, row->place, sizeof *x * 2 * (size_t)row->n);
    memcpy(x + space_at_v(g), row->v, sizeof row->v);
    for (int i = 0; i < row->n; i++) {
        // what corners reach is a motion of the body: alone they would be moved out of it
        x[space_at_target(g) + i] = 0.01;
        move[space_at_target(g) + i] = row->n > 3 ? TABLE_HELD : TABLE_FREE;
    }
    for (int i = space_at_weights(g); i < space_size(g); i++) {
        x[i] = 0.1 * sin(1.0 + 1.7 * i);
    }
    for (int i = 0; i < CRI_GROUND_NETS; i++) {
        const cri_mlp *net = &g->nets.net[i];
        double *w = x + space_at_weights(g) + g->nets.first[i];
        if (net->n_layer > 0 && i % 2 == 0) {
            w[cri_mlp_place(net, net->n_layer, true) + (int)row->said] += 100.0;
        } else if (net->n_layer > 0 && has_restitution) {
            w[cri_mlp_place(net, net->n_layer, true) + net->width[net->n_layer] - 1] = 0.6;
        }
    }
    run.keep = cri_arena_create(run.law->n_byte(row->n));
    run.scratch = cri_arena_create(run.law->n_byte(row->n));
    table_check(&(table_row){.name = row->name,
                             .vjp_name = "augmented_vjp",
                             .jvp_name = "augmented_jvp",
                             .n_in = space_size(g),
                             .n_out = 6,
                             .forward = law_forward,
                             .vjp = law_vjp,
                             .jvp = law_jvp,
                             .x = x,
                             .move = move});
    cri_arena_destroy(run.keep);
    cri_arena_destroy(run.scratch);
}

TEST(laws_of_nets_in_space) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check_row(&rows[i], false);
        // a surface that rebounds where some corners close and others do not is no rigid motion
        check_row(&rows[i], true);
    }
}

TABLE_PART(gradient_table_space, inputs_of_nets_in_space, laws_of_nets_in_space)
