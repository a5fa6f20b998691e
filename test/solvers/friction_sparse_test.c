// SPDX-License-Identifier: MIT
//
// Solves along the graph of contacts against dense ones: random stacks and piles (problem_make.h)
// of 20 contacts and more.
//
// Redundant contacts leave the impulse to chance. With A + d 1, where d is a hundredth of the mean
// of the diagonal, the convex law has one impulse alone, and both must find it. Of A itself the
// velocity is unique under the convex law; and under each law the impulse that the selection picks,
// where it can.

#include "base/math/dense_factor.h"
#include "bench/problem_make.h"
#include "contact/law.h"
#include "cr_test.h"
#include "solvers/cone_qp.h"
#include "solvers/friction.h"
#include "solvers/friction_reduced.h"
#include "support/alloc_wrap.h"

#include <math.h>
#include <string.h>

enum { N_PROBLEM = 200, M_MOST = 3 * CRI_PROBLEM_CONTACTS };

/// A problem with a graph, and the arenas that it lives in.
typedef struct sample {
    cr_arena *keep, *scratch;
    cri_friction problem; // without its graph
    const cri_blocks *blocks;
    double *shifted; // (3n, 3n) A + d 1
    uint64_t seed;
} sample;

static sample sample_open(void) {
    sample s = {.keep = cri_arena_create(1 << 22), .scratch = cri_arena_create(1 << 22)};
    assert_non_null(s.keep);
    assert_non_null(s.scratch);
    return s;
}

static void sample_close(sample *s) {
    cri_arena_destroy(s->keep);
    cri_arena_destroy(s->scratch);
}

// the next seed whose problem has a graph, stacks and piles in turn
static void sample_next(sample *s, cri_friction_kind kind) {
    s->blocks = NULL;
    while (!s->blocks) {
        cri_arena_reset(s->keep);
        cri_arena_reset(s->scratch);
        cri_family family = ++s->seed % 2 ? CRI_FAMILY_STACK : CRI_FAMILY_PILE;
        const cri_problem p = cri_problem_make(family, s->seed, s->keep, s->scratch);
        s->problem = (cri_friction){.kind = kind,
                                    .n = p.data.n,
                                    .A = p.data.A,
                                    .c = p.data.b,
                                    .b = p.data.b,
                                    .mu = p.data.mu,
                                    .l = CR_PUSH(s->keep, double, p.data.n)};
        s->blocks = cri_blocks_find(p.data.n, p.data.A, s->keep);
    }
    int m = 3 * s->problem.n;
    double trace = 0.0;
    s->shifted = CR_PUSH_RAW(s->keep, double, m *m);
    memcpy(s->shifted, s->problem.A, sizeof(double) * (size_t)(m * m));
    for (int i = 0; i < m; i++) {
        trace += s->shifted[i * m + i];
    }
    for (int i = 0; i < m; i++) {
        s->shifted[i * m + i] += 0.01 * trace / m;
    }
}

static double largest(int n, const double *a, const double *b) {
    double most = 0.0;
    for (int i = 0; i < n; i++) {
        most = fmax(most, fabs(a[i] - (b ? b[i] : 0.0)));
    }
    return most;
}

// a and b agree to tolerance, relative to the largest of a
static void check_same(const sample *s, const char *what, const double *a, const double *b,
                       double tolerance) {
    int m = 3 * s->problem.n;
    double scale = largest(m, a, NULL), miss = largest(m, a, b);
    if (!CHECK(miss <= tolerance * scale)) {
        cr_test_fail("seed %d: %s differs by %.3g of %.3g", (int)s->seed, what, miss, scale);
    }
}

// ---- whole solves ------------------------------------------------------------------------------

TEST(the_impulse_of_a_regular_problem_is_the_dense_one) {
    sample s = sample_open();
    for (int k = 0; k < cr_test_share(N_PROBLEM); k++) {
        double f[2][M_MOST] = {{0}};
        sample_next(&s, CRI_CONVEX);
        for (int way = 0; way < 2; way++) {
            cri_friction p = s.problem;
            p.A = s.shifted;
            p.blocks = way ? s.blocks : NULL;
            CHECK_INT(cri_friction_solve(&p, f[way], s.scratch).outcome, CR_SOLVED);
        }
        check_same(&s, "impulse", f[0], f[1], 1e-9);
    }
    sample_close(&s);
}

// solves with the selection; false where that could not be met, or the solve came from a kink
static bool solve_selected(sample *s, cri_friction_kind kind, bool is_sparse, double *f) {
    cri_friction p = s->problem;
    cri_friction_cache cache;
    p.kind = kind;
    p.blocks = is_sparse ? s->blocks : NULL;
    memset(f, 0, sizeof(double) * 3 * (size_t)p.n);
    CHECK_INT(cri_friction_solve(&p, f, s->scratch).outcome, CR_SOLVED);
    cri_friction_reduce(&p, f, NULL, false, &cache, s->keep, s->scratch);
    return !cache.is_one_sided;
}

TEST(what_the_problem_determines_is_the_dense_one) {
    sample s = sample_open();
    int n_compared[2] = {0, 0};
    for (int k = 0; k < N_PROBLEM / 4; k++) {
        sample_next(&s, CRI_CONVEX);
        for (cri_friction_kind kind = CRI_COULOMB; kind <= CRI_CONVEX; kind++) {
            double f[2][M_MOST], u[2][M_MOST];
            bool is_unique = true;
            for (int way = 0; way < 2; way++) {
                is_unique = solve_selected(&s, kind, way == 1, f[way]) && is_unique;
                cri_friction_multiply(&s.problem, f[way], s.problem.c, u[way]);
            }
            if (is_unique) {
                check_same(&s, "selected impulse", f[0], f[1], 1e-9);
                n_compared[kind]++;
            }
            if (kind == CRI_CONVEX) {
                // solved to 1e-10 of each contact, and errors of objectives are squares
                double miss = largest(3 * s.problem.n, u[0], u[1]);
                CHECK(miss <= 1e-7 * largest(3 * s.problem.n, s.problem.c, NULL));
            }
        }
    }
    // some at least: else the test says nothing
    CHECK(n_compared[CRI_COULOMB] >= 10 && n_compared[CRI_CONVEX] >= 10);
    sample_close(&s);
}

TEST(the_central_path_ends_at_the_dense_point) {
    sample s = sample_open();
    for (int k = 0; k < N_PROBLEM / 4; k++) {
        sample_next(&s, CRI_CONVEX);
        double f[2][M_MOST] = {{0}};
        cri_cone_report report[2];
        cri_friction raw = s.problem;
        raw.A = s.shifted;
        const cri_scaled scaled = cri_friction_scale(&raw, f[0], s.scratch);
        for (int way = 0; way < 2; way++) {
            cri_friction p = cri_scaled_problem(&scaled);
            p.blocks = way ? s.blocks : NULL;
            report[way] = cri_cone_interior(&p, 1e-8, f[way], s.scratch);
        }
        CHECK_INT(report[0].n_iteration, report[1].n_iteration);
        CHECK(report[1].gap <= 1e-8 && report[1].residual <= 1e-8);
        check_same(&s, "point", f[0], f[1], 1e-7); // entries of H reach 1e8
    }
    sample_close(&s);
}

// the room that is asked for is enough, of the graph and of the laws: no arena grows
TEST(solves_make_no_heap_calls) {
    sample s = sample_open();
    for (int k = 0; k < 20; k++) {
        sample_next(&s, CRI_COULOMB);
        int n = s.problem.n;
        const cri_law *law = cri_law_find(k % 3 == 0 ? "ncp" : k % 3 == 1 ? "cone" : "lcp");
        assert_non_null(law);
        cr_arena *graph = cri_arena_create(cri_blocks_bytes(n));
        cr_arena *keep = cri_arena_create(law->n_byte(n));
        cr_arena *scratch = cri_arena_create(law->n_byte(n));
        double zero[CRI_PROBLEM_CONTACTS] = {0}, f[M_MOST] = {0};
        bool is_plain[CRI_PROBLEM_CONTACTS] = {0}, is_sliding[CRI_PROBLEM_CONTACTS];
        const cri_contact_problem p = {.n = n,
                                       .A = s.problem.A,
                                       .b = s.problem.b,
                                       .mu = s.problem.mu,
                                       .e = zero,
                                       .target = zero,
                                       .is_plain = is_plain};
        cri_law_report report = {.margin = 1.0, .is_sliding = is_sliding};
        long n_call = cr_alloc_count();
        CHECK(cri_blocks_find(n, p.A, graph) != NULL);
        law->solve(&p, f, true, &report, keep, scratch);
        CHECK_INT(cr_alloc_count(), n_call);
        CHECK_INT(report.outcome, CR_SOLVED);
        cri_arena_destroy(graph);
        cri_arena_destroy(keep);
        cri_arena_destroy(scratch);
    }
    sample_close(&s);
}

// ---- Newton's system ---------------------------------------------------------------------------

// M of the active contacts, one elsewhere
static void dense_system(const cri_newton_system *s, int n, double *M) {
    int m = 3 * n;
    for (int i = 0; i < m; i++) {
        const double *D = s->D + 9 * (i / 3) + 3 * (i % 3);
        for (int j = 0; j < m; j++) {
            double entry = 0.0;
            for (int k = 0; k < 3; k++) {
                int row = 3 * (i / 3) + k;
                entry += D[k] * s->rho * (s->A[row * m + j] + (row == j ? s->prox : 0.0));
                entry -= row == j ? D[k] : 0.0;
            }
            bool is_on = s->is_active[i / 3] && s->is_active[j / 3];
            M[i * m + j] = (is_on ? entry : 0.0) + (i == j ? 1.0 : 0.0);
        }
    }
}

// one contact in four is open, of the others one in two slides
TEST(newtons_step_is_the_dense_one) {
    sample s = sample_open();
    cr_test_rng rng = cr_test_rng_of(7);
    for (int k = 0; k < cr_test_share(N_PROBLEM); k++) {
        sample_next(&s, CRI_COULOMB);
        int n = s.problem.n, m = 3 * n, *pivot = CR_PUSH(s.scratch, int, m);
        double f[M_MOST] = {0}, D[9 * CRI_PROBLEM_CONTACTS], b[M_MOST], x[M_MOST];
        bool is_active[CRI_PROBLEM_CONTACTS];
        const cri_scaled scaled = cri_friction_scale(&s.problem, f, s.scratch);
        for (int i = 0; i < n; i++) {
            double z[3] = {1.0, cr_test_uniform(&rng, -0.6, 0.6), cr_test_uniform(&rng, -0.6, 0.6)};
            z[0] = cr_test_uniform(&rng, -1.0, 3.0) < 0.0 ? -1.0 : 1.0;
            const cri_friction_point at = cri_friction_project(CRI_CONVEX, z, 0.4, 0.0);
            cri_friction_project_jacobian(CRI_CONVEX, z, 0.4, &at, D + 9 * i);
            is_active[i] = at.branch != CRI_OPEN;
        }
        for (int i = 0; i < m; i++) {
            x[i] = NAN;
            b[i] = is_active[i / 3] ? cr_test_uniform(&rng, -1.0, 1.0) : 0.0;
        }
        const cri_newton_system newton = {.blocks = s.blocks,
                                          .A = scaled.A,
                                          .D = D,
                                          .is_active = is_active,
                                          .rho = 1.0,
                                          .prox = 1e-3};
        double *room = CR_PUSH_RAW(s.scratch, double, cri_newton_system_room(s.blocks));
        double *M = CR_PUSH_RAW(s.scratch, double, m *m);
        dense_system(&newton, n, M);
        CHECK(cri_newton_system_room(s.blocks) <= (size_t)(m * m));
        CHECK(cri_newton_system_solve(&newton, b, x, room));
        assert_true(cri_lu_factor(m, M, pivot));
        cri_lu_solve(m, M, pivot, b);
        check_same(&s, "step", b, x, 1e-9);
    }
    sample_close(&s);
}

enum { N_CHAIN = 25 };

// a chain of contacts, each coupled with its neighbours: A_ij = 1, A_ii = end 1 at both ends, else
// 3
static void chain(double end, double *A) {
    enum { M = 3 * N_CHAIN };
    memset(A, 0, sizeof(double) * M * M);
    for (int i = 0; i < M; i++) {
        bool is_end = i < 3 || i >= M - 3;
        A[i * M + i] = is_end ? end : 3.0;
        for (int j = i - 3; j <= i + 3; j += 6) {
            if (j >= 0 && j < M) {
                A[i * M + j] = 1.0;
            }
        }
    }
}

// All are regular. The first is positive; of the others the ends come first: zero is no pivot, and
// 1e-30 drowns the 3 next to it, beyond what one refinement brings back.
TEST(pivots_that_vanish_or_are_useless_are_reported) {
    static double A[9 * N_CHAIN * N_CHAIN], D[9 * N_CHAIN];
    double b[3 * N_CHAIN], x[3 * N_CHAIN];
    bool is_active[N_CHAIN];
    sample s = sample_open();
    for (int i = 0; i < N_CHAIN; i++) {
        is_active[i] = true;
        D[9 * i] = D[9 * i + 4] = D[9 * i + 8] = 1.0;
    }
    for (int i = 0; i < 3 * N_CHAIN; i++) {
        b[i] = sin(1.0 + i);
    }
    const struct {
        double end;
        bool is_solved;
    } cases[] = {{3.0, true}, {0.0, false}, {1e-30, false}};
    for (int k = 0; k < 3; k++) {
        chain(cases[k].end, A);
        const cri_blocks *blocks = cri_blocks_find(N_CHAIN, A, s.keep);
        assert_non_null(blocks);
        double *room = CR_PUSH_RAW(s.scratch, double, cri_newton_system_room(blocks));
        const cri_newton_system newton = {
            .blocks = blocks, .A = A, .D = D, .is_active = is_active, .rho = 1.0};
        CHECK_INT(cri_newton_system_solve(&newton, b, x, room), cases[k].is_solved);
    }
    sample_close(&s);
}

// the second chain in Newton's method: normal impulses of one, which stick, are its solution
TEST(newton_falls_back_on_dense_pivots) {
    static double A[9 * N_CHAIN * N_CHAIN];
    double c[3 * N_CHAIN] = {0}, l[N_CHAIN] = {0}, mu[N_CHAIN], f[3 * N_CHAIN] = {0};
    sample s = sample_open();
    chain(0.0, A);
    for (int i = 0; i < N_CHAIN; i++) {
        mu[i] = 1.0;
        f[3 * i] = 1.0 + 0.1 * sin(i);
        for (int j = 0; j < 3 * N_CHAIN; j++) {
            c[3 * i] -= j % 3 == 0 ? A[3 * i * 3 * N_CHAIN + j] : 0.0;
        }
    }
    cri_friction p = {.n = N_CHAIN, .A = A, .c = c, .b = c, .mu = mu, .l = l};
    p.blocks = cri_blocks_find(N_CHAIN, A, s.keep);
    assert_non_null(p.blocks);
    cri_scaled scaled = cri_friction_scale(&p, f, s.scratch);
    CHECK(cri_friction_newton(&scaled, 10, 0.0) <= cri_newton_accept);
    CHECK(scaled.n_dense > 0 && scaled.n_dense == scaled.n_iteration);
    for (int i = 0; i < 3 * N_CHAIN; i++) {
        CHECK_CLOSE(scaled.g[i] * scaled.r[i / 3], i % 3 ? 0.0 : 1.0, 1e-11, 0.0);
    }
    sample_close(&s);
}

CR_TEST_MAIN(the_impulse_of_a_regular_problem_is_the_dense_one,
             what_the_problem_determines_is_the_dense_one, the_central_path_ends_at_the_dense_point,
             newtons_step_is_the_dense_one, pivots_that_vanish_or_are_useless_are_reported,
             newton_falls_back_on_dense_pivots, solves_make_no_heap_calls)
