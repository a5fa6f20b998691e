#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Quick experiments of papers 001 and 000, with thresholds: they train for seconds."""

import json
import os
import subprocess
import sys
import tempfile
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


class Chain(unittest.TestCase):
    def test_a_chain_over_ground_is_learned_in_seconds(self):
        with tempfile.TemporaryDirectory() as folder:
            result, page = os.path.join(folder, "r.json"), os.path.join(folder, "r.html")
            subprocess.run([CAROM, "experiment", "dcs-cp3e", "--quick", "--model", "cm-clnn",
                            "--json", result, "--report", page], check=True, capture_output=True,
                           timeout=600)
            with open(result, encoding="utf-8") as file:
                row = {r["name"]: r["value"] for r in json.load(file)["rows"]}
            with open(page, encoding="utf-8") as file:
                self.assertIn("energy from the first test window", file.read())
        # the figures for the full run: 0.002, 0.1 %, the paper's 2.83e-3
        self.assertLess(row["cm-clnn friction, error"], 0.002)
        self.assertLess(row["cm-clnn restitution, error"], 0.002)
        self.assertLess(row["cm-clnn mass ratios, largest relative error"], 1e-3)
        self.assertLess(row["cm-clnn trajectory error, 5 states"], 2.83e-3)


if __name__ == "__main__":
    unittest.main()
