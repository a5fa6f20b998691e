// SPDX-License-Identifier: MIT
//
// Law `augmented` with nets that know nothing: whatever they say, no end approaches the ground,
// none pulls, and what leaves gets no impulse. Where they say static, the patch stands still.

#include "cr_test.h"

#include "base/random.h"
#include "contact/ground_plant.h"

enum { N_STATE = 10000, SIZE_MOST = 1024 };

/// One state and its solve.
typedef struct trial {
    ground_plant plant;
    double x[SIZE_MOST], A[9 * PLANT_CONTACTS * PLANT_CONTACTS];
    double f[3 * PLANT_CONTACTS], u[3 * PLANT_CONTACTS];
    double size; // of speeds
    cri_ground_class said;
    cri_augmented_mode mode;
    cri_law_report report;
    bool is_sliding[PLANT_CONTACTS];
} trial;

static void draw(cri_random *r, trial *s) {
    double *x = s->x;
    ground_plant *g = &s->plant;
    g->n = cri_random_whole(r, 1, PLANT_CONTACTS);
    x[0] = cri_random_decade(r, -1.0, 1.0);
    x[1] = x[0] * cri_random_decade(r, 1.0, 3.0);
    x[2] = cri_random_uniform(r, 0.01, 0.2);
    double speed = cri_random_decade(r, -4.0, 1.0), width = cri_random_uniform(r, 0.01, 0.3);
    double v[3] = {cri_random_normal(r), cri_random_normal(r), 10.0 * cri_random_normal(r)};
    bool is_point = cri_random_uniform(r, 0.0, 1.0) < 0.3;
    for (int i = 0; i < g->n; i++) {
        // at one place or a millimetre apart
        x[3 + i] = is_point ? width : width * cri_random_whole(r, -8, 8) / 8.0;
    }
    s->size = 0.0;
    for (int i = 0; i < g->n; i++) {
        double *b = x + plant_at_b(g) + 3 * i;
        b[0] = speed * (v[1] + x[3 + i] * v[2]);
        b[1] = speed * (v[0] + x[2] * v[2]);
        b[2] = 0.0;
        s->size = fmax(s->size, fmax(fabs(b[0]), fabs(b[1])));
        x[plant_at_target(g) + i] = 0.0;
    }
    // friction beyond all reason too
    double wild = cri_random_decade(r, -1.0, 1.0);
    for (int i = 0; i < g->nets.n_weight; i++) {
        x[plant_at_weights(g) + i] = wild * cri_random_normal(r);
    }
}

static void solve(trial *s, cr_arena *keep, cr_arena *scratch) {
    cri_arena_reset(keep);
    cri_arena_reset(scratch);
    const ground_plant *g = &s->plant;
    plant_matrix_of(g, s->x, NULL, s->A);
    s->report = (cri_law_report){.margin = 1.0, .is_sliding = s->is_sliding};
    cri_contact_problem problem = plant_problem_of(g, s->x, s->A);
    const void *cache = cri_law_augmented.solve(&problem, s->f, false, &s->report, keep, scratch);
    s->said = cri_augmented_class(cache);
    s->mode = cri_augmented_mode_of(cache);
    int m = 3 * g->n;
    for (int i = 0; i < m; i++) {
        s->u[i] = problem.b[i];
        for (int j = 0; j < m; j++) {
            s->u[i] += s->A[i * m + j] * s->f[j];
        }
    }
}

// what friction alone does to speeds bounds the rounding of their sum
static double size_of(const trial *s) {
    double size = s->size;
    int m = 3 * s->plant.n;
    for (int i = 0; i < m * m; i++) {
        size = fmax(size, fabs(s->A[i] * s->f[i % m]));
    }
    return size;
}

static bool is_lawful(const trial *s) {
    double size = size_of(s), push = 0.0, friction = 0.0, work = 0.0, most = 0.0;
    bool is_good = true;
    for (int i = 0; i < s->plant.n; i++) {
        // to the tolerance of the complementarity solve
        is_good = is_good && s->f[3 * i] >= 0.0 && s->u[3 * i] >= -1e-9 * size;
        push += s->f[3 * i];
        friction += fabs(s->f[3 * i + 1]) + fabs(s->f[3 * i + 2]);
        work += s->f[3 * i] * fabs(s->u[3 * i]);
        most = fmax(most, s->f[3 * i]);
    }
    // what rebounds leaves, and no faster than it came
    bool has_rebound = s->plant.nets.has_restitution;
    is_good = is_good && (has_rebound || work <= 1e-9 * size * most * s->plant.n);
    return is_good && (push > 0.0 || friction == 0.0);
}

static bool stands_still(const trial *s) {
    double most = 0.0;
    for (int i = 0; i < 3 * s->plant.n; i++) {
        most = fmax(most, fabs(s->u[i]));
    }
    return most <= 1e-9 * size_of(s);
}

TEST(untrained_nets_break_no_promise) {
    cri_random r = cri_random_of(7, 0);
    int n_bad = 0, n_moving = 0, n_unsolved = 0;
    int met[CRI_GROUND_CLASSES][CRI_AUGMENTED_REGRESSED] = {{0}};
    cr_arena *keep = cri_arena_create(cri_law_augmented.n_byte(PLANT_CONTACTS));
    cr_arena *scratch = cri_arena_create(cri_law_augmented.n_byte(PLANT_CONTACTS));
    static trial s;
    for (int k = 0; k < N_STATE; k++) {
        s.plant.nets.has_restitution = k % 4 == 0;
        cri_ground_nets_shape(2, (int[2]){8, 6}, &s.plant.nets);
        draw(&r, &s);
        assert_true(plant_size(&s.plant) <= SIZE_MOST);
        solve(&s, keep, scratch);
        n_bad += !is_lawful(&s);
        n_unsolved += s.report.outcome != CR_SOLVED;
        n_moving +=
            s.mode == CRI_AUGMENTED_STATIC && !s.plant.nets.has_restitution && !stands_still(&s);
        met[s.said][s.mode]++;
    }
    CHECK_INT(n_bad, 0);
    CHECK_INT(n_moving, 0);
    CHECK_INT(n_unsolved, 0);
    // every answer, kept and overruled
    CHECK(met[CRI_GROUND_STATIC][CRI_AUGMENTED_STATIC] > 100);
    CHECK(met[CRI_GROUND_STATIC][CRI_AUGMENTED_FRICTIONLESS] > 100);
    CHECK(met[CRI_GROUND_STATIC][CRI_AUGMENTED_NONE] > 100);
    CHECK(met[CRI_GROUND_DYNAMIC][CRI_AUGMENTED_DYNAMIC] > 100);
    CHECK(met[CRI_GROUND_DYNAMIC][CRI_AUGMENTED_FRICTIONLESS] > 100);
    CHECK(met[CRI_GROUND_DETACH][CRI_AUGMENTED_NONE] > 100);
    CHECK(met[CRI_GROUND_DETACH][CRI_AUGMENTED_FRICTIONLESS] > 100);
    cri_arena_destroy(keep);
    cri_arena_destroy(scratch);
}

// a body that may also move across the plane is none that the nets know: no impulse, no gradient
TEST(motion_out_of_the_plane_is_refused) {
    static trial s;
    cri_random r = cri_random_of(3, 0);
    cr_arena *keep = cri_arena_create(1000), *scratch = cri_arena_create(1000);
    cri_ground_nets_shape(1, &(int){4}, &s.plant.nets);
    draw(&r, &s);
    plant_matrix_of(&s.plant, s.x, NULL, s.A);
    int m = 3 * s.plant.n;
    s.A[2 * m + 2] = s.A[0];
    s.report = (cri_law_report){.margin = 1.0, .is_sliding = s.is_sliding};
    cri_contact_problem problem = plant_problem_of(&s.plant, s.x, s.A);
    s.f[0] = 1.0;
    cri_law_augmented.solve(&problem, s.f, false, &s.report, keep, scratch);
    CHECK_INT(s.report.outcome, CR_ITERATION_LIMIT);
    for (int i = 0; i < m; i++) {
        CHECK(s.f[i] == 0.0);
    }
    cri_arena_destroy(keep);
    cri_arena_destroy(scratch);
}

CR_TEST_MAIN(untrained_nets_break_no_promise, motion_out_of_the_plane_is_refused)
