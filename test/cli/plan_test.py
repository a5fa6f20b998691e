#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Drives the command as a stranger would: plans, controls over time, linearised steps.

    plan_test.py PATH-OF-CAROM

Standard library only.
"""

import csv
import json
import os
import signal
import struct
import subprocess
import time

from command import CAROM, Command, main

THROW = ["--key", "drop", "--target", "ball:2,0.3,0.3@0.6", "--controls",
         "x0:ball/qvel[0],x0:ball/qvel[1],x0:ball/qvel[2]"]

CART = """<mujoco model="cart">
  <option timestep="0.02" integrator="RK4"/>
  <worldbody>
    <body name="cart">
      <joint name="rail" type="slide" axis="1 0 0"/>
      <geom name="cart" type="sphere" size="0.1" mass="2"/>
    </body>
    <body name="block" pos="3 0 0">
      <joint name="block" type="slide" axis="1 0 0"/>
      <geom name="block" type="sphere" size="0.1" mass="2"/>
    </body>
  </worldbody>
  <actuator>
    <motor name="push" joint="rail" ctrllimited="true" ctrlrange="-6 6"/>
  </actuator>
</mujoco>
"""


class Plan(Command):
    def setUp(self):
        super().setUp()
        self.cart = self.write("cart.xml", CART)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def test_radius_all_sines_and_samples(self):
        push = [self.cart, "--target", "cart:1,0,0@all", "--steps", "50", "--controls", "u:push[*]",
                "--radius", "0.1", "--beta", "0.3,0.5"]
        result = self.json_of("plan", *push, "--sines", "2", "--samples", "8")
        self.assertEqual(result["status"], "reached")
        self.assertEqual(len(result["controls"]), 6)
        self.assertEqual(result["controls"][1]["name"], "u:push sine 1 frequency")
        self.assertLessEqual(result["targets"][0]["distance"], 0.1)
        # steps of 0.3 that go to and fro, cut in half until they fit
        coarse = [self.cart, "--target", "cart:1,0,0", "--steps", "50", "--controls", "u:push",
                  "--method", "adam", "--beta", "0,0", "--rate", "0.3", "--iterations", "60"]
        self.assertEqual(self.run_carom("plan", *coarse).returncode, 1)
        self.assertEqual(self.json_of("plan", *coarse, "--halve", "4")["status"], "reached")
        # a horizon beyond the end is the whole run
        result = self.json_of("plan", *push, "--horizon", "500", "--execute", "500")
        self.assertEqual(result["status"], "reached")
        self.bad(2, "--sines 2", "plan", *push, "--sines", "2", "--knots", "3")
        self.bad(2, "gauss-newton", "plan", *push, "--method", "gauss-newton")
        self.bad(2, "u:push is no sequence", "plan", self.cart, "--target", "cart:1,0,0",
                   "--controls", "u:push", "--sines", "2")
        self.bad(2, "@all", "compare", self.cart, "--target", "cart:1,0,0@all")

    def failed(self, parts, *arguments):
        """Expects a plan that is shown, and one line that says why it is not good."""
        done = self.run_carom(*arguments)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertTrue(done.stderr.startswith("carom: "), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for part in [parts] if isinstance(parts, str) else parts:
            self.assertIn(part, done.stderr)
        return done.stdout

    def test_throw_is_found_from_rest_by_every_method(self):
        for method, limit in [("gauss-newton", 50), ("lbfgs", 50), ("adam", 400)]:
            result = self.json_of("plan", self.scene, *THROW, "--method", method, "--iterations",
                                  str(limit))
            self.assertEqual(list(result),
                             ["scene", "law", "method", "loss", "cost", "status", "iterations",
                              "controls", "targets", "seconds", "history"])
            self.assertEqual(result["status"], "reached")
            self.assertLess(result["iterations"], limit)
            self.assertEqual(len(result["history"]), result["iterations"] + 1)
            self.assertEqual(sorted(result["history"], reverse=True), result["history"])
            self.assertLess(result["targets"][0]["distance"], 1e-3)
            self.assertEqual(list(result["controls"][0]), ["name", "start", "value"])
            self.assertEqual(result["controls"][0]["start"], 0.0)

    def test_a_plan_of_initial_values_is_what_simulate_does(self):
        result = self.json_of("plan", self.scene, *THROW, "-o", self.path("motion.csv"))
        values = []
        for entry in result["controls"]:
            values += ["--set", f"{entry['name']}={entry['value']!r}"]
        self.good("simulate", self.scene, "--key", "drop", "--steps", "120", *values, "-o",
                  self.path("again.csv"))
        self.assertEqual(self.read("motion.csv"), self.read("again.csv"))

    def test_a_report_begins_where_the_plan_does(self):
        motions = []
        for extra in ([], ["-o", self.path("motion.csv")]):
            self.good("plan", self.scene, *THROW, *extra, "--report", self.path("page.html"))
            page = self.read("page.html").split('id="data">', 1)[1].split("</script>", 1)[0]
            motions.append(json.loads(page)["motions"])
        self.assertEqual(motions[0], motions[1])

    def test_controls_over_time_are_what_simulate_does(self):
        self.good("plan", self.cart, "--target", "cart:1,0,0@1", "--controls", "u:push[*]",
                  "--knots", "5", "--plan", self.path("plan.csv"), "-o", self.path("motion.csv"))
        rows = list(csv.DictReader(self.read("plan.csv").splitlines()))
        self.assertEqual(len(rows), 50)
        self.assertEqual(list(rows[0]), ["t", "push"])
        self.assertEqual(rows[0]["push"], rows[9]["push"])
        self.assertNotEqual(rows[9]["push"], rows[10]["push"])
        self.good("simulate", self.cart, "--control", self.path("plan.csv"), "-o",
                  self.path("again.csv"))
        self.assertEqual(self.read("motion.csv"), self.read("again.csv"))
        text = self.good("gradient", self.cart, "--control", self.path("plan.csv"), "--target",
                         "cart:1,0,0@1", "--wrt", "u:push[3],cart/mass", "--check")
        self.assertIn("u:push[3]", text)
        self.bad(2, "a value every step", "gradient", self.cart, "--control",
                 self.path("plan.csv"), "--target", "cart:1,0,0@1", "--wrt", "u:push")
        # as a start, the plan is good as it is
        result = self.json_of("plan", self.cart, "--target", "cart:1,0,0@1", "--controls",
                              "u:push[*]", "--control", self.path("plan.csv"))
        self.assertEqual(result["iterations"], 0)

    def test_bounds_cost_and_starts(self):
        arguments = ["plan", self.cart, "--target", "cart:1,0,0@1", "--controls", "u:push[*]",
                     "--knots", "4"]
        result = self.json_of(*arguments, "--bound", "u:push=-1:5")
        self.assertTrue(all(-1.0 <= c["value"] <= 5.0 for c in result["controls"]))
        dear = self.json_of(*arguments, "--cost", "0.01")
        self.assertEqual(dear["status"], "converged")
        self.assertGreater(dear["cost"], 0.0)
        self.assertGreater(dear["targets"][0]["distance"], 1e-3)
        some = [self.json_of(*arguments, "--starts", "5", "--seed", "3", "--threads", n)
                for n in ["1", "3"]]
        self.assertEqual([c["value"] for c in some[0]["controls"]],
                         [c["value"] for c in some[1]["controls"]])

    def test_receding_horizon(self):
        result = self.json_of("plan", self.cart, "--target", "cart:0.5,0,0@1", "--controls",
                              "u:push[*]", "--horizon", "20", "--execute", "4", "--plan",
                              self.path("plan.csv"), "-o", self.path("motion.csv"))
        self.assertEqual(result["status"], "reached")
        self.assertEqual(len(result["controls"]), 50)
        self.good("simulate", self.cart, "--control", self.path("plan.csv"), "-o",
                  self.path("again.csv"))
        self.assertEqual(self.read("motion.csv"), self.read("again.csv"))
        self.bad(2, "u:NAME[*]", "plan", self.cart, "--target", "cart:0.5,0,0@1", "--controls",
                 "u:push", "--horizon", "20")

    def test_what_cannot_be_reached_is_said_and_the_best_plan_kept(self):
        out = self.failed(["cart:9,0,0@1 is not reached", "7.5 m away"], "plan", self.cart,
                          "--target", "cart:9,0,0@1", "--controls", "u:push[*]", "--knots", "4",
                          "--plan", self.path("plan.csv"), "--json", self.path("out.json"))
        self.assertIn("at its bound", out)
        rows = list(csv.DictReader(self.read("plan.csv").splitlines()))
        self.assertEqual({float(row["push"]) for row in rows}, {6.0})
        self.assertIn(json.loads(self.read("out.json"))["status"], ["converged", "stalled"])
        self.failed(["no control moves block:4,0,0@1", "never touched"], "plan", self.cart,
                    "--target", "block:4,0,0@1", "--controls", "u:push[*]")
        self.failed("raise --iterations", "plan", self.scene, *THROW, "--method", "adam",
                    "--iterations", "2")

    def test_bad_requests(self):
        target = ["--target", "cart:1,0,0@1"]
        controls = ["--controls", "u:push[*]"]
        plan = ["plan", self.cart, *target, *controls]
        self.bad(2, "--target", "plan", self.cart, *controls)
        self.bad(2, "--controls", "plan", self.cart, *target)
        self.bad(2, "did you mean cart", "plan", self.cart, "--target", "crat:1,0,0", *controls)
        self.bad(2, "did you mean u:push", "plan", self.cart, *target, "--controls", "u:psh[*]")
        self.bad(2, "knots", *plan, "--knots", "51")
        self.bad(2, "adam, lbfgs or gauss-newton", *plan, "--method", "newton")
        self.bad(2, ["no surrogate is named ipc", "longrange"], *plan, "--surrogate", "ipc")
        self.bad(2, "N:SIGMA", *plan, "--bundle", "20")
        self.bad(2, "--bundle", *plan, "--bundle", "20:1", "--method", "gauss-newton")
        self.bad(2, "LOW:HIGH", *plan, "--bound", "u:push=3")
        self.bad(2, "is left", *plan, "--bound", "u:push=7:8")
        self.bad(2, "--execute 4: expected with --horizon", *plan, "--execute", "4")
        self.bad(2, ["--target number 1 is at 9 s", "--steps"], "plan", self.cart, "--target", "cart:1,0,0@9",
                 "--steps", "10", *controls)
        self.bad(2, "--focus 1: expected with --horizon", *plan, "--focus", "1")
        self.bad(2, "no use for --radius, --focus", *plan, "--focus", "1", "--horizon", "10",
                   "--method", "gauss-newton")
        self.bad(2, "--cost", "plan", self.scene, *THROW, "--cost", "1")
        self.bad(2, "no controls over time", "plan", self.scene, *THROW, "--plan", "plan.csv")
        self.bad(2, "--knots", "plan", self.cart, "--target", "cart:1,0,0", "--steps", "2000000",
                 *controls)
        self.bad(2, "--beta", *plan, "--beta", "0.9")
        self.bad(2, "above 0", *plan, "--tolerance", "-1")
        self.bad(2, "unknown option", *plan, "--tollerance", "1")
        self.bad(2, ".csv, .h5 or .hdf5", *plan, "-o", "motion.txt")
        self.bad(1, "no such checkpoint", *plan, "--resume", self.path("not.ck"))
        self.bad(1, "no such file", *plan, "--control", "not.csv")

    def test_a_file_that_has_no_folder_is_told_before_the_work(self):
        # one that would take minutes
        plan = ["plan", self.cart, "--target", "cart:9,0,0@1", "--controls", "u:push[*]", "--method",
                "adam", "--rate", "1e-9", "--iterations", "1000000"]
        for option, name in [("--json", "a.json"), ("--report", "a.html"), ("--plan", "a.csv"),
                             ("-o", "a.csv"), ("--checkpoint", "a.ck")]:
            file = self.path("nothere/" + name)
            self.bad(1, file + ": cannot be written", *plan, option, file)

    def interrupted(self, *plan):
        run = subprocess.Popen([*CAROM, *plan], cwd=self.folder.name, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
        time.sleep(1.0)
        run.send_signal(signal.SIGINT)
        out, told = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 130, told)
        return out, told

    def test_what_an_interruption_says_is_so(self):
        # draws that would take minutes
        plan = ["plan", self.cart, "--target", "cart:9,0,0@1", "--controls", "u:push[*]",
                "--samples", "1000000", "--checkpoint"]
        drawing, window = self.path("drawing.ck"), self.path("window.ck")
        told = self.interrupted(*plan, drawing)[1]
        self.assertIn("it was drawing a start, of which nothing is kept", told)
        self.assertFalse(os.path.exists(drawing))
        # within the first window: no target was come to, and no loss is claimed
        out, told = self.interrupted(*plan, window, "--horizon", "50", "--json", self.path("o.json"))
        self.assertIn("to go on from " + window, told)
        self.assertTrue(os.path.exists(window))
        self.assertIn("in 0 windows", out)
        self.assertIn("no target was come to", out)
        self.assertIsNone(json.loads(self.read("o.json"))["loss"])

    def test_full_disk(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("there is no /dev/full")
        plan = ["plan", self.cart, "--target", "cart:1,0,0@1", "--controls", "u:push[*]"]
        for option in ["--json", "--plan", "-o", "--checkpoint"]:
            out = self.failed("/dev/full", *plan, option, "/dev/full")
            self.assertIn("u:push[0]", out)

    def result(self, *arguments):
        """The JSON of a run that may fail, without what a clock decides."""
        self.run_carom(*arguments, "--json", self.path("out.json"))
        result = json.loads(self.read("out.json"))
        del result["seconds"]
        return result

    def test_a_killed_run_goes_on_to_the_same_bits(self):
        # a target out of reach, so that the search is long
        plan = ["plan", self.scene, "--key", "drop", "--target", "ball:3,1,0.9@2", "--controls",
                "x0:ball/qvel[*],u:ball/force[0][*]", "--knots", "4", "--method", "adam", "--rate",
                "0.003", "--iterations", "250", "--starts", "2", "--seed", "9", "--tolerance",
                "1e-12", "--bound", "u:ball/force[0]=-1:1"]
        whole = self.result(*plan)
        self.assertEqual(whole["iterations"], 250)
        for number in [signal.SIGKILL, signal.SIGINT]:
            file = self.path("plan.ck")
            run = subprocess.Popen([*CAROM, *plan, "--checkpoint", file], cwd=self.folder.name,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            end = time.monotonic() + 30.0
            while not os.path.exists(file) and time.monotonic() < end:
                time.sleep(0.002)
            run.send_signal(number)
            text = run.communicate()[1]
            if run.returncode == 130 and number == signal.SIGINT:
                self.assertIn("interrupted; give the same options", text)
            self.assertEqual(self.result(*plan, "--checkpoint", file), whole)
            self.assertEqual(self.result(*plan, "--resume", file), whole)
            other = [a if a != "9" else "10" for a in plan]
            self.bad(1, "another scene or of other options", *other, "--checkpoint", file)
            self.write("plan.ck", "nonsense")
            self.bad(1, "no checkpoint", *plan, "--resume", file)
            os.remove(file)

    def test_another_scene_is_refused(self):
        file = self.path("plan.ck")
        self.good("plan", self.scene, *THROW, "--checkpoint", file)
        with open(self.scene, encoding="utf-8") as scene:
            text = scene.read()
        other = self.write("other.xml", text.replace('data="0.8"', 'data="0.7"'))
        self.bad(1, "another scene", "plan", other, *THROW, "--checkpoint", file)


class Linearize(Command):
    def test_hdf5_has_the_same_matrices(self):
        done = self.run_carom("linearize", self.scene, "-o", self.path("map.h5"), "--json",
                              self.path("map.json"), "--at-step", "65")
        if "built without HDF5" in done.stderr:
            self.assertFalse(os.path.exists(self.path("map.h5")))
            self.skipTest("libhdf5-dev is missing")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(self.path("map.json"), encoding="utf-8") as file:
            result = json.load(file)
        with open(self.path("map.h5"), "rb") as file:
            data = file.read()
        self.assertEqual(data[:8], b"\x89HDF\r\n\x1a\n")
        # the library stores rows of doubles as they are
        for key in ("A", "B"):
            numbers = [value for row in result[key] for value in row]
            self.assertIn(struct.pack(f"<{len(numbers)}d", *numbers), data)
        for text in ("carom linearisation 1", "ball/dq[0]", "ball/force[0]", "rows", "names"):
            self.assertIn(text.encode(), data)
        self.bad(1, ["map.h5", "carom trajectory 1"], "fit", self.scene, self.path("map.h5"), "--wrt",
                 "ball/mass")
        self.bad(1, "nofolder", "linearize", self.scene, "-o", self.path("nofolder/map.h5"))

    def test_a_flying_ball(self):
        result = self.json_of("linearize", self.scene, "--at-step", "3")
        self.assertEqual(list(result),
                         ["scene", "law", "dt", "step", "status", "state", "controls", "A", "B"])
        self.assertEqual(result["status"], "exact")
        self.assertEqual(result["state"][0], "ball/dq[0]")
        self.assertEqual(result["controls"][0], "ball/force[0]")
        n = len(result["state"])
        self.assertEqual(n, 12)
        for i in range(3):
            self.assertAlmostEqual(result["A"][i][i], 1.0, 12)
            self.assertAlmostEqual(result["A"][i][6 + i], 0.005, 12)
            self.assertAlmostEqual(result["B"][6 + i][i], 0.005, 12)
            self.assertAlmostEqual(result["B"][i][i], 0.5 * 0.005 ** 2, 12)
        text = self.good("linearize", self.scene, "-o", self.path("map.csv"))
        self.assertIn("12 tangent coordinates, 6 controls", text)
        with open(self.path("map.csv"), encoding="utf-8") as file:
            rows = list(csv.reader(file))
        self.assertEqual(len(rows), 13)
        self.assertEqual(rows[0][0], "name")
        self.assertEqual(len(rows[1]), 1 + 12 + 6)

    def test_bad_requests(self):
        self.bad(2, "expected a whole number", "linearize", self.scene, "--at-step", "x")
        self.bad(2, ".csv, .h5 or .hdf5", "linearize", self.scene, "-o", "map.txt")
        self.bad(1, "/dev/full", "linearize", self.scene, "-o", "/dev/full")


if __name__ == "__main__":
    main()
