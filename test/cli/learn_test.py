#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""carom learn and carom experiment, driven as a stranger would."""

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


def ball(path, rows=60, start=0.5, change=None):
    """A ball that falls on a floor; change(k, cells) may spoil row k."""
    h, q, v, touch = 0.02, start, 0.0, 0
    with open(path, "w", encoding="ascii") as out:
        out.write("time,height,speed,floor\n")
        for k in range(rows):
            cells = [k * h, q, v, touch]
            if change:
                cells = change(k, cells)
            if cells:
                out.write(",".join(f"{c:.17g}" for c in cells) + "\n")
            q += h * v
            touch = int(q < 0 and v < 0)
            v = -0.8 * v if touch else v - 9.81 * h


class Learn(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def path(self, name):
        return os.path.join(self.dir.name, name)

    columns = ["--time", "time", "--q", "height", "--v", "speed"]

    def learn(self, data, *words, code=0):
        if "-o" not in words:
            words = (*words, "-o", self.path("kept.h5"))
        return carom("learn", "central-difference", data, *self.columns, "--epochs", "2", *words,
                     code=code)

    def test_weights_are_saved_and_replayed(self):
        data, weights, result = self.path("a.csv"), self.path("w.h5"), self.path("r.json")
        ball(data)
        page = self.path("page.html")
        out = self.learn(data, "--touch", "floor", "-o", weights, "--json", result,
                         "--report", page).stdout
        with open(page, encoding="utf-8") as file:
            self.assertIn("recording 1: velocities", file.read())
        self.assertIn("contact floor", out)
        with open(result, encoding="utf-8") as file:
            told = json.load(file)
        self.assertEqual(told["model"], "cdl")
        self.assertEqual(told["contacts"][0]["touches"], 2)
        out = carom("simulate", weights, "--steps", "20").stdout
        self.assertIn("height/qpos[0]", out)
        out = carom("gradient", weights, "--target", "height:0,0,1", "--wrt", "height/mass",
                    "--steps", "5", "--check").stdout
        self.assertIn("height/mass", out)

    def test_equal_seeds_give_equal_files(self):
        data = self.path("a.csv")
        ball(data)
        files = []
        for k in range(2):
            self.learn(data, "--touch", "floor", "-o", self.path(f"{k}.h5"))
            with open(self.path(f"{k}.h5"), "rb") as file:
                files.append(file.read())
        self.assertEqual(files[0], files[1])

    def test_contacts_are_proposed_without_touch(self):
        data = self.path("a.csv")
        ball(data)
        self.assertIn("contact +height", self.learn(data).stdout)

    def test_a_checkpoint_is_of_one_problem(self):
        data, kept = self.path("a.csv"), ["--checkpoint", self.path("a.ck")]
        ball(data)
        touch, given = ["--touch", "floor"], ["--restitution", "0.5"]
        first = self.learn(data, *touch, *given, *kept).stdout
        self.assertEqual(self.learn(data, *touch, *given, *kept).stdout, first)
        for other in ([*touch, "--restitution", "0.9"], touch, ["--touch", "floor:-height", *given],
                      [*touch, *given, "--damping", "0.5"]):
            self.assertIn("of other options", self.learn(data, *other, *kept, code=1).stderr)

    def test_what_the_data_cannot_teach_is_told(self):
        data = self.path("a.csv")
        ball(data, rows=12)
        self.assertIn("no contact to learn", self.learn(data).stderr)
        self.assertIn("contact floor: no row has a touch",
                      self.learn(data, "--touch", "floor").stderr)

    def test_what_the_data_speak_against_is_told(self):
        data = self.path("a.csv")
        ball(data)
        plain = carom("learn", "central-difference", data, *self.columns, "--epochs", "1",
                      "--touch", "floor")
        self.assertEqual(plain.stderr, "carom: weights are not kept: -o FILE.h5 is missing\n")
        doubts = {
            "did you mean --touch floor:+height?": (None, "floor:-height"),
            "height changes by -1 times a step of it": (lambda k, c: [*c[:2], -c[2], c[3]], "floor"),
            "height changes by 0.001 times": (lambda k, c: [1000 * c[0], *c[1:]], "floor"),
        }
        for told, (change, touch) in doubts.items():
            ball(data, change=change)
            self.assertIn(told, self.learn(data, "--touch", touch).stderr)
        # a column of touches that is a row early
        rows = []
        ball(data, change=lambda k, c: rows.append(c))
        ball(data, rows=59, change=lambda k, c: [*c[:3], rows[k + 1][3]])
        self.assertIn("velocities jump in the row behind its touches",
                      self.learn(data, "--touch", "floor").stderr)

    def test_a_sensor_that_stays_on_is_asked_about(self):
        data = self.path("a.csv")
        # on for three rows behind each touch
        last = [-9]

        def hold(k, cells):
            last[0] = k if cells[3] else last[0]
            return [*cells[:3], int(k - last[0] < 3)]

        ball(data)
        plain = self.learn(data, "--touch", "floor")
        self.assertEqual(plain.stderr, "")
        ball(data, change=hold)
        each = self.learn(data, "--touch", "floor")
        self.assertIn("contact floor: 3 rows with touch on end", each.stderr)
        self.assertIn("from row 18 on", each.stderr)
        self.assertIn("--touch-held first", each.stderr)
        said = self.learn(data, "--touch", "floor", "--touch-held", "each")
        self.assertEqual((said.stdout, said.stderr), (each.stdout, ""))
        first = self.learn(data, "--touch", "floor", "--touch-held", "first")
        self.assertEqual((first.stdout, first.stderr), (plain.stdout, ""))
        self.assertIn("expected each or first",
                      self.learn(data, "--touch", "floor", "--touch-held", "x", code=2).stderr)

    def test_starts_may_be_fitted(self):
        data = self.path("a.csv")
        ball(data)
        touch = ["--touch", "floor"]
        rows = self.learn(data, *touch).stdout
        self.assertEqual(self.learn(data, *touch, "--starts", "rows").stdout, rows)
        kept = ["--starts", "fitted", "--checkpoint", self.path("a.ck")]
        fitted = self.learn(data, *touch, *kept).stdout
        self.assertNotEqual(fitted, rows)
        self.assertEqual(self.learn(data, *touch, *kept).stdout, fitted)
        self.assertIn("of other options", self.learn(data, *touch, *kept[2:], code=1).stderr)

    def test_what_weights_do_not_know_is_not_told(self):
        data, weights, result = self.path("a.csv"), self.path("w.h5"), self.path("r.json")
        ball(data)
        self.learn(data, "--touch", "floor", "-o", weights)
        out = carom("simulate", weights, "--steps", "20", "--json", result).stdout
        self.assertIn("energy", out)
        self.assertNotIn("overlap", out)
        with open(result, encoding="utf-8") as file:
            self.assertIsNone(json.load(file)["max_penetration"])
        names = "floor/offset,floor/restitution,contact/1/w[0]"
        out = carom("gradient", weights, "--target", "height:0,0,1", "--wrt", names, "--steps", "30",
                    "--json", result).stdout
        held = {line.split()[0]: line for line in out.splitlines() if "held: " in line}
        self.assertEqual(sorted(held), ["contact/1/w[0]", "floor/offset"])
        self.assertIn("the contact net says when", held["floor/offset"])
        self.assertIn("threshold", held["contact/1/w[0]"])
        with open(result, encoding="utf-8") as file:
            entries = json.load(file)["entries"]
        self.assertEqual([("held" in e, e["value"] == 0) for e in entries if "held" in e],
                         [(True, True)] * 2)

    def test_an_interrupted_training_says_so(self):
        data, weights = self.path("a.csv"), self.path("w.h5")
        ball(data)
        work = subprocess.Popen([CAROM, "learn", "central-difference", data, *self.columns,
                                 "--touch", "floor", "--epochs", "1000000", "-o", weights],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(1.0)
        work.send_signal(signal.SIGINT)
        told = work.communicate(timeout=120)[1]
        self.assertEqual(work.returncode, 130)
        self.assertIn("interrupted after", told)
        self.assertTrue(os.path.exists(weights))

    def test_damping_is_given_or_learned(self):
        data, weights = self.path("a.csv"), self.path("w.h5")
        ball(data)
        self.assertIn("damping 0.5 N s/m (given)", self.learn(data, "--damping", "0.5").stdout)
        self.learn(data, "--damping", "learn", "-o", weights)
        line = next(x for x in carom("params", weights).stdout.splitlines() if "damping" in x)
        self.assertNotEqual(float(line.split()[1]), 0.0)

    def test_wrong_input_is_told_with_its_row(self):
        data = self.path("a.csv")
        cases = [
            (lambda k, c: [*c[:3], 2] if k == 4 else c, "row 5"),
            (lambda k, c: [c[0] + 0.004, *c[1:]] if k == 7 else c, "row 8"),
            (lambda k, c: None if k == 9 else c, "row 10"),
            (lambda k, c: c if k == 0 else None, "1 row"),
            (lambda k, c: [c[0], 1e308, *c[2:]] if k == 5 else c, "row 6: column 'height' is 1e+308"),
        ]
        for change, word in cases:
            ball(data, change=change)
            self.assertIn(word, self.learn(data, "--touch", "floor", code=1).stderr)

    def test_wrong_words_are_told(self):
        data = self.path("a.csv")
        ball(data)
        self.assertIn("flor", self.learn(data, "--touch", "flor", code=1).stderr)
        self.assertIn("+height", self.learn(data, "--touch", "floor:+z", code=2).stderr)
        self.assertIn("--model", self.learn(data, "--model", "gru", code=2).stderr)
        self.assertIn(".h5", self.learn(data, "-o", self.path("w.txt"), code=2).stderr)
        self.assertIn("vin", self.learn(data, "--model", "vin", "--damping", "1", code=2).stderr)
        self.assertIn("or learn", self.learn(data, "--damping", "much", code=2).stderr)
        touch = ["--touch", "floor"]
        for words, told in ((["--rate", "0"], "above 0"), ([*touch, *touch], "contact already"),
                            (["--law", "ncp"], "augmented"), (["--touch-held", "first"], "missing"),
                            (["--model", "vin", "--restitution", "1"], "vin has none"),
                            (["--q", "height,height", "--v", "speed,speed"], "twice")):
            self.assertIn(told, self.learn(data, *words, code=2).stderr)
        done = self.learn(data, "-o", self.path("nowhere/w.h5"), code=1)
        self.assertIn("cannot be written", done.stderr)
        self.assertEqual(done.stdout, "")  # before the training
        self.assertIn("central-difference", carom("learn", "pinball", data, code=2).stderr)


class Experiment(unittest.TestCase):
    def test_they_are_listed(self):
        out = carom("experiment").stdout
        self.assertEqual(out, carom("experiments").stdout)
        for name in ("cdl-pendulum", "cdl-ball", "cdl-ball-inelastic", "cdl-cradle"):
            self.assertIn(name, out)

    def test_the_step_keeps_what_it_should(self):
        with tempfile.TemporaryDirectory() as folder:
            result = os.path.join(folder, "r.json")
            carom("experiment", "cdl-step", "--json", result)
            with open(result, encoding="utf-8") as file:
                rows = json.load(file)["rows"]
        exact = [r["value"] for r in rows if r["paper"] == 0]
        self.assertEqual(len(exact), 12)
        self.assertLess(max(exact), 1e-14)
        self.assertGreater(min(r["value"] for r in rows if "impacts" in r["name"]), 100)
        # of order h
        fall = [r["value"] for r in rows if "gravity" in r["name"]]
        self.assertLess(abs(fall[0] / fall[1] - 10), 1)
        self.assertLess(abs(fall[1] / fall[2] - 10), 1)

    def test_wrong_words_are_told(self):
        self.assertIn("did you mean cdl-ball?", carom("experiment", "cdl-bell", code=2).stderr)
        self.assertIn("experiments", carom("experiment", "frobnicate", code=2).stderr)
        self.assertIn("resnet", carom("experiment", "cdl-ball", "--model", "gru", code=2).stderr)
        self.assertIn("--full", carom("experiment", "cdl-ball", "--quick", "--full", code=2).stderr)


if __name__ == "__main__":
    unittest.main()
