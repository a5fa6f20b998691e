// SPDX-License-Identifier: MIT
//
// Which format a text is taken for: by its root element, and else by the ending of its name.

#include <string.h>

#include "carom/carom.h"
#include "support/cr_test.h"

#define MJCF "<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>"
#define URDF                                                                                       \
    "<robot name='r'><link name='world'/><link name='a'><inertial><mass value='1'/>"               \
    "<inertia ixx='1' iyy='1' izz='1'/></inertial></link><joint name='j' type='continuous'>"       \
    "<parent link='world'/><child link='a'/></joint></robot>"

// dofs of the model: 6 as MJCF, 1 as URDF; or -1 with a message
static int n_v_of(const char *text, size_t n, const char *name, cr_error *err) {
    cr_model *model = NULL;
    if (cr_model_parse(text, n, name, &model, err) != CR_OK) {
        CHECK(!model);
        return -1;
    }
    int n_v = cr_model_sizes(model).n_v;
    cr_model_destroy(model);
    return n_v;
}

TEST(the_root_element_decides) {
    static const struct {
        const char *text, *name;
        int n_v;
    } table[] = {
        {MJCF, "a.xml", 6},
        {MJCF, "a.urdf", 6},
        {URDF, "a.urdf", 1},
        {URDF, "a.xml", 1},
        {"\xEF\xBB\xBF<?xml version='1.0'?>\n<!-- <mujoco> -->\n<?x <mujoco> ?>\n" URDF, "a.xml",
         1},
        {"<!-- <robot> -->" MJCF, "a.urdf", 6},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        cr_error err = {0};
        int n_v = n_v_of(table[i].text, strlen(table[i].text), table[i].name, &err);
        if (n_v != table[i].n_v) {
            cr_test_fail("row %zu: %d dofs, %s", i, n_v, err.text);
        }
    }
}

TEST(else_the_ending_decides) {
    static const struct {
        const char *text, *name, *message;
    } table[] = {
        {"<robots/>", "a.xml", "a.xml:1: <robots> is no MJCF scene: expected <mujoco>"},
        {"<robots/>", "a.urdf", "a.urdf:1: <robots> is no URDF: expected <robot>"},
        {"<robot", "a.xml", NULL},
        {"<!-- <robot>", "a.xml", NULL},
        {"<?", ".urdf", NULL},
        {"", "a.urdf", "a.urdf:1: is empty: expected XML"},
        {"", "urdf", "urdf:1: is empty: expected XML"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        cr_error err = {0};
        CHECK_INT(n_v_of(table[i].text, strlen(table[i].text), table[i].name, &err), -1);
        CHECK(err.text[0] != '\0');
        if (table[i].message) {
            CHECK_TEXT(err.text, table[i].message);
        }
    }
}

// any beginning of either text ends in a message, without a byte behind it
TEST(cut_texts_are_refused) {
    static const char *const texts[] = {"<!-- x --><?y z?>" URDF, "<!-- x --><?y z?>" MJCF};
    for (int k = 0; k < 2; k++) {
        for (size_t n = 0; n < strlen(texts[k]); n++) {
            char copy[1000];
            cr_error err = {0};
            memcpy(copy, texts[k], n);
            CHECK_INT(n_v_of(copy, n, "a.urdf", &err), -1);
        }
    }
}

// a ball on the floor of the world, and another that it overlaps: only the floor holds it
TEST(links_touch_the_world_alone) {
    static const char text[] =
        "<robot name='r'><link name='world'><collision><origin xyz='0 0 -1'/><geometry>"
        "<box size='9 9 2'/></geometry></collision></link>"
        "<link name='a'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>"
        "<collision><geometry><sphere radius='.5'/></geometry></collision></link>"
        "<link name='b'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>"
        "<collision><geometry><sphere radius='.5'/></geometry></collision></link>"
        "<joint name='lift' type='prismatic'><parent link='world'/><child link='a'/>"
        "<origin xyz='0 0 .5'/><axis xyz='0 0 1'/><limit lower='-9' upper='9' effort='0' "
        "velocity='0'/></joint>"
        "<joint name='push' type='prismatic'><parent link='world'/><child link='b'/>"
        "<origin xyz='.3 0 .5'/><axis xyz='1 0 0'/><limit lower='-9' upper='9' effort='0' "
        "velocity='0'/></joint></robot>";
    cr_model *model = NULL;
    cr_sim *sim = NULL;
    cr_error err = {0};
    cr_status status = cr_model_parse(text, sizeof text - 1, "r.urdf", &model, &err);
    if (status == CR_OK) {
        cr_sim_options options = cr_sim_options_default(model);
        status = cr_sim_create(model, &options, &sim, &err);
    }
    double x[4] = {0}, u[2] = {0};
    for (int i = 0; i < 100 && status == CR_OK; i++) {
        status = cr_sim_step(sim, 0.002, x, u, x, &err);
    }
    CHECK_TEXT(err.text, "");
    // x: places and rates of lift and push; without the floor lift falls by g t^2/2 = 0.2 m
    for (int i = 0; i < 4; i++) {
        CHECK_CLOSE(x[i], 0.0, 1e-9, 0.0);
    }
    cr_sim_destroy(sim);
    cr_model_destroy(model);
}

CR_TEST_MAIN(the_root_element_decides, else_the_ending_decides, cut_texts_are_refused,
             links_touch_the_world_alone)
