#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""carom learn points, driven as a stranger would."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
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

    def stop(self, words, is_time):
        """Ends a training when is_time(process) says so; its exit code and what it told."""
        with subprocess.Popen([CAROM, "learn", "points", *words], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as part:
            while part.poll() is None and not is_time(part):
                time.sleep(0.002)
            part.terminate()
            told = part.communicate(timeout=300)[1]
        return part.returncode, told

    def test_a_run_that_ends_in_its_last_steps_says_so_and_keeps_the_best(self):
        weights, kept = self.path("last.h5"), self.path("last.k.h5")
        # the first checkpoint is that of the last epoch
        words = ["bp5", "--epochs", "10", "--checkpoint", kept, "-o", weights]
        code, told = self.stop(words, lambda part: os.path.exists(kept))
        self.assertEqual(code, 143)
        self.assertIn("interrupted in the last steps", told)
        self.assertIn("kept is the best so far, the same command goes on", told)
        carom("simulate", weights, "--steps", "1")

    def test_nothing_is_kept_before_the_first_validation(self):
        weights = self.path("early.h5")

        def listens(part):
            with open(f"/proc/{part.pid}/status", encoding="ascii") as file:
                caught = [line for line in file if line.startswith("SigCgt")]
            return caught and int(caught[0].split()[1], 16) >> (signal.SIGTERM - 1) & 1

        code, told = self.stop(["rope:50", "--epochs", "60", "-o", weights], listens)
        self.assertEqual(code, 143)
        self.assertIn("before the first validation: no model is kept", told)
        self.assertFalse(os.path.exists(weights))

    def rescaled(self, name, is_wanted, factor):
        """The recordings with some columns times a factor."""
        out = []
        for k, file in enumerate(self.data):
            with open(file, encoding="ascii") as source:
                lines = [line.split(",") for line in source.read().splitlines()]
            wanted = [is_wanted(column) for column in lines[0]]
            for line in lines[1:]:
                line[:] = [repr(factor * float(cell)) if w else cell
                           for cell, w in zip(line, wanted)]
            out.append(self.path(f"{name}{k}.csv"))
            with open(out[-1], "w", encoding="ascii") as target:
                target.write("\n".join(",".join(line) for line in lines) + "\n")
        return out

    def test_velocities_and_times_in_other_units_are_told(self):
        words = ["--epochs", "1"]
        self.assertNotIn("changes by", self.learn("cp3", *self.data, *words).stderr)
        slow = self.rescaled("mm", lambda column: "qvel" in column, 1000.0)
        told = self.learn("cp3", *slow, *words).stderr
        self.assertIn("mass1/qpos[0] changes by 0.001 times a step of mass1/qvel[0] (and 5 other",
                      told)
        late = self.rescaled("ms", lambda column: column == "t", 1000.0)
        told = self.learn("cp3", *late, *words).stderr
        self.assertIn("are times in seconds?", told)
        mirrored = self.rescaled("sign", lambda column: column == "mass2/qvel[1]", -1.0)
        told = self.learn("cp3", *mirrored, *words).stderr
        self.assertIn("mass2/qpos[1] changes by -", told)
        self.assertNotIn("other columns", told)

    def epsilon_of(self, file):
        line, = [line for line in carom("params", file).stdout.splitlines() if "epsilon" in line]
        return float(line.split()[1])

    def test_epsilon_is_given_or_learned(self):
        weights, words = self.path("e.h5"), ["--model", "cmr-clnn", "--epochs", "10"]
        for more, value in (([], 0.01), (["--epsilon", "0.2"], 0.2)):
            out = self.learn("cp3", *self.data, *words, *more, "-o", weights).stdout
            self.assertIn(f"epsilon {value} 1/kg, given", out)
            self.assertEqual(self.epsilon_of(weights), value)
        out = self.learn("cp3", *self.data, *words, "--epsilon", "learn", "-o", weights).stdout
        self.assertIn("1/kg, learned", out)
        self.assertNotIn(self.epsilon_of(weights), (0.01, 0.2))
        # a checkpoint of another epsilon is of another problem
        kept = ["--checkpoint", self.path("e.k.h5")]
        self.learn("cp3", *self.data, *words, *kept)
        self.learn("cp3", *self.data, *words, *kept, "--epsilon", "0.2", code=1)
        # so is one of other recordings, be they for training or for validation
        first, second, third = self.data[:3]
        kept = ["--epochs", "1", "--checkpoint", self.path("d.k.h5")]
        self.learn("cp3", first, second, *kept)
        for files in ((first, third), (third, second)):
            self.assertIn("d.k.h5", self.learn("cp3", *files, *kept, code=1).stderr)
        self.learn("cp3", first, second, *kept)
        for text in ("0", "-1", "nan", "some"):
            told = self.learn("cp3", "--model", "cmr-clnn", "--epsilon", text, code=2).stderr
            self.assertIn("--epsilon " + text, told)
        self.assertIn("cmr-clnn", self.learn("cp3", "--epsilon", "0.1", code=2).stderr)
        self.assertIn("learn points", carom("learn", "central-difference", self.data[0],
                                            "--epsilon", "1", code=2).stderr)

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
        for word, value in (("--l2", "1"), ("--touch", "t"), ("--law", "ncp"), ("--damping", "1")):
            self.assertIn(word + ": does not", self.learn("cp3", word, value, code=2).stderr)
        self.assertIn(".h5", self.learn("cp3", "-o", self.path("w.txt"), code=2).stderr)
        done = self.learn("cp3", "-o", self.path("nowhere/w.h5"), code=1)
        self.assertIn("cannot be written", done.stderr)

    def test_without_data_windows_are_drawn(self):
        out = self.learn("bd1", "--epochs", "1", "--model", "cmr-chnn").stdout
        self.assertIn("drawn from it", out)


if __name__ == "__main__":
    unittest.main()
