// SPDX-License-Identifier: MIT
//
// The scenes of the benchmarks.
//
// Ball and roll are those on which MuJoCo 3.12.1 (soft contact, Newton solver, dt 0.002, one
// thread) was counted with callgrind: 8,994 and 22,318 instructions a step.

#include "bench_scenes.h"

#include <stddef.h>
#include <string.h>

#define PREFIX "builtin:"

static const char ball_text[] =
    "<mujoco model='ball'>\n"
    "  <option timestep='0.002'/>\n"
    "  <worldbody>\n"
    "    <geom name='floor' type='plane' size='20 20 .1'/>\n"
    "    <body name='ball' pos='0 0 1'>\n"
    "      <freejoint/>\n"
    "      <geom name='ball' type='sphere' size='.1' mass='1'/>\n"
    "    </body>\n"
    "  </worldbody>\n"
    "  <custom><numeric name='carom:restitution:floor:ball' data='0.8'/></custom>\n"
    "</mujoco>\n";

static const char roll_text[] = "<mujoco model='roll'>\n"
                                "  <option timestep='0.002'/>\n"
                                "  <worldbody>\n"
                                "    <geom name='floor' type='plane' size='20 20 .1'/>\n"
                                "    <body name='ball' pos='0 0 .1'>\n"
                                "      <freejoint/>\n"
                                "      <geom name='ball' type='sphere' size='.1' mass='1'/>\n"
                                "    </body>\n"
                                "  </worldbody>\n"
                                "  <keyframe><key name='roll' qvel='1 0 0 0 0 0'/></keyframe>\n"
                                "</mujoco>\n";

static const char box_text[] =
    "<mujoco model='box'>\n"
    "  <option timestep='0.002'/>\n"
    "  <worldbody>\n"
    "    <geom name='floor' type='plane' size='20 20 .1' friction='.5'/>\n"
    "    <body name='box' pos='0 0 .5'>\n"
    "      <freejoint/>\n"
    "      <geom name='box' type='box' size='.1 .08 .05' mass='1' friction='.5'/>\n"
    "    </body>\n"
    "  </worldbody>\n"
    "  <custom><numeric name='carom:restitution:floor:box' data='0.3'/></custom>\n"
    "  <keyframe><key name='throw' qpos='0 0 .5 .9 .3 .2 .1' qvel='1 .5 0 3 2 1'/></keyframe>\n"
    "</mujoco>\n";

static const cli_bench_scene scenes[] = {
    {"ball", "ball, bouncing", ball_text, "ball", 8994.0},
    {"roll", "ball, rolling", roll_text, "ball", 22318.0},
    {"box", "box, thrown", box_text, "box", 0.0},
};

const cli_bench_scene *cli_bench_scene_at(int i) {
    return i >= 0 && i < (int)(sizeof scenes / sizeof *scenes) ? &scenes[i] : NULL;
}

const cli_bench_scene *cli_bench_scene_find(const char *text) {
    if (strncmp(text, PREFIX, strlen(PREFIX)) != 0) {
        return NULL;
    }
    for (int i = 0; cli_bench_scene_at(i); i++) {
        if (strcmp(scenes[i].name, text + strlen(PREFIX)) == 0) {
            return &scenes[i];
        }
    }
    return NULL;
}
