#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""carom learn augmented, and scenes that name its nets."""

import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

CAROM = sys.argv.pop(1)


def carom(*words, code=0):
    done = subprocess.run([CAROM, *words], capture_output=True, text=True, timeout=300)
    if done.returncode != code:
        raise AssertionError(f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done


RECTANGLE = """<mujoco><option timestep="0.002"/>
  <custom>%s</custom>
  <worldbody>
    <geom name="ground" type="plane" size="5 5 0.1" friction="1"/>
    <body name="rectangle" pos="0 0 0.3">
      <joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/><joint type="hinge" axis="0 -1 0"/>
      <geom name="box" type="box" size="0.1 0.05 0.05" mass="%s" friction="1"/>
    </body>
  </worldbody>
</mujoco>
"""
NETS = """<text name="carom:law" data="augmented"/><text name="carom:weights" data="nets.json"/>"""


KEY = """<keyframe><key qpos="0 0.2 0.3" qvel="300 -200 9"/></keyframe>"""
THROW = """<keyframe><key qpos="0 0 0.3" qvel="2 0 9"/></keyframe>"""


PRISM = """<mujoco><option timestep="0.002"/><custom>%s</custom>
  <asset><mesh name="m" vertex="%s"/></asset>
  <worldbody>
    <geom name="ground" type="plane" size="5 5 0.1" friction="0.5"/>
    <body name="prism" pos="0 0 0.05">
      <joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/><joint type="hinge" axis="0 -1 0"/>
      <inertial pos="0 0 0" mass="1" diaginertia="0.004 0.004 0.005"/>
      <geom name="shape" type="mesh" mesh="m" friction="0.5"/>
    </body>
  </worldbody>
</mujoco>
"""


def prism(custom, n):
    """A prism 0.2 m wide that rests on a face of n corners; mass and width do not depend on n."""
    radius = 0.1 / math.cos(math.pi / n)
    angles = [2 * math.pi * (i + 0.5) / n for i in range(n)]
    rim = [f"{radius * math.cos(a):.9f} {radius * math.sin(a):.9f} {z}" for z in (-0.05, 0.05) for a in angles]
    return PRISM % (custom, " ".join(rim))


class Augmented(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def path(self, name):
        return os.path.join(self.dir.name, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="ascii") as out:
            out.write(text)
        return self.path(name)

    def test_nets_are_trained_and_run(self):
        scene = self.write("plain.xml", RECTANGLE % ("", 1))
        out = carom("learn", "augmented", scene, "--epochs", "2", "-o", self.path("nets.json"), "--json",
                    self.path("result.json")).stdout
        self.assertIn("line: 31500 samples, 3500 held out", out)
        with open(self.path("result.json"), encoding="utf-8") as file:
            result = json.load(file)
        self.assertEqual(result["body"], "rectangle")
        self.assertIn("sampled: speeds up to 5 m/s along the surface, 5 towards it, 1 away; spins up to "
                      "50 (point), 20 (line) rad/s", out)
        self.assertEqual(result["sampling"], {"along": 5.0, "closing": 5.0, "opening": 1.0})
        self.assertEqual([kind["spin"] for kind in result["kinds"]], [50.0, 20.0])
        for kind in result["kinds"]:
            self.assertGreater(kind["accuracy"], 0.8)
            self.assertEqual(sum(map(sum, kind["confusion"])), kind["test"])
        run = self.write("run.xml", RECTANGLE % (NETS, 1))
        self.assertIn("with augmented", carom("simulate", run, "--steps", "300").stdout)
        fast = self.write("fast.xml", (RECTANGLE % (NETS, 1)).replace("</mujoco>", KEY + "</mujoco>"))
        for word, code in (("net", 0), ("analytic", 0), ("stop", 1)):
            said = carom("simulate", fast, "--steps", "20", "--outside", word, code=code).stderr
            self.assertIn("outside", said)
        said = carom("gradient", fast, "--target", "rectangle:0,0,0", "--steps", "9", "--wrt", "rectangle/mass",
                     "--outside", "stop", code=1).stderr
        self.assertIn(": a contact is outside what the nets of body rectangle were trained for", said)
        said = carom("compare", run, "--target", "rectangle:0,0,0", "--steps", "150").stdout
        self.assertIn("augmented asks nets", said)
        heavy = self.write("heavy.xml", RECTANGLE % (NETS, 2))
        said = carom("simulate", heavy, "--steps", "3", code=1).stderr
        self.assertIn("for body rectangle (1 kg", said)
        self.assertIn("has rectangle (2 kg", said)
        # the same mass and inertia, another shape
        given = '<inertial pos="0 0 0" mass="1" diaginertia="0.001 0.0041666666667 0.004"/><geom name="box"'
        round_ = (RECTANGLE % (NETS, 1)).replace('<geom name="box"', given)
        carom("simulate", self.write("round.xml", round_), "--steps", "3")
        round_ = round_.replace('type="box" size="0.1 0.05 0.05"', 'type="capsule" size="0.05 0.1"')
        said = carom("simulate", self.write("round.xml", round_), "--steps", "3", code=1).stderr
        self.assertIn("rectangle with the shape box 0.1 0.05 0.05, the scene's has capsule 0.05 0.1", said)
        # nets of one law under the other
        said = carom("simulate", run, "--law", "regressed", "--steps", "3", code=2).stderr
        self.assertIn("are those of the law augmented, not of regressed", said)
        with open(self.path("nets.json"), encoding="utf-8") as file:
            nets = json.load(file)
        for member, value, word in (("model", "regressed", "of the law regressed, not of augmented"),
                                    ("model", "else", "augmented or regressed"), ("shape", 3, "shape of each body"),
                                    ("format", "carom contact patch nets 3", "train the nets again")):
            self.write("nets.json", json.dumps(nets | {member: value}))
            said = carom("simulate", run, "--steps", "3", code=2 if value == "regressed" else 1).stderr
            self.assertIn(word, said)

    def test_recordings_teach(self):
        scene = self.write("plain.xml", (RECTANGLE % ("", 1)).replace("</mujoco>", THROW + "</mujoco>"))
        throws = self.path("throws.csv")
        carom("simulate", scene, "--law", "lcp", "--stepper", "end", "--steps", "600", "-o", throws)
        out = carom("learn", "augmented", scene, throws, "--epochs", "5", "-o", self.path("nets.json")).stdout
        self.assertIn("600 transitions recorded", out)
        self.assertIn("labels by recorded", out)
        run = self.write("run.xml", RECTANGLE % (NETS, 1))
        carom("simulate", run, "--steps", "300")

    def test_rest_is_recorded(self):
        scene, throws = self.write("plain.xml", prism("", 4)), self.path("rest.csv")
        with open(throws, "w", encoding="ascii") as out:
            out.write(",".join(["t", *(f"prism/{q}[{i}]" for q in ("qpos", "qvel") for i in range(3))]) + "\n")
            out.writelines(f"{0.002 * k:.6g},0,0,0,0,0,0\n" for k in range(100))
        out = carom("learn", "augmented", scene, throws, "--epochs", "2", "-o", self.path("nets.json")).stdout
        self.assertIn("99 transitions recorded", out)

    def test_faces_of_meshes_with_many_vertices_are_sampled(self):
        # upright, so that it rolls from face to face: ten vertices, of which touches keep eight
        angles = [2 * math.pi * (i + 0.5) / 5 for i in range(5)]
        rim = [f"{0.1 * math.cos(a):.9f} {y} {0.1 * math.sin(a):.9f}" for y in (-0.05, 0.05) for a in angles]
        out = carom("learn", "augmented", self.write("five.xml", PRISM % ("", " ".join(rim))), "--epochs", "1", "-o",
                    self.path("nets.json")).stdout
        self.assertIn("line: 31500 samples", out)

    def claim_shape(self, run, is_refused):
        """Nets of another prism are refused; says in their file that they are for this one."""
        said = carom("simulate", run, "--steps", "3", code=1 if is_refused else 0).stderr
        found = re.search(r"with the shape (mesh .*), the scene's has (mesh .*); train", said)
        self.assertEqual(is_refused, found is not None)
        if is_refused:
            with open(self.path("nets.json"), encoding="utf-8") as file:
                nets = json.load(file)
            self.assertEqual(nets["shape"], found[1])
            nets["shape"] = found[2]
            self.write("nets.json", json.dumps(nets))

    def test_a_step_costs_the_same_on_400_corners_as_on_4(self):
        # valgrind may be missing, and cannot run what the sanitizers made
        has_valgrind = shutil.which("valgrind") and subprocess.run(
            ["valgrind", "-q", "--tool=none", CAROM, "--version"], capture_output=True).returncode == 0
        if not has_valgrind:
            self.skipTest("instructions are counted by valgrind")
        carom("learn", "augmented", self.write("plain.xml", prism("", 4)), "--epochs", "5", "-o",
              self.path("nets.json"))
        # end has a quarter of the other work, and the tree over vertices the same
        for stepper, most in (("located", 1.2), ("end", 1.25)):
            count = []
            for n in (4, 400):
                run = self.write("run.xml", prism(NETS, n))
                self.claim_shape(run, n != 4)
                count.append(float(carom("bench", "ir", run, "--stepper", stepper).stdout.split()[1]))
            self.claim_shape(self.write("run.xml", prism(NETS, 4)), True)
            self.assertLess(count[1], most * count[0])

    def test_bad_input_is_named(self):
        scene = self.write("plain.xml", RECTANGLE % ("", 1))
        self.assertIn("carom:weights", carom("simulate", scene, "--law", "augmented", code=2).stderr)
        self.assertIn(".json", carom("learn", "augmented", scene, "-o", "w.h5", code=2).stderr)
        self.assertIn("not a number", carom("learn", "augmented", scene, scene, code=1).stderr)
        throws = self.write("throws.csv", "t,x,z\n0,1,2\n1,1,2\n")
        self.assertIn("no column rectangle/qpos[0]", carom("learn", "augmented", scene, throws, code=1).stderr)
        self.assertIn("three columns", carom("learn", "augmented", scene, throws, "--q", "x,z", code=2).stderr)
        few = self.write("few.csv", "t,x,z,a\n0,0,2,0\n1,0,2,0\n2,0,2,0\n")
        self.assertIn("four", carom("learn", "augmented", scene, few, "--q", "x,z,a", code=1).stderr)
        throws = self.write("high.csv", "t,x,z,a\n" + "".join(f"{0.002 * k},0,2,0\n" for k in range(4)))
        self.assertIn("have their labels",
                      carom("learn", "augmented", scene, throws, "--law", "lcp", code=2).stderr)
        self.assertIn("no contact", carom("learn", "augmented", scene, throws, "--q", "x,z,a", code=1).stderr)
        self.assertIn("--l2", carom("learn", "augmented", scene, "--l2", "much", code=2).stderr)
        self.assertIn("net, analytic or stop", carom("simulate", scene, "--outside", "maybe", code=2).stderr)
        self.assertIn("unknown contact law",
                      carom("learn", "augmented", scene, "--law", "nil", code=2).stderr)
        run = self.write("run.xml", RECTANGLE % (NETS, 1))
        self.assertIn("nets.json", carom("simulate", run, code=1).stderr)
        self.write("nets.json", '{"format": "something"}')
        self.assertIn('"something"', carom("simulate", run, code=1).stderr)
        self.assertIn("train the nets again", carom("simulate", run, code=1).stderr)


if __name__ == "__main__":
    unittest.main()

