#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""carom learn augmented, and scenes that name its nets."""

import json
import os
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
        for kind in result["kinds"]:
            self.assertGreater(kind["accuracy"], 0.8)
            self.assertEqual(sum(map(sum, kind["confusion"])), kind["test"])
        run = self.write("run.xml", RECTANGLE % (NETS, 1))
        self.assertIn("with augmented", carom("simulate", run, "--steps", "300").stdout)
        heavy = self.write("heavy.xml", RECTANGLE % (NETS, 2))
        said = carom("simulate", heavy, "--steps", "3", code=1).stderr
        self.assertIn("for body rectangle (1 kg", said)
        self.assertIn("has rectangle (2 kg", said)

    def test_bad_input_is_named(self):
        scene = self.write("plain.xml", RECTANGLE % ("", 1))
        self.assertIn("carom:weights", carom("simulate", scene, "--law", "augmented", code=2).stderr)
        self.assertIn(".json", carom("learn", "augmented", scene, "-o", "w.h5", code=2).stderr)
        self.assertIn("one scene", carom("learn", "augmented", scene, scene, code=2).stderr)
        self.assertIn("take lcp or ncp",
                      carom("learn", "augmented", scene, "--law", "nil", code=1).stderr)
        run = self.write("run.xml", RECTANGLE % (NETS, 1))
        self.assertIn("nets.json", carom("simulate", run, code=1).stderr)
        self.write("nets.json", '{"format": "something"}')
        self.assertIn("format", carom("simulate", run, code=1).stderr)


if __name__ == "__main__":
    unittest.main()

