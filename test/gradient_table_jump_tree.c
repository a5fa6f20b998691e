// SPDX-License-Identifier: MIT
//
// Rows of the gradient table: velocity jumps of trees.

#include "gradient_jump.h"

#include <stdio.h>
#include <string.h>

// ---- trees -------------------------------------------------------------------------------------

// a body on two legs of two links each, with balls for feet, and a box and a ball beside it
static const char walker[] =
    "<mujoco><worldbody>"
    "<geom name='floor' type='plane' size='9 9 1' zaxis='0.1 -0.2 1'/>"
    "<body name='torso'><freejoint/>"
    "<inertial pos='0.1 0 0.05' mass='1.5' diaginertia='0.3 0.4 0.5'/>"
    "<geom name='belly' type='box' size='0.4 0.3 0.2'/>"
    "<body name='thigh0' pos='0.3 0.2 -0.2'><joint axis='0 1 0.2' armature='0.02' limited='true'"
    " range='-80 80'/><inertial pos='0 0.02 -0.2' mass='0.5' diaginertia='0.1 0.12 0.09'/>"
    "<body name='shin0' pos='0 0 -0.5'><joint axis='0.1 1 0' limited='true' range='-90 20'/>"
    "<inertial pos='0.03 0 -0.2' mass='0.4' diaginertia='0.1 0.11 0.08'/>"
    "<geom name='foot0' type='sphere' size='0.15' pos='0 0.05 -0.4'/></body></body>"
    "<body name='thigh1' pos='-0.3 -0.2 -0.2'><joint axis='0.2 1 0' armature='0.03'/>"
    "<inertial pos='0 0.02 -0.2' mass='0.6' diaginertia='0.12 0.1 0.09'/>"
    "<body name='shin1' pos='0 0 -0.5'><joint axis='0 1 0.1' damping='0.1'/>"
    "<inertial pos='0.03 0 -0.2' mass='0.45' diaginertia='0.09 0.11 0.08'/>"
    "<geom name='foot1' type='capsule' size='0.1 0.15' pos='0 0.05 -0.4' euler='70 20 0'/></body>"
    "</body></body>"
    "<body name='o'><freejoint/><inertial pos='0 0 0' mass='1.2' diaginertia='0.2 0.3 0.4'/>"
    "<geom name='o' type='sphere' size='0.3'/></body></worldbody>"
    "<keyframe><key qpos='0.1 0.2 1.2 0.95 0.1 -0.1 0.2 0.3 -0.5 -0.2 0.4"
    " 0.6 0.9 0.4 0.8 0.3 -0.4 0.2'/></keyframe></mujoco>";

static const double landing[16] = {0.3, -0.2, -2.0, 0.3, -0.2, 0.1, 0.4, -0.5,
                                   0.3, 0.2,  -0.3, 0.4, -1.5, 0.1, 0.2, -0.3};
static const double dashing[16] = {2.3, -1.2, -2.0, 0.3, -0.2, 0.1, 0.4, -0.5,
                                   0.3, 0.2,  -2.3, 1.4, -1.5, 3.1, 2.2, -1.3};
static const double hopping[16] = {0.3,  -0.2, 0.4,  0.3, -1.2, 0.1, 1.4, -1.5,
                                   -0.3, 0.2,  -0.3, 0.4, -1.5, 0.1, 0.2, -0.3};

// what every law must do in one island, with the classes of ncp
static void check_laws(const char *classes[3]) {
    static const double *const v[3] = {landing, dashing, hopping};
    static const double friction[3] = {0.9, 0.2, 0.4};
    for (int k = 0; k < 3; k++) {
        jump_check(&(jump_point){
            "bounce", {classes[k]}, v[k], .friction = friction[k], .restitution = 0.4});
        jump_check(&(jump_point){"plain",
                                 {0},
                                 v[k],
                                 .friction = friction[k],
                                 .restitution = 0.1,
                                 .lift = 0.3,
                                 .is_plain = true});
    }
}

TEST(jumps_of_two_feet_have_their_gradients) {
    static const table_contact contacts[] = {{{"floor", "foot0"}, 0}, {{"floor", "foot1"}, 0}};
    jump_open_robot(walker, 2, contacts, false);
    check_laws((const char *[]){"tt", "dd", "oo"});
    jump_close();
}

TEST(jumps_of_a_tree_and_a_free_body_have_their_gradients) {
    static const table_contact contacts[] = {
        {{"floor", "foot0"}, 0}, {{"foot0", "o"}, 0}, {{"floor", "o"}, 0}, {{"belly", "o"}, 0}};
    jump_open_robot(walker, 4, contacts, false);
    check_laws((const char *[]){"tott", "dddd", "otto"});
    jump_close();
}

TEST(jumps_of_a_tree_with_two_frictions_have_their_gradients) {
    static const table_contact contacts[] = {
        {{"floor", "foot0"}, 0}, {{"foot0", "foot1"}, 0}, {{"foot0", "o"}, 0}};
#define SKEW(pair)                                                                                 \
    "<numeric name='carom:friction:" pair "' data='1 2'/>"                                         \
    "<numeric name='carom:restitution:" pair "' data='0.4'/>"
    static const char pairs[] =
        "<custom>" SKEW("floor:foot0") SKEW("foot0:foot1") SKEW("foot0:o") "</custom>";
#undef SKEW
    char scene[sizeof walker + sizeof pairs];
    const char *rest = strstr(walker, "<worldbody>");
    snprintf(scene, sizeof scene, "<mujoco>%s%s", pairs, rest);
    jump_open_robot(scene, 3, contacts, false);
    jump_check(&(jump_point){
        "skew foot", {0}, landing, .friction = 0.9, .friction2 = 0.6, .restitution = 0.4});
    // under the convex laws a contact is too near to opening for differences
    jump_check(&(jump_point){
        "skew foot sliding", {[2] = "-", [3] = "-"}, dashing, .friction = 0.1, .friction2 = 0.3});
    CHECK(jump_near(0)->has_two_frictions && jump_near(1)->has_two_frictions);
    jump_close();
}

TEST(jumps_within_a_tree_have_their_gradients) {
    static const table_contact contacts[] = {
        {{"foot0", "foot1"}, 0}, {{"floor", "foot0"}, 0}, {{"foot1", "belly"}, 0}};
    jump_open_robot(walker, 3, contacts, false);
    check_laws((const char *[]){"dto", "odo", "dod"});
    jump_close();
}

TEST(jumps_of_limits_have_their_gradients) {
    static const table_contact contacts[] = {
        {{NULL, NULL}, 2}, {{NULL, NULL}, 1}, {{"floor", "foot0"}, 0}, {{"foot0", "o"}, 0}};
    for (int n = 1; n <= 4; n += 3) {
        jump_open_robot(walker, n, contacts, false);
        check_laws((const char *[]){NULL, NULL, NULL});
        jump_close();
    }
}

TEST(of_two_equal_coefficients_the_second_counts) {
    static const table_contact contacts[] = {{{"floor", "foot0"}, 0}, {{"foot0", "o"}, 0}};
    jump_open_robot(walker, 2, contacts, false);
    jump_tie(true);
    jump_check(&(jump_point){"tie", {"dd"}, dashing, .friction = 0.2, .restitution = 0.4});
    jump_tie(false);
    jump_close();
}

// two arms whose ends are joined: a loop
static const char loop[] =
    "<mujoco><worldbody><geom name='floor' type='plane' size='9 9 1' zaxis='0.1 -0.2 1'/>"
    "<body name='base'><freejoint/>"
    "<inertial pos='0.1 0 0.05' mass='1.5' diaginertia='0.3 0.4 0.5'/>"
    "<body name='a' pos='0.3 0 0'><joint axis='0 1 0.1'/><joint axis='1 0 0.2'/>"
    "<inertial pos='0 0.02 -0.2' mass='0.5' diaginertia='0.1 0.12 0.09'/>"
    "<geom name='a' type='sphere' size='0.15' pos='0.1 0 -0.4'/></body>"
    "<body name='b' pos='-0.3 0.1 0'><joint type='ball' limited='true' range='0 40'/>"
    "<inertial pos='0 0.02 -0.2' mass='0.6' diaginertia='0.12 0.1 0.09'/>"
    "<geom name='b' type='box' size='0.1 0.15 0.2' pos='-0.1 0 -0.4'/></body></body>"
    "<body name='o'><freejoint/><inertial pos='0 0 0' mass='1.2' diaginertia='0.2 0.3 0.4'/>"
    "<geom name='o' type='sphere' size='0.3'/></body></worldbody>"
    "<equality><connect body1='a' body2='b' anchor='-0.2 0.1 -0.6'/></equality>"
    "<keyframe><key qpos='0.1 0.2 0.7 0.95 0.1 -0.1 0.2 0.1 -0.1 0.98 0.1 0.05 -0.08"
    " 0.8 0.3 0.4 0.8 0.3 -0.4 0.2'/></keyframe></mujoco>";

TEST(jumps_of_a_loop_have_their_gradients) {
    static const table_contact contacts[] = {
        {{"floor", "a"}, 0}, {{"floor", "b"}, 4}, {{"a", "o"}, 0}};
    static const double v[17] = {0.3, -0.2, -2.0, 0.3,  -0.2, 0.1, 0.4,  -0.5, 0.3,
                                 0.2, -0.3, 0.4,  -1.5, 0.1,  0.2, -0.3, 0.6};
    static const double w[17] = {2.3, -1.2, -2.0, 0.3,  -0.2, 0.1, 0.4,  -0.5, 0.3,
                                 0.2, -2.3, 1.4,  -1.5, 3.1,  2.2, -0.3, 0.6};
    jump_open_robot(loop, 3, contacts, false);
    jump_check(&(jump_point){"loop sticks and slides",
                             {"tdo", "tdo", "ddd", "tdd", "tdo"},
                             v,
                             .friction = 2.0,
                             .restitution = 0.4});
    jump_check(&(jump_point){"loop slides",
                             {"ddd", "ddd", "ddd", "ddd", "ddd"},
                             w,
                             .friction = 0.1,
                             .restitution = 0.4});
    jump_close();
}

TEST(jumps_of_a_ball_joint_have_their_gradients) {
    static const table_contact contacts[] = {{{NULL, NULL}, 0}, {{"floor", "a"}, 0}};
    // the ball turns on, and turns back
    static const double v[17] = {0.3, -0.2, -2.0, 0.3,  -0.2, 0.1, 0.4,  -0.5, 1.3,
                                 0.7, -0.6, 0.4,  -1.5, 0.1,  0.2, -0.3, 0.6};
    static const double w[17] = {2.3,  -1.2, -2.0, 0.3,  -0.2, 0.1, 0.4,  -0.5, -1.3,
                                 -0.2, 0.3,  1.4,  -1.5, 3.1,  2.2, -0.3, 0.6};
    for (int n = 1; n <= 2; n++) {
        jump_open_robot(loop, n, contacts, false);
        jump_check(&(jump_point){"ball", {0}, v, .friction = 0.9, .restitution = 0.4});
        jump_check(&(jump_point){"ball back", {0}, w, .friction = 0.1, .restitution = 0.4});
        jump_close();
    }
}

// a chain in a plane, as many robots are: nothing moves across it, and two contacts have six rows
// for two dofs
#define PLANAR(heading)                                                                            \
    "<mujoco><worldbody><geom name='floor' type='plane' size='9 9 1'/>"                            \
    "<body name='root' pos='0 0 0.6' euler='0 0 " heading "'><joint type='slide' axis='1 0 0'/>"   \
    "<joint type='slide' axis='0 0 1'/><joint axis='0 1 0'/>"                                      \
    "<inertial pos='0 0 0' mass='1.5' diaginertia='0.3 0.4 0.5'/>"                                 \
    "<geom name='heel' type='sphere' size='0.1' pos='-0.3 0 -0.5'/>"                               \
    "<body name='leg' pos='0.3 0 -0.1'><joint axis='0 1 0'/>"                                      \
    "<inertial pos='0.02 0 -0.2' mass='0.5' diaginertia='0.1 0.12 0.09'/>"                         \
    "<geom name='toe' type='sphere' size='0.12' pos='0.1 0 -0.4'/></body></body></worldbody>"      \
    "<keyframe><key qpos='0.1 0.02 0.05 -0.1'/></keyframe></mujoco>"

// along the axes of the contact frames, and across both
static const char *const planar[] = {PLANAR("0"), PLANAR("30")};

TEST(jumps_of_a_planar_chain_have_their_gradients) {
    static const table_contact contacts[] = {{{"floor", "heel"}, 0}, {{"floor", "toe"}, 0}};
    static const double v[4] = {0.3, -2.0, 0.3, -0.4}, w[4] = {3.3, -2.0, 0.3, -0.4};
    for (int k = 0; k < 4; k++) {
        jump_open_robot(planar[k / 2], 1 + k % 2, contacts, false);
        jump_check(&(jump_point){"planar", {0}, v, .friction = 0.9, .restitution = 0.4});
        jump_check(&(jump_point){"planar slides", {0}, w, .friction = 0.2, .restitution = 0.4});
        jump_close();
    }
}

TABLE_PART(gradient_table_jump_tree, jumps_of_two_feet_have_their_gradients,
           jumps_of_a_tree_and_a_free_body_have_their_gradients,
           jumps_of_a_tree_with_two_frictions_have_their_gradients,
           jumps_within_a_tree_have_their_gradients, jumps_of_limits_have_their_gradients,
           of_two_equal_coefficients_the_second_counts, jumps_of_a_loop_have_their_gradients,
           jumps_of_a_ball_joint_have_their_gradients, jumps_of_a_planar_chain_have_their_gradients)
