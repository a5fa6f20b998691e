#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What long work shows on a terminal, and how it ends when it is interrupted.

    progress_test.py PATH-OF-CAROM

Runs the command under a pseudo-terminal of its own. Standard library only.
"""

import csv
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

from command import CAROM, Command, bounce_height, main

# longer than any test runs
ENDLESS = "2000000000"

ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
COLOR = re.compile(r"\x1b\[[0-9;]*m")
LONGEST = 120.0


class Shown:
    """A command whose stderr is a terminal that it has for its own."""

    def __init__(self, *arguments, columns=80, folder=None, **environment):
        self.text = ""
        read, write = os.pipe()
        self.pid, self.main = pty.fork()
        if self.pid == 0:
            os.dup2(write, 1)
            os.chdir(folder or "/")
            fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            keep = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS", "TERM")}
            os.execve(CAROM[0], [*CAROM, *arguments], {**keep, "TERM": "xterm", **environment})
        os.close(write)
        self.stdout = read

    def read(self, seconds):
        """Takes what comes within that time; False at the end."""
        ready, _, _ = select.select([self.main], [], [], seconds)
        if ready:
            try:
                chunk = os.read(self.main, 65536).decode()
            except OSError:
                return False  # that is how a terminal ends
            self.text += chunk
            return bool(chunk)
        return True

    def read_until(self, part):
        end = time.monotonic() + LONGEST
        while part not in self.text and self.read(0.1):
            if time.monotonic() > end:
                raise AssertionError(f"no {part!r} in {self.text!r}")
        return part in self.text

    def type(self, text):
        os.write(self.main, text.encode())

    def finish(self):
        """Waits for the end; returns the exit code, or minus the signal, and stdout."""
        end = time.monotonic() + LONGEST
        while self.read(0.1):
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
        out = b""
        while chunk := os.read(self.stdout, 65536):
            out += chunk
        os.close(self.stdout)
        os.close(self.main)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1]), out.decode()

    def lines(self):
        """What stood in the line, one text each time it was drawn, without escapes and the echo."""
        plain = ESCAPE.sub("", self.text.replace("^C", ""))
        return [line for line in plain.split("\r") if line.strip()]


class Progress(Command):
    def endless(self, *arguments, **environment):
        return Shown("simulate", self.scene, "--steps", ENDLESS, *arguments,
                     folder=self.folder.name, **environment)

    def test_a_line_says_where_the_work_is(self):
        shown = self.endless()
        self.assertTrue(shown.read_until("left"))
        shown.type("\x03")
        code, out = shown.finish()
        line = shown.lines()[0]
        self.assertRegex(line, rf"^simulate: step \d+ of {ENDLESS}, \d+/s, (\d+:)?\d+:\d\d left$")
        self.assertIn("\x1b[1msimulate\x1b[0m", shown.text)
        self.assertEqual(code, 130)
        self.assertRegex(out, r"^\d+ steps of 0.005 s with ncp")
        # wiped out, then one line of its own
        self.assertRegex(shown.text, r"\r\x1b\[Kcarom: interrupted after \d+ of \d+ steps; [^\r]*\r\n$")

    def test_it_is_drawn_ten_times_a_second_at_most_and_not_at_once(self):
        shown = self.endless()
        start = time.monotonic()
        shown.read_until("step")
        first = time.monotonic() - start
        self.assertGreater(first, 0.4)
        while time.monotonic() - start < first + 1.0:
            shown.read(0.05)
        shown.type("\x03")
        shown.finish()
        n = sum("step" in line for line in shown.lines())
        self.assertGreater(n, 2)
        self.assertLessEqual(n, 10 * (time.monotonic() - start) + 1)

    def test_short_work_shows_nothing(self):
        shown = Shown("simulate", self.scene, folder=self.folder.name)
        code, out = shown.finish()
        self.assertEqual((code, shown.text), (0, ""))
        self.assertIn("200 steps", out)

    def test_no_colours_with_no_color(self):
        shown = self.endless(NO_COLOR="1")
        shown.read_until("left")
        shown.type("\x03")
        shown.finish()
        self.assertIsNone(COLOR.search(shown.text), shown.text)
        self.assertIn("simulate: step", shown.text)
        # an empty one is not set
        shown = self.endless(NO_COLOR="")
        shown.read_until("left")
        shown.type("\x03")
        shown.finish()
        self.assertIsNotNone(COLOR.search(shown.text))

    def test_nothing_when_quiet_dumb_or_on_a_pipe(self):
        for arguments, environment in ((["--quiet"], {}), (["-q"], {}), ([], {"TERM": "dumb"}),
                                       ([], {"TERM": ""})):
            shown = self.endless(*arguments, **environment)
            shown.read(0.9)
            shown.type("\x03")
            code, _ = shown.finish()
            self.assertEqual(code, 130)
            self.assertNotIn("step ", shown.text)
            self.assertNotIn("\x1b", shown.text)
            self.assertIn("carom: interrupted after", shown.text)
        process = self.on_pipes()
        time.sleep(0.9)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=LONGEST)
        self.assertEqual(err.count("\n"), 1)
        self.assertTrue(err.startswith("carom: interrupted after"), err)

    def test_narrow_terminals_do_not_wrap(self):
        for columns in (1, 2, 9, 20, 34, 50, 80):
            shown = self.endless(columns=columns)
            shown.read_until("\x1b[K")
            shown.read(0.3)
            shown.type("\x03")
            shown.finish()
            lines = [line for line in shown.lines() if "carom:" not in line]
            for line in lines:
                self.assertLess(len(line), max(columns, 2), line)
            if columns >= 50:
                self.assertIn("/s", lines[0])

    def test_quiet_is_an_option_of_all(self):
        for name in ("simulate", "gradient", "fit", "compare", "plan", "linearize", "bench", "params",
                     "laws"):
            self.assertIn("--quiet", self.good("help", name))
        self.good("laws", "--quiet")
        # what makes a result doubtful is said, what is only good to know is not
        low = ["simulate", self.scene, "--set", "x0:ball/qpos[2]=0.09", "--steps", "1"]
        self.assertIn("overlap", self.run_carom(*low).stderr)
        self.assertIn("overlap", self.run_carom(*low, "--quiet").stderr)
        self.bad(1, "overlap", *low, "--quiet", "--overlap", "refuse")
        self.bad(2, "unknown option", *low, "--quiet", "--loud")

    def test_a_check_shows_its_entries(self):
        base = ["gradient", self.scene, "--target", "ball:1,0,0.3@0.25", "--check", "--wrt"]
        shown = Shown(*base, "*,x0:*", "--dt", "0.00002", folder=self.folder.name)
        self.assertTrue(shown.read_until(": entry"), shown.text)
        shown.type("\x03")
        code, out = shown.finish()
        self.assertRegex(shown.lines()[0], r"^check: entry \d+ of \d+")
        self.assertRegex(shown.text, r"carom: interrupted: \d+ of \d+ entries were checked")
        self.assertEqual(code, 130)
        self.assertIn("gravity[2]", out)
        self.assertNotIn("nan", out)
        # and a short one is as it was
        shown = Shown(*base, "ball/mass,gravity[2]", folder=self.folder.name)
        code, out = shown.finish()
        self.assertEqual((code, shown.text), (0, ""))
        self.assertEqual(self.good(*base, "ball/mass,gravity[2]").splitlines()[3:],
                         out.splitlines()[3:])

    def test_solver_benchmarks_show_their_problems(self):
        shown = Shown("bench", "solvers", "--law", "lcp", "--problems", "300000",
                      folder=self.folder.name)
        self.assertTrue(shown.read_until("lcp\x1b[0m: problem"), shown.text)
        shown.type("\x03")
        code, out = shown.finish()
        self.assertEqual(code, 130)
        self.assertIn("carom: interrupted; lcp has no row", shown.text)
        self.assertEqual(out.count("\n"), 1)

    def test_plans_show_their_iterations_and_the_best_loss(self):
        # a rate so small that it never ends; the loss stays that of the start, 99 m off
        shown = Shown("plan", self.scene, "--target", "ball:100,0,0.5@1", "--controls",
                      "x0:ball/qvel[*],u:ball/force[0][*]", "--method", "adam", "--rate", "1e-7",
                      "--iterations", "1000000", folder=self.folder.name)
        self.assertTrue(shown.read_until(": iteration"), shown.text)
        shown.type("\x03")
        code, out = shown.finish()
        self.assertEqual(code, 130)
        self.assertRegex(shown.lines()[0], r"^plan: iteration \d+ of 1000000, [\d.]+/s, loss 9\d\d\d")
        self.assertIn("carom: interrupted; --checkpoint FILE would let it go on", shown.text)
        self.assertIn("x0:ball/qvel[0]", out)

    def test_fits_show_their_iterations_and_keep_the_best(self):
        lines = ["t,ball/qpos[2]"]
        lines += [f"{0.02 * i:.17g},{bounce_height(0.02 * i):.17g}" for i in range(60)]
        data = self.write("data.csv", "\n".join(lines) + "\n")
        shown = Shown("fit", self.scene, data, "--key", "drop", "--wrt",
                      "floor:ball/restitution,x0:ball/*", "--set", "floor:ball/restitution=0.6",
                      "--dt", "0.000005", "--holdout", "2", "--json", "out.json",
                      folder=self.folder.name)
        self.assertTrue(shown.read_until(": iteration"), shown.text)
        shown.type("\x03")
        code, out = shown.finish()
        self.assertEqual(code, 130)
        self.assertRegex(shown.lines()[0], r"^fit: iteration \d+")
        self.assertIn("carom: interrupted: these are the best values so far", shown.text)
        self.assertIn("stopped on request", out)
        self.assertNotIn("held out", out)
        with open(self.path("out.json"), encoding="utf-8") as file:
            result = json.load(file)
        self.assertIsNone(result["heldout"])
        self.assertTrue(0.0 <= result["parameters"][0]["value"] <= 1.0)

    # ---- signals -----------------------------------------------------------------------------

    def on_pipes(self, *arguments):
        return subprocess.Popen([*CAROM, "simulate", self.scene, "--steps", ENDLESS, *arguments],
                                cwd=self.folder.name, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def test_what_an_interrupted_run_wrote_is_whole(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            process = self.on_pipes("-o", "out.csv", "--json", "out.json")
            time.sleep(0.3)
            process.send_signal(number)
            out, _ = process.communicate(timeout=LONGEST)
            self.assertEqual(process.returncode, code)
            with open(self.path("out.json"), encoding="utf-8") as file:
                result = json.load(file)
            with open(self.path("out.csv"), encoding="utf-8") as file:
                rows = list(csv.reader(file))
            self.assertEqual(len(rows), result["steps"] + 2)
            self.assertEqual([float(x) for x in rows[-1][1:8]], result["qpos"])
            self.assertTrue(out.startswith(f"{result['steps']} steps"))
            self.assertEqual(sorted(os.listdir(self.folder.name)),
                             ["out.csv", "out.json", "scene.xml"])

    def test_an_interrupted_run_goes_on_to_the_same_bits(self):
        # a box that lands, slides and rests: its contacts carry impulses from step to step
        box = self.write("box.xml", """<mujoco><option timestep="0.002"/><worldbody>
          <geom name="floor" type="plane" size="9 9 1" friction="0.3"/>
          <body name="box" pos="0 0 0.15" euler="10 20 0"><freejoint/>
            <geom type="box" size="0.1 0.2 0.05" mass="1" friction="0.3"/></body></worldbody>
          <keyframe><key qvel="2 1 0 0 0 3"/></keyframe></mujoco>""")
        for kind in ("csv", "h5"):
            save = ["--checkpoint", "run.ck", "-o", f"run.{kind}", "--json", "run.json"]
            process = subprocess.Popen([*CAROM, "simulate", box, "--steps", ENDLESS, *save],
                                       cwd=self.folder.name, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
            time.sleep(0.3)
            process.send_signal(signal.SIGTERM)
            _, err = process.communicate(timeout=LONGEST)
            if "built without HDF5" in err:
                continue
            self.assertEqual(process.returncode, 143)
            self.assertIn("give the same options to go on", err)
            with open(self.path("run.json"), encoding="utf-8") as file:
                done = json.load(file)["steps"]
            steps = str(done + 137)
            self.good("simulate", box, "--steps", steps, *save)
            self.good("simulate", box, "--steps", steps, "-o", f"whole.{kind}", "--json",
                      "whole.json")
            results = []
            for name in ("run.json", "whole.json"):
                with open(self.path(name), encoding="utf-8") as file:
                    results.append({k: v for k, v in json.load(file).items() if k != "seconds"})
            self.assertEqual(results[0], results[1])
            if kind == "csv":
                files = []
                for name in ("run.csv", "whole.csv"):
                    with open(self.path(name), "rb") as file:
                        files.append(file.read())
                self.assertEqual(files[0], files[1])
            # what is done is done
            again = self.json_of("simulate", box, "--steps", steps, *save[:4])
            self.assertEqual(again["qpos"], results[0]["qpos"])
            os.remove(self.path("run.ck"))

    def test_controls_over_time_go_on_where_they_were(self):
        cart = self.write("cart.xml", """<mujoco><option timestep="0.01" gravity="0 0 0"/>
          <worldbody><body name="cart"><joint name="rail" type="slide" axis="1 0 0"/>
          <geom size="0.1" mass="2"/></body></worldbody>
          <actuator><motor name="motor" joint="rail"/></actuator></mujoco>""")
        table = self.write("u.csv", "t,motor\n0,1\n0.3,-2\n0.6,5\n")
        base = ["simulate", cart, "--control", table]
        whole = self.json_of(*base, "--steps", "100", "-o", "whole.h5")
        for steps in ("20", "45", "100"):
            parts = self.json_of(*base, "--steps", steps, "--checkpoint", "run.ck", "-o", "run.h5")
        self.assertEqual(parts["qpos"], whole["qpos"])
        self.assertEqual(parts["energy"], whole["energy"])
        # the same motion, controls included
        with open(self.path("run.h5"), "rb") as a, open(self.path("whole.h5"), "rb") as b:
            self.assertEqual(len(a.read()), len(b.read()))

    def test_checkpoints_of_another_run_are_refused(self):
        base = ["simulate", self.scene, "--steps", "50"]
        save = ["--checkpoint", "run.ck"]
        self.good(*base, *save, "-o", "run.csv")
        self.bad(1, "run.ck", *base, *save, "--set", "ball/mass=2")
        self.bad(1, "run.ck", *base, *save, "--law", "cone")
        self.bad(1, "run.ck", *base, *save, "--dt", "0.001")
        self.bad(2, ["50 steps are done", "--steps"], "simulate", self.scene, "--steps", "49", *save)
        self.bad(1, ["other.csv", "run.ck"], *base, *save, "-o", "other.csv")
        with open(self.path("run.csv"), encoding="utf-8") as file:
            rows = file.readlines()
        for bad in (rows[:-1], rows[:-1] + [rows[-1].replace("0", "1", 1)], rows[:1]):
            self.write("run.csv", "".join(bad))
            self.bad(1, ["run.csv", "run.ck"], *base, *save, "-o", "run.csv")
        with open(self.path("run.ck"), "rb") as file:
            whole = file.read()
        for bad in (whole[:-9], whole[:40] + b"\x55" + whole[41:], b"", b"hello"):
            with open(self.path("run.ck"), "wb") as file:
                file.write(bad)
            self.bad(1, "run.ck", *base, *save)
        self.bad(1, "nofolder", *base, "--checkpoint", "nofolder/run.ck")

    def test_the_second_signal_ends_it_at_once(self):
        # a step of this pile takes its time, so that the first signal has to wait
        bodies = "".join(f'<body pos="{0.21 * (k % 3)} {0.01 * k} {0.2 + 0.15 * k}"><freejoint/>'
                         '<geom type="box" size="0.1 0.1 0.1"/></body>' for k in range(24))
        heap = self.write("heap.xml", '<mujoco><option timestep="0.5"/><worldbody><geom name="floor" '
                          f'type="plane" size="9 9 1"/>{bodies}</worldbody></mujoco>')
        process = subprocess.Popen([*CAROM, "simulate", heap, "--steps", "100", "-o", "out.csv"],
                                   cwd=self.folder.name, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        time.sleep(0.4)
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=LONGEST)
            self.assertEqual(process.returncode, -signal.SIGTERM)
            self.assertNotIn("out.csv", os.listdir(self.folder.name))
        else:
            process.communicate(timeout=LONGEST)
            self.skipTest("the step ended before the second signal")

    def test_an_ignored_signal_stays_ignored(self):
        process = subprocess.Popen(["sh", "-c", 'trap "" INT; exec "$@"', "sh", *CAROM, "simulate",
                                    self.scene, "--steps", ENDLESS], cwd=self.folder.name,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=LONGEST)
        self.assertEqual(process.returncode, 143)


if __name__ == "__main__":
    main()
