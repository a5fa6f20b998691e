// SPDX-License-Identifier: MIT
//
// Dynamics of points: numbers of the reference implementation in numpy, drift, forms that agree.

#include "points/system/points_fixture.h"

// 15 digits are given
static const double digits = 2e-13;

static fixture_rooms rooms;
static cri_points_scene *scene;
static double minv[64];
static bool has_failed[4];

static cri_points_call call_of(cri_points_form form, const cri_tableau *tableau,
                               const cri_points_potential *potential) {
    cri_points_masses(&scene->s, scene->p, minv);
    memset(has_failed, 0, sizeof has_failed);
    return (cri_points_call){.s = &scene->s,
                             .form = form,
                             .tableau = tableau,
                             .potential = potential,
                             .p = scene->p,
                             .minv = minv,
                             .B = 1,
                             .has_failed = has_failed,
                             .keep = rooms.keep,
                             .scratch = rooms.scratch};
}

static void open_scene(const char *name) {
    rooms = fixture_open();
    scene = fixture_scene(name, 0);
}

static void close_scene(void) {
    cri_points_scene_destroy(scene);
    fixture_close(&rooms);
}

static const double angles[3] = {0.3, -0.2, 0.5}, rates[3] = {1.0, -2.0, 1.5};

typedef struct field_vector {
    cri_points_form form;
    double off;
    double xdot[6], a[6], x_adj[6], v_adj[6], m_adj[3];
} field_vector;

static const field_vector fields[] = {
    {CRI_LAGRANGE,
     0.0,
     {0.334367771193962, 0.103432072331469, -0.449685491079031, 0.262367536967518,
      0.0110453539134144, 0.514065944734724},
     {-6.59584287059877, -1.67397023606707, 5.14307579356808, -2.42102470340784, -2.3042217298988,
      -5.59215041531721},
     {-6.67124865410154, -6.39334083132419, -21.8069475226689, -4.80588929254343, 6.29810671942423,
      3.87874378889897},
     {-3.74878892413127, 1.07356645269445, 3.04427560769615, -2.02839261410676, -0.203800995334496,
      0.52941233182765},
     {22.4903734544372, 5.18712901554263, -17.0562174266391}},
    {CRI_LAGRANGE,
     0.1,
     {0.0}, // the velocity itself
     {-6.97157434319795, -1.51813269091375, 5.58310148502383, -1.87728071838042, -2.51269540758385,
      -5.2105419080145},
     {-6.77537314238397, -5.86276805320662, -23.31817023556, -6.40904228280286, 6.88027309450217,
      4.29058301058615},
     {-4.70583484182367, 0.1748746441113, 3.77373102895166, -1.38955273363795, -0.226989409605608,
      0.65376783622336},
     {23.5258689688517, 4.38109341612949, -17.7383139263671}},
    {CRI_HAMILTON,
     0.0,
     {0.334367771193962, 0.103432072331469, -0.449685491079031, 0.262367536967518,
      0.0110453539134144, 0.514065944734724},
     {-6.59584287059877, -1.67397023606707, 5.14307579356808, -2.42102470340784, -2.3042217298988,
      -5.59215041531721},
     {-1.72031952119466, -6.00740220577962, -25.6260318792602, -5.21655434466056, 7.87996514975531,
      4.74291698796923},
     {-2.68258807815701, -0.521523790822141, 2.24140606817275, -2.09243329034947, 0.372314470712341,
      -0.525159955059733},
     {22.4903734544372, 5.18712901554263, -17.0562174266391}},
    {CRI_HAMILTON,
     0.1,
     {0.402327295301035, 0.124454416644005, -0.471755014871742, 0.301639672776632,
      -0.0489562459769225, 0.532615692926761},
     {-6.70837589677062, -1.49388300670935, 5.28752270899041, -1.85898684905737, -2.518801636217,
      -5.23704320898662},
     {0.410092990248906, -5.78529024837929, -28.5803908140213, -6.08605142176626, 8.78767641470067,
      5.28201148036453},
     {-2.84329865270008, -0.749996841593304, 2.36102912050394, -2.41681025685259, 0.508139082715478,
      -0.721893404695845},
     {22.4357374317954, 6.19892157201574, -17.8602562787268}},
};

// gravity that does not follow the masses, as in the reference
static void slope_of_masses(double *weight) {
    for (int k = 0; k < scene->s.n_block; k++) {
        const cri_mass_block *b = &scene->s.block[k];
        weight[b->first * scene->s.d + scene->s.d - 1] = scene->p[k] * 9.81;
    }
}

TEST(fields_of_a_chain_and_their_adjoints_are_those_of_the_reference) {
    open_scene("cp3-e");
    double weight[6] = {0.0};
    slope_of_masses(weight);
    const fixture_slope slope = {6, weight};
    const cri_points_potential V = {.context = &slope, .grad = fixture_slope_grad};
    for (size_t k = 0; k < sizeof fields / sizeof fields[0]; k++) {
        double state[12], rate[12], seed[12], state_adj[12] = {0.0}, minv_adj[3] = {0.0};
        double p_adj[32] = {0.0};
        const field_vector *f = &fields[k];
        const cri_points_call call = call_of(f->form, &cri_rk_38, &V);
        fixture_chain(angles, rates, state);
        fixture_seed(12, seed);
        for (int i = 0; i < 6; i++) {
            state[6 + i] += f->off * seed[i];
        }
        const cri_field_cache *cache = cri_points_field(&call, state, rate);
        assert_non_null(cache);
        fixture_check(6, rate, f->xdot[0] != 0.0 ? f->xdot : state + 6, digits);
        fixture_check(6, rate + 6, f->a, digits);
        const cri_points_adj adj = {.p = p_adj, .minv = minv_adj};
        cri_points_field_vjp(&call, cache, seed, state_adj, &adj);
        cri_points_masses_vjp(&scene->s, scene->p, minv_adj, p_adj);
        fixture_check(6, state_adj, f->x_adj, digits);
        fixture_check(6, state_adj + 6, f->v_adj, digits);
        fixture_check(3, p_adj, f->m_adj, digits);
        CHECK(!has_failed[0]);
    }
    close_scene();
}

TEST(runge_kutta_steps_and_their_adjoints_are_those_of_the_reference) {
    static const double next[2][6] = {{0.106449588117026, -0.333419382696626, 0.019717771535131,
                                       -0.723903170461057, 0.191763513284181, -1.02869860936957},
                                      {0.106449586847729, -0.333419383729555, 0.0197177723018715,
                                       -0.723903175470481, 0.19176351512942, -1.02869861748135}};
    static const double v_38[6] = {0.269486799388773, 0.0860380662572854,  -0.400287071772808,
                                   0.234804082339409, -0.0105265141116748, 0.454809531453525};
    static const double x_adj[2][6] = {{0.953801355584498, 0.472476274993531, -0.630817397521941,
                                        -1.02499538519198, -0.59961528483423, 0.317842519456571},
                                       {0.953801822256019, 0.472476179912304, -0.630817626963088,
                                        -1.02499533978782, -0.599615407890403, 0.317842517091118}};
    static const double m_adj[2][3] = {{0.215027929786714, 0.0521837171850794, -0.170006938165057},
                                       {0.215028201911916, 0.0521836767542572, -0.170006973099763}};
    open_scene("cp3-e");
    double weight[6] = {0.0};
    slope_of_masses(weight);
    const fixture_slope slope = {6, weight};
    const cri_points_potential V = {.context = &slope, .grad = fixture_slope_grad};
    for (int k = 0; k < 2; k++) {
        double state[12], out[12], seed[12], state_adj[12] = {0.0}, minv_adj[3] = {0.0};
        double p_adj[32] = {0.0};
        cri_points_flow_cache cache;
        const cri_points_call call =
            call_of(CRI_LAGRANGE, k == 0 ? &cri_rk_classic : &cri_rk_38, &V);
        fixture_chain(angles, rates, state);
        fixture_seed(12, seed);
        assert_true(cri_points_flow(&call, 0.01, state, out, &cache));
        fixture_check(6, out, next[k], digits);
        if (k == 1) {
            fixture_check(6, out + 6, v_38, digits);
        }
        const cri_points_adj adj = {.p = p_adj, .minv = minv_adj};
        cri_points_flow_vjp(&call, &cache, seed, state_adj, &adj);
        cri_points_masses_vjp(&scene->s, scene->p, minv_adj, p_adj);
        fixture_check(6, state_adj, x_adj[k], digits);
        fixture_check(3, p_adj, m_adj[k], digits);
    }
    close_scene();
}

static const double top_angles[3] = {0.3, 0.8, -0.4}, top_omega[3] = {0.5, -1.0, 6.0};

TEST(the_field_of_a_top_is_that_of_the_reference) {
    static const double a[12] = {-1.89213606998371, 7.50436311552485,  -1.03751736890731,
                                 -38.9287074681197, 10.3895749201052,  -0.0823104672381652,
                                 -5.39520254606642, -28.2060205674118, -0.337488432284601,
                                 -5.6764082099512,  22.5130893465746,  -3.11255210672198};
    static const double lam_adj[3] = {-3.26561956473707, -33.5288334705087, 13.9989046963405};
    open_scene("gyro");
    double weight[12] = {0.0}, state[24], rate[24], seed[24], state_adj[24] = {0.0};
    double minv_adj[16] = {0.0}, p_adj[32] = {0.0};
    slope_of_masses(weight);
    const fixture_slope slope = {12, weight};
    const cri_points_potential V = {.context = &slope, .grad = fixture_slope_grad};
    const cri_points_call call = call_of(CRI_LAGRANGE, &cri_rk_38, &V);
    fixture_top(top_angles, top_omega, state);
    fixture_seed(24, seed);
    const cri_field_cache *cache = cri_points_field(&call, state, rate);
    assert_non_null(cache);
    fixture_check(12, rate + 12, a, digits);
    const cri_points_adj adj = {.p = p_adj, .minv = minv_adj};
    cri_points_field_vjp(&call, cache, seed, state_adj, &adj);
    cri_points_masses_vjp(&scene->s, scene->p, minv_adj, p_adj);
    // the lam of a top cancel in four digits
    CHECK_CLOSE(p_adj[0], -47.7098636652024, 1e-12, 1e-12);
    fixture_check(3, p_adj + scene->s.i_lam, lam_adj, 1e-11);
    close_scene();
}

TEST(both_forms_agree_on_the_true_systems) {
    static const char *const name[] = {"cp3-e", "cp3", "gyro", "gyro-e", "bd5", "bd1", "bp5"};
    for (size_t k = 0; k < sizeof name / sizeof name[0]; k++) {
        open_scene(name[k]);
        double state[64] = {0.0}, one[64], two[64];
        int n = scene->n_x, D = n / 2;
        memcpy(state, scene->x0, sizeof *state * (size_t)n);
        for (int i = 0; i < D; i++) {
            state[D + i] = 0.5 * cos(1.7 * i);
        }
        if (n == 12 && scene->s.n_tie == 3 && scene->s.n_lam == 0) {
            fixture_chain(angles, rates, state);
        } else if (n == 24) {
            fixture_top(top_angles, top_omega, state);
        }
        // velocities that the ties allow
        cri_points_call call = call_of(CRI_LAGRANGE, &cri_rk_38, &scene->potential);
        assert_non_null(cri_points_project(&call, state));
        assert_non_null(cri_points_field(&call, state, one));
        call.form = CRI_HAMILTON;
        assert_non_null(cri_points_field(&call, state, two));
        fixture_check(n, two, one, 1e-10);
        close_scene();
    }
}

typedef struct drift_case {
    cri_points_form form;
    double dt;
    int n;
    double off;
    bool has_projection;
    double want[3]; // |Phi|, |J v| and the change of energy at the end
} drift_case;

// those of the reference, to two digits; projections leave rounding
static const drift_case drifts[] = {
    {CRI_LAGRANGE, 0.01, 100, 0.0, false, {1.2e-5, 2.5e-5, 2.0e-4}},
    {CRI_LAGRANGE, 0.005, 200, 0.0, false, {7.5e-7, 1.6e-6, 1.3e-5}},
    {CRI_LAGRANGE, 0.01, 1000, 0.0, false, {1.5e-2, 4.3e-3, 4.2e-1}},
    {CRI_LAGRANGE, 0.01, 100, 1e-3, false, {7.7e-4, 0.0, 0.0}},
    {CRI_HAMILTON, 0.01, 100, 0.0, false, {2.2e-7, 4.4e-6, 3.6e-5}},
    {CRI_HAMILTON, 0.01, 1000, 0.0, false, {2.4e-5, 1.2e-3, 3.0e-2}},
    {CRI_HAMILTON, 0.01, 100, 1e-3, false, {2.2e-7, 0.0, 0.0}},
    {CRI_LAGRANGE, 0.01, 100, 0.0, true, {0.0, 0.0, 0.0}},
    {CRI_HAMILTON, 0.01, 100, 1e-3, true, {0.0, 0.0, 0.0}},
};

static void run_drift(const drift_case *c, double out[3]) {
    double state[12], seed[6], T, V, first, phi[3], rate[3];
    open_scene("cp3-e");
    scene->form = c->form;
    scene->dt = c->dt;
    scene->has_contact = false;
    scene->has_projection = c->has_projection;
    fixture_chain((double[]){1.5, 2.0, 2.5}, (double[]){1.0, -1.0, 0.5}, state);
    fixture_seed(6, seed);
    for (int i = 0; i < 6; i++) {
        state[6 + i] += c->off * seed[i];
    }
    cri_points_energy(scene, scene->p, 1, state, &T, &V, rooms.scratch);
    first = T + V;
    for (int k = 0; k < c->n; k++) {
        cri_arena_reset(rooms.keep);
        assert_non_null(
            cri_points_step(scene, scene->p, 1, state, state, NULL, rooms.keep, rooms.scratch));
    }
    cri_points_energy(scene, scene->p, 1, state, &T, &V, rooms.scratch);
    cri_points_errors(&scene->s, state, state + 6, phi, rate, rooms.scratch);
    memset(out, 0, 3 * sizeof *out);
    for (int e = 0; e < 3; e++) {
        out[0] = fmax(out[0], fabs(phi[e]));
        out[1] = fmax(out[1], fabs(rate[e]));
    }
    out[2] = fabs(T + V - first);
    close_scene();
}

TEST(drift_of_ties_and_energy_is_that_of_the_reference_and_projection_ends_it) {
    for (size_t k = 0; k < sizeof drifts / sizeof drifts[0]; k++) {
        double got[3];
        run_drift(&drifts[k], got);
        for (int i = 0; i < 3; i++) {
            if (drifts[k].want[i] > 0.0) {
                // two digits are given
                CHECK_CLOSE(got[i], drifts[k].want[i], 0.0, 0.06);
            } else if (drifts[k].has_projection) {
                CHECK(got[i] < (i < 2 ? 1e-14 : 1e-4));
            }
        }
    }
}

CR_TEST_MAIN(fields_of_a_chain_and_their_adjoints_are_those_of_the_reference,
             runge_kutta_steps_and_their_adjoints_are_those_of_the_reference,
             the_field_of_a_top_is_that_of_the_reference, both_forms_agree_on_the_true_systems,
             drift_of_ties_and_energy_is_that_of_the_reference_and_projection_ends_it)
