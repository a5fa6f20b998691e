// SPDX-License-Identifier: MIT
//
// A small scene for the tests of this folder: a ball and a box over a floor.

#pragma once

#include "carom/carom.h"
#include "cr_test.h"

#include <stdio.h>
#include <string.h>

static const char fixture_text[] =
    "<mujoco model='fixture'>\n"
    "  <option timestep='0.01'/>\n"
    "  <worldbody>\n"
    "    <geom name='floor' type='plane' size='5 5 .1' friction='.5'/>\n"
    "    <body name='ball' pos='0 0 1'>\n"
    "      <freejoint/>\n"
    "      <geom name='ball' type='sphere' size='.1' mass='1' friction='.5'\n"
    "            contype='0'/>\n"
    "    </body>\n"
    "    <body name='box' pos='5 0 1'>\n"
    "      <freejoint/>\n"
    "      <geom name='box' type='box' size='.1 .2 .3' mass='2' friction='.4'\n"
    "            contype='0'/>\n"
    "    </body>\n"
    "  </worldbody>\n"
    "  <custom>\n"
    "    <numeric name='carom:restitution:floor:ball' data='0.8'/>\n"
    "    <numeric name='carom:friction:floor:ball' data='0.3'/>\n"
    "  </custom>\n"
    "</mujoco>\n";

/// The scene, or the end of the test.
static inline cr_model *fixture_model(void) {
    cr_model *model = NULL;
    cr_error err = {0};
    if (cr_model_parse(fixture_text, strlen(fixture_text), "fixture.xml", &model, &err) != CR_OK) {
        fprintf(stderr, "%s\n", err.text);
    }
    assert_non_null(model);
    return model;
}
