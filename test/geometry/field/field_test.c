// SPDX-License-Identifier: MIT
//
// Distances: known values, the properties of every exact distance, kinks, and bad input.

#include "cr_test.h"

#include "base/arena.h"
#include "field_fixture.h"
#include "geometry/field/grid.h"

#include <math.h>
#include <string.h>

// Values of an independent program in Python (numpy), to 15 digits.
static const struct {
    const char *field;
    double x[3], phi, g[3], H[6], d[9];
} known[] = {
    {"sphere",
     {0.62, 0.51, 0.47},
     0.230268778364619,
     {0.666474049671901, 0.548228653762371, 0.505230327977087},
     {0.59747500296746, 0.751874468391275, 0.800566817905463, -0.392768390724139,
      -0.361963026745775, -0.297743780065073},
     {-1}},
    {"sphere",
     {0.24, 0.11, 0.28},
     -0.315162371902123,
     {0.623639640401692, 0.285834835184109, 0.72757958046864},
     {1.58787383120507, 2.38619713860652, 1.22292603353584, -0.463202973964794, -1.17906211554675,
      -0.540403469625594},
     {-1}},
    {"box",
     {0.62, 0.51, 0.47},
     0.235372045918796,
     {0.509831146394505, 0.467345217528296, 0.722260790725548},
     {3.14426549370859, 3.32065111896541, 2.03226916056775, -1.01230011016959, -1.56446380662574,
      -1.43409182274026},
     {-0.509831146394505, -0.467345217528296, -0.722260790725548}},
    {"box", {0.24, 0.11, 0.28}, -0.02, {0, 0, 1}, {0, 0, 0, 0, 0, 0}, {0, 0, -1}},
    {"rounded_box",
     {0.62, 0.51, 0.47},
     0.306693988153255,
     {0.540947263565394, 0.516358751585149, 0.66388982346662},
     {1.73933246776825, 1.8032566524811, 1.37511327579968, -0.686813333426437, -0.883045714405419,
      -0.842907272841536},
     {-0.540947263565394, -0.516358751585149, -0.66388982346662, 0.721195838617162}},
    {"rounded_box", {0.1, 0.2, 0.05}, -0.2, {0, 1, 0}, {0, 0, 0, 0, 0, 0}, {0, -1, 0, 0}},
    {"rounded_box", {-0.3, 0.25, -0.9}, 0.6, {0, 0, -1}, {0, 0, 0, 0, 0, 0}, {0, 0, -1, 0}},
    {"rounded_box",
     {0.7, -0.1, 0.23},
     0.201496268633627,
     {0.995037190209989, 0, 0.099503719020999},
     {0.0328395112280518, 0, 3.28395112280525, 0, -0.328395112280525, 0},
     {-0.995037190209989, 0, -0.099503719020999, 0.0945409092309883}},
    {"rounded_box", {0.24, 0.11, 0.28}, -0.02, {0, 0, 1}, {0, 0, 0, 0, 0, 0}, {0, 0, -1, 0}},
    {"cylinder",
     {0.62, 0.51, 0.47},
     0.402807573457052,
     {0.772289675009111, 0.635270539120398, 0},
     {0.502696625215521, 0.742931882863691, 0, -0.611121387516908, 0, 0},
     {-1, 0}},
    {"cylinder",
     {0.24, 0.11, 0.28},
     -0.135992424351118,
     {0.909064822894284, 0.416654710493214, 0},
     {0.657561236072504, 3.13020885932035, 0, -1.43467906052183, 0, 0},
     {-1, 0}},
    {"capsule",
     {0.62, 0.51, 0.47},
     0.502807573457052,
     {0.772289675009111, 0.635270539120398, 0},
     {0.502696625215521, 0.742931882863691, 0, -0.611121387516907, 0, 0},
     {-1, 0}},
    {"capsule",
     {0.24, 0.11, 0.28},
     -0.0359924243511183,
     {0.909064822894284, 0.416654710493214, 0},
     {0.657561236072504, 3.13020885932035, 0, -1.43467906052183, 0, 0},
     {-1, 0}},
    {"ellipsoid",
     {0.62, 0.51, 0.47},
     0.483870530189551,
     {0.457261162570238, 0.58523904261126, 0.669632356004674},
     {0.724889182870336, 0.768286880214065, 0.707873098342501, -0.181780983739205,
      -0.336122261099109, -0.547330323845586},
     {-0.30388418380463, -0.33185990762198, -0.325853454421219}},
    {"ellipsoid",
     {0.1, 0.2, 0.05},
     -0.170523201181332,
     {0.122427155058072, 0.745454901020351, 0.655216439239069},
     {1.25670774932511, 3.22136879251932, 4.24693396513125, 0.0782610347077957, -0.323855162452255,
      -3.67964886993476},
     {-0.0246643114483134, -0.609628090706203, -0.353226319005644}},
    {"ellipsoid",
     {-0.3, 0.25, -0.9},
     0.652422265491689,
     {-0.167992529098002, 0.216236245020719, -0.961779806663977},
     {0.5714450961725, 0.836008086952045, 0.0591180077194744, 0.00732022659289758,
      -0.0981675930200796, 0.186680469798304},
     {-0.0533090506619529, -0.0588825670264345, -0.873659744275749}},
    {"ellipsoid",
     {0.7, -0.1, 0.23},
     0.195502307844744,
     {0.765773777022188, -0.194219011780558, 0.613081966696262},
     {0.884533068881617, 1.86098669890082, 1.40659290219014, 0.20238825982784, -1.04071660218128,
      0.336750037774722},
     {-0.702328729512704, -0.0301183845670021, -0.225084993515202}},
    {"ellipsoid",
     {0.24, 0.11, 0.28},
     0.0168541144547352,
     {0.213349666228818, 0.215972069236967, 0.952805323888125},
     {0.959070127132732, 1.93179234264735, 0.149310981679084, 0.0194102478522219,
      -0.219152179014653, -0.442225026366288},
     {-0.0840612549391483, -0.0574269635054338, -0.838282284597533}},
    {"csg",
     {0.62, 0.51, 0.47},
     0.306693988153255,
     {0.540947263565394, 0.516358751585149, 0.66388982346662},
     {1.73933246776825, 1.8032566524811, 1.37511327579968, -0.686813333426437, -0.883045714405419,
      -0.842907272841536},
     {-0.540947263565394, -0.516358751585149, -0.66388982346662, 0.721195838617162, 0, 0, 0, 0, 0}},
    {"csg",
     {0.1, 0.2, 0.05},
     -0.023606797749979,
     {-0.447213595499958, -0.894427190999916, 0},
     {-3.57770876399966, -0.894427190999916, 0, 1.78885438199983, 0, 0},
     {0, 0, 0, 0, 1, 0, 0, 0, 0}},
    {"csg", {-0.3, 0.25, -0.9}, 0.6, {0, 0, -1}, {0, 0, 0, 0, 0, 0}, {0, 0, -1, 0, 0, 0, 0, 0, 0}},
    {"csg",
     {0.7, -0.1, 0.23},
     0.201496268633627,
     {0.995037190209989, 0, 0.099503719020999},
     {0.0328395112280518, 0, 3.28395112280525, 0, -0.328395112280525, 0},
     {-0.995037190209989, 0, -0.099503719020999, 0.0945409092309883, 0, 0, 0, 0, 0}},
    {"csg",
     {0.24, 0.11, 0.28},
     -0.0175228073715694,
     {-0.11368792560468, -0.0521069659021451, 0.792409063009463},
     {3.18614199302621, 0.295121219092533, 1.62567609448866, 1.67742743806262, 7.13723979115524,
      3.27123490427948},
     {0, 0, -0.81434638333628, 0, 0.151385846546383, 0, 0.0948761094758606, -0.0342677701173375,
      -0.0282870633994162}},
};

// the parameters of the list above among those of the fixture: its sphere has no pose there
static int param_of(const char *name, int i) {
    return strcmp(name, "csg") == 0 && i == 8 ? 14 : i;
}

TEST(fields_have_known_values) {
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        fixture_field f;
        fixture_field_find(known[k].field, &f);
        cri_vec3 x = cri_v3_load(known[k].x);
        cri_field_value v;
        cri_field_eval(&f.field, x, CRI_FIELD_HESSIAN, &v);
        CHECK_CLOSE(v.phi, known[k].phi, 1e-14, 1e-13);
        CHECK_CLOSE(cri_field_phi(&f.field, x), v.phi, 0.0, 0.0);
        const double g[3] = {v.g.x, v.g.y, v.g.z};
        for (int i = 0; i < 6; i++) {
            CHECK_CLOSE(v.H[i], known[k].H[i], 1e-12, 1e-12);
        }
        double param_adj[FIELD_PARAMS] = {0};
        cri_field_vjp(&f.field, x, 1.0, cri_v3(0, 0, 0), NULL, param_adj);
        for (int i = 0; i < 9; i++) {
            if (i < 3) {
                CHECK_CLOSE(g[i], known[k].g[i], 1e-13, 1e-13);
            }
            if (i < 9 && param_of(known[k].field, i) < f.field.n_param) {
                CHECK_CLOSE(param_adj[param_of(known[k].field, i)], known[k].d[i], 1e-13, 1e-12);
            }
        }
    }
}

// |g| = 1, H g = 0, and the point phi g away lies on the surface
TEST(primitives_are_distances) {
    cr_test_rng rng = cr_test_rng_of(3);
    for (int i = 0; i < 6; i++) {
        fixture_field f;
        fixture_field_make(i, &f);
        for (int k = 0; k < 2000; k++) {
            cri_vec3 x = fixture_point(&rng, 1.0);
            cri_field_value v;
            cri_field_eval(&f.field, x, CRI_FIELD_HESSIAN, &v);
            CHECK_CLOSE(cri_v3_norm(v.g), 1.0, 1e-13, 0.0);
            double curvature = fabs(v.H[0]) + fabs(v.H[1]) + fabs(v.H[2]);
            CHECK_CLOSE(cri_v3_norm(cri_sym_mul(v.H, v.g)), 0.0, 1e-12 * (1.0 + curvature), 0.0);
            CHECK_CLOSE(cri_field_phi(&f.field, cri_v3_mad(x, -v.phi, v.g)), 0.0, 1e-13, 0.0);
        }
    }
}

TEST(no_field_is_steeper_than_its_bound_or_reaches_out_of_its_box) {
    cr_test_rng rng = cr_test_rng_of(4);
    for (int i = 0; i < FIELD_FIXTURES; i++) {
        fixture_field f;
        fixture_field_make(i, &f);
        double most = cri_field_lipschitz(&f.field);
        cri_vec3 lower, upper;
        cri_field_bounds(&f.field, &lower, &upper);
        for (int k = 0; k < 2000; k++) {
            cri_vec3 x = fixture_point(&rng, 1.3), y = cri_v3_add(x, fixture_point(&rng, 0.2));
            double apart = cri_v3_norm(cri_v3_sub(y, x));
            double change = cri_field_phi(&f.field, y) - cri_field_phi(&f.field, x);
            CHECK(fabs(change) <= most * apart + 1e-14);
            bool is_in = x.x >= lower.x && x.y >= lower.y && x.z >= lower.z && x.x <= upper.x &&
                         x.y <= upper.y && x.z <= upper.z;
            // the box of the torus belongs to the torus without its pose
            CHECK(is_in || cri_field_phi(&f.field, x) > 0.0);
        }
    }
}

// centres, axes, planes of symmetry, corners, the focal disc of an ellipsoid and its rim
TEST(kinks_have_finite_values) {
    static const double place[][3] = {{0, 0, 0},      {0, 0, 0.2},     {0.1, 0, 0},
                                      {0.2, 0.05, 0}, {0.5, 0.4, 0.3}, {0, 0, 0.6},
                                      {0.6, 0, 0},    {0.6, 0.4, 0.3}, {0.45, 0, 0},
                                      {0, 0.175, 0},  {1e-300, 0, 0},  {1e100, 1e100, -1e100}};
    for (int i = 0; i < FIELD_FIXTURES - 1; i++) {
        fixture_field f;
        fixture_field_make(i, &f);
        for (size_t k = 0; k < sizeof place / sizeof *place; k++) {
            cri_field_value v;
            cri_field_eval(&f.field, cri_v3_load(place[k]), CRI_FIELD_HESSIAN, &v);
            CHECK(isfinite(v.phi) && cri_v3_norm(v.g) <= 1.0 + 1e-12 && cri_all_finite(6, v.H));
        }
    }
    fixture_field f;
    fixture_field_find("ellipsoid", &f);
    CHECK_CLOSE(cri_field_phi(&f.field, cri_v3(0, 0, 0)), -0.3, 1e-15, 0.0);
    // on the disc the nearest points lie above and below: 0.3 sqrt(1 - x^2/(a^2 - c^2))
    CHECK_CLOSE(cri_field_phi(&f.field, cri_v3(0.2, 0, 0)), -0.3 * sqrt(1.0 - 0.04 / 0.27), 1e-15,
                0.0);
}

TEST(a_sphere_among_ellipsoids_is_a_sphere) {
    fixture_field f, s;
    fixture_field_leaf(CRI_FIELD_ELLIPSOID, 3, (double[]){0.7, 0.7, 0.7}, &f);
    fixture_field_find("sphere", &s);
    cr_test_rng rng = cr_test_rng_of(5);
    for (int k = 0; k < 500; k++) {
        cri_vec3 x = fixture_point(&rng, 1.0);
        cri_field_value a, b;
        cri_field_eval(&f.field, x, CRI_FIELD_HESSIAN, &a);
        cri_field_eval(&s.field, x, CRI_FIELD_HESSIAN, &b);
        CHECK_CLOSE(a.phi, b.phi, 1e-14, 0.0);
        for (int i = 0; i < 6; i++) {
            CHECK_CLOSE(a.H[i], b.H[i], 1e-12, 1e-12);
        }
    }
}

static void check_refused(const fixture_field *f, const char *text) {
    cr_error err = {0};
    CHECK_INT(cri_field_check(&f->field, &err), CR_ERR_ARGUMENT);
    CHECK_TEXT(err.text, text);
}

TEST(what_is_no_field_is_refused) {
    fixture_field f;
    cr_error err = {0};
    for (int i = 0; i < FIELD_FIXTURES; i++) {
        fixture_field_make(i, &f);
        CHECK_INT(cri_field_check(&f.field, &err), CR_OK);
    }
    fixture_field_find("sphere", &f);
    f.param[0] = -1.0;
    check_refused(&f, "part 0 of a field: a size is not positive");
    f.param[0] = NAN;
    check_refused(&f, "part 0 of a field: a parameter is not finite");
    f.field.n_param = 0;
    check_refused(&f, "part 0 of a field: its parameters are not there");
    f.field.n_node = 0;
    check_refused(&f, "a field has 0 parts; between 1 and 32 are possible");
    fixture_field_find("rounded_box", &f);
    f.param[3] = 0.31;
    check_refused(&f, "part 0 of a field: the rounding is negative or larger than half of the box");
    fixture_field_find("csg", &f);
    f.field.n_node = 2;
    check_refused(&f, "a field leaves 2 results; combine them, one is expected");
    f.node[1].kind = CRI_FIELD_UNION;
    check_refused(&f, "part 1 of a field: a combination takes the two results before it");
    fixture_field_find("csg", &f);
    f.param[6] = -0.1;
    check_refused(&f, "part 2 of a field: the width of the blend is negative");
    f.node[4].is_posed = true;
    f.param[6] = 0.1;
    check_refused(&f, "part 4 of a field: combinations have no pose");
    fixture_field_leaf(CRI_FIELD_GRID, 1, (double[]){1.0}, &f);
    check_refused(&f, "part 0 of a field: there is nothing behind it");
}

// ---- grids -------------------------------------------------------------------------------------

// rms error of value, gradient and Hessian of a sampled ellipsoid near its surface
static void grid_errors(int n, double error[3]) {
    cr_arena *arena = cri_arena_create(1 << 20);
    assert_non_null(arena);
    fixture_field f, sampled;
    fixture_field_find("ellipsoid", &f);
    double *sample = CR_PUSH(arena, double, n *n *n);
    assert_non_null(sample);
    double h = 1.8 / (n - 1);
    for (int k = 0; k < n * n * n; k++) {
        cri_vec3 x = cri_v3(k / (n * n), k / n % n, k % n);
        x = cri_v3_mad(cri_v3(-0.9, -0.9, -0.9), h, x);
        sample[k] = cri_field_phi(&f.field, cri_v3_add(x, cri_v3(1e-9, 1e-9, 1e-9)));
    }
    cri_grid grid;
    assert_true(
        cri_grid_of_samples((int[]){n, n, n}, cri_v3(-0.9, -0.9, -0.9), h, sample, arena, &grid));
    fixture_field_leaf(CRI_FIELD_GRID, 1, (double[]){1.0}, &sampled);
    sampled.node[0].grid = &grid;
    cr_test_rng rng = cr_test_rng_of(6);
    double sum[3] = {0.0};
    int count = 0;
    while (count < 300) {
        cri_vec3 x = fixture_point(&rng, 0.7);
        cri_field_value a, b;
        cri_field_eval(&f.field, x, CRI_FIELD_HESSIAN, &a);
        if (fabs(a.phi) > 0.05) {
            continue;
        }
        cri_field_eval(&sampled.field, x, CRI_FIELD_HESSIAN, &b);
        cri_vec3 dg = cri_v3_sub(a.g, b.g);
        sum[0] += (a.phi - b.phi) * (a.phi - b.phi);
        sum[1] += cri_v3_dot(dg, dg);
        for (int i = 0; i < 6; i++) {
            sum[2] += (a.H[i] - b.H[i]) * (a.H[i] - b.H[i]);
        }
        count++;
    }
    for (int i = 0; i < 3; i++) {
        error[i] = sqrt(sum[i] / count);
    }
    cri_arena_destroy(arena);
}

// Theory has orders 4, 3 and 2; the ends of the ellipsoid are still curved more than the grid is
// fine, hence the lower bounds.
TEST(splines_converge_to_what_they_sample) {
    double coarse[3], fine[3];
    grid_errors(33, coarse);
    grid_errors(65, fine);
    static const double order[3] = {3.5, 2.5, 1.5}, most[3] = {2e-6, 2e-4, 2e-2};
    for (int i = 0; i < 3; i++) {
        CHECK(log2(coarse[i] / fine[i]) > order[i]);
        CHECK(fine[i] < most[i]);
    }
}

CR_TEST_MAIN(fields_have_known_values, primitives_are_distances,
             no_field_is_steeper_than_its_bound_or_reaches_out_of_its_box, kinks_have_finite_values,
             a_sphere_among_ellipsoids_is_a_sphere, what_is_no_field_is_refused,
             splines_converge_to_what_they_sample)
