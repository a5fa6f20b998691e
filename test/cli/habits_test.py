#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Habits of a command line: streams, quiet, suggestions, version, completion, man pages.

    habits_test.py PATH-OF-CAROM

The options of the commands come from three places that must agree: the help, the parser and the
completion, which is made of the parser's table.
"""

import csv
import io
import json
import os
import re
import shutil
import subprocess
import unittest

from command import CAROM, SCENE, Command, main

# where a gradient is asked for
TARGET = ["--target", "ball:1,0,0.3@0.2"]


def help_terms(text):
    """Options that a help defines: terms stand behind two spaces and end before two."""
    names = set()
    for line in text.splitlines():
        if line.startswith("  -"):
            term = re.split(r" {2,}", line[2:])[0]
            names.update(re.findall(r"(?:^|, )(--?[a-z][-a-z0-9]*)", term))
    return names


class Streams(Command):
    def pipe(self, text, *arguments):
        return subprocess.run([*CAROM, *arguments], input=text, capture_output=True, text=True,
                              timeout=60, check=False, cwd=self.folder.name)

    def test_a_motion_goes_to_standard_output_alone(self):
        self.good("simulate", self.scene, "--steps", "20", "-o", self.path("a.csv"))
        with open(self.path("a.csv"), encoding="utf-8") as file:
            self.assertEqual(self.good("simulate", self.scene, "--steps", "20", "-o", "-"),
                             file.read())

    def test_an_output_never_replaces_what_is_read(self):
        scene = self.scene
        with open(scene, "rb") as file:
            before = file.read()
        os.symlink(scene, self.path("link.xml"))
        for name in ("scene.xml", "link.xml"):
            done = subprocess.run([*CAROM, "simulate", scene, "--steps", "2", "--json", self.path(name)],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr, r"^carom: --json .*: this file is read and would be "
                                          r"overwritten; give the output another name\n$")
            with open(scene, "rb") as file:
                self.assertEqual(file.read(), before)
        done = subprocess.run([*CAROM, "simulate", scene, "-o", self.path("one.csv"), "--json",
                               self.path("one.csv")], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("writes that file too", done.stderr)
        self.assertFalse(os.path.exists(self.path("one.csv")))
        # a device takes both, and a second run may replace the output of the first
        self.good("simulate", scene, "--steps", "2", "-o", "/dev/null", "--json", "/dev/null")
        for _ in range(2):
            self.good("simulate", scene, "--steps", "2", "-o", self.path("two.csv"))

    def test_standard_output_may_be_a_file_that_others_write_to(self):
        with open(self.path("log"), "w", encoding="utf-8") as file:
            file.write("before\n")
            file.flush()
            subprocess.run([*CAROM, "simulate", self.scene, "--steps", "2", "-o", "-"], stdout=file,
                           check=True)
            file.write("behind\n")
        with open(self.path("log"), encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertEqual((lines[0], len(lines)), ("before", 6))
        # the writer's own place is not moved by others: append to see all
        subprocess.run(f"echo one >> app; {CAROM[0]} laws --json - >> app", shell=True, check=True,
                       cwd=self.folder.name)
        with open(self.path("app"), encoding="utf-8") as file:
            self.assertTrue(file.read().startswith("one\n{"))

    def test_json_goes_to_standard_output_alone(self):
        commands = (["simulate", self.scene], ["gradient", self.scene, *TARGET, "--wrt", "ball/mass"],
                    ["linearize", self.scene], ["params", self.scene], ["laws"], ["experiments"],
                    ["version"], ["compare", self.scene, *TARGET, "--steps", "40"])
        for command in commands:
            self.assertIsInstance(json.loads(self.good(*command, "--json", "-")), dict, command)
            self.assertIsInstance(json.loads(self.good(*command, "--json=-", "-q")), dict, command)

    def test_matrices_go_to_standard_output_alone(self):
        rows = list(csv.reader(io.StringIO(self.good("linearize", self.scene, "-o", "-"))))
        # 12 tangent coordinates and 6 controls behind their names
        self.assertEqual((len(rows), set(map(len, rows))), (13, {19}))

    def test_scenes_come_from_standard_input(self):
        done = self.pipe(SCENE, "simulate", "-", "--json", "-")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        same = self.json_of("simulate", self.scene)
        self.assertEqual(json.loads(done.stdout)["qpos"], same["qpos"])
        done = self.pipe(SCENE[:300], "simulate", "-")
        self.assertEqual(done.returncode, 1)
        self.assertIn("carom: standard input:", done.stderr)
        urdf = '<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/>' \
               '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>' \
               '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>'
        self.assertIn("b/mass", self.pipe(urdf, "params", "-").stdout)
        still = SCENE.replace("<freejoint/>", "")
        self.assertEqual(self.pipe(still, "params", "-").stderr,
                         "carom: standard input: nothing moves; add a body with a joint or a "
                         "freejoint\n")

    def test_recordings_and_controls_come_from_standard_input(self):
        motion = self.good("simulate", self.scene, "--steps", "60", "-o", "-")
        done = self.pipe(motion, "fit", self.scene, "-", "--wrt", "floor:ball/restitution", "--set",
                         "floor:ball/restitution=0.5", "-o", "-")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        row = list(csv.DictReader(io.StringIO(done.stdout)))[0]
        # nothing hits within 0.3 s: the value is where it was, or found
        self.assertEqual(row["name"], "floor:ball/restitution")
        done = self.pipe("t,ball/force[0]\n0,2\n", "simulate", self.scene, "--control", "-", "--json",
                         "-")
        self.assertGreater(json.loads(done.stdout)["qvel"][0], 1.5)

    def test_a_pipeline(self):
        text = f"{CAROM[0]} simulate scene.xml --steps 200 -o - | " \
               f"{CAROM[0]} fit scene.xml - --wrt floor:ball/friction --json -"
        done = subprocess.run(text, shell=True, capture_output=True, text=True, check=False,
                              cwd=self.folder.name)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertAlmostEqual(json.loads(done.stdout)["parameters"][0]["value"], 0.3, 6)

    def test_what_streams_cannot_do_is_refused(self):
        scene = ["simulate", self.scene]
        self.bad(2, ["-o -", "--json -", "one of them"], *scene, "-o", "-", "--json", "-")
        self.bad(2, ["--report -", "name of a file"], *scene, "--report", "-")
        self.bad(2, ["--checkpoint -", "name of a file"], *scene, "--checkpoint", "-")
        self.bad(2, ["-o -", "--checkpoint"], *scene, "-o", "-", "--checkpoint", self.path("c"))
        self.bad(2, ["standard input", "2 times"], "fit", "-", "-", "--wrt", "ball/mass")
        self.bad(2, ["standard input", "2 times"], "simulate", "-", "--control", "-")
        self.bad(2, ["standard input", "2 times"], "fit", "-", "--depth", "ball=-", "--wrt",
                 "ball/mass")
        self.bad(2, ["--checkpoint", "reads its files again"], "simulate", "-", "--checkpoint",
                 self.path("c"))
        self.bad(2, ["-o -", "name of a file"], "learn", "central-difference", self.path("data.csv"),
                 "-o", "-")
        self.bad(2, ["-o -", "name of a file"], "shape", "train", "cans", "-o", "-")
        self.bad(2, "several times", "bench", "contact", "-")

    def test_a_full_device_is_said(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            for options in (["-o", "-"], ["--json", "-"]):
                done = subprocess.run([*CAROM, "simulate", self.scene, *options], stdout=full,
                                      stderr=subprocess.PIPE, text=True, check=False)
                self.assertEqual(done.returncode, 1)
                self.assertEqual(done.stderr.count("\n"), 1)
                self.assertIn("the output: cannot be written", done.stderr)

    def test_a_closed_output_is_said(self):
        done = subprocess.run(f"{CAROM[0]} simulate scene.xml -o - >&-", shell=True, text=True,
                              capture_output=True, check=False, cwd=self.folder.name)
        self.assertEqual(done.returncode, 1)
        self.assertIn("standard output cannot be written", done.stderr)


class Quiet(Command):
    def test_a_simulation_is_silent(self):
        self.assertEqual(self.good("simulate", self.scene, "-q"), "")
        self.assertNotEqual(self.good("simulate", self.scene, "-q", "-o", "-"), "")

    def test_results_are_left(self):
        text = self.good("gradient", self.scene, *TARGET, "--wrt", "x0:ball/qvel[0]", "-q")
        self.assertIn("gradient: exact", text)
        self.assertNotIn(" ms", text)
        self.assertNotIn("--print", self.good("linearize", self.scene, "-q"))
        self.assertIn("ball/mass", self.good("params", self.scene, "-q"))

    def test_doubts_are_left(self):
        low = ["--set", "x0:ball/qpos[2]=0.0975", "--key", "drop", "-q"]
        done = self.run_carom("simulate", self.scene, *low)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn("overlap", done.stderr)
        # the mass of a ball that touches nothing cannot be told
        data = self.write("data.csv", self.good("simulate", self.scene, "--steps", "20", "-o", "-"))
        done = self.run_carom("fit", self.scene, data, "--wrt", "ball/mass", "-q")
        self.assertIn("ball/mass", done.stdout)
        self.assertIn("the data do not depend on ball/mass", done.stdout)


class Tables(Command):
    def test_rounding_prints_as_zero_and_stays_in_files(self):
        arguments = ["simulate", self.scene, "--steps", "10", "--set", "x0:ball/qpos[1]=1e-17"]
        text = self.good(*arguments)
        self.assertRegex(text, r"ball/qpos\[1\] +0\n")
        self.assertEqual(self.json_of(*arguments)["qpos"][1], 1e-17)
        row = self.good(*arguments, "-o", "-").splitlines()[-1].split(",")
        self.assertEqual(float(row[2]), 1e-17)
        # as small as that is no rounding where all is small
        text = self.good("params", self.scene, "--set", "x0:ball/qpos[1]=1e-12")
        self.assertIn("1e-12", text)
        text = self.good("params", self.scene, "--set", "x0:ball/qpos[1]=1e-17")
        self.assertNotIn("e-17", text)

    def test_columns_of_gradients(self):
        arguments = ["gradient", self.scene, *TARGET, "--wrt", "x0:ball/qvel", "--set",
                     "x0:ball/qpos[1]=1e-18"]
        value = {e["name"]: e["value"] for e in self.json_of(*arguments)["entries"]}
        self.assertNotEqual(value["x0:ball/qvel[1]"], 0.0)
        self.assertRegex(self.good(*arguments), r"x0:ball/qvel\[1\] +-?0\n")

    def test_matrices_are_shown_when_asked_for(self):
        text = self.good("linearize", self.scene)
        self.assertIn("12 tangent coordinates, 6 controls; gradient: exact", text)
        self.assertIn("-o FILE", text)
        self.assertNotIn("dx'/dx", text)
        self.assertLess(len(text.splitlines()), 4)
        text = self.good("linearize", self.scene, "--print")
        self.assertIn("A = dx'/dx", text)
        self.assertIn("B = dx'/du", text)


class Suggestions(Command):
    def test_commands(self):
        for typed, meant in (("simulte", "simulate"), ("simualte", "simulate"), ("fti", "fit"),
                             ("gradeint", "gradient"), ("lin", "linearize"), ("verson", "version"),
                             ("hlep", "help")):
            self.bad(2, ["unknown command " + typed, f"did you mean {meant}?"], typed)
        self.bad(2, "did you mean plan?", "help", "plna")
        self.bad(2, "did you mean plan?", "man", "plna")
        self.bad(2, "'carom help' lists them", "frobnicate")

    def test_options(self):
        scene = ["simulate", self.scene]
        self.bad(2, "did you mean --steps?", *scene, "--step", "3")
        self.bad(2, "did you mean --steps?", *scene, "--setps=3")
        self.bad(2, "did you mean --overlap?", *scene, "--overlpa")
        self.bad(2, ["unknown option --wrt", "belongs to gradient, fit, compare"], *scene, "--wrt",
                 "ball/mass")
        self.bad(2, ["unknown option --knots", "belongs to plan"], "fit", self.scene, "--knots", "3")
        self.bad(2, "see 'carom help simulate'", *scene, "--frobnicate")
        self.bad(2, "--quiet=1: --quiet has no value", *scene, "--quiet=1")
        # a benchmark's own option is nobody's
        self.assertNotIn("bench", self.run_carom(*scene, "--work", "x").stderr)

    def test_values(self):
        scene = ["simulate", self.scene]
        self.bad(2, "did you mean ncp?", *scene, "--law", "npc")
        self.bad(2, "'carom laws' lists them", *scene, "--law", "newton")
        self.bad(2, ["located, end", "did you mean located?"], *scene, "--stepper", "locatde")
        self.bad(2, ["expected warn or refuse", "did you mean refuse?"], *scene, "--overlap", "refsue")
        self.bad(2, ["expected net, analytic or stop"], *scene, "--outside", "x")
        self.bad(2, "did you mean lrc-push?", "experiment", "lrc-psuh")
        self.bad(2, "bash, zsh or fish", "completion", "csh")
        self.bad(2, "did you mean augmented?", "learn", "augmentd", self.scene)
        self.bad(2, "did you mean gradient?", "bench", "gradeint")
        self.bad(2, "did you mean show?", "shape", "shwo", "cans")


class Version(Command):
    def test_one_line_or_all(self):
        line = self.good("--version")
        self.assertRegex(line, r"\Acarom \d+\.\d+\.\d+\n\Z")
        text = self.good("version")
        self.assertTrue(text.startswith(line))
        result = json.loads(self.good("version", "--json", "-"))
        self.assertIn(f"commit    {result['commit']}\n", text)
        self.assertEqual("carom " + result["version"] + "\n", line)
        self.assertEqual(set(result["build"]), {"HDF5", "AMD", "cminpack", "OpenBLAS", "OpenMP",
                                                "charts", "minimal"})
        for name, is_there in result["build"].items():
            self.assertRegex(text, rf"(?m)^{name} +{'yes' if is_there else 'no'} ")

    def test_it_agrees_with_what_works(self):
        has = json.loads(self.good("version", "--json", "-"))["build"]
        done = self.run_carom("simulate", self.scene, "--steps", "1", "-o", self.path("a.h5"))
        self.assertEqual(done.returncode == 0, has["HDF5"], done.stderr)

    def test_it_is_the_commit_of_the_build(self):
        source = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        commit = json.loads(self.good("version", "--json", "-"))["commit"]
        if not os.path.exists(os.path.join(source, ".git")) or not shutil.which("git"):
            self.skipTest("this is no checkout, or git is missing")
        self.assertRegex(commit, r"^([0-9a-f]{7,}|.*-g[0-9a-f]{7,}|v?\d+\.\d+.*|unknown)(-dirty)?$")


class Options(Command):
    def commands(self):
        lines = self.good("help").splitlines()
        return [line.split()[1] for line in lines if line.startswith("  carom ")]

    def completed(self):
        """Options of each command, from the script that the parser's table makes."""
        script = self.good("completion", "bash")
        return {name: set(options.split()) for name, options in
                re.findall(r"^    ([a-z]+)\)\n        options='([^']*)'", script, re.M)}

    def is_accepted(self, command, option):
        # what follows is no value, and stops the parser before any work
        done = self.run_carom(command, option, "--help")
        return "unknown option" not in done.stderr

    def test_help_parser_and_completion_agree(self):
        completed = self.completed()
        self.assertEqual(sorted(completed), sorted(self.commands()))
        everything = set().union(*completed.values())
        self.assertGreater(len(everything), 60)
        for command in completed:
            told = help_terms(self.good("help", command))
            # -o stands for --output, which helps do not name
            told |= {"--output"} if "-o" in told else set()
            self.assertEqual(told, completed[command], command)
            accepted = {option for option in everything if self.is_accepted(command, option)}
            self.assertEqual(accepted, told, command)

    def test_terms_of_help_end(self):
        for command in self.commands():
            for line in self.good("help", command).splitlines():
                if line.startswith("  -"):
                    # two spaces end a term: what is before them are options with a value each
                    for part in re.split(r" {2,}", line[2:])[0].strip(",").split(", "):
                        self.assertRegex(part, r"^--?[a-z][-a-z0-9]*( \S+)?$", command)

    def test_lines_of_help_fit(self):
        for command in self.commands():
            for line in self.good("help", command).splitlines():
                if not line.startswith(("carom ", "  ")):
                    self.assertLessEqual(len(line), 100, command)


class Completion(Command):
    def bash(self, *words):
        """What bash offers for the last word."""
        script = self.write("complete.bash", self.good("completion", "bash"))
        line = " ".join(f"'{w}'" for w in words)
        done = subprocess.run(
            ["bash", "-c", f"source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; "
             '_carom; printf "%s\\n" "${COMPREPLY[@]}"'],
            capture_output=True, text=True, check=False, cwd=self.folder.name)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.split("\n")[:-1]

    def test_bash(self):
        if not shutil.which("bash"):
            self.skipTest("bash is missing")
        self.assertEqual(self.bash("carom", "lin"), ["linearize"])
        self.assertEqual(self.bash("carom", "simulate", "--over"), ["--overlap"])
        self.assertEqual(self.bash("carom", "compare", "--la"), [""])
        self.assertEqual(self.bash("carom", "simulate", "s"), ["scene.xml"])
        self.assertEqual(self.bash("carom", "simulate", "x", "--law", "cone-"), ["cone-reg"])
        self.assertEqual(self.bash("carom", "simulate", "x", "--law", "=", "cone-"), ["cone-reg"])
        self.assertEqual(self.bash("carom", "simulate", "x", "--stepper", "l"), ["located"])
        self.assertEqual(self.bash("carom", "simulate", "x", "--overlap", "r"), ["refuse"])
        self.assertEqual(self.bash("carom", "simulate", "x", "--json", "s"), ["scene.xml"])
        self.assertEqual(self.bash("carom", "simulate", "x", "--steps", ""), [""])
        self.assertEqual(self.bash("carom", "experiment", "lrc-pu"), ["lrc-push"])
        self.assertEqual(self.bash("carom", "bench", "grad"), ["gradient"])
        self.assertEqual(self.bash("carom", "help", "expe"), ["experiment", "experiments"])
        self.assertEqual(self.bash("carom", "learn", "au"), ["augmented"])
        laws = [law["name"] for law in self.json_of("laws")["laws"]]
        self.assertEqual(self.bash("carom", "fit", "x", "--law", ""), laws)
        with open(self.path("a b.xml"), "w", encoding="utf-8"):
            self.assertEqual(self.bash("carom", "params", "a"), ["a b.xml"])

    def test_zsh(self):
        if not shutil.which("zsh"):
            self.skipTest("zsh is missing")
        script = self.write("_carom", self.good("completion", "zsh"))
        done = subprocess.run(["zsh", "-n", script], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        # every specification is one that _arguments takes, and the menu shows what it should
        text = f"""
            zmodload zsh/zpty; zpty z 'TERM=dumb zsh -f -i'
            zpty -w z 'PS1=; autoload -Uz compinit; compinit -u -d {self.path("dump")}; source {script}'
            zpty -w z $'zstyle ":completion:*" list-prompt ""; LISTMAX=0; cd {self.folder.name}'
            zpty -w z 'echo READY'; zpty -r z line '*READY*READY*'
            zpty -n -w z $'carom simulate x --stepper l\\t'
            zpty -r z line '*--stepper located*'; print -r -- $line; zpty -d z"""
        done = subprocess.run(["zsh", "-f", "-c", text], capture_output=True, text=True, check=False,
                              timeout=60)
        self.assertIn("--stepper located", done.stdout, done.stderr)

    def test_fish(self):
        if not shutil.which("fish"):
            self.skipTest("fish is missing")
        script = self.write("carom.fish", self.good("completion", "fish"))
        done = subprocess.run(["fish", "-n", script], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

        def fish(line):
            done = subprocess.run(["fish", "-N", "-c", f"source {script}; complete -C '{line}'"],
                                  capture_output=True, text=True, check=False, cwd=self.folder.name,
                                  env={**os.environ, "HOME": self.folder.name})
            return [row.split("\t")[0] for row in done.stdout.splitlines()]

        self.assertEqual(fish("carom lin"), ["linearize"])
        self.assertEqual(fish("carom simulate x --over"), ["--overlap"])
        self.assertEqual(fish("carom simulate x --law cone-"), ["cone-reg"])
        self.assertEqual(fish("carom experiment lrc-pu"), ["lrc-push"])
        self.assertIn("scene.xml", fish("carom simulate s"))
        self.assertIn("scene.xml", fish("carom simulate x --json s"))


class Man(Command):
    def pages(self):
        lines = self.good("help").splitlines()
        names = [line.split()[1] for line in lines if line.startswith("  carom ")]
        return {"carom": self.good("man"),
                **{"carom-" + name: self.good("man", name) for name in names}}

    def test_pages_are_sound(self):
        for name, page in self.pages().items():
            for head in (f".TH {name.upper()} 1 ", ".SH NAME\n", ".SH SYNOPSIS\n", ".SH EXIT STATUS\n"):
                self.assertIn(head, page, name)
            for line in page.splitlines():
                self.assertFalse(line.startswith("'"), line)
                if line.startswith("."):
                    self.assertRegex(line, r"^\.(TH|SH|SS|TP|TQ|PP|BR|br)\b")

    def test_pages_have_all_that_the_help_has(self):
        for name, page in self.pages().items():
            if name == "carom":
                continue
            plain = page.replace("\\-", "-").replace("\\(aq", "'").replace("\\e", "\\")
            plain = plain.replace("\\(ha", "^").replace("\\(ti", "~")
            plain = " ".join(re.sub(r"\\f[BR]|^\.\w+|\\&", "", plain, flags=re.M).split())
            text = self.good("help", name[len("carom-"):]).splitlines()[1:]
            for line in text:
                for part in re.split(r" {2,}", line):
                    # a heading loses its colon
                    self.assertIn(part.strip().rstrip(":"), plain, name)

    def test_formatters_take_them(self):
        tools = {"groff": ["groff", "-man", "-ww", "-Tascii", "-z"],
                 "mandoc": ["mandoc", "-Tlint", "-W", "error"]}
        found = [tool for tool in tools if shutil.which(tool)]
        if not found:
            self.skipTest("neither groff nor mandoc is there")
        for name, page in self.pages().items():
            path = self.write(name + ".1", page)
            for tool in found:
                done = subprocess.run([*tools[tool], path], capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""), name)


if __name__ == "__main__":
    main()
