#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Drives the command as a stranger would: scenes, motion, gradients.

    cli_test.py PATH-OF-CAROM

Standard library only.
"""

import csv
import math
import os
import subprocess

from command import CAROM, SCENE, Command, bounce_height, main


class Help(Command):
    def test_help_and_version(self):
        overview = self.good("--help")
        self.assertEqual(self.good("help"), overview)
        for name in ("simulate", "gradient", "fit", "compare", "plan", "linearize", "bench", "params",
                     "laws"):
            self.assertIn(f"carom {name}", overview)
            text = self.good("help", name)
            self.assertTrue(text.startswith(f"carom {name}"))
            self.assertEqual(self.good(name, "--help"), text)
        self.assertEqual(self.good("--version"), "carom 0.2.0\n")

    def test_wrong_usage(self):
        self.bad(2, "which command")
        self.bad(2, "unknown command frobnicate", "frobnicate")
        self.bad(2, "unknown command frobnicate", "help", "frobnicate")
        self.bad(2, "unknown option --frob", "simulate", self.scene, "--frob")
        self.bad(2, "unknown option --wrt", "simulate", self.scene, "--wrt", "ball/mass")
        self.bad(2, "missing argument", "simulate")
        self.bad(2, "too many argument", "simulate", self.scene, self.scene)
        self.bad(2, "--steps needs a value", "simulate", self.scene, "--steps")
        self.bad(2, "--json needs a value, not the option --quiet", "simulate", self.scene, "--json",
                 "--quiet")
        self.bad(2, "--law comes twice", "simulate", self.scene, "--law", "ncp", "--law", "ncp")
        for steps in ("0", "-3", "1.5", "many", "nan", "1e99", ""):
            self.bad(2, "--steps", "simulate", self.scene, f"--steps={steps}")
        for dt in ("0", "-1", "inf", "x"):
            self.bad(2, "--dt", "simulate", self.scene, "--dt", dt)

    def test_a_closed_pipe_is_no_success(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([*CAROM, "help"], stdout=full, stderr=subprocess.PIPE, text=True,
                                  check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("standard output", done.stderr)


class Params(Command):
    def test_names_with_values_and_domains(self):
        text = self.good("params", self.scene)
        for name in ("gravity[2]", "ball/mass", "floor:ball/friction", "x0:ball/qvel[0]",
                     "u:ball/force[0]"):
            self.assertIn(name, text)
        entries = {e["name"]: e for e in self.json_of("params", self.scene)["entries"]}
        self.assertEqual(entries["floor:ball/restitution"]["value"], 0.8)
        self.assertEqual(entries["floor:ball/restitution"]["upper"], 1.0)
        self.assertIsNone(entries["gravity[0]"]["lower"])

    def test_laws(self):
        text = self.good("laws")
        laws = self.json_of("laws")["laws"]
        self.assertEqual(laws[0]["name"], "ncp")
        systems = {law["name"]: law["system"] for law in laws if law["system"]}
        self.assertEqual(systems, {"restitution": "central-difference"})
        for law in laws:
            self.assertIn(f"{law['name']:<12}  {law['summary']}\n", text)
            # every word of the promise, in lines that fit
            self.assertGreater(len(law["promise"]), 40)
            self.assertIn(law["promise"], " ".join(text.split()))
        self.assertLessEqual(max(map(len, text.splitlines())), 100)


class Scenes(Command):
    def test_files_that_are_not_scenes(self):
        self.bad(1, "nothere.xml", "params", self.path("nothere.xml"))
        self.bad(1, self.folder.name[-8:], "params", self.folder.name)
        cut = self.write("cut.xml", SCENE[:300])
        self.bad(1, "cut.xml:", "simulate", cut)
        empty = self.write("empty.xml", "")
        self.bad(1, "empty.xml", "simulate", empty)
        words = self.write("words.xml", "hello\n")
        self.bad(1, "words.xml:1", "simulate", words)

    def test_values_that_are_no_physics(self):
        for old, new, part in (('mass="1"', 'mass="0"', "mass"), ('mass="1"', 'mass="nan"', "mass"),
                               ('mass="1"', 'mass="-2"', "mass"),
                               ('size="0.1"', 'size="0"', "size"),
                               ('size="0.1"', 'size="-0.1"', "size"),
                               ('timestep="0.005"', 'timestep="0"', "timestep")):
            scene = self.write("wrong.xml", SCENE.replace(old, new))
            self.bad(1, ["wrong.xml:", part], "simulate", scene, "-o", self.path("out.csv"))

    def test_set_and_key(self):
        self.bad(2, ["--set", "did you mean ball/mass"], "simulate", self.scene, "--set", "ball/mas=1")
        self.bad(2, ["ball/mass=-1", "above 0"], "simulate", self.scene, "--set", "ball/mass=-1")
        self.bad(2, "ball/mass=0", "simulate", self.scene, "--set", "ball/mass=0")
        self.bad(2, "at most 1", "simulate", self.scene, "--set", "floor:ball/restitution=1.5")
        self.bad(2, "NAME=VALUE", "simulate", self.scene, "--set", "ball/mass")
        self.bad(2, "NAME=VALUE", "simulate", self.scene, "--set", "ball/mass=nan")
        self.bad(2, "NAME=VALUE", "simulate", self.scene, "--set", "ball/mass=heavy")
        self.bad(2, "--key catch", "simulate", self.scene, "--key", "catch")
        self.bad(2, "newton", "simulate", self.scene, "--law", "newton")
        self.bad(2, "euler", "simulate", self.scene, "--stepper", "euler")


class Simulate(Command):
    def test_a_run_starts_with_the_control_of_its_keyframe(self):
        scene = self.write("motor.xml", """<mujoco><option integrator="RK4" gravity="0 0 0"/>
          <worldbody><body name="cart"><joint name="rail" type="slide" axis="1 0 0"/>
          <geom size="0.1" mass="2"/></body></worldbody>
          <actuator><motor name="motor" joint="rail"/></actuator>
          <keyframe><key name="go" ctrl="3"/><key name="stay"/></keyframe></mujoco>""")
        # 3 N on 2 kg for 1 s
        self.assertAlmostEqual(self.json_of("simulate", scene)["qvel"][0], 1.5, 12)
        self.assertEqual(self.json_of("simulate", scene, "--key", "stay")["qvel"][0], 0.0)

    def test_a_dropped_ball_follows_the_closed_form(self):
        result = self.json_of("simulate", self.scene, "--key", "drop", "-o", self.path("out.csv"))
        self.assertEqual(list(result), ["scene", "law", "dt", "steps", "qpos", "qvel", "energy",
                                        "max_penetration", "seconds"])
        self.assertEqual((result["law"], result["dt"], result["steps"]), ("ncp", 0.005, 200))
        self.assertAlmostEqual(result["qpos"][2], bounce_height(1.0), 9)
        self.assertEqual(len(result["qpos"]), 7)
        self.assertEqual(len(result["qvel"]), 6)
        self.assertAlmostEqual(result["energy"][0], 9.81 * 0.5, 9)
        with open(self.path("out.csv"), encoding="utf-8") as file:
            rows = list(csv.reader(file))
        self.assertEqual(len(rows), 202)
        self.assertEqual(rows[0][:2], ["t", "ball/qpos[0]"])
        for row in rows[1:]:
            self.assertAlmostEqual(float(row[3]), bounce_height(float(row[0])), 8)

    def test_an_overlap_at_the_start_is_said(self):
        low = ["--set", "x0:ball/qpos[2]=0.0975", "--key", "drop"]
        data = self.write("data.csv", "t,ball/qpos[2]\n0,0.0975\n0.01,0.1\n0.02,0.1\n")
        commands = (["simulate", self.scene, *low],
                    ["gradient", self.scene, *low, "--target", "ball:0,0,0@0.1", "--wrt",
                     "x0:ball/qpos[0]"],
                    ["fit", self.scene, data, *low, "--wrt", "x0:ball/qpos[2]"])
        for command in commands:
            for end in ([], ["--overlap", "warn"]):
                done = self.run_carom(*command, *end)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)
                for part in ("carom: floor and ball overlap by 0.0025 m", "eight steps", "apart"):
                    self.assertIn(part, done.stderr)
            self.bad(1, ["floor and ball overlap by 0.0025 m", "apart"], *command, "--overlap",
                     "refuse")
            self.bad(2, "warn or refuse", *command, "--overlap", "ignore")
        # rounding is no overlap, nor is what touches
        for depth in (0.0, 1e-7):
            self.good("simulate", self.scene, "--key", "drop", "--set",
                      f"x0:ball/qpos[2]={0.1 - depth}", "--overlap", "refuse")
        two = self.write("two.xml", SCENE.replace("</worldbody>", """
          <body name="cube" pos="0.3 0 0.95"><freejoint/>
            <geom name="cube" type="box" size="0.1 0.1 0.96"/></body>
          <body name="cone" pos="0.38 0 3"><freejoint/><geom name="other" size="0.5"/></body>
        </worldbody>""").replace(' qvel="1 0 0 0 0 0"', ""))
        # the box reaches 0.95 - 0.96 below the floor, and nothing else
        done = self.run_carom("simulate", two, "--steps", "1")
        self.assertIn("floor and cube overlap by 0.01 m at the start;", done.stderr)
        done = self.run_carom("simulate", two, "--steps", "1", "--set", "x0:cone/qpos[2]=0.48")
        # the sphere's centre is 0.02 inside the box; it is in the floor and in the ball as well
        self.assertIn("cube and other overlap by 0.52 m at the start, the deepest of 4 pairs",
                      done.stderr)

    def test_set_changes_the_run(self):
        heavy = self.json_of("simulate", self.scene, "--key", "drop", "--steps", "10",
                             "--set", "gravity[2]=-1", "--set", "x0:ball/qpos[2]=3",
                             "--set", "u:ball/force[0]=2")
        self.assertAlmostEqual(heavy["qpos"][2], 3.0 - 0.5 * 0.05 ** 2, 12)
        self.assertAlmostEqual(heavy["qpos"][0], 0.5 * 2.0 * 0.05 ** 2, 12)

    def test_a_servo_is_changed_as_a_whole(self):
        scene = self.write("servo.xml", """<mujoco><option gravity="0 0 0" integrator="RK4"/>
          <worldbody>
            <body name="a"><joint name="x" type="slide" axis="1 0 0" ref="0.3"/>
              <geom size="0.1" mass="2" contype="0"/></body>
            <body name="b"><joint name="y" type="slide" axis="0 1 0"/>
              <geom size="0.1" mass="2" contype="0"/></body>
          </worldbody>
          <actuator><position name="servo" joint="x" kp="1"/>
            <velocity name="brake" joint="y" kv="1"/>
            <motor name="motor" joint="y" gear="0"/></actuator></mujoco>""")
        base = ["simulate", scene, "--set"]
        # 2 kg on a spring of 8 N/m about 0.1: half a turn takes pi / 2 s, so at 1 s the phase is 2
        end = self.json_of(*base, "servo/kp=8", "--set", "u:servo=0.1", "--dt", "0.001")
        self.assertAlmostEqual(end["qpos"][0], 0.1 + 0.2 * math.cos(2.0), 9)
        # with kv = 8 critically damped: (1 + 2 t) exp(-2 t)
        end = self.json_of(*base, "servo/kp=8", "--set", "servo/kv=8", "--dt", "0.001")
        self.assertAlmostEqual(end["qpos"][0], 0.3 * 3.0 * math.exp(-2.0), 9)
        # towards 0.5 m/s with the rate 6 / 2
        end = self.json_of(*base, "brake/kv=6", "--set", "u:brake=0.5", "--dt", "0.001")
        self.assertAlmostEqual(end["qvel"][1], 0.5 * (1.0 - math.exp(-3.0)), 9)
        self.good(*base, "motor/gain=2", "--set", "motor/bias[1]=1")
        self.bad(2, ["half a servo", "servo/kp or kv"], *base, "servo/gain=2")
        self.bad(2, ["half a servo", "servo/kp or kv"], *base, "servo/bias[1]=2")
        self.bad(2, ["half a servo", "brake/kv"], *base, "brake/bias[2]=2")
        self.bad(2, "at least 0", *base, "servo/kp=-1")
        result = self.json_of("gradient", scene, "--target", "a:1,0,0@0.5", "--target", "b:0,1,0@0.5",
                              "--set", "u:servo=0.1", "--set", "u:brake=1", "--check", "--wrt",
                              "servo/kp,servo/kv,brake/kv", "--set", "servo/kv=1")
        for entry in result["entries"]:
            self.assertGreater(abs(entry["value"]), 1e-3)

    def test_the_control_of_a_keyframe_acts(self):
        scene = self.write("cart.xml", """<mujoco>
          <option timestep="0.01" gravity="0 0 0"/>
          <worldbody>
            <body name="cart">
              <joint name="rail" type="slide" axis="1 0 0"/>
              <geom size="0.1" mass="2"/>
            </body>
          </worldbody>
          <actuator><motor name="push" joint="rail" gear="4"/></actuator>
          <keyframe><key name="pushed" ctrl="1.5"/><key name="still"/></keyframe>
        </mujoco>""")
        # v = force t / mass = 1.5 x 4 x 0.1 / 2
        for key, speed in (("pushed", 0.3), ("still", 0.0)):
            result = self.json_of("simulate", scene, "--key", key, "--steps", "10")
            self.assertAlmostEqual(result["qvel"][0], speed, 12)

    def test_files_that_cannot_be_written(self):
        self.bad(1, "nofolder", "simulate", self.scene, "-o", self.path("nofolder/out.csv"))
        self.bad(1, "nofolder", "simulate", self.scene, "--json", self.path("nofolder/out.json"))
        self.bad(1, self.folder.name[-8:], "simulate", self.scene, "--json", self.folder.name)

    def test_formats_that_are_not_written(self):
        for name in ("out.png", "out.H5", "a.csv.gz", "out."):
            self.bad(2, [name, ".csv, .h5 or .hdf5"], "simulate", self.scene, "-o", self.path(name))
        for name in ("out", "out.csv", ".hidden"):
            self.good("simulate", self.scene, "--steps", "1", "-o", self.path(name))
            with open(self.path(name), encoding="utf-8") as file:
                self.assertTrue(file.readline().startswith("t,ball/qpos[0]"))

    def test_one_impact_is_one(self):
        base = ["simulate", self.scene, "--key", "drop", "--steps"]
        self.assertIn("1 step of 0.005 s with ncp, 0 impacts, in", self.good(*base, "1"))
        # it falls 0.4 m in 0.286 s and is in the air for the next 0.457 s
        self.assertIn("60 steps of 0.005 s with ncp, 1 impact, in", self.good(*base, "60"))

    def test_an_old_result_is_replaced_whole(self):
        self.write("out.json", "x" * 100000)
        self.assertEqual(self.json_of("simulate", self.scene, "--steps", "1")["steps"], 1)
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["out.json", "scene.xml"])

    def test_json_to_a_device(self):
        text = self.good("simulate", self.scene, "--steps", "1", "--json", "/dev/stdout")
        self.assertIn('"max_penetration"', text)


class Hdf5(Command):
    """Motions as HDF5 files; a build without it refuses them."""

    def setUp(self):
        super().setUp()
        done = self.run_carom("simulate", self.scene, "--steps", "1", "-o", self.path("probe.h5"))
        self.is_built = "built without HDF5" not in done.stderr
        if self.is_built:
            self.assertEqual(done.returncode, 0, done.stderr)
            os.remove(self.path("probe.h5"))

    def need_hdf5(self):
        if not self.is_built:
            self.skipTest("libhdf5-dev is missing")

    def test_a_build_without_hdf5_says_so(self):
        if self.is_built:
            self.skipTest("this build has HDF5")
        for name in ("out.h5", "out.hdf5"):
            self.bad(1, [name, "built without HDF5"], "simulate", self.scene, "-o", self.path(name))
        data = self.write("data.h5", "")
        self.bad(1, "built without HDF5", "fit", self.scene, data, "--wrt", "ball/mass")

    def test_numbers_are_those_of_csv(self):
        self.need_hdf5()
        arguments = ["simulate", self.scene, "--steps", "120", "--set", "u:ball/force[0]=0.5", "-o"]
        for name in ("a.csv", "a.h5", "b.hdf5"):
            self.good(*arguments, self.path(name))
        with open(self.path("a.h5"), "rb") as a, open(self.path("b.hdf5"), "rb") as b:
            self.assertEqual(a.read(), b.read())

        # columns are told apart by what is fitted to them: with a wrong start and no way to fit,
        # the loss is that of all numbers; t has 12 digits in CSV
        fits = [self.json_of("fit", self.scene, self.path(name), "--wrt", "ball/size[0]", "--set",
                             "x0:ball/qpos[0]=3", "--set", "x0:ball/qvel[5]=2")
                for name in ("a.csv", "a.h5")]
        self.assertGreater(fits[0]["loss"], 1.0)
        self.assertAlmostEqual(fits[0]["loss"] / fits[1]["loss"], 1.0, 9)

        # the rows alone, with nothing left to explain
        found = self.json_of("fit", self.scene, self.path("a.h5"), "--set", "u:ball/force[0]=0.5",
                             "--wrt", "floor:ball/restitution", "--set",
                             "floor:ball/restitution=0.5")
        self.assertAlmostEqual(found["parameters"][0]["value"], 0.8, 9)

    def test_dump_shows_names_and_attributes(self):
        self.need_hdf5()
        self.good("simulate", self.scene, "--steps", "2", "-o", self.path("a.h5"))
        try:
            done = subprocess.run(["h5dump", self.path("a.h5")], capture_output=True, text=True,
                                  check=False)
        except FileNotFoundError:
            self.skipTest("h5dump (hdf5-tools) is missing")
        for part in ('"carom trajectory 1"', '"ball/qpos[0]"', '"ncp"', 'DATASET "qvel"', "( 3, 7 )"):
            self.assertIn(part, done.stdout)
        self.assertNotIn('DATASET "ctrl"', done.stdout)

    def test_files_that_cannot_be_written(self):
        self.need_hdf5()
        self.bad(1, "nofolder", "simulate", self.scene, "-o", self.path("nofolder/out.h5"))
        self.bad(1, "nofolder", "simulate", self.scene, "-o", self.path("out.h5"), "--json",
                 self.path("nofolder/out.json"))
        os.symlink("/dev/full", self.path("full.h5"))
        self.bad(1, "full.h5", "simulate", self.scene, "-o", self.path("full.h5"))

    def test_files_that_are_no_trajectories(self):
        self.need_hdf5()
        self.good("simulate", self.scene, "--steps", "50", "-o", self.path("good.h5"))
        with open(self.path("good.h5"), "rb") as file:
            good = file.read()
        damaged = {"cut.h5": good[:len(good) // 2], "head.h5": good[:9], "empty.h5": b"",
                   "text.h5": b"t,ball/qpos[2]\n0,1\n1,2\n",
                   "root.h5": good[:60] + b"\xff" + good[61:],
                   "data.h5": good[:-200] + b"\x00" * 100 + good[-100:]}
        for name, data in damaged.items():
            with open(self.path(name), "wb") as file:
                file.write(data)
            self.bad(1, name, "fit", self.scene, self.path(name), "--wrt", "ball/mass")
        # another name does not hide what it is
        os.rename(self.path("good.h5"), self.path("good.data"))
        self.good("fit", self.scene, self.path("good.data"), "--wrt", "floor:ball/restitution")
        os.rename(self.path("cut.h5"), self.path("cut.csv"))
        self.bad(1, ["cut.csv", "damaged"], "fit", self.scene, self.path("cut.csv"), "--wrt",
                 "ball/mass")


class Gradient(Command):
    def test_entries_agree_with_differences(self):
        result = self.json_of("gradient", self.scene, "--target", "ball:1,0,0.3@0.25",
                              "--target", "ball:2,0,0.4", "--steps", "100", "--check", "--wrt",
                              "ball/*,gravity,floor:ball/*,x0:*,u:ball/force[0],u:ball/force[2][17]")
        self.assertEqual(list(result), ["scene", "law", "loss", "status", "entries",
                                        "seconds_forward", "seconds_gradient"])
        self.assertGreater(len(result["entries"]), 25)
        for entry in result["entries"]:
            self.assertEqual(list(entry), ["name", "value", "difference", "error"])
            self.assertLess(abs(entry["value"] - entry["difference"]),
                            1e-6 * abs(entry["value"]) + 1e-8, entry["name"])

    def test_the_loss_is_the_squared_distance(self):
        result = self.json_of("gradient", self.scene, "--key", "drop", "--target",
                              "ball:3,4,0@0.5", "--wrt", "x0:ball/qpos[0],ball/size[0]")
        self.assertAlmostEqual(result["loss"], 25.0 + bounce_height(0.5) ** 2, 9)
        self.assertEqual(list(result["entries"][0]), ["name", "value"])
        self.assertAlmostEqual(result["entries"][0]["value"], -6.0, 9)
        self.assertEqual(result["status"], "exact")

    def test_bounds_are_checked_from_inside(self):
        for name, value in (("friction", 0), ("restitution", 0), ("restitution", 1)):
            text = self.good("gradient", self.scene, "--target", "ball:1,0,0.3@0.5", "--wrt",
                             f"floor:ball/{name}", "--set", f"floor:ball/{name}={value}", "--check")
            self.assertIn("one-sided", text)

    def test_end_of_step_is_discrete(self):
        result = self.json_of("gradient", self.scene, "--stepper", "end", "--target", "ball:1,0,1",
                              "--wrt", "x0:ball/qvel", "--check")
        self.assertIn("discrete", result["status"])

    def test_smoothing_says_so(self):
        base = ["gradient", self.scene, "--law", "cone", "--target", "ball:1,0,0.3@0.5", "--wrt",
                "floor:ball/friction"]
        exact, still = self.json_of(*base), self.json_of(*base, "--smoothing", "0")
        smooth = self.json_of(*base, "--smoothing", "1e-3")
        self.assertNotIn("smoothed", exact["status"])
        self.assertEqual(exact["entries"], still["entries"])
        self.assertIn("smoothed", smooth["status"])
        self.assertEqual(exact["loss"], smooth["loss"])
        self.assertNotEqual(exact["entries"], smooth["entries"])
        done = self.run_carom(*base, "--smoothing", "1e-2", "--check")
        self.assertEqual(done.returncode, 1)
        self.assertIn("check without --smoothing", done.stderr)
        base[3] = "ncp"
        self.bad(2, ["law ncp has no smoothed gradient", "cone, cone-reg"], *base, "--smoothing",
                 "1e-3")
        base[3] = "cone"
        for value in ("-1", "nan", "inf", "much"):
            self.bad(2, "--smoothing", *base, "--smoothing", value)
        self.bad(2, "unknown option --smoothing", "simulate", self.scene, "--smoothing", "1")

    def test_a_chaotic_run_is_undecided(self):
        # a ball shut in by three spheres: after 40 impacts the gradient is 1e9, true and useless
        balls = "".join(f'<geom name="{n}" pos="{x} {y} 0" size="0.35"/>' for n, x, y in
                        (("a", 0.5, 0), ("b", -0.25, 0.433), ("c", -0.25, -0.433)))
        scene = self.write("gas.xml", f"""<mujoco><option timestep="0.01" gravity="0 0 0"/>
          <custom><numeric name="carom:restitution:ball" data="1"/></custom>
          <default><geom friction="0"/></default>
          <worldbody>{balls}<body name="ball" pos="0 0.01 0"><freejoint/>
          <geom name="ball" size="0.1" mass="1"/></body></worldbody>
          <keyframe><key qvel="1 0 0 0 0 0"/></keyframe></mujoco>""")
        base = ["gradient", scene, "--wrt", "x0:ball/qpos[1]", "--check", "--target"]
        self.good(*base, "ball:0,0,0@1")
        done = self.run_carom(*base, "ball:0,0,0@3")
        self.assertEqual(done.returncode, 1)
        self.assertIn("undecided", done.stdout)
        for part in ("1 of 1 entries: x0:ball/qpos[1]", "earlier @T"):
            self.assertIn(part, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)

    def test_ties_sum(self):
        names = ["x0:ball/qvel[0]", "x0:ball/qpos[0]"]
        target = ["--target", "ball:1,0,1", "--set", "x0:ball/qpos[0]=1"]
        alone = self.json_of("gradient", self.scene, *target, "--wrt", ",".join(names))
        tied = self.json_of("gradient", self.scene, *target, "--wrt", "=".join(names))
        self.assertEqual(len(tied["entries"]), 1)
        self.assertAlmostEqual(tied["entries"][0]["value"],
                               sum(e["value"] for e in alone["entries"]), 10)

    def test_ties_start_equal(self):
        base = ["gradient", self.scene, "--target", "ball:1,0,1", "--wrt",
                "floor:ball/friction=floor:ball/restitution"]
        self.bad(2, ["--wrt", "0.3 and 0.8", "--set floor:ball/restitution=0.3"], *base)
        self.good(*base, "--set", "floor:ball/restitution=0.3")
        # the remedy is exact even where six digits would not tell the values apart
        self.bad(2, ["0.3 and 0.3000000001", "--set floor:ball/restitution=0.3\n"], *base, "--set",
                 "floor:ball/restitution=0.3000000001")
        self.bad(2, ["x0:ball/qvel[0]=x0:ball/qpos[0]", "1 and 0", "--set x0:ball/qpos[0]=1"],
                 "gradient", self.scene, "--target", "ball:1,0,1", "--wrt",
                 "x0:ball/qvel[0]=x0:ball/qpos[0]")
        self.bad(2, ["2 and 0", "--set u:ball/force[1]=2"], "gradient", self.scene, "--target",
                 "ball:1,0,1", "--set", "u:ball/force[0]=2", "--wrt",
                 "u:ball/force[0][3]=u:ball/force[1][4]")
        data = self.write("data.csv", "t,ball/qpos[2]\n0,0.5\n0.01,0.5\n0.02,0.5\n")
        self.bad(2, ["--wrt", "0.3 and 0.8"], "fit", self.scene, data, *base[-2:])

    def test_bad_requests(self):
        base = ["gradient", self.scene, "--json", self.path("out.json")]
        target = ["--target", "ball:1,0,0"]
        self.bad(2, "--target", *base, "--wrt", "ball/mass")
        self.bad(2, "--wrt", *base, *target)
        self.bad(2, ["--wrt", "did you mean ball/mass"], *base, *target, "--wrt", "ball/mas")
        self.bad(2, "carom params", *base, *target, "--wrt", "zzzzzzzzzzzz")
        self.bad(2, "twice", *base, *target, "--wrt", "ball/mass,ball/mass")
        self.bad(2, "missing", *base, *target, "--wrt", "ball/mass,")
        self.bad(2, "the last is [199]", *base, *target, "--wrt", "u:ball/force[0][200]")
        self.bad(2, "did you mean ball?", *base, "--target", "bal:1,0,0", "--wrt", "ball/mass")
        self.bad(2, "BODY:X,Y,Z", *base, "--target", "ball:1,0", "--wrt", "ball/mass")
        self.bad(2, "BODY:X,Y,Z", *base, "--target", "ball:1,0,nan", "--wrt", "ball/mass")
        self.bad(2, "time", *base, "--target", "ball:1,0,0@-1", "--wrt", "ball/mass")
        self.bad(2, "ends at", *base, "--target", "ball:1,0,0@9", "--steps", "10", "--wrt",
                 "ball/mass")
        self.bad(2, "no steps", *base, "--target", "ball:1,0,0@0", "--wrt", "ball/mass")
        self.bad(1, "nothere.xml", "gradient", "nothere.xml", *target, "--wrt", "ball/mass")


if __name__ == "__main__":
    main()
