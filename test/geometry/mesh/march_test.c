// SPDX-License-Identifier: MIT
//
// Surfaces by marching cubes: closed, oriented and manifold for any signs, and true to their
// fields.

#include "cr_test.h"

#include "field_fixture.h"
#include "geometry/mesh/march.h"
#include "geometry/mesh/mass.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cr_arena *arena, *scratch;

static void begin(void) {
    fixture_arenas(&arena, &scratch);
}

/// A side of a triangle and the corner behind it.
typedef struct side {
    int from, to;
    int behind;
} side;

static int compare(const void *a, const void *b) {
    const side *l = a, *r = b;
    return l->from != r->from ? (l->from > r->from) - (l->from < r->from)
                              : (l->to > r->to) - (l->to < r->to);
}

static const side *find(const side *sides, int n, int from, int to) {
    const side key = {from, to, 0};
    return bsearch(&key, sides, (size_t)n, sizeof key, compare);
}

// every side once, its reverse once, and all triangles around a vertex in one round
static bool is_manifold(const cri_surface *s) {
    int n = 3 * s->n_face;
    side *sides = malloc(sizeof *sides * (size_t)n);
    int *count = calloc((size_t)s->n_vertex, sizeof *count);
    assert_non_null(sides);
    assert_non_null(count);
    for (int i = 0; i < n; i++) {
        const int *f = s->face + 3 * (i / 3);
        sides[i] = (side){f[i % 3], f[(i + 1) % 3], f[(i + 2) % 3]};
        count[f[i % 3]]++;
    }
    qsort(sides, (size_t)n, sizeof *sides, compare);
    bool is_good = true;
    for (int i = 0; i < n && is_good; i++) {
        is_good = (i == 0 || compare(&sides[i - 1], &sides[i]) != 0) &&
                  find(sides, n, sides[i].to, sides[i].from);
    }
    for (int i = 0; i < n && is_good; i++) {
        if (i > 0 && sides[i].from == sides[i - 1].from) {
            continue;
        }
        // from triangle to triangle over the side that leads away from the vertex
        int round = 0, v = sides[i].from, to = sides[i].to;
        do {
            to = find(sides, n, v, to)->behind;
            round++;
        } while (to != sides[i].to && round <= n);
        is_good = round == count[v];
    }
    free(sides);
    free(count);
    return is_good;
}

static int euler(const cri_surface *s) {
    return s->n_vertex - s->n_face / 2;
}

// Values of every kind: exact zeros, checkerboards with ambiguous faces and cells, lonely corners.
TEST(surfaces_of_random_samples_are_closed_manifolds) {
    enum { N = 9, N_GRID = 200 };
    cr_test_rng rng = cr_test_rng_of(11);
    bool is_met[256] = {false};
    for (int g = 0; g < N_GRID; g++) {
        begin();
        double phi[N * N * N];
        double bias = cr_test_uniform(&rng, -0.5, 0.5);
        for (int i = 0; i < N * N * N; i++) {
            int x = i / (N * N), y = i / N % N, z = i % N;
            bool is_border = x % (N - 1) == 0 || y % (N - 1) == 0 || z % (N - 1) == 0;
            double value = cr_test_uniform(&rng, -1.0, 1.0) + bias;
            value = g % 4 == 1 ? round(2.0 * value) : value;
            value = g % 4 == 2 ? value + ((x + y + z) % 2 ? 0.9 : -0.9) : value;
            phi[i] = is_border ? 1.0 : value;
        }
        for (int i = 0; i < N * N * N; i++) {
            int x = i / (N * N), y = i / N % N, z = i % N, code = 0;
            for (int c = 0; c < 8 && x < N - 1 && y < N - 1 && z < N - 1; c++) {
                int at = i + (c & 1) * N * N + (c >> 1 & 1) * N + (c >> 2);
                code |= (phi[at] < 0.0) << c;
            }
            is_met[code] = true;
        }
        cri_surface s;
        cr_error err = {0};
        cri_march_box box = {{N, N, N}, {0, 0, 0}, 1.0};
        CHECK_INT(cri_march(&box, phi, arena, scratch, &s, &err), CR_OK);
        CHECK(is_manifold(&s));
        cri_mesh_mass m;
        CHECK(cri_mesh_integrals(s.n_vertex, s.vertex, s.n_face, s.face, &m) && m.volume > 0.0);
    }
    for (int c = 0; c < 256; c++) {
        CHECK(is_met[c]);
    }
}

// vertices, triangles, volume and trace of the inertia by an independent program
TEST(a_sphere_has_the_known_mesh) {
    enum { N = 17 };
    begin();
    static double phi[N * N * N];
    cri_march_box box = {{N, N, N}, {-1, -1, -1}, 0.125};
    for (int i = 0; i < N * N * N; i++) {
        cri_vec3 x = cri_v3_mad(box.origin, box.h, cri_v3(i / (N * N), i / N % N, i % N));
        phi[i] = cri_v3_norm(cri_v3_sub(x, cri_v3(0.03, 0.02, 0.01))) - 0.7;
    }
    cri_surface s;
    cr_error err = {0};
    CHECK_INT(cri_march(&box, phi, arena, scratch, &s, &err), CR_OK);
    CHECK_INT(s.n_vertex, 590);
    CHECK_INT(s.n_face, 1176);
    CHECK_INT(euler(&s), 2);
    cri_mesh_mass m;
    CHECK(cri_mesh_integrals(s.n_vertex, s.vertex, s.n_face, s.face, &m));
    CHECK_CLOSE(m.volume, 1.40950537807356, 0.0, 1e-13);
    CHECK_CLOSE(m.inertia[0] + m.inertia[1] + m.inertia[2], 0.818293178438414, 0.0, 1e-13);
}

TEST(surfaces_of_fields_have_their_topology) {
    static const struct {
        const char *name;
        int euler;
    } row[] = {{"ellipsoid", 2}, {"posed box", 2}, {"drilled", 0}, {"torus", 0}, {"capsule", 2}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        begin();
        fixture_field f;
        bool is_drilled = strcmp(row[i].name, "drilled") == 0;
        fixture_field_find(is_drilled ? "csg" : row[i].name, &f);
        f.field.n_node = is_drilled ? 3 : f.field.n_node; // the box with its hole
        cri_march_box box = cri_march_box_of(&f.field, 40);
        cri_surface s;
        cr_error err = {0};
        CHECK_INT(cri_surface_of_field(&f.field, &box, arena, scratch, &s, &err), CR_OK);
        CHECK(is_manifold(&s));
        CHECK_INT(euler(&s), row[i].euler);
        for (int v = 0; v < s.n_vertex; v++) {
            double phi = cri_field_phi(&f.field, cri_v3_load(s.vertex + 3 * v));
            CHECK(fabs(phi) < 0.5 * box.h);
        }
    }
}

// leaving out cubes by the slope of the field changes nothing, and each vertex is a zero of the
// field on the edge on which the samples have it
TEST(samples_that_are_left_out_do_not_matter) {
    begin();
    fixture_field f;
    fixture_field_find("csg", &f);
    cri_march_box box = cri_march_box_of(&f.field, 37);
    int n = box.n[0] * box.n[1] * box.n[2];
    double *phi = CR_PUSH(arena, double, n);
    assert_non_null(phi);
    for (int i = 0; i < n; i++) {
        int row = box.n[2], slice = row * box.n[1];
        cri_vec3 x = cri_v3(i / slice, i / row % box.n[1], i % row);
        phi[i] = cri_field_phi(&f.field, cri_v3_mad(box.origin, box.h, x));
    }
    cri_surface a, b;
    cr_error err = {0};
    CHECK_INT(cri_march(&box, phi, arena, scratch, &a, &err), CR_OK);
    CHECK_INT(cri_surface_of_field(&f.field, &box, arena, scratch, &b, &err), CR_OK);
    CHECK_INT(a.n_vertex, b.n_vertex);
    CHECK_INT(a.n_face, b.n_face);
    double most = 0.0;
    for (int v = 0; v < a.n_vertex; v++) {
        cri_vec3 x = cri_v3_load(b.vertex + 3 * v), from = cri_v3_load(a.vertex + 3 * v);
        double moved[3];
        cri_v3_store(cri_v3_sub(x, from), moved);
        CHECK(fabs(cri_field_phi(&f.field, x)) < 1e-14 && b.share[v] >= 0.0 && b.share[v] <= 1.0);
        for (int k = 0; k < 3; k++) {
            CHECK(k == a.axis[v] || moved[k] == 0.0);
        }
        CHECK_CLOSE(moved[a.axis[v]], (b.share[v] - a.share[v]) * box.h, 1e-15, 0.0);
        most = fmax(most, fabs(moved[a.axis[v]]));
    }
    CHECK(most > 0.01 * box.h);
    CHECK(memcmp(a.face, b.face, sizeof *a.face * 3 * (size_t)a.n_face) == 0);
}

// L = V + tr J of an ellipsoid and its derivatives by both rules, against the closed form
static double ellipsoid_loss(const double *a, int n, double edge[3], double normal[3]) {
    begin();
    fixture_field f;
    fixture_field_leaf(CRI_FIELD_ELLIPSOID, 9, (double[9]){a[0], a[1], a[2], 0.013, -0.007, 0.011},
                       &f);
    f.node[0].is_posed = true;
    cri_march_box box = {{n, n, n}, {-0.8, -0.8, -0.8}, 1.6 / (n - 1)};
    cri_surface s;
    cr_error err = {0};
    assert_int_equal(cri_surface_of_field(&f.field, &box, arena, scratch, &s, &err), CR_OK);
    cri_mesh_mass m, adj = {.volume = 1.0, .inertia = {1.0, 1.0, 1.0}};
    assert_true(cri_mesh_integrals(s.n_vertex, s.vertex, s.n_face, s.face, &m));
    double *v_adj = CR_PUSH(arena, double, 3 * s.n_vertex);
    assert_non_null(v_adj);
    cri_mesh_integrals_vjp(s.n_vertex, s.vertex, s.n_face, s.face, &adj, v_adj);
    double both[2][9] = {{0}};
    for (int rule = 0; rule < 2; rule++) {
        CHECK(cri_surface_of_field_vjp(&f.field, &s, (cri_vertex_rule)rule, v_adj, scratch,
                                       both[rule]));
    }
    memcpy(edge, both[0], 3 * sizeof *edge);
    memcpy(normal, both[1], 3 * sizeof *normal);
    return m.volume + m.inertia[0] + m.inertia[1] + m.inertia[2];
}

static double worst(const double *a, const double *b, double scale) {
    double most = 0.0;
    for (int i = 0; i < 3; i++) {
        most = fmax(most, fabs(a[i] - b[i]) / scale);
    }
    return most;
}

TEST(the_rule_of_edges_is_that_of_the_mesh_and_both_converge) {
    static const double a[3] = {0.6, 0.4, 0.3};
    double exact[3], last[2] = {0.0, 0.0}, scale = 0.0;
    double V = 4.0 / 3.0 * acos(-1.0) * a[0] * a[1] * a[2];
    double square = a[0] * a[0] + a[1] * a[1] + a[2] * a[2];
    for (int i = 0; i < 3; i++) {
        exact[i] = V / a[i] * (1.0 + 0.4 * square) + V * 0.8 * a[i];
        scale = fmax(scale, exact[i]);
    }
    for (int n = 17; n <= 33; n = 2 * n - 1) {
        double edge[3], normal[3], difference[3], unused[3];
        ellipsoid_loss(a, n, edge, normal);
        for (int i = 0; i < 3; i++) {
            const double step = 1e-6;
            double up[3] = {a[0], a[1], a[2]}, down[3] = {a[0], a[1], a[2]};
            up[i] += step;
            down[i] -= step;
            difference[i] =
                (ellipsoid_loss(up, n, unused, unused) - ellipsoid_loss(down, n, unused, unused)) /
                (2.0 * step);
        }
        CHECK(worst(edge, difference, scale) < 1e-8);
        CHECK(worst(normal, difference, scale) > 1e-4);
        double error[2] = {worst(edge, exact, scale), worst(normal, exact, scale)};
        for (int rule = 0; rule < 2 && n > 17; rule++) {
            CHECK(error[rule] < 0.45 * last[rule]);
        }
        memcpy(last, error, sizeof last);
    }
    CHECK(last[0] < 6e-3 && last[1] < 1.2e-2);
}

static void check_refused(const cri_march_box *box, const double *phi, const char *text) {
    cri_surface s;
    cr_error err = {0};
    CHECK_INT(cri_march(box, phi, arena, scratch, &s, &err), CR_ERR_ARGUMENT);
    CHECK_TEXT(err.text, text);
    CHECK_INT(s.n_face, 0);
}

TEST(grids_without_a_surface_are_refused) {
    begin();
    double phi[27];
    for (int i = 0; i < 27; i++) {
        phi[i] = 1.0;
    }
    cri_march_box box = {{3, 3, 3}, {0, 0, 0}, 1.0};
    check_refused(&box, phi, "no sample of the grid is inside; choose a finer one");
    phi[1] = -1.0;
    check_refused(&box, phi, "what is inside reaches the border of the grid; choose a larger box");
    box.n[0] = 1;
    check_refused(&box, phi,
                  "a grid of 1 x 3 x 3 samples: 2 to 4096 along an axis and 16777216 in all are "
                  "possible");
    fixture_field f;
    fixture_field_find("sphere", &f);
    cri_surface s;
    cr_error err = {0};
    box.n[0] = box.n[1] = box.n[2] = 1000;
    CHECK_INT(cri_surface_of_field(&f.field, &box, arena, scratch, &s, &err), CR_ERR_ARGUMENT);
}

CR_TEST_MAIN(surfaces_of_random_samples_are_closed_manifolds, a_sphere_has_the_known_mesh,
             surfaces_of_fields_have_their_topology, samples_that_are_left_out_do_not_matter,
             the_rule_of_edges_is_that_of_the_mesh_and_both_converge,
             grids_without_a_surface_are_refused)
