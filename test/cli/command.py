# SPDX-License-Identifier: MIT
"""Runs the command for the tests, with good and with bad input.

Bad input gives one line on standard error that begins with "carom: " and names the thing, the right
exit code (1 failed run, 2 wrong usage), nothing on standard output and no file.
"""

import json
import math
import os
import subprocess
import sys
import tempfile
import unittest

CAROM = []

SCENE = """<mujoco model="throw">
  <option timestep="0.005"/>
  <custom>
    <numeric name="carom:friction:floor:ball" data="0.3"/>
    <numeric name="carom:restitution:floor:ball" data="0.8"/>
  </custom>
  <worldbody>
    <geom name="floor" type="plane" size="10 10 0.1"/>
    <body name="ball" pos="0 0 0.5">
      <freejoint/>
      <geom name="ball" type="sphere" size="0.1" mass="1"/>
    </body>
  </worldbody>
  <keyframe>
    <key name="throw" qvel="1 0 0 0 0 0"/>
    <key name="drop"/>
  </keyframe>
</mujoco>
"""


def bounce_height(t, height=0.5, radius=0.1, restitution=0.8, gravity=9.81):
    """Height of a ball dropped from rest, by closed forms."""
    fall = math.sqrt(2.0 * (height - radius) / gravity)
    if t < fall:
        return height - 0.5 * gravity * t * t
    t -= fall
    speed = restitution * gravity * fall
    while t > 2.0 * speed / gravity:
        t -= 2.0 * speed / gravity
        speed *= restitution
    return radius + speed * t - 0.5 * gravity * t * t


class Command(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.scene = self.write("scene.xml", SCENE)

    def tearDown(self):
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def run_carom(self, *arguments):
        return subprocess.run([*CAROM, *arguments], capture_output=True, text=True, timeout=60,
                              check=False, cwd=self.folder.name)

    def good(self, *arguments):
        done = self.run_carom(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        return done.stdout

    def json_of(self, *arguments):
        self.good(*arguments, "--json", self.path("out.json"))
        with open(self.path("out.json"), encoding="utf-8") as file:
            return json.load(file)

    def bad(self, code, parts, *arguments):
        """Expects a refusal with this exit code, whose line has all these parts."""
        before = sorted(os.listdir(self.folder.name))
        done = self.run_carom(*arguments)
        label = " ".join(arguments) + " -> " + done.stderr
        self.assertEqual(done.returncode, code, label)
        self.assertEqual(done.stdout, "", label)
        self.assertTrue(done.stderr.startswith("carom: "), label)
        self.assertEqual(done.stderr.count("\n"), 1, label)
        self.assertTrue(done.stderr.endswith("\n"), label)
        for part in [parts] if isinstance(parts, str) else parts:
            self.assertIn(part, done.stderr, label)
        self.assertEqual(sorted(os.listdir(self.folder.name)), before, label)


def main():
    if len(sys.argv) < 2:
        sys.exit(f"usage: {os.path.basename(sys.argv[0])} PATH-OF-CAROM")
    CAROM.append(os.path.abspath(sys.argv.pop(1)))
    unittest.main(module="__main__")
