#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Task files of carom plan: read, saved, described by a schema, and wrong in every way.

    plan_task_test.py PATH-OF-CAROM

Standard library only; the schema is also put to Debian's python3-jsonschema where that is installed.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import unittest

from command import CAROM, Command, main

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
EXAMPLES = os.path.join(ROOT, "examples")
SCHEMA = os.path.join(ROOT, "docs", "plan-task.schema.json")
HEADS = {"carom-task", "command", "description", "scene"}

TARGET = "ball:2,0.3,0.3@0.6"
CONTROLS = ["x0:ball/qvel[0]", "x0:ball/qvel[1]", "x0:ball/qvel[2]"]
LINE = ["--key", "drop", "--target", TARGET, "--controls", ",".join(CONTROLS)]

# a command line with an option of each kind, and what a file says of it
MANY = ["--key", "drop", "--target", TARGET, "--target", "ball:1,0.1,0.3@0.3", "--controls",
        ",".join(CONTROLS), "--set", "x0:ball/qvel[*]=0.1", "--set", "x0:ball/qvel[0]=1e-1", "--bound",
        "x0:ball/qvel[*]=-9:9", "--dt", "0.0050", "--iterations", "7", "--method", "lbfgs", "--rate",
        "0.3", "--seed", "1e15", "--starts", "2", "--beta", ".25,0.5", "-q"]
MANY_KEYS = {"key": "drop", "target": [TARGET, "ball:1,0.1,0.3@0.3"], "controls": CONTROLS,
             "set": ["x0:ball/qvel[*]=0.1", "x0:ball/qvel[0]=1e-1"], "bound": ["x0:ball/qvel[*]=-9:9"],
             "dt": 0.005, "iterations": 7, "method": "lbfgs", "rate": 0.3, "seed": 10 ** 15,
             "starts": 2, "beta": [0.25, 0.5], "quiet": True}

VALIDATE = """
import json, sys
import jsonschema
schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
for name in sys.argv[2:]:
    errors = sorted(e.message for e in validator.iter_errors(json.load(open(name))))
    print(json.dumps(errors))
"""


def head(scene="scene.xml", **keys):
    return {"carom-task": 1, "command": "plan", "scene": scene, **keys}


def task(**keys):
    """A task that is good, but for what keys say."""
    return head(**{"key": "drop", "target": [TARGET], "controls": CONTROLS, **keys})


class PlanTask(Command):
    def write_task(self, content, name="task.json"):
        text = content if isinstance(content, str) else json.dumps(content, indent=1)
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        return self.write(name, text)

    def result(self, *arguments, code=0):
        """What a plan writes as JSON, without what a repetition changes."""
        done = self.run_carom("plan", *arguments, "--json", "out.json")
        self.assertEqual(done.returncode, code, done.stderr)
        with open(self.path("out.json"), encoding="utf-8") as file:
            result = json.load(file)
        os.remove(self.path("out.json"))
        del result["seconds"], result["scene"]
        return result

    def load(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return json.load(file)

    # ---- reading -------------------------------------------------------------------------------

    def test_the_example_does_what_the_command_line_does(self):
        line = ["--target", "ball:2.5,0.5,0.15@1.1", "--controls", ",".join(CONTROLS)]
        result = self.result(os.path.join(EXAMPLES, "throw.json"))
        self.assertEqual(result["status"], "reached")
        self.assertEqual(result, self.result(os.path.join(EXAMPLES, "throw.xml"), *line))

    def test_options_have_the_same_names_and_meaning_in_a_file(self):
        expected = self.result("scene.xml", *MANY, code=1)
        self.assertEqual(expected["method"], "lbfgs")
        self.write_task(head(**MANY_KEYS))
        self.assertEqual(self.result("task.json", code=1), expected)
        # numbers as texts, lists as texts, values by their names
        other = {**MANY_KEYS, "controls": ",".join(CONTROLS), "dt": "5e-3", "seed": str(10 ** 15),
                 "beta": "0.25,0.5", "bound": MANY_KEYS["bound"][0], "iterations": 7.0,
                 "set": {"x0:ball/qvel[*]": 0.1, "x0:ball/qvel[0]": "0.1"}, "description": "throw"}
        self.write_task(head(**other))
        self.assertEqual(self.result("task.json", code=1), expected)
        self.write_task(task(quiet=False))
        self.assertEqual(self.result("task.json"), self.result("scene.xml", *LINE))

    def test_a_task_is_known_by_its_name_or_its_first_byte(self):
        text = json.dumps(task())
        self.write("task", " \n\t" + text)
        expected = self.result("scene.xml", *LINE)
        self.assertEqual(self.result("task"), expected)
        done = subprocess.run([*CAROM, "plan", "-", "--json", "in.json"], input=" \n" + text, text=True,
                              capture_output=True, cwd=self.folder.name, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.load("in.json")["controls"], expected["controls"])
        self.bad(1, "task.json:1: wrong JSON", "plan", self.write_task("<mujoco/>"))

    def test_paths_of_a_file_are_relative_to_its_folder(self):
        self.write_task({**task(), "scene": "../scene.xml", "json": "made.json", "output": "made.csv"},
                        "sub/task.json")
        self.good("plan", "sub/task.json")
        self.assertEqual(sorted(os.listdir(self.path("sub"))), ["made.csv", "made.json", "task.json"])
        # those of the command line are relative to the working folder
        self.good("plan", "sub/task.json", "--json", "made.json")
        self.assertTrue(os.path.exists(self.path("made.json")))
        # a name that looks like an option
        shutil.copy(self.scene, self.path("-s.xml"))
        self.write_task({**task(), "scene": "-s.xml"})
        self.good("plan", "task.json")

    def test_the_command_line_wins(self):
        self.write_task(task(iterations=1, method="lbfgs", tolerance=1e-6, output="a.csv"))
        line = ["--iterations", "40", "--method=gauss-newton", "--target", "ball:1,0.1,0.3@0.3"]
        expected = self.result("scene.xml", *LINE[:2], *LINE[4:], *line, "--tolerance", "1e-6")
        self.assertEqual(len(expected["targets"]), 1)
        self.assertEqual(self.result("task.json", *line, "-o", "b.csv"), expected)
        self.assertEqual(self.result(*line, "task.json", "-o", "b.csv"), expected)
        self.assertTrue(os.path.exists(self.path("b.csv")))
        self.assertFalse(os.path.exists(self.path("a.csv")))
        self.assertIn("--save-task", self.good("plan", "missing.json", "--help"))

    # ---- saving --------------------------------------------------------------------------------

    def test_a_saved_task_runs_to_the_same_bits(self):
        expected = self.result("scene.xml", *MANY, code=1)
        self.assertEqual(self.result("scene.xml", *MANY, "--save-task", "a.json", code=1), expected)
        saved = self.load("a.json")
        self.assertEqual({k: saved[k] for k in MANY_KEYS}, MANY_KEYS)
        self.assertEqual(set(saved) - set(MANY_KEYS), {"carom-task", "command", "scene", "json"})
        self.assertEqual(self.result("a.json", code=1), expected)
        # saved again it has the same bytes, and from another folder it names the same files
        self.result("a.json", "--save-task", "b.json", code=1)
        with open(self.path("a.json"), "rb") as a, open(self.path("b.json"), "rb") as b:
            self.assertEqual(a.read(), b.read())
        os.makedirs(self.path("sub/deep"))
        self.result("a.json", "--save-task", "sub/deep/c.json", code=1)
        moved = self.load("sub/deep/c.json")
        self.assertEqual((moved["scene"], moved["json"]), ("../../scene.xml", "../../out.json"))
        self.assertEqual(self.result("sub/deep/c.json", code=1), expected)
        self.result("sub/deep/c.json", "--save-task", "d.json", code=1)
        self.assertEqual(self.load("d.json")["scene"], "scene.xml")

    def test_a_saved_task_keeps_what_people_wrote(self):
        words = "The \"first\" throw,\nnach Köln."
        self.write_task(task(description=words))
        self.good("plan", "task.json", "--steps", "130", "--save-task", "task.json")
        saved = self.load("task.json")
        self.assertEqual((saved["description"], saved["steps"]), (words, 130))
        self.assertEqual(list(saved)[:4], ["carom-task", "command", "description", "scene"])
        # whole paths stay whole
        self.good("plan", self.scene, *LINE, "--save-task", "whole.json")
        self.assertEqual(self.load("whole.json")["scene"], self.scene)

    def test_a_task_is_saved_before_the_plan_and_not_when_it_is_refused(self):
        done = self.run_carom("plan", "scene.xml", *LINE[:2], "--target", "ball:900,0,0@0.1", *LINE[4:],
                              "--save-task", "far.json")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.load("far.json")["target"], ["ball:900,0,0@0.1"])
        save = ["--save-task", "new.json"]
        self.bad(2, "--controls", "plan", "scene.xml", *LINE[:-1], "x0:nobody", *save)
        self.bad(2, "--horizon", "plan", "scene.xml", *LINE, "--horizon", "9", *save)
        self.bad(1, ["none/new.json", "No such file"], "plan", "scene.xml", *LINE, "--save-task",
                 "none/new.json")
        self.bad(2, ["overwritten", "scene.xml"], "plan", "scene.xml", *LINE, "--save-task", "scene.xml")
        self.bad(2, "--save-task -", "plan", "scene.xml", *LINE, "--save-task", "-")
        self.bad(2, "writes that file too", "plan", "scene.xml", *LINE, *save, "--json", "new.json")
        self.bad(2, "needs a value", "plan", "scene.xml", *LINE, "--save-task")
        self.bad(2, "comes twice", "plan", "scene.xml", *LINE, *save, *save)
        os.mkdir(self.path("folder.json"))
        self.bad(1, "folder.json", "plan", "scene.xml", *LINE, "--save-task", "folder.json")

    # ---- bad input -----------------------------------------------------------------------------

    def refused(self, code, parts, content, *arguments):
        self.write_task(content)
        parts = [parts] if isinstance(parts, str) else parts
        self.bad(code, ["task.json", *parts], "plan", "task.json", *arguments)

    def test_what_is_no_json(self):
        good = json.dumps(task())
        for text, part in [("", "nothing in it"), (" \n ", "nothing in it"), ("throw", "wrong JSON"),
                           ("{", "end of file"), (good + "x", "wrong JSON"), ("[1]", "expected an object"),
                           (good[:-1] + ', "steps": NaN}', "NaN"),
                           (good[:-1] + ', "steps": Infinity}', "Infinity"),
                           (good[:-1] + ', "dt": 1e999}', "1e999"),
                           (good[:-1] + ', "seed": 99999999999999999999}', "999"),
                           ('{"a": ' + "[" * 100000, "depth"), ("\0\0{", "wrong JSON"),
                           (good[:-1] + ',\n "key": "drop"}', ["task.json:2:", "duplicate", "key"])]:
            self.refused(1, part, text)
        self.refused(1, "larger than", " " * (1 << 21))
        self.bad(1, ["none.json", "no such file"], "plan", "none.json")
        os.mkdir(self.path("folder.json"))
        self.bad(1, ["folder.json", "directory"], "plan", "folder.json")

    def test_a_file_that_cannot_be_read(self):
        if os.geteuid() == 0:
            self.skipTest("root may read everything")
        self.write_task(task())
        os.chmod(self.path("task.json"), 0)
        self.bad(1, ["task.json", "permissions"], "plan", "task.json")

    def test_heads_of_tasks(self):
        for key, value in [("carom-task", 2), ("carom-task", "1"), ("carom-task", None),
                           ("command", "fit"), ("command", 3), ("scene", 3), ("scene", ""),
                           ("scene", "a\nb"), ("description", 3)]:
            self.refused(2, f'"{key}": expected', {**task(), key: value})
        for key in ("carom-task", "command", "scene"):
            content = task()
            del content[key]
            self.refused(2, f'"{key}": is missing', content)
        self.refused(2, "carom fit", {**task(), "command": "fit"})
        self.refused(2, "scene.xml", task(), "scene.xml")
        self.refused(2, "one of the two", task(), "task.json")
        self.write_task(task())
        self.bad(2, ["scene.xml", "task.json"], "plan", "scene.xml", "task.json")
        self.write_task({**task(), "scene": "none.xml"})
        self.bad(1, "none.xml: no such file", "plan", "task.json")

    def test_unknown_keys_and_wrong_values(self):
        for key in ("stepz", "save-task", "help", "wrt", "", "--steps", "o", "a\x1b"):
            self.refused(2, [f'"{key}"'.replace("\x1b", "?"), "no such key"], task(**{key: 1}))
        self.refused(2, 'task.json:3: "wrong"', '{"carom-task": 1, "command": "plan",\n "scene":\n'
                     ' {"wrong": 1}, "wrong": 2}')
        for key, value in [("steps", [3]), ("steps", True), ("steps", None), ("law", 3), ("law", "a\nb"),
                           ("target", []), ("target", [1]), ("target", {"ball": 1}), ("controls", []),
                           ("controls", [None]), ("quiet", 1), ("quiet", "true"), ("set", [1]),
                           ("set", {"a": [1]}), ("set", {"a\nb": 1}), ("json", ""), ("json", {})]:
            self.refused(2, f'"{key}": expected', task(**{key: value}))
        # what is well-formed is checked where the command line is
        for key, value in [("steps", 0), ("steps", 1.5), ("steps", "many"), ("dt", "inf"), ("dt", -1),
                           ("target", [""]), ("target", [TARGET] * 257), ("law", "--steps")]:
            self.refused(2, f"task.json: --{key}", task(**{key: value}))
        # as many as a file holds, in no more time than it takes to read them
        self.refused(2, "task.json: --target", json.dumps(task(target=[TARGET] * 40000)))
        self.write_task(json.dumps(task(controls=["a"] * 150000)))
        self.bad(2, "--controls", "plan", "task.json")
        self.write_task(task())
        self.bad(2, "carom: --steps 0", "plan", "task.json", "--steps", "0")
        self.bad(2, "--nothing", "plan", "task.json", "--nothing", "3")

    # ---- schema --------------------------------------------------------------------------------

    def test_the_schema_has_every_option(self):
        with open(SCHEMA, encoding="utf-8") as file:
            schema = json.load(file)
        known = set(schema["properties"]) - HEADS
        options = set(re.findall(r"(?<![\w-])--([a-z][\w-]*)", self.good("help", "plan")))
        self.assertEqual(options - {"help", "save-task"} | {"output"}, known)
        self.assertIs(schema["additionalProperties"], False)
        # and the reader knows these keys, with these types
        with open(os.path.join(ROOT, "cli", "plan_task_form.c"), encoding="utf-8") as file:
            kinds = dict(re.findall(r'\{"([\w-]+)", CLI_TASK_(\w+)\}', file.read()))
        self.assertEqual(kinds.pop("save-task"), "NONE")
        self.assertEqual(set(kinds), known)
        types = {"TEXT": "string", "PATH": "string", "FLAG": "boolean", "REPEATED": ["array", "string"],
                 "COMMAS": ["array", "string"], "VALUES": ["object", "array", "string"]}
        for key, kind in kinds.items():
            one = schema["properties"][key]
            self.assertTrue(one["description"].endswith("."), key)
            if kind == "NUMBER":
                self.assertIn(one["type"], (["number", "string"], ["integer", "string"]), key)
            else:
                self.assertEqual(one["type"], types[kind], key)
            self.refused(2, f'"{key}": expected', task(**{key: [[]]}))

    def test_the_schema_and_the_command_agree_on_tasks(self):
        python = next((p for p in (sys.executable, "/usr/bin/python3") if subprocess.run(
            [p, "-c", "import jsonschema; jsonschema.Draft202012Validator"], capture_output=True,
            check=False).returncode == 0), None)
        if not python:
            self.skipTest("no JSON Schema validator: install python3-jsonschema")
        self.run_carom("plan", "scene.xml", *MANY, "--save-task", "saved.json")
        good = [os.path.join(EXAMPLES, f) for f in sorted(os.listdir(EXAMPLES)) if f.endswith(".json")]
        good += [self.path("saved.json"), self.write_task(head(**MANY_KEYS), "many.json"),
                 self.write_task(task(description="x", dt="1e-3", set={"a": 1, "b": "2"}), "texts.json")]
        bad = [{**task(), "carom-task": 2}, {**task(), "command": "fit"}, task(stepz=3), task(steps=0),
               task(steps=[3]), task(steps="many"), task(target=[]), task(target=[3]), task(quiet=1),
               task(set=[1]), task(json=""), task(overlap="maybe"), {"carom-task": 1, "command": "plan"}]
        names = [self.write_task(content, f"bad{i}.json") for i, content in enumerate(bad)]
        done = subprocess.run([python, "-c", VALIDATE, SCHEMA, *good, *names], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        errors = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(errors[:len(good)], [[]] * len(good))
        for name, content, wrong in zip(names, bad, errors[len(good):]):
            self.assertTrue(wrong, content)
            self.assertEqual(self.run_carom("plan", name).returncode, 2, content)


if __name__ == "__main__":
    main()
