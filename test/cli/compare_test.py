#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Drives carom compare: every law on one scene, and what is said about them.

    compare_test.py PATH-OF-CAROM

Standard library only.
"""

import math
import os
import signal
import subprocess
import time

from command import CAROM, Command, bounce_height, main

KEYS = ["law", "status", "loss", "max_penetration", "energy_change", "gradient_error",
        "gradient_norm", "step_us", "gradient_us"]


# laws that are steps of their own
OWN = ("soft", "longrange", "ipc", "ipc-descent", "sdrs", "rough", "penalty")


class Compare(Command):
    def compare(self, *arguments, scene=None):
        result = self.json_of("compare", scene or self.scene, *arguments)
        # laws with steps of their own are spoken of in any case
        kinds = [sentence["kind"] for sentence in result["sentences"]
                 if sentence["kind"] != "own step"]
        return result, {row["law"]: row for row in result["rows"]}, kinds

    def test_every_law_has_a_row_with_the_keys_of_the_contract(self):
        laws = [law["name"] for law in self.json_of("laws")["laws"] 
                if not law["needs_nets"] and not law["is_energy"] and not law["system"]]
        result, rows, _ = self.compare("--target", "ball:1,0,0.3@0.5")
        self.assertEqual([row["law"] for row in result["rows"]], laws)
        self.assertEqual(list(result)[0], "rows")
        self.assertEqual(result["steps"], 100)
        self.assertEqual(result["entries"], [f"x0:ball/qvel[{i}]" for i in range(6)])
        for law, row in rows.items():
            self.assertEqual(list(row)[:9], KEYS)
            if law in OWN:
                continue
            self.assertEqual((row["status"], row["reason"]), ("exact", None))
            self.assertEqual((row["checked"], row["wrong"], row["undecided"]), (6, 0, 0))
            self.assertLess(row["gradient_error"], 1e-5)
            self.assertGreater(row["step_us"], 0.0)
            self.assertGreater(row["gradient_us"], 0.0)

    def test_rows_are_those_of_gradient_and_simulate(self):
        target = ["--target", "ball:1,0,0.3@0.25", "--target", "ball:2,0,0.4@0.5"]
        _, rows, _ = self.compare(*target, "--wrt", "x0:ball/qvel[0],floor:ball/restitution")
        for law, row in rows.items():
            alone = self.json_of("gradient", self.scene, *target, "--law", law, "--wrt",
                                 "x0:ball/qvel[0],floor:ball/restitution")
            self.assertEqual(row["loss"], alone["loss"])
            self.assertEqual(row["status"], alone["status"])
            norm = math.hypot(*(entry["value"] for entry in alone["entries"]))
            self.assertAlmostEqual(row["gradient_norm"], norm, 12)
            moved = self.json_of("simulate", self.scene, "--law", law, "--steps", "100")
            self.assertEqual(row["targets"][1], moved["qpos"][:3])
            self.assertAlmostEqual(row["energy_change"], moved["energy"][1] - moved["energy"][0], 12)
            self.assertEqual(row["max_penetration"], moved["max_penetration"])

    def test_a_drop_is_the_same_for_all_rigid_laws_and_that_is_said(self):
        result, rows, kinds = self.compare("--key", "drop", "--target", "ball:0,0,0")
        self.assertEqual(kinds, ["frictionless", "soft"])
        self.assertIn("must agree, and do", result["sentences"][0]["text"])
        for law, row in rows.items():
            close = abs(row["targets"][0][2] - bounce_height(1.0)) < 1e-9
            self.assertEqual(close, law != "cone-reg" and law not in OWN)
        # and so is a flight
        _, _, kinds = self.compare("--target", "ball:0,0,0@0.1")
        self.assertEqual(kinds, ["no contact"])

    def test_sliding_is_told_with_its_numbers(self):
        turned = ["--set", "x0:ball/qvel[0]=1", "--set", "x0:ball/qvel[1]=0.2"]
        slide = ["--set", "x0:ball/qpos[2]=0.1", "--set", "floor:ball/restitution=0"]
        result, _, kinds = self.compare(*slide, *turned, "--target", "ball:1,0,0@0.05")
        self.assertEqual(kinds, ["lift", "octagon", "soft"])
        lift, octagon = (sentence["text"] for sentence in result["sentences"][:2])
        self.assertIn("cone and cone-reg lift what slides", lift)
        self.assertIn("floor and ball", lift)
        angle = math.degrees(math.atan(0.2))
        self.assertIn(f"up to {angle:.1f} degrees off the slip", octagon)
        self.assertIn(f"{100 * (1 - math.cos(math.radians(angle))):.1f} % less", octagon)
        _, _, kinds = self.compare(*slide, "--target", "ball:1,0,0@0.05")
        self.assertEqual(kinds, ["lift", "corner", "soft"])

    def test_the_table_has_what_the_file_has(self):
        target = ["--target", "ball:1,0,0.3@0.5"]
        result, rows, _ = self.compare(*target)
        text = self.good("compare", self.scene, *target)
        for law, row in rows.items():
            line = next(line for line in text.splitlines() if line.startswith(law + " "))
            self.assertIn(f"{row['loss']:.7g}", line)
            self.assertTrue("6 of 6" in line or law in OWN, line)
        flat = " ".join(text.split())
        for sentence in result["sentences"]:
            self.assertIn(sentence["text"], flat)
        self.assertLessEqual(max(map(len, text.splitlines())), 120)

    def test_steppers_and_controls(self):
        result, rows, kinds = self.compare("--target", "ball:1,0,0.3@0.5", "--stepper", "end")
        self.assertEqual(result["stepper"], "end")
        self.assertIn("end", kinds)
        for row in rows.values():
            self.assertIn("discrete", row["status"])
        cart = self.write("cart.xml", """<mujoco><option gravity="0 0 0" integrator="RK4"/>
          <worldbody><body name="cart"><joint name="rail" type="slide" axis="1 0 0"/>
          <geom size="0.1" mass="2"/></body></worldbody>
          <actuator><motor name="motor" joint="rail"/></actuator></mujoco>""")
        result, rows, _ = self.compare("--target", "cart:1,0,0", "--set", "u:motor=3", scene=cart)
        self.assertEqual(result["entries"], ["x0:cart/qvel[0]", "u:motor"])
        self.assertAlmostEqual(rows["ncp"]["targets"][0][0], 0.5 * 1.5, 9)
        self.assertIn("1 initial velocities and 1 controls",
                      self.good("compare", cart, "--target", "cart:1,0,0"))

    def test_laws_that_fail_have_a_row_with_the_reason(self):
        far = ["compare", self.scene, "--target", "ball:0,0,0@0.5", "--set", "x0:ball/qvel[2]=1e200"]
        done = self.run_carom(*far, "--json", self.path("out.json"))
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "carom: no law has a motion here\n")
        self.assertIn("ncp has no motion: the loss is not a finite number", done.stdout)
        self.assertNotIn("nan", done.stdout)
        self.assertIn("out.json", os.listdir(self.folder.name))

    def test_wrong_usage(self):
        target = ["--target", "ball:1,0,0"]
        self.bad(2, "needs --target", "compare", self.scene)
        self.bad(2, "missing argument", "compare")
        self.bad(2, "--target", "compare", self.scene, "--target", "bal:1,0,0")
        self.bad(2, "ends at", "compare", self.scene, "--target", "ball:1,0,0@2", "--steps", "3")
        self.bad(2, "--wrt", "compare", self.scene, *target, "--wrt", "ball/mas")
        self.bad(2, "unknown option --law", "compare", self.scene, *target, "--law", "ncp")
        self.bad(2, "euler", "compare", self.scene, *target, "--stepper", "euler")
        self.bad(1, "nothere.xml", "compare", self.path("nothere.xml"), *target)
        self.bad(1, "overlap", "compare", self.scene, *target, "--set", "x0:ball/qpos[2]=0.05",
                 "--overlap", "refuse")

    def test_an_interrupted_comparison_says_so(self):
        process = subprocess.Popen([*CAROM, "compare", self.scene, "--target", "ball:1,0,0",
                                    "--steps", "2000000000", "--json", "out.json"],
                                   cwd=self.folder.name, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        time.sleep(0.4)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(err, "carom: interrupted: what was not reached is missing\n")
        self.assertIn("interrupted", out)


if __name__ == "__main__":
    main()
