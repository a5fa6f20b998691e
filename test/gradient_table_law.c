// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: the contact laws, around planted solutions of their first solve
// (gradient_plant.h). A is symmetric and generic; its entries are moved one by one.

#include "gradient_plant.h"
#include "gradient_table.h"

#include "contact/law.h"

#include <math.h>
#include <string.h>

/// What a law is made of, as its own file says.
typedef struct form {
    const char *name;
    cri_friction_kind kind;
    bool is_poisson;
    double epsilon; // 1/kg
} form;

static const form forms[] = {
    {"ncp", CRI_COULOMB, .is_poisson = false},
    {"ncp-poisson", CRI_COULOMB, .is_poisson = true},
    {"cone", CRI_CONVEX, .is_poisson = true},
    {"cone-reg", CRI_CONVEX, .is_poisson = true, .epsilon = 0.01},
    {"lcp", CRI_OCTAGON, .is_poisson = false},
};

enum { N_FORM = sizeof forms / sizeof forms[0] };

/// Layout of x = (A, b, mu, e, target), all of a problem with n contacts.
typedef struct layout {
    int A, c, mu, l, target, end;
} layout;

static layout layout_of(int n) {
    layout at = {.c = 9 * n * n};
    at.mu = at.c + 3 * n;
    at.l = at.mu + n;
    at.target = at.l + n;
    at.end = at.target + n;
    return at;
}

/// The problem of the row and its last solution.
static struct {
    int n;
    cr_arena *keep, *scratch;
    double x[TABLE_LIMIT]; // what the law's cache points to
    double f[3 * PLANT_MOST];
    const cri_law *law;
    bool is_plain[PLANT_MOST];
    const void *law_cache;
} solved;

static cri_contact_problem contact_problem_at(const double *x) {
    layout at = layout_of(solved.n);
    return (cri_contact_problem){.n = solved.n,
                                 .A = x + at.A,
                                 .b = x + at.c,
                                 .mu = x + at.mu,
                                 .e = x + at.l,
                                 .target = x + at.target,
                                 .is_plain = solved.is_plain};
}

static void law_forward(const double *x, double *y) {
    bool is_sliding[PLANT_MOST];
    memcpy(solved.x, x, sizeof *x * (size_t)layout_of(solved.n).end);
    cri_contact_problem problem = contact_problem_at(solved.x);
    cri_law_report report = {.margin = 1.0, .is_sliding = is_sliding};
    cri_arena_reset(solved.keep);
    cri_arena_reset(solved.scratch);
    memset(solved.f, 0, sizeof solved.f);
    solved.law_cache =
        solved.law->solve(&problem, solved.f, true, &report, solved.keep, solved.scratch);
    CHECK_INT(report.outcome, CR_SOLVED);
    memcpy(y, solved.f, sizeof(double) * 3 * (size_t)solved.n);
}

static void law_vjp(const double *x, const double *y_adj, double *x_adj) {
    (void)x;
    cri_contact_problem problem = contact_problem_at(solved.x);
    layout at = layout_of(solved.n);
    int m = 3 * solved.n;
    cri_contact_adj adj;
    cri_arena_mark mark = cri_arena_get_mark(solved.scratch);
    solved.law->vjp(&problem, solved.law_cache, solved.f, y_adj, &adj, solved.scratch);
    for (int k = 0; k < adj.n_outer; k++) {
        for (int i = 0; i < m * m; i++) {
            x_adj[at.A + i] += adj.left[k][i / m] * adj.right[k][i % m];
        }
    }
    for (int i = 0; i < m; i++) {
        x_adj[at.c + i] += adj.b[i];
    }
    for (int i = 0; i < solved.n; i++) {
        x_adj[at.mu + i] += adj.mu[i];
        x_adj[at.l + i] += adj.e[i];
        x_adj[at.target + i] += adj.target[i];
    }
    cri_arena_rewind(solved.scratch, mark);
}

static void apply_A_tan(const void *context, const double *z, double *out) {
    plant_multiply(3 * solved.n, context, z, NULL, out);
}

static void law_jvp(const double *x, const double *x_tan, double *y_tan) {
    (void)x;
    cri_contact_problem problem = contact_problem_at(solved.x), moved = contact_problem_at(x_tan);
    cri_contact_tan tan = {.apply_A = apply_A_tan,
                           .context = moved.A,
                           .b = moved.b,
                           .mu = moved.mu,
                           .e = moved.e,
                           .target = moved.target};
    solved.law->jvp(&problem, solved.law_cache, solved.f, &tan, y_tan, solved.scratch);
}

/// A planted contact of a law: plant is that of its first solve.
typedef struct law_plant {
    plant plant;
    double e, target;
    bool is_plain;
} law_plant;

// the problem around the plants: x (at.end)
static void plant_law(const form *law, int n, const law_plant *p, const double *A, double *x) {
    double f[3 * PLANT_MOST], soft[9 * PLANT_MOST * PLANT_MOST];
    plant plants[PLANT_MOST] = {0};
    layout at = layout_of(n);
    int m = 3 * n;
    memcpy(x + at.A, A, sizeof *A * (size_t)(m * m));
    memcpy(soft, A, sizeof *A * (size_t)(m * m));
    for (int i = 0; i < m; i++) {
        soft[i * (m + 1)] += p[i / 3].is_plain ? 0.0 : law->epsilon; // none at rest
    }
    for (int i = 0; i < n; i++) {
        plants[i] = p[i].plant;
        x[at.mu + i] = p[i].plant.mu;
        x[at.l + i] = p[i].e;
        x[at.target + i] = p[i].target;
    }
    plant_problem(law->kind, n, plants, soft, f, x + at.c);
    for (int i = 0; !law->is_poisson && i < n; i++) {
        // c_n = b_n - max(e max(0, -b_n), target)
        double *b = &x[at.c + 3 * i], bounced = *b < 0.0 ? *b / (1.0 + p[i].e) : *b;
        bool takes_target = p[i].is_plain || bounced - *b < p[i].target;
        *b = takes_target ? *b + p[i].target : bounced;
    }
}

static void check_matrix(const form *law, int n, const law_plant *p, const double *A) {
    bool is_kink = false;
    double x[TABLE_LIMIT] = {0};
    table_move move[TABLE_LIMIT] = {0};
    layout at = layout_of(n);
    plant_law(law, n, p, A, x);
    for (int i = 0; i < n; i++) {
        solved.is_plain[i] = p[i].is_plain;
        // whether a plain contact at e = 0 may bounce is the caller's decision
        move[at.l + i] = p[i].is_plain ? TABLE_HELD : p[i].e == 0.0 ? TABLE_UP : TABLE_FREE;
        move[at.mu + i] = p[i].plant.mu == 0.0 ? TABLE_UP : TABLE_FREE;
        is_kink = is_kink || (!p[i].is_plain && p[i].e == 0.0 && law->is_poisson);
    }
    solved.n = n;
    solved.law = cri_law_find(law->name);
    solved.keep = cri_arena_create(solved.law->n_byte(n));
    solved.scratch = cri_arena_create(solved.law->n_byte(n));
    assert_true(solved.keep && solved.scratch);
    table_check(&(table_row){.name = law->name,
                             .vjp_name = "impulse_vjp",
                             .jvp_name = "impulse_jvp",
                             .n_in = at.end,
                             .n_out = 3 * n,
                             .forward = law_forward,
                             .vjp = law_vjp,
                             .jvp = law_jvp,
                             .x = x,
                             .move = move,
                             // at e = 0 the second solve is read off one with a bound of 1e-7
                             .tolerance = is_kink ? 1e-6 : 0.0});
    cri_arena_destroy(solved.keep);
    cri_arena_destroy(solved.scratch);
}

static void check_law(const form *law, int n, const law_plant *p, uint64_t seed) {
    double A[9 * PLANT_MOST * PLANT_MOST];
    plant_matrix(3 * n, seed, A);
    check_matrix(law, n, p, A);
}

static const plant open_plant = {CRI_OPEN, .u = {0.7, 0.3, -0.5}, .mu = 0.4};
static const plant stick = {CRI_STICK, .f = {1.5, 0.2, -0.3}, .mu = 0.5};
static const plant slide = {CRI_SLIDE, .f = {1.2}, .u = {0.0, 1.9, -1.2}, .mu = 0.4};
static const plant creep = {CRI_SLIDE, .f = {2.2}, .u = {0.0, 0.15, -0.3}, .mu = 0.5};
static const plant edge = {CRI_EDGE, .f = {1.4, 0.3}, .u = {0.0, 0.8}, .mu = 0.4, .face = 2};

TEST(newton_restitution_has_its_gradient) {
    for (int k = 0; k < N_FORM; k++) {
        const form *law = &forms[k];
        if (law->is_poisson) {
            continue;
        }
        // restitution, a target above it, a target alone
        check_law(law, 1, &(law_plant){stick, .e = 0.6, .target = 0.1}, 51);
        check_law(law, 1, &(law_plant){slide, .e = 0.6, .target = 0.1}, 52);
        check_law(law, 1, &(law_plant){stick, .e = 0.1, .target = 2.5}, 53);
        check_law(law, 1, &(law_plant){slide, .e = 0.6, .target = 0.4, .is_plain = true}, 54);
        check_law(law, 1, &(law_plant){open_plant, .e = 0.6, .target = 0.1}, 55);
        // without restitution: no kink
        check_law(law, 1, &(law_plant){slide, .e = 0.0, .target = -0.1}, 57);
        const law_plant three[] = {{stick, .e = 0.6, .target = 0.1},
                                   {slide, .e = 0.4, .target = 0.3, .is_plain = true},
                                   {creep, .e = 0.2, .target = 3.0}};
        check_law(law, 3, three, 56);
    }
    const law_plant two[] = {{edge, .e = 0.6, .target = 0.1}, {stick, .e = 0.4, .target = 0.3}};
    check_law(&forms[4], 1, two, 58);
    check_law(&forms[4], 2, two, 59);
}

TEST(a_contact_pressed_by_another_while_it_opens_has_its_gradient) {
    // normals pull at each other, so that the first has b_n > 0 and closes
    static const double A[36] = {1.0,  0.1,  -0.2, -0.7, 0.0,  0.1, 0.1,  1.1, 0.05, 0.1, 0.2, 0.0,
                                 -0.2, 0.05, 1.2,  0.0,  -0.1, 0.1, -0.7, 0.1, 0.0,  0.9, 0.1, 0.1,
                                 0.0,  0.2,  -0.1, 0.1,  1.3,  0.0, 0.1,  0.0, 0.1,  0.1, 0.0, 1.0};
    plant hit = stick;
    hit.f[0] = 3.0;
    const law_plant two[] = {{stick, .e = 0.6, .target = -0.2}, {hit, .e = 0.5, .target = -0.1}};
    for (int k = 0; k < N_FORM; k++) {
        check_matrix(&forms[k], 2, two, A);
    }
}

TEST(poisson_restitution_has_its_gradient) {
    for (int k = 0; k < N_FORM; k++) {
        const form *law = &forms[k];
        if (!law->is_poisson) {
            continue;
        }
        // classes of the second solve: bound stick, bound slide, bound stick, stick, slide, open
        check_law(law, 1, &(law_plant){stick, .e = 0.6, .target = 0.1}, 61);
        check_law(law, 1, &(law_plant){slide, .e = 0.6, .target = 0.1}, 62);
        check_law(law, 1, &(law_plant){creep, .e = 0.6, .target = 0.1}, 63);
        check_law(law, 1, &(law_plant){stick, .e = 0.2, .target = 2.5}, 64);
        check_law(law, 1, &(law_plant){slide, .e = 0.2, .target = 2.5}, 65);
        check_law(law, 1, &(law_plant){open_plant, .e = 0.6, .target = 0.1}, 66);
        check_law(law, 1, &(law_plant){slide, .e = 0.6, .target = 0.4, .is_plain = true}, 67);
        const law_plant three[] = {{stick, .e = 0.6, .target = 0.1},
                                   {slide, .e = 0.4, .target = 0.9, .is_plain = true},
                                   {creep, .e = 0.3, .target = 0.2}};
        check_law(law, 3, three, 68);
    }
}

TEST(restitution_from_none_has_its_one_sided_gradient) {
    for (int k = 0; k < N_FORM; k++) {
        check_law(&forms[k], 1, &(law_plant){stick, .e = 0.0, .target = -0.1}, 71);
        check_law(&forms[k], 1, &(law_plant){slide, .e = 0.0, .target = -0.1}, 72);
    }
}

TEST(friction_of_laws_from_none_has_its_one_sided_gradient) {
    static const plant smooth = {CRI_SLIDE, .f = {1.2}, .u = {0.0, 0.9, -0.2}};
    for (int k = 0; k < N_FORM; k++) {
        check_law(&forms[k], 1, &(law_plant){smooth, .e = 0.6, .target = -0.1}, 73);
        const law_plant two[] = {{smooth, .e = 0.6, .target = -0.1}, {stick, .e = 0.6}};
        check_law(&forms[k], 2, two, 74);
    }
}

TABLE_PART(gradient_table_law, newton_restitution_has_its_gradient,
           a_contact_pressed_by_another_while_it_opens_has_its_gradient,
           poisson_restitution_has_its_gradient, restitution_from_none_has_its_one_sided_gradient,
           friction_of_laws_from_none_has_its_one_sided_gradient)
