// SPDX-License-Identifier: MIT
//
// The cone programme by its interior point, on random problems of bodies: A = J W J', c = J v.
//
// Optimality is judged from raw data. With u = A f + c the multiplier of the bound may be at most
// y = u_n - mu |u_t|, and f is optimal if and only if it is admissible, y >= 0, and the gap
// u'f - y l vanishes in every contact: z = u - y e_n is then in the dual cone and z'f = 0. A slow
// method with a projection of its own (accelerated projected gradient) finds the same velocities.

#include "cr_test.h"
#include "solvers/cone_qp.h"

#include <math.h>
#include <string.h>

enum { N_MOST = 12, M_MOST = 3 * N_MOST, DOF_MOST = 6 * N_MOST };

// ---- random problems ---------------------------------------------------------------------------

typedef enum family {
    LOOSE,   // every contact between bodies of its own choice
    FACE,    // one body on points of one plane: redundant from three on
    DOUBLED, // every contact twice
    WEDGED,  // one body between opposed normals
    HEAVY,   // a chain of bodies, each a thousand times heavier: mass ratios to 1e6
    N_KIND,
} family;

/// A problem in scaled variables, as friction.c makes it.
typedef struct sample {
    int n, n_dof;
    double J[M_MOST * DOF_MOST], W[DOF_MOST];
    double A[M_MOST * M_MOST], c[M_MOST], mu[N_MOST], l[N_MOST];
} sample;

static cri_friction problem_of(const sample *s) {
    return (cri_friction){
        .kind = CRI_CONVEX, .n = s->n, .A = s->A, .c = s->c, .b = s->c, .mu = s->mu, .l = s->l};
}

static void cross(const double *a, const double *b, double *out) {
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        out[i] = a[j] * b[k] - a[k] * b[j];
    }
}

// rows of a contact at r of one body, 3 by 3 directions in d
static void set_rows(sample *s, int i, int body, const double *r, const double *d, double sign) {
    for (int k = 0; k < 3; k++) {
        double *row = s->J + (size_t)(3 * i + k) * DOF_MOST + 6 * body;
        cross(r, d + 3 * k, row + 3);
        for (int j = 0; j < 3; j++) {
            row[j] = sign * d[3 * k + j];
            row[3 + j] *= sign;
        }
    }
}

// directions (3, 3) of a frame whose first is along n
static void frame(const double *n, double *d) {
    double any[3] = {0.3, -0.5, 0.8}, size = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    for (int j = 0; j < 3; j++) {
        d[j] = n[j] / size;
    }
    cross(d, any, d + 3);
    size = sqrt(d[3] * d[3] + d[4] * d[4] + d[5] * d[5]);
    for (int j = 3; j < 6; j++) {
        d[j] /= size;
    }
    cross(d, d + 3, d + 6);
}

static void add_contact(sample *s, family kind, int i, int n_body, cr_test_rng *rng) {
    double n[3], r[3], r2[3], d[9];
    for (int j = 0; j < 3; j++) {
        n[j] = cr_test_uniform(rng, -1.0, 1.0);
        r[j] = cr_test_uniform(rng, -0.5, 0.5);
        r2[j] = cr_test_uniform(rng, -0.5, 0.5);
    }
    if (kind == FACE || kind == WEDGED) {
        n[0] = n[1] = 0.0;
        n[2] = kind == WEDGED && i % 2 ? -1.0 : 1.0;
        r[2] = -0.5 * n[2];
    }
    frame(n, d);
    int one = (int)cr_test_uniform(rng, 0.0, n_body), other = one - 1; // -1: the world
    set_rows(s, i, one, r, d, 1.0);
    if (other >= 0) {
        set_rows(s, i, other, r2, d, -1.0);
    }
}

// A = J W J', c = J v
static void assemble(sample *s, cr_test_rng *rng) {
    int m = 3 * s->n;
    double v[DOF_MOST];
    for (int k = 0; k < s->n_dof; k++) {
        v[k] = cr_test_uniform(rng, -1.0, 1.0);
    }
    for (int i = 0; i < m; i++) {
        const double *a = s->J + (size_t)i * DOF_MOST;
        s->c[i] = 0.0;
        for (int k = 0; k < s->n_dof; k++) {
            s->c[i] += a[k] * v[k];
        }
        for (int j = 0; j < m; j++) {
            const double *b = s->J + (size_t)j * DOF_MOST;
            s->A[i * m + j] = 0.0;
            for (int k = 0; k < s->n_dof; k++) {
                s->A[i * m + j] += a[k] * s->W[k] * b[k];
            }
        }
    }
}

// diagonal blocks get a trace of 3, data the size 1
static void scale(sample *s) {
    int m = 3 * s->n;
    double r[N_MOST], largest = 1e-300;
    for (int i = 0; i < s->n; i++) {
        double trace = 0.0;
        for (int k = 0; k < 3; k++) {
            trace += s->A[(3 * i + k) * (m + 1)];
        }
        r[i] = sqrt(3.0 / trace);
        largest = fmax(largest, s->l[i] / r[i]);
        for (int k = 0; k < 3; k++) {
            largest = fmax(largest, fabs(s->c[3 * i + k]) * r[i]);
        }
    }
    for (int i = 0; i < m; i++) {
        s->c[i] *= r[i / 3] / largest;
        for (int j = 0; j < m; j++) {
            s->A[i * m + j] *= r[i / 3] * r[j / 3];
        }
    }
    for (int i = 0; i < s->n; i++) {
        s->l[i] /= r[i] * largest;
    }
}

static sample make_sample(family kind, int n, uint64_t seed) {
    sample s = {.n = n};
    cr_test_rng rng = cr_test_rng_of(1000 * seed + 10 * (uint64_t)n + (uint64_t)kind);
    int n_body = kind == HEAVY ? 3 : kind == LOOSE || kind == DOUBLED ? (n + 1) / 2 : 1;
    s.n_dof = 6 * n_body;
    for (int b = 0; b < n_body; b++) {
        double mass = kind == HEAVY ? pow(1000.0, b) : cr_test_uniform(&rng, 0.5, 2.0);
        for (int k = 0; k < 6; k++) {
            s.W[6 * b + k] = k < 3 ? 1.0 / mass : 1.0 / (mass * cr_test_uniform(&rng, 0.05, 0.2));
        }
    }
    for (int i = 0; i < n; i++) {
        double coin = cr_test_uniform(&rng, 0.0, 1.0), bound = cr_test_uniform(&rng, -1.0, 1.0);
        s.mu[i] = coin < 0.2 ? 0.0 : coin; // one in five is a limit
        s.l[i] = seed % 3 == 0 ? fmax(0.0, bound) : 0.0;
        add_contact(&s, kind, i, n_body, &rng);
        if (kind == DOUBLED && i % 2) {
            size_t row = 3 * DOF_MOST;
            memcpy(s.J + (size_t)i * row, s.J + (size_t)(i - 1) * row, row * sizeof *s.J);
        }
    }
    assemble(&s, &rng);
    scale(&s);
    return s;
}

// the same with contacts in the reverse order
static sample reversed(const sample *s) {
    sample r = {.n = s->n};
    int m = 3 * s->n;
    for (int i = 0; i < s->n; i++) {
        int from = s->n - 1 - i;
        r.mu[i] = s->mu[from];
        r.l[i] = s->l[from];
    }
    for (int i = 0; i < m; i++) {
        int row = 3 * (s->n - 1 - i / 3) + i % 3;
        r.c[i] = s->c[row];
        for (int j = 0; j < m; j++) {
            r.A[i * m + j] = s->A[row * m + 3 * (s->n - 1 - j / 3) + j % 3];
        }
    }
    return r;
}

// ---- solves and what is known of them -----------------------------------------------------------

static cri_cone_report solve(const sample *s, double gap, double *f) {
    cri_friction problem = problem_of(s);
    cr_arena *scratch = cri_arena_create(cri_cone_interior_bytes(s->n));
    assert_non_null(scratch);
    for (int i = 0; i < 3 * s->n; i++) {
        f[i] = NAN; // nothing is read
    }
    cri_cone_report report = cri_cone_interior(&problem, gap, f, scratch);
    cri_arena_destroy(scratch);
    return report;
}

static void velocity(const sample *s, const double *f, double *u) {
    int m = 3 * s->n;
    for (int i = 0; i < m; i++) {
        u[i] = s->c[i];
        for (int j = 0; j < m; j++) {
            u[i] += s->A[i * m + j] * f[j];
        }
    }
}

/// Largest miss of any condition of optimality, relative to the size of what it compares.
static double miss(const sample *s, const double *f) {
    double u[M_MOST], worst = 0.0;
    velocity(s, f, u);
    for (int i = 0; i < s->n; i++) {
        const double *fi = f + 3 * i, *ui = u + 3 * i;
        double mu = s->mu[i], y = ui[0] - mu * hypot(ui[1], ui[2]);
        double gap = ui[0] * fi[0] + ui[1] * fi[1] + ui[2] * fi[2] - fmax(y, 0.0) * s->l[i];
        double size = 1.0 + fabs(fi[0]);
        worst = fmax(worst, (s->l[i] - fi[0]) / size);
        worst = fmax(worst, (hypot(fi[1], fi[2]) - mu * fi[0]) / size);
        worst = fmax(worst, fmax(-y, fabs(gap)) / size);
        worst = isfinite(gap) ? worst : INFINITY;
    }
    return worst;
}

// nearest point of |t| <= mu n, n >= l
static void project(double mu, double l, double *x) {
    double r = hypot(x[1], x[2]);
    if (r > mu * x[0]) {
        double n = fmax(l, (x[0] + mu * r) / (1.0 + mu * mu));
        // on the disc n = l a tangential part within its radius stays
        double cut = r > mu * n ? mu * n / r : 1.0;
        x[0] = n;
        x[1] *= cut;
        x[2] *= cut;
    } else if (x[0] < l) {
        double cut = r > mu * l ? mu * l / r : 1.0;
        x[0] = l;
        x[1] *= cut;
        x[2] *= cut;
    }
}

// accelerated projected gradient, starting over when the objective's slope turns
static void slow_solve(const sample *s, int n_step, double *f) {
    int m = 3 * s->n;
    double u[M_MOST], x[M_MOST], next[M_MOST], norm = 0.0, t = 1.0;
    for (int i = 0; i < m; i++) {
        double sum = 0.0;
        for (int j = 0; j < m; j++) {
            sum += fabs(s->A[i * m + j]);
        }
        norm = fmax(norm, sum);
        f[i] = x[i] = 0.0;
    }
    for (int step = 0; step < n_step; step++) {
        double slope = 0.0, t_next = 0.5 * (1.0 + sqrt(1.0 + 4.0 * t * t));
        velocity(s, x, u);
        for (int i = 0; i < m; i++) {
            next[i] = x[i] - u[i] / norm;
        }
        for (int i = 0; i < s->n; i++) {
            project(s->mu[i], s->l[i], next + 3 * i);
        }
        for (int i = 0; i < m; i++) {
            slope += (x[i] - next[i]) * (next[i] - f[i]);
        }
        double momentum = slope > 0.0 ? 0.0 : (t - 1.0) / t_next;
        for (int i = 0; i < m; i++) {
            x[i] = next[i] + momentum * (next[i] - f[i]);
            f[i] = next[i];
        }
        t = slope > 0.0 ? 1.0 : t_next;
    }
}

// ---- tests -------------------------------------------------------------------------------------

// k of 96 problems of a family: every size, with bounds in a third of them
static sample nth_sample(int kind, int k) {
    return make_sample((family)kind, 1 + k % N_MOST, (uint64_t)(k / N_MOST));
}

// strictly inside the cone and above the bound
static bool is_inside(const sample *s, const double *f) {
    for (int i = 0; i < s->n; i++) {
        double t = hypot(f[3 * i + 1], f[3 * i + 2]);
        if (!(f[3 * i] > s->l[i]) || !(s->mu[i] == 0.0 ? t == 0.0 : t < s->mu[i] * f[3 * i])) {
            return false;
        }
    }
    return true;
}

/// Arenas of a test of the path.
typedef struct arenas {
    cr_arena *keep, *scratch;
} arenas;

static arenas open_arenas(void) {
    size_t bytes = 2 * cri_cone_path_bytes(N_MOST);
    arenas a = {cri_arena_create(bytes), cri_arena_create(bytes)};
    assert_true(a.keep && a.scratch);
    return a;
}

static void close_arenas(arenas a) {
    cri_arena_destroy(a.keep);
    cri_arena_destroy(a.scratch);
}

TEST(the_interior_point_solves_problems_of_bodies) {
    int n_problem = 0, n_short = 0, n_iteration = 0;
    for (int kind = 0; kind < N_KIND; kind++) {
        for (int k = 0; k < 96; k++) {
            sample s = nth_sample(kind, k);
            double f[M_MOST];
            cri_cone_report report = solve(&s, 1e-10, f);
            CHECK(is_inside(&s, f));
            // rounding ends some a little earlier; a contact's share of the gap is up to n of it
            CHECK(report.gap <= 1e-9 && report.residual <= 1e-9);
            CHECK(miss(&s, f) <= 2e-9);
            n_problem++;
            n_iteration += report.n_iteration;
            n_short += !(report.gap <= 1e-10 && report.residual <= 1e-10);
        }
    }
    CHECK(100 * n_short <= 2 * n_problem);
    CHECK(n_iteration <= 10 * n_problem); // 9.1 with second order terms, more without
}

TEST(a_slow_method_finds_the_same_velocities) {
    arenas a = open_arenas();
    for (int kind = 0; kind < N_KIND - 1; kind++) { // heavy ones are too much for it
        for (int n = 1; n <= 6; n++) {
            sample s = make_sample((family)kind, n, (uint64_t)n);
            double f[M_MOST], slow[M_MOST], u[M_MOST], u_slow[M_MOST];
            cri_friction problem = problem_of(&s);
            cri_cone_path path;
            solve(&s, 1e-10, f);
            CHECK(cri_cone_path_at(&problem, 1e-10, f, &path, a.keep, a.scratch));
            slow_solve(&s, 20000, slow);
            velocity(&s, f, u);
            velocity(&s, slow, u_slow);
            for (int i = 0; i < 3 * n; i++) {
                // a gap e leaves sqrt(2 |A| e) to the velocity, |A| <= 3n, in directions of sliding
                CHECK_CLOSE(u[i], u_slow[i], sqrt(6.0 * n * n * 1e-10), 0.0);
                // on the path itself as much as kappa over the distance to the next class
                CHECK_CLOSE(path.u[i], u_slow[i], 1e-7, 0.0);
            }
            cri_arena_reset(a.keep);
        }
    }
    close_arenas(a);
}

TEST(the_velocity_does_not_depend_on_the_order_of_contacts) {
    arenas a = open_arenas();
    for (int kind = 0; kind < N_KIND; kind++) {
        for (int k = 0; k < 96; k++) {
            sample s = nth_sample(kind, k), r = reversed(&s);
            cri_friction problem = problem_of(&s), turned = problem_of(&r);
            cri_cone_path path, path2;
            double f[M_MOST], f2[M_MOST], u[M_MOST], u2[M_MOST];
            solve(&s, 1e-10, f);
            solve(&r, 1e-10, f2);
            velocity(&s, f, u);
            velocity(&r, f2, u2);
            // rounding of impulses of 1e5 keeps a few from a path so near its end
            bool is_found = cri_cone_path_at(&problem, 1e-9, f, &path, a.keep, a.scratch) &&
                            cri_cone_path_at(&turned, 1e-9, f2, &path2, a.keep, a.scratch);
            CHECK(is_found || kind == HEAVY);
            for (int i = 0; i < 3 * s.n; i++) {
                int j = 3 * (s.n - 1 - i / 3) + i % 3;
                CHECK_CLOSE(u[i], u2[j], 2.0 * sqrt(6.0 * s.n * s.n * 1e-9), 0.0);
                CHECK(!is_found || fabs(path.u[i] - path2.u[j]) <= 1e-7);
            }
            cri_arena_reset(a.keep);
        }
    }
    close_arenas(a);
}

TEST(bodies_that_part_get_no_impulse) {
    for (int n = 1; n <= N_MOST; n++) {
        sample s = make_sample(FACE, n, 1);
        double f[M_MOST];
        for (int i = 0; i < n; i++) {
            s.c[3 * i] = s.mu[i] * hypot(s.c[3 * i + 1], s.c[3 * i + 2]) + 0.1;
        }
        CHECK(solve(&s, 1e-10, f).gap <= 1e-10);
        for (int i = 0; i < 3 * n; i++) {
            CHECK_CLOSE(f[i], 0.0, 1.2e-8, 0.0); // the gap of 12 contacts over the margin
        }
    }
}

TEST(a_slow_contact_beside_fast_ones_is_solved) {
    for (int n = 2; n <= 6; n++) {
        sample s = make_sample(LOOSE, n, 4);
        double f[M_MOST];
        // A gets regular: any c has a solution then
        for (int i = 0; i < 3 * n; i++) {
            s.A[i * (3 * n + 1)] += 0.1;
            s.c[i] *= i < 3 ? 1e-8 : 1.0;
        }
        solve(&s, 1e-10, f);
        CHECK(miss(&s, f) <= 2e-9);
    }
}

TEST(tiny_data_have_tiny_velocities) {
    for (int n = 1; n <= 6; n++) {
        sample s = make_sample(LOOSE, n, 4);
        double f[M_MOST], u[M_MOST], u_tiny[M_MOST];
        solve(&s, 1e-10, f);
        velocity(&s, f, u);
        for (int i = 0; i < 3 * n; i++) {
            s.c[i] *= 1e-8;
        }
        solve(&s, 1e-21, f);
        velocity(&s, f, u_tiny);
        for (int i = 0; i < 3 * n; i++) {
            // gap and residual have one tolerance but different units: the gap stops at 1e-5
            CHECK_CLOSE(1e8 * u_tiny[i], u[i], 1e-2, 0.0);
        }
    }
}

TEST(a_bound_above_the_free_impulse_holds) {
    for (int kind = 0; kind < N_KIND; kind++) {
        sample s = make_sample((family)kind, 4, 1);
        double f[M_MOST], free_f[M_MOST], excess = INFINITY;
        solve(&s, 1e-10, free_f);
        for (int i = 0; i < 4; i++) {
            s.l[i] = 2.0 * free_f[3 * i] + 0.5;
        }
        solve(&s, 1e-10, f);
        CHECK(is_inside(&s, f));
        CHECK(miss(&s, f) <= 2e-9);
        for (int i = 0; i < 4; i++) {
            excess = fmin(excess, f[3 * i] - s.l[i]);
        }
        CHECK(excess <= 1e-6); // were all above, the bounds would not matter
    }
}

TEST(without_friction_tangential_data_do_not_count) {
    sample s = make_sample(LOOSE, 4, 1), t;
    double f[M_MOST], f2[M_MOST];
    memset(s.mu, 0, sizeof s.mu);
    t = s;
    for (int i = 0; i < 12; i++) {
        t.A[13 * i] *= i % 3 > 0 ? 7.0 : 1.0;
        t.c[i] *= i % 3 > 0 ? -3.0 : 1.0;
    }
    solve(&s, 1e-10, f);
    solve(&t, 1e-10, f2);
    for (int i = 0; i < 12; i++) {
        CHECK(f[i] == f2[i]);
        CHECK(i % 3 == 0 || f[i] == 0.0);
    }
    CHECK(miss(&s, f) <= 1e-9);
}

TEST(data_of_any_size_never_give_nan) {
    static const double sizes[] = {0.0, 1e-300, 1e-8, 1.0, 1e8, 1e150};
    arenas a = open_arenas();
    for (int k = 0; k < 6 * 6 * 6; k++) {
        sample s = make_sample((family)(k % N_KIND), 1 + k % 5, 2);
        cri_friction problem = problem_of(&s);
        cri_cone_path path;
        double f[M_MOST];
        for (int i = 0; i < 9 * s.n * s.n; i++) {
            s.A[i] *= sizes[k % 6];
        }
        for (int i = 0; i < 3 * s.n; i++) {
            s.c[i] *= sizes[k / 6 % 6];
        }
        for (int i = 0; i < s.n; i++) {
            s.l[i] = sizes[k / 36];
        }
        solve(&s, 1e-10, f);
        bool is_found = cri_cone_path_at(&problem, 1e-3, NULL, &path, a.keep, a.scratch);
        for (int i = 0; i < 3 * s.n; i++) {
            CHECK(isfinite(f[i]));
            CHECK(!is_found || isfinite(path.f[i]));
        }
        cri_arena_reset(a.keep);
    }
    close_arenas(a);
}

// ---- the path ----------------------------------------------------------------------------------

// largest miss of S u = z + y e_n, z = kappa Jg/det, y = kappa/(g_n - l), relative to its parts
static double path_miss(const sample *s, const cri_cone_path *path) {
    double worst = 0.0, u[M_MOST];
    velocity(s, path->f, u);
    for (int i = 0; i < s->n; i++) {
        const double *g = path->g + 3 * i;
        double t = hypot(g[1], g[2]), share = path->kappa / ((g[0] - t) * (g[0] + t));
        double y = s->l[i] > 0.0 ? path->kappa / (g[0] - s->l[i]) : 0.0;
        worst = fmax(worst, fabs(u[3 * i] - share * g[0] - y) / (1.0 + share * g[0] + y));
        for (int r = 1; r < 3; r++) {
            double z = -share * g[r];
            worst = fmax(worst, fabs(s->mu[i] * u[3 * i + r] - z) / (1.0 + fabs(z)));
        }
    }
    return worst;
}

TEST(the_path_is_found_from_nothing_and_from_a_solution) {
    static const double kappas[] = {1e-1, 1e-3, 1e-6};
    arenas a = open_arenas();
    for (int k = 0; k < 3 * N_KIND * N_MOST; k++) {
        double kappa = kappas[k % 3], f[M_MOST];
        sample s = make_sample((family)(k / 3 % N_KIND), 1 + k % N_MOST, (uint64_t)(k % 7));
        cri_friction problem = problem_of(&s);
        cri_cone_path cold, warm;
        solve(&s, 1e-10, f);
        CHECK(cri_cone_path_at(&problem, kappa, NULL, &cold, a.keep, a.scratch));
        CHECK(cri_cone_path_at(&problem, kappa, f, &warm, a.keep, a.scratch));
        CHECK(is_inside(&s, cold.f));
        // the term of 1e-11 in impulses of up to 1e5, where bodies are wedged
        CHECK(path_miss(&s, &cold) <= 5e-6);
        for (int i = 0; i < 3 * s.n; i++) {
            CHECK_CLOSE(cold.u[i], warm.u[i], 1e-8, 0.0); // rounding of such impulses
        }
        cri_arena_reset(a.keep);
    }
    close_arenas(a);
}

CR_TEST_MAIN(the_interior_point_solves_problems_of_bodies, a_slow_method_finds_the_same_velocities,
             the_velocity_does_not_depend_on_the_order_of_contacts, bodies_that_part_get_no_impulse,
             a_slow_contact_beside_fast_ones_is_solved, tiny_data_have_tiny_velocities,
             a_bound_above_the_free_impulse_holds, without_friction_tangential_data_do_not_count,
             data_of_any_size_never_give_nan, the_path_is_found_from_nothing_and_from_a_solution)
