// SPDX-License-Identifier: MIT
//
// Contacts of points: numbers of the reference implementation in numpy.

#include "points/system/points_fixture.h"

// 15 digits are given
static const double digits = 3e-13;

static fixture_rooms rooms;

// ---- the chain over a ground -------------------------------------------------------------------

typedef struct jump_vector {
    const char *name;
    double rates[3], mu;
    double before[6], f[2], after[6], x_adj[6], m_adj[3], mu_e[2];
    bool has_adj; // of x and masses
} jump_vector;

// f is f_c + f_r
static const jump_vector jumps[] = {
    {"lift",
     {0.5, -1.5, -0.5},
     0.9,
     {0.167183885596981, 0.0517160361657344, -0.420856061107764, 0.170917634642771,
      -0.574433009438579, 0.0870181653870356},
     {0.0383225610691046 + 0.0191612805345523, 0.0344903049621941 + 0.0172451524810971},
     {0.192127926904561, 0.0594321323539286, -0.497868596377694, 0.199301352089335,
      -0.177212191883416, 0.374476744248917},
     {0.0},
     {0.0},
     {-0.235191711109445, -0.0966918688395695},
     false},
    {"slide",
     {-2.0, -1.0, -1.0},
     0.1,
     {-0.668735542387924, -0.206864144662938, -1.06076217352442, -0.127396412344913,
      -1.36791607018605, -0.295195350856384},
     {0.113553393560983 + 0.0567766967804916, 0.0113553393560983 + 0.00567766967804916},
     {-0.5312774586537, -0.164343376562067, -1.48515192621867, 0.0290165506288444,
      -0.966057344033781, 0.312599213340873},
     {-0.87099024626191, 0.222571248663207, 1.36561220742511, 0.026348032415301, -0.404761364078469,
      -0.221122140988636},
     {-0.402683031160137, -1.01894026993512, 1.41999227549062},
     {-0.475036320087689, 0.0612859251154245},
     true},
    {"stick",
     {-2.0, 1.6, 0.0},
     1.5,
     {-0.668735542387924, -0.206864144662938, -0.0414929325695294, -0.334012516371777,
      -0.0414929325695294, -0.334012516371777},
     {0.113581134217699 + 0.0567905671088493, -0.0284549361370473 - 0.0166615174634266},
     {-0.502258642186065, -0.155366804707859, -0.555475730718943, -0.144579166801691,
      0.00690026620582161, 0.162648240546692},
     {-2.80791265382939, 0.44805684575393, 3.80741350429849, 0.154032263766126, -1.23607170652187,
      -0.675269050898359},
     {-0.314867335901575, 0.473712847027391, 0.00927198044502768},
     {0.0, 0.241651627546994},
     true},
};

static cri_jump_world world_of(const cri_points_scene *scene, const double *minv) {
    return (cri_jump_world){.s = &scene->s,
                            .law = &scene->law,
                            .n_touch = scene->n_touch,
                            .touch = scene->touch,
                            .p = scene->p,
                            .minv = minv};
}

TEST(jumps_of_a_chain_are_those_of_the_reference) {
    static const double angles[3] = {0.3, -0.2, 0.5};
    static const double goal[2] = {0.0123691474336952, 0.00690026620582159};
    rooms = fixture_open();
    for (size_t k = 0; k < sizeof jumps / sizeof jumps[0]; k++) {
        const jump_vector *c = &jumps[k];
        cri_points_scene *scene = fixture_scene("cp3-e", 0);
        double state[12], next[6], minv[3], seed[6], state_adj[12] = {0.0}, minv_adj[3] = {0.0};
        double p_adj[32] = {0.0};
        cri_points_jump jump;
        fixture_chain(angles, c->rates, state);
        fixture_check(6, state + 6, c->before, digits);
        // the ground is 2 mm in the third mass; the reference's tangent points to the right
        scene->touch[0].offset = state[5] - 0.1 + 0.002;
        scene->touch[0].tangent[0][0] = 1.0;
        scene->p[scene->law.i_mu] = c->mu;
        scene->p[scene->law.i_e] = 0.5;
        cri_points_masses(&scene->s, scene->p, minv);
        const cri_jump_world w = world_of(scene, minv);
        assert_true(
            cri_points_jump_solve(&w, state, state + 6, next, &jump, rooms.keep, rooms.scratch));
        CHECK_INT(jump.n, 1);
        CHECK_INT(jump.outcome, CR_SOLVED);
        fixture_check(2, jump.goal.value, goal, digits);
        fixture_check(2, jump.f, c->f, digits);
        fixture_check(6, next, c->after, digits);
        fixture_seed(6, seed);
        const cri_points_adj adj = {.p = p_adj, .minv = minv_adj};
        cri_points_jump_vjp(&w, &jump, seed, state_adj, &adj, rooms.scratch);
        cri_points_masses_vjp(&scene->s, scene->p, minv_adj, p_adj);
        CHECK_CLOSE(p_adj[scene->law.i_mu], c->mu_e[0], digits, digits);
        CHECK_CLOSE(p_adj[scene->law.i_e], c->mu_e[1], digits, digits);
        if (c->has_adj) {
            fixture_check(6, state_adj, c->x_adj, 1e-12);
            fixture_check(3, p_adj, c->m_adj, 1e-12);
        }
        if (k == 2) {
            CHECK_TEXT(c->name, "stick");
            CHECK(p_adj[scene->law.i_mu] == 0.0); // exactly
        }
        cri_points_scene_destroy(scene);
    }
    fixture_close(&rooms);
}

// ---- two disks ---------------------------------------------------------------------------------

TEST(a_jump_of_two_disks_on_a_floor_is_that_of_the_reference) {
    static const double f[4] = {
        0.516669300349965 + 0.413335440279972, 0.0516669300349965 + 0.0413335440279972,
        0.547127824918886 + 0.345663405850615, 0.0273563912459443 + 0.0172831702925307};
    static const double after[12] = {-1.57825065828744, 0.19733568545545,   -2.04900100418259,
                                     1.31076495780783,  -2.69167993063981,  -0.273414660439706,
                                     0.154449655749582, 0.0337007501898088, 3.59099907111744,
                                     1.60646355106533,  -1.41831314512594,  3.47025016555767};
    static const double x_adj[12] = {-16.4995728849323, 10.8877792670254,    13.104658220716,
                                     2.45413602295897,  2.71486083872141,    -12.4918480081157,
                                     -4.93646595086627, -0.0784241717027845, 3.16047978548934,
                                     2.21568025232981,  2.4560399908718,     -2.98732336249562};
    static const double m_adj[2] = {-1.87458321149685, 0.803392804927195};
    static const double lam_adj[4] = {-28.1443632356297, -28.1443632356298, 25.3435805196935,
                                      25.3435805196936};
    static const bool is_body[2] = {true, true};
    // [mass 2 | lam 4 | gravity 2 | mu 2 | e 2 | epsilon]
    static const double p[13] = {0.3, 0.7, 0.0081, 0.0081, 0.0056, 0.0056, 0.0,
                                 0.0, 0.1, 0.05,   0.8,    0.4,    0.01};
    rooms = fixture_open();
    cri_points s;
    const cri_points_def def = {.d = 2, .n_block = 2, .is_body = is_body};
    assert_true(cri_points_build(&def, &s, rooms.keep));
    const cri_points_touch touch[2] = {
        {.kind = CRI_TOUCH_DISKS, .a = 0, .b = 3, .size = {0.18, 0.15}},
        {.kind = CRI_TOUCH_DISK_WALL,
         .a = 0,
         .coefficient = 1,
         .size = {0.18},
         .normal = {0.0, 1.0},
         .tangent = {{1.0, 0.0}}}};
    const cri_points_law law = {.law = cri_law_find("cone"),
                                .i_mu = 8,
                                .i_e = 10,
                                .i_epsilon = 12,
                                .dt = 0.01,
                                .share = 8.0};
    double state[24], next[12], minv[18], seed[12], state_adj[24] = {0.0}, minv_adj[18] = {0.0};
    double p_adj[13] = {0.0};
    cri_points_jump jump;
    fixture_disk((double[]){0.2, 0.1}, 0.4, (double[]){0.5, -0.6}, 3.0, state, state + 12);
    fixture_disk((double[]){0.45, 0.3}, 2.0, (double[]){-0.8, -0.9}, -2.0, state + 6, state + 18);
    cri_points_masses(&s, p, minv);
    const cri_jump_world w = {
        .s = &s, .law = &law, .n_touch = 2, .touch = touch, .p = p, .minv = minv};
    assert_true(
        cri_points_jump_solve(&w, state, state + 12, next, &jump, rooms.keep, rooms.scratch));
    CHECK_INT(jump.n, 2);
    CHECK_INT(jump.n_island, 1);
    fixture_check(2, jump.f, f, 1e-12);
    fixture_check(2, jump.f + 3, f + 2, 1e-12);
    fixture_check(12, next, after, 1e-12);
    fixture_seed(12, seed);
    const cri_points_adj adj = {.p = p_adj, .minv = minv_adj};
    cri_points_jump_vjp(&w, &jump, seed, state_adj, &adj, rooms.scratch);
    cri_points_masses_vjp(&s, p, minv_adj, p_adj);
    fixture_check(12, state_adj, x_adj, 1e-11);
    fixture_check(2, p_adj, m_adj, 1e-11);
    fixture_check(4, p_adj + 2, lam_adj, 1e-11);
    fixture_check(2, p_adj + 8, (double[]){5.51206879250198, -8.749529171898}, 1e-11);
    fixture_check(2, p_adj + 10, (double[]){0.132205493567308, 0.0}, 1e-11);
    fixture_close(&rooms);
}

// ---- closed forms ------------------------------------------------------------------------------

// one normal contact: max(e |v|, v*) when it approaches, max(v, v*) when it separates
TEST(one_contact_without_friction_has_its_closed_form) {
    static const double speed[4] = {-1.0, -1.0, 0.3, 0.3}, depth[4] = {0.001, 0.2, 0.2, 0.001};
    static const bool is_body[1] = {false};
    rooms = fixture_open();
    cri_points s;
    assert_true(cri_points_build(&(cri_points_def){.d = 2, .n_block = 1, .is_body = is_body}, &s,
                                 rooms.keep));
    const cri_points_touch touch = {
        .kind = CRI_TOUCH_WALL, .size = {0.1}, .normal = {0.0, 1.0}, .tangent = {{-1.0, 0.0}}};
    static const char *const laws[] = {"cone", "lcp"};
    for (int k = 0; k < 8; k++) {
        const cri_points_law law = {.law = cri_law_find(laws[k / 4]),
                                    .i_mu = 3,
                                    .i_e = 4,
                                    .i_epsilon = 5,
                                    .dt = 0.01,
                                    .share = 8.0};
        // mass, gravity, mu, e, epsilon
        double p[6] = {2.0, 0.0, 0.0, 0.0, 0.5, 0.0}, minv[1], next[2];
        double state[4] = {0.0, 0.1 - depth[k % 4], 0.0, speed[k % 4]};
        double goal = depth[k % 4] / 0.08, v = speed[k % 4];
        cri_points_masses(&s, p, minv);
        const cri_jump_world w = {
            .s = &s, .law = &law, .n_touch = 1, .touch = &touch, .p = p, .minv = minv};
        cri_points_jump jump;
        assert_true(
            cri_points_jump_solve(&w, state, state + 2, next, &jump, rooms.keep, rooms.scratch));
        CHECK_CLOSE(next[1], v < 0.0 ? fmax(0.5 * -v, goal) : fmax(v, goal), 1e-12, 1e-12);
        CHECK(next[0] == 0.0);
    }
    fixture_close(&rooms);
}

CR_TEST_MAIN(jumps_of_a_chain_are_those_of_the_reference,
             a_jump_of_two_disks_on_a_floor_is_that_of_the_reference,
             one_contact_without_friction_has_its_closed_form)
