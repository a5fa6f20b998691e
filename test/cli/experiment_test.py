#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Quick experiments of papers 001 and 000, with thresholds: they train for seconds."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

CAROM = sys.argv.pop(1)


class Ball(unittest.TestCase):
    def test_a_ball_is_learned_in_seconds(self):
        with tempfile.TemporaryDirectory() as folder:
            result, page = os.path.join(folder, "r.json"), os.path.join(folder, "r.html")
            subprocess.run([CAROM, "experiment", "cdl-ball", "--quick", "--model", "cdl", "--json",
                            result, "--report", page], check=True, capture_output=True, timeout=300)
            with open(result, encoding="utf-8") as file:
                told = json.load(file)
            with open(page, encoding="utf-8") as file:
                self.assertIn("contact function", file.read())
        self.assertEqual(told["mode"], "quick")
        row = {r["name"]: r["value"] for r in told["rows"]}
        # the figures for the full run: 0.3, 2 steps, 1 %; the last for 400 epochs
        self.assertLess(row["cdl annealed rmse median"], 0.3)
        self.assertLessEqual(row["cdl annealed bounce time error of other starts"], 2)
        self.assertLess(abs(row["cdl annealed mean force, relative error"]), 0.03)


class Kept(unittest.TestCase):
    """Finished runs in a file."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    @staticmethod
    def command(*words):
        return [CAROM, "experiment", "cdl-pendulum", "--quick", "--model", "vin", *words]

    def rows(self, *words):
        result = self.path("r.json")
        subprocess.run(self.command("--json", result, *words), check=True, capture_output=True,
                       timeout=300)
        with open(result, encoding="utf-8") as file:
            return {r["name"]: r["value"] for r in json.load(file)["rows"]}

    def test_an_interrupted_experiment_goes_on_to_the_same_bits(self):
        kept, page = self.path("runs.ck"), self.path("r.html")
        work = subprocess.Popen(self.command("--runs", "60", "--checkpoint", kept),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not os.path.exists(kept) and work.poll() is None:
            time.sleep(0.02)
        work.send_signal(signal.SIGINT)
        out, told = work.communicate(timeout=60)
        self.assertEqual(work.returncode, 130, told)
        self.assertIn("give the same options to go on", told)
        self.assertIn("vin annealed rmse median", out)
        whole = self.rows("--runs", "3")
        pieces = self.rows("--runs", "3", "--checkpoint", kept, "--report", page)
        with open(page, encoding="utf-8") as file:
            self.assertIn("phase portrait", file.read())
        again = self.rows("--runs", "3", "--checkpoint", kept)
        self.assertEqual(pieces, again)  # nothing is trained again, not even its seconds change
        for name, value in whole.items():
            if not name.endswith("training"):
                self.assertEqual(value, pieces[name], name)

    def test_files_of_other_work_are_refused(self):
        kept = self.path("runs.ck")
        self.rows("--checkpoint", kept)
        for experiment, code, word in (("cdl-ball", 1, "other work"), ("lrc-grid", 2, "no runs")):
            done = subprocess.run([CAROM, "experiment", experiment, "--checkpoint", kept],
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(word, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
        with open(kept, "r+b") as file:
            file.seek(100)
            file.write(b"spoiled")
        done = subprocess.run(self.command("--checkpoint", kept), capture_output=True, text=True,
                              timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn("damaged", done.stderr)


def rows_of(name, *more):
    """Rows of a quick experiment, by name."""
    with tempfile.TemporaryDirectory() as folder:
        result = os.path.join(folder, "r.json")
        subprocess.run([CAROM, "experiment", name, "--quick", "--json", result, *more], check=True,
                       capture_output=True, timeout=600)
        with open(result, encoding="utf-8") as file:
            return {r["name"]: r["value"] for r in json.load(file)["rows"]}


class Billiards(unittest.TestCase):
    def test_a_break_shot_is_planned_and_the_rival_starts_where_its_authors_do(self):
        row = rows_of("dcs-billiards")
        rule = "time-of-impact rule, descent"
        self.assertAlmostEqual(row[rule + " first loss"], 0.0454, delta=5e-5)
        self.assertAlmostEqual(row[rule + " second loss"], 0.0293, delta=5e-5)
        self.assertLess(row["cone, gauss-newton loss at the end"], 1e-3)
        self.assertLessEqual(row["cone, gauss-newton iterations to below 1e-3"], 200)


class Penetration(unittest.TestCase):
    def test_a_penetration_is_repaired_in_as_many_steps_as_asked_for(self):
        row = rows_of("dcs-penetration")
        self.assertEqual(row["share 1, repaired after"], 1)
        self.assertEqual(row["share 4, repaired after"], 4)
        self.assertGreater(row["no target, what is left of 0.02 after 40 steps"], 0.0199)


class Throw(unittest.TestCase):
    def test_a_disk_bounces_straight_up_by_what_was_learned(self):
        row = rows_of("dcs-throw-vertical")
        self.assertAlmostEqual(row["learned friction, truth 0.2"], 0.2, delta=0.002)
        # of 0.40 m/s and 0.10 m without a spin
        true = "plan, true properties: "
        self.assertLess(row[true + "speed along the ground behind the touch"], 0.01)
        self.assertLess(row[true + "way along the ground to the apex"], 0.003)


class Shapes(unittest.TestCase):
    def test_radii_come_from_bounces(self):
        row = rows_of("sdf-bounce", "--runs", "3")
        for name in ("with gravity", "without gravity"):
            self.assertLess(row[name + ": mean error of the radius"], 3e-3)
            self.assertLess(row[name + ": mean error by fit"], 1e-8)
        blind = "without gravity, no time of contact: "
        self.assertAlmostEqual(row[blind + "mean error of the radius"], row[blind + "start"])

    def test_a_bounce_tells_an_animal_and_every_seed_has_its_row(self):
        row = rows_of("sdf-shapes", "--model", "animals", "--seed", "3", "--runs", "1")
        for name in ("found", "found by search"):
            self.assertAlmostEqual(row["animals: %s over start, seed 3" % name],
                                   row["animals: %s over start" % name], places=12)
        self.assertLess(row["animals: found over start, seed 3"], 0.6)
        self.assertLess(row["animals: found by search over start, seed 3"], 1e-6)

    def test_a_push_tells_mass_friction_and_force(self):
        # seed 30 has a jump of the loss between its start and the true force
        row = rows_of("sdf-sysid", "--seed", "29")
        for name, most in (("mass", 2.8e-3), ("friction", 3e-4), ("force", 0.2)):
            self.assertLess(row[name + ": mean error"], most)
            self.assertLess(row[name + ": mean error by fit"], 1e-6)

    def test_a_report_has_the_rows_and_the_losses(self):
        with tempfile.TemporaryDirectory() as folder:
            page = os.path.join(folder, "r.html")
            subprocess.run([CAROM, "experiment", "sdf-bounce", "--runs", "1", "--report", page],
                           check=True, capture_output=True, timeout=600)
            with open(page, encoding="utf-8") as file:
                text = file.read()
        self.assertIn("with gravity: mean error by fit", text)
        self.assertIn("descent", text)


class Interrupted(unittest.TestCase):
    def test_a_directory_that_is_not_there_is_named(self):
        done = subprocess.run([CAROM, "experiment", "dcs-cp3e", "--model", "cm-clnn",
                               "--checkpoint", "/nowhere/keep"], check=False, capture_output=True,
                              text=True, timeout=600)
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nowhere/keep", done.stderr)


class Chain(unittest.TestCase):
    def test_a_chain_over_ground_is_learned_in_seconds_and_again_from_its_checkpoint(self):
        with tempfile.TemporaryDirectory() as folder:
            keep, page = os.path.join(folder, "keep"), os.path.join(folder, "r.html")
            words = ["dcs-cp3e", "--model", "cm-clnn", "--checkpoint", keep]
            row = rows_of(*words, "--report", page)
            self.assertTrue(os.path.exists(keep + ".cm-clnn"))
            again = rows_of(*words)
            with open(page, encoding="utf-8") as file:
                self.assertIn("energy from the first test window", file.read())
        # the figures for the full run: 0.002, 0.1 %, the paper's 2.83e-3
        self.assertLess(row["cm-clnn friction, error"], 0.002)
        self.assertLess(row["cm-clnn restitution, error"], 0.002)
        self.assertLess(row["cm-clnn mass ratios, largest relative error"], 1e-3)
        self.assertLess(row["cm-clnn trajectory error, 5 states"], 2.83e-3)
        for name, value in row.items():
            if "training" not in name:
                self.assertEqual(value, again[name], name)


class Epochs(unittest.TestCase):
    def test_trainings_are_as_long_as_asked_for(self):
        row = rows_of("dcs-cp3", "--model", "in-sp", "--epochs", "1", "--runs", "2")
        self.assertEqual(row["in-sp run 1 best epoch"], 1)
        self.assertEqual(row["in-sp run 2 best epoch"], 1)

    def test_what_trains_nothing_has_none(self):
        done = subprocess.run([CAROM, "experiment", "dcs-penetration", "--epochs", "3"],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--epochs: dcs-penetration", done.stderr)


class Balls(unittest.TestCase):
    def test_thirty_pairs_of_coefficients_are_learned(self):
        row = rows_of("dcs-bp5", "--model", "cm-clnn")
        largest = {name: value for name, value in row.items() if "largest error of" in name}
        self.assertEqual(len(largest), 2)
        for name, value in largest.items():
            self.assertLess(value, 0.002, name)
        self.assertLess(row["cm-clnn mass ratios, largest relative error"], 1e-3)


class Potential(unittest.TestCase):
    def rows(self, *words):
        with tempfile.TemporaryDirectory() as folder:
            result = os.path.join(folder, "r.json")
            subprocess.run([CAROM, "experiment", *words, "--json", result], check=True,
                           capture_output=True, timeout=300)
            with open(result, encoding="utf-8") as file:
                return {r["name"]: (r["value"], r["paper"]) for r in json.load(file)["rows"]}

    def test_laws_have_the_properties_of_table_1(self):
        for law in ("longrange", "soft", "ncp"):
            rows = self.rows("lrc-properties", "--model", law)
            told = [row for name, row in rows.items() if name.startswith(law)]
            self.assertEqual(len(told), 4)
            for value, paper in told:
                self.assertEqual(value, paper)

    def test_every_law_has_its_properties_measured(self):
        laws = subprocess.run([CAROM, "laws"], check=True, capture_output=True, text=True).stdout
        names = [line.split()[0] for line in laws.splitlines() if line and line[0] != " "]
        done = subprocess.run([CAROM, "experiment", "lrc-properties", "--model", "none"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertGreater(len(names), 10)
        for name in names:
            self.assertIn(name, done.stderr.split())
        # nets are trained for a box and a plane, restitution is that of balls: they push, and when
        # something touches it is sudden
        for law in ("augmented", "restitution"):
            rows = self.rows("lrc-properties", "--model", law)
            told = {name.split()[-1]: row[0] for name, row in rows.items() if name.startswith(law)}
            self.assertEqual(told, {"Barrier-Form": 0, "Smoothness": 0, "Non-prehensile": 1,
                                    "Non-vanishing": 0})

    def test_terms_of_two_grids_grow_with_their_triangles(self):
        rows = self.rows("lrc-grid")
        # 19.6 with eps 0.1, and less than 1.1 in the last doubling of N
        self.assertLess(rows["T = 4096, terms a triangle"][0], 21)
        self.assertLess(rows["T = 4096, exponent of T from the last"][0], 1.1)

    def test_all_pairs_cost_what_trees_save(self):
        rows = self.rows("lrc-cost", "--quick")
        # some 80 and 2.1: both are ratios of times taken in one run
        self.assertGreater(rows["all pairs over sphere trees, 1472 triangles"][0], 10)
        self.assertGreater(rows["all pairs, one sum, exponent"][0], 1.5)


class Tasks(unittest.TestCase):
    def test_a_law_without_reach_moves_what_it_touches_alone(self):
        laws = subprocess.run([CAROM, "laws"], check=True, capture_output=True, text=True).stdout
        if "longrange" not in laws:
            self.skipTest("the law longrange is not there")
        rows = Potential.rows(self, "lrc-push", "--model", "soft")
        self.assertEqual(rows["soft, trivial start, reached"][0], 0)
        # the box stays where it is, unless the rod is at it from the start
        start = rows["soft, trivial start, farthest object"][0]
        self.assertAlmostEqual(start, 1.0, 2)
        self.assertLess(rows["soft, touching start, farthest object"][0], 0.2 * start)

    def test_every_law_solves_a_push_that_begins_in_contact(self):
        laws = subprocess.run([CAROM, "laws"], check=True, capture_output=True, text=True).stdout
        if "longrange" not in laws:
            self.skipTest("the law longrange is not there")
        rows = Potential.rows(self, "lrc-push", "--start", "touching")
        for law in ("longrange", "ipc", "sdrs", "soft", "bundle"):
            self.assertEqual(rows[f"{law}, touching start, reached"][0], 1, law)

    def test_an_arm_of_real_meshes_pushes_as_well(self):
        root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
        panda = os.path.join(root, "..", "shared", "data", "robots", "franka_panda")
        laws = subprocess.run([CAROM, "laws"], check=True, capture_output=True, text=True).stdout
        if "longrange" not in laws:
            self.skipTest("the law longrange is not there")
        if not os.path.isdir(panda):
            self.skipTest("the reference robots (../shared/data/robots) are not here")
        make = os.path.join(root, "examples", "make_tasks.py")
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, make, folder, panda], check=True)
            joints = ",".join(f"u:joint{k}[*]" for k in range(1, 8))
            done = subprocess.run(
                [CAROM, "plan", os.path.join(folder, "panda.xml"), "--target", "hare:0.72,0.05,0.11@all",
                 "--radius", "0.05", "--controls", joints, "--bound", "u:joint*=-1.2:1.2", "--knots", "6",
                 "--steps", "24", "--horizon", "24", "--execute", "24", "--method", "adam", "--beta",
                 "0.3,0.5", "--rate", "0.05", "--iterations", "40"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("reached: every target is reached", done.stdout)

    def test_a_start_can_be_run_alone(self):
        laws = subprocess.run([CAROM, "laws"], check=True, capture_output=True, text=True).stdout
        if "longrange" not in laws:
            self.skipTest("the law longrange is not there")
        rows = Potential.rows(self, "lrc-push", "--model", "soft", "--start", "trivial")
        self.assertTrue(rows and all("trivial start" in name for name in rows))
        for name, start, has in (("lrc-push", "rest", "trivial sampled touching"),
                                 ("lrc-gather", "touching", "trivial sampled"),
                                 ("cdl-ball", "trivial", "none")):
            done = subprocess.run([CAROM, "experiment", name, "--start", start],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertEqual(done.stderr, f"carom: --start {start}: {name} has {has}\n")


if __name__ == "__main__":
    unittest.main()
