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

// as examples/hopper.xml, high above the floor
static const char hopper_text[] =
    "<mujoco model='hopper'>\n"
    "  <compiler angle='radian'/>\n"
    "  <option timestep='0.002' integrator='RK4'/>\n"
    "  <default>\n"
    "    <geom type='capsule' density='1000' friction='0.9'/>\n"
    "    <joint type='hinge' axis='0 1 0' limited='true' stiffness='150' damping='3'"
    " armature='0.01'/>\n"
    "    <motor ctrllimited='true' ctrlrange='-30 30'/>\n"
    "    <default class='root'>\n"
    "      <joint limited='false' stiffness='0' damping='0' armature='0'/>\n"
    "    </default>\n"
    "  </default>\n"
    "  <worldbody>\n"
    "    <geom name='floor' type='plane' size='20 20 0.1' friction='0.9'/>\n"
    "    <body name='torso' pos='0 0 0.55'>\n"
    "      <joint name='forward' type='slide' axis='1 0 0' class='root'/>\n"
    "      <joint name='up' type='slide' axis='0 0 1' class='root'/>\n"
    "      <joint name='pitch' class='root'/>\n"
    "      <geom name='torso' fromto='0 0 0 0 0 0.2' size='0.06'/>\n"
    "      <body name='thigh'>\n"
    "        <joint name='hip' range='-1.2 1.2' springref='-0.5'/>\n"
    "        <geom name='thigh' fromto='0 0 0 0 0 -0.25' size='0.035'/>\n"
    "        <body name='shin' pos='0 0 -0.25'>\n"
    "          <joint name='knee' range='0 2.4' springref='1'/>\n"
    "          <geom name='shin' fromto='0 0 0 0 0 -0.25' size='0.03'/>\n"
    "          <body name='foot' pos='0 0 -0.25'>\n"
    "            <joint name='ankle' range='-1.2 1.2' springref='-0.5'/>\n"
    "            <geom name='foot' fromto='-0.1 0 -0.03 0.12 0 -0.03' size='0.03'/>\n"
    "          </body>\n"
    "        </body>\n"
    "      </body>\n"
    "    </body>\n"
    "  </worldbody>\n"
    "  <contact>\n"
    "    <exclude body1='torso' body2='shin'/>\n"
    "  </contact>\n"
    "  <actuator>\n"
    "    <motor name='hip' joint='hip'/>\n"
    "    <motor name='knee' joint='knee'/>\n"
    "    <motor name='ankle' joint='ankle'/>\n"
    "  </actuator>\n"
    "  <keyframe>\n"
    "    <key name='flight' qpos='0 50 0.1 -0.4 0.9 -0.4' qvel='1 0 0.5 0.3 -0.4 0.2'/>\n"
    "  </keyframe>\n"
    "</mujoco>\n";

static const cli_bench_scene scenes[] = {
    {"ball", "ball, bouncing", ball_text, "ball", 8994.0},
    {"roll", "ball, rolling", roll_text, "ball", 22318.0},
    {"box", "box, thrown", box_text, "box", 0.0},
    {"hopper", "hopper, in flight", hopper_text, "torso", 0.0},
};

#define FIELD_TEXT(shape, geom, start)                                                             \
    "<mujoco><option timestep='0.01'/><custom><text name='carom:shape:b' data='" shape "'/>"       \
    "<numeric name='carom:restitution:floor:b' data='0.7'/></custom><worldbody>"                   \
    "<geom name='floor' type='plane' size='9 9 1'/><body name='b'><freejoint/>"                    \
    "<geom name='b' " geom " mass='1'/></body></worldbody><keyframe><key " start                   \
    "/></keyframe></mujoco>"

// shapes as distance fields; bench sdf alone has them
static const cli_bench_scene fields[] = {
    {"field-ball", "ball as a field, bouncing",
     FIELD_TEXT("sphere 0.1", "type='sphere' size='0.1'",
                "qpos='0 0 0.5 1 0 0 0' qvel='1 0 0 0 2 0'"),
     "b", 0.0},
    {"field-cube", "cube as a field, bouncing",
     FIELD_TEXT("box 0.1 0.1 0.1", "type='box' size='0.1 0.1 0.1'",
                "qpos='0 0 0.5 0.9 0.3 0.2 0.1' qvel='1 0 0 1 2 0.5'"),
     "b", 0.0},
};

const cli_bench_scene *cli_bench_field_at(int i) {
    return i >= 0 && i < (int)(sizeof fields / sizeof *fields) ? &fields[i] : NULL;
}

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
    for (int i = 0; cli_bench_field_at(i); i++) {
        if (strcmp(fields[i].name, text + strlen(PREFIX)) == 0) {
            return &fields[i];
        }
    }
    return NULL;
}
