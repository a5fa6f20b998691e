#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""carom learn points, driven as a stranger would."""

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


class Points(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.dir.cleanup)
        cls.data = [cls.path(f"{k}.csv") for k in range(1, 7)]
        for k, file in enumerate(cls.data):
            true = cls.path("true.h5")
            carom("learn", "points", "cp3", "--model", "true", "--seed", str(k + 1), "-o", true)
            carom("simulate", true, "--steps", "99", "-o", file)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.dir.name, name)

    def learn(self, *words, code=0):
        return carom("learn", "points", *words, code=code)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def spoiled(self, row, change):
        """The first recording with the cells of one line changed."""
        with open(self.data[0], encoding="ascii") as file:
            lines = file.read().splitlines()
        lines[row] = ",".join(change(lines[row].split(",")))
        with open(self.path("bad.csv"), "w", encoding="ascii") as file:
            file.write("\n".join(lines) + "\n")
        return self.path("bad.csv")

    def test_weights_of_recordings_run_and_have_gradients(self):
        weights, result, page = self.path("w.h5"), self.path("r.json"), self.path("p.html")
        out = self.learn("cp3", *self.data[:5], "--holdout", self.data[5], "--epochs", "60", "-o",
                         weights, "--json", result, "--report", page).stdout
        self.assertIn("from 5 files", out)
        with open(result, encoding="utf-8") as file:
            told = json.load(file)
        # the truth is 0.5 and 0; five recordings are few
        self.assertAlmostEqual(told["contacts"][0]["friction"], 0.5, delta=0.1)
        self.assertLess(told["contacts"][0]["restitution"], 0.3)
        self.assertLess(told["heldout"], 0.1)
        self.assertIn("mass3/qpos[1]", carom("simulate", weights, "--steps", "5").stdout)
        out = carom("gradient", weights, "--target", "mass3:0,0,0", "--wrt",
                    "x0:mass1/qvel[0],mass1/mass", "--steps", "10", "--check").stdout
        errors = [float(line.split()[-1]) for line in out.splitlines() if "mass1/" in line]
        self.assertEqual(len(errors), 2)
        self.assertLess(max(errors), 1e-5)

    def test_an_interrupted_run_keeps_its_best_and_goes_on_to_the_same_bits(self):
        words = ["cp3", *self.data, "--epochs", "24"]
        self.learn(*words, "-o", self.path("whole.h5"))
        run = [CAROM, "learn", "points", *words, "--checkpoint", self.path("k.h5"), "-o",
               self.path("part.h5")]
        for stop in (True, False):
            with subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True) as part:
                if stop:
                    while not os.path.exists(self.path("k.h5")) and part.poll() is None:
                        pass
                    part.terminate()
                err = part.communicate(timeout=300)[1]
            # a machine that is fast enough is done before it is told to stop
            self.assertIn(part.returncode, (0, 143, -15) if stop else (0,))
            if part.returncode == 143:
                self.assertIn("kept is the best so far", err)
                carom("simulate", self.path("part.h5"), "--steps", "1")
        self.assertEqual(self.read("whole.h5"), self.read("part.h5"))

    def test_wrong_data_is_told_with_its_place(self):
        cases = [
            (self.spoiled(4, lambda c: [*c[:-1], "nan"]), "bad.csv:5", "NaN"),
            (self.data[0].replace("1.csv", "9.csv"), "9.csv", "no such file"),
        ]
        for file, *parts in cases:
            told = self.learn("cp3", file, code=1).stderr
            for part in parts:
                self.assertIn(part, told)
        far = self.spoiled(7, lambda c: [c[0], "2.5", *c[2:]])
        self.assertIn("row 7: mass1", self.learn("cp3", far, code=1).stderr)
        self.assertIn("'ball1/qpos[0]'", self.learn("bp5", self.data[0], code=1).stderr)
        self.assertIn("6 coordinates",
                      self.learn("cp3", self.data[0], "--q", "a,b", "--v", "c,d", code=2).stderr)

    def test_wrong_words_are_told(self):
        self.assertIn("rope", self.learn("chain", code=1).stderr)
        self.assertIn("rope:50", self.learn("rope:x", code=2).stderr)
        self.assertIn("lcp-clnn", self.learn("cp3", "--model", "best", code=2).stderr)
        self.assertIn(".h5", self.learn("cp3", "-o", self.path("w.txt"), code=2).stderr)
        done = self.learn("cp3", "-o", self.path("nowhere/w.h5"), code=1)
        self.assertIn("cannot be written", done.stderr)

    def test_without_data_windows_are_drawn(self):
        out = self.learn("bd1", "--epochs", "1", "--model", "cmr-chnn").stdout
        self.assertIn("drawn from it", out)


if __name__ == "__main__":
    unittest.main()
