// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: friction problems of three kinds (gradient_plant.h).
//
// Without redundancy A is symmetric and generic; its entries are moved one by one. With it, some of
// the contacts press a body onto ground that rests, the others onto ground that moves:
//
//   A = J W J',  c = J v + w,    w the velocity of the ground below each contact
//
// Those that stick have w = 0 and more rows than the body has dofs: whatever J, W and v are, it
// stops, and u = w for all. So J, W, v and w may move alone without contradiction, A stays
// singular, and w decides the classes. A convex slide needs w_n = mu |w_t|.

#include "gradient_plant.h"
#include "gradient_table.h"

#include "solvers/friction_reduced.h"

#include <math.h>
#include <string.h>

// ---- planted problems --------------------------------------------------------------------------

void plant_matrix(int m, uint64_t seed, double *A) {
    double G[9 * PLANT_MOST * PLANT_MOST];
    cr_test_rng rng = cr_test_rng_of(seed);
    for (int i = 0; i < m * m; i++) {
        G[i] = cr_test_uniform(&rng, -1.0, 1.0);
    }
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < m; j++) {
            A[i * m + j] = i == j ? 1.5 : 0.0;
            for (int k = 0; k < m; k++) {
                A[i * m + j] += 0.3 * G[i * m + k] * G[j * m + k];
            }
        }
    }
}

void plant_velocity(cri_friction_kind kind, const plant *p, double *u) {
    memcpy(u, p->u, 3 * sizeof *u);
    if (p->class == CRI_EDGE) {
        double middle[2], along[2];
        cri_octagon_side(p->face, middle, along);
        u[1] = -p->u[1] * along[1];
        u[2] = p->u[1] * along[0];
    }
    bool is_lifted = kind == CRI_CONVEX && p->class != CRI_STICK && p->class != CRI_BOUND_STICK;
    u[0] += is_lifted ? p->mu * hypot(u[1], u[2]) : 0.0;
}

// the corner that u_t drives f_t into
static int corner_against(const double *u) {
    int best = 0;
    double least = INFINITY;
    for (int k = 0; k < 8; k++) {
        double d[2];
        cri_octagon_corner(k, d);
        if (d[0] * u[1] + d[1] * u[2] < least) {
            least = d[0] * u[1] + d[1] * u[2];
            best = k;
        }
    }
    return best;
}

void plant_impulse(cri_friction_kind kind, const plant *p, double *f) {
    double slip = hypot(p->u[1], p->u[2]), pull = p->mu * p->f[0];
    memcpy(f, p->f, 3 * sizeof *f);
    if (p->class == CRI_EDGE) {
        // sin 22.5 degrees: half a side
        double middle[2], along[2], at = 0.38268343236508977 * p->f[1];
        cri_octagon_side(p->face, middle, along);
        f[1] = pull * (middle[0] + at * along[0]);
        f[2] = pull * (middle[1] + at * along[1]);
    } else if (kind == CRI_OCTAGON && p->class == CRI_SLIDE) {
        double d[2];
        cri_octagon_corner(corner_against(p->u), d);
        f[1] = pull * d[0];
        f[2] = pull * d[1];
    } else if (slip > 0.0 && p->class != CRI_OPEN) {
        f[1] = -pull * p->u[1] / slip;
        f[2] = -pull * p->u[2] / slip;
    }
}

void plant_problem(cri_friction_kind kind, int n, const plant *p, const double *A, double *f,
                   double *c) {
    double u[3 * PLANT_MOST], Af[3 * PLANT_MOST];
    for (int i = 0; i < n; i++) {
        plant_velocity(kind, &p[i], u + 3 * i);
        plant_impulse(kind, &p[i], f + 3 * i);
    }
    plant_multiply(3 * n, A, f, NULL, Af);
    for (int i = 0; i < 3 * n; i++) {
        c[i] = u[i] - Af[i];
    }
}

void plant_multiply(int m, const double *A, const double *z, const double *c, double *out) {
    for (int i = 0; i < m; i++) {
        out[i] = c ? c[i] : 0.0;
        for (int j = 0; j < m; j++) {
            out[i] += A[i * m + j] * z[j];
        }
    }
}

// ---- one solution ------------------------------------------------------------------------------

/// Layout of x = (A, c, mu, l) of a problem with n contacts.
typedef struct layout {
    int A, c, mu, l, end;
} layout;

static layout layout_of(int n) {
    layout at = {.c = 9 * n * n};
    at.mu = at.c + 3 * n;
    at.l = at.mu + n;
    at.end = at.l + n;
    return at;
}

/// The problem of the row and its last solution.
static struct {
    cri_friction_kind kind;
    int n;
    const plant *plant;
    cr_arena *keep, *scratch;
    cri_friction_cache cache;
    double data[TABLE_LIMIT]; // (A, c, mu, l) of the redundant problem
    double start[3 * PLANT_MOST], f[3 * PLANT_MOST];
} solved;

static void open_arenas(void) {
    size_t room = cri_friction_bytes(PLANT_MOST) + cri_friction_reduce_bytes(PLANT_MOST);
    solved.keep = cri_arena_create(room);
    solved.scratch = cri_arena_create(room);
    assert_true(solved.keep && solved.scratch);
}

static void close_arenas(void) {
    cri_arena_destroy(solved.keep);
    cri_arena_destroy(solved.scratch);
}

static cri_friction problem_at(const double *x) {
    layout at = layout_of(solved.n);
    return (cri_friction){.kind = solved.kind,
                          .n = solved.n,
                          .A = x + at.A,
                          .c = x + at.c,
                          .b = x + at.c,
                          .mu = x + at.mu,
                          .l = x + at.l};
}

static void friction_forward(const double *x, double *y) {
    cri_friction problem = problem_at(x);
    cri_arena_reset(solved.keep);
    cri_arena_reset(solved.scratch);
    memcpy(solved.f, solved.start, sizeof solved.f);
    cri_solve_report report = cri_friction_solve(&problem, solved.f, solved.scratch);
    CHECK_INT(report.outcome, CR_SOLVED);
    cri_friction_reduce(&problem, solved.f, NULL, true, &solved.cache, solved.keep, solved.scratch);
    memcpy(y, solved.f, sizeof(double) * 3 * (size_t)solved.n);
}

// A_adj = -p f' + z q', c_adj = -p
static void add_data_adj(const double *p, const double *z, double *x_adj) {
    layout at = layout_of(solved.n);
    int m = 3 * solved.n;
    for (int i = 0; i < m; i++) {
        x_adj[at.c + i] -= p[i];
        for (int j = 0; j < m; j++) {
            x_adj[at.A + i * m + j] -= p[i] * solved.f[j];
            x_adj[at.A + i * m + j] += solved.cache.n_null > 0 ? z[i] * solved.cache.q[j] : 0.0;
        }
    }
}

static void friction_vjp(const double *x, const double *y_adj, double *x_adj) {
    double p[3 * PLANT_MOST], z[3 * PLANT_MOST];
    cri_friction problem = problem_at(x);
    layout at = layout_of(solved.n);
    cri_friction_reduced_vjp(&problem, &solved.cache, y_adj, p, z, x_adj + at.mu, x_adj + at.l,
                             solved.scratch);
    add_data_adj(p, z, x_adj);
}

static void friction_jvp(const double *x, const double *x_tan, double *y_tan) {
    double rhs[3 * PLANT_MOST], A_q[3 * PLANT_MOST];
    cri_friction problem = problem_at(x), tan = problem_at(x_tan);
    plant_multiply(3 * solved.n, tan.A, solved.f, tan.c, rhs);
    if (solved.cache.n_null > 0) {
        plant_multiply(3 * solved.n, tan.A, solved.cache.q, NULL, A_q);
    }
    cri_friction_tan data = {.rhs = rhs, .A_q = A_q, .mu = tan.mu, .l = tan.l};
    cri_friction_reduced_jvp(&problem, &solved.cache, &data, y_tan, solved.scratch);
}

static const char *const kind_names[] = {"coulomb_reduced", "convex_reduced", "octagon_reduced"};

static void check_planted(cri_friction_kind kind, int n, const plant *p, uint64_t seed) {
    double x[TABLE_LIMIT] = {0}, f[3 * PLANT_MOST], y[3 * PLANT_MOST];
    table_move move[TABLE_LIMIT] = {0};
    layout at = layout_of(n);
    plant_matrix(3 * n, seed, x + at.A);
    plant_problem(kind, n, p, x + at.A, f, x + at.c);
    for (int i = 0; i < n; i++) {
        x[at.mu + i] = p[i].mu;
        x[at.l + i] = p[i].l;
        // an open contact with a bound is another class
        move[at.l + i] = p[i].l == 0.0 ? TABLE_HELD : TABLE_FREE;
        move[at.mu + i] = p[i].mu == 0.0 ? TABLE_UP : TABLE_FREE;
    }
    solved.kind = kind;
    solved.n = n;
    memset(solved.start, 0, sizeof solved.start);
    open_arenas();
    friction_forward(x, y);
    CHECK_INT(solved.cache.n_null, 0);
    for (int i = 0; i < 3 * n; i++) {
        CHECK_CLOSE(y[i], f[i], 1e-12, 1e-12); // the solver's tolerance
        CHECK_INT(solved.cache.contact[i / 3], p[i / 3].class);
    }
    table_check(&(table_row){.name = kind_names[kind],
                             .vjp_name = "cri_friction_reduced_vjp",
                             .jvp_name = "cri_friction_reduced_jvp",
                             .n_in = at.end,
                             .n_out = 3 * n,
                             .forward = friction_forward,
                             .vjp = friction_vjp,
                             .jvp = friction_jvp,
                             .x = x,
                             .move = move});
    close_arenas();
}

// of the sliding ones, the first has mu f_n < rho |u_t|, the second the opposite
static const plant plants[] = {
    {CRI_OPEN, .u = {0.7, 0.3, -0.5}, .mu = 0.4},
    {CRI_STICK, .f = {1.5, 0.2, -0.3}, .mu = 0.5, .l = 0.6},
    {CRI_SLIDE, .f = {1.2}, .u = {0.0, 1.9, -1.4}, .mu = 0.4, .l = 0.3},
    {CRI_SLIDE, .f = {2.2}, .u = {0.0, 0.2, -0.3}, .mu = 0.5, .l = 0.3},
    {CRI_BOUND_STICK, .f = {0.8, 0.1, -0.2}, .u = {0.9, 0.0, 0.0}, .mu = 0.5, .l = 0.8},
    {CRI_BOUND_SLIDE, .f = {0.8}, .u = {0.9, 1.8, -1.1}, .mu = 0.4, .l = 0.8},
    {CRI_BOUND_SLIDE, .f = {1.8}, .u = {0.9, 0.2, -0.3}, .mu = 0.5, .l = 1.8},
};

// an octagon has no bounds; corners and sides in all quadrants
static const plant octagon_plants[] = {
    {CRI_OPEN, .u = {0.7, 0.3, -0.5}, .mu = 0.4},
    {CRI_STICK, .f = {1.5, 0.2, -0.3}, .mu = 0.5},
    {CRI_SLIDE, .f = {1.2}, .u = {0.0, 1.9, -0.3}, .mu = 0.4},
    {CRI_SLIDE, .f = {2.2}, .u = {0.0, -0.3, 0.25}, .mu = 0.5},
    {CRI_EDGE, .f = {1.4, 0.3}, .u = {0.0, 0.8}, .mu = 0.4, .face = 0},
    {CRI_EDGE, .f = {1.1, -0.6}, .u = {0.0, 0.3}, .mu = 0.5, .face = 3},
    {CRI_EDGE, .f = {0.9, 0.2}, .u = {0.0, 1.3}, .mu = 0.6, .face = 5},
    {CRI_EDGE, .f = {1.7, -0.1}, .u = {0.0, 0.5}, .mu = 0.3, .face = 6},
};

TEST(the_impulse_of_one_contact_has_its_gradient_in_every_class) {
    for (int i = 0; i < 7; i++) {
        check_planted(CRI_COULOMB, 1, &plants[i], 11 + (uint64_t)i);
        check_planted(CRI_CONVEX, 1, &plants[i], 11 + (uint64_t)i);
    }
    for (int i = 0; i < 8; i++) {
        check_planted(CRI_OCTAGON, 1, &octagon_plants[i], 21 + (uint64_t)i);
    }
}

TEST(impulses_of_coupled_contacts_have_their_gradients) {
    for (int k = 0; k < 2; k++) {
        cri_friction_kind kind = k == 0 ? CRI_COULOMB : CRI_CONVEX;
        check_planted(kind, 3, (const plant[]){plants[0], plants[1], plants[2]}, 31);
        check_planted(kind, 3, (const plant[]){plants[3], plants[4], plants[5]}, 32);
        check_planted(kind, 3, (const plant[]){plants[2], plants[6], plants[1]}, 33);
    }
    const plant *o = octagon_plants;
    check_planted(CRI_OCTAGON, 3, (const plant[]){o[0], o[1], o[4]}, 34);
    check_planted(CRI_OCTAGON, 3, (const plant[]){o[2], o[5], o[7]}, 35);
    check_planted(CRI_OCTAGON, 3, (const plant[]){o[3], o[1], o[6]}, 36);
}

TEST(friction_from_none_has_its_one_sided_gradient) {
    static const plant slide = {CRI_SLIDE, .f = {1.2}, .u = {0.0, 0.9, -0.4}, .l = 0.3};
    static const plant bound = {CRI_BOUND_SLIDE, .f = {0.8}, .u = {0.9, 0.8, -0.7}, .l = 0.8};
    static const plant corner = {CRI_SLIDE, .f = {1.2}, .u = {0.0, 0.9, -0.2}};
    for (int k = 0; k < 2; k++) {
        cri_friction_kind kind = k == 0 ? CRI_COULOMB : CRI_CONVEX;
        check_planted(kind, 1, &slide, 41);
        check_planted(kind, 1, &bound, 42);
        check_planted(kind, 3, (const plant[]){slide, plants[1], bound}, 43);
    }
    check_planted(CRI_OCTAGON, 1, &corner, 44);
    check_planted(CRI_OCTAGON, 2, (const plant[]){corner, octagon_plants[1]}, 45);
}

// ---- redundant contacts ------------------------------------------------------------------------

enum {
    N_DOF = 6,
    AT_W = 3 * PLANT_MOST * N_DOF, // x = (J, W, v, mu, l, w)
    AT_V = AT_W + N_DOF,
    AT_MU = AT_V + N_DOF,
    AT_L = AT_MU + PLANT_MOST,
    AT_GROUND = AT_L + PLANT_MOST,
    N_GROUND_IN = AT_GROUND + 3 * PLANT_MOST,
};

// a convex slide has w_n = mu |w_t|, and the edge of an octagon a direction of its own
static bool is_lifted(int i) {
    return solved.kind == CRI_CONVEX && solved.plant[i].class == CRI_SLIDE;
}

// w (3) of contact i, from its plant's u
static void ground_of(const double *x, int i, double *w) {
    plant p = solved.plant[i];
    memcpy(p.u, x + AT_GROUND + 3 * i, sizeof p.u);
    p.mu = is_lifted(i) ? x[AT_MU + i] : 0.0;
    plant_velocity(solved.kind, &p, w);
}

static void ground_vjp_of(const double *x, int i, const double *w_adj, double *x_adj) {
    double w[3], middle[2], along[2], *u_adj = x_adj + AT_GROUND + 3 * i;
    ground_of(x, i, w);
    u_adj[0] += w_adj[0];
    if (solved.plant[i].class == CRI_EDGE) {
        cri_octagon_side(solved.plant[i].face, middle, along);
        u_adj[1] += along[0] * w_adj[2] - along[1] * w_adj[1];
        return;
    }
    double slip = hypot(w[1], w[2]), lift = is_lifted(i) ? x[AT_MU + i] / slip : 0.0;
    for (int r = 1; r < 3; r++) {
        u_adj[r] += w_adj[r] + lift * w[r] * w_adj[0];
    }
    x_adj[AT_MU + i] += is_lifted(i) ? slip * w_adj[0] : 0.0;
}

static void build_ground(const double *x, double *data) {
    int m = 3 * solved.n;
    layout at = layout_of(solved.n);
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < m; j++) {
            data[at.A + i * m + j] = 0.0;
            for (int k = 0; k < N_DOF; k++) {
                data[at.A + i * m + j] += x[N_DOF * i + k] * x[AT_W + k] * x[N_DOF * j + k];
            }
        }
    }
    for (int i = 0; i < solved.n; i++) {
        ground_of(x, i, data + at.c + 3 * i);
        data[at.mu + i] = x[AT_MU + i];
        data[at.l + i] = x[AT_L + i];
    }
    for (int i = 0; i < m * N_DOF; i++) {
        data[at.c + i / N_DOF] += x[i] * x[AT_V + i % N_DOF];
    }
}

static void ground_forward(const double *x, double *y) {
    build_ground(x, solved.data);
    friction_forward(solved.data, y);
}

static void ground_vjp(const double *x, const double *y_adj, double *x_adj) {
    double adj[TABLE_LIMIT] = {0};
    int m = 3 * solved.n;
    layout at = layout_of(solved.n);
    friction_vjp(solved.data, y_adj, adj);
    for (int i = 0; i < m; i++) {
        for (int k = 0; k < N_DOF; k++) {
            for (int j = 0; j < m; j++) {
                double g = adj[at.A + i * m + j], Ji = x[N_DOF * i + k], Jj = x[N_DOF * j + k];
                x_adj[N_DOF * i + k] += g * x[AT_W + k] * Jj;
                x_adj[N_DOF * j + k] += g * x[AT_W + k] * Ji;
                x_adj[AT_W + k] += g * Ji * Jj;
            }
            x_adj[N_DOF * i + k] += adj[at.c + i] * x[AT_V + k];
            x_adj[AT_V + k] += adj[at.c + i] * x[N_DOF * i + k];
        }
    }
    for (int i = 0; i < solved.n; i++) {
        x_adj[AT_MU + i] += adj[at.mu + i];
        x_adj[AT_L + i] += adj[at.l + i];
        ground_vjp_of(x, i, adj + at.c + 3 * i, x_adj);
    }
}

// A_tan and c_tan; that of w by the transpose of its adjoint, row by row
static void ground_jvp(const double *x, const double *x_tan, double *y_tan) {
    double tan[TABLE_LIMIT] = {0};
    int m = 3 * solved.n;
    layout at = layout_of(solved.n);
    for (int i = 0; i < m; i++) {
        for (int k = 0; k < N_DOF; k++) {
            double Ji = x[N_DOF * i + k], Ji_tan = x_tan[N_DOF * i + k], W = x[AT_W + k];
            for (int j = 0; j < m; j++) {
                double Jj = x[N_DOF * j + k], Jj_tan = x_tan[N_DOF * j + k];
                tan[at.A + i * m + j] +=
                    Ji_tan * W * Jj + Ji * W * Jj_tan + Ji * x_tan[AT_W + k] * Jj;
            }
            tan[at.c + i] += Ji_tan * x[AT_V + k] + Ji * x_tan[AT_V + k];
        }
        double unit[3] = {0}, row[TABLE_LIMIT] = {0};
        unit[i % 3] = 1.0;
        ground_vjp_of(x, i / 3, unit, row);
        for (int k = AT_MU; k < N_GROUND_IN; k++) {
            tan[at.c + i] += row[k] * x_tan[k];
        }
    }
    memcpy(tan + at.mu, x_tan + AT_MU, sizeof *tan * (size_t)solved.n);
    memcpy(tan + at.l, x_tan + AT_L, sizeof *tan * (size_t)solved.n);
    friction_jvp(solved.data, tan, y_tan);
}

// contacts around a body, normals upwards but for a tilt: three that stick stop it
static void fill_ground(const plant *p, uint64_t seed, double *x, table_move *move) {
    static const double arm[PLANT_MOST][3] = {
        {0.9, 0.5, -0.4}, {-0.7, 0.8, -0.5}, {-0.2, -0.9, -0.3}, {0.3, -0.4, -0.6}};
    cr_test_rng rng = cr_test_rng_of(seed);
    double f[3 * PLANT_MOST];
    for (int i = 0; i < 3 * PLANT_MOST; i++) {
        const double *r = arm[i / 3];
        double d[3] = {i % 3 == 1, i % 3 == 2, i % 3 == 0};
        for (int k = 0; k < 3; k++) {
            d[k] += cr_test_uniform(&rng, -0.15, 0.15);
        }
        double *J = x + N_DOF * i;
        memcpy(J, d, sizeof d);
        J[3] = r[1] * d[2] - r[2] * d[1];
        J[4] = r[2] * d[0] - r[0] * d[2];
        J[5] = r[0] * d[1] - r[1] * d[0];
        plant_impulse(solved.kind, &p[i / 3], f + 3 * (i / 3));
    }
    for (int k = 0; k < N_DOF; k++) {
        x[AT_W + k] = cr_test_uniform(&rng, 0.8, 1.5);
        move[AT_W + k] = TABLE_POSITIVE;
        // v + W J'f = 0
        for (int i = 0; i < 3 * PLANT_MOST; i++) {
            x[AT_V + k] -= x[AT_W + k] * x[N_DOF * i + k] * f[i];
        }
    }
    for (int i = 0; i < PLANT_MOST; i++) {
        bool is_still = p[i].class == CRI_STICK || p[i].class == CRI_BOUND_STICK;
        bool is_bound = p[i].class == CRI_BOUND_STICK || p[i].class == CRI_BOUND_SLIDE;
        x[AT_MU + i] = p[i].mu;
        x[AT_L + i] = p[i].l;
        move[AT_L + i] = is_bound ? TABLE_FREE : TABLE_HELD;
        memcpy(x + AT_GROUND + 3 * i, p[i].u, sizeof p[i].u);
        move[AT_GROUND + 3 * i] = is_bound || p[i].class == CRI_OPEN ? TABLE_FREE : TABLE_HELD;
        move[AT_GROUND + 3 * i + 1] = is_still ? TABLE_HELD : TABLE_FREE;
        move[AT_GROUND + 3 * i + 2] = is_still || p[i].class == CRI_EDGE ? TABLE_HELD : TABLE_FREE;
    }
    memcpy(solved.start, f, sizeof f);
}

static void check_ground(cri_friction_kind kind, const plant *p, int n_null, uint64_t seed) {
    double x[TABLE_LIMIT] = {0}, y[3 * PLANT_MOST];
    table_move move[TABLE_LIMIT] = {0};
    solved.kind = kind;
    solved.n = PLANT_MOST;
    solved.plant = p;
    fill_ground(p, seed, x, move);
    open_arenas();
    ground_forward(x, y);
    CHECK_INT(solved.cache.n_null, n_null);
    CHECK(!solved.cache.is_one_sided);
    for (int i = 0; i < PLANT_MOST; i++) {
        CHECK_INT(solved.cache.contact[i], p[i].class);
    }
    // of several solutions Newton's method finds one that is near
    memcpy(solved.start, y, sizeof y);
    table_check(&(table_row){.name = kind_names[kind],
                             .vjp_name = "cri_friction_reduced_vjp",
                             .jvp_name = "cri_friction_reduced_jvp",
                             .n_in = N_GROUND_IN,
                             .n_out = 3 * PLANT_MOST,
                             .forward = ground_forward,
                             .vjp = ground_vjp,
                             .jvp = ground_jvp,
                             .x = x,
                             .move = move,
                             .step = 1e-3, // impulses near the edges of their cones
                             .tolerance = 1e-6,
                             .size = TABLE_REDUNDANT});
    close_arenas();
}

static const plant still = {CRI_STICK, .f = {1.5, 0.1, -0.1}, .mu = 0.9};
static const plant held = {CRI_BOUND_STICK, .f = {1.3, 0.1, -0.1}, .u = {0.8}, .mu = 0.9, .l = 1.3};

TEST(impulses_of_redundant_contacts_have_their_gradients) {
    const plant *o = octagon_plants;
    for (int k = 0; k < 3; k++) {
        cri_friction_kind kind = (cri_friction_kind)k;
        const plant none = {CRI_OPEN, .u = {0.7, 0.3, -0.5}, .mu = 0.4};
        const plant slide = {CRI_SLIDE, .f = {1.2}, .u = {0.0, 1.9, -0.4}, .mu = 0.4};
        const plant creep = {CRI_SLIDE, .f = {1.6}, .u = {0.0, -0.7, 0.4}, .mu = 0.5};
        check_ground(kind, (const plant[]){still, still, none, still}, 3, 81);
        check_ground(kind, (const plant[]){still, still, still, still}, 6, 82);
        check_ground(kind, (const plant[]){still, slide, still, still}, 4, 83);
        check_ground(kind, (const plant[]){still, creep, still, still}, 4, 84);
    }
    for (int k = 0; k < 2; k++) {
        cri_friction_kind kind = k == 0 ? CRI_COULOMB : CRI_CONVEX;
        const plant drag = {CRI_BOUND_SLIDE, .f = {0.8}, .u = {0.9, 0.8, -0.7}, .mu = 0.4,
                            .l = 0.8};
        check_ground(kind, (const plant[]){still, held, still, drag}, 2, 85);
        check_ground(kind, (const plant[]){held, held, held, held}, 2, 86);
    }
    check_ground(CRI_OCTAGON, (const plant[]){still, o[4], still, still}, 5, 87);
    check_ground(CRI_OCTAGON, (const plant[]){o[5], still, still, still}, 5, 88);
}

// (rhs, x), y of the columns
static void columns_forward(const double *x, double *y) {
    cri_friction_solve_columns(&solved.cache, x, x + solved.cache.m, y, solved.scratch);
}

static void columns_vjp(const double *x, const double *y_adj, double *x_adj) {
    (void)x;
    int m = solved.cache.m;
    double adj[6 * PLANT_MOST];
    cri_friction_solve_columns_vjp(&solved.cache, y_adj, adj, adj + m, solved.scratch);
    for (int i = 0; i < m + 3 * solved.n; i++) {
        x_adj[i] += adj[i];
    }
}

TEST(the_solve_of_columns_has_its_gradient) {
    const plant slide = {CRI_SLIDE, .f = {1.2}, .u = {0.0, 1.9, -0.4}, .mu = 0.4};
    const plant sliding[] = {still, slide, still, still}, resting[] = {still, still, still, still};
    double x[TABLE_LIMIT] = {0}, y[3 * PLANT_MOST];
    for (int k = 0; k < 6; k++) {
        const plant *p = k < 3 ? sliding : resting;
        table_move move[TABLE_LIMIT] = {0};
        memset(x, 0, sizeof x);
        solved.kind = (cri_friction_kind)(k % 3);
        solved.n = PLANT_MOST;
        solved.plant = p;
        fill_ground(p, 83, x, move);
        open_arenas();
        ground_forward(x, y);
        for (int i = 0; i < TABLE_LIMIT; i++) {
            x[i] = 0.1 * ((7 * i) % 11 - 5);
        }
        table_check(&(table_row){.name = "solve_columns",
                                 .vjp_name = "cri_friction_solve_columns_vjp",
                                 .n_in = solved.cache.m + 3 * solved.n,
                                 .n_out = solved.cache.m,
                                 .forward = columns_forward,
                                 .vjp = columns_vjp,
                                 .x = x});
        close_arenas();
    }
}

TABLE_PART(gradient_table_solver, the_impulse_of_one_contact_has_its_gradient_in_every_class,
           impulses_of_coupled_contacts_have_their_gradients,
           friction_from_none_has_its_one_sided_gradient,
           impulses_of_redundant_contacts_have_their_gradients,
           the_solve_of_columns_has_its_gradient)
