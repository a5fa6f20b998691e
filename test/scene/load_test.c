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

CR_TEST_MAIN(the_root_element_decides, else_the_ending_decides, cut_texts_are_refused)
