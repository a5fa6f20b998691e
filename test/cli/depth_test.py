#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""carom fit --depth, driven as a stranger would: points, depth frames, and what is refused."""

import json
import math
import os
import random
import subprocess
import sys
import tempfile
import unittest

try:
    import h5py
    import numpy
except ImportError:
    h5py = None

CAROM = sys.argv.pop(1)
FRAMES = sys.argv.pop(1)  # writes depth frames

SCENE = """<mujoco><option timestep="0.01"/>
<custom><numeric name="carom:restitution:floor:ball" data="0.7"/></custom>
<worldbody><geom name="floor" type="plane" size="10 10 0.1" friction="0"/>
<body name="ball" pos="0 0 0.6"><freejoint/><geom name="ball" type="sphere" size="0.1" friction="0"/>
</body></worldbody><keyframe><key qvel="1 0 0 0 0 0"/></keyframe></mujoco>
"""
NAMES = "ball/size[0],floor:ball/restitution,x0:ball/qpos[0],x0:ball/qpos[2],x0:ball/qvel[0]"
RADIUS, RESTITUTION = 0.12, 0.6


def place(t):
    """Where the ball is that falls from 0.6 m and bounces once."""
    g = 9.81
    hit = math.sqrt(2 * (0.6 - RADIUS) / g)
    z = 0.6 - 0.5 * g * t * t
    if t > hit:
        s = t - hit
        z = RADIUS + RESTITUTION * g * hit * s - 0.5 * g * s * s
    return 0.8 * t, 0.0, z


def carom(*words, code=0):
    done = subprocess.run([CAROM, *words], capture_output=True, text=True, timeout=300)
    if done.returncode != code:
        raise AssertionError(f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    if code:
        assert done.stderr.startswith("carom: ") and done.stderr.count("\n") == 1, done.stderr
    return done


class Depth(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.scene = self.path("ball.xml", SCENE)

    def path(self, name, text=None):
        path = os.path.join(self.dir.name, name)
        if text is not None:
            with open(path, "w", encoding="ascii") as out:
                out.write(text)
        return path

    def fit(self, *words):
        out = self.path("out.json")
        carom("fit", self.scene, *words, "--wrt", NAMES, "--json", out)
        with open(out, encoding="ascii") as text:
            found = {p["name"]: p["value"] for p in json.load(text)["parameters"]}
        return found["ball/size[0]"], found["floor:ball/restitution"]

    def test_points_tell_radius_and_restitution(self):
        random.seed(1)
        rows = ["t,x,y,z"]
        for k in range(20):
            middle = place(k / 30)
            for _ in range(60):
                n = [random.gauss(0, 1) for _ in range(3)]
                size = math.sqrt(sum(c * c for c in n))
                rows.append(",".join(f"{c:.9g}" for c in (
                    k / 30, *(m + RADIUS * c / size for m, c in zip(middle, n)))))
        cloud = self.path("cloud.csv", "\n".join(rows) + "\n")
        radius, restitution = self.fit("--depth", "ball=" + cloud, "--points", "50")
        self.assertAlmostEqual(radius, RADIUS, delta=1e-6)
        self.assertAlmostEqual(restitution, RESTITUTION, delta=1e-5)

    def frames(self, name, change=None):
        """Depth frames of the ball from 2 m away along y, by the closed form."""
        width, height, f = 40, 60, 60.0
        depth = numpy.zeros((12, height, width))
        for k in range(12):
            c = numpy.array(place(k / 30)) - numpy.array([0.2, -2.0, 0.4])
            u, v = numpy.meshgrid(numpy.arange(width), numpy.arange(height))
            d = numpy.stack([(u + 0.5 - 20) / f, numpy.ones(u.shape), -(v + 0.5 - 30) / f], -1)
            a, b = (d * d).sum(-1), d @ c
            root = b * b - a * (c @ c - RADIUS**2)
            depth[k] = numpy.where(root > 0, (b - numpy.sqrt(numpy.maximum(root, 0))) / a, 0)
        # the camera looks along -z with y up: here along y with z up
        half = math.sqrt(0.5)
        arrays = {"time": numpy.arange(12) / 30, "depth": depth,
                  "camera": numpy.array([f, f, 20.0, 30.0, width, height]),
                  "pose": numpy.array([0.2, -2.0, 0.4, half, half, 0, 0])}
        if change:
            change(arrays)
        path = self.path(name)
        with h5py.File(path, "w") as out:
            for key, value in arrays.items():
                out[key] = value
            out.attrs["format"] = numpy.bytes_("carom depth 1")
            out.attrs["arrays"] = numpy.array(list(arrays), dtype="S")
        return path

    def test_frames_of_an_hdf5_file_tell_the_same(self):
        path = self.path("f.h5")
        subprocess.run([FRAMES, path, "40"], check=True)
        radius, restitution = self.fit("--depth", "ball=" + path)
        self.assertAlmostEqual(radius, RADIUS, delta=1e-9)
        self.assertAlmostEqual(restitution, RESTITUTION, delta=1e-9)
        subprocess.run([FRAMES, path, "640"], check=True)
        done = carom("fit", self.scene, "--depth", "ball=" + path, "--wrt", NAMES, code=1)
        self.assertIn("the camera has pictures of 640 x 60, but the depth frames", done.stderr)

    @unittest.skipUnless(h5py, "h5py is not here")
    def test_depth_frames_tell_the_same(self):
        radius, _ = self.fit("--depth", "ball=" + self.frames("d.h5"))
        self.assertAlmostEqual(radius, RADIUS, delta=1e-5)

    @unittest.skipUnless(h5py, "h5py is not here")
    def test_bad_frames_are_one_line(self):
        def size(arrays):
            arrays["camera"][4] = 640

        def mask(arrays):
            arrays["mask"] = numpy.ones((12, 60, 41))

        def nan(arrays):
            arrays["depth"][3, 2, 1] = math.nan

        for change, text in ((size, "the camera has pictures of 640 x 60, but the depth frames"),
                             (mask, "mask and depth are of different sizes"), (nan, "d.h5")):
            done = carom("fit", self.scene, "--depth", "ball=" + self.frames("d.h5", change),
                         "--wrt", NAMES, code=1)
            self.assertIn(text, done.stderr)

    def test_bad_input_is_one_line(self):
        good = "t,x,y,z\n0,0,0,0.7\n0.1,0,0,0.6\n"
        for name, text, expected, code in (
            ("ball=none.csv", None, "none.csv", 1),
            ("ball", None, "expected GEOM=FILE", 2),
            ("bal=a.csv", good, "no geom of this name", 2),
            ("floor=a.csv", good, "have no distance field", 2),
            ("ball=a.csv", "t,x,y\n0,0,0\n", "no column z", 1),
            ("ball=a.csv", "t,x,y,z\n0,0,0,nan\n", "a.csv", 1),
            ("ball=a.csv", "t,x,y,z\n0,0,0,1\n", "a motion needs two at least", 1),
            ("ball=a.csv", "t,x,y,z\n1,0,0,1\n0,0,0,1\n", "does not come after", 1),
        ):
            geom, _, file = name.partition("=")
            if text is not None:
                file = self.path(file, text)
            word = geom + "=" + file if file else geom
            done = carom("fit", self.scene, "--depth", word, "--wrt", NAMES, code=code)
            self.assertIn(expected, done.stderr)
        carom("fit", self.scene, "--wrt", NAMES, code=2)


if __name__ == "__main__":
    unittest.main()
