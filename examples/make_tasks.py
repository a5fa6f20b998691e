#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the scenes of the tasks of paper 002, whose geometry is made of formulas.

    make_tasks.py FOLDER
"""

import math
import os
import sys


def fibonacci(n, radius):
    """Points in even spirals on a sphere."""
    golden = math.pi * (3.0 - math.sqrt(5.0))
    points = []
    for i in range(n):
        z = 1.0 - (2.0 * i + 1.0) / n
        r = math.sqrt(1.0 - z * z)
        points.append((radius * r * math.cos(golden * i), radius * r * math.sin(golden * i),
                       radius * z))
    return points


def numbers(values):
    return " ".join(f"{value:.6g}" for value in values)


def billiards():
    """16 balls of 18 points and 32 triangles: 15 in a triangle of five rows, one to play."""
    r = 0.5
    vertex = numbers(x for point in fibonacci(18, r) for x in point)
    lines = ["""<!--
  Paper 002, Fig. 5: fifteen balls in a triangle and one that is played, 18 points each on a sphere of
  0.5 m, nothing else and no gravity: what moves them is contact alone.
-->
<mujoco model="billiards">
  <option timestep="0.04" gravity="0 0 0"/>
  <custom>
    <text name="carom:law" data="longrange"/>
    <numeric name="carom:potential:mu" data="1e-7"/>
  </custom>
  <default>
    <geom type="mesh" mesh="ball" density="1" friction="0"/>
  </default>
  <asset>
    <mesh name="ball" vertex="%s"/>
  </asset>
  <worldbody>
    <body name="cue" pos="%s">
      <freejoint/>
      <geom name="cue"/>
    </body>""" % (vertex, numbers((4.4 * r, 4.4 * r, 0)))]
    for i in range(5):
        for j in range(i + 1):
            at = (1.1 * r * (4 - i) + 2.2 * r * j, -1.905 * r * i, 0)
            lines.append(f"""    <body name="b{i}{j}" pos="{numbers(at)}">
      <freejoint/>
      <geom name="b{i}{j}"/>
    </body>""")
    return "\n".join(lines) + "\n  </worldbody>\n</mujoco>\n"


HEAD = """<!--
  Paper 002, %s
-->
<mujoco model="%s">
  <option timestep="0.04"/>
  <custom>
    <text name="carom:law" data="longrange"/>
    <numeric name="carom:potential:mu" data="%s"/>
  </custom>
  <default>
    <geom density="100" friction="0.4"/>
  </default>
  <worldbody>
    <geom name="floor" type="plane" size="9 9 1"/>
"""

ROD = """    <body name="rod" pos="%s">
      <joint name="rod_x" type="slide" axis="1 0 0" damping="80"/>
      <joint name="rod_y" type="slide" axis="0 1 0" damping="80"/>
      <joint name="rod_turn" type="hinge" axis="0 0 1" damping="8"/>
      <geom name="rod" type="box" size="0.05 0.4 0.05"/>
    </body>
"""

DRIVE = """  </worldbody>
  <actuator>
    <position name="rod_x" joint="rod_x" kp="400"/>
    <position name="rod_y" joint="rod_y" kp="400"/>
    <position name="rod_turn" joint="rod_turn" kp="40"/>
  </actuator>
</mujoco>
"""


def push():
    text = HEAD % ("Fig. 7: a rod under position control pushes a box of 0.3 m over the floor.", "push",
                   "1e-6")
    text += ROD % "-0.5 0 0.12"
    text += """    <body name="box" pos="0 0 0.16">
      <freejoint/>
      <geom name="box" type="box" size="0.15 0.15 0.15"/>
    </body>
"""
    return text + DRIVE


def many(name, figure):
    """Ten cubes in a square of 2 m, by the numbers of Halton so that none overlap."""
    def halton(i, base):
        f, x = 1.0, 0.0
        while i:
            f /= base
            x += f * (i % base)
            i //= base
        return x
    text = HEAD % (figure, name, "3e-8")
    text += ROD % "-1.6 0 0.12"
    for i in range(10):
        at = (2.0 * halton(i + 1, 2) - 1.0, 2.0 * halton(i + 1, 3) - 1.0, 0.11)
        text += f"""    <body name="c{i}" pos="{numbers(at)}">
      <freejoint/>
      <geom name="c{i}" type="box" size="0.1 0.1 0.1"/>
    </body>
"""
    return text + DRIVE


def ant():
    """A ball with four legs of two links, moving in a plane with a turn, beside a box."""
    text = HEAD % ("Fig. 9: an ant of nine links, 16 degrees of freedom, twelve of them driven, and a "
                   "box.", "ant", "1e-8")
    text = text.replace('timestep="0.04"', 'timestep="0.02"')
    upper, lower, thick, lift = 0.1476, 0.2952, 0.0533, math.radians(10.0)
    text += """    <body name="ant" pos="0 0 0.3">
      <joint name="x" type="slide" axis="1 0 0"/>
      <joint name="y" type="slide" axis="0 1 0"/>
      <joint name="z" type="slide" axis="0 0 1"/>
      <joint name="turn" type="hinge" axis="0 0 1"/>
      <geom name="body" size="0.1333"/>
"""
    drive = ""
    for k in range(4):
        turn = 45 + 90 * k
        knee = (upper * math.cos(lift), 0.0, upper * math.sin(lift))
        foot = (lower * math.cos(math.radians(45) - lift), 0.0,
                -lower * math.sin(math.radians(45) - lift))
        text += f"""      <body name="leg{k}" euler="0 0 {turn}" pos="{numbers((0.1333 * math.cos(math.radians(turn)), 0.1333 * math.sin(math.radians(turn)), 0))}">
        <joint name="swing{k}" axis="0 0 1" range="-90 90" damping="1" armature="0.02"/>
        <joint name="raise{k}" axis="0 1 0" range="-90 90" damping="1" armature="0.02"/>
        <geom name="leg{k}" type="capsule" size="{thick}" fromto="0 0 0 {numbers(knee)}"/>
        <body name="foot{k}" pos="{numbers(knee)}">
          <joint name="bend{k}" axis="0 1 0" range="-90 90" damping="1" armature="0.02"/>
          <geom name="foot{k}" type="capsule" size="{thick}" fromto="0 0 0 {numbers(foot)}"/>
        </body>
      </body>
"""
        for joint in ("swing", "raise", "bend"):
            drive += f"""    <position name="{joint}{k}" joint="{joint}{k}" kp="10" ctrllimited="true" ctrlrange="-1.2 1.2"/>
"""
    text += """    </body>
    <body name="box" pos="0.9 0 0.16">
      <freejoint/>
      <geom name="box" type="box" size="0.15 0.15 0.15"/>
    </body>
  </worldbody>
  <actuator>
"""
    return text + drive + "  </actuator>\n</mujoco>\n"


SCENES = {
    "billiards": billiards,
    "push": push,
    "gather": lambda: many("gather", "Fig. 7: a rod gathers ten cubes."),
    "sort": lambda: many("sort", "Fig. 8: a rod sorts ten cubes to two sides."),
    "ant": ant,
}

if __name__ == "__main__":
    for scene, make in SCENES.items():
        with open(os.path.join(sys.argv[1], scene + ".xml"), "w", encoding="utf-8") as file:
            file.write(make())
