#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""carom shape, driven as a stranger would: families, meshes, codes, and what is refused."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

CAROM = sys.argv.pop(1)

CUBE = """v 0 0 0
v 1 0 0
v 1 1 0
v 0 1 0
v 0 0 1
v 1 0 1
v 1 1 1
v 0 1 1
f 4 3 2 1
f 5 6 7 8
f 1 2 6 5
f 2 3 7 6
f 3 4 8 7
f 4 1 5 8
"""


def carom(*words, code=0):
    done = subprocess.run([CAROM, *words], capture_output=True, text=True, timeout=300)
    if done.returncode != code:
        raise AssertionError(f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    if code:
        assert done.stderr.startswith("carom: ") and done.stderr.count("\n") == 1, done.stderr
    return done


class Shape(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def path(self, name, text=None):
        path = os.path.join(self.dir.name, name)
        if text is not None:
            with open(path, "w", encoding="ascii") as out:
                out.write(text)
        return path

    def test_a_cube_is_learned_and_shown(self):
        space = self.path("cube.h5")
        mesh = self.path("cube.obj", CUBE)
        carom("shape", "train", mesh, "-o", space, "--epochs", "15", "--net", "3x32")
        out = carom("shape", "show", space, "-o", self.path("cube.png")).stdout
        found = re.search(r"cube.obj +volume ([\d.]+) .* code (.*)", out)
        # few steps: the volume of a unit cube to a fifth
        self.assertAlmostEqual(float(found[1]), 1.0, delta=0.2)
        with open(self.path("cube.png"), "rb") as picture:
            self.assertEqual(picture.read(8), b"\x89PNG\r\n\x1a\n")
        carom("shape", "show", space, "--code=" + found[2], "-o", self.path("again.obj"))
        # what is written can be trained on
        carom("shape", "train", self.path("again.obj"), "-o", space, "--epochs", "1")

    def test_a_folder_of_meshes(self):
        os.mkdir(self.path("all"))
        self.path("all/a.obj", CUBE)
        self.path("all/b.obj", CUBE.replace("1\n", "2\n", 3))
        out = carom("shape", "train", self.path("all"), "-o", self.path("s.h5"), "--epochs", "1")
        self.assertIn("2 shapes, codes of 2, 4 layers of 64", out.stdout)

    def test_families_are_listed_by_their_members(self):
        out = carom("shape", "show", "animals").stdout
        self.assertIn("animals01", out)
        self.assertEqual(len(out.splitlines()), 2)

    def test_bad_input_is_one_line(self):
        space = self.path("s.h5")
        opened = self.path("open.obj", CUBE[: CUBE.rindex("f")])
        mesh = self.path("cube.obj", CUBE)
        for words, text in (
            (("train", opened, "-o", space), "open.obj: "),
            (("train", self.path("none.obj"), "-o", space), "none.obj"),
            (("train", self.path("none"), "-o", space), "no such file, folder or family"),
            (("train", mesh, "-o", space, "--net", "4by64"), "such as 4x64"),
            (("train", mesh, "-o", space, "--net", "40x64"), "1 to 12 hidden layers"),
            (("train", mesh, "-o", space, "--codes", "0"), "--codes 0"),
            (("train", mesh, "-o", space, "--rate", "nan"), "--rate"),
            (("train", mesh), "-o FILE.h5"),
            (("train", "-o", space), "needs meshes"),
            (("train", mesh, "mugs", "-o", space), "mugs is a family"),
            (("show", mesh), "cube.obj"),
            (("show", "mugs", "--code", "0,0,0,0"), "is a family"),
            (("show", "mugs", "-o", "x.jpg"), ".png or .obj"),
            (("show", "mugs", "-o", self.path("x.obj")), "one mesh of 22 shapes"),
            (("draw", "mugs"), "expected train or show"),
        ):
            code = 2 if text in ("such as 4x64", "--codes 0", "--rate", "-o FILE.h5", "needs meshes",
                                 "mugs is a family", "is a family", ".png or .obj",
                                 "one mesh of 22 shapes", "expected train or show") else 1
            self.assertIn(text, carom("shape", *words, code=code).stderr)

    def test_triangles_without_area_are_told(self):
        # a vertex in the middle of a diagonal; the last one uses a vertex twice and is left out by the reader
        split = "f 4 3 9\nf 3 2 9\nf 4 9 2\nf 4 2 1\nf 1 1 2\n"
        self.path("flat.obj", CUBE.replace("f 4 3 2 1\n", split).replace("f", "v .5 .5 0\nf", 1))
        scene = self.path("flat.xml", """<mujoco><asset><mesh name='m' file='flat.obj'/></asset><custom>
            <text name='carom:shape:b' data='mesh'/></custom><worldbody>
            <geom type='plane' size='1 1 1'/><body pos='0 0 1'><freejoint/>
            <geom name='b' type='mesh' mesh='m'/></body></worldbody></mujoco>""")
        self.assertRegex(carom("params", scene).stderr, r"^[^;\n]*: mesh m: 1 triangle has no area\n$")
        with open(scene) as file:
            more = file.read().replace("<asset>", "<asset>" + "".join(
                f"<mesh name='m{k}' file='flat.obj'/>" for k in range(12)))
        more = more.replace("</body>", "".join(f"<geom type='mesh' mesh='m{k}'/>" for k in range(12)) + "</body>")
        self.assertRegex(carom("params", self.path("more.xml", more)).stderr,
                         r"^[^;\n]*: mesh m\d* and 12 more: 13 triangles have no area\n$")
        said = carom("shape", "train", self.path("flat.obj"), "-o", self.path("s.h5"), "--epochs", "1").stderr
        self.assertIn("flat.obj: 1 of its triangles has no area", said)
        self.path("whole.obj", CUBE)
        said = carom("shape", "train", self.path("whole.obj"), "-o", self.path("s.h5"), "--epochs", "1").stderr
        self.assertNotIn("no area", said)

    def test_codes_outside_of_the_space_are_refused(self):
        space = self.path("s.h5")
        carom("shape", "train", "animals", "-o", space, "--epochs", "1", "--net", "2x16")
        for code, text, status in (("1e3,0", "outside of the space of shapes", 1),
                                   ("nan,0", "expected 2 numbers", 2), ("0", "expected 2", 2),
                                   ("0,0,0", "expected 2", 2)):
            done = carom("shape", "show", space, "--code=" + code, code=status)
            self.assertIn(text, done.stderr)


if __name__ == "__main__":
    unittest.main()
