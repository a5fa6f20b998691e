#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A build with the fewest dependencies refuses what it cannot do, before any work and by name.

Walks the commands with every file that would be HDF5, and the experiments that need a part: one
line that names the part and how to get it, no new file, not even a checkpoint, and no wait.
"""

import os
import subprocess
import time

import command
from command import Command, main

HDF5 = ["built without HDF5", "install libhdf5-dev and build again"]
CMINPACK = ["built without cminpack", "install libcminpack-dev and build again"]
FALL = ["--target", "ball:0,0,0.3@0.2"]
# a refusal comes at once, also where other tests run beside it, in s
AT_ONCE = 1.0
MUCH = "1000000000"

ROWS = "t,q,v,ball/qpos[2],ball/qvel[2]\n" + "".join(
    f"{0.01 * i:.2f},{0.5 - 0.001 * i},{-0.1},{0.5 - 0.001 * i},{-0.1}\n" for i in range(20))
WEDGE = """v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"""


class Minimal(Command):
    def setUp(self):
        super().setUp()
        self.write("data.csv", ROWS)
        self.write("wedge.obj", WEDGE)
        # what an HDF5 file begins with, so that one without the name is known as well
        for name in ("data.h5", "weights.hdf5", "bare"):
            with open(self.path(name), "wb") as file:
                file.write(b"\x89HDF\r\n\x1a\n" + bytes(100))

    def refuses(self, parts, *words):
        begin = time.monotonic()
        self.bad(1, parts, *words)
        self.assertLess(time.monotonic() - begin, AT_ONCE, words)

    def test_no_motion_or_matrix_is_computed_for_a_file_that_cannot_be_written(self):
        for end in (["-o", "x.h5"], ["-o", "x.hdf5"], ["--output=x.h5"]):
            keep = ["--checkpoint", "c.ck", "--json", "c.json", "--report", "c.html"]
            self.refuses(HDF5, "simulate", "scene.xml", "--steps", MUCH, *keep, *end)
            self.refuses(HDF5, "plan", "scene.xml", *FALL, "--controls", "x0:ball/qvel[2]", *keep,
                         *end)
            self.refuses(HDF5, "linearize", "scene.xml", "--at-step", MUCH, "--json", "c.json",
                         *end)

    def test_nothing_is_trained_whose_weights_cannot_be_written(self):
        keep = ["--checkpoint", "c.ck", "--epochs", "1000000"]
        for end in (["-o", "x.h5"], ["-o", "x.hdf5"]):
            self.refuses(HDF5, "learn", "central-difference", "data.csv", *keep, *end)
            self.refuses(HDF5, "learn", "points", "bp5-e", *keep, *end)
            self.refuses(HDF5, "learn", "points", "bp5-e", "--model", "true", *end)
        self.refuses(HDF5, "shape", "train", "animals", *keep, "-o", "x.h5")
        self.refuses(HDF5, "shape", "train", "wedge.obj", *keep, "-o", "x.h5")

    def test_files_that_cannot_be_read_are_refused(self):
        keep = ["--checkpoint", "c.ck"]
        wrt = ["--wrt", "ball/size[0]"]
        for name in ("data.h5", "weights.hdf5", "bare", "absent.h5"):
            if name != "bare":
                self.refuses(HDF5, "fit", "scene.xml", "data.csv", "--holdout", name, *wrt, *keep)
                self.refuses(HDF5, "simulate", "scene.xml", "--control", name, *keep, "-o", "x.csv")
            if name == "absent.h5":
                continue
            self.refuses(HDF5, "fit", "scene.xml", name, *wrt, *keep)
            self.refuses(HDF5, "simulate", name, "-o", "x.csv", *keep)
            self.refuses(HDF5, "params", name)
            self.refuses(HDF5, "learn", "central-difference", name, *keep)
            self.refuses(HDF5, "shape", "show", name)
        self.refuses(HDF5, "fit", "scene.xml", "--depth", "ball=data.h5", *wrt, *keep)

    def test_a_scene_whose_shape_is_in_hdf5_is_refused(self):
        shape = '<text name="carom:shape:ball" data="neural data.h5"/></custom>'
        text = command.SCENE.replace("</custom>", shape)
        self.write("space.xml", text)
        self.refuses(HDF5, "simulate", "space.xml", "--checkpoint", "c.ck", "-o", "x.csv")

    def test_experiments_that_need_a_part_are_refused(self):
        keep = ["--full", "--report", "c.html", "--json", "c.json"]
        for name in ("sdf-inertia", "sdf-shapes", "sdf-pole", "sdf-sysid"):
            self.refuses([name, *HDF5], "experiment", name, *keep)
        self.refuses(["sdf-inertia", *HDF5], "experiment", "sdf-inertia", "--model", "mugs")
        self.refuses(["dac-chain", *CMINPACK], "experiment", "dac-chain", *keep)

    def test_a_report_without_charts_is_written_and_says_so(self):
        done = self.run_carom("simulate", "scene.xml", "--steps", "5", "--report", "page.html")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no charts", done.stderr)
        self.assertIn("install", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)
        with open(self.path("page.html"), encoding="utf-8") as page:
            self.assertIn("built without", page.read())

    def test_what_needs_no_part_runs(self):
        self.good("simulate", "scene.xml", "--steps", "5", "-o", "x.csv")
        self.good("fit", "scene.xml", "x.csv", "--wrt", "x0:ball/qpos[2]")
        self.good("linearize", "scene.xml", "-o", "ab.csv")
        done = subprocess.run([*command.CAROM, "experiment", "sdf-inertia", "--model", "sphere",
                               "--runs", "1"], capture_output=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.exists(self.path("ab.csv")))


if __name__ == "__main__":
    main()
