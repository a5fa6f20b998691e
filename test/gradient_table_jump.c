// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: velocity jumps of free bodies.

#include "gradient_jump.h"

// ---- two balls and a slope ---------------------------------------------------------------------

// the box has no part in the island
static const table_scene balls = {
    .has_pairs = true,
    .normal = "0.2 -0.3 1",
    .bodies = "oxp",
    .qpos = "0.1 0.2 0.9 0.8 0.3 -0.4 0.2 5 5 5 1 0 0 0 -0.5 1.3 1.1 0.5 -0.1 0.7 0.5",
    .qvel = "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0",
};

static const double slow[18] = {0.2, 0.3, -2.0, 0.3, -0.2, 0.4,  1.0,  2.0, 3.0,
                                4.0, 5.0, 6.0,  0.1, -0.6, -1.7, -0.2, 0.3, 0.1};
static const double fast[18] = {1.7, 1.3, -2.0, 2.0,  -4.0, 3.0,  1.0,  2.0, 3.0,
                                4.0, 5.0, 6.0,  -1.1, -0.9, -1.7, -4.0, 3.0, 2.0};
static const double rising[18] = {1.7, 1.3, -2.0, 2.0,  -4.0, 3.0, 1.0,  2.0, 3.0,
                                  4.0, 5.0, 6.0,  -1.1, -0.9, 0.9, -4.0, 3.0, 2.0};

static const jump_point ball_points[] = {
    {"balls", {"ttd", "ttd", "ttd", "ttd", "ttd"}, slow, .friction = 0.9, .restitution = 0.4},
    {"fast", {"ddd", "ddd", "ddd", "ddd", "ddd"}, fast, .friction = 0.1, .restitution = 0.4},
    {"opening", {"doo", "doo", "dod", "dod", "doo"}, rising, .friction = 0.2, .restitution = 0.3},
    {"target",
     {"ddd", "ddd", "ddd", "ddd", "ddd"},
     fast,
     .friction = 0.1,
     .restitution = 0.1,
     .lift = 0.6},
    {"plain",
     {"ddd", "ddd", "ddd", "ddd", "ddd"},
     fast,
     .friction = 0.1,
     .restitution = 0.1,
     .lift = 0.3,
     .is_plain = true},
    {"no friction", {"ddd", "ddd", "ddd", "ddd", "ddd"}, fast, .friction = 0.0, .restitution = 0.3},
    {"no restitution",
     {"ddd", "ddd", "ddd", "ddd", "ddd"},
     fast,
     .friction = 0.2,
     .restitution = 0.0},
};

TEST(jumps_of_two_balls_on_a_slope_have_their_gradients) {
    static const table_contact contacts[] = {
        {{"floor", "o"}, 0}, {{"floor", "p"}, 0}, {{"o", "p"}, 0}};
    jump_open_scene(&balls, 3, contacts);
    for (size_t k = 0; k < sizeof ball_points / sizeof ball_points[0]; k++) {
        jump_check(&ball_points[k]);
    }
    jump_close();
}

// ---- a box on four corners ---------------------------------------------------------------------

// nearly along the slope: not so nearly that anything vanishes
static const table_scene slab = {
    .has_pairs = true,
    .normal = "0.2 -0.3 1",
    .bodies = "s",
    .qpos = "0.1 0.2 0.4 0.95 0.12 0.08 0.3",
    .qvel = "0 0 0 0 0 0",
};

static const table_contact corners[] = {
    {{"floor", "s"}, 0}, {{"floor", "s"}, 2}, {{"floor", "s"}, 4}, {{"floor", "s"}, 6}};
static const double drop[18] = {0.3, -0.2, -2.0, 0.1, 0.1, 0.2};
static const double skid[18] = {2.0, 1.0, -2.0, 0.1, -0.2, 1.5};
static const double stop[18] = {0.9, 0.6, -4.0, 0.1, -0.2, 1.5};

// sticking corners of a tilted slab that bounce contradict each other under ncp; convex corners
// lift, and no face can lift by mu |u_t| at all four: one opens
static const jump_point slab_points[] = {
    {"slab, rough",
     {"-", "tttt", "tttt", "tttt", "ddtd"},
     drop,
     .friction = 3.5,
     .restitution = 0.4},
    {"slab", {"-", "dddd", "dddd", "ddtd", "dddd"}, drop, .friction = 0.9, .restitution = 0.4},
    {"slab, plain",
     {"tttt", "tttt", "tttt", "tttt", "tttt"},
     drop,
     .friction = 0.9,
     .restitution = 0.4,
     .lift = 0.5,
     .is_plain = true},
    {"slab sliding",
     {"dddd", "dddd", "dddo", "dddo", "dddd"},
     skid,
     .friction = 0.2,
     .restitution = 0.4},
    {"slab sliding, plain",
     {"dddd", "dddd", "dddo", "dddo", "dddd"},
     skid,
     .friction = 0.2,
     .restitution = 0.4,
     .lift = 0.5,
     .is_plain = true},
    {"slab sliding, target",
     {"-", "dddd", "dddd", "dddd", "dddd"},
     skid,
     .friction = 0.2,
     .restitution = 0.2,
     .lift = 0.7},
    {"slab stopping",
     {"dddd", "dddd", "dddo", "dddo", "dddd"},
     stop,
     .friction = 0.2,
     .restitution = 0.4},
    {"slab, no friction",
     {"dddd", "dddd", "dddd", "dddd", "dddd"},
     skid,
     .friction = 0.0,
     .restitution = 0.4},
};

TEST(jumps_of_a_box_on_four_corners_have_their_gradients) {
    jump_open_scene(&slab, 4, corners);
    for (size_t k = 0; k < sizeof slab_points / sizeof slab_points[0]; k++) {
        jump_check(&slab_points[k]);
    }
    jump_close();
}

// flat on the floor: four sticking corners bounce with one e only as long as nothing tilts them
static const table_scene flat_slab = {
    .has_pairs = true,
    .bodies = "s",
    .qpos = "0.1 0.2 0.2 0.95 0 0 0.3",
    .qvel = "0 0 0 0 0 0",
};

TEST(a_jump_off_a_whole_face_has_its_gradient) {
    static const double fall[18] = {0.3, -0.2, -2.0, 0.0, 0.0, 0.2};
    jump_open_scene(&flat_slab, 4, corners);
    jump_check(&(jump_point){"face",
                             {"tttt", "tttt", "tttt", "tttt", "tttt"},
                             fall,
                             .friction = 0.9,
                             .restitution = 0.4,
                             .is_upright = true});
    jump_close();
}

// ---- two coefficients of friction --------------------------------------------------------------

static const jump_point skew_points[] = {
    {"skew, sticking", {"ttd"}, slow, .friction = 0.9, .friction2 = 1.4, .restitution = 0.4},
    {"skew", {"ddd"}, fast, .friction = 0.1, .friction2 = 0.3, .restitution = 0.4},
    {"skew, the other way", {"ddo"}, fast, .friction = 0.3, .friction2 = 0.02, .restitution = 0.4},
    // cone-reg feels the scale of its rows, and has a kink there
    {"skew, equal",
     {"ddd", [3] = "-"},
     fast,
     .friction = 0.2,
     .friction2 = 0.2,
     .restitution = 0.4},
    {"skew, none along t2", {"ddd"}, fast, .friction = 0.1, .restitution = 0.4},
    {"skew, none along t1", {"ddd"}, fast, .friction2 = 0.1, .restitution = 0.4},
    {"skew, plain",
     {"ddd"},
     fast,
     .friction = 0.1,
     .friction2 = 0.3,
     .lift = 0.3,
     .is_plain = true},
};

TEST(jumps_with_two_frictions_have_their_gradients) {
    static const table_contact contacts[] = {
        {{"floor", "o"}, 0}, {{"floor", "p"}, 0}, {{"o", "p"}, 0}};
    table_scene skew = balls;
    skew.friction = 0.1;
    skew.friction2 = 0.3;
    jump_open_scene(&skew, 3, contacts);
    for (size_t k = 0; k < sizeof skew_points / sizeof skew_points[0]; k++) {
        jump_check(&skew_points[k]);
    }
    jump_close();
    skew = slab;
    skew.friction = 0.1;
    skew.friction2 = 0.3;
    jump_open_scene(&skew, 4, corners);
    jump_check(&(jump_point){"skew slab",
                             {"tttt"},
                             drop,
                             .friction = 0.9,
                             .friction2 = 1.2,
                             .restitution = 0.4,
                             .lift = 0.5,
                             .is_plain = true});
    jump_check(&(jump_point){"skew slab sliding",
                             {"dddd"},
                             skid,
                             .friction = 0.2,
                             .friction2 = 0.1,
                             .restitution = 0.4});
    jump_close();
}

TABLE_PART(gradient_table_jump, jumps_of_two_balls_on_a_slope_have_their_gradients,
           jumps_of_a_box_on_four_corners_have_their_gradients,
           a_jump_off_a_whole_face_has_its_gradient, jumps_with_two_frictions_have_their_gradients)
