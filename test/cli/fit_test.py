#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Drives the command as a stranger would: identification and benchmarks.

    fit_test.py PATH-OF-CAROM

Standard library only.
"""

import os
from unittest import mock

from command import Command, bounce_height, main


class Fit(Command):
    def recording(self, name="data.csv", change=lambda line, text: text):
        lines = ["# true floor:ball/restitution = 0.8", "t,ball/qpos[2]"]
        lines += [f"{0.02 * i:.17g},{bounce_height(0.02 * i):.17g}" for i in range(60)]
        lines = [change(i + 1, text) for i, text in enumerate(lines)]
        return self.write(name, "\n".join(lines) + "\n")

    def test_restitution_and_radius_are_found(self):
        arguments = ["fit", self.scene, self.recording(), "--key", "drop", "--wrt",
                     "floor:ball/restitution,ball/size[0],floor:ball/friction", "--set",
                     "floor:ball/restitution=0.4", "--set", "ball/size[0]=0.14"]
        result = self.json_of(*arguments)
        self.assertEqual(list(result), ["loss", "parameters", "heldout", "seconds"])
        entries = result["parameters"]
        self.assertEqual(list(entries[0]), ["name", "start", "value", "stderr", "identifiable"])
        self.assertAlmostEqual(entries[0]["value"], 0.8, 8)
        self.assertAlmostEqual(entries[1]["value"], 0.1, 8)
        self.assertEqual(entries[0]["start"], 0.4)
        self.assertTrue(entries[0]["identifiable"])
        self.assertFalse(entries[2]["identifiable"])
        self.assertIsNone(entries[2]["stderr"])
        text = self.good(*arguments)
        self.assertIn("does not depend on floor:ball/friction", text)
        self.assertIn("true", text.splitlines()[0])

    def test_bad_recordings(self):
        end = ["--key", "drop", "--wrt", "floor:ball/restitution", "--json", self.path("out.json")]

        def refused(code, parts, change):
            self.bad(code, parts, "fit", self.scene, self.recording("bad.csv", change), *end)

        self.recording("bad.csv")
        self.bad(1, "nothere.csv", "fit", self.scene, "nothere.csv", *end)
        refused(1, ["bad.csv:20", "nan"], lambda i, s: "0.36,nan" if i == 20 else s)
        refused(1, "bad.csv:20", lambda i, s: "0.36" if i == 20 else s)
        refused(1, "bad.csv:20", lambda i, s: "0.36,1,2" if i == 20 else s)
        refused(1, "bad.csv:20", lambda i, s: "0.36,tall" if i == 20 else s)
        refused(1, ["bad.csv:20", "increase"], lambda i, s: "0.32,0.2" if i == 20 else s)
        refused(1, "no column t", lambda i, s: "time,ball/qpos[2]" if i == 2 else s)
        refused(1, "did you mean ball/qpos[2]", lambda i, s: "t,ball/qps[2]" if i == 2 else s)
        refused(1, "column wall", lambda i, s: "t,wall" if i == 2 else s)
        self.write("bad.csv", "t,ball/qpos[2]\n0,0.5\n")
        self.bad(1, "2 rows", "fit", self.scene, self.path("bad.csv"), *end)
        self.write("bad.csv", "t,ball/qpos[2]\n0,0.5\n90000,0.5\n")
        self.bad(1, "is t in seconds", "fit", self.scene, self.path("bad.csv"), *end)
        self.write("bad.csv", "t\n0\n1\n")
        self.bad(1, "beside t", "fit", self.scene, self.path("bad.csv"), *end)
        self.write("bad.csv", "")
        self.bad(1, "bad.csv", "fit", self.scene, self.path("bad.csv"), *end)

    def test_bad_requests(self):
        data = self.recording()
        self.bad(2, "missing argument", "fit", self.scene, "--wrt", "ball/mass")
        self.bad(2, "--wrt", "fit", self.scene, data)
        self.bad(2, "did you mean ball/mass", "fit", self.scene, data, "--wrt", "ball/mas")
        self.bad(2, "one recording", "fit", self.scene, data, data, "--wrt", "ball/mass")


class Bench(Command):
    def test_rows(self):
        rows = self.json_of("bench", "long", "--steps", "2000")["rows"]
        self.assertEqual(list(rows[0]), ["name", "value", "unit"])
        self.assertTrue(all(row["value"] > 0.0 for row in rows))

    def test_robot_and_gas(self):
        rows = self.json_of("bench", "load")["rows"]
        self.assertEqual([row["unit"] for row in rows], ["us"])
        rows = {row["name"]: row["value"] for row in self.json_of("bench", "gas")["rows"]}
        # linear is 2, all pairs would be 4; a shared machine is no stopwatch
        self.assertLess(rows["2000 / 1000 spheres, no impact: step"], 3.5)
        self.assertEqual(len(rows), 5)

    def test_boxes(self):
        rows = {row["name"]: row["value"] for row in self.json_of("bench", "boxes")["rows"]}
        self.assertEqual(len(rows), 4)
        # all four corners of every box carry
        self.assertIn("32 boxes in eight stacks, 128 contacts: step", rows)
        step, jacobian = (rows["32 boxes on the floor" + what] for what in
                          (", 128 contacts: step", ": step, full Jacobian"))
        self.assertLess(step, jacobian)

    def test_solvers(self):
        folder = self.path("unsolved")
        rows = self.json_of("bench", "solvers", "--law", "ncp", "--problems", "64", "--seed", "3", "--families",
                            "--keep", folder)["rows"]
        value = {row["name"]: row["value"] for row in rows}
        self.assertEqual(sum(value["ncp, all: " + v] for v in ("solved", "loosely", "unsolved")), 64)
        self.assertEqual(sum(value[f"ncp, {f}: solved"] for f in (
            "single", "patch", "redundant", "stack", "pile", "chain", "wedge", "limits")), value["ncp, all: solved"])
        self.assertEqual(value["ncp, all: disputed"], 0)
        if "ncp: two spheres" in value:  # else there is no valgrind
            self.assertGreater(value["ncp: two spheres, vjp"], 0.0)
            self.assertLess(value["ncp: two spheres, vjp"], value["ncp: two spheres"] / 3.0)
        kept = os.listdir(folder)
        self.assertEqual(len(kept), value["ncp, all: loosely"] + value["ncp, all: unsolved"])

    def test_two_spheres_under_every_law(self):
        # without valgrind, which takes seconds a law
        with mock.patch.dict(os.environ, PATH=self.path("nowhere")):
            result = self.json_of("bench", "solvers", "--problems", "8")
        rows = {row["name"]: row["value"] for row in result["rows"]}
        # Siconos finds 0.750 under Coulomb's law and 0.820 in the convex problem
        between = {"ncp": 0.750, "ncp-poisson": 0.750, "cone": 0.820, "cone-reg": 0.820}
        for law in ("ncp", "ncp-poisson", "cone", "cone-reg", "lcp"):
            for e in ("0.0", "0.5"):
                solve, cached, vjp, f_n, residual = (rows[f"{law}, two spheres, e = {e}: {what}"] for what in (
                    "solve", "solve with cache", "vjp", "f_n", "residual"))
                self.assertLess(residual, 1.0)
                self.assertGreater(vjp, 0.0)
                # a sixteenth on an idle machine
                self.assertLess(vjp, min(solve, cached) / 3.0)
                if e == "0.0" and law in between:
                    self.assertAlmostEqual(f_n, between[law], delta=0.0005)

    def test_solvers_on_files(self):
        head = "carom-problem 1\nlaw ncp\nfamily none\nseed 0\ncontacts 1\ncontact 0.5 0.5 0 bouncing\n"
        self.write("one.txt", head + "velocity -1 2 0\nmatrix 1 0 1 0 0 1\n")
        rows = self.json_of("bench", "solvers", self.path("one.txt"))["rows"]
        self.assertEqual(rows[0]["name"], "one.txt, ncp: residual")
        self.assertLess(rows[0]["value"], 1.0)
        self.write("bad.txt", head + "velocity -1 2\n")
        self.bad(1, "bad.txt:8", "bench", "solvers", self.path("bad.txt"))
        self.write("bad.txt", head.replace("law ncp", "law none"))
        self.bad(1, "expected 'velocity'", "bench", "solvers", self.path("bad.txt"))
        self.bad(2, "unknown", "bench", "solvers", "--law", "magic")
        self.bad(2, "whole number", "bench", "solvers", "--problems", "0")
        self.bad(2, "for 'carom bench solvers'", "bench", "load", "--problems", "3")

    def test_bad_requests(self):
        self.bad(2, "unknown benchmark", "bench", "everything")
        self.bad(2, "takes a scene", "bench", "long", self.scene)
        self.bad(2, "needs a scene", "bench", "contact")
        self.bad(1, "none.xml: no such file", "bench", "contact", "none.xml")


if __name__ == "__main__":
    main()
